"""The interpreters with choices: at their default they are the definition; each value means what its page says."""

from __future__ import annotations

from random import Random

import pytest

from cerify.conformance.prediction import AXES, INTERPRETATIONS, answer
from cerify.hypotheses.interpretation import choices_of, read_hypothesis
from cerify.languages import LANGUAGES
from cerify.languages.language import Options
from cerify.protocol import Failed, MatchesAnswer
from cerify.semantics.errors import InputError, Unsupported
from cerify.semantics.events import Event, Stream
from proofs_tests.support import sampled

Events = set[tuple[int, ...]]


def events(types: str, **columns: list[object]) -> Stream:
    """A stream of these types; None in a column is an absent value."""
    return Stream(
        Event(type_, {name: values[i] for name, values in columns.items() if values[i] is not None})  # type: ignore[misc]
        for i, type_ in enumerate(types.split())
    )


def found(query: str, S: Stream, language: str = "cel", **hypothesis: str) -> Events:
    """The complex events that an engine reports; seq__cseq stands for the axis seq@cseq."""
    named = {axis.replace("__", "@").replace("_", "-"): value for axis, value in hypothesis.items()}
    given = answer(language, query, S, named)
    assert isinstance(given, MatchesAnswer)
    return {match.events for match in given.matches}


@pytest.mark.parametrize("cases", sampled([60, 150], [60]))
@pytest.mark.parametrize("language", AXES)
def test_the_default_of_every_axis_is_the_definition(language: str, cases: int) -> None:
    plugin, interpretation = LANGUAGES[language], INTERPRETATIONS[language]
    generator, choices = plugin.generator(), choices_of({}, interpretation.axes)
    profiles, matched = list(generator.profiles.values()), 0
    for seed in range(cases):
        query, S = generator.case(Random(seed), profiles[seed % len(profiles)], 7, 6)
        output = "valuations" if not plugin.answer else "matches"
        try:
            right = frozenset(plugin.matches(query, S, options=Options(output=output)))  # type: ignore[arg-type]
        except Unsupported:  # an argument of an event of which the stream does not say the attributes
            continue
        assert interpretation.matches(query, S, choices, output) == right, plugin.show(query)  # type: ignore[arg-type]
        matched += bool(right)
    assert matched > 20 * cases / 150


@pytest.mark.parametrize(
    ("seq", "expected"),
    [
        ("any", {(0, 2), (0, 3), (1, 2), (1, 3)}),
        ("next-from-left", {(0, 2), (1, 2)}),
        ("next-from-right", {(1, 2), (1, 3)}),
        ("strict", {(1, 2)}),
    ],
)
@pytest.mark.parametrize(("language", "query"), [("cel", "A ; B"), ("core-cel", "A AS a ; B AS b")])
def test_sequences(language: str, query: str, seq: str, expected: Events) -> None:
    assert found(query, events("A A B B"), language, seq=seq) == expected


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        ("all", {(0, 2), (1, 2), (0, 1, 2)}),
        ("omit-nothing", {(0, 1, 2), (1, 2)}),
        ("contiguous", {(0, 2), (1, 2), (0, 1, 2)}),
        ("greedy", {(0, 1, 2)}),
        ("at-least-two", {(0, 1, 2)}),
        ("single", {(0, 2), (1, 2)}),
        ("until-next", {(0, 2), (1, 2), (0, 1, 2)}),
    ],
)
def test_loops(loop: str, expected: Events) -> None:
    assert found("A+ ; B", events("A A B"), loop=loop) == expected


def test_a_loop_ends_with_the_first_event_of_the_next_step() -> None:
    S = events("A B A B")
    assert found("A+ ; B", S) - found("A+ ; B", S, loop="until-next") == {(0, 2, 3)}


def test_contiguous_rounds_are_neighbours() -> None:
    S = events("A C A B")
    assert found("A+ ; B", S) - found("A+ ; B", S, loop="contiguous") == {(0, 2, 3)}


def test_what_a_loop_omits_is_decided_by_what_follows_it() -> None:
    S = events("C A A B")
    assert found("C ; A+ ; B", S, loop="greedy") == {(0, 1, 2, 3)}
    assert found("C ; A+ ; B", S, loop="omit-nothing") == {(0, 1, 2, 3), (0, 2, 3)}
    assert found("(A+ OR C) ; B", S, loop="omit-nothing") == {(1, 2, 3), (2, 3), (0, 3)}
    with pytest.raises(Unsupported):
        found("(A+ AND A) ; B", S, loop="greedy")


@pytest.mark.parametrize(
    ("overlap", "expected"),
    [
        ("shared", {(0, 2), (0, 3), (1, 2), (1, 3)}),
        ("past-last", {(0, 2)}),
        ("to-next", {(0, 2), (1, 2)}),
        ("consume", {(0, 2), (1, 3)}),
    ],
)
def test_which_matches_may_overlap(overlap: str, expected: Events) -> None:
    assert found("A ; B", events("A A B B"), overlap=overlap) == expected


@pytest.mark.parametrize(
    ("emit", "expected"),
    [
        ("complete", {(0, (0,)), (1, (1,)), (1, (0, 1))}),
        ("one-per-position", {(0, (0,)), (1, (0, 1))}),
        ("shortest-per-position", {(0, (0,)), (1, (1,))}),
        ("one-per-start", {(0, (0,)), (1, (1,))}),
        ("at-end", {(1, (0,)), (1, (1,)), (1, (0, 1))}),
        ("at-first-event", {(0, (0,)), (1, (1,)), (0, (0, 1))}),
        ("one-later", {(1, (0,))}),
    ],
)
def test_which_matches_are_reported_and_when(emit: str, expected: set[tuple[int, tuple[int, ...]]]) -> None:
    given = answer("cel", "A+", events("A A"), {"emit": emit})
    assert isinstance(given, MatchesAnswer)
    assert {(m.at, m.events) for m in given.matches} == expected


