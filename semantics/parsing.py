"""What the parsers of the languages share: predicates and their terms, spans, the limit of depth, and messages.

A language's grammar is its own file followed by predicates.lark; its builder has a method for each of its own rules.
"""

from __future__ import annotations

import marshal
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from functools import cache, lru_cache, reduce
from hashlib import sha256
from importlib.util import cache_from_source
from ipaddress import IPv4Network, ip_network
from pathlib import Path
from pkgutil import get_data
from typing import Any, TypeAlias, cast

from lark import Lark, Token
from lark import __version__ as lark_version
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken, VisitError
from lark.grammar import Rule
from lark.lexer import TerminalDef
from lark.tree import Meta
from lark.visitors import Transformer_NonRecursive, v_args

from cerify.semantics import predicates as pred
from cerify.semantics.errors import BudgetExceeded, ParseError, Span, errors_in
from cerify.semantics.events import TYPE
from cerify.semantics.patterns import flaw
from cerify.semantics.predicates import is_plain_name, mentions
from cerify.semantics.values import encodable, parse_time

# ---------------------------------------------------------------------------------------------------------------------
# Messages for texts that a grammar does not accept: what is not expected, where, what is expected, and what was meant.

READABLE = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a 'string'",
    "TIMESTAMP": "a timestamp",
    "COMPARATOR": "a comparison (< <= > >= = !=)",
    "IS_NULL": "is null",
    "IS_NOT_NULL": "is not null",
    "CONTIGUOUS_PLUS": ":+",
    "SEMICOLON": ";",
    "COLON": ":",
    "UNIT": "a unit of time, such as seconds, minutes, hours or days",
    "STRATEGY": "STRICT, NXT, LAST, MAX",
    "BOOLEAN": "true or false",
    "AND": "AND",
    "OR": "OR",
    "$END": "the end",
    "_FROM": "FROM",
    "_PATTERN": "PATTERN",
    "_SEQ": "SEQ",
    "_WHERE": "WHERE",
    "_WITHIN": "WITHIN",
    "_HAVING": "HAVING",
    "_RETURN": "RETURN",
    "_UNION": "UNION",
    "_AS": "AS",
    "_IN_STREAM": "IN STREAM",
    "NON_OVERLAP": "NON-OVERLAP",
    "CONJUNCTION": "AND",
    "_DISJUNCTION": "OR",
    "NEGATION": "NOT",
    "SELECTION": "a strategy",
    "TIME_UNIT": "a unit of time, such as seconds, minutes, hours, days or weeks",
    "UNDERLINE": "_(",
    "TILDE": "~",
    "EMPTY": "[]",
    "_OPEN": "(",
    "RELATIVE_PLUS": "relative+",
    **{
        name: name.strip("_").replace("_", " ")
        for name in (
            "_PARTITION_BY",
            "_ORDER_BY",
            "_MEASURES",
            "_SUBSET",
            "_DEFINE",
            "PATTERN",
            "WITHIN",
            "_IS",
            "_NULL",
            "_UNKNOWN",
            "NOT",
            "_BETWEEN",
            "_IN",
            "_LIKE",
            "_ESCAPE",
            "_CASE",
            "_WHEN",
            "_THEN",
            "_ELSE",
            "_END",
            "_CAST",
            "_OR",
            "_AND",
        )
    },
    **{name: name.strip("_") for name in ("_PERMUTE", "_CLASSIFIER", "_MATCH_NUMBER", "_ABS", "_COALESCE", "COUNT")},
    "ROWS": "ONE ROW PER MATCH or ALL ROWS PER MATCH",
    "SKIP_PLACE": "AFTER MATCH SKIP",
    "SKIP_VARIABLE": "AFTER MATCH SKIP",
    "DIRECTION": "ASC or DESC",
    "NULLS": "NULLS FIRST or NULLS LAST",
    "TRUTH": "TRUE or FALSE",
    "SEMANTICS": "RUNNING or FINAL",
    "PHYSICAL": "PREV or NEXT",
    "LOGICAL": "FIRST or LAST",
    "AGGREGATE": "SUM, AVG, MIN or MAX",
    "SQL_TYPE": "a type",
    "QUOTED": 'a "name"',
    "FRAME": "ROWS BETWEEN",
    "SEARCH": "INITIAL or SEEK",
}
REFUSED = "OTHER_"  # prefix of terminals that a grammar has only for a message about what to write instead

