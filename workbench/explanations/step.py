"""What a person sees of an explanation, in every language: a sentence, a drawing, and steps under headings.

A derivation by clauses is a tree of steps, a run a sequence. An explainer makes a `View` of what it has found; text.py
prints it, html.py writes it on a page by the macros of step.html, and steps are written as JSON here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, TypeAlias, TypeVar

from cerify.draw.stream import columns
from cerify.draw.timeline import Row, timeline
from cerify.explanations.evidence import braces
from cerify.semantics.events import Stream
from cerify.semantics.trees import subtrees

N = TypeVar("N")
Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Step:
    """One step: what it is about, and what it rests on.

    text: a part of the query, or the step of a run in words. where: the part of the stream. bound: what variables bind.
    clause: the clause that is applied, with its citation. facts: what the stream shows. move: the kind of a run's step;
    formula: what holds at it. json: the step as JSON, its children aside.
    """

    text: str
    where: str = ""
    bound: str = ""
    clause: str = ""
    facts: tuple[str, ...] = ()
    children: tuple[Step, ...] = ()
    move: str = ""
    formula: str = ""
    json: Json = field(default_factory=dict)


def tree_of(root: N, below: Callable[[N], Sequence[N]], step: Callable[[N, tuple[Step, ...]], Step]) -> Step:
    """The steps of a tree of another kind: step makes one of a node and the steps below it."""
    made: dict[int, Step] = {}
    for node in reversed(list(subtrees(root, below))):
        made[id(node)] = step(node, tuple(made[id(child)] for child in below(node)))
    return made[id(root)]


def nodes(root: Step) -> Iterator[Step]:
    """All steps of a tree, each before those below it."""
    return subtrees(root, attrgetter("children"))


def json_of_tree(root: Step) -> Json:
    """A tree of steps as JSON."""
    made: dict[int, Json] = {}
    for step in reversed(list(nodes(root))):
        made[id(step)] = {**step.json, "children": [made[id(child)] for child in step.children]}
    return made[id(root)]


def json_of_run(steps: Iterable[Step]) -> list[Json]:
    """A run as JSON."""
    return [step.json for step in steps]


@dataclass(frozen=True)
class Drawing:
    """Sets of positions on the stream, a row for each; marks are a further line for some events."""

    rows: tuple[Row, ...]
    marks: Mapping[int, str] = field(default_factory=dict)

    def svg(self, S: Stream) -> str:
        """The timeline as inline SVG; of a long stream only what is near to the rows and the marks."""
        places = {p for row in self.rows for p in (*row.positions, row.at) if p is not None} | self.marks.keys()
        return timeline(columns(S, places or {0, len(S) - 1}, self.marks), self.rows)


@dataclass(frozen=True)
class Part:
    """A part of an explanation, under a heading or without one.

    trees: derivations, or reasons. run: the steps of a run, in their order. lines: what else there is to read.
    """

    heading: str = ""
    trees: tuple[Step, ...] = ()
    run: tuple[Step, ...] = ()
    lines: tuple[str, ...] = ()
    drawing: Drawing | None = None


@dataclass(frozen=True)
class View:
    """What a set of positions, reported at `at`, is to the query: matched says whether it is a match.

    places: the positions. label: what a list of matches calls them. listed: whether their events are printed below the
    sentence. more: of what there is more than the parts show, in the plural; "" if there is no more.
    """

    sentence: str
    matched: bool
    places: tuple[int, ...]
    at: int
    label: str
    parts: tuple[Part, ...]
    drawing: Drawing | None = None
    listed: bool = False
    more: str = ""


def numbered(word: str, parts: Sequence[Part]) -> tuple[Part, ...]:
    """The parts with headings: the word and a number; without one if there is only one part."""
    if len(parts) == 1:
        return tuple(parts)
    return tuple(
        Part(f"{word} {number}", part.trees, part.run, part.lines, part.drawing) for number, part in enumerate(parts, 1)
    )


def json_of_nearest(matches: Iterable[Iterable[int]], asked: frozenset[int]) -> list[Json]:
    """The matches that differ least from the positions in question, and in what, as JSON."""
    return [
        {"events": sorted(C), "missing": sorted(C - asked), "extra": sorted(asked - C)} for C in map(frozenset, matches)
    ]


def nearest(at: str, matches: Iterable[Iterable[int]], asked: frozenset[int]) -> tuple[Part, ...]:
    """The matches that differ least from the positions in question, and in what; no part if there are none."""
    lines = tuple(f"{braces(C)}: {changes(frozenset(C), asked)}" for C in map(frozenset, matches))
    return (Part(f"nearest matches{at}", lines=lines),) if lines else ()


def changes(near: frozenset[int], asked: frozenset[int]) -> str:
    """How to get from the positions in question to a match, in words."""
    words = (("with", near - asked), ("without", asked - near))
    return " and ".join(f"{word} {', '.join(map(str, sorted(places)))}" for word, places in words if places)
