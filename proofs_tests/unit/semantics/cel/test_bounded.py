"""Bounded iteration: what it stands for, what is refused, and that large numbers end in an error."""

import pytest

from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.denote import meaning
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import ContiguousRepeat, Repeat, expanded, size, subformulas
from cerify.semantics.errors import BudgetExceeded, IllFormed, ParseError
from cerify.semantics.events import Event, Stream
from cerify.semantics.trees import children

A = cel.EventAtom("A")


def rounds(kind: type[Repeat], n: int) -> cel.Formula:
    """n rounds of A, written out."""
    phi: cel.Formula = A
    for _ in range(n - 1):
        phi = cel.Seq(phi, A) if kind is Repeat else cel.ContiguousSeq(phi, A)
    return phi


@pytest.mark.parametrize("kind", [Repeat, ContiguousRepeat])
@pytest.mark.parametrize("least", range(1, 6))
@pytest.mark.parametrize("more", [0, 1, 2, 3, 5, None])
def test_a_number_of_rounds_is_that_many_rounds(kind: type[Repeat], least: int, more: int | None) -> None:
    """Off by one in the halves would show for some numbers only."""
    S = Stream(map(Event, "AABAAAA"))
    most = None if more is None else least + more
    wanted = frozenset[object]().union(*(meaning(rounds(kind, n), S, 0, 6) for n in range(least, (most or len(S)) + 1)))
    assert meaning(kind(A, least, most), S, 0, 6) == wanted


@pytest.mark.parametrize("text", ["A{0}", "A{0,2}", "A{3,2}", "A:{0,}", "A{1.5}", "A{,2}", "A{}"])
def test_what_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)


@pytest.mark.parametrize(("least", "most"), [(0, 1), (2, 1), (-1, None)])
def test_a_tree_that_is_no_formula(least: int, most: int | None) -> None:
    with pytest.raises(IllFormed):
        Repeat(A, least, most)


@pytest.mark.parametrize("text", ["A{1,1000000}", "A{100000000}", "A:{1000000,}", "((A{100}){100}){9}", "A{5000}"])
def test_too_many_rounds_are_an_error(text: str) -> None:
    with pytest.raises(BudgetExceeded, match="fewer rounds"):
        expanded(parse(text))
    assert size(expanded(parse("A{4999}"))) == 9997


def test_an_expansion_is_one_object_and_not_deep() -> None:
    """Interpreters remember formulas by identity; recursion goes as deep as the formula."""
    phi = Repeat(A, 1, 100)
    assert phi.expansion is phi.expansion
    assert size(phi.expansion) < 1000
    depth, level = 0, [phi.expansion]
    while level:
        depth += 1
        level = [child for psi in level for child in children(psi)]
    assert depth < 20


def test_expanded_formulas_keep_their_places_and_have_no_derived_operator() -> None:
    phi = parse("(A{2} ; B) FILTER A.x > 1")
    psi = expanded(phi)
    assert psi.span == phi.span
    assert not any(isinstance(part, cel.Derived) for part in subformulas(psi))
    assert expanded(psi) is psi


def test_what_has_no_derived_operator_in_it_stays_the_same_object() -> None:
    phi = parse("((A{2} WITHIN 3 EVENTS) ; MAX(B ; C))")
    left, right = children(expanded(phi))
    assert not any(isinstance(psi, cel.Derived) for psi in subformulas(left))
    assert right is children(phi)[1]
