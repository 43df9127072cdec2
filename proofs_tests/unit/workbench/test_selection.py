"""Selection strategies as values: the same as the operator written around the query."""

import pytest

import cerify
from cerify.languages import LANGUAGES
from cerify.semantics.arguments import Selection
from cerify.semantics.errors import IllFormed, Unsupported
from proofs_tests.support import stream

S = stream("A A B A B")
OPERATORS = {"all": "({})", "strict": "STRICT({})", "next": "NXT({})", "last": "LAST({})", "max": "MAX({})"}
QUERIES = {"cel": "A+ ; B", "core-cel": "(A AS x)+ ; B AS y"}


@pytest.mark.parametrize("selection", Selection)
@pytest.mark.parametrize("language", QUERIES)
def test_a_selection_is_its_operator_around_the_query(selection: Selection, language: str) -> None:
    query = QUERIES[language]
    written = cerify.match(OPERATORS[selection.value].format(query), S, language=language)
    assert cerify.match(query, S, language=language, selection=selection) == written
    assert cerify.match(query, S, language=language, selection=selection.value) == written
    assert (len(written) < len(cerify.match(query, S, language=language))) == (selection is not Selection.ALL)


def test_a_language_without_strategies_around_a_query_says_so() -> None:
    for name in set(LANGUAGES) - set(QUERIES):
        assert LANGUAGES[name].selected(None, Selection.ALL) is None
        with pytest.raises(Unsupported, match="no selection 'next'"):
            LANGUAGES[name].selected(None, Selection.NEXT)
    with pytest.raises(IllFormed, match="use one of all, strict, next, last, max"):
        cerify.match("A", S, selection="some")
