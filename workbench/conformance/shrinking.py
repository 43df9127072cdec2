"""How a failing case is made smaller, from the text of its query."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from cerify.equivalence.shrink.shrink import shrink, shrink_stream
from cerify.languages.language import Language
from cerify.semantics.events import Stream

Fails = Callable[[str, Stream], bool]
"""Whether the engine still fails on this query and this stream; a typed error that it raises counts as no."""


def shrink_case(language: Language[Any], query: str, S: Stream, fails: Fails, tries: int) -> None:
    """Call fails with ever smaller queries and streams, starting again from those on which it is true.

    It is called `tries` times at most. Of a language that does not say how its queries get simpler only the stream
    gets shorter.
    """
    if (operations := language.operations()) is None:
        shrink_stream(S, partial(fails, query), tries)
        return
    shrink(operations, language.parse(query), S, lambda phi, S: fails(operations.show(phi), S), tries)
