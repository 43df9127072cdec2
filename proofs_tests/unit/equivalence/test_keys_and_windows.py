"""Formulas with partitions and windows on values: what is decided, for which order of times, with which evidence."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

import cerify
from cerify.api import equivalent
from cerify.automata.algebra import values
from cerify.automata.algebra.finite import minterms
from cerify.equivalence.decide import clocks, keys_and_windows
from cerify.equivalence.decide.checker import expression_flaw, flaw
from cerify.equivalence.decide.derivation import compare_formulas
from cerify.equivalence.decide.keys_and_windows import Reduction, compare_reduced
from cerify.equivalence.decide.keys_and_windows_checker import unlisted
from cerify.equivalence.generate import cel as generate
from cerify.equivalence.verdict import (
    Bounded,
    Certificate,
    Claim,
    Contained,
    Different,
    Equivalent,
    Order,
    Undecided,
    Verdict,
)
from cerify.languages import LANGUAGES
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.interpreter import matches_of
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import show
from cerify.semantics.errors import BudgetExceeded, InputError, InternalError
from cerify.semantics.events import Event, Schema, Stream
from cerify.semantics.predicates import Attribute, Comparison, Constant, OfType
from cerify.semantics.trees import children
from cerify.semantics.values import Value, microseconds
from proofs_tests.campaigns.keys_and_windows import judge
from proofs_tests.campaigns.rule_pairs import decide_pair, rule_pairs
from proofs_tests.support import sampled
from proofs_tests.unit.automata.test_algebra import predicates

# ---- keys and windows ----
#

SAME = [
    ("(A ; B) WITHIN 10 minutes", "(A ; B) WITHIN 600 seconds"),
    ("(A ; B) WITHIN 10 minutes WITHIN 1 hour", "(A ; B) WITHIN 10 minutes"),
    ("A WITHIN 10 minutes", "A WITHIN 1 hour"),
    ("(A ; B) PARTITION BY [k] WITHIN 5 minutes", "(A ; B) WITHIN 300 seconds PARTITION BY [k]"),
    ("(A ; B) PARTITION BY [k]", "(A ; B) FILTER A.k = B.k"),
    ("(A ; B ; C) PARTITION BY [k]", "(A ; B ; C) FILTER A.k = B.k AND C.k = B.k"),
    ("(A ; B) FILTER A[k = 'x'] PARTITION BY [k]", "(A ; B) FILTER (A[k = 'x'] AND B[k = 'x'])"),
    ("(A ; B) FILTER A[k > 3] PARTITION BY [k]", "(A ; B) FILTER B[k > 3] PARTITION BY [k]"),
    ("(A{3} ; B) WITHIN 1 hour PARTITION BY [k]", "(A ; A ; A ; B) WITHIN 1 hour PARTITION BY [k]"),
    ("STRICT(A ; B) WITHIN 1 hour", "(A : B) WITHIN 1 hour"),
    ("((A ; B) WITHIN 1 hour) OR ((A ; B) WITHIN 1 day)", "(A ; B) WITHIN 1 day"),
]
UNDER_ORDER = [
    ("NXT((A ; B) WITHIN 5 seconds)", "NXT((A ; B) WITHIN 5 seconds) WITHIN 1 minute"),
    ("A ; (B ; C WITHIN 5 seconds)", "A ; (B ; C WITHIN 5 seconds WITHIN 6 seconds)"),
]
DIFFERENT: list[tuple[str, str, int]] = [
    ("(A ; B) WITHIN 5 seconds", "(A ; B) WITHIN 10 seconds", 2),
    ("A WITHIN 5 seconds", "A", 1),
    ("NXT((A ; B) PARTITION BY [k])", "NXT(A ; B) PARTITION BY [k]", 3),
    ("NXT((A ; B) WITHIN 5 seconds)", "NXT(A ; B) WITHIN 5 seconds", 3),
    ("(A : B) PARTITION BY [k]", "(A ; B) PARTITION BY [k]", 3),
    ("(A ; B) FILTER A[k > 3] PARTITION BY [k]", "(A ; B) FILTER (A[k > 3] AND B[k > 3])", 2),
    ("((A ; B) UNLESS C) PARTITION BY [k]", "(A ; B) PARTITION BY [k]", 3),
    ("MAX((A ; B) WITHIN 5 seconds)", "MAX((A ; B) WITHIN 10 seconds)", 2),
    ("A+ PARTITION BY [k]", "A+", 1),
    ("(A ; B) WITHIN 5 [x]", "(A ; B) WITHIN 6 [x]", 2),
]


def decided(
    left: str, right: str, claim: Claim = "equivalent", schema: Schema | None = None, order: Order = "non-decreasing"
) -> Verdict:
    return compare_reduced(parse(left), parse(right), claim, "events", schema, order, Budget())


@pytest.mark.parametrize(("left", "right"), SAME)
@pytest.mark.parametrize("order", ["strict", "non-decreasing", "any"])
def test_windows_around_whole_matches_need_no_order_of_times(left: str, right: str, order: Order) -> None:
    verdict = decided(left, right, order=order)
    assert isinstance(verdict, Equivalent)
    assert verdict.certificate.order == "any"
    assert flaw(verdict.certificate) is None


@pytest.mark.parametrize(("left", "right"), UNDER_ORDER)
def test_windows_inside_other_operators_hold_for_the_order_that_the_certificate_names(left: str, right: str) -> None:
    verdict = decided(left, right)
    assert isinstance(verdict, Equivalent)
    assert verdict.certificate.order == "non-decreasing"
    read = Certificate.from_json(verdict.certificate.to_json())
    assert read == verdict.certificate
    assert flaw(read) is None
    assert "values may decrease" in str(flaw(replace(read, order="any")))


def test_what_needs_an_order_of_times_is_not_decided_for_any() -> None:
    left, right = UNDER_ORDER[0]
    asked = compare_formulas(parse(left), parse(right), "equivalent", "events", None, "any", 0)
    assert isinstance(asked, Undecided)
    assert "times may decrease" in asked.reason


@pytest.mark.parametrize(("left", "right", "length"), DIFFERENT)
def test_a_difference_is_on_a_shortest_stream(left: str, right: str, length: int) -> None:
    verdict = decided(left, right)
    assert isinstance(verdict, Different)
    assert (len(verdict.stream), verdict.shortest) == (length, True)


def test_times_of_a_difference_never_decrease_and_increase_if_that_is_asked() -> None:
    left, right = "LAST((A ; B ; C) WITHIN 5 seconds)", "LAST((A ; B ; C) WITHIN 9 seconds)"
    for order, fits in (("non-decreasing", lambda a, b: a <= b), ("strict", lambda a, b: a < b)):
        verdict = decided(left, right, order=order)  # type: ignore[arg-type]
        assert isinstance(verdict, Different)
        times = [microseconds(t) for e in verdict.stream if (t := e.get("time")) is not None]  # type: ignore[arg-type]
        assert all(fits(a, b) for a, b in pairwise(times))


def test_a_narrower_window_is_contained_in_a_wider_one_and_not_the_other_way_round() -> None:
    narrow, wide = "(A ; B) WITHIN 5 seconds", "((A OR B) ; B) WITHIN 10 seconds"
    verdict = decided(narrow, wide, "contained")
    assert isinstance(verdict, Contained)
    assert flaw(verdict.certificate) is None
    assert isinstance(decided(wide, narrow, "contained"), Different)


def test_widths_between_two_whole_numbers_are_the_same_where_times_are_whole() -> None:
    left, right = "(A ; B) WITHIN 1.2 seconds", "(A ; B) WITHIN 1.8 seconds"
    whole = Schema({"A": {"time": "int"}, "B": {"time": "int"}})
    verdict = decided(left, right, schema=whole)
    assert isinstance(verdict, Equivalent)
    assert flaw(verdict.certificate) is None
    assert isinstance(decided(left, right), Different)


def test_a_key_that_a_type_of_the_schema_lacks_is_no_key() -> None:
    schema = Schema({"A": {"k": "int"}, "B": {}})
    verdict = decided("(A ; B) PARTITION BY [k]", "(B ; B) PARTITION BY [k]", schema=schema)
    assert isinstance(verdict, Equivalent)
    assert flaw(verdict.certificate) is None


def test_nan_is_a_key_of_nothing() -> None:
    verdict = decided("(A FILTER A[k != 3]) PARTITION BY [k]", "A FILTER A[k != 3]")
    assert isinstance(verdict, Different)
    (event,) = verdict.stream
    assert event.attributes["k"] != event.attributes["k"]


@pytest.mark.parametrize(
    ("left", "why"),
    [
        ("((A ; B) WITHIN 5 [x]) ; C", "WITHIN is around a part of a match"),
        ("(((A ; B) WITHIN 5 seconds) ; C) AND (D IN E)", "a window is around a part of a match, under AND"),
        ("LAST((A ; B WITHIN 5 seconds) ; C) ; D", "around such a strategy only OR, FILTER and IN can be decided"),
        ("(A ; B PER KEY [k]) ; C", "PER KEY is around a part of a match"),
        (
            "(A ; B) UNLESS (C ; D PARTITION BY [k])",
            "a comparison of keys is around a part of a match, on the right of UNLESS",
        ),
        ("(A ; (B OR C)+) FILTER A.k = B.k", "a filter compares events of a variable that may hold no event"),
        ("(A ; B PER KEY [k]) FILTER A.k = B.j", "the attribute k, which is also compared with another attribute"),
        ("(A ; B) FILTER A.x < B.x", "a filter compares events by something other than equal attributes"),
        ("NXT((A ; B) WITHIN 5 [x])", "the values of x may decrease"),
        ("PROJECT[A](A ; B) WITHIN 1 day", "WITHIN is around PROJECT"),
        ("(PROJECT[X](A) PARTITION BY [k]) ; B", "which may drop all events of a part of a match"),
    ],
)
def test_what_is_not_decided_is_named(left: str, why: str) -> None:
    verdict = compare_formulas(parse(left), parse("(D ; E) WITHIN 1 second"), "contained", bound=0)
    assert isinstance(verdict, Undecided)
    assert why in verdict.reason


PARTS: list[tuple[str, str, Claim, int | None]] = [
    ("(A ; B WITHIN 5 seconds) ; C", "(A ; B WITHIN 6 seconds) ; C", "contained", None),
    ("(A ; B WITHIN 6 seconds) ; C", "(A ; B WITHIN 5 seconds) ; C", "contained", 3),
    ("(A ; B WITHIN 5 seconds)+ ; C",
     "((A ; B WITHIN 5 seconds) OR (A ; B WITHIN 5 seconds){2,}) ; C", "equivalent", None),
    ("(A+ WITHIN 5 seconds) ; B", "(A+ WITHIN 5 seconds)+ ; B", "contained", None),
    ("(A+ WITHIN 5 seconds)+ ; B", "(A+ WITHIN 5 seconds) ; B", "contained", 3),
    ("((A ; B WITHIN 5 seconds) ; C) WITHIN 3 seconds", "(A ; B ; C) WITHIN 3 seconds", "equivalent", None),
    ("((A ; B WITHIN 5 seconds) ; C) WITHIN 30 seconds", "(A ; B ; C) WITHIN 30 seconds", "contained", None),
    ("(A ; B ; C) WITHIN 30 seconds", "((A ; B WITHIN 5 seconds) ; C) WITHIN 30 seconds", "contained", 3),
    ("((A ; B) : C WITHIN 9 seconds) ; D", "((A ; B WITHIN 9 seconds) ; C) ; D", "contained", None),
    ("((A ALL B WITHIN 4 seconds) ; C) PARTITION BY [k]",
     "((A ; B WITHIN 4 seconds) OR (B ; A WITHIN 4 seconds)) ; C PARTITION BY [k]", "equivalent", None),
    ("LAST((A ; B WITHIN 5 seconds) ; C)", "LAST((A ; B WITHIN 5 seconds WITHIN 1 day) ; C)", "equivalent", None),
    ("LAST((A ; B WITHIN 5 seconds) ; C)", "LAST((A ; B WITHIN 6 seconds) ; C)", "equivalent", 3),
    ("NXT((A ; B WITHIN 5 seconds) ; C) PER KEY [k]", "(A ; B WITHIN 5 seconds) ; C PER KEY [k]", "contained", None),
    ("MAX((A+ WITHIN 5 seconds) ; C)", "MAX(A+ ; C) WITHIN 5 seconds", "equivalent", 2),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right", "claim", "length"), PARTS)
@pytest.mark.parametrize("order", sampled(["non-decreasing", "strict"], ["non-decreasing"]))
def test_windows_on_parts_are_decided_by_clocks(
    left: str, right: str, claim: Claim, length: int | None, order: Order
) -> None:
    verdict = decided(left, right, claim, order=order)
    if length is not None:
        assert isinstance(verdict, Different)
        assert (len(verdict.stream), verdict.shortest) == (length, True)
        return
    assert isinstance(verdict, Equivalent | Contained)
    read = Certificate.from_json(verdict.certificate.to_json())
    assert (read, flaw(read)) == (verdict.certificate, None)
    assert read.order == order
    assert "integers or timestamps" in read.times
    assert flaw(replace(read, order="any")) is not None
    assert flaw(replace(read, left=read.left.replace("seconds", "minutes"))) is not None


HELD: list[tuple[str, str, Claim, int | None]] = [
    ("((A ; B) PARTITION BY [k]) ; C", "(A ; B ; C) FILTER A.k = B.k", "equivalent", None),
    ("(A ; B ; C) FILTER A.k = B.k AND B.j = C.j",
     "((A ; B PARTITION BY [k]) ; C) FILTER C.j = B.j", "equivalent", None),
    ("(A ; B ; C) FILTER A.p = B.q AND B.p = C.q",
     "(A ; (B ; C FILTER B.p = C.q)) FILTER A.p = B.q", "equivalent", None),
    ("(A ; B ; C) FILTER A.p = B.q AND B.p = C.q", "(A ; B ; C) FILTER A.p = B.q AND B.q = C.q", "contained", 3),
    ("((A ; B) PARTITION BY [k]) ; C", "((A ; B) PARTITION BY [k])+ ; C", "contained", None),
    ("((A ; B) PARTITION BY [k])+ ; C", "((A ; B){1,2} PARTITION BY [k]) ; C", "contained", 5),
    ("((A+) PARTITION BY [k])+", "A+ FILTER A[k = k]", "equivalent", None),
    ("((A ALL B) PARTITION BY [k]) ; C",
     "(((A ; B) PARTITION BY [k]) OR ((B ; A) PARTITION BY [k])) ; C", "equivalent", None),
    ("((A[k = 1] ; B) PARTITION BY [k]) ; C", "(A[k = 1] ; B[k = 1]) ; C", "equivalent", None),
    ("((A[k > 1] ; B) PARTITION BY [k]) ; C", "((A ; B[k > 2]) PARTITION BY [k]) ; C", "contained", 3),
    ("(((A ; B) PARTITION BY [k]) ; C) PARTITION BY [k]", "(A ; B ; C) PARTITION BY [k]", "equivalent", None),
    ("((A ; B) PARTITION BY [k] WITHIN 5 seconds) ; C", "((A ; B WITHIN 6 seconds) PARTITION BY [k]) ; C",
     "contained", None),
    ("(A ; (B OR C)) FILTER A.k = B.k AND A.k = C.k", "(A ; (B OR C)) PARTITION BY [k]", "equivalent", None),
    ("((A ALL (B OR C)) UNLESS D) FILTER A.k = B.k",
     "(((A ALL B) PARTITION BY [k]) OR (A ALL C)) UNLESS D", "equivalent", None),
    ("(A ; (B OR (C ; D))) FILTER (A.k = A.k OR A.j = A.j)", "A ; (B OR (C ; D))", "contained", None),
    ("PROJECT[A](A ; B) PARTITION BY [k]", "PROJECT[A](A[k = k] ; B)", "equivalent", None),
    ("NXT(((A ; B) PARTITION BY [k]) ; C)", "LAST(((A ; B) PARTITION BY [k]) ; C)", "contained", 4),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right", "claim", "length"), HELD)
def test_keys_of_parts_are_decided_by_registers(left: str, right: str, claim: Claim, length: int | None) -> None:
    verdict = decided(left, right, claim)
    if length is not None:
        assert isinstance(verdict, Different)
        assert (len(verdict.stream), verdict.shortest) == (length, True)
        return
    assert isinstance(verdict, Equivalent | Contained)
    read = Certificate.from_json(verdict.certificate.to_json())
    assert (read, flaw(read)) == (verdict.certificate, None)
    assert ("integers" in read.times) == ("WITHIN" in left)
    for old, new in (("PARTITION BY [k]", "PARTITION BY [z]"), ("A.p = B.q", "A.p = B.p"), ("A ALL B", "A ; B")):
        if old in left:
            assert flaw(replace(read, left=read.left.replace(old, new))) is not None


def test_an_equation_is_judged_in_its_own_side_of_an_or() -> None:
    """A.k = B.k asks for the key of the last event where C has it too, and is of a part where it has not."""
    left = "(A ; B ; C) FILTER ((A.k = B.k AND B.k = C.k) OR (A.k = B.k AND C[x = 1]))"
    verdict = decided(left, "(A ; B ; C) FILTER A.k = B.k AND (B.k = C.k OR C[x = 1])")
    assert isinstance(verdict, Equivalent)
    assert flaw(verdict.certificate) is None
    assert isinstance(decided(left, "(A ; B ; C) PARTITION BY [k]"), Different)


def test_what_a_schema_lacks_is_in_no_register() -> None:
    schema = Schema({"A": {"k": "int"}, "B": {}, "C": {"b": "bool"}})
    verdict = decided("((A ; B) PARTITION BY [k]) ; C", "(A UNLESS A) ; C", schema=schema)
    assert isinstance(verdict, Equivalent)
    assert flaw(verdict.certificate) is None
    verdict = decided("((C ; C) PARTITION BY [b])+ ; A", "((C ; C) PARTITION BY [b])+ ; B", "contained", schema=schema)
    assert isinstance(verdict, Different)
    # a third value of a Boolean is looked at too: nothing wrong is proved, and what is not real is told apart
    same = "((C ; C ; C) IN X) FILTER (X.b = X.b)"
    assert isinstance(decided(f"({same}) ; A", "(C ; C ; C) ; A", "contained", schema=schema), Contained)


@pytest.mark.thorough
def test_keys_that_have_to_be_remembered_without_end_are_named() -> None:
    """LAST has to know the keys of all that may still become a better match."""
    body = "((A ; B) PARTITION BY [k]) ; C"
    with pytest.raises(BudgetExceeded, match="keys of parts of matches"):
        decided(f"LAST({body})", body, "contained")
    verdict = compare_formulas(parse(f"LAST({body})"), parse(body), "contained", bound=0)
    assert isinstance(verdict, Contained)  # by the rule drop
    assert flaw(verdict.certificate) is None


def test_planted_faults_in_the_registers_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault makes a list of pairs that is not closed, or a difference that is none."""

    def found(left: str, right: str) -> bool:
        try:
            verdict = decided(left, right, "contained")
        except InternalError:
            return True
        if isinstance(verdict, Undecided):
            return True
        return isinstance(verdict, Equivalent | Contained) and flaw(verdict.certificate) is not None

    choices, letter = clocks.Registers.choices, Reduction.held_by
    same, other = "((A ; B) PARTITION BY [k]) ; C", "(A ; B ; C) FILTER A.k = B.k"
    third = "(A ; B ; C) FILTER A.j = B.j"
    present = "(A ; B ; C) FILTER A.k = A.k AND B.k = B.k"
    wide, loop = "A ; B ; C", "((A ; B) PARTITION BY [k])+ ; C"

    def without(option: object) -> object:
        return lambda self, *args: (v for v in choices(self, *args) if all(x is not option for _, x in v))

    plants = [
        (clocks.Registers, "choices", lambda self, *args: list(choices(self, *args))[:1], (same, third)),
        (clocks.Registers, "choices", without(None), ("A ; B", "(A PARTITION BY [k]) ; B")),
        (clocks.Registers, "choices", lambda self, *args: [v for v in choices(self, *args) if all(
            x is None or x > clocks.FRESH for _, x in v)], (same, third)),
        (clocks, "registers_in", lambda marks: [], (wide, same)),
        (clocks.PlainClocked, "_compared_later", [frozenset()] * 99, (present, same)),
        (keys_and_windows, "always_bound", lambda phi: frozenset("ABCD"), ("A ; C ; D",
         "(A ; (B OR C) ; D) FILTER A.k = B.k")),
        (keys_and_windows, "alternatives", lambda phi: list(children(phi.right)), ("A ; C",
         "(A ; (B OR C)) FILTER A.k = B.k")),
        (keys_and_windows, "is_alone", lambda *_: True, ("(A ; B) FILTER A.p = B.q PARTITION BY [p]",
         "(A ; B) FILTER B.p = B.q")),
        (Reduction, "_empty_registers", staticmethod(lambda phi, *_: phi), (loop, "((A ; B)+ PARTITION BY [k]) ; C")),
        (Reduction, "held_by", lambda *args: replace(letter(*args), single=frozenset("k")), (present, same)),
        (clocks, "piece_of", lambda value: 0, ("((A[k > 1] ; B) PARTITION BY [k]) ; C",
         "((A[k > 1] ; B[k > 1]) PARTITION BY [k]) ; C")),
    ]  # fmt: skip
    for i, (owner, name, fault, (left, right)) in enumerate(plants):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, fault)
            assert found(left, right), (i, name)
    assert not found(same, other)


