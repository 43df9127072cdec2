"""The page of the laws: `python -m proofs_tests.laws --write docs/laws.md`; without --write it is printed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from cerify.equivalence.rewrite.laws import FAILING, HOLDING, Law
from cerify.semantics.cel.denote import sup
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.syntax import show

INTRODUCTION = """# The laws of CEL

Equations between formulas: {holding} that hold, and {failing} that one might expect and that fail, each with the
smallest witness that a search found. φ, ψ and χ stand for any formulas, P and Q for any predicates on one event. Other
names and numbers stand for themselves; a law with X and Y is one for any two different variables.

*All* in the column "same" says that both sides have the same valuations at every position of every stream; *events*,
that they have the same complex events, while variables may be bound differently. What matches nowhere is written
φ UNLESS φ.

The laws are data, in [one file](../equivalence/rewrite/holding.jsonl) for those that hold and
[one](../equivalence/rewrite/failing.jsonl) for those that fail. Those that hold are tested on small and on random
instances, those that fail are replayed. A reason is a sentence, not a proof. This page is written by
`python -m proofs_tests.laws --write docs/laws.md`.
"""

FAILS = """## What fails

A witness says what the letters stand for, the stream, and what the two sides have after its last event: complex events,
as sets of positions counted from 0, or, where only these differ, the valuations that one side has alone. P is x > 0 and
Q is x < 1; a number behind an event is its x.
"""


@click.command()
@click.option("--write", "path", type=click.Path(dir_okay=False, path_type=Path), help="Write the page to this file.")
def main(path: Path | None) -> None:
    """Render the laws as a page of Markdown."""
    if path is None:
        click.echo(page(), nl=False)
    else:
        path.write_text(page(), encoding="utf-8", newline="\n")


def page() -> str:
    """The page as Markdown."""
    counts = {"holding": sum(map(len, HOLDING.values())), "failing": sum(map(len, FAILING.values()))}
    parts = [INTRODUCTION.format(**counts)]
    for title, laws in HOLDING.items():
        rows = (
            _row(law.name, _equation(law), "all" if law.level == "valuations" else "events", _why(law)) for law in laws
        )
        parts.append("\n".join([f"## {title}\n", *_table("law", "equation", "same", "because"), *rows, ""]))
    parts.append(FAILS)
    for title, laws in FAILING.items():
        rows = (_row(law.name, _equation(law), law.reason, _witness(law)) for law in laws)
        parts.append("\n".join([f"### {title}\n", *_table("not a law", "equation", "because", "witness"), *rows, ""]))
    return "\n".join(parts)


def _table(*heads: str) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _greek(text: str) -> str:
    for letter, symbol in (("phi", "φ"), ("psi", "ψ"), ("chi", "χ")):
        text = text.replace(letter, symbol)
    return text


def _equation(law: Law) -> str:
    return f"`{_greek(show(law.left))}` = `{_greek(show(law.right))}`"


def _why(law: Law) -> str:
    conditions = [f"If every match of {_greek(letter)} has an event." for letter in law.binding]
    conditions += [f"If {_greek(letter)} does not have {variable}." for letter, variable in law.without]
    return _greek(" ".join([*conditions, law.reason]))


def _witness(law: Law) -> str:
    if (w := law.witness) is None:
        raise ValueError(f"the law {law.name!r} holds")
    operands = ", ".join(f"{_greek(letter)} = `{text}`" for letter, text in zip(law.letters, w.operands, strict=True))
    events = " ".join(f"{e.type}{'' if (x := e.get('x')) is None else f'({x})'}" for e in w.stream)
    interpreter = Interpreter(w.stream)
    left, right = (interpreter.meaning(side, 0, w.at) for side in law.instance(*w.formulas))
    if law.level == "events" or set(map(sup, left)) != set(map(sup, right)):
        has = [sorted(sorted(C) for C in set(map(sup, mus))) for mus in (left, right)]
        said = [", ".join("{" + ", ".join(map(str, C)) + "}" for C in Cs) or "nothing" for Cs in has]
    else:
        said = [_only(left - right), _only(right - left)]
    return f"{operands or 'none needed'} on `{events}`: {said[0]} against {said[1]}"


def _only(mus: frozenset[frozenset[tuple[str, int]]]) -> str:
    shown = ("{" + ", ".join(f"{A} → {p}" for A, p in sorted(mu)) + "}" for mu in sorted(mus, key=sorted))
    return ", ".join(shown) or "nothing more"


if __name__ == "__main__":
    main()
