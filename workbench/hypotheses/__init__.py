"""The readings and wrong semantics of each language, one module a language, and questions that distinguish them.

A hypothesis is a point in independent axes, such as "how a window counts its last event". Conformance names the cause
of a failure by such a point, and identification asks an engine questions until one point is left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cerify.hypotheses import cel, core_cel, event_expressions, row_pattern, sase, sigma
from cerify.hypotheses.interpretation import Interpretation, Stage

INTERPRETATIONS: Mapping[str, Interpretation] = {
    "cel": cel.INTERPRETATION,
    "core-cel": core_cel.INTERPRETATION,
    "event-expression": event_expressions.INTERPRETATION,
    "sase": sase.INTERPRETATION,
    "row-pattern": row_pattern.INTERPRETATION,
    "sigma": sigma.INTERPRETATION,
}
"""Of each language its axes and its interpreter at a point of them."""

STAGES: Mapping[str, Sequence[Stage]] = {
    "cel": cel.STAGES,
    "core-cel": core_cel.STAGES,
    "event-expression": event_expressions.STAGES,
    "sase": sase.STAGES,
    "row-pattern": row_pattern.STAGES,
}
"""Of each language the stages of questions by which an engine is identified."""
