"""Ways to break what a check is about, for the errors that are planted beside the checks.

Each makes a wrong function from the right one. What is broken is the library or the transcribed text, and not the
comparison that the check makes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from cerify.automata.cea.model import CEA, UNMARKED, Transition
from cerify.automata.dfa.model import DFA
from cerify.semantics.predicates import Anything

Broken = Callable[[Any], Any]


def for_root(kind: type, instead: Callable[..., Any]) -> Broken:
    """Follow another clause for a formula or an expression with this operator on top."""

    def broken(clause: Callable[..., Any]) -> Callable[..., Any]:
        return lambda phi, *rest: instead(phi, *rest) if isinstance(phi, kind) else clause(phi, *rest)

    return broken


def operand(phi: Any, S: Any, i: int, j: int, meaning: Callable[..., Any], *rest: Any) -> Any:
    """Return the meaning of the first operand, as if a CEL operator did nothing."""
    return meaning(phi.left if hasattr(phi, "left") else phi.phi, i, j)


def always(answer: Any) -> Broken:
    """Answer the same to every question."""
    return lambda right: lambda *arguments, **options: answer


def same(position: int = 0) -> Broken:
    """Return an argument as it is, as if nothing were done to it."""
    return lambda right: lambda *arguments, **options: arguments[position]


def result(change: Callable[[Any], Any]) -> Broken:
    """Change what is returned."""
    return lambda right: lambda *arguments, **options: change(right(*arguments, **options))


def argument(change: Callable[[Any], Any], position: int = 0) -> Broken:
    """Change one argument before the call."""

    def broken(right: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            before, after = arguments[:position], arguments[position + 1 :]
            return right(*before, change(arguments[position]), *after, **options)

        return call

    return broken


def goes_on(A: CEA) -> CEA:
    """Let an automaton read on in its final states, without marks."""
    loops = tuple(Transition(q, Anything(), UNMARKED, q) for q in sorted(A.final))
    return replace(A, transitions=(*A.transitions, *loops))


def inverted(A: DFA) -> DFA:
    """Let an automaton accept where it should not, and not where it should."""
    return replace(A, accepting=frozenset(range(len(A.following))) - A.accepting)
