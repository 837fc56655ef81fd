"""The parameters `monotonic_cst` and `interaction_cst`, in scikit-learn's forms, as constraints on columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any

from dln.circuit._circuit import Column
from dln.circuit._constraints import Constraint, Interactions, Monotone
from dln.data._dates import split_part_name


def read_constraints(
    monotonic_cst: Any, interaction_cst: Any, names: Sequence[str], columns: Sequence[Column]
) -> tuple[Constraint, ...]:
    """Return the constraints on a model's columns, given the names of the table's; parts of a date are one of these."""

    def named(item: Any, parameter: str) -> tuple[int, ...]:
        """Return the model's columns that a name, also of a part of a date, or an index in a group stands for."""
        is_index = parameter == "interaction_cst" and isinstance(item, Integral) and int(item) in range(len(names))
        name = names[int(item)] if is_index else item
        own = tuple(j for j, column in enumerate(columns) if column.name == name)
        parts = ((j, split_part_name(column.name)) for j, column in enumerate(columns))
        own = own or tuple(j for j, split in parts if split is not None and split[0] == name)
        if not own:
            raise ValueError(f"{parameter} must name columns of X, got {item!r}; X has {list(names)!r}")
        return own

    given = {} if monotonic_cst is None else monotonic_cst
    if not isinstance(given, Mapping):
        if len(given) != len(names):
            raise ValueError(
                f"monotonic_cst must have one value for each of the {len(names)} columns of X, got {len(given)}"
            )
        given = dict(zip(names, given, strict=True))
    directions = {name: (named(name, "monotonic_cst")[0], value) for name, value in given.items()}
    found: list[Constraint] = [*_monotone(directions, columns)]
    if isinstance(interaction_cst, str):
        groups = tuple(named(name, "interaction_cst") for name in names)
        found.append(Interactions(groups, most=2 if interaction_cst == "pairwise" else 1))
    elif interaction_cst is not None:
        for group in interaction_cst:
            if isinstance(group, str) or not isinstance(group, Iterable):
                form = "a list of groups, like [['age', 'bmi'], ['region']]"
                raise ValueError(f"interaction_cst must be {form}, got the group {group!r}")
        sets = [{j for item in group for j in named(item, "interaction_cst")} for group in interaction_cst]
        # Columns that are not named are one further group, as in scikit-learn.
        sets.append(set(range(len(columns))).difference(*sets))
        found.append(Interactions(tuple(dict.fromkeys(tuple(sorted(one)) for one in sets if one))))
    return tuple(found)


def _monotone(given: Mapping[Any, tuple[int, Any]], columns: Sequence[Column]) -> Iterator[Monotone]:
    for name, (j, value) in given.items():
        if isinstance(value, bool) or value not in (-1, 0, 1):
            raise ValueError(f"monotonic_cst must be -1, 0 or 1 for each column, got {value!r} for {name!r}")
        if value and columns[j].name != name:
            part = f"constrain a part of them, like {columns[j].name!r}"
            raise ValueError(f"monotonic_cst cannot constrain {name!r}: it holds dates; {part}")
        if value and columns[j].categories is not None:
            raise ValueError(f"monotonic_cst cannot constrain {name!r}: it holds categories, which do not rise or fall")
        if value:
            yield Monotone(j, 1 if value > 0 else -1)
