"""The mutants: small edits to the text of semantics/cel/denote.py, by the clause that they make wrong.

An edit is applied within one place: the case of an operator in `clause` or in `satisfies`, or a function. There its old
text must stand exactly once, so that whoever changes a clause is told which mutants to mend.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from cerify.semantics.cel import syntax as cel


@dataclass(frozen=True)
class Patch:
    """One edit: in the place, old becomes new; clause is the operator whose meaning it changes."""

    clause: str
    place: str
    old: str
    new: str

    @property
    def name(self) -> str:
        """The edit in one line."""
        return f"{self.old} → {self.new}"


KINDS: dict[str, tuple[type, ...]] = {
    "R": (cel.Event,),
    "IN": (cel.In,),
    "FILTER": (cel.Filter,),
    ";": (cel.Seq,),
    "+": (cel.Plus,),
    ":": (cel.ContiguousSeq,),
    ":+": (cel.ContiguousPlus,),
    "PROJECT": (cel.Project,),
    "START": (cel.Start,),
    "OR": (cel.Or,),
    "AND": (cel.And,),
    "ALL": (cel.All,),
    "UNLESS": (cel.Unless,),
    "STRICT": (cel.Strict,),
    "NXT": (cel.Next,),
    "LAST": (cel.Last,),
    "MAX": (cel.Max,),
    "WITHIN": (cel.Within,),
    "PARTITION BY": (cel.PartitionBy,),
}
"""The operator of each clause."""

# clause, place, and the edits in that place
TABLE: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...] = (
    (
        "R",
        "case cel.Event(R):",
        (
            ("{j}", "{i}"),
            ("{j}", "range(i, j + 1)"),
            ("S[j].type == R", "S[i].type == R"),
            ("S[j].type == R", "any(S[k].type == R for k in range(i, j + 1))"),
            ("== R", "!= R"),
            ("else NONE", "else {frozenset()}"),
        ),
    ),
    (
        "IN",
        "case cel.In(psi, A):",
        (
            ("mu - at(mu, A) | bind(A, sup(mu))", "mu - at(mu, A)"),
            ("mu - at(mu, A) | bind", "bind"),
            ("bind(A, sup(mu))", "bind(A, {j})"),
            ("bind(A, sup(mu))", "bind(A, sup(mu) - sup(at(mu, A)))"),
            ("meaning(psi, i, j)", "meaning(psi, j, j)"),
        ),
    ),
    (
        "FILTER",
        "case cel.Filter(psi, condition):",
        (
            ("if satisfies", "if not satisfies"),
            (" if satisfies(mu, condition, S, facts)", ""),
            ("if satisfies", "if len(mu) > 1 or satisfies"),
            ("meaning(psi, i, j)", "meaning(psi, j, j)"),
        ),
    ),
    (
        "FILTER",
        "case cel.Every(A, predicate):",
        (
            ("all(", "any("),
            ("all(", "not any("),
            ("in at(mu, A)", "in mu"),
            ("all(", "at(mu, A) and all("),
            ("in at(mu, A)", "in sorted(at(mu, A))[-1:]"),
            ("in at(mu, A)", "in sorted(at(mu, A))[:1]"),
        ),
    ),
    (
        "FILTER",
        "case cel.Correlated(predicate):",
        (
            ("product(*ranges)", "zip(*map(list, ranges))"),
            ("if not satisfied", "if satisfied"),
            ("return True", "return False"),
            ("in at(mu, m.variable)", "in mu"),
            ("in at(mu, m.variable)", "in sorted(at(mu, m.variable))[-1:]"),
            ("in at(mu, m.variable)", "in sorted(at(mu, m.variable))[:1]"),
        ),
    ),
    (
        "FILTER",
        "case cel.Conjunction(left, right):",
        (
            (" and ", " or "),
            (" and satisfies(mu, right, S, facts)", ""),
            ("satisfies(mu, left, S, facts) and ", ""),
        ),
    ),
    (
        "FILTER",
        "case cel.Disjunction(left, right):",
        (
            (" or ", " and "),
            (" or satisfies(mu, right, S, facts)", ""),
            ("satisfies(mu, left, S, facts) or ", ""),
            (" or ", " ^ "),
        ),
    ),
    (
        ";",
        "case cel.Seq(left, right):",
        (
            ("sequenced(left, right,", "sequenced(right, left,"),
            ("sequenced(", "contiguous("),
            ("sequenced(left, right, i, j, meaning)", "meaning(left, i, j) | meaning(right, i, j)"),
        ),
    ),
    (
        ";",
        "def sequenced",
        (
            ("range(i, j)", "range(i + 1, j)"),
            ("range(i, j)", "range(i, j - 1)"),
            ("range(i, j)", "range(max(i, j - 1), j)"),
            ("range(i, j)", "range(i, min(i + 1, j))"),
            ("meaning(left, i, k)", "meaning(left, k, k)"),
            ("meaning(right, k + 1, j)", "meaning(right, j, j)"),
            ("meaning(right, k + 1, j)", "meaning(right, k + 1, k + 1)"),
            ("mu1 | mu2", "mu1"),
            ("mu1 | mu2", "mu2"),
        ),
    ),
    (
        "+",
        "case cel.Plus(psi):",
        (
            ("sequenced(psi, phi,", "sequenced(psi, psi,"),
            ("sequenced(", "contiguous("),
            ("chain(meaning(psi, i, j), sequenced(psi, phi, i, j, meaning))", "meaning(psi, i, j)"),
            ("chain(meaning(psi, i, j), sequenced(psi, phi, i, j, meaning))", "sequenced(psi, phi, i, j, meaning)"),
            ("meaning(psi, i, j)", "meaning(psi, j, j)"),
        ),
    ),
    (
        ":",
        "case cel.ContiguousSeq(left, right):",
        (
            ("contiguous(left, right,", "contiguous(right, left,"),
            ("contiguous(", "sequenced("),
            ("contiguous(left, right, i, j, meaning)", "meaning(left, i, j) | meaning(right, i, j)"),
        ),
    ),
    (
        ":",
        "def contiguous",
        (
            ("range(i, j)", "range(i + 1, j)"),
            ("range(i, j)", "range(i, j - 1)"),
            (" and last(mu1) == k", ""),
            (" and first(mu2) == k + 1", ""),
            ("last(mu1) == k", "first(mu1) == k"),
            ("last(mu1) == k", "last(mu1) >= k - 1"),
            ("first(mu2) == k + 1", "first(mu2) <= k + 2"),
            ("first(mu2) == k + 1", "last(mu2) == k + 1"),
            ("if mu1 and", "if not mu1 or"),
            ("if mu2 and", "if not mu2 or"),
            ("mu1 | mu2", "mu1"),
            ("mu1 | mu2", "mu2"),
        ),
    ),
    (
        ":+",
        "case cel.ContiguousPlus(psi):",
        (
            ("contiguous(psi, phi,", "contiguous(psi, psi,"),
            ("contiguous(", "sequenced("),
            ("chain(meaning(psi, i, j), contiguous(psi, phi, i, j, meaning))", "meaning(psi, i, j)"),
            ("chain(meaning(psi, i, j), contiguous(psi, phi, i, j, meaning))", "contiguous(psi, phi, i, j, meaning)"),
            ("meaning(psi, i, j)", "meaning(psi, j, j)"),
        ),
    ),
    (
        "PROJECT",
        "case cel.Project(L, psi):",
        (
            ("A in L", "A not in L"),
            (" if A in L", ""),
            ("for mu in meaning(psi, i, j)", "for mu in meaning(psi, i, j) if any(A in L for A, _ in mu)"),
            ("for A, p in mu if A in L", "for p in sup(mu) for A in L"),
            ("for A, p in mu", "for A, p in sorted(mu)[:1]"),
        ),
    ),
    (
        "START",
        "case cel.Start(psi):",
        (
            ("== i", ">= i"),
            ("== i", "== 0"),
            ("== i", "<= i + 1"),
            ("first(mu)", "last(mu)"),
            ("if mu and", "if not mu or"),
        ),
    ),
    (
        "OR",
        "case cel.Or(left, right):",
        (
            (" | ", " & "),
            (" | ", " ^ "),
            (" | ", " or "),
            (" | meaning(right, i, j)", ""),
            ("meaning(left, i, j) | ", ""),
        ),
    ),
    (
        "AND",
        "case cel.And(left, right):",
        (
            (" & ", " | "),
            (" & ", " - "),
            (" & ", " and "),
            (" & meaning(right, i, j)", ""),
            ("meaning(left, i, j) & ", ""),
        ),
    ),
    (
        "ALL",
        "case cel.All(left, right):",
        (
            ("mu1 | mu2", "mu1"),
            ("mu1 | mu2", "mu1 & mu2"),
            ("meaning(right, i2, j2)", "meaning(right, i1, j1)"),
            ("meaning(right, i2, j2)", "meaning(right, i2, j2) if not sup(mu1) & sup(mu2)"),
            ("meaning(left, i1, j1)", "meaning(left, i, j)"),
        ),
    ),
    (
        "ALL",
        "def interleavings",
        (
            (" | {(k, i) for k in range(i, j + 1)}", ""),
            ("{(i, k) for k in range(i, j + 1)} | ", ""),
            (" | {(k, j) for k in range(i, j + 1)}", ""),
            ("{(j, k) for k in range(i, j + 1)} | ", ""),
            ("if i1 <= j1 and i2 <= j2", "if i2 <= i1 <= j1 <= j2"),
            ("if i1 <= j1 and i2 <= j2", "if i1 <= j1 and i2 <= j2 and i1 <= j2 + 1 and i2 <= j1 + 1"),
            ("if i1 <= j1 and i2 <= j2", "if i1 < j1 and i2 < j2"),
        ),
    ),
    (
        "UNLESS",
        "case cel.Unless(left, right):",
        (
            ("any(", "all("),
            ("any(", "not any("),
            ("range(i, j_ + 1)", "range(i, i + 1)"),
            ("range(i, j + 1)", "range(j, j + 1)"),
            ("range(i, j + 1)", "range(i, j)"),
            ("range(i, j_ + 1)", "range(i + 1, j_ + 1)"),
            ("any(meaning(right, i_, j_) for i_, j_ in intervals)", "meaning(right, i, j)"),
            ("else meaning(left, i, j)", "else meaning(right, i, j)"),
        ),
    ),
    (
        "STRICT",
        "case cel.Strict(psi):",
        (
            (" < ", " <= "),
            ("not mu or", "mu and"),
            ("len(sup(mu))", "len(mu)"),
            ("last(mu)", "j"),
            ("first(mu)", "i"),
        ),
    ),
    (
        "NXT",
        "case cel.Next(psi):",
        (
            ("all(", "any("),
            ("next_at_most(other, sup(mu))", "next_at_most(sup(mu), other)"),
            ("next_at_most", "last_at_most"),
            ("all(next_at_most(other, sup(mu)) for other in Cs)", "True"),
            ("next_at_most(other, sup(mu))", "other <= sup(mu)"),
        ),
    ),
    ("NXT", "def next_at_most", (("min(", "max("), ("in C2", "in C1"), ("C1 == C2 or", "C1 != C2 and"))),
    (
        "LAST",
        "case cel.Last(psi):",
        (
            ("all(", "any("),
            ("last_at_most(other, sup(mu))", "last_at_most(sup(mu), other)"),
            ("last_at_most", "next_at_most"),
            ("all(last_at_most(other, sup(mu)) for other in Cs)", "True"),
            ("last_at_most(other, sup(mu))", "other <= sup(mu)"),
        ),
    ),
    ("LAST", "def last_at_most", (("max(", "min("), ("in C2", "in C1"), ("C1 == C2 or", "C1 != C2 and"))),
    (
        "MAX",
        "case cel.Max(psi):",
        (
            ("__lt__", "__le__"),
            ("__lt__", "__gt__"),
            ("not any(", "any("),
            ("any(", "all("),
            ("sup(mu).__lt__", "lambda other, mu=mu: len(sup(mu)) < len(other)"),
        ),
    ),
    (
        "WITHIN",
        "case cel.Within(psi, window):",
        (
            (" if spans_at_most(window, sup(mu), S)", ""),
            ("spans_at_most", "not spans_at_most"),
            ("sup(mu)", "range(i, j + 1)"),
            ("sup(mu)", "(min(sup(mu), default=i), max(sup(mu), default=i))"),
        ),
    ),
    (
        "WITHIN",
        "case cel.EventWindow(count):",
        (
            (" < ", " <= "),
            ("bool(C) and", "not C or"),
            ("max(C) - min(C)", "len(C) - 1"),
            ("< count", "< count - 1"),
        ),
    ),
    (
        "WITHIN",
        "case cel.TimeWindow(amount, unit):",
        (("amount * SECONDS[unit]", "amount"), ("amount * SECONDS[unit]", "SECONDS[unit]"), ('"time"', '"x"')),
    ),
    ("WITHIN", "SECONDS =", (('"minute": 60', '"minute": 100'), ('"hour": 3600', '"hour": 60'))),
    (
        "WITHIN",
        "def _within",
        (
            (".total_seconds() <= width", ".total_seconds() < width"),
            ("return last - first <= width", "return last - first < width"),
            ("return last - first <= width", "return first - last <= width"),
            (" or len(present) < len(values)", ""),
        ),
    ),
    (
        "PARTITION BY",
        "case cel.PartitionBy(psi, a):",
        (
            (" if agree(a, sup(mu), S)", ""),
            ("agree(", "not agree("),
            ("sup(mu)", "range(i, j + 1)"),
        ),
    ),
    (
        "PARTITION BY",
        "def agree",
        (
            ("all(", "any("),
            ('"="', '"!="'),
            ("for p in C for q in C", "for p in C for q in C if p < q"),
            ("for p in C for q in C", "for p in C for q in C if q == p + 1 or p == q"),
            ("for p in C for q in C", "for p in C for q in C if S[p].type == S[q].type"),
        ),
    ),
)

PATCHES = tuple(Patch(clause, place, old, new) for clause, place, edits in TABLE for old, new in edits)


class DoesNotApply(Exception):
    """An edit whose place or old text is no longer there, or no longer unique."""


def patched(source: str, patch: Patch) -> str:
    """The source with the edit made. Raises DoesNotApply."""
    start, end = _place(source, patch)
    text = source[start:end]
    if (found := text.count(patch.old)) != 1:
        raise DoesNotApply(
            f"the mutant [{patch.clause}] {patch.name} does not apply: its old text stands {found} times, not once, at "
            f"{patch.place!r}. Mend it in {__name__}; the place reads\n{text}"
        )
    return source[:start] + text.replace(patch.old, patch.new) + source[end:]


def _place(source: str, patch: Patch) -> tuple[int, int]:
    """From the line that begins with the place to the next line that is indented no more."""
    begins = re.compile(rf"^( *){re.escape(patch.place)}", re.MULTILINE)
    places = list(begins.finditer(source))
    if len(places) != 1:
        raise DoesNotApply(
            f"the mutant [{patch.clause}] {patch.name} does not apply: "
            f"{patch.place!r} begins {len(places)} lines, not one"
        )
    (place,) = places
    ends = re.compile(rf"^ {{0,{len(place[1])}}}[^\s)]", re.MULTILINE)
    after = ends.search(source, place.end())
    return place.end(), after.start() if after is not None else len(source)


def clauses() -> Iterator[str]:
    """The clauses, each once, in order."""
    yield from dict.fromkeys(patch.clause for patch in PATCHES)
