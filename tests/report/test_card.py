"""The model card: what auditors ask for, as Markdown and as JSON."""

import json

import numpy as np
import pandas as pd
import pytest

import dln
from dln import RuleRegressor
from models import SMALL
from pages import draw, hostile_circuit, mixed_model, model_of, named_frame


def test_the_card_has_the_sections_of_annex_iv():
    """The nine sections are there in order, and what a person has to state is marked."""
    card = str(mixed_model()[0].card())
    headings = [line for line in card.splitlines() if line.startswith("## ")]
    assert [heading[3:5] for heading in headings] == [f"{number}." for number in range(1, 10)]
    for words in ("intended use", "training data", "metrics", "ethical considerations", "caveats"):
        assert words in card
    assert card.count("*to be filled in*") >= 3
    assert "were not measured" in card


def test_the_card_has_the_numbers_of_the_rows():
    """Errors, subgroups and calibration are those of the rows given; rules and weights are whole."""
    model, X, y = mixed_model()
    card = model.card(X, y)
    values = dict(card)
    errors = model.predict(X) - y
    assert values["evaluation"]["n_rows"] == len(X)
    assert values["evaluation"]["mean_absolute_error"] == pytest.approx(np.abs(errors).mean())
    assert values["evaluation"]["bias"] == pytest.approx(errors.mean())
    assert [rule["weight"] for rule in values["rules"]] == [row.weight for row in model.rules_]
    assert values["subgroups"]
    assert "Calibration, by tenths" in str(card)
    assert all(rule["rule"] in str(card) for rule in values["rules"] if "|" not in rule["rule"])


def test_the_card_counts_the_categories_that_no_rule_names(tmp_path):
    """Of the training table's categories the card says how many there were, and how frequent those in rules are."""
    region = np.repeat(["north", "south", "east", "west"], [40, 30, 20, 10])
    X = pd.DataFrame({"region": region, "garden": np.arange(100) % 5 == 0})
    y = 10.0 * (region == "south") + 10.0 * X["garden"].to_numpy()
    X.loc[90:, "region"] = None
    model = RuleRegressor(**SMALL).fit(X, y)
    model.save(tmp_path / "m.dln")
    for one in (model, dln.load(tmp_path / "m.dln")):
        card = one.card()
        columns = {column["name"]: column for column in card["columns"]}
        assert columns["region"]["n_categories"] == 3
        assert columns["region"]["categories"] == [{"category": '"south"', "share": 0.3}]
        assert columns["region"]["share_of_others"] == pytest.approx(0.6)
        assert columns["region"]["missing"] == pytest.approx(0.1)
        assert '3 categories, of which rules name `"south"` 30\xa0%; all others 60\xa0%' in str(card)
        assert "2 categories: `false` 80\xa0%, `true` 20\xa0%" in str(card)


def test_the_card_is_saved_by_the_ending(tmp_path):
    """A .json is JSON with the values, and anything else is Markdown; both are the same each time."""
    model, X, y = mixed_model()
    card = model.card(X, y)
    assert json.loads(card.save(tmp_path / "card.json").read_text(encoding="utf-8")) == json.loads(json.dumps(card))
    assert card.save(tmp_path / "card.md").read_text(encoding="utf-8") == str(model.card(X, y))


def test_constraints_stand_in_the_card_and_on_the_page(tmp_path):
    """Constraints that the model has are listed, a line each; a model without them states none."""
    assert "hold for every input: none." in " ".join(str(mixed_model()[0].card()).split())
    X = np.arange(40.0)[:, None]
    model = RuleRegressor(monotonic_cst=[1], n_teachers=0, n_generations=0, random_state=0).fit(X, X[:, 0] // 10)
    (sentence,) = model.constraints_.sentences
    assert f"- {sentence}\n" in str(model.card())
    assert model.card()["constraints"] == [sentence]
    text = model.report(tmp_path / "x.html").read_text(encoding="utf-8")
    assert text.count(f"<li>{sentence}</li>") == 1


def test_hostile_names_stay_text_in_the_card():
    """Names with markup are code or escaped, and a line break in a name breaks no table."""
    circuit = hostile_circuit()
    values = draw(circuit, 300)
    model = model_of(circuit, values)
    card = str(model.card(named_frame(circuit, values), circuit.evaluate(values)))
    for line in card.splitlines():
        outside = "".join(line.split("`")[::2])
        assert "<script" not in outside
        if line.startswith("| "):
            assert line.endswith(" |")
