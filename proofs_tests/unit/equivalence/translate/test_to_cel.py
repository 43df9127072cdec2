"""core-CEL in CEL: the paper's examples, each rule of the translation, for each refusal a stream that asks for it."""

from random import Random

import pytest

from cerify.equivalence.rewrite.translate_core_cel import to_cel
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import interpreter
from cerify.semantics.cel.parse import parse as parse_cel
from cerify.semantics.cel.syntax import show
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.check import problems
from cerify.semantics.core_cel.interpreter import matches_of
from cerify.semantics.core_cel.parse import parse
from cerify.semantics.core_cel.syntax import show as show_core_cel
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Match, Stream
from proofs_tests.support import FIGURE_1, by_position, sampled, stream
from proofs_tests.unit.equivalence.translate.tried import SOURCES, all_tried
from proofs_tests.unit.semantics.core_cel.examples import EXAMPLES, events
from proofs_tests.unit.semantics.core_cel.formulas import of_size, stream_of


def cel(query: str) -> str:
    """The translation of a core-CEL query, in text."""
    return show(to_cel(parse(query)))


def cel_events(query: str, S: Stream | str) -> set[tuple[int, ...]]:
    """The complex events of a CEL query."""
    return set[tuple[int, ...]]().union(*by_position(query, S).values())


@pytest.mark.parametrize("name", sorted(EXAMPLES.keys() - {"not well-formed"}))
def test_the_running_examples_on_figure_1(name: str) -> None:
    query, expected = EXAMPLES[name]
    assert by_position(cel(query), FIGURE_1) == expected


@pytest.mark.parametrize("strategy", ["STRICT", "NXT", "LAST", "MAX"])
@pytest.mark.parametrize("name", ["phi1", "phi2", "phi3", "correlated"])
def test_strategies_on_the_running_examples(name: str, strategy: str) -> None:
    query = f"{strategy}({EXAMPLES[name][0]})"
    found = events(query, FIGURE_1)
    assert cel_events(cel(query), FIGURE_1) == found
    assert found or (strategy == "STRICT" and name in ("phi3", "correlated"))


@pytest.mark.parametrize(
    ("query", "translation"),
    [
        ("A AS x ; B AS y FILTER x.a = y.a", "A IN x ; B IN y FILTER x.a = y.a"),
        # a filter goes to where its variables are held
        ("A AS x ; (B AS y FILTER x.a = 1)", "A IN x ; B IN y FILTER x.a = 1"),
        # an iteration has variables of its own, and none is called like an event type
        ("A AS x ; (A AS x)+ FILTER x.a = 1", "A IN x ; A IN x2+ FILTER x.a = 1"),
        ("A AS B ; B AS y FILTER B.a = 1", "A IN B2 ; B IN y FILTER B2.a = 1"),
        # in a round it compares with what is around the iteration: for all rounds
        ("A AS x ; (B AS y FILTER y.a = x.a)+", "A IN x ; B IN y+ FILTER y.a = x.a"),
        ("A AS x ; ((B AS y FILTER y.a = x.a) OR C AS y)+", "A IN x ; (B IN y2 OR C IN y)+ FILTER y2.a = x.a"),
        # in a round it speaks of what is around the iteration only: for the whole of it
        ("A AS x ; (B AS y FILTER x.a = 1)+", "A IN x ; B IN y+ FILTER x.a = 1"),
        (
            "A AS x ; ((B AS y FILTER x.a = 1) OR C AS z)+",
            "A IN x ; C IN z+ OR (A IN x ; (B IN y OR C IN z)+ FILTER x.a = 1)",
        ),
        # branches are told apart only if something tells them apart
        ("(A AS x OR B AS y) ; C AS z", "(A IN x OR B IN y) ; C IN z"),
        ("(A AS x OR B AS y) ; (A AS x OR B AS y)", "A IN x ; B IN y OR B IN y ; A IN x"),
        ("A AS x ; A AS x", "A UNLESS A"),
        # strategies, where they have nothing to choose
        ("A AS x ; NXT(B AS y OR C AS z)", "A IN x ; (B IN y OR C IN z)"),
        ("A AS x ; MAX(B AS y ; C AS z)", "A IN x ; (B IN y ; C IN z)"),
        ("NXT(A AS x ; B AS y) ; C AS z", "NXT(A IN x ; B IN y) ; C IN z"),
    ],
)
def test_what_is_written(query: str, translation: str) -> None:
    assert cel(query) == translation
    assert show(parse_cel(translation)) == translation


