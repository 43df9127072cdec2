"""Queries of SASE+ as texts, put together from their clauses."""

from __future__ import annotations

STRICT, PARTITION = "strict_contiguity", "partition_contiguity"
NEXT, ANY = "skip_till_next_match", "skip_till_any_match"


def query(pattern: str, where: str = "", rest: str = "", returned: str = "1 AS one") -> str:
    """The query of these clauses; rest is WITHIN and HAVING."""
    return " ".join(filter(None, (f"PATTERN SEQ({pattern})", where and f"WHERE {where}", rest, f"RETURN {returned}")))


def block(strategy: str, arguments: str, said: str = "") -> str:
    """A block of WHERE."""
    return f"{strategy}({arguments}) {{ {said} }}"
