"""The header of saved states: all that differs from what was saved is refused, with what to do."""

from __future__ import annotations

import json
from random import Random

import pytest

from cerify.api import compile
from cerify.automata.evaluator import VERSION, Evaluator, _checksum, seal, unseal
from cerify.semantics.errors import InputError
from cerify.semantics.events import Event

SASE = "PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b) { a.x < b.x } RETURN a.x"
EVALUATORS = [
    ("A ; B+ WITHIN 9 EVENTS", "cel", "kernel"),
    ("A ; B+ PARTITION BY [x]", "cel", "automaton"),
    ("prior(A, B)", "event-expression", "automaton"),
    (SASE, "sase", "automaton"),
    ("A ; B", "cel", "denotational"),
]


def changed(rng: Random, data: bytes) -> bytes:
    """The bytes with one change: a bit, a byte, some bytes left out, doubled or moved."""
    at, other = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    match rng.randrange(5):
        case 0 if at < len(data):
            return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
        case 1:
            return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        case 2:
            return data[:at] + data[other:]
        case 3:
            return data[:other] + data[at:]
        case _:
            return data[other:] + data[at:other] + data[:at]


@pytest.mark.parametrize(("query", "language", "evaluator"), EVALUATORS, ids=lambda text: text)
def test_no_change_of_a_state_is_accepted(query: str, language: str, evaluator: str) -> None:
    """Without a checksum one damaged state of a hundred was restored, with other matches."""

    def made() -> Evaluator:
        return compile(query, language=language, evaluator=evaluator)

    E, rng = made(), Random(1)
    E.push([Event("A", {"x": 1}), Event("B", {"x": 2}), Event("A", {"x": 2})])
    state, fresh = E.save(), made()
    for _ in range(300):
        if (damaged := changed(rng, state)) != state:
            with pytest.raises(InputError, match=r"damaged|start again"):
                fresh.restore(damaged)
    fresh.restore(state)
    assert fresh.save() == state


def test_a_state_is_what_was_sealed() -> None:
    assert unseal(seal("kind", "query", b"a\nb"), "kind", "query") == b"a\nb"


@pytest.mark.parametrize(
    ("field", "value", "advice"),
    [
        ("version", VERSION - 1, "restore it with the release of cerify that saved it"),
        ("byteorder", "middle", "restore it on one of the first kind"),
        ("evaluator", "other", "another evaluator, 'other', not 'kind': restore it with that one"),
        ("evaluator", "compiled", "the state is of another evaluator, 'kernel'"),
        ("evaluator", ["other"], "restore it with that one"),
        ("query", "other", "restore it with those it was saved with, which its first line names"),
        ("magic", "other", "no saved state"),
        ("sha256", "other", "its checksum differs"),
        ("more", "other", "its checksum differs"),
    ],
)
def test_the_header_says_what_is_different_and_what_to_do(field: str, value: object, advice: str) -> None:
    line, data = seal("kind", "query", b"data").split(b"\n")
    header = json.loads(line) | {field: value}
    if field not in ("sha256", "more"):
        header["sha256"] = _checksum(header, data)
    with pytest.raises(InputError, match=advice):
        unseal(json.dumps(header).encode() + b"\n" + data, "kind", "query")


@pytest.mark.parametrize("line", [b"", b"[]", b"1", b'{"magic": 1}', b"[" * 100_000, b"\xff"])
def test_what_is_no_header_is_no_state(line: bytes) -> None:
    with pytest.raises(InputError, match="no saved state"):
        unseal(line + b"\ndata", "kind", "query")


def test_what_is_no_bytes_is_no_state() -> None:
    with pytest.raises(InputError, match="the bytes that `save` returned, not a NoneType"):
        compile("A ; B").restore(None)  # type: ignore[arg-type]
