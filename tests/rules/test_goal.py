"""What students learn: teachers, synthetic rows, folds, screening and the deadline."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given

from dln import _interrupt
from dln._interrupt import Deadline
from dln.circuit._circuit import Column
from dln.data._encoding import learn_encoder
from dln.data._folds import fold_weights
from dln.rules import _screen
from dln.rules._goal import Y_ALONE, Distillation, Goal, Sample
from dln.rules._inputs import bin_inputs
from dln.rules._screen import screened
from dln.rules._synthetic import synthetic_rows
from dln.rules._task import Task
from dln.rules._teachers import CrossFitPredictions, n_teachers, teach
from learned import seeds, some_inputs, some_task


def sample_of(inputs, y, weight=None, counts=None):
    """Return a sample whose rows weigh one and count once, unless given."""
    n = len(y)
    weight, counts = np.ones(n) if weight is None else weight, np.ones(n, np.int64) if counts is None else counts
    return Sample(inputs, y, weight, counts, float(weight.sum() / counts.sum()))


def plain_folds(n, n_folds=5):
    """Return the folds of rows that weigh one and are held out whole, in turn."""
    return fold_weights(np.ones(n), n_folds, np.ones(n, np.int64))


def predictions_of(parts, n_synthetic=7):
    """Return predictions in which the teachers of fold k predict 100 k + row."""
    n_folds, n = parts.shape
    by_fold = 100.0 * np.arange(n_folds)[:, np.newaxis] + np.arange(n)
    synthetic = 100.0 * np.arange(n_folds)[:, np.newaxis] + np.arange(n_synthetic)
    return CrossFitPredictions(parts, by_fold, synthetic, 0.5)


def test_out_of_fold_predictions_are_of_teachers_that_have_not_seen_the_row():
    """A row's out-of-fold prediction is of its own fold's teachers, its in-fold prediction the mean of the others'."""
    predictions = predictions_of(plain_folds(20))
    rows = np.arange(20)
    np.testing.assert_array_equal(predictions.out_of_fold, 100.0 * (rows % 5) + rows)
    for i in range(20):
        others = [predictions.by_fold[k, i] for k in range(5) if k != i % 5]
        assert predictions.in_fold[i] == pytest.approx(np.mean(others))
    np.testing.assert_array_equal(predictions.synthetic, 200.0 + np.arange(7))


def test_a_row_held_out_in_parts_is_predicted_as_its_copies_would_be_on_average():
    """A row of weight four that is dealt to two folds as 3 and 1 has the mean prediction of four such rows."""
    parts = np.array([[3.0, 1.0], [1.0, 0.0]])
    predictions = predictions_of(parts)
    assert predictions.out_of_fold[0] == pytest.approx((3 * 0.0 + 1 * 100.0) / 4)
    assert predictions.in_fold[0] == pytest.approx((1 * 0.0 + 3 * 100.0) / 4)


def test_a_trial_sees_nothing_of_its_fold():
    """The task of a trial has the other rows only, labelled by teachers that have not seen the fold either."""
    rng = np.random.default_rng(0)
    inputs = some_inputs(rng, 20, 2, 2)
    sample, parts = sample_of(inputs, rng.normal(size=20)), plain_folds(20)
    distillation = Distillation(sample, parts, inputs.at(np.arange(7)), predictions_of(parts))
    for fold in range(5):
        others = np.flatnonzero(np.arange(20) % 5 != fold)
        task = distillation.trial_task(Goal(0.25, synthetic=True), fold)
        labels = 100.0 * fold + others
        np.testing.assert_allclose(task.target[:16], 0.25 * sample.y[others] + 0.75 * labels)
        np.testing.assert_allclose(task.target[16:], 100.0 * fold + np.arange(7))
        np.testing.assert_array_equal(distillation.aside(fold).y, sample.y[fold::5])
        assert task.weight[:16].sum() == pytest.approx(task.weight[16:].sum())
    whole = distillation.task(Goal(1.0, synthetic=False))
    np.testing.assert_array_equal(whole.target, sample.y)


