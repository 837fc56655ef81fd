"""A short run, and its results without the times they took."""

from dataclasses import replace

from dln_bench._results import read_results
from dln_bench._run import run, units_of


def small(file, *, datasets=("yacht", "mpg"), models=("linear", "tree"), seeds=(0,), trials=(2,), **options):
    """Run a few units that take no time; return the work that failed."""
    return run(file, units_of(datasets, models, seeds=seeds, trials=trials), **options)


def timeless(file):
    """Return results by unit, without times."""
    return {one.unit: replace(one, search_seconds=0.0, fit_seconds=0.0) for one in read_results([file])}
