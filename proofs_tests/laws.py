"""The page of the laws: `python -m proofs_tests.laws --write docs/laws.md`; without --write it is printed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import click

from cerify.equivalence.rewrite.laws import FAILING, HOLDING, Law
from cerify.semantics.cel.denote import sup
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.syntax import show

INTRODUCTION = """# The laws of CEL

This page lists {holding} equations between formulas that hold, and {failing} plausible ones that fail, each with the
smallest counterexample that a search found. φ, ψ and χ stand for any formulas, P and Q for any predicates on one event,
X and Y for any two different variables. Other names and numbers stand for themselves.

Both sides have the same valuations at every position of every stream. For a law that holds "for complex events" only
the sets of positions are equal, and variables may be bound differently. φ UNLESS φ has no matches; names of laws call
it "nothing".

Each group of laws begins with its reason, which is no proof. The laws are data, in
[one file](../equivalence/rewrite/holding.jsonl) for those that hold and [one](../equivalence/rewrite/failing.jsonl) for
those that fail. Those that hold are tested on small and random instances, those that fail are replayed. This page is
written by `python -m proofs_tests.laws --write docs/laws.md`.
"""

FAILS = """## What fails

A counterexample gives the stream, the formulas for φ, ψ and χ, and the complex events of the left and the right side
at the last event, as sets of positions. If these are equal, it gives the valuations that only one side has. P is x > 0
and Q is x < 1; a number behind an event is its x.
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
    """Return the page as Markdown."""
    counts = {"holding": sum(map(len, HOLDING.values())), "failing": sum(map(len, FAILING.values()))}
    parts = [INTRODUCTION.format(**counts)]
    for title, laws in HOLDING.items():
        parts.append(f"## {title}\n\n{_grouped(laws, _named)}")
    parts.append(FAILS)
    for title, laws in FAILING.items():
        parts.append(f"### {title}\n\n{_grouped(laws, _witness)}")
    return "\n".join(parts)


def _grouped(laws: Sequence[Law], after: Callable[[Law], str]) -> str:
    """Return a list of laws under each reason, with what `after` adds to an equation."""
    reasons: dict[str, list[str]] = {}
    for law in laws:
        line = f"- {_equation(law)}{after(law)}"
        reasons.setdefault(_greek(law.reason), []).append(line)
    return "\n".join(line for reason, lines in reasons.items() for line in (f"*{reason}*", "", *lines, ""))


def _greek(text: str) -> str:
    for letter, symbol in (("phi", "φ"), ("psi", "ψ"), ("chi", "χ")):
        text = text.replace(letter, symbol)
    return text


def _equation(law: Law) -> str:
    return f"`{_greek(show(law.left))}` = `{_greek(show(law.right))}`"


def _named(law: Law) -> str:
    """Return the name of a law in parentheses, with the conditions under which it holds."""
    conditions = [f"if every match of {_greek(letter)} has an event" for letter in law.binding]
    conditions += [f"if {_greek(letter)} does not have {variable}" for letter, variable in law.without]
    level = " for complex events" if law.level == "events" else ""
    return f"{level} ({_greek('; '.join([law.name, *conditions]))})"


def _witness(law: Law) -> str:
    """Return the stream, the formulas for the letters, and the matches of both sides; equal formulas stand once."""
    if (w := law.witness) is None:
        raise ValueError(f"the law {law.name!r} holds")
    alike: dict[str, list[str]] = {}
    for letter, text in zip(law.letters, w.operands, strict=True):
        alike.setdefault(text, []).append(_greek(letter))
    operands = ", ".join(f"{' = '.join(letters)} = `{text}`" for text, letters in alike.items())
    events = " ".join(f"{e.type}{'' if (x := e.get('x')) is None else f'({x})'}" for e in w.stream)
    interpreter = Interpreter(w.stream)
    left, right = (interpreter.meaning(side, 0, w.at) for side in law.instance(*w.formulas))
    if law.level == "events" or set(map(sup, left)) != set(map(sup, right)):
        has = [sorted(sorted(C) for C in set(map(sup, mus))) for mus in (left, right)]
        said = [", ".join("{" + ", ".join(map(str, C)) + "}" for C in Cs) or "no match" for Cs in has]
        sides = f"left {said[0]}, right {said[1]}"
    else:
        sides = f"only left {_only(left - right)}, only right {_only(right - left)}"
    return f" fails on `{events}`{operands and ' with ' + operands}: {sides}"


def _only(mus: frozenset[frozenset[tuple[str, int]]]) -> str:
    shown = ("{" + ", ".join(f"{A} → {p}" for A, p in sorted(mu)) + "}" for mu in sorted(mus, key=sorted))
    return ", ".join(shown) or "no match"


if __name__ == "__main__":
    main()
