"""The answers of the deciders: values with their evidence instead of Booleans.

With a Boolean, "no" and "not decided" would look alike, and nobody could see for which streams an answer holds. So each
kind of answer is a class, and none can be used as a condition. An answer carries what others need to check it without
the search: a stream on which the queries differ, or a certificate.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeAlias

from cerify.semantics.arguments import check_time
from cerify.semantics.errors import CerifyError, InputError, NoTruthValue, Unsupported
from cerify.semantics.events import TIME, Match, Order, Schema, Stream
from cerify.semantics.json_events import JsonSchema, parse_json, schema_of_json
from cerify.semantics.values import ValueType


class Answer:
    """The base class of verdicts, which raise NoTruthValue as conditions or when compared with a Boolean."""

    def __bool__(self) -> NoReturn:
        raise NoTruthValue(
            f"a verdict is not a Boolean, and this one is {type(self).__name__}: write "
            "isinstance(verdict, Equivalent) (for contained(): Contained), or a `match` statement"
        )

    def __eq__(self, other: object) -> bool:
        # `bool` raises on purpose: otherwise `verdict == True` would be False without a word.
        return bool(self) if isinstance(other, bool) else type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))


@dataclass(frozen=True, eq=False)
class Equivalent(Answer):
    """Both queries have the same matches at every position of every stream; the certificate can be checked without the
    search.

    states: for two event expressions, how many states each of their minimal automata has, over one alphabet.
    """

    certificate: Certificate
    states: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False)
class Contained(Answer):
    """At every position of every stream, the right query has all matches of the left. states: see Equivalent."""

    certificate: Certificate
    states: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False)
class Different(Answer):
    """The verdict that two queries differ, with a stream that shows it. The reference evaluators of their languages
    confirm it.

    at: the last position of the stream. left_only, right_only: the matches at this position that only the left, or only
    the right query has. shortest: whether no shorter stream separates the queries.
    """

    stream: Stream
    at: int
    left_only: tuple[Match, ...]
    right_only: tuple[Match, ...]
    shortest: bool


@dataclass(frozen=True, eq=False)
class Bounded(Answer):
    """The answer that no stream of at most this length and of this schema shows a difference.

    It does not prove equivalence: longer streams may show a difference. length is counted in events. reason: why the
    question is not decided.
    """

    length: int
    schema: Schema
    reason: str = field(default="", compare=False)

    @property
    def time(self) -> ValueType:
        """Return the type of the events' times: a timestamp unless the schema names another."""
        return self.schema.attributes.get(TIME, "timestamp")


@dataclass(frozen=True, eq=False)
class Undecided(Answer):
    """No answer, with the reason."""

    reason: str


Verdict: TypeAlias = Equivalent | Contained | Bounded | Different | Undecided


# ---------------------------------------------------------------------------------------------------------------------
# What is claimed of two queries, and by what they are compared.

__all__ = ["Claim", "Level", "Order"]

Claim = Literal["equivalent", "contained"]
"""The claim to decide: both queries have the same matches at every position of every stream, or the right query has all
matches of the left one.
"""

Level = Literal["events", "valuations", "positions"]
"""What is compared at each position: the complex events of the queries, their valuations, or whether there is a match.

Only languages whose rules fire are compared by `positions`.
"""


# ---------------------------------------------------------------------------------------------------------------------
# A certificate of equivalence or containment: the relation that a search found, as a value and as JSON.
#
# It names the two queries, how they are compared, and pairs of sets of states of their automata. Whether the pairs
# prove the claim is decided by the checkers of decide/, which share nothing with the search.

Language = Literal["cel", "event-expression", "row-pattern", "eql", "sigma"]
States = tuple[int, ...]
Nested: TypeAlias = tuple[Any, ...]
"""Tuples of tuples of numbers."""
DEEPEST = 100
Letter: TypeAlias = frozenset[tuple[int, bool]]
"""The known facts about a row: pairs of a condition's number and whether it is true there. NULL is not true."""
Word: TypeAlias = tuple[Letter, ...]


