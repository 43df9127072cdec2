"""Explanations of any language as data (steps, parts, listings), and their conversion to text, JSON and pages.

First the words for values, conditions and windows that all languages use. Then the data: an explainer makes an
`ExplanationView`, and one function for each format writes it, so a new language gets text, JSON and pages without code
of its own. Last the base classes of explainers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice, product
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar, assert_never

from cerify.automata.evaluator import Output
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.denote import at, sup
from cerify.semantics.cel.syntax import show_condition
from cerify.semantics.ecs import shown_fields
from cerify.semantics.errors import InputError, Unsupported
from cerify.semantics.events import TIME, ComplexEvent, Event, Match, Stream, Valuation, bindings_of
from cerify.semantics.predicates import Attribute, holds, mentions, satisfied, show_value
from cerify.semantics.trees import subtrees
from cerify.semantics.values import Value
from cerify.terminal import Line, lines_of, printable

if TYPE_CHECKING:
    from cerify.draw.timeline import Row

SHOWN = 4  # the most events that are listed for one condition; of the others, only the number is given
TRIED = 100_000  # the most combinations of events searched for one that violates a cross-event condition


def reasons_for(condition: cel.Condition, mu: Valuation, S: Stream) -> Iterator[str]:
    """Yield for each atom of the condition a text with the values of the events of mu that make the atom true."""
    for atom in cel.atoms(condition):
        match atom:
            case cel.Every(A, predicate):
                places = positions(mu, A)
                if not places:
                    yield f"{show_condition(atom)}: {A} binds nothing"
                else:
                    names = list(dict.fromkeys(m.name for m in mentions(predicate)))
                    yield f"{show_condition(atom)}: {format_list(event(p, S, names) for p in places)}"
            case cel.Correlated(predicate):
                asked = dict.fromkeys(mentions(predicate))
                shown = [event(p, S, [m.name]) for m in asked for p in positions(mu, m.variable)]
                yield f"{show_condition(atom)}: {format_list(dict.fromkeys(shown))}"
            case cel.Named(_, variables):
                bound = (f"{A} binds {braces(positions(mu, A))}" for A in variables)
                yield f"{show_condition(atom)}: {', '.join(bound)}"
            case _:
                assert_never(atom)


def reasons_against(atom: cel.Atom, mu: Valuation, S: Stream) -> str:
    """Return a text with the values of the events of mu that make an atom false."""
    match atom:
        case cel.Every(A, predicate):
            names = list(dict.fromkeys(m.name for m in mentions(predicate)))
            breaking = [p for p in positions(mu, A) if not holds(predicate, S[p])]
            return f"{show_condition(atom)} is false of {format_list(event(p, S, names) for p in breaking)}"
        case cel.Correlated(predicate):
            asked = list(mentions(predicate))
            for places in islice(product(*(positions(mu, m.variable) for m in asked)), TRIED):
                values = iter([S[p].get(m.name) for p, m in zip(places, asked, strict=True)])
                if not satisfied(predicate, lambda _, values=values: next(values)):  # type: ignore[misc]
                    pairs = dict.fromkeys(_mention(m, p, S) for p, m in zip(places, asked, strict=True))
                    return f"{show_condition(atom)} is false: {', '.join(pairs)}"
            return f"{show_condition(atom)} is false"
        case cel.Named(_, variables):
            bound = (f"{A} binds {braces(positions(mu, A))}" for A in variables)
            return f"{show_condition(atom)} is false: {', '.join(bound)}"
        case _:
            assert_never(atom)


def of_window(window: cel.Window, mu: Valuation, S: Stream) -> str:
    """Describe the first and the last event that mu binds, with the values that the window measures."""
    places = sorted(sup(mu))
    if not places:
        return "there is no event"
    match window:
        case cel.EventWindow():
            return f"from position {places[0]} to position {places[-1]}"
        case cel.TimeWindow():
            name = TIME
        case cel.AttributeWindow(_, name):
            pass
        case _:
            assert_never(window)
    return f"from {event(places[0], S, [name])} to {event(places[-1], S, [name])}"


def event(position: int, S: Stream, names: Iterable[str] | None = None) -> str:
    """Format an event: its position, and the values of these attributes, or of all."""
    shown = S[position].attributes if names is None else names
    values = ", ".join(f"{printable(name)} {_is(S[position].get(name))}" for name in shown)
    return f"event {position} ({values})" if values else f"event {position}"


def row(event: Event) -> str:
    """Format an event's type and attributes on one line."""
    said = (f"{name}={'null' if value is None else show_value(value)}" for name, value in shown_fields(event))
    return printable(" ".join([event.type, *said]))


