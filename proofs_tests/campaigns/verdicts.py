"""Verdicts about values that are easy to get wrong: `python -m proofs_tests.campaigns.verdicts`.

Cases as those of `values`: the definition over the stream contradicts what is proved of all streams if it finds
matches where the check says that there are none, other events of two queries that are proved equivalent, other events
of the query in another language, in a normal form or made smaller, or an event whose combination of tests is none of
the predicate algebra's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from functools import partial
from random import Random
from types import UnionType
from typing import Any

from cerify.api import equivalent, simplify
from cerify.automata.algebra.finite import minterms
from cerify.equivalence.verdict import Bounded, Equivalent
from cerify.languages import DEFAULT, LANGUAGES
from cerify.languages.language import DENOTATIONAL, Language
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import IllFormed, InputError, Unsupported
from cerify.semantics.events import TIME, Match, Stream
from cerify.semantics.files import as_stream
from cerify.semantics.predicates import Comparison, Constant, InRange, Like, OneOf, classify_event
from cerify.semantics.readings import DECIDED
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.scalars import NumberedMatch
from proofs_tests.campaigns.values import OPTIONS, Wild, command, wild_case

BUDGET = Budget(states=300, seconds=0.5)
TESTS = 5  # of a query, whose combinations are decided
NODES = 500  # of a normal form


def alike_case(language: Language[Any], seed: str) -> Wild:
    """The case of that seed; the conditions of MATCH_RECOGNIZE over booleans are about booleans. Raises IllFormed."""
    case = wild_case(language, seed, alike=True)
    values = [value for event in case.S for name, value in event.attributes.items() if name != TIME]
    if language.name != "row-pattern" or not values or not all(isinstance(value, bool) for value in values):
        return case
    rng = Random(seed)
    query, other = with_booleans(case.query, rng), with_booleans(case.other, rng)
    if case.S.schema is not None:
        language.syntax.require_typed(query, case.S.schema)
    return replace(case, query=query, other=other)


def with_booleans(tree: Any, rng: Random, inside: bool = False) -> Any:
    """The tree, in which the constants that a column is compared with are booleans; inside: of such a comparison."""
    match tree:
        case rows.RowConstant():
            return rows.RowConstant(rng.random() < 0.5) if inside else tree
        case tuple():
            return tuple(with_booleans(part, rng, inside) for part in tree)
        case rows.RowComparison() | rows.RowBetween() | rows.RowIn():
            inside = all(isinstance(part, rows.RowColumn | rows.RowConstant) for part in rows.below(tree))
    if not is_dataclass(tree) or isinstance(tree, type):
        return tree
    parts = {one.name: with_booleans(getattr(tree, one.name), rng, inside) for one in fields(tree) if one.init}
    return replace(tree, **parts)


def answers(language: Language[Any], case: Wild) -> Iterator[tuple[str, Callable[[], list[Match]]]]:
    """What has to have the matches of the definition."""
    yield "an equivalent query", partial(of_equivalent, language, case, language, lambda: case.other)
    yield "the check", partial(of_check, language, case)
    yield "the algebra", partial(of_algebra, language, case)
    for to, translate in language.deciders.translations.items():
        translated = partial(translate, case.query, DECIDED)
        yield f"the query in {to}", partial(of_rewritten, language, case, LANGUAGES[to], translated)
        other = partial(translate, case.other, DECIDED)
        yield f"an equivalent query in {to}", partial(of_equivalent, language, case, LANGUAGES[to], other)
    for form, rewrite in language.deciders.normal_forms.items():
        if rewrite is not None:
            yield form, partial(of_rewritten, language, case, language, partial(rewrite, case.query, NODES))
    if language.name == DEFAULT:
        yield "the smaller query", partial(of_rewritten, language, case, language, partial(smaller, case))


def of_equivalent(
    language: Language[Any], case: Wild, other_language: Language[Any], written: Callable[[], Any]
) -> list[Match]:
    """The matches by the definition. Raises AssertionError where the other query has other events, against a proof.

    A proof up to a length speaks of the first events of the stream, if they are of its schema. Raises Unsupported where
    there is no proof.
    """
    other = rewritten(language, case, other_language, written)
    texts = (language.syntax.show(case.query), other_language.syntax.show(other))
    names = (language.name, other_language.name)
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
    require_same(language, case, S, other_language, other, type(verdict).__name__)
    return by_definition(language, case)


def of_rewritten(
    language: Language[Any], case: Wild, other_language: Language[Any], written: Callable[[], Any]
) -> list[Match]:
    """The matches by the definition. Raises AssertionError where the rewritten query has other events.

    Raises Unsupported where it cannot be rewritten.
    """
    other = rewritten(language, case, other_language, written)
    require_same(language, case, case.S, other_language, other, "rewritten")
    return by_definition(language, case)


def require_same(
    language: Language[Any], case: Wild, S: Stream, other_language: Language[Any], other: Any, why: str
) -> None:
    """Raises AssertionError if by their definitions the query of the case and another one differ over the stream.

    An event expression takes place where a match ends.
    """
    ends = language != other_language and other_language.name == "event-expression"
    left, right = (
        {(m.at, None if ends else _shown(m)) for m in of.evaluators.matches(query, S, DENOTATIONAL, OPTIONS)}
        for of, query in ((language, case.query), (other_language, other))
    )
    if left != right:
        raise AssertionError(f"{why} to {other_language.syntax.show(other)}, and not over {list(S)}")


def _shown(m: Match) -> tuple[int, ...]:
    """The events of a match without rows that a clause of MATCH_RECOGNIZE leaves out, as translations of EQL do."""
    excluded = m.excluded if isinstance(m, NumberedMatch) else ()
    return tuple(n for n in m.events if n not in excluded)


def rewritten(language: Language[Any], case: Wild, other_language: Language[Any], written: Callable[[], Any]) -> Any:
    """The other query. Raises Unsupported where there is none, or none that is to mean the same over the stream."""
    if language != other_language:
        require_translatable(language, case)
    try:
        with BUDGET.timed():
            return written()
    except IllFormed as error:  # as an LP-normal form is one of a well-formed formula
        raise Unsupported(error.message) from None


def require_translatable(language: Language[Any], case: Wild) -> None:
    """Raises Unsupported for a stream over which a translation need not mean the same, as the guide says."""
    times = [event.get(TIME) for event in case.S]
    if language.name == "sase" and not (all(isinstance(t, int | float) for t in times) and times == sorted(times)):
        raise Unsupported("a window of SASE+ is a filter on times, which have to be numbers in the stream's order")
    if any(isinstance(value, bool) for event in case.S for value in event.attributes.values()) and orders(case.query):
        raise Unsupported("MATCH_RECOGNIZE orders booleans, and CEL does not: columns that are compared hold none")


def orders(tree: Any) -> bool:
    """Whether a test compares two attributes by order."""
    return any(
        (one.operator if isinstance(one, rows.RowComparison) else one.comparator) not in ("=", "!=", "<>")
        and not isinstance(one.right, Constant | rows.RowConstant)
        for one in parts_of(tree, Comparison | rows.RowComparison)
    )


def smaller(case: Wild) -> Any:
    """The query made smaller by laws and proofs."""
    return simplify(case.query, schema=case.S.schema, budget=BUDGET).phi


def of_check(language: Language[Any], case: Wild) -> list[Match]:
    """No match, where the check says that there is none on any stream. Raises Unsupported where it does not."""
    with BUDGET.timed():
        checked = language.syntax.check(case.query, case.S.schema)
    if checked.satisfiable is not False and not checked.fragment.get("no_match"):  # the second is MATCH_RECOGNIZE's
        raise Unsupported("it may match")
    return []


def of_algebra(language: Language[Any], case: Wild) -> list[Match]:
    """The matches by the definition. Raises AssertionError for an event whose type the algebra takes for impossible."""
    tests = list(dict.fromkeys(parts_of(case.query, Comparison | OneOf | InRange | Like)))[:TESTS]
    types = {minterm.chosen for minterm in minterms(tests, case.S.schema, BUDGET)}
    for event in case.S:
        if (passed := classify_event(tests, event)) not in types:
            raise AssertionError(f"{event} passes those of {tests} with the numbers {sorted(passed)}")
    return by_definition(language, case)


def parts_of(tree: Any, kinds: UnionType) -> Iterator[Any]:
    """The outermost parts of a query that are of these kinds."""
    if isinstance(tree, kinds):
        yield tree
    elif isinstance(tree, tuple):
        for part in tree:
            yield from parts_of(part, kinds)
    elif is_dataclass(tree) and not isinstance(tree, type):
        yield from parts_of(tuple(getattr(tree, one.name) for one in fields(tree) if one.init), kinds)


def by_definition(language: Language[Any], case: Wild) -> list[Match]:
    """The matches of the case."""
    return sorted(language.evaluators.matches(case.query, case.S, DENOTATIONAL, OPTIONS))


if __name__ == "__main__":
    command("verdicts", alike_case, answers)()
