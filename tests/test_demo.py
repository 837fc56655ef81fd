"""The demo, as a new user meets it."""

from __future__ import annotations

import subprocess
import sys

# What `pip install dln` does not bring.
EXTRAS = {"pandas", "pyarrow", "torch", "sympy", "matplotlib", "pygraphviz", "optuna", "lightgbm", "interpret"}
WITHOUT_EXTRAS = f"""
import importlib.abc, sys

class NotInstalled(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in {EXTRAS}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NotInstalled())
from dln.demo import main
main()
"""


def test_the_demo_needs_no_extras():
    """With the core dependencies alone the demo trains both learners, compares, and prints both models."""
    run = subprocess.run([sys.executable, "-c", WITHOUT_EXTRAS], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    models = ("linear regression", "decision tree", "boosted trees", "DLNRegressor, whole network", "RuleRegressor")
    for words in (*models, "open rules", "y = ", "the weights of the rules that fire", "held-out R²"):
        assert words in run.stdout
