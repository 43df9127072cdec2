"""EQL, Elastic's Event Query Language, as a plug-in.

Its six parts are in the order of `Language`. Rules are evaluated by the definition, by a machine that reads one event
after the other, or on columns; `_why_not` and `_why_not_compiled` say which rules the latter two refuse. `check_rule`
finds a rule that fires on no log, and the conditions that contradict each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from cerify.automata.evaluator import Consumption, Evaluator
from cerify.languages.language import (
    BuiltIn,
    Cases,
    Checked,
    Deciders,
    DecisionQuestion,
    Evaluators,
    Explanations,
    Language,
    Options,
    Syntax,
    TestLogs,
    instead,
)
from cerify.semantics.arguments import Budget
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.conditions import time_of
from cerify.semantics.eql.parse import parse, problems, require_typed, require_wellformed
from cerify.semantics.errors import BudgetExceeded, Span, Unsupported
from cerify.semantics.events import TIME, Event, Match, Schema, Stream
from cerify.semantics.packages import installed
from cerify.semantics.predicates import Problem
from cerify.semantics.readings import Reading
from cerify.semantics.schemas import NO_CATEGORY
from cerify.semantics.trees import children, subtrees
from cerify.semantics.values import Value, joined, value_type_of

if TYPE_CHECKING:
    from cerify.equivalence.generate.shrink import Generator, QueryOperations
    from cerify.equivalence.verdict import Certificate, Verdict
    from cerify.explanations.explanation import Explainer
    from cerify.explanations.near_misses import NearMissReport
    from cerify.languages.language import Streamed

SOON = 5.0  # seconds to search for a log on which a rule fires, and again to decide exactly whether there is one
LONG = 60.0  # seconds for a comparison, unless its budget limits the time
ANSWER = "the answer of a query of EQL is its events"


class EqlSyntax(Syntax[eql.EqlQuery]):
    """The syntax of EQL."""

    trees = (eql.EqlQuery,)
    timed = (eql.MaximalSpan,)
    ordered = (eql.EventSequence,)
    naming_others = (eql.FunctionCall, eql.MatchPipe)
    mark = r"\bmaxspan\s*=|^\s*sequence\b|^\s*sample\s+by\b|\bwhere\b[^\[]*(?:==|:\s*[\"(]|\blike~?|\btrue\b)"
    foreign: ClassVar[Mapping[str, str]] = {
        **{
            word: f"keywords are written in small letters: {word.lower()}"
            for word in ("AND", "OR", "NOT", "IN", "WHERE", "SEQUENCE")
        },
        **instead({"&&": "and", "||": "or", "=": "==", "<>": "!=", "IS": "== null"}),
        "MAXSPAN =": "maxspan is a number with a unit, d, h, m, s, ms or micros, as in maxspan=30s",
        **instead(dict.fromkeys(("->", ";"), "sequence [A where true] [B where true]")),
        "'": 'a string stands in double quotes, as in "cmd.exe"',
    }

    def parse(self, text: str) -> eql.EqlQuery:
        query = parse(text)
        require_wellformed(query)
        return query

    def show(self, query: eql.EqlQuery, /) -> str:
        return eql.show(query)

    def problems(self, query: eql.EqlQuery, schema: Schema | None, /) -> list[Any]:
        return problems(query, schema)

    def require_typed(self, query: eql.EqlQuery, schema: Schema, /) -> None:
        require_typed(query, schema)

    reads_documents = True

    def read_events(
        self,
        source: str | Path | Sequence[str | Path],
        type_column: str | None = None,
        time_column: str | None = None,
    ) -> Stream | None:
        """Return the documents of files, folders or standard input in the Elastic Common Schema."""
        from cerify.semantics.ecs import CATEGORY, TIMESTAMP, looks_like_ecs, read_ecs

        if type_column != CATEGORY and not looks_like_ecs(source):
            return None
        return read_ecs(source, type_column or CATEGORY, time_column or TIMESTAMP, default_type=NO_CATEGORY)

    def size(self, query: eql.EqlQuery, /) -> int:
        """Return the number of steps, tests and connectives in a query."""
        return sum(1 + sum(1 for _ in subtrees(part.condition)) for part in eql.filters_of(query))

    def constants(self, query: eql.EqlQuery) -> list[Value]:
        found: list[Value] = []
        for part in eql.filters_of(query):
            for node in subtrees(part.condition):
                if isinstance(node, eql.FieldConstant) and node.value is not None:
                    found.append(node.value)
                elif isinstance(node, eql.ValueLookup):
                    found += (value for value in node.values if value is not None)
        if isinstance(query.body, eql.EventSequence) and query.body.maxspan is not None:
            found.append(query.body.maxspan.microseconds / 1_000_000)
        return found

    def constructs(self, query: eql.EqlQuery, /) -> frozenset[str]:
        return frozenset(_constructs(query))

    def check(self, query: eql.EqlQuery, schema: Schema | None) -> Checked:
        return check_rule(query, schema)


class EqlEvaluators(Evaluators[eql.EqlQuery]):
    """The evaluators of EQL."""

    def streamed(self, query: eql.EqlQuery, schema: Schema | None, options: Options) -> Streamed | Unsupported:
        """Return the evaluator that takes events one by one.

        Reading them in batches would be no faster, because few events of a batch have the same key.
        """
        return _machine(query, schema, options)

    def waits(self, query: eql.EqlQuery) -> bool:
        body = query.body
        # An event that must be missing may come until the span is over, and `tail` needs the end of the log.
        behind = isinstance(body, eql.EventSequence) and body.steps[-1].missing
        return behind or any(pipe.name == "tail" for pipe in query.pipes)


class EqlExplanations(Explanations[eql.EqlQuery]):
    """The explanations and drawings of queries of EQL."""

    def explainer(self, query: eql.EqlQuery, S: Stream, text: str) -> Explainer[Any]:
        """Return an explainer of why the rule fired, and of the fate of each sequence, by Elastic's semantics."""
        from cerify.explanations.eql import EqlExplainer

        return EqlExplainer(query, S, text)

    def near_misses(self, query: eql.EqlQuery, S: Stream, limit: int, budget: Budget) -> NearMissReport:
        """Report how far the sequences of a rule came. Raises Unsupported for a query that is not a sequence."""
        from cerify.explanations.eql import missed_sequences

        if not isinstance(query.body, eql.EventSequence):
            raise Unsupported("only sequences have near misses; use cerify explain", query.span)
        return missed_sequences(query.body, S, limit)

    def test_logs(self, query: eql.EqlQuery, schema: Schema | None = None, /) -> TestLogs:
        """Return logs, with events of the schema, that detect rules that differ from the query in one place."""
        from cerify.equivalence.eql.mutants import make_rule_tests
        from cerify.semantics.ecs import document_of_event

        found = make_rule_tests(query, Budget(states=20_000), schema=schema)
        lines = tuple(
            {
                "log": [document_of_event(event) for event in test.log],
                "matches": [list(m.events) for m in test.matches],
                "kills": list(test.kills),
            }
            for test in found.tests
        )
        killed = found.mutants - len(found.same) - len(found.undecided)
        summary = [f"{len(lines)} logs detect {killed} of {found.mutants} rules that differ in one place"]
        summary += [f"means the same as the rule: {words}" for words in found.same]
        summary += [f"undecided: {words}" for words in found.undecided]
        return TestLogs(lines, tuple(summary))


