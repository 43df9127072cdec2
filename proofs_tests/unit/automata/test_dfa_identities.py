"""Section 2.3 of vldb92, decided on automata: each derived operator, built on its own, is what its definition says.

The operands stand for any expressions. Where an operand reads the whole history only, all that counts of it is at which
events it takes place: a flag of each event says so, and one decision with flags is the identity for all operands. An
operand that begins anew somewhere in the history is also one that depends on where it has begun, and one that counts.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from cerify.automata.dfa.compile import compile_together
from cerify.automata.dfa.model import Word, separating_word, stream_of, types_under
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.denote import ANY, after_by_pipe, definition
from cerify.semantics.event_expressions.parse import parse

WHOLE = [[parse(f"e[{flag} = 1]")] for flag in "pqr"]
"""Operands that read the whole history: each has a flag of its own."""

ANEW = [
    [parse(text % flag) for text in ("e[%s = 1]", "happened(first and e[%s = 1])", "<2> e[%s = 1]", "!e[%s = 1]")]
    for flag in "pqr"
]
"""Operands that begin anew: of the moment, of where it begins, with a memory, and with the start event."""

OPERATORS: dict[str, tuple[Callable[..., expr.Expression], list[list[expr.Expression]]]] = {
    "a": (expr.ExpressionOr, WHOLE[:2]),
    "b": (expr.AnyEvent, []),
    "c": (lambda *parts: expr.Prior(parts), WHOLE[:2]),
    "d": (lambda *parts: expr.Prior(parts), WHOLE),
    "e1": (lambda *parts: expr.Sequence(parts), WHOLE),
    "e2": (lambda *parts: expr.Sequence(parts), WHOLE[:2]),
    "f": (expr.First, []),
    "h1": (lambda E: expr.Nth(1, E), WHOLE[:1]),
    "h3": (lambda E: expr.Nth(3, E), WHOLE[:1]),
    "i1": (lambda E: expr.EveryNth(1, E), WHOLE[:1]),
    "i3": (lambda E: expr.EveryNth(3, E), WHOLE[:1]),
    "j": (expr.After, [ANEW[0], WHOLE[1]]),
    "k": (expr.ExpressionBetween, [ANEW[0], WHOLE[1]]),
    "l": (expr.FirstAfter, [WHOLE[0], ANEW[1], ANEW[2]]),
    "m": (expr.Before, WHOLE[:1]),
    "n": (expr.Happened, WHOLE[:1]),
    "p": (expr.ExpressionSeries, WHOLE[:2]),
    "relative of three": (lambda *parts: expr.Relative(parts), [WHOLE[0], ANEW[1], ANEW[2]]),
}


def difference(E: expr.Expression, F: expr.Expression, with_start: bool = True) -> Word | None:
    A, B = compile_together([E, F])
    return separating_word(A, B, None if with_start else A.alphabet.coming)


@pytest.mark.parametrize("item", OPERATORS)
def test_an_operator_is_what_its_definition_says(item: str) -> None:
    operator, operands = OPERATORS[item]
    for chosen in product(*operands):
        E = operator(*chosen)
        F = definition(E)
        assert F is not None
        A, B = compile_together([E, F])
        assert separating_word(A, B) is None
        assert A == B
        assert A.accepting  # it can take place: the two do not agree on nothing


@pytest.mark.parametrize("item", OPERATORS)
def test_as_printed_they_agree_on_histories_without_a_start_event(item: str) -> None:
    operator, operands = OPERATORS[item]
    for chosen in product(*operands):
        E = operator(*chosen)
        F = definition(E, ANY)
        assert F is not None
        assert difference(E, F, with_start=False) is None


@pytest.mark.parametrize(
    ("text", "length"), [("first", 2), ("<1> start", 1), ("every <1> start", 1), ("every <2> !NULL", 2)]
)
def test_as_printed_they_do_not_with_one(text: str, length: int) -> None:
    """The shortest histories; those of docs/decisions/event-expressions.md are none longer."""
    E = parse(text)
    F = definition(E, ANY)
    assert F is not None
    word = difference(E, F)
    assert word is not None
    assert len(word) == length


def test_the_second_definition_of_after() -> None:
    for F, E in product(ANEW[0], WHOLE[1]):
        after = expr.After(F, E)
        assert difference(after, after_by_pipe(after)) is None


def test_or_as_printed_lacks_a_negation() -> None:
    (E,), (F,) = WHOLE[:2]
    A, B = compile_together([expr.ExpressionOr(E, F), expr.ExpressionNot(expr.ExpressionAnd(E, expr.ExpressionNot(F)))])
    word = separating_word(A, B)
    assert word is not None
    assert len(stream_of(word, types_under(A.alphabet))) == 1


def test_pipe_and_prefix_by_what_they_are_about() -> None:
    """g and o have no definition in others; these are laws that say what they do."""
    (E,), (F,), (G,) = WHOLE
    assert difference(expr.Pipe(expr.Pipe(E, F), G), expr.Pipe(E, expr.Pipe(F, G))) is None
    assert difference(expr.Pipe(E, F), expr.ExpressionAnd(E, F)) is None  # F looks at the event at hand only
    assert difference(expr.Prefix(expr.ExpressionOr(E, F)), expr.ExpressionOr(expr.Prefix(E), expr.Prefix(F))) is None
    once = expr.ExpressionAnd(expr.Nth(2, E), F)
    assert difference(expr.Prefix(once), expr.ExpressionNot(expr.Happened(expr.Nth(2, E)))) is None
