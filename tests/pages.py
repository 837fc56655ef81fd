"""Shared by the tests of the page: a browser, models that are hard on a page, and rows for them."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from circuits import layered_circuit
from dln import RuleRegressor
from dln._saving import NOT_SAVED, from_saved
from dln.circuit._circuit import MISSING, Above, Circuit, Column, Gate, IsIn, IsMissing, Rule, Values
from dln.circuit._gates import AND, OR
from dln.data._rows import canonical_rows
from dln.readers._monitor import rule_support, training_profile
from dln.readers.model_file import SavedModel
from models import SMALL, frame, target

#: Names and categories that break pages: markup, quotes, styles, other scripts, other directions, no end.
HOSTILE = (
    "<script>alert(1)</script>",
    "</script><!--",
    "</style><img src=x onerror=alert(1)>",
    "\"quoted\" 'twice' `thrice`",
    "{{ 7 * 7 }}{% raw %}",
    "🏠 emoji 👩‍👩‍👧",
    "שם העמודה > 3",
    "اسم العمود",
    "n" * 300,
    "__proto__",
    "two\nlines & <b>",
)
#: Flags that keep Chromium from the network.
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


def chromium() -> str:
    """Return the machine's Chromium, or skip the test and say what was missed."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if (found := shutil.which(name)) is not None:
            return found
    pytest.skip("the page was not opened: that needs Chromium (apt-get install chromium)")


def firefox() -> str:
    """Return the machine's Firefox, or skip the test and say what was missed."""
    for name in ("firefox-esr", "firefox"):
        if (found := shutil.which(name)) is not None:
            return found
    pytest.skip("the page was not opened in Firefox: that needs it (apt-get install firefox-esr)")


@dataclass
class Opened:
    """A page in a browser, and all that went wrong or out since it was opened."""

    page: Any
    mistakes: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    @property
    def shown(self) -> float:
        """The prediction that "What if" shows, to the last bit."""
        return float(self.page.locator("#prediction").get_attribute("data-value"))


@contextmanager
def opened(browser: Any, path: Path, **settings: Any) -> Iterator[Opened]:
    """Open a page in a window of its own."""
    context = browser.new_context(**settings)
    result = Opened(context.new_page())
    result.page.on(
        "console", lambda message: message.type in ("error", "warning") and result.mistakes.append(message.text)
    )
    result.page.on("pageerror", lambda error: result.mistakes.append(str(error)))
    result.page.on("dialog", lambda dialog: (result.mistakes.append(dialog.message), dialog.dismiss()))
    result.page.on("request", lambda request: result.requests.append(request.url))
    result.page.goto(path.as_uri())
    try:
        yield result
    finally:
        context.close()


def model_of(circuit: Circuit, values: Sequence[Values] | None = None) -> RuleRegressor:
    """Return a fitted model that is this circuit, learned from these rows."""
    n_rows = 1000 if values is None else len(values[0])
    facts: dict[str, Any] = {"rows": n_rows, "distinct_rows": n_rows, "target_min": -5.0, "target_max": 5.0}
    if values is not None:
        facts |= training_profile(circuit, circuit.columns, values, canonical_rows(values, np.zeros(n_rows)))
    parameters = RuleRegressor(random_state=0).get_params(deep=False)
    saved = SavedModel(
        circuit,
        named=True,
        parameters={name: value for name, value in parameters.items() if name not in NOT_SAVED},
        n_iter=0,
        history={},
        training={**facts, "versions": {"dln": "0"}},
        support=None if values is None else rule_support(circuit.rule_values(values), None),
        target="</script><b>target",
    )
    return from_saved(RuleRegressor, saved)


@cache
def mixed_model() -> tuple[RuleRegressor, pd.DataFrame, np.ndarray[Any, np.dtype[np.float64]]]:
    """Return a model that was learned from numbers, text, truth values and missing ones, and rows it has not seen."""
    table = frame(400)
    model = RuleRegressor(**{**SMALL, "n_grown_rules": 60, "max_conditions": 30})
    fresh = frame(300, seed=1)
    return model.fit(table, pd.Series(target(table), name="charges")), fresh, target(fresh)


def hostile_circuit() -> Circuit:
    """Return a circuit over columns with hostile names: numbers, hostile categories, and 200 categories."""
    numbers = [Column(name) for name in HOSTILE]
    columns = (
        *numbers,
        Column("kind", HOSTILE),
        Column("<i>many</i>", tuple(f"category {k} & more" for k in range(200))),
    )
    n = len(numbers)
    literals = [Above(j, 0.25 * j) for j in range(n)] + [IsIn(n, (j,)) for j in range(n)]
    literals += [IsIn(n + 1, tuple(range(0, 200, 2))), IsMissing(n)]
    gates = [Gate((AND, OR)[j % 2], j, n + j) for j in range(n)]
    first = len(literals)
    rules = [Rule(j, 0.25 + j) for j in range(n)] + [Rule(first + j, -1.5 - j) for j in range(n)]
    rules += [Rule(2 * n, 40.25), Rule(2 * n + 1, 3.0)]
    return Circuit(columns, tuple(literals), tuple(gates), tuple(rules), -7.25, 2)


def large_circuit(n_rules: int) -> Circuit:
    """Return a circuit of short rules over twelve columns: about two conditions a rule."""
    return layered_circuit(7, n_rules=n_rules, layers=[n_rules], thresholds=40)


def draw(circuit: Circuit, n_rows: int, seed: int = 0) -> list[Values]:
    """Return rows around the cut-offs of a circuit, some values missing, some categories unknown."""
    rng = np.random.default_rng(seed)
    values: list[Values] = []
    for j, column in enumerate(circuit.columns):
        if column.categories is not None:
            values.append(rng.integers(-2, len(column.categories), n_rows).astype(np.int32))
            continue
        cutoffs = [test.cutoff for test in circuit.literals if isinstance(test, Above) and test.column == j] or [0.0]
        near = [
            near for cut in cutoffs for near in (cut, math.nextafter(cut, math.inf), math.nextafter(cut, -math.inf))
        ]
        numbers = np.where(rng.random(n_rows) < 0.5, rng.choice(near, n_rows), rng.normal(0, 20, n_rows).round(3))
        values.append(np.where(rng.random(n_rows) < 0.1, np.nan, numbers))
    return values


def page_rows(circuit: Circuit, values: Sequence[Values], used: Sequence[int]) -> list[list[Any]]:
    """Return rows as the page's own function takes them."""
    columns = []
    for j in used:
        if circuit.columns[j].categories is None:
            columns.append([None if math.isnan(value) else value for value in values[j].astype(float).tolist()])
        else:
            columns.append([None if code == MISSING else code for code in values[j].tolist()])
    return [list(row) for row in zip(*columns, strict=True)]


def named_frame(circuit: Circuit, values: Sequence[Values]) -> pd.DataFrame:
    """Return rows as a user has them; a category that the model does not know is a word of its own."""
    made = {}
    for column, own in zip(circuit.columns, values, strict=True):
        if column.categories is None:
            made[column.name] = own
        else:
            words = [*column.categories, "a word of its own", None]
            made[column.name] = pd.Series([words[code] for code in own.tolist()], dtype=object)
    return pd.DataFrame(made)
