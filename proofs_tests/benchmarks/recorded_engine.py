"""An engine that repeats what another has answered, so that a conformance run takes what the harness takes.

`python recorded_engine.py FILE COMMAND...` is the other engine, and FILE has its answers afterwards, a question and an
answer in a line, as JSON; `python recorded_engine.py FILE` repeats them. It needs nothing but Python.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import BinaryIO, TextIO

STOP = "stop"


def record(command: list[str], questions: BinaryIO, answers: BinaryIO, into: TextIO) -> None:
    """Pass each question on to the command, and its answer back."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as engine:
        assert engine.stdin is not None
        assert engine.stdout is not None
        for question in questions:
            engine.stdin.write(question)
            engine.stdin.flush()
            if json.loads(question)["cmd"] == STOP:
                break
            answer = engine.stdout.readline()
            into.write(json.dumps([question.decode(), answer.decode()]) + "\n")
            answers.write(answer)
            answers.flush()


def repeat(recorded: TextIO, questions: BinaryIO, answers: BinaryIO) -> None:
    """Answer as recorded, until a question has no answer there, as that to stop."""
    known = {question.encode(): answer.encode() for question, answer in map(json.loads, recorded)}
    for question in questions:
        if question not in known:
            return
        answers.write(known[question])
        answers.flush()


if __name__ == "__main__":
    path, *other = sys.argv[1:]
    with open(path, "w" if other else "r", encoding="utf-8") as file:
        if other:
            record(other, sys.stdin.buffer, sys.stdout.buffer, file)
        else:
            repeat(file, sys.stdin.buffer, sys.stdout.buffer)
