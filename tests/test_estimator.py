"""DLNRegressor and PaperDLNRegressor as their users meet them."""

from __future__ import annotations

import pickle
import subprocess
import sys
import time
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_friedman1
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from dln import DLNRegressor, FitInterruptedWarning, PaperDLNRegressor, TimeLimitWarning, load
from dln.learning._neurons import neuron_expressions
from models import SMALL, SMALL_PAPER


def small(**changes: object) -> DLNRegressor:
    """A model that is fitted in a blink."""
    return DLNRegressor(**{**SMALL, **changes})


def paper(**changes: object) -> PaperDLNRegressor:
    """The paper's network, fitted in a blink."""
    return PaperDLNRegressor(**{**SMALL_PAPER, "max_epochs": 15, **changes})


def bytes_of(model, folder) -> bytes:
    """Return the bytes of a model's file."""
    model.save(folder / "model.dln")
    return (folder / "model.dln").read_bytes()


@pytest.fixture(scope="module")
def houses() -> tuple[pd.DataFrame, pd.Series]:
    """A table with all kinds of columns, and a price made by a rule."""
    rng = np.random.default_rng(0)
    n = 300
    frame = pd.DataFrame(
        {
            "rooms": rng.integers(1, 9, n),
            "area": rng.uniform(20, 200, n).round(1),
            "district": rng.choice(["north", "south", "east"], n),
            "garden": rng.integers(0, 2, n).astype(bool),
            "kind": pd.Categorical(rng.choice(["flat", "house"], n)),
        }
    )
    price = 100 + 50 * (frame["area"] > 90) * (frame["district"] == "north") + 20 * frame["garden"] + frame["rooms"]
    frame.loc[rng.uniform(size=n) < 0.1, "area"] = np.nan
    return frame, price


@parametrize_with_checks(
    [
        DLNRegressor(
            max_conditions=20,
            n_networks=1,
            hidden_layer_sizes=(16, 8),
            max_epochs=10,
            n_grown_rules=40,
            n_teachers=1,
            n_synthetic_rows=100,
            n_generations=1,
        ),
        PaperDLNRegressor(hidden_layer_sizes=(100, 50), max_epochs=20),
    ]
)
def test_scikit_learns_checks(estimator, check):
    """Every check of scikit-learn passes."""
    check(estimator)


def test_it_learns(houses):
    """With a rule in the data, test R² is high and the rule's columns appear."""
    X, y = houses
    model = small(max_conditions=30, n_grown_rules=60).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.9
    assert "district" in repr(model.circuit_)


@pytest.mark.parametrize("to", [pl.from_pandas, pa.Table.from_pandas])
def test_frames_of_all_kinds_give_the_same_model(houses, to):
    """pandas, polars and pyarrow tables lead to the same circuit and predictions."""
    X, y = houses
    model = small().fit(X, y)
    other = small().fit(to(X), y)
    assert other.circuit_ == model.circuit_
    np.testing.assert_array_equal(model.predict(to(X)), other.predict(X))


def test_columns_may_stand_in_another_order(houses):
    """Named columns are found by name."""
    X, y = houses
    model = small().fit(X, y)
    np.testing.assert_array_equal(model.predict(X[X.columns[::-1]]), model.predict(X))


def test_a_missing_column_is_named(houses):
    """A table without a column of the fit gets one sentence that names it."""
    X, y = houses
    model = small().fit(X, y)
    with pytest.raises(ValueError, match="area"):
        model.predict(X.drop(columns="area"))


def test_unknown_categories_and_missing_values_are_predicted(houses):
    """A category never seen and a missing value give finite predictions."""
    X, y = houses
    model = small().fit(X, y)
    row = X.iloc[[0]].copy()
    row["district"] = "atlantis"
    row["area"] = np.nan
    assert np.isfinite(model.predict(row)).all()


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinity_is_refused(bad):
    """Infinite values get a clear error: in fit in any column, in predict in those that rules read."""
    X = np.arange(40.0).reshape(20, 2)
    y = np.arange(20.0)
    model = small().fit(X, y)
    X[3, model._prepared_circuit().used] = bad
    with pytest.raises(ValueError, match="inf"):
        small().fit(X, y)
    with pytest.raises(ValueError, match="inf"):
        model.predict(X)


