"""Types for users: py.typed and what it promises."""

import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src"

USER_CODE = """
from pathlib import Path

import numpy as np
import numpy.typing as npt

import dln
from dln import Circuit, RuleRegressor, DLNRegressor


def fit(X: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> RuleRegressor:
    model = RuleRegressor(max_rules=20, loss="huber", random_state=0)
    model.fit(X, y)
    return model


def use(model: RuleRegressor, X: npt.NDArray[np.float64], path: Path) -> float:
    model.save(path)
    try:
        again: RuleRegressor | DLNRegressor = dln.load(path)
    except dln.ModelFileError:
        return 0.0
    circuit: Circuit = again.circuit_
    predictions: npt.NDArray[np.float64] = again.predict(X)
    network = DLNRegressor(max_conditions=100, random_state=0)
    return float(predictions.sum()) + circuit.intercept + len(circuit.rules) + network.min_temperature
"""

WRONG_CODE = """
from dln import RuleRegressor

RuleRegressor(loss="cubed")
RuleRegressor(max_rules="many")
"""


SETTINGS = """
[mypy]
strict = true
follow_imports = silent
[mypy-joblib.*,numba.*,scipy.*,sklearn.*]
ignore_missing_imports = true
"""


@pytest.fixture(scope="module")
def errors(tmp_path_factory):
    """Return what mypy --strict says of both programs, outside the project, in one run: it is slow to start."""
    pytest.importorskip("mypy")
    folder = tmp_path_factory.mktemp("user")
    (folder / "right.py").write_text(USER_CODE)
    (folder / "wrong.py").write_text(WRONG_CODE)
    (folder / "mypy.ini").write_text(SETTINGS)
    result = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "right.py", "wrong.py"],
        cwd=folder,
        env={"MYPYPATH": str(SOURCE), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "checked 2 source files" in result.stdout, result.stdout + result.stderr
    return [line for line in result.stdout.splitlines() if "error:" in line]


def test_user_code_passes_strict_mypy(errors):
    """Code that uses the public names in the usual ways passes mypy --strict."""
    assert [error for error in errors if error.startswith("right.py")] == []


def test_wrong_arguments_are_found_before_running(errors):
    """A loss that does not exist and a number that is text are type errors."""
    lines = {int(error.split(":")[1]) for error in errors if error.startswith("wrong.py")}
    assert lines == {4, 5}


def test_the_package_says_that_it_is_typed():
    """py.typed is part of the package."""
    assert (files("dln") / "py.typed").is_file()
