"""The paper's own examples."""

from __future__ import annotations

from typing import TypeAlias

from cerify.semantics.events import Event, Stream

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
