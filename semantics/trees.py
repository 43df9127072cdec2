"""Trees of frozen dataclasses that are compared, hashed and written without recursion, however deep they are.

Their leaves are equal only if they are of the same type: in Python True == 1 == 1.0, and in a query these are three
constants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, ClassVar, TypeVar, dataclass_transform


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
class Tree:
    """A frozen dataclass, and so is each subclass; its value is its class and its positional fields.

    The methods that a dataclass would generate are recursive, and fail on a tree deeper than Python's recursion limit.
    operands: the fields that hold the trees directly below, left to right; a field may hold a tuple of trees.
    """

    __slots__ = ()
    operands: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, eq=False, repr=False)(cls)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return self is other or list(_preorder(self)) == list(_preorder(other))

    def __hash__(self) -> int:
        found: int | None = self.__dict__.get("_hash")
        if found is None:
            found = self.__dict__["_hash"] = hash(tuple(_preorder(self)))
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}  # it differs between processes

    def __repr__(self) -> str:
        written: list[str] = []
        pending: list[object] = [self]  # a str is text to be written as it is; of a value it is the repr
        while pending:
            node = pending.pop()
            if isinstance(node, str):
                written.append(node)
                continue
            parts: list[object] = [f"{type(node).__name__}("]
            for number, name in enumerate(_fields(node)):
                value = getattr(node, name)
                parts += [f"{', ' if number else ''}{name}=", value if _is_node(value) else repr(value)]
            pending.extend(reversed([*parts, ")"]))
        return "".join(written)


N = TypeVar("N")
T = TypeVar("T", bound=Tree)


def children(node: T) -> tuple[T, ...]:
    """The trees directly below a node, left to right."""
    values = tuple([getattr(node, name) for name in node.operands])
    if tuple in map(type, values):
        return tuple(chain.from_iterable(value if isinstance(value, tuple) else (value,) for value in values))
    return values


def subtrees(root: N, below: Callable[[N], Sequence[N]] = children) -> Iterator[N]:  # type: ignore[assignment]
    """All nodes of a tree, each before those below it, left to right; below: what is directly below a node."""
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(below(node)[::-1])


def depth(root: N, below: Callable[[N], Iterable[N]]) -> int:
    """The number of nodes on the longest way down from the root; below: as of subtrees."""
    deepest, pending = 0, [(root, 1)]
    while pending:
        node, level = pending.pop()
        deepest = max(deepest, level)
        pending.extend((child, level + 1) for child in below(node))
    return deepest


def rebuilt(node: T, below: Sequence[T]) -> T:
    """The node with other trees directly below it, as many as it has, and without a span."""
    values: list[Any] = []
    pending = iter(below)
    for name in _fields(node):
        value = getattr(node, name)
        if name not in node.operands:
            values.append(value)
        elif isinstance(value, tuple):
            values.append(tuple(next(pending) for _ in value))
        else:
            values.append(next(pending))
    return type(node)(*values)


def _preorder(root: object) -> Iterator[object]:
    """The classes of a tree's nodes and the values at its leaves with their types, each node before what is below it.

    A class has a fixed number of fields, and a tuple comes with its length: no two trees have the same sequence.
    """
    pending = [root]
    while pending:
        node = pending.pop()
        if _is_node(node):
            yield type(node)
            pending.extend([getattr(node, name) for name in _fields(node)])
        elif isinstance(node, tuple):
            yield len(node)
            pending.extend(node)
        else:
            yield type(node)
            yield node


def _is_node(value: object) -> bool:
    return hasattr(type(value), "__match_args__")


def _fields(node: object) -> tuple[str, ...]:
    names: tuple[str, ...] = type(node).__match_args__  # type: ignore[attr-defined]
    return names
