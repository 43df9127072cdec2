"""What an erratum is: the part that is told, beside the claims whose checks find the rest."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Erratum:
    """Claims of one paper that fail together. Their status, counterexample and correction are what their checks find.

    The texts are Markdown: what is printed, why it fails where the counterexample does not say that by itself, and
    what becomes of the result.
    """

    title: str
    claims: tuple[str, ...]
    printed: str
    outcome: str
    why: str | None = None

    @property
    def paper(self) -> str:
        return self.claims[0].partition(".")[0]

    @property
    def anchor(self) -> str:
        """The anchor of its heading, as GitHub and MyST make it."""
        return re.sub(r"[^\w\- ]", "", self.title.lower()).replace(" ", "-")
