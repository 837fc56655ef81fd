"""The pages on other tools run, each in a process of its own: those tools warn, patch and keep global state."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs" / "integration").glob("*.md"))
PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELL_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Smaller defaults: the pages are run to see that they run.
QUICK = """
from dln import RuleRegressor
RuleRegressor.__init__.__kwdefaults__.update(n_grown_rules=40, n_teachers=1, n_generations=0)
"""


def run_to_its_end(call: list[str], folder: Path) -> str:
    """Run a program in a folder with the examples, and return what it printed."""
    (folder / "examples").symlink_to(ROOT / "examples")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run(call, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_on_a_page_runs(page: Path, tmp_path: Path):
    """Every Python block of a page runs, in order, with the real packages."""
    code = "\n".join([QUICK, *PYTHON_BLOCK.findall(page.read_text(encoding="utf-8"))])
    run_to_its_end([sys.executable, "-c", code], tmp_path)


def test_retraining_in_a_terminal(tmp_path: Path):
    """The commands on the page about retraining run, find a drift, fit a candidate and compare it."""
    (commands,) = SHELL_BLOCK.findall((ROOT / "docs/integration/retraining.md").read_text(encoding="utf-8"))
    dln = f'dln() {{ "{sys.executable}" -m dln.cli "$@"; }}\n'
    shown = run_to_its_end(["bash", "-ec", dln + commands], tmp_path)
    assert "price: rules" in shown
    assert {path.name for path in tmp_path.iterdir()} >= {"candidate.dln", "diff.html", "drift.txt", "fit.txt"}


def test_the_flavour_on_the_page_is_the_example():
    """The class shown on the page about MLflow is that of the example."""
    (shown,) = re.findall(
        r"^```py\n(.*?)^```$", (ROOT / "docs/integration/mlflow.md").read_text(), re.MULTILINE | re.DOTALL
    )
    assert (ROOT / "examples" / "mlflow_model.py").read_text(encoding="utf-8").endswith(shown)


def test_the_service_on_the_page_is_small():
    """The service on the page about Docker is as small as the page states; a block of the page checks the model."""
    page = (ROOT / "docs/integration/docker.md").read_text(encoding="utf-8")
    (service,) = re.findall(r"^```py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(service.encode()) < 1000
    assert "less than one for the\nservice" in page