Explanation: TypeAlias = Callable[[UnexpectedInput, str, Lark], ParseError]

MOST_READ = 2_000  # characters of a text that is parsed again with a sign more or less
CONNECTIVES = {"AND", "OR"}
SIGNS = (";", ":", ",", ")", "}", "]")
"""Signs that users forget between two parts of a text, or after them."""

LEFT_OUT = (*SIGNS, "(", "{", "[")
"""Superfluous signs that a message advises to leave out; without other signs a query may change (ORDER BY -x)."""
CONJUNCTIONS = (("AND",), ("and",))
"""Words that users forget before a word or a bracket."""

MOST_WORDS = 4  # of a name with blanks that stands without quotes

_WORD = re.compile(r"[A-Za-z]{2,}")
_LAST_WORD = re.compile(r"(\w+)\s*$")


def explained(error: UnexpectedInput, text: str, parser: Lark) -> ParseError:
    """Return the error for a text that does not follow the grammar: what is wrong, where, and what was meant."""
    span = place_of(error, text)
    word = text[span.start : span.end]
    if isinstance(error, UnexpectedCharacters):
        if word == '"':
            return ParseError('the name in double quotes does not end; write a " inside a name as ""', span)
        if word == "'":
            return ParseError("the string does not end; write a ' inside a string as ''", span)
        names = "" if word.isascii() else "; a name has letters, digits and _"
        wrong = f"the character {word!r} is not expected here{names}"
    else:
        wrong = f"{word!r} is not expected here" if word else "the query ends too early"
    tokens, accepted = read_before(text, span.start, parser)
    if span.start == len(text):
        if "RPAR" in accepted and (bracket := _unclosed(text)) is not None:
            return ParseError("the query ends too early; this bracket is never closed", Span(bracket, bracket + 1))
        if text.rstrip().endswith(";"):
            wrong += "; leave the ; at the end out, or write what follows"
    if word == "-" and re.search(r"(?i)\bWITHIN\s*\Z", text[: span.start]):
        return ParseError("a window cannot have a negative length; leave '-' out", span)
    keywords = _keywords(accepted, parser)
    if (error_ := _other_case(word, span, keywords)) is not None:
        return error_
    if tokens and tokens[-1].type == "NAME" and tokens[-1] in keywords | CONNECTIVES:  # which was read as a name there
        there = Span(tokens[-1].start_pos or 0, tokens[-1].end_pos or 0)
        return ParseError(f"the formula or condition before {tokens[-1]} is missing", there)
    if (before := _LAST_WORD.search(text, 0, span.start)) is not None:
        there = Span(before.start(1), before.end(1))  # a keyword in small letters was read as a name
        error_ = _other_case(before[1], there, _keywords(read_before(text, there.start, parser)[1], parser))
        other = f"{text[: there.start]}{before[1].swapcase()}{text[there.end :]}"
        if error_ is not None and (not word[:1].isalpha() or _is_sentence(other, parser)):
            return error_
    near = get_close_matches(word.upper(), keywords, 1, 0.75) if word.isalpha() else []
    quoted = None
    if word and not near and len(text) <= MOST_READ:
        if (error_ := _one_sign(text, span, tokens, parser)) is not None:
            return error_
        quoted = _name_to_quote(text, span, parser)
    meant = f"; did you mean {near[0]}?" if near else ""
    if quoted is not None:
        meant = f"; a name with a blank, dash or dot stands in double quotes: {quoted}"
    return ParseError(wrong + _expected(accepted, parser) + meant, span)


