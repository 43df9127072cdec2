"""The questions about CEL."""

from __future__ import annotations

from cerify.conformance.identification.questions import Stage, Template, events, types
from cerify.conformance.identification.stages.common import conditions, selections

AB, ABC = types("A B"), types("A B C")
MANY = types("A")  # for long streams

STAGES = (
    Stage(
        ("emit", "overlap", "seq"),
        (
            Template("A", AB, 3),
            Template("A ; B", ABC, 5),
            Template("A ; A", AB, 4),
            Template("(A ; B) OR C", ABC, 4),
        ),
    ),
    Stage(("ties",), (Template("A ; B", events("A B", after=(0, 1)), 4),)),
    Stage(("window-default",), (Template("A ; B", events("A B", after=(1, 100, 5_000, 100_000)), 3),)),
    Stage(("seq@cseq",), (Template("A : B", ABC, 5), Template("A : A", AB, 5))),
    Stage(
        ("loop",),
        (
            Template("A+", AB, 4),
            Template("A+ ; B", AB, 5),
            Template("C ; A+", types("A B C"), 5),
            Template("A+", MANY, 8),
        ),
    ),
    Stage(("loop@cplus",), (Template("A:+", AB, 5), Template("A:+ ; B", AB, 5), Template("A:+", MANY, 8))),
    Stage(
        ("window@events",),
        (Template("(A ; B) WITHIN 2 EVENTS", ABC, 5), Template("(A : B) WITHIN 2 EVENTS", ABC, 4)),
    ),
    Stage(
        ("window@time",),
        (
            Template("(A ; B) WITHIN 2 seconds", events("A B", after=(1, 2, 3)), 3),
            Template("(A ; B) WITHIN 2 seconds", events("A B", after=(0.5, 1.0, 1.5)), 3),
        ),
    ),
    Stage(("window@attribute",), (Template("(A ; B) WITHIN 2 [x]", events("A B", x=(0, 1, 2, 3, 2.5, 3.5)), 2),)),
    *conditions("A FILTER A[{}]", also=("filter",)),
    Stage(
        ("partition",),
        (
            Template("(A ; A) PARTITION BY [k]", events("A", k=(1, 2)), 4),
            Template("(A : A) PARTITION BY [k]", events("A", k=(1, 2)), 5),
        ),
    ),
    Stage(
        ("filter-loop",),
        (
            Template("A+ FILTER A.x = 1", events("A", x=(0, 1)), 4),
            Template("(A ; A) FILTER A.x = 1", events("A", x=(0, 1)), 4),
            Template("A:+ FILTER A.x = 1", events("A", x=(0, 1)), 4),
        ),
    ),
    Stage(("or",), (Template("A OR (A ; A)", AB, 3), Template("(A ; A) OR A", AB, 3))),
    Stage(("unbound",), (Template("(A OR B) FILTER A.x = 1", events("A B", x=(0, 1)), 2),)),
    Stage(
        ("filter-connectives",),
        (
            Template("A FILTER A.x = 1 AND A.y = 1", events("A", x=(0, 1), y=(0, 1)), 1),
            Template("A FILTER A.x = 1 OR A.y = 1", events("A", x=(0, 1), y=(0, 1)), 1),
        ),
    ),
    Stage(("and",), (Template("A AND (A IN X)", AB, 2),)),
    Stage(
        ("all",),
        (
            Template("A ALL B", ABC, 4),
            Template("A ALL A", AB, 3),
            Template("(A ; B) ALL A", AB, 5),
            Template("(A ; C) ALL B", ABC, 4),
        ),
    ),
    Stage(("negation",), (Template("(A ; C) UNLESS B", ABC, 5), Template("(A ; C) UNLESS (B ; C)", ABC, 4))),
    Stage(("start",), (Template("B ; START(A)", AB, 5), Template("START(A)", AB, 3), Template("A OR START(B)", AB, 3))),
    Stage(("in",), (Template("(A ; A) IN X FILTER X.x = 1", events("A", x=(0, 1)), 4),)),
    Stage(("project",), (Template("PROJECT[A](A ; B)", AB, 4),)),
    *selections(
        ("A ; B", ABC, 5),
        ("A OR (A ; B)", AB, 4),
        ("A ; B ; C", ABC, 6),
        ("A OR (A ; A) OR (A ; A ; A)", AB, 5),
        ("B OR (A ; B) OR (A ; A ; B)", AB, 5),
    ),
    Stage(
        (),
        (
            Template("A ; B+ ; C", ABC, 5),
            Template("(A+ ; B) FILTER A.x = 1", events("A B", x=(0, 1)), 4),
            Template("(A ; B+) WITHIN 3 EVENTS", ABC, 5),
            Template("NXT(A+ ; B)", AB, 5),
            Template("(A : B) OR (A ; C)", ABC, 4),
            Template("(A ; B+ ; C) UNLESS (C ; B)", ABC, 5),
            Template("(A ; A+) PARTITION BY [k]", events("A", k=(1, 2)), 5),
            Template("MAX(A ; (B OR C)+)", ABC, 4),
            Template("(A ALL B) ; C", ABC, 4),
            Template("((A ; B) IN X) ; C FILTER X.x = 1", events("A B C", x=(0, 1)), 3),
        ),
    ),
)
