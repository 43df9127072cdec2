"""Shrinking: what it returns still differs, is smaller, and cannot be made smaller by one more step."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from cerify.equivalence.generate import cel as shrink_cel
from cerify.equivalence.generate import expressions, row_pattern
from cerify.equivalence.generate.cel import CEL, EVERYTHING, TYPED, case
from cerify.equivalence.generate.funnels import FUNNELS
from cerify.equivalence.generate.sase import EVERYTHING as SASE_EVERYTHING
from cerify.equivalence.generate.sase import SASE
from cerify.equivalence.generate.sase import case as case_sase
from cerify.equivalence.generate.shrink import shrink, ways, weight
from cerify.equivalence.generate.sigma import SIGMA
from cerify.equivalence.rewrite.trees import mapped
from cerify.semantics.cel import denote
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.parse import parse as parse_cel
from cerify.semantics.cel.syntax import Formula, show, size, subformulas
from cerify.semantics.errors import BudgetExceeded, CerifyError, Unsupported
from cerify.semantics.event_expressions.parse import parse as parse_expression
from cerify.semantics.event_expressions.syntax import show as show_expression
from cerify.semantics.events import Event, Schema, Stream
from cerify.semantics.funnel_queries import parse_keyed_question, show_keyed_question
from cerify.semantics.readings import Reading
from cerify.semantics.row_pattern.parse import parse as parse_rows
from cerify.semantics.sase import denote as denote_sase
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.interpreter import matches_of
from cerify.semantics.sase.parse import parse as parse_sase
from cerify.semantics.sase.syntax import show as show_sase
from cerify.semantics.trees import children, rebuilt
from proofs_tests.support import sampled, stream
from proofs_tests.unit.semantics.sase_cases import events

# ---- shrink ----
#

NOISE = stream("A C B D A B C A B", x=[5, 8, 44, 23, 1, 77, 23, 9, 100], y=[1] * 9)
QUERY = "(((A IN X ; (B OR C)+) ; B IN Y) FILTER X.x > 3 AND (Y[x < 1000 and not x = 3] OR X.x < Y.x)) OR START(D)"


def reported(phi: Formula, S: Stream) -> set[tuple[int, frozenset[int]]]:
    interpreter = Interpreter(S)
    return {(n, denote.sup(mu)) for n in range(len(S)) for mu in interpreter.meaning(phi, 0, n)}


def contiguous(phi: Formula) -> Formula:
    """The fault: every ; taken for : ."""
    phi = rebuilt(phi, [contiguous(child) for child in children(phi)])
    return cel.ContiguousSeq(phi.left, phi.right) if isinstance(phi, cel.Seq) else phi


def skips_nothing(phi: Formula, S: Stream) -> bool:
    return reported(phi, S) != reported(contiguous(phi), S)


def has_filter_and_c(phi: Formula, S: Stream) -> bool:
    return any(isinstance(psi, cel.Filter) for psi in subformulas(phi)) and any(event.type == "C" for event in S)


def test_a_fault_of_one_operator_comes_down_to_that_operator() -> None:
    phi, S = shrink(CEL, parse(QUERY), NOISE, skips_nothing)
    assert skips_nothing(phi, S)
    assert show(phi) == "A ; A"
    assert S.events == (Event("A"), Event("A"), Event("A"))


def test_the_result_is_what_the_judge_says_not_what_we_like() -> None:
    phi, S = shrink(CEL, parse(QUERY), NOISE, has_filter_and_c)
    assert has_filter_and_c(phi, S)
    assert (size(phi), len(S)) == (2, 1)


def test_nothing_smaller_is_left_untried() -> None:
    """Every candidate below the result was refused: a way that is skipped after a success would leave some."""
    for judge in (skips_nothing, has_filter_and_c):
        phi, S = shrink(CEL, parse(QUERY), NOISE, judge)
        below = [c for way in ways(CEL) for c in way(phi, S) if weight(CEL, *c) < weight(CEL, phi, S)]
        assert below
        assert not any(judge(*c) for c in below)


def test_constants_and_values_come_down_together() -> None:
    """Neither can be lowered far alone: the comparison has to go on holding."""

    def a_match_by_value(phi: Formula, S: Stream) -> bool:
        return any(isinstance(psi, cel.Filter) for psi in subformulas(phi)) and bool(
            reported(phi, S) and reported(phi, S) != reported(parse("A"), S)
        )

    phi, S = shrink(CEL, parse("A FILTER A.x > 400"), stream("A A A", x=[7, 399, 555]), a_match_by_value)
    assert show(phi) == "A FILTER A.x > 0"
    assert sorted(event.attributes["x"] for event in S) == [0, 1]  # type: ignore[type-var]


def test_names_become_simple_and_the_schema_goes_along() -> None:
    schema = Schema({"Temperature": {"sensor": "int", "degrees": "float"}, "Unused": {"z": "int"}})
    S = Stream([Event("Temperature", {"sensor": 4, "degrees": 45.5})] * 2, schema)
    phi, T = shrink(
        CEL,
        parse("(Temperature IN hot ; Temperature) FILTER hot.degrees > 40.25"),
        S,
        lambda phi, S: bool(reported(phi, S)) and any(isinstance(psi, cel.Filter | cel.In) for psi in subformulas(phi)),
    )
    assert T.schema is not None
    assert set(T.schema.types) == {"Temperature"}
    assert "sensor" not in T.schema.attributes
    assert show(phi) in ("Temperature IN X", "Temperature IN Temperature")


def test_a_typed_error_is_no_difference() -> None:
    def fussy(phi: Formula, S: Stream) -> bool:
        if len(S) < 4:
            raise BudgetExceeded("too short for me")
        if not any(isinstance(psi, cel.Plus) for psi in subformulas(phi)):
            raise Unsupported("no plus")
        return True

    phi, S = shrink(CEL, parse(QUERY), NOISE, fussy)
    assert len(S) == 4
    assert show(phi).endswith("+")


def test_any_other_error_is_not_hidden() -> None:
    def broken(phi: Formula, S: Stream) -> bool:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        shrink(CEL, parse(QUERY), NOISE, broken)


def test_the_tries_are_counted() -> None:
    asked = []
    shrink(CEL, parse(QUERY), NOISE, lambda phi, S: bool(asked.append(1)), tries=17)  # type: ignore[func-returns-value]
    assert len(asked) == 17


def test_no_candidate_is_asked_about_twice() -> None:
    asked: list[str] = []

    def judge(phi: Formula, S: Stream) -> bool:
        asked.append(repr((phi, S.events, S.schema)))
        return skips_nothing(phi, S)

    shrink(CEL, parse(QUERY), NOISE, judge)
    assert len(asked) == len(set(asked))


@pytest.mark.parametrize("seed", range(6))
def test_on_random_cases_the_descent_is_strict_and_repeatable(seed: int) -> None:
    """Each pair that is accepted is lighter than the one before, and a second run gives the same result."""
    rng = Random(seed)
    phi, S = case(rng, EVERYTHING if seed % 2 else TYPED, 12, 10)
    accepted = [weight(CEL, mapped(phi), S)]
    salt = str(seed)

    def arbitrary(phi: Formula, S: Stream) -> bool:
        """A judge without rhyme or reason, so that the search goes down odd ways."""
        said = Random(salt + show(phi) + repr(S.events)).random() < 0.4
        if said:
            accepted.append(weight(CEL, phi, S))
        return said

    first = shrink(CEL, phi, S, arbitrary)
    assert all(after < before for before, after in pairwise(accepted))
    assert len(accepted) > 1
    second = shrink(CEL, phi, S, arbitrary)
    assert (first[0], first[1].events) == (second[0], second[1].events)
    assert parse(show(first[0])) == first[0]


# ---- shrink sase ----
# Shrinking queries of SASE+: the smallest that show a difference, down a well-founded order.

Differs = Callable[[sase.SaseQuery, Stream], bool]


def between(reading: Reading) -> Differs:
    def differs(q: sase.SaseQuery, S: Stream) -> bool:
        return matches_of(q, S, denote_sase.bindings) != matches_of(q, S, denote_sase.bindings, reading)

    return differs


def small(text: str, stream: str, differs: Differs) -> tuple[str, str]:
    q = parse_sase(text)
    assert isinstance(q, sase.SaseQuery)
    p, S = shrink(SASE, q, events(stream), differs)
    return show_sase(p), " ".join(e.type for e in S)


def test_what_is_not_needed_goes() -> None:
    text = (
        "PATTERN SEQ(~C c, A a, B+ b[]) WHERE strict_contiguity(a) { a.x > 0 } skip_till_any_match(b[]!) { [y] and "
        "(b[i].x > 1 or b[i].x = a.x) } WITHIN 9 hours HAVING count(b[]) < 9 RETURN NON-OVERLAP a.(x, y), b[].x"
    )
    S = "A1/k@1 B2/k@2 C@3 B3/k@4 A1@5"
    assert small(text, S, lambda q, S: len(S) >= 2) == ("PATTERN SEQ(A b) RETURN b.time", "A A")

    def has_kleene(q: sase.SaseQuery, S: Stream) -> bool:
        return any(k.kleene for k in q.pattern) and q.within is not None

    assert small(text, S, has_kleene)[0] == "PATTERN SEQ(B+ b[]) WITHIN 1 hour RETURN b[1].time"


def test_events_keep_their_time() -> None:
    """An engine may need it, to order the events of a stream."""
    q = parse_sase("PATTERN SEQ(A a, B b) WHERE a.x > 0 RETURN a.x")
    assert isinstance(q, sase.SaseQuery)
    _, S = shrink(SASE, q, events("A1@3 C2@4 B1@7"), lambda q, S: len(S) >= 2)
    assert [set(event.attributes) for event in S] == [{"time"}, {"time"}]


@pytest.mark.parametrize(
    ("reading", "events_needed"), [(Reading(window="closed"), 2), (Reading(last_kleene="every"), 2)]
)
def test_differences_of_readings_are_small(reading: Reading, events_needed: int) -> None:
    differs = between(reading)
    for n in range(300):
        q, S = case_sase(Random(n), SASE_EVERYTHING, 7, 8)
        if differs(q, S):
            p, T = shrink(SASE, q, S, differs)
            assert differs(p, T)
            assert weight(SASE, p, T) < weight(SASE, q, S)
            assert (len(p.pattern), len(T)) == (1, events_needed), show_sase(p)
            return
    raise AssertionError("no query differs")


@pytest.mark.parametrize("cases", sampled([3, 8], [3]))
@pytest.mark.slow
def test_candidates_are_queries_or_are_refused_with_an_error(cases: int) -> None:
    """Each candidate that the definition evaluates is written by a text that parses to it."""
    for n in range(cases):
        q, S = case_sase(Random(n), SASE_EVERYTHING, 8, 3)
        for way in ways(SASE):
            for p, T in way(q, S):
                try:
                    matches_of(p, T, denote_sase.bindings)
                except CerifyError:
                    continue
                assert parse_sase(show_sase(p)) == p


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN SEQ(A a) WHERE a.x > 1 WITHIN 5 seconds RETURN a.x",
        "PATTERN SEQ(~B b, A a) WITHIN 5 seconds RETURN a.x",
    ],
)
def test_no_clause_is_left_empty(text: str) -> None:
    """The only bare predicate goes with its WHERE; the only positive component does not go."""
    asked: list[str] = []

    def differs(q: sase.SaseQuery, S: Stream) -> bool:
        asked.append(show_sase(q))
        return q.within is not None

    q = parse_sase(text)
    assert isinstance(q, sase.SaseQuery)
    p, _ = shrink(SASE, q, events("B1 A2"), differs)
    assert show_sase(p) == "PATTERN SEQ(A a) WITHIN 1 second RETURN a.x"
    assert all(parse_sase(one) for one in asked)


# ---- shrink simpler ----
# What counts as simpler when a failing case is shrunk: numbers, arguments and words that could be left out.


@pytest.mark.parametrize("unit", ["EVENTS", "seconds", "[x]"])
def test_a_smaller_window_is_simpler(unit: str) -> None:
    small, large = (shrink_cel.complexity(parse_cel(f"A WITHIN {n} {unit}")) for n in (2, 3))
    assert small < large


@pytest.mark.parametrize(
    ("text", "complexity"), [("<3> a", 3), ("every <3> a", 3), ("a(1, X)", 2), ("p(I) := a(I); p(1)", 3)]
)
def test_numbers_and_arguments_of_an_expression_count(text: str, complexity: int) -> None:
    assert expressions.complexity(parse_expression(text)) == complexity


@pytest.mark.parametrize(
    ("text", "differs", "smallest"),
    [
        (
            "FUNNEL a, b[x > 1 and y = 0], c[x = 2] WITHIN 10 seconds BY k MODE strict_order",
            lambda q: q.mode is not None and any(step.predicate is not None for step in q.steps),
            "FUNNEL [x = 0] WITHIN 0 seconds MODE strict_order",
        ),
        (
            "FUNNEL a, b WITHIN 7 EVENTS BY k START first ORDER time BETWEEN not c[x > 1]",
            lambda q: getattr(q, "between", None) is not None,
            "FUNNEL b BETWEEN not b",
        ),
        (
            "SEQUENCE '(?1).*(?t<=2)(?2)' OF a[x > 0], b BY k",
            lambda q: "(?2)" in getattr(q, "pattern", ""),
            "SEQUENCE '(?2)' OF a, a",
        ),
    ],
)
@pytest.mark.slow
def test_a_funnel_gets_smaller(text: str, differs: Callable[[Any], bool], smallest: str) -> None:
    """Each candidate is read from its text, and what is not needed goes."""
    query = parse_keyed_question(text)
    for way in ways(FUNNELS):
        for smaller, _ in way(query, NOISE):
            assert parse_keyed_question(show_keyed_question(smaller)) == smaller
    small, S = shrink(FUNNELS, query, NOISE, lambda q, _: differs(q))
    assert (show_keyed_question(small), len(S)) == (smallest, 0)


@pytest.mark.parametrize("operator", ["relative", "prior", "sequence"])
def test_an_operand_is_left_out(operator: str) -> None:
    smaller = map(show_expression, expressions.smaller_expressions(parse_expression(f"{operator}(a, b, c)")))
    assert {f"{operator}(b, c)", f"{operator}(a, c)", f"{operator}(a, b)"} <= set(smaller)


def test_an_event_type_is_no_operator() -> None:
    assert expressions.operators(parse_expression("relative(a, b)")) == {"relative"}


@pytest.mark.parametrize(
    ("simpler", "other"),
    [
        ("COUNT(*) > 1", "FINAL COUNT(*) > 1"),
        ("SUM(x) > 1", "FINAL SUM(x) > 1"),
        ("x IS NULL", "x IS NOT NULL"),
        ("x BETWEEN 1 AND 2", "x NOT BETWEEN 1 AND 2"),
        ("x IN (1)", "x NOT IN (1)"),
        ("x LIKE 'a'", "x NOT LIKE 'a'"),
    ],
)
def test_words_of_a_clause_that_may_be_left_out_count(simpler: str, other: str) -> None:
    small, large = (parse_rows(f"MATCH_RECOGNIZE (MEASURES {text} AS m PATTERN (A))") for text in (simpler, other))
    assert row_pattern.complexity(small) < row_pattern.complexity(large)
    if "NOT" in other:
        assert small in [q for reduction in row_pattern.ROW_PATTERN.reductions for q in reduction(large)]


RULES = """
title: used
name: used
logsource: {product: p}
detection: {first: {kind: login}, other: {size: 1}, condition: first and not other}
---
title: unused
name: unused
logsource: {product: p}
detection: {first: {kind: exec}, condition: first}
---
title: inner
name: inner
correlation: {type: temporal, rules: [used, unused], group-by: [user], timespan: 2s}
---
title: outer
correlation: {type: event_count, rules: [inner], timespan: 5s, condition: {gte: 2}}
"""
SMALLEST = """
title: used name: used logsource: product: p detection: other: size: 1 condition: other ---
title: inner correlation: type: temporal rules: - used timespan: 2s
"""


def test_rules_of_sigma_get_smaller() -> None:
    """Down to the inner correlation and the part of a rule that is needed, without what nothing names."""
    rules, _ = shrink(SIGMA, SIGMA.parse(RULES), NOISE, lambda q, _: "temporal" in repr(q) and "size" in repr(q))
    assert rules.text.split() == SMALLEST.split()
