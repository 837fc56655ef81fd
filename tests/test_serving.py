"""`dln.load` in a process that only predicts: light, and still the model that it is anywhere else."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dln
from circuits import columns
from dln._serving import LoadedModel, plain_values
from dln.data.table import read_table
from dln.readers.model_file import read_model

CHARGES = Path(__file__).parent.parent / "examples" / "charges.dln"
ROWS = [[52, 33.1, 2, "no", "northeast"], [60.5, None, 1, "yes", None], [19, float("nan"), 0, "maybe", "southwest"]]


def run(code):
    """Run code in a process of its own and return what it prints."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_few_rows_are_predicted_without_slow_imports():
    """Loading a model and predicting lists or arrays imports neither Numba, polars, pandas, scipy nor scikit-learn."""
    code = (
        "import sys, dln, numpy as np\n"
        f"nan, model = float('nan'), dln.load({str(CHARGES)!r})\nrows = {ROWS!r}\n"
        "array = np.array(rows, dtype=object)\n"
        "print(model.predict(rows).tolist(), model.predict(array).tolist(), len(model.circuit_.rules))\n"
        "print([name for name in ('numba', 'polars', 'pandas', 'scipy', 'sklearn') if name in sys.modules])"
    )
    predicted, imported = run(code).splitlines()
    expected = dln.load(CHARGES).circuit_.evaluate(read_table(np.array(ROWS, dtype=object), _columns()).values).tolist()
    assert predicted == f"{expected} {expected} 5"
    assert imported == "[]"


def test_it_becomes_the_estimator_when_more_is_asked():
    """Attributes, parameters, many rows, `isinstance`, pickling and printing find the `RuleRegressor` behind it."""
    for question in (
        "repr(model).startswith('RuleRegressor')",
        "pickle.loads(pickle.dumps(model)).predict(rows).tolist() == model.predict(rows).tolist()",
        "isinstance(model, dln.RuleRegressor) and model.circuit_.rules and model.feature_names_in_[0] == 'age'",
        "setattr(model, 'n_jobs', 1) is None and model.n_jobs == 1 and len(model.predict(rows * 1001)) == 1001",
    ):
        code = f"import dln, pickle\nmodel = dln.load({str(CHARGES)!r})\nrows = {ROWS[:1]!r}\n"
        assert run(f"{code}answer = {question}\nprint(answer, type(model).__name__)") == "True RuleRegressor", question


def test_unnamed_rows_get_scikit_learns_warning():
    """A model with names warns of rows without, in the words of scikit-learn."""
    model = LoadedModel(read_model(CHARGES, 10**6), CHARGES)
    with pytest.warns(UserWarning, match="X does not have valid feature names, but RuleRegressor was fitted with"):
        assert model.predict(ROWS).tolist() == dln.load(CHARGES).predict(ROWS).tolist()


def _columns():
    return read_model(CHARGES, 10**6).circuit.columns


CELLS = st.sampled_from(
    [
        None,
        float("nan"),
        0,
        1,
        2,
        3,
        -1,
        0.5,
        1.0,
        2.5,
        2**60,
        True,
        False,
        "no",
        "yes",
        "",
        "3",
        "1",
        float("inf"),
        10**400,
    ]
)


@given(columns(), st.data())
def test_plain_rows_are_read_as_any_table_is(table_columns, data):
    """Whatever a row holds, it is read to the same numbers and codes as by the full reader, or left to that."""
    width = len(table_columns)
    rows = data.draw(st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1, max_size=4))
    for X in (rows, np.array(rows, dtype=object)):
        found = plain_values(X, table_columns)
        if found is not None:
            expected = read_table(X, table_columns).values
            for mine, other in zip(found, expected, strict=True):
                assert np.array_equal(mine, other.astype(mine.dtype), equal_nan=mine.dtype.kind == "f")


def test_what_is_not_plain_is_left_to_the_full_reader():
    """Frames, wrong widths, text in number columns, infinities and many rows are not taken by the short way."""
    numbers = (dln.circuit._circuit.Column("x"), dln.circuit._circuit.Column("y"))
    for X in (
        [[1.0]],
        [["a", 1.0]],
        [[float("inf"), 1.0]],
        [],
        [[1.0, 2.0]] * 1001,
        np.zeros((0, 2)),
        np.zeros(2),
        "text",
    ):
        assert plain_values(X, numbers) is None
    assert plain_values(np.zeros((2, 2), dtype=np.float32), numbers) is not None
