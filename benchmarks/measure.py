"""Time and the machine: what the benchmarks measure with."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np


def seconds(
    function: Callable[[], object],
    *,
    budget: float = 2.0,
    most: int = 1000,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Return the median time of a call: as many calls as fit in the budget, at least one, after one that warms up.

    A call that takes longer than the budget is its own warming up. With ``time.thread_time`` as the clock, other work
    on the machine does not count.
    """
    start = clock()
    function()
    first = clock() - start
    if first > budget:
        return first
    times: list[float] = []
    end = time.perf_counter() + budget
    while len(times) < most and (time.perf_counter() < end or not times):
        start = clock()
        function()
        times.append(clock() - start)
    return float(np.median(times))


def machine() -> str:
    """Return the processor, its cores, the date: a line for the page."""
    name = platform.processor()
    if os.path.exists("/proc/cpuinfo"):  # noqa: PTH110 (a file of the system)
        with open("/proc/cpuinfo", encoding="utf8") as file:  # noqa: PTH123
            name = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), name)
    day = datetime.now(UTC).date().isoformat()
    return f"{name}, {os.cpu_count()} cores, Python {platform.python_version()}, numpy {np.__version__}, {day}"
