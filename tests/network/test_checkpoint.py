from __future__ import annotations

import errno
import os
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dln import CheckpointError, CheckpointWarning, DLNRegressor, FitInterruptedWarning, RuleRegressor
from dln.network import _checkpoint
from models import SMALL, SMALL_PAPER, frame, target

SETTINGS: dict[str, Any] = {**SMALL, "max_epochs": 12, "n_networks": 3}


def interrupt_at(epoch: int, network: int = 1):
    """Return a callback that presses Ctrl-C once."""

    def callback(record: Any) -> None:
        if record.epoch == epoch and record.network == network:
            raise KeyboardInterrupt

    return callback


def fit(folder: Path, **changes: Any) -> RuleRegressor:
    """Fit with a checkpoint."""
    table = frame()
    settings = {**SETTINGS, "checkpoint": folder / "run.ckpt", **changes}
    return RuleRegressor(**settings).fit(table, target(table))


def fit_paper(folder: Path, **changes: Any) -> DLNRegressor:
    """Fit the paper's network with a checkpoint."""
    table = frame()
    settings = {**SMALL_PAPER, "max_epochs": 12, "checkpoint": folder / "run.ckpt", **changes}
    return DLNRegressor(**settings).fit(table, target(table))


def interrupted(folder: Path, epoch: int = 4, **changes: Any) -> RuleRegressor:
    """Fit with a checkpoint, and interrupt the fit."""
    with pytest.warns(FitInterruptedWarning):
        return fit(folder, callbacks=[interrupt_at(epoch)], **changes)


def file_of(model: RuleRegressor, folder: Path) -> bytes:
    """Return the bytes of a model's file."""
    model.save(folder / "model.dln")
    return (folder / "model.dln").read_bytes()


@pytest.mark.parametrize("epoch", [1, 5, 11])
@pytest.mark.parametrize("changes", [{}, {"n_teachers": 1, "n_jobs": 2}])
def test_a_resumed_fit_ends_in_the_same_model(epoch, changes, tmp_path: Path):
    """A fit that was interrupted and started again ends with the bytes of one that was not, and with no checkpoint."""
    expected = file_of(fit(tmp_path, checkpoint=None, **changes), tmp_path)
    interrupted(tmp_path, epoch, **changes)
    assert (tmp_path / "run.ckpt").exists()
    assert file_of(fit(tmp_path, **changes), tmp_path) == expected
    assert not (tmp_path / "run.ckpt").exists()


@pytest.mark.parametrize("changes", [{}, {"phases": "alternating"}, {"early_stopping": False, "refit": "ridge"}])
def test_a_resumed_fit_of_the_papers_network_ends_in_the_same_model(changes, tmp_path: Path):
    """The paper's network goes on from its checkpoint too, and refuses one of other parameters."""
    expected = file_of(fit_paper(tmp_path, checkpoint=None, **changes), tmp_path)
    with pytest.warns(FitInterruptedWarning):
        fit_paper(tmp_path, callbacks=[interrupt_at(5, network=0)], **changes)
    with pytest.raises(CheckpointError, match=r"learning_rate was 0\.005 and is 0\.5"):
        fit_paper(tmp_path, learning_rate=0.5, **changes)
    with pytest.raises(CheckpointError, match="checkpoint of another fit"):
        fit(tmp_path)
    assert file_of(fit_paper(tmp_path, **changes), tmp_path) == expected
    assert not (tmp_path / "run.ckpt").exists()


