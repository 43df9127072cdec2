"""Parse a SELECT around one MATCH_RECOGNIZE, as users paste it: its list, WHERE, ORDER BY and LIMIT over its output.

The clause is evaluated as if it stood alone. The rest is applied to its output table, row by row, with the values and
the three-valued logic of the clause's own expressions. The table in FROM is the given file or frame under any name. A
query in FROM or in WITH may select from it first: (SELECT list FROM t WHERE …). The text may also contain the table, as
VALUES, or as SELECTs without FROM and UNION ALL between them. Joins, other subqueries, GROUP BY and DISTINCT are
refused by a message that names them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache, lru_cache
from itertools import accumulate, pairwise
from typing import Any, TypeAlias, assert_never

from cerify.semantics import trees
from cerify.semantics.arguments import depth_limited, timed_items
from cerify.semantics.errors import BudgetExceeded, CerifyError, IllFormed, ParseError, Span, Unsupported, errors_in
from cerify.semantics.parsing import MAX_DEPTH
from cerify.semantics.readings import STANDARD, RowReading
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.check import RowType, with_meant_operands
from cerify.semantics.row_pattern.dialects import STANDARD_SQL, SqlDialect, plain_texts
from cerify.semantics.row_pattern.parse import Duration, ListedMeasure, parse
from cerify.semantics.row_pattern.scalars import Nullable, aggregated, collected, combined, resolve_column
from cerify.semantics.row_pattern.syntax import MatchRecognize, show_expression
from cerify.semantics.trees import subtrees
from cerify.semantics.values import kind, value_type_of

_SKIPPED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|--[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_NAME = r"(?:[A-Za-z_]\w*|\"(?:[^\"]|\"\")+\"|`[^`]+`)"
_FROM = re.compile(r"\bFROM\b", re.I)
_UNION = re.compile(r"\bUNION\b(?P<all>\s+ALL\b)?", re.I)
_VALUES = re.compile(r"\s*VALUES\b", re.I)
_UNNEST = re.compile(r"\s*UNNEST\s*\(", re.I)
_NAMES = re.compile(rf"\s*\((?P<names>\s*{_NAME}\s*(?:,\s*{_NAME}\s*)*)\)")
_TABLE = re.compile(rf"\s*(?P<table>{_NAME}(?:\s*\.\s*{_NAME})*)", re.I)
_INTO = re.compile(rf"\bINTO\s+{_NAME}\s*\Z", re.I)
_TIMESTAMP_BY = re.compile(rf"\s*TIMESTAMP\s+BY\s+(?P<time>{_NAME})(?:\s+OVER\s+{_NAME})?", re.I)
_COMMON = re.compile(rf"\s*(?P<lead>WITH\b|,)\s*(?P<name>{_NAME})\s*(?:\((?P<names>[^()]*)\)\s*)?AS\s*\(", re.I)
_WORDS = "WHERE|ORDER|LIMIT|FETCH|GROUP|HAVING|JOIN|UNION|TIMESTAMP|MATCH_RECOGNIZE|CROSS|LEFT|RIGHT|FULL|INNER"
_ALIAS = re.compile(rf"\s*(?:AS\b\s*)?(?!(?:{_WORDS})\b)(?P<alias>{_NAME})", re.I)
_PARTS = re.compile(r"\b(WHERE|ORDER\s+BY|LIMIT|FETCH)\b", re.I)
_FETCH = re.compile(r"\s*(?:FIRST|NEXT)\s+(\d{1,18})\s+ROWS?\s+ONLY\s*", re.I)
_LIMIT = re.compile(r"\s*(\d{1,18})\s*")
_OPERATORS = frozenset(
    {"NOT", "AND", "OR", "IS", "LIKE", "RLIKE", "REGEXP", "ILIKE", "IN", "BETWEEN"}
    | {"WHEN", "THEN", "ELSE", "CASE", "ESCAPE"}
)
_OTHER = re.compile(
    r"\b(JOIN|GROUP\s+BY|HAVING|UNION|INTERSECT|EXCEPT|QUALIFY|WINDOW|OVER|OFFSET|SELECT|EXISTS|VALUES|FILTER(?=\s*\())\b",
    re.I,
)
_DIRECTION = re.compile(r"\s*(?P<direction>\b(?:ASC|DESC)\b)?\s*(?P<nulls>\bNULLS\s+(?:FIRST|LAST)\b)?\s*\Z", re.I)
_BEFORE = "MATCH_RECOGNIZE (MEASURES ("


@dataclass(frozen=True)
class SelectItem:
    """An item of the SELECT list: an expression over the output and its name. The expression None stands for `*`."""

    expression: rows.Expression | None
    name: str = ""
    quoted: bool = False


@dataclass(frozen=True)
class SortItem:
    """An item of ORDER BY; nulls is None if the text leaves it open."""

    expression: rows.Expression
    descending: bool
    nulls: str | None


@dataclass(frozen=True)
class LiteralTable:
    """A table whose rows are in the text, as after VALUES. A SELECT without FROM reads a table of one row without
    cells.
    """

    names: tuple[str, ...]
    rows: tuple[tuple[rows.Expression, ...], ...]


@dataclass(frozen=True)
class UnionTable:
    """Tables with UNION ALL between them.

    names: the names of its columns, () for those of the first table. places: the places of the tables in the text.
    """

    parts: tuple[TableSource, ...]
    places: tuple[Span, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class PlainSelect:
    """SELECT items FROM table WHERE where ORDER BY order LIMIT limit.

    alias: another name of the table, or None. below: the query in FROM, None if FROM names the file or frame. names:
    new names of the table's columns, () if they keep theirs.
    """

    items: tuple[SelectItem, ...]
    table: str
    alias: str | None = None
    where: rows.Expression | None = None
    order: tuple[SortItem, ...] = ()
    limit: int | None = None
    below: TableSource | None = None
    names: tuple[str, ...] = ()

    @property
    def expressions(self) -> tuple[rows.Expression, ...]:
        """Return the expressions of the selection, and those of the queries in its FROM."""
        listed = (*(item.expression for item in self.items), self.where, *(one.expression for one in self.order))
        return (*(e for e in listed if e is not None), *expressions_in(self.below))


TableSource: TypeAlias = PlainSelect | LiteralTable | UnionTable
NO_TABLE = LiteralTable((), ((),))


def expressions_in(source: TableSource | None) -> tuple[rows.Expression, ...]:
    """Return the expressions in FROM."""
    match source:
        case LiteralTable(_, cells):
            return tuple(e for row in cells for e in row)
        case UnionTable(parts):
            return tuple(e for part in parts for e in expressions_in(part))
        case PlainSelect():
            return source.expressions
        case None:
            return ()
        case _:
            assert_never(source)


def reads_file(source: TableSource | None) -> bool:
    """Return whether a table in FROM has rows of the file or frame, rather than only rows written in the text."""
    match source:
        case LiteralTable():
            return False
        case UnionTable(parts):
            return any(map(reads_file, parts))
        case PlainSelect():
            return reads_file(source.below)
        case None:
            return True
        case _:
            assert_never(source)


@dataclass(frozen=True)
class Statement(PlainSelect):
    """A SELECT over the output of one clause; `below` is the query whose rows the clause reads.

    lists: the measures that the text writes as lists.
    """

    clause: MatchRecognize = field(kw_only=True)
    lists: tuple[ListedMeasure, ...] = field(default=(), kw_only=True)


def is_statement(text: str) -> bool:
    """Return whether a text is a statement rather than a clause alone: it begins with SELECT, or with WITH."""
    return re.match(r"(SELECT|WITH)\b", _blanked(text).lstrip(), re.I) is not None


def parse_statement(text: str, dialect: SqlDialect = STANDARD_SQL, duration: Duration = "open") -> Statement:
    """Return the statement in a text. Raises ParseError, Unsupported, with the place.

    >>> parse_statement("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A)) AS m LIMIT 3;").limit
    3
    """
    with errors_in(text), depth_limited(Span(0, len(text))):
        text, dialect = plain_texts(text, dialect), replace(dialect, texts=frozenset())
        plain = _blanked(text)
        if max(accumulate((c == "(") - (c == ")") for c in plain), default=0) > MAX_DEPTH:
            raise BudgetExceeded(f"the statement is nested more than {MAX_DEPTH} parentheses deep", Span(0, len(text)))
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
    """Parses one statement. It has the text, the text with blanks for quotations and comments, and the dialect."""

    text: str
    plain: str
    dialect: SqlDialect

    def statement(self, keyword: int, opening: int, duration: Duration) -> Statement:
        """Return the statement. keyword, opening: the places of the keyword of its clause and of the parenthesis."""
        common, start = self.common_tables(keyword)
        end = _closing(self.plain, opening)
        head = self.head(start, keyword, common)
        if head.below == NO_TABLE and not head.table:
            raise _shape(self.plain[start:keyword], start, keyword)
        _refuse_others(self.plain[end:], end)
        time = _TIMESTAMP_BY.match(self.plain, head.end, keyword) if self.dialect.streams else None
        own, names, rest = self.alias(head.end if time is None else time.end(), keyword)
        if self.plain[rest:keyword].strip():
            raise _shape(self.plain[start:keyword], start, keyword)
        lists: list[ListedMeasure] = []
        clause = _parsed(
            self.text,
            keyword,
            end,
            " " * keyword,
            "",
            self.dialect,
            duration=duration,
            time=None if time is None else rows.RowColumn(_unquoted(self.text[slice(*time.span("time"))])),
            lists=lists,
        )
        # Columns name a table by its alias, or if it has none by the last part of its name.
        named = head.table.rsplit(".", 1)[-1].strip() if own is None else own
        clause = replace(
            clause,
            partition=tuple(_without_table(e, _unquoted(named)) for e in clause.partition),
            order=tuple(replace(one, column=_without_table(one.column, _unquoted(named))) for one in clause.order),
        )
        if names:
            head = replace(head, below=_renamed(head.below, names, Span(head.end, rest)))
        alias, _, rest = self.alias(end, len(self.plain), named=False)
        parts = _parts_after(self.plain, rest, len(self.plain))
        return Statement(*self.selected(head, alias, parts), clause=clause, lists=tuple(lists))

    def common_tables(self, keyword: int) -> tuple[dict[str, TableSource], int]:
        """Return the tables of WITH by name, in lower case, and where the SELECT after them begins."""
        common: dict[str, TableSource] = {}
        at = 0
        while (found := _COMMON.match(self.plain, at, keyword)) is not None and (at > 0) == (found["lead"] == ","):
            opening = found.end() - 1
            at = _closing(self.plain, opening)
            if at > keyword:
                raise Unsupported("the clause is inside WITH: give only the query in its parentheses", _span_of(found))
            source = self.source(opening + 1, at - 1, common)
            if found["names"] is not None:
                names = tuple(_unquoted(one.strip()) for one in self.text[slice(*found.span("names"))].split(","))
                source = _renamed(source, names, _span_of(found))
            common[_unquoted(self.text[slice(*found.span("name"))]).lower()] = source
        return common, at

    def source(self, start: int, end: int, common: Mapping[str, TableSource]) -> TableSource:
        """Return the table in a part of the text, after FROM or in WITH: SELECTs or VALUES with UNION ALL between
        them.
        """
        marks = list(_outside(self.plain, _UNION, start, end))
        for mark in marks:
            if mark["all"] is None:
                raise Unsupported("UNION without ALL is not supported, because it drops duplicate rows", _span_of(mark))
        starts, ends = [start, *(mark.end() for mark in marks)], [*(mark.start() for mark in marks), end]
        parts = tuple(self.part(*ends_, common) for ends_ in zip(starts, ends, strict=True))
        return parts[0] if len(parts) == 1 else UnionTable(parts, tuple(map(Span, starts, ends)))

    def part(self, start: int, end: int, common: Mapping[str, TableSource]) -> TableSource:
        """Return one of the tables between UNION ALL."""
        if (values := _VALUES.match(self.plain, start, end)) is not None:
            return self.values(values.end(), end)[0]
        head = self.head(start, end, common)
        alias, names, rest = self.alias(head.end, end)
        if names:
            head = replace(head, below=_renamed(head.below, names, Span(head.end, rest)))
        return PlainSelect(*self.selected(head, alias, _parts_after(self.plain, rest, end)))

    def values(self, start: int, end: int) -> tuple[LiteralTable, int]:
        """Return the rows after VALUES, and where they end."""
        places: list[Span] = []
        at = start
        while (opening := re.compile(r"\s*\(").match(self.plain, at, end)) is not None:
            closing = _closing(self.plain, opening.end() - 1)
            places.append(Span(opening.end(), closing - 1))
            comma = re.compile(r"\s*,").match(self.plain, closing, end)
            at = closing if comma is None else comma.end()
            if comma is None:
                break
        if not places:
            raise ParseError(
                "write the rows after VALUES in parentheses, as in VALUES (1, 'a'), (2, 'b')", Span(start, end)
            )
        cells = [tuple(_expression(self.text, cell, self.dialect) for cell in _split(self.text, row)) for row in places]
        word, first = self.dialect.unnamed
        return _literal([f"{word}{i}" for i in range(first, first + len(cells[0]))], cells, places), at

    def unnested(self, opening: int, end: int) -> tuple[LiteralTable, int]:
        """Return the rows of UNNEST([STRUCT(1 AS x, …), (2, …)]), and where it ends."""
        closing = _closing(self.plain, opening)
        inner = re.compile(r"\s*\[(?P<rows>.*)\]\s*", re.S).fullmatch(self.plain, opening + 1, closing - 1)
        if inner is None:
            raise Unsupported("UNNEST takes rows in brackets: UNNEST([STRUCT(1 AS x), (2)])", Span(opening, closing))
        names: list[str] = []
        cells, places = [], []
        for part in _split(self.text, Span(*inner.span("rows"))):
            row = re.compile(r"\s*(?:STRUCT\s*)?\((?P<cells>.*)\)\s*", re.I | re.S).fullmatch(
                self.plain, part.start, part.end
            )
            if row is None:
                raise Unsupported("write a row in UNNEST as STRUCT(1 AS x, 'a' AS y), or (2, 'b')", part)
            items = list(_items(self.text, Span(*row.span("cells")), self.dialect))
            names = names or [item.name or f"f{i}" for i, item in enumerate(items)]
            cells.append(tuple(item.expression or rows.RowConstant(None) for item in items))
            places.append(part)
        return _literal(names, cells, places), closing

    def head(self, start: int, end: int, common: Mapping[str, TableSource]) -> _Head:
        """Return the places of the parts of SELECT list FROM table."""
        select = re.compile(r"\s*SELECT\b", re.I).match(self.plain, start, end)
        place = next(_outside(self.plain, _FROM, start, end), None)
        if select is None:
            raise _shape(self.plain[start:end], start, end)
        if (
            distinct := re.compile(r"\s*(DISTINCT\b|TOP\b(?=\s*\(?\d))", re.I).match(self.plain, select.end(), end)
        ) is not None:
            raise _not_carried(distinct[1].upper(), Span(*distinct.span(1)))
        listed = Span(select.end(), end if place is None else place.start())
        _refuse_others(self.plain[listed.start : listed.end], listed.start)
        if place is None:
            return _Head(listed, "", NO_TABLE, end)
        if self.dialect.streams and (into := _INTO.search(self.plain, listed.start, listed.end)) is not None:
            listed = Span(listed.start, into.start())
        at = place.end()
        inner = re.compile(r"\s*\(\s*(?=(?:SELECT|VALUES)\b)", re.I).match(self.plain, at, end)
        if inner is not None:
            closing = _closing(self.plain, inner.start() + self.plain[inner.start() :].index("("))
            if (nested := re.compile(r"\bMATCH_RECOGNIZE\b", re.I).search(self.plain, at, closing)) is not None:
                raise Unsupported(
                    "the clause is inside a subquery: give only the query in its parentheses; its list may have "
                    "COUNT(*) and other aggregates of all rows",
                    _span_of(nested),
                )
            return _Head(listed, "", self.source(inner.end(), closing - 1, common), closing)
        if (values := _VALUES.match(self.plain, at, end)) is not None:
            return _Head(listed, "", *self.values(values.end(), end))
        if self.dialect.structures and (unnest := _UNNEST.match(self.plain, at, end)) is not None:
            return _Head(listed, "", *self.unnested(unnest.end() - 1, end))
        table = _TABLE.match(self.plain, at, end)
        if table is None:
            _refuse_others(self.plain[at:end], at)
            raise _shape(self.plain[start:end], start, end)
        time = _TIMESTAMP_BY.match(self.plain, table.end(), end) if self.dialect.streams else None
        rest = table.end() if time is None else time.end()
        _refuse_others(self.plain[rest:end], rest)
        name = " ".join(self.text[slice(*table.span("table"))].split())
        if self.dialect.dual and name.upper() == "DUAL":
            return _Head(listed, name, NO_TABLE, table.end())
        if common and name.lower() not in common:
            known = ", ".join(common)
            raise Unsupported(f"FROM names {name}, but WITH defines {known}: name one of these", _span_of(table))
        return _Head(listed, name, common.get(name.lower()), table.end())

    def alias(self, start: int, end: int, named: bool = True) -> tuple[str | None, tuple[str, ...], int]:
        """Return the alias of a table or a clause, the new names of its columns (() if there are none), and where they
        end.
        """
        alias = _ALIAS.match(self.plain, start, end)
        if alias is None:
            return None, (), start
        columns = _NAMES.match(self.plain, alias.end(), end) if named else None
        listed = "" if columns is None else self.text[slice(*columns.span("names"))]
        names = tuple(_unquoted(one.strip()) for one in listed.split(",") if one.strip())
        rest = alias.end() if columns is None else columns.end()
        return _unquoted(self.text[slice(*alias.span("alias"))]), names, rest

    def selected(self, head: _Head, alias: str | None, parts: Mapping[str, Span]) -> tuple[Any, ...]:
        """Return the fields of a PlainSelect, in their order."""
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
    """Places in a SELECT: its list, its table (a name, or the parsed table), and where these end."""

    listed: Span
    table: str
    below: TableSource | None
    end: int


def _span_of(found: re.Match[str]) -> Span:
    """Return where a match stands in the text."""
    return Span(found.start(), found.end())


# --- parsing ----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def _blanked(text: str) -> str:
    """Return the text with fillers for quotations and comments, so that places stay the same."""

    def blanks(found: re.Match[str]) -> str:
        quote = found[0][0]
        return f"{quote}{'_' * (len(found[0]) - 2)}{quote}" if quote in "'\"`" else " " * len(found[0])

    return _SKIPPED.sub(blanks, text)


def _outside(plain: str, pattern: re.Pattern[str], start: int, end: int) -> Iterator[re.Match[str]]:
    """Yield the occurrences of a pattern in a part of a text, outside parentheses."""
    depth, at = 0, start
    for found in pattern.finditer(plain, start, end):
        depth += plain.count("(", at, found.start()) - plain.count(")", at, found.start())
        at = found.start()
        if depth == 0:
            yield found


def _literal(
    names: Sequence[str], cells: Sequence[tuple[rows.Expression, ...]], places: Sequence[Span]
) -> LiteralTable:
    """Return a table of rows. Raises ParseError for a row that does not have as many cells as the first."""
    for row, place in zip(cells, places, strict=True):
        if len(row) != len(cells[0]):
            raise ParseError(f"the row has {len(row)} values, and the first has {len(cells[0])}", place)
    return LiteralTable(tuple(names), tuple(cells))


def _renamed(source: TableSource | None, names: tuple[str, ...], span: Span) -> TableSource:
    """Return a table with new names of its columns; the table of the file becomes a selection. Raises ParseError."""
    if isinstance(source, LiteralTable) and len(names) != len(source.rows[0]):
        raise ParseError(f"there are {len(names)} names, and a row has {len(source.rows[0])} values", span)
    return PlainSelect((SelectItem(None),), "", names=names) if source is None else replace(source, names=names)


def _parts_after(plain: str, start: int, end: int) -> dict[str, Span]:
    """Return the places of WHERE, ORDER BY and LIMIT or FETCH after a table. Raises ParseError for other words."""
    end = len(plain[:end].rstrip().removesuffix(";").rstrip()) if end == len(plain) else end
    marks = [
        (found.start(), found.end(), " ".join(found[0].upper().split()))
        for found in _PARTS.finditer(plain, start, end)
        if plain.count("(", start, found.start()) == plain.count(")", start, found.start())
    ]
    order = [["WHERE", "ORDER BY", "LIMIT", "FETCH"].index(word) for _, _, word in marks]
    first = marks[0][0] if marks else max(start, end)
    if plain[start:first].strip() or any(after <= before for before, after in pairwise(order)):
        wrong = (
            "after a table or the clause, only an alias, WHERE, ORDER BY and LIMIT may follow, in this order, each once"
        )
        raise ParseError(wrong, Span(start, max(start, end)))
    ends = [*(begin for begin, _, _ in marks), end][1:]
    return {word: Span(after, stop) for (_, after, word), stop in zip(marks, ends, strict=True)}


def _limit_of(text: str, parts: Mapping[str, Span]) -> int | None:
    for word, shape in (("LIMIT", _LIMIT), ("FETCH", _FETCH)):
        if (span := parts.get(word)) is not None:
            found = shape.fullmatch(text, span.start, span.end)
            if found is None:
                raise ParseError(f"write one whole number of rows after {word}", span)
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
        raise _not_carried(" ".join(other[0].upper().split()), Span(start + other.start(), start + other.end()))


def _not_carried(word: str, span: Span) -> CerifyError:
    return Unsupported(
        f"{word} is not supported: a statement is SELECT … FROM table MATCH_RECOGNIZE (…) "
        "with WHERE, ORDER BY and LIMIT",
        span,
    )


def _shape(head: str, start: int, end: int) -> CerifyError:
    place = re.search(r"\bFROM\b", head, re.I)
    if re.match(r"\s*SELECT\b", head, re.I) is None:
        return Unsupported("write a query in FROM as SELECT list FROM table WHERE …", Span(start, end))
    if place is None:
        return ParseError("FROM is missing", Span(start, end))
    rest, where = head[place.end() :], Span(start + place.end(), end)
    if "," in rest:
        return Unsupported("FROM names two tables, but a clause reads one", where)
    if "(" in rest:
        return Unsupported(
            "a subquery in FROM must be (SELECT list FROM table WHERE …); give the rows of any other query as the file",
            where,
        )
    return ParseError("write SELECT, a list, FROM and the name of a table before MATCH_RECOGNIZE", where)


def _parsed(
    text: str, start: int, end: int, before: str, after: str, dialect: SqlDialect, **options: Any
) -> MatchRecognize:
    """Return the clause in a part of the text; errors have their place in the whole text."""
    try:
        return parse(f"{before}{text[start:end]}{after}", dialect, **options)
    except CerifyError as error:
        if error.span is not None:
            shift = start - len(before)
            low, high = (min(max(place + shift, start), end) for place in (error.span.start, error.span.end))
            error.span = Span(low, max(low, high))
        error.text = text
        raise


_LITERAL = re.compile(
    r"\s*(?:(?P<number>\d{1,15}(?:\.\d{1,15})?)|'(?P<text>(?:[^']|'')*)'|(?P<word>NULL|TRUE|FALSE))\s*", re.I
)


def _expression(text: str, span: Span, dialect: SqlDialect, aggregates: bool = False) -> rows.Expression:
    """Return the expression in a part of the text; aggregates: whether it may have aggregates over the output's
    rows.
    """
    if (plain := _LITERAL.fullmatch(text, span.start, span.end)) is not None:  # a shortcut, as tables have many
        value: Any = {"NULL": None, "TRUE": True, "FALSE": False}.get((plain["word"] or "").upper())
        if plain["text"] is not None:
            value = plain["text"].replace("''", "'") or (None if dialect.empty_is_null else "")
        elif plain["number"] is not None:
            value = float(plain["number"]) if "." in plain["number"] else int(plain["number"])
        written = plain[0].strip()
        start = plain.start() + plain[0].index(written)
        return rows.RowConstant(value, span=Span(start, start + len(written)))
    dialect = replace(dialect, bare_functions=False)  # around the clause a bare CLASSIFIER is a column of the output
    clause = _parsed(text, span.start, span.end, _BEFORE, ") AS x PATTERN (A))", dialect)
    expression = _moved(clause.measures[0].expression, span.start - len(_BEFORE))
    for e in subtrees(expression):
        counted = aggregates and isinstance(e, rows.Count | rows.RowAggregate)
        if isinstance(e, rows.Lookup) and not counted and not isinstance(e, rows.RowColumn):
            raise Unsupported(
                f"{show_expression(e)} can be used only in MEASURES or DEFINE, not around the clause", e.span
            )
    return expression


def _moved(e: rows.Expression, by: int) -> rows.Expression:
    """Return the expression with its places moved by some characters."""
    span = None if e.span is None else Span(e.span.start + by, e.span.end + by)
    return replace(trees.rebuilt(e, [_moved(one, by) for one in rows.below(e)]), span=span)


def _without_table(e: rows.Expression, table: str) -> rows.Expression:
    """Return a key without the name of the table: PARTITION BY s.sym is PARTITION BY sym."""
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
        e = _expression(text, Span(part.start, end), dialect, aggregates=True)
        name = "" if isinstance(e, rows.RowColumn) else written
        alias = "" if named_ is None else named_[1]
        yield SelectItem(e, name if named_ is None else _unquoted(alias), not alias or alias[0] in '"`')


def _bare_alias(written: str) -> re.Match[str] | None:
    """Return the alias without AS at the end of an item; None if there is none."""
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


# --- aggregates with OVER ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WindowColumn:
    """An aggregate with OVER, as a column. It covers rows of the partition around the current row, in the clause's
    order.

    argument: None for *. start and end: the offsets of the first and the last covered row from the current row; None
    for the first and the last row of the partition.
    """

    name: str
    function: str
    argument: rows.Expression | None
    start: int | None
    end: int | None


_AGGREGATE = re.compile(r"\b(?P<function>COUNT|SUM|AVG|MIN|MAX)\s*(?=\()", re.I)
_OVER = re.compile(r"\s*OVER\s*(?=\()", re.I)
_END = r"UNBOUNDED\s+(?:PRECEDING|FOLLOWING)|CURRENT\s+ROW|\d{1,9}\s+(?:PRECEDING|FOLLOWING)"
_ROWS = re.compile(rf"\(\s*ROWS\s+BETWEEN\s+(?P<start>{_END})\s+AND\s+(?P<end>{_END})\s*\)", re.I)


def cut_windows(text: str, dialect: SqlDialect) -> tuple[str, tuple[WindowColumn, ...]]:
    """Replace each aggregate with OVER in DEFINE by a column: return the text, of the same length, and these columns.

    In a dialect without such aggregates the text stays as it is. Raises Unsupported for a window other than ROWS
    BETWEEN.
    """
    plain = _blanked(text)
    define = re.search(r"\bDEFINE\b", plain, re.I)
    if not dialect.windows or define is None:
        return text, ()
    columns: dict[str, WindowColumn] = {}
    for found in _AGGREGATE.finditer(plain, define.end()):
        closing = _closing(plain, found.end())
        over = _OVER.match(plain, closing)
        if over is None:
            continue
        end = _closing(plain, over.end())
        frame = _ROWS.fullmatch(plain, over.end(), end)
        if frame is None:
            raise Unsupported(
                "OVER in DEFINE takes rows of the partition, in the order of the clause: OVER (ROWS BETWEEN UNBOUNDED "
                "PRECEDING AND UNBOUNDED FOLLOWING), or n PRECEDING, CURRENT ROW, n FOLLOWING",
                Span(over.end(), end),
            )
        inside = Span(found.end() + 1, closing - 1)
        written = text[inside.start : inside.end].strip()
        bounds = [" ".join(frame[name].upper().split()) for name in ("start", "end")]
        shown = " ".join(written.replace('"', "").split())
        name = f"{found['function'].upper()}({shown}) OVER ({' AND '.join(bounds)})"
        argument = None if written == "*" else _expression(text, inside, dialect)
        if argument is not None and rows.variable_of(argument) is not None:
            raise Unsupported("an aggregate with OVER takes columns of the row, not a pattern variable", argument.span)
        columns[name] = WindowColumn(
            name,
            found["function"].upper(),
            argument,
            *(None if "UNBOUNDED" in one else _offset(one) for one in bounds),
        )
        # Padded, so that later places stay right; the name is never longer than what it replaces, because it lacks ROWS
        # BETWEEN.
        text = f'{text[: found.start()]}"{name}"'.ljust(end) + text[end:]
    return text, tuple(columns.values())


def _offset(bound: str) -> int:
    """Return the offset of a window's bound from the current row: 3 PRECEDING is -3."""
    return 0 if bound == "CURRENT ROW" else int(bound.split()[0]) * (-1 if bound.endswith("PRECEDING") else 1)


