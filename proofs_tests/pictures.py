"""The pictures of docs/guide/event-expression-examples.md: `python -m proofs_tests.pictures` writes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cerify.draw.stream import places_svg
from cerify.semantics.events import Event, Stream
from proofs_tests.unit.semantics.gehani import examples
from proofs_tests.unit.semantics.gehani.examples import found, history

FOLDER = Path(__file__).parent.parent / "docs" / "guide" / "pictures"


@dataclass(frozen=True)
class Picture:
    """A history, and expressions on it, each under the text that the picture shows for it."""

    history: str
    expressions: Mapping[str, str]

    def places(self) -> dict[str, list[int]]:
        """Where each of the expressions takes place."""
        return {shown: found(query, self.history) for shown, query in self.expressions.items()}

    def svg(self) -> str:
        """The picture as the text of an SVG file; in the one example that has attributes they are numbers of planes."""
        named = (dict(zip(["plane"], event.attributes.values(), strict=False)) for event in history(self.history))
        events = [Event(event.type, given) for event, given in zip(history(self.history), named, strict=True)]
        return places_svg(Stream(events), self.places())


def _as_written(*queries: str) -> dict[str, str]:
    return {query: query for query in queries}


RACKETBALL = {"H1 or H2 or H3": examples.END_OF_POINT, "by prefix": examples.END_BY_PREFIX}
AIRPORT = {f"{name}(7)": f"{examples.AIRPORT}{name}(7)" for name in ("AT_A", "LAST_B", "UB", "ELAB")}

PICTURES: Mapping[str, Picture] = {
    "bank": Picture(
        "deposit deposit withdraw withdraw interest withdraw deposit withdraw deposit deposit",
        _as_written(
            "deposit",
            "<5> deposit",
            "sequence(deposit, withdraw)",
            "prior(deposit, withdraw)",
            "relative(deposit, !before(interest)) and withdraw",
            "deposit and !prior(!deposit, deposit)",
        ),
    ),
    "discount": Picture(
        "D x D I D D x D D",
        {
            "nested": examples.NESTED_CUT,
            "piped": examples.PIPED_CUT,
            "with a correlation variable": examples.CORRELATED_CUT,
        },
    ),
    "racketball-rally": Picture("s1 front h2 front h1 front", RACKETBALL),
    "racketball-bad-serve": Picture("s1 wall front", RACKETBALL),
    "racketball-twice": Picture("s1 front front", RACKETBALL),
    "racketball-no-return": Picture("s1 front h2 floor front", RACKETBALL),
    "racketball-wrong-player": Picture("s1 front h1", RACKETBALL),
    "airport-other-runway": Picture("EA(7) x LB(7)", AIRPORT),
    "airport-as-expected": Picture("EB(7) LB(8) LB(7) LB(7)", AIRPORT),
    "airport-at-a": Picture("x EA(7) x LA(7) x", AIRPORT),
}


def main() -> None:
    """Write every picture."""
    FOLDER.mkdir(exist_ok=True)
    for name, picture in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(picture.svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
