"""CEL (tods21) as a plug-in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import get_args

from cerify.languages.language import BuiltIn, Language, Options
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.show import show
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.cel.wellformed import problems, require_typed
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Match, Schema, Stream, bindings_of
from cerify.semantics.predicate_types import Problem
from cerify.semantics.trees import children


class Cel(Language[Formula]):
    """CEL."""

    name = "cel"
    title = "CEL"
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
            "denotational": BuiltIn(_denotational, _unregistered),
            "automaton": BuiltIn(_automaton, _needs_definition),
            "kernel": BuiltIn(_kernel, _needs_definition),
        }


def _denotational(phi: Formula, S: Stream, options: Options) -> Iterator[Match]:
    from cerify.semantics.cel.denote import sup
    from cerify.semantics.cel.interpreter import Interpreter

    interpreter = Interpreter(S, options.budget, options.predicates)
    for n in range(len(S)):
        mus = interpreter.meaning(phi, 0, n)
        bound = (bindings_of(mu) if options.output == "valuations" else None for mu in mus)
        yield from sorted({Match(n, tuple(sorted(sup(mu))), one) for mu, one in zip(mus, bound, strict=True)})


def _automaton(phi: Formula, S: Stream, options: Options) -> Iterable[Match]:
    from cerify.automata.evaluate.streaming import found

    return found(phi, S, options.output, options.budget)


def _kernel(phi: Formula, S: Stream, options: Options) -> Iterable[Match]:
    from cerify.automata.evaluate.compiled import matches

    return matches(phi, S, options.output, options.budget)


def _unregistered(phi: Formula, schema: Schema | None, options: Options) -> Unsupported | None:
    """Raises IllFormed for a registered predicate that is no function, or of a wrong arity."""
    from cerify.semantics.cel.registered import require_registered

    try:
        require_registered(phi, options.predicates)
    except Unsupported as error:
        return error
    return None


def _needs_definition(phi: Formula, schema: Schema | None, options: Options) -> Unsupported | None:
    from cerify.semantics.cel.registered import named

    for atom in named(phi):
        return Unsupported(f"no automaton carries a registered predicate such as {atom.name}", atom.span)
    return None


LANGUAGE = Cel()
