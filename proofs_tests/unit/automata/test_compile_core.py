"""core-CEL compiled; in full by `python -m proofs_tests.campaigns.compiler_core`."""

from __future__ import annotations

from itertools import islice

import pytest

from cerify.automata.cea.compile_core import compile_core, looks_ahead, whole_stream
from cerify.automata.evaluate.compiled import CompiledCoreEvaluator
from cerify.automata.evaluate.core import matches
from cerify.semantics.arguments import Budget
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.check import is_unary
from cerify.semantics.core_cel.interpreter import matches_of
from cerify.semantics.core_cel.parse import parse
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Match, Stream
from proofs_tests.support import sampled, stream
from proofs_tests.unit.automata.core_cases import OPERATORS, SMALL, TWO, drawn, streams, topped, wrong
from proofs_tests.unit.semantics.core_cel.examples import EXAMPLES

# Where an automaton that reads the whole stream could slip: a strategy in a round or after something else, a variable
# that is bound around it, in one branch only, later, or nowhere.
CHOSEN = [
    "A AS x ; NXT(B AS y ; B AS z)",
    "A AS x ; LAST((B AS y)+)",
    "(A AS x OR B AS y) ; MAX((A AS z)+ OR B AS y)",
    "(NXT(A AS x ; B AS y))+",
    "(LAST((A AS x)+ ; B AS y) ; A AS z)+",
    "MAX(A AS x OR (A AS x ; NXT(B AS y)))+ ; B AS z",
    "NXT((A AS y ; B AS z) FILTER x[a = 1]) ; A AS x",
    "MAX(((A AS y ; B AS z) FILTER x[a = 1]) OR B AS z) ; B AS x",
    "((A AS y FILTER x[a = 1])+ ; B AS x)+",
    "(A AS x ; ((B AS x OR B AS y) FILTER x[a = 1])+) FILTER x[a = 0]",
    "LAST((A AS x OR B AS y) FILTER x[a = 1]) ; B AS z",
    "(NXT(A AS x OR B AS y FILTER z[a = 0]))+ FILTER z[a = 0]",
    "((A AS x FILTER z[a = 1]) ; B AS y)+ FILTER z[a > 0]",
    "NXT(LAST((A AS x ; B AS y)+) OR MAX(STRICT((B AS z)+)))",
    "A AS x ; NXT((A AS x OR B AS y) FILTER x[a = 1])",
    "A AS x ; (B AS y FILTER x[a = 1] AND y[a = 1])+",
]


@pytest.mark.parametrize("operator", sampled(OPERATORS, [*OPERATORS][::2]))
def test_the_automaton_has_the_meaning_of_every_small_formula(operator: str) -> None:
    tried, short, two = 0, streams(2), streams(2, TWO)
    for phi in topped(operator, 3):
        assert wrong(phi, short) is None
        tried += 1
    for phi in islice(topped(operator, 4), None, None, 4):
        assert wrong(phi, two) is None
    assert tried > 3


@pytest.mark.parametrize("query", sampled(CHOSEN, CHOSEN[::4]))
def test_chosen_formulas(query: str) -> None:
    phi = parse(query)
    assert wrong(phi, streams(4)) is None
    assert any(matches_of(phi, S) for S in streams(4))


@pytest.mark.parametrize("name", [name for name, (query, _) in EXAMPLES.items() if is_unary(parse(query))])
def test_the_papers_formulas_are_carried(name: str) -> None:
    assert wrong(parse(EXAMPLES[name][0]), streams(3)) is None


@pytest.mark.parametrize("cases", sampled([30, 80], [30]))
def test_random_formulas(cases: int) -> None:
    """Both evaluators, with every operator and strategy below each other."""
    matching = ahead = 0
    for seed in range(cases):
        phi, Ss = drawn(seed, 7, 7)
        ahead += bool(looks_ahead(phi))
        for S in Ss:
            expected = matches_of(phi, S)
            assert matches(phi, S, SMALL) == CompiledCoreEvaluator(phi, SMALL).evaluate(S) == expected, (seed, S.events)
            matching += bool(expected)
    assert matching > 1.25 * cases
    assert ahead > cases / 40


