"""A conformance run as JUnit XML, which build servers read."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from cerify import protocol
from cerify.conformance.model import Report, Result
from cerify.conformance.report_json import case_json
from cerify.conformance.words import sentence
from cerify.terminal import shielded


def junit(report: Report) -> str:
    """The XML: a test suite, with a test case for each case; a wrong answer is a failure, no answer an error.

    What is known from a baseline is skipped, with a message that says so. What is not printable is escaped, which
    is also all that XML cannot have.
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


def _case(root: ET.Element, result: Result, defect: str | None, known: bool) -> None:
    """Add a case, with all of it as JSON, and the defect that explains it, where it failed."""
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
