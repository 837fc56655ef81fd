"""The number of conditions that a table needs: one fit has the R² of every size; the smallest good one is kept.

Run it: python examples/choosing_the_size.py
"""

import tempfile
from pathlib import Path

import polars as pl
from sklearn.datasets import make_friedman1
from sklearn.model_selection import train_test_split

import dln
from dln import RuleRegressor

X, y = make_friedman1(1200, noise=1.0, random_state=0)
X = pl.DataFrame(X, schema=[f"x{i}" for i in range(1, 11)])

X_fit, X_test, y_fit, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
model = RuleRegressor(random_state=0).fit(X_fit, y_fit)

# Each size was cross-validated on folds of the training rows: choosing one needs no further rows.
print("conditions  rules  cross-validated R²  test R²  operations")
for point in model.frontier_:
    if point.circuit is None:  # larger than the model: only its R² is known
        continue
    small = model.prune(max_conditions=point.conditions)
    r2 = "" if point.r2 is None else f"{point.r2:.3f}"
    score, cost = small.score(X_test, y_test), int(small.cost("select"))
    print(f"{point.conditions:10} {point.rules:6} {r2:>19} {score:8.3f} {cost:11,}")

# The fewest conditions that lose at most two hundredths of R² against the whole page.
points = [point for point in model.frontier_ if point.circuit is not None]
enough = (points[-1].r2 or 0.0) - 0.02
size = next(point.conditions for point in points if (point.r2 or 0.0) >= enough)
chosen = model.prune(max_conditions=size)
print(f"\nChosen: {size} conditions of {model.rules_.n_conditions}. Test R² {chosen.score(X_test, y_test):.3f}")

# A model file is data, not code: it loads anywhere and predicts the same bits.
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "friedman.dln"
    chosen.save(path)
    assert (dln.load(path).predict(X_test) == chosen.predict(X_test)).all()
    print(f"Saved in {path.stat().st_size} bytes and loaded again: the same predictions.")