class EqlCases(Cases[eql.EqlQuery]):
    """The random cases of EQL."""

    def operations(self) -> QueryOperations[eql.EqlQuery]:
        from cerify.equivalence.generate.eql import EQL

        return EQL

    def generator(self) -> Generator[eql.EqlQuery]:
        from cerify.equivalence.generate.eql import EQL_GENERATOR

        return EQL_GENERATOR


class EqlDeciders(Deciders[eql.EqlQuery]):
    """The comparisons of queries of EQL."""

    def compare(self, left: eql.EqlQuery, right: eql.EqlQuery, question: DecisionQuestion) -> Verdict:
        """Decide whether two rules have the same matches, if they have the same keys and windows.

        For other rules, search for a log on which they differ; the verdict may then be undecided.
        """
        from cerify.equivalence.eql.decide import Asked, Same, compare_rules
        from cerify.equivalence.verdict import Certificate, Contained, Different, Equivalent, Undecided

        asked = Asked(question.claim, question.level, question.arrays, question.schema)
        budget = replace(question.budget, seconds=question.budget.seconds or LONG)
        found: Same | Different | Undecided
        try:
            with budget.timed():
                found = compare_rules(left, right, asked, budget)
        except BudgetExceeded as error:
            found = Undecided(error.message)
        if isinstance(found, Same):
            if found.sorted and question.order == "any":
                return Undecided(
                    "rules with maxspan are compared only if times never decrease: use the order non-decreasing"
                )
            certificate = Certificate(
                question.claim, eql.show(left), eql.show(right), question.level, question.schema, True, (), "eql",
                order="non-decreasing" if found.sorted else "any", arrays=question.arrays,
            )  # fmt: skip
            certificate = replace(certificate, letters=_letters_of(certificate, left, right))
            return (Equivalent if question.claim == "equivalent" else Contained)(certificate)
        if isinstance(found, Different) and question.order == "strict" and not _times_increase(found.stream):
            return Undecided("the rules differ on a log in which events have the same time; choose another order")
        schema = question.schema
        if schema is not None and isinstance(found, Different):
            if all(_is_of(event, schema) for event in found.stream):
                return found
            return Undecided("the rules differ on a log that does not fit the schema; compare them without it")
        return found

    @property
    def translations(self) -> Mapping[str, Callable[[eql.EqlQuery, Reading], Any]]:
        from cerify.equivalence.eql.translate import eql_to_cel, eql_to_rows, eql_to_sase

        def in_cel(query: eql.EqlQuery, reading: Reading) -> Any:
            return eql_to_cel(query)

        def in_sase(query: eql.EqlQuery, reading: Reading) -> Any:
            return eql_to_sase(query)

        def in_row_pattern(query: eql.EqlQuery, reading: Reading) -> Any:
            return eql_to_rows(query)

        return {"cel": in_cel, "sase": in_sase, "row-pattern": in_row_pattern}

    def decides_again(self, certificate: Certificate) -> bool:
        return certificate.letters is None

    def unproved(self, certificate: Certificate, budget: Budget, /) -> str | None:
        """Return why a certificate does not prove its claim, or None if it does.

        If the certificate lists all combinations of filters that one event can pass, they suffice to check the proof.
        Otherwise the rules are compared again, and tested with the reference evaluator on some hundred logs.
        """
        from cerify.equivalence.eql.checker import find_flaw
        from cerify.equivalence.eql.decide import Asked, Same, compare_rules, find_counterexample

        left, right = self.language.syntax.parse(certificate.left), self.language.syntax.parse(certificate.right)
        if certificate.letters is not None:
            return find_flaw(certificate, left, right, budget)
        asked = Asked(certificate.claim, certificate.level, certificate.arrays, certificate.schema)
        found = compare_rules(left, right, asked, budget)
        if isinstance(found, Same) and found.sorted and certificate.order == "any":
            return "the rules have maxspan, but the certificate does not say that times never decrease"
        if not isinstance(found, Same):
            return f"a new decision finds that the rules are not {certificate.claim}"
        S = find_counterexample(left, right, asked)
        return None if S is None else f"by the reference evaluator the rules are not {certificate.claim} on {list(S)}"