def test_sums_of_windows_bound_the_times_of_a_match() -> None:
    """Two windows of five seconds and a gap of three make thirteen seconds, which whole seconds and clocks know."""
    chain = "((A ; B WITHIN 5 seconds) AS X ; C) WITHIN 8 seconds"
    assert isinstance(decided(f"({chain}) ; D", "((A ; B ; C) WITHIN 8 seconds) ; D", "contained"), Contained)
    assert isinstance(decided(f"({chain}) ; D", "((A ; B ; C) WITHIN 7 seconds) ; D", "contained"), Different)


def test_whole_times_and_increasing_times_leave_out_what_rational_ones_have() -> None:
    whole = Schema({R: {"time": "int"} for R in "ABC"})
    left, right = "(A ; B WITHIN 1.5 seconds) ; C", "(A ; B WITHIN 1 second) ; C"
    verdict = decided(left, right, schema=whole)
    assert isinstance(verdict, Equivalent)
    assert flaw(verdict.certificate) is None
    assert isinstance(decided(left, right), Different)
    verdict = decided("(A ; B WITHIN 0 seconds) ; C", "C UNLESS C", "contained", order="strict")
    assert isinstance(verdict, Contained)
    assert flaw(verdict.certificate) is None
    assert flaw(replace(verdict.certificate, order="non-decreasing")) is not None
    for order, schema, why in (
        ("any", None, "times may decrease"),
        ("non-decreasing", Schema({R: {"time": "float"} for R in "ABC"}), "differences of floats are rounded"),
    ):
        asked = compare_formulas(parse(left), parse(right), "equivalent", "events", schema, order, 0)  # type: ignore[arg-type]
        assert isinstance(asked, Undecided)
        assert why in asked.reason


