import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dln.readers._explain
from circuits import HOSTILE_NAMES, circuits, circuits_with_tables, every_case, layered_circuit
from dln.circuit._circuit import Above, Circuit, Column, Gate, IsIn, Rule, from_grid
from dln.circuit._gates import AND, XOR
from dln.readers._explain import explain, feature_importances, shapley_values
from dln.readers._monitor import rule_support
from dln.readers._rules import rule_table


@given(circuits_with_tables())
def test_explanations_add_up_exactly(pair):
    """Intercept and fired weights, summed on the grid, are the prediction, bit for bit; as floats, nearly."""
    circuit, table = pair
    predictions = circuit.evaluate(table)
    explanations = explain(circuit, table)
    assert len(explanations) == len(predictions)
    for explanation, prediction in zip(explanations, predictions, strict=True):
        terms = [explanation.intercept, *(term.weight for term in explanation.terms)]
        on_grid = from_grid(np.array(float(sum(map(circuit.grid, terms)))), circuit.decimals)
        assert on_grid == explanation.prediction == prediction
        ulp = np.spacing(max(map(abs, [*terms, 1.0]))) * len(terms) * len(terms)
        assert abs(sum(terms) - prediction) <= ulp


@given(circuits_with_tables())
def test_the_rules_that_fired_are_the_terms(pair):
    """Exactly the rules that fire are terms, the heaviest first."""
    circuit, table = pair
    fires = circuit.rule_values(table)
    for row, explanation in enumerate(explain(circuit, table)):
        assert {term.index for term in explanation.terms} == {i for i, rule in enumerate(fires) if rule[row]}
        sizes = [abs(term.weight) for term in explanation.terms]
        assert sizes == sorted(sizes, reverse=True)


@given(st.data())
def test_shapley_values_add_up(data):
    """Values and base, the mean over the background, add up to the prediction."""
    circuit, table = data.draw(circuits_with_tables())
    background = every_case(circuit, max_rows=100)
    values, base = shapley_values(circuit, table, background)
    assert base == pytest.approx(circuit.evaluate(background).mean(), rel=1e-9, abs=1e-6)
    np.testing.assert_allclose(base + values.sum(axis=1), circuit.evaluate(table), rtol=1e-9, atol=1e-6)


@settings(max_examples=25)
@given(st.data())
def test_shapley_values_are_those_of_the_definition(data):
    """Each value is the mean over all orders of what its column adds when it joins."""
    from itertools import permutations

    circuit = data.draw(circuits(max_columns=3, max_literals=5))
    table = [column[-3:] for column in every_case(circuit, max_rows=30)]
    background = [column[::7] for column in every_case(circuit, max_rows=30)]
    n = len(circuit.columns)

    def worth(row, coalition):
        mixed = [np.full(len(background[0]), table[i][row]) if i in coalition else background[i] for i in range(n)]
        return circuit.evaluate(mixed).mean()

    values, _ = shapley_values(circuit, table, background)
    for row in range(len(table[0])):
        expected = np.zeros(n)
        for order in permutations(range(n)):
            for position, i in enumerate(order):
                expected[i] += worth(row, order[: position + 1]) - worth(row, order[:position])
        expected /= len(list(permutations(range(n))))
        np.testing.assert_allclose(values[row], expected, rtol=1e-9, atol=1e-7)


@pytest.mark.filterwarnings("ignore")
def test_shapley_values_match_the_exact_explainer_of_shap():
    """The shap package's exact explainer over the same background gives the same values to 1e-9."""
    shap = pytest.importorskip("shap")
    circuit = layered_circuit(2, n_rules=20, layers=[30, 30], n_columns=7, thresholds=4)
    rng = np.random.default_rng(0)
    data = np.column_stack(
        [rng.integers(0, 4, 40) if c.categories else rng.uniform(-1, 5, 40) for c in circuit.columns]
    ).astype(float)
    data[::5, 1] = np.nan

    def columns_of(matrix):
        return [
            matrix[:, i].astype(int) if column.categories else matrix[:, i] for i, column in enumerate(circuit.columns)
        ]

    masker = shap.maskers.Independent(data, max_samples=len(data))
    explainer = shap.explainers.Exact(lambda matrix: circuit.evaluate(columns_of(matrix)), masker)
    theirs = explainer(data[:5])
    ours, base = shapley_values(circuit, columns_of(data[:5]), columns_of(data))
    np.testing.assert_allclose(ours, theirs.values, atol=1e-9)
    np.testing.assert_allclose(base, theirs.base_values, atol=1e-9)


def test_too_wide_a_rule_is_named(monkeypatch):
    """Exact or not at all: a rule too wide for exact values raises, and the message says what to do."""
    monkeypatch.setattr(dln.readers._explain, "MAX_WORK", 4)
    circuit = Circuit(
        (Column("x"), Column("y")), (Above(0, 0.0), Above(1, 0.0)), (Gate(AND, 0, 1),), (Rule(2, 1.0),), 0.0, 0
    )
    table = [np.zeros(2), np.zeros(2)]
    with pytest.raises(ValueError, match="a rule that reads 2 columns is too wide"):
        shapley_values(circuit, table, table)


def test_importances_follow_what_rules_move():
    """A rule's contribution is shared among its columns; a column that no rule reads has none; they sum to one."""
    columns = (Column("x"), Column("y"), Column("z"))
    literals = (Above(0, 0.0), Above(1, 0.0))
    circuit = Circuit(columns, literals, (Gate(XOR, 0, 1),), (Rule(2, 2.0), Rule(0, 1.0)), 0.0, 0)
    importances = feature_importances(rule_table(circuit, [0.5, 0.5]))
    np.testing.assert_allclose(importances, [2 / 3, 1 / 3, 0.0])


@given(circuits())
def test_importances_are_shares(circuit):
    """Importances are not negative and sum to one, or are all zero where nothing moves."""
    support = rule_support(circuit.rule_values(every_case(circuit)), None)
    importances = feature_importances(rule_table(circuit, support))
    assert (importances >= 0).all()
    assert importances.sum() == pytest.approx(1.0) or not importances.any()


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_names_are_harmless(name):
    """Whatever columns are called, text keeps its lines and HTML its tags."""
    circuit = Circuit(
        (Column(name), Column("c", (name,))), (Above(0, 1.0), IsIn(1, (0,))), (), (Rule(0, 1.0), Rule(1, 1.0)), 0.0, 0
    )
    explanations = explain(circuit, [np.array([2.0]), np.array([0])], target=name)
    assert len(repr(explanations).splitlines()) == 4
    assert "<script" not in explanations._repr_html_()
    assert explanations[0].terms[0].rule.isprintable()
