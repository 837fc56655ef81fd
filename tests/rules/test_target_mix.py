"""The target of rules: teachers, folds, mixes, and screening."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dln.circuit._circuit import IsIn
from dln.data._division import IN_TURN, Folds
from dln.rules import _task
from dln.rules._bins import Inputs
from dln.rules._task import Sample, Task, most_telling_inputs
from dln.rules._teachers import Y_ONLY, CrossFitPredictions, Distillation, TargetMix, cross_fit, n_teachers
from learned import some_inputs, some_task, task_of


def sample_of(inputs, y, weight=None, counts=None):
    """Return a sample whose rows weigh one and count once, unless given."""
    n = len(y)
    weight, counts = np.ones(n) if weight is None else weight, np.ones(n, np.int64) if counts is None else counts
    return Sample(inputs, y, weight, counts, 5.0 * float(weight.sum() / counts.sum()))


def plain_folds(n, n_folds=5):
    """Return the folds of rows that weigh one and are held out whole, in turn."""
    return IN_TURN.folds(np.ones(n), n_folds, np.ones(n, np.int64))


def predictions_of(folds, n_synthetic=7):
    """Return predictions in which the teachers of fold k predict 100 k + row."""
    n_folds, n = folds.training.shape
    by_fold = 100.0 * np.arange(n_folds)[:, np.newaxis] + np.arange(n)
    synthetic = 100.0 * np.arange(n_folds)[:, np.newaxis] + np.arange(n_synthetic)
    return CrossFitPredictions(by_fold, synthetic, 0.5)


def test_out_of_fold_predictions_are_of_teachers_that_have_not_seen_the_row():
    """A row's out-of-fold prediction is of its own fold's teachers, its in-fold prediction the mean of the others'."""
    folds, rows = plain_folds(20), np.arange(20)
    predictions = predictions_of(folds)
    np.testing.assert_array_equal(predictions.mean(folds.held_out), 100.0 * (rows % 5) + rows)
    in_fold = predictions.mean(folds.training)
    for i in range(20):
        others = [predictions.by_fold[k, i] for k in range(5) if k != i % 5]
        assert in_fold[i] == pytest.approx(np.mean(others))


def test_a_row_held_out_in_parts_is_predicted_as_its_copies_would_be_on_average():
    """A row of weight four that is dealt to two folds as 3 and 1 has the mean prediction of four such rows."""
    parts = np.array([[3.0, 1.0], [1.0, 0.0]])
    folds = Folds(parts, np.array([4.0, 1.0]) - parts)
    predictions = predictions_of(folds)
    assert predictions.mean(folds.held_out)[0] == pytest.approx((3 * 0.0 + 1 * 100.0) / 4)
    assert predictions.mean(folds.training)[0] == pytest.approx((1 * 0.0 + 3 * 100.0) / 4)


def test_rows_in_few_folds_have_the_labels_that_there_are():
    """A row never held out has in-fold labels, one never trained on the others, one in no fold its own target."""
    inputs = some_inputs(np.random.default_rng(0), 4, 2, 0)
    sample = sample_of(inputs, np.array([1.0, 2.0, 3.0, 4.0]))
    folds = Folds(np.array([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]), np.array([[1.0, 0, 0, 0], [1.0, 1.0, 0, 0]]))
    predictions = predictions_of(folds)
    np.testing.assert_array_equal(predictions.mean(folds.held_out), [np.nan, 1.0, 102.0, np.nan])
    np.testing.assert_array_equal(predictions.mean(folds.training), [50.0, 101.0, np.nan, np.nan])
    task = Distillation(sample, folds, inputs.at(np.arange(7) % 4), predictions).task(
        TargetMix(0.0, use_synthetic=True)
    )
    np.testing.assert_array_equal(task.target[:4], [50.0, 51.0, 102.0, 4.0])


def test_a_trial_sees_nothing_of_its_fold():
    """The task of a trial has the other rows only, labelled by teachers that have not seen the fold either."""
    rng = np.random.default_rng(0)
    inputs = some_inputs(rng, 20, 2, 2)
    sample, folds = sample_of(inputs, rng.normal(size=20)), plain_folds(20)
    distillation = Distillation(sample, folds, inputs.at(np.arange(7)), predictions_of(folds))
    for fold in range(5):
        others = np.flatnonzero(np.arange(20) % 5 != fold)
        task = distillation.training_task(TargetMix(0.25, use_synthetic=True), fold)
        labels = 100.0 * fold + others
        np.testing.assert_allclose(task.target[:16], 0.25 * sample.y[others] + 0.75 * labels)
        np.testing.assert_allclose(task.target[16:], 100.0 * fold + np.arange(7))
        np.testing.assert_array_equal(distillation.held_out(fold).y, sample.y[fold::5])
        assert task.weight[:16].sum() == pytest.approx(task.weight[16:].sum())
    np.testing.assert_array_equal(distillation.task(Y_ONLY).target, sample.y)
    whole = distillation.task(TargetMix(1.0, use_synthetic=True))
    np.testing.assert_array_equal(whole.target[20:], 200.0 + np.arange(7))


