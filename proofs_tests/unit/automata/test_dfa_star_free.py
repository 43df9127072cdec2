"""Which expressions count modulo a number, and which past temporal logic can say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cerify.automata.dfa.compile import compile_expression
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.event_expressions.parse import parse
from proofs_tests.claims.vldb92_regular import counter
from proofs_tests.unit.semantics.event_expressions import examples


@pytest.mark.parametrize(
    "text",
    ["NULL", "a", "prior(a, b)", "relative(a, b)", "relative+(a)", "<3> a", "first", "a /+ b", "a | <2> b",
     "sequence(a, b, a)", "b * a",
     "relative+(sequence(first and a, b) or sequence(first and b, a))",
     "prefix(<2> a)", "every <1> a", "relative+(relative(a, b))",
     examples.PIPED_CUT, examples.E],
)  # fmt: skip
def test_star_free(text: str) -> None:
    assert counter(compile_expression(parse(text))) is None


@pytest.mark.parametrize(
    ("text", "times", "modulo"),
    [
        ("every <2> a", 1, 2),
        ("every <5> a", 1, 5),
        ("!(every <2> a)", 1, 2),
        ("(every <2> a) /+ s", 1, 2),
        ("relative+(<2> any)", 1, 2),
        ("relative+(<3> any) and before(b)", 1, 3),
        ("any | (every <2> any)", 1, 2),
        ("relative+(sequence(first, a) and b)", None, None),
        ("relative+(sequence(first and a, b, a, b))", 2, 2),
    ],
)
def test_counters(text: str, times: int | None, modulo: int | None) -> None:
    """The word is a shortest one, and leads each of the states to the next one."""
    A = compile_expression(parse(text))
    found = counter(A)
    assert (None if found is None else (len(found.word), len(found.states))) == (times and (times, modulo))
    if found is not None:
        moved = list(found.states)
        for a in found.word:
            moved = [A.step(q, a) for q in moved]
        assert moved == [*found.states[1:], found.states[0]]
        assert len(set(found.states)) == len(found.states) > 1
        assert found.states[0] == min(found.states)


def test_which_events_may_come_has_to_be_known() -> None:
    A = compile_expression(parse("every <2> a"))
    types = (*A.alphabet.types[:-1], replace(A.alphabet.types[-1], witness=None))
    with pytest.raises(Unsupported, match="z3 returned unknown"):
        counter(replace(A, alphabet=replace(A.alphabet, types=types)))


def test_too_many_moves_stop() -> None:
    with pytest.raises(BudgetExceeded):
        counter(compile_expression(parse("sequence(a, a or b, a or b, b) or <30> c")), Budget(states=50))
