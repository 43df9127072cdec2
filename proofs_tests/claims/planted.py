"""Errors that need a construction of their own: parts of compilers and evaluators, each broken in one place.

Shorter ones stand beside the checks that find them. `cerify claims --planted` plants them all, one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from cerify.automata.cea import compile as cea_compile
from cerify.automata.cea import model as cea_product
from cerify.automata.cea.model import CEA, MARKED
from cerify.automata.evaluate.ces import BOTTOM, NodeList
from cerify.equivalence.rewrite import normal_forms
from cerify.equivalence.rewrite.normal_forms import with_children
from cerify.semantics.cel import syntax as cel
from cerify.semantics.core_cel import syntax as core
from proofs_tests.claims import cep17_evaluation, printed_cep17, printed_tods21, printed_vldb92, tods21_expressible
from proofs_tests.claims.cep17_evaluation import Cep17Last, Cep17Next, Cep17Strict, Maximal, NodeLists
from proofs_tests.claims.ledger import plant
from proofs_tests.claims.printed_tods21 import Rewriting


def _two_rounds_at_most(A: CEA) -> CEA:
    right = _CONTIGUOUS_ITERATE(A)
    return replace(
        right, transitions=tuple(t for t in right.transitions if t.source != t.target or t.source < A.states)
    )


def _skipping_bridge(A: CEA, B: CEA) -> CEA:
    right = _SEQUENCE(A, B)
    return replace(right, final=right.final | A.final)


def _entered_unmarked(A: CEA, B: CEA) -> CEA:
    right, meeting = _CONTIGUOUS_SEQUENCE(A, B), A.states + B.states
    silent = tuple(t._replace(target=meeting) for t in A.transitions if not t.marks and t.target not in A.final)
    return replace(right, transitions=(*right.transitions, *silent))


def _judged_without_ties(A: CEA, algebra: Any) -> CEA:
    def step(monitor: Any, marked: bool, delta: Any) -> Any:
        ties, winners, _ = monitor
        won = delta(winners, True)
        return delta(ties, marked), won if marked else won | delta(ties, True), frozenset()

    return cea_compile._dominated(A, step, algebra)


def _losers_forgotten(A: CEA, algebra: Any) -> CEA:
    def step(monitor: Any, marked: bool, delta: Any) -> Any:
        ties, winners, _ = monitor
        if marked:
            return delta(ties, True), delta(winners, True), frozenset()
        return delta(ties, False), delta(winners | ties, True) | delta(winners, False), frozenset()

    return cea_compile._dominated(A, step, algebra)


def _winners_must_mark(A: CEA, algebra: Any) -> CEA:
    def step(monitor: Any, marked: bool, delta: Any) -> Any:
        ties, winners, _ = monitor
        if marked:
            return delta(ties, True), delta(winners, True), frozenset()
        return delta(ties, False), delta(winners | ties, True), frozenset()

    return cea_compile._dominated(A, step, algebra)


def _also_before_and_after(A: CEA) -> CEA:
    n, right = A.states, _STRICT(A)
    back = [t._replace(source=2 * n + t.source, target=n + t.target) for t in A.transitions if t.marks]
    return replace(right, transitions=(*right.transitions, *back))


def _resting_early(A: CEA) -> CEA:
    right = _WITH_RESTS(A)
    return replace(right, transitions=tuple(t for t in right.transitions if t.source != t.target or t.marks))


def _only_from_the_start(A: CEA) -> CEA:
    right = _ANYWHERE(A)
    return replace(
        right, transitions=tuple(t for t in right.transitions if t.source != t.target or t.target in right.final)
    )


def _no_third_way(ij: cel.Formula, ik: cel.Formula, kk: cel.Formula, kj: cel.Formula) -> cel.Formula:
    return cel.Or(ij, cel.Seq(ik, kj))


def _one_round(self: Rewriting, left: cel.Formula, right: cel.Formula) -> cel.Formula:
    match left:
        case cel.Plus(rho):
            return self.joined(rho, right)
        case _:
            return _JOINED(self, left, right)


def _gaps_in_sequences(phi: cel.Formula) -> cel.Formula:
    match phi:
        case cel.Seq(left, right):
            return cel.Seq(_CONTIGUOUS(left), _CONTIGUOUS(right))
        case _:
            return _CONTIGUOUS(phi)


def _two_rounds(left: cel.Formula, right: cel.Formula) -> cel.Formula:
    return cel.Seq(left, cel.Or(right, cel.Seq(cel.ContiguousSeq(right, left), right)))


def _undefined(phi: core.Formula, body: core.Formula) -> core.Formula:
    return with_children(phi, [body])


def _final_sink_forgotten(A: CEA) -> CEA:
    right = _COMPLEMENT(A)
    return replace(right, final=right.final - {0})


def _last_part_cut(F: Any, E: Any, h: Any, of: Any, as_printed: bool) -> Any:
    return _BETWEEN(F, E, h[:-1], of, as_printed)


def _sink_first(self: Cep17Strict, type_: int) -> dict[int, NodeList]:
    T_ = _STRICT_UPDATED(self, type_)
    if self.unmarked is not None and T_[self.unmarked][0] != BOTTOM:
        first, last = T_[self.unmarked]
        self.D.append(BOTTOM, first)
        T_[self.unmarked] = BOTTOM, last
    return T_


def _supersets_come_later(self: Maximal, state: tuple[int, int], type_: int, marked: bool) -> tuple[int, int] | None:
    (T, U), A = state, self.A
    U_ = A(U, type_, True) | (0 if marked else A(U, type_, False))
    T_ = A(T, type_, marked) & ~U_
    return (T_, U_) if T_ else None


def _added_below(self: NodeLists, position: int, children: NodeList, nodes: NodeList | None) -> NodeList:
    n = self.extend(position, MARKED, children)
    if nodes is None:
        return n, n
    self.append(nodes[1], n)
    return nodes[0], n


def _all_of_the_list(self: NodeLists, nodes: NodeList, position: int) -> Iterator[int]:
    node, last = nodes
    while True:
        if node != BOTTOM:
            yield node
        if node == last:
            return
        node = self.next[node]


def _back_one_by_one(D: NodeLists, root: int) -> Iterator[int]:
    """EnumAll* with a stack on which all nodes are black."""
    stack = cep17_evaluation.BlackWhiteStack()
    done = -1, -1
    stack.push(root)
    yield D.event[root]
    left = D.first[root], D.last[root]
    while True:
        node, last = left
        stack.blacken(done if node == last else (D.next[node], last))
        if node != BOTTOM:
            stack.push(node)
            yield D.event[node]
            left = D.first[node], D.last[node]
            continue
        yield cep17_evaluation.END
        left = done
        while left == done:
            if not stack.black:
                return
            left = stack.pop_white()
        yield from stack.recap(D)


def _supersets_without_marks(state: Any, delta: Any) -> Iterator[Any]:
    for m, (T_, U_) in _MAX_STEPS(state, delta):
        yield m, (T_, U_ | delta(state[1], frozenset()) if m else U_)


def _supersets_forgotten(state: Any, delta: Any) -> Iterator[Any]:
    for m, (T_, U_) in _MAX_STEPS(state, delta):
        yield m, (T_, U_ if m else U_ - delta(state[1], MARKED))


_STRICT_UPDATED = Cep17Strict._updated
_MAX_STEPS = printed_cep17.max_steps
_CONTIGUOUS_ITERATE = cea_compile._contiguous_iterate
_SEQUENCE = cea_compile._sequence
_CONTIGUOUS_SEQUENCE = cea_compile._contiguous_sequence
_STRICT = cea_compile.strict
_WITH_RESTS = cea_product._with_rests
_ANYWHERE = cea_product._anywhere
_JOINED = Rewriting.joined
_CONTIGUOUS = printed_tods21.contiguous
_COMPLEMENT = printed_cep17.complement
_BETWEEN = printed_vldb92.between

plant(
    "tods21.thm6.2:cplus",
    "no round of one event",
    cea_compile,
    "_contiguous_iterate",
    lambda right: _two_rounds_at_most,
)
plant("tods21.thm6.2:seq", "the left side alone is enough", cea_compile, "_sequence", lambda right: _skipping_bridge)
plant("tods21.thm6.2:plus", "one round only", cea_compile, "_iterate", lambda right: lambda A: A)
plant("tods21.thm6.2:cseq", "met without a mark", cea_compile, "_contiguous_sequence", lambda right: _entered_unmarked)
plant("tods21.thm6.2:project", "what is left out is kept", cea_compile, "_project", lambda right: lambda A, L: A)
plant("tods21.thm6.2:start", "not anchored", cea_compile, "_anchor", lambda right: lambda A: A)
plant("tods21.thm6.2:all", "nobody may wait or rest", cea_product, "_with_rests", lambda right: _resting_early)
plant("tods21.thm6.2:unless", "looks from the start only", cea_product, "_anywhere", lambda right: _only_from_the_start)
plant("tods21.thm7.2:strict", "may begin again", cea_compile, "strict", lambda right: _also_before_and_after)
plant("tods21.thm7.2:nxt", "winners must go on marking", cea_compile, "next_", lambda right: _judged_without_ties)
plant("tods21.thm7.2:last", "losers cannot win later", cea_compile, "last", lambda right: _losers_forgotten)
plant("tods21.thm7.2:max", "supersets must go on marking", cea_compile, "max_", lambda right: _winners_must_mark)
plant(
    "tods21.thm8.9:to-cel", "no way by k twice", tods21_expressible, "star_step_iterated", lambda right: _no_third_way
)
plant("tods21.prop8.12:containment", "one round before `:`", Rewriting, "joined", lambda right: _one_round)
plant("tods21.prop8.13", "gaps in sequences", printed_tods21, "contiguous", lambda right: _gaps_in_sequences)
plant("tods21.prop8.15", "two rounds at most", printed_tods21, "_iterated_sequence", lambda right: _two_rounds)
plant("cep17.thm1", "a definition goes with its disjunct", normal_forms, "replace_body", lambda right: _undefined)
plant(
    "cep17.prop1:complement",
    "what A cannot read is lost",
    printed_cep17,
    "complement",
    lambda right: _final_sink_forgotten,
)
plant("cep17.alg1", "a new node below the old ones", NodeLists, "add", lambda right: _added_below)
plant("cep17.alg4", "nodes of other positions too", NodeLists, "top", lambda right: _all_of_the_list)
plant("cep17.alg5", "the order of LAST", Cep17Next, "order", lambda right: Cep17Last.order)
plant("cep17.alg6", "the order of NXT", Cep17Last, "order", lambda right: Cep17Next.order)
plant("cep17.alg7", "no new larger ones", Maximal, "step", lambda right: _supersets_come_later)
plant("cep17.alg8", "the sink on top", Cep17Strict, "_updated", lambda right: _sink_first)
plant("cep17.enum*", "back one by one", cep17_evaluation, "enum_all", lambda right: _back_one_by_one)
plant(
    "cep17.appC.3:max cep17.lemC.16",
    "what was larger is forgotten",
    printed_cep17,
    "max_steps",
    lambda right: _supersets_forgotten,
)
plant("cep17.lemC.18", "larger ones need not mark", printed_cep17, "max_steps", lambda right: _supersets_without_marks)
plant("vldb92.derived:k", "the last event is cut off", printed_vldb92, "between", lambda right: _last_part_cut)
