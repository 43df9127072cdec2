"""The normal forms of CEL and core-CEL: the same meaning, and the shape that each of them promises."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from cerify.equivalence.rewrite.normal_forms import (
    core_disjunctive,
    disjunctive,
    lp_normal,
    push_filters,
    push_in,
    safe,
)
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.interpreter import valuations
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import show, size
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.check import is_lp_normal, is_safe, is_well_formed
from cerify.semantics.core_cel.interpreter import matches_of
from cerify.semantics.core_cel.parse import parse as parse_core
from cerify.semantics.core_cel.syntax import Formula
from cerify.semantics.core_cel.syntax import show as show_core
from cerify.semantics.core_cel.syntax import size as size_core
from cerify.semantics.errors import BudgetExceeded, IllFormed, Unsupported
from cerify.semantics.events import Stream
from proofs_tests.campaigns.normal_forms import line
from proofs_tests.support import FIGURE_1, FIRE, SENSOR_1, by_position, sampled, stream
from proofs_tests.unit.equivalence.normal_form_cases import (
    PASSES,
    cel_meaning,
    chosen,
    has_in_on_types_only,
    is_core_disjunctive,
    is_disjunctive,
    tried,
)

# ---- meaning ----
# Every pass against the meaning on random formulas; `python -m proofs_tests.campaigns.normal_forms` tries more.


@pytest.mark.parametrize("cases", sampled([100, 300], [100]))
@pytest.mark.parametrize("name", PASSES)
def test_a_pass_keeps_the_meaning_and_gives_the_shape(name: str, cases: int) -> None:
    outcomes: Counter[str] = Counter()
    rewritten = matched = 0
    for n in range(cases):
        phi, S = chosen(PASSES[name], f"suite:{name}:{n}")
        outcome, psi = tried(PASSES[name], phi, S)
        assert outcome not in ("differs", "misshapen"), f"{phi} over {S.events}"
        outcomes[outcome] += 1
        rewritten += psi is not None and psi != phi
        found = PASSES[name].meaning(phi, S) if outcome == "agrees" else None
        matched += any(found.values()) if isinstance(found, dict) else bool(found)
    assert outcomes["agrees"] > 0.85 * cases
    assert rewritten > cases // 5  # to hold a formula against itself shows nothing
    assert matched > cases // 4  # and to compare empty sets little


@pytest.mark.parametrize("name", PASSES)
def test_a_formula_that_is_too_deep_is_an_error(name: str) -> None:
    deep: Any = core.CoreEventAtom("A", "x") if name.startswith("core") else cel.EventAtom("A")
    for _ in range(3000):
        deep = core.CorePlus(deep) if name.startswith("core") else cel.Plus(deep)
    with pytest.raises(BudgetExceeded, match="nested too deeply"):
        PASSES[name].rewrite(deep)


def test_the_campaign_says_what_it_saw() -> None:
    assert line("push-in", PASSES["push-in"], 20, 1).startswith(
        "push-in: 20 cases: 20 agrees, 0 differs, 0 misshapen, 0 over budget, 0 refused; "
    )


# ---- disjunctive ----
# Disjunctive normal form of CEL: what becomes of each operator, and why some hold their OR.


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("(A OR B) ; (C OR D)", "A ; C OR A ; D OR B ; C OR B ; D"),
        ("(A OR B) : C", "A : C OR B : C"),
        ("(A OR B) IN X", "A IN X OR B IN X"),
        ("PROJECT[A](A OR B)", "PROJECT[A](A) OR PROJECT[A](B)"),
        ("START(A OR B)", "START(A) OR START(B)"),
        ("STRICT(A OR B)", "STRICT(A) OR STRICT(B)"),
        ("(A OR B) WITHIN 2 EVENTS", "(A WITHIN 2 EVENTS) OR (B WITHIN 2 EVENTS)"),
        ("(A OR B) PARTITION BY [id]", "(A PARTITION BY [id]) OR (B PARTITION BY [id])"),
        ("A AND (B OR C)", "(A AND B) OR (A AND C)"),
        ("(A OR B) ALL C", "(A ALL C) OR (B ALL C)"),
        ("(A OR B) UNLESS C", "(A UNLESS C) OR (B UNLESS C)"),
        ("A UNLESS (B OR START(C OR D))", "A UNLESS B UNLESS START(C) UNLESS START(D)"),
        ("A FILTER A.x = 1 OR A.x = 2", "(A FILTER A.x = 1) OR (A FILTER A.x = 2)"),
        ("A FILTER A.x = 1 AND A.y = 2", "A FILTER A.x = 1 FILTER A.y = 2"),
        (
            "A FILTER (A.x = 1 OR A.x = 2) AND (A.y = 1 OR A.y = 2)",
            "(A FILTER A.x = 1 FILTER A.y = 1) OR (A FILTER A.x = 2 FILTER A.y = 1) OR "
            "(A FILTER A.x = 1 FILTER A.y = 2) OR (A FILTER A.x = 2 FILTER A.y = 2)",
        ),
        ("A OR (B OR A)", "A OR B"),
        ("((A OR B) ; C OR D)+ ; E", "(A ; C OR B ; C OR D)+ ; E"),
        ("(A OR B):+", "(A OR B):+"),
        ("NXT(A ; (B OR C))", "NXT(A ; B OR A ; C)"),
        ("LAST(A OR B) ; (C OR D)", "LAST(A OR B) ; C OR LAST(A OR B) ; D"),
        ("MAX(A OR B)", "MAX(A OR B)"),
    ],
)
def test_each_operator(query: str, expected: str) -> None:
    assert disjunctive(parse(query)) == parse(expected)
    assert is_disjunctive(parse(expected))


def test_the_running_example() -> None:
    phi = parse(f"((T ; H) OR (H ; T)) {FIRE}")
    filters = "FILTER T.tmp > 40 FILTER H.hum <= 25 FILTER T.id = 0 FILTER H.id = 0"
    assert show(disjunctive(phi)) == f"(T ; H {filters}) OR (H ; T {filters})"


@pytest.mark.parametrize(
    ("whole", "apart", "types"),
    [
        ("(A OR B)+", "A+ OR B+", "A B"),
        ("(A OR B):+", "A:+ OR B:+", "A B"),
        ("NXT(A OR (A ; A))", "NXT(A) OR NXT(A ; A)", "A A"),
        ("LAST(A OR (A ; A))", "LAST(A) OR LAST(A ; A)", "A A"),
        ("MAX(A OR (A ; A))", "MAX(A) OR MAX(A ; A)", "A A"),
        ("A UNLESS (B OR C)", "(A UNLESS B) OR (A UNLESS C)", "B A"),
    ],
)
def test_why_these_do_not_distribute(whole: str, apart: str, types: str) -> None:
    assert by_position(whole, types) != by_position(apart, types)
    assert by_position(show(disjunctive(parse(whole))), types) == by_position(whole, types)


def test_a_form_that_is_too_large_is_an_error_that_names_the_place() -> None:
    query = " ; ".join(["(A OR B)"] * 30)
    with pytest.raises(BudgetExceeded, match=r"of this ; alone would have \d+ nodes, but 10000 are allowed") as caught:
        disjunctive(parse(query))
    assert caught.value.span is not None
    assert query[caught.value.span.start : caught.value.span.end].count("A OR B") == 10  # of 2^9 disjuncts, 9727 nodes
    with pytest.raises(BudgetExceeded, match="of this FILTER alone"):
        disjunctive(parse("A FILTER " + " AND ".join(["(A.x = 1 OR A.y = 1)"] * 30)))
    with pytest.raises(BudgetExceeded, match="of this UNLESS alone"):
        disjunctive(parse("(A OR B OR C) UNLESS (A OR B OR C)"), 20)


def test_a_form_just_as_large_as_allowed() -> None:
    phi = parse("(A OR B) ; (C OR D)")
    assert size(disjunctive(phi, 15)) == 15
    with pytest.raises(BudgetExceeded):
        disjunctive(phi, 14)
    phi = parse("A UNLESS (B OR C OR D)")
    assert size(disjunctive(phi, 7)) == 7
    copies = parse("A FILTER (A.x = 1 OR A.x = 1) AND A.y = 1")
    assert size(disjunctive(copies, 7)) == 3
    with pytest.raises(BudgetExceeded):  # all copies are made before all but one are left out
        disjunctive(copies, 6)


def test_very_many_disjuncts_are_joined_as_a_tree() -> None:
    psi = disjunctive(parse(" ; ".join(["(A OR B)"] * 9)))
    assert show(psi).count(" OR ") == 511
    assert parse(show(psi)) == psi


# ---- push filters ----
# Filters pushed down in CEL: how far each kind goes, and what it must not pass.


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        # the running examples of tods21, section 3
        (f"(T ; H) {FIRE}", "(T FILTER T.tmp > 40 FILTER T.id = 0) ; (H FILTER H.hum <= 25 FILTER H.id = 0)"),
        (
            f"(H IN H1 ; T+ ; H IN H2) {SENSOR_1}",
            "(H FILTER H.hum < 30 FILTER H.id = 1) IN H1 ; (T FILTER T.id = 1)+ ; "
            "(H FILTER H.hum > 60 FILTER H.id = 1) IN H2",
        ),
        # of each event
        ("(A ; A) FILTER A.x = 1", "(A FILTER A.x = 1) ; (A FILTER A.x = 1)"),
        ("(A : B) FILTER A.x = 1", "(A FILTER A.x = 1) : B"),
        ("(A ALL B) FILTER B.x = 1", "A ALL (B FILTER B.x = 1)"),
        ("(A OR B) FILTER A.x = 1", "(A FILTER A.x = 1) OR B"),
        ("(A AND A) FILTER A.x = 1", "(A FILTER A.x = 1) AND (A FILTER A.x = 1)"),
        ("(A+ ; B):+ FILTER A.x = 1", "((A FILTER A.x = 1)+ ; B):+"),
        ("(A ; B) IN X FILTER X.x = 1", "((A FILTER A.x = 1) ; (B FILTER B.x = 1)) IN X"),
        ("(A ; B) IN X FILTER A.x = 1", "((A FILTER A.x = 1) ; B) IN X"),
        ("A IN X IN Y FILTER Y.x = 1", "(A FILTER A.x = 1) IN X IN Y"),
        ("PROJECT[A](A ; B) FILTER A.x = 1", "PROJECT[A]((A FILTER A.x = 1) ; B)"),
        ("PROJECT[A](A ; B) IN X FILTER X.x = 1", "PROJECT[A]((A FILTER A.x = 1) ; B) IN X"),
        ("START(A) FILTER A.x = 1", "START(A FILTER A.x = 1)"),
        ("STRICT(A+) FILTER A.x = 1", "STRICT((A FILTER A.x = 1)+)"),
        ("(A UNLESS A) FILTER A.x = 1", "(A FILTER A.x = 1) UNLESS A"),
        ("((A ; B) WITHIN 3 EVENTS) FILTER A.x = 1", "(A FILTER A.x = 1) ; B WITHIN 3 EVENTS"),
        ("(A+ PARTITION BY [y]) FILTER A.x = 1", "(A FILTER A.x = 1)+ PARTITION BY [y]"),
        # stopped by a strategy, where a variable for the whole becomes one for each part
        ("NXT(A ; B) FILTER A.x = 1", "NXT(A ; B) FILTER A.x = 1"),
        (
            "(C ; MAX(A ; B)) IN X FILTER X.x = 1",
            "((C FILTER C.x = 1) ; (MAX(A ; B) FILTER A.x = 1 FILTER B.x = 1)) IN X",
        ),
        # it holds anyway
        ("A FILTER B.x = 1", "A"),
        ("PROJECT[A](A ; B) FILTER B.x = 1", "PROJECT[A](A ; B)"),
        ("A FILTER A.x = B.x", "A"),
        ("(A OR B) FILTER A.x = 1 OR B.x = 1", "A OR B"),
        # as one piece
        ("(A ; B ; C) FILTER A.x = B.x", "(A ; B FILTER A.x = B.x) ; C"),
        ("(A ; B ; C) FILTER A.x = C.x", "A ; B ; C FILTER A.x = C.x"),
        ("((A ; B) ALL C) FILTER A.x = B.x", "(A ; B FILTER A.x = B.x) ALL C"),
        ("(C : (A ; B)) FILTER A.x = 1 OR B.x = 1", "C : (A ; B FILTER A.x = 1 OR B.x = 1)"),
        ("(A ; B) IN X FILTER A.x = B.x", "(A ; B FILTER A.x = B.x) IN X"),
        ("(A ; B) IN X FILTER X.x = X.x", "(A ; B) IN X FILTER X.x = X.x"),
        ("(A ; B)+ FILTER A.x = B.x", "(A ; B)+ FILTER A.x = B.x"),
        ("((A ; B) OR C) FILTER A.x = B.x", "(A ; B FILTER A.x = B.x) OR C"),
        ("((A ; B) UNLESS C) FILTER A.x = B.x", "(A ; B FILTER A.x = B.x) UNLESS C"),
        ("PROJECT[A, B](A ; B ; C) FILTER A.x = B.x", "PROJECT[A, B]((A ; B FILTER A.x = B.x) ; C)"),
        ("STRICT(START(A ; B)) FILTER A.x = B.x", "STRICT(START(A ; B FILTER A.x = B.x))"),
        ("LAST(A ; B) FILTER A.x = B.x", "LAST(A ; B) FILTER A.x = B.x"),
        ("(A ; (B FILTER B.x = 1)) FILTER A.x = 1 AND B.x = 1", "(A FILTER A.x = 1) ; (B FILTER B.x = 1)"),
        ("(A ; B) FILTER same(A) AND both(A, B)", "(A FILTER same(A)) ; B FILTER both(A, B)"),
    ],
)
def test_how_far_a_filter_goes(query: str, expected: str) -> None:
    phi = push_filters(parse(query))
    assert show(phi) == show(parse(expected))
    assert push_filters(phi) == phi


@pytest.mark.parametrize(
    ("query", "wrong", "S"),
    [
        ("NXT(A ; B) FILTER A.x = 1", "NXT((A FILTER A.x = 1) ; B)", stream("A A B", x=[0, 1, 0])),
        ("LAST(A ; B) FILTER A.x = 1", "LAST((A FILTER A.x = 1) ; B)", stream("A A B", x=[1, 0, 0])),
        ("MAX(A+) FILTER A.x = 1", "MAX((A FILTER A.x = 1)+)", stream("A A", x=[0, 1])),
        ("A+ FILTER A.x < 2 OR A.x > 4", "(A FILTER A.x < 2 OR A.x > 4)+", stream("A A", x=[1, 5])),
        ("A+ FILTER A.x = A.x", "(A FILTER A.x = A.x)+", stream("A A", x=[1, 5])),
        ("(A ; A) FILTER A.x = A.x", "(A FILTER A.x = A.x) ; (A FILTER A.x = A.x)", stream("A A", x=[1, 5])),
        ("(A ; B) IN A FILTER A.x = 1", "((A ; B) FILTER A.x = 1) IN A", stream("A B", x=[1, 0])),
        ("PROJECT[A](A ; B) FILTER B.x = 1", "PROJECT[A](A ; (B FILTER B.x = 1))", stream("A B", x=[1, 0])),
        (  # B is hidden, so that nothing is asked of it
            "PROJECT[A](A ; B) FILTER (A.x = 1 AND B.x = 1) OR A.x = 2",
            "PROJECT[A]((A ; B) FILTER (A.x = 1 AND B.x = 1) OR A.x = 2)",
            stream("A B", x=[1, 0]),
        ),
        ("(A UNLESS A) FILTER A.x = 1", "A UNLESS (A FILTER A.x = 1)", stream("A", x=[0])),
    ],
)
def test_what_a_filter_must_not_pass(query: str, wrong: str, S: Stream) -> None:
    phi = parse(query)
    assert cel_meaning(phi, S) != cel_meaning(parse(wrong), S)
    assert cel_meaning(phi, S) == cel_meaning(push_filters(phi), S)


def test_a_registered_predicate_of_nothing_need_not_hold() -> None:
    """So it stays, where another filter on an unbound variable goes."""
    phi = parse("A FILTER nonempty(B)")
    assert push_filters(phi) == phi
    assert push_filters(parse("(A ; C) FILTER nonempty(B)")) == parse("(A FILTER nonempty(B)) ; C")


def test_the_order_of_filters_stays() -> None:
    phi = parse("A FILTER A.x = 1 FILTER A.x = A.y FILTER A.y = 1 OR A.y = 2")
    assert push_filters(phi) == phi
    assert isinstance(phi, cel.Filter)


def test_a_form_that_is_too_large_is_an_error() -> None:
    with pytest.raises(BudgetExceeded, match=r"of this FILTER alone would have \d+ nodes, but 6 are allowed"):
        push_filters(parse("(A ; A ; A) FILTER A.x = 1"), 6)


@pytest.mark.parametrize("operator", [";", ":", "ALL"])
def test_a_condition_across_events_goes_to_the_operand_that_has_them(operator: str) -> None:
    both = "(A ; B FILTER A.x = B.x)"
    for query, pushed in (
        (f"((A ; B) {operator} C) FILTER A.x = B.x", f"{both} {operator} C"),
        (f"(C {operator} (A ; B)) FILTER A.x = B.x", f"C {operator} {both}"),
    ):
        assert show(push_filters(parse(query))) == pushed


# ---- push in ----
# IN pushed to the event types: tods21, appendix B, and the operators beyond CEL*.

APPENDIX_B = [
    ("(H ; T) IN X", "H IN X ; T IN X"),
    ("(H : T) IN X", "H IN X : T IN X"),
    ("(H OR T) IN X", "H IN X OR T IN X"),
    ("H+ IN X", "(H IN X)+"),
    ("H:+ IN X", "(H IN X):+"),
    ("(H FILTER H.id = 0) IN X", "H IN X FILTER H.id = 0"),
    ("(H IN X FILTER X.id = 0) IN X", "PROJECT[H, X](H IN X_1 IN X FILTER X_1.id = 0)"),
    ("((H ; T+) IN X OR T) IN Y", "H IN X IN Y ; (T IN X IN Y)+ OR T IN Y"),
]
BEYOND = [
    ("(A ALL B) IN X", "A IN X ALL B IN X"),
    ("START(A) IN X", "START(A IN X)"),
    ("STRICT(A ; B) IN X", "STRICT(A IN X ; B IN X)"),
    ("NXT(A ; B) IN X", "NXT(A IN X ; B IN X)"),
    ("LAST(A ; B) IN X", "LAST(A IN X ; B IN X)"),
    ("MAX(A ; B) IN X", "MAX(A IN X ; B IN X)"),
    ("(A UNLESS (B IN Y)) IN X", "A IN X UNLESS B IN Y"),
    ("((A ; B) WITHIN 2 EVENTS) IN X", "A IN X ; B IN X WITHIN 2 EVENTS"),
    ("(A+ PARTITION BY [id]) IN X", "(A IN X)+ PARTITION BY [id]"),
    ("(A AND A) IN X", "A IN X AND A IN X"),
    ("(A IN X AND A IN Y) IN X", "A IN X_1 IN X AND A IN Y IN X"),
    ("PROJECT[B](A ; B) IN X", "PROJECT[B, X](A ; B IN X)"),
    ("PROJECT[B](PROJECT[A, B](A ; B ; C)) IN X", "PROJECT[B, X](PROJECT[A, B, X](A ; B IN X ; C))"),
    ("PROJECT[A](A) IN A", "PROJECT[A](PROJECT[A, A_1](A IN A_1))"),
    ("PROJECT[B](A ; B) IN A", "PROJECT[A, B](PROJECT[A_1](A IN A_1) ; B IN A)"),
    ("(A ; B) IN A", "A ; B IN A"),
    ("A IN A IN X IN X", "A IN X"),
    ("((A ; B) FILTER A.x = B.x) IN A", "PROJECT[A, B](A IN A_1 ; B IN A FILTER A_1.x = B.x)"),
    ("((A ; B) FILTER X.x = 1) IN X", "A IN X ; B IN X FILTER X_1.x = 1"),
]


@pytest.mark.parametrize(("query", "expected"), APPENDIX_B + BEYOND)
def test_each_operator_push_in(query: str, expected: str) -> None:
    assert show(push_in(parse(query))) == show(parse(expected))
    assert has_in_on_types_only(parse(expected))


@pytest.mark.parametrize(
    ("query", "wrong", "S"),
    [
        # a filter on the variable itself: it would ask of B what it asks of A
        ("((A ; B) FILTER A.x = 1) IN A", "(A ; B) IN A FILTER A.x = 1", stream("A B", x=[1, 0])),
        # a filter on a variable that nothing binds below the IN
        ("(A FILTER X.x = 1) IN X", "A IN X FILTER X.x = 1", stream("A", x=[0])),
        # AND: valuations that differ in X are no longer told apart
        ("(A IN X AND A) IN X", "A IN X AND A IN X", stream("A")),
        # PROJECT: what it hides is not in X
        ("PROJECT[B](A ; B) IN X", "PROJECT[B, X]((A ; B) IN X)", stream("A B")),
        # the letter of appendix B, which renames the event type as well
        ("((A ; B) FILTER A.x = 1) IN A", "(A_1 ; B) IN A FILTER A_1.x = 1", stream("A B", x=[1, 0])),
    ],
)
def test_what_does_not_commute(query: str, wrong: str, S: Stream) -> None:
    """Each on one short stream: the plain exchange gives other valuations, the pass the same."""
    phi = parse(query)
    assert cel_meaning(phi, S) != cel_meaning(parse(wrong), S)
    assert cel_meaning(phi, S) == cel_meaning(push_in(phi), S)


def test_the_fresh_variable_has_a_name_of_its_own() -> None:
    phi = parse("((A ; A_1) FILTER A.x = 1) IN A")
    assert show(push_in(phi)) == "PROJECT[A, A_1](A IN A_2 ; A_1 IN A FILTER A_2.x = 1)"


def test_and_does_not_see_the_fresh_variable() -> None:
    phi = parse("((A IN X FILTER X.x = 0) IN X) AND A IN X")
    S = stream("A", x=[0])
    assert valuations(phi, S, 0)
    assert cel_meaning(push_in(phi), S) == cel_meaning(phi, S)


def test_what_stands_right_of_unless_keeps_its_names() -> None:
    """Nobody sees its variables; renamed, its AND would compare others."""
    phi = parse("((A FILTER A.x = 0) UNLESS (PROJECT[A](A) AND A)) IN A")
    S = stream("A", x=[0])
    assert not valuations(phi, S, 0)
    assert not valuations(push_in(phi), S, 0)


def test_complex_events_stay_too() -> None:
    query = "((H IN X ; T+ ; H) FILTER H.id = T.id) IN H"
    S = stream("H T T H", id=[1, 1, 1, 1])
    assert (
        by_position(show(push_in(parse(query))), S)
        == by_position(query, S)
        == {3: {(0, 1, 3), (0, 2, 3), (0, 1, 2, 3)}}
    )


def test_a_form_that_is_too_large_is_an_error_push_in() -> None:
    with pytest.raises(BudgetExceeded, match=r"of this IN alone would have \d+ nodes, but 6 are allowed"):
        push_in(parse("(A ; B ; C) IN X"), 6)


# ---- core cel ----
# The normal forms of core-CEL: cep17, Lemma 2 and Theorems 1 and 2, with what their proofs leave out.

PHI_1 = "(T AS x ; H AS y) FILTER x.tmp > 40 AND y.hum <= 25 AND x.id = 0 AND y.id = 0"
PHI_3 = "(H AS x ; (T AS y FILTER y.id = 1)+ ; H AS z) FILTER x.hum < 30 AND z.hum > 60 AND x.id = 1 AND z.id = 1"
CONDITIONAL = "T AS x ; ((T AS y FILTER x.tmp >= 40) OR (H AS y FILTER x.tmp < 40))"


def found(query: str, S: Stream) -> list[tuple[int, ...]]:
    return [match.events for match in matches_of(parse_core(query), S)]


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
    assert show_core(core_disjunctive(parse_core(query))) == show_core(parse_core(expected))
    assert is_core_disjunctive(parse_core(expected))


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
    psi = safe(parse_core(query))
    assert show_core(psi) == show_core(parse_core(expected))
    assert is_safe(psi)


def test_what_an_unsafe_disjunct_takes_along() -> None:
    """Without `A AS x ; A AS x` the iteration would no longer choose x anew, and x would be the A at 0."""
    query = "A AS x ; ((A AS x ; A AS x) OR (B AS y FILTER x.a = 1))+"
    assert is_well_formed(parse_core(query))
    S = stream("A B", a=[0, 1])
    assert found(query, S) == [(0, 1)]
    assert found("A AS x ; (B AS y FILTER x.a = 1)+", S) == []
    psi = safe(parse_core(query))
    assert show_core(psi) == "A AS x ; ((B AS y FILTER x.a = 1) OR (A AS x FILTER x.time < x.time))+"
    assert found(show_core(psi), S) == [(0, 1)]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("NXT(A AS x OR B AS y) ; A AS x", "both sides of `;` define x"),
        ("NXT((A AS x ; A AS x) OR (B AS y FILTER x.a = 1))", "NXT compares matches that differ in it"),
    ],
)
def test_safe_leaves_what_strategies_mix(query: str, message: str) -> None:
    with pytest.raises(Unsupported, match=message) as caught:
        safe(parse_core(query))
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
    psi = lp_normal(parse_core(query))
    assert show_core(psi) == show_core(parse_core(expected))
    assert is_lp_normal(psi)


@pytest.mark.parametrize("query", [PHI_1, PHI_3, CONDITIONAL])
def test_the_running_examples_keep_their_matches(query: str) -> None:
    expected = found(query, FIGURE_1)
    assert expected
    for rewrite in (core_disjunctive, safe, lp_normal):
        assert found(show_core(rewrite(parse_core(query))), FIGURE_1) == expected


def test_lp_normal_needs_well_formed_formulas() -> None:
    with pytest.raises(IllFormed, match="only well-formed formulas") as caught:
        lp_normal(parse_core("H AS x FILTER y.tmp > 40"))
    assert caught.value.span is not None
    # well-formed by the letter; but the iteration chooses x anew, so that the filter is not about the A
    letter = "A AS x ; ((B AS x OR B AS y) FILTER x.a = 7)+"
    assert is_well_formed(parse_core(letter))
    with pytest.raises(IllFormed, match="x may hold no event"):
        lp_normal(parse_core(letter))


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("NXT(A AS x ; B AS y) FILTER x.a = 1", "NXT chooses before the filter on x applies"),
        ("MAX(A AS x) FILTER x.a = 1", "MAX chooses before the filter on x applies"),
        ("A AS x ; NXT(B AS x OR (B AS y FILTER x.a = 1))", "x is defined outside a strategy and inside it"),
    ],
)
def test_lp_normal_leaves_what_strategies_choose(query: str, message: str) -> None:
    with pytest.raises(Unsupported, match=message) as caught:
        lp_normal(parse_core(query))
    assert caught.value.span is not None


def test_why_a_filter_stays_outside_a_strategy() -> None:
    S = stream("A A B", a=[0, 1, 0])
    assert found("NXT(A AS x ; B AS y) FILTER x.a = 1", S) == []
    assert found("NXT((A AS x FILTER x.a = 1) ; B AS y)", S) == [(1, 2)]


def test_a_form_that_is_too_large_is_an_error_that_names_the_place_core_cel() -> None:
    with pytest.raises(BudgetExceeded, match=r"of this ; alone would have \d+ nodes, but 10000 are allowed") as caught:
        safe(parse_core(" ; ".join(f"(A AS x{i} OR B AS y{i})" for i in range(30))))
    assert caught.value.span is not None
    with pytest.raises(BudgetExceeded, match="of this FILTER alone"):
        core_disjunctive(parse_core("A AS x FILTER " + " AND ".join(["(x.a = 1 OR x.b = 1)"] * 30)))
    tests = " ; ".join(f"((B AS y{i} FILTER x.a = {i}) OR C AS y{i})" for i in range(20))
    with pytest.raises(BudgetExceeded, match=r"of this ; alone would have \d+ nodes, but 1000 are allowed"):
        lp_normal(parse_core(f"A AS x ; ({tests})"), 1000)


@pytest.mark.parametrize("form", [core_disjunctive, lp_normal])
def test_a_filter_just_as_large_as_allowed(form: Callable[[Formula, int], Formula]) -> None:
    for query in ("A AS x FILTER x.a = 1", "A AS x FILTER (x.a = 1 OR x.a = 2) AND x.b = 1"):
        found = form(parse_core(query), 100)
        assert form(parse_core(query), size_core(found)) == found
        with pytest.raises(BudgetExceeded):
            form(parse_core(query), size_core(found) - 1)
