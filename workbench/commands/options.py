"""Options of commands as the fields of a dataclass: the name, the type and the help of an option are in one place."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import field, fields
from functools import partial, wraps
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from cerify.automata.evaluator import Consumption
from cerify.equivalence.claim import Level
from cerify.languages import DEFAULT, LANGUAGES, meant_language
from cerify.semantics.arguments import MOST, did_you_mean, short_repr
from cerify.semantics.errors import CerifyError
from cerify.semantics.selection import Selection

T = TypeVar("T")


class Choice(click.Choice):  # type: ignore[type-arg]
    """One of some names; for another one, the name that is most like it is in the message."""

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return f"It is one of {', '.join(map(repr, self.choices))}"

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        message = super().get_invalid_choice_message(value, ctx).removesuffix(".")
        return message + did_you_mean(str(value), self.choices)


class AtLeast(click.IntRange):
    """A whole number from this one on, and no larger than an argument of a function may be."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if number > MOST:
            self.fail(f"{short_repr(number)} is more than 10**18", param, ctx)
        return number


SELECTIONS = Choice([one.value for one in Selection])
CONSUMPTIONS = Choice([one.value for one in Consumption])
LEVELS = Choice(get_args(Level))
FILE = click.Path(path_type=Path)


class EventsPath(click.Path):
    """A file of events, which their reader checks; one that stands before the query is found out here."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        query = "" if ctx is None else str(ctx.params.get("query"))
        if value != "-" and not os.path.exists(value) and os.path.isfile(query):  # False for a bad name
            self.fail(f"{query!r} is a file: it comes after the query", param, ctx)
        return super().convert(value, param, ctx)


EVENTS = EventsPath(allow_dash=True, readable=False)


class OutputPath(click.Path):
    """A file, or a folder, to be written: that it can be is found out before any work begins."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(str(super().convert(value, param, ctx)))
        existing = next(one for one in (path, *path.absolute().parents) if os.path.exists(one))  # False for a bad name
        if existing != path and self.file_okay and existing != path.absolute().parent:
            self.fail(f"the folder {path.parent} does not exist", param, ctx)
        if existing != path and not existing.is_dir():
            self.fail(f"{existing} is no folder", param, ctx)
        if not os.access(existing, os.W_OK):
            self.fail(f"{existing} cannot be written to", param, ctx)
        return path


OUTPUT = OutputPath(dir_okay=False, path_type=Path)
OUTPUT_FOLDER = OutputPath(file_okay=False, path_type=Path)
PARAMETERS, GROUP = "parameters", "group"  # keys of a field's metadata


class LanguageChoice(Choice):
    """The names of the languages, also of those that are registered after the command is imported."""

    def __init__(self) -> None:
        super().__init__(())

    @property
    def choices(self) -> tuple[str, ...]:
        return tuple(LANGUAGES)

    @choices.setter
    def choices(self, _: object) -> None:
        """Nothing: they are always the registry's."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """The message, in which a language is meant by its title too."""
        return click.Choice.get_invalid_choice_message(self, value, ctx).removesuffix(".") + meant_language(str(value))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The name of a language; installed packages are searched for others only where it is not a built-in one."""
        return value if value in LANGUAGES else super().convert(value, param, ctx)


language_option = click.option("--language", type=LanguageChoice(), default=DEFAULT, show_default=True)


def completes(names: Callable[[click.Context], Iterable[str]]) -> Callable[..., list[str]]:
    """What completes a parameter in a shell: those of the names that begin as its value does; none where they fail."""

    def complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
        with suppress(CerifyError):
            return [name for name in names(ctx) if name.startswith(incomplete)]
        return []

    return complete


def argument(**attributes: Any) -> Any:
    """A field that is a positional argument; the attributes are those of click.argument."""
    return field(metadata={PARAMETERS: (partial(click.argument, **attributes),)})


def option(*flags: str, **attributes: Any) -> Any:
    """A field that is an option with these flags; the attributes are those of click.option. A default is shown."""
    shown = {"show_default": True, **attributes} if "default" in attributes else attributes
    return field(metadata={PARAMETERS: (lambda name: click.option(*flags, name, **shown),)})


def language() -> Any:
    """A field that is the option --language."""
    return option("--language", type=LanguageChoice(), default=DEFAULT)


def either(*options: Any) -> Any:
    """A field that several options set."""
    return field(metadata={PARAMETERS: tuple(make for one in options for make in one.metadata[PARAMETERS])})


def group(kind: type[Any]) -> Any:
    """A field whose value is a dataclass of options."""
    return field(metadata={GROUP: kind})


def takes(kind: type[T]) -> Callable[[Callable[[T], Any]], Callable[..., Any]]:
    """A decorator that gives a command the parameters that the fields of a dataclass are, as one instance of it."""

    def decorator(command: Callable[[T], Any]) -> Callable[..., Any]:
        @wraps(command)
        def wrapped(**values: Any) -> Any:
            return command(_made(kind, values))

        for parameter in reversed(list(_parameters(kind))):
            wrapped = parameter(wrapped)
        return wrapped

    return decorator


def _parameters(kind: type[Any]) -> Iterator[Callable[[Any], Any]]:
    for one in fields(kind):
        if GROUP in one.metadata:
            yield from _parameters(one.metadata[GROUP])
        else:
            yield from (make(one.name) for make in one.metadata[PARAMETERS])


def _made(kind: type[T], values: dict[str, Any]) -> T:
    found = {
        one.name: _made(one.metadata[GROUP], values) if GROUP in one.metadata else values[one.name]
        for one in fields(kind)  # type: ignore[arg-type]
    }
    return kind(**found)
