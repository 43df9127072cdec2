"""How strong the suite is, by operator, and what a run of it takes: `python -m proofs_tests.tools.suite_strength`.

It writes docs/reference/suite-strength.md. Of each operator: how many wrong semantics of it (mutants) a case of the
suite shows; and, over the queries without conditions, how much of their automata the streams go through, and for how
many of them the streams are a complete test of engines with as many states as the query has.
"""

from __future__ import annotations

import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import fill

from cerify.automata.dfa.compile import compile_expression
from cerify.conformance.cases import load
from cerify.conformance.harness import message_of
from cerify.conformance.model import Case
from cerify.conformance.oracle import stream_of
from cerify.conformance.peeling import QUESTIONS
from cerify.equivalence.complete_tests import MarkedDFA, Types, marked_dfa, minimal, vectors
from cerify.equivalence.rewrite.translate_sase import sase_to_cel
from cerify.languages import LANGUAGES
from cerify.protocol import line
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.event_expressions.syntax import START
from proofs_tests.tools.make_suite import SOURCES
from proofs_tests.tools.mutants.cel import MEANING
from proofs_tests.tools.mutants.mutant import Mutant, killed_by
from proofs_tests.tools.suites.cel import MUTANTS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "suite-strength.md"
CONDITIONS: Mapping[str, re.Pattern[str]] = {
    "cel": re.compile(r"FILTER|PARTITION|WITHIN (?![0-9]+ EVENTS)"),
    "core-cel": re.compile(r"FILTER"),
    "sase": re.compile(r"\{ *[^ }]|WHERE (?!\w+\([^)]*\) *\{)|WITHIN|NON-OVERLAP|HAVING|UNION|;"),
    "event-expression": re.compile(r"\["),
    "row-pattern": re.compile(""),
}
BUDGET = Budget(states=2_000, matches=5_000)

TEXT = """# How strong the suite is

Written by `python -m proofs_tests.tools.suite_strength`.

## Mutants that it finds

A mutant is a wrong meaning of an operator: a mistake that an engine might make. The suite finds it if some
case has other matches under this meaning. If the suite finds all mutants of an operator, only their number is
listed.

{mutants}.

## Automata that it covers

A query without conditions has a minimal automaton over marked and unmarked events
([complete tests](../theory/complete-tests.md)). This holds for CEL, for core-CEL and SASE+ as far as they are
[translated to CEL](../guide/translations.md), and for event expressions, whose events are not marked. The streams of
the suite's cases lead through some states and transitions of their query's automaton. If they contain a complete test
for m states, every engine that behaves like an automaton of at most m states and is wrong about the query fails a case;
m is at least the number of states of the query's automaton. `cerify vectors` writes such a test for your CEL query.

{automata}

## What a run takes

A run sends a line for each case and waits for the answer. When this page was written, reading the suite and writing the
messages took {seconds:.0f} s of processor time for all {cases:,} cases. An engine that answers a line in 1 ms adds
{fast:.0f} s; one that takes 50 ms, because it compiles each query anew, {slow:.0f} s. Start the engine once: a process
for each case would cost more than everything else. A case has {median} events at the median and {most} at most, so a
faster evaluator would gain nothing. To find the defects behind failures, cerify sends up to {questions:,} further
lines.

{lines}
"""


@dataclass(frozen=True)
class Covered:
    """The states and transitions of one automaton that streams lead through, of how many; and the m that they reach."""

    states: int
    of_states: int
    transitions: int
    of_transitions: int
    reached: int | None


def shown_mutants(cases: Sequence[Case]) -> dict[str, tuple[int, int]]:
    """By feature the number of mutants that some case of the language shows, and how many there are."""
    found: dict[str, tuple[int, int]] = {}
    sources: Mapping[str, tuple[Mutant, Sequence[Mutant], str]] = {
        "cel": (MEANING, MUTANTS, ""),
        **{s.language: (s.meaning, s.mutants, _prefix(s.clauses)) for s in SOURCES.values()},
    }
    for language, (meaning, mutants, prefix) in sources.items():
        own = sorted((c for c in cases if c.language == language), key=lambda c: (len(c.events), len(c.query)))
        left = {mutant.name: mutant for mutant in mutants}
        for case in own:
            query, S = LANGUAGES[language].syntax.parse(case.query), stream_of(case)
            for name in killed_by(query, S, meaning, left.values(), case.output):
                del left[name]
        total = Counter(mutant.name.split(":")[0] for mutant in mutants)
        missed = Counter(name.split(":")[0] for name in left)
        found |= {prefix + name: (number - missed[name], number) for name, number in total.items()}
    return found


def _prefix(clauses: Iterable[str]) -> str:
    """How the features of a language begin, which the names of its mutants leave out."""
    first = next(iter(clauses)).partition("-")[0]
    return "" if first == "ev" else f"{first}-"


