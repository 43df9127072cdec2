"""Read the clauses of a query off its tree, for the reference evaluator and the checks of well-formedness.

Both ask the same small questions: which components are negated, which strategy a variable has, which conjuncts mention
it. Then come the graph of streams that queries make and read, and the table of constructs. From this table follow the
features of the suite, and which queries SQL-TS and Cayuga could not express.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from graphlib import CycleError, TopologicalSorter
from typing import Literal

from cerify.semantics.errors import IllFormed
from cerify.semantics.events import TIME, Event
from cerify.semantics.predicates import Attribute, Predicate, mentions
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.syntax import show_component


def positive(q: sase.SaseQuery) -> tuple[sase.Component, ...]:
    """Return the components without ~, whose events a match binds."""
    return tuple(k for k in q.pattern if not k.negated)


def negated(q: sase.SaseQuery) -> frozenset[str]:
    """Return the variables of the negated components."""
    return frozenset(k.variable for k in q.pattern if k.negated)


def strategy_of(q: sase.SaseQuery, variable: str) -> sase.Strategy:
    """Return the strategy of a component: that of the block that names its variable, or else the default strategy.

    See sase07, section 2.2.1.
    """
    for block in q.where:
        if any(argument.variable == variable for argument in block.arguments):
            return block.strategy or sase.DEFAULT
    return sase.DEFAULT


def is_cut(q: sase.SaseQuery, variable: str) -> bool:
    """Return whether the strategy of the variable is declared with `!` after the variable (sase07, section 2.2.2)."""
    return any(argument.cut for block in q.where for argument in block.arguments if argument.variable == variable)


def conjuncts(q: sase.SaseQuery) -> Iterator[sase.Conjunct]:
    """Yield all conjuncts of WHERE, in the order of the text."""
    for block in q.where:
        yield from block.conjuncts


def clauses_of_matches(q: sase.SaseQuery) -> list[tuple[Predicate, bool]]:
    """Return the predicates that mention no negated component, each with True if it is underlined.

    Underlined predicates define the partitions (sase07, section 2.2.1).
    """
    # An equivalence test relates all events of a match and names no variable; `equivalences` returns those.
    absent = negated(q)
    return [
        (c.condition, c.underlined)
        for c in conjuncts(q)
        if not isinstance(c.condition, sase.Equivalence) and variables(c.condition).isdisjoint(absent)
    ]


def clauses_of_absence(q: sase.SaseQuery, variable: str) -> list[Predicate]:
    """Return the predicates that describe a negated component: the predicates that mention its variable."""
    return [
        c.condition
        for c in conjuncts(q)
        if not isinstance(c.condition, sase.Equivalence) and variable in variables(c.condition)
    ]


def equivalences(q: sase.SaseQuery) -> list[tuple[str, bool]]:
    """Return the attributes of the equivalence tests, such as [id], each with True if it is underlined."""
    return [(c.condition.attribute, c.underlined) for c in conjuncts(q) if isinstance(c.condition, sase.Equivalence)]


def variables(p: Predicate) -> frozenset[str]:
    """Return the variables that a condition mentions."""
    return frozenset(attribute.variable or "" for attribute in mentions(p))


def spans(window: sase.SaseWindow, before: Event, after: Event, closed: bool) -> bool | None:
    """Return whether two events are within the window; None if their times cannot be compared.

    closed: whether a difference of exactly the window's length is within it.
    """
    match before.get(TIME), after.get(TIME):
        case (datetime() as t1, datetime() as t2):
            seconds: int | float = (t2 - t1).total_seconds()
        case (int() | float() as t1, int() | float() as t2) if not isinstance(t1, bool) and not isinstance(t2, bool):
            try:
                seconds = t2 - t1
            except OverflowError:  # a whole number beyond binary64 and a float
                return None
        case _:
            return None
    # NaN cannot be compared, and so it is neither inside nor outside the window.
    if seconds != seconds:
        return None
    return seconds <= window.seconds if closed else seconds < window.seconds


# ---------------------------------------------------------------------------------------------------------------------
# The streams that queries make and read: a directed graph (sase07, sections 2.2.4 and 5).


def queries_of(q: sase.Tree) -> tuple[sase.SaseQuery | sase.SaseUnion, ...]:
    """Return the queries of a program, in the order of the text. The results of the program are those of the last."""
    return q.queries if isinstance(q, sase.Program) else (q,)


def blocks_of(q: sase.SaseQuery | sase.SaseUnion) -> tuple[sase.SaseQuery, ...]:
    """Return the query blocks that UNION connects."""
    return q.parts if isinstance(q, sase.SaseUnion) else (q,)


def stream_of(q: sase.SaseQuery | sase.SaseUnion) -> str | None:
    """Return the name of the stream that a query makes, or None. For a union, return the name given in one part."""
    return next((part.returned.stream for part in blocks_of(q) if part.returned.stream is not None), None)


def source_of(part: sase.SaseQuery) -> str | None:
    """Return the name of the stream that a query block reads, None for the input."""
    return None if part.source == sase.INPUT_STREAM else part.source


def index_by_stream(q: sase.Tree) -> Mapping[str, sase.SaseQuery | sase.SaseUnion]:
    """Return the queries that write a named stream, by the stream's name."""
    return {name: query for query in queries_of(q) if (name := stream_of(query)) is not None}


