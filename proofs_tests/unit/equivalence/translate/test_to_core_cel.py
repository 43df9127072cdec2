"""CEL in core-CEL: the paper's examples, each rule of the translation, for each refusal a stream that asks for it."""

import pytest

from cerify.equivalence.rewrite.translate_core_cel import to_cel, to_core_cel
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import show as show_cel
from cerify.semantics.core_cel.check import is_safe, problems
from cerify.semantics.core_cel.parse import parse as parse_core_cel
from cerify.semantics.core_cel.syntax import show
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Stream
from proofs_tests.support import EXAMPLES, FIGURE_1, by_position, stream
from proofs_tests.unit.equivalence.translate.tried import SOURCES, all_tried
from proofs_tests.unit.semantics.core_cel.examples import by_position as core_by_position
from proofs_tests.unit.semantics.core_cel.examples import events


def core(query: str) -> str:
    """The translation of a CEL query, in text."""
    return show(to_core_cel(parse(query)))


def cel_events(query: str, S: Stream | str) -> set[tuple[int, ...]]:
    """The complex events of a CEL query."""
    return set[tuple[int, ...]]().union(*by_position(query, S).values())


@pytest.mark.parametrize("name", sorted(EXAMPLES.keys() - {"phi2'", "phi4"}))
def test_the_running_examples_on_figure_1_there_and_back(name: str) -> None:
    """phi2' has ALL, and phi4 leaves out events by PROJECT; phi1' and phi3' have contiguous operators."""
    query, expected = EXAMPLES[name]
    if name == "phi3'":  # only the iteration is contiguous, and it may stand within gaps
        assert core("H IN H1 ; T:+ ; H IN H2") == "H AS H1 ; STRICT((T AS t)+) ; H AS H2"
    assert core_by_position(core(query), FIGURE_1) == expected
    assert by_position(show_cel(to_cel(to_core_cel(parse(query)))), FIGURE_1) == expected


@pytest.mark.parametrize(
    ("query", "translation"),
    [
        ("T ; H", "T AS t ; H AS h"),
        ("T ; T", "T AS t ; T AS t2"),
        ("T IN X ; (T ; H) IN X", "T AS X ; (T AS t ; H AS h)"),
        # a filter on a set is one on each of its events, in every round
        ("(T ; H+) IN X FILTER X.a = 1", "(T AS t FILTER t.a = 1) ; (H AS h FILTER h.a = 1)+"),
        ("(T ; H) FILTER T.a = 1", "(T AS t FILTER t.a = 1) ; H AS h"),
        ("(T ; H) FILTER X.a = 1", "T AS t ; H AS h"),
        # IN hides what the variable held before
        ("((T IN X ; H) IN X) FILTER X.a = 1", "(T AS X FILTER X.a = 1) ; (H AS h FILTER h.a = 1)"),
        ("PROJECT[X](T IN X ; H IN X) FILTER T.a = 1", "T AS X ; H AS X2"),
        ("T ; H FILTER T.a = 1 OR H.a = 2", "(T AS t FILTER t.a = 1) ; H AS h OR T AS t ; (H AS h FILTER h.a = 2)"),
        # across variables: each event of the one with each of the other
        ("(T ; H) FILTER T.a = H.a", "T AS t ; H AS h FILTER t.a = h.a"),
        ("T ; H+ FILTER T.a = H.a", "T AS t ; (H AS h FILTER t.a = h.a)+"),
        (
            "T ; T FILTER T.a < T.b",
            "(T AS t FILTER t.a < t.b) ; (T AS t2 FILTER t2.a < t2.b) FILTER t.a < t2.b FILTER t2.a < t.b",
        ),
        # contiguous operators
        ("T : H", "STRICT(T AS t ; H AS h)"),
        ("(T : H):+", "STRICT(STRICT(T AS t ; H AS h)+)"),
        # a filter around a strategy does not go inside
        ("NXT(T ; H) FILTER T.a = 1", "NXT(T AS t ; H AS h) FILTER t.a = 1"),
        ("T ; MAX(H OR T)", "T AS t ; (H AS h OR T AS t2)"),
    ],
)
def test_what_is_written(query: str, translation: str) -> None:
    assert core(query) == translation
    assert show(parse_core_cel(translation)) == translation


