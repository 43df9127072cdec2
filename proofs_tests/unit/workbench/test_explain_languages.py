"""Explanations of core-CEL, SASE+ and MATCH_RECOGNIZE: derivations that hold, and what is in the way of a match."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, combinations, islice
from pathlib import Path
from random import Random

import click
import pytest
from click.testing import CliRunner

from cerify import Event, Stream, cli
from cerify.api import explain as explain_api
from cerify.api import generate, preference_tree
from cerify.automata.nfab.compile import compile_query
from cerify.automata.nfab.evaluators import positions_of
from cerify.automata.nfab.moves import Runs
from cerify.commands import explain
from cerify.draw.diagram import MOST_STATES, Diagram, svg
from cerify.equivalence.generate.core_cel import CORE_CEL_PROFILES, case
from cerify.equivalence.generate.row_pattern import PROFILES as ROWS_PROFILES
from cerify.equivalence.generate.row_pattern import case as case_rows
from cerify.equivalence.generate.sase import PROFILES
from cerify.equivalence.generate.sase import case as case_sase
from cerify.explanations.core_cel import CoreDerivation, CoreExplainer, CoreFound, derivations, miscounted, reasons
from cerify.explanations.explanation import Listing, Request, explanation_lines, render
from cerify.explanations.row_pattern import RowRejection
from cerify.explanations.sase import Accepted, NoMatch, SaseExplainer, SaseRuns, as_json
from cerify.languages import LANGUAGES
from cerify.semantics.arguments import Budget
from cerify.semantics.core_cel import denote
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.check import variables
from cerify.semantics.core_cel.interpreter import CoreInterpreter, matches_of
from cerify.semantics.core_cel.parse import parse
from cerify.semantics.errors import BudgetExceeded, InputError, Unsupported
from cerify.semantics.predicates import satisfied
from cerify.semantics.readings import STANDARD
from cerify.semantics.row_pattern.denote import Meaning, visible_rows
from cerify.semantics.row_pattern.interpreter import RowOutput, RowStepBudget, find_matches
from cerify.semantics.row_pattern.syntax import MatchRecognize, show
from cerify.semantics.sase import clauses
from cerify.semantics.sase import denote as denote_sase
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.check import problems
from cerify.semantics.sase.denote import value_of
from cerify.semantics.sase.parse import parse as parse_sase
from cerify.semantics.sase.syntax import show_conjunct
from cerify.semantics.trees import children, rebuilt
from proofs_tests.support import sampled
from proofs_tests.unit.semantics.row_tables import numbered
from proofs_tests.unit.semantics.sase_cases import EXAMPLES, events
from proofs_tests.unit.workbench.test_html import HOSTILE, Outline

# ---- explain core cel ----
# Explanations of core-CEL: derivations hold clause by clause, and what is in the way is named.

FARM = Stream(
    Event(R, {"id": id_, "tmp" if R == "T" else "hum": value})
    for R, id_, value in (("T", 0, 45), ("H", 0, 20), ("H", 1, 25), ("T", 1, 40), ("T", 0, 42), ("H", 1, 70))
)


def holds(node: CoreDerivation, phi: core.Formula, S: Stream) -> bool:
    """Whether the clause of the step's formula gives its complex event, by the definition without memory."""

    def under(psi: core.Formula, nu: denote.Valuation, i: int) -> denote.ComplexEvents:
        return frozenset(denote.clause(psi, S, nu, i, under)) if i < len(S) else denote.NONE

    anywhere = frozenset((x, 0) for x in variables(phi) - {x for x, _ in node.nu})
    return node.C in under(node.formula, node.nu | anywhere, min(node.C))


def nodes(root: CoreDerivation) -> list[CoreDerivation]:
    return [root, *(below for child in root.children for below in nodes(child))]


def bare(phi: core.Formula) -> core.Formula:
    """The formula without its conditions and strategies."""
    below = [bare(child) for child in children(phi)]
    return below[0] if isinstance(phi, core.CoreFilter | core.Strategy) else rebuilt(phi, below)


