"""What skip till next match comes to, without may_stop and must_stop: the five sentences of docs/decisions/sase.md."""

from collections.abc import Iterator
from random import Random

import pytest

from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Bindings
from cerify.semantics.sase import clauses
from cerify.semantics.sase.denote import Chosen, SaseDefinition, bindings
from proofs_tests.support import sampled
from proofs_tests.unit.semantics.sase import small
from proofs_tests.unit.semantics.sase.streams import events, query, shown


def closed_form(D: SaseDefinition) -> set[Bindings]:
    """The matches under skip_till_next_match, by sentences 1 to 5; only what is relevant is asked of the definition."""
    return {D.bindings(chosen) for p in range(len(D.S)) if D.selects((), 0, p) for chosen in _ends(D, ((0, p),))}


def _ends(D: SaseDefinition, chosen: Chosen) -> Iterator[Chosen]:
    k = chosen[-1][0]
    last_component = k == len(D.pattern) - 1
    if not D.pattern[k].kleene:
        if last_component:
            yield chosen
        elif (p := _first(D, chosen, k + 1)) is not None:  # sentence 1
            yield from _ends(D, (*chosen, (k + 1, p)))
        return
    ended, cut = D.is_ended(chosen), clauses.is_cut(D.q, D.pattern[k].variable)
    again = _first(D, chosen, k)  # sentence 2
    while_open = range(chosen[-1][1] + 1, len(D.S) if again is None or again >= _over(D, chosen) else again + 1)
    if D.ends(k):
        if ended and last_component:
            yield chosen
        elif ended:
            starts = [chosen[-1][1] + 1] if cut else while_open
            for b in {_first(D, chosen, k + 1, t) for t in starts} - {None}:  # sentence 5
                yield from _ends(D, (*chosen, (k + 1, b)))  # type: ignore[arg-type]
        if ended and cut:
            return
    elif last_component:
        if again is None or cut:
            yield chosen
            return
    else:
        relevant = [b for b in while_open if D.selects(chosen, k + 1, b)]
        for b in relevant[: 1 if cut else None]:  # sentences 3 and 4
            yield from _ends(D, (*chosen, (k + 1, b)))
        if relevant and cut:
            return
    if again is not None:
        yield from _ends(D, (*chosen, (k, again)))


def _first(D: SaseDefinition, chosen: Chosen, k: int, start: int = 0) -> int | None:
    """The first event, from a position on, that is relevant to component k."""
    return next((p for p in range(max(start, chosen[-1][1] + 1), len(D.S)) if D.selects(chosen, k, p)), None)


def _over(D: SaseDefinition, chosen: Chosen) -> int:
    """Where the window of what is selected is over."""
    return next((p for p in range(len(D.S)) if D.spans(chosen[0][1], p) is False), len(D.S))


@pytest.mark.parametrize("step", sampled([3, 1], [3]))
def test_the_five_sentences_on_all_queries_of_two_components(step: int) -> None:
    rng, several = Random(3), 0
    for text in small.texts(2, mixed=False, negated=False, windows=("", "WITHIN 3 seconds"), step=step):
        if "skip_till_next_match" in text:
            q, S = query(text), small.by_chance(rng, 8)
            D = SaseDefinition(q, S)
            expected = set(D.matches())
            several += len({M[0][1][0] for M in expected}) < len(expected)
            assert shown(closed_form(D)) == shown(expected), text
    assert several > 50 / step


def test_one_start_has_one_match_where_every_kleene_plus_is_cut() -> None:
    rng, found = Random(4), 0
    for text in small.texts(2, mixed=False, negated=False, windows=("",)):
        if "skip_till_next_match" in text and text.count("!") == text.count("+"):
            matches = bindings(query(text), small.by_chance(rng, 8))
            found += len(matches)
            assert len({M[0][1][0] for M in matches}) == len(matches), text
    assert found > 100


def test_exponentially_many_matches_end_in_the_budget() -> None:
    q = query("SEQ(A+ a[]) WHERE skip_till_any_match(a[]) { }")
    with pytest.raises(BudgetExceeded, match="shorter stream"):
        bindings(q, events("A " * 30), budget=Budget(valuations=1_000))
    with pytest.raises(BudgetExceeded, match="100 matches"):
        bindings(q, events("A " * 30), budget=Budget(matches=100))


def chains(D: SaseDefinition) -> set[Bindings]:
    """All sequences of events each of which is relevant after those before it, the end conditions holding."""
    found, pending = set(), [((0, p),) for p in range(len(D.S)) if D.selects((), 0, p)]
    while pending:
        chosen: Chosen = pending.pop()
        k, last = chosen[-1]
        ended = not D.pattern[k].kleene or D.is_ended(chosen)
        if ended and k == len(D.pattern) - 1:
            found.add(D.bindings(chosen))
        for j in [k] * D.pattern[k].kleene + [k + 1] * (ended and k + 1 < len(D.pattern)):
            pending.extend((*chosen, (j, p)) for p in range(last + 1, len(D.S)) if D.selects(chosen, j, p))
    return found


def is_interval(M: Bindings) -> bool:
    positions = [p for _, ps in M for p in ps]
    return positions[-1] - positions[0] == len(positions) - 1


@pytest.mark.parametrize("step", sampled([3, 1], [3]))
def test_skip_till_any_match_has_all_chains_and_strict_contiguity_those_that_are_intervals(step: int) -> None:
    rng, found = Random(6), 0
    for text in small.texts(2, mixed=False, negated=False, windows=("", "WITHIN 3 seconds"), step=step):
        if "skip_till_any_match" in text and "!" not in text:
            S = small.by_chance(rng, 6)
            D = SaseDefinition(query(text), S)
            everything = chains(D)
            assert shown(set(D.matches())) == shown(everything), text
            strict = bindings(query(text.replace("skip_till_any_match", "strict_contiguity")), S)
            if D.pattern[-1].kleene and not D.ends(1):  # the longest ones only
                assert strict <= {M for M in everything if is_interval(M)}, text
            else:
                assert strict == {M for M in everything if is_interval(M)}, text
                found += len(strict)
    assert found > 100 / step
