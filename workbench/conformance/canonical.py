"""Cases up to names: event types, variables and attributes in the order in which they occur."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from cerify.conformance.elements import operations_of
from cerify.languages.language import Language
from cerify.semantics.events import TIME, TYPE, Event, Schema, Stream

WORD = re.compile(r"'(?:[^']|'')*'|[A-Za-z_]\w*")  # a string is a word too, so that nothing inside it is one
TYPES, VARIABLES, ATTRIBUTES = "ABCDEFGH", "XYZUVW", "xyzuvw"


def canonical(language: Language[Any], query: Any, S: Stream) -> tuple[Any, Stream]:
    """The query and the stream with the names A, B, ... for types, X, Y, ... for variables, x, y, ... for attributes.

    Raises ParseError, IllFormed where the query with these names is none.
    """
    text = language.show(query)
    names = renaming(language, text, query, S)

    def attributes(values: Mapping[str, Any]) -> dict[str, Any]:
        return {names.get(a, a): value for a, value in values.items()}

    declared = (
        None if S.schema is None else Schema({names.get(R, R): attributes(of) for R, of in S.schema.types.items()})
    )
    events = [Event(names.get(e.type, e.type), attributes(e.attributes)) for e in S]
    other = WORD.sub(lambda word: names.get(word[0], word[0]), text)
    return language.parse(other), Stream(events, declared)


def renaming(language: Language[Any], text: str, query: Any, S: Stream) -> dict[str, str]:
    """From the names in a query and a stream to canonical ones; empty if two names would become one."""
    operations = operations_of(language)
    if operations is None:
        return {}
    types = {*operations.types(query), *(event.type for event in S)}
    attributes = {*operations.attributes(query), *(a for event in S for a in event.attributes)} - {TIME, TYPE}
    variables = set(operations.names(query)) - types - attributes
    if S.schema is not None:
        types.update(S.schema.types)
        attributes.update(a for of in S.schema.types.values() for a in of if a != TIME)
    if types & attributes or types & variables:
        return {}
    order = list(dict.fromkeys((*WORD.findall(text), *(e.type for e in S), *sorted(types), *sorted(attributes))))
    fresh = {
        **_fresh(types, TYPES, order),
        **_fresh(variables, VARIABLES, order),
        **_fresh(attributes, ATTRIBUTES, order),
    }
    return fresh if len(set(fresh.values())) == len(fresh) else {}


def _fresh(names: set[str], letters: str, order: list[str]) -> dict[str, str]:
    return dict(zip((name for name in order if name in names), _letters(letters), strict=False))


def _letters(letters: str) -> Iterator[str]:
    yield from letters
    yield from (f"{letters[0]}{number}" for number in count(1))