@pytest.mark.parametrize(
    ("query", "S", "expected"),
    [
        # two branches of one round, with guards: which of the two the rounds use decides what is asked of x
        (
            "A AS x ; ((B AS y FILTER x.a = 1) OR (C AS z FILTER x.b = 2))+",
            stream("A B C", a=[1, 0, 0], b=[0, 0, 0]),
            {(0, 1)},
        ),
        (
            "A AS x ; ((B AS y FILTER x.a = 1) OR (C AS z FILTER x.b = 2))+",
            stream("A B C", a=[1, 0, 0], b=[2, 0, 0]),
            {(0, 1), (0, 2), (0, 1, 2)},
        ),
        # the y of the second branch is no y of the first
        (
            "A AS x ; ((B AS y FILTER y.a = x.a) OR C AS y)+",
            stream("A B C B", a=[1, 1, 2, 2]),
            {(0, 1), (0, 2), (0, 1, 2)},
        ),
        # each round of the outer iteration has its own h
        (
            "(H AS h ; (T AS y FILTER y.id = h.id)+)+",
            stream("H T H T", id=[1, 1, 2, 2]),
            {(0, 1), (2, 3), (0, 1, 2, 3)},
        ),
        ("A AS x ; ((A AS x FILTER x.a = 2)+ ; A AS y)+ FILTER x.a = 1", stream("A A A", a=[1, 2, 3]), {(0, 1, 2)}),
    ],
)
def test_filters_in_iterations(query: str, S: Stream, expected: set[tuple[int, ...]]) -> None:
    assert events(query, S) == expected
    assert cel_events(cel(query), S) == expected


