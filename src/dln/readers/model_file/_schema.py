"""The schema of the JSON in a model file, and the model that it describes.

Field names and their order are the format: `docs/model-file.md` describes them, `docs/model-file.schema.json` is made
from them. After a release, a change here is a new format.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeAlias
from typing import Literal as TypingLiteral

import msgspec
from msgspec import Meta

from dln.circuit._circuit import MAX_DECIMALS, Circuit
from dln.circuit._constraints import Constraint, Interactions, Monotone
from dln.readers._frontier import Frontier
from dln.readers._intervals import STEPS, Intervals
from dln.readers._monitor import Profile

#: The first line of a file is this word and the number of its format.
MAGIC: Final = "dln-model"
FORMAT: Final = 1
#: Larger files are refused before they are read, and before they are written. A model of a thousand rules takes less
#: than a hundredth of this.
MAX_BYTES: Final = 16 * 2**20
#: Names of numbers that JSON does not have; a loss can be one.
NOT_FINITE: Final = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
Index: TypeAlias = Annotated[int, Meta(ge=0)]
Share: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
Scalar: TypeAlias = str | bool | int | float | None
Parameter: TypeAlias = Scalar | tuple[Scalar | tuple[Scalar, ...], ...] | dict[str, int]


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A JSON object: fields that hold their default are left out, fields that are not known are refused."""


class ColumnPart(_Part, frozen=True):
    """An input column: of numbers, or of the categories named."""

    name: str
    categories: tuple[str | bool | int | float, ...] | None = None
    whole_to: Annotated[int, Meta(ge=1)] | None = None
    """The largest number of a column that was learned from whole numbers from 0 up only."""
    seen: tuple[Annotated[int, Meta(ge=0, lt=65536)], ...] | None = None
    """Fingerprints of all categories of the training table, the last 16 bits of their CRC-32, ascending."""


class AbovePart(_Part, frozen=True, tag_field="test", tag="above"):
    """1 where the column's value is greater than the cut-off; 0 where it is missing."""

    column: Index
    cutoff: float


class InPart(_Part, frozen=True, tag_field="test", tag="in"):
    """1 where the column's value is one of the categories whose codes are listed; 0 where missing or unknown."""

    column: Index
    codes: Annotated[tuple[Index, ...], Meta(min_length=1)]


class MissingPart(_Part, frozen=True, tag_field="test", tag="missing"):
    """1 where the column's value is missing."""

    column: Index


