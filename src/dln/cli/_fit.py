"""``dln fit``: from a table to a model file."""

from __future__ import annotations

import shlex
import sys
import time
from functools import reduce
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from dln.cli import _options
from dln.cli._files import check_model_output
from dln.cli._messages import UsageError, print_error, warnings_as_sentences
from dln.cli._program import INTERRUPTED

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import polars as pl

    from dln._regressor import CircuitRegressor
    from dln.cli._peers import Score
    from dln.cli._training_table import Learnable

#: Skewness from which the logarithm of a target is worth a hint.
SKEWED: Final = 2.0
#: Fewer rows than this cannot be split into rows to learn from and rows to test on.
FEWEST_TO_TEST: Final = 10


def fit(
    table: _options.Table,
    target: _options.Target,
    output: Annotated[str, _options.output("Where the model goes, like house.dln.")] = "",
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show how columns are understood and stop.")] = False,
    learner: _options.Learner = "network",
    drop: _options.Drop = None,
    categorical: _options.Categorical = None,
    keep: _options.Keep = None,
    missing: _options.Missing = None,
    weight: Annotated[str | None, _options.column("A column of weights: how much each row counts.")] = None,
    group: _options.Group = None,
    time: _options.Time = None,
    max_conditions: _options.MaxConditions = None,
    max_rule_length: _options.MaxRuleLength = None,
    max_rules: _options.MaxRules = None,
    fixed_rule: Annotated[
        list[str] | None, typer.Option(metavar="RULE", help="A rule that the model has, as it would be printed.")
    ] = None,
    monotone: _options.Monotone = None,
    interactions: _options.Interactions = None,
    loss: Annotated[
        Literal["squared_error", "huber", "absolute_error", "quantile"] | None,
        typer.Option(help="What is minimised.", show_default="squared_error"),
    ] = None,
    setting: _options.Set = None,
    test_size: Annotated[float, typer.Option(help="Share of rows to test on; 0 trains on all.")] = 0.25,
    seed: Annotated[int, typer.Option(min=0, help="The same seed, table and version give the same model.")] = 0,
    time_limit: Annotated[
        str | None, typer.Option(metavar="TIME", help="End the fit after 90s, 10m or 1h with the best so far.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(metavar="N", help="Threads to use.", show_default="one per core")] = None,
    force: _options.Force = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Learn a model: find the column types, split, train, test, save.

    A network is trained whole; at most 100 conditions of it are kept unless --max-conditions sets another limit.
    """
    from dln.cli._printing import model_json, print_json
    from dln.cli._training_table import ColumnOptions, read_training_table, show_columns, show_dry_run, table_digest
    from dln.data._division import ForwardChaining

    if not dry_run:
        if not output:
            raise UsageError("missing option '--output' / '-o' (dln --help lists commands and options)")
        check_model_output(output, force=force)
    if not 0 <= test_size < 1:
        raise UsageError(f"--test-size must be at least 0 and below 1, got {test_size:g}")
    chosen = ColumnOptions(target, weight, drop or (), categorical or (), keep or (), missing or (), group, time)
    parameters: dict[str, Any] = {"max_conditions": 100, "random_state": seed, "n_jobs": jobs}
    parameters |= {"max_seconds": _options.seconds(time_limit), "loss": loss or "squared_error"}
    parameters |= _options.limits(learner, max_conditions, max_rule_length, max_rules)
    parameters |= _options.constraints(learner, monotone, interactions, fixed_rule)
    parameters |= _options.settings(learner, setting or (), loss)
    file, data = read_training_table(table, chosen, fewest=FEWEST_TO_TEST if test_size and not dry_run else 2)
    if dry_run:
        show_dry_run(file, data, chosen, as_json=as_json)
        return
    n_test = round(test_size * len(data.y))
    if test_size and not 1 < n_test < len(data.y) - 1:
        raise UsageError(
            f"--test-size {test_size:g} of {len(data.y)} rows leaves too few rows to test on or to learn from"
        )
    is_quiet = quiet or as_json
    if not is_quiet:
        show_columns(file, data, chosen)
    from dln.circuit._words import counted
    from dln.cli._peers import peers, score

    parameters |= {} if time is None else {"cv": ForwardChaining()}
    parts = split_rows(len(data.y), n_test, seed, data.labels, by_time=time is not None)
    train, test = map(data.at, parts)
    is_shown = not is_quiet and sys.stderr.isatty()
    model, took, interrupted = _train(train, learner, {"verbose": int(is_shown), **parameters})
    scores: list[Score] = []
    if n_test:
        name = f"dln, {counted(model.rules_.n_conditions, 'condition')}"
        scores = [score(name, model.predict(test.X), test, took), *peers(train, test)]
        model.calibrate(test.X, test.y, test.weight)  # by errors on rows that the model has not seen
    facts = {**model.training_facts_, "table": table_digest(data.y)}
    if held_out_by := group or time:
        facts["folds"] = {**facts["folds"], "column": held_out_by}
    model.training_facts_ = facts
    model.save(output)
    if as_json:
        document = {
            "table": file.label,
            "weight": chosen.weight,
            "columns": [entry._asdict() for entry in data.facts],
            "rows": {"train": len(train.y), "test": len(test.y), "without_target": data.n_without_target},
            "seconds": took,
            "test": [score._asdict() for score in scores],
        }
        print_json({**model_json(output, model), **document})
    elif not quiet:
        _show_result(output, model, train, test, scores, took)
    if interrupted:
        print_error(f"interrupted: the best model so far is saved in {output}")
        raise typer.Exit(INTERRUPTED)


def split_rows(
    n_rows: int, n_test: int, seed: int, labels: pl.Series | None = None, *, by_time: bool = False
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the rows to learn from and those to test on: whole groups, or the latest, where there are labels."""
    import numpy as np

    if labels is not None and n_test:
        from dln.data._division import group_codes, held_out_groups

        codes = group_codes(labels, np.ones(n_rows, dtype=np.bool_))
        if by_time:
            is_tested = codes >= max(1, np.sort(codes)[-n_test])
        else:
            is_tested = held_out_groups(np.ones(n_rows), n_test / n_rows, codes, seed) > 0
        return np.flatnonzero(~is_tested), np.flatnonzero(is_tested)
    order = np.random.default_rng(seed).permutation(n_rows)
    return np.sort(order[n_test:]), np.sort(order[:n_test])


def _train(train: Learnable, learner: str, parameters: dict[str, Any]) -> tuple[CircuitRegressor, float, bool]:
    """Return the model, the seconds of its training, and whether Ctrl-C ended it early."""
    from dln import DLNRegressor, RuleRegressor

    start, limit = time.perf_counter(), parameters["max_seconds"]
    model: CircuitRegressor = (DLNRegressor if learner == "network" else RuleRegressor)(**parameters)

    words = {
        "monotonic_cst": "--monotone",
        "interaction_cst": "--interactions",
        "columns of X": "columns",
        "; X has": "; there are",
    }
    if limit is not None:
        words[f"max_seconds={limit:g}"] = f"the time limit of {limit:g} s"

    def rephrased(text: str) -> str:
        return reduce(lambda done, word: done.replace(*word), words.items(), text)

    interrupted = False
    with warnings_as_sentences(rephrased):
        try:
            model.fit(train.X, train.y, sample_weight=train.weight, groups=train.labels)
        except KeyboardInterrupt as stop:
            if not stop.args:  # nothing was kept: before the fit had begun, or at the second Ctrl-C
                raise
            interrupted = True
    model.set_params(verbose=0)  # of this run, not of the model
    model.target_name_ = train.y.name
    return model, time.perf_counter() - start, interrupted


def _show_result(
    output: str, model: CircuitRegressor, train: Learnable, test: Learnable, scores: list[Score], took: float
) -> None:
    from dln.circuit._words import thousands
    from dln.cli._printing import facts, page_of_rules, show, size_sentences, table

    tested = f" and tested on {thousands(len(test.y))} others" if scores else ""
    show(f"\nTrained on {thousands(len(train.y))} rows in {took:.1f} s{tested}.\n")
    if scores:
        rows = [(score.model, f"{score.r2:z.3f}", thousands(score.mean_absolute_error)) for score in scores]
        show(table(("", "test R²", "mean absolute error"), rows, left=""), "")
    name = shlex.quote(output)
    show(*size_sentences(model), *_whole_network(model, test), "", page_of_rules(model, name))
    if constraints := getattr(model, "constraints_", None):
        show("\nConstraints, proved for every input, not only for these rows:")
        show(*(f"  {sentence}" for sentence in constraints.sentences))
    if hint := _logarithm_hint(train.y):
        show("", hint)
    next_steps = [
        (f"dln show {name}", "the whole model, its cost, and the held-out R² of other sizes"),
        (f"dln predict {name} TABLE", "predictions for another table"),
        (f"dln report {name} --data TABLE -o model.html", "a page to open, read and play with"),
    ]
    show(f"\nSaved to {output}. What to do next:", facts(next_steps))


def _logarithm_hint(y: pl.Series) -> str:
    """Return how to learn the logarithm of a target, where that is positive and its logarithm is less skewed."""
    from dln.circuit._words import name_text

    skewness = y.skew() or 0.0
    if not (skewness > SKEWED and float(y.min()) > 0 and abs(y.log().skew() or 0.0) < skewness / 2):  # type: ignore[arg-type]
        return ""
    return (
        f"{name_text(y.name)} is positive and skewed: its logarithm may be easier to learn. In Python, with "
        "TransformedTargetRegressor(RuleRegressor(), func=np.log, inverse_func=np.exp); a rule of weight w then "
        "multiplies the prediction by exp(w)."
    )


def _whole_network(model: CircuitRegressor, test: Learnable) -> list[str]:
    """Return a line on the whole network and on the part of it that the model is, if it is a part."""
    whole = getattr(model, "network_circuit_", model.circuit_)
    if whole == model.circuit_:
        return []
    from sklearn.metrics import r2_score

    from dln.circuit._cost import count_conditions
    from dln.circuit._words import counted, thousands
    from dln.data._reader import read_table

    sizes = []
    for name, circuit in (("whole network", whole), ("kept", model.circuit_)):
        size = f"{counted(len(circuit.rules), 'rule')}, {thousands(sum(count_conditions(circuit)))} conditions"
        if len(test.y):
            predicted = circuit.evaluate(read_table(test.X, circuit.columns).values)
            size += f", R² {r2_score(test.y, predicted, sample_weight=test.weight):z.3f}"
        sizes.append(f"{name}: {size}")
    return [" · ".join(sizes)]
