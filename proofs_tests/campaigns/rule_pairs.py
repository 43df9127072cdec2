"""Pairs of rules with one key and one window, as people write them: how many does `equiv` decide, and how fast?

Forty shapes of rules in CEL: two to four steps, absence, alternatives, iteration, counts, strategies above and below
windows, windows on parts, and every kind of predicate on one event. Each gives five pairs: two by rewriting, which
are equal by construction, and three by small edits, which mostly are not. Every proof is given to the checker, every
difference to the definition, and no random stream may contradict a proof.

Run as: python -m proofs_tests.campaigns.rule_pairs [--streams N] [--verbose]
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

import click

from cerify.equivalence.decide.checker import flaw
from cerify.equivalence.decide.derivation import compare_formulas
from cerify.equivalence.verdict import Claim, Contained, Different, Equivalent, Verdict
from cerify.semantics import predicates as pred
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.interpreter import complex_events
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import show
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Event, Stream
from cerify.semantics.trees import children, rebuilt
from cerify.semantics.values import Value

SHAPES = (
    # steps
    "(A ; B) PARTITION BY [k] WITHIN 10 minutes",
    "(A[x = 1] ; B[x != 1]) WITHIN 10 minutes PARTITION BY [k]",
    "(A ; B ; C) PARTITION BY [k] WITHIN 10 minutes",
    "(A[x > 3] ; B ; C[x <= 3] ; D) PARTITION BY [k] WITHIN 1 hour",
    "(A : B) PARTITION BY [k] WITHIN 30 seconds",
    "(A ; B) FILTER A.k = B.k WITHIN 5 minutes",
    "(A ; B ; C) FILTER (A.k = B.k AND B.k = C.k) WITHIN 5 minutes",
    # absence
    "((A ; B) UNLESS C) PARTITION BY [k] WITHIN 10 minutes",
    "((A ; B) UNLESS C[x = 1]) PARTITION BY [k] WITHIN 10 minutes",
    "((A ; B) UNLESS C) PER KEY [k] WITHIN 10 minutes",
    "((A ; B) UNLESS C WITHIN 10 minutes) PER KEY [k]",
    # alternatives
    "(A ; (B OR C)) PARTITION BY [k] WITHIN 10 minutes",
    "((A OR B) ; (C OR D)) PARTITION BY [k] WITHIN 10 minutes",
    "((A ; B) OR (A ; C)) PARTITION BY [k] WITHIN 10 minutes",
    # iteration and counts
    "(A+ ; B) PARTITION BY [k] WITHIN 10 minutes",
    "(A:+ ; B) PARTITION BY [k] WITHIN 10 minutes",
    "A{5} PARTITION BY [k] WITHIN 1 minute",
    "(A{3} ; B) PARTITION BY [k] WITHIN 1 minute",
    "(A{2,} ; B[x = 1]) PARTITION BY [k] WITHIN 1 minute",
    "(A ALL B) PARTITION BY [k] WITHIN 10 minutes",
    # strategies above and below windows
    "NXT(A ; B) PARTITION BY [k] WITHIN 10 minutes",
    "NXT((A ; B) PARTITION BY [k] WITHIN 10 minutes)",
    "LAST(A ; B ; C) PARTITION BY [k] WITHIN 10 minutes",
    "LAST((A ; B ; C) WITHIN 10 minutes) PARTITION BY [k]",
    "MAX((A+ ; B) PARTITION BY [k] WITHIN 10 minutes)",
    "STRICT(A ; B ; C) PARTITION BY [k] WITHIN 10 minutes",
    "NXT(A+ ; B) PER KEY [k] WITHIN 10 minutes",
    # windows on parts
    "((A ; B WITHIN 1 minute) ; C) PARTITION BY [k]",
    "((A{3} WITHIN 1 minute) ; B) PARTITION BY [k]",
    "(A ; (B ; C WITHIN 1 minute)) PARTITION BY [k]",
    "LAST((A ; B WITHIN 1 minute) ; C) PARTITION BY [k]",
    "NXT(((A OR B) ; B WITHIN 1 minute) ; C) PARTITION BY [k]",
    "((A ; B WITHIN 1 minute)+ ; C) PARTITION BY [k]",
    # every kind of predicate
    "(A[x like '(?i).*powershell.*'] ; B[y like 'C:[.].*']) PARTITION BY [k] WITHIN 1 hour",
    "(A[x in {'cmd', 'sh'} and not y in {'root', 'SYSTEM'}] ; B) PARTITION BY [k] WITHIN 1 hour",
    "(A[x is null] ; B[x is not null and x > 2]) PARTITION BY [k] WITHIN 1 hour",
    "(A[x in cidr('10.0.0.0/8')] ; B[not (x in cidr('fe80::/10') or x in cidr('::1'))]) PARTITION BY [k] WITHIN 1 hour",
    "(A[x < y] ; B[x = y]) PARTITION BY [k] WITHIN 1 hour",
    "(A[x in range(1, 5) and x != 3] ; B[z = true]) PARTITION BY [k] WITHIN 1 hour",
    "(A[x + y > 10] ; B[k != 'admin']) PARTITION BY [k] WITHIN 1 hour",
)
PROBES = ("10.1.2.3", "11.1.2.3", "fe80::1", "::1", "PowerShell.exe", "cmd", "root", "C:.x", "", 0, 1, 2, 3, 4, 6, 11)
BUDGET = Budget(seconds=120)
WITHIN_MS = 100
Change = Callable[[cel.Formula, Random], cel.Formula | None]


# --- rewriting --------------------------------------------------------------------------------------------------------


def rewrite_formula(phi: cel.Formula, rng: Random) -> cel.Formula | None:
    """Return a formula that means the same as this one; None where no rule fits here."""
    ways: list[cel.Formula] = []
    match phi:
        case cel.Within(psi, cel.TimeWindow(amount, "minute")):
            ways += [
                cel.Within(psi, cel.TimeWindow(amount * 60, "second")),
                cel.Within(phi, cel.TimeWindow(amount * 3, "hour")),
            ]
        case cel.Within(psi, window):
            ways += [cel.Within(cel.Within(psi, window), window)]
        case cel.Or(left, right):
            ways += [cel.Or(right, left), cel.Or(phi, left)]
        case cel.Seq(cel.Seq(a, b), c):
            ways.append(cel.Seq(a, cel.Seq(b, c)))
        case cel.Seq(a, cel.Or(b, c)):
            ways.append(cel.Or(cel.Seq(a, c), cel.Seq(a, b)))
        case cel.Repeat(psi, 3, 3):
            ways.append(cel.Seq(psi, cel.Seq(psi, psi)))
        case cel.All(a, b):
            ways.append(cel.All(b, a))
        case cel.Plus(psi):
            ways.append(cel.Or(psi, cel.Seq(psi, phi)))
        case cel.Filter(psi, cel.Every(A, P)):
            ways.append(cel.Filter(psi, cel.Every(A, rewrite_predicate(P, rng))))
    match phi:
        case cel.Within(cel.PartitionBy(psi, a), window):
            ways.append(cel.PartitionBy(cel.Within(psi, window), a))
        case cel.PartitionBy(cel.Within(psi, window), a):
            ways.append(cel.Within(cel.PartitionBy(psi, a), window))
        case cel.PartitionBy(cel.Seq(cel.EventAtom(A), cel.EventAtom(B)) as psi, a) if A != B:
            equal = pred.Comparison("=", pred.Attribute(a, B), pred.Attribute(a, A))
            ways.append(cel.Filter(psi, cel.Correlated(equal)))
    return rng.choice(ways) if ways else None


def rewrite_predicate(P: pred.Predicate, rng: Random) -> pred.Predicate:
    """Return a predicate that holds of the same events."""
    mirrored = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}
    match P:
        case pred.Comparison(comparator, left, right) if rng.random() < 0.7:
            return pred.Comparison(mirrored[comparator], right, left)  # type: ignore[arg-type]
        case pred.OneOf(term, values):
            first, *rest = (pred.Comparison("=", term, pred.Constant(v)) for v in reversed(values))
            whole: pred.Predicate = first
            for test in rest:
                whole = pred.Either(whole, test)
            return whole
        case pred.InRange(term, low, high):
            above = pred.Comparison(">=", term, pred.Constant(low))
            return pred.Both(pred.Comparison("<=", term, pred.Constant(high)), above)
        case pred.Like(term, pattern) if pattern.startswith("(?i)"):
            return pred.Like(term, pattern.replace("p", "P"))
        case pred.Both(left_, right_):
            return pred.Not(pred.Either(pred.Not(right_), pred.Not(rewrite_predicate(left_, rng))))
        case pred.Either(left_, right_):
            return pred.Either(right_, rewrite_predicate(left_, rng))
        case pred.Not(inner):
            return pred.Not(rewrite_predicate(inner, rng))
    return pred.Not(pred.Not(P))


# --- small edits ------------------------------------------------------------------------------------------------------


def edit_formula(phi: cel.Formula, rng: Random) -> cel.Formula | None:
    """Return a formula that differs from this one in a small part; None where nothing fits here."""
    ways: list[cel.Formula] = []
    match phi:
        case cel.Within(psi, cel.TimeWindow(amount, unit)):
            ways += [cel.Within(psi, cel.TimeWindow(amount + 1, unit)), psi]
            if below := children(psi):
                ways.append(rebuilt(psi, [cel.Within(below[0], phi.window), *below[1:]]))
        case cel.PartitionBy(psi, _) | cel.PerKey(psi, _):
            ways.append(psi)
            if isinstance(psi, cel.Next | cel.Last | cel.Max | cel.Strict):
                ways.append(rebuilt(psi, [rebuilt(phi, [psi.phi])]))
        case cel.Next(psi) | cel.Last(psi) | cel.Max(psi) | cel.Strict(psi):
            ways += [psi, cel.Last(psi), cel.Next(psi)]
        case cel.Seq(a, b):
            ways += [cel.ContiguousSeq(a, b), cel.Seq(b, a), cel.All(a, b)]
        case cel.ContiguousSeq(a, b):
            ways.append(cel.Seq(a, b))
        case cel.Or(a, b) | cel.All(a, b):
            ways += [a, b, cel.Seq(a, b)]
        case cel.Unless(a, b):
            ways += [a, cel.Unless(a, cel.Or(b, cel.EventAtom("D")))]
        case cel.Plus(a):
            ways += [a, cel.ContiguousPlus(a)]
        case cel.ContiguousPlus(a):
            ways.append(cel.Plus(a))
        case cel.Repeat(a, least, most):
            ways.append(cel.Repeat(a, least + 1, None if most is None else most + 1))
        case cel.Filter(psi, cel.Every(A, P)):
            ways += [psi, cel.Filter(psi, cel.Every(A, edit_predicate(P, rng)))]
        case cel.EventAtom("B"):
            ways.append(cel.EventAtom("C"))
    return rng.choice(ways) if ways else None


def edit_predicate(P: pred.Predicate, rng: Random) -> pred.Predicate:
    """Return a predicate that differs from this one in a small part."""
    match P:
        case pred.Comparison(comparator, left, right):
            return pred.Comparison("<=" if comparator == "<" else "=" if comparator != "=" else "!=", left, right)
        case pred.OneOf(term, values):
            return pred.OneOf(term, values[1:])
        case pred.InRange(term, low, high):
            return pred.InRange(term, low, int(high) + 1)  # type: ignore[arg-type]
        case pred.Like(term, pattern) if pattern.startswith("(?i)"):
            return pred.Like(term, pattern[4:])
        case pred.Like(term, pattern):
            return pred.Like(term, "(?i)" + pattern)
        case pred.Both(left_, right_) | pred.Either(left_, right_):
            return rng.choice((left_, right_, type(P)(edit_predicate(left_, rng), right_)))
        case pred.Not(inner):
            return rng.choice((inner, pred.Not(edit_predicate(inner, rng))))
    return pred.Not(P)


def change_somewhere(phi: cel.Formula, change: Change, rng: Random) -> cel.Formula:
    """Return the formula with one sub-formula changed, chosen among those where a change fits."""
    places = list(cel.subformulas(phi))
    rng.shuffle(places)
    for place in places:
        if (other := change(place, rng)) is not None:
            return _replaced(phi, place, other)
    return phi


def _replaced(phi: cel.Formula, place: cel.Formula, other: cel.Formula) -> cel.Formula:
    if phi is place:
        return other
    below = [_replaced(psi, place, other) for psi in children(phi)]
    return rebuilt(phi, below) if below else phi


def rule_pairs() -> Iterator[tuple[cel.Formula, cel.Formula, bool]]:
    """Yield the 200 pairs; the Boolean says whether the two are equal by construction."""
    for number, text in enumerate(SHAPES):
        phi = parse(text)
        for variant in range(5):
            rng = Random(f"rules/{number}/{variant}")
            psi = phi
            for _ in range(3 if variant < 2 else 1):
                psi = change_somewhere(psi, rewrite_formula if variant < 2 else edit_formula, rng)
            yield phi, psi, variant < 2


# --- judgement --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DecidedPair:
    """What became of a pair; wrong: what contradicts the verdict, if anything does."""

    left: str
    right: str
    verdict: Verdict
    milliseconds: float
    wrong: str | None

    @property
    def is_decided(self) -> bool:
        """Whether the verdict is a proof or a difference."""
        return isinstance(self.verdict, Equivalent | Contained | Different)


def decide_pair(phi: cel.Formula, psi: cel.Formula, same: bool, claim: Claim, streams: int) -> DecidedPair:
    """Decide a pair, and hold the verdict against the checker, the definition and random streams."""
    begun = time.process_time()
    verdict = compare_formulas(phi, psi, claim, bound=0, budget=BUDGET)
    taken = 1000 * (time.process_time() - begun)
    wrong = None
    match verdict:
        case Equivalent(certificate) | Contained(certificate):
            try:
                wrong = flaw(certificate, BUDGET)
            except BudgetExceeded as error:
                wrong = f"the proof is too long for the checker: {error}"
            rng = Random(show(psi))
            for S in (random_stream(rng) for _ in range(streams)):
                left, right = (complex_events(chi, S, len(S) - 1) for chi in (phi, psi))
                if not (left <= right if claim == "contained" else left == right):
                    wrong = f"they differ on {list(S)}"
        case Different(stream, at):
            left, right = (complex_events(chi, stream, at) for chi in (phi, psi))
            if same or (left <= right if claim == "contained" else left == right):
                wrong = "they do not differ"
    return DecidedPair(show(phi), show(psi), verdict, taken, wrong)


def random_stream(rng: Random) -> Stream:
    """Return a stream of up to five events with two keys, and times on both sides of the edges of windows."""
    at: float = 0
    events = []
    for _ in range(rng.randint(1, 5)):
        at += rng.choice((0, 0, 0.5, 29.5, 30, 59.5, 60, 120, 300, 540, 600, 1800, 3600))
        values: dict[str, Value] = {name: rng.choice(PROBES) for name in "xyz" if rng.random() < 0.8}
        events.append(Event(rng.choice("AABBCD"), {**values, "k": rng.choice((1, 1, "admin")), "time": at}))
    return Stream(events)


@click.command()
@click.option("--streams", default=40, show_default=True, help="Random streams for each proof.")
@click.option("--claim", type=click.Choice(("equivalent", "contained")), default="equivalent", show_default=True)
@click.option("--verbose", is_flag=True, help="Show the pairs that are not decided.")
def main(streams: int, claim: Claim, verbose: bool) -> None:
    """Decide the 200 pairs and check every verdict."""
    decided = [decide_pair(phi, psi, same, claim, streams) for phi, psi, same in rule_pairs()]
    times = sorted(pair.milliseconds for pair in decided)
    fast = sum(t <= WITHIN_MS for t in times) / len(times)
    print(dict(Counter(type(pair.verdict).__name__ for pair in decided)))
    print(f"decided: {sum(p.is_decided for p in decided)} of {len(decided)}")
    print(
        f"within {WITHIN_MS} ms of CPU: {fast:.1%}; median {times[len(times) // 2]:.1f} ms, slowest {times[-1]:.0f} ms"
    )
    print("wrong:", sum(p.wrong is not None for p in decided))
    for pair in decided:
        if pair.wrong or (verbose and not pair.is_decided):
            print(f"{pair.left}   |   {pair.right}\n    {pair.wrong or pair.verdict}")


if __name__ == "__main__":
    main()
