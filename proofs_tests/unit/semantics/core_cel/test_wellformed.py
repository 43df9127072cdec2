"""Variables, well-formed and safe formulas, LP-normal form, and the problems that are told to the user."""

from __future__ import annotations

import pytest

from cerify.semantics.core_cel.check import (
    bound,
    defined,
    defined_outside_iteration,
    free,
    is_lp_normal,
    is_safe,
    is_unary,
    is_well_formed,
    problems,
    require_typed,
    type_errors,
    variables,
)
from cerify.semantics.core_cel.interpreter import matches_of
from cerify.semantics.core_cel.parse import parse
from cerify.semantics.errors import IllFormed
from cerify.semantics.events import Event, Schema, Stream
from proofs_tests.support import sampled
from proofs_tests.unit.semantics.core_cel.examples import EXAMPLES
from proofs_tests.unit.semantics.core_cel.formulas import cases

SCHEMA = Schema(
    {
        "T": {"id": "int", "tmp": "float", "room": "string", "on": "bool"},
        "H": {"id": "int", "hum": "float"},
    }
)


@pytest.mark.parametrize(
    ("query", "vars_", "vdef", "vdef_plus", "free_", "bound_"),
    [
        ("T AS x", "x", "x", "x", "x", "x"),
        ("T AS x FILTER x.a = y.a AND z.a = 1", "xyz", "x", "x", "xyz", "x"),
        ("T AS x OR H AS y", "xy", "xy", "xy", "xy", ""),
        ("T AS x OR H AS x", "x", "x", "x", "x", "x"),
        ("T AS x ; H AS y", "xy", "xy", "xy", "xy", "xy"),
        ("(T AS x FILTER x.a = y.a)+", "xy", "x", "", "y", ""),
        ("T AS x ; (H AS y ; (T AS z)+)+", "xyz", "xyz", "x", "x", "x"),
        ("(T AS x ; (H AS y)+ FILTER y.a = 1)+", "xy", "xy", "", "y", ""),
        ("NXT(T AS x ; H AS y)", "xy", "xy", "xy", "xy", "xy"),
        ("MAX(T AS x OR H AS y)", "xy", "xy", "xy", "xy", ""),
    ],
)
def test_variables(query: str, vars_: str, vdef: str, vdef_plus: str, free_: str, bound_: str) -> None:
    phi = parse(query)
    found = variables(phi), defined(phi), defined_outside_iteration(phi), free(phi), bound(phi)
    assert found == tuple(map(frozenset, (vars_, vdef, vdef_plus, free_, bound_)))


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_running_examples(name: str) -> None:
    phi = parse(EXAMPLES[name][0])
    assert is_well_formed(phi) == (name != "not well-formed")
    assert is_safe(phi) == (name != "unsatisfiable")
    assert is_unary(phi) == (name != "correlated")
    assert is_lp_normal(phi) == (name == "unsatisfiable")


@pytest.mark.parametrize(
    ("query", "well_formed"),
    [
        ("T AS x FILTER x.id = 1", True),
        ("T AS x FILTER x.id = y.id", False),
        ("(T AS x OR H AS y) FILTER x.id = 1", False),
        ("(T AS x OR H AS x) FILTER x.id = 1", True),
        ("(T AS x FILTER x.id = 1) OR H AS y", True),
        ("(T AS x)+ FILTER x.id = 1", False),
        ("(T AS x FILTER x.id = 1)+", True),
        ("H AS x ; (T AS y FILTER x.id = y.id)+", True),
        ("(T AS y FILTER x.id = y.id) OR H AS x", False),
        ("NXT(T AS x) FILTER x.id = 1", True),
        ("(T AS y FILTER x.id = 1) ; H AS x", True),
    ],
)
def test_well_formed(query: str, well_formed: bool) -> None:
    """The binding sub-formula may stand anywhere around the filter, later in the sequence too."""
    assert is_well_formed(parse(query)) == well_formed
    assert ([p.rule for p in problems(parse(query))] == []) == well_formed


@pytest.mark.parametrize(
    ("query", "safe"),
    [
        ("T AS x ; T AS x", False),
        ("T AS x ; (T AS x)+", True),
        ("(T AS x ; H AS x)+", False),
        ("(T AS x OR H AS y) ; T AS x", False),
        ("(T AS x ; H AS y) OR (H AS y ; T AS x)", True),
        ("T AS x ; H AS y ; MAX(T AS x)", False),
    ],
)
def test_safe(query: str, safe: bool) -> None:
    assert is_safe(parse(query)) == safe


@pytest.mark.parametrize(
    ("query", "normal"),
    [
        ("T AS x FILTER x.tmp > 40", True),
        ("T AS x FILTER x.tmp > 40 AND x.id = 0", True),
        ("T AS x FILTER x.tmp > 40 AND (x.id = 0 OR x.id = 1)", True),
        ("(T AS x FILTER x.tmp > 40) ; H AS y FILTER x.id = y.id", True),
        ("T AS x FILTER x.tmp > 40 AND x.id = y.id", True),
        ("T AS x FILTER x.id = y.id AND x.tmp > 40", False),
        ("T AS x FILTER (x.id = 0 OR x.id = 1) AND x.tmp > 40", False),
        ("T AS x FILTER y.tmp > 40", False),
        ("(T AS x ; H AS y) FILTER x.tmp > 40", False),
        ("NXT(T AS x) FILTER x.tmp > 40", False),
        ("(T AS x FILTER x.tmp > 40)+", True),
    ],
)
def test_lp_normal(query: str, normal: bool) -> None:
    """By AND a filter stands on a filter, by OR it stands on both sides of an OR."""
    assert is_lp_normal(parse(query)) == normal


