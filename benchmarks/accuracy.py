"""Accuracy at a size on the paper's fifteen datasets, side by side with readable peers and with boosted trees.

    python benchmarks/accuracy.py run --models dln lightgbm figs-100 --seeds 0 1 2 3 4
    python benchmarks/accuracy.py report
    python benchmarks/accuracy.py run --held-out        # data that the defaults were not chosen on

FIGS and RuleFit are those of imodels, whose install needs `six`, `tqdm` and `mlxtend` beside it. Conditions of a tree
are its splits, those of a rule list its comparisons. Every (dataset, split, model) is one line of a result file,
written as it is done: a stopped run goes on where it was, and peers that were measured once on a split are not measured
again. Splits are 75/25.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.tree import DecisionTreeRegressor

from dln import DLNRegressor, operations

RESULTS = Path(__file__).parent / "results" / "accuracy.jsonl"
PEERS = ("forest", "lightgbm", "ebm")


def one_hot(model: Any) -> Any:
    """Categories one-hot, numbers as they are: for models that need numbers."""
    encode = (
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
        make_column_selector(dtype_include="category"),
    )
    return make_pipeline(make_column_transformer(encode, remainder="passthrough"), model)


def plain_names(X: pd.DataFrame) -> pd.DataFrame:
    """Columns named x0, x1, …: LightGBM refuses some characters in names."""
    return X.set_axis([f"x{i}" for i in range(X.shape[1])], axis=1)


def make_forest(seed: int) -> Any:
    """A random forest at its defaults."""
    return one_hot(RandomForestRegressor(random_state=seed, n_jobs=-1))


def make_lightgbm(seed: int) -> Any:
    """LightGBM at its defaults; it reads categories itself."""
    from lightgbm import LGBMRegressor

    return make_pipeline(FunctionTransformer(plain_names), LGBMRegressor(random_state=seed, verbose=-1))


def make_ebm(seed: int) -> Any:
    """An explainable boosting machine at its defaults."""
    from interpret.glassbox import ExplainableBoostingRegressor

    return ExplainableBoostingRegressor(random_state=seed)


def make_linear(_seed: int) -> Any:
    """Linear regression."""
    return one_hot(LinearRegression())


def make_tree(seed: int) -> Any:
    """A decision tree at its defaults."""
    return one_hot(DecisionTreeRegressor(random_state=seed))


def make_figs(n_splits: int) -> Callable[[int], Any]:
    """A sum of trees with at most so many splits."""

    def make(seed: int) -> Any:
        from imodels import FIGSRegressor

        return one_hot(FIGSRegressor(max_rules=n_splits, random_state=seed))

    return make


def make_rulefit(n_rules: int) -> Callable[[int], Any]:
    """Rules of a forest, chosen by lasso."""

    def make(seed: int) -> Any:
        from imodels import RuleFitRegressor

        return one_hot(RuleFitRegressor(max_rules=n_rules, include_linear=False, random_state=seed))

    return make


def make_cart(n_splits: int) -> Callable[[int], Any]:
    """A decision tree with at most so many splits."""
    return lambda seed: one_hot(DecisionTreeRegressor(max_leaf_nodes=n_splits + 1, random_state=seed))


def make_dln(**changes: Any) -> Callable[[int], Any]:
    """Our model, the default or changed in some parameters."""
    return lambda seed: DLNRegressor(random_state=seed, **changes)


SIZES = (20, 50, 100, 200, 400)
MODELS: dict[str, Callable[[int], Any]] = {
    "dln": make_dln(),
    **{f"dln-{size}": make_dln(max_conditions=size) for size in SIZES if size != 100},  # noqa: PLR2004 (the default)
    "dln-any": make_dln(max_conditions=None),
    "dln-16-rules": make_dln(max_rules=16),
    # What each idea brings: the default without it.
    "no-networks": make_dln(n_networks=0),
    "no-growth": make_dln(n_grown_rules=0),
    "no-teachers": make_dln(n_teachers=0),
    "no-generations": make_dln(n_generations=0),
    "linear": make_linear,
    "forest": make_forest,
    "lightgbm": make_lightgbm,
    "ebm": make_ebm,
    **{f"figs-{size}": make_figs(size) for size in SIZES},
    **{f"cart-{size}": make_cart(size) for size in SIZES},
    **{f"rulefit-{size}": make_rulefit(size // 2) for size in SIZES},
}


def size_of(model: Any) -> int | None:
    """Return the conditions of a fitted model that people may read."""
    if isinstance(model, DLNRegressor):
        return int(model.rules_.n_conditions)
    last = model[-1] if hasattr(model, "steps") else model
    if isinstance(last, DecisionTreeRegressor):
        return int(last.get_n_leaves()) - 1
    if type(last).__name__ == "FIGSRegressor":
        return int(last.complexity_)
    if type(last).__name__ == "RuleFitRegressor":
        rules = [rule for rule in last.rules_ if getattr(rule, "args", [0])[0] != 0]
        return sum(len(rule.agg_dict) for rule in rules)
    return None


def measure(name: str, model_name: str, seed: int) -> dict[str, Any]:
    """Fit one model on one split and return what came of it."""
    X, y = datasets.load(name)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=seed)
    model = MODELS[model_name](seed)
    start = time.perf_counter()
    model.fit(X_train, y_train)
    row = {
        "dataset": name,
        "model": model_name,
        "seed": seed,
        "r2": round(float(model.score(X_test, y_test)), 5),
        "seconds": round(time.perf_counter() - start, 2),
    }
    if (size := size_of(model)) is not None:
        row["conditions"] = size
    if isinstance(model, DLNRegressor):
        row |= {"rules": len(model.circuit_.rules), "longest": max(rule.conditions for rule in model.rules_)}
        row |= {"paper_ops": model.cost("paper").total, "select_ops": model.cost("select").total}
        row["fired"] = round(sum(model.support_), 1)
        row["pruned"] = {
            m: round(float(model.prune(m).score(X_test, y_test)), 5) for m in (20, 50) if m < size_of(model)
        }
        low, high = model.predict_interval(X_test, 0.9).T
        row["covered_90"] = round(float(np.mean((low <= y_test) & (y_test <= high))), 4)
    elif model_name in {"linear", "forest", "lightgbm"}:
        row["paper_ops"] = int(operations(model).total)
    return row


def read(path: Path) -> list[dict[str, Any]]:
    """Return all results so far."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run(path: Path, models: list[str], names: list[str], seeds: list[int]) -> None:
    """Measure what has not been measured, one line each."""
    done = {(row["dataset"], row["model"], row["seed"]) for row in read(path)}
    path.parent.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        for name in names:
            for model in models:
                if (name, model, seed) in done:
                    continue
                row = measure(name, model, seed)
                print(json.dumps(row), flush=True)
                with path.open("a") as file:
                    file.write(json.dumps(row) + "\n")


