"""The interface between the workbench and a language: a `Language` has facts and six parts, and a module of its own.

No command, campaign, report or drawing branches on the language. It takes a part of the given `Language` (its syntax,
its evaluators, its explanations, its random cases, its deciders, its hypotheses about engines) and calls a method of
the part. To add a feature on which languages differ:

1. add a method to a part here, with its types. If every language must have it, make it abstract; else let it raise
   Unsupported, or return an empty value, so that a new language need not define it;
2. define the method in the modules beside this one, a module for each language. Put imports inside the method, so that
   they are loaded only when the method is first called;
3. call the method where the code would otherwise branch on the language.

To add a language, write a module with a `Language`, and call `register` or declare an entry point in the group
"cerify.languages"; see docs/guide/add-a-language.md.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeAlias, TypeVar, get_args

from cerify.automata.evaluator import Consumption, Evaluator, Output, require_output
from cerify.equivalence.verdict import Claim, Level, Order
from cerify.semantics.arguments import MOST, Budget, Selection, parse_reading, require_kind, require_whole
from cerify.semantics.cel.denote import Predicates
from cerify.semantics.cel.syntax import TimeWindow
from cerify.semantics.errors import IllFormed, InputError, MissingPackage, Unsupported, errors_in
from cerify.semantics.events import Event, Match, Schema, Stream
from cerify.semantics.predicates import Problem
from cerify.semantics.readings import (
    DECIDED,
    ELASTIC,
    SPECIFICATION,
    STANDARD,
    EqlReading,
    Operations,
    Reading,
    RowReading,
    SigmaReading,
)
from cerify.semantics.trees import Operator, node_word, subtrees
from cerify.semantics.values import Value, plain

if TYPE_CHECKING:
    import pyarrow as pa

    from cerify.automata.cea.model import CEA
    from cerify.automata.dfa.model import DFA
    from cerify.automata.dfa.parametric import Symbolic
    from cerify.draw.diagram import Diagram
    from cerify.draw.recording import Recording
    from cerify.equivalence.generate.shrink import Generator, QueryOperations
    from cerify.equivalence.verdict import Bounded, Certificate, Different, Undecided, Verdict
    from cerify.explanations.explanation import Explainer
    from cerify.explanations.near_misses import NearMissReport
    from cerify.hypotheses.interpretation import Interpretation
    from cerify.semantics.cel.syntax import Formula
    from cerify.semantics.sase.syntax import SaseQuery

    Streamed: TypeAlias = Evaluator | DFA | Symbolic | SaseQuery
    OutputValue: TypeAlias = Value | timedelta | None
    OutputRow: TypeAlias = tuple[OutputValue, ...]

F = TypeVar("F")
M = TypeVar("M")
EvaluatorName: TypeAlias = Literal["denotational", "automaton", "kernel"]
EVALUATORS: tuple[EvaluatorName, ...] = get_args(EvaluatorName)
DENOTATIONAL: EvaluatorName = "denotational"
"""The name of the reference evaluator, which follows the definition of a language clause by clause. Every language has
it, and the other evaluators are compared with it.
"""


@dataclass(frozen=True)
class Options:
    """The settings of an evaluation, besides the query and the stream. A language ignores settings of other languages.

    predicates: functions that a query of CEL may name. aggregates: functions that a query of SASE+ may name, besides
    the aggregates of the language. reading, row_reading, eql_reading, sigma_reading: answers to the questions that the
    definitions of SASE+, MATCH_RECOGNIZE, EQL and Sigma's correlations leave open. consumption: which events a match
    takes away from later matches. own: the options of a plug-in language, by name.

    Raises IllFormed for a value that an option does not allow; options are checked nowhere else.
    """

    output: Output = "matches"
    budget: Budget = Budget()
    predicates: Predicates = field(default_factory=dict)
    aggregates: Operations = field(default_factory=dict)
    reading: Reading = DECIDED
    row_reading: RowReading = STANDARD
    eql_reading: EqlReading = ELASTIC
    sigma_reading: SigmaReading = SPECIFICATION
    consumption: Consumption = Consumption.NONE
    own: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, kind, wanted in _KINDS:
            if not isinstance(getattr(self, name), kind):
                require_kind(_ARGUMENTS.get(name, name), getattr(self, name), kind, wanted)
        if self.output not in _OUTPUTS:
            require_output(self.output)


_KINDS: tuple[tuple[str, type, str], ...] = (
    ("budget", Budget, "a cerify.Budget"),
    ("predicates", Mapping, "a mapping from names to predicates"),
    ("aggregates", Mapping, "a mapping from names to aggregates"),
    ("reading", Reading, "a Reading"),
    ("row_reading", RowReading, "a RowReading"),
    ("eql_reading", EqlReading, "an EqlReading"),
    ("sigma_reading", SigmaReading, "a SigmaReading"),
    ("own", Mapping, "a mapping from names to values"),
)
_ARGUMENTS = {"own": "options"}  # the name of this argument in the functions of cerify.api
_OUTPUTS = get_args(Output)


READINGS: Mapping[str, type] = {
    "reading": Reading,
    "row_reading": RowReading,
    "eql_reading": EqlReading,
    "sigma_reading": SigmaReading,
}
"""The names of the Options that are readings, with their types."""


def reading_options(language: Language[Any], given: Iterable[str]) -> dict[str, Any]:
    """Parse texts such as window=closed; return the reading, as a keyword argument of Options. Raises InputError."""
    name = next((name for name in READINGS if name in language.settings), None)
    if name is not None:
        return {name: parse_reading(READINGS[name], given)}
    for text in given:
        raise InputError(f"{language.title} has no readings: leave out --reading {text}")
    return {}


Evaluation: TypeAlias = Callable[[Stream], Iterable[Match]]
"""A function that returns all matches of a query over a stream, in the order of positions.

