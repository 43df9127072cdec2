"""How far the sequences of a query came: depths by the definition, and the cause of each near miss."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from random import Random
from typing import Any

import pytest

import cerify
from cerify.equivalence.generate import cel
from cerify.explanations.cel import warnings_across_keys
from cerify.explanations.near_misses import duration, near_misses
from cerify.semantics.cel import syntax as cel_cel
from cerify.semantics.cel.check import across_keys
from cerify.semantics.cel.interpreter import matches_of
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import SMALL, Formula, Repeat, show
from cerify.semantics.errors import InputError, QueryWarning, Unsupported
from cerify.semantics.events import Event, Stream
from cerify.semantics.trees import rebuilt
from proofs_tests.conftest import Run
from proofs_tests.support import sampled

# ---- near misses ----
#


def step(rng: Random, first: bool) -> Formula:
    R = rng.choice("ABC")
    phi: Formula = cel_cel.EventAtom(R)
    chance = rng.random()
    if chance < 0.2:
        phi = cel_cel.Filter(phi, cel_cel.Every(R, SMALL))
    elif chance < 0.3:
        phi = cel_cel.Or(phi, cel_cel.EventAtom(rng.choice("ABC")))
    if not first and rng.random() < 0.35:
        return cel_cel.Unless(phi, cel_cel.EventAtom(rng.choice("CD")))
    if rng.random() < 0.2:
        again: list[Formula] = [cel_cel.Plus(phi), Repeat(phi, 2, 2), Repeat(phi, 1, 2)]
        return rng.choice(again)
    return phi


def scope_of(rng: Random) -> list[Formula]:
    """What stands around the steps, as formulas with a hole, E, for them."""
    found: list[Formula] = []
    for _ in range(rng.randint(0, 2)):
        hole: Formula = cel_cel.EventAtom("E")
        found.append(cel_cel.PerKey(hole, ("k",)) if rng.random() < 0.5 else cel.around(rng, hole))
    return found


def around(scope: list[Formula], phi: Formula) -> Formula:
    for one in scope:
        phi = rebuilt(one, [phi])
    return phi


@pytest.mark.parametrize("seed", sampled(range(20), range(3)))
def test_depths_are_those_of_the_definition(seed: int) -> None:
    """A start has depth d if the first d steps, in the same windows and keys, have a match that begins with it."""
    rng, compared = Random(f"misses {seed}"), 0
    for _ in range(150):
        parts = [step(rng, first=n == 0) for n in range(rng.randint(1, 4))]
        joins = [rng.choice([cel_cel.Seq, cel_cel.Seq, cel_cel.ContiguousSeq]) for _ in parts]
        scope = scope_of(rng)
        prefixes: list[Formula] = []
        phi: Formula | None = None
        for part, join in zip(parts, joins, strict=True):
            longer: Any = part if phi is None else join(phi, part)
            prefixes.append(longer)
            phi = longer
        assert phi is not None
        S = cel.clocked(rng, Stream(Event(rng.choice("ABCD"), {"x": rng.randint(0, 2)}) for _ in range(7)))
        query = around(scope, phi)
        try:
            funnel = near_misses(query, S)
        except InputError:
            continue  # the values of a window go back
        compared += 1
        begun = [{min(m.events) for m in matches_of(around(scope, prefix), S)} for prefix in prefixes]
        if all(isinstance(part, cel_cel.EventAtom | cel_cel.Filter | cel_cel.Or | cel_cel.Unless) for part in parts):
            assert list(funnel.reached) == [len(starts & begun[0]) for starts in begun], f"{show(query)} on {S.events}"
        assert funnel.completed == len(begun[-1]), f"{show(query)} on {S.events}"
        starts = {miss.start for miss in funnel.misses}
        assert not starts & begun[-1]
        for miss in funnel.misses:
            assert miss.events[0] == miss.start
            assert list(miss.events) == sorted(miss.events)
    assert compared > 80


CAUSES = [
    ("A ; (B UNLESS C) PER KEY [k]", "A C B", "xxx", "forbidden", 1),
    ("A ; (B UNLESS C) PARTITION BY [k]", "A C B", "xyx", "forbidden", 1),
    ("A : B PER KEY [k]", "A C C B", "xyxx", "not_next", 2),
    ("A ; B WITHIN 2 seconds PER KEY [k]", "A C C B", "xyyx", "late", 3),
    ("A ; B WITHIN 9 seconds PER KEY [k]", "A B C", "xyx", "open", None),
    ("A ; B WITHIN 1 seconds PER KEY [k]", "A B C", "xyx", "none", None),
    ("A ; B FILTER B[n > 5] WITHIN 9 seconds", "A B", "xx", "filter", 1),
]


LATE = [("A", "x", 0), ("A", "y", 1), ("A", "z", 2), ("B", "x", 30), ("B", "z", 35), ("B", "y", 40)]


def test_the_nearest_come_first_with_their_keys() -> None:
    """Of one depth those too late by least; without a window the stream's end is what is waited for."""
    S = Stream(Event(R, {"k": k, "time": t}) for R, k, t in LATE)
    misses = near_misses(parse("A ; B PER KEY [k] WITHIN 9 [time]"), S).misses
    assert [miss.key for miss in misses] == [{"k": "x"}, {"k": "z"}, {"k": "y"}]
    (miss,) = near_misses(parse("A ; C PARTITION BY [k]"), S.part(0, 1)).misses
    assert (miss.key, miss.message) == ({"k": "x"}, "no C up to the end of the stream")
    assert near_misses(parse("A ; C"), S).misses[0].key == {}


