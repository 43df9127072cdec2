"""Event expressions are the regular expressions without the empty word (vldb92, section 2.2), both ways, decided."""

from __future__ import annotations

from itertools import pairwise, product
from random import Random
from typing import assert_never

import pytest

from cerify.automata.dfa.compile import compile_expression, compile_together
from cerify.automata.dfa.model import separating_word
from cerify.equivalence.generate.expressions import PROFILES
from cerify.equivalence.generate.expressions import expression as random_expression
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.event_expressions import syntax as text_of
from cerify.semantics.event_expressions.interpreter import takes_place
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.events import Event, Stream
from proofs_tests.claims.vldb92_regular import (
    Nothing,
    Regular,
    RegularConcatenation,
    RegularLetter,
    RegularPlus,
    RegularUnion,
    expression,
    regular,
    regular_of,
    show,
)
from proofs_tests.support import sampled


def is_word(R: Regular, h: tuple[Event, ...]) -> bool:
    """Whether the history is a word of R, by the definition of the operators."""
    match R:
        case Nothing():
            return False
        case RegularLetter(E):
            return len(h) == 1 and takes_place(E, Stream(h)) == {0}
        case RegularUnion(left, right):
            return is_word(left, h) or is_word(right, h)
        case RegularConcatenation(left, right):
            return any(is_word(left, h[:i]) and is_word(right, h[i:]) for i in range(1, len(h)))
        case RegularPlus(operand):
            rest = (is_word(operand, h[:i]) and is_word(R, h[i:]) for i in range(1, len(h)))
            return is_word(operand, h) or any(rest)
        case _:
            assert_never(R)


def histories(length: int, types: str, started: bool) -> list[tuple[Event, ...]]:
    found = [tuple(map(Event, word)) for n in range(length + 1) for word in product(types, repeat=n)]
    return found + [(Event("start"), *h) for h in found] * started


def random_regular(rng: Random, nodes: int) -> Regular:
    if nodes < 3:
        letter = RegularLetter(parse(rng.choice(("a", "b", "!a", "any", "!NULL", "a or b"))))
        return RegularPlus(letter) if nodes == 2 else letter
    if rng.random() < 0.3:
        return RegularPlus(random_regular(rng, nodes - 1))
    left = rng.randint(1, nodes - 2)
    operator = rng.choice((RegularUnion, RegularConcatenation, RegularConcatenation))
    return operator(random_regular(rng, left), random_regular(rng, nodes - 1 - left))


@pytest.mark.parametrize("number", sampled([15, 40], [15]))
@pytest.mark.parametrize("name", PROFILES)
def test_an_expression_to_a_regular_one_and_back(name: str, number: int) -> None:
    """The expression that comes back is equivalent: decided, for histories of any length."""
    rng = Random(name)
    something = 0
    for _ in range(number):
        E = random_expression(rng, PROFILES[name], 5)
        R = regular(E)
        A, B = compile_together([E, expression(R)])
        assert separating_word(A, B) is None, text_of.show(E)
        something += bool(A.accepting)
    assert something > number / 2


def test_the_words_of_the_regular_one_are_the_histories() -> None:
    """Not by way of automata: by the definition of the operators, on all short histories."""
    rng = Random(8)
    for _ in range(40):
        E = random_expression(rng, PROFILES["started"], 4)
        R = regular(E)
        for h in histories(3, "abd", started=True):
            assert is_word(R, h) == (len(h) - 1 in takes_place(E, Stream(h))), f"{text_of.show(E)} over {h}"


@pytest.mark.parametrize("number", sampled([20, 50], [20]))
def test_any_regular_one_is_an_expression(number: int) -> None:
    """Its words are the histories at whose last event the expression takes place."""
    rng = Random(4)
    both = set()
    for _ in range(number):
        R = random_regular(rng, rng.randint(1, 8))
        E = expression(R)
        back = regular(E)
        A, B = compile_together([E, expression(back)])
        assert A == B
        for h in histories(4, "ab", started=False):
            found = len(h) - 1 in takes_place(E, Stream(h))
            assert found == is_word(R, h) == is_word(back, h), f"{show(R)} over {h}"
            both.add(found)
    assert both == {True, False}
    assert expression(Nothing()) == text_of.Null()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("NULL", "∅"),
        ("a", "a | !NULL+ a"),
        ("first", "!NULL"),
        ("first and !a", "!a"),
        ("start", "start"),
        ("a and first", "a"),
        ("relative+(sequence(first and a, b))", "a b | (a b)+ a b"),
        ("<2> a", "a (a | !a+ a) | !a+ a (a | !a+ a)"),
        ("a[n > 3] and !before(b)", "a[n > 3] | !b+ a[n > 3]"),
        ("prior(start, a)", "start (a | any+ a)"),
    ],
)
def test_texts(text: str, expected: str) -> None:
    assert show(regular(parse(text))) == expected


def test_texts_have_the_parentheses_that_they_need() -> None:
    a, b = RegularLetter(parse("a")), RegularLetter(parse("a and b"))
    assert show(RegularPlus(RegularConcatenation(a, RegularUnion(a, b)))) == "(a (a | (a and b)))+"
    assert (
        show(RegularUnion(RegularPlus(a), RegularConcatenation(RegularPlus(RegularPlus(b)), a))) == "a+ | (a and b)++ a"
    )


def test_sizes_are_those_of_the_trees() -> None:
    a = RegularLetter(parse("a"))
    sizes = [a.size]
    R: Regular = a
    for _ in range(200):
        R = RegularConcatenation(R, R)
        sizes.append(R.size)
    assert all(larger == 2 * smaller + 1 for smaller, larger in pairwise(sizes))
    assert RegularPlus(Nothing()).size == 2


def test_what_is_too_large_or_too_deep_stops() -> None:
    with pytest.raises(BudgetExceeded, match="more than 500 nodes"):
        regular_of(compile_expression(parse("every <3> a and !before(<4> b)")), Budget(states=500))
    R: Regular = RegularLetter(parse("a"))
    for _ in range(100_000):
        R = RegularPlus(R)
    for work in (show, expression):
        with pytest.raises(BudgetExceeded, match="nested too deeply"):
            work(R)
