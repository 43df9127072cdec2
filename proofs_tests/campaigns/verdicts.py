"""Verdicts about values that are easy to get wrong: `python -m proofs_tests.campaigns.verdicts`.

Cases as those of `values`: the definition over the stream contradicts what is proved of all streams if it finds
matches where the check says that there are none, other events of two queries that are proved equivalent, or an event
whose combination of tests is none of the predicate algebra's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

from cerify.api import equivalent
from cerify.automata.algebra.minterms import minterms
from cerify.equivalence.verdict import Bounded, Equivalent
from cerify.languages.language import DENOTATIONAL, Language
from cerify.semantics.budget import Budget
from cerify.semantics.errors import IllFormed, InputError, Unsupported
from cerify.semantics.events import Match
from cerify.semantics.predicates import Comparison, InRange, Like, OneOf, chosen
from cerify.semantics.readers import as_stream
from proofs_tests.campaigns.values import OPTIONS, Wild, command, wild_case

BUDGET = Budget(states=300, seconds=0.5)
TESTS = 5  # of a query, whose combinations are decided


def answers(language: Language[Any], case: Wild) -> Iterator[tuple[str, Callable[[], list[Match]]]]:
    """What has to have the matches of the definition."""
    yield "an equivalent query", partial(of_equivalent, language, case)
    yield "the check", partial(of_check, language, case)
    yield "the algebra", partial(of_algebra, language, case)


def of_equivalent(language: Language[Any], case: Wild) -> list[Match]:
    """The matches by the definition. Raises AssertionError where the other query has other events, against a proof.

    A proof up to a length speaks of the first events of the stream, if they are of its schema. Raises Unsupported where
    there is no proof.
    """
    texts = (language.show(query) for query in (case.query, case.other))
    names = (language.name, language.name)
    try:
        verdict = equivalent(*texts, schema=case.S.schema, languages=names, budget=BUDGET)
    except IllFormed as error:  # as the constants of the other query may not fit the schema
        raise Unsupported(error.message) from None
    S = case.S
    if isinstance(verdict, Bounded):
        try:
            S = as_stream(list(S.part(0, verdict.length)), schema=verdict.schema)
        except InputError as error:
            raise Unsupported(error.message) from None
    elif not isinstance(verdict, Equivalent):
        raise Unsupported(type(verdict).__name__)
    left, right = (
        {(m.at, m.events) for m in language.matches(query, S, DENOTATIONAL, OPTIONS)}
        for query in (case.query, case.other)
    )
    if left != right:
        raise AssertionError(f"{type(verdict).__name__} to {language.show(case.other)}, and not over {list(S)}")
    return by_definition(language, case)


def of_check(language: Language[Any], case: Wild) -> list[Match]:
    """No match, where the check says that there is none on any stream. Raises Unsupported where it does not."""
    with BUDGET.timed():
        if language.check(case.query, case.S.schema).satisfiable is not False:
            raise Unsupported("it may match")
    return []


def of_algebra(language: Language[Any], case: Wild) -> list[Match]:
    """The matches by the definition. Raises AssertionError for an event whose type the algebra takes for impossible."""
    tests = list(dict.fromkeys(tests_in(case.query)))[:TESTS]
    types = {minterm.chosen for minterm in minterms(tests, case.S.schema, BUDGET)}
    for event in case.S:
        if (passed := chosen(tests, event)) not in types:
            raise AssertionError(f"{event} passes those of {tests} with the numbers {sorted(passed)}")
    return by_definition(language, case)


def tests_in(tree: Any) -> Iterator[Comparison | OneOf | InRange | Like]:
    """The tests of attributes in a query."""
    if isinstance(tree, Comparison | OneOf | InRange | Like):
        yield tree
    elif isinstance(tree, tuple):
        for part in tree:
            yield from tests_in(part)
    elif is_dataclass(tree) and not isinstance(tree, type):
        yield from tests_in(tuple(getattr(tree, one.name) for one in fields(tree) if one.init))


def by_definition(language: Language[Any], case: Wild) -> list[Match]:
    """The matches of the case."""
    return sorted(language.matches(case.query, case.S, DENOTATIONAL, OPTIONS))


if __name__ == "__main__":
    command("verdicts", partial(wild_case, alike=True), answers)()