The result is an iterator if the matches are found one by one. The function raises BudgetExceeded, and Unsupported for
problems that depend on the stream.
"""

Made: TypeAlias = Callable[[F, Schema | None, Options], M]
"""A function that returns an M, given a query, the schema of its streams (None for any stream) and options."""


def no_objection(query: Any, schema: Schema | None, options: Options) -> None:
    """Return None: the evaluator supports every query of its language."""
    return


def without_numba() -> Unsupported | None:
    """Return why compiled evaluators cannot run in this environment; None if they can."""
    if find_spec("numba") is not None:
        return None
    return MissingPackage("the compiled evaluator needs numba: pip install 'cerify[fast]'")


@dataclass(frozen=True)
class BuiltIn(Generic[F]):
    """A built-in evaluator of one language.

    prepare: a function from a query, a schema (None: any stream) and options to an evaluation. If the evaluator does
    not support the query, prepare returns an Unsupported instead of raising it. It raises BudgetExceeded. compiled:
    whether the evaluator's loops are compiled at first use, which takes seconds. batches: like prepare, but returns a
    batch evaluator; None if the language is evaluated over whole streams only. Only `batches` follows
    options.consumption.
    """

    prepare: Made[F, Evaluation | Unsupported]
    compiled: bool = False
    batches: Made[F, Evaluator | Unsupported] | None = None

    @classmethod
    def guarded(
        cls,
        prepare: Made[F, Evaluation | Unsupported],
        why_not: Made[F, Unsupported | None] = no_objection,
        compiled: bool = False,
        batches: Made[F, Evaluator | Unsupported] | None = None,
    ) -> BuiltIn[F]:
        """Make an evaluator from `prepare`, for those queries only for which `why_not` returns None.

        For other queries the evaluator returns what `why_not` returns, the reason why it does not support them.
        compiled: whether it needs numba; without numba it supports no query. prepare, batches: see BuiltIn.
        """

        def guard(make: Made[F, M]) -> Made[F, M | Unsupported]:
            def make_unless_refused(query: F, schema: Schema | None, options: Options) -> M | Unsupported:
                refused = why_not(query, schema, options) or (without_numba() if compiled else None)
                return refused or make(query, schema, options)

            return make_unless_refused

        return cls(guard(prepare), compiled, None if batches is None else guard(batches))

    @classmethod
    def from_matches(
        cls,
        matches: Callable[[F, Stream, Options], Iterable[Match]],
        why_not: Made[F, Unsupported | None] = no_objection,
        compiled: bool = False,
        batches: Made[F, Evaluator | Unsupported] | None = None,
    ) -> BuiltIn[F]:
        """Make an evaluator from `matches`, a function that takes a query, a stream and options and returns the
        matches.

        The other arguments are those of `guarded`.
        """

        def prepare(query: F, schema: Schema | None, options: Options) -> Evaluation:
            def evaluate(S: Stream) -> Iterable[Match]:
                return matches(query, S, options)

            return evaluate

        return cls.guarded(prepare, why_not, compiled, batches)

    def matches(self, query: F, S: Stream, options: Options) -> Iterable[Match]:
        """Return all matches in the order of positions. Raises Unsupported, BudgetExceeded."""
        evaluation = self.prepare(query, S.schema, options)
        if isinstance(evaluation, Unsupported):
            raise evaluation
        return evaluation(S)


@dataclass(frozen=True)
class Checked:
    """The facts about a query that are known before any event.

    fragment: the fragment of the language that contains the query, as JSON. summary: the fragment in words. problems:
    broken rules, and parts that make no sense under the schema. predicates: the names of the registered predicates that
    the query needs, each with its variables. satisfiable: whether the query matches on some stream; None if undecided.
    """

    fragment: Mapping[str, Any]
    summary: str
    problems: list[Problem]
    predicates: tuple[tuple[str, tuple[str, ...]], ...] = ()
    satisfiable: bool | None = None


@dataclass(frozen=True)
class DecisionQuestion:
    """A question to decide about two queries, on the streams of a schema (None: on all).

    bound: if no automaton decides, streams of at most this many events are searched. order: the order of the times in
    the streams. arrays: whether fields may have several values, in a language with such fields.
    """

    claim: Claim = "equivalent"
    level: Level = "events"
    schema: Schema | None = None
    bound: int = 4
    budget: Budget = Budget()
    order: Order = "non-decreasing"
    arrays: bool = True

    def __post_init__(self) -> None:
        if self.level not in get_args(Level):
            raise IllFormed(f"there is no level {self.level!r}; use one of {', '.join(get_args(Level))}")
        if self.order not in get_args(Order):
            raise IllFormed(f"there is no order {self.order!r} of times; use one of {', '.join(get_args(Order))}")
        if type(self.bound) is not int or not 0 <= self.bound <= MOST:
            require_whole("bound", self.bound)
        if not isinstance(self.budget, Budget):
            require_kind("budget", self.budget, Budget, "a cerify.Budget")


def compare_in_cel(
    left: tuple[Language[Any], Any],
    right: tuple[Language[Any], Any],
    question: DecisionQuestion,
    texts: tuple[str | None, str | None] = (None, None),
) -> Verdict:
    """Compare two queries, each given with its language, by their CEL formulas; Undecided if a query has no formula.

    texts: the texts of the queries for messages, if they are known.
    """
    from cerify.equivalence.verdict import Undecided
    from cerify.languages import LANGUAGES

    formulas: list[Formula] = []
    for (language, query), text in zip((left, right), texts, strict=True):
        with errors_in(text):
            formula = language.deciders.formula_to_compare(query, question)
        if isinstance(formula, Unsupported):
            formula.text = formula.text or text
            return Undecided(formula.described())
        formulas.append(formula)
    return _confirmed(LANGUAGES["cel"].deciders.compare(formulas[0], formulas[1], question), (left, right), question)


def _confirmed(verdict: Verdict, sides: Sequence[tuple[Language[Any], Any]], question: DecisionQuestion) -> Verdict:
    """Turn a verdict on CEL formulas into a verdict on the queries. A difference is confirmed by the queries'
    definitions.
    """
    from cerify.equivalence.verdict import Contained, Different, Equivalent, Undecided

    if isinstance(verdict, Equivalent | Contained) and any(lang.deciders.needs_order(query) for lang, query in sides):
        return replace(verdict, certificate=replace(verdict.certificate, order=question.order))
    if not isinstance(verdict, Different):
        return verdict
    has: list[set[tuple[int, ...]]] = []
    for lang, query in sides:
        evaluate = lang.evaluators[DENOTATIONAL].prepare(query, verdict.stream.schema, Options(budget=question.budget))
        if isinstance(evaluate, Unsupported):
            return Undecided(evaluate.message)
        has.append({match.events for match in evaluate(verdict.stream) if match.at == verdict.at})
    left, right = has
    # At this level it is the same whichever events the matches have.
    if question.level == "positions" and left and right:
        left = right = set()
    if left - right or (question.claim == "equivalent" and right - left):
        return verdict
    return Undecided(
        "the CEL formulas of the queries differ on a stream on which the queries agree, so comparing the formulas does "
        "not decide whether the queries are the same"
    )


@dataclass(frozen=True, order=True)
class ValuedMatch(Match):
    """A match of an event expression, with the values of the expression's attribute variables."""

    values: tuple[tuple[str, Value], ...] = ()

    def json(self) -> dict[str, Any]:
        return super().json() | {"values": plain(dict(self.values))}