@pytest.mark.parametrize(("query", "types", "keys", "cause", "event"), CAUSES)
def test_the_cause_is_named(query: str, types: str, keys: str, cause: str, event: int | None) -> None:
    rows = zip(types.split(), keys, strict=True)
    S = Stream(Event(R, {"k": k, "time": n, "n": n}) for n, (R, k) in enumerate(rows))
    funnel = near_misses(parse(query), S)
    (miss,) = funnel.misses
    assert (miss.start, miss.events, miss.cause, miss.event) == (0, (0,), cause, event)
    assert funnel.reached == (1, 0)
    assert funnel.causes[1] == {cause: 1}


def test_the_funnel_in_words() -> None:
    kinds = [("A", 0, "x"), ("B", 30, "x"), ("A", 100, "y"), ("B", 763, "y"), ("A", 800, "z")]
    S = Stream(Event(R, {"time": t, "k": k}) for R, t, k in kinds)
    funnel = near_misses(parse("A ; B PER KEY [k] WITHIN 10 minutes"), S)
    assert list(funnel.show_sentences()) == [
        "3 events take the first step, A",
        "1 of these goes on to B; 1 too late, 1 open at the end of the stream",
        "  nearest: events 2 and 3, 11 minutes 3 seconds apart",
    ]


NEVER = [
    ("cart", "x", None),
    ("cart", "x", 12),
    ("cart", "y", 40),
    ("cart", None, 99),
    ("pay", None, 99),
    ("pay", "x", 99),
]


@pytest.mark.parametrize(
    ("query", "language", "first", "second"),
    [
        ("cart ; pay PER KEY [u]", "cel", (3, 4, {"without u": 1}), {"without u": 1}),
        ("cart ; pay PARTITION BY [u]", "cel", (3, 4, {"without u": 1}), {"without u": 1}),
        ("cart ; pay FILTER cart[p > 50]", "cel", (1, 4, {"where p > 50 does not hold": 2, "without p": 1}), {}),
        (
            "cart ; pay FILTER cart[p > 50] PER KEY [u]",
            "cel",
            (0, 4, {"without u": 1, "without p": 1, "where p > 50 does not hold": 2}),
            {"without u": 1},
        ),
        ("cart ; pay WITHIN 50 [p]", "cel", (3, 4, {"without p": 1}), {}),
        ("cart ; pay WITHIN 50 [u]", "cel", (0, 4, {"without u": 1, "without a measurable u": 3}), None),
        ("(cart[p > 50] OR cart[p < 20]) ; pay", "cel", (2, 4, {"that satisfy no side of OR": 2}), {}),
        ("sequence by u [cart where true] [pay where true]", "eql", (3, 4, {"without a key": 1}), {"without a key": 1}),
    ],
)
def test_events_that_are_left_out_have_a_reason(
    query: str, language: str, first: tuple[int, int, dict[str, int]], second: dict[str, int] | None
) -> None:
    """An event without a key, without a window's value, or that fails the filter does not take a step."""
    S = Stream(
        Event(R, {name: value for name, value in (("u", u), ("p", p)) if value is not None}) for R, u, p in NEVER
    )
    steps = cerify.near_misses(query, S, language=language).json()["steps"]
    assert (steps[0]["reached"], steps[0]["candidates"], steps[0]["left_out"]) == first
    assert second is None or steps[1]["left_out"] == second


