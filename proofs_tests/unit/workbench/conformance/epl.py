"""The meaning of row patterns of EPL as the adapter for Esper writes them, by the manual of match_recognize.

All matches are reported, at their last event; a variable without a definition takes any event. A definition looks at
the events of the match so far: a variable that takes one event is that event, and one that may take several has allOf.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cerify.semantics.row_pattern.denote import Labelling, Meaning
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.scalars import STANDARD
from proofs_tests.unit.workbench.conformance.conditions import Event, Value, condition
from proofs_tests.unit.workbench.conformance.stand_in import Json, Refused

RECOGNITION = re.compile(
    r"select \* from CelEvent match_recognize \(\n  measures (.*)\n  all matches\n  after match skip to current row\n"
    r"  pattern \((.*)\)\n  define (.*)\)",
    re.DOTALL,
)
SEPARATOR = ",\n    "
NAMED = "@name('matches') "
SELECTED = re.compile(rf"insert into Candidate (.*);\n{re.escape(NAMED)}select \* from Candidate where (.*)", re.DOTALL)


@dataclass(frozen=True)
class RowPattern(Meaning):
    """The labellings of a pattern under the definitions of its variables."""

    define: Mapping[str, Value]

    def feasible(self, w: Labelling) -> bool:
        if self.s + len(w) > len(self.P):
            return False
        label = w[-1].variable
        here = self.P[self.s + len(w) - 1]
        scope = {**bound(w, self.P[self.s :]), label: [here]}
        return label not in self.define or self.define[label](scope) is True


def rows(translation: Json) -> Iterator[Json]:
    """The rows of a module over the events, each with the position at which it is reported."""
    epl, events = translation["epl"], translation["events"]
    if " from pattern [" in epl:
        raise Refused("a pattern of -> has a meaning of its own, which is not NXT")
    selected = SELECTED.fullmatch(epl)
    found = RECOGNITION.fullmatch(selected[1] if selected else epl.removeprefix(NAMED))
    assert found is not None, epl
    measures = {
        name: condition(text) for text, _, name in (one.rpartition(" as ") for one in found[1].split(SEPARATOR))
    }
    define = {name: condition(text) for name, _, text in (one.partition(" as ") for one in found[3].split(SEPARATOR))}
    kept = selected[2].split(" and ") if selected else []
    pattern = re.sub(r"[A-Za-z]\w*", quoted, found[2])
    q = parse(f"MATCH_RECOGNIZE (PATTERN ({pattern}))")
    for s in range(len(events)):
        meaning = RowPattern(q, events, s, range(len(events)), 1, STANDARD, lambda labellings: labellings, define)
        for w in set(meaning.labellings(q.pattern, ())):
            scope = bound(w, events[s:])
            row = {name: value(scope) for name, value in measures.items()}
            if all(row.pop(name) is True for name in kept):
                positions = {name: of if isinstance(of, list) else [of] for name, of in row.items() if of is not None}
                yield {"at": s + len(w) - 1, "row": positions}


def bound(w: Labelling, events: Sequence[Event]) -> dict[str, list[Event]]:
    """The events of each variable."""
    found: dict[str, list[Event]] = {}
    for label, event in zip(w, events, strict=False):
        found.setdefault(label.variable, []).append(event)
    return found


def quoted(name: re.Match[str]) -> str:
    """A name of a pattern in quotation marks, so that its letters stay as they are."""
    return f'"{name[0]}"'
