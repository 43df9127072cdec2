"""Parse Sigma rules with pySigma and turn them into trees: several YAML documents that may refer to each other.

Errors of pySigma keep its words. A range of two thresholds is accepted, as in the specification, although pySigma
refuses it. A detection becomes a condition of EQL; `parse` raises Unsupported if EQL cannot express it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from functools import lru_cache
from typing import Any

from cerify.semantics.eql import syntax as eql
from cerify.semantics.errors import CerifyError, IllFormed, ParseError, Span, Unsupported
from cerify.semantics.packages import naming_extras
from cerify.semantics.predicates import find_nearest_name
from cerify.semantics.schemas import attribute_of, field_name
from cerify.semantics.sigma.syntax import (
    KINDS,
    TEMPORAL,
    SigmaCorrelation,
    SigmaDetection,
    SigmaQuery,
    SigmaRule,
    Threshold,
    has_field,
    rules_of,
)

KEYWORDS = "message"
"""The field in which a keyword is searched for. A keyword is a value without a field."""
OPERATORS = ("gt", "gte", "lt", "lte", "eq", "neq")
DOCUMENT = re.compile(r"(?m)^---[ \t]*(?:#.*)?$")
"""The line between two rules of a text."""
LONGEST = 1_000_000  # characters of a text of rules


@lru_cache(maxsize=256)
def parse(text: str) -> SigmaQuery:
    """Return the rules of a text of YAML documents.

    Raises ParseError, with its place, for a text that is not YAML or not Sigma; IllFormed for references to missing
    rules and for cycles; Unsupported for rules that cannot be evaluated here; MissingPackage without pySigma.
    """
    with naming_extras():
        import yaml
        from sigma.collection import SigmaCollection
        from sigma.correlations import SigmaCorrelationRule
        from sigma.exceptions import SigmaError
    if len(text) > LONGEST:
        raise ParseError(f"the text of rules has more than {LONGEST:,} characters; split it")
    try:
        loaded = list(yaml.load_all(text, _loader()))
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # only for the places
        nodes = list(yaml.compose_all(text, Loader=loader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = None if mark is None else Span(min(mark.index, len(text)), min(mark.index + 1, len(text)))
        raise ParseError(f"not YAML: {getattr(error, 'problem', None) or error}", place) from None
    except (ValueError, RecursionError) as error:
        raise ParseError(f"not YAML: {error}") from None
    placed = [(one, node.start_mark.index) for one, node in zip(loaded, nodes, strict=True) if one is not None]
    documents, starts = [one for one, _ in placed], [start for _, start in placed]
    for document, start in zip(documents, starts, strict=True):
        if not isinstance(document, dict) or not all(isinstance(key, str) for key in document):
            raise ParseError("a rule must be a mapping with `detection` or `correlation`", _line_at(text, start))
        if "correlation" not in document and {"type", "rules"} <= document.keys():
            message = (
                "type, rules, group-by, timespan and condition of a correlation must be indented below `correlation:`"
            )
            raise ParseError(message, _line_at(text, max(text.find("\ntype:", start) + 1, start)))
        _require_known_keys(text, start, document)
        for name in set(document) & LISTS:  # they have no meaning here, so that a text instead of a list is no error
            document[name] = document[name] if isinstance(document[name], list) else []
        if isinstance(document.get("correlation"), dict) and "generate" in document:  # the specification's place
            document["correlation"].setdefault("generate", document.pop("generate"))
        if isinstance(percentile := _condition_of(document).get("percentile"), float) and not percentile.is_integer():
            message = f"pySigma takes only whole percentiles, and would read {percentile} as {int(percentile)}"
            raise Unsupported(message, _line_at(text, max(text.find("percentile:", start), start)))
    ranges = [_without_second_threshold(document) for document in documents if "correlation" in document]
    # For values of a wrong type pySigma raises errors of Python as well as its own.
    flaws = (SigmaError, ValueError, TypeError, KeyError, AttributeError)
    try:
        # Copies, because pySigma deletes the key `action` of a document, and the search below reads the documents
        # again.
        built = SigmaCollection.from_dicts(deepcopy(documents), resolve_references=False)
    except flaws:
        for end, start in enumerate(starts, 1):  # one more document each time: the last one has the error
            try:
                SigmaCollection.from_dicts(deepcopy(documents[:end]), resolve_references=False)
            except flaws as error:
                raise ParseError(f"not a Sigma rule: {_message(error)}", _place(text, start, error)) from None
        raise
    generating = [
        (str(one.get("name") or one.get("title") or one.get("id")), "correlation", "generate")
        for one in documents
        if "correlation" not in one and "generate" in one
    ]
    if not text.strip():
        raise ParseError("the query is empty")
    if not built.rules:
        raise ParseError("there is no rule; write a mapping with `detection` or `correlation`")
    correlations = [rule for rule in built.rules if isinstance(rule, SigmaCorrelationRule)]
    more = dict(zip(map(id, correlations), ranges, strict=True))
    _require_unique(text, built.rules)
    try:
        built.resolve_rule_references()
    except SigmaError as error:
        missing = re.search(r"'([^']*)'", str(error))
        where = text.find(missing[1]) if missing else -1
        span = Span(where, where + len(missing[1])) if missing and where >= 0 else None
        raise IllFormed(f"{_message(error)}; put the rule into the same file or folder", span) from None
    made: dict[int, SigmaRule] = {}
    try:
        rules = tuple(_rule(rule, more, made, ()) for rule in built.rules if rule._output)
        unused = (*_unnamed_in(built.rules), *_unused_aliases(correlations), *generating)
        return SigmaQuery(rules, text=text, unused=unused)
    except CerifyError as error:
        name, _, said = error.message.partition(": ")
        named = re.search(rf"(?m)^(?:name|title|id):\s*['\"]?{re.escape(name)}['\"]?\s*$", text)
        start = named.start() if named else 0
        of_condition = isinstance(error, ParseError) or "condition" in error.message
        condition = text.find("condition:", start) if of_condition else -1
        if (field := re.match(r"([\w.]+)[|:]", said)) and (
            line := re.compile(rf"(?m)^[ \t-]*['\"]?{re.escape(field[1])}[|:]").search(text, start)
        ):
            start = line.start()
        raise type(error)(error.message, _line_at(text, max(condition, start))) from None


def split_by_alerts(query: SigmaQuery) -> list[SigmaQuery]:
    """Return a query for each rule that raises alerts, with the rules to which it refers.

    Return only the query itself if it cannot be split.
    """
    with naming_extras():
        import yaml
    named: list[tuple[str, str]] = []
    for text in DOCUMENT.split(query.text) if len(query.rules) > 1 else ():
        if body := yaml.safe_load(text):
            named.append((str(body.get("name") or body.get("title") or body.get("id")), text.strip("\n")))
    found: list[SigmaQuery] = []
    for rule in query.rules if named else ():
        own = {one.name for one in rules_of(SigmaQuery((rule,)))}
        part = parse("\n---\n".join(text for name, text in named if name in own) + "\n")
        if part.rules != (rule,):
            return [query]
        found.append(part)
    return found or [query]


CORRELATION = ("type", "rules", "group-by", "timespan", "condition", "aliases", "generate")
"""The keys of a correlation."""
LISTS = frozenset({"references", "tags", "falsepositives", "fields"})
"""The keys of a rule's metadata that hold lists."""


