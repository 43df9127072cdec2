"""Formulas with partitions and windows on values: what is decided, for which order of times, with which evidence."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from cerify.equivalence.decide import keys_and_windows
from cerify.equivalence.decide.checker import flaw
from cerify.equivalence.decide.general import compare_formulas
from cerify.equivalence.decide.keys_and_windows import Reduction, compare_reduced
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
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import InternalError
from cerify.semantics.events import Schema
from cerify.semantics.values import microseconds
from proofs_tests.campaigns.keys_and_windows import judge

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
    assert "values may go back" in str(flaw(replace(read, order="any")))


def test_what_needs_an_order_of_times_is_not_decided_for_any() -> None:
    left, right = UNDER_ORDER[0]
    asked = compare_formulas(parse(left), parse(right), "equivalent", "events", None, "any", 0)
    assert isinstance(asked, Undecided)
    assert "times may go back" in asked.reason


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
        ("((A ; B) WITHIN 5 seconds) ; C", "WITHIN is around a part of a match"),
        ("(A PARTITION BY [k])+ ; B", "PARTITION BY is around a part of a match"),
        ("(A ; B ; C) FILTER A.k = B.k", "a filter compares keys, and not with that of the last event"),
        ("(A ; B) FILTER A.x < B.x", "a filter compares events in another way than by equal keys"),
        ("NXT((A ; B) WITHIN 5 [x])", "its values may go back"),
        ("PROJECT[A](A ; B) PARTITION BY [k]", "PARTITION BY is around PROJECT"),
    ],
)
def test_what_is_not_decided_is_named(left: str, why: str) -> None:
    verdict = compare_formulas(parse(left), parse("(D ; E) WITHIN 1 second"), "contained", bound=0)
    assert isinstance(verdict, Undecided)
    assert why in verdict.reason


def test_a_search_says_why_it_was_needed() -> None:
    verdict = compare_formulas(parse("A+ FILTER A.x <= A.x"), parse("A+ PARTITION BY [x]"), "equivalent", bound=2)
    assert isinstance(verdict, Bounded)
    assert "another way than by equal keys" in verdict.reason


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
    assert (code, "times may go back" in said) == (3, True)


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
