"""An engine of the toy language: `toy.py right`, or with a fault `toy.py short`, which drops words of three letters."""

from __future__ import annotations

import sys
from typing import Any

from cerify.commands.engine import serve
from cerify.languages import LANGUAGES, register
from cerify.languages.language import Options
from cerify.protocol import EngineInfo
from cerify.semantics.events import Match, Stream
from proofs_tests.toy_language import TOY


def short(query: Any, S: Stream, options: Options) -> list[Match]:
    """The matches of up to two events."""
    return [m for m in LANGUAGES["toy"].evaluators.matches(query, S) if len(m.events) < 3]


def right(query: Any, S: Stream, options: Options) -> list[Match]:
    """The matches."""
    return list(LANGUAGES["toy"].evaluators.matches(query, S, "automaton"))


register(TOY)
serve(EngineInfo("toy", "0", ["toy"]), {"toy": {"short": short, "right": right}[sys.argv[1]]})
