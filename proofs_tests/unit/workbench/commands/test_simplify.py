"""The commands simplify, and normalize --to star: what they print, what they prove, and how they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cerify.equivalence.decide.cel import equivalent
from cerify.equivalence.decide.checker import flaw
from cerify.equivalence.verdict import Certificate, Equivalent
from cerify.semantics.cel.check import beyond_star
from cerify.semantics.cel.parse import parse


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (["(A ; C) OR (B ; C)"], "(A OR B) ; C\nsize 7 -> 5; proved for all streams\n"),
        (["A IN X"], "A\nsize 2 -> 1; proved for all streams\n"),
        (["A IN X", "--level", "valuations"], "A IN X\nsize 2 -> 2; nothing smaller was found\n"),
        (
            ["(A+ FILTER A.x < A.x) OR (A+ FILTER A.x < A.x)", "--steps"],
            "A+ FILTER A.x < A.x\n"
            "  OR is idempotent: (A+ FILTER A.x < A.x) OR (A+ FILTER A.x < A.x)  ->  A+ FILTER A.x < A.x\n"
            "size 7 -> 3; 1 step, 1 of them by a law only\n",
        ),
        (
            ["A OR A OR B", "--tries", "0"],
            "A OR A OR B\nsize 5 -> 5; nothing smaller was found; stopped early, there may be a smaller one\n",
        ),
        (
            ["A FILTER A.x > 1 OR A.s = 'b'", "--schema", '{"A": {"x": "int", "s": "string"}}'],
            "A FILTER A.x > 1 OR A.s = 'b'\nsize 3 -> 3; nothing smaller was found\n",
        ),
    ],
)
def test_what_simplify_prints(arguments: list[str], printed: str, run) -> None:  # type: ignore[no-untyped-def]
    assert run("simplify", *arguments) == (0, printed, "")


def test_simplify_as_json(run) -> None:  # type: ignore[no-untyped-def]
    status, out, _ = run("simplify", "NXT(MAX(A+))", "--json")
    answer = json.loads(out)
    assert status == 0
    assert answer["size"] == {"before": 4, "after": 3}
    assert (answer["proved"], answer["finished"], answer["level"]) == (True, True, "events")
    assert answer["steps"][0] == {
        "by": "NXT of MAX", "before": "NXT(MAX(A+))", "after": "NXT(A+)", "proved": True
    }  # fmt: skip
    assert isinstance(equivalent(parse(answer["query"]), parse(answer["result"])), Equivalent)


def test_the_certificate_is_of_the_result(tmp_path: Path, run) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "proof.json"
    assert run("simplify", "(A ; B) OR (A ; B)", "--certificate", str(path))[0] == 0
    certificate = Certificate.from_json(path.read_text(encoding="utf-8"))
    assert flaw(certificate) is None
    assert (certificate.left, certificate.right) == ("A ; B OR A ; B", "A ; B")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["A ;"], "expected"),
        (["A FILTER A.y = 1", "--schema", '{"A": {"x": "int"}}'], "y"),
        (["NXT(A WITHIN 2 [x])", "--certificate", "x"], "there is no certificate: the query compares events"),
        (["A", "--certificate", "/no/such/place"], "the folder /no/such does not exist"),
    ],
)
def test_what_simplify_refuses(arguments: list[str], message: str, run) -> None:  # type: ignore[no-untyped-def]
    status, out, err = run("simplify", *arguments)
    assert (status, out) == (2, "")
    assert message in err


# --- star -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "printed"),
    [
        ("(A OR B)+ AND (A+ ; B)", "A+ ; B\nsize 9 -> 4\n"),
        ("STRICT(A)", "A\nsize 2 -> 1\n"),
        ("A UNLESS A", "A FILTER A[time < time]\nsize 3 -> 2\n"),
    ],
)
def test_a_query_with_a_star_form_is_written_in_it(query: str, printed: str, run) -> None:  # type: ignore[no-untyped-def]
    assert run("normalize", query, "--to", "star") == (0, printed, "")


def test_a_longer_star_form_is_in_the_fragment_and_the_same(run) -> None:  # type: ignore[no-untyped-def]
    query = "(A+ ALL B) ; (C AND C)"
    status, out, _ = run("normalize", query, "--to", "star", "--json")
    psi = parse(json.loads(out)["result"])
    assert status == 0
    assert not beyond_star(psi)
    assert isinstance(equivalent(parse(query), psi), Equivalent)


def test_without_a_star_form_two_streams_show_it(run) -> None:  # type: ignore[no-untyped-def]
    assert run("normalize", "NXT(A ; B)", "--to", "star") == (
        1,
        "not in CEL*: whether events are a match depends on others\n  0  A\n  1  B\nafter event 1 {0, 1}: a match\n"
        "  0  A\n  1  A\n  2  B\nafter event 2 {1, 2}: the same events, and no match\n",
        "",
    )
    status, out, _ = run("normalize", "PROJECT[A](A ; B)", "--to", "star")
    assert status == 1
    assert out.endswith("after event 1 {0}: a match\nit is reported after an event that it does not have\n")
    answer = json.loads(run("normalize", "A : B", "--to", "star", "--json")[1])
    assert answer["result"] is None
    assert answer["matched"]["match"] == [0, 1]
    assert len(answer["unmatched"]["events"]) == 3


def test_what_cannot_be_decided_is_said(run) -> None:  # type: ignore[no-untyped-def]
    status, out, _ = run("normalize", "A WITHIN 2 [x]", "--to", "star")
    assert status == 3
    assert out.startswith("undecided: ")
    status, out, _ = run("normalize", "A WITHIN 2 [x]", "--to", "star", "--json")
    assert status == 3
    assert json.loads(out)["undecided"]
