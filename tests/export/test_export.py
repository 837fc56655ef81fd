"""`export`, `verify` and the `to_…` methods: options reach their writers, and mistakes get a sentence."""

import ast
import io
import json
import re
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import openpyxl
import pytest
import sqlglot

import dln
from circuits import layered_circuit
from dln import ExportError, NotVerifiedWarning, RuleRegressor, VerificationError
from dln.circuit._circuit import Above, Circuit, Column, IsIn, Rule
from dln.export import _methods
from dln.export._cases import cases
from dln.export._engines import node
from dln.export._form import lower
from dln.export._sql import DIALECTS
from dln.export._verification import EngineMissing
from engines.chips import synthesise, verilator
from engines.spreadsheets import FEW_ROWS, run_formulas
from exported import CIRCUIT, HOSTILE, engine, hostile_circuit, write

ROW = {"bmi": 35.0, "smoker": "yes", "rooms": 2, "garage": True}


def model(circuit=CIRCUIT, target="charges"):
    """Return a model of a circuit, as if it had been fitted."""
    fitted = RuleRegressor()
    fitted.circuit_, fitted.target_name_ = circuit, target
    return fitted


def test_the_ending_chooses_the_format(tmp_path):
    """Each ending gives its own format, written, run and found equal."""
    for ending, name in {".c": "c", ".py": "python", ".mjs": "javascript", ".sql": "sql", ".onnx": "onnx"}.items():
        engine(name)
        done = model().export(tmp_path / f"price{ending}")
        assert done.format == name
        assert done.verification is not None
        assert done.verification.n_rows > 500
        assert str(done).endswith("every bit as predicted by the model")
    assert model().export(tmp_path / "price.txt", format="sql", dialect="sqlite").format == "sql"


def test_a_file_that_cannot_be_run_here_is_written_with_a_warning(tmp_path):
    """Files that dln does not run are written with a warning and have no `verify`; without `verify` nothing is run."""
    for name, options, reason in (
        ("price.sql", {"dialect": "snowflake"}, "dln runs SQL in SQLite and DuckDB only"),
        ("price.xlsx", {}, "dln runs no spreadsheet program"),
        ("price.v", {}, "dln runs no Verilog simulator"),
    ):
        with pytest.warns(NotVerifiedWarning, match=f"{name} was not verified: {reason}"):
            done = model().export(tmp_path / name, **options)
        assert done.verification is None
        assert done.path.stat().st_size > 0
        with pytest.raises(ExportError, match=f"{name} cannot be verified here: {reason}"):
            model().verify(done.path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model().export(tmp_path / "price.sql", dialect="bigquery", verify=False).verification is None


def test_a_wrong_export_is_not_written(tmp_path, monkeypatch):
    """If a writer errs, `export` raises and leaves no file behind."""
    right = _methods.TARGETS["python"]
    wrong = replace(right, writer=lambda form: right.write(form).replace(b"30.01", b"31"))
    monkeypatch.setitem(_methods.TARGETS, "python", wrong)
    with pytest.raises(VerificationError, match=r"rows differ from the model, the first at row \d+"):
        model().export(tmp_path / "price.py")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("price.docx", {}, "the ending of 'price.docx' names no format: use one of .c"),
        ("price.c", {"format": "cobol"}, "format must be one of c, sql"),
        ("price.c", {"dialect": "sqlite"}, "c has no option 'dialect', only integers, name"),
        ("price.onnx", {"latency": 3}, "onnx has no option 'latency'$"),
        ("price.sql", {"dialect": "dbase"}, "dialect must be one of duckdb"),
        ("price.sql", {"table": "a; DROP TABLE b"}, "table must be what may follow FROM"),
        ("price.v", {"latency": -1}, "latency must be a number of clock cycles"),
    ],
)
def test_a_wrong_option_gets_a_sentence(name, options, message, tmp_path):
    """Wrong options are refused before anything is written."""
    with pytest.raises(ExportError, match=message):
        model().export(tmp_path / name, **options)
    assert not list(tmp_path.iterdir())


