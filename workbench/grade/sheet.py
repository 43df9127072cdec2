"""Answers marked by a program: a sheet of them for Gradescope, or one in a cell of nbgrader."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cerify.grade.exercises import FILE, Exercise, UnusableAnswer, exercise
from cerify.grade.grading import Right, graded
from cerify.grade.text import feedback
from cerify.semantics.arguments import did_you_mean
from cerify.semantics.errors import CerifyError, InputError
from cerify.semantics.json_events import parse_json, text_of


def read_answers(file: Path) -> dict[str, Any]:
    """The answers in a file, from the ids of exercises to what should be formulas. Raises InputError."""
    answers = parse_json(text_of(file), str(file))
    if not isinstance(answers, dict):
        raise InputError(f'{file}: answers are one JSON object, as {{"cel-then": "Open ; Close"}}')
    return answers


def results(answers: Mapping[str, Any], tasks: Mapping[str, Exercise]) -> dict[str, Any]:
    """A point for each exercise that is answered right, with what is said of each answer.

    Raises InputError if one of the exercises has no answers to mark with.
    """
    for task in tasks.values():
        task.right()
    tests = [_marked(task, answers.get(task.id), number) for number, task in enumerate(tasks.values(), 1)]
    unknown = [
        f"no exercise {id_!r}, so its answer is left out{did_you_mean(id_, tasks)}"
        for id_ in answers
        if id_ not in tasks
    ]
    return {"score": sum(test["score"] for test in tests), "output": "\n".join(unknown), "tests": tests}


def not_marked(error: CerifyError) -> dict[str, Any]:
    """The results where the answers could not be read."""
    return {"score": 0, "output": error.described(), "tests": []}


def _marked(task: Exercise, text: Any, number: int) -> dict[str, Any]:
    right, lines = False, ["no answer"]
    if text is not None and not isinstance(text, str):
        text = json.dumps(text)
        lines = ['an answer is a text in quotes, as "Open ; Close"']
    elif text is not None:
        try:
            grade = graded(task, text)
            right, lines = isinstance(grade, Right), feedback(task, grade, text)
        except CerifyError as error:
            lines = [error.described()]
    return {
        "name": task.id,
        "number": str(number),
        "score": int(right),
        "max_score": 1,
        "status": "passed" if right else "failed",
        "output": "\n".join([task.sentence, *([] if text is None else [text]), *lines]),
        "output_format": "text",
    }


def require_right(id_: str, text: str, file: str | Path = FILE) -> None:
    """Raises AssertionError, with what is wrong, unless the text is a right answer: for a cell that nbgrader runs.

    Raises InputError for a file that cannot be read, or has no such exercise, or no answer to it that can be used.
    """
    try:
        task = exercise(id_, Path(file))
        task.right()
    except UnusableAnswer as error:
        raise InputError(error.withheld) from None
    try:
        grade = graded(task, text)
    except CerifyError as error:
        raise AssertionError(error.described()) from None
    if not isinstance(grade, Right):
        raise AssertionError("\n".join(feedback(task, grade, text)))
