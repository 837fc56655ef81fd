"""A circuit in half precision: the paper counts float16 operations, so coefficients and cut-offs must bear it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dln.circuit._circuit import Above, Circuit, Literal, Rule, on_grid
from dln_bench._split import Split


def rounded_to_float16(model: Any, rows: Split) -> None:
    """Round a fitted model's cut-offs and coefficients to float16 on the scale on which the network is trained.

    Cut-offs are rounded on the column's training range as [0, 1], coefficients and intercept on the standardised
    target: in the user's units, half precision ends at 65504.
    """
    model.circuit_ = rounded(model.circuit_, rows.X_train, rows.y_train)


def rounded(circuit: Circuit, X: Any, y: Any) -> Circuit:
    """Return the circuit with cut-offs and coefficients in float16."""
    mean, scale = float(y.mean()), float(y.std(ddof=0)) or 1.0

    def literal(old: Literal) -> Literal:
        if not isinstance(old, Above):
            return old
        values = X.iloc[:, old.column]
        low, width = float(values.min()), float(values.max() - values.min()) or 1.0
        return replace(old, cutoff=low + width * _half((old.cutoff - low) / width))

    return replace(
        circuit,
        literals=tuple(literal(old) for old in circuit.literals),
        rules=tuple(
            Rule(rule.node, on_grid(scale * _half(rule.weight / scale), circuit.decimals)) for rule in circuit.rules
        ),
        intercept=on_grid(mean + scale * _half((circuit.intercept - mean) / scale), circuit.decimals),
    )


def _half(value: float) -> float:
    return float(np.float16(value))
