"""A storage of another search, or a damaged one, is refused in one sentence and left as it is."""

from __future__ import annotations

import json
import re

import optuna
import pytest
from sklearn.linear_model import Ridge

from dln.tune import StudyError, search
from searches import X, Y, alphas, ridge


def test_the_storage_of_another_search_is_refused(tmp_path):
    """Another table, seed, estimator, space or number of folds is named in one sentence, and nothing is changed."""
    path = tmp_path / "study.log"
    ridge(2, storage=path)
    before = path.read_bytes()
    start = f"{re.escape(str(path))} is the storage of another search: "
    end = "; delete it to start anew, or name another file$"
    cases = {
        "the table is not the same": lambda: ridge(3, storage=path, X=X + 1),
        "random_state was 0 and is 1": lambda: ridge(3, storage=path, random_state=1),
        "folds was 4 and is 2": lambda: ridge(3, storage=path, folds=2),
        "max_rows was None and is 50": lambda: ridge(3, storage=path, max_rows=50),
        "Ridge.random_state was None and is 3": lambda: search(
            Ridge(random_state=3), X, Y, space=alphas, n_trials=3, storage=path, random_state=0
        ),
        "Ridge.alpha was '1.0' and is '2.0'": lambda: search(
            Ridge(2.0), X, Y, space=alphas, n_trials=3, storage=path, random_state=0
        ),
        "the space is not the same": lambda: search(
            Ridge(), X, Y, space=lambda trial, _: {"alpha": trial.suggest_float("alpha", 0, 1)}, n_trials=3,
            storage=path, random_state=0,
        ),
    }  # fmt: skip
    for difference, run in cases.items():
        with pytest.raises(StudyError, match=start + re.escape(difference) + end):
            run()
    assert path.read_bytes() == before


def test_damaged_storages_are_refused(tmp_path):
    """A file that is no study, or no longer one, is refused in one sentence and left as it is."""
    good = tmp_path / "good.log"
    ridge(3, storage=good)
    lines = good.read_bytes().splitlines(keepends=True)
    nonsense = json.loads(lines[-1])
    nonsense["user_attrs"] = {"number": 1}
    contents = {
        "line 2 cannot be read": lines[0] + b"blub\n" + lines[2],
        "line 1 is not of an Optuna journal": b"[1, 2]\n",
        "it is not an Optuna journal": b"price,area",
        "a trial in it makes no sense": b"".join(lines[:-1]) + json.dumps(nonsense).encode() + b"\n",
    }
    for reason, content in contents.items():
        path = tmp_path / "bad.log"
        path.write_bytes(content)
        with pytest.raises(StudyError, match=f"bad.log is not a study that can be read.*{reason}.*delete it"):
            ridge(3, storage=path)
        assert path.read_bytes() == content


def test_the_study_of_another_program_is_refused(tmp_path):
    """A journal that Optuna wrote for someone else is not added to."""
    path = tmp_path / "study.log"
    backend = optuna.storages.journal.JournalFileBackend(str(path))
    optuna.create_study(study_name="theirs", storage=optuna.storages.JournalStorage(backend))
    with pytest.raises(StudyError, match=r"an Optuna study of another program \('theirs'\): name another file"):
        ridge(2, storage=path)


@pytest.mark.parametrize(
    ("storage", "reason"), [(".", "is a folder"), ("nowhere/study.log", "there is no folder nowhere")]
)
def test_paths_that_cannot_be(storage, reason, tmp_path, monkeypatch):
    """A storage must be a file in a folder that is there."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StudyError, match=f"storage must be the path of a file, but .*{reason}"):
        ridge(2, storage=storage)


def test_a_journal_that_lost_what_it_is_of(tmp_path):
    """A storage whose own description is damaged is refused in a sentence, not in a traceback."""
    path = tmp_path / "study.log"
    ridge(2, storage=path)
    whole = path.read_text()
    for damaged in (whole.replace("random_state", "random_stale"), whole.replace('{\\"estimator', '[\\"estimator')):
        path.write_text(damaged)
        with pytest.raises(StudyError, match="what it says of its search makes no sense"):
            ridge(2, storage=path)
