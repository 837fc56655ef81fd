"""A storage may hold several searches; a damaged one is refused in one sentence and left as it is."""

from __future__ import annotations

import polars as pl
import pytest
from sklearn.linear_model import Ridge

from dln.tune import StudyError, search
from searches import X, Y, alphas, results, ridge


def wider(trial):
    """Return a regularisation from another range."""
    return {"alpha": trial.suggest_float("alpha", 1e-6, 1e3, log=True)}


@pytest.mark.parametrize(
    "run",
    [
        lambda path: ridge(3, storage=path, X=X + 1),
        lambda path: ridge(3, storage=path, random_state=1),
        lambda path: ridge(3, storage=path, cv=2),
        lambda path: ridge(3, storage=path, prune=False),
        lambda path: search(Ridge(), X, Y + 1, space=alphas, n_trials=3, storage=path, random_state=0),
        lambda path: search(Ridge(2.0), X, Y, space=alphas, n_trials=3, storage=path, random_state=0),
        lambda path: search(Ridge(), X, Y, space=wider, n_trials=3, storage=path, random_state=0),
    ],
    ids=["table", "seed", "cv", "prune", "target", "estimator", "space"],
)
def test_trials_of_another_search_are_not_taken(run, tmp_path):
    """Another table, seed, estimator, space or number of folds is another search, beside the first in the storage."""
    path = tmp_path / "study.log"
    first = ridge(4, storage=path)
    assert results(run(path)) == results(run(None))
    assert results(ridge(6, storage=path))[:4] == results(first)


def test_the_way_of_running_is_no_part_of_a_search(tmp_path):
    """A search goes on with the same table from another library, and with callbacks."""
    path = tmp_path / "study.log"
    names = list("abcde")
    ridge(2, storage=path, X=pl.DataFrame(X, schema=names))
    seen = []
    ridge(4, storage=path, X=pl.DataFrame(X, schema=names).to_pandas(), callbacks=[seen.append])
    assert path.read_text().count('"fold_values"') == 4
    assert [trial.number for trial in seen[:2]] == [0, 1]


DAMAGED = [b"price,area", b"price,area\n1,2\n", b"[1, 2]\n", b'{"op_code":0}\nblub\n', b'{"op_code":77}\n']


@pytest.mark.parametrize("content", DAMAGED)
def test_damaged_storages_are_refused(content, tmp_path):
    """A file that is no study, or no longer one, is refused in one sentence and left as it is."""
    path = tmp_path / "bad.log"
    path.write_bytes(content)
    with pytest.raises(StudyError, match=r"bad\.log is not a study that can be read.*delete it, or name another file"):
        ridge(3, storage=path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("storage", [".", "nowhere/study.log"])
def test_paths_that_cannot_be(storage, tmp_path, monkeypatch):
    """A storage must be a file in a folder that is there."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StudyError, match="storage must be the path of a file in a folder that exists, got"):
        ridge(2, storage=storage)
