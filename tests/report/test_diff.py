"""The difference of two models: matched rules, the causes of changed predictions, and the page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from circuits import circuits_with_tables
from dln.circuit._circuit import Above, Circuit, Column, Gate, IsIn, Rule, on_grid, to_grid
from dln.circuit._gates import AND
from dln.report._diff import _changes, _data_change
from models import frame, models, network, small, target
from pages import FLAGS, HOSTILE, chromium, draw, hostile_circuit, model_of, named_frame, opened

COLUMNS = (Column("age"), Column("smoker", ("no", "yes")))
TESTS = (Above(0, 40.0), Above(0, 60.0), IsIn(1, (1,)))


def model(rules, literals=TESTS, columns=COLUMNS, intercept=100.0):
    """Return a fitted model of rules over ages and smokers; node 3 is an old smoker."""
    circuit = Circuit(columns, literals, (Gate(AND, 1, 2),), tuple(Rule(*rule) for rule in rules), intercept, 1)
    return model_of(circuit, draw(circuit, 100))


def kinds(diff):
    """Return the kind and the words of each change."""
    return [(row.change, row.before, row.after) for row in diff]


def test_rules_are_matched_by_their_conditions():
    """Equal rules match first, then those of the nearest cut-offs; the others were removed or added."""
    old = model([(0, 10.0), (1, 20.0), (2, 30.0), (3, 5.5)])
    new = model([(0, 10.0), (1, 21.0), (3, 7.5)], (Above(0, 41.0), Above(0, 60.0), IsIn(1, (1,))), intercept=90.0)
    assert kinds(old.diff(new)) == [
        ("conditions", "age > 40", "age > 41"),
        ("weight", "age > 60", "age > 60"),
        ("weight", 'age > 60 and smoker = "yes"', 'age > 60 and smoker = "yes"'),
        ("removed", 'smoker = "yes"', None),
    ]
    assert ("added", None, 'smoker = "yes"') in kinds(new.diff(old))
    assert {row.change for row in old.diff(old)} == {"same"}
    assert old.diff(new).intercepts == (100.0, 90.0)
    assert "3 removed" not in repr(old.diff(new))
    assert "age > 40 → age > 41" in repr(old.diff(new))


@given(st.data())
def test_every_rule_stands_once(data):
    """Each rule of both models is in exactly one change."""
    (old, _), (new, _) = data.draw(circuits_with_tables()), data.draw(circuits_with_tables())
    changes = list(_changes(old, new, {}))
    befores = [one.index_before for one in changes if one.index_before is not None]
    afters = [one.index_after for one in changes if one.index_after is not None]
    assert sorted(befores) == list(range(len(old.rules)))
    assert sorted(afters) == list(range(len(new.rules)))


@given(circuits_with_tables(), st.integers(0, 10_000))
def test_causes_add_up_to_the_change(pair, seed):
    """On any rows the causes of a changed prediction add up to its change, in whole steps of the grid."""
    old, table = pair
    table = [np.clip(values, -1e300, 1e300) if values.dtype.kind == "f" else values for values in table]
    rng = np.random.default_rng(seed)
    rules = tuple(replace(rule, weight=on_grid(rng.normal() * 100, old.decimals)) for rule in old.rules[1:])
    new = replace(old, rules=rules, intercept=on_grid(rng.normal(), old.decimals))
    data = _data_change(old, new, list(_changes(old, new, {})), table, table)
    change = new.evaluate(table) - old.evaluate(table)
    assert sum(data.counts) == data.n_rows == len(change)
    assert len(data.rows) == min(10, np.count_nonzero(np.rint(change * 10.0**old.decimals)))
    for row in data.rows:
        steps = sum(to_grid(cause.change, old.decimals) for cause in row.causes)
        assert steps == to_grid(row.after, old.decimals) - to_grid(row.before, old.decimals)
        assert row.before == old.evaluate(table)[row.row - 1]


def test_bands_have_mean_changes():
    """Along each column that a rule reads, bands hold their rows and the mean change of their predictions."""
    old, new = model([(0, 10.0), (2, 30.0)]), model([(0, 16.0), (2, 30.0)])
    X = pd.DataFrame({"age": [20.0, 30.0, 50.0, 70.0, np.nan], "smoker": ["yes", "no", "no", None, "maybe"]})
    data = old.diff(new, X).data
    assert (data.share, data.mean) == (0.4, 2.4)
    ages = {band.label: (band.n_rows, band.mean) for band in data.bands if band.column == "age"}
    assert ages == {"20": (1, 0.0), "30": (1, 0.0), "50": (1, 6.0), "70": (1, 6.0), "missing": (1, 0.0)}
    assert {band.label for band in data.bands if band.column == "smoker"} == {'"yes"', '"no"', "others", "missing"}


@pytest.mark.parametrize("learner", [small, network])
def test_fitted_models_are_compared(learner):
    """Models of both learners, of last year's and this year's rows, differ in rules and predictions."""
    old = learner(max_conditions=12).fit(frame(150), target(frame(150)))
    new = learner(max_conditions=12).fit(frame(150, seed=5), target(frame(150, seed=5)) * 1.1)
    X = frame(60, seed=9)
    diff = old.diff(new, X)
    assert len([row for row in diff if row.before is not None]) == len(old.rules_)
    assert len([row for row in diff if row.after is not None]) == len(new.rules_)
    assert diff.data.mean == pytest.approx((new.predict(X) - old.predict(X)).mean())
    assert list(diff.to_pandas()["change"]) == [row["change"] for row in diff.to_dict()["rules"]]


def test_models_of_different_columns_are_refused():
    """One sentence names the columns that differ, or are numbers in one model only; other objects are refused."""
    old = model([(0, 10.0)])
    renamed = model([(0, 10.0)], columns=(Column("years"), COLUMNS[1]))
    with pytest.raises(
        ValueError, match=r"the same columns .* only the first has 'age' and only the second has 'years'"
    ):
        old.diff(renamed)
    with pytest.raises(ValueError, match="'smoker' holds numbers in one and categories in the other"):
        old.diff(model([(0, 1.0)], (Above(0, 1.0),) * 3, columns=(Column("age"), Column("smoker"))))
    with pytest.raises(TypeError, match="can be compared with a RuleRegressor or DLNRegressor, got str"):
        old.diff("new.dln")


def test_models_without_rules_are_compared():
    """An intercept alone can be compared, too, and the page says so."""
    constant, X = models()[8]
    diff = constant.diff(constant, X)
    assert len(diff) == 0
    assert diff.data.share == 0
    assert diff.data.counts == (len(X),)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Return the page of two models with hostile names, compared on rows."""
    circuit = hostile_circuit()
    values = draw(circuit, 300)
    later = replace(circuit, rules=circuit.rules[2:], intercept=3.5)
    path = tmp_path_factory.mktemp("diff") / "diff.html"
    return model_of(circuit, values).diff(model_of(later, values), named_frame(circuit, values)).report(path)


def test_the_page_holds_no_markup_of_names(page: Path):
    """Names and categories are escaped, and the page refers to nothing outside."""
    text = page.read_text(encoding="utf-8")
    for name in HOSTILE:
        assert "<" not in name or name not in text
    assert "<script" not in text
    assert "http" not in text.replace("http-equiv", "")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_accessible(page: Path, scheme):
    """axe-core finds no violation, nothing is loaded, and a phone shows the page without scrolling sideways."""
    playwright = pytest.importorskip("playwright.sync_api")
    axe = pytest.importorskip("axe_playwright_python", reason="axe-core was not run: pip install axe-playwright-python")
    code = (Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    path = chromium()
    with playwright.sync_playwright() as engines:
        browser = engines.chromium.launch(executable_path=path, args=list(FLAGS))
        with opened(browser, page, viewport={"width": 390, "height": 800}, color_scheme=scheme) as shown:
            assert shown.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
            assert shown.requests == [page.as_uri()]
            assert shown.mistakes == []
            shown.page.evaluate(code)
            found = shown.page.evaluate("axe.run()")
            assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found["violations"]] == []
        browser.close()
