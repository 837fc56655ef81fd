"""Both learners beside a boosted ensemble and a linear model, on the same splits: R², time to fit, and size.

Run it: python examples/against_lightgbm.py  (pip install lightgbm first, or it is left out)
"""

import time

from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split

from dln import DLNRegressor, RuleRegressor

models = {
    "RuleRegressor": RuleRegressor(random_state=0),
    "DLNRegressor": DLNRegressor(random_state=0),
    "linear regression": LinearRegression(),
}
try:
    from lightgbm import LGBMRegressor

    models["LightGBM"] = LGBMRegressor(random_state=0, verbose=-1)
except ImportError:
    print("LightGBM is not installed; pip install lightgbm to see it here.")

tables = {
    "diabetes": load_diabetes(return_X_y=True, scaled=False),
    "Friedman #1": make_friedman1(800, noise=1.0, random_state=0),
}
for name, (X, y) in tables.items():
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    print(f"\n{name}: {len(X_train)} training rows, {len(X_test)} test rows")
    for kind, model in models.items():
        start = time.perf_counter()
        model.fit(X_train, y_train)
        seconds = time.perf_counter() - start
        if kind.endswith("Regressor"):
            size = f"{model.rules_.n_conditions} conditions in {len(model.rules_)} rules"
        elif kind == "LightGBM":
            size = f"{model.booster_.num_trees()} trees of up to 31 leaves"
        else:
            size = f"{len(model.coef_)} coefficients"
        print(f"  {kind:18} test R² {model.score(X_test, y_test):6.3f}   {seconds:5.1f} s   {size}")
