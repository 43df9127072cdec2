"""SASE+ (sase07, icde08) as a plug-in.

Its six parts are in the order of `Language`. Methods check first that a query is well-formed, because the papers define
only such queries. Two SASE+ queries are compared by their translations to CEL, since there is no decider for SASE+
itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, get_args

from cerify.automata.evaluator import Consumption, Evaluator
from cerify.languages.language import (
    NO_COMMENTS,
    BuiltIn,
    Cases,
    Checked,
    Deciders,
    DecisionQuestion,
    Evaluation,
    Evaluators,
    Explanations,
    Language,
    Options,
    Syntax,
    instead,
    without_numba,
)
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Match, Schema, Stream
from cerify.semantics.parsing import UNITS_REWRITTEN
from cerify.semantics.predicates import Problem
from cerify.semantics.readings import Reading
from cerify.semantics.sase.check import missing_columns, problems, require_typed, require_wellformed
from cerify.semantics.sase.clauses import blocks_of, constructs, queries_of
from cerify.semantics.sase.parse import parse
from cerify.semantics.sase.syntax import Program, SaseQuery, SaseWindow, Tree, show
from cerify.semantics.values import Value

if TYPE_CHECKING:
    from cerify.automata.cea.model import CEA
    from cerify.draw.diagram import Diagram
    from cerify.draw.recording import Recording
    from cerify.equivalence.generate.shrink import Generator, QueryOperations
    from cerify.explanations.explanation import Explainer
    from cerify.hypotheses.interpretation import Interpretation
    from cerify.languages.language import Streamed
    from cerify.semantics.cel.syntax import Formula


class SaseSyntax(Syntax[Tree]):
    """The syntax of SASE+."""

    trees = get_args(Tree)
    timed = (SaseWindow, Program)
    ordered = (SaseWindow,)
    parse = staticmethod(parse)
    show = staticmethod(show)
    problems = staticmethod(problems)
    require_typed = staticmethod(require_typed)
    missing_columns = staticmethod(missing_columns)
    constructs = staticmethod(constructs)
    mark = r"(?i)\bSEQ\s*\(|\bPATTERN\b(?!\s*\()|\bskip_till_|\bstrict_contiguity\b"
    rewritten = UNITS_REWRITTEN
    foreign: ClassVar = {
        **instead({"FILTER": "WHERE", "SELECT": "RETURN", "->": ",", ";": ",", "&&": "AND", "||": "OR"}),
        **instead({"=>": ">=", "=<": "<=", "==": "=", "<>": "!=", "LIMIT DURATION": "WITHIN 5 minutes"}),
        **instead({"*": "A+ a[] for one or more events"}),
        **dict.fromkeys(("SEQ", "EVENT"), "a query begins with PATTERN, as in PATTERN SEQ(A a, B b)"),
        ".": 'quote a name with a dot, as in a."user.id" or ["user.id"]',
        ",": "write a variable after each type, as in SEQ(A a, B b), and AND between conditions",
        **dict.fromkeys(
            ("!", "NOT", "NOT (", "~ ("), "for no B in between write ~B b, without brackets, as in SEQ(A a, ~B b, C c)"
        ),
        **{
            f"{name.upper()} {{": f"the strategy is called {name}_match, as in {name}_match(a, b) {{{{ ... }}}}"
            for name in ("skip_till_next", "skip_till_any")
        },
        "WHERE {": "write a strategy before the bracket, as in WHERE skip_till_any_match(a, b) {{ ... }}",
        "LIMIT": "{title} has no LIMIT: it reports all matches; to stop after three, use cerify match --limit 3",
        '"': "a string stands in single quotes, as in 'text'",
        **NO_COMMENTS,
    }

    def constants(self, query: Tree) -> list[Value]:
        from cerify.equivalence.generate.sase import SASE

        blocks = [q for part in queries_of(query) for q in blocks_of(part)]
        windows = [q.within.seconds for q in blocks if q.within is not None]
        return [*windows, *SASE.constants(query)]

    def check(self, query: Tree, schema: Schema | None) -> Checked:
        from cerify.semantics.sase.clauses import beyond_cayuga, beyond_sql_ts, operators, strategies

        fragment: dict[str, Any] = {
            "strategies": sorted(strategies(query)),
            "operators": sorted(operators(query)),
            "beyond_sql_ts": beyond_sql_ts(query),
            "beyond_cayuga": beyond_cayuga(query),
        }
        lines = [f"SASE+: {', '.join([*fragment['strategies'], *fragment['operators']])}"]
        for name, why in (("SQL-TS", fragment["beyond_sql_ts"]), ("Cayuga", fragment["beyond_cayuga"])):
            lines.append(
                f"not in the fragment compared with {name}: {'; '.join(why)}"
                if why
                else f"in the fragment compared with {name}"
            )
        return Checked(fragment, "\n".join(lines), problems(query, schema))

    def stream_problems(self, query: Tree, S: Stream) -> Iterable[Problem]:
        from cerify.semantics.sase.interpreter import keyless_events

        return keyless_events(query, S)

    def stream_read(self, query: Tree, S: Stream) -> Stream:
        from cerify.semantics.sase.clauses import source_of

        made = any(source_of(part) is not None for part in blocks_of(queries_of(query)[-1]))
        return self.language.explanations.explainer(query, S, "").S if made else S


class SaseEvaluators(Evaluators[Tree]):
    """The evaluators of SASE+."""

    def open_test(self, query: Tree, S: Stream, options: Options) -> Callable[[Match], bool] | None:
        from cerify.semantics.sase.interpreter import open_test

        return open_test(query, S, options.reading)

    def streamed(self, query: Tree, schema: Schema | None, options: Options) -> Streamed | Unsupported:
        """Return the query if it can report matches while a stream is read, or else the reason why not.

        It can if it is a single block over the input without negation.
        """
        from cerify.automata.nfab.programs import why_not

        if not isinstance(query, SaseQuery) or query.returned.non_overlap:
            return Unsupported("only the end of the stream decides which matches the query has")
        if any(k.negated for k in query.pattern):
            return Unsupported("a negated component may depend on events before the match begins")
        return why_not(query) or query


class SaseExplanations(Explanations[Tree]):
    """The explanations and drawings of queries of SASE+."""

    def explainer(self, query: Tree, S: Stream, text: str) -> Explainer[Any]:
        from cerify.explanations.sase import SaseExplainer

        return SaseExplainer(query, S, text)

    def automaton(self, query: Tree, schema: Schema | None, budget: Budget) -> CEA:
        raise Unsupported("the HOA format cannot express the buffer of an NFA^b; draw it with --svg or --dot")

    def diagram(self, query: Tree, title: str, schema: Schema | None, budget: Budget) -> Diagram:
        """Return an automaton for each query block."""
        from cerify.draw.automata import diagram_of_query

        require_wellformed(query)
        return diagram_of_query(query, title)

    def record(self, query: Tree, S: Stream, title: str, options: Options) -> Recording:
        from cerify.draw.recording import record_sase

        require_wellformed(query)
        return record_sase(query, S, title, options.reading, options.budget)


class SaseCases(Cases[Tree]):
    """The random cases of SASE+."""

    def operations(self) -> QueryOperations[Tree]:
        from cerify.equivalence.generate.sase import SASE

        return SASE

    def generator(self) -> Generator[Tree]:
        from cerify.equivalence.generate.sase import SASE_GENERATOR

        return SASE_GENERATOR


class SaseDeciders(Deciders[Tree]):
    """The comparisons of queries of SASE+."""

    decides_its_own = False

    def needs_order(self, query: Tree) -> bool:
        return any(block.within is not None for part in queries_of(query) for block in blocks_of(part))

    def formula_to_compare(self, query: Tree, question: DecisionQuestion) -> Formula | Unsupported:
        """Return the translation to CEL, which has the same matches if no time decreases."""
        from cerify.equivalence.rewrite.translate_sase import sase_to_cel

        if question.order == "any" and self.needs_order(query):
            return Unsupported(
                "a SASE+ window can be compared with a CEL window only if times do not decrease; choose the "
                "order non-decreasing"
            )
        try:
            require_wellformed(query)
            return sase_to_cel(query)
        except Unsupported as error:
            return error

    @property
    def translations(self) -> Mapping[str, Callable[[Tree, Reading], Any]]:
        from cerify.equivalence.eql.translate import sase_to_eql
        from cerify.equivalence.rewrite.translate_row_pattern import sase_to_row
        from cerify.equivalence.rewrite.translate_sase import require_written, sase_to_cel, sase_to_expression

        def in_cel(query: Tree, reading: Reading) -> Any:
            require_wellformed(query)
            return require_written(sase_to_cel(query, reading))

        def in_expression(query: Tree, reading: Reading) -> Any:
            require_wellformed(query)
            return sase_to_expression(query, reading)

        def in_row_pattern(query: Tree, reading: Reading) -> Any:
            require_wellformed(query)
            return sase_to_row(query, reading)

        def in_eql(query: Tree, reading: Reading) -> Any:
            require_wellformed(query)
            return sase_to_eql(query)

        return {"cel": in_cel, "event-expression": in_expression, "row-pattern": in_row_pattern, "eql": in_eql}


def _readable_batches(q: Tree, schema: Schema | None, options: Options) -> Evaluator | Unsupported:
    """Return the batch evaluator in plain Python, or why there is none."""
    from cerify.automata.nfab.evaluators import ReadableSaseEvaluator

    block = _block_of(q, options)
    if isinstance(block, Unsupported):
        return block
    return ReadableSaseEvaluator(block, options.reading, options.budget, options.aggregates)


def _compiled_batches(q: Tree, schema: Schema | None, options: Options) -> Evaluator | Unsupported:
    """Return the compiled batch evaluator, or why there is none."""
    from cerify.automata.nfab.evaluators import CompiledSaseEvaluator
    from cerify.automata.nfab.programs import why_not

    block = _block_of(q, options)
    if isinstance(block, Unsupported):
        return block
    return (
        without_numba()
        or why_not(block)
        or CompiledSaseEvaluator(block, options.reading, options.budget, options.aggregates)
    )


def _block_of(q: Tree, options: Options) -> SaseQuery | Unsupported:
    """Return the single block of a query that can be evaluated in batches, or why there is none."""
    from cerify.automata.nfab.evaluators import block_of

    require_wellformed(q)
    if options.consumption is not Consumption.NONE:
        return Unsupported("SASE+ has no consumption: write NON-OVERLAP after RETURN, or `!` after an array")
    return block_of(q)


# Evaluation requires a well-formed query: a problem that needs no schema is an error, not also a warning.


def _evaluation(matches_of: Callable[..., Iterable[Match]], bindings: Any, q: Tree, options: Options) -> Evaluation:
    """Return the evaluation of a query. matches_of: finds the matches of the query, given `bindings` for its blocks."""

    def evaluate(S: Stream) -> Iterable[Match]:
        return matches_of(q, S, bindings, options.reading, options.budget, options.aggregates)

    return evaluate


def _prepare_definition(q: Tree, schema: Schema | None, options: Options) -> Evaluation:
    """Return the evaluation of a query by its definition. Raises IllFormed."""
    from cerify.semantics.sase.denote import bindings
    from cerify.semantics.sase.interpreter import matches_of

    require_wellformed(q)
    return _evaluation(matches_of, bindings, q, options)


def _prepare_automaton(q: Tree, schema: Schema | None, options: Options) -> Evaluation:
    """Return the evaluation of a query by the NFA^b in plain Python. Raises IllFormed."""
    from cerify.automata.nfab.evaluate import bindings
    from cerify.automata.nfab.evaluators import matches_of

    require_wellformed(q)
    return _evaluation(matches_of, bindings, q, options)


def _prepare_loops(q: Tree, schema: Schema | None, options: Options) -> Evaluation | Unsupported:
    """Return the evaluation of a query by the NFA^b with compiled code, or why there is none. Raises IllFormed."""
    require_wellformed(q)
    if (missing := without_numba()) is not None:
        return missing
    from cerify.automata.nfab.compiled import bindings
    from cerify.automata.nfab.evaluators import matches_of

    return _evaluation(matches_of, bindings, q, options)


def _interpretation() -> Interpretation:
    from cerify.hypotheses.sase import INTERPRETATION

    return INTERPRETATION


LANGUAGE: Language[Tree] = Language(
    name="sase",
    title="SASE+",
    results=True,
    unsaved=(
        "over a stream, a SASE+ query must have WITHIN, and neither NON-OVERLAP, UNION nor named streams; use "
        "cerify.spark.match on data at rest instead"
    ),
    settings=frozenset({"aggregates", "reading"}),
    loops=("PATTERN SEQ(A+ a[], A b) WHERE [x] RETURN b.x",),
    syntax=SaseSyntax(),
    evaluators=SaseEvaluators(
        {
            "denotational": BuiltIn(_prepare_definition),
            "automaton": BuiltIn(_prepare_automaton, batches=_readable_batches),
            "kernel": BuiltIn(_prepare_loops, True, _compiled_batches),
        }
    ),
    explanations=SaseExplanations(),
    cases=SaseCases(),
    deciders=SaseDeciders(),
    hypotheses=_interpretation,
)
