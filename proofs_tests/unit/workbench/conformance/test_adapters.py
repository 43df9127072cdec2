"""The adapters: with the meaning of their translations in the engine's place, they answer as the definition."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from importlib.util import module_from_spec, spec_from_file_location
from itertools import pairwise, product
from pathlib import Path
from random import Random
from types import ModuleType, SimpleNamespace
from typing import Any, TypeAlias

import pytest
from _pytest.mark import ParameterSet

from cerify import adapter, protocol
from cerify.conformance import engines, sql
from cerify.conformance.campaigns import ClaimedMaker
from cerify.conformance.cases import Claims, claims_of_json, load, tree_of_text
from cerify.conformance.engines import ADAPTERS
from cerify.conformance.harness import message_of
from cerify.conformance.model import Case
from cerify.equivalence.generate import cel as generate
from cerify.languages import LANGUAGES
from cerify.semantics import trees
from cerify.semantics.cel.interpreter import matches_of
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import ContiguousPlus, ContiguousRepeat, Formula, Plus, Repeat, show
from cerify.semantics.errors import InputError
from cerify.semantics.events import Event, Stream
from cerify.semantics.json_events import event_of_json, json_of_event, json_of_schema
from cerify.semantics.predicates import Comparator, Comparison
from cerify.semantics.row_pattern.interpreter import find_matches as row_matches_of
from cerify.semantics.row_pattern.parse import parse as parse_clause
from cerify.semantics.sase.syntax import Block, Conjunct, SaseQuery
from proofs_tests.claims import cep17_measured
from proofs_tests.tools.adapter_cases import case_of, completed, files, matches, tables
from proofs_tests.unit.workbench.conformance import engine_meanings as epl
from proofs_tests.unit.workbench.conformance import engine_meanings as sase_file
from proofs_tests.unit.workbench.conformance import engine_meanings as siddhi_ql
from proofs_tests.unit.workbench.conformance import engine_meanings as sql_statement
from proofs_tests.unit.workbench.conformance.engine_meanings import Json, Meaning, Search, StandIn, answers, run_message

# ---- adapter translations ----
# The adapters in Java: with the meaning of their translations in the engine's place, they answer as the definition.

JAVA = ADAPTERS / "java"
Fault: TypeAlias = Callable[[Json], Json]
"""Another translation in the place of one."""


@dataclass(frozen=True)
class Translation:
    """An adapter, what its translations mean, and of how many random cases how many at least are to be compared.

    search: what is found, by the message *run*. every: which cases of the suite are asked. claims: what queries are
    made of, where the adapter does not say it.
    """

    module: str
    search: Callable[[Json], Search]
    language: str
    profile: str
    cases: int
    compared: int
    output: str = "matches"
    every: int = 1
    claims: Claims | None = None

    @property
    def id(self) -> str:
        """The name of the test."""
        return f"{self.module}-{self.language}-{self.profile}"


def always(search: Search) -> Callable[[Json], Search]:
    """What is found, whatever the message."""
    return lambda message: search


def other(key: str, old: str, new: str) -> Fault:
    """A fault: another text in the place of each text of that form in a member of the translation."""
    return lambda translation: translation | {key: re.sub(old, new, translation[key])}


def flink_sql(message: Json) -> Search:
    """What is found over the table of the message."""
    return sql_statement.in_flink(message["sql"])


SASE, STATEMENT = always(sase_file.complex_events), always(sql_statement.result)
ESPER, SIDDHI, NOTHING = always(epl.rows), always(siddhi_ql.rows_siddhi_ql), always(lambda translation: ())
CONTIGUOUS = Claims(frozenset({"cseq", "cplus", "crepeat", "or", "in", "project", "filter", "strict", "seq"}))
NEXT = Claims(
    frozenset({"kleene", "within", "negation", "equivalence", "correlated", "cut", "end"}),
    frozenset({"strict", "next"}),
)
TRANSLATIONS = [
    Translation("sase", SASE, "sase", "plain", 400, 80),
    Translation("sase", SASE, "sase", "negation", 400, 20),
    Translation("trino", STATEMENT, "row-pattern", "everything", 100, 90, "valuations", 12),
    Translation("trino", STATEMENT, "row-pattern", "windows", 30, 25, "valuations", 12),
    Translation("calcite", STATEMENT, "row-pattern", "everything", 60, 55, "valuations", 24),
    Translation("flink-sql", flink_sql, "row-pattern", "chain", 150, 100, "valuations", 4),
    Translation("esper", ESPER, "cel", "core", 150, 100, "valuations"),
    Translation("esper", ESPER, "cel", "correlated", 150, 100, "valuations", 4),
    Translation("siddhi", SIDDHI, "cel", "core", 120, 40, "valuations", 4, CONTIGUOUS),
    Translation("siddhi", SIDDHI, "sase", "next", 150, 60, "valuations", 2),
    Translation("flink", NOTHING, "cel", "core", 150, 100, "valuations"),
    Translation("flink", NOTHING, "cel", "windows", 100, 12, "valuations", 4),
]
FAULTS: dict[str, Fault] = {
    "sase": other("query", "skip-till-any-match", "skip-till-next-match"),
    "trino": other("statement", "ONE ROW PER MATCH", "ALL ROWS PER MATCH"),
    "calcite": other("statement", "DESC", "ASC"),
    "flink-sql": other("statement", "AFTER MATCH SKIP TO NEXT ROW", "AFTER MATCH SKIP PAST LAST ROW"),
    "esper": other("epl", r"gap\d+_\*\? ", ""),
    "siddhi": other("app", " , ", " -> "),
}
MIRRORED: dict[Comparator, Comparator] = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
SUITES = list({(of.module, of.language): of for of in TRANSLATIONS}.values())
Adapters: TypeAlias = Callable[[str], StandIn]


@pytest.fixture(scope="module")
def adapters() -> Iterator[Adapters]:
    started: dict[str, StandIn] = {}

    def adapter(module: str) -> StandIn:
        if module not in started:
            target, package = JAVA / module / "target", module.replace("-", "")
            name = "".join(part.capitalize() for part in module.split("-")) + "StandIn"
            classes = target / "test-classes"
            if not (classes / "cerify" / "adapters" / package / f"{name}.class").exists():
                pytest.skip(f"the adapter is not built: mvn -f {JAVA / 'pom.xml'} package -pl {module} -am")
            path = f"{classes}:{target / f'cerify-{module}.jar'}"
            started[module] = StandIn(["java", "-cp", path, f"cerify.adapters.{package}.{name}"])
        return started[module]

    yield adapter
    for one in started.values():
        one.stop()


def suite_cases(of: Translation) -> list[Case]:
    """Cases of the suite, but for the long ones."""
    cases = [case for case in load(None) if case.language == of.language]
    return [case for case in cases if len(case.events) < 8 or case.feature == "examples"][:: of.every]


def random_cases(of: Translation, claims: Claims) -> Iterator[Case]:
    """Cases of the profile that are claimed."""
    language, rng = LANGUAGES[of.language], Random(11)
    generator = language.require_cases().generator()
    maker = ClaimedMaker(language, generator.case, claims, generator.stream)
    for number in range(of.cases):
        query, S = maker(rng, generator.profiles[of.profile], 6, 6)
        query = varied(rng, query)
        schema = None if S.schema is None else json_of_schema(S.schema)
        events = tuple(map(json_of_event, S))
        yield Case(str(number), "", "", of.language, language.syntax.show(query), schema, events, of.output, ())


def varied(rng: Random, node: Any) -> Any:
    """A query in which some iterations of CEL are bounded, and the sides of some comparisons of SASE+ change places."""
    if isinstance(node, tuple):
        return tuple(varied(rng, part) for part in node)
    if isinstance(node, Formula):
        node = trees.rebuilt(node, [varied(rng, below) for below in trees.children(node)])
        bounded = {Plus: Repeat, ContiguousPlus: ContiguousRepeat}.get(type(node))
        return node if bounded is None or rng.random() < 0.5 else bounded(node.phi, 2, rng.choice((3, None)))
    if isinstance(node, Comparison) and rng.random() < 0.5:
        return Comparison(MIRRORED.get(node.comparator, node.comparator), node.right, node.left)
    if isinstance(node, SaseQuery | Block | Conjunct):
        return replace(node, **{field.name: varied(rng, getattr(node, field.name)) for field in fields(node)})
    return node


def differing(
    of: Translation, adapter: StandIn, cases: Iterable[Case] | None = None, fault: Fault | None = None
) -> Iterator[tuple[Case, bool]]:
    """Each case that the adapter claims and answers, and whether it does so otherwise than the definition.

    cases: random ones, if they are left out. fault: what is changed in each translation before its meaning is found.
    """
    claims = of.claims or claims_of_json(adapter.claims, of.language)
    cases = random_cases(of, claims) if cases is None else cases
    for case in (claims.restrict_case(case) for case in cases if not claims.why_not(case)):
        message = message_of(case)
        search = of.search(message)
        reply = adapter.answer(message, search if fault is None else lambda t, search=search: search(fault(t)))
        if "tables" in reply:
            reply = sql.answer(case, reply["tables"])
        if "matches" in reply:
            expected = answers(match.json() for match in matches(message))
            yield case, answers(reply["matches"]) != expected
        else:
            assert "skipped" in reply or reply["error"]["code"] == "unsupported", (case, reply)


@pytest.mark.parametrize("of", TRANSLATIONS, ids=lambda of: of.id)
def test_random_queries_are_answered_as_the_definition_does(of: Translation, adapters: Adapters) -> None:
    compared = 0
    for case, differs in differing(of, adapters(of.module)):
        assert not differs, (case.query, case.events)
        compared += 1
    assert compared >= of.compared


@pytest.mark.thorough
@pytest.mark.parametrize("of", SUITES, ids=lambda of: of.id)
def test_the_suite_is_answered_as_the_definition_does(of: Translation, adapters: Adapters) -> None:
    compared = 0
    for case, differs in differing(of, adapters(of.module), suite_cases(of)):
        assert not differs, (case.id, case.query, case.events)
        compared += 1
    assert compared > 20


@pytest.mark.parametrize("module", FAULTS)
def test_a_fault_of_the_translation_is_seen(module: str, adapters: Adapters) -> None:
    of = next(of for of in TRANSLATIONS if of.module == module)
    assert any(differs for _, differs in differing(of, adapters(module), fault=FAULTS[module]))


# ---- adapter cases ----
# The cases of the adapters' tests in Java: their trees and matches are those of the queries.

LARGE = 200_000  # bytes; a larger file takes over a second


def parameters() -> list[ParameterSet]:
    """The files, a large one for the thorough tests."""
    return [
        pytest.param(
            path,
            id=f"{path.parents[3].name}/{path.stem}",
            marks=[pytest.mark.thorough] if path.stat().st_size > LARGE else [],
        )
        for path in files()
    ]


@pytest.mark.parametrize("query", cep17_measured.ESPER_PATTERNS, ids=lambda query: f"esper-{query}")
def test_esper_answers_the_texts_of_cep17_as_its_claim_says(query: str) -> None:
    classes = JAVA / "esper" / "target" / "test-classes"
    if not (classes / "cerify" / "adapters" / "esper" / "EsperTexts.class").exists():
        pytest.skip(f"the adapter is not built: mvn -f {JAVA / 'pom.xml'} package -pl esper -am")
    pattern = cep17_measured.ESPER_PATTERNS[query]
    types = sorted(set(re.findall("[A-Z]", pattern)))
    measures = ", ".join(f"{T} as {T.lower()}" for T in types)
    conditions = ", ".join(f"{T} as {T}.type = '{T}'" for T in types)
    clause = f"measures {measures} all matches pattern ({pattern}) define {conditions}"
    streams = [w for n in range(1, 6) for w in product("ABCD" if "D" in types else "ABC", repeat=n)]
    path = f"{classes}:{JAVA / 'esper' / 'target' / 'cerify-esper.jar'}"
    done = subprocess.run(
        ["java", "-cp", path, "cerify.adapters.esper.EsperTexts"],
        input="\n".join([f"select * from Stream match_recognize ({clause})", *map("".join, streams), ""]),
        capture_output=True,
        check=True,
        text=True,
    )
    for types_, rows in zip(streams, done.stdout.splitlines(), strict=True):
        found = {tuple(map(int, row.split(","))) for row in rows.split()}
        assert found == cep17_measured.by_esper(query, Stream(map(Event, types_))), types_


@pytest.mark.parametrize("path", parameters())
def test_the_file_has_the_trees_and_matches_of_its_queries(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "".join(f"{line}\n" for line in completed(text)) == text


@pytest.mark.parametrize("path", files(), ids=lambda path: f"{path.parents[3].name}/{path.stem}")
def test_each_line_is_a_run_message(path: Path) -> None:
    for text in path.read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        names = ("language", "query", "tree", "schema", "events", "output", "sql")
        message = {name: line[name] for name in names if name in line}
        assert protocol.parse_message(protocol.line({"cmd": "run", "id": "", **message}), "run")["tree"] is not None


@pytest.mark.parametrize("engine", ["beam-sql", "calcite", "flink-sql", "trino"])
def test_the_harness_reads_the_matches_of_the_definition_from_the_tables(engine: str) -> None:
    path = ADAPTERS / "java" / engine / "src" / "test" / "resources" / "cases.jsonl"
    for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        if "error" in line or line["query"].startswith("WINDOW"):  # of which an adapter has no tables here
            continue
        shown = tables(line)
        expected = [match.json() for match in sorted(matches(line))]
        assert sql.answer(case_of(line), shown)["matches"] == expected
        assert shown == line.get("tables", shown)


def test_a_wrong_tree_and_a_wrong_match_are_seen() -> None:
    written = {"language": "cel", "query": "A", "events": [{"type": "A"}], "tree": None, "matches": []}
    (line,) = map(json.loads, completed(json.dumps(written)))
    assert line["tree"] == {"node": "Event", "type": "A"}
    assert line["matches"] == [{"at": 0, "events": [0]}]


# ---- python adapters ----
# The adapters in Python: with the meaning of epigrep's patterns in its place the answers are the definition's.

COMPARATORS = {"Eq": "=", "NotEq": "!=", "Lt": "<", "Lte": "<=", "Gt": ">", "Gte": ">="}


def module_of(name: str) -> ModuleType:
    spec = spec_from_file_location(name, ADAPTERS / "python" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def chain(query: str) -> adapter.Chain:
    return adapter.chain_of(tree_of_text("cel", query))


# --- epigrep ----------------------------------------------------------------------------------------------------------


def fits(atom: Any, event: Any, captured: dict[str, Any]) -> bool:
    """Whether an event is one of an atom, given what earlier steps captured."""
    return (
        event.typ == atom["event_type"]
        and all(
            adapter.compare(event.attrs.get(p["attribute"]), COMPARATORS[p["operator"]], *p["value"].values())
            for p in atom["predicates"]
        )
        and all(
            adapter.compare(event.attrs.get(p["attribute"]), COMPARATORS[p["operator"]], captured.get(p["binding"]))
            for p in atom["reference_predicates"]
        )
    )


def meant(pattern: Any, events: list[Any]) -> Iterator[SimpleNamespace]:
    """All matches by the documentation of epigrep: exhaustive, windows closed, what must not come is in between."""
    assert pattern["consumption"] == "ExhaustivePerStart"
    for places in product(range(len(events)), repeat=len(pattern["steps"])):
        taken = [events[p] for p in places]
        if any(a >= b for a, b in pairwise(places)) or len({event.partition for event in taken}) > 1:
            continue
        captured: dict[str, Any] = {}
        for step, event in zip(pattern["steps"], taken, strict=True):
            if not fits(step["atom"], event, captured):
                break
            captured |= {one["name"]: event.attrs.get(one["attribute"]) for one in step["atom"]["captures"]}
        else:
            if all(
                passes(step, events, a, b) for step, (a, b) in zip(pattern["steps"][1:], pairwise(places), strict=True)
            ):
                yield SimpleNamespace(events=taken)


def passes(step: Any, events: list[Any], a: int, b: int) -> bool:
    """Whether the transition from the event at a to that at b is one of a step."""
    how = step["transition_from_previous"]
    between = [event for event in events[a + 1 : b] if event.partition == events[a].partition]
    return (how["max_elapsed"] is None or events[b].ts - events[a].ts <= how["max_elapsed"]) and not any(
        fits(atom, event, {}) for atom in how["absence"] for event in between
    )


@pytest.fixture
def epigrep(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    stand_in = SimpleNamespace(
        Event=lambda partition, ts, typ, attrs: SimpleNamespace(partition=partition, ts=ts, typ=typ, attrs=attrs),
        pattern_from_json=json.loads,
        match=lambda pattern, events: list(meant(pattern, events)),
    )
    monkeypatch.setitem(sys.modules, "epigrep", stand_in)  # type: ignore[arg-type]
    return module_of("epigrep_adapter")


def answer(module: ModuleType, case: Case) -> Any:
    message = {
        "id": case.id, "language": "cel", "query": case.query, "schema": case.schema,
        "tree": tree_of_text("cel", case.query), "events": list(case.events), "output": case.output,
    }  # fmt: skip
    answering = adapter.on_chains(lambda run, chain: module.search(run, chain, False))
    return adapter.answer_run(adapter.RunMessage(message), {"cel": answering})


def more() -> Iterator[Case]:
    """Cases of which the suite has none: keys that are equal numbers or a text, and a guard of a step's type."""
    S = Stream([Event(t, {"k": k, "x": x}) for t, k, x in (("A", 1, 1), ("B", "1", 0), ("B", 1.0, 2), ("B", 1, 1))])
    for text in ("(A ; B) PARTITION BY [k]", "A ; (B UNLESS B)", "A ; ((B FILTER B.x > 1) UNLESS (B FILTER B.x < 1))"):
        right = sorted(matches_of(parse(text), S))
        yield Case(text, "", "", "cel", text, None, [json_of_event(e) for e in S], "matches", right)


