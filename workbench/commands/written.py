"""What a command prints of a file that it has written."""

from __future__ import annotations

import json
from pathlib import Path

from cerify.terminal import echo


def echo_written(query: str, language: str, file: Path, summary: str, as_json: bool) -> None:
    """Print the file and what it shows, as a line or as one JSON object."""
    answer = {"language": language, "query": query, "file": str(file), "summary": summary}
    echo(json.dumps(answer, ensure_ascii=False) if as_json else f"{file}: {summary}")
