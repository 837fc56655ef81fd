"""The report: tables and figures of made results, ours beside the paper's."""

import math
import statistics
from dataclasses import replace

import pytest

from bench_command import run
from bench_tables import SHARED
from dln_bench import datasets
from dln_bench._results import Result, append_results
from dln_bench.models._models import ABLATIONS, MODELS, PAPER
from dln_bench.report import _claims, _diagrams, _figures, _paper, _tables
from dln_bench.report._pictures import Drawn, decision_pictures
from dln_bench.report._report import NoResultsError, write_report
from dln_bench.report._scores import Entry, Scores

SEEDS = 10


@pytest.fixture(autouse=True)
def _facts(packaged):
    """Read the facts of the fifteen datasets, whatever tables are on this machine."""


def as_printed(model, dataset, seed, trials, **changes):
    """Return a result that scatters around the paper's, without randomness."""
    like = MODELS[model].paper or "dln"
    printed = {metric: _paper.table(metric)[like, dataset].mean for metric in ("r2", "rmse", "mae", "ops")}
    wave = math.sin(1 + seed * 5)
    fields = {
        "r2": printed["r2"] + 0.004 * wave,
        "rmse": printed["rmse"] * (1 + 0.01 * wave),
        "mae": printed["mae"] * (1 + 0.01 * wave),
        "multiply": round(printed["ops"] * (2 if like == "dln" else 1)),
        "select": round(printed["ops"]),
        "conditions": 20 * len(model),
        "trials": trials,
        "trials_run": trials,
        "fit_seconds": 1.0,
    }
    return Result(dataset, model, seed, **(fields | changes))


@pytest.fixture(scope="module")
def results():
    """Return results of the whole evaluation."""
    units = [(model, trials) for model in PAPER for trials in ((32, 64, 128) if MODELS[model].space else (0,))]
    units += [("dln", 0), ("rules", 0), ("lightgbm", 0), ("lightgbm", 128), ("dln-100", 0), ("cart-20", 0)]
    units += [(model, 32) for model in ABLATIONS]
    names = list(datasets.names())
    return [
        as_printed(model, dataset, seed, trials)
        for model, trials in units
        for dataset in names
        for seed in range(SEEDS)
    ]


@pytest.fixture(scope="module")
def scores(results):
    """Return those results by model, budget and dataset."""
    return Scores(results)


def test_differences_are_paired_with_the_papers_splits(scores):
    """The mean difference has a standard error from both deviations and the correlation of splits."""
    found = scores.difference("r2", Entry("dln", 128), "mpg")
    values = list(scores.values("r2", Entry("dln", 128), "mpg").values())
    printed = _paper.table("r2")["dln", "mpg"]
    assert found.value == pytest.approx(statistics.fmean(values) - printed.mean)
    own = statistics.stdev(values)
    r = 0.99  # made results share their waves
    assert found.error == pytest.approx(math.sqrt((own**2 + printed.std**2 - 2 * r * own * printed.std) / SEEDS))


def test_differences_of_more_than_two_standard_errors_are_marked_and_listed(results, monkeypatch):
    """A model far from the paper's is marked, with its reason or as unexplained; one that differs little is not."""
    far = [
        replace(one, r2=one.r2 - 0.1) if (one.model, one.dataset) == ("svr", "mpg") else one
        for one in results
        if one.model in {"svr", "linear"} and (one.dataset, one.seed) < ("mpg", 4)
    ]
    table = _tables.metric_table(Scores(far), "r2")
    cells = dict(zip(table.head, next(row for row in table.rows if row[0] == "mpg"), strict=True))
    assert cells["SVR"].split("<br>")[2].startswith("−0.1")
    assert _tables.MARK in cells["SVR"]
    assert _tables.MARK not in cells["Linear"]
    for reasons, expected in (({}, _tables.UNEXPLAINED), ({("svr", "*", "accuracy"): "It is far."}, "It is far.")):
        monkeypatch.setattr(_paper, "explanations", lambda reasons=reasons: reasons)
        (row,) = _tables.marked_table(Scores(far)).rows
        assert (row[0], row[1], row[3]) == ("SVR", "accuracy", expected)
        assert row[2].startswith("mpg (R² −0.1")
        assert row[2].endswith("; 4 of 10 splits)")


def test_explanations_are_of_models_and_datasets_that_there_are():
    """Each names a model of the paper, one of its datasets or all of them, what differs, and a reason."""
    for (model, dataset, kind), reason in _paper.explanations().items():
        assert model in PAPER
        assert dataset in {"*", *datasets.names()}
        assert kind in _tables.KINDS
        assert reason.endswith(".")


def test_datasets_have_the_papers_counts():
    """Training and test rows, continuous and one-hot columns are those of the paper's table, on all fifteen."""
    table = _tables.dataset_table()
    assert table.rows[0][:5] == ("abalone", "3,132", "1,045", "7", "2")
    assert table.notes == ("Counts are the paper's.",)


