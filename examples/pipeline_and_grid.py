"""A grid search over a scikit-learn pipeline.

Run it: python examples/pipeline_and_grid.py
"""

import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dln import RuleRegressor

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)


def ratios(table: pd.DataFrame) -> pd.DataFrame:
    """Return ratios and products that a doctor would consider."""
    return pd.DataFrame({"ldl / hdl": table["s2"] / table["s3"], "bmi × bp": table["bmi"] * table["bp"]})


# Rules compare one column with one number, so a ratio that matters needs a column of its own.
pipeline = make_pipeline(
    make_column_transformer(
        ("passthrough", list(X.columns)),
        (FunctionTransformer(ratios), ["s2", "s3", "bmi", "bp"]),
        verbose_feature_names_out=False,
    ).set_output(transform="pandas"),
    RuleRegressor(max_conditions=30, n_generations=0, random_state=0),  # quick fits for a search
)
search = GridSearchCV(
    pipeline,
    {"ruleregressor__max_rule_length": [1, 2, 4]},
    cv=3,
)
search.fit(X_train, y_train)

print("best:", {name.partition("__")[2]: value for name, value in search.best_params_.items()})
print(f"cross-validated R² {search.best_score_:.3f}, test R² {search.score(X_test, y_test):.3f}\n")

# Rules name the columns as they left the transformer.
print("\n".join(str(search.best_estimator_[-1].circuit_).splitlines()[:6]))
