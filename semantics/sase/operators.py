"""The constructs of SASE+, as a table: sase07, sections 2.2, 3.2 and A.1, and icde08, section II.

A query of SASE+ is no tree of operators, so that its table is of another shape than those of semantics/operators.py: a
construct is found in a query by a function. The parser, the lists of what a query uses, the features of the suite and
the table of docs/guide/sase.md are made of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from cerify.semantics.predicates import Attribute, mentions
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.clauses import conjuncts, equivalences, is_cut, positive, strategy_of
from cerify.semantics.sase.streams import blocks_of, queries_of, source_of

Clause = Literal["PATTERN", "WHERE", "WITHIN", "HAVING", "RETURN", "FROM", "UNION"]


@dataclass(frozen=True, slots=True)
class Construct:
    """What is data about one construct.

    name: the feature of the suite that tests it is "sase-" and this. title: its name in words, or as it is written.
    symbol: how it is written, a standing for a variable. clause: the part of a query that has it. source: where its
    meaning is printed, as the cases of the suite cite it. sample: a query with it, from PATTERN on.
    used: whether a query uses it; None where every query does, or where the suite alone tells it from another one.
    aliases: other spellings of the symbol that parse.
    """

    name: str
    title: str
    symbol: str
    clause: Clause
    source: str
    sample: str
    used: Callable[[sase.Tree], bool] | None = None
    aliases: tuple[str, ...] = ()


def _in_block(used: Callable[[sase.Query], bool]) -> Callable[[sase.Tree], bool]:
    return lambda q: any(used(block) for query in queries_of(q) for block in blocks_of(query))


def _in_conjunct(used: Callable[[list[Attribute]], bool]) -> Callable[[sase.Tree], bool]:
    """Whether some predicate of WHERE has references and aggregates like these."""
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
    return any(isinstance(a, sase.Aggregate) and a.running for a in mentioned)


def _has_whole(mentioned: list[Attribute]) -> bool:
    return any(isinstance(a, sase.Aggregate) for a in mentioned) and not _has_running(mentioned)


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
        lambda q: any(isinstance(query, sase.Union) for query in queries_of(q)),
    ),
    Construct(
        "composition", "composition", "IN STREAM s … FROM s", "FROM", "sase07 sections 2.2.4 and 5, composition",
        "SEQ(A a) RETURN B(a.x AS x) IN STREAM s; FROM s PATTERN SEQ(B b) RETURN b.x",
        _in_block(lambda q: source_of(q) is not None),
    ),
)  # fmt: skip
"""All constructs; those that one feature of the suite tests have one name."""


STRATEGIES: dict[str, sase.Strategy] = {
    spelling: strategy
    for strategy in sase.STRATEGIES
    for construct in CONSTRUCTS
    if construct.symbol == strategy
    for spelling in (construct.symbol, *construct.aliases)
}
"""The strategies by the spellings that parse."""
