"""Type errors of one tuple predicate under a schema: comparisons and arithmetic that no event could make true."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal, assert_never

from cerify.semantics import predicates as pred
from cerify.semantics.arguments import listed, nearest
from cerify.semantics.errors import Span
from cerify.semantics.events import TIME, Schema
from cerify.semantics.predicate_text import show_term
from cerify.semantics.predicates import atoms, mentions, outcomes
from cerify.semantics.values import KIND_OF, Value, kind

Rule = Literal[
    "unbound", "unused", "unsafe", "never", "event_type", "attribute", "kind", "arithmetic", "order", "like",
    "twice", "reference", "good_formula", "strategy", "partition", "negation", "window", "result", "stream",
    "navigation", "subset", "output", "repeated", "row_window",
]  # fmt: skip
"""What is wrong.

unbound     no event can be bound to the variable where it is used; in core-CEL, none need be
unused      a variable is bound and never used
unsafe      in core-CEL: a variable that holds one event is defined on both sides of a sequence
never       there is no match, or no event that passes a filter, on any stream
event_type  the schema has no such event type
attribute   an event type that the variable can hold lacks the attribute
kind        values of different kinds are compared
arithmetic  what has to be a number is none
order       Booleans have no order
like        what has to be a string is none

Of SASE+ alone:
twice         a name is given two times
reference     the events of a variable are named in a way that does not fit it, or this clause
good_formula  a condition of WHERE is no clause, or its last identifier is not in all its predicates (sase07, A.1)
strategy      the strategies do not take each variable once
partition     there is nothing to partition by
negation      a pattern with nothing but negated components, or one at the end without a window
window        a window without length
result        a query that is read by another returns what cannot be an attribute of an event
stream        a stream that no query makes, or that depends on itself

