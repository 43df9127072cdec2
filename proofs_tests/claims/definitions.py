"""Definitions that other claims use without being about them: streams, valuations, conditions, what a query matches."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise, product

from cerify.equivalence.decide.cel import equivalent
from cerify.equivalence.verdict import Equivalent
from cerify.semantics.cel import denote, interpreter
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.denote import bind, sup
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.parse import parse
from cerify.semantics.core_cel import denote as core_denote
from cerify.semantics.core_cel.interpreter import CoreInterpreter
from cerify.semantics.core_cel.parse import parse as parse_core
from cerify.semantics.errors import IllFormed, ParseError
from cerify.semantics.event_expressions.parse import parse as parse_expression
from cerify.semantics.events import Event, Stream
from cerify.semantics.predicates import Both, Either, Not, OfType, Predicate, holds
from cerify.semantics.sase.denote import bindings
from cerify.semantics.sase.parse import parse as parse_sase
from cerify.semantics.schemas import Schema
from proofs_tests.claims import broken, printed_tods21
from proofs_tests.claims.cep17 import by_position, formulas
from proofs_tests.claims.cep17 import streams as core_streams
from proofs_tests.claims.decide import SCHEMA
from proofs_tests.claims.ledger import Effort, Finding, claim, plant
from proofs_tests.claims.search import EVENTS, POSITIVE, Space
from proofs_tests.claims.vldb92_search import expressions, histories, meaning, over
from proofs_tests.unit.semantics.sase_cases import query

HERE = sys.modules[__name__]


def _passed(ok: bool, bound: str) -> Finding:
    return Finding("holds" if ok else "refuted", "exhaustive", bound)


# ---- tods21 ----

SPACE = Space(("in", "filter", "seq", "or", "plus", "start", "nxt"), nodes=3, events=3)


@claim(
    "tods21.sec4:stream",
    "A stream is a sequence of tuples, each of one relation",
    "definition",
    "the relation is an attribute of a tuple, as footnote 1 suggests: otherwise relations with the same "
    "attributes would be one. A prefix stands for the infinite sequence",
)
def _(effort: Effort) -> Finding:
    schema = Schema({"A": {"x": "int"}, "B": {"x": "int"}})
    ok, cases = True, 0
    for word in product(EVENTS, repeat=3):
        cases += 1
        S = Stream(word, schema)
        ok &= len(S) == 3 and [S[n] for n in range(3)] == list(word)
        ok &= all(e.type in schema.types and set(e.attributes) == set(schema.attributes) for e in S)
        ok &= [n for n in range(3) if holds(OfType("A"), S[n])] == [n for n in range(3) if word[n].type == "A"]
    return _passed(ok, f"all {cases} streams of 3 events over 3 tuples")


@claim("tods21.sec4:valuation", "Valuations: support, restriction, union, A ↦ C and μ[A ↦ C]", "definition")
def _(effort: Effort) -> Finding:
    sets = [frozenset(c) for k in range(3) for c in combinations(range(2), k)]
    ok, cases = True, 0
    for C, D in product(sets, repeat=2):
        cases += 1
        by_letter = {"A": C, "X": D}
        mu = bind("A", C) | bind("X", D)
        ok &= all(frozenset(p for name, p in mu if name == A) == by_letter.get(A, frozenset()) for A in "AXY")
        ok &= sup(mu) == C | D and frozenset(p for _, p in denote.at(mu, "A")) == C
        S = Stream([Event("A"), Event("A")])
        for j in range(2):
            named = Interpreter(S).meaning(parse("(A ; A) IN X"), 0, j)
            ok &= all(frozenset(p for name, p in nu if name == "X") == sup(nu) for nu in named)
    bound = f"{cases} pairs of all sets of two positions, for A and for X; μ[X ↦ C] by (A ; A) IN X on A A alone"
    return _passed(ok, bound)


@claim("tods21.sec4:at-n", "The complex events at n are the supports of the valuations over 0 to n", "definition")
def _(effort: Effort) -> Finding:
    cases = 0
    for phi in SPACE.every():
        for n, S in ((k, S) for k in range(3) for S in SPACE.streams(k + 1)):
            cases += 1
            mus = printed_tods21.meaning(phi, S, 0, n)
            if interpreter.valuations(phi, S, n) != mus or interpreter.complex_events(phi, S, n) != {
                frozenset(p for _, p in mu) for mu in mus
            }:
                return Finding("refuted", "exhaustive", f"{cel.show(phi)} over {S.events} at {n}")
    bound = f"{cases} cases against the sets of Figure 3, of section 7.1 for NXT: {SPACE.describe()}, at their "
    bound += "last position"
    return Finding("holds", "exhaustive", bound)


@claim(
    "tods21.sec4:predicates",
    "The book's universe of predicates is closed under union, intersection and difference, as section 4 requires",
    "definition",
)
def _(effort: Effort) -> Finding:
    atoms: list[Predicate] = [OfType("A"), OfType("B"), POSITIVE]
    sets = {P: _which(P) for P in atoms}
    ok = sets[OfType("A")] == {n for n, e in enumerate(EVENTS) if e.type == "A"} and sets[POSITIVE] == {1}
    for P, Q in product(atoms, repeat=2):
        ok &= _which(Either(P, Q)) == sets[P] | sets[Q] and _which(Both(P, Q)) == sets[P] & sets[Q]
        ok &= _which(Both(P, Not(Q))) == sets[P] - sets[Q]
    bound = "all pairs of three predicates made by hand, on all of three tuples"
    return Finding("holds" if ok else "refuted", "example", bound)


def _which(P: Predicate) -> frozenset[int]:
    """Return which of the tuples satisfy a predicate."""
    return frozenset(n for n, e in enumerate(EVENTS) if holds(P, e))


@claim(
    "tods21.def6.1",
    "Valuation equivalence implies complex event equivalence, and not conversely",
    "definition",
    "for two formulas; the definition compares a formula and a CEA",
)
def _(effort: Effort) -> Finding:
    space = Space(("in", "seq", "or", "start"), nodes=3, events=3)
    listed = list(space.every())
    same = [0, 0]
    for phi, psi in combinations(listed, 2):
        by_valuations, by_events = (
            isinstance(equivalent(phi, psi, level, SCHEMA), Equivalent) for level in ("valuations", "events")
        )
        if by_valuations and not by_events:
            return Finding("refuted", "decided", f"{cel.show(phi)} and {cel.show(psi)}")
        same[0] += by_valuations
        same[1] += by_events
    bound = f"all pairs of {len(listed)} formulas, {space.formulas_in_words}, on all streams of A and B: "
    bound += f"{same[0]} valuation equivalent, {same[1]} by events"
    return Finding("holds" if 0 < same[0] < same[1] else "refuted", "decided", bound)


plant("tods21.sec4:stream", "every event is of every type", HERE, "holds", broken.always(True))
plant("tods21.sec4:valuation", "nothing is bound to X", HERE, "bind", lambda right: lambda A, C: right("A", C))
plant(
    "tods21.sec4:at-n",
    "the last position is left out",
    interpreter,
    "complex_events",
    broken.result(lambda found: frozenset(C - {max(C)} if C else C for C in found)),
)
plant("tods21.sec4:predicates", "an intersection is its left side", HERE, "Both", broken.same())
plant(
    "tods21.def6.1",
    "complex events are compared either way",
    HERE,
    "equivalent",
    lambda right: lambda phi, psi, level, schema: right(phi, psi, "events", schema),
)


# ---- cep17 ----


@claim(
    "cep17.sec3:valuation",
    "A complex event is never empty, and a variable is one position",
    "definition",
    "by the surrounding words; a valuation covers the variables that the match uses",
)
def _(effort: Effort) -> Finding:
    cases = 0
    for phi in formulas(3):
        for S in core_streams(3):
            for C, nu in CoreInterpreter(S).pairs(phi):
                cases += 1
                names = [x for x, _ in nu]
                if not C or len(set(names)) < len(names) or not all(0 <= p < len(S) for _, p in nu):
                    return Finding("refuted", "exhaustive", f"{core_denote.__name__}: {phi}")
    bound = f"{cases:,} matches, each with a valuation, of all formulas to 3 nodes with three "
    return Finding("holds", "exhaustive", f"{bound}conditions, on all streams to 3 events over 3 tuples")


@claim(
    "cep17.sec3:sugar",
    "AND of conditions is a FILTER of a FILTER, OR of conditions is OR",
    "definition",
    "by the words around",
)
def _(effort: Effort) -> Finding:
    atoms, cases = ("x.a = 0", "x.a = y.a", "y.a > 0"), 0
    for inner in ("A AS x ; B AS y", "A AS x ; A AS y", "(A AS x OR B AS x) ; A AS y"):
        for one, other in product(atoms, repeat=2):
            for word, long in (
                ("AND", f"(({inner}) FILTER {one}) FILTER {other}"),
                ("OR", f"(({inner}) FILTER {one}) OR (({inner}) FILTER {other})"),
            ):
                short = parse_core(f"({inner}) FILTER ({one} {word} {other})")
                for S in core_streams(3):
                    cases += 1
                    if by_position(short, S) != by_position(parse_core(long), S):
                        return Finding("refuted", "example", f"{long} over {S.events}")
    return Finding(
        "holds",
        "example",
        f"{cases:,} cases: all pairs of 3 conditions on 3 hand-made formulas, all streams to 3 events over 3 tuples",
    )


plant(
    "cep17.sec3:valuation",
    "a match loses its first event",
    CoreInterpreter,
    "pairs",
    broken.result(lambda found: [(C - {min(C)}, nu) for C, nu in found]),
)
plant(
    "cep17.sec3:sugar",
    "OR is AND",
    HERE,
    "parse_core",
    lambda right: lambda text: right(text.replace(" OR x", " AND x").replace(" OR y", " AND y")),
)


# ---- sase07 ----

ANY_MATCH = "skip_till_any_match"
COMPARED: dict[str, Callable[[int, int], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
Series = tuple[tuple[int, ...], int]
Where = Callable[[list[int], int], bool]


def _series(types: str) -> Iterator[Series]:
    """The positions of every match of SEQ(A+ a[], B b) by skip till any match, without conditions."""
    for last in (n for n, R in enumerate(types) if R == "B"):
        before = [n for n in range(last) if types[n] == "A"]
        yield from ((chosen, last) for k in range(1, len(before) + 1) for chosen in combinations(before, k))


def _agree(condition: str, where: Where, length: int) -> str | None:
    """A stream on which the condition lets through something else than `where` does, given the x of a[] and of b."""
    q = query(f"SEQ(A+ a[], B b) WHERE {ANY_MATCH}(a[], b) {{ {condition} }}")
    for types in product("AB", repeat=length):
        for xs in product((1, 2), repeat=length):
            S = Stream(Event(R, {"x": x, "y": x}) for R, x in zip(types, xs, strict=True))
            got = {(M[0][1], M[1][1][0]) for M in bindings(q, S)}
            if got != {(at, b) for at, b in _series("".join(types)) if where([xs[n] for n in at], xs[b])}:
                return f"{condition} over {types} with {xs}"
    return None


def _conditions(id_: str, title: str, listed: dict[str, Where], reading: str) -> None:
    @claim(f"sase07.{id_}", title, "definition", reading)
    def check(effort: Effort) -> Finding:
        length = 4 if effort == "quick" else 5
        for condition, where in listed.items():
            if (wrong := _agree(condition, where, length)) is not None:
                return Finding("refuted", "example", wrong)
        bound = f"{len(listed)} hand-made conditions on SEQ(A+ a[], B b) by skip till any match, all streams of "
        bound += f"{length} events of A and B with x 1 or 2"
        return Finding("holds", "example", bound)


IDENTIFIERS: dict[str, Where] = {
    "a[1].x = 1": lambda a, b: a[0] == 1,
    "a[i].x = 1": lambda a, b: set(a) == {1},
    "a[i].x = a[i-1].x": lambda a, b: all(one == other for one, other in pairwise(a)),
    "a[a.LEN].x = b.x": lambda a, b: a[-1] == b,
    "b.x = 2": lambda a, b: b == 2,
    "b.x >= a[1].x": lambda a, b: b >= a[0],
}
_conditions(
    "secA.1:identifiers",
    "a, a[1], a[i], a[i-1] and a[a.LEN] name the events of a match",
    IDENTIFIERS,
    "a condition on a[i] is about all events, one on a[i] and a[i-1] about all except the first; in WHERE only",
)
_conditions(
    "secA.1:terms",
    "Terms are constants, attributes and their sums, differences and products, compared by six signs",
    {
        **{f"b.x {sign} a[1].x": lambda a, b, compare=compare: compare(b, a[0]) for sign, compare in COMPARED.items()},
        "b.x + 1 = a[1].x * 2": lambda a, b: b + 1 == a[0] * 2,
        "b.x - a[1].x < 1": lambda a, b: b - a[0] < 1,
    },
    "for aggregates see sase07.aggregates",
)
_conditions(
    "sec2.2:where",
    "WHERE keeps the matches that satisfy all its conditions; [attr] keeps those that agree on an attribute",
    {
        "a[1].x = 1 and b.x = 2": lambda a, b: a[0] == 1 and b == 2,
        "a[i].x > a[i-1].x and b.x = a[a.LEN].x": lambda a, b: a in ([1], [2], [1, 2]) and b == a[-1],
        "[y]": lambda a, b: set(a) == {b},
        "[y] and b.x > 1": lambda a, b: set(a) == {b} == {2},
    },
    "by skip till any match, which accepts every series of events that satisfies the conditions",
)
for _id, (_what, _from, _to) in {
    "secA.1:identifiers": ("a[a.LEN] is read as a[1]", "a[a.LEN]", "a[1]"),
    "secA.1:terms": ("a product is read as a sum", " * ", " + "),
    "sec2.2:where": ("[attr] asks nothing", "[y]", "a[1].x > 0"),
}.items():
    plant(f"sase07.{_id}", _what, HERE, "query", broken.argument(lambda text, pair=(_from, _to): text.replace(*pair)))


@claim("sase07.secA.1:pattern", "A pattern is SEQ of single and Kleene components, negated or not", "definition")
def _(effort: Effort) -> Finding:
    kinds = {"A {v}": (False, False), "A+ {v}[]": (True, False), "~A {v}": (False, True), "~A+ {v}[]": (True, True)}
    accepted = refused = 0
    for n in (1, 2, 3):
        for chosen in product(kinds, repeat=n):
            text = ", ".join(part.format(v=v) for part, v in zip(chosen, "abc", strict=False))
            try:
                q = parse_sase(f"PATTERN SEQ({text}) WITHIN 10 hours RETURN 1 AS one")
            except (IllFormed, ParseError):
                refused += 1
                continue
            accepted += 1
            if [(c.kleene, c.negated) for c in q.pattern] != [kinds[part] for part in chosen]:  # type: ignore[union-attr]
                return Finding("refuted", "exhaustive", text)
    bound = f"all patterns to 3 components of one type: {accepted} read as written, {refused} refused"
    return Finding("holds" if accepted else "refuted", "exhaustive", bound)


plant(
    "sase07.secA.1:pattern",
    "a Kleene plus is a single event",
    HERE,
    "parse_sase",
    lambda right: lambda text: right(text.replace("+", "").replace("[]", "")),
)


# ---- vldb92 ----


@claim("vldb92.sec2.1:history", "E[h] is a history within h (section 2.2)", "definition")
def _(effort: Effort) -> Finding:
    nodes, length, cases = (3, 4, 0) if effort == "quick" else (4, 5, 0)
    for E, h in product(expressions(nodes), list(histories(length))):
        cases += 1
        if not meaning(E, h) <= set(range(len(h))):
            return Finding("refuted", "exhaustive", f"{E} over {h}")
    bound = f"{cases} cases: all expressions to {nodes} nodes {over(nodes)}, all histories to {length} events"
    return Finding("holds", "exhaustive", bound)


NAMED = (
    ("late := relative(a, b); late and !a", "relative(a, b) and !a"),
    ("one := a or b; two := relative(one, a); relative(two, one)", "relative(relative(a or b, a), a or b)"),
    ("n := first; n | a", "first | a"),
)


@claim(
    "vldb92.sec6:named",
    "A name stands for its expression",
    "definition",
    "the end of section 2.3 says so; the heads with attributes of section 6 are not checked",
)
def _(effort: Effort) -> Finding:
    length = 4 if effort == "quick" else 6
    for named, written in NAMED:
        E, F = parse_expression(named), parse_expression(written)
        if any(meaning(E, h) != meaning(F, h) for h in histories(length)):
            return Finding("refuted", "example", named)
    return Finding("holds", "example", f"{len(NAMED)} hand-made texts, all histories to {length} events of a and b")


plant(
    "vldb92.sec2.1:history",
    "an event after the last takes place",
    HERE,
    "meaning",
    broken.result(lambda found: frozenset({*found, 99})),
)
plant(
    "vldb92.sec6:named",
    "a name stands for a part of its expression",
    HERE,
    "parse_expression",
    lambda right: lambda text: right(text.replace(":= relative(a, b)", ":= a")),
)
