"""The queries and streams of the benchmarks (Q1 to Q6: cep17, section 7; the rest: ours)."""

from __future__ import annotations

from random import Random

import pyarrow as pa

from cerify.semantics.events import Stream

QUERIES = {
    "Q1": "A ; B ; C",
    "Q2": "A ; B ; C ; D",
    "Q3": "(A OR B OR C) ; D",
    "Q4": "A+ ; B",
    "Q5": "A+ ; B+ ; C",
    "Q6": "(A+ ; B)+ ; C",
    "Q7": "A : B : C",
    "Q8": "A ; B ; C FILTER A[a > 20 and b < 80] AND B[a > 20 and b < 80] AND C[a > 20 and b < 80]",
}
TYPES = [*"ABCD", *(f"N{i}" for i in range(4))]


def uniform(events: int, seed: int = 1) -> Stream:
    """A stream with types uniform over A to D and four that no query mentions, and four int attributes in 0 to 99."""
    random = Random(seed)
    columns = {"type": pa.array(random.choices(TYPES, k=events))}
    for name in "abcd":
        columns[name] = pa.array(random.choices(range(100), k=events), pa.int64())
    return Stream.from_table(pa.table(columns))


def in_turn(events: int) -> Stream:
    """A stream of the same types, which come in turn, with attributes that pass the filters of Q8."""
    types = [type_ for pair in zip(TYPES[:4], TYPES[4:], strict=True) for type_ in pair]
    columns = {"type": pa.array((types * (events // len(types) + 1))[:events])}
    return Stream.from_table(pa.table(columns | {name: pa.array([50] * events) for name in "abcd"}))
