"""Explanations of SASE+: runs that the automaton has, and for what is no match the step that no run can make."""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, combinations
from pathlib import Path
from random import Random

import pytest

from cerify import cli
from cerify.automata.nfab.compile import compile_query
from cerify.automata.nfab.evaluators import positions_of
from cerify.automata.nfab.moves import Runs
from cerify.equivalence.generate.sase import PROFILES, case
from cerify.explanations.explanation import Listing, render
from cerify.explanations.sase import Accepted, NoMatch, SaseExplainer, SaseRuns, as_json
from cerify.semantics.errors import InputError
from cerify.semantics.events import Event, Stream
from cerify.semantics.predicates import satisfied
from cerify.semantics.sase import clauses, denote
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.check import problems
from cerify.semantics.sase.denote import value_of
from cerify.semantics.sase.parse import parse
from cerify.semantics.sase.syntax import show_conjunct
from proofs_tests.support import sampled
from proofs_tests.unit.semantics.sase.examples import EXAMPLES
from proofs_tests.unit.semantics.sase.streams import events
from proofs_tests.unit.workbench.test_html import HOSTILE, Outline

RISING = (
    "PATTERN SEQ(A+ a[], B b) WHERE skip_till_next_match(a[]!, b) { a[i].x > a[i-1].x and b.x < a[a.LEN].x } RETURN b.x"
)


def asked(query: str, S: Stream | str, places: set[int]) -> Accepted | NoMatch:
    return SaseRuns(parse(query), events(S) if isinstance(S, str) else S).explain(frozenset(places))


def failure(query: str, S: str, places: set[int]) -> tuple[str, tuple[str, ...]]:
    found = asked(query, S, places)
    assert isinstance(found, NoMatch)
    (reason,) = found.failures
    return reason.text, reason.because


def test_a_match_is_told_step_by_step() -> None:
    found = asked(RISING, "A1 C A2 B1", {0, 2, 3})
    assert isinstance(found, Accepted)
    ((*steps,),) = found.runs
    assert [(s.move, s.state, s.at) for s in steps] == [
        ("begin", "a[1]", 0),
        ("ignore", "a[i]", 1),
        ("take", "a[i]", 2),
        ("proceed", "a[i]", 3),
        ("begin", "b", 3),
    ]
    assert steps[2].because[-1] == "a[i].x > a[i-1].x holds: a[i].x is 2, a[i-1].x is 1"


@pytest.mark.parametrize(
    ("query", "S", "places", "text", "because"),
    [
        (RISING, "A1 A2 B1", {0, 2}, "event 1 cannot be skipped while a[i] is awaited (skip_till_next_match)", "holds"),
        (RISING, "A2 A1 B0", {0, 1, 2}, "event 1 cannot be selected for a[i]", "a[i].x is 1, a[i-1].x is 2"),
        (RISING, "A1 B0", {0}, "a match of SEQ(A+ a[], B b) has at least 2 events, not 1", ""),
        ("PATTERN SEQ(A a, B b) WITHIN 2 seconds RETURN a.x", "A@0 B@2", {0, 1}, "event 1 cannot be selected for b",
         "event 1 is not within 2 seconds of event 0"),
        ("PATTERN SEQ(A a, ~C c, B b) RETURN a.x", "A C B", {0, 2},
         "~C c: something of the kind is among {1}", ""),
        ("PATTERN SEQ(A a, B b) HAVING a.x > b.x RETURN a.x", "A1 B2", {0, 1}, "HAVING a.x > b.x does not hold", ""),
        ("PATTERN SEQ(A a, B b) WHERE strict_contiguity(a, b) { } RETURN a.x", "A C B", {0, 2},
         "event 1 cannot be skipped while b is awaited (strict_contiguity)", "no event may be skipped"),
        ("PATTERN SEQ(A+ a[]) WHERE a[a.LEN].x = 2 RETURN count(a[])", "A1 A1", {0},
         "a[] cannot be left at event 1", "a[a.LEN].x = 2 does not hold: a[a.LEN].x is 1"),
        ("PATTERN SEQ(A a, B b) WHERE skip_till_any_match(a, b) { } RETURN NON-OVERLAP r(a.x AS x)", "A A B", {1, 2},
         "NON-OVERLAP: another match that overlaps it is output", ""),
    ],
)  # fmt: skip
def test_what_is_no_match_is_told_by_the_step_that_fails(
    query: str, S: str, places: set[int], text: str, because: str
) -> None:
    told, facts = failure(query, S, places)
    assert told == text
    assert because in (facts[-1] if facts else "")


HOT = "PATTERN SEQ(T+ t[], H h) WHERE {} {{ t[i].x > 40 and h.x <= 25 }} RETURN h.x"
ANY = HOT.format("skip_till_any_match(t[], h)")
NEXT = HOT.format("skip_till_next_match(t[]!, h)")


