"""A search comes to the same study every time: at once, in parts, and after it was killed."""

from __future__ import annotations

from searches import network, ridge, told


def test_the_same_seed_gives_the_same_study():
    """A search with a seed can be repeated, and another seed gives another."""
    assert told(network()) == told(network())
    assert told(ridge()) != told(ridge(random_state=1))


def test_a_search_in_parts_is_the_same_as_in_one(tmp_path):
    """Stopped and continued, with more trials each time, a search comes to what it would have been at once."""
    for n_trials in (1, 5, 6, 12):
        study = network(n_trials, storage=tmp_path / "study.log")
        assert study.n_trials == n_trials
    assert told(study) == told(network())
    assert "pruned" in {trial.state for trial in study.trials}
    assert told(network(3, storage=tmp_path / "study.log")) == told(study)  # fewer than there are: all are told


def test_a_search_without_a_seed_goes_on_with_the_one_it_had(tmp_path):
    """Without `random_state`, the seed is drawn once and kept with the trials."""
    path = tmp_path / "study.log"
    first = ridge(4, storage=path, random_state=None)
    second = ridge(9, storage=path, random_state=None)
    assert second.seed == first.seed
    assert told(second) == told(ridge(9, random_state=first.seed))


def test_a_search_that_was_killed_while_it_wrote_goes_on(tmp_path):
    """Wherever the storage ends, the trials in it that are whole are kept and the rest is run again."""
    whole = tmp_path / "study.log"
    expected = told(ridge(7, storage=whole))
    content = whole.read_bytes()
    for i, end in enumerate([*range(0, len(content), 197), len(content) - 1]):
        path = tmp_path / f"{i}.log"
        path.write_bytes(content[:end])
        assert told(ridge(7, storage=path)) == expected


def test_a_lock_that_was_left_behind_is_no_obstacle(tmp_path):
    """A search that was killed while it wrote leaves a lock; the next one soon goes on all the same."""
    path = tmp_path / "study.log"
    ridge(2, storage=path)
    (tmp_path / "study.log.lock").touch()
    assert told(ridge(4, storage=path)) == told(ridge(4))
    assert not (tmp_path / "study.log.lock").exists()
