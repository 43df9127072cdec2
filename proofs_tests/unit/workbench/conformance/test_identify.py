"""Engines composed of hypotheses: each value means what its page says, and engines are identified axis by axis."""

from __future__ import annotations

import json
import re
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from itertools import groupby, islice, pairwise, takewhile
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema_rs import Draft202012Validator

from cerify import protocol
from cerify.adapter import Chain, Found, RunMessage, Search, Skip, answer_run, on_chains
from cerify.cli import cerify
from cerify.commands.conform import _note
from cerify.commands.options import progress
from cerify.conformance import identification as identification_module
from cerify.conformance.cases import load
from cerify.conformance.defects import defects_behind
from cerify.conformance.harness import Limits
from cerify.conformance.identification import (
    CORROBORATED,
    ENDED,
    ERRONEOUS,
    ERRORS,
    MOST,
    PROBED,
    RESERVED,
    SAME_ANSWERS,
    SKIPPED,
    USED_UP,
    Answered,
    Identification,
    Pool,
    choose_varied,
    identified,
    is_unfit,
    separations,
)
from cerify.conformance.inquiry import Inquiry
from cerify.conformance.judgement import Choices as Hypotheses
from cerify.conformance.model import Case, CaseResult
from cerify.conformance.oracle import AxisFinding, EngineProfile, stream_of
from cerify.conformance.peeling import Peeler
from cerify.conformance.prediction import AXES, INTERPRETATIONS, STAGES, EngineAnswer, Predictor, answer, concerned
from cerify.hypotheses.cel import keyed
from cerify.hypotheses.interpretation import (
    Choices,
    EngineQuestion,
    Stage,
    choices_of,
    question_on,
    questions,
    read_hypothesis,
    types,
)
from cerify.languages import LANGUAGES
from cerify.languages.language import Options
from cerify.protocol import Failed, MatchesAnswer
from cerify.semantics.errors import InputError, Unsupported
from cerify.semantics.events import Event, Match, Stream, result_of
from proofs_tests.conftest import Run
from proofs_tests.support import sampled
from proofs_tests.unit.workbench.conformance.engine_meanings import run_message

# ---- random engines ----
# Engines composed of hypotheses, and whether what is identified of them is right, axis by axis.

ENGINES = 40
DEPARTS = 0.2  # the part of the axes in which an engine departs from the definition
LANGUAGE_OF = ("cel", "cel", "core-cel", "event-expression", "sase")

UNSEEN = {("connectives", "and-as-or"), ("connectives", "or-as-and")}
"""Values that no query of SASE+ shows: its conditions have no `and` below `or`."""


@cache
def predictor(language: str) -> Predictor:
    """The answers of all engines in a language; each is computed once."""
    return Predictor(language)


def composed(seed: int) -> tuple[str, Choices]:
    """An engine composed at random from the axes, with its language."""
    rng, language = Random(seed), LANGUAGE_OF[seed % len(LANGUAGE_OF)]
    axes = predictor(language).interpretation.axes.values()
    return language, {a.name: rng.choice(a.values[1:]) if rng.random() < DEPARTS else a.default for a in axes}


def identification(language: str, engine: Choices) -> tuple[Mapping[str, AxisFinding], int]:
    """The findings about an engine in this process, and the number of questions."""
    known = predictor(language)
    state = Identification(known, lambda question: known.answer(question, engine))
    return state.run(STAGES[language]), len(state.answered)


def differs(language: str, engine: Choices, other: Choices) -> bool:
    """Whether any question of the pool has different answers."""
    known = predictor(language)
    templates = (t for stage in STAGES[language] for t in stage.templates)
    concerned = (t for t in templates if known.choose_values(t.query, engine) != known.choose_values(t.query, other))
    pool = (question for template in concerned for question in questions(template))
    return any(known.answer(question, engine) != known.answer(question, other) for question in pool)


def problems(language: str, engine: Choices) -> tuple[int, list[str]]:
    """The number of questions about an engine, and what is wrong with its profile.

    The profile is right if no question tells it from the engine, nor what it names as alike in one axis.
    """
    found, asked = identification(language, engine)
    axes = predictor(language).interpretation.axes
    profile = {axis.name: axis.default for axis in axes.values()} | {n: f.value for n, f in found.items() if f.value}
    wrong = [f"{name} has no value" for name, finding in found.items() if finding.value is None]
    if asked > MOST:
        wrong.append(f"{asked} questions")
    if differs(language, engine, profile):
        departing = (f"{name}={profile[name]}, not {engine[name]}" for name in axes if profile[name] != engine[name])
        wrong.append(", ".join(departing))
    for name, finding in found.items():
        others = (other for other in finding.alike if differs(language, engine, {**profile, name: other}))
        wrong += [f"{name}={other} is not alike" for other in others]
    return asked, wrong


def departures(language: str) -> Iterator[tuple[str, str]]:
    """Each axis with each of its values but the default, as far as a query shows them."""
    for axis in predictor(language).interpretation.axes.values():
        yield from ((axis.name, value) for value in axis.values[1:] if (axis.name, value) not in UNSEEN)


def problems_with_one(language: str, name: str, value: str) -> list[str]:
    """What is wrong with the profile of an engine that departs in one axis alone."""
    default = predictor(language).default
    found, _ = identification(language, {**default, name: value})
    own = found[name].value if name in found else "left out"
    wrong = [] if own == value else [f"{name}={own}, not {value}"]
    others = {other: f.value for other, f in found.items() if other != name and not f.alike}
    return wrong + [f"{other}={chosen}" for other, chosen in others.items() if chosen != default[other]]


# ---- identify ----
# Engines composed of hypotheses are identified, axis by axis, within 500 questions.

SCHEMAS = Path(protocol.__file__).parent / "schemas"
ENGINE = (sys.executable, "-m", "cerify.cli", "engine")


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(0, ENGINES, 4))
def test_an_engine_composed_at_random_is_identified_on_every_axis(seed: int) -> None:
    """All forty, which are composed of the axes of each language: python -m proofs_tests.campaigns.identify."""
    asked, wrong = problems(*composed(seed))
    assert not wrong
    assert asked <= MOST


@pytest.mark.parametrize("language", sampled(STAGES, ("core-cel",)))
def test_the_definition_is_identified_without_doubt(language: str) -> None:
    found, asked = identification(language, predictor(language).default)
    assert asked <= MOST
    for name, finding in found.items():
        axis = predictor(language).interpretation.axes[name]
        assert (finding.value, finding.explained) == (axis.default, finding.answers), name
    assert len(found) >= 0.8 * len(predictor(language).interpretation.axes)


@pytest.mark.thorough
@pytest.mark.parametrize("hypothesis", [{}, {"seq": "next-from-left", "absent": "null-equal"}])
def test_an_engine_of_all_operators_leaves_questions_for_the_end(hypothesis: Mapping[str, str]) -> None:
    """They had been used up before the values that are not the definition's were asked about with further questions."""
    known, engine = predictor("cel"), choices_of(hypothesis, AXES["cel"])
    state = Identification(known, lambda question: known.answer(question, engine))
    found = state.run(STAGES["cel"])
    assert {name: found[name].value for name in hypothesis} == {**hypothesis}
    assert state.probed == PROBED
    assert not state.unchecked
    if not hypothesis:
        assert len(state.answered) <= MOST - RESERVED
        return
    assert len(state.answered) < MOST
    about = Counter(one.question.query for one in state.answered if "seq" in one.axes)
    assert min(about[query] for query in ("A ; B", "A ; A", "A ; B ; C")) >= CORROBORATED / 2


USES_LATER: dict[str, set[tuple[str, str]]] = {
    "cel": {("event-order", "seq@cseq"), ("absent", "strings"), ("guard", "filter-connectives")},
    "core-cel": {("absent", "strings")},
    "event-expression": {("absent", "strings")},
    "sase": {
        *((stage, "filter") for stage in ("emit", "strategy@next", "strategy@strict", "strategy@partition", "loop")),
        *(("negation", axis) for axis in ("filter", "comparison", "floats")),
        ("cut", "filter"), ("non_overlap", "filter"), ("emit", "equivalence"), ("equivalence", "strategy@next"),
        ("absent", "strings"),
    },
    "row-pattern": {("preference", "alternation"), ("preference", "anchors")},
    "funnel": {("partition", "mode")},
}  # fmt: skip
"""Stages, by their first axis, with questions whose answer depends on an axis of a later stage. No pair is added."""


def later_axes(language: str, stages: Sequence[Stage], streams: int) -> Iterator[tuple[str, str]]:
    """Yield each stage and each axis of a later stage that changes an answer, over some streams of each template."""

    def answers(query: str, S: Stream, hypothesis: Mapping[str, str]) -> Any:
        with suppress(Unsupported):  # for which there is no prediction
            return answer(language, query, S, hypothesis)

    interpretation = INTERPRETATIONS[language]
    known: set[str] = set()
    for stage in stages:
        known |= {*stage.axes}
        for template in stage.templates:
            query = LANGUAGES[language].syntax.parse(template.query)
            asked = [*questions(template)]
            some = [one.S for one in Random(template.query).sample(asked, min(streams, len(asked)))]
            given = [answers(template.query, S, {}) for S in some]
            for axis in concerned(interpretation.axes, interpretation.operators(query)):
                if axis.name not in known and any(
                    answers(template.query, S, {axis.name: value}) not in (found, None)
                    for S, found in zip(some, given, strict=True)
                    for value in axis.values[1:]
                ):
                    yield stage.axes[0], axis.name


@pytest.mark.parametrize("language", STAGES)
def test_a_stage_uses_only_axes_of_earlier_stages(language: str) -> None:
    assert {*later_axes(language, STAGES[language], 6)} <= USES_LATER[language]


def test_a_stage_that_uses_a_later_axis_is_found() -> None:
    """The stage of UNLESS asks about sequences, so it cannot be the first."""
    first = [stage for stage in STAGES["cel"] if "negation" in stage.axes]
    assert {("negation", "seq"), ("negation", "overlap")} <= {*later_axes("cel", first, 6)}


@pytest.mark.thorough
@pytest.mark.parametrize("language", STAGES)
def test_a_value_of_an_axis_is_identified(language: str) -> None:
    """An engine that departs in one axis alone; every value: python -m proofs_tests.campaigns.identify --values."""
    for name, value in list(departures(language))[3::9]:
        assert not problems_with_one(language, name, value), (name, value)


@pytest.mark.parametrize(
    ("language", "axis", "value"),
    [
        ("funnel", "window", "open"),
        ("funnel", "window", "unlimited"),
        ("funnel", "partition", "ignored"),
        ("row-pattern", "define", "ignored"),
        ("cel", "perkey", "ignored"),
        ("cel", "perkey", "filter"),
    ],
)
def test_a_clause_that_an_engine_ignores_is_named(language: str, axis: str, value: str) -> None:
    known, engine = predictor(language), choices_of({axis: value}, AXES[language])
    state = Identification(known, lambda question: known.answer(question, engine), left=[known.default])
    state.identify(next(stage for stage in STAGES[language] if axis in stage.axes))
    assert {one[axis] for one in state.left} == {value}


SIMPLE = """
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    match = {"at": 0, "events": [0]}
    print(json.dumps({"protocol": 1, "engine": {"name": "simple", "version": "1"}, "languages": ["cel"],
                      "claims": {"cel": {"operators": ["or"], "output": ["matches"]}}}
                     if m["cmd"] == "start" else {"id": m["id"], "matches": MATCHES}), flush=True)
"""


@pytest.fixture
def kept_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """What engines would answer is computed once for all tests."""
    monkeypatch.setattr("cerify.conformance.identification.Predictor", predictor)


@pytest.mark.thorough
@pytest.mark.usefixtures("kept_answers")
def test_answers_without_any_match_are_no_choice() -> None:
    """A value fits some axes all the same, such as one that loses the matches of all streams of a question."""
    profile = identified([sys.executable, "-c", SIMPLE.replace("MATCHES", "[]")])
    assert profile.axes
    assert all(finding.value is None for finding in profile.axes.values())
    assert any("no match in any of its answers" in remark for remark in profile.remarks)
    Draft202012Validator(json.loads((SCHEMAS / "profile.json").read_text(encoding="utf-8"))).validate(profile.as_json())


@pytest.mark.thorough
@pytest.mark.usefixtures("kept_answers")
def test_answers_that_are_wrong_in_their_form_are_counted() -> None:
    profile = identified([sys.executable, "-c", SIMPLE.replace("MATCHES", "[match, match]")])
    assert re.match(r"\d+ answers are wrong in their form: .* more than once", profile.remarks[0])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("language", "axis", "most"),
    [
        pytest.param("cel", "loop", 7, marks=pytest.mark.thorough),
        pytest.param("cel", "loop@cplus", 4, marks=pytest.mark.thorough),
        pytest.param("core-cel", "loop", 7, marks=pytest.mark.thorough),
        ("event-expression", "relative_plus", 7),
        pytest.param("sase", "loop", 5, marks=pytest.mark.thorough),
    ],
)
def test_an_iteration_with_a_largest_number_of_rounds_is_named(language: str, axis: str, most: int) -> None:
    assert not problems_with_one(language, axis, f"at-most-{most}")