def _loader() -> Any:
    from sigma.rule.base import SigmaYAMLLoader

    return SigmaYAMLLoader


def _require_known_keys(text: str, start: int, document: Mapping[str, Any]) -> None:
    """Raise Unsupported for a key that a correlation does not have; a misspelt `group-by` would be ignored."""
    body = document.get("correlation")
    for key in map(str, body) if isinstance(body, dict) else ():
        if key not in CORRELATION:
            meant = find_nearest_name(key, CORRELATION)
            message = f"{key!r} is not a key of a correlation, which has {', '.join(CORRELATION)}"
            place = re.compile(rf"""[\s{{,'"]{re.escape(key)}['"]?\s*:""").search(text, start)
            span = _line_at(text, text.rfind("\n", 0, place.start() + 1) + 1 if place else start)
            raise Unsupported(message if meant is None else f"{message}; did you mean {meant}?", span)


def _condition_of(document: Mapping[str, Any]) -> dict[Any, Any]:
    correlation = document.get("correlation")
    condition = correlation.get("condition") if isinstance(correlation, dict) else None
    return condition if isinstance(condition, dict) else {}


def _without_second_threshold(document: Mapping[str, Any]) -> tuple[Threshold, ...]:
    """Remove all thresholds of a range but the first from a correlation, and return the removed thresholds."""
    condition = _condition_of(document)
    _, *others = [name for name in condition if name in OPERATORS] or [""]
    numbers = [name for name in others if type(condition[name]) in (int, float)]
    return tuple((name, condition.pop(name)) for name in numbers)


