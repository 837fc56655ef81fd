import csv
import warnings
from pathlib import Path

import numpy as np
import optuna
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_friedman1

from bench_tables import SHARED, write_tables
from dln import DLNRegressor, operations
from dln.tune import Context
from dln_bench import _quick, datasets
from dln_bench._names import ABLATIONS, DATASETS, GROUPS, MODELS, ORDER, SEARCHED, TITLES
from dln_bench.models._mlp import TorchMLP
from dln_bench.models._models import CHANGES, OURS, find, inner_params, own_params
from dln_bench.models._preparation import prepared
from dln_bench.models._size import conditions, count_operations

PAPER_OPS = SHARED.parent / "paper" / "ops.csv"
NAMES = [*MODELS, *ABLATIONS]
#: So that a fit takes no time.
SMALL = {
    "mlp": {"max_epochs": 3},
    "ebm": {"outer_bags": 1, "max_rounds": 5},
    "forest": {"n_estimators": 3},
    "adaboost": {"n_estimators": 3},
    "lightgbm": {"n_estimators": 3, "min_child_samples": 3},
    "lightgbm-default": {"n_estimators": 3, "min_child_samples": 3},
    **{name: {"max_epochs": 2, "hidden_layer_sizes": (8, 4)} for name in ["dln-paper", *ABLATIONS]},
    "dln": {**_quick.settings("dln"), "n_grown_rules": 3, "n_teachers": 0, "hidden_layer_sizes": (12, 8)},
}


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Return a made table with numbers and categories, and its facts."""
    monkeypatch.setenv("DLN_DATA_HOME", str(write_tables(tmp_path / "data", "yacht")))
    return (*datasets.load("yacht"), datasets.facts("yacht"))


def made(name, facts, seed=0):
    """Return a model of the benchmark that is fitted at once."""
    model = find(name).make(facts, seed)
    return model.set_params(**inner_params(name, SMALL.get(name, {})))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", NAMES)
def test_each_model_fits_predicts_and_is_counted(name, table):
    """Every model learns a table with categories, predicts numbers, and has its operations counted."""
    X, y, facts = table
    model = made(name, facts).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert count_operations(model) > 0


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", NAMES)
def test_each_space_sets_what_the_model_has(name, table):
    """Points of every space are parameters of its model, with values that it accepts, also in the end of a fit."""
    X, y, facts = table
    space = find(name).space
    if space is None:
        return
    sampler = optuna.samplers.RandomSampler(seed=0)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=sampler)
    for _ in range(3):
        params = space(study.ask(), Context(n_rows=len(y), n_numbers=2, n_categories=3))
        assert params
        model = made(name, facts)
        assert set(params) <= set(model.get_params(deep=True))
        model.set_params(**params)
        small = inner_params(name, SMALL.get(name, {}))
        assert clone(model).set_params(**small).fit(X, y).predict(X).shape == (len(y),)


def test_ablations_hold_what_they_change():
    """An ablation's setting differs from the paper's model, and its search does not undo it."""
    assert set(CHANGES) == set(ABLATIONS)
    paper = DLNRegressor().get_params()
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for name, changes in CHANGES.items():
        params = find(name).space(study.ask(), Context(100, 5, 0))
        for key, value in changes.items():
            assert paper[key] != value
            assert params[key] == value


def test_every_name_has_a_place():
    """Every model is in the order of runs, is searched for if it is said to be, and groups name nothing else."""
    assert sorted(ORDER) == sorted(TITLES)
    assert {name for name in TITLES if find(name).space is not None} == SEARCHED
    assert {name for members in GROUPS.values() for name in members} <= set(TITLES)
    assert len(DATASETS) == 15


@pytest.mark.parametrize("name", ["tree", "mlp", "dln-paper", "dln", "ebm"])
def test_quick_settings_are_parameters_of_their_models(name, table):
    """What a quick run sets, the model has, and it does not undo what the model is named for."""
    _, _, facts = table
    settings = inner_params(name, _quick.settings(name))
    assert settings.items() <= find(name).make(facts, 0).set_params(**settings).get_params().items()
    assert not set(_quick.settings(name)).intersection(OURS.get(name, {}))


def test_conditions_are_comparisons(table):
    """A tree has its splits, a forest those of its trees, and a linear model none."""
    X, y, facts = table
    tree = find("cart-20").make(facts, 0).fit(X, y)
    assert conditions(tree) == tree[-1].tree_.n_leaves - 1 <= 20
    assert conditions(made("linear", facts).fit(X, y)) is None
    assert conditions(made("svr", facts).fit(X, y)) is None
    forest = made("forest", facts).fit(X, y)
    assert conditions(forest) == sum(int((each.tree_.feature >= 0).sum()) for each in forest[-1].estimators_)
    assert conditions(made("dln", facts).fit(X, y)) <= 100


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_sum_of_trees_and_rules_costs_its_comparisons(table):
    """FIGS costs the depths of its trees and an addition each; a rule of RuleFit what a rule of a DLN does."""
    X, y, facts = table
    stump = find("figs-20").make(facts, 0).set_params(model__max_rules=1).fit(X, y)
    assert count_operations(stump) == 183 + 124
    rules = find("rulefit-20").make(facts, 0).fit(X, y)
    lengths = [len(rule.agg_dict) for rule in rules[-1].rules_ if rule.args[0] != 0]
    assert sum(lengths) == conditions(rules)
    assert count_operations(rules) == sum(183 * length + length - 1 + 1244 for length in lengths)


def test_parameters_are_told_by_the_models_own_names():
    """A result names the parameters as the model does, not as the pipeline around it."""
    assert own_params("svr", {"model__regressor__C": 1.0}) == {"C": 1.0}
    assert own_params("dln-paper", {"max_epochs": 3}) == {"max_epochs": 3}
    assert inner_params("tree", {"max_depth": 2}) == {"model__max_depth": 2}


# --- preparation ------------------------------------------------------------------------------------------------------


def test_preparation_scales_by_the_rows_it_is_fitted_to(table):
    """Numbers of the fitted rows lie in [0, 1]; later rows are scaled by the same limits."""
    X, y, facts = table
    pipeline = prepared(facts, TorchMLP(max_epochs=1)).fit(X.iloc[:40], y.iloc[:40])
    values = pipeline[:-1].transform(X.iloc[:40])
    assert values.shape[1] == len(facts.continuous) + facts.n_categorical_columns
    assert (values.min(), values.max()) == (0, 1)
    later = X.iloc[:1].assign(size=2 * X["size"].iloc[:40].max() - X["size"].iloc[:40].min())
    assert pipeline[:-1].transform(later).max() == pytest.approx(2)


@pytest.mark.skipif(not SHARED.exists(), reason="the fifteen files are not in this checkout")
def test_tables_have_the_papers_columns_after_preparation(monkeypatch):
    """Numbers and one-hot columns of the prepared tables are as many as in the paper."""
    monkeypatch.setenv("DLN_DATA_HOME", str(SHARED))
    for name in DATASETS:
        facts = datasets.facts(name)
        X, y = datasets.load(name)
        rows = slice(0, 500)
        values = find("linear").make(facts, 0)[:-1].fit_transform(X.iloc[rows], y.iloc[rows])
        assert values.shape[1] == len(facts.continuous) + facts.n_categorical_columns, name


# --- cost -------------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not PAPER_OPS.exists(), reason="the paper's tables are not in this checkout")
@pytest.mark.parametrize("name", ["airfoil", "insurance", "yacht", "infrared"])
def test_linear_models_cost_what_they_cost_in_the_paper(name, monkeypatch):
    """Linear and ridge regression cost the paper's operations, within its three digits."""
    monkeypatch.setenv("DLN_DATA_HOME", str(SHARED))
    with Path(PAPER_OPS).open() as file:
        paper = {(row["dataset"], row["model"]): float(row["ops"]) for row in csv.DictReader(file)}
    X, y = datasets.load(name)
    for model in ("linear", "ridge"):
        fitted = find(model).make(datasets.facts(name), 0).fit(X, y)
        assert operations(fitted).total == pytest.approx(paper[name, model], rel=0.01)