# ---------------------------------------------------------------------------------------------------------------------
# Compute the rows of a SELECT around one MATCH_RECOGNIZE from the output table of its clause.

_KINDS = ("bool", "number", "string", "timestamp", "interval")


def select_rows(
    statement: PlainSelect,
    columns: Sequence[str],
    table: Sequence[Sequence[Nullable]],
    dialect: SqlDialect = STANDARD_SQL,
    reading: RowReading = STANDARD,
) -> tuple[tuple[str, ...], list[tuple[Nullable, ...]]]:
    """Return the columns and the rows of a selection from a table. For a statement, the table is its clause's output.

    Raises IllFormed for a name that the table does not have, and BudgetExceeded at the time-out.
    """

    @cache
    def type_at(place: int) -> RowType | None:
        there: list[Any] = [row[place] for row in table if row[place] is not None]
        types: set[RowType] = {"interval" if isinstance(one, timedelta) else value_type_of(one) for one in there}
        return types.pop() if len(types) == 1 else "float" if types == {"int", "float"} else None

    def resolved(e: rows.Expression) -> rows.Expression:
        e = _resolved(e, statement, columns)
        if not dialect.days:
            return e
        return with_meant_operands(e, lambda column: type_at(columns.index(column.name)), *dialect.operands)

    names: list[str] = []
    chosen: list[rows.Expression] = []
    for item in statement.items:
        if item.expression is None:
            names += columns
            chosen += [rows.RowColumn(name, None, True) for name in columns]
        else:
            e = resolved(item.expression)
            names.append(e.name if isinstance(e, rows.RowColumn) and not item.name else item.name)
            chosen.append(e)
    aliases = {name.lower(): e for item, name, e in _named_items(statement, names, chosen) if item.name}
    where = None if statement.where is None else resolved(statement.where)
    sorts = [
        replace(one, expression=_sort_expression(one.expression, statement, columns, aliases, chosen))
        for one in statement.order
    ]
    kept = []
    for row in timed_items(table):
        values = dict(zip(columns, row, strict=True))
        if where is None or _value(where, values, reading) is True:
            kept.append(values)
    nodes = (e for root in chosen for e in trees.subtrees(root))
    if (counted := next((e for e in nodes if isinstance(e, rows.Count | rows.RowAggregate)), None)) is not None:
        if any(item.expression is None for item in statement.items):
            raise IllFormed("* stands beside an aggregate of all rows; leave one of them out", counted.span)
        made = tuple(_aggregate_value(e, kept, reading) for e in chosen)
        return tuple(names), [made][: statement.limit]
    # The least important key first: each sorting is stable, so it keeps the order of the keys sorted before.
    for one in reversed(sorts):
        kept = _ordered(kept, one, dialect, reading)
    if statement.limit is not None:
        kept = kept[: statement.limit]
    return tuple(names), [tuple(_value(e, values, reading) for e in chosen) for values in timed_items(kept)]


