"""Reduce failing cases to defects: find what each failure depends on, and the smallest case that still depends on it.

A failure is blamed on elements (operators, absent values): if any one of them is removed, the answer is right. A
failure that is blamed on no element has several independent causes; it is divided into them. Failures of one kind that
are blamed on the same elements are one defect. Its smallest case is searched only among cases blamed on the same
elements. So the search does not drift from one defect to another, and a frequent defect does not hide a rare one.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count, islice, product
from typing import Any, TypeAlias, TypeVar, assert_never

from cerify.automata.algebra.values import DEFAULT
from cerify.conformance.model import UNANSWERED, Case, CaseResult, FailureKind, kinds_of
from cerify.conformance.oracle import Oracle, stream_of
from cerify.equivalence.generate.shrink import (
    QueryOperations,
    Weight,
    fewer_events,
    renamed,
    replacing,
    shrink,
    shrink_stream,
    weight,
)
from cerify.languages import LANGUAGES
from cerify.languages.language import Language
from cerify.semantics.errors import CerifyError, Unsupported
from cerify.semantics.events import TIME, TYPE, Event, Schema, Stream
from cerify.semantics.predicates import (
    Anything,
    Arithmetic,
    Attribute,
    Both,
    Comparison,
    Constant,
    Either,
    InRange,
    Like,
    Not,
    OfType,
    OneOf,
    Predicate,
    Term,
)
from cerify.semantics.values import Value, ValueType

# ---------------------------------------------------------------------------------------------------------------------
# Limit the search for causes. At a time limit or an interrupt it ends with the results so far.

OVER = "the search for smaller cases and causes stopped"


class DiagnosisStopped(Exception):
    """Raised when the whole search for causes and smaller cases must end; the message says why."""


class AllowanceOver(DiagnosisStopped):
    """Raised when the search for a smaller version of one case has used its processor seconds; other searches go on."""


@dataclass
class Watch:
    """The clock of a search.

    seconds: the time for the whole search. shrinking: the share of it for smaller cases; the rest is for causes.
    allowance: the processor seconds for the search of one case. stopped: why the search is over, "" while it goes on.
    clock: returns the time in seconds.

    Example: watch = Watch(300.0); watch.check()
    """

    seconds: float = math.inf
    shrinking: float = 0.7
    allowance: float = 4.0
    stopped: str = ""
    interrupted: bool = False
    clock: Callable[[], float] = time.monotonic
    _started: float = 0.0
    _until: float = math.inf

    def __post_init__(self) -> None:
        self._started = self.clock()

    def allow(self) -> None:
        """Start to count the processor seconds of the search of one case: it may use `allowance` of them."""
        # Processor time, because the wait for the engine's answers must not count against the search of one case.
        self._until = time.process_time() + self.allowance

    def allow_all(self) -> None:
        """End the search of a case: from now on, `check` limits only the time of the whole search."""
        self._until = math.inf

    def seconds_left(self, share: float = 1.0) -> float:
        """Return the seconds until this share of the time is over; 0 or less afterwards."""
        return share * self.seconds - (self.clock() - self._started)

    def part(self, share: float) -> Watch:
        """Return a new watch for a part of the work: it may use this share of the seconds that are left."""
        return Watch(share * self.seconds_left(), stopped=self.stopped, clock=self.clock)

    def check(self, share: float = 1.0) -> None:
        """Raise DiagnosisStopped if the search is over, or has used this share of its seconds.

        Raise AllowanceOver if the search of one case has used its allowance.
        """
        if self.stopped:
            raise DiagnosisStopped(self.stopped)
        if self.seconds_left(share) < 0:
            raise DiagnosisStopped(f"{OVER} after {round(self.seconds, 1):g} s")
        if self._until < math.inf and time.process_time() > self._until:
            raise AllowanceOver(f"the search for a smaller case stopped after {self.allowance:g} s of processor time")

    def stop(self, why: str, interrupted: bool = False) -> None:
        """End the search, for this reason; later calls of `check` raise DiagnosisStopped."""
        self.stopped = self.stopped or why
        self.interrupted |= interrupted


# ---------------------------------------------------------------------------------------------------------------------
# Elements, on which a defect may depend: the operators of a query, those inside its filters, and absent values; and how
# to remove one of them.

Elements: TypeAlias = frozenset[str]
Pair: TypeAlias = tuple[Any, Stream]
Q = TypeVar("Q")

ABSENT = "absent"
"""The name of the element that a case has if an event lacks an attribute that the query reads."""

UNBOUND = "unbound"
"""The name of the element that a query has if it names a variable that nothing binds."""

TYPES = [f"{letter}{number}" for number in range(100) for letter in "ABCDEFGH"]  # names for new event types
CHOICES = 8  # ways to replace operators by operands
ALTERNATIVES = 40  # pairs without an element that are tried
LOOKED_AT = 200  # queries that are checked to find these; a long query has very many variants
FURTHER = 100  # pairs that are tried after one more reduction


def operations_of(language: Language[Any]) -> QueryOperations[Any] | None:
    """Return the operations that simplify queries of the language; None if it has none."""
    with suppress(Unsupported):
        return language.operations()
    return None


def elements(language: Language[Any], query: Any, S: Stream) -> Elements:
    """Return the features of a case that may cause a failure: the operators of the query and of its conditions.

    ABSENT is among them if an attribute is absent, and UNBOUND if the query names an unbound variable.
    """
    found = set(language.syntax.constructs(query))
    if (operations := operations_of(language)) is not None:
        found.update(name for P in operations.predicates(query) for name in _inside(P))
        read = set(operations.attributes(query))
        if any(_lacking(event, read, S) for event in S):
            found.add(ABSENT)
    if any(problem.rule == UNBOUND for problem in language.syntax.problems(query, S.schema)):
        found.add(UNBOUND)
    return frozenset(found)


def has_only(language: Language[Any], query: Any, S: Stream, allowed: Elements) -> bool:
    """Return whether a query and a stream have no elements other than these."""
    if not allowed.issuperset(language.syntax.constructs(query)):
        return False
    operations = operations_of(language)
    if operations is not None:
        if any(name not in allowed for P in operations.predicates(query) for name in _inside(P)):
            return False
        read = set() if ABSENT in allowed else set(operations.attributes(query))
        if any(_lacking(event, read, S) for event in S):
            return False
    return UNBOUND in allowed or all(problem.rule != UNBOUND for problem in language.syntax.problems(query, S.schema))


def _inside(P: Predicate | Term) -> Iterator[str]:
    """Yield the operators in a predicate, except conjunctions and comparisons, which every filter has."""
    match P:
        case Both(left, right):
            yield from (*_inside(left), *_inside(right))
        case Either(left, right):
            yield from ("or in a filter", *_inside(left), *_inside(right))
        case Not(inner):
            yield from ("not in a filter", *_inside(inner))
        case Comparison(_, left_, right_):
            yield from (*_inside(left_), *_inside(right_))
        case Arithmetic(operator, left_, right_):
            yield from (operator, *_inside(left_), *_inside(right_))
        case OneOf(term, _):
            yield from ("one of", *_inside(term))
        case InRange(term, _, _):
            yield from ("between", *_inside(term))
        case Like(term, _):
            yield from ("like", *_inside(term))
        case Anything() | OfType() | Attribute() | Constant():
            return
        case _:
            assert_never(P)


def _lacking(event: Event, read: set[str], S: Stream) -> set[str]:
    """Return the attributes that the query reads and that the event lacks, although other events of the stream have
    them.
    """
    declared = read if S.schema is None else read & set(S.schema.types.get(event.type, ()))
    return declared - set(event.attributes)


def without(language: Language[Any], query: Any, S: Stream, element: str, thorough: bool = False) -> Iterator[Pair]:
    """Yield queries and streams without one element (an operator, or another feature of `elements`).

    Otherwise they are as similar to the given query and stream as possible. thorough: also yield some that lack one
    more event, or whose query is reduced once more and still has all other elements.
    """
    if (operations := operations_of(language)) is None:
        return
    if element == ABSENT:
        yield from ((query, other) for other in _filled(set(operations.attributes(query)), S))
        return
    least = elements(language, query, S) - {element}
    if any(language.syntax.operator_of(node) == element for node in language.syntax.subterms(query)):
        found = _cut(language, query, element)
    else:
        found = (other for reduction in operations.reductions for other in reduction(query))
    near = (
        one for other in found for one in (other, *_bound_otherwise(operations, other), *_tuned(operations, other, S))
    )
    some = islice(near, LOOKED_AT)
    nearest = list(islice((one for one in some if has_only(language, one, S, least)), ALTERNATIVES))
    yield from ((one, S) for one in nearest)
    if thorough:
        reduced = (other for one in nearest for reduction in operations.reductions for other in reduction(one))
        yield from islice(((one, S) for one in reduced if elements(language, one, S) == least), FURTHER)
        yield from ((one, other) for one in nearest for _, other in fewer_events(operations, one, S))


def _cut(language: Language[Any], query: Q, name: str) -> Iterator[Q]:
    """Yield the query with each operator of that name replaced by one of its operands, in several ways."""
    number = sum(language.syntax.operator_of(node) == name for node in language.syntax.subterms(query))
    most = max(
        len(language.syntax.children(n))
        for n in language.syntax.subterms(query)
        if language.syntax.operator_of(n) == name
    )

    def cut(node: Any, choice: Iterator[int]) -> Any:
        below = language.syntax.children(node)
        if language.syntax.operator_of(node) == name:
            return cut(below[next(choice) % len(below)], choice)
        return language.syntax.rebuilt(node, tuple(cut(child, choice) for child in below)) if below else node

    for chosen in islice(product(range(most), repeat=min(number, 10)), CHOICES):
        yield cut(query, iter((*chosen, *([0] * number))))
    # The choices above vary the last operators first; this one takes the last operand of each.
    if most > 1:
        yield cut(query, iter([most - 1] * number))


def _bound_otherwise(operations: QueryOperations[Q], query: Q) -> Iterator[Q]:
    """Yield the query with event types in place of variables. A variable may then be unbound."""
    types = sorted(set(operations.types(query)))
    for variable in sorted(set(operations.names(query)) - set(types)):
        yield from (renamed(operations, query, variable, R) for R in types)


def of_another_type(operations: QueryOperations[Q], query: Q, S: Stream) -> Iterator[tuple[Q, Stream]]:
    """Yield the query with one of its event types replaced by a new type, and the stream with it for some events."""
    used = {*operations.names(query), *(event.type for event in S), *(S.schema.types if S.schema is not None else ())}
    new = next(name for name in TYPES if name not in used)
    schema = S.schema
    if schema is not None:
        schema = Schema({**schema.types, new: dict(schema.attributes)})
    for number in range(len(operations.names(query))):
        other = operations.mapped(query, name=replacing(number, new))
        # All ways to retype events: at most 32, because longer streams than MOST_RETYPED are left out.
        for chosen in product((False, True), repeat=len(S)):
            events = [Event(new, e.attributes) if c else e for e, c in zip(S, chosen, strict=True)]
            yield other, Stream(events, schema)


def _tuned(operations: QueryOperations[Q], query: Q, S: Stream) -> Iterator[Q]:
    """Yield the query with all its numeric constants replaced by one number of the stream, so that it accepts other
    events.
    """
    if not operations.constants(query):
        return
    values = {v for event in S for v in event.attributes.values() if isinstance(v, int | float) and type(v) is not bool}
    for v in sorted(values)[:4]:
        yield operations.mapped(query, value=lambda old, v=v: v if type(old) in (int, float) else old)


def _filled(read: set[str], S: Stream) -> Iterator[Stream]:
    """Yield the stream with absent values filled in: by values of other events, or by the simplest ones."""
    present = {a: {e.attributes[a] for e in S if a in e.attributes} for a in read}
    for number in range(3):
        events = []
        for event in S:
            added: dict[str, Value] = {}
            for a in sorted(_lacking(event, read, S)):
                value_type: ValueType = S.schema.types[event.type][a] if S.schema is not None else "int"
                choices = [*sorted(present[a], key=repr), DEFAULT[value_type]]
                added[a] = choices[number % len(choices)]
            events.append(Event(event.type, {**event.attributes, **added}))
        yield Stream(events, S.schema)


# ---------------------------------------------------------------------------------------------------------------------
# Canonical names of event types, variables and attributes, in the order in which they occur.

WORD = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|[A-Za-z_]\w*")  # a string and a quoted name are words too
CANONICAL_TYPES, VARIABLES, ATTRIBUTES = "ABCDEFGH", "XYZUVW", "xyzuvw"


def canonical(language: Language[Any], query: Any, S: Stream) -> tuple[Any, Stream]:
    """Return the query and the stream with canonical names.

    Types become A, B, …, variables X, Y, …, attributes x, y, … Raises ParseError or IllFormed if the query is not valid
    then.
    """
    text = language.syntax.show(query)
    names = renaming(language, text, query, S)

    def attributes(values: Mapping[str, Any]) -> dict[str, Any]:
        return {names.get(a, a): value for a, value in values.items()}

    declared = (
        None if S.schema is None else Schema({names.get(R, R): attributes(of) for R, of in S.schema.types.items()})
    )
    events = [Event(names.get(e.type, e.type), attributes(e.attributes)) for e in S]
    other = WORD.sub(lambda word: names.get(_unquoted(word[0]), word[0]), text)
    return language.syntax.parse(other), Stream(events, declared)


def _unquoted(word: str) -> str:
    """Return a name without quotation marks."""
    return word[1:-1] if word[0] == '"' else word


def renaming(language: Language[Any], text: str, query: Any, S: Stream) -> dict[str, str]:
    """Return a mapping of the names in a query and a stream to canonical ones; empty if two names would become
    equal.
    """
    operations = operations_of(language)
    if operations is None:
        return {}
    types = {*operations.types(query), *(event.type for event in S)}
    attributes = {*operations.attributes(query), *(a for event in S for a in event.attributes)} - {TIME, TYPE}
    variables = set(operations.names(query)) - types - attributes
    if S.schema is not None:
        types.update(S.schema.types)
        attributes.update(a for of in S.schema.types.values() for a in of if a != TIME)
    # A word of the text could then be either, and renaming by words would mix them up.
    if types & attributes or types & variables:
        return {}
    words = map(_unquoted, WORD.findall(text))
    order = list(dict.fromkeys((*words, *(e.type for e in S), *sorted(types), *sorted(attributes))))
    fresh = {
        **_fresh(types, CANONICAL_TYPES, order),
        **_fresh(variables, VARIABLES, order),
        **_fresh(attributes, ATTRIBUTES, order),
    }
    return fresh if len(set(fresh.values())) == len(fresh) else {}


def _fresh(names: set[str], letters: str, order: list[str]) -> dict[str, str]:
    return dict(zip((name for name in order if name in names), _letters(letters), strict=False))


def _letters(letters: str) -> Iterator[str]:
    yield from letters
    yield from (f"{letters[0]}{number}" for number in count(1))


Ask: TypeAlias = Callable[[Case, Any, Stream], CaseResult]
"""Returns the result of a case, given the case, its parsed query and its stream."""

QUESTIONS = 30_000  # that the engine gets for all failures together
SLOW_SECONDS = 180.0  # spent on questions that are not answered
SLOW_SHARE = 0.2  # the same, as a share of the time limit of a search
TRIES = 600  # queries and streams that are tried to shrink one failure
SEEDS = 2  # failures of each signature that are shrunk
MOST_RETYPED = 5  # longest stream whose events get other types
DEPTH = 60  # cases into which one failure may be divided

INTERRUPTED = "the search for smaller cases was interrupted"

TURNED: dict[FailureKind, tuple[FailureKind, ...]] = {"missing": ("extra",), "extra": ("missing",)}


@dataclass(frozen=True)
class Signature:
    """The properties that the failures of one defect share: their kind, the elements to blame, and the class of errors.

    error: "" for other failures than errors.
    """

    language: str
    kind: FailureKind
    blamed: Elements
    error: str = ""


@dataclass(frozen=True)
class Failing:
    """A query and a stream on which the engine fails in one way, and the case of the suite that they are made from."""

    kind: FailureKind
    query: Any
    S: Stream
    origin: CaseResult

    @property
    def error(self) -> str:
        """Return the class of the error; "" for a failure of another kind."""
        return error_class(self.origin) if self.kind == "error" else ""


@dataclass(frozen=True)
class Kernel:
    """The smallest failing case among all cases that fail in one way, and the engine's result on it.

    signature: the way in which the cases fail: the kind of failure and the elements to blame. cases: the ids of all
    cases that fail in this way. origin: the result on the suite's case from which the smallest one was found. variants:
    the results on the smallest cases of other signatures of the same defect. stopped: why the search for a smaller case
    ended early, "" if it did not.
    """

    signature: Signature
    result: CaseResult
    origin: CaseResult
    cases: tuple[str, ...]
    variants: tuple[CaseResult, ...] = ()
    stopped: str = ""


@dataclass
class Peeler:
    """Reduces failures to the operators that cause them, by running the engine on other cases, each at most once.

    stopped: why no more cases are run, "" while they are. disputed: results on which cerify contradicts itself.
    shrinks: whether it is now shrinking cases, for which a share of the watch's time is reserved. announce: called with
    the first case of each signature (kind of failure and blamed elements) as soon as it is known, perhaps minutes
    before the smallest one. explains: whether a known cause explains a wrong answer; such a case is skipped. late: for
    sets of operators, the length of the shortest query without an answer in time; once such questions have used up
    their time, longer queries with these operators are not asked.
    """

    ask: Ask
    oracle: Oracle = field(default_factory=Oracle)
    stopped: str = ""
    disputed: list[CaseResult] = field(default_factory=list)
    answered: dict[tuple[str, str, str], CaseResult | None] = field(default_factory=dict)
    slow: float = 0.0
    late: dict[Elements, int] = field(default_factory=dict)
    shrinks: bool = True
    watch: Watch = field(default_factory=Watch)
    announce: Callable[[FailureKind, Sequence[str], CaseResult], None] = lambda kind, operators, result: None
    explains: Callable[[CaseResult], bool] = lambda result: False
    _kernels_found: list[Kernel] | None = None

    def kernels(
        self,
        failures: Iterable[CaseResult],
        progress: Callable[[int, int], None] = lambda d, t: None,
        explained: Container[str] = (),
    ) -> list[Kernel]:
        """Reduce the failing cases, and return the smallest ones (kernels), each with the ids of the cases that fail
        like it.

        The kernels have no particular order. Time may run out: so cases whose cause is unknown are reduced first, then
        those in `explained` (ids of cases with a known cause), and cases without an answer, such as time-outs, last. A
        second call, after an interrupt, returns the kernels found before it.
        """
        if self._kernels_found is not None:
            return self._kernels_found
        ordered = sorted(
            failures, key=lambda r: (r.case.id in explained, len(r.case.query), len(r.case.events), r.case.id)
        )
        answered = [result for result in ordered if result.outcome not in UNANSWERED]
        others = [result for result in ordered if result.outcome in UNANSWERED]
        self._kernels_found = [*self._kernels(answered, progress), *self._kernels(others, progress)]
        return self._kernels_found

    def kernels_beside(self, failures: Iterable[CaseResult], explains: Callable[[CaseResult], bool]) -> list[Kernel]:
        """Reduce the failing cases that no known cause explains, and return the smallest ones (kernels).

        explains: returns whether a known cause explains a result. A smaller case is used only if no known cause
        explains it; otherwise shrinking would end at a defect that is already known.
        """
        self._kernels_found, self.explains = None, explains
        try:
            return self.kernels(failures)
        finally:
            self.explains = lambda result: False

    def _kernels(self, ordered: Sequence[CaseResult], progress: Callable[[int, int], None]) -> list[Kernel]:
        groups: dict[Signature, list[Failing]] = {}
        for done, result in enumerate(ordered):
            progress(done, len(ordered))
            found = {} if self.stopped else self._signatures_in_time(result)
            if self.stopped:  # the answers so far do not determine a signature
                found = self._unasked(result, groups)
            for signature, failing in found.items():
                if signature not in groups and not self.stopped:
                    question = _question(failing.query, failing.S, failing.origin.case)
                    result_ = self.answered.get(question) or failing.origin
                    self.announce(signature.kind, sorted(signature.blamed), result_)
                groups.setdefault(signature, []).append(failing)
        progress(len(ordered), len(ordered))
        return self._reduced(groups)

    def _signatures_in_time(self, result: CaseResult) -> dict[Signature, Failing]:
        """Return the signatures of a failure; none once the time is over or the user has interrupted (see
        `stopped`).
        """
        self.watch.allow()
        try:
            return self.signatures(result) or self._unasked(result, {})
        except AllowanceOver:
            return self._unasked(result, {})
        except (DiagnosisStopped, KeyboardInterrupt) as error:
            self.stop(error)
            return {}
        finally:
            self.watch.allow_all()

    def stop(self, error: BaseException) -> None:
        """Stop asking questions, because time is over or the user interrupted."""
        interrupted = isinstance(error, KeyboardInterrupt)
        self.stopped = self.stopped or (INTERRUPTED if interrupted else str(error))
        if interrupted:
            self.stopped = INTERRUPTED
            self.watch.stop(INTERRUPTED, interrupted=True)

    # --- what a failure depends on ------------------------------------------------------------------------------------

    def signatures(self, result: CaseResult) -> dict[Signature, Failing]:
        """Return the ways (signatures) in which the engine fails on a case, one for each independent cause.

        Each is mapped to a case on which the engine fails in this way alone.
        """
        language = LANGUAGES[result.case.language]
        query, S = language.syntax.parse(result.case.query), stream_of(result.case)
        self.answered[_question(query, S, result.case)] = result
        found: dict[Signature, Failing] = {}
        for kind in sorted(kinds_of(result)):
            found |= self._taken_apart(Failing(kind, query, S, result))
        return found

    def _at_once(self, result: CaseResult, groups: Mapping[Signature, Sequence[Failing]]) -> dict[Signature, Failing]:
        """Return signatures that blame the feature under test, without a look at the query.

        This is fast, for use after an interrupt.
        """
        found: dict[Signature, Failing] = {}
        for kind in kinds_of(result):
            own = Signature(result.case.language, kind, frozenset({result.case.feature}))
            if own in groups:
                found[own] = replace(groups[own][0], origin=result)
            else:
                language = LANGUAGES[result.case.language]
                found[own] = Failing(kind, language.syntax.parse(result.case.query), stream_of(result.case), result)
        return found

    def _unasked(self, result: CaseResult, known: Mapping[Signature, Sequence[Failing]]) -> dict[Signature, Failing]:
        """Return, without running the engine, a signature for each way in which a case fails.

        This is a known signature if one fits; otherwise one that blames all elements of the case.
        """
        if self.watch.interrupted:
            return self._at_once(result, known)
        language = LANGUAGES[result.case.language]
        query, S = language.syntax.parse(result.case.query), stream_of(result.case)
        present = elements(language, query, S)
        found = {}
        for kind in kinds_of(result):
            failing = Failing(kind, query, S, result)
            own = Signature(language.name, kind, present, failing.error)
            fitting = (s for s in known if replace(s, blamed=present) == own and s.blamed <= present)
            found[next(fitting, own)] = failing
        return found

    def _taken_apart(self, whole: Failing) -> dict[Signature, Failing]:
        language = LANGUAGES[whole.origin.case.language]
        pending, seen = [whole], set[str]()
        found: dict[Signature, Failing] = {}
        while pending and len(seen) < DEPTH:
            failing = pending.pop()
            key = language.syntax.show(failing.query) + repr(failing.S.events)
            if key in seen:
                continue
            seen.add(key)
            present = elements(language, failing.query, failing.S)
            parts = {e: self._failing_without(failing, e) for e in sorted(present)}
            blamed = frozenset(e for e, part in parts.items() if part is None)
            if blamed or not present:
                found.setdefault(Signature(language.name, failing.kind, blamed, failing.error), failing)
            else:
                pending.extend(part for part in parts.values() if part is not None)
        return found

    def _failing_without(self, failing: Failing, element: str, thorough: bool = False) -> Failing | None:
        """Remove an element from a case; return the case if it still fails in the same way, or None if it does not."""
        language = LANGUAGES[failing.origin.case.language]
        for query, S in without(language, failing.query, failing.S, element, thorough):
            if self.fails(query, S, failing):
                return replace(failing, query=query, S=S)
        return None

    def fails(self, query: Any, S: Stream, like: Failing) -> bool:
        """Return whether the engine's failure on this query and stream is of the same kind as the failure `like`.

        Return False for a failure that a known cause explains.
        """
        result = self.result(query, S, like.origin.case)
        if result is None or like.kind not in kinds_of(result) or not _same_error(result, like):
            return False
        return not self.explains(result)

    def _kinds(self, query: Any, S: Stream, like: Failing) -> frozenset[FailureKind]:
        """Return the kinds of difference in the engine's answer to a query and stream on which it fails."""
        result = self.result(query, S, like.origin.case)
        return frozenset({like.kind}) if result is None else kinds_of(result)

    def result(self, query: Any, S: Stream, origin: Case) -> CaseResult | None:
        """Return the engine's result on a query and a stream; each is run at most once.

        Return None if the reference evaluator gives no answer, or if no more questions may be asked.
        """
        key = _question(query, S, origin)
        if key not in self.answered:
            if self.stopped:
                return None
            self.watch.check(self.watch.shrinking if self.shrinks else 1.0)
            # Stored before asking: a question that raises is not asked again.
            self.answered[key] = None
            with suppress(CerifyError):
                self.answered[key] = self._ask(query, S, origin)
        return self.answered[key]

    def _ask(self, query: Any, S: Stream, origin: Case) -> CaseResult | None:
        if len(self.answered) > QUESTIONS:
            self.stopped = f"the search for smaller cases stopped after {QUESTIONS:,} questions"
            return None
        case = self.oracle.case(query, S, origin)
        own = frozenset(LANGUAGES[case.language].syntax.constructs(query))
        if self.slow > min(SLOW_SECONDS, SLOW_SHARE * self.watch.seconds) and any(
            operators <= own and length <= len(case.query) for operators, length in self.late.items()
        ):
            return None
        try:
            result = self.ask(case, query, S)
        except KeyboardInterrupt as error:
            self.stop(error)
            return None
        if result.outcome in UNANSWERED and result.outcome != "error":
            self.slow += result.seconds
            self.late[own] = min(len(case.query), self.late.get(own, len(case.query)))
        if result.outcome == "not_run":
            self.stopped = result.detail
        if result.outcome == "disputed":
            self.disputed.append(result)
        return result

    # --- the smallest case --------------------------------------------------------------------------------------------

    def _reduced(self, groups: dict[Signature, list[Failing]]) -> list[Kernel]:
        """Return the kernels of the groups, except those with a failure that a kernel with fewer elements already
        shows.
        """
        kernels: dict[Signature, Kernel] = {}
        explained: dict[Signature, Signature] = {}
        for signature in sorted(
            groups, key=lambda s: (not self.stopped and self._is_derived(groups[s][0]), *_order(s))
        ):
            try:
                final, small, explaining = self._final(signature, groups[signature], kernels)
            except (DiagnosisStopped, KeyboardInterrupt) as error:
                self.stop(error)
                small = min(groups[signature], key=lambda f: len(f.S))
                final, explaining = signature, None
            explained[signature] = explaining or final
            if explained[signature] not in kernels:
                kernels[final] = Kernel(final, self._canonize(small), small.origin, (), (), self.stopped)
        cases = assigned(groups, explained)
        return clustered(replace(kernel, cases=cases.get(signature, ())) for signature, kernel in kernels.items())

    def _final(
        self, signature: Signature, group: Sequence[Failing], kernels: Iterable[Signature]
    ) -> tuple[Signature, Failing, Signature | None]:
        """Shrink a group of failing cases with one signature; return the smallest case's signature, that case, and a
        third item.

        The third item is one of the signatures in `kernels` that explains the smallest case; None if none does.
        """
        if self.stopped:
            return signature, min(group, key=lambda f: len(f.S)), None
        self.watch.allow()
        small, final = self._smallest(signature, group), signature
        try:
            small = self._turned_back(small)
            blamed = self._blamed(small, thorough=True)
            blamed = signature.blamed if self.stopped else blamed
            final = Signature(signature.language, small.kind, blamed, small.error)
            return final, small, self._explaining(final, small, kernels)
        except AllowanceOver:
            return self._shrunk_at_once(signature, small)
        finally:
            self.watch.allow_all()

    def _shrunk_at_once(self, signature: Signature, small: Failing) -> tuple[Signature, Failing, Signature | None]:
        """Shrink a case without testing on which elements the failure depends, because time is short.

        Return what `_final` returns: a signature that blames all elements of the shrunk case, that case, and None.
        """
        self.watch.allow()
        small = self._shrunk(small, frozenset())
        left = elements(LANGUAGES[signature.language], small.query, small.S)
        return Signature(signature.language, small.kind, signature.blamed & left, small.error), small, None

    def _is_derived(self, failing: Failing) -> bool:
        """Return whether the query has a derived operator, which may fail because of an operator in its expansion."""
        with suppress(CerifyError):
            return bool(LANGUAGES[failing.origin.case.language].syntax.expanded(failing.query) != failing.query)
        return False

    def _turned_back(self, small: Failing) -> Failing:
        """Remove operators that only turn a missing match into an extra one, or the reverse; return the smaller case.

        The remaining failure must be blamed on the other elements.
        """
        language = LANGUAGES[small.origin.case.language]
        blamed = self._blamed(small)
        for e in sorted(blamed if len(blamed) > 1 else ()):
            if language.syntax.is_monotone(e):
                continue
            for kind in TURNED.get(small.kind, ()):
                for query, S in without(language, small.query, small.S, e):
                    other = replace(small, kind=kind, query=query, S=S)
                    if self.fails(query, S, other) and self._blamed(other) == blamed - {e}:
                        return self._turned_back(self._shrunk(other, blamed - {e}))
        return small

    def _explaining(self, signature: Signature, small: Failing, known: Iterable[Signature]) -> Signature | None:
        """Return a known signature that explains the case `small` with this signature; None if none does."""
        candidates = [other for other in known if other.language == signature.language]
        if signature in candidates:
            return signature
        return (
            self._general(signature, small, candidates)
            or self._written_out(small, candidates)
            or self._of_other_types(signature, small, candidates)
        )

    def _general(self, signature: Signature, small: Failing, known: Iterable[Signature]) -> Signature | None:
        """Return a known signature with fewer elements if the case can be reduced to a case with that signature; else
        None.
        """
        for other in known:
            if _is_of_fewer(other, signature):
                smaller = self._shrunk(small, other.blamed)
                language = LANGUAGES[signature.language]
                if not signature.blamed <= elements(language, smaller.query, smaller.S):
                    return other
        return None

    def _of_other_types(self, signature: Signature, small: Failing, known: Iterable[Signature]) -> Signature | None:
        """Rename one of two equal event types; return a known signature with fewer elements that the case then has, or
        None.

        In `(A FILTER A.x > 0) OR A` the filter is needed, because both sides are equal without it. In `A OR B` no
        filter is needed.
        """
        language = LANGUAGES[signature.language]
        if (operations := operations_of(language)) is None or len(small.S) > MOST_RETYPED:
            return None
        others = [other for other in known if _is_of_fewer(other, signature)]
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
        """Expand the derived operators of a case; return a known signature that the case then has, or None."""
        with suppress(CerifyError):
            written = LANGUAGES[small.origin.case.language].syntax.expanded(small.query)
            if written != small.query and self.fails(written, small.S, small):
                found = self._taken_apart(replace(small, query=written))
                return next((signature for signature in found if signature in known), None)
        return None

    def _blamed(self, failing: Failing, thorough: bool = False) -> Elements:
        """Return the elements to blame. If any one of them is removed, the answer is right."""
        present = elements(LANGUAGES[failing.origin.case.language], failing.query, failing.S)
        return frozenset(e for e in present if self._failing_without(failing, e, thorough) is None)

    def _smallest(self, signature: Signature, group: Sequence[Failing]) -> Failing:
        """Return the smallest case found that has the signature."""
        light = sorted(group, key=lambda f: _weight(f))
        found = [self._shrunk(failing, signature.blamed) for failing in light[:SEEDS]]
        return min(found, key=_weight)

    def _shrunk(self, start: Failing, blamed: Elements) -> Failing:
        """Return a smaller case with the same blamed elements, no new element, and no new kind of difference.

        A new kind is another fault, such as one that two steps of one event type show and two of different types hide.
        """
        language = LANGUAGES[start.origin.case.language]
        allowed, best = elements(language, start.query, start.S), start
        kinds = self._kinds(start.query, start.S, start)

        def differs(query: Any, S: Stream) -> bool:
            nonlocal best
            if not blamed <= elements(language, query, S) <= allowed or not self.fails(query, S, start):
                return False
            if not self._kinds(query, S, start) <= kinds:
                return False
            other = replace(start, query=query, S=S)
            if any(self._failing_without(other, e) is not None for e in blamed):
                return False
            best = other
            return True

        operations = operations_of(language)
        try:
            if operations is None:
                shrink_stream(start.S, lambda S: differs(start.query, S), TRIES)
            else:
                shrink(operations, start.query, start.S, differs, TRIES)
        except AllowanceOver:
            pass
        except (DiagnosisStopped, KeyboardInterrupt) as error:
            self.stop(error)
        return best

    def _canonize(self, failing: Failing) -> CaseResult:
        """Return the engine's result on the case with canonical names, or with its own names if canonical ones change
        the failure.
        """
        origin = failing.origin.case
        language = LANGUAGES[origin.language]
        if self.watch.interrupted:
            return failing.origin
        own = self.answered.get(_question(failing.query, failing.S, origin)) or failing.origin
        if self.stopped:
            return own
        with suppress(CerifyError, DiagnosisStopped):
            query, S = canonical(language, failing.query, failing.S)
            if self.fails(query, S, failing):
                own = self.result(query, S, origin) or own
        return own


