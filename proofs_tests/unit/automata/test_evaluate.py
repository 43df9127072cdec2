"""The evaluation algorithm: the paper's own runs of it, its invariants, its limits, and its compiled loops."""

from itertools import islice, product
from random import Random

import numpy as np
import pytest

from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.model import CEA, Determinized, Transition, single_variable
from cerify.automata.dfa.kernels import advance_four, advance_one
from cerify.automata.evaluate import compiled, list_kernels, streaming
from cerify.automata.evaluate.ces import BOTTOM, NOTHING, CompactComplexEventSet, Evaluation, evaluate_automaton
from cerify.automata.evaluate.compiled import CompiledCelEvaluator
from cerify.automata.evaluate.streaming import count_matches, matches
from cerify.automata.evaluate.tables import CHUNK, NOWHERE, SHORT, MatchBatch, classify, sorted_arrays, tabulate
from cerify.equivalence.generate.cel import PROFILES, case, formula
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Event, Match, Stream
from cerify.semantics.predicates import Anything, OfType
from proofs_tests.benchmarks.workloads import QUERIES, uniform
from proofs_tests.support import EXAMPLES, FIGURE_1, sampled, stream

# ---- evaluate ----
# The evaluation algorithm: the paper's own runs of it, its invariants, and its limits.


@pytest.mark.parametrize("name", ["phi1", "phi1'", "phi2", "phi3", "phi3'"])
def test_the_unary_examples_of_section_3_give_the_printed_results(name: str) -> None:
    query, printed = EXAMPLES[name]
    expected = sorted(Match(n, C) for n, events in printed.items() for C in events)
    assert matches(parse(query), FIGURE_1) == expected


def test_a_compact_set_lists_the_complex_events_of_section_9() -> None:
    """The set C that introduces the data structure there, with lists that share their tails."""
    D = CompactComplexEventSet()
    one = D.extend(1, frozenset(), (BOTTOM, BOTTOM))
    two = D.extend(2, frozenset(), (one, one))
    ones = D.extend(1, frozenset(), (BOTTOM, BOTTOM))
    D.append(ones, BOTTOM)
    three = D.extend(3, frozenset(), (ones, BOTTOM))
    D.append(two, three)
    five = D.extend(5, frozenset(), (two, three))
    four = D.extend(4, frozenset(), (BOTTOM, BOTTOM))
    D.append(three, four)
    six = D.extend(6, frozenset(), (two, four))
    D.append(five, six)
    listed = [D.complex_event(path) for path in D.enumerate((five, six))]
    assert len(listed) == len(set(listed))
    assert set(listed) == {(1, 2, 5), (1, 3, 5), (3, 5), (1, 2, 6), (1, 3, 6), (3, 6), (4, 6)}


def test_the_run_of_figure_8() -> None:
    """The automaton of U ; ((V+ ; W) OR W) as the text beside the figure gives it, on the stream U V V W."""
    marked, skip = frozenset({"•"}), frozenset[str]()
    drawn = CEA(
        3,
        (
            Transition(0, Anything(), skip, 0),
            Transition(0, OfType("U"), marked, 1),
            Transition(1, OfType("V"), marked, 1),
            Transition(1, Anything(), skip, 1),
            Transition(1, OfType("W"), marked, 2),
        ),
        frozenset({0}),
        frozenset({2}),
    )
    S = stream("U V V W")
    assert [m.events for m in evaluate_automaton(drawn, S)] == [(0, 1, 2, 3), (0, 2, 3), (0, 1, 3), (0, 3)]
    assert set(evaluate_automaton(drawn, S)) == set(matches(parse("U ; ((V+ ; W) OR W)"), S))


@pytest.mark.parametrize("query", ["A ; B ; A", "(A OR B)+ ; A", "((A ; B)+ : A):+ ; B"])
def test_the_data_structure_keeps_its_five_properties(query: str) -> None:
    """Properties (1) to (5) of section 9.2 and the invariants on the table, after every event."""
    automaton = Determinized(single_variable(compile_cel(parse(query))))
    evaluation = Evaluation(automaton)
    D = evaluation.D
    S = stream("A B A A B B A B A")
    for n, type_ in enumerate(classify(automaton.A.predicates, S)):
        evaluation.push(type_)
        for start, end in evaluation.T.values():
            listed = [D.complex_event(path) for path in D.enumerate((start, end))]
            assert len(listed) == len(set(listed)), "(5): two paths with the same complex event"
            assert D.next[end] == NOTHING, "a list in the table is open at its end"
        for node in range(1, len(D)):
            child, seen = D.first[node], set()
            while child != D.last[node]:
                assert child not in seen, "(1), (3): a cycle"
                seen.add(child)
                child = D.next[child]  # (2): the walk gets to last
            assert all(c == BOTTOM or D.event[c] < D.event[node] for c in seen | {child}), "(4): not descending"
        assert n == evaluation.position


