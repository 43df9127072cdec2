"""Mutants that get wrong what may be passed over: equivalence tests, the four strategies, and several in one query."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeAlias

from cerify.semantics.sase import clauses
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.denote import Chosen, SaseDefinition
from proofs_tests.tools.mutants.sase.model import Answers, wrong
from proofs_tests.tools.mutants.sase.queries import conjuncts, strategies, strategy
from proofs_tests.tools.mutants.sase.ways import by

Rule: TypeAlias = Callable[[SaseDefinition, Chosen, int, int], bool]
"""Whether the event at the second position may be skipped, while the component of the first number is awaited."""

SC, PC, SN, SA = sase.STRATEGIES


class _AbsentAgrees(SaseDefinition):
    def agrees(self, chosen: Chosen, p: int, tests: Iterable[str]) -> bool:
        last = self.S[chosen[-1][1]] if chosen else self.S[p]
        return all(self.S[p].get(x) == last.get(x) for x in tests)


def _agreeing(inside: bool) -> type[SaseDefinition]:
    """[x] holds among the events of a Kleene plus alone, or between components alone."""

    class Agreeing(SaseDefinition):
        def selects(self, chosen: Chosen, k: int, p: int) -> bool:
            tests = self.tests
            self.tests = tests if _is_inside(chosen, k) == inside else []
            try:
                return super().selects(chosen, k, p)
            finally:
                self.tests = tests

    return Agreeing


def _is_inside(chosen: Chosen, k: int) -> bool:
    """Whether a Kleene plus goes on."""
    return bool(chosen) and chosen[-1][0] == k


def _skips(strategy: sase.Strategy, rule: Rule) -> Answers:
    """Another rule for what may be skipped, for the components of one strategy."""

    class Skipping(SaseDefinition):
        def skips(self, chosen: Chosen, k: int, r: int) -> bool:
            if clauses.strategy_of(self.q, self.pattern[k].variable) == strategy:
                return rule(self, chosen, k, r)
            return super().skips(chosen, k, r)

    return by(Skipping)


def _irrelevant(inside: bool, elsewhere: bool) -> Rule:
    """What cannot be selected is skipped, inside a Kleene plus or between components; elsewhere all, or nothing."""
    return lambda d, chosen, k, r: not d.selects(chosen, k, r) if _is_inside(chosen, k) == inside else elsewhere


def _other_types(d: SaseDefinition, chosen: Chosen, k: int, r: int) -> bool:
    return d.S[r].type != d.pattern[k].type


def _partition_of_types(d: SaseDefinition, chosen: Chosen, k: int, r: int) -> bool:
    return not d.in_partition(chosen, k, r) or _other_types(d, chosen, k, r)


def _of_another_value(d: SaseDefinition, chosen: Chosen, k: int, r: int) -> bool:
    """An event that has none of the attributes belongs to every partition."""
    return any(d.S[r].get(x) is not None for x in d.tests) and not d.in_partition(chosen, k, r)


class _KleeneSkipsForTheNext(SaseDefinition):
    """What lies before the next component is skipped by the strategy of the component before it."""

    def comes_next(self, chosen: Chosen, p: int) -> bool:
        k = chosen[-1][0]
        before = clauses.strategy_of(self.q, self.pattern[k].variable)

        def skipped(r: int) -> bool:
            return before == SA or (before != SC and self.skips(chosen, k + 1, r))

        return self.selects(chosen, k + 1, p) and any(all(map(skipped, range(t, p))) for t in self.stops(chosen, p))


STRATEGIES = (
    *wrong(
        "equivalence",
        {
            "ignored": conjuncts(lambda c: None if isinstance(c.condition, sase.Equivalence) else c),
            "absent values agree": by(_AbsentAgrees),
            "inside a Kleene plus only": by(_agreeing(inside=True)),
            "between components only": by(_agreeing(inside=False)),
        },
    ),
    *wrong(
        "strict",
        {
            "skip till next match": strategy(SC, SN),
            "skip till any match": strategy(SC, SA),
            "inside a Kleene plus only": _skips(SC, _irrelevant(inside=False, elsewhere=False)),
            "between components only": _skips(SC, _irrelevant(inside=True, elsewhere=False)),
            "other types do not count": _skips(SC, _other_types),
        },
    ),
    *wrong(
        "partition",
        {
            "strict": strategy(PC, SC),
            "skip till next match": strategy(PC, SN),
            "types are partitions": _skips(PC, _partition_of_types),
            "what is underlined does not count": conjuncts(
                lambda c: replace(c, underlined=isinstance(c.condition, sase.Equivalence))
            ),
            "absent values belong to it": _skips(PC, _of_another_value),
        },
    ),
    *wrong(
        "next",
        {
            "skip till any match": strategy(SN, SA),
            "strict": strategy(SN, SC),
            "any match inside a Kleene plus": _skips(SN, _irrelevant(inside=False, elsewhere=True)),
            "any match between components": _skips(SN, _irrelevant(inside=True, elsewhere=True)),
            "other types are skipped alone": _skips(SN, _other_types),
            "strict between components": _skips(SN, _irrelevant(inside=True, elsewhere=False)),
        },
    ),
    *wrong(
        "any",
        {
            "skip till next match": strategy(SA, SN),
            "strict": strategy(SA, SC),
            "next match inside a Kleene plus": _skips(SA, _irrelevant(inside=True, elsewhere=True)),
            "next match between components": _skips(SA, _irrelevant(inside=False, elsewhere=True)),
        },
    ),
    *wrong(
        "mixed",
        {
            "the first strategy for all": strategies(lambda said: said[:1] * len(said)),
            "the last strategy for all": strategies(lambda said: said[-1:] * len(said)),
            "strategies exchanged": strategies(lambda said: said[::-1]),
            "the component before skips": by(_KleeneSkipsForTheNext),
        },
    ),
)
