"""Claims of vldb92 about the language: its operators, derived operators, power and examples."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import product

from cerify.automata.dfa.compile import compile_expression
from cerify.semantics.event_expressions import denote, interpreter
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.denote import ANY, EVERY_EVENT, definition
from cerify.semantics.event_expressions.interpreter import takes_place
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.event_expressions.syntax import show
from cerify.semantics.events import Event, Stream
from proofs_tests.claims import broken, vldb92_search
from proofs_tests.claims import printed_vldb92 as printed
from proofs_tests.claims.ledger import Effort, Finding, Status, claim, plant
from proofs_tests.claims.vldb92_search import (
    AFTER_A,
    LETTERS,
    Case,
    all_such,
    difference,
    expressions,
    histories,
    meaning,
    over,
    passed,
)

a, b = map(expr.Primitive, LETTERS)
LEAVES = (a, b, expr.Null(), expr.Primitive("start"), expr.First())


def applied(E: expr.Expression, h: tuple[str, ...]) -> frozenset[int]:
    return frozenset(e for e, _ in printed.applied(E, printed.numbered(h)))


# --- 2.2 --------------------------------------------------------------------------------------------------------------

CLAUSES: dict[str, tuple[str, Callable[[expr.Expression], bool]]] = {
    "null-history": ("E[null] = null", lambda E: True),
    "null": ("NULL[h] = null", lambda E: isinstance(E, expr.Null)),
    "event": ("a[h]", lambda E: isinstance(E, expr.Primitive)),
    "and": ("E ∧ F", lambda E: isinstance(E, expr.ExpressionAnd)),
    "not": ("!E", lambda E: isinstance(E, expr.ExpressionNot)),
    "relative": ("relative(E, F)", lambda E: isinstance(E, expr.Relative)),
    "relative+": ("relative+(E)", lambda E: isinstance(E, expr.RelativePlus)),
}


def _clause(name: str, title: str, rooted: Callable[[expr.Expression], bool]) -> None:
    @claim(f"vldb92.ops:{name}", f"{title}: its definition", "definition")
    def check(effort: Effort) -> Finding:
        nodes, length = (3, 4) if effort == "quick" else (4, 5)
        Es = [E for E in expressions(nodes) if rooted(E)]
        if name == "null-history":
            return passed(
                all(not meaning(E, ()) for E in Es),
                f"all {len(Es)} expressions to {nodes} nodes {over(nodes)}",
                "exhaustive",
            )
        found, cases = difference(product(Es, histories(length)), applied)
        bound = f"{cases} cases: {all_such(name, nodes)}, all histories to {length} events"
        return Finding("holds" if found is None else "refuted", "exhaustive", bound, found)


for _name, (_title, _rooted) in CLAUSES.items():
    _clause(_name, _title, _rooted)


AMOUNTS = {"a0": Event("a", {"x": 1}), "a1": Event("a", {"x": 2}), "b": Event("b", {"x": 2})}
"""An event for each primitive event that the mask x > 1 makes of a, and one that has no mask."""


@claim(
    "vldb92.sec2:masks",
    "A mask hides the occurrences that fail it; primitive events exclude each other and are finitely many, as "
    "the text assumes",
    "definition",
    "a and a[x > 1] overlap; the exclusive events are a with x > 1, and a without",
)
def _(effort: Effort) -> Finding:
    nodes, length, cases = *((3, 3) if effort == "quick" else (4, 4)), 0
    masked = expressions(nodes, leaves=[parse(text) for text in ("a", "a[x > 1]", "b")])
    exclusive = expressions(nodes, leaves=[parse(text) for text in ("a0 or a1", "a1", "b")])
    for E, F in zip(masked, exclusive, strict=True):
        A = compile_expression(E)
        for h in (h for n in range(1, length + 1) for h in product(AMOUNTS, repeat=n)):
            cases += 1
            S = Stream(AMOUNTS[letter] for letter in h)
            if not takes_place(E, S) == frozenset(A.events(S)) == meaning(F, h):
                return Finding("refuted", "exhaustive", f"{show(E)} over {S.events}")
    bound = f"{cases:,} cases: all expressions to {nodes} nodes {over(nodes, 'a, a[x > 1] and b')}, all histories to "
    return Finding("holds", "exhaustive", f"{bound}{length} events, by the definition and by the automaton")


plant("vldb92.sec2:masks", "a mask is not asked", denote, "holds", broken.always(True))


# --- 2.3 --------------------------------------------------------------------------------------------------------------


def _or_as_printed(E: expr.Expression) -> expr.Expression:
    assert isinstance(E, expr.ExpressionOr)
    return expr.ExpressionNot(expr.ExpressionAnd(E.left, expr.ExpressionNot(E.right)))


def _as_printed(E: expr.Expression) -> expr.Expression:
    found = definition(E, ANY)
    assert found is not None
    return found


def _corrected(E: expr.Expression) -> expr.Expression:
    found = definition(E, EVERY_EVENT)
    assert found is not None
    return found


def after_by_pipe(E: expr.After) -> expr.Expression:
    """F / E with a pipe: the second definition of the operator, in clause (j) of the paper's list."""
    return expr.Relative((expr.Pipe(E.right, expr.First()), E.left))