def test_rows_in_any_order_give_the_same_model(houses):
    """The order of rows does not matter."""
    X, y = houses
    shuffled = np.random.default_rng(1).permutation(len(X))
    assert small().fit(X, y).circuit_ == small().fit(X.iloc[shuffled], y.iloc[shuffled]).circuit_


def test_integer_weights_equal_repeated_rows(houses):
    """A row of weight two is two rows; a row of weight zero is none."""
    X, y = houses
    weight = np.random.default_rng(1).integers(0, 3, len(X))
    repeated = np.repeat(np.arange(len(X)), weight)
    weighted = small().fit(X, y, sample_weight=weight)
    assert weighted.circuit_ == small().fit(X.iloc[repeated], y.iloc[repeated]).circuit_


def test_threads_do_not_change_the_model(houses, tmp_path):
    """Whatever n_jobs, the file of the model has the same bytes: teachers, networks, trials and folds included."""
    X, y = houses
    files = [bytes_of(small(n_networks=3, n_teachers=2, n_jobs=n_jobs).fit(X, y), tmp_path) for n_jobs in (1, 2, 3, -1)]
    assert len(set(files)) == 1


def test_another_process_gives_the_same_predictions():
    """The same seed gives the same bits in another process."""
    code = (
        "import numpy as np; from sklearn.datasets import make_friedman1; from dln import DLNRegressor;"
        "X, y = make_friedman1(100, random_state=0);"
        f"model = DLNRegressor(**{SMALL!r}).fit(X, y);"
        "print(model.predict(X).tobytes().hex())"
    )
    X, y = make_friedman1(100, random_state=0)
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert small().fit(X, y).predict(X).tobytes().hex() == there


def test_other_seeds_give_other_models():
    """The seed matters."""
    X, y = make_friedman1(100, random_state=0)
    assert small(random_state=0).fit(X, y).circuit_ != small(random_state=1).fit(X, y).circuit_


def test_clone_and_pickle_keep_everything(houses):
    """A clone has the parameters, a pickle the whole model."""
    X, y = houses
    model = small().fit(X, y)
    assert clone(model).get_params() == model.get_params()
    copy = pickle.loads(pickle.dumps(model))  # noqa: S301 (our own bytes)
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))


def test_it_works_in_pipelines_and_searches():
    """Pipeline, grid search and cross-validation in two processes take the estimator as any other."""
    X, y = make_friedman1(80, random_state=0)
    pipe = make_pipeline(StandardScaler(), small(max_epochs=3))
    assert len(cross_val_score(pipe, X, y, cv=2, n_jobs=2)) == 2
    search = GridSearchCV(small(max_epochs=3), {"max_conditions": [2, 12]}, cv=2).fit(X, y)
    assert search.best_params_["max_conditions"] == 12


def test_it_takes_transformers_frames(houses):
    """Behind a column transformer with pandas output, rules name the transformer's columns."""
    X, y = houses
    scale = make_column_transformer(
        (StandardScaler(), ["rooms"]), remainder="passthrough", verbose_feature_names_out=False
    )
    model = make_pipeline(scale.set_output(transform="pandas"), small()).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert list(model[-1].feature_names_in_) == ["rooms", "area", "district", "garden", "kind"]


def test_metadata_routing_passes_weights():
    """With routing on, a request for sample_weight reaches fit."""
    import sklearn

    X, y = make_friedman1(60, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = small(max_epochs=3).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"max_conditions": [5]}, cv=2).fit(X, y, sample_weight=np.ones(60))
    assert search.best_estimator_.n_iter_ == 3


def test_validation_data_can_be_given(houses):
    """With X_val and y_val the frontier tells R² on those rows, and intervals come from them."""
    X, y = houses
    model = small().fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
    for point in model.frontier_:
        if point.circuit is not None:
            smaller = model.prune(point.conditions)
            assert point.r2 == pytest.approx(smaller.score(X[200:], y[200:]), abs=0.01)
    assert model.intervals_.source == "rows set aside"
    assert model.intervals_.weight == len(X) - 200
    by_epoch = paper().fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
    assert all(loss is not None for loss in by_epoch.history_["validation_loss"])
    with pytest.raises(ValueError, match="X_val was given without y_val"):
        small().fit(X, y, X_val=X)


