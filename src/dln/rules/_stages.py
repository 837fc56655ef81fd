"""Stages of a fit as arrays, for a checkpoint: what teachers said, what was chosen, which rules were found."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dln.rules._expression import Expression, Join, Test

Arrays = dict[str, npt.NDArray[Any]]


class Store(Protocol):
    """Where stages are kept: a checkpoint."""

    def stage(self, name: str) -> Arrays | None:
        """Return what a stage came to, or None if it was not done."""

    def keep_stage(self, name: str, arrays: Arrays) -> None:
        """Remember what a stage came to."""

    def write(self) -> None:
        """Write all that was kept."""


def staged(
    store: Store | None,
    name: str,
    compute: Callable[[], Arrays | None],
    *,
    is_whole: Callable[[], bool] = lambda: True,
) -> Arrays | None:
    """Return what a stage came to, computed unless it is known; what was cut short is not kept."""
    if store is None:
        return compute()
    known = store.stage(name)
    if known is None:
        known = compute()
        if known is not None and is_whole():
            store.keep_stage(name, known)
            store.write()
    return known


def to_text(value: Any) -> npt.NDArray[np.uint8]:
    """Return plain values and expressions as the bytes of JSON."""
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


def from_text(text: npt.NDArray[np.uint8]) -> Any:
    """Return what `to_text` was given, expressions as lists."""
    return json.loads(text.tobytes())


def expression_of(value: list[Any]) -> Expression:
    """Return the expression that JSON has made a list of.

    >>> expression_of([1, [0, 5, False], [3, 2, True]])
    Join(gate=1, a=Test(input=0, cutoff=5, negated=False), b=Test(input=3, cutoff=2, negated=True))
    """
    if isinstance(value[1], list):
        return Join(int(value[0]), expression_of(value[1]), expression_of(value[2]))
    return Test(int(value[0]), int(value[1]), bool(value[2]))


def named(arrays: Mapping[str, Any]) -> Arrays:
    """Return values as arrays."""
    return {name: np.asarray(value) for name, value in arrays.items()}