def _after_by_pipe(E: expr.Expression) -> expr.Expression:
    assert isinstance(E, expr.After)
    return after_by_pipe(E)


Rewrite = Callable[[expr.Expression], expr.Expression]
AT_START = (
    "start is an event of the history, at which E with a ! may take place, by clause 5. If nothing took place "
    "at start, f, h, h1, i and j would stand as printed"
)
READINGS = {
    "f": "start, if present, is the first event of a history; the printed formula has both start and the next "
    "event. If nothing took place at start, it would stand as printed, like h, h1 and i",
    **dict.fromkeys(("h", "h1", "i"), AT_START),
    "b": "over a and b it is a or b; the text has only the words",
    "d": "m is 3",
    "e": "m is 3",
    "j2": "first follows its words, as corrected in derived:f",
    "l": "as with /+, a new E1 ends what is relative to the previous E1, so nothing takes place there. The words "
    "alone would have an E2 there too, relative to the previous E1",
    "a": "the text has only the formula; we read its symbol",
    "m": "the text has only the formula; we read its name: E has taken place at an event before",
    "n": "the text has only the formula; we read its name: E takes place, or has taken place before",
    "p": "only E comes before T in the history, not even start, as in the sixth example of section 2.4.1",
}
FOR_NTH = "`!NULL` for `any`, and `first` as corrected"
SHOWN: dict[str, Case] = {"h1": (parse("<1> !b"), ("start", "a"))}
"""Counterexamples that say more than the smallest ones."""
DERIVED: dict[str, tuple[str, int, Callable[..., expr.Expression], Rewrite, str | None]] = {
    "a": ("E ∨ F", 2, expr.ExpressionOr, _or_as_printed, "!(!E ∧ !F)"),
    "b": ("any", 0, expr.AnyEvent, lambda _: parse("a or b"), None),
    "c": ("prior(E, F)", 2, lambda *parts: expr.Prior(parts), _as_printed, None),
    "d": ("prior(E1, ..., Em)", 3, lambda *parts: expr.Prior(parts), _as_printed, None),
    "e": ("sequence(E1, ..., Em)", 3, lambda *parts: expr.Sequence(parts), _as_printed, None),
    "e2": ("sequence(E1, E2)", 2, lambda *parts: expr.Sequence(parts), _as_printed, None),
    "f": ("first", 0, expr.First, _as_printed, "!relative(!NULL, !NULL)"),
    "h": ("<2> E", 1, lambda E: expr.Nth(2, E), _as_printed, FOR_NTH),
    "h1": ("<1> E", 1, lambda E: expr.Nth(1, E), _as_printed, FOR_NTH),
    "i": ("every <2> E", 1, lambda E: expr.EveryNth(2, E), _as_printed, "`!NULL` for `any`, and `<n>` as corrected"),
    "j": ("F / E, by prior", 2, expr.After, _as_printed, None),
    "j2": ("F / E, by a pipe", 2, expr.After, _after_by_pipe, None),
    "l": ("firstAfter(E1, E2, F)", 3, expr.FirstAfter, _as_printed, None),
    "m": ("before(E)", 1, expr.Before, _as_printed, None),
    "n": ("happened(E)", 1, expr.Happened, _as_printed, None),
    "p": ("E * T", 2, expr.ExpressionSeries, _as_printed, None),
}


THREE = expressions(2, unary=[expr.ExpressionNot], leaves=(a, expr.First()))


