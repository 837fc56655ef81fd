"""Accuracy on the paper's fifteen datasets, side by side with random forest, LightGBM and EBM at their defaults.

    python benchmarks/accuracy.py run --models dln forest lightgbm ebm --seeds 0 1 2 3 4
    python benchmarks/accuracy.py report
    python benchmarks/accuracy.py run --held-out        # data that the defaults were not chosen on

Every (dataset, split, model) is one line of a result file, written as it is done: a stopped run goes on where it was,
and peers that were measured once on a split are not measured again. Splits are 75/25.
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
#: The paper's models: mean R² and geometric mean of operations over the fifteen datasets, 128 trials each.
PAPER = {
    "linear": (0.614, 12_648),
    "KNN": (0.727, 18_145_489),
    "decision tree": (0.777, 1_545),
    "AdaBoost": (0.725, 204_305),
    "random forest": (0.815, 174_654),
    "SVR": (0.781, 128_450_066),
    "MLP": (0.808, 2_589_776),
    "DLN": (0.810, 29_783),
}
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


MODELS: dict[str, Callable[[int], Any]] = {
    "dln": lambda seed: DLNRegressor(random_state=seed),
    "dln-20": lambda seed: DLNRegressor(random_state=seed, max_rules=20),
    "dln-paper": lambda seed: DLNRegressor.paper(random_state=seed),
    # What each idea brings: the default without it.
    "no-networks": lambda seed: DLNRegressor(random_state=seed, n_networks=0),
    "no-growth": lambda seed: DLNRegressor(random_state=seed, n_grown_rules=0),
    "no-teachers": lambda seed: DLNRegressor(random_state=seed, n_teachers=0),
    "no-tolerance": lambda seed: DLNRegressor(random_state=seed, rule_tolerance=0.0),
    "unpolished": lambda seed: DLNRegressor(random_state=seed, polish_sweeps=0),
    "dln-20-unpolished": lambda seed: DLNRegressor(random_state=seed, max_rules=20, polish_sweeps=0),
    "linear": make_linear,
    "tree": make_tree,
    "forest": make_forest,
    "lightgbm": make_lightgbm,
    "ebm": make_ebm,
}


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
    if isinstance(model, DLNRegressor):
        circuit = model.circuit_
        row |= {"rules": len(circuit.rules), "literals": len(circuit.literals), "gates": len(circuit.gates)}
        row |= {"paper_ops": model.cost("paper").total, "select_ops": model.cost("select").total}
    else:
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
        seconds = [row["seconds"] for row in ours]
        line = f"{model}: fit seconds median {np.median(seconds):.1f}, most {max(seconds):.1f}"
        if "rules" in ours[0]:
            means = {key: np.mean([row[key] for row in ours]) for key in ("rules", "literals", "gates")}
            line += ", " + ", ".join(f"{key} {value:.0f}" for key, value in means.items())
            for key in ("paper_ops", "select_ops"):
                line += f", {key} geometric mean {np.exp(np.mean([np.log(max(row[key], 1)) for row in ours])):.0f}"
        print(line)


def plot(path: Path) -> None:
    """Draw mean R² against operations: the paper's models, ours and the peers."""
    import matplotlib.pyplot as plt

    rows = read(path)
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    for name, (r2, ops) in PAPER.items():
        axes.scatter(ops, r2, color="#888888", marker="s")
        axes.annotate(name, (ops, r2), xytext=(6, 3), textcoords="offset points", color="#666666", fontsize=8)
    for name, key, colour, label in (
        ("dln", "paper_ops", "#1f5f9f", "dln, at most 150 rules"),
        ("dln", "select_ops", "#6fa8dc", "the same, rules selected, not multiplied"),
        ("dln-20", "paper_ops", "#b02020", "dln, at most 20 rules"),
        ("dln-20", "select_ops", "#e08080", "the same, rules selected, not multiplied"),
        ("forest", "paper_ops", "#2e7d32", "random forest, defaults"),
        ("lightgbm", "paper_ops", "#ef6c00", "LightGBM, defaults"),
    ):
        found = [row for row in rows if row["model"] == name]
        costs = [row[key] for row in found if key in row]
        if costs:
            r2 = np.mean([row["r2"] for row in found])
            axes.scatter(np.exp(np.mean(np.log(costs))), r2, color=colour, s=60, label=label, zorder=3)
    axes.set(xscale="log", xlabel="operations per prediction, geometric mean", ylabel="test R², mean of 15 datasets")
    axes.set_ylim(0.59, 0.86)
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right", fontsize=8, title="measured here; grey: the paper, 128 trials", title_fontsize=8)
    out = Path(__file__).parents[1] / "docs" / "pictures" / "accuracy.png"
    figure.savefig(out, dpi=130)
    print(f"drawn: {out.name}")


def main() -> None:
    """Run or report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["run", "report", "plot"])
    parser.add_argument("--models", nargs="+", default=["dln", "dln-20", *PEERS], choices=list(MODELS))
    parser.add_argument("--datasets", nargs="+", default=None)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--results", type=Path, default=None)
    arguments = parser.parse_args()
    path = arguments.results or RESULTS.with_name("held_out.jsonl" if arguments.held_out else "accuracy.jsonl")
    if arguments.what == "run":
        names = arguments.datasets or (list(datasets.HELD_OUT) if arguments.held_out else datasets.names())
        run(path, arguments.models, names, arguments.seeds)
    if arguments.what == "plot":
        plot(path)
    else:
        report(path, arguments.models)


if __name__ == "__main__":
    main()