def _message(error: Exception) -> str:
    return str(error) if type(error).__name__.startswith("Sigma") else f"{type(error).__name__}: {error}"


def _line_at(text: str, index: int) -> Span:
    end = text.find("\n", index)
    return Span(index, len(text) if end < 0 else max(end, index + 1))


def _place(text: str, start: int, error: Exception) -> Span:
    """Return the line of a document that has the value or the key that an error names; else the first line."""
    end = text.find("\n---", start)
    document = text[start : len(text) if end < 0 else end]
    keys = [f"\n{word}:" for word in re.findall(r"[a-z][\w-]+", str(error)) if f"\n{word}:" in f"\n{document}"]
    names = [*re.findall(r"'([^'\n]+)'", str(error)), *re.findall(r"[\w.:]+/\d+", str(error)), *keys] + [
        word.replace(" ", "") for word in ("log source", "timespan", "type", "condition") if word in str(error)
    ]
    for name in names:
        if (at := document.find(name if name.startswith("\n") else name.strip())) >= 0:
            begin = start + at + name.startswith("\n")
            return _line_at(text, text.rfind("\n", 0, begin) + 1)
    return _line_at(text, start)


def _require_unique(text: str, rules: list[Any]) -> None:
    for key in ("name", "id"):
        values = [str(getattr(rule, key)) for rule in rules if getattr(rule, key) is not None]
        for value in values:
            if values.count(value) > 1:
                raise IllFormed(f"two rules have the {key} {value!r}", _line_at(text, max(text.find(value), 0)))


# --- rules ------------------------------------------------------------------------------------------------------------


def _rule(
    rule: Any, more: Mapping[int, tuple[Threshold, ...]], made: dict[int, SigmaRule], path: tuple[int, ...]
) -> SigmaRule:
    """Return the tree of a rule, which is built only once. path: the correlations that refer to it, by identity."""
    from sigma.correlations import SigmaCorrelationRule

    if id(rule) in path:
        raise IllFormed(f"{_name(rule)}: the correlation refers to itself")
    if id(rule) not in made:
        if isinstance(rule, SigmaCorrelationRule):
            parts = tuple(_rule(one.rule, more, made, (*path, id(rule))) for one in rule.referenced_rules)
            made[id(rule)] = _correlation(rule, parts, more[id(rule)])
        else:
            made[id(rule)] = _detection(rule)
    return made[id(rule)]


def _name(rule: Any) -> str:
    return str(rule.name or rule.title or rule.id)


def _correlation(rule: Any, parts: tuple[SigmaRule, ...], more: tuple[Threshold, ...]) -> SigmaCorrelation:
    kind, percentile = rule.type.name.lower(), None
    condition: Any = rule.condition
    if kind == "value_median":
        kind, percentile = "value_percentile", 50.0
    if kind not in KINDS:
        raise Unsupported(f"{_name(rule)}: the correlation type {kind} is not supported")
    if not hasattr(condition, "op"):
        raise Unsupported(
            f"{_name(rule)}: the specification allows no and, or, not in the condition of a correlation; write "
            "several correlations, and let one refer to the others"
        )
    if not parts:
        raise IllFormed(f"{_name(rule)}: a correlation must refer to at least one rule")
    names = [condition.fieldref] if isinstance(condition.fieldref, str) else list(condition.fieldref or ())
    if kind == "value_percentile" and percentile is None:
        percentile = None if condition.percentile is None else float(condition.percentile)
        if percentile is None or not 0 <= percentile <= 100:
            raise IllFormed(f"{_name(rule)}: value_percentile needs `percentile:`, from 0 to 100, in its condition")
    if kind not in ("event_count", "value_count", *TEMPORAL) and len(names) != 1:
        raise IllFormed(f"{_name(rule)}: {kind} needs exactly one field")
    group_by = tuple(rule.group_by or ())
    return SigmaCorrelation(
        _name(rule),
        kind,
        parts,
        group_by,
        tuple(tuple(attribute_of(_field_of(rule, one, name)) for name in group_by) for one in rule.referenced_rules),
        rule.timespan.seconds,
        ((condition.op.name.lower(), condition.count), *more),
        tuple(tuple(attribute_of(_field_of(rule, one, name)) for name in names) for one in rule.referenced_rules),
        percentile,
        timespan=rule.timespan.spec,
    )


