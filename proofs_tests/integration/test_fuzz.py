"""`cerify fuzz` from the outside: engines that are right, wrong, mute and dead."""

import json
import re
import shlex
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest

from cerify.cli import main
from cerify.commands.fuzz import print_disagreement
from cerify.conformance.model import Case, CaseResult
from cerify.semantics.events import Match
from proofs_tests.conftest import Run

CERIFY = [sys.executable, "-c", "from cerify.cli import main; main()"]

ENGINE = """
import json, os, sys
from cerify import protocol
from cerify.semantics.cel.interpreter import matches_of
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.parse import parse
from cerify.semantics.json_events import schema_of_json, stream_of_json

def matches(message):
    phi = parse(message["query"])
    S = stream_of_json(message["events"], schema_of_json(message["schema"]), "run")
    return matches_of(phi, S, message["output"], Budget())

for line in sys.stdin:
    message = json.loads(line)
    if message["cmd"] == "start":
        engine = {"name": "planted", "version": "1"}
        print(json.dumps({"protocol": 1, "engine": engine, "languages": ["cel"]}), flush=True)
    elif message["cmd"] == "stop":
        break
    else:
        found = matches(message)
        FAULT
        answer = {"id": message["id"], "matches": [m.json() for m in found]}
        print(json.dumps(answer), flush=True)
"""


@dataclass(frozen=True)
class Done:
    """The exit status of a command, and what it wrote."""

    returncode: int
    stdout: str
    stderr: str


def fuzz(*arguments: str) -> Done:
    """Runs `cerify fuzz` in this process; the engine is one of its own."""
    out, err = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr("sys.argv", ["cerify", "fuzz", *arguments])
        with pytest.raises(SystemExit) as exited:
            main()
    assert isinstance(exited.value.code, int)
    return Done(exited.value.code, out.getvalue(), err.getvalue())


def planted(tmp_path: Path, fault: str) -> list[str]:
    path = tmp_path / "engine.py"
    path.write_text(ENGINE.replace("FAULT", fault), encoding="utf-8")
    return ["--", sys.executable, str(path)]


def test_a_right_engine_passes_and_the_denominators_are_told() -> None:
    done = fuzz("--cases", "60", "--json", "--", *CERIFY, "engine", "--evaluator", "automaton")
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    summary = json.loads(line)["summary"]
    assert summary["cases"] == summary["agreed"] == summary["planned"] == 60
    assert summary["outcomes"]["matched"] + summary["outcomes"]["empty"] == 60
    assert summary["cases_per_second"] > 0


def test_a_wrong_engine_is_shown_by_a_small_query_and_stream(tmp_path: Path) -> None:
    """The engine reports only matches of at most two events."""
    done = fuzz(
        "--cases", "300", "--stop-after", "1", *planted(tmp_path, "found = [m for m in found if len(m.events) < 3]")
    )
    assert done.returncode == 1, done.stderr
    assert "missing {0, 1, 2} at 2" in done.stdout
    assert "  stream    0: A" in done.stdout
    assert " of 300 cases" in done.stdout


def test_each_disagreement_is_an_object_that_can_be_replayed(tmp_path: Path) -> None:
    done = fuzz("--cases", "200", "--stop-after", "1", "--json", *planted(tmp_path, "found = found[1:]"))
    summary, *disagreements = map(json.loads, done.stdout.splitlines())
    assert done.returncode == 1
    assert summary["summary"]["outcomes"]["disagreed"] == len(disagreements) == 1
    for d in disagreements:
        assert (d["query"], d["events"]) == ("A", [{"type": "A"}])
        assert d["expected"] == [{"at": 0, "events": [0]}]
        assert d["got"] == []
        assert len(d["found"]["events"]) >= 1


def test_a_disagreement_is_left_as_it_was_found_without_tries(tmp_path: Path) -> None:
    options = ["--cases", "200", "--stop-after", "1", "--tries", "0", "--json"]
    _, *disagreements = map(json.loads, fuzz(*options, *planted(tmp_path, "found = found[1:]")).stdout.splitlines())
    assert disagreements
    for d in disagreements:
        assert {"query": d["query"], "events": d["events"]} == d["found"]