class OutputTable:
    """The table that a query makes of its matches: the names of its columns, and its rows in order.

    rows: tuples. A table of the compiled evaluator consists of Arrow columns; its rows are built when first asked for.

      >>> OutputTable(("day", "price"), ((1, 2.5), (2, None))).rows[0]
      (1, 2.5)
    """

    def __init__(self, columns: Sequence[str], rows: Sequence[OutputRow]) -> None:
        self.columns = tuple(columns)
        self._rows: tuple[OutputRow, ...] | None = tuple(rows)
        self._arrays: list[pa.ChunkedArray | list[OutputValue]] | None = None
        self._length = len(rows)

    @classmethod
    def from_columns(
        cls, columns: Sequence[str], arrays: Iterable[pa.ChunkedArray | list[OutputValue]], length: int
    ) -> OutputTable:
        """Make a table of `length` rows from its columns: Arrow arrays, or lists where Arrow has no type for all
        values.
        """
        made = cls(columns, ())
        made._rows, made._arrays, made._length = None, list(arrays), length
        return made

    @property
    def rows(self) -> tuple[OutputRow, ...]:
        """The rows in order, each a tuple with the values of the columns."""
        if self._rows is None:
            from cerify.semantics.arrow_columns import values_in

            lists = [one if isinstance(one, list) else values_in(one) for one in self._arrays or ()]
            # A table without columns has rows too, which `zip` cannot count.
            self._rows = tuple(zip(*lists, strict=True)) if lists else ((),) * self._length
        return self._rows

    def __len__(self) -> int:
        return self._length

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OutputTable):
            return NotImplemented
        return (self.columns, self.rows) == (other.columns, other.rows)

    def __repr__(self) -> str:
        return f"OutputTable(columns={self.columns!r}, rows={self.rows!r})"

    def json(self) -> dict[str, Any]:
        """Return the table in the form of the protocol."""
        return {"columns": list(self.columns), "rows": plain(self.rows)}

    def to_arrow(self) -> pa.Table:
        """Return the table as an Arrow table.

        Raises InputError if a column has values for which Arrow has no common type.
        """
        import pyarrow as pa

        arrays = []
        for name, values in zip(self.columns, self._values(), strict=True):
            if isinstance(values, list):
                try:
                    values = pa.array(values)
                except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
                    raise InputError(f"Arrow has no type for all values of the column {name!r}: {error}") from None
            arrays.append(values)
        return pa.table(arrays, names=list(self.columns))

    def to_pandas(self) -> Any:
        """Return the table as a pandas data frame. Raises ImportError if pandas is not installed."""
        import pandas

        values = [pandas.Series(one) if isinstance(one, list) else one.to_pandas() for one in self._values()]
        # Numbered at first: two columns may have the same name, and a dict would lose one.
        frame = pandas.DataFrame(dict(enumerate(values)), index=range(len(self)))
        return frame.set_axis(list(self.columns), axis="columns")

    def _values(self) -> list[Any]:
        """Return the columns: Arrow arrays or lists."""
        if self._arrays is None:
            return list(map(list, zip(*self.rows, strict=True))) if self.rows else [[] for _ in self.columns]
        return self._arrays


