"""Rules that are read: the inverse of what is printed, for every name and category."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from circuits import HOSTILE_NAMES, circuits
from dln import RuleSyntaxError
from dln.circuit._circuit import Column
from dln.circuit._formula import (
    AllOf,
    AnyOf,
    CategoryCondition,
    Formula,
    NumberCondition,
    all_of,
    any_of,
    formula,
    negate,
    odd_of,
)
from dln.circuit._parse import parse_rule
from dln.circuit._words import MAX_LITERALS_IN_TEXT, column_text, formula_text, node_sizes

COLUMNS = (Column("age"), Column("smoker", ("no", "yes")), Column("rooms", (1, 2, 3)), Column("sold_at (year)"))
#: Names made of the grammar's own words.
SIGNS = list('()<>=≤≥≠!;,{}"\\ \nè')
TOKENS = [
    *SIGNS,
    "not",
    "and",
    "or",
    "in",
    "is",
    "missing",
    "exactly one",
    "of",
    "an even number",
    "never",
    "3",
    "1e5",
    "x",
]
WORDS = st.lists(st.sampled_from(TOKENS), max_size=6).flatmap(
    lambda words: st.sampled_from(["", " "]).map(lambda gap: gap.join(words))
)
NAMES = st.text(max_size=12) | WORDS | st.sampled_from(HOSTILE_NAMES)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
CATEGORIES = (
    st.lists(st.text(max_size=8) | WORDS, min_size=1, max_size=4, unique=True)
    | st.just([False, True])
    | st.lists(st.integers() | NUMBERS, min_size=1, max_size=4, unique=True)
)


@st.composite
def formulas(draw: st.DrawFn) -> tuple[tuple[Column, ...], Formula]:
    """Draw columns of any names and categories, and a formula over them as circuits have it."""
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    columns = tuple(
        Column(name, None if kind is None else tuple(kind))
        for name, kind in ((name, draw(st.none() | CATEGORIES)) for name in names)
    )

    def condition(j: int) -> st.SearchStrategy[Formula]:
        categories, flag = columns[j].categories, st.booleans()
        if categories is None:
            ends = st.lists(NUMBERS, max_size=3, unique=True).map(lambda some: tuple(sorted(some)))
            return st.builds(NumberCondition, st.just(j), ends, flag, flag)
        codes = st.sets(st.integers(0, len(categories) - 1)).map(lambda some: tuple(sorted(some)))
        return st.builds(CategoryCondition, st.just(j), codes, flag, flag)

    leaves = st.integers(0, len(columns) - 1).flatmap(condition)
    joined = st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, min_size=1, max_size=3).map(all_of)
            | st.lists(inner, min_size=1, max_size=3).map(any_of)
            | st.builds(odd_of, st.lists(inner, min_size=1, max_size=3), even=st.booleans())
            | inner.map(negate)
        ),
        max_leaves=8,
    )
    return columns, all_of([draw(joined)])


@given(formulas())
def test_reading_is_the_inverse_of_printing(drawn: tuple[tuple[Column, ...], Formula]) -> None:
    """What is printed of any formula over any names and categories reads back as the same formula."""
    columns, meaning = drawn
    assert parse_rule(formula_text(meaning, columns), columns) == meaning


@pytest.mark.parametrize("text", ["nights = 0", "nights = 0 or nights > 2", "flag = 1", "flag = 0 (not missing)"])
def test_whole_numbers_read_back(text: str) -> None:
    """Conditions on columns of whole numbers from 0 up, which are printed with "=", read back."""
    columns = (Column("nights", whole_to=9), Column("flag", whole_to=1))
    assert formula_text(parse_rule(text, columns), columns) == text


@given(circuits())
def test_rules_of_circuits_read_back(circuit) -> None:  # type: ignore[no-untyped-def]
    """Every node of a circuit that is printed in full reads back as its formula."""
    if len({column.name for column in circuit.columns}) < len(circuit.columns):
        return
    for node, size in enumerate(node_sizes(circuit)):
        if size <= MAX_LITERALS_IN_TEXT:
            meaning = formula(circuit, node)
            assert parse_rule(formula_text(meaning, circuit.columns), circuit.columns) == meaning


@given(st.text(max_size=30) | WORDS)
@example("(" * 5000)
@example("age > 1e999")
@example("age < -1.7976931348623157e308")
@example('"\ud800')
def test_any_other_text_is_refused_by_its_own_error(text: str) -> None:
    """Text is a rule, or raises the one error, whose position lies in the text; the error survives pickling."""
    error = error_of(text)
    if error is not None:
        assert 0 <= error.position <= len(text)
        assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301 (our own)


def error_of(text: str) -> RuleSyntaxError | None:
    """Return the error that reading a rule raises."""
    try:
        parse_rule(text, COLUMNS)
    except RuleSyntaxError as error:
        return error
    return None


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("age>60", "age > 60"),
        ("  age  <=  60.50 ", "age ≤ 60.5"),
        ("age >= 3", "age > 2.9999999999999996"),
        ("18 <= age < 47", "17.999999999999996 < age ≤ 46.99999999999999"),
        ("18 < age <= 47", "18 < age ≤ 47"),
        ('smoker != "yes"', 'smoker ≠ "yes"'),
        ('smoker == "no"', 'smoker = "no"'),
        ("rooms in {3, 1}", "rooms in {1, 3}"),
        ("rooms = 2.0", "rooms = 2"),
        ('not (age > 60 or smoker = "yes")', 'age ≤ 60 and smoker ≠ "yes"'),
        ("not age is missing", "age is not missing"),
        ('age > 60 and smoker = "yes" or rooms = 1', 'rooms = 1 or (age > 60 and smoker = "yes")'),
        ('"sold_at (year)" > 2021', "sold_at (year) > 2021"),
        ("age > 60 and age > 50", "age > 60"),
        ("age ≤ 60 and age is not missing", "age ≤ 60 (not missing)"),
        ("exactly one of (age > 60; rooms = 1)", "exactly one of (age > 60; rooms = 1)"),
    ],
)
def test_other_spellings_mean_the_same(written: str, printed: str) -> None:
    """ASCII signs, white space, `not` and other orders are read, and printed in the one form."""
    assert formula_text(parse_rule(written, COLUMNS), COLUMNS) == printed


@pytest.mark.parametrize(
    ("rule", "position", "expected"),
    [
        ("", 0, "a column and a comparison"),
        ("agee > 60", 0, "the nearest is age"),
        ("age", 3, "> or ≤, or is missing, after age"),
        ("age and rooms = 1", 0, "a column that is known"),
        ("age > sixty", 6, "a number"),
        ('age = "x"', 4, "> or ≤, or is missing, after age, which holds numbers"),
        ("smoker > 3", 7, "=, ≠ or in, or is missing, after smoker, which holds categories"),
        ('smoker = "maybe"', 9, 'a category of smoker ("no", "yes")'),
        ("smoker = yes", 9, 'a category of smoker ("no", "yes")'),
        ("rooms = true", 8, "a category of rooms (1, 2, 3)"),
        ('smoker = "yes', 9, "text in double quotes"),
        ("(age > 60", 9, '"and", "or" or ")"'),
        ("age > 60)", 8, '"and", "or" or the end'),
        ("rooms in {1 2}", 12, '"," or "}"'),
        ("exactly one of (age > 1; age > 2; age > 3)", 0, "two parts"),
        ("an odd number of (age > 1)", 0, "at least two parts"),
        ("60 < age ≤ 18", 0, "the lower end"),
        ('1 < smoker = "yes"', 0, "no number before a column"),
        ("1 < age > 3", 0, "no number before a column"),
        ("age > 1e999", 6, "a number that a float can hold"),
        ("a rule of 80 literals", 0, "none has this name"),
        ("rooms = " + "9" * 5000, 8, "a category of rooms"),
    ],
)
def test_errors_show_the_position_and_what_was_expected(rule: str, position: int, expected: str) -> None:
    """A rule that cannot be read names itself, the position and what was expected."""
    with pytest.raises(RuleSyntaxError) as caught:
        parse_rule(rule, COLUMNS)
    assert caught.value.position == position
    assert expected in caught.value.expected
    assert f"at character {position + 1}" in str(caught.value)


@pytest.mark.parametrize(
    "name", ["age", "Größe (cm)", "price in €", "cost of living", "rock and roll", "a b", "3 rooms"]
)
def test_plain_names_stand_in_rules_as_they_are(name: str) -> None:
    """Only names that could be read as something else are quoted."""
    assert column_text(name) == name


def test_nested_conditions_keep_their_shape() -> None:
    """Parentheses are kept where they matter."""
    meaning = parse_rule('(age > 60 or smoker = "yes") and (rooms = 1 or sold_at (year) > 2021)', COLUMNS)
    assert isinstance(meaning, AllOf)
    assert all(isinstance(part, AnyOf) for part in meaning.parts)
