"""A compiler that keeps what it has made: the same query is compiled once, and one that is refused is refused again."""

import gc

import pytest

from cerify.automata.cea.compile import COMPILED_CEL, CachedCompiler
from cerify.automata.evaluate.core import compiled_shared
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import Unsupported


class Compiler:
    """Counts what it compiles, and refuses the type C."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, phi: cel.EventAtom, budget: Budget) -> str:
        self.asked.append(phi.type)
        if phi.type == "C":
            raise Unsupported("no C")
        return phi.type.lower()


def event(text: str) -> cel.EventAtom:
    phi = parse(text)
    assert isinstance(phi, cel.EventAtom)
    return phi


def test_nothing_is_kept_unless_asked() -> None:
    compiler = Compiler()
    cached = CachedCompiler(compiler)
    assert [cached(event("A")), cached(event("A"))] == ["a", "a"]
    assert compiler.asked == ["A", "A"]


def test_an_equal_query_is_compiled_once_and_another_budget_is_another_question() -> None:
    compiler = Compiler()
    cached = CachedCompiler(compiler)
    cached.retain(10)
    A = event("A")
    assert [cached(A), cached(A), cached(event("A")), cached(event("B"))] == ["a", "a", "a", "b"]
    assert compiler.asked == ["A", "B"]
    assert cached(A, Budget(states=5)) == "a"
    assert compiler.asked == ["A", "B", "A"]


def test_what_is_refused_is_refused_again_without_compiling() -> None:
    compiler = Compiler()
    cached = CachedCompiler(compiler)
    cached.retain(10)
    C = event("C")
    for _ in range(2):
        with pytest.raises(Unsupported, match="no C"):
            cached(C)
    assert compiler.asked == ["C"]


def test_when_as_many_are_kept_as_allowed_all_are_dropped() -> None:
    compiler = Compiler()
    cached = CachedCompiler(compiler)
    cached.retain(2)
    kept = [event(T) for T in "ABDA"]
    assert [cached(phi) for phi in kept] == ["a", "b", "d", "a"]
    assert compiler.asked == ["A", "B", "D", "A"]


def test_what_needs_less_than_it_may_is_not_compiled_again() -> None:
    """What is made within few states is what more of them would give; that they are too few says nothing of more."""
    compiler = Compiler()
    cached = CachedCompiler(compiler)
    cached.retain(10)
    A, C = event("A"), event("C")
    assert [cached(A, Budget(states=5)), cached(A), cached(A, Budget(states=6))] == ["a", "a", "a"]
    assert compiler.asked == ["A"]
    for budget in (Budget(states=5), Budget()):
        with pytest.raises(Unsupported, match="no C"):
            cached(C, budget)
    assert compiler.asked == ["A", "C", "C"]


def test_what_is_shared_in_a_context_is_gone_after_it() -> None:
    phi = parse("A ; B")
    before = gc.get_threshold()
    with compiled_shared():
        first = COMPILED_CEL(phi)
        assert COMPILED_CEL(phi) is first
    assert COMPILED_CEL(phi) is not first
    assert gc.get_threshold() == before
