"""A SELECT around one MATCH_RECOGNIZE, as people paste it: its list, WHERE, ORDER BY and LIMIT over its output.

The clause is evaluated as any other. What stands around it is applied to its output table, row by row, with the values
and the three-valued logic of the clause's own expressions. The table in FROM is whatever file or frame is given, so its
name does not matter; joins, subqueries, GROUP BY and DISTINCT are refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from cerify.semantics import trees
from cerify.semantics.errors import CerifyError, ParseError, Span, Unsupported, errors_in
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.dialects import STANDARD_SQL, SqlDialect
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.syntax import MatchRecognize, show_expression
from cerify.semantics.trees import subtrees

_SKIPPED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|--[^\n]*|/\*.*?\*/", re.DOTALL)
_NAME = r"(?:[A-Za-z_]\w*|\"(?:[^\"]|\"\")+\"|`[^`]+`)"
_FROM = re.compile(rf"\s*SELECT\b(?P<list>.*?)\bFROM\b\s*(?P<table>{_NAME}(?:\s*\.\s*{_NAME})*)\s*", re.I | re.S)
_WORDS = "WHERE|ORDER|LIMIT|FETCH|GROUP|HAVING|JOIN|UNION"
_ALIAS = re.compile(rf"\s*(?:AS\b\s*)?(?!(?:{_WORDS})\b)(?P<alias>{_NAME})", re.I)
_PARTS = re.compile(r"\b(WHERE|ORDER\s+BY|LIMIT|FETCH)\b", re.I)
_FETCH = re.compile(r"\s*(?:FIRST|NEXT)\s+(\d{1,18})\s+ROWS?\s+ONLY\s*", re.I)
_LIMIT = re.compile(r"\s*(\d{1,18})\s*")
_OPERATORS = frozenset({"NOT", "AND", "OR", "IS", "LIKE", "IN", "BETWEEN", "WHEN", "THEN", "ELSE", "CASE", "ESCAPE"})
_OTHER = re.compile(
    r"\b(JOIN|GROUP\s+BY|HAVING|UNION|INTERSECT|EXCEPT|QUALIFY|WINDOW|OVER|DISTINCT|WITH|OFFSET|SELECT|EXISTS)\b", re.I
)
_DIRECTION = re.compile(r"\s*(?P<direction>\b(?:ASC|DESC)\b)?\s*(?P<nulls>\bNULLS\s+(?:FIRST|LAST)\b)?\s*\Z", re.I)
_BEFORE = "MATCH_RECOGNIZE (MEASURES ("


@dataclass(frozen=True)
class SelectItem:
    """An item of the SELECT list: an expression over the output and its name; None is all columns, as * has them."""

    expression: rows.Expression | None
    name: str = ""


@dataclass(frozen=True)
class SortItem:
    """An item of ORDER BY; nulls is None where the text leaves it open."""

    expression: rows.Expression
    descending: bool
    nulls: str | None


@dataclass(frozen=True)
class Statement:
    """A SELECT over one clause. alias: what the clause's output is called, None for nothing."""

    clause: MatchRecognize
    items: tuple[SelectItem, ...]
    table: str
    alias: str | None = None
    where: rows.Expression | None = None
    order: tuple[SortItem, ...] = ()
    limit: int | None = None

    @property
    def expressions(self) -> tuple[rows.Expression, ...]:
        """The expressions around the clause."""
        listed = (*(item.expression for item in self.items), self.where, *(one.expression for one in self.order))
        return tuple(e for e in listed if e is not None)


def is_statement(text: str) -> bool:
    """Tell whether a text is a statement rather than a clause alone: it begins with SELECT, or with WITH."""
    return re.match(r"(SELECT|WITH)\b", _blanked(text).lstrip(), re.I) is not None


