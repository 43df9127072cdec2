"""The commands equiv and verify: what they print of each verdict, and what they refuse."""

from __future__ import annotations

import json

import pytest

from cerify import equivalent
from cerify.semantics.errors import IllFormed

PARTITIONED = ("equiv", "A+ PARTITION BY [x]", "A+", "--bound", "2")


def test_a_difference_on_a_short_stream_is_decided(run) -> None:  # type: ignore[no-untyped-def]
    code, printed, _ = run(*PARTITIONED, "--json")
    answer = json.loads(printed)
    assert (code, answer["verdict"], answer["evidence"], answer["bound"]) == (1, "different", "decided", None)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--contained"], "the right has all that the left has on streams of up to 2 events"),
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
    assert "not decided: a filter compares events in another way than by equal keys" in printed


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        ("cel", "event-expression", "event expressions is not compared with one in CEL\n"),
        ("event-expression", "sase", "event expressions is not compared with one in SASE+"),
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
    assert "compared as CEL, which is the same where every event has a time and no time decreases:" in said
    assert "  A IN a ; B IN b PARTITION BY [id] WITHIN 9.999999999999998 [time]\n" in said
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
    assert (code, "only where times do not decrease" in said) == (3, True)


def test_without_a_proof_no_certificate_is_written(run, tmp_path) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "proof.json"
    code, _, said = run("equiv", "A ; B", "A : B", "--certificate", str(file))
    assert (code, file.exists()) == (1, False)
    assert "proof.json is not written: there is a certificate only where the claim is proved" in said


def test_with_a_bound_of_0_nothing_is_looked_at_and_the_answer_says_so(run) -> None:  # type: ignore[no-untyped-def]
    code, said, _ = run("equiv", "A+ FILTER A.x <= A.x", "A+", "--bound", "0")
    assert (code, "with a bound of 0 no stream is looked at" in said) == (3, True)


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
        with pytest.raises(IllFormed, match="expected a pair of names of languages"):
            equivalent("A", "A", languages=languages)  # type: ignore[arg-type]
