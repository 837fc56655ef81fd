"""A model → the bytes of its file."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from dln._atomic import AnyPath, write_atomically
from dln._errors import ModelFileError
from dln.circuit._circuit import Above, Circuit, IsIn, Literal
from dln.circuit._constraints import Interactions, Monotone
from dln.readers._intervals import Intervals, Scale
from dln.readers.model_file import _schema as schema


def write_model(path: AnyPath, model: schema.SavedModel) -> None:
    """Write a model file, atomically. A model that could not be read again is refused before anything is written."""
    from dln.readers.model_file._read import from_bytes

    try:
        data = to_bytes(model)
        if len(data) > schema.MAX_BYTES:
            raise ValueError(
                f"the model cannot be saved: its file would have {len(data)} bytes, more than the {schema.MAX_BYTES} "
                "that are read again: fit fewer rules, or merge categories (max_categories, min_frequency)"
            )
        from_bytes(data)
    except UnicodeEncodeError as error:
        half = error.object[error.start : error.end]
        raise ValueError(f"the model cannot be saved: {half!r} is half a character: repair the text") from error
    except ModelFileError as error:
        raise ValueError(f"the model cannot be saved: at {error.place}: {error.reason}") from error
    write_atomically(path, data)


def to_bytes(model: schema.SavedModel) -> bytes:
    """Return the model's file: always the same bytes for the same model."""
    return sealed(canonical_json(_part(model)))


def sealed(text: bytes) -> bytes:
    """Return the three lines of a file: magic and format, JSON, and the checksum of both."""
    lines = b"%s %d\n%s\n" % (schema.MAGIC.encode(), schema.FORMAT, text)
    return b"%ssha256:%s\n" % (lines, hashlib.sha256(lines).hexdigest().encode())


def canonical_json(part: schema.ModelPart) -> bytes:
    """Return the one way to write a model: fields in the order of the schema, shortest exact floats.

    Written by Python's json, not by msgspec: how Python writes a float is settled for ever.
    """
    plain = msgspec.to_builtins(part)
    text = json.dumps(plain, ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":"))
    return text.encode()


def _part(model: schema.SavedModel) -> schema.ModelPart:
    circuit = model.circuit
    return schema.ModelPart(
        decimals=circuit.decimals,
        intercept=circuit.intercept,
        **_nodes(circuit),
        columns=[schema.ColumnPart(c.name, c.categories, c.whole_to, c.seen) for c in circuit.columns],
        named=model.named,
        parameters={name: _plain(value, name) for name, value in model.parameters.items()},
        n_iter=model.n_iter,
        history={name: [_number(value) for value in values] for name, values in model.history.items()},
        training=_training_part(model.training),
        support=None if model.support is None else [float(share) for share in model.support],
        target=model.target,
        dates=tuple(model.dates),
        intervals=None if model.intervals is None else _intervals_part(model.intervals),
        kind=model.kind,
        frontier=_frontier_part(model),
        network=None if model.network in (None, circuit) else _smaller_part(model.network),
        edits=None if model.edits is None else [schema.EditPart(**edit) for edit in model.edits],
        frozen=None if model.frozen is None else list(model.frozen),
        monotone=[one for one in model.constraints if isinstance(one, Monotone)],
        interactions=next((one for one in model.constraints if isinstance(one, Interactions)), None),
    )


def _intervals_part(intervals: Intervals) -> schema.IntervalsPart:
    scale = () if intervals.scale == Scale() else (intervals.scale.edges, intervals.scale.factors)
    return schema.IntervalsPart(intervals.source, intervals.weight, intervals.widths, *scale)


def _training_part(facts: Mapping[str, Any]) -> schema.TrainingPart:
    parts = {"network": schema.NetworkPart, "folds": schema.FoldsPart}
    return schema.TrainingPart(**{name: parts[name](**fact) if name in parts else fact for name, fact in facts.items()})


def _nodes(circuit: Circuit) -> dict[str, Any]:
    return {
        "rules": [schema.RulePart(rule.node, rule.weight) for rule in circuit.rules],
        "gates": [schema.GatePart(gate.kind, gate.a, gate.b) for gate in circuit.gates],
        "literals": [_literal_part(literal) for literal in circuit.literals],
    }


def _frontier_part(model: schema.SavedModel) -> schema.FrontierPart | None:
    if model.frontier is None:
        return None
    points = []
    # Two sizes may have the same model: the larger is the model's own.
    own_index = max((k for k, point in enumerate(model.frontier) if point.circuit == model.circuit), default=-1)
    for k, point in enumerate(model.frontier):
        circuit, own = point.circuit, k == own_index
        smaller = None if circuit is None or own else _smaller_part(circuit, point.support)
        points.append(schema.PointPart(point.max_conditions, point.conditions, point.rules, point.r2, own, smaller))
    return schema.FrontierPart(points, model.frontier.ceiling)


def _smaller_part(circuit: Circuit, support: tuple[float, ...] = ()) -> schema.SmallerPart:
    return schema.SmallerPart(circuit.intercept, **_nodes(circuit), support=support)


def _literal_part(literal: Literal) -> schema.AbovePart | schema.InPart | schema.MissingPart:
    if isinstance(literal, Above):
        return schema.AbovePart(literal.column, literal.cutoff)
    if isinstance(literal, IsIn):
        return schema.InPart(literal.column, literal.codes)
    return schema.MissingPart(literal.column)


def _number(value: Any) -> Any:
    """Return a number of the history; JSON has none for NaN and infinity, so these are written by name."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _plain(value: Any, name: str) -> Any:
    """Return a parameter as JSON can hold it: numpy's numbers as Python's, any sequence as a list."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item, name) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted((_plain(item, name) for item in value), key=str)
    if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, (bytes, bytearray)):
        return [_plain(item, name) for item in value]
    raise ValueError(f"parameter {name} must be a number, text, None or a list of these to be saved, got {value!r}")
