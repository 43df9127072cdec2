"""A campaign kept in a file while it runs, so that it can go on where it ended: JSON Lines, one line for each case.

The first line says which campaign it is. A case that is there twice is there once; a last line that was cut off by the
end of a process is dropped.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, cast, get_args

from cerify.equivalence.differential.campaign import Disagreement, Plan
from cerify.equivalence.differential.judge import Answer, Outcome, Output
from cerify.semantics.errors import CerifyError, InputError
from cerify.semantics.events import Match, Stream, result_of
from cerify.semantics.json_events import json_of_event, json_of_schema, parse_json, schema_of_json, stream_of_json
from cerify.semantics.output_files import lock
from cerify.semantics.values import plain

FORMAT = "cerify-campaign"


class Checkpoint:
    """The cases of a campaign that are done: those of the file, and those that are added to it."""

    def __init__(self, path: Path, plan: Plan, name: str) -> None:
        """Open a file of this campaign, or begin one; the name says what is tested.

        Raises InputError if it is of another campaign, or is none.
        """
        self.path = path
        self.plan = plan
        self.known: dict[int, tuple[Outcome, Disagreement | None]] = {}
        header = _header(plan, name)
        try:
            self._file: BinaryIO = path.open("a+b")  # a line may be cut off within a character
            lock(self._file, path)
            self._file.seek(0)
            content = self._file.read()
            whole = content[: content.rfind(b"\n") + 1]
            lines = whole.decode().split("\n")[:-1]  # not splitlines: JSON may have the other line ends inside a string
            for number, line in enumerate(lines, 1):
                self._read(line, number, header, plan)
            if not whole and not _line(header).startswith(content):  # more than a killed run leaves of its first line
                raise self._foreign()
            if whole != content:
                self._file.truncate(len(whole))
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot use {path} to resume: {error}") from None
        if not whole:
            self._write(header)

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with suppress(OSError):  # what could not be written was raised when it was added
            self._file.close()

    def add(self, index: int, outcome: Outcome, found: Disagreement | None) -> None:
        """Write what became of a case, at once."""
        self._write({"case": index, "outcome": outcome} | ({} if found is None else _json(found, self.plan)))
        self.known[index] = outcome, found

    def _write(self, obj: dict[str, Any]) -> None:
        try:
            self._file.write(_line(obj))
            self._file.flush()
        except OSError as error:
            raise InputError(f"cannot write {self.path}: {error.strerror}; resume from it once there is room") from None

    def _read(self, line: str, number: int, header: dict[str, Any], plan: Plan) -> None:
        where = f"{self.path}, line {number}"
        obj = parse_json(line, where)
        if number == 1:
            self._check_header(obj, header)
            return
        try:
            if obj["outcome"] not in get_args(Outcome):
                raise ValueError(obj["outcome"])
            found = _disagreement(obj, plan, where) if obj["outcome"] in ("disagreed", "disputed") else None
            self.known[int(obj["case"])] = obj["outcome"], found
        except (KeyError, TypeError, ValueError, CerifyError) as error:
            raise InputError(f"{where} is no case of a campaign: {error!r}") from None

    def _check_header(self, obj: Any, header: dict[str, Any]) -> None:
        if not isinstance(obj, dict) or obj.get("format") != FORMAT:
            raise self._foreign()
        for key, value in header.items():
            if obj.get(key) != value:
                raise InputError(
                    f"{self.path} is of another campaign: {key} is {obj.get(key)!r} there and {value!r} here; "
                    "ask for the same, or give a new file"
                )

    def _foreign(self) -> InputError:
        return InputError(f"{self.path} is no file of a campaign; give one that --resume made, or a new name")


def _line(obj: dict[str, Any]) -> bytes:
    """The line of an object in the file."""
    return (json.dumps(obj, ensure_ascii=False) + "\n").encode()


def _header(plan: Plan, name: str) -> dict[str, Any]:
    """What the cases and answers depend on; not how many cases there are, so that more can be asked for."""
    return {
        "format": FORMAT,
        "version": 1,
        "tested": name,
        "seed": plan.seed,
        "nodes": plan.nodes,
        "events": plan.events,
        "outputs": list(plan.outputs),
        "tries": plan.tries,
        "cases_from": f"{plan.maker.__module__}.{getattr(plan.maker, '__qualname__', repr(plan.maker))}"
        + (f", {plan.together} together" if plan.together > 1 else ""),
        "profile": hashlib.blake2b(repr(plan.profile).encode(), digest_size=8).hexdigest(),
    }


def _json(d: Disagreement, plan: Plan) -> dict[str, Any]:
    return {
        "output": d.output,
        "query": plan.language.show(d.phi),
        "schema": None if d.stream.schema is None else json_of_schema(d.stream.schema),
        "events": [json_of_event(event) for event in d.stream],
        "left": _json_answer(d.left),
        "right": _json_answer(d.right),
        "second": None if d.second is None else _json_answer(d.second),
        "found": {
            "query": plan.language.show(d.found[0]),
            "schema": None if d.found[1].schema is None else json_of_schema(d.found[1].schema),
            "events": [json_of_event(event) for event in d.found[1]],
        },
    }


def _disagreement(obj: dict[str, Any], plan: Plan, where: str) -> Disagreement:
    phi, stream = _case(obj, plan, where)
    left, right = _answer(obj["left"]), _answer(obj["right"])
    second = None if obj.get("second") is None else frozenset(map(_match, obj["second"]))
    index, output = int(obj["case"]), cast("Output", obj["output"])
    original = obj.get("found")  # files of earlier versions have none
    found = plan.case(index) if original is None else _case(original, plan, where)
    return Disagreement(index, output, found, phi, stream, left, right, obj["outcome"] == "disputed", second)


def _case(obj: dict[str, Any], plan: Plan, where: str) -> tuple[Any, Stream]:
    """The query and the stream. Raises TypeError, KeyError, InputError, ParseError."""
    if not isinstance(text := obj["query"], str):
        raise TypeError("a query is a text")
    schema = None if obj["schema"] is None else schema_of_json(obj["schema"])
    return plan.language.parse(text), stream_of_json(obj["events"], schema, where)


def _json_answer(given: Answer) -> Any:
    return given if isinstance(given, str) else [_json_match(m) for m in sorted(given)]


def _json_match(m: Match) -> list[Any]:
    """The match without the names of its parts; the last one is there only where the query makes a result."""
    return [m.at, m.events, m.bindings] + ([] if m.result is None else [plain(m.result.attributes)])


def _answer(obj: Any) -> Answer:
    if isinstance(obj, str):
        return obj
    return frozenset(map(_match, obj))


def _match(obj: Any) -> Match:
    at, events, bindings, *result = obj
    return Match(at, tuple(events), _bindings(bindings), *map(result_of, result))


def _bindings(obj: Any) -> tuple[tuple[str, tuple[int, ...]], ...] | None:
    return None if obj is None else tuple((A, tuple(positions)) for A, positions in obj)
