"""Read detection rules from files and folders: Sigma in YAML, and EQL in files .eql or TOML with a query.

All commands on rules read them through `read_rules`, so that a folder means the same to `match`, `diff` and `conform`.
A file that cannot be read is kept with its reason instead of raising: one bad file must not hide the findings about the
others. References between Sigma rules are resolved here, since only the folder knows both files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cerify.api import read_query
from cerify.commands.options import FileSource, Report, echoed_warnings, progress, schema_of
from cerify.languages import LANGUAGES, language_named
from cerify.languages.language import DENOTATIONAL, Options
from cerify.semantics.arguments import parse_reading
from cerify.semantics.errors import CerifyError, InputError, MissingPackage, Unsupported, errors_in
from cerify.semantics.events import Stream
from cerify.semantics.json_events import json_of_event, text_of
from cerify.semantics.readings import RowReading
from cerify.semantics.schemas import NO_CATEGORY
from cerify.terminal import echo

if TYPE_CHECKING:
    from cerify.conformance.model import AnswerOutput, Case
    from cerify.semantics.eql.syntax import EqlQuery
    from cerify.semantics.row_pattern.statement import WindowColumn
    from cerify.semantics.sigma.syntax import SigmaQuery
    from cerify.statements import Pasted

SIGMA = frozenset({".yml", ".yaml"})
SUFFIXES = frozenset({".toml", ".eql", *SIGMA})
NAMED = re.compile(r"(?m)^(?:name|id):[ ]*['\"]?([^\s'\"#]+)")
"""A pattern that finds the names and ids of rules in a YAML text."""


@dataclass(frozen=True)
class DetectionRule:
    """A detection rule. Rules of two folders are paired by their ids. query: the syntax tree of the text."""

    id: str
    name: str
    path: str
    text: str
    query: EqlQuery | SigmaQuery
    language: str = "eql"


@dataclass(frozen=True)
class UnreadableRule:
    """A rule that could not be read. place: its file and line. path: its file in the folder."""

    place: str
    message: str
    path: str


@dataclass(frozen=True)
class RuleFolder:
    """The rules of a folder by their ids. other: how many of its rules are in other languages."""

    rules: dict[str, DetectionRule]
    unreadable: tuple[UnreadableRule, ...]
    other: int


def read_rules(path: Path) -> RuleFolder:
    """Return the rules of a folder, or of one file. Raises InputError if there are none."""
    files = sorted(f for f in path.rglob("*") if f.suffix in SUFFIXES and f.is_file()) if path.is_dir() else [path]
    if path.is_dir() and not files:
        raise InputError(f"{path}: no file ends in .toml, .eql, .yml or .yaml")
    rules: dict[str, DetectionRule] = {}
    unreadable: list[UnreadableRule] = []
    other = 0
    for file in files:
        where = str(file.relative_to(path)) if path.is_dir() else file.name
        try:
            rule = _read_rule(file, where)
        except _Unreadable as error:
            unreadable.append(UnreadableRule(error.place, error.message, where))
            continue
        if rule is None:
            other += 1
        elif rule.id in rules:
            first = rules[rule.id].path
            message = f"{first} has the same rule_id {rule.id}; give it another one"
            unreadable.append(UnreadableRule(str(file), message, where))
        else:
            rules[rule.id] = rule
    return RuleFolder(rules, tuple(unreadable), other)


def read_rule(source: str) -> DetectionRule:
    """Return the rule in a file, given its path, or the rule of a text in EQL. Raises InputError, ParseError."""
    path = Path(source)
    if path.suffix not in SUFFIXES or "\n" in source or not path.is_file():
        return DetectionRule(source, "", "", source, read_query(source, "eql")[1])
    try:
        rule = _read_rule(path, path.name)
    except _Unreadable as error:
        raise InputError(f"{error.place}: {error.message}") from None
    if rule is None:
        raise InputError(f"{source}: the rule is not in EQL; give a rule in EQL or Sigma")
    return rule


def cases_of_rules(path: Path) -> tuple[list[Case], tuple[UnreadableRule, ...]]:
    """Return a case for each test log that `cerify vectors` writes for the rules of a file or a folder.

    The feature of a case is the name of its rule, or the rule's path. A file of Sigma has cases for each rule that
    raises alerts. Also return the unreadable rules of a folder. Raises InputError if no rule has a test log.
    """
    folder = read_rules(path)
    for bad in () if folder.rules else folder.unreadable:
        raise InputError(f"{bad.place}: {bad.message}")
    with progress() as shown:
        cases, untested = _cases_of(folder, shown)
    if not cases:
        raise InputError(f"{path}: no rule in EQL or Sigma has a test log")
    if untested:
        message = f"{len(untested)} test logs are skipped, because a field in them has both texts and numbers"
        echo(f"cerify: note: {message}, but the protocol requires one type for each field", error=True)
        for mistake in dict.fromkeys(mistake for mistakes in untested for mistake in mistakes):
            echo(f"cerify: note: not tested: {mistake}", error=True)
    return cases, folder.unreadable


def _cases_of(folder: RuleFolder, shown: Report) -> tuple[list[Case], list[list[str]]]:
    """Return the cases of rules; and for each test log that is left out, because a field has several types, the
    mistakes that it finds.
    """
    from cerify.conformance.model import Case, evaluated_output, of_output
    from cerify.equivalence.sigma import attributes_in, has_one_kind_a_field
    from cerify.semantics.ecs import TIMESTAMP, UNCATEGORIZED, event_of_document
    from cerify.semantics.sigma.parse import split_by_alerts
    from cerify.semantics.sigma.syntax import SigmaQuery, rules_of

    cases, untested = list[Case](), list[list[str]]()
    for done, rule in enumerate(folder.rules.values()):
        shown(f"making test logs of {rule.path}", done, len(folder.rules))
        language = LANGUAGES[rule.language]
        output: AnswerOutput = "valuations" if language.results else "matches"
        queries = split_by_alerts(rule.query) if isinstance(rule.query, SigmaQuery) else [rule.query]
        number = 0
        for query in queries:
            text, name = rule.text, rule.name or rule.path
            if len(queries) > 1 and isinstance(query, SigmaQuery):
                text, name = query.text, query.rules[0].name
            with errors_in(text):
                logs = language.explanations.logs_for_engines(query).lines
            uses_time = isinstance(query, SigmaQuery) and any(TIMESTAMP in attributes_in(r) for r in rules_of(query))
            unused = "" if uses_time else TIMESTAMP  # an event of the protocol has its time as `time`
            for line in logs:
                number += 1
                nulls = language.syntax.keeps_nulls
                default = UNCATEGORIZED if nulls else NO_CATEGORY
                read = (
                    event_of_document(one, rule.path, keep_fields=nulls, default_type=default) for one in line["log"]
                )
                S = Stream(list(read))
                if not has_one_kind_a_field(S):  # the protocol requires one type for each attribute
                    untested.append([f"{rule.path}: {mistake}" for mistake in line["kills"]])
                    continue
                clause = f"finds {'; '.join(line['kills'])}" if line["kills"] else "a log on which it fires"
                meant = language.evaluators.matches(query, S, DENOTATIONAL, Options(evaluated_output(output)))
                events = [_without(json_of_event(event), unused) for event in S]
                id_, matches = f"{rule.path}:{number}", of_output(meant, rule.language, output)
                cases.append(Case(id_, name, clause, rule.language, text, None, events, output, matches))
    return cases, untested


def _without(obj: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in obj.items() if key != name}


def is_rule_folder(query: str) -> bool:
    """Return whether a query is the path of a folder with rule files."""
    if len(query) >= 4096 or "\n" in query or not query.strip():  # Path() would be the current folder
        return False
    path = Path(query)
    try:
        return path.is_dir() and any(f.suffix in SUFFIXES for f in path.rglob("*"))
    except OSError:  # a query that is too long to be a name, or a folder that may not be read
        return False


def with_rule_of(
    query: str,
    language: str,
    takes_statements: bool = False,
    dialect: str | None = None,
    readings: Sequence[str] = (),
    schema: str | None = None,
    takes_windows: bool = False,
    takes_readings: bool = False,
) -> tuple[str, str]:
    """Return the text and the language of a query, or of the rule file that it names.

    MATCH_RECOGNIZE may also be in a file .sql. For a SELECT around a clause, return only the clause, with a note on
    standard error, unless `takes_statements`. A clause in a dialect of SQL, or under other readings, is rewritten as a
    clause of the standard. schema: the value of --schema; it determines which columns are times, so that numbers can be
    added to them. takes_windows: whether an aggregate with OVER may be replaced by a column of the same name.
    takes_readings: whether the command itself uses the readings of other languages.

    Raises InputError if the file is missing, or has no rule in EQL or Sigma.
    """
    if is_rule_folder(query):
        raise InputError(
            f"{query} is a folder of rules; give one of its files. Only cerify check, cerify diff and cerify conform "
            "--suite take folders"
        )
    path = Path(query) if len(query) < 4096 and "\n" not in query else Path()
    # A text without blanks and brackets is hardly a query: it names a file, even one that is missing.
    if path.suffix in SUFFIXES and (path.is_file() or not re.search(r"[\s\[(]", query)):
        if not path.is_file():
            raise InputError(f"no file {query}; if it is a query, put it in brackets")
        rule = read_rule(query)
        query, language = rule.text, rule.language
    takes_rows = _takes_rows(language)
    query = _sql_text(query) if takes_rows else query
    if not takes_rows and (dialect is not None or readings):
        has_readings = any(name.endswith("reading") for name in language_named(language).settings)
        if readings and has_readings and not takes_readings:
            raise click.UsageError(
                "this command supports only the default reading: leave --reading out, or use cerify match"
            )
        if dialect is not None or not has_readings:
            raise click.UsageError("--dialect and --reading are only for queries in MATCH_RECOGNIZE; leave them out")
    if not takes_rows or takes_statements:
        return query, language
    from cerify.semantics.row_pattern.check import column_types, types_of, with_days
    from cerify.semantics.row_pattern.statement import is_statement
    from cerify.semantics.row_pattern.syntax import show as show_clause
    from cerify.statements import written_out

    if not (is_statement(query) or dialect is not None or readings):
        return query, language
    pasted, reading = _pasted_clause(query, dialect, readings)
    if pasted.windows and not takes_windows:
        raise Unsupported(f"{shown_window(pasted.windows[0])} needs the rows of a table: {INSTEAD_OF_WINDOW}")
    clause = pasted.clause
    if schema is not None and pasted.dialect.days:
        types = types_of(column_types(schema_of(schema, language=language)))
        clause = with_days(clause, types, *pasted.dialect.operands)
    return show_clause(written_out(clause, reading)), language


def with_table_of(
    query: str,
    language: str,
    source: FileSource,
    files: Sequence[str],
    dialect: str | None,
    readings: Sequence[str],
    takes_readings: bool = False,
) -> tuple[str, str, Stream | None]:
    """Return the text and the language of a query; if a dialect is given, also the rows that its clause reads, else
    None.

    The rows show which columns are times, so that numbers can be added to them. For each aggregate with OVER in the
    clause, they have a column with its values.
    """
    if dialect is None or not _takes_rows(language):
        return (
            *with_rule_of(query, language, dialect=dialect, readings=readings, takes_readings=takes_readings),
            None,
        )
    from cerify.statements import written_out

    pasted, reading = _pasted_clause(_sql_text(query), dialect, readings)
    with errors_in(pasted.text):
        table = pasted.over(source.read_in(language_named(language), tuple(files)), reading)
    text = language_named(language).syntax.show(written_out(table.clause, reading))
    source.warn_of_fit(pasted.text, language, table.S, table.clause)
    return text, language, table.S


def _takes_rows(language: str) -> bool:
    return language in LANGUAGES and "row_reading" in LANGUAGES[language].settings


def _sql_text(query: str) -> str:
    """Return the text of a query, read from its file if it names a file .sql."""
    path = Path(query) if len(query) < 4096 and "\n" not in query else Path()
    return text_of(path) if path.suffix == ".sql" and path.is_file() else query


def _pasted_clause(query: str, dialect: str | None, readings: Sequence[str]) -> tuple[Pasted, RowReading]:
    """Return a pasted clause or SELECT, parsed in its dialect, and its reading.

    For a SELECT, write a note to standard error.
    """
    from cerify.statements import read_pasted, reading_texts, split_duration

    duration, others = split_duration(readings)
    with echoed_warnings(query):
        pasted = read_pasted(query, dialect or "standard", duration)
    if pasted.below is not None:
        raise Unsupported("FROM has a query; store the rows of this query in a file, give that file, and write FROM t")
    if pasted.statement is not None:
        echo("cerify: note: the matches are those of the clause MATCH_RECOGNIZE, before the rest of SELECT", error=True)
    return pasted, parse_reading(RowReading, [*reading_texts(pasted.reading), *others])


INSTEAD_OF_WINDOW = (
    "use cerify match or explain, or put a column with this value into the table, such as mean, and write its name"
)


def shown_window(one: WindowColumn) -> str:
    """Write an aggregate with OVER as text."""
    return f"{one.name.partition(' OVER ')[0]} OVER (…)"


class _Unreadable(Exception):
    def __init__(self, place: str, message: str) -> None:
        super().__init__(message)
        self.place, self.message = place, message


def _read_rule(file: Path, where: str) -> DetectionRule | None:
    """Return the rule of a file; None for a rule in another language."""
    try:
        text = text_of(file)
    except InputError as error:
        raise _Unreadable(str(file), error.message) from None
    table: dict[str, Any] = {}
    query, language = text, "sigma" if file.suffix in SIGMA else "eql"
    if language == "sigma":
        text = query = with_referenced_rules(file, text)
    if file.suffix == ".toml":
        table = _table(file, text)
        if table.get("language", table.get("type", "eql")) != "eql":  # machine-learning rules have no language
            return None
        if "query" not in table:
            raise _Unreadable(str(file), 'the file has no query of a rule, as query = """…""" under [rule]')
        query = table["query"]
        if not isinstance(query, str):
            raise _Unreadable(str(file), "the query of a rule must be a text")
    try:
        _, tree = read_query(query, language)
    except MissingPackage:
        raise
    except CerifyError as error:
        line = _line_of(text, query, 0 if error.span is None else error.span.start)
        raise _Unreadable(f"{file}:{line}", error.message) from None
    id_ = table.get("rule_id")
    name = ", ".join(rule.name for rule in tree.rules) if language == "sigma" else str(table.get("name", ""))
    return DetectionRule(str(id_) if id_ else where, name, where, query, tree, language)


def with_referenced_rules(file: Path, text: str) -> str:
    """Return the text of Sigma rules, followed by the rules of other files in the folder that they refer to.

    These rules come last, so that each line has the same number as in the file. They raise no alerts of their own.
    """
    known = set(re.findall(NAMED, text))
    wanted = [name for name in _references(text) if name not in known]
    others: list[str] = []
    for other in sorted(f for f in file.parent.rglob("*") if f.suffix in SIGMA and f != file) if wanted else ():
        if others and not wanted:
            break
        from cerify.semantics.sigma.parse import DOCUMENT

        with suppress(InputError):
            for document in DOCUMENT.split(text_of(other)):
                names = set(re.findall(NAMED, document))
                if names & set(wanted):
                    known |= names
                    others.append(document.strip("\n"))
                    wanted = [name for name in (*wanted, *_references(document)) if name not in known]
    return "\n---\n".join([text.rstrip("\n"), *others]) + "\n" if others else text


def _references(text: str) -> list[str]:
    """Return the names and ids under `rules:` of the correlations in a YAML text."""
    blocks = re.findall(r"(?m)^[ ]+rules:[ ]*(\[[^\]]*\]|[^\s#\[].*|(?:\s*\n[ ]*-[ ]+.*)+)", text)
    return [name for block in blocks for name in re.findall(r"[^\s,'\"\[\]-][^\s,'\"\[\]]*", re.sub(r"#.*", "", block))]


def _table(file: Path, text: str) -> dict[str, Any]:
    import tomllib

    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        raise _Unreadable(f"{file}:{line[1] if line else 1}", f"not TOML: {error}") from None
    rule = table.get("rule", table)
    return rule if isinstance(rule, dict) else {}


def _line_of(text: str, query: str, offset: int) -> int:
    """Return the number of the line in the text of a file for an offset in its query.

    If the query has escapes, so that the text does not contain it, return the line of `query =`.
    """
    start = text.find(query)
    if start < 0:
        key = re.search(r"^\s*query\s*=", text, re.MULTILINE)
        return text.count("\n", 0, key.end()) + 1 if key else 1
    return text.count("\n", 0, start + offset) + 1


def names_of(rules: Iterable[DetectionRule]) -> list[str]:
    """Format rules for a list: name and path of each."""
    return [f"{rule.name} ({rule.path})" if rule.name else rule.path for rule in rules]
