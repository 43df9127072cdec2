"""WITHIN and PARTITION BY in the automaton evaluators: what is taken off, and agreement with the definition."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random

import numpy as np
import pyarrow as pa
import pytest

import cerify
from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.model import Determinized, single_variable
from cerify.automata.evaluate import compiled, match_stores, streaming
from cerify.automata.evaluate.ces import Bottom, CesOutput, CesUnion, Node, enumerate_
from cerify.automata.evaluate.compiled import CompiledCelEvaluator
from cerify.automata.evaluate.evaluation_plan import batch_scope
from cerify.automata.evaluate.scope import Unordered as CountingUnordered
from cerify.automata.evaluate.scope import key_of, lookback_bounds, reports_at_last_event, strip_windows, within_width
from cerify.automata.evaluate.scope_columns import KeyTable, RangeWindowState, Unordered
from cerify.automata.evaluate.streaming import ScopedEvaluation
from cerify.automata.evaluate.tables import classify
from cerify.equivalence.generate.cel import PROFILES, around, clocked, formula
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.interpreter import matches_of
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import Formula, show
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Event, Match, Stream
from proofs_tests.benchmarks.workloads import uniform
from proofs_tests.support import sampled, stream
from proofs_tests.unit.automata.exhaustive import scoped_case

# ---- scope ----
#

Evaluate = Callable[..., list[Match]]
EVALUATORS = {"readable": streaming.matches, "kernel": compiled.matches}
SMALL = Budget(valuations=50_000)


@pytest.fixture(params=EVALUATORS)
def evaluate(request: pytest.FixtureRequest) -> Evaluate:
    return EVALUATORS[request.param]


@pytest.mark.parametrize("cases", sampled([50, 350], [50]))
@pytest.mark.parametrize("profile", ["core", "typed", "everything"])
def test_the_evaluators_agree_with_the_definition(profile: str, cases: int) -> None:
    outcomes: Counter[str] = Counter()
    for i in range(cases):
        phi, S = scoped_case(Random(f"scope/{i}"), PROFILES[profile])
        output = "valuations" if i % 3 == 0 else "matches"
        try:
            expected = matches_of(phi, S, output, SMALL)
        except BudgetExceeded:
            continue
        for name, evaluator in EVALUATORS.items():
            try:
                found = evaluator(phi, S, output)
            except Unsupported:
                outcomes["unsupported", name] += 1
                continue
            assert found == expected, (name, show(phi), S.events)
            outcomes["matched" if expected else "nothing", name] += 1
    for name in EVALUATORS:
        assert outcomes["matched", name] > 0.3 * cases
        assert outcomes["unsupported", name] < (0.25 * cases if profile == "everything" else 1)


def test_the_tightest_window_of_each_kind_is_kept() -> None:
    scope = strip_windows(
        parse(
            "((A ; B) WITHIN 5 EVENTS PARTITION BY [k] WITHIN 1 minute WITHIN 3 EVENTS WITHIN 30 [time]) WITHIN 7 [u]"
        )
    )
    assert show(scope.core) == "A ; B"
    assert (scope.events, dict(scope.widths), scope.attributes) == (3, {"time": 30, "u": 7}, ("k",))


def test_what_a_window_passes_on_its_way_out() -> None:
    scope = strip_windows(parse("STRICT(START(((A ; B) WITHIN 3 EVENTS) IN X FILTER X.x > 1)) UNLESS C"))
    assert scope.events == 3
    assert show(scope.core) == show(parse("STRICT(START((A ; B) IN X FILTER X.x > 1)) UNLESS C"))


@pytest.mark.parametrize(
    "query",
    [
        "(A WITHIN 2 [x]) ; B",
        "(((A ; B) WITHIN 2 hours) OR C)+",
        "NXT((A ; B) WITHIN 2 [x]) ; C",
        "PROJECT[B]((A ; B) WITHIN 2 [x]) : C",
        "(A UNLESS (B WITHIN 2 [x])) ALL C",
        "(A WITHIN 2 [x]) ; (B PARTITION BY [k])",
    ],
)
def test_a_window_on_values_inside_is_checked_and_refused_in_batches(query: str, evaluate: Evaluate) -> None:
    phi = parse(query)
    found = 0
    for i in range(6):
        S = clocked(Random(f"inside/{i}"), stream("A B A C B B C", x=[0, 1, 3, 3, 4, 2, 5]))
        assert evaluate(phi, S) == matches_of(phi, S)
        found += len(matches_of(phi, S))
    assert found
    refused = batch_scope(phi)
    assert isinstance(refused, Unsupported)
    assert "only around the whole formula" in refused.message
    assert refused.span is not None
    assert "WITHIN" in query[refused.span.start : refused.span.end]


@pytest.mark.parametrize(
    ("query", "types", "k", "expected"),
    [
        ("A ; B WITHIN 3 EVENTS", "A A C B", "xxxx", {(1, 3)}),
        ("A : B PARTITION BY [k]", "A A B B", "xyxx", set()),  # contiguity is global
        ("A : B PARTITION BY [k]", "A A B B", "xyyx", {(1, 2)}),
        ("NXT(A ; B) PARTITION BY [k]", "A A B", "xyy", set()),  # selected first, and (0, 2) does not agree
        ("NXT(A ; B) PARTITION BY [k]", "A A B", "yxy", {(0, 2)}),
        ("(A ; B) UNLESS C PARTITION BY [k]", "A C B", "xyx", set()),  # C of any key
        ("START(A ; B) PARTITION BY [k]", "A A B", "xyy", set()),
        ("A+ PARTITION BY [k]", "A A A", "xyx", {(0,), (1,), (2,), (0, 2)}),
    ],
)
def test_partitions_filter_what_the_whole_stream_gives(
    query: str, types: str, k: str, expected: set[tuple[int, ...]]
) -> None:
    S, phi = stream(types, k=list(k)), parse(query)
    assert {m.events for m in matches_of(phi, S)} == expected
    assert {m.events for m in streaming.matches(phi, S)} == expected
    assert {m.events for m in compiled.matches(phi, S)} == expected


def test_what_does_not_equal_itself_is_in_no_partition(evaluate: Evaluate) -> None:
    values = [None, float("nan"), 0.0, -0.0, 1.0]
    S = Stream(Event("A", {} if v is None else {"k": v}) for v in values)
    assert {m.events for m in evaluate(parse("A+ PARTITION BY [k]"), S)} == {(2,), (3,), (4,), (2, 3)}


def test_kinds_never_agree() -> None:
    S = Stream(Event("A", {"k": v}) for v in (1, True, "1", 1.0))
    found = streaming.matches(parse("A ; A PARTITION BY [k]"), S)
    assert found == matches_of(parse("A ; A PARTITION BY [k]"), S) == [Match(3, (0, 3))]


def test_values_that_go_back_are_looked_at_match_by_match(evaluate: Evaluate) -> None:
    """A position cannot say what is near on this attribute: 0 and 3 are, 1 between them is not."""
    S, phi = stream("A A A B", u=[5, 0, 9, 6]), parse("A+ ; B WITHIN 3 [u]")
    assert evaluate(phi, S) == matches_of(phi, S) == [Match(3, (0, 3)), Match(3, (2, 3))]
    assert list(streaming.count_matches(phi, S)) == [0, 0, 0, 2]
    assert lookback_bounds(strip_windows(phi), S).unordered


@pytest.mark.parametrize("evaluator", ["automaton", "kernel"])
def test_batches_with_numbers_and_times_in_one_window_are_refused_as_such(evaluator: str) -> None:
    """That the time is less than before, and that the stream is to be sorted, was said of them."""
    evaluator_ = cerify.compile("A+ WITHIN 3 [u]", evaluator=evaluator)
    evaluator_.push([Event("A", {"u": 1})])
    with pytest.raises(Unordered, match=r"'u' was a (whole )?number .* and is a timestamp now"):
        evaluator_.push([Event("A", {"u": datetime(2021, 1, 1, tzinfo=UTC)})])


def test_numbers_and_times_in_one_window_have_no_order() -> None:
    S = Stream([Event("A", {"u": 1}), Event("A", {"u": datetime(2021, 1, 1, tzinfo=UTC)})])
    phi = parse("A+ WITHIN 3 [u]")
    assert lookback_bounds(strip_windows(phi), S).unordered
    assert streaming.matches(phi, S) == [Match(0, (0,)), Match(1, (1,))]


@pytest.mark.parametrize("kind", ["int", "float", "timestamp"])
def test_a_window_on_values_reaches_as_far_on_columns_as_on_events(kind: str) -> None:
    """Two computations of the same reach: event by event, and by search in sorted columns, batch after batch."""
    rng = Random(kind)
    for round_ in range(60):
        numbers = sorted(rng.choice((0.1, 0.7, 1, 2)) * rng.randint(0, 30) for _ in range(rng.randint(1, 40)))
        values = {
            "int": [int(x) + rng.choice((0, 2**62 - 1)) * 0 for x in numbers],
            "float": numbers,
            "timestamp": [datetime(2021, 1, 1, tzinfo=UTC) + timedelta(seconds=x) for x in numbers],
        }[kind]
        S = Stream(Event("A", {"time": v} if rng.random() < 0.9 else {}) for v in values)
        assert S.table.num_rows == len(S)  # made here, so that the parts have columns of one type
        width = rng.choice((0, 0.1, 0.2, 0.3, 1, 2.1, 7))
        scope = strip_windows(parse(f"A WITHIN {width} [time]"))
        expected = lookback_bounds(scope, S)
        range_window, at, cut = RangeWindowState("time", width), 0, rng.randint(0, len(S))
        low, marks = [], []
        for part in (S.part(0, cut), S.part(cut, len(S) - cut)):
            if len(part) and "time" in part.table.column_names:
                range_window, low_, marks_ = range_window.advance(part.table, at)
                low += low_.tolist()
                marks += marks_.tolist()
            else:
                low += [0] * len(part)
                marks += [False] * len(part)
            at += len(part)
        assert marks == expected.marks
        assert [l for l, m in zip(low, marks, strict=True) if m] == [
            l for l, m in zip(expected.low, marks, strict=True) if m
        ], (round_, values, width)


def test_a_difference_is_rounded_as_the_definition_rounds_it(evaluate: Evaluate) -> None:
    """0.3 - 0.1 is less than 0.2 in binary64, but 0.3 - 0.2 is less than 0.1, so that no threshold will do."""
    for first, last, width in ((0.1, 0.3, 0.2), (0.7, 0.8, 0.1), (1.1, 1.4, 0.3), (0.2, 0.3, 0.1)):
        S, phi = stream("A B", u=[first, last]), parse(f"A ; B WITHIN {width} [u]")
        assert evaluate(phi, S) == matches_of(phi, S) == ([Match(1, (0, 1))] if last - first <= width else [])


def test_integers_at_the_ends_of_their_range(evaluate: Evaluate) -> None:
    S = stream("A A B B", u=[-(2**63), -(2**63) + 5, 2**63 - 6, 2**63 - 1])
    for width in (3, 10**30, 2**63):
        phi = parse(f"(A OR B)+ WITHIN {width} [u]")
        assert evaluate(phi, S) == matches_of(phi, S)


WIDE = {
    f"{2**63 + 2} EVENTS": 6,
    f"{10**307} EVENTS": 6,
    f"{10**307} days": 5,
    "1.7e308 [x]": 5,
    f"{10**307} [x]": 1,
    f"{2**53 + 4} [x]": 1,
    f"{2**53 + 3} [x]": 0,
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("window", WIDE)
def test_windows_may_be_wider_than_a_machine_word_or_a_float(window: str, evaluate: Evaluate) -> None:
    """2^53 + 3 is between two floats, and the values may differ by the greater one; the outermost by no float."""
    S = Stream([Event("A", {"time": value, "x": value}) for value in (-1e308, 0.0, 2.0**53 + 4, 1e308)])
    assert len(evaluate(parse(f"A ; A WITHIN {window}"), S)) == WIDE[window]


def od(node: Node | None) -> int:
    return 1 + od(node.left) if isinstance(node, CesUnion) else 0


@pytest.mark.parametrize("query", ["A ; B ; A", "(A OR B)+ ; A", "((A ; B)+ : A):+ ; B", "(A ; B) OR (B+ ; A ; B)"])
def test_the_sets_of_a_window_keep_their_invariants(query: str) -> None:
    """(1) to (3) of ces_window, what a series is, and no complex event twice; for each key, after every event."""
    A = single_variable(compile_cel(parse(query)))
    evaluation = ScopedEvaluation(Determinized(A), windowed=True)
    rng = Random(query)
    S = stream(" ".join(rng.choice("AB") for _ in range(60)), k=[rng.choice("xy") for _ in range(60)])
    low = [max(0, i - 7) for i in range(len(S))]
    for n, type_ in enumerate(classify(A.predicates, S)):
        evaluation.push(type_, key_of(("k",), S[n]), low[n])
        for series in (s for table in evaluation.T.values() for s in table.values()):
            recent = [node.latest for node in series]
            assert not isinstance(series[0], CesUnion)
            assert recent[1:] == sorted(set(recent[1:]), reverse=True)
            assert all(r <= recent[0] for r in recent)
            assert len(series) <= A.states + 1 + len(evaluation.automaton.final)
            for root in series:
                if isinstance(root, CesUnion):
                    assert not isinstance(root.left, CesUnion)
                    assert od(root.right) <= 2
                pending, seen = [root], set()
                while pending:
                    node = pending.pop()
                    if id(node) in seen:
                        continue
                    seen.add(id(node))
                    assert od(node) <= 3
                    match node:
                        case CesOutput():
                            assert isinstance(node.child, Bottom) or node.latest == node.child.latest
                            pending.append(node.child)
                        case CesUnion():
                            assert node.latest == node.left.latest
                            pending += [node.left] if node.right is None else [node.left, node.right]
                            assert node.right is None or node.right.latest <= node.latest
            listed = [tuple(o.position for o in path) for root in series for path in enumerate_(root, low)]
            assert len(listed) == len(set(listed))


def live(evaluation: ScopedEvaluation) -> int:
    seen: set[int] = set()
    pending = [node for table in evaluation.T.values() for series in table.values() for node in series]
    while pending:
        node = pending.pop()
        if id(node) not in seen:
            seen.add(id(node))
            match node:
                case CesOutput():
                    pending.append(node.child)
                case CesUnion():
                    pending += [node.left] if node.right is None else [node.left, node.right]
    return len(seen)


def test_what_is_kept_is_bounded_by_the_window() -> None:
    """Of a stream of 20,000 events and one of 60,000 as many nodes are left: those of the window, and a constant."""
    A = single_variable(compile_cel(parse("A ; B ; C")))
    most = []
    for events in (20_000, 60_000):
        evaluation = ScopedEvaluation(Determinized(A), windowed=True)
        S, kept = uniform(events), []
        for n, type_ in enumerate(classify(A.predicates, S)):
            evaluation.push(type_, (), max(0, n - 99))
            if n % 1000 == 999:
                kept.append(live(evaluation))
        most.append(max(kept))
    assert max(most) < 4000
    assert abs(most[0] - most[1]) < 1000


def test_a_formula_that_projects_its_end_away_is_not_punctual() -> None:
    assert reports_at_last_event(compile_cel(parse("(STRICT((A ; B+) : C) UNLESS D) ALL A:+")))
    assert not reports_at_last_event(compile_cel(parse("PROJECT[A](A ; B)")))
    S = stream("A B C B", k=list("xxxx"))
    for phi in map(parse, ("PROJECT[A](A ; B) WITHIN 1 EVENTS", "PROJECT[A](A ; B) PARTITION BY [k]")):
        assert streaming.matches(phi, S) == matches_of(phi, S) == [Match(1, (0,)), Match(3, (0,))]


@pytest.mark.parametrize(
    "query", ["A ; B ; C WITHIN 50 EVENTS", "A+ ; B WITHIN 12 EVENTS", "A ; B PARTITION BY [a] WITHIN 300 EVENTS"]
)
def test_counts_are_those_of_the_matches(query: str) -> None:
    S, phi = uniform(3000), parse(query)
    counted, listed = list(streaming.count_matches(phi, S)), Counter(m.at for m in compiled.matches(phi, S))
    assert counted == [listed[n] for n in range(len(S))]
    assert CompiledCelEvaluator(phi).count(S.table) == sum(counted)


def test_counts_pass_every_machine_word() -> None:
    S = stream("A " * 299 + "B")
    phi: Formula = parse("A+ ; B WITHIN 201 EVENTS")
    assert list(streaming.count_matches(phi, S))[-1] == CompiledCelEvaluator(phi).count(S.table) == 2**200 - 1


@pytest.mark.parametrize("length", sampled([4000, 20_000], [4000]))
def test_the_evaluators_give_as_much_on_a_long_stream(length: int) -> None:
    S = uniform(length)
    for query in (
        "A ; B WITHIN 40 EVENTS",
        "(A : B+) ; C PARTITION BY [a] WITHIN 400 EVENTS",
        "A ; B ; C PARTITION BY [b] PARTITION BY [c]",
    ):
        assert compiled.matches(parse(query), S) == streaming.matches(parse(query), S)


def numbered(keys: KeyTable, table: pa.Table) -> list[int]:
    encoded = keys.encode(table)
    new = encoded.unknown(slice(None))
    keys.grow(keys.size + new.size)
    keys.number(encoded, new)
    assert not encoded.unknown(slice(None)).size
    numbers: list[int] = encoded.numbers[encoded.codes].tolist()
    return numbers


def test_keys_keep_their_numbers_from_batch_to_batch() -> None:
    keys = KeyTable(("k", "m"))
    chunks = pa.chunked_array([["x", "y"], ["x", None, "x"]])
    first = numbered(keys, pa.table({"k": chunks, "m": [1.0, 1.0, 1.0, 1.0, float("nan")]}))
    second = numbered(keys, pa.table({"k": ["z", "y", "x"], "m": [1, 1, 1]}))
    assert first[0] == first[2] != first[1]
    assert first[3:] == [-1, -1]
    assert second[1:] == [first[1], first[0]]
    assert second[0] not in first
    assert numbered(keys, pa.table({"k": ["x"], "m": [True]}))[0] not in [*first, *second]
    assert numbered(keys, pa.table({"k": np.array([], object), "m": []})) == []
    keys.keep(np.array([k == first[0] for k in range(keys.size)]))
    assert numbered(keys, pa.table({"k": ["x"], "m": [1]})) == [first[0]]
    assert len(keys.free) == keys.size - 1 == 3


def test_near_knows_numbers_and_times_only() -> None:
    day = datetime(2021, 1, 1, tzinfo=UTC)
    assert within_width(1, [1, 2.0])
    assert within_width(0, [day])
    for values in ([], [1, None], [1, day], ["a"], [True], [float("nan")], [1, 2.5]):
        assert not within_width(1, values)


def test_a_clock_refuses_what_goes_back() -> None:
    range_window, _, _ = RangeWindowState("u", 5).advance(pa.table({"u": [1, 2]}), 0)
    with pytest.raises(Unordered, match="position 3"):
        range_window.advance(pa.table({"u": [2, 1]}), 2)
    with pytest.raises(Unordered, match="number"):
        range_window.advance(pa.table({"u": ["1", "2"]}).set_column(0, "u", pa.array([1.0, 2.0])), 2)


def test_events_without_effect_are_not_kept_but_their_values_must_ascend() -> None:
    E = CompiledCelEvaluator(parse("(A ; B) WITHIN 5 [u]"))
    for n in range(5):
        E.push(stream("C A C C", u=[10 * n, 10 * n + 1, 10 * n + 7, 10 * n + 8]))
        assert E.range_windows[0].positions.tolist() == [4 * n + 3]
    with pytest.raises(Unordered, match="position 20"):
        E.push(stream("C", u=[47]))
    assert E.push(stream("A C B C B", u=[48, 49, 53, 54, 55])) == [Match(22, (20, 22))]


@pytest.mark.thorough
def test_the_loops_stay_within_their_arrays() -> None:
    """Run as Python, an index out of bounds is an error; compiled, it writes over other memory."""
    queries = ["A+ WITHIN 5 EVENTS", "A+", "(A OR A:+)+ WITHIN 3 EVENTS PARTITION BY [x]"]
    program = (
        "import cerify; S = cerify.Stream([cerify.Event('A', {'x': 1})] * 6)\n"
        f"for q in {queries}:\n"
        "    assert cerify.match(q, S, evaluator='kernel') == cerify.match(q, S, evaluator='denotational'), q\n"
    )
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


# ---- counting ----
# Matches under windows are counted as many as there are, whatever the evaluator does from batch to batch.


def events(rng: Random, number: int) -> Stream:
    """Events of which a few are of types that a formula has, with attributes that are there mostly."""
    values = [{a: rng.randint(0, 2) for a in "ab" if rng.random() < 0.9} for _ in range(number)]
    return clocked(rng, Stream([Event(rng.choice("AABBCDN"), some) for some in values]))


def numbers(evaluator: CompiledCelEvaluator, S: Stream, rng: Random) -> Counter[int]:
    """The number of matches at each position; batches are counted or listed, and the state saved between them."""
    found: Counter[int] = Counter()
    while evaluator.position < len(S):
        batch = S.part(evaluator.position, rng.choice((1, 5, 20, 60)))
        if rng.random() < 0.8:
            for position, number in evaluator.numbers(batch):
                found[position] += number
        else:
            found.update(match.at for match in evaluator.push_stream(batch))
        if rng.random() < 0.2:
            saved, evaluator = evaluator.dump(), evaluator.fresh()
            evaluator.load(saved)
    return found


@pytest.mark.parametrize("part", sampled(range(20), [0]))
def test_counts_from_batch_to_batch(part: int) -> None:
    compared = 0
    for i in range(40 * part, 40 * part + 40):
        rng = Random(f"counting/{i}")
        phi, S = (
            formula(rng, PROFILES[rng.choice(("core", "everything", "typed"))], rng.randint(2, 8)),
            events(rng, 120),
        )
        for _ in range(rng.choice((1, 1, 2))):
            phi = around(rng, phi)
        try:
            expected = {n: k for n, k in enumerate(streaming.count_matches(phi, S, Budget(states=100))) if k}
            if sum(expected.values()) < 20_000:
                assert numbers(CompiledCelEvaluator(phi), S, rng) == expected
                compared += bool(expected)
        except (Unsupported, BudgetExceeded, CountingUnordered):
            continue
    assert compared > 5


@pytest.mark.parametrize("part", sampled(range(20), [0, 1]))
def test_counts_in_integers_of_any_length(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is counted where numbers pass a machine word, also where they do not."""
    monkeypatch.setattr(match_stores, "CAP", 1)
    compared = 0
    for i in range(40 * part, 40 * part + 40):
        rng = Random(f"integers/{i}")
        phi, S = formula(rng, PROFILES[rng.choice(("core", "everything"))], rng.randint(2, 8)), events(rng, 60)
        try:
            expected = {n: k for n, k in enumerate(streaming.count_matches(phi, S, Budget(states=100))) if k}
            evaluator, found = CompiledCelEvaluator(phi), Counter[int]()
        except (Unsupported, BudgetExceeded):
            continue
        if evaluator.unwindowed:
            for start in range(0, 60, 20):
                found.update(dict(evaluator.numbers(S.part(start, 20))))
            assert found == expected
            compared += bool(expected)
    assert compared > 5


