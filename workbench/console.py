"""The console of commands: that of rich, without markup, and with the escapes of `terminal` in all that it prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cerify.semantics.packages import naming_extras
from cerify.terminal import shielded

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType


def screen(**options: Any) -> Console:
    """A console that prints text as it is: no markup, no emoji codes, no character that could steer a terminal.

    options are those of rich's Console. Raises MissingPackage.
    """
    with naming_extras():  # not before, so that the help of commands is there without rich
        from rich.console import Console
        from rich.segment import Segment

    class Screen(Console):
        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
            """The segments of text, shielded; those with codes of rich's own as they are."""
            for segment in super().render(renderable, options):
                yield segment if segment.control else Segment(shielded(segment.text), segment.style)

    return Screen(markup=False, emoji=False, highlight=False, **options)
