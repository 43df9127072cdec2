"""The evaluation algorithm: the paper's own runs of it, its invariants, and its limits."""

from itertools import islice

import pytest

from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.model import CEA, Determinized, Transition, single_variable
from cerify.automata.evaluate.ces import BOTTOM, NOTHING, CompactComplexEventSet
from cerify.automata.evaluate.streaming import Evaluation, count_matches, evaluate_automaton, matches
from cerify.automata.evaluate.tables import SHORT, classify
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Match
from cerify.semantics.predicates import Anything, OfType
from proofs_tests.support import EXAMPLES, FIGURE_1, stream


@pytest.mark.parametrize("name", ["phi1", "phi1'", "phi2", "phi3", "phi3'"])
def test_the_unary_examples_of_section_3_give_the_printed_results(name: str) -> None:
    query, printed = EXAMPLES[name]
    expected = sorted(Match(n, C) for n, events in printed.items() for C in events)
    assert matches(parse(query), FIGURE_1) == expected


def test_a_compact_set_lists_the_complex_events_of_section_9() -> None:
    """The set C that introduces the data structure there, with lists that share their tails."""
    D = CompactComplexEventSet()
    one = D.extend(1, frozenset(), (BOTTOM, BOTTOM))
    two = D.extend(2, frozenset(), (one, one))
    ones = D.extend(1, frozenset(), (BOTTOM, BOTTOM))
    D.append(ones, BOTTOM)
    three = D.extend(3, frozenset(), (ones, BOTTOM))
    D.append(two, three)
    five = D.extend(5, frozenset(), (two, three))
    four = D.extend(4, frozenset(), (BOTTOM, BOTTOM))
    D.append(three, four)
    six = D.extend(6, frozenset(), (two, four))
    D.append(five, six)
    listed = [D.complex_event(path) for path in D.enumerate((five, six))]
    assert len(listed) == len(set(listed))
    assert set(listed) == {(1, 2, 5), (1, 3, 5), (3, 5), (1, 2, 6), (1, 3, 6), (3, 6), (4, 6)}


def test_the_run_of_figure_8() -> None:
    """The automaton of U ; ((V+ ; W) OR W) as the text beside the figure gives it, on the stream U V V W."""
    marked, skip = frozenset({"•"}), frozenset[str]()
    drawn = CEA(
        3,
        (
            Transition(0, Anything(), skip, 0),
            Transition(0, OfType("U"), marked, 1),
            Transition(1, OfType("V"), marked, 1),
            Transition(1, Anything(), skip, 1),
            Transition(1, OfType("W"), marked, 2),
        ),
        frozenset({0}),
        frozenset({2}),
    )
    S = stream("U V V W")
    assert [m.events for m in evaluate_automaton(drawn, S)] == [(0, 1, 2, 3), (0, 2, 3), (0, 1, 3), (0, 3)]
    assert set(evaluate_automaton(drawn, S)) == set(matches(parse("U ; ((V+ ; W) OR W)"), S))


@pytest.mark.parametrize("query", ["A ; B ; A", "(A OR B)+ ; A", "((A ; B)+ : A):+ ; B"])
def test_the_data_structure_keeps_its_five_properties(query: str) -> None:
    """Properties (1) to (5) of section 9.2 and the invariants on the table, after every event."""
    automaton = Determinized(single_variable(compile_cel(parse(query))))
    evaluation = Evaluation(automaton)
    D = evaluation.D
    S = stream("A B A A B B A B A")
    for n, type_ in enumerate(classify(automaton.A.predicates, S)):
        evaluation.push(type_)
        for start, end in evaluation.T.values():
            listed = [D.complex_event(path) for path in D.enumerate((start, end))]
            assert len(listed) == len(set(listed)), "(5): two paths with the same complex event"
            assert D.next[end] == NOTHING, "a list in the table is open at its end"
        for node in range(1, len(D)):
            child, seen = D.first[node], set()
            while child != D.last[node]:
                assert child not in seen, "(1), (3): a cycle"
                seen.add(child)
                child = D.next[child]  # (2): the walk gets to last
            assert all(c == BOTTOM or D.event[c] < D.event[node] for c in seen | {child}), "(4): not descending"
        assert n == evaluation.position


def test_columns_and_single_events_classify_alike() -> None:
    """Short streams go event by event, long ones by columns."""
    predicates = compile_cel(parse("(A OR B)+ FILTER A.x > 2 OR B[x in {0, 3} and not x = y]")).predicates
    values = [i % 5 if i % 7 else None for i in range(SHORT + 50)]
    rows = [{k: v for k, v in (("x", x), ("y", i % 3)) if v is not None} for i, x in enumerate(values)]
    from cerify.semantics.events import Event, Stream

    S = Stream(Event("AB"[i % 2], row) for i, row in enumerate(rows))
    by_columns = classify(predicates, S)
    by_events = [t for i in range(0, len(S), 50) for t in classify(predicates, Stream(S[i : i + 50]))]
    assert by_columns == by_events


def test_more_predicates_than_a_machine_word_has_bits() -> None:
    query = " OR ".join(f"(A FILTER A.x = {i})" for i in range(80))
    S = stream("A " * (SHORT + 10), x=[i % 80 for i in range(SHORT + 10)])
    assert len(matches(parse(query), S)) == len(S)


def test_counts_pass_what_could_be_listed() -> None:
    """200 events of A+ ; B have 2^199 - 1 matches at the last position."""
    S = stream("A " * 199 + "B")
    assert list(count_matches(parse("A+ ; B"), S)) == [0] * 199 + [2**199 - 1]


def test_the_first_matches_come_without_the_rest() -> None:
    S = stream("A " * 199 + "B")
    first = list(islice(evaluate_automaton(compile_cel(parse("A+ ; B")), S), 3))
    assert len(set(first)) == 3
    with pytest.raises(BudgetExceeded):
        matches(parse("A+ ; B"), S, budget=Budget(matches=1000))