QUERIES = (
    "A ; B ; C", "A+ ; B", "(A ; B) UNLESS C", "NXT(A ; B ; C)", "LAST(A ; B)", "A : B", "(A OR B) ; (B OR C)", "A",
    "(A+ ; B)+ ; C",
)  # fmt: skip


@pytest.mark.parametrize("query", QUERIES)
def test_streams_begin_inside_of_a_batch(query: str) -> None:
    rng = Random(query)
    phi, streams = (
        parse(f"{query} WITHIN 7 EVENTS"),
        [stream(" ".join(rng.choices("AABBCN", k=rng.randint(1, 30)))) for _ in range(20)],
    )
    expected, begins = Counter[int](), [0]
    for S in streams:
        expected.update({begins[-1] + n: k for n, k in enumerate(streaming.count_matches(phi, S)) if k})
        begins.append(begins[-1] + len(S))
    evaluator, found = CompiledCelEvaluator(phi), Counter[int]()
    whole = Stream([event for S in streams for event in S])
    for positions, some in evaluator.tallies(whole, begins=np.array(begins[:-1])):
        found.update(dict(zip(positions.tolist(), some.tolist(), strict=True)))
    assert found == expected


@pytest.mark.parametrize("query", QUERIES)
def test_the_run_that_has_marked_nothing_goes_on_where_it_was(query: str) -> None:
    """Also where nodes are made of the last window only: under NXT it ends with the first event that is marked."""
    phi, S = parse(f"{query} WITHIN 7 EVENTS"), stream(" ".join(Random(query).choices("AABBCN", k=200)))
    expected = {n: k for n, k in enumerate(streaming.count_matches(phi, S)) if k}
    evaluator, found = CompiledCelEvaluator(phi), Counter[int]()
    for start in range(0, 200, 50):
        evaluator.load(evaluator.dump())
        found.update(dict(evaluator.numbers(S.part(start, 50))))
    assert found == expected


