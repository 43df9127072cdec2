"""What an erratum is: the part that is told, beside the claims whose checks find the rest."""

from __future__ import annotations

import re
from dataclasses import dataclass

TEXTS = {
    "tods21": "the authors' version of January 2021 (49 pages), as text that was read from its pages",
    "cep17": "a web version of arXiv:1709.05369, whose formulas and listings are lost",
    "sase07": "the technical report, as text that was read from its pages; Queries 2 to 5 are lost",
    "icde08": "the short paper of four pages, as text that was read from its pages",
    "vldb92": "a scan of the proceedings, as text that was read from it",
}
"""Which copy of a paper was read."""


@dataclass(frozen=True)
class DamagedText:
    """Claims of one paper that fail as the copy at hand has them, where damage of that copy would explain it.

    They are no errata: no other copy that settles what was printed is at hand.
    """

    claims: tuple[str, ...]
    printed: str
    damage: str


@dataclass(frozen=True)
class Erratum:
    """Claims of one paper that fail together. Their status, counterexample and correction are what their checks find.

    The texts are Markdown: what is printed, whether damage of the copy that was read (TEXTS) would explain it, why it
    fails where the counterexample does not say that by itself, and what becomes of the result.
    """

    title: str
    claims: tuple[str, ...]
    printed: str
    outcome: str
    why: str | None = None
    damage: str = "No: the words around say the same."

    @property
    def paper(self) -> str:
        return self.claims[0].partition(".")[0]

    @property
    def anchor(self) -> str:
        """The anchor of its heading, as GitHub and MyST make it."""
        return re.sub(r"[^\w\- ]", "", self.title.lower()).replace(" ", "-")
