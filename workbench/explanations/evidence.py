"""What the events of a valuation say about a condition, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, product
from typing import assert_never

from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.denote import at, sup
from cerify.semantics.cel.show import show_condition
from cerify.semantics.events import TIME, Event, Stream, Valuation, bindings_of
from cerify.semantics.predicate_text import show_value
from cerify.semantics.predicates import Attribute, holds, mentions, satisfied
from cerify.semantics.values import Value
from cerify.terminal import printable

SHOWN = 4  # events named for one condition; of more, the number is given
TRIED = 100_000  # combinations of events looked at for one that breaks a correlated condition


def reasons_for(condition: cel.Condition, mu: Valuation, S: Stream) -> Iterator[str]:
    """For each atom of the condition that speaks of mu: what its events show."""
    for atom in cel.atoms(condition):
        match atom:
            case cel.Every(A, predicate):
                places = positions(mu, A)
                if not places:
                    yield f"{show_condition(atom)}: {A} binds nothing"
                else:
                    names = list(dict.fromkeys(m.name for m in mentions(predicate)))
                    yield f"{show_condition(atom)}: {listed(event(p, S, names) for p in places)}"
            case cel.Correlated(predicate):
                asked = dict.fromkeys(mentions(predicate))
                shown = [event(p, S, [m.name]) for m in asked for p in positions(mu, m.variable)]
                yield f"{show_condition(atom)}: {listed(dict.fromkeys(shown))}"
            case cel.Named(_, variables):
                bound = (f"{A} binds {braces(positions(mu, A))}" for A in variables)
                yield f"{show_condition(atom)}: {', '.join(bound)}"
            case _:
                assert_never(atom)


def reasons_against(atom: cel.Atom, mu: Valuation, S: Stream) -> str:
    """How the events of mu break an atom that they do break."""
    match atom:
        case cel.Every(A, predicate):
            names = list(dict.fromkeys(m.name for m in mentions(predicate)))
            breaking = [p for p in positions(mu, A) if not holds(predicate, S[p])]
            return f"{show_condition(atom)} is false of {listed(event(p, S, names) for p in breaking)}"
        case cel.Correlated(predicate):
            asked = list(mentions(predicate))
            for places in islice(product(*(positions(mu, m.variable) for m in asked)), TRIED):
                values = iter([S[p].get(m.name) for p, m in zip(places, asked, strict=True)])
                if not satisfied(predicate, lambda _, values=values: next(values)):  # type: ignore[misc]
                    pairs = dict.fromkeys(_mention(m, p, S) for p, m in zip(places, asked, strict=True))
                    return f"{show_condition(atom)} is false: {', '.join(pairs)}"
            return f"{show_condition(atom)} is false"
        case cel.Named(_, variables):
            bound = (f"{A} binds {braces(positions(mu, A))}" for A in variables)
            return f"{show_condition(atom)} is false: {', '.join(bound)}"
        case _:
            assert_never(atom)


def of_window(window: cel.Window, mu: Valuation, S: Stream) -> str:
    """The first and the last event of mu, with what the window measures."""
    places = sorted(sup(mu))
    if not places:
        return "there is no event"
    match window:
        case cel.EventWindow():
            return f"from position {places[0]} to position {places[-1]}"
        case cel.TimeWindow():
            name = TIME
        case cel.AttributeWindow(_, name):
            pass
        case _:
            assert_never(window)
    return f"from {event(places[0], S, [name])} to {event(places[-1], S, [name])}"


def event(position: int, S: Stream, names: Iterable[str] | None = None) -> str:
    """An event by its position, with the values of these attributes, or of all."""
    shown = S[position].attributes if names is None else names
    values = ", ".join(f"{printable(name)} {_is(S[position].get(name))}" for name in shown)
    return f"event {position} ({values})" if values else f"event {position}"


def row(event: Event) -> str:
    """An event's type and attributes in one line."""
    said = (f"{name}={show_value(value)}" for name, value in event.attributes.items())
    return printable(" ".join([event.type, *said]))


def value_text(value: Value | None) -> str:
    """The value of an event's attribute in one line."""
    return "absent" if value is None else printable(show_value(value))


def positions(mu: Valuation, A: str | None) -> list[int]:
    """The positions that mu binds to A, ascending."""
    return sorted(p for _, p in at(mu, A))


def braces(places: Iterable[int]) -> str:
    """A complex event as the papers write it."""
    return "{" + ", ".join(map(str, sorted(places))) + "}"


def bindings_text(mu: Valuation) -> str:
    """A valuation as text: each variable with the positions it binds."""
    return ", ".join(f"{A} -> {braces(places)}" for A, places in bindings_of(mu)) or "no bindings"


def listed(texts: Iterable[str]) -> str:
    """The texts in a row; of a long list the first few, and how many more there are."""
    known = list(texts)
    more = f" and {len(known) - SHOWN} more" if len(known) > SHOWN else ""
    return ", ".join(known[:SHOWN]) + more


def _mention(m: Attribute, position: int, S: Stream) -> str:
    return f"{m.variable}.{m.name} of event {position} {_is(S[position].get(m.name))}"


def _is(value: Value | None) -> str:
    return "is absent" if value is None else f"= {value_text(value)}"
