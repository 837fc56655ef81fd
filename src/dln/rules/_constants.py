"""Tuned constants of the rule learner, with their units and effects; the first ten matter most."""

from __future__ import annotations

from typing import Final

#: Rows that rules are searched on: the first in canonical order, a sample by content. More help large tables a little
#: and take time in proportion.
MAX_ROWS: Final = 15_000
#: Cut-offs per number column, at even ranks of its values.
MAX_CUTOFFS: Final = 100
#: Pools of grown candidates: the learning rate of the boosting that grows one, and the longest rule, in conditions.
GROWTH: Final = ((0.1, 5), (0.2, 6))
#: Generations without progress after which a search ends, and the share of the loss that is progress.
PATIENCE: Final = 2
PROGRESS: Final = 1e-3
#: Budget of a set that is widened for a while, in budgets: moves it where no single change leads.
WIDER: Final = 1.25
#: What a condition must gain in a sweep, as a share of what the last one of the budget gained: frees conditions that
#: gain more elsewhere.
CONDITION_PRICE: Final = 0.5
#: Ridge penalties of the final weights that are tried, in penalties of the search: steady weights on noisy tables.
WEIGHT_PENALTIES: Final = (1.0, 3.0, 10.0, 30.0)
#: Held-out R² that a smaller model may lose against the best size, at most.
SIZE_TOLERANCE: Final = 0.002

# --- folds

#: Up to so many rows, they are dealt into so many folds.
N_FOLDS: Final = ((6000, 5), (MAX_ROWS, 4))
#: Rows below which nothing is taught or validated.
MIN_ROWS: Final = 40
#: Up to so many rows, the target is chosen, and sizes are validated, on so many folds: of few rows one says little.
N_TARGET_FOLDS: Final = ((1500, 4), (6000, 3), (MAX_ROWS, 2))
N_SIZE_FOLDS: Final = ((1500, 3), (MAX_ROWS, 1))
#: Rows that each condition needs where there are too few to validate.
ROWS_PER_CONDITION: Final = 4
#: Share of the generations of a search for a validation, or for one of several averaged models.
QUICK: Final = 0.34

# --- inputs

#: Inputs that are searched, those whose best single test explains most, and the rows that this is judged on.
MAX_INPUTS: Final = 100
MAX_SCREENING_ROWS: Final = 5000
#: Chance that a column of a synthetic row is taken from its second row, the nearest of so many that are drawn.
SECOND_ROW_SHARE: Final = 0.3
N_DRAWN_ROWS: Final = 5

# --- teachers

#: Trees of a forest.
N_TREES: Final = 40
#: Rows of a support vector machine, whose time grows with their square, and of a table that gets such machines.
MAX_KERNEL_ROWS: Final = 1000
MAX_ROWS_FOR_KERNELS: Final = 6000
#: From so many rows on, boosted trees are larger.
MANY_ROWS: Final = 2000
#: From so many inputs on, a forest's splits look at fewer of them.
MANY_INPUTS: Final = 100
#: Rows whose distances from all support vectors are in memory at a time.
KERNEL_BLOCK: Final = 1000

# --- growth of candidates

#: Share of the rows that a rule is grown on, chance that it may use all inputs, and the least share of them otherwise.
ROW_SHARE: Final = 0.6
ALL_INPUTS: Final = 0.3
MIN_INPUT_SHARE: Final = 0.3
#: Chance that the best first test is taken and not one of the next two, and that a test may also join by "or".
BEST_FIRST: Final = 0.7
OR_SHARE: Final = 0.3
#: A further test must raise the gain by this factor.
MIN_GAIN_FACTOR: Final = 1.02
#: Rules that are grown even if there is no time: a model needs some.
MIN_GROWN: Final = 30
#: A quick student for the choice of the target: rules that are grown, the longest, the learning rate.
TRIAL_RULES: Final = 200
TRIAL_LENGTH: Final = 5
TRIAL_RATE: Final = 0.15

# --- search

#: Sweeps over all rules of the first selection.
SWEEPS: Final = 4
#: Tests proposed for each part of a rule, and changes that are judged exactly: in a sweep, and in an extension.
SWEEP_EFFORT: Final = (3, 10)
EXTENSION_EFFORT: Final = (2, 5)
#: Rules that are swept between two looks at the clock.
SWEPT_AT_ONCE: Final = 16
#: Share of the target's variation by which a change must lower the loss.
MIN_GAIN: Final = 1e-6
#: A sweep that changes less than this share of the rules is the last.
SETTLED: Final = 0.02
#: Extensions of several rules are made together if they gain this share of the best one, up to this share of the
#: conditions.
NEARLY_BEST: Final = 0.7
TOGETHER: Final = 0.04
#: Share of the conditions to be dropped that go before all are looked at again.
DROPPED_AT_ONCE: Final = 0.2
#: A rule whose variance given the others is below this share of its own is a linear combination of them.
DEPENDENT: Final = 1e-4
#: Weights have mean one: a rule that fires on less than half a row is constant up to rounding.
HALF_A_ROW: Final = 0.5

# --- sizes

#: Conditions of the models on the frontier, and larger ones of which only the validated R² is computed.
SIZES: Final = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 65, 80, 100, 150, 200, 300, 400)
LARGER_SIZES: Final = (200, 400)
#: A budget of more conditions than this is searched as a page, and then extended by selection and one sweep.
MAX_SEARCHED: Final = 250
PAGE: Final = 100
#: Conditions of each of several models that are averaged where the budget allows two or more of them.
MEMBER: Final = 800
