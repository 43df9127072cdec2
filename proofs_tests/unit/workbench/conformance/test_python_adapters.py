"""The adapters in Python: with the meaning of epigrep's patterns in its place the answers are the definition's."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from itertools import pairwise, product
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from cerify import adapter
from cerify.conformance.cases import claims_of_json, load, tree_of_text
from cerify.conformance.engines import ADAPTERS
from cerify.conformance.model import Case
from cerify.protocol import json_of_match
from cerify.semantics.cel.interpreter import matches_of
from cerify.semantics.cel.parse import parse
from cerify.semantics.events import Event, Stream
from cerify.semantics.json_events import json_of_event

COMPARATORS = {"Eq": "=", "NotEq": "!=", "Lt": "<", "Lte": "<=", "Gt": ">", "Gte": ">="}


def module_of(name: str) -> ModuleType:
    spec = spec_from_file_location(name, ADAPTERS / "python" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def chain(query: str) -> adapter.Chain:
    return adapter.chain_of(tree_of_text("cel", query))


# --- epigrep ----------------------------------------------------------------------------------------------------------


def fits(atom: Any, event: Any, captured: dict[str, Any]) -> bool:
    """Whether an event is one of an atom, given what earlier steps captured."""
    return (
        event.typ == atom["event_type"]
        and all(
            adapter.compare(event.attrs.get(p["attribute"]), COMPARATORS[p["operator"]], *p["value"].values())
            for p in atom["predicates"]
        )
        and all(
            adapter.compare(event.attrs.get(p["attribute"]), COMPARATORS[p["operator"]], captured.get(p["binding"]))
            for p in atom["reference_predicates"]
        )
    )


def meant(pattern: Any, events: list[Any]) -> Iterator[SimpleNamespace]:
    """All matches by the documentation of epigrep: exhaustive, windows closed, what must not come is in between."""
    assert pattern["consumption"] == "ExhaustivePerStart"
    for places in product(range(len(events)), repeat=len(pattern["steps"])):
        taken = [events[p] for p in places]
        if any(a >= b for a, b in pairwise(places)) or len({event.partition for event in taken}) > 1:
            continue
        captured: dict[str, Any] = {}
        for step, event in zip(pattern["steps"], taken, strict=True):
            if not fits(step["atom"], event, captured):
                break
            captured |= {one["name"]: event.attrs.get(one["attribute"]) for one in step["atom"]["captures"]}
        else:
            if all(
                passes(step, events, a, b) for step, (a, b) in zip(pattern["steps"][1:], pairwise(places), strict=True)
            ):
                yield SimpleNamespace(events=taken)


def passes(step: Any, events: list[Any], a: int, b: int) -> bool:
    """Whether the transition from the event at a to that at b is one of a step."""
    how = step["transition_from_previous"]
    between = [event for event in events[a + 1 : b] if event.partition == events[a].partition]
    return (how["max_elapsed"] is None or events[b].ts - events[a].ts <= how["max_elapsed"]) and not any(
        fits(atom, event, {}) for atom in how["absence"] for event in between
    )


@pytest.fixture
def epigrep(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    stand_in = SimpleNamespace(
        Event=lambda partition, ts, typ, attrs: SimpleNamespace(partition=partition, ts=ts, typ=typ, attrs=attrs),
        pattern_from_json=json.loads,
        match=lambda pattern, events: list(meant(pattern, events)),
    )
    monkeypatch.setitem(sys.modules, "epigrep", stand_in)  # type: ignore[arg-type]
    return module_of("epigrep_adapter")


def answer(module: ModuleType, case: Case) -> Any:
    message = {
        "id": case.id, "language": "cel", "query": case.query, "schema": case.schema,
        "tree": tree_of_text("cel", case.query), "events": list(case.events), "output": case.output,
    }  # fmt: skip
    answering = adapter.on_chains(lambda run, chain: module.search(run, chain, False))
    return adapter.answer_run(adapter.RunMessage(message), {"cel": answering})


def more() -> Iterator[Case]:
    """Cases of which the suite has none: keys that are equal numbers or a text, and a guard of a step's type."""
    S = Stream([Event(t, {"k": k, "x": x}) for t, k, x in (("A", 1, 1), ("B", "1", 0), ("B", 1.0, 2), ("B", 1, 1))])
    for text in ("(A ; B) PARTITION BY [k]", "A ; (B UNLESS B)", "A ; ((B FILTER B.x > 1) UNLESS (B FILTER B.x < 1))"):
        right = sorted(matches_of(parse(text), S))
        yield Case(text, "", "", "cel", text, None, [json_of_event(e) for e in S], "matches", right)