@dataclass(frozen=True)
class TestLogs:
    """Test logs as JSON, remarks about all of them, and for test tables also the streams."""

    __test__: ClassVar[bool] = False  # tells pytest that this is not a class of tests
    lines: tuple[Mapping[str, Any], ...]
    summary: tuple[str, ...]
    tables: tuple[Stream, ...] = ()


class LanguagePart(Generic[F]):
    """The base class of the parts of a language, such as its syntax. language: the language that it belongs to."""

    language: Language[F]


class Syntax(ABC, LanguagePart[F]):
    """The syntax of a language: text, trees, checks, and what is known before any event.

    trees: the classes of the syntax trees; the root of each query has one of them. operators: the table of the
    operators, by the class of their trees. strategies: the operators of the selection strategies that can stand around
    a query; ALL needs none. mark: a regular expression for signs that only texts of this language have; "" for none.
    foreign: hints for words and signs of other languages, with these in capitals as keys. A hint says what to write
    instead, or is a sentence with the fields {title} (of the language) and {word}. rewritten: regular expressions for
    forms of other languages, with their replacements; an error message shows the rewritten text if it is a query.

    Classes of nodes: timed nodes look at the time of events, and ordered nodes need events in the order of their times.
    Nodes in naming_others have names of variables, types, functions and the like, not of attributes. In positional
    nodes, the position of an argument determines its attribute.
    """

    trees: ClassVar[tuple[type[Any], ...]]
    timed: ClassVar[tuple[type[Any], ...]] = (TimeWindow,)
    ordered: ClassVar[tuple[type[Any], ...]] = (TimeWindow,)
    naming_others: ClassVar[tuple[type[Any], ...]] = ()
    positional: ClassVar[tuple[type[Any], ...]] = ()
    operators: ClassVar[Mapping[type, Operator]] = {}
    strategies: ClassVar[Mapping[Selection, Callable[[Any], Any]]] = {}
    mark: ClassVar[str] = ""
    foreign: ClassVar[Mapping[str, str]] = {}
    rewritten: ClassVar[Sequence[tuple[str, str | Callable[[re.Match[str]], str]]]] = ()

    @abstractmethod
    def parse(self, text: str) -> F:
        """Parse the text of a query. Raises ParseError, and IllFormed for a text that breaks a rule of the language."""

    def marks(self, text: str) -> int:
        """Return the number of places at which a text has signs that only this language has."""
        return len(re.findall(self.mark, text)) if self.mark else 0

    def looks_like(self, text: str) -> str:
        """Return, for an error message, what a text looks like, such as "a funnel"; by default the language's title.

        The text has marks of the language, but does not parse as a query.
        """
        return self.language.title

    @abstractmethod
    def show(self, query: F, /) -> str:
        """Return the text of a query, given its syntax tree; parsing the text gives the same tree."""

    def problems(self, query: F, schema: Schema | None, /) -> list[Problem]:
        """Return the problems of the query. Given a schema, parts that do not fit it are problems too."""
        return []

    def stream_problems(self, query: F, S: Stream, /) -> Iterable[Problem]:
        """Return warnings about parts of a query that rarely mean on this stream what their author intended.

        This is for streams without a schema. By default there are no warnings.
        """
        return ()

    def missing_columns(self, query: F, columns: Collection[str], /) -> Iterable[Problem]:
        """Return problems about columns that the query needs but that are not among the given columns.

        By default there are none, because an event may lack an attribute that other events have.
        """
        return ()

    def surprises(self, query: F, S: Stream | None, /) -> Iterable[Problem]:
        """Return warnings about meanings that the author of the query may not expect, if possible with an example on
        the stream. By default there are none.
        """
        return ()

    @abstractmethod
    def require_typed(self, query: F, schema: Schema, /) -> None:
        """Raise IllFormed where the query does not fit the schema."""

    reads_documents: ClassVar[bool] = False
    """Whether dicts with lists are read as log documents, whose attributes may have several values."""
    keeps_nulls: ClassVar[bool] = False
    """Whether readers of JSON give a field that is null an attribute (`cerify.semantics.schemas.NULL`), and readers of
    documents keep the fields from which type and time are read (`FIELD`).
    """

    def read_events(
        self,
        source: str | Path | Sequence[str | Path],
        type_column: str | None = None,
        time_column: str | None = None,
    ) -> Stream | None:
        """Read the events of files in the language's own format; return None for files that every language reads.

        type_column, time_column: None if the user did not name the column. Raises InputError.
        """
        return None

    def children(self, query: F, /) -> tuple[F, ...]:
        """Return the operands of the query's outermost operator that are queries themselves, from left to right.

        By default these are the fields of the dataclass that are trees, or tuples of trees.
        """
        values: list[Any] = [getattr(query, one.name) for one in fields(query)]  # type: ignore[arg-type]
        listed = chain.from_iterable(value if isinstance(value, tuple) else (value,) for value in values)
        return tuple(value for value in listed if isinstance(value, self.trees))

    def rebuilt(self, query: F, children: tuple[F, ...], /) -> F:
        """Return the query with other operands of its outermost operator. Their number must be the same."""
        left = iter(children)

        def other(value: Any) -> Any:
            if isinstance(value, tuple):
                return tuple(map(other, value))
            return next(left) if isinstance(value, self.trees) else value

        found = {one.name: other(getattr(query, one.name)) for one in fields(query)}  # type: ignore[arg-type]
        return replace(query, **found)  # type: ignore[type-var]

    def subterms(self, query: F) -> Iterator[F]:
        """Yield the query and all queries inside it from left to right, each before its operands."""
        return subtrees(query, self.children)

    def operator_of(self, query: F) -> str:
        """Return the name of the query's outermost operator, as the suite calls it; "" for a query without operands."""
        if not self.children(query):
            return ""
        operator = self.operators.get(type(query))
        return node_word(type(query)).lower() if operator is None else operator.name

    def stream_read(self, query: F, S: Stream) -> Stream:
        """Return the stream to which the positions of matches refer: S, or a stream that the query makes from S."""
        return S

    def is_monotone(self, name: str) -> bool:
        """Return whether `name` is a monotone operator: if its operands lose matches, it gains none."""
        return any(operator.name == name and operator.monotone for operator in self.operators.values())

    def constructs(self, query: F, /) -> frozenset[str]:
        """Return the names of the constructs in a query, by default its operators."""
        return frozenset(map(self.operator_of, self.subterms(query))) - {""}

    def expanded(self, query: F, /) -> F:
        """Return the query with its derived operators replaced by their definitions. Raises BudgetExceeded."""
        return query

    def size(self, query: F, /) -> int:
        """Return the number of operators, leaves and other countable parts, such as the atoms of filters."""
        return sum(1 for _ in self.subterms(query))

    def constants(self, query: F) -> list[Value]:
        """Return the constants in the query's conditions, and the widths of its time windows in seconds."""
        return []

    def selected(self, query: F, selection: Selection) -> F:
        """Return the query that has only the matches that a selection strategy keeps.

        Raises Unsupported if the language does not have the strategy.
        """
        if selection is Selection.ALL:
            return query
        if selection not in self.strategies:
            raise Unsupported(f"{self.language.title} has no selection strategy {selection.value!r}")
        found: F = self.strategies[selection](query)
        return found

    def check(self, query: F, schema: Schema | None) -> Checked:
        """Return the facts about a query that are known before any event. Raises BudgetExceeded."""
        return Checked({}, self.language.title, [])


