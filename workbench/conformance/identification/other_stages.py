"""The questions about SASE+ and event expressions."""

from __future__ import annotations

from cerify.conformance.identification.questions import Stage, Template, events, types

AB, ABC = types("A B"), types("A B C")
TIMED = events("A B", after=(1, 2, 3))
NEXT, ANY = "skip_till_next_match", "skip_till_any_match"
STRICT, PARTITION = "strict_contiguity", "partition_contiguity"


def _sase(pattern: str, strategy: str = ANY, where: str = "", rest: str = "", returned: str = "a.x") -> str:
    variables = ", ".join(part.split()[-1] for part in pattern.split(", ") if not part.startswith("~"))
    clause = f" WHERE {strategy}({variables}) {{ {where} }}"
    return f"PATTERN SEQ({pattern}){clause}{f' {rest}' if rest else ''} RETURN {returned}"


def _condition(where: str) -> str:
    return f"PATTERN SEQ(A a) WHERE {where} RETURN a.x"


SASE = (
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
    Stage(
        ("comparison",),
        (
            Template(_condition("a.x > 1"), events("A", x=(0, 1, 2)), 1),
            Template(_condition("a.x >= 1"), events("A", x=(0, 1, 2)), 1),
        ),
    ),
    Stage(
        ("connectives",),
        tuple(
            Template(_condition(condition), events("A", x=(0, 1), y=(0, 1)), 1)
            for condition in ("a.x = 1 or a.y = 1", "not a.x = 1")
        ),
    ),
    Stage(
        ("absent",),
        tuple(
            Template(_condition(condition), events("A", x=(None, 0, 1), y=(None, 0)), 2)
            for condition in ("a.x = 0", "not a.x = 1", "a.x = a.y", "a.x != 1")
        ),
    ),
    Stage(("integer-division",), (Template(_condition("a.x / 2 = 1"), events("A", x=(2, 3)), 1),)),
    Stage(("strings",), (Template(_condition("a.s = 'a'"), events("A", s=("a", "A")), 1),)),
    Stage(("like",), (Template(_condition("a.s like 'a'"), events("A", s=("a", "ab", "ba")), 1),)),
    Stage(("range",), (Template(_condition("a.x in range(1, 3)"), events("A", x=(1, 2, 3)), 1),)),
    Stage(("floats",), (Template(_condition("a.x = 1"), events("A", x=(1.0, 1.5)), 1),)),
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


def _asked(axis: str, *queries: str, letters: str = "A B C", longest: int = 4) -> Stage:
    return Stage((axis,), tuple(Template(query, types(letters), longest) for query in queries))


MASKS = tuple(
    Stage(axes, tuple(Template(f"A[{condition}]", letters, 2) for condition in conditions))
    for axes, letters, conditions in (
        (("mask", "comparison"), events("A", x=(0, 1, 2)), ("x > 1", "x >= 1", "x = 1")),
        (("connectives",), events("A", x=(0, 1), y=(0, 1)), ("x = 1 and y = 1", "x = 1 or y = 1", "not x = 1")),
        (("absent",), events("A", x=(None, 0, 1), y=(None, 0)), ("x = 0", "not x = 1", "x = y", "x != 1")),
        (("integer-division",), events("A", x=(2, 3)), ("x / 2 = 1",)),
        (("strings",), events("A", s=("a", "A")), ("s = 'a'",)),
        (("like",), events("A", s=("a", "ab", "ba")), ("s like 'a'",)),
        (("range",), events("A", x=(1, 2, 3)), ("x in range(1, 3)",)),
        (("floats",), events("A", x=(1.0, 1.5)), ("x = 1",)),
    )
)
STARTED = types("start")

EVENT_EXPRESSIONS = (
    _asked("emit", "A", longest=3),
    _asked("or", "A or B"),
    Stage(("any",), (Template("any", AB, 2), Template("any", AB, 3, STARTED))),
    Stage(("not",), (Template("!A", AB, 3), Template("!A", AB, 3, STARTED))),
    _asked("nth", "<2> A", longest=5),
    _asked("every", "every <2> A", longest=6),
    Stage(("pipe", "first"), tuple(Template(query, ABC, 4) for query in ("first", "A | <2> any", "B | first"))),
    _asked("sequence", "sequence(A, B)", "(A or B) | sequence(A, B)"),
    _asked(
        "relative", "relative(A, B)", "relative(A, A)", "relative(A, <2> B)", "relative(A, sequence(A, B))", longest=5
    ),
    _asked("relative_plus", "relative+(A)", "relative+(<2> A)", longest=5),
    _asked("prior", "prior(A, B)", "prior(A, A)", "prior(A, <2> B)", longest=5),
    _asked("after", "B / A", "<2> B / A", longest=5),
    _asked("between", "B /+ A", "<2> B /+ A", longest=5),
    _asked("first_after", "firstAfter(A, B, C)", "firstAfter(A, any, B)", "firstAfter(A, B, B)"),
    _asked("before", "before(A)"),
    _asked("happened", "happened(A)"),
    _asked("series", "A * B", "A * A", "any * A"),
    *MASKS,
    Stage(
        (),
        (
            Template("relative(A, B) or <2> A", AB, 5),
            Template("prior(A, sequence(B, B))", AB, 5),
            Template("relative(A, !B)", AB, 4),
            Template("<2> (A or B) / A", AB, 5),
            Template("relative+(sequence(A, B))", AB, 6),
        ),
    ),
)
