"""The meaning of SASE's query files: they are read as SASE+, and the definition has the matches."""

import re
from collections.abc import Iterator
from typing import Any

from cerify.languages import LANGUAGES
from cerify.languages.language import DENOTATIONAL, Options
from cerify.semantics.events import TIME, Event, Stream

COMPONENT = re.compile(r"(!?)(\w+)(\+?) ([a-z])((?:\[\])?)(?=[,)])")
CONDITION = re.compile(r"(([a-z])(\[1\]|\[i\])?\.\S.*?) (<=|>=|!=|<|>|=) (\S+)")


def complex_events(translation: Any) -> list[Any]:
    """The matches of a query file over the events, with their positions."""
    S = Stream([Event(one["type"], {**one["attributes"], TIME: one["time"]}) for one in translation["events"]])
    language = LANGUAGES["sase"]
    found = language.matches(language.parse(sase(translation["query"])), S, DENOTATIONAL, Options("matches"))
    return [{"at": match.at, "events": list(match.events)} for match in found]


def sase(text: str) -> str:
    """The query file in SASE+.

    A condition belongs to the component whose letter it begins with. One on b[i] is on the second event of a Kleene
    plus and those after it, any other on the first. [i-1] is the event before: of a component before, the last one.
    """
    pattern, where, *rest, within = text.splitlines()
    components = COMPONENT.findall(pattern.removeprefix("PATTERN SEQ").replace(", ", ","))
    kleene = {letter for _, _, plus, letter, _ in components if plus}
    parts = [f"{'~' if no else ''}{type_}{plus} {letter}{index}" for no, type_, plus, letter, index in components]
    assert pattern == f"PATTERN SEQ({', '.join(parts).replace('~', '!')})", pattern
    assert [letter for *_, letter, _ in components] == [chr(ord("a") + k) for k in range(len(components))], pattern
    arguments = ", ".join(letter + index for no, _, _, letter, index in components if not no)
    lines = [line.removeprefix("AND ") for line in rest]
    body = " and ".join([line for line in lines if line[0] == "["] + list(conditions(lines, kleene)))
    strategy = where.removeprefix("WHERE ").replace("-", "_")
    seconds = within.removeprefix("WITHIN ")
    return f"PATTERN SEQ({', '.join(parts)}) WHERE {strategy}({arguments}) {{ {body} }} WITHIN {seconds} seconds"


def conditions(lines: list[str], kleene: set[str]) -> Iterator[str]:
    """The conditions in SASE+: b[i] is the first event too, so that one on it, but of b[i-1], has to be there twice."""
    for line in lines:
        if line[0] == "[":
            continue
        found = CONDITION.fullmatch(line)
        assert found is not None, line
        left, letter, place, comparator, right = found.groups()
        assert (place is not None) == (letter in kleene), line
        if place == "[i]" and f"{letter}[i-1]." not in right:
            first = line.replace(f"{letter}[i].", f"{letter}[1].")
            assert first in lines, f"{line}, but not {first}"
        elif place == "[1]" and line.replace(f"{letter}[1].", f"{letter}[i].") in lines:
            continue
        yield f"{left} {comparator} {last_of_others(right, letter)}"


def last_of_others(operand: str, letter: str) -> str:
    """An operand, where the event before is the last one of another component."""
    return re.sub(r"([a-z])\[i-1\]", lambda m: m[0] if m[1] == letter else f"{m[1]}[{m[1]}.LEN]", operand)
