"""Short ways to say a stream and to ask what SASE+ matches on it; both definitions have to say the same."""

import re

from cerify.automata.nfab import moves
from cerify.semantics.events import Bindings, Event, Stream
from cerify.semantics.sase import denote
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.parse import parse
from cerify.semantics.sase.syntax import Reading
from cerify.semantics.values import Value

TOKEN = re.compile(r"([A-Z]+)(-?\d*)(?:/(\w+))?(?:@(\d+))?")


def events(text: str) -> Stream:
    """The stream of "A1/k@5 B": types, then x, y after a slash, and time after @, each only where it is written."""
    return Stream([_event(token) for token in text.split()])


def _event(token: str) -> Event:
    matched = TOKEN.fullmatch(token)
    assert matched, token
    type_, x, y, time = matched.groups()
    attributes: dict[str, Value] = {"x": int(x)} if x else {}
    attributes |= {"y": y} if y else {}
    return Event(type_, attributes | ({"time": int(time)} if time else {}))


def query(text: str) -> sase.SaseQuery:
    """The query of a text from PATTERN to WITHIN."""
    q = parse(f"PATTERN {text} RETURN 1 AS one")
    assert isinstance(q, sase.SaseQuery)
    return q


def found(text: str, S: Stream | str, reading: Reading = Reading()) -> list[str]:
    """The matches of a query, as "0 1,2 4": the positions of each component; by both definitions."""
    S = events(S) if isinstance(S, str) else S
    q = query(text)
    expected = denote.bindings(q, S, reading)
    assert moves.bindings(q, S, reading) == expected
    return shown(expected)


def shown(matches: set[Bindings]) -> list[str]:
    """Matches as text, the positions of each component, in order."""
    return sorted(" ".join(",".join(map(str, positions)) for _, positions in M) for M in matches)
