"""The program: runs that are killed go on, requests that cannot be get one sentence."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from bench_command import run
from bench_runs import timeless
from dln_bench import _unit
from dln_bench._results import read_results
from dln_bench.models._models import ABLATIONS, MODELS

pytestmark = pytest.mark.usefixtures("made")

QUICK = ("run", "--quick", "--models", "linear,tree")


def test_a_run_that_is_killed_goes_on_and_ends_the_same(tmp_path):
    """SIGKILL loses no finished unit; every unit ends with one line, as in a run without it."""
    command = [sys.executable, "-m", "dln_bench.cli", *QUICK, "--trials", "0,20", "--out"]
    killed, whole = tmp_path / "killed.jsonl", tmp_path / "whole.jsonl"
    process = subprocess.Popen([*command, str(killed)], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while process.poll() is None and not (killed.exists() and len(killed.read_bytes().splitlines()) >= 3):
        time.sleep(0.01)
    assert process.poll() is None, "it ended before it could be killed"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert 3 <= len(read_results([killed])) < 9
    again = run(*QUICK, "--trials", "0,20", "--out", str(killed))
    assert again.exit_code == 0, again.stderr
    assert re.search(r"9 units, [3-8] of them are there", again.stderr)
    assert run(*QUICK, "--trials", "0,20", "--out", str(whole)).exit_code == 0
    assert timeless(killed) == timeless(whole)


def test_a_run_prints_its_units_and_the_next_step(tmp_path):
    """A line per unit with its trials and the time left, and the command that reports the file."""
    file = tmp_path / "out.jsonl"
    result = run(*QUICK, "--minutes", "1", "--out", str(file))
    assert result.exit_code == 0
    assert result.stderr.startswith("9 units, 0 of them are there\nA search begins no trial after 1 minutes;")
    assert re.search(
        r"9/9  mpg, tree, seed 0, 2 trials  2 of 2 trials  R² 0\.\d+  \d+ conditions  [\d.]+ s  about", result.stderr
    )
    assert result.stderr.endswith(f"dln-bench report {file}\n")
    assert result.stdout == ""
    quiet = run(*QUICK, "--out", str(tmp_path / "quiet.jsonl"), "--quiet")
    assert (quiet.stdout, quiet.stderr) == ("", "")
    assert timeless(tmp_path / "quiet.jsonl") == timeless(file)


def test_seeds_trials_protocol_and_groups_can_be_chosen(tmp_path, monkeypatch):
    """Single seeds, several budgets, and names that stand for several datasets or models."""
    wanted = []
    monkeypatch.setattr("dln_bench._run.run", lambda _file, units, **_: wanted.extend(units) or [])
    arguments = ("--models", "ridge,ablations", "--datasets", "small", "--seeds", "3,4", "--trials", "1,2")
    assert run("run", *arguments, "--protocol", "plain", "--out", str(tmp_path / "o")).exit_code == 0
    assert {unit.model for unit in wanted} == {"ridge", *ABLATIONS}
    assert {unit.dataset for unit in wanted} == {"yacht", "estate", "mpg"}
    assert ({unit.seed for unit in wanted}, {unit.trials for unit in wanted}) == ({3, 4}, {1, 2})
    assert {unit.protocol for unit in wanted} == {"plain"}
    wanted.clear()
    assert run("run", "--out", str(tmp_path / "o")).exit_code == 0
    assert {(unit.protocol, unit.trials) for unit in wanted} == {("paper", 0), ("paper", 128)}
    assert len(wanted) == 3 * 10 * 10


def test_failed_units_are_named_at_the_end(tmp_path, monkeypatch):
    """Other units go on; the exit code is 1; dataset, model, seed and reason are named."""
    real = _unit.run_work

    def failing(work, *arguments):
        if work.dataset == "mpg":
            message = "the disk is on fire"
            raise RuntimeError(message)
        return real(work, *arguments)

    monkeypatch.setattr(_unit, "run_work", failing)
    result = run("run", "--quick", "--models", "linear", "--out", str(tmp_path / "out.jsonl"), "--quiet")
    assert result.exit_code == 1
    assert result.stderr == "failed: mpg, linear, seed 0: RuntimeError: the disk is on fire\n"
    assert len(read_results([tmp_path / "out.jsonl"])) == 2


def test_ctrl_c_says_that_nothing_is_lost(tmp_path, monkeypatch):
    """An interrupted run ends with 130 and says how to go on."""

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_unit, "run_work", interrupted)
    result = run(*QUICK, "--out", str(tmp_path / "out.jsonl"))
    assert result.exit_code == 130
    assert "finished units and trials are kept, the same command goes on from there" in result.stderr


def test_list_shows_datasets_models_and_groups():
    """Names, rows, licences and groups are listed, for people and for machines."""
    result = run("list")
    assert result.exit_code == 0
    assert re.search(r"^mpg +62 +2 +1 +price +none +made$", result.stdout, re.MULTILINE)
    assert re.search(r"^linear +Linear +none$", result.stdout, re.MULTILINE)
    listed = json.loads(run("list", "--json").stdout)
    assert list(listed["datasets"]) == ["yacht", "estate", "mpg"]
    assert list(listed["models"]) == list(MODELS)
    assert listed["groups"]["ablations"] == list(ABLATIONS)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--trials", "few"), "--trials must be whole numbers like 32,64,128, got 'few'"),
        (("--seeds", "a-b"), "--seeds must be a number like 3, or seeds like 3,4 or 10-12, got 'a-b'"),
        (("--datasets", "yatch"), "there is no dataset 'yatch'; did you mean 'yacht'?"),
        (("--models", "forrest"), "there is no model 'forrest'; did you mean 'forest'?"),
        (("--protocol", "own"), "--protocol must be paper or plain, got 'own'"),
        (("--out", "a file/out.jsonl"), "--out must be a file in a folder, got 'a file/out.jsonl': Not a directory"),
        (("--out", "damaged.jsonl"), "damaged.jsonl, line 1: …"),
        (("--seeds", "0"), "seeds must be at least 0, got none"),
    ],
)
def test_mistakes_get_one_sentence(arguments, sentence, tmp_path, monkeypatch):
    """A request that cannot be is answered with one sentence and exit code 2."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a file").write_text("")
    (tmp_path / "damaged.jsonl").write_text("?\n")
    result = run("run", "--models", "linear", *arguments, "--quiet")
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith(f"dln-bench: {sentence.removesuffix('…')}")
    assert len(result.stderr.splitlines()) == 1


def test_being_offline_is_one_sentence(tmp_path, monkeypatch):
    """Without data and without a network, the sentence says what to set."""
    monkeypatch.delenv("DLN_DATA_HOME")
    monkeypatch.setenv("DLN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DLN_DATA_URL", "http://127.0.0.1:9/nothing")
    monkeypatch.setattr("dln_bench._download.RETRIES", 0)
    result = run(*QUICK, "--out", str(tmp_path / "out.jsonl"), "--quiet")
    assert result.exit_code == 2
    assert re.fullmatch(
        r"dln-bench: yacht could not be downloaded from .*set DLN_DATA_HOME to a folder.*\n", result.stderr
    )
