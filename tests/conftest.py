"""Settings for all tests, and the data that several of them learn from."""

import os
import signal

# scikit-learn's array-API checks are skipped without it, and scipy reads it once, on import.
os.environ["SCIPY_ARRAY_API"] = "1"

import numpy as np
import pytest
from hypothesis import settings
from sklearn.datasets import make_friedman1

# No deadline: the first call of a compiled kernel takes seconds, and machines are shared.
settings.register_profile("dev", max_examples=50, deadline=None)
settings.register_profile("ci", max_examples=300, deadline=None, derandomize=True, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

# A job in the background of a shell starts with Ctrl-C ignored, and tests of Ctrl-C would wait for it in vain.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def friedman():
    """A task: binned inputs and a standardised target."""
    from dln.circuit._circuit import Column  # only where they are used: they load Numba
    from dln.rules._bins import bin_table
    from dln.rules._task import Task

    X, y = make_friedman1(500, noise=1.0, random_state=0)
    inputs = bin_table([Column(f"x{k}") for k in range(X.shape[1])], list(X.T), np.ones(500), None, 1)
    return Task(inputs, (y - y.mean()) / y.std(), np.ones(500), 5.0)


@pytest.fixture(scope="session")
def houses():
    """A table with all kinds of columns, and a price made by a rule."""
    import pandas as pd

    rng = np.random.default_rng(0)
    n = 300
    frame = pd.DataFrame(
        {
            "rooms": rng.integers(1, 9, n),
            "area": rng.uniform(20, 200, n).round(1),
            "district": rng.choice(["north", "south", "east"], n),
            "garden": rng.integers(0, 2, n).astype(bool),
            "kind": pd.Categorical(rng.choice(["flat", "house"], n)),
        }
    )
    price = 100 + 50 * (frame["area"] > 90) * (frame["district"] == "north") + 20 * frame["garden"] + frame["rooms"]
    frame.loc[rng.uniform(size=n) < 0.1, "area"] = np.nan
    return frame, price
