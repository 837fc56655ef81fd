"""The commands that report: where they write, what they print, and one sentence for each mistake."""

import pytest

from bench_command import run
from bench_results import as_in_the_paper, unit, write


def test_the_plain_table_is_over_common_splits(tmp_path):
    """The command prints R² by dataset over the splits that all models have, and what each takes."""
    results = [
        unit("yacht", "dln", 0, 0, 0.9, conditions=80, fit_seconds=2.0),
        unit("yacht", "dln", 1, 0, 0.7, conditions=60, fit_seconds=4.0),
        unit("yacht", "svr", 0, 8, 0.5),
        unit("yacht", "svr", 0, 16, 0.6),
    ]
    folder = write(tmp_path, results)
    said = run("table", str(folder)).stdout
    assert "| yacht (1) | 0.600 | 0.900 |" in said
    assert "dln: conditions mean 80; " in said
    assert "| yacht (1) | 0.500 | 0.900 |" in run("table", str(folder), "--trials", "8").stdout
    assert "| yacht (2) | 0.800 |" in run("table", str(folder), "--models", "dln").stdout
    failed = run("table", str(folder), "--models", "ebm")
    assert failed.exit_code == 2
    assert failed.stderr == "dln-bench: there are no results of these models: dln-bench list names them\n"


def test_command_writes_beside_the_results(tmp_path):
    """The command reports a folder into its folder report/, and tells where."""
    folder = write(tmp_path / "results", as_in_the_paper(("linear", "dln"), seeds=1))
    result = run("report", str(folder), "--no-pictures")
    assert result.exit_code == 0, result.stderr
    assert "30 units reported in" in result.stderr
    assert "Highest mean R² over all 15 datasets in common" in result.stderr
    assert (folder / "report" / "report.html").is_file()
    assert run("report", str(folder), "--no-pictures", "-q", "-o", str(tmp_path / "x")).stderr == ""


@pytest.mark.parametrize(
    ("arguments", "content", "sentence"),
    [
        (("results",), b"", "there are no results in 'results': dln-bench run --out FOLDER makes some"),
        (("resuls",), b"", "there is no file or folder 'resuls'; did you mean 'results'?"),
        (("results",), b'{"dataset": "yacht"}\n', "results/results.jsonl, line 1: "),
        (("results",), b"\xff\xfe\x00\n", "results/results.jsonl, line 1: "),
        (("results", "--out", "results/results.jsonl"), b"", "--out must be a folder, but 'results/results.jsonl'"),
        (("results", "--trials", "5"), b"line", "there are no results with 5 trials: there are 16"),
    ],
)
def test_mistakes_get_one_sentence(arguments, content, sentence, tmp_path, monkeypatch):
    """A wrong name, an empty or damaged file, or a budget that is not there: one sentence and exit code 2."""
    monkeypatch.chdir(tmp_path)
    folder = write(tmp_path / "results", [unit()])
    if content != b"line":
        (folder / "results.jsonl").write_bytes(content)
    result = run("report", *arguments, "--no-pictures")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"dln-bench: {sentence}")
    assert result.stderr.count("\n") == 1
