"""Check a CEL formula before evaluation: whether the formula is unary, and which parts make no sense.

Evaluation gives every formula a meaning: a comparison with an absent attribute, or of values of different kinds, is
false. With a schema such a comparison is a type error, which is found here from the event types that each variable can
hold.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from cerify.semantics.arguments import depth_limited, format_names
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import OPERATORS, ContiguousRepeat
from cerify.semantics.errors import IllFormed, Span
from cerify.semantics.events import TIME, TYPE, Schema
from cerify.semantics.predicates import (
    Attribute,
    Problem,
    find_nearest_name,
    kind_problems,
    lacking,
    meant_name,
    mentions,
    never_true,
    number_problems,
    time_problems,
    timeless,
    unknown_type,
)
from cerify.semantics.trees import children, entry_of, entry_or_none, subtrees

Types: TypeAlias = Mapping[str, frozenset[str]]
"""The event types of the events that each variable may hold; a variable that holds none is left out."""


def is_unary(phi: cel.Formula) -> bool:
    """Return whether every filter tests each event on its own, by a tuple predicate (tods21, Definition 4.1).

    A window and a partition are filters that compare events (tods21, section 4), so a formula with one is not unary.
    That includes windows that count events, although an automaton can evaluate these (automata/cea/compile.py,
    compilable).
    """
    return not any(
        isinstance(node, cel.Within | cel.PartitionBy | cel.PerKey)
        or (isinstance(node, cel.Filter) and not all(isinstance(a, cel.Every) for a in cel.atoms(node.condition)))
        for node in cel.subformulas(phi)
    )


def problems(phi: cel.Formula, schema: Schema | None = None) -> list[Problem]:
    """Return all problems of the formula; type errors only if there is a schema. Raises BudgetExceeded.

    `unused`, `across_keys` and other functions of this module find formulas that are valid, but perhaps not what their
    author meant.
    """
    found: list[Problem] = []
    with depth_limited(phi.span):
        _types(phi, schema, found)
    return list(dict.fromkeys(found))  # an expansion has its operand several times


def type_errors(phi: cel.Formula, schema: Schema) -> list[Problem]:
    """Return the type errors of the formula under the schema. An unbound variable is not a type error."""
    return [problem for problem in problems(phi, schema) if problem.rule != "unbound"]


def require_typed(phi: cel.Formula, schema: Schema) -> None:
    """Raise IllFormed for the first type error."""
    for problem in type_errors(phi, schema):
        raise IllFormed(problem.hinted, problem.span)


def missing_columns(phi: cel.Formula, columns: Collection[str]) -> Iterator[Problem]:
    """Yield a problem for each attribute of a partition, key or window in the formula that is not among the columns."""
    for node in cel.subformulas(phi):
        attributes: tuple[str, ...] = ()
        use = ""
        if isinstance(node, cel.PartitionBy):
            attributes, use = (node.attribute,), "partition by"
        elif isinstance(node, cel.PerKey):
            attributes, use = node.attributes, "take as key"
        elif isinstance(node, cel.Within) and isinstance(node.window, cel.AttributeWindow):
            attributes, use = (node.window.attribute,), "measure the window by"
        for attribute in (a for a in attributes if a not in columns):
            names = [one for one in columns if one != TYPE]
            message = f"there is no column {attribute!r} to {use}; the events have {format_names(names)}"
            yield Problem("attribute", message, node.span, meant_name(attribute, names))


def types_held(phi: cel.Formula) -> Types:
    """Return for each variable the event types that its events may have in a match of phi."""
    return _types(phi, None, [])


def _types(phi: cel.Formula, schema: Schema | None, found: list[Problem]) -> Types:
    """Return the event types that each variable can hold in a valuation of phi, clause by clause as in tods21, Figure
    3.

    Problems of phi are added to `found`; type errors only if there is a schema.
    """
    match phi:
        case cel.EventAtom(R):
            if schema is not None and R not in schema.types:
                found.extend(unknown_type(R, schema, phi.span, OR="OR"))
            return {R: frozenset({R})}
        case cel.In(psi, A):
            types = _types(psi, schema, found)
            return {**types, A: _all(types)} if types else {}
        case cel.Filter(psi, condition):
            types, definite = _types(psi, schema, found), _definite(psi)
            for atom in cel.atoms(condition):
                found.extend(_in_atom(atom, types, definite, schema))
            return types
        case cel.Project(L, psi):
            types = _types(psi, schema, found)
            found.extend(_unbound(L, types, phi.span))
            return {A: held for A, held in types.items() if A in L}
        case cel.Sequencing() | cel.Or() | cel.All():
            left, right = _types(phi.left, schema, found), _types(phi.right, schema, found)
            return {A: left.get(A, frozenset()) | right.get(A, frozenset()) for A in left.keys() | right.keys()}
        case cel.And(left_, right_):  # the two sides have to bind the same events
            left, right = _types(left_, schema, found), _types(right_, schema, found)
            return {A: left[A] & right[A] for A in left.keys() & right.keys() if left[A] & right[A]}
        case cel.Unless(left_, right_):
            left, right_problems = _types(left_, schema, found), list[Problem]()
            _types(right_, schema, right_problems)
            if schema is not None and not schema.timed:  # only of the left operand's events: the right one's are absent
                right_problems = [problem for problem in right_problems if problem.rule != "event_type"]
            found.extend(right_problems)
            return left
        case cel.Within(psi, window):
            types = _types(psi, schema, found)
            if isinstance(window, cel.AttributeWindow):
                held = Attribute(window.attribute)
                found.extend(lacking("the window", held.name, _all(types), schema, phi.span))
                found.extend(number_problems(held, schema, phi.span))
            elif isinstance(window, cel.TimeWindow):
                shown = {} if schema is None or schema.timed else schema.types
                without = list(timeless(shown.values(), phi.span)) if shown else []
                found.extend(without or lacking("the window", TIME, _all(types), schema, phi.span))
                found.extend(time_problems(schema, phi.span))
            return types
        case cel.PartitionBy(psi, attribute):
            types = _types(psi, schema, found)
            found.extend(lacking("the partition", attribute, _all(types), schema, phi.span))
            return types
        case cel.PerKey(psi, attributes):
            types = _types(psi, schema, found)
            for attribute in attributes:
                found.extend(lacking("the key", attribute, _all(types), schema, phi.span))
            return types
        case cel.Iteration() | cel.Restriction() | cel.Preference():
            return _types(phi.phi, schema, found)
        case cel.Derived():
            return _types(phi.expansion, schema, found)
        case _:
            assert_never(phi)


def _all(types: Types) -> frozenset[str]:
    return frozenset[str]().union(*types.values())


def _unbound(variables: frozenset[str], types: Types, span: Span | None) -> Iterator[Problem]:
    bound = ", ".join(sorted(types)) or "no variable"
    for A in sorted(variables - types.keys()):
        yield Problem(
            "unbound", f"{A} is not bound here; the bound variables are {bound}", span, find_nearest_name(A, types)
        )


def _definite(phi: cel.Formula) -> Types:
    """Map each variable to the event types of which it holds an event in every valuation of phi."""
    match phi:
        case cel.EventAtom(R):
            return {R: frozenset({R})}
        case cel.In(psi, A):
            types = _definite(psi)
            return {**types, A: _all(types)}
        case cel.Project(L, psi):
            return {A: held for A, held in _definite(psi).items() if A in L}
        case cel.Sequencing() | cel.All() | cel.And():
            left, right = _definite(phi.left), _definite(phi.right)
            return {A: left.get(A, frozenset()) | right.get(A, frozenset()) for A in left.keys() | right.keys()}
        case cel.Or():
            left, right = _definite(phi.left), _definite(phi.right)
            return {A: left[A] & right[A] for A in left.keys() & right.keys()}
        case cel.Unless(left_, _):
            return _definite(left_)
        case cel.Narrowing() | cel.Iteration() | cel.PerKey():
            return _definite(phi.phi)
        case cel.Derived():
            return _definite(phi.expansion)
        case _:
            assert_never(phi)


def _in_atom(atom: cel.Atom, types: Types, definite: Types, schema: Schema | None) -> Iterator[Problem]:
    match atom:
        case cel.Every(A, predicate):
            yield from _unbound(frozenset({A}), types, atom.span)
            mentioned = [(A, a.name) for a in mentions(predicate)]
        case cel.Correlated(predicate):
            mentioned = [(a.variable or "", a.name) for a in mentions(predicate)]
            yield from _unbound(frozenset(A for A, _ in mentioned), types, atom.span)
        case cel.Named(_, variables):
            yield from _unbound(frozenset(variables), types, atom.span)
            return
        case _:
            assert_never(atom)
    for A, name in dict.fromkeys(mentioned):
        yield from lacking(A, name, types.get(A, frozenset()), schema, atom.span)
    for A in {A for A, _ in mentioned} if len({A for A, _ in mentioned}) == 1 else ():
        held, always = types.get(A, frozenset()), definite.get(A, frozenset())
        yield from never_true(A, predicate, held, schema, atom.span, always)
    yield from kind_problems(predicate, schema, atom.span)


# ---------------------------------------------------------------------------------------------------------------------
# Variables that are bound and never used.


@dataclass(frozen=True, slots=True)
class _Asked:
    """The variables that the surrounding formula uses: the variables in `only` (None for all), except those in
    `hidden`.
    """

    only: frozenset[str] | None = None
    hidden: frozenset[str] = frozenset()

    def __contains__(self, A: str) -> bool:
        return A not in self.hidden and (self.only is None or A in self.only)


def unused(phi: cel.Formula) -> Iterator[Problem]:
    """Yield a problem for each IN whose variable has no use.

    A variable has no use if no filter names it and no output has it: PROJECT drops it, another IN hides it, or it is in
    the right operand of UNLESS. The variable that an event type binds by itself is never reported. All variables in the
    operands of AND have a use, because both operands must bind them alike.
    """
    pending = [(phi, _Asked())]
    while pending:
        psi, asked = pending.pop()
        match psi:
            case cel.In(inner, A):
                if A not in asked:
                    message = (
                        f"{A} is bound here but never used: no filter around it names it, and no output contains it"
                    )
                    yield Problem("unused", message, psi.span)
                pending.append((inner, _Asked(asked.only, asked.hidden | {A})))
            case cel.Filter(inner, condition):
                named = frozenset(A for atom in cel.atoms(condition) for A in _variables(atom))
                # The filter sees what is bound below it, also a variable that a PROJECT or IN around the filter hides.
                only = None if asked.only is None else asked.only | named
                pending.append((inner, _Asked(only, asked.hidden - named)))
            case cel.Project(L, inner):
                pending.append((inner, _Asked(frozenset(A for A in L if A in asked))))
            case cel.Unless(left, right):
                pending += [(right, _Asked(frozenset())), (left, asked)]
            case cel.And(left, right):
                pending += [(right, _Asked()), (left, _Asked())]
            case cel.Derived():
                pending.append((psi.expansion, asked))
            case (
                cel.EventAtom()
                | cel.Narrowing()
                | cel.Iteration()
                | cel.PerKey()
                | cel.Sequencing()
                | cel.Combination()
            ):
                pending += [(child, asked) for child in reversed(children(psi))]
            case _:
                assert_never(psi)


def _variables(atom: cel.Atom) -> tuple[str, ...]:
    match atom:
        case cel.Every(A, _):
            return (A,)
        case cel.Correlated(predicate):
            return tuple(a.variable or "" for a in mentions(predicate))
        case cel.Named(_, variables):
            return variables
        case _:
            assert_never(atom)


# ---------------------------------------------------------------------------------------------------------------------
# The fragment of CEL that a formula is written in: CEL*, or more (tods21, Definition 8.1, section 8.2).

STAR = (cel.EventAtom, cel.In, cel.Filter, cel.Seq, cel.Plus, cel.Or)


def beyond_star(phi: cel.Formula) -> frozenset[str]:
    """Return the symbols of the operators in phi that CEL* does not have; empty if phi is in CEL*.

    Only the form of the formula counts: an equivalent formula may need fewer operators.
    """
    primitive = cel.subformulas(cel.expanded(phi))
    return frozenset(OPERATORS[type(psi)].symbol for psi in primitive if not isinstance(psi, STAR))


# ---------------------------------------------------------------------------------------------------------------------
# Find the operators under PARTITION BY that look at the events of all keys, which is often not intended.
#
# PARTITION BY keeps the matches whose events agree; it does not divide the stream. So operators under it that look at
# events outside the match see events of other keys: UNLESS, `:` and `:+`, STRICT, NXT, LAST and MAX. Under PER KEY they
# see only the events of one key (docs/decisions/per-key.md).

EFFECTS: dict[type, str] = {
    cel.Unless: "an event of another key can prevent a match",
    cel.Strict: "an event of another key in between is a gap",
    cel.ContiguousSeq: "events are not neighbours if an event of another key is between them",
    cel.ContiguousPlus: "events are not neighbours if an event of another key is between them",
    cel.NextPlus: "the next round can have another key, and a later round of the same key is then not the next",
    cel.Until: "the next round or the end can have another key",
    ContiguousRepeat: "events are not neighbours if an event of another key is between them",
    cel.Preference: "a match of several keys can be preferred to a match of a single key",
}
"""The effect of events of other keys on an operator that looks beyond one match, as part of a message."""


@dataclass(frozen=True)
class AcrossKeys:
    """An operator under PARTITION BY that still sees the events of all keys, such as `:`.

    partition: a PARTITION BY around the operator; of several on one attribute, the outermost.
    """

    partition: cel.PartitionBy
    operator: cel.Formula

    @property
    def per_key(self) -> cel.PerKey:
        """Return the formula to write instead of the partition: the partition's operand with PER KEY."""
        return cel.PerKey(self.partition.phi, (self.partition.attribute,), span=self.partition.span)

    @property
    def problem(self) -> Problem:
        """Return the warning about this operator, for the user to see before evaluation."""
        symbol, a = OPERATORS[type(self.operator)].symbol, self.partition.attribute
        message = (
            f"{symbol} under PARTITION BY [{a}] looks at the events of all keys: {entry_of(EFFECTS, self.operator)}"
        )
        return Problem("across_keys", message, self.operator.span, advice=advice(a))


