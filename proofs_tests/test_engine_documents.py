"""The page of the documents of engines: each line rests on a case of the suite or on a document."""

import re
from pathlib import Path

import pytest

from cerify.conformance.cases import load
from cerify.conformance.model import Case

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "guide" / "engine-documents.md"
ENGINES = ["CORE", "Flink CEP", "Esper", "OpenCEP", "Siddhi"]
CASE = re.compile(r"`((?:cel|core-cel|sase|event-expression)/[^`]+)`")
LINK = re.compile(r"\[([^\]]+)\](?:\[([^\]]+)\]|\(([^)]+)\))")
KEY = re.compile(r"^\[([^\]]+)\]: (\S+)$", re.MULTILINE)
KEPT = re.compile(r"https://github\.com/[^/]+/[^/]+/blob/[0-9a-f]{40}/\S+")  # a file in one version


def tables(text: str) -> dict[str, list[list[str]]]:
    """The rows of the table of each section that has one, without its head."""
    found = {}
    for section in text.split("\n## ")[1:]:
        rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")]
        if rows:
            found[section.partition("\n")[0]] = [[cell.strip() for cell in row] for row in rows[2:]]
    return found


def faults(text: str, cases: dict[str, Case]) -> list[str]:
    """What is wrong with a page: a line without a source, or not checked; a source that is not there, or not used."""
    keys = dict(KEY.findall(text))
    wrong = [f"no case {id_}" for id_ in CASE.findall(text) if id_ not in cases]
    wrong += [f"no source {key}" for _, key, _ in LINK.findall(text) if key and key not in keys]
    wrong += [f"{key} is not used" for key in keys if f"][{key}]" not in text]
    for key, address in keys.items():
        if address.startswith("https://github.com/") and not KEPT.fullmatch(address):
            wrong.append(f"{key} may change under its address")
    for section, rows in tables(text).items():
        if [row[0] for row in rows] != ENGINES:
            wrong.append(f"{section}: not the five engines, in order")
        for row in rows:
            said, rests = row[1], row[2] if len(row) > 2 else ""
            if not CASE.search(rests) and not LINK.search(rests):
                wrong.append(f"{section}, {row[0]}: no source")
            if "not checked" in said:
                wrong.append(f"{section}, {row[0]}: not checked")
    return wrong


@pytest.fixture(scope="module")
def cases() -> dict[str, Case]:
    return {case.id: case for case in load(None)}


def test_each_line_rests_on_a_case_or_a_document(cases: dict[str, Case]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert faults(text, cases) == []
    assert len(tables(text)) == 10
    assert len(set(CASE.findall(text))) > 10


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("`cel/seq/007`", "`cel/seq/070707`", "no case cel/seq/070707"),
        ("][flink]", "][flank]", "no source flank"),
        ("| [Pattern][siddhi] |", "| |", "What a match uses up, Siddhi: no source"),
        ("| OpenCEP | `SEQ`", "| OpenCeP | `SEQ`", "What a query can express: not the five engines, in order"),
        ("][core-enumerator];", "][core-evaluator];", "core-enumerator is not used"),
        (
            "| CORE | all: `ALL` is the default |",
            "| CORE | not checked |",
            "Which matches “an A, and later a B” has, CORE: not checked",
        ),
        (
            "/CORE/blob/b9138aacc45bf38e21e746b37f1fc861e3312b73/",
            "/CORE/blob/main/",
            "core-select may change under its address",
        ),
    ],
)
def test_a_fault_of_the_page_is_found(before: str, after: str, says: str, cases: dict[str, Case]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert before in text
    assert says in faults(text.replace(before, after), cases)