def test_what_was_not_run_is_said(results):
    """A row for every model and budget: complete, with fewer splits, with fewer trials, or not run."""
    some = [one for one in results if one.model != "svr" and (one.model != "knn" or one.seed < 3)]
    cut = [replace(one, trials_run=9) if (one.model, one.trials) == ("tree", 128) else one for one in some]
    rows = {row[:2]: row[2:5] for row in _tables.coverage_table(Scores(cut)).rows}
    assert rows["MLP", "32, 64, 128"] == ("10", "10", "complete")
    assert rows["KNN", "32, 64, 128"] == ("3", "3", "partial")
    assert rows["Decision tree", "128"] == ("10", "10", "complete, cut")
    assert rows["SVR", "32, 64, 128"] == ("–", "–", "**not run**")


def test_models_stand_beside_the_papers_counterpart(scores):
    """Both learners are compared with the paper's DLN; a model that it does not have is compared with nothing."""
    assert scores.difference("r2", Entry("rules"), "mpg").value == pytest.approx(
        scores.difference("r2", Entry("dln", 128), "mpg").value
    )
    assert scores.difference("r2", Entry("lightgbm"), "mpg") is None


def test_scores_stand_above_the_papers(scores):
    """A cell has our mean and deviation and the paper's; the last rows have averages and ranks of both."""
    table = _tables.metric_table(scores, "r2")
    assert table.head[1:] == tuple(MODELS[model].title for model in PAPER)
    cells = dict(zip(table.head, next(row for row in table.rows if row[0] == "estate"), strict=True))
    assert "<br>0.614 ± 0.052<br>" in cells["Linear"]
    mean, _, rank = (dict(zip(table.head, row, strict=True)) for row in table.rows[-3:])
    assert mean["DLN"].endswith("<br>0.810")
    assert float(rank["DLN"].split("<br>")[1]) == pytest.approx(3.47, abs=0.1)
    operations = _tables.metric_table(scores, "multiply")
    assert operations.head[-1] == "DLN, select"
    assert dict(zip(operations.head, operations.rows[-2], strict=True))["DLN"].endswith("<br>29.8K")


def test_missing_seeds_and_trials_are_in_the_notes(results):
    """Fewer splits than the paper's, and searches with fewer trials than asked for, are named under the table."""
    some = [one for one in results if one.model == "ridge" and one.trials == 128]
    cut = [replace(one, trials_run=40) if one.dataset == "bike" else one for one in some]
    notes = _tables.metric_table(Scores([one for one in cut if one.dataset != "mpg" or one.seed < 3]), "r2").notes
    assert "Ridge: 3 of 10 splits on mpg." in notes
    assert "Ridge: at least 40 of 128 trials on bike." in notes


def test_budgets_have_arrows(scores):
    """The table of budgets has the three budgets, ours and the paper's, with the way they go."""
    table = _tables.budget_table(scores)
    forest = next(row for row in table.rows if row[0] == "Random forest")
    assert forest[3].endswith("<br>0.815 ↑")
    assert " →<br>" in forest[3]


def test_the_ablation_table_has_all_rows(scores):
    """Mean R², ranks in place of DLN and operations stand below the datasets, ours above the paper's."""
    table = _tables.ablation_table(scores)
    assert len(table.rows) == 15 + 6
    last = {row[0]: dict(zip(table.head, row, strict=True)) for row in table.rows[-6:]}
    assert last["mean R²"]["No temperature schedule"].endswith("<br>0.785")
    assert last["R² rank"]["Two phases"].endswith("<br>3.60")
    assert last["geometric mean, multiply"]["Subspace of 4"].endswith("<br>27.5K")
    assert last["mean R²"]["No straight-through"].endswith("<br>–")


def test_claims_are_checked(scores, results):
    """Every sentence of the paper gets a verdict, and none where results are missing."""
    drawn = Drawn(_figures.Figure("", "", ""), "2 of 2 continuous and 2 of 12 one-hot inputs")
    verdicts = {row[0]: row[2] for row in _claims.claim_table(scores, {"insurance": drawn, "yacht": drawn}).rows}
    assert set(verdicts.values()) <= {"yes", "no", "multiply", "select", "–"}
    assert verdicts["insurance: the model drawn uses 2 of 2 continuous and 2 of 12 one-hot inputs"] == "yes"
    assert verdicts["yacht: the model drawn uses 3 of 6 continuous inputs"] == "no"
    assert verdicts["estate: the model drawn uses 6 of 6 continuous inputs"] == "–"
    assert verdicts["DLN is second in mean R² and in average rank"] == "yes"
    assert verdicts["86 times cheaper than an MLP"] == "select"
    none = _claims.claim_table(Scores([one for one in results if one.model == "linear"]), {})
    assert {row[2] for row in none.rows} == {"–"}


