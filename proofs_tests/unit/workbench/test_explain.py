"""Explanations: derivations that the interpreter confirms at every step, and reasons that are the reasons."""

import json
import math
from itertools import combinations, product
from pathlib import Path
from random import Random

import click
import pytest

from cerify import cli
from cerify.equivalence.generate import cel as generate
from cerify.equivalence.generate.cel import PROFILES, case
from cerify.explanations.cel import (
    CelExplainer,
    MatchExplanation,
    Rejected,
    as_json,
    explain,
    explain_stream,
    relaxed_text,
    summary,
)
from cerify.explanations.cel_rejection import (
    CHECKED_TOGETHER,
    BoundedOracle,
    Derivation,
    counts,
    derivations,
    miscounted,
    nodes,
)
from cerify.explanations.explanation import Listing, changes, explanation_lines, render
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.denote import sup
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import OPERATORS, show
from cerify.semantics.errors import BudgetExceeded, InputError, Unsupported
from cerify.semantics.events import Event, Stream
from cerify.terminal import echo_lines, styled_lines
from proofs_tests.support import EXAMPLES, FIGURE_1, sampled, stream
from proofs_tests.unit.workbench.test_html import HOSTILE, Outline

PHI_1 = EXAMPLES["phi1"][0]


def ask(query: str, positions: set[int], at: int, S: Stream = FIGURE_1, **options) -> MatchExplanation | Rejected:
    return explain(parse(query), S, frozenset(positions), at, **options)


def first(query: str, positions: set[int], at: int, S: Stream = FIGURE_1) -> Derivation:
    answer = ask(query, positions, at, S)
    assert isinstance(answer, MatchExplanation)
    return answer.derivations[0]


def reasons(query: str, positions: set[int], at: int, S: Stream = FIGURE_1) -> list[str]:
    answer = ask(query, positions, at, S)
    assert isinstance(answer, Rejected)
    return [reason.message for reason in answer.rejection.reasons]


def nearest(query: str, positions: set[int], at: int, S: Stream = FIGURE_1) -> list[list[int]]:
    answer = ask(query, positions, at, S)
    assert isinstance(answer, Rejected)
    assert answer.rejection.nearest is not None
    return [sorted(C) for C in answer.rejection.nearest]


# --- derivations ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_match_of_the_papers_examples_has_a_derivation(name: str) -> None:
    """Section 3 on Figure 1; a step that the interpreter does not confirm would be an invented proof."""
    query, expected = EXAMPLES[name]
    phi = parse(query)
    found: dict[int, set[tuple[int, ...]]] = {}
    for answer in explain_stream(phi, FIGURE_1):
        found.setdefault(answer.at, set()).add(tuple(sorted(answer.events)))
        for node in nodes(answer.derivations[0]):
            assert node.valuation in Interpreter(FIGURE_1).meaning(node.formula, node.i, node.j)
    assert found == expected


def test_a_sequence_names_the_position_at_which_it_is_cut() -> None:
    root = first(PHI_1, {1, 8}, 8)
    sequence = root.children[0]
    assert (sequence.clause, sequence.detail) == ("sequencing", "k = 1")
    assert [(c.i, c.j, c.valuation) for c in sequence.children] == [
        (0, 1, frozenset({("T", 1)})),
        (2, 8, frozenset({("H", 8)})),
    ]


def test_a_filter_shows_the_values_it_was_true_of() -> None:
    assert first(PHI_1, {1, 8}, 8).evidence[0] == "T.tmp > 40: event 1 (tmp = 45)"


def test_a_correlated_filter_shows_each_value_that_took_part_once() -> None:
    root = first(EXAMPLES["phi5"][0], {3, 6, 7}, 7)
    assert root.evidence[-1] == "H.id = T.id: event 3 (id = 1), event 7 (id = 1), event 6 (id = 1)"


def test_rounds_of_an_iteration_are_told_apart() -> None:
    """T+ over 4 and 6 is one round at 4 and the last at 6; it is not two events of one round."""
    [iteration] = [n for n in nodes(first(EXAMPLES["phi3"][0], {3, 4, 6, 7}, 7)) if (n.clause, n.i) == ("iteration", 4)]
    one, rest = iteration.children
    assert sup(one.valuation) == {4}
    assert (rest.detail, sup(rest.valuation)) == ("the last round", {6})


