"""CEQL, the query language of the engine CORE, as a surface of CEL (docs/guide/ceql.md)."""