@pytest.mark.parametrize("cases", sampled([20, 40], [20]))
@pytest.mark.parametrize("profile", CORE_CEL_PROFILES)
def test_every_match_has_a_derivation_and_every_other_set_a_reason(profile: str, cases: int) -> None:
    rng = Random(profile)
    derived = rejected = 0
    for _ in range(cases):
        phi, S = case(rng, CORE_CEL_PROFILES[profile], 6, 4)
        if len(variables(phi)) > 4:
            continue
        found = {frozenset(m.events) for m in matches_of(phi, S)}
        oracle = CoreInterpreter(S)
        for C in sorted(found, key=sorted)[:4]:
            root = next(derivations(phi, C, oracle))
            assert (root.formula, root.C) == (phi, C)
            assert all(holds(node, phi, S) for node in nodes(root))
            derived += 1
        possible = {frozenset(m.events) for m in matches_of(bare(phi), S)}
        for size in range(1, len(S) + 1):
            for C in islice(map(frozenset, combinations(range(len(S)), size)), 4):
                if C not in found:
                    assert bool(reasons(phi, C, S)) == (C in possible), (phi, C)
                    assert miscounted(phi, C) is None or C not in possible, (phi, C)
                    rejected += 1
    assert derived > cases / 4
    assert rejected > 2.5 * cases


@pytest.mark.parametrize(
    ("query", "C", "reason"),
    [
        ("(T AS x ; H AS y) FILTER x.tmp > 40 AND x.id = y.id", {3, 5}, "x.tmp > 40 is false: x is event 3 (tmp = 40)"),
        ("T AS x ; (H AS y FILTER y.id = x.id)+", {0, 1, 2}, "y.id = x.id is false: y is event 2 (id = 1), x is"),
        ("NXT(T AS x ; H AS y)", {3, 5}, "NXT prefers {0, 5} to {3, 5}, because of 0, the first"),
        ("MAX(T AS x ; (H AS y)+)", {0, 2}, "MAX prefers {0, 1, 2} to {0, 2}, a subset of it"),
        ("STRICT(T AS x ; H AS y)", {0, 2}, "STRICT requires consecutive events: between 0 and 2, the match"),
        ("(T AS x ; H AS y) FILTER x.tmp > 40", {0, 1, 2}, "there are too many events: a match has 2, not 3"),
        ("T AS x ; (H AS y OR (H AS y ; T AS z))", {0}, "there are too few events: a match has 2 to 3, not 1"),
        ("T AS x ; (H AS y)+", {0}, "there are too few events: a match has 2 or more, not 1"),
        ("H AS x", {0}, "even without its conditions and strategies, the formula does not match these events"),
    ],
)  # fmt: skip
def test_what_is_in_the_way_is_named(query: str, C: set[int], reason: str) -> None:
    """Of an iteration in the round that breaks the condition."""
    phi = parse(query)
    explainer = CoreExplainer(phi, matches_of(phi, FARM), FARM, query)
    found = explainer.explain_request(Request(frozenset(C)))
    assert isinstance(found, CoreFound)
    (why,) = found.reasons
    assert why.startswith(reason)
    assert any(why in line.text for line in explanation_lines(explainer, found))


def test_beyond_the_budget_a_match_is_still_said_to_be_one() -> None:
    phi = parse("T AS x ; H AS y")
    explainer = CoreExplainer(phi, matches_of(phi, FARM), FARM, "T AS x ; H AS y")
    explainer.oracle = CoreInterpreter(FARM, Budget(valuations=2))
    found = explainer.explain_request(Request(frozenset({0, 1})))
    assert isinstance(found, CoreFound)
    assert found.match
    assert "more than 2 valuations" in found.reasons[0]


# ---- explain sase ----
# Explanations of SASE+: runs that the automaton has, and for what is no match the step that no run can make.

RISING = (
    "PATTERN SEQ(A+ a[], B b) WHERE skip_till_next_match(a[]!, b) { a[i].x > a[i-1].x and b.x < a[a.LEN].x } RETURN b.x"
)


