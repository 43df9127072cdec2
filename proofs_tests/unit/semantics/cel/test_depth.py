"""Formulas and texts that are nested much too deeply: a result or a typed error, never a RecursionError."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import reduce

import pytest

import cerify
from cerify.semantics import predicates
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.check import beyond_star, is_unary, problems
from cerify.semantics.cel.interpreter import valuations
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import show
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.parse import parse as parse_core_cel
from cerify.semantics.errors import BudgetExceeded, ParseError, Unsupported
from cerify.semantics.event_expressions import syntax as expressions
from cerify.semantics.predicates import Arithmetic, Attribute, Comparison, Constant, Not, Predicate, Term
from proofs_tests.support import stream

DEEP = 2000
A = cel.EventAtom("A")
POSITIVE = Comparison(">", Attribute("x"), Constant(0))


def nested(around: Callable[[cel.Formula], cel.Formula]) -> cel.Formula:
    return reduce(lambda phi, _: around(phi), range(DEEP), A)


def test_the_atoms_of_a_deep_condition() -> None:
    left = reduce(cel.Conjunction, [cel.Every("A", POSITIVE)] * DEEP)
    right = reduce(lambda c, d: cel.Disjunction(d, c), [cel.Every("A", POSITIVE)] * DEEP)
    for condition in (left, right):
        assert len(list(cel.atoms(condition))) == DEEP
        assert cel.size(cel.Filter(A, condition)) == 1 + DEEP


def a_filter(P: Predicate) -> cel.Formula:
    return cel.Filter(A, cel.Every("A", P))


def sum_of_many() -> Term:
    return reduce(lambda t, _: Arithmetic("+", t, Constant(1)), range(DEEP), Attribute("x"))


FORMULAS: dict[str, Callable[[], cel.Formula]] = {
    "A ; A ; ...": lambda: nested(lambda phi: cel.Seq(phi, A)),
    "A ; (A ; ...": lambda: nested(lambda phi: cel.Seq(A, phi)),
    "A OR A OR ...": lambda: nested(lambda phi: cel.Or(phi, A)),
    "A ALL A ALL ...": lambda: nested(lambda phi: cel.All(phi, A)),
    "A IN X IN X ...": lambda: nested(lambda phi: cel.In(phi, "X")),
    "A++...": lambda: nested(cel.Plus),
    "NXT(NXT(...": lambda: nested(cel.Next),
    "A FILTER ... FILTER ...": lambda: nested(lambda phi: cel.Filter(phi, cel.Every("A", POSITIVE))),
    "A FILTER ... AND ...": lambda: cel.Filter(A, reduce(cel.Conjunction, [cel.Every("A", POSITIVE)] * DEEP)),
    "A FILTER A[not not ...": lambda: a_filter(reduce(lambda P, _: Not(P), range(DEEP), POSITIVE)),
    "A FILTER A[x + 1 + ...": lambda: a_filter(Comparison(">", sum_of_many(), Constant(0))),
}
each_formula = pytest.mark.parametrize("make", FORMULAS.values(), ids=FORMULAS)


@each_formula
def test_deep_trees_are_compared_hashed_and_written(make: Callable[[], cel.Formula]) -> None:
    phi, same = make(), make()
    assert phi == same
    assert hash(phi) == hash(same)
    assert phi != cel.Plus(same)
    assert len(repr(phi)) > DEEP
    assert len({phi, same, A}) == 2


def test_a_tree_is_hashed_once_and_leaves_its_hash_behind_when_it_is_pickled() -> None:
    """Strings have other hashes in another process: a tree that took its hash along would not be found in a dict."""
    phi = parse("A ; B")
    assert hash(phi) == hash(phi) == phi.__dict__["_hash"]
    phi.__dict__["_hash"] += 1
    other = pickle.loads(pickle.dumps(phi))
    assert other == phi
    assert hash(other) == hash(parse("A ; B")) != hash(phi)


@each_formula
def test_of_a_deep_tree_the_size_and_the_fragment_are_known(make: Callable[[], cel.Formula]) -> None:
    phi = make()
    assert cel.size(phi) >= 2
    assert is_unary(phi)
    assert isinstance(beyond_star(phi), frozenset)


@each_formula
@pytest.mark.parametrize(
    "ask",
    [show, problems, lambda phi: valuations(phi, stream("A A A", x=[1, 1, 1]), 2)],
    ids=["show", "problems", "valuations"],
)
def test_a_deep_tree_has_an_answer_or_a_typed_error(
    make: Callable[[], cel.Formula], ask: Callable[[cel.Formula], object]
) -> None:
    said = "an answer"
    try:
        ask(make())
    except (BudgetExceeded, RecursionError) as error:  # the traceback of the second would take minutes to print
        said = f"{type(error).__name__}: {error}"
    assert said == "an answer" or (said.startswith("BudgetExceeded") and "nested" in said)


@pytest.mark.parametrize(
    ("phi", "other"),
    [
        (cel.Seq(A, cel.Plus(A)), cel.Seq(cel.Plus(A), A)),
        (cel.In(A, "X"), cel.In(A, "Y")),
        (cel.Plus(A), cel.ContiguousPlus(A)),
        (cel.Project(frozenset({"A"}), A), cel.Project(frozenset(), A)),
        (a_filter(POSITIVE), a_filter(Not(POSITIVE))),
        (cel.Filter(A, cel.Named("f", ("A", "B"))), cel.Filter(A, cel.Named("f", ("A",)))),
    ],
)
def test_trees_that_differ_are_not_equal(phi: cel.Formula, other: cel.Formula) -> None:
    assert phi != other
    assert phi == phi
    assert repr(phi) != repr(other)
    assert phi != "A"


def test_the_repr_is_python() -> None:
    phi = parse("PROJECT[A](A+ IN X ; B) FILTER A[not x > 1 and x in {1, 2}] AND f(A, B)")
    names = {**vars(predicates), **vars(cel)}
    assert eval(repr(phi), {**names, "frozenset": frozenset}) == phi
    assert repr(cel.In(A, "X")) == "In(phi=EventAtom(type='A'), variable='X')"


@pytest.mark.parametrize("parenthesized", ["A", "A FILTER A.x > 1"])
def test_ten_thousand_parentheses(parenthesized: str) -> None:
    assert parse("(" * 10_000 + parenthesized + ")" * 10_000) == parse(parenthesized)
    with pytest.raises(ParseError, match="ends too early"):
        parse("(" * 10_000 + parenthesized)


def test_ten_thousand_parentheses_in_a_filter() -> None:
    many, closing = "(" * 10_000, ")" * 10_000
    assert parse(f"A FILTER {many}A.x > 1{closing}") == parse("A FILTER A.x > 1")
    assert parse(f"A FILTER A[{many}x > 1{closing}]") == parse("A FILTER A.x > 1")
    assert parse(f"A FILTER A.x > {many}1{closing}") == parse("A FILTER A.x > 1")


@pytest.mark.parametrize(
    "text",
    [
        " ; ".join("A" * 1000),
        "A" + " IN X" * DEEP,
        "A" + "+" * DEEP,
        "A ; (" * DEEP + "A" + ")" * DEEP,
        "A FILTER " + " AND ".join(["A.x > 1"] * DEEP),
        "A FILTER A[" + "not " * DEEP + "x > 1]",
        "A FILTER A[" + " and ".join(["x > 1"] * DEEP) + "]",
        "A FILTER A.x " + "+ 1 " * DEEP + "> 1",
        "A FILTER A.x > " + "- " * DEEP + "A.x",
    ],
    ids=lambda text: text[:12],
)
def test_a_text_nested_too_deeply_is_refused(text: str) -> None:
    """The predicates were looked at while the tree was built, before its depth was known."""
    with pytest.raises(BudgetExceeded, match="more than 200 operators deep") as caught:
        parse(text)
    assert caught.value.span is not None


@pytest.mark.parametrize("text", ["A FILTER A.x > {}", "A FILTER A[x in {{1, {}}}]", "A WITHIN {} EVENTS"])
def test_a_number_of_very_many_digits_is_refused_where_it_stands(text: str) -> None:
    """Python itself reads no more than 4300 digits."""
    digits = "9" * 5000
    with pytest.raises(ParseError, match="at most 308 digits") as caught:
        parse(text.format(digits))
    span = caught.value.span
    assert span is not None
    assert span.end - span.start == 5000


def test_core_cel_shares_these_limits() -> None:
    with pytest.raises(BudgetExceeded):
        parse_core_cel("A AS x FILTER x.a " + "+ 1 " * DEEP + "> 1")
    with pytest.raises(ParseError, match="at most 308 digits"):
        parse_core_cel("A AS x FILTER x.a > " + "9" * 5000)


DEEPER = 20_000
OTHERS: dict[str, Callable[[], object]] = {
    "core-cel": lambda: reduce(lambda phi, _: core.CorePlus(phi), range(DEEPER), core.CoreEventAtom("A", "x")),
    "core-cel OR": lambda: reduce(core.CoreOr, [core.CoreEventAtom("A", "x")] * DEEPER),
    "cel FILTER": lambda: reduce(lambda phi, _: cel.Filter(phi, cel.Every("A", POSITIVE)), range(DEEPER), A),
    "cel not": lambda: a_filter(reduce(lambda P, _: Not(P), range(DEEPER), POSITIVE)),
    "event-expression": lambda: reduce(
        lambda E, _: expressions.ExpressionNot(E), range(DEEPER), expressions.Primitive("A")
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_the_functions_of_the_api_refuse_what_is_nested_too_deeply(name: str) -> None:
    """Some ended in a RecursionError, and compile took minutes of a thousand filters after each other."""
    query, S = OTHERS[name](), [cerify.Event("A", {"x": 1})]
    for function in (
        lambda: cerify.match(query, S),
        lambda: cerify.count(query, S),
        lambda: cerify.compile(query),
        lambda: cerify.explain(query, S, [0], at=0),
        lambda: cerify.show(query),
    ):
        with pytest.raises((BudgetExceeded, Unsupported)):
            function()
    assert isinstance(cerify.equivalent(query, query), cerify.Undecided)
