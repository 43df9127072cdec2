"""Every query that shrinking asks an engine about, in each language, has a text that parses to it."""

from random import Random
from typing import Any

import pytest

from cerify.conformance.campaigns import definition, generated_languages, plan_of
from cerify.conformance.defects import shrink_case
from cerify.equivalence.shrink.shrink import replacing
from cerify.languages.language import Language
from cerify.semantics.events import Stream
from proofs_tests.support import sampled

CASES = 6
TRIES = 60


@pytest.mark.parametrize("cases", sampled([1, CASES], [1]))
@pytest.mark.parametrize(
    ("language", "profile"),
    [(language, profile) for language in generated_languages() for profile in language.generator().profiles],
    ids=lambda part: part if isinstance(part, str) else part.name,
)
def test_candidates_are_printed_and_parsed_back(language: Language[Any], profile: str, cases: int) -> None:
    plan = plan_of(language, profile, "random", definition(language), cases=cases, seed=3, nodes=9, events=4)
    asked: list[str] = []

    def fails(query: str, S: Stream) -> bool:
        asked.append(query)
        return Random(query + repr(S.events)).random() < 0.4

    for index in range(cases):
        phi, S = plan.case(index)
        shrink_case(language, language.show(phi), S, fails, TRIES)
    assert len(asked) > cases
    for query in asked:  # an error that fails raises would only be a candidate that is dropped
        assert language.parse(language.show(language.parse(query))) == language.parse(query)


@pytest.mark.parametrize("language", list(generated_languages()), ids=lambda language: language.name)
def test_names_and_constants_are_replaced_one_by_one(language: Language[Any]) -> None:
    """mapped changes nothing by itself, and the n-th call of a function is about the n-th name or constant."""
    operations = language.operations()
    for profile in language.generator().profiles:
        plan = plan_of(language, profile, "random", definition(language), cases=CASES, seed=5, nodes=9, events=4)
        for index in range(CASES):
            query, _ = plan.case(index)
            assert operations.mapped(query) == query
            names, constants = operations.names(query), operations.constants(query)
            for n in range(len(names)):
                other = operations.mapped(query, name=replacing(n, "Other"))
                assert sorted(operations.names(other)) == sorted([*names[:n], "Other", *names[n + 1 :]])
            assert operations.constants(operations.mapped(query, value=lambda value: value)) == constants
            for reduction in operations.reductions:
                assert all(isinstance(other, language.trees) for other in reduction(query))
