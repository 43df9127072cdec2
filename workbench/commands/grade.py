"""cerify grade: exercises, and whether a formula is an answer to one."""

from __future__ import annotations

import json
from itertools import groupby
from typing import Any

import click

from cerify.commands.options import LanguageChoice
from cerify.grade.exercises import Exercise, exercise, exercises
from cerify.grade.grading import Right, graded
from cerify.grade.text import LEVELS, feedback, json_of, solution, statement
from cerify.languages import LANGUAGES
from cerify.semantics.errors import CerifyError
from cerify.terminal import echo, picked


@click.command()
@click.argument("id_", metavar="[ID]", required=False)
@click.argument("formula", required=False)
@click.option("--language", type=LanguageChoice(), help="List the exercises of this language only.")
@click.option("--show", is_flag=True, help="Show the answer.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: of the list, a line for each exercise.")
def command(id_: str | None, formula: str | None, language: str | None, show: bool, as_json: bool) -> int:
    """Practise: write a formula for a sentence.

    Alone it lists the exercises; with an ID it tells the sentence; with a FORMULA too it decides whether the formula
    means that, and if not shows a shortest stream on which it differs.

    Exit status: 0 if the formula is right, 1 if it is wrong, 2 on an error.
    """
    if id_ is None:
        if show:
            raise click.UsageError("--show needs the ID of an exercise")
        return _list(language, as_json)
    asked = exercise(id_)
    if formula is None:
        echo(_dumped(_task(asked, show)) if as_json else "\n".join((solution if show else statement)(asked)))
        return 0
    if show:
        raise click.UsageError("--show shows the answer; leave the formula out")
    try:
        grade = graded(asked, formula)
    except CerifyError as error:
        if not as_json:
            raise
        echo(_dumped(_error(asked, error)))
        return 2
    if as_json:
        echo(_dumped(json_of(asked, grade)))
    else:
        heading, *rest = feedback(asked, grade)
        echo(heading, colour="green" if isinstance(grade, Right) else "red")
        for line in rest:
            echo(line)
    return 0 if isinstance(grade, Right) else 1


def _list(language: str | None, as_json: bool) -> int:
    asked = [listed for listed in exercises().values() if language in (None, listed.language)]
    if as_json:
        for listed in asked:
            echo(_dumped(_task(listed, False)))
        return 0
    width = max(len(listed.id) for listed in asked)
    for name, group in groupby(asked, key=lambda listed: listed.language):
        echo(LANGUAGES[name].title)
        for listed in group:
            echo(f"  {listed.id:{width}}  {LEVELS[listed.level]:8}  {listed.sentence}")
    echo("cerify grade ID tells more of one, cerify grade ID FORMULA grades, cerify grade --show ID has the answer")
    return 0


def _task(asked: Exercise, show: bool) -> dict[str, Any]:
    told = {
        **picked(asked, "id", "language", "level", "sentence"),
        "schema": {name: dict(attributes) for name, attributes in asked.schema.types.items()},
    }
    return told | {"answers": list(asked.answers)} if show else told


def _error(asked: Exercise, error: CerifyError) -> dict[str, Any]:
    span = error.span and [error.span.start, error.span.end]
    said = {"code": error.code, "message": error.message, "span": span}
    return {"id": asked.id, "language": asked.language, "grade": None, "error": said}


def _dumped(obj: dict[str, Any]) -> str:
    return json.dumps(obj, ensure_ascii=False)
