"""Algorithm 2 on the compiled kernels: the same answers as streaming.py, at the speed of the hardware."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.io_determinize import Determinized, single_variable
from cerify.automata.cea.model import CEA, UNMARKED
from cerify.automata.evaluate import answers, streaming
from cerify.automata.evaluate.ces import CompactComplexEventSet
from cerify.automata.evaluate.classify import classify
from cerify.automata.evaluate.crossing import Carried
from cerify.automata.evaluate.evaluator import Evaluator
from cerify.automata.evaluate.scope import Scope, near, split, without_widths
from cerify.automata.evaluate.scope_columns import Unordered
from cerify.automata.evaluate.sieve import Sieve, in_list
from cerify.automata.evaluate.streaming import Output
from cerify.automata.evaluate.tables import Tables, tabulate
from cerify.semantics.budget import Budget
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Match, Stream, Valuation, bindings_of

CHUNK = 65_536  # complex events enumerated at a time
LARGEST = 2**31 - 1  # nodes and positions are 32-bit


@dataclass
class Evaluated:
    """A stream read to its end: the nodes, and the lists of complex events completed at each position."""

    tables: Tables
    event: NDArray[np.int32]
    label: NDArray[np.int16]
    first: NDArray[np.int32]
    last: NDArray[np.int32]
    next: NDArray[np.int32]
    roots: NDArray[np.int32]  # rows (position, first, last)


def prepare(phi: Formula, S: Stream, output: Output, budget: Budget) -> tuple[Tables, NDArray[np.int32]]:
    """The tables of a formula over the classes that a stream shows, and the class of each event."""
    A = compile_cel(phi, budget)
    return tabulated(A if output == "valuations" else single_variable(A), S, budget)


def tabulated(A: CEA, S: Stream, budget: Budget) -> tuple[Tables, NDArray[np.int32]]:
    """The tables of an automaton, as those of a formula."""
    automaton = Determinized(A, budget)
    types = classify(automaton.A.predicates, S)
    numbers: dict[int, int] = {}
    classes = np.fromiter((numbers.setdefault(type_, len(numbers)) for type_ in types), np.int32, len(types))
    return tabulate(automaton, list(numbers), budget), classes


def run(tables: Tables, classes: NDArray[np.int32]) -> Evaluated:
    """Read all events (the update phase). Raises BudgetExceeded past 2^31 nodes."""
    from cerify.automata.evaluate.kernels import update

    states, _, labels = tables.step.shape
    capacity, roots = max(1024, 2 * states * labels), np.empty((max(1024, 2 * states), 3), np.int32)
    arrays: list[NDArray[Any]] = [
        np.empty(capacity, kind) for kind in (np.int32, np.int16, np.int32, np.int32, np.int32)
    ]
    arrays[4][0] = -1
    active, head, tail = (np.zeros(states, np.int32) for _ in range(3))
    position, nodes, actives, found = 0, 1, 1, 0
    while True:
        position, nodes, actives, found = update(
            classes, position, tables.step, tables.final, *arrays, nodes, active, head, tail, actives, roots, found
        )
        if position == classes.size:
            event, label, first, last, next_ = (array[:nodes] for array in arrays)
            return Evaluated(tables, event, label, first, last, next_, roots[:found])
        if len(arrays[0]) - nodes < 2 * states * labels:
            if 2 * len(arrays[0]) > LARGEST:
                raise BudgetExceeded("the stream marks more than 2^30 events")
            arrays = [np.concatenate([array, np.empty_like(array)]) for array in arrays]
        if len(roots) - found < 2 * states:
            roots = np.concatenate([roots, np.empty_like(roots)])


def complex_events(evaluated: Evaluated) -> Iterator[tuple[int, NDArray[np.int32], NDArray[np.int32]]]:
    """The complex events of each list in turn, a chunk at a time: position, lengths, and nodes one after another.

    The nodes of an event run from its latest position to its first. Chunks are views of buffers that are used again.
    """
    from cerify.automata.evaluate.kernels import enumerate_

    path, pending = np.zeros(1024, np.int32), np.zeros((1024, 2), np.int32)
    depths, lengths, out = np.zeros(1025, np.int32), np.empty(CHUNK, np.int32), np.empty(4 * CHUNK, np.int32)
    for position, first, last in evaluated.roots:
        root = np.array([first, last], np.int32)
        while True:
            events, written = enumerate_(
                root, evaluated.first, evaluated.last, evaluated.next, path, pending, depths, lengths, out, CHUNK
            )
            root[0] = -1
            if events:
                yield int(position), lengths[:events], out[:written]
            if depths[0] == 0:
                break
            if not events:  # something does not fit: the path, the stack, or one event in out
                path, out = np.concatenate([path, np.zeros_like(path)]), np.empty(2 * out.size, np.int32)
                pending = np.concatenate([pending, np.zeros_like(pending)])
                depths = np.concatenate([depths, np.zeros_like(depths)])


def matches(phi: Formula, S: Stream, output: Output = "matches", budget: Budget = Budget()) -> list[Match]:
    """All matches of a formula over a stream, sorted. Raises Unsupported, BudgetExceeded."""
    if answers.needs_checks(phi):
        return answers.at_most(budget.matches, answers.found(phi, S, output, budget, passing))
    scope = split(phi)
    try:
        if not scope.everything:
            return _scoped(phi, scope, S, output, budget)
        evaluated = run(*prepare(phi, S, output, budget))
    except ImportError as error:
        raise Unsupported(f"the compiled evaluator needs numba: pip install 'cerify[fast]' ({error})") from None
    found: list[Match] = []
    for position, lengths, nodes in complex_events(evaluated):
        if len(found) + len(lengths) > budget.matches:
            raise BudgetExceeded(f"more than {budget.matches} matches; ask for the first ones, or count them")
        for path in np.split(nodes, np.cumsum(lengths)[:-1]):
            events = tuple(evaluated.event[path[::-1]].tolist())
            found.append(Match(position, events, _bindings(evaluated, path) if output == "valuations" else None))
    return sorted(found)


def _scoped(phi: Formula, scope: Scope, S: Stream, output: Output, budget: Budget) -> list[Match]:
    """Under windows and partitions; a window on values that go back is asked of each match."""
    try:
        return Evaluator(phi, output=output, budget=budget).read(S)
    except Unordered:
        found = matches(without_widths(scope), S, output, budget)
        return [m for m in found if all(near(width, [S[i].get(a) for i in m.events]) for a, width in scope.widths)]


def passing(carried: Carried, S: Stream, output: Output, budget: Budget) -> Iterator[tuple[int, Valuation]]:
    """The valuations of a formula that pass its checks; each is given up at the first event with which one fails.

    The loops read the stream, and what they have made is walked through in Python. Under windows and partitions that
    is no gain, so that the readable evaluator does it all.
    """
    if not split(carried.phi).everything:
        return streaming.passing(carried, S, output, budget)
    try:
        return _passing(carried, S, output, budget)
    except ImportError as error:
        raise Unsupported(f"the compiled evaluator needs numba: pip install 'cerify[fast]' ({error})") from None


def _passing(carried: Carried, S: Stream, output: Output, budget: Budget) -> Iterator[tuple[int, Valuation]]:
    A = answers.kept_marks(compile_cel(carried.phi, budget), output)
    evaluated, sieve = run(*tabulated(A, S, budget)), Sieve(carried.checks, S, budget)
    D = CompactComplexEventSet()
    labels = evaluated.tables.labels
    D.event, D.marks = evaluated.event.tolist(), [UNMARKED, *(labels[label] for label in evaluated.label[1:].tolist())]
    D.first, D.last, D.next = evaluated.first.tolist(), evaluated.last.tolist(), evaluated.next.tolist()
    return (
        (position, answers.without_marks(D.valuation(path)))
        for position, first, last in evaluated.roots.tolist()
        for path in in_list(D, (first, last), sieve)
    )


def _bindings(evaluated: Evaluated, path: NDArray[np.int32]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    labels = evaluated.tables.labels
    pairs = zip(evaluated.event[path].tolist(), evaluated.label[path].tolist(), strict=True)
    return bindings_of(frozenset((variable, position) for position, label in pairs for variable in labels[label]))
