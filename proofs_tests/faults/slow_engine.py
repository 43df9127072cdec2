"""The built-in evaluator as an engine whose answer to some queries comes long after its limit."""

from __future__ import annotations

import time
from typing import Any
from zlib import crc32

from cerify.commands.engine import serve
from cerify.languages import LANGUAGES
from cerify.languages.language import Options
from cerify.protocol import EngineInfo
from cerify.semantics.events import Match, Stream

CEL = LANGUAGES["cel"]
EACH = 8  # of the queries one is answered late
LATE = 30.0


def matches(query: Any, S: Stream, options: Options) -> list[Match]:
    """The matches, at once or late."""
    if crc32(CEL.syntax.show(query).encode()) % EACH == 0:
        time.sleep(LATE)
    return CEL.evaluators.matches(query, S, "automaton", options)


serve(EngineInfo("slow", "1", ["cel"], ()), {"cel": matches})
