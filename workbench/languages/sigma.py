"""Sigma, detection rules with correlations, as a plug-in.

Its six parts are in the order of `Language`. An alert is a match with the rule and its group as results. Rules are
compared, simplified and tested by `equivalence/sigma.py`; few of them have a translation to CEL, because a correlation
counts events, or distinct values, in a window.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cerify.automata.evaluator import Consumption
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
)
from cerify.semantics.arguments import Budget, format_names
from cerify.semantics.eql import syntax as eql
from cerify.semantics.errors import BudgetExceeded, IllFormed, Unsupported
from cerify.semantics.events import TIME, Event, Match, Schema, Stream, result_of
from cerify.semantics.packages import installed
from cerify.semantics.predicates import Problem, find_nearest_name
from cerify.semantics.readings import SPECIFICATION, Reading
from cerify.semantics.schemas import NULL, ObservedSchema, attribute_of, field_name
from cerify.semantics.sigma import syntax as sigma
from cerify.semantics.sigma.denote import SigmaAlert, alerts_of
from cerify.semantics.sigma.parse import parse
from cerify.semantics.trees import subtrees
from cerify.semantics.values import Value

if TYPE_CHECKING:
    from cerify.equivalence.generate.shrink import Generator, QueryOperations
    from cerify.equivalence.verdict import Certificate, Verdict
    from cerify.explanations.explanation import Explainer
    from cerify.hypotheses.interpretation import Interpretation


SOON = 5.0  # seconds to decide whether rules can raise an alert at all


class SigmaSyntax(Syntax[sigma.SigmaQuery]):
    """The syntax of Sigma."""

    trees = (sigma.SigmaQuery,)
    ordered = (sigma.SigmaCorrelation,)
    naming_others = (eql.FunctionCall,)
    mark = r"(?m)^(?:detection|correlation|logsource):|^ +(?:timespan|group-by|condition):"

    def parse(self, text: str) -> sigma.SigmaQuery:
        return parse(text)

    def show(self, query: sigma.SigmaQuery, /) -> str:
        return query.text

    def problems(self, query: sigma.SigmaQuery, schema: Schema | None, /) -> list[Problem]:
        found = _unused_parts(query)
        if schema is None:
            return found
        known = {field_name(name.removesuffix(NULL)): own for name, own in schema.attributes.items() if name != TIME}
        observed = isinstance(schema, ObservedSchema)
        names = dict.fromkeys(field_name(field.name.removesuffix(NULL)) for field in _fields(query, observed))
        absent = [name for name in names if name not in known]
        found += (replace(problem, partial=not observed) for problem in _absent_fields(absent, known))
        for what, name in dict.fromkeys(_of_numbers(query)):
            if known.get(name) == "string":
                message = f"{what} needs numbers and ignores texts, but {name} is a text in these events"
                found.append(Problem("kind", message, None, advice=f"write the values of {name} as numbers"))
        if TIME not in schema.attributes and any(isinstance(rule, sigma.SigmaCorrelation) for rule in query.rules):
            message = "correlations need the time of events, but these events have no time and are ignored"
            advice = "name the column with the time, as --time timestamp"
            found.append(Problem("attribute", message, None, advice=advice))
        return found

    def stream_problems(self, query: sigma.SigmaQuery, S: Stream, /) -> list[Problem]:
        return _unused_parts(query)

    def require_typed(self, query: sigma.SigmaQuery, schema: Schema, /) -> None:
        for problem in self.problems(query, schema):
            # An unused detection changes no alert, and a field that some events lack may occur in others.
            if problem.rule != "unused" and not problem.partial:
                raise IllFormed(problem.hinted)

    reads_documents = True
    keeps_nulls = True

    def read_events(
        self, source: str | Path | Sequence[str | Path], type_column: str | None = None, time_column: str | None = None
    ) -> Stream | None:
        """Return the documents of a file or a folder, as EQL reads them, with all of their fields.

        time_column: the field with the times, if it is not `@timestamp`.
        """
        from cerify.semantics.ecs import CATEGORY, TIMESTAMP, looks_like_ecs, read_ecs

        if type_column != CATEGORY and not looks_like_ecs(source):
            return None
        return read_ecs(source, type_column or CATEGORY, time_column or TIMESTAMP, self.keeps_nulls)

    def children(self, query: sigma.SigmaQuery, /) -> tuple[sigma.SigmaQuery, ...]:
        return ()

    def size(self, query: sigma.SigmaQuery, /) -> int:
        """Return the number of rules, tests and connectives."""
        return sum(1 + sum(1 for _ in subtrees(condition)) for condition in _conditions(query))

    def constants(self, query: sigma.SigmaQuery) -> list[Value]:
        found: list[Value] = []
        for condition in _conditions(query):
            for node in subtrees(condition):
                if isinstance(node, eql.FieldConstant) and node.value is not None:
                    found.append(node.value)
                elif isinstance(node, eql.ValueLookup):
                    found += (value for value in node.values if value is not None)
        return found + [rule.seconds for rule in sigma.rules_of(query) if isinstance(rule, sigma.SigmaCorrelation)]

    def constructs(self, query: sigma.SigmaQuery, /) -> frozenset[str]:
        return frozenset(_constructs(query))

    def check(self, query: sigma.SigmaQuery, schema: Schema | None) -> Checked:
        used = sorted(self.constructs(query))
        names = [rule.name for rule in query.rules]
        said = {"constructs": used, "alerts": names, "rules": [rule.name for rule in sigma.rules_of(query)]}
        summary = f"Sigma: {', '.join(used)}; alerts are raised by {', '.join(map(repr, names))}"
        wrong, fires = self.problems(query, schema), _fires(query)
        if fires is False:
            one = "the rule" if len(names) == 1 else "one of the rules"
            wrong.append(
                Problem("never", f"{one} raises no alert on any log, because its condition is never true", None)
            )
        return Checked(said, summary, wrong, satisfiable=fires)


class SigmaEvaluators(Evaluators[sigma.SigmaQuery]):
    """The evaluators of Sigma."""

    def waits(self, query: sigma.SigmaQuery) -> bool:
        return False


class SigmaExplanations(Explanations[sigma.SigmaQuery]):
    """The explanations and drawings of queries of Sigma."""

    def explainer(self, query: sigma.SigmaQuery, S: Stream, text: str) -> Explainer[Any]:
        return self.explainer_in_reading(query, S, text, Options())

    def explainer_in_reading(self, query: sigma.SigmaQuery, S: Stream, text: str, options: Options) -> Explainer[Any]:
        from cerify.explanations.sigma import SigmaExplainer

        return SigmaExplainer(query, S, text, options.sigma_reading)

    def test_logs(self, query: sigma.SigmaQuery, schema: Schema | None = None, /) -> TestLogs:
        """Return logs that detect rules that differ in one place, and converters that follow another reading."""
        from cerify.equivalence.sigma import make_sigma_tests

        if schema is not None:
            raise Unsupported("test logs of Sigma have the fields of the rules; leave the schema out")
        found = make_sigma_tests(query)
        lines = tuple(_line_of_log(test.log, test.alerts, test.kills) for test in found.tests)
        summary = [
            f"{len(lines)} logs find {found.mistakes - len(found.same) - len(found.left)} of {found.mistakes} mistakes "
            "in one place"
        ]
        summary += [f"means the same as the rules: {words}" for words in found.same]
        summary += [f"no log was found for: {words}" for words in found.left]
        return TestLogs(lines, tuple(summary))

    def logs_to_ask(self, query: sigma.SigmaQuery, /) -> Iterable[Sequence[Event]]:
        from cerify.equivalence.sigma import logs_around

        return sorted(logs_around(query), key=len)

    def logs_for_engines(self, query: sigma.SigmaQuery, /) -> TestLogs:
        from cerify.equivalence.sigma import find_distinguishing_logs, make_sigma_tests
        from cerify.hypotheses.interpretation import choices_of, concerned
        from cerify.hypotheses.sigma import INTERPRETATION, change_thresholds, find_matches

        def meaning(choices: Mapping[str, str], log: Sequence[Event]) -> tuple[object, ...]:
            found = find_matches(query, log, choices, "valuations", Budget())
            return {m.at for m in found}, {repr(m.result) for m in found}

        bearing = concerned(INTERPRETATION.axes, INTERPRETATION.operators(query))
        one = [{}, *({axis.name: value} for axis in bearing for value in axis.values[1:])]
        cut = {axis.name: "truncated" for axis in bearing if "truncated" in axis.values}
        last = [{axis.name: "last"} | cut for axis in bearing if "last" in axis.values]  # as queries by groups do
        meanings = [
            partial(meaning, choices_of(at_end | chosen, INTERPRETATION.axes))
            for at_end in ({}, *last)
            for chosen in one
        ]
        found = make_sigma_tests(query)
        # Converters that cut thresholds to whole numbers differ only near the cut ones, so logs for these are tried
        # too.
        as_cut = choices_of({"constants": "truncated"}, INTERPRETATION.axes)
        rules = tuple(change_thresholds(rule, as_cut, {}) for rule in query.rules)
        more = make_sigma_tests(replace(query, rules=rules)).tests if rules != query.rules else ()
        logs = find_distinguishing_logs(
            query, meanings, [test.log for test in found.tests], [test.log for test in more]
        )
        lines = [_line_of_log(test.log, test.alerts, test.kills) for test in found.tests]
        lines += [_line_of_log(log, alerts_of(query, log), ["differences between converters"]) for log in logs]
        return TestLogs(tuple(lines), ())


def _line_of_log(log: Iterable[Event], alerts: Iterable[SigmaAlert], kills: Iterable[str]) -> Mapping[str, Any]:
    """Return a test log as JSON, with its alerts and the mistakes that it detects."""
    from cerify.semantics.ecs import document_of_event

    return {
        "log": [document_of_event(event) for event in log],
        "alerts": [{"at": a.at, "events": list(a.events), "rule": a.rule, "group": dict(a.group)} for a in alerts],
        "kills": list(kills),
    }


class SigmaCases(Cases[sigma.SigmaQuery]):
    """The random cases of Sigma, and the operations that simplify rules."""

    def operations(self) -> QueryOperations[sigma.SigmaQuery]:
        from cerify.equivalence.generate.sigma import SIGMA

        return SIGMA

    def generator(self) -> Generator[sigma.SigmaQuery]:
        from cerify.equivalence.sigma import SIGMA

        return SIGMA


class SigmaDeciders(Deciders[sigma.SigmaQuery]):
    """The comparisons of queries of Sigma."""

    def compare(self, left: sigma.SigmaQuery, right: sigma.SigmaQuery, question: DecisionQuestion) -> Verdict:
        """Decide whether two rules raise the same alerts, if they differ only in conditions.

        For other rules, search for a log on which they differ; the verdict may then be undecided.
        """
        from cerify.equivalence.sigma import SameRules, compare_sigma
        from cerify.equivalence.verdict import Certificate, Contained, Equivalent

        found = compare_sigma(left, right, question.claim, question.level, question.budget)
        if isinstance(found, SameRules):
            certificate = Certificate(
                question.claim, left.text, right.text, question.level, question.schema, True, (), "sigma"
            )
            return (Equivalent if question.claim == "equivalent" else Contained)(certificate)
        return found

    def decides_again(self, certificate: Certificate) -> bool:
        return True

    def unproved(self, certificate: Certificate, budget: Budget, /) -> str | None:
        """Return why a certificate does not prove its claim, or None if it does.

        The certificate has no proof to check, so the rules are compared again.
        """
        from cerify.equivalence.sigma import SameRules, compare_sigma

        left, right = parse(certificate.left), parse(certificate.right)
        found = compare_sigma(left, right, certificate.claim, certificate.level, budget)
        return (
            None
            if isinstance(found, SameRules)
            else f"a new comparison finds that the rules are not {certificate.claim}"
        )

    @property
    def translations(self) -> Mapping[str, Callable[[sigma.SigmaQuery, Reading], Any]]:
        return {"cel": _in_cel}


def _fires(query: sigma.SigmaQuery) -> bool | None:
    """Return whether the rules raise alerts on some log; None if that is not decided soon."""
    if not installed("z3"):
        return None
    from cerify.equivalence.sigma import fires_on_some_log

    with suppress(BudgetExceeded), Budget(seconds=SOON).timed():
        return fires_on_some_log(query)
    return None


def _conditions(query: sigma.SigmaQuery) -> list[eql.Condition]:
    return [rule.condition for rule in sigma.rules_of(query) if isinstance(rule, sigma.SigmaDetection)]


def _unused_parts(query: sigma.SigmaQuery) -> list[Problem]:
    """Return problems with detections that no condition names, with aliases that group-by does not name, and with
    `generate` in a rule that is no correlation.
    """
    said = {
        "condition": "the condition does not name the detection",
        "group-by": "group-by does not name the alias",
        "correlation": "a rule with a detection has no key",
    }
    return [
        Problem("unused", f"{rule}: {said[of]} {name!r}", None, advice=f"name it in `{of}`, or leave it out")
        for rule, of, name in query.unused
    ]


def _absent_fields(names: Sequence[str], known: Collection[str]) -> list[Problem]:
    """Return a problem with all fields that no event has; nothing if every field occurs."""
    near = {name: one for name in names if (one := find_nearest_name(name, known)) is not None}
    if len(names) < 2:
        return [Problem("attribute", f"no event has the field {name!r}", None, near.get(name)) for name in names]
    meant = ", ".join(f"{one} for {name}" for name, one in near.items())
    message = f"no event has the fields {format_names(names)}"
    return [Problem("attribute", f"{message}; did you mean {meant}?" if meant else message, None)]


def _fields(query: sigma.SigmaQuery, needed: bool = False) -> Iterable[eql.EventField]:
    """Yield the fields that the rules of a query use, except fields that an alert takes from its group.

    needed: also leave out fields that a condition requires to be absent.
    """
    for condition in _conditions(query):
        tests = (node for node in subtrees(condition) if needed and isinstance(node, eql.FieldComparison))
        absent = {node.left for node in tests if node.comparator == "==" and node.right == sigma.ABSENT}
        negated = (node.condition for node in subtrees(condition) if isinstance(node, eql.NegatedCondition))
        if needed:  # fields that must not exist
            absent |= {field for one in negated if sigma.field_there(one) for field in eql.fields_of(one)}
        yield from (field for field in eql.fields_of(condition) if field not in absent)
    for rule in sigma.rules_of(query):
        if isinstance(rule, sigma.SigmaCorrelation):
            for part, keys, values in zip(rule.rules, rule.keys, rule.values, strict=True):
                own = part.group_by if isinstance(part, sigma.SigmaCorrelation) else ()
                yield from (eql.EventField(name) for name in (*keys, *values) if field_name(name) not in own)


def _of_numbers(query: sigma.SigmaQuery) -> Iterable[tuple[str, str]]:
    """Yield each operation that needs numbers (a comparison, sum, average or percentile), with its field."""
    for condition in _conditions(query):
        for node in subtrees(condition):
            if isinstance(node, eql.FieldComparison) and node.comparator in sigma.SIGNS:
                yield from ((sigma.SIGNS[node.comparator], field_name(field.name)) for field in eql.fields_of(node))
    for rule in sigma.rules_of(query):
        if isinstance(rule, sigma.SigmaCorrelation) and rule.kind in sigma.NUMERIC:
            yield from ((rule.kind, field_name(name)) for names in rule.values for name in names)


def _constructs(query: sigma.SigmaQuery) -> Iterable[str]:
    for rule in sigma.rules_of(query):
        if isinstance(rule, sigma.SigmaDetection):
            yield "detection"
            continue
        yield rule.kind
        yield from ["group-by"] * bool(rule.group_by)
        yield from ["chained"] * any(isinstance(part, sigma.SigmaCorrelation) for part in rule.rules)
        yield from ["aliases"] * any(keys != tuple(map(attribute_of, rule.group_by)) for keys in rule.keys)
        yield from ["range"] * (len(rule.thresholds) > 1)
        yield from (name for name, _ in rule.thresholds if name not in ("gt", "gte"))


def _why_not(query: sigma.SigmaQuery, schema: Schema | None, options: Options) -> Unsupported | None:
    if options.consumption is not Consumption.NONE:
        return Unsupported("Sigma does not support consumption; leave it out, or use the reading alerts=consumed")
    return None


def _denotational(query: sigma.SigmaQuery, S: Stream, options: Options) -> Iterable[Match]:
    return matches_of(query, S, options)


def matches_of(query: sigma.SigmaQuery, S: Stream, options: Options) -> list[Match]:
    """Return the alerts as matches. The result of a match is the rule of the alert and the fields of its group."""
    return [
        Match(a.at, a.events, (), result_of({"rule": a.rule, "group": dict(a.group)}))
        for a in alerts_of(query, S, options.sigma_reading, options.budget)
    ]


def _why_not_counting(query: sigma.SigmaQuery, schema: Schema | None, options: Options) -> Unsupported | None:
    from cerify.automata.sigma import unsupported_rules

    if options.sigma_reading != SPECIFICATION:
        return Unsupported(
            "counting in one pass supports only the specification; for other readings use the evaluator denotational"
        )
    return _why_not(query, schema, options) or unsupported_rules(query)


def _counting(query: sigma.SigmaQuery, S: Stream, options: Options) -> Iterable[Match]:
    """Evaluate rules by counting in one pass; if times decrease, use the reference evaluator."""
    from cerify.automata.sigma import count_alerts, times_ascend

    return count_alerts(query, S, options.budget) if times_ascend(S) else matches_of(query, S, options)


def _in_cel(query: sigma.SigmaQuery, reading: Reading) -> Any:
    from cerify.equivalence.sigma import sigma_to_cel

    return sigma_to_cel(query)


def _interpretation() -> Interpretation:
    from cerify.hypotheses.sigma import INTERPRETATION

    return INTERPRETATION


LANGUAGE: Language[sigma.SigmaQuery] = Language(
    name="sigma",
    title="Sigma",
    answer="the answer of a Sigma rule is its events and its group",
    results=True,
    row_type="event",
    settings=frozenset({"sigma_reading"}),
    syntax=SigmaSyntax(),
    evaluators=SigmaEvaluators(
        {
            "denotational": BuiltIn.from_matches(_denotational, _why_not),
            "automaton": BuiltIn.from_matches(_counting, _why_not_counting),
        }
    ),
    explanations=SigmaExplanations(),
    cases=SigmaCases(),
    deciders=SigmaDeciders(),
    hypotheses=_interpretation,
)
