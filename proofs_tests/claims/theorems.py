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
    "tods21.prop5.5": ("Determinize.v", "proposition_5_5"),
    "tods21.alg1": ("Evaluate.v", "no_repetitions"),
    "tods21.alg2": ("Evaluate.v", "algorithm_2"),
    "tods21.lem7.1:next": ("Selection.v", "next_linear"),
    "tods21.lem7.1:last": ("Selection.v", "last_linear"),
    "cep17.lem1": ("Selection.v", "next_linear"),
    "vldb92.thm1": ("Expressions.v", "theorem_1"),
    "vldb92.cor1": ("Expressions.v", "corollary_1"),
    **{f"vldb92.constr:{case}": ("Expressions.v", "corollary_1") for case in EXPRESSIONS},
    **{f"vldb92.derived:{item}": ("Derived.v", f"meaning_{name}") for item, name in DERIVED.items()},
    "sase07.lemA.1": ("Sase.v", "runs_are_matches"),
}
"""Each is about the correction where the claim as printed is wrong; the page says what its model leaves out."""


def theorem(id_: str) -> str | None:
    """The theorem of a claim, as 'theorem_1 in Expressions.v'; None if it has none."""
    return None if id_ not in THEOREMS else "{1} in {0}".format(*THEOREMS[id_])
