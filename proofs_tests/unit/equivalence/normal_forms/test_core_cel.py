"""The normal forms of core-CEL: cep17, Lemma 2 and Theorems 1 and 2, with what their proofs leave out."""

from collections.abc import Callable

import pytest

from cerify.equivalence.rewrite.normal_forms import core_disjunctive, lp_normal, safe
from cerify.semantics.core_cel.check import is_lp_normal, is_safe, is_well_formed
from cerify.semantics.core_cel.interpreter import matches_of
from cerify.semantics.core_cel.parse import parse
from cerify.semantics.core_cel.syntax import Formula, show, size
from cerify.semantics.errors import BudgetExceeded, IllFormed, Unsupported
from cerify.semantics.events import Stream
from proofs_tests.support import FIGURE_1, stream
from proofs_tests.unit.equivalence.normal_forms.shapes import is_core_disjunctive

PHI_1 = "(T AS x ; H AS y) FILTER x.tmp > 40 AND y.hum <= 25 AND x.id = 0 AND y.id = 0"
PHI_3 = "(H AS x ; (T AS y FILTER y.id = 1)+ ; H AS z) FILTER x.hum < 30 AND z.hum > 60 AND x.id = 1 AND z.id = 1"
CONDITIONAL = "T AS x ; ((T AS y FILTER x.tmp >= 40) OR (H AS y FILTER x.tmp < 40))"


def found(query: str, S: Stream) -> list[tuple[int, ...]]:
    return [match.events for match in matches_of(parse(query), S)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("(A AS x OR B AS y) ; C AS z", "A AS x ; C AS z OR B AS y ; C AS z"),
        ("(A AS x OR B AS x) FILTER x.a = 1", "(A AS x FILTER x.a = 1) OR (B AS x FILTER x.a = 1)"),
        ("A AS x FILTER x.a = 1 OR x.a = 2", "(A AS x FILTER x.a = 1) OR (A AS x FILTER x.a = 2)"),
        ("(A AS x ; (B AS y OR C AS y))+", "(A AS x ; B AS y OR A AS x ; C AS y)+"),
        ("STRICT(A AS x OR B AS y)", "STRICT(A AS x) OR STRICT(B AS y)"),
        ("NXT(A AS x OR B AS y) OR A AS x", "NXT(A AS x OR B AS y) OR A AS x"),
        (CONDITIONAL, "T AS x ; (T AS y FILTER x.tmp >= 40) OR T AS x ; (H AS y FILTER x.tmp < 40)"),
    ],
)
def test_disjunctive(query: str, expected: str) -> None:
    assert show(core_disjunctive(parse(query))) == show(parse(expected))
    assert is_core_disjunctive(parse(expected))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("(A AS x OR B AS y) ; (A AS x OR B AS y)", "A AS x ; B AS y OR B AS y ; A AS x"),
        ("T AS x ; T AS x", "T AS x FILTER x.time < x.time"),
        ("((A AS x ; A AS x) OR B AS y)+ ; A AS x", "(B AS y)+ ; A AS x"),
        ("(A AS x ; (A AS x)+) OR (B AS y ; (A AS x ; A AS x)+)", "A AS x ; (A AS x)+"),
        ("STRICT(A AS x OR B AS y) ; A AS x", "STRICT(B AS y) ; A AS x"),
        ("NXT(A AS x) ; A AS x OR B AS y", "B AS y"),
    ],
)
def test_safe(query: str, expected: str) -> None:
    psi = safe(parse(query))
    assert show(psi) == show(parse(expected))
    assert is_safe(psi)


