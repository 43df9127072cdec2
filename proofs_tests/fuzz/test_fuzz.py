"""No input of any target ends in an error that is not typed: a few hundred changes each, and all that once did."""

from __future__ import annotations

from contextlib import suppress

import pytest

from proofs_tests.fuzz.run import fuzz, minimised, outcome_of
from proofs_tests.fuzz.targets import TARGETS, Target

pytestmark = pytest.mark.filterwarnings("ignore::cerify.semantics.errors.InputWarning")  # of changed files


@pytest.mark.parametrize("name", TARGETS)
def test_the_good_inputs_are_read(name: str) -> None:
    for data in TARGETS[name].seeds():
        assert outcome_of(TARGETS[name], data) == ("read", False)


@pytest.mark.parametrize("name", TARGETS)
def test_changed_inputs_are_read_or_refused(name: str) -> None:
    found = fuzz(name, inputs=70)
    assert found.crashes == {}
    assert len(found.outcomes) > 1


@pytest.mark.thorough
@pytest.mark.parametrize("name", TARGETS)
def test_changed_inputs_for_longer(name: str) -> None:
    assert fuzz(name, seed=1, seconds=300 / len(TARGETS)).crashes == {}


def test_an_error_that_is_not_typed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(data: bytes) -> None:
        if b"\xff" in data:
            raise KeyError(data)

    monkeypatch.setitem(TARGETS, "planted", Target(lambda: [b"abc"], run))
    crashes = fuzz("planted", inputs=3_000).crashes
    assert any(outcome.startswith("KeyError") for outcome in crashes)
    assert minimised(next(iter(crashes.values())), lambda part: outcome_of(TARGETS["planted"], part)[1]) == b"\xff"


def test_an_input_without_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also by a target that takes every error for an answer."""

    def run(data: bytes) -> None:
        while data == b"endless":
            with suppress(Exception):
                data[len(data)]

    monkeypatch.setitem(TARGETS, "planted", Target(lambda: [b"abc", b"endless"], run))
    monkeypatch.setattr("proofs_tests.fuzz.run.SLOW", 0.1)
    assert fuzz("planted", inputs=2).crashes == {"slow": b"endless"}


def test_an_input_that_makes_new_calls_is_changed_further(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two bytes, which chance does not find together, and of which the first one alone has the same outcome as none."""

    def second(data: bytes) -> None:
        if data[:1] == b"\x92":
            raise KeyError

    def first(data: bytes) -> None:
        if data[:1] == b"\x81":
            second(data[1:])

    monkeypatch.setitem(TARGETS, "planted", Target(lambda: [b"..."], first))
    assert fuzz("planted", inputs=20_000).crashes