def report(path: Path, wanted: list[str]) -> None:
    """Print R² by dataset and model, over the splits that all models have, and sizes of ours."""
    rows = read(path)
    models = [model for model in MODELS if model in wanted and any(row["model"] == model for row in rows)]
    table: dict[str, dict[str, float]] = {}
    print("| dataset | " + " | ".join(models) + " |\n|" + " --- |" * (len(models) + 1))
    for name in sorted({row["dataset"] for row in rows}):
        of = {m: {row["seed"]: row for row in rows if row["dataset"] == name and row["model"] == m} for m in models}
        seeds = sorted(set.intersection(*(set(found) for found in of.values())))
        if not seeds:
            continue
        table[name] = {m: float(np.mean([of[m][s]["r2"] for s in seeds])) for m in models}
        print(f"| {name} ({len(seeds)}) | " + " | ".join(f"{table[name][m]:.3f}" for m in models) + " |")
    print("| **mean** | " + " | ".join(f"{np.mean([t[m] for t in table.values()]):.4f}" for m in models) + " |")
    for model in models:
        ours = [row for row in rows if row["model"] == model and row["dataset"] in table]
        seconds = [row["seconds"] for row in ours if "seconds" in row]  # one was paused meanwhile
        line = f"{model}: fit seconds median {np.median(seconds):.1f}, most {max(seconds):.1f}"
        if "conditions" in ours[0]:
            line += f", conditions {np.mean([row['conditions'] for row in ours]):.0f}"
        if "rules" in ours[0]:
            line += f", rules {np.mean([row['rules'] for row in ours]):.0f}"
            line += f", fired {np.mean([row['fired'] for row in ours]):.1f}"
            line += f", longest {max(row['longest'] for row in ours)}"
            for key in ("paper_ops", "select_ops"):
                line += f", {key} geometric mean {np.exp(np.mean([np.log(max(row[key], 1)) for row in ours])):.0f}"
        print(line)


def main() -> None:
    """Run or report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("--models", nargs="+", default=["dln", *PEERS], choices=list(MODELS))
    parser.add_argument("--datasets", nargs="+", default=None)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--results", type=Path, default=None)
    arguments = parser.parse_args()
    path = arguments.results or RESULTS.with_name("held_out.jsonl" if arguments.held_out else "accuracy.jsonl")
    if arguments.what == "run":
        names = arguments.datasets or (list(datasets.HELD_OUT) if arguments.held_out else datasets.names())
        run(path, arguments.models, names, arguments.seeds)
    report(path, arguments.models)


if __name__ == "__main__":
    main()
