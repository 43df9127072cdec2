"""Find the names in a source file that a link can lead to, each with its line."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

RULE = re.compile(r"^[?!]{0,2}([A-Za-z_]\w*)(?:\.\d+)?\s*:")


@cache
def names_in(path: Path) -> dict[str, int]:
    """Return the line of each name of a file.

    Names are those of definitions, assignments, rules of a grammar, and cases of a match (`clause.Seq`: the case for
    `Seq` in `clause`).
    """
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return _python(ast.parse(text))
    if path.suffix == ".lark":
        lines = enumerate(text.splitlines(), start=1)
        return {found[1]: number for number, line in lines if (found := RULE.match(line))}
    return {}


def _python(tree: ast.AST, within: str = "", local: bool = False) -> dict[str, int]:
    names: dict[str, int] = {}
    for node in _statements(tree):
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                names.setdefault(f"{within}{node.name}", node.lineno)
                inside = _python(node, f"{within}{node.name}.", isinstance(node, ast.FunctionDef))
                for name, line in inside.items():
                    names.setdefault(name, line)
                continue
            case ast.Assign(targets=[ast.Name(name)]) | ast.AnnAssign(target=ast.Name(name)) if not local:
                names.setdefault(f"{within}{name}", node.lineno)
            case ast.match_case(pattern):
                for name in _classes(pattern):
                    names.setdefault(f"{within}{name}", pattern.lineno)
        for name, line in _python(node, within, local).items():
            names.setdefault(name, line)
    return names


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements in the blocks of a statement or of a case."""
    for block in ("body", "orelse", "handlers", "finalbody", "cases"):
        yield from getattr(node, block, [])


def _classes(pattern: ast.pattern) -> list[str]:
    """Return the classes that a pattern matches, in the order of its alternatives."""
    match pattern:
        case ast.MatchClass(ast.Name(name) | ast.Attribute(attr=name)):
            return [name]
        case ast.MatchAs(ast.pattern() as inner):
            return _classes(inner)
        case ast.MatchOr(patterns) | ast.MatchSequence(patterns):
            return [name for inner in patterns for name in _classes(inner)]
        case _:
            return []