def unexplained(state: Identification, axis: str) -> list[Answered]:
    """The answers about an axis that what is found does not explain."""
    return state.wrong(state.left[0], state.about(axis))


@pytest.mark.thorough
def test_a_choice_that_is_no_hypothesis_fits_none() -> None:
    """The engine is right about one event, and reports the first event of every longer stream."""
    known = predictor("cel")

    def ask(question: EngineQuestion) -> EngineAnswer:
        return known.answer(question, known.default) if len(question.events) < 2 else frozenset({(0, (0,))})

    state = Identification(known, ask)
    found = state.run(STAGES["cel"])
    assert found["seq"].value is None
    assert found["seq"].exception is not None
    assert found["seq"].explained < found["seq"].answers
    state.answered.reverse()  # the longest come first
    shown = state.findings()["seq"].exception
    assert shown is not None
    assert len(shown.events) == min(len(one.question.events) for one in unexplained(state, "seq"))


WRONG = ((" > ", " >= "), (" >= ", " > "), (" < ", " <= "), ("s = ", "s != "))


@pytest.mark.thorough
@pytest.mark.parametrize("wrong", sampled(WRONG, WRONG[:1]))
def test_a_value_that_explains_one_comparator_alone_fits_none(wrong: tuple[str, str]) -> None:
    """An engine with a wrong `>` and a right `<` is not inclusive: questions about `<` are asked too."""
    known = predictor("core-cel")

    def ask(question: EngineQuestion) -> EngineAnswer:
        return known.answer(replace(question, query=question.query.replace(*wrong)), known.default)

    found = Identification(known, ask).run(STAGES["core-cel"])
    axis = "strings" if "s" in wrong[0] else "comparison"
    unfit = {name for name, finding in found.items() if finding.value is None and not finding.alike}
    assert {axis} <= unfit <= {axis, "filter"}  # which is asked about by the same questions
    axes = known.interpretation.axes
    assert all(axes[name].default in (f.value, *f.alike) for name, f in found.items() if name not in unfit)
    assert found[axis].exception is not None


def both_orders(question: EngineQuestion) -> EngineAnswer:
    """A match needs the order of arrival and that of time."""
    known = predictor("cel")
    by_time = known.answer(question, choices_of({"event-order": "time"}, AXES["cel"]))
    return frozenset(known.answer(question, known.default)) & frozenset(by_time)


def as_the_constant(question: EngineQuestion) -> EngineAnswer:
    """A quotient has the type of the constant that it is compared with."""
    how = "exact" if "1.5" in question.query else "truncating"
    return predictor("cel").answer(question, choices_of({"integer-division": how}, AXES["cel"]))


def absent_as_zero(question: EngineQuestion) -> EngineAnswer:
    """An absent key is the key 0."""
    S = Stream([Event(e.type, {"k": e.get("k") or 0}) for e in question.S])
    filled = replace(question, S=S, key=repr([(e.type, e.get("k")) for e in S]))
    return predictor("cel").answer(filled, predictor("cel").default)


def null_as_a_value(question: EngineQuestion) -> EngineAnswer:
    """NULL is equal to itself and to nothing else, and each condition is true or false."""
    unknown = "equal" if re.search("y|NULL", question.query) else "false"
    engine = choices_of({"integer_division": "exact", "unknown": unknown}, AXES["row-pattern"])
    return predictor("row-pattern").answer(question, engine)


def never_twice(question: EngineQuestion) -> EngineAnswer:
    """No query that has a type twice has a match."""
    types = re.findall("[A-C]", question.query)
    return frozenset() if len(types) > len({*types}) else predictor("cel").answer(question, predictor("cel").default)


def zero_for_numbers(question: EngineQuestion) -> EngineAnswer:
    """An absent number is 0, an absent string is null, which differs from all."""
    how = "null-unequal" if "s" in question.query.rpartition("[")[2] else "zero"
    return predictor("cel").answer(question, choices_of({"absent": how}, AXES["cel"]))


def true_for_numbers(question: EngineQuestion) -> EngineAnswer | None:
    """A comparison of an absent attribute with a number is true, with a string false."""
    if "not" in question.query or " and " in question.query or "y" in question.query:
        return None
    told = predictor("cel").answer(question, predictor("cel").default)
    numbers = "x" in question.query or "z" in question.query
    absent = {(p, (p,)) for p, event in enumerate(question.events) if numbers and not event.keys() & {"x", "z"}}
    return told if isinstance(told, str) else frozenset((*told, *absent))  # type: ignore[arg-type]


def unknown_strings(question: EngineQuestion) -> EngineAnswer:
    """An absent integer differs from all; a comparison with an absent string or fraction is unknown."""
    how = "null-unequal" if "x" in question.query.rpartition("[")[2] else "unknown"
    return predictor("cel").answer(question, choices_of({"absent": how}, AXES["cel"]))


def keys_as_texts(question: EngineQuestion) -> EngineAnswer:
    """A key is its text: 1 and 1.0 are two keys."""
    S = Stream([Event(e.type, {"k": str(e.get("k"))}) for e in question.S])
    filled = replace(question, S=S, key=repr([(e.type, e.get("k")) for e in S]))
    return predictor("cel").answer(filled, predictor("cel").default)


def from_the_second(question: EngineQuestion) -> EngineAnswer:
    """A window begins with the second event of a match, so that two events are in each."""
    wide = question.query.replace("WITHIN 2", "WITHIN 100")
    told = predictor("cel").answer(replace(question, query=wide), predictor("cel").default)
    x = [event.get("x", 0) for event in question.events]
    spans = {m: max(values) - min(values) for m in told for values in [[x[p] for p in m[1][1:] or m[1]]]}  # type: ignore[union-attr]
    return frozenset(m for m in told if spans[m] <= 2)  # type: ignore[misc]


def in_order(question: EngineQuestion, order: Sequence[int]) -> EngineAnswer:
    """What the definition answers for these events in this order, at their positions in the stream."""
    moved = question_on(question.query, [question.events[p] for p in order])
    told = predictor("cel").answer(moved, predictor("cel").default)
    places = (sorted(order[p] for p in m[1]) for m in told)  # type: ignore[union-attr, misc]
    return frozenset((some[-1], tuple(some)) for some in places)


def latest_of_a_time_first(question: EngineQuestion) -> EngineAnswer:
    """Events are sorted by time, and of one time the latest comes first, as from a heap."""
    times = [event.get("time", 0) for event in question.events]
    return in_order(question, sorted(range(len(times)), key=lambda p: (times[p], -p)))


def late_dropped(question: EngineQuestion) -> EngineAnswer:
    """Events are sorted by time, without those that come more than a second late, as by a watermark."""
    times = [event.get("time", 0) for event in question.events]
    kept = (p for p in range(len(times)) if max(times[: p + 1]) - times[p] <= 1)
    return in_order(question, sorted(kept, key=lambda p: times[p]))


def truncated_for_integers(question: EngineQuestion) -> EngineAnswer:
    """A constant has the type of the attribute that it is compared with."""
    how = "exact" if any(isinstance(x, float) for event in question.events for x in event.values()) else "truncated"
    return predictor("cel").answer(question, choices_of({"constants": how}, AXES["cel"]))


def greater(question: EngineQuestion, key: Callable[[Any], Any]) -> EngineAnswer | None:
    """What an engine answers that compares keys of values, to queries that ask for the greater or the equal."""
    if question.query == "A":
        return predictor("cel").answer(question, predictor("cel").default)
    found = re.fullmatch(r"A FILTER A\[(\w) (>|=) (\S+)\]", question.query)
    if found is None:
        return None
    name, comparator, text = found.groups()
    bound = key(json.loads(text))
    values = [(p, key(event[name])) for p, event in enumerate(question.events)]
    return frozenset((p, (p,)) for p, value in values if (value > bound if comparator == ">" else value == bound))


def as_texts(question: EngineQuestion) -> EngineAnswer | None:
    """Values are compared as texts, so that 2^53 is greater than 10^16."""
    return greater(question, str)


def in_single_precision(question: EngineQuestion) -> EngineAnswer | None:
    """Numbers have 24 bits."""
    return greater(question, lambda value: struct.unpack("f", struct.pack("f", value))[0])