class Evaluators(dict[str, BuiltIn[F]], LanguagePart[F]):
    """The built-in evaluators of a language by name, and what a caller must know about them.

    The reference evaluator is among them under the name DENOTATIONAL.

    `cerify.plan` chooses one of them.
    """

    def plain_matches(self, query: F, S: Stream, output: Output, budget: Budget) -> Iterable[Match]:
        """Return the matches by the clauses of the definition alone, without shortcuts and caches.

        The budget bounds the number of clauses that are followed. Raises BudgetExceeded, and Unsupported if the
        language has no such definition apart from its interpreter.
        """
        raise Unsupported(f"{self.language.title} has no definition apart from its interpreter")

    def matches(
        self, query: F, S: Stream, evaluator: str = DENOTATIONAL, options: Options = Options()
    ) -> Iterable[Match]:
        """Return all matches by one evaluator, in the order of positions. Raises Unsupported, BudgetExceeded."""
        return self[evaluator].matches(query, S, options)

    def output_table(self, query: F, S: Stream, found: Iterable[Match], options: Options) -> OutputTable:
        """Return the table that a query makes of its matches. Raises Unsupported if it makes none."""
        raise Unsupported(f"a query in {self.language.title} makes no table")

    def table_by_loops(self, query: F, S: Stream, options: Options) -> OutputTable | None:
        """Compute the output table with the compiled evaluator, column by column; return None if it does not support
        the query.

        Raises TooManyMatches, BudgetExceeded.
        """
        return None

    def open_test(self, query: F, S: Stream, options: Options) -> Callable[[Match], bool] | None:
        """Return a function that tells whether future events can still remove a match; None if they never can.

        A match can be removed if it has a negation at its end whose window is not over at the end of the stream.
        """
        return None

    def waits(self, query: F) -> bool:
        """Return whether a match may depend on events after the position at which it is reported."""
        return True

    def needs_schema(self, query: F) -> bool:
        """Return whether, without a schema, a later event can change the query's meaning for earlier events."""
        return False

    def rewrites(self, query: F, evaluator: str) -> tuple[str, ...]:
        """Return the languages into which an evaluator of this language rewrites the query, in this order."""
        return ()

    def with_values(self, query: F, S: Stream, evaluator: str, options: Options) -> Iterable[Match]:
        """Return the matches as `cerify match --valuations` lists them, sorted by position.

        They are of class ValuedMatch if the query has attribute variables.
        """
        return self.matches(query, S, evaluator, options)

    def streamed(self, query: F, schema: Schema | None, options: Options) -> Streamed | Unsupported:
        """Return a batch reader that reports each match as soon as it is certain, or why only the whole stream decides.

        Raises BudgetExceeded.
        """
        return Unsupported(f"a query in {self.language.title} can only be evaluated over the whole stream")

    def dfa(self, query: F, schema: Schema | None, budget: Budget) -> DFA | None:
        """Return a finite automaton that is in an accepting state wherever a match ends; None if there is none."""
        return None