def wrong_cases(module: ModuleType) -> tuple[list[str], int]:
    """The cases that are answered wrongly, and how many are answered."""
    claims = claims_of_json({"cel": module.CLAIMS}, "cel")
    wrong, answered = [], 0
    for case in [*load(None), *more()]:
        if case.language == "cel" and len(case.events) <= 8 and not claims.why_not(case):
            got = answer(module, case)
            if "skipped" not in got:
                answered += 1
                expected = sorted(json.dumps(json_of_match(match), sort_keys=True) for match in case.matches)
                given = sorted(json.dumps(match, sort_keys=True) for match in got.get("matches", ["error"]))
                wrong += [case.id] if given != expected else []
    return wrong, answered


def test_epigrep_is_asked_what_the_query_means(epigrep: ModuleType) -> None:
    wrong, answered = wrong_cases(epigrep)
    # keys are texts there: an absent one, and conditions on the attribute that is one, are the engine's own
    assert wrong == []
    assert answered > 300


@pytest.mark.parametrize(
    ("before", "after"),
    [('"<": "Lt"', '"<": "Lte"'), ('"ExhaustivePerStart"', '"FirstSuccessorPerStart"'),
     ("FLIPPED[comparator]", "comparator"), (".type == chain.steps[absence.until].type", ".type == 0"),
     ('span.width - (span.kind == "events")', "span.width"), ("        return None", "        return 'none'"),
     ("int(value) if", "value if"), ("return repr(", "return str(")],
)  # fmt: skip
def test_a_fault_of_the_translation_is_noticed(epigrep: ModuleType, before: str, after: str) -> None:
    text = (ADAPTERS / "python" / "epigrep_adapter.py").read_text(encoding="utf-8")
    assert before in text
    planted = ModuleType("planted")
    exec(compile(text.replace(before, after, 1), "planted", "exec"), planted.__dict__)
    try:
        wrong, _ = wrong_cases(planted)
    except AssertionError:
        return
    assert wrong


# --- eql and bobocep: the words of the translation --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "rule"),
    [
        ("A FILTER A.x > 1", "A where (x > 1)"),
        ("A ; B{2}", "sequence [A where true] [B where true] [B where true]"),
        ("(A ; B) PARTITION BY [k] WITHIN 2 minutes", "sequence by k with maxspan=120s [A where true] [B where true]"),
        (
            "(A FILTER A[not x in {1, 2} or s = 'a']) ; (B UNLESS C)",
            "sequence [A where ((not (x in (1, 2))) or (s == \"a\"))] [B where true] until [C where true]",
        ),
        ("(A FILTER A[x in range(1, 2)]) ; B", "sequence [A where (x >= 1 and x <= 2)] [B where true]"),
    ],
)  # fmt: skip
def test_a_rule_of_eql(query: str, rule: str) -> None:
    assert module_of("eql_adapter").rule_of(chain(query)) == rule


@pytest.mark.parametrize(
    "query",
    ["A : B", "A+ ; B", "A ; B FILTER A.x < B.x", "A WITHIN 3 seconds", "(A ; B) WITHIN 3 EVENTS", "sequence ; B",
     "A FILTER A.s = 'a*'", "A FILTER A.x + 1 > 2", "(A ; B ; C) UNLESS D", "A ; (B UNLESS C) ; D"],
)  # fmt: skip
def test_what_no_rule_says_is_skipped(query: str) -> None:
    with pytest.raises(adapter.Skip):
        module_of("eql_adapter").rule_of(chain(query))


def test_the_blocks_of_bobocep(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks: list[Any] = []

    class Builder:
        def __init__(self, name: str) -> None:
            pass

        def __getattr__(self, word: str) -> Any:
            return lambda *given, **more: blocks.append((word, *given[1:], *more.items()))

    for name in ("bobocep", "bobocep.cep", "bobocep.cep.phenom", "bobocep.cep.phenom.pattern"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    builder: Any = ModuleType("bobocep.cep.phenom.pattern.builder")
    builder.BoboPatternBuilder = Builder
    monkeypatch.setitem(sys.modules, "bobocep.cep.phenom.pattern.builder", builder)
    run = adapter.RunMessage({"query": "", "language": "cel", "events": []})
    module_of("bobocep_adapter").pattern_of(run, chain("A ; (B:+ : C)"))
    assert blocks == [
        ("followed_by", ("group", "0")),
        ("followed_by", ("group", "1")),
        ("next", ("group", "1"), ("loop", True)),
        ("next", ("group", "2")),
        ("generate",),
    ]
    assert run.translations == [".followed_by(A)", ".followed_by(B).next(B)  # loop", ".next(C)"]
    with pytest.raises(adapter.Skip):
        module_of("bobocep_adapter").pattern_of(run, chain("A ; B+"))
