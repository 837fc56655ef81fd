import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from bench_command import run
from bench_tables import write_tables
from dln_bench import _unit
from dln_bench._results import read_results

QUICK = ("run", "--quick")


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    """Set the folder of datasets to one of made tables."""
    monkeypatch.setenv("DLN_DATA_HOME", str(write_tables(tmp_path / "data")))


def lines(out):
    """Return the result lines of a folder, but for the time it took, in the order of units."""
    found = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    for line in found:
        del line["search_seconds"], line["fit_seconds"]
    return sorted(found, key=lambda line: (line["dataset"], line["model"]))


def test_a_quick_run_that_is_killed_goes_on_and_ends_the_same(tmp_path):
    """SIGKILL half-way loses nothing that was finished; every unit ends with one line, as in a run without it."""
    command = [sys.executable, "-m", "dln_bench.cli", *QUICK, "--out"]
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    process = subprocess.Popen([*command, str(killed)], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    file = killed / "results.jsonl"
    while process.poll() is None and not (file.exists() and len(file.read_bytes().splitlines()) >= 3):
        time.sleep(0.01)
    assert process.poll() is None, "it ended before it could be killed"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert 3 <= len(read_results([killed])) < 6
    again = subprocess.run([*command, str(killed)], capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert re.search(r"\d of 6 units are there already", again.stderr)
    assert run(*QUICK, "--out", str(whole)).exit_code == 0
    assert len(lines(killed)) == 6
    assert lines(killed) == lines(whole)


def test_a_run_tells_its_cuts_its_units_and_what_is_next(tmp_path):
    """Where nobody looks, a line is printed per unit, on standard error; the next step is on standard output."""
    out = tmp_path / "out"
    result = run(*QUICK, "--models", "linear,tree", "--out", str(out))
    assert result.exit_code == 0
    assert "6 units of work: 3 datasets, 2 models" in result.stderr
    assert "tree    search on at most 200 rows" in result.stderr
    assert re.search(r"6/6  mpg         tree    seed 0  R²  0\.\d+ +[\d.]+K? OPs +[\d.]+ s", result.stderr)
    assert re.search(r"about \d+ s left", result.stderr)
    assert result.stdout == f"6 results in {out}. What to do next:\n  dln-bench report {out}\n"


def test_quiet_and_json(tmp_path):
    """--quiet prints nothing; --json prints one document."""
    arguments = (*QUICK, "--models", "linear", "--datasets", "yacht", "--datasets", "mpg", "--out", str(tmp_path / "o"))
    result = run(*arguments, "--quiet")
    assert (result.stdout, result.stderr) == ("", "")
    result = run(*arguments, "--json")
    assert json.loads(result.stdout) == {"out": str(tmp_path / "o"), "results": 2, "failures": []}
    assert result.stderr == ""


def test_ablations_are_named_together(tmp_path):
    """The name 'ablations' stands for all of them."""
    result = run(*QUICK, "--models", "linear,ablations", "--datasets", "yacht", "--out", str(tmp_path / "o"))
    assert result.exit_code == 0
    assert {line["model"] for line in lines(tmp_path / "o")} >= {"linear", "no-schedule", "with-refit"}


def test_a_failed_unit_is_told_at_the_end(tmp_path, monkeypatch):
    """Other units go on; the exit code is 1; dataset, model, seed and reason are told."""
    real = _unit.run_unit

    def failing(unit, *arguments):
        if unit.dataset == "mpg":
            message = "the disk is on fire"
            raise RuntimeError(message)
        return real(unit, *arguments)

    monkeypatch.setattr(_unit, "run_unit", failing)
    out = tmp_path / "out"
    result = run(*QUICK, "--models", "linear", "--out", str(out))
    assert result.exit_code == 1
    assert result.stderr.endswith("failed: mpg, linear, seed 0, 2 trials: RuntimeError: the disk is on fire\n")
    assert len(lines(out)) == 2
    result = run(*QUICK, "--models", "linear", "--out", str(out), "--json")
    (failure,) = json.loads(result.stdout)["failures"]
    assert failure == {"dataset": "mpg", "model": "linear", "seed": 0, "error": "RuntimeError: the disk is on fire"}


def test_ctrl_c_says_that_nothing_is_lost(tmp_path, monkeypatch):
    """An interrupted run ends with 130 and says how to go on."""

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_unit, "run_unit", interrupted)
    result = run(*QUICK, "--models", "linear", "--out", str(tmp_path / "out"))
    assert result.exit_code == 130
    assert result.stderr.endswith(
        "dln-bench: interrupted; what is finished is kept, and the same command goes on from there\n"
    )


def test_list_shows_datasets_and_models():
    """Names, rows, licences and cuts are listed, for people and for machines."""
    result = run("list")
    assert result.exit_code == 0
    assert re.search(r"^mpg +62 +2 +1 +price +none +made$", result.stdout, re.MULTILINE)
    assert re.search(r"^linear +Linear +nothing$", result.stdout, re.MULTILINE)
    assert "Two phases" in result.stdout
    listed = json.loads(run("list", "--json").stdout)
    assert [dataset["name"] for dataset in listed["datasets"]] == ["yacht", "estate", "mpg"]
    assert len(listed["models"]) == 13
    assert len(listed["ablations"]) == 7


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--quick", "--full"), "--quick and --full exclude each other: give one of them"),
        (("--datasets", "yatch"), "there is no dataset 'yatch'; did you mean 'yacht'?"),
        (("--models", "forrest"), "there is no model 'forrest'; did you mean 'forest'?"),
        (("--quick", "--out", "a file"), "--out must be a folder, but 'a file' is a file: give another name"),
        (("--quick", "--out", "a file/out"), "--out must be a folder, got 'a file/out': Not a directory"),
        (("--quick", "--out", "full"), "'full' holds the results of a run with the budget 'full', and this one has …"),
        (("--quick", "--out", "damaged"), "damaged/results.jsonl, line 1: …"),
        (("--seeds", "0"), "invalid value for '--seeds': …"),
        (("--quick", "--ray", "127.0.0.1:9"), "there is no Ray cluster at '127.0.0.1:9': start one with …"),
    ],
)
def test_mistakes_get_one_sentence(arguments, sentence, tmp_path, monkeypatch):
    """What is asked for and cannot be is told in one sentence, with exit code 2."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a file").write_text("")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "run.json").write_text('{"budget": "full"}')
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "results.jsonl").write_text("?\n")
    result = run("run", "--models", "linear", *arguments, "--quiet")
    assert result.exit_code == 2, result.output
    expected = f"dln-bench: {sentence}\n"
    if sentence.endswith("…"):
        assert result.stderr.startswith(expected.removesuffix("…\n"))
        assert len(result.stderr.splitlines()) == 1
    else:
        assert result.stderr == expected


def test_being_offline_is_one_sentence(tmp_path, monkeypatch):
    """Without data and without a network, the sentence says what to set."""
    monkeypatch.delenv("DLN_DATA_HOME")
    monkeypatch.setenv("DLN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DLN_DATA_URL", "http://127.0.0.1:9/nothing")
    monkeypatch.setattr("dln_bench._download.TRIES", 1)
    result = run(*QUICK, "--out", str(tmp_path / "out"))
    assert result.exit_code == 2
    assert re.fullmatch(
        r"dln-bench: yacht could not be downloaded from .*set DLN_DATA_HOME to a folder.*\n", result.stderr
    )


@pytest.mark.parametrize(
    ("package", "models", "feature"),
    [("torch", "mlp", "the model 'mlp'"), ("optuna", "linear", "dln bench")],
)
def test_what_is_not_installed_is_told_first(package, models, feature, tmp_path, monkeypatch):
    """A model whose library is missing is told before any unit runs."""
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == package else real(name, *more))
    result = run(*QUICK, "--models", models, "--out", str(tmp_path / "out"))
    assert result.exit_code == 2
    assert result.stderr == (
        f"dln-bench: {feature} needs the package {package!r}, which is not installed: pip install 'dln[bench]'\n"
    )
    assert not (tmp_path / "out").exists()
