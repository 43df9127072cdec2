"""Automata of event expressions: against the meaning, minimal, and where the printed constructions fail."""

from itertools import product
from random import Random

import pytest

from cerify.automata.dfa.compile import compile_expression
from cerify.automata.dfa.model import DFA, minimal
from cerify.equivalence.generate.expressions import PROFILES, case, history
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, InputError, Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.denote import expanded
from cerify.semantics.event_expressions.interpreter import takes_place
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.event_expressions.syntax import show
from cerify.semantics.events import Event, Schema, Stream
from proofs_tests.claims.printed import vldb92_sec3 as printed
from proofs_tests.claims.printed.vldb92_app2 import marked
from proofs_tests.unit.semantics.event_expressions import examples
from proofs_tests.unit.semantics.event_expressions.examples import found


@pytest.mark.parametrize("name", PROFILES)
def test_random_cases(name: str) -> None:
    """Theorem 1 and Corollary 1."""
    rng = Random(13)
    somewhere = 0
    for _ in range(100):
        E, S = case(rng, PROFILES[name], 8, 6)
        A = compile_expression(E)
        for h in (S, history(rng, PROFILES[name], 5), history(rng, PROFILES[name], 8)):
            expected = takes_place(E, h)
            somewhere += bool(expected)
            assert A.events(h) == expected, f"{show(E)} over {h.events}"
    assert somewhere > 80


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("NULL", 1),
        ("a", 2),
        ("!NULL", 2),
        ("first", 3),
        ("any", 2),
        ("relative(a, b)", 3),
        ("relative+(a)", 2),
        ("<3> a", 5),
        ("every <3> a", 4),
        ("a and b", 1),
        (examples.PIPED_CUT, 4),
        (examples.END_BY_PREFIX_AS_PRINTED, 1),
    ],
)
def test_sizes(text: str, states: int) -> None:
    """Nobody can do with fewer: the last says that the expression never takes place."""
    assert len(compile_expression(parse(text)).following) == states


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (examples.NESTED_CUT, examples.PIPED_CUT),
        (examples.NESTED_CUT, examples.CORRELATED_CUT),
        ("relative(a, relative(b, a))", "relative(a, b, a)"),
        ("(a / b) / (a or b)", "a / (b / (a or b))"),
        ("a /+ b", "exists x (relative(b = x, a) and !prior(prior(x, b), any) and !b)"),
        ("b * a", "a and !prior(!b, a)"),
        ("first", "!relative(!NULL, !NULL)"),
        ("exists x (exists y (prior(a = x, b = y) and y))", "prior(a, b)"),
    ],
)
def test_equal_automata_are_equal_languages(left: str, right: str) -> None:
    A, B = compile_expression(parse(left)), compile_expression(parse(right))
    assert A.following == B.following
    assert A.accepting == B.accepting


def test_expressions_that_differ_have_automata_that_differ() -> None:
    texts = ["a", "!a", "a and first", "before(a)", "happened(a)", "<2> a", "every <2> a", "a | first", "prefix(<2> a)"]
    automata = [compile_expression(parse(text)) for text in texts]
    assert [A == B for A in automata for B in automata].count(True) == len(texts)
    assert compile_expression(parse("a | first")) == compile_expression(parse("<1> a"))


def test_expansions_have_the_same_automaton() -> None:
    rng = Random(17)
    for _ in range(60):
        E, _ = case(rng, PROFILES["derived"], 7, 0)
        A, B = compile_expression(E), compile_expression(expanded(E))
        if A.alphabet.predicates == B.alphabet.predicates:
            assert A == B, show(E)


def test_minimal_merges_what_nothing_tells_apart_and_drops_what_is_not_reached() -> None:
    A = compile_expression(parse("a"))
    a, other = (next(s for s in A.following[0] if A.following[0][s] == q) for q in (1, 0))
    rest = dict.fromkeys(A.following[0], 2)
    unreachable = dict.fromkeys(A.following[0], 3)
    longer = DFA(
        A.alphabet,
        A.variables,
        ({**rest, a: 1}, {**rest, a: 1, other: 0}, {**rest, a: 1}, unreachable),
        frozenset({1, 3}),
    )
    assert minimal(longer) == A


@pytest.mark.parametrize(
    "text",
    [examples.E, examples.E_PRIME, examples.E_SECOND, examples.E_NO_D, examples.END_OF_POINT, examples.END_BY_PREFIX],
)
def test_the_expressions_of_the_paper(text: str) -> None:
    E = parse(text)
    A = compile_expression(E)
    rng = Random(text)
    letters = sorted(t.witness.type for t in A.alphabet.types if t.witness is not None and t.witness.type != "start")
    for length in (6, 10, 14):
        for _ in range(20):
            S = Stream(Event(rng.choice(letters)) for _ in range(length))
            assert A.events(S) == takes_place(E, S)


def test_masks_and_arguments() -> None:
    schema = Schema({"order": {"account": "int", "ask": "int"}, "perform": {"account": "int"}})
    E = parse("done(I) := prior(order(I, Q)[ask > 5], perform(I)); done(1) or done(2)")
    A = compile_expression(E, schema)
    rng = Random(3)
    for _ in range(100):
        S = Stream(
            [
                Event(rng.choice(("order", "perform")), {"account": rng.randint(1, 3), "ask": rng.randint(4, 7)})
                for _ in range(6)
            ],
            schema,
        )
        assert A.events(S) == takes_place(E, S)


def test_what_no_automaton_carries() -> None:
    with pytest.raises(Unsupported, match="one for each value"):
        compile_expression(parse("prior(order(I), perform(I))"))
    with pytest.raises(Unsupported, match="Give the stream a schema"):
        compile_expression(parse("order(1)"))


