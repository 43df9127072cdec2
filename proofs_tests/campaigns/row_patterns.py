"""MATCH_RECOGNIZE by its definition and by its evaluators: `python -m proofs_tests.campaigns.row_patterns`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import count, takewhile
from random import Random
from typing import Any, TypeAlias

import click

from cerify.automata.row_pattern import compiled, evaluate
from cerify.equivalence.generate import row_pattern as generate
from cerify.equivalence.generate.row_pattern import ROW_PATTERN, case
from cerify.equivalence.generate.shrink import shrink
from cerify.languages.row_pattern import RegisterOutput
from cerify.semantics import trees
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import CerifyError
from cerify.semantics.events import Stream
from cerify.semantics.readings import STANDARD, RowReading
from cerify.semantics.row_pattern import interpreter, syntax
from cerify.semantics.row_pattern.check import require_wellformed
from cerify.semantics.row_pattern.dialects import (
    DIALECTS,
    STANDARD_SQL,
    SqlDialect,
    dialect_named,
    meant_reading,
    require_in_dialect,
)
from cerify.semantics.row_pattern.interpreter import RowOutput
from cerify.semantics.row_pattern.scalars import NumberedMatch, with_expressions
from cerify.semantics.row_pattern.show_dialects import write_in_dialect
from cerify.semantics.row_pattern.syntax import (
    Count,
    MatchRecognize,
    Measure,
    Order,
    RowColumn,
    RowConstant,
    RowDefinition,
    RowSkip,
    show,
)
from cerify.statements import read_pasted, written_out

PROFILES = {name: replace(profile, failing=True) for name, profile in generate.PROFILES.items()}
BUDGET = Budget(valuations=20_000)
TRUE = RowConstant(True)
Finder: TypeAlias = Callable[..., Iterable[NumberedMatch]]
Answer: TypeAlias = list[Any]
"""The matches with their measures and the rows that they leave out, and the code of the error that ends them."""


def on_columns(q: MatchRecognize, S: Stream, budget: Budget) -> Iterable[NumberedMatch]:
    """The answers of the compiled loops on an Arrow table."""
    return compiled.find_matches(q, Stream.from_table(S.table), budget=budget)


JUDGED: Mapping[str, Finder] = {
    "automaton": evaluate.find_matches,
    "kernel": compiled.find_matches,
    "kernel on columns": on_columns,
}


def answer(find: Finder, q: MatchRecognize, S: Stream) -> Answer:
    """The answer of an evaluator; the measures are those of the definition for its matches alone."""
    found: Answer = []
    try:
        made = (RowOutput if find is interpreter.find_matches else RegisterOutput)(q, S)
        found += ((match, match.excluded) for match in map(made.with_result, find(q, S, budget=BUDGET)))
    except CerifyError as error:
        found.append(error.code)
    return found


def differing(q: MatchRecognize, S: Stream, judged: Mapping[str, Finder] = JUDGED) -> str:
    """The first evaluator whose answer, which it gives within the budget, is not that of the definition; "" if none.

    Where the definition gives none within the budget, the others are compared with the first of them.
    """
    given = {name: answer(find, q, S) for name, find in {"definition": interpreter.find_matches, **judged}.items()}
    certain = {name: one for name, one in given.items() if not {"budget", "unsupported"} & {*map(str, one[-1:])}}
    right = next(iter(certain.values()), [])
    return next((name for name, one in certain.items() if one != right), "")


def compared(
    cases: Iterable[int],
    judged: Mapping[str, Finder] = JUDGED,
    profile: str = "columns",
    nodes: int = 10,
    rows: int = 8,
) -> tuple[Counter[str], str]:
    """How many cases there were of each kind, and the first difference, shrunk; "" if there is none."""
    kinds: Counter[str] = Counter()
    for number in cases:
        q, S = case(Random(number), PROFILES[profile], nodes, rows)
        right = answer(interpreter.find_matches, q, S)
        kinds[str(right[-1]) if right and isinstance(right[-1], str) else "matched" if right else "none"] += 1
        if wrong := differing(q, S, judged):
            q, S = shrink(ROW_PATTERN, q, S, lambda q, S: bool(differing(q, S, judged)), 500)
            wrong = differing(q, S, judged)
            events = [dict(event.attributes) for event in S]
            given = f"{answer(judged[wrong], q, S)} against {answer(interpreter.find_matches, q, S)} by the definition"
            return kinds, f"{number}: {wrong}: {show(q)} on {events}: {given}"
    return kinds, ""


@dataclass
class DialectCases:
    """Random clauses on one table, as dialects read them; what two dialects mean alike is evaluated once.

    The definition follows the dialect's reading. The others follow the clause in which the reading is written out.
    """

    S: Stream
    kernel: str
    known: dict[Any, Answer] = field(default_factory=dict)

    def difference(self, q: MatchRecognize, dialect: SqlDialect, text: bool) -> str:
        """Which evaluator differs on a clause in a dialect; "" for none, "refused" if the dialect does not have it.

        With `text` the clause is written for the dialect and read again too, and means there what it did before.
        """
        try:
            require_in_dialect(q, dialect)
            require_wellformed(q)
        except CerifyError:
            return "refused"
        is_open = any(one.nulls is None for one in q.order)
        reading = replace(meant_reading([*q.keys, *q.expressions], dialect), nulls=dialect.nulls if is_open else "high")
        out = written_out(q, reading)
        answers = {"definition": self.answer("definition", q, reading)}
        answers |= {name: self.answer(name, out) for name in ("automaton", self.kernel)}
        if out != q:
            answers["written out"] = self.answer("definition", out)
        if text:
            try:
                meant, written, differences = write_in_dialect(q, STANDARD_SQL, dialect)
                pasted = read_pasted(written, dialect.name)
            except CerifyError:
                return "refused"
            if dialect.name == "oracle" and "''" in written:  # its empty text is NULL, which show_in_dialect refuses
                return "refused"
            if replace(pasted.clause, span=None) != replace(meant, span=None):
                return f"the reader: {written}"
            read = self.answer("definition", replace(pasted.clause, span=None), pasted.reading)
            if not differences and len({str(read), str(self.answer("definition", q))}) > 1:
                return f"the text: {written}"
        certain = {name: one for name, one in answers.items() if not {"budget", "unsupported"} & {*map(str, one[-1:])}}
        right = next(iter(certain.values()), [])
        return next((f"{name}: {show(q)}" for name, one in certain.items() if one != right), "")

    def answer(self, name: str, q: MatchRecognize, reading: RowReading = STANDARD) -> Answer:
        """The matches, the rows of the output, and the code of the error that ends them."""
        if (name, q, reading) not in self.known:
            self.known[name, q, reading] = found = []
            try:
                if name == "definition":
                    found += interpreter.find_matches(q, self.S, reading, BUDGET)
                else:
                    found += JUDGED[name](q, self.S, budget=BUDGET)
                found += self.output(q, found, reading)
            except CerifyError as error:
                found.append(error.code)
        return self.known[name, q, reading]

    def output(self, q: MatchRecognize, found: Sequence[NumberedMatch], reading: RowReading) -> Answer:
        """The rows of the output for these matches."""
        key = q, reading, tuple((match, match.excluded) for match in found)
        if key not in self.known:
            self.known[key] = [*RowOutput(q, self.S, reading).rows(found)]
        return self.known[key]


def halved(q: MatchRecognize) -> MatchRecognize:
    """The clause with x / 2 for x, whose value is a choice of the dialects."""

    def changed(e: Any) -> Any:
        if e == RowColumn("x", getattr(e, "variable", None)):
            return syntax.Product(e, "/", RowConstant(2))
        return trees.rebuilt(e, [changed(one) for one in syntax.below(e)]) if e.operands else e

    return replace(with_expressions(q, changed), partition=q.partition, order=q.order)


def fitted(q: MatchRecognize, dialect: SqlDialect) -> MatchRecognize:
    """The clause, as far as is easily done without what the dialect refuses, and with what it asks for."""
    refused = dialect.refused or {}

    def other(p: Any) -> Any:
        below = [other(one) for one in trees.children(p)]
        p = trees.rebuilt(p, below) if below else p
        match p:
            case syntax.Exclusion(inner) if "exclusion" in refused:
                return inner
            case syntax.Permute(parts) if "permute" in refused:
                return reduce(syntax.RowConcatenation, parts)
            case syntax.Anchor() if {"anchors", "inner anchors"} & refused.keys():
                return syntax.RowVariable("A")
            case syntax.Empty() if "empty pattern" in refused:
                return syntax.RowVariable("A")
            case syntax.Quantified(inner, low, high, greedy):
                if "numbers" in refused and (low, high) not in syntax.SHORT:
                    low, high = min(low, 1), None
                plain = "reluctant" in refused or (low == high and "reluctant exact" in refused)
                plain = plain or ((low, high) == (0, 1) and "reluctant optional" in refused)
                return syntax.Quantified(inner, low, high, greedy or plain)
        return p

    pattern = other(q.pattern)
    last = pattern.right if isinstance(pattern, syntax.RowConcatenation) else pattern
    if "greedy last" in refused and isinstance(last, syntax.Quantified) and last.low != last.high:
        pattern = syntax.RowConcatenation(pattern, syntax.RowVariable("Z"))
    q = replace(q, pattern=pattern, subsets=() if "subset" in refused else q.subsets)
    conditions = {A: e for A, e in q.conditions.items() if A in q.primary}
    for A in list(conditions) if {"match in define", "prev and next"} & refused.keys() else ():
        try:
            alone = replace(q, measures=(Measure(Count(), "n"),), define=(RowDefinition(A, conditions[A]),))
            require_in_dialect(
                replace(alone, rows="one", skip=RowSkip("next row")), replace(dialect, needs=frozenset())
            )
        except CerifyError:
            del conditions[A]
    define = {A: conditions.get(A, TRUE) for A in q.primary} if dialect.needs else conditions
    measures = (Measure(Count(), "n"),) if "plain measures" in refused or not q.measures else q.measures
    skip = q.skip if q.skip.variable is None and dialect.name != "azure" else RowSkip("next row")
    skip = RowSkip() if "skip to next row" in refused else skip
    order = q.order or ((Order(RowColumn("o")),) if "order" in dialect.needs else ())
    return replace(
        q,
        define=tuple(RowDefinition(A, e) for A, e in define.items()),
        measures=measures,
        rows="one" if "all rows" in refused or q.rows in ("all omit empty", "all with unmatched") else q.rows,
        skip=skip if "skip to a variable" in refused else q.skip,
        longest=q.longest and "longest match" not in refused,
        partition=tuple(e for e in q.partition if isinstance(e, RowColumn) or "key" not in refused),
        order=tuple(one for one in order if isinstance(one.column, RowColumn) or "key" not in refused),
    )


def compared_in(
    dialects: Sequence[SqlDialect], carried: int, seed: int = 0, nodes: int = 8, rows: int = 8
) -> tuple[dict[str, Counter[str]], str]:
    """How many random clauses each dialect has, up to that number, and refuses; the first difference, "" for none.

    Every fourth clause of a dialect is written and read again too.
    """
    kinds: dict[str, Counter[str]] = {one.name: Counter() for one in dialects}
    kernels = ("kernel", "kernel on columns")
    numbers = takewhile(lambda _: any(one["carried"] < carried for one in kinds.values()), count(seed))
    for number in numbers:
        for few in (False, True):
            mine = [one for one in dialects if ("alternation" in (one.refused or {})) == few]
            if not mine:
                continue
            rng = Random(number)
            profile = rng.choice(["chain"] if few else ["columns", "everything", "extended", "chain"])
            q, S = case(rng, PROFILES[profile], nodes, rows)
            q = halved(q) if rng.random() < 0.3 else q
            asked, as_it_is = DialectCases(S, kernels[number % 2]), rng.random() < 0.1
            for i, dialect in enumerate(mine):
                if kinds[dialect.name]["carried"] >= carried:
                    continue
                clause = replace(q if as_it_is else fitted(q, dialect), span=None)
                wrong = asked.difference(clause, dialect, (number + i) % 4 == 0)
                kinds[dialect.name]["refused" if wrong == "refused" else "carried"] += 1
                if wrong not in ("", "refused"):
                    return kinds, f"{number}: {dialect.name}: {wrong} on {[dict(event.attributes) for event in S]}"
    return kinds, ""


@click.command()
@click.option(
    "--dialect", multiple=True, type=click.Choice([*DIALECTS]), help="Compare clauses as they are read in it."
)
@click.option("--cases", default=20_000, show_default=True)
@click.option("--seed", default=0, show_default=True)
@click.option("--profile", default="everything", show_default=True, type=click.Choice([*PROFILES]))
@click.option("--nodes", default=10, show_default=True, help="Of a pattern, at most.")
@click.option("--rows", default=8, show_default=True, help="Of a table, at most.")
def main(dialect: tuple[str, ...], cases: int, seed: int, profile: str, nodes: int, rows: int) -> None:
    """Compare random clauses on random tables."""
    if dialect:
        counted, difference = compared_in([*map(dialect_named, dialect)], cases, seed, nodes, rows)
        for name, found in counted.items():
            click.echo(f"{name}: {sum(found.values())} cases: {dict(found)}")
        if difference:
            raise click.ClickException(difference)
        return
    kinds, difference = compared(range(seed, seed + cases), JUDGED, profile, nodes, rows)
    click.echo(f"{sum(kinds.values())} cases: {dict(kinds)}")
    if difference:
        raise click.ClickException(difference)


if __name__ == "__main__":
    main()