def test_what_an_unsafe_disjunct_takes_along() -> None:
    """Without `A AS x ; A AS x` the iteration would no longer choose x anew, and x would be the A at 0."""
    query = "A AS x ; ((A AS x ; A AS x) OR (B AS y FILTER x.a = 1))+"
    assert is_well_formed(parse(query))
    S = stream("A B", a=[0, 1])
    assert found(query, S) == [(0, 1)]
    assert found("A AS x ; (B AS y FILTER x.a = 1)+", S) == []
    psi = safe(parse(query))
    assert show(psi) == "A AS x ; ((B AS y FILTER x.a = 1) OR (A AS x FILTER x.time < x.time))+"
    assert found(show(psi), S) == [(0, 1)]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("NXT(A AS x OR B AS y) ; A AS x", "a strategy chooses among matches with and without x"),
        ("NXT((A AS x ; A AS x) OR (B AS y FILTER x.a = 1))", "NXT compares matches for all events of x"),
    ],
)
def test_safe_leaves_what_strategies_mix(query: str, message: str) -> None:
    with pytest.raises(Unsupported, match=message) as caught:
        safe(parse(query))
    assert caught.value.span is not None


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (PHI_1, "(T AS x FILTER x.id = 0 FILTER x.tmp > 40) ; (H AS y FILTER y.id = 0 FILTER y.hum <= 25)"),
        (
            PHI_3,
            "(H AS x FILTER x.id = 1 FILTER x.hum < 30) ; (T AS y FILTER y.id = 1)+ ; "
            "(H AS z FILTER z.id = 1 FILTER z.hum > 60)",
        ),
        (
            CONDITIONAL,
            "(T AS x FILTER x.tmp >= 40 FILTER x.tmp < 40) ; (T AS y OR H AS y) OR "
            "(T AS x FILTER x.tmp >= 40 FILTER x[not tmp < 40]) ; T AS y OR "
            "(T AS x FILTER x[not tmp >= 40] FILTER x.tmp < 40) ; H AS y",
        ),
        ("H AS x ; (T AS y FILTER x.id = 1)+", "(H AS x FILTER x.id = 1) ; (T AS y)+"),
        (
            "H AS x ; ((T AS y FILTER x.id = 1) OR H AS z)+",
            "(H AS x FILTER x.id = 1) ; (T AS y OR H AS z)+ OR (H AS x FILTER x[not id = 1]) ; (H AS z)+",
        ),
        (
            "H AS x ; NXT((T AS y FILTER x.id = 1) OR H AS z)",
            "(H AS x FILTER x.id = 1) ; NXT(T AS y OR H AS z) OR (H AS x FILTER x[not id = 1]) ; NXT(H AS z)",
        ),
        ("STRICT(A AS x ; B AS y) FILTER x.a = 1", "STRICT((A AS x FILTER x.a = 1) ; B AS y)"),
        ("(A AS x OR (A AS x ; B AS y)) FILTER x.a = 1", "(A AS x FILTER x.a = 1) OR (A AS x FILTER x.a = 1) ; B AS y"),
        ("(A AS x ; B AS y) FILTER x.a = y.a AND x.a = 1", "(A AS x FILTER x.a = 1) ; B AS y FILTER x.a = y.a"),
        ("(A AS x OR B AS x) FILTER x.a = 1 OR x.a = 2", "(A AS x FILTER x.a = 1) OR (B AS x FILTER x.a = 1) OR "
         "((A AS x FILTER x.a = 2) OR (B AS x FILTER x.a = 2))"),
    ],
)  # fmt: skip
def test_lp_normal(query: str, expected: str) -> None:
    psi = lp_normal(parse(query))
    assert show(psi) == show(parse(expected))
    assert is_lp_normal(psi)


@pytest.mark.parametrize("query", [PHI_1, PHI_3, CONDITIONAL])
def test_the_running_examples_keep_their_matches(query: str) -> None:
    expected = found(query, FIGURE_1)
    assert expected
    for rewrite in (core_disjunctive, safe, lp_normal):
        assert found(show(rewrite(parse(query))), FIGURE_1) == expected


def test_lp_normal_needs_well_formed_formulas() -> None:
    with pytest.raises(IllFormed, match="only well-formed formulas") as caught:
        lp_normal(parse("H AS x FILTER y.tmp > 40"))
    assert caught.value.span is not None
    # well-formed by the letter; but the iteration chooses x anew, so that the filter is not about the A
    letter = "A AS x ; ((B AS x OR B AS y) FILTER x.a = 7)+"
    assert is_well_formed(parse(letter))
    with pytest.raises(IllFormed, match="x need not hold an event"):
        lp_normal(parse(letter))


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("NXT(A AS x ; B AS y) FILTER x.a = 1", "NXT chooses before the filter on x does"),
        ("MAX(A AS x) FILTER x.a = 1", "MAX chooses before the filter on x does"),
        ("A AS x ; NXT(B AS x OR (B AS y FILTER x.a = 1))", "x is defined around a strategy"),
    ],
)
def test_lp_normal_leaves_what_strategies_choose(query: str, message: str) -> None:
    with pytest.raises(Unsupported, match=message) as caught:
        lp_normal(parse(query))
    assert caught.value.span is not None


def test_why_a_filter_stays_outside_a_strategy() -> None:
    S = stream("A A B", a=[0, 1, 0])
    assert found("NXT(A AS x ; B AS y) FILTER x.a = 1", S) == []
    assert found("NXT((A AS x FILTER x.a = 1) ; B AS y)", S) == [(1, 2)]


def test_a_form_that_is_too_large_is_an_error_that_names_the_place() -> None:
    with pytest.raises(BudgetExceeded, match="already at this ;, and 10000 are allowed") as caught:
        safe(parse(" ; ".join(f"(A AS x{i} OR B AS y{i})" for i in range(30))))
    assert caught.value.span is not None
    with pytest.raises(BudgetExceeded, match="already at this FILTER"):
        core_disjunctive(parse("A AS x FILTER " + " AND ".join(["(x.a = 1 OR x.b = 1)"] * 30)))
    tests = " ; ".join(f"((B AS y{i} FILTER x.a = {i}) OR C AS y{i})" for i in range(20))
    with pytest.raises(BudgetExceeded, match="already at this ;, and 1000 are allowed"):
        lp_normal(parse(f"A AS x ; ({tests})"), 1000)


@pytest.mark.parametrize("form", [core_disjunctive, lp_normal])
def test_a_filter_just_as_large_as_allowed(form: Callable[[Formula, int], Formula]) -> None:
    for query in ("A AS x FILTER x.a = 1", "A AS x FILTER (x.a = 1 OR x.a = 2) AND x.b = 1"):
        found = form(parse(query), 100)
        assert form(parse(query), size(found)) == found
        with pytest.raises(BudgetExceeded):
            form(parse(query), size(found) - 1)
