"""Optuna, where it is installed: asking for parameters, and the form in which trials are kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dln._errors import import_extra
from dln.tune._context import Context, Space
from dln.tune._trial import Outcome, State

#: Trials drawn at random before the sampler learns from them. The same whatever n_trials is: a study that is continued
#: with more trials is then the one that it would have been from the start.
RANDOM_TRIALS: Final = 8
#: Draws that tell two spaces apart, and show a mistake in a space before anything is fitted.
PROBES: Final = 16


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Parameters that were asked for: in the words of the space, and in the words of the estimator."""

    number: int
    suggested: Mapping[str, Any]
    distributions: Mapping[str, Any]
    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A suggestion and what the trial came to."""

    suggestion: Suggestion
    outcome: Outcome


def optuna() -> Any:
    """Return the package."""
    return import_extra("optuna", "search", "tune")


@contextmanager
def quietly() -> Iterator[None]:
    """Keep Optuna from telling of every study that is made; a search asks in a new one for every trial."""
    package = optuna()
    before = package.logging.get_verbosity()
    package.logging.set_verbosity(package.logging.ERROR)
    try:
        yield
    finally:
        package.logging.set_verbosity(before)


def ask(space: Space, context: Context, history: Sequence[Evaluation], *, number: int, seed: int) -> Suggestion:
    """Return the parameters of a trial: they depend on the history, the number and the seed alone.

    The sampler is a new one for every trial, seeded by its number, so that a search which is continued asks for the
    same as one that was never stopped. The first trial is the estimator as it was given.
    """
    if number == 0:
        return Suggestion(0, {}, {}, {})
    package = optuna()
    sampler = package.samplers.TPESampler(n_startup_trials=RANDOM_TRIALS, seed=_seed(seed, number))
    study = package.create_study(sampler=sampler)
    # The first trial has no place in the space.
    study.add_trials([frozen(evaluation) for evaluation in history if evaluation.suggestion.suggested])
    trial = study.ask()
    params = _parameters(space, trial, context)
    return Suggestion(number, dict(trial.params), dict(trial.distributions), params)


def suggested_again(space: Space, context: Context, trial: Any) -> Suggestion:
    """Return the suggestion of a trial that was kept; its parameters are what the space makes of the values again."""
    number = int(trial.user_attrs["number"])
    if number == 0:
        return Suggestion(0, {}, {}, {})
    fixed = optuna().trial.FixedTrial(trial.params, number)
    return Suggestion(number, trial.params, trial.distributions, _parameters(space, fixed, context))


def fingerprint(space: Space, context: Context) -> str:
    """Return what tells a space from another: what it gives for some draws. A space that raises does so here."""
    package = optuna()
    draws = []
    for i in range(PROBES):
        study = package.create_study(sampler=package.samplers.RandomSampler(seed=i))
        trial = study.ask()
        params = _parameters(space, trial, context)
        distributions = {name: package.distributions.distribution_to_json(d) for name, d in trial.distributions.items()}
        draws.append([distributions, sorted(params)])
    return hashlib.sha256(json.dumps(draws, sort_keys=True).encode()).hexdigest()


def first_draw(space: Space, context: Context) -> dict[str, Any]:
    """Return parameters that the space may give, to see that the estimator has them."""
    package = optuna()
    return _parameters(space, package.create_study(sampler=package.samplers.RandomSampler(seed=0)).ask(), context)


def frozen(evaluation: Evaluation) -> Any:
    """Return a finished trial in Optuna's form."""
    package = optuna()
    outcome, states = evaluation.outcome, package.trial.TrialState
    state = {"complete": states.COMPLETE, "pruned": states.PRUNED, "failed": states.FAIL}[outcome.state]
    means = {k: sum(outcome.losses[:k]) / k for k in range(1, len(outcome.losses) + 1)}
    # A trial that did not finish its first fold has its last validation loss at step 0: worse than any with a fold.
    steps = {0: min(outcome.curve.values())} if outcome.curve else {}
    return package.trial.create_trial(
        state=state,
        value=outcome.value,
        params=dict(evaluation.suggestion.suggested),
        distributions=dict(evaluation.suggestion.distributions),
        intermediate_values=steps | means,
        user_attrs={
            "number": evaluation.suggestion.number,
            "losses": list(outcome.losses),
            "curve": [[epoch, loss] for epoch, loss in outcome.curve.items()],
            "seconds": outcome.seconds,
            "fit_seconds": outcome.fit_seconds,
            "error": outcome.error,
        },
    )


def thawed(space: Space, context: Context, trial: Any) -> Evaluation:
    """Return a trial that was kept in Optuna's form."""
    package = optuna()
    states = package.trial.TrialState
    kept = trial.user_attrs
    state: dict[Any, State] = {states.COMPLETE: "complete", states.PRUNED: "pruned", states.FAIL: "failed"}
    outcome = Outcome(
        state=state[trial.state],
        losses=tuple(kept["losses"]),
        curve={int(epoch): float(loss) for epoch, loss in kept["curve"]},
        seconds=kept["seconds"],
        fit_seconds=kept["fit_seconds"],
        error=kept["error"],
    )
    return Evaluation(suggested_again(space, context, trial), outcome)


def _parameters(space: Space, trial: Any, context: Context) -> dict[str, Any]:
    params: Any = space(trial, context)
    if not isinstance(params, dict) or not all(isinstance(name, str) for name in params):
        message = f"space must return a dict of parameters to set, like {{'alpha': 0.1}}, got {params!r}"
        raise ValueError(message)
    return params


def _seed(seed: int, number: int) -> int:
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
