"""Stored runs: a baseline, a trend, a badge, JUnit, and policies."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from cerify import conform
from cerify.cli import cerify
from cerify.commands import conform as trend_command
from cerify.conformance.model import Case, CaseResult, Defect, DefectCause, Report
from cerify.conformance.oracle import read_policies, read_policy
from cerify.conformance.report import (
    against,
    axis_says,
    badge,
    defect_text,
    issue_text,
    junit,
    read_stored,
    render,
    report_lines,
    summary,
    trend,
)
from cerify.semantics.errors import InputError
from cerify.semantics.events import Match
from proofs_tests.conftest import Run

CASE = Case("c1", "seq", "clause", "cel", "A ; B", None, [{"type": "A"}], "matches", [Match(1, (0, 1))])
WRONG = CaseResult(CASE, "failed", [Match(0, (0,))], stderr="a line of the engine")
RIGHT = CaseResult(replace(CASE, id="c2"), "passed", CASE.matches)
DEFECT = Defect("d1", "missing", ("seq",), WRONG, WRONG, ("c1",))


def report(*results: CaseResult, version: str = "1", defects: tuple[Defect, ...] = ()) -> Report:
    return Report("mine", version, "s", results, defects, 0, 1.0)


def stored(path: Path, of: Report) -> Path:
    path.write_text("\n".join(report_lines(of)) + "\n", encoding="utf-8")
    return path


def test_what_a_baseline_has_is_known_if_the_answer_is_the_same(tmp_path: Path) -> None:
    before = read_stored(stored(tmp_path / "a.jsonl", report(WRONG, RIGHT)))
    again = against(report(WRONG, RIGHT), before)
    assert again.known == {"c1"}
    assert again.conforms
    other = against(report(replace(WRONG, matches=[]), RIGHT), before)
    assert other.known == frozenset()
    assert not other.conforms
    assert not against(report(WRONG, replace(RIGHT, outcome="failed", matches=[])), before).conforms


def test_with_a_baseline_new_defects_come_first_and_each_says_whether_it_is_known(tmp_path: Path) -> None:
    before = read_stored(stored(tmp_path / "a.jsonl", report(WRONG, RIGHT)))
    broken = replace(RIGHT, outcome="failed", matches=[])
    other = replace(DEFECT, id="d2", result=broken, original=broken, cases=("c2",))
    found = against(report(WRONG, broken, defects=(DEFECT, other)), before)
    assert [(d.id, d.cases, d.baseline) for d in found.defects] == [("d1", ("c2",), "new"), ("d2", ("c1",), "known")]
    assert [one["baseline"] for one in summary(found)["defects"]] == ["new", "known"]
    assert [next(defect_text(d, found)).split(":")[0] for d in found.defects] == ["d1  new  seq", "d2  known  seq"]
    assert "· known ·" in render(found)
    assert next(defect_text(DEFECT, report(WRONG))).startswith("d1  seq:")


def test_a_trend_says_what_is_mended_and_what_broke(tmp_path: Path) -> None:
    broken = replace(RIGHT, outcome="failed", matches=[])
    mended = replace(WRONG, outcome="passed", matches=CASE.matches)
    paths = [
        stored(tmp_path / "1.jsonl", report(WRONG, RIGHT, defects=(DEFECT,))),
        stored(tmp_path / "2.jsonl", report(mended, broken, version="2")),
    ]
    first, second = trend([read_stored(path) for path in paths])
    assert (first.passed, first.claimed, first.defects, first.broken) == (1, 2, 1, frozenset())
    assert (second.mended, second.broken) == ({"c1"}, {"c2"})
    said = CliRunner().invoke(trend_command.trend_command, [*map(str, paths)], standalone_mode=False)
    assert said.return_value == 1
    assert "broken in mine 2: c2" in said.output


def test_a_trend_compares_runs_that_were_held_to_the_same_choices(tmp_path: Path) -> None:
    """What fails by the definition alone was not broken since the run under a policy, nor mended by it."""
    broken = replace(RIGHT, outcome="failed", matches=[])
    runs = [report(WRONG, RIGHT), report(RIGHT), report(WRONG, broken), report(broken)]
    runs[1::2] = [replace(run, held_to="cel with seq=next-from-left") for run in runs[1::2]]
    paths = [stored(tmp_path / f"{i}.jsonl", run) for i, run in enumerate(runs)]
    steps = list(trend([read_stored(path) for path in paths]))
    assert [(set(step.mended), set(step.broken)) for step in steps] == [(set(), set())] * 2 + [(set(), {"c2"})] * 2
    said = CliRunner().invoke(trend_command.trend_command, [*map(str, paths[:2])], standalone_mode=False)
    assert said.return_value == 0
    assert "cel with" in said.output


def test_a_file_that_is_no_run_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("{}\n", encoding="utf-8")
    with pytest.raises(InputError, match="is no run"):
        read_stored(path)
    with pytest.raises(InputError, match=r"^no file .*none$"):
        read_stored(tmp_path / "none")
    path.write_text('{"summary": {"engine": "\u2028"}}\n\n{"id":\n', encoding="utf-8")
    with pytest.raises(InputError, match=f"^{re.escape(str(path))}, line 3: not JSON"):
        read_stored(path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("[]", "its field summary.engine.name is missing"),
        ('{"summary": {"engine": {"name": "e", "version": "1"}}}', r"its field summary\.totals\.passed is missing"),
        ("RUN\n5", "line 2 is no case: its field id is missing"),
        ('RUN\n{"id": [], "outcome": "failed"}', "line 2 is no case: its field id is missing"),
        ('RUN\n{"id": "c1"}', "line 2 is no case: its field outcome is missing"),
        ("RUN", "was cut: it has the results of 0 of its 2 cases"),
        ('RUN\n\n{"id": "c1", "outcome": "failed"}', "was cut: it has the results of 1 of its 2 cases"),
    ],
)
def test_a_run_that_was_cut_or_lacks_a_field_is_refused(text: str, says: str, tmp_path: Path, run: Run) -> None:
    """A run without the cases that fail would say that none of them broke."""
    path = tmp_path / "x.jsonl"
    path.write_text(text.replace("RUN", report_lines(report(WRONG, RIGHT))[0]), encoding="utf-8")
    with pytest.raises(InputError, match=says):
        read_stored(path)
    for command in (["trend"], ["conform", "--engine", "automaton", "--baseline"]):
        status, _, err = run(*command, str(path))
        assert status == 2
        assert str(path) in err


def test_a_failing_case_is_whole_in_junit() -> None:
    element = ET.fromstring(junit(report(WRONG, RIGHT, defects=(DEFECT,))))
    (failure,) = element.findall("testcase/failure")
    assert failure.text is not None
    for part in ('"query":"A ; B"', '"events":[{"type":"A"}]', '"expected":', '"got":', '"defect":"d1"'):
        assert part in failure.text
    assert [e.text for e in element.findall("testcase/system-err")] == ["a line of the engine"]


def test_the_files_of_a_run_have_no_character_that_steers() -> None:
    hostile = "e\x1b[2K\x9b31m\u202e\x07\x00\ud800 <b>\n"
    skipped = replace(RIGHT, outcome="skipped", matches=None, detail=hostile)
    wrong = replace(WRONG, stderr=hostile, translation=hostile)
    defect = replace(DEFECT, result=wrong, original=wrong)
    of = replace(report(wrong, skipped, version=hostile, defects=(defect,)), engine=hostile, warnings=(hostile,))
    ET.fromstring(badge(of))
    ET.fromstring(junit(of))
    for text, escape in (
        (badge(of), r"\x1b[2K\x9b31m\u202e"),
        *((f(of), r"\u001b[2K\u009b31m\u202e") for f in (render, junit)),
    ):
        assert escape in text
        assert not [c for c in text if not c.isprintable() and c not in "\n\t"]


def test_a_cause_is_described_by_its_value_and_the_definitions() -> None:
    """The values were told by their order, so that one had to count to find what at-most-5 is."""
    cause = DefectCause("loop", "at-most-5", 3, 3)
    assert axis_says(DEFECT, cause) == (
        "loop (rounds of an iteration): at-most-5 is “at most 5”, the definition's all is “any”"
    )
    in_rows = replace(DEFECT, result=replace(WRONG, case=replace(CASE, language="row-pattern")))
    assert axis_says(in_rows, replace(cause, axis="nulls")) == "nulls: the reading nulls"


def test_a_badge_shows_the_share_of_what_is_claimed() -> None:
    skipped = replace(RIGHT, outcome="skipped", matches=None)
    text = badge(report(WRONG, RIGHT, skipped, defects=(DEFECT,)))
    assert "50 % of 2, 1 defect" in ET.fromstring(text).attrib["aria-label"]


def test_a_policy_is_the_choices_that_are_not_the_default(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    axes = '{"seq": {"value": "next-from-left", "answers": 3}, "loop": {"value": "all"}, "overlap": {"value": null}}'
    path.write_text(f'{{"profile": 1, "language": "cel", "axes": {axes}}}', encoding="utf-8")
    assert read_policy(path) == {"cel": {"seq": "next-from-left"}}
    path.write_text('{"language": "sase", "axes": {"window": {"value": "closed"}}}\n' * 2, encoding="utf-8")
    assert read_policy(path) == {"sase": {"window": "closed"}}


def test_policies_are_for_different_languages(tmp_path: Path) -> None:
    """The second one replaced the first without a word."""
    for name, language in (("a", "cel"), ("b", "sase"), ("c", "cel")):
        text = f'{{"language": "{language}", "axes": {{"absent": "null-equal"}}}}'
        (tmp_path / f"{name}.json").write_text(text, encoding="utf-8")
    a, b, c = (tmp_path / f"{name}.json" for name in "abc")
    assert read_policies((a, b)) == {"cel": {"absent": "null-equal"}, "sase": {"absent": "null-equal"}}
    call = ["conform", "--policy", str(a), "--policy", str(c), "--", "engine"]
    with pytest.raises(InputError, match=r"a\.json and .*c\.json are both policies for cel"):
        CliRunner().invoke(cerify, call, standalone_mode=False, catch_exceptions=False)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{}", 'it has no "axes"'),
        ("\n", "has no profile"),
        ('{"axes": {"sequence": {"value": "any"}}}', "no axis 'sequence'; there are seq"),
        ('{"axes": {"seq": {"value": "some"}}}', "the axis seq has the values any"),
        ('{"language": "sql", "axes": {}}', "no axes of 'sql'"),
    ],
)
def test_what_is_no_policy_is_refused(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=says):
        read_policy(path)


def test_a_separator_of_lines_in_a_text_ends_no_line_of_a_policy(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('\n{"axes": {}, "engine": "a\u2028b"}\n{"axes": {"seq": {"value": "some"}}}', encoding="utf-8")
    with pytest.raises(InputError, match=f"^{re.escape(str(path))}: the axis seq has the values"):
        read_policy(path)


TRANSLATING = """
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    query = m.get("query", "")
    print(json.dumps({"protocol": 1, "engine": {"name": "e", "version": "1"}, "languages": ["cel"]}
                     if m["cmd"] == "start" else
                     {"id": m["id"], "matches": [], "translation": f"every [{query}]"}), flush=True)
