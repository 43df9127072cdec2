"""Claims of sase07 about expressibility: section 4."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, permutations, product
from random import Random
from typing import TypeAlias, cast

import networkx as nx

from cerify.automata.nfab.compile import compile_query
from cerify.automata.nfab.moves import NfabRun, Runs
from cerify.semantics.events import Bindings, Event, Stream
from cerify.semantics.readings import Operation, Operations
from cerify.semantics.sase import interpreter
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.denote import bindings
from cerify.semantics.sase.interpreter import matches_of
from cerify.semantics.sase.parse import parse
from cerify.semantics.sase.syntax import show
from proofs_tests.claims import broken
from proofs_tests.claims.ledger import Effort, Finding, claim, plant
from proofs_tests.claims.sase_regular import Composed, Parity, Regular, composed, reachable
from proofs_tests.claims.sase_search import passed
from proofs_tests.unit.semantics import sase_cases as small
from proofs_tests.unit.semantics.sase_cases import events, query, shown

# --- Theorem 4.1: without aggregation, the regular sets ---------------------------------------------------------------


@claim(
    "sase07.thm4.1:5-1",
    "Without aggregation, the automaton of a simple query recognizes a regular set",
    "theorem",
    "statement 5 is about the closure under composition and negation (see 5-1-closure). Events have finitely "
    "many kinds; there is no window, as times have infinitely many",
)
def _(effort: Effort) -> Finding:
    letters = tuple(events("A1/k A2/l B1/k"))
    length, every = (3, 9) if effort == "quick" else (5, 3)
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
    bound = f"{len(texts)} queries, a sample (one in {every}) of all {small.KINDS}, all words of 1 to {length} events; "
    bound += f"at most {largest} states"
    return passed(not wrong, bound, "random")


Step: TypeAlias = dict[tuple[int, str], int]
"""The steps of a deterministic finite automaton: total, over the letters A and B."""


def regular_query(step: Step, initial: int, final: Collection[int]) -> sase.Tree:
    """A query without aggregation, negation and times that recognizes what the automaton does.

    Each letter is read as tokens of finitely many values, by UNION: for each state first one that says "here", and
    behind all of these one that says where the letter leads. A token names the one that has to follow it. So the next
    token named is one of the same letter after "here", and else one of the letter after: skip till next match cannot
    leave a letter out, nor read one twice.
    """
    states = sorted({q for q, _ in step})
    n = len(states)
    # The results at one event come in the order of their text, whose attributes are sorted: `place` has to be the
    # first, and all places have to have as many digits.
    first = 10 ** len(str(2 * n))
    blocks = []
    for letter in sorted({letter for _, letter in step}):
        for q in states:
            to = step[q, letter]
            for place, successor, word in ((q, n + q, 0), (n + q, to, int(to in final))):
                blocks.append(
                    f"PATTERN SEQ({letter} x) RETURN token({first + place} AS place, {first + successor} AS "
                    f"successor, {word} AS word) IN STREAM tokens"
                )
    whole = (
        "FROM tokens PATTERN SEQ(token+ p[]) WHERE skip_till_next_match(p[]) "
        f"{{ p[1].place = {first + initial} and p[i].place = p[i-1].successor and p[p.LEN].word = 1 }}"
    )
    return parse(" UNION ".join(blocks) + "; " + whole)


def recognized(q: sase.Tree, tokens: int, word: Sequence[str]) -> bool:
    """Whether some match of q, which reads so many tokens for each letter, begins at the first letter and ends at the
    last."""
    found = matches_of(q, Stream(map(Event, word)), bindings)
    return any(m.events[0] < tokens and m.events[-1] >= tokens * (len(word) - 1) for m in found)


def _deterministic(states: int, letters: str) -> Iterator[tuple[Step, int, tuple[int, ...]]]:
    """All automata with so many states, from the first one."""
    places = [(q, letter) for q in range(states) for letter in letters]
    for targets in product(range(states), repeat=len(places)):
        for chosen in range(1, states + 1):
            for final in combinations(range(states), chosen):
                yield dict(zip(places, targets, strict=True)), 0, final


@claim(
    "sase07.thm4.1:1-2",
    "Every regular set is recognized by a query without aggregation and negation",
    "theorem",
    "queries with composition and UNION. A query recognizes a word if some match covers it from first to last "
    "letter. Values have finite domains, as Σ is their product; conditions do not use times; results at one "
    "event are ordered as text. Simple queries express less: a Kleene plus repeats single events",
)
def _(effort: Effort) -> Finding:
    length, families = (
        (2, ((1, "AB"), (2, "AB"), (2, "A"))) if effort == "quick" else (5, ((1, "AB"), (2, "AB"), (3, "A")))
    )
    looked_at = sets = 0
    for states, letters in families:
        for step, initial, final in _deterministic(states, letters):
            q = regular_query(step, initial, final)
            sets += 1
            for n in range(1, length + (3 if letters == "A" else 0) + 1):
                for word in product(letters, repeat=n):
                    looked_at += 1
                    state = initial
                    for letter in word:
                        state = step[state, letter]
                    if recognized(q, 2 * states, word) != (state in final):
                        return Finding("refuted", "exhaustive", f"{step}, final {final}, on {''.join(word)}")
    of = " and of ".join(f"{n} state{'s' * (n > 1)} over {x}" for n, x in families)
    bound = (
        f"the query of {sets} automata, all of {of} with a final state, on all "
        f"words of 1 to {length} letters, {length + 3} of one letter ({looked_at:,} cases); (aa)+ is one of the sets"
    )
    empty = recognized(regular_query({(0, "A"): 0}, 0, {0}), 2, "")
    counterexample = {
        "set": "the empty word alone",
        "expected": "a query that recognizes it",
        "got": "none: a match has an event",
    }
    correction = "for sets without the empty word"
    return Finding("holds" if empty else "holds-corrected", "exhaustive", bound, counterexample, correction)


plant(
    "sase07.thm4.1:1-2", "UNION has its first part only", interpreter, "blocks_of", lambda right: lambda q: right(q)[:1]
)


@claim(
    "sase07.thm4.1:times",
    "Theorem 4.1 holds for queries without times: with arithmetic on times, a query recognizes a set that is "
    "not regular",
    "remark",
    "a statement of this book, not of the paper; one second between two letters. Section 2.1 makes the "
    "timestamp an implicit attribute of events. The theorem does not say whether its alphabet includes "
    "timestamps; we read that it does not",
)
def _(effort: Effort) -> Finding:
    text = (
        "SEQ(A+ a[], B+ b[]) WHERE strict_contiguity(a[], b[]) "
        "{ b[b.LEN].time - a[a.LEN].time = a[a.LEN].time - a[1].time + 1 }"
    )
    most, wrong, words = 6 if effort == "quick" else 10, 0, 0
    for n in range(1, most + 1):
        for word in product("AB", repeat=n):
            words += 1
            S = events(" ".join(f"{letter}@{t}" for t, letter in enumerate(word)))
            whole = any(b[0][1][0] == 0 and b[-1][1][-1] == n - 1 for b in bindings(query(text), S))
            wrong += whole != ("".join(word) == "A" * (n // 2) + "B" * (n // 2))
    bound = f"one hand-made query, all {words:,} words of 1 to {most} letters A and B: it recognizes AⁿBⁿ, n ≥ 1, alone"
    return passed(not wrong, bound, "example")


@claim("sase07.sec4:more", "With aggregation, a strictly contiguous query can ask for more a's than b's", "remark")
def _(effort: Effort) -> Finding:
    most, wrong, words = 6 if effort == "quick" else 9, 0, 0
    q = query("SEQ(L+ a[]) WHERE strict_contiguity(a[]) { sum(a[].x) > 0 }")
    for word in (word for n in range(1, most + 1) for word in product((1, -1), repeat=n)):
        words += 1
        whole = any(len(m[0][1]) == len(word) for m in bindings(q, Stream(Event("L", {"x": x}) for x in word)))
        wrong += whole != (sum(word) > 0)
    bound = f"one hand-made query, all {words:,} words of 1 to {most} letters, a and b being 1 and -1: the whole word "
    bound += "is a match if it has more a's; any strategy finds this match"
    return passed(not wrong, bound, "example")


plant(
    "sase07.sec4:more",
    "letters are counted",
    sys.modules[__name__],
    "query",
    broken.argument(lambda text: text.replace("sum(a[].x)", "count(a[])")),
)

COMPOSED = (
    "PATTERN SEQ(A a, B b) WHERE skip_till_any_match(a, b) { } RETURN result(a.x AS x)",
    "PATTERN SEQ(A+ a[], B b) WHERE skip_till_any_match(a[], b) { } RETURN result(a[1].x AS x)",
    "PATTERN SEQ(A+ a[], B b) WHERE skip_till_next_match(a[], b) { a[i].x >= a[i-1].x } RETURN result(a[a.LEN].x AS x)",
)
AROUND = "SEQ(result+ p[], result q) WHERE strict_contiguity(p[], q) { p[1].x = 1 and p[i].x = 1 and q.x = 2 }"


def result_word(q: sase.SaseQuery, S: Stream) -> list[Event]:
    """The results of a query, those that end at one event in the order of their values."""
    made = ((max(at[-1] for _, at in m), interpreter.result(q, m, S)) for m in bindings(q, S))
    return [Event("result", cast("dict[str, int]", values)) for _, values in sorted(made, key=repr)]


@claim(
    "sase07.thm4.1:5-1-closure",
    "Without aggregation, composition and negation yield only regular sets",
    "theorem",
    "without NON-OVERLAP. The text defines words only for an automaton. A query maps a word to the word of its "
    "results, and orders results at one event by their values. Negation is the complement or a negated "
    "component. Events have finitely many kinds, and conditions do not use times",
)
def _(effort: Effort) -> Finding:
    letters, length, largest, words = tuple(events("A1 A2 B1")), 4 if effort == "quick" else 6, 0, 0
    around = compile_query(query(AROUND))
    for text, L in product(COMPOSED, (lambda results: Parity(), lambda results: Regular(around, results))):
        q = parse(text)
        assert isinstance(q, sase.SaseQuery)
        A = composed(Regular(compile_query(q), letters), q, L)
        largest = max(largest, len(reachable(A, len(letters))))
        for word in (word for n in range(length + 1) for word in product(range(len(letters)), repeat=n)):
            words += 1
            got, expected = A.initial(), A.L.initial()
            for letter in word:
                got = A.after(got, letter)
            for event in result_word(q, Stream(letters[x] for x in word)):
                expected = A.L.after(expected, A.results.index(event))
            if A.accepts(got) != A.L.accepts(expected):
                return Finding("refuted", "proof", f"{text} on {word}")
    bound = (
        f"docs/theory/expressiveness.md; its automata for the results of {len(COMPOSED)} queries, where the least "
        f"result comes an even number of times and where another query recognizes the results, of at most {largest} "
        f"states, on all words to {length} letters ({words:,} cases); only the proof covers negation"
    )
    return Finding("holds", "proof", bound)


# --- Lemma 4.2: the word problem of S5 --------------------------------------------------------------------------------

S5 = {"".join(p): p for p in permutations("12345")}


def _composed(left: str, right: str) -> str:
    """First left, then right."""
    return "".join(right["12345".index(left["12345".index(x)])] for x in "12345")


COMPOSITION: Operations = {
    "product": Operation("12345", str, _composed, lambda p: p),
    "image": Operation("12345", str, _composed, lambda p: int(p[0])),
}


@claim(
    "sase07.lem4.2",
    "The query of the proof, with the aggregate π(v) and v = 1 at both ends, expresses the word problem of S5",
    "construction",
    "the word problem asks whether the product is the identity. The condition of the proof asks whether it "
    "fixes 1. Both are complete for NC1, so either serves Theorem 4.3",
)
def _(effort: Effort) -> Finding:
    rng = Random(1)
    generators = ("21345", "23451", "13245")
    longest = 3 if effort == "quick" else 5
    words = [w for n in range(1, longest + 1) for w in product(generators, repeat=n)]
    words += [tuple(rng.choice(list(S5)) for _ in range(rng.randint(1, 6))) for _ in range(100)]
    op = COMPOSITION["product"]
    group = list(S5) if effort == "full" else rng.sample(list(S5), 20)
    associative = all(
        op.combine(op.combine(a, b), c) == op.combine(a, op.combine(b, c)) for a, b, c in product(group, repeat=3)
    ) and all(op.combine("12345", a) == a == op.combine(a, "12345") for a in group)
    ok = associative and all(
        _recognizes("product(a[].p) = '12345'", w) == (_whole(w) == "12345")
        and _recognizes("image(a[].p) = 1", w) == (_whole(w)[0] == "1")
        for w in words
    )
    return Finding(
        "holds-corrected" if ok else "refuted",
        "random",
        f"{len(words)} words: all products of one to {longest} of three generators, and 100 of one to 6 random "
        f"permutations (seed 1). Composition is associative, with an identity, on {len(group)} random ones of the "
        "120 permutations",
        {
            "query": "SEQ(P+ a[]) WHERE strict_contiguity(a[]) { image(a[].p) = 1 }",
            "events": [{"type": "P", "p": "13245"}],
            "expected": "no match, as the product is not the identity",
            "got": "a match: v = 1 at its beginning and its end",
        },
        "the aggregate is the product itself, which is associative; it is compared with the identity",
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
    "the edges come in the order of their tails: otherwise the edges of a path may come too late. Each n has "
    "its own query, which names n"
)


UPWARDS = "all graphs with upward edges"
ONE_EDGE = f"{UPWARDS}, at most one from each vertex,"


def _reaches(
    id_: str, title: str, strategy: str, graphs: Callable[[int], Iterator[Graph]], which: str, sizes: tuple[int, int]
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
        return passed(not wrong and not needed, f"{which} on 2 to {most} vertices ({looked_at:,})", "exhaustive")


_reaches(
    "sase07.lem4.4:oREACH", "oREACH by skip till any match", "skip_till_any_match", ordered_graphs, UPWARDS, (4, 5)
)
_reaches(
    "sase07.lem4.4:oREACH_d",
    "oREACH_d by skip till next match",
    "skip_till_next_match",
    one_edge_each,
    ONE_EDGE,
    (5, 7),
)


@claim(
    "sase07.thm4.3:underlined",
    "By partition contiguity with an underlined predicate, one query for each n recognizes oREACH_d on n "
    "vertices. Over all n, though not for a single query, this is complete for DSPACE[log n]",
    "remark",
    "a statement of this book, not of the paper: by section 2.2.1 any predicate may be underlined. One that "
    f"compares a[i] with a[i-1] turns partition contiguity into skip till next match; {ORDER}",
)
def _(effort: Effort) -> Finding:
    most, looked_at, wrong = 5 if effort == "quick" else 7, 0, 0
    compared = "a[i].tail = a[i-1].head"
    for n in range(2, most + 1):
        text = show(path_query("skip_till_next_match", n)).replace("skip_till_next_match", "partition_contiguity")
        assert compared in text, "the comparison of the query of Lemma 4.4"
        q = parse(text.replace(compared, f"_({compared})_"))
        assert isinstance(q, sase.SaseQuery)
        for graph in one_edge_each(n):
            looked_at += 1
            wrong += bool(bindings(q, edges(graph))) != reaches(graph, n)
    return passed(not wrong, f"{ONE_EDGE} on 2 to {most} vertices ({looked_at:,})", "exhaustive")


@claim("sase07.lem4.4:any", "With this query, skip till next match is not enough for oREACH", "lemma", ORDER)
def _(effort: Effort) -> Finding:
    graph = ((1, 2), (1, 4))
    found = [shown(bindings(path_query(s, 4), edges(graph))) for s in ("skip_till_next_match", "skip_till_any_match")]
    branching = ((1, 2), (2, 3), (2, 4))
    next_, any_ = (
        bindings(path_query(s, 4), edges(branching)) for s in ("skip_till_next_match", "skip_till_any_match")
    )
    return passed(
        not next_ and len(any_) == 1 and found[1] == ["1"], "the graph 1→2, 2→3, 2→4: 4 is reached by choice", "example"
    )


# --- Theorems 4.3 and 4.5: what a run without skip till any match has to remember -------------------------------------


UNDECIDED = "no program can check membership in a complexity class; covers simple queries only; this checks "


def _named_by_proceeding(id_: str, title: str, strategies: tuple[str, ...], complete: str, steps: str) -> None:
    @claim(id_, title, "theorem", f"{UNDECIDED}{steps}")
    def check(effort: Effort) -> Finding:
        rng, every = Random(7), 5 if effort == "quick" else 1
        texts = [text for n in (1, 2) for text in small.texts(n, False, False, ("",))]
        texts = [text for text in texts if text.split("WHERE ")[1].startswith(strategies)]
        runs = choices = 0
        for text in texts[::every]:
            S = small.by_chance(rng, 6)
            if "partition" in text and bindings(query(text), S) != _of_parts(text, S):
                return Finding("refuted", "random", "", {"query": text, "why": "events outside a partition count"})
            made = list(Runs(compile_query(query(text)), S).all())
            runs += len(made)
            names = {(run.steps[0].at if run.steps else run.now.at, len(run.steps), _proceeded(run)) for run in made}
            choices = max(choices, max(len(_proceeded(run)) for run in made))
            if len(names) < len(made):
                return Finding("refuted", "exhaustive", "", {"query": text, "why": "two runs with one name"})
        bound = (
            f"{runs:,} runs of {len(texts[::every])} queries, a sample (one in {every}) of all with these strategies "
            f"{small.KINDS}, on random streams of 6 events (seed 7): a run is determined by its start, its number of "
            f"steps and the at most {choices} places where it proceeds. {complete} gives the complete problem"
        )
        return passed(choices > 0, bound, "random")


def _of_parts(text: str, S: Stream) -> set[Bindings]:
    """The matches by strict contiguity on the events of each y alone, at their places in the whole stream."""
    strict, found = query(text.replace("partition_contiguity", "strict_contiguity")), set[Bindings]()
    for y in {event.get("y") for event in S}:
        places = [p for p, event in enumerate(S) if event.get("y") == y]
        for m in bindings(strict, Stream(S[p] for p in places)):
            found.add(tuple((variable, tuple(places[p] for p in at)) for variable, at in m))
    return found


def _proceeded(run: NfabRun) -> tuple[int, ...]:
    return tuple(step.at for step in run.steps if step.move == "proceed")


_named_by_proceeding(
    "sase07.thm4.3",
    "Strict and partition contiguity: within NC1, with complete problems",
    ("strict_contiguity", "partition_contiguity"),
    "Lemma 4.2",
    "one step of its proof and the step of Theorem 4.5. The step: events outside a partition can be omitted, "
    "where the text inserts the identity. Partitions are those of equivalence tests, which the first event "
    "fixes. Queries with an underlined predicate (section 2.2.1) express more (thm4.3:underlined); not "
    "checked: whether they are within NC1",
)
_named_by_proceeding(
    "sase07.thm4.5",
    "Without skip till any match: within DSPACE[log n], with complete problems",
    ("strict_contiguity", "partition_contiguity", "skip_till_next_match"),
    "Lemma 4.4",
    "the step on which the proof rests. Partitions are those of equivalence tests. With underlined predicates "
    "that no event satisfies, partition contiguity is skip till any match by Table 1, which skips the events "
    "that fail them, but not by the words of section 2.2.1. Numbers have O(log n) bits: larger ones do not fit "
    "into that space in running aggregates",
)


plant(
    "sase07.thm4.1:5-1",
    "of a series the first letter alone is kept",
    Regular,
    "_memory",
    lambda right: lambda self, now, word: (now.state, tuple((v, (word[ps[0]],)) for v, ps in now.buffer)),
)
plant(
    "sase07.thm4.1:5-1-closure",
    "that a result comes more than once is not told",
    Composed,
    "least",
    broken.result(lambda n: min(n, 1)),
)
plant(
    "sase07.thm4.1:times",
    "all events have one time",
    sys.modules[__name__],
    "events",
    broken.argument(lambda text: re.sub("@[0-9]+", "@0", text)),
)
plant(
    "sase07.lem4.2",
    "what comes last is composed first",
    sys.modules[__name__],
    "COMPOSITION",
    lambda right: {name: replace(op, combine=lambda p, q: _composed(q, p)) for name, op in right.items()},
)
plant(
    "sase07.lem4.4:oREACH sase07.lem4.4:oREACH_d sase07.lem4.4:any",
    "an edge need not begin where the one before ends",
    sys.modules[__name__],
    "query",
    broken.argument(lambda text: text.replace(" and a[i].tail = a[i-1].head", "")),
)
plant(
    "sase07.thm4.3:underlined",
    "underlining is not read",
    sys.modules[__name__],
    "parse",
    broken.argument(lambda text: text.replace("_(", "").replace(")_", "")),
)
plant(
    "sase07.thm4.3 sase07.thm4.5",
    "where a run proceeds is not told",
    sys.modules[__name__],
    "_proceeded",
    broken.always(()),
)
