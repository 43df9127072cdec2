"""cerify simplify: find a smaller query with the same meaning.

The search is in `equivalence/rewrite/simplify.py` and, for rules, in `equivalence/eql/decide.py`. Here its result is
printed with the steps, and the proof is written as a certificate. `cerify check` and `cerify normalize` follow, since
they also transform or judge one query without a stream.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from cerify.api import check, read_query
from cerify.automata.cea.compile import compilable
from cerify.commands.options import (
    LEVELS,
    OUTPUT,
    AtLeast,
    ChoiceOption,
    argument,
    dialect_option,
    language,
    language_option,
    option,
    reading_option,
    schema_of,
    takes,
)
from cerify.commands.rules import DetectionRule, is_rule_folder, names_of, read_rules, with_rule_of
from cerify.equivalence.decide.cel import InStar, NotInStar, star_form
from cerify.equivalence.rewrite.normal_forms import NODES
from cerify.equivalence.rewrite.simplify import TRIES, Simplified, simplify
from cerify.equivalence.verdict import Level, Undecided
from cerify.explanations.explanation import braces, row
from cerify.languages import DEFAULT, language_named
from cerify.languages.language import Checked
from cerify.semantics.arguments import Budget, depth_limited
from cerify.semantics.cel.check import beyond_star, require_typed
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import Formula, show, size
from cerify.semantics.errors import InputError, errors_in, underline
from cerify.semantics.events import TYPE, ComplexEvent, Schema, Stream
from cerify.semantics.files import write_whole
from cerify.semantics.json_events import json_of_event
from cerify.semantics.packages import installed
from cerify.terminal import echo


@dataclass(frozen=True)
class SimplifyArguments:
    """The arguments and options of `cerify simplify`."""

    query: str = argument()
    language: str = language()
    level: Level = option(
        "--level", type=LEVELS, default="events", help="Keep the same complex events, or also the same valuations."
    )
    schema_text: str | None = option("--schema", metavar="JSON|FILE", help="Simplify for streams of this schema only.")
    show_steps: bool = option("--steps", is_flag=True, help="Print the steps too.")
    tries: int = option("--tries", type=AtLeast(0), default=TRIES, help="The most questions to the decider.")
    seconds: float | None = option(
        "--seconds",
        type=click.FloatRange(0, min_open=True),
        help="Stop after this time, with the smallest query so far.",
    )
    certificate_file: Path | None = option(
        "--certificate",
        type=OUTPUT,
        metavar="FILE",
        help="Write a proof that the result has the same meaning, for cerify verify.",
    )
    as_json: bool = option("--json", is_flag=True, help="Print one JSON object.")


@click.command()
@takes(SimplifyArguments)
def simplify_command(args: SimplifyArguments) -> None:
    """Find a smaller query with the meaning of QUERY, a formula of CEL or a rule in EQL.

    A query is unary if each of its conditions is on one event. In CEL, every step on a unary query, or on a unary part
    of another query, is proved for all streams; other steps follow a law, and are counted separately. A rule in EQL is
    given by its text or a file .eql or .toml; each step is decided.
    """
    query, language_ = with_rule_of(args.query, args.language)
    schema = None if args.schema_text is None else schema_of(args.schema_text, language=language_)
    if language_ == "eql":
        _simplify_rule(replace(args, query=query), schema)
        return
    if language_ != DEFAULT:
        raise click.UsageError(f"cerify simplify supports CEL and EQL, but not {language_named(language_).title}")
    with errors_in(args.query):
        phi = parse(args.query)
        if schema is not None:
            require_typed(phi, schema)
        found = simplify(phi, args.level, schema, Budget(seconds=args.seconds), args.tries)
    if args.certificate_file is not None:
        _write(args.certificate_file, found)
    if args.as_json:
        echo(json.dumps(_json(args.query, found), ensure_ascii=False))
        return
    echo(show(found.phi))
    if args.show_steps:
        for step in found.steps:
            echo(f"  {step.by}: {show(step.before)}  ->  {show(step.after)}")
    echo(f"size {size(found.original)} -> {size(found.phi)}; {_said(found)}")


def _simplify_rule(args: SimplifyArguments, schema: Schema | None) -> None:
    from cerify.equivalence.eql.decide import Asked, simplify_rule

    if args.level == "valuations" or args.certificate_file is not None or args.show_steps:
        raise click.UsageError(
            "--level valuations, --steps and --certificate do not apply to rules in EQL; leave them out"
        )
    with errors_in(args.query):
        lang, query = read_query(args.query, "eql", schema)
        found, finished = simplify_rule(query, Asked(level=args.level, schema=schema), Budget(seconds=args.seconds))
    before, after = lang.syntax.size(query), lang.syntax.size(found)
    if args.as_json:
        answer = {"query": args.query, "level": args.level, "result": lang.syntax.show(found)}
        sizes = {
            "size": {"before": before, "after": after},
            "proved": found != query,
            "finished": finished,
            "steps": [],
        }
        echo(json.dumps(answer | sizes, ensure_ascii=False))
        return
    ended = "" if finished else "; stopped early, there may be a smaller one"
    echo(lang.syntax.show(found))
    said = "decided for all logs" if found != query else "nothing smaller was found"
    echo(f"size {before} -> {after}; {said}{ended}")


def _said(found: Simplified) -> str:
    """Describe the evidence that the result has the same meaning."""
    by_law = len(found.by_law_only)
    ended = "" if found.finished else "; stopped early, there may be a smaller one"
    if not found.steps:
        return f"nothing smaller was found{ended}"
    if found.proof is not None:
        return f"proved for all streams{ended}"
    taken = f"{len(found.steps)} step{'s' * (len(found.steps) > 1)}"
    return f"{taken}, {by_law or 'none'} of them by a law only{ended}"


def _json(query: str, found: Simplified) -> dict[str, Any]:
    steps = [
        {"by": s.by, "before": show(s.before), "after": show(s.after), "proved": s.proof is not None}
        for s in found.steps
    ]
    return {
        "query": query,
        "level": found.level,
        "result": show(found.phi),
        "size": {"before": size(found.original), "after": size(found.phi)},
        "proved": found.proof is not None,
        "finished": found.finished,
        "steps": steps,
    }


def _write(path: Path, found: Simplified) -> None:
    if found.proof is None:
        why = "could not be decided as a whole" if compilable(found.original) else "compares events with each other"
        raise InputError(f"there is no certificate: the query {why}")
    write_whole(path, found.proof.to_json() + "\n")


# ---------------------------------------------------------------------------------------------------------------------
# cerify check: whether a formula parses, which fragment it is in, and which parts do not fit a schema.


@click.command()
@click.argument("query")
@language_option
@click.option(
    "--schema",
    "schema_text",
    metavar="JSON|FILE",
    help="Check types against a schema: attributes of each event type, or a file of events that has them.",
)
@click.option("--time", "time_column", metavar="COLUMN", help="The field with the time, in a file of events.")
@click.option(
    "--type",
    "type_column",
    metavar="COLUMN",
    default=TYPE,
    show_default=True,
    help="The field with the type, in a file of events.",
)
@dialect_option
@reading_option
@click.option("--single", is_flag=True, help="In rules in EQL, assume that no field has several values.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def check_command(
    query: str,
    language: str,
    schema_text: str | None,
    time_column: str | None,
    type_column: str,
    dialect: str | None,
    readings: tuple[str, ...],
    single: bool,
    as_json: bool,
) -> int:
    """Check that QUERY parses and fits a schema, and print its fragment.

    QUERY may be a folder of rules in EQL or Sigma: each rule that never fires or has a problem is printed.

    Exit status: 0 without problems, 1 with a problem, 2 if QUERY, or a rule of the folder, does not parse.
    """
    if is_rule_folder(query):
        return _check_folder(Path(query), schema_text, type_column, time_column, single, as_json)
    query, language = with_rule_of(
        query, language, dialect=dialect, readings=readings, schema=schema_text, takes_windows=schema_text is None
    )
    schema = None
    if schema_text is not None:
        schema = schema_of(schema_text, type_column, time_column, language=language)
    known = _checked(query, schema, language, single)
    if as_json:
        listed = [
            {"rule": p.rule, "message": p.message, "mend": p.mend, "span": p.span and [p.span.start, p.span.end]}
            for p in known.problems
        ]
        answer: dict[str, Any] = {
            "language": language,
            "fragment": known.fragment,
            "satisfiable": known.satisfiable,
            "problems": listed,
        }
        if known.predicates:
            answer["predicates"] = [{"name": P, "variables": list(variables)} for P, variables in known.predicates]
        echo(json.dumps(answer, ensure_ascii=False))
        return 1 if known.problems else 0
    echo(known.summary)
    if known.predicates:
        needed = ", ".join(f"{P}({', '.join(variables)})" for P, variables in known.predicates)
        echo(f"needs registered predicates: {needed}")
    for problem in known.problems:
        echo("")
        echo(f"{problem.rule}: {problem.message}", colour="red")
        if problem.span is not None:
            echo(underline(query, problem.span))
        echo(f"to mend it: {problem.mend}")
    if not known.problems and known.satisfiable is None and language in ("eql", "sigma") and installed("z3"):
        echo(NOT_FOUND, colour="yellow")
    elif not known.problems:
        echo("no problems" if schema_text else "no problems; give a schema to have its types checked too")
    return 1 if known.problems else 0


NOT_FOUND = "undecided: no log was found on which the rule fires, and no proof that there is none"


def _checked(query: str, schema: Schema | None, language: str, single: bool) -> Checked:
    """Check a query; return the result. single: assume that every field of an EQL event has one value."""
    with errors_in(query):
        if not (single and language == "eql"):
            return check(query, schema, language=language)
        from cerify.languages.eql import check_rule

        return check_rule(read_query(query, language)[1], schema, arrays=False)


def _check_folder(
    path: Path, schema_text: str | None, type_column: str, time_column: str | None, single: bool, as_json: bool
) -> int:
    """Check each rule of a folder, print those with problems, and return the exit status."""
    folder = read_rules(path)
    schemas: dict[str, Schema | None] = {}
    found: list[tuple[DetectionRule, Checked]] = []
    for rule in folder.rules.values():
        if rule.language not in schemas:
            schemas[rule.language] = (
                None
                if schema_text is None
                else schema_of(schema_text, type_column, time_column, language=rule.language)
            )
        found.append((rule, _checked(rule.text, schemas[rule.language], rule.language, single)))
    broken = [(rule, known) for rule, known in found if known.problems]
    if as_json:
        listed = [
            {
                "id": rule.id,
                "path": rule.path,
                "satisfiable": known.satisfiable,
                "problems": [{"rule": p.rule, "message": p.message, "mend": p.mend} for p in known.problems],
            }
            for rule, known in found
        ]
        unreadable = [{"place": bad.place, "message": bad.message} for bad in folder.unreadable]
        echo(json.dumps({"rules": listed, "unreadable": unreadable}, ensure_ascii=False))
    else:
        for rule, known in broken:
            echo(*names_of([rule]))
            for problem in known.problems:
                echo(f"  {problem.rule}: {problem.message}; to mend it: {problem.mend}", colour="red")
        for rule in (rule for rule, known in found if known.satisfiable is None and not known.problems):
            echo(*names_of([rule]))
            echo(f"  {NOT_FOUND}", colour="yellow")
        for bad in folder.unreadable:
            echo(f"cerify: {bad.place}: {bad.message}", error=True)
        answers = [known.satisfiable for _, known in found]
        counted = [f"{len(found)} rules: {answers.count(True)} can fire", f"{answers.count(False)} never"]
        counted += [f"{answers.count(None)} undecided"] * (None in answers)
        more = sum(1 for _, known in broken if known.satisfiable is not False)
        counted += [f"{more} with problems"] * bool(more)
        counted += [f"{len(folder.unreadable)} not read"] * bool(folder.unreadable)
        other = f"; {folder.other} in other languages were skipped" if folder.other else ""
        echo(f"{', '.join(counted)}{other}")
    return 2 if folder.unreadable else int(bool(broken))


# ---------------------------------------------------------------------------------------------------------------------
# cerify normalize: a formula in a normal form with the same meaning.

FORMS = ("disjunctive", "push-in", "push-filters", "star", "safe", "lp-normal")


@click.command()
@click.argument("query")
@click.option("--to", "form", type=ChoiceOption(FORMS), required=True, help="The normal form.")
@language_option
@click.option("--nodes", type=AtLeast(1), default=NODES, show_default=True, help="The most nodes of a result.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def normalize_command(query: str, form: str, language: str, nodes: int, as_json: bool) -> int:
    """Rewrite QUERY to a normal form with the same meaning; print it, and the number of nodes before and after.

    The forms of CEL are disjunctive, push-in, push-filters and star; of core-CEL: disjunctive, safe and lp-normal. All
    but star are found by rewriting with rules. The form star is a formula of CEL*, and it is decided whether there is
    one. If not, two streams show it, and the exit status is 1. The status is 3 if this could not be decided.
    """
    lang, phi = read_query(query, language)
    forms = lang.deciders.normal_forms
    if form not in forms:
        known = f"it has {', '.join(forms)}" if forms else "it has no normal forms"
        raise click.UsageError(f"{language} has no normal form {form}; {known}")
    rewrite = forms[form]
    if rewrite is None:
        return star(query, as_json)
    with errors_in(query), depth_limited(phi.span):
        psi = rewrite(phi, nodes)
        result, before, after = lang.syntax.show(psi), lang.syntax.size(phi), lang.syntax.size(psi)
    if as_json:
        size = {"before": before, "after": after}
        answer = {"language": language, "query": query, "to": form, "result": result, "size": size}
        echo(json.dumps(answer, ensure_ascii=False))
    else:
        echo(f"{result}\nsize {before} -> {after}")
    return 0


# ---------------------------------------------------------------------------------------------------------------------
# The form `star` of cerify normalize: a formula of CEL*, or two streams which show that no such formula is equivalent.

NONE, UNDECIDED = 1, 3


def star(query: str, as_json: bool) -> int:
    """Print a formula of CEL* that is equivalent to the query, or why there is none; return the exit status."""
    phi = parse(query)
    with errors_in(query), depth_limited(phi.span):
        found = star_form(phi)
        psi = _smaller(found.phi) if isinstance(found, InStar) else None
    if as_json:
        sizes = None if psi is None else {"before": size(phi), "after": size(psi)}
        answer = {"language": "cel", "query": query, "to": "star", "result": psi and show(psi), "size": sizes}
        echo(json.dumps(answer | _star_json(found), ensure_ascii=False))
    elif psi is not None:
        echo(f"{show(psi)}\nsize {size(phi)} -> {size(psi)}")
    else:
        echo("\n".join(_text(found)))
    return 0 if psi is not None else UNDECIDED if isinstance(found, Undecided) else NONE


def _smaller(phi: Formula) -> Formula:
    """Return the simplified formula if it is in CEL* too, else the formula itself."""
    psi = simplify(phi).phi
    return phi if beyond_star(psi) else psi


def _text(found: InStar | NotInStar | Undecided) -> list[str]:
    match found:
        case NotInStar((S, C), unmatched):
            lines = [
                "not in CEL*: whether events are a match depends on other events",
                *_format_counterexample(S, C, "a match"),
            ]
            if unmatched is None:
                return [*lines, "the match is reported after an event that it does not have"]
            return [*lines, *_format_counterexample(*unmatched, "the same events, and no match")]
        case Undecided(reason):
            return [f"undecided: {reason}"]
        case InStar():
            return []


def _format_counterexample(S: Stream, C: ComplexEvent, said: str) -> list[str]:
    return [
        *(f"  {p}  {row(event)}" for p, event in enumerate(S)),
        f"after event {len(S) - 1} {braces(sorted(C))}: {said}",
    ]


def _star_json(found: InStar | NotInStar | Undecided) -> dict[str, Any]:
    match found:
        case NotInStar(matched, unmatched):
            return {"matched": _side(*matched), "unmatched": None if unmatched is None else _side(*unmatched)}
        case Undecided(reason):
            return {"undecided": reason}
        case InStar():
            return {}


def _side(S: Stream, C: ComplexEvent) -> dict[str, Any]:
    return {"events": [json_of_event(event) for event in S], "match": sorted(C)}