class GatePart(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """``[kind, a, b]``: outputs for (a, b) = 00, 01, 10, 11 read as a four-bit number, and the two input nodes."""

    kind: Annotated[int, Meta(ge=0, le=15)]
    a: Index
    b: Index


class RulePart(_Part, frozen=True):
    """A node of the sum and its weight, a multiple of ``10**-decimals``."""

    node: Index
    weight: float


class NetworkPart(_Part, frozen=True):
    """Facts of trained networks: their shape, the final temperature, rules open in each, gates of all of them."""

    layers: list[Annotated[int, Meta(ge=1)]]
    temperature: Annotated[float, Meta(gt=0)]
    open_rules: list[Index]
    gates: Index


class FoldsPart(_Part, frozen=True):
    """The user's folds: rows, groups, splits or the class of a splitter; the number of folds, and that of groups."""

    kind: str
    n_folds: Annotated[int, Meta(ge=1)] | None = None
    n_groups: Annotated[int, Meta(ge=1)] | None = None
    column: str | None = None
    """The column of groups, or times, that ``dln fit`` read."""


class TrainingPart(_Part, frozen=True):
    """Facts of the fit: rows of the table, distinct rows of weight above zero, range of the target, versions."""

    rows: Index
    distinct_rows: Index
    target_min: float
    target_max: float
    versions: dict[str, str]
    ranges: dict[str, tuple[float, float]] = {}
    """The smallest and the largest value of each number column that rules read."""
    profile: dict[str, Profile] = {}
    """The distribution of each column that rules read, in bins."""
    predictions: Profile | None = None
    """The distribution of the predictions."""
    table: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")] | None = None
    """SHA-256 of the target's column in the table that ``dln fit`` read, test rows included."""
    network: NetworkPart | None = None
    folds: FoldsPart | None = None


class IntervalsPart(_Part, frozen=True):
    """Half-widths of prediction intervals of coverage 1/200, 2/200, …, from how many rows, and which.

    Widths are multiplied by the first factor for predictions up to the first edge, and so on.
    """

    source: TypingLiteral["rows set aside", "folds"]
    weight: Annotated[float, Meta(gt=0)]
    widths: Annotated[tuple[float, ...], Meta(max_length=STEPS - 1)]
    edges: tuple[float, ...] = ()
    factors: tuple[float, ...] = ()


class SmallerPart(_Part, frozen=True):
    """Another model over the columns of the model, on the same grid."""

    intercept: float
    rules: list[RulePart]
    gates: list[GatePart]
    literals: list[AbovePart | InPart | MissingPart]
    support: tuple[Share, ...]


class PointPart(_Part, frozen=True):
    """A size and its held-out R²; where it is smaller than the model, the best model found for it."""

    max_conditions: Index
    conditions: Index | None = None
    rules: Index | None = None
    r2: float | None = None
    own: bool = False
    """The point of the model itself."""
    smaller: SmallerPart | None = None


class FrontierPart(_Part, frozen=True):
    """Models of other sizes, from the smallest to the largest, and the held-out R² of the best of any size."""

    points: list[PointPart]
    ceiling: float | None = None


class EditPart(_Part, frozen=True):
    """An edit by hand: rules as text, changed ones with their new text, or the rows of a table that weights are of."""

    dropped: list[str] = []
    added: list[str] = []
    changed: list[tuple[str, str]] = []
    frozen: list[str] = []
    refitted: Annotated[int, Meta(ge=1)] | None = None


class ModelPart(_Part, frozen=True):
    """A model: prediction = intercept + the weights of the rules that fire."""

    decimals: Annotated[int, Meta(ge=-MAX_DECIMALS, le=MAX_DECIMALS)]
    intercept: float
    rules: list[RulePart]
    gates: list[GatePart]
    literals: list[AbovePart | InPart | MissingPart]
    columns: Annotated[list[ColumnPart], Meta(min_length=1)]
    named: bool
    """The columns' names are the user's; otherwise columns are identified by position."""
    parameters: dict[str, Parameter]
    n_iter: Index
    history: dict[str, list[Scalar]]
    training: TrainingPart
    support: list[Share] | None = None
    """The share of (weighted) training rows on which each rule fires."""
    target: str | None = None
    """The target's name."""
    dates: tuple[str, ...] = ()
    """Columns of the table that were dates: those of the model are their parts, like ``sold_at (month)``."""
    intervals: IntervalsPart | None = None
    """Prediction intervals."""
    kind: TypingLiteral["rules", "network"] = "rules"
    """The learner: `RuleRegressor` or `DLNRegressor`."""
    frontier: FrontierPart | None = None
    """Models of other sizes."""
    network: SmallerPart | None = None
    """The whole network, if the model is a selection of its neurons."""
    edits: list[EditPart] | None = None
    """What was changed by hand since the fit, the first edit first."""
    frozen: list[Index] | None = None
    """The rules whose weights `refit` keeps, by their place in `rules`."""
    monotone: list[Monotone] = []
    """Columns as which rises the prediction never falls, or never rises: proved whenever the file is read."""
    interactions: Interactions | None = None
    """Groups of columns that may meet in a rule: proved as well."""


@dataclass(frozen=True, slots=True)
class SavedModel:
    """All that a fitted model is, as plain values."""

    circuit: Circuit
    named: bool
    parameters: Mapping[str, Any]
    n_iter: int
    history: Mapping[str, Sequence[Any]]
    training: Mapping[str, Any]
    support: Sequence[float] | None = None
    target: str | None = None
    dates: Sequence[str] = ()
    intervals: Intervals | None = None
    kind: TypingLiteral["rules", "network"] = "rules"
    frontier: Frontier | None = None
    network: Circuit | None = None
    edits: Sequence[Mapping[str, Any]] | None = None
    frozen: Sequence[int] | None = None
    constraints: Sequence[Constraint] = ()


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of the second line of a model file."""
    schema = msgspec.json.schema(ModelPart)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"The model in a dln model file of format {FORMAT}",
        **schema,
    }