def covered_automata(cases: Iterable[Case]) -> Iterator[tuple[str, Covered]]:
    """Each query without conditions, by its language, with what the streams of its cases lead through."""
    asked: defaultdict[tuple[str, str, str], list[Case]] = defaultdict(list)
    for case in cases:
        if not CONDITIONS[case.language].search(case.query):
            asked[case.feature, case.language, case.query].append(case)
    for (_, language, query), some in asked.items():
        try:
            automaton = automaton_of(language, query)
        except (Unsupported, BudgetExceeded):
            continue
        number = {event.type: n for n, event in enumerate(automaton.events)}
        other = next((n for R, n in number.items() if not re.search(rf"\b{re.escape(R)}\b", query)), None)
        kinds = [[None if e["type"] == START else number.get(e["type"], other) for e in c.events] for c in some]
        yield (
            language,
            covered(automaton, [tuple(n for n in word if n is not None) for word in kinds if None not in word]),
        )


def automaton_of(language: str, query: str) -> MarkedDFA:
    """The minimal automaton of a query. Raises Unsupported, BudgetExceeded."""
    tree = LANGUAGES[language].syntax.parse(query)
    if language == "event-expression":
        found = compile_expression(tree, None, BUDGET)
        coming = found.alphabet.coming
        events = tuple(event for a in coming if (event := found.alphabet.types[a].witness) is not None)
        if len(events) < len(coming):
            raise Unsupported("a type of events of which the solver found none")
        reached = [0]
        for q in reached:  # grows while it is gone through
            reached += dict.fromkeys(p for a in coming if (p := found.step(q, a)) not in reached)
        steps = [{(n, True): reached.index(found.step(q, a)) for n, a in enumerate(coming)} for q in reached]
        return replace(minimal(steps, [q in found.accepting for q in reached], events), marks=(True,))
    return marked_dfa(
        sase_to_cel(tree) if language == "sase" else LANGUAGES[language].deciders.cel_formula(tree, BUDGET),
        None,
        BUDGET,
    )


def covered(automaton: MarkedDFA, words: Sequence[Types]) -> Covered:
    """What streams, as the numbers of their kinds of events, lead through in an automaton with every marking."""
    states, transitions = {0}, set()
    for word in words:
        here = {0}
        for kind in word:
            taken = {(state, (kind, marked)) for state in here for marked in automaton.marks}
            here = {automaton.steps[state][letter] for state, letter in taken}
            transitions |= taken
            states |= here
    own = len(automaton.steps)
    beginnings = {word[:length] for word in words for length in range(len(word) + 1)}
    reached = None
    for bound in range(own, own + 3):
        try:
            if not beginnings.issuperset(vectors(automaton, bound, BUDGET)):
                break
        except BudgetExceeded:
            break
        reached = bound
    return Covered(len(states), own, len(transitions), own * len(automaton.letters), reached)


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of Markdown, whose columns after the first are numbers."""
    first, *others = (f"| {' | '.join(map(str, row))} |" for row in (header, *rows))
    return "\n".join([first, "|---" + "|---:" * (len(header) - 1) + "|", *others])


def page(cases: Sequence[Case]) -> str:
    """The text of the page."""
    by_language: defaultdict[str, list[Covered]] = defaultdict(list)
    for language, one in covered_automata(cases):
        by_language[language].append(one)
    rows = [
        (
            LANGUAGES[language].title,
            len(found),
            f"{sum(one.states for one in found)} of {sum(one.of_states for one in found)}",
            f"{sum(one.transitions for one in found)} of {sum(one.of_transitions for one in found)}",
            sum(one.reached is not None for one in found),
            max((one.reached for one in found if one.reached is not None), default="–"),
        )
        for language, found in by_language.items()
    ]
    mutants = ", ".join(
        f"`{name}` {there}" if shown == there else f"**`{name}` {shown} of {there}**"
        for name, (shown, there) in shown_mutants(cases).items()
    )
    started = time.process_time()
    sizes = {case.id: len(line(message_of(case))) for case in load(None)}
    seconds = time.process_time() - started
    lengths = sorted(len(case.events) for case in cases)
    per_language = [
        (
            LANGUAGES[name].title,
            len(ids),
            f"{sum(map(sizes.__getitem__, ids)) // 1024:,}",
            max(map(sizes.__getitem__, ids)),
        )
        for name in LANGUAGES
        if (ids := [case.id for case in cases if case.language == name])
    ]
    return TEXT.format(
        mutants=fill(mutants, 118, break_on_hyphens=False),
        automata=table(("language", "queries", "states", "transitions", "complete tests", "largest m"), rows),
        lines=table(("language", "lines", "KiB", "longest line in bytes"), per_language),
        seconds=seconds,
        cases=len(cases),
        questions=QUESTIONS,
        fast=len(cases) / 1000,
        slow=len(cases) / 20,
        median=lengths[len(lengths) // 2],
        most=lengths[-1],
    )


if __name__ == "__main__":
    PAGE.write_text(page(load(None)), encoding="utf-8")
