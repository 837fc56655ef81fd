"""A short run, and what its results say but for the time that they took."""

from dataclasses import asdict

from dln_bench._protocol import run
from dln_bench._unit import Limits


def small(out, **changes):
    """Run a few units that take no time."""
    settings = {"datasets": ["yacht", "mpg"], "models": ["linear", "tree"], "seeds": [0], "trials": [2]}
    return run(out, **({"limits": Limits(quick=True)} | settings | changes))


def told(results):
    """Return what results say, by unit, but for the time it took."""
    lines = {}
    for result in results:
        line = asdict(result)
        del line["search_seconds"], line["fit_seconds"]
        lines[result.unit] = line
    return lines