def wrong_cases(module: ModuleType) -> tuple[list[str], int]:
    """The cases that are answered wrongly, and how many are answered."""
    claims = claims_of_json({"cel": module.CLAIMS}, "cel")
    wrong, answered = [], 0
    for case in [*load(None), *more()]:
        if case.language == "cel" and len(case.events) <= 8 and not claims.why_not(case):
            got = answer(module, case)
            if "skipped" not in got:
                answered += 1
                expected = sorted(json.dumps(match.json(), sort_keys=True) for match in case.matches)
                given = sorted(json.dumps(match, sort_keys=True) for match in got.get("matches", ["error"]))
                wrong += [case.id] if given != expected else []
    return wrong, answered


@pytest.mark.thorough
def test_epigrep_is_asked_what_the_query_means(epigrep: ModuleType) -> None:
    wrong, answered = wrong_cases(epigrep)
    # keys are texts there: an absent one, and conditions on the attribute that is one, are the engine's own
    assert wrong == []
    assert answered > 300


@pytest.mark.parametrize(
    ("before", "after"),
    [('"<": "Lt"', '"<": "Lte"'), ('"ExhaustivePerStart"', '"FirstSuccessorPerStart"'),
     ("FLIPPED[comparator]", "comparator"), (".type == chain.steps[absence.until].type", ".type == 0"),
     ('span.width - (span.kind == "events")', "span.width"), ("        return None", "        return 'none'"),
     ("int(value) if", "value if"), ("return repr(", "return str(")],
)  # fmt: skip
@pytest.mark.thorough
def test_a_fault_of_the_translation_is_noticed(epigrep: ModuleType, before: str, after: str) -> None:
    text = (ADAPTERS / "python" / "epigrep_adapter.py").read_text(encoding="utf-8")
    assert before in text
    planted = ModuleType("planted")
    exec(compile(text.replace(before, after, 1), "planted", "exec"), planted.__dict__)
    try:
        wrong, _ = wrong_cases(planted)
    except AssertionError:
        return
    assert wrong