def test_columns_and_single_events_classify_alike() -> None:
    """Short streams go event by event, long ones by columns."""
    predicates = compile_cel(parse("(A OR B)+ FILTER A.x > 2 OR B[x in {0, 3} and not x = y]")).predicates
    values = [i % 5 if i % 7 else None for i in range(SHORT + 50)]
    rows = [{k: v for k, v in (("x", x), ("y", i % 3)) if v is not None} for i, x in enumerate(values)]
    from cerify.semantics.events import Event, Stream

    S = Stream(Event("AB"[i % 2], row) for i, row in enumerate(rows))
    by_columns = classify(predicates, S)
    by_events = [t for i in range(0, len(S), 50) for t in classify(predicates, Stream(S[i : i + 50]))]
    assert by_columns == by_events


def test_more_predicates_than_a_machine_word_has_bits() -> None:
    query = " OR ".join(f"(A FILTER A.x = {i})" for i in range(80))
    S = stream("A " * (SHORT + 10), x=[i % 80 for i in range(SHORT + 10)])
    assert len(matches(parse(query), S)) == len(S)


def test_counts_pass_what_could_be_listed() -> None:
    """200 events of A+ ; B have 2^199 - 1 matches at the last position."""
    S = stream("A " * 199 + "B")
    assert list(count_matches(parse("A+ ; B"), S)) == [0] * 199 + [2**199 - 1]


def test_the_first_matches_come_without_the_rest() -> None:
    S = stream("A " * 199 + "B")
    first = list(islice(evaluate_automaton(compile_cel(parse("A+ ; B")), S), 3))
    assert len(set(first)) == 3
    with pytest.raises(BudgetExceeded):
        matches(parse("A+ ; B"), S, budget=Budget(matches=1000))


# ---- compiled ----
# The compiled kernels against their readable twins.


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
    readable = [(m.at, m.events) for m in evaluate_automaton(compile_cel(phi), S)]
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
    monkeypatch.setattr(compiled.streaming, "find_planned", None)  # so that nothing is left to Python
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


# ---- kernels ----
# The loops of event expressions: four automata at once, over one array of classes or over its parts.

STEP = np.array([[1, 2, 0], [2, 2, 1]], np.int32)
ACCEPTING = np.array([0, 1, 1], np.uint8)
STARTS = (0, 1, 2, 0)


@pytest.mark.parametrize("cut", [0, 3, 7])
def test_four_automata_are_four_times_one(cut: int) -> None:
    classes = np.array([0, 1, 1, 0, 1, 0, 0, 1, 0], np.int32)
    states, counts = np.array(STARTS, np.int64), np.zeros(4, np.int64)
    ends = [list[int]() for _ in STARTS]
    for base, part in ((0, classes[:cut]), (cut, classes[cut:])):
        out = np.zeros((4, part.size + 1), np.int64)
        advance_four(part, base, STEP, ACCEPTING, states, counts, *out)
        for k, found in enumerate(ends):
            found += [*out[k, : counts[k]]]
    for k, start in enumerate(STARTS):
        state, count, ends_ = (
            np.array([start], np.int64),
            np.zeros(1, np.int64),
            np.zeros(classes.size + 1, np.int64),
        )
        alone = list[int]()
        for base, part in ((0, classes[:cut]), (cut, classes[cut:])):
            advance_one(part, base, STEP, ACCEPTING, state, count, ends_)
            alone += [*ends_[: count[0]]]
        assert (states[k], ends[k]) == (state[0], alone)


# ---- plan ----
# The plan of list_kernels: what events do while the same states have runs, on streams where it is made and ends.


def calm_stream(random: Random, events: int) -> Stream:
    """Types by chance, of which a few change every now and then: where little changes plans last, then they end."""
    types: list[str] = []
    while len(types) < events:
        some = random.choices("ABCDE", k=random.randint(1, 4))
        types += random.choices(some, k=random.choice([5, 40, 100]))
    return Stream([Event(type_, {"a": random.randint(0, 2), "b": random.randint(0, 2)}) for type_ in types[:events]])


