"""Questions that the standard leaves open or engines answer differently: each field of RowReading is one.

The reasons, and for each question a clause and a table on which the answers differ, are in
docs/decisions/row-patterns.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

DialectName = Literal[
    "standard", "trino", "oracle", "snowflake", "bigquery", "duckdb", "flink", "databricks", "azure"
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class RowReading:
    """One answer to each question.

    bounded_iterations: for a quantifier with an upper bound, an iteration of no rows counts like any other (counted),
        or it ends the iterations once their least number is reached (stop), as it always does without an upper bound.
    skip_to_nothing: AFTER MATCH SKIP TO a variable that labels no row of the match is an error, or goes to the next
        row.
    skip_to_first: AFTER MATCH SKIP TO the first row of the match is an error, or goes to the next row.
    nulls: the place of NULL in an order without NULLS FIRST or NULLS LAST: above all values (high), below them (low),
        or after them even with DESC (last).
    empty_matches: an empty match has its own number (numbered), or the number of the match before it (unnumbered).
    integer_division: 7 / 2 is 3 (truncated), or 3.5 (exact).
    empty_iterations: a pattern that may match no row may be quantified (accepted), or not (refused).
    """

    bounded_iterations: Literal["counted", "stop"] = "counted"
    skip_to_nothing: Literal["error", "next_row"] = "error"
    skip_to_first: Literal["error", "next_row"] = "error"
    nulls: Literal["high", "low", "last"] = "high"
    empty_matches: Literal["numbered", "unnumbered"] = "numbered"
    integer_division: Literal["truncated", "exact"] = "truncated"
    empty_iterations: Literal["accepted", "refused"] = "accepted"


STANDARD = RowReading()