def _field_of(rule: Any, referred: Any, name: str) -> str:
    """Return the field of a rule for a name in the correlation: the field of its alias, or the field with that name."""
    own = {referred.reference, str(referred.rule.name), str(referred.rule.id)}
    for alias in rule.aliases:
        if alias.alias == name:
            for target, field in alias.mapping.items():
                if target.reference in own:
                    return str(field)
    return name


def _unused_aliases(correlations: Iterable[Any]) -> Iterator[tuple[str, str, str]]:
    """Yield the aliases that neither the group nor the condition of their correlation names.

    Each is a tuple (rule, "group-by", alias).
    """
    for rule in correlations:
        counted = getattr(rule.condition, "fieldref", None) or ()
        named = {*(rule.group_by or ()), *((counted,) if isinstance(counted, str) else counted)}
        yield from ((_name(rule), "group-by", str(one.alias)) for one in rule.aliases if one.alias not in named)


def _unnamed_in(rules: Iterable[Any]) -> Iterator[tuple[str, str, str]]:
    """Yield the detections that no condition of their rule names: tuples (rule, "condition", detection)."""
    from sigma.validators.core.condition import DanglingDetectionValidator

    for rule in rules:
        yield from (
            (_name(rule), "condition", issue.detection_name) for issue in DanglingDetectionValidator().validate(rule)
        )


def _detection(rule: Any) -> SigmaDetection:
    try:
        conditions = [_condition(one.parsed, _name(rule)) for one in rule.detection.parsed_condition]
    except ValueError as error:  # from pySigma, which parses a condition when it is first used
        raise ParseError(f"{_name(rule)}: {error}") from None
    source = rule.logsource
    words = [f"{name} {value}" for name in ("category", "product", "service") if (value := getattr(source, name, None))]
    return SigmaDetection(_name(rule), _any(conditions), ", ".join(words), selections=tuple(_selections(rule)))


def _selections(rule: Any) -> Iterator[tuple[str, eql.Condition]]:
    """Yield the selections of a rule with their names, except selections that cannot be evaluated here.

    No condition names such a selection; otherwise the rule would have been refused.
    """
    from sigma.exceptions import SigmaError

    for name, detection in rule.detection.detections.items():
        with suppress(Unsupported, SigmaError):
            if (node := detection.postprocess(rule.detection)) is not None:
                yield name, _condition(node, _name(rule))


# --- conditions -------------------------------------------------------------------------------------------------------


def _any(parts: list[eql.Condition]) -> eql.Condition:
    return parts[0] if len(parts) == 1 else eql.AnyConditions(tuple(parts))


def _condition(node: Any, rule: str) -> eql.Condition:
    """Return the condition of EQL for a parsed condition. Raises Unsupported."""
    match type(node).__name__:
        case "ConditionAND":
            parts = tuple(_condition(part, rule) for part in node.args)
            return parts[0] if len(parts) == 1 else eql.AllConditions(parts)
        case "ConditionOR":
            return _any([_condition(part, rule) for part in node.args])
        case "ConditionNOT":
            return eql.NegatedCondition(_condition(node.args[0], rule))
        case "ConditionFieldEqualsValueExpression":
            return _value(_field(node.field), node.value, rule)
        case "ConditionValueExpression":
            import sigma.types as types

            if not isinstance(node.value, types.SigmaString):
                raise Unsupported(f"{rule}: a keyword must be a text")
            star = types.SpecialChars.WILDCARD_MULTI
            return _value(eql.EventField(KEYWORDS), star + node.value + star, rule)
        case other:
            raise Unsupported(f"{rule}: {other} is not supported; write another condition")


def _field(name: str) -> eql.EventField:
    return eql.EventField(attribute_of(name))