def test_planted_faults_in_the_clocks_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault makes a list of pairs that is not closed, or a difference that is none."""

    def found(left: str, right: str, claim: Claim = "equivalent", order: Order = "non-decreasing") -> bool:
        try:
            verdict = decided(left, right, claim, order=order)
        except InternalError:
            return True
        if isinstance(verdict, Undecided):
            return True
        return isinstance(verdict, Equivalent | Contained) and flaw(verdict.certificate) is not None

    search = clocks.ClockedComparison
    regions, step, rank = search._regions, clocks.PlainClocked._step, clocks.PlainClocked.rank
    five, six = "(A ; B WITHIN 5 seconds) ; C", "(A ; B WITHIN 6 seconds) ; C"
    many, few = "(A+ ; B WITHIN 5 seconds) ; C", "(A ; B WITHIN 5 seconds) ; C"
    plants = [
        (clocks.Ages, "allow", lambda self, part, clock: True, (five, six)),
        (search, "_regions", lambda *args: list(regions(*args))[:1], (five, six)),
        (search, "_end", lambda self, pair, here: None, (five, six)),
        (clocks.PlainClocked, "_step", lambda self, *args: list(step(self, *args))[:1], (many, few)),
        (clocks.PlainClocked, "rank", lambda self, c: (rank(self, c)[0], tuple(-x for x in rank(self, c)[1])),
         ("(A+ ; (A{2,} WITHIN 5 seconds)) ; B", "(A+ ; (A{2} WITHIN 5 seconds)) ; B")),
        (clocks.StrategyClocked, "is_final", lambda self, c: self.inner.is_final(c[0]),
         (f"LAST({five})", five)),
        (clocks, "selected", lambda zone, times, widest: clocks.UNBOUNDED, (five, six)),
        (clocks, "elapsed", lambda zone, gap: None, (five, six)),
    ]  # fmt: skip
    for owner, name, fault, (left, right) in plants:
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, fault)
            assert found(left, right), name
    assert not found(five, six)


def test_a_list_of_pairs_that_was_changed_is_refused() -> None:
    verdict = decided("LAST((A ; B WITHIN 5 seconds) ; C)", "LAST((A ; B WITHIN 5 seconds WITHIN 1 day) ; C)")
    assert isinstance(verdict, Equivalent)
    whole = verdict.certificate
    assert whole.cases is not None
    (case,) = whole.cases
    assert case.clocked is not None
    (known, left, right, zone), *rest = case.clocked
    tight = tuple(tuple(0 if i == j else -1 for j in range(len(zone))) for i in range(len(zone)))
    for changed in (
        None,
        (),
        tuple(rest),
        ((known, left, right, tight), *rest),
        ((known, left, (), zone), *rest),
        ((known, left, right, zone[1:]), *rest),
        ((known, ((0, (10**6, ())),), right, zone), *rest),
        ((known, ((2, left[0]),), right, zone), *rest),
        (((), left, right, zone), *rest),
        ((known, (5,), right, ((None,),)), *rest),
    ):
        assert flaw(replace(whole, cases=(replace(case, clocked=changed),))) is not None
    deep: object = []
    for _ in range(300):
        deep = [deep]
    data = json.loads(whole.to_json())
    data["cases"][0]["clocked"] = [[[0], deep, [], []]]
    with pytest.raises(InputError, match="clocked"):
        Certificate.from_json(json.dumps(data))


@pytest.mark.parametrize(
    ("text", "reducible"),
    [
        ("LAST((A ; B WITHIN 5 seconds) ; C) PARTITION BY [k]", True),
        ("(A ; B PER KEY [k]) WITHIN 1 hour", True),
        ("LAST((A ; B WITHIN 5 seconds) ; C) ; D", False),
        ("(A PARTITION BY [k]) ; B", True),
        ("(A PER KEY [k]) ; B", False),
    ],
)
def test_whether_equiv_decides_a_query_is_known_from_the_query(text: str, reducible: bool) -> None:
    assert keys_and_windows.is_reducible(parse(text)) == reducible
    decided_ = compare_formulas(parse(text), parse("A ; D"), "equivalent", bound=0)
    assert isinstance(decided_, Different | Undecided)
    assert isinstance(decided_, Different) == reducible


def test_a_search_says_why_it_was_needed() -> None:
    verdict = compare_formulas(parse("A+ FILTER A.x <= A.x"), parse("A+ PARTITION BY [x]"), "equivalent", bound=2)
    assert isinstance(verdict, Bounded)
    assert "by something other than equal attributes" in verdict.reason


def test_too_many_states_are_no_answer_and_no_proof() -> None:
    phi, psi = parse("NXT(A+ ; B+ ; A+) PARTITION BY [k]"), parse("LAST(A+ ; B+ ; A+) PARTITION BY [k]")
    verdict = compare_formulas(phi, psi, "contained", bound=0, budget=Budget(states=20))
    assert isinstance(verdict, Undecided)


def test_planted_faults_in_the_reduction_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of the decider makes a certificate that the checker refuses, or a difference that is none."""
    same = Reduction.same

    def found(left: str, right: str) -> bool:
        try:
            verdict = decided(left, right)
        except InternalError:
            return True
        return isinstance(verdict, Equivalent | Contained) and flaw(verdict.certificate) is not None

    with monkeypatch.context() as patch:
        patch.setattr(Reduction, "near", lambda self, name, i: keys_and_windows.pred.Anything())
        assert found("(A ; B) WITHIN 5 seconds", "(A ; B) WITHIN 10 seconds")
    with monkeypatch.context() as patch:
        patch.setattr(Reduction, "same", lambda self, key: keys_and_windows.pred.Anything())
        assert found("(A ; B) PARTITION BY [k]", "A ; B")
    with monkeypatch.context() as patch:  # a piece of the values of the key is left out
        cases = keys_and_windows.cases_of
        patch.setattr(keys_and_windows, "cases_of", lambda measures: cases(measures)[1:])
        assert found("(A ; B) FILTER A[k > 3] PARTITION BY [k]", "(A ; B) FILTER B[k > 3] PARTITION BY [k]")
    with monkeypatch.context() as patch:  # the events of other keys are seen
        patch.setattr(keys_and_windows, "VISIBLE", "another")
        assert found("(A : B) PER KEY [k]", "A : B")
    with monkeypatch.context() as patch:  # times are taken to increase towards the past
        patch.setattr(keys_and_windows.RealStreams, "step", lambda self, state, type_: None)
        assert found("(A ; B) WITHIN 5 seconds", "(A ; B) WITHIN 10 seconds")
    with monkeypatch.context() as patch:
        patch.setattr(keys_and_windows, "needs_order", lambda *_: False)
        assert found(*UNDER_ORDER[0])
    assert Reduction.same is same