def place_of(error: UnexpectedInput, text: str) -> Span:
    """Return the place of the unexpected character or token: an empty span at the end if the text ends too early."""
    if isinstance(error, UnexpectedCharacters):
        at = error.pos_in_stream or 0
        return Span(at, at + 1)
    if isinstance(error, UnexpectedToken) and error.token.type != "$END":
        return Span(error.token.start_pos or 0, error.token.end_pos or 0)
    return Span(len(text), len(text))


def _unclosed(text: str) -> int | None:
    """Return the place of the last ( that is not closed; brackets in strings do not count."""
    opened: list[int] = []
    for found in re.finditer(r"'[^']*'|\"[^\"]*\"|[()]", text):
        if found[0] == "(":
            opened.append(found.start())
        elif found[0] == ")" and opened:
            opened.pop()
    return opened[-1] if opened else None


def _name_to_quote(text: str, span: Span, parser: Lark) -> str | None:
    """If the text has a name at this place that needs double quotes, return the name in double quotes.

    In the text the name has no quotes, as in `A.order total > 5` or `page-view ; order`, or other quotes, as in
    `A.'order total' > 5`. With double quotes the text must be valid; but if the name has a dash or backquotes, which
    have no other meaning, the text may still have another error.
    """
    sure = text[span.start] in "-`"
    if (other := re.compile(r"(['`])([^'`\"]+)\1").match(text, span.start)) is not None:
        candidates = [(span.start, other.end(), other[2])]
    elif (first := re.search(r"\w+\Z" if sure else r"\w+ +\Z", text[: span.start])) is not None:
        parts = r"(?:-\w+)+" if sure else rf"\w+(?: +\w+){{0,{MOST_WORDS - 2}}}"
        run = re.compile(parts).match(text, span.start)
        ends = [span.start + one.end() for one in re.finditer(r"\w+", run[0])] if run is not None else []
        candidates = [(first.start(), end, text[first.start() : end]) for end in (ends[-1:] if sure else ends)]
    else:
        return None
    words = (re.fullmatch(r"([A-Za-z]+)(\\b)?", t.pattern.value) for t in parser.terminals)
    keywords = {word[1].upper() for word in words if word is not None}
    for start, end, name in candidates:
        if keywords & {*name.upper().split()}:
            return None
        changed = f'{text[:start]}"{name}"{text[end:]}'
        tokens, _ = read_before(changed, start + len(name) + 2, parser)
        is_name = tokens and tokens[-1].type == "NAME" and tokens[-1].start_pos == start
        if is_name and (sure or _is_sentence(changed, parser)):
            return f'"{name}"'
    return None


def _one_sign(text: str, span: Span, tokens: list[Token], parser: Lark) -> ParseError | None:
    """Return the error for one missing or superfluous sign, if the text is otherwise valid."""
    word = text[span.start : span.end]
    names = [one for one in tokens[:-3:-1] if one.type == "NAME"]  # or a keyword read as one: PATTERN (A B DEFINE
    for place in [span, *(Span(one.start_pos or 0, one.end_pos or 0) for one in names)]:
        before, after = text[: place.start], text[place.start :]
        is_next = place == span and (word[0].isalnum() or word == "(") and _ends_condition(tokens)
        conjunctions = CONJUNCTIONS if is_next else ()
        # All signs of a group are tried, since naming only one of two that fit would be a guess.
        for signs in (SIGNS, *conjunctions):
            if found := [sign for sign in signs if _is_sentence(f"{before} {sign} {after}", parser)]:
                missing, here = " or ".join(map(repr, found)), text[place.start : place.end]
                left = re.search(r"(?<![\w\"])(\w+) +\Z", before) if ";" in found and place == span else None
                hint = f'; if it is one name with a blank, write "{left[1]} {here}"' if left and here.isalnum() else ""
                return ParseError(f"{missing} is missing before {here!r}{hint}", place)
    if tokens and word in LEFT_OUT and _is_sentence(f"{text[: span.start]} {text[span.end :]}", parser):
        return ParseError(f"{word!r} is not expected here; leave it out", span)
    return None