def test_two_columns_of_one_name_are_refused():
    """Two columns of one name are refused by targets that read columns by name."""
    circuit = Circuit(
        (Column("x"), Column("x")), (Above(0, 1.0), Above(1, 2.0)), (), (Rule(0, 1.0), Rule(1, 2.0)), 0.0, 0
    )
    for write_it in (
        model(circuit).to_sql,
        model(circuit).to_javascript,
        model(circuit).to_python,
        model(circuit).to_c,
    ):
        with pytest.raises(ExportError, match="both named 'x': rename one"):
            write_it()


def test_mixed_categories_are_refused_where_a_column_has_one_type():
    """Text beside numbers in a column is fine in Python and JavaScript, and refused where it cannot be."""
    circuit = Circuit((Column("x", (1, "a")),), (IsIn(0, (0,)),), (), (Rule(0, 1.0),), 0.0, 0)
    assert "predict" in model(circuit).to_python()
    for write_it in (model(circuit).to_sql, model(circuit).to_onnx, model(circuit).to_c, model(circuit).to_excel):
        with pytest.raises(ExportError, match="make them all text"):
            write_it()


def test_verify_reads_how_a_file_was_exported(tmp_path):
    """`verify` needs no options: whole numbers, names, dialect and table stand in the file; rows may be added."""
    fitted = model()
    for name, options in {
        "a.c": {"integers": True, "name": "cost"},
        "b.sql": {"dialect": "sqlite", "table": "houses"},
    }.items():
        fitted.export(tmp_path / name, **options)
        alone = fitted.verify(tmp_path / name)
        X = np.array([[35.0, "yes", 1, True], [None, "no", 3, None]], dtype=object)
        assert fitted.verify(tmp_path / name, X).n_rows == alone.n_rows + 2
    text = (tmp_path / "b.sql").read_text()
    (tmp_path / "b.sql").write_text(text.replace("30.01", "30.02"))
    with pytest.raises(VerificationError, match="rows differ"):
        fitted.verify(tmp_path / "b.sql")
    (tmp_path / "b.sql").write_text(text.replace("SELECT", "SELEKT"))
    with pytest.raises(VerificationError, match=r"SQLite on b\.sql failed"):
        fitted.verify(tmp_path / "b.sql")


def test_equal_models_give_equal_files():
    """No time and no place is written: the same model gives the same bytes."""
    fitted = model()
    assert fitted.to_excel() == fitted.to_excel()
    assert fitted.to_onnx() == fitted.to_onnx()


# --- JavaScript -------------------------------------------------------------------------------------------------------


