"""``dln fit``: from a table to a model file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dln.cli import _options
from dln.cli._mistakes import INTERRUPTED, Mistake, complain, warnings_as_sentences

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from dln._regressor import CircuitRegressor
    from dln.cli._peers import Score, Split
    from dln.cli._table_file import TableFile
    from dln.cli._training_table import ColumnOptions, Learnable


def fit(
    table: _options.Table,
    target: _options.Target,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where the model goes, like house.dln.")
    ],
    *,
    learner: _options.Learner = "network",
    drop: _options.Drop = None,
    categorical: _options.Categorical = None,
    keep: _options.Keep = None,
    missing: _options.Missing = None,
    weight: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="A column that says how much each row counts.")
    ] = None,
    max_conditions: _options.MaxConditions = None,
    max_rule_length: _options.MaxRuleLength = None,
    max_rules: _options.MaxRules = None,
    test_size: Annotated[float, typer.Option(help="Share of rows to test on; 0 trains on all.")] = 0.25,
    seed: Annotated[int, typer.Option(min=0, help="The same seed, table and version give the same model.")] = 0,
    time_limit: Annotated[
        str | None, typer.Option(metavar="TIME", help="End the fit after 90s, 10m or 1h with the best so far.")
    ] = None,
    force: _options.Force = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Learn a model: find the column types, split, train, test, save.

    A network is trained whole; at most 100 conditions of it are kept unless --max-conditions says otherwise.
    """
    from dln.cli._output import check_model_output
    from dln.cli._seconds import seconds
    from dln.cli._training_table import ColumnOptions, check_test_size, read_training_table, show_columns, table_digest

    check_model_output(output, force=force)
    if not 0 <= test_size < 1:
        message = f"--test-size must be at least 0 and below 1, got {test_size:g}"
        raise Mistake(message)
    limit = seconds(time_limit)
    chosen = ColumnOptions(target, weight, drop or (), categorical or (), keep or (), missing or ())
    size = {"max_conditions": 100, **_options.limits(learner, max_conditions, max_rule_length, max_rules)}
    file, data = read_training_table(table, chosen)
    check_test_size(data, test_size)
    quiet_talk = quiet or as_json
    if not quiet_talk:
        show_columns(file, data, chosen)
    split = _split(data, test_size, seed)
    settings: dict[str, Any] = {"random_state": seed, "verbose": int(not quiet_talk)}
    model, took, interrupted = _train(split, settings | size, learner=learner, limit=limit)
    scores = _scores(model, split, took)
    if scores:  # the model has not seen the test rows: how far it is off there, it may be off elsewhere
        model.calibrate(split.X_test, split.y_test, split.weight_test)
    model.training_facts_ = {**model.training_facts_, "table": table_digest(data.y)}
    model.save(output)
    if as_json:
        _print_json(output, file, data, chosen, split, model, scores, took)
    elif not quiet:
        _tell_model(output, split, model, scores, took)
    if interrupted:
        complain(f"interrupted: what was learned so far is saved in {output}")
        raise typer.Exit(INTERRUPTED)