"""


def test_a_defect_shows_the_query_in_the_terms_of_the_engine() -> None:
    """The authors of an engine do not read CEL, and the adapter's translation could be found in its source alone."""
    found = conform([sys.executable, "-c", TRANSLATING], [replace(CASE, events=[{"type": "A"}, {"type": "B"}])])
    (defect,) = found.defects
    own = f"every [{defect.result.case.query}]"
    assert f"  its query {own}" in list(defect_text(defect, found))
    assert f"In its own terms:\n```\n{own}\n```" in issue_text(defect, found)
    assert f"<pre>{own}</pre>" in render(found)
    assert summary(found)["defects"][0]["translation"] == own
    right = conform([sys.executable, "-c", TRANSLATING], [replace(CASE, matches=[])])
    assert [one.translation for one in right.results] == [""]


def test_one_cause_in_two_languages_is_said_to_be_perhaps_one_defect() -> None:
    """An engine that compares absent values in its core has the same defect in each language that it speaks."""
    cause = (DefectCause("absent", "null-equal", 1, 1),)
    sase = replace(WRONG, case=replace(CASE, language="sase", query="PATTERN SEQ(A a, B b)"))
    both = (replace(DEFECT, causes=cause), replace(DEFECT, id="d2", result=sase, original=sase, causes=cause))
    other = replace(DEFECT, id="d3", causes=(DefectCause("seq", "strict", 1, 1),))
    found = report(WRONG, sase, defects=(*both, other))
    assert [one["same_cause"] for one in summary(found)["defects"]] == [["d2"], ["d1"], []]
    assert "  alike     probably the same as d2 in SASE+, which has this cause too" in list(defect_text(both[0], found))
    assert "Probably the same as d1 in CEL" in issue_text(both[1], found)
    assert render(found).count("It is probably the same as") == 2
