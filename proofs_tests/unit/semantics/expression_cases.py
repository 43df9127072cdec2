"""The expressions of the paper, each with histories and with what the text says of them, or what it follows from."""

from __future__ import annotations

from cerify.semantics.event_expressions.interpreter import takes_place
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.events import Event, Schema, Stream
from cerify.semantics.values import Value


def history(text: str, schema: Schema | None = None) -> Stream:
    """A history, written as in "a order(7,40) b": attributes are numbers, named p0, p1, ... in their order."""
    events = []
    for word in text.split():
        T, _, rest = word.partition("(")
        values: list[Value] = [int(part) for part in rest.rstrip(")").split(",") if part]
        events.append(Event(T, {f"p{k}": value for k, value in enumerate(values)}))
    return Stream(events, schema)


def found(query: str, S: Stream | str) -> list[int]:
    """The positions at which the expression takes place, ascending."""
    return sorted(takes_place(parse(query), history(S) if isinstance(S, str) else S))


# Section 2.4.1.
EXAMPLES: dict[str, tuple[str, str, list[int]]] = {
    "all": ("a", "a b a", [0, 2]),
    "fifth": ("(<5> deposit)", "deposit x deposit deposit deposit x" + 6 * " deposit", [6]),
    "followed immediately": ("sequence(deposit, withdraw)", "deposit withdraw withdraw deposit x withdraw", [1]),
    "followed eventually": ("prior(deposit, withdraw)", "withdraw deposit withdraw x withdraw", [2, 4]),
    "none between": (
        "relative(deposit, !before(interest)) ^ withdraw",
        "deposit withdraw x withdraw interest withdraw deposit withdraw",
        [1, 3, 7],
    ),
    "a series": ("a ^ !prior(!a, a)", "a a b a", [0, 1]),
}

# Section 2.4.2. D: the discount rate is cut, I: it is raised; others do not count.
NESTED_CUT = "relative(relative(D, !prior(I, D) ^ D), !prior(I, D) ^ D)"
PIPED_CUT = "(I ∨ D) | sequence(D, D, D)"
CORRELATED_CUT = "relative(D, prior(D, D=d3) ^ !prior(I, d3))"  # section 5

# Section 5.
E = "∃x (prior(b=x, c) ∧ !relative(x, prior(a, c)) ∧ relative(x, prior(d, c)))"
E_PRIME = "∃x (prior(b=x, c) ∧ !relative(x, prior(a, c)) ∧ relative(b, prior(d, c)))"
E_SECOND = "prior(b, c) ∧ !relative(b, prior(a, c)) ∧ relative(b, prior(d, c))"
H1, H2, H3 = "e b a c", "e b a c d b c", "e b a c d b c d b c"
E_NO_D = "∃x (relative(a, relative(b=x, c)) ∧ !relative(x, prior(d, any)))"

# Section 7.1. s: serve, h: hit, by player 1 or 2.
BAD_SERVE = "sequence(s1 ∨ s2, !front)"
BAD_HIT = "(!wall) | ((first ∧ !front) /+ (h1 ∨ h2))"
TWICE = "sequence(floor, floor) ∨ sequence(front, front) ∨ sequence(floor, front)"
NO_RETURN = f"Twice := {TWICE}; !wall | (Twice | first) /+ (h1 ∨ h2 ∨ s1 ∨ s2)"
END_OF_POINT = f"""
    H1 := {BAD_SERVE};
    H2 := {BAD_HIT};
    Twice := {TWICE};
    H3 := !wall | (Twice | first) /+ (h1 ∨ h2 ∨ s1 ∨ s2);
    H1 ∨ H2 ∨ H3
"""
END_OF_POINT_CORRECTED = (
    END_OF_POINT.replace("(first ∧ !front) /+ (h1 ∨ h2)", "sequence(h1 ∨ h2, !front)")
    .replace("H1 ∨ H2 ∨ H3", "H1 ∨ H2 ∨ H3 ∨ H4")
    .replace("H2 :=", "H4 := (h1 ∨ h2 ∨ s1 ∨ s2) | (sequence(s1 ∨ h1, h1) ∨ sequence(s2 ∨ h2, h2)); H2 :=")
)
# As printed this never takes place: a sequence may begin anywhere, so that a rally may always still come.
END_BY_PREFIX_AS_PRINTED = """
    one := sequence(h2, front, h1, front);
    two := sequence(floor, h2, front, h1, front);
    three := sequence(h2, front, floor, h1, front);
    four := sequence(floor, h2, front, floor, h1, front);
    rally := rel+(one ∨ two ∨ three ∨ four);
    (!wall | !prefix(rally)) /+ sequence(s1, front)
"""
# An exchange that begins where the history does, and the next one after it, as the text means it.
END_BY_PREFIX = END_BY_PREFIX_AS_PRINTED.replace("(h2,", "(first ∧ h2,").replace("(floor,", "(first ∧ floor,")
END_BY_PREFIX_CORRECTED = END_BY_PREFIX.replace("front)\n", "front) ∨ sequence(s1, !front)\n")

# Section 7.2. E: expected at a runway, L: landed there.
AIRPORT = """
    AT_A(I) := !happened(LA(I)) /+ EA(I);
    LAST_B(I) := ((LB(I) ∧ !before(LA(I))) | first) /+ EB(I);
    UB(I) := ((LB(I) ∧ !before(LA(I))) | first) /+ EA(I);
    ELAB(I) := AT_A(I) ∧ UB(I);
"""
