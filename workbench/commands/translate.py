"""cerify translate: write a query in another language, with the same complex events at every position.

An event expression only has the event at which it takes place, which corresponds to the end of a match.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click

from cerify.api import read_query
from cerify.commands.options import ChoiceOption, LanguageChoice, echoed_warnings
from cerify.commands.rules import shown_window, with_rule_of
from cerify.equivalence.rewrite.translate_clickhouse import CALL_TRANSLATIONS
from cerify.equivalence.rewrite.translate_funnels import DIALECTS, chain_of, funnel_sql, query_text
from cerify.languages import DEFAULT, LANGUAGES
from cerify.languages.language import Language
from cerify.semantics.arguments import parse_reading
from cerify.semantics.errors import BudgetExceeded, ParseError, Unsupported, errors_in
from cerify.semantics.funnel_queries import FunnelQuestion, SequenceQuestion
from cerify.semantics.parsing import MAX_DEPTH
from cerify.semantics.readings import Reading
from cerify.semantics.row_pattern.dialects import DIALECTS as SQL
from cerify.semantics.row_pattern.dialects import dialect_named
from cerify.semantics.row_pattern.parse import parse as row_pattern_parse
from cerify.semantics.row_pattern.show_dialects import show_in_dialect, show_statement
from cerify.statements import read_pasted
from cerify.terminal import echo

CLICKHOUSE, FUNNEL = DIALECTS[0], "funnel"
CALLS = dict(CALL_TRANSLATIONS)


class DialectChoice(LanguageChoice):
    """An option type: the name of a language, or of a database to whose SQL funnels are translated."""

    names: tuple[str, ...] = DIALECTS

    @property
    def choices(self) -> tuple[str, ...]:
        """Return the names of all languages and of these databases."""
        return (*LANGUAGES, *self.names)

    @choices.setter
    def choices(self, _: object) -> None:
        """Ignore assignments by click: the choices are always the same."""


class CallChoice(DialectChoice):
    """An option type: the name of a language, or of the database whose calls can be translated."""

    names = (CLICKHOUSE,)


@click.command()
@click.argument("query")
@click.option(
    "--from",
    "--language",
    "from_",
    type=CallChoice(),
    default=DEFAULT,
    show_default=True,
    help="The language of QUERY.",
)
@click.option("--to", type=DialectChoice(), help="The language to translate to; --to-dialect implies it.")
@click.option(
    "--reading",
    multiple=True,
    metavar="NAME=VALUE",
    help="SASE+: another answer to an open question, such as window=closed.",
)
@click.option(
    "--dialect", type=ChoiceOption(list(SQL)), help="MATCH_RECOGNIZE: the dialect of QUERY.  [default: standard]"
)
@click.option("--to-dialect", type=ChoiceOption(list(SQL)), help="MATCH_RECOGNIZE: the dialect to translate to.")
@click.option("--table", default="events", show_default=True, help="SQL: the name of the table.")
@click.option("--position", metavar="COLUMN", help="SQL: a column that orders the rows of equal times.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def translate_command(
    query: str,
    from_: str,
    to: str | None,
    reading: tuple[str, ...],
    dialect: str | None,
    to_dialect: str | None,
    as_json: bool,
    **rows: Any,
) -> int:
    """Write QUERY in another language, so that it has the same complex events at every position of every stream.

    An event expression takes place where a match ends. With a database for --to, QUERY is a chain of CEL or a text of
    the language funnel, and the translation is SQL that computes the level of each key. With --from clickhouse, QUERY
    is a call of windowFunnel, sequenceMatch or sequenceCount. Notes say where a translation of funnels differs.

    Exit status: 0 if QUERY could be translated, 1 if not, 2 if QUERY does not parse.
    """
    if to is None and to_dialect is None:
        raise click.UsageError("give the language with --to, or for MATCH_RECOGNIZE a dialect with --to-dialect")
    if to is None:
        from_, to = "row-pattern" if from_ == DEFAULT else from_, "row-pattern"
    if to_dialect is not None or dialect is not None:
        if not all("row_reading" in LANGUAGES[name].settings for name in (from_, to) if name in LANGUAGES):
            raise click.UsageError("only MATCH_RECOGNIZE has dialects: give --from and --to row-pattern")
        return _translate_dialect(query, dialect or "standard", to_dialect or "standard", as_json)
    query, from_ = with_rule_of(query, from_)
    if from_ == to:
        raise click.UsageError("--from and --to are the same language; for row-pattern give --to-dialect")
    if from_ in (CLICKHOUSE, FUNNEL) or to in DIALECTS:
        return _translate_funnel(query, from_, to, (rows["table"], rows["position"]), as_json)
    lang = LANGUAGES[from_]
    if to not in lang.deciders.translations:
        known = ", ".join(
            f"{name} to {other}" for name, one in LANGUAGES.items() for other in one.deciders.translations
        )
        raise click.UsageError(f"there is no translation from {from_} to {to}; the translations are {known}")
    if reading and "reading" not in lang.settings:
        raise click.UsageError("--reading is only for queries of SASE+; leave it out")
    read = parse_reading(Reading, reading)
    _, phi = read_query(query, from_)
    text: str | None = None
    refusal: Unsupported | BudgetExceeded | None = None
    try:
        with errors_in(query):
            text = _show_and_reparse(lang.deciders.translations[to](phi, read), LANGUAGES[to])
    except (Unsupported, BudgetExceeded) as error:
        refusal = error
    if as_json:
        span = refusal and refusal.span and [refusal.span.start, refusal.span.end]
        reason = None if refusal is None else {"message": refusal.message, "span": span}
        answer = {"from": from_, "to": to, "query": text, "refused": reason}
        echo(json.dumps(answer, ensure_ascii=False))
    else:
        echo(str(text) if refusal is None else f"no translation: {refusal.described()}")
    return 0 if refusal is None else 1


def _translate_funnel(query: str, from_: str, to: str, rows: tuple[str, str | None], as_json: bool) -> int:
    """Translate a call of ClickHouse, or a funnel to SQL or CEL; print differences in meaning as notes."""
    if from_ == CLICKHOUSE and to not in CALLS:
        raise click.UsageError(f"calls of {CLICKHOUSE} are translated to {' or '.join(CALLS)}, not to {to}")
    if from_ not in (CLICKHOUSE, FUNNEL, DEFAULT):
        raise click.UsageError(
            f"only queries of {DEFAULT} and {FUNNEL} are translated to {to}: give --from {DEFAULT} or {FUNNEL}"
        )
    if from_ == FUNNEL and to not in (*DIALECTS, DEFAULT):
        raise click.UsageError(f"a funnel is translated to {DEFAULT} or {', '.join(DIALECTS)}, not to {to}")

    def translated() -> tuple[str, tuple[str, ...]]:
        if from_ == CLICKHOUSE:
            call = CALLS[to](query)
            return call.query, call.differences
        _, phi = read_query(query, from_)
        if isinstance(phi, SequenceQuestion):
            raise Unsupported("a sequence has no translation; give the call of sequenceMatch, with --from clickhouse")
        question = phi if isinstance(phi, FunnelQuestion) else chain_of(phi)
        if to == DEFAULT:
            return query_text(question, ()), ()
        sql = funnel_sql(question, next(name for name in DIALECTS if name == to), *rows)
        return sql.query, sql.differences

    return _print_with_differences(query, (from_, to), translated, as_json)


def _translate_dialect(query: str, dialect: str, to: str, as_json: bool) -> int:
    """Translate a clause of MATCH_RECOGNIZE, or a SELECT around one, from one dialect to another."""

    def translated() -> tuple[str, tuple[str, ...]]:
        source, target = dialect_named(dialect), dialect_named(to)
        with echoed_warnings(query):
            pasted = read_pasted(query, dialect)
        if pasted.windows:
            raise Unsupported(
                f"{target.title} has no {shown_window(pasted.windows[0])} in DEFINE: compute it as a column of the "
                "table in FROM, such as mean, and write its name"
            )
        if pasted.statement is not None:
            return show_statement(pasted.statement, source, target)
        return show_in_dialect(row_pattern_parse(query, source), source, target)

    return _print_with_differences(query, (dialect, to), translated, as_json)


def _print_with_differences(
    query: str, ends: tuple[str, str], translated: Callable[[], tuple[str, tuple[str, ...]]], as_json: bool
) -> int:
    from_, to = ends
    found: tuple[str, tuple[str, ...]] | None = None
    refusal: Unsupported | None = None
    try:
        with errors_in(query):
            found = translated()
    except Unsupported as error:
        refusal = error
    if as_json:
        span = refusal and refusal.span and [refusal.span.start, refusal.span.end]
        reason = None if refusal is None else {"message": refusal.message, "span": span}
        text, differences = (None, ()) if found is None else found
        answer = {"from": from_, "to": to, "query": text, "refused": reason, "differences": list(differences)}
        echo(json.dumps(answer, ensure_ascii=False))
    elif found is None:
        echo(f"no translation: {refusal.described() if refusal is not None else ''}")
    else:
        echo(found[0])
        for difference in found[1]:
            echo(f"cerify: note: {difference}", error=True)
    return 0 if found is not None else 1


def _show_and_reparse(psi: Any, language: Language[Any]) -> str:
    """Return the text of a tree. Raises Unsupported if the text does not parse to the same tree."""
    text = language.syntax.show(psi)
    try:
        if language.syntax.parse(text) == psi:
            return text
    except ParseError:
        pass
    except BudgetExceeded:
        raise BudgetExceeded(f"the translation would be nested more than {MAX_DEPTH} operators deep") from None
    raise Unsupported(
        f"a type, variable or attribute of the query has a name that is a keyword of {language.title}; rename it"
    )
