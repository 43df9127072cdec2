"""The commands equiv and verify: what they print of each verdict, and what they refuse."""

from __future__ import annotations

import json

import pytest


@pytest.mark.parametrize(
    ("option", "verdict", "said"),
    [([], "different", ""), (["--contained"], "contained", "bounded: the right has all that the left has on streams")],
)
def test_what_was_asked_is_answered_of_streams_up_to_a_length(option, verdict, said, run) -> None:  # type: ignore[no-untyped-def]
    asked = ["equiv", "A+ PARTITION BY [x]", "A+", "--bound", "2", *option]
    assert json.loads(run(*asked, "--json")[1])["verdict"] == verdict
    assert run(*asked)[1].startswith(said)


def test_with_a_bound_of_0_nothing_is_looked_at_and_the_answer_says_so(run) -> None:  # type: ignore[no-untyped-def]
    code, said, _ = run("equiv", "A+ PARTITION BY [x]", "A+", "--bound", "0")
    assert (code, "with a bound of 0 no stream is looked at" in said) == (3, True)
