"""Questions to z3 about the words of conditions of a partition: a fact that refutes a word, or a table that has it.

Whether a word is impossible does not depend on what z3 is not told, see row_terms.py. A table may not have the word for
that; the definition tries it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from cerify.equivalence.decide.certificate import Fact, Word
from cerify.equivalence.decide.row_terms import KINDS, NAN, NULL, NUMBER, TEXT, Rows, among
from cerify.equivalence.decide.row_words import ClausePair
from cerify.semantics.budget import check_time, time_left
from cerify.semantics.events import TYPE, Event, Schema, Stream
from cerify.semantics.packages import z3
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.clauses import ROW
from cerify.semantics.trees import subtrees
from cerify.semantics.values import Value, time_at, value_type_of

STEPS = 500_000  # of z3 for one question; a limit of time would make the answer depend on the machine
SMALL = 9  # a table has numbers from 0 to this one where it can
MADE_LEAST = 60  # cells of a table, of which each is made as small as it can be
COMPARING = rows.Comparison | rows.Between | rows.In | rows.Like


@dataclass(frozen=True)
class Solver:
    """Asks z3 about the conditions of two clauses, on tables of a schema."""

    clauses: ClausePair
    schema: Schema | None

    def refuted(self, word: Word) -> Fact | None:
        """A fact that the word of a whole partition goes against; None if there is none, or none was found."""
        asked = _Question(Rows(self.clauses, self.schema, len(word), exact=False))
        there, literal = asked.rows.there, asked.rows.literal
        known: dict[Any, tuple[int, tuple[int, bool] | None]] = {there(r): (r, None) for r in range(len(word))}
        known |= {literal(i, true, r): (r, (i, true)) for r, letter in enumerate(word) for i, true in letter}
        first, last = z3.Not(there(-1)), z3.Not(there(len(word)))
        core = asked.core([first, last, *known])
        if core is None:
            return None
        of_rows = [known[one] for one in core if one in known]
        begin = 0 if first in core else min(r for r, _ in of_rows)
        end = len(word) if last in core else 1 + max(r for r, _ in of_rows)
        letters = (frozenset(pair for s, pair in of_rows if pair and s == r) for r in range(begin, end))
        return Fact(tuple(letters), first in core, last in core)

    def holds(self, fact: Fact) -> bool:
        """Whether no partition has the rows of a fact, as far as z3 can tell."""
        asked = _Question(Rows(self.clauses, self.schema, len(fact.rows), exact=False))
        return bool(asked.answer(asked.rows.known(fact.rows, fact.first, fact.last)) == z3.unsat)

    def tables(self, word: Word) -> Iterator[Stream]:
        """Tables of one partition that may have a word: those without NULLs and with small numbers first."""
        asked = _Question(Rows(self.clauses, self.schema, len(word), exact=True))
        known = asked.rows.known(word, True, True)
        for simpler in asked.simpler():
            if asked.answer([*known, *simpler]) == z3.sat:
                try:
                    table = asked.least([*known, *simpler], self.schema)
                except (OverflowError, ValueError):  # of a number that no float can have, or of too many digits
                    continue
                yield table


class _Question:
    """A question about rows of a partition."""

    def __init__(self, rows_: Rows) -> None:
        self.rows = rows_
        self.solver = z3.Solver()
        self.solver.set("rlimit", STEPS)
        self.solver.add(*rows_.rules())

    def answer(self, known: Sequence[Any]) -> Any:
        check_time()
        if (left := time_left()) < math.inf:
            self.solver.set("timeout", max(1, int(1000 * left)))
        return self.solver.check(*known)

    def core(self, known: Sequence[Any]) -> list[Any] | None:
        """Some of what is known that cannot be together, none of which can be left out; None if it can be."""
        if self.answer(known) != z3.unsat:
            return None
        core = list(self.solver.unsat_core())
        for one in list(core):
            without = [other for other in core if not other.eq(one)]
            if self.answer(without) == z3.unsat:
                core = without
        return core

    def simpler(self) -> Iterator[list[Any]]:
        """What makes a table simpler, the simplest first."""
        cells = [(name, self.rows.cell(name, r)) for name in self.rows.names for r in range(self.rows.number)]
        expected = {name: self._expected(name) for name in self.rows.names}
        usual = [among(x.kind, (NULL, expected[name], *[NAN] * (expected[name] == NUMBER))) for name, x in cells]
        filled = [x.kind == expected[name] for name, x in cells]
        small = [z3.And(z3.IsInt(x.at), x.at >= 0, x.at <= SMALL) for name, x in cells if expected[name] == NUMBER]
        yield [*filled, *small]
        yield [*usual, *small]
        yield usual
        yield []

    def _expected(self, name: str) -> int:
        """The kind of a column: that of the schema, or of what it is compared with, or a number."""
        if name == TYPE:
            return TEXT
        if name in self.rows.types:
            return KINDS[self.rows.types[name]][0]
        near = (
            one
            for e in self.rows.nodes
            if isinstance(e, COMPARING)
            for one in [list(subtrees(e))]
            if rows.Column(name, quoted=True) in one
        )
        found = (one.value for some in near for one in some if isinstance(one, rows.Constant) and one.value is not None)
        return next((KINDS[value_type_of(value)][0] for value in found), NUMBER)

    def least(self, known: list[Any], schema: Schema | None) -> Stream:
        """The rows that the solver has found, with the least whole numbers, cell by cell: any solver finds these."""
        cells = [self.rows.cell(name, r) for r in range(self.rows.number) for name in self.rows.names if name != TYPE]
        for x in cells if len(cells) <= MADE_LEAST else ():
            for n in range(SMALL + 1):
                if self.answer([*known, x.kind == NUMBER, x.at == n]) == z3.sat:
                    known = [*known, x.kind == NUMBER, x.at == n]
                    break
        self.answer(known)
        return self.table(schema)

    def table(self, schema: Schema | None) -> Stream:
        """The rows that the solver has found."""
        model = self.solver.model()
        found: dict[tuple[str, int], tuple[int, Fraction]] = {}
        for name in self.rows.names:
            for r in range(self.rows.number):
                kind, at = (model.evaluate(part, model_completion=True) for part in self.rows.cell(name, r))
                found[name, r] = kind.as_long(), Fraction(at.numerator_as_long(), at.denominator_as_long())
        texts = self._texts(at for kind, at in found.values() if kind == TEXT)
        events = []
        for r in range(self.rows.number):
            cells = {name: self._typed(name, _read(*found[name, r], texts)) for name in self.rows.names}
            type_ = cells.pop(TYPE, ROW)
            events.append(Event(str(type_), {name: value for name, value in cells.items() if value is not None}))
        return Stream(events, schema)

    def _typed(self, name: str, value: Value | None) -> Value | None:
        """The value as the schema has it: a column of floats has no whole numbers, which are divided otherwise."""
        return float(value) if type(value) is int and self.rows.types.get(name) == "float" else value

    def _texts(self, points: Iterable[Fraction]) -> dict[Fraction, str]:
        """Texts in the order of points; those of the conditions are at the whole numbers from 0 on."""
        found = {Fraction(i): text for i, text in enumerate(self.rows.texts)}
        before, n = "", 0
        for point in sorted({*points, *found}):
            if point in found:
                before, n = found[point], 0
            else:
                n += 1
                found[point] = f"{before}{chr(ord('a') + n - 1)}"
        return found


def _read(kind: int, at: Fraction, texts: Mapping[Fraction, str]) -> Value | None:
    match kind:
        case 1:
            return int(at) if at.denominator == 1 else float(at)
        case 2:
            return math.nan
        case 3:
            return texts[at]
        case 4:
            return at == 1
        case 5:
            return time_at(round(at))
    return None
