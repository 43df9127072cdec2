"""The library for adapters: with the meaning of chains in an engine's place, it answers as the definition does."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import combinations, pairwise, product
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest

from cerify import adapter
from cerify.conformance.cases import load, tree_of_text
from cerify.conformance.model import Case
from cerify.equivalence.generate import cel as generate
from cerify.protocol import checked
from cerify.semantics.cel.interpreter import matches_of
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import show
from cerify.semantics.events import Event, Stream
from cerify.semantics.json_events import json_of_event, json_of_schema
from proofs_tests.support import sampled

SOURCE = Path(adapter.__file__).resolve()

FAULTS = {
    "a condition loses its first part": ('yield from conjuncts(predicate["left"])', "pass"),
    "a comparison is not turned round": (
        'left, right, comparator = right, left, FLIPPED[comparator]\n', "left, right = right, left\n"
    ),
    "a label is lost under IN": ("own | {tree[", "{tree["),
    "IN labels what is not reported": ("if own else own", "if True else own"),
    "a projection keeps all": ('own & set(tree["variables"])', "own"),
    "a span is not moved": ("replace(s, first=s.first + shift, last=s.last + shift)", "s"),
    "an absence is not moved": ("replace(a, after=a.after + shift, until=a.until + shift)", "a"),
    "a comparison of two steps is not turned round": ("FLIPPED[tree[\"comparator\"]]", "tree[\"comparator\"]"),
    "a condition across steps is not moved": ("tuple(n + by for n in of)", "of"),
    "an absence looks back to the beginning": ("after=a.after + shift", "after=-1"),
    "neighbours are not": ("replace(first, adjacent=adjacent)", "first"),
    "rounds are not neighbours": ("adjacent_rounds=adjacent", ""),
    "STRICT forgets rounds": ("adjacent=n > 0, adjacent_rounds=True", "adjacent=n > 0"),
    "an event window is one wider": ('"width": window["count"]', '"width": window["count"] + 1'),
    "minutes are seconds": ('window["amount"] * SECONDS[window["unit"]]', 'window["amount"]'),
    "an absent value is equal": ("left is None or right is None or _kind", "left is not right and _kind"),
    "truth values are numbers": ('return "bool"', 'return "number"'),
    "truth values have an order": ("if isinstance(left, bool) and comparator", "if comparator"),
    "a range is open": ("<=\", value) and", '<", value) and'),
    "not is nothing": ("return not _truth(", "return _truth("),
    "or is and": ("return any(_truth(side", "return all(_truth(side"),
    "a disjunction is a conjunction": (
        'condition["left"], events_of) or _satisfied', 'condition["left"], events_of) and _satisfied'
    ),
    "the condition of a loop is forgotten": ("return False\n            return True", "break\n            return True"),
    "division by zero is an error": ("(ZeroDivisionError, OverflowError)", "OverflowError"),
    "matches have no bindings": ("at, taken, run.wants_bindings", "at, taken"),
    "two alternatives report twice": ("if way in ways or text not in known", "if True"),
}  # fmt: skip
"""What is replaced by what in the library, and has to be noticed; the first occurrence is replaced."""


MORE = ["A FILTER A.b = 1", "A FILTER 2 > A.x", "(A ; A IN X) FILTER X.x < A.x", "A ; B FILTER B.x < A.x"]
"""Queries of which the suite has none."""


def accepts(library: ModuleType, step: Any, event: Any) -> bool:
    """Whether a step takes an event, by the plain comparisons that an adapter writes in the engine's terms."""
    plain = [library.plain_comparison(condition) for condition in step.conditions]
    assert step.accepts(event) == (
        event["type"] == step.type and all(library.holds(condition, event) for condition in step.conditions)
    )
    return step.accepts(event) and all(library.compare(event.get(one[0]), *one[1:]) for one in plain if one)


def agrees(library: ModuleType, across: Any, taken: Any, events: list[Any]) -> bool:
    """Whether a condition on several steps is true, by the plain comparison where it is one."""
    if (plain := across.comparison()) is None:
        return bool(across.is_true(taken, events))
    one, a, comparator, other, b = plain
    pairs = [(p, q) for p in taken[one] for q in taken[other]]
    return all(library.compare(events[p].get(a), comparator, events[q].get(b)) for p, q in pairs)