def _letters_of(
    certificate: Certificate, left: eql.EqlQuery, right: eql.EqlQuery
) -> tuple[tuple[int, ...], ...] | None:
    """Return the letters (sets of filters that an event can pass at once) that a checker needs to prove the
    certificate.

    Return () if it needs none, and None if they are not found soon.
    """
    from cerify.equivalence.eql.checker import find_flaw
    from cerify.equivalence.eql.letters import FilterAlphabet

    filters = list(dict.fromkeys((*eql.filters_of(left), *eql.filters_of(right))))
    with suppress(BudgetExceeded), Budget(seconds=SOON).timed():
        # Letters may be many: a certificate that is proved without them stays short.
        if find_flaw(replace(certificate, letters=()), left, right, Budget()) is None:
            return ()
        found = FilterAlphabet(filters, certificate.arrays).letters()
        letters = tuple(sorted(tuple(sorted(letter.passes)) for letter in found))
        if find_flaw(replace(certificate, letters=letters), left, right, Budget()) is None:
            return letters
    return None


def _times_increase(S: Stream) -> bool:
    times = [time for event in S if (time := time_of(event)) is not None]
    return all(a < b for a, b in pairwise(times))


def _constructs(query: eql.EqlQuery) -> Iterable[str]:
    body = query.body
    match body:
        case eql.EventFilter():
            yield "event"
        case eql.EventSequence(keys, maxspan, steps, until):
            yield "sequence"
            yield from ["by"] * bool(keys or steps[0].keys)
            yield from ["maxspan"] * (maxspan is not None)
            yield from ["until"] * (until is not None)
            yield from ["runs"] * any(step.runs > 1 for step in steps)
            yield from ["missing"] * any(step.missing for step in steps)
        case eql.EventSample():
            yield "sample"
    yield from (pipe.name for pipe in query.pipes)


def _is_of(event: Event, schema: Schema) -> bool:
    """Return whether an event fits the schema: the schema has its type, and the type has its attributes and values."""
    known = schema.types.get(event.type)
    return known is not None and all(
        name == TIME or (name in known and joined(known[name], value_type_of(value)) == known[name])
        for name, value in event.attributes.items()
    )


def check_rule(query: eql.EqlQuery, schema: Schema | None = None, arrays: bool = True) -> Checked:
    """Return the facts about a rule that are known before any event. arrays: whether fields may have several values."""
    found = sorted(_constructs(query))
    fragment: dict[str, Any] = {"constructs": found}
    wrong, fires = problems(query, schema), _fires(query, arrays)
    if fires is False:
        why, span = _never_passed(query, arrays)
        wrong.append(Problem("never", f"the rule fires on no log{why}", span))
    return Checked(fragment, f"EQL: {', '.join(found)}", wrong, satisfiable=fires)


