"""Decision pictures of insurance, estate and yacht, from networks at least as accurate as those the paper draws."""

from __future__ import annotations

from typing import Any, Final

from dln.circuit._graph import node_columns
from dln_bench import datasets
from dln_bench._results import Result
from dln_bench._split import split
from dln_bench.models._measures import measures
from dln_bench.models._models import MODELS
from dln_bench.report import _paper
from dln_bench.report._figures import Figure
from dln_bench.report._scores import Scores
from dln_bench.report._tables import amount, score

#: Conditions of a page.
PAGE: Final = 100


def decision_pictures(scores: Scores) -> list[Figure]:
    """Return the pictures of those datasets that have results of DLN, of which the tables are here."""
    found = []
    for dataset, printed in _paper.DRAWN.items():
        results = [one for one in scores.results if one.model.startswith("dln") and one.dataset == dataset]
        if results and datasets.is_here(dataset):
            found.append(_picture(_chosen(results, printed), printed))
    return found


def _chosen(results: list[Result], printed: float) -> Result:
    """Return the smallest model that reaches the printed R²; if there is none, the best of those that fit on a page.

    The split of the paper's picture is not known, so its R² suggests one.
    """
    reached = [one for one in results if one.r2 >= printed]
    if reached:
        return min(reached, key=lambda one: one.conditions or 0)
    short = [one for one in results if (one.conditions or 0) <= PAGE]
    return max(short or results, key=lambda one: one.r2)


def _picture(result: Result, printed: float) -> Figure:
    rows = split(result.dataset, result.seed)
    model = MODELS[result.model].make(datasets.facts(result.dataset), result.seed).set_params(**result.params)
    model.fit(rows.X_train, rows.y_train)
    found = measures(model, rows)
    fact = datasets.facts(result.dataset)
    used = _inputs_used(model.circuit_)
    caption = (
        f"{result.dataset}, seed {result.seed}: {MODELS[result.model].title} with test R² {score(found['r2'])}, where "
        f"the model that the paper draws has {score(printed)}. {found['rules']} rules, {found['conditions']} "
        f"conditions, {amount(found['multiply'])} (multiply) or {amount(found['select'])} (select) operations. It uses "
        f"{used[0]} of {len(fact.continuous)} continuous inputs and {used[1]} of {fact.n_categorical_columns} one-hot "
        "inputs. The seed was chosen by the paper's R²."
    )
    return Figure(f"decision-{result.dataset}", caption, str(model.plot(max_rules=None).svg))


def _inputs_used(circuit: Any) -> tuple[int, int]:
    """Return the number columns and the category bits that rules use."""
    columns = {column for rule in circuit.rules for column in node_columns(circuit, rule.node)}
    numbers = sum(circuit.columns[column].categories is None for column in columns)
    bits = {(test.column, code) for test in circuit.literals if hasattr(test, "codes") for code in test.codes}
    return numbers, len(bits)