@pytest.mark.parametrize(
    ("ask", "language", "stages", "unfit", "named"),
    [
        (as_texts, "cel", {"emit", "integers"}, "integers", {}),
        (in_single_precision, "cel", {"emit", "floats"}, "floats", {}),
        (zero_for_numbers, "cel", {"absent", "strings"}, "absent", {"strings": "exact"}),
        (true_for_numbers, "cel", {"absent"}, "absent", {}),
        (keys_as_texts, "cel", {"partition"}, "partition", {}),
        (from_the_second, "cel", {"window@attribute"}, "window@attribute", {}),
        (truncated_for_integers, "cel", {"constants", "floats"}, "constants", {"floats": "exact"}),
        (both_orders, "cel", {"event-order"}, "event-order", {}),
        (late_dropped, "cel", {"event-order"}, "event-order", {"ties": "in-order"}),
        pytest.param(
            as_the_constant,
            "cel",
            {"constants", "integer-division"},
            "integer-division",
            {"constants": "exact"},
            marks=pytest.mark.thorough,
        ),
        (absent_as_zero, "cel", {"partition", "partition@absent"}, "partition@absent", {"partition": "filter"}),
        pytest.param(
            null_as_a_value,
            "row-pattern",
            {"unknown", "integer_division"},
            "unknown",
            {"integer_division": "exact"},
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_a_meaning_without_a_name_has_none_and_leaves_the_others_theirs(
    ask: Callable[[EngineQuestion], EngineAnswer],
    language: str,
    stages: set[str],
    unfit: str,
    named: dict[str, str | None],
) -> None:
    known = predictor(language)
    found = Identification(known, ask).run([stage for stage in STAGES[language] if stages & {*stage.axes}])
    assert (found[unfit].value, found[unfit].alike) == (None, ())
    assert {name: found[name].value for name in named} == named


@pytest.mark.thorough
def test_a_choice_that_differs_by_type_has_a_value_for_each() -> None:
    stages = [stage for stage in STAGES["cel"] if "absent" in stage.axes]
    for ask, by_type in (
        (unknown_strings, {"int": ["null-unequal"], "string": ["unknown"]}),
        (zero_for_numbers, {"float": ["zero"], "int": ["zero"], "string": ["null-equal", "null-unequal"]}),
    ):
        found = Identification(predictor("cel"), ask).run(stages)["absent"]
        assert (found.value, found.alike) == (None, ())
        assert found.as_json()["by_type"] == by_type
        profile = EngineProfile("mine", "1", "cel", {"absent": found}, 1)
        assert f"{' or '.join(by_type['string'])} for string" in _note("absent", found, profile)


CHAINS = {"seq": "next-from-left", "guard": "run", "alternatives": "apart"}
"""An engine of chains, each step of which takes the first event that fulfils its conditions."""


def no_loops(question: EngineQuestion) -> EngineAnswer | None:
    """What such an engine without loops and keys answers."""
    if re.search(r"\+|/|like|PARTITION|UNLESS|AND|ALL|START|NXT|LAST|MAX|WITHIN", question.query):
        return None
    return predictor("cel").answer(question, choices_of(CHAINS, AXES["cel"]))


def broken_neighbours(question: EngineQuestion) -> EngineAnswer | None:
    """What it answers if a key is one of these conditions, and a match spoils the neighbours that begin in it."""
    if re.search(r"\+|/|like|UNLESS|AND|ALL|START|NXT|LAST|MAX|WITHIN", question.query):
        return None
    engine = CHAINS | ({"overlap": "past-last"} if re.search(" : |STRICT", question.query) else {})
    keys = {"partition": "substream"} if "PARTITION" in question.query and " : " not in question.query else {}
    return predictor("cel").answer(question, choices_of(engine | keys, AXES["cel"]))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("ask", "named"),
    [(no_loops, CHAINS | {"emit": "complete"}), (broken_neighbours, {"seq": None, "overlap": None, "guard": "run"})],
)
def test_choices_that_show_together_are_told_from_others(
    ask: Callable[[EngineQuestion], EngineAnswer | None], named: dict[str, str]
) -> None:
    """One match for each first event had been named, beside any sequence: reactivex and bobocep."""
    wanted = {"seq", "guard", "seq@cseq", "partition", "alternatives"}
    stages = [one for one in STAGES["cel"] if wanted & {*one.axes}]
    found = Identification(predictor("cel"), ask).run(stages)
    assert {name: found[name].value for name in named} == named
    engine = choices_of(CHAINS, AXES["cel"])
    assert all(
        f.value in (None, engine[name]) or engine[name] in f.alike for name, f in found.items() if name != "partition"
    )


def test_equal_times_in_reverse_order_have_a_name() -> None:
    (stage,) = (stage for stage in STAGES["cel"] if "event-order" in stage.axes)
    found = Identification(predictor("cel"), latest_of_a_time_first).run([stage])
    assert (found["event-order"].value, found["event-order"].alike) == ("time-latest-first", ())
    assert found["ties"].value == "in-order"


@pytest.mark.thorough
def test_the_next_event_is_told_from_the_first_match_of_each_event() -> None:
    """By `(A ; B) : C`, without loops and conditions: one match for each first event had been named."""
    known, engine = predictor("cel"), choices_of(CHAINS, AXES["cel"])

    def ask(question: EngineQuestion) -> EngineAnswer | None:
        return None if re.search(r"\+|NXT|LAST|MAX|STRICT", question.query) else known.answer(question, engine)

    found = Identification(known, ask).run([one for one in STAGES["cel"] if {"seq", "seq@cseq"} & {*one.axes}])
    assert (found["seq"].value, found["seq"].alike) == ("next-from-left", ())
    assert found["emit"].value == "complete"


@pytest.mark.parametrize(
    ("query", "types_and_x", "taken"),
    [
        ("(B ; A) IN C FILTER A.x = 2 OR A.x >= 3", "B0 A0 A3", [0, 2]),
        ("(A ; A) ; A FILTER A.x = 0 OR A.x = 1", "A0 A1 A0 A0", [0, 2, 3]),
    ],
)
def test_each_step_takes_the_first_event_with_which_a_condition_with_or_can_hold(
    query: str, types_and_x: str, taken: list[int]
) -> None:
    """Also inside IN, and if a variable has events of several steps: bobocep."""
    events = [{"type": word[0], "x": int(word[1])} for word in types_and_x.split()]
    answer = predictor("cel").answer(question_on(query, events), choices_of(CHAINS, AXES["cel"]))
    assert answer == {(taken[-1], tuple(taken))}


def test_a_value_that_shows_beside_one_choice_alone_is_kept() -> None:
    """With one match for each first event no guard shows; beside the next event, which fits too, one does."""
    known = predictor("cel")
    state = Identification(known, lambda question: None)
    (stage,) = (stage for stage in STAGES["cel"] if stage.axes == ("guard",))
    first, chains = {**known.default, "emit": "one-per-start"}, choices_of(CHAINS, AXES["cel"])
    state.keep(stage, [*({**first, "guard": value} for value in AXES["cel"]["guard"].values), chains], fit=True)
    assert state.left == [first, chains]
    assert choose_varied([known.default, {**known.default}, chains], 2) == [known.default, chains]
    loops = [{**known.default, "loop": value} for value in AXES["cel"]["loop"].values]
    assert chains in choose_varied([*loops, chains], len(loops) - 1)


def test_an_axis_is_open_whose_wrong_answers_are_all_to_queries_of_an_axis_without_a_value() -> None:
    """With an event that takes two steps, an unnamed meaning of `;`, 12 axes had "none fits"."""
    known, unnamed = predictor("cel"), Predictor("cel")
    axes = {**unnamed.interpretation.axes, "steps": replace(AXES["cel"]["steps"], values=("apart",))}
    unnamed.interpretation = replace(unnamed.interpretation, axes=axes)
    engine = choices_of({"steps": "shared", "seq": "next-from-right"}, AXES["cel"])
    asked = {"steps", "emit", "or", "in", "range", "filter-loop", "partition"}
    stages = [stage for stage in STAGES["cel"] if asked & {*stage.axes}]
    found = Identification(unnamed, lambda question: known.answer(question, engine)).run(stages)
    assert is_unfit(found["steps"])
    assert (found["guard"].value, found["guard"].alike) == (None, AXES["cel"]["guard"].values)
    assert (found["in"].value, found["in"].alike) == (None, ("all", "last"))
    assert found["range"].value == "closed"


def test_a_value_is_possible_beside_other_ones() -> None:
    known = predictor("cel")
    state, engine = Identification(known, lambda question: None), choices_of(CHAINS, AXES["cel"])
    some = (question for stage in STAGES["cel"][1:2] for t in stage.templates[:4] for question in questions(t))
    asked = [Answered(question, known.answer(question, engine), ()) for question in some]
    one = {**known.default, "emit": "one-per-start"}
    assert not state.wrong({**one, "alternatives": "apart"}, asked)
    rival = state.complete("emit", {**one, "emit": "complete"}, asked)
    assert rival is not None
    assert rival["seq"] == "next-from-left"
    assert state.complete("emit", {**one, "emit": "at-end"}, asked) is None
    assert state.complete("seq", {**one, "seq": "strict"}, asked) is None
    state.answered = asked
    assert not state.is_other({**one, "alternatives": "apart"}, rival)  # no condition was asked about
    assert state.is_other(known.default, rival)


def test_conditions_that_decide_are_asked_about_behind_loops_and_with_or() -> None:
    known, (stage,) = predictor("cel"), (stage for stage in STAGES["cel"] if stage.axes == ("guard",))

    def forgets(question: EngineQuestion) -> EngineAnswer:
        guard = "after" if "+" in question.query else "run"
        return known.answer(question, choices_of({"seq": "next-from-left", "guard": guard}, AXES["cel"]))

    state = Identification(known, forgets)
    state.left = [choices_of({"seq": "next-from-left"}, AXES["cel"])]
    state.identify(stage)
    assert (state.findings()["guard"].value, state.findings()["guard"].alike) == (None, ())
    for seq in ("next-from-left", "next-from-right"):
        step = choices_of({"seq": seq, "guard": "step"}, AXES["cel"])
        state = Identification(known, partial(known.answer, choices=step))
        state.left = [choices_of({"seq": seq}, AXES["cel"])]
        state.identify(stage)
        guard = state.findings()["guard"]
        assert (guard.value, guard.alike, guard.answers > 2) == ("step", (), True)


@pytest.mark.thorough
def test_a_queue_of_first_events_is_no_overlap() -> None:
    """concat_map of reactivex: each step has a queue, so that two steps use no event twice, and three fewer still."""
    known, once = predictor("cel"), choices_of({"overlap": "once-per-step"}, AXES["cel"])

    def ask(question: EngineQuestion) -> EngineAnswer:
        told = known.answer(question, once)
        assert not isinstance(told, str)
        return frozenset(sorted(told)[:1]) if question.query.count(";") > 1 else told  # type: ignore[arg-type]

    (stage,) = (stage for stage in STAGES["cel"] if "overlap" in stage.axes)
    chains = tuple(t for t in stage.templates if "OR" not in t.query)
    found = Identification(known, ask).run([replace(stage, templates=chains)])
    assert (found["overlap"].value, found["overlap"].alike) == (None, ())


def test_three_steps_are_asked_about_where_a_condition_shows() -> None:
    engine = choices_of(CHAINS, AXES["cel"])
    rival = choices_of({"emit": "one-per-start", "alternatives": "apart"}, AXES["cel"])
    assert differs("cel", engine, rival)


def test_a_condition_on_a_step_that_is_not_the_last_is_asked_about() -> None:
    """An engine may look at the conditions of the last step alone when it takes the next event."""
    known, (stage,) = predictor("cel"), (stage for stage in STAGES["cel"] if stage.axes == ("guard",))
    step, after = (choices_of({"seq": "next-from-left", "guard": how}, AXES["cel"]) for how in ("step", "after"))
    inner = (t for t in stage.templates if t.query == "(A ; B ; C) FILTER B.x = 1")
    assert any(known.answer(q, step) != known.answer(q, after) for t in inner for q in questions(t))


# Engines as little programs, of which the axes know nothing.


def events_of(run: RunMessage, chain: Chain) -> Iterator[tuple[int, ...]]:
    """The positions of all ways to take an event for each step, later ones first."""

    def taking(step: int, since: int) -> Iterator[tuple[int, ...]]:
        if step == len(chain.steps):
            yield ()
            return
        for p in reversed(range(since, len(run.events))):
            if chain.steps[step].accepts(run.values[p]):
                yield from ((p, *rest) for rest in taking(step + 1, p + 1))

    if any(step.is_loop or step.adjacent for step in chain.steps) or chain.spans or chain.across:
        raise Skip("chains alone")
    return taking(0, 0)


def joined(run: RunMessage, chain: Chain) -> Iterator[Found]:
    """As durable_rules: facts are joined, the latest first, and gone; what a match takes is not there to be absent."""
    if any(absence.after >= 0 for absence in chain.absences):
        raise Skip("absence before the end alone")
    gone = set[int]()
    for places in sorted(events_of(run, chain), key=lambda places: places[-1]):
        rest = (run.values[p] for p in range(places[-1] + 1) if p not in places)
        if gone.isdisjoint(places) and not any(a.forbids(event) for event in rest for a in chain.absences):
            gone.update(places)
            yield places[-1], [[p] for p in places]


def searched(run: RunMessage, chain: Chain) -> Iterator[Found]:
    """As regex4seq: A.*B, from the first position on, and again behind the match."""
    if chain.absences:
        raise Skip("a regular expression has no absence")
    since = 0
    for places in sorted(events_of(run, chain), key=lambda places: (places[0], [-p for p in places])):
        if places[0] >= since:
            yield places[-1], [[p] for p in places]
            since = places[-1] + 1


def atomic(run: RunMessage, chain: Chain) -> Iterator[Found]:
    """A regular expression with possessive loops, which give nothing back: near to overlap=leftmost-first-lazy."""
    if chain.absences or chain.spans or chain.across or any(s.is_loop and not s.adjacent_rounds for s in chain.steps):
        raise Skip("steps and loops of neighbours alone")
    accepting = [tuple(step.accepts(event) for step in chain.steps) for event in run.values]
    letters = {steps: chr(256 + n) for n, steps in enumerate(dict.fromkeys(accepting))}
    pattern = ""
    for n, step in enumerate(chain.steps):
        those = "".join(letter for steps, letter in letters.items() if steps[n]) or "~"
        most = "" if step.most is None else step.most
        gap = "" if n == 0 or step.adjacent else ".*?"
        pattern += f"{gap}([{those}]{f'{{{step.least},{most}}}+' if step.is_loop else ''})"
    for match in re.finditer(pattern, "".join(letters[steps] for steps in accepting)):
        yield match.end() - 1, [[*range(*match.span(n + 1))] for n in range(len(chain.steps))]


def possessive(run: RunMessage, chain: Chain, blocked: bool = False) -> Iterator[Found]:
    """From each event, each step takes the next one that fits, and a loop all that follow, of which it gives none back.

    blocked: there are no loops, and no match begins where an earlier one, or an attempt that failed, has been.
    """
    odd = any(step.is_loop and (blocked or not step.adjacent_rounds) for step in chain.steps)
    if chain.absences or chain.spans or chain.across or odd:
        raise Skip("steps and loops of neighbours alone")
    used = set[int]()
    for start in range(len(run.values)):
        taken: list[list[int]] = []
        since = start
        for n, step in enumerate([] if blocked and start in used else chain.steps):
            near = n == 0 or step.adjacent
            fitting = (p for p in range(since, len(run.values)) if step.accepts(run.values[p]))
            first = next(fitting, len(run.values))
            if first == len(run.values) or (near and first > since):
                break
            most = len(run.values) if step.most is None else step.most
            events = run.values[first : first + (most if step.is_loop else 1)]
            length = len([*takewhile(step.accepts, events)])
            taken.append([*range(first, first + length)])
            since = first + length
            if length < (step.least if step.is_loop else 1):
                break
        else:
            if taken:
                yield taken[-1][-1], taken
        used.update(range(start, since))


def restarted(run: RunMessage, chain: Chain) -> Iterator[Found]:
    """A machine with one match under way, which an event of the first step begins anew: near to seq=nearest."""
    list(islice(events_of(run, chain), 1))  # skips what are no chains
    taken = list[int]()
    for p, event in enumerate(run.values):
        if chain.steps[len(taken)].accepts(event):
            taken.append(p)
        elif chain.steps[0].accepts(event):
            taken = [p]
        if len(taken) == len(chain.steps):
            yield p, [[place] for place in taken]
            taken = []


def by_types(run: RunMessage, chain: Chain) -> Iterator[Found]:
    """All steps are neighbours among the events of their types: near to seq=nearest, seq@cseq=next-from-left."""
    if any(step.is_loop for step in chain.steps) or chain.spans or chain.across or chain.absences:
        raise Skip("chains alone")
    seen = [p for p, event in enumerate(run.values) if event["type"] in {step.type for step in chain.steps}]
    for n in range(len(seen) - len(chain.steps) + 1):
        places = seen[n : n + len(chain.steps)]
        if all(step.accepts(run.values[p]) for step, p in zip(chain.steps, places, strict=True)):
            yield places[-1], [[p] for p in places]


def as_of(run: RunMessage, chain: Chain, forward: bool) -> Iterator[Found]:
    """A join with the nearest event of the next step (forward), or of the step before, whose places are then looked at.

    As ASOF joins of a database and `take(1)` of a library of streams.
    """
    if any(step.is_loop for step in chain.steps) or chain.absences or chain.spans:
        raise Skip("chains alone")
    values, steps = run.values, chain.steps if forward else chain.steps[::-1]
    for start in range(len(values)):
        taken = [start] if steps[0].accepts(values[start]) else []
        for step in steps[1:] if taken else ():
            rest = range(taken[-1] + 1, len(values)) if forward else range(taken[-1] - 1, -1, -1)
            taken += islice((p for p in rest if step.accepts(values[p])), 1)
        places = [[p] for p in sorted(taken)]
        near = all(
            not s.adjacent or b[0] == a[0] + 1 for s, (a, b) in zip(chain.steps[1:], pairwise(places), strict=False)
        )
        if len(places) == len(steps) and near and all(one.is_true(places, values) for one in chain.across):
            yield places[-1][0], places


def grouped(run: RunMessage, chain: Chain) -> Iterator[Found]:
    """The next events of a key, in a window that counts events of all keys, as `groupBy` of a library of streams."""
    window = chain.window
    odd = chain.across or chain.absences or (window is not None and window.kind != "events")
    if odd or any(step.is_loop or step.adjacent for step in chain.steps):
        raise Skip("chains in windows of events alone")
    values, key = run.values, chain.key
    for start in range(len(values)):
        taken = [start] if chain.steps[0].accepts(values[start]) else []
        same = [p for p in range(len(values)) if key is None or values[p].get(key) == values[start].get(key)]
        for step in chain.steps[1:] if taken else ():
            taken += islice((p for p in same if p > taken[-1] and step.accepts(values[p])), 1)
        if len(taken) == len(chain.steps) and (window is None or taken[-1] - start < window.width):
            yield taken[-1], [[p] for p in taken]


def asking(search: Search) -> Callable[[EngineQuestion], EngineAnswer | None]:
    """Return a function that asks a program on chains."""

    def ask(question: EngineQuestion) -> EngineAnswer | None:
        told = answer_run(RunMessage(run_message("cel", question.query, question.events)), {"cel": on_chains(search)})
        return frozenset((m["at"], tuple(m["events"])) for m in told["matches"]) if "matches" in told else None

    return ask


def test_a_window_of_events_of_all_keys_has_a_name() -> None:
    wanted = {"seq", "window@events", "partition"}
    stages = [stage for stage in STAGES["cel"] if wanted & {*stage.axes}]
    found = Identification(predictor("cel"), asking(grouped)).run(stages)
    assert {name: found[name].value for name in ("seq", "partition")} == {
        "seq": "next-from-left",
        "partition": "substream-whole-window",
    }


def wider_with_a_key(question: EngineQuestion) -> EngineAnswer:
    """In long streams, a window of events has one event more if there is a key, too."""
    query = question.query
    if "PARTITION" in query and len(question.events) > 6:
        query = re.sub(r"WITHIN (\d)", lambda number: f"WITHIN {int(number[1]) + 1}", query)
    engine = choices_of({"partition": "substream", "partition@absent": "one-key"}, AXES["cel"])
    return predictor("cel").answer(replace(question, query=query), engine)


def test_a_window_with_a_key_opens_no_axis_of_absent_keys() -> None:
    """The second exception, with a key in each event, opened the axis of events without a key."""
    wanted = {"seq", "window@events", "partition", "partition@absent"}
    stages = [stage for stage in STAGES["cel"] if wanted & {*stage.axes}]
    found = Identification(predictor("cel"), wider_with_a_key).run(stages)
    assert (found["partition"].value, found["partition"].alike) == (None, ("substream",))
    assert found["partition@absent"].value == "one-key"


@pytest.mark.parametrize(
    ("search", "named"),
    [
        pytest.param(
            partial(as_of, forward=True),
            {"seq": "next-from-left", "seq@cseq": "strict", "brackets": "dropped", "guard": "step-only"},
            marks=pytest.mark.thorough,
        ),
        pytest.param(  # (A : B) ; C on A B B C
            partial(as_of, forward=False),
            {"seq": "next-from-right", "seq@cseq": "strict", "brackets": "dropped", "guard": "step-only"},
            marks=pytest.mark.thorough,
        ),
        pytest.param(by_types, {"seq": None, "seq@cseq": None}, marks=pytest.mark.thorough),
        pytest.param(restarted, {"seq": None, "overlap": None}, marks=pytest.mark.thorough),
        pytest.param(
            joined, {"seq": "any", "overlap": "consume-latest", "negation": "untaken"}, marks=pytest.mark.thorough
        ),
        (searched, {"seq": "any", "alternatives": "apart"}),
        pytest.param(
            atomic,
            {"overlap": "leftmost-first-lazy", "loop@cplus": None, "alternatives": "apart"},
            marks=pytest.mark.thorough,
        ),
        pytest.param(possessive, {"seq@cseq": None, "loop@cplus": None}, marks=pytest.mark.thorough),  # A : B:+ : B
        pytest.param(partial(possessive, blocked=True), {"seq": None, "overlap": None}, marks=pytest.mark.thorough),
    ],
)
def test_a_little_program_has_no_wrong_name(search: Search, named: dict[str, str | None]) -> None:
    wanted = {"seq", "seq@cseq", "negation", "loop@cplus", "brackets", *({"guard"} & named.keys())}
    found = Identification(predictor("cel"), asking(search)).run([s for s in STAGES["cel"] if wanted & {*s.axes}])
    assert {name: found[name].value for name in named} == named
    if search is restarted:  # what it finds it reports at once
        assert found["emit"].value in (None, "complete")
    if search is searched:
        assert {found["overlap"].value, *found["overlap"].alike} == {"leftmost-latest", "leftmost-first"}


def by_recency(run: RunMessage, chain: Chain) -> Iterator[Found]:
    """As a rule engine with strategy lex: one match at a position, the one whose events come last."""
    if any(step.is_loop or step.adjacent for step in chain.steps) or chain.across:
        raise Skip("chains alone")
    free, values = replace(chain, spans=(), absences=()), run.values
    for end, some in groupby(sorted(events_of(run, free), key=lambda p: p[::-1]), lambda places: places[-1]):
        kept = [p for p in some if chain.key is None or len({values[q].get(chain.key) for q in p} | {None}) == 2]
        last = kept[-1] if kept else ()
        after = [range(last[a.after] + 1 if a.after >= 0 else 0, last[a.until] + 1) for a in chain.absences if last]
        if last and not any(
            a.forbids(values[q]) for a, places in zip(chain.absences, after, strict=True) for q in places
        ):
            yield end, [[q] for q in last]


@pytest.mark.parametrize(("axis", "loop"), [("loop", "A+"), ("loop@cplus", "A:+")])
@pytest.mark.parametrize("most", [4, 7])
def test_a_limit_of_rounds_is_told_from_one_of_events(axis: str, loop: str, most: int) -> None:
    """By a question with an event behind the loop, on which the limit of rounds shows."""
    known, rounds = predictor("cel"), choices_of({axis: f"at-most-{most}"}, AXES["cel"])
    pool = Pool((t for stage in STAGES["cel"] if axis in stage.axes for t in stage.templates), set())
    question = pool.between(rounds, known.default, known, {loop})
    assert question is not None
    given, every = (identification_module.events_of(known.answer(question, point)) for point in (rounds, known.default))
    assert given != {places for places in every if places[-1] - places[0] < most}


@pytest.mark.thorough
def test_a_value_that_only_another_operator_refutes_is_open() -> None:
    """UNLESS sees the events of all keys, and the last events are those of one key, as if there were no others."""
    known = predictor("cel")

    found = Identification(known, asking(by_recency)).run(
        [stage for stage in STAGES["cel"] if {"seq", "partition", "negation", "partition@unless"} & {*stage.axes}]
    )
    assert (found["partition"].value, found["partition"].alike) == (None, ("substream",))


Rows = list[tuple[int, tuple[int, ...]]]


def longest_anywhere(rows: Rows) -> Rows:
    """As a matcher of tokens: the longest span of the whole stream first, with most events, and none that overlaps."""
    taken: Rows = []

    def rank(row: tuple[int, tuple[int, ...]]) -> tuple[object, ...]:
        first, last = row[1][0], row[1][-1]
        return first - last, first, -len(row[1]), [-p for p in row[1]]

    for at, events in sorted(rows, key=rank):
        if all(events[-1] < other[0] or events[0] > other[-1] for _, other in taken):
            taken.append((at, events))
    return taken


def latest_consumed(rows: Rows) -> Rows:
    """As a rule engine: of the matches that end together the one whose latest events come last, and these are gone."""
    taken: Rows = []
    for at, events in sorted(rows, key=lambda row: (-row[0], row[1][::-1]), reverse=True):
        if all(p not in other for _, other in taken for p in events):
            taken.append((at, events))
    return taken


def causes_named(choose: Callable[[Rows], Rows], claimed: set[str]) -> set[tuple[str, str]]:
    """The causes that `conform` names for an engine that chooses among the matches of queries with these operators."""
    known = predictor("cel")

    def result(case: Case, query: object, S: Stream) -> CaseResult:
        if not claimed.issuperset(known.interpretation.operators(LANGUAGES["cel"].syntax.parse(case.query))):
            return CaseResult(case, "skipped")
        given = sorted(Match(*row) for row in choose([(m.at, m.events) for m in case.matches]))
        return CaseResult(case, "passed" if given == sorted(case.matches) else "failed", given)

    cases = [case for case in load(None) if case.language == "cel" and case.output == "matches"][::12]
    results = [one for case in cases if (one := result(case, None, stream_of(case))).outcome != "skipped"]
    failures = [one for one in results if one.outcome == "failed"]
    assert failures
    return {(c.axis, c.value) for defect in defects_behind(Peeler(result), failures, results) for c in defect.causes}


@pytest.mark.thorough
def test_a_limit_of_events_is_no_limit_of_rounds() -> None:
    """An engine that keeps four events loses matches of `A ; A`, too."""
    claimed = {"event", "seq", "cseq", "cplus"}
    assert not causes_named(lambda rows: [row for row in rows if row[1][-1] - row[1][0] < 4], claimed)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("choose", "loop", "axis", "query"),
    [
        (longest_anywhere, {"cplus"}, "overlap", "A : B : A:+"),
        (latest_consumed, set[str](), "overlap", "A OR B ; A"),
    ],
)
def test_a_value_that_other_queries_than_those_of_the_templates_refute_is_open(
    choose: Callable[[Rows], Rows], loop: set[str], axis: str, query: str
) -> None:
    """Each explains all questions of the pool by leftmost-latest, or by consume-latest."""
    known = predictor("cel")
    claimed = {"event", "seq", "cseq", "or", *loop}

    def ask(question: EngineQuestion) -> EngineAnswer | None:
        if not claimed.issuperset(known.interpretation.operators(LANGUAGES["cel"].syntax.parse(question.query))):
            return None
        every = known.matches(question.query, question.S, question.key, known.default, "matches")
        return every if isinstance(every, str) else frozenset(choose([(m.at, m.events) for m in every]))

    stages = [stage for stage in STAGES["cel"] if {"seq", "seq@cseq", "loop@cplus", "or"} & {*stage.axes}]
    found = Identification(known, ask).run(stages)
    assert not causes_named(choose, claimed)
    exception = found[axis].exception
    assert exception is not None
    assert (found[axis].value, exception.query) == (None, query)
    assert {n for n, f in found.items() if f.value not in (None, known.default[n])} == set()


@pytest.mark.thorough
def test_an_axis_without_a_value_opens_those_whose_questions_have_its_operators() -> None:
    """A OR (B ; A) refutes consume-latest, but is a question about OR, whose axis alone had no value."""
    known = predictor("cel")

    def ask(question: EngineQuestion) -> EngineAnswer | None:
        if ":" in question.query:
            return None
        every = known.matches(question.query, question.S, question.key, known.default, "matches")
        return every if isinstance(every, str) else frozenset(latest_consumed([(m.at, m.events) for m in every]))

    stages = [stage for stage in STAGES["cel"] if {"seq", "or", "alternatives"} & {*stage.axes}]
    found = Identification(known, ask).run(stages)
    assert (found["alternatives"].value, found["overlap"].value) == (None, None)


def test_two_operators_of_an_unexplained_answer_are_both_open() -> None:
    """The next B, except before `:`: no other question has an unexplained answer, so either operator may be odd."""
    known = predictor("cel")
    odd = choices_of({"seq": "next-from-left"}, AXES["cel"])

    def ask(question: EngineQuestion) -> EngineAnswer | None:
        return known.answer(question, known.default if question.query == "(A ; B) : C" else odd)

    stages = [stage for stage in STAGES["cel"] if {"seq", "seq@cseq", "loop"} & {*stage.axes}]
    found = Identification(known, ask).run(stages)
    assert (found["seq"].value, found["seq"].alike, found["seq@cseq"].value) == (None, ("next-from-left",), None)


def loses_finished_sides(question: EngineQuestion) -> EngineAnswer | None:
    """A match of one side of OR is lost where the loop of the other side goes on with the same events."""
    known = predictor("cel")
    told = known.answer(question, known.default)
    if isinstance(told, str) or re.search(r"UNLESS|AND|ALL|START|NXT|LAST|MAX|STRICT|like|/", question.query):
        return None
    if "OR" in question.query and ":+" in question.query:
        told = frozenset(m for m in told if not any(m[1] == longer[1][:-1] for longer in told))
    return told


@pytest.mark.thorough
def test_a_fault_of_one_operator_beside_another_opens_the_axes_of_both() -> None:
    """`A OR (A ; A)` and `A:+` alone are right, and or=both had been named."""
    wanted = {"or", "loop@cplus", "seq@cseq", "alternatives"}
    stages = [stage for stage in STAGES["cel"] if wanted & {*stage.axes}]
    state = Identification(predictor("cel"), loses_finished_sides)
    found = state.run(stages)
    assert (found["or"].value, found["or"].alike) == (None, ("both",))
    assert (found["loop@cplus"].value, found["loop@cplus"].alike) == (None, ("contiguous",))
    assert found["or"].exception is not None
    assert (found["seq@cseq"].value, found["overlap"].value) == ("strict", "shared")
    assert len(state.answered) <= MOST


def odd_engine(odd: Mapping[str, EngineAnswer]) -> Identification:
    """The state of an identification of an engine that answers these queries otherwise than the definition."""
    known = predictor("cel")
    state = Identification(known, lambda q: odd.get(q.query, known.answer(q, known.default)))
    state.left = [known.default]
    return state


@pytest.mark.parametrize(("of_operand", "accused"), [(None, ["seq@cseq"]), (frozenset[Any](), [])])
def test_an_operator_is_accused_if_its_operands_are_answered_rightly(
    of_operand: EngineAnswer | None, accused: list[str]
) -> None:
    """A search that reads the spans of an operand once loses matches behind the first of them."""
    query = "A : (B OR (B : C))"
    lost: dict[str, EngineAnswer] = {query: frozenset({(1, (0, 1))})}
    state = odd_engine(lost if of_operand is None else {**lost, "B OR B : C": of_operand})
    found = {"or": AxisFinding(None, ("both",), 1, 0), "seq@cseq": AxisFinding("strict", (), 3, 3)}
    wrong = Answered(question_on(query, types("A B C")), lost[query], ())
    assert state.accused(wrong, [AXES["cel"]["seq@cseq"]], found) == accused


def test_beside_an_unnamed_choice_of_reports_any_of_the_matches_found_is_explained() -> None:
    state = odd_engine({})
    found = {"emit": AxisFinding(None, (), 3, 0), "seq": AxisFinding("next-from-left", (), 3, 3)}
    question = question_on("A ; B", types("A B B"))
    for events, explained in (((0, 1), True), ((0, 2), False)):
        assert state.is_explained(Answered(question, frozenset({(2, events)}), ()), found) == explained
    alike = found | {"seq": replace(found["seq"], alike=("any",))}
    told = [Answered(question, frozenset({(2, (0, 2))}), ())]
    assert state.with_possible("seq", alike, told) == replace(alike["seq"], value=None, alike=("any",))


def test_operators_that_never_match_a_type_named_twice_are_found() -> None:
    assert odd_engine({"A ; A": frozenset()}).find_silent() == {"seq"}
    assert odd_engine({"A ; A": frozenset(), "A ; B": frozenset()}).find_silent() == set()


@pytest.mark.thorough
def test_a_type_named_twice_without_a_match_opens_no_axis() -> None:
    state = Identification(predictor("cel"), never_twice)
    found = state.run([stage for stage in STAGES["cel"] if {"seq", "seq@cseq"} & {*stage.axes}])
    names = ("seq", "seq@cseq", "emit", "overlap")
    assert [found[name].value for name in names] == [AXES["cel"][name].default for name in names]
    assert [remark.partition(",")[0] for remark in state.remarks()] == [
        f"a query with {name} that names a type twice gets no match" for name in ("cseq", "or", "seq")
    ]


def test_values_that_fit_only_together_are_told_as_such() -> None:
    """Without those of axes that no answer depends on."""
    state = odd_engine({})
    state.left = [{**state.left[0], "seq": "next-from-left", "partition": "substream"}]
    question = question_on("(A ; A) PARTITION BY [k]", keyed("A1 A2 A2 A1"))
    state.answered = [Answered(question, state.predictor.answer(question, state.left[0]), ())]
    both = {**state.left[0], "overlap": "to-next", "overlap@partition": "key"}
    state.left += [both, {**both, "like": "beginning"}, {**state.left[0], "like": "anywhere", "in": "last"}]
    assert [*state.remarks()] == ["overlap=to-next with overlap@partition=key fits too, but only together"]


def test_the_progress_of_an_identification_is_shown(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    """Where standard error is no terminal, too."""
    told = list[str]()
    state = Identification(predictor("cel"), lambda question: None)
    state.run(STAGES["cel"][:2], lambda what, done, total: told.append(f"{what} {done}/{total}"))
    assert told[:2] == ["asking 0/2", "asking 1/2"]
    assert told[-1] == "asking random questions 1/1"

    def slow(*arguments: Any) -> EngineProfile:
        arguments[-1]("checking values", 1, 3)
        time.sleep(0.1)
        return EngineProfile("toy", "1", "cel", {}, 0)

    monkeypatch.setattr("cerify.commands.conform.identified", slow)
    monkeypatch.setattr("cerify.commands.conform.progress", partial(progress, every=0.01))
    assert "cerify: checking values: 1 of 3, after" in run("identify", "--", "toy")[2]


def test_absence_between_two_steps_is_asked_about() -> None:
    """An engine of chains skips (A ; C) UNLESS B, whose B may come before the A."""
    known = predictor("cel")

    def ask(question: EngineQuestion) -> EngineAnswer | None:
        whole = re.search(r"\) UNLESS|A UNLESS", question.query)
        return None if whole else known.answer(question, choices_of({"negation": "untaken"}, AXES["cel"]))

    found = Identification(known, ask).run([stage for stage in STAGES["cel"] if "negation" in stage.axes])
    assert found["negation"].value == "untaken"


@pytest.mark.thorough
def test_values_that_no_answer_tells_apart_are_told_as_such_beside_an_axis_without_a_value() -> None:
    """The hint promises no answers of the other axis: none of them separates the values."""
    known = predictor("cel")

    def ask(question: EngineQuestion) -> EngineAnswer | None:
        told = known.answer(question, known.default)
        odd = frozenset(m for m in told if m[0] % 2)  # type: ignore[union-attr, misc]
        return None if "not " in question.query else odd if "UNLESS" in question.query else told

    stages = [stage for stage in STAGES["cel"] if {"negation", "absent"} & {*stage.axes}]
    found = Identification(known, ask).run(stages)
    assert (found["negation"].value, found["negation"].alike) == (None, ())
    assert (found["absent"].value, found["absent"].alike) == ("false", ("unknown",))


@pytest.mark.thorough
def test_an_error_counts_for_no_value() -> None:
    known, engine = predictor("cel"), choices_of({"seq": "next-from-left"}, AXES["cel"])

    def ask(question: EngineQuestion) -> EngineAnswer:
        return "error" if question.key.count('"B"') > 1 else known.answer(question, engine)

    state = Identification(known, ask)
    found = state.run([stage for stage in STAGES["cel"] if "seq" in stage.axes])
    assert found["seq"].value in (None, "next-from-left")
    assert found["emit"].value in (None, "complete")
    assert 0 < sum(state.errors.values()) <= ERRORS * len(state.errors)
    state.answered.clear()
    (stage,) = (stage for stage in STAGES["cel"] if stage.axes == ("absent",))
    engine = choices_of({"absent": "error"}, AXES["cel"])
    absent = Identification(known, lambda question: known.answer(question, engine)).run([stage])
    assert absent["absent"].value == "error"  # which has errors for answers


@pytest.mark.thorough
def test_what_the_engine_skips_is_not_in_the_profile() -> None:
    known = predictor("cel")

    def ask(question: EngineQuestion) -> EngineAnswer | None:
        return None if "+" in question.query or "FILTER" in question.query else known.answer(question, known.default)

    state = Identification(known, ask)
    found = state.run(STAGES["cel"])
    assert found.keys().isdisjoint({"loop", "loop@cplus", "filter-loop", "absent", "comparison"})
    assert found["seq"].value == "any"


@pytest.mark.thorough
def test_each_axis_of_a_stage_has_a_finding_or_a_reason() -> None:
    known = predictor("cel")
    wanted = {"seq", "guard", "or", "negation", "partition"}
    stages = [stage for stage in STAGES["cel"] if wanted & {*stage.axes}]

    def ask(question: EngineQuestion) -> EngineAnswer | None:
        erring = "error" if "PARTITION" in question.query else known.answer(question, known.default)
        return None if "UNLESS" in question.query else erring

    for most, reasons in (
        (MOST, {"guard": SAME_ANSWERS, "alternatives": SAME_ANSWERS, "negation": SKIPPED, "partition": ERRONEOUS}),
        (10, {"negation": USED_UP, "partition": USED_UP}),
    ):
        state = Identification(known, ask, most)
        findings = state.run(stages)
        why = state.unasked(stages, findings)
        assert findings.keys().isdisjoint(why)
        assert findings.keys() | why.keys() >= {name for stage in stages for name in stage.axes}
        assert reasons.items() <= why.items()


LEFT_FIRST = """
import json, sys
from cerify.conformance.prediction import answer
from cerify.semantics.json_events import stream_of_json
asked = 0
for line in sys.stdin:
    m = json.loads(line)
    if m["cmd"] == "start":
        claims = {"cel": {"operators": ["or", "seq"], "output": ["matches"]}}
        told = {"protocol": 1, "engine": {"name": "left", "version": "1"}, "claims": claims, "languages": [*claims]}
    elif m["cmd"] == "run" and asked < MOST:
        asked += 1
        found = answer("cel", m["query"], stream_of_json(m["events"], None, "run"), {"or": "left-first"})
        told = {"id": m["id"], "matches": [{"at": one.at, "events": one.events} for one in found.matches]}
    else:
        break
    print(json.dumps(told), flush=True)
"""


@pytest.mark.thorough
@pytest.mark.usefixtures("kept_answers")
def test_a_profile_says_which_axes_were_not_asked_about(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    """An engine of OR; and one that is gone after its first answer."""
    stages = [stage for stage in STAGES["cel"] if {"or", "negation"} & {*stage.axes}]
    monkeypatch.setattr(identification_module, "STAGES", {"cel": stages})
    profile = identified([sys.executable, "-c", LEFT_FIRST.replace("MOST", "1000")])
    assert profile.axes["or"].value == "left-first"
    assert profile.not_asked == {"negation": SKIPPED}
    Draft202012Validator(json.loads((SCHEMAS / "profile.json").read_text(encoding="utf-8"))).validate(profile.as_json())
    _, out, _ = run("identify", "--", sys.executable, "-c", LEFT_FIRST.replace("MOST", "1000"))
    assert "Not asked, as the engine skips all questions about them: negation." in out
    profile = identified([sys.executable, "-c", LEFT_FIRST.replace("MOST", "1")], limits=Limits(restarts=0))
    assert profile.stopped
    assert profile.not_asked["negation"] == ENDED


@pytest.mark.thorough
@pytest.mark.parametrize("most", [100, 130, 160])
def test_what_could_not_be_asked_any_more_is_open(most: int) -> None:
    """When the questions were used up, values were named as alike that further ones would have told apart."""
    known, engine = predictor("core-cel"), composed(7)[1]
    found = Identification(known, lambda question: known.answer(question, engine), most).run(STAGES["core-cel"])
    named = {name: (f.value, *f.alike) for name, f in found.items() if f.value is not None}
    for name, value in ((name, value) for name, values in named.items() for value in values):
        assert not differs("core-cel", engine, {**engine, name: value}), (name, value)


def test_a_question_that_is_skipped_settles_nothing() -> None:
    known = predictor("cel")
    state = Identification(known, lambda question: None)
    state.left = [known.default, {**known.default, "loop": known.interpretation.axes["loop"].values[1]}]
    state.settle(STAGES["cel"])
    assert not state.answered
    assert state.skipped


def test_a_query_that_is_skipped_out_of_order_is_asked_in_order() -> None:
    known = predictor("cel")
    engine = choices_of({"window-default": "60"}, AXES["cel"])
    ask = lambda question: None if question.kind[1] else known.answer(question, engine)  # noqa: E731
    found = Identification(known, ask).run([stage for stage in STAGES["cel"] if len(stage.axes) < 3][1:3])
    assert found["window-default"].value == "60"


def test_a_cause_is_asked_about_with_the_queries_of_its_neighbours() -> None:
    """Floats without a fraction look as constants without one, but where the attribute has it."""
    asked: list[tuple[str, object]] = []

    def result(phi: object, S: Stream, origin: Case) -> CaseResult:
        asked.extend((LANGUAGES["cel"].syntax.show(phi), event.get("x")) for event in S)
        return CaseResult(origin, "passed")

    origin = Case("", "", "", "cel", "A", None, [], "matches", [])
    peeler: Any = SimpleNamespace(result=result, stopped="")
    Inquiry(peeler, Hypotheses("cel"), origin).look_beside(("constants", "truncated"), [])
    assert ("A FILTER A.x = 1", 1.5) in asked
    assert not any("WITHIN" in query for query, _ in asked)


@pytest.fixture(scope="module", params=sampled([1, 2], [1]))
def of_odd_loops(request: pytest.FixtureRequest) -> dict[str, AxisFinding]:
    """What is found of an engine whose loops are no hypothesis: the largest matches alone, at the first positions.

    It skips connectives, division, LIKE and ranges.
    """
    known = predictor("cel")

    def ask(question: EngineQuestion) -> EngineAnswer | None:
        if re.search(r"like|/|range| (and|or) |not ", question.query):
            return None
        told = known.answer(question, known.default)
        if isinstance(told, str) or not re.search(r"[^:]\+", question.query):
            return told
        largest = {at: max(len(events) for end, events in told if end == at) for at, _ in told}
        return frozenset((at, events) for at, events in told if at < request.param and len(events) == largest[at])

    return Identification(known, ask).run(STAGES["cel"])


@pytest.mark.thorough
def test_an_axis_for_which_none_fits_does_not_count_against_the_others(of_odd_loops: dict[str, AxisFinding]) -> None:
    """Answers to queries with a loop had been counted for seq, emit and partition, for which none fitted either."""
    assert [name for name, finding in of_odd_loops.items() if finding.value is None] == ["loop"]
    axes = predictor("cel").interpretation.axes
    for name, finding in of_odd_loops.items():
        if name != "loop":
            assert (finding.value, finding.explained) == (axes[name].default, finding.answers), name


@pytest.mark.thorough
def test_an_axis_whose_own_questions_are_all_skipped_is_left_out(of_odd_loops: dict[str, AxisFinding]) -> None:
    """A question about something else that has the operator, but on which the axis does not bear, is none about it."""
    assert of_odd_loops.keys().isdisjoint({"connectives", "integer-division", "like", "range"})
    assert of_odd_loops.keys() >= {"seq", "filter", "comparison", "absent", "filter-loop"}


HYPOTHESIS = "seq=next-from-left,window=open,selection@nxt=last"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("language", "hypothesis"), [("cel", HYPOTHESIS), ("sase", "window=closed"), ("event-expression", "relative=last")]
)
def test_an_engine_behind_the_protocol(language: str, hypothesis: str) -> None:
    profile = identified((*ENGINE, "--language", language, "--hypothesis", hypothesis))
    for text in hypothesis.split(","):
        name, _, value = text.partition("=")
        assert profile.axes[name].value == value
    data = json.loads(json.dumps(profile.as_json()))
    Draft202012Validator(json.loads((SCHEMAS / "profile.json").read_text())).validate(data)
    assert data["questions"] <= MOST


ROWS_ALONE = """
import json, sys
from cerify.conformance.prediction import answer
from cerify.semantics.json_events import stream_of_json
for line in sys.stdin:
    m = json.loads(line)
    if m["cmd"] == "start":
        claims = {"row-pattern": {"output": ["matches"]}}
        told = {"protocol": 1, "engine": {"name": "rows", "version": "1"}, "claims": claims, "languages": [*claims]}
    elif m["cmd"] == "run":
        S = stream_of_json(m["events"], None, "run")
        found = answer("row-pattern", m["query"], S, {"skip": "next-row"}, "matches").matches
        told = {"id": m["id"], "matches": [{"at": one.at, "events": one.events} for one in found]}
    else:
        break
    print(json.dumps(told), flush=True)
"""


@pytest.mark.thorough
def test_an_engine_without_labels_is_known_by_its_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identification_module, "STAGES", {"row-pattern": STAGES["row-pattern"][:1]})
    (tmp_path / "rows.py").write_text(ROWS_ALONE, encoding="utf-8")
    profile = identified([sys.executable, str(tmp_path / "rows.py")])
    assert {name: finding.value for name, finding in profile.axes.items()} == {"skip": "next-row"}


def test_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    known = predictor("core-cel")
    found, asked = identification("core-cel", {**known.default, "comparison": "inclusive"})
    profile = EngineProfile("toy", "1", "core-cel", found, asked)
    monkeypatch.setattr("cerify.commands.conform.identified", lambda *_: profile)
    shown = CliRunner().invoke(cerify, ["identify", "--", "toy"], standalone_mode=False)
    assert "inclusive" in shown.output
    assert "the default is exact" in shown.output
    as_json = CliRunner().invoke(cerify, ["identify", "--json", "--", "toy"], standalone_mode=False)
    assert json.loads(as_json.output)["axes"]["comparison"]["value"] == "inclusive"


@pytest.mark.usefixtures("kept_answers")
def test_an_engine_that_answers_nothing_is_not_known(tmp_path: Path, run: Run) -> None:
    engine = tmp_path / "engine.py"
    engine.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    m = json.loads(line)\n"
        "    if m['cmd'] == 'stop':\n"
        "        break\n"
        "    info = {'protocol': 1, 'engine': {'name': 'e', 'version': '1'}, 'languages': ['core-cel']}\n"
        "    print(json.dumps(info if m['cmd'] == 'start' else {'id': m.get('id'), 'skipped': 'no'}), flush=True)\n"
    )
    status, out, _ = run("identify", "--", sys.executable, str(engine))
    assert status == 1
    assert "Note: the engine answered none of the questions, so nothing is known about its semantics." in out