def test_a_lasso_costs_its_coefficients_that_are_not_zero(table):
    """The count goes through the pipeline and the scaled target to the model itself."""
    X, y, facts = table
    lasso = find("lasso").make(facts, 0).set_params(model__regressor__alpha=0.1).fit(X, y)
    used = np.count_nonzero(lasso[-1].regressor_.coef_)
    assert 0 < used < 4
    assert operations(lasso).total == 1244 * used


def test_a_tree_costs_its_depth(table):
    """A comparison per level: 183 each."""
    X, y, facts = table
    tree = find("tree").make(facts, 0).set_params(model__max_depth=3).fit(X, y)
    assert operations(tree).total == 3 * 183


def test_a_perceptron_costs_its_weights(table):
    """A multiply-add per weight: 1244 each."""
    X, y, facts = table
    mlp = find("mlp").make(facts, 0).set_params(model__n_layers=2, model__width=16, model__max_epochs=1).fit(X, y)
    assert operations(mlp).total == 1244 * (4 * 16 + 16 * 16 + 16)


# --- the perceptron ---------------------------------------------------------------------------------------------------


def test_the_perceptron_learns():
    """It fits a smooth function well, whatever the target's unit."""
    X, y = make_friedman1(400, noise=0.1, random_state=0)
    for scale in (1.0, 1e6):
        model = TorchMLP(random_state=0).fit(X[:300], scale * y[:300])
        assert model.score(X[300:], scale * y[300:]) > 0.85


def test_the_perceptron_is_the_same_every_time():
    """The same seed gives the same predictions, and leaves the global seed and threads as they were."""
    import torch

    X, y = make_friedman1(100, random_state=0)
    torch.manual_seed(3)
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    first = TorchMLP(max_epochs=5, dropout=0.1, random_state=1).fit(X, y).predict(X)
    assert (first == TorchMLP(max_epochs=5, dropout=0.1, random_state=1).fit(X, y).predict(X)).all()
    assert (first != TorchMLP(max_epochs=5, dropout=0.1, random_state=2).fit(X, y).predict(X)).any()
    assert torch.equal(before, torch.get_rng_state())
    assert threads == torch.get_num_threads()


def test_the_perceptron_keeps_its_best_pass():
    """Training stops when validation does not improve, and few rows are trained on without validation."""
    X, y = make_friedman1(200, noise=5.0, random_state=0)
    assert TorchMLP(learning_rate=0.03, n_iter_no_change=3).fit(X, y).n_iter_ < 300
    assert TorchMLP(max_epochs=4).fit(X[:10], y[:10]).n_iter_ == 4


def test_the_perceptron_takes_a_constant_target():
    """A target without spread is predicted as it is."""
    X, _ = make_friedman1(30, random_state=0)
    predicted = TorchMLP(max_epochs=30).fit(X, np.full(30, 7.0)).predict(X)
    assert predicted == pytest.approx(np.full(30, 7.0), abs=0.3)


def test_lightgbm_takes_any_column_names(table):
    """Names that LightGBM refuses do not reach it."""
    X, y, facts = table
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        odd = X.rename(columns={"size": 'si{ze":,'})
        assert made("lightgbm", facts).fit(odd, y).predict(odd).shape == y.shape
    assert isinstance(odd, pd.DataFrame)
