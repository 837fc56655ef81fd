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
    """Return the constraints on a model's columns, given the names of the table's; parts of a date are one of these.

    >>> columns = (Column("age"), Column("bmi"), Column("region", ("north", "south")))
    >>> read_constraints({"age": 1, "bmi": 0}, [["age", "bmi"]], ["age", "bmi", "region"], columns)
    (Monotone(column=0, direction=1), Interactions(groups=((0, 1), (2,)), most=1))
    """
    found: list[Constraint] = []
    if monotonic_cst is not None:
        if not isinstance(monotonic_cst, Mapping) and len(monotonic_cst) != len(names):
            raise ValueError(
                f"monotonic_cst must have one value for each of the {len(names)} columns of X, got {len(monotonic_cst)}"
            )
        given = monotonic_cst if isinstance(monotonic_cst, Mapping) else dict(zip(names, monotonic_cst, strict=True))
        found += _monotone(given, names, columns)
    if isinstance(interaction_cst, str):
        groups = [_named(name, "interaction_cst", names, columns) for name in names]
        found.append(Interactions(tuple(groups), most=2 if interaction_cst == "pairwise" else 1))
    elif interaction_cst is not None:
        groups = [_group(group, names, columns) for group in interaction_cst]
        # Columns that are not named are one further group, as in scikit-learn.
        groups.append(tuple(sorted(set(range(len(columns))).difference(*groups))))
        found.append(Interactions(tuple(dict.fromkeys(filter(None, groups)))))
    return tuple(found)


def _monotone(given: Mapping[Any, Any], names: Sequence[str], columns: Sequence[Column]) -> Iterator[Constraint]:
    for name, value in given.items():
        own = _named(name, "monotonic_cst", names, columns)
        if isinstance(value, bool) or value not in (-1, 0, 1):
            raise ValueError(f"monotonic_cst must be -1, 0 or 1 for each column, got {value!r} for {name!r}")
        first = columns[own[0]]
        if value and first.name != name:
            part = f"constrain a part of them, like {first.name!r}"
            raise ValueError(f"monotonic_cst cannot constrain {name!r}: it holds dates; {part}")
        if value and first.categories is not None:
            raise ValueError(f"monotonic_cst cannot constrain {name!r}: it holds categories, which do not rise or fall")
        if value:
            yield Monotone(own[0], 1 if value > 0 else -1)


def _group(group: Any, names: Sequence[str], columns: Sequence[Column]) -> tuple[int, ...]:
    if isinstance(group, str) or not isinstance(group, Iterable):
        raise ValueError(
            f"interaction_cst must be a list of groups, like [['age', 'bmi'], ['region']], got the group {group!r}"
        )
    return tuple(sorted({j for item in group for j in _named(item, "interaction_cst", names, columns)}))


def _named(item: Any, parameter: str, names: Sequence[str], columns: Sequence[Column]) -> tuple[int, ...]:
    """Return the model's columns that a name, also of a part of a date, or an index in a group stands for."""
    name = item
    if parameter == "interaction_cst" and isinstance(item, Integral) and int(item) in range(len(names)):
        name = names[int(item)]
    splits = [split_part_name(column.name) for column in columns]
    own = tuple(j for j, column in enumerate(columns) if column.name == name)
    own = own or tuple(j for j, split in enumerate(splits) if split is not None and split[0] == name)
    if not own:
        raise ValueError(f"{parameter} must name columns of X, got {item!r}; X has {list(names)!r}")
    return own