@pytest.mark.thorough
@pytest.mark.usefixtures("kept_answers")
def test_operators_of_queries_without_an_answer_are_not_said_to_be_skipped(tmp_path: Path) -> None:
    engine = tmp_path / "engine.py"
    engine.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    m = json.loads(line)\n"
        "    if m['cmd'] == 'stop' or '+' in m.get('query', ''):\n"
        "        break\n"
        "    info = {'protocol': 1, 'engine': {'name': 'e', 'version': '1'}, 'languages': ['cel']}\n"
        "    at = [p for p, e in enumerate(m.get('events', ())) if e['type'] == 'A']\n"
        "    found = [{'at': p, 'events': [p]} for p in at]\n"
        "    told = {'matches': found} if m.get('query') == 'A' else {'skipped': 'no'}\n"
        "    print(json.dumps(info if m['cmd'] == 'start' else {'id': m['id'], **told}), flush=True)\n"
    )
    profile = identified([sys.executable, str(engine)], "cel")
    assert (profile.not_asked["loop"], profile.not_asked["partition"]) == (ERRONEOUS, SKIPPED)


# ---- questions ----
# The pool of questions: each axis has a stage, in which each of its values differs from the definition.

NUMBER = {
    "cel": 13053, "core-cel": 5058, "sase": 9261, "event-expression": 6063, "row-pattern": 4114, "funnel": 1854,
}  # fmt: skip
"""The questions of each language. Of a condition on one event there is a stream of all events, and none of pairs."""


