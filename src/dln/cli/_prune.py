"""``dln prune``: the same model with fewer conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dln.cli import _options
from dln.cli._mistakes import Mistake

if TYPE_CHECKING:
    from dln._regressor import CircuitRegressor


def prune(
    model: _options.Model,
    max_conditions: Annotated[int, typer.Option(min=0, metavar="N", help="Conditions to keep, at most.")],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where the smaller model goes, like small.dln.")
    ],
    *,
    force: _options.Force = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Make a model smaller: the best found for so many conditions, with weights of its own. Needs no table."""
    from dln.cli._model import open_model
    from dln.cli._output import check_model_output

    check_model_output(output, force=force)
    whole = open_model(model)
    try:
        smaller = whole.prune(max_conditions)
    except (AttributeError, ValueError) as error:
        message = f"{model!r} cannot be pruned to {max_conditions} conditions: {error}"
        raise Mistake(message) from None
    smaller.save(output)
    if as_json:
        _print_json(model, output, whole, smaller)
    elif not quiet:
        _tell(model, output, whole, smaller)


def _tell(name: str, output: str, whole: CircuitRegressor, smaller: CircuitRegressor) -> None:
    from dln.cli._size import size_sentences
    from dln.cli._terminal import show
    from dln.cli._text import page_of_rules

    show(f"{name} has {whole.rules_.size_text}.", *size_sentences(smaller)[:1], "")
    show(page_of_rules(smaller, output), f"\nSaved to {output}.")


def _print_json(name: str, output: str, whole: CircuitRegressor, smaller: CircuitRegressor) -> None:
    from dln.cli._size import frontier_facts
    from dln.cli._terminal import print_json

    print_json(
        {
            "model": output,
            "pruned_from": name,
            "conditions": smaller.rules_.n_conditions,
            "rules": len(smaller.rules_),
            "conditions_before": whole.rules_.n_conditions,
            "rules_before": len(whole.rules_),
            "frontier": frontier_facts(smaller),
        }
    )
