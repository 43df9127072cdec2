"""What commands write: characters that could steer a terminal are written as escapes, wherever they come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

LAYOUT = "\n\t"  # all that a text itself may have of characters that are not printable


def printable(text: str) -> str:
    r"""The text on one line, with every character that is not printable escaped as Python does: \x1b, \n, \u202e.

    For a value from outside (a query of a file, a name of an engine, a value of an event) inside a line of ours, so
    that it can neither begin a line of its own nor steer the terminal.
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shielded(text: str) -> str:
    r"""The text with every character escaped that is not printable, but newlines and tabs.

    Escapes are those of JSON, \u001b, so that JSON stays JSON and means the same.
    """
    if all(line.isprintable() for line in text.split("\n")):
        return text
    return "".join(c if c.isprintable() or c in LAYOUT else _json_escape(c) for c in text)


def echo(text: str, *, colour: str = "", error: bool = False, newline: bool = True) -> None:
    """Write a text to standard output, or to standard error; with a colour, it is that of the text up to a colon."""
    text = shielded(text)
    if colour:
        label, colon, rest = text.partition(":")
        text = click.style(label, fg=colour, bold=True) + colon + rest
    click.echo(text, err=error, nl=newline)


def picked(source: object, *names: str) -> dict[str, Any]:
    """The attributes of these names, or the fields of a mapping, as a part of a JSON object."""
    return {name: source[name] if isinstance(source, Mapping) else getattr(source, name) for name in names}


def _json_escape(c: str) -> str:
    data = c.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{data[i : i + 2].hex()}" for i in range(0, len(data), 2))
