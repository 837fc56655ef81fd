from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mapie.regression import SplitConformalRegressor
from sklearn.linear_model import Ridge

import dln
from commands import fit_houses, houses, run, write
from dln import ModelFileError, RuleRegressor
from dln._saving import to_saved
from dln.readers._intervals import STEPS, Intervals, Scale, conformal_intervals
from dln.readers.model_file import from_bytes, to_bytes
from models import SMALL, frame, target

COVERAGES = [0.005, 0.1, 0.5, 0.8, 0.9, 0.95, 0.99, 0.995]


def set_aside(predictions, y, weight=None) -> Intervals:
    """Return the intervals from predictions for rows set aside."""
    return conformal_intervals(predictions, y, weight, "rows set aside")


def fitted() -> tuple[RuleRegressor, object, object]:
    """Return a model with a table that it has not seen, and its target."""
    seen, unseen = frame(200, seed=0), frame(300, seed=1)
    rng = np.random.default_rng(0)
    model = RuleRegressor(**SMALL).fit(seen, target(seen) + rng.normal(size=200))
    return model, unseen, target(unseen) + rng.normal(size=300)


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9, 0.95, 0.99])
def test_as_wide_as_those_of_mapie(coverage):
    """Intervals from rows set aside are those of MAPIE, but for the rounding to four digits, which is upwards."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 3))
    y = X @ [1.0, -2.0, 0.5] + rng.standard_t(3, size=700)
    model = Ridge().fit(X[:300], y[:300])
    peer = SplitConformalRegressor(model, confidence_level=coverage, prefit=True).conformalize(X[300:500], y[300:500])
    _, expected = peer.predict_interval(X[500:])
    half_width = set_aside(model.predict(X[300:500]), y[300:500]).half_width(coverage)
    widths = (expected[:, 1, 0] - expected[:, 0, 0]) / 2
    assert np.all(half_width >= widths - 1e-9)
    np.testing.assert_allclose(half_width, widths, rtol=10**-3)


@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=60),
    st.lists(st.sampled_from(COVERAGES), min_size=2, max_size=2),
)
def test_bands_never_cross(errors, coverages):
    """Wider coverage gives wider intervals, and each holds at least its share of the rows it was learned from."""
    intervals = conformal_intervals(errors, np.zeros(len(errors)), None, "folds")
    low, high = (intervals.half_width(coverage) for coverage in sorted(coverages))
    assert low <= high
    for coverage in coverages:
        assert np.mean(np.array(errors) <= intervals.half_width(coverage)) >= coverage * (1 - 1e-9)


@given(
    st.lists(st.tuples(st.floats(0, 100), st.integers(0, 4)), min_size=1, max_size=30).filter(
        lambda rows: any(w for _, w in rows)
    )
)
def test_a_weight_is_a_number_of_rows(rows):
    """A row of weight k counts as k rows, a row of weight zero as none."""
    errors, weights = np.array([error for error, _ in rows]), np.array([weight for _, weight in rows])
    weighted = set_aside(errors, np.zeros(len(rows)), weights)
    repeated = set_aside(np.repeat(errors, weights), np.zeros(weights.sum()))
    assert weighted == repeated


def test_small_weights_are_no_small_numbers_of_rows():
    """Weights that add up to one are shares: the intervals are those of equal weights."""
    errors = np.arange(100.0)
    shares = set_aside(errors, np.zeros(100), np.full(100, 0.01))
    assert shares.widths == set_aside(errors, np.zeros(100)).widths


def test_coverage_is_what_it_says():
    """Over many draws, the share of new rows that are covered is the coverage, or a little more, even of few rows."""
    rng = np.random.default_rng(0)
    for n_rows, coverage in ((19, 0.9), (99, 0.9), (400, 0.8)):
        covered = []
        for _ in range(4000):
            errors = rng.standard_cauchy(n_rows + 1)
            half_width = set_aside(errors[:-1], np.zeros(n_rows)).half_width(coverage)
            covered.append(abs(errors[-1]) <= half_width)
        assert coverage - 0.015 <= np.mean(covered) <= coverage + 1 / n_rows + 0.015


def test_too_few_rows_promise_nothing():
    """Nine rows are enough for 90 %, eight are not: then the interval has no end."""
    assert set_aside(np.arange(9.0), np.zeros(9)).half_width(0.9) == 8
    assert set_aside(np.arange(8.0), np.zeros(8)).half_width(0.9) == np.inf


@pytest.mark.parametrize("coverage", [0, 1, -0.1, 90, float("nan")])
def test_coverages_that_cannot_be(coverage):
    """A coverage that is no share is refused with an example."""
    with pytest.raises(ValueError, match=r"coverage must be from 0.005 to 0.995, got .*nine rows of ten"):
        Intervals((1.0,), "folds", 1.0).half_width(coverage)


def test_a_calibrated_model(tmp_path: Path):
    """A model learns its intervals from rows set aside, keeps them in its file, and shows them where it explains."""
    model, X, y = fitted()
    with pytest.raises(AttributeError, match=r"call calibrate\(X, y\) with rows that were not part of fit"):
        model.prune(2).predict_interval(X)
    assert model.calibrate(X[:200], y[:200]) is model
    covered = {}
    for coverage in COVERAGES:
        low, high = model.predict_interval(X[200:], coverage).T
        assert np.all(low <= high)
        covered[coverage] = np.mean((low <= y[200:]) & (y[200:] <= high))
    assert 0.82 <= covered[0.9] <= 0.98
    assert list(covered.values()) == sorted(covered.values())
    model.save(tmp_path / "m.dln")
    loaded = dln.load(tmp_path / "m.dln")
    assert loaded.intervals_ == model.intervals_
    assert loaded.predict_interval(X).tobytes() == model.predict_interval(X).tobytes()
    explanation = loaded.explain(X[:1])[0]
    assert explanation.interval == tuple(model.predict_interval(X[:1])[0])
    assert "(90 % interval: " in repr(explanation)
    assert not hasattr(model.prune(2), "intervals_"), "they are of the larger model"
    assert model.fit(X, y).intervals_.source == "folds", "they are of the new fit"


def test_residuals_that_cannot_be():
    """Rows that do not match, numbers that are not finite and weights that are no weights are refused."""
    with pytest.raises(ValueError, match="one number per row each, got shapes"):
        set_aside([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match=r"must be finite, but row 1 has nan and 2\.0"):
        set_aside([1.0, np.nan], [1.0, 2.0])
    with pytest.raises(ValueError, match="must not be negative"):
        set_aside([1.0, 2.0], [1.0, 2.0], [1.0, -1.0])


@pytest.mark.parametrize(
    "widths",
    [(1.0, 0.5), (-1.0,), (float("inf"),), tuple(range(STEPS))],
    ids=["descend", "negative", "infinite", "many"],
)
def test_damaged_intervals_are_refused(widths):
    """Widths that a model could not have written are refused in a file."""
    model, X, y = fitted()
    saved = to_saved(model.calibrate(X, y))
    damaged = replace(saved, intervals=Intervals(widths, "folds", 3.0))
    with pytest.raises((ModelFileError, ValueError)):
        from_bytes(to_bytes(damaged))
    assert from_bytes(to_bytes(saved)).intervals == saved.intervals


def test_intervals_on_the_command_line(tmp_path: Path):
    """`dln fit` learns intervals from its test rows; `predict --interval` and `explain` show them."""
    model = fit_houses(tmp_path)
    assert dln.load(model).intervals_.source == "rows set aside"
    result = run("predict", str(model), str(tmp_path / "houses.csv"), "--interval", "0.8")
    assert result.exit_code == 0, result.stderr
    rows = [list(map(float, line.split(","))) for line in result.stdout.splitlines()[1:]]
    assert result.stdout.splitlines()[0] == "prediction,lower,upper"
    low, high = dln.load(model).intervals_.ends([row[0] for row in rows], 0.8)
    assert [row[1:] for row in rows] == np.stack([low, high], axis=1).tolist()
    assert "90 % interval: " in run("explain", str(model), str(tmp_path / "houses.csv")).stdout
    result = run("predict", str(model), str(tmp_path / "houses.csv"), "--interval", "90")
    assert result.exit_code == 2
    assert "--interval: coverage must be from 0.005 to 0.995, got 90.0" in result.stderr
    write(tmp_path, {"named.csv": houses(lower=[0] * 60)})
    result = run("predict", str(model), str(tmp_path / "named.csv"), "--interval", "0.9", "--with-input")
    assert "has a column 'lower' already" in result.stderr


def test_a_pruned_model_has_no_intervals(tmp_path: Path):
    """A pruned model knows no errors of its own, and says what would help."""
    model = fit_houses(tmp_path, "--test-size", "0")
    assert dln.load(model).intervals_.source == "folds", "of the rows that chose the epoch"
    run("prune", str(model), "--max-conditions", "1", "-o", str(model), "--force")
    result = run("predict", str(model), str(tmp_path / "houses.csv"), "--interval", "0.9")
    assert result.exit_code == 2
    assert "has no prediction intervals: dln fit computes them where it has test rows" in result.stderr


def growing(n_rows: int, seed: int):
    """Return predictions and targets whose errors grow with the prediction."""
    rng = np.random.default_rng(seed)
    predictions = rng.uniform(0, 10, n_rows).round(3)
    return predictions, predictions + (0.2 + 0.3 * predictions) * rng.standard_t(4, n_rows)


def test_widths_follow_the_prediction():
    """Where errors grow with the prediction, each fifth of the predictions is covered alike, in narrower intervals."""
    scaled = conformal_intervals(*growing(2000, 0), None, "folds", scale=None)
    constant = conformal_intervals(*growing(2000, 0), None, "folds")
    predictions, y = growing(20_000, 1)
    low, high = scaled.ends(predictions, 0.9)
    by_fifth = (low <= y) & (y <= high)
    shares = [by_fifth[predictions // 2 == fifth].mean() for fifth in range(5)]
    assert min(shares) > 0.86
    assert max(shares) < 0.94
    assert (high - low).mean() < 2 * constant.half_width(0.9)
    inside = np.abs(predictions - y) <= constant.half_width(0.9)
    assert inside[predictions < 2].mean() > 0.98
    assert inside[predictions > 8].mean() < 0.82


def test_coverage_with_a_scale_is_what_it_says():
    """With a scale from other rows, the share of new rows that are covered is the coverage, even of few rows."""
    scale = conformal_intervals(*growing(100, 0), None, "folds", scale=None).scale
    assert len(set(scale.factors)) > 1
    covered = []
    for seed in range(3000):
        predictions, y = growing(20, seed)
        intervals = conformal_intervals(predictions[:-1], y[:-1], None, "rows set aside", scale=scale)
        low, high = intervals.ends(predictions[-1:], 0.9)
        covered.append(low[0] <= y[-1] <= high[0])
    assert 0.885 <= np.mean(covered) <= 0.965


@given(
    st.lists(st.tuples(st.integers(-5, 5), st.floats(0, 100), st.integers(0, 4)), min_size=1, max_size=80).filter(
        lambda rows: any(w for *_, w in rows)
    )
)
def test_a_scale_takes_weights_for_numbers_of_rows(rows):
    """A scale learned from a row of weight k is that of k rows, in any order; its mean is one, but for rounding."""
    predicted, errors, weights = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    weighted = conformal_intervals(predicted, predicted + errors, weights, "folds", scale=None)
    again = np.repeat(np.arange(len(rows)), weights.astype(int))[::-1]
    repeated = conformal_intervals(predicted[again], (predicted + errors)[again], None, "folds", scale=None)
    assert weighted.scale.edges == repeated.scale.edges
    np.testing.assert_allclose(weighted.scale.factors, repeated.scale.factors, rtol=1e-3)
    assert np.average(weighted.scale.at(predicted), weights=weights) == pytest.approx(1, rel=1e-3)


def test_ends_are_what_a_target_can_be():
    """No end lies below zero where no target did, nor beyond the range by more than a tenth; predictions may."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 2))
    y = 100 * X[:, 0] ** 4 + rng.exponential(5, 300)
    model = RuleRegressor(**SMALL).fit(X, y)
    low, high = model.predict_interval(X, 0.95).T
    assert low.min() == 0
    assert high.max() <= y.max() + 0.1 * (y.max() - y.min())
    below = RuleRegressor(**SMALL).fit(X, y - 50).predict_interval(X, 0.95)[:, 0]
    assert below.min() >= (y - 50).min() - 0.1 * (y.max() - y.min())
    assert len(model.intervals_.scale.factors) > 1
    assert model.calibrate(X, y).intervals_.scale == RuleRegressor(**SMALL).fit(X, y).intervals_.scale


@pytest.mark.parametrize(
    ("edges", "factors"),
    [((1.0,), (1.0,)), ((2.0, 1.0), (1.0, 1.0, 1.0)), ((), (0.0,)), ((), (float("inf"),)), ((1.0,), ())],
    ids=["few", "descend", "zero", "infinite", "none"],
)
def test_damaged_scales_are_refused(edges, factors):
    """A scale that a model could not have written is refused in a file."""
    model, X, y = fitted()
    saved = to_saved(model.calibrate(X, y))
    damaged = replace(saved, intervals=replace(saved.intervals, scale=Scale(edges, factors)))
    with pytest.raises((ModelFileError, ValueError)):
        from_bytes(to_bytes(damaged))
