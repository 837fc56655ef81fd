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

#: Rules shown after the fit; `dln show` has them all.
SHOWN_RULES: Final = 12

#: Leaves of the tree behind a short rule: two or three conditions.
SHORT: Final = 4


def fit(
    table: _options.Table,
    target: _options.Target,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where the model goes, like house.dln.")
    ],
    *,
    drop: _options.Drop = None,
    categorical: _options.Categorical = None,
    keep: _options.Keep = None,
    missing: _options.Missing = None,
    weight: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="A column that says how much each row counts.")
    ] = None,
    max_rules: _options.MaxRules = None,
    short_rules: Annotated[
        bool,
        typer.Option("--short-rules", help="Rules of few conditions each: easier to read, not always as accurate."),
    ] = False,
    paper: _options.Paper = False,
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
    from dln.cli._columns import Wishes
    from dln.cli._lesson import check_test_size, read_lesson, tell_columns
    from dln.cli._read import STANDARD, check_output
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
    file, found = read_lesson(table, wishes)
    check_test_size(found, test_size)
    quiet_talk = quiet or as_json
    if not quiet_talk:
        tell_columns(file, found, wishes)
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
