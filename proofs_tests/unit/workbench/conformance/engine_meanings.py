"""The manuals of engines as programs, in an engine's place: CEQL, EPL, SiddhiQL, files of SASE, and SQL."""

from __future__ import annotations

import json
import operator
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import product
from typing import Any, TypeAlias

from cerify.conformance import sql
from cerify.conformance.cases import tree_of_text
from cerify.languages import LANGUAGES
from cerify.languages.language import DENOTATIONAL, Options
from cerify.semantics.errors import CerifyError
from cerify.semantics.events import TIME, Stream
from cerify.semantics.events import Event as SaseEvent
from cerify.semantics.readings import STANDARD
from cerify.semantics.row_pattern.denote import Labelling
from cerify.semantics.row_pattern.denote import Meaning as RowsMeaning
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.scalars import NumberedMatch
from cerify.semantics.row_pattern.syntax import Quantified, RowVariable
from cerify.semantics.trees import subtrees
from cerify.semantics.values import plain
from proofs_tests.unit.workbench.conformance.fake_database import answered, table

# ---- conditions ----
# Conditions of EPL and SiddhiQL over the events that names stand for; a value is None where there is none (NULL).

Event: TypeAlias = Mapping[str, Any]
Scope: TypeAlias = Mapping[str, Sequence[Event]]
"""The events of each name; "" is the event that the condition is on."""
Value: TypeAlias = Callable[[Scope], Any]

TOKEN = re.compile(r"""\s*('(?:[^'])*'|"[^"]*"|\d[\d.]*(?:E-?\d+)?[Ld]?|=>|==|!=|<=|>=|[A-Za-z_][\w$]*|.)""")
COMPARE = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "regexp": lambda text, pattern: re.fullmatch(pattern, text) is not None,
}
ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


def condition(text: str, null: bool | None = None) -> Value:
    """The value of a condition by the scope; null is that of a comparison with NULL."""
    reader = Reader(TOKEN.findall(text), null)
    value = reader.disjunction()
    assert reader.peek() == "", text
    return value


class Reader:
    """Reads a condition from its tokens."""

    def __init__(self, tokens: Sequence[str], null: bool | None) -> None:
        self.tokens, self.at, self.null = tokens, 0, null

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def next(self, expected: str = "") -> str:
        token = self.peek()
        assert expected in ("", token), (expected, self.tokens[self.at :])
        self.at += 1
        return token

    def disjunction(self) -> Value:
        parts = [self.conjunction()]
        while self.peek() == "or":
            self.next()
            parts.append(self.conjunction())
        return parts[0] if len(parts) == 1 else lambda scope: any_of([part(scope) for part in parts])

    def conjunction(self) -> Value:
        parts = [self.negation()]
        while self.peek() == "and":
            self.next()
            parts.append(self.negation())
        return parts[0] if len(parts) == 1 else lambda scope: negated(any_of([negated(part(scope)) for part in parts]))

    def negation(self) -> Value:
        if self.peek() != "not":
            return self.comparison()
        self.next()
        inner = self.negation()
        return lambda scope: negated(inner(scope))

    def comparison(self) -> Value:
        left = self.sum()
        if self.peek() == "is":
            self.next()
            self.next("null")
            return lambda scope: left(scope) is None
        if self.peek() not in COMPARE:
            return left
        compare = COMPARE[self.next()]
        right = self.sum()

        def compared(scope: Scope) -> Any:
            found = combined(compare, left(scope), right(scope))
            return self.null if found is None else found

        return compared

    def sum(self) -> Value:
        found = self.product()
        while self.peek() in ("+", "-"):
            found = calculated(self.next(), found, self.product())
        return found

    def product(self) -> Value:
        found = self.atom()
        while self.peek() in ("*", "/"):
            found = calculated(self.next(), found, self.atom())
        return found

    def atom(self) -> Value:
        token = self.next()
        if token == "(":
            inner = self.disjunction()
            self.next(")")
            return inner
        if token == "-":
            inner = self.atom()
            return lambda scope: -inner(scope)
        if token == "coalesce":
            self.next("(")
            first = self.disjunction()
            self.next(",")
            second = self.disjunction()
            self.next(")")
            return lambda scope: second(scope) if (found := first(scope)) is None else found
        if token in ("true", "false"):
            return lambda scope: token == "true"
        if token[0] in "'\"":
            text = re.sub(r"\\u(....)", lambda m: chr(int(m[1], 16)), token[1:-1])
            return lambda scope: text
        if token[0].isdigit():
            number = int(token.rstrip("L")) if re.fullmatch(r"\d+L?", token) else float(token.rstrip("d"))
            return lambda scope: number
        return self.path(token)

    def path(self, name: str) -> Value:
        """name, name.property, name[0].property, name[last].property, name.allOf(e => …), name.selectFrom(e => …)."""
        index = -1
        if self.peek() == "[":
            self.next()
            index = -1 if (token := self.next()) == "last" else int(token)
            self.next("]")
        if self.peek() != ".":
            return lambda scope: one(scope[name], -1) if name in scope else own(scope, name)
        self.next()
        member = self.next()
        if self.peek() != "(":
            return lambda scope: None if (event := one(scope.get(name, ()), index)) is None else event.get(member)
        self.next()
        variable = self.next()
        self.next("=>")
        inner = self.disjunction()
        self.next(")")

        def each(scope: Scope) -> list[Any]:
            return [inner({**scope, variable: [event]}) for event in scope.get(name, ())]

        if member == "selectFrom":
            return each
        assert member == "allOf", member
        return lambda scope: negated(any_of([negated(value) for value in each(scope)])) if name in scope else None


