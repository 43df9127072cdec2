"""Explanations of one query over one stream, as commands and notebooks ask for them in every language."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar

from cerify.automata.evaluator import Output
from cerify.semantics.errors import InputError
from cerify.semantics.events import ComplexEvent, Stream, Valuation

if TYPE_CHECKING:
    from cerify.explanations.step import Drawing, View

E = TypeVar("E")
Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """What is to be explained: positions, or what variables bind, or without both every match.

    at: the position of the report. count: the most derivations of one match. limit: the most matches that are
    explained; output: whether each match is explained, or each of its valuations.
    """

    events: ComplexEvent | None = None
    valuation: Valuation | None = None
    at: int | None = None
    count: int = 1
    limit: int = 10
    output: Output = "matches"

    @property
    def single(self) -> bool:
        """Whether one set of positions is to be explained."""
        return self.events is not None or self.valuation is not None


@dataclass(frozen=True)
class Listing(Generic[E]):
    """The explanations of the first matches; more: whether there are others.

    first and last are the positions of which all matches are in found; with more, that is up to the last one found.
    reasons: of a query without any match, what is in the way, if its language knows.
    """

    found: Sequence[E]
    more: bool
    first: int
    last: int
    reasons: tuple[str, ...] = ()


def listing(found: Iterable[E], request: Request, length: int, at: Callable[[E], int]) -> Listing[E]:
    """The first explanations of all in the order of their positions on a stream of `length` events."""
    first, last = (0, length - 1) if request.at is None else (request.at, request.at)
    listed = list(islice(found, request.limit + 1))
    more = len(listed) > request.limit
    shown = listed[: request.limit]
    return Listing(shown, more, first, at(shown[-1]) if more else last)


class Explainer(ABC, Generic[E]):
    """Explanations of the matches of a query over a stream; E is their type.

    S: the stream; positions are those of its events. query: the query, as listing_json writes it. in_order: whether
    the query reads the stream in the order of its positions. heading, legend, walk: the title of a page, how to read
    its drawings, and the heading above the whole stream. idle: the text of a position without a match. nothing: that of
    a page without explanations. hint: which option of the command line explains that there is no match.
    """

    S: Stream
    query: str
    heading: ClassVar[str] = "What matches, and what does not"
    legend: ClassVar[str] = ""
    walk: ClassVar[str] = "The stream, step by step"
    idle: ClassVar[str] = "no match"
    nothing: ClassVar[str] = "Nothing matches."
    hint: ClassVar[str] = "--match POSITIONS says why events are no match, as in --match 0,1."
    in_order: bool = True

    @abstractmethod
    def one(self, request: Request) -> E | None:
        """The explanation of what the request names; None if it names nothing, so that all matches are explained.

        Raises InputError, Unsupported, BudgetExceeded.
        """

    @abstractmethod
    def all(self, request: Request) -> Listing[E]:
        """The explanations of the matches in their order. Raises InputError, Unsupported, BudgetExceeded."""

    @abstractmethod
    def json(self, found: E) -> Json:
        """An explanation as one JSON object."""

    def listing_json(self, listing: Listing[E]) -> Json:
        """A listing as one JSON object."""
        answer = {"query": self.query, "matches": list(map(self.json, listing.found)), "more": listing.more}
        return answer | ({"reasons": list(listing.reasons)} if listing.reasons else {})

    @abstractmethod
    def view(self, found: E) -> View:
        """An explanation as a person sees it."""

    def overview(self, views: Sequence[View]) -> Drawing:
        """The matches that were explained, together."""
        from cerify.draw.timeline import Row
        from cerify.explanations.step import Drawing

        rows = {
            (view.at, view.label): Row("common", view.places, view.at, f"{view.label} at {view.at}") for view in views
        }
        return Drawing(tuple(rows.values()))

    def require_on_stream(self, position: int, option: str) -> None:
        """Raises InputError for a position that is not on the stream; option names where it was given."""
        if not 0 <= position < len(self.S):
            extent = f"{len(self.S)} events, 0 to {len(self.S) - 1}" if len(self.S) else "no events"
            raise InputError(f"{option}: position {position} is not on the stream, which has {extent}")
