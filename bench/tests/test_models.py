"""The models of the benchmark: each fits, has its own search space, and is counted."""

import warnings

import numpy as np
import optuna
import pytest

from bench_tables import SHARED, write_tables
from dln import DLNRegressor, RuleRegressor, operations
from dln_bench import datasets
from dln_bench._split import split
from dln_bench.models._float16 import rounded
from dln_bench.models._measures import conditions, count_operations
from dln_bench.models._models import ABLATIONS, GROUPS, MODELS, OPTIONS, PAPER
from dln_bench.models._preparation import prepared
from dln_bench.report import _paper

#: So that a fit takes no time, by the model's class.
FEW = {
    "DLNRegressor": {"max_epochs": 2, "hidden_layer_sizes": (8, 4)},
    "RuleRegressor": {"n_grown_rules": 3, "n_teachers": 0, "n_generations": 1},
    "MLPRegressor": {"max_iter": 3},
    "ExplainableBoostingRegressor": {"outer_bags": 1, "max_rounds": 5},
    "RandomForestRegressor": {"n_estimators": 3},
    "AdaBoostRegressor": {"n_estimators": 3},
    "LGBMRegressor": {"n_estimators": 3, "min_child_samples": 3},
}


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Return a made table with numbers and categories, and its facts."""
    monkeypatch.setenv("DLN_DATA_HOME", str(write_tables(tmp_path / "data", "yacht")))
    return (*datasets.load("yacht"), datasets.facts("yacht"))


def made(name, facts, **params):
    """Return a model that is fitted at once; parameters are its own."""
    entry = MODELS[name]
    model = entry.make(facts, 0)
    own = model.get_params()
    last = own["model__regressor"] if "model__regressor" in own else own.get("model", model)
    few = FEW.get(type(last).__name__, {}) | dict(entry.changes) | params
    return model.set_params(**{f"{entry.prefix}{key}": value for key, value in few.items()})


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", [name for name in MODELS if not name.endswith(("-50", "-100", "-200"))])
def test_each_model_fits_predicts_and_is_counted(name, table):
    """Every model learns a table with categories, predicts numbers, and has its operations counted."""
    X, y, facts = table
    model = made(name, facts).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert count_operations(model, "multiply") >= count_operations(model, "select") > 0


@pytest.mark.parametrize("name", [name for name, model in MODELS.items() if model.space and not model.searched_as])
def test_each_space_sets_parameters_of_its_model(name, table):
    """Points of every space are parameters of its model, and do not undo its changes."""
    _, _, facts = table
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for _ in range(3):
        params = MODELS[name].space(study.ask())
        assert params
        assert set(params) <= set(made(name, facts).get_params())
        assert params.items() >= MODELS[name].changes.items()


def test_an_ablation_is_not_searched_for_what_it_sets():
    """Without a temperature schedule, no trial has a temperature."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    trial = study.ask()
    params = MODELS["no-schedule"].space(trial)
    assert not [name for name in trial.params if "temperature" in name]
    assert (params["temperature"], params["temperature_decay"], params["min_temperature"]) == (1.0, 1.0, 1.0)


def test_changes_are_none_of_the_published_method():
    """Every ablation and every option differs from the default in each of its parameters."""
    default = DLNRegressor().get_params()
    for name, model in (ABLATIONS | OPTIONS).items():
        for key, value in model.changes.items():
            assert (key, value) == ("temperature", 1.0) or default.get(key, "unknown") != value, name


def test_groups_name_models():
    """Groups hold all models, each once; the paper's ten come first."""
    members = [name for group in GROUPS.values() for name in group]
    assert sorted(members) == sorted(MODELS)
    assert list(MODELS)[:10] == list(PAPER)


