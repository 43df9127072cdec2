"""Reports of a conformance run: JSON, text, HTML, JUnit, and comparisons with stored runs.

Each format is a function of a `Report` alone and runs nothing, so a stored run can be printed again. JSON comes first,
because the other formats show a part of it. `cerify trend` compares the JSON of stored runs at the end.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from cerify import protocol
from cerify.automata.evaluator import Consumption
from cerify.conformance.model import (
    ASKED,
    FAILURES,
    NONE_FOUND,
    Case,
    CaseResult,
    Defect,
    DefectCause,
    FailureKind,
    Outcome,
    Report,
    closing_sentences,
    count_of,
    format_matches,
    plural,
    second_sentence,
    sentence,
    shown_match,
)
from cerify.conformance.model import Json as conformance_Json
from cerify.conformance.prediction import AXES
from cerify.draw.diagram import markup, page
from cerify.draw.timeline import Presence, Row, TimelineColumn, timeline
from cerify.languages import DEFAULT, LANGUAGES
from cerify.semantics.arguments import choices
from cerify.semantics.errors import InputError
from cerify.semantics.events import TYPE, Match
from cerify.semantics.json_events import lines_of, parse_json
from cerify.semantics.readings import Reading
from cerify.terminal import printable, shielded

if TYPE_CHECKING:
    from markupsafe import Markup

Json = dict[str, Any]


def report_lines(report: Report) -> list[str]:
    """Return the run as JSON Lines: the summary, and one object for each case."""
    return [protocol.line({"summary": summary(report)}), *(protocol.line(case_json(r)) for r in report.results)]


def summary(report: Report) -> Json:
    """Return the run in one object: the totals, with the number of cases as their denominator, and the defects."""
    return {
        "engine": {"name": report.engine, "version": report.version},
        "suite": report.suite,
        "held_to": report.held_to or None,
        "warnings": list(report.warnings),
        "cases": len(report.results),
        "claimed": report.claimed,
        "unasked": dict(report.unasked),
        "totals": {outcome: report.totals[outcome] for outcome in ("passed", "skipped", *sorted(FAILURES), "disputed")},
        "conforms": report.conforms,
        "known": sorted(report.known),
        "restarts": report.restarts,
        "seconds": round(report.seconds, 3),
        "ended": report.ended or None,
        "defects": [defect_json(defect, report) for defect in report.defects],
        "unexplained": list(report.unexplained),
        **({"not_judged_again": list(report.unjudged)} if report.unjudged else {}),
        **({"failure": repr(report.failure)} if report.failure is not None else {}),
        "divergences": [
            {"feature": d.original.case.feature, "cases": list(d.cases), "stopped": d.stopped or None}
            | result_json(d.result)
            for d in report.defects
        ],
        "disputed": [result_json(result) for result in report.disputed],
    }


def announced_json(kind: FailureKind, operators: Sequence[str], result: CaseResult) -> Json:
    """Return the JSON that a long run prints for a new kind of failure, before shrinking it."""
    case = {"language": result.case.language, "case": result.case.id}
    return {"found": {**case, "signature": {"kind": kind, "operators": list(operators)}, **result_json(result)}}


def announced_text(operators: Sequence[str], result: CaseResult) -> str:
    """Return the line that a long run prints for a new kind of failure, before shrinking it."""
    case = result.case
    events = " ".join(event_text(event) for event in case.events) or "no events"
    name = " with ".join(operators) or LANGUAGES[case.language].title
    question = case.id if "\n" in case.query else f"{case.query} on {events}"
    return printable(f"found so far: {name}: {question}: {sentence(result)}")


def defect_json(defect: Defect, report: Report) -> Json:
    """Return a defect as JSON, in the form of schemas/defects.json."""
    case = defect.result.case
    got = defect.result.matches
    return {
        "id": defect.id,
        "language": case.language,
        **encode_question(case),
        "expected": matches_json(case.matches),
        "got": None if got is None else matches_json(got),
        "signature": {"kind": defect.kind, "operators": list(defect.operators)},
        "detail": sentence(defect.result),
        "second_opinion": second_sentence(defect.result) or None,
        "why": defect.why,
        "description": defect.description or None,
        "baseline": defect.baseline or None,
        "causes": [cause_json(cause) for cause in defect.causes],
        "same_cause": [other.id for other in same_cause(defect, report)],
        "cases": list(defect.cases),
        "original": {"case": defect.original.case.id, **encode_question(defect.original.case)},
        "variants": [encode_question(other.case) for other in defect.variants],
        "stopped": defect.stopped or None,
        "rerun": rerun(defect, report),
        "stderr": defect.result.stderr or defect.original.stderr or None,
        "translation": defect.result.translation or None,
    }


def cause_json(cause: DefectCause) -> Json:
    """Return the cause of a defect as JSON.

    It has the number of cases that fail if this cause is the expected meaning, and the choices that fit equally well.
    """
    found: Json = {"axis": cause.axis, "value": cause.value, "explains": cause.explains, "of": cause.of}
    if cause.now:
        found["failing"] = {"now": cause.now, "then": cause.then}
    return found | ({"alike": list(cause.alike), "apart": cause.apart or None} if cause.alike else {})


def same_cause(defect: Defect, report: Report) -> list[Defect]:
    """Return the defects in other languages that have the same likeliest cause."""
    return [o for o in report.defects if o.id != defect.id and o.likeliest and o.likeliest == defect.likeliest]


def encode_question(case: Case) -> Json:
    """Return the question to the engine: query, schema, events and output."""
    return {"query": case.query, "schema": case.schema, "events": list(case.events), "output": case.output}


def rerun(defect: Defect, report: Report) -> str:
    """Return a shell command that runs the case from which the defect was found."""
    # A question of the search for causes is in no suite: the whole run has to find it again.
    own = () if defect.original.case.clause == ASKED else ("--case", defect.original.case.id)
    options = shlex.join([*report.engine_options, *report.options, *own])
    command = "" if report.engine_options else f" -- {shlex.join(report.command) or 'COMMAND'}"
    return f"cerify conform {options}{command}"


def again(defect: Defect, report: Report) -> list[str]:
    """Return shell commands that reproduce a defect."""
    shows = not defect.bearing and "\n" not in defect.result.case.query.strip()
    return [rerun(defect, report), *([match_command(defect.result.case)] if shows else [])]


def match_command(case: Case) -> str:
    """Return a shell command that prints the expected matches."""
    events = " ".join(shlex.quote(protocol.line(event)) for event in case.events) or "type"  # a CSV file with no rows
    options = "" if case.language == DEFAULT else f" --language {case.language}"
    if case.schema is not None:
        options += f" --schema {shlex.quote(protocol.line(case.schema))}"
    if any("time" in event for event in case.events):
        options += " --time time"
    if case.consumption is not Consumption.NONE:
        options += f" --consumption {case.consumption.value}"
    return f"printf '%s\\n' {events} | cerify match{options} {shlex.quote(case.query)} -"


def case_json(result: CaseResult) -> Json:
    """Return the result of one case as JSON, with its id, feature, clause and seconds."""
    case = {"id": result.case.id, "feature": result.case.feature, "clause": result.case.clause}
    return case | result_json(result) | {"seconds": round(result.seconds, 4)}


def result_json(result: CaseResult) -> Json:
    """Return the question to the engine, the expected matches and the engine's answer as JSON."""
    return {
        **encode_question(result.case),
        "outcome": result.outcome,
        "expected": matches_json(result.case.matches),
        "got": None if result.matches is None else matches_json(result.matches),
        "second_opinion": None if result.second is None else matches_json(result.second),
        "detail": sentence(result),
        "stderr": result.stderr or None,
        "translation": result.translation or None,
    }


