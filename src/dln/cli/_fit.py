"""``dln fit``: from a table to a model file."""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dln.cli import _options
from dln.cli._mistakes import Mistake

if TYPE_CHECKING:
    from dln import DLNRegressor
    from dln.cli._columns import Learnable, Wishes
    from dln.cli._peers import Score, Split
    from dln.cli._read import TableFile

#: Fewer rows than this cannot be split into rows to learn from and rows to test on.
FEWEST_ROWS: Final = 10

#: Rules shown after the fit; `dln show` has them all.
SHOWN_RULES: Final = 12

#: Leaves of the tree behind a short rule: two or three conditions.
SHORT: Final = 4

Names = list[str]


def fit(
    table: _options.Table,
    target: Annotated[str, typer.Option("--target", "-t", metavar="COLUMN", help="The column to predict.")],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where the model goes, like house.dln.")
    ],
    *,
    drop: Annotated[
        Names | None, typer.Option(metavar="COLUMN", help="A column to leave out; may be given again.")
    ] = None,
    categorical: Annotated[
        Names | None, typer.Option(metavar="COLUMN", help="A column of categories, whatever it looks like.")
    ] = None,
    keep: Annotated[
        Names | None, typer.Option(metavar="COLUMN", help="A column to learn from even if it looks like row numbers.")
    ] = None,
    missing: Annotated[
        Names | None, typer.Option(metavar="TEXT", help="Text that means: no value, besides NA, ?, null and the like.")
    ] = None,
    weight: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="A column that says how much each row counts.")
    ] = None,
    max_rules: Annotated[int | None, typer.Option(min=1, help="Rules to keep, at most.", show_default=False)] = None,
    short_rules: Annotated[
        bool,
        typer.Option("--short-rules", help="Rules of few conditions each: easier to read, not always as accurate."),
    ] = False,
    paper: Annotated[bool, typer.Option("--paper", help="The paper's model instead of our defaults.")] = False,
    test_size: Annotated[float, typer.Option(help="Share of rows to test on; 0 trains on all.")] = 0.25,
    seed: Annotated[int, typer.Option(min=0, help="The same seed, table and version give the same model.")] = 0,
    time_limit: Annotated[
        str | None, typer.Option(metavar="TIME", help="Stop training after 90s, 10m or 1h and keep the best so far.")
    ] = None,
    force: _options.Force = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Learn a model from a table: find the column types, split, train, test, save."""
    from dln.cli._columns import Wishes, learnable
    from dln.cli._read import STANDARD, check_output, open_table
    from dln.cli._seconds import seconds

    if output == STANDARD:
        message = "a model cannot be written to standard output: give -o the name of a file, like house.dln"
        raise Mistake(message)
    check_output(output, force=force)
    if not 0 <= test_size < 1:
        message = f"--test-size must be at least 0 and below 1, got {test_size:g}"
        raise Mistake(message)
    limit = None if time_limit is None else seconds(time_limit)
    wishes = Wishes(target, weight, drop or (), categorical or (), keep or (), missing or ())
    with open_table(table) as file:
        found = learnable(file, file.read(), wishes)
        _check_rows(file, found, test_size)
    quiet_talk = quiet or as_json
    if not quiet_talk:
        _tell_columns(file, found, wishes)
    split = _split(found, test_size, seed)
    settings: dict[str, Any] = {"random_state": seed, "verbose": int(not quiet_talk)}
    settings |= {} if max_rules is None else {"max_rules": max_rules}
    settings |= {"max_leaves": SHORT} if short_rules else {}
    model, took = _train(split, settings, paper=paper, limit=limit)
    scores = _scores(model, split, took)
    model.save(output)
    if as_json:
        _print_json(output, file, found, wishes, split, model, scores, took)
    elif not quiet:
        _tell_model(output, target, split, model, scores, took)


def _check_rows(file: TableFile, found: Learnable, test_size: float) -> None:
    if len(found.y) < FEWEST_ROWS:
        message = (
            f"{file.said} has {len(found.y)} rows with a target, but at least {FEWEST_ROWS} are needed to learn from"
        )
        raise Mistake(message)
    if found.y.n_unique() == 1:
        message = (
            f"the target {found.y.name!r} is {found.y[0]:g} in every row of {file.said}: there is nothing to learn"
        )
        raise Mistake(message)
    n_test = round(test_size * len(found.y))
    if test_size and not 1 < n_test < len(found.y) - 1:
        message = f"--test-size {test_size:g} of {len(found.y)} rows leaves too few rows to test on or to learn from"
        raise Mistake(message)


def _split(found: Learnable, test_size: float, seed: int) -> Split:
    import numpy as np

    from dln.cli._peers import Split

    order = np.random.default_rng(seed).permutation(len(found.y))
    n_test = round(test_size * len(order))
    test, train = np.sort(order[:n_test]), np.sort(order[n_test:])
    X, y, weight = found.X, found.y, found.weight
    return Split(
        X[train],
        y[train],
        None if weight is None else weight[train],
        X[test],
        y[test],
        None if weight is None else weight[test],
    )


def _train(split: Split, settings: dict[str, Any], *, paper: bool, limit: float | None) -> tuple[DLNRegressor, float]:
    from dln import DLNRegressor

    start = time.perf_counter()
    if limit is not None:
        settings["callbacks"] = [lambda _epoch: time.perf_counter() - start > limit]
    model = DLNRegressor.paper(**settings) if paper else DLNRegressor(**settings)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", UserWarning)
        try:
            model.fit(split.X, split.y, sample_weight=split.weight)
        except ValueError as error:
            raise Mistake(str(error)) from error
    for warning in told:  # after Ctrl-C: what the model is now
        sys.stderr.write(f"dln: {warning.message}\n")
    model.set_params(verbose=0, callbacks=None)  # ways of this run, not of the model
    model.target_name_ = split.y.name
    return model, time.perf_counter() - start


def _scores(model: DLNRegressor, split: Split, took: float) -> list[Score]:
    if not len(split.y_test):
        return []
    from dln.cli._peers import peers, score

    return [score(f"dln, {len(model.circuit_.rules)} rules", model.predict(split.X_test), split, took), *peers(split)]


# --- what is said -----------------------------------------------------------------------------------------------------


def _tell_columns(file: TableFile, found: Learnable, wishes: Wishes) -> None:
    from dln._words import name_text
    from dln.cli._terminal import facts, show, thousands

    low, high = (thousands(float(end)) for end in (found.y.min(), found.y.max()))  # type: ignore[arg-type]
    rows = [("target", f"{name_text(wishes.target)}, from {low} to {high}")]
    if wishes.weight is not None:
        rows.append(("weight", name_text(wishes.weight)))
    for kind in ("numbers", "categories", "yes or no"):
        names = [
            name_text(entry.name) + (f" ({entry.detail})" if entry.detail else "")
            for entry in found.found
            if entry.kind == kind
        ]
        if names:
            rows.append((kind, ", ".join(names)))
    dates = [entry for entry in found.found if entry.kind == "dates"]
    rows += [("dates", f"{name_text(entry.name)}, split into {entry.detail}") for entry in dates]
    rows += [
        ("left out", f"{name_text(entry.name)}: {entry.detail}") for entry in found.found if entry.kind == "left out"
    ]
    if found.n_without_target:
        rows.append(("left out", f"{thousands(found.n_without_target)} rows: their target is missing"))
    n_rows = thousands(len(found.y) + found.n_without_target)
    show(f"{file.said}: {n_rows} rows, {len(file.names)} columns", facts(rows))


def _tell_model(output: str, target: str, split: Split, model: DLNRegressor, scores: list[Score], took: float) -> None:
    from dln.cli._terminal import facts, show, thousands
    from dln.cli._text import rules_table, scores_table

    tested = f" and tested on {thousands(len(split.y_test))} others" if scores else ""
    show(f"\nTrained on {thousands(len(split.y))} rows in {took:.1f} s{tested}.\n")
    if scores:
        show(scores_table(scores), "")
    show(rules_table(model, SHOWN_RULES, target))
    quoted = f"'{output}'" if " " in output else output
    next_steps = [
        (f"dln show {quoted}", "the whole model"),
        (f"dln predict {quoted} TABLE", "predictions for another table"),
        (f"dln explain {quoted} TABLE --row 1", "why a row gets its prediction"),
        (f"dln plot {quoted} -o model.svg", "a picture"),
    ]
    show(f"\nSaved to {output}. What to do next:", facts(next_steps))


def _print_json(
    output: str,
    file: TableFile,
    found: Learnable,
    wishes: Wishes,
    split: Split,
    model: DLNRegressor,
    scores: list[Score],
    took: float,
) -> None:
    from dataclasses import asdict

    from dln.cli._terminal import print_json

    print_json(
        {
            "model": str(Path(output)),
            "table": file.said,
            "target": wishes.target,
            "weight": wishes.weight,
            "columns": [asdict(entry) for entry in found.found],
            "rows": {"train": len(split.y), "test": len(split.y_test), "without_target": found.n_without_target},
            "rules": len(model.circuit_.rules),
            "seconds": took,
            "test": [asdict(score) for score in scores],
        }
    )
