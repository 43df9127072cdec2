"""Messages for texts that are no clause: parts in the wrong order, and what is left out or written otherwise in SQL."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lark import Lark, Token
from lark.exceptions import UnexpectedInput

from cerify.semantics.errors import ParseError, Span
from cerify.semantics.syntax_errors import explained, place_of, read_before

PARTS = {
    "PARTITION BY": r"PARTITION\s+BY\b",
    "ORDER BY": r"ORDER\s+BY\b",
    "MEASURES": r"MEASURES\b",
    "ROWS PER MATCH": r"(ONE\s+ROW|ALL\s+ROWS)\s+PER\s+MATCH\b",
    "ROWS BETWEEN": r"(ROWS|RANGE|GROUPS)\s+BETWEEN\b",
    "AFTER MATCH SKIP": r"AFTER\s+MATCH\b(\s+SKIP\b)?",
    "INITIAL or SEEK": r"(INITIAL|SEEK)\b",
    "PATTERN": r"PATTERN(?=\s*\()",
    "SUBSET": r"SUBSET\b",
    "DEFINE": r"DEFINE\b",
}
"""The parts of the clauses in their order, each with what it begins with."""

TERMINALS = {
    "_PARTITION_BY": "PARTITION BY", "_ORDER_BY": "ORDER BY", "_MEASURES": "MEASURES", "ROWS": "ROWS PER MATCH",
    "FRAME": "ROWS BETWEEN", "SKIP_PLACE": "AFTER MATCH SKIP", "SKIP_VARIABLE": "AFTER MATCH SKIP",
    "SEARCH": "INITIAL or SEEK", "_PATTERN": "PATTERN", "_SUBSET": "SUBSET", "_DEFINE": "DEFINE",
}  # fmt: skip
"""The part that each terminal begins."""

ONLY_IN = {"ROWS PER MATCH": "MATCH_RECOGNIZE", "ROWS BETWEEN": "WINDOW", "INITIAL or SEEK": "WINDOW"}
REQUIRED = {"MATCH_RECOGNIZE": ("PATTERN",), "WINDOW": ("ROWS BETWEEN", "PATTERN")}
ONE, ROWS_AWAY = "one argument, as in {}(price)", "an expression and a number of rows, as in {}(price, 2)"
TAKES = {"COUNT": ONE, "AGGREGATE": ONE, "_ABS": ONE, "PHYSICAL": ROWS_AWAY, "LOGICAL": ROWS_AWAY}
"""The arguments of each function that takes a fixed number of them, by the terminal of its name."""

WHOLE = (
    "a clause is MATCH_RECOGNIZE (...), or WINDOW (...), as in MATCH_RECOGNIZE (PATTERN (A B) DEFINE B AS price > 3)"
)
SKIP = "AFTER MATCH SKIP is followed by PAST LAST ROW, TO NEXT ROW, or TO, TO FIRST or TO LAST and a variable"
_PART = re.compile("|".join(PARTS.values()), re.IGNORECASE)
_PATTERN_END = re.compile(r"\b(?:SUBSET|DEFINE|WITHIN)\b|\)\s*\Z", re.IGNORECASE)
_ARGUMENT = ("LPAR", "COMMA")  # what stands before an argument


def explained_clause(error: UnexpectedInput, text: str, parser: Lark) -> ParseError:
    """The error for a text that is no clause."""
    span = place_of(error, text)
    tokens, _ = read_before(text, span.start, parser)
    if (wrong := _outside_brackets(text, span, tokens) or _argument(text, span, tokens)) is not None:
        return ParseError(wrong, span)
    if not tokens or span.start == len(text):
        return explained(error, text, parser)
    kinds = [token.type for token in tokens]
    depth = kinds.count("LPAR") - kinds.count("RPAR")
    if depth == 0 and kinds[-1] == "RPAR":
        rest = text[span.start :].rstrip()
        advice = "leave the ; at the end out" if rest == ";" else "the clause ends before it; leave what follows out"
        return ParseError(f"{text[span.start : span.end]!r} is not expected here; {advice}", span)
    if text[span.start] == '"' and span.end == span.start + 1:
        return ParseError("a name in quotation marks that does not end; a string is written with '…', not \"…\"", span)
    message = None
    if depth == 1 and (begun := _begun(text, span.start, tokens)) is not None:
        part, span_ = begun
        message, span = _misplaced(text, part, span_, tokens), (span_ if span_.end > span_.start else span)
    elif "SKIP_VARIABLE" in kinds[-2:]:
        message = SKIP
    return explained(error, text, parser) if message is None else ParseError(message, span)


def _outside_brackets(text: str, span: Span, tokens: Sequence[Token]) -> str | None:
    """What is wrong where the brackets of a clause or of PATTERN are not opened, or the word before them is missing."""
    if text.startswith("(", span.start) and tokens:
        return None
    if not tokens:
        return WHOLE if _PART.search(text) else None
    if len(tokens) == 1:
        return f"brackets are missing after {tokens[0].upper()}; {WHOLE}"
    if tokens[-1].type != "_PATTERN":
        return None
    pattern = _PATTERN_END.split(text[span.start :])[0].strip()
    return f"the pattern stands in brackets: PATTERN ({pattern or 'A B'})"


def _argument(text: str, span: Span, tokens: Sequence[Token]) -> str | None:
    """What is wrong where an argument is missing, or is one too many, or is none that the function takes."""
    opened: list[int] = []
    for i, token in enumerate(tokens):
        if token.type == "LPAR":
            opened.append(i)
        elif token.type == "RPAR" and opened:
            opened.pop()
    name = tokens[opened[-1] - 1] if opened and opened[-1] > 0 else None
    if (
        name is None
        or name.type not in TAKES
        or not (text[span.start : span.end] == "," or tokens[-1].type in _ARGUMENT)
    ):
        return None
    return f"{name.upper()} takes {TAKES[name.type].format(name.upper())}"


def _begun(text: str, at: int, tokens: Sequence[Token]) -> tuple[str, Span] | None:
    """The part that begins at an error, or with the name before it, and where its first words stand."""
    starts = [at]
    if tokens[-1].type in ("NAME", "OTHER_FUNCTION"):
        starts.append(tokens[-1].start_pos or 0)
    for start in starts:
        for part, begin in PARTS.items():
            found = re.compile(begin, re.IGNORECASE).match(text, start)
            if found is not None and not text[found.end() : at].strip():
                return part, Span(start, found.end())
    return None


def _misplaced(text: str, part: str, span: Span, tokens: Sequence[Token]) -> str | None:
    """What is wrong with a part that begins here after these tokens; None where nothing is, as far as it shows."""
    clause, words = tokens[0].upper(), " ".join(text[span.start : span.end].upper().split())
    before = [token for token in tokens if (token.start_pos or 0) < span.start]
    there = [TERMINALS[token.type] for token in before if token.type in TERMINALS]
    order = list(PARTS)
    if ONLY_IN.get(part, clause) != clause:
        return f"{words} is for row patterns in {ONLY_IN[part]} (…)"
    if part in there:
        return f"{words} stands here a second time"
    for one in there:
        if order.index(one) > order.index(part):
            return f"{part} stands before {one}"
    if there[-1:] == ["MEASURES"] and before[-2].type != "_AS":
        missing = "the name" if before[-1].type == "_AS" else "AS"
        return f"{missing} is missing before {words}: a measure is an expression AS name"
    for one in REQUIRED[clause]:
        if one not in there and order.index(one) < order.index(part):
            return f"{one} stands before {part}" if _later(text, one, span.end) else f"{one} is missing before {part}"
    return SKIP if part == "AFTER MATCH SKIP" or before[-1].type == "SKIP_VARIABLE" else None


def _later(text: str, part: str, position: int) -> bool:
    return re.compile(PARTS[part], re.IGNORECASE).search(text, position) is not None