def matches_json(matches: Any) -> list[Json]:
    """Return matches as JSON, in the form of the engine protocol."""
    return [match.json() for match in matches]


# ---------------------------------------------------------------------------------------------------------------------
# A conformance run as text for a terminal, and each defect as text for a bug tracker.

NAMED = 6  # ids of cases that are listed for a defect


def opening(report: Report) -> str:
    """Return the run in one sentence: how many defects explain how many failing cases.

    If time ran out, groups of failing cases that were not diagnosed may be one defect, so they are not called defects.
    """
    failing = len(report.failing) - report.totals["not_run"]
    if not failing:
        return "no failing case"
    if open_ := [defect.stopped for defect in report.defects if defect.stopped and not defect.is_explained]:
        groups = plural(len(report.defects), "group")
        return f"{groups} of {plural(failing, 'failing case')}, not all diagnosed: {open_[0]}"
    text = f"{plural(len(report.defects), 'defect')} in {plural(failing, 'failing case')}"
    return f"{text}, {len(report.unexplained)} of them unexplained" if report.unexplained else text


def score(report: Report) -> str:
    """Return a sentence on the number of claimed cases that passed."""
    return f"{report.totals['passed']:,} of the {report.claimed:,} cases that it claims passed"


def defect_text(defect: Defect, report: Report) -> Iterator[str]:
    """Yield the lines about one defect."""
    result, case = defect.result, defect.result.case
    mark = f"{defect.baseline}  " if defect.baseline else ""
    yield from _heading(f"{defect.id}  {mark}{title(defect)}: {sentence(result)}")
    yield from labelled("query", case.query)
    yield from labelled("stream", "\n".join(f"{i}: {event_text(e)}" for i, e in enumerate(case.events)) or "no events")
    got = result.matches
    yield f"  expected  {format_matches(case.matches, 20, got or ()) or 'nothing'}"
    if got is not None:
        yield f"  got       {format_matches(got, 20, case.matches) or 'nothing'}"
    if second := second_sentence(result):
        yield f"  judged    {second}"
    for label, text in (
        ("cause", defect.description or cause_text(defect)),
        ("alike", alike_text(defect, report)),
        ("note", defect.stopped),
        ("why", defect.why),
        ("its query", result.translation),
        ("stderr", result.stderr or defect.original.stderr),
    ):
        yield from labelled(label, text)
    yield from labelled("explains" if defect.is_explained else "cases", cases_text(defect))
    source = defect.original.case
    yield from labelled(
        "from", source.id if source.query == case.query and "\n" in case.query else f"{source.id}: {source.query}"
    )
    yield from labelled("again", "\n".join(again(defect, report)))


