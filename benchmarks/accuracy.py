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
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from dln import DLNRegressor

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


MODELS: dict[str, Callable[[int], Any]] = {
    "dln": lambda seed: DLNRegressor(random_state=seed),
    "dln-20": lambda seed: DLNRegressor(random_state=seed, max_rules=20),
    "dln-paper": lambda seed: DLNRegressor.paper(random_state=seed),
    # What each idea brings: the default without it.
    "no-networks": lambda seed: DLNRegressor(random_state=seed, n_networks=0),
    "no-growth": lambda seed: DLNRegressor(random_state=seed, n_grown_rules=0),
    "no-teachers": lambda seed: DLNRegressor(random_state=seed, n_teachers=0),
    "no-tolerance": lambda seed: DLNRegressor(random_state=seed, rule_tolerance=0.0),
    "polished": lambda seed: DLNRegressor(random_state=seed, polish_sweeps=2),
    "dln-20-unpolished": lambda seed: DLNRegressor(random_state=seed, max_rules=20, polish_sweeps=0),
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


def main() -> None:
    """Run or report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["run", "report"])
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
    report(path, arguments.models)


if __name__ == "__main__":
    main()
