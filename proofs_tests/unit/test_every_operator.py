"""Every operator of every language with a table goes through every stage once: a new one that is forgotten is found."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from cerify import api
from cerify.api import diagram_of
from cerify.equivalence.generate import cel as generate_cel
from cerify.equivalence.generate import core_cel as generate_core_cel
from cerify.equivalence.generate.shrink import shrink
from cerify.equivalence.verdict import Bounded, Equivalent
from cerify.explanations.cel import MatchExplanation, Rejected
from cerify.explanations.explanation import MembershipAnswer
from cerify.languages import language_named
from cerify.languages.language import Options
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Event, Stream
from cerify.semantics.trees import Operator
from proofs_tests.campaigns.definitions import DEFINITIONS
from proofs_tests.unit.semantics.test_operators import EVERY, LANGUAGES

S = Stream(Event(R, {"x": x}) for R, x in (("B", 0), ("A", 1), ("A", 1), ("A", 1), ("B", 2)))


def samples(language: str, operator: Operator) -> list[Any]:
    """Formulas with the operator at the root, over event types and over iterations."""
    module, _, parse, _ = LANGUAGES[language]
    plus = next(o for o in module.OPERATORS.values() if o.name == "plus").node
    leaves = [parse(text) for text in (("A", "B") if language == "cel" else ("A AS x", "B AS y"))]
    below = leaves[: len(operator.node.operands)]
    found = []
    for make in operator.instances():
        found += [make(*below), plus(make(*below))]
    return found


OPERATORS = [(language, operator) for language, operator in EVERY if language in DEFINITIONS]
pytestmark = pytest.mark.parametrize(("language", "operator"), OPERATORS, ids=lambda x: getattr(x, "name", x))


def test_it_is_checked(language: str, operator: Operator) -> None:
    for phi in samples(language, operator):
        checked = api.check(phi, S.schema, language=language)
        assert checked.summary
        assert checked.satisfiable is not False or operator.name == "and"  # A AND B has no match


def test_it_is_evaluated_alike(language: str, operator: Operator) -> None:
    """By the clauses alone, the interpreter and the automata."""
    for phi in samples(language, operator):
        answers = dict(DEFINITIONS[language].answers(phi, S, Random(1)))
        right = answers.pop("clauses")
        assert answers.keys() >= {"interpreter"}
        if type(phi) is operator.node:  # PARTITION BY and windows on values are carried at the root
            assert answers.keys() >= {"automaton", "kernel"}
        assert [name for name, answer in answers.items() if answer != right] == []


def test_it_is_explained(language: str, operator: Operator) -> None:
    """A match has a derivation, and a set that is none has a reason."""
    its = language_named(language)
    for phi in samples(language, operator):
        matches = list(its.evaluators.matches(phi, S, "denotational", Options()))
        for one in matches[:3]:
            found = api.explain(phi, S, one.events, at=one.at, language=language)
            assert isinstance(found, MatchExplanation) or (isinstance(found, MembershipAnswer) and found.match)
        for C in ((0,), (0, 1), (1, 3), (0, 2, 4)):
            if all((m.events, m.at) != (C, C[-1]) for m in matches):
                found = api.explain(phi, S, C, language=language)
                assert isinstance(found, Rejected) or (isinstance(found, MembershipAnswer) and not found.match)


def test_it_is_compared_with_itself(language: str, operator: Operator) -> None:
    for phi in samples(language, operator):
        verdict = api.equivalent(phi, phi, languages=(language, language), bound=2)
        assert isinstance(verdict, Equivalent | Bounded), verdict


def test_it_is_shrunk(language: str, operator: Operator) -> None:
    """Down to the operator, wherever it stands: a shrinker that does not know it could not go below it."""
    its = language_named(language)
    for phi in samples(language, operator):
        smaller, stream = shrink(
            its.operations(),
            phi,
            S,
            lambda psi, _: any(type(part) is operator.node for part in its.syntax.subterms(psi)),
        )
        assert len(stream) == 0
        assert its.syntax.size(smaller) <= its.syntax.size(phi)
        assert type(smaller) is operator.node


def test_it_is_generated(language: str, operator: Operator) -> None:
    if not operator.node.operands:
        return
    rng = Random(operator.name)
    if language == "cel":
        profile: Any = generate_cel.CelProfile(((operator.name, 1), ("or", 1)))
        found: list[Any] = [generate_cel.formula(rng, profile, 5) for _ in range(20)]
    else:
        core_profile = generate_core_cel.CoreProfile(((operator.name, 1), ("or", 1)))
        found = [generate_core_cel.formula(rng, core_profile, 5) for _ in range(20)]
    its = language_named(language)
    assert any(type(part) is operator.node for phi in found for part in its.syntax.subterms(phi))


def test_it_is_drawn(language: str, operator: Operator) -> None:
    its = language_named(language)
    for phi in samples(language, operator):
        try:
            assert diagram_of(its.syntax.show(phi), language) is not None
        except Unsupported:
            assert operator.name in ("partition", "perkey", "within"), "an automaton carries all but windows on values"
