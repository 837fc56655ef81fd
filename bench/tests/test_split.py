"""The protocol: the paper's splits and clipping, recovered from its scores of linear regression."""

import csv
import statistics
from importlib.resources import files

import numpy as np
import pytest
from sklearn.metrics import r2_score

from bench_tables import SHARED
from dln_bench import datasets
from dln_bench._split import split
from dln_bench.models._models import MODELS


@pytest.mark.skipif(not (SHARED / "yacht.csv").exists(), reason="the fifteen tables are not here: set DLN_DATA_HOME")
def test_linear_regression_gives_the_papers_digits(monkeypatch):
    """Under the protocol, mean and standard deviation of R² are as printed in the paper on at least ten tables."""
    monkeypatch.setenv("DLN_DATA_HOME", str(SHARED))
    with (files("dln_bench") / "report" / "paper" / "r2.csv").open() as file:
        printed = {row["dataset"]: row for row in csv.DictReader(file) if row["model"] == "linear"}
    agree = []
    for name in datasets.names():
        scores = []
        for seed in range(10):
            rows = split(name, seed)
            model = MODELS["linear"].make(datasets.facts(name), seed).fit(rows.X_train, rows.y_train)
            scores.append(r2_score(rows.y_test, model.predict(rows.X_test)))
        found = {"mean_r2": statistics.mean(scores), "std_r2": statistics.stdev(scores)}
        if all(_rounded(value, printed[name][key]) == float(printed[name][key]) for key, value in found.items()):
            agree.append(name)
    assert len(agree) >= 10, agree


def _rounded(value, like):
    """Return a number with as many decimals as a printed one."""
    return round(value, len(like.partition(".")[2]))


@pytest.mark.usefixtures("made")
def test_limits_are_percentiles_of_the_training_rows():
    """Numbers of training and test rows lie between the training rows' percentiles, targets under "paper" alone."""
    paper, plain = split("yacht", 3), split("yacht", 3, "plain")
    X, y = datasets.load("yacht")
    low, high = np.percentile(X["size"].loc[paper.X_train.index], [0.5, 99.5])
    for rows in (paper.X_train, paper.X_test, plain.X_train, plain.X_test):
        assert rows["size"].to_numpy() == pytest.approx(X["size"].loc[rows.index].clip(low, high).to_numpy())
    low, high = np.percentile(y.loc[paper.y_train.index], [0.5, 99.5])
    assert paper.y_train.equals(y.loc[paper.y_train.index].clip(low, high))
    assert paper.y_test.equals(y.loc[paper.y_test.index].clip(low, high))
    assert plain.y_test.equals(y.loc[plain.y_test.index])
    assert not plain.y_train.equals(paper.y_train)


@pytest.mark.usefixtures("made")
def test_missing_values_stay_missing(monkeypatch):
    """A column with missing values is clipped at the percentiles of the values that are there."""
    X, y = datasets.load("yacht")
    monkeypatch.setattr(datasets, "load", lambda _: (X.assign(age=X["age"].where(X["age"] > 10)), y))
    rows = split("yacht", 0)
    assert rows.X_train["age"].isna().any()
    assert rows.X_train["age"].max() > 10
