"""Evaluate, explain, compare and test complex event queries, by the definitions of their languages.

A complex event query looks for a pattern in a stream of events. This package evaluates it, explains why events match,
decides whether two queries mean the same, and tests an engine against the definition:

  >>> import cerify
  >>> events = [{"type": "T", "tmp": 41}, {"type": "H", "hum": 20}]
  >>> [match.events for match in cerify.match("(T ; H) FILTER T.tmp > 40", events)]
  [(0, 1)]
  >>> cerify.equivalent("NXT(T ; H)", "LAST(T ; H)").stream
  Stream(3 events)

The functions that matter most, each with an example in its `help`:

  match       find all matches of a query over a stream
  count       count the matches, without building them if the evaluator supports that
  compile     make an evaluator that reads a stream in batches
  explain     explain why positions match, or why they do not
  check       report problems of a query, and whether it can match at all
  equivalent  decide whether two queries have the same matches
  contained   decide whether the second query has all matches of the first
  simplify    find a smaller query with the same meaning
  generate    make a random query and a stream for it
  conform     test an engine against the definition

The languages are "cel" (the default), "core-cel", "event-expression", "sase", "row-pattern" (MATCH_RECOGNIZE), "eql",
"sigma", "ceql" and "funnel". Names are loaded when they are first used, so that `import cerify` costs little.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cerify.api import check as check
    from cerify.api import compile as compile
    from cerify.api import contained as contained
    from cerify.api import count as count
    from cerify.api import equivalent as equivalent
    from cerify.api import explain as explain
    from cerify.api import generate as generate
    from cerify.api import laws as laws
    from cerify.api import match as match
    from cerify.api import near_misses as near_misses
    from cerify.api import parse as parse
    from cerify.api import show as show
    from cerify.api import simplify as simplify
    from cerify.automata.evaluator import Consumption as Consumption
    from cerify.automata.evaluator import Evaluator as Evaluator
    from cerify.conformance.run import conform as conform
    from cerify.equivalence.differential import differ as differ
    from cerify.equivalence.verdict import Bounded as Bounded
    from cerify.equivalence.verdict import Contained as Contained
    from cerify.equivalence.verdict import Different as Different
    from cerify.equivalence.verdict import Equivalent as Equivalent
    from cerify.equivalence.verdict import Undecided as Undecided
    from cerify.funnels import funnel as funnel
    from cerify.languages import LANGUAGES as LANGUAGES
    from cerify.languages import register as register
    from cerify.languages.language import Language as Language
    from cerify.semantics.arguments import Budget as Budget
    from cerify.semantics.errors import BudgetExceeded as BudgetExceeded
    from cerify.semantics.errors import CerifyError as CerifyError
    from cerify.semantics.errors import IllFormed as IllFormed
    from cerify.semantics.errors import InputError as InputError
    from cerify.semantics.errors import InputWarning as InputWarning
    from cerify.semantics.errors import InternalError as InternalError
    from cerify.semantics.errors import NoTruthValue as NoTruthValue
    from cerify.semantics.errors import ParseError as ParseError
    from cerify.semantics.errors import QueryWarning as QueryWarning
    from cerify.semantics.errors import Unsupported as Unsupported
    from cerify.semantics.events import Event as Event
    from cerify.semantics.events import Match as Match
    from cerify.semantics.events import Schema as Schema
    from cerify.semantics.events import Stream as Stream
    from cerify.semantics.events import observed as observed
    from cerify.semantics.files import as_stream as as_stream
    from cerify.semantics.files import read_stream as read_stream
    from cerify.semantics.match_frames import Matches as Matches


def _api() -> ModuleType:
    from cerify import api

    return api


def _evaluator() -> ModuleType:
    from cerify.automata import evaluator

    return evaluator


def _run() -> ModuleType:
    from cerify.conformance import run

    return run


def _differential() -> ModuleType:
    from cerify.equivalence import differential

    return differential


def _verdict() -> ModuleType:
    from cerify.equivalence import verdict

    return verdict


def _funnels() -> ModuleType:
    from cerify import funnels

    return funnels


def _languages() -> ModuleType:
    from cerify import languages

    return languages


def _language() -> ModuleType:
    from cerify.languages import language

    return language


def _arguments() -> ModuleType:
    from cerify.semantics import arguments

    return arguments


def _errors() -> ModuleType:
    from cerify.semantics import errors

    return errors


def _events() -> ModuleType:
    from cerify.semantics import events

    return events


def _files() -> ModuleType:
    from cerify.semantics import files

    return files


def _match_frames() -> ModuleType:
    from cerify.semantics import match_frames

    return match_frames


_NAMES: Mapping[Callable[[], ModuleType], str] = {
    _api: "check compile contained count equivalent explain generate laws match near_misses parse show simplify",
    _evaluator: "Consumption Evaluator",
    _run: "conform",
    _differential: "differ",
    _verdict: "Bounded Contained Different Equivalent Undecided",
    _funnels: "funnel",
    _languages: "LANGUAGES register",
    _language: "Language",
    _arguments: "Budget",
    _errors: "BudgetExceeded CerifyError IllFormed InputError InputWarning InternalError NoTruthValue "
    "ParseError QueryWarning Unsupported",
    _events: "Event Match Schema Stream observed",
    _files: "as_stream read_stream",
    _match_frames: "Matches",
}
_HOME = {name: load for load, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("cerify")
    if name in _HOME:
        from cerify.semantics.packages import naming_extras

        with naming_extras():
            return getattr(_HOME[name](), name)
    raise AttributeError(f"module 'cerify' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
