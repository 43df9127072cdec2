"""core-CEL (cep17) as a plug-in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, get_args

from cerify.automata.evaluator import Consumption, Evaluator, Output
from cerify.languages import LANGUAGES
from cerify.languages.built_in import FOREIGN, BuiltInLanguage
from cerify.languages.language import DENOTATIONAL, BuiltIn, Checked, Evaluation, Options, Question
from cerify.semantics.budget import Budget
from cerify.semantics.core_cel.operators import OPERATORS
from cerify.semantics.core_cel.parse import parse
from cerify.semantics.core_cel.show import show
from cerify.semantics.core_cel.syntax import Formula, Last, Max, Next, Strict, size
from cerify.semantics.core_cel.wellformed import is_unary, problems, require_typed
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Match, Schema, Stream
from cerify.semantics.sase.reading import Reading
from cerify.semantics.selection import Selection

if TYPE_CHECKING:
    from cerify.automata.cea.model import CEA
    from cerify.draw.recording import Recording
    from cerify.equivalence.verdict import Bounded, Different, Undecided, Verdict
    from cerify.explanations.explainer import Explainer
    from cerify.languages.language import Streamed
    from cerify.semantics.cel.syntax import Formula as CelFormula

ANSWER = "the answer of a core-CEL query is its complex events"


class CoreCel(BuiltInLanguage[Formula]):
    """core-CEL."""

    name = "core-cel"
    title = "core-CEL"
    trees = get_args(Formula)
    package = "core_cel"
    constant = "CORE_CEL"
    operators = OPERATORS
    parse = staticmethod(parse)
    show = staticmethod(show)
    problems = staticmethod(problems)
    require_typed = staticmethod(require_typed)
    size = staticmethod(size)
    strategies: ClassVar = {Selection.STRICT: Strict, Selection.NEXT: Next, Selection.LAST: Last, Selection.MAX: Max}
    answer = ANSWER
    mark = r"\b(FILTER|AS)\b"
    foreign: ClassVar = {
        **FOREIGN,
        ";": "T AS x ; H AS y, each type with a variable",
        "+": "after a variable, as in (T AS x)+",
    }

    def plain_matches(self, query: Formula, S: Stream, output: Output, budget: Budget) -> Iterable[Match]:
        """The matches by cep17, section 3, clause by clause, under every valuation."""
        from cerify.semantics.core_cel.interpreter import by_clauses

        return by_clauses(query, S, budget)

    @cached_property
    def evaluators(self) -> Mapping[str, BuiltIn[Formula]]:
        return {
            "denotational": BuiltIn.of(_denotational, _no_valuations),
            "automaton": BuiltIn.guarded(
                partial(_evaluation, "automaton"), _no_valuations, False, partial(_batches, "automaton")
            ),
            "kernel": BuiltIn.guarded(
                partial(_evaluation, "kernel"), _no_valuations, True, partial(_batches, "kernel")
            ),
        }

    def waits(self, query: Formula) -> bool:
        from cerify.automata.cea.compile_core import looks_ahead

        return bool(looks_ahead(query))

    def rewrites(self, query: Formula, evaluator: str) -> tuple[str, ...]:
        by_way = (
            evaluator != DENOTATIONAL and not is_unary(query) and not isinstance(_in_cel(query, Budget()), Unsupported)
        )
        return ("cel",) if by_way else ()

    def check(self, query: Formula, schema: Schema | None) -> Checked:
        from cerify.semantics.core_cel import wellformed

        fragment = {
            "unary": wellformed.is_unary(query),
            "well_formed": wellformed.is_well_formed(query),
            "safe": wellformed.is_safe(query),
            "lp_normal": wellformed.is_lp_normal(query),
        }
        words = (name.replace("_", "-") if yes else f"not {name.replace('_', '-')}" for name, yes in fragment.items())
        return Checked(fragment, f"core-CEL: {', '.join(words)}", problems(query, schema))

    def in_cel(self, query: Formula, budget: Budget) -> CelFormula | Unsupported:
        return _in_cel(query, budget)

    def compare(self, left: Formula, right: Formula, question: Question) -> Verdict:
        """By way of CEL."""
        from cerify.equivalence.verdict import Undecided

        phi, psi = (_in_cel(query, question.budget) for query in (left, right))
        for refused in (phi, psi):
            if isinstance(refused, Unsupported):
                return Undecided(refused.described())
        return LANGUAGES["cel"].compare(phi, psi, question)

    def difference(
        self, left: Formula, right: Formula, schema: Schema, budget: Budget = Budget()
    ) -> Different | Bounded | Undecided | None:
        """Of unary queries decided by their own automata, also where one has no formula of CEL."""
        if not (is_unary(left) and is_unary(right)):
            return super().difference(left, right, schema, budget)
        from cerify.automata.cea.compile_core import compile_core
        from cerify.equivalence.decide.automata import difference
        from cerify.equivalence.verdict import Different

        S = difference(compile_core(left), compile_core(right), "events", schema)
        if S is None:
            return None
        at = len(S) - 1
        one, other = ({m for m in self.matches(query, S) if m.at == at} for query in (left, right))
        return Different(S, at, tuple(sorted(one - other)), tuple(sorted(other - one)), True)

    @property
    def normal_forms(self) -> Mapping[str, Callable[[Formula, int], Formula] | None]:
        from cerify.equivalence.rewrite.normal_forms.core_disjunctive import disjunctive
        from cerify.equivalence.rewrite.normal_forms.core_lp_normal import lp_normal
        from cerify.equivalence.rewrite.normal_forms.core_safe import safe

        return {"disjunctive": disjunctive, "safe": safe, "lp-normal": lp_normal}

    @property
    def translations(self) -> Mapping[str, Callable[[Formula, Reading], Any]]:
        return {"cel": lambda phi, _: self.cel_formula(phi, Budget())}

    def explainer(self, query: Formula, S: Stream, text: str) -> Explainer[Any]:
        from cerify.explanations.core_cel import CoreExplainer

        return CoreExplainer(query, list(self.matches(query, S)), S, text)

    def streamed(self, query: Formula, schema: Schema | None, options: Options) -> Streamed | Unsupported:
        """By its formula of CEL."""
        psi = _in_cel(query, options.budget)
        return psi if isinstance(psi, Unsupported) else LANGUAGES["cel"].streamed(psi, schema, options)

    def automaton(self, query: Formula, schema: Schema | None, budget: Budget) -> CEA:
        """Of its formula of CEL."""
        from cerify.automata.cea.compile import compile_cel

        return compile_cel(self.cel_formula(query, budget), budget)

    def record(self, query: Formula, S: Stream, title: str, options: Options) -> Recording:
        from cerify.draw.record_cel import record

        return record(self.cel_formula(query, options.budget), S, title, options.output, options.budget)


def _denotational(phi: Formula, S: Stream, options: Options) -> Iterable[Match]:
    from cerify.semantics.core_cel.interpreter import matches_of

    return matches_of(phi, S, options.budget)


def _evaluation(evaluator: str, phi: Formula, schema: Schema | None, options: Options) -> Evaluation | Unsupported:
    """By an automaton of core-CEL; a formula whose filters compare events by its formula of CEL, if it has one.

    Where it has none, the complex events of an automaton are checked.
    """
    from cerify.automata.evaluate.answers import at_most

    matches: Callable[[Formula, Stream, Budget], list[Match]]
    if evaluator == "automaton":
        from cerify.automata.evaluate.core import matches
    else:
        from cerify.automata.evaluate.compiled_core_evaluator import matches
    if is_unary(phi):
        return lambda S: matches(phi, S, options.budget)
    psi = _in_cel(phi, options.budget)
    if isinstance(psi, Unsupported):
        from cerify.automata.evaluate import core_membership

        return lambda S: at_most(options.budget.matches, core_membership.found(phi, S, options.budget, matches))
    found = LANGUAGES["cel"].evaluators[evaluator].prepare(psi, schema, options)
    return found if isinstance(found, Unsupported) else lambda S: at_most(options.budget.matches, iter(found(S)))


def _batches(evaluator: str, phi: Formula, schema: Schema | None, options: Options) -> Evaluator | Unsupported:
    if is_unary(phi) and options.consumption is Consumption.NONE:
        if evaluator == "automaton":
            from cerify.automata.evaluate.readable_evaluator import ReadableCoreEvaluator

            return ReadableCoreEvaluator(phi, options.budget)
        from cerify.automata.evaluate.compiled_core_evaluator import CompiledCoreEvaluator

        return CompiledCoreEvaluator(phi, options.budget)
    psi, make = _in_cel(phi, options.budget), LANGUAGES["cel"].evaluators[evaluator].batches
    assert make is not None
    return psi if isinstance(psi, Unsupported) else make(psi, schema, options)


@lru_cache(16)
def _in_cel(phi: Formula, budget: Budget) -> CelFormula | Unsupported:
    from cerify.equivalence.rewrite.translate.to_cel import translated

    return translated(phi, budget)


def _no_valuations(phi: Formula, schema: Schema | None, options: Options) -> Unsupported | None:
    if options.output == "matches":
        return None
    return Unsupported(f"{ANSWER}; its valuations are not listed")


LANGUAGE = CoreCel()
