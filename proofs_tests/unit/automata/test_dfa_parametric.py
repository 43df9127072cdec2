"""Attribute variables by a monitor and by an automaton for each choice: against the definition; as a table."""

from datetime import UTC, datetime
from random import Random

import pyarrow as pa
import pytest

from cerify.automata.dfa.compiled import CompiledRunner
from cerify.automata.dfa.evaluate import TableRunner
from cerify.automata.dfa.parametric import ParametricMonitor, Valued, collected, found_in, symbolic, tuples
from cerify.automata.dfa.scopes import inlined, order_in
from cerify.equivalence.generate.expressions import VALUED_PROFILES, case
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, IllFormed, InputError, Unsupported
from cerify.semantics.event_expressions.interpreter import compatible, takes_place
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.event_expressions.syntax import show
from cerify.semantics.events import Event, Schema, Stream
from proofs_tests.campaigns.expressions import judge
from proofs_tests.support import sampled
from proofs_tests.unit.semantics.event_expressions.examples import history

COMPLETE = "complete(I) := prior(order(I, Q), perform(I, A))"


def machines(query: str, S: Stream, budget: Budget = Budget()) -> ParametricMonitor:
    return ParametricMonitor(symbolic(parse(query), order_in(S), budget), budget)


@pytest.mark.parametrize("cases", sampled([40, 80], [40]))
@pytest.mark.parametrize("name", VALUED_PROFILES)
def test_random_cases(name: str, cases: int) -> None:
    """Section 6.2: one expression for each value."""
    rng, profile = Random(17), VALUED_PROFILES[name]
    valued = somewhere = 0
    for _ in range(cases):
        E, S = case(rng, profile, 9, 8)
        expected = compatible(E, S)
        assert frozenset(e for e, _ in expected.rows) == takes_place(E, S)
        shown = f"{show(E)} over {S.events}"
        for evaluator in (TableRunner, CompiledRunner):
            assert Valued(E, order_in(S)).rows(S, evaluator) == expected.rows, shown
        table = collected(E, S)
        rows = [tuple(row.values()) for row in table.to_pylist()]
        assert rows == sorted((e, *(v for _, v in values)) for e, values in expected.rows), shown
        assert found_in(E, S) == sorted({row[0] for row in rows}), shown
        valued += bool(expected.variables)
        somewhere += bool(rows and expected.variables)
    assert valued > 25 * cases / 80
    assert somewhere > cases / 16


@pytest.mark.parametrize("cases", sampled([25, 70], [25]))
def test_a_part_of_the_campaign(cases: int) -> None:
    outcomes = [judge(index, 3) for index in range(cases)]
    assert not any(outcome.differ for outcome in outcomes)
    counts = sum((outcome.counts for outcome in outcomes), start=type(outcomes[0].counts)())
    assert counts["compared"] == 10 * cases
    assert min(counts[f"by {way}"] for way in ("automaton", "compiled", "parametric", "automata", "plain")) > 0


def test_the_papers_example() -> None:
    """Appendix 3: order(121, 40) spawns a machine for 121; another value is an unknown symbol to it."""
    S = history("order(121,40) perform(7,8) order(7,1) perform(121,2) perform(121,3)")
    monitor = machines(COMPLETE, S)
    assert [monitor.push(event) for event in S] == [False, False, False, True, True]
    assert monitor.tuples() == [(("number", 121),)]
    assert len(monitor) == 3  # the one without a value, and one each for 121 and 7


def test_two_variables_have_a_machine_for_each_pair_and_each_alone() -> None:
    S = history("a(1) b(5) a(2) b(1)")
    monitor = machines("prior(a(I), b(J)) and I != J", S)
    sizes = []
    for event in S:
        monitor.push(event)
        sizes.append(len(monitor))
    assert sizes == [2, 4, 6, 9]
    assert monitor.tuples() == [(("number", 2), ("number", 1))]


@pytest.mark.parametrize(
    ("query", "text", "rows"),
    [
        ("prior(a(I), b(I))", "a(1) a(2) b(2) b(1)", [(2, 2), (3, 1)]),
        ("hired(X, W) := prior(a(X), b(W))", "a(1) a(2) b(3)", [(2, 3, 1), (2, 3, 2)]),
        ("prior(a(X), b(W))", "a(1) b(3)", [(1,)]),  # nobody asks for X and W
        ("p(I) := !before(a(I)) and a(I)", "a(1) a(2) a(1)", [(0, 1), (1, 2)]),
        ("b and I > 1 and !before(a(I, I))", "a(1,1) a(2,3) a(4,4) b", [(3, 2), (3, 3)]),
        ("I > 1 and (a(I) or b)", "a(1) b a(2) b", [(2, 2), (3, 2)]),
        ("prior(a(I, J), a(J, I)) and I < J", "a(1,2) a(2,1) a(2,2)", [(1, 1, 2)]),
        ("prior(a(1, I), b(I))", "a(2,3) b(3) a(1,3) b(3)", [(3, 3)]),
        ("prefix(relative(a(I), a(I) and first)) and a(I)", "a(1) a(2) a(1)", [(0, 1), (1, 2), (2, 1)]),
        ("again(Y) := prior(a(X), b(X, Y))", "a(1) b(1,5) a(2) b(2,5) b(3,6)", [(1, 5), (3, 5)]),
        ("p(X) := prior(a(X, I), b(I)); q(I) := p(I)", "a(1,2) b(3) b(2)", [(2, 1)]),
        ("p(X, Y) := prior(a(X, I), b(I, Y)) and I != 1; p(1, Y)", "a(1,2) b(2,3) a(1,1) b(1,4)", [(1, 3)]),
        ("a(I) and prior(a(I), exists x (a(I) = x))", "a(1) a(1) a(2)", [(1, 1)]),
        ("prior(a(I) = x, b) and prior(x, b(I))", "a(1) b(2) b(1)", [(2, 1)]),
        ("p(Y) := prior(a(X), b(Y)); p(X)", "a(1) b(2)", [(1, 2)]),  # two variables of the same name
    ],
)
def test_tables(query: str, text: str, rows: list[tuple[int, ...]]) -> None:
    E, S = parse(query), history(text)
    assert sorted((e, *(v for _, v in values)) for e, values in compatible(E, S).rows) == rows
    assert [tuple(row.values()) for row in collected(E, S).to_pylist()] == rows