def test_misses_and_explain_say_what_is_left_out(tmp_path: Path, run: Run) -> None:
    log = tmp_path / "anonymous.csv"
    log.write_text("type,u,price\ncart,,99\ncart,a,12\npay,,99\n", encoding="utf-8")
    query = "cart[price > 50] ; pay PER KEY [u]"
    said = [
        "0 events take the first step, cart",
        "2 of 2 such events left out: 1 without u, 1 where price > 50 does not hold",
        "0 of these go on to pay",
        "1 of 1 such event left out: 1 without u",
    ]
    assert [line.strip() for line in run("misses", query, str(log))[1].splitlines()] == said
    assert [line.strip() for line in run("explain", query, str(log))[1].splitlines()][2:6] == said
    assert run("match", query, str(log))[1] == "no match in 3 events; cerify explain QUERY FILE says why\n"


def test_a_step_that_may_come_again_comes_next_to_the_one_after() -> None:
    S = Stream(map(Event, "ABDBC"))
    assert near_misses(parse("(A : B+) : C"), S).completed == 1
    assert near_misses(parse("(A : B) : C"), S).completed == 0


def test_what_is_left_out_is_counted() -> None:
    S = Stream(Event("A") for _ in range(30))
    funnel = near_misses(parse("A ; B"), S, limit=10)
    assert (len(funnel.misses), funnel.left_out, funnel.unread) == (10, 20, 0)


def test_the_work_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cerify.explanations.near_misses.STEPS", 500)
    S = Stream(Event("A") for _ in range(100))
    funnel = near_misses(parse("A ; B"), S)
    assert funnel.starts + funnel.unread == 100
    assert funnel.unread > 50


@pytest.mark.parametrize(
    "query", ["NXT(A ; B)", "(A ; B) UNLESS C", "A AND B", "A UNLESS C ; B", "A ; B FILTER A.x < B.x", "(A ; B) OR C"]
)
def test_what_is_no_sequence_is_refused(query: str) -> None:
    with pytest.raises(Unsupported):
        near_misses(parse(query), Stream([Event("A")]))


def test_durations() -> None:
    assert [duration(s) for s in (0, 1, 61.5, 3600, 90_061)] == [
        "0 seconds", "1 second", "1 minute 1.5 seconds", "1 hour", "1 day 1 hour 1 minute 1 second",
    ]  # fmt: skip


# ---- across keys ----
# The warning that an operator under PARTITION BY sees other keys, and the event that shows it.

JOBS = Stream(
    Event(R, {"job": job})
    for R, job in (("start", "j1"), ("start", "j2"), ("fail", "j2"), ("end", "j1"), ("end", "j2"))
)


@pytest.mark.parametrize(
    ("query", "operators"),
    [
        ("(A ; (B UNLESS C)) PARTITION BY [k]", ["UNLESS"]),
        ("A : B PARTITION BY [k]", [":"]),
        ("A:+ PARTITION BY [k]", [":+"]),
        ("A:{2} PARTITION BY [k]", [":{n,m}"]),
        ("STRICT(A ; B) PARTITION BY [k]", ["STRICT"]),
        ("NXT(LAST(MAX(A))) PARTITION BY [k]", ["NXT", "LAST", "MAX"]),
        ("A : B PARTITION BY [k] PARTITION BY [j]", [":", ":"]),
        ("A ; B PARTITION BY [k]", []),
        ("NXT(A ; B PARTITION BY [k])", []),  # it chooses among matches that end with one event, of one key
        ("A : B PER KEY [k]", []),
        ("A : B PER KEY [k] PARTITION BY [k]", []),
        ("A : B PARTITION BY [k] PER KEY [k]", []),
        ("A : B PARTITION BY [k] PER KEY [j]", [":"]),
        ("A : B", []),
    ],
)
def test_who_is_warned_of(query: str, operators: list[str]) -> None:
    found = [one.problem.message.split()[0] for one in across_keys(parse(query))]
    assert sorted(found) == sorted(operators)
    assert [p.rule for p in cerify.check(query).problems if p.rule == "across_keys"] == ["across_keys"] * len(operators)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("(start ; (end UNLESS fail)) PARTITION BY [job]", "event 2 (fail, job 'j2') keeps events 0 and 3 (job 'j1')"),
        ("start : end PARTITION BY [job]", "event 2 (fail, job 'j2') keeps events 0 and 3"),
        ("LAST(start ; end) PARTITION BY [job]", "event 1 (start, job 'j2') keeps events 0 and 3"),
    ],
)
def test_the_event_that_shows_it_is_named(query: str, said: str) -> None:
    with pytest.warns(QueryWarning, match=r"PARTITION BY \[job\] looks at the events of all keys") as caught:
        cerify.match(query, JOBS)
    (message,) = [str(w.message) for w in caught]
    assert said in message
    assert "write PER KEY [job]" in message
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cerify.match(query.replace("PARTITION BY", "PER KEY"), JOBS)