def in_order(q: sase.Tree) -> tuple[sase.SaseQuery | sase.SaseUnion, ...]:
    """Return a program's queries, each after the queries whose streams it reads. Raises IllFormed for a cycle."""
    queries, makers = queries_of(q), index_by_stream(q)
    # By identity, because two queries of a program may be equal trees.
    index = {id(query): n for n, query in enumerate(queries)}
    graph = {
        n: {index[id(makers[name])] for part in blocks_of(query) if (name := source_of(part)) in makers}  # type: ignore[index]
        for n, query in enumerate(queries)
    }
    try:
        return tuple(queries[n] for n in TopologicalSorter(graph).static_order())
    except CycleError as error:
        cycle: list[int] = error.args[1]
        names = " reads ".join(str(stream_of(queries[n])) for n in reversed(cycle))
        raise IllFormed(f"the streams read each other in a cycle: {names}", queries[cycle[0]].span) from None


# ---------------------------------------------------------------------------------------------------------------------
# The constructs of SASE+, as a table: sase07, sections 2.2, 3.2 and A.1, and icde08, section II.
#
# A query of SASE+ is not a tree of operators, so its table differs from the tables of semantics/trees.py: a function
# tells whether a query has a construct. The parser, the lists of a query's constructs, the features of the suite and
# the table in docs/guide/sase.md use this table.

Clause = Literal["PATTERN", "WHERE", "WITHIN", "HAVING", "RETURN", "FROM", "UNION"]


@dataclass(frozen=True, slots=True)
class Construct:
    """A construct of SASE+, and what the suite, the documentation and `translate` need to know about it.

    name: the feature of the suite that tests it is "sase-" and this name. title: its name in words, or its text.
    symbol: its text, in which `a` stands for a variable. clause: the part of a query in which it stands. source: the
    place where its meaning is printed, as the cases of the suite cite it. sample: a query with it, from PATTERN on.
    used: a function that tells whether a query uses it; None if every query does, or if only the suite distinguishes
    the construct from another one. aliases: other spellings of the symbol that parse.
    """

    name: str
    title: str
    symbol: str
    clause: Clause
    source: str
    sample: str
    used: Callable[[sase.Tree], bool] | None = None
    aliases: tuple[str, ...] = ()


def _in_block(used: Callable[[sase.SaseQuery], bool]) -> Callable[[sase.Tree], bool]:
    return lambda q: any(used(block) for query in queries_of(q) for block in blocks_of(query))


def _in_conjunct(used: Callable[[list[Attribute]], bool]) -> Callable[[sase.Tree], bool]:
    """Return a test of whether `used` is true of the references and aggregates of some conjunct of WHERE."""
    return _in_block(
        lambda q: any(
            used(list(mentions(c.condition))) for c in conjuncts(q) if not isinstance(c.condition, sase.Equivalence)
        )
    )


def _strategy(strategy: sase.Strategy, name: str, title: str) -> Construct:
    sample = f"SEQ(A a, B+ b[]) WHERE {strategy}(a, b[]) {{ [y] }}"
    aliases = (strategy.replace("_till_", "_til_"),) if "_till_" in strategy else ()
    source = f"sase07 section 2.2.1, {title}"
    used = _in_block(lambda q: any(strategy_of(q, k.variable) == strategy for k in positive(q)))
    return Construct(name, title, strategy, "WHERE", source, sample, used, aliases)


def _has_running(mentioned: list[Attribute]) -> bool:
    return any(isinstance(a, sase.SaseAggregate) and a.running for a in mentioned)


def _has_whole(mentioned: list[Attribute]) -> bool:
    return any(isinstance(a, sase.SaseAggregate) for a in mentioned) and not _has_running(mentioned)


