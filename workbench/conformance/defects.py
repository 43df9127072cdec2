"""Group the failures of a run into defects: their smallest cases, their causes, and the cases that each explains.

One mistake of an engine may fail hundreds of cases. Each failure is first made as small as possible, because small
cases have few possible causes. Causes are choices of another semantics that predict the engine's answers. Sets of
choices are too many to try all, so the search is greedy; then each chosen one has to hold against its rivals on the
other answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from cerify.api import match
from cerify.conformance.inquiry import ROUNDS, Inquiry
from cerify.conformance.judgement import (
    AnsweredCase,
    Choice,
    Choices,
    ChoiceScorer,
    Given,
    given_by,
    operators_in,
    repeats_a_type,
    silent_if_repeated,
    silent_operators,
)
from cerify.conformance.model import (
    PERHAPS,
    Case,
    CaseResult,
    Defect,
    DefectCause,
    format_matches,
    kinds_compared,
    kinds_of,
    plural,
)
from cerify.conformance.oracle import stream_of
from cerify.conformance.peeling import OVER, DiagnosisStopped, Elements, Kernel, Peeler, Watch
from cerify.conformance.prediction import AXES, INTERPRETATIONS, STAGES, interpretation_of
from cerify.conformance.report import axis_says, event_text
from cerify.equivalence.generate.shrink import shrink, shrink_stream
from cerify.explanations.explanation import Request, explanation_lines
from cerify.hypotheses.interpretation import AT_MOST, EngineError, allows, choices_of
from cerify.languages import LANGUAGES
from cerify.languages.language import DENOTATIONAL, Language
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import CerifyError
from cerify.semantics.events import Match, Stream

# ---------------------------------------------------------------------------------------------------------------------
# The likely causes of defects: the choices of another semantics that give the engine's answers.

MOSTLY = 0.5  # the share of the answers that a cause must predict
CONTRADICTED = 0.3  # of the answers that a choice changes, the share that may contradict what is nearly a cause
SAMPLE = 120  # failing cases on which choices are compared
COMPARED = 60  # answers to failing cases, and as many right ones, on which each choice is compared with its rivals
UNPASSED = 6  # answers that one of the choices must predict if the engine passed no case
SHOWN = 3  # causes of a defect that are listed
CLIMBING = 0.6  # the share of the time for a search over all answers
CLIMBS = 3  # such searches, each over the answers to further questions too
EARLY = 0.5  # the share of the time left after it for questions about its choices


def chosen_for(choices: Choices, smallest: Sequence[CaseResult], failing: Sequence[CaseResult]) -> list[Choice]:
    """Return a small set of choices that together explain as many of the reduced failing cases (`smallest`) as
    possible.

    A choice is an axis of meaning with one of its values. The search is greedy. A tie goes to the choice that, with the
    choices selected before, explains most of the original failing cases. A second pass looks for choices that explain
    further cases only together with the selected ones. Last, each choice is replaced by another one if that explains
    more failing cases (see `revised`).
    """
    # Evenly spread, because neighbours in a suite test similar things.
    sample = failing[:: max(1, len(failing) // SAMPLE)]
    taken: list[Choice] = []
    covers: dict[Choice, set[int]] = {}
    left = set(range(len(smallest)))

    def taking(candidates: Mapping[Choice, set[int]]) -> None:
        """Select choices until no candidate predicts a remaining answer."""
        while free := {
            c: len(found & left) for c, found in candidates.items() if found & left and not _is_axis_taken(c, taken)
        }:
            best = [c for c, number in free.items() if number == max(free.values())]
            joint = {c: sum(choices.reproduces([*taken, c], one) for one in sample) for c in best}
            choice = max(joint, key=lambda c: joint[c])
            taken.append(choice)
            covers[choice] = candidates[choice]
            left.difference_update(candidates[choice])

    def giving(beside: Sequence[Choice], among: Iterable[int]) -> dict[Choice, set[int]]:
        """Map each choice to the indices, from `among`, of the answers that it predicts together with the choices
        `beside`.

        Choices that predict none, or that contradict an answer that passed, are left out.
        """
        found = {c: {i for i in among if choices.reproduces([*beside, c], smallest[i])} for c in choices}
        return {c: answers for c, answers in found.items() if answers and choices.possible(c)}

    taking(giving([], tuple(left)))
    if taken and left:
        taking(giving(tuple(taken), tuple(left)))
    # Only the answers that one choice alone explains can show that another value of its axis is better.
    only = [covers[c].difference(*(covers[other] for other in taken if other != c)) or covers[c] for c in taken]
    return revised(choices, taken, [[smallest[i] for i in own] for own in only], failing)


def _cost(result: CaseResult) -> tuple[int, str]:
    return len(result.case.query) + 8 * len(result.case.events), result.case.id


def revised(
    choices: Choices, taken: Sequence[Choice], smallest: Sequence[Sequence[CaseResult]], failing: Sequence[CaseResult]
) -> list[Choice]:
    """Replace each choice by a rival choice if the rival explains more failing cases, given the other choices.

    smallest: for each choice, the reduced failing cases that it explains. Its rivals are the choices that, with the
    other choices, explain these cases too.
    """
    found = list(taken)
    for n, choice in enumerate(found):
        rest = found[:n] + found[n + 1 :]
        rivals = [
            c
            for c in choices
            if c == choice
            or (not _is_axis_taken(c, rest) and all(choices.reproduces([*rest, c], one) for one in smallest[n]))
        ]
        if len(rivals) > 1:
            asked = answered_about(choices, {axis for axis, _ in rivals}, failing)
            number = {c: sum(choices.answer(case, [*rest, c]) == given for case, given in asked) for c in rivals}
            # A tie keeps the choice: a change without evidence would only confuse.
            found[n] = max(rivals, key=lambda c: (number[c], c == choice))
    return found


def answered_about(choices: Choices, axes: set[str], failing: Sequence[CaseResult]) -> list[tuple[Case, Given]]:
    """Return the cases whose meaning a choice on one of these axes can change, with the engine's answers."""
    wrong = [(one.case, given_by(one)) for one in failing if choices.concerns(one.case, axes)]
    right: list[tuple[Case, Given]] = [(c, frozenset(c.matches)) for c in choices.passed if choices.concerns(c, axes)]
    # Evenly spread, as neighbours in a suite are alike; wrong and right ones apart, since there may be few of one kind.
    return [one for some in (wrong, right) for one in some[:: -(-len(some) // COMPARED) or 1]]


def _is_axis_taken(choice: Choice, taken: Iterable[Choice]) -> bool:
    return any(axis == choice[0] for axis, _ in taken)


def causes_of(
    choices: Choices, results: Sequence[CaseResult], first: Choice | None = None, beside: Sequence[Choice] = ()
) -> tuple[DefectCause, ...]:
    """Return the choices that predict the answer to the smallest case and at least half of all answers, the best first.

    results: the answers to explain, beginning with the one to the smallest case. first: a choice that is already
    selected; it comes first if it predicts any answer. beside: the causes of other defects. An answer that `first`
    predicts only together with them counts for `first` too.
    """
    number = {
        c: sum(choices.reproduces([c], one) for one in results)
        for c in choices
        if c == first or (choices.reproduces([c], results[0]) and choices.possible(c))
    }
    alone, needed = number.get(first, 0) if first else 0, tuple[str, ...]()
    if first is not None:
        jointly = [one for one in results if not choices.reproduces([first], one)]
        jointly = [one for one in jointly if choices.reproduces([*beside, first], one)]
        number[first] = alone + len(jointly)
        left = {other: [first, *(o for o in beside if o != other)] for other in beside}
        needed = tuple(
            "=".join(o) for o, way in left.items() if not all(choices.reproduces(way, one) for one in jointly)
        )
    enough = (c for c in number if number[c] and (c == first or number[c] >= MOSTLY * len(results)))
    ordered = sorted(enough, key=lambda c: (c != first, -number[c]))
    return tuple(
        DefectCause(*c, number[c], len(results), *((alone, needed) if c == first else ())) for c in ordered[:SHOWN]
    )


# ---------------------------------------------------------------------------------------------------------------------
# Why the semantics differs from an engine: why a missing match is a match, or why an extra one is not.

LINES = 24  # lines of an explanation that are shown


def why_of(result: CaseResult, held: Mapping[str, str] = {}) -> str:
    """Explain why the first differing match is a match, or why it is not; return "" without an explanation.

    held: the choices of a policy or a reading that concern the query (see `choices_behind`). If they change whether
    this match is expected, the text says what they mean. Otherwise it is the derivation by the definition of the
    language, and its first line names the choices.
    """
    first, expected = first_difference(result), set(result.case.matches)
    if first is None:
        return ""
    language = result.case.language
    defined = Choices(language).answer(result.case, ()) if held else expected
    says = ", ".join(f"{axis}={value}" for axis, value in held.items())
    if held and (first in expected) != (isinstance(defined, frozenset) and first in defined):
        meanings = (axis_says(language, axis, value) for axis, value in held.items())
        lines = [f"the expected matches follow {says}, which is not the default meaning", *filter(None, meanings)]
        due = "" if first in expected else "not "
        return "\n".join([*lines, f"by this, {format_matches([first], 1)} is {due}expected"])
    with suppress(CerifyError):
        heading, line_end, derivation = explained(result, first).partition("\n")
        return f"{heading}{f' by {says}, as by the default meaning' if says else ''}{line_end}{derivation}"
    return ""


def first_difference(result: CaseResult) -> Match | None:
    """Return the first missing match, or else the first wrong one; None if this match has events outside the stream."""
    if result.outcome not in ("failed", "error", "crashed", "timeout", "memory", "protocol"):
        return None
    expected, got = set(result.case.matches), set(result.matches or ())
    different = sorted(expected - got) or sorted(got - expected)
    return next((m for m in different if m.events and max((m.at, *m.events)) < len(result.case.events)), None)


def bearing_choices(case: Case, held: Mapping[str, str]) -> dict[str, str]:
    """Return the choices of a policy or a reading that change the expected matches of a case.

    If no single choice changes them, return all choices.
    """
    known = AXES.get(case.language, {})
    choices = Choices(case.language, held=choices_of(held, known))
    expected = frozenset(case.matches)
    if not held or choices.answer(case, [(axis.name, axis.default) for axis in known.values()]) == expected:
        return {}
    plain = {axis for axis in known.values() if choices.answer(case, [(axis.name, axis.default)]) != expected}
    return {n: value for n, value in held.items() if any(n in (axis.name, axis.base) for axis in plain)} or {**held}


def choices_behind(case: Case, held: Mapping[str, str]) -> dict[str, str]:
    """Return the choices of a policy or a reading (held) that change the expected matches of a case.

    If no choice changes them, return the choices whose axes matter for the query.
    """
    known, choices = AXES.get(case.language, {}), Choices(case.language)
    own = {n: {axis.name for axis in known.values() if n in (axis.name, axis.base)} for n in held}
    return bearing_choices(case, held) or {n: value for n, value in held.items() if choices.concerns(case, own[n])}


def explained(result: CaseResult, match: Match) -> str:
    """Return the explanation why a match is, or is not, a match. Raises Unsupported, BudgetExceeded."""
    case = result.case
    language = LANGUAGES[case.language]
    explainer = language.explanations.explainer(language.syntax.parse(case.query), stream_of(case), case.query)
    found = explainer.explain_request(Request(events=frozenset(match.events), at=match.at))
    if found is None:
        return ""
    text = "\n".join(line.text.rstrip() for line in explanation_lines(explainer, found))
    lines = text.strip().splitlines()
    return "\n".join(lines[:LINES] + (["..."] if len(lines) > LINES else []))


HIDDEN_ROUNDS = 3  # searches for cases that another defect has hidden
EMPTY = 3  # answers that lack matches, at least, before an engine counts as never giving any
ERROR_PARTS = re.compile(r"\d+|'[^']*'|\"[^\"]*\"|\([^)]*\)")
"""A pattern for the parts in which messages of the same error may differ: numbers, quotations, and text in brackets."""
QUOTED = 20  # characters shared by an error and the query, with which a quotation of the query begins
ALIKE_ERRORS = 130  # errors with this many equal characters are one defect: the query often follows
MATCH = re.compile(r"\{.*\}")  # in a sentence about the form of an answer

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class DefectGroup:
    """The smallest failing cases (kernels) of one defect, the smallest first.

    choice: the choice that explains them, if there is one. beside: the choices that explain other defects. stopped: why
    the search for a choice ended early, "" if it did not. doubt: a sentence about a choice that would explain them, but
    that an answer contradicts. general: a choice such as window=unlimited, if it holds for every axis of this name
    (window@time, window@events) on which answers depend.
    """

    kernels: tuple[Kernel, ...]
    choice: Choice | None = None
    beside: tuple[Choice, ...] = ()
    stopped: str = ""
    doubt: str = ""
    general: Choice | None = None

    @property
    def cases(self) -> tuple[str, ...]:
        """Return the ids of all failing cases of the defect."""
        return tuple(id_ for kernel in self.kernels for id_ in kernel.cases)


def defects_behind(
    peeler: Peeler,
    failures: Sequence[CaseResult],
    results: Sequence[CaseResult],
    progress: Progress = lambda what, done, total: None,
) -> list[Defect]:
    """Find the defects that cause the failures of a run; return them, beginning with those that explain most cases."""
    silent = silent_failures(failures, results)
    known = {
        language: Choices(
            language,
            [r.case for r in sorted(results, key=_cost) if r.outcome == "passed" and r.case.language == language],
            peeler.oracle.find_choices(language),
            watch=peeler.watch,
        )
        for language in dict.fromkeys(result.case.language for result in failures)
    }
    explained = set[str]()
    for language, choices in known.items():
        answered = [result for result in results if result.case.language == language]
        if not always_empty(answered) and not peeler.watch.interrupted:  # it takes seconds to parse all queries
            choices.silent = frozenset(silent_operators(answered, EMPTY))
            choices.silent_twice = frozenset(silent_if_repeated(answered, EMPTY))
        explained |= _suggest(peeler, choices, failures, results)
    kernels = peeler.kernels(
        [r for r in failures if r.case.id not in silent],
        lambda done, total: progress("looking for defects", done, total),
        explained,
    )
    peeler.shrinks = False
    if not peeler.watch.interrupted:
        # The share of the time for smaller cases is used up, not the whole: the search for causes goes on.
        peeler.stopped = "" if peeler.stopped.startswith(OVER) else peeler.stopped
    by_id = {result.case.id: result for result in results}
    found: list[tuple[DefectGroup, Choices]] = []
    for language in dict.fromkeys(kernel.signature.language for kernel in kernels):
        choices = known[language]
        own = [kernel for kernel in kernels if kernel.signature.language == language]
        failing = [result for result in failures if result.case.language == language]
        answered = [result for result in results if result.case.language == language]
        empty = always_empty(answered)
        choices.silencing = empty and _one_choice_silences(choices, answered)
        choices.excluded = empty and not choices.silencing
        if empty:
            own = [_of_all_silent(own, silent, language)]
        groups = _group_kernels(peeler, own, failing, choices, answered)
        found += [(group, choices) for group in groups if group.cases]
        choices.watch = Watch()  # the findings are described without a time limit
    found.sort(key=lambda pair: (-len(pair[0].cases), pair[0].kernels[0].result.case.query))
    hurried = peeler.watch.interrupted
    return [_defect(f"d{i}", *pair, by_id, hurried) for i, pair in enumerate(found, 1)]


def _suggest(
    peeler: Peeler, choices: Choices, failures: Sequence[CaseResult], results: Sequence[CaseResult]
) -> set[str]:
    """Look for the choices that together explain the most answers, and settle those that no answer contradicts.

    Return the ids of the failing cases that they explain. This takes seconds, whereas the search for smaller cases and
    for further causes may use up the time. Further questions may contradict what the cases of the suite suggest, so
    they decide if they can be asked.
    """
    failing, answered = ([one for one in some if one.case.language == choices.language] for some in (failures, results))
    judge, asks = ChoiceScorer(choices, answered), choices.language in STAGES
    if always_empty(answered) or not (choices.passed or (not asks and len(failing) > 1)):
        return set()
    choices.watch, explained = peeler.watch.part(CLIMBING), set[str]()
    with _stopping(peeler):  # the first choices of a climb explain most, so it need not come to its end
        judge.climb()
    climbed = judge.climbed
    choices.watch, choices.unconfirmed = peeler.watch, len(climbed)
    inquiry = Inquiry(peeler, choices, min(failing, key=_cost).case)
    with _stopping(peeler):
        stands = judge.confirm(climbed)
        choices.watch = peeler.watch.part(EARLY if asks else 1.0)
        for _ in range(CLIMBS if asks else 0):
            for choice in climbed:  # which perhaps only right answers show so far
                if choice not in stands:
                    inquiry.show(choice, climbed)
            judge.add(inquiry.asked)
            stands = inquiry.settle(judge, climbed)
            if {*stands} >= {*climbed}:
                break
            climbed = judge.climb()
        choices.settled, choices.unconfirmed = stands, 0
        choices.alike |= {choice: tuple(judge.alike(choice, stands)) for choice in stands}
        explained = {one.case.id for one in failing if stands and choices.reproduces(stands, one)}
    choices.asked += inquiry.asked  # no question is asked twice, so `_standing` judges by these answers, too
    choices.watch = peeler.watch
    return explained


@contextmanager
def _stopping(peeler: Peeler) -> Iterator[None]:
    """End a part of the search if its time is over; end all questions if the user interrupts it."""
    try:
        yield
    except DiagnosisStopped:
        pass
    except KeyboardInterrupt as error:
        peeler.stop(error)


def always_empty(results: Sequence[CaseResult]) -> bool:
    """Return whether no answer of the engine has a match, although several should have one."""
    answers = [result for result in results if result.matches is not None]
    return not any(one.matches for one in answers) and sum(bool(one.case.matches) for one in answers) >= EMPTY


def _one_choice_silences(choices: Choices, answered: Sequence[CaseResult]) -> bool:
    """Return whether all answers are to one query, and one choice predicts that the query never has a match."""
    cases = [result.case for result in answered if result.matches is not None]
    if len({case.query for case in cases}) != 1:
        return False
    with suppress(DiagnosisStopped):
        return any(all(choices.answer(case, [choice]) == frozenset() for case in cases) for choice in choices)
    return False


def silent_failures(failures: Sequence[CaseResult], results: Sequence[CaseResult]) -> dict[str, str]:
    """Return the failed cases of languages in which the engine never reported a match: their ids with their languages.

    The smallest case of each language is left out. It shows the whole fault, and a search over hundreds of cases would
    take too long.
    """
    found: dict[str, str] = {}
    for language in dict.fromkeys(result.case.language for result in failures):
        if always_empty([result for result in results if result.case.language == language]):
            mine = [r for r in failures if r.case.language == language and r.outcome == "failed" and not r.matches]
            mine.sort(key=lambda r: (len(r.case.query), len(r.case.events), r.case.id))
            found |= {r.case.id: language for r in mine[1:]}
    return found


def _of_all_silent(kernels: Sequence[Kernel], silent: Mapping[str, str], language: str) -> Kernel:
    """Return one kernel (a shrunk failing case) for an engine that never reports matches: the smallest, with all failed
    cases.
    """
    rest = tuple(id_ for id_, of in silent.items() if of == language)
    ids = dict.fromkeys((*(id_ for kernel in kernels for id_ in kernel.cases), *rest))
    return replace(kernels[0], cases=tuple(ids))


def described(results: Sequence[CaseResult], empty: bool, silent: Iterable[str] = ()) -> str:
    """Return a description of a fault that is evident without a search for a choice; "" for other faults.

    silent: phrases about queries that never get a match, each beginning with an operator without which the engine
    answers the query of the first result correctly.
    """
    if empty and results[0].matches is not None:
        return "the engine gives no match in any of its answers"
    if all(one.outcome == "failed" and set(one.matches or ()) == set(one.case.matches) for one in results):
        return "the matches are right, and only the form of the answers is wrong"
    if (name := next(iter(sorted(silent)), "")) and results[0].matches is not None and not results[0].matches:
        return f"the engine gives no match for any query with {name}"
    return ""


def _silences(choices: Choices, kernel: Kernel) -> list[str]:
    """Return phrases about queries like the kernel's that never get a match, each beginning with an operator."""
    blamed = kernel.signature.blamed
    twice = blamed & choices.silent_twice if repeats_a_type(kernel.result.case) else frozenset()
    return [*(blamed & choices.silent), *(f"{name} that names a type twice" for name in twice)]


def _standing(
    peeler: Peeler,
    kernels: Sequence[Kernel],
    failing: Sequence[CaseResult],
    choices: Choices,
    answered: Sequence[CaseResult],
) -> list[Choice]:
    """Return the choices that are accepted after all answers are judged. Rejected choices are not searched again."""
    if choices.excluded:
        return []
    inquiry = Inquiry(peeler, choices, kernels[0].origin.case)
    smallest = [kernel.result for kernel in kernels]
    asks = choices.language in STAGES
    told = [*answered, *choices.asked]
    stands = _settle_choices(inquiry, kernels, failing, choices, told) if asks else list(choices.settled)
    judge = ChoiceScorer(choices, [*told, *smallest, *inquiry.asked], _unexplained(choices, stands, kernels))
    choices.alike |= {choice: tuple(judge.alike(choice, stands)) for choice in stands}  # if time runs out below
    choices.settled = stands or choices.settled
    if _is_open(choices, stands, smallest):
        found, likely, unfit = inquiry.identify() if asks else ([[choice] for choice in judge.climb()], [], [])
        further = [alike[0] for alike in found]
        unexplained = _unexplained(choices, further, kernels)
        judge = ChoiceScorer(choices, [*told, *smallest, *inquiry.asked], unexplained, unfit)
        further = [_least_contradicted(judge, alike, further) for alike in found]
        choices.nearly.append([*further, *likely])
        if asks:
            together = judge.confirm(list({**dict(stands), **dict(further)}.items()), likely=likely)
        else:
            climbs = judge.confirm_climbs(further, ROUNDS)
            together = max(climbs, key=lambda some: _number_given(choices, some, failing))
        if _number_given(choices, together, smallest) > _number_given(choices, stands, smallest):
            stands = together
        else:
            stands = judge.confirm(stands)
    blamed = _unexplained(choices, stands, kernels)
    stands = [choice for choice in stands if not _is_refuted(choices, choice, kernels, blamed)]
    stands = [choice for choice in stands if not _is_limit_elsewhere(choices, choice, kernels, blamed)]
    if not choices.passed:  # no right answer can contradict a choice, so it needs several wrong answers
        # If no further questions can be asked, two answers are enough: the choices that give them too are listed.
        many = any(len(judge.weigh(choice, stands).for_) >= UNPASSED for choice in stands)
        stands = stands if many or (not asks and len(failing) > 1) else []
    choices.banned -= set(stands)  # a choice rejected alone may be accepted with those that `identify` found
    suite = ChoiceScorer(choices, answered)
    choices.silent -= {name for name in choices.silent if _is_silence_explained(choices, name, stands, failing)}
    twice = [one for one in failing if repeats_a_type(one.case)]
    choices.silent_twice -= {n for n in choices.silent_twice if _is_silence_explained(choices, n, stands, twice)}
    choices.asked += inquiry.asked
    for choice in stands:
        choices.alike[choice] = rivals = tuple(judge.alike(choice, stands))
        choices.apart[choice] = inquiry.telling_apart(choice, rivals[0], stands) if rivals else ""
        choices.replayed[choice] = suite.failing_under(()), suite.failing_under([choice])
    return stands


def _least_contradicted(judge: ChoiceScorer, alike: Sequence[Choice], beside: Sequence[Choice]) -> Choice:
    """Return the choice that the fewest answers contradict, given the choices on other axes.

    alike: the choices to compare, all on one axis.
    """
    others = [other for other in beside if other[0] != alike[0][0]]
    return min(alike, key=lambda choice: len(judge.weigh(choice, others).against))


def _is_silence_explained(choices: Choices, name: str, stands: Sequence[Choice], failing: Sequence[CaseResult]) -> bool:
    """Return whether choices predict all wrong answers to queries whose only silent operator is `name`.

    An operator is silent if its queries never get a match.
    """
    silent = choices.silent | choices.silent_twice
    own = [r for r in failing if r.outcome == "failed" and silent & operators_in(r.case) == {name}]
    return bool(own) and all(choices.reproduces(stands, r) for r in own)


def _nearly_standing(suite: ChoiceScorer, stands: Sequence[Choice], fallen: Sequence[Choice]) -> list[Choice]:
    """Return the rejected choices, except those that many answers contradict."""
    left = [choice for choice in fallen if not _is_axis_taken(choice, stands)]
    while left:
        shares = {choice: suite.weigh(choice, [*stands, *left]).share_against for choice in left}
        if max(shares.values()) <= CONTRADICTED:
            break
        left.remove(max(left, key=lambda choice: shares[choice]))
    return left


def _doubt(
    suite: ChoiceScorer,
    stands: Sequence[Choice],
    nearly: Sequence[Choice],
    result: CaseResult,
    failing: Sequence[CaseResult],
) -> str:
    """Return a sentence about choices that would explain a wrong answer but were rejected, and why; "" if there are
    none.

    nearly: the rejected choices. Together with the accepted ones they must predict most wrong answers that have no
    cause. They must contradict no right answer, except about other types of values, or if all answers against them are
    to queries of another kind (see `_is_set_apart`). The sentence names only the choices that this answer needs. Its
    counts assume the others, because answers to other queries may need them too.
    """
    choices = suite.choices
    open_ = [one for one in failing if not (stands and choices.reproduces(stands, one))]
    together = sum(choices.reproduces([*stands, *nearly], one) for one in open_)
    if not nearly or together < MOSTLY * len(open_) or not choices.reproduces([*stands, *nearly], result):
        return ""
    needed = list(nearly)
    for choice in nearly:
        if choices.reproduces([*stands, *(other for other in needed if other != choice)], result):
            needed.remove(choice)
    others = [choice for choice in nearly if choice not in needed]
    for_, against = _evidence(suite, needed, [*stands, *others])
    without = ""
    if not against and others:  # rejected only because the others were
        for_, against = _evidence(suite, needed, stands)
        without = f" without {' and '.join('='.join(choice) for choice in others)}"
    if not needed or not against:
        return ""
    kinds = _kinds_apart([one.case for one in for_], [one.case for one in against])
    right = sum(not one.wrong for one in against)
    if right and not kinds and not without and not _is_set_apart(choices, for_, against):
        return ""
    own = {(id(one.case), given_by(one)) for one in open_}  # an id of the suite also names questions made from its case
    given, differing = (len({(id(one.case), one.given) for one in some} & own) for some in (for_, against))
    left = len(own) - given - differing
    differ = plural(len(against), "right answer" if right == len(against) else "answer")
    differ += f", {right} of them right, would differ" if 0 < right < len(against) else " would differ"
    smallest = min((one.case for one in against), key=lambda case: (len(case.events), len(case.query), case.id))
    names = " and ".join("=".join(choice) for choice in needed)
    where, elsewhere = (f", for {kinds[0]} alone", f"for {kinds[1]} ") if kinds else ("", "")
    return (
        f"{PERHAPS} {names}{where}, which would give {given} of the {plural(len(own), 'answer')} without a cause"
        f"{f' and does not affect {left}' if left else ''};\n"
        f"not named, because {elsewhere}{differ}{without}, such as that to "
        f"{smallest.query} on {' '.join(map(event_text, smallest.events)) or 'no events'}"
    )


def _evidence(
    suite: ChoiceScorer, needed: Sequence[Choice], beside: Sequence[Choice]
) -> tuple[list[AnsweredCase], list[AnsweredCase]]:
    """Return the answers for and against some choices.

    Only answers to cases whose predicted answer the choices change are counted: for the choices if the new prediction
    is the engine's answer, else against them. beside: further choices, which are assumed throughout.
    """
    changed = [
        (one, answer)
        for one in suite.answers
        if (answer := suite.choices.answer(one.case, [*beside, *needed]))
        not in (None, suite.choices.answer(one.case, beside))
    ]
    return (
        [one for one, answer in changed if answer == one.given],
        [one for one, answer in changed if answer != one.given],
    )


def _is_set_apart(choices: Choices, for_: Iterable[AnsweredCase], against: Iterable[AnsweredCase]) -> bool:
    """Return whether the queries of all answers against a choice share some axes that no query of an answer for it has
    together.

    Then another fault, which needs these axes together, may have made the answers right or wrong.
    """
    common = frozenset.intersection(*(choices.axes_of(one.case) for one in against))
    return bool(common) and not any(common <= choices.axes_of(one.case) for one in for_)


def _kinds_apart(for_: Iterable[Case], against: Iterable[Case]) -> tuple[str, str] | None:
    """Return the kinds of values in cases for a choice, and those in cases against it, both as text.

    Return None if some kind is in both.
    """
    own, other = (
        {
            kind
            for case in some
            if len(kinds := kinds_compared(case.language, case.query, case.schema)) == 1
            for kind in kinds
        }
        for some in (for_, against)
    )
    return (" and ".join(sorted(own)), " and ".join(sorted(other))) if own and other and own.isdisjoint(other) else None


def _is_refuted(choices: Choices, choice: Choice, kernels: Sequence[Kernel], unexplained: Collection[Elements]) -> bool:
    """Return whether an unexplained failure has all elements that a failure explained by the choice needs.

    Then the engine's meaning is near the choice, but different. Only failures that need more than operators, such as an
    absent attribute or a division, are compared.
    """
    own = set(AXES[choices.language][choice[0]].operators)
    needed = [k for k in kernels if own and own <= k.signature.blamed and choices.reproduces([choice], k.result)]
    special = [k.signature.blamed for k in needed if not k.signature.blamed <= operators_in(k.result.case)]
    return any(blamed <= other for blamed in special for other in unexplained)


def _is_limit_elsewhere(
    choices: Choices, choice: Choice, kernels: Sequence[Kernel], unexplained: Collection[Elements]
) -> bool:
    """Return whether a choice limits the rounds of an iteration, but matches are also missing without it, on streams
    longer than the limit.

    Then the engine probably limits something else, such as the events that it keeps.
    """
    own, most = set(AXES[choices.language][choice[0]].operators), AT_MOST.get(choice[1])
    other = (k for k in kernels if k.signature.blamed in unexplained and own.isdisjoint(k.signature.blamed))
    return most is not None and any(k.signature.kind == "missing" and len(k.result.case.events) > most for k in other)


def _is_open(choices: Choices, stands: Sequence[Choice], smallest: Sequence[CaseResult]) -> bool:
    """Return whether some wrong answer is explained by no accepted choice, so that a rejected choice might explain
    it.
    """
    return any(
        given_by(one) is not None
        and one.outcome == "failed"
        and (one.matches or not choices.is_silenced(one.case))
        and not any(choices.reproduces(way, one) for way in (*([c] for c in stands), list(stands)))
        for one in smallest
    )


def _number_given(choices: Choices, stands: Sequence[Choice], wrong: Sequence[CaseResult]) -> int:
    """Return how many of these wrong answers the choices together predict."""
    return sum(choices.reproduces(stands, one) for one in wrong)


def _settle_choices(
    inquiry: Inquiry,
    kernels: Sequence[Kernel],
    failing: Sequence[CaseResult],
    choices: Choices,
    answered: Sequence[CaseResult],
) -> list[Choice]:
    """Return the choices that the engine's answers to further questions confirm.

    Rejected choices are not searched again.
    """
    smallest = [kernel.result for kernel in kernels]
    stands: list[Choice] = []
    for _ in range(ROUNDS):
        early = [choice for choice in choices.settled if choice not in choices.banned]
        alone = bool(early) and all(choices.reproduces(early, one) for one in smallest)
        more = [] if alone else chosen_for(choices, smallest, failing)
        chosen = [*early, *(choice for choice in more if not _is_axis_taken(choice, early))]
        choices.nearly = choices.nearly or [chosen]
        judge = ChoiceScorer(choices, [*answered, *smallest, *inquiry.asked], _unexplained(choices, chosen, kernels))
        stands = inquiry.settle(judge, chosen)
        fallen = set(chosen) - set(stands)
        if not fallen:
            return stands
        choices.banned |= fallen
    return stands


def _unexplained(choices: Choices, chosen: Sequence[Choice], kernels: Sequence[Kernel]) -> set[Elements]:
    """Return the sets of elements blamed for kernels (shrunk failing cases) that the choices do not explain."""
    ways = [*([choice] for choice in chosen), list(chosen)]
    return {k.signature.blamed for k in kernels if not any(choices.reproduces(way, k.result) for way in ways)}


def _group_kernels(
    peeler: Peeler,
    kernels: Sequence[Kernel],
    failing: Sequence[CaseResult],
    choices: Choices,
    answered: Sequence[CaseResult],
) -> list[DefectGroup]:
    """Group kernels (shrunk failing cases) by the choice that explains them.

    Unexplained kernels form a group if their wrong answers have the same description. If a choice does not predict a
    kernel's original case, shrinking has exchanged one defect for another. Then the search is repeated for these cases,
    given the known choices. If time runs out, the choices confirmed so far are used.
    """
    found, chosen, stopped = list(kernels), list[Choice](), ""
    try:
        chosen = _standing(peeler, found, failing, choices, answered)
        for _ in range(HIDDEN_ROUNDS if chosen else 0):
            groups = _together(found, chosen, choices)
            shown = [group.choice for group in groups if group.choice is not None]
            explains = partial(_is_given, choices, shown)
            of_groups = {id_ for group in groups if group.choice is not None for id_ in group.cases}
            hidden = [one for one in failing if one.case.id in of_groups and one.matches is not None]
            hidden = [one for one in hidden if given_by(one) is not None and not explains(one)]
            if not hidden:
                break
            ids = {one.case.id for one in hidden}
            fewer = (replace(k, cases=tuple(id_ for id_ in k.cases if id_ not in ids)) for k in found)
            new = peeler.kernels_beside(hidden, explains)
            found = [*(kernel for kernel in fewer if kernel.cases), *new]
            if not all(_is_given(choices, chosen, kernel.result) for kernel in new):
                chosen = _standing(peeler, found, failing, choices, answered) or chosen
                chosen = [choice for choice in chosen if choice not in choices.banned]
        found = _split_by_choice(found, chosen, choices, failing)
        found = _lead_by_need(peeler, found, chosen, choices, failing)
    except (DiagnosisStopped, KeyboardInterrupt) as error:
        peeler.stop(error)
        left_out = f", before {plural(choices.unconfirmed, 'likely choice')} were confirmed" * bool(choices.unconfirmed)
        stopped = peeler.stopped + left_out
        chosen = chosen or [choice for choice in choices.settled if choice not in choices.banned]
    watch, choices.watch = choices.watch, Watch()  # the findings are grouped without a time limit
    if stopped and not peeler.watch.interrupted:
        found = _split_by_choice(found, chosen, choices, failing)
    groups = [replace(one, stopped="" if one.choice else stopped) for one in _together(found, chosen, choices)]
    choices.watch = watch
    suite = ChoiceScorer(choices, answered)
    try:
        groups = _with_general_choices(groups, choices, suite)
        suite.add(choices.asked)
        ways = [_nearly_standing(suite, chosen, [c for c in some if c not in chosen]) for some in choices.nearly]
        nearly = max(ways, key=lambda some: _number_given(choices, [*chosen, *some], failing), default=[])
        for n, group in enumerate(groups if nearly else []):
            if group.choice is None:
                doubt = _doubt(suite, chosen, nearly, min(group.kernels, key=_size).result, failing)
                groups[n] = replace(group, doubt=doubt)
    except DiagnosisStopped as error:
        undecided = [group.choice is None and not group.doubt for group in groups]
        groups = [replace(g, stopped=str(error)) if open_ else g for g, open_ in zip(groups, undecided, strict=True)]
    return _merge_by_doubt(groups)


def _merge_by_doubt(groups: Sequence[DefectGroup]) -> list[DefectGroup]:
    """Merge the groups that have the same likely cause, which some answers contradict."""
    merged: dict[object, DefectGroup] = {}
    for number, group in enumerate(groups):
        # A group without a doubt has its own number as the key, so it stays apart.
        key: object = group.doubt.partition(", which")[0] or number
        first = merged.get(key)
        merged[key] = replace(first, kernels=(*first.kernels, *group.kernels)) if first else group
    return list(merged.values())


def _with_general_choices(groups: Sequence[DefectGroup], choices: Choices, suite: ChoiceScorer) -> list[DefectGroup]:
    """Merge groups if their choices give all axes of one name, such as all kinds of windows, the same value.

    An engine that ignores windows has one defect, not one for each kind of window. Axes on which no answer depends are
    ignored. A choice that no question distinguishes from another is left alone.
    """
    known, same = AXES.get(choices.language, {}), dict[Choice, list[DefectGroup]]()
    for group in groups:
        if group.choice is not None and known[group.choice[0]].base not in known:
            same.setdefault((known[group.choice[0]].base, group.choice[1]), []).append(group)
    result = list(groups)
    for general, some in same.items():
        own = {
            a.name for a in known.values() if a.base == general[0] and allows(a, general[1]) and suite.bearing(a.name)
        }
        chosen = [group.choice for group in some if group.choice is not None]
        if len(some) < 2 or {name for name, _ in chosen} != own or any(choices.alike.get(c) for c in chosen):
            continue
        choices.replayed[general] = suite.failing_under(()), suite.failing_under(chosen)
        kernels = tuple(kernel for group in some for kernel in group.kernels)
        result[result.index(some[0])] = replace(some[0], kernels=kernels, general=general)
        result = [group for group in result if group not in some[1:]]
    return result


def _size(kernel: Kernel) -> tuple[int, int]:
    return len(kernel.result.case.query), len(kernel.result.case.events)


def _is_given(choices: Choices, chosen: Sequence[Choice], result: CaseResult) -> bool:
    """Return whether one of the choices, or all of them together, predict an answer; False if there are no choices."""
    return any(choices.reproduces(way, result) for way in (*([choice] for choice in chosen), chosen) if way)


def _together(kernels: Sequence[Kernel], chosen: Sequence[Choice], choices: Choices) -> list[DefectGroup]:
    """Group kernels (shrunk failing cases) by the choice that explains them, and unexplained ones by their
    description.
    """
    alone = [(k, next((c for c in chosen if choices.reproduces([c], k.result)), None)) for k in kernels]
    groups: dict[object, list[Kernel]] = {}
    # Those that one choice explains first: the others prefer a choice that has no group yet.
    for kernel, choice in sorted(alone, key=lambda pair: pair[1] is None):
        own: object = choice or (_find_necessary_choice(choices, chosen, kernel.result, groups) if chosen else None)
        if text := described([kernel.result], choices.excluded, _silences(choices, kernel)):
            own = text, MATCH.sub("", kernel.result.detail)
        if kernel.result.outcome == "error" and not own:
            own = error_kind(kernel.result)
        groups.setdefault(own or kernel.signature, []).append(kernel)
    return [
        DefectGroup(tuple(group), next((c for c in chosen if c == key), None), tuple(c for c in chosen if c != key))
        for key, group in groups.items()
    ]


def error_kind(result: CaseResult) -> str:
    """Return the first two lines of an error, without numbers and quotations, to compare it with other errors.

    The first line alone may be only a place. The text ends where the error quotes the query.
    """
    text = "\n".join(result.detail.partition("\n\n")[0].split("\n")[:2])
    starts = (word.start() for word in re.finditer(r"\S+", text[:-QUOTED]))
    end = next((n for n in starts if text[n : n + QUOTED] in result.translation), len(text))
    return ERROR_PARTS.sub("", text[:end])[:ALIKE_ERRORS]


def _split_by_choice(
    kernels: Sequence[Kernel], chosen: Sequence[Choice], choices: Choices, failing: Sequence[CaseResult]
) -> list[Kernel]:
    """Return the kernels (shrunk failing cases), without those of their cases that have another cause.

    A kernel stands for cases whose queries have the same operators and that fail in the same direction. Each case that
    other choices explain than its kernel, or that choices explain although none explains its kernel, becomes a kernel
    of its own.
    """
    by_id, moved = {one.case.id: one for one in failing}, list[Kernel]()
    for group in _together(kernels, chosen, choices):
        alone = [] if group.choice is None else [group.choice]
        rest = [choice for choice in chosen if choice != group.choice]
        cases = [(own, by_id[id_]) for own in group.kernels for id_ in own.cases if id_ in by_id]
        for kernel, one in cases:
            if rest and not (alone and choices.reproduces(alone, one)) and choices.reproduces(rest, one):
                moved.append(replace(kernel, result=one, origin=one, cases=(one.case.id,), variants=()))
    ids = {id_ for kernel in moved for id_ in kernel.cases}
    left = (replace(kernel, cases=tuple(id_ for id_ in kernel.cases if id_ not in ids)) for kernel in kernels)
    return [*(kernel for kernel in left if kernel.cases), *moved]


def _lead_by_need(
    peeler: Peeler,
    kernels: Sequence[Kernel],
    chosen: Sequence[Choice],
    choices: Choices,
    failing: Sequence[CaseResult],
) -> list[Kernel]:
    """Return the kernels, with one put first for each choice that no kernel needs, because other choices explain them
    too.

    The new kernel is the smallest failing case that needs the choice, shrunk.
    """
    by_id, leading = {one.case.id: one for one in failing}, list[Kernel]()
    for group in _together(kernels, chosen, choices):
        given_by_others = partial(choices.reproduces, [choice for choice in chosen if choice != group.choice])
        if group.choice is None or not all(given_by_others(kernel.result) for kernel in group.kernels):
            continue
        cases = (by_id[id_] for id_ in group.cases if id_ in by_id)
        needing = [one for one in cases if choices.reproduces([group.choice], one) and not given_by_others(one)]
        if needing:
            smallest = min(needing, key=lambda one: (len(one.case.events), len(one.case.query), one.case.id))
            leading += peeler.kernels_beside([smallest], given_by_others)[:1]
    ids = {id_ for kernel in leading for id_ in kernel.cases}
    left = (replace(kernel, cases=tuple(id_ for id_ in kernel.cases if id_ not in ids)) for kernel in kernels)
    return [*leading, *(kernel for kernel in left if kernel.cases)]


def _find_necessary_choice(
    choices: Choices, chosen: Sequence[Choice], result: CaseResult, known: Container[object]
) -> Choice | None:
    """Return a choice that the wrong answer needs, preferring an unknown one; None if it needs no single choice."""
    if not choices.reproduces(chosen, result):
        return None
    needed = [c for c in chosen if not choices.reproduces([other for other in chosen if other != c], result)]
    return next((c for c in needed if c not in known), next(iter(needed), None))


def _causes(choices: Choices, results: Sequence[CaseResult], group: DefectGroup) -> tuple[DefectCause, ...]:
    """Return the choice of a group as a cause, with the number of answers that it predicts; () if there is no choice,
    or if it predicts no answer of the group.
    """
    if group.choice is None:
        return ()
    if group.general is not None:
        return (_general_cause(choices, results, group, group.general),)
    causes = causes_of(choices, results, group.choice, group.beside)
    if not causes:  # a missing name is better than a wrong one
        return ()
    alike = tuple("=".join(other) for other in choices.alike.get(group.choice, ()))
    now, then = choices.replayed.get(group.choice, (0, 0))
    apart = choices.apart.get(group.choice, "")
    return (replace(causes[0], alike=alike, apart=apart, now=now, then=then),)


def _general_cause(choices: Choices, results: Sequence[CaseResult], group: DefectGroup, general: Choice) -> DefectCause:
    """Return the cause of a group whose choice gives several axes of one name, such as all kinds of windows, one
    value.
    """
    every = [choice for choice in (group.choice, *group.beside) if choice is not None]
    own = [(n, v) for n, v in every if (AXES[choices.language][n].base, v) == general]
    rest = [choice for choice in every if choice not in own]
    alone = [one for one in results if choices.reproduces(own, one)]
    jointly = [one for one in results if one not in alone and choices.reproduces(every, one)]
    fewer = {choice: [other for other in every if other != choice] for choice in rest}
    needed = (c for c in rest if not all(choices.reproduces(fewer[c], one) for one in jointly))
    now, then = choices.replayed[general]
    return DefectCause(
        *general,
        len(alone) + len(jointly),
        len(results),
        len(alone),
        tuple("=".join(choice) for choice in needed),
        now=now,
        then=then,
    )


def _defect(id_: str, group: DefectGroup, choices: Choices, by_id: dict[str, CaseResult], hurried: bool) -> Defect:
    """Return the defect of a group. hurried: omit the explanation, which may take long."""

    def rank(kernel: Kernel) -> tuple[bool, tuple[int, int]]:
        """Return a sort key that puts kernels that need the choice first, and among equals the smallest."""
        needless = group.choice is not None and choices.reproduces(group.beside, kernel.result)
        return needless, _size(kernel)

    kernels = sorted(group.kernels, key=rank)
    first = kernels[0]
    others = tuple(r for k in kernels for r in (k.result, *k.variants) if r is not first.result)
    recorded = [by_id[case] for case in group.cases if case in by_id]
    bearing = {} if hurried else bearing_choices(first.result.case, choices.held)
    return Defect(
        id=id_,
        kind=first.signature.kind,
        operators=tuple(sorted(first.signature.blamed)),
        result=first.result,
        original=first.origin,
        cases=tuple(sorted(group.cases)),
        variants=others,
        causes=_causes(choices, [first.result, *recorded], group),
        description=described([first.result, *recorded], choices.excluded, _silences(choices, first)) or group.doubt,
        why="" if hurried else why_of(first.result, bearing or choices_behind(first.result.case, choices.held)),
        stopped=group.stopped or first.stopped,
        held=choices.held,
        bearing=tuple(bearing),
    )


def defect_of_group(
    choices: Choices,
    result: CaseResult,
    original: CaseResult,
    cases: Iterable[str],
    causes: tuple[DefectCause, ...] = (),
    description: str = "",
    stopped: str = "",
) -> Defect:
    """Make a defect from wrong answers that have the same cause, or whose cause is unknown. The caller sets its id.

    result: the engine's result on the smallest case. original: its result on the case of the suite. cases: the ids of
    the failing cases.
    """
    language, case = LANGUAGES[result.case.language], result.case
    bearing = bearing_choices(case, choices.held)
    return Defect(
        id="",
        kind=min(kinds_of(result)),
        operators=tuple(sorted(language.syntax.constructs(language.syntax.parse(case.query)))),
        result=result,
        original=original,
        cases=tuple(sorted(cases)),
        causes=causes,
        description=description,
        why=why_of(result, bearing or choices_behind(case, choices.held)),
        stopped=stopped,
        held=choices.held,
        bearing=tuple(bearing),
    )


# ---------------------------------------------------------------------------------------------------------------------
# Shrinking a failing case, given the text of its query.

Fails = Callable[[str, Stream], bool]
"""Returns whether the engine still fails on this query and this stream. If it raises a CerifyError, that means no."""


def shrink_case(language: Language[Any], query: str, S: Stream, fails: Fails, tries: int) -> None:
    """Shrink a query and a stream on which an engine fails, as long as `fails` returns true for the smaller ones.

    `fails` is called at most `tries` times, and records what it finds. If the language cannot reduce queries, only the
    stream gets shorter.
    """
    if (operations := language.operations()) is None:
        shrink_stream(S, partial(fails, query), tries)
        return
    shrink(operations, language.syntax.parse(query), S, lambda phi, S: fails(operations.show(phi), S), tries)


# ---------------------------------------------------------------------------------------------------------------------
# The likely causes of what an engine reported over pieces of its stream: hypotheses under which it reports the same.
#
# A log has what was reported, and its engine cannot be run again. Engines that differ from the definition in one aspect
# (see hypotheses) are run instead: one that reports exactly what the log has is a likely cause, and its difference
# from the definition can be shrunk to a short query and stream.

PlainMatch = tuple[int, tuple[int, ...]]
"""A match that is reported: the position where it is reported, and the positions of its events."""

Report = frozenset[PlainMatch]
"""The matches that are reported over a whole stream."""

Reports = Callable[[str, Stream], Report | None]
"""Returns the report of an engine for a query and a stream; None if the engine answers with an error."""

BUDGET = Budget(valuations=200_000, seconds=2.0)

CANDIDATES = 3000  # smaller cases tried for each cause
TOGETHER = 24  # pieces that all wrong semantics are compared with at a time


@dataclass(frozen=True)
class Piece:
    """Consecutive events of a stream, the matches expected inside them, and the matches reported."""

    S: Stream
    expected: Report
    reported: Report


@dataclass(frozen=True)
class Evidence:
    """A part of a stream with a wrong report, and other parts of the same stream, right or wrong.

    A semantics that never reports a match would explain every missing match; the other parts exclude it.
    """

    piece: Piece
    beside: tuple[Piece, ...] = ()


@dataclass(frozen=True)
class Smallest:
    """The shortest query and stream found on which an engine with one wrong value of an axis differs from the default
    meaning.
    """

    query: str
    S: Stream
    expected: Report
    reported: Report


@dataclass(frozen=True)
class LogCause:
    """A hypothesis as axis=value, the hypotheses that fit equally well (alike), and the evidence that it explains.

    checked: the number of rightly reported matches that it was found to report too.
    """

    name: str
    alike: tuple[str, ...]
    explains: tuple[Evidence, ...]
    smallest: Smallest | None
    checked: int = 0


def causes(
    query: str,
    language: str,
    evidence: Iterable[Evidence],
    progress: Progress = lambda what, done, total: None,
    right: Sequence[tuple[Piece, PlainMatch]] = (),
) -> tuple[list[LogCause], list[Evidence]]:
    """Return a small set of hypotheses that explain an engine's reports on a log, and the evidence that none explains.

    In each round the hypothesis that explains most is selected, and the evidence that it explains is removed. right:
    correctly reported matches, anywhere in the log. A hypothesis by which one of them is not reported is refuted.
    Raises ParseError.
    """
    LANGUAGES[language].syntax.parse(query)
    left, found, unknown = list(evidence), list[LogCause](), list[Evidence]()
    total = len(left)
    known: dict[tuple[str, int], Report | CerifyError | None] = {}
    kept: dict[str, int | None] = {}  # by hypothesis, the right matches that it reports; None: it is refuted

    def predicted(name: str, S: Stream) -> Report | CerifyError | None:
        # By identity, which is enough, because the streams live as long as the search; to compare events would take
        # longer.
        key = name, id(S)
        if key not in known:
            try:
                said = SUSPECTS[language][name](query, S)
                known[key] = said if said is None else frozenset((n, C) for n, C in said if n < len(S))
            except CerifyError as error:
                known[key] = error
        return known[key]

    def explains(name: str, one: Evidence) -> bool:
        return all(predicted(name, piece.S) == piece.reported for piece in (one.piece, *one.beside))

    def stands(name: str) -> bool:
        if name not in kept:
            said = [(predicted(name, piece.S), about) for piece, about in right]
            judged = [(report, about) for report, about in said if not isinstance(report, CerifyError)]
            agrees = all(report is not None and about in report for report, about in judged)
            kept[name] = len(judged) if agrees else None
        return kept[name] is not None

    while left:
        progress("looking for causes", total - len(left), total)
        some = left[:TOGETHER]
        number = {name: sum(explains(name, one) for one in some) for name in SUSPECTS[language]}
        number = {name: n for name, n in number.items() if n and stands(name)}
        most = max(number.values(), default=0)
        if not most:
            unknown, left = [*unknown, *some], left[TOGETHER:]
            continue
        names = [name for name in number if number[name] == most]
        explained = [one for one in left if explains(names[0], one)]
        left = [one for one in left if not explains(names[0], one)]
        alike = tuple(name for name in names[1:] if all(explains(name, one) for one in explained))
        small = smallest(query, language, SUSPECTS[language][names[0]], [one.piece for one in explained])
        found.append(LogCause(names[0], alike, tuple(explained), small, kept[names[0]] or 0))
    progress("looking for causes", total, total)
    return found, unknown


def smallest(query: str, language: str, reports: Reports, pieces: Iterable[Piece]) -> Smallest | None:
    """Search for a smallest case, starting from the piece with the fewest events; return it, or None if none is
    found.
    """
    best: Smallest | None = None

    def fails(query: str, S: Stream) -> bool:
        nonlocal best
        expected, reported = evaluate_by_definition(query, language, S), reports(query, S)
        if reported is None or reported == expected:
            return False
        best = Smallest(query, S, expected, reported)
        return True

    start = min(pieces, key=lambda piece: len(piece.S)).S
    if fails(query, start):
        shrink_case(LANGUAGES[language], query, start, fails, CANDIDATES)
    return best


def evaluate_by_definition(query: str, language: str, S: Stream) -> Report:
    """Return the positions and events of the matches that the reference evaluator finds. Raises CerifyError."""
    found = match(query, S, language=language, evaluator=DENOTATIONAL, budget=BUDGET)
    return frozenset((m.at, m.events) for m in found)


def thinned(
    query: str, language: str, piece: Piece, about: PlainMatch, said: int | None = None
) -> tuple[Piece, PlainMatch]:
    """Remove events that do not affect whether this match is expected; return the piece and the match's new positions.

    said: the position where the engine reported the match, if that is wrong. The log's reports stay as they are,
    because nobody knows what the engine would have reported about fewer events.
    """
    kept = list(range(len(piece.S)))
    due = about in piece.expected
    for event in reversed(range(len(piece.S))):
        if event in (about[0], said, *about[1]):
            continue
        fewer = [e for e in kept if e != event]
        with suppress(CerifyError):
            if (_moved(about, fewer) in evaluate_by_definition(query, language, _part(piece.S, fewer))) == due:
                kept = fewer
    S = _part(piece.S, kept)
    inside = {(at, C) for at, C in piece.reported if {at, *C} <= set(kept)}
    reported = frozenset(_moved(one, kept) for one in inside)
    return Piece(S, evaluate_by_definition(query, language, S), reported), _moved(about, kept)


def _part(S: Stream, kept: Sequence[int]) -> Stream:
    return Stream([S[e] for e in kept], S.schema)


def _moved(one: PlainMatch, kept: Sequence[int]) -> PlainMatch:
    number = {e: i for i, e in enumerate(kept)}
    return number[one[0]], tuple(number[e] for e in one[1])


def _reports(language: str, axis: str, value: str, query: str, S: Stream) -> Report | None:
    """Return the report of an engine that differs from the default meaning in this axis only; None if it reports an
    error.

    Raises CerifyError.
    """
    interpretation = interpretation_of(language)
    try:
        found = interpretation.matches(
            LANGUAGES[language].syntax.parse(query), S, choices_of({axis: value}, interpretation.axes), budget=BUDGET
        )
    except EngineError:
        return None
    return frozenset((m.at, m.events) for m in found)


SUSPECTS: Mapping[str, Mapping[str, Reports]] = {
    language: {
        f"{axis.name}={value}": partial(_reports, language, axis.name, value)
        for axis in one.axes.values()
        for value in axis.values[1:]
    }
    for language, one in INTERPRETATIONS.items()
}
"""For each language and axis=value, the reports of an engine that differs from the default meaning in this value only.
"""