def _value(field: eql.EventField, value: Any, rule: str) -> eql.Condition:
    import sigma.types as types

    match value:
        case types.SigmaString():
            return _text(field, value, rule)
        case types.SigmaTimestampPart():
            raise Unsupported(f"{rule}: parts of a time, as in {field_name(field.name)}|hour, are not supported here")
        case types.SigmaNumber():
            number = _number(value)
            # Sigma's fields have no types, and logs have the same number sometimes as a text.
            return eql.ValueLookup("in", field, (number, str(number)))
        case types.SigmaBool():
            return eql.FieldComparison("==", field, eql.FieldConstant(value.boolean))
        case types.SigmaNull():
            return eql.FieldComparison("==", field, eql.FieldConstant(None))
        case types.SigmaExists():
            return has_field(field.name) if value else eql.NegatedCondition(has_field(field.name))
        case types.SigmaCompareExpression():
            sign = {"LT": "<", "LTE": "<=", "GT": ">", "GTE": ">=", "NEQ": "!="}[value.op.name]
            return eql.FieldComparison(sign, field, eql.FieldConstant(_number(value.number)))  # type: ignore[arg-type]
        case types.SigmaCIDRExpression():
            return eql.FunctionCall("cidrMatch", False, (field, eql.FieldConstant(str(value.network))))
        case types.SigmaFieldReference() if not (value.starts_with or value.ends_with):
            return eql.FieldComparison("==", field, _field(value.field))
        case types.SigmaExpansion():
            return _any([_value(field, part, rule) for part in value.values])
        case types.SigmaRegularExpression():
            names = {flag.name for flag in value.flags}
            flags = "".join(letter for name, letter in (("DOTALL", "s"), ("MULTILINE", "m")) if name in names)
            inner = str(value.regexp.original)
            # EQL's regex must match the whole value, Sigma's only a part of it; `s`, since the rest may have line
            # breaks.
            searched = rf"(?s:.*)(?{flags}:{inner})(?s:.*)" if flags else rf"(?s:.*)(?:{inner})(?s:.*)"
            return eql.ValueLookup("regex~" if "IGNORECASE" in names else "regex", field, (searched,))
        case types.SigmaFieldReference():
            name = field_name(field.name)
            message = f"{rule}: {name}|fieldref compares whole values, without startswith, endswith or contains"
            raise Unsupported(message)
        case _:
            raise Unsupported(f"{rule}: {field_name(field.name)}: {type(value).__name__} is not supported here")


def _number(value: Any) -> int | float:
    number: int | float = value.number
    return int(number) if float(number).is_integer() else float(number)


def _text(field: eql.EventField, value: Any, rule: str) -> eql.Condition:
    """Return the condition that a field matches a text with wildcards.

    Without `cased` it matches in any case. A text of digits matches the number too.
    """
    import sigma.types as types

    cased = isinstance(value, types.SigmaCasedString)
    parts = list(value.s)
    if any(isinstance(part, types.Placeholder) for part in parts):
        raise Unsupported(f"{rule}: {field_name(field.name)}: the placeholders of |expand have no values here")
    # A lone `*` accepts every value; as a test with wildcards it would refuse numbers and Booleans.
    if parts == [types.SpecialChars.WILDCARD_MULTI]:
        return eql.FieldComparison("!=", field, eql.FieldConstant(None))
    literals = [part for part in parts if isinstance(part, str)]
    if len(literals) == len(parts):
        text = "".join(literals)
        # At most 18 digits, so that the number fits in 64 bits. 007 stays a text, because no number is written so.
        if re.fullmatch(r"0|-?[1-9]\d{0,17}", text):
            return eql.ValueLookup("in", field, (text, int(text)))
        return eql.ValueLookup("in" if cased else "in~", field, (text,))
    if not any(c in part for part in literals for c in "*?"):
        pattern = "".join(part if isinstance(part, str) else _WILD[part.name] for part in parts)
        return eql.ValueLookup("like" if cased else "like~", field, (pattern,))
    pattern = "".join(re.escape(p) if isinstance(p, str) else f"(?s:{_WILD_RE[p.name]})" for p in parts)
    return eql.ValueLookup("regex" if cased else "regex~", field, (pattern,))


_WILD = {"WILDCARD_MULTI": "*", "WILDCARD_SINGLE": "?"}
_WILD_RE = {"WILDCARD_MULTI": ".*", "WILDCARD_SINGLE": "."}


def show_documents(documents: Iterable[Any]) -> str:
    """Return the YAML text of rules given as mappings."""
    with naming_extras():
        import yaml
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump_all(documents, Dumper=dumper, sort_keys=False, allow_unicode=True)
    return text


def load_documents(text: str) -> list[Any]:
    """Return the documents of rules that are not empty. Raises YAMLError."""
    with naming_extras():
        import yaml
    return [one for one in yaml.load_all(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)) if one]
