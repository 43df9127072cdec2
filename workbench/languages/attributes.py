"""The attributes that a query may look at. Only these have to be read from the data, or even be readable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from cerify.languages.language import Language
from cerify.semantics.cel import syntax as cel
from cerify.semantics.events import TIME
from cerify.semantics.predicates import Attribute


def attributes_in(language: Language[Any], query: Any) -> frozenset[str] | None:
    """Return the names of all attributes that a query may look at; None if it may look at any.

    It may look at any if it names a user-defined predicate, if its arguments stand for attributes by position, or if a
    plug-in provides its language, because the plug-in's trees are unknown here.
    """
    if not type(language.syntax).__module__.startswith("cerify."):
        return None
    found = set[str]()
    for node in nodes_of(query):
        match node:
            case cel.Named():
                return None
            case Attribute(name):
                found.add(name)
                continue
        if isinstance(node, language.syntax.positional) and node.arguments:
            return None
        if isinstance(node, language.syntax.timed):
            found.add(TIME)
        if isinstance(node, language.syntax.naming_others):
            continue
        for field in ("attribute", "attributes", "name", "names"):
            value = getattr(node, field, ())
            found.update([value] if isinstance(value, str) else value if isinstance(value, tuple) else ())
    return frozenset(found - {""})


def is_timed(language: Language[Any], query: Any) -> bool:
    """Return whether a query has a time window, or another operator that needs events in the order of their times."""
    return any(
        isinstance(node, language.syntax.ordered) or (isinstance(node, cel.AttributeWindow) and node.attribute == TIME)
        for node in nodes_of(query)
    )


def nodes_of(tree: Any) -> Iterator[Any]:
    """Yield the nodes of a tree of any language, including conditions and terms."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, tuple | list | frozenset):
            pending.extend(node)
        elif is_dataclass(node) and not isinstance(node, type):
            yield node
            pending.extend(getattr(node, field.name) for field in fields(node))