def value_text(value: Value | None) -> str:
    """Format the value of an event's attribute on one line."""
    return "absent" if value is None else printable(show_value(value))


def positions(mu: Valuation, A: str | None) -> list[int]:
    """Return the positions that mu binds to A, ascending."""
    return sorted(p for _, p in at(mu, A))


def braces(places: Iterable[int]) -> str:
    """Format a complex event as the papers write it, such as {1, 3}."""
    return "{" + ", ".join(map(str, sorted(places))) + "}"


def bindings_text(mu: Valuation) -> str:
    """Format a valuation: each variable with the positions that it binds."""
    return ", ".join(f"{A} -> {braces(places)}" for A, places in bindings_of(mu)) or "no bindings"


def format_list(texts: Iterable[str]) -> str:
    """Join the texts with commas; of a long list, only the first few, with the number of the others."""
    known = list(texts)
    more = f" and {len(known) - SHOWN} more" if len(known) > SHOWN else ""
    return ", ".join(known[:SHOWN]) + more


def _mention(m: Attribute, position: int, S: Stream) -> str:
    return f"{m.variable}.{m.name} of event {position} {_is(S[position].get(m.name))}"


def _is(value: Value | None) -> str:
    return "is absent" if value is None else f"= {value_text(value)}"


# ---------------------------------------------------------------------------------------------------------------------
# The form in which users see an explanation in every language: a sentence, a drawing, and steps under headings.
#
# A derivation is a tree of steps, a run is a sequence of steps. An explainer makes an `ExplanationView`, which is
# written as text, as JSON, or as a page by the macros of step.html.

N = TypeVar("N")
Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class ExplanationStep:
    """A step of an explanation, with the steps on which it depends (children).

    text: a part of the query, or a step of a run in words. where: the part of the stream. bound: the bindings of
    variables. clause: the clause that is applied, with its citation. facts: facts about the stream. move: in a run, the
    kind of the step. formula: the condition for this step. json: the step as JSON, without its children.
    """

    text: str
    where: str = ""
    bound: str = ""
    clause: str = ""
    facts: tuple[str, ...] = ()
    children: tuple[ExplanationStep, ...] = ()
    move: str = ""
    formula: str = ""
    json: Json = field(default_factory=dict)


def tree_of(
    root: N, below: Callable[[N], Sequence[N]], step: Callable[[N, tuple[ExplanationStep, ...]], ExplanationStep]
) -> ExplanationStep:
    """Return a tree of another kind as a tree of steps.

    below: returns the children of a node. step: makes the step of a node, given the steps of its children.
    """
    made: dict[int, ExplanationStep] = {}
    # In reverse preorder children come before their parents; recursion would fail on the derivation of a long loop.
    for node in reversed(list(subtrees(root, below))):
        made[id(node)] = step(node, tuple(made[id(child)] for child in below(node)))
    return made[id(root)]


def nodes(root: ExplanationStep) -> Iterator[ExplanationStep]:
    """Yield all steps of a tree, each before those below it."""
    return subtrees(root, attrgetter("children"))


def json_of_tree(root: ExplanationStep) -> Json:
    """Return a tree of steps as JSON."""
    made: dict[int, Json] = {}
    for step in reversed(list(nodes(root))):
        made[id(step)] = {**step.json, "children": [made[id(child)] for child in step.children]}
    return made[id(root)]


def json_of_run(steps: Iterable[ExplanationStep]) -> list[Json]:
    """Return a run as JSON."""
    return [step.json for step in steps]