def _has_place(place: sase.Index) -> Callable[[list[Attribute]], bool]:
    return lambda mentioned: any(isinstance(a, sase.Reference) and a.place == place for a in mentioned)


CONSTRUCTS: tuple[Construct, ...] = (
    Construct("event", "an event", "A a", "PATTERN", "sase07 section 2.2, PATTERN", "SEQ(A a)"),
    Construct("sequence", "SEQ", "SEQ(A a, B b)", "PATTERN", "sase07 section 2.2, SEQ", "SEQ(A a, B b)"),
    Construct(
        "kleene", "Kleene plus", "A+ a[]", "PATTERN", "sase07 section 2.2, Kleene plus", "SEQ(A+ a[])",
        _in_block(lambda q: any(k.kleene for k in q.pattern)),
    ),
    Construct(
        "predicate", "a predicate", "a.x > 1", "WHERE", "sase07 section A.1, good formulas",
        "SEQ(A a, B b) WHERE b.x > a.x or b.x = 1",
    ),
    Construct(
        "iterator", "individual iterator", "a[i].x", "WHERE", "sase07 section 2.2, individual iterator predicates",
        "SEQ(A+ a[]) WHERE a[i].x = 1",
    ),
    Construct(
        "correlated", "correlated iterator", "a[i-1].x", "WHERE", "sase07 section 2.2, correlated iterator predicates",
        "SEQ(A+ a[]) WHERE a[i].x > a[i-1].x", _in_conjunct(_has_place("previous")),
    ),
    Construct(
        "running", "running aggregate", "avg(a[..i-1].x)", "WHERE", "sase07 section 2.2, running aggregates",
        "SEQ(A+ a[]) WHERE a[i].x > avg(a[..i-1].x)", _in_conjunct(_has_running),
    ),
    Construct(
        "aggregate", "aggregate", "avg(a[].x)", "WHERE", "sase07 section 2.2.4, aggregates",
        "SEQ(A+ a[]) WHERE avg(a[].x) > 1", _in_conjunct(_has_whole),
    ),
    Construct(
        "equivalence", "equivalence test", "[x]", "WHERE", "sase07 section 2.2, equivalence tests",
        "SEQ(A a, B b) WHERE [x]",
        _in_block(lambda q: bool(equivalences(q))),
    ),
    _strategy("strict_contiguity", "strict", "strict contiguity"),
    _strategy("partition_contiguity", "partition", "partition contiguity"),
    Construct(
        "partition", "underlining", "_( p )_", "WHERE", "sase07 section 2.2.1, partition contiguity",
        "SEQ(A a, B b) WHERE partition_contiguity(a, b) { _( b.x = a.x )_ }",
        _in_block(lambda q: any(c.underlined for c in conjuncts(q))),
    ),
    _strategy("skip_till_next_match", "next", "skip till next match"),
    _strategy("skip_till_any_match", "any", "skip till any match"),
    Construct(
        "mixed", "one strategy for each component", "s(a) { } t(b) { }", "WHERE",
        "sase07 section 2.2.1, one strategy for each component",
        "SEQ(A a, B b) WHERE strict_contiguity(a) { } skip_till_any_match(b) { }",
    ),
    Construct(
        "end", "a.LEN", "a[a.LEN].x", "WHERE", "sase07 section 2.2.2, condition on the last event selected",
        "SEQ(A+ a[]) WHERE a[a.LEN].x = 2", _in_conjunct(_has_place("last")),
    ),
    Construct(
        "cut", "!", "a[]!", "WHERE", "sase07 section 2.2.2, !",
        "SEQ(A+ a[], B b) WHERE skip_till_next_match(a[]!, b) { }",
        _in_block(lambda q: any(is_cut(q, k.variable) for k in q.pattern)),
    ),
    Construct(
        "stop", "termination", "A+ a[]", "PATTERN", "sase07 section 3.2, termination criteria", "SEQ(A+ a[], B b)"
    ),
    Construct(
        "within", "WITHIN", "WITHIN 4 hours", "WITHIN", "sase07 section 2.2.2, window constraints",
        "SEQ(A a, B b) WITHIN 4 hours", _in_block(lambda q: q.within is not None),
    ),
    Construct(
        "negation", "negation", "~A a", "PATTERN", "sase07 section 2.2.3, negation", "SEQ(A a, ~B b, C c)",
        _in_block(lambda q: any(k.negated for k in q.pattern)), aliases=("¬A a", "∼A a"),
    ),
    Construct(
        "negated-kleene", "negated Kleene plus", "~A+ a[]", "PATTERN",
        "sase07 section 2.2.3, negation on Kleene closure", "SEQ(A a, ~B+ b[], C c)",
    ),
    Construct(
        "negation-front", "negation in front", "~A a", "PATTERN",
        "sase07 section 2.2.3; decisions/sase.md, negation in front", "SEQ(~A a, B b)",
    ),
    Construct(
        "negation-end", "negation at the end", "~A a", "PATTERN",
        "sase07 section 2.2.3; decisions/sase.md, negation at the end", "SEQ(A a, ~B b) WITHIN 4 seconds",
    ),
    Construct(
        "having", "HAVING", "HAVING p", "HAVING", "sase07 section 2.2, HAVING", "SEQ(A+ a[]) HAVING avg(a[].x) > 1",
        _in_block(lambda q: q.having is not None),
    ),
    Construct("return", "RETURN", "RETURN a.x", "RETURN", "sase07 sections 2.1 and 2.2, RETURN", "SEQ(A a)"),
    Construct(
        "non-overlap", "NON-OVERLAP", "RETURN NON-OVERLAP a.x", "RETURN", "icde08 section II.C, NON-OVERLAP",
        "SEQ(A a) RETURN NON-OVERLAP a.x", _in_block(lambda q: q.returned.non_overlap),
    ),
    Construct(
        "union", "UNION", "q UNION q", "UNION", "sase07 section 2.2.4, UNION",
        "SEQ(A a) RETURN a.x UNION PATTERN SEQ(B a) RETURN a.x",
        lambda q: any(isinstance(query, sase.SaseUnion) for query in queries_of(q)),
    ),
    Construct(
        "composition", "composition", "IN STREAM s … FROM s", "FROM", "sase07 sections 2.2.4 and 5, composition",
        "SEQ(A a) RETURN B(a.x AS x) IN STREAM s; FROM s PATTERN SEQ(B b) RETURN b.x",
        _in_block(lambda q: source_of(q) is not None),
    ),
)  # fmt: skip
"""All constructs. Each name belongs to one feature of the suite."""