def test_all_derivations_are_there_and_differ() -> None:
    """R ; R+ reads 0 1 2 in one way only; R ALL R reads 0, 2 with either first, and over several intervals."""
    S = stream("R R R")
    phi = parse("R+ ; R+")
    [mu] = [mu for mu in Interpreter(S).meaning(phi, 0, 2) if len(sup(mu)) == 3]
    found = list(derivations(phi, mu, 0, 2, BoundedOracle(S)))
    assert len(found) == len(set(found)) == 2  # cut after the first or after the second
    either = list(derivations(parse("R ALL R"), frozenset({("R", 0), ("R", 1)}), 0, 1, BoundedOracle(S)))
    assert {tuple(tuple(sup(c.valuation)) for c in node.children) for node in either} == {((0,), (1,)), ((1,), (0,))}


def test_derivations_come_one_at_a_time() -> None:
    """A run of 30 events is cut into runs in 2 to the 29 ways: a list of all derivations would not end."""
    answer = ask("(R:+):+", set(range(30)), 29, stream(" ".join(["R"] * 30)), count=2)
    assert isinstance(answer, MatchExplanation)
    assert (len(answer.derivations), answer.more) == (2, True)


def test_a_strategy_says_what_it_won_against() -> None:
    root = first(f"NXT({PHI_1})", {1, 8}, 8)
    assert root.citation == "tods21, section 7.1"
    assert root.evidence == ("NXT prefers {1, 8} to {5, 8}, because of 1, the first position in which they differ",)
    assert first(f"LAST({PHI_1})", {5, 8}, 8).evidence == (
        "LAST prefers {5, 8} to {1, 8}, because of 5, the last position in which they differ",
    )
    assert first("MAX(T+)", {1, 4}, 4).evidence == ("MAX prefers {1, 4} to {4}, a subset of it",)


def test_unless_says_over_what_nothing_was_found() -> None:
    assert first("(T ; H) UNLESS (T ; T)", {1, 2}, 2).evidence == (
        "T ; T has no valuation over any interval within (0, 2)",
    )


def test_a_projection_keeps_what_it_drops_in_sight() -> None:
    answer = ask(EXAMPLES["phi4"][0], {4, 6}, 7, count=9)
    assert isinstance(answer, MatchExplanation)
    [root] = answer.derivations  # and none from {3, 4, 7}, which is projected to {4}
    assert (root.detail, sup(root.children[0].valuation)) == ("drops the positions {3, 7}", {3, 4, 6, 7})


def test_a_valuation_picks_among_those_of_one_match() -> None:
    """Both readings of the two events have the same support, and each its own derivation."""
    S, query = stream("R R"), "(R IN A ; R) OR (R ; R IN A)"
    for place in (0, 1):
        mu = frozenset({("R", 0), ("R", 1), ("A", place)})
        answer = ask(query, {0, 1}, 1, S, valuation=mu, count=5)
        assert isinstance(answer, MatchExplanation)
        assert {node.valuation for node in answer.derivations} == {mu}
    with pytest.raises(InputError, match=r"binds the positions \{1\}, but the match has \{0, 1\}"):
        ask(query, {0, 1}, 1, S, valuation=frozenset({("R", 1)}))


# --- rejections -------------------------------------------------------------------------------------------------------


