"""Trees of frozen dataclasses that are compared, hashed and written without recursion, however deep they are.

Their leaves are equal only if they are of the same type: in Python True == 1 == 1.0, but in a query these are three
different constants. This module also describes the operators of a query language as data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from string import Formatter
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar, dataclass_transform

from cerify.semantics.errors import InternalError


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
class Tree:
    """The base of trees. Each subclass is a frozen dataclass; trees are equal by their classes and positional fields.

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
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}  # differs between processes

    def __repr__(self) -> str:
        written: list[str] = []
        pending: list[object] = [self]  # nodes that are still to be written, and texts to write as they are
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
V = TypeVar("V")


def node_word(kind: type) -> str:
    """Return the word for a class of nodes in JSON: its WORD if it has one, else its name.

    Class names are unique in the package, words only within a language: the union of core-CEL is the class `CoreOr`,
    and its word is "Or".
    """
    word: str = vars(kind).get("WORD", kind.__name__)
    return word


def entry_of(table: Mapping[type, V], node: Tree) -> V:
    """Return the entry of a node's class, or of the nearest base class that has an entry.

    Raises InternalError if there is none, so that no operator of a language is forgotten.
    """
    if (found := entry_or_none(table, node)) is None:
        raise InternalError(f"a table of operators lacks {type(node).__name__}")
    return found


def entry_or_none(table: Mapping[type, V], node: Tree) -> V | None:
    """Same as `entry_of`, but return None without an entry."""
    return next((table[kind] for kind in type(node).__mro__ if kind in table), None)


def children(node: T) -> tuple[T, ...]:
    """Return the trees directly below a node, left to right."""
    values = tuple([getattr(node, name) for name in node.operands])
    if tuple in map(type, values):
        return tuple(chain.from_iterable(value if isinstance(value, tuple) else (value,) for value in values))
    return values


def own_values(node: Tree) -> tuple[Any, ...]:
    """Return the values of the fields of a node that hold no operand, in their order."""
    return tuple(getattr(node, name) for name in _fields(node) if name not in node.operands)


def subtrees(root: N, below: Callable[[N], Sequence[N]] = children) -> Iterator[N]:  # type: ignore[assignment]
    """Yield all nodes of a tree, each before the nodes below it, left to right.

    below: a function that returns the nodes directly below a node.
    """
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(below(node)[::-1])


def depth(root: N, below: Callable[[N], Iterable[N]]) -> int:
    """Return the number of nodes on the longest way down from the root. below: as in `subtrees`."""
    deepest, pending = 0, [(root, 1)]
    while pending:
        node, level = pending.pop()
        deepest = max(deepest, level)
        pending.extend((child, level + 1) for child in below(node))
    return deepest


def rebuilt(node: T, below: Sequence[T]) -> T:
    """Return a copy of the node with these trees directly below it, and without a span."""
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
    """Yield the classes of a tree's nodes, and the values at its leaves with their types, each node before its
    operands.

    A class has a fixed number of fields, and a tuple comes with its length, so different trees have different
    sequences.
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


# ---------------------------------------------------------------------------------------------------------------------
# The operators of a query language as data, for its printer, generators, shrinker, suite and tables of docs.
#
# A language has a table in its module `syntax`. Operators with the same number of operands go from simple to complex.

Position: TypeAlias = Literal["leaf", "call", "prefix", "infix", "postfix", "suffix"]
"""Where an operator stands: alone, around its operands in parentheses, or before, between or after them.

