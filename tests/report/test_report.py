"""The content of a page is computed right, and nothing else is in the page."""

from __future__ import annotations

import re
import sys
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from sklearn.metrics import mean_absolute_error, r2_score

import dln
from circuits import circuits, circuits_with_tables, every_case
from dln import RuleRegressor
from dln.circuit._circuit import MISSING, Above, Circuit, Column, Gate, IsIn, Rule
from dln.circuit._gates import AND
from dln.circuit._words import name_text, node_text
from dln.export._form import lower
from dln.readers._monitor import rule_support
from dln.readers._rules import rule_table
from dln.report import _render
from dln.report._collect import collect
from dln.report._page_data import NumberColumn
from dln.report._scorecard import phrase, scorecard
from pages import HOSTILE, draw, hostile_circuit, large_circuit, mixed_model, model_of, named_frame


def test_scores_are_those_of_the_rows():
    """R² and mean error are scikit-learn's; errors of alike rows, put together again, are the error of all."""
    model, X, y = mixed_model()
    scores = collect(model, X, y).scores
    assert scores.r2 == pytest.approx(r2_score(y, model.predict(X)))
    assert scores.mean_absolute_error == pytest.approx(mean_absolute_error(y, model.predict(X)))
    for errors in scores.by_column:
        assert sum(group.n_rows for group in errors.bins) == len(X)
        assert sum(group.n_rows * group.bias for group in errors.bins) / len(X) == pytest.approx(scores.bias)
    assert sum(n_rows for *_, n_rows in scores.cells) == len(X)


def test_effects_are_averages_of_predictions():
    """The effect of a column is the mean prediction where every row has that value, for each block and for missing."""
    model, X, y = mixed_model()
    column = next(c for c in collect(model, X, y).columns if c.name == "age")
    assert isinstance(column, NumberColumn)
    values = [*column.cutoffs, column.cutoffs[-1] + 1.0, np.nan]
    expected = [model.predict(X.assign(age=value)).mean() for value in values]
    assert [*column.averages, column.average_missing] == pytest.approx(expected)
    assert column.learned == (18.0, 89.0)
    assert column.missing == pytest.approx(X["age"].isna().mean())


def test_rows_are_in_the_page_only_on_request(tmp_path):
    """A value that one row has is in the page with `include_rows`, and nowhere in it without."""
    model, X, y = mixed_model()
    column = 'say "bmi"\n'
    marked = X.assign(**{column: X[column].where(X.index != 17, 31.41592653)})
    without = model.report(tmp_path / "without.html", marked, y).read_text(encoding="utf-8")
    with_rows = model.report(tmp_path / "with.html", marked, y, include_rows=True).read_text(encoding="utf-8")
    assert "31.41592653" not in without
    assert "31.41592653" in with_rows
    few = model.report(tmp_path / "few.html", marked, y, include_rows=10).read_text(encoding="utf-8")
    assert "10 of the 300 rows" in few


def test_a_page_without_rows_shows_the_scores_of_the_fit(tmp_path):
    """Without data there is a page: the rules, the held-out R², ranges, sizes, facts, and why there is no plot."""
    model, _, _ = mixed_model()
    text = model.report(tmp_path / "bare.html").read_text(encoding="utf-8")
    assert "No rows with known targets were given" in text
    assert f"{model.frontier_.own.r2:.3f}" in text
    assert "learned from 18 to 89" in text
    assert text.count("data-rule=") == len(model.rules_)
    half = model.report(tmp_path / "half.html", mixed_model()[1]).read_text(encoding="utf-8")
    assert "averaged over 300 rows" in half
    assert "No rows with known targets were given" in half


def test_a_loaded_model_makes_the_same_page(tmp_path):
    """Saved and loaded, a model gives the same bytes, and its checksum is that of its file."""
    import hashlib

    model, X, y = mixed_model()
    model.save(tmp_path / "model.dln")
    before = model.report(tmp_path / "before.html", X, y).read_bytes()
    assert dln.load(tmp_path / "model.dln").report(tmp_path / "after.html", X, y).read_bytes() == before
    assert hashlib.sha256((tmp_path / "model.dln").read_bytes()).hexdigest() in before.decode()


def test_a_page_is_small(tmp_path):
    """A model of 100 conditions with 1000 rows takes less than 600 KB."""
    circuit = large_circuit(62)
    values = draw(circuit, 1000)
    model = model_of(circuit, values)
    assert model.rules_.n_conditions >= 95
    page = model.report(
        tmp_path / "x.html", named_frame(circuit, values), circuit.evaluate(values) + 1, include_rows=1000
    )
    assert page.stat().st_size < 600_000