REFUSED = {
    # name: query, the obvious formula of CEL, a stream where they differ, what the error says, where
    "looks ahead": (
        "H AS x FILTER y.a > 40",
        "H IN x FILTER y.a > 40",
        stream("H T", a=[0, 39]),
        "y need not hold an event of the match here",
        "y.a > 40",
    ),
    "looks ahead from one branch": (
        "(A AS x OR B AS y) FILTER x.a = 1",
        "(A IN x OR B IN y) FILTER x.a = 1",
        stream("B", a=[0]),
        "x need not hold an event of the match here",
        "x.a = 1",
    ),
    "looks ahead in a round": (
        "A AS x ; ((B AS x OR B AS y) FILTER x.a = 7)+",
        "A IN x ; ((B IN z OR B IN y) FILTER z.a = 7)+",
        stream("A B", a=[1, 1]),
        "x need not hold an event of the match here",
        "x.a = 7",
    ),
    "two variables of a round": (
        "A AS x ; ((B AS y ; C AS z) FILTER y.a + z.a = x.a)+",
        "A IN x ; (B IN y ; C IN z)+ FILTER y.a + z.a = x.a",
        stream("A B C B C", a=[5, 1, 4, 2, 3]),
        "the filter compares x with y, z of one round",
        "y.a + z.a = x.a",
    ),
    "one variable of a round twice": (
        "A AS x ; (B AS y FILTER y.a = x.a + y.b)+",
        "A IN x ; (B IN y)+ FILTER y.a = x.a + y.b",
        stream("A B B", a=[1, 2, 3], b=[0, 1, 2]),
        "the filter compares x with y, y of one round",
        "y.a = x.a + y.b",
    ),
    "NXT after a sequence": (
        "A AS x ; NXT(B AS y ; C AS z)",
        "A ; NXT(B ; C)",
        stream("B A B C"),
        "NXT stands after a ; or in an iteration",
        "NXT(B AS y ; C AS z)",
    ),
    "LAST after a sequence": (
        "A AS x ; LAST((B AS y)+)",
        "A ; LAST(B+)",
        stream("B A B"),
        "LAST stands after a ;",
        "LAST((B AS y)+)",
    ),
    "MAX after a sequence": (
        "A AS x ; MAX((B AS y)+)",
        "A ; MAX(B+)",
        stream("B A B"),
        "MAX stands after a ;",
        "MAX((B AS y)+)",
    ),
    "a strategy in an iteration": (
        "(NXT((A AS x)+ ; B AS y))+",
        "NXT(A+ ; B)+",
        stream("A B A B"),
        "NXT stands after a ; or in an iteration",
        "NXT((A AS x)+ ; B AS y)",
    ),
    "a strategy under a filter of what is around it": (
        "NXT((A AS y ; A AS z) FILTER y.a = x.a) ; B AS x",
        "NXT(A IN y ; A IN z) ; B IN x FILTER y.a = x.a",
        stream("A A A B", a=[1, 2, 0, 2]),
        "NXT compares here only what passes a filter on x",
        "y.a = x.a",
    ),
    "branches of a strategy that are told apart": (
        "MAX(A AS x OR (A AS y ; A AS z)) ; B AS x",
        "MAX(A IN x OR (A IN y ; A IN z)) ; B IN w",
        stream("A A B"),
        "the branches under MAX define different variables",
        "MAX(A AS x OR (A AS y ; A AS z))",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_and_why(name: str) -> None:
    """The obvious translation would be wrong on the stream."""
    query, obvious, S, message, place = REFUSED[name]
    with pytest.raises(Unsupported) as refusal:
        to_cel(parse(query))
    assert message in refusal.value.message
    span = refusal.value.span
    assert span is not None
    assert query[span.start : span.end] == place
    assert events(query, S) != cel_events(obvious, S)


def test_a_formula_without_problems_does_not_look_ahead() -> None:
    """What `problems` calls unbound is what is refused as such, and nothing else, if no strategy is in the way."""
    rng, seen = Random(1), {True: 0, False: 0}
    for _ in range(400):
        phi, _ = SOURCES["core-cel everything"][2](rng)
        if any(isinstance(psi, core.CoreNext | core.CoreLast | core.CoreMax) for psi in core.subformulas(phi)):
            continue
        bound = not any(problem.rule == "unbound" for problem in problems(phi))
        said = ""
        try:
            to_cel(phi)
        except Unsupported as error:
            said = error.message
        assert not (bound and "need not hold an event" in said), show_core_cel(phi)
        seen[bound] += 1
    assert min(seen.values()) > 30


@pytest.mark.parametrize("size", sampled([1, 2, 3, 4], [1, 2, 3]))
def test_all_formulas_of_up_to_four_nodes(size: int) -> None:
    rng, matched, refused = Random(size), 0, 0
    for phi in of_size(size):
        S = stream_of(rng, 4)
        try:
            psi = to_cel(phi)
        except Unsupported:
            refused += 1
            continue
        expected = matches_of(phi, S)
        found = sorted(Match(n, tuple(sorted(C))) for n in range(4) for C in interpreter.complex_events(psi, S, n))
        assert found == expected, f"{show_core_cel(phi)} -> {show(psi)} over {list(S)}"
        matched += bool(expected)
    assert matched > len(of_size(size)) // 10
    assert refused < len(of_size(size)) * 3 // 4


@pytest.mark.parametrize("source", [source for source in SOURCES if source.startswith("core-cel")])
def test_random_formulas_there_and_back(source: str) -> None:
    said = []
    for one in all_tried(source, 3, 80):
        assert "differ" not in (one.there, one.back), f"{'  ->  '.join(one.texts)} over {list(one.stream)}"
        said += [one.there, one.back]
    assert said.count("agree on some match") > 30


def test_what_blows_up_stops_with_a_typed_error() -> None:
    """Which of the 2 ** 20 ways through the ORs is taken decides which of the filters hold."""
    names = [f"x{i}" for i in range(20)]
    ways = " ; ".join(f"(A AS {x} OR B AS {x} OR A AS y{x})" for x in names)
    filters = " AND ".join(f"({x}.a = 1 OR y{x}.a = 1)" for x in names)
    with pytest.raises(BudgetExceeded):
        to_cel(parse(f"({ways}) FILTER {filters}"), Budget(states=2_000))
    rounds = " OR ".join(f"(A AS y FILTER x.a = {i})" for i in range(20))
    with pytest.raises(BudgetExceeded):
        to_cel(parse(f"A AS x ; ({rounds})+"), Budget(states=2_000))


def test_a_deep_formula_stops_with_a_typed_error() -> None:
    phi: core.Formula = core.CoreEventAtom("A", "x")
    for _ in range(5_000):
        phi = core.CorePlus(phi)
    with pytest.raises(BudgetExceeded):
        to_cel(phi)
