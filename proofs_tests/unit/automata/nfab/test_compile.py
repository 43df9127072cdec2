"""The compilation rules of sase07, section 3.2, and how an automaton is printed."""

import pytest

from cerify.automata.nfab.compile import compile_query
from cerify.automata.nfab.model import NFAb, show, show_formula, show_states
from cerify.semantics.sase.syntax import Reading
from proofs_tests.unit.semantics.sase.streams import query

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