def test_a_certificate_that_was_changed_is_refused() -> None:
    verdict = decided("(A ; B) FILTER A[k > 3] PARTITION BY [k]", "(A ; B) FILTER B[k > 3] PARTITION BY [k]")
    assert isinstance(verdict, Equivalent)
    whole = verdict.certificate
    assert whole.cases is not None
    first, *rest = whole.cases
    for wrong in (
        replace(whole, cases=()),
        replace(whole, cases=tuple(rest)),
        replace(whole, right="(A ; B) FILTER B[k > 4] PARTITION BY [k]"),
        replace(whole, right="(A ; B) FILTER B[k > 3]"),
        replace(whole, cases=(replace(first, relation=first.relation[1:]), *rest)),
        replace(whole, cases=(replace(first, keys=(("z", None),)), *rest)),
        replace(whole, cases=(replace(first, relation=(((0,), (99,), (0,)),)), *rest)),
    ):
        assert flaw(wrong) is not None


def test_pairs_of_rules_are_decided() -> None:
    """Every eighth of the 200 pairs of python -m proofs_tests.campaigns.rule_pairs."""
    pairs = [decide_pair(*pair, "equivalent", 5) for pair in list(rule_pairs())[3::8]]
    assert [(pair.left, pair.right, pair.wrong) for pair in pairs if pair.wrong or not pair.is_decided] == []


