"""Writes Laws.v, the laws of CEL that hold as theorems in Coq: `python -m proofs_tests.mechanised.make_laws`.

The statement of a theorem is made from the two formulas of the law; law_proofs.py has the proof of each that the tactic
`law` does not prove. A law of which the model lacks something (windows, filters across events, values) has no theorem.
A test checks that the file is what this module writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import assert_never

from cerify.equivalence.rewrite.laws import HOLDING, LETTERS, Law
from cerify.equivalence.rewrite.trees import names
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import show
from cerify.semantics.predicates import Attribute, Both, Comparison, Constant, Either, Not, Predicate
from cerify.semantics.trees import children, node_word
from proofs_tests.mechanised.law_proofs import PROOFS

TARGET = Path(__file__).parent / "Laws.v"

HEAD = """(** The laws of CEL (equivalence/rewrite/laws) as theorems. Written by make_laws.py: do not edit.

    phi, psi and chi are any formulas, P and Q any predicates on one event; all other names are different variables. *)

From Coq Require Import List Arith Lia Bool Setoid Morphisms.
Import ListNotations.
From Cerify Require Import Tactics.

Section Laws.

Variable event : Type.
Variable var : Type.
Variable type_of : event -> var.
Variable var_dec : forall x y : var, {x = y} + {x <> y}.

Notation formula := (formula event var).
Notation Event := (Event event var).
Notation In_ := (In_ event var).
Notation Filter := (Filter event var).
Notation Seq := (Seq event var).
Notation Plus := (Plus event var).
Notation ContiguousSeq := (ContiguousSeq event var).
Notation ContiguousPlus := (ContiguousPlus event var).
Notation Project := (Project event var).
Notation Start := (Start event var).
Notation Or := (Or event var).
Notation And := (And event var).
Notation All := (All event var).
Notation Unless := (Unless event var).
Notation Strict := (Strict event var).
Notation Next := (Next event var).
Notation Last := (Last event var).
Notation Max := (Max event var).
Notation Every := (Every event var).
Notation Conjunction := (Conjunction event var).
Notation Disjunction := (Disjunction event var).
Notation equal := (equal event var type_of).
Notation equal_events := (equal_events event var type_of).
Notation always_binds := (always_binds event var type_of).
Notation never_binds := (never_binds event var type_of).
"""

SYMBOLS = (
    (":+", " contiguous_plus "),
    (":", " contiguous "),
    (";", " seq "),
    ("+", " plus "),
    ("=", " equals "),
    ("<", " less "),
)


def identifier(name: str) -> str:
    """The name of a law as one of Coq: '; is associative' is law_seq_is_associative."""
    for symbol, word in SYMBOLS:
        name = name.replace(symbol, word)
    return "_".join(["law", *re.findall(r"\w+", name)]).lower()


def formula(phi: cel.Formula) -> str:
    """The formula as a term of Coq, in brackets where it has arguments."""
    match phi:
        case cel.EventAtom(R):
            return R if R in LETTERS else f"(Event {R})"
        case cel.In(psi, A):
            return f"(In_ {formula(psi)} {A})"
        case cel.Filter(psi, c):
            return f"(Filter {formula(psi)} {condition(c)})"
        case cel.Project(L, psi):
            return f"(Project [{'; '.join(sorted(L))}] {formula(psi)})"
        case cel.NextPlus() | cel.Until():
            raise ValueError("no theorem has a loop that takes the next rounds")
        case cel.Derived():
            return formula(phi.expansion)
        case cel.Within() | cel.PartitionBy() | cel.PerKey():
            raise ValueError("the model has no windows and no partitions")
        case _:
            return f"({node_word(type(phi))} {' '.join(formula(psi) for psi in children(phi))})"


def condition(c: cel.Condition) -> str:
    """The condition as a term of Coq. Raises ValueError for what the model lacks."""
    match c:
        case cel.Named(name, (A,)):
            return f"(Every {A} {name})"
        case cel.Every(A, predicate) if A is not None:
            return f"(Every {A} (fun e => {applied(predicate)}))"
        case cel.Conjunction(left, right) | cel.Disjunction(left, right):
            return f"({node_word(type(c))} {condition(left)} {condition(right)})"
        case cel.Every() | cel.Correlated() | cel.Named():
            raise ValueError("the model has no filters across events")
        case _:
            assert_never(c)


def applied(predicate: Predicate) -> str:
    """A predicate in brackets, applied to the event e; x > 0 is P and y > 0 is Q, which stand for any predicates."""
    match predicate:
        case Both(left, right):
            return f"({applied(left)} && {applied(right)})"
        case Either(left, right):
            return f"({applied(left)} || {applied(right)})"
        case Not(inner):
            return f"(negb {applied(inner)})"
        case Comparison(">", Attribute(name), Constant(0)):
            return f"({'P' if name == 'x' else 'Q'} e)"
        case _:
            raise ValueError("the model has no comparison with values")


def statement(law: Law) -> str:
    """The law as a proposition of Coq."""
    left, right = formula(law.left), formula(law.right)
    others = sorted({*names(law.left), *names(law.right)} - set(LETTERS))
    binders = [f"({' '.join(law.letters)} : formula)"] if law.letters else []
    binders += [f"({' '.join(others)} : var)"] if others else []
    predicates = [P for P in "PQ" if re.search(rf"\b{P}\b", f"{left} {right}")]
    binders += [f"({' '.join(predicates)} : event -> bool)"] if predicates else []
    premises = [f"{A} <> {B}" for A, B in combinations(others, 2)]
    premises += [f"always_binds {letter}" for letter in law.binding]
    premises += [f"never_binds {letter} {A}" for letter, A in law.without]
    relation = "equal" if law.level == "valuations" else "equal_events"
    return f"forall {' '.join(binders)}, " + "".join(f"{P} -> " for P in premises) + f"{relation} {left} {right}"


def lacking(law: Law) -> str | None:
    """What the model lacks to state the law; None if it is stated."""
    try:
        statement(law)
    except ValueError as error:
        return str(error)
    return None


def theorems() -> Iterator[str]:
    """The theorems by group, in the order of the laws."""
    for group, laws in HOLDING.items():
        stated = [law for law in laws if lacking(law) is None]
        if stated:
            yield f"(* --- {group} {'-' * (110 - len(group))} *)"
        for law in stated:
            text = f"(** {law.name}: {show(law.left)} = {show(law.right)} *)"
            proof = PROOFS.get(law.name, "law")
            yield f"{text}\nTheorem {identifier(law.name)} : {statement(law)}.\nProof. {proof}. Qed."


def laws_v() -> str:
    """The text of Laws.v."""
    return "\n\n".join([HEAD.rstrip(), *theorems(), "End Laws."]) + "\n"


if __name__ == "__main__":
    TARGET.write_text(laws_v(), encoding="utf-8")
