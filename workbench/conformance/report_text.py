"""A conformance run as text for a terminal, and each defect as text for a bug tracker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from cerify.conformance.hypotheses import AXES
from cerify.conformance.model import FAILURES, Case, Cause, Defect, Report, Result
from cerify.conformance.report_json import again, same_cause
from cerify.conformance.words import count_of, plural, second_sentence, sentence, shown
from cerify.languages import LANGUAGES
from cerify.semantics.sase.reading import choices
from cerify.terminal import printable

NAMED = 6  # cases of a defect that are listed by their ids


def opening(report: Report) -> str:
    """The run in one sentence: how many defects explain how many failing cases."""
    failing = len(report.failing) - report.totals["not_run"]
    if not failing:
        return "no failing case"
    text = f"{plural(len(report.defects), 'defect')} in {plural(failing, 'failing case')}"
    return f"{text}, {len(report.unexplained)} of them unexplained" if report.unexplained else text


def score(report: Report) -> str:
    """How many of the cases that the engine claims it passed."""
    return f"{report.totals['passed']:,} of the {report.claimed:,} cases that it claims passed"


def defect_text(defect: Defect, report: Report) -> Iterator[str]:
    """The lines about one defect."""
    result, case = defect.result, defect.result.case
    mark = f"{defect.baseline}  " if defect.baseline else ""
    yield from _heading(f"{defect.id}  {mark}{title(defect)}: {sentence(result)}")
    yield from labelled("query", case.query)
    yield from labelled("stream", "\n".join(f"{i}: {event_text(e)}" for i, e in enumerate(case.events)) or "no events")
    yield f"  expected  {shown(case.matches, 20) or 'nothing'}"
    if result.matches is not None:
        yield f"  got       {shown(result.matches, 20) or 'nothing'}"
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
    yield from labelled("explains", f"{plural(len(defect.cases), 'case')}: {count_of(defect.cases, NAMED)}")
    yield from labelled("from", f"{defect.original.case.id}: {defect.original.case.query}")
    yield from labelled("again", "\n".join(again(defect, report)))


def labelled(label: str, text: str) -> Iterator[str]:
    """The lines of a text, the first behind the label; all are indented, so that none of it begins a line of ours."""
    for number, line in enumerate(text.splitlines()):
        yield f"  {'' if number else label:9} {printable(line)}".rstrip()


def _heading(text: str) -> Iterator[str]:
    """A text that is not indented, but for its further lines."""
    first, _, rest = text.partition("\n")
    yield printable(first)
    yield from labelled("", rest)


def title(defect: Defect) -> str:
    """The operators of a defect, and of no operator the language."""
    return " with ".join(defect.operators) or LANGUAGES[defect.language].title


def cause_text(defect: Defect) -> str:
    """The likely cause in a sentence, with what the value of the axis means; "" if none is known."""
    if not defect.causes:
        return ""
    first = defect.causes[0]
    text = f"{first.axis}={first.value} gives {first.explains} of {plural(first.of, 'answer')}"
    for how, some in (
        ("as likely", [c for c in defect.causes[1:] if c.explains >= first.explains]),
        ("less likely", [c for c in defect.causes[1:] if c.explains < first.explains]),
    ):
        if some:
            text += f" ({how}: {', '.join(f'{c.axis}={c.value} {c.explains}' for c in some)})"
    if says := axis_says(defect, first):
        text += f"\n{says}"
    return f"{text}\nif that is meant: {entitled(defect, first)}"


def alike_text(defect: Defect, report: Report) -> str:
    """The defects in other languages that are perhaps this one, in a sentence; "" if there is none."""
    named = ", ".join(f"{o.id} in {LANGUAGES[o.language].title}" for o in same_cause(defect, report))
    return f"probably the same as {named}, which has this cause too" if named else ""


def axis_says(defect: Defect, cause: Cause) -> str:
    """What the cause's value of its axis means, and what the definition's does."""
    axis = AXES.get(defect.language, {}).get(cause.axis)
    if axis is None:
        return ""
    means = axis.meanings
    if cause.value not in means:
        return f"{cause.axis}: {axis.says}"
    about = f" ({axis.subject})" if axis.subject else ""
    return (
        f"{cause.axis}{about}: {cause.value} is “{means[cause.value]}”, "
        f"the definition's {axis.default} is “{means[axis.default]}”"
    )


def entitled(defect: Defect, cause: Cause) -> str:
    """The options of `cerify conform` that expect the choice of an engine, and those that are expected already."""
    held = {**defect.held, cause.axis: cause.value}
    readings = choices() if "reading" in LANGUAGES[defect.language].settings else {}
    if all(value in readings.get(axis, ()) for axis, value in held.items()):
        return " ".join(f"--reading {axis}={value}" for axis, value in held.items())
    axes = {axis: {"value": value} for axis, value in held.items()}
    return f"--policy FILE, with {json.dumps({'profile': 1, 'language': defect.language, 'axes': axes})}"


def event_text(event: dict[str, Any]) -> str:
    """An event of the protocol in one line."""
    rest = {key: value for key, value in event.items() if key != "type"}
    return printable(f"{event.get('type', '')} {json.dumps(rest, ensure_ascii=False) if rest else ''}".strip())


def issue_text(defect: Defect, report: Report) -> str:
    """A defect as Markdown, to be pasted into a bug tracker."""
    result, case = defect.result, defect.result.case
    got = "no answer" if result.matches is None else shown(result.matches, 20) or "nothing"
    parts = [
        f"### {report.engine} {report.version}: {title(defect)}: {sentence(result)}",
        f"Query ({LANGUAGES[case.language].title}): `{case.query}`",
        *([f"In its own terms:\n```\n{result.translation}\n```"] if result.translation else []),
        "Stream:\n```\n" + "\n".join(f"{i}: {event_text(e)}" for i, e in enumerate(case.events)) + "\n```",
        f"Expected: {shown(case.matches, 20) or 'nothing'}\n\nGot: {got}",
        *([f"Why:\n```\n{defect.why}\n```"] if defect.why else []),
        *(
            [f"Likely cause: {cause}"]
            if (cause := (defect.description or cause_text(defect)).partition("\n")[0])
            else []
        ),
        *([alike[:1].upper() + alike[1:] + "."] if (alike := alike_text(defect, report)) else []),
        "To see it again:\n```\n" + "\n".join(again(defect, report)) + "\n```",
        f"It explains {plural(len(defect.cases), 'failing case')} of the suite: {count_of(defect.cases, NAMED)}.",
    ]
    return "\n\n".join(parts)


def verdict(report: Report) -> str:
    """The last line: the totals, and what they mean."""
    totals, not_run = report.totals, report.totals["not_run"]
    failures = sum(totals[outcome] for outcome in FAILURES) - not_run
    if failures and report.failing <= report.known:
        text = f"departs from the semantics in {plural(failures, 'case')}, all of them known"
    elif failures:
        text = f"departs from the semantics in {plural(failures, 'case')}"
    else:
        claimed = "conforms on all it claims" if report.conforms else "claims none of the cases"
        text = "has no verdict, since cerify contradicts itself" if report.disputed else claimed
    return (
        f"{totals['passed']} of {len(report.results)} passed, {totals['skipped']} skipped, "
        f"{f'{not_run} not run, ' if not_run else ''}"
        f"{f'{disputed} disputed, ' if (disputed := totals['disputed']) else ''}"
        f"{f'{smaller} more disputed, ' if (smaller := len(report.disputed) - disputed) else ''}"
        f"{report.restarts} restarts, "
        f"{report.seconds:.1f} s: the engine {text}."
    )


def disputed_text(result: Result) -> Iterator[str]:
    """The lines about a case on which cerify contradicts itself."""
    case: Case = result.case
    yield from _heading(f"disputed: {sentence(result)}")
    yield from labelled("query", case.query)
    yield from labelled("stream", "\n".join(f"{i}: {event_text(e)}" for i, e in enumerate(case.events)))
    yield f"  expected  {shown(case.matches, 20) or 'nothing'}"
    if result.matches is not None:
        yield f"  got       {shown(result.matches, 20) or 'nothing'}"
    yield from labelled("from", case.id)


def skips(report: Report) -> Iterator[tuple[str, int]]:
    """The reasons for which cases were skipped, with their number, the most frequent first."""
    number: dict[str, int] = {}
    for result in report.results:
        if result.outcome == "skipped":
            number[result.detail] = number.get(result.detail, 0) + 1
    yield from sorted(number.items(), key=lambda pair: -pair[1])