class Explanations(LanguagePart[F]):
    """The explanations of matches, and the drawings of queries and of their runs."""

    def explainer(self, query: F, S: Stream, text: str) -> Explainer[Any]:
        """Return an explainer of matches of the query; by default it only says whether positions are a match.

        text: the text of the query.

        Raises Unsupported, BudgetExceeded.
        """
        from cerify.explanations.explanation import PlainExplainer

        return PlainExplainer(list(self.language.evaluators.matches(query, S)), S, text)

    def explainer_in_reading(self, query: F, S: Stream, text: str, options: Options) -> Explainer[Any]:
        """Return an explainer of the query's matches, for a reading of the language that the options choose.

        By default raises Unsupported, because a language has explanations only in its default reading.
        """
        raise Unsupported(
            f"cerify explain supports only the default reading of {self.language.title}: leave --reading out"
        )

    def near_misses(self, query: F, S: Stream, limit: int, budget: Budget) -> NearMissReport:
        """Report how far the sequences of a query came on a stream, with the `limit` deepest incomplete ones.

        Raises Unsupported if the query is not a sequence of steps, BudgetExceeded.
        """
        from cerify.explanations.near_misses import near_misses

        return near_misses(self.language.deciders.cel_formula(query, budget), S, limit, budget)

    def test_logs(self, query: F, schema: Schema | None = None, /) -> TestLogs:
        """Return logs that detect queries that differ from this in one place. Raises Unsupported, BudgetExceeded."""
        raise Unsupported(f"there are no test logs for {self.language.title}")

    def logs_for_engines(self, query: F, /) -> TestLogs:
        """Return the test logs, and logs that distinguish the meanings that engines give to a query.

        Raises what `test_logs` raises.
        """
        return self.test_logs(query)

    def logs_to_ask(self, query: F, /) -> Iterable[Sequence[Event]]:
        """Return further logs on which engines may differ about a rule, the shortest first; none for most languages."""
        return ()

    def automaton(self, query: F, schema: Schema | None, budget: Budget) -> CEA | DFA:
        """Return the automaton of a query. Raises Unsupported if it has none or one with a buffer, BudgetExceeded."""
        raise Unsupported(f"a query in {self.language.title} has no automaton to draw")

    def diagram(self, query: F, title: str, schema: Schema | None, budget: Budget) -> Diagram:
        """Return the automaton of a query as a diagram. Raises Unsupported, BudgetExceeded."""
        from cerify.draw.automata import diagram_of_automaton

        return diagram_of_automaton(self.automaton(query, schema, budget), title)

    def preference_tree(self, query: F, S: Stream, place: int, title: str) -> Diagram:
        """Draw the matches that may begin at a position, the preferred ones first.

        Raises Unsupported for a language without preferences.
        """
        raise Unsupported(f"{self.language.title} has no order of preference to draw; --tree is for MATCH_RECOGNIZE")

    def record(self, query: F, S: Stream, title: str, options: Options) -> Recording:
        """Record the run of a query over a stream, event by event.

        Raises Unsupported if a single automaton does not represent the query, and BudgetExceeded for a stream too long
        to show.
        """
        raise Unsupported(f"a query in {self.language.title} has no run to show")


class Cases(ABC, LanguagePart[F]):
    """The random cases of campaigns, and the operations that simplify a query."""

    def operations(self) -> QueryOperations[F] | None:
        """Return the operations that simplify queries and list their operators, for shrinking and campaigns.

        Return None if only streams can be shrunk.
        """
        return None

    @abstractmethod
    def generator(self) -> Generator[F]:
        """Return the generator of random queries and streams."""


