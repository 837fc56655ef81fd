"""``dln tune``: search for better parameters, stop and go on at will."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dln.cli import _options
from dln.cli._mistakes import INTERRUPTED, Mistake, warnings_as_sentences, was_interrupted

if TYPE_CHECKING:
    from dln._regressor import CircuitRegressor
    from dln.cli._table_file import TableFile
    from dln.cli._training_table import Learnable
    from dln.tune import Study

#: Endings that are not part of a table's name.
_ENDINGS: Final = {".csv", ".tsv", ".txt", ".parquet", ".gz"}


@dataclass(frozen=True, slots=True)
class _SearchOptions:
    """What the user wants to be searched for, and where it is kept."""

    n_trials: int
    time_limit: float | None
    storage: str
    ray: str | None
    jobs: int | None
    max_rows: int | None
    seed: int

    def __post_init__(self) -> None:
        if self.jobs == 0:
            message = "--jobs must be a number of trials above 0, or -1 for one per core, got 0"
            raise Mistake(message)


def tune(
    table: _options.Table,
    target: _options.Target,
    *,
    trials: Annotated[int, typer.Option(min=1, help="Trials in all, those of earlier runs included.")] = 64,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Where the best model goes, like best.dln.")
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Where trials are kept; otherwise TABLE.tune.log, in this folder."),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget the trials of earlier runs.")] = False,
    time_limit: Annotated[
        str | None,
        typer.Option(
            "--time-limit", "--timeout", metavar="TIME", help="Stop after 90s, 10m or 1h; the first trial ends."
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", help="Trials to run side by side; -1: one per core.", show_default=False)
    ] = None,
    ray: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run trials on a Ray cluster: auto, or its address.")
    ] = None,
    paper: _options.Paper = False,
    max_conditions: _options.MaxConditions = None,
    max_rule_length: _options.MaxRuleLength = None,
    max_rules: _options.MaxRules = None,
    max_rows: Annotated[
        int | None, typer.Option(min=10, help="Search on so many rows; the best is fitted on all.", show_default=False)
    ] = None,
    drop: _options.Drop = None,
    categorical: _options.Categorical = None,
    keep: _options.Keep = None,
    missing: _options.Missing = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed, table and version give the same search.")] = 0,
    force: _options.Force = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Search for parameters that predict a table better: cross-validate, keep every trial, go on after a stop."""
    from dln import DLNRegressor, RuleRegressor
    from dln.cli._output import check_model_output
    from dln.cli._seconds import seconds
    from dln.cli._training_table import ColumnOptions, read_training_table, show_columns

    if output is not None:
        check_model_output(output, force=force)
    options = _SearchOptions(trials, seconds(time_limit), storage or _storage_of(table), ray, jobs, max_rows, seed)
    chosen = ColumnOptions(target, None, drop or (), categorical or (), keep or (), missing or ())
    size = _options.limits(max_conditions, max_rule_length, max_rules, paper=paper)
    file, data = read_training_table(table, chosen)
    if fresh:
        _forget(Path(options.storage))
    talks = not (quiet or as_json)
    if talks:
        show_columns(file, data, chosen)
        _tell_start(options)
    settings: dict[str, Any] = {"random_state": seed} | size
    model: CircuitRegressor = (DLNRegressor if paper else RuleRegressor)(**settings)
    study, interrupted = _search(model, data, options, talks=talks)
    if output is not None:
        _save(study, output, target)
    if as_json:
        _print_json(file, target, study, options, output, _variance(data, options))
    elif not quiet:
        _tell_result(study, model, _variance(data, options))
        _tell_next(study, settings, output, paper=paper)
    if interrupted:
        raise typer.Exit(INTERRUPTED)


def _storage_of(table: str) -> str:
    """Return where the trials of a table are kept.

    >>> _storage_of("data/houses.csv.gz"), _storage_of("-")
    ('houses.tune.log', 'stdin.tune.log')
    """
    path = Path("stdin" if table == "-" else table)
    while path.suffix.lower() in _ENDINGS:
        path = path.with_suffix("")
    return f"{path.name}.tune.log"


def _forget(path: Path) -> None:
    """Delete the trials of earlier runs, but nothing that looks like something else."""
    if not path.exists():
        return
    with path.open("rb") as file:
        start = file.read(1000)
    if start and b'"op_code"' not in start:
        message = (
            f"{str(path)!r} does not look like the trials of an earlier run, so --fresh leaves it: name another file"
        )
        raise Mistake(message)
    path.unlink()


