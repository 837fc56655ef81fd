"""The mistakes that dln names: one exception type per kind of mistake."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from dln._text import clean


class CircuitError(ValueError):
    """A circuit that cannot be: an index out of range, a gate before its input, a weight that is not finite.

    >>> import dln
    >>> dln.Circuit(columns=(), literals=(), gates=(), rules=(), intercept=0.0, decimals=0)
    Traceback (most recent call last):
    dln._errors.CircuitError: a circuit needs at least one column
    """


class ModelFileError(ValueError):
    """A model file that is damaged, hostile, or written by a later version.

    Parameters
    ----------
    reason : str
        The mistake.
    place : str, default=""
        Its place in the file.
    path : str, default=""
        The file.

    Examples
    --------
    >>> print(ModelFileError("column must be below 2, got 7", "literals[3]", "house.dln"))
    house.dln is not a model that can be read: at literals[3]: column must be below 2, got 7

    """

    def __init__(self, reason: str, place: str = "", path: str = "") -> None:
        super().__init__(reason, place, path)  # all three, so that the error survives pickling
        self.reason, self.place, self.path = reason, place, path

    def __str__(self) -> str:
        where = f"at {self.place}: " if self.place else ""
        return clean(f"{self.path or 'the file'} is not a model that can be read: {where}{self.reason}")


class RuleSyntaxError(ValueError):
    """A rule whose text cannot be read, or names what the table does not have.

    Parameters
    ----------
    rule : str
        The text.
    position : int
        Index of the character where it cannot be read.
    expected : str
        What could stand there.

    Examples
    --------
    >>> print(RuleSyntaxError("age > sixty", 6, "a number"))
    the rule 'age > sixty' cannot be read at character 7, 'sixty': expected a number

    """

    def __init__(self, rule: str, position: int, expected: str) -> None:
        super().__init__(rule, position, expected)  # all three, so that the error survives pickling
        self.rule, self.position, self.expected = rule, position, expected

    def __str__(self) -> str:
        rest = repr(self.rule[self.position : self.position + 20]) if self.rule[self.position :] else "its end"
        return clean(
            f"the rule {self.rule!r} cannot be read at character {self.position + 1}, {rest}: expected {self.expected}"
        )


class MissingExtraError(ImportError):
    """The optional dependencies of a feature are not installed.

    Parameters
    ----------
    feature : str
        The feature, as a user calls it.
    extra : str
        The extra of dln that brings it.
    missing : str
        The package that is not there.

    Examples
    --------
    >>> print(MissingExtraError("model.plot()", "plot", "pygraphviz"))
    model.plot() needs the package 'pygraphviz', which is not installed: in a clone of dln, pip install '.[plot]'

    """

    def __init__(self, feature: str, extra: str, missing: str) -> None:
        super().__init__(
            f"{feature} needs the package {missing!r}, which is not installed: in a clone of dln, "
            f"pip install '.[{extra}]'"
        )


def import_extra(package: str, feature: str, extra: str) -> Any:
    """Return a package that an extra of dln brings, or raise `MissingExtraError`.

    >>> import_extra("json", "model.plot()", "plot").dumps(1)
    '1'
    """
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingExtraError(feature, extra, package.partition(".")[0]) from error


class TimeLimitWarning(UserWarning):
    """A fit ran out of its time limit, and kept the best model so far.

    >>> import warnings
    >>> warnings.filterwarnings("ignore", category=TimeLimitWarning)  # for scripts that give little time on purpose
    """


class ConstraintError(ValueError):
    """A model breaks a constraint of its user, or there is no proof that it keeps it.

    >>> raise ConstraintError("not proved: price never rises as distance rises: it rises by 12 where distance rises …")
    Traceback (most recent call last):
    dln._errors.ConstraintError: not proved: price never rises as distance rises: it rises by 12 where distance rises …
    """


class ExportError(ValueError):
    """A model that a target cannot hold, or a target that is not there.

    >>> import dln
    >>> raise dln.ExportError("the ending of 'price.docx' names no format: use .c, .sql, .xlsx, .js, .py, .onnx or .v")
    Traceback (most recent call last):
    dln._errors.ExportError: the ending of 'price.docx' names no format: use .c, .sql, .xlsx, .js, .py, .onnx or .v
    """


class VerificationError(AssertionError):
    """An exported model that does not give the model's own predictions, bit for bit, or does not run.

    >>> raise VerificationError("price.c: 3 of 412 rows differ, the first at row 17: 25.0 instead of 24.5")
    Traceback (most recent call last):
    dln._errors.VerificationError: price.c: 3 of 412 rows differ, the first at row 17: 25.0 instead of 24.5
    """


class NotVerifiedWarning(UserWarning):
    """An exported model was not run: no engine for it is available.

    >>> import warnings
    >>> warnings.filterwarnings("error", category=NotVerifiedWarning)  # where an unverified export is no use
    """


class CompileCacheWarning(UserWarning):
    """Machine code could not be kept where it is found the next time: dln works, but starts more slowly.

    >>> import warnings
    >>> warnings.filterwarnings("ignore", category=CompileCacheWarning)  # for containers that live once
    """


class PrecisionWarning(UserWarning):
    """Numbers differ by less than float64 can tell: some that are different are taken as equal.

    >>> import warnings
    >>> warnings.filterwarnings("error", category=PrecisionWarning)  # where rounded identifiers would be a mistake
    """


class ColumnWarning(UserWarning):
    """A column of the training table is probably not what it is taken for: numbers as text, row numbers, the target.

    >>> import warnings
    >>> warnings.filterwarnings("error", category=ColumnWarning)  # where tables come from elsewhere
    """


class UnknownCategoryWarning(UserWarning):
    """Rows to predict hold categories that the training table did not have: no rule names them.

    >>> import warnings
    >>> warnings.filterwarnings("ignore", category=UnknownCategoryWarning)  # where new categories are usual
    """
