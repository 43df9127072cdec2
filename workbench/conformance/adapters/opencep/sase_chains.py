"""SASE+ as patterns: one block under skip till any match, with negated components between others."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from chains import (
    NOT_COMPARED,
    SECONDS,
    Alternative,
    Code,
    Condition,
    Json,
    Leaf,
    NotExpressible,
    PatternOperator,
    Window,
    agree,
    at,
    attribute,
    beginnings,
    call,
    constant,
    events,
    every,
    nodes,
    predicate,
    value_of_name,
)

CLAIMS = {
    "operators": ["kleene", "within", "negation", "equivalence", "correlated", "end"],
    "predicates": ["comparison", "not", "and", "or", "correlated"],
    "strategies": ["any"],
    "output": ["matches"],
    "ordered_time": True,
}
PLACES = {"only": 0, "first": 0, "previous": -2, "current": -1, "last": -1}
"""For each kind of reference, the index of its event in the list of events that the component has so far."""
RANKS = {"only": 0, "first": 0, "previous": 1, "current": 2, "last": 3}
"""For each kind of reference, a rank: a condition is tested when its reference with the highest rank gets its event."""
LEAST = 1e-6  # seconds between two times: a window of SASE+ is open, one of OpenCEP is closed


def translated(tree: Json) -> tuple[list[Alternative], Window | None]:
    """Return the pattern of a query and its window. Raises NotExpressible for a query that OpenCEP cannot express."""
    if tree["node"] != "Query" or tree["having"] or tree["source"] or tree["returned"]["non_overlap"]:
        raise NotExpressible("only one block without HAVING and NON-OVERLAP is translated")
    if any(node["node"] in NOT_COMPARED | {"Aggregate"} for block in tree["where"] for node in nodes(block)):
        raise NotExpressible("conditions must compare attributes that are numbers, strings or truth values")
    pattern = tree["pattern"]
    if pattern[0]["negated"] or pattern[-1]["negated"] or any(k["negated"] and k["kleene"] for k in pattern):
        raise NotExpressible("a negated component must be a single event between two others")
    _require_any(tree)
    leaves = [_leaf(component, number) for number, component in enumerate(pattern)]
    of = {component["variable"]: leaf for component, leaf in zip(pattern, leaves)}
    conditions = []
    for block in tree["where"]:
        for conjunct in block["conjuncts"]:
            condition = conjunct["condition"]
            if condition["node"] == "Equivalence":
                conditions += _equivalence(condition["attribute"], leaves)
            else:
                conditions.append(_condition(condition, leaves, of))
    window = tree["within"]
    width = window and window["amount"] * SECONDS[window["unit"].removesuffix("s")] - LEAST
    found = Alternative(PatternOperator("SEQ", tuple(leaves)), tuple(conditions))
    return [found], window and Window(width, True)


def _require_any(tree: Json) -> None:
    strategies = {a["variable"]: (b["strategy"], a["cut"]) for b in tree["where"] for a in b["arguments"]}
    for component in tree["pattern"]:
        if not component["negated"] and strategies.get(component["variable"]) != ("skip_till_any_match", False):
            raise NotExpressible("only skip till any match for all components, without !, is translated")
    if any(conjunct["underlined"] for block in tree["where"] for conjunct in block["conjuncts"]):
        raise NotExpressible("underlined conditions, which define partitions, are not translated")


def _leaf(component: Json, number: int) -> Leaf:
    """Return the leaf of a component. Its name is a name in Python too, for the source of conditions."""
    least = 1 if component["kleene"] else None
    variable = component["variable"]
    labels = frozenset() if component["negated"] else frozenset([variable])
    return Leaf(component["type"], f"{variable}_{number}", labels, least, absent=component["negated"])


def _equivalence(attribute: str, leaves: Sequence[Leaf]) -> list[Condition]:
    """Translate [attribute]: each event has the same value as the event before it, where absent components do not
    count.
    """
    taken = [leaf for leaf in leaves if not leaf.absent]
    if len(taken) == 1 and taken[0].closure:
        raise NotExpressible("a condition on a Kleene closure must be on each of its events")
    found = [_agreeing(one, value_of_name(one.name), other, attribute) for one, other in pairwise(taken)]
    for place, leaf in enumerate(leaves):
        if leaf.absent:
            before = [one for one in leaves[:place] if not one.absent][-1]
            last = call(at, call(events, value_of_name(before.name)), constant(-1))
            found.append(_agreeing(before, last, leaf, attribute))
    return found


def _agreeing(one: Leaf, of_one: Code, other: Leaf, attribute: str) -> Condition:
    some = call(events, of_one, value_of_name(other.name))
    return Condition((one.name, other.name), call(agree, some, constant(attribute)))


def _condition(tree: Json, leaves: Sequence[Leaf], of: Mapping[str, Leaf]) -> Condition:
    """Translate a conjunct of WHERE.

    The condition belongs to the negated component that it mentions; if it mentions none, to its last component.
    """
    references = [node for node in nodes(tree) if node["node"] == "Reference"]
    names = {of[node["variable"]].name for node in references}
    mentioned = [leaf for leaf in leaves if leaf.name in names]
    if not mentioned:
        raise NotExpressible("a condition must mention an event")
    if sum(leaf.absent for leaf in mentioned) > 1:
        raise NotExpressible("a condition mentions at most one negated component")
    last = next((leaf for leaf in mentioned if leaf.absent), mentioned[-1])
    ranks = {RANKS[node["place"]] for node in references if of[node["variable"]] is last}
    if last.closure and len(mentioned) == 1 and ranks != {2}:  # OpenCEP would test each event by itself
        other = next((leaf for leaf in leaves if not leaf.absent and leaf is not last), None)
        if other is None:
            raise NotExpressible("a condition on a Kleene closure must be on each of its events")
        mentioned.append(other)

    def value(reference: Json) -> Code:
        leaf = of[reference["variable"]]
        event = value_of_name(leaf.name)
        if leaf.closure:
            event = call(at, call(events, event), constant(PLACES[reference["place"]]))
        return attribute(event, reference["name"])

    code = predicate(tree, value)
    if last.closure and 3 not in ranks and ranks != {0}:  # it is tested whenever the closure has taken one more event
        least = 1 if ranks == {2} else 2
        code = every(code, {last.name: call(beginnings, call(events, value_of_name(last.name)), constant(least))})
    return Condition(tuple(leaf.name for leaf in mentioned), code)