def test_conditions_are_comparisons(table):
    """A tree has its splits, a forest those of its trees, a rule its printed comparisons, a linear model none."""
    X, y, facts = table
    tree = made("cart-20", facts).fit(X, y)
    assert conditions(tree) == tree[-1].tree_.n_leaves - 1 <= 20
    assert conditions(made("linear", facts).fit(X, y)) is None
    forest = made("forest", facts).fit(X, y)
    assert conditions(forest) == sum(int((each.tree_.feature >= 0).sum()) for each in forest[-1].estimators_)
    rules = made("rules", facts).fit(X, y)
    assert conditions(rules) == rules.rules_.n_conditions <= 100


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_sums_of_trees_and_rules_cost_their_comparisons(table):
    """FIGS costs the depths of its trees and an addition each; a rule of RuleFit as one of a circuit."""
    X, y, facts = table
    stump = made("figs-20", facts, max_rules=1).fit(X, y)
    assert count_operations(stump, "multiply") == 183 + 124
    rules = made("rulefit-20", facts).fit(X, y)
    lengths = [len(rule.agg_dict) for rule in rules[-1].rules_ if rule.args[0] != 0]
    assert sum(lengths) == conditions(rules)
    for reading, price in (("multiply", 1244), ("select", 140)):
        assert count_operations(rules, reading) == sum(183 * length + length - 1 + price for length in lengths)


def test_preparation_scales_by_the_rows_it_is_fitted_to(table):
    """Numbers of the fitted rows lie in [0, 1]; later rows are scaled by the same limits."""
    X, y, facts = table
    pipeline = prepared(facts, made("linear", facts)[-1]).fit(X.iloc[:40], y.iloc[:40])
    values = pipeline[:-1].transform(X.iloc[:40])
    assert values.shape[1] == len(facts.continuous) + facts.n_categorical_columns
    assert (values.min(), values.max()) == pytest.approx((0, 1))
    later = X.iloc[:1].assign(size=2 * X["size"].iloc[:40].max() - X["size"].iloc[:40].min())
    assert pipeline[:-1].transform(later).max() == pytest.approx(2)


def test_lightgbm_takes_any_column_names(table):
    """Names that LightGBM refuses do not reach it."""
    X, y, facts = table
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        odd = X.rename(columns={"size": 'si{ze":,'})
        assert made("lightgbm", facts).fit(odd, y).predict(odd).shape == y.shape


def test_float16_rounds_on_the_scale_of_training(table):
    """Cut-offs are rounded on [0, 1], weights on the standardised target, however large both are."""
    X, y, _ = table
    X, y = X.assign(size=1e6 * X["size"]), 1e6 * y
    circuit = RuleRegressor(**FEW["RuleRegressor"], random_state=0, n_jobs=1).fit(X, y).circuit_
    half = rounded(circuit, X, y)
    assert half != circuit
    low, width = X["size"].min(), X["size"].max() - X["size"].min()
    for literal in half.literals:
        if getattr(literal, "cutoff", None) is not None and literal.column == 0:
            share = (literal.cutoff - low) / width
            assert share == pytest.approx(float(np.float16(share)), abs=1e-9)
    for rule, before in zip(half.rules, circuit.rules, strict=True):
        assert rule.weight == pytest.approx(before.weight, rel=1e-3)


# --- cost -------------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not (SHARED / "yacht.csv").exists(), reason="the fifteen tables are not here: set DLN_DATA_HOME")
@pytest.mark.parametrize("name", ["airfoil", "insurance", "yacht", "infrared"])
def test_linear_models_cost_as_in_the_paper(name, monkeypatch):
    """Linear and ridge regression cost the paper's operations, within its three digits."""
    monkeypatch.setenv("DLN_DATA_HOME", str(SHARED))
    rows = split(name, 0)
    for model in ("linear", "ridge"):
        fitted = MODELS[model].make(datasets.facts(name), 0).fit(rows.X_train, rows.y_train)
        assert operations(fitted).total == pytest.approx(_paper.table("ops")[model, name].mean, rel=0.01)


def test_models_cost_their_parts(table):
    """A lasso costs its coefficients that are not zero, a tree its depth, a perceptron its weights."""
    X, y, facts = table
    lasso = made("lasso", facts, alpha=0.1).fit(X, y)
    used = np.count_nonzero(lasso[-1].regressor_.coef_)
    assert 0 < used < 4
    assert operations(lasso).total == 1244 * used
    assert operations(made("tree", facts, max_depth=3).fit(X, y)).total == 3 * 183
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mlp = made("mlp", facts, hidden_layer_sizes=(16, 16)).fit(X, y)
    assert operations(mlp).total == 1244 * (4 * 16 + 16 * 16 + 16)
