"""`match`, whatever the language and the evaluator."""

import pytest

from cerify.api import match
from cerify.languages import LANGUAGES
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Event

QUERIES = {
    "cel": "A",
    "core-cel": "A AS x",
    "event-expression": "A",
    "sase": "PATTERN SEQ(A a) WHERE skip_till_any_match(a) {a.x > 0} RETURN a.x",
}


@pytest.mark.parametrize(
    ("language", "evaluator"), [(name, evaluator) for name in QUERIES for evaluator in LANGUAGES[name].evaluators]
)
def test_every_evaluator_keeps_to_the_budget_of_matches(language: str, evaluator: str) -> None:
    events = [Event("A", {"x": 1})] * 3
    query, two, three = QUERIES[language], Budget(matches=2), Budget(matches=3)
    assert len(match(query, events, language=language, evaluator=evaluator, budget=three)) == 3
    with pytest.raises(BudgetExceeded, match="more than 2"):
        match(query, events, language=language, evaluator=evaluator, budget=two)
