"""A search has the same result every time: at once, in parts, and after it was killed."""

from __future__ import annotations

from dln._pool import Pool
from searches import results, ridge


def test_the_same_seed_gives_the_same_study():
    """A search with a seed can be repeated, and another seed gives another study."""
    assert results(ridge()) == results(ridge())
    assert results(ridge()) != results(ridge(random_state=1))


def test_a_search_in_parts_is_the_same_as_in_one(tmp_path):
    """Stopped and continued, with more trials each time, a search ends in the study that it has at once."""
    for n_trials in (1, 5, 6, 20):
        study = ridge(n_trials, storage=tmp_path / "study.log")
        assert len(study.trials) == n_trials
    assert results(study) == results(ridge(20))
    assert "pruned" in {trial.state for trial in study.trials}
    assert results(ridge(3, storage=tmp_path / "study.log")) == results(study)  # fewer than there are: none is run


def test_a_search_without_a_seed_goes_on_with_the_one_it_had(tmp_path):
    """Without `random_state`, the seed is drawn once and kept with the trials."""
    path = tmp_path / "study.log"
    first = ridge(4, storage=path, random_state=None)
    second = ridge(9, storage=path, random_state=None)
    assert second.estimator.random_state == first.estimator.random_state
    assert results(second) == results(ridge(9, random_state=first.estimator.random_state))


def test_a_search_that_was_killed_while_it_wrote_goes_on(tmp_path):
    """Wherever the storage ends, the trials in it that are whole are kept and the rest is run again."""
    whole = tmp_path / "study.log"
    expected = results(ridge(7, storage=whole))
    content = whole.read_bytes()
    for i, end in enumerate([*range(0, len(content), 397), len(content) - 1]):
        path = tmp_path / f"{i}.log"
        path.write_bytes(content[:end])
        assert results(ridge(7, storage=path)) == expected


def test_a_lock_that_was_left_behind_is_no_obstacle(tmp_path):
    """A search that was killed while it wrote leaves a lock; the next one soon goes on."""
    path = tmp_path / "study.log"
    ridge(2, storage=path)
    (tmp_path / "study.log.lock").touch()
    assert results(ridge(4, storage=path)) == results(ridge(4))
    assert not (tmp_path / "study.log.lock").exists()


def test_more_workers_go_on_from_the_trials_of_fewer(tmp_path, monkeypatch):
    """With more than four workers a round is larger; trials that are there are kept, and no number is left out."""

    class Large(Pool):
        """Claims to have six workers, and runs all tasks here."""

        def __init__(self, work, *_):
            super().__init__(work)
            self.n_jobs = 6

    path = tmp_path / "study.log"
    first = ridge(6, storage=path)
    monkeypatch.setattr("dln.tune.Pool", Large)
    study = ridge(20, storage=path)
    assert results(study)[:6] == results(first)
    assert [trial.number for trial in study.trials] == list(range(20))
    assert results(study) != results(ridge(20))
