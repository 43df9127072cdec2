"""The compiled evaluator against the readable one on long streams: `python -m proofs_tests.campaigns.streams`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from itertools import count, zip_longest
from random import Random

import click
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cerify.automata.evaluate import streaming
from cerify.automata.evaluate.compiled import CompiledCelEvaluator
from cerify.equivalence.generate.cel import PROFILES, formula, stream
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import Formula, show
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import TYPE, Stream

POOL = 1000  # different events of a stream
NOISE = 0.7  # of all events
BATCH = 99_991  # events pushed at a time
PREFIX = 20_000  # events whose matches are listed
LISTED = 100_000  # matches, at most
TRIED = 2000  # events on which a formula is tried first
SECONDS = 0.2  # that the readable evaluator takes for these, at most
LARGEST = 2**200  # matches at one of these positions, at most
PRIME = 2**61 - 1


def drawn(rng: Random, nodes: int) -> Formula:
    """A formula, in a window, or a window and a partition, or neither."""
    phi = formula(rng, PROFILES[rng.choice(("core", "everything", "typed"))], nodes)
    chance = rng.random()
    if chance < 0.3:
        phi = cel.PartitionBy(phi, "k")
    if chance < 0.6:
        phi = cel.Within(phi, cel.EventWindow(rng.choice((2, 5, 10, 20))))
    return phi


def long_stream(rng: Random, phi: Formula, events: int) -> Stream:
    """Events of a pool in random order, most of them of a type of their own, with a key k."""
    pool = stream(rng, PROFILES["everything"], POOL, phi).table
    random = np.random.default_rng(rng.getrandbits(32))
    table = pool.take(pa.array(random.integers(0, POOL, events)))
    noise = pa.array(random.random(events) < NOISE)
    types = pc.if_else(noise, "noise", table[TYPE])
    table = table.set_column(table.column_names.index(TYPE), TYPE, types)
    if "k" in table.column_names:
        table = table.drop_columns(["k"])
    return Stream.from_table(table.append_column("k", pa.array(random.integers(0, 5, events))))


def counted(phi: Formula, S: Stream) -> Iterator[tuple[int, int]]:
    """The compiled evaluator's number of matches at each position with any, batch after batch."""
    evaluator = CompiledCelEvaluator(phi)
    for start in range(0, len(S), BATCH):
        yield from evaluator.numbers(S.part(start, min(BATCH, len(S) - start)))


def compared(phi: Formula, S: Stream) -> tuple[int, int, int | None]:
    """The number of matches, a checksum of the numbers at all positions, and the first position that differs."""
    total, checksum = 0, 0
    readable = ((n, number) for n, number in enumerate(streaming.count_matches(phi, S)) if number)
    for mine, other in zip_longest(counted(phi, S), readable):
        if mine != other:
            return total, checksum, min(pair[0] for pair in (mine, other) if pair is not None)
        n, number = mine
        total += number
        checksum = (checksum * 31 + n * 1_000_003 + number) % PRIME
    start = S.part(0, PREFIX)
    if 0 < sum(streaming.count_matches(phi, start)) <= LISTED:
        listed = streaming.matches(phi, start)
        if CompiledCelEvaluator(phi).push_stream(start) != listed:
            return total, checksum, 0
    return total, checksum, None


def usable(phi: Formula, S: Stream) -> bool:
    """Whether both take the formula, it has matches, and not too many for the memory."""
    try:
        start = S.part(0, TRIED)
        CompiledCelEvaluator(phi, budget=Budget(states=200)).count(start)
        begin = time.process_time()
        numbers = list(streaming.count_matches(phi, start, Budget(states=200)))
        return 0 < max(numbers) < LARGEST and time.process_time() - begin < SECONDS
    except (Unsupported, BudgetExceeded):
        return False


@click.command()
@click.option("--streams", default=100, show_default=True, help="How many, each with a formula of its own.")
@click.option("--events", default=1_000_000, show_default=True, help="Length of a stream.")
@click.option("--nodes", default=12, show_default=True, help="Size of a formula, without window and partition.")
@click.option("--seed", default=1, show_default=True)
def main(streams: int, events: int, nodes: int, seed: int) -> None:
    """One line for each stream: matches, checksum, seconds, formula; status 1 if anything differs."""
    done = differ = 0
    for i in count():
        rng = Random(f"{seed}/{i}")
        phi = drawn(rng, nodes)
        if not usable(phi, long_stream(rng, phi, TRIED)):
            continue
        begin = time.perf_counter()
        total, checksum, wrong = compared(phi, long_stream(rng, phi, events))
        done, differ = done + 1, differ + (wrong is not None)
        number = f"{total:,}" if total < 10**18 else f"about 2^{total.bit_length() - 1}"
        said = "agree" if wrong is None else f"DIFFER at {wrong}"
        seconds = time.perf_counter() - begin
        click.echo(f"{done}/{streams} #{i} {said}: {number} matches, {checksum:016x}, {seconds:.1f} s: {show(phi)}")
        if done == streams:
            break
    click.echo(f"{done} streams of {events:,} events, {differ} differ")
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