REJECTED: list[tuple[str, set[int], int, list[str]]] = [
    (PHI_1, {4, 8}, 8, ["T.tmp > 40 is false of event 4 (tmp = 40)", "T.id = 0 is false of event 4 (id = 1)"]),
    (EXAMPLES["phi1'"][0], {1, 8}, 8, ["events 1 and 8 are not next to each other (`:`)"]),
    (EXAMPLES["phi3'"][0], {3, 4, 6, 7}, 7, ["events 4 and 6 are not next to each other (`:+`)"]),
    (PHI_1, {1, 4}, 4, ["there is no event of type H at 4: event 4 is of type T"]),
    (PHI_1, {2, 5}, 5, ["T must come before H, but they are {5} and {2}"]),
    ("T : H", {2, 5}, 5, ["T must come before H, but they are {5} and {2}"]),
    (PHI_1, {1, 2}, 8, ["{1, 2} is a match at 2, where its last event is, but not at 8"]),
    (PHI_1, {1, 8}, 4, ["event 8 comes after position 4, at which the match would be reported"]),
    (
        f"NXT({PHI_1})",
        {5, 8},
        8,
        ["NXT prefers {1, 8} to {5, 8}, because of 1, the first position in which they differ"],
    ),
    (
        f"LAST({PHI_1})",
        {1, 8},
        8,
        ["LAST prefers {5, 8} to {1, 8}, because of 5, the last position in which they differ"],
    ),
    ("MAX(T+)", {1, 5}, 5, ["MAX prefers {1, 4, 5} to {1, 5}, a subset of it"]),
    (f"STRICT({PHI_1})", {5, 8}, 8, ["STRICT requires consecutive events: between 5 and 8, the match leaves out 6, 7"]),
    (f"START({PHI_1})", {1, 2}, 2, ["START requires the first event at 0, where the interval begins; it is at 1"]),
    (
        "(T ; H) UNLESS (T ; T)",
        {1, 8},
        8,
        ["UNLESS forbids T ; T, but {1, 4} is a match of it: event 1 (id = 0, tmp = 45), event 4 (id = 1, tmp = 40)"],
    ),
    (EXAMPLES["phi4"][0], {3, 4, 7}, 7, ["PROJECT keeps T only, which drops {3, 7}"]),
    ("PROJECT[T]((H ; T) FILTER T.tmp > 40)", {4}, 4, ["T.tmp > 40 is false of event 4 (tmp = 40)"]),
    (
        "(T IN A) AND T",
        {1},
        1,
        [
            "AND requires the same valuation on both sides, "
            "but the left side, T IN A, binds these events to other variables"
        ],
    ),
    (EXAMPLES["phi5"][0], {3, 4, 5, 7}, 7, ["H.id = T.id is false: H.id of event 3 = 1, T.id of event 5 = 0"]),
    ("T:+", {1, 4, 5}, 5, ["events 1 and 4 are not next to each other (`:+`)"]),
    ("T+ FILTER T.tmp > 41", {1, 4, 5}, 5, ["T.tmp > 41 is false of event 4 (tmp = 40)"]),
    ("T[tmp > 40 and id = 3]", {1}, 1, ["T.id = 3 is false of event 1 (id = 0)"]),
    ("T FILTER T.hum > 3", {1}, 1, ["T.hum > 3 is false of event 1 (hum is absent)"]),
    (
        "T FILTER T.tmp > 50 OR T.id = 3",
        {1},
        1,
        ["T.tmp > 50 is false of event 1 (tmp = 45); T.id = 3 is false of event 1 (id = 0)"],
    ),
]


@pytest.mark.parametrize(("query", "positions", "at", "expected"), REJECTED)
def test_the_clause_that_rejects(query: str, positions: set[int], at: int, expected: list[str]) -> None:
    """One case for each kind of reason, on Figure 1."""
    assert reasons(query, positions, at) == expected


def test_a_reason_stands_where_the_clause_stands() -> None:
    """The inner filter is to blame, not the formula around it."""
    query = "(T FILTER T.tmp > 42) ; H"
    answer = ask(query, {5, 7}, 7)
    assert isinstance(answer, Rejected)
    [reason] = answer.rejection.reasons
    assert reason.formula == parse("T FILTER T.tmp > 42")
    assert (reason.i, reason.j, reason.valuation) == (0, 5, frozenset({("T", 5)}))
    span = as_json(answer, parse(query))["reasons"][0]["span"]
    assert "T.tmp > 42" in query[slice(*span)]
    assert "H" not in query[slice(*span)]


def test_only_one_round_of_an_iteration_is_to_blame() -> None:
    """Each round is filtered on its own: the event that passes must not be named."""
    assert reasons("(T FILTER T.tmp > 41)+", {1, 4, 5}, 5) == ["T.tmp > 41 is false of event 4 (tmp = 40)"]


def test_the_nearest_matches_differ_in_the_fewest_positions() -> None:
    assert nearest(PHI_1, {4, 8}, 8) == [[1, 8], [5, 8]]
    assert nearest(PHI_1, {1, 2, 8}, 8) == [[1, 8]]
    assert nearest(EXAMPLES["phi3"][0], {4, 6}, 7) == [[3, 4, 6, 7]]
    assert nearest(PHI_1, {0, 1}, 1) == []
    assert changes(frozenset({1, 8}), frozenset({1, 2, 8})) == "without 2"


@pytest.mark.parametrize(
    ("query", "positions", "clause", "says"),
    [
        (PHI_1, {1, 2, 8}, "sequencing", "too many events: T ; H takes 2, not 3"),
        ("T ; T", {1}, "sequencing", "too few events: T ; T takes 2, not 1"),
        ("H IN X ; T+ ; H IN Y", {6, 7}, "sequencing", "too few events: H IN X ; T+ ; H IN Y takes 3 or more, not 2"),
        ("(T ; T)+ FILTER T.tmp > 50", {1, 4, 5}, "iteration", "(T ; T)+ takes 2, 4 and so on, not 3"),
        ("T OR T ; T ; H", {1, 4}, "disjunction", "T OR T ; T ; H takes 1 or 3, not 2"),
        ("T", {1, 4}, "event type", "too many events: T takes 1, not 2"),
        ("T ALL H", {1, 2, 4}, "interleaved conjunction", "too many events: T ALL H takes 1 or 2, not 3"),
        ("PROJECT[T](T ; H)", {1, 2, 4}, "projection", "too many events: PROJECT[T](T ; H) takes 0, 1 or 2, not 3"),
        ("PROJECT[T](T+ ; H) ; H ; H", {8}, "sequencing", "too few events"),
    ],
)
def test_a_number_of_events_that_no_match_has(query: str, positions: set[int], clause: str, says: str) -> None:
    """No relaxation helps: the clause that decides how many events there are is named."""
    answer = ask(query, positions, max(positions))
    assert isinstance(answer, Rejected)
    [reason] = answer.rejection.reasons
    assert reason.clause == clause
    assert says in reason.message
    assert not answer.rejection.gave_up


