"""Any results give a report, also odd, torn or scattered ones."""

import csv

import pytest

from bench_results import text, unit, write
from dln_bench._names import DATASETS
from dln_bench.report import _report as reports

ODD = {
    "one unit": [unit()],
    "one unit of an ablation": [unit(model="no-schedule")],
    "only ablations and the original": [unit(model="two-phases", trials=8), unit(trials=8)],
    "unknown names": [unit("elsewhere", "mine"), unit("elsewhere", "dln")],
    "nothing in common": [unit("yacht", "linear"), unit("wine", "dln")],
    "seeds that differ": [unit("yacht", "linear", 0), unit("yacht", "dln", 1)],
    "a very bad model": [unit("yacht", "linear", r2=-1e9), unit("yacht", "dln"), unit("wine", "dln")],
    "no operations and no time": [unit(model="lasso", ops=0, search_seconds=0.0, fit_seconds=0.0)],
    "no error": [unit(model="tree", rmse=0.0, mae=0.0), unit(model="dln", rmse=0.0, mae=0.0)],
    "constant": [unit(name, model, r2=0.5) for name in DATASETS[:6] for model in ("linear", "dln", "ebm")],
    "no search": [unit(model="dln", trials=0, cv_mse=None, cut="no search, the defaults")],
}


@pytest.mark.parametrize("results", ODD.values(), ids=ODD)
def test_odd_results_give_a_sensible_page(results, tmp_path):
    """Whatever is in a result file, a page comes out that says how much there is."""
    written = reports.report([write(tmp_path, results)], tmp_path / "out", pictures=False)
    page = written.markdown.read_text(encoding="utf-8")
    assert f"{len(results)} unit" in page
    assert "nan" not in page.replace("dominant", "")
    assert written.html.is_file()


def test_several_places_are_merged(tmp_path):
    """Folders and files are read together, and of equal units the last one counts."""
    first = write(tmp_path / "a", [unit("yacht", "linear", r2=0.1), unit("wine", "linear", r2=0.2)])
    second = write(tmp_path / "b", [unit("yacht", "linear", r2=0.7)]) / "results.jsonl"
    written = reports.report([first, second], tmp_path / "out", pictures=False)
    assert written.units == 2
    with (tmp_path / "out" / "tables" / "r2.csv").open(encoding="utf-8", newline="") as file:
        assert {row["dataset"]: float(row["mean_r2"]) for row in csv.DictReader(file)} == {"yacht": 0.7, "wine": 0.2}


def test_pictures_say_why_they_are_not_there(tmp_path, monkeypatch):
    """Without tables on the machine, without results of a DLN, and with foreign parameters, a sentence says so."""
    monkeypatch.setenv("DLN_DATA_HOME", str(tmp_path))
    results = [unit("yacht", "dln-paper"), unit("estate", "linear")]
    page = text(reports.build(results)[0])
    assert "yacht: no picture: there is no file" in page
    assert "estate: there is no result of a DLN to take parameters from" in page


def test_torn_last_line_is_left_out(tmp_path):
    """A line that a killed process did not finish is not in the report, and nothing else is lost."""
    folder = write(tmp_path, [unit()])
    with (folder / "results.jsonl").open("ab") as file:
        file.write(b'{"dataset": "wi')
    assert reports.report([folder], tmp_path / "out", pictures=False).units == 1