def _ends_condition(tokens: list[Token]) -> bool:
    """Return whether these tokens have a comparison with no ] after it."""
    kinds = [token.type for token in tokens]
    compared = [kinds.index(kind) for kind in ("COMPARATOR", "EQUALS") if kind in kinds]
    return bool(compared) and "RSQB" not in kinds[min(compared) :]


def _is_sentence(text: str, parser: Lark) -> bool:
    with suppress(UnexpectedInput):
        parser.parse(text)
        return True
    return False


def _other_case(word: str, span: Span, keywords: Set[str]) -> ParseError | None:
    """Return the error for a keyword written in the wrong case."""
    for other, letters in ((word.upper(), "capitals"), (word.lower(), "small letters")):
        if other in keywords and word not in keywords:
            return ParseError(f"{word!r} is not expected here; keywords are written in {letters}: {other}", span)
    return None


def _keywords(accepted: Set[str], parser: Lark) -> set[str]:
    """Return the words that terminals match, also in the plural; none for a terminal of names."""
    patterns = {t.pattern.to_regexp() for t in parser.terminals if t.name in accepted}
    found = ((pattern, word + s) for pattern in patterns for word in _WORD.findall(pattern) for s in ("", "s"))
    return {word for pattern, word in found if re.fullmatch(pattern, word)}


def read_before(text: str, position: int, parser: Lark) -> tuple[list[Token], set[str]]:
    """Return the tokens before a text's error, and the terminals that could follow there.

    The parser stops before the wrong token, because even a token that it refuses can close rules that were open.
    """
    reading, tokens = parser.parse_interactive(text), []
    with suppress(UnexpectedInput):
        for token in reading.iter_parse():
            if cast("int", token.start_pos) >= position:
                break
            tokens.append(token)
    return tokens, cast("set[str]", reading.accepts())  # type: ignore[no-untyped-call]


def _expected(terminals: Iterable[str], parser: Lark) -> str:
    terminal_names = {t.name: t.pattern.value for t in parser.terminals if t.pattern.type == "str"}
    accepted = {READABLE.get(t) or terminal_names.get(t) or t for t in terminals if not t.startswith(REFUSED)}
    words = sorted(accepted - {"π", "⊕"}, key=lambda word: (word == READABLE["$END"], word))
    if not words:
        return ""
    return "; expected " + (words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1])


PREDICATES = "cerify.semantics"  # the package with the grammar of predicates
MAX_DEPTH = 200  # nesting that every recursive function of the toolkit carries within Python's own limit

MAX_DIGITS = 308  # a whole number of more may be beyond a 64-bit float, and takes long to read

COMPARATORS = {"≤": "<=", "≥": ">=", "≠": "!="}


@cache
def parser_of(*packages: str) -> Lark:
    """Return the LALR parser for the grammars of these packages, joined in order; they may be in a zip file.

    The parser's tables are cached beside Python's bytecode, if that may be written: building them takes ten times as
    long as loading them.
    """
    files = {PREDICATES: "predicates.lark"}
    grammar = "\n".join(str(get_data(one, files.get(one, "grammar.lark")) or b"", "utf-8") for one in packages)
    digest = sha256(f"{lark_version} {grammar}".encode()).hexdigest()[:16]
    kept = Path(cache_from_source(__file__)).with_suffix(f".{digest}.lalr")
    callbacks = {"NAME": unquoted}
    with suppress(OSError, EOFError, ValueError, TypeError):
        data, memo = marshal.loads(kept.read_bytes())  # as Python reads bytecode
        load = cast("Callable[..., Lark]", Lark._load_from_dict)  # as the parsers that Lark generates do
        return load(data, memo, lexer_callbacks=callbacks)
    parser = Lark(grammar, parser="lalr", propagate_positions=True, maybe_placeholders=False, lexer_callbacks=callbacks)
    if not sys.dont_write_bytecode:
        written = kept.with_suffix(f".{os.getpid()}")
        data, memo = parser.memo_serialize([TerminalDef, Rule])
        data["options"] = {name: value for name, value in data["options"].items() if name != "lexer_callbacks"}
        with suppress(OSError):
            written.write_bytes(marshal.dumps((data, memo)))
            written.replace(kept)  # whole, or not at all
    return parser