def cases_text(defect: Defect) -> str:
    """Return the number and the first ids of a defect's cases, as in "2 cases, no cause found: seq-1, seq-2"."""
    unexplained = "" if defect.is_explained else f", {NONE_FOUND}"
    return f"{plural(len(defect.cases), 'case')}{unexplained}: {count_of(defect.cases, NAMED)}"


def labelled(label: str, text: str) -> Iterator[str]:
    """Yield the lines of a text, the first one after the label. All are indented, to set them off from the report's
    own.
    """
    for number, line in enumerate(text.splitlines()):
        yield f"  {'' if number else label:9} {printable(line)}".rstrip()


def _heading(text: str) -> Iterator[str]:
    """Yield the lines of a text: the first one as it is, the others indented."""
    first, _, rest = text.partition("\n")
    yield printable(first)
    yield from labelled("", rest)


def title(defect: Defect) -> str:
    """Return the title of a defect: the operators without which it does not occur."""
    return " with ".join(defect.operators) or "no operator to blame"


def cause_text(defect: Defect) -> str:
    """Return a sentence about the likely cause, with the meaning of the axis's value; "" if no cause is known."""
    if not defect.causes:
        return ""
    first = defect.causes[0]
    text = f"{first.axis}={first.value} gives {first.explains} of {plural(first.of, 'answer')}"
    if first.needed:
        text += f", {first.alone} of these alone and {first.explains - first.alone} with {' and '.join(first.needed)}"
    for how, some in (
        ("as likely", [c for c in defect.causes[1:] if c.explains >= first.explains]),
        ("less likely", [c for c in defect.causes[1:] if c.explains < first.explains]),
    ):
        if some:
            text += f" ({how}: {', '.join(f'{c.axis}={c.value} {c.explains}' for c in some)})"
    if first.alike:
        text += f"\nor {' or '.join(first.alike)}: no question distinguishes them"
        text += f"; {first.apart} would" if first.apart else ""
    if says := axis_says(defect.language, first.axis, first.value):
        text += f"\n{says}"
    if not first.helps:
        return text
    left = f"\nwith this choice, {first.then:,} of the {first.now:,} failing cases still fail" if first.then else ""
    return f"{text}\nif that is meant: {entitled(defect, first)}{left}"


