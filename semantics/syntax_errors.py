"""Messages for texts that are no sentences of a grammar: what is not expected where, what is, and what was meant."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Set
from contextlib import suppress
from difflib import get_close_matches
from typing import TypeAlias, cast

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from cerify.semantics.errors import ParseError, Span

READABLE = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a 'string'",
    "TIMESTAMP": "a timestamp",
    "COMPARATOR": "a comparison (< <= > >= = !=)",
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
REFUSED = "OTHER_"  # how the names of terminals begin that a grammar reads only to say what to write instead

Explanation: TypeAlias = Callable[[UnexpectedInput, str, Lark], ParseError]

MOST_READ = 2_000  # characters of a text that is read anew with another sign
CONNECTIVES = {"AND", "OR"}
SIGNS = (";", ":", ",", ")", "}", "]")
"""What is forgotten between two parts of a text, or after them."""
CONJUNCTIONS = (("AND",), ("and",))
"""What is forgotten before a word or a bracket, where it is no sign."""

_WORD = re.compile(r"[A-Za-z]{2,}")
_LAST_WORD = re.compile(r"(\w+)\s*$")


def explained(error: UnexpectedInput, text: str, parser: Lark) -> ParseError:
    """The error for a text that is no sentence of the grammar: what is wrong where, and what was probably meant."""
    span = place_of(error, text)
    word = text[span.start : span.end]
    if isinstance(error, UnexpectedCharacters):
        if word == "'":
            return ParseError("a string that does not end; a ' inside of a string is written ''", span)
        names = "" if word.isascii() else "; a name has letters, digits and _"
        wrong = f"the character {word!r} is not expected here{names}"
    else:
        wrong = f"{word!r} is not expected here" if word else "the query ends too early"
    tokens, accepted = read_before(text, span.start, parser)
    if span.start == len(text):
        if "RPAR" in accepted and (bracket := _unclosed(text)) is not None:
            return ParseError("the query ends too early; this bracket is never closed", Span(bracket, bracket + 1))
        if text.rstrip().endswith(";"):
            wrong += "; leave the ; at its end out, or write what follows"
    if word == "-" and re.search(r"(?i)\bWITHIN\s*\Z", text[: span.start]):
        return ParseError("no window is of a negative length; leave '-' out", span)
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
    if word and not near and len(text) <= MOST_READ and (error_ := _one_sign(text, span, tokens, parser)) is not None:
        return error_
    meant = f"; did you mean {near[0]}?" if near else ""
    return ParseError(wrong + _expected(accepted, parser) + meant, span)


def place_of(error: UnexpectedInput, text: str) -> Span:
    """Where the character or the token stands that is not expected; the empty span at the end where it is the end."""
    if isinstance(error, UnexpectedCharacters):
        at = error.pos_in_stream or 0
        return Span(at, at + 1)
    if isinstance(error, UnexpectedToken) and error.token.type != "$END":
        return Span(error.token.start_pos or 0, error.token.end_pos or 0)
    return Span(len(text), len(text))


def _unclosed(text: str) -> int | None:
    """The place of the last ( that no ) follows; brackets in strings do not count."""
    opened: list[int] = []
    for found in re.finditer(r"'[^']*'|[()]", text):
        if found[0] == "(":
            opened.append(found.start())
        elif found[0] == ")" and opened:
            opened.pop()
    return opened[-1] if opened else None


def _one_sign(text: str, span: Span, tokens: list[Token], parser: Lark) -> ParseError | None:
    """The error for a sign that is missing, or that is one too many, if the text is a sentence but for that sign."""
    word = text[span.start : span.end]
    names = [one for one in tokens[:-3:-1] if one.type == "NAME"]  # or a keyword read as one: PATTERN (A B DEFINE
    for place in [span, *(Span(one.start_pos or 0, one.end_pos or 0) for one in names)]:
        before, after = text[: place.start], text[place.start :]
        is_next = place == span and (word[0].isalnum() or word == "(") and _ends_condition(tokens)
        conjunctions = CONJUNCTIONS if is_next else ()
        for signs in (SIGNS, *conjunctions):
            if found := [sign for sign in signs if _is_sentence(f"{before} {sign} {after}", parser)]:
                missing = " or ".join(map(repr, found))
                return ParseError(f"{missing} is missing before {text[place.start : place.end]!r}", place)
    if tokens and not word.isalnum() and _is_sentence(f"{text[: span.start]} {text[span.end :]}", parser):
        return ParseError(f"{word!r} is not expected here; leave it out", span)
    return None


def _ends_condition(tokens: list[Token]) -> bool:
    """Whether a comparison stands before the end of these tokens, and is not closed by a bracket."""
    kinds = [token.type for token in tokens]
    compared = [kinds.index(kind) for kind in ("COMPARATOR", "EQUALS") if kind in kinds]
    return bool(compared) and "RSQB" not in kinds[min(compared) :]


def _is_sentence(text: str, parser: Lark) -> bool:
    with suppress(UnexpectedInput):
        parser.parse(text)
        return True
    return False


def _other_case(word: str, span: Span, keywords: Set[str]) -> ParseError | None:
    """The error for a keyword in capitals that is written in small letters, or the other way round."""
    for other, letters in ((word.upper(), "capitals"), (word.lower(), "small letters")):
        if other in keywords and word not in keywords:
            return ParseError(f"{word!r} is not expected here; keywords are written in {letters}: {other}", span)
    return None


def _keywords(accepted: Set[str], parser: Lark) -> set[str]:
    """The words that terminals stand for; a name, which stands for all words, has none."""
    patterns = {t.pattern.to_regexp() for t in parser.terminals if t.name in accepted}
    found = ((pattern, word + s) for pattern in patterns for word in _WORD.findall(pattern) for s in ("", "s"))
    return {word for pattern, word in found if re.fullmatch(pattern, word)}


def read_before(text: str, position: int, parser: Lark) -> tuple[list[Token], set[str]]:
    """The tokens before the position of a text's error, and the terminals with which the text may go on there.

    Asked before the parser has seen what is wrong there: a token that it refuses may have closed what was open.
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
