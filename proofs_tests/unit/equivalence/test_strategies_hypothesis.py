"""The Hypothesis strategies: what they give is what was asked for, and what fails is brought down to little."""

from __future__ import annotations

import builtins
import importlib
import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from cerify.automata.evaluate import streaming
from cerify.equivalence.generate.cel import CORE, EVERYTHING, PROFILES, TYPED
from cerify.equivalence.generate.hypothesis import cases, formulas, schemas, streams
from cerify.equivalence.rewrite.simplify import simplify
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.check import require_typed
from cerify.semantics.cel.interpreter import complex_events, matches_of
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import Formula, show, size, subformulas
from cerify.semantics.events import Schema, Stream
from proofs_tests.support import sampled

FEW = settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))

SOME = settings(max_examples=300, derandomize=True, database=None, deadline=None)
FIRST = settings(SOME, phases=[Phase.generate])
"""The first one that is found will do, however large it is."""


@pytest.mark.parametrize("name", sampled(PROFILES, ["typed", "everything"]))
def test_formulas_have_the_size_and_the_operators_and_are_well_typed(name: str) -> None:
    profile = PROFILES[name]

    @FEW
    @given(formulas(profile, 9))
    def holds(phi: Formula) -> None:
        assert size(phi) <= 9
        assert parse(show(phi)) == phi
        require_typed(phi, profile.schema)

    holds()


def test_every_operator_is_reached_and_no_other() -> None:
    for operator in (cel.Max, cel.Unless, cel.Filter):
        find(
            formulas(EVERYTHING),
            lambda phi, kind=operator: any(isinstance(p, kind) for p in subformulas(phi)),
            settings=FIRST,
        )  # type: ignore[misc]
    core = (cel.EventAtom, cel.In, cel.Filter, cel.Seq, cel.Plus, cel.ContiguousSeq, cel.ContiguousPlus, cel.Or)

    @FEW
    @given(formulas(CORE))
    def holds(phi: Formula) -> None:
        assert all(isinstance(psi, core) for psi in subformulas(phi))

    holds()


def test_a_formula_that_fails_is_brought_down_to_its_core() -> None:
    phi = find(
        formulas(EVERYTHING, 14),
        lambda phi: any(isinstance(p, cel.Unless) for p in subformulas(phi)) and size(phi) >= 3,
        settings=SOME,
    )
    assert show(phi) == "A UNLESS A"


@pytest.mark.thorough
def test_a_case_that_fails_is_brought_down_to_its_core() -> None:
    """A wrong rule: that every match has at most two events."""
    phi, S = find(
        cases(CORE),
        lambda case: any(len(m.events) > 2 for m in matches_of(*case)),
        settings=SOME,
    )
    assert size(phi) <= 2
    assert len(S) == 3


@FEW
@given(schemas().flatmap(lambda schema: st.tuples(st.just(schema), streams(schema))))
def test_streams_of_a_schema_are_streams_of_it(found: tuple[Schema, Stream]) -> None:
    schema, S = found
    assert S.schema == schema
    assert len(S) <= 10
    assert S.table.num_rows == len(S)  # each value fits the column that the schema gives it
    for event in S:
        assert set(event.attributes) <= set(schema.types[event.type])


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("A ; B FILTER A.x > 41 AND B.x <= 0.5", marks=pytest.mark.thorough),
        "A FILTER A.s = 'abc'",
        "A+ FILTER A[b = true]",
        "A WITHIN 3 [v]",
    ],
)
def test_streams_of_a_formula_can_match_it(query: str) -> None:
    phi = parse(query)
    S = find(streams(phi), lambda S: any(matches_of(phi, S)), settings=SOME)
    assert len(S) <= 2


@FEW
@given(cases(EVERYTHING, nodes=8, events=6))
def test_simplifying_changes_no_complex_event(case: tuple[Formula, Stream]) -> None:
    phi, S = case
    psi = simplify(phi, budget=Budget(states=300), tries=40).phi
    assert size(psi) <= size(phi)
    for n in range(len(S)):
        assert complex_events(phi, S, n) == complex_events(psi, S, n)


@FEW
@given(cases(TYPED, nodes=8, events=6))
def test_the_automaton_agrees_with_the_denotation(case: tuple[Formula, Stream]) -> None:
    assert streaming.matches(*case) == matches_of(*case)


def test_without_hypothesis_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *arguments: Any, **named: Any) -> Any:
        if name.partition(".")[0] == "hypothesis":
            raise ModuleNotFoundError("No module named 'hypothesis'")
        return real(name, *arguments, **named)

    monkeypatch.delitem(sys.modules, "cerify.equivalence.generate.hypothesis")
    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(ImportError, match=r"pip install 'cerify\[hypothesis\]'"):
        importlib.import_module("cerify.equivalence.generate.hypothesis")
