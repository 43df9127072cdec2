"""All queries of SASE+ and all streams to a size, up to names: for tests and claims that look at every one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product, starmap
from random import Random
from typing import TypeAlias

from cerify.semantics.events import Stream
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.syntax import STRATEGIES
from proofs_tests.unit.semantics.sase.streams import events, query

LETTERS = ("A1/k", "A2/k", "A1/l", "B1/k")


def streams(length: int, letters: tuple[str, ...] = LETTERS) -> Iterator[Stream]:
    """All streams of the length over the letters, an event a second.

    A match that begins at a position looks at nothing before it, but for a negation in front; so those that are
    shorter are there as their ends.
    """
    for word in product(letters, repeat=length):
        yield events(" ".join(f"{letter}@{time}" for time, letter in enumerate(word)))


def queries(
    components: int,
    mixed: bool = False,
    negated: bool = False,
    windows: tuple[str, ...] = ("",),
    start: int = 0,
    step: int = 1,
) -> Iterator[sase.SaseQuery]:
    """All queries with `components` components: each strategy for all, or for each its own; with at most one clause.

    Of these, those at the positions start, start + step, and so on.
    """
    return (query(text) for text in texts(components, mixed, negated, windows, start, step))


def texts(
    components: int, mixed: bool, negated: bool, windows: tuple[str, ...], start: int = 0, step: int = 1
) -> Iterator[str]:
    """Their texts."""
    return starmap(_text, islice(_parts(components, mixed, negated, windows), start, None, step))


Array: TypeAlias = tuple[bool, bool, str]
"""Of a component: whether it is an array, whether it is negated, its variable."""
Parts: TypeAlias = tuple[tuple[str, ...], tuple[sase.Strategy, ...], str, tuple[str, ...], str]
"""Of a query: its components, and the strategy of each; its clause; the cut of each; its window."""


def _parts(components: int, mixed: bool, negated: bool, windows: tuple[str, ...]) -> Iterator[Parts]:
    for shape in product(*_kinds(components, negated)):
        if _is_pattern(shape, windows):
            arrays = _arrays(shape)
            for strategies in _strategies(components, mixed):
                for clause, cut, window in product(_clauses(arrays), product(*_cuts(arrays)), windows):
                    yield shape, strategies, clause, cut, window


def text_by_chance(rng: Random, components: int, windows: tuple[str, ...]) -> str:
    """One of those with mixed strategies and negation."""
    shape = tuple(map(rng.choice, _kinds(components, True)))
    if not _is_pattern(shape, windows):
        return text_by_chance(rng, components, windows)
    arrays = _arrays(shape)
    strategies = tuple(rng.choice(STRATEGIES) for _ in shape)
    cut = tuple(map(rng.choice, _cuts(arrays)))
    return _text(shape, strategies, rng.choice(list(_clauses(arrays))), cut, rng.choice(windows))


def _is_pattern(shape: tuple[str, ...], windows: tuple[str, ...]) -> bool:
    return not all(k.startswith("~") for k in shape) and not (shape[-1].startswith("~") and "" in windows)


def _arrays(shape: tuple[str, ...]) -> list[Array]:
    return [("[" in k, k.startswith("~"), k.rstrip("[]")[-1]) for k in shape]


def _cuts(arrays: list[Array]) -> list[tuple[str, ...]]:
    return [("", "!") if array and not absent else ("",) for array, absent, _ in arrays]


def _text(
    shape: tuple[str, ...], strategies: tuple[sase.Strategy, ...], clause: str, cut: tuple[str, ...], window: str
) -> str:
    partition = "[y]" if "partition_contiguity" in strategies else ""
    blocks: list[str] = []
    for i, (array, _, v) in enumerate(_arrays(shape)):
        said = " and ".join(c for c in (partition * (i == 0), clause * (clause[:1] == v)) if c)
        blocks.append(f"{strategies[i]}({v}{'[]' * array}{cut[i]}) {{ {said} }}")
    return f"SEQ({', '.join(shape)}) WHERE {' '.join(blocks)} {window}"


def _kinds(components: int, negated: bool) -> list[list[str]]:
    return [
        [f"{no}{t}{k}" for no in ("", "~")[: 1 + negated] for t in "AB" for k in (f" {v}", f"+ {v}[]")]
        for v in "abc"[:components]
    ]


def _strategies(components: int, mixed: bool) -> Iterator[tuple[sase.Strategy, ...]]:
    if mixed:
        return product(STRATEGIES, repeat=components)
    return ((s,) * components for s in STRATEGIES)


def _clauses(arrays: list[Array]) -> Iterator[str]:
    """One clause on each component, begun with its variable; or none."""
    yield ""
    for i, (array, _, v) in enumerate(arrays):
        yield f"{v}[i].x = 1" if array else f"{v}.x = 1"
        if array:
            yield from (f"{v}[i].x >= {v}[i-1].x", f"{v}[{v}.LEN].x = 1", f"count({v}[]) = 2")
        earlier = [other for other in arrays[:i] if not other[1]]
        if earlier:
            before, _, w = earlier[-1]
            yield f"{v}{'[1]' * array}.x > {w}{f'[{w}.LEN]' * before}.x"


def by_chance(rng: Random, length: int) -> Stream:
    """A stream of the length; events follow each other after no time, a second or two."""
    time, said = 0, []
    for _ in range(length):
        time += rng.choice((0, 1, 1, 2))
        said.append(f"{rng.choice(LETTERS)}@{time}")
    return events(" ".join(said))
