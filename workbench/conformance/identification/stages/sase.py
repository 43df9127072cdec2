"""The questions about SASE+."""

from __future__ import annotations

from cerify.conformance.identification.questions import Stage, Template, events, types
from cerify.conformance.identification.stages.common import conditions

AB, ABC = types("A B"), types("A B C")
TIMED = events("A B", after=(1, 2, 3))
NEXT, ANY = "skip_till_next_match", "skip_till_any_match"
STRICT, PARTITION = "strict_contiguity", "partition_contiguity"


def _sase(pattern: str, strategy: str = ANY, where: str = "", rest: str = "", returned: str = "a.x") -> str:
    variables = ", ".join(part.split()[-1] for part in pattern.split(", ") if not part.startswith("~"))
    clause = f" WHERE {strategy}({variables}) {{ {where} }}"
    return f"PATTERN SEQ({pattern}){clause}{f' {rest}' if rest else ''} RETURN {returned}"


STAGES = (
    Stage(
        ("emit", "overlap", "strategy@any"),
        (
            Template("PATTERN SEQ(A a) RETURN a.x", AB, 3),
            Template(_sase("A a, B b"), ABC, 5),
            Template(_sase("A a, B b", where="b.x = 1"), events("A B C", x=(0, 1)), 3),
            Template(_sase("A a, B b", where="[x]"), events("A B", x=(0, 1)), 4),
            Template(_sase("A a, B b", where="b.x = a.x"), events("B", x=(1, 2)), 2, events("A", x=(1, 2))),
        ),
    ),
    Stage(("ties",), (Template(_sase("A a, B b"), events("A B", after=(0, 1)), 4),)),
    Stage(("window-default",), (Template(_sase("A a, B b"), events("A B", after=(1, 100, 5_000, 100_000)), 3),)),
    Stage(("equivalence",), (Template("PATTERN SEQ(A a, B b) WHERE [x] RETURN a.x", events("A B", x=(0, 1)), 3),)),
    *(
        Stage(
            (f"strategy@{name}",),
            (
                Template(_sase("A a, B b", strategy), ABC, 5),
                Template(_sase("A a, B b", strategy, "b.x = 1"), events("A B C", x=(0, 1)), 3),
                Template(_sase("A a, B b", strategy, "[x]"), events("A B C", x=(0, 1)), 3),
            ),
        )
        for name, strategy in (("next", NEXT), ("strict", STRICT))
    ),
    Stage(
        ("strategy@partition",),
        (
            Template(_sase("A a, B b", PARTITION, "[x]"), events("A B C", x=(0, 1)), 3),
            Template(_sase("A a, B b", PARTITION, "[x]"), events("A B", x=(0, 1)), 4),
            Template(_sase("A a, B b", PARTITION, "[x] and b.y = 1"), events("A B", x=(0, 1), y=(0, 1)), 3),
        ),
    ),
    Stage(
        ("window",),
        (
            Template(_sase("A a, B b", rest="WITHIN 2 seconds"), TIMED, 3),
            Template(_sase("A a, B b", rest="WITHIN 2.5 seconds"), events("A B", after=(1.0, 2.0, 2.5)), 3),
        ),
    ),
    Stage(
        ("loop", "last_kleene", "stream_end", "kleene_skips"),
        (
            Template(_sase("A+ a[]", returned="a[1].x"), AB, 4),
            Template(_sase("A+ a[], B b", returned="b.x"), AB, 5),
            Template(_sase("A+ a[]", NEXT, returned="a[1].x"), AB, 4),
            Template(_sase("A+ a[], B b", NEXT, returned="b.x"), ABC, 5),
            Template(_sase("A+ a[], A b", NEXT, "b.x = 1", returned="b.x"), events("A B", x=(0, 1)), 4),
            Template(_sase("A+ a[], A b", returned="b.x"), AB, 5),
            Template(_sase("A+ a[]", STRICT, returned="a[1].x"), AB, 4),
            Template(_sase("A+ a[]", STRICT, returned="a[1].x"), types("A"), 8),
            Template(_sase("A+ a[]", ANY, rest="WITHIN 3 seconds", returned="a[1].x"), events("A B", after=(1, 2)), 4),
        ),
    ),
    Stage(
        ("cut", "cut_in_last_place"),
        (
            Template(_sase("A+ a[]", NEXT, returned="a[1].x").replace("(a[])", "(a[]!)"), AB, 4),
            Template(_sase("A+ a[], B b", returned="b.x").replace("(a[],", "(a[]!,"), AB, 5),
            Template(_sase("A+ a[], B b", NEXT, returned="b.x").replace("(a[],", "(a[]!,"), AB, 5),
            Template(
                _sase("A+ a[], A b", NEXT, "b.x = 1", returned="b.x").replace("(a[],", "(a[]!,"),
                events("A B", x=(0, 1)),
                4,
            ),
        ),
    ),
    Stage(
        ("negation", "negation_in_front", "negated_series"),
        (
            Template(_sase("A a, ~B b, C c"), ABC, 5),
            Template(_sase("A a, ~B b, C c, C d"), ABC, 5),
            Template(
                _sase("A a, ~B+ b[], C c", NEXT, "b[i].x > b[i-1].x and count(b[]) >= 3"),
                events("B", x=(2, 3)) + events("C", x=(0,)),
                3,
                events("A", x=(0,)) + events("B", x=(1, 5)),
            ),
            Template(_sase("~B b, C c", rest="WITHIN 2 seconds", returned="c.x"), events("B C", after=(1, 2)), 4),
            Template(
                f"PATTERN SEQ(A a, ~B+ b[], C c) WHERE {NEXT}(a, c) {{ b[b.LEN].x = 1 }} "
                f"{NEXT}(b[]) {{ b[i].x > b[i-1].x }} RETURN a.x",
                events("A C", x=(0,)) + events("B", x=(0, 1)),
                5,
            ),
            Template(
                "PATTERN SEQ(A a, ~B+ b[], C c) WHERE avg(b[].x) = 1 RETURN a.x",
                events("A C", x=(0,)) + events("B", x=(0, 1, 2)),
                5,
            ),
        ),
    ),
    Stage(
        ("non_overlap",),
        (
            Template(_sase("A a, B b").replace("RETURN", "RETURN NON-OVERLAP"), AB, 5),
            Template(
                _sase("A a, B b", where="b.x = a.x").replace("RETURN", "RETURN NON-OVERLAP"),
                events("A B", x=(1, 2)),
                4,
                events("A", x=(1, 2)),
            ),
            Template(_sase("A+ a[], B b", returned="b.x").replace("RETURN", "RETURN NON-OVERLAP"), AB, 5),
            Template(_sase("A a, B b", rest="WITHIN 3 seconds").replace("RETURN", "RETURN NON-OVERLAP"), TIMED, 4),
        ),
    ),
    *conditions("PATTERN SEQ(A a) WHERE {} RETURN a.x", "a."),
    Stage(
        (),
        (
            Template(_sase("A a, B+ b[], C c"), ABC, 5),
            Template(_sase("A a, B+ b[], C c", NEXT), ABC, 5),
            Template(_sase("A+ a[], B b", where="a[i].x = 1", returned="b.x"), events("A B", x=(0, 1)), 4),
            Template(_sase("A a, B b, C c", rest="WITHIN 3 seconds"), events("A B C", after=(1, 2)), 4),
            Template(_sase("A a, ~B b, C c", NEXT), ABC, 5),
        ),
    ),
)