def unquoted(token: Token) -> Token:
    """Return the token of a name without the double quotes around it; its place in the text stays."""
    if not token.startswith('"'):
        return token
    return token.update(value=token[1:-1].replace('""', '"'))


def parsed(
    text: str, parser: Lark, builder: Transformer_NonRecursive[Token, Any], explanation: Explanation = explained
) -> Any:
    """Return the formula of a text. Raises ParseError, or BudgetExceeded if the formula is nested too deeply.

    explanation: a function that returns the error for a text that the grammar does not accept.
    """
    with errors_in(text):
        if not (text.isascii() or encodable(text)):
            half = next(i for i, character in enumerate(text) if not encodable(character))
            hint = ""
            if "\udc80" <= text[half] <= "\udcff":  # as Python reads arguments of a command
                encoding = sys.getfilesystemencoding()
                hint = f": it is not {encoding}, the encoding of the locale"
                hint += "; set PYTHONUTF8=1 for UTF-8" * (encoding != "utf-8")
            raise ParseError(f"{text[half]!r} is not valid Unicode text{hint}", Span(half, half + 1))
        too_deep = (
            f"the formula is nested more than {MAX_DEPTH} operators deep; write it with fewer inside each other "
            "(in A ; B ; C, each operator is inside the next)"
        )
        try:
            phi = builder.transform(parser.parse(text))
        except VisitError as error:
            if isinstance(error.orig_exc, RecursionError):  # a predicate that is much too deep, looked at on the way
                raise BudgetExceeded(too_deep, Span(0, len(text))) from None
            raise error.orig_exc from None
        except UnexpectedInput as error:
            if not text.strip():
                raise ParseError("the query is empty", Span(len(text), len(text))) from None
            raise explanation(error, text, parser) from None
        if _depth(phi) > MAX_DEPTH:
            raise BudgetExceeded(too_deep, Span(0, len(text)))
        return phi


def node(class_: type[Any], spanned: bool = True) -> Any:
    """Return a method of a tree builder that makes a node from the operands and names of its grammar rule, in order.

    spanned: whether the node also gets its place in the text.
    """

    def rule(self: PredicateBuilder, meta: Meta, *children: Any) -> Any:
        written = (child for child in children if not isinstance(child, Token) or child.type == "NAME")
        fields = (str(child) if isinstance(child, Token) else child for child in written)
        return class_(*fields, span=span_of(meta)) if spanned else class_(*fields)

    return rule


