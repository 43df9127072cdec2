"""Find the mistake in a wrong answer, from its canonical text and the stream on which it differs from the right ones.

An answer is compared with the right answer that is most similar: event types, operators, comparisons, numbers and
attributes. A difference from that one that is also a difference from the model answer shows the mistake. If there are
several, the stream and the matches on it decide. If there are none, advice is derived from the matches alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from cerify.explanations.explanation import braces
from cerify.languages.language import Language
from cerify.semantics.events import Stream

MistakeKind = Literal[
    "event type",
    "number of events",
    "operator",
    "condition",
    "comparison",
    "connective",
    "number",
    "attribute",
    "part",
    "arrangement",
    "NULL",
]

_STRING = re.compile(r"'(?:[^']|'')*'")
_COMPARATOR = re.compile(r"(?<![-:.])(?:<=|>=|!=|<|>|=)")
_CONNECTIVE = re.compile(r"\b(?:AND|OR|and|or|not)\b")
NUMBERED = "in a condition, a window, a count or an index"
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?")
_QUANTIFIER = re.compile(r"(?<=[\w)}:-])(?:[*+?]|\{\d*,?\d*\})\??")
_PROJECTED = re.compile(r"PROJECT\[(.*?)\]")
_ROWS = re.compile(r"PATTERN \((.*?)\)(?= (?:SUBSET|DEFINE) |\)$)")
_WORD = re.compile(r"[A-Za-z_]\w*")
_PART = re.compile(rf"{_WORD.pattern}|{_NUMBER.pattern}|[^\w\s(),]+")
_REWRITTEN = (
    (_STRING, "''"),
    (re.compile(r"<(\d+)>"), r"\1"),
    (re.compile(r"(PREV|NEXT|FIRST|LAST)(\([^()]*), [01]\)"), r"\1\2)"),
)
"""What in a text is no comparison, and no number of the writer's: strings, <n>, and the offsets that are left out."""

STRATEGIES = ("max", "last", "nxt", "next", "any", "mixed", "selection")
GUARDS = ("unless", "not", "negation")
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
    "in": ("the sentence says different things of different events: give each a variable of its own", ""),
    "and": ("two things are true of the same events", "AND asks that one match is a match of both sides"),
    "all": ("two matches are put together, in either order", "your formula puts two matches together"),
    **dict.fromkeys(
        GUARDS,
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
        STRATEGIES,
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
        "the sentence reports fewer events than have to be there",
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
    **dict.fromkeys(
        ("physical", "logical"),
        (
            "which row is each row compared with? Another one than the rows that your conditions look at",
            "which row is each row compared with? Your conditions look at another one",
        ),
    ),
    **dict.fromkeys(
        ("skip to", "skip to next row"),
        (
            "where does the search go on after a match? AFTER MATCH SKIP says it",
            "after a match the search goes on elsewhere than AFTER MATCH SKIP says in your clause",
        ),
    ),
    "anchor": (
        "the sentence speaks of an end of the table: your pattern does not",
        "your pattern asks for an end of the table; the sentence does not",
    ),
    "row-pattern.not": ("look at the conditions: should one be the opposite?", "look at the conditions: why NOT?"),
    "after": ("what counts begins after some event", "your formula forgets what is before some event"),
}
"""For each operator, what is wrong if an answer lacks it, and if the answer has it but should not.

A name with a language before it is for that language only. An empty sentence means that there is none. Operators with
the same sentences form a group. Except for strategies, the first sentence is used only if the answer has no operator of
the group, the second only if the right answer has none.
"""

ITERATIONS = frozenset({"plus", "kleene", "relative_plus", "quantified", "cplus", "crepeat", "repeat"})
GAPLESS = frozenset({"cplus", "crepeat", "cseq", "strict"})
IN_CONDITIONS = frozenset({"filter", "predicate", "iterator", "constraint", "physical", "logical"})

CONFUSED: Mapping[str, str] = {"cseq": "seq", "cplus": "plus", "crepeat": "repeat", "every": "nth"}
"""Operators that allow no event in between, each with the one that does; and every <n> with <n>."""


@dataclass(frozen=True)
class Mistake:
    """The kind of a mistake, and a sentence about it that does not reveal the answer."""

    kind: MistakeKind
    hint: str

    @property
    def in_conditions(self) -> bool:
        """Return whether the mistake is in a condition on attributes rather than in the pattern."""
        return self.kind in ("condition", "comparison", "connective", "attribute", "NULL")


NULLS = Mistake("NULL", "an attribute is NULL or NaN there: it is neither below, nor equal to, nor above another value")


