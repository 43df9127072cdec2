"""The commands equiv, verify, simplify and normalize: what they print, what they prove, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cerify import equivalent
from cerify.equivalence.decide.cel import equivalent as equivalent_cel
from cerify.equivalence.decide.checker import flaw
from cerify.equivalence.verdict import Certificate, Equivalent
from cerify.semantics.cel.check import beyond_star
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import IllFormed
from proofs_tests.conftest import Run

# ---- equiv ----
# The commands equiv and verify: what they print of each verdict, and what they refuse.

PARTITIONED = ("equiv", "A+ PARTITION BY [x]", "A+", "--bound", "2")


def test_a_difference_on_a_short_stream_is_decided(run) -> None:  # type: ignore[no-untyped-def]
    code, printed, _ = run(*PARTITIONED, "--json")
    answer = json.loads(printed)
    assert (code, answer["verdict"], answer["evidence"], answer["bound"]) == (1, "different", "decided", None)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--contained"], "the right query has all matches of the left on streams of up to 2 events"),
        ([], "no difference on streams of up to 2 events"),
    ],
)
def test_a_search_up_to_a_length_proves_nothing(options, reason, run) -> None:  # type: ignore[no-untyped-def]
    query = ["equiv", "A+ FILTER A.x <= A.x", "A+ PARTITION BY [x]", "--bound", "2", *options]
    code, printed, _ = run(*query, "--json")
    answer = json.loads(printed)
    assert (code, answer["verdict"], answer["evidence"], answer["bound"]) == (3, "undecided", "bounded", 2)
    assert answer["reason"] == f"{reason}; longer ones were not compared"
    assert answer["attributes"] == {"x": "int"}
    code, printed, _ = run(*query)
    assert code == 3
    assert printed.startswith(f"undecided: {reason}; longer ones were not compared")
    assert "not decided: a filter compares events by something other than equal attributes" in printed


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        ("cel", "event-expression", "event expressions cannot be compared with one in CEL\n"),
        ("event-expression", "sase", "event expressions cannot be compared with one in SASE+"),
    ],
)
def test_languages_that_are_not_compared_are_an_error_of_use(left, right, message, run) -> None:  # type: ignore[no-untyped-def]
    code, printed, said = run("equiv", "A", "A", "--language", left, "--language-right", right)
    assert (code, printed) == (2, "")
    assert said.startswith(f"cerify: a query in {message}")


ANY_MATCH = "PATTERN SEQ(A a, B b) WHERE skip_till_any_match(a, b) { [id] } WITHIN {} seconds"


def test_queries_of_different_languages_are_compared_by_formulas_of_cel_which_are_named(run) -> None:  # type: ignore[no-untyped-def]
    within = ANY_MATCH.replace("{}", "10")
    code, said, _ = run("equiv", within, "(A ; B) PARTITION BY [id] WITHIN 10 seconds", "--language", "sase",
                        "--language-right", "cel", "--contained")  # fmt: skip
    assert (code, "whose times never decrease" in said) == (0, True)
    assert "compared as CEL, with the same matches if every event has a time and no time decreases:" in said
    assert "  A IN a ; B IN b PARTITION BY [id] WITHIN 9.999999999999998 seconds\n" in said
    clause = "MATCH_RECOGNIZE (AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) DEFINE A AS x > 1, B AS x < 2)"
    code, printed, _ = run("equiv", clause, "row : row", "--language", "row-pattern", "--language-right", "cel",
                           "--contained", "--json")  # fmt: skip
    answer = json.loads(printed)
    assert (code, answer["verdict"], answer["compared_as"]["right"]) == (0, "contained", "row : row")


def test_an_open_window_of_sase_is_told_from_a_closed_one_of_cel(run) -> None:  # type: ignore[no-untyped-def]
    """With whole numbers 'less than 10 seconds' is 'at most 9'."""
    sides = [ANY_MATCH.replace("{}", "10"), "(A ; B) PARTITION BY [id] WITHIN 9 seconds"]
    languages = ["--language", "sase", "--language-right", "cel"]
    whole = '{"A": {"id": "int", "time": "int"}, "B": {"id": "int"}}'
    assert run("equiv", *sides, *languages, "--schema", whole)[0] == 0
    assert run("equiv", *sides, *languages)[0] == 1


def test_a_window_of_sase_needs_an_order_of_times(run) -> None:  # type: ignore[no-untyped-def]
    query = ANY_MATCH.replace("{}", "10")
    code, said, _ = run("equiv", query, query, "--language", "sase", "--order", "any")
    assert (code, "only if times do not decrease" in said) == (3, True)


def test_without_a_proof_no_certificate_is_written(run, tmp_path) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "proof.json"
    code, _, said = run("equiv", "A ; B", "A : B", "--certificate", str(file))
    assert (code, file.exists()) == (1, False)
    assert "proof.json was not written: only a proved claim has a certificate" in said


def test_with_a_bound_of_0_nothing_is_looked_at_and_the_answer_says_so(run) -> None:  # type: ignore[no-untyped-def]
    code, said, _ = run("equiv", "A+ FILTER A.x <= A.x", "A+", "--bound", "0")
    assert (code, "with a bound of 0 no stream is searched" in said) == (3, True)


def test_nan_is_a_text_in_json(run) -> None:  # type: ignore[no-untyped-def]
    clauses = (f"MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS {condition})" for condition in ("x < 1", "NOT x >= 1"))
    code, printed, _ = run("equiv", *clauses, "--language", "row-pattern", "--json")
    assert (code, json.loads(printed)["witness"]["events"]) == (1, [{"type": "row", "x": "NaN"}])


def test_a_certificate_holds_no_query_that_does_not_fit_its_schema(run, tmp_path) -> None:  # type: ignore[no-untyped-def]
    """A comparison that the schema forbids is never true, and so any pair of such queries was proved equivalent."""
    claim = {"format": "cerify-certificate", "version": 1, "claim": "equivalent", "level": "events", "solver": False}
    rows = "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS {} > 1)"
    pairs = {
        "cel": ("A FILTER A.x > 1", "A FILTER A.x > 'a'", [[[0], [2]]]),
        "event-expression": ("A[x > 1]", "A[x > 'a']", [[[0], [0]]]),
        "row-pattern": (rows.format("x"), rows.format("z"), []),
    }
    file = tmp_path / "proof.json"
    for language, (left, right, relation) in pairs.items():
        of_language = {"language": language, "relation": relation, "schema": {"A": {"x": "int"}}}
        of_language |= {"facts": []} if language == "row-pattern" else {}
        for field, queries in (("left", (right, left)), ("right", (left, right))):
            file.write_text(json.dumps({**claim, **of_language, "left": queries[0], "right": queries[1]}))
            code, printed, said = run("verify", str(file))
            assert (code, printed) == (2, "")
            assert said.startswith(f"cerify: {file}: field {field}, character ")


def test_an_error_in_a_query_of_a_certificate_names_file_and_field(run, tmp_path) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "proof.json"
    run("equiv", "A ; B", "(A ; B)", "--certificate", str(file))
    file.write_text(json.dumps(json.loads(file.read_text()) | {"right": "A ;; B"}))
    code, _, said = run("verify", str(file))
    assert (code, said) == (2, f"cerify: {file}: field right, character 3: ';' is not expected here; leave it out\n")


def test_languages_are_a_pair() -> None:
    for languages in (("cel",), ("cel", "cel", "cel"), "cel"):
        with pytest.raises(IllFormed, match="give a pair of names of languages"):
            equivalent("A", "A", languages=languages)  # type: ignore[arg-type]


# ---- simplify ----
# The commands simplify, and normalize --to star: what they print, what they prove, and how they refuse.


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
    assert isinstance(equivalent_cel(parse(answer["query"]), parse(answer["result"])), Equivalent)


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
    assert isinstance(equivalent_cel(parse(query), psi), Equivalent)


def test_without_a_star_form_two_streams_show_it(run) -> None:  # type: ignore[no-untyped-def]
    assert run("normalize", "NXT(A ; B)", "--to", "star") == (
        1,
        "not in CEL*: whether events are a match depends on other events\n"
        "  0  A\n  1  B\nafter event 1 {0, 1}: a match\n"
        "  0  A\n  1  A\n  2  B\nafter event 2 {1, 2}: the same events, and no match\n",
        "",
    )
    status, out, _ = run("normalize", "PROJECT[A](A ; B)", "--to", "star")
    assert status == 1
    assert out.endswith("after event 1 {0}: a match\nthe match is reported after an event that it does not have\n")
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


# ---- normalize ----
# The command normalize: what it prints for each form, and how it refuses.


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
        (["A", "--to", "safe"], "cel has no normal form safe; it has disjunctive, push-in, push-filters"),
        (["A AS x", "--to", "push-in", "--language", "core-cel"], "core-cel has no normal form push-in; it has"),
        (["A ;; B", "--to", "push-in"], "cerify: ';' is not expected here"),
        (
            ["A ; (B OR C)", "--to", "disjunctive", "--nodes", "6"],
            "cerify: the normal form of this ; alone would have 7 nodes, but 6 are allowed; "
            "rewrite a part of the formula, or allow more\nA ; (B OR C)\n^^^^^^^^^^^",
        ),
        (
            ["NXT(A AS x) FILTER x.a = 1", "--to", "lp-normal", "--language", "core-cel"],
            "cerify: NXT chooses before the filter on x applies",
        ),
    ],
)
def test_what_cannot_be_done_is_said(arguments: list[str], message: str, run: Run) -> None:
    status, out, err = run("normalize", *arguments)
    assert (status, out) == (2, "")
    assert message in err
