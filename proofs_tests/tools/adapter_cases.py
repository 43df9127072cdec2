"""The cases of the tests of adapters in Java: `python -m proofs_tests.tools.adapter_cases` completes their files.

Each line of adapters/java/*/src/test/resources/*.jsonl is a run message. By hand are its query, its events, and where
the answer is not that of the definition "skipped": true, "error" with its code, or "choice": true with the engine's own
matches. The tree and the other matches are computed; of MATCH_RECOGNIZE the part `sql` of the message, and in the place
of the matches the tables from which the harness reads them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cerify import protocol
from cerify.conformance import sql
from cerify.conformance.cases import tree_of_text
from cerify.conformance.engines import ADAPTERS
from cerify.conformance.model import Case, of_output
from cerify.languages import LANGUAGES
from cerify.languages.language import DENOTATIONAL, Options
from cerify.semantics.json_events import schema_of_json, stream_of_json

BY_HAND = ("skipped", "choice", "error", "file")


def files() -> list[Path]:
    """The files of cases, without copies that a build has made."""
    return sorted((ADAPTERS / "java").glob("*/src/test/resources/*.jsonl"))


def completed(text: str) -> Iterator[str]:
    """The lines of a file with the trees and matches that their queries and events have now."""
    for written in text.splitlines():
        line = json.loads(written)
        line["tree"] = tree_of_text(line["language"], line["query"])
        by_hand = any(key in line for key in BY_HAND)
        if line["language"] == "row-pattern":
            line["sql"] = sql.message(case_of(line))
        if line["language"] == "row-pattern" and not by_hand:
            line["tables"] = tables(line)
        elif not by_hand:
            line["matches"] = [match.json() for match in matches(line)]
        yield json.dumps(line, ensure_ascii=False, separators=(",", ":"))


def matches(line: protocol.Json) -> list[protocol.Match]:
    """The matches of a run message by the definition."""
    language = LANGUAGES[line["language"]]
    schema = None if line.get("schema") is None else schema_of_json(line["schema"])
    S = stream_of_json(line["events"], schema, line["query"], language.row_type)
    output = line.get("output", "matches")
    found = language.evaluators.matches(language.syntax.parse(line["query"]), S, DENOTATIONAL, Options(output))
    return of_output(found, language.name, output)


def case_of(line: protocol.Json) -> Case:
    """The run message as a case."""
    return Case("", "", "", line["language"], line["query"], line.get("schema"), line["events"], "valuations", ())


def tables(line: protocol.Json) -> list[protocol.Json]:
    """Tables that show the matches of a clause: the columns of its partitions, the match number, then all others."""
    q = LANGUAGES["row-pattern"].syntax.parse(line["query"])
    keys, measures = [one.name for one in q.partition], [one.name for one in q.measures]
    labels: list[list[Any]] = []
    own: list[list[Any]] = []
    for match in (match.json() for match in matches(line | {"output": "valuations"})):
        of = {place: variable for variable, places in match["bindings"].items() for place in places}
        first = line["events"][min(match["events"], default=match["at"])]
        head = [*(first.get(key) for key in keys), match["match_number"]]
        labels += [[*head, place, of.get(place)] for place in match["events"] or [match["at"]]]
        values = [match["result"][name] for name in measures]
        own += [[*head, *row] for row in ([values] if q.rows == "one" else zip(*values, strict=True))]
    number = [*(key.lower() for key in keys), sql.NUMBER]
    shown = [{"columns": [*number, sql.PLACE, sql.LABEL], "rows": labels}]
    return [*shown, *([{"columns": [*number, *map(str.lower, measures)], "rows": own}] if measures else [])]


def main() -> None:
    """Complete all files."""
    for path in files():
        path.write_text("".join(f"{line}\n" for line in completed(path.read_text(encoding="utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