@v_args(meta=True, inline=True)
class PredicateBuilder(Transformer_NonRecursive[Token, Any]):
    """The rules of predicates.lark, one method for each alternative, in its order."""

    either = node(pred.Either, spanned=False)
    both = node(pred.Both, spanned=False)
    negated = node(pred.Not, spanned=False)

    def comparison(self, meta: Meta, left: pred.Term, comparator: Token, right: pred.Term) -> pred.Predicate:
        return pred.Comparison(comparator_of(comparator), left, right)

    def is_null(self, meta: Meta, term: pred.Term, word: Token) -> pred.Predicate:
        return pred.Not(pred.has_value(term))

    def is_not_null(self, meta: Meta, term: pred.Term, word: Token) -> pred.Predicate:
        return pred.has_value(term)

    def one_of(self, meta: Meta, term: pred.Term, *values: pred.Constant) -> pred.Predicate:
        return pred.OneOf(term, tuple(constant.value for constant in values))

    def in_range(self, meta: Meta, term: pred.Term, low: pred.Constant, high: pred.Constant) -> pred.Predicate:
        return pred.InRange(term, low.value, high.value)

    def in_network(self, meta: Meta, term: pred.Term, token: Token) -> pred.Predicate:
        try:
            return pred.Like(term, pattern_of_network(_unquoted(token)))
        except ValueError as error:
            raise ParseError(str(error), span_of(token)) from None

    def like(self, meta: Meta, term: pred.Term, token: Token) -> pred.Predicate:
        pattern = _unquoted(token)
        if (reason := flaw(pattern)) is not None:  # checked alone: `)(` would be valid between parentheses
            advice = "; .* matches any text, as in 'a.*'" if re.search(r"(?<!\.)[*%]", pattern) else ""
            message = f"like takes a regular expression (RE2), and {pattern!r} is not one: {reason}{advice}"
            raise ParseError(message, span_of(token))
        return pred.Like(term, pattern)

    def arithmetic(self, meta: Meta, left: pred.Term, operator: Token, right: pred.Term) -> pred.Term:
        return pred.Arithmetic(cast("pred.Operator", str(operator)), left, right)

    def negative(self, meta: Meta, minus: Token, term: pred.Term) -> pred.Term:
        match term:
            case pred.Constant(value) if isinstance(value, int | float) and not isinstance(value, bool):
                return pred.Constant(-value)
        return pred.Arithmetic("-", pred.Constant(0), term)

    def attribute(self, meta: Meta, name: Token) -> pred.Term:
        span = span_of(name)
        if span.end - span.start != len(name) and is_plain_name(name):  # in other languages quotes make a string
            string = "'" + name.replace("'", "''") + "'"
            message = f'is "{name}" a string? Write {string}; or an attribute? It needs no quotes: {name}'
            raise ParseError(message, span)
        return pred.Attribute(attribute_name(name))

    def mention(self, meta: Meta, variable: Token, name: Token) -> pred.Term:
        return pred.Attribute(attribute_name(name), str(variable))

    def negative_number(self, meta: Meta, minus: Token, number: Token) -> pred.Term:
        return pred.Constant(-number_of(number))

    def number(self, meta: Meta, number: Token) -> pred.Term:
        return pred.Constant(number_of(number))

    def string(self, meta: Meta, text: Token) -> pred.Term:
        return pred.Constant(_unquoted(text))

    def boolean(self, meta: Meta, truth: Token) -> pred.Term:
        return pred.Constant(truth == "true")

    def timestamp(self, meta: Meta, token: Token) -> pred.Term:
        text = str(token).split("'")[1]
        try:
            return pred.Constant(parse_time(text))
        except ValueError as error:
            raise ParseError(f"{text!r} {error}", span_of(meta)) from None


def comparator_of(token: Token) -> pred.Comparator:
    """Return the comparator that a token writes."""
    return cast("pred.Comparator", COMPARATORS.get(token, str(token)))


def require_alone(predicate: pred.Predicate, brackets: str, more: str, span: Span) -> None:
    """Raise ParseError if an attribute inside brackets has a variable, as in A[A.x > 1].

    brackets, more: texts for the message, after "inside the brackets" and at its end.
    """
    for attribute in mentions(predicate):
        if attribute.variable is not None:
            raise ParseError(
                f"inside the brackets{brackets} an attribute stands alone: write {attribute.name}, "
                f"not {attribute.variable}.{attribute.name}{more}",
                span,
            )


def require_variables(predicate: pred.Predicate, variable: str, events: str, example: str, span: Span) -> None:
    """Raise ParseError if an attribute outside brackets has no variable, or if there is no attribute.

    variable, events, example: for messages: a variable, what brackets test, and a correct filter.
    """
    for attribute in mentions(predicate):
        if attribute.variable is None:
            is_value = isinstance(predicate, pred.Comparison) and predicate.right == attribute
            string = f"; a string is written '{attribute.name}'" if is_value else ""
            if is_value and attribute.name.lower() in ("true", "false"):
                raise ParseError(f"write {attribute.name.lower()}, in lower case, not {attribute.name}", span)
            if is_value and attribute.name.lower() == "null":
                left = next(mentions(predicate), attribute)
                raise ParseError(
                    f"nothing is equal to null; write {left.variable or variable}[{left.name} is null]", span
                )
            raise ParseError(
                f"whose attribute is {attribute.name!r}? Write {variable}.{attribute.name}, "
                f"or {variable}[...] around a test of {events}{string}",
                span,
            )
    if not any(mentions(predicate)):
        raise ParseError(f"a filter must compare an attribute of a variable, as in {example}", span)


