"""Patterns written with the names of OpenCEP: as objects of OpenCEP, or as the Python source that makes them."""

from typing import Any

from chains import Alternative, Condition, Leaf, PatternOperator, Window
from conditions import Code

UNBOUNDED = 1_000_000  # days: the window of a pattern that has none


class Source(str):
    """Python source code, to be written unchanged."""

    def __repr__(self) -> str:
        return str(self)


class Sources:
    """Stands in for the names of OpenCEP; each call returns its own source code."""

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any, **named: Any) -> Source:
            return Source(f"{name}({', '.join([*map(repr, arguments), *(f'{k}={v!r}' for k, v in named.items())])})")

        return call

    taken_events = Source("taken_events")

    def function(self, names: tuple[str, ...], code: Code) -> Source:
        """Return the source of a function on the events of these names."""
        return Source(f"lambda {', '.join(names)}: {code.source}")


def source(pattern: Alternative, window: Window | None) -> str:
    """Return the pattern as the Python source that makes it."""
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
