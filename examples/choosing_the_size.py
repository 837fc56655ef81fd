"""How many rules does it take? Accuracy against size, then the smallest model that is good enough, saved.

Run it: python examples/choosing_the_size.py
"""

import tempfile
from pathlib import Path

from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

import dln
from dln import DLNRegressor

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# How much is a rule worth? The same fit, cut to fewer and fewer rules.
models = {}
print(" asked   kept   test R²")
for max_rules in (None, 40, 20, 10, 5, 3):
    model = DLNRegressor(max_rules=max_rules, random_state=0).fit(X_train, y_train)
    models[max_rules] = model
    asked = "all" if max_rules is None else str(max_rules)
    print(f"{asked:>6} {len(model.circuit_.rules):6} {model.score(X_test, y_test):9.3f}")

# The fewest rules that lose less than two hundredths of R² against the best.
best = max(model.score(X_test, y_test) for model in models.values())
good = [model for model in models.values() if model.score(X_test, y_test) > best - 0.02]
chosen = min(good, key=lambda model: len(model.circuit_.rules))
print(f"\nChosen, with {len(chosen.circuit_.rules)} rules:\n{chosen.circuit_}")

# A model file is data, not code: it loads anywhere and predicts the same bits.
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "diabetes.dln"
    chosen.save(path)
    assert (dln.load(path).predict(X_test) == chosen.predict(X_test)).all()
    print(f"\nSaved in {path.stat().st_size} bytes, loaded again, same predictions.")
