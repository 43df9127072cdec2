"""The compilers of CEL and core-CEL: what they carry, what they make of it, what they keep, and where they stop."""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from cerify import cli
from cerify.automata.algebra.finite import minterms
from cerify.automata.cea.compile import COMPILED_CEL, CachedCompiler, compilable, compile_cel
from cerify.automata.cea.compile_core import compile_core, looks_ahead, whole_stream
from cerify.automata.cea.model import Determinized, complement, io_determinize
from cerify.automata.cea.to_cel import to_cel
from cerify.automata.evaluate import compiled, streaming
from cerify.automata.evaluate.compiled import CompiledCelEvaluator, CompiledCoreEvaluator
from cerify.automata.evaluate.core import compiled_shared, matches
from cerify.automata.evaluate.tables import tabulate
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.parse import parse
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.check import is_unary
from cerify.semantics.core_cel.interpreter import matches_of
from cerify.semantics.core_cel.parse import parse as parse_core
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Event, Match, Stream
from cerify.semantics.predicates import Attribute, Comparison, Constant
from proofs_tests.support import sampled, stream
from proofs_tests.unit.automata.exhaustive import CORE_OPERATORS as OPERATORS
from proofs_tests.unit.automata.exhaustive import CORE_TWO as TWO
from proofs_tests.unit.automata.exhaustive import QUICK, SMALL, drawn, streams, topped, wrong, wrong_core
from proofs_tests.unit.semantics.core_cel_cases import EXAMPLES

# ---- compile ----
# Which formulas of CEL an automaton carries: those that compare no events with each other but by position.


@pytest.mark.parametrize(
    ("text", "carried"),
    [
        ("A ; B", True),
        ("(A ; B) WITHIN 3 EVENTS", True),
        ("(A ; B) WITHIN 3 seconds", False),
        ("(A ; B) WITHIN 3 [x]", False),
        ("(A ; B) PARTITION BY [x]", False),
        ("(A ; B) FILTER A[x > 1]", True),
        ("(A ; B) FILTER A.x > 1", True),
        ("(A ; B) FILTER A.x > B.x", False),
        ("A ; ((B ; A) PARTITION BY [x])+", False),
    ],
)
def test_what_an_automaton_carries(text: str, carried: bool) -> None:
    assert compilable(parse(text)) is carried


# ---- exhaustive ----
# The compiler on all small formulas; in full by `python -m proofs_tests.campaigns.compiler`.

SPACES = [(name, operator) for name, space in QUICK.items() for operator in space.operators]


@pytest.mark.parametrize("of", sampled(SPACES, SPACES[::3]), ids="-".join)
def test_the_automaton_has_the_meaning_of_every_small_formula(of: tuple[str, str]) -> None:
    (name, operator), tried = of, 0
    for phi in QUICK[name].topped(operator):
        assert wrong(phi, QUICK[name]) is None
        tried += 1
    assert tried > 1


# ---- compile core ----
# core-CEL compiled; in full by `python -m proofs_tests.campaigns.compiler_core`.

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
def test_the_automaton_has_the_meaning_of_every_small_formula_compile_core(operator: str) -> None:
    tried, short, two = 0, streams(2), streams(2, TWO)
    for phi in topped(operator, 3):
        assert wrong_core(phi, short) is None
        tried += 1
    for phi in islice(topped(operator, 4), None, None, 4):
        assert wrong_core(phi, two) is None
    assert tried > 3


@pytest.mark.parametrize("query", sampled(CHOSEN, CHOSEN[::4]))
def test_chosen_formulas(query: str) -> None:
    phi = parse_core(query)
    assert wrong_core(phi, streams(4)) is None
    assert any(matches_of(phi, S) for S in streams(4))


@pytest.mark.parametrize("name", [name for name, (query, _) in EXAMPLES.items() if is_unary(parse_core(query))])
def test_the_papers_formulas_are_carried(name: str) -> None:
    assert wrong_core(parse_core(EXAMPLES[name][0]), streams(3)) is None


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
        phi = parse_core(query)
        with pytest.raises(Unsupported, match=r"depend on a later event. Write AS [xy] in every alternative") as e:
            compile_core(phi)
        assert e.value.span is not None
        assert query[e.value.span.start : e.value.span.end] in ("y[a = 1]", "x[a = 1]")
    phi = parse_core("A AS x FILTER y[a = 1]")
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
            compile_(parse_core(query))
        assert e.value.span is not None
        assert query[e.value.span.start : e.value.span.end] == "x.a = y.a"


