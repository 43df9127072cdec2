"""The labellings of a row pattern at a row as a tree, from the most to the least preferred one.

A node is a row that was given a label after those on the way to it, in the order in which the definition tries them. A
row whose condition is not true is a leaf. A labelling that is complete ends in its number; the first one is the match.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from cerify.automata.row_pattern.evaluate import answers
from cerify.draw.diagram import MOST_STATES, Diagram, Edge, EdgeKind, State
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded, IllFormed, InputError
from cerify.semantics.events import Stream
from cerify.semantics.row_pattern.clauses import MatchRecognize
from cerify.semantics.row_pattern.denote import Label, Labelling, visible_rows
from cerify.semantics.row_pattern.interpreter import Watch
from cerify.semantics.row_pattern.output import Output
from cerify.semantics.row_pattern.reading import STANDARD
from cerify.semantics.row_pattern.search_text import condition_text
from cerify.semantics.row_pattern.traced import Attempt, Traced

MOST_NODES = MOST_STATES - 3  # without the root, the end of the match, and one more
MOST_ROWS = 30
BUDGET = Budget(valuations=20_000)
LEGEND = "In the order of preferment, from the left or the top; a number ends a labelling, and 1 is the match."


@dataclass
class _Node:
    """A row with a label, or the end of a labelling; lines: what is said beside the arrow that leads to it."""

    name: str
    lines: tuple[str, ...]
    kind: EdgeKind
    children: list[_Node] = field(default_factory=list)
    is_whole: bool = True  # whether all that was tried after it is there

    def child(self, name: str) -> _Node | None:
        """The last child, if it has this name and is no end."""
        last = self.children[-1] if self.children else None
        return last if last is not None and last.name == name and last.kind != "end" else None


@dataclass
class _Tree:
    """The tree so far.

    room: for how many nodes, besides the match. hidden: the attempts that are not in it. complete: the labellings that
    are complete; shown: those of them in it.
    """

    traced: Traced
    places: Sequence[int]
    made: Output
    room: int
    root: _Node = field(default_factory=lambda: _Node("in", (), "label"))
    hidden: int = 0
    complete: int = 0
    shown: int = 0

    def attempted(self, one: Attempt) -> None:
        """Add a row that was given a label, if there is room."""
        parent = self._reached(one.labels[:-1])
        if parent is None or (parent.child(one.labels[-1]) is None and self.room <= 0):
            self.hidden += 1
            if parent is not None:
                parent.is_whole = False
        elif parent.child(one.labels[-1]) is None:
            self.room -= 1
            parent.children.append(self._node(one.labels, one))

    def completed(self, w: Labelling) -> None:
        """Add the end of a labelling if there is room, and of the first one anyway."""
        self.complete += 1
        labels = tuple(label.variable for label in w)
        node = self.root
        for k in range(len(labels)) if self.complete == 1 else ():
            after = node.child(labels[k])
            if after is None:
                after = self._node(labels[: k + 1], None)
                node.children.append(after)
            after.kind = "match"
            node = after
        reached = self._reached(labels)
        if reached is not None and (self.room > 0 or self.complete == 1):
            self.shown += 1
            self.room -= 1
            reached.children.append(_Node(str(self.complete), (), "end"))
        elif reached is not None:
            reached.is_whole = False

    def _reached(self, labels: Sequence[str]) -> _Node | None:
        """The node of a labelling that was reached last; None if it is not there."""
        node: _Node | None = self.root
        for label in labels:
            node = None if node is None else node.child(label)
        return node

    def _node(self, labels: tuple[str, ...], one: Attempt | None) -> _Node:
        """The node of the last of these labels; one: how it was tried, None if it is taken."""
        A, r = labels[-1], self.traced.s + len(labels) - 1
        if one is not None and not one.there:
            return _Node(A, ("there is no row",), "fail")
        where = f"row {self.places[r]}"
        if one is None or one.outcome or A not in self.traced.q.conditions:
            return _Node(A, (where,), "label")
        frame = self.traced.frame(tuple(map(Label, labels)), len(labels))
        outcome = " is unknown" if one.outcome is None else " is false"
        return _Node(A, (f"{where}: {condition_text(self.made, A, frame, outcome)}",), "fail")


def preference_tree(q: MatchRecognize, S: Stream, place: int, title: str) -> Diagram:
    """The labellings at the row of a table with this position.

    Raises InputError where there is no such row, and BudgetExceeded where the match is too long to draw.
    """
    if not 0 <= place < len(S):
        raise InputError(f"there is no row {place}: the table has {len(S)} rows, numbered from 0")
    made = Output(q, S)
    partition, s = made.place[place]
    visible, number = visible_rows(made.q, s, len(partition)), _number(made, place)
    traced = Traced(made.q, partition, s, visible, number, STANDARD, Watch(BUDGET.valuations))
    match: Labelling = ()
    with suppress(BudgetExceeded):  # then the tree has what is tried until then
        match = next(replace(traced, watch=Watch(BUDGET.valuations)).labellings(made.q.pattern, ()), ())
    traced.attempts.clear()
    if len(match) > MOST_ROWS:
        raise BudgetExceeded(
            f"the match at row {place} has {len(match)} rows, and a tree of more than {MOST_ROWS} cannot be read; "
            "take a part of the table"
        )
    tree = _Tree(traced, next(its for its in made.partitions if place in its), made, MOST_NODES - len(match))
    is_all = True
    try:
        for w in traced.labellings(made.q.pattern, ()):
            _attempts_added(tree)
            tree.completed(w)
    except BudgetExceeded:
        is_all = False
    _attempts_added(tree)
    return _diagram(tree, title, is_all)


def _number(made: Output, place: int) -> int:
    """The number of a match that is found at a row: one more than of those that begin before it."""
    partition, s = made.place[place]
    number = 1
    with suppress(IllFormed, BudgetExceeded):  # the matches before are counted
        for match in answers(made.clause, made.S, BUDGET):
            its, r = made.place[made.row_of(match)]
            number += its is partition and r < s
    return number


def _attempts_added(tree: _Tree) -> None:
    for one in tree.traced.attempts:
        tree.attempted(one)
    tree.traced.attempts.clear()


def _diagram(tree: _Tree, title: str, is_all: bool) -> Diagram:
    states, edges = [State(tree.root.name, initial=True)], list[Edge]()
    pending = [(tree.root, 0)]
    while pending:
        node, number = pending.pop(0)
        for child in node.children:
            edges.append(Edge(number, len(states), tuple(_lines(child)), child.kind))
            pending.append((child, len(states)))
            states.append(State(child.name, final=child.kind == "end" and child.name == "1"))
    return Diagram(title, tuple(states), tuple(edges), tuple(_notes(tree, is_all)), is_tree=True)


def _lines(node: _Node) -> Iterator[str]:
    yield from node.lines
    if node.kind == "label" and not node.children:
        yield "nothing can follow" if node.is_whole else "…"


def _notes(tree: _Tree, is_all: bool) -> Iterator[str]:
    yield LEGEND
    if not tree.complete:
        yield "No labelling is complete: no match begins there."
    least = "" if is_all else "at least "
    missing = {"attempt": tree.hidden, "labelling": tree.complete - tree.shown}
    if texts := [f"{least}{n:,} more {what}{'s' * (n != 1)}" for what, n in missing.items() if n]:
        yield f"Not drawn: {' and '.join(texts)}."
