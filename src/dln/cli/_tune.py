"""``dln tune``: search for better parameters, stop and go on at will."""

from __future__ import annotations

import math
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from dln.cli import _options
from dln.cli._files import check_model_output
from dln.cli._messages import UsageError, print_error, print_status, warnings_as_sentences
from dln.cli._program import INTERRUPTED

if TYPE_CHECKING:
    from dln._regressor import CircuitRegressor
    from dln.tune import Study, TrialRecord


def tune(
    table: _options.Table,
    target: _options.Target,
    *,
    learner: _options.Learner = "network",
    trials: Annotated[int, typer.Option(min=1, help="Trials in all, those of earlier runs included.")] = 64,
    output: Annotated[str | None, _options.output("Where the best model goes, like best.dln.")] = None,
    storage: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Where trials are kept; otherwise TABLE.tune.log, in this folder."),
    ] = None,
    time_limit: Annotated[
        str | None, typer.Option(metavar="TIME", help="Stop after 90s, 10m or 1h; the first trial ends.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", help="Trials to run side by side; -1: one per core.", show_default=False)
    ] = None,
    ray: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run trials on a Ray cluster: auto, or its address.")
    ] = None,
    group: _options.Group = None,
    time: _options.Time = None,
    max_conditions: _options.MaxConditions = None,
    max_rule_length: _options.MaxRuleLength = None,
    setting: _options.Set = None,
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
    from joblib import effective_n_jobs

    from dln import DLNRegressor, RuleRegressor
    from dln import tune as library
    from dln._errors import import_extra
    from dln.cli._printing import print_json
    from dln.cli._training_table import ColumnOptions, read_training_table, show_columns
    from dln.data._division import ForwardChaining

    import_extra("optuna", "dln tune", "tune")  # before the table is read
    if output is not None:
        check_model_output(output, force=force)
    end = monotonic() + (_options.seconds(time_limit) or math.inf)
    kind, space = (DLNRegressor, library.paper_space) if learner == "network" else (RuleRegressor, library.rule_space)
    fixed = _options.limits(learner, max_conditions, max_rule_length, None) | _options.settings(learner, setting or ())
    cv = None if time is None else ForwardChaining()
    model = kind(**{"random_state": seed, "cv": cv, **fixed})
    chosen = ColumnOptions(target, None, drop or (), categorical or (), keep or (), missing or (), group, time)
    file, data = read_training_table(table, chosen)
    storage = storage or f"{'stdin' if table == '-' else Path(table).name.partition('.')[0]}.tune.log"
    talks = not (quiet or as_json)
    if talks:
        show_columns(file, data, chosen)
        print_status(f"\nTrials are kept in {storage}: the same command goes on from there.")
    seen: list[TrialRecord] = []

    def watch(trial: TrialRecord) -> bool:
        seen.append(trial)
        if talks:
            result = trial.state if trial.value is None else f"RMSE {math.sqrt(trial.value):.5g}"
            mean_seconds, n_left = sum(one.seconds for one in seen) / len(seen), trials - len(seen)
            left = mean_seconds * n_left / (1 if jobs is None else effective_n_jobs(jobs))
            time_left = f", about {timedelta(seconds=round(left))} left" if n_left > 0 and ray is None else ""
            lowest = min(math.inf if one.value is None else one.value for one in seen)
            best = f"lowest RMSE {math.sqrt(lowest):.5g}{time_left}"
            print_status(f"trial {len(seen)} of {trials}: {result}, {best}")
        return monotonic() > end

    try:
        with warnings_as_sentences():
            study = library.search(
                model,
                data.X,
                data.y,
                n_trials=trials,
                cv=cv,
                groups=data.labels,
                space=lambda trial: {**space(trial), **fixed},  # what the user sets is not searched
                storage=storage,
                random_state=seed,
                n_jobs=jobs,
                ray=ray,
                callbacks=[watch],
            )
    except ConnectionError as error:
        raise UsageError(str(error)) from error
    except KeyboardInterrupt:
        print_error(f"interrupted: {len(seen)} trials are kept in {storage}, and the same command goes on from there")
        raise typer.Exit(INTERRUPTED) from None
    if output is not None:
        best = study.best_estimator.fit(data.X, data.y, groups=data.labels)
        best.target_name_ = target
        best.save(output)
    variance = float(data.y.to_numpy().astype(float).var())
    if as_json:
        trials_facts = [asdict(trial) for trial in study.trials]
        best = {"trial": study.best_trial.number, "params": study.best_params, "mean_squared_error": study.best_value}
        facts = {"table": file.label, "target": target, "storage": storage, "model": output, "folds": study.folds}
        print_json({**facts, "best": {**best, "r2": _r2(study.best_value, variance)}, "trials": trials_facts})
    elif not quiet:
        _show(study, model, variance, output)


def _r2(value: float, variance: float) -> float | None:
    return 1 - value / variance if variance else None


def _show(study: Study, model: CircuitRegressor, variance: float, output: str | None) -> None:
    from dln.circuit._words import counted, thousands
    from dln.cli._printing import facts, show, table

    rows = []
    for name, trial in (("as it was", study.trials[0]), ("best", study.best_trial)):
        if trial.value is not None:
            r2 = _r2(trial.value, variance)
            rows.append((name, "" if r2 is None else f"{r2:z.4f}", thousands(math.sqrt(trial.value))))
    scores = table(("cross-validated", "R²", "RMSE"), rows, left="cross-validated")
    show(f"\n{counted(len(study.trials), 'trial')}, {study.folds} folds.\n", scores, "")
    given, best = model.get_params(), study.best_params
    changes = [(name, f"{value} (was {given[name]})") for name, value in best.items() if value != given[name]]
    show(*(["The best parameters:", facts(changes)] if changes else ["No other parameters were better."]))
    if output is not None:
        show(f"\nSaved to {output}, fitted on all rows: dln show {output} shows it.")
        return
    found = " ".join(repr(study.best_estimator).split())  # with what was set on the command line, too
    show("\nIn Python:", f"  {found}", "With -o best.dln the same command saves it.")