def test_where_nothing_shows_it_the_warning_is_general() -> None:
    alone = Stream(event for event in JOBS if event.get("job") == "j1")
    (problem,) = warnings_across_keys(across_keys(parse("start : end PARTITION BY [job]")), alone)
    assert "Here" not in problem.message
    (problem,) = warnings_across_keys(across_keys(parse("start : end PARTITION BY [job]")))
    assert "Here" not in problem.message


def test_it_is_no_error_and_takes_little_time_on_a_long_stream() -> None:
    S = Stream(Event("AB"[n % 2], {"k": n % 7}) for n in range(20_000))
    with pytest.warns(QueryWarning):
        assert cerify.count("A : B PARTITION BY [k]", S, strict=True) == 0
    phi = parse("(A+ ; B+) UNLESS C PARTITION BY [k]")  # more matches than are listed
    (problem,) = warnings_across_keys(across_keys(phi), S)
    assert "Here" not in problem.message


SHOP = """type,user,time,amount
view,1,0,
checkout,1,5,20
cancel,1,7,
payment,1,9,20
view,2,30,
"""


def test_the_columns_of_near_misses(tmp_path: Path, run: Run) -> None:
    """With the attributes of their events, on the terminal and in a file; and of an event that prevents a match."""
    log, out = tmp_path / "shop.csv", tmp_path / "out.jsonl"
    log.write_text(SHOP, encoding="utf-8")
    query = "view ; checkout ; (payment UNLESS cancel) PER KEY [user]"
    lines = run("misses", query, str(log), "--show", "time,amount")[1].splitlines()
    assert next(line for line in lines if "start" in line).split() == (
        ["start", "user", "steps", "events", "view.time", "checkout.time", "checkout.amount", "what", "is", "missing"]
    )
    assert "1      2 of 3   0, 1     0           5               20 " in next(
        line for line in lines if "cancel" in line
    )
    status, said, written = run("misses", query, str(log), "-o", str(out))
    assert (status, written.strip()) == (1, f"2 near misses written to {out}")
    assert "what is missing" not in said
    first, last = map(json.loads, out.read_text(encoding="utf-8").splitlines())
    assert [first[name] for name in ("start", "user", "steps", "events", "cause", "event")] == [
        0,
        1,
        2,
        [0, 1],
        "forbidden",
        2,
    ]
    assert (last["start"], last.get("checkout.time"), last["view.time"]) == (4, None, 30)
    assert "no event has the attribute 'price'" in run("misses", query, str(log), "--show", "price")[2]
    assert "out.txt must end in one of" in run("misses", query, str(log), "-o", "out.txt")[2]
    assert (
        "{2} is a match of it: event 2 (user = 1, time = 7)" in run("explain", query, str(log), "--match", "0,1,3")[1]
    )


@pytest.mark.parametrize("word", ["any", "_", "ANY", "event"])
def test_a_word_for_any_event(tmp_path: Path, run: Run, word: str) -> None:
    log = tmp_path / "shop.csv"
    log.write_text(SHOP, encoding="utf-8")
    said = run("match", f"view ; {word}", str(log))[2]
    alternatives = "(view OR checkout OR cancel OR payment)"
    assert f"for an event of any type write {alternatives}\n" in said
    assert run("count", f"view ; {alternatives}", str(log))[1] == "4\n"