def _derived(
    name: str, title: str, arity: int, make: Callable[..., expr.Expression], rewrite: Rewrite, by: str | None
) -> None:
    # With three operands: fewer, on four events, the least that tell a sequence of three from three in order.
    leaves = LEAVES if arity < 3 else (a, expr.First())
    operands = expressions(2, leaves=leaves) if arity < 3 else THREE

    def length(effort: Effort) -> int:
        return 4 - (effort == "quick" and arity == 2)

    def cases(effort: Effort) -> Iterator[Case]:
        for h in histories(length(effort), started=True):
            for chosen in product(operands, repeat=arity):
                yield make(*chosen), h

    def bound(effort: Effort, looked_at: int) -> str:
        among = ", ".join(map(show, leaves))
        of = f"all operands to 2 nodes {f'over {among} with !' if arity > 2 else over(2, among)}, " if arity else ""
        return f"{looked_at} cases: {of}all histories to {length(effort)} events, also after start"

    said = {"a": "symbol", "m": "name", "n": "name"}.get(name, "words")
    title += (
        ": the disjunction of all the primitive events but start"
        if name == "b"
        else f": printed formula and {said} agree"
    )

    @claim(f"vldb92.derived:{name}", title, "definition", READINGS.get(name))
    def check(effort: Effort) -> Finding:
        if not any(meaning(E, h) for E, h in cases(effort)):
            return Finding("refuted", "exhaustive", "it takes place nowhere, so that nothing is compared")
        found, looked_at = difference(cases(effort), lambda E, h: meaning(rewrite(E), h))
        if found is None:
            return Finding("holds", "exhaustive", bound(effort, looked_at))
        if name in SHOWN:
            found = difference([SHOWN[name]], lambda E, h: meaning(rewrite(E), h))[0] or found
        still, looked_at = difference(cases(effort), lambda E, h: meaning(_corrected(E), h))
        status: Status = "holds-corrected" if still is None and by is not None else "refuted"
        return Finding(status, "exhaustive", bound(effort, looked_at), found, by)


for _name, _entry in DERIVED.items():
    _derived(_name, *_entry)


def _with_pipes(effort: Effort) -> list[expr.Expression]:
    small = expressions(2 if effort == "quick" else 3)
    return [expr.Pipe(E, F) for E in small for F in small]


@claim("vldb92.derived:g", "(E | F)[h] = F[E[h]]", "definition")
def _(effort: Effort) -> Finding:
    nodes = 2 if effort == "quick" else 3
    found, cases = difference(product(_with_pipes(effort), histories(4)), applied)
    return Finding(
        "holds" if found is None else "refuted",
        "exhaustive",
        f"{cases} cases: all pairs of expressions to {nodes} nodes {over(nodes)}, all histories to 4 events",
        found,
    )


@claim("vldb92.derived:k", "F /+ E by the histories between two events of E", "definition")
def _(effort: Effort) -> Finding:
    small = expressions(2 if effort == "quick" else 3)
    Es = [expr.ExpressionBetween(F, E) for F in small for E in small]

    def got(as_printed: bool) -> Callable[[expr.Expression, tuple[str, ...]], frozenset[int]]:
        def at(E: expr.Expression, h: tuple[str, ...]) -> frozenset[int]:
            assert isinstance(E, expr.ExpressionBetween)
            parts = printed.between(E.left, E.right, printed.numbered(h), printed.applied, as_printed)
            return frozenset(e for e, _ in parts)

        return at

    cases = [(E, h) for h in histories(4) for E in Es]
    found, _ = difference(cases, got(as_printed=True))
    still, looked_at = difference(cases, got(as_printed=False))
    status: Status = "holds" if found is None else "holds-corrected" if still is None else "refuted"
    nodes = 2 if effort == "quick" else 3
    bound = f"{looked_at} cases: all operands to {nodes} nodes {over(nodes)}, all histories to 4 events"
    return Finding(status, "exhaustive", bound, found, "1 <= i < m for 1 <= i < m - 1")


@claim(
    "vldb92.derived:o",
    "prefix(E): some future history has E at an event after the current one",
    "definition",
    reading="we search futures of up to 3 more events, of the letters a, b and c",
)
def _(effort: Effort) -> Finding:
    small = [*expressions(3), AFTER_A]

    def got(E: expr.Expression, h: tuple[str, ...]) -> frozenset[int]:
        assert isinstance(E, expr.Prefix)
        may = printed.prefix_sec2(expr.children(E)[0], printed.numbered(h), printed.applied, ("a", "b", "c"), 3)
        return frozenset(e for e, _ in may)

    length = 2 if effort == "quick" else 3
    found, cases = difference(((expr.Prefix(E), h) for E in small for h in histories(length)), got)
    bound = f"{cases} cases: E is each expression to 3 nodes {over(3)}, or {show(AFTER_A)}; all histories to {length} "
    bound += "events"
    return Finding("holds" if found is None else "refuted", "exhaustive", bound, found)


