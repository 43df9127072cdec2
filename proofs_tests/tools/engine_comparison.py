"""The page that compares engines by their answers: questions, cases of the suite that put them, and the answers.

`python -m proofs_tests.tools.engine_board page` writes docs/guide/comparison.md from the stored runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cerify.conformance.model import Case, format_matches
from cerify.semantics.events import Match

NAMES = {
    "clips": "CLIPS",
    "core": "CORE",
    "esper": "Esper",
    "flink-cep": "Flink CEP",
    "opencep": "OpenCEP",
    "googlesql": "GoogleSQL",
    "sase": "SASE",
    "siddhi": "Siddhi",
}


@dataclass(frozen=True)
class Question:
    """A question about the meaning of patterns, and the cases that put it."""

    title: str
    text: str
    cases: tuple[str, ...]


def _cases(text: str) -> tuple[str, ...]:
    return tuple(text.split())


QUESTIONS = (
    Question(
        "Which matches “an A, and later a B” has",
        "In CEL every such pair is a match. In SASE+ by default only the first B after each A counts; with skip till "
        "any match every pair is a match.",
        _cases("cel/seq/001 cel/seq/007 sase/sase-sequence/001 sase/sase-any/001"),
    ),
    Question(
        "What neighbours are",
        "In CEL, and in SASE+ under strict contiguity, the neighbour of an event is the next event of the stream. "
        "Under partition contiguity it is the next event of the same key.",
        _cases("cel/cseq/001 cel/cseq/002 cel/strict/001 sase/sase-strict/001 sase/sase-partition/001"),
    ),
    Question(
        "What a Kleene plus takes",
        "In CEL it takes any series of matches of a formula. In SASE+ it takes every event of a type that fits; under "
        "skip till any match, any series of such events.",
        _cases("cel/plus/002 cel/plus/007 cel/cplus/001 cel/repeat/1001 sase/sase-next/010 sase/sase-kleene/007"),
    ),
    Question(
        "Strategies",
        "`NXT`, `LAST` and `MAX` compare all matches that end at the same position.",
        _cases("cel/nxt/001 cel/nxt/004 cel/law/nxt-over-seq/1 cel/last/001 cel/max/001 sase/sase-cut/007"),
    ),
    Question(
        "Two patterns at once",
        "`OR` and UNION need a match of one of two patterns. `AND` needs events that match both, `ALL` a match of "
        "each.",
        _cases("cel/or/001 cel/and/003 cel/all/001 sase/sase-union/001"),
    ),
    Question(
        "Negation",
        "`φ UNLESS ψ` forbids a match of ψ inside the interval in which φ is evaluated. `~B b` forbids such an event "
        "between its neighbours, or, at the beginning or end of the pattern, in the window.",
        _cases(
            "cel/unless/001 cel/unless/004 cel/unless/006 sase/sase-negation/003 sase/sase-negation-front/001 "
            "sase/sase-negation-end/001"
        ),
    ),
    Question(
        "Windows",
        "Is a match inside a window of exactly its length? In CEL yes, in SASE+ no.",
        _cases(
            "cel/within/001 cel/within/005 cel/within/010 cel/within/012 cel/within/015 sase/sase-within/003 "
            "sase/sase-reading-window/003"
        ),
    ),
    Question(
        "Keys",
        "`PARTITION BY` is a filter in CEL: neighbours are still those of the whole stream.",
        _cases("cel/partition/001 cel/partition/009 sase/sase-equivalence/001"),
    ),
)
COMPARED = frozenset(case for question in QUESTIONS for case in question.cases)

HEAD = """# How engines compare

Written by `python -m proofs_tests.tools.engine_board page` from stored runs of `cerify conform`.

Each row is a case of [the conformance suite](../reference/suite.md), with the matches that the language
defines: CEL as in tods21, SASE+ as [we interpret](../decisions/sase.md) its papers. The second column names
the engines that reported exactly these matches. The third has what other engines reported, with the finding that
explains it. A match is a set of positions. It was reported at the last of them, unless “at” names another position.
If an engine is missing in a row, it cannot express the query or does not support the language; its
[adapter](../../workbench/conformance/adapters/README.md) says why.

[The board](../findings/board.md) has the versions and all cases by feature. [Another page](engine-documents.md) says
what the engines' documents promise. You can [test your own engine](ten-minutes.md).

"""
SILENT = ("skipped", "not checked")


def answer_text(result: Mapping[str, Any]) -> str:
    """What became of a case of `conform --json`: passed, skipped, the matches that were reported, or how it failed."""
    if result["outcome"] in ("passed", "skipped") or result["got"] is None:
        return str(result["outcome"])
    matches = (f"{{{', '.join(map(str, match['events']))}}} at {match['at']}" for match in result["got"])
    return ", ".join(matches) or "nothing"


def brief(matches: str) -> str:
    """Return matches as text without the position of those that are reported at their last event."""
    return re.sub(r"\{((?:\d+, )*(\d+))\} at \2\b", r"{\1}", matches)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    first, *others = (f"| {' | '.join(line)} |\n" for line in (head, *rows))
    return "".join([first, "|---" * len(head) + "|\n", *others])


def comparison(runs: Sequence[dict[str, Any]], links: Mapping[tuple[str, str], str], cases: Mapping[str, Case]) -> str:
    """The page, in Markdown: of the newest run of each engine, with the links to findings by engine and case."""
    names = [NAMES.get(run["engine"]["name"], run["engine"]["name"]) for run in runs]
    text = HEAD
    for question in QUESTIONS:
        rows = []
        for id_ in question.cases:
            case = cases[id_]
            meaning = brief(format_matches(sorted({Match(m.at, m.events) for m in case.matches}), 20)) or "nothing"
            about = "<br>".join([f"`{id_}`", f"`{case.query}`", f"on {_stream(case)}", f"means {meaning}"])
            answers = [(name, run, (run.get("answers") or {}).get(id_)) for name, run in zip(names, runs, strict=True)]
            others: dict[str, list[str]] = {}
            for name, run, answer in answers:
                if answer not in (None, "passed", *SILENT):
                    link = links.get((run["engine"]["name"], id_), "")
                    others.setdefault(brief(f"{answer}"), []).append(f"{name} {link}".rstrip())
            right = ", ".join(name for name, _, answer in answers if answer == "passed")
            rows.append([about, right, "<br>".join(f"{answer}: {', '.join(by)}" for answer, by in others.items())])
        text += f"## {question.title}\n\n{question.text}\n\n{table(['case', 'as defined', 'otherwise'], rows)}\n"
    return text.rstrip("\n") + "\n"


def _stream(case: Case) -> str:
    events = []
    for event in case.events:
        values = ", ".join(f"{name}={value}" for name, value in event.items() if name != "type")
        events.append(event["type"] + (f"({values})" if values else ""))
    return " ".join(events)
