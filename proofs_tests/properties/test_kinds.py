"""Constants that Python takes for equal, and that are not: true, 1 and 1.0, in one query and in one stream."""

from __future__ import annotations

from itertools import product

import pytest

from cerify import Event, Stream, equivalent, match
from cerify.equivalence.rewrite.normal_forms import disjunctive
from cerify.equivalence.verdict import Different, Equivalent
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import show
from proofs_tests.support import sampled

VALUES = (False, 0, 0.0, True, 1, 1.0, 2, 0.5, "a", None)
EVENTS = [Event("A", {} if v is None else {"x": v}) for v in VALUES]
TESTS = [
    *(f"x {sign} {constant}" for sign in ("=", "!=") for constant in ("0", "0.0", "false", "1", "1.0", "true")),
    *("x in {0, 2}", "x in {false, 2}", "x in {1.0, true}", "x in range(0, 1)", "x in range(0.0, 1.0)"),
]
PAIRS = list(product(TESTS, repeat=2))
WRITTEN = {
    "cel": "(A FILTER A[{}]) OR (A FILTER A[{}])",
    "core-cel": "(A AS x FILTER x[{}]) OR (A AS x FILTER x[{}])",
    "event-expression": "A[{}] or A[{}]",
}


@pytest.mark.parametrize("step", sampled([3, 1], [3]))
@pytest.mark.parametrize("language", WRITTEN)
def test_an_automaton_tells_them_apart(language: str, step: int) -> None:
    S = Stream(EVENTS)
    for pair in PAIRS[::step]:
        query = WRITTEN[language].format(*pair)
        assert match(query, S, language=language, evaluator="automaton") == match(
            query, S, language=language, evaluator="denotational"
        ), query


@pytest.mark.parametrize("step", sampled([3, 1], [3]))
def test_the_deciders_tell_them_apart(step: int) -> None:
    for left, right in PAIRS[::step]:
        phi, psi = (f"A FILTER A[{test}]" for test in (left, right))
        same = match(phi, EVENTS, evaluator="denotational") == match(psi, EVENTS, evaluator="denotational")
        assert isinstance(equivalent(phi, psi), Equivalent if same else Different), (left, right)


def test_a_disjunct_is_left_out_only_if_it_is_the_same() -> None:
    phi = parse("(A FILTER A.x = 1) OR (A FILTER A.x = true) OR (A FILTER A.x = 1.0) OR (A FILTER A.x = 1)")
    assert show(disjunctive(phi)) == "(A FILTER A.x = 1) OR (A FILTER A.x = true) OR (A FILTER A.x = 1.0)"


def test_arithmetic_is_not_that_of_the_other_type() -> None:
    n = 2**53
    (event,) = S = Stream([Event("A", {"x": n})])
    for query, found in ((f"A FILTER A[x + 1 = {n + 1}]", 1), (f"A FILTER A[x + 1.0 = {n + 1}]", 0)):
        assert len(match(query, S)) == found
    both = f"(A FILTER A[x + 1.0 = {n + 1}]) AND (A FILTER A[x + 1 = {n + 1}])"
    assert match(both, [event]) == []
