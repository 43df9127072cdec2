"""Carry errors from workers to the driver: serialized into the worker's exception, and read from Spark's error.

A data frame is evaluated by an action of the caller, so an error in its rows is raised by PySpark, as an exception of
its own whose message contains that of the worker. `worker_errors` around the action raises cerify's error in its place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

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

LAST_LINE = re.compile(r"[\w.]+(Error|Exception|Exit|Interrupt)\b(?!.*Traceback)")  # of a traceback of Python
BEGIN, END = "<cerify>", "</cerify>"
CLASSES = {cls.code: cls for cls in (ParseError, IllFormed, Unsupported, BudgetExceeded, InputError, InternalError)}


class WorkerError(Exception):
    """Raised on a worker in place of a CerifyError. The message contains the error as JSON, between BEGIN and END."""


@contextmanager
def serialize_error() -> Iterator[None]:
    """Return a context in which a CerifyError becomes a WorkerError, which `deserialize_error` reads on the driver."""
    try:
        yield
    except CerifyError as error:
        span = None if error.span is None else [error.span.start, error.span.end]
        fields = json.dumps({"code": error.code, "message": error.message, "span": span, "text": error.text})
        # As text, because only the message of a worker's exception reaches the driver, not the object.
        raise WorkerError(f"{error.message}\n{BEGIN}{fields}{END}") from None


def deserialize_error(error: Exception) -> Exception:
    """Return the CerifyError of a worker that this exception of PySpark contains; the exception itself if there is
    none.
    """
    _, begin, rest = str(error).partition(BEGIN)
    if not begin:
        return error
    fields = json.loads(rest.partition(END)[0])
    span = None if fields["span"] is None else Span(*fields["span"])
    found = CLASSES[fields["code"]](fields["message"], span)
    found.text = fields["text"]
    return found


def error_line(error: Exception | str) -> str:
    """Return an exception of PySpark as one line: the kind and message of cerify's error, or of the worker's exception.

    The traces of Python and Java are left out.
    """
    found = deserialize_error(error if isinstance(error, Exception) else Exception(error))
    if isinstance(found, CerifyError):
        return f"{type(found).__name__}: {' '.join(map(str.strip, found.message.splitlines()))}"
    text, _, _ = str(found).partition("\n\tat ")
    lines = [line.strip().removeprefix(": ") for line in text.splitlines() if line and not line.startswith((" ", "\t"))]
    return next(reversed([line for line in lines if LAST_LINE.match(line)]), lines[0] if lines else repr(found))


@contextmanager
def worker_errors() -> Iterator[None]:
    """Return a context, or a decorator, in which errors of workers are raised as errors of cerify.

    Put the actions on a data frame into it. PySpark's exception is replaced by the CerifyError that it contains; other
    exceptions are not changed.
    """
    try:
        yield
    except Exception as error:
        found = deserialize_error(error)
        if found is error:
            raise
        raise found from None


# ---------------------------------------------------------------------------------------------------------------------
# The names and types of the states of a key in Spark's store, and of the columns that the stateful operator yields.
#
# Spark starts a Python process for each batch to ask for the states alone; this module and processor.py import little.

HELD, KEPT = "held", "kept"
HELD_SCHEMA = "rows binary"
KEPT_SCHEMA = (
    "plan binary, first bigint, last bigint, began bigint, position bigint, run binary, ids binary, timer bigint"
)
KIND, MATCH, MESSAGE, ROW = "kind", "match", "message", "row"
