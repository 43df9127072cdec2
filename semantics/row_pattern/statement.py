"""A SELECT around one MATCH_RECOGNIZE, as people paste it: its list, WHERE, ORDER BY and LIMIT over its output.

The clause is evaluated as any other. What stands around it is applied to its output table, row by row, with the values
and the three-valued logic of the clause's own expressions. The table in FROM is whatever file or frame is given, so its
name does not matter. It may be chosen from first: by (SELECT list FROM t WHERE …) in FROM, or by such a query in WITH.
Joins, other subqueries, GROUP BY and DISTINCT are refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from cerify.semantics import trees
from cerify.semantics.errors import CerifyError, ParseError, Span, Unsupported, errors_in
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.dialects import STANDARD_SQL, SqlDialect
from cerify.semantics.row_pattern.parse import Duration, parse
from cerify.semantics.row_pattern.syntax import MatchRecognize, show_expression
from cerify.semantics.trees import subtrees

_SKIPPED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|--[^\n]*|/\*.*?\*/", re.DOTALL)
_NAME = r"(?:[A-Za-z_]\w*|\"(?:[^\"]|\"\")+\"|`[^`]+`)"
_SELECT = re.compile(r"\s*SELECT\b(?P<list>.*?)\bFROM\b", re.I | re.S)
_TABLE = re.compile(rf"\s*(?P<table>{_NAME}(?:\s*\.\s*{_NAME})*)", re.I)
_INTO = re.compile(rf"\bINTO\s+{_NAME}\s*\Z", re.I)
_TIMESTAMP_BY = re.compile(rf"\s*TIMESTAMP\s+BY\s+(?P<time>{_NAME})", re.I)
_COMMON = re.compile(rf"\s*(?P<lead>WITH\b|,)\s*(?P<name>{_NAME})\s*AS\s*\(", re.I)
_WORDS = "WHERE|ORDER|LIMIT|FETCH|GROUP|HAVING|JOIN|UNION|TIMESTAMP|MATCH_RECOGNIZE|CROSS|LEFT|RIGHT|FULL|INNER"
_ALIAS = re.compile(rf"\s*(?:AS\b\s*)?(?!(?:{_WORDS})\b)(?P<alias>{_NAME})", re.I)
_PARTS = re.compile(r"\b(WHERE|ORDER\s+BY|LIMIT|FETCH)\b", re.I)
_FETCH = re.compile(r"\s*(?:FIRST|NEXT)\s+(\d{1,18})\s+ROWS?\s+ONLY\s*", re.I)
_LIMIT = re.compile(r"\s*(\d{1,18})\s*")
_OPERATORS = frozenset({"NOT", "AND", "OR", "IS", "LIKE", "IN", "BETWEEN", "WHEN", "THEN", "ELSE", "CASE", "ESCAPE"})
_OTHER = re.compile(
    r"\b(JOIN|GROUP\s+BY|HAVING|UNION|INTERSECT|EXCEPT|QUALIFY|WINDOW|OVER|DISTINCT|OFFSET|SELECT|EXISTS|VALUES)\b",
    re.I,
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
class PlainSelect:
    """SELECT items FROM table WHERE where ORDER BY order LIMIT limit.

    alias: what the table is called besides, None for nothing. below: the selection that is the table in FROM, None for
    the file or frame.
    """

    items: tuple[SelectItem, ...]
    table: str
    alias: str | None = None
    where: rows.Expression | None = None
    order: tuple[SortItem, ...] = ()
    limit: int | None = None
    below: PlainSelect | None = None

    @property
    def expressions(self) -> tuple[rows.Expression, ...]:
        """The expressions of the selection and of those below it."""
        listed = (*(item.expression for item in self.items), self.where, *(one.expression for one in self.order))
        return (*(e for e in listed if e is not None), *(() if self.below is None else self.below.expressions))


@dataclass(frozen=True)
class Statement(PlainSelect):
    """A SELECT over the output of one clause, whose rows are those of the selection below."""

    clause: MatchRecognize = field(kw_only=True)


def is_statement(text: str) -> bool:
    """Tell whether a text is a statement rather than a clause alone: it begins with SELECT, or with WITH."""
    return re.match(r"(SELECT|WITH)\b", _blanked(text).lstrip(), re.I) is not None


def parse_statement(text: str, dialect: SqlDialect = STANDARD_SQL, duration: Duration = "open") -> Statement:
    """Return the statement that a text writes. Raises ParseError, Unsupported, with the place.

    >>> parse_statement("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A)) AS m LIMIT 3;").limit
    3
    """
    with errors_in(text):
        plain = _blanked(text)
        keyword = re.search(r"\bMATCH_RECOGNIZE\s*\(", plain, re.I)
        window = re.search(rf"\bWINDOW(?P<named>\s+(?P<name>{_NAME})\s+AS\s*)\(", plain, re.I)
        if keyword is None and window is not None:  # without the name of the window it is the clause alone
            over = re.compile(rf"\s+OVER\s+{re.escape(text[slice(*window.span('name'))])}(?!\w)", re.I)
            blanks = [window.span("named"), *(found.span() for found in over.finditer(plain, 0, window.start()))]
            for start, end in blanks:
                text, plain = (f"{one[:start]}{' ' * (end - start)}{one[end:]}" for one in (text, plain))
            keyword = re.compile(r"WINDOW\s*\(", re.I).match(plain, window.start())
        if keyword is None:
            raise ParseError("there is no MATCH_RECOGNIZE in the statement", Span(0, len(text)))
        return _Reader(text, plain, dialect).statement(keyword.start(), keyword.end() - 1, duration)


@dataclass(frozen=True)
class _Reader:
    """A text, the same without quotations and comments, and its dialect."""

    text: str
    plain: str
    dialect: SqlDialect

    def statement(self, keyword: int, opening: int, duration: Duration) -> Statement:
        """The statement whose clause begins at these places."""
        common, start = self.common_tables(keyword)
        end = _closing(self.plain, opening)
        head = self.head(start, keyword, common)
        _refuse_others(self.plain[end:], end)
        time = _TIMESTAMP_BY.match(self.plain, head.end, keyword) if self.dialect.streams else None
        rest = head.end if time is None else time.end()
        own = _ALIAS.match(self.plain, rest, keyword)
        if self.plain[rest if own is None else own.end() : keyword].strip():
            raise _shape(self.plain[start:keyword], start, keyword)
        clause = _parsed(
            self.text,
            keyword,
            end,
            " " * keyword,
            "",
            self.dialect,
            duration=duration,
            time=None if time is None else rows.RowColumn(_unquoted(self.text[slice(*time.span("time"))])),
        )
        named = head.table.rsplit(".", 1)[-1].strip() if own is None else self.text[slice(*own.span("alias"))]
        clause = replace(
            clause,
            partition=tuple(_without_table(e, _unquoted(named)) for e in clause.partition),
            order=tuple(replace(one, column=_without_table(one.column, _unquoted(named))) for one in clause.order),
        )
        alias, parts = self.after(end)
        return Statement(*self.selected(head, alias, parts), clause=clause)

    def common_tables(self, keyword: int) -> tuple[dict[str, PlainSelect], int]:
        """The selections of WITH by name, in lower case, and where the SELECT after them begins."""
        common: dict[str, PlainSelect] = {}
        at = 0
        while (found := _COMMON.match(self.plain, at, keyword)) is not None and (at > 0) == (found["lead"] == ","):
            opening = found.end() - 1
            at = _closing(self.plain, opening)
            if at > keyword:
                raise Unsupported("the clause stands in WITH: give the query in its parentheses alone", _span_of(found))
            common[_unquoted(self.text[slice(*found.span("name"))]).lower()] = self.below(opening + 1, at - 1, common)
        return common, at

    def below(self, start: int, end: int, common: Mapping[str, PlainSelect]) -> PlainSelect:
        """The selection that a part of the text writes, in FROM or in WITH."""
        head = self.head(start, end, common)
        return PlainSelect(*self.selected(head, *self.after(head.end, end)))

    def head(self, start: int, end: int, common: Mapping[str, PlainSelect]) -> _Head:
        """SELECT, the list, FROM and the table."""
        select = _SELECT.match(self.plain, start, end)
        if select is None:
            raise _shape(self.plain[start:end], start, end)
        _refuse_others(self.plain[slice(*select.span("list"))], select.start("list"))
        listed = Span(*select.span("list"))
        if self.dialect.streams and (into := _INTO.search(self.plain, listed.start, listed.end)) is not None:
            listed = Span(listed.start, into.start())
        inner = re.compile(r"\s*\(\s*(?=SELECT\b)", re.I).match(self.plain, select.end(), end)
        if inner is not None:
            closing = _closing(self.plain, inner.start() + self.plain[inner.start() :].index("("))
            return _Head(listed, "", self.below(inner.end(), closing - 1, common), closing)
        table = _TABLE.match(self.plain, select.end(), end)
        if table is None:
            _refuse_others(self.plain[select.end() : end], select.end())
            raise _shape(self.plain[start:end], start, end)
        _refuse_others(self.plain[table.end() : end], table.end())
        name = " ".join(self.text[slice(*table.span("table"))].split())
        if common and name.lower() not in common:
            known = ", ".join(common)
            raise Unsupported(f"FROM names {name}; with WITH it names one of its tables, {known}", _span_of(table))
        return _Head(listed, name, common.get(name.lower()), table.end())

    def after(self, start: int, end: int | None = None) -> tuple[str | None, dict[str, Span]]:
        """The alias and the parts that stand after a table or a clause."""
        end = len(self.plain) if end is None else end
        alias = _ALIAS.match(self.plain, start, end)
        parts = _parts_after(self.plain, start if alias is None else alias.end(), end)
        return None if alias is None else _unquoted(self.text[slice(*alias.span("alias"))]), parts

    def selected(self, head: _Head, alias: str | None, parts: Mapping[str, Span]) -> tuple[Any, ...]:
        """The fields of a selection."""
        where, order = parts.get("WHERE"), parts.get("ORDER BY")
        return (
            tuple(_items(self.text, head.listed, self.dialect)),
            head.table,
            alias,
            None if where is None else _expression(self.text, where, self.dialect),
            () if order is None else tuple(_sorts(self.text, order, self.dialect)),
            _limit_of(self.text, parts),
            head.below,
        )


@dataclass(frozen=True)
class _Head:
    """Places in a SELECT: its list, its table (a name or a selection), and where these end."""

    listed: Span
    table: str
    below: PlainSelect | None
    end: int


def _span_of(found: re.Match[str]) -> Span:
    """Return where a match stands in the text."""
    return Span(found.start(), found.end())


# --- parsing ----------------------------------------------------------------------------------------------------------


def _blanked(text: str) -> str:
    """Return the text of the same length without what stands in quotation marks or in comments."""

    def blanks(found: re.Match[str]) -> str:
        quote = found[0][0]
        return f"{quote}{'_' * (len(found[0]) - 2)}{quote}" if quote in "'\"`" else " " * len(found[0])

    return _SKIPPED.sub(blanks, text)


def _parts_after(plain: str, start: int, end: int) -> dict[str, Span]:
    """Return where WHERE, ORDER BY and LIMIT or FETCH stand after a table. Raises ParseError for other words."""
    end = len(plain[:end].rstrip().removesuffix(";").rstrip()) if end == len(plain) else end
    marks = [
        (found.start(), found.end(), " ".join(found[0].upper().split()))
        for found in _PARTS.finditer(plain, start, end)
        if plain.count("(", start, found.start()) == plain.count(")", start, found.start())
    ]
    order = [["WHERE", "ORDER BY", "LIMIT", "FETCH"].index(word) for _, _, word in marks]
    first = marks[0][0] if marks else max(start, end)
    if plain[start:first].strip() or any(after <= before for before, after in pairwise(order)):
        wrong = "after a table or the clause come an alias, WHERE, ORDER BY and LIMIT, in this order and once each"
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
    other = _OTHER.search(part)
    if other is not None:
        word = " ".join(other[0].upper().split())
        raise Unsupported(
            f"{word} is not carried: a statement is SELECT … FROM table MATCH_RECOGNIZE (…) with WHERE, ORDER BY and "
            "LIMIT",
            Span(start + other.start(), start + other.end()),
        )


def _shape(head: str, start: int, end: int) -> CerifyError:
    place = re.search(r"\bFROM\b", head, re.I)
    if re.match(r"\s*SELECT\b", head, re.I) is None:
        return Unsupported("what is chosen from a table is written SELECT list FROM table WHERE …", Span(start, end))
    if place is None:
        return ParseError("FROM is missing", Span(start, end))
    rest, where = head[place.end() :], Span(start + place.end(), end)
    if "," in rest:
        return Unsupported("FROM names two tables, and a clause has one", where)
    if "(" in rest:
        return Unsupported("of subqueries FROM takes (SELECT list FROM table WHERE …); give another as the file", where)
    return ParseError("before MATCH_RECOGNIZE stand SELECT, a list, FROM and the name of a table", where)


def _parsed(
    text: str, start: int, end: int, before: str, after: str, dialect: SqlDialect, **options: Any
) -> MatchRecognize:
    """Return the clause of a part of the text between two others; errors have their place in the whole text."""
    try:
        return parse(f"{before}{text[start:end]}{after}", dialect, **options)
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


def _without_table(e: rows.Expression, table: str) -> rows.Expression:
    """Return a key without what the table is called: PARTITION BY s.sym is PARTITION BY sym."""
    if isinstance(e, rows.RowColumn):
        return replace(e, variable=None) if (e.variable or "").lower() == table.lower() else e
    return replace(trees.rebuilt(e, [_without_table(one, table) for one in rows.below(e)]), span=e.span)


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
    return name[1:-1].replace('""', '"') if name[:1] in ('"', "`") else name
