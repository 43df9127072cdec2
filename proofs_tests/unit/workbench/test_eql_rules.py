"""EQL in the workbench: logs in ECS, rules in files, why a rule did not fire, what a commit changed, test logs."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest

import cerify
from cerify.commands.rules import cases_of_rules
from cerify.conformance.cases import load
from cerify.equivalence.eql.decide import find_firing_log
from cerify.equivalence.eql.mutants import make_rule_tests, mutants_of
from cerify.equivalence.generate.eql import PROFILES, random_case
from cerify.explanations.eql import follow
from cerify.semantics.ecs import document_of_event, event_of_document, looks_like_ecs, read_ecs
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.denote import matches_of
from cerify.semantics.eql.parse import parse
from cerify.semantics.errors import InputError, InputWarning, Unsupported
from cerify.semantics.events import Event
from proofs_tests.campaigns.eql_rule_edits import own_rules, run_diff, write_folders
from proofs_tests.conftest import Run
from proofs_tests.support import sampled

RULE = 'sequence by host.id with maxspan=5s [process where process.name : "cmd"] [network where port == 443]'


def written(folder: Path, name: str, *documents: Any) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(d) + "\n" for d in documents), encoding="utf-8")
    return file


# --- ECS --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "attributes"),
    [
        ({"a": {"b": 1}, "a.c": True, "d": None}, {"a.b": 1, "a.c": True}),
        ({"a": {"b": "x"}, "a.b": "y"}, {"a.b": "x", "a.b[1]": "y"}),
        ({"args": ["x", None, ["y", 2.5]]}, {"args": "x", "args[1]": "y", "args[2]": 2.5}),
        ({"a": [{"b": 1}, {"b": 2, "c": "z"}]}, {"a.b": 1, "a.b[1]": 2, "a.c": "z"}),
        ({"a": [], "b": {}}, {}),
        ({"_source": {"a": 1}, "_id": "x"}, {"a": 1}),
        ({"n": 2**70}, {"n": str(2**70)}),
    ],
)
def test_a_document_is_flattened(document: dict[str, Any], attributes: dict[str, Any]) -> None:
    assert event_of_document(document, "here") == Event("event", attributes)


@pytest.mark.parametrize(
    "time", ["2026-01-31T12:00:00.250Z", "2026-01-31T13:00:00.250+01:00", 1769860800250, "1769860800250"]
)
def test_times_are_iso_or_milliseconds(time: Any) -> None:
    event = event_of_document({"@timestamp": time}, "here")
    assert event.attributes == {"time": datetime(2026, 1, 31, 12, 0, 0, 250_000, tzinfo=UTC)}


def test_the_category_is_the_type_and_an_event_may_have_several() -> None:
    event = event_of_document({"event": {"category": ["file", "process"]}}, "here")
    assert event.type == "file"
    assert cerify.match("process where true", [event], language="eql")
    assert cerify.match('any where event.category == "process"', [event], language="eql")


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("eql", 'process where process.args == "b"'),
        ("sigma", "title: t\nlogsource: {category: x}\ndetection: {s: {process.args: b}, condition: s}\n"),
    ],
)
def test_dicts_with_lists_are_documents(language: str, text: str) -> None:
    """From Python they were refused, as the other languages refuse them; the command line read them."""
    documents = [{"event": {"category": "process"}, "process": {"args": args}} for args in (["a", "b"], ["c"])]
    assert [found.at for found in cerify.match(text, documents, language=language)] == [0]
    with pytest.raises(InputError, match=r"event 0, .*'process.args': a list"):
        cerify.match('A FILTER A."process.args" = 1', [{"type": "A", **documents[0]}])


def test_documents_are_written_and_read_back() -> None:
    for seed in range(300):
        _, S = random_case(Random(seed), PROFILES["rules"], 4, 4)
        for event in S:
            dated = Event(event.type, {**event.attributes, "time": datetime(2026, 1, 1, tzinfo=UTC)})
            back = event_of_document(document_of_event(dated), "here")
            assert back.type == dated.type
            assert {**back.attributes, "event.category": None} == {**dated.attributes, "event.category": None}


def test_packed_files_several_files_and_standard_input(tmp_path: Path, run: Run) -> None:
    log = written(tmp_path, "log.ndjson", *map(document_of_event, LOG[3:]))
    more = written(
        tmp_path, "more.ndjson", {"@timestamp": 1_000, "host": {"id": "b"}, "event": {"category": "network"}}
    )
    packed = tmp_path / "logs" / "log.ndjson.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(log.read_bytes()))
    text = log.read_text(encoding="utf-8")
    for files, stdin, events in (
        ((log,), "", 5), ((packed,), "", 5), ((packed.parent,), "", 5), ((packed.parent, more), "", 6),
        ((tmp_path / "*.ndjson",), "", 6), (("-",), text, 5), (("-",), f"[{','.join(text.splitlines())}]", 5),
    ):  # fmt: skip
        _, out, err = run("match", 'any where host.id == "b"', *map(str, files), "--language", "eql", stdin=stdin)
        assert f"in {events} events" in out, (files, err)
    typed = '{"type": "any", "host": {"id": "b"}}\n'
    assert "1 match in 1" in run("match", 'any where host.id == "b"', "-", "--language", "eql", stdin=typed)[1]
    assert "log.ndjson.gz, line 2" in run("match", "any where x == 1", str(damaged(packed)), "--language", "eql")[2]
    answer = {"took": 1, "hits": {"total": 1, "hits": [{"_source": {"@timestamp": 1, "n": 5}}]}}
    (tmp_path / "answer.json").write_text(json.dumps(answer, indent=1), encoding="utf-8")
    assert [e.attributes["n"] for e in read_ecs(tmp_path / "answer.json")] == [5]


def damaged(packed: Path) -> Path:
    file = packed.parent / "bad" / packed.name
    file.parent.mkdir()
    file.write_bytes(gzip.compress(b'{"@timestamp": 1}\n{"@timestamp": \n'))
    return file


def test_times_of_nanoseconds_are_cut_with_a_note(tmp_path: Path, run: Run) -> None:
    log = written(tmp_path, "log.ndjson", {"@timestamp": "2026-01-31T12:00:00.123456789Z", "x": 1})
    with pytest.warns(InputWarning, match="line 1: digits of a time beyond microseconds are cut off"):
        (one,) = read_ecs(log)
    assert one.attributes["time"] == datetime(2026, 1, 31, 12, 0, 0, 123_456, tzinfo=UTC)
    status, _, err = run("match", "any where x == 1", str(log), "--language", "eql")
    assert (status, "cut off" in err) == (0, True)


def test_a_log_is_a_schema_for_rules(tmp_path: Path, run: Run) -> None:
    log = written(tmp_path, "log.ndjson", *map(document_of_event, LOG))
    assert "--language eql" in run("schema", str(log))[1]
    assert "process" in run("schema", str(log), "--language", "eql")[1]
    assert run("check", RULE, "--language", "eql", "--schema", str(log))[0] == 0
    status, out, _ = run("check", RULE.replace("port", "prt"), "--language", "eql", "--schema", str(log))
    assert (status, "'prt'" in out) == (1, True)
    assert run("match", RULE, str(log), "--language", "eql", "--schema", str(log))[0] == 1
    status, _, err = run("vectors", RULE.replace("port", "prt"), "--language", "eql", "--schema", str(log))
    assert (status, "'prt'" in err) == (2, True)
    tests = map(json.loads, run("vectors", RULE, "--language", "eql", "--schema", str(log), "--json")[1].splitlines())
    categories = {document["event"]["category"] for test in tests for document in test["log"]}
    assert categories == {"process", "network"}


def test_files_and_folders(tmp_path: Path) -> None:
    written(tmp_path, "logs/b.ndjson", {"@timestamp": 2, "n": 2})
    written(tmp_path, "logs/a.jsonl", {"@timestamp": 1, "n": 1})
    (tmp_path / "logs" / "c.json").write_text('[{"@timestamp": 3, "n": 3}]', encoding="utf-8")
    assert [e.attributes["n"] for e in read_ecs(tmp_path / "logs")] == [1, 2, 3]
    assert looks_like_ecs(tmp_path / "logs")
    assert not looks_like_ecs(written(tmp_path, "own.jsonl", {"type": "A", "x": 1}))
    assert len(cerify.match("any where n > 1", tmp_path / "logs", language="eql")) == 2
    (tmp_path / "a.ndjson").write_text('{"a": 1}\n{"a": \n', encoding="utf-8")
    with pytest.raises(InputError, match=r"a\.ndjson, line 2: not JSON"):
        read_ecs(tmp_path / "a.ndjson")
    with pytest.raises(InputError, match=r"line 1, field '@timestamp': 'soon' is not an ISO 8601 time"):
        read_ecs(written(tmp_path, "t.ndjson", {"@timestamp": "soon"}))
    deep: Any = 1
    for _ in range(200):
        deep = {"a": deep}
    with pytest.raises(InputError, match="nested more than"):
        event_of_document(deep, "here")
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match="no file ends in"):
        read_ecs(tmp_path / "none")


# --- why it did not fire ----------------------------------------------------------------------------------------------


def event(type_: str, time: float, **attributes: Any) -> Event:
    return Event(type_, {"time": time, **{k.replace("__", "."): v for k, v in attributes.items()}})


LOG = [
    event("process", 0, host__id="a", process__name="cmd"),
    event("process", 1, host__id="a", process__name="CMD"),
    event("network", 9, host__id="a", port=443),
    event("process", 10, host__id="b", process__name="cmd"),
    event("network", 11, host__id="a", port=443),
    event("network", 12, port=443),
    event("network", 12, host__id="b", port=80),
    event("process", 13, host__id="b", process__name="bash"),
]


@pytest.mark.parametrize(
    ("positions", "reason"),
    [
        ([0, 2], "the sequence from event 0 is overwritten after event 0 by event 1"),
        ([1, 2], "the sequence from event 1 is too late by 3 s"),
        ([3, 4], 'the key differs: host.id "b" at event 3, host.id "a" at event 4'),
        ([3, 5], "event 5 has no key: host.id absent"),
        ([3, 6], "event 6 does not pass step 2: port == 443, and port is 80"),
        ([7, 6], "event 7 does not pass step 2: its category is process, not network"),
        ([0, 1, 2], "a match has 2 events, one for each step, not 3"),
        ([3], "a match has 2 events, one for each step, not 1"),
    ],
)
def test_what_is_in_the_way_is_said(positions: list[int], reason: str) -> None:
    found = cerify.explain(RULE, LOG, sorted(positions), language="eql")
    assert not found.match
    assert reason in found.reasons


def test_a_match_is_explained() -> None:
    log = [*LOG, event("process", 20, host__id="b", process__name="cmd"), event("network", 22, host__id="b", port=443)]
    found = cerify.explain(RULE, log, [8, 9], language="eql")
    assert found.match
    assert 'its key is host.id "b"' in found.reasons
    assert "it takes 2 s, at most 5 s are allowed" in found.reasons


def test_runs_and_long_lists_are_said_once() -> None:
    rule = 'sequence [A where not x in ("p", "q")] with runs=3 [B where true]'
    log = [Event("A", {"x": "r"}), Event("A", {"x": "r"}), Event("A", {"x": "r"}), Event("B"), Event("A", {"x": "q"})]
    found = cerify.explain(rule, log, [0, 1, 2, 3], language="eql")
    assert found.reasons[:2] == (
        'events 0, 1, 2 pass steps 1 to 3: A where not x in ("p", "q")', "event 3 passes step 4: B where true",
    )  # fmt: skip
    (reason,) = cerify.explain('A where not x in ("p", "q")', log, [4], language="eql").reasons
    assert reason == 'event 4 does not pass step 1: not x in ("q"), and x is "q"'


def test_until_at_the_first_step_ends_the_sequence_there(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text('{"type": "A", "time": 1}\n{"type": "B", "time": 2}\n')
    rule, eql_ = "sequence [A where true] [B where true] until [A where true]", ("--language", "eql")
    assert (
        "the sequence from event 0 is ended by event 0" in run("explain", rule, str(file), *eql_, "--match", "0,1")[1]
    )
    assert run("match", rule, str(file), *eql_, "--json")[1] == ""
    assert (
        run("match", rule, str(file), *eql_, "--json", "--reading", "until=last")[1] == '{"at": 1, "events": [0, 1]}\n'
    )
    for command in (("explain", rule, str(file)), ("equiv", rule, rule), ("vectors", rule), ("check", rule)):
        status, _, err = run(*command, *eql_, "--reading", "until=last")
        assert (status, "supports only the default reading" in err) == (2, True)


def test_a_document_without_a_category_is_of_no_category(tmp_path: Path, run: Run) -> None:
    """It was read as an event of the category `event`, and a rule that asks for no category seemed to never fire."""
    documents: list[dict[str, Any]] = [{"@timestamp": 1, "a": 1}, {"@timestamp": 2, "event": {"category": "x"}, "a": 1}]
    log = written(tmp_path, "log.ndjson", *documents)
    expected = {
        "event where true": [], "any where true": [0, 1], "x where true": [1],
        'any where event.category == "event"': [], "any where event.category == null": [0],
        'any where event.category != "x"': [0],
        "sequence by event.category [any where true] [any where true]": [],
    }  # fmt: skip
    for query, at in expected.items():
        assert [m.at for m in cerify.match(query, documents, language="eql")] == at, query
        for more in ((), ("--evaluator", "automaton"), ("--evaluator", "denotational")):
            out = run("match", query, str(log), "--language", "eql", "--json", *more)[1]
            assert [json.loads(line)["at"] for line in out.splitlines()] == at, (query, more)
    absent = "any where event.category == null"
    assert run("equiv", absent, "any where false", "--language", "eql")[0] == 1
    assert run("check", absent, "--language", "eql", "--schema", str(log))[0] == 0
    for query in (absent, "event where true", 'any where event.category != "event"'):
        for line in (json.loads(one) for one in run("vectors", query, "--language", "eql")[1].splitlines()[:-1]):
            assert [list(m.events) for m in cerify.match(query, line["log"], language="eql")] == line["matches"], query
    assert run("match", '"(none)" where true', str(log), "--language", "eql")[0] == 2


def test_until_and_missing_events_stop_a_sequence() -> None:
    rule = "sequence with maxspan=5s [A where true] ![C where true] [B where true] until [D where true]"
    log = [event("A", 0), event("D", 1), event("B", 2), event("A", 3), event("C", 4), event("B", 5)]
    assert "is ended after event 0 by event 1" in cerify.explain(rule, log, [0, 2], language="eql").reasons[0]
    assert "is stopped by event 4" in cerify.explain(rule, log, [3, 5], language="eql").reasons[0]


@pytest.mark.parametrize("cases", sampled((300, 20_000), (300,)))
def test_the_funnel_has_the_matches_of_the_definition_and_loses_no_sequence(cases: int) -> None:
    for seed in range(cases):
        query, S = random_case(Random(seed), PROFILES["rules"], 8, 14)
        if isinstance(query.body, eql.EventSequence):
            funnel = follow(query.body, S)
            expected = matches_of(eql.EqlQuery(query.body), S)
            assert funnel.matches == len(expected), (seed, eql.show(query))
            assert funnel.steps[0].reached == len(funnel.stopped) + len(funnel.found)


def test_a_folder_of_events_with_types_is_none_of_documents(tmp_path: Path, run: Run) -> None:
    written(tmp_path / "typed", "a.jsonl", {"type": "process", "process": {"name": "cmd"}})
    written(tmp_path / "ecs", "a.jsonl", {"event": {"category": "process"}, "process": {"name": "cmd"}})
    rule = 'process where process.name : "cmd"'
    assert run("match", rule, str(tmp_path / "ecs"), "--language", "eql")[0] == 0
    status, _, err = run("match", rule, str(tmp_path / "typed"), "--language", "eql")
    assert status == 2
    assert "folder" in err


def test_options_of_files_are_kept_or_refused(tmp_path: Path, run: Run) -> None:
    log = written(tmp_path, "log.ndjson", *(document_of_event(LOG[n]) for n in (2, 0)))
    rule = RULE.replace(" with maxspan=5s", "")
    assert "no match in 2" in run("match", rule, str(log), "--language", "eql")[1]
    assert "1 match in 2" in run("match", rule, str(log), "--language", "eql", "--sort")[1]
    for given in (("--time-unit", "s"), ("--records", "a"), ("--rename-type", "a=b"), ("--round-times",)):
        status, _, err = run("match", rule, str(log), "--language", "eql", *given)
        assert status == 2
        assert f"{given[0]} does not apply to {log}" in err


def test_the_command_says_it(tmp_path: Path, run: Run) -> None:
    log = written(tmp_path, "log.ndjson", *map(document_of_event, LOG))
    rule = tmp_path / "rule.eql"
    rule.write_text(RULE, encoding="utf-8")
    status, out, _ = run("explain", str(rule), str(log))
    assert status == 1
    assert "step 1: 3 events pass of 2 keys, 3 sequences reach the step" in out
    listed = run("match", str(rule), str(log), "--json")[1].splitlines()
    assert run("count", str(rule), str(log), "--json")[1] == json.dumps({"count": len(listed)}) + "\n"
    assert "1 too late for maxspan at the last step: {1, 2} by 3 s" in out
    status, out, _ = run("explain", str(rule), str(log), "--match", "0,2", "--json")
    assert (status, json.loads(out)["match"]) == (1, False)


def test_near_misses_of_a_rule(tmp_path: Path, run: Run) -> None:
    rule, log = tmp_path / "rule.eql", written(tmp_path, "log.ndjson", *map(document_of_event, LOG))
    rule.write_text(RULE, encoding="utf-8")
    status, out, _ = run("misses", str(rule), str(log), "--json")
    answer = json.loads(out)
    assert status == 1
    assert [step["reached"] for step in answer["steps"]] == [3, 0]
    assert {(miss["start"], miss["cause"]) for miss in answer["misses"]} == {
        (0, "overwritten"), (1, "late"), (3, "open"),
    }  # fmt: skip
    (last,) = (miss["message"] for miss in answer["misses"] if miss["start"] == 3)
    assert 'event 4 has another key: host.id "a", not host.id "b"' in last
    with_key = [LOG[3], LOG[6]]
    near = written(tmp_path, "near.ndjson", *map(document_of_event, with_key))
    assert "event 1 fails it: port == 443, and port is 80" in run("misses", str(rule), str(near))[1]
    assert "only sequences have near misses" in run("misses", "any where true", str(log), "--language", "eql")[2]


def test_streams_of_spark_refuse_rules() -> None:
    pytest.importorskip("pyspark")
    from cerify.spark.keyed_streams import compiled_query
    from cerify.spark.runs import SparkQuery

    with pytest.raises(Unsupported, match=r"cerify\.spark\.match over data at rest"):
        compiled_query(SparkQuery(RULE, "eql"))
    with pytest.raises(Unsupported, match="Sigma do not run on Spark yet"):
        _ = SparkQuery("title: a", "sigma").parsed


def test_a_rule_is_made_simpler(tmp_path: Path, run: Run) -> None:
    rule = tmp_path / "rule.eql"
    rule.write_text('process where (name : "c*" and name != null) or name : "cmd"', encoding="utf-8")
    status, out, _ = run("simplify", str(rule))
    assert (status, out.splitlines()[0]) == (0, 'process where name : "c*"')
    assert run("translate", str(rule), "--to", "cel")[0] == 0
    assert run("simplify", "WINDOW (PATTERN (A))", "--language", "row-pattern")[0] == 2


# --- what a commit changed --------------------------------------------------------------------------------------------


def rule_file(folder: Path, name: str, query: str, rule_id: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = (
        query
        if name.endswith(".eql")
        else f"[rule]\nlanguage = \"eql\"\nrule_id = \"{rule_id}\"\nquery = '''\n{query}\n'''\n"
    )
    (folder / name).write_text(text, encoding="utf-8")


def test_a_rule_that_cannot_be_read_is_neither_removed_nor_added(tmp_path: Path, run: Run) -> None:
    for name, query in (("old", "process where true"), ("new", "process where")):
        rule_file(tmp_path / name, "a.eql", query)
        rule_file(tmp_path / name, "b.eql", "process where true")
    for old, new in (("old", "new"), ("new", "old")):
        status, out, said = run("diff", str(tmp_path / old), str(tmp_path / new))
        assert (status, out) == (2, "0 changed, 1 the same, 0 undecided, 1 not read\n")
        assert "new/a.eql:1: " in said
        status, out, _ = run("diff", str(tmp_path / old), str(tmp_path / new), "--json")
        assert (json.loads(out)["added"], json.loads(out)["removed"]) == ([], [])
    assert run("diff", str(tmp_path / "old" / "b.eql"), str(tmp_path / "new" / "a.eql"))[1].endswith(", 1 not read\n")


def test_a_comparison_without_time_left_names_the_option(tmp_path: Path, run: Run) -> None:
    rule_file(tmp_path, "a.eql", RULE)
    rule_file(tmp_path, "b.eql", RULE.replace("5s", "6s"))
    out = run("diff", str(tmp_path / "a.eql"), str(tmp_path / "b.eql"), "--time-limit", "1e-9")[1]
    assert "or allow more: --time-limit" in out


def test_a_changed_rule_is_named_with_a_log_and_a_neutral_edit_is_not(tmp_path: Path, run: Run) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    rule_file(old, "a.toml", 'process where name in ("a", "b")', "1")
    rule_file(new, "moved.toml", 'process where name == "b" or name == "a" // in other words', "1")
    rule_file(old, "b.eql", RULE)
    rule_file(new, "b.eql", RULE.replace("5s", "6s"))
    rule_file(old, "c.toml", "process where true", "3")
    (new / "d.toml").write_text('[rule]\nlanguage = "kuery"\nquery = "a:b"\n', encoding="utf-8")
    (new / "e.toml").write_text('[rule]\ntype = "machine_learning"\nanomaly_threshold = 50\n', encoding="utf-8")
    assert "1 changed, 1 the same, 0 undecided, 1 removed; 2 in other" in run("diff", str(old), str(new))[1]
    status, out, _ = run("diff", str(old), str(new), "--json", "--logs", str(tmp_path / "logs"))
    answer = json.loads(out)
    assert status == 1
    assert [one["path"] for one in answer["changed"]] == ["b.eql"]
    assert (answer["same"], answer["removed"], answer["added"], answer["undecided"]) == (1, ["c.toml"], [], [])
    (one,) = answer["changed"]
    assert (one["old_only"], one["new_only"]) == ([], [[0, 1]])
    log = read_ecs(tmp_path / "logs" / "b.ndjson")
    assert not cerify.match(RULE, log, language="eql")
    assert cerify.match(RULE.replace("5s", "6s"), log, language="eql")
    assert run("diff", str(old), str(old))[0] == 0
    assert run("diff", str(old / "b.eql"), str(new / "b.eql"))[0] == 1


@pytest.mark.parametrize("seeds", sampled((1, 20), (1,)))
def test_of_edited_folders_just_the_changed_rules_are_named(tmp_path: Path, seeds: int) -> None:
    for seed in range(seeds):
        old, new = tmp_path / f"old{seed}", tmp_path / f"new{seed}"
        done = write_folders(list(own_rules(60, seed)), old, new, 19, seed)
        answer = run_diff(old, new)
        assert {rule["path"]: done.changed.get(rule["path"]) for rule in answer["changed"]} == done.changed
        assert not answer["undecided"]
        assert len(done.neutral) == 19


def test_a_rule_that_cannot_be_read_is_named_with_its_line_and_the_rest_is_compared(tmp_path: Path, run: Run) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for folder in (old, new):
        rule_file(folder, "a.eql", "process where x == 1")
    rule_file(new, "bad.toml", "process where true and\n  x = 1", "2")
    (new / "worse.toml").write_text("[rule]\nquery = \n", encoding="utf-8")
    rule_file(new, "twin.toml", "process where true", "2")
    status, out, err = run("diff", str(old), str(new))
    assert status == 2
    assert "bad.toml:6: EQL has no '='; write ==" in err
    assert "worse.toml:2: not TOML" in err
    assert "0 changed, 1 the same, 0 undecided, 1 added, 2 not read" in out


def test_two_rules_with_one_id_are_named(tmp_path: Path, run: Run) -> None:
    rule_file(tmp_path, "a.toml", "process where true", "2")
    rule_file(tmp_path, "b.toml", "process where true", "2")
    status, _, err = run("diff", str(tmp_path), str(tmp_path))
    assert status == 2
    assert "a.toml has the same rule_id 2; give it another one" in err


# --- test logs --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rule",
    [
        RULE,
        'process where name in ("a", "b") and not user : "r*" and size >= 3',
        "sequence by h [process where x == 1] [file where true] [network where true] until [process where x == 2]",
    ],
)
def test_each_mutant_is_killed_by_the_log_that_says_so(rule: str) -> None:
    query = parse(rule)
    made = make_rule_tests(query)
    assert not made.undecided
    killed = {words: test for test in made.tests for words in test.kills}
    for words, mutant in mutants_of(query):
        if words in made.same:
            continue
        log = killed[words].log
        assert matches_of(mutant, log) != matches_of(query, log), words
    assert any(test.matches for test in made.tests)
    assert any(not test.matches for test in made.tests)


def test_a_folder_of_rules_is_checked(tmp_path: Path, run: Run) -> None:
    folder = tmp_path / "rules"
    rule_file(folder, "a.toml", RULE, "1")
    rule_file(folder, "b.eql", 'process where name == "a" and name == null')
    status, out, _ = run("check", str(folder))
    assert (status, out.splitlines()[0], out.splitlines()[-1]) == (
        1, "b.eql", "2 rules: 1 can fire, 1 never",
    )  # fmt: skip
    rule_file(folder, "c.eql", "process where\n  name = 1")
    status, out, err = run("check", str(folder))
    assert (status, "1 not read" in out, "c.eql:2: EQL has no '='; write ==" in err) == (2, True, True)
    answer = json.loads(run("check", str(folder), "--json")[1])
    assert [rule["satisfiable"] for rule in answer["rules"]] == [True, False]
    log = written(tmp_path, "log.ndjson", *map(document_of_event, LOG))
    status, _, err = run("match", str(folder), str(log))
    assert (status, "is a folder of rules" in err) == (2, True)
    assert run("check", " ; ".join(["A"] * 200))[0] == 0  # too long to be the name of a folder
    rule_file(tmp_path / "two", "a.eql", "process where x > 5 and x < 5")  # of an array
    assert run("check", str(tmp_path / "two"))[0] == 0
    assert "1 never" in run("check", str(tmp_path / "two"), "--single")[1]


@pytest.mark.parametrize(
    "rule",
    [
        'sequence by h, ?u with maxspan=5s [A where h : ("a*", "b") and u == 3] [B where u > 2] with runs=20',
        'sequence [A where true] by x [B where y : "q*"] by y with runs=3 until [C where true]',
        "sample by x [A where x == 1 and y in (2, 3)] [B where not y == 2]",
        'sequence by x with maxspan=1s ![C where true] [A where x : "?" and x != "a"] [B where x == "b"]',
        "A where x == 1 and x == 2",
    ],
)
def test_a_log_on_which_a_rule_fires_is_made_step_by_step(rule: str) -> None:
    found = find_firing_log(parse(rule))
    assert found is not None
    assert matches_of(parse(rule), found)
    assert (
        find_firing_log(
            parse(rule.replace("[A where", "[A where false and").replace("A where x == 1", "A where false"))
        )
        is None
    )


def test_a_field_that_no_event_has_is_named_once(tmp_path: Path, run: Run) -> None:
    log = written(tmp_path, "log.ndjson", *map(document_of_event, LOG))
    _, out, _ = run("check", "process where prt == 1 or prt == 2", "--language", "eql", "--schema", str(log))
    assert out.count("no event has the field 'prt'") == 1
    _, out, _ = run("check", "process where prt == 1 or nane == 2 or q == 3", "--language", "eql", "--schema", str(log))
    assert "no event has the fields prt, nane, q; write ? before those that may be absent; did you mean" in out


def test_an_array_kills_a_mutant_that_no_single_value_does() -> None:
    made = make_rule_tests(parse('process where args : "a" and args : "b"'))
    assert not made.same
    assert any("args[1]" in event.attributes for test in made.tests for event in test.log)


def test_a_rule_that_never_fires_is_said_to(run: Run) -> None:
    never = "sequence by h with maxspan=5s [A where x == 1 and x == null] [B where true]"
    assert cerify.check(never, language="eql").satisfiable is False
    assert cerify.check(RULE, language="eql").satisfiable is True
    assert run("check", never, "--language", "eql")[0] == 1
    for constant in ("null != null", "1 == 2", "?x.y != null and null != null"):  # a test without a field
        assert cerify.check(f"A where {constant}", language="eql").satisfiable is False
    assert cerify.check("A where 1 == 1", language="eql").satisfiable is True


def test_maxspan_over_events_without_times_is_warned_of(run: Run, tmp_path: Path) -> None:
    (tmp_path / "log.ndjson").write_text('{"type": "A"}\n{"type": "B"}\n', encoding="utf-8")
    rule = "sequence with maxspan=5s [A where true] [B where true]"
    assert "maxspan measures time" in run("match", rule, str(tmp_path / "log.ndjson"), "--language", "eql")[2]


@pytest.mark.thorough
def test_test_logs_of_rules_are_a_suite(tmp_path: Path, run: Run) -> None:
    rule_file(tmp_path / "rules", "a.eql", "sequence with maxspan=5s [A where x == 1] [B where true]")
    (tmp_path / "rules" / "b.yml").write_text(
        "title: two\ncorrelation: {type: event_count, rules: [a], timespan: 5s, condition: {gte: 2}}\n"
        "---\nname: a\ntitle: a\nlogsource: {category: test}\ndetection: {s: {k: x}, condition: s}\n",
        encoding="utf-8",
    )
    cases, _ = cases_of_rules(tmp_path / "rules")
    assert {(case.language, case.feature, case.output) for case in cases} == {
        ("eql", "a.eql", "matches"), ("sigma", "two", "valuations"),
    }  # fmt: skip
    assert cases[0].matches
    status, out, _ = run("conform", "--suite", str(tmp_path / "rules"), "--language", "eql", "--list")
    assert (status, out.split("\t")[:2]) == (0, ["eql", "a.eql"])
    status, out, _ = run("conform", "--suite", str(tmp_path / "rules"), "--list", "--json")
    (tmp_path / "logs.jsonl").write_text(out, encoding="utf-8")
    assert (status, load(str(tmp_path / "logs.jsonl"))) == (0, cases)
    rule_file(tmp_path / "rules", "c.eql", "A where")
    status, out, err = run("conform", "--suite", str(tmp_path / "rules"), "--list")
    assert (status, "c.eql:1" in err, "a.eql" in out) == (2, True, True)


def test_a_certificate_of_sigma_is_read_and_decided_again(tmp_path: Path, run: Run) -> None:
    rule = "title: x\nlogsource:\n  category: a\ndetection:\n  s:\n    b: c\n  condition: {}\n"
    for name, condition in (("one", "s"), ("other", "s and s")):
        (tmp_path / f"{name}.yml").write_text(rule.format(condition))
    proof = str(tmp_path / "proof.json")
    given = [str(tmp_path / f"{name}.yml") for name in ("one", "other")]
    assert run("equiv", *given, "--certificate", proof)[0] == 0
    status, out, _ = run("verify", proof)
    assert status == 0
    assert "it was decided again" in out


def test_names_with_dots_that_only_begin_alike_are_not_proposed(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "log.ndjson"
    file.write_text('{"event": {"category": "process"}, "process": {"entity_id": "e", "name": "a"}}\n')
    for asked, meant in (("process.nam", "did you mean process.name"), ("process.title", None), ("process.pid", None)):
        _, out, _ = run("check", f'process where {asked} == "a"', "--language", "eql", "--schema", str(file))
        assert "no event has the field" in out
        assert ("did you mean" in out) is (meant is not None)
        assert meant is None or meant in out
