"""The queries that the suite of CEL puts to an engine, by feature, with the events to ask them of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias

from cerify.equivalence.rewrite.laws import LAWS
from cerify.equivalence.rewrite.trees import attribute_names
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import OPERATORS, show, subformulas
from cerify.semantics.events import Event, Schema, Stream
from cerify.semantics.values import Value, ValueType

# ---- group ----
# What the suite's queries are asked of.

Pool: TypeAlias = tuple[str, tuple[Value, ...]]


@dataclass(frozen=True)
class Group:
    """Queries of one feature, and what the streams for them are made of: event types, and attributes with their values.

    absent: the share of attribute values left out. length: the most events of a stream.
    ordered: whether the events are in the order of time.
    """

    feature: str
    queries: tuple[str, ...]
    attributes: tuple[Pool, ...] = ()
    types: tuple[str, ...] = ("A", "B", "C")
    output: Literal["matches", "valuations"] = "matches"
    absent: float = 0.0
    length: int = 4
    ordered: bool = False


def each(*queries: str, **names: str) -> tuple[str, ...]:
    """The queries with the names put in."""
    return tuple(query.format(**names) for query in queries)


# ---- examples ----
# The paper's own examples, what the errata and the decisions turn on, and where laws fail.

FIGURE_1 = Stream(
    Event(type_, {"id": id_, ("tmp" if type_ == "T" else "hum"): value})
    for type_, id_, value in zip(
        "HTHHTTTHH", (2, 0, 0, 1, 1, 0, 1, 1, 0), (25, 45, 20, 25, 40, 42, 25, 70, 18), strict=True
    )
)
FIRE = "FILTER T.tmp > 40 AND H.hum <= 25 AND T.id = 0 AND H.id = 0"
RISE = "FILTER H1.hum < 30 AND H2.hum > 60"
SENSOR_1 = "AND H.id = 1 AND T.id = 1"
PHI_1 = f"(T ; H) {FIRE}"
CHANGE = "(H IN H1 ; T+ ; H IN H2)"


def of(types: str) -> Stream:
    """A stream of events without attributes, a letter for the type of each."""
    return Stream(map(Event, types))


# The paper's own examples: the name in the case's id, the place in the paper, the feature, the query, the stream.
Example: TypeAlias = tuple[str, str, str, str, Stream]
EXAMPLES: tuple[Example, ...] = (
    ("ex3/phi1", "tods21 section 3, phi_1", "examples", PHI_1, FIGURE_1),
    ("ex3/phi1-prime", "tods21 section 3, phi_1'", "examples", f"(T : H) {FIRE}", FIGURE_1),
    ("ex3/phi2", "tods21 section 3, phi_2", "examples", f"((T ; H) OR (H ; T)) {FIRE}", FIGURE_1),
    ("ex3/phi2-prime", "tods21 section 3, phi_2'", "all", f"(T ALL H) {FIRE}", FIGURE_1),
    ("ex3/phi3", "tods21 section 3, phi_3", "examples", f"{CHANGE} {RISE} {SENSOR_1}", FIGURE_1),
    (
        "ex3/phi3-prime",
        "tods21 section 3, phi_3'",
        "examples",
        f"(H IN H1 ; T:+ ; H IN H2) {RISE} {SENSOR_1}",
        FIGURE_1,
    ),
    ("ex3/phi4", "tods21 section 3, phi_4", "project", f"PROJECT[T]({CHANGE} {RISE} {SENSOR_1})", FIGURE_1),
    ("ex3/phi5", "tods21 section 3, phi_5", "examples", f"{CHANGE} {RISE} AND H.id = T.id", FIGURE_1),
    ("sec4/iterated-seq", "tods21 section 4, note on iterated sequencing", "examples", "(R ; S):+", of("RTSRS")),
    ("sec4/iterated-seq-whole", "tods21 section 4, note on iterated sequencing", "examples", "(R ; S):+", of("RSRST")),
    ("sec4/iterated-cseq", "tods21 section 4, note on iterated sequencing", "examples", "(R : S):+", of("RTSRS")),
    ("sec4/iterated-cseq-whole", "tods21 section 4, note on iterated sequencing", "examples", "(R : S):+", of("RSRST")),
    ("fig8", "tods21 Figure 8", "examples", "U ; ((V+ ; W) OR W)", of("UVVW")),
    *(
        (
            f"sec7.1/{name}-phi{n}",
            f"tods21 section 7.1, {name.upper()}(phi_{n})",
            name,
            f"{name.upper()}({phi})",
            FIGURE_1,
        )
        for name in ("strict", "nxt", "last", "max")
        for n, phi in ((1, PHI_1), (3, f"{CHANGE} {RISE} {SENSOR_1}"))
    ),
)


def with_x(*values: int) -> Stream:
    """A stream of events A with an attribute x."""
    return Stream(Event("A", {"x": value}) for value in values)


# Where a printed construction departs from the semantics, and where two readings do: errata.md and decisions/*.md.
READINGS: tuple[Example, ...] = (
    ("errata/cplus-third-round", "tods21 Theorem 6.2, contiguous iteration", "cplus", "A:+", of("AAA")),
    ("errata/unless-inside", "tods21 Theorem 6.2, UNLESS", "unless", "A UNLESS B", of("BA")),
    ("errata/all-gap", "tods21 Theorem 6.2, ALL", "all", "A ALL START(B)", of("AAB")),
    ("errata/nxt-same-support", "tods21 Theorem 7.2, NXT", "nxt", "NXT((A OR A+ IN X) ; A)", of("AAA")),
    ("errata/max-same-support", "tods21 Theorem 7.2, MAX", "max", "MAX((A OR A+ IN X) ; A)", of("AAA")),
    ("errata/last-same-support", "tods21 Theorem 7.2, LAST", "last", "LAST(START((A OR A+ IN X) ; A))", of("AAA")),
    ("errata/strict-interval", "tods21 section 7.1, STRICT", "strict", "STRICT(A ; A)", of("ABAA")),
    ("errata/window", "tods21 section 4, the predicate Q of windows", "within", "A ; B WITHIN 3 EVENTS", of("AACB")),
    ("decisions/empty-cseq", "tods21 Figure 3, contiguous sequencing", "cseq", "PROJECT[](A) : B", of("AB")),
    ("decisions/empty-start", "tods21 Figure 3, anchoring", "start", "START(PROJECT[](A))", of("AB")),
    ("decisions/empty-strict", "tods21 section 7.1, STRICT", "strict", "STRICT(PROJECT[](A))", of("AB")),
    ("decisions/filter-or", "tods21 section 4, sugar", "filter", "A+ FILTER A.x < 2 OR A.x > 4", with_x(1, 5)),
    (
        "decisions/or-in-brackets",
        "tods21 section 4, sugar",
        "filter",
        "A+ FILTER A[x < 2 or x > 4]",
        with_x(1, 5),
    ),
    ("decisions/mentions", "tods21 section 4, sugar", "filter", "A+ FILTER A.x = A.x", with_x(1, 5)),
    ("decisions/matches-overlap", "tods21 section 4, complex events", "plus", "A+", of("AAAA")),
)

# Iterations of many rounds and chains of many parts, which an engine may have room for up to some number only.
LONG: tuple[Example, ...] = (
    ("long/plus", "tods21 Figure 3, iteration", "plus", "A+", of("A" * 8)),
    ("long/plus-of-sequences", "tods21 Figure 3, iteration", "plus", "(A ; B)+", of("AB" * 6)),
    ("long/plus-of-sides", "tods21 Figure 3, iteration", "plus", "(A OR B)+", of("ABBABAAB")),
    ("long/plus-of-plus", "tods21 Figure 3, iteration", "plus", "(A+ ; B)+", of("AABABAAB")),
    ("long/plus-before", "tods21 Figure 3, iteration", "seq", "A+ ; B", of("A" * 8 + "B")),
    ("long/plus-after", "tods21 Figure 3, iteration", "seq", "B ; A+", of("B" + "A" * 8)),
    ("long/cplus", "tods21 Figure 3, contiguous iteration", "cplus", "A:+", of("A" * 14)),
    ("long/cplus-of-sequences", "tods21 Figure 3, contiguous iteration", "cplus", "(A : B):+", of("AB" * 9)),
    ("long/cplus-after", "tods21 Figure 3, contiguous iteration", "cseq", "B : A:+ : B", of("B" + "A" * 12 + "B")),
    ("long/seq", "tods21 Figure 3, sequencing", "seq", " ; ".join("ABCDEFGHIJ"), of("ABCDEFGHIJ")),
    ("long/seq-of-one-type", "tods21 Figure 3, sequencing", "seq", " ; ".join("A" * 9), of("A" * 10)),
    ("long/cseq", "tods21 Figure 3, contiguous sequencing", "cseq", " : ".join("ABCDEFGHIJ"), of("ABCDEFGHIJ")),
    ("long/or", "tods21 Figure 3, disjunction", "or", " OR ".join("ABCDEFGHIJ"), of("JIHGFEDCBA")),
    ("long/repeat", "tods21 Figure 3, iteration", "repeat", "A{7,9}", of("A" * 10)),
    ("long/crepeat", "tods21 Figure 3, contiguous iteration", "crepeat", "A:{9,11}", of("A" * 13)),
    ("long/filter", "tods21 Figure 3, FILTER", "filter", "A+ FILTER A.x > 0", with_x(1, 2, 0, 1, 3, 1, 1, 2, 1)),
    ("long/max", "tods21 section 7.1, MAX", "max", "MAX(A+)", of("A" * 10)),
    ("long/nxt", "tods21 section 7.1, NXT", "nxt", "NXT((A ; B)+)", of("AABABBABAB")),
    ("long/last", "tods21 section 7.1, LAST", "last", "LAST((A ; B)+)", of("AABABBABAB")),
    ("long/strict", "tods21 section 7.1, STRICT", "strict", "STRICT((A OR B)+)", of("ABBABAABACB")),
    ("long/within", "tods21 section 4, windows", "within", "A:+ WITHIN 9 EVENTS", of("A" * 14)),
)

SPELT = {":+": "cplus", "+": "plus", ";": "seq", ":": "cseq", ">": "gt", "<": "lt", "=": "eq"}


def witnesses() -> Iterator[tuple[str, str, str, Stream, Literal["matches", "valuations"]]]:
    """Both sides of each law that fails, where they differ: name, feature (the outermost operator), query, stream."""
    for law in LAWS:
        if (w := law.witness) is None or any(map(is_left_out, (law.left, law.right))):
            continue
        for number, phi in enumerate(law.instance(*w.formulas), 1):
            attributes: dict[str, ValueType] = {"x": "int"} if w.x or "x" in attribute_names(phi) else {}
            asked = {psi.type for psi in subformulas(phi) if isinstance(psi, cel.EventAtom)}
            types = sorted(asked | {event.type for event in w.stream})
            S = Stream(w.stream, Schema(dict.fromkeys(types, attributes)))
            name = f"law/{spelt(law.name)}/{number}"
            yield name, OPERATORS[type(phi)].name, show(phi), S, "matches" if law.level == "events" else "valuations"


def is_left_out(phi: cel.Formula) -> bool:
    """Return whether a formula has an operator that the suite does not ask."""
    return any(OPERATORS[type(psi)].name in NOT_ASKED for psi in subformulas(phi) if type(psi) in OPERATORS)


def spelt(name: str) -> str:
    """The name of a law as a part of an id."""
    for symbol, word in SPELT.items():
        name = name.replace(symbol, f" {word} ")
    return "-".join(re.findall(r"\w+", name.lower()))


# ---- operators ----
# Queries for each operator, with a few for its interplay with the others.

X: Pool = ("x", (0, 1, 2))

PLAIN_OPERATORS: tuple[Group, ...] = (
    Group("event", ("A", "B", "C"), length=3),
    Group("event", ("A", "a", "AB", "A_1", "Événement"), types=("A", "a", "AB", "A_1", "Événement"), length=3),
    Group("event", ("A", "B"), output="valuations"),
    Group(
        "seq",
        (
            "A ; B",
            "A ; A",
            "A ; B ; C",
            "A ; (B ; C)",
            "A ; B ; A",
            "(A OR B) ; C",
            "A ; (A ; B)",
            "(A : B) ; C",
            "A ; (B : C)",
        ),
    ),
    Group("seq", ("A ; B", "A ; A", "A ; B ; A"), output="valuations"),
    Group(
        "cseq",
        (
            "A : B",
            "A : A",
            "A : B : C",
            "A : (B : C)",
            "A : B : A",
            "(A ; B) : C",
            "A : (B ; C)",
            "(A OR B) : A",
            "A+ : B",
            "A : B+",
            "(A : B) OR (A ; B)",
        ),
    ),
    Group("cseq", ("A : B", "(A ; A) : A"), output="valuations"),
    Group(
        "plus",
        (
            "A+",
            "A+ ; B",
            "A ; B+",
            "A ; B+ ; C",
            "(A ; B)+",
            "(A OR B)+",
            "(A : B)+",
            "A++",
            "(A+ ; B)+",
            "(A ; B)+ ; C",
            "A+ ; A",
        ),
    ),
    Group("plus", ("A+", "(A ; B+)+", "(A IN X ; B)+"), output="valuations"),
    Group(
        "cplus",
        (
            "A:+",
            "A:+ ; B",
            "A:+ : B",
            "A ; B:+",
            "(A ; B):+",
            "(A : B):+",
            "(A OR B):+",
            "A:+:+",
            "A:++",
            "A+:+",
            "A : B:+ : C",
        ),
    ),
    Group("cplus", ("A:+", "(A ; B):+"), output="valuations"),
    Group(
        "or",
        (
            "A OR B",
            "A OR A",
            "A OR (A ; B)",
            "(A ; B) OR (B ; A)",
            "(A : B) OR C",
            "A OR B OR C",
            "A+ OR B",
            "(A OR (A ; B)) : C",
        ),
    ),
    Group("or", ("A OR B", "(A IN X) OR (A IN Y)", "(A ; B) OR (A ; B) IN X"), output="valuations"),
    Group(
        "in", ("(A IN X ; A) FILTER X.x > A.x", "(A ; B) IN X FILTER X.x > 0", "(A+ IN X ; B) FILTER X.x >= 1"), (X,)
    ),
    Group("in", ("(A IN X ; A IN Y) FILTER X.x = 1 AND Y.x = 2", "(A IN B ; B) FILTER B.x > 0"), (X,)),
    Group(
        "in",
        (
            "A IN X",
            "A IN A",
            "(A ; B) IN A",
            "(A ; B) IN X",
            "A IN X IN Y",
            "(A IN X ; B) IN X",
            "(A IN X ; B IN X)",
            "(A ; B) IN X ; C IN X",
            "A+ IN X",
            "(A IN X)+",
            "(A IN B ; B) IN A",
            "((A ; B) IN A ; A) IN B",
        ),
        output="valuations",
    ),
    Group(
        "project",
        (
            "PROJECT[A](A ; B)",
            "PROJECT[B](A ; B)",
            "PROJECT[](A ; B)",
            "PROJECT[Z](A)",
            "PROJECT[A](A+ ; B)",
            "PROJECT[A](A ; B) ; C",
            "PROJECT[B](A ; B) : C",
            "C : PROJECT[B](A ; B)",
            "PROJECT[A](A : B)+",
            "PROJECT[A, C](A ; B ; C)",
            "PROJECT[A](A OR B)",
        ),
    ),
    Group("project", ("PROJECT[X]((A IN X ; B) FILTER B.x > 0)", "PROJECT[A](A ; B) FILTER B.x > 0"), (X,)),
    Group(
        "project",
        ("PROJECT[A](A ; B)", "PROJECT[X](A IN X)", "PROJECT[X](A IN X ; B)", "PROJECT[A, X]((A ; B) IN X)"),
        output="valuations",
    ),
    Group(
        "start",
        (
            "START(A)",
            "START(A ; B)",
            "START(A+)",
            "A ; START(B)",
            "A : START(B)",
            "START(A) ; B",
            "START(A):+",
            "START(A)+",
            "START(A OR B)",
            "START(A : B) ; C",
            "START(START(A) ; B)",
            "(A ; START(B)) OR C",
        ),
    ),
    Group("start", ("START(A+)", "A ; START(B)"), output="valuations"),
    Group(
        "and",
        (
            "A AND A",
            "A AND B",
            "(A ; B) AND (A : B)",
            "A+ AND A:+",
            "(A OR B) AND (B OR C)",
            "(A ; B) AND (A OR B)",
            "A+ AND (A ; A)",
            "(A AND A) ; B",
            "A IN X AND A IN X",
            "A IN X AND A IN Y",
            "A AND A IN X",
            "(A+ ; B) AND (A : B+)",
        ),
    ),
    Group("and", ("(A FILTER A.x > 0) AND (A FILTER A.x < 2)", "A+ AND (A+ FILTER A.x = 1)"), (X,)),
    Group("and", ("A+ AND A:+", "A IN X AND A", "(A ; B) AND (A : B)"), output="valuations"),
    Group(
        "all",
        (
            "A ALL B",
            "A ALL A",
            "(A ; B) ALL C",
            "(A ; B) ALL (A ; C)",
            "A ALL B ALL C",
            "A+ ALL B",
            "(A ALL B) ; C",
            "(A ALL B) : C",
            "(A ALL B)+",
            "A ALL (A OR B)",
            "(A : B) ALL C",
        ),
    ),
    Group("all", ("(A ALL B) FILTER A.x = B.x", "(A ALL B) FILTER A.x < 1 AND B.x > 0"), (X,)),
    Group("all", ("A ALL B", "A IN X ALL A IN Y", "A ALL A"), output="valuations"),
    Group(
        "unless",
        (
            "A UNLESS B",
            "(A ; B) UNLESS C",
            "A ; (B UNLESS C)",
            "(A UNLESS C) ; B",
            "A+ UNLESS B",
            "(A UNLESS B)+",
            "(A ; B) UNLESS (A : B)",
            "(A : B) UNLESS C",
            "A UNLESS A",
            "(A ; A) UNLESS (B ; B)",
            "(A UNLESS B) OR C",
            "START(A ; B) UNLESS C",
            "A UNLESS START(B)",
            "(A ; B) UNLESS START(C)",
        ),
    ),
    Group("unless", ("(A ; B) UNLESS (C FILTER C.x > 0)", "(A UNLESS (A FILTER A.x = 0)) ; B"), (X,)),
    Group("unless", ("A+ UNLESS B", "(A IN X ; B) UNLESS C"), output="valuations"),
)

STRATEGIES = {"strict": "STRICT", "nxt": "NXT", "last": "LAST", "max": "MAX"}

SELECTING: tuple[Group, ...] = tuple(
    group
    for feature, W in STRATEGIES.items()
    for group in (
        Group(
            feature,
            (
                f"{W}(A ; B)",
                f"{W}(A+)",
                f"{W}(A+ ; B)",
                f"{W}(A ; B+)",
                f"{W}((A ; B)+)",
                f"{W}(A OR (A ; B))",
                f"{W}((A OR B)+ ; C)",
                f"{W}((A ; A ; B) OR (C ; B))",
                f"{W}(A+) ; B",
                f"{W}(A ; B) : C",
                f"(A ; {W}(B+))+",
            ),
        ),
        Group(feature, (f"{W}(A+ ; B) FILTER A.x > 0", f"{W}((A+ ; B) FILTER A.x > 0)"), (X,), ("A", "B")),
        Group(feature, (f"{W}(A IN X OR A IN Y)", f"{W}((A IN X OR A)+)"), output="valuations"),
    )
)

WINDOWS: tuple[Group, ...] = (
    Group(
        "within",
        (
            "A ; B WITHIN 2 EVENTS",
            "A ; B WITHIN 3 EVENTS",
            "A+ WITHIN 2 EVENTS",
            "(A ; B WITHIN 2 EVENTS) ; C",
            "PROJECT[A](A ; B) WITHIN 1 EVENTS",
            "A WITHIN 1 EVENTS",
        ),
        length=5,
    ),
    Group(
        "within",
        ("A ; B WITHIN 4 seconds", "A+ WITHIN 1 minute", "A ; B WITHIN 1 hour", "A : B WITHIN 0 seconds"),
        (("time", (0, 4, 5, 60, 61, 3600)),),
        ("A", "B"),
    ),
    Group("within", ("A ; B WITHIN 2 [x]", "A+ WITHIN 1 [x]", "A ; B WITHIN 0 [x]"), (X,), ("A", "B"), absent=0.2),
    Group(
        "partition", ("A ; B PARTITION BY [x]", "A+ PARTITION BY [x]", "(A ; B)+ PARTITION BY [x]"), (X,), ("A", "B")
    ),
    Group(
        "partition",
        ("A ; B PARTITION BY [x]", "A PARTITION BY [x]", "(A ; B PARTITION BY [x]) ; A", "A+ ; B PARTITION BY [x]"),
        (X,),
        ("A", "B"),
        absent=0.3,
    ),
)


# ---- filters ----
# Queries for filters: every comparator and test, connectives, correlation, value types, absent attributes.

Y: Pool = ("y", (0, 1, 2))
F: Pool = ("f", (0.5, 1.0, 1.5, 2.0))
S: Pool = ("s", ("", "a", "A", "ab", "b", "b'c"))
B: Pool = ("b", (True, False))
T: Pool = (
    "t",
    (datetime(2021, 3, 1, tzinfo=UTC), datetime(2021, 3, 1, 12, tzinfo=UTC), datetime(2021, 3, 2, tzinfo=UTC)),
)


FILTERS: tuple[Group, ...] = (
    # every comparator, and the other tests of one event
    Group("filter", tuple(f"A FILTER A.x {op} 1" for op in ("<", "<=", ">", ">=", "=", "!=")), (X,), ("A", "B")),
    Group(
        "filter", ("A FILTER A.x < A.y", "A FILTER A[x < y]", "A FILTER A[x = y]", "A FILTER A[x >= y]"), (X, Y), ("A",)
    ),
    Group("filter", tuple(f"A+ FILTER A.x {op} 1" for op in ("<", "=", "!=")), (X,), ("A", "B")),
    Group("filter", ("A FILTER A.x in {0, 2}", "A FILTER A[not x in {0, 1}]", "A FILTER A.x in {1}"), (X,), ("A", "B")),
    Group(
        "filter",
        (
            "A FILTER A.x in range(1, 2)",
            "A FILTER A.x in range(1, 1)",
            "A+ FILTER A.x in range(0, 2)",
            "A FILTER A.x in range(2, 1)",
            "A FILTER A[not x in range(1, 2)]",
        ),
        (("x", (0, 1, 2, 3)),),
        ("A", "B"),
    ),
    # connectives inside the brackets speak of one event, those outside of the whole match
    Group(
        "filter",
        (
            "A FILTER A[x > 0 and y > 0]",
            "A FILTER A[x > 0 or y > 0]",
            "A FILTER A[not (x > 0 and y > 0)]",
            "A FILTER A[not x > 0 and y > 0]",
            "A FILTER A[x = 0 or x = 1 and y = 2]",
        ),
        (X, Y),
        ("A",),
    ),
    Group(
        "filter",
        (
            "A+ FILTER A[x < 1 or x > 1]",
            "A+ FILTER A.x < 1 OR A.x > 1",
            "A+ FILTER A.x > 0 AND A.x < 2",
            "A+ FILTER A[x > 0 and x < 2]",
            "A+ FILTER A.x = 0 OR A.x = 1",
        ),
        (X,),
        ("A", "B"),
    ),
    Group(
        "filter",
        (
            "(A ; B) FILTER A.x > 0 AND B.x > 0",
            "(A ; B) FILTER A.x > 0 OR B.x > 0",
            "(A ; B) FILTER (A.x = 0 OR B.x = 0) AND (A.x = 1 OR B.x = 1)",
            "(A ; B) FILTER A.x = 0 AND B.x = 0 OR A.x = 1 AND B.x = 1",
        ),
        (X,),
        ("A", "B"),
    ),
    Group(
        "filter",
        (
            "A FILTER A.x > 0 FILTER A.x < 2",
            "(A FILTER A.x > 0) ; B",
            "(A FILTER A.x = 1)+ ; B",
            "(A FILTER A.x = 1 OR A.x = 2) : (A FILTER A.x = 0)",
        ),
        (X,),
    ),
    # a filter on a variable that the match does not bind holds
    Group(
        "filter",
        (
            "A FILTER X.x > 1",
            "(A OR B) FILTER A.x > 0",
            "(A OR B) FILTER A.x > 0 AND B.x < 2",
            "A FILTER B.x = A.x",
            "(A IN X OR B) FILTER X.x > 0 OR A.x > 0",
        ),
        (X,),
    ),
    # correlation: each mention ranges over the events of its variable on its own
    Group(
        "filter", tuple(f"(A ; B) FILTER A.x {op} B.x" for op in ("<", "<=", ">", ">=", "=", "!=")), (X,), ("A", "B")
    ),
    Group(
        "filter",
        (
            "A+ FILTER A.x = A.x",
            "A+ FILTER A.x <= A.x",
            "A+ FILTER A[x = x]",
            "A+ FILTER A.x != A.x",
            "(A+ ; B) FILTER A.x < B.x",
            "(A+ ; B+) FILTER A.x = B.x",
            "(A IN X ; A+ IN Y) FILTER X.x < Y.x",
        ),
        (X,),
        ("A", "B"),
    ),
    Group(
        "filter",
        (
            "(A ; B) FILTER A.x < B.x OR A.y = B.y",
            "(A ; B) FILTER A.x = B.x AND A.y = B.y",
            "(A ; B) FILTER A.x + A.y = B.x",
            "(A+ ; B) FILTER A.x + A.y = B.x",
        ),
        (X, Y),
        ("A", "B"),
    ),
    # arithmetic
    Group(
        "filter",
        (
            "A FILTER A[x + y = 2]",
            "A FILTER A[x - y > 0]",
            "A FILTER A[x * y >= 2]",
            "A FILTER A[x / y = 1]",
            "A FILTER A[x / y > 1]",
            "A FILTER A[x - y - 1 = 0]",
            "A FILTER A[x - (y - 1) = 0]",
            "A FILTER A[x * 2 + y = 4]",
            "A FILTER A[not x / y = 1]",
            "A FILTER A[-x < y - 2]",
            "A FILTER A[x / 2 = 0.5]",
            "A FILTER A[x / 4 * 4 = x]",
        ),
        (X, Y),
        ("A",),
    ),
    # floats, and integers beside them
    Group(
        "filter",
        (
            "A FILTER A.f > 1",
            "A FILTER A.f = 1",
            "A FILTER A.f = 1.0",
            "A FILTER A.f in {1, 2}",
            "A FILTER A.f in range(0.75, 1.5)",
            "A FILTER A.f * 2 = 3",
        ),
        (F,),
        ("A",),
    ),
    Group(
        "filter",
        ("A FILTER A[x = f]", "A FILTER A[x < f]", "A FILTER A.x < 1.5", "A FILTER A.x >= 1.0"),
        (X, F),
        ("A",),
    ),
    # strings, booleans, times
    Group(
        "filter",
        (
            "A FILTER A.s = 'a'",
            "A FILTER A.s != 'a'",
            "A FILTER A.s < 'ab'",
            "A FILTER A.s >= 'a'",
            "A FILTER A.s = ''",
            "A FILTER A.s = 'b''c'",
            "A FILTER A.s in {'a', 'b'}",
        ),
        (S,),
        ("A",),
    ),
    Group(
        "filter",
        (
            "A FILTER A.s like 'a'",
            "A FILTER A.s like 'a.*'",
            "A FILTER A.s like '.*b'",
            "A FILTER A.s like 'a|b'",
            "A FILTER A.s like '[a-b]+'",
            "A FILTER A[not s like 'a.*']",
            "A FILTER A.s like ''",
        ),
        (S,),
        ("A",),
    ),
    Group(
        "filter",
        ("A FILTER A.b = true", "A FILTER A.b != true", "A FILTER A.b = false", "A+ FILTER A.b = A.b"),
        (B,),
        ("A",),
    ),
    Group(
        "filter",
        (
            "A FILTER A.t > timestamp '2021-03-01'",
            "A FILTER A.t = timestamp '2021-03-01T12:00:00Z'",
            "A FILTER A.t <= timestamp '2021-03-01T13:00:00+01:00'",
            "A FILTER A.t in range(timestamp '2021-03-01T01:00:00Z', timestamp '2021-03-02T00:00:00Z')",
            "(A ; B) FILTER A.t < B.t",
        ),
        (T,),
        ("A", "B"),
    ),
    # a comparison with an attribute that is absent is false
    Group(
        "filter",
        (
            "A FILTER A.x >= 0",
            "A FILTER A.x != 1",
            "A FILTER A[not x = 1]",
            "A FILTER A[x < 1 or x >= 1]",
            "A FILTER A[x = x]",
            "A FILTER A[x + y >= 0]",
            "A FILTER A.x in {0, 1}",
            "A+ FILTER A.x < 2",
            "(A ; B) FILTER A.x = B.x",
            "(A ; B) FILTER A.x != B.x",
        ),
        (X, Y),
        ("A", "B"),
        absent=0.4,
    ),
    Group(
        "filter",
        ("A+ FILTER A.x > 0", "(A IN X ; B) FILTER X.x > 0", "(A+ ; B) FILTER A.x <= B.x", "(A OR B) FILTER A.x > 0"),
        (X,),
        ("A", "B"),
        output="valuations",
    ),
)


# ---- trials ----
# Queries for what engines got wrong on trial and no case showed: deep groups, filters across events, far times.

ONE: Pool = ("x", (0, 1))
TRIALS_Y: Pool = ("y", (0, 1))
TWO_TYPES = ("A", "B")
FAR: Pool = ("time", (0, 1, 3_600, 90_000, 3_000_000, 100_000_000))
SECONDS: Pool = ("time", (0, 1, 2, 3, 4))
TENTHS: Pool = (
    "time",
    tuple(datetime(2026, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms) for ms in (0, 400, 500, 600, 1500, 1600)),
)

DEEP: tuple[Group, ...] = (
    Group(
        "seq",
        (
            "((A ; B) ; (A ; C)) ; B",
            "A ; (B ; (A ; (B ; A)))",
            "((A OR (B ; C)) ; A) ; B",
            "A ; ((B OR (C ; A)) ; (B OR C))",
            "(((A ; B) OR C) ; A) OR B",
            "((A+ ; B) ; A+) ; B",
            "A ; (B+ ; (A ; B)+)",
            "A+ ; B+ ; A+",
            "(A OR B)+ ; B+",
            "(A OR B)+ ; (B OR C)+",
            "(A ALL B) ; C",
            "(B ALL A) ; C",
            "C ; (A ALL B)",
            "(A ALL B) ; (A ALL C)",
            "((A ; B) ALL C) ; A",
            "((A ALL B) ; C) ALL A",
        ),
        length=6,
    ),
    *(
        Group(
            feature,
            each(
                "((A ; B){p} ; A){p}",
                "((A : B){p} : A){p}",
                "(((A ; B){p} ; A){p} ; B){p}",
                "((A OR (B ; A)){p} ; B){p}",
                "((A{p} ; B){p} ; A){p}",
                "(A ; (B ; A{p}){p}){p}",
                p=plus,
            ),
            types=TWO_TYPES,
            length=6,
        )
        for feature, plus in (("plus", "+"), ("cplus", ":+"))
    ),
)

ACROSS_EVENTS: tuple[Group, ...] = (
    Group(
        "filter",
        (
            "(A ; B) FILTER A.x = B.x AND A.x > 0",
            "(A ; B) FILTER A.x = B.x OR B.x = 1",
            "(A ; B) FILTER (A.x = 1 OR B.x = 1) AND A.x < B.x",
            "(A ; B) FILTER A.x < B.x OR A.x = B.x AND A.x = 1",
            "(A ; B ; C) FILTER A.x = B.x AND B.x = C.x",
            "(A ; B ; C) FILTER A.x = B.x OR B.x = C.x",
            "(A ; B ; C) FILTER (A.x = B.x OR B.x = C.x) AND A.x != C.x",
            "(A+ ; B) FILTER A.x = B.x OR B.x = 1",
            "(A+ ; B) FILTER A.x = B.x AND A.x > 0",
            "(A OR B ; C) FILTER A.x = 1 OR B.x = C.x",
        ),
        (X,),
    ),
    Group(
        "filter",
        (
            "(A ; B) FILTER (A.x = 1 OR B.x = 1) AND (A.y = 1 OR B.y = 1)",
            "(A ; B) FILTER A.x = B.x AND (A.y = 1 OR B.y = 1)",
            "(A ; B) FILTER A.x = B.x OR A.y = B.y",
        ),
        (ONE, TRIALS_Y),
        TWO_TYPES,
    ),
)

TWO_VARIABLES: tuple[Group, ...] = (
    Group(
        "in",
        ("A IN X IN Y", "(A IN X) IN Y ; B", "((A IN X ; B) IN Y ; A) IN X", "(A IN X OR A IN Y)", "(A IN X)+ IN Y"),
        types=TWO_TYPES,
        output="valuations",
    ),
    Group(
        "in",
        (
            "A IN X IN Y FILTER X.x = 1 AND Y.x > 0",
            "(A IN X IN Y ; B) FILTER X.x = B.x AND Y.x = 1",
            "(A IN X ; A IN X IN Y) FILTER X.x = Y.x",
            "((A ; B) IN X ; A) FILTER X.x = 1 OR A.x = 1",
        ),
        (ONE,),
        TWO_TYPES,
    ),
)

TIMES: tuple[Group, ...] = (
    Group("seq", ("A ; B", "A ; A", "A ; B ; A"), (FAR,), TWO_TYPES, ordered=True),
    Group("cseq", ("A : B", "A : A"), (FAR,), TWO_TYPES, ordered=True),
    Group("plus", ("A+", "A+ ; B"), (FAR,), TWO_TYPES, ordered=True),
    Group(
        "within",
        ("A ; B WITHIN 1.5 seconds", "A+ WITHIN 2.5 seconds", "A ; B ; A WITHIN 0.05 minutes"),
        (SECONDS,),
        TWO_TYPES,
        ordered=True,
    ),
    Group(
        "within",
        ("A ; B WITHIN 0.5 seconds", "A+ WITHIN 1.5 seconds", "A ; B WITHIN 1.1 seconds"),
        (TENTHS,),
        TWO_TYPES,
        ordered=True,
    ),
    Group("within", ("A ; B WITHIN 1.5 [x]", "A+ WITHIN 0.5 [x]"), (("x", (0.0, 0.5, 1.0, 1.5, 2.0)),), TWO_TYPES),
)

TRIALS = (*DEEP, *ACROSS_EVENTS, *TWO_VARIABLES, *TIMES)


# ---- rounds ----
# Queries for bounded iteration, non-contiguous and contiguous.

SHAPES = (
    "A{n}{{1}}", "A{n}{{2}}", "A{n}{{3}}", "A{n}{{1,2}}", "A{n}{{2,3}}", "A{n}{{1,3}}", "A{n}{{2,}}", "A{n}{{1,}}",
    "A{n}{{2}} ; B", "A ; B{n}{{1,2}}", "B{n}{{2}} : A", "(A OR B){n}{{2}}", "(A ; B){n}{{2}}", "(A : B){n}{{1,2}}",
    "A+{n}{{2}}", "(A{n}{{2}})+", "A{n}{{2}} OR B", "(A{n}{{1,2}}){n}{{2}}", "NXT(A{n}{{1,2}} ; B)",
    "MAX(A{n}{{1,2}})", "A{n}{{2,}} UNLESS B", "START(A{n}{{2}})",
)  # fmt: skip

ROUNDS: tuple[Group, ...] = tuple(
    group
    for feature, n in (("repeat", ""), ("crepeat", ":"))
    for group in (
        Group(feature, each(*SHAPES, n=n), types=("A", "B")),
        Group(feature, each("(A IN X){n}{{2}} ; A", "(A{n}{{1,2}}) IN X", n=n), types=("A", "B"), output="valuations"),
    )
)


# ---- nested operators ----
# Queries in which sequences, iterations, connectives and guards stand inside each other.

SEQUENCES: tuple[Group, ...] = (
    Group(
        "seq",
        (
            "A ; (A OR B) ; A",
            "((A ; B) OR (A ; C)) ; B",
            "PROJECT[A](A ; B) ; A",
            "START(A) ; START(B)",
            "(A ; A) ; (A ; A)",
            "A ; (B ALL C)",
            "(A UNLESS C) ; (B UNLESS C)",
            "MAX(A+) ; MAX(B+)",
            "A+ ; A+",
            "A ; A:+ ; B",
            "(A ; B) IN X ; (B ; A) IN Y",
        ),
        length=5,
    ),
    Group("seq", ("PROJECT[](A) ; B", "A ; PROJECT[](B)", "PROJECT[](A) ; PROJECT[](B)"), types=TWO_TYPES),
    Group("seq", ("A IN X ; A IN X", "A+ ; A", "(A ; B) ; (A ; B)"), types=TWO_TYPES, output="valuations"),
    Group(
        "cseq",
        (
            "PROJECT[A](A ; B) : C",
            "PROJECT[A](A ; B) : A",
            "A : PROJECT[B](A ; B)",
            "PROJECT[](A) : B",
            "B : PROJECT[](A)",
            "(A ; (B : A)) OR ((B ; A) : B)",
            "(A : B) : (A : B)",
            "A+ : A+",
            "(A ALL B) : A",
            "A : (A ALL B)",
            "NXT(A+) : B",
            "A : LAST(A+)",
            "(A : C) OR (A ; B)",
            "(A OR B):+ : C",
        ),
        length=5,
    ),
    Group("cseq", ("A+ : A", "(A : B) IN X : A", "PROJECT[A](A ; B) : A"), types=TWO_TYPES, output="valuations"),
)

ITERATIONS: tuple[Group, ...] = tuple(
    group
    for feature, plus in (("plus", "+"), ("cplus", ":+"))
    for group in (
        Group(
            feature,
            each(
                "(A ; B ; A){p}",
                "(A : B : A){p}",
                "(A OR (B ; C)){p}",
                "(A ; (B OR C)){p}",
                "(A{p} ; B{p}){p}",
                "(A+ : B){p}",
                "START(A ; B){p}",
                "(A ; START(B)){p}",
                "(A ALL B){p}",
                "((A ; B) UNLESS C){p}",
                "(A UNLESS (B ; B)){p}",
                "PROJECT[A](A ; B){p}",
                "PROJECT[B](A ; B){p}",
                "PROJECT[](A){p}",
                "NXT(A ; B){p}",
                "LAST(A ; B){p}",
                "MAX(A OR (A ; B)){p}",
                "STRICT(A ; A){p}",
                "STRICT((A ; B){p})",
                "START((A ; B){p})",
                p=plus,
            ),
            length=5,
        ),
        Group(
            feature,
            each("A{p} FILTER A.x > 0", "(A FILTER A.x > 0){p} ; B", "(A ; B FILTER A.x = B.x){p}", p=plus),
            (ONE,),
            TWO_TYPES,
        ),
        Group(
            feature,
            each("(A ; B){p} FILTER A.x = A.x", "(A ; A FILTER A.x = A.x){p}", "(A ; B WITHIN 2 EVENTS){p}", p=plus),
            (ONE,),
            TWO_TYPES,
            length=5,
        ),
        Group(
            feature,
            each(
                "(A IN X OR B IN Y){p}",
                "((A ; B) IN X){p}",
                "(A ; B){p} IN X",
                "(A IN X){p} IN Y",
                "A{p} ; A{p}",
                p=plus,
            ),
            types=TWO_TYPES,
            output="valuations",
        ),
    )
)

COMBINATIONS: tuple[Group, ...] = (
    Group(
        "or",
        (
            "(A OR B) ; (A OR B)",
            "A OR A+",
            "(A ; B) OR (A : B)",
            "(A OR (A ; A)) ; B",
            "START(A) OR B",
            "NXT(A+) OR LAST(A+)",
            "(A UNLESS B) OR (B UNLESS A)",
            "(A OR B) OR (A ; B)",
            "PROJECT[A](A ; B) OR (A ; B)",
            "(A ALL B) OR (A ; B)",
        ),
    ),
    Group(
        "or",
        (
            "A FILTER A.x > 0 OR A.x < 2",
            "(A FILTER A.x > 0) OR (A FILTER A.x < 2)",
            "(A+ FILTER A.x = 0) OR (A+ FILTER A.x = 1)",
        ),
        (X,),
        TWO_TYPES,
    ),
    Group("or", ("A IN X OR A IN X", "(A OR A IN X) IN X", "A+ OR A+ IN X"), types=TWO_TYPES, output="valuations"),
    Group(
        "and",
        (
            "(A ; A) AND A+",
            "(A ; A ; A) AND (A : A+)",
            "(A+ ; B) AND (A+ : B)",
            "(A ALL B) AND (A ; B)",
            "START(A+) AND A+",
            "STRICT(A+) AND (A ; A)",
            "NXT(A+) AND LAST(A+)",
            "NXT(A ; B) AND LAST(A ; B)",
            "MAX(A+) AND STRICT(A+)",
            "(A UNLESS B) AND A",
            "PROJECT[A](A ; B) AND A",
            "PROJECT[A](A ; B) AND PROJECT[A](A ; C)",
            "(A AND A)+",
            "(A+ AND (A ; A)):+",
            "A+ AND (A ; A) AND (A : A)",
            "(A OR B) AND A",
        ),
        length=5,
    ),
    Group(
        "and",
        ("(A ; B) IN X AND (A ; B) IN X", "(A AND A) IN X", "(A OR A IN X) AND A IN X", "PROJECT[A](A IN X) AND A"),
        types=TWO_TYPES,
        output="valuations",
    ),
    Group(
        "and",
        (
            "(A ; B FILTER A.x = 1) AND (A ; B FILTER B.x = 1)",
            "A+ AND (A+ FILTER A.x = A.x)",
            "(A FILTER A.x > 0)+ AND (A ; A)",
        ),
        (X,),
        TWO_TYPES,
    ),
    Group(
        "all",
        (
            "START(A) ALL B",
            "A ALL START(B)",
            "START(A) ALL START(B)",
            "START(A ALL B)",
            "(A ; B) ALL (B ; A)",
            "(A : B) ALL (A : C)",
            "A+ ALL B+",
            "A:+ ALL B",
            "(A ALL B) ; (A ALL B)",
            "A ; (B ALL C) ; A",
            "(A UNLESS C) ALL (B UNLESS C)",
            "(A ALL B) UNLESS C",
            "NXT(A+) ALL B",
            "LAST(A ; B) ALL C",
            "MAX(A ALL B)",
            "NXT(A ALL B)",
            "LAST(A ALL B)",
            "STRICT(A ALL B)",
            "STRICT(A) ALL STRICT(B)",
            "(A ALL B):+",
            "PROJECT[A](A ; B) ALL C",
            "PROJECT[A](A ALL B)",
            "A ALL A ALL A",
            "(A ALL B) AND (B ALL A)",
            "A : (B ALL C)",
            "(A ; A) ALL (A ; A)",
        ),
        length=5,
    ),
    Group(
        "all",
        ("START(A) ALL B", "A ALL START(B)", "A+ ALL A IN X", "(A ALL B) IN X", "(A ; B) ALL A IN X"),
        types=TWO_TYPES,
        output="valuations",
    ),
    Group(
        "all",
        (
            "(A+ ALL B) FILTER A.x < B.x",
            "(A FILTER A.x > 0) ALL (B FILTER B.x > 0)",
            "(A ALL B) FILTER A.x > 0 OR B.x > 0",
        ),
        (X,),
        TWO_TYPES,
    ),
    Group(
        "unless",
        (
            "(A UNLESS B) UNLESS C",
            "A UNLESS (B UNLESS C)",
            "A UNLESS (B OR C)",
            "A UNLESS (B ; C)",
            "A UNLESS (B : C)",
            "A UNLESS (B ALL C)",
            "A UNLESS (B AND B)",
            "A UNLESS B+",
            "A UNLESS STRICT(B ; B)",
            "A UNLESS NXT(B ; C)",
            "A UNLESS PROJECT[B](B ; C)",
            "A UNLESS PROJECT[](B)",
            "A ; (A UNLESS B) ; A",
            "((A ; B) UNLESS C)+",
            "(A UNLESS B):+",
            "NXT((A ; B) UNLESS C)",
            "NXT(A+) UNLESS (A ; A ; A)",
            "MAX(A+ UNLESS B)",
            "START(A UNLESS B) ; C",
            "START(A) UNLESS START(B)",
            "(A ; C) UNLESS START(B)",
            "A : (C UNLESS (A : B))",
            "(A UNLESS B) ; (A UNLESS B)",
            "(A UNLESS B) ALL C",
            "(A OR B) UNLESS (A ; B)",
            "PROJECT[A](A ; B) UNLESS C",
            "(A ; A) UNLESS (A : A)",
        ),
        length=5,
    ),
    Group(
        "unless",
        (
            "A UNLESS (A FILTER A.x = 0)",
            "A+ UNLESS (A ; A FILTER A.x = A.x)",
            "(A ; A) UNLESS (B FILTER B.x > 0)",
            "(A FILTER A.x > 0) UNLESS (A FILTER A.x = 0)",
        ),
        (X,),
        TWO_TYPES,
    ),
    Group(
        "unless",
        ("(A ; A) UNLESS (B WITHIN 1 EVENTS)", "(A ; A) UNLESS ((B ; B) WITHIN 2 EVENTS)"),
        types=TWO_TYPES,
        length=5,
    ),
    Group(
        "unless",
        ("(A ; A) UNLESS B", "(A IN X UNLESS B)+", "A+ IN X UNLESS (A ; A ; A)"),
        types=TWO_TYPES,
        output="valuations",
    ),
)


# ---- nested selections ----
# Queries with strategies, windows and partitions anywhere in them.

SELECTED_Y: Pool = ("y", (0, 1))
SELECTED_S: Pool = ("s", ("a", "b", "ab"))
TIME: Pool = ("time", (0, 30, 60, 61, 3600, 3601, 7200, 86400, 86401))
CLOCK: Pool = (
    "time",
    tuple(
        datetime(2021, 3, 1, hour, minute, second, tzinfo=UTC)
        for hour, minute, second in ((0, 0, 0), (0, 0, 30), (0, 1, 0), (1, 0, 0), (1, 0, 1))
    ),
)
W_NAMES = {"strict": "STRICT", "nxt": "NXT", "last": "LAST", "max": "MAX"}

SELECTIONS: tuple[Group, ...] = tuple(
    group
    for feature, W in W_NAMES.items()
    for group in (
        Group(
            feature,
            each(
                "A ; {W}(A ; B)",
                "{W}(A ; B) ; C",
                "{W}(A ; B) ; {W}(A ; B)",
                "A : {W}(A+)",
                "A : {W}(B ; A)",
                "{W}(A+):+",
                "{W}(A ; B)+",
                "({W}(A+) ; B)+",
                "{W}(A ; A ; A)",
                "{W}(A ALL B)",
                "{W}(A+) ALL B",
                "{W}(A+ UNLESS B)",
                "{W}(A+) UNLESS B",
                "A UNLESS {W}(A ; B)",
                "{W}(A OR B) ; C",
                "{W}((A ; B) OR C)",
                "{W}(A) OR {W}(A ; A)",
                "{W}(A+) AND A+",
                "{W}(A+ AND (A ; A))",
                "START({W}(A ; B))",
                "{W}(START(A ; B))",
                "B ; START({W}(A+))",
                "{W}(PROJECT[A](A ; B))",
                "PROJECT[A]({W}(A ; B))",
                "{W}(PROJECT[](A) OR A)",
                "{W}(A : B)",
                "{W}(A:+)",
                "{W}((A OR B)+)",
                "{W}((A ; B) OR (B ; A) OR (A ; A))",
                W=W,
            ),
            length=5,
        ),
        Group(
            feature,
            each(
                *(f"{{W}}({V}({phi}))" for V in W_NAMES.values() for phi in ("A ; B", "A+")),
                *(f"{{W}}({V}(A+) ; A)" for V in W_NAMES.values()),
                W=W,
            ),
            types=TWO_TYPES,
            length=5,
        ),
        Group(
            feature,
            each(
                *(f"{{W}}({V}(A ; A) OR A)" for V in W_NAMES.values()),
                *(f"{{W}}(A ; {V}(A OR (A ; B)))" for V in W_NAMES.values()),
                W=W,
            ),
            types=TWO_TYPES,
            length=5,
        ),
        Group(
            feature,
            each(
                "{W}(A+) FILTER A.x = 1",
                "{W}(A+ FILTER A.x = 1)",
                "{W}(A+ FILTER A.x = A.x)",
                "{W}(A ; B FILTER A.x < B.x)",
                "{W}(A ; B) FILTER A.x < B.x",
                "{W}((A FILTER A.x > 0)+ ; B)",
                "A ; {W}((A+ ; B) FILTER A.x = B.x)",
                W=W,
            ),
            (X,),
            TWO_TYPES,
        ),
        Group(
            feature,
            each(
                "{W}(A IN X ; A)",
                "{W}(A+ IN X OR A)",
                "{W}((A OR A IN X) ; A)",
                "{W}((A OR A+ IN X) ; A)",
                "{W}(START((A OR A+ IN X) ; A))",
                "{W}(A IN X ALL A IN Y)",
                W=W,
            ),
            types=TWO_TYPES,
            output="valuations",
        ),
        Group(feature, each("{W}((A OR A+ IN X) ; A)", "{W}(START((A OR A+ IN X) ; A))", W=W), types=("A",), length=4),
    )
)

NESTED_WINDOWS: tuple[Group, ...] = (
    Group(
        "within",
        (
            "(A ; B) WITHIN 1 EVENTS",
            "(A ; A ; A) WITHIN 3 EVENTS",
            "(A ; A ; A) WITHIN 4 EVENTS",
            "A+ WITHIN 3 EVENTS",
            "A:+ WITHIN 2 EVENTS",
            "(A ; B WITHIN 2 EVENTS)+",
            "A ; (A ; B WITHIN 2 EVENTS)",
            "(A+ WITHIN 2 EVENTS) : B",
            "(A ALL B) WITHIN 2 EVENTS",
            "(A OR (A ; B)) WITHIN 1 EVENTS",
            "((A ; B) UNLESS C) WITHIN 3 EVENTS",
            "NXT(A ; B) WITHIN 2 EVENTS",
            "NXT(A ; B WITHIN 2 EVENTS)",
            "LAST(A+) WITHIN 2 EVENTS",
            "LAST(A+ WITHIN 2 EVENTS)",
            "MAX(A+) WITHIN 2 EVENTS",
            "MAX(A+ WITHIN 2 EVENTS)",
            "STRICT(A+ WITHIN 2 EVENTS)",
            "STRICT(A+) WITHIN 2 EVENTS",
            "START(A ; B WITHIN 3 EVENTS)",
            "A ; START(A ; B WITHIN 3 EVENTS)",
            "PROJECT[](A) WITHIN 2 EVENTS",
            "PROJECT[A](A ; B) WITHIN 2 EVENTS",
            "PROJECT[A](A ; B WITHIN 2 EVENTS)",
            "(A WITHIN 1 EVENTS) ; (B WITHIN 1 EVENTS)",
            "A+ WITHIN 3 EVENTS WITHIN 2 EVENTS",
            "(A ; B WITHIN 2 EVENTS) OR (A ; C WITHIN 3 EVENTS)",
            "A UNLESS (B ; C WITHIN 2 EVENTS)",
            "A+ AND (A ; A WITHIN 2 EVENTS)",
        ),
        length=6,
    ),
    Group(
        "within",
        (
            "A ; B WITHIN 30 seconds",
            "A ; B WITHIN 1 minute",
            "A ; B WITHIN 60 minutes",
            "A ; B WITHIN 1 hour",
            "A ; B WITHIN 2 hours",
            "A ; B WITHIN 1 day",
            "A ; B WITHIN 24 hours",
            "A+ WITHIN 0.5 minutes",
            "(A ; A WITHIN 1 minute) ; B",
            "PROJECT[A](A ; B) WITHIN 1 minute",
        ),
        (TIME,),
        TWO_TYPES,
    ),
    Group(
        "within",
        (
            "A ; B WITHIN 30 seconds",
            "A ; B WITHIN 1 minute",
            "A+ WITHIN 1 hour",
            "A ; B WITHIN 0 seconds",
            "(A ; B WITHIN 1 minute)+",
        ),
        (CLOCK,),
        TWO_TYPES,
    ),
    Group("within", ("A ; B WITHIN 1 hour", "A+ WITHIN 1 minute"), (TIME,), TWO_TYPES, absent=0.3),
    Group(
        "within",
        (
            "A ; A ; A WITHIN 1 [x]",
            "A+ WITHIN 1 [x]",
            "A ; B WITHIN 1 [x]",
            "A ; B WITHIN 2 [x]",
            "A ; B WITHIN 0.5 [x]",
            "NXT(A+) WITHIN 1 [x]",
            "NXT(A+ WITHIN 1 [x])",
            "(A+ WITHIN 1 [x]) ; B",
            "(A WITHIN 0 [x])+",
        ),
        (("x", (0, 1, 2, 3)),),
        TWO_TYPES,
        length=5,
    ),
    Group("within", ("A WITHIN 5 [x]", "A+ WITHIN 1 [x]", "PROJECT[](A) WITHIN 1 [x]"), (X,), TWO_TYPES, absent=0.3),
    Group("within", ("A ; B WITHIN 1 [f]", "A+ WITHIN 0.5 [f]"), (("f", (0.0, 0.5, 1.0, 1.5)),), TWO_TYPES),
    Group(
        "within",
        ("(A IN X ; B) WITHIN 2 EVENTS", "A+ IN X WITHIN 2 EVENTS", "(A+ WITHIN 2 EVENTS) IN X"),
        types=TWO_TYPES,
        output="valuations",
    ),
    Group(
        "partition",
        (
            "A ; A ; A PARTITION BY [x]",
            "A ; B ; A PARTITION BY [x]",
            "A : B PARTITION BY [x]",
            "A:+ PARTITION BY [x]",
            "(A ; B PARTITION BY [x])+",
            "(A PARTITION BY [x])+",
            "(A+ PARTITION BY [x]) ; B",
            "A ; (A ; B PARTITION BY [x])",
            "(A ALL B) PARTITION BY [x]",
            "(A ; B) UNLESS (A ; A PARTITION BY [x])",
            "NXT(A ; B) PARTITION BY [x]",
            "NXT(A ; B PARTITION BY [x])",
            "LAST(A+) PARTITION BY [x]",
            "LAST(A+ PARTITION BY [x])",
            "MAX(A+) PARTITION BY [x]",
            "MAX(A+ PARTITION BY [x])",
            "STRICT(A+ PARTITION BY [x])",
            "START(A ; B PARTITION BY [x])",
            "PROJECT[A](A ; B) PARTITION BY [x]",
            "PROJECT[A](A ; B PARTITION BY [x])",
            "PROJECT[](A) PARTITION BY [x]",
            "A ; B PARTITION BY [x] WITHIN 3 EVENTS",
            "(A ; B WITHIN 2 EVENTS) PARTITION BY [x]",
            "A+ AND (A ; A PARTITION BY [x])",
            "(A+ FILTER A.x > 0) PARTITION BY [x]",
        ),
        (ONE,),
        TWO_TYPES,
        length=5,
    ),
    Group(
        "partition",
        (
            "A ; B PARTITION BY [x] PARTITION BY [y]",
            "A+ PARTITION BY [y]",
            "(A ; B PARTITION BY [y]) ; A PARTITION BY [x]",
            "(A ; B) FILTER A.x < B.x PARTITION BY [y]",
        ),
        (X, SELECTED_Y),
        TWO_TYPES,
    ),
    Group("partition", ("A ; B PARTITION BY [s]", "A+ PARTITION BY [s]"), (SELECTED_S,), TWO_TYPES),
    Group(
        "partition",
        (
            "A PARTITION BY [x]",
            "A+ PARTITION BY [x]",
            "A ; B PARTITION BY [x]",
            "(A PARTITION BY [x])+ ; B",
            "PROJECT[](A) PARTITION BY [x]",
            "A UNLESS (B PARTITION BY [x])",
        ),
        (ONE,),
        TWO_TYPES,
        absent=0.4,
    ),
    Group(
        "partition", ("A ; B PARTITION BY [time]", "A+ PARTITION BY [time]"), (("time", (0, 1)),), TWO_TYPES, absent=0.1
    ),
    Group(
        "partition",
        ("(A IN X ; B) PARTITION BY [x]", "A+ IN X PARTITION BY [x]", "(A+ PARTITION BY [x]) IN X"),
        (ONE,),
        TWO_TYPES,
        output="valuations",
    ),
)


# ---- nested variables ----
# Queries in which variables, projections, anchors and filters stand inside each other; correlation.

NAMED_S: Pool = ("s", ("a", "b", "ab"))

BINDINGS: tuple[Group, ...] = (
    Group(
        "in",
        (
            "(A ; B+) IN X",
            "(A IN X ; B)+ IN X",
            "(A OR B) IN X",
            "(A IN X OR B IN X) ; C",
            "(A ALL B) IN X",
            "PROJECT[A](A ; B) IN X",
            "PROJECT[X](A IN X) IN Y",
            "START(A IN X) IN Y",
            "NXT(A+ IN X)",
            "LAST(A+ IN X) ; B",
            "(A IN X UNLESS B) IN Y",
            "((A ; A) IN X ; A) IN X",
            "(A IN X ; A) IN A",
            "(A IN X ; B IN X) IN Y",
            "(A+ IN X)+",
            "A+ IN X ; A+ IN Y",
            "A:+ IN X",
            "(A : B) IN X : A",
            "PROJECT[](A ; B) IN X",
        ),
        output="valuations",
    ),
    Group(
        "in",
        (
            "(A+ IN X ; B) FILTER X.x = X.x",
            "(A IN X ; A IN Y) FILTER X.x < Y.x",
            "((A ; B) IN X ; A) FILTER X.x > 0",
            "(A FILTER A.x = 1) IN X FILTER X.x = 1",
            "(A IN X FILTER X.x = 1)+ FILTER X.x = 1",
        ),
        (X,),
        TWO_TYPES,
    ),
    Group(
        "in", ("(A+ IN X) FILTER X.x > 0", "(A IN X ; B IN X) FILTER X.x = X.x"), (ONE,), TWO_TYPES, output="valuations"
    ),
    Group(
        "project",
        (
            "PROJECT[](A)",
            "PROJECT[](A+)",
            "PROJECT[](A ; B) OR A",
            "PROJECT[A](A ; B) : C",
            "PROJECT[A](A ; B)+",
            "PROJECT[A](A ; B):+",
            "PROJECT[B](A : B):+",
            "START(PROJECT[B](A ; B))",
            "START(PROJECT[A](A ; B))",
            "PROJECT[B](START(A) ; B)",
            "PROJECT[B](START(A ; B)) ; C",
            "STRICT(PROJECT[A, C](A ; B ; C))",
            "PROJECT[A, C](STRICT(A ; B ; C))",
            "STRICT(PROJECT[A](A ; B))",
            "STRICT(PROJECT[](A))",
            "NXT(PROJECT[A](A ; B))",
            "PROJECT[A](NXT(A ; B))",
            "LAST(PROJECT[A](A+ ; B))",
            "MAX(PROJECT[A](A+ ; B))",
            "PROJECT[A](MAX(B ; A+))",
            "PROJECT[A](A ALL B)",
            "PROJECT[A](A UNLESS B)",
            "PROJECT[A](PROJECT[A, B](A ; B ; C))",
            "PROJECT[A](PROJECT[B](A ; B))",
            "PROJECT[A](A ; B) AND PROJECT[A](A ; C)",
            "PROJECT[X](A IN X ; A)",
            "PROJECT[A](A IN X ; B IN A)",
            "A ; PROJECT[](B)",
            "PROJECT[A](A OR B) ; C",
        ),
        length=5,
    ),
    Group(
        "project",
        (
            "PROJECT[](A ; B)",
            "PROJECT[X](A IN X ; B)",
            "PROJECT[A](A+ ; B)",
            "PROJECT[X](A IN X OR A)",
            "PROJECT[X, Y](A IN X ; B IN Y)",
            "PROJECT[A]((A ; B) IN X)",
            "PROJECT[X]((A ; B) IN X)",
            "PROJECT[A](A IN X) ; PROJECT[B](B IN X)",
        ),
        types=TWO_TYPES,
        output="valuations",
    ),
    Group(
        "project",
        (
            "PROJECT[A](A ; B FILTER B.x > 0)",
            "PROJECT[A](A ; B FILTER A.x = B.x)",
            "PROJECT[B](A ; B) FILTER A.x > 1",
            "PROJECT[A](A+ ; B) FILTER A.x > 0",
            "PROJECT[](A FILTER A.x = 1) ; B",
        ),
        (X,),
        TWO_TYPES,
    ),
    Group(
        "start",
        (
            "START(A ; B ; C)",
            "A ; START(B ; C)",
            "A ; START(B+)",
            "(A ; START(B))+",
            "START(A : B)",
            "START(A:+) ; B",
            "A : START(A ; B)",
            "START(A) : START(B)",
            "START(A ALL B) ; C",
            "A ; START(A ALL B)",
            "START(A UNLESS B)",
            "B ; START(A UNLESS B)",
            "START(START(A ; B))",
            "START(A OR (B ; A))",
            "START(A) OR START(B ; A)",
            "START(NXT(A+))",
            "NXT(START(A+))",
            "START(LAST(A ; B))",
            "LAST(START(A ; B))",
            "START(MAX(A+))",
            "START(STRICT(A+)) ; B",
            "A ; START(NXT(A ; B))",
            "START(PROJECT[B](A ; B))",
            "PROJECT[B](START(A ; B))",
            "START(PROJECT[](A))",
            "START(A AND A)",
            "START(A WITHIN 1 EVENTS) ; A",
            "START(A ; B WITHIN 2 EVENTS)",
            "START((A ; B)+) ; C",
        ),
        length=5,
    ),
    Group(
        "start",
        ("START(A) ; B", "START(A ; B)+", "(A IN X ; START(B))", "START(A IN X) OR START(A)"),
        types=TWO_TYPES,
        output="valuations",
    ),
    Group(
        "start",
        (
            "START(A FILTER A.x > 0)",
            "START(A) FILTER A.x > 0",
            "A ; START(B FILTER B.x = 1)",
            "START(A+ FILTER A.x = 1)",
            "START(A+) FILTER A.x = A.x",
        ),
        (X,),
        TWO_TYPES,
    ),
)

CORRELATIONS: tuple[Group, ...] = (
    Group(
        "filter", tuple(f"(A+ ; B) FILTER A.x {op} B.x" for op in ("<", "<=", ">", ">=", "=", "!=")), (X,), TWO_TYPES
    ),
    Group("filter", tuple(f"(A+ ; B+) FILTER A.x {op} B.x" for op in ("<", ">=", "!=")), (X,), TWO_TYPES, length=5),
    Group(
        "filter",
        (
            "(A ; B ; C) FILTER A.x < B.x AND B.x < C.x",
            "(A ; B ; C) FILTER A.x = C.x",
            "(A ; B ; C) FILTER A.x < B.x OR B.x < C.x",
            "(A ; B ; C) FILTER A.x + B.x = C.x",
            "(A ; B ; C) FILTER A.x - B.x < C.x",
            "(A ; B) FILTER A.x * 2 = B.x",
            "(A ; B) FILTER A.x + 1 <= B.x",
            "(A IN X ; A IN Y ; A IN Z) FILTER X.x < Y.x AND Y.x < Z.x",
            "((A ; B)+) FILTER A.x < B.x",
            "(A ; B FILTER A.x < B.x)+",
            "((A ; B FILTER A.x = B.x) ; C) FILTER A.x = C.x",
            "(A OR B) FILTER A.x = B.x",
            "(A ALL B) FILTER A.x >= B.x",
            "A+ FILTER A.x = A.x AND A.x > 0",
            "(A+ IN X ; B+ IN Y) FILTER X.x < Y.x",
            "(A+ ; B) IN X FILTER X.x = X.x",
        ),
        (X,),
        length=5,
    ),
    Group(
        "filter",
        (
            "(A ; B) FILTER A.x < B.x",
            "(A+ ; B) FILTER A.x = B.x",
            "A+ FILTER A.x = A.x",
            "(A ; B) FILTER A.x + B.x > 0",
            "A+ FILTER A.x >= A.x",
            "(A ; B) FILTER A.x = B.x OR A.x > 0",
        ),
        (X,),
        TWO_TYPES,
        absent=0.35,
    ),
    Group(
        "filter",
        ("(A ; B) FILTER A.s = B.s", "(A ; B) FILTER A.s < B.s", "A+ FILTER A.s = A.s"),
        (NAMED_S,),
        TWO_TYPES,
    ),
    Group(
        "filter",
        (
            "A FILTER A[x > 0]",
            "A FILTER A[not not x > 0]",
            "A FILTER A[not (x > 0 or x < 0)]",
            "(A ; B) FILTER A[x > 0] AND B[x > 0]",
            "(A ; B) IN X FILTER X[x > 0 or x < 1]",
        ),
        (X,),
        TWO_TYPES,
        absent=0.2,
    ),
    Group(
        "filter",
        (
            "NXT(A ; B) FILTER A.x > 0",
            "LAST(A ; B) FILTER A.x > 0",
            "MAX(A+ ; B) FILTER A.x > 0",
            "STRICT(A ; B) FILTER A.x > 0",
            "START(A ; B) FILTER A.x > 0",
            "PROJECT[A](A ; B) FILTER B.x > 0",
            "(A UNLESS B) FILTER B.x > 0",
            "A+ FILTER A.x > 0 OR A.x < 1",
            "A+ FILTER (A.x > 0 OR A.x < 1) AND A.x < 2",
        ),
        (X,),
        TWO_TYPES,
    ),
    Group(
        "filter",
        (
            "(A+ IN X ; B) FILTER X.x < B.x",
            "A+ FILTER A.x = A.x",
            "(A OR A IN X) FILTER X.x > 0",
            "(A IN X ; A IN Y) FILTER X.x = Y.x",
        ),
        (X,),
        TWO_TYPES,
        output="valuations",
    ),
)


# ----   init   ----
# The queries that the suite puts to an engine, by feature, with the events to ask them of.

NOT_ASKED = frozenset({"nplus", "perkey", "until"})
"""Operators that the suite has no cases of: PER KEY and the loops `~+` and UNTIL are ours, not of the paper."""

CLAUSES = {"examples": "tods21 section 3, Figure 1"} | {
    operator.name: operator.clause for operator in OPERATORS.values() if operator.name not in NOT_ASKED
}

FILES: dict[str, tuple[str, ...]] = {
    "cel-core": ("examples", "event", "seq", "cseq", "plus", "cplus", "or", "in", "filter"),
    "cel-figure3": ("project", "start", "and", "all", "unless"),
    "cel-strategies": ("strict", "nxt", "last", "max"),
    "cel-windows": ("within", "partition"),
    "cel-derived": ("repeat", "crepeat"),
}

PLAIN = (*PLAIN_OPERATORS, *FILTERS, *SELECTING, *WINDOWS)
NESTED = (*SEQUENCES, *ITERATIONS, *COMBINATIONS, *BINDINGS, *SELECTIONS, *NESTED_WINDOWS, *CORRELATIONS)

__all__ = ["CLAUSES", "FILES", "NESTED", "PLAIN", "ROUNDS", "TRIALS"]
