import html.parser

import numpy as np
import pytest
from hypothesis import given

from circuits import HOSTILE_NAMES, circuits, every_case, layered_circuit
from dln.circuit._circuit import Above, Circuit, Column, Gate, IsIn, Rule
from dln.circuit._cost import count_conditions
from dln.circuit._gates import AND
from dln.readers._monitor import rule_support
from dln.readers._rules import MAX_ROWS, rule_table


class Tags(html.parser.HTMLParser):
    """Collects the tags and the text of a piece of HTML."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text = set(), ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):  # noqa: ARG002 (the parser's own signature)
        """Note the tag."""
        self.tags.add(tag)

    def handle_data(self, data):
        """Note the text."""
        self.text += data


def table_of(circuit):
    """Return the rule table over every case of a circuit."""
    return rule_table(circuit, rule_support(circuit.rule_values(every_case(circuit)), None))


@given(circuits())
def test_every_rule_is_there_once_in_a_stable_order(circuit):
    """The table has each rule once, ordered by contribution, and is the same each time."""
    table = table_of(circuit)
    assert sorted(row.index for row in table) == list(range(len(circuit.rules)))
    contributions = [row.contribution for row in table]
    assert contributions == sorted(contributions, reverse=True)
    assert table == table_of(circuit)
    assert len(table.to_text(by="rule").split("\n")) == 2 + bool(circuit.rules) + len(table)


@given(circuits())
def test_frames_hold_the_table(circuit):
    """to_pandas and to_polars have one row per rule, numbers as numbers."""
    table = table_of(circuit)
    frame = table.to_pandas()
    assert list(frame["weight"]) == [row.weight for row in table]
    assert table.to_polars().to_dicts() == frame.to_dict("records")


def test_contribution_is_the_standard_deviation():
    """A rule moves the prediction by the standard deviation of weight × fires; one that always fires, by nothing."""
    fires = [np.array([True, False, False, True, True]), np.ones(5, dtype=bool)]
    literals = (Above(0, 0.0), Above(0, 1.0))
    circuit = Circuit((Column("x"),), literals, (), (Rule(0, 4.0), Rule(1, -9.0)), 0.0, 0)
    table = rule_table(circuit, rule_support(fires, None))
    assert table[0].contribution == pytest.approx(np.std(4.0 * fires[0]))
    assert table[1].contribution == 0


def test_unknown_support_is_told():
    """If the support of rules is unknown, the heaviest come first and the table has question marks."""
    circuit = Circuit((Column("x"),), (Above(0, 0.0), Above(0, 1.0)), (), (Rule(0, 4.0), Rule(1, -9.0)), 0.0, 0)
    table = rule_table(circuit, None)
    assert [row.index for row in table] == [1, 0]
    assert repr(table).count("?") == 4


def test_support_counts_weights():
    """A row of weight two counts as two rows."""
    fires = [np.array([True, False, True])]
    doubled = [np.array([True, True, False, True])]
    assert rule_support(fires, np.array([2.0, 1.0, 1.0])) == rule_support(doubled, None)


@given(circuits())
def test_conditions_are_told(circuit):
    """Each row has the conditions of its rule, and the line below the table their sum."""
    table = table_of(circuit)
    conditions = count_conditions(circuit)
    assert all(row.conditions == conditions[row.index] for row in table)
    assert table.n_conditions == sum(conditions)
    assert repr(table).splitlines()[-1].startswith(f"{sum(conditions)} condition")


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_names_are_harmless_in_text_and_html(name):
    """Whatever a column, category or target is called, the text keeps its lines and the HTML its tags."""
    columns = (Column(name), Column("c", (name, "b")))
    circuit = Circuit(columns, (Above(0, 1.0), IsIn(1, (0,))), (Gate(AND, 0, 1),), (Rule(2, 1.0),), 0.0, 0)
    table = rule_table(circuit, [0.5], target=name)
    assert len(repr(table).splitlines()) == 4
    page = Tags(table._repr_html_())
    assert page.tags == {
        "div", "style", "table", "caption", "bdi", "strong", "thead", "tbody", "tr", "th", "td", "p",
        "svg", "line", "rect",
    }  # fmt: skip
    assert table[0].rule in page.text.replace("\u00a0", " ")


def test_long_tables_are_cut_in_print_and_complete_in_frames():
    """Print shows the first rules and says how many are left."""
    n_rules = MAX_ROWS + 40
    circuit = layered_circuit(0, n_rules=n_rules, layers=[n_rules])
    table = table_of(circuit)
    assert f"… and 40 more rules; to_pandas() has them all\n{table.n_conditions} conditions" in table.to_text("rule")
    assert "40 more rules" in table._repr_html_()
    assert len(table.to_pandas()) == len(list(table)) == n_rules