def test_what_looks_ahead_is_said_at_the_end() -> None:
    """A filter on a variable that nothing binds, or that the rivals of a strategy choose anew."""
    for query in ("A AS x FILTER y[a = 1]", "A AS x ; NXT((A AS x OR B AS y) FILTER x[a = 1]) ; B AS z"):
        phi = parse(query)
        with pytest.raises(Unsupported, match=r"even a later one, may pass .* define [xy] on every way") as e:
            compile_core(phi)
        assert e.value.span is not None
        assert query[e.value.span.start : e.value.span.end] in ("y[a = 1]", "x[a = 1]")
    phi = parse("A AS x FILTER y[a = 1]")
    assert (
        matches(phi, stream("A B", a=[0, 1]))
        == CompiledCoreEvaluator(phi).evaluate(stream("A B", a=[0, 1]))
        == [Match(0, (0,))]
    )
    assert matches(phi, stream("A B", a=[0, 0])) == CompiledCoreEvaluator(phi).evaluate(stream("A B", a=[0, 0])) == []
    assert matches(phi, Stream([])) == CompiledCoreEvaluator(phi).evaluate(Stream([])) == []


def test_what_does_not_look_ahead_is_said_at_once() -> None:
    """The complex events that end at a position are those over the stream so far: no more come, and none goes."""
    tried = 0
    for seed in range(1000, 1150):
        phi, Ss = drawn(seed, 8, 6)
        if bool(looks_ahead(phi)):
            continue
        for S in Ss:
            whole = matches_of(phi, S)
            for n in range(len(S)):
                prefix = matches_of(phi, Stream(S.events[: n + 1]))
                assert [m for m in whole if m.at <= n] == prefix
                tried += bool(prefix)
    assert tried > 200


def test_filters_across_events_are_refused() -> None:
    query = "A AS x ; B AS y FILTER x.a = y.a"
    for compile_ in (compile_core, whole_stream):
        with pytest.raises(Unsupported, match="one event at a time") as e:
            compile_(parse(query))
        assert e.value.span is not None
        assert query[e.value.span.start : e.value.span.end] == "x.a = y.a"


def test_automata_are_small_where_nothing_is_compared() -> None:
    """As long as strategies stay away a formula costs a few states and transitions for each node."""
    for n in (2, 8, 32):
        assert compile_core(parse(" ; ".join(f"A AS x{i}" for i in range(n)))).size <= 4 * n
        assert compile_core(parse(f"({' OR '.join(f'A{i} AS x' for i in range(n))})+ ; B AS y")).size <= 6 * n


@pytest.mark.parametrize(
    ("query", "operator"),
    [
        ("B AS z ; NXT((A AS x OR B AS x)+ ; A AS y ; " + " ; ".join(f"A AS y{i}" for i in range(12)) + ")", "NXT"),
        (" ; ".join(f"MAX((A AS x{i} ; B AS y{i}) OR C AS z{i})" for i in range(14)), ";"),
        ("(A AS x ; LAST((A AS y OR B AS y)+ ; (A AS u ; B AS v ; C AS w)+ ; (A AS u)+))+", r"LAST|\+"),
    ],
)
def test_an_automaton_that_would_be_too_large_is_an_error(query: str, operator: str) -> None:
    with pytest.raises(BudgetExceeded, match=rf"^({operator}) makes too large .* Budget\(states=...\)") as e:
        compile_core(parse(query), Budget(states=300))
    assert e.value.span is not None


def test_the_clock_ends_it() -> None:
    with pytest.raises(BudgetExceeded, match=r"more than 0\.0 seconds"):
        compile_core(parse("NXT(A AS x)"), Budget(seconds=0.0))


def test_nesting_that_is_too_deep_is_an_error() -> None:
    phi: core.Formula = core.CoreEventAtom("A", "x")
    for _ in range(5000):
        phi = core.CoreStrict(phi)
    for use in (compile_core, lambda phi: matches(phi, Stream([]))):
        with pytest.raises(BudgetExceeded, match="nested too deeply"):
            use(phi)


@pytest.mark.parametrize(
    ("query", "transitions"),
    [
        ("((A AS y FILTER x[a = 1])+ ; B AS x)+", 8),
        ("NXT(A AS x FILTER x[a = 1])", 2),
        ("LAST((A AS x FILTER x[a = 1]) ; B AS y)", 7),
        ("MAX((A AS x FILTER x[a = 1]) ; B AS y)", 7),
    ],
)
def test_transitions_that_differ_in_kinds_of_events_alone_are_one(query: str, transitions: int) -> None:
    assert len(compile_core(parse(query)).transitions) == transitions
