"""cerify equiv: decide whether two queries are equivalent, or the left is contained in the right, on all streams.

The command only reads two queries and options; the languages' deciders compare them. Most of the module turns a verdict
into text or JSON: the proof, or a stream with the matches of each side. `cerify verify`, which checks a stored
certificate, is at the end.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from cerify.api import BOUND, ComparedAs, contained, equivalent, formulas_compared
from cerify.commands.options import (
    LEVELS,
    ORDERS,
    OUTPUT,
    AtLeast,
    LanguageChoice,
    argument,
    language,
    option,
    row_readings,
    schema_of,
    sql_dialect,
    takes,
)
from cerify.commands.rules import with_rule_of
from cerify.equivalence.verdict import (
    Bounded,
    Certificate,
    Claim,
    Contained,
    Different,
    Equivalent,
    Level,
    Order,
    RuleProof,
    Undecided,
    Verdict,
)
from cerify.explanations.explanation import braces, row
from cerify.languages import COMMON, LANGUAGES, language_named
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import CerifyError
from cerify.semantics.events import TIME, Event, Match, Schema, Stream
from cerify.semantics.files import write_whole
from cerify.semantics.json_events import json_of_event, json_of_schema, text_of
from cerify.terminal import echo, picked, printable

COLOURS = {"equivalent": "green", "contained": "green", "different": "red", "undecided": "yellow"}
UNDECIDED = 3
LEVEL_WORDS: Mapping[Level, str] = {
    "events": "complex events",
    "valuations": "valuations",
    "positions": "positions at which a match ends",
}


@dataclass(frozen=True)
class EquivArguments:
    """The arguments and options of `cerify equiv`."""

    left: str = argument()
    right: str = argument()
    language: str = language()
    language_right: str | None = option(
        "--language-right", type=LanguageChoice(), help="The language of RIGHT, if it differs."
    )
    dialect: str | None = sql_dialect(of="LEFT, and of RIGHT if --dialect-right is not given")
    dialect_right: str | None = sql_dialect("--dialect-right", of="RIGHT")
    readings: tuple[str, ...] = row_readings()
    level: Level = option(
        "--level",
        type=LEVELS,
        default="events",
        help="Compare complex events, valuations too, or only the positions at which matches end.",
    )
    one_way: bool = option("--contained", is_flag=True, help="Decide only whether RIGHT has all matches of LEFT.")
    schema_text: str | None = option(
        "--schema", metavar="JSON|FILE", help="Compare the queries only on streams of this schema."
    )
    bound: int = option(
        "--bound",
        type=AtLeast(0),
        default=BOUND,
        metavar="N",
        help="If the queries cannot be decided, compare them on all streams of up to N events; 0 compares none.",
    )
    order: Order | None = option(
        "--order",
        type=ORDERS,
        help="Compare on streams whose times strictly increase, never decrease, or are in any order.  "
        "[default: the key $order of the schema, or non-decreasing]",
    )
    single: bool = option("--single", is_flag=True, help="EQL: assume that no field has several values.")
    certificate_file: Path | None = option(
        "--certificate", type=OUTPUT, metavar="FILE", help="Write the proof, for cerify verify."
    )
    as_json: bool = option("--json", is_flag=True, help="Print one JSON object.")


@click.command()
@takes(EquivArguments)
def equiv_command(args: EquivArguments) -> int:
    """Decide whether the queries LEFT and RIGHT have the same matches, on every stream and for all attribute values.

    If they differ, the answer is a shortest stream on which they do, checked with the reference evaluator. If they are
    equivalent, there is a certificate that can be checked separately. Windows and partitions around whole matches are
    decided. Queries that compare events in other ways are compared on all streams of up to N events; if no such stream
    shows a difference, the answer is undecided.

    Exit status: 0 if they are equivalent (with --contained: if LEFT is contained in RIGHT), 1 if not, 3 if undecided.
    """
    left, language_ = with_rule_of(
        args.left, args.language, dialect=args.dialect, readings=args.readings, schema=args.schema_text
    )
    right, language_right = with_rule_of(
        args.right,
        args.language_right or args.language,
        dialect=args.dialect_right or args.dialect,
        readings=args.readings,
        schema=args.schema_text,
    )
    args = replace(args, left=left, right=right, language=language_, language_right=language_right)
    _require_comparable(args.language, args.language_right or args.language)
    claim: Claim = "contained" if args.one_way else "equivalent"
    schema = None if args.schema_text is None else schema_of(args.schema_text, language=args.language)
    verdict = (contained if args.one_way else equivalent)(
        args.left,
        args.right,
        languages=(args.language, args.language_right or args.language),
        level=args.level,
        schema=schema,
        bound=args.bound,
        order=args.order,
        arrays=not args.single,
    )
    if isinstance(verdict, Different) and has_empty_text(verdict.stream) and _empty_is_null(args):
        verdict = Undecided(
            "the queries differ on a stream with an empty text, which Oracle treats as NULL; whether they differ on "
            "other streams is not known"
        )
    file = args.certificate_file
    if file is not None and isinstance(verdict, Equivalent | Contained):
        write_whole(file, verdict.certificate.to_json() + "\n")
    elif file is not None:
        echo(f"{file} was not written: only a proved claim has a certificate", error=True)
    languages = args.language, args.language_right or args.language
    texts = formulas_by_cel(args.left, args.right, languages)
    if args.as_json:
        by_cel = None if texts is None else {"language": COMMON, "left": texts.left, "right": texts.right}
        echo(json.dumps(verdict_json(verdict, claim) | {"compared_as": by_cel}, ensure_ascii=False))
    else:
        heading, *rest = verdict_lines(verdict, claim, args.level)
        echo(heading, colour=COLOURS[heading.partition(":")[0]])
        for line in rest:
            echo(line)
        if texts is not None:
            where = ", with the same matches if every event has a time and no time decreases" if texts.timed else ""
            echo(f"compared as {LANGUAGES[COMMON].title}{where}:")
            for text in (texts.left, texts.right):
                echo(f"  {printable(text)}")
    match verdict:
        case Equivalent() | Contained():
            return 0
        case Different():
            return 1
        case Bounded() | Undecided():
            return UNDECIDED


def has_empty_text(S: Stream) -> bool:
    """Return whether an attribute of some event is the empty string."""
    return any(value == "" for event in S for value in event.attributes.values())


def _empty_is_null(args: EquivArguments) -> bool:
    """Return whether the dialect of a query treats the empty text as NULL."""
    if args.dialect is None and args.dialect_right is None:
        return False
    from cerify.semantics.row_pattern.dialects import dialect_named

    return any(dialect_named(one).empty_is_null for one in (args.dialect, args.dialect_right) if one is not None)


def _require_comparable(left: str, right: str) -> None:
    """Raise UsageError for two different languages that cannot be compared, because one has no translation to CEL."""
    for name, other in ((left, right), (right, left)):
        lang = LANGUAGES[name]
        if left != right and not lang.deciders.is_compared_by_cel():
            command = f"; translate it first: cerify translate --from {name} --to {{}}"
            hint = next((command.format(to) for to in (other, COMMON) if to in lang.deciders.translations), "")
            raise click.UsageError(
                f"a query in {lang.title} cannot be compared with one in {LANGUAGES[other].title}{hint}"
            )


def formulas_by_cel(left: str, right: str, languages: tuple[str, str]) -> ComparedAs | None:
    """Return the CEL formulas by which queries of other languages were compared; None if no formulas were used.

    Two queries of a language that has its own decider need no formulas.
    """
    if languages[0] == languages[1] and LANGUAGES[languages[0]].deciders.decides_its_own:
        return None
    return formulas_compared(left, right, languages)


def verdict_lines(verdict: Verdict, claim: Claim, level: Level) -> list[str]:
    """Format the verdict as lines, a heading first."""
    match verdict:
        case Equivalent(certificate, (left, right)) | Contained(certificate, (left, right)):
            same = "both take place at the same events of every history"
            one_way = "in every history the right takes place wherever the left does"
            said = same if certificate.claim == "equivalent" else one_way
            sizes = f"the minimal automata have {left} and {right} states"
            return [f"{certificate.claim}: {said}; {sizes}"]
        case Equivalent(certificate):
            said = f"the same {LEVEL_WORDS[level]} on every stream{certificate.times}; {_proof(certificate)}"
            return [f"equivalent: {said}"]
        case Contained(certificate):
            where = f" on every stream{certificate.times}" if certificate.times else ""
            said = f"the right query has all matches of the left{where}; {_proof(certificate)}"
            return [f"contained: {said}"]
        case Different(stream, at, left_only, right_only, shortest):
            length = f"on a stream of {len(stream)} event{'s' * (len(stream) > 1)}"
            said = "and on none shorter" if shortest else "perhaps not the shortest"
            heading = f"different: {length}, {said}"
            events = [f"  {position}  {row(event)}" for position, event in enumerate(stream)]
            only = [*_only("left", left_only), *_only("right", right_only)]
            return [heading, *events, f"after event {at}", *only]
        case Bounded(length, schema, reason):
            types = {**schema.attributes, TIME: verdict.time}
            attributes = ", ".join(f"{name} {value_type}" for name, value_type in types.items())
            why = [f"  not decided: {reason}"] if reason else []
            searched = f"undecided: {_bounded(claim, length)} (--bound {length + 1})"
            return [searched, f"  attributes: {attributes}", *why]
        case Undecided(reason):
            return [f"undecided: {reason}"]


def _bounded(claim: Claim, length: int) -> str:
    """Describe the result of a search of all streams of up to `length` events that found no difference."""
    found = "no difference" if claim == "equivalent" else "the right query has all matches of the left"
    return f"{found} on streams of up to {length} event{'s' * (length != 1)}; longer ones were not compared"


def _proof(certificate: Certificate) -> str:
    if certificate.language == "sigma":
        return "decided by following both rules on all logs"
    if certificate.language == "eql":
        single = "" if certificate.arrays else ", where no field has several values"
        return f"decided by following both rules on all logs of one key{single}"
    if certificate.facts is not None:
        facts = len(certificate.facts)
        return f"the proof needs {facts or 'no'} fact{'s' * (facts != 1)} about the conditions"
    if certificate.derivation is not None:
        return _derived(certificate.derivation)
    pairs = certificate.pairs
    return f"the proof relates {pairs} pair{'s' * (pairs != 1)} of sets of states"


def _derived(derivation: RuleProof) -> str:
    if derivation.rule == "same":
        return "the queries differ only in how they are written"
    steps = derivation.steps()
    return f"the proof combines proofs of parts, in {steps} step{'s' * (steps != 1)}"


def _only(side: str, matches: Sequence[Match]) -> list[str]:
    return [f"  only {side} has {braces(match.events)}{_bindings(match)}" for match in matches]


def _bindings(match: Match) -> str:
    if match.bindings is None:
        return ""
    return " with " + (", ".join(f"{A} -> {braces(places)}" for A, places in match.bindings) or "nothing bound")


def verdict_json(verdict: Verdict, claim: Claim) -> dict[str, Any]:
    """Return the verdict as an object for --json."""
    answer: dict[str, Any] = {"verdict": "", "evidence": "decided", "bound": None, "witness": None, "reason": None}
    match verdict:
        case Equivalent():
            return answer | {"verdict": "equivalent", "order": verdict.certificate.order}
        case Contained():
            return answer | {"verdict": "contained", "order": verdict.certificate.order}
        case Different(stream, at, left_only, right_only, shortest):
            witness = {
                "events": [json_of_event(_with_text(event)) for event in stream],
                "at": at,
                "left_only": [_match_json(match) for match in left_only],
                "right_only": [_match_json(match) for match in right_only],
                "shortest": shortest,
            }
            return answer | {"verdict": "different", "witness": witness}
        case Bounded(length, schema, reason):
            return answer | {
                "verdict": "undecided",
                "evidence": "bounded",
                "bound": length,
                "attributes": schema.attributes,
                "time": verdict.time,
                "reason": _bounded(claim, length),
                "not_decided": reason or None,
            }
        case Undecided(reason):
            return answer | {"verdict": "undecided", "evidence": None, "reason": reason}


def _with_text(event: Event) -> Event:
    """Return the event with the text "NaN" in place of NaN, since JSON has no such number."""
    values = {name: "NaN" if value != value else value for name, value in event.attributes.items()}
    return Event(event.type, values)


def _match_json(match: Match) -> list[int] | dict[str, list[int]]:
    """Return the positions of a match; for a match with variables, the positions of each variable."""
    return list(match.events) if match.bindings is None else {A: list(places) for A, places in match.bindings}


# ---------------------------------------------------------------------------------------------------------------------
# cerify verify: whether a certificate of equivalence or containment proves its claim.

SHOWN = 1000  # the most characters of a schema that are shown
SECONDS = 600  # a certificate from outside cannot keep the checker busy for longer


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def verify_command(file: Path, as_json: bool) -> int:
    """Check the certificate in FILE, written by `cerify equiv --certificate`, without trusting whoever wrote it.

    Exit status: 0 if the certificate proves its claim, 1 if not, 2 if FILE is not a certificate, if a query in it does
    not fit its schema, or if the check takes more than ten minutes.
    """
    certificate = Certificate.from_json(text_of(file), str(file))
    deciders = language_named(certificate.language).deciders
    try:
        wrong = deciders.flaw(certificate, Budget(seconds=SECONDS))
    except CerifyError as error:
        error.span = None  # otherwise a line break in the file's query could forge a line that says "proved"
        error.message = f"{file}: {error.message}"
        raise
    if as_json:
        answer = picked(certificate, "language", "claim", "level", "left", "right")
        answer |= {"schema": bool(certificate.schema), "order": certificate.order}
        answer |= {} if certificate.arrays else {"arrays": False}
        answer |= {"proved": wrong is None, "reason": wrong}
        echo(json.dumps(answer, ensure_ascii=False))
        return 0 if wrong is None else 1
    claim = {"equivalent": "is equivalent to", "contained": "is contained in"}[certificate.claim]
    what = LEVEL_WORDS[certificate.level]
    under = "" if certificate.schema is None else f", under the schema {_format_schema(certificate.schema)}"
    times = certificate.times.replace(" whose", ", where")
    under += times + (", where no field has several values" if not certificate.arrays else "")
    stated = f"{printable(certificate.left)}  {claim}  {printable(certificate.right)}  ({what}{under})"
    if wrong is None:
        echo(f"proved: {stated}", colour="green")
        if deciders.decides_again(certificate):
            echo("it was decided again: the certificate has no proof that can be checked separately")
        return 0
    echo(f"not proved: {stated}", colour="red")
    echo(printable(wrong))
    return 1


def _format_schema(schema: Schema) -> str:
    """Write a schema on one line, and cut it if it is long."""
    text = printable(json.dumps(json_of_schema(schema), ensure_ascii=False))
    rest = len(text) - SHOWN
    return text if rest <= 0 else f"{text[:SHOWN]}… and {rest:,} characters more, which the file has"
