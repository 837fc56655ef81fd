"""The fifteen datasets: their facts are the paper's, and a table that breaks them is refused."""

import hashlib
import json

import pandas as pd
import pytest

from bench_tables import SHARED
from dln_bench import datasets
from dln_bench.datasets import DatasetError
from dln_bench.report import _paper

PAPER = _paper.datasets()


@pytest.mark.usefixtures("packaged")
def test_facts_agree_with_the_papers_table():
    """Rows and columns of the fifteen datasets are those of the paper."""
    assert sorted(datasets.names()) == sorted(PAPER)
    for name, (train, test, numbers, bits) in PAPER.items():
        facts = datasets.facts(name)
        assert facts.expected_rows == train + test, name
        assert (len(facts.continuous), facts.n_categorical_columns) == (numbers, bits), name
        columns = [len(e.levels) - (e.scheme == "one_hot_drop_first") for e in facts.encoding.values()]
        assert sum(columns) == bits, name
        assert facts.licence
        assert len(facts.sha256) == 64
        assert facts.source is not None
        assert all(url.startswith("https://") for url in facts.source.urls)


@pytest.mark.usefixtures("packaged")
@pytest.mark.parametrize(("typed", "hint"), [("yatch", "did you mean 'yacht'"), ("zzz", "there are abalone, airfoil")])
def test_an_unknown_name_gets_the_nearest(typed, hint):
    """A misspelt dataset is answered with the most similar name, or with all of them."""
    with pytest.raises(DatasetError, match=hint):
        datasets.facts(typed)


@pytest.mark.skipif(not SHARED.exists(), reason="the fifteen files are not in this checkout")
def test_all_fifteen_load_as_in_the_paper(monkeypatch):
    """Every dataset has the paper's rows and columns, numbers are numbers and categories have their dtype."""
    monkeypatch.setenv("DLN_DATA_HOME", str(SHARED))
    for name, (train, test, numbers, _) in PAPER.items():
        X, y = datasets.load(name)
        assert len(X) == len(y) == train + test
        assert not X.isna().any().any()
        assert [str(dtype) for dtype in X.dtypes[:numbers]] == ["float64"] * numbers
        assert all(isinstance(dtype, pd.CategoricalDtype) for dtype in X.dtypes[numbers:])
        assert y.dtype == float


@pytest.mark.usefixtures("made")
def test_a_table_is_prepared_by_its_rules():
    """Ids are dropped, repeated rows are dropped after that, and categories keep their levels."""
    X, y = datasets.load("yacht")
    assert list(X.columns) == ["size", "age", "kind"]
    assert len(X) == len(y) == 60
    assert list(X["kind"].cat.categories) == ["a", "b", "c"]


def test_values_are_mapped_by_their_text(made):
    """A map of values replaces codes and ranges by numbers, whether the column holds text or numbers."""
    index = json.loads((made / "index.json").read_text())
    text = (made / "yacht.csv").read_bytes().replace(b",b,", b",B,")
    (made / "yacht.csv").write_bytes(text)
    index["yacht"] |= {"value_maps": {"age": {"7": 70}}, "sha256": hashlib.sha256(text).hexdigest()}
    index["yacht"]["encoding"]["kind"]["levels"] = ["a", "B", "c"]
    (made / "index.json").write_text(json.dumps(index))
    X, _ = datasets.load("yacht")
    assert 7 not in set(X["age"])


def test_a_changed_file_is_refused(made):
    """A file that is not the one that was measured is refused with both checksums."""
    (made / "yacht.csv").write_bytes((made / "yacht.csv").read_bytes().replace(b"1", b"2", 1))
    with pytest.raises(DatasetError, match=r"another file than the one that was measured.*SHA-256.*expected"):
        datasets.load("yacht")


def test_a_missing_file_is_told(made):
    """A folder that lacks a file is named, with the file."""
    (made / "yacht.csv").unlink()
    with pytest.raises(DatasetError, match=r"there is no file yacht\.csv in .*DLN_DATA_HOME"):
        datasets.load("yacht")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"expected_rows": 7}, "expected 7 rows in yacht.csv after preparation, got 60"),
        ({"continuous": ["size", "years"]}, "yacht.csv lacks the columns 'years'"),
        ({"encoding": {"kind": {"scheme": "one_hot_full", "levels": ["a"]}}}, "has values in 'kind' that are missing"),
    ],
)
def test_a_table_that_breaks_its_facts_is_refused(made, change, sentence):
    """Rows, columns and categories that are not as the index says are refused with one sentence."""
    index = json.loads((made / "index.json").read_text())
    index["yacht"] |= change
    (made / "index.json").write_text(json.dumps(index))
    with pytest.raises(DatasetError, match=sentence):
        datasets.load("yacht")


def test_an_index_that_is_none_is_refused(made):
    """A damaged index is named with its place."""
    (made / "index.json").write_text('{"yacht": {"title": 3}}')
    with pytest.raises(DatasetError, match="does not describe datasets"):
        datasets.names()


def test_the_cache_can_be_chosen(monkeypatch, tmp_path):
    """Downloads go to the folder that is wished for, or else to the user's cache."""
    monkeypatch.setenv("DLN_CACHE", str(tmp_path))
    assert datasets.cache_folder() == tmp_path
    monkeypatch.delenv("DLN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert datasets.cache_folder().name == "dln"