def positions(library: ModuleType, step: Any, events: list[Any]) -> Iterator[tuple[int, ...]]:
    """All sets of positions that a step can take."""
    mine = [p for p, event in enumerate(events) if accepts(library, step, event)]
    for size in range(step.least, min(step.most or len(mine), len(mine)) + 1):
        for some in combinations(mine, size):
            if not step.adjacent_rounds or some[-1] - some[0] < len(some):
                yield some


def meant(library: ModuleType, run: Any, chain: Any) -> Iterator[tuple[int, list[tuple[int, ...]]]]:
    """The matches of a chain by the docstrings of its parts; slow, for short streams."""
    events = run.values
    for taken in product(*(list(positions(library, step, events)) for step in chain.steps)):
        follows = all(one[-1] < other[0] for one, other in pairwise(taken))
        beside = all(
            not step.adjacent or one[-1] + 1 == other[0]
            for step, (one, other) in zip(chain.steps[1:], pairwise(taken), strict=True)
        )
        if (
            follows
            and beside
            and all(agrees(library, one, taken, events) for one in chain.across)
            and all(within(library, span, taken, events) for span in chain.spans)
            and not any(spoils(absence, taken, events) for absence in chain.absences)
        ):
            yield taken[-1][-1], list(taken)


def within(library: ModuleType, span: Any, taken: Any, events: list[Any]) -> bool:
    some = [p for of in taken[span.first : span.last + 1] for p in of]
    if span.kind == "events":
        return max(some) - min(some) < span.width
    values = [events[p].get(span.attribute) for p in some]
    if span.kind == "key":
        return all(library.compare(one, "=", other) for one in values for other in values)
    if any(library.compare(one, "=", one) is False for one in values) or len({type(v) is str for v in values}) > 1:
        return False
    try:
        difference = max(values) - min(values)
    except TypeError:
        return False
    if any(isinstance(value, bool) for value in values):
        return False
    return (difference if isinstance(difference, int | float) else difference.total_seconds()) <= span.width


def spoils(absence: Any, taken: Any, events: list[Any]) -> bool:
    begin = -1 if absence.after < 0 else taken[absence.after][-1]
    return any(absence.forbids(event) for event in events[begin + 1 : taken[absence.until][-1] + 1])


def answered(library: ModuleType, case: Case) -> Any:
    """The answer of an engine that means by a chain what its docstrings say."""
    message = {
        "cmd": "run", "id": case.id, "language": case.language, "query": case.query, "schema": case.schema,
        "tree": tree_of_text(case.language, case.query), "events": list(case.events), "output": case.output,
    }  # fmt: skip
    answering = library.on_chains(lambda run, chain: meant(library, run, chain))
    return library.answer_run(library.RunMessage(message), {case.language: answering})


def is_wrong(library: ModuleType, case: Case) -> bool | None:
    """Whether the answer is wrong; None for a skip."""
    answer = answered(library, case)
    if "skipped" in answer:
        return None
    expected = [match.json() for match in case.matches]
    given, right = (
        sorted(json.dumps(m, sort_keys=True) for m in some) for some in (answer.get("matches", [0]), expected)
    )
    return given != right


@cache
def cases() -> list[Case]:
    """The cases of CEL and core-CEL with short streams, and random ones."""
    suite = [c for c in load(None) if c.language == "cel" and len(c.events) <= 7 and len(c.query) < 120]
    drawn = []
    profiles = list(generate.PROFILES.values())
    for seed in range(400):
        query, S = generate.case(Random(seed), profiles[seed % len(profiles)], 5, 6)
        drawn.append(
            Case(f"random/{seed}", "", "", "cel", show(query), S.schema and json_of_schema(S.schema),
                 [json_of_event(e) for e in S], "matches",
                 sorted(matches_of(query, S)))
        )  # fmt: skip
    S = Stream(
        [Event(t, {"x": x, "b": x == 1}) for t, x in (("A", 1), ("B", 1), ("A", 2), ("B", 1), ("A", 0), ("B", 3))]
    )
    for text in MORE:
        right = sorted(matches_of(parse(text), S))
        drawn.append(Case(text, "", "", "cel", text, None, [json_of_event(e) for e in S], "matches", right))
    return [*suite, *drawn]


