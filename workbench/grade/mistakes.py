"""The mistake in a wrong answer, by its canonical text and the stream on which it differs from the right ones.

An answer is compared with the right answer that it shares most with: event types, operators, comparisons, numbers and
attributes. What differs says which mistake it is; where several things differ, the stream decides.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from cerify.languages.language import Language
from cerify.semantics.events import Stream

Kind = Literal[
    "event type",
    "number of events",
    "operator",
    "condition",
    "comparison",
    "connective",
    "number",
    "attribute",
    "arrangement",
]

_STRING = re.compile(r"'(?:[^']|'')*'")
_COMPARATOR = re.compile(r"(?<![-:.])(?:<=|>=|!=|<|>|=)")
_CONNECTIVE = re.compile(r"\b(?:AND|OR|and|or|not)\b")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?")

OPERATORS: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(
        ("plus", "kleene", "relative_plus", "quantified"),
        (
            "something is to be repeated, once or more: there is no iteration in your formula",
            "your formula repeats something that the sentence wants once",
        ),
    ),
    **dict.fromkeys(
        ("cplus", "crepeat", "cseq", "strict", "event-expression.sequence"),
        (
            "the sentence lets no event lie between: your formula does not ask for that",
            "your formula lets no event lie between, and the sentence does not ask for that",
        ),
    ),
    **dict.fromkeys(
        ("repeat", "nth"),
        ("the sentence says how many: count them", "your formula counts what the sentence does not count"),
    ),
    "every": ("the counting begins anew each time", "your formula begins to count anew; the sentence counts once"),
    **dict.fromkeys(
        ("seq", "prior", "relative", "before"),
        (
            "one thing comes after another, whatever lies between: your formula does not say that",
            "your formula lets events lie between, or come before, where the sentence does not",
        ),
    ),
    **dict.fromkeys(
        ("or", "alternation"),
        ("the sentence leaves a choice between two things", "your formula leaves a choice that the sentence does not"),
    ),
    "and": ("two things are true of the same events", "AND asks that one match is a match of both sides"),
    "all": ("two matches are put together, in either order", "your formula puts two matches together"),
    **dict.fromkeys(
        ("unless", "not", "negation"),
        (
            "something must not be there: your formula denies nothing",
            "your formula denies something that the sentence allows",
        ),
    ),
    **dict.fromkeys(
        ("filter", "predicate", "iterator", "event-expression.constraint"),
        (
            "a condition is missing: what is asked of the attributes?",
            "your formula has a condition that the sentence does not",
        ),
    ),
    **dict.fromkeys(
        ("max", "last", "nxt", "next", "any", "mixed", "selection"),
        (
            "which of the matches that end at one event is wanted? A strategy selects it",
            "another selection strategy is wanted, or none",
        ),
    ),
    **dict.fromkeys(
        ("start", "first"),
        (
            "the sentence speaks of the beginning of the stream",
            "your formula looks at the beginning of the stream only; the sentence does not",
        ),
    ),
    "within": ("there is a limit on how far apart the events are", "the sentence has no window"),
    "project": (
        "not all events that are needed are reported: leave some out",
        "your formula leaves events out of what it reports, or the wrong ones",
    ),
    **dict.fromkeys(
        ("correlated", "equivalence", "partition", "exists", "equated"),
        (
            "two events are compared with each other",
            "your formula compares events with each other, in a way that the sentence does not",
        ),
    ),
    **dict.fromkeys(
        ("running", "aggregate"),
        (
            "a value is computed from several events",
            "your formula computes a value, and the sentence does not",
        ),
    ),
    "stop": ("the last event that is taken satisfies a condition", "the last event that is taken is asked too much"),
    "pipe": ("only events of some types count", "your formula leaves events out of the history"),
    "after": ("what counts begins after some event", "your formula forgets what is before some event"),
}
"""By the name of an operator what is wrong where an answer lacks it, and where it has it and should not.