class Deciders(LanguagePart[F]):
    """The comparisons of queries with each other and with other languages, and the rewritings of queries."""

    def in_cel(self, query: F, budget: Budget) -> Formula | Unsupported:
        """Return a CEL formula with the same matches on every stream, or why there is none. Raises BudgetExceeded."""
        return Unsupported(f"a query in {self.language.name} cannot be evaluated as a query of CEL")

    def cel_formula(self, query: F, budget: Budget) -> Formula:
        """Return the query's formula of CEL. Raises Unsupported if it has none, and BudgetExceeded."""
        phi = self.in_cel(query, budget)
        if isinstance(phi, Unsupported):
            raise phi
        return phi

    def formula_to_compare(self, query: F, question: DecisionQuestion) -> Formula | Unsupported:
        """Return a CEL formula with the query's matches on the streams of the question, or why there is none.

        It serves to compare the query with queries of other languages. Raises BudgetExceeded.
        """
        return self.in_cel(query, question.budget)

    def needs_order(self, query: F) -> bool:
        """Return whether comparing the query with queries of other languages needs streams in the order of time.

        If so, the query's CEL formula has the same matches only if all events have times and these never decrease.
        """
        return False

    decides_its_own: ClassVar[bool] = True
    """Whether two queries of the language are compared directly, without formulas of CEL."""

    def is_compared_by_cel(self) -> bool:
        """Return whether queries are translated to CEL when they are compared with queries of other languages."""
        own = type(self)
        return own.in_cel is not Deciders.in_cel or own.formula_to_compare is not Deciders.formula_to_compare

    def compare(self, left: F, right: F, question: DecisionQuestion) -> Verdict:
        """Decide whether two queries have the same matches on every stream, and return the evidence.

        By default their formulas of CEL are compared. The question says what has to be the same.
        """
        from cerify.equivalence.verdict import Undecided

        if not self.is_compared_by_cel():
            return Undecided(f"there is no decider for {self.language.title}")
        return compare_in_cel((self.language, left), (self.language, right), question)

    def difference(
        self, left: F, right: F, schema: Schema, budget: Budget = Budget()
    ) -> Different | Bounded | Undecided | None:
        """Compare two queries on all streams of the schema: return a difference, or a verdict that leaves it open.

        Return None if the queries have the same matches.
        """
        from cerify.equivalence.verdict import Bounded, Different, Undecided

        verdict = self.compare(left, right, DecisionQuestion(schema=schema, budget=budget))
        return verdict if isinstance(verdict, Different | Bounded | Undecided) else None

    def flaw(self, certificate: Certificate, budget: Budget = Budget()) -> str | None:
        """Return why a certificate for two queries of the language does not prove its claim, or None if it does.

        Raises Unsupported if the language has no certificates or the certificate is for another language. Also raises
        ParseError, IllFormed for a query that does not fit the schema, and BudgetExceeded.
        """
        certificate.require_language(self.language.name)
        with budget.timed():
            certificate.require_typed(self.language.syntax.parse, self.language.syntax.require_typed)
            return self.unproved(certificate, budget)

    def decides_again(self, certificate: Certificate) -> bool:
        """Return whether `flaw` must decide the claim again, because the certificate has no proof to check."""
        return False

    def unproved(self, certificate: Certificate, budget: Budget, /) -> str | None:
        """Return why a certificate does not prove its claim, or None if it does.

        The caller has checked that the queries in the certificate fit its schema.
        """
        raise Unsupported(f"there are no certificates for {self.language.title}")

    @property
    def normal_forms(self) -> Mapping[str, Callable[[F, int], F] | None]:
        """Return the normal forms by name, each a function of a query and the greatest number of nodes of the result.

        The value is None if the normal form may not exist, so that its existence has to be decided.
        """
        return {}

    @property
    def translations(self) -> Mapping[str, Callable[[F, Reading], Any]]:
        """Return the translations by the name of the target language, each a function from a query to a tree of it.

        The functions raise Unsupported and BudgetExceeded.
        """
        return {}


