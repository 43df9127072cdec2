"""The console of commands: that of rich, without markup, and with the escapes of `terminal` in all that it prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from cerify.terminal import shielded


class Screen(Console):
    """A console that prints text as it is: no markup, no emoji codes, no character that could steer a terminal."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """The segments of text, shielded; those with codes of rich's own as they are."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(shielded(segment.text), segment.style)