def asked(query: str, S: Stream | str, places: set[int]) -> Accepted | NoMatch:
    return SaseRuns(parse_sase(query), events(S) if isinstance(S, str) else S).explain(frozenset(places))


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
         "~C c: event 1 is forbidden, C", ""),
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
        q, S = case_sase(rng, PROFILES["everything"], 6, 6)
        if not isinstance(q, sase.SaseQuery) or q.returned.non_overlap:
            continue
        known = SaseRuns(q, S)
        alone: dict[tuple[int, ...], set[str]] = {}
        for text, less in with_one_condition_less(q):
            for M in denote_sase.bindings(less, S):
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
    found = list(SaseRuns(parse_sase(text), S).all())
    assert len(found) == len(results)
    assert all(one.runs for one in found)


@pytest.mark.parametrize("cases", sampled([25, 60], [25]))
def test_every_set_of_events_is_a_match_with_a_run_of_the_automaton_or_has_a_reason(cases: int) -> None:
    rng, matched, refused = Random(5), 0, 0
    for _ in range(cases):
        q, S = case_sase(rng, PROFILES["everything"], 8, 6)
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
    with pytest.raises(InputError, match="never empty"):
        asked(RISING, "A1 B0", set())


def test_json_has_the_steps() -> None:
    q = parse_sase(RISING)
    found = as_json(SaseRuns(q, events("A1 B0")).explain(frozenset({0, 1})), q)
    assert json.loads(json.dumps(found)) == found
    assert [step["move"] for step in found["runs"][0]] == ["begin", "proceed", "begin"]
    assert found["bindings"] == {"a": [0], "b": [1]}


def test_the_page_shows_text_as_text() -> None:
    S = Stream([Event("A", {"x": 1, "s": HOSTILE}), Event("B", {"x": 0, "s": HOSTILE})])
    known = SaseExplainer(parse_sase(RISING), S, RISING)
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


# ---- preference tree ----
# The tree of labellings: its ends are the labellings of the definition in their order, its other leaves say why.


def tree(clause: str, values: str, row: int = 0) -> Diagram:
    return preference_tree(f"MATCH_RECOGNIZE ({clause})", numbered(values, "x"), row)


def leaves(diagram: Diagram) -> list[str]:
    """From the first to the last: the labels on the way to a leaf, and the lines beside its arrow."""
    found, pending = [], [(0, "")]
    while pending:
        state, way = pending.pop()
        below = [edge for edge in diagram.edges if edge.source == state]
        pending += [(edge.target, f"{way} {diagram.states[edge.target].name}") for edge in reversed(below)]
        if not below:
            lines = (line for edge in diagram.edges if edge.target == state for line in edge.lines)
            found.append(": ".join((way.strip(), *lines)))
    return found


@pytest.mark.parametrize("seeds", sampled([40, 150], [40]))
@pytest.mark.parametrize("profile", ROWS_PROFILES)
def test_the_ends_are_the_labellings_of_the_definition(profile: str, seeds: int) -> None:
    compared = 0
    for seed in range(seeds):
        q, S = case_rows(Random(f"{profile} {seed}"), ROWS_PROFILES[profile], 5, 4)
        q = replace(q, longest=False)
        if not S:
            continue
        found = preference_tree(show(q), S, 0)
        if any("Not drawn" in note for note in found.notes):
            continue
        made = RowOutput(q, S)
        partition, s = made.place[0]
        visible = visible_rows(made.q, s, len(partition))
        if s == 0:
            at_row = Meaning(made.q, partition, s, visible, 1, STANDARD, RowStepBudget(20_000))
            labellings = at_row.labellings(made.q.pattern, ())
            expected = [" ".join((*(one.variable for one in w), str(n))) for n, w in enumerate(labellings, 1)]
            assert [leaf for leaf in leaves(found) if leaf[-1:].isdigit() and ":" not in leaf] == expected
            compared += bool(expected)
    assert compared > seeds // 8