def test_the_run_shown_is_one_that_could_bind_the_events() -> None:
    """The run that leaves t[] at event 1 cannot select event 2 for it any more."""
    text, facts = failure(ANY, "T45 H20 T30 T41 H22 H60", {0, 2, 4})
    assert text == "event 2 cannot be selected for t[i]"
    assert facts == ("t[i].x > 40 does not hold: t[i].x is 30",)


def test_of_the_ways_to_bind_the_events_those_that_come_farthest_are_shown() -> None:
    """With a = {0, 1} both of a are selected; with a = 0 the run leaves a[] before it fails at the same event."""
    query = "PATTERN SEQ(A+ a[], B+ b[]) WHERE skip_till_any_match(a[], b[]) { } RETURN count(a[])"
    found = asked(query, "A A C B", {0, 1, 2, 3})
    assert isinstance(found, NoMatch)
    assert [f.bindings for f in found.failures] == [(("a", (0, 1)), ("b", (2, 3))), (("a", (0, 1, 2)), ("b", (3,)))]


def test_the_next_component_is_named_if_its_condition_fails() -> None:
    """Also where t[] can be left only with the event that fails."""
    for query, S, places in ((ANY, "T45 H20 T30 T41 H22 H60", {0, 3, 5}), (NEXT, "T45 T41 H60", {0, 1, 2})):
        text, facts = failure(query, S, places)
        assert text == f"event {max(places)} cannot be selected for h"
        assert facts == ("h.x <= 25 does not hold: h.x is 60",)


def test_an_event_that_is_skipped_though_it_fits_is_described_so() -> None:
    query = "PATTERN SEQ(A a, B+ b[]) WHERE skip_till_any_match(a, b[]) { b[i].x > 1 } RETURN a.x"
    found = asked(query, "A B2 B1 B3 B4 B1 B5", {0, 3, 6})
    assert isinstance(found, Accepted)
    assert [step.text for step in found.runs[0] if step.move == "ignore"] == [
        "skip event 1, which could be selected for b[1] (skip_till_any_match)",
        "skip event 2, awaiting b[1] (skip_till_any_match)",
        "skip event 4, which could be selected for b[i] (skip_till_any_match)",
        "skip event 5, awaiting b[i] (skip_till_any_match)",
    ]


@pytest.mark.parametrize(
    ("query", "S", "places", "expected"),
    [
        (ANY, "T45 H20 T30 T41 H22 H60", {0, 2, 4}, ["t[i].x > 40"]),
        (ANY, "T45 H20 T30 T41 H22 H60", {2, 5}, ["t[i].x > 40", "h.x <= 25"]),
        ("PATTERN SEQ(B+ a[], B+ b[]) WHERE skip_till_any_match(a[], b[]!) { a[i].x <= a[i-1].x } RETURN a[].x",
         "B1 B2 B1 B0 A", {0, 1, 2}, ["a[i].x <= a[i-1].x"]),
        (ANY, "T45 H20", {0}, []),
        (ANY, "T45 H20 H20", {1, 2}, []),
        (NEXT, "T45 H20 T41 H22", {0, 2, 3}, ["the ! of t[]!"]),
        ("PATTERN SEQ(A a, B b) RETURN a.x", "A B B", {0, 2},
         ["skip_till_next_match(b), with skip_till_any_match in its place"]),
        ("PATTERN SEQ(A a, B b) WITHIN 2 seconds RETURN a.x", "A@0 B@2", {0, 1}, ["WITHIN 2 seconds"]),
        ("PATTERN SEQ(A a, ~C c, B b) WHERE c.x > a.x RETURN a.x", "A1 C2 B1", {0, 2}, ["~C c"]),
        ("PATTERN SEQ(A a, B b) WHERE [x] HAVING a.x > b.x RETURN a.x", "A1 B2", {0, 1}, ["[x]", "HAVING a.x > b.x"]),
        ("PATTERN SEQ(A a, B b) WHERE a.x > 1 RETURN NON-OVERLAP r(a.x AS x)", "A1 B2", {0, 1}, []),
    ],
)  # fmt: skip
def test_a_smallest_set_of_restrictions_in_the_way(query: str, S: str, places: set[int], expected: list[str]) -> None:
    found = asked(query, S, places)
    assert isinstance(found, NoMatch)
    assert list(found.in_the_way) == expected


def test_of_a_program_what_is_in_the_way_in_the_query_asked() -> None:
    query = (
        "PATTERN SEQ(A a) RETURN r(a.x AS x) IN STREAM s; FROM s PATTERN SEQ(r+ a[]) WHERE a[i].x > 1 RETURN count(a[])"
    )
    found = asked(query, "A1 A2", {0, 1})
    assert isinstance(found, NoMatch)
    assert found.in_the_way == ("a[i].x > 1",)


def with_one_condition_less(q: sase.SaseQuery) -> Iterator[tuple[str, sase.SaseQuery]]:
    """Each condition of what is bound, and the query without it, where that is well-formed."""
    for c in clauses.conjuncts(q):
        if isinstance(c.condition, sase.Equivalence) or clauses.variables(c.condition).isdisjoint(clauses.negated(q)):
            blocks = (replace(b, conjuncts=tuple(d for d in b.conjuncts if d is not c)) for b in q.where)
            less = replace(q, where=tuple(blocks))
            if not problems(less):
                yield show_conjunct(c), less


