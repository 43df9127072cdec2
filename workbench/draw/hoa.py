"""Automata in the Hanoi Omega-Automata format (HOA v1, https://adl.github.io/hoaf/), for the tools that read it.

A letter is an event. Its atomic propositions are the predicates of the automaton and, for a complex event automaton,
its variables; that of a variable is true if the event is marked with it. The format has infinite words and these
automata have finite ones: a run is accepting if its last state is in the acceptance set 0, as a comment in the text
explains.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cerify.automata.cea.model import CEA, Marks
from cerify.automata.dfa.model import DFA
from cerify.draw.automaton import predicate_text
from cerify.semantics.predicates import Anything, Predicate

FINITE = "Words are finite: a run accepts if it ends in a state of the set 0."


def hoa_of_automaton(A: CEA | DFA, name: str) -> str:
    """An automaton as the text of an HOA file."""
    return hoa_of_cea(A, name) if isinstance(A, CEA) else hoa_of_dfa(A, name)


def hoa_of_cea(A: CEA, name: str) -> str:
    """A complex event automaton as the text of an HOA file."""
    variables = sorted(frozenset[str]().union(*(t.marks for t in A.transitions)))
    tests = [P for P in A.predicates if not isinstance(P, Anything)]
    proposition = _numbered([*map(predicate_text, tests), *(f"mark {x}" for x in variables)])

    def label(P: Predicate, marks: Marks) -> str:
        event = [] if isinstance(P, Anything) else [str(proposition[predicate_text(P)])]
        return _all([*event, *(_literal(proposition[f"mark {x}"], x in marks) for x in variables)])

    edges = [[(label(t.predicate, t.marks), t.target) for t in A.leaving[q]] for q in range(A.states)]
    return _text(name, proposition, sorted(A.initial), edges, A.final, "")


def hoa_of_dfa(A: DFA, name: str) -> str:
    """The automaton of an event expression as the text of an HOA file."""
    proposition = _numbered(map(predicate_text, A.alphabet.predicates))

    def label(a: int) -> str:
        chosen = A.alphabet.types[a].chosen
        said = {proposition[predicate_text(P)]: i in chosen for i, P in enumerate(A.alphabet.predicates)}
        return _all([_literal(i, true) for i, true in said.items()])

    edges = [[(label(a), q) for (a, _), q in following.items()] for following in A.following]
    return _text(name, proposition, [0], edges, A.accepting, " deterministic")


def _numbered(texts: Iterable[str]) -> dict[str, int]:
    """A number for each text; predicates that read the same are the same."""
    return {text: i for i, text in enumerate(dict.fromkeys(texts))}


def _literal(proposition: int, true: bool) -> str:
    return str(proposition) if true else f"!{proposition}"


def _all(parts: list[str]) -> str:
    return "&".join(parts) or "t"


def _text(
    name: str,
    propositions: Mapping[str, int],
    initial: Iterable[int],
    edges: list[list[tuple[str, int]]],
    final: frozenset[int],
    properties: str,
) -> str:
    lines = [
        "HOA: v1",
        f"name: {_quoted(name)}",
        f"States: {len(edges)}",
        *(f"Start: {q}" for q in initial),
        " ".join((f"AP: {len(propositions)}", *map(_quoted, propositions))),
        "acc-name: Buchi",
        "Acceptance: 1 Inf(0)",
        f"properties: trans-labels explicit-labels state-acc{properties}",
        'tool: "cerify"',
        f"/* {FINITE} */",
        "--BODY--",
    ]
    for q, leaving in enumerate(edges):
        lines.append(f"State: {q} {{0}}" if q in final else f"State: {q}")
        lines += [f"[{label}] {target}" for label, target in leaving]
    return "\n".join((*lines, "--END--", ""))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