@pytest.mark.parametrize("language", STAGES)
def test_every_axis_has_a_stage(language: str) -> None:
    named = {name for stage in STAGES[language] for name in stage.axes}
    assert named == set(AXES[language])


@pytest.mark.parametrize("language", STAGES)
def test_the_number_of_questions(language: str) -> None:
    assert sum(1 for stage in STAGES[language] for t in stage.templates for _ in t.streams()) == NUMBER[language]


@pytest.mark.parametrize("language", sampled(STAGES, ("core-cel",)))
def test_every_value_shows_in_a_question_of_its_stage(language: str) -> None:
    unseen = [(one.axis, one.value) for one in separations(language) if one.question is None]
    assert unseen == [("connectives", "and-as-or")] * (language == "sase")  # its conditions have no `and` below `or`


def test_the_axes_are_printed_with_what_tells_their_values_apart(run: Run) -> None:
    code, out, _ = run("identify", "--axes", "--language", "funnel")
    lines = out.splitlines()
    assert code == 0
    assert len(lines) == sum(len(axis.values) - 1 for axis in AXES["funnel"].values())
    assert all(": lacks " in line or ": adds " in line for line in lines)
    objects = [json.loads(line) for line in run("identify", "--axes", "--language", "funnel", "--json")[1].splitlines()]
    assert [f"{one['axis']}={one['value']}" for one in objects] == [line.partition(":")[0] for line in lines]
    assert all(one["expected"] != one["given"] for one in objects)
    assert run("identify", "--axes", "--engine", "kernel")[0] == 2


