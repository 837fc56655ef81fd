"""One student: networks and greedy growth propose candidates for a target, the search puts a page of them together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from dln.network._layout import Data
from dln.network._loop import Plan as TrainingPlan
from dln.network._loop import Trained
from dln.network._networks import Architecture
from dln.rules._expression import Expression
from dln.rules._grow import grow
from dln.rules._inputs import Inputs
from dln.rules._neurons import neuron_expressions
from dln.rules._rule_set import RuleSet
from dln.rules._search import search
from dln.rules._select import select_sizes
from dln.rules._task import Task, page
from dln.solve._select import Budget

#: Two pools are grown: many small steps with shorter rules, and larger steps with longer ones.
GROWTH: Final = ((0.1, 5), (0.2, 6))

#: Settings of the networks, measured on several splits of six datasets: choices relaxed one by one, links of the sum
#: open at first, a cosine schedule; higher learning rates close one rule after another.
LEARNING_RATE: Final = 0.005
MIN_TEMPERATURE: Final = 0.1
#: The temperature reaches its minimum after this share of the epochs.
COOLING_SHARE: Final = 0.8
N_THRESHOLDS: Final = 10
N_CANDIDATES: Final = 8
OPEN_LOGIT: Final = 2.0
BATCH_SIZE: Final = 32
#: Training steps of a network at the most: more rows get fewer epochs.
MAX_STEPS: Final = 15_000
MIN_EPOCHS: Final = 5


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a student is made."""

    budget: Budget
    n_networks: int
    hidden_layer_sizes: tuple[int, ...]
    max_epochs: int
    n_grown_rules: int
    n_generations: int

    @property
    def architecture(self) -> Architecture:
        """The shape of the networks."""
        return Architecture(self.hidden_layer_sizes, N_THRESHOLDS, N_CANDIDATES, N_CANDIDATES, True, OPEN_LOGIT)  # noqa: FBT003

    def training_plan(self, n_rows: int) -> TrainingPlan:
        """Return how the networks are trained on so many rows."""
        epochs = max(min(self.max_epochs, MIN_EPOCHS), min(self.max_epochs, MAX_STEPS * BATCH_SIZE // max(n_rows, 1)))
        return TrainingPlan(
            straight_through="separate",
            phases="unified",
            temperature=1.0,
            temperature_decay=MIN_TEMPERATURE ** (1.0 / max(1.0, COOLING_SHARE * epochs)),
            min_temperature=MIN_TEMPERATURE,
            sum_link_threshold=0.8,
            gradient_factor=1.0,
            loss="squared_error",
            quantile=0.5,
            learning_rate=LEARNING_RATE,
            learning_rate_schedule="cosine",
            batch_size=BATCH_SIZE,
            max_epochs=epochs,
            patience=None,
        )


def network_data(task: Task) -> Data:
    """Return what networks are trained on."""
    inputs = task.inputs
    return Data(
        np.ascontiguousarray(inputs.numbers.T),
        np.ascontiguousarray(inputs.bits.T.astype(np.float32)),
        task.target.astype(np.float32),
        task.weight.astype(np.float32),
    )


def neurons(networks: Sequence[Trained], inputs: Inputs, budget: Budget) -> list[list[Expression]]:
    """Return the candidate rules of each network."""
    return [neuron_expressions(one.network, inputs.cutoffs, budget.rule_length) for one in networks]


@dataclass(frozen=True, slots=True)
class Student:
    """A page of rules, and all candidates that it was chosen from."""

    rules: RuleSet
    candidates: list[Expression]

    def larger(self, sizes: Sequence[int], budget: Budget) -> dict[int, RuleSet]:
        """Return sets for larger sizes, quickly selected from the same candidates."""
        if not sizes:
            return {}
        task, candidates = self.rules.task, [*self.rules.expressions, *self.candidates]
        chosen = select_sizes(task, candidates, [budget.resized(size) for size in sizes])
        return {size: RuleSet(task, expressions) for size, expressions in zip(sizes, chosen, strict=True)}


def train_student(
    task: Task,
    of_networks: Sequence[Sequence[Expression]],
    recipe: Recipe,
    seed: list[int],
    *,
    stop: Callable[[], bool],
    after_each: Callable[[], None] = lambda: None,
) -> Student:
    """Return the best rules found for the task, given the candidates of trained networks."""
    grown = []
    for k, (rate, longest) in enumerate(GROWTH):
        n_rules, most = recipe.n_grown_rules // len(GROWTH), min(longest, recipe.budget.rule_length)
        grown.append(grow(task, n_rules, most, [*seed, k], rate=rate, stop=stop))
        after_each()
    pools = start_pools(grown, of_networks)
    budget = page(recipe.budget)
    rules = search(task, pools, budget, recipe.n_generations, [*seed, 9], stop=stop, after_each=after_each)
    return Student(rules, [candidate for pool in (*grown, *of_networks) for candidate in pool])


def start_pools(
    grown: Sequence[Sequence[Expression]], of_networks: Sequence[Sequence[Expression]]
) -> list[list[Expression]]:
    """Return the pools that a search starts from: grown rules and neurons together and apart, no two the same."""
    first = [[*pool, *(of_networks[k % len(of_networks)] if of_networks else ())] for k, pool in enumerate(grown)]
    all_neurons = [candidate for pool in of_networks for candidate in pool]
    all_grown = [candidate for pool in grown for candidate in pool]
    pools = [*first, list(grown[0]) if of_networks else all_grown, all_neurons]
    return [pool for pool in pools if pool] or [[]]


def n_steps(recipe: Recipe) -> int:
    """Return how often `train_student` tells that it has done something."""
    n_starts = len(GROWTH) + 1 + (recipe.n_networks > 0)
    return len(GROWTH) + n_starts + recipe.n_generations
