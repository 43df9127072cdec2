"""The definition of SASE+ and its automata judge each other: a fault in a reading of one of them makes them differ.

Each fault replaces one function, on one side, while the campaign runs on a few hundred cases.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from cerify.automata.nfab import compile, compiled, evaluators, moves, opcodes, plan, programs
from cerify.semantics.errors import IllFormed
from cerify.semantics.sase import clauses, denote, interpreter
from proofs_tests.campaigns.sase import EVALUATORS, RESULTS, rare_differences, share
from proofs_tests.support import sampled

CASES = 50  # of each share
FIRST = 5  # of them, which are tried before, as most faults show in these already
SHARES = (*range(10), 34)  # before a fault counts as not found; in the last one overlapping matches are left out


def differs(name: str = "", shares: Sequence[int] = SHARES) -> bool:
    """Whether the campaign finds a case on which an evaluator differs, or a query that is well-formed for one alone.

    name is that of the fault: for one of overlapping matches the share that leaves them out is the first.
    """
    if rare_differences():
        return True
    for cases, n in product((FIRST, CASES), shares[::-1] if name == "non_overlap" else shares):
        try:
            if share((cases, f"planted/{n}", 9, 8, (*EVALUATORS, RESULTS)))[1]:
                return True
        except IllFormed:
            return True
    return False


def plant(monkeypatch: pytest.MonkeyPatch, function: Any, fault: Any) -> None:
    """Replaces a function in every module that has imported it."""
    for name, module in list(sys.modules.items()):
        if name.startswith("cerify."):
            for attribute, value in list(vars(module).items()):
                if value is function:
                    monkeypatch.setattr(module, attribute, fault)


Wrap = Callable[[Any], Any]


def negated_result(function: Any) -> Any:
    return lambda *arguments, **named: not function(*arguments, **named)


def closed_swapped(function: Any) -> Any:
    """A window that is closed where it is open, of `spans`."""
    return lambda window, before, after, closed: function(window, before, after, not closed)


OTHER: dict[str, Any] = {
    "strict_contiguity": "skip_till_any_match",
    "partition_contiguity": "strict_contiguity",
    "skip_till_next_match": "skip_till_any_match",
    "skip_till_any_match": "skip_till_next_match",
}

DEFINITION: dict[str, tuple[Any, Wrap]] = {
    "placed": (denote.placed, lambda f: lambda p, pattern: replace(f(p, pattern), edge="each")),
    "placed_first": (
        denote.placed,
        lambda f: lambda p, pattern: replace(f(p, pattern), edge="first" if f(p, pattern).edge == "each" else "later"),
    ),
    "agree": (denote.agree, negated_result),
    "previous": (denote.position, lambda f: lambda ps, place: f(ps, "last" if place == "previous" else place)),
    "last": (denote.position, lambda f: lambda ps, place: f(ps, "first" if place == "last" else place)),
    "strategy": (clauses.strategy_of, lambda f: lambda q, variable: OTHER[f(q, variable)]),
    "cut": (clauses.is_cut, lambda f: lambda q, variable: False),
    "window": (clauses.spans, closed_swapped),
    "aggregate": (denote.folded, lambda f: lambda a, events, *rest: f(a, list(events)[1:], *rest)),
    "underlining": (clauses.equivalences, lambda f: lambda q: [(x, not marked) for x, marked in f(q)]),
    "having": (interpreter._has, lambda f: lambda *_: True),
    "non_overlap": (interpreter._preference, lambda f: lambda positions, reading: tuple(reversed(positions))),
    "returned": (interpreter._value, lambda f: lambda output, *rest: None),
}

AUTOMATON: dict[str, tuple[Any, Wrap]] = {
    "edges": (compile.edges_of, lambda f: lambda p, variable: frozenset({"begin", "take"})),
    "proceed": (
        compile.edges_of,
        lambda f: lambda p, v: frozenset({"take"}) if f(p, v) == {"proceed"} else f(p, v),
    ),
    "equivalences": (compile._layout, lambda f: lambda *a: replace(f(*a), equivalences=())),
    "strategies": (
        compile._layout,
        lambda f: lambda *a: replace(f(*a), strategies={v: OTHER[s] for v, s in f(*a).strategies.items()}),
    ),
    "cuts": (compile._layout, lambda f: lambda *a: replace(f(*a), cuts=frozenset())),
    "window": (
        moves.in_window,
        lambda f: lambda window, closed, first, event: f(window, not closed, first, event),
    ),
    "previous": (moves.instantiated, lambda f: lambda form, ps: f("a[i]" if form == "a[i-1]" else form, ps)),
    "aggregate": (moves.value_over, lambda f: lambda a, events, *rest: f(a, list(events)[1:], *rest)),
    "fold": (moves._best, lambda f: lambda k, highest: f(k, not highest)),
    "neighbours": (moves.neighbours, lambda f: lambda *a: (f(*a)[0] + 1, f(*a)[1])),
    "scope": (moves.in_scope, lambda f: lambda q, k, M, S, reading, positions: list(positions)),
    "non_overlap": (evaluators._rank, lambda f: lambda positions, reading: tuple(reversed(positions))),
    "returned": (evaluators._value, lambda f: lambda *_: None),
}


def set_in(column: int, value: int) -> Wrap:
    """Negated components, as the compiled loops get them, with another value in a column."""

    def wrap(function: Any) -> Any:
        def fault(self: Any) -> Any:
            rows = function(self)
            rows[:, column] = value
            return rows

        return fault

    return wrap


METHODS: dict[str, tuple[Any, str, Wrap]] = {
    "definition: scope": (
        denote.SaseAbsences,
        "scope",
        lambda f: lambda self, k, M: None if (s := f(self, k, M)) is None else s[1:],
    ),
    "definition: negated series": (denote.SaseAbsences, "leaves_out", lambda f: lambda *_: True),
    "definition: skips": (denote.SaseDefinition, "skips", lambda f: lambda *_: True),
    "definition: must stop": (denote.SaseDefinition, "must_stop", lambda f: lambda *_: False),
    "automaton: skips": (plan.NfabSelection, "skips", lambda f: lambda *_: True),
    "automaton: registers": (
        plan.NfabRegisters,
        "after_selecting",
        lambda f: lambda self, values, variable, first, event: f(self, values, variable, True, event),
    ),
    "loops: scope": (programs.CompiledPlan, "_negated", set_in(opcodes.SIDE, opcodes.BETWEEN)),
    "loops: neighbour": (programs.CompiledPlan, "_negated", set_in(opcodes.BEHIND, -1)),
    "loops: series": (programs.CompiledPlan, "_negated", set_in(opcodes.COMPLETE, 0)),
    "loops: withheld": (compiled.NegatedComponents, "_over", lambda f: lambda self, found: f(self, found) | True),
    "loops: strings": (programs.ColumnEncoder, "sorted_strings", lambda f: lambda *_: None),
    "loops: rank": (programs, "RANKED", lambda f: {**f, "highest": opcodes.SMALLEST}),
    "loops: window": (
        programs.Programs,
        "elapsed",
        lambda f: lambda self, first, seconds, how: f(self, first, seconds + 9, how),
    ),
}


@pytest.mark.parametrize("shares", sampled([SHARES, SHARES[-1:]], [SHARES[-1:]]))
def test_without_a_fault_nothing_differs(shares: Sequence[int]) -> None:
    assert not differs(shares=shares)


@pytest.mark.parametrize("name", sampled(DEFINITION, [*DEFINITION][::4]))
def test_a_fault_in_the_definition_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, wrap = DEFINITION[name]
    plant(monkeypatch, function, wrap(function))
    assert differs(name)


@pytest.mark.parametrize("name", sampled(AUTOMATON, [*AUTOMATON][::4]))
def test_a_fault_in_the_automata_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, wrap = AUTOMATON[name]
    plant(monkeypatch, function, wrap(function))
    assert differs(name)


@pytest.mark.parametrize("name", sampled(METHODS, [*METHODS][::2]))
def test_a_fault_in_a_method_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class_, method, wrap = METHODS[name]
    monkeypatch.setattr(class_, method, wrap(getattr(class_, method)))
    assert differs()
