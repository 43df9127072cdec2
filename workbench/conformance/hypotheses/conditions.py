"""The truth of conditions on attributes where absent values, arithmetic and comparison are choices."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, assert_never

from cerify.conformance.hypotheses.axis import Axis, Choices, EngineError
from cerify.semantics import predicates as pred
from cerify.semantics.like import matches
from cerify.semantics.predicates import Attribute, Comparator, Predicate, Term
from cerify.semantics.values import Value

ABSENT = Axis(
    "absent",
    ("false", "unknown", "null-equal", "null-unequal", "zero", "error"),
    says="a comparison with an absent attribute: false; unknown, so that its negation is not true either; absent "
    "equals absent and differs from all else; absent differs from all, and equals nothing; absent is 0; an error",
)
DIVISION = Axis(
    "integer-division",
    ("exact", "truncating"),
    says="the quotient of two integers: exact; without what is behind the point",
)
COMPARISON = Axis(
    "comparison",
    ("exact", "inclusive", "exclusive", "reversed"),
    says="< and > mean what they say; are taken for <= and >=; <= and >= are taken for < and >; < is taken for >",
)
CONNECTIVES = Axis(
    "connectives",
    ("exact", "and-as-or", "or-as-and", "not-ignored"),
    says="and, or and not inside a condition on one event: as they are; and taken for or; or for and; not is ignored",
)
STRINGS = Axis(
    "strings",
    ("exact", "any-case"),
    says="strings are compared as they are; without regard to upper and lower case",
)
LIKE = Axis(
    "like",
    ("whole", "beginning", "anywhere"),
    says="like matches the whole string; its beginning; a part of it",
)
RANGE = Axis(
    "range",
    ("closed", "open-below", "open-above"),
    says="in range(a, b): both ends are in; a is not; b is not",
)
FLOATS = Axis(
    "floats", ("exact", "truncated"), says="floats are compared as they are; without what is behind the point"
)

CONDITIONS = (ABSENT, DIVISION, COMPARISON, CONNECTIVES, STRINGS, LIKE, RANGE, FLOATS)
"""The axes of conditions, which all languages have."""

ValueOf: TypeAlias = Callable[[Attribute], Value | None]

INCLUSIVE: dict[Comparator, Comparator] = {"<": "<=", ">": ">="}
EXCLUSIVE: dict[Comparator, Comparator] = {"<=": "<", ">=": ">"}
REVERSED: dict[Comparator, Comparator] = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


class Conditions:
    """The truth of tuple predicates under the choices."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.truncates = choices.get("integer-division") == "truncating"
        self.as_defined = all(choices.get(axis.name, axis.default) == axis.default for axis in CONDITIONS)

    def satisfied(self, predicate: Predicate, value_of: ValueOf, type_: str = "") -> bool:
        """Whether the predicate is true. Raises EngineError where the engine answers with an error."""
        if self.as_defined:
            return pred.satisfied(predicate, value_of, type_)
        return self.truth(predicate, value_of, type_) is True

    def truth(self, P: Predicate, value_of: ValueOf, type_: str) -> bool | None:
        """The truth value; None is unknown, which only `absent=unknown` has."""
        match P:
            case pred.Anything():
                return True
            case pred.OfType(name):
                return type_ == name
            case pred.Comparison(comparator, left, right):
                return self.compared(comparator, self.value(left, value_of), self.value(right, value_of))
            case pred.OneOf(term, values):
                value = self.value(term, value_of)
                return self.either([self.compared("=", value, self.read(v)) for v in values])
            case pred.InRange(term, low, high):
                value = self.value(term, value_of)
                above: Comparator = "<" if self.choices["range"] == "open-below" else "<="
                below: Comparator = "<" if self.choices["range"] == "open-above" else "<="
                return self.both(
                    [self.ordered(above, self.read(low), value), self.ordered(below, value, self.read(high))]
                )
            case pred.Like(term, pattern):
                return self.like(pattern, self.value(term, value_of))
            case pred.Not(inner):
                found = self.truth(inner, value_of, type_)
                return found if found is None or self.choices["connectives"] == "not-ignored" else not found
            case pred.Both(left_, right_):
                parts = [self.truth(left_, value_of, type_), self.truth(right_, value_of, type_)]
                return self.either(parts) if self.choices["connectives"] == "and-as-or" else self.both(parts)
            case pred.Either(left_, right_):
                parts = [self.truth(left_, value_of, type_), self.truth(right_, value_of, type_)]
                return self.both(parts) if self.choices["connectives"] == "or-as-and" else self.either(parts)
            case _:
                assert_never(P)

    def both(self, parts: list[bool | None]) -> bool | None:
        """Conjunction of three-valued logic."""
        return False if False in parts else None if None in parts else True

    def either(self, parts: list[bool | None]) -> bool | None:
        """Disjunction of three-valued logic."""
        return True if True in parts else None if None in parts else False

    def compared(self, comparator: Comparator, left: Value | None, right: Value | None) -> bool | None:
        """A comparison that is written in the query, by the choice about comparison."""
        match self.choices["comparison"]:
            case "inclusive":
                comparator = INCLUSIVE.get(comparator, comparator)
            case "exclusive":
                comparator = EXCLUSIVE.get(comparator, comparator)
            case "reversed":
                comparator = REVERSED.get(comparator, comparator)
        return self.ordered(comparator, left, right)

    def ordered(self, comparator: Comparator, left: Value | None, right: Value | None) -> bool | None:
        """The comparison of two values, by the choice about absent ones."""
        if left is None or right is None:
            match self.choices["absent"]:
                case "unknown":
                    return None
                case "null-equal":
                    return (left is right) == (comparator == "=") if comparator in ("=", "!=") else False
                case "null-unequal":
                    return comparator == "!="
                case "error":
                    raise EngineError("an attribute of the condition is absent")
        return pred.compare(comparator, left, right)

    def like(self, pattern: str, value: Value | None) -> bool | None:
        """Whether the string is as the pattern, by the choice about what the pattern covers."""
        if value is None and self.choices["absent"] == "unknown":
            return None
        if value is None and self.choices["absent"] == "error":
            raise EngineError("an attribute of the condition is absent")
        match self.choices["like"]:
            case "beginning":
                pattern = f"(?:{pattern})(?s:.*)"
            case "anywhere":
                pattern = f"(?s:.*)(?:{pattern})(?s:.*)"
        return matches(f"(?i:{pattern})" if self.choices["strings"] == "any-case" else pattern, value)

    def value(self, term: Term, value_of: ValueOf) -> Value | None:
        """The value of a term, None where it has none."""
        match term:
            case Attribute():
                found = value_of(term)
                return 0 if found is None and self.choices["absent"] == "zero" else self.read(found)
            case pred.Constant(value):
                return self.read(value)
            case pred.Arithmetic(symbol, left, right):
                a, b = self.value(left, value_of), self.value(right, value_of)
                if a is None or b is None:
                    return None
                if symbol == "/" and type(a) is int and type(b) is int and b and self.truncates:
                    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
                return pred.evaluate(pred.Arithmetic(symbol, pred.Constant(a), pred.Constant(b)), lambda _: None)
            case _:
                assert_never(term)

    def read(self, value: Value | None) -> Value | None:
        """A value as the engine reads it."""
        match value:
            case str() if self.choices["strings"] == "any-case":
                return value.lower()
            case float() if self.choices["floats"] == "truncated" and abs(value) < float("inf"):
                return float(int(value))
        return value