def parse_statement(text: str, dialect: SqlDialect = STANDARD_SQL) -> Statement:
    """Return the statement that a text writes. Raises ParseError, Unsupported, with the place.

    >>> parse_statement("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A)) AS m LIMIT 3;").limit
    3
    """
    with errors_in(text):
        plain = _blanked(text)
        keyword = re.search(r"\bMATCH_RECOGNIZE\s*\(", plain, re.I)
        if keyword is None:
            raise ParseError("there is no MATCH_RECOGNIZE in the statement", Span(0, len(text)))
        end = _closing(plain, keyword.end() - 1)
        head, tail = plain[: keyword.start()], plain[end:]
        for part, start in ((head, 0), (tail, end)):
            _refuse_others(part, start)
        found = _FROM.fullmatch(head)
        if found is None:
            raise _shape(head, keyword.start())
        alias = _ALIAS.match(tail)
        rest = end + (alias.end() if alias is not None else 0)
        parts = _parts_after(plain, rest)
        clause = _parsed(text, keyword.start(), end, " " * keyword.start(), "", dialect)
        where, order = parts.get("WHERE"), parts.get("ORDER BY")
        table = " ".join(text[found.start("table") : found.end("table")].split())
        return Statement(
            clause,
            tuple(_items(text, Span(*found.span("list")), dialect)),
            table,
            None if alias is None else _unquoted(text[end + alias.start("alias") : end + alias.end("alias")]),
            None if where is None else _expression(text, where, dialect),
            () if order is None else tuple(_sorts(text, order, dialect)),
            _limit_of(text, parts),
        )


# --- parsing ----------------------------------------------------------------------------------------------------------


def _blanked(text: str) -> str:
    """Return the text of the same length without what stands in quotation marks or in comments."""

    def blanks(found: re.Match[str]) -> str:
        quote = found[0][0]
        return f"{quote}{'_' * (len(found[0]) - 2)}{quote}" if quote in "'\"`" else " " * len(found[0])

    return _SKIPPED.sub(blanks, text)


def _parts_after(plain: str, start: int) -> dict[str, Span]:
    """Return where WHERE, ORDER BY and LIMIT or FETCH stand after the clause. Raises ParseError for other words."""
    end = len(plain.rstrip().removesuffix(";").rstrip())
    marks = [
        (found.start(), found.end(), " ".join(found[0].upper().split()))
        for found in _PARTS.finditer(plain, start, end)
        if plain.count("(", start, found.start()) == plain.count(")", start, found.start())
    ]
    order = [["WHERE", "ORDER BY", "LIMIT", "FETCH"].index(word) for _, _, word in marks]
    first = marks[0][0] if marks else max(start, end)
    if plain[start:first].strip() or any(after <= before for before, after in pairwise(order)):
        wrong = "after the clause come an alias, WHERE, ORDER BY and LIMIT, in this order and once each"
        raise ParseError(wrong, Span(start, max(start, end)))
    ends = [*(begin for begin, _, _ in marks), end][1:]
    return {word: Span(after, stop) for (_, after, word), stop in zip(marks, ends, strict=True)}


def _limit_of(text: str, parts: Mapping[str, Span]) -> int | None:
    for word, shape in (("LIMIT", _LIMIT), ("FETCH", _FETCH)):
        if (span := parts.get(word)) is not None:
            found = shape.fullmatch(text, span.start, span.end)
            if found is None:
                raise ParseError(f"after {word} comes one whole number of rows", span)
            return int(found[1])
    return None


def _closing(plain: str, opening: int) -> int:
    depth = 0
    for at in range(opening, len(plain)):
        depth += (plain[at] == "(") - (plain[at] == ")")
        if depth == 0:
            return at + 1
    raise ParseError("the parenthesis after MATCH_RECOGNIZE is not closed", Span(opening, opening + 1))


def _refuse_others(part: str, start: int) -> None:
    head = re.match(r"\s*SELECT\b", part, re.I)
    other = _OTHER.search(part, head.end() if head is not None and start == 0 else 0)
    if other is not None:
        word = " ".join(other[0].upper().split())
        raise Unsupported(
            f"{word} is not carried: a statement is SELECT … FROM table MATCH_RECOGNIZE (…) with WHERE, ORDER BY and "
            "LIMIT",
            Span(start + other.start(), start + other.end()),
        )


def _shape(head: str, end: int) -> CerifyError:
    place = re.search(r"\bFROM\b", head, re.I)
    if place is None:
        return ParseError("FROM is missing before MATCH_RECOGNIZE", Span(0, end))
    rest = head[place.end() :]
    if "," in rest:
        return Unsupported("FROM names two tables, and a clause has one", Span(place.end(), end))
    if "(" in rest:
        return Unsupported("a subquery in FROM is not carried; give its result as the file", Span(place.end(), end))
    return ParseError(
        "before MATCH_RECOGNIZE stand SELECT, a list, FROM and the name of a table", Span(place.end(), end)
    )


