"""Compares an exported model with the circuit, bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dln._errors import VerificationError
from dln.circuit._circuit import Values
from dln.export._form import Form

#: Runs an exported file on rows given column by column.
Runner: TypeAlias = Callable[[Path, Form, Sequence[Values]], npt.NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Verification:
    """Rows on which an exported file gave the circuit's predictions, every bit of them."""

    path: Path
    engine: str
    n_rows: int

    def __str__(self) -> str:
        return f"run with {self.engine} on {self.n_rows} rows, every bit as predicted by the model"


def compare(path: Path, form: Form, values: Sequence[Values], runner: Runner, engine: str) -> Verification:
    """Run an exported file; raise `VerificationError` unless every prediction has the bits of `Circuit.evaluate`."""
    expected = form.circuit.evaluate(values)
    received = runner(path, form, values)
    if len(received) != len(expected):
        message = f"{path.name}: {len(expected)} predictions were expected, but {engine} gave {len(received)}"
        raise VerificationError(message)
    # As bytes: NaN equals NaN and 0.0 does not equal -0.0.
    differs = received.view(np.int64) != expected.view(np.int64)
    if differs.any():
        row = int(differs.argmax())
        message = (
            f"{path.name}: {int(differs.sum())} of {len(expected)} rows differ from the model, the first at row {row}: "
            f"{engine} gave {float(received[row])!r} instead of {float(expected[row])!r}"
        )
        raise VerificationError(message)
    return Verification(path, engine, len(expected))
