"""The parameters `monotonic_cst` and `interaction_cst`, in scikit-learn's forms, as constraints on columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any, NoReturn

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
    inputs = [_columns_of(name, columns) for name in names]
    found: list[Constraint] = []
    if monotonic_cst is not None:
        found += _monotone(monotonic_cst, names, inputs, columns)
    if interaction_cst is not None:
        found.append(_interactions(interaction_cst, names, inputs, columns))
    return tuple(found)


def _columns_of(name: str, columns: Sequence[Column]) -> tuple[int, ...]:
    """Return the model's columns that a column of the table became: itself, or the parts of its dates."""
    own = tuple(j for j, column in enumerate(columns) if column.name == name)
    splits = [split_part_name(column.name) for column in columns]
    return own or tuple(j for j, split in enumerate(splits) if split is not None and split[0] == name)


def _monotone(
    given: Any, names: Sequence[str], inputs: Sequence[tuple[int, ...]], columns: Sequence[Column]
) -> list[Constraint]:
    if isinstance(given, Mapping):
        items = [(name, _named(name, "monotonic_cst", names, inputs, columns), value) for name, value in given.items()]
    elif len(given) == len(names):
        items = list(zip(names, inputs, given, strict=True))
    else:
        _fail(f"monotonic_cst must have one value for each of the {len(names)} columns of X, got {len(given)}")
    found: list[Constraint] = []
    for name, own, value in items:
        if isinstance(value, bool) or value not in (-1, 0, 1):
            _fail(f"monotonic_cst must be -1, 0 or 1 for each column, got {value!r} for {name!r}")
        if value == 0:
            continue
        if len(own) > 1 or columns[own[0]].name != name:
            part = columns[own[0]].name
            _fail(f"monotonic_cst cannot constrain {name!r}: it holds dates; constrain a part of them, like {part!r}")
        if columns[own[0]].categories is not None:
            _fail(f"monotonic_cst cannot constrain {name!r}: it holds categories, which do not rise or fall")
        found.append(Monotone(own[0], int(value)))
    return found


def _interactions(
    given: Any, names: Sequence[str], inputs: Sequence[tuple[int, ...]], columns: Sequence[Column]
) -> Interactions:
    if isinstance(given, str):
        return Interactions(tuple(inputs), most=2 if given == "pairwise" else 1)
    groups = []
    for group in given:
        if isinstance(group, str) or not isinstance(group, Iterable):
            _fail(
                f"interaction_cst must be a list of groups, like [['age', 'bmi'], ['region']], got the group {group!r}"
            )
        own = [_named(item, "interaction_cst", names, inputs, columns) for item in group]
        groups.append(tuple(sorted({j for some in own for j in some})))
    # Columns that are not named are one further group, as in scikit-learn.
    if rest := tuple(sorted(set(range(len(columns))).difference(*groups))):
        groups.append(rest)
    return Interactions(tuple(dict.fromkeys(filter(None, groups))))


def _named(
    item: Any, parameter: str, names: Sequence[str], inputs: Sequence[tuple[int, ...]], columns: Sequence[Column]
) -> tuple[int, ...]:
    """Return the model's columns that a name, also of a part of a date, or an index in a group stands for."""
    if isinstance(item, str):
        if own := _columns_of(item, columns):
            return own
    elif parameter == "interaction_cst" and isinstance(item, Integral) and int(item) in range(len(names)):
        return inputs[int(item)]
    raise ValueError(f"{parameter} must name columns of X, got {item!r}; X has {list(names)!r}")


def _fail(message: str) -> NoReturn:
    raise ValueError(message)
