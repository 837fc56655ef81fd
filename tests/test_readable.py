import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import NotFittedError

from dln._circuit import Above, Circuit, Column, Gate, IsIn, Rule
from dln._draw import Picture
from dln._gates import AND
from dln._readable import ReadableModel


class Insurance(ReadableModel, RegressorMixin, BaseEstimator):
    """A model that has learned a circuit by heart."""

    def fit(self, X, y, validation=None):
        """Take the circuit, and study it on the rows."""
        self.circuit_ = Circuit(
            columns=(Column("age"), Column("bmi"), Column("smoker", ("no", "yes"))),
            literals=(Above(0, 47.5), Above(1, 30.0), IsIn(2, (1,))),
            gates=(Gate(AND, 1, 2),),
            rules=(Rule(3, 20000.0), Rule(0, 3000.0), Rule(2, 12000.0)),
            intercept=8000.0,
            decimals=0,
        )
        self.history_ = {"network": [0, 0], "epoch": [1, 2], "training_loss": [2.0, 1.0], "validation_loss": [2.0, 1.5]}
        values = self._values(X)
        other = None if validation is None else (self._values(validation[0]), validation[1], None)
        self._study(values, y, np.ones(len(y)), other)
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
    """Cost and plot know their kinds, and name them where another is asked for."""
    pytest.importorskip("matplotlib").use("Agg")
    model = Insurance().fit(*data)
    assert int(model.cost()) - int(model.cost("select")) == 3 * (1244 - 140)
    assert isinstance(model.plot(), Picture)
    for kind in ("importance", "history", "frontier"):
        assert model.plot(kind).get_xlabel()
    with pytest.raises(ValueError, match=r'kind must be "circuit", .* got "cake"|kind must be'):
        model.plot("cake")


def test_pruning_gives_a_smaller_model_and_leaves_the_larger(data):
    """Prune returns another model; its support, frontier and predictions are its own."""
    X, y = data
    model = Insurance().fit(X, y)
    small = model.prune(max_rules=2)
    assert (len(model.rules_), len(small.rules_)) == (3, 2)
    assert [point.n_rules for point in small.frontier_][-1] == 2
    fires = small.circuit_.rule_values(small._values(X))
    assert small.support_ == pytest.approx([np.mean(rule) for rule in fires])
    error = np.sqrt(np.mean((small.predict(X) - y) ** 2))
    assert error == pytest.approx(small.frontier_[-1].training_error, rel=1e-3)
    assert small.prune(max_rules=1).rules_[0].index == 0


def test_validation_rows_reach_the_frontier(data):
    """With validation data the frontier has two errors."""
    X, y = data
    model = Insurance().fit(X[:200], y[:200], validation=(X[200:], y[200:]))
    assert all(point.validation_error is not None for point in model.frontier_)


def test_a_model_that_was_loaded_says_what_it_lacks(data):
    """Without support the rules are still there; without a frontier, pruning says why it cannot."""
    model = Insurance().fit(*data)
    del model.support_, model._rehearsal
    assert [row.weight for row in model.rules_] == [20000.0, 12000.0, 3000.0]
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    with pytest.raises(AttributeError, match="not kept in a model file"):
        model.prune(max_rules=1)


def test_an_unfitted_model_has_nothing_to_show():
    """Before fit every reader raises scikit-learn's NotFittedError, and hasattr says no."""
    model = Insurance()
    assert not hasattr(model, "rules_")
    assert not hasattr(model, "feature_importances_")
    with pytest.raises(NotFittedError):
        model.explain(pd.DataFrame())
