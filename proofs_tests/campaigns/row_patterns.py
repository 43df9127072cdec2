"""MATCH_RECOGNIZE by its definition and by its evaluators: `python -m proofs_tests.campaigns.row_patterns`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import reduce
from itertools import count
from random import Random
from typing import Any, TypeAlias

import click

from cerify.automata.row_pattern import compiled, evaluate
from cerify.equivalence.generate import row_pattern as generate
from cerify.equivalence.generate.row_pattern import case
from cerify.equivalence.shrink.row_pattern import ROW_PATTERN
from cerify.equivalence.shrink.shrink import shrink
from cerify.languages.row_pattern import RegisterOutput
from cerify.semantics import trees
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import CerifyError
from cerify.semantics.events import Stream
from cerify.semantics.row_pattern import interpreter, syntax
from cerify.semantics.row_pattern.check import require_wellformed
from cerify.semantics.row_pattern.dialects import DIALECTS, STANDARD_SQL, SqlDialect, dialect_named, require_in_dialect
from cerify.semantics.row_pattern.interpreter import RowOutput
from cerify.semantics.row_pattern.scalars import NumberedMatch
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


def in_dialect(q: MatchRecognize, S: Stream, dialect: SqlDialect, kernel: str = "kernel") -> str:
    """Which evaluator differs on a clause as it is read in a dialect; "" for none, "refused" if it is not carried.

    The text is written for the dialect and read again. The definition follows the dialect's reading of that; the others
    follow the clause in which the reading is written out, and the standard's definition the clause before it was
    written, where the dialect keeps its meaning. kernel: the compiled evaluator to ask.
    """
    try:
        meant, text, differences = write_in_dialect(q, STANDARD_SQL, dialect)
        pasted = read_pasted(text, dialect.name)
        require_wellformed(pasted.clause)
    except CerifyError:
        return "refused"
    if replace(pasted.clause, span=None) != replace(meant, span=None):
        return f"the reader: {text}"

    def by_reading(q: MatchRecognize, S: Stream, budget: Budget) -> Iterable[NumberedMatch]:
        return interpreter.find_matches(q, S, pasted.reading, budget)

    out = written_out(pasted.clause, pasted.reading)
    answers = {"definition": matches_of(by_reading, pasted.clause, S)}
    if out != pasted.clause:
        answers["written out"] = matches_of(interpreter.find_matches, out, S)
    answers |= {name: matches_of(JUDGED[name], out, S) for name in ("automaton", kernel)}
    if not differences:
        answers["standard"] = matches_of(interpreter.find_matches, q, S)
    certain = {name: one for name, one in answers.items() if not {"budget", "unsupported"} & {*map(str, one[-1:])}}
    right = next(iter(certain.values()), [])
    if (wrong := next((name for name, one in certain.items() if one != right), "")) != "":
        return f"{wrong}: {text}"
    found = [one[0] for one in right if not isinstance(one, str)]
    tables = [RowOutput(pasted.clause, S, pasted.reading), *([RowOutput(out, S)] if out != pasted.clause else [])]
    shown = [list(table.rows(found)) for table in tables]
    return f"the output: {text}" if shown[:-1] != shown[1:] else ""


def matches_of(find: Finder, q: MatchRecognize, S: Stream) -> Answer:
    """The matches with the rows that they leave out, and the code of the error that ends them."""
    found: Answer = []
    try:
        found += ((match, match.excluded) for match in find(q, S, budget=BUDGET))
    except CerifyError as error:
        found.append(error.code)
    return found


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
    dialect: SqlDialect, carried: int, seed: int = 0, nodes: int = 8, rows: int = 8
) -> tuple[Counter[str], str]:
    """How many random clauses a dialect carries, up to that number, and refuses; the first difference, "" for none."""
    kinds: Counter[str] = Counter()
    kernels = ("kernel", "kernel on columns")
    for number in count(seed):
        rng = Random(number)
        few = "alternation" in (dialect.refused or {})
        profile = rng.choice(["chain"] if few else ["columns", "everything", "extended", "chain"])
        q, S = case(rng, PROFILES[profile], nodes, rows)
        wrong = in_dialect(fitted(q, dialect) if rng.random() < 0.9 else q, S, dialect, kernels[number % 2])
        kinds["refused" if wrong == "refused" else "carried"] += 1
        if wrong not in ("", "refused"):
            return kinds, f"{number}: {wrong} on {[dict(event.attributes) for event in S]}"
        if kinds["carried"] >= carried:
            break
    return kinds, ""


@click.command()
@click.option("--dialect", type=click.Choice([*DIALECTS]), help="Compare clauses as they are read in this dialect.")
@click.option("--cases", default=20_000, show_default=True)
@click.option("--seed", default=0, show_default=True)
@click.option("--profile", default="everything", show_default=True, type=click.Choice([*PROFILES]))
@click.option("--nodes", default=10, show_default=True, help="Of a pattern, at most.")
@click.option("--rows", default=8, show_default=True, help="Of a table, at most.")
def main(dialect: str | None, cases: int, seed: int, profile: str, nodes: int, rows: int) -> None:
    """Compare random clauses on random tables."""
    if dialect is not None:
        kinds, difference = compared_in(dialect_named(dialect), cases, seed, nodes, rows)
        click.echo(f"{dialect}: {sum(kinds.values())} cases: {dict(kinds)}")
        if difference:
            raise click.ClickException(difference)
        return
    kinds, difference = compared(range(seed, seed + cases), JUDGED, profile, nodes, rows)
    click.echo(f"{sum(kinds.values())} cases: {dict(kinds)}")
    if difference:
        raise click.ClickException(difference)


if __name__ == "__main__":
    main()
