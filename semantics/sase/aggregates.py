"""What an aggregate of SASE+ is: an associative operation with an identity (sase07, section 2.2.4 and footnote 3).

The names of those of the language, and the type of those that a user registers. The definition folds them in
folding.py, the automata step by step in automata/nfab/folds.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

from cerify.semantics.values import Value

State: TypeAlias = Any
"""The value of an operation over some events before `result`: of whatever type its functions agree on."""


@dataclass(frozen=True, slots=True)
class Operation:
    """An associative operation `combine` with an identity; lift makes a value one of its states, result reads one."""

    identity: State
    lift: Callable[[Value], State]
    combine: Callable[[State, State], State]
    result: Callable[[State], Value | None]


Operations: TypeAlias = Mapping[str, Operation]
"""Aggregates that a user registers, by name: an argument of every evaluator."""

NO_OPERATIONS: Operations = MappingProxyType({})

BUILT_IN = ("count", "sum", "avg", "min", "max")
RANKED = ("highest", "lowest")  # those with a number as their first argument