def advice(attribute: str) -> str:
    """Return the part of a message that advises PER KEY instead of PARTITION BY."""
    return f"write PER KEY [{attribute}] to look at each key alone; keep PARTITION BY if all keys are meant"


def across_keys(phi: cel.Formula) -> Iterator[AcrossKeys]:
    """Yield the operators under a partition that see the events of all keys, one of each kind for each partition.

    Operators under a PER KEY on the partition's attribute do not count, whether it is inside or around the partition.
    """
    if not any(isinstance(psi, cel.PartitionBy) for psi in subtrees(phi)):
        return
    pending: list[tuple[cel.Formula, dict[str, cel.PartitionBy], frozenset[str]]] = [(phi, {}, frozenset())]
    seen: set[tuple[int, type]] = set()
    while pending:
        psi, partitions, keys = pending.pop()
        if isinstance(psi, cel.PartitionBy) and psi.attribute not in keys:
            partitions = {psi.attribute: psi, **partitions}
        elif isinstance(psi, cel.PerKey):
            keys |= frozenset(psi.attributes)
            partitions = {a: partition for a, partition in partitions.items() if a not in keys}
        elif entry_or_none(EFFECTS, psi) is not None:
            for partition in partitions.values():
                if (id(partition), type(psi)) not in seen:
                    seen.add((id(partition), type(psi)))
                    yield AcrossKeys(partition, psi)
        pending += [(child, partitions, keys) for child in reversed(children(psi))]
