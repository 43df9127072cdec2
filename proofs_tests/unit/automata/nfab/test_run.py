"""Runs by their definition: sase07, appendix A.2."""

import pytest

from cerify.automata.nfab.compile import compile_query
from cerify.automata.nfab.moves import Runs, bindings
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.sase.syntax import Reading
from proofs_tests.unit.semantics.sase import small
from proofs_tests.unit.semantics.sase.streams import events, query


def runs(text: str, S: str, reading: Reading = Reading()) -> Runs:
    return Runs(compile_query(query(text), reading), events(S), reading)


def moves(run) -> str:  # type: ignore[no-untyped-def]
    return " ".join(f"{step.move[0]}{step.at}" for step in run.steps)


def test_all_runs_are_told_move_by_move() -> None:
    told = [moves(run) for run in runs("SEQ(A+ a[], B b)", "A C B").all()]
    assert told == ["", "b0", "b0 i1", "b0 i1 i2", "b0 i1 i2 p3", "b0 i1 p2", "b0 i1 p2 b2", "", ""]


def test_a_run_as_a_2_writes_it() -> None:
    (run,) = runs("SEQ(A+ a[], B b)", "A C A B").find_runs((("a", (0, 2)), ("b", (3,))))
    assert moves(run) == "b0 i1 t2 p3 b3"
    assert run.pairs == ((0, "a[1]"), (2, "a[2]"), (3, "b"), (4, "F"))


def test_the_runs_of_a_match_and_of_no_match() -> None:
    R = runs("SEQ(A+ a[]) WHERE skip_till_next_match(a[]) { a[a.LEN].x = 1 }", "A1 B A2")
    assert [moves(run) for run in R.find_runs((("a", (0,)),))] == ["b0 i1 p2", "b0 p1"]
    assert list(R.find_runs((("a", (0, 2)),))) == []
    assert all(run in list(R.accepting()) for run in R.find_runs((("a", (0,)),)))


def test_the_buffers_of_accepting_runs_are_the_matches() -> None:
    for text in ("SEQ(A+ a[], A b)", "SEQ(A a, A+ b[], A c)"):
        for S in small.streams(4, ("A1/k", "B1/k")):
            q = query(f"{text} WITHIN 3 seconds")
            R = Runs(compile_query(q), S)
            assert {run.now.buffer for run in R.accepting()} == R.matches() == bindings(q, S)


@pytest.mark.parametrize(
    ("text", "S", "reading", "accepted"),
    [
        ("SEQ(A a, B b)", "A B", Reading(), True),
        ("SEQ(A a, B b)", "A B B", Reading(), False),
        ("SEQ(A a, B b)", "C A B", Reading(), False),
        ("SEQ(A a, B b)", "A C B", Reading(), True),
        ("SEQ(A a, B b)", "", Reading(), False),
        ("SEQ(A+ a[])", "A C", Reading(), True),
        ("SEQ(A+ a[])", "A C", Reading(stream_end="waits"), False),
        ("SEQ(A+ a[]) WHERE strict_contiguity(a[]) { }", "A C", Reading(), False),
        ("SEQ(A+ a[]) WHERE strict_contiguity(a[]) { }", "A A", Reading(), True),
    ],
)
def test_the_language_of_an_automaton(text: str, S: str, reading: Reading, accepted: bool) -> None:
    assert runs(text, S, reading).accepts() == accepted


def test_a_run_that_waits_still_stops_where_it_must() -> None:
    waits = Reading(stream_end="waits")
    text = "SEQ(A+ a[]) WHERE skip_till_next_match(a[]!) { }"
    assert runs(text, "A", waits).matches() == {(("a", (0,)),)}
    assert runs("SEQ(A+ a[])", "A", waits).matches() == set()


def test_the_budget() -> None:
    q = query("SEQ(A+ a[]) WHERE skip_till_any_match(a[]) { }")
    S = events("A " * 30)
    with pytest.raises(BudgetExceeded, match="1000 runs"):
        bindings(q, S, budget=Budget(valuations=1_000))
    with pytest.raises(BudgetExceeded, match="100 matches"):
        bindings(q, S, budget=Budget(matches=100))
    with pytest.raises(BudgetExceeded, match="1000 runs"):
        list(Runs(compile_query(q), S, budget=Budget(valuations=1_000)).all())
