"""A fit that outlives the process: the state of every network and what whole stages came to, in one file.

A checkpoint is a safetensors file: four float32 tensors per network, the arrays of the stages that are done, and JSON
among its metadata. Networks do not depend on each other, so each is kept as of its own last epoch. What is random
follows from the seed, the stage and the epoch's number, so no state of a generator is needed.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
import warnings
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from dln._atomic import AnyPath, remove_unfinished, write_atomically
from dln._errors import CheckpointError, CheckpointWarning
from dln.network._loop import Epoch, TrainingState

#: Seconds of training that a crash may cost; a write takes milliseconds.
INTERVAL: Final = 5.0

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]

_FORMAT: Final = "dln-checkpoint 2"
#: What the names of a stage's tensors begin with.
_STAGE: Final = "stage/"
_TENSORS: Final = ("flat", "first_moment", "second_moment", "best")

#: Facts that are digests: what they were tells a reader nothing.
_DIGESTS: Final = ("data", "validation data")


class Checkpoint:
    """The file of one fit. Workers `keep` their states, the main thread writes them."""

    def __init__(
        self, path: Path, facts: Mapping[str, Any], states: dict[int, TrainingState], stages: dict[str, Arrays]
    ) -> None:
        self.path, self.facts = path, facts
        self._states, self._stages = states, stages
        self._lock = threading.Lock()
        self._written = time.monotonic()
        self._failed = False

    @classmethod
    def open(cls, path: AnyPath, facts: Mapping[str, Any], *, seeds_are_free: bool) -> Checkpoint:
        """Go on from a checkpoint if there is one, and start one otherwise.

        `facts` is all that the result of training depends on. Where they differ from those of the checkpoint,
        `CheckpointError` says in what; seeds that nobody asked for are taken from the checkpoint instead.
        """
        now: dict[str, Any] = json.loads(json.dumps(facts))
        file = Path(path)
        if file.exists():
            old, states, stages = _read(file)
            if seeds_are_free and len(old["seeds"]) == len(now["seeds"]):
                now["seeds"] = old["seeds"]
            _check_same(file, old, now)
            return cls(file, now, states, stages)
        checkpoint = cls(file, now, {}, {})
        write_atomically(file, checkpoint._bytes())  # a folder that is missing or full is told before hours of training
        return checkpoint

    def state(self, index: int) -> TrainingState | None:
        """Return a network's state to go on from; None if it had not begun."""
        kept = self._states.get(index)
        return None if kept is None else _copy(kept)

    def keep(self, index: int, state: TrainingState) -> None:
        """Remember a network's state after an epoch."""
        copy = _copy(state)
        with self._lock:
            self._states[index] = copy

    def stage(self, name: str) -> Arrays | None:
        """Return what a stage came to, or None if it was not done."""
        return self._stages.get(name)

    def keep_stage(self, name: str, arrays: Arrays) -> None:
        """Remember what a stage came to."""
        with self._lock:
            self._stages[name] = arrays

    def write_if_due(self) -> None:
        """Write the states if the last write is long enough ago."""
        if time.monotonic() - self._written >= INTERVAL:
            self.write()

    def write(self) -> None:
        """Write the states; a disk that is full now must not end the fit, so it is a warning, once."""
        try:
            write_atomically(self.path, self._bytes())
            self._failed = False
        except OSError as error:
            if not self._failed:
                warnings.warn(f"the fit goes on, but its checkpoint is old: {error}", CheckpointWarning, stacklevel=2)
            self._failed = True
        self._written = time.monotonic()

    def _bytes(self) -> bytes:
        with self._lock:
            states, stages = dict(sorted(self._states.items())), dict(sorted(self._stages.items()))
        tensors: Arrays = {f"{i}.{name}": getattr(state, name) for i, state in states.items() for name in _TENSORS}
        tensors |= {
            f"{_STAGE}{stage}/{name}": np.ascontiguousarray(array).reshape(
                array.shape
            )  # or single numbers would become lists
            for stage, arrays in stages.items()
            for name, array in arrays.items()
        }
        networks = {
            i: {
                "best_epoch": state.best_epoch,
                "best_loss": state.best_loss,
                "epochs": [asdict(epoch) for epoch in state.epochs],
            }
            for i, state in states.items()
        }
        texts = {"format": _FORMAT, "facts": json.dumps(self.facts), "networks": json.dumps(networks)}
        return save(tensors, {**texts, "sha256": _digest(texts, tensors)})


def remove_checkpoint(path: AnyPath) -> None:
    """Remove the checkpoint of a fit that is complete: the same line, run again, is to learn again."""
    Path(path).unlink(missing_ok=True)
    remove_unfinished(path)


def array_digest(*arrays: npt.NDArray[Any]) -> str:
    """Return a fingerprint of arrays: of their shapes, types and bytes."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.shape} {array.dtype.str} ".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _copy(state: TrainingState) -> TrainingState:
    arrays = {name: getattr(state, name).copy() for name in _TENSORS}
    return replace(state, **arrays, epochs=list(state.epochs))


def _digest(texts: Mapping[str, str], tensors: Mapping[str, npt.NDArray[Any]]) -> str:
    digest = hashlib.sha256(json.dumps([texts[name] for name in ("format", "facts", "networks")]).encode())
    for name in sorted(tensors):
        digest.update(f"{name} {array_digest(tensors[name])} ".encode())
    return digest.hexdigest()


def _read(path: Path) -> tuple[dict[str, Any], dict[int, TrainingState], dict[str, Arrays]]:
    """Return the facts, the states and the stages of a checkpoint."""
    try:
        with safe_open(path, framework="numpy") as file:
            texts = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
        if texts["format"] != _FORMAT or texts["sha256"] != _digest(texts, tensors):
            raise _damaged(path, "the checksum does not match")
        networks = json.loads(texts["networks"])
        stages: dict[str, Arrays] = {}
        for name, array in tensors.items():
            if name.startswith(_STAGE):
                stage, _, part = name.removeprefix(_STAGE).rpartition("/")
                stages.setdefault(stage, {})[part] = array
        states = {int(i): _state(i, kept, tensors) for i, kept in networks.items()}
        return json.loads(texts["facts"]), states, stages
    except (SafetensorError, KeyError, TypeError) as error:
        raise _damaged(path, f"{error}") from error


def _state(index: str, kept: dict[str, Any], tensors: Mapping[str, npt.NDArray[Any]]) -> TrainingState:
    arrays = {name: tensors[f"{index}.{name}"].copy() for name in _TENSORS}
    epochs = [Epoch(**epoch) for epoch in kept["epochs"]]
    return TrainingState(**arrays, best_epoch=kept["best_epoch"], best_loss=kept["best_loss"], epochs=epochs)


def _damaged(path: Path, reason: str) -> CheckpointError:
    return CheckpointError(f"{path} is not a checkpoint that can be read ({reason}): delete it, or name another file")


def _check_same(path: Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    differences = []
    for name in {**old, **new}:
        if old.get(name) != new.get(name):
            differs = f"{name} was {old.get(name)!r} and is {new.get(name)!r}"
            differences.append(f"the {name} is not the same" if name in _DIGESTS else differs)
    if differences:
        message = (
            f"{path} is the checkpoint of another fit: {', '.join(differences)}; delete it to start anew, or name "
            "another file"
        )
        raise CheckpointError(message)
