"""Queries as data: build a syntax tree from its JSON form in the engine protocol.

A node is an object whose key "node" names its class, with a key for each field of the class
(docs/reference/protocol.md). So programs that make queries need not write text or quote names. Each tree is printed and
parsed again, and refused if its text does not give the same tree.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from cerify.languages import LANGUAGES, language_named
from cerify.semantics.arguments import depth_limited, did_you_mean, short_repr
from cerify.semantics.errors import CerifyError, InputError
from cerify.semantics.trees import node_word
from cerify.semantics.values import parse_time

BASES = frozenset({"Derived", "RowNode", "SaseNode"})  # base classes that are not nodes themselves
LEFT_OUT = frozenset({"span", "having_span"})


def query_of_json(obj: object, language: str) -> Any:
    """Return the syntax tree of a parsed JSON object, in the language of this name.

    >>> query_of_json({"node": "Seq", "left": {"node": "Event", "type": "A"}, "right": {"node": "Event", "type": "B"}},
    ...               "cel")
    Seq(left=EventAtom(type='A'), right=EventAtom(type='B'))

    Raises InputError, whose message names the part that is not a node.
    """
    lang = language_named(language)
    with depth_limited():
        tree = _built(obj, node_kinds(lang.name), "the query", tuple)
        if not isinstance(tree, lang.syntax.trees):
            raise InputError(f"the query: {type(tree).__name__} is not a query of {lang.title}")
        try:
            text = lang.syntax.show(tree)
            again = lang.syntax.parse(text)
        except CerifyError as error:
            raise InputError(f"the query: {lang.title} cannot write it: {error.message}") from None
        except (TypeError, AttributeError, ValueError, KeyError, AssertionError) as error:  # a value of a wrong type
            raise InputError(f"the query: a field has a value of a wrong type: {error}") from None
    if again != tree:
        raise InputError(f"the query: in {lang.title} it is {text}, and this text has a different tree; give that tree")
    return again  # unlike `tree`, it has the places of its parts in the text


def _built(value: Any, kinds: Mapping[str, type], where: str, several: type) -> Any:
    if isinstance(value, list):
        parts = [_built(part, kinds, f"{where}[{i}]", tuple) for i, part in enumerate(value)]
        return several(parts)
    if not isinstance(value, Mapping):
        return value
    name = value.get("node")
    if not isinstance(name, str) or name not in kinds:
        hint = did_you_mean(name, kinds) if isinstance(name, str) else f"; it is one of {', '.join(kinds)}"
        raise InputError(f'{where}: the key "node" is {short_repr(name)}, which is not the name of a node{hint}')
    if name == "Timestamp":
        try:
            return parse_time(str(value.get("value")))
        except ValueError as error:
            raise InputError(f"{where}.value: {value.get('value')!r} {error}") from None
    if name == "Interval":
        ticks = value.get("value")
        if type(ticks) is not int or abs(ticks) > timedelta.max // timedelta(microseconds=1):
            raise InputError(f"{where}.value: {short_repr(ticks)} is not a whole number of microseconds")
        return timedelta(microseconds=ticks)
    kind = kinds[name]
    known = {one.name: one for one in fields(kind) if one.name not in LEFT_OUT}
    for key in value:
        if key != "node" and key not in known:
            raise InputError(f"{where}: {name} has no field {key!r}{did_you_mean(str(key), known)}")
    for key, one in known.items():
        if key not in value and one.default is MISSING and one.default_factory is MISSING:
            raise InputError(f"{where}: {name} needs the field {key!r}")
    sets = _sets(kind)
    given = {
        key: _built(part, kinds, f"{where}.{key}", frozenset if key in sets else tuple)
        for key, part in value.items()
        if key != "node"
    }
    try:
        return kind(**given)
    except CerifyError as error:
        raise InputError(f"{where}: {error.message}") from None
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}: {name}: {error}") from None


@cache
def node_kinds(language: str) -> Mapping[str, type]:
    """Return the classes of a language's nodes, by their names under the key "node".

    The name of datetime is Timestamp, and the name of timedelta is Interval.
    """
    found: dict[str, type] = {"Timestamp": datetime}
    waiting, seen = list(LANGUAGES[language].syntax.trees), set()
    own = waiting[0].__module__
    while waiting:
        kind = waiting.pop()
        if kind is timedelta:
            found["Interval"] = kind
        if not is_dataclass(kind) or kind in seen:
            continue
        seen.add(kind)
        if kind.__name__ not in BASES:
            found[node_word(kind)] = kind
        hints = get_type_hints(kind)
        waiting += [part for name in fields_of(kind) for part in _classes_in(hints[name])]
        named = vars(sys.modules[own])  # with slots, a dataclass exists twice; its module names only the right class
        own_subclasses = (sub for sub in kind.__subclasses__() if sub.__module__ == own)
        waiting += [sub for sub in own_subclasses if named.get(sub.__name__) is sub]
    return dict(sorted(found.items()))


def _classes_in(hint: Any) -> Iterable[type]:
    """Yield the classes that a type hint mentions."""
    if isinstance(hint, type) and get_origin(hint) is None:
        yield hint
    for part in get_args(hint):
        yield from _classes_in(part)


def fields_of(kind: Any) -> Iterable[str]:
    """Return the names of the fields that the JSON of a node of this class always has."""
    return (field.name for field in fields(kind) if field.name not in LEFT_OUT and not field.metadata.get("optional"))


def optional_fields(node: Any) -> Iterable[str]:
    """Return the names of a node's optional fields whose value is not the default; JSON has only these."""
    optional = (field for field in fields(node) if field.metadata.get("optional"))
    return (field.name for field in optional if getattr(node, field.name) != field.default)


@cache
def _sets(kind: type) -> frozenset[str]:
    """Return the fields of a class of nodes that hold sets; all other fields with several parts hold tuples."""
    hints = get_type_hints(kind)
    return frozenset(name for name, hint in hints.items() if _has_set(hint))


def _has_set(hint: Any) -> bool:
    return get_origin(hint) is frozenset or any(map(_has_set, get_args(hint)))