def test_automata_are_small_where_nothing_is_compared() -> None:
    """As long as strategies stay away a formula costs a few states and transitions for each node."""
    for n in (2, 8, 32):
        assert compile_core(parse_core(" ; ".join(f"A AS x{i}" for i in range(n)))).size <= 4 * n
        assert compile_core(parse_core(f"({' OR '.join(f'A{i} AS x' for i in range(n))})+ ; B AS y")).size <= 6 * n


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
        compile_core(parse_core(query), Budget(states=300))
    assert e.value.span is not None


def test_the_clock_ends_it() -> None:
    with pytest.raises(BudgetExceeded, match=r"more than 0\.0 seconds"):
        compile_core(parse_core("NXT(A AS x)"), Budget(seconds=0.0))


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
    assert len(compile_core(parse_core(query)).transitions) == transitions


# ---- cached compiler ----
# A compiler that keeps what it has made: the same query is compiled once, and one that is refused is refused again.


class Compiler:
    """Counts what it compiles, and refuses the type C."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, phi: cel.EventAtom, budget: Budget) -> str:
        self.asked.append(phi.type)
        if phi.type == "C":
            raise Unsupported("no C")
        return phi.type.lower()


def event(text: str) -> cel.EventAtom:
    phi = parse(text)
    assert isinstance(phi, cel.EventAtom)
    return phi


def test_nothing_is_kept_unless_asked() -> None:
    compiler = Compiler()
    cached = CachedCompiler(compiler)
    assert [cached(event("A")), cached(event("A"))] == ["a", "a"]
    assert compiler.asked == ["A", "A"]


def test_an_equal_query_is_compiled_once_and_another_budget_is_another_question() -> None:
    compiler = Compiler()
    cached = CachedCompiler(compiler)
    cached.retain(10)
    A = event("A")
    assert [cached(A), cached(A), cached(event("A")), cached(event("B"))] == ["a", "a", "a", "b"]
    assert compiler.asked == ["A", "B"]
    assert cached(A, Budget(states=5)) == "a"
    assert compiler.asked == ["A", "B", "A"]


def test_what_is_refused_is_refused_again_without_compiling() -> None:
    compiler = Compiler()
    cached = CachedCompiler(compiler)
    cached.retain(10)
    C = event("C")
    for _ in range(2):
        with pytest.raises(Unsupported, match="no C"):
            cached(C)
    assert compiler.asked == ["C"]


def test_when_as_many_are_kept_as_allowed_all_are_dropped() -> None:
    compiler = Compiler()
    cached = CachedCompiler(compiler)
    cached.retain(2)
    kept = [event(T) for T in "ABDA"]
    assert [cached(phi) for phi in kept] == ["a", "b", "d", "a"]
    assert compiler.asked == ["A", "B", "D", "A"]


def test_what_needs_less_than_it_may_is_not_compiled_again() -> None:
    """What is made within few states is what more of them would give; that they are too few says nothing of more."""
    compiler = Compiler()
    cached = CachedCompiler(compiler)
    cached.retain(10)
    A, C = event("A"), event("C")
    assert [cached(A, Budget(states=5)), cached(A), cached(A, Budget(states=6))] == ["a", "a", "a"]
    assert compiler.asked == ["A"]
    for budget in (Budget(states=5), Budget()):
        with pytest.raises(Unsupported, match="no C"):
            cached(C, budget)
    assert compiler.asked == ["A", "C", "C"]


def test_what_is_shared_in_a_context_is_gone_after_it() -> None:
    phi = parse("A ; B")
    before = gc.get_threshold()
    with compiled_shared():
        first = COMPILED_CEL(phi)
        assert COMPILED_CEL(phi) is first
    assert COMPILED_CEL(phi) is not first
    assert gc.get_threshold() == before


# ---- explosions ----
# A query whose automaton explodes ends in an error that says which operator, which size, and what to try; soon.

FAR = " : ".join(["(A OR B)"] * 16)  # which of the last sixteen events was an A: 2^16 sets of runs
HIDDEN = f"PROJECT[X](A : {FAR} : B IN X)"
EXPLODING = {
    "NXT": (f"NXT((A OR B)+ : A : {FAR})", "compares all runs"),
    "LAST": (f"LAST(A : {FAR})", "compares all runs"),
    "MAX": (f"MAX((A OR B)+ ; A ; {FAR.replace(':', ';')})", "compares all runs"),
    "ALL": ("((A ; B) WITHIN 500 EVENTS) ALL ((C ; D) WITHIN 500 EVENTS)", "its operands multiply"),
    "AND": (" AND ".join(f"({' : '.join(['A'] * n)}):+" for n in (3, 7, 8, 11, 13, 17)), "its operands multiply"),
    "UNLESS": (f"A UNLESS (B : {FAR})", "make the right operand shorter"),
    "WITHIN": ("A ; ((B ; C) WITHIN 1000000 EVENTS)", "around the whole formula"),
}
TRY = r"use evaluator='denotational' on short streams, or allow more: Budget\(states=...\)"


@pytest.mark.parametrize("operator", EXPLODING)
def test_the_error_names_the_operator_the_sizes_and_what_to_try(operator: str) -> None:
    query, advice = EXPLODING[operator]
    wrapped = f"B ; START(({query})) OR A"
    with pytest.raises(BudgetExceeded, match=f"^{operator} makes too large an automaton out of .*{advice}.*{TRY}") as e:
        compile_cel(parse(wrapped), Budget(states=3000))
    assert "states and" in e.value.message
    assert "more than 3000 states or transitions" in e.value.message
    assert e.value.span is not None
    place = wrapped[e.value.span.start : e.value.span.end]
    assert place in query
    assert operator in place


@pytest.mark.parametrize(
    ("query", "states", "operator", "advice"),
    [
        ("NXT((A AS x OR B AS y)+ ; A AS z)", 39, "NXT", "compares all runs"),
        ("LAST((A AS x OR B AS y)+ ; A AS z)", 39, "LAST", "compares all runs"),
        ("MAX((A AS x OR B AS y)+ ; A AS z)", 39, "MAX", "compares all runs"),
        ("(A AS x ; B AS y) ; (A AS z ; B AS w)", 8, ";", "Both sides read the whole stream"),
        ("(A AS x OR B AS y)+ ; (A AS z OR B AS z)+", 10, r"\+", "around the iteration"),
    ],
)
def test_of_core_cel_too(query: str, states: int, operator: str, advice: str) -> None:
    with pytest.raises(BudgetExceeded, match=f"^{operator} makes too large an automaton out of .*{advice}"):
        compile_core(parse_core(query), Budget(states=states))


@pytest.mark.parametrize(
    ("query", "states"),
    [
        ("# AND #", 40),
        ("# ALL #", 100),
        ("(B ; A) UNLESS #", 40),
        ("STRICT(#)", 30),
        ("NXT(#)", 60),
        ("LAST(#)", 60),
        ("MAX(#)", 60),
        ("# WITHIN 4 EVENTS", 22),
    ],
)
def test_operands_are_made_small_where_the_automaton_is_not_linear_in_them(query: str, states: int) -> None:
    """Of the operand as it is compiled the automaton would be larger than the budget."""
    alike = "(" + " OR ".join("AAAAAA") + ") ; A"
    assert compile_cel(parse(query.replace("#", f"({alike})")), Budget(states=states)).states < states


@pytest.mark.parametrize("operator", sampled(["LAST", "ALL", "UNLESS"], ["UNLESS"]))
def test_at_the_command_line_it_is_said_within_seconds(
    operator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the budget that is there if nobody asks for one."""
    (tmp_path / "events.csv").write_text("type\nA\nB\n")
    query, advice = EXPLODING[operator]
    monkeypatch.setattr("sys.argv", ["cerify", "match", query, str(tmp_path / "events.csv")])
    begun = time.process_time()
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    out, err = capsys.readouterr()
    assert exit_.value.code == 2
    assert out == ""
    assert f"{operator} makes too large an automaton" in err
    assert advice in err
    assert "^^^" in err
    assert time.process_time() - begun < 12  # a few seconds, on a machine that is slow or busy


