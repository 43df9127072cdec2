"""The adapter for OpenCEP: with the meaning of patterns in the engine's place, it answers as the definition does."""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from itertools import combinations, pairwise, product
from random import Random
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from cerify.conformance import engines
from cerify.conformance.campaigns import definition
from cerify.conformance.cases import claims_of_json, load, tree_of, tree_of_text
from cerify.conformance.model import Case
from cerify.equivalence.generate import cel as generate
from cerify.equivalence.generate import sase
from cerify.languages import LANGUAGES
from cerify.semantics.cel.interpreter import matches_of
from cerify.semantics.cel.syntax import show
from cerify.semantics.errors import InputError
from cerify.semantics.events import Stream
from cerify.semantics.json_events import event_of_json, json_of_event
from cerify.semantics.sase.clauses import conjuncts, positive
from cerify.semantics.sase.syntax import Block, SaseQuery, Selected
from cerify.semantics.sase.syntax import show as show_sase

PROFILES = list(generate.PROFILES.values())
HOME = engines.ADAPTERS / "opencep"
FAULTY = {"all", "cseq", "plus", "repeat", "filter", "within", "sase-negation", "sase-iterator", "sase-correlated"}
FAULTS = {
    "SeqOperator": "AndOperator", "AndOperator": "SeqOperator", "ConsumptionPolicy(contiguous=": "0 and (",
    "KleeneClosureOperator": "(lambda one, *_: one)", "'<'": "'<='", " and ": " or ", "not ": "", "seconds=": "days=",
    "for p0 in ": "for p0 in [] and ", ", 2)": ", 3)",
}  # fmt: skip
"""In which features, what in a source is replaced by what."""


@pytest.fixture
def adapter(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(HOME))
    import adapter as module  # type: ignore[import-not-found]

    yield module
    for name in ("adapter", "chains", "sase_chains"):
        del sys.modules[name]


@dataclass(frozen=True)
class Leaf:
    """A primitive event: in a closure between least and most of them, of any number if None; absent: none."""

    type: str
    name: str
    least: int | None = None
    most: int | None = None
    absent: bool = False


@dataclass(frozen=True)
class Steps:
    """SeqOperator, or AndOperator."""

    steps: tuple[Any, ...]
    in_order: bool


@dataclass(frozen=True)
class Simple:
    """SimpleCondition: of an event of each name, of a closure the list."""

    names: tuple[str, ...]
    test: Callable[..., bool]


@dataclass(frozen=True)
class Pattern:
    """The pattern that a source makes."""

    root: Steps
    conditions: tuple[Simple, ...]
    width: timedelta
    contiguous: Sequence[Sequence[str]]

    @property
    def leaves(self) -> list[Leaf]:
        """The leaves that take events, from left to right."""
        return [leaf for leaf in leaves_of(self.root) if not leaf.absent]


def leaves_of(step: Leaf | Steps) -> list[Leaf]:
    return [step] if isinstance(step, Leaf) else [leaf for below in step.steps for leaf in leaves_of(below)]


MEANING: dict[str, Any] = {
    "PrimitiveEventStructure": Leaf,
    "KleeneClosureOperator": lambda leaf, least, most: replace(leaf, least=least, most=most),
    "NegationOperator": lambda leaf: replace(leaf, absent=True),
    "SeqOperator": lambda *steps: Steps(steps, True),
    "AndOperator": lambda *steps: Steps(steps, False),
    "AndCondition": lambda *conditions: conditions,
    "SimpleCondition": lambda *names, relation_op: Simple(names, relation_op),
    "Variable": lambda name, _: name,
    "taken_events": None,
    "timedelta": timedelta,
    "ConsumptionPolicy": lambda contiguous: contiguous,
    "Pattern": lambda root, conditions, width, contiguous: Pattern(root, conditions, width, contiguous or ()),
}
"""The names of OpenCEP in the source of a pattern."""


def taken(step: Leaf | Steps, types: list[str]) -> Iterator[list[list[int]]]:
    """All ways in which a structure takes positions: for each leaf, in order, those that it takes."""
    if isinstance(step, Leaf):
        if step.absent:
            yield [[]]
            return
        mine = [position for position, type_ in enumerate(types) if type_ == step.type]
        sizes = [1] if step.least is None else range(step.least, (step.most or len(mine)) + 1)
        yield from ([list(some)] for size in sizes for some in combinations(mine, size))
        return
    for parts in product(*(list(taken(below, types)) for below in step.steps)):
        sets = [some for part in parts if (some := [p for of in part for p in of])]
        if not step.in_order or all(max(one) < min(other) for one, other in pairwise(sets)):
            yield [of for part in parts for of in part if of]


def meaning(pattern: Any, window: Any, *stream: Any, old: str = "", new: str = "") -> list[tuple[int, list[list[int]]]]:
    """The matches of a pattern by its source, and of what OpenCEP is given; in the source new is planted for old."""
    from chains import FUNCTIONS, build_pattern, source  # type: ignore[import-not-found]

    text = source(pattern, window)
    found = list(matched(eval(text.replace(old, new) if old else text, MEANING | FUNCTIONS), *stream))
    if not old:
        names = SimpleNamespace(
            **MEANING, function=lambda names, code: lambda *of: code.value(dict(zip(names, of, strict=True)))
        )
        assert list(matched(build_pattern(pattern, window, names), *stream)) == found
    return found


