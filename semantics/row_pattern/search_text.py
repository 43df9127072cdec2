"""Texts of what a search does: a condition of DEFINE with the values that it looks up, the labels of rows."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from cerify.semantics.predicate_text import show_value
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.expressions import Frame, value
from cerify.semantics.row_pattern.output import Output
from cerify.semantics.row_pattern.show import show_expression


def condition_text(made: Output, A: str, frame: Frame, outcome: str = "") -> str:
    """The condition of a variable, with the values that it looks up; outcome: what is said of the condition."""
    condition = next(one.condition for one in made.clause.define if one.variable == A)
    found = (value(e, frame) for e in rows.lookups(made.q.conditions[A]))
    values = zip(map(show_expression, rows.lookups(condition)), found, strict=True)
    shown = dict.fromkeys(f"{text} is {'NULL' if v is None else show_value(v)}" for text, v in values)
    return f"{show_expression(condition)}{outcome}{', where ' + ', '.join(shown) if shown else ''}"


def labels_text(labels: Iterable[str]) -> str:
    """The labels of rows; of one in more than three rows in a row the number, as in A{4}."""
    runs = ((A, len(list(run))) for A, run in groupby(labels))
    texts = (f"{A}{{{n}}}" if n > 3 else " ".join([A] * n) for A, n in runs)
    return " ".join(texts) or "the empty match"