def test_a_trial_learns_from_the_weight_that_its_fold_does_not_hold_out():
    """A row that several folds hold out in part is learned from and judged by, with the weight that each has of it."""
    inputs = some_inputs(np.random.default_rng(0), 3, 2, 0)
    weight, counts = np.array([10.0, 1.0, 2.0]), np.array([10, 1, 2])
    sample = sample_of(inputs, np.array([1.0, 2.0, 3.0]), weight, counts)
    parts = fold_weights(weight, 2, counts)
    distillation = Distillation(sample, parts, inputs.at(np.arange(0)), None)
    for fold in range(2):
        task, aside = distillation.trial_task(Y_ALONE, fold), distillation.aside(fold)
        left = weight - parts[fold]
        np.testing.assert_allclose(task.weight / task.row_weight, left[left > 0])
        np.testing.assert_array_equal(aside.weight, parts[fold][parts[fold] > 0])


def test_teachers_are_ahead_of_the_mean_and_blended(friedman):
    """On a smooth target teachers explain most of rows that they have not seen, in the target's own units."""
    rows = np.arange(200)
    inputs, y = friedman.inputs.at(rows), friedman.target[rows]
    parts = plain_folds(200)
    with ThreadPoolExecutor(2) as pool:
        predictions = teach(inputs, inputs.at(rows[:50]), y, np.ones(200), parts, 2, 0, pool.map, stop=lambda: False)
    assert predictions.explained > 0.6
    error = np.mean((predictions.out_of_fold - y) ** 2)
    assert predictions.explained == pytest.approx(1 - error / np.var(y))
    assert np.mean((predictions.in_fold - y) ** 2) < error
    assert predictions.synthetic.shape == (50,)
    again = teach(inputs, inputs.at(rows[:50]), y, np.ones(200), parts, 2, 0, map, stop=lambda: False)
    np.testing.assert_array_equal(again.by_fold, predictions.by_fold)


def test_teachers_in_threads_leave_warnings_alone(friedman):
    """Forests in threads side by side neither warn nor change which warnings are shown."""
    rows = np.arange(120)
    inputs, y = friedman.inputs.at(rows), friedman.target[rows]
    before = list(warnings.filters)
    with ThreadPoolExecutor(4) as pool:
        for seed in range(3):
            teach(inputs, inputs, y, np.ones(120), plain_folds(120), 1, seed, pool.map, stop=lambda: False)
    assert warnings.filters == before


def test_all_kinds_of_teachers_take_missing_numbers_and_bits():
    """Four kinds of teachers learn from numbers, missing ones among them, and bits."""
    task = some_task(0, n_rows=80)
    parts = fold_weights(task.weight, 5, np.ones(80, np.int64))
    predictions = teach(task.inputs, task.inputs, task.target, task.weight, parts, 4, 0, map, stop=lambda: False)
    assert np.isfinite(predictions.by_fold).all()
    assert np.isfinite(predictions.synthetic).all()


def test_teachers_without_time_say_nothing(friedman):
    """Where there is no time for all teachers there are no predictions."""
    rows = np.arange(60)
    inputs = friedman.inputs.at(rows)
    assert (
        teach(inputs, inputs, friedman.target[rows], np.ones(60), plain_folds(60), 1, 0, map, stop=lambda: True) is None
    )


def test_the_number_of_teachers():
    """Kernel machines are for up to 6000 rows; no more kinds are counted than asked for."""
    assert [n_teachers(rows, kinds) for rows, kinds in ((100, 4), (6001, 4), (100, 1), (100, 0))] == [4, 2, 1, 0]


@given(seeds)
def test_synthetic_rows_mix_values_that_exist(seed):
    """Every column of a synthetic row has the value of one and the same real row: category bits stay consistent."""
    rng = np.random.default_rng(seed)
    columns = (Column("x"), Column("c", ("a", "b", "c", "d")), Column("z"))
    values = [np.where(rng.random(40) < 0.2, np.nan, rng.random(40)), rng.integers(-1, 4, 40), rng.random(40)]
    encoder = learn_encoder(columns, values, np.ones(40))
    of_column = [scaled.column for scaled in encoder.scaled] + [literal.column for literal in encoder.bits]
    encoded = encoder.encode(values)
    inputs = bin_inputs(encoded.numbers, encoded.bits, of_column)
    synthetic = synthetic_rows(inputs, rng.integers(1, 3, 40).astype(float), 60, [seed])
    assert synthetic.n_rows == 60
    for column in range(3):
        own = [k for k, j in enumerate(of_column) if j == column]
        real = {row.tobytes() for row in inputs.bins[own].T}
        assert {row.tobytes() for row in synthetic.bins[own].T} <= real
    np.testing.assert_array_equal(inputs.keep(np.arange(inputs.n_inputs)).n_bins, synthetic.n_bins)
    for k in range(len(inputs.cutoffs)):
        for b, cutoff in enumerate(inputs.cutoffs[k].astype(np.float32)):
            np.testing.assert_array_equal(synthetic.numbers[k] > cutoff, synthetic.bins[k] > b)


