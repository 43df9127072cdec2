"""The warning that an operator under PARTITION BY sees other keys, and the event that shows it."""

from __future__ import annotations

import warnings

import pytest

import cerify
from cerify.explanations.across_keys import warnings_across_keys
from cerify.semantics.cel.across_keys import across_keys
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import QueryWarning
from cerify.semantics.events import Event, Stream

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
    (problem,) = warnings_across_keys(parse("start : end PARTITION BY [job]"), alone)
    assert "Here" not in problem.message
    (problem,) = warnings_across_keys(parse("start : end PARTITION BY [job]"))
    assert "Here" not in problem.message


def test_it_is_no_error_and_takes_little_time_on_a_long_stream() -> None:
    S = Stream(Event("AB"[n % 2], {"k": n % 7}) for n in range(20_000))
    with pytest.warns(QueryWarning):
        assert cerify.count("A : B PARTITION BY [k]", S, strict=True) == 0
    (problem,) = warnings_across_keys(parse("(A+ ; B+) UNLESS C PARTITION BY [k]"), S)  # more matches than are listed
    assert "Here" not in problem.message
