"""core-CEL (cep17) as a plug-in.

Its six parts are in the order of `Language`. Events in batches are read by the evaluators of CEL, which get the
translation of the formula (`_in_cel`); if there is none, the reason is returned as `Unsupported`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, get_args

from cerify.automata.evaluator import Consumption, Evaluator, Output
from cerify.languages.cel import LANGUAGE as CEL
from cerify.languages.language import (
    DENOTATIONAL,
    FOREIGN,
    BuiltIn,
    Cases,
    Checked,
    Deciders,
    Evaluation,
    Evaluators,
    Explanations,
    Language,
    Options,
    Syntax,
    instead,
)
from cerify.semantics.arguments import Budget, Selection
from cerify.semantics.core_cel.check import is_unary, problems, require_typed
from cerify.semantics.core_cel.parse import parse
from cerify.semantics.core_cel.syntax import OPERATORS, CoreLast, CoreMax, CoreNext, CoreStrict, Formula, show, size
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Match, Schema, Stream
from cerify.semantics.readings import Reading

if TYPE_CHECKING:
    from cerify.automata.cea.model import CEA
    from cerify.draw.recording import Recording
    from cerify.equivalence.generate.shrink import Generator, QueryOperations
    from cerify.equivalence.verdict import Bounded, Different, Undecided
    from cerify.explanations.explanation import Explainer
    from cerify.hypotheses.interpretation import Interpretation
    from cerify.languages.language import Streamed
    from cerify.semantics.cel.syntax import Formula as CelFormula

ANSWER = "the answer of a core-CEL query is its complex events"


class CoreSyntax(Syntax[Formula]):
    """The syntax of core-CEL."""

    trees = get_args(Formula)
    operators = OPERATORS
    parse = staticmethod(parse)
    show = staticmethod(show)
    problems = staticmethod(problems)
    require_typed = staticmethod(require_typed)
    size = staticmethod(size)
    strategies: ClassVar = {
        Selection.STRICT: CoreStrict,
        Selection.NEXT: CoreNext,
        Selection.LAST: CoreLast,
        Selection.MAX: CoreMax,
    }
    mark = r"\b(FILTER|AS)\b"
    foreign: ClassVar = {
        **{word: hint for word, hint in FOREIGN.items() if word not in {"BY", "SEC", "SECS", "MIN", "MINS"}},
        **instead({"*": "(A AS x)+ for one or more events", "?": "(A AS x ; B AS y) OR A AS x for A ; B?"}),
        **instead({"&": "AND between conditions"}),
        "+": "+ stands after brackets, as in (T AS x)+",
        **dict.fromkeys(("!", "UNLESS"), "{title} cannot exclude an event; use CEL: A ; (B UNLESS C)"),
        "NOT": "NOT stands in brackets, as in FILTER x[not tmp > 3]; to exclude an event, use CEL",
        "BETWEEN": "{title} has no BETWEEN; write two comparisons, as in x.tmp >= 1 AND x.tmp <= 3",
        **dict.fromkeys(("WITHIN", "LIMIT DURATION"), "{title} has no windows; use CEL"),
        "PARTITION": "{title} has no PARTITION BY; use CEL",
        ".": 'conditions stand after FILTER, as in (T AS x) FILTER x.tmp > 3; quote a name with a dot: "user.id"',
        "[": "a condition in brackets stands after FILTER, as in (T AS x) FILTER x[tmp > 3]",
        ";": "each event needs a variable, as in T AS x ; H AS y",
        **dict.fromkeys(
            ("COUNT (", "SUM (", "AVG (", "MIN (", "MAX ("),
            "{title} has no aggregates; use SASE+ or MATCH_RECOGNIZE",
        ),
    }

    def check(self, query: Formula, schema: Schema | None) -> Checked:
        from cerify.semantics.core_cel import check

        fragment = {
            "unary": check.is_unary(query),
            "well_formed": check.is_well_formed(query),
            "safe": check.is_safe(query),
            "lp_normal": check.is_lp_normal(query),
        }
        words = (name.replace("_", "-") if yes else f"not {name.replace('_', '-')}" for name, yes in fragment.items())
        return Checked(fragment, f"core-CEL: {', '.join(words)}", problems(query, schema))


class CoreEvaluators(Evaluators[Formula]):
    """The evaluators of core-CEL."""

    def plain_matches(self, query: Formula, S: Stream, output: Output, budget: Budget) -> Iterable[Match]:
        """Return the matches by the definition in section 3 of "Foundations of Complex Event Processing" (2017).

        Every valuation is tried, which is slow.
        """
        from cerify.semantics.core_cel.interpreter import by_clauses

        return by_clauses(query, S, budget)

    def waits(self, query: Formula) -> bool:
        from cerify.automata.cea.compile_core import looks_ahead

        return bool(looks_ahead(query))

    def rewrites(self, query: Formula, evaluator: str) -> tuple[str, ...]:
        by_way = (
            evaluator != DENOTATIONAL and not is_unary(query) and not isinstance(_in_cel(query, Budget()), Unsupported)
        )
        return ("cel",) if by_way else ()

    def streamed(self, query: Formula, schema: Schema | None, options: Options) -> Streamed | Unsupported:
        """Return the batch reader of the query's formula in CEL."""
        psi = _in_cel(query, options.budget)
        return psi if isinstance(psi, Unsupported) else CEL.evaluators.streamed(psi, schema, options)