def source_rows(
    source: TableSource,
    columns: Sequence[str],
    table: Sequence[Sequence[Nullable]],
    dialect: SqlDialect = STANDARD_SQL,
    reading: RowReading = STANDARD,
) -> tuple[tuple[str, ...], list[tuple[Nullable, ...]]]:
    """Return (columns, rows) of the table in FROM. Raises IllFormed.

    columns, table: the columns and rows of the file or frame.
    """
    if isinstance(source, LiteralTable):
        return source.names, [tuple(_literal_value(e, reading) for e in row) for row in timed_items(source.rows)]
    if isinstance(source, PlainSelect):
        below = (columns, table)
        if source.below is not None:
            below = source_rows(source.below, columns, table, dialect, reading)
        names, found = select_rows(source, *below, dialect, reading)
    else:
        parts = [source_rows(part, columns, table, dialect, reading) for part in source.parts]
        names, found = parts[0][0], [row for _, rows_ in parts for row in rows_]
        for (other, _), place in zip(parts, source.places, strict=True):
            if len(other) != len(names):
                raise IllFormed(
                    f"the query before UNION ALL has {len(names)} columns, and the one after it {len(other)}", place
                )
    if source.names and len(source.names) != len(names):
        raise IllFormed(f"there are {len(source.names)} names for {len(names)} columns: {', '.join(source.names)}")
    return source.names or names, found


