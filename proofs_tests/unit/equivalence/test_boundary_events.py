"""Events at the edges of predicates find what is left out of a list of types of events."""

from __future__ import annotations

import sys

import pytest

from cerify.api import equivalent
from cerify.automata.algebra import values
from cerify.automata.algebra.finite import minterms
from cerify.equivalence.decide.boundary_events import unlisted
from cerify.equivalence.decide.checker import expression_flaw, flaw
from cerify.equivalence.verdict import Equivalent
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Schema
from cerify.semantics.predicates import Attribute, Comparison, Constant, OfType
from cerify.semantics.values import Value
from proofs_tests.unit.automata.test_algebra import predicates

TYPES = Schema({"A": {"x": "int", "f": "float", "s": "string"}, "B": {"b": "bool", "t": "timestamp"}})
ENDS = (values.FIRST_TIME, values.LAST_TIME)
LISTS = [
    ["x = 3"],
    ["x > 3", "x < 5"],
    ["f = 9007199254740992"],
    ["f in {0.5, 1e308}", "f >= 0.5"],
    ["f in range(-1, 1)", "f != 0.25"],
    ["s < 'b'", "s = 'é'"],
    ["b = true"],
    ["t >= timestamp '2021-01-01T00:00:00Z'", "t > timestamp '2021-01-01T00:00:00Z'"],
    ["x = 3", "s = 'a'"],
]


@pytest.mark.parametrize("schema", [None, TYPES])
@pytest.mark.parametrize("texts", LISTS, ids=" and ".join)
def test_every_type_that_is_left_out_is_found(texts: list[str], schema: Schema | None) -> None:
    some = [OfType("A"), *predicates(*texts)]
    listed = {minterm.chosen for minterm in minterms(some, schema)}
    assert unlisted(some, listed, schema) is None
    for type_ in listed:
        found = unlisted(some, listed - {type_}, schema)
        assert found is not None, type_
        assert schema is None or set(found.attributes) <= set(schema.types[found.type])


@pytest.mark.parametrize("constant", [10**400, -(10**400), sys.float_info.max, *ENDS, ""], ids=str)
def test_there_is_nothing_beyond_the_last_value(constant: Value) -> None:
    some = [Comparison("<=", Attribute("x"), Constant(constant))]
    assert unlisted(some, {minterm.chosen for minterm in minterms(some)}, None) is None


def test_it_ends_with_the_time_of_the_call() -> None:
    with pytest.raises(BudgetExceeded), Budget(seconds=0).timed():
        unlisted(predicates("x = 1"), {frozenset()}, None)


def test_a_certificate_that_rests_on_a_wrong_list_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The algebra had no float of 2^53 and more, and this was proved, and its certificate accepted."""
    right = values._exact_float
    monkeypatch.setattr(values, "_exact_float", lambda n: None if n is not None and abs(n) >= 2**53 else right(n))
    queries = "A FILTER A[x = 9007199254740993.0]", "A FILTER A[x < 0 and x > 0]"
    proof = equivalent(*queries, schema=Schema({"A": {"x": "float"}}))
    assert isinstance(proof, Equivalent)
    assert "lack that of Event(type='A', attributes={'x': 9007199254740992.0})" in (flaw(proof.certificate) or "")
    schema, both = Schema({"a": {"x": "float"}}), ("event-expression", "event-expression")
    proof = equivalent("a[x = 9007199254740993.0]", "NULL", schema=schema, languages=both)
    assert isinstance(proof, Equivalent)
    assert "lack that of Event(type='a', attributes={'x'" in (expression_flaw(proof.certificate) or "")