class CoreExplanations(Explanations[Formula]):
    """The explanations and drawings of queries of core-CEL."""

    def explainer(self, query: Formula, S: Stream, text: str) -> Explainer[Any]:
        from cerify.explanations.core_cel import CoreExplainer

        return CoreExplainer(query, list(self.language.evaluators.matches(query, S)), S, text)

    def automaton(self, query: Formula, schema: Schema | None, budget: Budget) -> CEA:
        """Return the automaton of the query's formula of CEL."""
        from cerify.automata.cea.compile import compile_cel

        return compile_cel(self.language.deciders.cel_formula(query, budget), budget)

    def record(self, query: Formula, S: Stream, title: str, options: Options) -> Recording:
        from cerify.draw.recording import record_cel

        return record_cel(
            self.language.deciders.cel_formula(query, options.budget), S, title, options.output, options.budget
        )


class CoreCases(Cases[Formula]):
    """The random cases of core-CEL."""

    def operations(self) -> QueryOperations[Formula]:
        from cerify.equivalence.generate.core_cel import CORE_CEL

        return CORE_CEL

    def generator(self) -> Generator[Formula]:
        from cerify.equivalence.generate.core_cel import CORE_CEL_GENERATOR

        return CORE_CEL_GENERATOR


class CoreDeciders(Deciders[Formula]):
    """The comparisons of queries of core-CEL."""

    decides_its_own = False

    def in_cel(self, query: Formula, budget: Budget) -> CelFormula | Unsupported:
        return _in_cel(query, budget)

    def difference(
        self, left: Formula, right: Formula, schema: Schema, budget: Budget = Budget()
    ) -> Different | Bounded | Undecided | None:
        """Compare unary queries by their own automata, even if they have no formula of CEL; compare other queries by
        CEL.
        """
        if not (is_unary(left) and is_unary(right)):
            return super().difference(left, right, schema, budget)
        from cerify.automata.cea.compile_core import compile_core
        from cerify.equivalence.decide.cel import difference
        from cerify.equivalence.verdict import Different

        S = difference(compile_core(left), compile_core(right), "events", schema)
        if S is None:
            return None
        # S is a shortest stream, so the matches differ at its last event; earlier, a shorter stream would do.
        at = len(S) - 1
        one, other = ({m for m in self.language.evaluators.matches(query, S) if m.at == at} for query in (left, right))
        return Different(S, at, tuple(sorted(one - other)), tuple(sorted(other - one)), True)

    @property
    def normal_forms(self) -> Mapping[str, Callable[[Formula, int], Formula] | None]:
        from cerify.equivalence.rewrite.normal_forms import core_disjunctive, lp_normal, safe

        return {"disjunctive": core_disjunctive, "safe": safe, "lp-normal": lp_normal}

    @property
    def translations(self) -> Mapping[str, Callable[[Formula, Reading], Any]]:
        def in_cel(phi: Formula, reading: Reading) -> Any:
            return self.cel_formula(phi, Budget())

        return {"cel": in_cel}


def _denotational(phi: Formula, S: Stream, options: Options) -> Iterable[Match]:
    from cerify.semantics.core_cel.interpreter import matches_of

    return matches_of(phi, S, options.budget)


def _prepare_automaton(phi: Formula, schema: Schema | None, options: Options) -> Evaluation | Unsupported:
    """Return the evaluation of a formula by an automaton of core-CEL, in plain Python."""
    from cerify.automata.evaluate.core import matches

    return _prepare(matches, "automaton", phi, schema, options)