def _search(model: CircuitRegressor, data: Learnable, options: _SearchOptions, *, talks: bool) -> tuple[Study, bool]:
    """Return the study, and whether Ctrl-C ended it early."""
    from dln.tune import StudyError, search

    with warnings_as_sentences() as caught:  # after Ctrl-C: what there is now
        try:
            study = search(
                model,
                data.X,
                data.y,
                n_trials=options.n_trials,
                timeout=options.time_limit,
                max_rows=options.max_rows,
                storage=options.storage,
                random_state=options.seed,
                n_jobs=options.jobs,
                ray=options.ray,
                verbose=int(talks),
            )
        except StudyError as error:
            message = f"{error}; --fresh starts anew" if "of another search" in str(error) else str(error)
            raise Mistake(message) from error
    return study, was_interrupted(caught)


def _save(study: Study, output: str, target: str) -> None:
    model = study.best_model
    model.target_name_ = target
    model.save(output)


def _variance(data: Learnable, options: _SearchOptions) -> float:
    """Return the target's variance on the rows that were searched on."""
    from dln.tune._data import thin

    _, y = thin(data.X, data.y.to_numpy(), options.max_rows, options.seed)
    return float(y.astype(float).var())


# --- what is shown ----------------------------------------------------------------------------------------------------


def _tell_start(options: _SearchOptions) -> None:
    from dln.cli._terminal import show

    goes_on = Path(options.storage).exists()
    how = "trials of earlier runs are kept there, and --fresh forgets them" if goes_on else "run again to go on"
    show(f"\nTrials are kept in {options.storage}: {how}.")


def _tell_result(study: Study, model: CircuitRegressor, variance: float) -> None:
    from rich.table import Table

    from dln.circuit._words import thousands
    from dln.cli._terminal import facts, show

    counts = {state: sum(trial.state == state for trial in study.trials) for state in ("pruned", "failed")}
    rest = "".join(f", {n} {_STATES[state]}" for state, n in counts.items() if n)
    show(f"\n{study.n_trials} trials, {study.folds} folds, {thousands(round(study.seconds, 1))} s of fitting{rest}.\n")
    table = Table(box=None, pad_edge=True, show_edge=False)
    table.add_column("cross-validated")
    for heading in ("R²", "RMSE"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, trial in (("as it was", study.trials[0]), ("best", study.best_trial)):
        # The first trial is the model as it was, unless it is the one that was still running when the time was over.
        if trial.value is not None and (trial.number == 0 or name == "best"):
            r2 = 1 - trial.value / variance if variance else math.nan
            table.add_row(name, f"{r2:.4f}", thousands(math.sqrt(trial.value)))
    show(table, "")
    if study.best_params:
        show("The best parameters:", facts(_changes(model, study.best_params)))
    else:
        show("Nothing better was found than the parameters as they were.")


def _tell_next(study: Study, settings: Mapping[str, Any], output: str | None, *, paper: bool) -> None:
    from rich.text import Text

    from dln.cli._terminal import show

    if output is not None:
        show(f"\nSaved to {output}, fitted on all rows: dln show {output} shows it.")
        return
    maker = "DLNRegressor" if paper else "RuleRegressor"
    arguments = {**settings, **study.best_params}
    line = f"{maker}({', '.join(f'{name}={value!r}' for name, value in arguments.items())})"
    show("\nIn Python:", Text(f"  {line}"), "With -o best.dln the same command saves the model; no trial is run again.")


_STATES: Final = {"pruned": "given up early", "failed": "failed"}


def _changes(model: CircuitRegressor, params: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the parameters that differ from what they were."""
    before = model.get_params()
    return [
        (name, f"{value if not isinstance(value, float) else format(value, '.4g')} (was {before[name]})")
        for name, value in params.items()
        if value != before[name]
    ]


def _print_json(
    file: TableFile, target: str, study: Study, options: _SearchOptions, output: str | None, variance: float
) -> None:
    from dataclasses import asdict

    from dln.cli._terminal import print_json

    print_json(
        {
            "table": file.label,
            "target": target,
            "storage": options.storage,
            "model": output,
            "folds": study.folds,
            "seconds": study.seconds,
            "best": {
                "trial": study.best_trial.number,
                "params": study.best_params,
                "mean_squared_error": study.best_value,
                "r2": 1 - study.best_value / variance if variance else None,
            },
            "trials": [asdict(trial) for trial in study.trials],
        }
    )