Of MATCH_RECOGNIZE alone:
navigation  PREV, NEXT, FIRST, LAST or an aggregate is inside one that cannot have it, or looks at two variables
subset      a union variable is no union of variables of the pattern
output      rows that are left out of the output of all rows
repeated    a part of a pattern that matches no row is quantified, where the reading refuses that
row_window  WINDOW with an anchor or MATCH_NUMBER
"""


MENDS: Mapping[Rule, str] = {
    "unbound": "bind the variable, or name one that is bound",
    "unused": "leave the variable out, or ask for it in a filter or in PROJECT",
    "unsafe": "give the variable another name on one of the two sides",
    "never": "ask for less, or leave this part out",
    "event_type": "name a type of the schema, or add this one to it",
    "attribute": "name an attribute that the type has, or add this one to the schema",
    "kind": "compare with a value of the same kind",
    "arithmetic": "use an attribute that is a number",
    "order": "use = or !=",
    "like": "use = or another comparison",
    "twice": "give one of them another name",
    "reference": "write a of one event; of an array a[1], a[i], a[i-1] or a[a.LEN], or an aggregate of a[]",
    "good_formula": "split the condition, or move it to HAVING, which takes any formula",
    "strategy": "name each variable of the pattern in one strategy",
    "partition": "add an equivalence test, as [id], or underline a predicate: _( a[i].x = a[i-1].x )_",
    "negation": "add what has to be there, or WITHIN",
    "window": "give the window a length",
    "result": "return single values, as a[1].x or an aggregate",
    "stream": "name it with IN STREAM in another query, or leave FROM out to read the input",
    "navigation": "put FIRST or LAST inside PREV or NEXT, and inside those columns of one variable",
    "subset": "list variables of the pattern, and give the union a name of its own",
    "output": "leave {- -} out, or WITH UNMATCHED ROWS",
    "repeated": "quantify a part that matches at least one row",
    "row_window": "leave it out, or use MATCH_RECOGNIZE",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """A rule that a query breaks, with a sentence about it, and its place in the text where that is known."""

    rule: Rule
    message: str
    span: Span | None
    meant: str | None = None  # the name that was probably meant
    partial: bool = False  # an event type that the variable can hold has the attribute that others lack
    advice: str | None = None  # what to do about it, where that is not what MENDS says of the rule

    @property
    def hinted(self) -> str:
        """The message, with the name that was probably meant."""
        return self.message if self.meant is None else f"{self.message}; did you mean {listed([self.meant])}?"

    @property
    def mend(self) -> str:
        """What to do about it."""
        mend = self.advice or MENDS[self.rule]
        return mend if self.meant is None else f"did you mean {listed([self.meant])}? Or {mend}"


def meant(name: str, known: Iterable[str]) -> str | None:
    """The known name that looks most like this one, if any does; one that differs in case alone does most."""
    by_folded = {one.casefold(): one for one in known}
    near = nearest(name.casefold(), by_folded)
    return None if near is None else by_folded[near]


def unknown_type(
    name: str, schema: Schema | None, span: Span | None, operators: Iterable[str] = ()
) -> Iterator[Problem]:
    """The problem of an event type that the schema does not have; operators: what may have been meant besides types."""
    if schema is not None and name not in schema.types:
        whose = "the schema has" if schema.timed else "the events have"
        message = f"unknown event type {name}; {whose} {listed(schema.types)}"
        yield Problem("event_type", message, span, meant(name, (*schema.types, *operators)))


def timeless(types: Iterable[Iterable[str]], span: Span | None) -> Iterator[Problem]:
    """The problem of a window on the time where the events of no type have a time; types: the attributes of each."""
    if not any(TIME in attributes for attributes in types):
        message = (
            f"WITHIN measures the time of events, and these have none, so that nothing is within the window; "
            f"add an attribute {TIME}: whole seconds, or ISO 8601 as in 2026-01-31T12:00:00"
        )
        yield Problem("attribute", message, span)


def unmeasured(known: str | None, span: Span | None) -> Iterator[Problem]:
    """The problem of a window on the time where times are of this kind, or value type (None: not known)."""
    if known in ("string", "bool"):
        hint = f"; as_stream(events, time_column='{TIME}') reads times of text" if known == "string" else ""
        message = f"WITHIN measures the time of events, a number or a timestamp, and here {TIME} is a {known}{hint}"
        yield Problem("arithmetic", message, span)


def lacking(
    holder: str, attribute: str, held: frozenset[str], schema: Schema | None, span: Span | None
) -> Iterator[Problem]:
    """The problem of the event types, among those that the holder may hold, that lack the attribute."""
    if schema is None:
        return
    known = sorted(held & schema.types.keys())
    if not (found := [R for R in known if not schema.has(R, attribute)]):
        return
    R, *more = found
    names = {name: None for S in found for name in schema.types[S]}
    which = "" if holder == R and not more else f", which {holder} may hold,"
    verb, it = ("have", "they have") if more else ("has", "it has")
    message = f"{', '.join(found)}{which} {verb} no attribute {attribute!r}; {it} {listed(names)}"
    yield Problem("attribute", message, span, meant(attribute, names), len(found) < len(known))


def never_true(
    holder: str,
    predicate: pred.Predicate,
    held: frozenset[str],
    schema: Schema | None,
    span: Span | None,
    always: frozenset[str] = frozenset(),
) -> Iterator[Problem]:
    """The problem of a predicate on all events of the holder that none makes true, or none of a type that is there.

    always: the types of which the holder has an event whenever it has any. There is no problem where no type has an
    attribute, see `lacking`: here each type lacks one of those that are needed together.
    """
    if schema is None:
        return
    known = sorted(held & schema.types.keys())
    each = all(any(schema.has(R, a.name) for R in known) for a in mentions(predicate))
    never = [R for R in known if not outcomes(predicate, partial(_possible, R=R, schema=schema))[0]]
    for R in sorted(always.intersection(never))[:1] if each else ():
        have = listed([a for a in schema.types[R] if a != TIME])
        every = f"and a condition on {holder} has to hold of every event of {holder}"  # tods21, Definition 4.1
        message = f"{holder} always holds an event of {R}, for which this is never true, {every}; {R} has {have}"
        yield Problem("attribute", message, span)
        return
    if never and each and never == known:
        have = "; ".join(f"{R} has {listed([a for a in schema.types[R] if a != TIME])}" for R in known)
        yield Problem("attribute", f"this is never true for the types that {holder} may hold: {have}", span)


def _possible(atom: pred.Atomic, R: str, schema: Schema) -> tuple[bool, bool]:
    """Whether the predicate can be true, and whether it can be false, of an event of the type.

    A comparison is false of an event that lacks one of its attributes; otherwise it counts as free.
    """
    match atom:
        case pred.Anything():
            return True, False
        case pred.OfType(name):
            return name == R, name != R
        case pred.Comparison() | pred.OneOf() | pred.InRange() | pred.Like():
            return all(schema.has(R, a.name) for a in mentions(atom)), True
        case _:
            assert_never(atom)


def kind_problems(predicate: pred.Predicate, schema: Schema | None, span: Span | None) -> Iterator[Problem]:
    """The uses of values of the wrong kind in a predicate; none without a schema.

    An attribute has one type throughout a schema, so that it does not matter which events the predicate is about.
    """
    if schema is None:
        return
    for atom in atoms(predicate):
        match atom:
            case pred.Comparison(comparator, left, right):
                yield from _compared(left, right, comparator, schema, span)
            case pred.OneOf(term, values):
                yield from _compared_with(term, values, "=", schema, span)
            case pred.InRange(term, low, high):
                yield from _compared_with(term, (low, high), "in range", schema, span)
            case pred.Like(term, _):
                yield from _operands(term, schema, span)
                if (known := _kind(term, schema)) not in (None, "string"):
                    yield Problem("like", f"{show_term(term)} is a {known}; only a string can be like a pattern", span)
            case pred.Anything() | pred.OfType():
                pass
            case _:
                assert_never(atom)


def time_problems(schema: Schema | None, span: Span | None) -> Iterator[Problem]:
    """The problem of a window on the time where the schema has times that are neither numbers nor timestamps."""
    if schema is not None:
        yield from unmeasured(_kind(pred.Attribute(TIME), schema), span)


def number_problems(term: pred.Term, schema: Schema | None, span: Span | None) -> Iterator[Problem]:
    """The problem of a term that has to be a number and is none by the schema."""
    if schema is not None and (known := _kind(term, schema)) not in (None, "number"):
        yield Problem("arithmetic", f"{show_term(term)} is a {known}, where a number is needed", span)


def _compared_with(
    term: pred.Term, values: tuple[Value, ...], comparator: str, schema: Schema, span: Span | None
) -> Iterator[Problem]:
    """Of the values that do not fit the first is enough: they are compared with the same term."""
    for value in values:
        if found := list(_compared(term, pred.Constant(value), comparator, schema, span)):
            yield from found
            return


def _compared(
    left: pred.Term, right: pred.Term, comparator: str, schema: Schema, span: Span | None
) -> Iterator[Problem]:
    for term in (left, right):
        yield from _operands(term, schema, span)
    one, other = _kind(left, schema), _kind(right, schema)
    if one is not None and other is not None and one != other:
        message = f"{show_term(left)} is a {one} and {show_term(right)} a {other}, so they cannot be compared"
        yield Problem("kind", message, span)
    elif "bool" in (one, other) and comparator not in ("=", "!="):
        term = left if one == "bool" else right
        yield Problem("order", f"{show_term(term)} is a bool, which knows = and != but not {comparator}", span)


def _operands(term: pred.Term, schema: Schema, span: Span | None) -> Iterator[Problem]:
    """The problems of the operands of a term's arithmetic."""
    if isinstance(term, pred.Arithmetic):
        for operand in (term.left, term.right):
            yield from _operands(operand, schema, span)
            yield from number_problems(operand, schema, span)


def _kind(term: pred.Term, schema: Schema) -> str | None:
    """The kind of the term's value; None where the schema does not say."""
    match term:
        case pred.Attribute(name):
            known = name in schema.attributes and name not in schema.mixed
            return KIND_OF[schema.attributes[name]] if known else None
        case pred.Constant(value):
            return kind(value)
        case pred.Arithmetic():
            return "number"
        case _:
            assert_never(term)