@dataclass(frozen=True)
class Difference:
    """The matches that end at one position of a stream, as positions of events: the right ones and the answer's."""

    S: Stream
    wanted: tuple[tuple[int, ...], ...]
    yours: tuple[tuple[int, ...], ...]

    @property
    def missing(self) -> list[tuple[int, ...]]:
        return [match for match in self.wanted if match not in self.yours]

    @property
    def extra(self) -> list[tuple[int, ...]]:
        return [match for match in self.yours if match not in self.wanted]

    def shows(self, mistake: Mistake) -> bool:
        """Return whether the differing matches are consistent with the mistake; for one about gaps, whether one has a
        gap.
        """
        lacking, having = OPERATORS["cseq"]
        differing = {lacking: self.extra, having: self.missing}.get(mistake.hint)
        several = [match for match in differing or () if len(match) > 1]
        return differing is None or not differing or any(match[-1] - match[0] >= len(match) for match in several)


@dataclass(frozen=True)
class _Features:
    """The counts of a query's elements: event types, numbers, operators, comparisons, attributes and others."""

    types: Counter[str]
    operators: Counter[str]
    quantifiers: Counter[str]
    projected: Counter[str]
    comparators: Counter[str]
    connectives: Counter[str]
    numbers: Counter[str]
    attributes: Counter[str]
    parts: Counter[str]
    words: frozenset[str]

    def distance(self, other: _Features) -> int:
        """Count the elements of one query that the other does not have."""
        pairs = ((getattr(self, name), getattr(other, name)) for name in self.__match_args__ if name != "words")
        return sum(((mine - theirs) + (theirs - mine)).total() for mine, theirs in pairs)


def mistake(language: Language[Any], answers: Sequence[Any], answer: Any, difference: Difference) -> Mistake:
    """Return the most probable mistake in an answer, which differs from the right answers on a stream.

    answers: the right answers, the model answer first.
    """
    mine = _features(language, answer)
    model, *others = (_features(language, tree) for tree in answers)
    right = min((model, *others), key=mine.distance)
    true = set(_find_mistakes(language, mine, model))
    found = [*_unlabelled(language, answer), *(one for one in _find_mistakes(language, mine, right) if one in true)]
    if not language.takes_place:
        found = [one for one in found if difference.shows(one)]
    if any(one.kind == "comparison" for one in found) and _at_a_boundary(difference.S, mine.numbers | right.numbers):
        return next(one for one in found if one.kind == "comparison")
    if not difference.extra and [one.kind for one in found[:1]] == ["number of events"]:  # which says the least
        problems = language.syntax.check(answer, None).problems
        if any(one.rule == "never" for one in problems):
            return Mistake(
                "part", "your formula, or a part of it, has no match on any stream: `cerify check` says which"
            )
    if found:
        return found[0]
    if mine.parts == right.parts:
        return Mistake("arrangement", "the parts are the right ones; their order, or what the brackets take in, is not")
    lacking = _operators(language, mine.operators, mine.operators | model.operators)
    shown = (one for one in lacking if language.takes_place or difference.shows(one))
    return next(shown, Mistake("part", _compared(difference)))


def _compared(difference: Difference) -> str:
    """Give advice on what to look at, only by the matches that differ."""
    missing, extra = difference.missing, difference.extra
    if not extra:
        return f"your formula asks for more than the sentence: which part of it keeps {braces(missing[0])} out?"
    if not missing:
        return f"your formula asks for less than the sentence: what does it say that is not true of {braces(extra[0])}?"
    sizes = [sorted(map(len, matches)) for matches in (missing, extra)]
    if sizes[0][-1] < sizes[1][0] or sizes[1][-1] < sizes[0][0]:
        more, less = ("more", "fewer") if sizes[0][0] > sizes[1][0] else ("fewer", "more")
        return f"the sentence wants {more} events in this match, yours has {less}: what decides how many they are?"
    return f"the sentence wants {braces(missing[0])} where yours has {braces(extra[0])}: what decides between the two?"


def _text(language: Language[Any], tree: Any) -> str:
    """Return the canonical text of a query, without the content of strings."""
    text = language.syntax.show(tree)
    for pattern, replacement in _REWRITTEN:
        text = pattern.sub(replacement, text)
    return text


def _features(language: Language[Any], tree: Any) -> _Features:
    operations = language.operations()
    text = _text(language, tree)
    rows = _WORD.findall(" ".join(_ROWS.findall(text)))
    types = Counter(operations.types(tree)) if operations is not None else Counter[str]()
    attributes = set(operations.attributes(tree)) if operations is not None else set[str]()
    variables = {*rows, *(operations.names(tree) if operations is not None else ())} - types.keys()

    def parts(found: str) -> Counter[str]:
        """Count the words and signs in a part of the text; all variables count as the same word."""
        return Counter("variable" if part in variables else part for part in _PART.findall(found))

    return _Features(
        types + Counter("row" for _ in rows),
        Counter(language.syntax.constructs(tree)),
        Counter(_QUANTIFIER.findall(text)),
        parts(" ".join(_PROJECTED.findall(text))),
        Counter(_COMPARATOR.findall(text)),
        Counter(word.lower() for word in _CONNECTIVE.findall(text)),
        Counter(_NUMBER.findall(text)),
        Counter(attributes),
        parts(text),
        frozenset(_WORD.findall(text)),
    )


