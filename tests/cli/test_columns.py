"""The kinds of columns on the command line."""

import polars as pl
import pytest

from commands import HOUSES, houses, write
from dln.circuit._circuit import Above, Circuit, Column, IsIn, Rule
from dln.cli._messages import UsageError
from dln.cli._model_columns import model_columns, needed_columns
from dln.cli._table_file import open_table
from dln.cli._training_table import ColumnOptions, learnable
from dln.data._text_values import number


def found(tmp_path, text, **chosen):
    """Return what was learned from a CSV text with the target price."""
    write(tmp_path, {"t.csv": text})
    with open_table(str(tmp_path / "t.csv")) as file:
        return learnable(file, file.read(), ColumnOptions("price", **chosen))


def column(tmp_path, values, **chosen):
    """Return what a column x of text is taken for, and the columns that are made of it."""
    frame = pl.DataFrame({"x": values, "other": [3 * i % 7 for i in range(len(values))], "price": range(len(values))})
    result = found(tmp_path, frame.write_csv(quote_style="non_numeric"), **chosen)
    return result.facts[0].kind, result.facts[0].detail, result.X.drop("other")


def test_kinds_are_found_as_a_person_would(tmp_path):
    """Numbers, categories, truth values and dates are distinguished; ids and constants are left out with a reason."""
    result = found(tmp_path, houses())
    assert {entry.name: (entry.kind, entry.detail) for entry in result.facts} == {
        "id": ("left out", "every row has a number of its own, and its name says so too"),
        "area": ("numbers", ""),
        "district": ("categories", "3"),
        "garage": ("yes or no", ""),
        "sold_at": ("dates", "year, month, weekday"),
        "country": ("left out", "it is the same in every row"),
    }
    assert dict(result.X.schema) == {
        "area": pl.Float64,
        "district": pl.String,
        "garage": pl.Boolean,
        "sold_at (year)": pl.Float64,
        "sold_at (month)": pl.Float64,
        "sold_at (weekday)": pl.String,
    }
    assert result.y.equals(HOUSES["price"].cast(pl.Float64))


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        (["1", " 2.5", "-3e2", ""], [1.0, 2.5, -300.0, None]),
        (["NA", "4", "n/a", "?"], [None, 4.0, None, None]),
        (["$1,250", "€ 3.50", "-7", "12 %"], [1250.0, 3.5, -7.0, 12.0]),
        (["1 250", "-12\u00a0345\u202f678.5", "7", "€ 1 000"], [1250.0, -12345678.5, 7.0, 1000.0]),
    ],
)
def test_numbers_are_read_as_people_write_them(tmp_path, values, numbers):
    """Money, percent signs, thousands and the usual words for a missing value stand in columns of numbers."""
    kind, _, made = column(tmp_path, values * 3)
    assert kind == "numbers"
    assert made["x"].to_list() == numbers * 3


def test_dates_with_points_are_no_numbers(tmp_path):
    """Where commas are decimal, points separate thousands, but 29.07.2020 is a date, and 2.5 is not read as 25."""
    lines = [f"1.25{i},5;{i % 28 + 1:02d}.07.202{i % 4};{i}" for i in range(10)]
    (tmp_path / "t.csv").write_text("\n".join(["paid;sold;price", *lines]))
    with open_table(str(tmp_path / "t.csv")) as file:
        result = learnable(file, file.read(), ColumnOptions("price"))
    assert [fact.kind for fact in result.facts] == ["numbers", "dates"]
    assert result.X["paid"][1] == 1251.5
    assert result.X["sold (year)"].to_list()[:4] == [2020, 2021, 2022, 2023]
    assert number(pl.Series(["2.5", "1.250.000", "-1,5"]), decimal_comma=True).to_list() == [None, 1250000, -1.5]


def test_codes_that_begin_with_zero_are_categories(tmp_path):
    """A post code is not a number: 01067 and 1067 are different."""
    kind, _, made = column(tmp_path, ["01067", "80331", "01067", "20095"] * 3)
    assert kind == "categories"
    assert made["x"][0] == "01067"