def test_a_condition_that_alone_keeps_the_events_from_a_match_is_named() -> None:
    """By the definition: of the query without the condition the events are a match."""
    rng, named = Random(27), 0
    for _ in range(60):
        q, S = case(rng, PROFILES["everything"], 6, 6)
        if not isinstance(q, sase.SaseQuery) or q.returned.non_overlap:
            continue
        known = SaseRuns(q, S)
        alone: dict[tuple[int, ...], set[str]] = {}
        for text, less in with_one_condition_less(q):
            for M in denote.bindings(less, S):
                if less.having is None or satisfied(less.having, value_of(dict(M), S, {})):
                    alone.setdefault(positions_of(M), set()).add(text)
        for places, conditions in alone.items():
            found = known.explain(frozenset(places))
            if isinstance(found, NoMatch):
                named += 1
                assert found.in_the_way in {(one,) for one in conditions}
    assert named > 30


def test_the_nearest_matches_are_those_with_most_in_common() -> None:
    found = asked(RISING, "A1 A2 B1 A0 B0", {0, 2})
    assert isinstance(found, NoMatch)
    assert found.nearest[0] == (0, 1, 2)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_match_of_the_printed_queries_has_a_run(name: str) -> None:
    text, S, results = EXAMPLES[name]
    found = list(SaseRuns(parse(text), S).all())
    assert len(found) == len(results)
    assert all(one.runs for one in found)


@pytest.mark.parametrize("cases", sampled([25, 60], [25]))
def test_every_set_of_events_is_a_match_with_a_run_of_the_automaton_or_has_a_reason(cases: int) -> None:
    rng, matched, refused = Random(5), 0, 0
    for _ in range(cases):
        q, S = case(rng, PROFILES["everything"], 8, 6)
        known = SaseRuns(q, S)
        runs = Runs(compile_query(q), S)
        matches = {m.events for m in known.matches}
        for places in chain.from_iterable(combinations(range(len(S)), n) for n in (1, 2, 3)):
            found = known.explain(frozenset(places))
            assert isinstance(found, Accepted) == (places in matches)
            if isinstance(found, Accepted):
                matched += 1
                real = [[(s.move, s.state.name, s.at) for s in run.steps] for run in runs.find_runs(found.bindings)]
                assert [(s.move, s.state, s.at) for s in found.runs[0]] in real
            else:
                refused += 1
                assert found.failures
    assert matched > cases / 2
    assert refused > 5 * cases


def test_positions_beyond_the_stream_are_an_error() -> None:
    with pytest.raises(InputError, match="position 7"):
        asked(RISING, "A1 B0", {0, 7})
    with pytest.raises(InputError, match="at least one event"):
        asked(RISING, "A1 B0", set())


def test_json_has_the_steps() -> None:
    q = parse(RISING)
    found = as_json(SaseRuns(q, events("A1 B0")).explain(frozenset({0, 1})), q)
    assert json.loads(json.dumps(found)) == found
    assert [step["move"] for step in found["runs"][0]] == ["begin", "proceed", "begin"]
    assert found["bindings"] == {"a": [0], "b": [1]}


def test_the_page_shows_text_as_text() -> None:
    S = Stream([Event("A", {"x": 1, "s": HOSTILE}), Event("B", {"x": 0, "s": HOSTILE})])
    known = SaseExplainer(parse(RISING), S, RISING)
    matches = [*known.runs.all()]
    whole = Listing(matches, False, 0, len(S) - 1)
    for text in (render(known, matches, whole), render(known, [known.runs.explain(frozenset({0}))], None)):
        assert HOSTILE not in text
        Outline(text)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    """Runs `cerify explain --language sase` on A1 A2 B1: its exit status and output."""
    file = tmp_path / "s.jsonl"
    file.write_text('{"type": "A", "x": 1}\n{"type": "A", "x": 2}\n{"type": "B", "x": 1}\n', encoding="utf-8")

    def run(*options: str) -> tuple[object, str]:
        monkeypatch.setattr("sys.argv", ["cerify", "explain", "--language", "sase", RISING, str(file), *options])
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        return exit_.value.code, capsys.readouterr().out

    return run


def test_the_command_explains(run, tmp_path: Path) -> None:
    status, out = run("--match", "0,1,2")
    assert status == 0
    assert "{0, 1, 2} is a match at 2: a = {0, 1}, b = 2" in out
    status, out = run("--match", "0,2", "--html", str(tmp_path / "x.html"))
    assert status == 1
    assert "event 1 cannot be skipped" in out
    assert "cannot be skipped" in (tmp_path / "x.html").read_text(encoding="utf-8")
    status, out = run("--valuation", '{"a": [1], "b": [2]}', "--json")
    assert (status, json.loads(out)["events"]) == (0, [1, 2])
    status, out = run()
    assert (status, out.count("is a match")) == (0, 2)
    assert run("--match", "0,1,2", "--at", "1")[0] == 2
