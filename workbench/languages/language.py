"""What the workbench knows of a language: one class, of which each language is a subclass with one instance.

No command, campaign, report or drawing asks which language it has: it calls a method of the `Language` that it is
given. To add something of which languages differ:

1. add a method here, with its types. If every language must have it, make it abstract; else let it raise Unsupported,
   or return an empty value, so that a new language need not define it;
2. define it in the modules beside this one, a module for each language. Import what it needs inside the method: a
   plug-in is loaded when its language is first used, and what the method needs when the method is first called;
3. call it where the switch on the language was.

A language is added by one module with a subclass, and `register`, or an entry point in the group "cerify.languages";
see docs/guide/add-a-language.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar, Generic, Literal, TypeAlias, TypeVar

from cerify.semantics.budget import Budget
from cerify.semantics.cel.registered import Predicates
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Match, Schema, Stream
from cerify.semantics.predicate_types import Problem
from cerify.semantics.sase.aggregates import Operations
from cerify.semantics.sase.reading import DECIDED, Reading

F = TypeVar("F")
Output: TypeAlias = Literal["matches", "valuations"]
EvaluatorName: TypeAlias = Literal["denotational", "automaton", "kernel"]
DENOTATIONAL: EvaluatorName = "denotational"
"""The evaluator that follows the definition: every language has it, and the others are compared with it."""


@dataclass(frozen=True)
class Options:
    """What an evaluation depends on beside the query and the stream.

    predicates: a user's own, which a query of CEL may name. aggregates: those that a query of SASE+ may name beside the
    language's own. reading: the answers to what the papers of SASE+ leave open. Languages ignore what is not theirs.
    """

    output: Output = "matches"
    budget: Budget = field(default_factory=Budget)
    predicates: Predicates = field(default_factory=dict)
    aggregates: Operations = field(default_factory=dict)
    reading: Reading = DECIDED


def no_objection(query: Any, schema: Schema | None, options: Options) -> None:
    """None: the evaluator takes every query of its language."""
    return


@dataclass(frozen=True)
class BuiltIn(Generic[F]):
    """A built-in evaluator of one language.

    matches: all matches in the order of positions, as an iterator where they are found one by one; it raises
    BudgetExceeded, and Unsupported for what shows only with the stream. why_not: why the evaluator cannot take a query
    on streams of a schema (None: of any), as an error that is not raised; None if it can.
    """

    matches: Callable[[F, Stream, Options], Iterable[Match]]
    why_not: Callable[[F, Schema | None, Options], Unsupported | None] = no_objection


class Language(ABC, Generic[F]):
    """A language; F is the type of its syntax trees. Instances have no state, and all of a class are equal.

    name: as in the protocol and on the command line. title: as in text for people. trees: the classes of the syntax
    trees, one of which the root of a query has.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    trees: ClassVar[tuple[type[Any], ...]]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __reduce__(self) -> tuple[type[Language[F]], tuple[()]]:
        return type(self), ()

    # --- text ---------------------------------------------------------------------------------------------------------

    @abstractmethod
    def parse(self, text: str) -> F:
        """The syntax tree of a query. Raises ParseError, and IllFormed for what breaks a rule of the language."""

    @abstractmethod
    def show(self, query: F) -> str:
        """The text of a query; parse reads it back as the same tree."""

    def problems(self, query: F, schema: Schema | None) -> list[Problem]:
        """What is wrong with the query; what does not fit the schema only if there is one."""
        return []

    @abstractmethod
    def require_typed(self, query: F, schema: Schema) -> None:
        """Raises IllFormed where the query does not fit the schema."""

    # --- trees --------------------------------------------------------------------------------------------------------

    def children(self, query: F) -> tuple[F, ...]:
        """The operands of the query's outermost operator that are queries themselves, from left to right.

        As long as no language says otherwise: the fields of the dataclass that are trees, or tuples of trees.
        """
        values: list[Any] = [getattr(query, one.name) for one in fields(query)]  # type: ignore[arg-type]
        listed = chain.from_iterable(value if isinstance(value, tuple) else (value,) for value in values)
        return tuple(value for value in listed if isinstance(value, self.trees))

    def rebuilt(self, query: F, children: tuple[F, ...]) -> F:
        """The query's outermost operator with other operands, as many as it has."""
        left = iter(children)

        def other(value: Any) -> Any:
            if isinstance(value, tuple):
                return tuple(map(other, value))
            return next(left) if isinstance(value, self.trees) else value

        found = {one.name: other(getattr(query, one.name)) for one in fields(query)}  # type: ignore[arg-type]
        return replace(query, **found)  # type: ignore[type-var]

    def subterms(self, query: F) -> Iterator[F]:
        """The query and everything below it, each before what is below it, from left to right."""
        pending = [query]
        while pending:
            term = pending.pop()
            yield term
            pending.extend(reversed(self.children(term)))

    def size(self, query: F) -> int:
        """The number of operators and leaves."""
        return sum(1 for _ in self.subterms(query))

    # --- evaluation ---------------------------------------------------------------------------------------------------

    @cached_property
    @abstractmethod
    def evaluators(self) -> Mapping[str, BuiltIn[F]]:
        """The built-in evaluators by name; DENOTATIONAL is one of them. See cerify.plan for the choice of one."""

    def matches(
        self, query: F, S: Stream, evaluator: str = DENOTATIONAL, options: Options = Options()
    ) -> Iterable[Match]:
        """All matches by one evaluator, in the order of positions. Raises Unsupported, BudgetExceeded."""
        return self.evaluators[evaluator].matches(query, S, options)
