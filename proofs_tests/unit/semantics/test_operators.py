"""The tables of operators: each has every operator of its language once, and says of each what its node says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import fields
from itertools import product
from random import Random
from types import ModuleType
from typing import Any, get_args
from unittest.mock import ANY

import pytest

from cerify.languages import language_named
from cerify.semantics.arguments import choices, parse_reading
from cerify.semantics.cel import interpreter
from cerify.semantics.cel import parse as cel_parse
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel import syntax as cel_operators
from cerify.semantics.core_cel import parse as core_parse
from cerify.semantics.core_cel import syntax as core_operators
from cerify.semantics.errors import InputError
from cerify.semantics.event_expressions import parse as expr_parse
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions import syntax as expr_operators
from cerify.semantics.events import Event, Stream
from cerify.semantics.json_events import stream_of_json
from cerify.semantics.readings import Reading, RowReading
from cerify.semantics.trees import Operator, children, rebuilt, subtrees
from proofs_tests.campaigns.definitions import DEFINITIONS, differing
from proofs_tests.support import sampled, vary_reading

# ---- operators ----
#


def in_scope(text: str) -> expr_operators.Expression:
    """A text in which x stands for an event, I for a value, and p for an expression, as in the samples."""
    arguments = "(K, L)" if "p(" in text else ""
    whole = expr_parse.parse(f"p{arguments} := a; exists x ({text}) and a = x and b(I)")
    assert isinstance(whole, expr_operators.Let)
    assert isinstance(whole.body, expr_operators.ExpressionAnd)
    assert isinstance(whole.body.left, expr_operators.ExpressionAnd)
    assert isinstance(whole.body.left.left, expr_operators.Exists)
    return whole.body.left.left.operand


# Of each language: its table, its union of formulas, and from text to a formula and back.
LANGUAGES: dict[str, tuple[ModuleType, Any, Callable[[str], Any], Callable[[Any], str]]] = {
    "cel": (cel_operators, cel_operators.Formula, cel_parse.parse, cel_operators.show),
    "core-cel": (core_operators, core_operators.Formula, core_parse.parse, core_operators.show),
    "event-expression": (
        expr_operators,
        expr_operators.Leaf
        | expr_operators.Unary
        | expr_operators.Binary
        | expr_operators.Nary
        | expr_operators.Counted
        | expr_operators.FirstAfter
        | expr_operators.Exists
        | expr_operators.Equated,
        in_scope,
        expr_operators.show,
    ),
}
TREES = ("Formula", "Expression", "tuple[Expression, ...]")
EVERY = [(name, operator) for name, (module, *_) in LANGUAGES.items() for operator in module.OPERATORS.values()]


def members(union: object) -> set[type]:
    """The classes of a union of classes; for a base class of derived operators those."""
    parts = {member for part in get_args(union) for member in (members(part) or {part})}
    return {leaf for part in parts for leaf in (leaves(part) if part is cel_operators.Derived else {part})}


def leaves(base: type) -> set[type]:
    """Return the leaf subclasses of a class, and the classes in the table."""
    below = {leaf for part in base.__subclasses__() for leaf in leaves(part)}
    return below | ({base} if base is not cel_operators.Derived else set())


def leaf(language: str) -> Any:
    return LANGUAGES[language][2]("A AS x" if language == "core-cel" else "A")


def places(operator: Operator) -> int:
    """The number of operands of its samples: two where a field has any number of them."""
    types = [f.type for f in fields(operator.node) if f.name in operator.node.operands]
    return len(types) + sum(str(name).startswith("tuple") for name in types)


def made(language: str, operator: Operator) -> list[Any]:
    """The samples of an operator, over event types."""
    below = [leaf(language)] * places(operator)
    return [make(*below) for make in operator.instances()]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.slow
def test_the_table_has_every_class_of_the_union(language: str) -> None:
    module, union, _, _ = LANGUAGES[language]
    assert members(union) == set(module.OPERATORS)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.slow
def test_names_differ(language: str) -> None:
    operators = LANGUAGES[language][0].OPERATORS
    assert len({operator.name for operator in operators.values()}) == len(operators)


@pytest.mark.parametrize(("language", "operator"), EVERY, ids=lambda x: getattr(x, "name", x))
@pytest.mark.slow
def test_a_node_names_its_operands(language: str, operator: Operator) -> None:
    """A field that is left out of `operands` would be skipped by all that goes through a formula."""
    assert operator.node.operands == tuple(f.name for f in fields(operator.node) if f.type in TREES)


@pytest.mark.parametrize("step", sampled([4, 1], [4]))
@pytest.mark.parametrize(("language", "operator"), EVERY, ids=lambda x: getattr(x, "name", x))
@pytest.mark.slow
def test_text_and_tree(language: str, operator: Operator, step: int) -> None:
    """Every operator is read back, alone and as each operand of every other; and rebuilt from its operands."""
    module, _, parse, show = LANGUAGES[language]
    assert made(language, operator), "an operator needs a sample"
    for phi in made(language, operator):
        assert type(phi) is operator.node
        assert parse(show(phi)) == phi
        assert rebuilt(phi, children(phi)) == phi
        for outer in [*module.OPERATORS.values()][::step]:
            for make in outer.instances():
                for place in range(places(outer)):
                    below = [leaf(language)] * places(outer)
                    below[place] = phi
                    psi = make(*below)
                    assert parse(show(psi)) == psi
                    assert phi in list(subtrees(psi))


@pytest.mark.parametrize(("language", "operator"), EVERY, ids=lambda x: getattr(x, "name", x))
@pytest.mark.slow
def test_aliases_parse(language: str, operator: Operator) -> None:
    _, _, parse, show = LANGUAGES[language]
    for phi in made(language, operator):
        for alias in operator.aliases:
            assert parse(show(phi).replace(operator.symbol, alias)) == phi


OPERANDS = {
    "cel": ("A", "B", "A ; B"),
    "core-cel": ("A AS x", "B AS x", "A AS x ; B AS y"),
    "event-expression": ("A", "B", "first"),
}
"""Of each language the formulas between which an operator and OR are put."""

SHORT = [
    Stream(Event(R, {"x": n % 2}) for n, R in enumerate(word)) for k in (1, 2, 3) for word in product("AB", repeat=k)
]


def lost(language: str, operator: Operator) -> Any:
    """A formula, one with more matches in one of its places, and a stream on which the second lacks a match."""
    plugin, parse = language_named(language), LANGUAGES[language][2]
    union = next(o.node for o in LANGUAGES[language][0].OPERATORS.values() if o.name == "or")
    operands = [parse(text) for text in OPERANDS[language]]
    number = places(operator)
    for make, below in product(operator.instances(), product(operands, repeat=number)):
        small = make(*below)
        for place, further in product(range(number), operands):
            large = make(*(union(psi, further) if n == place else psi for n, psi in enumerate(below)))
            for S in SHORT:
                if not set(plugin.evaluators.matches(small, S)) <= set(plugin.evaluators.matches(large, S)):
                    return small, large, S
    return None


@pytest.mark.parametrize(
    ("language", "operator"),
    [pytest.param(*one, marks=pytest.mark.thorough if n % 3 else ()) for n, one in enumerate(EVERY)],
)
@pytest.mark.slow
def test_with_a_monotone_operator_more_matches_of_an_operand_give_no_fewer(language: str, operator: Operator) -> None:
    if operator.node.operands and operator.name not in ("exists", "equated", "constraint"):  # need a variable in scope
        assert (lost(language, operator) is None) == operator.monotone


ALIASES = {
    ("cel", "or"): ("∨",),
    ("cel", "and"): ("∧",),
    ("cel", "cplus"): ("⊕",),
    ("cel", "nxt"): ("NEXT",),
    ("cel", "in"): ("AS",),
    ("cel", "project"): ("π",),
    ("core-cel", "or"): ("∨",),
    ("core-cel", "nxt"): ("NEXT",),
    ("event-expression", "and"): ("^", "AND", "∧"),
    ("event-expression", "not"): ("not ", "¬"),
    ("event-expression", "relative_plus"): ("rel+",),
    ("event-expression", "or"): ("OR", "∨"),
    ("event-expression", "exists"): ("∃",),
}


@pytest.mark.slow
def test_no_table_lacks_a_spelling_of_the_grammar() -> None:
    found = {(language, operator.name): operator.aliases for language, operator in EVERY if operator.aliases}
    assert found == ALIASES


# ---- definitions ----
# A small share of the campaign that compares definitions with what computes the same; it finds planted faults.


@pytest.mark.parametrize("number", sampled([60, 400], [60]))
@pytest.mark.parametrize("language", DEFINITIONS)
@pytest.mark.slow
def test_definitions_agree(language: str, number: int) -> None:
    rng, counts = Random(language), Counter[str]()
    found = [line for _ in range(number) for line in differing(DEFINITIONS[language], rng, 4, 4, counts)]
    assert not found
    assert counts["matched"] > number // 4
    assert all(counts[f"{name} agrees"] > number // 2 for name in ("interpreter", "automaton", "kernel"))


@pytest.mark.slow
def test_a_clause_that_is_skipped_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "INHERITING", (*interpreter.INHERITING, cel.Preference))
    rng, counts = Random(1), Counter[str]()
    assert any(line for _ in range(300) for line in differing(DEFINITIONS["cel"], rng, 5, 5, counts))


# ---- trees ----
# Equality of trees, and the whole numbers that are values.

A, B, C = (expr.Primitive(T) for T in "abc")


def test_trees_are_equal_if_they_are_the_same_formula() -> None:
    assert cel.Seq(cel.EventAtom("A"), cel.EventAtom("B")) == cel.Seq(cel.EventAtom("A"), cel.EventAtom("B"))
    assert cel.Seq(cel.EventAtom("A"), cel.EventAtom("B")) != cel.Or(cel.EventAtom("A"), cel.EventAtom("B"))
    assert cel.EventAtom("A") != "A"
    assert cel.EventAtom("A") == ANY  # which is asked, as a tree does not know


def test_operands_are_those_of_the_same_operator() -> None:
    trees = [
        expr.Relative((A, expr.Relative((B, C)))),
        expr.Relative((expr.Relative((A, B)), C)),
        expr.Relative((A, expr.Relative((B,)), C)),
        expr.Relative((expr.Relative((A,)), B, C)),
        expr.Relative((A, B, expr.Relative((C,)))),
    ]
    assert len(set(trees)) == len(trees)
    assert all((one == other) == (one is other) for one in trees for other in trees)


def test_whole_numbers_of_64_bits_are_values_and_others_are_not() -> None:
    S = stream_of_json([{"type": "A", "x": n} for n in (-(2**63), 2**63 - 1)], None, "events")
    assert [event.attributes["x"] for event in S] == [-(2**63), 2**63 - 1]
    for n in (-(2**63) - 1, 2**63):
        with pytest.raises(InputError, match="64"):
            stream_of_json([{"type": "A", "x": n}], None, "events")


# ---- readings ----
# The names of questions and answers of readings, read from texts.


def test_a_reading_is_read_from_texts() -> None:
    assert parse_reading(RowReading, []) == RowReading()
    assert parse_reading(RowReading, ["nulls=low", "skip_to_first=next_row"]) == RowReading(
        nulls="low", skip_to_first="next_row"
    )
    assert parse_reading(Reading, ["window=open"]).window == "open"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("null=low", "a reading has no question 'null'; its questions are bounded_iterations, "),
        ("nulls=lowest", "reading nulls: expected high or low or last, not 'lowest'"),
        ("nulls", "reading nulls: expected high or low or last, not ''"),
    ],
)
def test_what_is_no_reading_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_reading(RowReading, [text])


def test_the_decided_answer_is_the_first_and_none_of_the_others() -> None:
    assert choices(RowReading)["nulls"] == ("high", "low", "last")
    assert [answer for name, answer in vary_reading(RowReading()) if name == "nulls"] == ["low", "last"]
