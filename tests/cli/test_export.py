"""``dln export`` and ``dln verify``: files, messages and exit codes."""

import json

import pytest

from commands import fit_houses, run
from exported import engine


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A model of the houses, and their table beside it."""
    return fit_houses(tmp_path_factory.mktemp("house"))


def test_a_model_is_exported_and_verified(house, tmp_path):
    """`dln export` names the file and the engine that ran it; `dln verify` runs it again, on a table too."""
    for name in ("price.py", "price.sql"):
        path = str(tmp_path / name)
        options = ["--dialect", "sqlite", "--table", "houses"] if name.endswith("sql") else []
        result = run("export", str(house), "-o", path, *options)
        assert result.exit_code == 0, result.stderr
        assert "every bit as predicted by the model" in result.stderr
        alone = json.loads(run("verify", str(house), path, "--json").stdout)
        assert alone["equal"] is True
        result = run("verify", str(house), path, str(house.parent / "houses.csv"))
        assert result.exit_code == 0, result.stderr
        assert f"on {alone['rows'] + 60} rows, every bit as predicted by the model" in result.stdout


def test_an_export_in_json(house, tmp_path):
    """`dln export --json` prints the file, its format and the engine that ran it."""
    path = str(tmp_path / "price.py")
    document = json.loads(run("export", str(house), "-o", path, "--json").stdout)
    assert (document["file"], document["format"]) == (path, "python")
    assert document["engine"] in document["note"]
    assert run("export", str(house), "-o", "-", "--format", "python", "--json").exit_code == 2


def test_a_wrong_file_ends_with_exit_code_one(house, tmp_path):
    """A changed weight is reported with the first row that differs."""
    path = tmp_path / "price.py"
    run("export", str(house), "-o", str(path), "-q")
    text = path.read_text()
    path.write_text(text.replace("INTERCEPT = ", "INTERCEPT = 1 + "))
    result = run("verify", str(house), str(path))
    assert result.exit_code == 1
    assert "rows differ from the model, the first at row 0" in result.stderr
    result = run("verify", str(house), str(path), "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["equal"] is False


def test_standard_output_needs_a_format(house):
    """A pipe has no ending: with `--format` the text goes there, without it gets a sentence."""
    result = run("export", str(house), "-o", "-", "--format", "python")
    assert result.exit_code == 0
    assert "def predict(row):" in result.stdout
    result = run("export", str(house), "-o", "-")
    assert result.exit_code == 2
    assert "standard output has no ending that names a format" in result.stderr


def test_what_is_there_is_not_overwritten(house, tmp_path):
    """A file that is there stays, unless forced."""
    path = tmp_path / "price.py"
    path.write_text("mine")
    assert run("export", str(house), "-o", str(path)).exit_code == 2
    assert path.read_text() == "mine"
    assert run("export", str(house), "-o", str(path), "--force", "--no-verify").exit_code == 0


def test_mistakes_get_one_sentence(house, tmp_path):
    """Endings, dialects and options that are not there are named, with what there is."""
    for name, options, message in (
        ("price.docx", [], "names no format"),
        ("price.sql", ["--dialect", "dbase"], "dialect must be one of duckdb"),
        ("price.py", ["--integers"], "python has no option 'integers'"),
        ("price.c", ["--dialect", "sqlite"], "c has no option 'dialect', only integers, name"),
    ):
        result = run("export", str(house), "-o", str(tmp_path / name), *options)
        assert result.exit_code == 2
        assert result.stderr.startswith("dln: ")
        assert message in result.stderr
        assert result.stderr.count("\n") == 1
    assert (
        "was not verified"
        not in run("export", str(house), "-o", str(tmp_path / "s.sql"), "--dialect", "snowflake").stderr
    )
    result = run("verify", str(house), str(tmp_path / "s.sql"))
    assert result.exit_code == 2
    assert "s.sql cannot be verified here: dln runs SQL in SQLite and DuckDB only" in result.stderr


def test_every_option_reaches_its_writer(house, tmp_path):
    """Whole numbers for C, columns of contributions for SQL, registers for Verilog."""
    engine("c")
    run("export", str(house), "-o", str(tmp_path / "a.c"), "--integers", "--name", "cost")
    assert "int64_t cost_steps(" in (tmp_path / "a.c").read_text()
    run("export", str(house), "-o", str(tmp_path / "a.sql"), "--contributions", "--no-verify")
    assert '"rule_1"' in (tmp_path / "a.sql").read_text()
    run("export", str(house), "-o", str(tmp_path / "a.v"), "--latency", "2", "--no-verify")
    assert "posedge clk" in (tmp_path / "a.v").read_text()
