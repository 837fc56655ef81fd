"""What the paper's network loses by keeping few rules: as they were trained, and settled, without links and with them.

    DLN_DATA_HOME=… python benchmarks/few_rules.py [--datasets mpg] [--splits 160] [--sizes 10 20 40] [--networks 3]

Networks with default settings, one (or several) for each dataset and split, from which each number of rules is chosen.
R² on a quarter of the rows, and operations of one prediction as the paper counts them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from unittest import mock

import datasets
import numpy as np
from measure import machine
from sklearn.model_selection import train_test_split

from dln import DLNRegressor, _paper_rules, operations
from dln._paper_rules import RuleChoice
from dln.circuit._circuit import Circuit
from dln.rules import _settle
from dln.solve._losses import Loss

#: For splits that no reported result uses.
SPLITS = (160, 161)
SIZES = (10, 20, 40)


def as_trained(circuit: Circuit, *_: Any) -> Circuit:
    """Take the place of settling."""
    return circuit


#: What is done to the rules that are kept.
VARIANTS: dict[str, AbstractContextManager[Any]] = {
    "as trained": mock.patch.object(_paper_rules, "settle", as_trained),
    "cut-offs, gates": mock.patch.object(_settle._Settling, "_best_link", return_value=None),  # noqa: SLF001
    "and links": nullcontext(),
}


def measured(table: tuple[Any, Any], split: int, sizes: Sequence[int], networks: int) -> Iterator[list[float]]:
    """Return R² and the logarithm of the operations for each size and variant; last, R² of all rules."""
    X_train, X_test, y_train, y_test = train_test_split(*table, test_size=0.25, random_state=split)
    given: list[tuple[Any, ...]] = []
    refit = RuleChoice.refit

    def kept_refit(choice: RuleChoice, *arguments: Any) -> Circuit:
        given.append(arguments)
        return refit(choice, *arguments)

    with mock.patch.object(RuleChoice, "refit", kept_refit):
        model = DLNRegressor(random_state=split, max_rules=None, rule_tolerance=0, n_networks=networks)
        model.fit(X_train, y_train)
    whole = float(model.score(X_test, y_test))
    for size in sizes:
        found = []
        for variant in VARIANTS.values():
            with variant:
                model.circuit_ = RuleChoice(Loss("squared_error", 0.5), size, 0.0).refit(*given[0]).simplify()
            found += [float(model.score(X_test, y_test)), float(np.log(operations(model.circuit_, "multiply").total))]
        yield found
    yield [whole] * 2 * len(VARIANTS)


def main() -> None:
    """Print a row a dataset and the mean, for each number of rules."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="*", default=datasets.names())
    parser.add_argument("--splits", nargs="*", type=int, default=list(SPLITS))
    parser.add_argument("--sizes", nargs="*", type=int, default=list(SIZES))
    parser.add_argument("--networks", type=int, default=1)
    options = parser.parse_args()
    print(machine(), "\n")
    columns = [f"{size} rules {name} |" for size in options.sizes for name in VARIANTS]
    print("| dataset | all rules |", *columns)
    print("| --- | ---: |", *("---: |" for _ in columns))
    rows = []
    for name in options.datasets:
        table = datasets.load(name)
        by_split = [list(measured(table, split, options.sizes, options.networks)) for split in options.splits]
        rows.append(np.mean(by_split, axis=0))
        print(f"| {name} | {_cells(rows[-1])} |", flush=True)
    print(f"| mean | {_cells(np.mean(rows, axis=0))} |")


def _cells(of_sizes: Any) -> str:
    *sizes, whole = of_sizes
    cells = [f"{whole[0]:.3f}"]
    for found in sizes:
        cells += [f"{r2:.4f}, {np.exp(cost):,.0f}" for r2, cost in zip(found[::2], found[1::2], strict=True)]
    return " | ".join(cells)


if __name__ == "__main__":
    main()
