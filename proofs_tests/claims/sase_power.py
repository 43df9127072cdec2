"""Claims of sase07 about expressibility: section 4."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, permutations, product
from random import Random
from typing import TypeAlias

import networkx as nx

from cerify.automata.nfab.compile import compile_query
from cerify.automata.nfab.moves import NfabRun, Runs
from cerify.semantics.events import Event, Stream
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.denote import bindings
from cerify.semantics.sase.interpreter import matches_of
from cerify.semantics.sase.parse import parse
from cerify.semantics.sase.syntax import Operation, Operations
from proofs_tests.claims.ledger import Effort, Finding, claim
from proofs_tests.claims.sase_regular import Regular
from proofs_tests.claims.sase_search import passed
from proofs_tests.unit.semantics.sase import small
from proofs_tests.unit.semantics.sase.streams import events, query, shown

# --- Theorem 4.1: without aggregation, the regular sets ---------------------------------------------------------------


@claim(
    "sase07.thm4.1:5-1",
    "Without aggregation, an automaton with a buffer recognizes a regular set",
    "theorem",
    "over finitely many events, and without a window, as times are not of finitely many kinds",
)
def _(effort: Effort) -> Finding:
    letters = tuple(events("A1/k A2/k B1/k"))
    length, every = (3, 12) if effort == "quick" else (5, 2)
    words = [word for n in range(1, length + 1) for word in product(range(len(letters)), repeat=n)]
    texts = [text for n in (1, 2) for text in small.texts(n, False, False, ("",)) if "count" not in text][::every]
    wrong = largest = 0
    for text in texts:
        A = compile_query(query(text))
        N = Regular(A, letters)
        largest = max(largest, len(N.states()))
        known = {(): N.initial()}
        for word in words:
            known[word] = N.after(known[word[:-1]], word[-1])
            wrong += N.accepts(known[word]) != Runs(A, Stream(letters[x] for x in word)).accepts()
    return passed(not wrong, f"{len(texts)} queries, all words of up to {length} of 3 events; at most {largest} states")


EVEN = """
PATTERN SEQ(A a, A b) WHERE strict_contiguity(a, b) { } RETURN pair(a.time AS start, b.time AS stop) IN STREAM pairs;
FROM pairs PATTERN SEQ(pair+ p[])
WHERE skip_till_any_match(p[]) { p[i].start = p[i-1].stop + 1 and p[p.LEN].stop >= 0 }
RETURN p[1].start AS start, p[p.LEN].stop AS stop"""


@claim("sase07.thm4.1:1-2", "Every regular set is recognized by a query without aggregation and negation", "theorem")
def _(effort: Effort) -> Finding:
    most = 6 if effort == "quick" else 9
    even = set(range(2, most + 1, 2))
    texts = [text for n in (1, 2) for text in small.texts(n, False, False, ("",)) if "count" not in text]
    texts = [text for text in texts if "B" not in text][:: 4 if effort == "quick" else 1]
    # over one event every condition has one value, so the words of a simple query are those of a length, or from one on
    simple = 0
    for text in texts:
        A = compile_query(query(text))
        simple += {n for n in range(1, most + 1) if Runs(A, events("A1/k " * n)).accepts()} == even
    composed = {n for n in range(1, most + 1) if (0, n - 1) in _segments(n)}
    return Finding(
        "holds-corrected" if not simple and composed == even else "refuted",
        "exhaustive",
        f"{len(texts)} simple queries over one event: none has the even lengths up to {most}; composed, one has",
        {
            "regular set": "(aa)+, the words of even length",
            "simple queries that recognize it": f"{simple} of {len(texts)}",
        },
        "by composition, whose results carry where they begin and end: which is not of finitely many values any more",
    )


def _segments(n: int) -> set[tuple[int, int]]:
    """Where the matches of the composed query begin and end on a word of n events."""
    S = events(" ".join(f"A@{t}" for t in range(n)))
    found = (m.result.attributes for m in matches_of(parse(EVEN), S, bindings) if m.result is not None)
    return {(result["start"], result["stop"]) for result in found}


# --- Lemma 4.2: the word problem of S5 --------------------------------------------------------------------------------

S5 = {"".join(p): p for p in permutations("12345")}


def _composed(left: str, right: str) -> str:
    """First left, then right."""
    return "".join(right["12345".index(left["12345".index(x)])] for x in "12345")


COMPOSITION: Operations = {
    "product": Operation("12345", str, _composed, lambda p: p),
    "image": Operation("12345", str, _composed, lambda p: int(p[0])),
}


@claim("sase07.lem4.2", "The word problem of S5 is a strict contiguity query with an aggregate", "lemma")
def _(effort: Effort) -> Finding:
    rng = Random(1)
    generators = ("21345", "23451", "13245")
    words = [w for n in range(1, 4 if effort == "quick" else 6) for w in product(generators, repeat=n)]
    words += [tuple(rng.choice(list(S5)) for _ in range(rng.randint(1, 6))) for _ in range(100)]
    op = COMPOSITION["product"]
    group = list(S5) if effort == "full" else rng.sample(list(S5), 20)
    associative = all(
        op.combine(op.combine(a, b), c) == op.combine(a, op.combine(b, c)) for a, b, c in product(group[:20], repeat=3)
    ) and all(op.combine("12345", a) == a == op.combine(a, "12345") for a in group)
    ok = associative and all(
        _recognizes("product(a[].p) = '12345'", w) == (_whole(w) == "12345")
        and _recognizes("image(a[].p) = 1", w) == (_whole(w)[0] == "1")
        for w in words
    )
    return Finding(
        "holds-corrected" if ok else "refuted",
        "exhaustive",
        f"{len(words)} words; composition is associative, with an identity",
        {
            "query": "SEQ(P+ a[]) WHERE strict_contiguity(a[]) { image(a[].p) = 1 }",
            "events": [{"type": "P", "p": "13245"}],
            "expected": "no match, as the product is not the identity",
            "got": "a match: v = 1 at its beginning and its end",
        },
        "the aggregate is the product itself, as π(v) is no associative operation on v; v = 1 says that 1 is fixed, "
        "which is the word problem where all products are the identity or move 1",
    )


def _whole(word: tuple[str, ...]) -> str:
    result = "12345"
    for p in word:
        result = _composed(result, p)
    return result


def _recognizes(condition: str, word: tuple[str, ...]) -> bool:
    A = compile_query(query(f"SEQ(P+ a[]) WHERE strict_contiguity(a[]) {{ {condition} }}"))
    return Runs(A, Stream(Event("P", {"p": p}) for p in word), operations=COMPOSITION).accepts()


# --- Lemma 4.4: reachability ------------------------------------------------------------------------------------------


Graph: TypeAlias = tuple[tuple[int, int], ...]


def path_query(strategy: str, n: int) -> sase.SaseQuery:
    """A path from 1 to n."""
    return query(
        f"SEQ(E+ a[]) WHERE {strategy}(a[]) {{ a[1].tail = 1 and a[i].tail = a[i-1].head and a[a.LEN].head = {n} }}"
    )


def edges(graph: Graph) -> Stream:
    """The edges, in the order in which they stand."""
    return Stream(Event("E", {"tail": i, "head": j}) for i, j in graph)


def ordered_graphs(n: int) -> Iterator[Graph]:
    """All graphs on 1 to n whose edges go upwards, each with its edges in the order of their tails."""
    pairs = list(combinations(range(1, n + 1), 2))
    return (chosen for k in range(len(pairs) + 1) for chosen in combinations(pairs, k))


def one_edge_each(n: int) -> Iterator[Graph]:
    """All of them with at most one edge from each vertex."""
    for heads in product(*([None, *range(i + 1, n + 1)] for i in range(1, n))):
        yield tuple((i, j) for i, j in enumerate(heads, 1) if j is not None)


def reaches(graph: Graph, n: int) -> bool:
    """Whether there is a path from 1 to n, as networkx finds it."""
    directed = nx.DiGraph(graph)
    directed.add_nodes_from((1, n))
    return bool(nx.has_path(directed, 1, n))


ORDER = (
    "the text has REACH_d for skip till any match too, where oREACH is meant; the edges come in the order of their "
    "tails: else a path may be there whose edges come too late"
)


def _reaches(
    id_: str, title: str, strategy: str, graphs: Callable[[int], Iterator[Graph]], sizes: tuple[int, int]
) -> None:
    @claim(id_, title, "lemma", ORDER)
    def check(effort: Effort) -> Finding:
        most = sizes[effort == "full"]
        looked_at = wrong = 0
        for n in range(2, most + 1):
            q = path_query(strategy, n)
            for graph in graphs(n):
                looked_at += 1
                wrong += bool(bindings(q, edges(graph))) != reaches(graph, n)
        needed = bindings(path_query(strategy, 3), edges(((2, 3), (1, 2))))
        return passed(not wrong and not needed, f"all graphs on up to {most} vertices ({looked_at:,})")


_reaches("sase07.lem4.4:oREACH", "oREACH by skip till any match", "skip_till_any_match", ordered_graphs, (4, 5))
_reaches("sase07.lem4.4:oREACH_d", "oREACH_d by skip till next match", "skip_till_next_match", one_edge_each, (5, 7))


@claim("sase07.lem4.4:any", "For oREACH skip till next match is not enough with this query", "lemma", ORDER)
def _(effort: Effort) -> Finding:
    graph = ((1, 2), (1, 4))
    found = [shown(bindings(path_query(s, 4), edges(graph))) for s in ("skip_till_next_match", "skip_till_any_match")]
    branching = ((1, 2), (2, 3), (2, 4))
    next_, any_ = (
        bindings(path_query(s, 4), edges(branching)) for s in ("skip_till_next_match", "skip_till_any_match")
    )
    return passed(not next_ and len(any_) == 1 and found[1] == ["1"], "the graph 1→2, 2→3, 2→4: 4 is reached by choice")


# --- Theorems 4.3 and 4.5: what a run without skip till any match has to remember -------------------------------------


def _named_by_proceeding(id_: str, title: str, strategies: tuple[str, ...], complete: str) -> None:
    @claim(id_, title, "theorem", "no program decides a complexity class; checked is the step on which the proof rests")
    def check(effort: Effort) -> Finding:
        rng, every = Random(7), 8 if effort == "quick" else 1
        texts = [text for n in (1, 2) for text in small.texts(n, False, False, ("",))]
        texts = [text for text in texts if text.split("WHERE ")[1].startswith(strategies)]
        runs = choices = 0
        for text in texts[::every]:
            made = list(Runs(compile_query(query(text)), small.by_chance(rng, 6)).all())
            runs += len(made)
            names = {(run.steps[0].at if run.steps else run.now.at, len(run.steps), _proceeded(run)) for run in made}
            choices = max(choices, max(len(_proceeded(run)) for run in made))
            if len(names) < len(made):
                return Finding("refuted", "exhaustive", "", {"query": text, "why": "two runs with one name"})
        bound = (
            f"{runs:,} runs of {len(texts[::every])} queries: where a run starts, and where it proceeds, at most "
            f"{choices} times, say which run it is; that there is a complete problem is {complete}"
        )
        return passed(choices > 0, bound)


def _proceeded(run: NfabRun) -> tuple[int, ...]:
    return tuple(step.at for step in run.steps if step.move == "proceed")


_named_by_proceeding(
    "sase07.thm4.3",
    "Strict and partition contiguity: within NC1, with complete problems",
    ("strict_contiguity", "partition_contiguity"),
    "Lemma 4.2",
)
_named_by_proceeding(
    "sase07.thm4.5",
    "Without skip till any match: within DSPACE[log n], with complete problems",
    ("strict_contiguity", "partition_contiguity", "skip_till_next_match"),
    "Lemma 4.4",
)
