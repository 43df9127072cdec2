"""The answers of the deciders: each is a value with its evidence, none is a Boolean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from cerify.semantics.errors import NoTruthValue
from cerify.semantics.events import TIME, Match, Schema, Stream
from cerify.semantics.values import ValueType

if TYPE_CHECKING:
    from cerify.equivalence.decide.certificate import Certificate


class Answer:
    """A verdict, one of several classes; as a condition, or compared with a Boolean, it raises NoTruthValue."""

    def __bool__(self) -> NoReturn:
        raise NoTruthValue(
            f"a verdict is not a Boolean, and this one is {type(self).__name__}: "
            "write isinstance(verdict, Equivalent), Contained for contained(), or match verdict"
        )

    def __eq__(self, other: object) -> bool:
        return bool(self) if isinstance(other, bool) else type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))


@dataclass(frozen=True, eq=False)
class Equivalent(Answer):
    """Both have the same at every position of every stream; the certificate can be checked apart from the search.

    Of two event expressions, states are the numbers of states of their minimal automata, over one alphabet.
    """

    certificate: Certificate
    states: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False)
class Contained(Answer):
    """Whatever the left has at a position of a stream, the right has too; states as in Equivalent."""

    certificate: Certificate
    states: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False)
class Different(Answer):
    """A stream on which they differ, as the denotational interpreters compute.

    at is the position, the stream's last, and the matches are those there that only one of the two has. No shorter
    stream separates the two if shortest is true.
    """

    stream: Stream
    at: int
    left_only: tuple[Match, ...]
    right_only: tuple[Match, ...]
    shortest: bool


@dataclass(frozen=True, eq=False)
class Bounded(Answer):
    """No difference on any stream of at most this length and of this schema. This is no proof: longer ones may differ.

    length is counted in events.
    """

    length: int
    schema: Schema

    @property
    def time(self) -> ValueType:
        """The type of the events' times: a timestamp, where the schema does not say another."""
        return self.schema.attributes.get(TIME, "timestamp")


@dataclass(frozen=True, eq=False)
class Undecided(Answer):
    """No answer, and why."""

    reason: str


Verdict: TypeAlias = Equivalent | Contained | Bounded | Different | Undecided
