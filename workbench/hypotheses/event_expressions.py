"""Hypotheses about event expressions: for each operator, the choice between its clause in vldb92 and others.

The clauses are in sections 2.2 and 2.3 of the paper. Each axis has the name of an operator. Its values are clauses that
engines use instead of the printed one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count, pairwise

from cerify.automata.evaluator import Output
from cerify.hypotheses.interpretation import (
    AT_MOST,
    AT_MOST_SAYS,
    CONDITIONS,
    EMIT,
    Axis,
    Choices,
    ConditionVariant,
    Interpretation,
    Stage,
    Template,
    axes,
    conditions,
    sentence,
    types,
)
from cerify.semantics.arguments import Budget
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.denote import (
    NOWHERE,
    Bindings,
    Events,
    History,
    after,
    is_occurrence,
    segments,
    until,
)
from cerify.semantics.event_expressions.interpreter import ExpressionInterpreter
from cerify.semantics.event_expressions.syntax import OPERATORS
from cerify.semantics.events import Event, Match, Stream

EMITTED = ("complete", "at-end", "one-later")

AXES = axes(
    Axis(
        "relative",
        ("any", "first", "last", "prior", "sequence", "with-itself"),
        ("relative",),
        "relative(E, F): F after any event of E; after the first; after the last; as prior; as sequence; also "
        "at the event of E itself",
    ),
    Axis(
        "relative_plus",
        ("all", "single", "at-least-two", *AT_MOST),
        ("relative_plus",),
        "; ".join(("relative+(E): any number of rounds; one; two or more", *AT_MOST_SAYS.values())),
    ),
    Axis(
        "prior",
        ("as-defined", "relative", "sequence", "same-event", "first"),
        ("prior",),
        "prior(E, F): every F after some E; as relative; as sequence; also F at the event of E; the first F only",
    ),
    Axis(
        "sequence",
        ("history", "stream", "prior"),
        ("sequence",),
        "sequence(E, F): neighbours in the history; in the stream; as prior",
    ),
    Axis(
        "not",
        ("every-other", "without-start", "ignored"),
        ("not",),
        "!E: every other event; every other event except start; as E",
    ),
    Axis("any", ("without-start", "with-start"), ("any",), "any: every event except start; every event"),
    Axis("first", ("history", "stream"), ("first",), "first: of the history; of the stream"),
    Axis("pipe", ("as-defined", "and"), ("pipe",), "E | F: F on the events of E; as E and F"),
    Axis(
        "nth",
        ("n-th", "from-n-on", "from-zero", "every-n-th"),
        ("nth",),
        "<n> E: the n-th; all from the n-th on; counted from 0; every n-th",
    ),
    Axis(
        "every",
        ("every-n-th", "n-th", "from-first"),
        ("every",),
        "every <n> E: the n-th, 2n-th, ...; only the n-th; the first, n+1-th, ...",
    ),
    Axis(
        "after",
        ("first", "last", "any", "prior"),
        ("after",),
        "F / E: F after the first event of E; after the last; after any; F with some E before it",
    ),
    Axis(
        "between",
        ("each", "first", "any"),
        ("between",),
        "F /+ E: between each event of E and the next; after the first; after any",
    ),
    Axis(
        "first_after",
        ("last-opening", "any-opening", "never-closed", "closed-at-once"),
        ("first_after",),
        "firstAfter(E, F, G): since the last E; since any E; G does not close; F at the event of G does not count",
    ),
    Axis("before", ("strict", "inclusive"), ("before",), "before(E): after an event of E; at one or after it"),
    Axis("happened", ("inclusive", "strict"), ("happened",), "happened(E): at an event of E or after it; after it"),
    Axis("series", ("before", "through"), ("series",), "E * T: E at every event before; at the event of T as well"),
    Axis("or", ("both", "left-first"), ("or",), "E or F: both; F only where E never takes place"),
    Axis("mask", ("as-defined", "ignored"), ("mask",), "a mask: as defined; ignored"),
    Axis("emit", EMITTED, says=sentence(EMIT.subject, EMITTED, EMIT.meanings)),
    *(Axis(one.name, one.values, ("mask",), one.says) for one in CONDITIONS),
)


def find_matches(E: expr.Expression, S: Stream, choices: Choices, output: Output, budget: Budget) -> list[Match]:
    """Return a match for each event at which the expression takes place.

    Raises EngineError, Unsupported, BudgetExceeded.
    """
    return [Match(e, (e,)) for e in _Interpreter(E, S, budget, choices).events()]


def operators(E: expr.Expression) -> frozenset[str]:
    """Return the names of the operators in an expression, and "mask" if an event has one."""
    parts = list(expr.subexpressions(E))
    names = {OPERATORS[type(part)].name for part in parts if type(part) in OPERATORS}
    if any(isinstance(part, expr.Primitive) and part.mask is not None for part in parts):
        names.add("mask")
    return frozenset(names)


class _Interpreter(ExpressionInterpreter):
    """The reference interpreter, with another clause for each choice that is not the default."""

    def __init__(self, E: expr.Expression, S: Stream, budget: Budget, choices: Choices) -> None:
        super().__init__(E, S, budget)
        self.choices, self.conditions = choices, ConditionVariant(choices)
        self._chosen: dict[tuple[int, History, Bindings], Events | None] = {}

    def meaning(self, E: expr.Expression, h: History, b: Bindings) -> Events:
        key = (id(E), h, b)
        if h and key not in self._chosen:
            self._alive[id(E)] = E
            self._chosen[key] = self.by_choice(E, h, b)
        chosen = self._chosen.get(key)
        return super().meaning(E, h, b) if chosen is None else chosen

    def by_choice(self, E: expr.Expression, h: History, b: Bindings) -> Events | None:
        """Return the events at which E takes place by the clause that the choices give to its operator; None if they
        give it the paper's clause.
        """
        if isinstance(E, expr.Primitive):
            if E.mask is None or (self.choices["mask"] == "as-defined" and self.conditions.as_defined):
                return None
            return frozenset(e for e in h if self.is_occurrence(E, self.event(e), b))
        if type(E) not in OPERATORS:
            return None
        name = OPERATORS[type(E)].name
        clause = CLAUSES.get((name, self.choices.get(name, "")))
        if clause is None:
            return None
        return frozenset(clause(E, h, lambda F, part=h: self.meaning(F, part, b), self))

    def is_occurrence(self, E: expr.Primitive, event: Event, b: Bindings) -> bool:
        """Return whether the event is an occurrence of E and its mask is true, by the choices."""
        if not is_occurrence(expr.Primitive(E.type, E.arguments), event, b, self.order):
            return False
        assert E.mask is not None
        return self.choices["mask"] == "ignored" or self.conditions.satisfied(
            E.mask, lambda a: event.get(a.name), event.type
        )


Of = Callable[..., Events]
"""A function that returns the events at which an operand F takes place: `of(F)`, or `of(F, h)` in another history h."""


def _two(E: expr.Nary) -> tuple[expr.Expression, expr.Expression]:
    """Return the two operands of an operator; if it has more, all but the last are joined into one."""
    return E.parts[0] if len(E.parts) == 2 else type(E)(E.parts[:-1]), E.parts[-1]


def _relative(pick: Callable[[Events], Iterable[int]], touching: bool = False) -> Clause:
    """Return a clause for `relative` that looks only after the events that `pick` selects.

    touching: whether the second part may also take place at the selected event itself.
    """

    def clause(E: expr.Relative, h: History, of: Of, known: ExpressionInterpreter) -> Iterable[int]:
        F, G = _two(E)
        ends = of(F)
        starts = [after(h, e) if not touching else tuple(d for d in h if d >= e) for e in pick(ends)] if ends else []
        return NOWHERE.union(*(of(G, part) for part in starts))

    return clause


def _prior(E: expr.Nary, h: History, of: Of, known: ExpressionInterpreter, touching: bool = False) -> list[int]:
    F, G = _two(E)
    ends = of(F)
    return sorted(e for e in of(G) if ends and (e > min(ends) or (touching and e == min(ends))))


def _sequence(E: expr.Nary, h: History, of: Of, known: ExpressionInterpreter) -> Iterable[int]:
    F, G = _two(E)
    ends = of(F)
    return of(G) & {e for d, e in pairwise(h) if d in ends}


def _at_least_two(E: expr.RelativePlus, h: History, of: Of, known: ExpressionInterpreter) -> Iterable[int]:
    once = expr.RelativePlus(E.operand)
    return NOWHERE.union(*(_rounds(once, after(h, e), of) for e in of(E.operand)))


def _rounds(E: expr.RelativePlus, h: History, of: Of, most: int | None = None) -> Events:
    """Return the events of all rounds of relative+, or of the first `most` rounds."""
    found, new = NOWHERE, of(E.operand, h)
    for _ in count() if most is None else range(most):
        if not new:
            break
        found |= new
        new = NOWHERE.union(*(of(E.operand, after(h, e)) for e in new)) - found
    return found


def _after(pick: Callable[[Events], Iterable[int]]) -> Clause:
    """Return a clause for F / E that looks only after the events of E that `pick` selects."""

    def clause(
        E: expr.After | expr.ExpressionBetween, h: History, of: Of, known: ExpressionInterpreter
    ) -> Iterable[int]:
        ends = of(E.right)
        return NOWHERE.union(*(of(E.left, after(h, e)) for e in pick(ends))) if ends else NOWHERE

    return clause


def _first_after(parts: Callable[..., Iterable[History]], closed: Callable[[Events, Events], Events]) -> Clause:
    """Return a clause for firstAfter.

    parts: a function that returns the histories in which to look, given a history and the events of the opening.
    closed: a function that returns the events of F that count, given the events of F and of the closing in one of these
    histories.
    """

    def clause(E: expr.FirstAfter, h: History, of: Of, known: ExpressionInterpreter) -> Iterable[int]:
        found = (closed(of(E.event, part), of(E.closing, part)) for part in parts(h, of(E.opening)))
        return NOWHERE.union(*found)

    return clause


def _since_any(h: History, openings: Events) -> list[History]:
    return [after(h, e) for e in openings]


def _strictly_until(events: Events, last: Events) -> Events:
    return frozenset(e for e in events if not last or e < min(last))


def _least(ends: Events) -> Iterable[int]:
    return [min(ends)]


def _greatest(ends: Events) -> Iterable[int]:
    return [max(ends)]


def _every(ends: Events) -> Iterable[int]:
    return ends


Clause = Callable[..., Iterable[int]]
"""A clause of an operator: a function that returns the events at which an expression takes place.