def test_the_page_loads_nothing(tmp_path):
    """Nothing in the page names another place, and its policy lets in nothing but its own script and style."""
    model, X, y = mixed_model()
    text = model.report(tmp_path / "x.html", X, y, include_rows=True).read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1].replace("&#39;", "'")
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert "http" not in re.sub(r'xmlns="[^"]*"|http://www.w3.org/2000/svg|http-equiv', "", text)
    assert not re.search(r"<(link|img|iframe|object|embed|base)\b|\bsrc=|\sstyle=|\son\w+=", text)


def test_hostile_names_leave_the_markup_alone(tmp_path):
    """Whatever columns and categories are called, the page has the elements that it has for plain names."""
    hostile = hostile_circuit()
    plain = Circuit(
        tuple(
            Column(f"c{j}", column.categories and tuple(f"v{k}" for k in range(len(column.categories))))
            for j, column in enumerate(hostile.columns)
        ),
        hostile.literals, hostile.gates, hostile.rules, hostile.intercept, hostile.decimals,
    )  # fmt: skip
    tags = []
    for name, circuit in (("hostile", hostile), ("plain", plain)):
        text = model_of(circuit).report(tmp_path / f"{name}.html").read_text(encoding="utf-8")
        text = re.sub(r"(?s)<script.*?</script>|<style.*?</style>", "", text)
        picture = re.compile(r'(?s)<div class="scroll picture".*?</div>')  # long names take more lines there
        tags.append(re.findall(r"<(\w+)", picture.sub("", text)))
    assert tags[0] == tags[1]


@given(circuits_with_tables())
@settings(max_examples=25)
def test_every_circuit_has_a_page(pair):
    """Whatever a circuit is like, and whatever rows it is given, there is a page, with every rule and its columns."""
    circuit, table = pair
    names = [column.name for column in circuit.columns]
    assume(len(set(names)) == len(names))
    finite = [np.where(np.isinf(own), np.nan, own) if own.dtype.kind == "f" else own for own in table]
    model = model_of(circuit, finite)
    for X in (None, named_frame(circuit, finite)):
        text = _render.render(
            collect(model, X, None if X is None else circuit.evaluate(finite) + 1.0, include_rows=True)
        )
        assert text.count("data-rule=") == len(circuit.rules)
        assert "nan" not in re.sub(r"(?s)<script.*?</script>|<style.*?</style>", "", text).lower()


@given(circuits())
def test_rules_in_pieces_are_the_rules(circuit):
    """The pieces of a rule, put together, are its words, whatever names and categories are like."""
    for rule in circuit.rules:
        assert "".join(piece.text for piece in phrase(circuit, rule.node)) == node_text(circuit, rule.node)


@given(circuits())
def test_the_scorecard_has_every_rule_once(circuit):
    """Groups hold all rules, each once, with their weights and shares; the groups' shares add up to all."""
    support = rule_support(circuit.rule_values(every_case(circuit)), None)
    card = scorecard(circuit, rule_table(circuit, support))
    rules = [rule for group in card.groups for rule in group.rules]
    assert sorted(rule.index for rule in rules) == list(range(len(circuit.rules)))
    assert all(rule.weight == circuit.rules[rule.index].weight for rule in rules)
    assert sum(group.share for group in card.groups) == pytest.approx(1.0) or not any(g.share for g in card.groups)


def test_staircases_are_in_order():
    """Rules on one number column stand in the order of their cut-offs, and interactions have a group of their own."""
    literals = (Above(0, 3.0), Above(0, 1.0), Above(0, 2.0), IsIn(1, (0,)))
    gates = (Gate(AND, 0, 3), Gate(AND, 1, 3))
    rules = (Rule(0, 9.0), Rule(1, 1.0), Rule(2, 5.0), Rule(4, 2.0), Rule(5, 3.0))
    circuit = Circuit((Column("age"), Column("c", ("a", "b"))), literals, gates, rules, 0.0, 0)
    card = scorecard(circuit, rule_table(circuit, [0.5] * 5))
    assert [group.columns for group in card.groups] == [("age",), ("age", "c")]
    assert [rule.weight for rule in card.groups[0].rules] == [1.0, 5.0, 9.0]