FRAIL = """
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["cmd"] == "stop":
        break
    if len(message.get("events", ())) > 3:
        os._exit(7)
    started = {"protocol": 1, "engine": {"name": "frail", "version": "1"}, "languages": ["cel"]}
    print(json.dumps(started if message["cmd"] == "start" else {"id": message["id"], "skipped": "no"}), flush=True)
"""


def test_an_engine_that_dies_on_some_cases_is_restarted_and_reported() -> None:
    """It imports nothing of cerify, as it is started again for each smaller case."""
    done = fuzz("--cases", "100", "--stop-after", "1", "--json", "--", sys.executable, "-c", FRAIL)
    assert done.returncode == 1, done.stderr
    d = json.loads(done.stdout.splitlines()[1])
    assert d["got"].startswith("crashed:")
    assert len(d["events"]) == 4


@pytest.mark.thorough
def test_causes_are_told_apart_and_a_campaign_goes_on(tmp_path: Path) -> None:
    """The engine reports only matches of at most two events, and has no match for queries with an OR."""
    engine = planted(tmp_path, "found = [m for m in found if len(m.events) < 3 and ' OR ' not in message['query']]")
    arguments = ["--cases", "120", "--stop-after", "3", "--resume", str(tmp_path / "kept.jsonl")]
    first = fuzz(*arguments, *engine)
    assert first.returncode == 1, first.stderr
    assert "  cause     OR: missing" in first.stdout
    assert " causes, as far as the operators and the difference tell" in first.stdout
    again = json.loads(fuzz(*arguments, "--json", *engine).stdout.splitlines()[0])["summary"]
    assert again["resumed"] == again["cases"] > 3
    assert again["causes"]["OR: missing"] > 1
    assert len(again["causes"]) == 3
    assert again["stopped"].startswith("stopped after 3 causes")
    other = fuzz("--cases", "120", "--seed", "1", "--resume", str(tmp_path / "kept.jsonl"), *engine)
    assert other.returncode == 2
    assert "seed is 0 there and 1 here" in other.stderr


def test_one_query_is_asked_on_all_short_streams(tmp_path: Path) -> None:
    """The engine reports only matches of at most two events."""
    engine = planted(tmp_path, "found = [m for m in found if len(m.events) < 3]")
    engine[-1:] = [untyped(engine[-1])]
    done = fuzz("--query", "A+ ; B", "--all-streams", "4", *engine)
    assert done.returncode == 1, done.stderr
    assert " of 120 streams get a wrong answer, the shortest A A B" in done.stdout
    found = json.loads(fuzz("--query", "A+ ; B", "--all-streams", "3", "--json", *engine).stdout.splitlines()[0])
    assert (found["summary"]["asked"], found["summary"]["wrong"]) == (39, 1)


def untyped(path: str) -> str:
    """The engine for streams without a schema."""
    text = Path(path).read_text(encoding="utf-8")
    Path(path).write_text(text.replace('schema_of_json(message["schema"])', "None"), encoding="utf-8")
    return path


def test_known_causes_do_not_fail_and_one_case_is_run_again(tmp_path: Path) -> None:
    engine = planted(tmp_path, "found = [m for m in found if len(m.events) < 3]")
    stored = tmp_path / "known.jsonl"
    first = fuzz("--cases", "60", "--stop-after", "1", "--json", *engine)
    stored.write_text(first.stdout, encoding="utf-8")
    index = json.loads(first.stdout.splitlines()[1])["case"]
    one = fuzz("--case", str(index), "--json", *engine)
    assert one.returncode == 1
    assert json.loads(one.stdout.splitlines()[1])["query"] == json.loads(first.stdout.splitlines()[1])["query"]
    again = fuzz("--case", str(index), "--known", str(stored), *engine)
    assert again.returncode == 0, again.stdout
    assert "known: " in again.stdout


