"""Claims of cep17. The formulas of its statements are lost in the copy at hand; they are taken from the text around."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import combinations, product
from typing import Any

from cerify.automata.cea.model import CEA, single_variable
from cerify.equivalence.rewrite import normal_forms
from cerify.equivalence.rewrite.normal_forms import core_disjunctive, lp_normal, safe
from cerify.semantics.cel import denote
from cerify.semantics.cel.interpreter import complex_events as cel_events
from cerify.semantics.cel.parse import parse as parse_cel
from cerify.semantics.core_cel import check as core_check
from cerify.semantics.core_cel import interpreter as core_interpreter
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.check import (
    defined_outside_iteration,
    is_lp_normal,
    is_safe,
    is_unary,
    is_well_formed,
    mentioned,
    problems,
)
from cerify.semantics.core_cel.interpreter import CoreInterpreter, complex_events
from cerify.semantics.core_cel.parse import parse
from cerify.semantics.core_cel.syntax import show
from cerify.semantics.events import Event, Stream
from cerify.semantics.predicates import holds
from cerify.semantics.trees import children, node_word
from proofs_tests.claims import broken, printed_cep17
from proofs_tests.claims.automata import automata, in_words
from proofs_tests.claims.ledger import Effort, Finding, Kind, claim, plant
from proofs_tests.claims.search import BINARY, UNARY, Space
from proofs_tests.claims.tods21_pumping import total_order
from proofs_tests.support import FIGURE_1, stream
from proofs_tests.unit.automata import exhaustive as core_cases
from proofs_tests.unit.equivalence.normal_form_cases import is_core_disjunctive
from proofs_tests.unit.semantics.core_cel_cases import EXAMPLES, of_size

EVENTS = (Event("A", {"a": 0}), Event("A", {"a": 1}), Event("B", {"a": 1}))
CHOSEN_ANEW = parse("A AS x ; ((B AS y FILTER x.a = 1) OR A AS x)+")
"""Well-formed by the definition, but the + chooses anew a variable that is asked in it."""
STRATEGIES = (core.CoreStrict, core.CoreNext, core.CoreLast, core.CoreMax)
LOST = "as in the proof; the formulas of the statement are missing in our copy"
BY_LIBRARY = "the library rewrites it, by the steps of the proof; "
ANEW = (
    "; as in section 3, each round of the + chooses anew the variables that its operand defines outside any further +"
)
MENDED = "; with the correction of lemB.12:proof"
WORDS = "by the surrounding words; the formulas of the definition are missing in our copy"


def formulas(nodes: int) -> Iterator[core.Formula]:
    """All formulas of section 3 to a size over A, B, x and y, with three filters."""
    for size in range(1, nodes + 1):
        for phi in of_size(size):
            if not any(isinstance(psi, STRATEGIES) for psi in core.subformulas(phi)):
                yield phi


def streams(length: int) -> Iterator[Stream]:
    return (Stream(events) for n in range(1, length + 1) for events in product(EVENTS, repeat=n))


def by_position(phi: core.Formula, S: Stream) -> list[frozenset[frozenset[int]]]:
    return [complex_events(phi, S, n) for n in range(len(S))]


def _around_iteration() -> Iterator[core.Formula]:
    """The smallest formulas with a + between a filter and what may bind its variable: R AS x ; (S AS y FILTER c)+."""
    filtered = [phi for phi in of_size(2) if isinstance(phi, core.CoreFilter)]
    for phi, psi in product(of_size(1), map(core.CorePlus, filtered)):
        yield from (core.CoreSeq(phi, psi), core.CoreSeq(psi, phi))


def _around_or() -> Iterator[core.Formula]:
    """The smallest with an OR there, which has to be split: R AS x ; ((S AS y FILTER c) OR T AS z)."""
    filtered = [phi for phi in of_size(2) if isinstance(phi, core.CoreFilter)]
    for phi, psi, chi in product(of_size(1), filtered, of_size(1)):
        yield core.CoreSeq(phi, core.CoreOr(psi, chi))


_AROUND_ITERATION = "with a + between a filter and R AS x, as in R AS x ; (S AS y FILTER x.a = 1)+"
_AROUND_OR = "R AS x ; ((S AS y FILTER c) OR T AS z), with x or y for each variable"


def _sequences_of_or() -> list[core.Formula]:
    """The smallest formulas with an OR below `;`, where the normal form has to distribute one over the other."""
    both = [phi for phi in of_size(3) if isinstance(phi, core.CoreOr)]
    atoms = list(of_size(1))
    return [core.CoreSeq(*of) for of in (*product(both, atoms), *product(atoms, both))]


def _normal_form(
    id_: str,
    title: str,
    kind: Kind,
    rewrite: Callable[[core.Formula], core.Formula],
    shape: Callable[[core.Formula], bool],
    applies: Callable[[core.Formula], bool],
    and_also: tuple[core.Formula, ...] = (),
    reading: str = "",
) -> None:
    """A rewriting whose result has a shape and the same complex events."""

    @claim(id_, title, kind, f"{LOST}; {BY_LIBRARY}see {id_}:size{reading}")
    def check(effort: Effort) -> Finding:
        nodes, length = 3 if effort == "quick" else 4, 3
        # Of 3 nodes hardly one is not in the normal form yet.
        larger = (phi for phi in formulas(4) if core.size(phi) > nodes and not shape(phi))
        around = (*_around_iteration(), *_around_or()) if id_ == "cep17.thm2" else ()
        over_or = _sequences_of_or() if id_ in ("cep17.lem2", "cep17.thm1") else ()
        rewritten = cases = changed = 0
        for phi in (*formulas(nodes), *larger, *around, *over_or, *and_also):
            if not applies(phi):
                continue
            psi = rewrite(phi)
            rewritten += 1
            changed += not shape(phi)
            if not shape(psi):
                return Finding("refuted", "exhaustive", f"{show(phi)} became {show(psi)}")
            for S in streams(length):
                cases += 1
                if by_position(phi, S) != by_position(psi, S):
                    return Finding("refuted", "exhaustive", f"{show(phi)} over {S.events}")
        form = {"cep17.lem2": "in disjunctive normal form", "cep17.thm2": "in LP-normal form"}.get(id_, "safe")
        more = f" and those of 4 nodes that are not {form}" if nodes < 4 else ""
        more += ", and that of lemB.12:proof" if and_also else ""
        if over_or:
            more += ", and those of 5 that are a ; with an OR below it"
        if id_ == "cep17.thm2":
            more += f"; those of 5 {_AROUND_ITERATION}, and those of 6 of the form {_AROUND_OR}"
        of = f"all with three conditions to {nodes} nodes{more}"
        kind = {"cep17.thm2": "well-formed formulas", "cep17.lemB.12": "formulas in disjunctive normal form"}
        bound = f"{rewritten} {kind.get(id_, 'formulas')}, {of}; {changed} are not {form}; {cases} cases, "
        found = Finding(
            "holds" if changed else "refuted", "exhaustive", f"{bound}all streams to {length} events over 3 tuples"
        )
        return _but_chosen_anew(found) if id_ == "cep17.thm2" else found


def _but_chosen_anew(found: Finding) -> Finding:
    """What holds of the formulas looked at, and not of one in which a + chooses anew what is asked in it."""
    assert is_well_formed(CHOSEN_ANEW)
    assert is_unary(CHOSEN_ANEW)
    last_one, last_zero = (stream("A B C", a=[0, 0, last]) for last in (1, 0))
    got, other = (complex_events(CHOSEN_ANEW, S, 1) for S in (last_one, last_zero))
    if got == other:
        return found
    # A formula in LP-normal form asks only events of the match, if its predicates are on one event each.
    local = [phi for phi in formulas(4) if is_unary(phi) and is_lp_normal(phi)]
    assert all(complex_events(phi, last_one, 1) == complex_events(phi, last_zero, 1) for phi in local)
    counterexample = {
        "query": show(CHOSEN_ANEW),
        "events": [{"type": R, "a": a} for R, a in zip("ABC", (0, 0, 1), strict=True)],
        "at": 1,
        "expected": "the same as with C(a=0), as C comes later",
        "got": sorted(map(sorted, got)),
        "why": f"with C(a=0) there is {sorted(map(sorted, other)) or 'nothing'}",
    }
    correction = (
        "the theorems hold for formulas in which no + between a filter and the lowest subformula that binds the "
        "filter's variable chooses this variable anew (that is, has an R AS x of it outside of any further +)"
    )
    return replace(found, status="holds-corrected", counterexample=counterexample, correction=correction)


UNSAFE_DISJUNCT = parse("A AS x ; ((A AS x ; A AS x) OR (B AS y FILTER x.a = 1))+")


def _unsafe_disjunct() -> Finding:
    """Lemma B.12 as printed, on the formula whose unsafe disjunct defines a variable."""
    whole = UNSAFE_DISJUNCT
    as_printed = parse("A AS x ; (B AS y FILTER x.a = 1)+")
    S = stream("A B", a=[0, 1])
    expected, got = complex_events(whole, S, 1), complex_events(as_printed, S, 1)
    assert expected != got
    counterexample = {
        "query": show(whole),
        "compared with": show(as_printed),
        "events": [{"type": "A", "a": 0}, {"type": "B", "a": 1}],
        "at": 1,
        "expected": sorted(map(sorted, expected)),
        "got": sorted(map(sorted, got)),
    }
    bound = f"{show(whole)}, from which the proof removes {show(as_printed)}"
    correction = (
        "replace the impossible disjunct by a safe one that still defines the variable, with a predicate that is "
        "false for every tuple (one exists, since predicates are closed under complement and intersection); here "
        "`A AS x FILTER x.time < x.time`"
    )
    return Finding("holds-corrected", "example", bound, counterexample, correction)


@claim(
    "cep17.lemB.12:proof",
    "An unsafe disjunct can be removed, since it matches nothing",
    "lemma",
    "in the words of the proof, B.13" + ANEW,
)
def _(effort: Effort) -> Finding:
    found, S = _unsafe_disjunct(), stream("A B", a=[0, 1])
    mended = complex_events(safe(UNSAFE_DISJUNCT), S, 1) == complex_events(UNSAFE_DISJUNCT, S, 1)
    return found if mended and is_safe(safe(UNSAFE_DISJUNCT)) else replace(found, status="refuted")


def _well_formed(phi: core.Formula) -> bool:
    return not any(problem.rule == "unbound" for problem in problems(phi))


def _clause(name: str, kind: type[core.Formula]) -> None:
    @claim(f"cep17.sec3:{name}", f"the meaning of {name}", "definition", WORDS)
    def check(effort: Effort) -> Finding:
        binary = kind in (core.CoreOr, core.CoreSeq)  # of 3 nodes they have no condition below
        nodes, length = (3 if effort == "quick" else 4) + binary, 3  # the least with an event between two others
        topped = [phi for phi in formulas(nodes) if isinstance(phi, kind)]
        of_two = not binary and kind is not core.CoreEventAtom  # of 3 nodes they have one variable below
        joining = core.CoreSeq if kind is core.CorePlus else core.CoreSeq | core.CoreOr  # of OR rounds take seconds
        if of_two and nodes == 3:
            topped += [
                phi
                for phi in formulas(4)
                if isinstance(phi, kind) and core.size(phi) == 4 and isinstance(children(phi)[0], joining)
            ]
        if kind is core.CoreEventAtom:  # a condition alone tells its variables apart
            topped = [phi for phi in formulas(2) if not isinstance(phi, core.CorePlus)]
        cases = 0
        for phi, S in product(topped, streams(length)):
            cases += 1
            expected = printed_cep17.complex_events_sec3(phi, S, frozenset("xy"))
            if frozenset(C for Cs in by_position(phi, S) for C in Cs) != expected:
                return Finding("refuted", "exhaustive", f"{show(phi)} over {S.events}")
        which = f"formulas with {name} on top to {nodes} nodes, with three conditions"
        if of_two and nodes == 3:
            which += f", and those of 4 whose operand is a ;{' or an OR' * (kind is core.CoreFilter)}"
        if kind is core.CoreEventAtom:
            which = "R AS x with A or B, and x or y, also below one of three conditions"
        bound = f"{cases} cases: all {which}, all streams to {length} events over 3 tuples"
        return Finding("holds", "exhaustive", bound)

    instead = broken.always(()) if kind is core.CoreEventAtom else broken.for_root(kind, _operand)
    plant(f"cep17.sec3:{name}", f"{name} is its first operand, or nothing", core_interpreter, "clause", instead)


def _operand(phi: core.Formula, S: Stream, i: int, interpreter: CoreInterpreter) -> Iterable[Any]:
    return interpreter.meaning(children(phi)[0], i)


for _name, _kind in {
    "AS": core.CoreEventAtom,
    "FILTER": core.CoreFilter,
    "OR": core.CoreOr,
    ";": core.CoreSeq,
    "+": core.CorePlus,
}.items():
    _clause(_name, _kind)


# --- the examples of sections 2 and 5, and the words of section 5.1 ---------------------------------------------------

EXAMPLE_IDS = {
    **{name: f"ex2:{name}" for name in ("phi1", "phi2", "phi3")},
    "correlated": "ex2:phi4",
    "not well-formed": "ex5:not-well-formed",
    "unsatisfiable": "ex5:not-safe",
    "conditional": "ex5:conditional",
}


_SHOWS = ". Figure 1 tests {}, and any other single condition may be omitted"
_HUMIDITY = (
    "by the words, except hum <= 25, as in tods21, where they say less than 25%; no event of Figure 1 decides "
    "this" + _SHOWS.format("y.id = 0")
)
TAKEN = {
    "not well-formed": "by the words, with our own types and numbers; this check runs it: it matches each H, as "
    "without the filter, since some T is above 40. sec5.1:well-formed checks that it is not "
    "well-formed. Only at the first H, before a T above 40, does a match depend on a later event",
    "conditional": "a statement of this book, as the text gives no result: by the words, with our own types and "
    "numbers",
    "unsatisfiable": "by the words, with our own types and numbers; this check runs it and finds no match; "
    "sec5.1:safe checks that it is not safe",
    "correlated": "a statement of this book: the words give no result, ours follows the definitions"
    + _SHOWS.format("z.hum > 60, x.id = z.id and y.id = x.id"),
    "phi1": "by the words, except hum <= 25, as in tods21, where they say less than 25%; with <=, Figure 1 tests "
    "the condition y.id = 0 only, by H 3 with hum = 25; with < it tests none. Any other single condition "
    "may be omitted",
    "phi2": _HUMIDITY,
    "phi3": "by the words" + _SHOWS.format("x.id = 1 and y.id = 1"),
}


LOST_EXAMPLE = "the formula and the types of Figure 1 are missing in our copy; the types are those of tods21; "


def _example(name: str, id_: str) -> None:
    query, expected = EXAMPLES[name]

    taken = TAKEN.get(name, "by the words" + ", with our own types and numbers" * id_.startswith("ex5"))

    @claim(f"cep17.{id_}", f"{query} on Figure 1", "example", LOST_EXAMPLE + taken)
    def check(effort: Effort) -> Finding:
        by_end = {n: set(map(tuple, map(sorted, Cs))) for n, Cs in enumerate(by_position(parse(query), FIGURE_1))}
        got = {n: Cs for n, Cs in by_end.items() if Cs}
        bound = "all 9 positions of Figure 1"
        if name == "not well-formed":
            bound += "; on its first event alone, an H, there is no match"
            if complex_events(parse(query), Stream(FIGURE_1[:1]), 0):
                return Finding("refuted", "example", "the first event alone")
        return Finding("holds" if got == expected else "refuted", "example", bound)


for _name, _id in EXAMPLE_IDS.items():
    _example(_name, _id)
plant(
    [f"cep17.{id_}" for id_ in EXAMPLE_IDS.values() if "not-" not in id_],
    "FILTER keeps everything",
    core_interpreter,
    "clause",
    broken.for_root(core.CoreFilter, _operand),
)
plant("cep17.ex5:not-safe", "; is its left side", core_interpreter, "clause", broken.for_root(core.CoreSeq, _operand))
plant(
    "cep17.ex5:not-well-formed",
    "a variable that nothing binds has no event",
    core_interpreter,
    "clause",
    broken.for_root(core.CoreFilter, lambda *_: ()),
)


FUTURE = "A AS x FILTER y.x > 0"
WARM, COOL = (Stream([Event("A", {"x": 0}), Event("A", {"x": x})]) for x in (1, 0))


@claim(
    "cep17.sec5.1:future",
    "Whether a formula that is not well-formed matches may depend on events to come",
    "remark",
    "the formula of the text is missing in our copy; ours is similar",
)
def _(effort: Effort) -> Finding:
    differs = complex_events(parse(FUTURE), WARM, 0) != complex_events(parse(FUTURE), COOL, 0)
    bound = f"{FUTURE} at the first of two A, which has x = 0, the second with x = 1 or x = 0"
    return Finding("holds" if differs else "refuted", "example", bound)


@claim(
    "cep17.not-in-cel",
    "For some formula of core-CEL that is not well-formed, no formula of CEL (as in tods21) has the same "
    "complex events at the positions where they end",
    "remark",
    "a statement of docs/theory/expressiveness.md, not of the paper",
)
def _(effort: Effort) -> Finding:
    query, nodes, warm, cool = parse(FUTURE), 3 if effort == "quick" else 4, WARM, COOL
    differs = complex_events(query, warm, 0) != complex_events(query, cool, 0)
    Fs = list(Space((*UNARY, *BINARY), nodes, 2).every())
    alike = all(cel_events(phi, warm, 0) == cel_events(phi, cool, 0) for phi in Fs)
    late = parse_cel("PROJECT[x](((A IN x ; A IN y) OR (A IN y ; A IN x)) FILTER y.x > 0) OR (A IN x FILTER x.x > 0)")
    for length in range(1, 5):
        for S in (Stream(Event("A", {"x": x}) for x in values) for values in product((0, 1), repeat=length)):
            by_core, by_cel = (
                frozenset[frozenset[int]]().union(*(has(phi, S, n) for n in range(length)))
                for has, phi in ((complex_events, query), (cel_events, late))
            )
            alike &= by_core == by_cel
    bound = f"docs/theory/expressiveness.md; {FUTURE} at the first of two A, which has x = 0, the second with x = 1 or "
    bound += f"x = 0: none of all {len(Fs)} formulas of tods21's CEL to {nodes} nodes distinguishes them. With "
    bound += "PROJECT, CEL finds the complex events later, on all streams of A to 4 events"
    return Finding("holds" if differs and alike else "refuted", "proof", bound)


plant(
    "cep17.sec5.1:future",
    "a variable that nothing binds has no event",
    core_interpreter,
    "clause",
    broken.for_root(core.CoreFilter, lambda *_: ()),
)
plant(
    "cep17.not-in-cel",
    "CEL reads the next event too",
    sys.modules[__name__],
    "cel_events",
    lambda right: lambda phi, S, n: right(phi, S, min(n + 1, len(S) - 1)),
)


def _bound(phi: core.Formula) -> frozenset[str]:
    """bound(phi): in both sides of OR, in one of ;, and in none of +."""
    match phi:
        case core.CoreEventAtom(_, x):
            return frozenset({x})
        case core.CoreOr(left, right):
            return _bound(left) & _bound(right)
        case core.CorePlus():
            return frozenset()
        case _:
            return frozenset[str]().union(*map(_bound, children(phi)))


def _filters_are_bound(phi: core.Formula, around: frozenset[str] = frozenset()) -> bool:
    """Whether each variable of a filter is bound by a formula that contains the filter."""
    around |= _bound(phi)
    asked = mentioned(phi.condition) if isinstance(phi, core.CoreFilter) else frozenset[str]()
    return asked <= around and all(_filters_are_bound(psi, around) for psi in children(phi))


def _sides_are_apart(phi: core.Formula) -> bool:
    """Whether no variable is defined on both sides of a ;, outside of +."""
    parts = [printed_cep17.defined(psi, outside_iteration=True) for psi in children(phi)]
    apart = not isinstance(phi, core.CoreSeq) or parts[0].isdisjoint(parts[1])
    return apart and all(map(_sides_are_apart, children(phi)))


def _filters_are_local(phi: core.Formula) -> bool:
    """Whether each filter of one event stands on R AS x, or on such a filter, with which it is one predicate."""
    below = phi
    while isinstance(below, core.CoreFilter) and isinstance(below.condition, core.Unary):
        below = below.phi
    here = below is phi or (isinstance(below, core.CoreEventAtom) and mentioned(phi.condition) == {below.variable})
    return here and all(map(_filters_are_local, children(phi)))


def _syntactic(
    name: str,
    library: Callable[[core.Formula], object],
    letter: Callable[[core.Formula], object],
    section: str = "5.1",
    reading: str = WORDS,
) -> None:
    @claim(f"cep17.sec{section}:{name}", f"{name}, by its definition", "definition", reading)
    def check(effort: Effort) -> Finding:
        cases, answers = 0, set()
        for phi in formulas(4 if effort == "quick" else 5):
            cases += 1
            answers.add(found := letter(phi))
            if library(phi) != found:
                return Finding("refuted", "exhaustive", show(phi))
        nodes = 4 if effort == "quick" else 5
        bound = f"all {cases:,} formulas of section 3 to {nodes} nodes with three "
        bound += f"conditions; {len(answers)} different answers"
        return Finding("holds", "exhaustive", bound)


_syntactic(
    "bound", core_check.bound, _bound, reading=f"{WORDS}; a + does not bind the variables that are defined in it"
)
_syntactic("well-formed", core_check.is_well_formed, _filters_are_bound)
_syntactic(
    "safe",
    core_check.is_safe,
    _sides_are_apart,
    reading=f"{WORDS}; the two sides of a ; share no variable that is defined outside +",
)
_syntactic(
    "lp-normal",
    core_check.is_lp_normal,
    _filters_are_local,
    "5.2",
    f"{WORDS}; nested filters of one variable count as one, since predicates are closed under intersection",
)
plant(
    "cep17.sec5.1:bound cep17.sec5.1:well-formed", "nothing is bound", core_check, "bound", broken.always(frozenset())
)
plant("cep17.sec5.2:lp-normal", "a filter may stand anywhere", core_check, "_unary_on", broken.always(True))
plant(
    "cep17.sec5.1:safe",
    "no variable is defined twice",
    core_check,
    "defined_outside_iteration",
    broken.always(frozenset()),
)


def _kept(strategy: type[core.Formula], Cs: frozenset[frozenset[int]]) -> frozenset[frozenset[int]]:
    """The complex events that the strategy keeps of these, by the words of section 4."""

    def loses(C: frozenset[int], D: frozenset[int]) -> bool:
        if C == D or max(C) != max(D):
            return False
        if strategy is core.CoreMax:
            return C < D
        return (min if strategy is core.CoreNext else max)(C ^ D) in D

    if strategy is core.CoreStrict:
        return frozenset(C for C in Cs if frozenset(range(min(C), max(C) + 1)) == C)
    return frozenset(C for C in Cs if not any(loses(C, D) for D in Cs))


def _selection(name: str, kind: Callable[[core.Formula], core.Formula]) -> None:
    reading = WORDS if name == "strict" else f"{WORDS}; {SAME_END}"

    @claim(f"cep17.sec4:{name}", f"the meaning of {name.upper()}", "definition", reading)
    def check(effort: Effort) -> Finding:
        nodes, length, cases = *((3, 3) if effort == "quick" else (4, 3)), 0
        for phi, S in product(formulas(nodes), list(streams(length))):
            cases += 1
            expected = _kept(type(kind(phi)), printed_cep17.complex_events_sec3(phi, S, frozenset("xy")))
            if frozenset(C for Cs in by_position(kind(phi), S) for C in Cs) != expected:
                return Finding("refuted", "exhaustive", f"{show(kind(phi))} over {S.events}")
        bound = f"{cases:,} cases: on top of all formulas of section 3 to {nodes} nodes with three "
        bound += f"conditions, all streams to {length} events over 3 tuples"
        return Finding("holds", "exhaustive", bound)


SAME_END = "it compares complex events that end at one position, as the text says for NXT"
for _kind in STRATEGIES:
    _name = node_word(_kind).lower().replace("next", "nxt")
    _selection(_name, _kind)
    plant(f"cep17.sec4:{_name}", "everything is kept", core_interpreter, "clause", broken.for_root(_kind, _operand))

claim("cep17.lem1", "The order of NXT is a total order between complex events", "lemma", LOST)(
    lambda effort: total_order(effort, "next", min)
)
_normal_form(
    "cep17.lem2",
    "Every formula has a disjunctive normal form",
    "lemma",
    core_disjunctive,
    is_core_disjunctive,
    lambda phi: True,
)
_normal_form(
    "cep17.lemB.12",
    "A formula in disjunctive normal form is equivalent to a safe one",
    "lemma",
    safe,
    is_safe,
    is_core_disjunctive,
    and_also=(UNSAFE_DISJUNCT,),
    reading=MENDED,
)
_normal_form(
    "cep17.thm1",
    "Every formula of core-CEL is equivalent to a safe one",
    "theorem",
    safe,
    is_safe,
    lambda phi: True,
    and_also=(UNSAFE_DISJUNCT,),
    reading=MENDED,
)
_normal_form(
    "cep17.thm2",
    "Every well-formed formula of core-CEL is equivalent to one in LP-normal form",
    "theorem",
    lp_normal,
    is_lp_normal,
    _well_formed,
    reading='; the statement says "a formula of core-CEL", which section 5.1 restricts to well-formed ones. '
    "Nested filters of one variable count as one, as in sec5.2:lp-normal. The counterexample needs "
    "predicates on one event each: section 5.2 does not restrict others, so with a binary P(x, x) for x.a = 1 the "
    "formula is already in LP-normal form" + ANEW,
)


def _outside_iteration(phi: core.Formula) -> Iterator[core.Formula]:
    yield phi
    if not isinstance(phi, core.CorePlus):
        for psi in children(phi):
            yield from _outside_iteration(psi)


_SUCH = "all such formulas to 4 nodes with three conditions, all streams to {} events over 3 tuples"


def _without_or() -> Iterable[core.Formula]:
    for phi in formulas(4):
        if not any(isinstance(psi, core.CoreOr) for psi in _outside_iteration(phi)):
            yield phi


@claim(
    "cep17.lemB.8",
    "If each OR is below a +, a variable defined outside + is defined at an event of the match",
    "lemma",
    LOST,
)
def _(effort: Effort) -> Finding:
    cases, length = 0, 2 if effort == "quick" else 3
    for phi in _without_or():
        needed = defined_outside_iteration(phi)
        for S in streams(length):
            cases += 1
            for C, nu in CoreInterpreter(S).pairs(phi):
                at = dict(nu)
                if not all(x in at and at[x] in C for x in needed):
                    return Finding("refuted", "exhaustive", f"{show(phi)} over {S.events}")
    return Finding("holds", "exhaustive", f"{cases:,} cases: {_SUCH.format(length)}")


@claim(
    "cep17.lemB.10",
    "If each OR is below a +, a formula has no match on a stream where some part outside + has none",
    "lemma",
    LOST,
)
def _(effort: Effort) -> Finding:
    cases, matched, length = 0, 0, 2 if effort == "quick" else 3
    for phi in _without_or():
        for S in streams(length):
            cases += 1
            if any(by_position(phi, S)):
                matched += 1
                # on the same stream, since a match of phi is made of matches of its parts
                if not all(any(by_position(psi, S)) for psi in _outside_iteration(phi)):
                    return Finding("refuted", "exhaustive", f"{show(phi)} over {S.events}")
    bound = f"the formula and each such part have a match in {matched:,} of {cases:,} cases: "
    return Finding("holds", "exhaustive", bound + _SUCH.format(length))


# --- automata ---------------------------------------------------------------------------------------------------------


def _compiled(id_: str, title: str, wrapper: Callable[[core.Formula], core.Formula] | None, reading: str = "") -> None:
    @claim(id_, title, "theorem", f"{reading}see {id_}{'-' if wrapper else ':'}size")
    def check(effort: Effort) -> Finding:
        nodes, length = 3 if effort == "quick" else 4, 3  # of two events every set is without a gap
        Ss, cases, well_formed = core_cases.streams(length), 0, 0
        larger = (*_around_iteration(), *_around_or()) if wrapper is None else ()
        around = [phi for phi in larger if _well_formed(phi)]
        for phi in filter(is_unary, (*formulas(nodes), *around)):
            cases, well_formed = cases + 1, well_formed + is_well_formed(phi)
            if (found := core_cases.wrong_core(phi if wrapper is None else wrapper(phi), Ss)) is not None:
                return Finding("refuted", "exhaustive", found)
        where = "" if wrapper is None else " below the strategy"
        more = f"; those of 5 {_AROUND_ITERATION}, and those of 6 of the form {_AROUND_OR}" if around else ""
        bound = (
            f"{well_formed} well-formed unary formulas, all to {nodes} nodes{where} with two "
            f"conditions{more}; on all {len(Ss)} streams to {length} events over 4 tuples; {cases - well_formed} "
            "others by an automaton that answers at the end of the stream, which is not a CEA of the paper"
        )
        found_ = Finding("holds", "exhaustive", bound)
        return _but_chosen_anew(found_) if wrapper is None else found_


_compiled(
    "cep17.thm3",
    "Every well-formed unary formula has an equivalent CEA",
    None,
    f"by the library; appC.2 checks the printed construction for safe formulas in LP-normal form{ANEW}; ",
)
for _strategy in STRATEGIES:
    _name = node_word(_strategy).lower().replace("next", "nxt")
    _compiled(
        f"cep17.thm4:{_name}",
        f"{_name.upper()} of a CEA has an equivalent CEA",
        _strategy,
        f"for the CEA that the library builds from well-formed unary formulas; appC.3:{_name} checks the printed "
        "construction; ",
    )


def _closure(name: str, title: str, agrees: Callable[[CEA, CEA, Stream, int], bool]) -> None:
    said = "by the construction of appendix C.1, whose formulas are missing in our copy"
    if name != "io-determinization":
        said += "; only that appendix states this closure (the proposition is about I/O-determinism)"
    if name == "complement":
        said += "; relative to the non-empty sets of positions that end at the current one"

    @claim(f"cep17.prop1:{name}", title, "proposition", said)
    def check(effort: Effort) -> Finding:
        given = [single_variable(A) for A in automata("quick", seed=6)]
        cases = 0
        for A, B in zip(given, reversed(given), strict=True):
            for S in streams(3):
                cases += 1
                if not agrees(A, B, S, len(S) - 1):
                    return Finding("refuted", "exhaustive", f"{A} and {B} over {S.events}")
        paired = ", each with one other" if name in ("union", "intersection") else ""
        bound = f"{cases} cases, {in_words('quick', seed=6)}{paired}; all streams to 3 events over 3 tuples"
        if name == "io-determinization":
            bound += "; no event has two transitions with one mark from one state"
        return Finding("holds", "exhaustive", bound)


_of = printed_cep17.complex_events


def _everything(n: int) -> frozenset[frozenset[int]]:
    return frozenset(frozenset((*rest, n)) for size in range(n + 1) for rest in combinations(range(n), size))


_closure(
    "union",
    "CEA are closed under union",
    lambda A, B, S, n: _of(printed_cep17.union(A, B), S, n) == _of(A, S, n) | _of(B, S, n),
)
_closure(
    "intersection",
    "CEA are closed under intersection",
    lambda A, B, S, n: _of(printed_cep17.intersection(A, B), S, n) == _of(A, S, n) & _of(B, S, n),
)


def _determinizes(A: CEA, B: CEA, S: Stream, n: int) -> bool:
    D = printed_cep17.determinized(A)
    taken = [(q, t.marks) for q in range(D.states) for t in D.leaving[q] if holds(t.predicate, S[n])]
    return len(D.initial) == 1 and len(taken) == len(set(taken)) and _of(D, S, n) == _of(A, S, n)


_closure(
    "io-determinization",
    "CEA are closed under I/O-determinization",
    _determinizes,
)
_closure(
    "complement",
    "CEA are closed under complement",
    lambda A, B, S, n: _of(printed_cep17.complement(A), S, n) == _everything(n) - _of(A, S, n),
)


plant("cep17.lem1", "every set is below every other", denote, "next_at_most", broken.always(True))
plant("cep17.lem2", "a disjunct is lost", normal_forms, "_disjuncts", broken.result(lambda found: found[:1]))
plant(
    "cep17.lemB.12",
    "an unsafe disjunct takes its definition along",
    normal_forms,
    "replace_body",
    lambda right: lambda phi, body: body,
)
plant(
    "cep17.lemB.12:proof",
    "it is removed",
    sys.modules[__name__],
    "safe",
    broken.always(parse("A AS x ; (B AS y FILTER x.a = 1)+")),
)
plant("cep17.thm2", "a filter is left out on its way down", normal_forms, "_placed", broken.same())
plant(
    "cep17.lemB.8",
    "the first event of a match is left out",
    CoreInterpreter,
    "pairs",
    broken.result(lambda found: [(C - {min(C)}, nu) for C, nu in found]),
)
plant(
    "cep17.lemB.10",
    "an event alone never matches",
    sys.modules[__name__],
    "complex_events",
    lambda right: lambda phi, S, n: frozenset() if isinstance(phi, core.CoreEventAtom) else right(phi, S, n),
)
plant(
    [f"cep17.thm{n}" for n in ("3", "4:strict", "4:nxt", "4:last", "4:max")],
    "an automaton reads on after its last event",
    core_cases,
    "automaton",
    broken.result(lambda found: (broken.goes_on(found[0]), found[1])),
)
plant("cep17.prop1:union", "the left one only", printed_cep17, "union", broken.same())
plant("cep17.prop1:intersection", "the left one only", printed_cep17, "intersection", broken.same())
plant("cep17.prop1:io-determinization", "nothing is made deterministic", printed_cep17, "determinized", broken.same())