def matched(pattern: Pattern, events: Any, seconds: Any) -> Iterator[tuple[int, list[list[int]]]]:
    """The matches by what SEQ, AND, closures, conditions, contiguity and windows mean."""
    leaves = {leaf.name: leaf for leaf in leaves_of(pattern.root)}
    names = [leaf.name for leaf in pattern.leaves]
    for positions in taken(pattern.root, [event["type"] for event in events]):
        of = dict(zip(names, positions, strict=True))
        where = [p for some in positions for p in some]
        if seconds[max(where)] - seconds[min(where)] > pattern.width.total_seconds():
            continue
        if any(of[b][0] != of[a][0] + 1 for run in pattern.contiguous for a, b in pairwise(run)):
            continue
        binding = {name: [events[p] for p in of[name]] for name in names}
        conditions = [c for c in pattern.conditions if set(c.names) <= set(names)]
        if not all(holds(c, binding, leaves) for c in conditions):
            continue
        if not any(there(pattern, of, binding, events)):
            yield max(where), positions


def there(pattern: Pattern, of: dict[str, list[int]], binding: dict[str, list[Any]], events: Any) -> Iterator[bool]:
    """For each event between the neighbours of an absent one: whether it satisfies the conditions on the absent one."""
    leaves = {leaf.name: leaf for leaf in leaves_of(pattern.root)}
    for place, leaf in enumerate(pattern.root.steps):
        if getattr(leaf, "absent", False):
            before = [one for one in pattern.root.steps[:place] if not one.absent]
            after = [one for one in pattern.root.steps[place:] if not one.absent]
            conditions = [c for c in pattern.conditions if leaf.name in c.names]
            for event in events[of[before[-1].name][-1] + 1 : of[after[0].name][0]]:
                with_it = binding | {leaf.name: [event]}
                yield event["type"] == leaf.type and all(holds(c, with_it, leaves) for c in conditions)


def holds(condition: Simple, binding: dict[str, list[Any]], leaves: dict[str, Leaf]) -> bool:
    """A condition on one leaf alone is one on each of its events."""
    if len(condition.names) == 1:
        return all(condition.test(event) for event in binding[condition.names[0]])
    single = {name for name in condition.names if leaves[name].least is None}
    return condition.test(*(binding[name][0] if name in single else binding[name] for name in condition.names))


def answered(adapter: ModuleType, case: Case, search: Callable[..., Any] = meaning) -> set[tuple[Any, ...]] | None:
    """The matches that the adapter answers, None for a skip."""
    run = {"id": case.id, "language": case.language, "query": case.query}
    run |= {"tree": tree_of_text(case.language, case.query)}
    run |= {"schema": case.schema, "events": list(case.events), "output": case.output}
    reply = adapter.answer(run, search)
    assert "error" not in reply, reply
    return {(m["at"], tuple(m["events"])) for m in reply["matches"]} if "matches" in reply else None


@pytest.mark.parametrize(("language", "least"), [("cel", 500), ("sase", 60)])
def test_the_adapter_answers_the_suite_as_the_definition_does(language: str, least: int, adapter: ModuleType) -> None:
    claims = claims_of_json({language: adapter.MODULES[language].CLAIMS}, language)
    cases = [case for case in load(None) if case.language == language and not claims.why_not(case)]
    asked = [
        claims.restrict_case(case) for case in cases if len(case.events) < 8 or case.feature == "examples"
    ]  # not the long
    answers = [(case, got) for case in asked if (got := answered(adapter, case)) is not None]
    assert len(answers) > least
    for case, got in answers:
        assert got == {(m.at, tuple(m.events)) for m in case.matches}, case.id


def test_it_answers_random_queries_as_the_definition_does(adapter: ModuleType) -> None:
    rng, compared = Random(5), 0
    for number in range(400):
        phi = generate.formula(rng, PROFILES[number % len(PROFILES)], 7)
        events = [{"type": rng.choice("ABC"), "x": rng.randrange(3), "y": rng.randrange(3)} for _ in range(5)]
        for second, event in enumerate(events):
            event["time"] = second * rng.choice((1, 1800))
        events.sort(key=lambda event: event["time"])
        run = {
            "id": "",
            "language": "cel",
            "tree": tree_of_text("cel", show(phi)),
            "events": events,
            "output": "matches",
        }
        reply = adapter.answer(run, meaning)
        assert "error" not in reply, (show(phi), reply)
        if "matches" not in reply:
            continue
        compared += 1
        S = [event_of_json(event, None, "") for event in events]
        expected = {(m.at, tuple(m.events)) for m in matches_of(phi, Stream(S))}
        assert {(m["at"], tuple(m["events"])) for m in reply["matches"]} == expected, (show(phi), events)
    assert compared > 100


