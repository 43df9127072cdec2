"""Explanations of SASE+: runs that the automaton has, and for what is no match the step that no run can make."""

import json
from itertools import chain, combinations
from pathlib import Path
from random import Random

import pytest

from cerify import cli
from cerify.automata.nfab.compile import compile_query
from cerify.automata.nfab.moves import Runs
from cerify.equivalence.generate.sase import case
from cerify.equivalence.generate.sase_profiles import PROFILES
from cerify.explanations.explainer import Listing
from cerify.explanations.html import render
from cerify.explanations.sase import Accepted, Explainer, NoMatch
from cerify.explanations.sase_explainer import SaseExplainer, as_json
from cerify.semantics.errors import InputError
from cerify.semantics.events import Event, Stream
from cerify.semantics.sase.parse import parse
from proofs_tests.unit.semantics.sase.examples import EXAMPLES
from proofs_tests.unit.semantics.sase.streams import events
from proofs_tests.unit.workbench.test_html import HOSTILE, Outline

RISING = (
    "PATTERN SEQ(A+ a[], B b) WHERE skip_till_next_match(a[]!, b) { a[i].x > a[i-1].x and b.x < a[a.LEN].x } RETURN b.x"
)


def asked(query: str, S: Stream | str, places: set[int]) -> Accepted | NoMatch:
    return Explainer(parse(query), events(S) if isinstance(S, str) else S).explain(frozenset(places))


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
         "event 1 cannot be skipped while b is awaited (strict_contiguity)", "never"),
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


def test_the_nearest_matches_are_those_with_most_in_common() -> None:
    found = asked(RISING, "A1 A2 B1 A0 B0", {0, 2})
    assert isinstance(found, NoMatch)
    assert found.nearest[0] == (0, 1, 2)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_match_of_the_printed_queries_has_a_run(name: str) -> None:
    text, S, results = EXAMPLES[name]
    found = list(Explainer(parse(text), S).all())
    assert len(found) == len(results)
    assert all(one.runs for one in found)


def test_every_set_of_events_is_a_match_with_a_run_of_the_automaton_or_has_a_reason() -> None:
    rng, matched, refused = Random(5), 0, 0
    for _ in range(60):
        q, S = case(rng, PROFILES["everything"], 8, 6)
        known = Explainer(q, S)
        runs = Runs(compile_query(q), S)
        matches = {m.events for m in known.matches}
        for places in chain.from_iterable(combinations(range(len(S)), n) for n in (1, 2, 3)):
            found = known.explain(frozenset(places))
            assert isinstance(found, Accepted) == (places in matches)
            if isinstance(found, Accepted):
                matched += 1
                real = [[(s.move, s.state.name, s.at) for s in run.steps] for run in runs.of(found.bindings)]
                assert [(s.move, s.state, s.at) for s in found.runs[0]] in real
            else:
                refused += 1
                assert found.failures
    assert matched > 30
    assert refused > 300


def test_positions_beyond_the_stream_are_an_error() -> None:
    with pytest.raises(InputError, match="position 7"):
        asked(RISING, "A1 B0", {0, 7})
    with pytest.raises(InputError, match="at least one event"):
        asked(RISING, "A1 B0", set())


def test_json_has_the_steps() -> None:
    q = parse(RISING)
    found = as_json(Explainer(q, events("A1 B0")).explain(frozenset({0, 1})), q)
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
