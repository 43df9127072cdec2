"""The errors and warnings of cerify. An error about a query knows its place in the query's text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar, Literal

LONGEST_LINE = 400  # characters of a query's line that are shown as they are
LONGEST_MESSAGE = 4_000  # characters of a message, without the query below it
AROUND = 60  # characters of a longer line that are shown on either side of the place

Code = Literal["parse", "ill_formed", "unsupported", "budget", "input", "internal"]


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of characters of a query's text."""

    start: int
    end: int


class _Located(Exception):
    """A message about a query, with its place in the query if known."""

    text: str | None = None  # the query's text, once a caller that knows it has added it

    def __init__(self, message: str, span: Span | None = None) -> None:
        super().__init__(message)
        self.message, self.span = message, span

    def described(self) -> str:
        """Return the message; below it the place in the query's text, underlined, if both are known."""
        if self.span is None or self.text is None or not self.text.strip():
            return self.message
        return f"{self.message}\n{underline(self.text, self.span)}"


class CerifyError(_Located):
    """An error that says what is wrong, where, and what to do about it."""

    code: ClassVar[Code] = "internal"


class ParseError(CerifyError):
    """The text does not follow the grammar of the language."""

    code = "parse"


class IllFormed(CerifyError):
    """The text parses, but it breaks a rule of the language (a type error, an unknown attribute)."""

    code = "ill_formed"


class Unsupported(CerifyError):
    """The query is valid, but this evaluator does not support one of its operators."""

    code = "unsupported"


class MissingPackage(Unsupported, ImportError):
    """A package is not installed; the message names the extra of cerify that brings it."""


class BudgetExceeded(CerifyError):
    """The computation would have exceeded its budget; there is no partial result."""

    code = "budget"


class TooManyMatches(BudgetExceeded):
    """There are more matches than the budget allows."""


class InputError(CerifyError):
    """Data that cannot be read: the message names file, line and field."""

    code = "input"


class NoTruthValue(CerifyError, TypeError):
    """A value that is neither true nor false was used as a condition."""

    code = "ill_formed"


class InternalError(CerifyError):
    """A defect of cerify: one of its own checks failed. Please report it."""

    code = "internal"


class QueryWarning(_Located, UserWarning):
    """A query does not fit the events: they lack types or attributes that it names, or a comparison is never true."""

    def __str__(self) -> str:
        return self.described()


class InputWarning(UserWarning):
    """A part of a file of events was left out; the message names the file and the part."""


def shortened(message: str, most: int = LONGEST_MESSAGE) -> str:
    """Return the message; if it has more than `most` characters (a value may be very long), cut out its middle."""
    return message if len(message) <= most else f"{message[: most // 2]} … {message[-most // 2 :]}"


@contextmanager
def errors_in(text: str | None) -> Iterator[None]:
    """Return a context that attaches this query text, if known, to errors raised in it."""
    try:
        yield
    except CerifyError as error:
        error.text = error.text or text
        raise


def underline(text: str, span: Span) -> str:
    """Return the line of the text in which the span starts, with the span underlined by carets.

    If the line has more than LONGEST_LINE characters, only the part around the start of the span is shown, between "…".
    """
    start = min(max(span.start, 0), len(text))
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", start)
    line = text[line_start : line_end if line_end >= 0 else len(text)]
    offset = start - line_start
    width = max(1, min(span.end, line_start + len(line)) - start)
    if len(line) > LONGEST_LINE:
        first, last = max(0, offset - AROUND), offset + AROUND
        before, after = "…" * (first > 0), "…" * (last < len(line))
        line, offset = before + line[first:last] + after, offset - first + len(before)
        width = min(width, len(line) - offset)
    margin = "".join("\t" if c == "\t" else " " for c in line[:offset])
    return f"{line}\n{margin}{'^' * width}"