@pytest.mark.thorough
def test_a_case_that_is_made_to_separate_does() -> None:
    """Two values of an axis; those of `guard` beside a sequence that takes the next event."""
    known = Predictor("cel")
    for case in (case for case in load(None) if case.id.startswith("cel/apart/")):
        S = stream_of(case)

        def differ(one: Choices, other: Choices, case: Case = case, S: Stream = S) -> bool:
            return len({known.matches(case.query, S, case.id, choices, case.output) for choices in (one, other)}) > 1

        values = [({**known.default, a.name: v}, a) for a in known.axes_of(case.query) for v in a.values[1:]]
        after_next = {**known.default, "seq": "next-from-left"}
        assert any(differ(known.default, one) for one, _ in values) or any(
            differ(after_next, {**one, "seq": "next-from-left"}) for one, axis in values if axis.name == "guard"
        ), case.id


def test_every_value_is_described_but_those_of_readings() -> None:
    for language, axes in AXES.items():
        for axis in axes.values():
            if axis.name != "window-default" and not axis.says.startswith("the reading "):
                assert set(axis.meanings) == set(axis.values), (language, axis.name)
    assert AXES["cel"]["seq@cseq"].meanings["strict"] == AXES["cel"]["seq"].meanings["strict"] == "the next event"
    assert AXES["cel"]["loop"].meanings["at-most-5"] == "at most 5"


def test_tables_with_partitions_have_two() -> None:
    templates = [t for stage in STAGES["row-pattern"] for t in stage.templates if "PARTITION BY p" in t.query]
    assert templates
    for template in templates:
        assert {event.get("p") for event in template.letters} >= {0, 1}


# ---- hypotheses ----
# The interpreters with choices: at their default they are the definition; each value means what its page says.

Events = set[tuple[int, ...]]


def events(types: str, **columns: list[object]) -> Stream:
    """A stream of these types; None in a column is an absent value."""
    return Stream(
        Event(type_, {name: values[i] for name, values in columns.items() if values[i] is not None})  # type: ignore[misc]
        for i, type_ in enumerate(types.split())
    )


def found(query: str, S: Stream, language: str = "cel", **hypothesis: str) -> Events:
    """The complex events that an engine reports; seq__cseq stands for the axis seq@cseq."""
    named = {axis.replace("__", "@").replace("_", "-"): value for axis, value in hypothesis.items()}
    given = answer(language, query, S, named)
    assert isinstance(given, MatchesAnswer)
    return {match.events for match in given.matches}


@pytest.mark.parametrize("cases", sampled([60, 150], [60]))
@pytest.mark.parametrize("language", AXES)
def test_the_default_of_every_axis_is_the_definition(language: str, cases: int) -> None:
    plugin, interpretation = LANGUAGES[language], INTERPRETATIONS[language]
    generator, choices = plugin.require_cases().generator(), choices_of({}, interpretation.axes)
    profiles, matched = list(generator.profiles.values()), 0
    for seed in range(cases):
        query, S = generator.case(Random(seed), profiles[seed % len(profiles)], 7, 6)
        output = "valuations" if not plugin.answer else "matches"
        try:
            right = frozenset(plugin.evaluators.matches(query, S, options=Options(output=output)))  # type: ignore[arg-type]
        except Unsupported:  # an argument of an event of which the stream does not say the attributes
            continue
        assert interpretation.matches(query, S, choices, output) == right, plugin.syntax.show(query)  # type: ignore[arg-type]
        matched += bool(right)
    assert matched > 20 * cases / 150


