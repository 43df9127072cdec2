"""The predicate algebra: its types are satisfiable, each shown by an event, and no event is outside them all."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from functools import reduce
from itertools import product
from random import Random
from typing import Literal

import pytest
import z3

from cerify.api import contained, equivalent
from cerify.automata.algebra import finite as searched
from cerify.automata.algebra import solver, values
from cerify.automata.algebra import solver as s
from cerify.automata.algebra.finite import Algebra, minterms, satisfiable
from cerify.automata.algebra.values import (
    LAST_TIME,
    START,
    STEPS,
    _compile_test,
    _language,
    decidable,
    pieces,
    samples_of_strings,
)
from cerify.automata.dfa.compile import order_in
from cerify.equivalence.decide.checker import flaw
from cerify.equivalence.generate.cel import TYPED, formula
from cerify.equivalence.verdict import Contained, Different, Equivalent, Undecided
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import BudgetExceeded, InputError, InternalError
from cerify.semantics.events import Event, Schema, Stream
from cerify.semantics.files import as_stream
from cerify.semantics.predicates import (
    Anything,
    Arithmetic,
    Attribute,
    Both,
    Comparison,
    Constant,
    Either,
    InRange,
    Not,
    OfType,
    OneOf,
    Predicate,
    holds,
    matches,
    satisfied,
)
from cerify.semantics.values import Value, ValueType
from proofs_tests.support import sampled

# ---- algebra ----
#

SCHEMA = Schema({"A": {"x": "int", "y": "int", "f": "float", "s": "string"}, "B": {"b": "bool", "t": "timestamp"}})
POOL: tuple[Value | None, ...] = (
    None, -1, 0, 1, 2, 3, 0.25, 0.5, 2.5, math.nan, math.inf, "", "a", "aa", "ab", "b", "a\n", False, True,
    *(datetime(2021, 1, day, hour, tzinfo=UTC) for day in (1, 2, 3, 4) for hour in (0, 7)),
)  # fmt: skip


def predicates(*texts: str) -> list[Predicate]:
    """Each text as what it says inside the brackets of a filter."""
    return [_predicate(parse(f"A FILTER A[{text}]")) for text in texts]


def _predicate(phi: cel.Formula) -> Predicate:
    assert isinstance(phi, cel.Filter)
    assert isinstance(phi.condition, cel.Every)
    return phi.condition.predicate


def chosen(generators: Sequence[Predicate], event: Event) -> frozenset[int]:
    return frozenset(i for i, P in enumerate(generators) if holds(P, event))


def random_predicates(rng: Random) -> list[Predicate]:
    found: list[Predicate] = [OfType(R) for R in rng.sample("ABC", rng.randint(0, 2))]
    for psi in cel.subformulas(formula(rng, TYPED, 10)):
        if isinstance(psi, cel.Filter):
            found += [atom.predicate for atom in cel.atoms(psi.condition) if isinstance(atom, cel.Every)]
    return list(dict.fromkeys(found))[:4]


def random_event(rng: Random) -> Event:
    drawn = {name: rng.choice(POOL) for name, _ in TYPED.attributes}
    return Event(rng.choice("ABCD"), {name: value for name, value in drawn.items() if value is not None})


@pytest.mark.parametrize("seed", range(60))
def test_every_type_has_its_event_and_every_event_its_type(seed: int) -> None:
    rng = Random(seed)
    generators = random_predicates(rng)
    found = minterms(generators)
    for minterm in found:
        if minterm.witness is not None:
            assert chosen(generators, minterm.witness) == minterm.chosen
    listed = {minterm.chosen for minterm in found}
    for _ in range(150):
        event = random_event(rng)
        assert chosen(generators, event) in listed, event


@pytest.mark.parametrize(
    ("texts", "count"),
    [
        (["x > 3", "x < 5", "x = 4"], 5),  # below, 4, the rest between, above, not a number
        (["x > 3", "x <= 3"], 3),  # nothing is both; a string is neither
        (["x != 3", "not x = 3"], 3),  # both; neither; an absent attribute is not 3
        (["s like 'a.*'", "s like '.*b'", "s < 'b'"], 6),
        (["s like '[ab]+'", "s like '[^a]*'", "s > 'bb'", "s < 'bc'"], 11),
        (["x < y", "y < x"], 3),
        (["x < y", "y < z", "z < x"], 7),
        (["x + x > 3", "x >= 2"], 2),
    ],
)
def test_contradictions_are_no_types(texts: list[str], count: int) -> None:
    schema = Schema({"A": {"x": "int"}}) if "+ x" in texts[0] or "x +" in texts[0] else None
    found = minterms(predicates(*texts), schema)
    assert len(found) == count
    assert all(minterm.witness is not None for minterm in found)


def test_an_integer_is_never_between_two_neighbours() -> None:
    between = predicates("x > 3 and x < 4")
    assert {m.chosen for m in minterms(between)} == {frozenset({0}), frozenset()}
    assert {m.chosen for m in minterms(between, SCHEMA)} == {frozenset()}


def test_with_a_schema_an_event_has_the_attributes_of_its_type() -> None:
    generators = [OfType("A"), OfType("B"), *predicates("x = 1", "b = true")]
    found = {minterm.chosen for minterm in minterms(generators, SCHEMA)}
    assert found == {frozenset({0}), frozenset({0, 2}), frozenset({1}), frozenset({1, 3})}


def test_what_the_solver_cannot_tell_is_kept_without_an_event() -> None:
    found = minterms(predicates("x / y = 2", "x = 1", "y = 3"), SCHEMA)
    unknown = [m.chosen for m in found if m.witness is None]
    assert frozenset({0, 1, 2}) in unknown


def test_a_solution_is_evaluated_before_it_is_believed() -> None:
    """0.1 + 0.2 is not 0.3 in binary64: no x, y near these make a sum that rounds to what the reals would give."""
    found = minterms(predicates("f + f = 0.6", "f = 0.3"), SCHEMA)
    assert all(m.witness is not None for m in found)
    assert frozenset({0, 1}) in {m.chosen for m in found}


@pytest.mark.parametrize("seed", range(40))
def test_an_element_is_written_as_a_predicate_that_means_it(seed: int) -> None:
    rng = Random(seed)
    algebra = Algebra(random_predicates(rng))
    for _ in range(5):
        mask = rng.randint(0, algebra.everything)
        predicate = algebra.predicate(mask)
        for i, atom in enumerate(algebra.atoms):
            if atom.witness is not None:
                assert holds(predicate, atom.witness) == bool(mask >> i & 1)
        assert algebra.mask(predicate) == mask


def test_combinations_are_sets_of_types() -> None:
    low, high = predicates("x < 2", "x > 1")
    algebra = Algebra([low, high, OfType("A")])
    assert algebra.mask(Both(low, high)) == algebra.mask(low) & algebra.mask(high)
    assert algebra.mask(Either(low, Not(low))) == algebra.everything
    assert algebra.predicate(algebra.mask(Both(Both(OfType("A"), low), OfType("A")))) == Both(OfType("A"), low)
    with pytest.raises(InternalError):
        algebra.mask(OfType("B"))


TEXTS = (
    "", "A", "\\", "\\u{41}", "\\u{5c}", "\\u0041", "\\x41", "\0", "a\nb", "é", "\uffff", "\U0001f600", "\U0002ffff",
)  # fmt: skip


@pytest.mark.parametrize(("text", "other"), list(product(TEXTS, repeat=2)))
def test_a_text_is_itself_for_the_solver(text: str, other: str) -> None:
    """z3 took \\u{41} in a query for A, and gave back \\u{1f600} for one character."""
    one, two = s.constant(text), s.constant(other)
    assert s.value_of(one.expression, "string") == text
    solver = z3.Solver()
    solver.add(s.compared("=", one, two) == (text == other), s.compared("<", one, two) == (text < other))
    assert solver.check() == z3.sat


def test_characters_that_the_solver_does_not_have_are_too_hard() -> None:
    with pytest.raises(s.TooHard):
        s.constant("\U00030000")
    with pytest.raises(s.TooHard):
        s.value_of(s.constant("\ud800").expression, "string")


@pytest.mark.parametrize("text", [r"\u{41}", "\U0001f600"])
def test_a_text_with_an_escape_is_not_what_it_stands_for(text: str) -> None:
    """The first was proved equivalent, with a certificate; the second ended in an InternalError."""
    verdict = equivalent(*(f"A FILTER A[x = '{t}' and x >= y and y >= '{t}']" for t in (text, "A")))
    assert isinstance(verdict, Different)
    assert isinstance(equivalent(*(f"A ; B FILTER A.x = '{t}' AND A.x = B.x" for t in (text, "A"))), Different)


def test_too_many_types_stop() -> None:
    with pytest.raises(BudgetExceeded):
        minterms(predicates(*(f"x{i} = 0" for i in range(12))), None, Budget(states=100))


def test_a_value_of_many_is_looked_up_as_the_definition_compares_it() -> None:
    values: list[Value] = [1, 2.0, 2**53 + 1, math.nan, math.inf, -0.0, True, "a", datetime(2021, 6, 1, tzinfo=UTC)]
    some = OneOf(Attribute("x"), tuple(values))
    for value in [*values, 0, 1.0, 2, 2.0**53, 3, False, "b", None]:
        assert _compile_test(some)(value) == satisfied(some, lambda _, value=value: value)


def test_the_values_of_one_attribute_are_found_within_the_time_of_the_call() -> None:
    """With some thousand constants it took a minute whatever the budget was."""
    some = OneOf(Attribute("x"), tuple(range(100)))
    with pytest.raises(BudgetExceeded, match="more than 0 seconds"), Budget(seconds=0).timed():
        pieces([some], None)


def test_the_types_are_found_within_the_time_of_the_call() -> None:
    """Each of many questions of simplify had the seconds of the budget anew."""
    with pytest.raises(BudgetExceeded, match="more than 0 seconds"), Budget(seconds=0).timed():
        minterms(predicates(*(f"x{i} = 0" for i in range(12))), None, Budget(seconds=1000))


@pytest.mark.parametrize(
    "pattern",
    [
        "^a",
        "a$",
        "(?i)é",
        r"(?i)\w",
        "(?m)a",
        "a(?i)b",
        "[[:alpha:]]",
        r"\pL",
        "a**",
        "(?P<n>a)",
        "a{51}",
        "a{2000}",
        ")(",
        r"\bx",
    ],
)
def test_patterns_outside_the_core_are_not_decided(pattern: str) -> None:
    assert not decidable(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "a.*",
        "[^ab]*",
        r"\d{2,3}",
        "(?:ab|c)*?",
        r"x\.y",
        "a?b+",
        r"[\]a-c]",
        r"\S\w",
        "",
        ".*",
        ".",
        "(?i)b",
        "(?is)[^k].?",
        r"(?i)\d[a-c]+",
    ],
)
def test_each_side_of_a_pattern_is_shown(pattern: str) -> None:
    """Both the strings that match and those that do not have a sample before, at and after the constants."""
    samples = list(samples_of_strings(["a", "b"], [pattern]))
    assert decidable(pattern)
    assert {matches(pattern, s) for s in samples} == {True, False}


@pytest.mark.parametrize(
    "pattern",
    ["(?i)pow", "(?i)[a-c]x+", "(?s).", "(?is)k.s", "(?i)[^k]", r"(?i)\d\s", "(?i)s?", "(?i)(ab|C)*", "(?i)a-z"],
)
def test_flags_of_a_whole_pattern_are_those_of_the_definition(pattern: str) -> None:
    """Under (?i) RE2 takes two characters beyond ASCII for k and s."""
    letters = "pPoOwWaAbBcCxXkKsSéÉ\u212a\u017f\n 1-zZ"
    longer = ["pow", "POW", "Pow", "kxs", "\u212a\n\u017f", "abcAB", "a-z", "A-Z", "1 ", "axX", "", "aB"]
    language = _language(pattern)
    assert language is not None
    for text in (*letters, *longer):
        reached = START
        for c in text:
            reached = language.step(reached, c)
        assert language.accepts(reached) == matches(pattern, text), text


def test_a_pattern_without_case_contains_a_text_in_any_case() -> None:
    verdict = contained("A FILTER A[x = 'Pow']", "A FILTER A[x like '(?i)pow']")
    assert isinstance(verdict, Contained)
    assert flaw(verdict.certificate) is None
    assert isinstance(contained("A FILTER A[x like '(?i)pow']", "A FILTER A[x = 'Pow']"), Different)


@pytest.mark.parametrize("pattern", ["(a|b)*a(a|b){14}", "((a|b)*a(a|b){9})?", ".*a.{8}"])
def test_a_pattern_whose_automaton_is_large_is_not_decided(pattern: str) -> None:
    """Its size is exponential in that of the pattern."""
    assert not decidable(pattern)


@pytest.mark.parametrize("pattern", ["a" * 2000, "|".join(["ab"] * 900), "[" + "acegik" * 300 + "]"])
def test_a_long_pattern_is_not_decided(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "_Language", None)
    assert not decidable(pattern)


@pytest.mark.parametrize(
    "pattern", ["", "a*", "(a|b)*a(a|b){3}", "a{50}", "[a-z]{3,50}", "(ab?)+|c{2,}", ".*[^a-c].*", r"\w+@\w+"]
)
def test_the_positions_of_a_pattern_read_what_its_automaton_reads(pattern: str) -> None:
    assert decidable(pattern)
    language = values._language(pattern)
    assert language is not None
    rng = Random(pattern)
    words = ["".join(rng.choices("abcz@ \n", k=rng.randrange(9))) for _ in range(60)]
    words += ["a" * 50, "abaab", "ccc", "z@z", "a" * 9 + "b" * 40, "baaba"]
    for word in words:
        reached = reduce(language.step, word, values.START)
        assert language.accepts(reached) == matches(pattern, word), word
    assert any(matches(pattern, word) for word in words)


CYCLES = [f"({'a' * n})*" for n in (13, 17, 19, 23)]


@pytest.mark.parametrize(
    ("constants", "patterns"),
    [pytest.param([], CYCLES, marks=pytest.mark.thorough), (["x" * 20_000], ["a"])],
)
def test_patterns_and_constants_that_are_large_together_are_refused(constants: list[str], patterns: list[str]) -> None:
    with pytest.raises(BudgetExceeded, match=r"patterns and the constants that one .* more than 30000 states"):
        list(samples_of_strings(constants, patterns))


def test_what_three_patterns_and_a_long_text_do_not_distinguish_has_one_sample() -> None:
    patterns, text = ["a{50}", "[ab]{50}", "b{50}|a{49}"], "ab" * 100
    samples = list(samples_of_strings([text], patterns))
    assert {tuple(matches(p, s) for p in patterns) for s in samples} == {
        (False, False, False), (False, False, True), (False, True, False), (True, True, False), (False, True, True),
    }  # fmt: skip
    classes = [(tuple(matches(p, s) for p in patterns), (s > text) - (s < text)) for s in samples]
    assert len(classes) == len(set(classes)) == 8


def test_an_empty_group_repeated_over_and_over_is_not_unrolled() -> None:
    """It has no positions, whose number was the only bound: 50^8 rounds."""
    assert not decidable("(" * 8 + "()" + "{50})" * 8)


def test_the_least_whole_number_is_one() -> None:
    """It was left out of the types of events, so that these were equivalent, with a certificate that was accepted."""
    schema, queries = Schema({"A": {"x": "int"}}), [f"A FILTER A.x >= -922337203685477580{n}" for n in (7, 8)]
    for query in (queries, [query.replace("A.x", "A.x * 1") for query in queries]):  # by intervals, and by z3
        verdict = equivalent(*query, schema=schema)
        assert isinstance(verdict, Different)
        assert verdict.stream.events[0].attributes == {"x": -(2**63)}


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("'(?i)ab'", "'(?i)ac'"),
        ("'a{60}'", "'b{60}'"),
        ("'(a|b)*a(a|b){14}'", "'(a|b)*b(a|b){14}'"),
        ("'^ab'", "'^ac'"),
    ],
)
def test_patterns_that_are_not_decided_prove_nothing(left: str, right: str) -> None:
    """They were taken for the empty pattern, and two of them for the same: a wrong proof."""
    verdict = equivalent(f"A FILTER A.x like {left}", f"A FILTER A.x like {right}")
    assert isinstance(verdict, Undecided | Different)
    verdict = equivalent(f"A FILTER A.x like {left}", "A FILTER A.x = 'b' AND A.x = 'c'")
    assert isinstance(verdict, Undecided | Different)
    assert isinstance(equivalent(f"A FILTER A.x like {left}", f"A FILTER A.x like {left}"), Equivalent)


BOUNDS = (0, 1, -1, 2**53, 2**64, 0.5, 1 / 7, -1e300, 1.7976931348623157e308, math.inf, math.nan)


@pytest.mark.parametrize("divisor", sampled([1, 2, -2, 3, 7, -(10**19), 2**63, 10**320], [7]))
@pytest.mark.parametrize("bound", sampled(BOUNDS, BOUNDS[::6]))
@pytest.mark.slow
def test_a_quotient_by_a_constant_is_compared_as_python_does(divisor: int, bound: float) -> None:
    """Its nearest float decides, and where that is too large there is no value."""
    for comparator in s.MIRRORED:
        near = divisor * (Fraction(bound) if math.isfinite(bound) else 2**1024)
        for n in (0, 1, -1, *(math.floor(near) + shift for shift in (-(2**970), -(2**10), -1, 0, 1, 2, 2**10, 2**970))):
            quotient = Arithmetic("/", Constant(n), Constant(divisor))
            for sides in ((quotient, Constant(bound)), (Constant(bound), quotient)):
                test = Comparison(comparator, *sides)
                found = z3.simplify(s.formula(test, lambda _: None, lambda _: None))
                assert z3.is_true(found) == satisfied(test, lambda _: None), test


@pytest.mark.parametrize(
    "value", [0, 3, -(2**53) - 1, 0.0, -0.0, 5e-324, -1.5, 1.7976931348623157e308, math.inf, math.nan]
)
def test_a_number_less_or_divided_by_itself_is_as_python_has_it(value: float) -> None:
    """The solver is given 0 and 1, except where there is no number to be had: infinity, NaN, and zero as a divisor."""
    x = Attribute("x")
    operators: tuple[Literal["-", "/"], ...] = ("-", "/")
    bounds = (0, 1, 0.0, 1.0, -1.5, *(() if isinstance(value, int) else (math.inf, math.nan)))
    for operator, bound, comparator in product(operators, bounds, s.MIRRORED):
        test = Comparison(comparator, Arithmetic(operator, x, x), Constant(bound))
        found = z3.simplify(s.formula(test, lambda _: s.constant(value), lambda _: None))
        assert z3.is_true(found) == satisfied(test, lambda _: value), test


def test_a_float_divided_by_itself_is_decided() -> None:
    """By arithmetic of floats the solver comes to its limit of steps, and the verdict is Undecided."""
    assert isinstance(equivalent("A FILTER A[x / x > 1]", "A FILTER A[x / x > 2]"), Equivalent)
    assert isinstance(equivalent("A FILTER A[x - x < 0]", "A FILTER A[x - x > 0]"), Equivalent)


def test_an_integer_has_64_bits_under_a_schema_only() -> None:
    beyond, schema = parse("A FILTER A.x > 9223372036854775807"), Schema({"A": {"x": "int"}})
    assert isinstance(equivalent(beyond, parse("A FILTER A[x < 0 and x > 0]"), schema=schema), Equivalent)
    assert isinstance(equivalent(beyond, parse("A FILTER A[x < 0 and x > 0]")), Different)
    with pytest.raises(InputError, match=r"event 0, attribute 'x': .* does not fit in 64 bits"):
        as_stream([{"type": "A", "x": 2**63}], schema=schema)
    summed = equivalent(parse("A FILTER A[x + 1 = 9223372036854775809]"), parse("A FILTER A[x < 0 and x > 0]"))
    assert isinstance(summed, Undecided)  # it has x = 2^63, for which the solver does not look


# ---- choices ----
# The types of tests that are not simple: choices of the others that no value has are left before they are decided.

x = Attribute("x")
SQUARE = Comparison(">", Arithmetic("*", x, x), Constant(20))


def test_choices_of_tests_that_no_value_has_are_left_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of twelve tests x = n one holds at most: of 8,192 choices 26 are left, with the square true or false."""
    asked: list[Mapping[solver.Test, bool]] = []

    def counted(tests: Mapping[solver.Test, bool], allowed: solver.Allowed, ask: bool = True) -> solver.Solution:
        asked.append(tests)
        return solver.solve(tests, allowed, ask)

    monkeypatch.setattr(searched, "solve", counted)
    tests = [Comparison("=", x, Constant(n)) for n in range(12)]
    found = searched.minterms([*tests, SQUARE], solver=False)
    assert len(asked) == 26
    assert {frozenset(i for i in one.chosen if i < 12) for one in found} == {frozenset[int]()} | {
        frozenset({n}) for n in range(12)
    }


