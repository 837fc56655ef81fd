"""What a search space is: a function from an Optuna trial, and from what is known of the table, to parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Context:
    """What a space may know of the table.

    Attributes
    ----------
    n_rows : int
        Rows that are searched on.
    n_numbers : int
        Columns of numbers.
    n_categories : int
        Columns of categories.

    """

    n_rows: int
    n_numbers: int
    n_categories: int


#: Called with an Optuna trial, whose ``suggest_…`` methods it uses, and the context; returns parameters to set.
Space: TypeAlias = Callable[[Any, Context], dict[str, Any]]