def _unlabelled(language: Language[Any], tree: Any) -> Iterator[Mistake]:
    """Yield conditions of MATCH_RECOGNIZE on a variable that comes later in the pattern, as mistakes.

    A pattern with repeated groups yields none, since its variables may come again.
    """
    text = _text(language, tree)
    pattern = " ".join(_ROWS.findall(text))
    if "PERMUTE" in pattern or re.search(r"\)[*+?{]", pattern):
        return
    order = {name: n for n, name in enumerate(_WORD.findall(pattern))}
    first = {name: n for n, name in reversed([*enumerate(_WORD.findall(pattern))])}
    for A, condition in re.findall(r"[ ,](\w+) AS (.*?)(?=, \w+ AS |\)$)", text[text.find(" DEFINE ") :]):
        for B in re.findall(r"\b(\w+)\.", condition):
            if order.get(A, len(order)) < first.get(B, 0):
                yield Mistake("condition", f"{B} has no row yet when {A} is labelled: let {B} look back at {A}")


def _find_mistakes(language: Language[Any], mine: _Features, right: _Features) -> Iterator[Mistake]:
    """Yield a mistake for each difference of two queries, the most telling first."""
    missing = sorted(right.types.keys() - mine.types.keys())
    for name in missing:
        if name in mine.words:
            yield Mistake("event type", f"{name} is an event type, and stands for something else in your formula")
    if unspoken := [name for name in missing if name not in mine.words]:
        yield Mistake("event type", f"your formula does not speak of {', '.join(unspoken)}")
    if extra := mine.types.keys() - right.types.keys():
        yield Mistake("event type", f"the sentence has nothing to do with {', '.join(sorted(extra))}")
    yield from _operators(language, mine.operators, right.operators)
    if mine.projected and right.projected and mine.projected != right.projected:
        yield Mistake("part", "other events are to be reported: which ones does PROJECT keep?")
    if mine.quantifiers != right.quantifiers and mine.quantifiers and right.quantifiers:
        reluctant = any("?" in one for one in mine.quantifiers | right.quantifiers)
        preferred = ", and is more or less preferred" if reluctant else ""
        yield Mistake("part", f"how often is something repeated, at least and at most{preferred}?")
    if right.comparators > mine.comparators:
        yield Mistake("condition", "a condition is missing: what is asked of the attributes?")
    elif mine.comparators != right.comparators:
        yield Mistake("comparison", "look at the comparisons: which way round, and is the boundary itself in or out?")
    if mine.connectives and right.connectives and mine.connectives != right.connectives:
        yield Mistake("connective", "look at the conditions: have all of them to be true, or one of them?")
    if mine.numbers - right.numbers:
        yield Mistake("number", f"look at the numbers: one {NUMBERED} is not that of the sentence")
    elif right.numbers - mine.numbers:
        yield Mistake("number", f"look at the numbers: the sentence has one more {NUMBERED}")
    if right.attributes and not mine.attributes:
        yield Mistake("condition", "a condition is missing: what is asked of the attributes?")
    elif mine.attributes != right.attributes:
        yield Mistake("attribute", "your formula asks about other attributes than the sentence")
    if mine.types != right.types:
        lacking, surplus = right.types - mine.types, mine.types - right.types
        if not {*GUARDS} & (mine.operators.keys() | right.operators.keys()):
            sentence = f"the sentence speaks of {'more' if lacking else 'fewer'} events than your formula"
        else:  # negations also name events that are not in a match
            names = " and ".join(sorted(lacking or surplus))
            sentence = f"a right answer names {names} {'more' if lacking else 'less'} often than your formula"
        yield Mistake("number of events", sentence)


def _operators(language: Language[Any], mine: Counter[str], right: Counter[str]) -> Iterator[Mistake]:
    """Yield mistakes in operators: first those that are often confused, then in the order of the table OPERATORS."""
    lacking, extra = right - mine, mine - right
    for n, (here, there) in enumerate(((lacking, extra), (extra, lacking))):
        for one, other in CONFUSED.items():
            if one in here and other in there:
                yield Mistake("operator", OPERATORS[one][n])
    for n, (names, others) in enumerate(((lacking, mine), (extra, right))):
        grouped = {OPERATORS.get(f"{language.name}.{name}") or OPERATORS.get(name) for name in others}
        for name, sentences in OPERATORS.items():
            plain = name.rpartition(".")[2]
            own = f"{language.name}.{plain}"
            if plain in ITERATIONS - GAPLESS - {"repeat"} and ITERATIONS & others.keys():
                continue
            true = sentences[n] and (plain in STRATEGIES or sentences not in grouped)
            if true and plain in names and name == (own if own in OPERATORS else plain):
                yield Mistake("condition" if plain in IN_CONDITIONS else "operator", sentences[n])


def _at_a_boundary(S: Stream, numbers: Counter[str]) -> bool:
    """Return whether an attribute on the stream equals one of the numbers."""
    values = {float(v) for event in S for v in event.attributes.values() if isinstance(v, int | float)}
    return not values.isdisjoint(map(float, numbers))
