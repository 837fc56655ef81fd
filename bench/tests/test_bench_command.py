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
from dln_bench._names import GROUPS, TITLES
from dln_bench._protocol import Report
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


def test_a_run_tells_its_units_and_what_is_next(tmp_path):
    """Where nobody looks, a line is printed per unit, on standard error; the next step is on standard output."""
    out = tmp_path / "out"
    result = run(*QUICK, "--models", "linear,tree", "--out", str(out))
    assert result.exit_code == 0
    assert "6 units of work: 3 datasets, 2 models" in result.stderr
    line = r"6/6  mpg         tree    seed 0    2 trials  R²  0\.\d+ +[\d.]+K? OPs +\d+ conditions +[\d.]+ s"
    assert re.search(line, result.stderr)
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


def test_what_a_quick_run_does_badly_is_told(tmp_path):
    """Settings that are for speed alone are named, and so is a limit of time."""
    arguments = ("--models", "dln-paper", "--datasets", "yacht", "--minutes", "1", "--out", str(tmp_path / "o"))
    result = run(*QUICK, *arguments)
    assert "dln-paper  max_epochs=20" in result.stderr
    assert "A search begins no trial after 1 minutes" in result.stderr


def test_seeds_trials_and_groups_can_be_chosen(tmp_path):
    """Single seeds, several budgets, and names that stand for several datasets or models."""
    arguments = ("--models", "ridge,defaults", "--datasets", "small", "--seeds", "3,4", "--trials", "1,2")
    works = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dln_bench._protocol.run", lambda *_, **settings: works.append(settings) or Report((), ()))
        assert run(*QUICK, *arguments, "--out", str(tmp_path / "o")).exit_code == 0
    (asked,) = works
    assert (asked["seeds"], asked["trials"]) == ([3, 4], [1, 2])
    assert asked["datasets"] == ["yacht", "estate", "mpg"]
    assert asked["models"] == ["ridge", *GROUPS["defaults"]]


def test_ablations_are_named_together(tmp_path):
    """The name 'ablations' stands for all of them."""
    result = run(*QUICK, "--models", "linear,ablations", "--datasets", "yacht", "--out", str(tmp_path / "o"))
    assert result.exit_code == 0
    assert {line["model"] for line in lines(tmp_path / "o")} >= {"linear", "no-schedule", "no-refit"}


def test_a_failed_unit_is_told_at_the_end(tmp_path, monkeypatch):
    """Other units go on; the exit code is 1; dataset, model, seed and reason are told."""
    real = _unit.run_work

    def failing(work, *arguments):
        if work.dataset == "mpg":
            message = "the disk is on fire"
            raise RuntimeError(message)
        return real(work, *arguments)

    monkeypatch.setattr(_unit, "run_work", failing)
    out = tmp_path / "out"
    result = run(*QUICK, "--models", "linear", "--out", str(out))
    assert result.exit_code == 1
    assert result.stderr.endswith("failed: mpg, linear, seed 0: RuntimeError: the disk is on fire\n")
    assert len(lines(out)) == 2
    result = run(*QUICK, "--models", "linear", "--out", str(out), "--json")
    (failure,) = json.loads(result.stdout)["failures"]
    assert failure == {"dataset": "mpg", "model": "linear", "seed": 0, "error": "RuntimeError: the disk is on fire"}


def test_ctrl_c_says_that_nothing_is_lost(tmp_path, monkeypatch):
    """An interrupted run ends with 130 and says how to go on."""

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_unit, "run_work", interrupted)
    result = run(*QUICK, "--models", "linear", "--out", str(tmp_path / "out"))
    assert result.exit_code == 130
    assert result.stderr.endswith(
        "dln-bench: interrupted; what is finished is kept, and the same command goes on from there\n"
    )


def test_list_shows_datasets_and_models():
    """Names, rows, licences and groups are listed, for people and for machines."""
    result = run("list")
    assert result.exit_code == 0
    assert re.search(r"^mpg +62 +2 +1 +price +none +made$", result.stdout, re.MULTILINE)
    assert re.search(r"^linear +Linear +no$", result.stdout, re.MULTILINE)
    assert "Two phases" in result.stdout
    listed = json.loads(run("list", "--json").stdout)
    assert [dataset["name"] for dataset in listed["datasets"]] == ["yacht", "estate", "mpg"]
    assert len(listed["models"]) == len(TITLES)
    assert len(listed["groups"]["ablations"]) == 7


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--trials", "few"), "--trials must be whole numbers like 32,64,128, got 'few'"),
        (("--seeds", "a-b"), "--seeds must be a number like 3, or seeds like 3,4 or 10-12, got 'a-b'"),
        (("--datasets", "yatch"), "there is no dataset 'yatch'; did you mean 'yacht'?"),
        (("--models", "forrest"), "there is no model 'forrest'; did you mean 'forest'?"),
        (("--quick", "--out", "a file"), "--out must be a folder, but 'a file' is a file: give another name"),
        (("--quick", "--out", "a file/out"), "--out must be a folder, got 'a file/out': Not a directory"),
        (
            ("--quick", "--out", "full"),
            "'full' holds the results of a real run, and this is a …",
        ),
        (("--quick", "--out", "damaged"), "damaged/results.jsonl, line 1: …"),
        (("--seeds", "0"), "seeds must be at least 0, got none"),
        (("--quick", "--ray", "127.0.0.1:9"), "there is no Ray cluster at '127.0.0.1:9': start one with …"),
    ],
)
def test_mistakes_get_one_sentence(arguments, sentence, tmp_path, monkeypatch):
    """What is asked for and cannot be is told in one sentence, with exit code 2."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a file").write_text("")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "run.json").write_text('{"quick": false}')
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
    monkeypatch.setattr("dln_bench._download.RETRIES", 0)
    result = run(*QUICK, "--out", str(tmp_path / "out"), "--quiet")
    assert result.exit_code == 2
    assert re.fullmatch(
        r"dln-bench: yacht could not be downloaded from .*set DLN_DATA_HOME to a folder.*\n", result.stderr
    )
