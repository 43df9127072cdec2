"""Which claims are theorems in Coq (docs/theory/mechanised.md): by the claim's id, the file and the theorem's name."""

from __future__ import annotations

OPERATORS = ("seq", "plus", "cseq", "cplus", "in", "filter", "project", "start", "or", "and", "all", "unless")
EXPRESSIONS = ("null", "event", "and", "not", "relative", "relative+", "pipe", "slashplus", "prefix", "prefix-empty")
DERIVED = {
    **{"a": "or", "c": "prior", "e2": "sequence", "f": "first", "h": "nth", "h1": "nth", "j": "then"},
    **{"l": "first_after", "m": "before", "n": "happened", "p": "series"},
}
"""The items of vldb92, section 2.3, that Derived.v is about."""

THEOREMS: dict[str, tuple[str, str]] = {
    **{f"tods21.thm6.2:{case}": ("Bridge.v", "theorem_6_2_valuations") for case in OPERATORS},
    **{f"tods21.thm7.2:{case}": ("Bridge.v", "theorem_6_2_valuations") for case in ("strict", "nxt", "last", "max")},
    "tods21.prop5.5": ("Finite.v", "proposition_5_5_finite"),
    "tods21.alg1": ("Evaluate.v", "no_repetitions"),
    "tods21.alg2": ("Evaluate.v", "algorithm_2"),
    "tods21.lem7.1:next": ("Selection.v", "next_linear"),
    "tods21.lem7.1:last": ("Selection.v", "last_linear"),
    "cep17.lem1": ("Selection.v", "next_linear"),
    "vldb92.thm1": ("FiniteExpressions.v", "theorem_1_finite"),
    "vldb92.cor1": ("FiniteExpressions.v", "corollary_1_finite"),
    **{f"vldb92.constr:{case}": ("FiniteExpressions.v", "corollary_1_finite") for case in EXPRESSIONS},
    **{f"vldb92.derived:{item}": ("Derived.v", f"meaning_{name}") for item, name in DERIVED.items()},
    "sase07.lemA.1": ("Sase.v", "runs_are_matches"),
}
"""Each is about the correction where the claim as printed is wrong; the page says what its model leaves out."""


PARTS: dict[str, str] = {
    **{f"tods21.thm7.2:{case}": "of the automata of formulas" for case in ("nxt", "last", "max")},
    "tods21.thm7.2:strict": "of the compiler's automaton of a formula, which is not determinized",
    "tods21.alg1": "each valuation once; its lists are concatenated, not linked",
    "tods21.alg2": "its lists are concatenated, not linked",
    "vldb92.thm1": "over finitely many types of events, or without prefix; without a start event",
    "vldb92.cor1": "over finitely many types of events; without a start event",
    **{f"vldb92.constr:{case}": "over finitely many types of events; without a start event" for case in EXPRESSIONS},
    **{f"vldb92.derived:{item}": "without a start event" for item in DERIVED},
    "sase07.lemA.1": "for clauses of WHERE on the edges where the definition places them",
}
"""What of a claim its theorem is about, where that is less than all of it."""


def theorem(id_: str) -> str | None:
    """The theorem of a claim, as 'theorem_1_finite in FiniteExpressions.v', with its part; None if it has none."""
    if id_ not in THEOREMS:
        return None
    part = f", {PARTS[id_]}" if id_ in PARTS else ""
    return "{1} in {0}".format(*THEOREMS[id_]) + part