@pytest.mark.thorough
def test_an_engine_is_held_to_its_policy_and_what_is_known_beside(tmp_path: Path) -> None:
    policy = tmp_path / "policy.json"
    policy.write_text(json.dumps({"profile": 1, "language": "cel", "axes": {"seq": "next-from-left"}}))
    held = ("--cases", "60", "--policy", str(policy))
    engine = ["--", *CERIFY, "engine", "--hypothesis", "seq=next-from-left"]
    assert fuzz(*held[:2], *engine).returncode == 1
    right = fuzz(*held, *engine)
    assert right.returncode == 0
    assert " against the semantics with seq=next-from-left: " in right.stdout.splitlines()[0]
    streams = ("--query", "A ; B", "--all-streams", "3")
    assert [fuzz(*streams, *given, *engine).returncode for given in ((), held[2:])] == [1, 0]
    engine[-1] += ",loop=single"
    first = fuzz(*held, "--json", *engine)
    assert first.returncode == 1
    found = [json.loads(line) for line in first.stdout.splitlines()[1:]]
    assert all("+" in d["query"] and "is a match at" in d["why"].splitlines()[0] for d in found)
    by = " by seq=next-from-left, as by the default meaning"
    assert all((";" in d["query"]) == d["why"].splitlines()[0].endswith(by) for d in found)
    (tmp_path / "known.jsonl").write_text(first.stdout, encoding="utf-8")
    assert fuzz(*held, "--known", str(tmp_path / "known.jsonl"), *engine).returncode == 0


def inclusive(*comparators: str) -> str:
    """A fault: these comparators are taken for those that include equality."""
    query = "".join(f".replace(' {one} ', ' {one}= ')" for one in comparators)
    return f"found = matches(message | {{'query': message['query']{query}}})"


@pytest.mark.thorough
def test_another_fault_with_the_same_cause_is_not_known(tmp_path: Path) -> None:
    """A wrong `<` was hidden by a wrong `>`, since both are "FILTER: extra"."""
    stored = tmp_path / "known.jsonl"
    query = {
        "query": "A FILTER A.x > 0",
        "schema": {"A": {"x": "int"}},
        "events": [{"type": "A", "x": 0}],
        "output": "matches",
    }
    answers = {"expected": [], "got": [{"at": 0, "events": [0]}], "cause": "FILTER: extra"}
    stored.write_text(json.dumps(query | answers) + "\n", encoding="utf-8")
    first = fuzz("--cases", "60", "--stop-after", "1", "--known", str(stored), *planted(tmp_path, inclusive(">")))
    assert first.returncode == 0, first.stdout
    assert "known: FILTER: extra" in first.stdout
    both = fuzz("--cases", "60", "--stop-after", "1", "--known", str(stored), *planted(tmp_path, inclusive(">", "<")))
    assert both.returncode == 1, both.stdout
    assert "cause     FILTER: extra" in both.stdout
    assert re.search(r"query .* FILTER \w+\.\w+ < ", both.stdout)
    mended = fuzz("--cases", "20", "--known", str(stored), *planted(tmp_path, "pass"))
    assert mended.returncode == 0
    assert "no longer known: FILTER: extra" in mended.stdout


def test_what_is_known_has_to_be_what_fuzz_printed(tmp_path: Path) -> None:
    stored = tmp_path / "known.jsonl"
    no = "is not a disagreement: give the output"
    others = ("null", "[]", "{}", '{"a": 5}', '{"cause": "x"}')
    for text, words in (
        *((other, f"line 1 {no}") for other in others),
        ('{"summary": {}}\n{}', f"line 2 {no}"),
        ("{", "line 1"),
    ):
        stored.write_text(text, encoding="utf-8")
        done = fuzz("--known", str(stored), *planted(tmp_path, "pass"))
        assert done.returncode == 2
        assert words in done.stderr


def test_no_engine_is_asked_a_variable_that_nothing_binds(tmp_path: Path) -> None:
    """An engine may refuse it; the profile has such queries for the built-in evaluators."""
    check = "from cerify.semantics.cel.check import problems; "
    check += "assert not any(p.rule == 'unbound' for p in problems(parse(message['query']), None)), message['query']"
    done = fuzz("--cases", "80", "--json", *planted(tmp_path, check))
    assert done.returncode == 0, done.stdout


