"""A query as a tree in JSON, which the protocol sends beside its text, so that no adapter needs a parser.

A node is an object whose key "node" names its class in the syntax tree, with a key for each of its fields. The negation
of a condition is "Complement", since event expressions have a "Not" of their own. Tuples and
sets are lists, a timestamp is {"node": "Timestamp", "value": ISO 8601 text}; where in the text a node stands is left
out. `nodes` lists the nodes of a language with their fields, `choices` the fields that have one of a few values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import lru_cache
from importlib import import_module
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from cerify.languages import LANGUAGES
from cerify.semantics import predicates
from cerify.semantics.cel import bounded
from cerify.semantics.errors import CerifyError
from cerify.semantics.values import show_time

Json = dict[str, Any]
BASES = frozenset({"Derived", "Node"})  # classes whose subclasses are nodes
LEFT_OUT = frozenset({"span", "having_span"})


@lru_cache(maxsize=1_000)
def parsed(language: str, query: str) -> Any:
    """A query as its syntax tree; None for a text that is no query of the language."""
    try:
        return LANGUAGES[language].parse(query)
    except CerifyError:
        return None


@lru_cache(maxsize=1_000)
def tree_of_text(language: str, query: str) -> Json | None:
    """The tree of a query; None for a text that is no query of the language, or that is nested too deeply."""
    try:
        tree: Json | None = tree_of(parsed(language, query))
    except RecursionError:
        return None
    return tree


def tree_of(value: Any) -> Any:
    """A syntax tree, or a part of one, in JSON."""
    if is_dataclass(value) and not isinstance(value, type):
        return {"node": _name(type(value))} | {name: tree_of(getattr(value, name)) for name in _names(type(value))}
    match value:
        case datetime():
            return {"node": "Timestamp", "value": show_time(value)}
        case frozenset():
            return sorted(map(tree_of, value))
        case tuple():
            return list(map(tree_of, value))
    return value


def nodes(language: str) -> Mapping[str, tuple[str, ...]]:
    """The names of the nodes that trees of a language consist of, each with its fields."""
    return {name: ("value",) if kind is datetime else tuple(_names(kind)) for name, kind in _kinds(language).items()}


def choices(language: str) -> Mapping[str, Mapping[str, Sequence[Any]]]:
    """For each node the fields that have one of a few values, as the comparator of a comparison, each with these."""
    found = {name: _choices(kind) for name, kind in _kinds(language).items() if kind is not datetime}
    return {name: fields for name, fields in found.items() if fields}


def _kinds(language: str) -> Mapping[str, type]:
    """The class of each node of a language, by name; of a timestamp datetime."""
    trees, row_type = LANGUAGES[language].trees, LANGUAGES[language].row_type
    package, _, own = trees[0].__module__.rpartition(".")
    modules = [import_module(f"{package}.{name}") for name in dict.fromkeys((own, "syntax"))]
    if row_type is None:  # conditions on rows have nodes of their own
        modules.append(predicates)
    if issubclass(bounded.Repeat, trees):
        modules.append(bounded)
    found: dict[str, type] = {"Timestamp": datetime}
    for module in modules:
        for name, kind in vars(module).items():
            here = isinstance(kind, type) and is_dataclass(kind) and kind.__module__ == module.__name__
            if here and not name.startswith("_") and name not in BASES:
                found[_name(kind)] = kind
    return dict(sorted(found.items()))


def _choices(kind: type) -> dict[str, list[Any]]:
    hints = get_type_hints(kind)
    return {name: values for name in _names(kind) if (values := _literals(hints[name]))}


def _literals(hint: Any) -> list[Any]:
    """The values of a Literal, or of a union of such and None; none for another type."""
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    parts = [[None] if part is type(None) else _literals(part) for part in get_args(hint)]
    return [value for part in parts for value in part] if all(parts) and get_origin(hint) in (Union, UnionType) else []


def nodes_in(tree: Any) -> Iterable[Json]:
    """All nodes of a tree in JSON, itself first."""
    if isinstance(tree, dict):
        yield tree
        for value in tree.values():
            yield from nodes_in(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from nodes_in(value)


def _name(kind: Any) -> str:
    return "Complement" if kind is predicates.Not else str(kind.__name__)


def _names(kind: Any) -> Iterable[str]:
    return (field.name for field in fields(kind) if field.name not in LEFT_OUT)
