"""Proofs from those of parts: what the rules prove, and what the checker refuses."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from cerify.equivalence.decide.checker import flaw
from cerify.equivalence.decide.derivation import compare_formulas, key_of, prove, with_canonical_names
from cerify.equivalence.generate.cel import EVERYTHING, FIGURE_3, formula, stream
from cerify.equivalence.rewrite.laws import LAWS
from cerify.equivalence.verdict import (
    Certificate,
    Claim,
    Contained,
    Different,
    Equivalent,
    Level,
    RuleProof,
    Undecided,
)
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.interpreter import complex_events
from cerify.semantics.cel.parse import parse

SAME = [
    ("((A OR B) WITHIN 60 seconds) ; C", "((B OR A) WITHIN 1 minute) ; C"),
    ("(A ; B ; C) FILTER A.x = B.x", "(A ; (B ; C)) FILTER B.x = A.x"),
    ("(A ; B ; C) FILTER A.x < B.x AND A[y > 1]", "(A ; B ; C) FILTER A[y > 1] FILTER B.x > A.x"),
    ("((A ; B) WITHIN 5 [x] PARTITION BY [k])+", "((A ; B) PARTITION BY [k] WITHIN 5 [x])+"),
    (
        "((A ALL B ALL A) PARTITION BY [k]) ; C",
        "((A ALL A ALL B) PARTITION BY [k]) ; C",
    ),
    ("A ; B WITHIN 100000 EVENTS", "A ; B WITHIN 100000 EVENTS"),
    (
        "LAST((A ; B WITHIN 5 [x] WITHIN 9 [x] WITHIN 2 EVENTS) ; C)",
        "LAST((A ; B WITHIN 7 EVENTS WITHIN 2 EVENTS WITHIN 5 [x]) ; C)",
    ),
]
PROVED: list[tuple[str, str, Claim, str]] = [
    ("(A ; B ; C) FILTER A.x < B.x", "(A ; B ; C) FILTER A.x <= B.x", "contained", "conditions"),
    ("((A ; B) WITHIN 5 seconds) ; C", "((A ; B) WITHIN 10 seconds) ; C", "contained", "decided"),
    ("((A ; B) WITHIN 5 [x]) ; C", "((A ; B) WITHIN 10 [x]) ; C", "contained", "operands"),
    ("(((A ; B) WITHIN 5 [x]) ; D) WITHIN 5 seconds", "((A ; B) WITHIN 5 [x]) ; D", "contained", "drop"),
    (
        "LAST((A ; B WITHIN 1 [x]) ; C) WITHIN 5 seconds FILTER A[x > 1]",
        "LAST(((A ; B WITHIN 1 [x]) ; C FILTER A[x > 1]) WITHIN 5 seconds)",
        "contained",
        "choose",
    ),
    ("(A ; B) FILTER A.u = B.u FILTER A.x < B.x", "(A ; B) PARTITION BY [u] FILTER B.x > A.x", "equivalent", "shared"),
    ("A UNLESS (B ; C)", "A UNLESS ((B ; C) PARTITION BY [k])", "contained", "operands"),
    ("((A FILTER A[x > 3]) WITHIN 5 [x])+", "((A FILTER A[x > 2]) WITHIN 5 [x])+", "contained", "operands"),
    ("(A+ WITHIN 5 [x]) ; B", "C OR (A+ WITHIN 5 [x]) ; B", "contained", "right or"),
    ("(A WITHIN 1 [x])+ OR (A WITHIN 2 [x])+", "(A WITHIN 3 [x])+", "contained", "left or"),
    ("NXT((A OR A) WITHIN 1 [x])", "NXT(A WITHIN 1 [x])", "equivalent", "operands"),
    (
        "(A ; B ; C) FILTER (A.x < B.x OR A[x > 4])",
        "(A ; B ; C) FILTER (A.x <= B.x OR A[x > 3])",
        "contained",
        "conditions",
    ),
]


def parsed(text: str) -> cel.Formula:
    return parse(text)


@pytest.mark.parametrize(("left", "right"), SAME)
@pytest.mark.parametrize("level", ["events", "valuations"])
def test_what_differs_only_as_written_is_the_same(left: str, right: str, level: Level) -> None:
    verdict = prove(parsed(left), parsed(right), "equivalent", level, None, "any", Budget())
    assert isinstance(verdict, Equivalent)
    assert verdict.certificate.derivation == RuleProof("same")
    assert flaw(Certificate.from_json(verdict.certificate.to_json())) is None


@pytest.mark.parametrize(("left", "right", "claim", "rule"), PROVED)
def test_parts_are_put_together(left: str, right: str, claim: Claim, rule: str) -> None:
    verdict = prove(parsed(left), parsed(right), claim, "events", None, "non-decreasing", Budget())
    assert isinstance(verdict, Equivalent | Contained)
    assert verdict.certificate.derivation is not None
    assert verdict.certificate.derivation.rule == rule
    read = Certificate.from_json(verdict.certificate.to_json())
    assert read == verdict.certificate
    assert flaw(read) is None


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("((A ; B) WITHIN 10 seconds) ; C", "((A ; B) WITHIN 5 seconds) ; C"),
        ("(A ; B ; C) FILTER A.x <= B.x", "(A ; B ; C) FILTER A.x < B.x"),
        ("A UNLESS ((B ; C) PARTITION BY [k])", "A UNLESS (B ; C)"),
        ("(A+ FILTER A.x <= A.x) ; B", "(A+ FILTER A.x < A.x) ; B"),
        ("NXT((A ; B) WITHIN 5 [x])", "NXT((A ; B) WITHIN 6 [x])"),
        ("LAST((A ; B WITHIN 1 [x]) ; C WITHIN 5 seconds)", "LAST((A ; B WITHIN 1 [x]) ; C) WITHIN 5 seconds"),
        ("((A IN Y) PARTITION BY [k]) ; B FILTER X[x > 1]", "((A IN X) PARTITION BY [k]) ; B FILTER X[x > 1]"),
    ],
)
def test_what_does_not_hold_is_not_proved(left: str, right: str) -> None:
    assert prove(parsed(left), parsed(right), "contained", "events", None, "non-decreasing", Budget()) is None


def leaf(left: str, right: str, claim: Claim = "contained", level: Level = "events") -> RuleProof:
    """A proof of a decider, as a part of a derivation."""
    found = prove(parsed(left), parsed(right), claim, level, None, "non-decreasing", Budget())
    assert isinstance(found, Equivalent | Contained)
    assert found.certificate.derivation is not None
    return found.certificate.derivation


SAME_RULE = RuleProof("same")
ONE_SIDE = RuleProof("right or", (SAME_RULE,), 0)
RENAMED = RuleProof("operands", (SAME_RULE,))
FORGED: list[tuple[str, str, Claim, RuleProof]] = [
    ("A ; B", "B ; A", "equivalent", SAME_RULE),
    ("A WITHIN 1 [x] WITHIN 2 [y]", "A WITHIN 1 [x]", "equivalent", SAME_RULE),
    ("A WITHIN 2 [x]", "A WITHIN 1 [x] WITHIN 2 [x]", "equivalent", SAME_RULE),
    ("(A : B) PER KEY [k]", "(A : B) PER KEY [j]", "equivalent", SAME_RULE),
    ("(A : B) PER KEY [k]", "(A : B) PER KEY [j]", "equivalent", RuleProof("operands", (SAME_RULE,))),
    ("NXT((A : B) PER KEY [k])", "NXT((A : B) PER KEY [k, j])", "contained", SAME_RULE),
    ("A WITHIN 2 EVENTS", "A WITHIN 2 EVENTS WITHIN 1 EVENTS", "equivalent", SAME_RULE),
    ("(A ALL A) PARTITION BY [k]", "(A ALL A ALL A) PARTITION BY [k]", "equivalent", SAME_RULE),
    ("(A WITHIN 2 [x]) ; B", "(A WITHIN 1 [x]) ; B", "contained", RuleProof("operands", (SAME_RULE, SAME_RULE))),
    ("A WITHIN 2 [x]", "A WITHIN 1 [x]", "contained", RuleProof("conditions", (SAME_RULE,))),
    ("A WITHIN 1 [x]", "A WITHIN 2 [x]", "equivalent", RuleProof("conditions", (SAME_RULE,))),
    ("A WITHIN 1 [x]", "A WITHIN 2 [y]", "contained", RuleProof("conditions", (SAME_RULE,))),
    ("A PARTITION BY [x]", "A PARTITION BY [y]", "contained", RuleProof("conditions", (SAME_RULE,))),
    ("A FILTER A[x > 1]", "A FILTER A[x > 2]", "contained", RuleProof("conditions", (SAME_RULE,))),
    ("A FILTER A.x <= A.x", "A FILTER A.x < A.x", "contained", RuleProof("conditions", (SAME_RULE,))),
    ("A FILTER (A[x > 1] OR A[y > 1])", "A FILTER A[x > 1]", "contained", RuleProof("conditions", (SAME_RULE,))),
    ("A WITHIN 1 [x]", "A WITHIN 1 [y]", "contained", RuleProof("shared", (SAME_RULE,))),
    ("A WITHIN 1 [x] WITHIN 1 [y]", "A WITHIN 1 [x]", "equivalent", RuleProof("shared", (SAME_RULE,))),
    ("A WITHIN 1 [x] FILTER A[x > 1]", "A WITHIN 1 [x]", "equivalent", RuleProof("shared", (SAME_RULE,))),
    ("(A IN X) FILTER X[x > 1]", "(A IN Y) FILTER X[x > 1]", "equivalent", RuleProof("shared", (RENAMED,))),
    ("A OR B", "A", "contained", RuleProof("drop", (SAME_RULE,))),
    ("LAST(A WITHIN 1 [x])", "LAST(A) WITHIN 1 [x]", "contained", RuleProof("choose", (SAME_RULE,))),
    ("LAST(A) WITHIN 2 [x]", "LAST(A WITHIN 1 [x])", "contained", RuleProof("choose", (SAME_RULE,))),
    ("LAST(A) WITHIN 1 [x]", "LAST(A WITHIN 1 [x])", "equivalent", RuleProof("choose", (SAME_RULE,))),
    ("STRICT(A) WITHIN 1 [x]", "STRICT(A WITHIN 1 [x])", "contained", RuleProof("choose", (SAME_RULE,))),
    ("A", "A OR B", "equivalent", RuleProof("right or", (SAME_RULE,), 0)),
    ("A", "B OR C", "contained", RuleProof("right or", (SAME_RULE,), 0)),
    ("A", "B OR A", "contained", RuleProof("right or", (SAME_RULE,))),
    ("A OR B", "A", "contained", RuleProof("left or", (SAME_RULE, SAME_RULE))),
    ("A FILTER A[x > 1]", "A", "equivalent", RuleProof("drop", (SAME_RULE,))),
    ("A FILTER A[x > 1]", "A", "equivalent", RuleProof("both", (RuleProof("drop", (SAME_RULE,)), SAME_RULE))),
    ("A UNLESS C", "A UNLESS (C OR D)", "contained", RuleProof("operands", (SAME_RULE, ONE_SIDE))),
    ("NXT(A FILTER A[x > 1])", "NXT(A)", "contained", RuleProof("operands", (RuleProof("drop", (SAME_RULE,)),))),
    ("(A IN X) AND A", "(A IN Y) AND A", "equivalent", RuleProof("operands", (RENAMED, SAME_RULE))),
    ("PROJECT[A](A ; B)", "PROJECT[B](A ; B)", "equivalent", RuleProof("operands", (SAME_RULE,))),
    ("A ; B", "A : B", "equivalent", RuleProof("operands", (SAME_RULE, SAME_RULE))),
    ("A ; B", "A ; B", "equivalent", RuleProof("operands", (SAME_RULE,))),
    ("A", "B", "equivalent", RuleProof("decided")),
    ("A", "A", "equivalent", RuleProof("rename", (SAME_RULE,))),
    *(
        (left, right, "equivalent", RuleProof("rename", (SAME_RULE,), formulas=(right, right)))
        for left, right in (
            ("A IN x ; A IN y FILTER x.u < y.u", "A IN y ; A IN x FILTER x.u < y.u"),
            ("A IN x ; A IN y FILTER x.u < y.u", "A IN x ; A IN x FILTER x.u < x.u"),
            ("A IN x ; B FILTER x.u < B.u", "A IN B ; B FILTER B.u < B.u"),
            ("A IN x ; A FILTER x.u < A.u", "A IN x ; A IN y FILTER x.u < y.u"),
            ("(A IN x ; A) IN y FILTER x.u < y.u", "(A IN y ; A) IN x FILTER x.u < y.u"),
            ("(A IN x ; B FILTER x.u < B.u) ; A IN x", "(A ; B) ; A IN x FILTER x.u < B.u"),
            ("A ; B UNLESS (C IN A) FILTER A.u < B.u", "A ; B UNLESS C FILTER C.u < B.u"),
            ("PROJECT[x](A IN x ; A IN y FILTER x.u < y.u)", "PROJECT[y](A IN x ; A IN y FILTER x.u < y.u)"),
            ("PROJECT[x](A IN x ; A IN y FILTER x.u < y.u)", "PROJECT[x](A IN x ; A IN x FILTER x.u < x.u)"),
            ("PROJECT[A](A IN x ; A IN y FILTER x.u < y.u)", "PROJECT[x](A IN x ; A IN y FILTER x.u < y.u)"),
            ("(A IN x ; A IN y FILTER x.u < y.u) AND (A ; A)", "(A IN x ; A FILTER x.u < y.u) AND (A ; A)"),
            ("(A IN x ; A FILTER x.u < z.u) AND A", "(A IN z ; A FILTER z.u < z.u) AND A"),
            ("PROJECT[A](A IN x ; B IN A)", "PROJECT[y](A IN x ; B IN y)"),
            ("(A IN x : B) PER KEY [k]", "(A IN y : B) PER KEY [j]"),
        )
    ),
    ("A", "B", "contained", leaf("A", "A OR B")),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right", "claim", "derivation"), FORGED)
def test_a_forged_derivation_is_refused(left: str, right: str, claim: Claim, derivation: RuleProof) -> None:
    certificate = Certificate(claim, left, right, "events", None, False, (), derivation=derivation)
    assert flaw(certificate) is not None


NAMES: list[tuple[str, str, Claim]] = [
    ("A IN a ; A IN b FILTER a.u < b.u", "A IN x ; A IN y FILTER x.u < y.u", "equivalent"),
    ("A IN a ; A IN b FILTER a.u < b.u", "A IN x ; A IN y FILTER x.u <= y.u", "contained"),
    ("A IN a ; B FILTER a.u < B.u", "A ; B FILTER A.u < B.u", "equivalent"),
    ("A IN a ; A IN b FILTER a.u + 1 < b.u", "A IN b ; A IN a FILTER a.u > 1 + b.u", "equivalent"),
    ("A IN a ; A IN b ; A IN c FILTER a.u < b.u AND b.u < c.u", "A ; A IN y ; A IN z FILTER y.u < z.u", "contained"),
    ("(A IN a ; A IN b FILTER a.u < b.u) ; A IN a", "(A IN x ; A IN y FILTER x.u < y.u) ; A", "equivalent"),
    ("A{2} IN a ; A IN b FILTER a.u < b.u", "A IN x ; A IN x ; A IN z FILTER x.u < z.u", "equivalent"),
    ("B UNLESS (A IN a ; C FILTER a.u < C.u)", "B UNLESS (A ; C IN c FILTER A.u < c.u)", "equivalent"),
    ("NXT(A IN a ; A IN b FILTER a.u < b.u) ; C", "NXT(A IN b ; A IN a FILTER b.u < a.u) ; C", "equivalent"),
    ("PROJECT[a](A IN a ; A IN b FILTER a.u < b.u)", "PROJECT[x](A IN x ; A IN y FILTER x.u < y.u)", "equivalent"),
    ("(A IN a ; A IN b FILTER a.u < b.u)+", "(A IN b ; A IN a FILTER b.u < a.u)+", "equivalent"),
]
OTHER_NAMES = [
    ("A IN a ; A IN b FILTER a.u < b.u", "A IN b ; A IN a FILTER a.u < b.u"),
    ("A IN a ; A IN b FILTER a.u < b.v", "A IN a ; A IN a FILTER a.u < a.v"),
    ("A IN a ; A FILTER a.u < A.v", "A IN a ; A IN b FILTER a.u < b.v"),
    ("(A IN a ; A IN b) IN a ; B FILTER a.u < B.u", "(A IN a ; A IN b) IN c ; B FILTER a.u < B.u"),
    ("PROJECT[a](A IN a ; A IN b FILTER a.u < b.u)", "PROJECT[y](A IN x ; A IN y FILTER x.u < y.u)"),
    ("(A IN a ; A IN b FILTER a.u < b.u) AND (A IN a ; A IN b)", "(A IN a ; A IN b FILTER a.u < b.u) AND (A ; A)"),
]


@pytest.mark.parametrize(("left", "right", "claim"), NAMES)
def test_names_of_variables_do_not_matter_to_complex_events(left: str, right: str, claim: Claim) -> None:
    verdict = compare_formulas(parse(left), parse(right), claim)
    assert isinstance(verdict, Equivalent | Contained)
    read = Certificate.from_json(verdict.certificate.to_json())
    assert read == verdict.certificate
    assert flaw(read) is None
    assert prove(parse(left), parse(right), claim, "valuations", None, "any", Budget()) is None or "UNLESS" in left


@pytest.mark.parametrize(("left", "right"), OTHER_NAMES)
def test_what_a_variable_holds_matters(left: str, right: str) -> None:
    pytest.importorskip("z3")
    assert isinstance(compare_formulas(parse(left), parse(right), "equivalent", bound=3), Different)


def test_other_names_keep_the_complex_events_of_random_formulas() -> None:
    """By the definition, for formulas with and without AND and PROJECT; and the checker takes the renaming."""
    profile = replace(FIGURE_3, types=("A", "B"), variables=("X", "Y", "A"), correlated=0.7)
    changed = 0
    for seed in range(150):
        rng = Random(seed)
        phi = cel.expanded(formula(rng, profile if seed % 2 else replace(EVERYTHING, correlated=0.6), 9))
        (psi,) = with_canonical_names(phi)
        changed += phi != psi
        S = stream(rng, profile, 5, phi)
        for n in range(len(S)):
            assert complex_events(phi, S, n) == complex_events(psi, S, n), cel.show(phi)
        by = RuleProof("rename", (SAME_RULE,), formulas=(cel.show(psi), cel.show(psi)))
        certificate = Certificate("equivalent", cel.show(phi), cel.show(psi), "events", None, False, (), derivation=by)
        assert flaw(certificate) is None, cel.show(phi)
        at_valuations = replace(certificate, level="valuations")
        assert flaw(at_valuations) is not None
    assert changed > 60


def test_a_proof_of_a_part_is_of_that_part_with_its_claim_level_and_order() -> None:
    left, right = "((A ; B) WITHIN 5 [x]) ; C", "((A ; B) WITHIN 10 [x]) ; C"
    found = prove(parsed(left), parsed(right), "contained", "events", None, "non-decreasing", Budget())
    assert isinstance(found, Contained)
    whole = found.certificate
    assert whole.derivation is not None
    first, second = whole.derivation.parts
    decider = next(whole.derivation.certificates(), None)
    if decider is None:  # the window follows by the rule of conditions, without a decider
        assert first.rule in ("conditions", "same")
        decider = next(leaf("A", "A OR B", "contained").certificates())
        first = RuleProof("decided", certificate=decider)
    for wrong in (
        replace(decider, claim="equivalent"),
        replace(decider, level="valuations"),
        replace(decider, left="A ; C"),
        replace(decider, order="strict"),
    ):
        forged = RuleProof("operands", (RuleProof("decided", certificate=wrong), second))
        assert flaw(replace(whole, derivation=forged)) is not None


def test_formulas_that_the_key_makes_one_are_one_by_every_law() -> None:
    """Two sides of a law that does not hold never have one key."""
    for law in LAWS:
        if not law.holds:
            assert key_of(cel.expanded(law.left)) != key_of(cel.expanded(law.right)), law.name


def test_a_formula_per_key_is_compared_by_what_it_is_made_of() -> None:
    """The attributes of a key have no order; another attribute is another query."""
    for left, right, same in (
        ("(A ; B) PER KEY [k] WITHIN 10 minutes", "(A ; B) PER KEY [k] WITHIN 600 seconds", True),
        ("(A ; B) PER KEY [k, l] WITHIN 10 minutes", "(A ; B) PER KEY [l, k] WITHIN 10 minutes", True),
        ("(A ; B) PER KEY [k] WITHIN 10 minutes", "(A ; B) PER KEY [l] WITHIN 10 minutes", False),
        ("(A ; B) PER KEY [k] WITHIN 10 minutes", "(A ; B) PARTITION BY [k] WITHIN 10 minutes", False),
    ):
        proved = prove(parse(left), parse(right), "equivalent", "events", None, "any", Budget(), only_same=True)
        assert isinstance(proved, Equivalent) == same
        if isinstance(proved, Equivalent):
            assert flaw(proved.certificate) is None


@pytest.mark.parametrize("around", ["{}", "({}) ; C", "NXT({})", "{} WITHIN 5 seconds"])
def test_formulas_per_other_keys_are_not_the_same(around: str) -> None:
    """The rule for one operator on both sides looks at the attributes of keys, and so does its checker."""
    left, right = (parse(around.format(f"((A : B) PER KEY [{key}])")) for key in "kj")
    assert not isinstance(compare_formulas(left, right, "equivalent"), Equivalent)
    assert not isinstance(compare_formulas(left, right, "contained"), Contained)


def test_a_weaker_condition_inside_a_key_is_a_proof_that_is_checked() -> None:
    left, right = (parse(f"({a} : B) PER KEY [k] WITHIN 5 seconds") for a in ("(A FILTER A[x > 3])", "A"))
    verdict = compare_formulas(left, right, "contained")
    assert isinstance(verdict, Contained)
    assert flaw(verdict.certificate) is None


def test_a_difference_has_times_in_the_order_that_is_asked_for() -> None:
    left = parse("(A FILTER A[time > 5]) ; (B FILTER B[time < 3])")
    right = parse("(A FILTER A[time > 5 and time < 4]) ; B")
    assert isinstance(compare_formulas(left, right, "equivalent", order="strict"), Undecided)
    assert isinstance(compare_formulas(left, right, "equivalent", order="any"), Different)