def test_tests_that_have_nothing_to_do_with_each_other() -> None:
    """Eighteen attributes: 2^18 types of events."""
    query = f"B ; MAX(({' OR '.join(f'(A FILTER A.x{i} > 0)' for i in range(18))})+)"
    with pytest.raises(BudgetExceeded, match=r"^MAX makes .* more than 4096 combinations of 20 conditions") as e:
        compile_cel(parse(query))
    assert e.value.span is not None
    assert query[e.value.span.start :].startswith("MAX")


def test_inside_each_other_the_innermost_is_named() -> None:
    query = f"LAST(MAX(A ; NXT((A OR B)+ : A : {FAR})) ALL B)"
    with pytest.raises(BudgetExceeded, match=r"^NXT makes") as e:
        compile_cel(parse(query), Budget(states=2000))
    assert e.value.span is not None
    assert query[e.value.span.start : e.value.span.end].startswith("NXT((A")


CLOCKED = """
import sys
from cerify.automata.algebra.finite import minterms
from cerify.automata.cea.compile import compile_cel
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import BudgetExceeded
try:
    compile_cel(parse(sys.argv[1]), Budget(states=10**9, seconds=float(sys.argv[2])))
except BudgetExceeded as error:
    print(error.message)
"""


@pytest.mark.parametrize("seconds", [0.0, 0.3])
def test_the_clock_ends_it_too(seconds: float) -> None:
    """In a process of its own, which is ended if nothing else does."""
    command = [sys.executable, "-c", CLOCKED, EXPLODING["LAST"][0], str(seconds)]
    said = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
    assert f"more than {seconds} seconds" in said


