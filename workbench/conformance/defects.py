"""From the failures of a run to its defects: their smallest cases, their causes, and the cases that each explains."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass

from cerify.conformance.causes import Choice, Choices, causes_of, chosen_for
from cerify.conformance.model import Defect, Result
from cerify.conformance.peeling import Kernel, Peeler
from cerify.conformance.why import why_of

EMPTY = 3  # answers without the matches that they should have, at least, of an engine that never gives any
MATCH = re.compile(r"\{.*\}")  # in a sentence about the form of an answer

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Group:
    """Kernels that are one defect, the smallest first, with the choice that explains them, if there is one.

    beside: the choices that explain other defects.
    """

    kernels: tuple[Kernel, ...]
    choice: Choice | None = None
    beside: tuple[Choice, ...] = ()

    @property
    def cases(self) -> tuple[str, ...]:
        """The ids of the cases of the kernels."""
        return tuple(id_ for kernel in self.kernels for id_ in kernel.cases)


def defects_behind(
    peeler: Peeler,
    failures: Sequence[Result],
    results: Sequence[Result],
    progress: Progress = lambda what, done, total: None,
) -> list[Defect]:
    """The defects behind the failures of a run with these results, those that explain most cases first."""
    kernels = peeler.kernels(failures, lambda done, total: progress("looking for defects", done, total))
    by_id = {result.case.id: result for result in results}
    found: list[tuple[Group, Choices]] = []
    for language in dict.fromkeys(kernel.signature.language for kernel in kernels):
        passed = sorted(
            (r.case for r in results if r.outcome == "passed" and r.case.language == language),
            key=lambda case: (len(case.query) + 8 * len(case.events), case.id),
        )
        own = [kernel for kernel in kernels if kernel.signature.language == language]
        failing = [result for result in failures if result.case.language == language]
        empty = always_empty([result for result in results if result.case.language == language])
        choices = Choices(language, passed, peeler.oracle.held(language), excluded=empty)
        found += [(group, choices) for group in _grouped(peeler, own, failing, choices)]
    found.sort(key=lambda pair: (-len(pair[0].cases), pair[0].kernels[0].result.case.query))
    return [_defect(f"d{i}", *pair, by_id) for i, pair in enumerate(found, 1)]


def always_empty(results: Sequence[Result]) -> bool:
    """Whether the engine gave no match in any of its answers, though several of them should have had some."""
    answers = [result for result in results if result.matches is not None]
    return not any(one.matches for one in answers) and sum(bool(one.case.matches) for one in answers) >= EMPTY


def described(results: Sequence[Result], empty: bool) -> str:
    """What is wrong with answers where that has nothing to do with the operators of the queries; "" otherwise."""
    if empty and results[0].matches is not None:
        return "the engine gives no match in any of its answers"
    if all(one.outcome == "failed" and set(one.matches or ()) == set(one.case.matches) for one in results):
        return "the matches are the expected ones, and only the form of the answers is wrong"
    return ""


def _grouped(peeler: Peeler, kernels: Sequence[Kernel], failing: Sequence[Result], choices: Choices) -> list[Group]:
    """The kernels, where those that one choice explains are together, and the cases go to what explains them.

    Those that do not depend on the operators of their queries are together too.
    """
    chosen = chosen_for(choices, [kernel.result for kernel in kernels], failing)
    alone = {k.signature: next((c for c in chosen if choices.reproduces([c], k.result)), None) for k in kernels}
    groups: dict[object, list[Kernel]] = {}
    for kernel in sorted(kernels, key=lambda k: alone[k.signature] is None):
        own: object = alone[kernel.signature] or _needed(choices, chosen, kernel.result, groups)
        if text := described([kernel.result], choices.excluded):
            own = text, MATCH.sub("", kernel.result.detail)
        groups.setdefault(own or kernel.signature, []).append(kernel)
    return [
        Group(tuple(group), key if key in chosen else None, tuple(c for c in chosen if c != key))
        for key, group in groups.items()
    ]


def _needed(choices: Choices, chosen: Sequence[Choice], result: Result, known: Container[object]) -> Choice | None:
    """One of the choices without which the others do not give the answer, if there is one, one that is not known."""
    if not choices.reproduces(chosen, result):
        return None
    needed = [c for c in chosen if not choices.reproduces([other for other in chosen if other != c], result)]
    return next((c for c in needed if c not in known), next(iter(needed), None))


def _defect(id_: str, group: Group, choices: Choices, by_id: dict[str, Result]) -> Defect:
    kernels = sorted(group.kernels, key=lambda k: (len(k.result.case.query), len(k.result.case.events)))
    first = kernels[0]
    others = tuple(r for k in kernels for r in (k.result, *k.variants) if r is not first.result)
    recorded = [by_id[case] for case in group.cases if case in by_id]
    bearing = tuple(name for name in choices.held if choices.concerns(first.result.case, [name]))
    return Defect(
        id=id_,
        kind=first.signature.kind,
        operators=tuple(sorted(first.signature.blamed)),
        result=first.result,
        original=first.origin,
        cases=tuple(sorted(group.cases)),
        variants=others,
        # Where no case was passed nothing speaks against a choice.
        causes=causes_of(choices, [first.result, *recorded], group.choice, group.beside) if choices.passed else (),
        description=described([first.result, *recorded], choices.excluded),
        why=why_of(first.result, {name: choices.held[name] for name in bearing}),
        stopped=first.stopped,
        held=choices.held,
        bearing=bearing,
    )
