"""The console of commands: that of rich, without markup; a text is one line, with the escapes of `terminal`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cerify.semantics.packages import naming_extras
from cerify.terminal import printable, shielded

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType


def screen(**options: Any) -> Console:
    """A console that prints text as it is: no markup, no emoji codes, no character that could steer a terminal.

    A text that is printed is one line, with escapes for newlines, whatever of it is from outside.
    options are those of rich's Console. Raises MissingPackage.
    """
    with naming_extras():  # not before, so that the help of commands is there without rich
        from rich.console import Console
        from rich.segment import Segment

    class Screen(Console):
        def print(self, *objects: Any, **options: Any) -> None:
            """As rich's, but a text is one line."""
            super().print(*(printable(one) if isinstance(one, str) else one for one in objects), **options)

        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
            """The segments of text, shielded; those with codes of rich's own as they are."""
            for segment in super().render(renderable, options):
                yield segment if segment.control else Segment(shielded(segment.text), segment.style)

    return Screen(markup=False, emoji=False, highlight=False, **options)