@pytest.mark.parametrize(
    "dates",
    [
        ["2024-03-01", "2023-12-31"],
        ["1.3.2024", "31.12.2023"],
        ["2024-03-01 14:30", "2023-12-31 07:05"],
        ["2024-03-01T14:30:00Z", "2023-12-31T07:05:10.5+02:00"],
        ["2024/03/01", "2023/12/31"],
    ],
)
def test_dates_become_parts_with_names(tmp_path, dates):
    """Dates in any usual form are split into year, month, weekday and, where there is a clock, hour."""
    kind, detail, made = column(tmp_path, [*dates, ""] * 4)
    assert kind == "dates"
    assert made["x (year)"].to_list()[:3] == [2024.0, 2023.0, None]
    assert made["x (month)"].to_list()[:2] == [3.0, 12.0]
    assert made["x (weekday)"].to_list()[:2] == ["Friday", "Sunday"]
    if ":" in dates[0]:
        assert made["x (hour)"].to_list()[:2] == [14.0, 7.0]
    assert detail.startswith("year, month, weekday")


def test_day_and_month_are_not_guessed(tmp_path):
    """With slashes, the order of day and month is taken only if the column leaves no doubt, and its name holds it."""
    assert column(tmp_path, ["31/12/2023", "01/03/2024"] * 5)[2].columns[1] == "x (month of d/m/y)"
    assert column(tmp_path, ["12/31/2023", "03/01/2024"] * 5)[2]["x (month of m/d/y)"].to_list()[:2] == [12.0, 3.0]
    kind, detail, _ = column(tmp_path, ["03/01/2024", "04/02/2024"] * 5)
    assert (kind, detail) == ("left out", "its dates may be day/month or month/day: write them like 2024-12-31")


def test_what_only_names_a_row_is_left_out_unless_wanted(tmp_path):
    """Row counters and texts that all differ are left out with a reason; --keep and --categorical take them in."""
    counter = [str(i) for i in range(30)]
    assert column(tmp_path, counter)[:2] == ("left out", "it counts the rows")
    assert column(tmp_path, counter, keep=["x"])[0] == "numbers"
    names = [f"Mr {i}" for i in range(30)]
    assert column(tmp_path, names)[:2] == ("left out", "nearly every row has a text of its own")
    assert column(tmp_path, names, categorical=["x"])[0] == "categories"
    assert column(tmp_path, [""] * 30)[:2] == ("left out", "it is empty")


def test_wishes_are_followed(tmp_path):
    """Columns are dropped, taken as categories and used as weights as wished; text can be named as missing."""
    result = found(tmp_path, houses(), drop=["district"], categorical=["area"], weight="id")
    assert {entry.name: entry.detail for entry in result.facts}["district"] == "as you asked"
    assert result.X["area"].dtype == pl.String
    assert result.weight is not None
    assert result.weight.to_list() == list(range(501, 561))
    made = column(tmp_path, ["1", "2", "none yet", "3"] * 5, missing=["none yet"])[2]
    assert made["x"].to_list()[:4] == [1.0, 2.0, None, 3.0]


def test_rows_without_a_target_are_left_out(tmp_path):
    """A row whose target is missing is not learned from, and counted."""
    prices: list[object] = HOUSES["price"].to_list()
    result = found(tmp_path, houses(price=[None, *prices[1:-1], None]))
    assert result.n_without_target == 2
    assert result.X.height == len(result.y) == 58


def test_parquet_types_are_kept(tmp_path):
    """Typed columns are taken by their types; lists, bytes and durations are left out with a reason."""
    frame = HOUSES.with_columns(
        pl.col("sold_at").str.to_datetime().dt.replace_time_zone("Europe/Oslo"),
        digits=(pl.col("id") % 7).cast(pl.String),
        lists=pl.concat_list("area"),
        short=pl.col("area").cast(pl.Float32),
    )
    frame.write_parquet(tmp_path / "t.parquet")
    with open_table(str(tmp_path / "t.parquet")) as file:
        result = learnable(file, file.read(), ColumnOptions("price"))
    kinds = {entry.name: entry.kind for entry in result.facts}
    assert kinds["sold_at"] == "dates"
    assert kinds["digits"] == "categories"
    assert kinds["short"] == "numbers"
    assert [entry.detail for entry in result.facts if entry.name == "lists"] == ["it holds lists"]


