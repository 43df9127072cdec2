"""The command normalize: what it prints for each form, and how it refuses."""

from __future__ import annotations

import json

import pytest

from proofs_tests.conftest import Run


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (["(A OR B) ; C", "--to", "disjunctive"], "A ; C OR B ; C\nsize 5 -> 7\n"),
        (["(A ; B) IN X", "--to", "push-in"], "A IN X ; B IN X\nsize 4 -> 5\n"),
        (["(A ; B) FILTER B.x = 1", "--to", "push-filters"], "A ; (B FILTER B.x = 1)\nsize 4 -> 4\n"),
        (
            ["(A AS x OR B AS y) ; C AS z", "--to", "disjunctive", "--language", "core-cel"],
            "A AS x ; C AS z OR B AS y ; C AS z\nsize 5 -> 7\n",
        ),
        (
            ["(A AS x OR B AS y) ; A AS x", "--to", "safe", "--language", "core-cel"],
            "B AS y ; A AS x\nsize 5 -> 3\n",
        ),
        (
            ["(A AS x ; B AS y) FILTER x.a = 1", "--to", "lp-normal", "--language", "core-cel"],
            "(A AS x FILTER x.a = 1) ; B AS y\nsize 4 -> 4\n",
        ),
    ],
)
def test_each_form(arguments: list[str], printed: str, run: Run) -> None:
    assert run("normalize", *arguments) == (0, printed, "")


def test_json(run: Run) -> None:
    status, out, _ = run("normalize", "(A OR B) ; C", "--to", "disjunctive", "--json")
    assert status == 0
    assert json.loads(out) == {
        "language": "cel",
        "query": "(A OR B) ; C",
        "to": "disjunctive",
        "result": "A ; C OR B ; C",
        "size": {"before": 5, "after": 7},
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["A", "--to", "safe"], "--to safe is not for --language cel, which has disjunctive, push-in, push-filters"),
        (["A AS x", "--to", "push-in", "--language", "core-cel"], "--to push-in is not for --language core-cel"),
        (["A ;; B", "--to", "push-in"], "cerify: ';' is not expected here"),
        (
            ["A ; (B OR C)", "--to", "disjunctive", "--nodes", "6"],
            "cerify: the normal form would have 7 nodes already at this ;, and 6 are allowed; "
            "rewrite a part of the formula, or allow more\nA ; (B OR C)\n^^^^^^^^^^^",
        ),
        (
            ["NXT(A AS x) FILTER x.a = 1", "--to", "lp-normal", "--language", "core-cel"],
            "cerify: NXT chooses before the filter on x does",
        ),
    ],
)
def test_what_cannot_be_done_is_said(arguments: list[str], message: str, run: Run) -> None:
    status, out, err = run("normalize", *arguments)
    assert (status, out) == (2, "")
    assert message in err
