"""What a decider answers: never a bare bool, always something that can be looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from cerify.semantics.events import Match, Schema, Stream

if TYPE_CHECKING:
    from cerify.equivalence.decide.certificate import Certificate

Level = Literal["events", "valuations"]
"""What two formulas are compared by: the complex events they have at each position, or the valuations."""


@dataclass(frozen=True)
class Equivalent:
    """Both have the same at every position of every stream; the certificate can be checked apart from the search."""

    certificate: Certificate


@dataclass(frozen=True)
class Contained:
    """Whatever the left has at a position of a stream, the right has too."""

    certificate: Certificate


@dataclass(frozen=True)
class Different:
    """A stream on which they differ, as the denotational interpreters say.

    at is the position, the stream's last, and the matches are those there that only one of the two has. No shorter
    stream separates the two if shortest is true.
    """

    stream: Stream
    at: int
    left_only: tuple[Match, ...]
    right_only: tuple[Match, ...]
    shortest: bool


@dataclass(frozen=True)
class Bounded:
    """No difference on any stream of at most this length and of this schema; longer ones were not looked at."""

    length: int
    schema: Schema


@dataclass(frozen=True)
class Undecided:
    """No answer, and why."""

    reason: str


Verdict: TypeAlias = Equivalent | Contained | Bounded | Different | Undecided
