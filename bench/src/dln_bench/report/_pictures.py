"""Decision pictures, as in the paper: models of insurance, estate and yacht, fitted anew, at the paper's size."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final

from dln import operations
from dln.circuit._cone import node_columns
from dln_bench import datasets
from dln_bench._results import Result
from dln_bench._split import split
from dln_bench.models._models import find, inner_params
from dln_bench.report import _paper
from dln_bench.report._cells import count, score
from dln_bench.report._common import title
from dln_bench.report._figures import Figure

#: The datasets whose models the paper draws, with the R² of the model drawn.
DRAWN: Final = {"insurance": 0.866, "estate": 0.758, "yacht": 0.997}
#: The model drawn is the paper's, or else ours.
_MODELS: Final = ("dln-paper", "dln")
#: Characters of another library's message that a sentence quotes.
_QUOTED: Final = 160

Say = Callable[[str], None]


def decision_pictures(results: Sequence[Result], say: Say) -> tuple[list[Figure], list[str]]:
    """Return the pictures that could be drawn, and a sentence for each that could not."""
    figures, sentences = [], []
    for dataset, paper in DRAWN.items():
        chosen = _chosen(results, dataset)
        if chosen is None:
            sentences.append(f"{dataset}: there is no result of a DLN to take parameters from.")
            continue
        if not datasets.is_here(dataset):
            sentences.append(
                f"{dataset}: its table is not on this machine: set {datasets.HOME} to the folder that has it, "
                f"or start dln-bench run, which downloads it."
            )
            continue
        say(f"fitting {title(chosen.model)} to {dataset} for its picture")
        try:
            figures.append(_picture(chosen, paper))
        except (ImportError, OSError, ValueError, TypeError) as error:
            reason = " ".join(str(error).split()).removeprefix(f"{dataset}: ")
            reason = reason if len(reason) <= _QUOTED else f"{reason[:_QUOTED]}…"
            sentences.append(f"{dataset}: no picture: {reason}")
    return figures, sentences


def _chosen(results: Sequence[Result], dataset: str) -> Result | None:
    """Return the result to draw: the most trials, then the smallest error in the search; the test rows have no say."""
    for model in _MODELS:
        mine = [one for one in results if one.model == model and one.dataset == dataset]
        if mine:
            return min(
                mine, key=lambda one: (-one.trials, float("inf") if one.cv_mse is None else one.cv_mse, one.seed)
            )
    return None


def _picture(result: Result, paper: float) -> Figure:
    from sklearn.metrics import r2_score

    rows = split(result.dataset, result.seed, result.protocol)
    model = find(result.model).make(datasets.facts(result.dataset), result.seed)
    model.set_params(**inner_params(result.model, result.params))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(rows.X_train, rows.y_train)
    whole = float(r2_score(rows.y_test, model.predict(rows.X_test)))
    limit = round(_paper.table("ops")[result.dataset, "dln-paper"].mean)
    small = _at_most(model, limit)
    cut = float(r2_score(rows.y_test, small.predict(rows.X_test)))
    rules, kept = len(model.circuit_.rules), len(small.circuit_.rules)
    noun, use = ("rule", "uses") if kept == 1 else ("rules", "use")
    columns = {column for rule in small.circuit_.rules for column in node_columns(small.circuit_, rule.node)}
    how = "within" if kept == rules else "cut to"
    caption = (
        f"{result.dataset}: {title(result.model)} with the parameters of seed {result.seed} at {result.trials} trials, "
        f"fitted anew (test R² {score(whole)} with {rules} rules), {how} the paper's {count(limit)} operations: "
        f"{kept} {noun} that {use} {len(columns)} of {rows.X_test.shape[1]} columns (test R² {score(cut)}). "
        f"The model that the paper draws has {score(paper)}."
    )
    return Figure(f"decision-{result.dataset}", caption, str(small.plot(max_rules=None).svg))


def _at_most(model: Any, limit: int) -> Any:
    """Return the largest model of the frontier that takes at most so many operations, as the paper counts them."""
    if operations(model.circuit_).total <= limit:
        return model
    known = [point for point in model.frontier_ if point.circuit is not None and point.conditions is not None]
    fitting = [point for point in known if operations(point.circuit).total <= limit] or known[:1]
    return model.prune(max(point.conditions for point in fitting))
