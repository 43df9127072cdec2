"""CEL as patterns: the syntax tree in JSON that the protocol sends, as alternatives of steps with conditions.

A formula has one or more alternatives, because OR is distributed. An alternative is a tree of SEQ and AND over leaves;
a leaf takes one event, or in a Kleene closure some events, of one type. It is labelled with the variables that bind it.
Conditions are code over the events that leaves have taken.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count, pairwise, product
from operator import eq, ge, gt, le, lt, ne
from typing import Any

# ---------------------------------------------------------------------------------------------------------------------
# Conditions: each a function of the events that steps have taken, and the Python source of that function.

Json = Mapping[str, Any]
Taken = Mapping[str, Any]
"""Maps the name of a step to its event, and the name of a closure to its list of events."""
COMPARE = {"=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}


@dataclass(frozen=True)
class Code:
    """An expression as Python source, and the function that evaluates it. No text of a query is executed."""

    source: str
    value: Callable[[Taken], Any]


def constant(value: Any) -> Code:
    """Return code for a constant."""
    return Code(repr(value), lambda taken: value)


def value_of_name(name: str) -> Code:
    """Return code that reads the value of this name."""
    return Code(name, lambda taken: taken[name])


def attribute(event: Code, name: str) -> Code:
    """Return the attribute of an event; None if it is absent."""
    return Code(f"{event.source}.get({name!r})", lambda taken: event.value(taken).get(name))


def call(function: Callable[..., Any], *arguments: Code) -> Code:
    """Return code for a call of the function."""
    source = f"{function.__name__}({', '.join(one.source for one in arguments)})"
    return Code(source, lambda taken: function(*(one.value(taken) for one in arguments)))


def both(left: Code, right: Code) -> Code:
    """Return code for the conjunction."""
    return Code(f"({left.source} and {right.source})", lambda taken: left.value(taken) and right.value(taken))


def either(left: Code, right: Code) -> Code:
    """Return code for the disjunction."""
    return Code(f"({left.source} or {right.source})", lambda taken: left.value(taken) or right.value(taken))


def complement(test: Code) -> Code:
    """Return code for the negation."""
    return Code(f"(not {test.source})", lambda taken: not test.value(taken))


def every(test: Code, ranges: Mapping[str, Code]) -> Code:
    """Return code that tests a condition for every combination of values from the ranges.

    ranges: for each name that the condition uses, code for the list of its values.
    """
    if not ranges:
        return test
    loops = " ".join(f"for {name} in {values.source}" for name, values in ranges.items())

    def value(taken: Taken) -> bool:
        choices = product(*(values.value(taken) for values in ranges.values()))
        return all(test.value({**taken, **dict(zip(ranges, choice))}) for choice in choices)

    return Code(f"all({test.source} {loops})", value)


def compare(left: Any, comparator: str, right: Any) -> bool:
    """Return whether a comparison is true.

    It is false if a value is absent, if the values have different kinds, or if <, <=, > or >= compares Booleans.
    """
    if left is None or right is None or _kind(left) != _kind(right):
        return False
    if isinstance(left, bool) and comparator not in ("=", "!="):
        return False
    return COMPARE[comparator](left, right)


def _kind(value: Any) -> str:
    return "bool" if isinstance(value, bool) else "number" if isinstance(value, int | float) else "string"


def one_of(value: Any, values: Sequence[Any]) -> bool:
    """Return whether a value is one of these."""
    return any(compare(value, "=", other) for other in values)


def events(*taken: Any) -> list[Json]:
    """Return the events of steps as one list. A closure has a list of events; a step has one event."""
    return [event for some in taken for event in (some if isinstance(some, list) else [some])]


def at(some: Sequence[Json], place: int) -> Json:
    """Return the event at a place, counted from the end if negative; if there is none, an event without attributes."""
    return some[place] if len(some) >= abs(place) else {}


def beginnings(some: Sequence[Json], least: int) -> list[Sequence[Json]]:
    """Return the prefixes of `some` that have at least `least` events."""
    return [some[:n] for n in range(least, len(some) + 1)]


def agree(some: Sequence[Json], name: str) -> bool:
    """Return whether each event has the same value as the event before it."""
    return all(compare(one.get(name), "=", other.get(name)) for one, other in pairwise(some))


FUNCTIONS = {one.__name__: one for one in (compare, one_of, events, at, beginnings, agree)}


def predicate(tree: Json, value: Callable[[Json], Code]) -> Code:
    """Return a predicate on single events as code. Raises ValueError for other predicates.

    value: a function that makes the code for an attribute or a reference.
    """

    def term(side: str) -> Code:
        found = tree[side]
        return constant(found["value"]) if found["node"] == "Constant" else value(found)

    def below(side: str) -> Code:
        return predicate(tree[side], value)

    match tree["node"]:
        case "Comparison":
            return call(compare, term("left"), constant(tree["comparator"]), term("right"))
        case "OneOf":
            return call(one_of, term("term"), constant(tree["values"]))
        case "InRange":
            low = call(compare, constant(tree["low"]), constant("<="), term("term"))
            return both(low, call(compare, term("term"), constant("<="), constant(tree["high"])))
        case "Complement":
            return complement(below("predicate"))
        case "Both":
            return both(below("left"), below("right"))
        case "Either":
            return either(below("left"), below("right"))
        case "Anything":
            return constant(True)
    raise ValueError(f"there is no condition for {tree['node']}")


# ---------------------------------------------------------------------------------------------------------------------
# Formulas as chains.

Match = tuple[int, list[list[int]]]  # the position after which it is reported, and the positions of each leaf
SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
EPOCH = datetime(5000, 1, 1)  # the time of the first event
CLAIMS = {
    "operators": ["seq", "cseq", "plus", "repeat", "or", "all", "in", "project", "filter", "within", "strict"],
    "predicates": ["comparison", "in", "range", "not", "and", "or", "correlated"],
    "output": ["matches"],
    "ordered_time": True,
}
NOT_COMPARED = frozenset({"Arithmetic", "Like", "OfType", "Named", "Timestamp"})


class NotExpressible(Exception):
    """The reason why OpenCEP cannot express a query."""


@dataclass(frozen=True)
class Leaf:
    """A step that takes one event of a type. If `least` is set, it is a Kleene closure, which takes from `least` to
    `most` events (None: no limit).

    absent: whether the step takes no event; then no event between its neighbours may satisfy its conditions.
    """

    type: str
    name: str
    labels: frozenset[str]
    least: int | None = None
    most: int | None = None
    absent: bool = False

    @property
    def closure(self) -> bool:
        """Return whether the step is a Kleene closure."""
        return self.least is not None


@dataclass(frozen=True)
class PatternOperator:
    """SEQ or AND of steps."""

    name: str
    steps: "tuple[Leaf | PatternOperator, ...]"


@dataclass(frozen=True)
class Condition:
    """A condition on the events of leaves. A condition on a single Kleene closure must be true of each of its
    events.
    """

    names: tuple[str, ...]
    code: Code


@dataclass(frozen=True)
class Alternative:
    """A pattern: its steps, its conditions, and the pairs of leaves that must be adjacent in the stream."""

    root: PatternOperator
    conditions: tuple[Condition, ...] = ()
    contiguous: tuple[tuple[str, str], ...] = ()

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """Return the leaves that take events, in the order of the pattern."""
        return tuple(leaf for leaf in leaves_of(self.root) if not leaf.absent)


@dataclass(frozen=True)
class Window:
    """The outermost window: the greatest distance between the first and the last event, in seconds or in positions."""

    width: int
    of_time: bool


Search = Callable[[Alternative, Window | None, Sequence[Json], Sequence[float]], list[Match]]


def translated(tree: Json) -> tuple[list[Alternative], Window | None]:
    """Return the alternatives of a formula and its window. Raises NotExpressible for a formula that OpenCEP cannot
    express.
    """
    for node in nodes(tree):
        if node["node"] in NOT_COMPARED or (node["node"] == "Attribute" and node["name"] == "time"):
            raise NotExpressible("conditions must compare attributes that are numbers, strings or truth values")
    window, tree = _hoisted(tree)
    found = _alternatives(tree, (f"e{number}" for number in count()))
    labelled = [[bool(leaf.labels) for leaf in one.leaves] for one in found]
    if not all(map(any, labelled)) or (window is not None and not all(map(all, labelled))):
        raise NotExpressible("PROJECT must keep an event of each match; in a window it must keep all events")
    return found, window


def leaves_of(step: Leaf | PatternOperator) -> Iterator[Leaf]:
    """Yield the leaves below a step, from left to right."""
    if isinstance(step, Leaf):
        yield step
    else:
        for below in step.steps:
            yield from leaves_of(below)


def _hoisted(tree: Json) -> tuple[Window | None, Json]:
    """Return the outermost window, and the formula without it. The window may be inside filters and variables."""
    if tree["node"] == "Within":
        window = tree["window"]
        if window["node"] == "EventWindow":
            return Window(window["count"] - 1, False), tree["phi"]
        if window["node"] == "TimeWindow":
            return Window(window["amount"] * SECONDS[window["unit"]], True), tree["phi"]
        raise NotExpressible("windows on attributes are not supported")
    if tree["node"] in ("Filter", "In"):
        window_, phi = _hoisted(tree["phi"])
        return window_, {**tree, "phi": phi}
    return None, tree


def _alternatives(tree: Json, names: Iterator[str]) -> list[Alternative]:
    match tree["node"]:
        case "Event":
            leaf = Leaf(tree["type"], next(names), frozenset([tree["type"]]))
            return [Alternative(PatternOperator("SEQ", (leaf,)))]
        case "Or":
            return _alternatives(tree["left"], names) + _alternatives(tree["right"], names)
        case "Seq" | "ContiguousSeq" | "All" as node:
            pairs = product(_alternatives(tree["left"], names), _alternatives(tree["right"], names))
            return [_joined(node, left, right) for left, right in pairs]
        case "Plus":
            return [_closure(tree, names, 1, None)]
        case "Repeat":
            return [_closure(tree, names, tree["least"], tree["most"])]
        case "In":
            x = tree["variable"]
            return [_labelled(one, lambda labels: labels and labels | {x}) for one in _alternatives(tree["phi"], names)]
        case "Project":
            L = frozenset(tree["variables"])
            return [_labelled(one, lambda labels: labels & L) for one in _alternatives(tree["phi"], names)]
        case "Strict":
            return [_strict(one) for one in _alternatives(tree["phi"], names)]
        case "Filter":
            found = (_filtered(one, tree["condition"]) for one in _alternatives(tree["phi"], names))
            return [one for one in found if one is not None]
        case "Within":
            raise NotExpressible("a window must be around the whole pattern")
        case other:
            raise NotExpressible(f"OpenCEP has SEQ, AND, OR and Kleene closures, but no {other}")


def _joined(node: str, left: Alternative, right: Alternative) -> Alternative:
    contiguous = left.contiguous + right.contiguous
    if node == "All":
        if {leaf.type for leaf in left.leaves} & {leaf.type for leaf in right.leaves}:
            raise NotExpressible("both sides of ALL may take the same event, but AND of OpenCEP needs two events")
        root = PatternOperator("AND", (_single(left.root), _single(right.root)))
    else:
        root = PatternOperator("SEQ", (*_steps(left.root), *_steps(right.root)))
    if node == "ContiguousSeq":
        last, first = _steps(left.root)[-1], _steps(right.root)[0]
        _require_single(last, first)
        contiguous += ((last.name, first.name),)
    return Alternative(root, left.conditions + right.conditions, contiguous)


def _require_single(*steps: Leaf | PatternOperator) -> None:
    if not all(isinstance(step, Leaf) and step.labels and not step.closure for step in steps):
        raise NotExpressible("contiguous steps must be single events")


def _steps(root: PatternOperator) -> tuple[Leaf | PatternOperator, ...]:
    return root.steps if root.name == "SEQ" else (root,)


def _single(root: PatternOperator) -> Leaf | PatternOperator:
    return root.steps[0] if len(root.steps) == 1 else root


def _closure(tree: Json, names: Iterator[str], least: int, most: int | None) -> Alternative:
    below = _alternatives(tree["phi"], names)
    if len(below) != 1 or len(below[0].leaves) != 1 or below[0].leaves[0].closure or least < 1:
        raise NotExpressible("a Kleene closure must be of single events of one type")
    (leaf,) = below[0].leaves
    return replace(below[0], root=PatternOperator("SEQ", (replace(leaf, least=least, most=most),)))


def _strict(one: Alternative) -> Alternative:
    _require_single(*_steps(one.root))
    names = [leaf.name for leaf in one.leaves]
    return replace(one, contiguous=tuple(zip(names, names[1:])))


def _labelled(one: Alternative, change: Callable[[frozenset[str]], frozenset[str]]) -> Alternative:
    def changed(step: Leaf | PatternOperator) -> Any:
        if isinstance(step, Leaf):
            return replace(step, labels=change(step.labels))
        return replace(step, steps=tuple(map(changed, step.steps)))

    return replace(one, root=changed(one.root))


def _filtered(one: Alternative, condition: Json) -> Alternative | None:
    """Return the alternative with the condition; None if no match can satisfy it."""
    if condition["node"] == "Conjunction":
        left = _filtered(one, condition["left"])
        return left and _filtered(left, condition["right"])
    if condition["node"] == "Every":
        x = condition["variable"]
        found = [Condition((of.name,), _code(condition, {x: [of]})) for of in one.leaves if x in of.labels]
        return replace(one, conditions=one.conditions + tuple(found))
    mentioned = frozenset(node["variable"] for node in nodes(condition) if node.get("variable"))
    leaves = [leaf for leaf in one.leaves if leaf.labels & mentioned]
    code = _code(condition, {v: [leaf for leaf in leaves if v in leaf.labels] for v in mentioned})
    if not leaves:
        return one if code.value({}) else None
    if len(leaves) == 1 and leaves[0].closure:
        raise NotExpressible("a condition on a Kleene closure must be on each of its events")
    return replace(one, conditions=(*one.conditions, Condition(tuple(leaf.name for leaf in leaves), code)))


def nodes(tree: Any) -> Iterator[Json]:
    """Yield all nodes of a tree, from left to right."""
    if isinstance(tree, Mapping):
        yield tree
    for value in tree.values() if isinstance(tree, Mapping) else tree if isinstance(tree, list) else ():
        yield from nodes(value)


def _code(condition: Json, leaves: Mapping[str, Sequence[Leaf]]) -> Code:
    """Return code for a condition on variables. A variable stands for the events of all leaves that it labels."""
    if condition["node"] in ("Conjunction", "Disjunction"):
        join = both if condition["node"] == "Conjunction" else either
        return join(_code(condition["left"], leaves), _code(condition["right"], leaves))
    # Every attribute of a correlated condition has an event of its own, also where a variable is mentioned twice.
    attributes = [node for node in nodes(condition["predicate"]) if node["node"] == "Attribute"]
    correlated = condition["node"] == "Correlated"
    variables = [node["variable"] for node in attributes] if correlated else [condition["variable"]]
    found, ranges = [], {}
    for number, variable in enumerate(variables):
        of = leaves.get(variable, ())
        if len(of) == 1 and not of[0].closure:
            found.append(value_of_name(of[0].name))
        else:
            found.append(value_of_name(f"p{number}"))
            ranges[f"p{number}"] = call(events, *(value_of_name(leaf.name) for leaf in of))
    event = {id(node): code for node, code in zip(attributes, found if correlated else found * len(attributes))}
    return every(predicate(condition["predicate"], lambda node: attribute(event[id(node)], node["name"])), ranges)


# ---------------------------------------------------------------------------------------------------------------------
# Patterns written with the names of OpenCEP: as objects of OpenCEP, or as the Python source that makes them.

UNBOUNDED = 1_000_000  # days: the window of a pattern that has none


class Source(str):
    """Python source code, to be written unchanged."""

    def __repr__(self) -> str:
        return str(self)


class Sources:
    """Stands in for the names of OpenCEP: each call returns the Python source of that call instead of an object."""

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any, **named: Any) -> Source:
            return Source(f"{name}({', '.join([*map(repr, arguments), *(f'{k}={v!r}' for k, v in named.items())])})")

        return call

    taken_events = Source("taken_events")

    def function(self, names: tuple[str, ...], code: Code) -> Source:
        """Return the source of a function on the events of these names."""
        return Source(f"lambda {', '.join(names)}: {code.source}")


def source(pattern: Alternative, window: Window | None) -> str:
    """Return the Python source that builds the pattern."""
    return str(build_pattern(pattern, window, Sources()))


def build_pattern(pattern: Alternative, window: Window | None, names: Any) -> Any:
    """Return the pattern as an object.

    names: the names of OpenCEP, timedelta, `taken_events`, which reads a payload, and `function`, which makes a
    condition.
    """
    conditions = names.AndCondition(*(_condition(one, names) for one in pattern.conditions))
    width = names.timedelta(days=UNBOUNDED) if window is None else names.timedelta(seconds=window.width)
    policy = names.ConsumptionPolicy(contiguous=_runs(pattern)) if pattern.contiguous else None
    return names.Pattern(_structure(pattern.root, names), conditions, width, policy)


def _structure(step: Leaf | PatternOperator, names: Any) -> Any:
    if isinstance(step, PatternOperator):
        operator = names.SeqOperator if step.name == "SEQ" else names.AndOperator
        return operator(*(_structure(below, names) for below in step.steps))
    one = names.PrimitiveEventStructure(step.type, step.name)
    if step.absent:
        return names.NegationOperator(one)
    return names.KleeneClosureOperator(one, step.least, step.most) if step.closure else one


def _condition(condition: Condition, names: Any) -> Any:
    variables = (names.Variable(name, names.taken_events) for name in condition.names)
    return names.SimpleCondition(*variables, relation_op=names.function(condition.names, condition.code))


def _runs(pattern: Alternative) -> list[list[str]]:
    """Return the longest sequences of leaves that must be adjacent in the stream."""
    runs: list[list[str]] = []
    names = [leaf.name for leaf in pattern.leaves]
    for first, second in sorted(set(pattern.contiguous), key=lambda pair: names.index(pair[0])):
        if runs and runs[-1][-1] == first:
            runs[-1].append(second)
        else:
            runs.append([first, second])
    return runs