def planted(name: str) -> ModuleType:
    """The library with a fault."""
    before, after = FAULTS[name]
    text = SOURCE.read_text(encoding="utf-8")
    assert before in text, name
    module = ModuleType("planted")
    sys.modules["planted"] = module
    exec(compile(text.replace(before, after, 1), "planted", "exec"), module.__dict__)
    return module


def test_an_engine_of_chains_answers_as_the_definition_does() -> None:
    judged = {case.id: is_wrong(adapter, case) for case in cases()}
    assert [id_ for id_, wrong in judged.items() if wrong] == []
    carried = sum(wrong is not None for wrong in judged.values())
    assert carried > 1000, carried


@pytest.mark.parametrize("name", sampled(FAULTS, [*FAULTS][:2]))
def test_a_fault_in_the_library_is_noticed(name: str) -> None:
    library = planted(name)
    assert any(is_wrong(library, case) for case in cases())


def test_the_loop_answers_every_line(tmp_path: Path) -> None:
    """Prints of the engine, lines that are none, exceptions and values that JSON lacks do not break the protocol."""
    (tmp_path / "mine.py").write_text(
        "import os, cerify.adapter as a\n"
        "def answer(run):\n"
        "    print('noise'); os.write(1, b'more noise\\n')\n"
        "    if run.query == 'boom': raise RuntimeError('boom')\n"
        "    if run.query == 'nan': return [{'at': float('nan'), 'events': []}]\n"
        "    if run.query == 'skip': raise a.Skip('not here', 'https://example.org')\n"
        "    if run.query == 'deep': return answer(run)\n"
        "    if run.query == 'late': raise a.AdapterProblem('too much', 'budget')\n"
        "    run.translate('SELECT 1')\n"
        "    return [{'at': 0, 'events': [0]}]\n"
        "a.serve('mine', a.version_of('no-such-package'), {'cel': answer}, {'cel': {'operators': ['seq']}})\n",
        encoding="utf-8",
    )
    run = {"cmd": "run", "id": "x", "language": "cel", "events": [{"type": "A"}], "output": "matches"}
    lines = [
        json.dumps({"cmd": "start", "protocol": 1}), "nonsense", "[]", "", json.dumps({"cmd": "fly", "id": "m"}),
        *(json.dumps(run | {"query": query}) for query in ("boom", "nan", "skip", "deep", "late", "A")),
        json.dumps(run | {"query": "A", "language": "sase"}), json.dumps(run | {"query": "A", "selection": "max"}),
        json.dumps({"cmd": "stop"}), json.dumps({"cmd": "start"}),
    ]  # fmt: skip
    ran = subprocess.run(
        [sys.executable, "mine.py"], cwd=tmp_path, input="\n".join(lines), capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 0
    start, *answers = [json.loads(line) for line in ran.stdout.splitlines()]
    checked(start, "started")
    assert start["engine"] == {"name": "mine", "version": "unknown"}
    for answer in answers[3:]:
        checked(answer, "answer")
    codes = [answer.get("error", {}).get("code") or next(key for key in answer if key != "id") for answer in answers]
    expected = ["parse", "parse", "unsupported", "internal", "internal", "skipped", "budget", "budget", "matches"]
    assert codes == [*expected, "skipped", "skipped"]
    assert answers[5]["link"] == "https://example.org"
    assert answers[8]["translation"] == "SELECT 1"
    assert "more noise" in ran.stderr
    assert "RuntimeError: boom" in ran.stderr


def test_the_number_of_matches_is_measured_with_the_time_of_the_search() -> None:
    def search(run: adapter.RunMessage, chain: adapter.Chain) -> Iterator[adapter.Found]:
        for position in range(len(run.events)):
            sum(range(50_000))
            yield position, [[position]]

    message = {"cmd": "measure", "id": "m", "language": "cel", "tree": tree_of_text("cel", "A"), "query": "A"}
    line = json.dumps(message | {"events": [{"type": "A"}] * 20, "output": "matches"})
    answer = adapter.answer_line(line, {}, {"cel": adapter.on_chains(search)}) or {}
    assert (answer["id"], answer["count"], sorted(answer["cpu"])) == ("m", 20, ["process", "thread"])
    assert min(answer["cpu"].values()) > 0.001
    untimed = adapter.answer_line(line, {}, {"cel": lambda run: []}) or {}
    why = "the adapter measures no time: run the engine in run.timed()"
    assert untimed["error"] == {"code": "unsupported", "message": why}


def test_the_library_needs_no_package() -> None:
    """An adapter runs in the environment of its engine, where cerify is on the path and its dependencies are not."""
    code = "import sys, cerify.adapter; print(sorted(n for n in sys.modules if n.startswith('cerify')))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "['cerify', 'cerify.adapter']"


def test_claims_name_parts_that_exist() -> None:
    with pytest.raises(ValueError, match="unknown field 'operator'"):
        adapter.serve("mine", "1", {}, {"cel": {"operator": ["seq"]}})


def chain(query: str) -> adapter.Chain:
    return adapter.chain_of(tree_of_text("cel", query))


def test_what_an_adapter_reads_of_a_chain() -> None:
    one = chain("((A ; (B+ UNLESS D)) FILTER 1 < A.x AND A.k = B.k) PARTITION BY [k] WITHIN 2 minutes")
    assert [(s.type, s.least, s.most, s.is_loop) for s in one.steps] == [("A", 1, 1, False), ("B", 1, None, True)]
    assert [adapter.plain_comparison(c) for c in one.steps[0].conditions] == [("x", ">", 1)]
    assert [c.comparison() for c in one.across] == [(0, "k", "=", 1, "k")]
    assert one.key == "k"
    assert one.window == adapter.ChainSpan("time", 0, 1, 120, "time")
    assert one.absences == (adapter.Absence(0, 1, "D"),)
    later = chain("(A ; B) FILTER B.x < A.y").across[0].comparison()
    assert later == (0, "y", ">", 1, "x")


@pytest.mark.parametrize(
    "query",
    ["A ALL B", "A AND B", "NXT(A ; B)", "(A ; B)+", "START(A)", "A FILTER A.s like 'x'", "A : PROJECT[X](A)"],
)
def test_what_no_chain_says_is_skipped(query: str) -> None:
    tree = tree_of_text("cel", query)
    assert tree is not None
    with pytest.raises(adapter.Skip):
        adapter.chains_of(tree)


def test_a_window_around_a_part_is_not_the_window() -> None:
    with pytest.raises(adapter.Skip, match="one window"):
        _ = chain("A ; ((B ; C) WITHIN 3 EVENTS)").window
    with pytest.raises(adapter.Skip, match="does not support OR"):
        chain("A OR B")


def test_times() -> None:
    def run(*events: Any) -> adapter.RunMessage:
        return adapter.RunMessage({"query": "A", "language": "cel", "events": [{"type": "A", **e} for e in events]})

    assert run({"time": 3}, {"time": "1970-01-01T00:01:00Z"}).seconds() == [3, 60]
    assert run({"time": 3}, {"time": 1}).seconds(ordered=False) == [3, 1]
    for events in ([{"time": 3}, {"time": 1}], [{}], [{"time": "soon"}], [{"time": True}]):
        with pytest.raises(adapter.Skip):
            run(*events).seconds()


def test_a_type_of_rows_need_not_be_said() -> None:
    step = adapter.ChainStep("row", frozenset({"row"}))
    assert step.accepts({"x": 1})


def test_a_match_that_the_engine_repeats_is_repeated() -> None:
    run = adapter.RunMessage({"query": "", "language": "cel", "tree": tree_of_text("cel", "A+ ; A+"), "events": []})
    ways = [(2, [[0], [1, 2]]), (2, [[0, 1], [2]])]
    assert len(list(adapter.on_chains(lambda run, chain: ways)(run))) == 1
    assert len(list(adapter.on_chains(lambda run, chain: [*ways, ways[0]])(run))) == 2
