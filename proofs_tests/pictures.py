"""The pictures of the documentation: `python -m proofs_tests.pictures` writes them.

Those of docs/guide/event-expression-examples.md and row-patterns.md are in docs/guide/pictures. In
docs/theory/pictures are automata, and the nodes of an evaluator's run as they grow, a picture for each step that a
chapter shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from warnings import catch_warnings, simplefilter

from cerify.api import preference_tree, record, svg_of
from cerify.draw.diagram import DRAWINGS, document, svg
from cerify.draw.recording import Recording
from cerify.draw.stepper import growth_svg
from cerify.draw.timeline import places_svg
from cerify.semantics.errors import QueryWarning
from cerify.semantics.events import Event, Stream
from proofs_tests.unit.semantics import expression_cases as examples
from proofs_tests.unit.semantics.expression_cases import found, history

THEORY = Path(__file__).parent.parent / "docs" / "theory" / "pictures"
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


RISE = "PATTERN SEQ(Stock+ a[], End b) WHERE skip_till_next_match(a[], b) { a[i].price > a[i-1].price } RETURN b.at"
ANY = "PATTERN SEQ(Stock+ a[], End b) WHERE skip_till_any_match(a[], b) { } RETURN b.at"

TOPS = (
    "MATCH_RECOGNIZE (ORDER BY day PATTERN ((UP | DOWN)+ TOP) "
    "DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price), TOP AS price > 13)"
)

AUTOMATA: Mapping[str, tuple[str, str]] = {  # a query, and its language
    "sequence": ("A ; B", "cel"),
    "iteration": ("A+ ; B", "cel"),
    "contiguous": ("A:+", "cel"),
    "unless": ("A UNLESS B", "cel"),
    "pipe": ("(I or D) | sequence(D, D)", "event-expression"),
    "rise": (RISE, "sase"),
}


@dataclass(frozen=True)
class Growth:
    """A query whose run is drawn at some steps, and the stream: event types, each with a value after a dot, or none.

    steps: the events after which it is drawn. attribute: of which the values are.
    """

    query: str
    stream: str
    steps: Sequence[int]
    language: str = "cel"
    attribute: str = "key"

    def run(self) -> Recording:
        """The run of the evaluator."""
        parts = (word.partition(".") for word in self.stream.split())
        events = [Event(T, {self.attribute: int(v) if v.isdigit() else v} if v else {}) for T, _, v in parts]
        with catch_warnings():  # the events of a drawing have only the attributes that it shows
            simplefilter("ignore", QueryWarning)
            return record(self.query, Stream(events), self.language)

    def svgs(self) -> dict[int, str]:
        """A picture for each of the steps, as the text of an SVG file."""
        run = self.run()
        styles = (*DRAWINGS, "draw/growth.css")
        return {n: document(growth_svg(run, run.steps[n + 1]), styles) for n in self.steps}


GROWING: Mapping[str, Growth] = {
    "lists": Growth("A ; B", "A A B A B", (2, 4)),  # Algorithm 2: lists that grow at their ends
    "iteration": Growth("A+ ; B", "A A A B", range(1, 4)),  # shared nodes: seven complex events, six nodes and ⊥
    "window": Growth("(A ; B) WITHIN 3 EVENTS", "A A B A B", (2, 3, 4)),  # unions, the more recent set first
    "keys": Growth("(A ; B) PARTITION BY [key]", "A.x A.y A.x B.x B.y", (3, 4)),  # a series for each key
    "buffer": Growth(RISE, "Stock.10 Stock.8 Stock.12 End", range(1, 4), "sase", "price"),  # a node for each run
    "shared": Growth(ANY, "Stock.10 Stock.8 Stock.12 End", (2, 3), "sase", "price"),  # runs that become one
}


def row_preference() -> str:
    """The tree of docs/guide/row-patterns.md as the text of an SVG file."""
    rows = [{"day": day, "symbol": "ACME", "price": price} for day, price in enumerate((12, 17, 11, 9, 14, 15, 8), 1)]
    return document(svg(preference_tree(TOPS, rows, 3)))


def theory() -> dict[str, str]:
    """The pictures of docs/theory/pictures by the names of their files: lists-2.svg after event 2, and so on."""
    automata = {f"automaton-{name}.svg": svg_of(query, language) for name, (query, language) in AUTOMATA.items()}
    growing = {f"{name}-{n}.svg": svg for name, growth in GROWING.items() for n, svg in growth.svgs().items()}
    return automata | growing


def main() -> None:
    """Write every picture."""
    FOLDER.mkdir(exist_ok=True)
    THEORY.mkdir(exist_ok=True)
    for file, text in theory().items():
        (THEORY / file).write_text(text, encoding="utf-8")
    (FOLDER / "row-preference.svg").write_text(row_preference(), encoding="utf-8")
    for name, picture in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(picture.svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