A suffix is a postfix operator that may not follow another suffix without parentheses.
"""


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator of a language, with all that its parser, printer, generator and tests need to know.

    node: the class of its nodes; node.operands names the fields that hold its operands.
    name: a word in lower case, for profiles of generators, names of mutants, and the feature of the suite.
    symbol: the operator in messages. title: its name in words.
    clause: where the paper or a page defines it, as the cases of the suite cite it.
    text: the form of its text: `{field}` stands for a field of the node, and `{}` for the node itself.
    position, level: where parentheses are needed: an operand is put in parentheses if its own level is lower than the
        level of its place. A higher level binds more tightly.
    samples: functions from operands to a node, for generators and tests; () stands for the class itself if a node has
        no other fields than its operands.
    aliases: other spellings of the symbol that parse.
    chains: for an infix operator, whether its first operand may have an operator of the same level without parentheses.
    monotone: whether fewer matches of the operands never give more matches.
    """

    node: type[Any]
    name: str
    symbol: str
    title: str
    clause: str
    text: str
    position: Position
    level: int
    samples: tuple[Callable[..., Any], ...] = ()
    aliases: tuple[str, ...] = ()
    chains: bool = False
    monotone: bool = True

    @property
    def plain(self) -> bool:
        """Return whether the nodes of this operator have operands and no other fields."""
        return bool(self.node.operands) and self.node.operands == getattr(self.node, "__match_args__", ())

    def instances(self) -> tuple[Callable[..., Any], ...]:
        """Return at least one function that builds a node of this operator from operands."""
        return self.samples if self.samples or not self.plain else (self.node,)


Operators: TypeAlias = Mapping[type, Operator]
"""A table of operators, by the class of their nodes."""


def table(*operators: Operator) -> Operators:
    """Return the table of the operators, in their order."""
    return MappingProxyType({operator.node: operator for operator in operators})


def index_by_name(operators: Operators) -> Mapping[str, Operator]:
    """Return the operators by name."""
    return {operator.name: operator for operator in operators.values()}


def spelt(operators: Operators, *positions: Position) -> dict[str, Any]:
    """Return the classes of nodes by symbol and by alias, for the operators with one of these positions."""
    found = (operator for operator in operators.values() if operator.position in positions)
    return {symbol: operator.node for operator in found for symbol in (operator.symbol, *operator.aliases)}


def printed(root: T, operators: Operators, field: Callable[[Any], str]) -> str:
    """Return the text of a tree with no more parentheses than needed; `field` gives the text of a node's own fields."""

    def text(node: T, level: int) -> str:
        operator = operators[type(node)]
        written = ""
        operands = 0
        for literal, name in _parts(operator.text):
            written += literal
            if name is None:
                continue
            value = getattr(node, name) if name else node
            if name not in node.operands:
                written += field(value)
            elif isinstance(value, tuple):
                for number, below in enumerate(value):
                    written += (", " if number else "") + text(below, 0)
            else:
                written += text(value, _place(operator, type(value), operands))
                operands += 1
        return f"({written})" if level > operator.level and operator.position not in ("leaf", "call") else written

    return text(root, 0)


def _place(operator: Operator, below: type, number: int) -> int:
    """Return the lowest level that operand `number`, of the class `below`, may have there without parentheses.

    An infix operator is left-associative: its first operand may be the same operator.
    """
    match operator.position:
        case "infix":
            return operator.level if number == 0 and (operator.chains or below is operator.node) else operator.level + 1
        case "prefix" | "postfix":
            return operator.level
        case "suffix":
            return operator.level + 1
        case _:
            return 0


@cache
def _parts(text: str) -> tuple[tuple[str, str | None], ...]:
    return tuple((literal, name) for literal, name, _, _ in Formatter().parse(text))


def with_operands(operators: Operators, number: int) -> tuple[type[Any], ...]:
    """Return the classes of the nodes that have this number of operands and no other field, in the table's order."""
    return tuple(o.node for o in operators.values() if o.plain and len(o.node.operands) == number)


def ranks(operators: Operators) -> dict[type[Any], int]:
    """Return, by class, the rank of each operator among the operators with the same number of operands.

    Operators with other fields come last.
    """
    found: dict[type[Any], int] = {}
    for number in {len(o.node.operands) for o in operators.values()}:
        alike = [o for o in operators.values() if len(o.node.operands) == number]
        found.update((o.node, rank) for rank, o in enumerate(sorted(alike, key=lambda o: not o.plain)))
    return found
