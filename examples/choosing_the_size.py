"""How many rules does it take? One fit, cut to fewer and fewer rules; the smallest that is good enough is kept.

Run it: python examples/choosing_the_size.py
"""

import tempfile
from pathlib import Path

import polars as pl
from sklearn.datasets import make_friedman1
from sklearn.model_selection import train_test_split

import dln
from dln import DLNRegressor

X, y = make_friedman1(1200, noise=1.0, random_state=0)
X = pl.DataFrame(X, schema=[f"x{i}" for i in range(1, 11)])

# Rows to learn from, rows to choose by, and rows that decide nothing and tell the truth.
X_fit, X_rest, y_fit, y_rest = train_test_split(X, y, test_size=0.5, random_state=0)
X_choose, X_test, y_choose, y_test = train_test_split(X_rest, y_rest, test_size=0.5, random_state=0)

full = DLNRegressor(random_state=0).fit(X_fit, y_fit)

# Of every number of rules, `prune` gives the best found, with weights of their own.
sizes = [n for n in (3, 5, 8, 12, 20, 30, 50, 80) if n < len(full.circuit_.rules)]
models = [*(full.prune(max_rules=n) for n in sizes), full]
scores = [model.score(X_choose, y_choose) for model in models]
print("rules   R² where we choose   operations")
for model, score in zip(models, scores, strict=True):
    print(f"{len(model.circuit_.rules):5} {score:20.3f} {int(model.cost('select')):12,}")

# The fewest rules that lose at most a hundredth of R² against the best.
chosen = next(model for model, score in zip(models, scores, strict=True) if score >= max(scores) - 0.01)
print(
    f"\nChosen: {len(chosen.circuit_.rules)} rules. R² on rows that decided nothing: {chosen.score(X_test, y_test):.3f}"
)

# A model file is data, not code: it loads anywhere and predicts the same bits.
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "friedman.dln"
    chosen.save(path)
    assert (dln.load(path).predict(X_test) == chosen.predict(X_test)).all()
    print(f"Saved in {path.stat().st_size} bytes and loaded again: the same predictions.")