def _parsed(text: str, start: int, end: int, before: str, after: str, dialect: SqlDialect) -> MatchRecognize:
    """Return the clause of a part of the text between two others; errors have their place in the whole text."""
    try:
        return parse(f"{before}{text[start:end]}{after}", dialect)
    except CerifyError as error:
        if error.span is not None:
            shift = start - len(before)
            low, high = (min(max(place + shift, start), end) for place in (error.span.start, error.span.end))
            error.span = Span(low, max(low, high))
        error.text = text
        raise


def _expression(text: str, span: Span, dialect: SqlDialect) -> rows.Expression:
    dialect = replace(dialect, bare_functions=False)  # out here they are columns, called like the measures
    clause = _parsed(text, span.start, span.end, _BEFORE, ") AS x PATTERN (A))", dialect)
    expression = _moved(clause.measures[0].expression, span.start - len(_BEFORE))
    for e in subtrees(expression):
        if not isinstance(e, rows.RowColumn) and isinstance(e, rows.Lookup):
            raise Unsupported(f"{show_expression(e)} stands in MEASURES or DEFINE, not around the clause", e.span)
    return expression


def _moved(e: rows.Expression, by: int) -> rows.Expression:
    """Return the expression with its places moved by some characters."""
    span = None if e.span is None else Span(e.span.start + by, e.span.end + by)
    return replace(trees.rebuilt(e, [_moved(one, by) for one in rows.below(e)]), span=span)


def _split(text: str, span: Span) -> Iterator[Span]:
    """Yield the parts of a list, which commas outside of parentheses divide."""
    plain, depth = _blanked(text), 0
    commas = [span.start - 1]
    for at in range(span.start, span.end):
        depth += (plain[at] == "(") - (plain[at] == ")")
        if plain[at] == "," and depth == 0:
            commas.append(at)
    for before, after in pairwise([*commas, span.end]):
        part = Span(before + 1, after)
        if not text[part.start : part.end].strip():
            raise ParseError("an item of the list is missing here", part)
        yield part


def _items(text: str, span: Span, dialect: SqlDialect) -> Iterator[SelectItem]:
    for part in _split(text, span):
        written = text[part.start : part.end].strip()
        if re.fullmatch(rf"(?:{_NAME}\s*\.\s*)?\*", written):
            yield SelectItem(None)
            continue
        named_ = re.search(rf"\bAS\s+({_NAME})\s*\Z", written, re.I) or _bare_alias(written)
        end = part.end if named_ is None else part.start + text[part.start :].index(written) + named_.start()
        e = _expression(text, Span(part.start, end), dialect)
        name = "" if isinstance(e, rows.RowColumn) else written
        yield SelectItem(e, name if named_ is None else _unquoted(named_[1]))


def _bare_alias(written: str) -> re.Match[str] | None:
    """Return where an alias without AS stands at the end of an item."""
    found = re.search(rf"\s({_NAME})\s*\Z", written)
    if found is None or found[1].upper() in ("END", "NULL", "TRUE", "FALSE", "UNKNOWN"):
        return None
    before = written[: found.start()].rstrip()
    word = re.search(r"\w+\Z", before)
    ends = re.search(r"[\w)'\"`]\Z", before) is not None
    return found if ends and (word is None or word[0].upper() not in _OPERATORS) else None


def _sorts(text: str, span: Span, dialect: SqlDialect) -> Iterator[SortItem]:
    for part in _split(text, span):
        marks = _DIRECTION.search(text, part.start, part.end)
        assert marks is not None  # it may be empty
        nulls = None if marks["nulls"] is None else marks["nulls"].split()[1].upper()
        e = _expression(text, Span(part.start, marks.start()), dialect)
        yield SortItem(e, (marks["direction"] or "").upper() == "DESC", nulls)


def _unquoted(name: str) -> str:
    return name[1:-1].replace('""', '"') if name[0] in '"`' else name