def test_a_number_that_passes_a_machine_word_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Matches of 62 events and more; counted by nodes, and in the batches after that again without."""
    phi, S = parse("A+ ; B WITHIN 100 EVENTS"), stream("A " * 99 + "B " + "N " * 300 + "A B " * 100)
    expected = {n: k for n, k in enumerate(streaming.count_matches(phi, S)) if k}
    assert max(expected.values()) == 2**99 - 1
    evaluator = CompiledCelEvaluator(phi)
    assert dict(evaluator.numbers(S)) == expected
    monkeypatch.setattr(match_stores, "numbers", None)
    again = stream("N " * 100 + "A " * 40 + "B")
    assert dict(evaluator.numbers(S.part(100, 300))) == {}
    assert dict(evaluator.numbers(again)) == {len(S) + 300 + 140: 2**40 - 1}


def test_what_a_window_has_left_is_not_made_again() -> None:
    """Of all events but those of the last window there are no nodes."""
    evaluator, other = (CompiledCelEvaluator(parse("A ; B WITHIN 10 EVENTS")) for _ in range(2))
    S = stream("A B " * 500)
    assert evaluator.count(S) == len(other.push_stream(S)) == 5 * 500 - 10
    assert evaluator.counters.nodes < 20 < other.counters.nodes
    more = stream("N B A N B")
    assert evaluator.push_stream(more) == other.push_stream(more) != []