@pytest.mark.slow
def test_no_choice_that_a_value_has_is_left() -> None:
    """What is left early has no value at all: each value of a range is in one of the types, with its own tests."""
    tests = [
        Comparison(">", x, Constant(3)),
        Comparison("<=", x, Constant(5)),
        Comparison("!=", x, Constant(4)),
        SQUARE,
    ]
    types = {one.chosen for one in searched.minterms(tests)}
    for n in range(-7, 8):
        assert frozenset(i for i, yes in enumerate((n > 3, n <= 5, n != 4, n * n > 20)) if yes) in types


# ---- event types ----
# Which predicates some event may be in, by its type alone.

A, B, X = OfType("A"), OfType("B"), Comparison(">", Attribute("x"), Constant(1))


@pytest.mark.parametrize(
    ("predicate", "answer"),
    [
        (A, True), (Not(A), True), (Anything(), True), (Not(Anything()), False), (X, True), (Not(X), True),
        (Both(A, B), False), (Both(A, Not(B)), True), (Both(A, Not(A)), False), (Both(Not(A), Not(B)), True),
        (Either(A, B), True), (Not(Either(A, Not(A))), False), (Not(Either(A, B)), True),
        (Not(Both(A, B)), True), (Both(A, Not(Both(A, X))), True), (Both(A, Not(Both(X, A))), True),
        (Not(Both(Anything(), Anything())), False), (Both(X, Not(X)), True), (Not(Either(X, Anything())), False),
        (Both(A, Not(Either(A, X))), False),
    ],
)  # fmt: skip
def test_satisfiable(predicate: Predicate, answer: bool) -> None:
    """Of X both may be: comparisons are free choices."""
    assert satisfiable(predicate) is answer