def assigned(
    groups: dict[Signature, list[Failing]], explained: dict[Signature, Signature]
) -> dict[Signature, tuple[str, ...]]:
    """Assign each failing case to one signature (kind of failure and blamed elements); return the cases' ids by
    signature.

    groups: the failures with each signature. explained: maps each signature to the one under which it is reported. A
    case with several signatures counts only for the rarest.
    """
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
        rarest = min(signatures, key=lambda s: (number[s], -len(s.blamed), sorted(s.blamed), s.kind, s.error))
        found[rarest] = (*found.get(rarest, ()), id_)
    return found


def clustered(kernels: Iterable[Kernel]) -> list[Kernel]:
    """Merge kernels (smallest failing cases) that probably have one cause.

    Two kernels are merged if both of their queries need two or more operators to fail, and have the same outermost
    operator. That operator is probably the wrong one, and the others only make the fault visible. Kernels that need one
    operator, or that differ in elements other than operators, are not merged.
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
    query = language.syntax.parse(kernel.result.case.query)
    operators = signature.blamed & language.syntax.constructs(query)
    root = language.syntax.operator_of(query)
    if len(operators) < 2 or root not in operators:
        return signature
    return replace(signature, blamed=signature.blamed - operators), root


def _is_of_fewer(other: Signature, signature: Signature) -> bool:
    """Return whether `other` blames fewer of the same elements and is otherwise equal to `signature`."""
    return (
        bool(other.blamed) and other.blamed < signature.blamed and replace(other, blamed=signature.blamed) == signature
    )


def _question(query: Any, S: Stream, origin: Case) -> tuple[str, str, str]:
    """Return the key of a question to the engine: the texts of the query and of the stream, and the output."""
    return LANGUAGES[origin.language].syntax.show(query), repr((S.events, S.schema)), origin.output


def _order(signature: Signature) -> tuple[Any, ...]:
    return len(signature.blamed), sorted(signature.blamed), signature.language, signature.kind, signature.error


def _weight(failing: Failing) -> Weight:
    operations = operations_of(LANGUAGES[failing.origin.case.language])
    if operations is None:
        return (len(failing.S),)
    return weight(operations, failing.query, failing.S)


REFUSER = r"(?:: [\w ]+ (?:refuses the query|fails)(?=: ))?"
ERROR_CLASS = re.compile(rf"[^:]*{REFUSER}(?:: (?!Code:)\w+(?=: ))?(?:: Code: \d+)?")


def error_class(result: CaseResult) -> str:
    """Return the code of an error with the stable beginning of its message; "" for no error.

    Example: "internal: the engine refuses the query: ChdbError: Code: 43".
    """
    found = ERROR_CLASS.match(result.detail) if result.outcome == "error" else None
    return found[0] if found else ""


def _same_error(result: CaseResult, like: Failing) -> bool:
    """Return whether two errors are of one class; True if the result is no error."""
    return result.outcome != "error" or error_class(result) == error_class(like.origin)