def alike_text(defect: Defect, report: Report) -> str:
    """Return a sentence about defects in other languages that may be the same; "" if there are none."""
    named = ", ".join(f"{o.id} in {LANGUAGES[o.language].title}" for o in same_cause(defect, report))
    return f"probably the same as {named}, which has this cause too" if named else ""


def axis_says(language: str, name: str, value: str) -> str:
    """Return text that explains a value of an axis, and the default value; "" if there is no such axis."""
    known = AXES.get(language, {})
    axis = known.get(name) or next((axis for axis in known.values() if axis.base == name), None)
    if axis is None:
        return ""
    means = axis.meanings
    if value not in means:
        return f"{name}: {axis.says}"
    about = f" ({axis.subject})" if axis.subject else ""
    return f"{name}{about}: {value} is “{means[value]}”, the default {axis.default} is “{means[axis.default]}”"


def entitled(defect: Defect, cause: DefectCause) -> str:
    """Return options for `cerify conform` with which the engine is expected to behave as the cause says.

    The choices of this run are included.
    """
    held = {**defect.held, cause.axis: cause.value}
    readings = choices(Reading) if "reading" in LANGUAGES[defect.language].settings else {}
    if all(value in readings.get(axis, ()) for axis, value in held.items()):
        return " ".join(f"--reading {axis}={value}" for axis, value in held.items())
    axes = {axis: {"value": value} for axis, value in held.items()}
    return f"--policy FILE, with {json.dumps({'profile': 1, 'language': defect.language, 'axes': axes})}"


def event_text(event: dict[str, Any]) -> str:
    """Return an event of the protocol as one line."""
    rest = {key: value for key, value in event.items() if key != "type"}
    return printable(f"{event.get('type', '')} {json.dumps(rest, ensure_ascii=False) if rest else ''}".strip())


def issue_text(defect: Defect, report: Report) -> str:
    """Return a defect as Markdown for a bug tracker."""
    result, case = defect.result, defect.result.case
    given = result.matches
    got = "no answer" if given is None else format_matches(given, 20, case.matches) or "nothing"
    parts = [
        f"### {report.engine} {report.version}: {title(defect)}: {sentence(result)}",
        f"Query ({LANGUAGES[case.language].title}): `{case.query}`",
        *([f"In its own terms:\n```\n{result.translation}\n```"] if result.translation else []),
        "Stream:\n```\n" + "\n".join(f"{i}: {event_text(e)}" for i, e in enumerate(case.events)) + "\n```",
        f"Expected: {format_matches(case.matches, 20, given or ()) or 'nothing'}\n\nGot: {got}",
        *([f"Why:\n```\n{defect.why}\n```"] if defect.why else []),
        *(
            [f"Likely cause: {cause}"]
            if (cause := (defect.description or cause_text(defect)).partition("\n")[0])
            else []
        ),
        *([alike[:1].upper() + alike[1:] + "."] if (alike := alike_text(defect, report)) else []),
        "To reproduce it:\n```\n" + "\n".join(again(defect, report)) + "\n```",
        f"{'It explains ' if defect.is_explained else ''}{cases_text(defect)}.",
    ]
    return "\n\n".join(parts)


