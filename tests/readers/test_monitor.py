"""Monitoring: what a model holds of its training rows, and how other rows are compared with them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dln
from circuits import circuits_with_tables
from dln import ModelFileError
from dln.readers._monitor import Profile, _profile, _psi, monitor
from dln.readers.model_file import sealed
from models import bytes_of, frame, models, network, small, target


@pytest.fixture(scope="module", params=[small, network], ids=["rules", "network"])
def model(request):
    """Return a fitted model of each learner."""
    table = frame(300)
    return request.param(max_conditions=12).fit(table, pd.Series(target(table), name="charges"))


def test_the_training_rows_have_not_drifted(model):
    """Compared with themselves, the training rows have no drift: equal shares, nothing outside, no limit exceeded."""
    drift = model.monitor(frame(300))
    assert (drift.n_rows, drift.n_training) == (300, 300)
    assert drift[0].kind == "prediction"
    assert sum(row.kind == "rule" for row in drift) == len(model.circuit_.rules)
    for row in drift:
        assert row.psi == pytest.approx(0, abs=1e-6)
        assert row.outside in (None, 0.0)
        for figure in ("holds", "missing", "unknown"):
            assert getattr(row, figure) == pytest.approx(getattr(row, f"{figure}_in_training"), abs=1e-6)
    assert drift.beyond(psi=0.001, missing=0.001, unknown=0.001, outside=0.0) == []


def test_other_rows_are_beyond_limits(model):
    """Older people, missing ages and unseen words exceed limits, each named in a sentence; without limits none."""
    table = frame(200, seed=2)
    table["age"] += 40
    table["smoker"] = table["smoker"].astype(object).where(np.arange(200) > 150, None)
    drift = model.monitor(table)
    rows = {row.name: row for row in drift}
    assert rows["age"].psi > 0.5
    assert rows["age"].outside == pytest.approx((table["age"] > 89).mean())
    assert rows["smoker"].missing == pytest.approx(table["smoker"].isna().mean())
    beyond = drift.beyond(psi=0.2, missing=0.05, outside=0.1)
    assert any(sentence.startswith("column age: PSI ") for sentence in beyond)
    assert any("column smoker: rise of the share of missing values" in sentence for sentence in beyond)
    assert drift.beyond() == []
    assert len(drift.to_pandas()) == len(drift) == str(drift).count("\n") - 1


def test_categories_that_no_rule_names_are_counted_together():
    """Of a column of categories the model holds the shares of those that rules name, and of all others in one."""
    table = pd.DataFrame({"town": ["Oslo"] * 50 + [f"secret {i}" for i in range(48)] + [None] * 2})
    model = small().fit(table, (table["town"] == "Oslo") * 5.0)
    assert model.training_facts_["profile"] == {"town": Profile((), (0.5, 0.48, 0.02))}
    (_, column, *_) = model.monitor(pd.DataFrame({"town": ["Oslo", "Voss", "Aas", None]}))
    assert (column.unknown, column.unknown_in_training, column.missing) == (0.5, 0.48, 0.25)


@given(st.lists(st.integers(-5, 40), min_size=1, max_size=200), st.integers(0, 1000))
def test_bins_are_about_ten_and_none_is_empty(numbers, seed):
    """Edges ascend, every bin has values, and neither order nor repetition of rows changes them."""
    values = np.array(numbers, dtype=np.float64)
    weight = np.random.default_rng(seed).integers(1, 4, len(values)).astype(np.float64)
    edges = _profile(values, weight, None).edges
    assert list(edges) == sorted(set(edges))
    assert len(np.unique(np.searchsorted(edges, values))) == len(edges) + 1 <= 20
    repeated = np.random.default_rng(seed).permutation(np.repeat(values, weight.astype(int)))
    assert _profile(repeated, np.ones(len(repeated)), None).edges == edges


def test_frequent_values_have_bins_of_their_own():
    """A value that most rows have is told apart from those below and above it."""
    values = np.concatenate([np.linspace(-1, -0.1, 10), np.zeros(80), np.linspace(0.1, 1, 10)])
    edges = _profile(values, np.ones(100), None).edges
    assert {-0.1, 0.0} <= set(np.round(edges, 9))


def test_the_index_is_that_of_the_textbook():
    """The population stability index is the sum of differences times logarithms of ratios; empty bins count 0.0001."""
    assert _psi(Profile((0.0,), (0.5, 0.5, 0.0)), np.array([0.25, 0.75, 0.0])) == pytest.approx(0.27465307)
    assert _psi(Profile((0.0,), (1.0, 0.0, 0.0)), np.array([0.0, 1.0, 0.0])) == pytest.approx(18.419, abs=1e-3)
    assert _psi(None, np.array([1.0])) is None


@given(circuits_with_tables(), st.integers(1, 20))
def test_batches_do_not_matter(pair, size):
    """Rows in batches give the figures of all rows at once, also where the model holds nothing to compare with."""
    circuit, table = pair
    n = len(table[0])
    batches = [[column[i : i + size] for column in table] for i in range(0, n, size)]
    whole = monitor(circuit, None, {"rows": 9}, [table], "y")
    assert repr(monitor(circuit, None, {"rows": 9}, batches, "y")) == repr(whole)
    holds = sorted(row.holds for row in whole if row.kind == "rule")
    assert holds == pytest.approx(sorted(fires.mean() for fires in circuit.rule_values(table)))


def test_files_hold_it_in_any_order_of_rows(model, tmp_path):
    """What is held comes back from the file, and rows in another order give the same bytes."""
    loaded = dln.load(_saved(model, tmp_path))
    table = frame(50, seed=4)
    assert repr(loaded.monitor(table)) == repr(model.monitor(table))
    assert loaded.training_facts_ == model.training_facts_
    shuffled = frame(300).sample(frac=1, random_state=1)
    again = type(model)(**model.get_params()).fit(shuffled, pd.Series(target(shuffled), name="charges"))
    assert again.training_facts_ == model.training_facts_
    assert bytes_of(again, tmp_path) == bytes_of(model, tmp_path)


def test_repeated_rows_count_as_often():
    """Integer weights give the profiles of repeated rows."""
    table = frame(100)
    weight = np.random.default_rng(0).integers(0, 3, 100)
    weighted = small().fit(table, target(table), sample_weight=weight)
    rows = table.loc[table.index.repeat(weight)]
    repeated = small().fit(rows, target(rows))
    for fact in ("profile", "predictions"):
        assert weighted.training_facts_[fact] == repeated.training_facts_[fact]


def test_a_pruned_model_does_not_know_its_predictions_of_training(model):
    """A smaller model has other predictions than the profile of the larger one: their index is unknown."""
    assert model.prune(3).monitor(frame(50))[0].psi is None
    assert "predictions" in model.training_facts_


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ('"profile":{', '"profile":{"nothing":[[],[0.5,0.5]],', "training.profile"),
        ('"predictions":[[', '"predictions":[[1e300,', "training.predictions"),
        (']]},"predictions"', ',0.5]]},"predictions"', "training.profile."),
        ('"predictions":[[', '"predictions":[["a",', "training.predictions[0][0]"),
    ],
)
def test_wrong_profiles_are_refused(old, new, place, tmp_path):
    """A profile of no column, with edges that do not ascend or too many shares is refused with its place."""
    model, _ = models()[0]
    text = _saved(model, tmp_path).read_text(encoding="utf-8").split("\n")[1]
    assert old in text
    changed = text.replace(old, new, 1).replace("1e300", "1e+300")
    json.loads(changed)
    (tmp_path / "wrong.dln").write_bytes(sealed(changed.encode()))
    with pytest.raises(ModelFileError) as error:
        dln.load(tmp_path / "wrong.dln")
    assert error.value.place.startswith(place)


def _saved(model, folder):
    model.save(folder / "saved.dln")
    return folder / "saved.dln"
