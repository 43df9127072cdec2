"""Every query that shrinking asks an engine about, in each language, has a text that parses to it."""

from random import Random

import pytest

from cerify.conformance.fuzzed import FUZZED
from cerify.conformance.shrinking import SHRINKERS
from cerify.languages import LANGUAGES
from cerify.semantics.cel.show import show as show_cel
from cerify.semantics.core_cel.show import show as show_core_cel
from cerify.semantics.event_expressions.show import show as show_expression
from cerify.semantics.events import Stream
from cerify.semantics.sase.show import show as show_sase

SHOW = {"cel": show_cel, "core-cel": show_core_cel, "event-expression": show_expression, "sase": show_sase}

CASES = 12
TRIES = 120


@pytest.mark.parametrize(
    ("language", "profile"), [(language, profile) for language in FUZZED for profile in FUZZED[language].profiles]
)
def test_candidates_are_printed_and_parsed_back(language: str, profile: str) -> None:
    fuzzed, parse = FUZZED[language], LANGUAGES[language].parse
    plan = fuzzed.plan(fuzzed.oracle, fuzzed.oracle, fuzzed.profiles[profile], CASES, seed=3, nodes=9, events=4)
    asked: list[str] = []

    def fails(query: str, S: Stream) -> bool:
        asked.append(query)
        return Random(query + repr(S.events)).random() < 0.4

    for index in range(CASES):
        phi, S = plan.case(index)
        SHRINKERS[language](fuzzed.show(phi), S, fails, TRIES)
    assert len(asked) > CASES
    for query in asked:  # an error that fails raises would only be a candidate that is dropped
        assert parse(SHOW[language](parse(query))) == parse(query)