def under_any(q: SaseQuery) -> SaseQuery:
    """The query with all its conditions under skip till any match."""
    selected = tuple(Selected(k.variable) for k in positive(q))
    where = tuple(replace(conjunct, underlined=False) for conjunct in conjuncts(q))
    return replace(q, where=(Block("skip_till_any_match", selected, where),), having=None)


@pytest.mark.thorough
def test_it_answers_random_queries_in_sase_as_the_definition_does(adapter: ModuleType) -> None:
    rng, compared, absent = Random(5), 0, 0
    claims = claims_of_json({"sase": adapter.sase_chains.CLAIMS}, "sase")
    profiles = [sase.PLAIN, sase.NEGATION]
    for number in range(400):
        q, S = sase.case(rng, profiles[number % len(profiles)], 6, 6)
        q = under_any(q)
        if claims.objection("sase", q, S, "matches"):
            continue
        events = [json_of_event(event) for event in S]
        run = {"id": "", "language": "sase", "tree": tree_of(q), "events": events, "output": "matches"}
        reply = adapter.answer(run, meaning)
        assert "error" not in reply, (show_sase(q), reply)
        if "matches" in reply:
            compared += 1
            absent += any(k.negated for k in q.pattern)
            expected = {(m.at, tuple(m.events)) for m in definition(LANGUAGES["sase"], less="matches")(q, S, "matches")}
            assert {(m["at"], tuple(m["events"])) for m in reply["matches"]} == expected, (show_sase(q), events)
    assert compared > 100
    assert absent > 5


def test_a_measured_run_is_answered_with_the_number_of_matches_and_the_time(adapter: ModuleType) -> None:
    (case,) = (case for case in load(None) if case.id == "cel/seq/001")
    run = {"id": case.id, "language": "cel", "tree": tree_of_text("cel", case.query), "events": list(case.events)}
    reply = adapter.measured(run | {"output": "matches"}, meaning)
    assert (reply["id"], reply["count"]) == (case.id, len(case.matches))
    assert reply["cpu"]["thread"] > 0
    assert reply["cpu"]["process"] > 0
    assert "skipped" in adapter.measured(run | {"output": "valuations"}, meaning)


def test_a_fault_of_the_search_is_seen(adapter: ModuleType) -> None:
    case = next(case for case in load(None) if case.query == "A ; B" and case.output == "matches")
    assert answered(adapter, case) != answered(adapter, case, lambda *_: [(0, [[0], [0]])])


def test_a_fault_of_the_translation_is_seen(adapter: ModuleType) -> None:
    """Each text that is planted in the source of patterns changes an answer of the suite."""
    cases = [case for case in load(None) if case.language in adapter.MODULES and len(case.events) < 6]
    right = [(case, answered(adapter, case)) for case in cases if case.feature in FAULTY]
    for old, new in FAULTS.items():
        faulty = partial(meaning, old=old, new=new)
        assert any(got is not None and answered(adapter, case, faulty) != got for case, got in right), old


def test_events_that_are_too_far_apart_are_skipped(adapter: ModuleType) -> None:
    def reply(*times: int) -> dict[str, Any]:
        events = [{"type": "A", "time": time} for time in times]
        query = "(A ; A) WITHIN 10 seconds"
        run = {"id": "far", "language": "cel", "query": query, "tree": tree_of_text("cel", query)}
        return dict(adapter.answer(run | {"schema": None, "events": events, "output": "matches"}, lambda *_: []))

    assert "matches" in reply(-(2**62), -(2**62) + 10**11)
    assert "skipped" in reply(-(2**63), 2**63 - 1)


def test_an_answer_has_the_pattern_as_source(adapter: ModuleType) -> None:
    case = next(case for case in load(None) if case.query == "A OR B" and case.output == "matches")
    run = {"id": "", "language": "cel", "query": case.query, "tree": tree_of_text("cel", case.query)}
    run |= {"events": list(case.events), "output": "matches"}
    reply = adapter.answer(run, meaning)
    form = "Pattern(SeqOperator(PrimitiveEventStructure{}), AndCondition(), timedelta(days=1000000), None)"
    lines = [form.format(step) for step in (("A", "e0"), ("B", "e1"))]
    assert reply["translation"].splitlines() == lines
    assert "translation" not in adapter.answer(run | {"output": "valuations"}, meaning)
    failed = adapter.answer(run, lambda *_: 1 / 0)
    assert (failed["error"]["code"], failed["translation"]) == ("internal", lines[0])


def test_without_a_checkout_it_says_which_variable_names_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.delenv("CERIFY_OPENCEP_HOME", raising=False)
    with pytest.raises(InputError, match="CERIFY_OPENCEP_HOME is not set"):
        engines.command_of("opencep")
    monkeypatch.setenv("CERIFY_OPENCEP_HOME", str(tmp_path))
    with pytest.raises(InputError, match=r"contains no CEP\.py"):
        engines.command_of("opencep")
    (tmp_path / "CEP.py").write_text("")
    assert engines.missing_for("opencep") is None
    assert engines.command_of("opencep")[1:] == [str(HOME / "adapter.py"), "--engine-home", str(tmp_path)]