def span_of(at: Meta | Token) -> Span:
    """Return the place of a rule or a token in the text."""
    if isinstance(at, Meta) and at.empty:
        return Span(0, 0)
    return Span(cast("int", at.start_pos), cast("int", at.end_pos))


def attribute_name(token: Token) -> str:
    """Return the attribute name in a token. Raises ParseError for the reserved name."""
    if token == TYPE:
        raise ParseError(
            f"{TYPE!r} is not an attribute: write the event type itself, as in A ; B, and rename an attribute of this "
            "name",
            span_of(token),
        )
    return str(token)


def number_of(token: Token) -> int | float:
    """Return the number in a token. Raises ParseError if it is beyond the range of 64-bit floats."""
    if token.isdecimal():
        if len(token) > MAX_DIGITS:
            raise ParseError(f"the whole number has more than {MAX_DIGITS} digits; write a smaller one", span_of(token))
        return int(token)
    value = float(token)
    if math.isinf(value):
        raise ParseError("the number is too large for a 64-bit float", span_of(token))
    return value


def _unquoted(token: Token) -> str:
    return str(token)[1:-1].replace("''", "'")


def _depth(root: Any) -> int:
    deepest, pending = 0, [(root, 1)]
    while pending:
        node, depth = pending.pop()
        deepest = max(deepest, depth)
        below = (getattr(node, f.name) for f in fields(node) if f.name != "span")
        pending.extend((child, depth + 1) for child in below if is_dataclass(child))
    return deepest


# ---------------------------------------------------------------------------------------------------------------------
# Ranges of IP addresses as regular expressions that match the texts of the addresses.
#
# An attribute has an address as a text. So `x in cidr('10.0.0.0/8')` is a pattern, and all code that handles patterns
# handles it: evaluators of columns, the predicate algebra and the deciders. An address of IPv4 is four numbers from 0
# to 255 in decimal, without leading zeros. An address of IPv6 has several texts, and the pattern matches all of them:
# digits of both cases, leading zeros, and `::` for any groups of zeros (RFC 4291, section 2.2). A dotted end, as in
# ::ffff:10.0.0.1, is matched only if the first 96 bits are fixed and not all zero, as in ::ffff:0:0/96. Other texts are
# in no range.

ANY = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
DIGIT, GROUP = "[0-9A-Fa-f]", "[0-9A-Fa-f]{1,4}"

Interval: TypeAlias = tuple[int, int]
WHOLE: Interval = (0, 0xFFFF)


@lru_cache(maxsize=256)
def pattern_of_network(text: str) -> str:
    """Return the regular expression (RE2 syntax) of the addresses in a range, such as 10.0.0.0/8 or fe80::/10.

    Raises ValueError, with a sentence for its message, for a text that is not a range of addresses.

    >>> pattern_of_network("10.1.2.0/31")
    '10[.]1[.]2[.](?:[0-1])'
    """
    try:
        network = ip_network(text)
    except ValueError as error:
        raise ValueError(f"not a range of addresses such as '10.0.0.0/8': {error}") from None
    first, last = network.network_address.packed, network.broadcast_address.packed
    dotted = "[.]".join(_number(low, high) for low, high in zip(first[-4:], last[-4:], strict=True))
    if isinstance(network, IPv4Network):
        return dotted
    groups = [(int.from_bytes(first[i : i + 2]), int.from_bytes(last[i : i + 2])) for i in range(0, 16, 2)]
    if network.prefixlen < 96 or not any(first[:12]):
        return _addresses(groups, "")
    return f"(?:{_addresses(groups, '')}|{_addresses(groups[:6], f':{dotted}')})"


# --- IPv4 -------------------------------------------------------------------------------------------------------------