@dataclass(frozen=True, eq=False)
class Language(Generic[F]):
    """A language: facts, and its parts; F is the type of its syntax trees.

    name: the name in the protocol and on the command line. title: the name in messages. answer: a clause that says what
    the answer of a query is, if matches have no valuations; else "". results: whether each match has bindings and a
    result, whatever the output. takes_place: whether a match is a single event, at which a query takes place.
    positional: whether a query names the attributes of an event by their position. keeps_order: whether matches are
    listed as they are found, not sorted. row_type: the type of events that are given without one; None makes them an
    error. unsaved: why the state of a query cannot be saved between batches; "" if the evaluator's error gives the
    reason. settings: the names of the Options that are for this language, such as "reading". options: the names of a
    plug-in's own options (Options.own). hypotheses: the meanings that engines may give to queries, and the resulting
    matches; None if there are none. loops: queries that together use all compiled functions.
    """

    name: str
    title: str
    syntax: Syntax[F]
    evaluators: Evaluators[F]
    explanations: Explanations[F] = field(default_factory=Explanations)
    cases: Cases[F] | None = None
    deciders: Deciders[F] = field(default_factory=Deciders)
    hypotheses: Callable[[], Interpretation] | None = None
    answer: str = ""
    results: bool = False
    takes_place: bool = False
    positional: bool = False
    keeps_order: bool = False
    row_type: str | None = None
    unsaved: str = ""
    settings: frozenset[str] = frozenset()
    options: frozenset[str] = frozenset()
    loops: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("syntax", "evaluators", "explanations", "cases", "deciders"):
            if (part := copy(getattr(self, name))) is not None:  # copied, since a similar language may share it
                part.language = self
                object.__setattr__(self, name, part)

    def __reduce__(self) -> tuple[Callable[[str], Language[Any]], tuple[str]]:
        from cerify.languages import language_named

        # By name: a language has functions that cannot be pickled, and workers have the same registry.
        return language_named, (self.name,)

    def operations(self) -> QueryOperations[F] | None:
        """Return the operations that simplify queries; None if only streams can be shrunk."""
        return None if self.cases is None else self.cases.operations()

    def require_cases(self) -> Cases[F]:
        """Return the random cases. Raises Unsupported if the language has none."""
        if self.cases is None:
            raise Unsupported(f"there are no random queries in {self.title}")
        return self.cases


# ---------------------------------------------------------------------------------------------------------------------
# Hints for words and signs of other languages, which several plug-ins share.


def instead(words: Mapping[str, str], verb: str = "has") -> dict[str, str]:
    """Return hints for `Syntax.foreign`: for each word of another language, what to write instead in this language.

    words: each word with its counterpart. verb: how a sentence that begins with the title goes on; "have" for a plural
    title.
    """
    there = {word: one.replace("{", "{{").replace("}", "}}") for word, one in words.items()}
    return {word: f"{{title}} {verb} no {{word}}; write {one}" for word, one in there.items()}


NO_COMMENTS = dict.fromkeys(("--", "//", "/*", "#"), "{title} has no comments; remove this one")
FOREIGN: Mapping[str, str] = {
    **instead(dict.fromkeys(("WHERE", "HAVING", "WHEN"), "FILTER")),
    **instead(
        dict.fromkeys(("THEN", "FOLLOWED", "FOLLOWED BY", "FOLLOWEDBY", "FOLLOWEDBYANY", "BEFORE", "->", ".*"), ";")
    ),
    **instead({"NEXT": "A : B for the event after A, and NXT(A ; B) for the strategy"}),
    **instead({"GROUP BY": "PARTITION BY [id], or PER KEY [id] to look at one id at a time"}),
    **instead({"SKIP": "a strategy around the query, as in NXT(A ; B)"}),
    "ORDER BY": "{title} has no ORDER BY: events are in the order of the stream; cerify match --sort sorts by time",
    "LIKE": "write like in small letters, with a regular expression, as in T.name like 'a.*'",
    "IN (": "after in, values stand in braces, as in T.x in {{1, 2}}",
    "IS": "IS NULL stands in brackets, as in FILTER T[x is null] or T[x is not null]",
    **instead({"==": "=", "&&": "AND", "|": "OR", "||": "OR", "<>": "!=", "=>": ">=", "=<": "<="}),
    **instead(dict.fromkeys(("SEC", "SECS"), "seconds") | dict.fromkeys(("MIN", "MINS"), "minutes")),
    **instead(
        {
            ",": "; between events and AND between conditions",
            "?": "(A ; B) OR A for A ; B?, and (A ; B) OR B for A? ; B",
        }
    ),
    **instead({"BETWEEN": "two comparisons, as in T.x >= 1 AND T.x <= 3", "LIMIT DURATION": "WITHIN 5 minutes"}),
    **instead({"*": "+ for one or more events, and (A+ ; B) OR B for A* ; B, or (A OR B) for an event of any type"}),
    **instead(dict.fromkeys(("!", "~"), "A ; (B UNLESS C) for no C between A and B")),
    **instead({"&": "AND between conditions, and A ALL B for events of both patterns"}),
    **dict.fromkeys(
        ("NOT", "NOT ("),
        "NOT stands in brackets, as in FILTER T[not x > 3]; for no C in between write A ; (B UNLESS C)",
    ),
    ".": 'conditions stand after FILTER, as in T FILTER T.x > 3; quote a name with a dot: "user.id"',
    "[ .": 'quote a name with a dot: "user.id"',
    "EVERY": "{title} has no {word}: it always reports all matches; leave the word out",
    "BY": "PARTITION BY takes attributes in brackets, as in PARTITION BY [id]",
    **dict.fromkeys(
        ("COUNT (", "SUM (", "AVG (", "MIN (", "MAX ("),
        "{title} has no aggregates; write A{{3}} for three events A, or use SASE+ or MATCH_RECOGNIZE",
    ),
    "EXISTS (": "{title} has no EXISTS: an event type alone matches each event of the type; write A",
    "LIMIT": "{title} has no LIMIT: it reports all matches; to stop after three, use cerify match --limit 3",
    '"': "a string stands in single quotes, as in 'text'",
    **NO_COMMENTS,
}
"""The hints of CEL for the words and signs of other languages; core-CEL changes some."""