# --- eql and bobocep: the words of the translation --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "rule"),
    [
        ("A FILTER A.x > 1", "A where (x > 1)"),
        ("A ; B{2}", "sequence [A where true] [B where true] [B where true]"),
        ("(A ; B) PARTITION BY [k] WITHIN 2 minutes", "sequence by k with maxspan=120s [A where true] [B where true]"),
        (
            "(A FILTER A[not x in {1, 2} or s = 'a']) ; (B UNLESS C)",
            "sequence [A where ((not (x in (1, 2))) or (s == \"a\"))] [B where true] until [C where true]",
        ),
        ("(A FILTER A[x in range(1, 2)]) ; B", "sequence [A where (x >= 1 and x <= 2)] [B where true]"),
    ],
)  # fmt: skip
def test_a_rule_of_eql(query: str, rule: str) -> None:
    assert module_of("eql_adapter").rule_of(chain(query)) == rule


@pytest.mark.parametrize(
    "query",
    ["A : B", "A+ ; B", "A ; B FILTER A.x < B.x", "A WITHIN 3 seconds", "(A ; B) WITHIN 3 EVENTS", "sequence ; B",
     "A FILTER A.s = 'a*'", "A FILTER A.x + 1 > 2", "(A ; B ; C) UNLESS D", "A ; (B UNLESS C) ; D"],
)  # fmt: skip
def test_what_no_rule_says_is_skipped(query: str) -> None:
    with pytest.raises(adapter.Skip):
        module_of("eql_adapter").rule_of(chain(query))


