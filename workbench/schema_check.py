"""Whether a JSON value surely meets a JSON Schema: a schema made into functions, for values that are nearly all right.

jsonschema interprets a schema with every value, which takes a hundred times as long. What is not surely right, such as
2.0 where an integer is wanted, is left to it; so is what a value lacks, and where.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

Check: TypeAlias = Callable[[Any], bool]
"""Whether a value surely meets a schema."""

TYPES: Mapping[str, frozenset[type]] = {
    "object": frozenset({dict}),
    "array": frozenset({list}),
    "string": frozenset({str}),
    "boolean": frozenset({bool}),
    "null": frozenset({type(None)}),
    "integer": frozenset({int}),
    "number": frozenset({int, float}),
}
"""The classes whose values are of a type, as json.loads makes them."""

ANNOTATIONS = frozenset({"$schema", "$defs", "title", "description"})
OF_OBJECTS = frozenset({"properties", "additionalProperties", "propertyNames", "required"})
OF_ARRAYS = frozenset({"items", "minItems", "maxItems"})


def surely(schema: Any, root: Mapping[str, Any] | None = None) -> Check:
    """The function of a schema of draft 2020-12; root: the schema that has its definitions, itself if none is given.

    Raises ValueError for a keyword that it does not know.
    """
    if isinstance(schema, bool):
        return lambda value: schema
    make = partial(surely, root=schema if root is None else root)
    checks: list[Check] = []
    for keyword, wanted in schema.items():
        match keyword:
            case "type":
                kinds = [wanted] if isinstance(wanted, str) else wanted
                classes = frozenset[type]().union(*(TYPES[kind] for kind in kinds))
                checks.append(lambda value, classes=classes: type(value) in classes)  # type: ignore[misc]
            case "enum" | "const":
                among = [(type(one), one) for one in (wanted if keyword == "enum" else [wanted])]
                checks.append(lambda value, among=among: (type(value), value) in among)  # type: ignore[misc]
            case "minimum":
                checks.append(lambda value, least=wanted: type(value) is int and value >= least)  # type: ignore[misc]
            case "minLength":
                checks.append(lambda value, least=wanted: type(value) is str and len(value) >= least)  # type: ignore[misc]
            case "oneOf" if len(wanted) > 1:
                raise ValueError("of several alternatives exactly one is to be met")
            case "allOf" | "oneOf":
                checks.extend(map(make, wanted))
            case "$ref":
                checks.append(make((schema if root is None else root)["$defs"][wanted.removeprefix("#/$defs/")]))
            case _ if keyword not in ANNOTATIONS | OF_OBJECTS | OF_ARRAYS:
                raise ValueError(f"{keyword} is no keyword that is known here")
    if not OF_OBJECTS.isdisjoint(schema):
        checks.append(_of_object(schema, make))
    if not OF_ARRAYS.isdisjoint(schema):
        checks.append(_of_array(schema, make))
    if len(checks) == 1:
        return checks[0]

    def check(value: Any) -> bool:
        for one in checks:  # noqa: SIM110  a loop takes half of the time of all() here
            if not one(value):
                return False
        return True

    return check


def _of_object(schema: Mapping[str, Any], make: Callable[[Any], Check]) -> Check:
    """Whether a value is an object with the fields that the schema wants."""
    fields = {name: make(of) for name, of in schema.get("properties", {}).items()}
    other, names = make(schema.get("additionalProperties", True)), make(schema.get("propertyNames", True))
    required = frozenset(schema.get("required", ()))

    def check(value: Any) -> bool:
        if type(value) is not dict or not required <= value.keys():
            return False
        for name, one in value.items():  # noqa: SIM110
            if not names(name) or not fields.get(name, other)(one):
                return False
        return True

    return check


def _of_array(schema: Mapping[str, Any], make: Callable[[Any], Check]) -> Check:
    """Whether a value is an array of the length, and with the items, that the schema wants."""
    item = make(schema.get("items", True))
    least, most = schema.get("minItems", 0), schema.get("maxItems", float("inf"))

    def check(value: Any) -> bool:
        return type(value) is list and least <= len(value) <= most and all(map(item, value))

    return check