@pytest.mark.parametrize(
    ("window", "spans"), [("closed", {1, 2}), ("open", {1}), ("off-by-one", {1, 2, 3}), ("tumbling", {1})]
)
def test_windows(window: str, spans: set[int]) -> None:
    inside = {
        k for k in range(1, 5) if found("A ; B WITHIN 2 seconds", events("A B", time=[1, 1 + k]), window__time=window)
    }
    assert inside == spans - ({1} if window == "tumbling" else set())
    count = {
        k for k in range(2, 6) if found("A ; B WITHIN 3 EVENTS", events("A " + "C " * (k - 2) + "B"), window=window)
    }
    assert count == {k + 1 for k in {1, 2} ^ ({2} if window == "open" else {3} if window == "off-by-one" else set())}


def test_a_window_where_none_is_asked() -> None:
    S = events("A B B", time=[0, 60, 61])
    assert found("A ; B", S, window_default="60") == {(0, 1)}
    assert found("A ; B WITHIN 1 hours", S, window_default="60") == {(0, 1), (0, 2)}


def test_partitions() -> None:
    S = events("A A A", k=[1, 2, 1])
    assert found("A : A PARTITION BY [k]", S) == set()
    assert found("A : A PARTITION BY [k]", S, partition="substream") == {(0, 2)}


def test_filters_on_loops() -> None:
    S = events("A A B", x=[1, 0, None])
    expected = {"every": {(0, 2)}, "some": {(0, 2), (0, 1, 2)}, "first": {(0, 2), (0, 1, 2)}, "last": {(0, 2)}}
    for value, right in expected.items():
        assert found("(A+ ; B) FILTER A[x > 0]", S, filter_loop=value) == right, value


def test_absent_attributes() -> None:
    S = events("A A", x=[None, 1])
    query = "(A ; A IN B) FILTER A.x = A.y"
    assert found("A FILTER A[not x > 1]", S) == {(0,), (1,)}
    assert found("A FILTER A[not x > 1]", S, absent="unknown") == {(1,)}
    assert found("A FILTER A.x = 0", S, absent="zero") == {(0,)}
    assert found("A FILTER A.x != 1", S, absent="null-equal") == {(0,)}
    assert found("A FILTER A.y = A.z", S, absent="null-equal") == {(0,), (1,)}
    assert found("A FILTER A.x != 1", S, absent="null-unequal") == {(0,)}
    assert found("A FILTER A.y != A.z", S, absent="null-unequal") == {(0,), (1,)}
    assert found("A FILTER A.y = A.z", S, absent="null-unequal") == set()
    assert isinstance(answer("cel", query, S, {"absent": "error"}), Failed)


def test_division_of_integers() -> None:
    S = events("A A A", x=[3, -3, 3.0])
    assert found("A FILTER A[x / 2 = 1]", S, integer_division="truncating") == {(0,)}
    assert found("A FILTER A[x / 2 = -1]", S, integer_division="truncating") == {(1,)}
    assert found("A FILTER A[x / 2 = 1.5]", S) == {(0,), (2,)}


def test_where_unless_looks() -> None:
    S = events("B A B C")
    expected = {"all": set(), "next": set(), "any-between": set(), "whole": {(1, 3)}, "ignored": {(1, 3)}}
    for value, right in expected.items():
        assert found("(A ; C) UNLESS B", S, negation=value) == right, value
    assert found("(A ; C) UNLESS B", events("B A C"), negation="any-between") == {(1, 2)}
    assert found("(A ; C) UNLESS B", events("A D B C"), negation="next") == {(0, 3)}


def test_a_general_name_means_every_operator_that_has_the_value() -> None:
    S = events("A A B B")
    assert found("NXT(A ; B)", S, selection="ignored") == found("A ; B", S)
    assert found("NXT(A ; B)", S, selection__nxt="last") == found("LAST(A ; B)", S)


def test_sase() -> None:
    S = events("A B A B", time=[0, 1, 2, 3])
    query = "PATTERN SEQ(A+ a[], B b) WHERE skip_till_any_match(a[]!, b) { } WITHIN 3 seconds RETURN b.time"
    assert (0, 2, 3) not in found(query, S, "sase")
    assert (0, 1) in found(query, S, "sase") == found(query, S, "sase", loop="until-next")
    assert (0, 3) in found(query, S, "sase", window="closed")
    assert (0, 2, 3) in found(query, S, "sase", window="closed", cut="ignored")


def test_event_expressions() -> None:
    S = events("A A B")
    assert found("relative(A, A)", S, "event-expression") == {(1,)}
    assert found("relative(A, A)", S, "event-expression", relative="last") == set()


def test_what_is_no_hypothesis() -> None:
    with pytest.raises(InputError, match="there is no axis 'sequence'"):
        answer("cel", "A", events("A"), {"sequence": "any"})
    with pytest.raises(InputError, match="the axis seq has the values any, next-from-left"):
        read_hypothesis(["seq=some"], AXES["cel"])
    with pytest.raises(InputError, match="no AXIS=VALUE"):
        read_hypothesis(["seq"], AXES["cel"])
    with pytest.raises(Unsupported):
        answer("toy", "A", events("A"), {})
