"""The paper's own examples, what the errata and the decisions turn on, and where laws fail."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from cerify.equivalence.rewrite.laws import LAWS
from cerify.equivalence.rewrite.trees import attribute_names
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import OPERATORS, show, subformulas
from cerify.semantics.events import Event, Schema, Stream
from cerify.semantics.values import ValueType

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
        if (w := law.witness) is None:
            continue
        for number, phi in enumerate(law.instance(*w.formulas), 1):
            attributes: dict[str, ValueType] = {"x": "int"} if w.x or "x" in attribute_names(phi) else {}
            asked = {psi.type for psi in subformulas(phi) if isinstance(psi, cel.EventAtom)}
            types = sorted(asked | {event.type for event in w.stream})
            S = Stream(w.stream, Schema(dict.fromkeys(types, attributes)))
            name = f"law/{spelt(law.name)}/{number}"
            yield name, OPERATORS[type(phi)].name, show(phi), S, "matches" if law.level == "events" else "valuations"


def spelt(name: str) -> str:
    """The name of a law as a part of an id."""
    for symbol, word in SPELT.items():
        name = name.replace(symbol, f" {word} ")
    return "-".join(re.findall(r"\w+", name.lower()))
