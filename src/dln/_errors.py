"""The mistakes that dln names: one exception type per kind of mistake."""

from __future__ import annotations


class CircuitError(ValueError):
    """A circuit that cannot be: an index out of range, a gate before its input, a weight that is not finite.

    >>> import dln
    >>> dln.Circuit(columns=(), literals=(), gates=(), rules=(), intercept=0.0, decimals=0)
    Traceback (most recent call last):
    dln._errors.CircuitError: a circuit needs at least one column
    """


class ModelFileError(ValueError):
    """A model file that is damaged, hostile, or written by a later version.

    `reason` says what is wrong, `place` where in the file, `path` in which file.

    >>> print(ModelFileError("column must be below 2, got 7", "literals[3]", "house.dln"))
    house.dln is not a model that can be read: at literals[3]: column must be below 2, got 7
    """

    def __init__(self, reason: str, place: str = "", path: str = "") -> None:
        super().__init__(reason, place, path)  # all three, so that the error survives pickling
        self.reason, self.place, self.path = reason, place, path

    def __str__(self) -> str:
        where = f"at {self.place}: " if self.place else ""
        return f"{self.path or 'the file'} is not a model that can be read: {where}{self.reason}"


class CheckpointError(ValueError):
    """A checkpoint that cannot be continued from: damaged, or of another fit.

    >>> raise CheckpointError("run.ckpt belongs to another fit: max_epochs was 100, is 200")
    Traceback (most recent call last):
    dln._errors.CheckpointError: run.ckpt belongs to another fit: max_epochs was 100, is 200
    """


class MissingExtraError(ImportError):
    """A feature was asked for whose optional dependencies are not installed.

    >>> print(MissingExtraError("model.plot()", "plot", "pygraphviz"))
    model.plot() needs the package 'pygraphviz', which is not installed: pip install 'dln[plot]'
    """

    def __init__(self, feature: str, extra: str, missing: str) -> None:
        super().__init__(f"{feature} needs the package {missing!r}, which is not installed: pip install 'dln[{extra}]'")


class FitInterruptedWarning(UserWarning):
    """A fit was interrupted and kept the best epochs that it had reached.

    >>> import warnings
    >>> warnings.filterwarnings("ignore", category=FitInterruptedWarning)  # for scripts that stop fits on purpose
    """


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written; the fit goes on without.

    >>> import warnings
    >>> warnings.filterwarnings("error", category=CheckpointWarning)  # where a fit without checkpoints is no use
    """
