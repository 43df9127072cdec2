"""NFA^b, the automata of SASE+: compilation, runs, and agreement with the definition, which finds planted faults."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from itertools import product
from random import Random
from typing import Any

import pytest

from cerify.automata.nfab import compile, compiled, evaluate, evaluators, opcodes, programs
from cerify.automata.nfab import moves as moves_nfab
from cerify.automata.nfab.compile import compile_query
from cerify.automata.nfab.model import NFAb, show, show_formula, show_states
from cerify.automata.nfab.moves import Runs, bindings
from cerify.semantics.arguments import Budget, choices
from cerify.semantics.errors import BudgetExceeded, IllFormed
from cerify.semantics.readings import DECIDED, Reading
from cerify.semantics.sase import clauses, denote, interpreter
from proofs_tests.campaigns.sase import EVALUATORS, RESULTS, rare_differences, share
from proofs_tests.support import sampled, vary_reading
from proofs_tests.unit.semantics import sase_cases as small
from proofs_tests.unit.semantics.sase_cases import events, query

# ---- compile ----
# The compilation rules of sase07, section 3.2, and how an automaton is printed.

QUERY_3 = """SEQ(STOCK+ a[], STOCK b)
WHERE {strategy}(a[]{cut}, b) {{
    [symbol] and a[1].volume > 1000 and a[i].price > avg(a[..i-1].price) and b.volume < 80% * a[a.LEN].volume
}} WITHIN 1 hour"""

FIGURE_2 = """\
→ a[1] —begin→ a[i] ⟲{take, ignore} —proceed→ b ⟲{ignore} —begin→ F

relevant event definition
  θ_a[1]_begin = a[1]: STOCK ∧ a[1].volume > 1000
  θ_b_begin = b: STOCK ∧ B ∧ b.time - a[1].time < 3600
  θ_a[i]_take = ¬θ_a[i]_forced-stop ∧ a[i]: STOCK ∧ A ∧ a[i].time - a[1].time < 3600

event selection strategy
  θ_a[i]_ignore = ¬θ_a[i]_forced-stop ∧ ¬(a[i]: STOCK ∧ A ∧ a[i].time - a[1].time < 3600)
  θ_b_ignore = ¬(b: STOCK ∧ B ∧ b.time - a[1].time < 3600)