def test_a_second_answer_to_the_last_case_is_seen(tmp_path: Path) -> None:
    """No later question brings it to light."""
    answer = 'json.dumps({"id": message["id"], "matches": [m.json() for m in found]})'
    twice = f'if message["id"] == "fuzz/3": print({answer}, flush=True)'
    done = fuzz("--cases", "4", "--json", *planted(tmp_path, twice))
    assert done.returncode == 1, done.stderr
    summary = json.loads(done.stdout.splitlines()[0])["summary"]
    assert summary["ended"].startswith("the last case was answered twice; the second time it wrote: ")


def test_a_campaign_stops_in_time(tmp_path: Path) -> None:
    done = fuzz("--cases", "100000", "--max-seconds", "0.5", "--json", *planted(tmp_path, "pass"))
    summary = json.loads(done.stdout.splitlines()[0])["summary"]
    assert summary["cases"] < 100000
    assert summary["stopped"].startswith("stopped after 0.5 seconds")


def test_guided_streams_match_more_often_than_random_ones(run: Run) -> None:
    matched = {}
    for streams in ("guided", "random"):
        arguments = ["--evaluator", "automaton", "--cases", "150", "--profile", "core", "--streams", streams, "--json"]
        _, out, _ = run("fuzz", *arguments)
        matched[streams] = json.loads(out.splitlines()[0])["summary"]["outcomes"]["matched"]
    assert matched["guided"] > 120 > matched["random"]


def test_an_engine_that_does_not_speak_the_language_is_told_so(tmp_path: Path) -> None:
    done = fuzz("--language", "sase", "--cases", "5", *planted(tmp_path, "pass"))
    assert done.returncode == 1
    assert "ended early: the engine does not support the language sase; it supports cel\n" in done.stdout


def test_what_goes_into_a_pipe_is_not_broken_into_lines(tmp_path: Path) -> None:
    engine = tmp_path / "engine.py"
    name = "a long name " * 10 + "planted"
    engine.write_text(ENGINE.replace("planted", name).replace("FAULT", "pass"), encoding="utf-8")
    done = fuzz("--language", "sase", "--", sys.executable, str(engine))
    assert done.stdout.startswith(f"{name} 1 against the semantics: ")


def test_a_stream_without_events_is_shown_as_one(capsys: pytest.CaptureFixture[str]) -> None:
    case = Case("case 0", "", "", "cel", "A", None, [], "matches", [])
    print_disagreement(CaseResult(case, "failed", [Match(0, (0,))]), {})
    assert "  query     A\n  stream    no events\n" in capsys.readouterr().out


def test_a_disagreement_says_why_and_how_to_see_it_again(tmp_path: Path) -> None:
    engine = planted(tmp_path, "found = [m for m in found if len(m.events) < 3]")
    options = ["--seed", "5", "--cases", "300", "--stop-after", "1"]
    first = fuzz(*options, *engine)
    assert "  why       {0, 1, 2} is a match at 2" in first.stdout
    again, match = (line[12:] for line in first.stdout.splitlines()[-6:] if "cerify " in line)
    found = shlex.split(again)[2:]
    assert found[: found.index("--case")] == ["--seed", "5"]
    second = fuzz(*found)
    assert (
        second.stdout.partition("query")[2].partition("from ")[0]
        == first.stdout.partition("query")[2].partition("from ")[0]
    )
    assert match.startswith("printf")
    d = json.loads(fuzz(*options, "--json", *engine).stdout.splitlines()[1])
    assert (d["rerun"], d["why"].splitlines()[0]) == (again, "{0, 1, 2} is a match at 2")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "give the engine's command"),
        (("--evaluator", "automaton", "--", "true"), "give the engine's command"),
        (("--processes", "2", "--", "true"), "--processes needs --evaluator"),
        (("--", "no-such-engine-anywhere"), "no-such-engine-anywhere"),
        (("--", sys.executable, "-c", "pass"), "did not start"),
        (("--cases", "0", "--evaluator", "automaton"), "--cases"),
        (("--language", "core-cel", "--streams", "guided", "--evaluator", "automaton"), "--streams random"),
        (("--policy", __file__, "--evaluator", "automaton"), "--policy is only for an engine"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_message(run: Run, arguments: tuple[str, ...], said: str) -> None:
    status, _, err = run("fuzz", *arguments)
    assert status == 2
    assert said in err
