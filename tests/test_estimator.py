"""DLNRegressor as its users meet it."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_friedman1
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from dln import DLNRegressor, FitInterruptedWarning

SMALL = {"hidden_layer_sizes": (16, 8), "max_epochs": 15, "random_state": 0}


def small(**changes: object) -> DLNRegressor:
    """A model that is fitted in a blink."""
    return DLNRegressor(**{**SMALL, **changes})


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


@parametrize_with_checks([DLNRegressor(hidden_layer_sizes=(16, 8), max_epochs=20), DLNRegressor.paper(max_epochs=20)])
def test_scikit_learns_checks(estimator, check):
    """Every check of scikit-learn passes."""
    check(estimator)


def test_it_learns(houses):
    """With a rule in the data, test R² is high and the rule's columns appear."""
    X, y = houses
    model = DLNRegressor(random_state=0, max_epochs=60).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.8
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
    """Infinite values get a clear error, in fit and in predict."""
    X = np.arange(40.0).reshape(20, 2)
    y = np.arange(20.0)
    model = small().fit(X, y)
    X[3, 1] = bad
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


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_threads_do_not_change_the_model(houses, n_jobs):
    """Whatever n_jobs, the model is the same."""
    X, y = houses
    assert small(n_networks=3, n_jobs=n_jobs).fit(X, y).circuit_ == small(n_networks=3).fit(X, y).circuit_


def test_another_process_gives_the_same_predictions():
    """The same seed gives the same bits in another process."""
    code = (
        "import numpy as np; from sklearn.datasets import make_friedman1; from dln import DLNRegressor;"
        "X, y = make_friedman1(100, random_state=0);"
        "model = DLNRegressor(hidden_layer_sizes=(16, 8), max_epochs=15, random_state=0).fit(X, y);"
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
    search = GridSearchCV(small(max_epochs=3), {"n_thresholds": [2, 4]}, cv=2).fit(X, y)
    assert search.best_params_["n_thresholds"] in {2, 4}


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
        search = GridSearchCV(model, {"n_thresholds": [2]}, cv=2).fit(X, y, sample_weight=np.ones(60))
    assert search.best_estimator_.n_iter_ == 3


def test_validation_data_can_be_given(houses):
    """X_val and y_val decide the best epoch, and all rows of X are trained on."""
    X, y = houses
    model = small().fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
    assert all(loss is not None for loss in model.history_["validation_loss"])
    assert all(point.validation_error is not None for point in model.frontier_)
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
    model = small(n_networks=2, early_stopping=False).fit(X, y)
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
    """Callbacks get each epoch's record; True ends the fit, and the model is usable."""
    X, y = make_friedman1(80, random_state=0)
    seen = []
    model = small(callbacks=[lambda epoch: seen.append(epoch) or len(seen) == 4]).fit(X, y)
    assert [epoch.epoch for epoch in seen] == [1, 2, 3, 4]
    assert model.n_iter_ == 4


def test_an_error_in_a_callback_ends_the_fit():
    """What a callback raises comes out of fit, and the other networks stop."""
    X, y = make_friedman1(80, random_state=0)

    def fail(_epoch):
        message = "no more"
        raise RuntimeError(message)

    with pytest.raises(RuntimeError, match="no more"):
        small(n_networks=2, max_epochs=100_000, early_stopping=False, callbacks=[fail]).fit(X, y)


def test_ctrl_c_keeps_the_best_epoch_and_says_so():
    """Interrupted, fit warns and returns the best model so far."""
    X, y = make_friedman1(80, random_state=0)

    def press(epoch):
        if epoch.epoch == 3:
            raise KeyboardInterrupt

    with pytest.warns(FitInterruptedWarning, match="best epochs so far"):
        model = small(max_epochs=1000, callbacks=[press]).fit(X, y)
    assert model.n_iter_ == 3
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1e9, 1e200])
def test_targets_of_any_scale(scale):
    """A target a million times larger or smaller is fitted as well."""
    X, y = make_friedman1(150, random_state=0)
    prediction = small(max_epochs=60, early_stopping=False).fit(X, y * scale).predict(X)
    assert np.corrcoef(prediction / scale, y)[0, 1] > 0.8


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
    model = small(loss=loss, quantile=0.9, max_epochs=30).fit(X, y)
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
    assert small(max_epochs=40).fit(X, y).score(X, y) > 0.9


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
        ({"n_candidate_gates": 17}, "n_candidate_gates"),
        ({"temperature": 0.0}, "temperature"),
        ({"loss": "mse"}, "loss"),
        ({"quantile": 1.0}, "quantile"),
        ({"learning_rate": -1}, "learning_rate"),
        ({"straight_through": "gumbel"}, "straight_through"),
        ({"refit": "lasso"}, "refit"),
        ({"max_rules": 0}, "max_rules"),
        ({"categorical_features": ["nowhere"]}, "nowhere"),
    ],
)
def test_bad_parameters_get_one_sentence(houses, parameters, match):
    """A wrong parameter is named, with what was required."""
    X, y = houses
    with pytest.raises(ValueError, match=match):
        small(**parameters).fit(X, y)


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


def test_the_papers_model_differs_only_in_visible_parameters():
    """`paper` is the plain constructor with other values, and takes changes."""
    paper = DLNRegressor.paper(batch_size=64)
    assert paper.refit is None
    assert paper.batch_size == 64
    assert type(paper) is DLNRegressor


def test_verbose_shows_progress(capsys):
    """With verbose=1 a progress line appears on standard error; with 0 nothing does."""
    X, y = make_friedman1(60, random_state=0)
    small(max_epochs=2).fit(X, y)
    quiet = capsys.readouterr()
    assert quiet.err == quiet.out == ""
    small(max_epochs=2, verbose=2).fit(X, y)
    assert "best so far" in capsys.readouterr().err


def test_predict_reads_only_the_columns_of_the_rules(houses):
    """A column that no rule uses may hold anything, even text that was never seen."""
    X, y = houses
    X = X.assign(constant=1.0)
    model = small().fit(X, y)
    np.testing.assert_array_equal(model.predict(X.assign(constant=99.0)), model.predict(X))


def test_training_starts_soon_after_import():
    """With a warm cache, a fresh process is training within seconds of import."""
    code = (
        "import time; start = time.perf_counter(); from dln import DLNRegressor; imported = time.perf_counter();"
        "import numpy as np; X = np.random.default_rng(0).normal(size=(200, 5)); first = [];"
        "DLNRegressor(max_epochs=1, callbacks=[lambda e: first.append(time.perf_counter())]).fit(X, X[:, 0]);"
        "print(first[0] - imported)"
    )
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(2)]
    # Ten seconds on a loaded machine still tells a warm cache (about one) from a compilation (about thirty).
    assert float(runs[1].stdout) < 10
