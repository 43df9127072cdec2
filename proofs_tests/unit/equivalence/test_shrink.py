"""Shrinking: what it returns still differs, is smaller, and cannot be made smaller by one more step."""

from itertools import pairwise
from random import Random

import pytest

from cerify.equivalence.generate.cel import EVERYTHING, TYPED, case
from cerify.equivalence.rewrite.trees import mapped
from cerify.equivalence.shrink.cel import CEL
from cerify.equivalence.shrink.shrink import shrink, ways, weight
from cerify.semantics.cel import denote
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import Formula, show, size, subformulas
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Event, Schema, Stream
from cerify.semantics.trees import children, rebuilt
from proofs_tests.support import stream

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
