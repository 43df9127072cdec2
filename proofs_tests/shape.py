"""Rules of the shape of the code that no linter has: functions from a module's tree to the lines that break them."""

import ast
from collections.abc import Iterator


def open_defaults(tree: ast.Module) -> Iterator[int]:
    """The lines of `case _` over several classes that do anything else than assert_never or raise.

    A class that is added to the union would take that case without a warning of mypy.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Match):
            classes = [case for case in node.cases if isinstance(case.pattern, ast.MatchClass | ast.MatchOr)]
            last = node.cases[-1]
            wild = isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None and last.guard is None
            text = ast.unparse(last.body[0])
            if len(classes) > 1 and wild and not text.startswith(("assert_never(", "return assert_never(", "raise ")):
                yield last.pattern.lineno