@dataclass(frozen=True)
class Drawing:
    """Sets of positions to draw on a stream, a row for each set. marks: additional text for some events."""

    rows: tuple[Row, ...]
    marks: Mapping[int, str] = field(default_factory=dict)

    def svg(self, S: Stream) -> str:
        """Return the timeline as inline SVG; for a long stream, only the part near the rows and the marks."""
        from cerify.draw.timeline import columns, timeline

        places = {p for row in self.rows for p in (*row.positions, row.at) if p is not None} | self.marks.keys()
        return timeline(columns(S, places or {0, len(S) - 1}, self.marks), self.rows)


@dataclass(frozen=True)
class ExplanationPart:
    """A part of an explanation, with or without a heading.

    trees: derivations or reasons, as trees of steps. run: the steps of a run, in order. lines: further text.
    """

    heading: str = ""
    trees: tuple[ExplanationStep, ...] = ()
    run: tuple[ExplanationStep, ...] = ()
    lines: tuple[str, ...] = ()
    drawing: Drawing | None = None


@dataclass(frozen=True)
class ExplanationView:
    """The explanation of a set of positions, reported at `at`, as text and drawings.

    matched: whether the positions are a match of the query. places: the positions. label: their name in a list of
    matches. listed: whether their events are printed below the sentence. more: if only some of the possible parts are
    shown, the plural of their kind, such as "derivations"; else "".
    """

    sentence: str
    matched: bool
    places: tuple[int, ...]
    at: int
    label: str
    parts: tuple[ExplanationPart, ...]
    drawing: Drawing | None = None
    listed: bool = False
    more: str = ""


def numbered(word: str, parts: Sequence[ExplanationPart]) -> tuple[ExplanationPart, ...]:
    """Return the parts with headings, each the word and a number; a single part gets no heading."""
    if len(parts) == 1:
        return tuple(parts)
    return tuple(
        ExplanationPart(f"{word} {number}", part.trees, part.run, part.lines, part.drawing)
        for number, part in enumerate(parts, 1)
    )


M = TypeVar("M", bound=Match)


def json_of_nearest(matches: Iterable[Iterable[int]], asked: frozenset[int]) -> list[Json]:
    """Return the matches nearest to the given positions, with their differences, as JSON."""
    return [
        {"events": sorted(C), "missing": sorted(C - asked), "extra": sorted(asked - C)} for C in map(frozenset, matches)
    ]


def find_nearest(matches: Iterable[M], asked: frozenset[int], most: int = 3) -> list[M]:
    """Return at most `most` matches with one of the given positions, first those that differ in the fewest positions.

    If no positions are given, every match is considered.
    """
    sharing = (match for match in matches if not asked or not asked.isdisjoint(match.events))
    return sorted(sharing, key=lambda match: (len(asked.symmetric_difference(match.events)), match))[:most]


def nearest(
    at: str, matches: Iterable[Iterable[int]], asked: frozenset[int], none: str = ""
) -> tuple[ExplanationPart, ...]:
    """Return the matches nearest to the given positions, with their differences.

    none: the line to show if there are no such matches; if it is "", return () then.
    """
    lines = tuple(f"{braces(C)}: {changes(frozenset(C), asked)}" for C in map(frozenset, matches))
    lines = lines or ((none,) if none else ())
    return (ExplanationPart(f"nearest matches{at}", lines=lines),) if lines else ()


def changes(near: frozenset[int], asked: frozenset[int]) -> str:
    """Describe how to change the given positions to get this match."""
    words = (("with", near - asked), ("without", asked - near))
    return " and ".join(f"{word} {', '.join(map(str, sorted(places)))}" for word, places in words if places)


# ---------------------------------------------------------------------------------------------------------------------
# Explainers: the interface to the explanations of a query over a stream, for commands and notebooks.

E = TypeVar("E")


