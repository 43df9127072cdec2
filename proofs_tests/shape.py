"""Rules of the shape of the code that no linter has: functions from a module's tree to the lines that break them."""

import ast
from collections.abc import Iterator
from functools import cache

NAMES = frozenset({"cel", "core-cel", "event-expression", "sase", "row-pattern", "denotational", "automaton", "kernel"})
"""The languages and the evaluators by name."""


@cache
def nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    """All nodes of a tree, which each rule looks at."""
    return tuple(ast.walk(tree))


def open_defaults(tree: ast.Module) -> Iterator[int]:
    """The lines of `case _` over several classes that do anything else than assert_never or raise.

    A class that is added to the union would take that case without a warning of mypy.
    """
    for node in nodes(tree):
        if isinstance(node, ast.Match):
            classes = [case for case in node.cases if isinstance(case.pattern, ast.MatchClass | ast.MatchOr)]
            last = node.cases[-1]
            wild = isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None and last.guard is None
            text = ast.unparse(last.body[0])
            if len(classes) > 1 and wild and not text.startswith(("assert_never(", "return assert_never(", "raise ")):
                yield last.pattern.lineno


def switches(tree: ast.Module) -> Iterator[int]:
    """The lines that compare with the name of a language or an evaluator, or have a table by such names."""
    for node in nodes(tree):
        if isinstance(node, ast.Compare | ast.match_case):
            where = node if isinstance(node, ast.Compare) else node.pattern
            if any(isinstance(part, ast.Constant) and part.value in NAMES for part in ast.walk(where)):
                yield where.lineno
        elif isinstance(node, ast.Dict):
            keys = {key.value for key in node.keys if isinstance(key, ast.Constant)}
            if len(keys & NAMES) > 1:
                yield node.lineno


def large_functions(tree: ast.Module) -> Iterator[int]:
    """Yield the lines of functions of more than 100 lines."""
    for node in nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (node.end_lineno or 0) - node.lineno >= 100:
            yield node.lineno


def refusals_caught(tree: ast.Module) -> Iterator[int]:
    """The lines of handlers that catch Unsupported, alone or among others."""
    for node in nodes(tree):
        if isinstance(node, ast.ExceptHandler) and node.type is not None:
            names = {getattr(one, "id", getattr(one, "attr", "")) for one in ast.walk(node.type)}
            if "Unsupported" in names:
                yield node.lineno
