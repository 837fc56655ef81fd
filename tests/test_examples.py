"""The scripts in examples/."""

import runpy
from pathlib import Path

import pytest

from dln import DLNRegressor, RuleRegressor

#: Defaults for here: examples are run to see that they run.
SMALL = {
    RuleRegressor: {"n_grown_rules": 20, "n_teachers": 1, "n_generations": 0},
    DLNRegressor: {"max_epochs": 8},
}
#: All but the model code that MLflow runs, which `test_integration_pages.py` tests.
EXAMPLES = sorted(p for p in (Path(__file__).parent.parent / "examples").glob("*.py") if p.stem != "mlflow_model")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path, monkeypatch, capsys):
    """Each example runs from top to bottom and prints something; here with short fits."""
    for learner, small in SMALL.items():
        for name, value in small.items():
            monkeypatch.setitem(learner.__init__.__kwdefaults__, name, value)
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short(path):
    """An example has at most 60 lines, and states how to run it."""
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 60
    assert f"Run it: python examples/{path.name}" in "\n".join(lines[:5])