A name after that of a language is for that language alone.
"""

TIGHT: Mapping[str, str] = {"cseq": "seq", "cplus": "plus", "crepeat": "repeat"}
"""The operators that let no event lie between, with those that do."""


@dataclass(frozen=True)
class Mistake:
    """Of which kind a mistake is, and a sentence about it that does not have the answer."""

    kind: Kind
    hint: str


@dataclass(frozen=True)
class _Features:
    """What a query mentions: event types and numbers as often as it does, operators, comparisons, attributes."""

    types: Counter[str]
    operators: Counter[str]
    comparators: Counter[str]
    connectives: Counter[str]
    numbers: Counter[str]
    attributes: Counter[str]

    def distance(self, other: _Features) -> int:
        """How many mentions are in one and not in the other."""
        pairs = ((getattr(self, name), getattr(other, name)) for name in self.__match_args__)
        return sum(((mine - theirs) + (theirs - mine)).total() for mine, theirs in pairs)


def mistake(language: Language[Any], answers: Sequence[Any], answer: Any, S: Stream) -> Mistake:
    """The mistake in an answer, which differs from the right answers on a stream."""
    mine = _features(language, answer)
    right = min((_features(language, tree) for tree in answers), key=mine.distance)
    found = list(_found(language, mine, right))
    if any(one.kind == "comparison" for one in found) and _at_a_boundary(S, mine.numbers | right.numbers):
        return next(one for one in found if one.kind == "comparison")
    return found[0]


def _features(language: Language[Any], tree: Any) -> _Features:
    operations = language.operations()
    text = _STRING.sub("''", language.show(tree))
    types = Counter(operations.types(tree)) if operations is not None else Counter[str]()
    attributes = set(operations.attributes(tree)) if operations is not None else set[str]()
    return _Features(
        types,
        Counter(language.constructs(tree)),
        Counter(_COMPARATOR.findall(text)),
        Counter(word.lower() for word in _CONNECTIVE.findall(text)),
        Counter(_NUMBER.findall(text)),
        Counter(attributes),
    )


def _found(language: Language[Any], mine: _Features, right: _Features) -> Iterator[Mistake]:
    """All that differs, what says most first."""
    if missing := right.types.keys() - mine.types.keys():
        yield Mistake("event type", f"your formula does not speak of {', '.join(sorted(missing))}")
    if extra := mine.types.keys() - right.types.keys():
        yield Mistake("event type", f"the sentence has nothing to do with {', '.join(sorted(extra))}")
    lacking, extra_ = right.operators - mine.operators, mine.operators - right.operators
    for n, (here, there) in enumerate(((lacking, extra_), (extra_, lacking))):
        if any(tight in here and loose in there for tight, loose in TIGHT.items()):
            yield Mistake("operator", OPERATORS["cseq"][n])
    for n, names in enumerate((lacking, extra_)):
        for name in names:
            sentences = OPERATORS.get(f"{language.name}.{name}") or OPERATORS.get(name)
            if sentences is not None:
                yield Mistake("operator", sentences[n])
    if right.comparators > mine.comparators:
        yield Mistake("condition", "a condition is missing: what is asked of the attributes?")
    elif mine.comparators != right.comparators:
        yield Mistake("comparison", "look at the comparisons: which way round, and is the boundary itself in or out?")
    if mine.connectives != right.connectives:
        yield Mistake("connective", "look at the conditions: have all of them to be true, or one of them?")
    if mine.numbers != right.numbers:
        yield Mistake("number", "a number, or an index, in your formula is not that of the sentence")
    if mine.attributes != right.attributes:
        yield Mistake("attribute", "your formula asks about other attributes than the sentence")
    if mine.types != right.types:
        fewer = (right.types - mine.types).total() > 0
        yield Mistake(
            "number of events", f"the sentence speaks of {'more' if fewer else 'fewer'} events than your formula"
        )
    yield Mistake("arrangement", "the parts are the right ones; their order, or what the brackets take in, is not")


def _at_a_boundary(S: Stream, numbers: Counter[str]) -> bool:
    """Whether an attribute on the stream is equal to one of the numbers."""
    values = {float(v) for event in S for v in event.attributes.values() if isinstance(v, int | float)}
    return not values.isdisjoint(map(float, numbers))