def test_why_what_is_preferred_fails() -> None:
    falls = "DEFINE UP AS x > PREV(x), DOWN AS x < PREV(x), TOP AS x > 4"
    found = tree(f"PATTERN ((UP | DOWN)+ TOP) {falls}", "2 3 5", 1)
    assert leaves(found) == [
        "UP UP UP: there is no row",
        "UP UP DOWN: there is no row",
        "UP UP TOP: there is no row",
        "UP DOWN: row 2: x < PREV(x) is false, where x is 5, PREV(x) is 3",
        "UP TOP 1",
        "DOWN: row 1: x < PREV(x) is false, where x is 3, PREV(x) is 2",
    ]
    assert [(edge.lines, edge.kind) for edge in found.edges if edge.kind == "match"] == [
        (("row 1",), "match"),
        (("row 2",), "match"),
    ]
    assert [state.name for state in found.states if state.final] == ["1"]


def test_a_label_that_is_tried_again_later_has_a_node_of_its_own() -> None:
    assert leaves(tree("PATTERN (A B | C | A D)", "1 1")) == ["A B 1", "C 2", "A D 3"]
    assert leaves(tree("PATTERN (A B | A | A C)", "1 1")) == ["A B 1", "A 2", "A C 3"]
    assert leaves(tree("PATTERN (A? $)", "1 1")) == ["A: row 0: nothing can follow"]
    assert leaves(tree("PATTERN (A) DEFINE A AS x > 0", ".")) == ["A: row 0: x > 0 is unknown, where x is NULL"]


def test_what_is_too_much_is_counted_and_the_match_is_there() -> None:
    found = tree("PATTERN ((A | B | C)* D) DEFINE D AS COUNT(*) = 2", "1 1 1 1 1 1")
    assert "A D 1" in leaves(found)
    assert len(found.states) <= MOST_STATES
    assert "more attempts and" in found.notes[-1]
    assert "ordering" not in svg(found)
    endless = tree("PATTERN ((A | B | C)* D) DEFINE D AS x = 2", " ".join("1" * 14))
    assert "at least" in endless.notes[-1]
    assert "no match begins there" in endless.notes[-2]
    with pytest.raises(BudgetExceeded, match="the match at row 0 has 40 rows"):
        tree("PATTERN (A+)", " ".join("1" * 40))


def test_the_number_of_the_match_is_that_of_a_search_there() -> None:
    numbers = "AFTER MATCH SKIP TO NEXT ROW PATTERN (A) DEFINE A AS MATCH_NUMBER() = 2"
    assert leaves(tree(numbers, "1 1")) == ["A: row 0: MATCH_NUMBER() = 2 is false, where MATCH_NUMBER() is 1"]
    assert leaves(tree("AFTER MATCH SKIP TO A PATTERN (A) DEFINE A AS MATCH_NUMBER() = 2", "1 1", 1))


def test_what_has_no_tree() -> None:
    with pytest.raises(InputError, match="no row 2: the table has 2 rows"):
        tree("PATTERN (A)", "1 1", 2)
    with pytest.raises(Unsupported, match="has no order of preference"):
        preference_tree("A ; B", [Event("A")], 0, "cel")


def run_preference_tree(folder: Path, *arguments: str) -> str:
    (folder / "x.csv").write_text("x\n3\n2\n", encoding="utf-8")
    query = "MATCH_RECOGNIZE (PATTERN (A B | A) DEFINE B AS x > 2)"
    options = (query, *arguments, "--language", "row-pattern")
    return CliRunner().invoke(explain.draw_command, options, catch_exceptions=False, standalone_mode=False).output


def test_the_command_draws_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = run_preference_tree(tmp_path, "x.csv", "--tree", "0", "--dot")
    assert "ordering=out;" in text
    assert 'label="row 1: x > 2 is false, where x is 2", style=dashed' in text
    assert run_preference_tree(tmp_path, "x.csv", "--tree", "0", "-o", "t.svg") == "t.svg: 4 nodes, 3 branches\n"
    drawn = (tmp_path / "t.svg").read_text(encoding="utf-8")
    assert "the row cannot have this label" in drawn
    assert "Nodes: " in drawn
    assert "States: " not in drawn
    for options in (["--tree", "0", "--svg"], ["x.csv", "--tree", "0", "--hoa"]):
        with pytest.raises(click.UsageError, match="--tree needs FILE"):
            run_preference_tree(tmp_path, *options)