def _literal_value(e: rows.Expression, reading: RowReading) -> Nullable:
    """Return the value of an expression in VALUES. Raises IllFormed for a column in it."""
    if (column := next((one for one in trees.subtrees(e) if isinstance(one, rows.RowColumn)), None)) is not None:
        raise IllFormed(f"there is no column {column.name} here: a row of VALUES has constants", column.span)
    return _value(e, {}, reading)


def _named_items(
    statement: PlainSelect, names: Sequence[str], chosen: Sequence[rows.Expression]
) -> Iterator[tuple[SelectItem, str, rows.Expression]]:
    """Yield the items other than *, with their names and expressions."""
    others = [item for item in statement.items if item.expression is not None]
    pairs = list(zip(names, chosen, strict=True))
    starred = len(pairs) - len(others)
    count = sum(item.expression is None for item in statement.items)
    at = 0
    for item in statement.items:
        if item.expression is None:
            # Each * stands for the same columns, so each has an equal share.
            at += starred // count
        else:
            yield item, *pairs[at]
            at += 1


def _resolved(e: rows.Expression, statement: PlainSelect, columns: Sequence[str]) -> rows.Expression:
    """Return the expression with its columns spelled as in the output. Raises IllFormed for an unknown column."""
    if isinstance(e, rows.RowColumn):
        known = {name.upper() for name in (statement.alias, statement.table.split(".")[-1].strip()) if name}
        if e.variable is not None and e.variable.upper() not in known:
            raise IllFormed(
                f"the output is not called {e.variable}; it is {statement.alias or statement.table}", e.span
            )
        name = resolve_column(e, columns)
        if name not in columns:
            raise IllFormed(f"the output has no column {e.name}; it has {', '.join(columns) or 'none'}", e.span)
        return rows.RowColumn(name, None, True, span=e.span)
    return replace(trees.rebuilt(e, [_resolved(one, statement, columns) for one in rows.below(e)]), span=e.span)


