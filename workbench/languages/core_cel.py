"""core-CEL (cep17) as a plug-in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import get_args

from cerify.languages.language import BuiltIn, Language, Options
from cerify.semantics.core_cel.parse import parse
from cerify.semantics.core_cel.show import show
from cerify.semantics.core_cel.syntax import Formula
from cerify.semantics.core_cel.wellformed import is_unary, problems, require_typed
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Match, Schema, Stream
from cerify.semantics.predicate_types import Problem
from cerify.semantics.trees import children


class CoreCel(Language[Formula]):
    """core-CEL."""

    name = "core-cel"
    title = "core-CEL"
    trees = get_args(Formula)

    def parse(self, text: str) -> Formula:
        return parse(text)

    def show(self, query: Formula) -> str:
        return show(query)

    def problems(self, query: Formula, schema: Schema | None) -> list[Problem]:
        return problems(query, schema)

    def require_typed(self, query: Formula, schema: Schema) -> None:
        require_typed(query, schema)

    def children(self, query: Formula) -> tuple[Formula, ...]:
        return children(query)

    @cached_property
    def evaluators(self) -> Mapping[str, BuiltIn[Formula]]:
        return {
            "denotational": BuiltIn(_denotational, _no_valuations),
            "automaton": BuiltIn(_automaton, _no_valuations),
            "kernel": BuiltIn(_kernel, _no_valuations),
        }


def _denotational(phi: Formula, S: Stream, options: Options) -> Iterable[Match]:
    from cerify.semantics.core_cel.interpreter import matches_of

    return matches_of(phi, S, options.budget)


def _automaton(phi: Formula, S: Stream, options: Options) -> Iterable[Match]:
    """By an automaton of core-CEL; a formula whose filters compare events by way of CEL, if it has a formula there."""
    if is_unary(phi):
        from cerify.automata.evaluate.core import matches

        return matches(phi, S, options.budget)
    from cerify.automata.evaluate.streaming import found
    from cerify.equivalence.rewrite.translate.to_cel import to_cel

    return found(to_cel(phi, options.budget), S, "matches", options.budget)


def _kernel(phi: Formula, S: Stream, options: Options) -> Iterable[Match]:
    if is_unary(phi):
        from cerify.automata.evaluate.core import compiled_matches

        return compiled_matches(phi, S, options.budget)
    from cerify.automata.evaluate.compiled import matches
    from cerify.equivalence.rewrite.translate.to_cel import to_cel

    return matches(to_cel(phi, options.budget), S, "matches", options.budget)


def _no_valuations(phi: Formula, schema: Schema | None, options: Options) -> Unsupported | None:
    if options.output == "matches":
        return None
    return Unsupported("the answer of a core-CEL query is its complex events; its valuations are not listed")


LANGUAGE = CoreCel()