# ---- values ----
# The pieces of an attribute's values and the simplest value of each.

VALUES_X = Attribute("x")


def between(low: Value, high: Value) -> list[Predicate]:
    return [Comparison(">", VALUES_X, Constant(low)), Comparison("<", VALUES_X, Constant(high))]


@pytest.mark.parametrize(
    ("low", "high", "value_type", "value"),
    [
        (1, 5, None, 2),
        (-5, -1, None, -2),
        (-2, -1, None, -1.5),
        (1, 2, None, 1.5),
        (1, 2, "float", 1.5),
        (-2, -1, "float", -1.5),
        (-3, 4, "int", 0),
        (0.25, 0.5, None, 0.375),
        (-0.5, -0.25, None, -0.375),
        (-1, 0, None, -0.5),
        (0, 1, None, 0.5),
    ],
)
def test_a_number_between_two(low: Value, high: Value, value_type: ValueType | None, value: Value) -> None:
    assert pieces(between(low, high), value_type)[True, True] == value


def test_what_is_absent_neither_equals_nor_differs_from_itself() -> None:
    tests = [
        Comparison("=", VALUES_X, VALUES_X),
        Comparison("!=", VALUES_X, VALUES_X),
        Comparison("<=", VALUES_X, VALUES_X),
        Comparison("<", VALUES_X, VALUES_X),
    ]
    found = pieces([*tests, Comparison(">", VALUES_X, Constant(3))], None)
    assert {truth: type(value).__name__ for truth, value in found.items()} == {
        (True, False, True, False, False): "int",
        (True, False, True, False, True): "int",
        (True, False, False, False, False): "bool",
        (False, False, False, False, False): "NoneType",
        (False, True, False, False, False): "float",
    }


