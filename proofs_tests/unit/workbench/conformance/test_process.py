"""Processes of engines, and what they write: nothing is left running, and long answers are read in linear time."""

from __future__ import annotations

import json
import sys
from typing import Any

import psutil
import pytest

from cerify import protocol
from cerify.conformance import harness
from cerify.conformance.harness import EngineProcess, Excerpt, Limits
from cerify.semantics.errors import InputError

DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        os.close(1)
        time.sleep(600)
    os._exit(0)
os.wait()
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux hands orphans to a process other than the first")
def test_a_daemon_that_forked_twice_is_ended_with_its_engine() -> None:
    """Its parent is gone and its session is its own: neither the group nor the tree of processes leads to it."""
    with EngineProcess([sys.executable, "-c", DAEMON], Limits()) as engine:
        line = engine.early(60)
        assert line is not None
        daemon = psutil.Process(int(line))
        assert daemon.is_running()
    assert not daemon.is_running() or daemon.status() == psutil.STATUS_ZOMBIE
    assert engine._process.returncode is not None  # waited for, so that no zombie is left of the engine


def test_of_a_long_standard_error_the_first_and_the_last_lines_are_shown() -> None:
    """Node prints the message at the top and Python at the bottom; lines are not cut."""
    excerpt = Excerpt()
    lines = ["Error: boom in A", *(f"    at frame {number:05} of the stack" for number in range(5_000)), "Node.js v20"]
    for line in lines:
        excerpt.add(f"{line}\n")
    shown = excerpt.text().splitlines()
    assert (shown[0], shown[-1]) == ("Error: boom in A", "Node.js v20")
    assert set(shown) <= {*lines, "..."}
    assert len(excerpt.text()) <= 2 * harness.SHOWN_STDERR + 5
    excerpt.clear()
    excerpt.add("out of ")
    excerpt.add("luck\n")
    assert excerpt.text() == "out of luck"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux hands orphans to a process other than the first")
def test_what_cannot_be_ended_is_a_warning_after_some_time(monkeypatch: pytest.MonkeyPatch) -> None:
    running = iter([True] * 300)
    monkeypatch.setattr(harness, "_runs", lambda child: next(running))
    monkeypatch.setattr(harness, "KILLED", 0.1)
    engine = EngineProcess([sys.executable, "-c", DAEMON], Limits())
    assert engine.early(60) is not None
    with pytest.warns(UserWarning, match="has left processes that cannot be ended"):
        engine.close()


def answer(**match: object) -> str:
    return json.dumps({"id": "1", "matches": [{"at": 0, "events": [0]} | match]})


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"bindings": {"X": ["0"]}}, 'is not of type "integer"'),
        ({"bindings": {"X": [0, -1]}}, "is less than the minimum of 0"),
        ({"events": [0, 2.0]}, "a position is a whole number"),
    ],
)
def test_all_of_a_long_match_is_checked(wrong: dict[str, Any], problem: str) -> None:
    bindings = {f"X{i}": [0] for i in range(5_000)} | wrong.get("bindings", {})
    events = [0] * 5_000 + wrong.get("events", [])
    with pytest.raises(InputError, match=problem):
        protocol.answer_of_json(protocol.read(answer(bindings=bindings, events=events), "answer"), "valuations", 3)


@pytest.mark.parametrize(
    ("parts", "kept"),
    [
        ({"skipped": "long"}, ["why"]),
        ({"skipped": "", "link": "long"}, ["link"]),
        ({"error": {"code": "internal", "message": "long"}}, ["message"]),
    ],
)
def test_a_long_text_of_an_engine_is_cut_where_it_is_read(parts: dict[str, Any], kept: list[str]) -> None:
    """Texts of 60 MB for each case were kept for the report, until there was no memory left."""
    text = json.dumps({"id": "1", **parts}).replace("long", "é" * 12_345)
    given = protocol.answer_of_json(protocol.read(text, "answer"), "matches", 3)
    assert [getattr(given, name) for name in kept] == ["é" * 10_000 + "… (2,345 more characters)"]
    assert len(str(given)) < 11_000


def test_the_name_of_an_engine_is_cut_where_it_is_read() -> None:
    started = {"protocol": 1, "engine": {"name": "n" * 10_001, "version": "v" * 10_000}, "languages": []}
    info = protocol.info_of_json(protocol.read(json.dumps(started), "started"))
    assert (info.name, info.version) == ("n" * 10_000 + "… (1 more characters)", "v" * 10_000)


def test_the_message_about_a_wrong_match_with_many_positions_is_short() -> None:
    obj = protocol.read(answer(events=list(range(10_000))), "answer")
    given = protocol.answer_of_json(obj, "matches", 3)
    assert isinstance(given, protocol.MatchesAnswer)
    assert 0 < len(given.problem) < 11_000


def test_a_message_about_many_positions_is_short() -> None:
    obj = protocol.read(answer(events=[0] * 100_000), "answer")
    given = protocol.answer_of_json(obj, "matches", 3)
    assert isinstance(given, protocol.MatchesAnswer)
    assert len(str(given)) < 1_000
