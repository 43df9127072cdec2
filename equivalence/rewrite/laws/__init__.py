"""The algebra of CEL: named equations between schematic formulas, those that hold and those that fail.

They are data, a law to a line: holding.jsonl and failing.jsonl, which has of each law the smallest witness found. The
fields are those of `Law`, and the section of docs/laws.md that lists the law.
"""

from __future__ import annotations

import json
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from cerify.equivalence.rewrite.laws.law import Law, Level, Witness, law_of_json


def _read(name: str) -> dict[str, tuple[Law, ...]]:
    """The laws of a file by section."""
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    sections = groupby(map(json.loads, text.splitlines()), itemgetter("section"))
    return {section: tuple(map(law_of_json, laws)) for section, laws in sections}


HOLDING, FAILING = _read("holding.jsonl"), _read("failing.jsonl")
LAWS: tuple[Law, ...] = tuple(law for table in (HOLDING, FAILING) for laws in table.values() for law in laws)

__all__ = ["FAILING", "HOLDING", "LAWS", "Law", "Level", "Witness"]