@pytest.mark.parametrize(
    ("seq", "expected"),
    [
        ("any", {(0, 2), (0, 3), (1, 2), (1, 3)}),
        ("next-from-left", {(0, 2), (1, 2)}),
        ("next-from-right", {(1, 2), (1, 3)}),
        ("strict", {(1, 2)}),
        ("nearest", {(1, 2)}),
    ],
)
@pytest.mark.parametrize(("language", "query"), [("cel", "A ; B"), ("core-cel", "A AS a ; B AS b")])
def test_sequences(language: str, query: str, seq: str, expected: Events) -> None:
    assert found(query, events("A A B B"), language, seq=seq) == expected
    assert found(query, events("A C B"), language, seq=seq) == (set() if seq == "strict" else {(0, 2)})


@pytest.mark.parametrize(
    ("query", "stream", "seq", "kept", "dropped"),
    [
        ("A ; (B : A)", "A B B A", "next-from-left", {(0, 2, 3)}, set()),
        ("(A : B) ; C", "A B B C", "next-from-right", {(0, 1, 3)}, set()),
        ("(A : B) ; C", "A B B C", "next-from-left", {(0, 1, 3)}, {(0, 1, 3)}),
        ("A : (B ; C)", "A B B C", "nearest", set(), {(0, 1, 3)}),
        ("A ; (B : A)", "A B B A", "any", {(0, 2, 3)}, {(0, 2, 3)}),
        ("A ; (A : B) IN A", "A A A B", "next-from-left", {(0, 2, 3), (1, 2, 3)}, {(1, 2, 3)}),
    ],
)
def test_brackets_that_group_nothing(query: str, stream: str, seq: str, kept: Events, dropped: Events) -> None:
    assert found(query, events(stream), seq=seq) == kept
    assert found(query, events(stream), seq=seq, brackets="dropped") == dropped


def test_a_condition_around_brackets_that_group_nothing_is_that_of_its_steps() -> None:
    query, stream = "(A : A FILTER A.x = 0) ; A", Stream([Event("A", {"x": x}) for x in (0, 0, 1, 0, 0)])
    assert (0, 1, 4) in found(query, stream, seq="next-from-right")
    assert found(query, stream, seq="next-from-right", brackets="dropped") == {(0, 1, 2), (0, 1, 3)}


@pytest.mark.parametrize(
    ("stream", "expected"),
    [("A B A C", {(0, 1, 3)}), ("A B A B C C", {(2, 3, 4)}), ("A A B B C", {(1, 2, 4)}), ("A C B C", {(0, 2, 3)})],
)
def test_the_nearest_of_three_steps_are_those_of_eql(stream: str, expected: Events) -> None:
    """A later start takes the place of an earlier one, at each step; a match that has ended is gone."""
    assert found("A ; B ; C", events(stream), "cel", seq="nearest") == expected


@pytest.mark.parametrize(
    ("query", "stream", "together", "apart"),
    [
        ("(A OR B) ; C", "ABC", {(1, 2)}, {(0, 2), (1, 2)}),
        ("A ; (A OR B)", "ABA", {(0, 1)}, {(0, 1), (0, 2)}),
        ("A ; (B OR C)", "ABC", {(0, 1)}, {(0, 1), (0, 2)}),
        ("C ; (A ; (B OR C))", "CAAC", {(0, 2, 3)}, {(0, 1, 3)}),
    ],
)
def test_a_query_with_or_stands_for_two(query: str, stream: str, together: Events, apart: Events) -> None:
    for value, expected in (("together", together), ("apart", apart)):
        found = answer("cel", query, Stream(map(Event, stream)), {"seq": "nearest", "alternatives": value})
        assert isinstance(found, MatchesAnswer)
        assert {match.events for match in found.matches} == expected


def test_last_passes_over_null() -> None:
    S = Stream([Event("row", {"x": 0}), Event("row", {})])
    query = "MATCH_RECOGNIZE (MEASURES x AS m, LAST(A.x) AS n, FIRST(x) + 1 AS f ONE ROW PER MATCH PATTERN (A+))"
    for value, expected in (("rows", None), ("values", 0)):
        found = answer("row-pattern", query, S, {"navigation": value}, "valuations")
        assert isinstance(found, MatchesAnswer)
        assert found.matches[0].result == result_of({"m": expected, "n": expected, "f": 1})


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        ("all", {(0, 2), (1, 2), (0, 1, 2)}),
        ("omit-nothing", {(0, 1, 2), (1, 2)}),
        ("contiguous", {(0, 2), (1, 2), (0, 1, 2)}),
        ("greedy", {(0, 1, 2)}),
        ("at-least-two", {(0, 1, 2)}),
        ("single", {(0, 2), (1, 2)}),
        ("until-next", {(0, 2), (1, 2), (0, 1, 2)}),
        ("no-gaps", {(0, 2), (1, 2), (0, 1, 2)}),
        ("reported-early", {(0,), (1,), (0, 1)}),
    ],
)
def test_loops(loop: str, expected: Events) -> None:
    assert found("A+ ; B", events("A A B"), loop=loop) == expected


def test_a_loop_ends_with_the_first_event_of_the_next_step() -> None:
    S = events("A B A B")
    assert found("A+ ; B", S) - found("A+ ; B", S, loop="until-next") == {(0, 2, 3)}


def test_a_loop_without_gaps_may_be_left_before_an_event_that_fits() -> None:
    """The relaxed loop of Flink: no round is omitted between two that are taken."""
    S = events("C A A A B")
    assert found("C ; A+ ; B", S) - found("C ; A+ ; B", S, loop="no-gaps") == {(0, 1, 3, 4)}


def test_contiguous_rounds_are_neighbours() -> None:
    S = events("A C A B")
    assert found("A+ ; B", S) - found("A+ ; B", S, loop="contiguous") == {(0, 2, 3)}


def test_what_a_loop_omits_is_decided_by_what_follows_it() -> None:
    S = events("C A A B")
    assert found("C ; A+ ; B", S, loop="greedy") == {(0, 1, 2, 3)}
    assert found("C ; A+ ; B", S, loop="omit-nothing") == {(0, 1, 2, 3), (0, 2, 3)}
    assert found("(A+ OR C) ; B", S, loop="omit-nothing") == {(1, 2, 3), (2, 3), (0, 3)}
    with pytest.raises(Unsupported):
        found("(A+ AND A) ; B", S, loop="greedy")


@pytest.mark.parametrize(
    ("overlap", "expected"),
    [
        ("shared", {(0, 2), (0, 3), (1, 2), (1, 3)}),
        ("past-last", {(0, 2)}),
        ("to-next", {(0, 2), (1, 2)}),
        ("consume", {(0, 2), (1, 3)}),
        ("consume-latest", {(1, 2), (0, 3)}),
        ("once-per-step", {(0, 2), (1, 3)}),
        ("leftmost-longest", {(0, 3)}),
        ("leftmost-latest", {(0, 3)}),
        ("leftmost-first", {(0, 3)}),
        ("leftmost-first-lazy", {(0, 2)}),
    ],
)
def test_which_matches_may_overlap(overlap: str, expected: Events) -> None:
    assert found("A ; B", events("A A B B"), overlap=overlap) == expected


def test_of_the_longest_matches_the_first_or_the_latest_is_taken() -> None:
    """REfO, a library of regular expressions over objects, lets its gaps take what they can."""
    for overlap, expected in (("leftmost-longest", {(0, 1, 3)}), ("leftmost-latest", {(0, 2, 3)})):
        assert found("A ; B ; C", events("A B B C"), overlap=overlap) == expected


@pytest.mark.parametrize(
    ("query", "stream", "greedy", "lazy"),
    [
        ("A+", "A A A", {(0, 2)}, {(0, 1, 2)}),
        ("A+ ; B", "A B A B", {(0, 2, 3)}, {(0, 2, 3)}),
        ("A{1,2}", "A A A", {(0, 2)}, {(0, 1), (2,)}),
        ("A OR (A ; A)", "A A", {(0,), (1,)}, {(0,), (1,)}),
        ("(A ; A) OR A", "A A A", {(0, 2)}, {(0, 1), (2,)}),
        ("(A ; B ; C) WITHIN 3 EVENTS", "A B C C", {(0, 1, 2)}, {(0, 1, 2)}),
    ],
)
def test_a_regular_expression_takes_what_it_finds_first(query: str, stream: str, greedy: Events, lazy: Events) -> None:
    """As re.search finds it, with .* or .*? in the gaps, again and again."""
    assert found(query, events(stream), overlap="leftmost-first") == greedy
    assert found(query, events(stream), overlap="leftmost-first-lazy") == lazy
    with pytest.raises(Unsupported, match="backtracking does not support unless"):
        found("A UNLESS B", events(stream), overlap="leftmost-first")


def test_a_query_of_each_alternative_reports_as_if_alone() -> None:
    S = events("A A A")
    for query in ("A OR (A ; A)", "STRICT(A OR (A ; A))"):
        assert found(query, S, overlap="past-last") == {(0,), (1,), (2,)}
        assert found(query, S, overlap="past-last", alternatives="apart") == {(0,), (1,), (2,), (0, 1)}
    query = "((A ; A) WITHIN 2 EVENTS) OR A"
    assert found(query, S, emit="first-only", alternatives="apart") == {(0, 1), (0,)}


def test_matches_are_chosen_with_the_events_that_they_do_not_show() -> None:
    next_ = {"seq": "next-from-left", "overlap": "past-last"}
    assert found("PROJECT[A](A ; B)", events("A A B A B"), **next_) == {(0,), (3,)}
    assert found("(PROJECT[A](A OR B)) ; C", events("B C A C"), **next_) == {(1,), (2, 3)}
    assert found("(PROJECT[A](A OR B)) ; C", events("B A C"), **next_) == {(2,)}
    filtered = "(PROJECT[A](A ; B)) FILTER {}.x = 1"
    S = events("A A B", x=[1, 1, 1])
    assert found(filtered.format("A"), S, **next_) == {(0,)}
    assert found(filtered.format("B"), S, **next_) == {(0,), (1,)}  # unbound, so not looked at among all events


def test_conditions_with_or_decide_which_events_are_taken() -> None:
    S, query = events("A B B", x=[0, 0, 1]), "(A ; B) FILTER A.x = 1 OR B.x = 1"
    assert found(query, S, seq="next-from-left") == set()
    assert found(query, S, seq="next-from-left", guard="run") == {(0, 2)}
    both = "(A ; B) FILTER (A.x = 1 OR B.x = 1) AND A.x < B.x"
    assert found(both, S, seq="next-from-left", guard="run") == {(0, 2)}


def test_which_matches_may_overlap_in_partitions_and_steps() -> None:
    assert found("A ; A", events("A A A"), overlap="once-per-step") == {(0, 1), (1, 2)}
    S, query = events("A A A A", k=[1, 2, 2, 1]), "(A ; A) PARTITION BY [k]"
    assert found(query, S, overlap="past-last") == {(1, 2)}
    assert found(query, S, overlap="past-last", overlap__partition="key") == {(1, 2), (0, 3)}
    assert found(query, S, emit="first-only", overlap__partition="key") == {(1, 2), (0, 3)}


def test_the_order_of_events() -> None:
    """A match is reported when all its events are there, those that come late too."""
    S = events("B A A", time=[2, 1, 2])
    expected = {"arrival": set(), "time": {(1, (0, 1))}, "time-either-way": {(1, (0, 1)), (2, (0, 2))}}
    for order, right in expected.items():
        given = answer("cel", "A ; B", S, {"event-order": order})
        assert isinstance(given, MatchesAnswer)
        assert {(m.at, m.events) for m in given.matches} == right, order
    tied = events("A B", time=[1, 1])
    assert found("A ; B", tied, event_order="time-latest-first") == set()
    assert found("B ; A", tied, event_order="time-latest-first") == {(0, 1)}


def test_an_order_that_times_do_not_give() -> None:
    with pytest.raises(Unsupported, match="cannot be compared"):
        found("A ; B", events("A B", time=[1, None]), event_order="time")
    with pytest.raises(Unsupported, match="more than 120 orders"):
        found("A ; B", events("A A A A A B", time=[1] * 6), event_order="time-either-way")
    assert found("A ; B", events("A B"), event_order="time") == {(0, 1)}