def test_a_fit_that_fails_leaves_the_model_as_it_was(houses):
    """After a refit that raised, the model predicts as before; after a first fit that raised, it is not fitted."""
    X, y = houses
    model = small().fit(X, y)
    before = model.predict(X)

    def fail(_epoch):
        message = "no more"
        raise RuntimeError(message)

    with pytest.raises(RuntimeError, match="no more"):
        model.set_params(callbacks=[fail]).fit(X[["area", "rooms"]], y)
    np.testing.assert_array_equal(model.predict(X), before)
    fresh = small(callbacks=[fail])
    with pytest.raises(RuntimeError, match="no more"):
        fresh.fit(X, y)
    with pytest.raises(NotFittedError):
        fresh.predict(X)


def test_history_tells_each_epoch(houses):
    """History has one entry per epoch for each of its columns."""
    X, y = houses
    model = small(n_networks=2, max_epochs=15).fit(X, y)
    assert {len(column) for column in model.history_.values()} == {30}
    assert set(model.history_) >= {
        "training_loss",
        "validation_loss",
        "temperature",
        "learning_rate",
        "open_rules",
        "epoch",
    }
    assert len(pd.DataFrame(model.history_)) == 30


def test_a_callback_sees_every_epoch_and_may_stop():
    """Callbacks get each epoch's record; True ends the training of networks, and the model is usable."""
    X, y = make_friedman1(80, random_state=0)
    seen = []
    model = small(max_epochs=15, callbacks=[lambda epoch: seen.append(epoch) or len(seen) == 4]).fit(X, y)
    assert [epoch.epoch for epoch in seen] == [1, 2, 3, 4]
    assert model.n_iter_ == 4


def test_an_error_in_a_callback_ends_the_fit():
    """What a callback raises comes out of fit, and the other networks stop."""
    X, y = make_friedman1(80, random_state=0)

    def fail(_epoch):
        message = "no more"
        raise RuntimeError(message)

    with pytest.raises(RuntimeError, match="no more"):
        small(n_networks=2, max_epochs=100_000, callbacks=[fail]).fit(X, y)


def test_ctrl_c_keeps_the_best_model_and_says_so():
    """Interrupted, fit warns, says what was cut short, and returns the best model so far."""
    X, y = make_friedman1(80, random_state=0)

    def press(epoch):
        if epoch.epoch == 3:
            raise KeyboardInterrupt

    with pytest.warns(FitInterruptedWarning, match="interrupted: the model is the best found so far; cut short: "):
        model = small(max_epochs=1000, callbacks=[press]).fit(X, y)
    assert model.n_iter_ == 3
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1e9, 1e200])
def test_targets_of_any_scale(scale):
    """A target a million times larger or smaller is fitted as well."""
    X, y = make_friedman1(150, random_state=0)
    prediction = small().fit(X, y * scale).predict(X)
    assert np.corrcoef(prediction / scale, y)[0, 1] > 0.8


@pytest.mark.parametrize("offset", [1e10, -1e11, 1e12, 1e14, 1e15])
@pytest.mark.filterwarnings("ignore::dln.PrecisionWarning")  # of the last three
def test_targets_far_from_zero(offset):
    """A target like a timestamp is fitted as well as near zero, or never worse than by its mean."""
    X, y = make_friedman1(150, random_state=0)
    prediction = small().fit(X, y + offset).predict(X)
    assert r2_score(y + offset, prediction) > (0.6 if abs(offset) < 1e13 else -0.01)


def test_sizes_that_cannot_be():
    """Weights and targets beyond what sums can hold get one sentence, and no warning besides."""
    X = np.arange(20.0).reshape(10, 2)
    for weight in (1e308, 5e-324):
        with pytest.raises(ValueError, match="the largest sample_weight must lie between"):
            small().fit(X, np.arange(10.0), sample_weight=np.full(10, weight))
    with pytest.raises(ValueError, match="y must lie between"):
        small().fit(X, np.array([-1.7e308, 1.7e308] * 5))


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_printed_weights_add_up(scale):
    """At any scale, the weights that are printed add up to what is predicted, to the last digits of float64."""
    X, y = make_friedman1(150, random_state=0)
    model = small().fit(X, y * scale)
    for explanation, prediction in zip(model.explain(X[:20]), model.predict(X[:20]), strict=True):
        title, *lines = repr(explanation).splitlines()
        total = float(sum(Decimal(line.split()[0]) for line in lines))
        assert float(title.partition(" = ")[2].partition(" (")[0]) == prediction
        assert total == pytest.approx(prediction, rel=1e-15 if scale != 1 else 0)