def test_a_history_starts_but_once() -> None:
    A = compile_expression(parse("!a"))
    assert A.events(Stream(map(Event, ["start", "a", "b"]))) == {0, 2}
    with pytest.raises(InputError, match="event 1 is a start event"):
        A.events(Stream(map(Event, ["a", "start"])))


def test_large_automata_stop() -> None:
    with pytest.raises(BudgetExceeded):
        compile_expression(parse("<500> a"), budget=Budget(states=400))
    with pytest.raises(BudgetExceeded):
        compile_expression(
            parse("sequence(a" + ", !b" * 14 + ") and relative(a" + ", !b and !c" * 9 + ", <9> b)"),
            budget=Budget(states=300),
        )


# --- section 3 as printed ---------------------------------------------------------------------------------------------

LETTERS = ("a", "b")


def as_printed(text: str, h: str, empty_sequences: bool = False) -> list[int]:
    return sorted(printed.machine(parse(text), LETTERS, empty_sequences).events(h.split()))


@pytest.mark.parametrize(
    "text",
    [
        "NULL",
        "a",
        "a and !b",
        "!a",
        "relative(a, b)",
        "relative+(relative(a, b))",
        "a | !NULL | first",
        "a /+ b",
        "prefix(first /+ a)",
    ],
)
def test_the_printed_constructions_on_all_small_histories(text: str) -> None:
    for h in (h for n in range(6) for h in product(LETTERS, repeat=n)):
        assert as_printed(text, " ".join(h)) == found(text, " ".join(h))


def test_slash_plus_as_printed_begins_the_delimiter_anew() -> None:
    """After the first delimiter the printed machine reads E from its start state; E[h] is about the whole history."""
    assert found("any /+ first", "a a") == [1]
    assert as_printed("any /+ first", "a a") == []


def test_prefix_as_printed_with_an_empty_sequence_of_events() -> None:
    """E has to be satisfied at an event following the one at hand."""
    assert found("prefix(first)", "a") == []
    assert as_printed("prefix(first)", "a") == []
    assert as_printed("prefix(first)", "a", empty_sequences=True) == [0]


def test_not_as_printed_needs_a_start_state_that_is_left_for_good() -> None:
    """!NULL takes place at every event; the smallest machine of NULL has one state, which then never accepts."""
    one_state = printed.Machine(LETTERS, 0, frozenset(), {(0, a): frozenset({0}) for a in LETTERS})
    assert found("!NULL", "a") == [0]
    assert printed.negation(one_state).events("a") == frozenset()
    assert printed.negation(printed.null(LETTERS)).events("a") == {0}


def test_printed_machines_are_deterministic_where_it_says_so() -> None:
    E = expr.ExpressionBetween(expr.AnyEvent(), expr.Primitive("a"))
    M = printed.determinized(printed.machine(E, LETTERS))
    assert all(len(targets) == 1 for targets in M.moves.values())


@pytest.mark.parametrize(
    "text",
    [
        "exists x (relative(a = x, b))",
        "exists x (relative(relative(a, b = x), a) and relative(x, !b))",
        "exists x (exists y (relative(a = x, b = y) and relative(x, relative+(b))))",
        "exists x (relative(a = x, x))",
        "!(exists x (relative(a, b = x) and relative(x, a)))",
        "relative+(exists x (a = x and first))",
    ],
)
def test_appendix_2_as_printed(text: str) -> None:
    """Theorem 2, in the case that the paper gives: no variable is free under a negation."""
    M = marked(parse(text), LETTERS).machine
    for h in (h for n in range(6) for h in product(LETTERS, repeat=n)):
        assert sorted(M.events(h)) == found(text, " ".join(h))


def test_appendix_2_as_printed_wants_two_variables_at_one_event_in_one_order() -> None:
    """The marks x, y of one side and y, x of the other come after each other: no thread passes both pairs."""
    text = "exists x (exists y (a = x = y and y = x))"
    assert found(text, "a") == [0]
    assert marked(parse(text), LETTERS).machine.events("a") == frozenset()
    assert compile_expression(parse(text)).events(Stream([Event("a")])) == {0}


LEFT, RIGHT = (" or ".join(f"x{n}" for n in range(start, start + 9)) for start in (0, 9))
BINDING = "".join(f"exists x{n} (" for n in range(18))


@pytest.mark.parametrize(
    ("text", "named", "span"),
    [
        ("a or !relative(a, <18> any)", "relative(a, <18> any)", (6, 27)),
        ("prefix(b) and !prefix(!relative(a, <18> any and !b))", "relative(a, <18> any and !b)", (23, 51)),
        ("!relative(!NULL, a and !relative(a, <18> b and !c))", "relative(a, <18> b and !c)", (24, 50)),
        pytest.param(
            f"{BINDING}({LEFT}) | ({RIGHT}){')' * 18}", f"({LEFT}) | ({RIGHT})", None, marks=pytest.mark.thorough
        ),
    ],
)
def test_what_blows_up_is_named(text: str, named: str, span: tuple[int, int] | None) -> None:
    """The number of states can be exponential in the expression: the error says in which part of it."""
    with pytest.raises(BudgetExceeded) as error:
        compile_expression(parse(text), budget=Budget(states=20_000))
    assert error.value.message.startswith(f"{named}: ")
    if span is not None:
        assert error.value.span is not None
        assert (error.value.span.start, error.value.span.end) == span


def test_what_prefix_cannot_tell_is_named_by_the_meaning_too() -> None:
    E = parse("a and prefix(NULL and relative(a, <12> any and !b))")
    with pytest.raises(BudgetExceeded, match="prefix distinguishes more than 200 histories") as error:
        takes_place(E, Stream(map(Event, "aab")), Budget(states=200))
    assert error.value.span is not None
    assert error.value.span.start >= 13
