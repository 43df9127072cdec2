"""The mutants of a module: small changes of its syntax tree, each named by its function and what it changes.

Nothing here depends on lines or on layout. A mutant is found again by its function, its change, and, where a function
has the same expression several times, its number among them.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

DELETION = "operator deleted"
WIDTH, SHORT = 100, 40
"""The most characters of an expression that a change shows, and of a table that an entry is deleted from."""

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
OPERATIONS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.FloorDiv: ast.Mod,
}
FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any"}
PAIRS = ({"left", "right"}, {"first", "second"}, {"low", "high"}, {"phi", "psi"}, {"one", "other"}, {"E", "F"})
SYNTAX = ("/syntax.py", "/predicates.py", "/operators.py")
METHODS = {"union": "intersection", "intersection": "union"}
UNTOUCHED = {"annotation", "returns", "decorator_list", "exc", "bases", "keywords", "type_params", "msg"}
"""Fields whose expressions are types, decorators, or what an error says; keyword arguments of calls are looked into."""

Key: TypeAlias = tuple[str, str, str, int]
"""What identifies a mutant when lines move: its module, its function, its change, and which of the same it is."""

DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Mutant:
    """One change: of the module at a path from the root of the repository, in a function ("" outside of all)."""

    module: str
    function: str
    line: int
    kind: str
    change: str
    number: int
    """Which of the same changes in the same function, from 0."""

    @property
    def key(self) -> Key:
        return self.module, self.function, self.change, self.number


@dataclass(frozen=True)
class _Site:
    function: str
    line: int
    kind: str
    change: str
    apply: Callable[[], None]


def mutants(module: str, source: str) -> list[Mutant]:
    """All mutants of the source of a module, in the order of its lines."""
    seen: Counter[tuple[str, str]] = Counter()
    found = []
    tree = ast.parse(source)
    for site in _sites(tree, "", _operators(module, tree)):
        number = seen[site.function, site.change]
        seen[site.function, site.change] += 1
        found.append(Mutant(module, site.function, site.line, site.kind, site.change, number))
    return found


def mutated(mutant: Mutant, source: str) -> ast.Module:
    """The tree of the mutant. Raises KeyError if the source has no such mutant."""
    tree = ast.parse(source)
    sites = [
        s
        for s in _sites(tree, "", _operators(mutant.module, tree))
        if (s.function, s.change) == (mutant.function, mutant.change)
    ]
    if mutant.number >= len(sites):
        raise KeyError(mutant.key)
    sites[mutant.number].apply()
    return ast.fix_missing_locations(tree)


def lines_of(source: str, function: str) -> range | None:
    """The lines of the body of a function of a module, by its qualified name; None outside of functions."""
    node: ast.AST = ast.parse(source)
    for name in filter(None, function.split(".")):
        defined = (n for n in ast.walk(node) if isinstance(n, DEFINED) and n.name == name and n is not node)
        node = next(defined)
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    return range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)


def _text(node: ast.AST, width: int = WIDTH) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _same(node: ast.AST) -> Any:
    """A copy of a node that shares its children."""
    return type(node)(**{name: getattr(node, name) for name in node._fields})


def _operators(module: str, tree: ast.Module) -> frozenset[str]:
    """The names in a module that stand for operators of a language: the classes and modules of syntax that it imports.

    In a module of syntax, and in one with a table of operators, what it defines itself counts, too.
    """
    found: set[str] = set()
    for node in tree.body:
        match node:
            case ast.ImportFrom(module=str(imported), names=names):
                last = imported.rpartition(".")[2]
                found.update(a.asname or a.name for a in names if "syntax" in (last, a.name) or last == "operators")
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) if module.endswith(SYNTAX):
                found.add(name)
    return frozenset(name for name in found if not name.isupper())


# --- where ------------------------------------------------------------------------------------------------------------


def _sites(node: ast.AST, function: str, operators: frozenset[str]) -> Iterator[_Site]:
    if _is_left_out(node):
        return
    if isinstance(node, DEFINED):
        function = f"{function}.{node.name}" if function else node.name
    for field, value in ast.iter_fields(node):
        if field in UNTOUCHED and not isinstance(node, ast.Call):
            continue
        children = value if isinstance(value, list) else [value]
        for n, child in enumerate(children):
            if isinstance(child, ast.AST):
                place = _Place(node, field, value, n, function, operators)
                yield from place.sites(child)
                yield from _sites(child, function, operators)


@dataclass(frozen=True)
class _Place:
    """Where a node stands: in a field of its parent, or at an index of the list there."""

    parent: ast.AST
    field: str
    value: Any
    index: int
    function: str
    operators: frozenset[str]

    def sites(self, child: ast.AST) -> Iterator[_Site]:
        """The changes of the node that stands here, and its deletion."""
        if _is_left_out(child):
            return
        if isinstance(child, ast.expr):
            for kind, new in _changes(child):
                yield self._site(child, kind, f"{_text(child)} → {_text(new)}", new)
            for entry, parts, new in _entries(child, at_top=not self.function):
                change = f"{_text(entry)} of {_text(child, SHORT)} → deleted"
                yield self._site(child, self._deletion(*parts), change, new)
        if isinstance(self.parent, ast.comprehension) and self.field == "ifs":
            yield self._site(child, "condition dropped", f"if {_text(child)} → no condition", None)
        if isinstance(child, ast.stmt) and _deletable(child):
            yield self._site(child, "statement deleted", f"{_text(child)} → deleted", ast.Pass())
        if isinstance(child, ast.match_case) and self.index + 1 < len(self.value):
            change = f"case {_text(child.pattern)} → deleted"
            yield self._site(child.pattern, "case deleted", change, None)
        if isinstance(child, ast.MatchOr):
            for n, pattern in enumerate(child.patterns):
                rest = [*child.patterns[:n], *child.patterns[n + 1 :]]
                new_pattern = rest[0] if len(rest) == 1 else ast.MatchOr(rest)
                change = f"{_text(pattern)} of case {_text(child, SHORT)} → deleted"
                yield self._site(pattern, self._deletion(pattern), change, new_pattern)

    def _deletion(self, *parts: ast.AST) -> str:
        names = (node.id for part in parts for node in ast.walk(part) if isinstance(node, ast.Name))
        return DELETION if self.operators.intersection(names) else "entry deleted"

    def _site(self, node: Any, kind: str, change: str, new: ast.AST | None) -> _Site:
        def apply() -> None:
            if not isinstance(self.value, list):
                setattr(self.parent, self.field, new)
            elif new is None:
                del self.value[self.index]
            else:
                self.value[self.index] = new

        return _Site(self.function, node.lineno, kind, change, apply)


def _is_left_out(node: ast.AST) -> bool:
    """Whether no change of the node is a change of what the module does."""
    match node:
        case ast.JoinedStr() | ast.Import() | ast.ImportFrom() | ast.Assert():
            return True
        case ast.AnnAssign(annotation=ast.Name("TypeAlias")):
            return True
        case ast.If(test=ast.Name("TYPE_CHECKING")):
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Raise(exc=ast.Name("NotImplementedError")):
            return True
        case ast.Subscript(
            value=ast.Name("Literal" | "Callable" | "tuple" | "list" | "dict" | "set" | "frozenset" | "defaultdict")
        ):
            return True  # a type
        case ast.keyword(arg="strict" | "samples"):  # of zip: an assertion; operators as tests and drawings show them
            return True
        case ast.Call(func=ast.Name("assert_never" | "TypeVar" | "cast" | "NewType" | "ParamSpec" | "field")):
            return True
        case ast.FunctionDef(name="__repr__" | "__str__"):
            return True
        case ast.Expr(value=ast.Call(func=ast.Name("assert_never"))):
            return True
        case _:
            return False


def _deletable(node: ast.stmt) -> bool:
    match node:
        case ast.Expr(value=ast.Call() | ast.Yield() | ast.YieldFrom()) | ast.AugAssign() | ast.Raise() | ast.Delete():
            return True
        case ast.Continue() | ast.Break():
            return True
        case ast.If(orelse=[]):
            return True
        case _:
            return False


# --- what -------------------------------------------------------------------------------------------------------------


def _changes(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """What may stand in the place of an expression, and what kind of change that is."""
    match node:
        case ast.Compare():
            for n, op in enumerate(node.ops):
                other = _same(node)
                other.ops = [*node.ops[:n], COMPARISONS[type(op)](), *node.ops[n + 1 :]]
                yield "comparison swapped", other
        case ast.BoolOp():
            yield "and/or swapped", ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
            for n in range(len(node.values)):
                rest = [*node.values[:n], *node.values[n + 1 :]]
                yield "operand dropped", rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield "negation removed", node.operand
        case ast.BinOp() if not _is_text(node.left) and not _is_text(node.right):
            if type(node.op) in OPERATIONS:
                yield "operation swapped", ast.BinOp(node.left, OPERATIONS[type(node.op)](), node.right)
            yield "operand returned", node.left
            if isinstance(node.op, ast.Add | ast.BitOr | ast.BitAnd | ast.Mult):
                yield "operand returned", node.right
        case ast.IfExp():
            yield "condition negated", ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
        case ast.Constant(value=bool()):
            yield "constant changed", ast.Constant(not node.value)
        case ast.Constant(value=int()):
            yield "constant changed", ast.Constant(node.value + 1)
            yield "constant changed", ast.Constant(node.value - 1)
        case ast.Call():
            yield from _calls(node)
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            yield from _negated(node)


def _calls(node: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    def other(func: ast.expr, args: list[ast.expr]) -> ast.Call:
        return ast.Call(func, args, node.keywords)

    match node.func:
        case ast.Name(name) if name in FUNCTIONS:
            yield "min/max, any/all swapped", other(ast.Name(FUNCTIONS[name], ast.Load()), node.args)
        case ast.Attribute(value, name) if name in METHODS:
            yield "union/intersection swapped", other(ast.Attribute(value, METHODS[name], ast.Load()), node.args)
        case ast.Name("range") if len(node.args) <= 2:
            *start, stop = node.args
            yield "bound moved", other(node.func, [*start, ast.BinOp(stop, ast.Sub(), ast.Constant(1))])
            first = start[0] if start else ast.Constant(0)
            yield "bound moved", other(node.func, [ast.BinOp(first, ast.Add(), ast.Constant(1)), stop])
    match node.args:
        case [ast.Name() as first, ast.Name() as second, *rest] if _alike(first.id, second.id):
            yield "arguments swapped", other(node.func, [second, first, *rest])


def _entries(node: ast.expr, at_top: bool) -> Iterator[tuple[ast.expr, tuple[ast.expr, ...], ast.expr]]:
    """Each entry of a table, its parts, and the table without it.

    A table is a literal outside of functions, or one of which an entry is a class, or, outside of functions, a call
    whose arguments are calls.
    """
    match node:
        case ast.Dict(keys=keys):
            fields: tuple[str, ...] = ("keys", "values")
        case ast.Set(elts=keys) | ast.List(elts=keys, ctx=ast.Load()) | ast.Tuple(elts=keys, ctx=ast.Load()):
            fields = ("elts",)
        case ast.Call(args=keys) if at_top and len(keys) > 1 and all(isinstance(key, ast.Call) for key in keys):
            fields = ("args",)
        case _:
            return
    if not (at_top or any(key is not None and _is_type(key) for key in keys)):
        return
    for n, key in enumerate(keys):
        other = _same(node)
        for field in fields:
            entries = getattr(node, field)
            setattr(other, field, [*entries[:n], *entries[n + 1 :]])
        parts = tuple(part for field in fields if (part := getattr(node, field)[n]) is not None)
        yield key or node, parts, other


def _negated(node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Iterator[tuple[str, ast.expr]]:
    for n, generator in enumerate(node.generators):
        for m, test in enumerate(generator.ifs):
            changed = _same(generator)
            changed.ifs = [*generator.ifs[:m], ast.UnaryOp(ast.Not(), test), *generator.ifs[m + 1 :]]
            other = _same(node)
            other.generators = [*node.generators[:n], changed, *node.generators[n + 1 :]]
            yield "condition negated", other


def _alike(first: str, second: str) -> bool:
    """Whether two names may stand for values of one kind, by the way that they are written."""
    return first != second and ({first, second} in PAIRS or (len(first) == len(second) == 1 and first.islower()))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _is_type(node: ast.expr) -> bool:
    """Whether an expression is the name of a class, by the way that it is written."""
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name[:1].isupper() and not name.isupper() and len(name) > 1
