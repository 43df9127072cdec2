"""Explain CEL matches: why a set of positions is a match or not, or why each match of a stream is one.

A match is explained by its derivation by the clauses of the definition; a set of positions that is not a match, by the
smallest changes that would make it one (`cel_rejection.py`). Both ask the interpreter for the truth, so an explanation
cannot contradict the semantics. The last part warns about PARTITION BY across keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TypeAlias

from cerify.automata.evaluate.evaluation_plan import evaluation_plan
from cerify.automata.evaluate.streaming import evaluate_plan
from cerify.automata.evaluator import Output
from cerify.draw.timeline import Row
from cerify.explanations.cel_rejection import (
    ANY,
    BoundedOracle,
    Derivation,
    Reason,
    Rejection,
    derivations,
    oracle_for,
    ordered,
    reject,
    reject_binding,
    supports,
)
from cerify.explanations.explanation import (
    Drawing,
    Explainer,
    ExplanationPart,
    ExplanationStep,
    ExplanationView,
    Json,
    Listing,
    Request,
    bindings_text,
    braces,
    json_of_nearest,
    json_of_tree,
    listing,
    nearest,
    numbered,
    tree_of,
)
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.check import AcrossKeys, advice
from cerify.semantics.cel.denote import NO_PREDICATES, Predicates, same_key, sup
from cerify.semantics.cel.syntax import OPERATORS, Formula, show
from cerify.semantics.errors import BudgetExceeded, InputError, Unsupported
from cerify.semantics.events import ComplexEvent, Stream, Valuation, bindings_of
from cerify.semantics.predicates import Problem, show_value
from cerify.terminal import picked


@dataclass(frozen=True)
class MatchExplanation:
    """The answer that the positions are a match at position `at`, with up to the requested number of derivations.

    With a valuation, these are the derivations of that valuation only. more: whether there are more derivations.
    """

    events: ComplexEvent
    at: int
    derivations: tuple[Derivation, ...]
    more: bool
    valuation: Valuation | None = None


@dataclass(frozen=True)
class Rejected:
    """The answer that the positions are not a match at `at`, or not with the given valuation.

    rejection: the reasons, and the nearest matches.
    """

    events: ComplexEvent
    at: int
    rejection: Rejection
    valuation: Valuation | None = None


Explanation: TypeAlias = MatchExplanation | Rejected


def explain(
    phi: cel.Formula,
    S: Stream,
    events: ComplexEvent,
    at: int,
    *,
    valuation: Valuation | None = None,
    count: int = 1,
    predicates: Predicates = NO_PREDICATES,
) -> Explanation:
    """Explain why the positions are a complex event of phi at a position of S, or why they are not.

    With a valuation, which must have these positions, only that valuation is explained. Raises InputError,
    BudgetExceeded, Unsupported.
    """
    if valuation is not None and sup(valuation) != events:
        raise InputError(
            f"the valuation binds the positions {braces(sup(valuation))}, but the match has {braces(events)}; give the "
            "same positions, or leave one of the two out"
        )
    if not 0 <= at < len(S):
        raise InputError(f"position {at} is not on the stream, which has {_extent(S)}")
    if beyond := sorted(p for p in events if not 0 <= p < len(S)):
        raise InputError(f"position {beyond[0]} is not on the stream, which has {_extent(S)}")
    S = S.part(0, max(events | {at}) + 1)  # the meaning at a position does not depend on later events
    oracle = oracle_for(phi, events, S, predicates)
    mus = ordered(mu for mu in oracle.meaning(phi, 0, at) if sup(mu) == events)
    if not mus:
        return Rejected(events, at, reject(phi, events, at, S, predicates), valuation)
    if valuation is None:
        return _derived(phi, events, at, mus, oracle, count)
    if valuation not in mus:
        return Rejected(events, at, reject_binding(phi, valuation, mus, at), valuation)
    return replace(_derived(phi, events, at, [valuation], oracle, count), valuation=valuation)


def explain_stream(
    phi: cel.Formula,
    S: Stream,
    first: int = 0,
    last: int | None = None,
    *,
    output: Output = "matches",
    predicates: Predicates = NO_PREDICATES,
) -> Iterator[MatchExplanation]:
    """Yield an explanation of every match at positions from first to last (both inclusive), lazily and in order.

    With output="valuations" each valuation of a match is explained. Raises BudgetExceeded, Unsupported.
    """
    last = len(S) - 1 if last is None else last
    oracle = BoundedOracle(S.part(0, last + 1), predicates=predicates)
    for n in range(first, last + 1):
        for C in supports(phi, 0, n, oracle):
            mus = ordered(mu for mu in oracle.meaning(phi, 0, n) if sup(mu) == C)
            if output == "matches":
                yield _derived(phi, C, n, mus, oracle, 1)
            else:
                yield from (replace(_derived(phi, C, n, [mu], oracle, 1), valuation=mu) for mu in mus)


def as_json(explanation: Explanation, phi: cel.Formula) -> Json:
    """Return an explanation as one JSON object; intervals are [i, j], both inclusive."""
    head: Json = {"query": show(phi), "events": sorted(explanation.events), "at": explanation.at}
    if explanation.valuation is not None:
        head["valuation"] = _bindings(explanation.valuation)
    match explanation:
        case MatchExplanation(derivations=found, more=more):
            return {
                **head,
                "match": True,
                "derivations": [json_of_tree(steps_of(node)) for node in found],
                "more": more,
            }
        case Rejected(events, _, rejection):
            return {
                **head,
                **({"nearest_valuations": list(map(_bindings, rejection.bindings))} if rejection.bindings else {}),
                "match": False,
                "reasons": [_reason(reason) for reason in rejection.reasons],
                "relaxed": relaxed_text(rejection),
                "nearest": None if rejection.nearest is None else json_of_nearest(rejection.nearest, events),
                "gave_up": rejection.gave_up,
            }


def relaxed_text(rejection: Rejection) -> str | None:
    """Return the text of the relaxed formula of which the positions are a match.

    Return None if there is no such formula, or if it cannot be written as text.
    """
    if rejection.relaxed is None:
        return None
    parts = cel.subformulas(rejection.relaxed.formula)
    wild = any(
        (isinstance(part, cel.EventAtom) and part.type == ANY) or (isinstance(part, cel.In) and part.variable == ANY)
        for part in parts
    )
    return None if wild else show(rejection.relaxed.formula)


def summary(explanation: Explanation) -> str:
    """Return a sentence that says whether the positions are a match."""
    C, mu = explanation.events, explanation.valuation
    what = braces(C) if mu is None else f"{braces(C)} with {bindings_text(mu)}"
    return f"{what} is {'a' if isinstance(explanation, MatchExplanation) else 'not a'} match at {explanation.at}"


def rejection_lines(rejection: Rejection, at: int) -> Iterator[str]:
    """Yield lines that say which parts of a rejection (reasons, nearest matches) were not found, and why."""
    if rejection.gave_up:
        yield "The search for the reason took too long and was stopped. Explain a shorter stream."
    elif not rejection.reasons:
        yield "Even without conditions, strategies, order and types, the formula does not match exactly these events."
    if rejection.nearest is None:
        yield f"There are too many matches at {at} to find the nearest. Explain a shorter stream."
    elif not rejection.nearest:
        yield f"The query has no match at {at}."


def _derived(
    phi: cel.Formula, C: ComplexEvent, n: int, mus: list[Valuation], oracle: BoundedOracle, count: int
) -> MatchExplanation:
    found = list(islice((node for mu in mus for node in derivations(phi, mu, 0, n, oracle)), count + 1))
    return MatchExplanation(C, n, tuple(found[:count]), len(found) > count)


def steps_of(root: Derivation) -> ExplanationStep:
    """Return a derivation as a tree of steps."""
    return tree_of(root, lambda node: node.children, _step)


def _step(node: Derivation, below: tuple[ExplanationStep, ...]) -> ExplanationStep:
    fields = {
        "formula": show(node.formula),
        "interval": [node.i, node.j],
        "valuation": _bindings(node.valuation),
        **picked(node, "clause", "citation", "detail"),
        "evidence": list(node.evidence),
    }
    clause = f"{node.citation}, {node.clause}" + (f": {node.detail}" if node.detail else "")
    where, bound = f"({node.i}, {node.j})", bindings_text(node.valuation)
    return ExplanationStep(show(node.formula), where, bound, clause, node.evidence, below, json=fields)


def _reason(reason: Reason) -> Json:
    span = reason.formula.span
    return {
        "clause": reason.clause,
        "message": reason.message,
        "formula": show(reason.formula),
        "span": None if span is None else [span.start, span.end],
        "interval": [reason.i, reason.j],
        "valuation": None if reason.valuation is None else _bindings(reason.valuation),
    }


def _bindings(mu: Valuation) -> Json:
    return {variable: list(places) for variable, places in bindings_of(mu)}


def _extent(S: Stream) -> str:
    return f"{len(S)} events, 0 to {len(S) - 1}" if len(S) else "no events"


class CelExplainer(Explainer[Explanation]):
    """An explainer that explains the matches of a formula by derivations, and other positions by reasons."""

    heading = "Why it matches, and why not"
    legend = (
        "(i, j) is the part of the stream from event i to event j to which a step applies, and T -> {1} says that the "
        "variable T binds event 1. A dot is an event of a match. A flag stands after the event at which the match is "
        "reported. Diamonds are positions that are not a match."
    )

    def __init__(self, phi: Formula, S: Stream) -> None:
        self.phi, self.S, self.query = phi, S, show(phi)

    def explain_request(self, request: Request) -> Explanation | None:
        if request.at is not None:
            self.require_on_stream(request.at, "--at")
        if not request.single:
            return None
        events = request.events if request.events is not None else sup(request.valuation or frozenset())
        if request.at is None and not events:
            raise InputError("an empty match needs --at, because it has no last event")
        at = max(events) if request.at is None else request.at
        return explain(self.phi, self.S, events, at, valuation=request.valuation, count=request.count)

    def all(self, request: Request) -> Listing[Explanation]:
        first, last = (0, len(self.S) - 1) if request.at is None else (request.at, request.at)
        found = explain_stream(self.phi, self.S, first, last, output=request.output)
        return listing(found, request, len(self.S), lambda one: one.at)

    def json(self, found: Explanation) -> Json:
        return as_json(found, self.phi)

    def listing_json(self, listing: Listing[Explanation]) -> Json:
        answer = super().listing_json(listing)
        at: dict[int, dict[tuple[int, ...], None]] = {n: {} for n in range(listing.first, listing.last + 1)}
        for one in listing.found:
            at[one.at][tuple(sorted(one.events))] = None
        walked = [{"at": n, "matches": list(map(list, matches))} for n, matches in at.items()]
        return {"query": answer.pop("query"), "steps": walked, **answer}

    def view(self, found: Explanation) -> ExplanationView:
        C, at, label = found.events, found.at, braces(found.events)
        shown = partial(
            ExplanationView,
            summary(found),
            isinstance(found, MatchExplanation),
            tuple(sorted(C)),
            at,
            label,
            listed=True,
        )
        if isinstance(found, MatchExplanation):
            parts = numbered("derivation", [ExplanationPart(trees=(steps_of(root),)) for root in found.derivations])
            bound: dict[int, list[str]] = {}
            for variable, positions in bindings_of(found.derivations[0].valuation):
                for p in positions:
                    bound.setdefault(p, []).append(variable)
            marks = {p: f"in {', '.join(names)}" for p, names in bound.items()}
            drawing = Drawing((Row("common", sorted(C), at, f"match · {label} at {at}"),), marks)
            return shown(parts, drawing, more="derivations" if found.more else "")
        rejection = found.rejection
        near = () if rejection.bindings else rejection.nearest or ()
        rows = [Row("extra", sorted(C), at, f"{label} at {at}, no match")]
        rows += [Row("common", sorted(D), at, f"nearest match · {braces(D)} at {at}") for D in near]
        return shown(tuple(_rejection(found, near)), Drawing(tuple(rows)))


def _rejection(found: Rejected, near: Iterable[ComplexEvent]) -> Iterator[ExplanationPart]:
    rejection, at = found.rejection, found.at
    if rejection.reasons:
        yield ExplanationPart("rejected by", tuple(map(_reason_step, rejection.reasons)))
    if text := relaxed_text(rejection):
        yield ExplanationPart("it is a match of the relaxed formula", lines=(text,))
    if rejection.bindings:
        yield ExplanationPart(
            f"{braces(found.events)} is a match at {at} with", lines=tuple(map(bindings_text, rejection.bindings))
        )
    yield from nearest(f" at {at}", near, found.events)
    if lines := tuple(rejection_lines(rejection, at)):
        yield ExplanationPart(lines=lines)


def _reason_step(reason: Reason) -> ExplanationStep:
    clause = f"{reason.clause}: {reason.message}"
    if reason.valuation is None:
        return ExplanationStep(show(reason.formula), clause=clause)
    return ExplanationStep(show(reason.formula), f"({reason.i}, {reason.j})", bindings_text(reason.valuation), clause)


# ---------------------------------------------------------------------------------------------------------------------
# Warnings about a query of CEL whose PARTITION BY lets an operator see events of other keys, with an example.
#
# To find an example, the query is evaluated over the beginning of the stream, as it is written and with PER KEY instead
# of the partition. The example is the first match that only one of the two results has. An event of another key is to
# blame if the match is lost when this event is added to the events of the match's own key. All steps are bounded, so
# that a warning costs little.

EVENTS = 2_000  # the most events of the beginning of a stream that are evaluated
BUDGET = Budget(seconds=1.0, states=2_000, matches=20_000)
TRIED = 100  # the most events of other keys that are tried
OWN = 200  # the most events of the match's own key that are evaluated with each of them


def warnings_across_keys(found: Iterable[AcrossKeys], S: Stream | None = None) -> Iterator[Problem]:
    """Yield a warning for each operator that sees events of other keys, with an example on the stream if there is one.

    The message says what to write instead, because a warning has no separate field for this advice.
    """
    example = None
    for one in found:
        problem = one.problem
        if S is not None and example is None:
            with suppress(BudgetExceeded, Unsupported), BUDGET.timed():
                example = _example(one, S.part(0, min(EVENTS, len(S))))
            if example is not None:
                problem = replace(problem, message=f"{problem.message}. {example}")
        yield replace(problem, message=f"{problem.message}; {advice(one.partition.attribute)}")


def _example(one: AcrossKeys, S: Stream) -> str | None:
    """Return a description of a match that only PARTITION BY or only PER KEY has, and of the event to blame.

    Return None if both have the same matches.
    """
    a = one.partition.attribute
    together, alone = _matches(one.partition, S), _matches(one.per_key, S)
    differing = min(together ^ alone, default=None)
    if differing is None:
        return None
    n, C = differing
    events = (
        f"events {' and '.join(map(str, C))}" if len(C) == 2 else f"{'events' if len(C) > 1 else 'event'} {_row(C)}"
    )
    if differing in together:
        return f"Here {events} are reported, although they are not a match among the events of their own key"
    key = show_value(value) if (value := S[n].get(a)) is not None else "?"
    blamed = _blamed(one, S, n, C)
    if blamed is None:
        return f"Here {events} ({a} {key}) are not a match, although they are one among the events of their own key"
    other = S[blamed].get(a)
    its = f"{S[blamed].type}, " + (f"{a} {show_value(other)}" if other is not None else f"without {a}")
    name = OPERATORS[type(one.operator)].symbol
    return f"Here event {blamed} ({its}) keeps {events} ({a} {key}) from being a match, by {name}"


def _blamed(one: AcrossKeys, S: Stream, n: int, C: tuple[int, ...]) -> int | None:
    """Return an event of another key that alone prevents the match; None if no tried event does."""
    own = [p for p in same_key((one.partition.attribute,), n, S) if p <= n]
    if len(own) > OWN:
        return None
    # Events between those of the match come first, because at most TRIED events are tried.
    others = sorted(set(range(n)).difference(own), key=lambda p: (p < min(C, default=n), -p))
    for p in others[:TRIED]:
        positions = sorted((*own, p))
        matches = _matches(one.partition, Stream([S[q] for q in positions]))
        if (positions.index(n), tuple(positions.index(q) for q in C)) not in matches:
            return p
    return None


def _matches(phi: Formula, S: Stream) -> set[tuple[int, tuple[int, ...]]]:
    plan = evaluation_plan(phi, BUDGET)
    if isinstance(plan, Unsupported):
        raise plan
    found = set()
    for match in evaluate_plan(plan, S, budget=BUDGET):
        found.add((match.at, match.events))
        if len(found) > BUDGET.matches:
            raise BudgetExceeded("too many matches for an example")
    return found


def _row(C: tuple[int, ...]) -> str:
    return ", ".join(map(str, C))