def test_no_integer_is_between_two_neighbours() -> None:
    assert (True, True) not in pieces(between(1, 2), "int")
    assert (True, True) not in pieces(between(-2, -1), "int")


LARGE: list[int | float] = [
    *(sign * (2**e + d) for e in (52, 53, 54, 62, 63, 64) for d in (-2, -1, 0, 1, 2, 3) for sign in (1, -1)),
    *(sign * n for n in (10**17, 10**22, 10**23, int(1.7976931348623157e308), 2**1024, 10**400) for sign in (1, -1)),
    *(0, 0.5, 2.0**53, 1e22, 1e308, -1e308, 5e-324, 4503599627370496.5),
]  # fmt: skip


def around(number: int | float) -> Iterator[int | float]:
    """The number, its neighbours among the integers and among the floats, and the float that it rounds to."""
    yield from (number, math.floor(number) - 1, math.floor(number), math.floor(number) + 1)
    try:
        rounded = float(number)
    except OverflowError:
        return
    yield from (rounded, math.nextafter(rounded, math.inf), math.nextafter(rounded, -math.inf))


def large_tests(rng: Random) -> Iterator[Predicate]:
    """Tests whose constants are large."""
    for n in LARGE:
        yield from (Comparison("=", VALUES_X, Constant(n)), Comparison("<=", VALUES_X, Constant(n)))
    for _ in range(100):
        low, high, *rest = rng.sample(LARGE, 4)
        yield from (InRange(VALUES_X, low, high), OneOf(VALUES_X, (low, *rest)))


