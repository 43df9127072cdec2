"""Saved states: the bytes of an evaluator behind a header with a checksum, which says what they are a state of.

A state is a line of JSON and, after it, the data. It is accepted only if it is, byte for byte, what `seal` writes. The
checksum finds damage; it is no signature, so whoever can write a state can write another one.
"""

from __future__ import annotations

import json
import sys
from hashlib import sha256
from typing import Any

from cerify.semantics.errors import InputError

MAGIC, VERSION = "cerify saved state", 5
EVALUATORS = {
    "readable": "'automaton'",
    "compiled": "'kernel'",
    "parallel": "'kernel' with workers",
    "definition": "'denotational'",
}
"""What a caller knows them by, which is not what their states are called."""


def seal(kind: str, query: str, data: bytes) -> bytes:
    """The state of an evaluator: what kind of evaluator, a text that is its query with all options, and its data."""
    header = {"magic": MAGIC, "version": VERSION, "evaluator": kind, "byteorder": sys.byteorder, "query": query}
    header["sha256"] = _checksum(header, data)
    return json.dumps(header).encode() + b"\n" + data


def unseal(saved: bytes, kind: str, query: str) -> bytes:
    """The data that was sealed with this kind and query. Raises InputError for anything else, with what to do."""
    if not isinstance(saved, bytes | bytearray | memoryview):
        raise InputError(f"a saved state is the bytes that `save` returned, not a {type(saved).__name__}")
    line, _, data = bytes(saved).partition(b"\n")
    if saved == seal(kind, query, data):
        return data
    try:
        header = json.loads(line)
        named = header["magic"] == MAGIC
    except (ValueError, KeyError, TypeError, RecursionError):
        named = False
    if not named:
        raise InputError(
            f"these {len(saved)} bytes are no saved state of an evaluator, are one of an earlier version, or were "
            "damaged after `save`; restore another state, or start again"
        )
    if header.get("sha256") != _checksum(header, data):
        raise InputError("the saved state is damaged: its checksum differs; restore an earlier state, or start again")
    raise InputError(_difference(header, kind))


def _difference(header: dict[str, Any], kind: str) -> str:
    """Why an undamaged state is not the one that is expected, and what to do."""
    if header.get("version") != VERSION:
        return (
            f"a state of version {header.get('version')}; this version reads {VERSION}: restore it with the release of "
            "cerify that saved it, or start again"
        )
    if header.get("byteorder") != sys.byteorder:
        return (
            f"the state was saved on a machine with {header.get('byteorder')}-endian numbers, and this one has "
            f"{sys.byteorder}-endian ones: restore it on one of the first kind, or start again"
        )
    if header.get("evaluator") != kind:
        saved = header.get("evaluator")
        found, wanted = (EVALUATORS.get(str(name), repr(name)) for name in (saved, kind))
        return f"the state is of another evaluator, {found}, not {wanted}: restore it with that one"
    return (
        "the state is of another query, other options (the number of workers is one of them), or another version of "
        "the automaton: restore it with those it was saved with, which its first line names, or start again"
    )


def _checksum(header: dict[str, Any], data: bytes) -> str:
    """SHA-256 of all of the header but the checksum, and of the data."""
    rest = json.dumps({name: value for name, value in header.items() if name != "sha256"})
    return sha256(rest.encode() + b"\n" + data).hexdigest()