@pytest.mark.parametrize("value", [0.0, 3.25, -1e9])
def test_a_constant_target_is_predicted_exactly(value):
    """A constant is learned exactly."""
    model = small().fit(np.arange(30.0).reshape(15, 2), np.full(15, value))
    assert (model.predict([[1.0, 2.0]]) == value).all()


def test_constant_columns_lead_to_the_mean():
    """Where no column varies, the model is the mean."""
    model = small().fit(np.ones((10, 3)), np.arange(10.0))
    assert model.predict(np.ones((1, 3)))[0] == pytest.approx(4.5)
    assert model.circuit_.rules == ()


@pytest.mark.parametrize("loss", ["squared_error", "huber", "absolute_error", "quantile"])
def test_losses(loss):
    """Each loss trains; a high quantile lies above most of the data."""
    X, y = make_friedman1(300, noise=2.0, random_state=0)
    model = small(loss=loss, quantile=0.9).fit(X, y)
    share = np.mean(y <= model.predict(X))
    assert 0.8 < share < 0.97 if loss == "quantile" else 0.3 < share < 0.7


def test_one_row_one_column_and_many_columns():
    """The smallest and the widest tables are fitted."""
    assert small().fit([[1.0, 2.0]], [5.0]).predict([[1.0, 2.0]])[0] == 5.0
    y = np.arange(30.0)
    assert small().fit(y[:, None], y).score(y[:, None], y) > 0.5
    wide = np.random.default_rng(0).normal(size=(30, 1000))
    assert np.isfinite(small(max_epochs=2).fit(wide, y).predict(wide)).all()


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.bool_, np.float32, np.float16])
def test_array_dtypes(dtype):
    """Integer, Boolean and short float arrays are taken as numbers."""
    X = np.random.default_rng(0).integers(0, 2, (40, 3)).astype(dtype)
    y = X[:, 0] * 3.0
    assert small().fit(X, y).score(X, y) > 0.9


def test_float32_and_float64_predict_alike():
    """A model fitted on float64 predicts the same for the same rows in float32."""
    X, y = make_friedman1(200, random_state=0)
    model = small().fit(X, y)
    np.testing.assert_array_equal(model.predict(X.astype(np.float32)), model.predict(X))


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"hidden_layer_sizes": ()}, "hidden_layer_sizes must hold at least one positive whole number"),
        ({"hidden_layer_sizes": (4, 0)}, "hidden_layer_sizes"),
        ({"hidden_layer_sizes": (4, 2.5)}, "hidden_layer_sizes"),
        ({"max_conditions": 0}, "max_conditions"),
        ({"max_rule_length": 0}, "max_rule_length"),
        ({"max_rules": 0}, "max_rules"),
        ({"n_teachers": -1}, "n_teachers"),
        ({"loss": "mse"}, "loss"),
        ({"quantile": 1.0}, "quantile"),
        ({"max_seconds": 0}, "max_seconds"),
        ({"categorical_features": ["nowhere"]}, "nowhere"),
    ],
)
def test_bad_parameters_get_one_sentence(houses, parameters, match):
    """A wrong parameter is named, with what was required."""
    X, y = houses
    with pytest.raises(ValueError, match=match):
        small(**parameters).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"hidden_layer_sizes": ()}, "hidden_layer_sizes must hold at least one positive whole number"),
        ({"n_candidate_gates": 17}, "n_candidate_gates"),
        ({"temperature": 0.0}, "temperature"),
        ({"learning_rate": -1}, "learning_rate"),
        ({"straight_through": "gumbel"}, "straight_through"),
        ({"refit": "lasso"}, "refit"),
        ({"max_rules": 0}, "max_rules"),
        ({"rule_tolerance": -0.1}, "rule_tolerance"),
        ({"sum_link_rate": -1.0}, "sum_link_rate"),
        ({"temperature_decay": 1.5}, "temperature_decay"),
    ],
)
def test_bad_parameters_of_the_papers_network(houses, parameters, match):
    """A wrong parameter of the paper's network is named, with what was required."""
    X, y = houses
    with pytest.raises(ValueError, match=match):
        paper(**parameters).fit(X, y)


