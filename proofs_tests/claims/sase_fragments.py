"""Claims of sase07 about other languages as fragments of SASE+: sections 4 and 6."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from cerify.semantics.events import Stream
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.clauses import beyond_cayuga, beyond_sql_ts, strategies
from cerify.semantics.sase.denote import bindings
from cerify.semantics.sase.parse import parse
from cerify.semantics.sase.syntax import show
from proofs_tests.claims import broken
from proofs_tests.claims.ledger import Effort, Evidence, Finding, claim, open_claim, plant
from proofs_tests.claims.sase_search import passed
from proofs_tests.unit.semantics import sase_cases as small
from proofs_tests.unit.semantics.sase_cases import query

NO_DEFINITION = (
    "the text defines neither the language nor a translation; we check that the fragment is proper for simple "
    "queries, and nothing with UNION and composition"
)
open_claim(
    "sase07.sqlts",
    "SASE+ without negation, by strict or partition contiguity, has the power of the stream processing of SQL-TS with "
    "the same aggregates",
    "remark",
    NO_DEFINITION,
)
open_claim(
    "sase07.cayuga",
    "SASE+ without negation, by skip till next match, has the power of Cayuga with the same aggregates",
    "remark",
    f"{NO_DEFINITION}; section 6 and icde08 also include partition contiguity, with which simple queries "
    "express more (cayuga:sections)",
)

Fragment = Callable[[sase.SaseQuery], bool]
Beyond = Callable[[sase.Tree], list[str]]


def _next(q: sase.SaseQuery) -> bool:
    return strategies(q) == {"skip_till_next_match"} and not beyond_cayuga(q)


def _ends(q: sase.SaseQuery, S: Stream) -> frozenset[tuple[int, ...]]:
    """The events of each match; the names of the variables do not count."""
    return frozenset(tuple(p for _, positions in M for p in positions) for M in bindings(q, S))


def _saying_the_same(
    witness: str, candidates: Sequence[sase.SaseQuery], streams: Sequence[Stream]
) -> list[sase.SaseQuery]:
    """The candidates that have the matches of a query, on all of the streams."""
    q = query(witness)
    expected = [_ends(q, S) for S in streams]
    # streams with a match first: they tell most queries apart
    order = sorted(range(len(streams)), key=lambda n: -len(expected[n]))
    return [c for c in candidates if all(_ends(c, streams[n]) == expected[n] for n in order)]


def _candidates(fragment: Fragment, effort: Effort) -> list[sase.SaseQuery]:
    """All queries of the fragment to two components, each strategy for all, with equivalence tests and without."""
    every = 3 if effort == "quick" else 1
    texts = [text for n in (1, 2) for text in small.texts(n, False, False, ("",))][::every]
    tested = [text.replace("{ ", "{ [y] and ", 1).replace("and  }", "}") for text in texts if "[y]" not in text]
    return [q for text in (*texts, *tested) if fragment(q := query(text))]


def _sampled(effort: Effort) -> str:
    return ", every third of all" if effort == "quick" else ", all that there are"


SIMPLE = (
    "for simple queries to two components with one strategy, at most one condition besides the tests, and "
    "nothing underlined: underlining may turn partition contiguity into another strategy (thm4.3:underlined, "
    "thm4.5). A negation in front looks back to the start of the stream"
)


def _proper(id_: str, title: str, beyond: Beyond, negation: str, *strategies: str) -> None:
    @claim(id_, title, "remark", SIMPLE)
    def check(effort: Effort) -> Finding:
        candidates, streams = _candidates(lambda q: not beyond(q), effort), list(small.streams(4))
        witnesses = (negation, *strategies)
        outside = all(beyond(query(text)) for text in witnesses) and beyond(query(negation)) == ["~B b is negated"]
        found = [q for text in witnesses for q in _saying_the_same(text, candidates, streams)]
        inside = _saying_the_same(_INSIDE, [*candidates, query(_INSIDE)], streams)
        bound = (
            f"{len(witnesses)} queries outside, one of them only for its negation, "
            f"{negation.partition(' {')[0]}; {len(candidates)} inside{_sampled(effort)}, all streams of 4 events of 4 "
            "kinds"
        )
        return passed(outside and not found and bool(inside), bound, "random" if effort == "quick" else "exhaustive")


_INSIDE = "SEQ(A a) WHERE strict_contiguity(a) { }"
_NOT_BEFORE = "SEQ(~B b, A a) WHERE strict_contiguity(b, a) { }"  # between neighbours there is nothing to exclude
_NOT_BETWEEN = "SEQ(A a, ~B b, A c) WHERE skip_till_next_match(a, b, c) { }"
_ANY = "SEQ(A a, B b) WHERE skip_till_any_match(a, b) { }"
_NEXT = "SEQ(A a, B b) WHERE skip_till_next_match(a, b) { }"

_proper(
    "sase07.sqlts:proper",
    "The SQL-TS fragment of simple queries cannot express skip till next match, skip till any match or negation",
    beyond_sql_ts,
    *(_NOT_BEFORE, _NEXT, _ANY),
)
_proper(
    "sase07.cayuga:proper",
    "The Cayuga fragment of simple queries (section 6: partition contiguity or skip till next match) cannot "
    "express skip till any match or negation",
    beyond_cayuga,
    *(_NOT_BETWEEN, _ANY),
)


@claim(
    "sase07.cayuga:sections",
    "Without negation, simple queries with partition contiguity or skip till next match (section 6, on Cayuga) "
    "express more than those with skip till next match (section 4, on Cayuga)",
    "remark",
    "a statement of this book, not of the paper; simple queries to two components with one strategy and at "
    "most one condition besides the tests. Not checked: with UNION and composition a query with skip till next "
    "match may have these matches, and then both sections are right",
)
def _(effort: Effort) -> Finding:
    text = "SEQ(A a, A b) WHERE partition_contiguity(a, b) { [y] }"
    candidates, streams = _candidates(_next, effort), list(small.streams(4))
    same = _saying_the_same(text, candidates, streams)
    assert not beyond_cayuga(query(text)), "by section 6 it is in Cayuga"
    evidence: Evidence = "random" if effort == "quick" else "exhaustive"
    bound = f"{len(candidates)} queries by skip till next match{_sampled(effort)}, all streams of 4 events of 4 kinds: "
    if same:
        return Finding("refuted", evidence, f"{bound}{show(same[0])} has the matches of {text}")
    return Finding("holds", evidence, f"{bound}none has the matches of {text}")


def _as_strict(q: sase.SaseQuery) -> sase.SaseQuery:
    text = show(q).replace("~", "")
    for strategy in ("skip_till_any_match", "skip_till_next_match", "partition_contiguity"):
        text = text.replace(strategy, "strict_contiguity")
    q_ = parse(text)
    assert isinstance(q_, sase.SaseQuery)
    return q_


_STRATEGIES_ALIKE = "strategies are not told apart", sys.modules[__name__], "bindings", broken.argument(_as_strict)
plant("sase07.sqlts:proper sase07.cayuga:proper sase07.cayuga:sections", *_STRATEGIES_ALIKE)