@pytest.mark.parametrize("stage", ["teachers", "goal", "rules", "validation 0", "validation 2"])
def test_a_fit_killed_after_any_stage_ends_in_the_same_model(stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Killed right after a stage was written, the fit goes on behind it and ends with the same bytes."""
    settings = {"n_teachers": 1, "n_networks": 1}
    expected = file_of(fit(tmp_path, checkpoint=None, **settings), tmp_path)
    keep_stage = _checkpoint.Checkpoint.keep_stage

    class Killed(BaseException):
        """As if the process had ended here."""

    def killed(self: Any, name: str, arrays: Any) -> None:
        keep_stage(self, name, arrays)
        if name == stage:
            self.write()
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(_checkpoint.Checkpoint, "keep_stage", killed)
        with pytest.raises(Killed):
            fit(tmp_path, **settings)
    _, _, stages = _checkpoint._read(tmp_path / "run.ckpt")
    assert stage in stages
    assert file_of(fit(tmp_path, **settings), tmp_path) == expected
    assert not (tmp_path / "run.ckpt").exists()


def test_a_resumed_fit_does_not_start_anew(tmp_path: Path):
    """Epochs that are in the checkpoint are not run again."""
    with pytest.warns(FitInterruptedWarning):
        fit(tmp_path, n_networks=1, callbacks=[interrupt_at(6, network=0)])
    epochs: list[int] = []
    fit(tmp_path, n_networks=1, callbacks=[lambda record: epochs.append(record.epoch)])
    assert epochs == list(range(7, 13))


def test_without_a_seed_the_checkpoint_has_it(tmp_path: Path):
    """With random_state=None, the same line goes on with the seeds it began with, as it must to end where it would."""
    interrupted(tmp_path, random_state=None)
    shutil.copy(tmp_path / "run.ckpt", tmp_path / "copy")
    first = file_of(fit(tmp_path, random_state=None), tmp_path)
    shutil.copy(tmp_path / "copy", tmp_path / "run.ckpt")
    assert file_of(fit(tmp_path, random_state=None), tmp_path) == first


def test_how_a_fit_is_run_may_change(tmp_path: Path, capsys):
    """Threads, progress, and what happens after training may differ between a fit and its continuation."""
    expected = file_of(fit(tmp_path, checkpoint=None), tmp_path)
    interrupted(tmp_path, n_jobs=1)
    assert file_of(fit(tmp_path, n_jobs=2, verbose=2), tmp_path) == expected
    capsys.readouterr()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"max_conditions": 19}, "max_conditions was 20 and is 19"),
        ({"n_teachers": 1}, "n_teachers was 0 and is 1"),
        ({"max_epochs": 13}, "max_epochs was 12 and is 13"),
        ({"hidden_layer_sizes": (5,)}, r"hidden_layer_sizes was \[12, 8\] and is \[5\]"),
        ({"random_state": 1}, "seeds was"),
        ({"n_networks": 2}, "n_networks was 3 and is 2"),
        ({"loss": "huber"}, "loss was 'squared_error' and is 'huber'"),
    ],
)
def test_other_parameters_are_refused(changes, said, tmp_path: Path):
    """A checkpoint of other parameters is refused in a sentence that says what differs, and is left as it is."""
    interrupted(tmp_path)
    before = (tmp_path / "run.ckpt").read_bytes()
    with pytest.raises(CheckpointError, match=rf"checkpoint of another fit: .*{said}.*delete it"):
        fit(tmp_path, **changes)
    assert (tmp_path / "run.ckpt").read_bytes() == before


def test_other_data_is_refused(tmp_path: Path):
    """A checkpoint of other data is refused; the order of rows does not make them other data."""
    interrupted(tmp_path)
    table = frame()
    y = target(table)
    model = RuleRegressor(**SETTINGS, checkpoint=tmp_path / "run.ckpt")
    with pytest.raises(CheckpointError, match="the data is not the same"):
        model.fit(table, y + np.arange(len(y)) % 2)
    with pytest.raises(CheckpointError, match="number of distinct rows was 80 and is 70"):
        model.fit(table[:70], y[:70])
    with pytest.raises(CheckpointError, match="the validation data is not the same"):
        model.fit(table, y, X_val=table, y_val=y)
    assert model.fit(table[::-1], y[::-1]).n_iter_ == 12


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "other"])
def test_a_damaged_checkpoint_is_refused(damage, tmp_path: Path):
    """A checkpoint that is cut off, changed or another kind of file is refused, not half used."""
    interrupted(tmp_path)
    path = tmp_path / "run.ckpt"
    data = bytearray(path.read_bytes())
    data[-100] ^= 1
    path.write_bytes({"cut": data[:-10], "flip": data, "empty": b"", "other": b"PK\3\4" * 99}[damage])
    with pytest.raises(CheckpointError, match=r"run\.ckpt is not a checkpoint that can be read.*delete it"):
        fit(tmp_path)


def test_a_finished_fit_leaves_no_checkpoint(tmp_path: Path):
    """A fit that was not interrupted leaves nothing behind, so that the same line learns again from new data."""
    (tmp_path / ".run.ckpt.0a1b2c3d.tmp").write_bytes(b"of a process that was killed while it wrote")
    fit(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_missing_is_told_before_training(tmp_path: Path):
    """A checkpoint that cannot be written at all is an error before the first epoch."""
    epochs: list[int] = []
    with pytest.raises(FileNotFoundError, match="nowhere"):
        fit(tmp_path / "nowhere", callbacks=[lambda record: epochs.append(record.epoch)])
    assert not epochs


def test_a_disk_that_fills_up_does_not_end_the_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A checkpoint that cannot be written any more is one warning; the model is as without it."""
    expected = file_of(fit(tmp_path, checkpoint=None), tmp_path)
    write, n_writes = _checkpoint.write_atomically, 0

    def full(path: Path, data: bytes) -> None:
        nonlocal n_writes
        n_writes += 1
        if n_writes > 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        write(path, data)

    monkeypatch.setattr(_checkpoint, "write_atomically", full)
    monkeypatch.setattr(_checkpoint, "INTERVAL", 0.0)
    with pytest.warns(CheckpointWarning, match="No space left on device"):
        model = fit(tmp_path)
    assert file_of(model, tmp_path) == expected


def test_a_failing_callback_keeps_the_checkpoint(tmp_path: Path):
    """What a callback raises is raised by fit, and training can go on from there."""
    expected = file_of(fit(tmp_path, checkpoint=None), tmp_path)

    def fail(record: Any) -> None:
        if record.epoch == 5:
            message = "no more"
            raise RuntimeError(message)

    with pytest.raises(RuntimeError, match="no more"):
        fit(tmp_path, callbacks=[fail])
    assert file_of(fit(tmp_path), tmp_path) == expected


def test_memory_that_runs_out_is_told(monkeypatch: pytest.MonkeyPatch):
    """A worker that runs out of memory ends the fit in one sentence, and the model stays without a fit."""

    def none_left(*_: object, **__: object) -> None:
        message = "Unable to allocate 9 TiB"
        raise MemoryError(message)

    monkeypatch.setattr("dln.network._networks.train", none_left)
    model = RuleRegressor(**SETTINGS)
    table = frame()
    with pytest.raises(
        MemoryError, match=r"network 1 did not fit in memory \(Unable to allocate 9 TiB\): try fewer rows"
    ):
        model.fit(table, target(table))
    assert not hasattr(model, "circuit_")


def test_networks_that_had_not_begun_are_left_out(tmp_path: Path):
    """An interrupted fit returns the networks that had begun; the others begin when it is resumed."""
    expected = file_of(fit(tmp_path, checkpoint=None), tmp_path)
    with pytest.warns(FitInterruptedWarning):
        model = fit(tmp_path, n_jobs=1, callbacks=[interrupt_at(3, network=0)])
    assert set(model.history_["network"]) == {0}
    with warnings.catch_warnings():
        assert file_of(fit(tmp_path), tmp_path) == expected