@pytest.mark.parametrize("form", ["csv", "parquet", "tsv"])
def test_prediction_makes_the_same_columns_again(tmp_path, form):
    """The names of a model's columns are enough to make them from any file format: dates are split as they were."""
    learned = found(tmp_path, houses()).X
    columns = tuple(
        Column(name, None if dtype == pl.Float64 else (False, True) if dtype == pl.Boolean else ("centre", "hills"))
        for name, dtype in learned.schema.items()
    )
    literals = [Above(j, 3.0) if column.categories is None else IsIn(j, (0,)) for j, column in enumerate(columns)]
    circuit = Circuit(columns, tuple(literals), (), (Rule(0, 1.0),), 0.0, 0)
    typed = HOUSES.with_columns(pl.col("sold_at").str.to_date(), pl.col("garage") == "true")
    path = tmp_path / f"new.{form}"
    if form == "parquet":
        typed.write_parquet(path)
    else:
        HOUSES.write_csv(path, separator="\t" if form == "tsv" else ",")
    with open_table(str(path)) as file:
        assert "id" not in needed_columns(file, circuit, "model")
        again = model_columns(file, file.read(), circuit)
    assert again.equals(learned)


def test_columns_that_no_rule_reads_may_be_missing(tmp_path):
    """A table to predict for needs only the columns that rules read."""
    circuit = Circuit((Column("area"), Column("unused")), (Above(0, 3.0),), (), (Rule(0, 1.0),), 0.0, 0)
    write(tmp_path, {"t.csv": houses()})
    with open_table(str(tmp_path / "t.csv")) as file:
        assert needed_columns(file, circuit, "model") == ["area"]
        assert model_columns(file, file.read(), circuit)["unused"].null_count() == 60
    needed = Circuit(circuit.columns, (Above(1, 3.0),), (), (Rule(0, 1.0),), 0.0, 0)
    with open_table(str(tmp_path / "t.csv")) as file, pytest.raises(UsageError, match="needs the column 'unused'"):
        needed_columns(file, needed, "model")


@pytest.mark.parametrize(
    ("values", "detail"),
    [
        (["1", "2", "", "4"], "1 missing"),
        (["1", "2", "unknown", "4", "NA", " - "], "3 missing, 2 of them written 'unknown', '-'"),
        (["a", "b", None, "a"], "2, 1 missing"),
        (["true", "false", "?", "true"], "1 missing"),
        (["2024-01-01", "2025-01-01", "none", "2025-01-01"], "year, weekday, 1 missing, 1 of them written 'none'"),
        (["1", "2", "9007199254740993", "4"], "rounded: some are above 2^53"),
    ],
)
def test_missing_values_are_counted(tmp_path, values, detail):
    """Missing values of a column are counted, and the words read as missing among numbers and dates are listed."""
    assert column(tmp_path, values)[1] == detail


def test_identifiers_are_exact(tmp_path):
    """Whole numbers beyond 2^53 are exact as categories, and refused where a float column may have rounded them."""
    ids = pl.Series("x", [2**60, 2**60 + 1, None] * 4)
    for numbers, expected in ((ids, {str(2**60), str(2**60 + 1), None}), (ids.cast(pl.Float64), None)):
        pl.DataFrame([numbers]).with_columns(price=pl.int_range(12)).write_parquet(tmp_path / "t.parquet")
        with open_table(str(tmp_path / "t.parquet")) as file:
            if expected is None:
                with pytest.raises(UsageError, match=r"categories of column 'x' must be exact.*give whole numbers"):
                    learnable(file, file.read(), ColumnOptions("price", categorical=["x"]))
            else:
                X = learnable(file, file.read(), ColumnOptions("price", categorical=["x"])).X
                assert set(X["x"]) == expected


def test_a_part_of_a_date_that_no_rule_reads_is_not_made(tmp_path):
    """A model that reads the month only needs the dates, and no other part of them."""
    circuit = Circuit(
        (Column("sold_at (year)"), Column("sold_at (month)")), (Above(1, 3.0),), (), (Rule(0, 1.0),), 0.0, 0
    )
    write(tmp_path, {"t.csv": houses()})
    with open_table(str(tmp_path / "t.csv")) as file:
        assert needed_columns(file, circuit, "model") == ["sold_at"]
        made = model_columns(file, file.read(), circuit)
    assert made["sold_at (year)"].null_count() == 60
    assert made["sold_at (month)"].to_list() == [int(day[5:7]) for day in HOUSES["sold_at"]]
