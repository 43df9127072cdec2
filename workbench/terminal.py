"""Output of commands to the terminal. Characters that could steer a terminal are written as escapes.

All output goes through `echo`, which escapes them, because texts of queries and files of events come from other people.
`prepare_streams` first makes the standard streams usable whatever they are: files, pipes, terminals or closed. Tables
and a console for long output come last.
"""

from __future__ import annotations

import codecs
import io
import os
import shutil
import signal
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from cerify.semantics.packages import naming_extras

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType

WIDEST = 100_000  # the width of a line in a pipe, where lines need not be wrapped
JSON_ESCAPES = "cerify.json_escapes"  # the error handler that writes characters which an encoding lacks as JSON escapes
LAYOUT = "\n\t"  # the characters that are not printable but need no escape


class _Unfailing(io.FileIO):
    """A raw stream for standard error. If a write fails, as on a full disk, the text is lost without an error."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data) or len(data)
        except OSError:
            return len(data)


def prepare_streams() -> None:
    """Prepare the standard streams, so that commands need not know whether they are files, pipes or terminals.

    A closed stream is replaced by the null device, opened for reading. Closed standard input is then empty. Writing an
    answer to closed standard output raises OSError, because an exit status without its answer could be misread. Text
    for closed standard error is lost, as after every other error of writing to it; the exit status still has the
    answer. A character that the encoding of standard output lacks is written as a JSON escape, as in `shielded`.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            number = os.open(os.devnull, os.O_RDONLY)  # the stream's own number, since it is the first free one
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=JSON_ESCAPES)
    buffer = getattr(sys.stderr, "buffer", None)
    if isinstance(getattr(buffer, "raw", buffer), io.FileIO):  # excludes the console of Windows and objects of tests
        writer = io.BufferedWriter(_Unfailing(sys.stderr.fileno(), "w", closefd=False))
        sys.stderr = io.TextIOWrapper(writer, sys.stderr.encoding, "backslashreplace", line_buffering=True)


def printable(text: str) -> str:
    r"""Return the text on one line, with characters that are not printable as Python's escapes: \x1b, \n, \u202e.

    Use it for a value from outside (a query of a file, the name of an engine, a value of an event) in a line of a
    message. The value can then neither begin a new line nor steer the terminal.
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shielded(text: str) -> str:
    r"""Return a text with JSON escapes, such as \u001b, for all characters that are not printable.

    Newlines and tabs stay. A text in JSON stays JSON with the same meaning.
    """
    if all(line.isprintable() for line in text.split("\n")):
        return text
    return "".join(c if c.isprintable() or c in LAYOUT else _json_escape(c) for c in text)


def echo(text: str, *, colour: str = "", error: bool = False, newline: bool = True) -> None:
    """Write a text to standard output, or with `error` to standard error. The colour applies up to the first colon."""
    text = shielded(text)
    if colour:
        label, colon, rest = text.partition(":")
        text = click.style(label, fg=colour, bold=True) + colon + rest
    click.echo(text, err=error, nl=newline, color=in_colour(error))


def echo_error(message: str) -> None:
    """Write an error message to standard error. On a terminal, the program's name and carets are red."""
    name, *lines = "cerify:", *shielded(message).split("\n")
    lines = [click.style(line, fg="red", bold=True) if line.strip(" \t^") == "" else line for line in lines]
    text = "\n".join(lines)
    click.echo(f"{click.style(name, fg='red', bold=True)} {text}", err=True, color=in_colour(error=True))


def picked(source: object, *names: str) -> dict[str, Any]:
    """Return the values of these attributes, or of these keys of a mapping, as a dict."""
    return {name: source[name] if isinstance(source, Mapping) else getattr(source, name) for name in names}


def _json_escape(c: str) -> str:
    data = c.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{data[i : i + 2].hex()}" for i in range(0, len(data), 2))