def _number(low: int, high: int) -> str:
    """Return a pattern for the decimal numbers from low to high."""
    if low == high:
        return str(low)
    if (low, high) == (0, 255):
        return ANY
    return f"(?:{'|'.join(_tens(low, high))})"


def _tens(low: int, high: int) -> Iterator[str]:
    for tens in range(low // 10, high // 10 + 1):
        first, last = max(low, 10 * tens) % 10, min(high, 10 * tens + 9) % 10
        digit = str(first) if first == last else f"[{first}-{last}]"
        yield f"{tens or ''}{digit}"


# --- IPv6 -------------------------------------------------------------------------------------------------------------


def _addresses(groups: Sequence[Interval], end: str, i: int = 0) -> str:
    """Return a pattern for the groups from index i on, in which `::` may replace zeros, followed by the end."""
    plain = _group(groups[i]) + (f":{_addresses(groups, end, i + 1)}" if i + 1 < len(groups) else end)
    if groups[i][0] > 0:
        return plain
    zeros = next((k for k in range(i, len(groups)) if groups[k][0] > 0), len(groups))
    return f"(?:{plain}|{':' if i else '::'}{_after_zeros(groups[i + 1 : zeros], groups[zeros:], end)})"


def _after_zeros(optional: Sequence[Interval], rest: Sequence[Interval], end: str) -> str:
    """Return a pattern for the part after `::`: any number of the optional groups, then the rest."""
    if rest or end:
        return _last_of(optional) + ":".join(map(_group, rest)) + (end if rest else end.removeprefix(":"))
    return f"(?:{_last_of(optional[:-1])}{_group(optional[-1])})?" if optional else ""


def _last_of(groups: Sequence[Interval]) -> str:
    """Return a pattern for the last k groups, for any k, each with a colon after it."""
    if len({*groups}) == 1:
        return f"(?:{_group(groups[0])}:){{0,{len(groups)}}}"
    return reduce(lambda text, group: f"(?:{text}{_group(group)}:)?", groups, "")


@lru_cache(maxsize=256)
def _group(interval: Interval) -> str:
    """Return a pattern for the hexadecimal numbers from low to high, which share their first digits."""
    low, high = interval
    if interval == WHOLE:
        return GROUP
    ways = []
    for digits in (1, 2, 3, 4):  # numbers with this many digits
        least, most = max(low, 16 ** (digits - 1) if digits > 1 else 0), min(high, 16**digits - 1)
        if least <= most:
            zeros = f"0{{0,{4 - digits}}}" if digits < 4 else ""
            ways.append(zeros + _digits(f"{least:0{digits}x}", f"{most:0{digits}x}"))
    return ways[0] if len(ways) == 1 else f"(?:{'|'.join(ways)})"


def _digits(low: str, high: str) -> str:
    """Return a pattern for numbers of one length: the first digits are fixed, one is in a range, the rest are free."""
    text = ""
    for a, b in zip(low, high, strict=True):
        between = "0123456789abcdef"[int(a, 16) : int(b, 16) + 1]
        both = between + "".join(d.upper() for d in between if d.isalpha())
        text += DIGIT if len(between) == 16 else between if len(both) == 1 else f"[{both}]"
    return text


SHORT_UNITS = {"s|sec|secs": "seconds", "m|min|mins": "minutes", "h|hr|hrs": "hours", "d": "days"}
UNITS_REWRITTEN: Sequence[tuple[str, str | Callable[[re.Match[str]], str]]] = (
    *((rf"\b(\d+) *(?:{short})\b", rf"\1 {unit}") for short, unit in SHORT_UNITS.items()),
    (r"\b(\d{1,12}) *(?:ms|millis|milliseconds?)\b", lambda found: f"{int(found[1]) / 1000!r} seconds"),
    (r"\b(\d{1,12}) *(?:w|weeks?)\b", lambda found: f"{7 * int(found[1])} days"),
)
"""Regular expressions for lengths of time as other languages write them, with what to write instead."""