@pytest.mark.parametrize(
    ("emit", "expected"),
    [
        ("complete", {(0, (0,)), (1, (1,)), (1, (0, 1))}),
        ("one-per-position", {(0, (0,)), (1, (0, 1))}),
        ("shortest-per-position", {(0, (0,)), (1, (1,))}),
        ("one-per-start", {(0, (0,)), (1, (1,))}),
        ("at-end", {(1, (0,)), (1, (1,)), (1, (0, 1))}),
        ("at-first-event", {(0, (0,)), (1, (1,)), (0, (0, 1))}),
        ("one-later", {(1, (0,))}),
        ("needs-next", {(0, (0,))}),
        ("longest-per-start", {(1, (1,)), (1, (0, 1))}),
        ("first-only", {(0, (0,))}),
    ],
)
def test_which_matches_are_reported_and_when(emit: str, expected: set[tuple[int, tuple[int, ...]]]) -> None:
    given = answer("cel", "A+", events("A A"), {"emit": emit})
    assert isinstance(given, MatchesAnswer)
    assert {(m.at, m.events) for m in given.matches} == expected


def test_one_match_for_each_span() -> None:
    assert found("A ; B ; C", events("A B B C"), emit="one-per-span") == {(0, 2, 3)}
    assert found("A+ ; B", events("A A B B"), emit="one-per-span") == {(0, 1, 2), (1, 2), (0, 1, 3), (1, 3)}
    assert found("A ; B ; C", events("A B B C"), emit="first-per-span") == {(0, 1, 3)}
    assert found("A:+ ; A", events("A A A"), emit="first-per-span") == {(0, 1), (0, 1, 2), (1, 2)}


@pytest.mark.parametrize(
    ("window", "spans"),
    [
        ("closed", {1, 2}),
        ("open", {1}),
        ("off-by-one", {1, 2, 3}),
        ("tumbling", {1}),
        ("unlimited", {1, 2, 3, 4}),
    ],
)
def test_windows(window: str, spans: set[int]) -> None:
    inside = {
        k for k in range(1, 5) if found("A ; B WITHIN 2 seconds", events("A B", time=[1, 1 + k]), window__time=window)
    }
    assert inside == spans - ({1} if window == "tumbling" else set())
    count = {
        k for k in range(2, 6) if found("A ; B WITHIN 3 EVENTS", events("A " + "C " * (k - 2) + "B"), window=window)
    }
    counted = {"open": {1}, "off-by-one": {1, 2, 3}, "unlimited": {1, 2, 3, 4}}
    assert count == {k + 1 for k in counted.get(window, {1, 2})}
    S = events("A B", x=[0, 9])
    assert bool(found("A ; B WITHIN 3 [x]", S, window__attribute=window)) == (window == "unlimited")


@pytest.mark.parametrize(
    ("window", "spans"), [("closed", {1, 60, 90}), ("amount-cut", {1, 60}), ("seconds", {1}), ("integer", {1, 60, 90})]
)
def test_the_amount_and_the_unit_of_a_window(window: str, spans: set[int]) -> None:
    query = "A ; B WITHIN 1.5 minutes"
    assert {k for k in (1, 60, 90) if found(query, events("A B", time=[0, k]), window__time=window)} == spans


def test_a_window_where_none_is_asked() -> None:
    S = events("A B B", time=[0, 60, 61])
    assert found("A ; B", S, window_default="60") == {(0, 1)}
    assert found("A ; B WITHIN 1 hours", S, window_default="60") == {(0, 1), (0, 2)}


def test_partitions() -> None:
    S = events("A A A", k=[1, 2, 1])
    assert found("A : A PARTITION BY [k]", S) == set()
    assert found("A : A PARTITION BY [k]", S, partition="substream") == {(0, 2)}


def test_a_window_of_events_in_a_partition() -> None:
    """It counts the events of the key, or those of all keys."""
    S, query, whole = events("A B B", k=[1, 2, 1]), "A ; B WITHIN 2 EVENTS PARTITION BY [k]", "substream-whole-window"
    assert found(query, S, partition="substream") == {(0, 2)}
    assert found(query, S, partition=whole) == set()
    assert found(query.replace("2", "3"), S, partition=whole) == {(0, 2)}
    nested = "(A ; B WITHIN 3 EVENTS PARTITION BY [k]) PARTITION BY [l]"
    S = events("A C B C B", k=[1, 1, 2, 1, 1], l=[1, 2, 1, 2, 1])
    assert found(nested, S, partition="substream") == {(0, 4)}
    assert found(nested, S, partition=whole) == set()
    S, window = events("A A B B", k=[1, 2, 1, 1]), "((A ; B) WITHIN 2 EVENTS)"
    assert found(f"(C PARTITION BY [k]) OR ({window} PER KEY [k])", S, partition=whole) == {(0, 2)}
    assert found(f"(C PER KEY [k]) OR ({window} PARTITION BY [k])", S, partition=whole) == set()


@pytest.mark.parametrize(
    ("query", "stream", "step", "only"),
    [
        ("A ; (B FILTER B.x = 1)", "A0 B0 B1", {(0, 2)}, {(0, 2)}),
        ("A ; (B FILTER B.x = 1 OR B.x = 2)", "A0 B0 B1", {(0, 2)}, set()),
        ("((A ; B) FILTER A.x < B.x) ; B", "A0 B1 B0", {(0, 1, 2)}, {(0, 1, 2)}),
        ("A ; (A FILTER A.x = 1 OR A.x = 2)", "A0 A1", {(0, 1)}, {(0, 1)}),  # the condition is on the second A alone
        ("(PROJECT[A](A ; B) ; B) FILTER A.x = 5 OR A.x = 6", "A1 B1 B2", set(), set()),  # A passes PROJECT
    ],
)
def test_conditions_that_no_step_has(query: str, stream: str, step: Events, only: Events) -> None:
    S = events(" ".join(word[0] for word in stream.split()), x=[int(word[1]) for word in stream.split()])
    assert found(query, S, seq="next-from-left", guard="step") == step
    assert found(query, S, seq="next-from-left", guard="step-only") == only
    given = answer("cel", query, S, {"guard": "step-only"}, "valuations")
    assert given == answer("cel", query, S, {}, "valuations")  # without the marks


def test_events_without_a_key() -> None:
    S, query = events("A A A", k=[None, 1, None]), "A ; A PARTITION BY [k]"
    for partition in ("filter", "substream"):
        assert found(query, S, partition=partition) == set()
        assert found(query, S, partition=partition, partition__absent="one-key") == {(0, 2)}


def test_integers_that_floating_point_numbers_do_not_tell_apart() -> None:
    S, query = events("A A", x=[2**53, 2**53 + 1], k=[2**53, 2**53 + 1]), f"A FILTER A[x > {2**53}]"
    assert found(query, S) == {(1,)}
    assert found(query, S, integers="doubles") == set()
    assert found("A ; A PARTITION BY [k]", S) == set()
    assert found("A ; A PARTITION BY [k]", S, integers="doubles") == {(0, 1)}
    assert found("A FILTER A.x < 1", events("A", x=[10**400]), integers="doubles") == set()


def test_a_float_may_equal_no_integer() -> None:
    S = events("A A", x=[1, 1.0])
    assert found("A FILTER A.x = 1", S) == {(0,), (1,)}
    assert found("A FILTER A.x = 1", S, floats="apart") == found("A FILTER A.x != 1.0", S, floats="apart") == {(0,)}
    assert found("A FILTER A.x >= 1", S, floats="apart") == {(0,), (1,)}


def test_filters_on_loops() -> None:
    S = events("A A B", x=[1, 0, None])
    expected = {"every": {(0, 2)}, "some": {(0, 2), (0, 1, 2)}, "first": {(0, 2), (0, 1, 2)}, "last": {(0, 2)}}
    for value, right in expected.items():
        assert found("(A+ ; B) FILTER A[x > 0]", S, filter_loop=value) == right, value


def test_absent_attributes() -> None:
    S = events("A A", x=[None, 1])
    query = "(A ; A IN B) FILTER A.x = A.y"
    assert found("A FILTER A[not x > 1]", S) == {(0,), (1,)}
    assert found("A FILTER A[not x > 1]", S, absent="unknown") == {(1,)}
    assert found("A FILTER A.x = 0", S, absent="zero") == {(0,)}
    assert found("A FILTER A.x != 1", S, absent="null-equal") == {(0,)}
    assert found("A FILTER A.y = A.z", S, absent="null-equal") == {(0,), (1,)}
    assert found("A FILTER A.x != 1", S, absent="null-unequal") == {(0,)}
    assert found("A FILTER A.y != A.z", S, absent="null-unequal") == {(0,), (1,)}
    assert found("A FILTER A.y = A.z", S, absent="null-unequal") == set()
    assert isinstance(answer("cel", query, S, {"absent": "error"}), Failed)


def test_division_of_integers() -> None:
    S = events("A A A", x=[3, -3, 3.0])
    assert found("A FILTER A[x / 2 = 1]", S, integer_division="truncating") == {(0,)}
    assert found("A FILTER A[x / 2 = -1]", S, integer_division="truncating") == {(1,)}
    assert found("A FILTER A[x / 2 = 1.5]", S) == {(0,), (2,)}


def test_where_unless_looks() -> None:
    S = events("B A B C")
    expected = {"all": set(), "next": set(), "any-between": set(), "whole": {(1, 3)}, "ignored": {(1, 3)}}
    for value, right in expected.items():
        assert found("(A ; C) UNLESS B", S, negation=value) == right, value
    assert found("(A ; C) UNLESS B", events("B A C"), negation="any-between") == {(1, 2)}
    assert found("(A ; C) UNLESS B", events("A D B C"), negation="next") == {(0, 3)}
    taken = {"all": set(), "any-between": set(), "inside": {(0, 1), (2, 3)}, "untaken": {(0, 1)}, "whole": {(0, 1)}}
    for value, right in taken.items():
        given = found("(A ; B) UNLESS B", events("A B A B"), negation=value)
        assert given == (right if value != "whole" else set()), value


def test_a_general_name_means_every_operator_that_has_the_value() -> None:
    S = events("A A B B")
    assert found("NXT(A ; B)", S, selection="ignored") == found("A ; B", S)
    assert found("NXT(A ; B)", S, selection__nxt="last") == found("LAST(A ; B)", S)


def test_sase() -> None:
    S = events("A B A B", time=[0, 1, 2, 3])
    query = "PATTERN SEQ(A+ a[], B b) WHERE skip_till_any_match(a[]!, b) { } WITHIN 3 seconds RETURN b.time"
    assert (0, 2, 3) not in found(query, S, "sase")
    assert (0, 1) in found(query, S, "sase") == found(query, S, "sase", loop="until-next")
    assert (0, 3) in found(query, S, "sase", window="closed")
    assert (0, 2, 3) in found(query, S, "sase", window="closed", cut="ignored")
    S = events("A B B", time=[0, 9, 10], x=[0, 0, 1])
    query = "PATTERN SEQ(A a, B b) WHERE skip_till_any_match(a, b) { b.x = 1 } WITHIN 3 seconds RETURN b.time"
    assert found(query, S, "sase") == set()
    assert found(query, S, "sase", window="unlimited") == {(0, 2)}
    assert found(query, S, "sase", window="unlimited", filter="ignored") == {(0, 1), (0, 2)}


def test_row_patterns() -> None:
    clause = "MATCH_RECOGNIZE (PATTERN ({}) DEFINE A AS x = 1)".format
    row_pattern = lambda pattern, x, **given: found(clause(pattern), events("r " * len(x), x=x), "row-pattern", **given)  # noqa: E731
    assert row_pattern("(() | A)*", [1, 1]) == {()}
    assert row_pattern("(() | A)*", [1, 1], star="rows-only") == {(0, 1)}
    assert row_pattern("(() | A)+", [1, 1], star="rows-only") == row_pattern("(() | A)+", [1, 1])
    S, keyed = events("r r r", p=[None, 1, None]), "MATCH_RECOGNIZE (PARTITION BY p PATTERN (A))"
    assert found(keyed, S, "row-pattern", partition="null-dropped") == {(1,)} < found(keyed, S, "row-pattern")


def test_event_expressions() -> None:
    S = events("A A B")
    assert found("relative(A, A)", S, "event-expression") == {(1,)}
    assert found("relative(A, A)", S, "event-expression", relative="last") == set()


def test_what_is_no_hypothesis() -> None:
    with pytest.raises(InputError, match="there is no axis 'sequence'"):
        answer("cel", "A", events("A"), {"sequence": "any"})
    with pytest.raises(InputError, match="the axis seq has the values any, next-from-left"):
        read_hypothesis(["seq=some"], AXES["cel"])
    with pytest.raises(InputError, match="not AXIS=VALUE"):
        read_hypothesis(["seq"], AXES["cel"])
    with pytest.raises(Unsupported):
        answer("toy", "A", events("A"), {})