@pytest.mark.parametrize(
    ("y", "match"),
    [
        (None, "y"),
        ([1.0, np.nan], "NaN"),
        ([1.0, np.inf], "inf"),
        ([1.0], "inconsistent"),
        ([[1.0, 2.0], [3.0, 4.0]], "1d"),
        (["a", "b"], "could not convert|numeric"),
    ],
)
def test_bad_targets_get_one_sentence(y, match):
    """A wrong target is told in words."""
    with pytest.raises(ValueError, match=match):
        small().fit([[1.0], [2.0]], y)


def test_a_column_vector_as_target_warns():
    """As everywhere in scikit-learn, y of shape (n, 1) warns."""
    with pytest.warns(DataConversionWarning):
        small(max_epochs=1).fit([[1.0], [2.0]], [[1.0], [2.0]])


def test_hostile_names_do_no_harm():
    """Names with quotes, line breaks and markup are columns like others."""
    names = ['a"b', "line\nbreak", "<script>alert(1)</script>", "ünï 🎉", "[bold]"]
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 5)), columns=names)
    model = small().fit(X, X[names[1]] * 2)
    assert len(repr(model.circuit_).splitlines()) == len(model.circuit_.rules) + 1


def test_the_papers_network_is_a_class_of_its_own(houses):
    """`DLNRegressor.paper` gives the other class with the changes asked for; each refuses the other's parameters."""
    X, y = houses
    model = DLNRegressor.paper(batch_size=64, **SMALL_PAPER)
    assert isinstance(model, PaperDLNRegressor)
    assert not isinstance(model, DLNRegressor)
    assert model.batch_size == 64
    assert model.max_rules == 60
    assert np.isfinite(model.fit(X, y).predict(X)).all()
    with pytest.raises(TypeError, match="max_conditions"):
        DLNRegressor.paper(max_conditions=10)
    with pytest.raises(TypeError, match="batch_size"):
        DLNRegressor(batch_size=10)


def test_at_most_twenty_two_parameters():
    """Few enough parameters to be read."""
    assert len(DLNRegressor().get_params()) <= 22


def test_refit_weights_are_no_worse_than_the_networks(houses):
    """With refit="ridge" the weights are solved for on all rows: the training error does not rise."""
    X, y = houses
    plain, refitted = paper(random_state=3, refit=None).fit(X, y), paper(random_state=3).fit(X, y)
    assert refitted.score(X, y) >= plain.score(X, y) - 1e-3


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_the_papers_network_keeps_its_number_of_rules(houses, loss):
    """At most `max_rules` rules; None keeps what was trained, and more rules come nearer to what all of them say."""
    X, y = houses
    settings = {"hidden_layer_sizes": (40, 40), "random_state": 3, "loss": loss, "rule_tolerance": 0}
    whole, few, fewer = (paper(**settings, max_rules=n).fit(X, y) for n in (None, 10, 3))
    assert len(whole.rules_) > 10
    assert len(few.rules_) <= 10
    assert len(fewer.rules_) <= 3
    said, near, far = (model.predict(X) for model in (whole, few, fewer))
    assert np.mean((said - near) ** 2) < np.mean((said - far) ** 2)


@pytest.mark.parametrize("given", [False, True])
def test_a_larger_tolerance_keeps_fewer_rules(houses, given):
    """The more the error on the rows set aside, or given to validate, may rise, the fewer rules are kept."""
    X, y = houses
    settings = {"hidden_layer_sizes": (40, 40), "random_state": 3, "max_rules": None}
    validation = {"X_val": X[250:], "y_val": y[250:]} if given else {}
    n = [len(paper(**settings, rule_tolerance=t).fit(X[:250], y[:250], **validation).rules_) for t in (0, 0.1, 1.0)]
    assert n[0] >= n[1] >= n[2]
    assert n[0] > n[2]


