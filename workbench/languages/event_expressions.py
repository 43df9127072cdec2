"""Event expressions (vldb92) as a plug-in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import get_args

from cerify.languages.language import BuiltIn, Language, Options
from cerify.semantics.errors import Unsupported
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.event_expressions.show import show
from cerify.semantics.event_expressions.syntax import Expression, children, rebuilt
from cerify.semantics.event_expressions.wellformed import problems, require_typed
from cerify.semantics.events import Match, Schema, Stream
from cerify.semantics.predicate_types import Problem


class EventExpressions(Language[Expression]):
    """Event expressions."""

    name = "event-expression"
    title = "event expressions"
    trees = get_args(Expression)

    def parse(self, text: str) -> Expression:
        return parse(text)

    def show(self, query: Expression) -> str:
        return show(query)

    def problems(self, query: Expression, schema: Schema | None) -> list[Problem]:
        return problems(query, schema)

    def require_typed(self, query: Expression, schema: Schema) -> None:
        require_typed(query, schema)

    def children(self, query: Expression) -> tuple[Expression, ...]:
        return children(query)

    def rebuilt(self, query: Expression, children: tuple[Expression, ...]) -> Expression:
        return rebuilt(query, children)

    @cached_property
    def evaluators(self) -> Mapping[str, BuiltIn[Expression]]:
        return {
            "denotational": BuiltIn(_denotational, _no_valuations),
            "automaton": BuiltIn(_automaton, _no_valuations),
            "kernel": BuiltIn(_kernel, _no_valuations),
        }


def _denotational(E: Expression, S: Stream, options: Options) -> Iterable[Match]:
    from cerify.semantics.event_expressions.interpreter import matches_of

    return matches_of(E, S, options.budget)


def _automaton(E: Expression, S: Stream, options: Options) -> Iterable[Match]:
    """By finite automata: one, or for attribute variables one for each choice of values."""
    from cerify.automata.dfa.collect import found_in

    return [Match(e, (e,)) for e in found_in(E, S, options.budget)]


def _kernel(E: Expression, S: Stream, options: Options) -> Iterable[Match]:
    from cerify.automata.dfa.arguments import order_in
    from cerify.automata.dfa.compiled import CompiledEvaluator
    from cerify.automata.dfa.valued import Valued

    found = Valued(E, order_in(S), options.budget).events(S, CompiledEvaluator)
    return [Match(e, (e,)) for e in sorted(found)]


def _no_valuations(E: Expression, schema: Schema | None, options: Options) -> Unsupported | None:
    if options.output == "matches":
        return None
    return Unsupported("the answer of an event expression is the events at which it takes place; it binds no sets")


LANGUAGE = EventExpressions()