def test_synthetic_rows_are_new_and_none_is_none():
    """Some synthetic rows are in no table, rows of weight zero give nothing, and no rows may be asked for."""
    inputs = some_inputs(np.random.default_rng(0), 50, 4, 2)
    weight = np.where(np.arange(50) < 25, 1.0, 0.0)
    synthetic = synthetic_rows(inputs, weight, 200, [0])
    real = {row.tobytes() for row in inputs.bins.T}
    assert any(row.tobytes() not in real for row in synthetic.bins.T)
    used = {row.tobytes() for row in inputs.bins[:1, :25].T}
    assert {row.tobytes() for row in synthetic.bins[:1].T} <= used
    assert synthetic_rows(inputs, weight, 0, [0]).n_rows == 0


def test_wide_tables_are_screened(monkeypatch):
    """Of too many inputs those are kept whose best test explains most, ascending; of few all."""
    rng = np.random.default_rng(0)
    inputs = some_inputs(rng, 300, 40, 0)
    y = 3.0 * (inputs.bins[31] > 4) + 2.0 * (inputs.bins[7] > 4) + 0.1 * rng.normal(size=300)
    sample = sample_of(inputs, y)
    assert screened(sample).tolist() == list(range(40))
    monkeypatch.setattr(_screen, "MAX_INPUTS", 5)
    kept = screened(sample).tolist()
    assert len(kept) == 5
    assert kept == sorted(kept)
    assert {7, 31} <= set(kept)


def test_a_clock_without_a_limit_stops_when_asked():
    """Nothing is cut until somebody asks; then every stage is, and is named once."""
    deadline = Deadline()
    stop = deadline.stage("networks")
    assert not stop()
    assert not deadline.over()
    assert deadline.cut == []
    deadline.cancel()
    assert stop()
    assert stop()
    assert deadline.was_cancelled
    assert deadline.over()
    assert deadline.cut == ["networks"]


def test_a_clock_shares_out_what_is_left(monkeypatch):
    """A stage may take its share of what is left when it begins; the whole ends when the time is over."""
    now = [100.0]
    monkeypatch.setattr(_interrupt.time, "monotonic", lambda: now[0])
    deadline = Deadline(10.0)
    half = deadline.stage("teachers", 0.5)
    now[0] = 104.9
    assert not half()
    now[0] = 105.1
    assert half()
    rest = deadline.stage("rules", 0.5)
    now[0] = 107.5
    assert not rest()
    now[0] = 107.6
    assert rest()
    assert not deadline.over()
    now[0] = 110.1
    assert deadline.over()
    late = deadline.stage("late")
    now[0] = 110.2
    assert late()
    assert deadline.cut == ["teachers", "rules", "late"]


def test_a_task_has_weights_of_mean_one_and_a_centred_target():
    """Whatever the scale of the weights, the task is the same."""
    task = some_task(3)
    other = Task(task.inputs, task.target, 7.0 * task.weight)
    np.testing.assert_allclose(other.weight, task.weight)
    assert task.weight.mean() == pytest.approx(1.0)
    assert task.weight @ task.centred == pytest.approx(0.0, abs=1e-9)
    assert task.first_rows(10).n_rows == 10
    assert task.first_rows(1000) is task


@pytest.mark.parametrize(("row_weight", "n_found"), [(None, 2), (1.0, 0)])
def test_one_row_makes_no_rule(row_weight, n_found):
    """One row of the table weighs as much as many synthetic rows, and is still one: no rule is made for it."""
    bits = np.zeros((440, 1), np.float32)
    bits[0] = 1.0
    task = Task(
        bin_inputs(np.empty((440, 0), np.float32), bits, [0]),
        np.where(bits[:, 0] > 0, 100.0, 0.0),
        np.repeat([1.0, 0.1], [40, 400]),
        row_weight,
    )
    assert len(task.scanner.alone(np.ones(440, np.bool_), task.centred, 4)) == n_found