def test_the_blocks_of_bobocep(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks: list[Any] = []

    class Builder:
        def __init__(self, name: str) -> None:
            pass

        def __getattr__(self, word: str) -> Any:
            return lambda *given, **more: blocks.append((word, *given[1:], *more.items()))

    for name in ("bobocep", "bobocep.cep", "bobocep.cep.phenom", "bobocep.cep.phenom.pattern"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    builder: Any = ModuleType("bobocep.cep.phenom.pattern.builder")
    builder.BoboPatternBuilder = Builder
    monkeypatch.setitem(sys.modules, "bobocep.cep.phenom.pattern.builder", builder)
    run = adapter.RunMessage({"query": "", "language": "cel", "events": []})
    module_of("bobocep_adapter").pattern_of(run, chain("A ; (B:+ : C)"))
    assert blocks == [
        ("followed_by", ("group", "0")),
        ("followed_by", ("group", "1")),
        ("next", ("group", "1"), ("loop", True)),
        ("next", ("group", "2")),
        ("generate",),
    ]
    assert run.translations == [".followed_by(A)", ".followed_by(B).next(B)  # loop", ".next(C)"]
    with pytest.raises(adapter.Skip):
        module_of("bobocep_adapter").pattern_of(run, chain("A ; B+"))


# --- stix2-matcher, pycer, rustevex, GoogleSQL and Varpulis: the words of the translation -----------------------------


def asked(language: str, query: str, events: Sequence[Any] = ()) -> adapter.RunMessage:
    case, tree = Case("", "", "", language, query, None, list(events), "valuations", []), tree_of_text(language, query)
    assert tree is not None
    return adapter.RunMessage(
        {"query": query, "language": language, "tree": tree, "events": list(events),
         **({"sql": sql.message(case)} if language == "row-pattern" else {})}
    )  # fmt: skip


LANGUAGE_OF = {"googlesql": "row-pattern", "varpulis": "sase"}
WORDS = {
    "stix2": lambda run: module_of("stix2_adapter").pattern_of(adapter.chain_of(run.tree)),
    "clips": lambda run: module_of("clips_adapter").ChainRule(adapter.chain_of(run.tree)).text(),
    "pycer": lambda run: module_of("pycer_adapter").DeclaredQuery(run).text,
    "rustevex": lambda run: [
        {name: value for name, value in element.items() if value == value}
        for element in module_of("rustevex_adapter").elements_of(adapter.chain_of(run.tree))[0]
    ],
    "varpulis": lambda run: module_of("varpulis_adapter").pattern_of(run.tree),
    "googlesql": lambda run: module_of("googlesql_adapter").statement_of(run)[0],
}


@pytest.mark.parametrize(
    ("engine", "query", "words"),
    [
        (
            "stix2",
            "((A FILTER A[x > 1 and s = 'a']) ; B{2}) WITHIN 2 minutes",
            "([A:cerify_position >= 0 AND A:x > 1 AND A:s = 'a'] FOLLOWEDBY "
            "([B:cerify_position >= 0] REPEATS 2 TIMES)) WITHIN 120 SECONDS",
        ),
        (
            "stix2",
            "(A ; A) WITHIN 3 EVENTS",
            "([A:cerify_position >= 0] FOLLOWEDBY [A:cerify_position >= 0]) WITHIN 2 SECONDS",
        ),
        (
            "stix2",
            "A FILTER A[x in {1, 2} or x in range(3, 4)]",
            "[A:cerify_position >= 0 AND (A:x IN (1, 2) OR (A:x >= 3 AND A:x <= 4))]",
        ),
        (
            "clips",
            "((A : B) FILTER A.x < B.x WITHIN 3 EVENTS) PARTITION BY [k]",
            '(defrule chain (ev (p ?p0) (t ?t0) (kind "A") (x-x ?v0-x) (x-k ?v0-k)) '
            '(ev (p ?p1&:(= ?p1 (+ ?p0 1))) (t ?t1) (kind "B") (x-x ?v1-x) (x-k ?v1-k)) (test (and TRUE TRUE '
            "(holds < ?v0-x ?v1-x) (<= (- ?p1 ?p0) 2) (holds = ?v0-k ?v1-k)))  => (found ?p0 ?p1))",
        ),
        ("pycer", "STRICT(A ; (B IN v))", "SELECT STRICT * FROM S WHERE (T0 ; (T1 AS V0))"),
        (
            "pycer",
            "((A : B+) WITHIN 3 EVENTS) PARTITION BY [x]",
            "SELECT * FROM S WHERE (T0 : (T1 +)) PARTITION BY [a0] WITHIN 2 EVENTS",
        ),
        (
            "pycer",
            "A{2,3} FILTER A[x >= 1 and not x = 2]",
            "SELECT * FROM S WHERE (((T0 ; T0) OR (T0 ; T0 ; T0)) FILTER T0[((a0 >= 1) AND (NOT (a0 = 2)))])",
        ),
        ("pycer", "A:{2,} WITHIN 1 day", "SELECT * FROM S WHERE ((T0 : (T0 :+))) WITHIN 24 HOURS"),
        (
            "rustevex",
            "(A FILTER A[x >= 1 and x <= 2]) ; (B UNLESS C)",
            [{"match_token": "A", "min_val": 1.0, "max_val": 2.0}, {"match_token": "B", "block_token": "C"}],
        ),
        ("rustevex", "A{2} FILTER A[x = 3]", [{"match_token": "A", "min_val": 3.0, "max_val": 3.0}] * 2),
        (
            "varpulis",
            "PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_any_match(a, b[], c) { [k] and a.x < c.x and b[i].x > 1 } "
            "WITHIN 2 minutes RETURN 1 AS one",
            {
                "steps": [
                    {"type": "A", "alias": "a", "plus": False, "conditions": [], "references": []},
                    {"type": "B", "alias": "b", "plus": True, "conditions": [["x", ">", 1]], "references": []},
                    {"type": "C", "alias": "c", "plus": False, "conditions": [], "references": [["x", ">", "a", "x"]]},
                ],
                "strategy": "any",
                "partition": "k",
                "within": 120,
            },
        ),
        (
            "googlesql",
            "MATCH_RECOGNIZE (ORDER BY x DESC MEASURES x AS m, COUNT(A.*) AS n AFTER MATCH SKIP TO NEXT ROW "
            "PATTERN (A (B | ()){2}?) DEFINE A AS x > PREV(x))",
            "SELECT TO_JSON_STRING(TO_JSON(m)) FROM (SELECT `cerify_place`, `x` FROM cerify_rows) MATCH_RECOGNIZE ("
            "ORDER BY `x` DESC, cerify_place MEASURES MATCH_NUMBER() AS cerify_number, "
            "ARRAY_AGG(STRUCT(MATCH_ROW_NUMBER() AS r, cerify_place AS p, CLASSIFIER() AS c)) AS cerify_rows, "
            "LAST(`x`) AS cerify_m0, COUNT(`A`.cerify_place) AS cerify_m1 AFTER MATCH SKIP TO NEXT ROW "
            "PATTERN ((`A` ((`B` | ())){2})) DEFINE `A` AS (`x` > PREV(`x`, 1)), `B` AS TRUE) AS m",
        ),
    ],
)
def test_the_words_of_an_engine(engine: str, query: str, words: Any) -> None:
    events = [{"type": "row", "x": 1}] if engine == "googlesql" else [{"type": t, "x": 1, "time": 0} for t in "AB"]
    assert WORDS[engine](asked(LANGUAGE_OF.get(engine, "cel"), query, events)) == words


@pytest.mark.parametrize(
    ("engine", "query"),
    [
        *(
            ("stix2", query)
            for query in ("A : B", "A+", "A PARTITION BY [x]", "A FILTER A[not x = 1]", "A ; B FILTER A.x = B.x")
        ),
        *(("clips", query) for query in ("A+", "A AND B", "A FILTER A[é = 1]")),
        *(
            ("pycer", query)
            for query in ("A AND B", "A ; B FILTER A.x = B.x", "A FILTER A[x in {1}]", "A FILTER A[y > 1]")
        ),
        *(
            ("rustevex", query)
            for query in ("A : B", "A+", "A FILTER A[x > 1]", "A ; B FILTER A[x = 1] FILTER B[y = 1]", "A{65}")
        ),
        ("varpulis", "PATTERN SEQ(A a, ~B b, C c) RETURN 1 AS one"),
        ("varpulis", "PATTERN SEQ(A+ a[], B b) WHERE b.x > a[1].x RETURN 1 AS one"),
        *(
            ("googlesql", f"MATCH_RECOGNIZE ({clause})")
            for clause in (
                "ALL ROWS PER MATCH PATTERN (^ A?)",
                "PATTERN (PERMUTE(A, B))",
                "PATTERN (A B) SUBSET U = (A, B)",
                "PATTERN (A B) DEFINE B AS x > A.x",
                "PATTERN (A) DEFINE A AS LAST(A.x) > 1",
                "PATTERN (())",
                "AFTER MATCH SKIP TO LAST A PATTERN (A B)",
                "MEASURES FIRST(A.x, 1) AS m PATTERN (A)",
            )
        ),
    ],
)
def test_what_an_engine_has_no_words_for_is_skipped(engine: str, query: str) -> None:
    events = [{"type": "row", "x": 1}] if engine == "googlesql" else [{"type": t, "x": 1} for t in "AB"]
    with pytest.raises(adapter.Skip):
        WORDS[engine](asked(LANGUAGE_OF.get(engine, "cel"), query, events))


@pytest.mark.parametrize(
    ("engine", "times_of", "most", "beyond"),
    [
        ("rustevex", lambda run: module_of("rustevex_adapter").times_of(run), 2**53, 2**53 + 1),
        (
            "pycer",
            lambda run: module_of("pycer_adapter").DeclaredQuery(run).times(),
            2**63 // 10**9,
            2**63 // 10**9 + 1,
        ),
    ],
)
def test_times_that_an_engine_cannot_hold_are_skipped(engine: str, times_of: Any, most: int, beyond: int) -> None:
    def times(*values: int) -> list[int]:
        return list(times_of(asked("cel", "A WITHIN 1 second", [{"type": "A", "time": value} for value in values])))

    assert times(0, most) == [0, most * (1 if engine == "rustevex" else 10**9)]
    with pytest.raises(adapter.Skip):
        times(0, beyond)


@pytest.mark.parametrize(
    "query",
    [
        "MATCH_RECOGNIZE (PATTERN (A*) DEFINE A AS x > 0)",
        "MATCH_RECOGNIZE (AFTER MATCH SKIP TO NEXT ROW PATTERN (A?) DEFINE A AS x > 0)",
        "MATCH_RECOGNIZE (PARTITION BY k ORDER BY x PATTERN (A* | B) DEFINE A AS x > 1)",
    ],
)
def test_the_places_of_empty_matches_follow_from_their_order(query: str) -> None:
    """GoogleSQL shows an empty match without its place: from what it shows the matches of the definition come back."""
    events = [{"type": "row", "x": x, "k": k} for x, k in ((0, 1), (2, 1), (0, 2), (3, 1), (1, 2), (2, 2), (0, 1))]
    run = asked("row-pattern", query, events)
    S = Stream([Event("row", {"x": e["x"], "k": e["k"]}) for e in events])
    module, partitions, orders = module_of("googlesql_adapter"), {}, []
    right = list(row_matches_of(parse_clause(query), S))
    expected = sorted(json.dumps(match.json(), sort_keys=True) for match in right)

    def shown(match: Any, n: int, place: int) -> dict[str, Any]:
        return {"r": n, "p": place, "c": next(name for name, of in match.bindings if place in of)}

    keyed = bool(run.tree and run.tree["partition"])
    for key in sorted({e["k"] for e in events}) if keyed else [None]:
        places = [n for n, e in enumerate(events) if key in (None, e["k"])]
        orders.append({"places": sorted(places, key=lambda n: (events[n]["x"], n)) if keyed else places})
        partitions[str(key)] = [
            {"cerify_number": m.match_number, "cerify_rows": [shown(m, n, p) for n, p in enumerate(m.events)] or None}
            for m in right
            if m.at in places
        ]  # fmt: skip
    found = module.with_empty(partitions, orders, run.tree["skip"]["to"], [])  # type: ignore[index]
    assert sorted(json.dumps(match, sort_keys=True) for match in found) == expected


# ---- core adapter ----
# The adapter for CORE: with the meaning of CEQL in the engine's place, it answers as the definition does.

HOME = engines.ADAPTERS / "cpp"
PROFILES = list(generate.PROFILES.values())


def meaning(translation: Json) -> list[Json]:
    """The complex events of a translation by the meaning of CEQL."""
    return Meaning(**translation).complex_events()


@pytest.fixture(scope="module")
def adapter_core_adapter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandIn]:
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


@pytest.mark.thorough
def test_a_measured_run_is_answered_with_the_number_of_matches_and_the_time(adapter_core_adapter: StandIn) -> None:
    (case,) = (case for case in load(None) if case.id == "cel/seq/001")
    reply = adapter_core_adapter.answer(run_of(case) | {"cmd": "measure"}, meaning)
    assert (reply["id"], reply["count"]) == (case.id, len(case.matches))
    assert reply["cpu"]["thread"] > 0
    assert reply["cpu"]["process"] > 0


@pytest.mark.thorough
def test_the_adapter_answers_the_suite_as_the_definition_does(adapter_core_adapter: StandIn) -> None:
    claims = claims_of_json(adapter_core_adapter.claims, "cel")
    compared = 0
    for case in load(None):
        if case.language != "cel" or claims.why_not(case):
            continue
        reply = adapter_core_adapter.answer(run_of(case), meaning)
        assert "error" not in reply, (case.id, reply)
        if "matches" in reply:
            compared += 1
            expected = [{"at": m.at, "events": m.events} for m in case.matches]
            if case.output == "valuations":
                expected = [one | {"bindings": dict(m.bindings)} for one, m in zip(expected, case.matches, strict=True)]
            assert answers(reply["matches"]) == answers(expected), (case.id, case.query)
    assert compared > 900


@pytest.mark.thorough
def test_it_answers_random_queries_as_the_definition_does(adapter_core_adapter: StandIn) -> None:
    rng, compared = Random(7), 0
    for number in range(200):
        phi = generate.formula(rng, PROFILES[number % len(PROFILES)], 7)
        times = sorted(rng.randrange(3) * rng.choice((1, 1800)) for _ in range(5))
        events = [{"type": rng.choice("ABC"), "x": rng.randrange(3), "y": rng.randrange(3), "time": t} for t in times]
        reply = adapter_core_adapter.answer(run_message("cel", show(phi), events), meaning)
        assert "error" not in reply, (show(phi), reply)
        if "matches" not in reply:
            continue
        compared += 1
        found = matches_of(phi, Stream([event_of_json(event, None, "") for event in events]))
        expected = {(m.at, tuple(m.events)) for m in found}
        assert {(m["at"], tuple(m["events"])) for m in reply["matches"]} == expected, (show(phi), events)
    assert compared > 50


@pytest.mark.thorough
def test_a_fault_of_the_search_is_seen(adapter_core_adapter: StandIn) -> None:
    case = next(case for case in load(None) if case.query == "A ; B" and case.matches)
    assert adapter_core_adapter.answer(run_of(case), meaning)["matches"]
    reply = adapter_core_adapter.answer(run_of(case), lambda _: [])
    assert reply["matches"] == []
    assert reply["translation"].splitlines()[1].startswith("SELECT")


@pytest.mark.thorough
def test_a_line_that_is_no_message_is_answered_and_does_not_end_the_conversation(adapter_core_adapter: StandIn) -> None:
    assert (
        adapter_core_adapter.ask([1, {"a": '\u00e9\n\\ "', "b": -2.5e3}])["error"]["message"]
        == "the message has no cmd"
    )
    assert "unknown cmd" in adapter_core_adapter.ask({"cmd": "sing"})["error"]["message"]
    assert adapter_core_adapter.process.stdin is not None
    adapter_core_adapter.process.stdin.write('{"cmd": ')
    assert "not JSON" in adapter_core_adapter.ask("\U0001f600")["error"]["message"]


@pytest.mark.thorough
def test_without_a_built_checkout_it_says_which_variable_names_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(shutil, "which", lambda program: program)
    monkeypatch.delenv("CERIFY_CORE_HOME", raising=False)
    with pytest.raises(InputError, match="CERIFY_CORE_HOME is not set"):
        engines.command_of("core")
    monkeypatch.setenv("CERIFY_CORE_HOME", str(tmp_path))
    with pytest.raises(InputError, match=r"contains no build/\*/libcore\.a"):
        engines.command_of("core")
    (tmp_path / "build" / "Release").mkdir(parents=True)
    (tmp_path / "build" / "Release" / "libcore.a").write_text("")
    assert engines.missing_for("core") is None
