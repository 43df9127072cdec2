"""SASE+ as patterns: one block under skip till any match, with negated components between others."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from chains import (
    NOT_COMPARED,
    SECONDS,
    Alternative,
    Binding,
    Condition,
    Json,
    Leaf,
    Operator,
    Skip,
    Window,
    compare,
    nodes,
)

Value = Callable[[Json], Any]  # of a reference
CLAIMS = {
    "operators": ["kleene", "within", "negation", "equivalence", "correlated", "end"],
    "predicates": ["comparison", "not", "and", "or", "correlated"],
    "strategies": ["any"],
    "output": ["matches"],
    "ordered_time": True,
}
RANKS = {"only": 0, "first": 0, "previous": 1, "current": 2, "last": 3}
"""The order of references to the events of one component; by the last, a condition is looked at earlier or later."""
LEAST = 1e-6  # seconds between two times: a window of SASE+ is open, one of OpenCEP is closed


def translated(tree: Json) -> tuple[list[Alternative], Window | None]:
    """The pattern of a query and its window. Raises Skip for what OpenCEP cannot express."""
    if tree["node"] != "Query" or tree["having"] or tree["source"] or tree["returned"]["non_overlap"]:
        raise Skip("a pattern is one block without HAVING and NON-OVERLAP")
    if any(node["node"] in NOT_COMPARED | {"Aggregate"} for block in tree["where"] for node in nodes(block)):
        raise Skip("conditions compare attributes, which are numbers, strings or truth values, with each other")
    pattern = tree["pattern"]
    if pattern[0]["negated"] or pattern[-1]["negated"] or any(k["negated"] and k["kleene"] for k in pattern):
        raise Skip("a negated component is a single event between two others")
    _require_any(tree)
    leaves = [_leaf(component) for component in pattern]
    conditions = []
    for block in tree["where"]:
        for conjunct in block["conjuncts"]:
            condition = conjunct["condition"]
            if condition["node"] == "Equivalence":
                conditions += _equivalence(condition["attribute"], leaves)
            else:
                conditions.append(_condition(condition, leaves))
    window = tree["within"]
    width = window and window["amount"] * SECONDS[window["unit"].removesuffix("s")] - LEAST
    found = Alternative(Operator("SEQ", tuple(leaves)), tuple(conditions))
    return [found], window and Window(width, True)


def _require_any(tree: Json) -> None:
    strategies = {a["variable"]: (b["strategy"], a["cut"]) for b in tree["where"] for a in b["arguments"]}
    for component in tree["pattern"]:
        if not component["negated"] and strategies.get(component["variable"]) != ("skip_till_any_match", False):
            raise Skip("MATCH_ANY is skip till any match, of all components, without !")
    if any(conjunct["underlined"] for block in tree["where"] for conjunct in block["conjuncts"]):
        raise Skip("there are no partitions")


def _leaf(component: Json) -> Leaf:
    least = 1 if component["kleene"] else None
    labels = frozenset() if component["negated"] else frozenset([component["variable"]])
    return Leaf(component["type"], component["variable"], labels, least, absent=component["negated"])


def _equivalence(attribute: str, leaves: Sequence[Leaf]) -> list[Condition]:
    """[attribute]: each event has the value of the one before it, and an absent one that of the last before it."""
    taken = [leaf for leaf in leaves if not leaf.absent]
    if len(taken) == 1 and taken[0].closure:
        raise Skip("a condition on a Kleene closure alone is one on each of its events")
    pairs = [(*pair, False) for pair in pairwise(taken)]
    for place, leaf in enumerate(leaves):
        if leaf.absent:
            pairs.append(([one for one in leaves[:place] if not one.absent][-1], leaf, True))

    def agree(one: Leaf, other: Leaf, last: bool) -> Callable[[Binding], bool]:
        def test(b: Binding) -> bool:
            events = [*(b[one.name][-1:] if last else b[one.name]), *b[other.name]]
            return all(compare("=", x.get(attribute), y.get(attribute)) for x, y in pairwise(events))

        return test

    return [Condition((one.name, other.name), agree(one, other, last)) for one, other, last in pairs]


def _condition(predicate: Json, leaves: Sequence[Leaf]) -> Condition:
    """A conjunct of WHERE, which is looked at with the events of its last component, the absent one if there is one."""
    references = [node for node in nodes(predicate) if node["node"] == "Reference"]
    names = {node["variable"] for node in references}
    mentioned = [leaf for leaf in leaves if leaf.name in names]
    if not mentioned:
        raise Skip("a condition is about some event")
    if sum(leaf.absent for leaf in mentioned) > 1:
        raise Skip("a condition is about one negated component")
    last = next((leaf for leaf in mentioned if leaf.absent), mentioned[-1])
    ranks = {RANKS[node["place"]] for node in references if node["variable"] == last.name}
    if last.closure and len(mentioned) == 1 and ranks != {2}:  # OpenCEP would look at each event by itself
        other = next((leaf for leaf in leaves if not leaf.absent and leaf is not last), None)
        if other is None:
            raise Skip("a condition on a Kleene closure alone is one on each of its events")
        mentioned.append(other)

    def test(b: Binding) -> bool:
        return all(_true(predicate, {**b, last.name: some}) for some in _looked_at(b[last.name], ranks))

    return Condition(tuple(leaf.name for leaf in mentioned), test)


def _looked_at(events: Sequence[Json], ranks: Iterable[int]) -> list[Sequence[Json]]:
    """The beginnings of the events after which a condition on them is looked at."""
    highest = set(ranks)
    if 3 in highest:
        return [events]
    if highest == {0}:
        return [events[:1]]
    return [events[:n] for n in range(1 if highest == {2} else 2, len(events) + 1)]


def _true(predicate: Json, events: Mapping[str, Sequence[Json]]) -> bool:
    """Whether a predicate is true of the events that each variable has so far."""

    def value(term: Json) -> Any:
        if term["node"] == "Constant":
            return term["value"]
        of = events[term["variable"]]
        place = {"only": 0, "first": 0, "current": -1, "last": -1, "previous": -2}[term["place"]]
        return of[place].get(term["name"]) if len(of) >= abs(place) else None

    match predicate["node"]:
        case "Comparison":
            return compare(predicate["comparator"], value(predicate["left"]), value(predicate["right"]))
        case "Complement":
            return not _true(predicate["predicate"], events)
        case "Both":
            return _true(predicate["left"], events) and _true(predicate["right"], events)
        case "Either":
            return _true(predicate["left"], events) or _true(predicate["right"], events)
    raise Skip(f"there is no condition for {predicate['node']}")
