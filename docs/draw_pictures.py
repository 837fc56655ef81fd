"""Draw the paper's three example models, insurance, estate and yacht, into docs/pictures.

python docs/draw_pictures.py    # DLN_DATA_HOME names the folder of the datasets
"""

from __future__ import annotations

import sys
from pathlib import Path

from sklearn.model_selection import train_test_split

from dln import DLNRegressor

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from datasets import load

HERE = Path(__file__).parent
#: Rules in each picture: about as many as the paper's figures have.
RULES = {"insurance": 8, "estate": 12, "yacht": 12}


def main() -> None:
    """Fit small models of short rules, and draw them."""
    for name, n_rules in RULES.items():
        X, y = load(name)
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
        model = DLNRegressor(max_rules=n_rules, max_leaves=4, rule_tolerance=0.0, random_state=0).fit(X_train, y_train)
        model.plot().save(HERE / "pictures" / f"{name}.svg")
        model.plot().save(HERE / "pictures" / f"{name}.png")
        sys.stdout.write(f"{name}: {len(model.circuit_.rules)} rules, test R² {model.score(X_test, y_test):.3f}\n")


if __name__ == "__main__":
    main()
