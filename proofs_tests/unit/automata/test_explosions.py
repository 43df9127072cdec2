"""A query whose automaton explodes ends in an error that says which operator, which size, and what to try; soon."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from cerify import cli
from cerify.automata.algebra.finite import minterms
from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.compile_core import compile_core
from cerify.automata.cea.model import Determinized, complement, io_determinize
from cerify.automata.cea.to_cel import to_cel
from cerify.automata.evaluate import compiled, streaming
from cerify.automata.evaluate.compiled import CompiledCelEvaluator
from cerify.automata.evaluate.tables import tabulate
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.parse import parse
from cerify.semantics.core_cel.parse import parse as parse_core
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Event, Stream
from cerify.semantics.predicates import Attribute, Comparison, Constant
from proofs_tests.support import sampled

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
TRY = r"evaluate by the definition .* on short streams, or allow more: Budget\(states=...\)"


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
        ("(A AS x ; B AS y) ; (A AS z ; B AS w)", 8, ";", "both sides read the whole stream"),
        ("(A AS x OR B AS y)+ ; (A AS z OR B AS z)+", 10, r"\+", "put the strategy around the iteration"),
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
    with pytest.raises(BudgetExceeded, match=r"^MAX makes .* the 20 predicates have more than 4096 types") as e:
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
    with pytest.raises(BudgetExceeded, match=rf"more than 0\.0 seconds to build .* out of one of {A.states} states"):
        Determinized(A, Budget(seconds=0.0)).step(0, 1)
    with pytest.raises(BudgetExceeded, match=r"the table .* takes more than 0\.0 seconds"):
        tabulate(Determinized(A), [1], Budget(seconds=0.0))
    with pytest.raises(BudgetExceeded, match=r"types of \d+ predicates take more than 0\.0 seconds"):
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
    operator = r"^PROJECT makes too large an automaton \(its operands, by themselves, take 19 states, and it more than"
    origin = rf"one of {A.states} states and {len(A.transitions)} transitions: too many .* use fewer of .*{TRY}"
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