def test_columns() -> None:
    day = datetime(2026, 1, 1, tzinfo=UTC)
    events = [Event("a", {"i": 1, "f": 1, "s": "x", "t": day}), Event("a", {"i": 2, "f": 0.5, "s": "y", "t": day})]
    table = collected(parse("q(I, F, S, T) := a(I, F, S, T)"), Stream(events))
    named = {"at": pa.int64(), "F": pa.float64(), "I": pa.int64(), "S": pa.string(), "T": pa.timestamp("us", tz="UTC")}
    assert {field.name: field.type for field in table.schema} == named
    assert table.to_pylist()[1] == {"at": 1, "F": 0.5, "I": 2, "S": "y", "T": day}
    nothing = collected(parse("prior(a(I), a(I))"), Stream(events))
    assert (nothing.column_names, nothing.num_rows) == (["at", "I"], 0)
    mixed = Stream([Event("a", {"n": 1}), Event("a", {"n": "1"})])
    with pytest.raises(Unsupported, match="the values of I are of the types int, string"):
        collected(parse("q(I) := a(I)"), mixed)
    assert found_in(parse("q(I) := a(I)"), mixed) == [0, 1]
    with pytest.raises(IllFormed, match="name the variable differently"):
        collected(parse("prior(a(at), a(at))"), mixed)


def test_values_are_compared_as_everywhere() -> None:
    S = Stream([Event("a", {"n": 1}), Event("b", {"n": True}), Event("b", {"n": 1.0}), Event("b")])
    assert found_in(parse("prior(a(I), b(I))"), S) == [2]
    nan = Stream([Event("a", {"n": float("nan")}), Event("a", {"n": float("nan")})])
    for query in ("q(I) := a(I)", "q(I) := !a(I)"):
        assert frozenset(found_in(parse(query), nan)) == takes_place(parse(query), nan)


def test_an_attribute_cannot_pose_as_a_variable() -> None:
    S = Stream([Event("a", {"n": 1, "\0I": 1}), Event("b", {"n": 2})])
    assert found_in(parse("prior(!a(I), b(I))"), S) == sorted(takes_place(parse("prior(!a(I), b(I))"), S)) == [1]


def test_what_is_refused() -> None:
    S = history("a(1) b(1)")
    with pytest.raises(Unsupported, match="what may come depends on the values of I"):
        machines("prefix(prior(a(I), b(I)))", S)
    with pytest.raises(Unsupported, match="make them parameters"):
        found_in(parse("same(I) := prior(a(I, Q), b(I, Q)); !same(1)"), history("a(1,2)"))
    with pytest.raises(Unsupported, match="Give the stream a schema"):
        symbolic(parse("prior(a(I), b(I))"), {})
    many = history(" ".join(f"a({n}) b({n})" for n in range(9)))
    with pytest.raises(BudgetExceeded, match="more than 50 choices of values for I, J"):
        collected(parse("q(I, J) := prior(a(I), b(J))"), many, Budget(states=50))
    with pytest.raises(BudgetExceeded, match="more than 30 compatible tuples"):
        collected(parse("q(I, J) := prior(a(I), b(J))"), many, Budget(matches=30))
    constrained = " and ".join(f"I != {n}" for n in range(11))
    with pytest.raises(BudgetExceeded, match="more than 10 constraints"):
        machines(f"a(I) and {constrained}", S)
    late = Stream([Event("a", {"n": 1}), Event("start")], Schema({"a": {"n": "int"}}))
    for E in (parse("prior(a(I), a(I))"), parse("prefix(prior(a(I), a(I)))"), parse("prior(b(I), b(I))")):
        for run in (found_in, collected):
            with pytest.raises((InputError, Unsupported), match=r"at its beginning or none|Give the stream a schema"):
                run(E, late)
    with pytest.raises(InputError, match="at its beginning or none"):
        TableRunner([]).advance(late)


def test_an_event_moves_only_the_machines_that_it_touches() -> None:
    """Machines in the same states go on as one: the work for an event does not grow with the values that were seen."""
    S = Stream([Event("order", {"n": n}) for n in range(2000)] + [Event("perform", {"n": 7}), Event("other")])
    monitor = machines("prior(order(I), perform(I))", S)
    found = [monitor.push(event) for event in S]
    assert (sum(found), found[-2], len(monitor)) == (1, True, 2001)
    assert len(monitor.states) <= 4


def test_one_and_true_are_two_values_of_a_variable() -> None:
    E, S = parse("some(I) := prior(a(I), b)"), Stream([Event("a", {"i": 1}), Event("a", {"i": True}), Event("b")])
    for relation in (compatible(E, S), tuples(E, S)):
        assert sorted(relation.rows) == [(2, (("bool", True),)), (2, (("number", 1),))]


def test_an_argument_is_passed_on_to_a_name_in_the_body() -> None:
    assert show(inlined(parse("q(K) := a(K); p(I) := prior(q(I), b(I)); p(3)")).body) == "prior(q(3), b(3))"
