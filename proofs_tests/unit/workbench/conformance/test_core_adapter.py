"""The adapter for CORE: with the meaning of CEQL in the engine's place, it answers as the definition does."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from cerify.conformance import engines
from cerify.conformance.cases import claims_of_json, load, tree_of_text
from cerify.conformance.model import Case
from cerify.equivalence.generate import cel as generate
from cerify.semantics.cel.interpreter import matches_of
from cerify.semantics.cel.syntax import show
from cerify.semantics.errors import InputError
from cerify.semantics.events import Stream
from cerify.semantics.json_events import event_of_json
from proofs_tests.unit.workbench.conformance.ceql import Meaning
from proofs_tests.unit.workbench.conformance.stand_in import Json, StandIn, answers, run_message

pytestmark = pytest.mark.thorough  # compiling the stand-in takes as long as a hundred tests

HOME = engines.ADAPTERS / "cpp"
PROFILES = list(generate.PROFILES.values())


def meaning(translation: Json) -> list[Json]:
    """The complex events of a translation by the meaning of CEQL."""
    return Meaning(**translation).complex_events()


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandIn]:
    if shutil.which("g++") is None:
        pytest.skip("no g++ on this machine")
    program = tmp_path_factory.mktemp("core") / "core_stand_in"
    source = Path(__file__).with_name("core_stand_in.cpp")
    command = ["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{HOME}", "-o", program, source]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    stand_in = StandIn([program])
    yield stand_in
    stand_in.stop()


def run_of(case: Case) -> Json:
    run = {"id": case.id, "language": "cel", "query": case.query, "tree": tree_of_text("cel", case.query)}
    return run | {"schema": case.schema, "events": list(case.events), "output": case.output}


def test_a_measured_run_is_answered_with_the_number_of_matches_and_the_time(adapter: StandIn) -> None:
    (case,) = (case for case in load(None) if case.id == "cel/seq/001")
    reply = adapter.answer(run_of(case) | {"cmd": "measure"}, meaning)
    assert (reply["id"], reply["count"]) == (case.id, len(case.matches))
    assert reply["cpu"]["thread"] > 0
    assert reply["cpu"]["process"] > 0


def test_the_adapter_answers_the_suite_as_the_definition_does(adapter: StandIn) -> None:
    claims = claims_of_json(adapter.claims, "cel")
    compared = 0
    for case in load(None):
        if case.language != "cel" or claims.why_not(case):
            continue
        reply = adapter.answer(run_of(case), meaning)
        assert "error" not in reply, (case.id, reply)
        if "matches" in reply:
            compared += 1
            expected = [{"at": m.at, "events": m.events} for m in case.matches]
            if case.output == "valuations":
                expected = [one | {"bindings": dict(m.bindings)} for one, m in zip(expected, case.matches, strict=True)]
            assert answers(reply["matches"]) == answers(expected), (case.id, case.query)
    assert compared > 900


def test_it_answers_random_queries_as_the_definition_does(adapter: StandIn) -> None:
    rng, compared = Random(7), 0
    for number in range(200):
        phi = generate.formula(rng, PROFILES[number % len(PROFILES)], 7)
        times = sorted(rng.randrange(3) * rng.choice((1, 1800)) for _ in range(5))
        events = [{"type": rng.choice("ABC"), "x": rng.randrange(3), "y": rng.randrange(3), "time": t} for t in times]
        reply = adapter.answer(run_message("cel", show(phi), events), meaning)
        assert "error" not in reply, (show(phi), reply)
        if "matches" not in reply:
            continue
        compared += 1
        found = matches_of(phi, Stream([event_of_json(event, None, "") for event in events]))
        expected = {(m.at, tuple(m.events)) for m in found}
        assert {(m["at"], tuple(m["events"])) for m in reply["matches"]} == expected, (show(phi), events)
    assert compared > 50


def test_a_fault_of_the_search_is_seen(adapter: StandIn) -> None:
    case = next(case for case in load(None) if case.query == "A ; B" and case.matches)
    assert adapter.answer(run_of(case), meaning)["matches"]
    reply = adapter.answer(run_of(case), lambda _: [])
    assert reply["matches"] == []
    assert reply["translation"].splitlines()[1].startswith("SELECT")


def test_a_line_that_is_no_message_is_answered_and_does_not_end_the_conversation(adapter: StandIn) -> None:
    assert adapter.ask([1, {"a": '\u00e9\n\\ "', "b": -2.5e3}])["error"]["message"] == "the message has no cmd"
    assert "unknown cmd" in adapter.ask({"cmd": "sing"})["error"]["message"]
    assert adapter.process.stdin is not None
    adapter.process.stdin.write('{"cmd": ')
    assert "not JSON" in adapter.ask("\U0001f600")["error"]["message"]


def test_without_a_built_checkout_it_says_which_variable_names_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(shutil, "which", lambda program: program)
    monkeypatch.delenv("CERIFY_CORE_HOME", raising=False)
    with pytest.raises(InputError, match="CERIFY_CORE_HOME is not set"):
        engines.command_of("core")
    monkeypatch.setenv("CERIFY_CORE_HOME", str(tmp_path))
    with pytest.raises(InputError, match=r"no build/\*/libcore\.a is there"):
        engines.command_of("core")
    (tmp_path / "build" / "Release").mkdir(parents=True)
    (tmp_path / "build" / "Release" / "libcore.a").write_text("")
    assert engines.missing_for("core") is None
