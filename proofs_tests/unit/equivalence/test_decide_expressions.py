"""Equivalence and containment of event expressions: against the meaning, and with shortest histories."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise, product
from random import Random
from typing import assert_never

import pytest

from cerify.automata.dfa.compile import compile_expression, compile_together
from cerify.automata.dfa.model import separating_word
from cerify.equivalence.decide.checker import expression_flaw as flaw
from cerify.equivalence.decide.expressions import contained, equivalent, pairings, shortest_history, values_for
from cerify.equivalence.generate.expressions import PROFILES, VALUED_PROFILES, case, expression, history
from cerify.equivalence.generate.expressions import expression as random_expression
from cerify.equivalence.verdict import Certificate, Contained, Different, Equivalent, Undecided
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions import syntax as text_of
from cerify.semantics.event_expressions.denote import expanded
from cerify.semantics.event_expressions.interpreter import takes_place
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.event_expressions.syntax import show
from cerify.semantics.events import Event, Match, Schema, Stream
from proofs_tests.claims.vldb92_regular import (
    Nothing,
    Regular,
    RegularConcatenation,
    RegularLetter,
    RegularPlus,
    RegularUnion,
    regular,
    regular_of,
)
from proofs_tests.claims.vldb92_regular import expression as expression_regular
from proofs_tests.claims.vldb92_regular import show as show_regular
from proofs_tests.support import sampled
from proofs_tests.unit.semantics import expression_cases as examples

# ---- decide expressions ----
#

LETTERS = (Event("a"), Event("b"), Event("c"), Event("z"))


def streams(length: int) -> list[Stream]:
    begun = [Stream([Event("start"), *rest]) for n in range(length) for rest in product(LETTERS, repeat=n)]
    return [*begun, *(Stream(rest) for n in range(1, length + 1) for rest in product(LETTERS, repeat=n))]


STREAMS = sorted(streams(4), key=len)


@pytest.mark.thorough
@pytest.mark.parametrize("pairs", sampled([10, 25], [10]))
@pytest.mark.parametrize("name", ["base", "derived", "started", "correlated"])
def test_against_the_meaning_on_all_short_histories(name: str, pairs: int) -> None:
    rng = Random(11)
    said = {"same": 0, "different": 0}
    for _ in range(pairs):
        E, F = (expression(rng, PROFILES[name], rng.randint(1, 5)) for _ in range(2))
        for decide, apart in ((equivalent, lambda x, y: x != y), (contained, lambda x, y: x - y)):
            verdict = decide(E, F)
            first = next((S for S in STREAMS if apart(takes_place(E, S), takes_place(F, S))), None)
            if isinstance(verdict, Different):
                said["different"] += 1
                assert verdict.shortest
                assert apart(takes_place(E, verdict.stream), takes_place(F, verdict.stream))
                assert len(verdict.stream) == len(first) if first else len(verdict.stream) > 4
            else:
                said["same"] += 1
                assert isinstance(verdict, Equivalent if decide is equivalent else Contained)
                assert flaw(verdict.certificate) is None
                assert first is None, f"{show(E)}, {show(F)}"
    assert min(said.values()) >= 1, said


def test_what_the_derived_operators_are_short_for() -> None:
    rng = Random(3)
    for _ in range(60):
        E, _ = case(rng, PROFILES["derived"], 6, 0)
        assert isinstance(equivalent(E, expanded(E)), Equivalent), show(E)


@pytest.mark.parametrize(("left", "right"), [
    (examples.NESTED_CUT, examples.PIPED_CUT),
    (examples.NESTED_CUT, examples.CORRELATED_CUT),
    ("exists x (a = x and x)", "a"),
    ("prior(a = x, x) or b", "prior(b = x, x) or b"),
    ("p := a or b; <2> p", "p := b or a; <2> p"),
    ("start", "start and first"),
    ("a[n > 3] or a[n <= 3] or a[n = 5]", "a[n > 3] or a[n <= 3]"),
])  # fmt: skip
def test_equivalent(left: str, right: str) -> None:
    assert isinstance(equivalent(parse(left), parse(right)), Equivalent)


def test_a_difference_is_shown_on_a_shortest_history() -> None:
    verdict = equivalent(parse("prior(a, <2> b)"), parse("relative(a, <2> b)"))
    assert isinstance(verdict, Different)
    assert [event.type for event in verdict.stream] == ["b", "a", "b"]
    assert (verdict.at, verdict.left_only, verdict.right_only) == (2, (Match(2, (2,)),), ())
    assert verdict.shortest
    assert isinstance(contained(parse("relative(a, <2> b)"), parse("prior(a, b)")), Contained)
    other = contained(parse("prior(a, b)"), parse("relative(a, <2> b)"))
    assert isinstance(other, Different)
    assert (other.left_only, other.right_only) == ((Match(1, (1,)),), ())


def test_a_schema_leaves_fewer_histories() -> None:
    schema = Schema({"a": {"n": "int"}})
    E, F = parse("a[n > 1]"), parse("a[n >= 2]")
    assert isinstance(equivalent(E, F), Different)  # 1.5
    assert isinstance(equivalent(E, F, schema), Equivalent)
    assert isinstance(equivalent(parse("any"), parse("a"), schema), Equivalent)


@pytest.mark.parametrize("claim", [equivalent, contained])
def test_a_history_of_a_schema_has_a_start_event_only_if_the_schema_has_one(claim: Callable[..., object]) -> None:
    without, begun = Schema({"a": {}}), Schema({"a": {}, "start": {}})
    verdict = claim(parse("!a"), parse("NULL"), without)
    assert isinstance(verdict, Equivalent if claim is equivalent else Contained)
    assert flaw(verdict.certificate) is None
    assert flaw(replace(verdict.certificate, schema=begun)) is not None
    found = claim(parse("!a"), parse("NULL"), begun)
    assert isinstance(found, Different)
    assert [event.type for event in found.stream] == ["start"]
    verdict = claim(parse("!a"), parse("start"), begun)
    assert isinstance(verdict, Equivalent if claim is equivalent else Contained)
    assert flaw(verdict.certificate) is None


def test_what_is_not_decided_says_why() -> None:
    said = equivalent(parse("prior(a(X), b(X))"), parse("b"))
    assert said == Undecided(
        "an expression has attribute variables; give a schema, which says what the arguments stand for"
    )
    small = equivalent(parse("<20> a"), parse("<21> a"), None, Budget(states=5))
    assert isinstance(small, Undecided)


def test_whether_it_takes_place_at_all() -> None:
    assert shortest_history(parse("a and b")) is None
    assert shortest_history(parse("!prefix(a)")) is None
    found = shortest_history(parse("<2> a[n > 3]"))
    assert found is not None
    assert sorted(takes_place(parse("<2> a[n > 3]"), found)) == [1]
    assert len(found) == 2
    with pytest.raises(Unsupported, match="give a schema"):
        shortest_history(parse("a(X) and b(X)"))
    joined = shortest_history(parse("prior(a(X, Y), b(X), b(Y)) and X != Y"), ORDERS)
    assert joined is not None
    assert len(joined) == 3
    with pytest.raises(Unsupported, match="no history over a few values"):
        shortest_history(parse("a(X) and b(X)"), ORDERS)


ORDERS = Schema({"a": {"n": "int", "m": "int"}, "b": {"n": "int"}, "c": {"f": "bool"}, "d": {"f": "bool"}})


@pytest.mark.parametrize(
    ("left", "right", "same", "within"),
    [
        ("prior(a(I), b(I))", "relative(a(I), b(I))", True, True),
        ("prior(a(I), b(I))", "prior(a(J), b(J))", True, True),
        ("p(I) := prior(a(I), b(I))", "relative(a(J), b(J))", True, True),
        ("prior(a(I), b(I))", "prior(a(I), b(J))", False, True),
        pytest.param("prior(a(I, J), b(I), b(J))", "prior(a(K), b(K))", False, False, marks=pytest.mark.thorough),
        ("prior(a(I, J), b(I)) and prior(a, b(J))", "prior(a, b(K)) and prior(a, b(L))", False, True),
        ("relative(a(I), <2> b(I))", "prior(a(I), <2> b(I))", False, False),
        ("prior(c(I), d(I))", "prior(c[f=true], d[f=true]) or prior(c[f=false], d[f=false])", True, True),
        ("prior(c(I), d(J)) and I != J", "prior(c(I), d[f=true]) and prior(c[f=false], d)", False, False),
        ("!before(c(I)) and prefix(d(I)) and c(I)", "!before(c(I)) and c(I) and !NULL", True, True),
        ("<5> a", "happened(prior(a(I), a(I)))", False, None),  # they differ on five values
        ("prior(a(I, J), b(K)) and I != J and J != K and I != K", "NULL", False, False),  # on three values, not on two
        ("prior(a(I), b(I)) and I > 3", "prior(a(I), b(I)) and I >= 4", None, None),
        ("prefix(a(I) and b(I)) and b(I)", "NULL", None, None),
    ],
)
def test_attribute_variables(left: str, right: str, same: bool | None, within: bool | None) -> None:
    E, F = parse(left), parse(right)
    for decide, expected, proved in ((equivalent, same, Equivalent), (contained, within, Contained)):
        verdict = decide(E, F, ORDERS)
        kinds = {True: proved, False: Different, None: Undecided}
        assert isinstance(verdict, kinds[expected]), verdict
        if isinstance(verdict, Equivalent | Contained):
            assert flaw(verdict.certificate) is None
        if isinstance(verdict, Different):
            found, other = (takes_place(G, verdict.stream) for G in (E, F))
            assert (verdict.at in found) > (verdict.at in other) or (decide is equivalent and found != other)


@pytest.mark.parametrize("cases", sampled([25, 60], [25]))
def test_what_is_proved_for_attribute_variables_holds_on_random_histories(cases: int) -> None:
    rng, profile = Random(29), VALUED_PROFILES["valued"]
    said = {Equivalent: 0, Different: 0, Undecided: 0}
    for i in range(cases):
        E = expression(rng, profile, rng.randint(2, 6))
        F = expanded(E) if i % 3 == 0 and not isinstance(E, expr.Let) else expression(rng, profile, rng.randint(2, 6))
        verdict = equivalent(E, F, profile.schema, Budget(states=20_000))
        said[type(verdict)] += 1
        if isinstance(verdict, Equivalent):
            assert flaw(verdict.certificate) is None
            for _ in range(30):
                S = history(rng, profile, rng.randint(1, 6))
                assert takes_place(E, S) == takes_place(F, S), f"{show(E)} | {show(F)} over {S.events}"
    assert min(said[Equivalent], said[Different]) > cases / 6


def test_every_tampered_certificate_is_rejected() -> None:
    """A pair less, or another state in a pair, and the relation is no longer closed."""
    for left, right in [("relative(a, b)", "prior(a, b)"), ("<2> a", "a and !first | <2> a"), ("any", "!NULL and any")]:
        verdict = equivalent(parse(left), parse(right))
        if not isinstance(verdict, Equivalent):
            continue
        certificate = verdict.certificate
        assert Certificate.from_json(certificate.to_json()) == certificate
        assert flaw(certificate) is None
        for i, (x, y) in enumerate(certificate.relation):
            rest = (*certificate.relation[:i], *certificate.relation[i + 1 :])
            assert flaw(replace(certificate, relation=rest)) is not None
            for changed in [((9,), y), (x, (9,)), ((), y), ((*x, 9), y)]:
                assert flaw(replace(certificate, relation=(*rest, changed))) is not None
        assert flaw(replace(certificate, right="b")) is not None


def test_containment_has_a_certificate_one_way() -> None:
    verdict = contained(parse("a and b or <2> a"), parse("a"))
    assert isinstance(verdict, Contained)
    assert flaw(verdict.certificate) is None
    assert flaw(replace(verdict.certificate, claim="equivalent")) is not None


def test_variables_are_paired_by_the_places_of_their_values() -> None:
    """Where an a has been but no b, the first has a value for its variable and the second has none."""
    E, F = parse("d and happened(a(I)) and happened(a(I))"), parse("d and !(b(J) and b(J))")
    both = parse("prior(a(K), b(K))")
    budget = Budget()
    assert not [*pairings(E, F, "equivalent", ORDERS, budget), *pairings(E, F, "contained", ORDERS, budget)]
    assert len([*pairings(E, both, "contained", ORDERS, budget)]) == 1
    assert not [*pairings(E, both, "equivalent", ORDERS, budget), *pairings(both, E, "contained", ORDERS, budget)]
    assert isinstance(contained(E, F, ORDERS), Different)


def test_the_values_that_are_tried_have_those_of_the_texts() -> None:
    assert values_for(parse("p(K) := a(K); p(7)"), parse("b(9) and X != 8"))["int"] == [0, 1, 2, 7, 9, 8]


# ---- regular ----
# Event expressions are the regular expressions without the empty word (vldb92, section 2.2), both ways, decided.


def is_word(R: Regular, h: tuple[Event, ...]) -> bool:
    """Whether the history is a word of R, by the definition of the operators."""
    match R:
        case Nothing():
            return False
        case RegularLetter(E):
            return len(h) == 1 and takes_place(E, Stream(h)) == {0}
        case RegularUnion(left, right):
            return is_word(left, h) or is_word(right, h)
        case RegularConcatenation(left, right):
            return any(is_word(left, h[:i]) and is_word(right, h[i:]) for i in range(1, len(h)))
        case RegularPlus(operand):
            rest = (is_word(operand, h[:i]) and is_word(R, h[i:]) for i in range(1, len(h)))
            return is_word(operand, h) or any(rest)
        case _:
            assert_never(R)


def histories(length: int, types: str, started: bool) -> list[tuple[Event, ...]]:
    found = [tuple(map(Event, word)) for n in range(length + 1) for word in product(types, repeat=n)]
    return found + [(Event("start"), *h) for h in found] * started


def random_regular(rng: Random, nodes: int) -> Regular:
    if nodes < 3:
        letter = RegularLetter(parse(rng.choice(("a", "b", "!a", "any", "!NULL", "a or b"))))
        return RegularPlus(letter) if nodes == 2 else letter
    if rng.random() < 0.3:
        return RegularPlus(random_regular(rng, nodes - 1))
    left = rng.randint(1, nodes - 2)
    operator = rng.choice((RegularUnion, RegularConcatenation, RegularConcatenation))
    return operator(random_regular(rng, left), random_regular(rng, nodes - 1 - left))


@pytest.mark.parametrize("number", sampled([15, 40], [15]))
@pytest.mark.parametrize("name", PROFILES)
def test_an_expression_to_a_regular_one_and_back(name: str, number: int) -> None:
    """The expression that comes back is equivalent: decided, for histories of any length."""
    rng = Random(name)
    something = 0
    for _ in range(number):
        E = random_expression(rng, PROFILES[name], 5)
        R = regular(E)
        A, B = compile_together([E, expression_regular(R)])
        assert separating_word(A, B) is None, text_of.show(E)
        something += bool(A.accepting)
    assert something > number / 2


def test_the_words_of_the_regular_one_are_the_histories() -> None:
    """Not by way of automata: by the definition of the operators, on all short histories."""
    rng = Random(8)
    for _ in range(40):
        E = random_expression(rng, PROFILES["started"], 4)
        R = regular(E)
        for h in histories(3, "abd", started=True):
            assert is_word(R, h) == (len(h) - 1 in takes_place(E, Stream(h))), f"{text_of.show(E)} over {h}"


@pytest.mark.parametrize("number", sampled([20, 50], [20]))
def test_any_regular_one_is_an_expression(number: int) -> None:
    """Its words are the histories at whose last event the expression takes place."""
    rng = Random(4)
    both = set()
    for _ in range(number):
        R = random_regular(rng, rng.randint(1, 8))
        E = expression_regular(R)
        back = regular(E)
        A, B = compile_together([E, expression_regular(back)])
        assert A == B
        for h in histories(4, "ab", started=False):
            found = len(h) - 1 in takes_place(E, Stream(h))
            assert found == is_word(R, h) == is_word(back, h), f"{show_regular(R)} over {h}"
            both.add(found)
    assert both == {True, False}
    assert expression_regular(Nothing()) == text_of.Null()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("NULL", "∅"),
        ("a", "a | !NULL+ a"),
        ("first", "!NULL"),
        ("first and !a", "!a"),
        ("start", "start"),
        ("a and first", "a"),
        ("relative+(sequence(first and a, b))", "a b | (a b)+ a b"),
        ("<2> a", "a (a | !a+ a) | !a+ a (a | !a+ a)"),
        ("a[n > 3] and !before(b)", "a[n > 3] | !b+ a[n > 3]"),
        ("prior(start, a)", "start (a | any+ a)"),
    ],
)
def test_texts(text: str, expected: str) -> None:
    assert show_regular(regular(parse(text))) == expected


def test_texts_have_the_parentheses_that_they_need() -> None:
    a, b = RegularLetter(parse("a")), RegularLetter(parse("a and b"))
    assert show_regular(RegularPlus(RegularConcatenation(a, RegularUnion(a, b)))) == "(a (a | (a and b)))+"
    assert (
        show_regular(RegularUnion(RegularPlus(a), RegularConcatenation(RegularPlus(RegularPlus(b)), a)))
        == "a+ | (a and b)++ a"
    )


def test_sizes_are_those_of_the_trees() -> None:
    a = RegularLetter(parse("a"))
    sizes = [a.size]
    R: Regular = a
    for _ in range(200):
        R = RegularConcatenation(R, R)
        sizes.append(R.size)
    assert all(larger == 2 * smaller + 1 for smaller, larger in pairwise(sizes))
    assert RegularPlus(Nothing()).size == 2


@pytest.mark.thorough
def test_what_is_too_large_or_too_deep_stops() -> None:
    with pytest.raises(BudgetExceeded, match="more than 500 nodes"):
        regular_of(compile_expression(parse("every <3> a and !before(<4> b)")), Budget(states=500))
    R: Regular = RegularLetter(parse("a"))
    for _ in range(100_000):
        R = RegularPlus(R)
    for work in (show_regular, expression_regular):
        with pytest.raises(BudgetExceeded, match="nested too deeply"):
            work(R)