termination criteria
  θ_a[i]_forced-stop = a[i].time - a[1].time ≥ 3600 ∨ θ_b_begin
  θ_a[i]_auto-stop = ¬θ_a[i]_take ∧ ¬θ_a[i]_ignore
  θ_a[i]_proceed = θ_b_begin ∨ θ_a[i]_auto-stop"""


def automaton(text: str, reading: Reading = Reading()) -> NFAb:
    return compile_query(query(text), reading)


def formulas(A: NFAb) -> dict[str, str]:
    """The formulas by their names, without θ_."""
    return {label.name.removeprefix("θ_"): show_formula(f) for label, f in A.theta.items()}


def test_query_3_is_printed_as_in_figure_2_with_types_and_window() -> None:
    selected = "a[i].symbol = a[i-1].symbol ∧ a[i].price > avg(a[..i-1].price)"
    b = "b.symbol = a[a.LEN].symbol ∧ b.volume < 0.8 * a[a.LEN].volume"
    shown = show(automaton(QUERY_3.format(strategy="skip_till_next_match", cut="!")))
    assert shown == FIGURE_2.replace("∧ A ∧", f"∧ {selected} ∧").replace("∧ B ∧", f"∧ {b} ∧")


@pytest.mark.parametrize(
    ("strategy", "skip"),
    [
        ("strict_contiguity", "False"),
        ("partition_contiguity", "¬(a[i].symbol = a[i-1].symbol)"),
        ("skip_till_any_match", "True"),
    ],
)
def test_table_1(strategy: str, skip: str) -> None:
    theta = formulas(automaton(QUERY_3.format(strategy=strategy, cut="")))
    assert theta["a[i]_ignore"] == f"¬θ_a[i]_forced-stop ∧ {skip}"
    assert theta["b_ignore"] == skip.replace("a[i].symbol = a[i-1]", "b.symbol = a[a.LEN]")
    assert theta["a[i]_forced-stop"] == "a[i].time - a[1].time ≥ 3600"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SEQ(A a)", "→ a —begin→ F"),
        ("SEQ(A a, ~B b, C c)", "→ a —begin→ c ⟲{ignore} —begin→ F"),
        ("SEQ(A+ a[])", "→ a[1] —begin→ a[i] ⟲{take, ignore} —proceed→ F"),
        (
            "SEQ(A a, B+ b[], B+ c[])",
            "→ a —begin→ b[1] ⟲{ignore} —begin→ b[i] ⟲{take, ignore} —proceed→ "
            "c[1] ⟲{ignore} —begin→ c[i] ⟲{take, ignore} —proceed→ F",
        ),
    ],
)
def test_states_stand_in_a_line(text: str, expected: str) -> None:
    A = automaton(text)
    assert show_states(A) == expected
    assert all(edge.label in A.theta for edge in A.edges)
    assert not any(edge.target == A.initial for edge in A.edges if edge.source != A.initial)
    assert not any(edge.source in (A.final, A.initial) and edge.move == "ignore" for edge in A.edges)


# of a[], one Kleene plus: WHERE, what its forced-stop and its proceed come to
TERMINATION = [
    ("SEQ(A+ a[])", "", "False", "θ_a[i]_auto-stop"),
    ("SEQ(A+ a[])", "!", "True", "θ_a[i]_auto-stop"),
    ("SEQ(A+ a[], B b)", "", "False", "θ_b_begin ∨ θ_a[i]_auto-stop"),
    ("SEQ(A+ a[], B b)", "!", "θ_b_begin", "θ_b_begin ∨ θ_a[i]_auto-stop"),
    ("SEQ(A+ a[], B+ b[])", "!", "θ_b[1]_begin", "θ_b[1]_begin ∨ θ_a[i]_auto-stop"),
    ("SEQ(A+ a[], ~C c, B b)", "!", "θ_b_begin", "θ_b_begin ∨ θ_a[i]_auto-stop"),
]


@pytest.mark.parametrize(("text", "cut", "forced_stop", "proceed"), TERMINATION)
def test_termination_without_an_end_condition(text: str, cut: str, forced_stop: str, proceed: str) -> None:
    others = ", b[]" if "b[]" in text else ", b" if "b" in text else ""
    theta = formulas(automaton(f"{text} WHERE skip_till_next_match(a[]{cut}{others}) {{ }}"))
    assert (theta["a[i]_forced-stop"], theta["a[i]_proceed"]) == (forced_stop, proceed)


@pytest.mark.parametrize("text", ["SEQ(A+ a[])", "SEQ(A+ a[], B b)"])
def test_termination_with_an_end_condition(text: str) -> None:
    others = ", b" if "b" in text else ""
    said = "{ a[a.LEN].x = 2 and count(a[]) < 5 }"
    for cut in ("", "!"):
        theta = formulas(automaton(f"{text} WHERE skip_till_next_match(a[]{cut}{others}) {said} WITHIN 5 seconds"))
        assert theta["a[i]_proceed"] == "a[a.LEN].x = 2 ∧ count(a[]) < 5"
        end = " ∨ (a[a.LEN].x = 2 ∧ count(a[]) < 5)" if cut else ""
        assert theta["a[i]_forced-stop"] == f"a[i].time - a[1].time ≥ 5{end}"


def test_clauses_stand_on_the_edges_of_their_last_identifier() -> None:
    said = "a.x = 1 and b[i].x < 3 and b[i].x > b[i-1].x and b[1].x = a.x and (c.x = 1 or c.x = a.x)"
    theta = formulas(automaton(f"SEQ(A a, B+ b[], C c) WHERE {said}"))
    assert theta["a_begin"] == "a: A ∧ a.x = 1"
    assert theta["b[1]_begin"] == "b[1]: B ∧ b[1].x < 3 ∧ b[1].x = a.x"
    assert theta["b[i]_take"] == "¬θ_b[i]_forced-stop ∧ b[i]: B ∧ b[i].x < 3 ∧ b[i].x > b[i-1].x"
    assert theta["c_begin"] == "c: C ∧ (c.x = 1 or c.x = a.x)"


def test_what_is_underlined_is_the_partition() -> None:
    said = "{ [y] and _( a[i].x = a[i-1].x )_ and a[i].z = 1 }"
    theta = formulas(automaton(f"SEQ(A+ a[], B b) WHERE partition_contiguity(a[], b) {said}"))
    assert theta["a[i]_ignore"] == "¬θ_a[i]_forced-stop ∧ ¬(a[i].x = a[i-1].x)"
    assert theta["b_ignore"] == "¬(True)"


def test_each_component_has_its_own_strategy() -> None:
    blocks = "skip_till_any_match(a) { } strict_contiguity(b[]) { } skip_till_next_match(c) { }"
    theta = formulas(automaton(f"SEQ(A a, B+ b[], C c) WHERE {blocks}"))
    assert theta["b[1]_ignore"] == "False"
    assert theta["b[i]_ignore"] == "¬θ_b[i]_forced-stop ∧ False"
    assert theta["c_ignore"] == "¬(c: C)"


def test_other_readings() -> None:
    assert formulas(automaton("SEQ(A+ a[])", Reading(last_kleene="every")))["a[i]_proceed"] == "True"
    cut = "SEQ(A+ a[]) WHERE skip_till_next_match(a[]!) { }"
    assert formulas(automaton(cut, Reading(cut_in_last_place="nothing")))["a[i]_forced-stop"] == "False"
    theta = formulas(automaton("SEQ(A+ a[], B b) WITHIN 5 seconds", Reading(window="closed", kleene_skips="neither")))
    assert theta["a[i]_forced-stop"] == "a[i].time - a[1].time > 5"
    assert theta["a[i]_ignore"].endswith("¬(a[i]: A ∧ a[i].time - a[1].time ≤ 5) ∧ ¬θ_b_begin")


# ---- run ----
# Runs by their definition: sase07, appendix A.2.


def runs(text: str, S: str, reading: Reading = Reading()) -> Runs:
    return Runs(compile_query(query(text), reading), events(S), reading)


def moves(run) -> str:  # type: ignore[no-untyped-def]
    return " ".join(f"{step.move[0]}{step.at}" for step in run.steps)


def test_all_runs_are_told_move_by_move() -> None:
    told = [moves(run) for run in runs("SEQ(A+ a[], B b)", "A C B").all()]
    assert told == ["", "b0", "b0 i1", "b0 i1 i2", "b0 i1 i2 p3", "b0 i1 p2", "b0 i1 p2 b2", "", ""]


def test_a_run_as_a_2_writes_it() -> None:
    (run,) = runs("SEQ(A+ a[], B b)", "A C A B").find_runs((("a", (0, 2)), ("b", (3,))))
    assert moves(run) == "b0 i1 t2 p3 b3"
    assert run.pairs == ((0, "a[1]"), (2, "a[2]"), (3, "b"), (4, "F"))


def test_the_runs_of_a_match_and_of_no_match() -> None:
    R = runs("SEQ(A+ a[]) WHERE skip_till_next_match(a[]) { a[a.LEN].x = 1 }", "A1 B A2")
    assert [moves(run) for run in R.find_runs((("a", (0,)),))] == ["b0 i1 p2", "b0 p1"]
    assert list(R.find_runs((("a", (0, 2)),))) == []
    assert all(run in list(R.accepting()) for run in R.find_runs((("a", (0,)),)))


def test_the_buffers_of_accepting_runs_are_the_matches() -> None:
    for text in ("SEQ(A+ a[], A b)", "SEQ(A a, A+ b[], A c)"):
        for S in small.streams(4, ("A1/k", "B1/k")):
            q = query(f"{text} WITHIN 3 seconds")
            R = Runs(compile_query(q), S)
            assert {run.now.buffer for run in R.accepting()} == R.matches() == bindings(q, S)


@pytest.mark.parametrize(
    ("text", "S", "reading", "accepted"),
    [
        ("SEQ(A a, B b)", "A B", Reading(), True),
        ("SEQ(A a, B b)", "A B B", Reading(), False),
        ("SEQ(A a, B b)", "C A B", Reading(), False),
        ("SEQ(A a, B b)", "A C B", Reading(), True),
        ("SEQ(A a, B b)", "", Reading(), False),
        ("SEQ(A+ a[])", "A C", Reading(), True),
        ("SEQ(A+ a[])", "A C", Reading(stream_end="waits"), False),
        ("SEQ(A+ a[]) WHERE strict_contiguity(a[]) { }", "A C", Reading(), False),
        ("SEQ(A+ a[]) WHERE strict_contiguity(a[]) { }", "A A", Reading(), True),
    ],
)
def test_the_language_of_an_automaton(text: str, S: str, reading: Reading, accepted: bool) -> None:
    assert runs(text, S, reading).accepts() == accepted


def test_a_run_that_waits_still_stops_where_it_must() -> None:
    waits = Reading(stream_end="waits")
    text = "SEQ(A+ a[]) WHERE skip_till_next_match(a[]!) { }"
    assert runs(text, "A", waits).matches() == {(("a", (0,)),)}
    assert runs("SEQ(A+ a[])", "A", waits).matches() == set()


def test_the_budget() -> None:
    q = query("SEQ(A+ a[]) WHERE skip_till_any_match(a[]) { }")
    S = events("A " * 30)
    with pytest.raises(BudgetExceeded, match="1000 runs"):
        bindings(q, S, budget=Budget(valuations=1_000))
    with pytest.raises(BudgetExceeded, match="100 matches"):
        bindings(q, S, budget=Budget(matches=100))
    with pytest.raises(BudgetExceeded, match="1000 runs"):
        list(Runs(compile_query(q), S, budget=Budget(valuations=1_000)).all())


# ---- agree ----
# The two definitions of SASE+ say the same: runs of the automaton, and which positions are a match.

OTHERS = [reading for (name, _), reading in vary_reading(DECIDED).items() if name != "non_overlap"]


def _named(reading: Reading) -> str:
    """What it has otherwise."""
    return " ".join(
        f"{n}={getattr(reading, n)}" for n in choices(Reading) if getattr(reading, n) != getattr(Reading(), n)
    )


@pytest.mark.parametrize("start", sampled(range(5), (0,)))
@pytest.mark.slow
def test_all_queries_of_one_component_on_all_streams_of_three_events(start: int) -> None:
    letters = ("A1/k", "A2/k", "B1/l")
    streams = list(small.streams(3, letters))
    for q in small.queries(1, windows=("", "WITHIN 2 seconds"), start=start, step=5):
        for S in streams:
            assert moves_nfab.bindings(q, S) == denote.bindings(q, S)


@pytest.mark.parametrize("start", sampled(range(11), (0,)))
def test_all_queries_of_two_components_on_a_stream_by_chance(start: int) -> None:
    rng, found = Random(start), 0
    for q in small.queries(2, start=start, step=11):
        S = small.by_chance(rng, 7)
        expected = denote.bindings(q, S)
        found += bool(expected)
        assert moves_nfab.bindings(q, S) == expected
    assert found > 41


@pytest.mark.parametrize("number", sampled([40, 100], [40]))
@pytest.mark.parametrize("reading", [Reading(), *OTHERS], ids=["decided", *map(_named, OTHERS)])
def test_mixed_strategies_and_negation_under_every_reading(reading: Reading, number: int) -> None:
    rng, found = Random(2), 0
    for _ in range(number):
        q = small.query(small.text_by_chance(rng, 3, ("WITHIN 5 seconds",)))
        S = small.by_chance(rng, 7)
        expected = denote.bindings(q, S, reading)
        found += bool(expected)
        assert moves_nfab.bindings(q, S, reading) == expected
    assert found > number / 10


def test_every_reading_is_there() -> None:
    differing = {
        f.name for reading in OTHERS for f in fields(Reading) if getattr(reading, f.name) != getattr(Reading(), f.name)
    }
    assert differing == {f.name for f in fields(Reading)} - {"non_overlap"}
    assert all(reading != Reading() for reading in OTHERS)


# ---- planted faults ----
# The definition of SASE+ and its automata judge each other: a fault in a reading of one of them makes them differ.
#
# Each fault replaces one function, on one side, while the campaign runs on a few hundred cases.

CASES = 50  # of each share
FIRST = 5  # of them, which are tried before, as most faults show in these already
SHARES = (*range(10), 34)  # before a fault counts as not found; in the last one overlapping matches are left out


def differs(name: str = "", shares: Sequence[int] = SHARES) -> bool:
    """Whether the campaign finds a case on which an evaluator differs, or a query that is well-formed for one alone.

    name is that of the fault: for one of overlapping matches the share that leaves them out is the first.
    """
    if rare_differences():
        return True
    for cases, n in product((FIRST, CASES), shares[::-1] if name == "non_overlap" else shares):
        try:
            if share((cases, f"planted/{n}", 9, 8, (*EVALUATORS, RESULTS)))[1]:
                return True
        except IllFormed:
            return True
    return False


def plant(monkeypatch: pytest.MonkeyPatch, function: Any, fault: Any) -> None:
    """Replaces a function in every module that has imported it."""
    for name, module in list(sys.modules.items()):
        if name.startswith("cerify."):
            for attribute, value in list(vars(module).items()):
                if value is function:
                    monkeypatch.setattr(module, attribute, fault)


Wrap = Callable[[Any], Any]


def negated_result(function: Any) -> Any:
    return lambda *arguments, **named: not function(*arguments, **named)


def closed_swapped(function: Any) -> Any:
    """A window that is closed where it is open, of `spans`."""
    return lambda window, before, after, closed: function(window, before, after, not closed)


OTHER: dict[str, Any] = {
    "strict_contiguity": "skip_till_any_match",
    "partition_contiguity": "strict_contiguity",
    "skip_till_next_match": "skip_till_any_match",
    "skip_till_any_match": "skip_till_next_match",
}

DEFINITION: dict[str, tuple[Any, Wrap]] = {
    "placed": (denote.placed, lambda f: lambda p, pattern: replace(f(p, pattern), edge="each")),
    "placed_first": (
        denote.placed,
        lambda f: lambda p, pattern: replace(f(p, pattern), edge="first" if f(p, pattern).edge == "each" else "later"),
    ),
    "agree": (denote.agree, negated_result),
    "previous": (denote.position, lambda f: lambda ps, place: f(ps, "last" if place == "previous" else place)),
    "last": (denote.position, lambda f: lambda ps, place: f(ps, "first" if place == "last" else place)),
    "strategy": (clauses.strategy_of, lambda f: lambda q, variable: OTHER[f(q, variable)]),
    "cut": (clauses.is_cut, lambda f: lambda q, variable: False),
    "window": (clauses.spans, closed_swapped),
    "aggregate": (denote.folded, lambda f: lambda a, events, *rest: f(a, list(events)[1:], *rest)),
    "underlining": (clauses.equivalences, lambda f: lambda q: [(x, not marked) for x, marked in f(q)]),
    "having": (interpreter._has, lambda f: lambda *_: True),
    "non_overlap": (interpreter._preference, lambda f: lambda positions, reading: tuple(reversed(positions))),
    "returned": (interpreter._value, lambda f: lambda output, *rest: None),
}

AUTOMATON: dict[str, tuple[Any, Wrap]] = {
    "edges": (compile.edges_of, lambda f: lambda p, variable: frozenset({"begin", "take"})),
    "proceed": (
        compile.edges_of,
        lambda f: lambda p, v: frozenset({"take"}) if f(p, v) == {"proceed"} else f(p, v),
    ),
    "equivalences": (compile._layout, lambda f: lambda *a: replace(f(*a), equivalences=())),
    "strategies": (
        compile._layout,
        lambda f: lambda *a: replace(f(*a), strategies={v: OTHER[s] for v, s in f(*a).strategies.items()}),
    ),
    "cuts": (compile._layout, lambda f: lambda *a: replace(f(*a), cuts=frozenset())),
    "window": (
        moves_nfab.in_window,
        lambda f: lambda window, closed, first, event: f(window, not closed, first, event),
    ),
    "previous": (moves_nfab.instantiated, lambda f: lambda form, ps: f("a[i]" if form == "a[i-1]" else form, ps)),
    "aggregate": (moves_nfab.value_over, lambda f: lambda a, events, *rest: f(a, list(events)[1:], *rest)),
    "fold": (moves_nfab._best, lambda f: lambda k, highest: f(k, not highest)),
    "neighbours": (moves_nfab.neighbours, lambda f: lambda *a: (f(*a)[0] + 1, f(*a)[1])),
    "scope": (moves_nfab.in_scope, lambda f: lambda q, k, M, S, reading, positions: list(positions)),
    "non_overlap": (evaluators._rank, lambda f: lambda positions, reading: tuple(reversed(positions))),
    "returned": (evaluators._value, lambda f: lambda *_: None),
}


def set_in(column: int, value: int) -> Wrap:
    """Negated components, as the compiled loops get them, with another value in a column."""

    def wrap(function: Any) -> Any:
        def fault(self: Any) -> Any:
            rows = function(self)
            rows[:, column] = value
            return rows

        return fault

    return wrap


METHODS: dict[str, tuple[Any, str, Wrap]] = {
    "definition: scope": (
        denote.SaseAbsences,
        "scope",
        lambda f: lambda self, k, M: None if (s := f(self, k, M)) is None else s[1:],
    ),
    "definition: negated series": (denote.SaseAbsences, "leaves_out", lambda f: lambda *_: True),
    "definition: skips": (denote.SaseDefinition, "skips", lambda f: lambda *_: True),
    "definition: must stop": (denote.SaseDefinition, "must_stop", lambda f: lambda *_: False),
    "automaton: skips": (evaluate.NfabSelection, "skips", lambda f: lambda *_: True),
    "automaton: registers": (
        evaluate.NfabRegisters,
        "after_selecting",
        lambda f: lambda self, values, variable, first, event: f(self, values, variable, True, event),
    ),
    "loops: scope": (programs.CompiledPlan, "_negated", set_in(opcodes.SIDE, opcodes.BETWEEN)),
    "loops: neighbour": (programs.CompiledPlan, "_negated", set_in(opcodes.BEHIND, -1)),
    "loops: series": (programs.CompiledPlan, "_negated", set_in(opcodes.COMPLETE, 0)),
    "loops: withheld": (compiled.NegatedComponents, "_over", lambda f: lambda self, found: f(self, found) | True),
    "loops: strings": (programs.ColumnEncoder, "sorted_strings", lambda f: lambda *_: None),
    "loops: rank": (programs, "RANKED", lambda f: {**f, "highest": opcodes.SMALLEST}),
    "loops: window": (
        programs.Programs,
        "elapsed",
        lambda f: lambda self, first, seconds, how: f(self, first, seconds + 9, how),
    ),
}


@pytest.mark.parametrize("shares", sampled([SHARES, SHARES[-1:]], []))
@pytest.mark.slow
def test_without_a_fault_nothing_differs(shares: Sequence[int]) -> None:
    assert not differs(shares=shares)


@pytest.mark.parametrize("name", sampled(DEFINITION, [*DEFINITION][1::4]))
@pytest.mark.slow
def test_a_fault_in_the_definition_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, wrap = DEFINITION[name]
    plant(monkeypatch, function, wrap(function))
    assert differs(name)


@pytest.mark.parametrize("name", sampled(AUTOMATON, [*AUTOMATON][::4]))
@pytest.mark.slow
def test_a_fault_in_the_automata_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, wrap = AUTOMATON[name]
    plant(monkeypatch, function, wrap(function))
    assert differs(name)


@pytest.mark.parametrize("name", sampled(METHODS, [*METHODS][::2]))
@pytest.mark.slow
def test_a_fault_in_a_method_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class_, method, wrap = METHODS[name]
    monkeypatch.setattr(class_, method, wrap(getattr(class_, method)))
    assert differs()
