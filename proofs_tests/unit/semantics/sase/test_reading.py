"""Each open point of docs/decisions/sase.md: what we decided, and a stream on which the readings differ."""

from dataclasses import replace

import pytest

from cerify.semantics.errors import InputError
from cerify.semantics.sase import denote
from cerify.semantics.sase.interpreter import matches_of
from cerify.semantics.sase.parse import parse
from cerify.semantics.sase.syntax import Reading, choices, list_other_readings, read_reading
from proofs_tests.unit.semantics.sase.streams import events, found

NEXT, ANY, STRICT, PARTITION = (
    f"{strategy}_{kind}"
    for strategy, kind in [
        ("skip_till_next", "match"),
        ("skip_till_any", "match"),
        ("strict", "contiguity"),
        ("partition", "contiguity"),
    ]
)

# query, stream, what we say, another reading, what it says
SELECTABLE: dict[str, tuple[str, str, list[str], Reading, list[str]]] = {
    "a Kleene plus in last place is maximal": (
        "SEQ(A+ a[])",
        "A A",
        ["0,1", "1"],
        Reading(last_kleene="every"),
        ["0", "0,1", "1"],
    ),
    "! in last place stops after one event": (
        f"SEQ(A+ a[]) WHERE {NEXT}(a[]!) {{ }}",
        "A A",
        ["0", "1"],
        Reading(cut_in_last_place="nothing"),
        ["0,1", "1"],
    ),
    "the end of the stream stops a Kleene plus": (
        "SEQ(A+ a[]) WITHIN 5 seconds",
        "A@0 A@4",
        ["0,1", "1"],
        Reading(stream_end="waits"),
        [],
    ),
    "the end of the stream ends the scope of a negation": (
        "SEQ(A a, ~B b) WITHIN 5 seconds",
        "A@0 A@2 C@6",
        ["0", "1"],
        Reading(stream_end="waits"),
        ["0"],
    ),
    "a window is open": (
        "SEQ(A a, B b) WITHIN 5 seconds",
        "A@0 B@5",
        [],
        Reading(window="closed"),
        ["0 1"],
    ),
    "a Kleene plus skips what it cannot select itself": (
        "SEQ(A+ a[], B b)",
        "A B B",
        ["0 1", "0 2"],
        Reading(kleene_skips="neither"),
        ["0 1"],
    ),
    "a negation in front looks back to the window's beginning": (
        "SEQ(~B b, A a) WITHIN 5 seconds",
        "B@0 A@7",
        ["1"],
        Reading(negation_in_front="stream"),
        [],
    ),
    "a negated series is selected by its strategy": (
        f"SEQ(A a, ~B+ b[], C c) WHERE {NEXT}(a, b[], c) {{ b[i].x > b[i-1].x and count(b[]) >= 3 }}",
        "A B1 B5 B2 B3 C",
        ["0 5"],
        Reading(negated_series="any"),
        [],
    ),
}


@pytest.mark.parametrize("name", SELECTABLE)
def test_what_we_decided_and_another_reading(name: str) -> None:
    text, S, ours, other, theirs = SELECTABLE[name]
    assert found(text, S) == ours
    assert found(text, S, other) == theirs
    assert ours != theirs


