"""Errors of workers, told to the caller as what they are.

A worker writes the error as JSON into the message of what it raises. PySpark hands every error of the JVM that it is
about to raise to `recover_python_exception`, which here looks for that JSON first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.errors.exceptions import captured

from cerify.semantics.errors import (
    BudgetExceeded,
    CerifyError,
    IllFormed,
    InputError,
    InternalError,
    ParseError,
    Span,
    Unsupported,
)

SEAM = "recover_python_exception"  # what PySpark hands each error to
BEGIN, END = "<cerify>", "</cerify>"
KINDS = {kind.code: kind for kind in (ParseError, IllFormed, Unsupported, BudgetExceeded, InputError, InternalError)}


class WorkerError(Exception):
    """An error of ours, written down."""


@contextmanager
def told() -> Iterator[None]:
    """On a worker: errors raised inside can be read by the caller."""
    try:
        yield
    except CerifyError as error:
        span = None if error.span is None else [error.span.start, error.span.end]
        said = json.dumps({"code": error.code, "message": error.message, "span": span, "text": error.text})
        raise WorkerError(f"{error.message}\n{BEGIN}{said}{END}") from None


def heard(error: Exception) -> Exception:
    """The error that a worker has written into another; the other itself if there is none."""
    _, begin, rest = str(error).partition(BEGIN)
    if not begin:
        return error
    said = json.loads(rest.partition(END)[0])
    found = KINDS[said["code"]](said["message"], None if said["span"] is None else Span(*said["span"]))
    found.text = said["text"]
    return found


def listen() -> None:
    """From now on what PySpark raises is one of our errors where a worker has told of one."""
    plain: Callable[[Exception], Exception] = getattr(captured, SEAM)
    if not getattr(plain, "listens", False):

        def recovered(error: Exception) -> Exception:
            found = heard(error)
            return found if isinstance(found, CerifyError) else plain(error)

        recovered.listens = True  # type: ignore[attr-defined]
        setattr(captured, SEAM, recovered)