def found(query: str, schema: Schema | None = SCHEMA) -> list[tuple[str, str]]:
    """The rules that the query breaks, each with the text that is underlined."""
    return [(p.rule, query[p.span.start : p.span.end] if p.span else "") for p in problems(parse(query), schema)]


@pytest.mark.parametrize("name", ["phi1", "phi2", "phi3", "correlated", "conditional"])
def test_the_running_examples_have_no_problem(name: str) -> None:
    assert found(EXAMPLES[name][0]) == []


@pytest.mark.parametrize(
    ("query", "rule", "place"),
    [
        ("T AS x ; X AS y", "event_type", "X AS y"),
        ("T AS x FILTER x.hum > 1", "attribute", "x.hum > 1"),
        ("T AS x FILTER x[tmp > 1 and hum > 1]", "attribute", "x[tmp > 1 and hum > 1]"),
        ("(T AS x ; H AS y) FILTER x.tmp = y.tmp", "attribute", "x.tmp = y.tmp"),
        ("(T AS x OR H AS x) FILTER x.tmp > 1", "attribute", "x.tmp > 1"),
        ("T AS x ; (H AS y FILTER x.hum > 1)+", "attribute", "x.hum > 1"),
        ("T AS x ; (H AS x FILTER x.tmp > 1)+", "attribute", "x.tmp > 1"),
        ("T AS x FILTER x.tmp = 'hot'", "kind", "x.tmp = 'hot'"),
        ("(T AS x ; H AS y) FILTER x.room = y.id", "kind", "x.room = y.id"),
        ("T AS x FILTER x.room + 1 > 2", "arithmetic", "x.room + 1 > 2"),
        ("T AS x FILTER x.on > false", "order", "x.on > false"),
        ("T AS x FILTER x.tmp like '4.*'", "like", "x.tmp like '4.*'"),
    ],
)
def test_a_type_error_is_found_and_underlined(query: str, rule: str, place: str) -> None:
    """A query with one of these would silently match nothing."""
    assert found(query) == [(rule, place)]
    assert found(query, None) == []
    with pytest.raises(IllFormed) as error:
        require_typed(parse(query), SCHEMA)
    assert error.value.span is not None
    assert query[error.value.span.start : error.value.span.end] == place


@pytest.mark.parametrize(
    "query",
    [
        "(T AS x FILTER x.tmp > 1) OR (H AS x FILTER x.hum > 1)",
        "(T AS x OR H AS x) FILTER x.id = 1 AND x.time > 3",
        "T AS x ; (H AS x FILTER x.hum > 1)+ FILTER x.tmp > 1",
        "T AS x FILTER x.id < 2.5 AND x[tmp / 2 + id > -1 and on != true and room like 'x']",
    ],
)
def test_no_type_error_where_there_is_none(query: str) -> None:
    """What a variable can hold follows the branches and the iterations."""
    assert found(query) == []


@pytest.mark.parametrize(
    ("query", "rule", "place"),
    [
        ("T AS x ; (T AS x)", "unsafe", "T AS x ; (T AS x)"),
        ("H AS x FILTER y.tmp > 40", "unbound", "y.tmp > 40"),
        ("(T AS x OR H AS y) FILTER x.tmp > 40", "unbound", "x.tmp > 40"),
        ("(T AS x)+ FILTER x.tmp > 40", "unbound", "x.tmp > 40"),
        ("T AS x ; ((H AS x OR H AS y) FILTER x.id = 1)+", "unbound", "x.id = 1"),
    ],
)
def test_a_misused_variable_is_a_problem_but_no_type_error(query: str, rule: str, place: str) -> None:
    """The last one is well-formed as printed, though its x is chosen anew in each round and may be a later event."""
    assert found(query) == found(query, None) == [(rule, place)]
    assert type_errors(parse(query), SCHEMA) == []
    require_typed(parse(query), SCHEMA)


@pytest.mark.parametrize("number", sampled([1000, 3000], [1000]))
def test_a_formula_without_unbound_variables_does_not_look_ahead(number: int) -> None:
    """What well-formed formulas are for (section 5.1): more events change nothing about the complex events so far."""
    checked = 0
    for phi, S in cases(4, number):
        if any(p.rule == "unbound" for p in problems(phi)):
            continue
        for more in ("A", "B"):
            longer = Stream([*S, Event(more, {"a": 1})])
            assert [m for m in matches_of(phi, longer) if m.at < len(S)] == matches_of(phi, S)
        checked += 1
    assert checked > number / 10


def test_problems_say_how_to_mend_it() -> None:
    [unbound] = problems(parse("(T AS x OR H AS y) FILTER x.tmp > 40"))
    assert unbound.message == (
        "x need not hold an event of the match here, so that any event, even a later one, may pass the filter; "
        "bound here are no variable: define x on every way through the filtered formula, or around it"
    )
    [unsafe] = problems(parse("T AS x ; T AS x"))
    assert "give one of them another name" in unsafe.message
