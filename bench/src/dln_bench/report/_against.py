"""Ours against the paper: its DLN dataset by dataset, and the baselines whose mean differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dln_bench._names import DATASETS
from dln_bench._results import Result
from dln_bench.report import _paper
from dln_bench.report._cells import (
    MARK,
    MINUS,
    NOTHING,
    Cell,
    Record,
    Table,
    change,
    count,
    deviation,
    percent,
    score,
    with_spread,
)
from dln_bench.report._common import Comparison, compare, title
from dln_bench.report._statistics import Spread, mean
from dln_bench.report._tables import own_average, paper_average

#: A difference of mean R² up to this is none.
SAME: Final = 0.01
#: A dataset this far below the paper's is one to look at.
FAR: Final = 0.02
#: Known reasons for a difference, by model.
REASONS: Final[Mapping[str, str]] = {
    "forest": (
        "The paper's random forest looks restrained: one at scikit-learn's defaults, without any search, is better "
        "than the paper's on housing, bike and parkinsons."
    ),
    "tree": (
        "The paper's tree gains from trials more than most, 0.755 with 32 and 0.777 with 128; its grid is not stated."
    ),
    "adaboost": "The paper states neither the base learner nor the grid of its AdaBoost.",
    "knn": "The paper does not state the grid of its KNN: neighbours, weights and distance.",
    "svr": "The paper does not state the grid of its SVR: kernels, C, epsilon and gamma.",
    "mlp": "The paper does not state the grid of its MLP: layers, learning rate, epochs and stopping.",
}


@dataclass(frozen=True, slots=True)
class Reproduction:
    """The paper's DLN: our table against the paper's, and a sentence that sums it up."""

    table: Table
    sentences: tuple[str, ...]


def reproduction(results: Sequence[Result], model: str = "dln-paper") -> Reproduction | None:
    """Return the paper's DLN against the paper's numbers: at 128 trials or at 32, whichever has more datasets."""
    mine = [one for one in results if one.model == model and one.dataset in DATASETS]
    if not mine:
        return None
    trials = _budget(mine)
    comparison = compare(mine, trials)
    tabled = trials == _paper.TABLE_TRIALS
    stated = {
        name: (_paper.table("r2") if tabled else _paper.ablations())[name, "dln-paper"] for name in comparison.datasets
    }
    paper_trials = _paper.TABLE_TRIALS if tabled else _paper.ABLATION_TRIALS
    rows, records, ours, beyond = [], [], [], []
    for dataset in comparison.datasets:
        own, operations = (comparison.own(metric, dataset, model) for metric in ("r2", "ops"))
        if own is None:
            continue
        paper = stated[dataset]
        row, record = _compare(dataset, own, paper, operations)
        rows.append(row)
        records.append(record)
        ours.append(own.mean)
        if row[-1].marked:
            beyond.append(f"{dataset} ({change(own.mean - paper.mean)})")
    our_mean, paper_mean = mean(ours), mean([paper.mean for paper in stated.values()])
    number = f"{len(ours)} of {len(DATASETS)}" if len(ours) < len(DATASETS) else f"all {len(DATASETS)}"
    within = "within" if abs(our_mean - paper_mean) <= SAME else "more than"
    sentences = [
        (
            f"Mean R² over {number} datasets at {trials} trials: {score(our_mean)}, the paper's at {paper_trials} "
            f"trials on the same datasets {score(paper_mean)}: {_fine(our_mean - paper_mean)}, {within} {SAME:g}"
            f"{' of each other' if within == 'within' else ' apart'}."
        )
    ]
    sentences += _other_budgets(mine, trials, model)
    average = own_average(comparison, "ops", model)
    paper_operations = paper_average("ops", "dln-paper", [row[0].text for row in rows])
    if average is not None and paper_operations is not None:
        sentences.append(
            f"Operations, the geometric mean: {count(average.value)}, the paper's {count(paper_operations)}: "
            f"{percent(average.value, paper_operations)}."
        )
    far = [row[0].text for row, record in zip(rows, records, strict=True) if _difference(record) < -FAR]
    sentences.append(
        f"More than {FAR:g} below the paper: {', '.join(far)}." if far else f"No dataset is more than {FAR:g} below."
    )
    if trials != paper_trials:
        sentences.append(
            f"There are no results of the paper's DLN at {_paper.ABLATION_TRIALS} trials yet: those at {trials} trials "
            f"stand here, and the budgets differ."
        )
    cut = [one for one in comparison.results.values() if one.cut]
    if cut:
        sentences.append(
            f"Budgets were cut in {len(cut)} of these {len(comparison.results)} units, as listed under “Budgets that "
            f"were cut”; the paper's were not."
        )
    sentences.append(
        f"Beyond one standard deviation of the paper's seeds ({MARK}): {', '.join(beyond)}."
        if beyond
        else "No dataset is beyond one standard deviation of the paper's seeds."
    )
    summary = (
        Cell(f"mean of {number}"),
        Cell(NOTHING),
        Cell(NOTHING if average is None else count(average.value)),
        Cell(NOTHING if paper_operations is None else count(paper_operations)),
        Cell(score(our_mean)),
        Cell(score(paper_mean)),
        Cell(change(our_mean - paper_mean)),
    )
    table = Table(
        f"{title(model)}, {trials} trials, against the paper's DLN, {paper_trials}",
        ("dataset", "seeds", "operations", "paper's operations", "R²", "paper's R²", "difference"),
        tuple(rows),
        (summary,),
        (f"{MARK}: the difference is larger than the standard deviation over the paper's {_paper.SEEDS} seeds.",),
        {f"{model.replace('-paper', '').replace('-', '_')}_against_paper": records},
    )
    return Reproduction(table, tuple(sentences))


def _difference(record: Record) -> float:
    value = record["difference"]
    return float(value) if value is not None else 0.0


def _fine(difference: float) -> str:
    """Return a difference that is held against 0.01 with a digit more."""
    return f"{difference:+.4f}".replace("-", MINUS)


def _budget(results: Sequence[Result]) -> int:
    trials = {one.trials for one in results if one.trials} or {0}
    stated = trials & {_paper.ABLATION_TRIALS, _paper.TABLE_TRIALS}
    return max(stated or trials, key=lambda each: (len({one.dataset for one in results if one.trials == each}), each))


def _other_budgets(results: Sequence[Result], trials: int, model: str) -> list[str]:
    """Return a sentence per further budget of the paper that all datasets were run with."""
    said = []
    for (of_paper, budget), paper in _paper.budgets().items():
        mine = compare(results, budget) if of_paper == "dln-paper" and budget != trials else None
        average = own_average(mine, "r2", model) if mine is not None and model in mine.models else None
        if average is not None and average.datasets == len(DATASETS):
            ours = average.value
            said.append(f"At {budget} trials: {score(ours)}, the paper's {score(paper)}: {change(ours - paper)}.")
    return said


def _compare(
    dataset: str, own: Spread, paper: _paper.Stated, operations: Spread | None
) -> tuple[tuple[Cell, ...], Record]:
    difference = own.mean - paper.mean
    paper_operations = _paper.table("ops")[dataset, "dln-paper"].mean
    row = (
        Cell(dataset),
        Cell(str(own.n)),
        Cell(NOTHING if operations is None else count(operations.mean)),
        Cell(count(paper_operations)),
        Cell(with_spread(own, score(own.mean), "" if own.std is None else deviation(own.std))),
        Cell(score(paper.mean) + ("" if paper.std is None else f" ± {deviation(paper.std)}")),
        Cell(change(difference), marked=is_beyond(difference, paper)),
    )
    record: Record = {
        "dataset": dataset,
        "mean_r2": own.mean,
        "std_r2": own.std,
        "seeds": own.n,
        "operations": None if operations is None else operations.mean,
        "paper_operations": paper_operations,
        "paper": paper.mean,
        "paper_std": paper.std,
        "difference": difference,
        "beyond_one_std": str(row[-1].marked).lower(),
    }
    return row, record


def is_beyond(difference: float, paper: _paper.Stated) -> bool:
    """Return whether a difference is larger than the deviation of the paper's seeds, and visible in three decimals."""
    return paper.std is not None and abs(difference) > max(paper.std, 0.0005)


