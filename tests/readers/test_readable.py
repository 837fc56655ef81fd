import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import NotFittedError

from dln import RuleRegressor
from dln.circuit._circuit import Above, Circuit, Column, Gate, IsIn, Rule
from dln.circuit._gates import AND
from dln.readers._draw import Picture
from dln.readers._frontier import Frontier, Point
from dln.readers._monitor import rule_support
from dln.readers._readable import ReadableModel


class Insurance(ReadableModel, RegressorMixin, BaseEstimator):
    """A model that has learned a circuit by heart."""

    def fit(self, X, y):
        """Take the circuit, look how often its rules fire, and know two smaller models."""
        self.circuit_ = Circuit(
            columns=(Column("age"), Column("bmi"), Column("smoker", ("no", "yes"))),
            literals=(Above(0, 47.5), Above(1, 30.0), IsIn(2, (1,))),
            gates=(Gate(AND, 1, 2),),
            rules=(Rule(3, 20000.0), Rule(0, 3000.0), Rule(2, 12000.0)),
            intercept=8000.0,
            decimals=0,
        )
        self.history_ = {"network": [0, 0], "epoch": [1, 2], "training_loss": [2.0, 1.0], "validation_loss": [2.0, 1.5]}
        self.training_facts_ = {"rows": len(y)}
        self.support_ = rule_support(self.circuit_.rule_values(self._values(X)), None)
        points = []
        for size, kept in ((1, [2]), (2, [1, 2])):
            rules = tuple(self.circuit_.rules[i] for i in kept)
            smaller = replace(self.circuit_, rules=rules, intercept=float(np.mean(y).round())).simplify()
            points.append(Point(size, size, size, size / 10, smaller, tuple(self.support_[i] for i in kept)))
        self._frontier = Frontier((*points, Point(10, 4, 3, 0.9, self.circuit_, tuple(self.support_))))
        return self

    def predict(self, X):
        """Evaluate the circuit."""
        return self.circuit_.evaluate(self._values(X))


