"""cerify grade: list exercises, and mark single answers and sheets of answers.

`grade/grading.py` compares an answer with the exercise's and finds the hint. Here are the forms in which answers arrive
(one formula, a sheet, a folder of sheets) and results leave (text, JSON, CSV, pages). One sheet that cannot be read
does not stop the marking of the others.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from cerify.commands.options import FILE, OUTPUT, LanguageChoice, argument, completes, option, takes
from cerify.draw.diagram import write_page
from cerify.grade import grading
from cerify.grade.grading import FILE as COURSE
from cerify.grade.grading import (
    LEVELS,
    Exercise,
    Right,
    UnusableAnswer,
    WrongAnswer,
    exercise,
    exercises,
    feedback,
    graded,
    json_of,
    solution,
    statement,
)
from cerify.grade.grading import grade_command as grading_grade_command
from cerify.languages import LANGUAGES
from cerify.semantics.errors import CerifyError, InputError
from cerify.semantics.files import write_whole
from cerify.terminal import echo


def _ids(ctx: click.Context) -> Mapping[str, Exercise]:
    """Return the exercises by id, for shell completion: those of the file that --exercises names, else those of the
    course.
    """
    return exercises(ctx.params.get("source") or COURSE)


@dataclass(frozen=True)
class GradeArguments:
    """The arguments and options of `cerify grade`."""

    id: str | None = argument(metavar="[ID]", required=False, shell_complete=completes(_ids))
    formula: str | None = argument(required=False)
    language: str | None = option("--language", type=LanguageChoice(), help="Use only the exercises of this language.")
    session: int | None = option(
        "--session", type=int, metavar="N", help="Use only the exercises of session N of the course."
    )
    show: bool = option("--show", is_flag=True, help="Show the answer.")
    stream: bool = option(
        "--stream", is_flag=True, help="If FORMULA is wrong, show the stream on which it differs, and the matches."
    )
    source: Path = option(
        "--exercises",
        type=FILE,
        metavar="FILE",
        default=COURSE,
        show_default="the course's",
        help="A file with exercises of your own.",
    )
    answers: Path | None = option(
        "--file", type=FILE, metavar="FILE", help='Mark a sheet of answers: {"ID": "FORMULA", ...}.'
    )
    out: Path | None = option(
        "--out",
        type=OUTPUT,
        metavar="FILE",
        help="Write the marks of the sheet to this file, for Gradescope.",
    )
    folder: Path | None = option(
        "--folder",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        metavar="DIR",
        help="Mark the sheets of answers in this folder; each file is named after its student.",
    )
    csv: Path | None = option(
        "--csv", type=OUTPUT, metavar="FILE", help="Write the points of the folder's students as CSV."
    )
    sheets: Path | None = option(
        "--sheets",
        type=OUTPUT,
        metavar="FILE",
        help="Write a sheet for each student, to print: .html or .pdf.",
    )
    students: Path | None = option(
        "--students",
        type=OUTPUT,
        metavar="FILE",
        help="Write the exercises without their answers to this file.",
    )
    as_json: bool = option("--json", is_flag=True, help="Print JSON; for a list, a line for each exercise.")

    @property
    def tasks(self) -> Mapping[str, Exercise]:
        """Return the exercises to list or to mark. Raises InputError."""
        every = exercises(self.source).values()
        found = {
            one.id: one
            for one in every
            if self.language in (None, one.language) and self.session in (None, one.session)
        }
        if every and not found:
            languages = ", ".join(sorted({one.language for one in every}))
            sessions = ", ".join(sorted({str(one.session) for one in every if one.session})) or "none"
            raise InputError(
                "no exercise has this language and session; there are exercises of the languages "
                f"{languages}, and of the sessions {sessions}"
            )
        return found

    def require_consistent(self) -> None:
        """Raise UsageError for options that contradict each other."""
        if self.show and self.id is None:
            raise click.UsageError("--show needs the ID of an exercise")
        if self.show and self.formula is not None:
            raise click.UsageError("--show shows the answer; leave the formula out")
        if self.id is not None and (self.answers is not None or self.students is not None):
            raise click.UsageError("--file and --students apply to all exercises: leave the ID out")
        if self.folder is not None and (self.id is not None or self.answers is not None or self.students is not None):
            raise click.UsageError("--folder applies to all exercises: leave the ID, --file and --students out")
        if self.stream and (self.formula is None or self.as_json):
            raise click.UsageError("--stream needs a FORMULA; sheets, and the output of --json, always have the stream")
        if self.folder is None and (self.csv is not None or self.sheets is not None):
            raise click.UsageError("--csv and --sheets need --folder, whose marks they write")
        if self.sheets is not None and self.sheets.suffix not in (".html", ".pdf"):
            raise click.UsageError("--sheets takes a file that ends in .html or .pdf")
        if self.out is not None and self.answers is None:
            raise click.UsageError("--out needs --file: it writes the marks of a sheet")


@click.command()
@takes(GradeArguments)
def grade_command(args: GradeArguments) -> int:
    """Practise by writing a formula for a sentence.

    Without arguments, list the exercises. With an ID, print its sentence. With an ID and a FORMULA, decide whether the
    formula expresses the sentence; if it does not, print hints, and with --stream a shortest stream on which it
    differs. With --file, mark a sheet of answers, with one point for each exercise. --language, --session and
    --exercises choose the exercises; without these options, the answered exercises count. With --folder, mark many such
    sheets; a file that cannot be read gets no points and a reason.

    Exit status: 0 if the formula is right (for a sheet: if all formulas are; for a folder: if every file could be
    read), 1 if not, 2 on an error.
    """
    args.require_consistent()
    if args.students is not None:
        lines = (json.dumps(one.for_students(), ensure_ascii=False) for one in args.tasks.values())
        write_whole(args.students, "".join(f"{line}\n" for line in lines))
        echo(f"{args.students}: {len(args.tasks)} exercises without answers")
        return 0
    if args.folder is not None:
        return _folder(args, args.folder)
    if args.answers is not None:
        return _sheet(args, args.answers)
    if args.id is None:
        return _list(args)
    task = exercise(args.id, args.source)
    if args.formula is None:
        answers = {"answers": list(task.answers)} if args.show else {}
        text = "\n".join((solution if args.show else statement)(task))
        echo(_dumped(task.public() | answers) if args.as_json else text)
        return 0
    return _graded(task, args.formula, args)


def _graded(task: Exercise, formula: str, args: GradeArguments) -> int:
    try:
        grade = graded(task, formula)
    except CerifyError as error:
        if not args.as_json:
            raise
        echo(_dumped(_error(task, error)))
        return 2
    if args.as_json:
        echo(_dumped(json_of(task, grade)))
    else:
        heading, *rest = feedback(task, grade, formula, args.stream)
        echo(heading, colour="green" if isinstance(grade, Right) else "red")
        for line in rest:
            echo(line)
        if isinstance(grade, WrongAnswer) and not args.stream:
            echo("--stream shows this stream, and the matches on it")
    return 0 if isinstance(grade, Right) else 1


def _tasks_for(args: GradeArguments, answered: Collection[str]) -> dict[str, Exercise]:
    """Return the exercises to mark: those that options choose, or without options the answered ones.

    Raises InputError.
    """
    limited = args.source != COURSE or args.language is not None or args.session is not None
    return {id_: one for id_, one in args.tasks.items() if limited or id_ in answered}


def _folder(args: GradeArguments, folder: Path) -> int:
    submissions = grading.read_submissions(folder)
    # All students are marked on the same exercises, so that their points can be compared.
    answered = {id_ for one in submissions.values() if not isinstance(one, InputError) for id_ in one}
    tasks = _tasks_for(args, answered)
    if not tasks:
        raise InputError(f"{folder}: no file answers any of the exercises that `cerify grade` lists")
    marked: dict[str, dict[str, Any]] = {}
    for student, answers in submissions.items():
        unreadable = isinstance(answers, InputError)
        one = grading.not_marked(answers) if isinstance(answers, InputError) else grading.results(answers, tasks)
        marked[student] = one
        if not args.as_json:
            reason = f"; {one['output'].splitlines()[0]}" if one["output"] else ""
            echo(f"{student}: {one['score']} of {len(tasks)}{reason}", colour="red" if unreadable else "")
    if args.as_json:
        echo(_dumped(marked))
    if args.csv is not None:
        write_whole(args.csv, grading.marks_csv(marked, tasks))
    if args.sheets is not None:
        write_page(args.sheets, grading.marks_page(marked, tasks))
    return 1 if any(isinstance(one, InputError) for one in submissions.values()) else 0


def _sheet(args: GradeArguments, file: Path) -> int:
    try:
        answers = grading.read_answers(file)
    except InputError as error:
        raise _not_marked(args, error) from None
    try:
        tasks = _tasks_for(args, answers)
    except UnusableAnswer as error:  # students may see this output, so it must not reveal the answer
        raise InputError(error.withheld) from None
    if not tasks:
        raise _not_marked(args, InputError(f"{file} answers none of the exercises that `cerify grade` lists"))
    found = grading.results(answers, tasks)
    text = json.dumps(found, ensure_ascii=False, indent=1) + "\n"
    if args.out is not None:
        write_whole(args.out, text)
    if args.as_json:
        echo(text, newline=False)
        return 0 if found["score"] == len(tasks) else 1
    for test in found["tests"]:
        echo(f"{test['status']}: {test['name']}", colour="green" if test["score"] else "red")
        if not test["score"]:
            echo("\n".join(f"  {line}" for line in test["output"].split("\n")))
    if found["output"]:
        echo(found["output"])
    echo(f"{found['score']} of {len(tasks)} are right")
    return 0 if found["score"] == len(tasks) else 1


def _not_marked(args: GradeArguments, error: InputError) -> InputError:
    """Return the error, after writing it to the file of marks, because Gradescope always reads that file."""
    if args.out is not None:
        write_whole(args.out, json.dumps(grading.not_marked(error), indent=1) + "\n")
    return error


def _list(args: GradeArguments) -> int:
    tasks = list(args.tasks.values())
    if args.as_json:
        for task in tasks:
            echo(_dumped(task.public()))
        return 0
    width = max((len(task.id) for task in tasks), default=0)
    for name, together in groupby(tasks, key=lambda task: task.language):
        echo(LANGUAGES[name].title)
        for task in together:
            echo(f"  {task.id:{width}}  {LEVELS[task.level]:8}  {task.sentence}")
    again = grading_grade_command(args.source)
    echo(f"{again} ID prints an exercise, {again} ID FORMULA grades a formula, {again} --show ID prints the answer")
    return 0


def _error(task: Exercise, error: CerifyError) -> dict[str, Any]:
    span = error.span and [error.span.start, error.span.end]
    said = {"code": error.code, "message": error.message, "span": span}
    return {"id": task.id, "language": task.language, "grade": None, "error": said}


def _dumped(obj: dict[str, Any]) -> str:
    return json.dumps(obj, ensure_ascii=False)