def verdict(report: Report) -> str:
    """Return the last line of the report: the totals, and what they mean."""
    totals, not_run = report.totals, report.totals["not_run"]
    failures = sum(totals[outcome] for outcome in FAILURES) - not_run - totals["timeout"]
    if failures and report.failing <= report.known:
        text = f"departs from the semantics in {plural(failures, 'case')}, all of them known"
    elif failures:
        text = f"departs from the semantics in {plural(failures, 'case')}"
    else:
        claimed = "conforms on all it claims" if report.conforms else "claims none of the cases"
        claimed = "conforms where it answered in time" if totals["passed"] and totals["timeout"] else claimed
        text = "has no verdict, since cerify contradicts itself" if report.disputed else claimed
    return (
        f"{totals['passed']} of {len(report.results)} passed, {totals['skipped']} skipped, "
        f"{f'{not_run} not run, ' if not_run else ''}"
        f"{f'{late} not answered in time, ' if (late := totals['timeout']) else ''}"
        f"{f'{disputed} disputed, ' if (disputed := totals['disputed']) else ''}"
        f"{f'{smaller} more disputed, ' if (smaller := len(report.disputed) - disputed) else ''}"
        f"{report.restarts} restarts, "
        f"{report.seconds:.1f} s: the engine {text}."
    )


def disputed_text(result: CaseResult) -> Iterator[str]:
    """Yield the lines about a case on which cerify contradicts itself."""
    case: Case = result.case
    yield from _heading(f"disputed: {sentence(result)}")
    yield from labelled("query", case.query)
    yield from labelled("stream", "\n".join(f"{i}: {event_text(e)}" for i, e in enumerate(case.events)))
    got = result.matches
    yield f"  expected  {format_matches(case.matches, 20, got or ()) or 'nothing'}"
    if got is not None:
        yield f"  got       {format_matches(got, 20, case.matches) or 'nothing'}"
    yield from labelled("from", case.id)


def skips(report: Report) -> Iterator[tuple[str, int]]:
    """Yield the reasons for skipped cases, each with its number, the most frequent first."""
    number: dict[str, int] = {}
    for result in report.results:
        if result.outcome == "skipped":
            number[result.detail] = number.get(result.detail, 0) + 1
    yield from sorted(number.items(), key=lambda pair: -pair[1])


# ---------------------------------------------------------------------------------------------------------------------
# A conformance run as one self-contained HTML page.

DRAWN = 16  # complex events drawn for one divergence; a longer list is cut, and the page says by how much

EXPLANATION: dict[Outcome, str] = {
    "passed": "the matches are exactly the expected ones",
    "failed": "the matches are not the expected ones",
    "skipped": "the engine does not claim the feature; the case still counts",
    "error": "the engine answered with an error",
    "crashed": "the engine's process ended before it answered",
    "timeout": "no answer within the time limit",
    "memory": "the engine was stopped because it exceeded the memory cap",
    "protocol": "the output is not a valid answer of the protocol",
    "not_run": "not run: no restarts are left, or the engine has answered no query with one of the operators",
    "disputed": (
        "cerify contradicts itself about the expected matches: this is a defect of cerify, not of the engine; "
        "please report it"
    ),
}
LABEL: dict[Outcome, str] = {outcome: outcome.replace("_", " ") for outcome in EXPLANATION}
KEYS: dict[Presence, str] = {"common": "in common", "missing": "missing", "extra": "extra"}


def render(report: Report) -> str:
    """Return the HTML page of a conformance run."""
    return page(
        "conformance/report.html",
        report=report,
        opening=opening(report),
        parts=html_summary(report),
        claimed={name: number for name, number in html_summary(report).items() if name != "skipped"} | {"skipped": 0},
        closing=" ".join(closing_sentences(report)),
        label=LABEL,
        explanation=EXPLANATION,
        features=[FeatureView.from_report(feature, report) for feature in features(report)],
        defects=[DefectView.from_report(defect, report) for defect in report.defects],
        disputed=report.disputed,
        reasons=list(reasons(report)),
    )


def html_summary(report: Report) -> dict[str, int]:
    """Return the counts for the four parts of a bar: passed, failed, other and skipped."""
    return _parts(report.totals)


