"""core-CEL in CEL: the paper's examples, each rule of the translation, for each refusal a stream that asks for it."""

from random import Random

import pytest

from cerify.equivalence.rewrite.translate_core_cel import to_cel, to_core_cel
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import interpreter
from cerify.semantics.cel import syntax as cel_syntax
from cerify.semantics.cel.parse import parse as parse_cel
from cerify.semantics.cel.syntax import show
from cerify.semantics.cel.syntax import show as show_cel
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.check import is_safe, problems
from cerify.semantics.core_cel.interpreter import matches_of
from cerify.semantics.core_cel.parse import parse
from cerify.semantics.core_cel.parse import parse as parse_core_cel
from cerify.semantics.core_cel.syntax import show as show_core_cel
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Match, Stream
from proofs_tests.support import EXAMPLES as SUPPORT_EXAMPLES
from proofs_tests.support import FIGURE_1, by_position, sampled, stream
from proofs_tests.unit.equivalence.translation_cases import SOURCES, all_tried
from proofs_tests.unit.semantics.core_cel_cases import EXAMPLES, events, of_size, stream_of
from proofs_tests.unit.semantics.core_cel_cases import by_position as core_by_position

# ---- to cel ----
#


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
        "y may hold no event here",
        "y.a > 40",
    ),
    "looks ahead from one branch": (
        "(A AS x OR B AS y) FILTER x.a = 1",
        "(A IN x OR B IN y) FILTER x.a = 1",
        stream("B", a=[0]),
        "x may hold no event here",
        "x.a = 1",
    ),
    "looks ahead in a round": (
        "A AS x ; ((B AS x OR B AS y) FILTER x.a = 7)+",
        "A IN x ; ((B IN z OR B IN y) FILTER z.a = 7)+",
        stream("A B", a=[1, 1]),
        "x may hold no event here",
        "x.a = 7",
    ),
    "two variables of a round": (
        "A AS x ; ((B AS y ; C AS z) FILTER y.a + z.a = x.a)+",
        "A IN x ; (B IN y ; C IN z)+ FILTER y.a + z.a = x.a",
        stream("A B C B C", a=[5, 1, 4, 2, 3]),
        "the filter compares x with y, z of the same round",
        "y.a + z.a = x.a",
    ),
    "one variable of a round twice": (
        "A AS x ; (B AS y FILTER y.a = x.a + y.b)+",
        "A IN x ; (B IN y)+ FILTER y.a = x.a + y.b",
        stream("A B B", a=[1, 2, 3], b=[0, 1, 2]),
        "the filter compares x with y, y of the same round",
        "y.a = x.a + y.b",
    ),
    "NXT after a sequence": (
        "A AS x ; NXT(B AS y ; C AS z)",
        "A ; NXT(B ; C)",
        stream("B A B C"),
        "NXT can be translated only at the beginning of the formula",
        "NXT(B AS y ; C AS z)",
    ),
    "LAST after a sequence": (
        "A AS x ; LAST((B AS y)+)",
        "A ; LAST(B+)",
        stream("B A B"),
        "LAST can be translated only at the beginning of the formula",
        "LAST((B AS y)+)",
    ),
    "MAX after a sequence": (
        "A AS x ; MAX((B AS y)+)",
        "A ; MAX(B+)",
        stream("B A B"),
        "MAX can be translated only at the beginning of the formula",
        "MAX((B AS y)+)",
    ),
    "a strategy in an iteration": (
        "(NXT((A AS x)+ ; B AS y))+",
        "NXT(A+ ; B)+",
        stream("A B A B"),
        "NXT can be translated only at the beginning of the formula",
        "NXT((A AS x)+ ; B AS y)",
    ),
    "a strategy under a filter of what is around it": (
        "NXT((A AS y ; A AS z) FILTER y.a = x.a) ; B AS x",
        "NXT(A IN y ; A IN z) ; B IN x FILTER y.a = x.a",
        stream("A A A B", a=[1, 2, 0, 2]),
        "NXT compares only complex events that pass a filter on x",
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
        if any(isinstance(psi, core.CorePreference) for psi in core.subformulas(phi)):
            continue
        bound = not any(problem.rule == "unbound" for problem in problems(phi))
        said = ""
        try:
            to_cel(phi)
        except Unsupported as error:
            said = error.message
        assert not (bound and "may hold no event" in said), show_core_cel(phi)
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


# ---- to core cel ----
# CEL in core-CEL: the paper's examples, each rule of the translation, for each refusal a stream that asks for it.


def to_core(query: str) -> str:
    """The translation of a CEL query, in text."""
    return show_core_cel(to_core_cel(parse_cel(query)))


@pytest.mark.parametrize("name", sorted(SUPPORT_EXAMPLES.keys() - {"phi2'", "phi4"}))
def test_the_running_examples_on_figure_1_there_and_back(name: str) -> None:
    """phi2' has ALL, and phi4 leaves out events by PROJECT; phi1' and phi3' have contiguous operators."""
    query, expected = SUPPORT_EXAMPLES[name]
    if name == "phi3'":  # only the iteration is contiguous, and it may stand within gaps
        assert to_core("H IN H1 ; T:+ ; H IN H2") == "H AS H1 ; STRICT((T AS t)+) ; H AS H2"
    assert core_by_position(to_core(query), FIGURE_1) == expected
    assert by_position(show_cel(to_cel(to_core_cel(parse_cel(query)))), FIGURE_1) == expected


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
def test_what_is_written_to_core_cel(query: str, translation: str) -> None:
    assert to_core(query) == translation
    assert show_core_cel(parse_core_cel(translation)) == translation


CORE_REFUSED = {
    # name: query, the obvious formula of core-CEL, a stream where they differ, what the error says
    "PROJECT": ("PROJECT[A](A ; B)", "A AS x ; B AS y", stream("A B"), "core-CEL has no PROJECT"),
    "START": ("START(A)", "A AS x", stream("B A"), "START tests where a match begins"),
    "AND": ("A IN X AND A", "A AS x", stream("A"), "AND needs the same valuation"),
    "ALL": ("A ALL A", "A AS x ; A AS y", stream("A"), "ALL lets matches overlap"),
    "UNLESS": ("A UNLESS B", "A AS x", stream("B A"), "UNLESS requires absent events"),
    "WITHIN": ("(A ; B) WITHIN 2 EVENTS", "A AS x ; B AS y", stream("A C B"), "WITHIN compares the first event"),
    "PARTITION BY": ("A+ PARTITION BY [a]", "(A AS x)+", stream("A A", a=[1, 2]), "PARTITION BY compares all events"),
    "gaps in a contiguous sequence": ("(A ; B) : C", "STRICT(A AS x ; B AS y ; C AS z)", stream("A D B C"), "gaps"),
    "gaps in a contiguous iteration": ("(A ; B):+", "STRICT((A AS x ; B AS y)+)", stream("A D B A B"), "gaps"),
    "NXT after a sequence": (
        "A ; NXT(B ; C)",
        "A AS x ; NXT(B AS y ; C AS z)",
        stream("B A B C"),
        "NXT can be translated only at the beginning of the formula",
    ),
    "LAST after a sequence": (
        "A ; LAST(B+)",
        "A AS x ; LAST((B AS y)+)",
        stream("B A B"),
        "LAST can be translated only at the beginning of the formula",
    ),
    "MAX in an iteration": (
        "MAX(A+ ; B)+",
        "(MAX((A AS x)+ ; B AS y))+",
        stream("A B A B"),
        "MAX can be translated only at the beginning of the formula",
    ),
    "a filter around a strategy, on many events": (
        "MAX(A+) FILTER A.a = 1",
        "MAX((A AS x FILTER x.a = 1)+)",
        stream("A A", a=[2, 1]),
        "core-CEL can express this filter only inside the strategy",
    ),
    "a filter around a strategy, on one branch": (
        "MAX(A OR (B ; A) OR C) FILTER B.a = 1",
        "MAX(A AS x OR ((B AS y FILTER y.a = 1) ; A AS x) OR C AS z)",
        stream("B A", a=[2, 1]),
        "core-CEL can express this filter only inside the strategy",
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
        "because of OR, a match may lack several of the events that the filter compares",
    ),
}


@pytest.mark.parametrize("name", CORE_REFUSED)
def test_what_is_refused_and_why_to_core_cel(name: str) -> None:
    """The obvious translation would be wrong on the stream."""
    query, obvious, S, message = CORE_REFUSED[name]
    with pytest.raises(Unsupported) as refusal:
        to_core_cel(parse_cel(query))
    assert message in refusal.value.message
    assert refusal.value.span is not None
    assert cel_events(query, S) != events(obvious, S)


def test_a_predicate_on_sets_is_refused() -> None:
    with pytest.raises(Unsupported, match="no predicate p on sets"):
        to_core_cel(cel_syntax.Filter(cel_syntax.EventAtom("A"), cel_syntax.Named("p", ("A",))))


@pytest.mark.parametrize("source", [source for source in SOURCES if source.startswith("cel")])
def test_random_formulas_there_and_back_to_core_cel(source: str) -> None:
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
    assert to_core("True ; TRUE ; T IN t ; T") == "True AS True ; TRUE AS TRUE ; T AS t ; T AS t2"


def test_what_blows_up_stops_with_a_typed_error_to_core_cel() -> None:
    ways = " AND ".join(f"(A.a = {i} OR A.b = {i})" for i in range(30))
    with pytest.raises(BudgetExceeded):
        to_core_cel(parse_cel(f"A FILTER {ways}"), Budget(states=2_000))


def test_a_deep_formula_stops_with_a_typed_error_to_core_cel() -> None:
    phi: cel_syntax.Formula = cel_syntax.EventAtom("A")
    for _ in range(5_000):
        phi = cel_syntax.Plus(phi)
    with pytest.raises(BudgetExceeded):
        to_core_cel(phi)
