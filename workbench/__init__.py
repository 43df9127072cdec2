"""The meaning of complex event queries, executable: what a person imports.

The names are loaded when they are first used, so that `import cerify` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cerify.api import contained as contained
    from cerify.api import equivalent as equivalent
    from cerify.api import match as match
    from cerify.conformance.run import conform as conform
    from cerify.semantics.budget import Budget as Budget
    from cerify.semantics.cel.parse import parse as parse
    from cerify.semantics.cel.show import show as show
    from cerify.semantics.errors import QueryWarning as QueryWarning
    from cerify.semantics.events import Event as Event
    from cerify.semantics.events import Match as Match
    from cerify.semantics.events import Schema as Schema
    from cerify.semantics.events import Stream as Stream
    from cerify.semantics.matches import Matches as Matches
    from cerify.semantics.readers import as_stream as as_stream
    from cerify.semantics.readers import read as read

_HOME = {
    "Budget": "semantics.budget",
    "Event": "semantics.events",
    "Match": "semantics.events",
    "Matches": "semantics.matches",
    "QueryWarning": "semantics.errors",
    "Schema": "semantics.events",
    "Stream": "semantics.events",
    "as_stream": "semantics.readers",
    "conform": "conformance.run",
    "contained": "api",
    "equivalent": "api",
    "match": "api",
    "parse": "semantics.cel.parse",
    "read": "semantics.readers",
    "show": "semantics.cel.show",
}

__all__ = [
    "Budget",
    "Event",
    "Match",
    "Matches",
    "QueryWarning",
    "Schema",
    "Stream",
    "as_stream",
    "conform",
    "contained",
    "equivalent",
    "match",
    "parse",
    "read",
    "show",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("cerify")
    if name in _HOME:
        return getattr(import_module(f"cerify.{_HOME[name]}"), name)
    raise AttributeError(f"module 'cerify' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
