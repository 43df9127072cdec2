"""Shrinking by language: every language that is served has a way, and what it keeps still fails."""

from typing import Any

import pytest

from cerify.conformance.defects import shrink_case
from cerify.equivalence.shrink.event_expressions import without_names
from cerify.equivalence.shrink.shrink import QueryOperations
from cerify.languages import LANGUAGES
from cerify.languages.language import Language
from cerify.languages.sase import Sase
from cerify.semantics.errors import IllFormed
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.event_expressions.syntax import show
from cerify.semantics.events import Event, Stream
from cerify.semantics.sase.syntax import Tree


def shrunk(language: Language[Any], query: str, S: Stream, said: str, types: str) -> tuple[str, str]:
    """The last query that has said in its text and over a stream with these types in a row, and the stream."""
    best = (query, "".join(event.type for event in S))

    def fails(query: str, S: Stream) -> bool:
        nonlocal best
        if not len(S):
            raise IllFormed("an error is no failure")
        text = "".join(event.type for event in S)
        if said in query and types in text:
            best = (query, text)
            return True
        return False

    shrink_case(language, query, S, fails, 2_000)
    return best


S = Stream([Event(T, {"n": 3}) for T in "cabac"])


@pytest.mark.parametrize(
    ("language", "query", "said", "small"),
    [
        ("cel", "(a ; b+ ; c) FILTER b.n > 2", "+", "a+"),
        ("core-cel", "NXT(a AS x ; (b AS y ; c AS z)+) FILTER x.n > 2", "+", "(a AS a)+"),
        ("event-expression", "prior(a, <7> b and !before(c)) | relative(a, c)", "<", "<1> a"),
        ("event-expression", "p(X) := prior(a(X, 4), b(X)) and X = 9; c or p(3)", "(", "prior(a, b)"),
    ],
)
def test_a_query_and_a_stream_get_smaller(language: str, query: str, said: str, small: str) -> None:
    found, stream = shrunk(LANGUAGES[language], query, S, said, "a")
    assert (len(found), found) <= (len(small), small)
    assert said in found
    assert stream == "a"
    LANGUAGES[language].parse(found)


class Unknown(Sase):
    """A language that does not say how its queries get simpler."""

    def operations(self) -> QueryOperations[Tree]:
        return Language.operations(self)


def test_of_a_language_that_nobody_knows_the_stream_gets_shorter() -> None:
    assert shrunk(Unknown(), "PATTERN SEQ(A a)", S, "SEQ", "ab") == ("PATTERN SEQ(A a)", "ab")


@pytest.mark.parametrize(
    ("text", "written_out"),
    [
        ("a", "a"),
        ("p := a; q := p or b; !q", "!(a or b)"),
        ("p(I) := prior(a(I), b(I)[n > 1]); p(3) or p(J)", "prior(a(3), b(3)[n > 1]) or prior(a(J), b(J)[n > 1])"),
    ],
)
def test_names_are_written_out(text: str, written_out: str) -> None:
    assert show(without_names(parse(text))) == written_out
