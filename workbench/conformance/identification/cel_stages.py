"""The questions about CEL and core-CEL."""

from __future__ import annotations

from cerify.conformance.identification.questions import Json, Stage, Template, events, types

AB, ABC = types("A B"), types("A B C")
X012 = events("A", x=(0, 1, 2))


def _conditions(query: str) -> tuple[Stage, ...]:
    """The stages about conditions on one event; query has a place for a condition on the attributes of A."""

    def asked(condition: str) -> str:
        return query.format(condition)

    return (
        Stage(
            ("filter", "comparison"),
            (
                Template(asked("x > 1"), X012, 1),
                Template(asked("x >= 1"), X012, 1),
                Template(asked("x = 1"), X012, 1),
            ),
        ),
        Stage(
            ("connectives",),
            tuple(
                Template(asked(condition), events("A", x=(0, 1), y=(0, 1)), 1)
                for condition in ("x = 1 and y = 1", "x = 1 or y = 1", "not x = 1")
            ),
        ),
        Stage(
            ("absent",),
            tuple(
                Template(asked(condition), events("A", x=(None, 0, 1), y=(None, 0)), 2)
                for condition in ("x = 0", "not x = 1", "x = y", "x != 1")
            ),
        ),
        Stage(("integer-division",), (Template(asked("x / 2 = 1"), events("A", x=(2, 3)), 1),)),
        Stage(("strings",), (Template(asked("s = 'a'"), events("A", s=("a", "A")), 1),)),
        Stage(("like",), (Template(asked("s like 'a'"), events("A", s=("a", "ab", "ba")), 1),)),
        Stage(("range",), (Template(asked("x in range(1, 3)"), events("A", x=(1, 2, 3)), 1),)),
        Stage(("floats",), (Template(asked("x = 1"), events("A", x=(1.0, 1.5)), 1),)),
    )


def _selections(*asked: tuple[str, tuple[Json, ...], int]) -> tuple[Stage, ...]:
    """A stage for each strategy, which is put around queries, given with their events and the longest stream."""
    return tuple(
        Stage(
            (f"selection@{name}",),
            tuple(Template(f"{name.upper()}({query})", letters, longest) for query, letters, longest in asked),
        )
        for name in ("nxt", "last", "max", "strict")
    )


CEL = (
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
    Stage(("loop",), (Template("A+", AB, 4), Template("A+ ; B", AB, 5), Template("C ; A+", types("A B C"), 5))),
    Stage(("loop@cplus",), (Template("A:+", AB, 5), Template("A:+ ; B", AB, 5))),
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
    *_conditions("A FILTER A[{}]"),
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
    *_selections(
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

CORE_CEL = (
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
    Stage(("loop",), (Template("(A AS a)+", AB, 4), Template("(A AS a)+ ; B AS b", AB, 5))),
    *_conditions("A AS a FILTER a[{}]"),
    Stage(
        ("filter-connectives",),
        (
            Template("A AS a FILTER a.x = 1 AND a.y = 1", events("A", x=(0, 1), y=(0, 1)), 1),
            Template("A AS a FILTER a.x = 1 OR a.y = 1", events("A", x=(0, 1), y=(0, 1)), 1),
        ),
    ),
    *_selections(
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
