"""Disagreements that an earlier campaign found: what an engine is known to answer wrongly, and still does."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from cerify import protocol
from cerify.equivalence.differential.campaign import Disagreement, Plan
from cerify.equivalence.differential.causes import cause
from cerify.equivalence.differential.judge import Answer, GiveUp, Output, Query, answer, failure_form
from cerify.equivalence.shrink.operations import QueryOperations
from cerify.languages.language import Language
from cerify.semantics.errors import BudgetExceeded, CerifyError, InputError, Unsupported
from cerify.semantics.events import Stream
from cerify.semantics.json_events import lines_of, parse_json, schema_of_json, stream_of_json

WORD = re.compile(r"'(?:[^']|'')*'|[A-Za-z_]\w*|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")

CauseAndForm: TypeAlias = tuple[str, str]
"""The cause of a disagreement, and the form of its query."""


@dataclass(frozen=True)
class Example:
    """A disagreement of an earlier call: its cause, its case, and what was answered, as JSON."""

    cause: str
    query: Query
    stream: Stream
    output: Output
    got: Any


@dataclass
class KnownDisagreements:
    """The examples of an earlier call, and the kinds of those that the engine answers in the same way now."""

    examples: list[Example] = field(default_factory=list)
    present: set[CauseAndForm] = field(default_factory=set)

    def ask_again(self, plan: Plan) -> None:
        """Ask the engine of a campaign all examples, and note the kinds of those that it answers as before."""
        for example in self.examples:
            with suppress(Unsupported, BudgetExceeded, GiveUp):
                got = answer(plan.right, example.query, example.stream, example.output)
                if _same(got, example.got):
                    self.present.add((example.cause, form(plan.language, example.query)))

    def has(self, d: Disagreement, operations: QueryOperations[Any]) -> bool:
        """Whether an example with the same cause and a query of the same form is still answered as before."""
        return (str(cause(d, operations)), form(operations, d.phi)) in self.present

    @property
    def causes(self) -> list[str]:
        """The causes of which an example is still answered as before."""
        return sorted({name for name, _ in self.present})

    @property
    def gone(self) -> list[str]:
        """The causes of which no example is answered as before."""
        return sorted({example.cause for example in self.examples}.difference(self.causes))


def read_known(path: Path, language: Language[Any]) -> KnownDisagreements:
    """The disagreements in a file that `cerify fuzz --json` printed. Raises InputError."""
    parsed = [(parse_json(text, where), where) for text, where in lines_of(path)]
    return KnownDisagreements(
        [_example(obj, where, language) for obj, where in parsed if not (isinstance(obj, dict) and "summary" in obj)]
    )


def _example(obj: Any, where: str, language: Language[Any]) -> Example:
    try:
        schema = None if obj["schema"] is None else schema_of_json(obj["schema"])
        stream = stream_of_json(obj["events"], schema, where)
        return Example(obj["cause"], language.parse(obj["query"]), stream, obj["output"], obj["got"])
    except (KeyError, TypeError):
        raise InputError(f"{where} is no disagreement: give what `cerify fuzz --json` printed") from None
    except CerifyError as error:
        raise InputError(f"{where} is no disagreement about {language.title}: {error.message}") from None


def form(operations: QueryOperations[Any], query: Query) -> str:
    """The query with numbers in place of its names, and all constants of a kind alike; comparators stay."""
    named = {*operations.names(query), *operations.attributes(query), *operations.types(query)}
    number: dict[str, str] = {}

    def replaced(word: re.Match[str]) -> str:
        text = word[0]
        if text in named:
            return number.setdefault(text, f"n{len(number)}")
        return "''" if text[0] == "'" else "0" if text[0].isdigit() else text

    return WORD.sub(replaced, operations.show(query))


def _same(given: Answer, stored: Any) -> bool:
    """Whether an answer is the stored one; of failures whether they are of the same form."""
    if isinstance(given, str) or isinstance(stored, str):
        return isinstance(given, str) and isinstance(stored, str) and failure_form(given) == failure_form(stored)
    return _lines(map(protocol.json_of_match, given)) == _lines(stored)


def _lines(matches: Iterable[Any]) -> list[str]:
    return sorted(map(protocol.line, matches))
