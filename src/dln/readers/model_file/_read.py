"""The bytes of an untrusted file → a model.

In this order: size, magic, format, checksum, schema, canonical form, meaning. Each step bounds the input of the next.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NoReturn

import msgspec

from dln._atomic import AnyPath
from dln._errors import CircuitError, ConstraintError, ModelFileError
from dln.circuit._circuit import Above, Category, Circuit, Column, Gate, IsIn, IsMissing, Literal, Rule
from dln.circuit._constraints import Constraint, check_constraints
from dln.data._dates import split_part_name
from dln.readers._frontier import Frontier, Point
from dln.readers._intervals import Intervals, Scale, target_limits
from dln.readers._monitor import Profile
from dln.readers.model_file import _schema as schema
from dln.readers.model_file._write import canonical_json

_SEAL: Final = b"sha256:"
_SEAL_LENGTH: Final = len(_SEAL) + 64 + 1
#: Largest length of the first line: a longer one is another kind of file.
_FIRST_LINE: Final = 64
_DECODER: Final = msgspec.json.Decoder(schema.ModelPart)
_PLACE_IN_SCHEMA: Final = re.compile(r"(.*?)(?: - at (?:key in )?`\$\.?(.*)`)?", re.DOTALL)
_PLACE_IN_JSON: Final = re.compile(r"(.*) \((byte \d+)\)", re.DOTALL)
_PLACE_IN_CIRCUIT: Final = re.compile(r"(literal|gate|rule) (\d+): (.*)", re.DOTALL)


def read_model(path: AnyPath, max_bytes: int = schema.MAX_BYTES) -> schema.SavedModel:
    """Read a model file, or raise `ModelFileError` with the reason and the place in the file."""
    try:
        return from_bytes(_read(path, max_bytes))
    except ModelFileError as error:
        raise ModelFileError(error.reason, error.place, os.fspath(path)) from error.__context__


def _read(path: AnyPath, max_bytes: int) -> bytes:
    # Without blocking: a pipe without a writer is refused, not waited for.
    with open(path, "rb", opener=lambda p, flags: os.open(p, flags | getattr(os, "O_NONBLOCK", 0))) as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode):
            _fail("a model is a regular file, this is a pipe or a device")
        if facts.st_size > max_bytes:
            _fail(f"it has {facts.st_size} bytes, more than the {max_bytes} allowed (max_bytes)")
        return file.read(facts.st_size)  # not more, even if it has grown since


def from_bytes(data: bytes) -> schema.SavedModel:
    text = _unsealed(data)
    part = _decoded(text)
    _check_canonical(text, part)
    return _model(part)


def _check_canonical(text: bytes, part: schema.ModelPart) -> None:
    """Refuse keys given twice, white space, 1.50 for 1.5: one model, one text."""
    expected = canonical_json(part)
    if text != expected:
        byte = next((i for i, (a, b) in enumerate(zip(text, expected, strict=False)) if a != b), len(expected))
        _fail(
            f"the JSON is not in canonical form: expected {_excerpt(expected, byte)}, got {_excerpt(text, byte)}",
            f"byte {byte} of line 2",
        )


def _excerpt(text: bytes, byte: int) -> str:
    return repr(text[byte : byte + 16].decode(errors="replace"))


def _unsealed(data: bytes) -> bytes:
    """Return the JSON of a file whose magic, format and checksum are right."""
    first, _, _ = data[:_FIRST_LINE].partition(b"\n")
    magic, _, number = first.partition(b" ")
    if magic != schema.MAGIC.encode() or not re.fullmatch(rb"[1-9][0-9]{0,8}", number):
        _fail(f"a model file begins with '{schema.MAGIC} {schema.FORMAT}', this begins with {first[:20]!r}", "line 1")
    if int(number) != schema.FORMAT:
        reason = f"its format is {int(number)}, but this version of dln reads format {schema.FORMAT} only: update dln"
        _fail(reason, "line 1")
    lines, seal = data[:-_SEAL_LENGTH], data[-_SEAL_LENGTH:]
    if len(lines) <= len(first) or lines[-1:] != b"\n" or not re.fullmatch(rb"sha256:[0-9a-f]{64}\n", seal):
        _fail("the checksum is missing: the file is cut off or damaged", "the last line")
    if hashlib.sha256(lines).hexdigest().encode() != seal[len(_SEAL) : -1]:
        _fail("the checksum does not match: the file is damaged", "the last line")
    return lines[len(first) + 1 : -1]


def _decoded(text: bytes) -> schema.ModelPart:
    try:
        text.decode()  # msgspec looks at the text of strings only where it keeps them
        return _DECODER.decode(text)
    except UnicodeDecodeError as error:
        _fail("the text is not UTF-8", f"byte {error.start} of line 2")
    except msgspec.ValidationError as error:
        reason, place = _split(_PLACE_IN_SCHEMA, str(error))
        _fail(reason, place or "the outermost object")
    except msgspec.DecodeError as error:
        reason, place = _split(_PLACE_IN_JSON, str(error))
        _fail(reason, f"{place or 'the end'} of line 2")
    except RecursionError:
        _fail("the JSON is nested too deeply", "line 2")


def _split(pattern: re.Pattern[str], message: str) -> tuple[str, str]:
    match = pattern.fullmatch(message)
    return (match[1], match[2] or "") if match else (message, "")


def _model(part: schema.ModelPart) -> schema.SavedModel:
    """Return what the parts mean, or raise `ModelFileError` where they mean nothing."""
    columns = tuple(_column(j, column) for j, column in enumerate(part.columns))
    names: dict[str, int] = {}
    for j, column in enumerate(columns):
        if (other := names.setdefault(column.name, j)) != j:
            _fail(f"names must be unique, but columns[{other}] has the same: {column.name!r}", f"columns[{j}].name")
    _check_rest(part)
    training = msgspec.structs.asdict(part.training)
    for name in ("network", "folds"):
        training[name] = None if training[name] is None else msgspec.structs.asdict(training[name])
    optional = ("ranges", "profile", "predictions", "table", "network", "folds")
    training = {name: value for name, value in training.items() if value or name not in optional}
    circuit = _circuit(part, columns, part.decimals)
    frontier = None if part.frontier is None else _frontier(part.frontier, circuit, part.support)
    return schema.SavedModel(
        circuit,
        part.named,
        part.parameters,
        part.n_iter,
        {name: _numbers(name, values) for name, values in part.history.items()},
        training,
        part.support,
        part.target,
        part.dates,
        _intervals(part.intervals, part.training),
        part.kind,
        frontier,
        None if part.network is None else _circuit(part.network, columns, part.decimals, "network."),
        msgspec.to_builtins(part.edits),
        part.frozen,
        _constraints(part, circuit, frontier),
    )


def _constraints(part: schema.ModelPart, circuit: Circuit, frontier: Frontier | None) -> tuple[Constraint, ...]:
    """Return the constraints, proved anew of every circuit."""
    interactions = [] if part.interactions is None else [part.interactions]
    constraints: tuple[Constraint, ...] = (*part.monotone, *interactions)
    groups = [*([one.column] for one in part.monotone), *(group for one in interactions for group in one.groups)]
    if any(not 0 <= j < len(circuit.columns) for group in groups for j in group):
        _fail(f"columns of constraints must be from 0 to {len(circuit.columns) - 1}", "monotone, interactions")
    try:
        for own in [circuit, *(point.circuit for point in frontier or () if point.circuit is not None)]:
            check_constraints(own, constraints)
    except ConstraintError as error:
        _fail(str(error), "monotone, interactions")
    return constraints


def _frontier(part: schema.FrontierPart, own: Circuit, support: list[float] | None) -> Frontier:
    """Return the frontier; the model stands in it once, and the sizes ascend."""
    points: list[Point] = []
    for k, point in enumerate(part.points):
        place = f"frontier.points[{k}]"
        circuit, shares = (own, tuple(support or ())) if point.own else (None, ())
        if point.smaller is not None:
            circuit = _circuit(point.smaller, own.columns, own.decimals, f"{place}.smaller.")
            shares = point.smaller.support
            if point.own or len(shares) != len(circuit.rules):
                _fail(f"expected one number per rule, {len(circuit.rules)}, got {len(shares)}", f"{place}.smaller")
        if circuit is not None and point.conditions is None:
            _fail("a model of the frontier has a number of conditions", place)
        if points and point.max_conditions < points[-1].max_conditions:
            _fail("sizes must ascend", place)
        points.append(Point(point.max_conditions, point.conditions, point.rules, point.r2, circuit, shares))
    if sum(point.own for point in part.points) != 1:
        _fail("exactly one point must be the model's own", "frontier.points")
    return Frontier(tuple(points), part.ceiling)


def _column(j: int, part: schema.ColumnPart) -> Column:
    if part.categories is None and part.seen is not None:
        _fail("a column of numbers has seen no categories", f"columns[{j}].seen")
    if part.categories is None:
        return Column(part.name, whole_to=part.whole_to)
    if part.whole_to is not None:
        _fail("a column of categories has no largest number", f"columns[{j}].whole_to")
    seen: set[tuple[bool, Category]] = set()
    for k, category in enumerate(part.categories):
        key = isinstance(category, bool), category  # to Python, True equals 1
        if key in seen:
            _fail(f"categories must be distinct, {category!r} is given twice", f"columns[{j}].categories[{k}]")
        seen.add(key)
    return Column(part.name, part.categories, seen=part.seen)


def _check_rest(part: schema.ModelPart) -> None:
    lengths = {len(values) for values in part.history.values()}
    if len(lengths) > 1:
        _fail(f"all lists must be equally long, got {sorted(lengths)}", "history")
    _check_training(part.training, {column.name: column for column in part.columns})
    bases = {split[0] for column in part.columns if (split := split_part_name(column.name)) is not None}
    for k, name in enumerate(part.dates):
        if name not in bases or name in part.dates[:k]:
            _fail(f"no column is a part of the date {name!r}, or it is named twice", f"dates[{k}]")
    if part.frozen is not None and part.frozen != sorted({k for k in part.frozen if k < len(part.rules)}):
        _fail(f"expected places of rules, below {len(part.rules)} and ascending, got {part.frozen}", "frozen")
    if part.support is not None and len(part.support) != len(part.rules):
        _fail(f"expected one number per rule, {len(part.rules)}, got {len(part.support)}", "support")


def _check_training(part: schema.TrainingPart, columns: Mapping[str, schema.ColumnPart]) -> None:
    """Check what a model remembers of the table that it learned from, given the columns by name."""
    if not part.target_min <= part.target_max:
        _fail("target_min must not be above target_max", "training")
    if part.distinct_rows > part.rows:
        _fail("distinct_rows must not be above rows", "training")
    for name, (low, high) in part.ranges.items():
        if name not in columns or columns[name].categories is not None or not low <= high:
            reason = f"expected the ends of a number column, ascending, got {name!r} from {low} to {high}"
            _fail(reason, "training.ranges")
    if part.predictions is not None:
        _check_profile(part.predictions, None, "training.predictions")
    for name, profile in part.profile.items():
        if name not in columns:
            _fail(f"there is no column {name!r}", "training.profile")
        _check_profile(profile, columns[name].categories, f"training.profile.{name}")


def _check_profile(profile: Profile, categories: Sequence[Category] | None, place: str) -> None:
    edges, shares = profile
    n_bins = (len(edges) if categories is None else len(categories)) + 2
    ascend = all(low < high for low, high in pairwise(edges))
    are_shares = len(shares) == n_bins and all(0 <= share <= 1 for share in shares)
    if not ascend or not are_shares or (edges and categories is not None):
        _fail("expected ascending edges, none for categories, and one share from 0 to 1 per bin", place)


def _intervals(part: schema.IntervalsPart | None, training: schema.TrainingPart) -> Intervals | None:
    if part is None:
        return None
    if any(not 0 <= width < float("inf") for width in part.widths) or list(part.widths) != sorted(part.widths):
        _fail("widths must be finite, not negative, and ascend", "intervals.widths")
    scale = Scale(part.edges, part.factors) if part.edges or part.factors else Scale()
    if len(scale.factors) != len(scale.edges) + 1 or any(not 0 < factor < float("inf") for factor in scale.factors):
        _fail("there must be one factor more than edges, all of them above 0", "intervals.factors")
    if list(part.edges) != sorted(set(part.edges)):
        _fail("edges must ascend", "intervals.edges")
    limits = target_limits(training.target_min, training.target_max)
    return Intervals(part.widths, part.source, part.weight, scale, limits)


def _circuit(
    part: schema.ModelPart | schema.SmallerPart, columns: tuple[Column, ...], decimals: int, inside: str = ""
) -> Circuit:
    try:
        return Circuit(
            columns,
            tuple(_literal(literal) for literal in part.literals),
            tuple(Gate(gate.kind, gate.a, gate.b) for gate in part.gates),
            tuple(Rule(rule.node, rule.weight) for rule in part.rules),
            part.intercept,
            decimals,
        )
    except CircuitError as error:
        match = _PLACE_IN_CIRCUIT.fullmatch(str(error))
        reason, place = (match[3], f"{match[1]}s[{match[2]}]") if match else (str(error), "the circuit")
        _fail(reason, inside + place)


def _literal(part: schema.AbovePart | schema.InPart | schema.MissingPart) -> Literal:
    if isinstance(part, schema.AbovePart):
        return Above(part.column, part.cutoff)
    return IsIn(part.column, part.codes) if isinstance(part, schema.InPart) else IsMissing(part.column)


def _numbers(name: str, values: list[schema.Scalar]) -> list[Any]:
    """Return a list of the history, with NaN and the infinities for their names."""
    if str not in set(map(type, values)):
        return values
    for i, value in enumerate(values):
        if isinstance(value, str) and value not in schema.NOT_FINITE:
            _fail(f"expected a number, got {value!r}", f"history.{name}[{i}]")
    return [schema.NOT_FINITE[value] if isinstance(value, str) else value for value in values]


def _fail(reason: str, place: str = "") -> NoReturn:
    raise ModelFileError(reason, place)