Its arguments are the expression, a history, an `Of` for the operands, and the interpreter.
"""

CLAUSES: dict[tuple[str, str], Clause] = {
    ("relative", "first"): _relative(_least),
    ("relative", "last"): _relative(_greatest),
    ("relative", "with-itself"): _relative(_every, touching=True),
    ("relative", "prior"): _prior,
    ("relative", "sequence"): _sequence,
    ("relative_plus", "single"): lambda E, h, of, known: of(E.operand),
    ("relative_plus", "at-least-two"): _at_least_two,
    **{
        ("relative_plus", name): lambda E, h, of, known, most=most: _rounds(E, h, of, most)
        for name, most in AT_MOST.items()
    },
    ("prior", "relative"): _relative(_every),
    ("prior", "sequence"): _sequence,
    ("prior", "same-event"): lambda E, h, of, known: _prior(E, h, of, known, touching=True),
    ("prior", "first"): lambda E, h, of, known: _prior(E, h, of, known)[:1],
    ("sequence", "stream"): lambda E, h, of, known: of(_two(E)[1]) & {e + 1 for e in of(_two(E)[0])},
    ("sequence", "prior"): _prior,
    ("not", "without-start"): lambda E, h, of, known: [
        e for e in h if e not in of(E.operand) and known.event(e).type != expr.START
    ],
    ("not", "ignored"): lambda E, h, of, known: of(E.operand),
    ("any", "with-start"): lambda E, h, of, known: h,
    ("first", "stream"): lambda E, h, of, known: [e for e in h if e == 0],
    ("pipe", "and"): lambda E, h, of, known: of(E.left) & of(E.right),
    ("nth", "from-n-on"): lambda E, h, of, known: sorted(of(E.operand))[E.n - 1 :],
    ("nth", "from-zero"): lambda E, h, of, known: sorted(of(E.operand))[E.n : E.n + 1],
    ("nth", "every-n-th"): lambda E, h, of, known: sorted(of(E.operand))[E.n - 1 :: E.n],
    ("every", "n-th"): lambda E, h, of, known: sorted(of(E.operand))[E.n - 1 : E.n],
    ("every", "from-first"): lambda E, h, of, known: sorted(of(E.operand))[:: E.n],
    ("after", "last"): _after(_greatest),
    ("after", "any"): _after(_every),
    ("after", "prior"): lambda E, h, of, known: [e for e in of(E.left) if e > min(of(E.right), default=h[-1])],
    ("between", "first"): _after(_least),
    ("between", "any"): _after(_every),
    ("first_after", "any-opening"): _first_after(_since_any, until),
    ("first_after", "never-closed"): _first_after(segments, lambda events, last: events),
    ("first_after", "closed-at-once"): _first_after(segments, _strictly_until),
    ("before", "inclusive"): lambda E, h, of, known: [e for e in h if e >= min(of(E.operand), default=h[-1] + 1)],
    ("happened", "strict"): lambda E, h, of, known: [e for e in h if e > min(of(E.operand), default=h[-1])],
    ("series", "through"): lambda E, h, of, known: until(of(E.right), frozenset(h) - of(E.left)) & of(E.left),
    ("or", "left-first"): lambda E, h, of, known: of(E.left) or of(E.right),
}


# ---------------------------------------------------------------------------------------------------------------------
# The questions about event expressions.

AB, ABC = types("A B"), types("A B C")
STARTED = types("start")


def _make_stage(axis: str, *queries: str, letters: str = "A B C", longest: int = 4) -> Stage:
    return Stage((axis,), tuple(Template(query, types(letters), longest) for query in queries))


STAGES = (
    _make_stage("emit", "A", longest=3),
    _make_stage("or", "A or B"),
    Stage(("any",), (Template("any", AB, 2), Template("any", AB, 3, STARTED))),
    Stage(("not",), (Template("!A", AB, 3), Template("!A", AB, 3, STARTED))),
    _make_stage("nth", "<2> A", longest=5),
    _make_stage("every", "every <2> A", longest=5),
    Stage(("pipe", "first"), tuple(Template(query, ABC, 4) for query in ("first", "A | <2> any", "B | first"))),
    _make_stage("sequence", "sequence(A, B)", "(A or B) | sequence(A, B)"),
    _make_stage(
        "relative", "relative(A, B)", "relative(A, A)", "relative(A, <2> B)", "relative(A, sequence(A, B))", longest=5
    ),
    Stage(
        ("relative_plus",),
        (
            Template("relative+(A)", ABC, 5),
            Template("relative+(<2> A)", ABC, 5),
            Template("relative+(<2> A)", types("A"), 16),  # of eight rounds
        ),
    ),
    _make_stage("prior", "prior(A, B)", "prior(A, A)", "prior(A, <2> B)", longest=5),
    _make_stage("after", "B / A", "<2> B / A", longest=5),
    _make_stage("between", "B /+ A", "<2> B /+ A", longest=5),
    _make_stage("first_after", "firstAfter(A, B, C)", "firstAfter(A, any, B)", "firstAfter(A, B, B)"),
    _make_stage("before", "before(A)"),
    _make_stage("happened", "happened(A)"),
    _make_stage("series", "A * B", "A * A", "any * A"),
    *conditions("A[{}]", also=("mask",)),
    Stage(
        (),
        (
            Template("relative(A, B) or <2> A", AB, 5),
            Template("prior(A, sequence(B, B))", AB, 5),
            Template("relative(A, !B)", AB, 4),
            Template("<2> (A or B) / A", AB, 5),
            Template("relative+(sequence(A, B))", AB, 6),
        ),
    ),
)

INTERPRETATION = Interpretation(AXES, find_matches, operators, stages=STAGES)