# ---- row rejection ----
# That a match is called preferred to rows exactly where they can be labelled, against all labellings there are.

BLOCK = 40  # random clauses of one test


@pytest.mark.parametrize("block", sampled(range(20), [0]))
def test_another_match_is_preferred_only_to_rows_that_can_be_labelled(block: int) -> None:
    seen = set()
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        q, S = generate("row-pattern", seed=seed)
        assert isinstance(q, MatchRecognize)
        made = RowOutput(q, S)
        rejection = RowRejection(made, sorted(find_matches(q, S)))
        matches = {m.events for m in rejection.matches}
        for places in made.partitions:
            for i, j in combinations(range(len(places) + 1), 2):
                C = tuple(places[i:j])
                if C in matches:
                    continue
                before = [m.match_number for m in rejection.matches if made.row_of(m) in places[:i]]
                P, number = made.place[C[0]][0], max(before, default=0) + 1
                meaning = Meaning(made.q, P, i, range(len(P)), number, STANDARD, RowStepBudget(1_000_000))
                possible = any(len(w) == len(C) for w in meaning.labellings(made.q.pattern, ()))
                first = rejection.reasons(frozenset(C), None)[0]
                assert ("comes before" in first or "no search begins" in first) == possible, (seed, C)
                seen.add(possible)
    assert seen == {False, True}


def test_rows_of_windows_have_reasons_too() -> None:
    for seed in range(BLOCK):
        q, S = generate("row-pattern", seed=seed, profile="windows", events=6)
        assert isinstance(q, MatchRecognize)
        made = RowOutput(q, S)
        rejection = RowRejection(made, sorted(find_matches(q, S)))
        for at in range(len(S)):
            for C in (frozenset({at}), frozenset({at, at + 1}) & made.place.keys()):
                if all(frozenset(m.events) != C or m.at != at for m in rejection.matches):
                    assert all(rejection.reasons(C, at))


def test_nearest_matches_have_a_row_in_common() -> None:
    table = [{"x": x} for x in (90, 80, 70, 80, 90, 50, 40, 60)]
    query = "MATCH_RECOGNIZE (PATTERN (A+) DEFINE A AS SUM(A.x) < 200)"
    found = explain_api(query, table, [0, 1, 2], language="row-pattern")
    assert [m.events for m in found.near] == [(0, 1), (2, 3)]
    alone = explain_api(query.replace("< 200", "> 200 OR x = 60"), table, [0], language="row-pattern")
    assert not alone.near


@pytest.mark.parametrize(
    ("name", "query", "none"),
    [
        ("eql", "sequence [A where true] [B where true]", ["none: no match has any of these events"]),
        ("core-cel", "A AS x ; B AS y", ["none: no match has any of these events"]),
        ("funnel", "FUNNEL A, B WITHIN 5 [time]", ["none: no match has any of these events"]),
        (
            "row-pattern",
            "MATCH_RECOGNIZE (PATTERN (A B) DEFINE A AS x = 1, B AS x = 2)",
            ["none: no match has any of these rows"],
        ),
        ("sase", "PATTERN SEQ(A a, B b)", []),
    ],
)
def test_the_nearest_matches_share_an_event_with_the_given_ones(name: str, query: str, none: list[str]) -> None:
    """A match that shares no event says nothing about these events, even if it differs in fewer."""
    language = LANGUAGES[name]
    S = Stream([Event(type_, {"time": n, "x": "CAB".index(type_)}) for n, type_ in enumerate("CCCCCCCAB")])
    explainer = language.explanations.explainer(language.syntax.parse(query), S, query)

    def near(*places: int) -> list[str]:
        found = explainer.explain_request(Request(events=frozenset(places)))
        assert found is not None
        lines = [line.text.strip() for line in explanation_lines(explainer, found)]
        return lines[lines.index("nearest matches") + 1 :] if "nearest matches" in lines else []

    assert near(0) == none
    assert near(0, 1, 2, 3, 4, 5, 7) == ["{7, 8}: with 8 and without 0, 1, 2, 3, 4, 5"]
