"""CEL predicates that a user registers: relations over sets of events, given as Python functions (tods21, section 4).

They are a value, handed to whoever evaluates: a map from names to functions. The text of a query only names them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from cerify.semantics.cel import syntax as cel
from cerify.semantics.errors import IllFormed, Unsupported
from cerify.semantics.events import Event

Events: TypeAlias = tuple[Event, ...]
"""What one variable binds, in the order of the stream; empty where it binds nothing."""

Predicates: TypeAlias = Mapping[str, Callable[..., bool]]
"""Registered predicates by name: each takes the Events of each variable and says whether they are in the relation."""

NO_PREDICATES: Predicates = MappingProxyType({})


def named(phi: cel.Formula) -> list[cel.Named]:
    """The atoms name(A, B) of a formula, left to right."""
    filters = (psi for psi in cel.subformulas(phi) if isinstance(psi, cel.Filter))
    return [atom for psi in filters for atom in cel.atoms(psi.condition) if isinstance(atom, cel.Named)]


def unregistered(phi: cel.Formula, predicates: Predicates) -> Unsupported | None:
    """Why the formula cannot be evaluated with these predicates: it names one that is not there; None if all are.

    Raises IllFormed for one that is no function, or of a wrong arity.
    """
    for atom in named(phi):
        if atom.name not in predicates:
            return _missing(atom, predicates)
        _function(atom, predicates)
    return None


def require_registered(phi: cel.Formula, predicates: Predicates) -> None:
    """Raises the reason of `unregistered`, if there is one."""
    if (refused := unregistered(phi, predicates)) is not None:
        raise refused


def in_relation(atom: cel.Named, sets: tuple[Events, ...], predicates: Predicates) -> bool:
    """Whether the sets of events, one for each variable of the atom, are in its predicate.

    Raises IllFormed where the function fails, or answers anything but True or False.
    """
    function = _function(atom, predicates)
    try:
        answer = function(*sets)
    except Exception as error:  # whatever a user's function raises is that predicate's failure, and is named as such
        reason = f"{type(error).__name__}: {error}".removesuffix(": ")
        raise IllFormed(f"the predicate {atom.name} failed with {reason}", atom.span) from error
    if not isinstance(answer, bool):
        raise IllFormed(f"the predicate {atom.name} answered {answer!r}; it has to answer True or False", atom.span)
    return answer


def _missing(atom: cel.Named, predicates: Predicates) -> Unsupported:
    known = f"registered are {', '.join(sorted(predicates))}" if predicates else "none is registered"
    return Unsupported(f"the predicate {atom.name} is not registered; {known}", atom.span)


def _function(atom: cel.Named, predicates: Predicates) -> Callable[..., bool]:
    if atom.name not in predicates:
        raise _missing(atom, predicates)
    function = predicates[atom.name]
    if not callable(function):
        raise IllFormed(f"the predicate {atom.name} is {function!r}; it has to be a function", atom.span)
    try:
        inspect.signature(function).bind(*atom.variables)
    except TypeError:
        wants = inspect.signature(function)
        number = len(atom.variables)
        raise IllFormed(
            f"the predicate {atom.name} is given {number} variable{'s' if number != 1 else ''}, "
            f"and its function takes {wants}",
            atom.span,
        ) from None
    except ValueError:  # a built-in function may not tell its signature: then the call itself will
        pass
    return function
