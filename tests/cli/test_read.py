"""Tables from files and pipes."""

import gzip
import io
import sys
from datetime import datetime

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commands import HOUSES, houses
from dln.cli._messages import UsageError
from dln.cli._table_file import open_table
from dln.cli._training_table import ColumnOptions, learnable
from dln.data import _text_values as values


def as_bytes(form):
    """Return the houses in a file format."""
    buffer = io.BytesIO()
    if form.startswith("parquet"):
        HOUSES.write_parquet(buffer)
    else:
        separator = {"csv": ",", "tsv": "\t", "semicolon": ";", "pipe": "|"}[form.partition(".")[0]]
        HOUSES.write_csv(buffer, separator=separator)
    data = buffer.getvalue()
    return gzip.compress(data) if form.endswith(".gz") else data


FORMS = ["csv", "tsv", "semicolon", "pipe", "parquet", "csv.gz", "tsv.gz", "parquet.gz"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["t.dat", "-"])
def test_a_table_is_read_whatever_its_name(form, name, tmp_path, monkeypatch):
    """Formats, separators and gzip are found from the content, in files and through pipes."""
    data = as_bytes(form)
    (tmp_path / "t.dat").write_bytes(data)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    with open_table(name) as file:
        frame = file.read()
        assert file.names == tuple(HOUSES.columns)
    expected = HOUSES if form.startswith("parquet") else pl.read_csv(houses().encode(), infer_schema=False)
    assert frame.equals(expected)


def test_a_decimal_comma_is_noticed(tmp_path):
    """With semicolons as separators, a comma may be the decimal point."""
    path = tmp_path / "t.csv"
    path.write_text("area;price\n1,5;2,25\n1.250,5;3\n")
    with open_table(str(path)) as file:
        assert file.decimal_comma
    path.write_text("area;price\n1.5;2.25\n")
    with open_table(str(path)) as file:
        assert not file.decimal_comma


def test_marks_and_blanks_in_a_header_do_not_matter(tmp_path):
    """A byte order mark, blanks around names, quoted names and Windows line ends are no part of a name."""
    path = tmp_path / "t.csv"
    path.write_bytes('\ufeffarea, "floor, top" ,price\r\n1,2,3\r\n'.replace(' "', '"').replace('" ', '"').encode())
    with open_table(str(path)) as file:
        assert file.names == ("area", "floor, top", "price")
        assert file.read().row(0) == ("1", "2", "3")


PIECES = [
    b'"',
    b"\n",
    b"\r\n",
    b";",
    b"\t",
    b",,",
    b"|",
    b"\0",
    b"\xe9",
    b"inf",
    b"1e999",
    b"31/12/2020",
    b"9" * 60,
    b"\xef\xbb\xbf",
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cut=st.integers(0, 400),
    edits=st.lists(st.tuples(st.integers(0, 400), st.integers(0, 9), st.sampled_from(PIECES)), max_size=6),
)
def test_a_damaged_text_is_a_table_or_a_mistake(cut, edits, tmp_path):
    """Whatever is done to a text file, it is read or refused in one sentence; nothing else is raised."""
    data = bytearray(houses().encode()[: 400 - cut or None])
    for place, length, piece in edits:
        data[place : place + length] = piece
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    sentence = ""
    try:
        with open_table(str(path)) as file:
            learnable(file, file.read(), ColumnOptions(file.names[-1]))
    except UsageError as error:
        sentence = str(error)
    assert "\n" not in sentence
    assert len(sentence) < 2000


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_read_exactly(number):
    """A number written in full is read back bit for bit, also with thousands separated."""
    assert values.number(pl.Series([repr(number)])).to_list() == [number]
    if number.is_integer() and abs(number) < 1e15:
        assert values.number(pl.Series([f" {number:,.0f} "])).to_list() == [number]


@given(st.datetimes(min_value=datetime(1900, 1, 1)), st.sampled_from(values.PLAIN_FORMATS))  # noqa: DTZ001 (a clock on a wall)
def test_dates_are_read_in_any_plain_format(moment, form):
    """A date in one of the formats that cannot be mistaken is read back to the precision that the format has."""
    text = moment.strftime(form.replace("%.f", ".%f"))
    assert values.date(pl.Series([text])).to_list() == [datetime.strptime(text, form.replace("%.f", ".%f"))]  # noqa: DTZ007