@dataclass(frozen=True)
class Request:
    """A request to explain positions, or the bindings of variables, or every match if neither is given.

    at: the position at which the match is reported. count: the most derivations of one match. limit: the most matches
    that are explained. output: whether each match is explained, or each of its valuations.
    """

    events: ComplexEvent | None = None
    valuation: Valuation | None = None
    at: int | None = None
    count: int = 1
    limit: int = 10
    output: Output = "matches"

    @property
    def single(self) -> bool:
        """Return whether the request is for one set of positions."""
        return self.events is not None or self.valuation is not None


@dataclass(frozen=True)
class Listing(Generic[E]):
    """The explanations of the first matches. more: whether there are more matches.

    found: the explanations of all matches at the positions from `first` to `last`; with `more`, some matches at `last`
    may be left out. reasons: if the query has no match, the reasons, if the explainer finds them.
    """

    found: Sequence[E]
    more: bool
    first: int
    last: int
    reasons: tuple[str, ...] = ()


def listing(found: Iterable[E], request: Request, length: int, at: Callable[[E], int]) -> Listing[E]:
    """Return the first explanations for a request, in the order of their positions, on a stream of `length` events."""
    first, last = (0, length - 1) if request.at is None else (request.at, request.at)
    listed = list(islice(found, request.limit + 1))
    more = len(listed) > request.limit
    shown = listed[: request.limit]
    return Listing(shown, more, first, at(shown[-1]) if more else last)


class Explainer(ABC, Generic[E]):
    """An explainer of the matches of a query over a stream; E is the type of an explanation.

    S: the stream; positions are those of its events. query: the text of the query. in_order: whether the query reads
    the stream in the order of its positions. heading, legend, walk: the title of a page, how to read its drawings, and
    the heading above the whole stream. idle: the text for a position without a match. nothing: the text of a page
    without explanations. hint: a sentence about the command-line option that explains why events are not a match.
    """

    S: Stream
    query: str
    heading: ClassVar[str] = "What matches, and what does not"
    legend: ClassVar[str] = ""
    walk: ClassVar[str] = "The stream, step by step"
    idle: ClassVar[str] = "no match"
    nothing: ClassVar[str] = "Nothing matches."
    hint: ClassVar[str] = "--match POSITIONS explains why events are not a match, as in --match 0,1."
    in_order: bool = True

    @abstractmethod
    def explain_request(self, request: Request) -> E | None:
        """Return the explanation of the requested positions; None if the request is for all matches.

        Raises InputError, Unsupported, BudgetExceeded.
        """

    @abstractmethod
    def all(self, request: Request) -> Listing[E]:
        """Return the explanations of the matches in their order. Raises InputError, Unsupported, BudgetExceeded."""

    @abstractmethod
    def json(self, found: E) -> Json:
        """Return an explanation as the JSON object that `cerify explain --json` prints."""

    def listing_json(self, listing: Listing[E]) -> Json:
        """Return a listing as one JSON object."""
        answer = {"query": self.query, "matches": list(map(self.json, listing.found)), "more": listing.more}
        return answer | ({"reasons": list(listing.reasons)} if listing.reasons else {})

    @abstractmethod
    def view(self, found: E) -> ExplanationView:
        """Return an explanation in the form that users see."""

    def overview(self, views: Sequence[ExplanationView]) -> Drawing:
        """Return one drawing that shows the matches of all these explanations."""
        from cerify.draw.timeline import Row

        rows = {
            (view.at, view.label): Row("common", view.places, view.at, f"{view.label} at {view.at}") for view in views
        }
        return Drawing(tuple(rows.values()))

    def require_on_stream(self, position: int, option: str) -> None:
        """Raise InputError for a position that is not on the stream. option: the option that gave the position."""
        if not 0 <= position < len(self.S):
            extent = f"{len(self.S)} events, 0 to {len(self.S) - 1}" if len(self.S) else "no events"
            raise InputError(f"{option}: position {position} is not on the stream, which has {extent}")


# ---------------------------------------------------------------------------------------------------------------------
# The explainer of a language without explanations of its own: whether positions are a match, and the nearest matches.

NONE_NEAR = "none: no match has any of these events"


@dataclass(frozen=True)
class MembershipAnswer:
    """The answer whether positions are a match reported at a position; if they are not, the nearest matches."""

    events: ComplexEvent
    at: int
    match: bool
    nearest: tuple[Match, ...] = ()


