"""The cases of the tests of adapters in Java: `python -m proofs_tests.tools.adapter_cases` completes their files.

Each line of adapters/java/*/src/test/resources/*.jsonl is a run message. By hand are its query, its events, and where
the answer is not that of the definition "skipped": true, or "choice": true with the engine's own matches. The tree and
the other matches are computed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from cerify import protocol
from cerify.conformance.engines import ADAPTERS
from cerify.conformance.model import of_output
from cerify.conformance.query_tree import tree_of_text
from cerify.languages import LANGUAGES
from cerify.languages.language import DENOTATIONAL, Options
from cerify.semantics.json_events import schema_of_json, stream_of_json

BY_HAND = ("skipped", "choice", "file")


def files() -> list[Path]:
    """The files of cases, without copies that a build has made."""
    return sorted((ADAPTERS / "java").glob("*/src/test/resources/*.jsonl"))


def completed(text: str) -> Iterator[str]:
    """The lines of a file with the trees and matches that their queries and events have now."""
    for written in text.splitlines():
        line = json.loads(written)
        line["tree"] = tree_of_text(line["language"], line["query"])
        if not any(key in line for key in BY_HAND):
            line["matches"] = [protocol.json_of_match(match) for match in matches(line)]
        yield json.dumps(line, ensure_ascii=False, separators=(",", ":"))


def matches(line: protocol.Json) -> list[protocol.Match]:
    """The matches of a run message by the definition."""
    language = LANGUAGES[line["language"]]
    schema = None if line.get("schema") is None else schema_of_json(line["schema"])
    S = stream_of_json(line["events"], schema, line["query"], language.row_type)
    output = line.get("output", "matches")
    found = language.matches(language.parse(line["query"]), S, DENOTATIONAL, Options(output))
    return of_output(found, language.name, output)


def main() -> None:
    """Complete all files."""
    for path in files():
        path.write_text("".join(f"{line}\n" for line in completed(path.read_text(encoding="utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