def baselines(comparison: Comparison) -> Table:
    """Return the baselines' means against the paper's on the same datasets."""
    rows = []
    records: list[Record] = []
    for model in _compared_with_paper(comparison):
        average = own_average(comparison, "r2", model)
        if average is None or average.paper is None:
            continue
        difference = average.value - average.paper
        at_32 = _paper.budgets()[model, _paper.ABLATION_TRIALS] if average.datasets == len(DATASETS) else None
        rows.append(
            (
                Cell(title(model)),
                Cell(score(average.value)),
                Cell(f"{average.datasets} of {len(DATASETS)}"),
                Cell(score(average.paper)),
                Cell(change(difference), marked=abs(difference) > SAME),
                Cell(NOTHING if at_32 is None else f"{score(at_32)}"),
            )
        )
        records.append(
            {
                "model": model,
                "mean_r2": average.value,
                "datasets": average.datasets,
                "paper": average.paper,
                "difference": difference,
                "paper_at_32_trials": at_32,
            }
        )
    return Table(
        f"Mean R² of the paper's ten models, {comparison.trials} trials",
        ("model", "R²", "datasets", f"paper, {_paper.TABLE_TRIALS} trials", "difference", "paper, 32 trials"),
        tuple(rows),
        notes=(
            (
                f"The paper's mean at {_paper.TABLE_TRIALS} trials is over the same datasets as ours; at 32 trials it "
                f"is known over all {len(DATASETS)} only. {MARK}: more than {SAME:g} apart."
            ),
        ),
        files={"models_against_paper": records},
    )


