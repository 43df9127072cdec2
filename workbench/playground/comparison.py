"""Two queries compared in the page, which has no z3: what needs it is tried on short streams."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from cerify.api import equivalent, read_query
from cerify.equivalence.verdict import Different, Undecided, Verdict
from cerify.languages import COMMON, LANGUAGES, language_named
from cerify.languages.language import Language
from cerify.semantics.budget import Budget, check_time
from cerify.semantics.errors import BudgetExceeded, MissingPackage

MISSING = re.compile(r"this needs (\w+), which is not installed: (.*)")
TRYING, STREAMS = 3.0, 30_000  # seconds in which two queries are tried on short streams, and the most of these


def comparable(name: str, other: str) -> bool:
    """Whether queries of the two languages can be compared: in one of its own, or as formulas of CEL.

    Raises IllFormed if there is no such language.
    """
    pair = [type(language_named(one)) for one in (name, other)]
    return name == other or all(one.in_cel is not Language.in_cel for one in pair)


@dataclass(frozen=True)
class Side:
    """A query as text, and the name of its language."""

    query: str
    language: str


def compared(left: Side, right: Side, budget: Budget) -> tuple[Verdict, list[str]]:
    """Whether the two have the same matches on every stream, and that as lines of text.

    What needs a package that is not there is tried on short streams, and said to be: such a difference is replayed by
    the definition, and may be not the shortest. Raises ParseError, IllFormed.
    """
    from cerify.commands.equiv import verdict_lines

    if not comparable(left.language, right.language):
        fitting = [LANGUAGES[name].title for name in LANGUAGES if comparable(left.language, name)]
        reason = f"a query in {LANGUAGES[left.language].title} is compared with one in {' or '.join(fitting)} alone"
        return Undecided(reason), [f"not compared: {reason}"]
    languages = left.language, right.language
    verdict: Verdict
    try:
        verdict = equivalent(left.query, right.query, languages=languages, budget=budget)
    except MissingPackage as error:
        verdict = Undecided(error.message)
    lines = verdict_lines(verdict, "equivalent", "events")
    if (missing := MISSING.search(lines[0])) is None:
        return verdict, lines
    found = tried(left, right, budget) if all(comparable(name, COMMON) for name in languages) else 0
    if isinstance(found, Different):
        return found, verdict_lines(found, "equivalent", "events")
    named = [
        "--language",
        left.language,
        *(["--language-right", right.language] if languages[0] != languages[1] else []),
    ]
    command = shlex.join(["cerify", "equiv", left.query, right.query, *named])
    short = f"no difference on streams of up to {found} events, which were tried with a few values; " if found else ""
    needs = f"this needs {missing[1]}, which the page does not have; on your own machine:"
    return verdict, [f"{lines[0][: missing.start()]}{short}{needs}", missing[2], command]


def tried(left: Side, right: Side, budget: Budget) -> Different | int:
    """The first difference on short streams over a few values, or the length up to which all were tried."""
    from cerify.equivalence.bounded.inferred import inferred_schema
    from cerify.equivalence.decide.replay import replayed
    from cerify.grade.grading import few_values, short_streams

    cel = LANGUAGES[COMMON]
    trees = (read_query(side.query, side.language) for side in (left, right))
    phi, psi = (language.cel_formula(tree, budget) for language, tree in trees)
    schema = inferred_schema(phi, psi)
    length = 0
    try:
        with Budget(seconds=TRYING).timed():
            for S in short_streams(schema, few_values(cel, schema, phi, psi), STREAMS):
                length = len(S)
                check_time()
                if set(cel.matches(phi, S)) != set(cel.matches(psi, S)):
                    return replayed(phi, psi, S, False, "events", False, budget)
    except BudgetExceeded:
        return max(0, length - 1)
    return length
