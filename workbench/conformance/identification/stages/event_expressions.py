"""The questions about event expressions."""

from __future__ import annotations

from cerify.conformance.identification.questions import Stage, Template, types
from cerify.conformance.identification.stages.common import conditions

AB, ABC = types("A B"), types("A B C")
STARTED = types("start")


def _asked(axis: str, *queries: str, letters: str = "A B C", longest: int = 4) -> Stage:
    return Stage((axis,), tuple(Template(query, types(letters), longest) for query in queries))


STAGES = (
    _asked("emit", "A", longest=3),
    _asked("or", "A or B"),
    Stage(("any",), (Template("any", AB, 2), Template("any", AB, 3, STARTED))),
    Stage(("not",), (Template("!A", AB, 3), Template("!A", AB, 3, STARTED))),
    _asked("nth", "<2> A", longest=5),
    _asked("every", "every <2> A", longest=5),
    Stage(("pipe", "first"), tuple(Template(query, ABC, 4) for query in ("first", "A | <2> any", "B | first"))),
    _asked("sequence", "sequence(A, B)", "(A or B) | sequence(A, B)"),
    _asked(
        "relative", "relative(A, B)", "relative(A, A)", "relative(A, <2> B)", "relative(A, sequence(A, B))", longest=5
    ),
    Stage(
        ("relative_plus",),
        (
            Template("relative+(A)", ABC, 5),
            Template("relative+(<2> A)", ABC, 5),
            Template("relative+(<2> A)", types("A"), 16),  # of eight rounds
        ),
    ),
    _asked("prior", "prior(A, B)", "prior(A, A)", "prior(A, <2> B)", longest=5),
    _asked("after", "B / A", "<2> B / A", longest=5),
    _asked("between", "B /+ A", "<2> B /+ A", longest=5),
    _asked("first_after", "firstAfter(A, B, C)", "firstAfter(A, any, B)", "firstAfter(A, B, B)"),
    _asked("before", "before(A)"),
    _asked("happened", "happened(A)"),
    _asked("series", "A * B", "A * A", "any * A"),
    *conditions("A[{}]", also=("mask",)),
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
