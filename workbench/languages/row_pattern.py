"""SQL's MATCH_RECOGNIZE (ISO/IEC 9075-2) as a plug-in.

Its six parts are in the order of `Language`. The answer of a clause is a table, so the evaluators make rows besides
matches. The dialects of databases differ in syntax and in readings of the standard; both are options of the query here,
not languages of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from cerify.languages.language import (
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
    OutputTable,
    Syntax,
    TestLogs,
    instead,
    without_numba,
)
from cerify.semantics.arguments import Budget, too_many_matches
from cerify.semantics.errors import BudgetExceeded, MissingPackage, Unsupported
from cerify.semantics.events import Match, Schema, Stream
from cerify.semantics.predicates import Problem
from cerify.semantics.readings import STANDARD, Reading
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.check import (
    WHOLE,
    column_types,
    may_be_empty,
    missing_columns,
    problems,
    require_typed,
    require_wellformed,
)
from cerify.semantics.row_pattern.interpreter import OutputRow, RowOutput, labels_of
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.scalars import NumberedMatch
from cerify.semantics.row_pattern.syntax import (
    ROW,
    MatchRecognize,
    RowColumn,
    constructs,
    features,
    show,
    show_expression,
    show_pattern,
)
from cerify.semantics.trees import subtrees
from cerify.semantics.values import Value, plain

if TYPE_CHECKING:
    from cerify.automata.cea.model import CEA
    from cerify.automata.dfa.model import DFA
    from cerify.automata.row_pattern.compiled import Found
    from cerify.automata.row_pattern.evaluate import MeasureRegisters
    from cerify.draw.diagram import Diagram
    from cerify.draw.recording import Recording
    from cerify.equivalence.generate.shrink import Generator, QueryOperations
    from cerify.equivalence.verdict import Certificate, Different, Level, Undecided, Verdict
    from cerify.explanations.explanation import Explainer
    from cerify.hypotheses.interpretation import Interpretation
    from cerify.semantics.cel.syntax import Formula


class RegisterOutput(RowOutput):
    """The output rows of a clause by the default reading.

    The measures of a match are computed in time linear in the number of its rows.
    """

    @cached_property
    def registers(self) -> MeasureRegisters:
        """Return the registers from which the measures are computed."""
        from cerify.automata.row_pattern.evaluate import MeasureRegisters

        return MeasureRegisters(self.q)

    def measures(self, match: NumberedMatch, seen: Sequence[int]) -> Iterator[OutputRow]:
        if not match.events:
            return super().measures(match, seen)
        from cerify.automata.row_pattern.evaluate import LabelledRows

        f = self.frame(match, labels_of(match), len(match.events))
        return self.registers.measures(LabelledRows(f.partition, f.visible, f.start, f.labels, f.number), seen)


class RowSyntax(Syntax[MatchRecognize]):
    """The syntax of MATCH_RECOGNIZE."""

    trees = (MatchRecognize,)
    naming_others = (rows.RowVariable, rows.Measure, rows.Subset, rows.RowDefinition)
    parse = staticmethod(parse)
    show = staticmethod(show)
    problems = staticmethod(problems)
    require_typed = staticmethod(require_typed)
    missing_columns = staticmethod(missing_columns)
    constructs = staticmethod(features)
    mark = r"(?i)\b(MATCH_RECOGNIZE|PATTERN\s*\(|DEFINE|MEASURES|SELECT\b.*\bFROM)"
    foreign: ClassVar = {
        "SELECT": "write the clause MATCH_RECOGNIZE (...) alone, without SELECT ... FROM",
        "->": "write nothing between two variables, as in PATTERN (A B)",
        **instead({"::": "CAST(price AS DOUBLE)", "==": "=", "=>": ">=", "=<": "<=", "&&": "AND"}),
        "LIMIT": "a clause reports all matches; LIMIT belongs to the SELECT around it",
    }

    def looks_like(self, text: str) -> str:
        has_clause = re.search(r"(?i)\b(MATCH_RECOGNIZE|PATTERN|DEFINE|MEASURES)\b", text)
        return self.language.title if has_clause else "SQL; only MATCH_RECOGNIZE is supported"

    def operator_of(self, query: MatchRecognize) -> str:
        return ""

    def children(self, query: MatchRecognize) -> tuple[MatchRecognize, ...]:
        return ()

    def size(self, query: MatchRecognize) -> int:
        return sum(1 for root in (query.pattern, *query.expressions) for _ in subtrees(root))

    def constants(self, query: MatchRecognize) -> list[Value]:
        return [value for e in query.expressions for value in rows.constants(e)]

    def check(self, query: MatchRecognize, schema: Schema | None) -> Checked:
        from cerify.automata.row_pattern.compile import at_fixed_distances, why_not
        from cerify.equivalence.decide.row_clauses import idle_quantifiers, parts_without_rows
        from cerify.semantics.row_pattern.check import skip_failures, types_of, whole_divisions

        fixed = query
        with suppress(BudgetExceeded):  # _never reports that the clause is too large
            fixed = at_fixed_distances(query)
        fragment: dict[str, Any] = {
            "operators": sorted(constructs(query)),
            "variables": list(query.primary),
            "may_be_empty": may_be_empty(query.pattern),
            "columns_only": (why := why_not(fixed)) is None,
            "skip_may_fail": skip_failures(query),
            "never_taken": [],
            "reluctant_without_effect": [],
            "whole_divisions": [],
            "never_true": [],
            "no_match": False,
            "fewest": [],
            "too_large": None,
        }
        found = problems(query, schema)
        if schema is not None and not found:
            types = types_of(column_types(schema))
            divisions = (one for e in query.expressions for one in whole_divisions(e, types))
            fragment["whole_divisions"] = list(dict.fromkeys(map(show_expression, divisions)))
        if not found:
            fragment |= _never(query, schema)
        with suppress(BudgetExceeded):  # then unused parts are not reported
            if not found:
                fragment["never_taken"] = list(map(show_pattern, parts_without_rows(fixed, schema)))
                fragment["reluctant_without_effect"] = list(map(show_pattern, idle_quantifiers(fixed, schema)))
        if fragment["no_match"]:
            message = "no table has a match" + _IN_FRAMES * (query.window is not None)
            found = [*found, Problem("never", message, query.pattern.span, advice="relax PATTERN or DEFINE")]
        return Checked(fragment, "\n".join(_said(query, fragment, why)), found)


class RowEvaluators(Evaluators[MatchRecognize]):
    """The evaluators of MATCH_RECOGNIZE."""

    def output_table(self, query: MatchRecognize, S: Stream, found: Iterable[Match], options: Options) -> OutputTable:
        made = RowOutput(query, S, options.row_reading)
        return OutputTable(made.columns, tuple(made.rows(m for m in found if isinstance(m, NumberedMatch))))

    def table_by_loops(self, query: MatchRecognize, S: Stream, options: Options) -> OutputTable | None:
        made = RowOutput(query, S, options.row_reading)
        if _no_kernel(query, S.schema, options) or not all(isinstance(e, RowColumn) for e in made.keys.values()):
            return None
        from cerify.automata.row_pattern.compiled import compiled_blocks, output_blocks

        q, found, number, length = made.q, compiled_blocks(query, S, options.budget), 0, 0
        table, automaton, _ = found
        shown = [e.name for e in made.keys.values() if isinstance(e, RowColumn)]
        chunks: list[list[Any]] = [[] for _ in made.columns]

        def values_of(name: str, rows: Any) -> Any:
            if not S.is_columnar:
                return [table.lists[name][row] if name in table.lists else None for row in rows.tolist()]
            if name not in S.table.column_names:
                return [None] * len(rows)
            return S.table[name].take(table.positions[rows])

        for block in output_blocks(q, found):
            number += len(block.made.block.begins)
            if number > options.budget.matches:
                raise too_many_matches(options.budget.matches)
            length += len(block.places)
            columns = [values_of(name, block.places) for name in shown]
            for one in q.measures:
                values = block.made.measure(one.expression)
                if values is None:  # of several types, or beyond 64 bits
                    by_registers = RegisterOutput(replace(q, measures=(one,)), S)
                    matches = block.made.block.matches(automaton, table.positions, q.window is not None)
                    listed = [value for match in matches for _, (value,) in by_registers.measured(match)]
                    columns.append(block.spread_list(listed))
                else:
                    columns.append(block.spread(values))
            columns += [values_of(name, block.places) for name in made.other_columns]
            for some, values in zip(chunks, columns, strict=True):
                some.append(values)
        return OutputTable.from_columns(made.columns, map(_joined, chunks), length)


def _joined(chunks: Sequence[Any]) -> Any:
    """Return the column that consists of these Arrow arrays and lists: an Arrow array if all have one type."""
    import pyarrow as pa

    from cerify.semantics.arrow_columns import values_in

    if not any(isinstance(one, list) for one in chunks):
        arrays = [array for one in chunks for array in (one.chunks if isinstance(one, pa.ChunkedArray) else [one])]
        arrays = [array.dictionary_decode() if pa.types.is_dictionary(array.type) else array for array in arrays]
        types = {array.type for array in arrays if array.null_count < len(array)}  # as in a list: NULL has no type
        if len(types) < 2:
            type_ = types.pop() if types else pa.null()
            typed = (array if array.type == type_ else pa.nulls(len(array), type_) for array in arrays)
            return pa.chunked_array(typed, type_)
    return [value for one in chunks for value in (one if isinstance(one, list) else values_in(one))]


class RowExplanations(Explanations[MatchRecognize]):
    """The explanations and drawings of queries of MATCH_RECOGNIZE."""

    def explainer(self, query: MatchRecognize, S: Stream, text: str) -> Explainer[Any]:
        from cerify.explanations.row_pattern import RowExplainer

        require_wellformed(query)
        return RowExplainer(query, S, text)

    def automaton(self, query: MatchRecognize, schema: Schema | None, budget: Budget) -> CEA | DFA:
        raise Unsupported(
            "the transitions of a row pattern are in an order of preference, which HOA cannot express; "
            "draw it with -o, --svg or --dot"
        )

    def diagram(self, query: MatchRecognize, title: str, schema: Schema | None, budget: Budget) -> Diagram:
        from cerify.draw.automata import diagram_of_clause

        require_wellformed(query)
        return diagram_of_clause(query, title, budget)

    def test_logs(self, query: MatchRecognize, schema: Schema | None = None, /) -> TestLogs:
        """Return tables, with their output, that detect clauses that differ from this one in one place."""
        from cerify.equivalence.generate.row_tests import make_table_tests

        found = make_table_tests(query, schema, Budget(states=5_000))
        lines = tuple(
            {
                "rows": [plain({**event.attributes}) for event in test.table],
                "expected": OutputTable(test.columns, test.rows).json(),
                "kills": list(test.kills),
            }
            for test in found.tests
        )
        killed = found.mutants - len(found.same) - len(found.undecided)
        summary = [f"{len(lines)} tables detect {killed} of {found.mutants} clauses that differ in one place"]
        summary += [f"means the same as the clause: {words}" for words in found.same]
        summary += [f"no table was found for: {words}" for words in found.undecided]
        return TestLogs(lines, tuple(summary), tuple(test.table for test in found.tests))

    def preference_tree(self, query: MatchRecognize, S: Stream, place: int, title: str) -> Diagram:
        from cerify.draw.automata import preference_tree

        require_wellformed(query)
        return preference_tree(query, S, place, title)

    def record(self, query: MatchRecognize, S: Stream, title: str, options: Options) -> Recording:
        from cerify.draw.recording import record_rows

        require_wellformed(query)
        return record_rows(query, S, title, options.budget)


class RowCases(Cases[MatchRecognize]):
    """The random cases of MATCH_RECOGNIZE."""

    def operations(self) -> QueryOperations[MatchRecognize]:
        from cerify.equivalence.generate.row_pattern import ROW_PATTERN

        return ROW_PATTERN

    def generator(self) -> Generator[MatchRecognize]:
        from cerify.equivalence.generate.row_pattern import ROW_PATTERN_GENERATOR

        return ROW_PATTERN_GENERATOR


class RowDeciders(Deciders[MatchRecognize]):
    """The comparisons of queries of MATCH_RECOGNIZE."""

    @property
    def translations(self) -> Mapping[str, Callable[[MatchRecognize, Reading], Any]]:
        from cerify.equivalence.rewrite.translate_row_pattern import row_to_cel

        def translated(query: MatchRecognize, _: Reading) -> Any:
            require_wellformed(query)
            return row_to_cel(query)

        def in_eql(query: MatchRecognize, _: Reading) -> Any:
            from cerify.equivalence.eql.translate import cel_to_eql

            require_wellformed(query)
            return cel_to_eql(row_to_cel(query))

        return {"cel": translated, "eql": in_eql}

    def formula_to_compare(self, query: MatchRecognize, question: DecisionQuestion) -> Formula | Unsupported:
        from cerify.equivalence.rewrite.translate_row_pattern import row_to_cel

        require_wellformed(query)
        try:
            return row_to_cel(query, question.budget)
        except Unsupported as error:
            return error

    def compare(self, left: MatchRecognize, right: MatchRecognize, question: DecisionQuestion) -> Verdict:
        """Decide whether two clauses have the same matches; if that is undecided, try short tables."""
        from cerify.equivalence.decide.replay import difference_on, search_tables
        from cerify.equivalence.decide.row_clauses import compare
        from cerify.equivalence.verdict import Different

        require_wellformed(left)
        require_wellformed(right)
        asked = question.claim, question.level, question.schema
        # The decider compares events. Equal events have equal positions, but a difference in events has to be checked.
        by: Level = "events" if question.level == "positions" else question.level
        try:
            verdict = compare(left, right, question.claim, by, question.schema, question.budget)
            if by == question.level:
                return verdict
            if not isinstance(verdict, Different):
                return replace(verdict, certificate=replace(verdict.certificate, level=question.level))
            found = difference_on(verdict.stream, left, right, question.claim, question.level)
            why = "their matches differ, but it is undecided whether matches end at different rows"
            return found or search_tables(left, right, *asked, question.bound, question.budget, why)
        except (Unsupported, BudgetExceeded) as error:
            return search_tables(left, right, *asked, question.bound, question.budget, error.message)

    def difference(
        self, left: MatchRecognize, right: MatchRecognize, schema: Schema, budget: Budget = Budget()
    ) -> Different | Undecided | None:
        """Return the difference that the decider finds. The caller tries short tables, so they are not tried here."""
        from cerify.equivalence.decide.row_clauses import compare
        from cerify.equivalence.verdict import Different, Undecided

        try:
            verdict = compare(left, right, "equivalent", "events", schema, budget)
        # It is an Unsupported too, but says nothing about the clauses: the user has to install a package.
        except MissingPackage:
            raise
        except Unsupported as error:
            return Undecided(error.message)
        return verdict if isinstance(verdict, Different) else None

    def unproved(self, certificate: Certificate, budget: Budget) -> str | None:
        from cerify.equivalence.decide.row_checker import row_flaw

        return row_flaw(certificate, budget)


CHECKED = 2_000  # ordered sets of threads that `check` explores to decide whether some table has a match
_IN_FRAMES = ": PREV and NEXT are NULL beyond the frame, and the pattern must fit into the frame"


def _said(query: MatchRecognize, fragment: Mapping[str, Any], why: Unsupported | None) -> list[str]:
    """Return the lines of `check` about a clause.

    why: the reason why matches must be searched by backtracking; None if the values of columns decide all conditions.
    """
    empty = "may match no row" if fragment["may_be_empty"] else "matches at least one row"
    summary = f"MATCH_RECOGNIZE over {', '.join(fragment['variables']) or 'no variable'}; the pattern {empty}"
    carried = "decided by columns alone" if why is None else f"searched by backtracking: {why.message}"
    return [
        summary,
        carried,
        *(f"AFTER MATCH SKIP can fail: {one}" for one in fragment["skip_may_fail"]),
        *(
            f"no match has a row of {p}: wherever it could, a preferred alternative matches"
            for p in fragment["never_taken"]
        ),
        *(f"{p} may as well be greedy: the matches are the same" for p in fragment["reluctant_without_effect"]),
        *(f"{p} always takes the fewest rows, because no part of the pattern follows it" for p in fragment["fewest"]),
        *fragment["never_true"],
        *([f"match refuses this clause: {fragment['too_large']}"] if fragment["too_large"] else []),
        *(f"{e} {WHOLE}" for e in fragment["whole_divisions"]),
    ]


def _never(q: MatchRecognize, schema: Schema | None) -> dict[str, Any]:
    """Find for `check` conditions that are never true, and whether the clause never matches or is too large."""
    from cerify.equivalence.decide.row_clauses import DefineConditions, fewest, shortest_match

    why = {
        "NULL": "is always NULL; test for NULL with IS NULL",
        "no row": "is always NULL, as its rows never come before this one",
        "one row": "compares a row with itself; PREV(...) is the row before",
        "contradiction": "contradicts itself",
    }
    found: dict[str, Any] = {"fewest": list(map(show_pattern, fewest(q.pattern)))}
    conditions = DefineConditions(q)
    try:
        _ = conditions.automaton
    except BudgetExceeded as error:
        return {"too_large": error.message}
    with suppress(BudgetExceeded):  # then they are not reported
        found["never_true"] = [
            f"{one.variable} is never true: {show_expression(one.part)} {why[one.why]}"
            for one in conditions.never_true()
        ]
        found["no_match"] = not conditions.match_is_possible()
    if not found.get("no_match"):
        with suppress(Unsupported, BudgetExceeded):
            found["no_match"] = shortest_match(q, schema, Budget(states=CHECKED)) is None
    return found


def blocks_by(evaluator: str) -> Callable[[MatchRecognize, Stream, Budget], Found]:
    """Return the function that finds matches by the evaluator `automaton` or `kernel`, as blocks of labelled rows."""
    from cerify.automata.row_pattern.compiled import compiled_blocks, readable_blocks

    return {"automaton": readable_blocks, "kernel": compiled_blocks}[evaluator]


def _no_automaton(q: MatchRecognize, schema: Schema | None, options: Options) -> Unsupported | None:
    """Return the reason why the automaton does not support the clause; None if it does.

    Raises IllFormed for errors found without a schema.
    """
    require_wellformed(q, options.row_reading)
    if options.row_reading != STANDARD:
        return Unsupported("only evaluator='denotational' supports readings other than the default")
    return None


def _no_kernel(q: MatchRecognize, schema: Schema | None, options: Options) -> Unsupported | None:
    """Return the reason why the compiled evaluator does not support the clause; None if it does.

    Raises IllFormed, BudgetExceeded.
    """
    from cerify.automata.row_pattern.compile import at_fixed_distances, why_not, why_not_compiled

    if (refused := _no_automaton(q, schema, options)) is not None:
        return refused
    q = at_fixed_distances(q, options.budget)
    return why_not(q) or why_not_compiled(q, options.budget)


def _prepare_definition(q: MatchRecognize, schema: Schema | None, options: Options) -> Evaluation:
    """Return the evaluation by the reference evaluator: matches with their bindings, and the measures as results."""
    from cerify.semantics.row_pattern.interpreter import find_matches

    def evaluate(S: Stream) -> Iterator[Match]:
        output = RowOutput(q, S, options.row_reading)
        return map(output.with_result, find_matches(q, S, budget=options.budget, reading=options.row_reading))

    require_wellformed(q, options.row_reading)
    return evaluate


def _prepare_automaton(q: MatchRecognize, schema: Schema | None, options: Options) -> Evaluation | Unsupported:
    """Return the evaluation by the automaton in plain Python, or why it is impossible."""
    from cerify.automata.row_pattern.evaluate import resolved_answers

    def evaluate(S: Stream) -> Iterator[Match]:
        output = RegisterOutput(q, S, options.row_reading)
        for match in resolved_answers(output.q, S, options.budget):
            yield output.with_result(match)

    return _no_automaton(q, schema, options) or evaluate


def _prepare_loops(q: MatchRecognize, schema: Schema | None, options: Options) -> Evaluation | Unsupported:
    """Return the evaluation by the compiled evaluator, or why it is impossible."""
    if (refused := _no_kernel(q, schema, options) or without_numba()) is not None:
        return refused
    from cerify.automata.row_pattern.compiled import find_matches

    def evaluate(S: Stream) -> Iterator[Match]:
        return map(RegisterOutput(q, S, options.row_reading).with_result, find_matches(q, S, budget=options.budget))

    return evaluate


def _interpretation() -> Interpretation:
    from cerify.hypotheses.row_pattern import INTERPRETATION

    return INTERPRETATION


LANGUAGE: Language[MatchRecognize] = Language(
    name="row-pattern",
    title="MATCH_RECOGNIZE",
    results=True,
    keeps_order=True,  # partition by partition, in the order of their first row
    settings=frozenset({"row_reading"}),
    row_type=ROW,
    loops=("MATCH_RECOGNIZE (PATTERN (A))",),
    syntax=RowSyntax(),
    evaluators=RowEvaluators(
        {
            "denotational": BuiltIn(_prepare_definition),
            "automaton": BuiltIn(_prepare_automaton),
            "kernel": BuiltIn(_prepare_loops, True),
        }
    ),
    explanations=RowExplanations(),
    cases=RowCases(),
    deciders=RowDeciders(),
    hypotheses=_interpretation,
)