class PlainExplainer(Explainer[MembershipAnswer]):
    """An explainer that uses only the matches of the query, without its parts."""

    def __init__(self, matches: Sequence[Match], S: Stream, query: str) -> None:
        self.matches, self.S, self.query = matches, S, query

    def explain_request(self, request: Request) -> MembershipAnswer | None:
        if request.valuation is not None:
            raise Unsupported("in this language, only the positions of a match can be explained, not bindings")
        if request.events is None:
            return None
        if not request.events and request.at is None:
            raise InputError("an empty match needs --at, because it has no last event")
        C, at = request.events, max(request.events) if request.at is None else request.at
        for place in (*sorted(C), at):
            self.require_on_stream(place, "--match")
        if any(m.at == at and set(m.events) == C for m in self.matches):
            return MembershipAnswer(C, at, True)
        return MembershipAnswer(C, at, False, tuple(find_nearest(self.matches, C)))

    def all(self, request: Request) -> Listing[MembershipAnswer]:
        found = [MembershipAnswer(frozenset(m.events), m.at, True) for m in self.matches if request.at in (None, m.at)]
        return listing(found, request, len(self.S), lambda one: one.at)

    def json(self, found: MembershipAnswer) -> Json:
        answer: Json = {"query": self.query, "events": sorted(found.events), "at": found.at, "match": found.match}
        near = [{"events": list(m.events), "at": m.at} for m in found.nearest]
        return answer if found.match else answer | {"nearest": near}

    def view(self, found: MembershipAnswer) -> ExplanationView:
        from cerify.draw.timeline import Row

        label = braces(found.events)
        sentence = f"{label} is {'a' if found.match else 'not a'} match at {found.at}"
        rows = [Row("common" if found.match else "extra", sorted(found.events), found.at, sentence)]
        rows += [Row("common", m.events, m.at, f"nearest match · {braces(m.events)} at {m.at}") for m in found.nearest]
        parts = nearest("", (m.events for m in found.nearest), found.events, "" if found.match else NONE_NEAR)
        return ExplanationView(
            sentence, found.match, tuple(sorted(found.events)), found.at, label, parts, Drawing(tuple(rows)), True
        )


# ---------------------------------------------------------------------------------------------------------------------
# Explanations as text: a tree has a line for each step, a line for its clause, and the steps on which it depends.

STYLES = {"begin": "green", "take": "blue", "ignore": "dim", "proceed": "dim", "stuck": "red"}  # of the moves of a run


def explanation_lines(explainer: Explainer[E], found: E) -> Iterator[Line]:
    """Yield the lines of the explanation of a set of positions."""
    return _view(explainer.view(found), explainer.S)


def _view(view: ExplanationView, S: Stream) -> Iterator[Line]:
    yield from lines_of(view.sentence, "bold green" if view.matched else "bold red")
    for p in view.places if view.listed else ():
        yield Line([(f"  {p}  {row(S[p])}", "dim")])
    for part in view.parts:
        yield Line()
        yield from _part(part)
    if view.more:
        yield from lines_of(f"\nThere are more {view.more}: `cerify explain --derivations N` shows N of them.", "dim")


def listing_lines(explainer: Explainer[E], listing: Listing[E]) -> Iterator[Line]:
    """Yield the lines of a listing, position by position."""
    if not explainer.S:
        yield from lines_of(f"{explainer.idle} in 0 events")
    first = listing.first if explainer.in_order else len(explainer.S)
    for view in map(explainer.view, listing.found):
        yield from _idle(first, view.at - 1, explainer.idle)
        if first <= view.at or not explainer.in_order:
            when = f"{'after event' if explainer.in_order else 'at row'} {view.at}"
            yield Line([(f"{when}: {row(explainer.S[view.at])}", "bold")])
        first = max(first, view.at + 1)
        yield from _view(view, explainer.S)
        yield Line()
    if listing.more:
        shown = len(listing.found)
        yield from lines_of(f"\nThere are more than {shown}: --limit N explains the first N matches.", "dim")
    elif explainer.in_order or not listing.found:
        yield from _idle(first if explainer.in_order else listing.first, listing.last, explainer.idle)
    yield from _part(ExplanationPart(lines=tuple(map(printable, listing.reasons))))
    if explainer.S and not listing.found and not listing.reasons:
        yield from lines_of(explainer.hint, "dim")


