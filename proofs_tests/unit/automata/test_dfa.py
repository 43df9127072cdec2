"""Automata of event expressions: against the meaning, minimal, and where the printed constructions fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from random import Random

import pyarrow as pa
import pytest

from cerify.automata.dfa.compile import (
    argument_places,
    compile_expression,
    compile_together,
    inlined,
    order_in,
    ranging_variables,
    unbound_variables,
    variable_names,
)
from cerify.automata.dfa.evaluate import TableRunner
from cerify.automata.dfa.evaluators import CompiledRunner
from cerify.automata.dfa.model import DFA, Word, minimal, separating_word, stream_of, types_under
from cerify.automata.dfa.parametric import ParametricMonitor, Valued, collected, found_in, symbolic, tuples
from cerify.equivalence.generate.expressions import (
    CORRELATED,
    EVERYTHING,
    PROFILES,
    VALUED,
    VALUED_PROFILES,
    ExpressionProfile,
    case,
    expression,
    history,
)
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, IllFormed, InputError, Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.denote import (
    ANY,
    definition,
    expanded,
    find_scope_variables,
    free_variables,
    names_in,
    places,
    places_of,
)
from cerify.semantics.event_expressions.interpreter import compatible, takes_place
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.event_expressions.syntax import show
from cerify.semantics.events import Event, Schema, Stream
from proofs_tests.campaigns.expressions import judge
from proofs_tests.claims import printed_vldb92
from proofs_tests.claims.printed_vldb92 import marked
from proofs_tests.claims.vldb92_regular import counter
from proofs_tests.support import sampled
from proofs_tests.unit.semantics import expression_cases as examples
from proofs_tests.unit.semantics.expression_cases import found
from proofs_tests.unit.semantics.expression_cases import history as history_expressions

# ---- dfa ----
#


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.slow
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
    with pytest.raises(Unsupported, match="each value needs its own automaton"):
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
    return sorted(printed_vldb92.machine(parse(text), LETTERS, empty_sequences).events(h.split()))


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
    one_state = printed_vldb92.Machine(LETTERS, 0, frozenset(), {(0, a): frozenset({0}) for a in LETTERS})
    assert found("!NULL", "a") == [0]
    assert printed_vldb92.negation(one_state).events("a") == frozenset()
    assert printed_vldb92.negation(printed_vldb92.null(LETTERS)).events("a") == {0}


def test_printed_machines_are_deterministic_where_it_says_so() -> None:
    E = expr.ExpressionBetween(expr.AnyEvent(), expr.Primitive("a"))
    M = printed_vldb92.determinized(printed_vldb92.machine(E, LETTERS))
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
@pytest.mark.slow
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


# ---- dfa identities ----
# Section 2.3 of vldb92, decided on automata: each derived operator, built on its own, is what its definition says.
#
# The operands stand for any expressions. Where an operand reads the whole history only, all that counts of it is at
# which
# events it takes place: a flag of each event says so, and one decision with flags is the identity for all operands.
# An
# operand that begins anew somewhere in the history is also one that depends on where it has begun, and one that
# counts.

WHOLE = [[parse(f"e[{flag} = 1]")] for flag in "pqr"]
"""Operands that read the whole history: each has a flag of its own."""

ANEW = [
    [parse(text % flag) for text in ("e[%s = 1]", "happened(first and e[%s = 1])", "<2> e[%s = 1]", "!e[%s = 1]")]
    for flag in "pqr"
]
"""Operands that begin anew: of the moment, of where it begins, with a memory, and with the start event."""

OPERATORS: dict[str, tuple[Callable[..., expr.Expression], list[list[expr.Expression]]]] = {
    "a": (expr.ExpressionOr, WHOLE[:2]),
    "b": (expr.AnyEvent, []),
    "c": (lambda *parts: expr.Prior(parts), WHOLE[:2]),
    "d": (lambda *parts: expr.Prior(parts), WHOLE),
    "e1": (lambda *parts: expr.Sequence(parts), WHOLE),
    "e2": (lambda *parts: expr.Sequence(parts), WHOLE[:2]),
    "f": (expr.First, []),
    "h1": (lambda E: expr.Nth(1, E), WHOLE[:1]),
    "h3": (lambda E: expr.Nth(3, E), WHOLE[:1]),
    "i1": (lambda E: expr.EveryNth(1, E), WHOLE[:1]),
    "i3": (lambda E: expr.EveryNth(3, E), WHOLE[:1]),
    "j": (expr.After, [ANEW[0], WHOLE[1]]),
    "k": (expr.ExpressionBetween, [ANEW[0], WHOLE[1]]),
    "l": (expr.FirstAfter, [WHOLE[0], ANEW[1], ANEW[2]]),
    "m": (expr.Before, WHOLE[:1]),
    "n": (expr.Happened, WHOLE[:1]),
    "p": (expr.ExpressionSeries, WHOLE[:2]),
    "relative of three": (lambda *parts: expr.Relative(parts), [WHOLE[0], ANEW[1], ANEW[2]]),
}


def difference(E: expr.Expression, F: expr.Expression, with_start: bool = True) -> Word | None:
    A, B = compile_together([E, F])
    return separating_word(A, B, None if with_start else A.alphabet.coming)


@pytest.mark.parametrize("item", OPERATORS)
def test_an_operator_is_what_its_definition_says(item: str) -> None:
    operator, operands = OPERATORS[item]
    for chosen in product(*operands):
        E = operator(*chosen)
        F = definition(E)
        assert F is not None
        A, B = compile_together([E, F])
        assert separating_word(A, B) is None
        assert A == B
        assert A.accepting  # it can take place: the two do not agree on nothing


@pytest.mark.parametrize("item", OPERATORS)
def test_as_printed_they_agree_on_histories_without_a_start_event(item: str) -> None:
    operator, operands = OPERATORS[item]
    for chosen in product(*operands):
        E = operator(*chosen)
        F = definition(E, ANY)
        assert F is not None
        assert difference(E, F, with_start=False) is None


@pytest.mark.parametrize(
    ("text", "length"), [("first", 2), ("<1> start", 1), ("every <1> start", 1), ("every <2> !NULL", 2)]
)
def test_as_printed_they_do_not_with_one(text: str, length: int) -> None:
    """The shortest histories; those of docs/decisions/event-expressions.md are none longer."""
    E = parse(text)
    F = definition(E, ANY)
    assert F is not None
    word = difference(E, F)
    assert word is not None
    assert len(word) == length


def test_or_as_printed_lacks_a_negation() -> None:
    (E,), (F,) = WHOLE[:2]
    A, B = compile_together([expr.ExpressionOr(E, F), expr.ExpressionNot(expr.ExpressionAnd(E, expr.ExpressionNot(F)))])
    word = separating_word(A, B)
    assert word is not None
    assert len(stream_of(word, types_under(A.alphabet))) == 1


def test_pipe_and_prefix_by_what_they_are_about() -> None:
    """g and o have no definition in others; these are laws that say what they do."""
    (E,), (F,), (G,) = WHOLE
    assert difference(expr.Pipe(expr.Pipe(E, F), G), expr.Pipe(E, expr.Pipe(F, G))) is None
    assert difference(expr.Pipe(E, F), expr.ExpressionAnd(E, F)) is None  # F looks at the event at hand only
    assert difference(expr.Prefix(expr.ExpressionOr(E, F)), expr.ExpressionOr(expr.Prefix(E), expr.Prefix(F))) is None
    once = expr.ExpressionAnd(expr.Nth(2, E), F)
    assert difference(expr.Prefix(once), expr.ExpressionNot(expr.Happened(expr.Nth(2, E)))) is None


# ---- dfa scopes ----
# The two readings of variables, of the definition and of the automata, give the same on all expressions.

TEXTS = [
    "order(I, I)",
    "order(I, Q) and Q > 5",
    "p(I) := order(I, Q); q(J, K) := p(K) or perform(J, 1); q(1, X) and X != 2",
    "p(I) := order(I, Q); q(J, K) := p(K) or perform(J, 1); prior(q(I, I), perform(I, A))",
    "p(I) := prior(order(I, Q), perform(I, Q)); p(3)",
    "p(I) := exists x (prior(order(I) = x, x)) or x = y; p(Z)",
    "exists x (prior(a = x, b = y)) and exists y (a = y) and x",
    "a = x",
    "exists x (a)",
]


def agree(E: expr.Expression) -> None:
    definitions = {d.name: d for d in E.definitions} if isinstance(E, expr.Let) else {}
    scopes = [(d.body, d.parameters) for d in definitions.values()]
    for body, parameters in (*scopes, (E.body if isinstance(E, expr.Let) else E, ())):
        assert set(unbound_variables(body)) == free_variables(body)
        assert ranging_variables(body, parameters) == find_scope_variables(body, parameters)
        assert variable_names(body) == names_in(body)
        found = argument_places(body, definitions)
        assert all(found.get(X, frozenset()) == places(X, body, definitions) for X in names_in(body))


@pytest.mark.parametrize("text", TEXTS)
def test_of_chosen_texts(text: str) -> None:
    agree(parse(text))


@pytest.mark.parametrize("profile", [CORRELATED, VALUED, EVERYTHING], ids=["correlated", "valued", "everything"])
def test_of_random_expressions(profile: ExpressionProfile) -> None:
    rng = Random(5)
    for _ in range(300):
        agree(expression(rng, profile, rng.randint(1, 15)))


def test_the_order_of_arguments() -> None:
    schema = Schema({"a": {"m": "int", "time": "timestamp", "n": "int"}, "b": {}})
    events = [Event("a", {"n": 1}), Event("b"), Event("a", {"time": 3, "m": 2, "n": 1})]
    for S in (Stream([], schema), Stream(events)):
        assert dict(order_in(S)) == dict(places_of(S))
    assert order_in(Stream([], schema)) == {"a": ("m", "n"), "b": ()}
    assert order_in(Stream(events)) == {"a": ("n", "m"), "b": ()}


def test_a_variable_alone() -> None:
    """A text has one only where exists or = names it too."""
    agree(expr.ExpressionVariable("x"))
    assert variable_names(expr.ExpressionVariable("x")) == {"x"}


# ---- dfa star free ----
# Which expressions count modulo a number, and which past temporal logic can say.


@pytest.mark.parametrize(
    "text",
    ["NULL", "a", "prior(a, b)", "relative(a, b)", "relative+(a)", "<3> a", "first", "a /+ b", "a | <2> b",
     "sequence(a, b, a)", "b * a",
     "relative+(sequence(first and a, b) or sequence(first and b, a))",
     "prefix(<2> a)", "every <1> a", "relative+(relative(a, b))",
     examples.PIPED_CUT, examples.E],
)  # fmt: skip
def test_star_free(text: str) -> None:
    assert counter(compile_expression(parse(text))) is None


@pytest.mark.parametrize(
    ("text", "times", "modulo"),
    [
        ("every <2> a", 1, 2),
        ("every <5> a", 1, 5),
        ("!(every <2> a)", 1, 2),
        ("(every <2> a) /+ s", 1, 2),
        ("relative+(<2> any)", 1, 2),
        ("relative+(<3> any) and before(b)", 1, 3),
        ("any | (every <2> any)", 1, 2),
        ("relative+(sequence(first, a) and b)", None, None),
        ("relative+(sequence(first and a, b, a, b))", 2, 2),
    ],
)
def test_counters(text: str, times: int | None, modulo: int | None) -> None:
    """The word is a shortest one, and leads each of the states to the next one."""
    A = compile_expression(parse(text))
    found = counter(A)
    assert (None if found is None else (len(found.word), len(found.states))) == (times and (times, modulo))
    if found is not None:
        moved = list(found.states)
        for a in found.word:
            moved = [A.step(q, a) for q in moved]
        assert moved == [*found.states[1:], found.states[0]]
        assert len(set(found.states)) == len(found.states) > 1
        assert found.states[0] == min(found.states)


def test_which_events_may_come_has_to_be_known() -> None:
    A = compile_expression(parse("every <2> a"))
    types = (*A.alphabet.types[:-1], replace(A.alphabet.types[-1], witness=None))
    with pytest.raises(Unsupported, match="z3 returned unknown"):
        counter(replace(A, alphabet=replace(A.alphabet, types=types)))


def test_too_many_moves_stop() -> None:
    with pytest.raises(BudgetExceeded):
        counter(compile_expression(parse("sequence(a, a or b, a or b, b) or <30> c")), Budget(states=50))


# ---- dfa parametric ----
# Attribute variables by a monitor and by an automaton for each choice: against the definition; as a table.

COMPLETE = "complete(I) := prior(order(I, Q), perform(I, A))"


def machines(query: str, S: Stream, budget: Budget = Budget()) -> ParametricMonitor:
    return ParametricMonitor(symbolic(parse(query), order_in(S), budget), budget)


@pytest.mark.parametrize("cases", sampled([40, 80], [40]))
@pytest.mark.parametrize("name", VALUED_PROFILES)
@pytest.mark.slow
def test_random_cases_dfa_parametric(name: str, cases: int) -> None:
    """Section 6.2: one expression for each value."""
    rng, profile = Random(17), VALUED_PROFILES[name]
    valued = somewhere = 0
    for _ in range(cases):
        E, S = case(rng, profile, 9, 8)
        expected = compatible(E, S)
        assert frozenset(e for e, _ in expected.rows) == takes_place(E, S)
        shown = f"{show(E)} over {S.events}"
        for evaluator in (TableRunner, CompiledRunner):
            assert Valued(E, order_in(S)).rows(S, evaluator) == expected.rows, shown
        table = collected(E, S)
        rows = [tuple(row.values()) for row in table.to_pylist()]
        assert rows == sorted((e, *(v for _, v in values)) for e, values in expected.rows), shown
        assert found_in(E, S) == sorted({row[0] for row in rows}), shown
        valued += bool(expected.variables)
        somewhere += bool(rows and expected.variables)
    assert valued > 25 * cases / 80
    assert somewhere > cases / 16


@pytest.mark.parametrize("cases", sampled([25, 70], [25]))
@pytest.mark.slow
def test_a_part_of_the_campaign(cases: int) -> None:
    outcomes = [judge(index, 3) for index in range(cases)]
    assert not any(outcome.differ for outcome in outcomes)
    counts = sum((outcome.counts for outcome in outcomes), start=type(outcomes[0].counts)())
    assert counts["compared"] == 10 * cases
    assert min(counts[f"by {way}"] for way in ("automaton", "compiled", "parametric", "automata", "plain")) > 0


def test_the_papers_example() -> None:
    """Appendix 3: order(121, 40) spawns a machine for 121; another value is an unknown symbol to it."""
    S = history_expressions("order(121,40) perform(7,8) order(7,1) perform(121,2) perform(121,3)")
    monitor = machines(COMPLETE, S)
    assert [monitor.push(event) for event in S] == [False, False, False, True, True]
    assert monitor.tuples() == [(("number", 121),)]
    assert len(monitor) == 3  # the one without a value, and one each for 121 and 7


def test_two_variables_have_a_machine_for_each_pair_and_each_alone() -> None:
    S = history_expressions("a(1) b(5) a(2) b(1)")
    monitor = machines("prior(a(I), b(J)) and I != J", S)
    sizes = []
    for event in S:
        monitor.push(event)
        sizes.append(len(monitor))
    assert sizes == [2, 4, 6, 9]
    assert monitor.tuples() == [(("number", 2), ("number", 1))]


@pytest.mark.parametrize(
    ("query", "text", "rows"),
    [
        ("prior(a(I), b(I))", "a(1) a(2) b(2) b(1)", [(2, 2), (3, 1)]),
        ("hired(X, W) := prior(a(X), b(W))", "a(1) a(2) b(3)", [(2, 3, 1), (2, 3, 2)]),
        ("prior(a(X), b(W))", "a(1) b(3)", [(1,)]),  # nobody asks for X and W
        ("p(I) := !before(a(I)) and a(I)", "a(1) a(2) a(1)", [(0, 1), (1, 2)]),
        ("b and I > 1 and !before(a(I, I))", "a(1,1) a(2,3) a(4,4) b", [(3, 2), (3, 3)]),
        ("I > 1 and (a(I) or b)", "a(1) b a(2) b", [(2, 2), (3, 2)]),
        ("prior(a(I, J), a(J, I)) and I < J", "a(1,2) a(2,1) a(2,2)", [(1, 1, 2)]),
        ("prior(a(1, I), b(I))", "a(2,3) b(3) a(1,3) b(3)", [(3, 3)]),
        ("prefix(relative(a(I), a(I) and first)) and a(I)", "a(1) a(2) a(1)", [(0, 1), (1, 2), (2, 1)]),
        ("again(Y) := prior(a(X), b(X, Y))", "a(1) b(1,5) a(2) b(2,5) b(3,6)", [(1, 5), (3, 5)]),
        ("p(X) := prior(a(X, I), b(I)); q(I) := p(I)", "a(1,2) b(3) b(2)", [(2, 1)]),
        ("p(X, Y) := prior(a(X, I), b(I, Y)) and I != 1; p(1, Y)", "a(1,2) b(2,3) a(1,1) b(1,4)", [(1, 3)]),
        ("a(I) and prior(a(I), exists x (a(I) = x))", "a(1) a(1) a(2)", [(1, 1)]),
        ("prior(a(I) = x, b) and prior(x, b(I))", "a(1) b(2) b(1)", [(2, 1)]),
        ("p(Y) := prior(a(X), b(Y)); p(X)", "a(1) b(2)", [(1, 2)]),  # two variables of the same name
    ],
)
def test_tables(query: str, text: str, rows: list[tuple[int, ...]]) -> None:
    E, S = parse(query), history_expressions(text)
    assert sorted((e, *(v for _, v in values)) for e, values in compatible(E, S).rows) == rows
    assert [tuple(row.values()) for row in collected(E, S).to_pylist()] == rows


def test_columns() -> None:
    day = datetime(2026, 1, 1, tzinfo=UTC)
    events = [Event("a", {"i": 1, "f": 1, "s": "x", "t": day}), Event("a", {"i": 2, "f": 0.5, "s": "y", "t": day})]
    table = collected(parse("q(I, F, S, T) := a(I, F, S, T)"), Stream(events))
    named = {"at": pa.int64(), "F": pa.float64(), "I": pa.int64(), "S": pa.string(), "T": pa.timestamp("us", tz="UTC")}
    assert {field.name: field.type for field in table.schema} == named
    assert table.to_pylist()[1] == {"at": 1, "F": 0.5, "I": 2, "S": "y", "T": day}
    nothing = collected(parse("prior(a(I), a(I))"), Stream(events))
    assert (nothing.column_names, nothing.num_rows) == (["at", "I"], 0)
    mixed = Stream([Event("a", {"n": 1}), Event("a", {"n": "1"})])
    with pytest.raises(Unsupported, match="the values of I are of the types int, string"):
        collected(parse("q(I) := a(I)"), mixed)
    assert found_in(parse("q(I) := a(I)"), mixed) == [0, 1]
    with pytest.raises(IllFormed, match="rename the variable"):
        collected(parse("prior(a(at), a(at))"), mixed)


def test_values_are_compared_as_everywhere() -> None:
    S = Stream([Event("a", {"n": 1}), Event("b", {"n": True}), Event("b", {"n": 1.0}), Event("b")])
    assert found_in(parse("prior(a(I), b(I))"), S) == [2]
    nan = Stream([Event("a", {"n": float("nan")}), Event("a", {"n": float("nan")})])
    for query in ("q(I) := a(I)", "q(I) := !a(I)"):
        assert frozenset(found_in(parse(query), nan)) == takes_place(parse(query), nan)


def test_an_attribute_cannot_pose_as_a_variable() -> None:
    S = Stream([Event("a", {"n": 1, "\0I": 1}), Event("b", {"n": 2})])
    assert found_in(parse("prior(!a(I), b(I))"), S) == sorted(takes_place(parse("prior(!a(I), b(I))"), S)) == [1]


def test_what_is_refused() -> None:
    S = history_expressions("a(1) b(1)")
    with pytest.raises(
        Unsupported,
        match="automata cannot evaluate prefix here, because which events may follow depends on the values of I",
    ):
        machines("prefix(prior(a(I), b(I)))", S)
    with pytest.raises(Unsupported, match=r"make .* parameters"):
        found_in(parse("same(I) := prior(a(I, Q), b(I, Q)); !same(1)"), history_expressions("a(1,2)"))
    with pytest.raises(Unsupported, match="Give the stream a schema"):
        symbolic(parse("prior(a(I), b(I))"), {})
    many = history_expressions(" ".join(f"a({n}) b({n})" for n in range(9)))
    with pytest.raises(BudgetExceeded, match="more than 50 combinations of values to I, J"):
        collected(parse("q(I, J) := prior(a(I), b(J))"), many, Budget(states=50))
    with pytest.raises(BudgetExceeded, match="more than 30 compatible tuples"):
        collected(parse("q(I, J) := prior(a(I), b(J))"), many, Budget(matches=30))
    constrained = " and ".join(f"I != {n}" for n in range(11))
    with pytest.raises(BudgetExceeded, match="more than 10 constraints"):
        machines(f"a(I) and {constrained}", S)
    late = Stream([Event("a", {"n": 1}), Event("start")], Schema({"a": {"n": "int"}}))
    for E in (parse("prior(a(I), a(I))"), parse("prefix(prior(a(I), a(I)))"), parse("prior(b(I), b(I))")):
        for run in (found_in, collected):
            with pytest.raises(
                (InputError, Unsupported), match=r"only the first event of a history|Give the stream a schema"
            ):
                run(E, late)
    with pytest.raises(InputError, match="only the first event of a history"):
        TableRunner([]).advance(late)


def test_an_event_moves_only_the_machines_that_it_touches() -> None:
    """Machines in the same states go on as one: the work for an event does not grow with the values that were seen."""
    S = Stream([Event("order", {"n": n}) for n in range(2000)] + [Event("perform", {"n": 7}), Event("other")])
    monitor = machines("prior(order(I), perform(I))", S)
    found = [monitor.push(event) for event in S]
    assert (sum(found), found[-2], len(monitor)) == (1, True, 2001)
    assert len(monitor.states) <= 4


def test_one_and_true_are_two_values_of_a_variable() -> None:
    E, S = parse("some(I) := prior(a(I), b)"), Stream([Event("a", {"i": 1}), Event("a", {"i": True}), Event("b")])
    for relation in (compatible(E, S), tuples(E, S)):
        assert sorted(relation.rows) == [(2, (("bool", True),)), (2, (("number", 1),))]


def test_an_argument_is_passed_on_to_a_name_in_the_body() -> None:
    assert show(inlined(parse("q(K) := a(K); p(I) := prior(q(I), b(I)); p(3)")).body) == "prior(q(3), b(3))"
