"""Figures of SASE+: shapes of sase07 over 1,000 partitions, from Arrow columns to numbers of matches."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numba import njit

from cerify.automata.nfab.compiled import CompiledBlockRunner
from cerify.automata.nfab.evaluate import BlockRunner
from cerify.automata.nfab.evaluators import CompiledSaseEvaluator
from cerify.semantics.arguments import Budget
from cerify.semantics.events import Stream
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.parse import parse
from proofs_tests.benchmarks.figure import Figure, rate

SHAPES = {
    "three": """PATTERN SEQ(A a, B+ b[], C c) WHERE {strategy}(a, b[], c) {{ [symbol] and a.volume > 1900
        and b[i].price > avg(b[..i-1].price) and c.volume < 80% * b[b.LEN].volume }}
        WITHIN 2 hours RETURN a.symbol, b[].price, c.volume""",
    "eighth": """PATTERN SEQ(A a, B+ b[], C c) WHERE {strategy}(a, b[], c) {{ [symbol] and a.volume >= 1000
        and b[i].price > avg(b[..i-1].price) and c.volume < 80% * b[b.LEN].volume }}
        WITHIN 2 hours RETURN a.symbol, b[].price, c.volume""",
    "q1": """PATTERN SEQ(A a, B+ b[]) WHERE {strategy}(a, b[]) {{ [symbol] and a.volume > 1900 and b[i].price > 50 }}
        WITHIN 2 hours RETURN sum(b[].volume)""",
    "q2": """PATTERN SEQ(A+ a[]) WHERE {strategy}(a[]!) {{ [symbol] and a[1].price = 10 and a[i].price > a[i-1].price
        and a[a.LEN].price > 90 }} WITHIN 2 hours RETURN a[1].symbol, a[].price""",
    "q3": """PATTERN SEQ(A+ a[], B b) WHERE {strategy}(a[]!, b) {{ [symbol] and a[1].volume > 1900
        and a[i].price > avg(a[..i-1].price) and b.volume < 80% * a[a.LEN].volume }}
        WITHIN 2 hours RETURN a[1].symbol, a[].(price, volume), b.(price, volume)""",
    "highest": """PATTERN SEQ(A a, B+ b[], C c) WHERE {strategy}(a, b[], c) {{ [symbol] and a.volume >= 1000
        and b[i].price > highest(2, b[..i-1].price) }} WITHIN 2 hours RETURN a.symbol""",
    "negated": """PATTERN SEQ(A a, ~B b, C c) WHERE {strategy}(a, b, c) {{ [symbol] and a.volume >= 1000
        and b.price > a.price }} WITHIN 2 hours RETURN a.symbol""",
    "negated-series": """PATTERN SEQ(A a, C c, ~B+ b[]) WHERE {strategy}(a, c, b[]) {{ [symbol] and a.volume >= 1000
        and count(b[]) >= 2 }} WITHIN 2 hours RETURN a.symbol""",
}
LEAST = {"three": 25e6, "negated": 12e6}
"""Events a second that the target asks for; 2e6 of other shapes."""
STRATEGIES = ("skip_till_next_match", "skip_till_any_match", "strict_contiguity", "partition_contiguity")
ALL = Budget(matches=10**9, states=10**7)


@njit
def look_up(keys, last):  # type: ignore[no-untyped-def]
    """Look up what each event's partition has had last, and keep the event."""
    found = 0
    for i in range(keys.size):
        found += last[keys[i]]
        last[keys[i]] = i
    return found


def ticks(events: int) -> Stream:
    """An event a second, its type, symbol, price and volume by chance."""
    random = np.random.default_rng(1)
    return Stream.from_table(
        pa.table(
            {
                "type": pa.array(np.array([*"ABCD"])[random.integers(0, 4, events)]),
                "symbol": pa.array(random.integers(0, 1000, events)),
                "price": pa.array(random.integers(0, 100, events)),
                "volume": pa.array(random.integers(0, 2000, events)),
                "time": pa.array(np.arange(events)),
            }
        )
    )


def query(shape: str, strategy: str) -> sase.SaseQuery:
    """The query of a shape."""
    q = parse(SHAPES[shape].format(strategy=strategy))
    assert isinstance(q, sase.SaseQuery)
    return q


def readable(q: sase.SaseQuery, S: Stream) -> int:
    """All matches counted by the readable evaluator."""
    E = BlockRunner(q, budget=ALL)
    return sum(node.count for event in S for node in E.nodes(event))


def nfab(quick: bool) -> Iterator[Figure]:
    """Three components under each strategy, also with a run at every eighth event; the three printed queries; the rest.

    Against bare look-ups, and the readable evaluator."""
    events = 300_000 if quick else 2_000_000
    S, few = ticks(events), ticks(20_000)
    keys = np.asarray(S.table["symbol"])
    shapes = [(each, strategy) for each in ("three", "eighth") for strategy in STRATEGIES]
    shapes += [(q, STRATEGIES[0]) for q in ("q1", "q2", "q3", "highest", "negated", "negated-series")]
    for shape, strategy in shapes:
        q, least = query(shape, strategy), LEAST.get(shape.partition("-")[0], 2e6)
        name = f"sase.{shape}" + (f".{strategy}" if shape in ("three", "eighth") else "")
        yield rate(
            name,
            events,
            "events/s",
            lambda q=q: CompiledBlockRunner(q, budget=ALL).count(S),  # type: ignore[misc]
            "bare look-ups",
            lambda: look_up(keys, np.zeros(1000, np.int64)),
            target=f"≥ {least:g}",
            met=lambda value, ratio, least=least: value >= least,  # type: ignore[misc]
        )
        if shape == "eighth":
            yield rate(
                f"{name}.list",
                events,
                "events/s",
                lambda q=q: CompiledSaseEvaluator(q, budget=ALL).push_arrow(S.table),  # type: ignore[misc]
                "counting",
                lambda q=q: CompiledSaseEvaluator(q, budget=ALL).count(S.table),  # type: ignore[misc]
                target="≤ 1.5 × counting",
                met=lambda value, ratio: ratio >= 1 / 1.5,
            )
        yield rate(
            f"{name}.readable",
            len(few),
            "events/s",
            lambda q=q: readable(q, few),  # type: ignore[misc]
            "compiled",
            lambda q=q: CompiledBlockRunner(q, budget=ALL).count(few),  # type: ignore[misc]
        )
