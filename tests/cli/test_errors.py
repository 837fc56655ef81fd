"""A table of mistakes and the one sentence that each gets."""

import gzip
import io
import shutil
from dataclasses import dataclass, field

import polars as pl
import pytest

from commands import HOUSES, fit_houses, houses, run, write

FIT = ("fit", "t.csv", "-t", "price", "-o", "new.dln")
PREDICT = ("predict", "house.dln", "t.csv", "-o", "new.csv")


def parquet(frame: pl.DataFrame) -> bytes:
    """Return a table as the bytes of a Parquet file."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def changed(column: str, row: int, value: object) -> str:
    """Return the houses as CSV with one value changed; rows are counted from 1."""
    values = HOUSES[column].cast(pl.String).to_list()
    values[row - 1] = value
    return houses(**{column: values})


@dataclass(frozen=True)
class Case:
    """The command, the files, and the sentence expected; after … the rest is typer's own."""

    arguments: tuple[str, ...]
    sentence: str
    files: dict[str, str | bytes] = field(default_factory=dict)
    stdin: bytes | None = None


CASES = {
    # --- files ---
    "no such file": Case(FIT, "there is no file 't.csv': check its name and folder"),
    "misspelt file": Case(
        ("fit", "hoses.csv", "-t", "price", "-o", "new.dln"),
        "there is no file 'hoses.csv'; did you mean 'houses.csv'?",
        {"houses.csv": houses()},
    ),
    "a folder": Case(
        ("fit", ".", "-t", "price", "-o", "new.dln"), "'.' is a folder: give a CSV, TSV or Parquet file in it"
    ),
    "empty file": Case(FIT, "t.csv is empty: give a table with a header and at least one row", {"t.csv": ""}),
    "only blank lines": Case(
        FIT, "t.csv is empty: give a table with a header and at least one row", {"t.csv": "\n \n\n"}
    ),
    "only a header": Case(
        FIT,
        "t.csv has a header but no rows: give a table with at least one row below the header",
        {"t.csv": "area,price\n"},
    ),
    "no header": Case(
        FIT,
        "the first line of t.csv must name the columns, but it holds only numbers: add a header line",
        {"t.csv": "1.5,2\n2.5,3\n"},
    ),
    "one column": Case(
        FIT,
        "t.csv has only one column, 'price': a table needs the target and at least one more (separated by commas, "
        "semicolons, tabs or |)",
        {"t.csv": "price\n1\n2\n"},
    ),
    "duplicate names": Case(
        FIT,
        "t.csv: columns 1 and 3 have the name 'area': give each its own in the header",
        {"t.csv": "area,price,area\n1,2,3\n"},
    ),
    "two columns without a name": Case(
        FIT,
        "t.csv: columns 1 and 2 have no name: give each its own in the header",
        {"t.csv": ",,price\n1,2,3\n"},
    ),
    "a line too long": Case(
        FIT,
        "t.csv: row 2 (line 3) has 3 fields, but the header names 2 columns: correct that line",
        {"t.csv": "area,price\n1,2\n1,2,3\n"},
    ),
    "a line too short": Case(
        FIT,
        "t.csv: row 1 (line 2) has 1 fields, but the header names 2 columns: correct that line",
        {"t.csv": "area,price\n1\n1,2\n"},
    ),
    "Latin-1": Case(
        FIT,
        "t.csv must be UTF-8 text, but line 3 holds the byte 0xe9: convert it, for example with "
        "iconv -f latin1 -t utf-8",
        {"t.csv": "area,town,price\n1,Oslo,2\n1,Orléans,2\n".encode("latin-1")},
    ),
    "mixed encodings": Case(
        FIT,
        "t.csv must be UTF-8 text, but line 3 holds the byte 0xf8: convert it, for example with "
        "iconv -f latin1 -t utf-8",
        {"t.csv": "area,town,price\n1,Tromsø,2\n".encode() + "1,Bodø,2\n".encode("latin-1")},
    ),
    "UTF-16": Case(
        FIT,
        "t.csv is UTF-16 text: save it as UTF-8, for example with iconv -f utf-16 -t utf-8",
        {"t.csv": "area,price\n1,2\n".encode("utf-16")},
    ),
    "binary": Case(
        FIT,
        "t.csv is a binary file: dln reads CSV, TSV and Parquet, plain or gzipped",
        {"t.csv": b"\x7fELF\0\0\0\0"},
    ),
    "Excel": Case(
        ("fit", "t.xlsx", "-t", "price", "-o", "new.dln"),
        "t.xlsx is an Excel workbook: save the table in it as CSV or Parquet first",
        {"t.xlsx": b"PK\x03\x04rest"},
    ),
    "a zip archive": Case(
        FIT, "t.csv is a zip archive: save the table in it as CSV or Parquet first", {"t.csv": b"PK\x03\x04rest"}
    ),
    "JSON": Case(
        ("fit", "t.json", "-t", "price", "-o", "new.dln"),
        "t.json holds JSON: dln reads CSV, TSV and Parquet, plain or gzipped",
        {"t.json": '[{"price": 1}]'},
    ),
    "gzip cut short": Case(
        ("fit", "t.csv.gz", "-t", "price", "-o", "new.dln"),
        "t.csv.gz is a damaged gzip file, perhaps cut short: fetch or zip it again",
        {"t.csv.gz": gzip.compress(houses().encode())[:-20]},
    ),
    "Parquet cut short": Case(
        ("fit", "t.parquet", "-t", "price", "-o", "new.dln"),
        "t.parquet is a damaged Parquet file, perhaps cut short: fetch or write it again",
        {"t.parquet": parquet(HOUSES)[:-20]},
    ),
    "no Parquet at all": Case(
        ("fit", "t.parquet", "-t", "price", "-o", "new.dln"),
        "t.parquet is named like a Parquet file but does not begin like one: fetch or write it again",
        {"t.parquet": houses()},
    ),
    "empty standard input": Case(
        ("fit", "-", "-t", "price", "-o", "new.dln"),
        "standard input is empty: give a table with a header and at least one row",
        stdin=b"",
    ),
    # --- columns ---
    "misspelt target": Case(
        ("fit", "t.csv", "-t", "prise", "-o", "new.dln"),
        "--target: t.csv has no column 'prise'; did you mean 'price'?",
        {"t.csv": houses()},
    ),
    "target in other case": Case(
        ("fit", "t.csv", "-t", "PRICE", "-o", "new.dln"),
        "--target: t.csv has no column 'PRICE'; did you mean 'price'?",
        {"t.csv": houses()},
    ),
    "no such target": Case(
        ("fit", "t.csv", "-t", "y", "-o", "new.dln"),
        "--target: t.csv has no column 'y'; there are 'area', 'price'",
        {"t.csv": "area,price\n1,2\n"},
    ),
    "misspelt column to drop": Case(
        (*FIT, "--drop", "aera"), "--drop: t.csv has no column 'aera'; did you mean 'area'?", {"t.csv": houses()}
    ),
    "misspelt categories": Case(
        (*FIT, "--categorical", "distrikt"),
        "--categorical: t.csv has no column 'distrikt'; did you mean 'district'?",
        {"t.csv": houses()},
    ),
    "misspelt weight": Case(
        (*FIT, "--weight", "aria"), "--weight: t.csv has no column 'aria'; did you mean 'area'?", {"t.csv": houses()}
    ),
    "target dropped": Case(
        (*FIT, "--drop", "price"),
        "the column 'price' was given to both --target and --drop: it can only be one of them",
        {"t.csv": houses()},
    ),
    "text in the target": Case(
        FIT,
        "the target 'price' must hold numbers, but row 3 of t.csv holds 'cheap': correct it, or choose another column",
        {"t.csv": changed("price", 3, "cheap")},
    ),
    "a target of text": Case(
        ("fit", "t.csv", "-t", "district", "-o", "new.dln"),
        "the target 'district' must hold numbers, but row 1 of t.csv holds 'centre' (and 59 more): correct it, or "
        "choose another column; of two classes, one can be written as 1 and the other as 0",
        {"t.csv": houses()},
    ),
    "a target of dates": Case(
        ("fit", "t.parquet", "-t", "sold_at", "-o", "new.dln"),
        "the target 'sold_at' must hold numbers, but it holds dates: choose another column",
        {"t.parquet": parquet(HOUSES.with_columns(pl.col("sold_at").str.to_date()))},
    ),
    "an infinite target": Case(
        FIT,
        "the target 'price' must hold numbers, but row 4 of t.csv holds 'inf': correct it, or choose another column",
        {"t.csv": changed("price", 4, "inf")},
    ),
    "a target that is missing everywhere": Case(
        FIT,
        "the target 'price' is missing in every row of t.csv: give rows where it is known",
        {"t.csv": houses(price=[None] * 60)},
    ),
    "a constant target": Case(
        FIT,
        "the target 'price' is 7 in every row of t.csv: there is nothing to learn",
        {"t.csv": houses(price=[7] * 60)},
    ),
    "text among numbers": Case(
        FIT,
        "column 'area' holds numbers, but row 57 of t.csv holds 'big': correct it, or give --missing 'big', "
        "--categorical 'area' or --drop 'area'",
        {"t.csv": changed("area", 57, "big")},
    ),
    "text among dates": Case(
        FIT,
        "column 'sold_at' holds dates, but row 9 of t.csv holds 'soon': correct it, or give --missing 'soon', "
        "--categorical 'sold_at' or --drop 'sold_at'",
        {"t.csv": changed("sold_at", 9, "soon")},
    ),
    "an infinite number": Case(
        FIT,
        "column 'area' holds numbers, but row 2 of t.csv holds 'inf': correct it, or give --missing 'inf', "
        "--categorical 'area' or --drop 'area'",
        {"t.csv": changed("area", 2, "inf")},
    ),
    "a negative weight": Case(
        (*FIT, "--weight", "area"),
        "the weight 'area' must be 0 or more in every row, but row 5 of t.csv holds -1: correct it, "
        "or leave the row out",
        {"t.csv": changed("area", 5, "-1")},
    ),
    "a missing weight": Case(
        (*FIT, "--weight", "area"),
        "the weight 'area' must be 0 or more in every row, but row 5 of t.csv holds nothing: correct it, "
        "or leave the row out",
        {"t.csv": changed("area", 5, "")},
    ),
    "weights of zero": Case(
        (*FIT, "--weight", "area"),
        "the weight 'area' is 0 in every row of t.csv: give some rows a weight above 0",
        {"t.csv": houses(area=[0] * 60)},
    ),
    "nothing to learn from": Case(
        FIT,
        "t.csv has no column to learn from besides the target 'price' ('country': it is the same in every row)",
        {"t.csv": HOUSES.select("country", "price").write_csv()},
    ),
    "too few rows": Case(
        FIT,
        "t.csv has 3 rows with a target, but at least 10 are needed to learn from",
        {"t.csv": "area,price\n1,2\n2,3\n3,5\n"},
    ),
    "lines above the header": Case(
        FIT,
        "t.csv: the first line, '# exported', names one column, but line 2 has 2 fields: begin the file with the names "
        "of all columns",
        {"t.csv": "# exported\narea,price\n1,2\n"},
    ),
    "one row": Case(
        FIT, "t.csv has 1 row with a target, but at least 10 are needed to learn from", {"t.csv": "area,price\n1,2\n"}
    ),
    # --- options ---
    "no target": Case(
        ("fit", "t.csv", "-o", "new.dln"),
        "missing option '--target' / '-t' (dln --help lists commands and options)",
        {"t.csv": houses()},
    ),
    "no output": Case(
        ("fit", "t.csv", "-t", "price"),
        "missing option '--output' / '-o' (dln --help lists commands and options)",
        {"t.csv": houses()},
    ),
    "a model on standard output": Case(
        ("fit", "t.csv", "-t", "price", "-o", "-"),
        "a model cannot be written to standard output: give -o the name of a file, like house.dln",
        {"t.csv": houses()},
    ),
    "an output that is there": Case(
        ("fit", "t.csv", "-t", "price", "-o", "old.dln"),
        "'old.dln' is there already and was not touched: give another name, or --force to replace it",
        {"t.csv": houses(), "old.dln": "precious"},
    ),
    "no folder for the output": Case(
        ("fit", "t.csv", "-t", "price", "-o", "models/new.dln"),
        "there is no folder 'models' to write 'new.dln' into: make it first",
        {"t.csv": houses()},
    ),
    "a folder as output": Case(
        ("fit", "t.csv", "-t", "price", "-o", "."),
        "'.' is a folder: give the name of a file in it",
        {"t.csv": houses()},
    ),
    "test size above 1": Case(
        (*FIT, "--test-size", "25"), "--test-size must be at least 0 and below 1, got 25", {"t.csv": houses()}
    ),
    "test size too small": Case(
        (*FIT, "--test-size", "0.01"),
        "--test-size 0.01 of 60 rows leaves too few rows to test on or to learn from",
        {"t.csv": houses()},
    ),
    "a time that is none": Case(
        (*FIT, "--time-limit", "soon"),
        "--time-limit must be a length of time above zero like 90s, 10m or 1h, got 'soon'",
        {"t.csv": houses()},
    ),
    "no rules": Case(
        (*FIT, "--max-rules", "0"),
        "invalid value for '--max-rules': …",
        {"t.csv": houses()},
    ),
    "a seed that is none": Case(
        (*FIT, "--seed", "lucky"),
        "invalid value for '--seed': …",
        {"t.csv": houses()},
    ),
    "misspelt option": Case(
        (*FIT, "--max-rule", "3"),
        "no such option: --max-rule …",
        {"t.csv": houses()},
    ),
    "misspelt command": Case(("fitt", "t.csv"), "no such command 'fitt'. …"),
    # --- predict ---
    "no such model": Case(
        ("predict", "none.dln", "t.csv", "-o", "new.csv"),
        "there is no file 'none.dln': check its name and folder",
        {"t.csv": houses()},
    ),
    "model and table swapped": Case(
        ("predict", "t.csv", "house.dln", "-o", "new.csv"),
        "'t.csv' is named like a table, but the model file comes first, as in: dln predict house.dln new.csv",
        {"t.csv": houses()},
    ),
    "a missing column": Case(
        PREDICT,
        "house.dln needs the column 'area', but t.csv has none; did you mean 'aera'?",
        {"t.csv": HOUSES.rename({"area": "aera"}).write_csv()},
    ),
    "text where numbers were": Case(
        PREDICT,
        "column 'area' must hold numbers, as it did when the model was fitted, but row 60 of t.csv holds 'big': "
        "correct it, or leave it empty",
        {"t.csv": changed("area", 60, "big")},
    ),
    "dates where numbers were": Case(
        ("predict", "house.dln", "t.parquet", "-o", "new.csv"),
        "column 'area' must hold numbers, as it did when the model was fitted, but in t.parquet it holds dates",
        {"t.parquet": parquet(HOUSES.with_columns(area=pl.date(2020, 1, 1)))},
    ),
    "nothing to predict": Case(
        PREDICT,
        "t.csv has a header but no rows: there is nothing to predict",
        {"t.csv": HOUSES.head(0).write_csv()},
    ),
    "predictions in Excel": Case(
        ("predict", "house.dln", "t.csv", "-o", "new.xlsx"),
        "the output 'new.xlsx' must end in .csv, .tsv, .csv.gz, .tsv.gz or .parquet, or be - for standard output",
        {"t.csv": houses()},
    ),
    "predictions that are there": Case(
        ("predict", "house.dln", "t.csv", "-o", "old.csv"),
        "'old.csv' is there already and was not touched: give another name, or --force to replace it",
        {"t.csv": houses(), "old.csv": "precious"},
    ),
    "a column named prediction": Case(
        (*PREDICT, "--with-input"),
        "t.csv has a column 'prediction' already: rename it, or leave out --with-input",
        {"t.csv": houses(prediction=[1] * 60)},
    ),
    "JSON where predictions go": Case(
        ("predict", "house.dln", "t.csv", "--json"),
        "--json prints a summary where the predictions would go: give -o a file for the predictions",
        {"t.csv": houses()},
    ),
    # --- explain, plot, show ---
    "a row that is not there": Case(
        ("explain", "house.dln", "t.csv", "--row", "61"),
        "--row must be one of the 60 rows of t.csv, got 61",
        {"t.csv": houses()},
    ),
    "row zero": Case(
        ("explain", "house.dln", "t.csv", "--row", "0"), "invalid value for '--row': …", {"t.csv": houses()}
    ),
    "a picture in Word": Case(
        ("plot", "house.dln", "-o", "m.docx"), "a picture's name must end in .svg, .png or .pdf, got 'm.docx'"
    ),
    "a picture that is there": Case(
        ("plot", "house.dln", "-o", "m.svg"),
        "'m.svg' is there already and was not touched: give another name, or --force to replace it",
        {"m.svg": "precious"},
    ),
    "a table to show": Case(
        ("show", "t.csv"),
        "'t.csv' is named like a table, but the model file comes first, as in: dln predict house.dln new.csv",
        {"t.csv": houses()},
    ),
}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Fit once; every case gets a copy."""
    return fit_houses(tmp_path_factory.mktemp("model"))


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_gets_one_sentence(name, model, tmp_path, monkeypatch):
    """Bad input ends with exit code 2 and one sentence on standard error, writes nothing and touches no file."""
    case = CASES[name]
    write(tmp_path, case.files)
    shutil.copy(model, tmp_path)
    monkeypatch.chdir(tmp_path)
    result = run(*case.arguments, stdin=case.stdin)
    sentence, ours, _ = case.sentence.partition("…")
    assert result.stderr.startswith(f"dln: {sentence}") if ours else result.stderr == f"dln: {sentence}\n"
    assert result.stderr.count("\n") == 1
    assert result.exit_code == 2
    assert result.stdout == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*case.files, "house.dln"])
    for file, content in case.files.items():
        assert (tmp_path / file).read_bytes() == (content.encode() if isinstance(content, str) else content)


def test_the_table_of_mistakes_is_long_enough():
    """At least forty kinds of bad input are refused in a sentence."""
    assert len(CASES) >= 40


@pytest.mark.parametrize("cut", [0, 1, 10, 100, 0.5, 0.99])
def test_a_damaged_model_gets_one_sentence(cut, model, tmp_path):
    """A model file that was cut off is refused in one line that names it."""
    whole = model.read_bytes()
    (tmp_path / "cut.dln").write_bytes(whole[: cut if isinstance(cut, int) else int(cut * len(whole))])
    result = run("show", str(tmp_path / "cut.dln"))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert "cut.dln" in result.stderr