def _sort_expression(
    e: rows.Expression,
    statement: PlainSelect,
    columns: Sequence[str],
    aliases: Mapping[str, rows.Expression],
    chosen: Sequence[rows.Expression],
) -> rows.Expression:
    """Return the expression to sort by: an item by its alias or its number, or an expression over the output.

    Raises IllFormed for a constant that is not the number of an item.
    """
    if isinstance(e, rows.RowConstant):
        if type(e.value) is int and 1 <= e.value <= len(chosen):
            return chosen[e.value - 1]
        raise IllFormed(f"ORDER BY needs a column, or its number from 1 to {len(chosen)}", e.span)
    if isinstance(e, rows.RowColumn) and e.variable is None and e.name.lower() in aliases:
        return aliases[e.name.lower()]
    return _resolved(e, statement, columns)


def _value(e: rows.Expression, row: Mapping[str, Nullable], reading: RowReading) -> Nullable:
    if isinstance(e, rows.RowColumn):
        return row[e.name]
    assert not isinstance(e, rows.Lookup)
    return combined(e, [_value(operand, row, reading) for operand in rows.below(e)], reading)


def _aggregate_value(e: rows.Expression, table: Sequence[Mapping[str, Nullable]], reading: RowReading) -> Any:
    """Return the value of an expression with aggregates of all rows. Raises IllFormed for a column outside of them."""
    match e:
        case rows.Count():
            return len(table)
        case rows.Collection():
            return collected(e, [[_value(one, row, reading) for one in rows.below(e)] for row in table])
        case rows.RowAggregate(function, argument):
            return aggregated(function, [_value(argument, row, reading) for row in table])
        case rows.RowColumn():
            raise IllFormed(
                f"{e.name} stands beside an aggregate of all rows, and GROUP BY is not supported; "
                "leave one of them out",
                e.span,
            )
    assert not isinstance(e, rows.Lookup)  # others do not stand around a clause
    return combined(e, [_aggregate_value(one, table, reading) for one in rows.below(e)], reading)


def _ordered(
    table: list[dict[str, Nullable]], one: SortItem, dialect: SqlDialect, reading: RowReading
) -> list[dict[str, Nullable]]:
    pairs = [(_value(one.expression, row, reading), row) for row in table]
    there = sorted((p for p in pairs if p[0] is not None), key=lambda p: _key(p[0]), reverse=one.descending)
    nulls = [row for value, row in pairs if value is None]
    first = {"high": one.descending, "low": not one.descending, "last": False}[dialect.nulls]
    if one.nulls is not None:
        first = one.nulls == "FIRST"
    rest = [row for _, row in there]
    return nulls + rest if first else rest + nulls


def _key(value: Nullable) -> tuple[int, bool, Nullable]:
    assert value is not None
    if isinstance(value, tuple | list):
        raise IllFormed("ORDER BY has a list from ARRAY_AGG, and lists have no order; order by another column")
    # NaN differs from itself, and Python's sorting needs a total order: it comes after all numbers.
    return _KINDS.index(kind(value)), value != value, 0 if value != value else value
