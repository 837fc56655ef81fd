"""The datasets of the benchmarks here: those of the evaluation."""

from __future__ import annotations

from dln_bench.datasets import HELD_OUT, load
from dln_bench.datasets import names as _names

__all__ = ["HELD_OUT", "load", "names"]


def names() -> list[str]:
    """Return the names of the paper's datasets."""
    return sorted(_names())
