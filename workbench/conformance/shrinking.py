"""How a failing case of each language is made smaller."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from cerify.equivalence.rewrite.translate import shape
from cerify.equivalence.shrink import expression_shape
from cerify.equivalence.shrink import sase as shrink_sase
from cerify.equivalence.shrink.shrink import WAYS, Way, shrink
from cerify.equivalence.shrink.smaller import fewer_events
from cerify.semantics.cel import parse as cel_parse
from cerify.semantics.cel import show as cel_show
from cerify.semantics.cel import syntax as cel
from cerify.semantics.core_cel import parse as core_parse
from cerify.semantics.core_cel import show as core_show
from cerify.semantics.errors import CerifyError
from cerify.semantics.event_expressions import parse as expr_parse
from cerify.semantics.event_expressions import show as expr_show
from cerify.semantics.events import Stream
from cerify.semantics.sase import parse as sase_parse
from cerify.semantics.sase import show as sase_show
from cerify.semantics.sase import syntax as sase

Fails = Callable[[str, Stream], bool]
"""Whether the engine still fails on this query and this stream; a typed error counts as no."""

Shrinker = Callable[[str, Stream, Fails, int], None]
"""Asks about ever smaller queries and streams, going on from those that fail, about so many at most."""


def as_tree(
    tree: Callable[[str], cel.Formula], text: Callable[[cel.Formula], str], ways: Sequence[Way] = WAYS
) -> Shrinker:
    """The shrinker of a language whose queries can be written as trees of CEL, and trees read back as queries."""

    def shrunk(query: str, S: Stream, fails: Fails, tries: int) -> None:
        shrink(tree(query), S, lambda phi, S: fails(text(phi), S), tries, ways)

    return shrunk


def stream_only(query: str, S: Stream, fails: Fails, tries: int) -> None:
    """The shrinker of a language of which nothing is known: the query stays, the stream gets shorter."""
    shrink(cel.Event("e"), S, lambda _, S: fails(query, S), tries, (fewer_events,))


def _expression(query: str, S: Stream, fails: Fails, tries: int) -> None:
    """First without names, if it fails like that too, then operator by operator."""
    written_out = expr_show.show(expression_shape.without_names(expr_parse.parse(query)))
    with suppress(CerifyError):
        query = written_out if fails(written_out, S) else query
    EXPRESSIONS(query, S, fails, tries)


EXPRESSIONS = as_tree(
    lambda query: expression_shape.as_cel_tree(expr_parse.parse(query)),
    lambda phi: expr_show.show(expression_shape.of_cel_tree(phi)),
    expression_shape.WAYS,
)


def _sase(query: str, S: Stream, fails: Fails, tries: int) -> None:
    """A query that is one block by its own ways; of others the stream alone."""
    match q := sase_parse.parse(query):
        case sase.Query():
            shrink_sase.shrink(q, S, lambda q, S: fails(sase_show.show(q), S), tries)
        case _:
            stream_only(query, S, fails, tries)


SHRINKERS: Mapping[str, Shrinker] = {
    "cel": as_tree(cel_parse.parse, cel_show.show),
    "core-cel": as_tree(
        lambda query: shape.as_cel_tree(core_parse.parse(query)), lambda phi: core_show.show(shape.of_cel_tree(phi))
    ),
    "event-expression": _expression,
    "sase": _sase,
}
"""The shrinker of each language; one that is not named has stream_only."""