REFUSED = {
    # name: query, the obvious formula of core-CEL, a stream where they differ, what the error says
    "PROJECT": ("PROJECT[A](A ; B)", "A AS x ; B AS y", stream("A B"), "PROJECT leaves events out"),
    "START": ("START(A)", "A AS x", stream("B A"), "START asks where a match begins"),
    "AND": ("A IN X AND A", "A AS x", stream("A"), "AND asks for the same valuation"),
    "ALL": ("A ALL A", "A AS x ; A AS y", stream("A"), "ALL lets matches overlap"),
    "UNLESS": ("A UNLESS B", "A AS x", stream("B A"), "UNLESS asks for what did not happen"),
    "WITHIN": ("(A ; B) WITHIN 2 EVENTS", "A AS x ; B AS y", stream("A C B"), "WITHIN compares the first event"),
    "PARTITION BY": ("A+ PARTITION BY [a]", "(A AS x)+", stream("A A", a=[1, 2]), "PARTITION BY compares each two"),
    "gaps in a contiguous sequence": ("(A ; B) : C", "STRICT(A AS x ; B AS y ; C AS z)", stream("A D B C"), "gaps"),
    "gaps in a contiguous iteration": ("(A ; B):+", "STRICT((A AS x ; B AS y)+)", stream("A D B A B"), "gaps"),
    "NXT after a sequence": ("A ; NXT(B ; C)", "A AS x ; NXT(B AS y ; C AS z)", stream("B A B C"), "NXT stands after"),
    "LAST after a sequence": ("A ; LAST(B+)", "A AS x ; LAST((B AS y)+)", stream("B A B"), "LAST stands after"),
    "MAX in an iteration": ("MAX(A+ ; B)+", "(MAX((A AS x)+ ; B AS y))+", stream("A B A B"), "MAX stands after"),
    "a filter around a strategy, on many events": (
        "MAX(A+) FILTER A.a = 1",
        "MAX((A AS x FILTER x.a = 1)+)",
        stream("A A", a=[2, 1]),
        "the filter stands around a strategy",
    ),
    "a filter around a strategy, on one branch": (
        "MAX(A OR (B ; A) OR C) FILTER B.a = 1",
        "MAX(A AS x OR ((B AS y FILTER y.a = 1) ; A AS x) OR C AS z)",
        stream("B A", a=[2, 1]),
        "the filter stands around a strategy",
    ),
    "events of different rounds": (
        "A+ FILTER A.a = A.a",
        "(A AS x FILTER x.a = x.a)+",
        stream("A A", a=[1, 5]),
        "events of different rounds",
    ),
    "events of two branches": (
        "(A OR B) ; (C OR D) FILTER A.a = C.a",
        "(A AS x OR B AS y) ; (C AS z OR D AS w) FILTER x.a = z.a",
        stream("B D"),
        "the filter compares events of two branches",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_and_why(name: str) -> None:
    """The obvious translation would be wrong on the stream."""
    query, obvious, S, message = REFUSED[name]
    with pytest.raises(Unsupported) as refusal:
        to_core_cel(parse(query))
    assert message in refusal.value.message
    assert refusal.value.span is not None
    assert cel_events(query, S) != events(obvious, S)


def test_a_predicate_on_sets_is_refused() -> None:
    with pytest.raises(Unsupported, match="no predicate p on sets"):
        to_core_cel(cel.Filter(cel.EventAtom("A"), cel.Named("p", ("A",))))


@pytest.mark.parametrize("source", [source for source in SOURCES if source.startswith("cel")])
def test_random_formulas_there_and_back(source: str) -> None:
    said = []
    for one in all_tried(source, 4, 60):
        assert "differ" not in (one.there, one.back), f"{'  ->  '.join(one.texts)} over {list(one.stream)}"
        assert one.back != "refused" or one.there == "refused", one.texts
        said += [one.there, one.back]
    assert said.count("agree on some match") > 10


def test_translations_are_safe_and_without_problems() -> None:
    checked = 0
    for one in all_tried("cel selecting", 5, 100):
        if one.there.startswith("agree"):
            phi = parse_core_cel(one.texts[1])
            assert is_safe(phi)
            assert not problems(phi)
            checked += 1
    assert checked > 50


def test_names_that_the_text_could_not_carry_are_avoided() -> None:
    assert core("True ; TRUE ; T IN t ; T") == "True AS True ; TRUE AS TRUE ; T AS t ; T AS t2"


def test_what_blows_up_stops_with_a_typed_error() -> None:
    ways = " AND ".join(f"(A.a = {i} OR A.b = {i})" for i in range(30))
    with pytest.raises(BudgetExceeded):
        to_core_cel(parse(f"A FILTER {ways}"), Budget(states=2_000))


def test_a_deep_formula_stops_with_a_typed_error() -> None:
    phi: cel.Formula = cel.EventAtom("A")
    for _ in range(5_000):
        phi = cel.Plus(phi)
    with pytest.raises(BudgetExceeded):
        to_core_cel(phi)