STRATEGIES: dict[str, sase.Strategy] = {
    spelling: strategy
    for strategy in sase.STRATEGIES
    for construct in CONSTRUCTS
    if construct.symbol == strategy
    for spelling in (construct.symbol, *construct.aliases)
}
"""The strategies by the spellings that parse."""


# ---------------------------------------------------------------------------------------------------------------------
# The constructs in a query of SASE+, and whether SQL-TS and Cayuga have them (sase07, section 4; icde08, III).

SQL_TS: frozenset[sase.Strategy] = frozenset({"strict_contiguity", "partition_contiguity"})
CAYUGA: frozenset[sase.Strategy] = frozenset({"partition_contiguity", "skip_till_next_match"})
"""Section 4 names skip_till_next_match alone; section 6, and icde08, name both."""


def strategies(q: sase.Tree) -> frozenset[sase.Strategy]:
    """Return the strategies by which a query selects events, the default included."""
    return frozenset(STRATEGIES[c.symbol] for c in _find_constructs(q) if c.symbol in STRATEGIES)


def operators(q: sase.Tree) -> frozenset[str]:
    """Return the titles of a query's constructs that are not strategies, without those that every query has."""
    return frozenset(c.title for c in _find_constructs(q) if c.symbol not in STRATEGIES)


def constructs(q: sase.Tree) -> frozenset[str]:
    """Return the names (`Construct.name`) of the constructs of a query, except those that every query has."""
    return frozenset(c.name for c in _find_constructs(q))


def beyond_sql_ts(q: sase.Tree) -> list[str]:
    """Return the reasons why SQL-TS cannot express a query; none if it can.

    SQL-TS has no negation, and has only strict and partition contiguity.
    """
    return list(_beyond(q, SQL_TS))


def beyond_cayuga(q: sase.Tree) -> list[str]:
    """Return the reasons why Cayuga cannot express a query; none if it can.

    Cayuga has no negation, and has only partition contiguity and skip till next match.
    """
    return list(_beyond(q, CAYUGA))


def _beyond(q: sase.Tree, allowed: frozenset[sase.Strategy]) -> Iterator[str]:
    for part in (part for query in queries_of(q) for part in blocks_of(query)):
        for k in part.pattern:
            if k.negated:
                yield f"{show_component(k)} is negated"
            elif (strategy := strategy_of(part, k.variable)) not in allowed:
                yield f"{show_component(k)} is selected by {strategy}"


def _find_constructs(q: sase.Tree) -> Iterator[Construct]:
    return (construct for construct in CONSTRUCTS if construct.used is not None and construct.used(q))
