"""The questions about core-CEL."""

from __future__ import annotations

from cerify.conformance.identification.questions import Stage, Template, events, types
from cerify.conformance.identification.stages.common import conditions, selections

AB, ABC, MANY = types("A B"), types("A B C"), types("A")  # the last for long streams

STAGES = (
    Stage(
        ("emit", "overlap", "seq", "or"),
        (
            Template("A AS a", AB, 3),
            Template("A AS a ; B AS b", ABC, 5),
            Template("A AS a ; A AS b", AB, 4),
            Template("(A AS a ; B AS b) OR C AS c", ABC, 4),
            Template("(A AS a ; C AS c) OR (B AS d ; B AS e ; C AS f)", ABC, 4),
            Template("A AS a OR (A AS b ; A AS c)", AB, 3),
            Template("(A AS b ; A AS c) OR A AS a", AB, 3),
        ),
    ),
    Stage(("ties",), (Template("A AS a ; B AS b", events("A B", after=(0, 1)), 4),)),
    Stage(("window-default",), (Template("A AS a ; B AS b", events("A B", after=(1, 100, 5_000, 100_000)), 3),)),
    Stage(
        ("loop",), (Template("(A AS a)+", AB, 4), Template("(A AS a)+ ; B AS b", AB, 5), Template("(A AS a)+", MANY, 8))
    ),
    *conditions("A AS a FILTER a[{}]", also=("filter",)),
    Stage(
        ("filter-connectives",),
        (
            Template("A AS a FILTER a.x = 1 AND a.y = 1", events("A", x=(0, 1), y=(0, 1)), 1),
            Template("A AS a FILTER a.x = 1 OR a.y = 1", events("A", x=(0, 1), y=(0, 1)), 1),
        ),
    ),
    *selections(
        ("A AS a ; B AS b", ABC, 5),
        ("A AS a OR (A AS b ; B AS c)", AB, 4),
        ("A AS a ; B AS b ; C AS c", ABC, 6),
        ("B AS a OR (A AS b ; B AS c) OR (A AS d ; A AS e ; B AS f)", AB, 5),
    ),
    Stage(
        (),
        (
            Template("A AS a ; (B AS b)+ ; C AS c", ABC, 5),
            Template("(A AS a ; B AS b) FILTER a.x = b.x", events("A B", x=(0, 1)), 4),
            Template("NXT((A AS a)+ ; B AS b)", AB, 5),
            Template("(A AS a ; B AS b) OR (A AS c ; C AS d)", ABC, 4),
            Template("((A AS a FILTER a.x = 1)+ ; B AS b)", events("A B", x=(0, 1)), 4),
        ),
    ),
)
