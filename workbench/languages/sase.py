"""SASE+ (sase07, icde08) as a plug-in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, partial
from importlib import import_module
from typing import get_args

from cerify.languages.language import BuiltIn, Language, Options
from cerify.semantics.events import Match, Schema, Stream
from cerify.semantics.predicate_types import Problem
from cerify.semantics.sase import program
from cerify.semantics.sase.parse import parse
from cerify.semantics.sase.show import show
from cerify.semantics.sase.syntax import Tree
from cerify.semantics.sase.wellformed import problems, require_typed, require_wellformed

FINDERS: Mapping[str, str] = {
    "denotational": "semantics.sase.denote",
    "automaton": "automata.nfab.answers",
    "kernel": "automata.nfab.compiled",
}
"""Of each evaluator the module whose `bindings` finds what a query block binds."""


class Sase(Language[Tree]):
    """SASE+."""

    name = "sase"
    title = "SASE+"
    trees = get_args(Tree)

    def parse(self, text: str) -> Tree:
        return parse(text)

    def show(self, query: Tree) -> str:
        return show(query)

    def problems(self, query: Tree, schema: Schema | None) -> list[Problem]:
        return problems(query, schema)

    def require_typed(self, query: Tree, schema: Schema) -> None:
        require_typed(query, schema)

    @cached_property
    def evaluators(self) -> Mapping[str, BuiltIn[Tree]]:
        return {name: BuiltIn(partial(_matches, name)) for name in FINDERS}


def _matches(evaluator: str, q: Tree, S: Stream, options: Options) -> Iterable[Match]:
    find: program.Finder = import_module(f"cerify.{FINDERS[evaluator]}").bindings
    if evaluator == "denotational":
        return program.matches_of(q, S, find, options.reading, options.budget, options.aggregates)
    from cerify.automata.nfab.results import matches_of

    require_wellformed(q)
    return matches_of(q, S, find, options.reading, options.budget, options.aggregates)


LANGUAGE = Sase()
