"""An adapter as a process that asks a test what its engine finds: the translation is tested without the engine."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from cerify.conformance.cases import tree_of_text
from cerify.semantics.values import plain

Json: TypeAlias = dict[str, Any]
Search: TypeAlias = Callable[[Json], Iterable[Json]]
"""What is found for a translation, as the adapter writes it; raises Refused where the engine has no such query."""


class Refused(Exception):
    """The query is none of the engine's."""


class StandIn:
    """The adapter as a process, whose searches are answered here."""

    def __init__(self, command: Sequence[Any]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started = self.ask({"cmd": "start", "protocol": 1})
        self.claims, self.languages = started["claims"], started["languages"]

    def ask(self, message: Any) -> Json:
        """The next line that the adapter writes after a message."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(message), file=self.process.stdin, flush=True)
        return dict(json.loads(self.process.stdout.readline()))

    def answer(self, run: Json, search: Search) -> Json:
        """The answer to a run."""
        reply = self.ask({"cmd": "run"} | run)
        while "id" not in reply:  # a translation, which waits for what is found
            try:
                reply = self.ask({"found": list(search(reply["translation"]))})
            except Refused as refused:
                reply = self.ask({"refused": str(refused)})
        return reply

    def stop(self) -> None:
        """End the process."""
        self.process.communicate('{"cmd": "stop"}\n')
        assert self.process.returncode == 0


def run_message(language: str, query: str, events: Sequence[Mapping[str, Any]], output: str = "matches") -> Json:
    """A message *run* without a schema."""
    tree = tree_of_text(language, query)
    return {"id": "", "language": language, "query": query, "tree": tree, "events": list(events), "output": output}


def answers(matches: Iterable[Json]) -> set[str]:
    """Matches as a set of what can be compared: all that is said of them."""
    return {json.dumps(plain(match), sort_keys=True) for match in matches}
