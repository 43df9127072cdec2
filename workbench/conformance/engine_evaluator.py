"""An engine under test as an evaluator, so that a differential campaign can hold it against the semantics."""

from __future__ import annotations

from collections.abc import Collection
from itertools import count
from typing import assert_never

from cerify.conformance.harness import Engine
from cerify.conformance.model import Case
from cerify.equivalence.differential.judge import GiveUp, NoAnswer, Output
from cerify.semantics.cel.show import show
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.cel.wellformed import require_typed
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Match, Stream
from cerify.semantics.json_events import json_of_event, json_of_schema


class EngineEvaluator:
    """The matches that the engine gives.

    Raises Unsupported where it skips, BudgetExceeded, NoAnswer where it fails, GiveUp if it may not be restarted again.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._numbers = count()

    def __call__(self, phi: Formula, S: Stream, output: Output) -> Collection[Match]:
        if S.schema is not None:
            require_typed(phi, S.schema)  # an engine need not answer an ill-typed query, so it is none to shrink to
        return self.asked("cel", show(phi), S, output)

    def asked(self, language: str, query: str, S: Stream, output: Output) -> Collection[Match]:
        """The matches that the engine gives of the text of a query."""
        result = self.engine.run(
            Case(
                id=f"fuzz/{next(self._numbers)}",
                feature="fuzz",
                clause="",
                language=language,
                query=query,
                schema=None if S.schema is None else json_of_schema(S.schema),
                events=[json_of_event(event) for event in S],
                output=output,
                matches=(),
            )
        )
        if self.engine.twice:  # the case before this one has been judged: it is this one that shows the fault
            raise NoAnswer(f"protocol: {self.engine.twice.popitem()[1]}")
        match result.outcome:
            case "passed" | "failed" | "disputed":
                return result.matches or ()
            case "skipped":
                raise Unsupported(result.detail)
            case "error" if result.detail.startswith("unsupported:"):
                raise Unsupported(result.detail)
            case "error" if result.detail.startswith("budget:"):
                raise BudgetExceeded(result.detail)
            case "not_run":
                raise GiveUp(result.detail)
            case "error" | "crashed" | "timeout" | "memory" | "protocol":
                raise NoAnswer(f"{result.outcome}: {result.detail}")
            case _:
                assert_never(result.outcome)