@pytest.mark.parametrize("value_type", ["int", "float", None])
@pytest.mark.slow
def test_every_number_has_a_piece_also_where_floats_are_far_apart(value_type: ValueType | None) -> None:
    """A float of 2^53 and more was in no piece, and a filter that it passes was taken for one that nothing passes."""
    rng = Random(2)
    numbers = [v for n in LARGE for v in around(n)]
    if value_type == "int":
        numbers = [v for v in numbers if isinstance(v, int) and -(2**63) <= v < 2**63]
    if value_type == "float":
        numbers = [v for v in numbers if isinstance(v, float)]
    tests = list(large_tests(rng))
    for _ in range(150):
        chosen = rng.sample(tests, 3)
        found = pieces(chosen, value_type)
        for truth, value in found.items():
            assert truth == tuple(satisfied(test, lambda _, v=value: v) for test in chosen)
            assert value_type != "float" or value is None or isinstance(value, float)
        for number in (*numbers, None, *([] if value_type == "int" else [math.nan, math.inf, -math.inf])):
            assert tuple(satisfied(test, lambda _, v=number: v) for test in chosen) in found, (chosen, number)


def test_a_time_between_two_of_the_last_day() -> None:
    """It ended in an OverflowError: a day after the first of them is none that Python has."""
    low, high = datetime(9999, 12, 31, tzinfo=UTC), datetime(9999, 12, 31, 0, 0, 2, tzinfo=UTC)
    assert pieces(between(low, high), None)[True, True] == datetime(9999, 12, 31, 0, 0, 1, tzinfo=UTC)
    assert (True, True) not in pieces(between(LAST_TIME - STEPS[-1], LAST_TIME), "timestamp")


