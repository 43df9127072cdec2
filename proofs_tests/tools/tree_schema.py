"""Write the schema of the trees of queries, workbench/schemas/tree.json: `python -m proofs_tests.tools.tree_schema`."""

from __future__ import annotations

import json
from pathlib import Path

import cerify.protocol
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


def text_of_schema() -> str:
    """Return the text of tree.json, with a line for each language."""
    schema = schema_of_trees()
    languages = ",\n".join(
        f"    {json.dumps(name)}: {json.dumps(trees)}" for name, trees in schema.pop("$defs").items()
    )
    head = "".join(f"  {json.dumps(key)}: {json.dumps(value)},\n" for key, value in schema.items())
    return f'{{\n{head}  "$defs": {{\n{languages}\n  }}\n}}\n'


if __name__ == "__main__":
    Path(cerify.protocol.__file__).with_name("schemas").joinpath("tree.json").write_text(text_of_schema(), "utf-8")
