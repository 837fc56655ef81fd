"""Draw the paper's three example models, insurance, estate and yacht, into docs/pictures.

python docs/draw_pictures.py    # DLN_DATA_HOME names the folder of the datasets
"""

from __future__ import annotations

import sys
from pathlib import Path

from sklearn.model_selection import train_test_split

from dln import RuleRegressor

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from datasets import load

HERE = Path(__file__).parent
#: Conditions in each picture: about as many as the paper's figures have.
CONDITIONS = {"insurance": 10, "estate": 14, "yacht": 14}


def main() -> None:
    """Fit small models, draw them, and print them."""
    for name, n_conditions in CONDITIONS.items():
        X, y = load(name)
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
        model = RuleRegressor(max_conditions=n_conditions, random_state=0).fit(X_train, y_train)
        model.plot().save(HERE / "pictures" / f"{name}.svg")
        model.plot().save(HERE / "pictures" / f"{name}.png")
        size = f"{model.rules_.n_conditions} conditions in {len(model.rules_)} rules"
        sys.stdout.write(f"{name}: {size}, test R² {model.score(X_test, y_test):.3f}\n{model.circuit_}\n\n")


if __name__ == "__main__":
    main()
