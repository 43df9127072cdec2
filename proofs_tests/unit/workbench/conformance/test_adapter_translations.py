"""The adapters in Java: with the meaning of their translations in the engine's place, they answer as the definition."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from random import Random
from typing import Any, TypeAlias

import pytest

from cerify import protocol
from cerify.conformance import sql
from cerify.conformance.campaigns import ClaimedMaker
from cerify.conformance.cases import Claims, claims_of_json, load
from cerify.conformance.engines import ADAPTERS
from cerify.conformance.harness import message_of
from cerify.conformance.model import Case
from cerify.languages import LANGUAGES
from cerify.semantics import trees
from cerify.semantics.cel.syntax import ContiguousPlus, ContiguousRepeat, Formula, Plus, Repeat
from cerify.semantics.json_events import json_of_event, json_of_schema
from cerify.semantics.predicates import Comparator, Comparison
from cerify.semantics.sase.syntax import Block, Conjunct, SaseQuery
from proofs_tests.tools.adapter_cases import matches
from proofs_tests.unit.workbench.conformance import epl, sase_file, siddhi_ql, sql_statement
from proofs_tests.unit.workbench.conformance.stand_in import Json, Search, StandIn, answers

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
ESPER, SIDDHI, NOTHING = always(epl.rows), always(siddhi_ql.rows), always(lambda translation: ())
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
    generator = language.generator()
    maker = ClaimedMaker(language, generator.case, claims, generator.stream)
    for number in range(of.cases):
        query, S = maker(rng, generator.profiles[of.profile], 6, 6)
        query = varied(rng, query)
        schema = None if S.schema is None else json_of_schema(S.schema)
        events = tuple(map(json_of_event, S))
        yield Case(str(number), "", "", of.language, language.show(query), schema, events, of.output, ())


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
    for case in (claims.asked(case) for case in cases if not claims.why_not(case)):
        message = message_of(case)
        search = of.search(message)
        reply = adapter.answer(message, search if fault is None else lambda t, search=search: search(fault(t)))
        if "tables" in reply:
            reply = sql.answer(case, reply["tables"])
        if "matches" in reply:
            expected = answers(map(protocol.json_of_match, matches(message)))
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