def _instead(kind: type[expr.Expression], clause: Callable[..., frozenset[int]]) -> broken.Broken:
    """Follow a wrong clause for this operator; it is given the right one, and what that is given."""
    return lambda right: broken.for_root(kind, lambda *given: clause(right, *given))(right)


WRONG_CLAUSES: dict[str, tuple[str, type[expr.Expression], Callable[..., frozenset[int]]]] = {
    "ops:null": ("NULL takes place at the first event", expr.Null, lambda right, E, h, *_: frozenset(h[:1])),
    "ops:event": (
        "only the first event of a type counts",
        expr.Primitive,
        lambda right, *given: frozenset(sorted(right(*given))[:1]),
    ),
    "ops:and": (
        "the right side is not asked",
        expr.ExpressionAnd,
        lambda right, E, h, b, context: context.meaning(E.left, h, b),
    ),
    "ops:not": (
        "not at the first event",
        expr.ExpressionNot,
        lambda right, E, h, *rest: right(E, h, *rest) - frozenset(h[:1]),
    ),
    "ops:relative": (
        "F behind the first event of E alone",
        expr.Relative,
        lambda right, E, *rest: right(expr.After(*reversed(E.parts)), *rest),
    ),
    "ops:relative+": (
        "two rounds at most",
        expr.RelativePlus,
        lambda right, E, *rest: right(E.operand, *rest) | right(expr.Relative((E.operand, E.operand)), *rest),
    ),
    "derived:g": (
        "E | F is E and F",
        expr.Pipe,
        lambda right, E, *rest: right(expr.ExpressionAnd(E.left, E.right), *rest),
    ),
}
for _name, (_what, _kind, _wrong) in WRONG_CLAUSES.items():
    plant(f"vldb92.{_name}", _what, interpreter, "clause", _instead(_kind, _wrong))
plant(
    "vldb92.ops:null-history",
    "something takes place in the null history",
    vldb92_search,
    "takes_place",
    lambda right: lambda E, S: right(E, S) if len(S) else frozenset({0}),
)


def _cut(E: expr.Expression) -> expr.Expression:
    """Leave the right side of each `and` out."""
    match E:
        case expr.ExpressionAnd(left, _):
            return _cut(left)
        case _:
            return expr.rebuilt(E, tuple(map(_cut, expr.children(E))))


def _not_piped(E: expr.Expression) -> expr.Expression:
    """Leave out E where `<n> E` and `every <n> E` are (E | ...)."""
    match E:
        case expr.Pipe(expr.Pipe(_, counted), first):
            return expr.Pipe(counted, first)
        case expr.Pipe(_, counted):
            return counted
        case _:
            return E


WRONG_DEFINITIONS: dict[str, tuple[str, Callable[..., expr.Expression]]] = {
    "a c d e e2 j l p": ("what defines it lacks the right side of each `and`", _cut),
    "f": ("what defines it lacks its !", lambda E: expr.children(E)[0]),
    "h h1 i": ("events are counted, and not those of E", _not_piped),
    "m": (
        "what defines it takes place at E too",
        lambda E: expr.ExpressionOr(expr.children(E)[0], E),
    ),
    "n": ("what defines it lacks the event of E itself", lambda E: expr.children(E)[1]),
}
for _names, (_what, _change) in WRONG_DEFINITIONS.items():
    plant(
        [f"vldb92.derived:{name}" for name in _names.split()],
        _what,
        sys.modules[__name__],
        "definition",
        broken.result(_change),
    )
plant("vldb92.derived:b", "any is a alone", sys.modules[__name__], "parse", broken.always(a))
plant(
    "vldb92.derived:j2",
    "what defines it lacks the pipe into first",
    sys.modules[__name__],
    "after_by_pipe",
    lambda right: lambda E: expr.Relative((E.right, E.left)),
)
plant(
    "vldb92.derived:o",
    "prefix(E) has to come at once",
    printed,
    "prefix_sec2",
    lambda right: lambda E, h, of, letters, further: right(E, h, of, letters, 0),
)
