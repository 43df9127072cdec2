"""Readings, which answer what the source of a language leaves open: a field for each question, decided by default."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any, TypeVar, get_args, get_type_hints

from cerify.semantics.errors import InputError

R = TypeVar("R")


def choices(kind: type) -> dict[str, tuple[str, ...]]:
    """The answers to each question; the decided one comes first."""
    kinds = get_type_hints(kind)
    return {one.name: get_args(kinds[one.name]) for one in fields(kind)}


def others(decided: Any) -> dict[tuple[str, str], Any]:
    """The readings that differ from the decided one in one answer, by the question and that answer."""
    return {
        (name, answer): replace(decided, **{name: answer})
        for name, answers in choices(type(decided)).items()
        for answer in answers
        if answer != getattr(decided, name)
    }


def read(kind: type[R], given: Iterable[str]) -> R:
    """The reading of texts as window=closed; other questions have the decided answer. Raises InputError."""
    known, chosen = choices(kind), {}
    for text in given:
        name, _, value = text.partition("=")
        if name not in known:
            raise InputError(f"there is no question {name!r} of a reading; there are {', '.join(known)}")
        if value not in known[name]:
            raise InputError(f"the reading {name} is {' or '.join(known[name])}, not {value!r}")
        chosen[name] = value
    return kind(**chosen)
