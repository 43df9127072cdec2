"""The languages that are served, their built-in evaluators by name, and `match`, which runs one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import islice
from typing import Any, Generic, Literal, TypeVar, get_args

from cerify import languages
from cerify.fit import warn_of_misfits
from cerify.languages import DEFAULT, language_named
from cerify.languages.language import Options
from cerify.plan import Want, plan
from cerify.semantics.budget import Budget
from cerify.semantics.cel.denote import sup
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.registered import NO_PREDICATES, Predicates
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.cel.wellformed import require_typed
from cerify.semantics.core_cel import interpreter as core_interpreter
from cerify.semantics.core_cel import parse as core_parse
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel import wellformed as core_wellformed
from cerify.semantics.errors import BudgetExceeded, IllFormed, Unsupported, errors_in
from cerify.semantics.event_expressions import interpreter as expr_denote
from cerify.semantics.event_expressions import parse as expr_parse
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions import wellformed as expr_wellformed
from cerify.semantics.events import Event, Match, Schema, Stream, bindings_of
from cerify.semantics.sase import parse as sase_parse
from cerify.semantics.sase import program
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase import wellformed as sase_wellformed
from cerify.semantics.sase.aggregates import NO_OPERATIONS, Operations
from cerify.semantics.sase.reading import DECIDED, Reading

Output = Literal["matches", "valuations"]
Evaluator = Callable[[Formula, Stream, Output, Budget], list[Match]]
F = TypeVar("F")


def denotational(
    phi: Formula,
    S: Stream,
    output: Output = "matches",
    budget: Budget = Budget(),
    predicates: Predicates = NO_PREDICATES,
) -> list[Match]:
    """All matches at all positions, sorted, straight from the definition. Raises Unsupported, BudgetExceeded."""
    interpreter = Interpreter(S, budget, predicates)
    found: set[Match] = set()
    for n in range(len(S)):
        for mu in interpreter.meaning(phi, 0, n):
            bindings = bindings_of(mu) if output == "valuations" else None
            found.add(Match(n, tuple(sorted(sup(mu))), bindings))
    return sorted(found)


def automaton(phi: Formula, S: Stream, output: Output = "matches", budget: Budget = Budget()) -> list[Match]:
    """All matches at all positions, sorted, by a complex event automaton. Raises Unsupported, BudgetExceeded."""
    from cerify.automata.evaluate.streaming import matches

    return matches(phi, S, output, budget)


def kernel(phi: Formula, S: Stream, output: Output = "matches", budget: Budget = Budget()) -> list[Match]:
    """As automaton, in compiled loops. Raises Unsupported, also where numba is not installed, and BudgetExceeded."""
    from cerify.automata.evaluate.compiled import matches

    return matches(phi, S, output, budget)


def core_cel(phi: core.Formula, S: Stream, output: Output = "matches", budget: Budget = Budget()) -> list[Match]:
    """All matches of a core-CEL formula, sorted, straight from the definition. Raises Unsupported, BudgetExceeded."""
    _require_matches(output)
    return core_interpreter.matches_of(phi, S, budget)


def core_automaton(phi: core.Formula, S: Stream, output: Output = "matches", budget: Budget = Budget()) -> list[Match]:
    """As core_cel, by an automaton; filters across events by way of CEL, if a formula of CEL is found."""
    from cerify.automata.evaluate.core import matches

    _require_matches(output)
    if core_wellformed.is_unary(phi):
        return matches(phi, S, budget)
    return translated(automaton, phi, S, output, budget)


def core_kernel(phi: core.Formula, S: Stream, output: Output = "matches", budget: Budget = Budget()) -> list[Match]:
    """As core_automaton, in compiled loops. Raises Unsupported also where numba is not installed."""
    from cerify.automata.evaluate.core import compiled_matches

    _require_matches(output)
    if core_wellformed.is_unary(phi):
        return compiled_matches(phi, S, budget)
    return translated(kernel, phi, S, output, budget)


def translated(
    evaluate: Evaluator, phi: core.Formula, S: Stream, output: Output = "matches", budget: Budget = Budget()
) -> list[Match]:
    """As core_cel, by an evaluator of CEL. Raises Unsupported also where no formula of CEL is found."""
    from cerify.equivalence.rewrite.translate.to_cel import to_cel

    _require_matches(output)
    return evaluate(to_cel(phi, budget), S, output, budget)


def event_expression(
    E: expr.Expression, S: Stream, output: Output = "matches", budget: Budget = Budget()
) -> list[Match]:
    """One match for each event at which E takes place, straight from the definition. Raises BudgetExceeded."""
    _require_events(output)
    return expr_denote.matches_of(E, S, budget)


def event_automaton(
    E: expr.Expression, S: Stream, output: Output = "matches", budget: Budget = Budget()
) -> list[Match]:
    """As event_expression, by finite automata: one, or for attribute variables one for each choice of values."""
    from cerify.automata.dfa.collect import found_in

    _require_events(output)
    return [Match(e, (e,)) for e in found_in(E, S, budget)]


def event_kernel(E: expr.Expression, S: Stream, output: Output = "matches", budget: Budget = Budget()) -> list[Match]:
    """As event_automaton, in compiled loops. Raises Unsupported also where numba is not installed."""
    from cerify.automata.dfa.arguments import order_in
    from cerify.automata.dfa.compiled import CompiledEvaluator
    from cerify.automata.dfa.valued import Valued

    _require_events(output)
    return [Match(e, (e,)) for e in sorted(Valued(E, order_in(S), budget).events(S, CompiledEvaluator))]


SASE_FINDERS: Mapping[str, str] = {
    "denotational": "semantics.sase.denote",
    "automaton": "automata.nfab.answers",
    "kernel": "automata.nfab.compiled",
}
"""Of each evaluator of SASE+ the module whose `bindings` finds what a query block binds."""


def sase_matches(
    evaluator: str,
    q: sase.Tree,
    S: Stream,
    output: Output = "matches",
    budget: Budget = Budget(),
    aggregates: Operations = NO_OPERATIONS,
    reading: Reading = DECIDED,
) -> list[Match]:
    """All matches of a query of SASE+, sorted, with bindings and results. Raises Unsupported, BudgetExceeded."""
    find: program.Finder = import_module(f"cerify.{SASE_FINDERS[evaluator]}").bindings
    if evaluator == "denotational":
        return program.matches_of(q, S, find, reading, budget, aggregates)
    from cerify.automata.nfab.results import matches_of

    sase_wellformed.require_wellformed(q)
    return matches_of(q, S, find, reading, budget, aggregates)


def _require_matches(output: Output) -> None:
    if output != "matches":
        raise Unsupported("the answer of a core-CEL query is its complex events; its valuations are not listed")


def _require_events(output: Output) -> None:
    if output != "matches":
        raise Unsupported("the answer of an event expression is the events at which it takes place; it binds no sets")


EVALUATORS: Mapping[str, Evaluator] = {"denotational": denotational, "automaton": automaton, "kernel": kernel}


@dataclass(frozen=True)
class Language(Generic[F]):
    """A language that is served: how its queries are read and checked against a schema, and what evaluates them."""

    parse: Callable[[str], F]
    require_typed: Callable[[F, Schema], None]
    evaluators: Mapping[str, Callable[[F, Stream, Output, Budget], list[Match]]]


CEL = Language(parse, require_typed, EVALUATORS)
CORE_CEL = Language(
    core_parse.parse,
    core_wellformed.require_typed,
    {"denotational": core_cel, "automaton": core_automaton, "kernel": core_kernel},
)
EVENT_EXPRESSION = Language(
    expr_parse.parse,
    expr_wellformed.require_typed,
    {"denotational": event_expression, "automaton": event_automaton, "kernel": event_kernel},
)
SASE = Language(
    sase_parse.parse,
    sase_wellformed.require_typed,
    {evaluator: partial(sase_matches, evaluator) for evaluator in SASE_FINDERS},
)
LANGUAGES: Mapping[str, Language[Any]] = {
    "cel": CEL,
    "core-cel": CORE_CEL,
    "event-expression": EVENT_EXPRESSION,
    "sase": SASE,
}


def match(
    query: Any,
    events: Stream | Iterable[Event],
    *,
    language: str = DEFAULT,
    evaluator: str | None = None,
    output: Output = "matches",
    budget: Budget = Budget(),
    predicates: Predicates = NO_PREDICATES,
    aggregates: Operations = NO_OPERATIONS,
    reading: Reading = DECIDED,
    strict: bool = False,
) -> list[Match]:
    """All matches of a query over a stream, sorted by position; language is that of a query given as text.

    evaluator is one of the language's evaluators; by default cerify.plan chooses one. predicates are those of the
    user's own that a CEL query may name; a query with one is evaluated by the interpreter, since no automaton carries
    it. aggregates are those that a query of SASE+ may name besides the language's own, and reading answers what its
    papers leave open.

    With output="valuations" a match of CEL also says what each variable holds, and two matches may differ in that
    alone; a match of SASE+ always says so, and has the result that RETURN makes of it.

    If the stream has a schema the query is checked against it first. If it has none, an event type or attribute that no
    event has, and a comparison of an attribute with a value of another kind, is a QueryWarning, or with strict an
    error. Raises ParseError, IllFormed, InputError, Unsupported, BudgetExceeded.
    """
    if output not in get_args(Output):
        raise IllFormed(f"there is no output {output!r}; use one of {', '.join(get_args(Output))}")
    S = events if isinstance(events, Stream) else Stream(events)
    options = Options(output, budget, predicates, aggregates, reading)
    with errors_in(query if isinstance(query, str) else ""):
        its = language_named(language) if isinstance(query, str) else languages.language_of(query)
        phi = its.parse(query) if isinstance(query, str) else query
        text = query if isinstance(query, str) else None
        warn_of_misfits(its, phi, S, text=text, strict=strict, stacklevel=2)
        found = list(islice(plan(its, phi, S.schema, Want(options, evaluator)).matches(S), budget.matches + 1))
    if len(found) > budget.matches:
        raise BudgetExceeded(f"more than {budget.matches} matches; allow more: Budget(matches=...)")
    return sorted(found)


def language_of(phi: Formula | core.Formula | expr.Expression | sase.Tree) -> Language[Any]:
    """The language of a query that is not text. Raises IllFormed for what is no query."""
    trees = ((Formula, CEL), (core.Formula, CORE_CEL), (expr.Expression, EVENT_EXPRESSION), (sase.Tree, SASE))
    for tree, language in trees:
        if isinstance(phi, get_args(tree)):
            return language
    raise IllFormed(f"a query is a text or a parsed formula, not {phi!r}")
