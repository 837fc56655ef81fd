"""The mistakes that dln names: one exception type per kind of mistake."""

from __future__ import annotations


class CircuitError(ValueError):
    """A circuit that cannot be: an index out of range, a gate before its input, a weight that is not finite."""


class ModelFileError(ValueError):
    """A model file that is damaged, hostile, or written by a later version."""


class MissingExtraError(ImportError):
    """A feature was asked for whose optional dependencies are not installed."""

    def __init__(self, feature: str, extra: str, missing: str) -> None:
        super().__init__(f"{feature} needs the package {missing!r}, which is not installed: pip install 'dln[{extra}]'")


class FitInterruptedWarning(UserWarning):
    """A fit was interrupted and kept the best epochs that it had reached."""
