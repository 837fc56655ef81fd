"""Options that several commands share."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

import typer

from dln.cli._messages import UsageError, errors_as_sentences, nearest


def output(text: str) -> Any:
    """Return the option that names the output of a command."""
    return typer.Option("--output", "-o", metavar="FILE", help=text)


def column(text: str) -> Any:
    """Return an option that names a column, or several."""
    return typer.Option(metavar="COLUMN", help=text)


Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model file, written by dln fit.", show_default=False)]
Table = Annotated[
    str,
    typer.Argument(metavar="TABLE", help="CSV, TSV or Parquet, also gzipped; - is standard input.", show_default=False),
]
Target = Annotated[str, typer.Option("--target", "-t", metavar="COLUMN", help="The column to predict.")]
Drop = Annotated[list[str] | None, column("A column to leave out; may be given again.")]
Categorical = Annotated[list[str] | None, column("A column of categories, whatever it looks like.")]
Keep = Annotated[list[str] | None, column("A column to learn from even if it looks like row numbers.")]
Missing = Annotated[
    list[str] | None, typer.Option(metavar="TEXT", help="Text that means: no value, besides NA, ?, null and the like.")
]
Group = Annotated[str | None, column("A column of labels: rows of one label are never on both sides of a split.")]
Time = Annotated[str | None, column("A column of dates or numbers: earlier rows train, later ones validate, test.")]
MaxConditions = Annotated[
    str | None,
    typer.Option(
        "--max-conditions", metavar="N", help="Conditions of the model, at most, or none: no limit.", show_default="100"
    ),
]
MaxRuleLength = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Conditions of one rule, at most.", show_default="6")
]
MaxRules = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Rules, at most.", show_default="as the conditions allow")
]
Monotone = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN:±1",
        help="As this column rises, the prediction never falls (age:+1) or never rises (age:-1); may be given again.",
    ),
]
Interactions = Annotated[
    str | None,
    typer.Option(
        metavar="GROUPS",
        help="Columns that may meet in one rule, as groups like 'age,bmi;region', or no_interactions, or pairwise.",
    ),
]
Learner = Annotated[
    Literal["network", "rules"],
    typer.Option(help="The paper's network, DLNRegressor, or the search for a page of rules, RuleRegressor."),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the learner, as in Python; may be given again."),
]


Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines, on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
Force = Annotated[bool, typer.Option("--force", help="Replace the output if it is there already.")]
Dialect = Annotated[
    str | None,
    typer.Option(metavar="DIALECT", help="SQL: duckdb, postgres, sqlite, mysql, bigquery, …", show_default="duckdb"),
]

_UNITS: Final = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_LENGTH: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|m|h|)")


def limits(
    learner: str, max_conditions: str | None, max_rule_length: int | None, max_rules: int | None
) -> dict[str, Any]:
    """Return the given parameters that limit the size of a model."""
    given: dict[str, Any] = {}
    if max_conditions is not None:
        wanted = max_conditions.strip().lower()
        if wanted != "none" and (not wanted.isdecimal() or int(wanted) == 0):
            raise UsageError(f"--max-conditions must be a whole number above 0, or none, got {max_conditions!r}")
        given["max_conditions"] = None if wanted == "none" else int(wanted)
    for name, value in (("max_rule_length", max_rule_length), ("max_rules", max_rules)):
        if value is None:
            continue
        if learner == "network":
            raise UsageError(
                f"--{name.replace('_', '-')} does not go with the network, whose rules are its neurons: "
                "limit it by --max-conditions, or use --learner rules"
            )
        given[name] = value
    return given


def settings(learner: str, given: Sequence[str], loss: str | None = None) -> dict[str, Any]:
    """Return the parameters of ``--set``, checked as the learner checks them, with the loss if there is one."""
    if not given:
        return {}
    from dln import DLNRegressor, RuleRegressor

    kind = DLNRegressor if learner == "network" else RuleRegressor
    values: dict[str, Any] = {}
    for setting in given:
        name, sign, text = (part.strip() for part in setting.partition("="))
        if not sign:
            raise UsageError(f"--set must be a name and a value like loss=huber, got {setting!r}")
        known = kind().get_params()
        if name not in known:
            raise UsageError(f"--set: {kind.__name__} has no parameter {name!r}; {nearest(name, known)}")
        try:
            values[name] = ast.literal_eval({"none": "None", "true": "True", "false": "False"}.get(text.lower(), text))
        except (ValueError, SyntaxError):
            values[name] = text
    with errors_as_sentences("--set: {}".format):
        kind(**{"loss": loss or "squared_error", **values})._validate_params()  # noqa: SLF001 (scikit-learn's own check, as `fit` does it)
    return values


def constraints(
    learner: str, monotone: list[str] | None, interactions: str | None, fixed_rules: list[str] | None
) -> dict[str, Any]:
    """Return the parameters that constrain a model."""
    given = {"--monotone": monotone, "--interactions": interactions, "--fixed-rule": fixed_rules}
    if learner == "network" and (options := [option for option, value in given.items() if value]):
        raise UsageError(f"{options[0]} does not go with the network: use --learner rules")
    directions: dict[str, int] = {}
    for one in monotone or ():
        name, _, direction = one.rpartition(":")
        if not name or direction not in ("1", "+1", "-1"):
            raise UsageError(f"--monotone must be a column and +1 or -1, like age:+1, got {one!r}")
        if directions.setdefault(name, int(direction)) != int(direction):
            raise UsageError(f"--monotone gives {name!r} both directions")
    groups: Any = interactions
    if interactions not in (None, "no_interactions", "pairwise"):
        groups = tuple(tuple(name.strip() for name in group.split(",")) for group in str(interactions).split(";"))
    found = {"monotonic_cst": directions, "interaction_cst": groups, "fixed_rules": fixed_rules}
    return {name: value for name, value in found.items() if value}


def seconds(text: str | None) -> float | None:
    """Return the value of ``--time-limit`` in seconds."""
    if text is None:
        return None
    match = _LENGTH.fullmatch(text.strip().lower())
    if match is None or float(match[1]) == 0:
        raise UsageError(f"--time-limit must be a length of time above zero like 90s, 10m or 1h, got {text!r}")
    return float(match[1]) * _UNITS[match[2]]
