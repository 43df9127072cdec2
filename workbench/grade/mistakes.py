"""Find the mistake in a wrong answer, from its canonical text and a stream on which it differs from the right answers.

An answer is compared with the most similar right answer: event types, operators, comparisons, numbers and attributes. A
difference from that answer that is also a difference from the model answer is the mistake. If there are several such
differences, the stream and the matches on it decide. If there is none, the advice is based on the matches alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

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
"""Parts of a canonical text that are no comparisons, or no numbers that the student wrote, and their replacements:
strings, <n>, and offsets that a text may leave out."""

STRATEGIES = ("max", "last", "nxt", "next", "any", "mixed", "selection")
GUARDS = ("unless", "not", "negation")
OPERATORS: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(
        ("plus", "kleene", "relative_plus", "quantified"),
        (
            "something must be repeated, once or more: your formula has no iteration",
            "your formula repeats something that the sentence wants only once",
        ),
    ),
    **dict.fromkeys(
        ("cplus", "crepeat", "cseq", "strict", "event-expression.sequence"),
        (
            "the sentence allows no event in between: your formula does not require that",
            "your formula allows no event in between: the sentence does not require that",
        ),
    ),
    **dict.fromkeys(
        ("repeat", "nth"),
        ("the sentence says how many: count them", "your formula counts something that the sentence does not count"),
    ),
    "every": (
        "the count begins again each time",
        "your formula begins to count again each time; the sentence counts only once",
    ),
    **dict.fromkeys(
        ("seq", "prior", "relative", "before"),
        (
            "one event comes after another, with any events in between: your formula does not say that",
            "your formula allows events in between, or before, where the sentence does not",
        ),
    ),
    **dict.fromkeys(
        ("or", "alternation"),
        ("the sentence allows one thing or another", "your formula allows a choice that the sentence does not"),
    ),
    "in": ("the sentence has different conditions on different events: give each event a variable of its own", ""),
    "and": ("two things are true of the same events", "AND requires that the same events are a match of both sides"),
    "all": ("the match consists of two matches, in either order", "your formula combines two matches"),
    **dict.fromkeys(
        GUARDS,
        (
            "something must not occur: your formula forbids nothing",
            "your formula forbids something that the sentence allows",
        ),
    ),
    **dict.fromkeys(
        ("filter", "predicate", "iterator", "event-expression.constraint"),
        (
            "a condition is missing: which values must the attributes have?",
            "your formula has a condition that the sentence does not have",
        ),
    ),
    **dict.fromkeys(
        STRATEGIES,
        (
            "which of the matches that end at one event does the sentence want? A selection strategy selects it",
            "the sentence wants another selection strategy, or none",
        ),
    ),
    **dict.fromkeys(
        ("start", "first"),
        (
            "the sentence is about the beginning of the stream",
            "your formula looks only at the beginning of the stream; the sentence does not",
        ),
    ),
    "within": ("the sentence limits how far apart the events are", "the sentence has no window"),
    "project": (
        "the sentence reports fewer events than must occur",
        "your formula does not report all events, or it leaves out the wrong events",
    ),
    **dict.fromkeys(
        ("correlated", "equivalence", "partition", "perkey", "exists", "equated"),
        (
            "the sentence compares two events with each other",
            "your formula compares events with each other in a way that the sentence does not",
        ),
    ),
    **dict.fromkeys(
        ("running", "aggregate"),
        (
            "the sentence needs a value that is computed from several events",
            "your formula computes a value, and the sentence does not",
        ),
    ),
    "stop": (
        "the last event of a Kleene plus has a condition",
        "your condition on the last event of a Kleene plus is too strict",
    ),
    "pipe": ("only events of some types count", "your formula leaves events out of the history"),
    **dict.fromkeys(
        ("physical", "logical"),
        (
            "with which row is each row compared? Your conditions do not look at that row",
            "with which row is each row compared? Your conditions look at another row",
        ),
    ),
    **dict.fromkeys(
        ("skip to", "skip to next row"),
        (
            "where does the search continue after a match? AFTER MATCH SKIP says so",
            "after a match, the search must continue elsewhere than your AFTER MATCH SKIP says",
        ),
    ),
    "anchor": (
        "the sentence is about the first or the last row of the table: your pattern is not",
        "your pattern requires the first or the last row of the table; the sentence does not",
    ),
    "row-pattern.not": (
        "look at the conditions: should one of them be the opposite?",
        "look at the conditions: is NOT right there?",
    ),
    "after": (
        "only the events after some event count",
        "your formula ignores the events before some event; the sentence does not",
    ),
}
"""For each operator, a sentence for an answer that lacks it, and a sentence for an answer that has it but should not.

