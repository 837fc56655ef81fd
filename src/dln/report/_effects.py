"""The columns that rules read: their choices, their distribution, and the average prediction along them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import MISSING, UNKNOWN, Circuit, Column, Values
from dln.circuit._words import category_text, name_text
from dln.circuit.bits import PreparedCircuit, predict
from dln.data._categories import are_booleans
from dln.data._dates import split_part_name
from dln.readers._curves import column_cutoffs
from dln.report._page_data import CategoryColumn, CategoryOption, InputColumn, NumberColumn

#: Largest number of rows that effects are averages over: more would move no visible line.
MAX_AVERAGED: Final = 2000
#: Largest number of steps of a histogram.
_STEPS: Final = 32
#: Largest number of steps of a slider, so that arrow keys move it visibly.
_SLIDER_STEPS: Final = 1000
#: Margin on both sides of the outermost cut-offs, as a share of the distance between them.
_MARGIN: Final = 0.1

#: Parts of dates are whole numbers: of these from the first to the last that there are, of years as in the data.
_PART_ENDS: Final = {"month": (1.0, 12.0), "hour": (0.0, 23.0)}

#: Sliders end here: the distance between larger numbers may be more than a float can hold.
_LARGEST: Final = 1e300


@dataclass(frozen=True, slots=True)
class Effects:
    """Predicts rows with one column changed: on average over the data, or for one typical row where there are none."""

    prepared: PreparedCircuit
    values: Sequence[Values]

    def average(self, j: int, value: float) -> float:
        """Return the mean prediction where column j holds a value in every row."""
        changed = list(self.values)
        changed[j] = np.full(len(changed[0]), value, dtype=np.float64 if changed[j].dtype.kind == "f" else np.int32)
        return float(predict(self.prepared, changed, 1).mean())


def typical_values(
    circuit: Circuit, values: Sequence[Values] | None, ranges: Mapping[str, tuple[float, float]]
) -> list[float]:
    """Return a value for each column: the median of the data or the middle of the training range, or the mode."""
    typical, cutoffs = [], column_cutoffs(circuit.literals)
    for j, column in enumerate(circuit.columns):
        data = None if values is None else values[j]
        if column.categories is not None:
            typical.append(float(_typical_code(column, data)))
            continue
        known = np.array([]) if data is None else data[~np.isnan(data)].astype(np.float64)
        if len(known):
            typical.append(float(np.quantile(known, 0.5, method="lower")))
        else:
            low, high = ranges.get(column.name) or around(cutoffs.get(j, ()))
            typical.append(_rounded(low / 2 + high / 2, _step(low, high, ())))
    return typical


def _typical_code(column: Column, codes: Values | None) -> int:
    if codes is not None:
        distinct, counts = np.unique(codes[codes != MISSING], return_counts=True)
        return int(distinct[counts.argmax()]) if len(distinct) else MISSING
    return 0 if are_booleans(column.categories or ()) else UNKNOWN


def input_columns(
    effects: Effects,
    used: Sequence[int],
    importance: npt.NDArray[np.float64],
    typical: Sequence[float],
    data: Sequence[Values] | None,
    ranges: Mapping[str, tuple[float, float]],
) -> tuple[InputColumn, ...]:
    circuit = effects.prepared.circuit
    cutoffs = column_cutoffs(circuit.literals)
    made: list[InputColumn] = []
    for j in used:
        column, values = circuit.columns[j], None if data is None else data[j]
        facts = {"name": name_text(column.name), "importance": float(importance[j])}
        if column.categories is None:
            made.append(_number(effects, j, cutoffs.get(j, ()), typical[j], values, ranges.get(column.name), facts))
        else:
            made.append(_category(effects, j, int(typical[j]), values, facts))
    return tuple(made)


def _number(
    effects: Effects,
    j: int,
    cutoffs: tuple[float, ...],
    typical: float,
    values: Values | None,
    learned: tuple[float, float] | None,
    facts: dict[str, Any],
) -> NumberColumn:
    known = np.array([]) if values is None else values[~np.isnan(values)].astype(np.float64)
    marks = [*cutoffs, *(learned or ()), *((known.min(), known.max()) if len(known) else ())]
    low, high = max(float(min(marks, default=typical)), -_LARGEST), min(float(max(marks, default=typical)), _LARGEST)
    if learned is None and not len(known):
        low, high = around(cutoffs)
    elif low == high:
        low, high = around((low,))
    step = _step(low, high, cutoffs)
    low, high = _rounded(math.floor(low / step) * step, step), _rounded(math.ceil(high / step) * step, step)
    high = high if high > low else low + step
    if (split := split_part_name(effects.prepared.circuit.columns[j].name)) is not None:
        (low, high), step = _PART_ENDS.get(split[1], (math.floor(low), math.ceil(high))), 1.0
    n_bars = min(_STEPS, len(np.unique(known)))  # a few whole numbers get a step each
    # A value in each block between cut-offs: the upper cut-off itself, for "x > c" is strict.
    inside = [*cutoffs, math.nextafter(cutoffs[-1], math.inf)] if cutoffs else [typical]
    return NumberColumn(
        **facts,
        cutoffs=cutoffs,
        ends=(low, high),
        step=step,
        typical=typical,
        learned=learned,
        counts=tuple(np.histogram(known, bins=n_bars, range=(low, high))[0].tolist()) if n_bars else (),
        missing=None if values is None else float(np.isnan(values).mean()),
        averages=tuple(effects.average(j, value) for value in inside),
        average_missing=effects.average(j, math.nan),
    )


def _category(effects: Effects, j: int, typical: int, codes: Values | None, facts: dict[str, Any]) -> CategoryColumn:
    column = effects.prepared.circuit.columns[j]
    choices = [(code, category_text(category)) for code, category in enumerate(column.categories or ())]
    if not are_booleans(
        column.categories or ()
    ):  # all categories that no rule names: they may be private, and are equal to the model
        others = "any value" if not choices else f"not {choices[0][1]}" if len(choices) == 1 else "any other"
        choices.append((UNKNOWN, others))
    choices.append((MISSING, "missing"))
    shares = [None if codes is None else float((codes == code).mean()) for code, _ in choices]
    options = [
        CategoryOption(code, label, share, effects.average(j, code))
        for (code, label), share in zip(choices, shares, strict=True)
    ]
    return CategoryColumn(**facts, options=tuple(options), typical=typical, missing=shares[-1])


def around(cutoffs: Sequence[float]) -> tuple[float, float]:
    if not cutoffs:
        return 0.0, 1.0
    low, high = min(cutoffs), max(cutoffs)
    margin = (high - low) * _MARGIN or abs(low) / 2 or 1.0
    return low - margin, high + margin


def _step(low: float, high: float, cutoffs: Sequence[float]) -> float:
    """Return the step of a slider: a power of ten, no finer than the cut-offs are."""
    finest = 10.0 ** math.ceil(math.log10(max((high - low) / _SLIDER_STEPS, 1e-300)))
    digits = max((len(f"{cutoff:.6f}".rstrip("0").partition(".")[2]) for cutoff in cutoffs), default=0)
    return max(finest, 10.0**-digits)


def _rounded(value: float, step: float) -> float:
    """Return a multiple of a power of ten without binary rounding errors."""
    digits = round(-math.log10(step))
    return round(value, digits) if digits > 0 else float(round(value / step) * step)


def start_row(
    circuit: Circuit,
    data: Sequence[Values],
    predicted: npt.NDArray[np.float64],
    typical: Sequence[float],
    shown: npt.NDArray[np.intp] | None,
) -> list[float]:
    """Return a row whose prediction is nearest to the median, of the rows that the page shows if it shows any.

    Otherwise each number is the median of those between the same cut-offs: the prediction is that of the row.
    """
    complete = np.ones(len(predicted), dtype=np.bool_)
    for column, values in zip(circuit.columns, data, strict=True):
        if column.categories is None and not np.isnan(values).all():
            complete &= ~np.isnan(values)
    rows = np.arange(len(predicted)) if shown is None else shown
    rows = rows[complete[rows]] if complete[rows].any() else rows
    row = int(rows[np.abs(predicted[rows] - np.quantile(predicted, 0.5, method="lower")).argmin()])
    cutoffs = column_cutoffs(circuit.literals)
    start = []
    for j, (column, values) in enumerate(zip(circuit.columns, data, strict=True)):
        value = float(values[row])
        if math.isnan(value):
            value = typical[j]
        elif column.categories is None and shown is None:
            blocks = np.searchsorted(cutoffs.get(j, ()), values)
            value = float(np.nanquantile(values[blocks == blocks[row]], 0.5, method="lower"))
        start.append(value)
    return start