def _never_passed(query: eql.EqlQuery, arrays: bool) -> tuple[str, Span | None]:
    """Return a text about the first step that no event can pass, and the place of its contradictory conditions."""
    body = query.body
    parts = [body] if isinstance(body, eql.EventFilter) else [step.filter for step in body.steps if not step.missing]
    for number, part in enumerate(parts, 1):
        if _fires(eql.EqlQuery(part), arrays) is not False:
            continue
        condition = part.condition
        core: list[eql.Condition] = [condition]
        if isinstance(condition, eql.AllConditions):
            core = list(children(condition))
        for one in list(core):
            fewer = [other for other in core if other is not one]
            rest = (
                eql.EventFilter(part.category, eql.AllConditions(tuple(fewer)) if len(fewer) > 1 else fewer[0])
                if fewer
                else None
            )
            if rest is not None and _fires(eql.EqlQuery(rest), arrays) is False:
                core = fewer
        spans = [one.span for one in core if one.span is not None]
        place = Span(min(s.start for s in spans), max(s.end for s in spans)) if spans else part.span
        step = "" if part is body else f"step {number}, "
        return f": no event passes {step}{' and '.join(map(eql.show_condition, core))}", place
    if isinstance(body, eql.EventSequence) and body.until is not None:
        return (
            ": an event that takes a step before the last also satisfies `until`, which ends the sequence",
            query.span,
        )
    return "", query.span


def _fires(query: eql.EqlQuery, arrays: bool) -> bool | None:
    """Return whether the query matches on some log; None if that is not decided soon."""
    if not installed("z3"):
        return None
    from cerify.equivalence.eql.decide import Asked, Same, find_firing_log, fires_on_some_log
    from cerify.equivalence.verdict import Different

    asked = Asked(arrays=arrays)
    soon = partial(find_firing_log, arrays_first=True)
    for decide in (soon, fires_on_some_log):  # the second one is exact, and may take long
        with suppress(BudgetExceeded), Budget(seconds=SOON).timed():
            found = decide(query, asked)
            if isinstance(found, Stream | Different):
                return True
            if isinstance(found, Same):
                return False
    return None


def _why_not(query: eql.EqlQuery, schema: Schema | None, options: Options) -> Unsupported | None:
    require_wellformed(query)
    if options.consumption is not Consumption.NONE:
        return Unsupported("EQL does not support consumption; leave it out")
    if options.output == "matches":
        return None
    return Unsupported(f"{ANSWER}, so it has no valuations; use output='matches'")


def _denotational(query: eql.EqlQuery, S: Stream, options: Options) -> Iterable[Match]:
    from cerify.semantics.eql.denote import matches_of

    return matches_of(query, S, options.eql_reading, options.budget)


def _machine(query: eql.EqlQuery, schema: Schema | None, options: Options) -> Evaluator | Unsupported:
    from cerify.automata.eql.machine import SlotMachine

    return SlotMachine(query, options.eql_reading, options.budget)


def _by_machine(query: eql.EqlQuery, S: Stream, options: Options) -> Iterable[Match]:
    from cerify.automata.eql.machine import SlotMachine

    return SlotMachine(query, options.eql_reading, options.budget).evaluate_stream(S)


def _why_not_compiled(query: eql.EqlQuery, schema: Schema | None, options: Options) -> Unsupported | None:
    from cerify.automata.eql.columns import why_not_compiled

    return _why_not(query, schema, options) or why_not_compiled(query)


def _column_batches(query: eql.EqlQuery, schema: Schema | None, options: Options) -> Evaluator | Unsupported:
    from cerify.automata.eql.kernel import EqlColumnEvaluator

    return EqlColumnEvaluator(query, options.eql_reading, options.budget)


def _by_columns(query: eql.EqlQuery, S: Stream, options: Options) -> Iterable[Match]:
    from cerify.automata.eql.kernel import matches_by_columns

    return matches_by_columns(query, S, options.eql_reading, options.budget)


LANGUAGE: Language[eql.EqlQuery] = Language(
    name="eql",
    title="EQL",
    answer=ANSWER,
    row_type="event",
    loops=("sequence [A where true] [B where true]",),
    settings=frozenset({"eql_reading"}),
    syntax=EqlSyntax(),
    evaluators=EqlEvaluators(
        {
            "denotational": BuiltIn.from_matches(_denotational, _why_not),
            "automaton": BuiltIn.from_matches(_by_machine, _why_not, batches=_machine),
            "kernel": BuiltIn.from_matches(_by_columns, _why_not_compiled, True, batches=_column_batches),
        }
    ),
    explanations=EqlExplanations(),
    cases=EqlCases(),
    deciders=EqlDeciders(),
)