def split_rows(n_rows: int, n_test: int, seed: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the rows to learn from and those to test on."""
    import numpy as np

    order = np.random.default_rng(seed).permutation(n_rows)
    return np.sort(order[n_test:]), np.sort(order[:n_test])


def _split(data: Learnable, test_size: float, seed: int) -> Split:
    from dln.cli._peers import Split

    train, test = split_rows(len(data.y), round(test_size * len(data.y)), seed)
    X, y, weight = data.X, data.y, data.weight
    return Split(
        X[train],
        y[train],
        None if weight is None else weight[train],
        X[test],
        y[test],
        None if weight is None else weight[test],
    )


def _train(
    split: Split, settings: dict[str, Any], *, learner: str, limit: float | None
) -> tuple[CircuitRegressor, float, bool]:
    """Return the model, the seconds that it took, and whether Ctrl-C ended it early."""
    from dln import DLNRegressor, RuleRegressor

    start = time.perf_counter()
    kind = DLNRegressor if learner == "network" else RuleRegressor
    model: CircuitRegressor = kind(max_seconds=limit, **settings)

    def rephrased(text: str) -> str:
        return text if limit is None else text.replace(f"max_seconds={limit:g}", f"the time limit of {limit:g} s")

    interrupted = False
    with warnings_as_sentences(rephrased):
        try:
            model.fit(split.X, split.y, sample_weight=split.weight)
        except KeyboardInterrupt:
            if not hasattr(model, "circuit_"):
                raise
            interrupted = True
    model.set_params(verbose=0)  # a way of this run, not of the model
    model.target_name_ = split.y.name
    return model, time.perf_counter() - start, interrupted


def _scores(model: CircuitRegressor, split: Split, took: float) -> list[Score]:
    if not len(split.y_test):
        return []
    from dln.circuit._words import counted
    from dln.cli._peers import peers, score

    name = f"dln, {counted(model.rules_.n_conditions, 'condition')}"
    return [score(name, model.predict(split.X_test), split, took), *peers(split)]


# --- what is shown ----------------------------------------------------------------------------------------------------


def _tell_model(output: str, split: Split, model: CircuitRegressor, scores: list[Score], took: float) -> None:
    from dln.circuit._words import thousands
    from dln.cli._size import size_sentences
    from dln.cli._terminal import facts, show
    from dln.cli._text import page_of_rules, quoted_name, scores_table

    tested = f" and tested on {thousands(len(split.y_test))} others" if scores else ""
    show(f"\nTrained on {thousands(len(split.y))} rows in {took:.1f} s{tested}.\n")
    if scores:
        show(scores_table(scores), "")
    show(*size_sentences(model), *_whole_network(model, split), "", page_of_rules(model, output))
    quoted = quoted_name(output)
    next_steps = [
        (f"dln show {quoted}", "the whole model, its cost, and what other sizes are worth"),
        (f"dln prune {quoted} --max-conditions N -o small.dln", "a smaller model"),
        (f"dln predict {quoted} TABLE", "predictions for another table"),
        (f"dln explain {quoted} TABLE --row 1", "why a row gets its prediction"),
        (f"dln report {quoted} --data TABLE -o model.html", "a page to open, read and play with"),
        (f"dln plot {quoted} -o model.svg", "a picture"),
    ]
    show(f"\nSaved to {output}. What to do next:", facts(next_steps))


def _whole_network(model: CircuitRegressor, split: Split) -> list[str]:
    """Return a line on the whole network and on the part of it that the model is, if it is a part."""
    whole = getattr(model, "network_circuit_", model.circuit_)
    if whole == model.circuit_:
        return []
    from sklearn.metrics import r2_score

    from dln.circuit._conditions import count_conditions
    from dln.circuit._words import counted, thousands
    from dln.data._reader import read_table

    sizes = []
    for name, circuit in (("whole network", whole), ("kept", model.circuit_)):
        size = f"{counted(len(circuit.rules), 'rule')}, {thousands(sum(count_conditions(circuit)))} conditions"
        if len(split.y_test):
            predicted = circuit.evaluate(read_table(split.X_test, circuit.columns).values)
            size += f", R² {r2_score(split.y_test, predicted, sample_weight=split.weight_test):.3f}"
        sizes.append(f"{name}: {size}")
    return [" · ".join(sizes)]


def _print_json(
    output: str,
    file: TableFile,
    data: Learnable,
    chosen: ColumnOptions,
    split: Split,
    model: CircuitRegressor,
    scores: list[Score],
    took: float,
) -> None:
    from dataclasses import asdict

    from dln.cli._size import frontier_facts
    from dln.cli._terminal import print_json

    print_json(
        {
            "model": str(Path(output)),
            "table": file.label,
            "target": chosen.target,
            "weight": chosen.weight,
            "columns": [asdict(entry) for entry in data.facts],
            "rows": {"train": len(split.y), "test": len(split.y_test), "without_target": data.n_without_target},
            "conditions": model.rules_.n_conditions,
            "rules": len(model.circuit_.rules),
            "frontier": frontier_facts(model),
            "seconds": took,
            "test": [asdict(score) for score in scores],
        }
    )
