"""The tables of operators of docs/reference/syntax.md: `python -m proofs_tests.operators` writes them anew."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import EventAtom
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.syntax import CoreEventAtom as CoreEvent
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.syntax import Primitive
from cerify.semantics.row_pattern import syntax as row_pattern
from cerify.semantics.row_pattern.syntax import RowVariable, show_pattern
from cerify.semantics.sase.clauses import CONSTRUCTS
from cerify.semantics.trees import Operator, Operators

SASE = "SASE+"  # whose table is of constructs, since a query is no tree of operators
PAGE = Path(__file__).parent.parent / "docs" / "reference" / "syntax.md"
BEGIN, END = "<!-- operators of {}: written by `python -m proofs_tests.operators` -->\n", "<!-- end -->\n"

# Of each language: its table, from a tree to its text, and operands for the examples.
LANGUAGES: Mapping[str, tuple[Operators, Callable[[Any], str], tuple[Any, ...]]] = {
    "CEL": (cel.OPERATORS, cel.show, (EventAtom("A"), EventAtom("B"))),
    "core-CEL": (core.OPERATORS, core.show, (CoreEvent("R", "x"), CoreEvent("S", "y"))),
    "MATCH_RECOGNIZE": (row_pattern.PATTERNS, show_pattern, (RowVariable("A"), RowVariable("B"))),
    "event expressions": (expr.OPERATORS, expr.show, tuple(map(Primitive, "abc"))),
}


@click.command()
def main() -> None:
    """Write the tables into the page."""
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")


def written(page: str) -> str:
    """The page with its tables written anew."""
    for name in (*LANGUAGES, SASE):
        begin = BEGIN.format(name)
        head, found, rest = page.partition(begin)
        _, closed, tail = rest.partition(END)
        if not found or not closed:
            raise ValueError(f"{PAGE.name} has no place for the operators of {name}: {begin.strip()} … {END.strip()}")
        page = head + begin + (constructs() if name == SASE else table(name)) + END + tail
    return page


def hand_written(page: str) -> str:
    """The page without these tables."""
    return re.sub(BEGIN.replace("{}", "[^:]*") + ".*?" + END, "", page, flags=re.DOTALL)


def table(name: str) -> str:
    """The operators of a language, a row for each, and which of them bind tighter than which."""
    rows = []
    levels: dict[int, list[str]] = {}
    operators, show, operands = LANGUAGES[name]
    for operator in operators.values():
        examples = [show(sample(*operands[: _arity(operator)])) for sample in operator.instances()]
        if operator.position in ("prefix", "infix", "postfix", "suffix"):
            symbol = examples[0] if operator.symbol.startswith(("a ", "an ")) else operator.symbol
            levels.setdefault(operator.level, []).append(f"`{symbol}`")
        also = [examples[0].replace(operator.symbol, alias, 1) for alias in operator.aliases]
        rows.append((_code(examples, also), operator.title, _place(operator.clause)))
    order = "; then ".join(", ".join(levels[n]) for n in sorted(levels, reverse=True))
    return "\n".join([*_table(("text", "meaning", "defined in"), rows), "", f"Tightest first: {order}.", ""])


def constructs() -> str:
    """The constructs of SASE+, a row for each."""
    heads = ("text", "meaning", "part of a query", "defined in")
    rows = [(_code([c.symbol], [*c.aliases]), c.title, c.clause, _place(c.source)) for c in CONSTRUCTS]
    return "\n".join([*_table(heads, rows), ""])


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """Return the lines of a table; what all rows have in common in the last column stands once, above it."""
    if len(common := {row[-1] for row in rows}) > 1:
        head, *lines = (f"| {' | '.join(row)} |" for row in (heads, *rows))
        return [head, "|---" * len(heads) + "|", *lines]
    return [f"Defined in {common.pop()}:", "", *_table(heads[:-1], [row[:-1] for row in rows])]


def _place(source: str) -> str:
    """Return where an operator is defined, without the name that a place has for it: the meaning stands beside it."""
    place, _, name = source.partition(", ")
    return source if re.fullmatch(r"\d|[a-z]( and [a-z])?|R\d.*", name) else place


def _arity(operator: Operator) -> int:
    return max(len(operator.node.operands), 2 if operator.node.operands == ("parts",) else 0)


def _code(texts: list[str], also: list[str]) -> str:
    shown = [", ".join(f"`{text}`" for text in dict.fromkeys(some)) for some in (texts, also) if some]
    return "; also ".join(shown).replace("|", "\\|")


if __name__ == "__main__":
    main()
