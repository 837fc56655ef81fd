"""Random tasks and expressions for tests of the rule learner, and the plain least squares that they are held to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from hypothesis import strategies as st

from dln.circuit._circuit import Column, IsIn
from dln.data._rows import Floats
from dln.rules._bins import Inputs, NumberInput, bin_table
from dln.rules._expression import AND, OR, Expression, Join, Signals, Test
from dln.rules._task import Task

#: The way from an expression to a part of it: 1 for a, 2 for b.
Path: TypeAlias = tuple[int, ...]


def some_inputs(rng: np.random.Generator, n_rows: int, n_numbers: int, n_bits: int, n_values: int = 9) -> Inputs:
    """Return number columns, some values missing, and yes-no inputs of which every two belong to one column."""
    numbers = rng.integers(0, n_values, (n_numbers, n_rows)) / max(n_values - 1, 1)
    numbers[rng.random(numbers.shape) < 0.1] = np.nan
    columns = [Column(f"x{k}") for k in range(n_numbers)]
    table = bin_table(columns, [*numbers, np.zeros(n_rows)], np.ones(n_rows), None, 1)
    kept = [k for k, one in enumerate(table.inputs) if isinstance(one, NumberInput)]
    bits = tuple(IsIn(n_numbers + k // 2, (k % 2,)) for k in range(n_bits))
    return Inputs(
        (*(table.inputs[k] for k in kept), *bits),
        np.concatenate([table.bins[kept], rng.random((n_bits, n_rows)) < 0.4]).astype(np.uint8),
        np.append(table.n_bins[kept], np.full(n_bits, 2)).astype(np.int32),
    )


def task_of(inputs: Inputs, y: Floats, weight: Floats | None = None) -> Task:
    """Return a task whose rows are rows of the table."""
    weight = np.ones(len(y)) if weight is None else weight
    return Task(inputs, y, weight, 5.0 * float(weight.mean()))


def some_task(seed: int, n_rows: int = 120, n_numbers: int = 3, n_bits: int = 3) -> Task:
    """Return a task whose target depends on its inputs, with weights that are not all one."""
    rng = np.random.default_rng(seed)
    inputs = some_inputs(rng, n_rows, n_numbers, n_bits)
    y = rng.normal(size=n_rows)
    for k in range(len(inputs.n_bins)):
        y += rng.normal() * 2.0 * (inputs.bins[k] > inputs.n_bins[k] // 2)
    return task_of(inputs, y, rng.integers(1, 4, n_rows).astype(np.float64))


def some_expression(rng: np.random.Generator, inputs: Inputs, max_length: int) -> Expression:
    """Return a random expression of at most so many tests."""
    if max_length == 1 or rng.random() < 0.3:
        k = int(rng.integers(len(inputs.n_bins)))
        return Test(k, int(rng.integers(max(inputs.n_bins[k] - 1, 1))), negated=bool(rng.random() < 0.5))
    left = int(rng.integers(1, max_length))
    gate = int(rng.choice([AND, OR]))
    a, b = (some_expression(rng, inputs, size) for size in (left, max_length - left))
    return Join(gate, a, b)


def expressions_of(task: Task, seed: int, n: int, max_length: int = 4) -> list[Expression]:
    """Return random expressions that differ and are not constant on the task's rows."""
    rng = np.random.default_rng(seed)
    found: dict[bytes, Expression] = {}
    for _ in range(50 * n):
        expression = some_expression(rng, task.inputs, max_length)
        fires = task.signals(expression)
        if 0 < fires.sum() < len(fires):
            found.setdefault(min(fires.tobytes(), (~fires).tobytes()), expression)
        if len(found) == n:
            break
    return list(found.values())


def paths(expression: Expression, path: Path = ()) -> Iterator[Path]:
    """Yield the ways to all parts, the whole first."""
    yield path
    if isinstance(expression, Join):
        yield from paths(expression.a, (*path, 1))
        yield from paths(expression.b, (*path, 2))


def part(expression: Expression, path: Path) -> Expression:
    """Return the part at the end of a path."""
    for step in path:
        assert isinstance(expression, Join)
        expression = expression.a if step == 1 else expression.b
    return expression


def with_part(expression: Expression, path: Path, new: Expression) -> Expression:
    """Return the expression with another part at the end of a path."""
    if not path:
        return new
    assert isinstance(expression, Join)
    if path[0] == 1:
        return expression._replace(a=with_part(expression.a, path[1:], new))
    return expression._replace(b=with_part(expression.b, path[1:], new))


def without_part(expression: Expression, path: Path) -> Expression:
    """Return the expression without the part at the end of a path: its neighbour takes the place of their join."""
    join = part(expression, path[:-1])
    assert isinstance(join, Join)
    return with_part(expression, path[:-1], join.b if path[-1] == 1 else join.a)


def forced(signals: Signals, expression: Expression, path: Path, value: bool) -> Any:
    """Return where the expression would fire if the part at the end of a path were always, or never, true."""
    if not path:
        return np.full(signals.inputs.bins.shape[1], value)
    assert isinstance(expression, Join)
    first, second = (expression.a, expression.b) if path[0] == 1 else (expression.b, expression.a)
    a, b = forced(signals, first, path[1:], value), signals(second)
    return a & b if expression.gate == AND else a | b


def refitted(task: Task, rules: Any, penalty: float | None = None) -> tuple[float, float, Any]:
    """Return the penalised loss, the intercept and the weights of ridge regression, by numpy alone."""
    rules = np.asarray(rules, dtype=np.float64).reshape(-1, task.n_rows)
    penalty = task.penalty if penalty is None else penalty
    w = task.weight
    means = rules @ w / w.sum()
    centred = rules - means[:, np.newaxis]
    gram = (centred * w) @ centred.T
    weights = np.linalg.solve(gram + penalty * np.eye(len(rules)), (centred * w) @ task.centred)
    left = task.centred - weights @ centred
    return float(w @ left**2 + penalty * weights @ weights), task.mean - float(weights @ means), weights


#: Seeds of random tasks.
seeds = st.integers(0, 10_000)
