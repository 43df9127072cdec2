"""Predicates over sets of events that a user registers."""

from __future__ import annotations

import pickle

import pytest

from cerify.semantics.cel.denote import (
    Events,
    Predicates,
    WithRepetitions,
    find_named_atoms,
    in_relation,
    require_registered,
    sup,
    unregistered,
)
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import IllFormed, Unsupported
from proofs_tests.support import stream


def same_zone(left: Events, right: Events) -> bool:
    return {event.get("zone") for event in left} == {event.get("zone") for event in right}


def rising(events: Events) -> bool:
    values = [event.attributes["zone"] for event in events]
    return values == sorted(values)  # type: ignore[type-var]


S = stream("A A B B", zone=[1, 2, 2, 1])


def matches(query: str, at: int, **predicates: object) -> set[tuple[int, ...]]:
    mus = Interpreter(S, predicates=predicates).meaning(parse(query), 0, at)  # type: ignore[arg-type]
    return {tuple(sorted(sup(mu))) for mu in mus}


def test_a_predicate_is_over_the_sets_that_the_variables_bind() -> None:
    assert matches("A ; B FILTER same_zone(A, B)", 3, same_zone=same_zone) == {(0, 3)}
    assert matches("A+ ; B+ FILTER same_zone(A, B)", 3, same_zone=same_zone) == {(0, 3), (0, 1, 2, 3)}


def test_events_come_in_the_order_of_the_stream() -> None:
    assert (0, 1, 2) in matches("(A OR B)+ IN X FILTER rising(X)", 2, rising=rising)
    assert (2, 3) not in matches("(A OR B)+ IN X FILTER rising(X)", 3, rising=rising)


def test_a_variable_that_binds_nothing_gives_an_empty_set() -> None:
    assert matches("A FILTER none(Z)", 0, none=lambda events: events == ()) == {(0,)}


def test_with_and_and_or_it_is_an_atom_as_any_other() -> None:
    assert matches("A ; B FILTER same_zone(A, B) AND A.zone > 1", 3, same_zone=same_zone) == set()
    assert matches("A ; B FILTER same_zone(A, B) OR A.zone > 1", 3, same_zone=same_zone) == {(0, 3), (1, 3)}


def test_two_interpreters_know_different_predicates() -> None:
    """A registry is a value: nothing is registered for everybody."""
    assert matches("A FILTER ok(A)", 1, ok=lambda events: True) == {(1,)}
    assert matches("A FILTER ok(A)", 1, ok=lambda events: False) == set()
    with pytest.raises(Unsupported):
        matches("A FILTER ok(A)", 1)


@pytest.mark.parametrize(
    ("query", "predicates", "error", "says"),
    [
        ("A FILTER ok(A)", {}, Unsupported, "ok is not registered; none is registered"),
        ("A FILTER ok(A)", {"b": rising, "a": rising}, Unsupported, "ok is not registered; registered are a, b"),
        ("A FILTER ok(A)", {"ok": 5}, IllFormed, "ok is 5; it has to be a function"),
        ("A FILTER ok(A)", {"ok": None}, IllFormed, "ok is None; it has to be a function"),
        ("A FILTER ok(A, A)", {"ok": rising}, IllFormed, "ok is given 2 variables, and its function takes (events:"),
        ("A FILTER ok(A)", {"ok": lambda events: 1 / 0}, IllFormed, "ok failed with ZeroDivisionError: div"),
        ("A FILTER ok(A)", {"ok": lambda events: 1}, IllFormed, "ok answered 1; it has to answer True or False"),
        ("A FILTER ok(A)", {"ok": lambda events: None}, IllFormed, "ok answered None"),
    ],
)  # fmt: skip
def test_errors_name_the_predicate_and_its_place(
    query: str, predicates: Predicates, error: type[Unsupported | IllFormed], says: str
) -> None:
    with pytest.raises(error) as caught:
        Interpreter(S, predicates=predicates).meaning(parse(query), 0, 0)
    assert says in caught.value.message
    assert caught.value.span is not None
    assert query[caught.value.span.start : caught.value.span.end].startswith("ok(")


def test_what_is_not_registered_is_an_error_even_where_nothing_matches() -> None:
    with pytest.raises(Unsupported):
        Interpreter(S).meaning(parse("Z ; A FILTER ok(A)"), 0, 0)


def test_a_formula_tells_which_predicates_it_needs() -> None:
    phi = parse("(A FILTER f(A)) ; (B FILTER B.zone = 1 AND g(A, B))")
    assert [(atom.name, atom.variables) for atom in find_named_atoms(phi)] == [("f", ("A",)), ("g", ("A", "B"))]
    require_registered(phi, {"f": rising, "g": same_zone})


def test_a_builtin_that_hides_its_signature_is_called() -> None:
    assert matches("A FILTER ok(A)", 0, ok=bool) == {(0,)}


def is_pair(events: Events) -> bool:
    return len(events) == 2


@pytest.mark.parametrize(
    ("predicate", "zones", "expected"),
    [
        (is_pair, [1, 1], set()),
        (is_pair, [1, 2], {(0, 1)}),
        (is_pair, [1, True], {(0, 1)}),
        (WithRepetitions(is_pair), [1, 1], {(0, 1)}),
        (WithRepetitions(is_pair), [1, 2], {(0, 1)}),
    ],
)
def test_a_set_has_equal_events_once(predicate: object, zones: list[int], expected: set[tuple[int, ...]]) -> None:
    """Figure 3 hands over S[μ(A)], a set of tuples (docs/decisions/registered-predicates.md)."""
    mus = Interpreter(stream("A A", zone=zones), predicates={"pair": predicate}).meaning(  # type: ignore[dict-item]
        parse("A+ FILTER pair(A)"), 0, 1
    )
    assert {tuple(sorted(sup(mu))) for mu in mus} == expected


def test_a_wrapped_predicate_is_checked_as_its_function_is() -> None:
    for wrong in (WithRepetitions(same_zone), WithRepetitions(5)):  # type: ignore[arg-type]
        with pytest.raises(IllFormed):
            matches("A FILTER ok(A)", 0, ok=wrong)
    assert pickle.loads(pickle.dumps(WithRepetitions(rising))) == WithRepetitions(rising)


def test_what_is_not_registered_is_a_value_and_what_is_no_predicate_an_error() -> None:
    phi = parse("(A ; B) FILTER same(A, B)")
    refused = unregistered(phi, {"rising": rising})
    assert isinstance(refused, Unsupported)
    assert refused.message == "the predicate same is not registered; registered are rising"
    assert unregistered(phi, {"same": same_zone}) is None
    for wrong in (rising, 3):  # of one variable; no function
        with pytest.raises(IllFormed):
            unregistered(phi, {"same": wrong})  # type: ignore[dict-item]


def test_the_relation_of_a_predicate_that_is_not_registered() -> None:
    (atom,) = find_named_atoms(parse("(A ; B) FILTER same(A, B)"))
    with pytest.raises(Unsupported, match="the predicate same is not registered; none is registered"):
        in_relation(atom, ((), ()), {})