def features(report: Report) -> list[str]:
    """Return the features of a run, in the order of the suite."""
    return list(dict.fromkeys(result.case.feature for result in report.results))


def _parts(totals: Counter[Outcome]) -> dict[str, int]:
    known = {"passed": totals["passed"], "failed": totals["failed"], "skipped": totals["skipped"]}
    other = totals.total() - sum(known.values())
    return {"passed": known["passed"], "failed": known["failed"], "other": other, "skipped": known["skipped"]}


@dataclass(frozen=True)
class FeatureView:
    """A row of the report's page: a feature, the outcomes of its cases, and the first defect that has such a case."""

    name: str
    parts: dict[str, int]
    total: int
    first: Defect | None

    @classmethod
    def from_report(cls, name: str, report: Report) -> FeatureView:
        own = [r for r in report.results if r.case.feature == name]
        totals: Counter[Outcome] = Counter(r.outcome for r in own)
        ids = {r.case.id for r in own}
        first = next((defect for defect in report.defects if not ids.isdisjoint(defect.cases)), None)
        return cls(name, _parts(totals), totals.total(), first)


@dataclass(frozen=True)
class DefectView:
    """A defect as the page shows it."""

    defect: Defect
    title: str
    sentence: str
    second: str
    drawing: Markup
    undrawn: int
    says: str
    alike: str
    entitled: str
    again: str
    issue: str

    @classmethod
    def from_report(cls, defect: Defect, report: Report) -> DefectView:
        rows = rows_of(defect.result)
        svg = timeline(columns_of(defect.result.case.events), rows[:DRAWN])
        words = sentence(defect.result)
        first = defect.causes[0] if defect.causes else None
        return cls(
            defect=defect,
            title=title(defect),
            sentence=words[:1].upper() + words[1:],
            second=second_sentence(defect.result),
            drawing=markup(svg),
            undrawn=max(0, len(rows) - DRAWN),
            says=axis_says(defect.language, first.axis, first.value) if first else "",
            alike=alike_text(defect, report),
            entitled=entitled(defect, first) if first and first.helps else "",
            again="\n".join(again(defect, report)),
            issue=issue_text(defect, report),
        )


def columns_of(events: Sequence[conformance_Json]) -> list[TimelineColumn]:
    """Return events of the protocol as columns of a timeline: the type, then each attribute with its value."""
    return [
        TimelineColumn(position, str(event.get(TYPE, "?")), [f"{k} {_value(v)}" for k, v in event.items() if k != TYPE])
        for position, event in enumerate(events)
    ]


def rows_of(result: CaseResult) -> list[Row]:
    """Return the rows of a timeline for a result: missing matches, then extra ones, then correct ones."""
    expected, reported = set(result.case.matches), set(result.matches or ())
    keys = KEYS if result.matches is not None else {"missing": "expected"}  # no other row
    kinds: list[tuple[Presence, set[Match]]] = [
        ("missing", expected - reported),
        ("extra", reported - expected),
        ("common", expected & reported),
    ]
    return [
        Row(kind, match.events, match.at, f"{keys[kind]} · {shown_match(match)}")
        for kind, matches in kinds
        for match in sorted(matches)
    ]


def reasons(report: Report) -> Iterator[tuple[Outcome, str, list[str]]]:
    """Group the cases that neither passed nor failed: yield an outcome, a reason, and the ids of these cases."""
    groups: dict[tuple[Outcome, str], list[str]] = {}
    for result in report.results:
        groups.setdefault((result.outcome, result.detail), []).append(result.case.id)
    for outcome in EXPLANATION:
        if outcome not in ("passed", "failed"):
            own = [(detail, ids) for (known, detail), ids in groups.items() if known == outcome]
            yield from ((outcome, detail, ids) for detail, ids in sorted(own, key=lambda group: -len(group[1])))


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


# ---------------------------------------------------------------------------------------------------------------------
# A conformance run as JUnit XML, which build servers read.


