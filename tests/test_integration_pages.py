"""The pages on other tools run, each in a process of its own: those tools warn, patch and keep global state."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs" / "integration").glob("*.md"))
PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Smaller defaults: the pages are run to see that they run.
QUICK = """
from dln import RuleRegressor
RuleRegressor.__init__.__kwdefaults__.update(n_grown_rules=40, n_teachers=1, n_generations=0)
"""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_on_a_page_runs(page: Path, tmp_path: Path):
    """Every Python block of a page runs, in order, with the real packages."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    code = "\n".join([QUICK, *PYTHON_BLOCK.findall(page.read_text(encoding="utf-8"))])
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr


def test_the_flavour_on_the_page_is_the_example():
    """The class shown on the page about MLflow is that of the example."""
    (shown,) = re.findall(
        r"^```py\n(.*?)^```$", (ROOT / "docs/integration/mlflow.md").read_text(), re.MULTILINE | re.DOTALL
    )
    assert (ROOT / "examples" / "mlflow_model.py").read_text(encoding="utf-8").endswith(shown)