def paths(evaluator: CompiledCelEvaluator) -> list[int]:
    """For each node the number of complex events of the list that it begins."""
    _, child, following = evaluator.store.tree[:3, : evaluator.store.nodes].tolist()
    found = [0]
    for n in range(1, len(child)):
        of_child = found[max(child[n], ~child[n])] + (child[n] < 0)
        found.append(of_child + found[max(following[n], ~following[n])])
    return found


@pytest.mark.parametrize("profile", ["core", "everything"])
@pytest.mark.parametrize("part", sampled(range(30), [0]))
def test_counts_and_lists_over_streams_with_plans(profile: str, part: int) -> None:
    """What is counted for each position, and what the nodes stand for, are what the readable evaluator counts."""
    compared = 0
    for i in range(30 * part, 30 * part + 30):
        random = Random(f"plan/{profile}/{i}")
        phi, S = formula(random, PROFILES[profile], random.randint(2, 8)), calm_stream(random, 300)
        try:
            expected = {n: number for n, number in enumerate(streaming.count_matches(phi, S)) if number}
            evaluator = CompiledCelEvaluator(phi)
        except (Unsupported, BudgetExceeded):
            continue
        if not evaluator.unwindowed:
            continue
        counted: dict[int, int] = {}
        for roots in evaluator.advance(S):
            known = paths(evaluator)
            for position, ref, number in roots.tolist():
                exact = known[max(ref, ~ref)] + (ref < 0)
                assert number == min(exact, list_kernels.CAP)
                counted[position] = counted.get(position, 0) + exact
        assert counted == expected
        compared += 1
    assert compared > 5


@pytest.mark.parametrize(
    ("query", "output"),
    [
        *(
            pytest.param(*one, marks=pytest.mark.thorough if n % 3 else ())
            for n, one in enumerate(
                product(
                    (
                        *QUERIES.values(),
                        "A ; B+ ; C",
                        "((A : B) OR (A ; C)) ; D",
                        "A ; (B OR C) ; (B OR D)",
                        "LAST(A ; B ; C)",
                        "LAST(A ; (B OR C) ; D)",
                    ),
                    ("matches", "valuations"),
                )
            )
        ),
        ("LAST(A+ ; B ; (B OR C)) ; D", "matches"),
        pytest.param("LAST(A+ ; B ; (B OR C)) ; D", "valuations", marks=pytest.mark.thorough),
    ],
)
def test_matches_over_streams_with_plans(query: str, output: str) -> None:
    """New streams begin inside of a batch, where a plan may be in use; whatever is found before leads nowhere."""
    phi, S = parse(query), uniform(2000 if query == QUERIES["Q7"] or "LAST" in query else 160)
    S = S.part(0, 60) if "+" in query and "LAST" not in query else S
    again = Stream([*S, *S, *stream("A A B C D")])
    expected = streaming.matches(phi, S, output)  # type: ignore[arg-type]
    evaluator, length = CompiledCelEvaluator(phi, output), len(S)  # type: ignore[arg-type]
    found: list[Match] = []
    for roots in evaluator.advance(again, begins=np.array([0, length, 2 * length])):
        for batch in evaluator.match_batches(roots):
            ends = batch.offsets.tolist()
            for at, start, end in zip(batch.at.tolist(), ends[:-1], ends[1:], strict=True):
                found.append(Match(at, tuple(batch.events[start:end].tolist())))
    once = sorted(Match(m.at, m.events) for m in expected)
    assert len(once) > 0
    assert sorted(m for m in found if m.at < length) == once
    shifted = [Match(m.at + length, tuple(p + length for p in m.events)) for m in once]
    assert sorted(m for m in found if length <= m.at < 2 * length) == shifted


@pytest.mark.parametrize("far", [0, 2**61])
def test_arrays_are_sorted_as_matches_are(far: int) -> None:
    random = Random(far)
    for _ in range(200):
        found = {
            Match(at, tuple(sorted({at, *random.choices(range(at + 1), k=3)}))) for at in random.choices(range(9), k=9)
        }
        found = {Match(m.at + far * (m.at > 4), (*m.events[:-1], m.events[-1] + far * (m.at > 4))) for m in found}
        given = random.sample(sorted(found), len(found))
        batches = [
            MatchBatch(*(np.array(x, np.int64) for x in ([m.at], [0, len(m.events)], m.events)), np.zeros(0, np.int32))
            for m in given
        ]
        assert sorted_arrays(batches).make_objects() == sorted(found)
