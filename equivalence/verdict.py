"""The answers of the deciders: each is a value with its evidence, none is a Boolean."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeAlias

from cerify.semantics.arguments import check_time
from cerify.semantics.errors import CerifyError, InputError, NoTruthValue, Unsupported
from cerify.semantics.events import TIME, Match, Schema, Stream
from cerify.semantics.json_events import JsonSchema, parse_json, schema_of_json
from cerify.semantics.values import ValueType


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


# ---------------------------------------------------------------------------------------------------------------------
# What is claimed of two queries, and by what they are compared.

Claim = Literal["equivalent", "contained"]
"""That both have the same at every position of every stream, or that the right has whatever the left has."""

Level = Literal["events", "valuations"]
"""What two queries are compared by: the complex events that they have at each position, or the valuations."""


# ---------------------------------------------------------------------------------------------------------------------
# A certificate of equivalence or containment: the relation that a search found, as a value and as JSON.
#
# It names the two queries, how they are compared, and pairs of sets of states of their automata. Whether the pairs
# prove the claim is decided by checker.py, or expression_checker.py, which share nothing with the search.

Language = Literal["cel", "event-expression", "row-pattern"]
States = tuple[int, ...]
Letter: TypeAlias = frozenset[tuple[int, bool]]
"""What is known of a row: the number of a condition, and whether it is true there; a NULL is not."""
Word: TypeAlias = tuple[Letter, ...]


@dataclass(frozen=True)
class Fact:
    """No partition has consecutive rows of which this is known; first, last: as its first, its last rows."""

    rows: Word
    first: bool = False
    last: bool = False

    def to_json(self) -> dict[str, Any]:
        """The fact as JSON: of each row the numbers of conditions that are true, and of those that are not."""
        letters = [
            {str(v).lower(): sorted(i for i, true in letter if true is v) for v in (True, False)}
            for letter in self.rows
        ]
        return {"first": self.first, "last": self.last, "rows": letters}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Fact:
        """The fact that an object as of to_json holds."""
        letters = (frozenset((int(i), v) for v in (True, False) for i in row[str(v).lower()]) for row in data["rows"])
        return cls(tuple(letters), data["first"], data["last"])


@dataclass(frozen=True)
class Certificate:
    """Pairs of sets of states that accept the same: of the left automaton from 0 on, of the right one after these.

    Of event expressions the automata are deterministic: a pair is of one state of each, and both count from 0. solver
    says whether the types of events were listed with the solver's help: the states depend on that. Of clauses of
    MATCH_RECOGNIZE there are facts about their conditions and no pairs: whoever checks them follows both patterns.
    """

    claim: Claim
    left: str
    right: str
    level: Level
    schema: Schema | None
    solver: bool
    relation: tuple[tuple[States, States], ...]
    language: Language = "cel"
    facts: tuple[Fact, ...] | None = None

    def require_language(self, name: str) -> None:
        """Raises Unsupported if the queries are of another language, whose automata are built in another way."""
        if self.language != name:
            raise Unsupported(f"a certificate of {self.language} queries cannot be checked as one of {name} queries")

    def require_typed(self, parse: Callable[[str], Any], require_typed: Callable[[Any, Schema], None]) -> None:
        """Raises ParseError, or IllFormed, for a query that does not fit the schema; the message names its field.

        Raises BudgetExceeded.
        """
        for field, text in (("left", self.left), ("right", self.right)):
            check_time()
            try:
                query = parse(text)
                if self.schema is not None:
                    require_typed(query, self.schema)
            except CerifyError as error:
                at = "" if error.span is None else f", character {error.span.start}"
                error.message = f"field {field}{at}: {error.message}"
                raise

    def to_json(self) -> str:
        """The certificate as a JSON object."""
        schema = None if self.schema is None else {R: dict(types) for R, types in self.schema.types.items()}
        stated = {
            "claim": self.claim,
            "language": self.language,
            "left": self.left,
            "right": self.right,
            "level": self.level,
        }
        found: dict[str, Any] = {"schema": schema, "solver": self.solver, "relation": self.relation}
        if self.facts is not None:
            found["facts"] = [fact.to_json() for fact in self.facts]
        return json.dumps({"format": "cerify-certificate", "version": 1, **stated, **found}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str, where: str = "the certificate") -> Certificate:
        """The certificate that a text holds. Raises InputError, which names the field that is wrong."""
        data: dict[str, Any] = parse_json(text, where)
        if (problem := _schema().problem(data)) is not None:
            field = "/".join(map(str, problem.path))
            raise InputError(f"{where}{f', field {field}' if field else ''}: {problem.message}")
        # In JSON Schema 1.0 is an integer too.
        relation = tuple((tuple(map(int, x)), tuple(map(int, y))) for x, y in data["relation"])
        schema = None if data["schema"] is None else schema_of_json(data["schema"])
        return cls(
            data["claim"],
            data["left"],
            data["right"],
            data["level"],
            schema,
            data["solver"],
            relation,
            data["language"],
            tuple(map(Fact.from_json, data["facts"])) if "facts" in data else None,
        )


@cache
def _schema() -> JsonSchema:
    path = Path(__file__).parent / "decide" / "schemas" / "certificate.json"
    return JsonSchema(json.loads(path.read_text(encoding="utf-8")))
