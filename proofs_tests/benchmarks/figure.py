"""What a figure is, and how two things are timed against each other on a machine that others use too."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import cerify

RUNS = 5


@dataclass(frozen=True)
class Figure:
    """One measured value, with its ratio to a baseline of the same run.

    value and spread are in the unit; ratio is the baseline's time divided by ours where the unit is a rate, and ours by
    the baseline's where it is a time. target and met are None where none is set for what is measured.
    """

    name: str
    value: float
    unit: str
    baseline: str
    ratio: float
    runs: int
    spread: tuple[float, float]
    target: str | None = None
    met: bool | None = None

    def as_json(self) -> dict[str, Any]:
        """One object of the report, with the machine, its load now, the day, and the version that was measured."""
        when = {"date": datetime.now(UTC).date().isoformat(), "load": round(os.getloadavg()[1], 1)}
        return asdict(self) | {"machine": machine(), "version": cerify.__version__} | when


@cache
def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    system = {"system": platform.platform(), "python": platform.python_version(), "cores": os.cpu_count()}
    return system | {"cpu": _cpu()}


def _cpu() -> str:
    """The model of the processor, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU time of this process for one run."""
    started = time.process_time()
    work()
    return time.process_time() - started


def paired(ours: Callable[[], object], baseline: Callable[[], object]) -> Iterator[tuple[float, float]]:
    """CPU seconds of the two, interleaved, after one run of each that does not count."""
    ours(), baseline()
    for _ in range(RUNS):
        yield cpu_seconds(ours), cpu_seconds(baseline)


def rate(
    name: str,
    things: int,
    unit: str,
    ours: Callable[[], object],
    against: str,
    baseline: Callable[[], object],
    target: str | None = None,
    met: Callable[[float, float], bool] | None = None,
) -> Figure:
    """Things per CPU second; the ratio says how much of the baseline's speed that is."""
    pairs = list(paired(ours, baseline))
    rates = sorted(things / mine for mine, _ in pairs)
    value, ratio = median(rates), median(base / mine for mine, base in pairs)
    return Figure(
        name,
        value,
        unit,
        against,
        ratio,
        RUNS,
        (rates[0], rates[-1]),
        target,
        met(value, ratio) if met is not None else None,
    )