def junit(report: Report) -> str:
    """Return the run in JUnit's XML: a test suite, with a test case for each case.

    A wrong answer is a failure; a missing answer is an error.
    """
    totals = report.totals
    failures = sum(1 for one in report.results if one.outcome == "failed" and one.case.id not in report.known)
    skipped = totals["skipped"] + len(report.known)
    root = ET.Element(
        "testsuite",
        name=shielded(f"{report.engine} {report.version}: {report.suite}"),
        tests=str(len(report.results)),
        failures=str(failures),
        skipped=str(skipped),
        errors=str(len(report.results) - totals["passed"] - failures - skipped),
        time=f"{report.seconds:.3f}",
    )
    behind = {id_: defect.id for defect in report.defects for id_ in defect.cases}
    for result in report.results:
        _case(root, result, behind.get(result.case.id), result.case.id in report.known)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(root: ET.Element, result: CaseResult, defect: str | None, known: bool) -> None:
    """Add a failed or passed case to the XML, with its JSON and, if it failed, the defect that explains it."""
    case = result.case
    name = f"{case.id}: {case.query}"
    element = ET.SubElement(
        root, "testcase", classname=shielded(case.feature), name=shielded(name), time=f"{result.seconds:.3f}"
    )
    if result.outcome == "passed":
        return
    tag = "skipped" if known else {"failed": "failure", "skipped": "skipped"}.get(result.outcome, "error")
    message = f"known from the baseline: {sentence(result)}" if known else sentence(result)
    said = ET.SubElement(element, tag, type=result.outcome, message=shielded(message))
    if result.outcome != "skipped":
        said.text = shielded(protocol.line(case_json(result) | {"defect": defect}))
    if result.stderr:
        ET.SubElement(element, "system-err").text = shielded(result.stderr)


# ---------------------------------------------------------------------------------------------------------------------
# A conformance run as a badge: a small SVG for the page of a project.

CHARACTER, PADDING, HEIGHT = 6.6, 8, 20
GREEN, AMBER, RED = "#2b7a3d", "#8a6100", "#a8323a"


def badge(report: Report) -> str:
    """Return a badge for the engine's project page, as SVG.

    It shows the share of claimed cases that passed, the number of defects, and whether choices are declared.
    """
    share = 100 * report.totals["passed"] // max(1, report.claimed)
    defects = f", {plural(len(report.defects), 'defect')}" if report.defects else ""
    value = f"{share} % of {report.claimed:,}{defects}{', by its profile' if report.held_to else ''}"
    colour = GREEN if report.conforms else AMBER if share >= 90 else RED
    left, right = (len(text) * CHARACTER + 2 * PADDING for text in ("CER semantics", value))
    name = printable(f"{report.engine} {report.version}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right:g}" height="{HEIGHT}" role="img" '
        f'aria-label="CER semantics: {escape(value)}"><title>{escape(name)}</title>'
        f'<rect width="{left:g}" height="{HEIGHT}" fill="#444"/>'
        f'<rect x="{left:g}" width="{right:g}" height="{HEIGHT}" fill="{colour}"/>'
        f'<g fill="#fff" font-family="Verdana, sans-serif" font-size="11">'
        f'<text x="{PADDING}" y="14">CER semantics</text><text x="{left + PADDING:g}" y="14">{escape(value)}</text>'
        "</g></svg>\n"
    )


# ---------------------------------------------------------------------------------------------------------------------
# Conformance runs that were stored as JSON: a baseline of known failures, and the trend over versions.

GIVE = "give the whole output of `cerify conform --json`"
CASE: Mapping[str, type | tuple[type, ...]] = {"id": str, "outcome": str}
SUMMARY: Mapping[str, type | tuple[type, ...]] = {
    "summary.engine.name": str,
    "summary.engine.version": str,
    "summary.totals.passed": int,
    "summary.totals.skipped": int,
    "summary.cases": int,
    "summary.claimed": (int, type(None)),  # runs of earlier versions lack these
    "summary.defects": (list, type(None)),
    "summary.held_to": (str, type(None)),
}