def _prepare_loops(phi: Formula, schema: Schema | None, options: Options) -> Evaluation | Unsupported:
    """Return the evaluation of a formula by an automaton of core-CEL, with compiled code."""
    from cerify.automata.evaluate.compiled import core_matches

    return _prepare(core_matches, "kernel", phi, schema, options)


def _prepare(
    match: Callable[[Formula, Stream, Budget], Iterable[Match]],
    evaluator: str,
    phi: Formula,
    schema: Schema | None,
    options: Options,
) -> Evaluation | Unsupported:
    """Return the evaluation of a formula. match: the function that runs its automaton.

    A formula whose filters compare events is evaluated as a formula of CEL, if it has one. Otherwise the matches of an
    automaton without these filters are checked one by one.
    """
    from cerify.automata.evaluate.core import iterate_core_matches
    from cerify.automata.evaluate.streaming import at_most

    def run(S: Stream) -> Iterable[Match]:
        return match(phi, S, options.budget)

    def check_each(S: Stream) -> Iterable[Match]:
        return at_most(options.budget.matches, iterate_core_matches(phi, S, options.budget, match))

    if is_unary(phi):
        return run
    psi = _in_cel(phi, options.budget)
    if isinstance(psi, Unsupported):
        return check_each
    in_cel = CEL.evaluators[evaluator].prepare(psi, schema, options)
    return in_cel if isinstance(in_cel, Unsupported) else partial(_run_in_cel, in_cel, options.budget.matches)


def _run_in_cel(evaluate: Evaluation, limit: int, S: Stream) -> Iterable[Match]:
    """Return the matches of the evaluation of a formula in CEL. Raises BudgetExceeded."""
    from cerify.automata.evaluate.streaming import at_most

    return at_most(limit, iter(evaluate(S)))


def _readable_batches(phi: Formula, schema: Schema | None, options: Options) -> Evaluator | Unsupported:
    """Return the batch evaluator in plain Python, or why there is none."""
    from cerify.automata.evaluate.readable import ReadableCoreEvaluator

    if is_unary(phi) and options.consumption is Consumption.NONE:
        return ReadableCoreEvaluator(phi, options.budget)
    return _batches_in_cel("automaton", phi, schema, options)


def _compiled_batches(phi: Formula, schema: Schema | None, options: Options) -> Evaluator | Unsupported:
    """Return the compiled batch evaluator, or why there is none."""
    from cerify.automata.evaluate.compiled import CompiledCoreEvaluator

    if is_unary(phi) and options.consumption is Consumption.NONE:
        return CompiledCoreEvaluator(phi, options.budget)
    return _batches_in_cel("kernel", phi, schema, options)


def _batches_in_cel(evaluator: str, phi: Formula, schema: Schema | None, options: Options) -> Evaluator | Unsupported:
    """Return CEL's batch evaluator of this name, for the formula translated to CEL."""
    psi, make = _in_cel(phi, options.budget), CEL.evaluators[evaluator].batches
    assert make is not None
    return psi if isinstance(psi, Unsupported) else make(psi, schema, options)


# One request needs the translation several times: for the plan, the evaluator and the explanation.
@lru_cache(16)
def _in_cel(phi: Formula, budget: Budget) -> CelFormula | Unsupported:
    from cerify.equivalence.rewrite.translate_core_cel import translated

    return translated(phi, budget)


def _no_valuations(phi: Formula, schema: Schema | None, options: Options) -> Unsupported | None:
    if options.output == "matches":
        return None
    return Unsupported(f"{ANSWER}, so it has no valuations; use output='matches'")


def _interpretation() -> Interpretation:
    from cerify.hypotheses.core_cel import INTERPRETATION

    return INTERPRETATION


LANGUAGE: Language[Formula] = Language(
    name="core-cel",
    title="core-CEL",
    answer=ANSWER,
    syntax=CoreSyntax(),
    evaluators=CoreEvaluators(
        {
            "denotational": BuiltIn.from_matches(_denotational, _no_valuations),
            "automaton": BuiltIn.guarded(_prepare_automaton, _no_valuations, False, _readable_batches),
            "kernel": BuiltIn.guarded(_prepare_loops, _no_valuations, True, _compiled_batches),
        }
    ),
    explanations=CoreExplanations(),
    cases=CoreCases(),
    deciders=CoreDeciders(),
    hypotheses=_interpretation,
)