@dataclass(frozen=True)
class Fact:
    """A proved fact about conditions of MATCH_RECOGNIZE: no partition has consecutive rows with these results.

    rows: for each row the results of some conditions. first, last: whether the fact is only about the first rows, or
    the last rows, of a partition.
    """

    rows: Word
    first: bool = False
    last: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the fact as JSON: for each row, the indices of its true conditions and of its false conditions."""
        letters = [
            {str(v).lower(): sorted(i for i, true in letter if true is v) for v in (True, False)}
            for letter in self.rows
        ]
        return {"first": self.first, "last": self.last, "rows": letters}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Fact:
        """Return the fact from the object that to_json makes."""
        letters = (frozenset((int(i), v) for v in (True, False) for i in row[str(v).lower()]) for row in data["rows"])
        return cls(tuple(letters), data["first"], data["last"])


@dataclass(frozen=True)
class PieceProof:
    """A proof for one case of the last event's keys: for all streams in which the tests of its keys have given results.

    keys: for each partition attribute, the results of the queries' tests on the last event's value, those of the left
    query first; None if the last event has no key. solver: see Certificate. relation: triples of known facts about the
    stream so far, and two sets of states that then accept the same words. clocked: replaces relation if windows are
    around parts of a match. It has sets of configurations (states with clocks) instead of states, and bounds on the
    times at which they are reached (clocks.py); None stands for no bound.
    """

    keys: tuple[tuple[str, tuple[bool, ...] | None], ...]
    solver: bool
    relation: tuple[tuple[States, States, States], ...]
    clocked: tuple[tuple[States, Nested, Nested, Nested], ...] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the proof as JSON."""
        found: dict[str, Any] = {"keys": dict(self.keys), "solver": self.solver, "relation": self.relation}
        return found if self.clocked is None else {**found, "clocked": self.clocked}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PieceProof:
        """Return the proof from the object that to_json makes."""
        keys = ((name, None if truth is None else tuple(truth)) for name, truth in data["keys"].items())
        relation = ((tuple(map(int, s)), tuple(map(int, x)), tuple(map(int, y))) for s, x, y in data["relation"])
        clocked = _nested(data["clocked"]) if "clocked" in data else None
        return cls(tuple(keys), data["solver"], tuple(relation), clocked)


def _nested(data: Any, depth: int = 0) -> Any:
    """Return nested lists of integers and None as tuples. Raises InputError."""
    if isinstance(data, list) and depth < DEEPEST:
        return tuple(_nested(part, depth + 1) for part in data)
    if data is not None and (isinstance(data, bool) or not isinstance(data, int)):
        raise InputError("the certificate, field clocked: expected lists of whole numbers, not nested too deeply")
    return data


@dataclass(frozen=True)
class RuleProof:
    """A proof of a claim about two formulas from proofs of claims about their parts, see derivation.py.

    side: which of two operands the rule takes. certificate: for the rule `decided`, the decider's proof. formulas: for
    the rule `rename`, both formulas after the renaming.
    """

    rule: str
    parts: tuple[RuleProof, ...] = ()
    side: int | None = None
    certificate: Certificate | None = None
    formulas: tuple[str, str] | None = None

    def certificates(self) -> Iterator[Certificate]:
        """Yield the certificates of deciders in the proof, left to right."""
        if self.certificate is not None:
            yield self.certificate
        for part in self.parts:
            yield from part.certificates()

    def steps(self) -> int:
        """Return the number of rules that the proof applies."""
        return 1 + sum(part.steps() for part in self.parts)

    def to_json(self) -> dict[str, Any]:
        """Return the derivation as JSON."""
        found: dict[str, Any] = {"rule": self.rule}
        if self.parts:
            found["parts"] = [part.to_json() for part in self.parts]
        if self.side is not None:
            found["side"] = self.side
        if self.certificate is not None:
            found["certificate"] = json.loads(self.certificate.to_json())
        if self.formulas is not None:
            found["formulas"] = list(self.formulas)
        return found

    @classmethod
    def from_json(cls, data: Mapping[str, Any], where: str) -> RuleProof:
        """Return the derivation from the object that to_json makes. Raises InputError."""
        inner = data.get("certificate")
        certificate = None if inner is None else Certificate.from_json(json.dumps(inner), where)
        parts = tuple(cls.from_json(part, where) for part in data.get("parts", ()))
        left, right = data.get("formulas", (None, None))
        return cls(data["rule"], parts, data.get("side"), certificate, None if left is None else (left, right))