def _escaped(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return _json_escape(error.object[error.start : error.end]), error.end


codecs.register_error(JSON_ESCAPES, _escaped)


def ending_signals() -> list[signal.Signals]:
    """Return the signals that ask a command to end: SIGTERM, and SIGHUP, which a closed terminal sends.

    SIGHUP is left out if it does not exist, or is ignored, as under nohup.
    """
    hangup = getattr(signal, "SIGHUP", None)
    return [signal.SIGTERM, *([hangup] if hangup and signal.getsignal(hangup) != signal.SIG_IGN else [])]


# --- lines in colour, and tables --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """A line of parts, each with its style ("", or words such as "bold cyan"), that begins with `first`.

    If the line is wrapped, each further line begins with `rest`.
    """

    parts: Sequence[tuple[str, str]] = ()
    first: str = ""
    rest: str = ""

    @property
    def text(self) -> str:
        """Return the line without styles, not wrapped."""
        return self.first + "".join(text for text, _ in self.parts)


def lines_of(text: str, style: str = "") -> list[Line]:
    """Return the lines of a text, all in one style."""
    return [Line([(line, style)]) for line in text.split("\n")]


def on_terminal(error: bool = False) -> bool:
    """Return whether standard output, or with `error` standard error, is a terminal, or FORCE_COLOR is set."""
    return (sys.stderr if error else sys.stdout).isatty() or bool(os.environ.get("FORCE_COLOR"))


def in_colour(error: bool = False) -> bool:
    """Return whether output is in colour: if `on_terminal`, unless the variable NO_COLOR is set."""
    return on_terminal(error) and not os.environ.get("NO_COLOR")


def screen_width() -> int:
    """Return the width of the terminal in columns; WIDEST if standard output is not a terminal."""
    return shutil.get_terminal_size().columns if on_terminal() else WIDEST


def echo_line(text: str = "", style: str = "") -> None:
    """Write a text to standard output as one line, which is not wrapped, with escapes for newlines."""
    # The text may have words from outside, such as a query or the name of an engine.
    click.echo(_styled(printable(text), style), color=in_colour())


def echo_lines(lines: Iterable[Line]) -> None:
    """Write lines to standard output; on a terminal, wrapped to its width and in colour."""
    for line in styled_lines(lines, screen_width()):
        click.echo(line, color=in_colour())


def styled_lines(lines: Iterable[Line], width: int) -> Iterator[str]:
    """Yield the lines with codes for their styles, wrapped at spaces to at most this width."""
    for line in lines:
        for parts in _wrapped(line, width):
            yield "".join(_styled(shielded(text), style) for text, style in parts)


def table_lines(headings: Sequence[str], rows: Sequence[Sequence[str]], numbers: Collection[int] = (0,)) -> list[Line]:
    """Return a table as lines. Cells may have several lines, and are wrapped if the table is wider than the terminal.

    numbers: the indices of the columns that are aligned on the right.
    """
    cells = [[cell.split("\n") for cell in row] for row in rows]
    widths = [
        max(map(len, [heading, *(line for row in cells for line in row[i])])) for i, heading in enumerate(headings)
    ]
    room = screen_width() - 3 * len(widths)
    # The widest column gives way, so that narrow ones stay on one line; below 8 characters no column can be read.
    while sum(widths) > room and max(widths) > 8:
        widths[widths.index(max(widths))] -= 1
    found = [Line(), Line([(_row(headings, widths, numbers), "bold")])]
    found.append(Line([(" " + "─" * (sum(widths) + 3 * len(widths) - 1) + " ", "")]))
    for row in cells:
        folded = [
            [part for line in cell for part in wrap(line, width) or [""]]
            for cell, width in zip(row, widths, strict=True)
        ]
        for i in range(max(map(len, folded))):
            found += lines_of(_row([cell[i] if i < len(cell) else "" for cell in folded], widths, numbers))
    return [*found, Line()]


def _row(cells: Sequence[str], widths: Sequence[int], numbers: Collection[int]) -> str:
    pads = [str.rjust if i in numbers else str.ljust for i in range(len(cells))]
    return "  " + "   ".join(pad(cell, width) for pad, cell, width in zip(pads, cells, widths, strict=True)) + "  "


def _wrapped(line: Line, width: int) -> Iterator[list[tuple[str, str]]]:
    """Yield a line as wrapped lines of at most this width, broken at spaces; each is a list of (text, style)."""
    if len(line.text) <= width:
        yield [(line.first, ""), *line.parts]
        return
    parts, used = [(line.first, "")], len(line.first)
    for text, style in line.parts:
        for i, word in enumerate(text.split(" ")):
            spaced = " " * (i > 0) + word
            if used + len(spaced) > width and used > len(line.rest):
                yield parts
                parts, used, spaced = [(line.rest, "")], len(line.rest), word
            parts.append((spaced, style))
            used += len(spaced)
    yield parts


def _styled(text: str, style: str) -> str:
    words = style.split()
    colour = next((word for word in words if word not in ("bold", "dim")), None)
    return click.style(text, fg=colour, bold="bold" in words or None, dim="dim" in words or None) if words else text


# ---------------------------------------------------------------------------------------------------------------------
# The console of progress bars, which are all that rich draws.


def screen(**options: Any) -> Console:
    """Return a console that prints text as it is: without markup, emoji codes, or characters that steer a terminal.

    options: the arguments of rich's Console. Raises MissingPackage.
    """
    with naming_extras():  # imported here because the help of commands works without rich
        from rich.console import Console
        from rich.segment import Segment

    class Screen(Console):
        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
            """Yield the segments of rich, with the text of each shielded, except rich's own control codes."""
            for segment in super().render(renderable, options):
                yield segment if segment.control else Segment(shielded(segment.text), segment.style)

    return Screen(markup=False, emoji=False, highlight=False, **options)