def test_there_are_warnings():
    """Rules on few rows, values outside of what was learned from, and columns that are often missing get a sentence."""
    columns = (Column("age"), Column("bmi"))
    circuit = Circuit(columns, (Above(0, 60.0), Above(1, 30.0)), (), (Rule(0, 2.0), Rule(1, 3.0)), 1.0, 0)
    learned = [np.array([*[30.0] * 95, *[64.0] * 5]), np.linspace(20, 40, 100)]
    model = model_of(circuit, learned)
    table = pd.DataFrame({"age": [30.0, 70.0, 80.0, 40.0], "bmi": [np.nan, 25.0, np.nan, 35.0]})
    assert collect(model, table).warnings == (
        "1 rule rests on fewer than 20 of the rows learned from: age > 60.",
        "age: 2 values lie outside of 30 to 64, which the model learned from.",
        "bmi is missing in 50\u00a0% of the rows.",
    )


def test_without_graphviz_the_page_says_so(tmp_path, monkeypatch):
    """Without pygraphviz the page is made, and says what the picture needs."""
    model, _, _ = mixed_model()
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    text = model.report(tmp_path / "x.html").read_text(encoding="utf-8")
    assert "There is no picture here: drawing a circuit needs the package" in text


def test_bad_input_is_refused(tmp_path):
    """Targets without rows, another table, targets that do not match, and numbers of rows below zero are refused."""
    model, X, y = mixed_model()
    path = tmp_path / "x.html"
    with pytest.raises(ValueError, match="y was given without X"):
        model.report(path, y=y)
    with pytest.raises(ValueError, match="age"):
        model.report(path, X.drop(columns="age"), y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.report(path, X, y[:-1])
    with pytest.raises(ValueError, match="include_rows must be True, False or the number of rows"):
        model.report(path, X, y, include_rows=-1)
    assert not path.exists()


@pytest.mark.parametrize("y", [[3.0, 3.0], [1e290, -1e290], [1e-290, 0.0]])
def test_odd_targets_have_a_page(tmp_path, y):
    """Constant, huge and tiny targets do not break a page."""
    model = RuleRegressor(n_teachers=0, random_state=0).fit([[1.0], [2.0], [3.0], [4.0]], [1.0, 1.0, 5.0, 5.0])
    assert "Mean absolute error" in model.report(tmp_path / "x.html", [[1.0], [3.0]], y).read_text(encoding="utf-8")


def test_a_model_of_one_number_has_a_page(tmp_path):
    """A model without rules, and one whose columns no rule reads, have a page."""
    model = RuleRegressor(n_teachers=0, random_state=0).fit([[1.0], [2.0], [3.0]], [2.0, 2.0, 2.0])
    text = model.report(tmp_path / "x.html", [[1.0], [2.0]], [2.0, 2.5]).read_text(encoding="utf-8")
    assert "The model has no rules: it is one number." in text


def test_a_notebook_shows_the_scorecard():
    """A fitted model shows its rules where an unfitted one shows scikit-learn's diagram; names are harmless there."""
    model, X, _ = mixed_model()
    assert "sk-" in RuleRegressor()._repr_html_()
    shown = model._repr_html_()
    assert shown.count("data-rule=") == len(model.rules_)
    assert model._repr_mimebundle_()["text/html"] == shown
    assert "intercept" in model.explain(X[:1])._repr_html_()
    for html in (model_of(hostile_circuit())._repr_html_(), model_of(hostile_circuit()).rules_._repr_html_()):
        assert HOSTILE[0] not in html
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
        assert "<script" not in html


def test_the_package_holds_all_of_it():
    """Templates, styles and scripts that the page is made of are files of the package."""
    folder = files("dln.report")
    for name in (*_render._STYLES, *_render._SCRIPTS):
        assert (folder / "assets" / name).is_file()
    assert (folder / "templates" / "page.html").is_file()
    assert {one.name for one in (folder / "assets").iterdir()} == {*_render._STYLES, *_render._SCRIPTS}


def test_rules_that_share_a_condition_are_read_together():
    """Three rules of one condition and more have it once, as a heading; rule by rule the words are whole."""
    columns = (Column("smoker", ("no", "yes")), Column("age"), Column("bmi"))
    literals = (IsIn(0, (1,)), Above(1, 40.0), Above(2, 30.0), Above(2, 35.0))
    gates = tuple(Gate(AND, 0, k) for k in (1, 2, 3))
    rules = tuple(Rule(4 + k, float(k + 1)) for k in range(3))
    circuit = Circuit(columns, literals, gates, (*rules, Rule(1, 1.0)), 0.0, 0)
    card = scorecard(circuit, rule_table(circuit, None))
    group = next(group for group in card.groups if group.shared)
    assert "".join(piece.text for piece in group.shared) == 'smoker = "yes"'
    assert ["".join(piece.text for piece in rule.words) for rule in group.rules] == ["bmi > 35", "bmi > 30", "age > 40"]
    whole = ["".join(piece.text for piece in (*rule.shared, *rule.words)) for rule in group.rules]
    assert whole == [node_text(circuit, 4 + k) for k in (2, 1, 0)]


def test_a_column_of_four_rules_is_a_curve_on_the_page(tmp_path):
    """Four rules on a number column are a step plot and bands; each rule is still in the page once."""
    literals = tuple(Above(0, float(cutoff)) for cutoff in (1, 2, 3, 4))
    circuit = Circuit((Column("area"),), literals, (), tuple(Rule(k, 1.5) for k in range(4)), 0.0, 1)
    model = model_of(circuit, [np.arange(6.0)])
    (group,) = scorecard(circuit, model.rules_).groups
    assert [band.weight for band in group.bands] == [0.0, 1.5, 3.0, 4.5, 6.0]
    assert [band.ends for band in group.bands][:2] == [(-np.inf, 1.0), (1.0, 2.0)]
    text = model.report(tmp_path / "x.html").read_text(encoding="utf-8")
    assert text.count("data-rule=") == 4
    assert text.count('class="chart steps"') == 1


def test_what_if_opens_on_a_row_near_the_median():
    """The first row has the prediction of a row next to the median; without rows in the page no number is its own."""
    model, X, y = mixed_model()
    predicted = np.sort(model.predict(X))
    for include_rows in (False, 20):
        columns = collect(model, X, y, include_rows=include_rows).columns
        circuit = model.circuit_
        values = [np.array([np.nan]) if c.categories is None else np.array([MISSING]) for c in circuit.columns]
        for place, j in enumerate(lower(circuit).used):
            values[j] = np.array([columns[place].typical])
        (found,) = circuit.evaluate(values)
        assert found in predicted
        rank = np.searchsorted(predicted, found) / len(predicted)
        assert 0.4 < rank < 0.6


def test_missing_numbers_are_no_part_of_the_first_row(tmp_path):
    """Above the last cut-off the first row is the median of the numbers there, though a missing one is in the data."""
    circuit = Circuit((Column("area"),), (Above(0, 1.0),), (), (Rule(0, 1.5),), 0.0, 1)
    model = model_of(circuit, [np.arange(6.0)])
    table = pd.DataFrame({"area": [2.0, 3.0, 4.0, np.nan]})
    assert collect(model, table).columns[0].typical == 3.0
    assert model.report(tmp_path / "x.html", table).exists()


def test_calibration_compares_means_of_tenths():
    """Tenths of the rows, by prediction, hold all rows, ascend, and their means are those of the whole."""
    model, X, y = mixed_model()
    tenths = collect(model, X, y).scores.calibration
    assert len(tenths) == 10
    assert sum(tenth.n_rows for tenth in tenths) == len(X)
    assert [tenth.predicted for tenth in tenths] == sorted(tenth.predicted for tenth in tenths)
    mean = sum(tenth.n_rows * tenth.true for tenth in tenths) / len(X)
    assert mean == pytest.approx(np.mean(y))


def test_errors_are_broken_down_by_columns_that_no_rule_reads():
    """Subgroups are those of every column of the model, and each has its bias, size of errors and coverage."""
    model, X, y = mixed_model()
    by_column = collect(model, X, y).scores.by_column
    used = {model.circuit_.columns[j].name for j in lower(model.circuit_).used}
    assert {errors.name for errors in by_column} > {name_text(name) for name in used}
    assert all(0 <= group.covered <= 1 for errors in by_column for group in errors.bins)


def test_parts_of_dates_have_the_range_of_the_calendar():
    """The slider of a month goes from 1 to 12 in whole steps, that of a year from the first to the last of the data."""
    columns = (Column("sold (month)"), Column("sold (year)"))
    circuit = Circuit(columns, (Above(0, 3.5), Above(1, 2020.5)), (), (Rule(0, 1.0), Rule(1, 1.0)), 0.0, 0)
    month, year = collect(model_of(circuit, [np.array([2.0, 5.0]), np.array([2019.0, 2022.0])])).columns
    assert (month.ends, month.step) == ((1.0, 12.0), 1.0)
    assert (year.ends, year.step) == ((2019.0, 2022.0), 1.0)
