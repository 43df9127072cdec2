"""A mutating fuzzer: an input whose outcome is new is kept, and changed further."""

from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import chain, count, islice
from random import Random

from cerify.semantics.errors import CerifyError
from proofs_tests.fuzz.targets import CORPUS, TARGETS, Target

SLOW = 20.0  # seconds for one input, on a machine that does other things too
WORDS = [
    *rb"0 -1 9223372036854775808 1e400 NaN -Infinity null true [] {} \ud800 , : ( ) [ ] { }".split(),
    *[b"\n", b"\r", b"\0", b"\xff", b"\x1b[31m", b"\xef\xbb\xbf", b"\xff\xff\xff\x7f", b'"', b"'", b'""'],
    *[b"(" * 300, b"[" * 3_000, b"A ; " * 100],
]


@dataclass
class Found:
    """What a run has found: the inputs tried, their outcomes, and those that ended in another error or took long."""

    inputs: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    crashes: dict[str, bytes] = field(default_factory=dict)


def fuzz(name: str, seed: int = 0, inputs: int | None = None, seconds: float | None = None) -> Found:
    """Run a target on its good inputs, its corpus and changes of both, until either limit."""
    target, rng, found = TARGETS[name], Random(seed), Found()
    first = [*target.seeds(), *(path.read_bytes() for path in sorted(CORPUS.glob(f"{name}-*")))]
    until = None if seconds is None else time.monotonic() + seconds
    pool = list(first)
    changes = (changed(rng.choice(pool), rng.choice(pool), rng) for _ in count())
    for data in islice(chain(first, changes), inputs):
        if until is not None and time.monotonic() > until and found.inputs >= len(first):
            break
        began = time.monotonic()
        outcome, crashed = outcome_of(target, data)
        if time.monotonic() - began > SLOW:
            outcome, crashed = "slow", True
        found.inputs += 1
        if not found.outcomes[outcome]:
            pool.append(data)
        found.outcomes[outcome] += 1
        if crashed:
            found.crashes.setdefault(outcome, data)
    return found


def outcome_of(target: Target, data: bytes) -> tuple[str, bool]:
    """A short name of what an input leads to, and whether that is an error that is not typed."""
    try:
        target.run(data)
    except CerifyError as error:
        return f"{error.code}: {_general(error.message)}", error.code == "internal"
    except Exception as error:
        return f"{type(error).__name__}: {_general(str(error))}", True
    return "read", False


def changed(data: bytes, other: bytes, rng: Random) -> bytes:
    """The input with up to four changes: bytes set, left out, doubled, replaced by a word or a part of another."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        i, j = sorted((rng.randrange(len(data) + 1), min(len(data), rng.randrange(len(data) + 1))))
        j = min(j, i + rng.choice((1, 2, 8, len(data))))
        at = rng.randrange(len(other) + 1)
        part = (
            bytes([rng.randrange(256)]),
            b"",
            data[i:j] * rng.choice((2, 3, 50)),
            rng.choice(WORDS),
            other[at : at + rng.choice((1, 8, 100))],
        )[rng.randrange(5)]
        data = data[:i] + part + data[j if part != b"" or i < j else i + 1 :]
    return data[:100_000]


def _general(message: str) -> str:
    """The beginning of a message without numbers and quoted texts, so that errors of one kind are one outcome."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|/\S+|[\d.,-]+", "…", message)[:80]
