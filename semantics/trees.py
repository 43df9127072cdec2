"""Trees of frozen dataclasses that are compared, hashed and written without recursion, however deep they are.

Their leaves are equal only if they are of the same type: in Python True == 1 == 1.0, and in a query these are three
constants.
"""

from __future__ import annotations

from collections.abc import Iterator


class Tree:
    """A dataclass whose value is its class and its positional fields; give it eq=False and repr=False.

    What a dataclass would generate goes down the tree by calling itself, and Python ends that at some depth.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return self is other or list(_preorder(self)) == list(_preorder(other))

    def __hash__(self) -> int:
        return hash(tuple(_preorder(self)))

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