@dataclass(frozen=True)
class Certificate:
    """A proof of a claim about two queries, which can be checked without the search that found it.

    relation: pairs of sets of states that accept the same words; the left automaton's states are numbered before the
    right's. For event expressions the automata are deterministic: a pair has one state of each, and each counts from 0.

    solver: whether the solver helped to list the types of events, on which the states depend. order: the order of times
    for which the claim is proved. cases: for formulas with partitions or windows on values, the pairs in each case.
    derivation: a proof from claims about the parts of the formulas. facts: for clauses of MATCH_RECOGNIZE, facts about
    their conditions instead of pairs; a checker follows both patterns. letters: for EQL, the non-empty sets of filters
    that one event can pass; the filters of the left rule are numbered before those of the right. A checker follows both
    rules; without letters it decides the claim again. arrays: for EQL, whether fields of events may have several
    values.
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
    order: Order = "any"
    cases: tuple[PieceProof, ...] | None = None
    derivation: RuleProof | None = None
    letters: tuple[States, ...] | None = None
    arrays: bool = True

    @property
    def pairs(self) -> int:
        """Return the number of pairs of sets of states, in all cases."""
        return len(self.relation) + sum(len(case.relation) + len(case.clocked or ()) for case in self.cases or ())

    @property
    def times(self) -> str:
        """Return the order of times for which the claim is proved, as a phrase such as " whose times never decrease",
        or "".
        """
        order = {"strict": "increase", "non-decreasing": "never decrease", "any": ""}[self.order]
        if not order:
            return ""
        return f" whose times are integers or timestamps and {order}" if self._adds_times else f" whose times {order}"

    @property
    def _adds_times(self) -> bool:
        """Return whether the proof adds differences of times; the sums are exact only for unrounded times."""
        inner = () if self.derivation is None else self.derivation.certificates()
        clocked = any(len(times) > 2 for case in self.cases or () for *_, times in case.clocked or ())
        return (clocked and self.schema is None) or any(certificate._adds_times for certificate in inner)

    def require_language(self, name: str) -> None:
        """Raise Unsupported if the queries are in another language, whose automata are built in another way."""
        if self.language != name:
            raise Unsupported(f"a certificate for {self.language} queries cannot be checked as one for {name} queries")

    def require_typed(self, parse: Callable[[str], Any], require_typed: Callable[[Any, Schema], None]) -> None:
        """Raise ParseError if one of the queries does not parse, and IllFormed if it does not fit the schema.

        The message begins with the name of the query's field in the certificate. Raises BudgetExceeded.
        """
        for side, text in (("left", self.left), ("right", self.right)):
            check_time()
            try:
                query = parse(text)
                if self.schema is not None:
                    require_typed(query, self.schema)
            except CerifyError as error:
                at = "" if error.span is None else f", character {error.span.start}"
                error.message = f"field {side}{at}: {error.message}"
                raise

    def to_json(self) -> str:
        """Return the certificate as a JSON object."""
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
        if self.cases is not None:
            found["cases"] = [case.to_json() for case in self.cases]
        if self.derivation is not None:
            found["derivation"] = self.derivation.to_json()
        if self.letters is not None:
            found["letters"] = self.letters
        if not self.arrays:
            found["arrays"] = False
        if self.order != "any":
            found["order"] = self.order
        return json.dumps({"format": "cerify-certificate", "version": 1, **stated, **found}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str, where: str = "the certificate") -> Certificate:
        """Return the certificate in a text. Raises InputError, which names the invalid field."""
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
            data.get("order", "any"),
            tuple(map(PieceProof.from_json, data["cases"])) if "cases" in data else None,
            _derivation(data["derivation"], where) if "derivation" in data else None,
            tuple(tuple(map(int, letter)) for letter in data["letters"]) if "letters" in data else None,
            data.get("arrays", True),
        )


def _derivation(data: Mapping[str, Any], where: str) -> RuleProof:
    try:
        return RuleProof.from_json(data, where)
    except RecursionError:
        raise InputError(f"{where}, field derivation: it is nested too deeply") from None


@cache
def _schema() -> JsonSchema:
    path = Path(__file__).parent / "decide" / "schemas" / "certificate.json"
    return JsonSchema(json.loads(path.read_text(encoding="utf-8")))