def test_without_a_refit_the_papers_network_keeps_its_rules_and_weights(houses):
    """`max_rules` is for rules whose weights are solved for: the network's own are those that it was trained with."""
    X, y = houses
    settings = {"hidden_layer_sizes": (40, 40), "random_state": 3, "refit": None}
    one, other = (paper(**settings, max_rules=n).fit(X, y) for n in (None, 3))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_the_temperature_falls_over_the_epochs_that_there_are(houses):
    """Without a decay, the minimum is reached after 85 % of the epochs, however many; with 1 it stays."""
    X, y = houses
    for epochs in (10, 40):
        fallen = paper(max_epochs=epochs, early_stopping=False).fit(X, y).history_["temperature"]
        assert fallen[0] == 1.0
        assert fallen[-1] == 0.03
        assert fallen[int(0.8 * epochs)] > 0.03
    assert set(paper(temperature_decay=1.0).fit(X, y).history_["temperature"]) == {1.0}


# --- a page -----------------------------------------------------------------------------------------------------------


def some_table(kind):
    """Return a table on which the promise of a page might break."""
    rng = np.random.default_rng(7)
    n = {"one row": 1, "25 rows": 25, "wide": 160}.get(kind, 300)
    if kind == "wide":
        X = pd.DataFrame(rng.normal(size=(n, 800))).add_prefix("x")
        return X, X["x3"] * 2.0 + X["x700"] + rng.normal(size=n)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n).astype(float),
            "bmi": rng.normal(27, 4, n).round(2),
            "town": rng.integers(0, 60, n).astype(str),
            "region": rng.choice(["a", "b", "c", "d"], n),
            "smoker": rng.random(n) < 0.3,
        }
    )
    y = 3.0 * X["age"] + 40.0 * X["smoker"] + X["town"].astype(int) % 7 * 5.0 + rng.normal(size=n)
    if kind == "missing":
        X = X.mask(rng.random(X.shape) < 0.2).astype({"smoker": object})
        X["smoker"] = X["smoker"].map({True: "yes", False: "no"})
    if kind == "one column":
        X = X[["age"]]
    if kind == "constant":
        y = y * 0 + 4.25
    return X, y


TABLES = ("mixed", "missing", "one column", "constant", "one row", "25 rows", "wide")


@pytest.mark.parametrize("kind", TABLES)
def test_a_default_fit_is_one_page(kind):
    """Whatever the table, a fit with the default sizes has at most 100 conditions, and no rule more than 6."""
    X, y = some_table(kind)
    model = small(max_conditions=DLNRegressor().max_conditions).fit(X, y)
    conditions = [row.conditions for row in model.rules_]
    assert model.rules_.n_conditions == sum(conditions) <= 100
    assert max(conditions, default=0) <= 6
    assert np.isfinite(model.predict(X)).all()
    if kind not in {"constant", "one row"}:
        assert model.score(X, y) > 0.2
        assert sum(conditions) > 0


def test_the_defaults_are_one_page(houses):
    """With nothing but the defaults, teachers and networks and all, the model is within its page and good."""
    X, y = houses
    model = DLNRegressor(random_state=0, n_jobs=2).fit(X[:200], y[:200])
    assert model.rules_.n_conditions <= 100
    assert max(row.conditions for row in model.rules_) <= 6
    assert model.score(X[200:], y[200:]) > 0.9


@pytest.mark.parametrize("kind", ["mixed", "missing"])
@pytest.mark.parametrize(
    "limits",
    [
        {"max_conditions": 1},
        {"max_conditions": 7, "max_rule_length": 3},
        {"max_conditions": 50, "max_rules": 3},
        {"max_conditions": 40, "max_rule_length": 1},
        {"max_conditions": 40, "max_rule_length": 10, "max_rules": 5},
        {"max_conditions": 10, "max_rule_length": 20},
    ],
)
def test_limits_are_kept(kind, limits):
    """Conditions, the length of a rule and the number of rules stay within what was asked for, at every size."""
    X, y = some_table(kind)
    model = small(**limits).fit(X, y)
    for point in model.frontier_:
        if point.circuit is None:
            continue
        smaller = model.prune(point.conditions)
        assert smaller.rules_.n_conditions <= min(point.max_conditions, limits["max_conditions"])
        assert len(smaller.rules_) <= limits.get("max_rules", limits["max_conditions"])
        assert max(row.conditions for row in smaller.rules_) <= limits.get("max_rule_length", 6)