@pytest.fixture(scope="module")
def data():
    """Return a table and a target that the circuit fits but for noise."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"age": rng.uniform(18, 64, 300), "bmi": rng.uniform(18, 40, 300), "smoker": rng.choice(["no", "yes"], 300)}
    )
    X.loc[::10, "bmi"] = np.nan
    y = 8000 + 20000 * ((X.bmi > 30) & (X.smoker == "yes")) + 3000 * (X.age > 47.5) + 12000 * (X.smoker == "yes")
    return X, (y + rng.normal(scale=500.0, size=300)).to_numpy()


def test_rules_explanations_and_importances_belong_together(data):
    """The table, the explanation of a row and the importances speak of the same rules."""
    X, y = data
    model = Insurance().fit(X, y)
    assert model.rules_[0].rule == 'bmi > 30 and smoker = "yes"'
    assert model.rules_[0].support == pytest.approx(np.mean((X.bmi > 30) & (X.smoker == "yes")))
    explanation = model.explain(X.iloc[[0]])[0]
    assert explanation.prediction == model.predict(X.iloc[[0]])[0]
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert model.feature_importances_.argmax() == 2
    values, base = model.shapley_values(X.iloc[:3], X)
    np.testing.assert_allclose(base + values.sum(axis=1), model.predict(X.iloc[:3]))


def test_cost_and_pictures(data):
    """Cost and plot know their kinds, and name them for any other."""
    pytest.importorskip("matplotlib").use("Agg")
    model = Insurance().fit(*data)
    assert int(model.cost()) - int(model.cost("select")) == 3 * (1244 - 140)
    assert isinstance(model.plot(), Picture)
    for kind in ("importance", "history", "frontier"):
        assert model.plot(kind).get_xlabel()
    with pytest.raises(ValueError, match=r'kind must be "circuit", .* got "cake"|kind must be'):
        model.plot("cake")


def test_pruning_gives_a_smaller_model_and_leaves_the_larger(data):
    """Prune returns another model; its rules, support, frontier and predictions are its own."""
    X, y = data
    model = Insurance().fit(X, y)
    small = model.prune(max_conditions=3)
    assert (len(model.rules_), len(small.rules_)) == (3, 2)
    assert small.rules_.n_conditions == 2
    assert [point.circuit is not None for point in small.frontier_] == [True, True, False]
    fires = small.circuit_.rule_values(small._values(X))
    assert small.support_ == pytest.approx([np.mean(rule) for rule in fires])
    assert small.predict(X).tolist() != model.predict(X).tolist()
    assert small.prune(max_conditions=1).rules_[0].rule == 'smoker = "yes"'
    assert model.prune(max_conditions=4).circuit_ == model.circuit_


def test_intervals_of_a_larger_model_are_not_those_of_a_smaller(data):
    """A pruned model has no intervals; pruned to its own size, it is the same model."""
    model = Insurance().fit(*data)
    model.intervals_ = "of the whole"
    assert not hasattr(model.prune(2), "intervals_")
    assert model.prune(100).intervals_ == "of the whole"


def test_without_support_the_weights_stand_for_what_rules_move(data):
    """Without support the rules are still there, the heaviest first, and columns have importances."""
    model = Insurance().fit(*data)
    del model.support_
    assert [row.weight for row in model.rules_] == [20000.0, 12000.0, 3000.0]
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_one_row_is_explained(data):
    """A Series or a dictionary is one row; its explanation is a dictionary, and that of many rows a frame."""
    X, y = data
    model = Insurance().fit(X, y)
    expected = model.explain(X.iloc[[1]])[0]
    assert model.explain(X.iloc[1])[0] == model.explain(X.iloc[1].to_dict())[0] == expected
    assert model.explain({**X.iloc[1], "bmi": None})[0].prediction == model.predict(X.iloc[[1]].assign(bmi=np.nan))[0]
    numbers = RuleRegressor(n_teachers=0, n_generations=0, random_state=0).fit(X[["age"]].to_numpy(), y)
    assert numbers.explain(X[["age"]].to_numpy()[1])[0] == numbers.explain(X[["age"]].to_numpy()[1:2])[0]
    as_dict = expected.to_dict()
    assert as_dict["prediction"] == as_dict["intercept"] + sum(term["weight"] for term in as_dict["terms"])
    assert json.loads(json.dumps(as_dict)) == as_dict
    explanations = model.explain(X)
    frame = explanations.to_pandas()
    assert frame.groupby("row")["weight"].sum().tolist() == model.predict(X).tolist()
    assert explanations.to_polars().to_dicts() == frame.to_dict("records") == explanations.to_dicts()


def test_importances_and_shapley_values_have_one_column_per_input():
    """They stand in the order of the input columns, parts of a date added up; `importances_` has the names."""
    rng = np.random.default_rng(0)
    sold = pd.to_datetime("2021-01-01") + pd.to_timedelta(rng.integers(0, 1400, 300), unit="D")
    X = pd.DataFrame({"sold": sold, "noise": rng.random(300), "area": rng.random(300)})
    y = 3.0 * (sold.month > 6) + 5.0 * (sold.year > 2022) + 9.0 * (X.area > 0.4)
    model = RuleRegressor(n_teachers=0, n_grown_rules=40, n_generations=0, random_state=0).fit(X, y)
    shares = dict(zip(model.feature_names_in_, model.feature_importances_, strict=True))
    assert list(shares) == ["sold", "noise", "area"]
    assert shares["area"] > shares["noise"] < shares["sold"] > 0.2
    table = model.importances_.to_pandas()
    assert {"sold (year)", "sold (month)", "noise", "area"} <= set(table["column"])
    assert table["importance"].is_monotonic_decreasing
    assert table.groupby("input")["importance"].sum().to_dict() == pytest.approx(shares)
    values, base = model.shapley_values(X.iloc[:9], X)
    assert values.shape == (9, 3)
    np.testing.assert_allclose(base + values.sum(axis=1), model.predict(X.iloc[:9]))
    assert "area" in repr(model.importances_).splitlines()[0]
    assert "inputs used" in model.summary()


def test_an_unfitted_model_has_nothing_to_show():
    """Before fit every reader raises scikit-learn's NotFittedError, and hasattr says no."""
    model = Insurance()
    assert not hasattr(model, "rules_")
    assert not hasattr(model, "feature_importances_")
    with pytest.raises(NotFittedError):
        model.explain(pd.DataFrame())
