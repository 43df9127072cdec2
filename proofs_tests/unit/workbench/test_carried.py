"""Every evaluator carries every query of the built-in suites, but for what its language documents."""

import pytest

from cerify.conformance.cases import load
from cerify.languages import LANGUAGES
from cerify.languages.language import EVALUATORS, Options
from cerify.plan import Want, plan
from cerify.semantics.errors import Unsupported
from proofs_tests.support import sampled

COLUMNS_ALONE = "looks at what the match has so far, not at columns alone"  # of MATCH_RECOGNIZE, in compiled loops


def refusal(language: str, query: str, output: str, evaluator: str) -> Unsupported | None:
    """Why the evaluator does not carry the query."""
    lang = LANGUAGES[language]
    made = plan(lang, lang.parse(query), None, Want(Options(output), evaluator))  # type: ignore[arg-type]
    return made.why_not.get(evaluator)


@pytest.mark.parametrize("step", sampled([1, 6], [6]))
@pytest.mark.parametrize("language", ["cel", "core-cel", "event-expression", "sase", "row-pattern"])
def test_every_query_of_the_suites_is_carried(language: str, step: int) -> None:
    """Every sixth by default: the suites have several queries with each operator."""
    queries = dict.fromkeys((case.query, case.output) for case in load(None) if case.language == language)
    assert len(queries) > 60
    for query, output in list(queries)[::step]:
        for evaluator in EVALUATORS:
            refused = refusal(language, query, output, evaluator)
            documented = (
                (language, evaluator) == ("row-pattern", "kernel") and refused and COLUMNS_ALONE in str(refused)
            )
            assert refused is None or documented, (query, evaluator, str(refused))


def test_a_query_that_is_not_carried_is_noticed() -> None:
    assert refusal("cel", "(A ; B) FILTER near(A, B)", "matches", "automaton") is not None
    assert refusal("core-cel", "A AS x", "valuations", "kernel") is not None
