"""Compute the expected answers: those of the default meaning, or of the choices that a policy or a reading declares.

The suites store the answers of the default meaning. An engine that differs on purpose would fail everywhere, and its
defects would be hidden among its choices. So its profile may declare choices, which the expected answers then follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from cerify.automata.evaluator import Output
from cerify.conformance.model import Case, evaluated_output, of_output
from cerify.conformance.prediction import AXES, answer
from cerify.hypotheses.interpretation import EngineQuestion, allows, choices_of
from cerify.languages import DEFAULT, LANGUAGES
from cerify.languages.language import DENOTATIONAL, Options
from cerify.protocol import Failed
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, CerifyError, InputError, Unsupported
from cerify.semantics.events import Match, Stream
from cerify.semantics.json_events import (
    json_of_event,
    json_of_schema,
    lines_of,
    parse_json,
    schema_of_json,
    stream_of_json,
    text_of,
)
from cerify.semantics.readings import DECIDED, Reading

BUDGET = Budget(valuations=200_000)


@dataclass(frozen=True)
class Oracle:
    """Computes the expected matches: by the reference evaluator, under a reading of SASE+ or the choices of a policy.

    choices: for each language the value of each axis at which an engine may differ from the semantics; see
    cerify.conformance.prediction.
    """

    reading: Reading = DECIDED
    choices: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    budget: Budget = BUDGET

    @property
    def is_decided(self) -> bool:
        """Return whether the expected matches are the ones in the built-in suites."""
        return self.reading == DECIDED and not any(self.choices.values())

    @property
    def held_to(self) -> str:
        """Return the choices that a policy or a reading declares, as text; "" if there are none."""
        read = [f"{one.name}={getattr(self.reading, one.name)}" for one in fields(Reading)]
        decided = {f"{one.name}={getattr(DECIDED, one.name)}" for one in fields(Reading)}
        texts = [f"SASE+ with {text}" for text in read if text not in decided]
        texts += [f"{language} with {a}={v}" for language, of in self.choices.items() for a, v in of.items()]
        return ", ".join(texts)

    def concerns(self, language: str) -> bool:
        """Return whether the expected matches for a language may differ from the semantics."""
        return bool(self.choices.get(language)) or (
            self.reading != DECIDED and "reading" in LANGUAGES[language].settings
        )

    def find_choices(self, language: str) -> Mapping[str, str]:
        """Return the choices for a language that are not the default, by axis."""
        if not self.concerns(language):
            return {}
        known = AXES[language]
        chosen = dict(choices_of(self.choices.get(language, {}), known))
        if "reading" in LANGUAGES[language].settings:
            read = {one.name: getattr(self.reading, one.name) for one in fields(Reading)}
            chosen |= {name: value for name, value in read.items() if value != known[name].default}
        return {name: value for name, value in chosen.items() if value != known[name].default}

    def matches(self, case: Case, query: Any, S: Stream) -> Sequence[Match]:
        """Return the expected matches for a case. Raises Unsupported, BudgetExceeded."""
        language = LANGUAGES[case.language]
        if self.choices.get(case.language):
            found = answer(case.language, language.syntax.show(query), S, self.find_choices(case.language), case.output)
            if isinstance(found, Failed):
                raise Unsupported(f"an engine with these choices reports an error: {found.message}")
            return list(found.matches)
        options = Options(evaluated_output(case.output), self.budget, reading=self.reading)
        return of_output(language.evaluators.matches(query, S, DENOTATIONAL, options), case.language, case.output)

    def expecting(self, case: Case) -> Case:
        """Return a case of a suite with its expected matches. It is unchanged if they cannot be computed."""
        if not self.concerns(case.language):
            return case
        with suppress(CerifyError):
            return replace(
                case, matches=self.matches(case, LANGUAGES[case.language].syntax.parse(case.query), stream_of(case))
            )
        return case

    def case(self, query: Any, S: Stream, origin: Case) -> Case:
        """Return a query and a stream as a case, with the expected matches. Its other fields are those of `origin`.

        Raises IllFormed, Unsupported, BudgetExceeded.
        """
        language = LANGUAGES[origin.language]
        if S.schema is not None:
            language.syntax.require_typed(query, S.schema)
        return replace(
            origin,
            query=language.syntax.show(query),
            schema=None if S.schema is None else json_of_schema(S.schema),
            events=[json_of_event(event) for event in S],
            matches=self.matches(origin, query, S),
        )


def stream_of(case: Case) -> Stream:
    """Return the events of a case, with its schema."""
    schema = None if case.schema is None else schema_of_json(case.schema)
    language = LANGUAGES[case.language]
    return stream_of_json(case.events, schema, case.id, language.row_type, language.syntax.keeps_nulls)


# ---------------------------------------------------------------------------------------------------------------------
# Profiles: the semantics of an engine as data, with a value for each axis (aspect of meaning).

Json = dict[str, Any]
PROFILE = 1


@dataclass(frozen=True)
class AxisFinding:
    """The finding about one axis (an aspect of meaning), from the engine's answers.

    value: the value that explains most answers; None if none does. alike: other values that explain as many, and that
    no question has distinguished from it. answers: the number of answers that depend on the axis. explained: how many
    of them the value explains. exception: the shortest question with an answer that the best value does not explain.
    by_type: if no value explains all answers, the values that explain those about each type of attributes.
    """

    value: str | None
    alike: tuple[str, ...]
    answers: int
    explained: int
    exception: EngineQuestion | None = None
    by_type: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def as_json(self) -> Json:
        """Return the finding as JSON, in the form that the schema profile.json describes."""
        exception = None
        if self.exception is not None:
            exception = {"query": self.exception.query, "events": [dict(event) for event in self.exception.events]}
        found: Json = {
            "value": self.value,
            "answers": self.answers,
            "explained": self.explained,
            "exception": exception,
        }
        return (
            found
            | ({"alike": list(self.alike)} if self.alike else {})
            | ({"by_type": {kind: list(values) for kind, values in self.by_type.items()}} if self.by_type else {})
        )


@dataclass(frozen=True)
class EngineProfile:
    """The semantics of an engine in one language: a finding for each axis.

    questions: the number of questions asked. stopped: why the questions ended early, "" if they did not. remarks:
    sentences about the answers as a whole. not_asked: for each axis without a finding, the reason.
    """

    name: str
    version: str
    language: str
    axes: Mapping[str, AxisFinding]
    questions: int
    stopped: str = ""
    remarks: tuple[str, ...] = ()
    not_asked: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> Json:
        """Return the profile as JSON, in the form that the schema profile.json describes."""
        return {
            "profile": PROFILE,
            "engine": {"name": self.name, "version": self.version},
            "language": self.language,
            "axes": {name: finding.as_json() for name, finding in self.axes.items()},
            "questions": self.questions,
            **({"not_asked": dict(self.not_asked)} if self.not_asked else {}),
            **({"stopped": self.stopped} if self.stopped else {}),
            **({"remarks": list(self.remarks)} if self.remarks else {}),
        }


def merged(axes: Mapping[str, AxisFinding], known: Mapping[str, str]) -> dict[str, AxisFinding]:
    """Merge findings with equal values about axes such as window@time and window@events into one finding about window.

    axes: the findings. known: for each axis of the language, its name up to the @. Nothing is merged for a name that is
    itself an axis.
    """
    result = dict(axes)
    for base in dict.fromkeys(known.values()):
        names = [name for name, other in known.items() if other == base]
        found = [axes[name] for name in names if name in axes]
        if base in names or len(found) < 2 or len({f.value for f in found}) > 1 or any(f.alike for f in found):
            continue
        merged_one = AxisFinding(
            found[0].value,
            (),
            sum(f.answers for f in found),
            sum(f.explained for f in found),
            next((f.exception for f in found if f.exception is not None), None),
        )
        result = {
            (base if name == next(n for n in names if n in axes) else name): (merged_one if name in names else finding)
            for name, finding in result.items()
            if name not in names or name == next(n for n in names if n in axes)
        }
    return result


# ---------------------------------------------------------------------------------------------------------------------
# Policies: the choices that an engine declares, or that `cerify identify` found, read from a file.


def read_policies(paths: Iterable[Path]) -> dict[str, Mapping[str, str]]:
    """Read files with policies of engines; return the chosen value of each axis, by language.

    An axis is an aspect of meaning on which engines differ. Raises InputError if two files are about one language.
    """
    chosen: dict[str, Mapping[str, str]] = {}
    source: dict[str, Path] = {}
    for path in paths:
        for language, axes in read_policy(path).items():
            if language in chosen:
                raise InputError(
                    f"{source[language]} and {path} are both policies for {language}: put their axes into one file"
                )
            chosen[language], source[language] = axes, path
    return chosen


def read_policy(path: Path) -> Mapping[str, Mapping[str, str]]:
    """Read a file with a policy of an engine; return the chosen value of each axis, by language.

    The file has one profile, or one profile on each line. Raises InputError.
    """
    try:
        profiles = [parse_json(text_of(path), str(path))]
    except InputError:
        profiles = [parse_json(text, where) for text, where in lines_of(path)]
    if not profiles:
        raise InputError(f"{path} has no profile; `cerify identify --json` writes one")
    chosen: dict[str, dict[str, str]] = {}
    for profile in profiles:
        language, axes = _checked(profile, path)
        chosen.setdefault(language, {}).update(axes)
    return chosen


def _checked(profile: Any, path: Path) -> tuple[str, dict[str, str]]:
    """Return the language of a profile, and its values that differ from the defaults."""
    if not isinstance(profile, dict) or not isinstance(profile.get("axes"), dict):
        raise InputError(f'{path} is not a profile: it has no "axes"; `cerify identify --json` writes one')
    if (version := profile.get("profile", PROFILE)) != PROFILE:
        raise InputError(
            f"{path} is a profile of version {version!r}, but this cerify reads version {PROFILE}: write it again "
            f'with `cerify identify --json`, or set "profile": {PROFILE} if all its axes still exist'
        )
    language = profile.get("language", DEFAULT)
    known = AXES.get(language) if isinstance(language, str) else None
    if known is None:
        raise InputError(f"{path}: {language!r} has no axes; these languages have: {', '.join(AXES)}")
    chosen: dict[str, str] = {}
    for name, found in profile["axes"].items():
        value = found.get("value") if isinstance(found, dict) else found
        # `merged` writes window@time and window@events as one axis window; such a value applies to both.
        own = [known[name]] if name in known else [axis for axis in known.values() if name == axis.base]
        if not own:
            raise InputError(f"{path}: there is no axis {name!r}; there are {', '.join(known)}")
        if value is None:
            continue
        if not any(allows(axis, str(value)) for axis in own):
            raise InputError(f"{path}: the axis {name} has the values {', '.join(own[0].values)}, not {value!r}")
        if any(value != axis.default for axis in own):
            chosen[name] = str(value)
    return language, chosen


# ---------------------------------------------------------------------------------------------------------------------
# A second opinion on a query and a stream: the matches by the plain definition, which follows every clause.

CLAUSES = Budget(valuations=50_000)
"""The maximum number of steps of the plain definition. It caches nothing, so a long stream needs more than that."""


def second_opinion(
    language: str, query: Any, S: Stream, output: Output, budget: Budget = CLAUSES
) -> frozenset[Match] | None:
    """Return the matches of a parsed query by the plain definition.

    Return None if the language has none, or if the budget is used up.
    """
    if language not in LANGUAGES:
        return None
    try:
        return frozenset(LANGUAGES[language].evaluators.plain_matches(query, S, output, budget))
    except (BudgetExceeded, Unsupported, RecursionError):
        return None


@dataclass(frozen=True)
class SecondOpinionIn:
    """A function that returns the matches by the plain definition for a query, a stream and an output of one language.

    It calls `second_opinion`. less: the output to compare instead of matches with results; None to compare the results.
    """

    language: str
    less: str | None = None

    def __call__(self, query: Any, S: Stream, output: Output) -> frozenset[Match] | None:
        found = second_opinion(self.language, query, S, output)
        return found if found is None or self.less is None else frozenset(of_output(found, self.language, self.less))
