"""Claims of sase07 about the space that a query needs: what is kept of a run, counted."""

from __future__ import annotations

import sys
from itertools import combinations
from math import log2

from cerify.automata.nfab.compile import compile_query
from cerify.automata.nfab.moves import NfabConfiguration, Runs
from cerify.semantics.events import Event, Stream
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.denote import bindings
from proofs_tests.claims import broken
from proofs_tests.claims.ledger import Effort, Finding, claim, open_claim, plant
from proofs_tests.claims.measure import exponent
from proofs_tests.claims.sase_power import UPWARDS, edges, ordered_graphs, path_query, reaches
from proofs_tests.unit.semantics.sase_cases import query

SUBSET_SUM = "SEQ(A+ a[]) WHERE skip_till_any_match(a[]) {{ sum(a[].x) = {} }}"


def kept(q: sase.SaseQuery, S: Stream) -> tuple[bool, int]:
    """Whether q has a match, and the most configurations after an event, of which each keeps, beside the state, the
    first and the last position of a variable: without aggregates no condition looks at more."""
    runs = Runs(compile_query(q), S)
    now: set[NfabConfiguration] = set()
    most, accepted = 0, False
    for p in range(len(S) + 1):
        pending, following = [*now, NfabConfiguration(runs.A.initial, p)], set[NfabConfiguration]()
        while pending:
            for step, then in runs.moves(pending.pop()):
                accepted = accepted or then.state == runs.A.final
                if step.move == "proceed":
                    pending.append(then)
                else:
                    ends = tuple((v, (ps[0], ps[-1]) if len(ps) > 1 else ps) for v, ps in then.buffer)
                    following.add(NfabConfiguration(then.state, then.at, ends))
        now = following
        most = max(most, len(now))
    return accepted, most


@claim(
    "sase07.thm4.6",
    "Simple queries of all of SASE+: within NSPACE[log n], with complete problems",
    "theorem",
    "no program can check membership in a complexity class; this counts the memory of a run for oREACH, a "
    "complete problem (Lemma 4.4). A query with an aggregate also stores its value, so numbers have O(log n) "
    "bits: with longer ones, SEQ(A+ a[]) with a sum expresses subset sum, which is NP-complete. For composed "
    "queries see thm4.6:composed",
)
def _(effort: Effort) -> Finding:
    most = 4 if effort == "quick" else 5
    graphs = [(n, graph) for n in range(2, most + 1) for graph in ordered_graphs(n)]
    wrong = sum(kept(path_query("skip_till_any_match", n), edges(graph))[0] != reaches(graph, n) for n, graph in graphs)
    lengths = (2, 20, 200) if effort == "quick" else (4, 40, 400)
    sizes = []
    for n in lengths:
        path = tuple((i, i + 1) for i in range(1, n + 1))
        accepted, size = kept(path_query("skip_till_any_match", n + 1), edges(path))
        wrong += not accepted
        sizes.append(size)
    numbers = (1, 2, 5, 9)
    sums = {sum(some) for k in range(1, 5) for some in combinations(numbers, k)}
    S = Stream(Event("A", {"x": x}) for x in numbers)
    for c in range(1, sum(numbers) + 2):
        wrong += bool(bindings(query(SUBSET_SUM.format(c)), S)) != (c in sums)
    slope = exponent(lengths, sizes)
    bits = [f"{1 + 2 * log2(n + 1):.0f}" for n in lengths]
    bound = (
        f"{UPWARDS} on 2 to {most} vertices ({len(graphs)}); paths of {', '.join(map(str, lengths))} edges: at most "
        f"{', '.join(map(str, sizes))} configurations, exponent {slope:.2f}, of about {', '.join(bits)} bits each; "
        f"the sums of some of {', '.join(map(str, numbers))} are recognized"
    )
    return Finding("holds" if not wrong and slope < 2.1 else "refuted", "measured", bound)


open_claim(
    "sase07.thm4.6:composed",
    "Composed queries of all of SASE+: within NSPACE[log n], which the proof calls obvious",
    "theorem",
    "by skip till any match a query returns an event for each path of a graph. A query that reads these events "
    "by strict contiguity can test whether their number is even, by pairs or by an aggregate. This problem is "
    "complete for ⊕L, which is not known to be within NSPACE[log n]",
)


plant(
    "sase07.thm4.6",
    "skip till next match in place of any",
    sys.modules[__name__],
    "path_query",
    broken.argument(lambda strategy: "skip_till_next_match"),
)
