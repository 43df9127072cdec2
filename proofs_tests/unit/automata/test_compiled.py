"""The compiled kernels against their readable twins."""

from random import Random

import pytest

from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.model import Determinized
from cerify.automata.evaluate import compiled, streaming
from cerify.automata.evaluate.compiled import CompiledCelEvaluator
from cerify.automata.evaluate.tables import CHUNK, NOWHERE, tabulate
from cerify.equivalence.generate.cel import PROFILES, case
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Event, Stream
from proofs_tests.benchmarks.workloads import uniform
from proofs_tests.support import EXAMPLES, FIGURE_1, sampled, stream


@pytest.mark.parametrize("cases", sampled([80, 200], [80]))
@pytest.mark.parametrize("profile", ["core", "figure3"])
def test_the_kernels_give_what_the_readable_evaluator_gives(profile: str, cases: int) -> None:
    compared = 0
    for i in range(cases):
        phi, S = case(Random(f"kernels/{i}"), PROFILES[profile], 9, 10)
        for output in ("matches", "valuations"):
            try:
                expected = streaming.matches(phi, S, output)
            except (BudgetExceeded, Unsupported):
                continue
            assert compiled.matches(phi, S, output) == expected
            compared += bool(expected)
    assert compared > cases / 2


@pytest.mark.parametrize("name", ["phi1", "phi1'", "phi2", "phi3", "phi3'"])
def test_the_examples_of_section_3(name: str) -> None:
    query, printed = EXAMPLES[name]
    got = {(m.at, m.events) for m in compiled.matches(parse(query), FIGURE_1)}
    assert got == {(n, C) for n, events in printed.items() for C in events}


def test_nodes_and_roots_grow_in_the_middle_of_a_stream() -> None:
    """The arrays start small; a stream that outgrows them several times loses nothing."""
    S = uniform(20_000)
    phi = parse("A : B OR A : A OR C")
    assert compiled.matches(phi, S) == streaming.matches(phi, S)


def test_enumeration_goes_on_after_a_full_buffer() -> None:
    """More complex events at one position than a chunk holds, and none twice."""
    S = stream("A " * 16 + "B")
    found = compiled.matches(parse("A+ ; B"), S)
    assert len(found) == 2**16 - 1 > 3 * CHUNK
    assert len(set(found)) == len(found)


def test_a_complex_event_longer_than_every_buffer() -> None:
    n = 6 * CHUNK
    S = Stream([Event("A")] * n + [Event("B")])
    found = compiled.matches(parse("START(A:+ : B)"), S)
    assert found[0].events == tuple(range(n + 1))


def test_the_order_of_enumeration_is_that_of_the_readable_one() -> None:
    """Both follow Algorithm 1 on the same data structure, so that no complex event comes twice."""
    phi, S = parse("(A OR B)+ ; A"), stream("A B B A A B A")
    readable = [(m.at, m.events) for m in streaming.evaluate_automaton(compile_cel(phi), S)]
    table = CompiledCelEvaluator(phi).push_arrow(S.table)
    fast = [
        (at, tuple(events)) for at, events in zip(table["at"].to_pylist(), table["events"].to_pylist(), strict=True)
    ]
    assert sorted(fast) == sorted(readable)


def test_filters_that_make_all_events_agree_are_evaluated_as_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    """By compiled loops too, and batch after batch; any other filter across events is refused with what to do."""
    S = Stream([Event("AB"[i % 3 == 2], {"k": i % 5}) for i in range(60)])
    phi = parse("(A ; B) FILTER A.k = B.k")
    evaluator = CompiledCelEvaluator(phi)
    assert evaluator.scope.attributes == ("k",)
    expected = streaming.matches(phi, S)
    monkeypatch.setattr(compiled.streaming, "found", None)  # so that nothing is left to Python
    assert evaluator.push_stream(S) == compiled.matches(phi, S) == expected != []
    with pytest.raises(Unsupported, match=r"collect the stream and use cerify\.match"):
        CompiledCelEvaluator(parse("(A ; B) FILTER A.k < B.k"))


def test_tables_hold_every_step_of_the_automaton() -> None:
    automaton = Determinized(compile_cel(parse("(A IN X OR A IN Y) ; B+")))
    types = [0b01, 0b10, 0b11]
    tables = tabulate(automaton, types)
    for state in range(len(tables.final)):
        for c, type_ in enumerate(types):
            steps = {tables.labels[l]: int(q) for l, q in enumerate(tables.step[state, c]) if q != NOWHERE}
            assert steps == dict(automaton.step(state, type_))


def test_too_many_matches_stop_with_a_typed_error() -> None:
    with pytest.raises(BudgetExceeded):
        compiled.matches(parse("A+ ; B"), stream("A " * 60 + "B"), budget=Budget(matches=1000))
