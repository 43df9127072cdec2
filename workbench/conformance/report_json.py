"""A conformance run as JSON: a summary with its defects, and an object for each case."""

from __future__ import annotations

import shlex
from typing import Any

from cerify import protocol
from cerify.automata.evaluator import Consumption
from cerify.conformance.model import FAILURES, Case, Defect, Report, Result
from cerify.conformance.words import second_sentence, sentence
from cerify.languages import DEFAULT

Json = dict[str, Any]


def report_lines(report: Report) -> list[str]:
    """The run as JSON Lines: the summary, and one object for each case."""
    return [protocol.line({"summary": summary(report)}), *(protocol.line(case_json(r)) for r in report.results)]


def summary(report: Report) -> Json:
    """The run in one object: the totals, with the number of cases as their denominator, and the defects."""
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
        "divergences": [
            {"feature": d.original.case.feature, "cases": list(d.cases), "stopped": d.stopped or None}
            | result_json(d.result)
            for d in report.defects
        ],
        "disputed": [result_json(result) for result in report.disputed],
    }


def defect_json(defect: Defect, report: Report) -> Json:
    """A defect, as schemas/defects.json describes it."""
    case = defect.result.case
    got = defect.result.matches
    return {
        "id": defect.id,
        "language": case.language,
        **asked(case),
        "expected": matches_json(case.matches),
        "got": None if got is None else matches_json(got),
        "signature": {"kind": defect.kind, "operators": list(defect.operators)},
        "detail": sentence(defect.result),
        "second_opinion": second_sentence(defect.result) or None,
        "why": defect.why,
        "description": defect.description or None,
        "baseline": defect.baseline or None,
        "causes": [{"axis": c.axis, "value": c.value, "explains": c.explains, "of": c.of} for c in defect.causes],
        "same_cause": [other.id for other in same_cause(defect, report)],
        "cases": list(defect.cases),
        "original": {"case": defect.original.case.id, **asked(defect.original.case)},
        "variants": [asked(other.case) for other in defect.variants],
        "stopped": defect.stopped or None,
        "rerun": rerun(defect, report),
        "stderr": defect.result.stderr or defect.original.stderr or None,
        "translation": defect.result.translation or None,
    }


def same_cause(defect: Defect, report: Report) -> list[Defect]:
    """The defects, which are of other languages, that have the same likeliest cause."""
    return [o for o in report.defects if o.id != defect.id and o.likeliest and o.likeliest == defect.likeliest]


def asked(case: Case) -> Json:
    """What the engine was asked."""
    return {"query": case.query, "schema": case.schema, "events": list(case.events), "output": case.output}


def rerun(defect: Defect, report: Report) -> str:
    """A line for a shell that asks the engine for the case that the defect was found from."""
    command = shlex.join(report.command) or "COMMAND"
    options = shlex.join([*report.options, "--case", defect.original.case.id])
    return f"cerify conform {options} -- {command}"


def again(defect: Defect, report: Report) -> list[str]:
    """The lines for a shell that show a defect again; the expected matches are printed if they are the definition's."""
    return [rerun(defect, report), *([] if defect.bearing else [match_command(defect.result.case)])]


def match_command(case: Case) -> str:
    """A line for a shell that prints the expected matches."""
    events = " ".join(shlex.quote(protocol.line(event)) for event in case.events) or "type"  # a CSV file with no rows
    options = "" if case.language == DEFAULT else f" --language {case.language}"
    if case.schema is not None:
        options += f" --schema {shlex.quote(protocol.line(case.schema))}"
    if any("time" in event for event in case.events):
        options += " --time time"
    if case.consumption is not Consumption.NONE:
        options += f" --consumption {case.consumption.value}"
    return f"printf '%s\\n' {events} | cerify match{options} {shlex.quote(case.query)} -"


def case_json(result: Result) -> Json:
    """What became of one case."""
    case = {"id": result.case.id, "feature": result.case.feature, "clause": result.case.clause}
    return case | result_json(result) | {"seconds": round(result.seconds, 4)}


def result_json(result: Result) -> Json:
    """A question with its answer."""
    return {
        **asked(result.case),
        "outcome": result.outcome,
        "expected": matches_json(result.case.matches),
        "got": None if result.matches is None else matches_json(result.matches),
        "second_opinion": None if result.second is None else matches_json(result.second),
        "detail": sentence(result),
        "stderr": result.stderr or None,
        "translation": result.translation or None,
    }


def matches_json(matches: Any) -> list[Json]:
    """Matches in the form of the protocol."""
    return [protocol.json_of_match(match) for match in matches]
