"""The search for a page of rules: several starts, each selected and polished, then recombined and widened.

A polished set is a local optimum, and different starts end in different ones. The first generations recombine: each
selects anew from the rules of two sets, from some of the candidates that nobody chose, and from rules grown on what one
of the two leaves of the target. The others widen: the best set is polished with a quarter more conditions and then
shrunk to the budget again, which moves it where no single change leads (an oscillating search, Somol and Pudil 2000).
In either case the child takes the place of the worst set if it is better.

Sixteen recombinations took parkinsons from R² 0.937 to 0.951 on unseen rows. Twenty widenings in place of twelve of
them raised what is explained of the target on all of ten tables, by 0.001 to 0.01, and R² on unseen rows by 0.002 to
0.01 on electrical, airfoil, housing, bike and parkinsons (one split each); on small tables R² went either way. On two
tables, 32 more recombinations did less than half as much. A random width was no better than a quarter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from dln.rules._expression import Expression
from dln.rules._grow import grow
from dln.rules._polish import polish, shrink
from dln.rules._rule_set import RuleSet
from dln.rules._select import select
from dln.rules._task import Task
from dln.solve._select import Budget

#: Sweeps over the rules of a start and of a generation.
SWEEPS: Final = 4
#: Sets that a child is made from, and candidates that join them: drawn from all, and grown on the residual.
PARENTS: Final = 2
DRAWN: Final = 150
GROWN: Final = 40
GROWTH_RATE: Final = 0.3
#: Share of the generations that recombine, and the budget in which the others widen.
RECOMBINED: Final = 0.25
WIDER: Final = 1.25
#: Two sets whose losses differ by less than this share of the target's variation are the same.
SAME: Final = 1e-7


def search(
    task: Task,
    pools: Sequence[Sequence[Expression]],
    budget: Budget,
    generations: int,
    seed: list[int],
    *,
    stop: Callable[[], bool],
    after_each: Callable[[], None] = lambda: None,
) -> RuleSet:
    """Return the best set of rules found from several pools of candidates."""
    rng = np.random.default_rng(seed)
    sets: list[RuleSet] = []
    for pool in pools:
        if sets and stop():
            break
        sets.append(polish(RuleSet(task, select(task, pool, budget)), budget, rng, sweeps=SWEEPS, stop=stop))
        after_each()
    candidates = list(dict.fromkeys(expression for pool in pools for expression in pool))
    for generation in range(generations):
        if stop():
            break
        if generation < RECOMBINED * generations:
            pool = _next_pool(task, sets, candidates, budget, rng, [*seed, generation], stop)
            child = polish(RuleSet(task, select(task, pool, budget)), budget, rng, sweeps=SWEEPS, stop=stop)
        else:
            child = _widened(min(sets, key=lambda rules: rules.loss()), budget, rng, stop)
        losses = [rules.loss() for rules in sets]
        worst = int(np.argmax(losses))
        is_new = all(abs(child.loss() - loss) > SAME * task.variation for loss in losses)
        if is_new and child.loss() < losses[worst]:
            sets[worst] = child
        after_each()
    return min(sets, key=lambda rules: rules.loss())


def _next_pool(
    task: Task,
    sets: Sequence[RuleSet],
    candidates: Sequence[Expression],
    budget: Budget,
    rng: np.random.Generator,
    seed: list[int],
    stop: Callable[[], bool],
) -> list[Expression]:
    """Return what a child is selected from."""
    parents = [sets[i] for i in rng.choice(len(sets), min(PARENTS, len(sets)), replace=False).tolist()]
    pool = [expression for rules in parents for expression in rules.expressions]
    drawn = rng.choice(len(candidates), min(DRAWN, len(candidates)), replace=False).tolist()
    pool += [candidates[i] for i in drawn]
    residual = parents[0].residual()
    return pool + grow(task, GROWN, budget.rule_length, seed, rate=GROWTH_RATE, stop=stop, target=residual)


def _widened(rules: RuleSet, budget: Budget, rng: np.random.Generator, stop: Callable[[], bool]) -> RuleSet:
    """Return a set that has been larger for a while."""
    child = polish(rules.copy(), budget.widened(WIDER), rng, sweeps=1, stop=stop)
    shrink(child, budget)
    return polish(child, budget, rng, sweeps=2, stop=stop)


def shrinking_path(
    rules: RuleSet, budget: Budget, sizes: Sequence[int], seed: list[int], *, stop: Callable[[], bool]
) -> dict[int, RuleSet]:
    """Return sets for ever smaller budgets, each shrunk from the one before and polished; the whole set first."""
    rng = np.random.default_rng(seed)
    path = {budget.conditions: rules}
    for size in sorted({size for size in sizes if size < rules.n_conditions}, reverse=True):
        rules = rules.copy()
        shrink(rules, budget.resized(size))  # also without time: it is quick, and who was cut short may want to prune
        path[size] = rules if stop() else polish(rules, budget.resized(size), rng, sweeps=1, stop=stop)
    return path