def test_a_trial_learns_from_the_weight_that_its_fold_does_not_hold_out():
    """A row that several folds hold out in part is learned from and judged by, with the weight that each has of it."""
    inputs = some_inputs(np.random.default_rng(0), 3, 2, 0)
    weight, counts = np.array([10.0, 1.0, 2.0]), np.array([10, 1, 2])
    sample = sample_of(inputs, np.array([1.0, 2.0, 3.0]), weight, counts)
    folds = IN_TURN.folds(weight, 2, counts)
    distillation = Distillation(sample, folds, inputs.at(np.arange(0)), None)
    for fold in range(2):
        task, held_out = distillation.training_task(Y_ONLY, fold), distillation.held_out(fold)
        left = weight - folds.held_out[fold]
        np.testing.assert_allclose(task.weight, left[left > 0] / left[left > 0].mean())
        np.testing.assert_array_equal(held_out.weight, folds.held_out[fold][folds.held_out[fold] > 0])


def cross_fitted(sample, n_kinds, run=map, synthetic=None, stop=lambda: False):
    """Return cross-fitted predictions of some kinds of teachers."""
    folds = IN_TURN.folds(sample.weight, 5, sample.counts)
    synthetic = sample.inputs if synthetic is None else synthetic
    return cross_fit(sample, folds, synthetic, n_kinds, 0, run, stop=stop, advance=lambda: None)


def test_teachers_are_ahead_of_the_mean_and_blended(friedman):
    """On a smooth target teachers explain most of rows that they have not seen, in the target's own units."""
    rows = np.arange(200)
    sample = sample_of(friedman.inputs.at(rows), friedman.target[rows])
    synthetic = sample.inputs.at(rows[:50])
    with ThreadPoolExecutor(2) as pool:
        predictions = cross_fitted(sample, 2, pool.map, synthetic)
    assert predictions.explained > 0.6
    folds = plain_folds(200)
    error = np.mean((predictions.mean(folds.held_out) - sample.y) ** 2)
    assert predictions.explained == pytest.approx(1 - error / np.var(sample.y))
    assert np.mean((predictions.mean(folds.training) - sample.y) ** 2) < error
    assert predictions.synthetic_by_fold.shape == (5, 50)
    again = cross_fitted(sample, 2, synthetic=synthetic)
    np.testing.assert_array_equal(again.by_fold, predictions.by_fold)


def test_teachers_in_threads_leave_warnings_alone(friedman):
    """Forests in threads side by side neither warn nor change which warnings are shown."""
    rows = np.arange(120)
    sample = sample_of(friedman.inputs.at(rows), friedman.target[rows])
    before = list(warnings.filters)
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            cross_fitted(sample, 1, pool.map)
    assert warnings.filters == before


def test_all_kinds_of_teachers_take_missing_numbers_and_bits():
    """Four kinds of teachers learn from numbers, missing ones among them, and yes-no inputs."""
    task = some_task(0, n_rows=80)
    predictions = cross_fitted(sample_of(task.inputs, task.target, task.weight), 4)
    assert np.isfinite(predictions.by_fold).all()
    assert np.isfinite(predictions.synthetic_by_fold).all()


def test_without_time_for_all_teachers_there_are_none(friedman):
    """Without time for all teachers there are no predictions."""
    rows = np.arange(60)
    sample = sample_of(friedman.inputs.at(rows), friedman.target[rows])
    assert cross_fitted(sample, 1, stop=lambda: True) is None


def test_the_number_of_teachers():
    """Kernel machines are for up to 6000 rows; no more kinds are counted than `n_kinds`."""
    assert [n_teachers(rows, kinds) for rows, kinds in ((100, 4), (6001, 4), (100, 1), (100, 0))] == [4, 2, 1, 0]


def test_wide_tables_are_screened(monkeypatch):
    """Of too many inputs those are kept whose best test explains most, ascending; of few all."""
    rng = np.random.default_rng(0)
    inputs = some_inputs(rng, 300, 40, 0)
    y = 3.0 * (inputs.bins[31] > 4) + 2.0 * (inputs.bins[7] > 4) + 0.1 * rng.normal(size=300)
    sample = sample_of(inputs, y)
    assert most_telling_inputs(sample).tolist() == list(range(40))
    monkeypatch.setattr(_task, "MAX_INPUTS", 5)
    kept = most_telling_inputs(sample).tolist()
    assert len(kept) == 5
    assert kept == sorted(kept)
    assert {7, 31} <= set(kept)


def test_a_task_has_weights_of_mean_one_and_a_centred_target():
    """The scale of the weights does not matter."""
    task = some_task(3)
    other = task_of(task.inputs, task.target, 7.0 * task.weight)
    np.testing.assert_allclose(other.weight, task.weight)
    assert task.weight.mean() == pytest.approx(1.0)
    assert task.weight @ task.centred == pytest.approx(0.0, abs=1e-9)
    assert task.first_rows(10).n_rows == 10
    assert task.first_rows(1000) is task


@pytest.mark.parametrize(("min_weight", "n_found"), [(0.9, 2), (5.0, 0)])
def test_one_row_makes_no_rule(min_weight, n_found):
    """One row of the table weighs as much as many synthetic rows, and is still one: no rule is made for it."""
    bits = (np.arange(440) == 0).astype(np.uint8)
    task = Task(
        Inputs((IsIn(0, (1,)),), bits[np.newaxis], np.array([2], np.int32)),
        100.0 * bits,
        np.repeat([1.0, 0.1], [40, 400]),
        min_weight,
    )
    assert len(task.scanner.alone(np.ones(440, np.bool_), task.centred, 4)) == n_found
