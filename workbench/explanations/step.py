"""The steps of an explanation, in every language: a derivation by clauses is a tree of them, a run a sequence.

Explanations are rendered from their steps: as JSON here, as text by text.py, in HTML by the macros of step.html.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

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
    order, pending = list[N](), [root]
    while pending:
        node = pending.pop()
        order.append(node)
        pending.extend(below(node))
    made: dict[int, Step] = {}
    for node in reversed(order):
        made[id(node)] = step(node, tuple(made[id(child)] for child in below(node)))
    return made[id(root)]


def nodes(root: Step) -> Iterator[Step]:
    """All steps of a tree, each before those below it."""
    pending = [root]
    while pending:
        step = pending.pop()
        yield step
        pending.extend(reversed(step.children))


def json_of_tree(root: Step) -> Json:
    """A tree of steps as JSON."""
    made: dict[int, Json] = {}
    for step in reversed(list(nodes(root))):
        made[id(step)] = {**step.json, "children": [made[id(child)] for child in step.children]}
    return made[id(root)]


def json_of_run(steps: Iterable[Step]) -> list[Json]:
    """A run as JSON."""
    return [step.json for step in steps]