A name with a language before it is only for that language. An empty sentence is never used. Operators with the same
sentences form a group. Except for strategies, the first sentence is used only if the answer has no operator of the
group, and the second only if the right answer has none.
"""

ITERATIONS = frozenset({"plus", "kleene", "relative_plus", "quantified", "cplus", "crepeat", "repeat"})
GAPLESS = frozenset({"cplus", "crepeat", "cseq", "strict"})
IN_CONDITIONS = frozenset({"filter", "predicate", "iterator", "constraint", "physical", "logical"})

CONFUSED: Mapping[str, str] = {"cseq": "seq", "cplus": "plus", "crepeat": "repeat", "every": "nth"}
"""Operators that allow no event in between, each with the operator that allows events; and `every <n>` with `<n>`."""


@dataclass(frozen=True)
class Mistake:
    """The kind of a mistake, and a sentence about it that does not reveal the answer."""

    kind: MistakeKind
    hint: str

    @property
    def in_conditions(self) -> bool:
        """Return whether the mistake is in a condition on attributes rather than in the pattern."""
        return self.kind in ("condition", "comparison", "connective", "attribute", "NULL")


NULLS = Mistake("NULL", "an attribute is NULL or NaN there: it is not less than, equal to, or greater than any value")


@dataclass(frozen=True)
class Difference:
    """The matches that end at one position of a stream: the right matches (wanted) and the answer's (yours).

    Each match is given by the positions of its events.
    """

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
        """Return whether the mistake can explain how the matches differ.

        Only a mistake about events in between can be ruled out: if matches differ, one of them must have events in
        between.
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
        """Return how many elements one of the two queries has that the other does not have."""
        pairs = ((getattr(self, name), getattr(other, name)) for name in self.__match_args__ if name != "words")
        return sum(((mine - theirs) + (theirs - mine)).total() for mine, theirs in pairs)


def mistake(language: Language[Any], answers: Sequence[Any], answer: Any, difference: Difference) -> Mistake:
    """Return the most probable mistake in a wrong answer.

    answers: the right answers, the model answer first. difference: the matches that differ on a stream.
    """
    mine = _features(language, answer)
    model, *others = (_features(language, tree) for tree in answers)
    right = min((model, *others), key=mine.distance)
    true = set(_find_mistakes(language, mine, model))
    found = [*_unlabelled(language, answer), *(one for one in _find_mistakes(language, mine, right) if one in true)]
    if not language.takes_place:
        found = [one for one in found if difference.shows(one)]
    # A value equal to a number of a condition tells < from <=. The stream was searched for a difference, so the
    # comparison is then more probable than the differences listed before it.
    if any(one.kind == "comparison" for one in found) and _at_a_boundary(difference.S, mine.numbers | right.numbers):
        return next(one for one in found if one.kind == "comparison")
    if not difference.extra and [one.kind for one in found[:1]] == ["number of events"]:  # the least helpful kind
        problems = language.syntax.check(answer, None).problems
        if any(one.rule == "never" for one in problems):
            return Mistake(
                "part", "your formula, or a part of it, has no match on any stream: `cerify check` says which part"
            )
    if found:
        return found[0]
    if mine.parts == right.parts:
        return Mistake("arrangement", "the parts are right, but their order or the brackets are wrong")
    lacking = _operators(language, mine.operators, mine.operators | model.operators)
    shown = (one for one in lacking if language.takes_place or difference.shows(one))
    return next(shown, Mistake("part", _compared(difference)))


def _compared(difference: Difference) -> str:
    """Return advice on what to look at, based only on the matches that differ."""
    missing, extra = difference.missing, difference.extra
    if not extra:
        return "your formula requires more than the sentence: which part of it rejects the missing match?"
    if not missing:
        return "your formula requires less than the sentence: what in the sentence is not true of the extra match?"
    sizes = [sorted(map(len, matches)) for matches in (missing, extra)]
    if sizes[0][-1] < sizes[1][0] or sizes[1][-1] < sizes[0][0]:
        more, less = ("more", "fewer") if sizes[0][0] > sizes[1][0] else ("fewer", "more")
        return f"the sentence wants {more} events in this match, yours has {less}: what determines their number?"
    return "the sentence wants one match, and yours reports another: what decides between the two?"


