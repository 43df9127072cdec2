"""The schema of the trees of queries that the engine protocol sends: what workbench/schemas/tree.json has."""

from __future__ import annotations

from cerify.conformance.cases import Json, choices, nodes
from cerify.languages import BUILT_IN


def schema_of_trees() -> Json:
    """The JSON Schema tree.json, whose definitions are the trees of each language."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The syntax tree of a query, by language",
        "$defs": {language: _schema_of(language) for language in BUILT_IN},
    }


def _schema_of(language: str) -> Json:
    below = {"anyOf": [{"$ref": f"#/$defs/{language}"}, {"type": ["string", "number", "boolean", "null"]}]}
    known, few = nodes(language), choices(language)
    return {
        "type": "object",
        "properties": {"node": {"enum": list(known)}},
        "required": ["node"],
        "additionalProperties": {"anyOf": [*below["anyOf"], {"type": "array", "items": below}]},
        "allOf": [
            {
                "if": {"properties": {"node": {"const": name}}},
                "then": {"required": list(names)}
                | ({"properties": {f: {"enum": values} for f, values in few[name].items()}} if name in few else {}),
            }
            for name, names in known.items()
            if names
        ],
    }