@pytest.mark.parametrize(
    ("high", "value"),
    [
        (datetime(2021, 1, 9, tzinfo=UTC), datetime(2021, 1, 2, tzinfo=UTC)),
        (datetime(2021, 1, 1, 9, tzinfo=UTC), datetime(2021, 1, 1, 1, tzinfo=UTC)),
        (datetime(2021, 1, 1, 0, 9, tzinfo=UTC), datetime(2021, 1, 1, 0, 1, tzinfo=UTC)),
        (datetime(2021, 1, 1, 0, 0, 9, tzinfo=UTC), datetime(2021, 1, 1, 0, 0, 1, tzinfo=UTC)),
        (datetime(2021, 1, 1, 0, 0, 0, 9, tzinfo=UTC), datetime(2021, 1, 1, 0, 0, 0, 1, tzinfo=UTC)),
    ],
)
def test_a_time_between_two_is_one_that_a_person_can_read(high: datetime, value: datetime) -> None:
    assert pieces(between(datetime(2021, 1, 1, tzinfo=UTC), high), None)[True, True] == value


# ---- arguments ----
# The order of the arguments of an event of a stream without a schema.


def test_the_arguments_of_a_type_are_its_attributes_but_the_time_as_they_are_first_seen() -> None:
    S = Stream(
        [Event("a", {"x": 1, "time": 1}), Event("b", {"y": 2, "x": 1, "time": 2}), Event("c", {}), Event("a", {"z": 1})]
    )
    assert order_in(S) == {"a": ("x", "z"), "b": ("x", "y"), "c": ()}