def differing(comparison: Comparison) -> tuple[str, ...]:
    """Return the paper's models whose mean differs from the paper's by more than 0.01."""
    found = []
    for model in _compared_with_paper(comparison):
        average = own_average(comparison, "r2", model)
        if average is not None and average.paper is not None and abs(average.value - average.paper) > SAME:
            found.append(model)
    return tuple(found)


def difference_table(comparison: Comparison, models: Sequence[str]) -> Table:
    """Return the differences to the paper dataset by dataset, for models whose mean differs."""
    stated = _paper.table("r2")
    rows = []
    for dataset in comparison.datasets:
        if dataset not in DATASETS:
            continue
        cells = [Cell(dataset)]
        for model in models:
            own, paper = comparison.own("r2", dataset, model), stated[dataset, model]
            if own is None:
                cells.append(Cell(NOTHING, (f"paper {score(paper.mean)}",)))
                continue
            difference = own.mean - paper.mean
            below = (f"{score(own.mean)}, paper {score(paper.mean)}",)
            cells.append(Cell(change(difference), below, marked=is_beyond(difference, paper)))
        rows.append(tuple(cells))
    return Table(
        f"Differences of R² to the paper, where the means are more than {SAME:g} apart",
        ("dataset", *(title(model) for model in models)),
        tuple(rows),
        notes=(f"{MARK}: beyond one standard deviation of the paper's seeds.",),
    )


def reasons(comparison: Comparison, models: Sequence[str]) -> list[str]:
    """Return what is known of why models differ from the paper."""
    said = []
    if models and comparison.trials != _paper.TABLE_TRIALS:
        said.append(
            f"The paper's tables are with {_paper.TABLE_TRIALS} trials and {_paper.SEEDS} seeds, these with "
            f"{comparison.trials} trials and {len(comparison.seeds)} "
            f"{'seed' if len(comparison.seeds) == 1 else 'seeds'}."
        )
    for model in models:
        cuts = sum(1 for (_, other, _), one in comparison.results.items() if other == model and one.cut)
        parts = [REASONS[model]] if model in REASONS else []
        if cuts:
            parts.append(f"Its budget was cut in {cuts} units, listed above.")
        if parts:
            said.append(f"{title(model)}: {' '.join(parts)}")
    return said


def _compared_with_paper(comparison: Comparison) -> list[str]:
    return [model for model in comparison.models if model in _paper.MODELS.values()]
