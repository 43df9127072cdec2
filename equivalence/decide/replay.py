"""Evaluate two queries with the reference evaluator, to confirm a difference or to find one on short streams and
tables.

Searches are optimized, and may have errors. So no difference is reported that the reference evaluator, which follows
the definition and shares no code with a search, does not find too. A difference that it denies is an InternalError.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import TYPE_CHECKING

from cerify.equivalence.verdict import Claim, Different, Level, Undecided
from cerify.semantics.arguments import Budget, check_time
from cerify.semantics.cel import denote, interpreter
from cerify.semantics.cel.syntax import Formula, show
from cerify.semantics.errors import BudgetExceeded, IllFormed, InternalError
from cerify.semantics.events import TYPE, Event, Match, Schema, Stream, bindings_of
from cerify.semantics.trees import subtrees
from cerify.semantics.values import INT64, Value, ValueType, value_type_of

if TYPE_CHECKING:
    from cerify.semantics.event_expressions import syntax as expr
    from cerify.semantics.row_pattern import syntax as rows
    from cerify.semantics.row_pattern.syntax import MatchRecognize


def replayed(
    phi: Formula, psi: Formula, stream: Stream, one_way: bool, level: Level, shortest: bool, budget: Budget
) -> Different:
    """Evaluate both formulas on a stream with the reference evaluator; return their difference at the last position.

    Raises BudgetExceeded, and InternalError if they do not differ there.
    """
    n = len(stream) - 1
    left, right = (_matches(chi, stream, n, level, budget) for chi in (phi, psi))
    if level == "positions" and left and right:
        left = right = set()
    if not (left - right or (right - left and not one_way)):
        raise InternalError(
            f"the search found that {show(phi)} and {show(psi)} differ on {list(stream)}, "
            "but by the reference evaluator they do not"
        )
    return Different(stream, n, tuple(sorted(left - right)), tuple(sorted(right - left)), shortest)


def _matches(phi: Formula, S: Stream, n: int, level: Level, budget: Budget) -> set[Match]:
    mus = interpreter.valuations(phi, S, n, budget)
    return {Match(n, tuple(sorted(denote.sup(mu))), bindings_of(mu) if level == "valuations" else None) for mu in mus}


def replay_expressions(
    E: expr.Expression, F: expr.Expression, S: Stream, claim: Claim, shortest: bool, budget: Budget
) -> Different:
    """Evaluate both expressions on a stream with the reference evaluator; return their difference at the last event.

    Raises BudgetExceeded, and InternalError if they do not differ there.
    """
    from cerify.semantics.event_expressions.interpreter import takes_place
    from cerify.semantics.event_expressions.syntax import show as show_expression

    e = len(S) - 1
    left, right = ((Match(e, (e,)),) if e in takes_place(G, S, budget) else () for G in (E, F))
    if left == right or (claim == "contained" and not left):
        raise InternalError(
            f"the search found that {show_expression(E)} and {show_expression(F)} differ on {list(S)}, "
            "but by the reference evaluator they do not"
        )
    return Different(S, e, left, right, shortest)


def has_complex_event(phi: Formula, S: Stream, C: frozenset[int], budget: Budget) -> bool:
    """Return whether a formula has the complex event C at the last event of a stream, by the reference evaluator."""
    return bool(len(S)) and C in interpreter.complex_events(phi, S, len(S) - 1, budget)


# ---------------------------------------------------------------------------------------------------------------------
# All short streams of some events.


def streams_of(letters: Sequence[Event], longest: int, most: int, schema: Schema | None = None) -> Iterator[Stream]:
    """Yield all streams of these events of length 1, then 2, and so on up to `longest`.

    Stop before the first length at which there would be more than `most` streams in all. Length 1 is always included.
    """
    number = 0
    for length in range(1, longest + 1):
        number += len(letters) ** length
        if number > most and length > 1:
            return
        yield from (Stream(events, schema) for events in product(letters, repeat=length))


# ---------------------------------------------------------------------------------------------------------------------
# Search short tables with few values for a table on which two clauses of MATCH_RECOGNIZE differ.

TABLES = 20_000  # the greatest number of tables that are tried
SECONDS = 10.0  # the time limit of the search, if the budget has none
SAMPLES: Mapping[ValueType, Sequence[Value]] = {
    "int": (0, 1, 2),
    "float": (0.0, 1.0, 2.0),
    "string": ("a", "b", "c"),
    "bool": (False, True),
    "timestamp": (),
}
"""The values of a column, by its type, if no condition compares the column with a constant."""


def search_tables(
    left: MatchRecognize,
    right: MatchRecognize,
    claim: Claim,
    level: Level,
    schema: Schema | None,
    bound: int,
    budget: Budget,
    why: str,
) -> Different | Undecided:
    """Search tables of at most `bound` rows for a difference of the matches; return it, or Undecided.

    The values of a column are the constants that it is compared with, neighbours of numbers and strings, and NULL. The
    search stops when the budget, or SECONDS, is used up. why: the reason why the clauses could not be decided, for
    Undecided.
    """
    longest, last, fails = 0, 0, ""
    with suppress(BudgetExceeded), budget.timed(), Budget(seconds=budget.seconds or SECONDS).timed():
        for S in tables(values((left, right), schema), bound, schema):
            check_time()
            # The message names only lengths all of whose tables were tried, and the search may stop within a length.
            longest, last = len(S) - 1, len(S)
            try:
                if (found := difference_on(S, left, right, claim, level)) is not None:
                    return found
            except IllFormed as error:  # AFTER MATCH SKIP has no row to skip to
                fails = fails or _failure(left, right, S, error)
        longest = last
    number = f"{longest} row{'s' * (longest != 1)}"
    tried = f"no difference on tables of up to {number} over a few values" if longest else "no table was tried"
    return Undecided(f"{tried}; {fails}{why}")


def _failure(left: MatchRecognize, right: MatchRecognize, S: Stream, error: IllFormed) -> str:
    """Return a phrase that names the clause that fails on a table; "" if both fail."""
    failed = []
    for side, q in (("left", left), ("right", right)):
        with suppress(IllFormed):
            _row_matches(q, S, "events")
            continue
        failed.append(side)
    if len(failed) != 1:
        return ""
    table = ", ".join("(" + ", ".join(f"{name} = {v}" for name, v in event.attributes.items()) + ")" for event in S)
    said = f"on the table {table} the {failed[0]} clause fails, which does not count as a difference"
    return f"{said}: {error.message}; "


def difference_on(
    S: Stream, left: MatchRecognize, right: MatchRecognize, claim: Claim, level: Level
) -> Different | None:
    """Return the first difference that refutes the claim on a table, by the reference evaluator; None if there is none.

    Raises IllFormed if AFTER MATCH SKIP of a clause has no row to skip to.
    """
    mine, other = (_row_matches(q, S, level) for q in (left, right))
    here, there = mine - other, other - mine
    if level == "positions":
        ends = [{m.at for m in some} for some in (mine, other)]
        here, there = {m for m in mine if m.at not in ends[1]}, {m for m in other if m.at not in ends[0]}
    apart = here if claim == "contained" else here | there
    if not apart:
        return None
    at = min(match.at for match in apart)
    only = [sorted(m for m in some if m.at == at) for some in (here, there)]
    return Different(S, at, tuple(only[0]), tuple(only[1]), shortest=False)


def _row_matches(q: MatchRecognize, S: Stream, level: Level) -> set[Match]:
    from cerify.semantics.row_pattern.interpreter import find_matches

    with_bindings = level == "valuations"
    return {Match(m.at, tuple(sorted(m.events)), m.bindings if with_bindings else None) for m in find_matches(q, S)}


def tables(columns: Mapping[str, Sequence[Value | None]], bound: int, schema: Schema | None = None) -> Iterator[Stream]:
    """Yield all tables of 1 row, 2 rows, and so on, with these values of the columns; at most TABLES in all.

    With a schema, each row has an event type of the schema, and values only in the columns of that type.
    """
    from cerify.semantics.row_pattern.syntax import ROW

    named = columns.get(TYPE, ())
    types = [str(R or ROW) for R in named] or [ROW]
    if schema is not None:  # types that no condition names, and that have the same columns, behave alike: try one
        types = list({R if R in named else tuple(of): R for R, of in schema.types.items()}.values())
    of_types = {
        R: {a: its for a, its in columns.items() if a != TYPE and (schema is None or schema.has(R, a))} for R in types
    }
    if sum(math.prod(map(len, of.values())) for of in of_types.values()) > TABLES:
        return
    letters = [
        Event(R, {a: v for a, v in zip(of, row, strict=True) if v is not None})
        for R, of in of_types.items()
        for row in product(*of.values())
    ]
    yield from streams_of(letters, bound, TABLES, schema)


def values(clauses: Sequence[MatchRecognize], schema: Schema | None) -> dict[str, list[Value | None]]:
    """Return, for each column of the clauses, the values to try in a table; NULL is one of them."""
    from cerify.semantics.row_pattern import syntax as rows

    known = {} if schema is None else schema.attributes
    near: dict[str, set[Value]] = {}
    for q in clauses:
        for e in (*q.expressions, *q.keys):
            for node in subtrees(e):
                if isinstance(node, rows.RowComparison | rows.RowBetween | rows.RowIn | rows.RowLike | rows.RowColumn):
                    for name, some in _find_columns(node):
                        own = next((one for one in (TYPE, *known, *near) if one.casefold() == name.casefold()), name)
                        near.setdefault(own, set()).update(some)
    found: dict[str, list[Value | None]] = {}
    for name, some in near.items():
        of_values: list[ValueType] = [value_type_of(v) for v in sorted(some, key=repr)]
        type_ = known.get(name) or (of_values[0] if of_values else "int")
        fitting = {v for v in some if value_type_of(v) in (type_, "int" if type_ == "float" else type_)}
        if known.get(name) == "int":
            fitting = {v for v in fitting if v in INT64}
        if known.get(name) == "float":
            fitting = {float(v) for v in fitting if isinstance(v, int | float)}
        found[name] = [*sorted(fitting or SAMPLES[type_], key=repr), None]
    return found


def _find_columns(e: rows.Expression) -> Iterator[tuple[str, set[Value]]]:
    """Yield each column of an expression, with the constants of the expression and values next to them."""
    from cerify.semantics.row_pattern import syntax as rows

    constants = rows.constants(e)
    near: set[Value] = set(constants)
    if isinstance(e, rows.RowLike):  # texts that match a pattern, are longer or shorter, or have more for each `_`
        patterns = [str(v).replace("%", "") for v in constants]
        near = {pattern.replace("_", some) for pattern in patterns for some in ("", "x", "xx")}
        near |= {text for one in [p.replace("_", "x") for p in patterns] for text in (f"x{one}", f"{one}x", one[:-1])}
        constants = []
    for v in constants:
        if isinstance(v, str):
            near.add(f"{v}_")
        elif isinstance(v, int | float) and not isinstance(v, bool):
            near |= {v - 1, v + 1}
    yield from ((one.name, near) for one in subtrees(e) if isinstance(one, rows.RowColumn))