def test_expectations_are_checked(results):
    """What was expected of our models holds or not, and is open where datasets are missing."""
    rows = {row[0].partition(":")[0]: row for row in _claims.expectation_table(Scores(results)).rows}
    assert rows["DLN, 128 trials"][2] == "no"
    assert rows["3 DLN, refit, 128 trials"][1:] == ("no results yet", "–")
    some = [one for one in results if one.dataset != "mpg"]
    assert _claims.expectation_table(Scores(some)).rows[0][1].endswith("(14 of 15 datasets)")


def test_figures_are_the_same_every_time(scores):
    """The same results give the same bytes."""
    figure = _figures.pareto(scores)
    assert figure.svg.startswith("<?xml")
    assert figure == _figures.pareto(scores)


def test_few_results_make_a_page(results, tmp_path):
    """A page is made of any results; a figure that would compare nothing is left out."""
    page = write_report([one for one in results if one.model == "linear" and one.dataset == "mpg"], tmp_path / "few")
    assert "0.803 ± 0.022" in page.read_text()
    assert "pareto" not in page.read_text()
    with pytest.raises(NoResultsError, match="no results under the protocol 'paper'"):
        write_report([replace(results[0], protocol="plain")], tmp_path / "none")


def test_the_command_writes_the_page_from_a_packed_file(results, tmp_path):
    """`pack` merges files into one, from which `report` writes the page, the figures and the numbers."""
    append_results(tmp_path / "some.jsonl", results)
    packed = str(tmp_path / "paper.jsonl.gz")
    assert run("pack", str(tmp_path / "some.jsonl"), "--out", packed).exit_code == 0
    done = run("report", packed, "--no-pictures")
    assert done.stdout == f"{tmp_path / 'report' / 'report.md'}\n"
    page = (tmp_path / "report" / "report.md").read_text()
    for name in ("pareto", "boxes", "correlations"):
        assert page.count(f"figures/{name}.svg") == 1
        assert (tmp_path / "report" / "figures" / f"{name}.svg").exists()
    missing = run("report", str(tmp_path / "no.jsonl"))
    assert missing.exit_code == 2
    assert len(missing.stderr.splitlines()) == 1


def test_a_page_keeps_its_words_around_the_parts_that_are_written_anew(results, tmp_path):
    """Tables and figures stand between their marks, each time the same; a part without results says so."""
    page = tmp_path / "page.md"
    page.write_text(
        "Words.\n<!-- r2 -->\nold\n<!-- end -->\nMore.\n<!-- boxes --><!-- end --><!-- network --><!-- end -->"
    )
    write_report(results, tmp_path, pictures=False, page=page)
    text = page.read_text()
    assert text.startswith("Words.\n<!-- r2 -->\n\n| dataset | Linear |")
    assert "![boxes](pictures/page-boxes.svg)" in text
    assert text.endswith("<!-- network -->\n\n*No results yet.*\n\n<!-- end -->")
    write_report(results, tmp_path, pictures=False, page=page)
    assert page.read_text() == text
    assert (tmp_path / "pictures" / "page-boxes.svg").exists()
    assert run("report", str(tmp_path / "no.jsonl"), "--page", str(tmp_path / "no.md")).exit_code == 2


@pytest.mark.usefixtures("made")
def test_decision_pictures_say_what_they_show(monkeypatch):
    """The picture is of the fewest conditions that reach the paper's R², with inputs used of inputs there are."""
    monkeypatch.setattr(_paper, "DRAWN", {"yacht": 0.5})
    fields = {"rmse": 1.0, "mae": 1.0, "params": {"max_epochs": 2, "hidden_layer_sizes": (8, 4), "max_conditions": 9}}
    drawn = decision_pictures(Scores([Result("yacht", "dln-100", seed, 0.6, **fields) for seed in (0, 1)]))
    caption = drawn["yacht"].figure.caption
    assert "pruned to" in caption
    assert f"uses {drawn['yacht'].inputs}" in caption
    assert "of 2 continuous and" in caption
    assert "<svg" in drawn["yacht"].figure.svg


@pytest.mark.skipif(
    not (SHARED / "insurance.csv").exists(), reason="the fifteen tables are not here: set DLN_DATA_HOME"
)
def test_diagrams_are_of_a_real_fit(monkeypatch):
    """The network's inputs, the workflow's counts and the epochs are in the pictures; without data there are none."""
    assert _diagrams.diagrams() == []
    monkeypatch.setenv("DLN_DATA_HOME", str(SHARED))
    monkeypatch.setattr(_diagrams, "EPOCHS", (1, 2, 3, 4))
    network, workflow, training = _diagrams.diagrams()
    assert "smoker = yes" in network.svg
    assert "1,002 rows" in workflow.svg
    assert "epoch 4" in training.svg