def _text(language: Language[Any], tree: Any) -> str:
    """Return the canonical text of a query, with the replacements of _REWRITTEN."""
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
    """Yield a mistake for each condition of MATCH_RECOGNIZE on a variable that comes later in the pattern.

    For a pattern with repeated groups, yield none, because its variables may come again.
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
                yield Mistake(
                    "condition", f"{B} has no row yet when a row is labelled {A}: let the condition of {B} refer to {A}"
                )


def _find_mistakes(language: Language[Any], mine: _Features, right: _Features) -> Iterator[Mistake]:
    """Yield a mistake for each difference between two queries, the most helpful first."""
    missing = sorted(right.types.keys() - mine.types.keys())
    for name in missing:
        if name in mine.words:
            yield Mistake("event type", f"{name} is an event type, but your formula uses the name for something else")
    if unspoken := [name for name in missing if name not in mine.words]:
        yield Mistake("event type", f"your formula does not mention {', '.join(unspoken)}")
    if extra := mine.types.keys() - right.types.keys():
        yield Mistake("event type", f"the sentence has nothing to do with {', '.join(sorted(extra))}")
    yield from _operators(language, mine.operators, right.operators)
    if mine.projected and right.projected and mine.projected != right.projected:
        yield Mistake("part", "the sentence reports other events: which events must PROJECT keep?")
    if mine.quantifiers != right.quantifiers and mine.quantifiers and right.quantifiers:
        reluctant = any("?" in one for one in mine.quantifiers | right.quantifiers)
        preferred = " Are more or fewer repetitions preferred?" if reluctant else ""
        yield Mistake("part", f"how often is something repeated, at least and at most?{preferred}")
    if right.comparators > mine.comparators:
        yield Mistake("condition", "a condition is missing: which values must the attributes have?")
    elif mine.comparators != right.comparators:
        yield Mistake("comparison", "look at the comparisons: is the direction right, and is the boundary included?")
    if mine.connectives and right.connectives and mine.connectives != right.connectives:
        yield Mistake("connective", "look at the conditions: must all of them be true, or one of them?")
    if mine.numbers - right.numbers:
        yield Mistake("number", f"look at the numbers: a number {NUMBERED} is not that of the sentence")
    elif right.numbers - mine.numbers:
        yield Mistake("number", f"look at the numbers: the sentence has one more number {NUMBERED}")
    if right.attributes and not mine.attributes:
        yield Mistake("condition", "a condition is missing: which values must the attributes have?")
    elif mine.attributes != right.attributes:
        yield Mistake("attribute", "your formula tests other attributes than the sentence")
    if mine.types != right.types:
        lacking, surplus = right.types - mine.types, mine.types - right.types
        if not {*GUARDS} & (mine.operators.keys() | right.operators.keys()):
            sentence = f"the sentence mentions {'more' if lacking else 'fewer'} events than your formula"
        else:  # negations also name events that are not in a match
            names = " and ".join(sorted(lacking or surplus))
            sentence = f"a right answer names {names} {'more' if lacking else 'less'} often than your formula"
        yield Mistake("number of events", sentence)


def _operators(language: Language[Any], mine: Counter[str], right: Counter[str]) -> Iterator[Mistake]:
    """Yield mistakes in operators: first those that are often confused, then in the order of OPERATORS."""
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
            # Another iteration repeats too, so a sentence that says something must, or must not, be repeated would be
            # wrong.
            if plain in ITERATIONS - GAPLESS - {"repeat"} and ITERATIONS & others.keys():
                continue
            true = sentences[n] and (plain in STRATEGIES or sentences not in grouped)
            if true and plain in names and name == (own if own in OPERATORS else plain):
                yield Mistake("condition" if plain in IN_CONDITIONS else "operator", sentences[n])


def _at_a_boundary(S: Stream, numbers: Counter[str]) -> bool:
    """Return whether some attribute of an event of the stream equals one of the numbers."""
    values = {float(v) for event in S for v in event.attributes.values() if isinstance(v, int | float)}
    return not values.isdisjoint(map(float, numbers))