def test_the_numbers_of_events_are_those_that_matches_have() -> None:
    """Every match of random formulas has a number of events that its formula allows."""
    rng = Random(5)
    for _ in range(200):
        phi, S = case(rng, PROFILES["everything"], nodes=7, events=6)
        oracle = Interpreter(S)
        for n in range(len(S)):
            for mu in oracle.meaning(phi, 0, n):
                assert miscounted(phi, sup(mu)) is None, show(phi)


def test_a_projection_and_a_type_may_be_in_the_way_together() -> None:
    assert reasons("PROJECT[T](T ; C)", {1, 2}, 2) == [
        "PROJECT keeps T only, which drops {2}",
        "there is no event of type C at 2: event 2 is of type H",
    ]


@pytest.mark.parametrize(
    ("query", "events", "messages"),
    [
        ("pay UNLESS cart", {398}, ["UNLESS forbids cart, but {3} is a match of it: event 3 (user = 1)"]),
        ("pay UNLESS cart", {399}, ["there is no event of type pay at 399: event 399 is of type x"]),
        ("cart ; (pay UNLESS x)", {9, 398}, ["event 9 (user = 9), event 398 (user = 1)"]),
        (
            "cart ; (pay UNLESS gone)",
            {9, 398},
            [
                "event 9 (user = 9), event 398 (user = 1)",
                "UNLESS forbids gone, but {99} is a match of it: event 99 (user = 1)",
            ],
        ),
        (
            "view ; (pay UNLESS cart)",
            {9, 398},
            [
                "event 9 (user = 9), event 398 (user = 1)",
                "there is no event of type view at 9: event 9 is of type cart",
            ],
        ),
    ],
)
def test_of_a_key_in_a_long_log_the_reason_is_found(
    query: str, events: set[int], messages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without PER KEY the guard looks at all intervals of the log, and the search gave up there."""
    monkeypatch.setattr("cerify.explanations.cel_rejection.SEARCH_STEPS", 5_000)
    kinds = {398: "pay", 3: "cart", 9: "cart", 99: "gone", 399: "x"}
    S = Stream([Event(kinds.get(n, "view"), {"user": 1 if n in (3, 99, 398) else n}) for n in range(400)])
    answer = explain(parse(f"({query}) PER KEY [user]"), S, frozenset(events), max(events))
    assert isinstance(answer, Rejected)
    found = [
        reason.message.removeprefix("the events are not of one key [user]: ") for reason in answer.rejection.reasons
    ]
    assert found == messages


def test_a_valuation_that_binds_wrongly_is_held_against_the_nearest() -> None:
    S = stream("A B C")
    wrong = {("A", 0), ("B", 1), ("C", 2), ("X", 0)}
    answer = ask("(A ; B) IN X ; C", {0, 1, 2}, 2, S, valuation=frozenset(wrong))
    assert isinstance(answer, Rejected)
    [reason] = answer.rejection.reasons
    assert (reason.clause, reason.message) == ("variable binding", "(A ; B) IN X binds X to {0, 1}, not to {0}")
    assert answer.rejection.bindings == (frozenset(wrong | {("X", 1)}),)
    said = as_json(answer, parse("(A ; B) IN X ; C"))
    assert said["match"] is False
    assert said["valuation"] == {"A": [0], "B": [1], "C": [2], "X": [0]}
    assert said["nearest_valuations"] == [{"A": [0], "B": [1], "C": [2], "X": [0, 1]}]
    assert summary(answer) == "{0, 1, 2} with A -> {0}, B -> {1}, C -> {2}, X -> {0} is not a match at 2"


@pytest.mark.parametrize(
    ("query", "mu", "clause", "message"),
    [
        ("A ; B", {("A", 0), ("A", 1), ("B", 1)}, "event type", "A binds A to {0}, not to {0, 1}"),
        ("A ; B", {("A", 0), ("B", 1), ("Z", 1)}, "variable binding", "nothing in the formula binds Z"),
        (
            "PROJECT[A](A IN X ; B)",
            {("A", 0), ("X", 0)},
            "projection",
            "PROJECT keeps A only, so X binds nothing, not {0}",
        ),
    ],
)
def test_what_binds_otherwise_is_named(query: str, mu: set[tuple[str, int]], clause: str, message: str) -> None:
    answer = ask(query, {p for _, p in mu}, 1, stream("A B"), valuation=frozenset(mu))
    assert isinstance(answer, Rejected)
    assert [(reason.clause, reason.message) for reason in answer.rejection.reasons] == [(clause, message)]


def test_registered_predicates_take_part() -> None:
    S, predicates = stream("A A B", x=[1, 2, 2]), {"same": lambda left, right: left[0].get("x") == right[0].get("x")}
    query = "A ; B FILTER same(A, B)"
    yes = ask(query, {1, 2}, 2, S, predicates=predicates)
    assert isinstance(yes, MatchExplanation)
    assert yes.derivations[0].evidence == ("same(A, B): A binds {1}, B binds {2}",)
    no = ask(query, {0, 2}, 2, S, predicates=predicates)
    assert isinstance(no, Rejected)
    assert [reason.message for reason in no.rejection.reasons] == ["same(A, B) is false: A binds {0}, B binds {2}"]
    assert no.rejection.nearest == (frozenset({1, 2}),)
    [found] = explain_stream(parse(query), S, predicates=predicates)
    assert found.events == {1, 2}
    with pytest.raises(Unsupported, match="same is not registered"):
        ask(query, {1, 2}, 2, S)


def test_of_a_stream_every_valuation_is_explained() -> None:
    S, phi = stream("R R"), parse("(R IN A ; R) OR (R ; R IN A)")
    assert len(list(explain_stream(phi, S))) == 1
    found = list(explain_stream(phi, S, output="valuations"))
    assert [sorted(p for A, p in answer.valuation or () if A == "A") for answer in found] == [[0], [1]]
    assert all(answer.derivations[0].valuation == answer.valuation for answer in found)


def test_what_is_not_in_the_way_stays_in_the_formula() -> None:
    answer = ask(PHI_1, {1, 7}, 7)
    assert isinstance(answer, Rejected)
    assert relaxed_text(answer.rejection) == "T ; H FILTER T.tmp > 40 AND T.id = 0"


@pytest.mark.thorough
@pytest.mark.parametrize("profile", ["core", "figure3", "everything"])
@pytest.mark.parametrize("cases", sampled([15, 150], [15]))
def test_explanations_agree_with_the_interpreter(profile: str, cases: int) -> None:
    """Random formulas, every kind of set: a match is derived and confirmed, and what is no match is never derived.

    The formula that a rejection ends with has the set as a match; with one reason, the clause named rejects it.
    """
    rng = Random(7)
    rejected = 0
    for _ in range(cases):
        phi, S = generate.case(rng, generate.PROFILES[profile], 8, 5)
        oracle, n = Interpreter(S), len(S) - 1
        matches = {sup(mu) for mu in oracle.meaning(phi, 0, n)}
        sets = [frozenset(C) for size in range(1, len(S) + 1) for C in combinations(range(len(S)), size)]
        for C in {*rng.sample(sets, min(6, len(sets))), *matches}:
            answer = explain(phi, S, C, n)
            assert isinstance(answer, MatchExplanation) == (C in matches), (phi, sorted(C))
            json.dumps(as_json(answer, phi))
            if isinstance(answer, MatchExplanation):
                for node in nodes(answer.derivations[0]):
                    assert node.valuation in oracle.meaning(node.formula, node.i, node.j)
            elif answer.rejection.relaxed is not None:
                relaxed, reasons_ = answer.rejection.relaxed, answer.rejection.reasons
                rejected += 1
                assert sup(relaxed.valuation) == C
                assert relaxed.valuation in Interpreter(S).meaning(relaxed.formula, 0, relaxed.j)
                assert reasons_
                for reason in reasons_ if len(reasons_) == 1 else ():
                    assert reason.valuation not in oracle.meaning(reason.formula, reason.i, reason.j)
    assert rejected > cases // 3


# --- limits -----------------------------------------------------------------------------------------------------------


def test_a_match_far_down_a_stream_is_derived_from_its_own_events() -> None:
    """A+ on 60 events has 2 to the 60 matches; that one of them is one takes no more than its events."""
    answer = ask("A+", {5, 7, 59}, 59, stream(" ".join(["A"] * 60)))
    assert isinstance(answer, MatchExplanation)


@pytest.mark.thorough
def test_too_long_a_stream_ends_in_an_error_that_says_so() -> None:
    with pytest.raises(BudgetExceeded, match="shorter stream"):
        ask("MAX(A+)", {5, 7, 39}, 39, stream("A " * 40))


def test_too_many_questions_end_in_an_error_that_says_so() -> None:
    S = stream("A " * 40)
    with pytest.raises(BudgetExceeded, match="shorter stream"):
        BoundedOracle(S, steps=100).meaning(parse("A ; A ; A"), 0, 39)


def test_a_clause_that_finds_nothing_ends_with_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """ALL asks about pairs of intervals: on a stream of 400 events one clause took a second."""
    S, phi = stream(" ".join("A" * 60)), parse("(A FILTER A.x > 0) ALL (A FILTER A.x > 1)")
    assert isinstance(phi, cel.All)
    oracle = BoundedOracle(S)
    intervals = [(i, j) for i in range(60) for j in range(i, 60)]
    assert not any(oracle.meaning(part, i, j) for part in (phi.left, phi.right) for i, j in intervals)
    with Budget(seconds=1).timed():
        monkeypatch.setattr("time.monotonic", lambda: math.inf)
        before = oracle._left
        with pytest.raises(BudgetExceeded, match="1 seconds"):
            oracle.meaning(phi, 0, 59)
    assert before - oracle._left <= CHECKED_TOGETHER


@pytest.mark.thorough
def test_a_rejection_without_its_nearest_matches_still_has_its_reason() -> None:
    answer = ask("A+ FILTER A.x = 0", {5, 7, 24}, 24, stream(" ".join(["A"] * 25), x=list(range(25))))
    assert isinstance(answer, Rejected)
    assert answer.rejection.nearest is None
    assert len(answer.rejection.reasons) == 1


# --- output -----------------------------------------------------------------------------------------------------------


def test_values_of_events_are_escaped_on_the_page_and_nothing_is_loaded() -> None:
    S = Stream([Event("T", {"s": HOSTILE})])
    phi = cel.Filter(cel.EventAtom("T"), parse("T FILTER T.s like '.*x.*'").condition)
    for answer in (explain(phi, S, frozenset({0}), 0), explain(parse("T FILTER T.s = 'y'"), S, frozenset({0}), 0)):
        outline = Outline(render(CelExplainer(phi, S), [answer], None))
        assert outline.complaints == outline.open == []
        assert not {"script", "img", "link", "iframe"} & set(outline.tags)
        assert not [name for name, _ in outline.attributes if name in ("src", "href") or name.startswith("on")]


def test_the_page_has_a_fold_for_every_step_and_a_drawing() -> None:
    answer = ask(PHI_1, {1, 8}, 8)
    outline = Outline(render(CelExplainer(parse(PHI_1), FIGURE_1), [answer], None))
    assert outline.tags.count("details") == 4
    assert outline.tags.count("svg") == 1


def test_of_a_long_stream_only_what_is_near_is_drawn() -> None:
    S = stream(" ".join(["A"] * 40))
    text = "PROJECT[X](A IN X ; A ; A)"
    page = render(CelExplainer(parse(text), S), [ask(text, {5}, 30, S)], None)
    assert [page.count(f">{p}</text>") for p in (4, 5, 6, 29, 30, 31)] == [1] * 6
    assert page.count('<rect class="event"') == 6


def test_on_a_long_stream_what_matches_nothing_is_told_together() -> None:
    S, phi = stream(" ".join(["A"] * 20 + ["B"] + ["A"] * 20)), parse("B")
    found = list(explain_stream(phi, S))
    page = render(CelExplainer(phi, S), found, Listing(found, False, 0, len(S) - 1))
    assert page.count('class="idle"') == 2
    assert "0 to 19 <code>20 events</code>: no match" in page


def test_text_has_no_colour_codes_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    lines = list(explanation_lines(CelExplainer(parse(PHI_1), FIGURE_1), ask(PHI_1, {4, 8}, 8)))
    echo_lines(lines)
    plain = capsys.readouterr().out
    coloured = "\n".join(styled_lines(lines, 1000)) + "\n"
    assert "\x1b" not in plain
    assert "\x1b" in coloured
    assert click.unstyle(coloured) == plain
    narrow = [click.unstyle(line) for line in styled_lines(lines, 40)]
    assert max(map(len, narrow)) <= 40
    assert "".join(narrow).replace(" ", "").replace("│", "").startswith(plain.split("\n")[0].replace(" ", ""))


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    """Runs `cerify explain QUERY` on Figure 1 in this process: its exit status, output and error output."""
    file = tmp_path / "figure-1.csv"
    rows = "".join(f"{e.type},{e.get('id')},{e.get('tmp') or ''},{e.get('hum') or ''}\n" for e in FIGURE_1)
    file.write_text("type,id,tmp,hum\n" + rows)

    def run(query: str, *options: str) -> tuple[object, str, str]:
        monkeypatch.setattr("sys.argv", ["cerify", "explain", query, str(file), *options])
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        out, err = capsys.readouterr()
        return exit_.value.code, out, err

    return run


def test_the_exit_status_tells_a_match_from_none(run) -> None:
    assert run(PHI_1, "--match", "1,8")[0] == 0
    assert run(PHI_1, "--match", "4,8", "--at", "8")[0] == 1
    assert run(PHI_1)[0] == 0
    assert run("X")[0] == 1
    assert run("T ;")[0] == 2


def test_json_is_one_object(run) -> None:
    _, out, _ = run(PHI_1, "--match", "1,8", "--at", "8", "--json")
    answer = json.loads(out)
    assert (answer["match"], answer["events"], answer["at"]) == (True, [1, 8], 8)
    assert answer["derivations"][0]["children"][0]["detail"] == "k = 1"
    _, out, _ = run(PHI_1, "--match", "4,8", "--json")
    answer = json.loads(out)
    assert answer["relaxed"] == "T ; H FILTER H.hum <= 25 AND H.id = 0"
    assert answer["nearest"][0] == {"events": [1, 8], "missing": [1], "extra": [4]}
    _, out, _ = run(PHI_1, "--json", "--limit", "2")
    answer = json.loads(out)
    assert ([(m["at"], m["events"]) for m in answer["matches"]], answer["more"]) == ([(2, [1, 2]), (8, [1, 8])], True)


def test_a_stream_is_explained_step_by_step(run) -> None:
    """What happens at each position, those without a match included; a cut list says that it is one."""
    _, out, _ = run(PHI_1)
    lines = [line for line in out.splitlines() if line.startswith(("after", "{"))]
    assert lines[:3] == ["after events 0 to 1: no match", "after event 2: H id=0 hum=20", "{1, 2} is a match at 2"]
    assert lines[-2:] == ["{1, 8} is a match at 8", "{5, 8} is a match at 8"]
    assert "There are more" in run(PHI_1, "--limit", "1")[1]
    assert "There are more" not in run(PHI_1, "--limit", "3")[1]


def test_what_is_no_printable_character_is_escaped(run, tmp_path: Path) -> None:
    (tmp_path / "figure-1.csv").write_text('type,a\x9b\nA,"one\ntwo \x1b[31mred"\n', encoding="utf-8")
    _, out, _ = run("A", "--match", "0")
    assert not any(c < " " or "\x7f" <= c < "\xa0" for c in out.replace("\n", ""))
    assert out.splitlines()[1] == r"  0  A a\x9b='one\ntwo \x1b[31mred'"
    assert out.splitlines()[-1] == r"event 0 (a\x9b = 'one\ntwo \x1b[31mred')"


def test_a_stream_without_events_has_no_match(run, tmp_path: Path) -> None:
    (tmp_path / "figure-1.csv").write_text("type,id\n")
    assert run(PHI_1) == (1, "no match in 0 events\n", "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--match", "1,99"), "--match: position 99 is not on the stream, which has 9 events, 0 to 8"),
        (("--match", "1,x"), "as in 1,8; 'x' is not a position"),
        (("--match", "1,-8"), "as in 1,8; '-8' is not a position"),
        (("--match", "8,1"), "--match takes each position once, in ascending order: 1,8"),
        (("--match", "1,1"), "--match takes each position once, in ascending order: 1"),
        (("--match", "1,8", "--at", "9"), "--at: position 9 is not on the stream"),
        (("--match", ""), "needs --at"),
        (("--match", "1,8", "--html", "no/such/folder/x.html"), "the folder no/such/folder does not exist"),
    ],
)
def test_bad_positions_get_one_clear_message(run, options: tuple[str, ...], message: str) -> None:
    status, out, err = run(PHI_1, *options)
    assert (status, out) == (2, "")
    assert message in err
    assert "Traceback" not in err


def test_the_page_is_written(run, tmp_path: Path) -> None:
    assert run(PHI_1, "--html", str(tmp_path / "page.html"))[0] == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 4  # the stream, and each of three matches
    assert page.count("<li") >= 9
    assert '<a href="#h2">{1, 8}</a>, <a href="#h3">{5, 8}</a>' in page
    assert page.count(": no match</li>") == 7


def test_a_stream_in_json_is_walked_position_by_position(run) -> None:
    answer = json.loads(run(PHI_1, "--json")[1])
    assert [step["at"] for step in answer["steps"]] == list(range(9))
    assert {step["at"]: step["matches"] for step in answer["steps"] if step["matches"]} == {
        2: [[1, 2]],
        8: [[1, 8], [5, 8]],
    }
    cut = json.loads(run(PHI_1, "--json", "--limit", "1")[1])
    assert cut["more"] is True
    assert [step["at"] for step in cut["steps"]] == [0, 1, 2]  # of what comes later nothing is known


def test_one_valuation_is_explained_on_the_command_line(run, tmp_path: Path) -> None:
    query = "(T IN A ; H) OR (T ; H IN A)"
    status, out, _ = run(query, "--valuation", '{"T": [1], "H": [2], "A": [2]}')
    assert status == 0
    assert out.splitlines()[0] == "{1, 2} with A -> {2}, H -> {2}, T -> {1} is a match at 2"
    status, out, _ = run(query, "--valuation", '{"T": [1], "H": [2]}', "--html", str(tmp_path / "page.html"))
    assert status == 1
    assert "variable binding: T IN A or H IN A binds A to {1}, not to {}" in out
    assert "{1, 2} is a match at 2 with\n  A -> {1}, H -> {2}, T -> {1}\n  A -> {2}, H -> {2}, T -> {1}" in out
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "{1, 2} is a match at 2 with" in page
    assert page.count("<svg") == 1
    status, out, _ = run("PROJECT[](T ; H)", "--valuation", "{}", "--at", "2")
    assert (status, out.splitlines()[0]) == (0, "{} with no bindings is a match at 2")


def test_every_valuation_of_a_stream_on_the_command_line(run) -> None:
    answer = json.loads(run("(T IN A ; H) OR (T ; H IN A)", "--output", "valuations", "--at", "2", "--json")[1])
    assert [one["valuation"]["A"] for one in answer["matches"]] == [[1], [2]]
    assert answer["steps"] == [{"at": 2, "matches": [[1, 2]]}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("T=1", "--valuation takes a JSON object"),
        ("[1]", "--valuation takes a JSON object"),
        ('{"T": 1}', "--valuation takes a JSON object"),
        ('{"T": [true]}', "--valuation takes a JSON object"),
        ('{"T": [99]}', "--valuation: position 99 is not on the stream"),
        ("[" * 100_000, "--valuation takes a JSON object"),
        ("{}", "needs --at"),
    ],
)
def test_a_bad_valuation_gets_one_clear_message(run, text: str, message: str) -> None:
    status, out, err = run(PHI_1, "--valuation", text)
    assert (status, out) == (2, "")
    assert message in err


def test_that_there_is_no_match_is_no_item_of_the_list_before_it(run, tmp_path: Path) -> None:
    assert (
        run("(T ; H) FILTER T.tmp > 40 AND T.id = H.id", "--match", "1,7", "--html", str(tmp_path / "page.html"))[0]
        == 1
    )
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<p>The query has no match at 7.</p>" in page
    assert "it is a match of the relaxed formula</h3>" in page
    assert page.count("<li>") == 1


# --- windows and partitions -------------------------------------------------------------------------------------------


def test_a_window_and_a_partition_are_steps_of_a_derivation_and_reasons_of_a_rejection() -> None:
    S = stream("A B B", id=[1, 1, 2])
    assert first("A ; B WITHIN 2 EVENTS", {0, 1}, 1, S).clause == "window"
    assert first("A ; B PARTITION BY [id]", {0, 1}, 1, S).clause == "partition"
    (window,) = reasons("A ; B WITHIN 2 EVENTS", {0, 2}, 2, S)
    assert "from position 0 to position 2" in window
    (partition,) = reasons("A ; B PARTITION BY [id]", {0, 2}, 2, S)
    assert "event 0 (id = 1), event 2 (id = 2)" in partition


def test_counts_of_every_operator_are_those_of_the_definition() -> None:
    """An operator that the counts got wrong would explain a non-match by a number of events that is right."""
    S = Stream(Event(R, {"x": 1}) for R in "AABAB")
    below = [parse(text) for text in ("A", "A ; B", "A+", "A OR (A ; B)")]
    for operator in OPERATORS.values():
        for make in operator.instances():
            for operands in product(below, repeat=len(operator.node.operands)):
                phi = make(*operands)
                found = {len(sup(mu)) for n in range(len(S)) for mu in Interpreter(S).meaning(phi, 0, n)}
                assert found <= counts(phi, len(S)), show(phi)
