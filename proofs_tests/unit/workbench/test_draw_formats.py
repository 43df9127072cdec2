"""Automata as text for other tools: Graphviz reads what is written for it, and what HOA says is what they accept."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from cerify.api import diagram_of, hoa_of, match
from cerify.draw.diagram import STYLES, Diagram, DrawnEdge, DrawnState, dot, graphviz
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Event

EXPRESSION = "event-expression"


@pytest.mark.parametrize(
    ("query", "language", "states", "edges"),
    [("A ; B", "cel", 3, 4), ("prior(A, B)", EXPRESSION, 3, 6), ("PATTERN SEQ(A a, B+ b[]) RETURN a.x", "sase", 4, 6)],
)
def test_graphviz_reads_what_is_written_for_it(query: str, language: str, states: int, edges: int) -> None:
    diagram = diagram_of(query, language)
    assert (len(diagram.states), len(diagram.edges)) == (states, edges)
    read = graphviz(dot(diagram))
    named = {node["name"]: node for node in read["objects"]}
    assert [named[str(q)]["label"] for q in range(states)] == [state.name for state in diagram.states]
    assert [named[str(q)]["shape"] for q, state in enumerate(diagram.states) if state.final] == ["doublecircle"]
    shown = [(edge["label"], edge.get("style", "solid")) for edge in read["edges"] if edge.get("label")]
    assert sorted(shown) == sorted(("\\n".join(edge.lines), STYLES[edge.kind]) for edge in diagram.edges)


def test_what_is_written_for_graphviz_is_quoted() -> None:
    hostile = 'a"; b [label="c\\'
    read = graphviz(dot(Diagram(hostile, (DrawnState(hostile), DrawnState("1")), (DrawnEdge(0, 1, (hostile,)),))))
    assert len(read["objects"]) == 2
    assert len(read["edges"]) == 1


Hoa = tuple[list[int], list[str], dict[int, list[tuple[str, int]]], set[int]]


def read_hoa(text: str) -> Hoa:
    """The initial states, the propositions, the edges and the accepting states of an HOA file."""
    head, body = text.split("--BODY--\n")
    starts = [int(q) for q in re.findall(r"^Start: (\d+)$", head, re.MULTILINE)]
    propositions = re.findall(r'"([^"]*)"', re.findall(r"^AP: .*$", head, re.MULTILINE)[0])
    edges: dict[int, list[tuple[str, int]]] = {}
    accepting = set()
    for line in body.removesuffix("--END--\n").splitlines():
        if state := re.fullmatch(r"State: (\d+)( \{0\})?", line):
            q = int(state[1])
            edges[q] = []
            accepting |= {q} if state[2] else set()
        else:
            label, target = re.fullmatch(r"\[(.*)\] (\d+)", line).groups()  # type: ignore[union-attr]
            edges[q].append((label, int(target)))
    return starts, propositions, edges, accepting


def accepts(hoa: Hoa, word: list[set[str]]) -> bool:
    """Whether a run over a word, each letter the propositions that are true, ends in an accepting state."""
    starts, propositions, edges, accepting = hoa
    here = set(starts)
    for letter in word:
        true = {i for i, name in enumerate(propositions) if name in letter}
        here = {
            q
            for p in here
            for label, q in edges[p]
            if all(
                part == "t" or (int(part) in true if part[0] != "!" else int(part[1:]) not in true)
                for part in label.split("&")
            )
        }
    return bool(here & accepting)


def test_the_hoa_of_a_formula_accepts_its_valuations() -> None:
    hoa = read_hoa(hoa_of("A ; B+"))
    assert sorted(hoa[1]) == ["A", "B", "mark A", "mark B"]
    A, B, a, b = ({"A"}, {"B"}, {"A", "mark A"}, {"B", "mark B"})
    assert accepts(hoa, [a, b])
    assert accepts(hoa, [A, a, B, b, b])
    for word in ([a, B], [b], [a, {"A", "mark B"}], [a], [A, B], [b, a]):
        assert not accepts(hoa, word)


ASKED: dict[str, Callable[[Event], bool]] = {
    "a": lambda event: event.type == "a",
    "b": lambda event: event.type == "b",
    "a[x > 1]": lambda event: event == Event("a", {"x": 2}),
}


@pytest.mark.parametrize("query", ["prior(a, b)", "<2> a and !before(b)", "a[x > 1] or b"])
def test_the_hoa_of_an_expression_accepts_where_it_takes_place(query: str) -> None:
    hoa = read_hoa(hoa_of(query, EXPRESSION))
    S = [Event(T, {"x": x}) for T, x in (("a", 1), ("a", 2), ("b", 2), ("c", 2), ("b", 0), ("a", 2))]
    word = [{name for name, asks in ASKED.items() if asks(event)} for event in S]
    expected = {found.at for found in match(query, S, language=EXPRESSION)}
    assert expected
    assert {n for n in range(len(S)) if accepts(hoa, word[: n + 1])} == expected


def test_a_buffer_has_no_hoa() -> None:
    with pytest.raises(Unsupported, match="buffer"):
        hoa_of("PATTERN SEQ(A a) RETURN a.x", "sase")