def javascript(tmp_path, code, circuit=CIRCUIT):
    """Run code beside the exported module and return what it prints."""
    try:
        program = node()
    except EngineMissing as missing:
        pytest.skip(f"JavaScript was not run: {missing}")
    (tmp_path / "model.mjs").write_text(model(circuit).to_javascript())
    (tmp_path / "main.mjs").write_text(f'import * as model from "./model.mjs";\n{code}')
    done = subprocess.run([program, tmp_path / "main.mjs"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or done.stderr


def test_javascript_explains(tmp_path):
    """`explain` gives the prediction, and the rules that fire with their weights, which add up to it."""
    code = f"console.log(JSON.stringify([model.explain({json.dumps(ROW)}), model.target, model.columns]))"
    explanation, target, columns = json.loads(javascript(tmp_path, code))
    assert explanation["prediction"] == 8410 + 23900 + 3120.5
    assert [fired["index"] for fired in explanation["fired"]] == [0, 1]
    assert explanation["fired"][0]["rule"] == 'bmi > 30.01 and smoker = "yes"'
    assert (
        explanation["intercept"] + sum(fired["weight"] for fired in explanation["fired"]) == explanation["prediction"]
    )
    assert (target, columns) == ("charges", ["bmi", "smoker", "rooms", "garage"])


def test_javascript_refuses_rows_that_are_not_the_models(tmp_path):
    """A column that is not there, and text where a number should be, are errors and not missing values."""
    assert 'the row has no column "smoker"' in javascript(tmp_path, "model.predict({bmi: 1})")
    wrong = json.dumps({**ROW, "bmi": "35"})
    assert 'column "bmi" must hold a number or null' in javascript(tmp_path, f"model.predict({wrong})")


def test_javascript_can_stand_inside_a_web_page():
    """No name ends the page's script or opens a comment in it."""
    text = model(hostile_circuit(), "</script>").to_javascript()
    assert "</" not in text
    assert "<!" not in text


# --- Python -----------------------------------------------------------------------------------------------------------


def test_python_needs_no_package_and_no_new_python():
    """The file parses as Python 3.8, imports nothing, and predicts dicts."""
    text = model().to_python()
    tree = ast.parse(text, feature_version=(3, 8))
    assert not [found for found in ast.walk(tree) if isinstance(found, (ast.Import, ast.ImportFrom, ast.JoinedStr))]
    names = {}
    exec(text, names)  # noqa: S102 (our own export)
    assert names["predict"](ROW) == 35430.5
    assert names["predict_rows"]([ROW, {**ROW, "bmi": None, "garage": 1}]) == [35430.5, 8398.5]
    assert names["explain"](ROW) == [(CIRCUIT_TEXT[0], 23900.0), (CIRCUIT_TEXT[1], 3120.5)]
    with pytest.raises(TypeError, match="column 'bmi' must hold a number or None, got '35'"):
        names["predict"]({**ROW, "bmi": "35"})


CIRCUIT_TEXT = [rule.text for rule in lower(CIRCUIT).rules]

# --- SQL --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("circuit", [CIRCUIT, hostile_circuit()], ids=["plain", "hostile"])
def test_every_dialect_is_one_statement_that_its_own_grammar_takes(dialect, circuit):
    """Names and texts are quoted as the dialect needs: what is parsed is one SELECT with all the columns in it."""
    text = model(circuit).to_sql(dialect, table="sales.houses")
    statements = sqlglot.parse(text, read=DIALECTS[dialect].sqlglot)
    assert len(statements) == 1
    named = {column.name for column in statements[0].find_all(sqlglot.exp.Column)}
    assert {column.name for column in circuit.columns} <= named
    texts = {literal.this for literal in statements[0].find_all(sqlglot.exp.Literal, sqlglot.exp.National)}
    if circuit is not CIRCUIT:
        assert set(HOSTILE[::3]) <= texts


def test_contributions_add_up():
    """With `contributions`, intercept and rule columns of a row add up to its prediction."""
    duckdb = pytest.importorskip("duckdb")
    for dialect, run in (("duckdb", duckdb.sql), ("sqlite", None)):
        text = model().to_sql(dialect, table="houses", contributions=True)
        assert text.count('AS "rule_') == len(CIRCUIT.rules)
        if run is not None:
            table = "SELECT 35.0 AS bmi, 'yes' AS smoker, 2 AS rooms, TRUE AS garage, 7 AS id"
            found = run(f"WITH houses AS ({table}) SELECT * FROM ({text})").fetchall()[0]  # noqa: S608
            assert found == (35.0, "yes", 2, True, 7, 35430.5, 23900.0, 3120.5, 0.0, 0.0)


def test_a_statement_longer_than_its_database_takes_is_refused(monkeypatch):
    """A model whose statement passes a dialect's limit, or repeats shared gates without end, gets a sentence."""
    assert (DIALECTS["athena"].limit, DIALECTS["snowflake"].limit) == (262_144, 1_000_000)
    monkeypatch.setitem(DIALECTS, "athena", replace(DIALECTS["athena"], limit=1000))
    with pytest.raises(
        ExportError,
        match=r"athena takes statements of at most 1000 characters, but this model's has \d+: .*prune\(max_conditions=",
    ):
        model().to_sql("athena")
    deep = layered_circuit(0, n_rules=20, layers=(40,) * 24)
    with pytest.raises(ExportError, match="conditions, more than 10000: export a smaller model"):
        model(deep).to_sql("sqlite")


def test_duckdb_predicts_a_parquet_file(tmp_path):
    """The statement runs over Parquet as it lies there, and float32, decimal and integer columns give the same bits."""
    duckdb = pytest.importorskip("duckdb")
    file = tmp_path / "houses.parquet"
    values = "(30.01), (30.02), (NULL), (30.0)"
    for kind in ("DOUBLE", "FLOAT", "DECIMAL(9, 4)", "INTEGER"):
        columns = f"x::{kind} AS bmi, 'yes' AS smoker, 3 AS rooms, NULL::BOOLEAN AS garage"
        duckdb.sql(f"COPY (SELECT {columns} FROM (VALUES {values}) t(x)) TO '{file}'")  # noqa: S608
        text = model().to_sql("duckdb", table=f"read_parquet('{file}')")
        found = duckdb.sql(text).df()
        X = duckdb.sql(f"FROM '{file}'").df().astype({"garage": "boolean"})
        X["bmi"] = X["bmi"].astype(np.float32 if kind == "FLOAT" else np.float64)
        assert found["prediction"].tolist() == CIRCUIT.evaluate(model()._values(X)).tolist()


# --- Excel, ONNX, Verilog ---------------------------------------------------------------------------------------------


def test_a_workbook_holds_names_as_text_and_short_formulas():
    """No name becomes a formula; every formula is within Excel's 8192 characters; there are no macros."""
    book = openpyxl.load_workbook(io.BytesIO(model(hostile_circuit(), "=1+1").to_excel()))
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row if cell.value is not None]
    formulas = [cell.value for cell in cells if cell.data_type == "f"]
    assert max(map(len, formulas)) < 8192
    assert not any(name in formula for name in HOSTILE[:4] for formula in formulas)
    assert all(cell.quotePrefix for cell in cells if cell.data_type == "s" and cell.value.startswith("="))
    assert len(book["Rules"]["A"]) >= len(HOSTILE)
    assert len(book["Input"].data_validations.dataValidation) == len(HOSTILE)


def test_excel_refuses_what_it_would_round():
    """A cut-off of more than 15 digits is another number in Excel: it gets a sentence."""
    circuit = Circuit((Column("x"),), (Above(0, 0.12345678901234568),), (), (Rule(0, 1.0),), 0.0, 0)
    with pytest.raises(ExportError, match=r"column 'x' has the cut-off 0\.12345678901234568: scale or round"):
        model(circuit).to_excel()


def test_a_workbook_is_calculated_by_formulas_too(tmp_path):
    """An engine other than LibreOffice gives the same bits."""
    pytest.importorskip("formulas")
    form = lower(CIRCUIT)
    table = cases(form, FEW_ROWS)
    found = run_formulas(write(tmp_path, "excel", form), form, table)
    assert found.tobytes() == CIRCUIT.evaluate(table).tobytes()


def test_onnx_uses_plain_operators_of_the_default_domain():
    """Double in and out, int64 between; nothing of the machine-learning domain, whose operators round to float32."""
    onnx = pytest.importorskip("onnx")
    graph = onnx.load_from_string(model().to_onnx())
    assert [(opset.domain, opset.version) for opset in graph.opset_import] == [("", 19)]
    assert graph.ir_version == 9
    assert {node.domain for node in graph.graph.node} == {""}
    kinds = {value.name: value.type.tensor_type.elem_type for value in graph.graph.input}
    double, text = onnx.TensorProto.DOUBLE, onnx.TensorProto.STRING
    assert kinds == {"bmi": double, "smoker": text, "rooms": double, "garage": double}


def test_verilog_is_clean(tmp_path):
    """Verilator's strictest lint finds nothing, with and without registers."""
    try:
        command = verilator()
    except EngineMissing as missing:
        pytest.skip(f"Verilog was not checked: {missing}")
    for latency in (0, 4):
        (tmp_path / "charges.v").write_text(model().to_verilog(latency=latency))
        lint = [*command, "--lint-only", "-Wall", str(tmp_path / "charges.v")]
        done = subprocess.run(lint, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_verilog_is_synthesised():
    """Yosys makes cells of it; registers come with the latency, and the longest way gets shorter."""
    try:
        flat = synthesise(model().to_verilog())
        piped = synthesise(model().to_verilog(latency=4))
    except EngineMissing as missing:
        pytest.skip(f"Verilog was not synthesised: {missing}")
    assert 50 < flat.cells < 1000
    assert piped.cells > flat.cells
    assert piped.depth < flat.depth


def test_missing_extras_are_named(monkeypatch):
    """If an optional package is not installed, the error names the extra that brings it."""
    for package, write_it in {"sqlglot": "to_sql", "onnx": "to_onnx", "xlsxwriter": "to_excel"}.items():
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(dln.MissingExtraError, match=re.escape("pip install '.[export]'")):
            getattr(model(), write_it)()
