"""The patterns and expressions of MATCH_RECOGNIZE: ISO/IEC 9075-2, feature R010.

The letters used for these trees, here and in every module of this package:
    q  a clause        p  a pattern        A, B  variables        e  an expression        S  a table: a stream of rows
Two trees are equal if they are the same clause; where in a text they stood does not count. A variable that is written
without quotation marks is in upper case, as SQL has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import ClassVar, Literal, TypeAlias

from cerify.semantics import trees
from cerify.semantics.errors import Span
from cerify.semantics.trees import Tree, subtrees
from cerify.semantics.values import Value


class Node(Tree):
    """A part of a clause, with its place in the text."""

    span: Span | None = field(default=None, kw_only=True)  # not positional: no part of a tree's value


# --- patterns ---------------------------------------------------------------------------------------------------------


class Variable(Node):
    """A: one row, for which the condition of A is true."""

    name: str


class Empty(Node):
    """(): no row."""


class Anchor(Node):
    """^ or $: no row, before the first or after the last row of a partition."""

    place: Literal["start", "end"]


class Concatenation(Node):
    """Left, then right."""

    operands: ClassVar = ("left", "right")
    left: Pattern
    right: Pattern


class Alternation(Node):
    """Left or right; left is preferred."""

    operands: ClassVar = ("left", "right")
    left: Pattern
    right: Pattern


class Permute(Node):
    """PERMUTE(…): all parts in some order; the orders are preferred as the list of the parts says."""

    operands: ClassVar = ("parts",)
    parts: tuple[Pattern, ...]


class Quantified(Node):
    """From low to high iterations (None: any number); a greedy quantifier prefers more, a reluctant one fewer."""

    operands: ClassVar = ("pattern",)
    pattern: Pattern
    low: int
    high: int | None
    greedy: bool = True


class Exclusion(Node):
    """{- … -}: the rows are matched, and are left out of the output of ALL ROWS PER MATCH."""

    operands: ClassVar = ("pattern",)
    pattern: Pattern


Pattern: TypeAlias = Variable | Empty | Anchor | Concatenation | Alternation | Permute | Quantified | Exclusion

# --- expressions ------------------------------------------------------------------------------------------------------

Semantics: TypeAlias = Literal["RUNNING", "FINAL"]
SqlType: TypeAlias = Literal["BIGINT", "DOUBLE", "VARCHAR", "BOOLEAN", "TIMESTAMP"]


class Constant(Node):
    """A literal; None is NULL."""

    value: Value | None


class Column(Node):
    """A.name, or name: a column, of the row of A, or of all rows of the match, that is looked at."""

    name: str
    variable: str | None = None
    quoted: bool = False


class Classifier(Node):
    """CLASSIFIER(A): the variable that a row is labelled with."""

    variable: str | None = None


class MatchNumber(Node):
    """MATCH_NUMBER(): the number of the match in its partition, from 1."""


class Physical(Node):
    """PREV or NEXT (e, offset): e in the row that many rows before or after, of the match or not."""

    operands: ClassVar = ("argument",)
    function: Literal["PREV", "NEXT"]
    argument: Expression
    offset: int = 1


class Logical(Node):
    """FIRST or LAST (e, offset): e in a row of a variable, counted from the first or the last one."""

    operands: ClassVar = ("argument",)
    function: Literal["FIRST", "LAST"]
    argument: Expression
    offset: int = 0
    semantics: Semantics = "RUNNING"


class Count(Node):
    """COUNT(*) or COUNT(A.*): the number of the rows of the match, or of those of A."""

    variable: str | None = None
    semantics: Semantics = "RUNNING"


class Aggregate(Node):
    """COUNT, SUM, AVG, MIN or MAX of the values of e that are not NULL, over the rows of the match or of a variable."""

    operands: ClassVar = ("argument",)
    function: Literal["COUNT", "SUM", "AVG", "MIN", "MAX"]
    argument: Expression
    semantics: Semantics = "RUNNING"


class Negative(Node):
    """- e."""

    operands: ClassVar = ("operand",)
    operand: Expression


class Sum(Node):
    """+ and - on numbers, || on strings."""

    operands: ClassVar = ("left", "right")
    left: Expression
    operator: Literal["+", "-", "||"]
    right: Expression


class Product(Node):
    """* / % on numbers."""

    operands: ClassVar = ("left", "right")
    left: Expression
    operator: Literal["*", "/", "%"]
    right: Expression


class Absolute(Node):
    """ABS(e)."""

    operands: ClassVar = ("operand",)
    operand: Expression


class Cast(Node):
    """CAST(e AS type)."""

    operands: ClassVar = ("operand",)
    operand: Expression
    type: SqlType


class Coalesce(Node):
    """COALESCE(…): the first value that is not NULL."""

    operands: ClassVar = ("arguments",)
    arguments: tuple[Expression, ...]


class Case(Node):
    """CASE WHEN condition THEN result ELSE otherwise END; with more conditions `otherwise` is another Case."""

    operands: ClassVar = ("condition", "result", "otherwise")
    condition: Expression
    result: Expression
    otherwise: Expression


class Comparison(Node):
    """< <= > >= = <>."""

    operands: ClassVar = ("left", "right")
    left: Expression
    operator: Literal["<", "<=", ">", ">=", "=", "<>"]
    right: Expression


class IsNull(Node):
    """e IS [NOT] NULL."""

    operands: ClassVar = ("operand",)
    operand: Expression
    negated: bool = False


class Between(Node):
    """e [NOT] BETWEEN low AND high."""

    operands: ClassVar = ("operand", "low", "high")
    operand: Expression
    low: Expression
    high: Expression
    negated: bool = False


class In(Node):
    """e [NOT] IN (…)."""

    operands: ClassVar = ("operand", "items")
    operand: Expression
    items: tuple[Expression, ...]
    negated: bool = False


class Like(Node):
    """e [NOT] LIKE pattern [ESCAPE escape]: % is any text, _ one character, and what follows the escape itself."""

    operands: ClassVar = ("operand", "pattern")
    operand: Expression
    pattern: Expression
    escape: tuple[str, ...] = ()
    negated: bool = False


class Not(Node):
    """NOT e."""

    operands: ClassVar = ("operand",)
    operand: Expression


class And(Node):
    """Both."""

    operands: ClassVar = ("left", "right")
    left: Expression
    right: Expression


class Or(Node):
    """One of the two, or both."""

    operands: ClassVar = ("left", "right")
    left: Expression
    right: Expression


Lookup: TypeAlias = Column | Classifier | MatchNumber | Physical | Logical | Count | Aggregate
"""What depends on rows."""

Scalar: TypeAlias = (
    Constant | Negative | Sum | Product | Absolute | Cast | Coalesce | Case | Comparison | IsNull | Between | In | Like
    | Not | And | Or
)  # fmt: skip
"""What depends on the values of its operands alone."""

Expression: TypeAlias = Lookup | Scalar


def below(e: Expression) -> tuple[Expression, ...]:
    """The expressions directly below an expression."""
    found: tuple[Expression, ...] = trees.children(e)
    return found


def lookups(e: Expression) -> list[Lookup]:
    """The parts of an expression that depend on rows, without those inside others."""
    return [e] if isinstance(e, Lookup) else [found for operand in below(e) for found in lookups(operand)]


def references(e: Expression) -> list[Column | Classifier]:
    """The columns and classifiers in an expression."""
    nodes: Iterator[Expression] = subtrees(e)
    return [node for node in nodes if isinstance(node, Column | Classifier)]


def variable_of(e: Expression) -> str | None:
    """The variable whose rows an argument of a function looks at; None for all rows of the match."""
    return next((one.variable for one in references(e)), None)
