"""CEQL, the query language of the engine CORE, as a surface syntax of CEL (docs/guide/ceql.md)."""
