"""From failing cases to defects: what each failure depends on, and the smallest case that still depends on it.

A failure is blamed on the elements (operators, absent values) without any one of which the answer is right. One that
is blamed on none has several causes, of which each does without the elements of the others: it is taken apart.
Failures of one kind that are blamed on the same elements are one defect. Its smallest case is searched among cases that
are blamed on them as well, so that the search does not lead from one defect to another, and a defect that is
everywhere hides none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from cerify.conformance.canonical import canonical
from cerify.conformance.elements import Elements, elements, of_another_type, operations_of, without
from cerify.conformance.model import Case, FailureKind, Result
from cerify.conformance.oracle import Oracle, stream_of
from cerify.conformance.signature import UNANSWERED, kinds_of
from cerify.equivalence.shrink.shrink import shrink, shrink_stream
from cerify.equivalence.shrink.weight import Weight, weight
from cerify.languages import LANGUAGES
from cerify.semantics.errors import CerifyError
from cerify.semantics.events import Stream

Ask: TypeAlias = Callable[[Case, Any, Stream], Result]
"""The result of a case, whose query and stream are given parsed as well."""

QUESTIONS = 30_000  # to the engine, for all failures together
SLOW_SECONDS = 180.0  # for questions that are not answered
TRIES = 600  # queries and streams looked at to shrink one failure
SEEDS = 2  # failures of each signature that are shrunk
MOST_RETYPED = 5  # events of a case of which some are given another type
DEPTH = 60  # cases that one failure is taken apart into

INTERRUPTED = "the search for smaller cases was interrupted"

TURNED: dict[FailureKind, tuple[FailureKind, ...]] = {"missing": ("extra",), "extra": ("missing",)}


@dataclass(frozen=True)
class Signature:
    """The kind of a failure, and the elements that it is blamed on."""

    language: str
    kind: FailureKind
    blamed: Elements


@dataclass(frozen=True)
class Failing:
    """A query and a stream on which the answer is wrong in one way, and the case of the suite that it comes from."""

    kind: FailureKind
    query: Any
    S: Stream
    origin: Result


@dataclass(frozen=True)
class Kernel:
    """The smallest case of a signature, what the engine did on it, and the ids of the cases that have this signature.

    variants: the results of the smallest cases of other signatures that are the same defect.
    """

    signature: Signature
    result: Result
    origin: Result
    cases: tuple[str, ...]
    variants: tuple[Result, ...] = ()
    stopped: str = ""


@dataclass
class Peeler:
    """Reduces failures to the operators that cause them, by running an engine on other cases, each of them once.

    stopped: why no more cases are run, "" as long as some are. disputed: results on which cerify contradicts itself.
    """

    ask: Ask
    oracle: Oracle = field(default_factory=Oracle)
    stopped: str = ""
    disputed: list[Result] = field(default_factory=list)
    answered: dict[tuple[str, str, str], Result | None] = field(default_factory=dict)
    slow: float = 0.0

    def kernels(
        self, failures: Iterable[Result], progress: Callable[[int, int], None] = lambda d, t: None
    ) -> list[Kernel]:
        """The defects behind the failures, each with the cases that it explains, in no particular order.

        Failures without an answer come last, since their questions may use up the time.
        """
        ordered = sorted(failures, key=lambda r: (len(r.case.query), len(r.case.events), r.case.id))
        answered = [result for result in ordered if result.outcome not in UNANSWERED]
        others = [result for result in ordered if result.outcome in UNANSWERED]
        return [*self._kernels(answered, progress), *self._kernels(others, progress)]

    def _kernels(self, ordered: Sequence[Result], progress: Callable[[int, int], None]) -> list[Kernel]:
        groups: dict[Signature, list[Failing]] = {}
        for done, result in enumerate(ordered):
            progress(done, len(ordered))
            found = self.signatures(result)
            if self.stopped:  # what was asked does not suffice for a signature
                found = self._unasked(result, groups)
            for signature, failing in found.items():
                groups.setdefault(signature, []).append(failing)
        progress(len(ordered), len(ordered))
        return self._reduced(groups)

    # --- what a failure depends on ------------------------------------------------------------------------------------

    def signatures(self, result: Result) -> dict[Signature, Failing]:
        """The signatures behind a failure, each with a case that has it alone."""
        language = LANGUAGES[result.case.language]
        query, S = language.parse(result.case.query), stream_of(result.case)
        self.answered[_question(query, S, result.case)] = result
        found: dict[Signature, Failing] = {}
        for kind in sorted(kinds_of(result)):
            found |= self._taken_apart(Failing(kind, query, S, result))
        return found

    def _unasked(self, result: Result, known: Iterable[Signature]) -> dict[Signature, Failing]:
        """Without questions: a known signature that fits each kind of the failure, or one with all of its elements."""
        language = LANGUAGES[result.case.language]
        query, S = language.parse(result.case.query), stream_of(result.case)
        present = elements(language, query, S)
        found = {}
        for kind in kinds_of(result):
            own = Signature(language.name, kind, present)
            fitting = (s for s in known if replace(s, blamed=present) == own and s.blamed <= present)
            found[next(fitting, own)] = Failing(kind, query, S, result)
        return found

    def _taken_apart(self, whole: Failing) -> dict[Signature, Failing]:
        language = LANGUAGES[whole.origin.case.language]
        pending, seen = [whole], set[str]()
        found: dict[Signature, Failing] = {}
        while pending and len(seen) < DEPTH:
            failing = pending.pop()
            key = language.show(failing.query) + repr(failing.S.events)
            if key in seen:
                continue
            seen.add(key)
            present = elements(language, failing.query, failing.S)
            parts = {e: self._failing_without(failing, e) for e in sorted(present)}
            blamed = frozenset(e for e, part in parts.items() if part is None)
            if blamed or not present:
                found.setdefault(Signature(language.name, failing.kind, blamed), failing)
            else:
                pending.extend(part for part in parts.values() if part is not None)
        return found

    def _failing_without(self, failing: Failing, element: str, thorough: bool = False) -> Failing | None:
        """A case without the element that fails in the same way; None if there is none: the element is needed."""
        language = LANGUAGES[failing.origin.case.language]
        for query, S in without(language, failing.query, failing.S, element, thorough):
            if self.fails(query, S, failing):
                return replace(failing, query=query, S=S)
        return None

    def fails(self, query: Any, S: Stream, like: Failing) -> bool:
        """Whether the answer is wrong in the same way on another query and stream."""
        result = self.result(query, S, like.origin.case)
        return result is not None and like.kind in kinds_of(result) and _same_error(result, like)

    def result(self, query: Any, S: Stream, origin: Case) -> Result | None:
        """What the engine does on a query and a stream; None where the definition has no answer, or none is asked."""
        key = _question(query, S, origin)
        if key not in self.answered:
            if self.stopped:
                return None
            self.answered[key] = None
            with suppress(CerifyError):
                self.answered[key] = self._asked(query, S, origin)
        return self.answered[key]

    def _asked(self, query: Any, S: Stream, origin: Case) -> Result | None:
        if len(self.answered) > QUESTIONS:
            self.stopped = f"the search for smaller cases stopped after {QUESTIONS:,} questions"
            return None
        try:
            result = self.ask(self.oracle.case(query, S, origin), query, S)
        except KeyboardInterrupt:
            self.stopped = INTERRUPTED
            return None
        if result.outcome in UNANSWERED and result.outcome != "error":
            self.slow += result.seconds
            if self.slow > SLOW_SECONDS:
                self.stopped = f"the search for smaller cases stopped after {SLOW_SECONDS:g} s without an answer"
        if result.outcome == "not_run":
            self.stopped = result.detail
        if result.outcome == "disputed":
            self.disputed.append(result)
        return result

    # --- the smallest case --------------------------------------------------------------------------------------------

    def _reduced(self, groups: dict[Signature, list[Failing]]) -> list[Kernel]:
        """A kernel for each signature that is not one of fewer elements in a larger context."""
        kernels: dict[Signature, Kernel] = {}
        explained: dict[Signature, Signature] = {}
        for signature in sorted(groups, key=lambda s: (self._is_derived(groups[s][0]), *_order(s))):
            small = self._turned_back(self._smallest(signature, groups[signature]))
            blamed = self._blamed(small, thorough=True)
            final = Signature(signature.language, small.kind, signature.blamed if self.stopped else blamed)
            explained[signature] = self._explaining(final, small, kernels) or final
            if explained[signature] not in kernels:
                kernels[final] = Kernel(final, self._named(small), small.origin, (), (), self.stopped)
        cases = assigned(groups, explained)
        return clustered(replace(kernel, cases=cases.get(signature, ())) for signature, kernel in kernels.items())

    def _is_derived(self, failing: Failing) -> bool:
        """Whether the query has a derived operator, which may fail for one that it stands for."""
        with suppress(CerifyError):
            return bool(LANGUAGES[failing.origin.case.language].expanded(failing.query) != failing.query)
        return False

    def _turned_back(self, small: Failing) -> Failing:
        """The case without an operator that turns a missing match into an extra one, or the reverse, if there is one.

        What is left is blamed on all elements but that operator, of which there has to be one.
        """
        language = LANGUAGES[small.origin.case.language]
        blamed = self._blamed(small)
        for e in sorted(blamed if len(blamed) > 1 else ()):
            if language.is_monotone(e):
                continue
            for kind in TURNED.get(small.kind, ()):
                for query, S in without(language, small.query, small.S, e):
                    other = replace(small, kind=kind, query=query, S=S)
                    if self.fails(query, S, other) and self._blamed(other) == blamed - {e}:
                        return self._turned_back(self._shrunk(other, blamed - {e}))
        return small

    def _explaining(self, signature: Signature, small: Failing, known: Iterable[Signature]) -> Signature | None:
        """A signature among the known ones that explains the smallest case of this one; None if none does."""
        candidates = [other for other in known if other.language == signature.language]
        if signature in candidates:
            return signature
        return (
            self._general(signature, small, candidates)
            or self._written_out(small, candidates)
            or self._of_other_types(signature, small, candidates)
        )

    def _general(self, signature: Signature, small: Failing, known: Iterable[Signature]) -> Signature | None:
        """One of fewer elements that the case has too, once it is without the others."""
        for other in known:
            if other.kind == signature.kind and other.blamed and other.blamed < signature.blamed:
                smaller = self._shrunk(small, other.blamed)
                language = LANGUAGES[signature.language]
                if not signature.blamed <= elements(language, smaller.query, smaller.S):
                    return other
        return None

    def _of_other_types(self, signature: Signature, small: Failing, known: Iterable[Signature]) -> Signature | None:
        """One of fewer elements that the case has once one of its equal event types is another one.

        In `(A FILTER A.x > 0) OR A` the filter is needed since both sides are equal without it; in `A OR B` it is not.
        """
        language = LANGUAGES[signature.language]
        if (operations := operations_of(language)) is None or len(small.S) > MOST_RETYPED:
            return None
        others = [o for o in known if o.kind == signature.kind and o.blamed and o.blamed < signature.blamed]
        for query, S in of_another_type(operations, small.query, small.S) if others else ():
            if not self.fails(query, S, small):
                continue
            for other in others:
                left: Failing | None = replace(small, query=query, S=S)
                for e in sorted(signature.blamed - other.blamed):
                    left = left and self._failing_without(left, e)
                if left is not None and other.blamed <= elements(language, left.query, left.S):
                    return other
        return None

    def _written_out(self, small: Failing, known: Iterable[Signature]) -> Signature | None:
        """One that the case has once its derived operators are written out."""
        with suppress(CerifyError):
            written = LANGUAGES[small.origin.case.language].expanded(small.query)
            if written != small.query and self.fails(written, small.S, small):
                found = self._taken_apart(replace(small, query=written))
                return next((signature for signature in found if signature in known), None)
        return None

    def _blamed(self, failing: Failing, thorough: bool = False) -> Elements:
        """The elements without any one of which the answer is right."""
        present = elements(LANGUAGES[failing.origin.case.language], failing.query, failing.S)
        return frozenset(e for e in present if self._failing_without(failing, e, thorough) is None)

    def _smallest(self, signature: Signature, group: Sequence[Failing]) -> Failing:
        """The smallest case found that has the signature."""
        light = sorted(group, key=lambda f: _weight(f))
        found = [self._shrunk(failing, signature.blamed) for failing in light[:SEEDS]]
        return min(found, key=_weight)

    def _shrunk(self, start: Failing, blamed: Elements) -> Failing:
        """A smaller case that is blamed on the same elements, and has none that the first one has not."""
        language = LANGUAGES[start.origin.case.language]
        allowed, best = elements(language, start.query, start.S), start

        def differs(query: Any, S: Stream) -> bool:
            nonlocal best
            if not blamed <= elements(language, query, S) <= allowed or not self.fails(query, S, start):
                return False
            other = replace(start, query=query, S=S)
            if any(self._failing_without(other, e) is not None for e in blamed):
                return False
            best = other
            return True

        operations = operations_of(language)
        if operations is None:
            shrink_stream(start.S, lambda S: differs(start.query, S), TRIES)
        else:
            shrink(operations, start.query, start.S, differs, TRIES)
        return best

    def _named(self, failing: Failing) -> Result:
        """What the engine does on the case with its names made canonical, or as it is if that is not wrong alike."""
        origin = failing.origin.case
        language = LANGUAGES[origin.language]
        own = self.result(failing.query, failing.S, origin)
        assert own is not None
        with suppress(CerifyError):
            query, S = canonical(language, failing.query, failing.S)
            if self.fails(query, S, failing):
                own = self.result(query, S, origin) or own
        return own


def assigned(
    groups: dict[Signature, list[Failing]], explained: dict[Signature, Signature]
) -> dict[Signature, tuple[str, ...]]:
    """The ids of the cases of each signature that is left: of those behind a case, the rarest one has it."""
    behind: dict[str, set[Signature]] = {}
    for signature, group in groups.items():
        for failing in group:
            behind.setdefault(failing.origin.case.id, set()).add(explained[signature])
    number: dict[Signature, int] = {}
    for signatures in behind.values():
        for signature in signatures:
            number[signature] = number.get(signature, 0) + 1
    found: dict[Signature, tuple[str, ...]] = {}
    for id_, signatures in behind.items():
        rarest = min(signatures, key=lambda s: (number[s], -len(s.blamed), sorted(s.blamed), s.kind))
        found[rarest] = (*found.get(rarest, ()), id_)
    return found


def clustered(kernels: Iterable[Kernel]) -> list[Kernel]:
    """The kernels, where those that need two operators or more, of which they share the outermost one, are one.

    What is wrong is the outermost operator, and the others are what it takes to see it. A kernel of one operator, and
    those that differ in what else is needed than operators, stay apart.
    """
    found: dict[Any, Kernel] = {}
    for kernel in sorted(kernels, key=lambda k: (*_order(k.signature), k.result.case.id)):
        key = _cluster(kernel)
        first = found.get(key)
        variants = () if first is None else (*first.variants, kernel.result, *kernel.variants)
        found[key] = replace(first, cases=(*first.cases, *kernel.cases), variants=variants) if first else kernel
    return list(found.values())


def _cluster(kernel: Kernel) -> Any:
    signature = kernel.signature
    language = LANGUAGES[signature.language]
    query = language.parse(kernel.result.case.query)
    operators = signature.blamed & language.constructs(query)
    root = language.operator_of(query)
    if len(operators) < 2 or root not in operators:
        return signature
    return signature.language, signature.kind, root, signature.blamed - operators


def _question(query: Any, S: Stream, origin: Case) -> tuple[str, str, str]:
    """What identifies a question to the engine: the texts of the query and of the stream, and the output."""
    return LANGUAGES[origin.language].show(query), repr((S.events, S.schema)), origin.output


def _order(signature: Signature) -> tuple[Any, ...]:
    return len(signature.blamed), sorted(signature.blamed), signature.language, signature.kind


def _weight(failing: Failing) -> Weight:
    operations = operations_of(LANGUAGES[failing.origin.case.language])
    if operations is None:
        return (len(failing.S),)
    return weight(operations, failing.query, failing.S)


def _same_error(result: Result, like: Failing) -> bool:
    """Whether an error has the same code; other failures have none."""
    return result.outcome != "error" or result.detail.split(":")[0] == like.origin.detail.split(":")[0]