def _idle(first: int, last: int, idle: str) -> Iterator[Line]:
    if first <= last:
        where = f"event {first}" if first == last else f"events {first} to {last}"
        yield from lines_of(f"after {where}: {idle}\n", "dim")


def _part(part: ExplanationPart) -> Iterator[Line]:
    if part.heading:
        yield from lines_of(part.heading, "bold")
        yield from _below(part.trees, "")
    else:
        for root in part.trees:
            yield from _step(root, "", "", "")
    for step in part.run:
        yield Line([("  ", ""), (f"{step.move:<8}", STYLES[step.move]), (step.text, "")], rest=" " * 10)
        for fact in step.facts:
            yield Line([(f"            {fact}", "dim")], rest=" " * 12)
    for line in part.lines:
        yield Line([(f"  {line}", "")], rest="  ")


def _below(steps: Sequence[ExplanationStep], guide: str) -> Iterator[Line]:
    """Yield the lines of steps as branches of a tree. guide: the text before the branches on each line."""
    for step in steps[:-1]:
        yield from _step(step, f"{guide}├── ", f"{guide}│   ", f"{guide}│   ")
    for step in steps[-1:]:
        yield from _step(step, f"{guide}└── ", f"{guide}    ", f"{guide}    ")


def _step(step: ExplanationStep, first: str, rest: str, below: str) -> Iterator[Line]:
    """Yield the lines of a step: its text, its clause and its facts, and the steps below it.

    first, rest, below: the texts before its first line, before its other lines, and before the steps below it.
    """
    heading = [(step.text, "bold cyan"), (f"  {step.where}", ""), (f"  {step.bound}" if step.bound else "", "green")]
    yield Line(heading, first, rest)
    styled = [(step.clause, "yellow")] if step.clause else []
    for text, style in (*styled, *((fact, "dim") for fact in step.facts)):
        yield from (Line([(line, style)], rest, rest) for line in text.split("\n"))
    yield from _below(step.children, below)


# ---------------------------------------------------------------------------------------------------------------------
# Explanations as a self-contained HTML page: the stream as a timeline, and steps that unfold.

Walked: TypeAlias = tuple[str, str, list[tuple[str, int]]]
"""An entry of the walk through a stream: the position or positions, the event, and the matches with their numbers."""


def render(explainer: Explainer[E], found: Sequence[E], listing: Listing[E] | None = None) -> str:
    """Return an HTML page with explanations. The page of a listing begins with the whole stream, event by event."""
    from cerify.draw.diagram import markup, page

    S, views = explainer.S, list(map(explainer.view, found))
    walked = list(_walked(S, range(listing.first, listing.last + 1), views)) if listing else []
    return page(
        "explanations/page.html",
        explainer=explainer,
        length=len(S),
        views=views,
        svg=lambda drawing: markup(drawing.svg(S)),
        walked=walked,
        overview=explainer.overview(views) if walked else None,
        more=listing is not None and listing.more,
        reasons=listing.reasons if listing else (),
    )


def _walked(S: Stream, positions: range, views: Sequence[ExplanationView]) -> Iterator[Walked]:
    """Yield an entry for each event; on a long stream, a run of events without a match is one entry."""
    from cerify.draw.timeline import WHOLE

    found: dict[int, dict[str, int]] = {}
    for number, view in enumerate(views, 1):
        found.setdefault(view.at, {}).setdefault(view.label, number)
    for idle, together in groupby(positions, key=lambda p: len(positions) > WHOLE and p not in found):
        run = list(together)
        if idle and len(run) > 1:
            yield f"{run[0]} to {run[-1]}", f"{len(run)} events", []
        else:
            yield from ((str(p), row(S[p]), list(found.get(p, {}).items())) for p in run)
