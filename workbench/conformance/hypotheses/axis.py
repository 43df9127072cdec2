"""Axes: the independent questions on which engines differ, each with its possible answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from cerify.semantics.errors import InputError

Choices: TypeAlias = Mapping[str, str]
"""The value of each axis of a language by the axis's name."""

AT_MOST = {f"at-most-{n}": n for n in range(2, 8)}
"""Values of the axis of an iteration: the most rounds."""

AT_MOST_SAYS = {name: f"at most {n}" for name, n in AT_MOST.items()}
"""What these values mean."""


@dataclass(frozen=True)
class Axis:
    """One question with its possible answers, the values; default is the answer of the definition.

    A name as seq@cseq is the axis seq for the operator cseq; a hypothesis that names seq alone means each axis seq@...
    that has the value and that it does not name, unless seq is an axis itself. operators: the names of the operators
    on which the axis bears, as in the table of operators of the language; empty if it bears on every query.
    says: what the values mean, in a sentence with a part for each value, in their order: "subject: one; another".
    """

    name: str
    values: tuple[str, ...]
    operators: tuple[str, ...] = ()
    says: str = ""

    @property
    def default(self) -> str:
        """The value at which the meaning is that of the definition."""
        return self.values[0]

    @property
    def subject(self) -> str:
        """What the values are about; "" if the meaning of the first value names it."""
        first, _, _ = self.says.partition("; ")
        return first.rpartition(": ")[0]

    @property
    def meanings(self) -> Mapping[str, str]:
        """What each value means; empty for an axis whose sentence does not tell."""
        parts = self.says.removeprefix(f"{self.subject}: ").split("; ")
        return dict(zip(self.values, parts, strict=True)) if len(parts) == len(self.values) else {}

    @property
    def base(self) -> str:
        """The name without the operator."""
        return self.name.partition("@")[0]


def axes(*given: Axis) -> Mapping[str, Axis]:
    """The axes by name."""
    return {axis.name: axis for axis in given}


def sentence(subject: str, values: Iterable[str], meanings: Mapping[str, str]) -> str:
    """What these values of an axis mean, as a sentence."""
    return f"{subject}: {'; '.join(meanings[value] for value in values)}"


def choices_of(hypothesis: Mapping[str, str], of: Mapping[str, Axis]) -> Choices:
    """The value of every axis. Raises InputError for an axis or a value that does not exist."""
    for name, value in hypothesis.items():
        concerned_axes = [axis for axis in of.values() if name in (axis.name, axis.base)]
        if not concerned_axes:
            raise InputError(f"there is no axis {name!r}; there are {', '.join(of)}")
        if not any(allows(axis, value) for axis in concerned_axes):
            values = dict.fromkeys(v for axis in concerned_axes for v in axis.values)
            raise InputError(f"the axis {name} has the values {', '.join(values)}, not {value!r}")
    return {name: _value(axis, hypothesis, of) for name, axis in of.items()}


def _value(axis: Axis, hypothesis: Mapping[str, str], of: Mapping[str, Axis]) -> str:
    if axis.name in hypothesis:
        return hypothesis[axis.name]
    general = hypothesis.get(axis.base) if axis.base not in of else None
    return general if general is not None and allows(axis, general) else axis.default


def allows(axis: Axis, value: str) -> bool:
    """Whether the axis has the value; the axis window-default has every width in seconds."""
    return value in axis.values or (axis.name == "window-default" and value.isdigit())


def concerned(of: Mapping[str, Axis], operators: Iterable[str]) -> list[Axis]:
    """The axes that bear on a query with these operators."""
    present = set(operators)
    return [axis for axis in of.values() if not axis.operators or not present.isdisjoint(axis.operators)]


def read_hypothesis(texts: Iterable[str], of: Mapping[str, Axis]) -> dict[str, str]:
    """The hypothesis of texts as seq=strict. Raises InputError for another axis or value."""
    hypothesis: dict[str, str] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator:
            raise InputError(f"{text!r} is no AXIS=VALUE, for instance {next(iter(of.values())).name}=…")
        hypothesis[name.strip()] = value.strip()
    choices_of(hypothesis, of)
    return hypothesis


class EngineError(Exception):
    """The engine that is modelled answers with an error."""