def test_unlimited_conditions_on_a_small_table():
    """`max_conditions=None` takes what helps, more than a page where that pays."""
    X, y = make_friedman1(60, random_state=0)
    model = small(max_conditions=None, n_generations=0, max_rule_length=2).fit(X, y)
    assert model.score(X, y) > 0.9


def test_several_models_are_one_for_any_threads_and_can_be_saved(tmp_path):
    """A model that is the average of several is the same for any threads, predicts the same after `load`, is pruned."""
    X, y = make_friedman1(300, random_state=0)
    options = {"max_conditions": None, "n_generations": 0, "n_grown_rules": 150, "n_networks": 0}
    model, other = (small(**options, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    assert model.circuit_ == other.circuit_
    assert [point.max_conditions for point in model.frontier_][-4:] == [800, 1600, 2400, 3200]
    model.save(tmp_path / "large.dln")
    np.testing.assert_array_equal(load(tmp_path / "large.dln").predict(X), model.predict(X))
    assert load(tmp_path / "large.dln").prune(max_conditions=50).rules_.n_conditions <= 50


def test_shared_categories_are_named_by_no_rule():
    """Of a column with more categories than may be named, rules name the frequent ones only, one by one."""
    X, y = some_table("mixed")
    model = small(max_categories=3, max_conditions=60).fit(X[["town"]], y)
    assert all(len(literal.codes) == 1 for literal in model.circuit_.literals)
    rare = X.assign(town="elsewhere")[["town"]]
    assert len(set(model.predict(rare))) == 1


# --- smaller models ---------------------------------------------------------------------------------------------------


def test_prune_keeps_its_size_and_survives_saving(tmp_path):
    """`prune(m)` has at most m conditions; after load it gives the same model, bit for bit; each can be saved."""
    X, y = some_table("missing")
    model = small(max_conditions=40).fit(X, y)
    model.save(tmp_path / "model.dln")
    loaded = load(tmp_path / "model.dln")
    assert loaded.frontier_ == model.frontier_
    for most in (1, 2, 4, 9, 17, 33, 40, 1000):
        smaller = model.prune(max_conditions=most)
        assert smaller.rules_.n_conditions <= most
        assert bytes_of(smaller, tmp_path) == bytes_of(loaded.prune(most), tmp_path)
        assert smaller.prune(1000).circuit_ == smaller.circuit_
        assert load(tmp_path / "model.dln").frontier_ == smaller.frontier_
    assert model.prune(1000).circuit_ == model.circuit_
    with pytest.raises(ValueError, match="conditions, got 0"):
        model.prune(0)


def test_the_papers_network_is_pruned_too(tmp_path):
    """Subsets of the network's rules have weights of their own, and no more conditions than asked for."""
    X, y = some_table("missing")
    model = paper(max_epochs=5).fit(X, y)
    for point in model.frontier_:
        smaller = model.prune(point.conditions)
        assert smaller.rules_.n_conditions <= point.conditions
        assert len(smaller.rules_) <= len(model.rules_)
    model.save(tmp_path / "model.dln")
    loaded = load(tmp_path / "model.dln")
    assert type(loaded) is PaperDLNRegressor
    assert loaded.frontier_ == model.frontier_
    size = model.frontier_[1].conditions
    assert bytes_of(loaded.prune(size), tmp_path) == bytes_of(model.prune(size), tmp_path)


def test_the_frontier_is_validated():
    """R² of the frontier is of rows not learned from: noise is worth nothing, and more conditions than help cost."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    noise = small(max_conditions=40).fit(X, rng.normal(size=200))
    assert max(point.r2 for point in noise.frontier_) < 0.2
    assert noise.score(X, rng.normal(size=200)) < 0.2
    assert noise.rules_.n_conditions < 40
    clear = small(max_conditions=40).fit(X, np.where(X[:, 0] > 0, 5.0, -5.0))
    assert max(point.r2 for point in clear.frontier_) > 0.9
    assert clear.rules_.n_conditions == 1


def test_intervals_come_from_rows_not_learned_from():
    """After a fit the intervals cover new rows about as often as they say, without any calibration."""
    X, y = make_friedman1(600, noise=2.0, random_state=0)
    model = small().fit(X[:300], y[:300])
    assert model.intervals_.source == "folds"
    low, high = model.predict_interval(X[300:], 0.8).T
    assert 0.7 < np.mean((low <= y[300:]) & (y[300:] <= high)) < 0.92
    assert not hasattr(small().fit(X[:20], y[:20]), "intervals_"), "of so few rows none is set aside"


# --- networks, teachers, time -----------------------------------------------------------------------------------------


def test_networks_propose_rules_of_the_model(monkeypatch):
    """On a table made by exclusive ors, rules of the model are neurons, and without networks it is another model."""
    rng = np.random.default_rng(0)
    X = (rng.random((400, 6)) < 0.5).astype(float)
    y = 4.0 * (X[:, 0] != X[:, 1]) + 2.0 * (X[:, 2] != X[:, 3]) + X[:, 4]
    settings = {"hidden_layer_sizes": (100, 50), "max_epochs": 30, "n_networks": 2, "n_grown_rules": 20}
    neurons = set()

    def seen(*args):
        found = neuron_expressions(*args)
        neurons.update(found)
        return found

    monkeypatch.setattr("dln.learning._student.neuron_expressions", seen)
    with_networks = small(**settings).fit(X, y)
    assert len(neurons) > 20
    assert with_networks.score(X, y) > 0.99
    assert "exactly one of" in repr(with_networks.rules_) or "both or neither of" in repr(with_networks.rules_)
    without = small(**{**settings, "n_networks": 0}).fit(X, y)
    assert without.circuit_ != with_networks.circuit_
    assert without.n_iter_ == 0


def test_teachers_steady_a_noisy_target():
    """On noisy rows of a smooth function a model taught by teachers is better on new rows than one of y alone."""
    scores = {0: [], 2: []}
    for seed in range(2):
        X, y = make_friedman1(150, noise=3.0, random_state=seed)
        X_new, y_new = make_friedman1(1000, noise=0.0, random_state=100 + seed)
        for n_teachers, found in scores.items():
            model = small(n_teachers=n_teachers, n_synthetic_rows=1000, max_conditions=40, n_grown_rules=100)
            found.append(model.fit(X, y).score(X_new, y_new))
    assert np.mean(scores[2]) > np.mean(scores[0])


@pytest.mark.parametrize("max_seconds", [0.01, 1.0])
def test_max_seconds_is_kept(max_seconds):
    """A fit returns within max_seconds and two more, keeps its limits, and says what was cut short."""
    X, y = make_friedman1(1500, noise=1.0, random_state=0)
    small().fit(X[:50], y[:50])  # now all is compiled
    model = DLNRegressor(max_seconds=max_seconds, random_state=0, n_jobs=1, n_generations=10_000)
    start = time.process_time()
    with pytest.warns(TimeLimitWarning, match=rf"max_seconds={max_seconds:g} is over: .*cut short: \w+"):
        model.fit(X, y)
    # Seconds of work of one thread: others of the machine's are not ours.
    assert time.process_time() - start < max_seconds + 2.0
    assert 0 < model.rules_.n_conditions <= 100
    assert model.score(X, y) > 0.2


def test_a_fit_in_time_cuts_nothing(houses):
    """With time enough nothing is cut, there is no warning, and the model is the one without a limit."""
    X, y = houses
    assert small(max_seconds=1000.0).fit(X, y).circuit_ == small().fit(X, y).circuit_


def test_rules_are_limited_only_where_asked():
    """What larger sizes are worth is told for as many rules as they have conditions, unless max_rules says fewer."""
    assert DLNRegressor(max_conditions=10)._recipe().budget.resized(400).rules >= 400
    assert DLNRegressor(max_conditions=10, max_rules=18)._recipe().budget.resized(400).rules == 18


def test_few_rows_get_few_conditions():
    """Where rows are too few to validate on, a model has a condition for every four of them at the most."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25, 4))
    y = 2 * X[:, 0] + (X[:, 1] > 0) + rng.normal(size=25)
    model = small(n_networks=0, max_conditions=100).fit(X, y)
    assert 1 <= model.rules_.n_conditions <= 6
    assert model.score(X, y) > 0.3