@pytest.mark.thorough
def test_a_short_campaign_finds_nothing() -> None:
    assert [trial.contradiction for trial in (judge(i, 20) for i in range(60)) if trial.contradiction] == []


def test_the_command_says_for_which_order_it_is_proved(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    left, right = UNDER_ORDER[0]
    file = tmp_path / "proof.json"
    code, said, _ = run("equiv", left, right, "--certificate", str(file))
    assert (code, "on every stream whose times never decrease" in said) == (0, True)
    code, said, _ = run("verify", str(file))
    assert (code, "where times never decrease" in said) == (0, True)
    code, said, _ = run("equiv", left, right, "--order", "any", "--bound", "0")
    assert (code, "times may decrease" in said) == (3, True)


def test_a_schema_may_have_the_order_of_times(run) -> None:  # type: ignore[no-untyped-def]
    left, right = UNDER_ORDER[0]
    schema = '{"A": {}, "B": {}, "$order": "%s"}'
    asked = ("equiv", left, right, "--bound", "0", "--schema")
    assert run(*asked, schema % "any")[0] == 3
    assert "whose times increase" in run(*asked, schema % "strict")[1]
    assert "whose times never decrease" in run(*asked, schema % "any", "--order", "non-decreasing")[1]
    assert "the order of times is 'up'; use strict, non-decreasing, any" in run(*asked, schema % "up")[2]


@pytest.mark.parametrize("kind", [None, "timestamp", "int", "float"])
def test_windows_of_any_width_end(kind: str | None) -> None:
    """The greatest distance of timestamps within a very wide window was looked for step by step."""
    schema = None if kind is None else Schema({"A": {"time": kind}, "B": {}})  # type: ignore[dict-item]
    for wide in ("5000000 days", "99999999999999999999 days", "1e308 days"):
        verdict = decided(f"(A ; B) WITHIN {wide}", "(A ; B) WITHIN 1 day", "contained", schema)
        assert isinstance(verdict, Different | Undecided)
        verdict = decided("(A ; B) WITHIN 1 day", f"(A ; B) WITHIN {wide}", "contained", schema)
        assert isinstance(verdict, Contained)
        assert flaw(verdict.certificate) is None


# ---- single key ----
# Formulas under PER KEY are decided, also where a filter mentions the key and against formulas without PER KEY.

SAME_KEY = [
    ("(A OR B) ; C PER KEY [k]", "(A ; C) OR (B ; C) PER KEY [k]"),
    ("A ; B PER KEY [k, l]", "A ; B PER KEY [l] PER KEY [k]"),
    ("A FILTER A.k > 0 PER KEY [k]", "A FILTER A.k > 0 AND A.k > -1 PER KEY [k]"),
]


@pytest.mark.parametrize(("left", "right"), SAME_KEY)
def test_what_is_the_same_on_all_streams_is_so_per_key(left: str, right: str) -> None:
    verdict = cerify.equivalent(left, right)
    assert isinstance(verdict, Equivalent)
    assert flaw(verdict.certificate) is None
    assert (verdict.certificate.left, verdict.certificate.right) == (show(parse(left)), show(parse(right)))
    tampered = replace(verdict.certificate, right="A : B PER KEY [k]" if "[k]" in left else "A : B PER KEY [k, l]")
    assert flaw(tampered) is not None
    other = replace(verdict.certificate, right=verdict.certificate.right.replace("PER KEY [k]", "PER KEY [j]"))
    assert other == verdict.certificate or flaw(other) is not None


def test_a_difference_is_on_one_key() -> None:
    for left, right in (("A : B PER KEY [k]", "A ; B PER KEY [k]"), ("A UNLESS B PER KEY [k]", "A PER KEY [k]")):
        verdict = cerify.equivalent(left, right)
        assert isinstance(verdict, Different)
        assert len({event.get("k") for event in verdict.stream}) == 1
    assert isinstance(cerify.contained("A : B PER KEY [k]", "A ; B PER KEY [k]"), Contained)
    schema = Schema({"A": {"k": "string"}, "B": {"k": "string"}, "C": {}})
    found = LANGUAGES["cel"].deciders.difference(parse("A ; B PER KEY [k]"), parse("A : B PER KEY [k]"), schema=schema)
    assert isinstance(found, Different)
    assert len({event.get("k") for event in found.stream}) == 1
    assert {event.type for event in found.stream} == {"A", "B"}  # an event of type C has no key


def test_a_filter_may_mention_the_key() -> None:
    """On one key the filters cannot both hold, though on a stream they can."""
    verdict = cerify.equivalent("A ; B FILTER A.k = 1 AND B.k = 2 PER KEY [k]", "A UNLESS A PER KEY [k]")
    assert isinstance(verdict, Equivalent)
    assert flaw(verdict.certificate) is None
    assert isinstance(cerify.equivalent("A FILTER A.k = 1 PER KEY [k]", "A FILTER A.k = 2 PER KEY [k]"), Different)


def test_the_readings_of_a_key_are_compared() -> None:
    for left, right, types in (
        ("A : B PER KEY [k]", "A : B PARTITION BY [k]", 3),
        ("(A ; (B UNLESS C)) PER KEY [k]", "(A ; (B UNLESS C)) PARTITION BY [k]", 3),
        ("START(A) PER KEY [k]", "START(A PER KEY [k])", 2),
    ):
        verdict = cerify.equivalent(left, right)
        assert isinstance(verdict, Different)
        assert len(verdict.stream) == types  # a smallest one
    for left, right in (
        ("A ; B PER KEY [k]", "A ; B PARTITION BY [k]"),
        ("NXT(A ; B) PER KEY [k]", "NXT(A ; B PER KEY [k])"),
        ("(A ; B) PER KEY [k] WITHIN 5 seconds", "(A ; B) WITHIN 5 seconds PER KEY [k]"),
    ):
        verdict = cerify.equivalent(left, right)
        assert isinstance(verdict, Equivalent)
        assert flaw(verdict.certificate) is None


def test_verdicts_hold_on_random_streams() -> None:
    rng, decided = Random(5), 0
    profile = replace(generate.FIGURE_3, types=("A", "B"), correlated=0.0)
    for _ in range(60):
        left, right = (cel.PerKey(generate.formula(rng, profile, rng.randint(1, 4)), ("k",)) for _ in "lr")
        verdict = compare_formulas(left, right, "equivalent", bound=0, budget=Budget(states=2_000))
        if isinstance(verdict, Equivalent):
            decided += 1
            for _ in range(20):
                S = Stream(Event(rng.choice("AB"), {"k": rng.randint(0, 1), "x": rng.randint(0, 2)}) for _ in range(5))
                assert matches_of(left, S) == matches_of(right, S), f"{show(left)}, {show(right)}"
        elif isinstance(verdict, Different):
            decided += 1
    assert decided > 40


# ---- boundary events ----
# Events at the edges of predicates find what is left out of a list of types of events.

TYPES = Schema({"A": {"x": "int", "f": "float", "s": "string"}, "B": {"b": "bool", "t": "timestamp"}})
ENDS = (values.FIRST_TIME, values.LAST_TIME)
LISTS = [
    ["x = 3"],
    ["x > 3", "x < 5"],
    ["f = 9007199254740992"],
    ["f in {0.5, 1e308}", "f >= 0.5"],
    ["f in range(-1, 1)", "f != 0.25"],
    ["s < 'b'", "s = 'é'"],
    ["b = true"],
    ["t >= timestamp '2021-01-01T00:00:00Z'", "t > timestamp '2021-01-01T00:00:00Z'"],
    ["x = 3", "s = 'a'"],
]


@pytest.mark.parametrize("schema", [None, TYPES])
@pytest.mark.parametrize("texts", LISTS, ids=" and ".join)
def test_every_type_that_is_left_out_is_found(texts: list[str], schema: Schema | None) -> None:
    some = [OfType("A"), *predicates(*texts)]
    listed = {minterm.chosen for minterm in minterms(some, schema)}
    assert unlisted(some, listed, schema) is None
    for type_ in listed:
        found = unlisted(some, listed - {type_}, schema)
        assert found is not None, type_
        assert schema is None or set(found.attributes) <= set(schema.types[found.type])


@pytest.mark.parametrize("constant", [10**400, -(10**400), sys.float_info.max, *ENDS, ""], ids=str)
def test_there_is_nothing_beyond_the_last_value(constant: Value) -> None:
    some = [Comparison("<=", Attribute("x"), Constant(constant))]
    assert unlisted(some, {minterm.chosen for minterm in minterms(some)}, None) is None


def test_it_ends_with_the_time_of_the_call() -> None:
    with pytest.raises(BudgetExceeded), Budget(seconds=0).timed():
        unlisted(predicates("x = 1"), {frozenset()}, None)


def test_a_certificate_that_rests_on_a_wrong_list_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The algebra had no float of 2^53 and more, and this was proved, and its certificate accepted."""
    right = values._exact_float
    monkeypatch.setattr(values, "_exact_float", lambda n: None if n is not None and abs(n) >= 2**53 else right(n))
    queries = "A FILTER A[x = 9007199254740993.0]", "A FILTER A[x < 0 and x > 0]"
    proof = equivalent(*queries, schema=Schema({"A": {"x": "float"}}))
    assert isinstance(proof, Equivalent)
    assert "does not cover events such as Event(type='A', attributes={'x': 9007199254740992.0})" in (
        flaw(proof.certificate) or ""
    )
    schema, both = Schema({"a": {"x": "float"}}), ("event-expression", "event-expression")
    proof = equivalent("a[x = 9007199254740993.0]", "NULL", schema=schema, languages=both)
    assert isinstance(proof, Equivalent)
    assert "does not cover events such as Event(type='a', attributes={'x'" in (expression_flaw(proof.certificate) or "")