def own(scope: Scope, name: str) -> Any:
    """An attribute of the event that the condition is on."""
    return None if (event := one(scope.get("", ()), -1)) is None else event.get(name)


def one(events: Sequence[Event], index: int) -> Event | None:
    """The event of an index; None if there is none."""
    return events[index] if -len(events) <= index < len(events) else None


def any_of(values: Sequence[Any]) -> Any:
    """The disjunction of truth values: true, unknown or false."""
    return True if True in values else None if None in values else False


def negated(value: Any) -> Any:
    """The negation of a truth value."""
    return None if value is None else not value


def combined(function: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """The function of two values; None if one of them is."""
    return None if left is None or right is None else function(left, right)


def calculated(symbol: str, left: Value, right: Value) -> Value:
    """A sum, difference, product or quotient; None if divided by zero."""

    def value(scope: Scope) -> Any:
        a, b = left(scope), right(scope)
        return None if symbol == "/" and b == 0 else combined(ARITHMETIC[symbol], a, b)

    return value


# ---- ceql ----
# The meaning of CEQL by its definition, for the queries that the adapter for CORE writes, which are in parentheses.

Valuation = frozenset[tuple[int, str]]  # positions, each with a variable that marks it
CEQL_TOKEN = re.compile(r"\s*('(?:[^']|'')*'|:\+|<=|>=|!=|[\w.]+|.)")
NANOSECONDS = {"HOURS": 3_600 * 10**9, "MINUTES": 60 * 10**9, "SECONDS": 10**9}


class Meaning:
    """The complex events of a query over the events of a stream declaration."""

    def __init__(self, declaration: str, query: str, events: Sequence[Mapping[str, Any]]) -> None:
        declared = re.findall(r"EVENT (\w+) \{ (.*?) \}", declaration)
        names = [(type_, [one.split(":")[0] for one in attributes.split(", ")]) for type_, attributes in declared]
        self.types = [names[event["type"]][0] for event in events]
        self.attributes = [dict(zip(names[event["type"]][1], event["attributes"], strict=True)) for event in events]
        self.times = [event["time"] for event in events]
        shape = r"SELECT (?:(STRICT|NEXT|LAST|MAX) )?(.*?) FROM S WHERE (.*?)(?: PARTITION BY (.*?))?(?: WITHIN (.*))?"
        found = re.fullmatch(shape, query)
        assert found is not None, query
        self.strategy, self.selected, where, self.keys, self.window = found.groups()
        self.tokens = CEQL_TOKEN.findall(where)
        self.at = 0

    def complex_events(self) -> list[dict[str, Any]]:
        """Each complex event, with the position at which it is reported."""
        found = [mu for mu in self.formula() if self.in_partition(mu) and self.in_window(mu)]
        assert self.at == len(self.tokens), self.tokens[self.at :]
        kept = [mu for mu in found if not any(better(self.strategy, support(mu), support(other)) for other in found)]
        chosen = set(self.selected.split(", "))
        return [
            {"at": max(support(mu)), "marks": sorted(m for m in mu if self.selected == "*" or m[1] in chosen)}
            for mu in kept
            if self.strategy != "STRICT" or len(support(mu)) == max(support(mu)) - min(support(mu)) + 1
        ]

    def in_partition(self, mu: Valuation) -> bool:
        keys = re.findall(r"\w+", self.keys or "")
        values = [{self.attributes[p].get(key) for p in support(mu)} for key in keys]
        return all(len(of) == 1 and None not in of for of in values)

    def in_window(self, mu: Valuation) -> bool:
        if self.window is None:
            return True
        first, last = min(support(mu)), max(support(mu))
        if found := re.fullmatch(r"(\d+) EVENTS", self.window):
            return last - first <= int(found[1])
        if found := re.fullmatch(r"(\d+) \[(\w+)\]", self.window):
            values = [self.attributes[p][found[2]] for p in support(mu)]
            return bool(max(values) - min(values) < int(found[1]))
        amount, unit = self.window.split()
        return bool(self.times[last] - self.times[first] <= float(amount) * NANOSECONDS[unit])

    def next(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1]

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def formula(self) -> set[Valuation]:
        found = self.primary()
        while self.peek() not in (")", ""):
            match self.next():
                case ";":
                    found = joined(found, self.primary(), lambda last, first: last < first)
                case ":":
                    found = joined(found, self.primary(), lambda last, first: last + 1 == first)
                case "OR":
                    found = found | self.primary()
                case "+":
                    found = iterated(found, lambda last, first: last < first)
                case ":+":
                    found = iterated(found, lambda last, first: last + 1 == first)
                case "AS":
                    variable = self.next()
                    found = {mu | {(p, variable) for p in support(mu)} for mu in found}
                case "FILTER":
                    found = self.filtered(found)
                case other:
                    raise AssertionError(other)
        return found

    def primary(self) -> set[Valuation]:
        token = self.next()
        if token != "(":
            return {frozenset({(p, token)}) for p, type_ in enumerate(self.types) if type_ == token}
        found = self.formula()
        assert self.next() == ")"
        return found

    def filtered(self, found: set[Valuation]) -> set[Valuation]:
        token = self.next()
        if token == "(":
            left, start = self.filtered(found), self.next()
            right = self.filtered(found)
            assert self.next() == ")"
            return left & right if start == "AND" else left | right
        assert self.next() == "["
        start = self.at
        while self.next() != "]":
            pass
        predicate = python(self.tokens[start : self.at - 1])
        return {mu for mu in found if all(self.true(predicate, p) for p, variable in mu if variable == token)}

    def true(self, predicate: str, position: int) -> bool:
        return bool(
            eval(
                predicate,
                {"like": lambda text, pattern: bool(re.match(pattern, text, re.DOTALL))},
                self.attributes[position],
            )
        )


def python(tokens: Sequence[str]) -> str:
    """A predicate of CEQL as an expression of Python."""
    text = " ".join(repr(t[1:-1].replace("''", "'")) if t[0] == "'" else t for t in tokens)
    text = re.sub(r"(\S+|\( .*? \)) IN RANGE \( (-?.*?) , (-?.*?) \)", r"(\2) <= \1 <= (\3)", text)
    text = re.sub(
        r"(\w+) LIKE (.*?) \)", lambda m: f"like({m[1]}, {m[2].replace(chr(92) * 2 + 'z', chr(92) * 2 + 'Z')}) )", text
    )
    return re.sub(r"(?<= )=(?= )", "==", text).replace(" AND ", " and ").replace(" OR ", " or ").replace("NOT ", "not ")


def support(mu: Valuation) -> set[int]:
    """The positions of a valuation."""
    return {position for position, _ in mu}


def joined(left: Iterable[Valuation], right: Iterable[Valuation], order: Callable[[int, int], bool]) -> set[Valuation]:
    """The unions of valuations of which the last and the first position are in an order."""
    return {a | b for a, b in product(left, right) if order(max(support(a)), min(support(b)))}


def iterated(found: set[Valuation], order: Callable[[int, int], bool]) -> set[Valuation]:
    """One or more rounds, each in an order with the one before."""
    every, rounds = set(found), set(found)
    while rounds:
        rounds = joined(rounds, found, order) - every
        every |= rounds
    return every


def better(strategy: str | None, C: set[int], other: set[int]) -> bool:
    """Whether another complex event that ends at the same position is chosen before C."""
    if other == C or max(C) != max(other):
        return False
    match strategy:
        case "NEXT":
            return min(C ^ other) in other
        case "LAST":
            return max(C ^ other) in other
        case "MAX":
            return other > C
    return False


# ---- stand in ----
# An adapter as a process that asks a test what its engine finds: the translation is tested without the engine.

Json: TypeAlias = dict[str, Any]
Search: TypeAlias = Callable[[Json], Iterable[Json]]
"""What is found for a translation, as the adapter writes it; raises Refused where the engine has no such query."""


class Refused(Exception):
    """The query is none of the engine's."""


class StandIn:
    """The adapter as a process, whose searches are answered here."""

    def __init__(self, command: Sequence[Any]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started = self.ask({"cmd": "start", "protocol": 1})
        self.claims, self.languages = started["claims"], started["languages"]

    def ask(self, message: Any) -> Json:
        """The next line that the adapter writes after a message."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(message), file=self.process.stdin, flush=True)
        return dict(json.loads(self.process.stdout.readline()))

    def answer(self, run: Json, search: Search) -> Json:
        """The answer to a run."""
        reply = self.ask({"cmd": "run"} | run)
        while "id" not in reply:  # a translation, which waits for what is found
            try:
                reply = self.ask({"found": list(search(reply["translation"]))})
            except Refused as refused:
                reply = self.ask({"refused": str(refused)})
        return reply

    def stop(self) -> None:
        """End the process."""
        self.process.communicate('{"cmd": "stop"}\n')
        assert self.process.returncode == 0


def run_message(language: str, query: str, events: Sequence[Mapping[str, Any]], output: str = "matches") -> Json:
    """A message *run* without a schema."""
    tree = tree_of_text(language, query)
    return {"id": "", "language": language, "query": query, "tree": tree, "events": list(events), "output": output}


def answers(matches: Iterable[Json]) -> set[str]:
    """Matches as a set of what can be compared: all that is said of them."""
    return {json.dumps(plain(match), sort_keys=True) for match in matches}


# ---- epl ----
# The meaning of row patterns of EPL as the adapter for Esper writes them, by the manual of match_recognize.
#
# All matches are reported, at their last event; a variable without a definition takes any event. A definition looks
# at
# the events of the match so far: a variable that takes one event is that event, and one that may take several has
# allOf.

RECOGNITION = re.compile(
    r"select \* from CelEvent match_recognize \(\n  measures (.*)\n  all matches\n  after match skip to current row\n"
    r"  pattern \((.*)\)\n  define (.*)\)",
    re.DOTALL,
)
SEPARATOR = ",\n    "
NAMED = "@name('matches') "
SELECTED = re.compile(rf"insert into Candidate (.*);\n{re.escape(NAMED)}select \* from Candidate where (.*)", re.DOTALL)


@dataclass(frozen=True)
class RowPattern(RowsMeaning):
    """The labellings of a pattern under the definitions of its variables."""

    define: Mapping[str, Value]

    def feasible(self, w: Labelling) -> bool:
        if self.s + len(w) > len(self.P):
            return False
        label = w[-1].variable
        here = self.P[self.s + len(w) - 1]
        scope = {**bound(w, self.P[self.s :]), label: [here]}
        return label not in self.define or self.define[label](scope) is True


def rows(translation: Json) -> Iterator[Json]:
    """The rows of a module over the events, each with the position at which it is reported."""
    epl, events = translation["epl"], translation["events"]
    if " from pattern [" in epl:
        raise Refused("a pattern of -> has a meaning of its own, which is not NXT")
    selected = SELECTED.fullmatch(epl)
    found = RECOGNITION.fullmatch(selected[1] if selected else epl.removeprefix(NAMED))
    assert found is not None, epl
    measures = {
        name: condition(text) for text, _, name in (one.rpartition(" as ") for one in found[1].split(SEPARATOR))
    }
    define = {name: condition(text) for name, _, text in (one.partition(" as ") for one in found[3].split(SEPARATOR))}
    kept = selected[2].split(" and ") if selected else []
    pattern = re.sub(r"[A-Za-z]\w*", quoted, found[2])
    q = parse(f"MATCH_RECOGNIZE (PATTERN ({pattern}))")
    for s in range(len(events)):
        meaning = RowPattern(q, events, s, range(len(events)), 1, STANDARD, lambda labellings: labellings, define)
        for w in set(meaning.labellings(q.pattern, ())):
            scope = bound(w, events[s:])
            row = {name: value(scope) for name, value in measures.items()}
            if all(row.pop(name) is True for name in kept):
                positions = {name: of if isinstance(of, list) else [of] for name, of in row.items() if of is not None}
                yield {"at": s + len(w) - 1, "row": positions}


def bound(w: Labelling, events: Sequence[Event]) -> dict[str, list[Event]]:
    """The events of each variable."""
    found: dict[str, list[Event]] = {}
    for label, event in zip(w, events, strict=False):
        found.setdefault(label.variable, []).append(event)
    return found


def quoted(name: re.Match[str]) -> str:
    """A name of a pattern in quotation marks, so that its letters stay as they are."""
    return f'"{name[0]}"'


# ---- siddhi ql ----
# The meaning of the apps that the adapter for Siddhi writes: patterns and sequences of SiddhiQL, by its query guide.
#
# With `every`, each event that fits the first step begins. In a sequence the next step takes the next event, in a
# pattern
# the next one that fits. A count ends at the first event of the next step, in the last place at its first. `not …
# and` is
# the end of it all at an event that is not to be; `within` is the time that all events are less apart. A comparison
# with NULL is false.

APP = re.compile(
    r"@app:playback define stream Events \((.*?)\); @info\(name = 'matches'\) from every (.*?)"
    r"(?: within (\d+) milliseconds)? select (.*) insert into Matches;"
)
FILTER = r"Events\[((?:[^\[\]\"]|\"[^\"]*\"|\[\w+\])*)\]"
STEP = re.compile(rf"(?:not {FILTER} and )?(\w+)={FILTER}(\+|<\d+:\d*>)?(?: (,|->) |$)")
Taken: TypeAlias = tuple[tuple[int, ...], ...]
"""The positions of each step."""


@dataclass(frozen=True)
class Step:
    """A step, and what must not come before it; most is None without an upper bound."""

    name: str
    filter: Value
    absent: Value | None
    least: int
    most: int | None


def rows_siddhi_ql(translation: Json) -> Iterator[Json]:
    """What is selected of each match over the rows of the stream, with the position at which it is reported."""
    found = APP.fullmatch(translation["app"])
    assert found is not None, translation["app"]
    columns, pattern, within, selected = found.groups()
    names = [column.split()[0] for column in columns.split(", ")]
    events: list[Event] = [dict(zip(names, row, strict=True)) for row in translation["rows"]]
    steps, connectives = steps_of(pattern)
    run = Run(steps, events, translation["times"], int(within) if within else None)
    outputs = [condition(item.rpartition(" as ")[0]) for item in selected.split(", ")]
    for start in range(len(events)):
        if (taken := run.found(start, "," in connectives)) is not None:
            scope = run.scope(taken)
            yield {"at": max(taken[-1]), "row": [output(scope) for output in outputs]}


def steps_of(pattern: str) -> tuple[list[Step], set[str]]:
    """The steps, and what is between them."""
    found = list(STEP.finditer(pattern))
    assert "".join(one[0] for one in found) == pattern, pattern
    return [step_of(*one.groups()[:4]) for one in found], {one[5] for one in found if one[5]}


def step_of(absent: str | None, name: str, filter_: str, count: str | None) -> Step:
    """A step from its parts."""
    least, most = 1, 1 if count is None else None
    if count is not None and count != "+":
        bounds = count[1:-1].split(":")
        least, most = int(bounds[0]), int(bounds[1]) if bounds[1] else None
    return Step(name, condition(filter_, False), None if absent is None else condition(absent, False), least, most)


@dataclass(frozen=True)
class Run:
    """The steps over the events with their times, in milliseconds."""

    steps: Sequence[Step]
    events: Sequence[Event]
    times: Sequence[int]
    within: int | None

    def scope(self, taken: Taken) -> dict[str, list[Event]]:
        """The events of each step so far."""
        return {step.name: [self.events[p] for p in of] for step, of in zip(self.steps, taken, strict=False)}

    def fits(self, filter_: Value, taken: Taken, p: int) -> bool:
        """Whether the filter of a step is true of the event, and it is within the time."""
        late = self.within is not None and bool(taken) and self.times[p] - self.times[taken[0][0]] >= self.within
        return not late and filter_({**self.scope(taken), "": [self.events[p]]}) is True

    def found(self, start: int, strict: bool) -> Taken | None:
        """The match that begins at an event, if there is one; strict: of a sequence."""
        taken: Taken = ()
        for p in range(start, len(self.events)):
            last = self.steps[len(taken) - 1] if taken else None
            step = self.steps[len(taken)]
            enough = last is None or len(taken[-1]) >= last.least
            if enough and step.absent is not None and self.fits(step.absent, taken, p):
                return None
            if enough and self.fits(step.filter, taken, p):
                taken = (*taken, (p,))
                if len(taken) == len(self.steps):
                    return taken
            elif last is not None and len(taken[-1]) != last.most and self.fits(last.filter, taken, p):
                taken = (*taken[:-1], (*taken[-1], p))
            elif last is None or strict:
                return None
        return None


# ---- sase file ----
# The meaning of SASE's query files: they are read as SASE+, and the definition has the matches.

COMPONENT = re.compile(r"(!?)(\w+)(\+?) ([a-z])((?:\[\])?)(?=[,)])")
CONDITION = re.compile(r"(([a-z])(\[1\]|\[i\])?\.\S.*?) (<=|>=|!=|<|>|=) (\S+)")


def complex_events(translation: Any) -> list[Any]:
    """The matches of a query file over the events, with their positions."""
    S = Stream([SaseEvent(one["type"], {**one["attributes"], TIME: one["time"]}) for one in translation["events"]])
    language = LANGUAGES["sase"]
    found = language.evaluators.matches(
        language.syntax.parse(sase(translation["query"])), S, DENOTATIONAL, Options("matches")
    )
    return [{"at": match.at, "events": list(match.events)} for match in found]


def sase(text: str) -> str:
    """The query file in SASE+.

    A condition belongs to the component whose letter it begins with. One on b[i] is on the second event of a Kleene
    plus and those after it, any other on the first. [i-1] is the event before: of a component before, the last one.
    """
    pattern, where, *rest, within = text.splitlines()
    components = COMPONENT.findall(pattern.removeprefix("PATTERN SEQ").replace(", ", ","))
    kleene = {letter for _, _, plus, letter, _ in components if plus}
    parts = [f"{'~' if no else ''}{type_}{plus} {letter}{index}" for no, type_, plus, letter, index in components]
    assert pattern == f"PATTERN SEQ({', '.join(parts).replace('~', '!')})", pattern
    assert [letter for *_, letter, _ in components] == [chr(ord("a") + k) for k in range(len(components))], pattern
    arguments = ", ".join(letter + index for no, _, _, letter, index in components if not no)
    lines = [line.removeprefix("AND ") for line in rest]
    body = " and ".join([line for line in lines if line[0] == "["] + list(conditions(lines, kleene)))
    strategy = where.removeprefix("WHERE ").replace("-", "_")
    seconds = within.removeprefix("WITHIN ")
    return f"PATTERN SEQ({', '.join(parts)}) WHERE {strategy}({arguments}) {{ {body} }} WITHIN {seconds} seconds"


def conditions(lines: list[str], kleene: set[str]) -> Iterator[str]:
    """The conditions in SASE+: b[i] is the first event too, so that one on it, but of b[i-1], has to be there twice."""
    for line in lines:
        if line[0] == "[":
            continue
        found = CONDITION.fullmatch(line)
        assert found is not None, line
        left, letter, place, comparator, right = found.groups()
        assert (place is not None) == (letter in kleene), line
        if place == "[i]" and f"{letter}[i-1]." not in right:
            first = line.replace(f"{letter}[i].", f"{letter}[1].")
            assert first in lines, f"{line}, but not {first}"
        elif place == "[1]" and line.replace(f"{letter}[1].", f"{letter}[i].") in lines:
            continue
        yield f"{left} {comparator} {last_of_others(right, letter)}"


def last_of_others(operand: str, letter: str) -> str:
    """An operand, where the event before is the last one of another component."""
    return re.sub(r"([a-z])\[i-1\]", lambda m: m[0] if m[1] == letter else f"{m[1]}[{m[1]}.LEN]", operand)


# ---- sql statement ----
# The meaning of the statements of SQL that adapters send: the text has the table, and the clause its definition.

KINDS = {name: kind for kind, name in sql.TYPES.items()}
TYPE = "|".join(map(re.escape, KINDS))
STRING = r"'(?:[^']|'')*'"
WITH = re.compile(
    rf"WITH {sql.TABLE} AS \(SELECT \* FROM (.*) AS cerify_values \((.*?)\)(.*?)\) (SELECT .*)", re.DOTALL
)
CELL = re.compile(rf"CAST\((NULL|TRUE|FALSE|(?:TIMESTAMP )?{STRING}|[-+.\dE]+) AS ({TYPE})\)", re.IGNORECASE)
ARRAY = re.compile(
    rf"(CAST\()?CAST\(JSON_PARSE\(({STRING})\) AS ARRAY\((VARCHAR|{TYPE})\)\)(?: AS ARRAY\(({TYPE})\)\))?"
)
FLINK = re.compile(rf"SELECT \* FROM {sql.TABLE} (MATCH_RECOGNIZE \(.*\))", re.DOTALL)
ROW_TIME, LISTED_ROWS = "cerify_time", "CERIFY_ROWS"
LISTED = re.compile(rf"LISTAGG\(CAST\({sql.PLACE} AS VARCHAR\)\) AS ({LISTED_ROWS})\b", re.IGNORECASE)


def result(translation: Json) -> Iterator[Json]:
    """The result of a statement that has its table, of values or of a literal for each column."""
    found = WITH.fullmatch(translation["statement"])
    assert found is not None, translation
    source, names, condition, select = found.groups()
    columns = names.split(", ")
    kinds, rows = _columns(source, columns) if source.startswith("UNNEST(") else _values(source, columns)
    if condition == f" WHERE {sql.PLACE} IS NOT NULL":
        rows = [row for row in rows if row[columns.index(sql.PLACE)] is not None]
    else:
        assert not condition, condition
    clause = select.partition(f"FROM {sql.TABLE} ")[2]
    head, shown, _ = _result(clause, list(zip(columns, kinds, strict=True)), rows)
    yield {"columns": head, "rows": shown}


def _columns(source: str, columns: Sequence[str]) -> tuple[list[str], list[Sequence[Any]]]:
    """UNNEST of an array for each column: the types of the columns, and the rows."""
    arrays = ARRAY.findall(source)
    assert len(arrays) == len(columns), source
    values, kinds = [], []
    for twice, literal, inner, outer in arrays:
        assert bool(twice) == bool(outer) == (outer.startswith("TIMESTAMP")), source
        kinds.append(KINDS[outer or inner])
        values.append([_moment(v) if outer else v for v in json.loads(_text(literal))])
    return kinds, list(zip(*values, strict=True))


def _values(source: str, columns: Sequence[str]) -> tuple[list[str], list[Sequence[Any]]]:
    """VALUES: the types of the columns, and the rows."""
    cells = CELL.findall(source)
    width = len(columns)
    rows = [[_value(text) for text, _ in cells[i : i + width]] for i in range(0, len(cells), width)]
    assert re.sub(r"[(), ]", "", CELL.sub("", source)) == "VALUES", source
    return [KINDS[kind] for _, kind in cells[:width]], list(rows)


def _value(text: str) -> Any:
    if text in ("NULL", "TRUE", "FALSE"):
        return {"NULL": None, "TRUE": True, "FALSE": False}[text]
    if text.startswith("TIMESTAMP "):
        return _moment(_text(text.removeprefix("TIMESTAMP ")))
    return _text(text) if text[0] == "'" else json.loads(text)


def _text(literal: str) -> str:
    return literal[1:-1].replace("''", "'")


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(f"{text}+00:00")


def in_flink(message: Json) -> Search:
    """The results of statements over the table of a run, with a row time; LISTAGG has the rows of a match."""
    columns = [(ROW_TIME, "int"), *((one["name"], KINDS[one["type"]]) for one in message["columns"])]
    rows = [[second, *row] for second, row in enumerate(message["rows"])]

    def search(translation: Json) -> Iterator[Json]:
        found = FLINK.fullmatch(translation["statement"])
        assert found is not None, translation
        text, listed = LISTED.subn(rf"LAST({sql.PLACE}) AS \1", found[1].replace("`", '"'))
        assert listed == 1, text
        parts = list(subtrees(parse(text).pattern))
        variables = [p.name for p in parts if isinstance(p, RowVariable)]
        groups = any(isinstance(p, Quantified) and not isinstance(p.pattern, RowVariable) for p in parts)
        if "ONE ROW PER MATCH" not in text or groups or len(variables) > len(set(variables)):
            raise Refused("Flink has no ALL ROWS PER MATCH, no quantified group, and no variable in two places")
        names, result, matches = _result(text, columns, rows)
        if not all(match.events for match in matches):
            raise Refused("Flink has no match without rows")
        place = names.index(LISTED_ROWS)
        for row, match in zip(result, matches, strict=True):
            row[place] = ",".join(map(str, match.events))
        yield {"columns": [name.lower() if name.startswith("CERIFY") else name for name in names], "rows": result}

    return search


def _result(
    clause: str, columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[Any]]
) -> tuple[list[str], list[list[Any]], list[NumberedMatch]]:
    """The columns, the rows and the matches of a clause."""
    try:
        output, found = answered(clause, columns, rows)
    except CerifyError as error:
        raise Refused(error.message) from None
    names, shown = table(output, found)
    return names, plain([list(row) for row in shown]), found