@dataclass(frozen=True)
class Stored:
    """The output of `cerify conform --json`, read from a file: the summary, and each case's object by its id."""

    summary: dict[str, Any]
    cases: dict[str, dict[str, Any]]

    @property
    def failing(self) -> frozenset[str]:
        """Return the ids of the cases that failed."""
        return frozenset(id_ for id_, case in self.cases.items() if case["outcome"] in FAILURES)


def read_stored(path: Path) -> Stored:
    """Read a stored run from a file. Raises InputError."""
    lines = [(where, parse_json(text, where)) for text, where in lines_of(path)]
    if not lines:
        raise InputError(f"{path} is empty: {GIVE}")
    (_, first), *cases = lines
    _require(first, SUMMARY, f"{path} is not a stored run")
    for where, case in cases:
        _require(case, CASE, f"{where} is not a case")
    if len(cases) < (all_ := first["summary"]["cases"]):
        raise InputError(f"{path} was cut: it has the results of {len(cases):,} of its {all_:,} cases; {GIVE}")
    return Stored(first["summary"], {case["id"]: case for _, case in cases})


def _require(obj: Any, fields: Mapping[str, type | tuple[type, ...]], where: str) -> None:
    """Raise InputError if a field is missing or has another type. The message names the field."""
    for name, types in fields.items():
        value = obj
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if not isinstance(value, types):
            raise InputError(f"{where}: the field {name} is missing or has the wrong type; {GIVE}")


def against(report: Report, baseline: Stored) -> Report:
    """Return the report with failing cases marked as known, if a baseline has the same outcome and answer for them.

    A defect counts as new if some of its cases are not known. New defects come first, and the numbers follow this
    order.
    """
    known = set()
    for result in report.results:
        before = baseline.cases.get(result.case.id)
        if result.outcome in FAILURES and before is not None:
            now = case_json(result)
            if all(before.get(key) == now[key] for key in ("outcome", "got")):
                known.add(result.case.id)
    new = [defect for defect in report.defects if not known.issuperset(defect.cases)]
    old = [defect for defect in report.defects if known.issuperset(defect.cases)]
    defects = [
        *(replace(defect, id=f"d{i}", baseline="new") for i, defect in enumerate(new, 1)),
        *(replace(defect, id=f"d{i}", baseline="known") for i, defect in enumerate(old, len(new) + 1)),
    ]
    return replace(report, known=frozenset(known), defects=defects)


@dataclass(frozen=True)
class TrendPoint:
    """A run in a trend: the engine, its counts, the ids of cases that began to pass, and of cases that began to fail.

    held_to: the choices by which it was judged, "" if by the default meaning.
    """

    engine: str
    held_to: str
    passed: int
    claimed: int
    defects: int
    mended: frozenset[str]
    broken: frozenset[str]

    def json(self) -> dict[str, Any]:
        """Return the run of the trend as one object."""
        return {
            "engine": self.engine,
            "held_to": self.held_to or None,
            "passed": self.passed,
            "claimed": self.claimed,
            "defects": self.defects,
            "mended": sorted(self.mended),
            "broken": sorted(self.broken),
        }


def trend(runs: Sequence[Stored]) -> Iterator[TrendPoint]:
    """Yield the runs in order, each compared with the previous run that was judged by the same choices."""
    last: dict[str, frozenset[str]] = {}
    for run in runs:
        totals, engine = run.summary["totals"], run.summary["engine"]
        held_to = run.summary.get("held_to") or ""
        failing, before = run.failing, last.get(held_to)
        asked = frozenset(run.cases)
        yield TrendPoint(
            f"{engine['name']} {engine['version']}",
            held_to,
            totals["passed"],
            run.summary["cases"] - totals["skipped"] if run.summary.get("claimed") is None else run.summary["claimed"],
            len(run.summary.get("defects") or ()),
            frozenset() if before is None else (before - failing) & asked,
            frozenset() if before is None else failing - before,
        )
        last[held_to] = failing