def test_the_clock_ends_what_is_built_along_a_stream() -> None:
    """Also the search for the types of events; reading events for which all is there takes none of the time."""
    A = compile_cel(parse(HIDDEN))
    with pytest.raises(BudgetExceeded, match=rf"more than 0\.0 seconds to build .* one with {A.states} states"):
        Determinized(A, Budget(seconds=0.0)).step(0, 1)
    with pytest.raises(BudgetExceeded, match=r"the table .* takes more than 0\.0 seconds"):
        tabulate(Determinized(A), [1], Budget(seconds=0.0))
    with pytest.raises(BudgetExceeded, match=r"which of \d+ conditions can hold together takes more than 0\.0 seconds"):
        minterms([Comparison(">", Attribute("x"), Constant(0))], budget=Budget(seconds=0.0))
    D = Determinized(compile_cel(parse("A ; B")), Budget(seconds=1.0))
    time.sleep(1.1)
    assert D.step(0, 1)


def random_stream() -> Stream:
    rng = Random(1)
    return Stream([Event(rng.choice("AB")) for _ in range(5000)])


@pytest.mark.parametrize(
    "evaluate",
    [
        streaming.matches,
        compiled.matches,
        lambda phi, S, budget: CompiledCelEvaluator(phi, budget=budget).push_stream(S),
    ],
    ids=["streaming", "compiled", "evaluator"],
)
def test_what_is_determinized_along_a_stream_stops_as_well(evaluate: Callable[..., object]) -> None:
    """A formula without strategies has a small automaton, of which a stream reaches ever more sets of states."""
    query = f"B ; (A OR {HIDDEN})"
    phi = parse(query)
    A = compile_cel(phi)
    operator = r"^PROJECT makes too large an automaton \(its operands by themselves take 19 states, the result more"
    origin = rf"one with {A.states} states and {len(A.transitions)} transitions.*Too many .* Use fewer of .*{TRY}"
    with pytest.raises(BudgetExceeded, match=rf"{operator}.*{origin}") as e:
        evaluate(phi, random_stream(), budget=Budget(states=500))
    assert "more than 500 states" in e.value.message
    assert e.value.span is not None
    assert query[e.value.span.start : e.value.span.end] == HIDDEN


@pytest.mark.thorough
@pytest.mark.parametrize(
    "evaluate",
    [compiled.matches, lambda phi, S: CompiledCelEvaluator(phi).push_stream(S)],
    ids=["compiled", "evaluator"],
)
def test_the_compiled_evaluators_say_so_within_seconds(evaluate: Callable[..., object]) -> None:
    """With the budget that is there if nobody asks for one."""
    begun = time.process_time()
    with pytest.raises(BudgetExceeded, match=TRY):
        evaluate(parse(HIDDEN), random_stream())
    assert time.process_time() - begun < 12  # a few seconds, on a machine that is slow or busy


@pytest.mark.thorough
def test_the_automata_of_the_other_operations_stop_too() -> None:
    A = compile_cel(parse(HIDDEN))
    for build in (io_determinize, lambda A, budget: complement(A, budget=budget)):
        with pytest.raises(BudgetExceeded, match="more than 900"):
            build(A, Budget(states=900))
    with pytest.raises(BudgetExceeded, match="more than 900 nodes"):
        to_cel(compile_cel(parse(" ALL ".join(f"A{i}" for i in range(7)))), budget=Budget(states=900))
    assert Determinized(A, Budget(states=900)).step(0, 1)


def test_a_long_window_inside_a_formula_is_no_trouble() -> None:
    """States that behave alike are told apart in a time that is next to linear."""
    A = compile_cel(parse("A ; ((B ; C) WITHIN 6000 EVENTS)"))
    assert A.states == 6002