# query, stream, what we say; the reading that would say something else is in docs/decisions/sase.md
DECIDED: dict[str, tuple[str, str, list[str]]] = {
    "events of one time follow each other as they stand": ("SEQ(A a, B b)", "A@1 B@1 A@1", ["0 1"]),
    "whoever wants another time says so": ("SEQ(A a, B b) WHERE b.time > a.time", "A@1 B@1 B@2", ["0 2"]),
    "a[i] alone speaks of a[1] too": ("SEQ(A+ a[]) WHERE a[i].x = 1", "A2 A1", ["1"]),
    "a[i] with a[i-1] begins at the second event": ("SEQ(A+ a[]) WHERE a[i].x > a[i-1].x", "A2 A1", ["0", "1"]),
    "a[i] with a[1] begins at the second event": ("SEQ(A+ a[]) WHERE a[i].x > a[1].x", "A1 A2 A2", ["0,1,2", "1", "2"]),
    "beside an end condition auto-stop does not end": (
        f"SEQ(A+ a[]) WHERE {STRICT}(a[]) {{ a[a.LEN].x = 2 }}",
        "A1 B",
        [],
    ),
    "with an end condition nothing has to stop": (
        f"SEQ(A+ a[]) WHERE {STRICT}(a[]) {{ a[a.LEN].x = 2 }}",
        "A2 A2",
        ["0", "0,1", "1"],
    ),
    "! stops at the end condition": (
        f"SEQ(A+ a[]) WHERE {NEXT}(a[]!) {{ a[a.LEN].x = 2 }}",
        "A1 A2 A2",
        ["0,1", "1", "2"],
    ),
    "! stops at the next component": (f"SEQ(A+ a[], B b) WHERE {NEXT}(a[]!, b) {{ }}", "A B B", ["0 1"]),
    "! gives the next component what both could select": (
        f"SEQ(A+ a[], A b) WHERE {NEXT}(a[]!, b) {{ }}",
        "A A A",
        ["0 1", "1 2"],
    ),
    "without ! both happen": ("SEQ(A+ a[], A b)", "A A A", ["0 1", "0,1 2", "1 2"]),
    "after the Kleene plus the next component's strategy skips": (
        f"SEQ(A+ a[], B b) WHERE {STRICT}(a[]) {{ }} {NEXT}(b) {{ }}",
        "A C B",
        ["0 2"],
    ),
    "and not that of the Kleene plus": (
        f"SEQ(A+ a[], B b) WHERE {NEXT}(a[]) {{ }} {STRICT}(b) {{ }}",
        "A C B",
        ["0 2"],
    ),
    "a single event is followed by the next component's strategy": (
        f"SEQ(A a, B b) WHERE {NEXT}(a) {{ }} {STRICT}(b) {{ }}",
        "A C B A B",
        ["3 4"],
    ),
    "strict contiguity holds between components": (
        f"SEQ(A+ a[], B b) WHERE {STRICT}(a[], b) {{ }}",
        "A C B A A B",
        ["3,4 5", "4 5"],
    ),
    "every type belongs to a partition": (
        f"SEQ(A a, B b) WHERE {PARTITION}(a, b) {{ [y] }}",
        "A/k C/k B/k A/k C/l B/k",
        ["3 5"],
    ),
    "what is underlined is the partition": (
        f"SEQ(A a, B b) WHERE {PARTITION}(a, b) {{ [y] and _( b.x = a.x )_ }}",
        "A1/k C2/k B1/k",
        ["0 2"],
    ),
    "where nothing is underlined for a component it is strict": (
        f"SEQ(A a, B b) WHERE {PARTITION}(a, b) {{ _( a.x = 1 )_ }}",
        "A1 C B A1 B",
        ["3 4"],
    ),
    "[y] compares neighbours, so that one event needs no y": (
        "SEQ(A+ a[]) WHERE [y]",
        "A A A/k A/k",
        ["0", "1", "2,3", "3"],
    ),
    "an event without a time is in no window but the one it begins": (
        "SEQ(A+ a[]) WITHIN 5 seconds",
        "A@0 A A@1",
        ["0,2", "1", "2"],
    ),
    "a negation lies strictly between its neighbours": ("SEQ(A a, ~A b, A c)", "A A A", ["0 1", "1 2"]),
    "a clause on a later event says of what is not there": (
        "SEQ(A a, ~B b, C c) WHERE c.x = b.x",
        "A B1 C2 A B1 C1",
        ["0 2"],
    ),
    "a negation after the last is over with the window": ("SEQ(A a, ~B b) WITHIN 5 seconds", "A@0 B@4 A@5 B@10", ["2"]),
    "an event without a time is in no scope that a window ends": (
        "SEQ(A a, ~B+ b[]) WHERE count(b[]) = 2 WITHIN 5 seconds",
        "A@0 B@1 B C@3",
        ["0"],
    ),
    "skip till any match tells every series at the end": (
        f"SEQ(A+ a[]) WHERE {ANY}(a[]) {{ }}",
        "A A A",
        ["0", "0,1", "0,1,2", "0,2", "1", "1,2", "2"],
    ),
}


@pytest.mark.parametrize("name", DECIDED)
def test_what_we_decided(name: str) -> None:
    text, S, expected = DECIDED[name]
    assert found(text, S) == expected


PAIR = "SEQ(A a, B b) WHERE b.x = a.x"
SERIES = "SEQ(A a, C+ c[], B b) WHERE b.x = a.x"


@pytest.mark.parametrize(
    ("text", "S", "reading", "expected"),
    [
        (PAIR, "A1 A2 B2 B1", Reading(), [(1, 2)]),
        (PAIR, "A1 A2 B2 B1", Reading(non_overlap="earliest_start"), [(0, 3)]),
        (SERIES, "A1 A2 C B2 C B1", Reading(), [(1, 2, 3)]),
        (SERIES, "A1 A2 C B2 C B1", Reading(non_overlap="longest"), [(0, 2, 4, 5)]),
        (PAIR, "A1 B1 A1 B1", Reading(), [(0, 1), (2, 3)]),
    ],
)
def test_which_of_the_matches_that_overlap(
    text: str, S: str, reading: Reading, expected: list[tuple[int, ...]]
) -> None:
    q = parse(f"PATTERN {text} RETURN NON-OVERLAP a.x")
    assert [m.events for m in matches_of(q, events(S), denote.bindings, reading)] == expected


def test_each_other_reading_differs_in_one_answer() -> None:
    listed = list_other_readings()
    assert ("window", "closed") in listed
    for (name, answer), reading in listed.items():
        assert getattr(reading, name) == answer != getattr(Reading(), name)
        assert replace(reading, **{name: getattr(Reading(), name)}) == Reading()
    assert len(listed) == sum(len(answers) - 1 for answers in choices().values())


def test_a_reading_is_read_from_texts() -> None:
    assert read_reading([]) == Reading()
    assert read_reading(["window=closed", "last_kleene=every"]) == Reading(window="closed", last_kleene="every")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("windows=closed", "there is no question 'windows' of a reading"),
        ("window=shut", "the reading window is open or closed, not 'shut'"),
        ("window", "the reading window is open or closed, not ''"),
    ],
)
def test_what_is_no_reading_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_reading([text])
