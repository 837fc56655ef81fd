"""The commands from end to end, inside this process and as real ones."""

import io
import json
import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import dln
from commands import HOUSES, fit_houses, houses, run, write
from dln.circuit._circuit import Circuit, Column
from dln.cli._options import seconds
from dln.cli._printing import size_sentences
from dln.readers._frontier import Frontier, Point

EMPTY = Circuit((Column("a"),), (), (), (), 0.0, 0)

RULES = ("--learner", "rules")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with houses.csv and house.dln, which no test changes."""
    folder = tmp_path_factory.mktemp("houses")
    fit_houses(folder)
    return folder


def program(*arguments, **options):
    """Run the program as a process of its own."""
    environment = {**os.environ, "PYTHONWARNINGS": "error", **options.pop("environment", {})}
    command = [sys.executable, "-m", "dln.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, env=environment, check=False, timeout=120, **options)


def test_fit_prints_what_it_found_and_how_well_it_predicts(tmp_path):
    """`dln fit` prints types, test R² beside linear regression, the strongest rules and what to do next."""
    write(tmp_path, {"houses.csv": houses()})
    model = tmp_path / "house.dln"
    result = run("fit", str(tmp_path / "houses.csv"), "-t", "price", "-o", str(model), "--time-limit", "1s")
    assert result.exit_code == 0
    for words in ("60 rows, 7 columns", "left out", "sold_at, split into year, month", "test R²", "linear regression"):
        assert words in result.stdout
    for words in (
        "price = ",
        "the weights of the rules that fire",
        "conditions in",
        "dln show",
        "dln report",
        "Saved to",
    ):
        assert words in result.stdout
    assert model.exists()


def test_the_model_of_the_command_line_is_the_one_of_python(folder):
    """A model that `dln fit` wrote is loaded by `dln.load`, and `dln predict` writes what it predicts."""
    model = dln.load(folder / "house.dln")
    assert [column.name for column in model.circuit_.columns][:3] == ["area", "district", "garage"]
    result = run("predict", str(folder / "house.dln"), str(folder / "houses.csv"))
    predictions = pl.read_csv(io.BytesIO(result.stdout_bytes))["prediction"]
    X = HOUSES.select(
        "area",
        "district",
        garage=pl.col("garage") == "true",
        **{
            "sold_at (year)": pl.col("sold_at").str.to_date().dt.year(),
            "sold_at (month)": pl.col("sold_at").str.to_date().dt.month(),
            "sold_at (weekday)": pl.col("sold_at").str.to_date().dt.strftime("%A"),
        },
    )
    assert np.array_equal(predictions.to_numpy(), model.predict(X))


@pytest.mark.parametrize("name", ["p.csv", "p.tsv", "p.csv.gz", "p.parquet"])
def test_predictions_are_the_same_in_every_format(name, folder, tmp_path):
    """Each output format holds the same numbers, with the table's own columns where asked."""
    model, table, output = str(folder / "house.dln"), str(folder / "houses.csv"), tmp_path / name
    assert run("predict", model, table, "-o", str(output), "--with-input", "--quiet").exit_code == 0
    if name == "p.parquet":
        frame = pl.read_parquet(output)
    else:
        frame = pl.read_csv(output, separator="\t" if ".tsv" in name else ",")
    plain = pl.read_csv(io.BytesIO(run("predict", model, table).stdout_bytes))
    assert frame.columns == [*HOUSES.columns, "prediction"]
    assert frame.select("prediction").equals(plain)


def test_pipes_carry_tables_in_and_out(folder):
    """`-` reads standard input, and predictions go to standard output, with no word beside them."""
    result = program("predict", folder / "house.dln", "-", input=houses().encode())
    assert result.returncode == 0
    assert result.stderr == b""
    lines = result.stdout.decode().splitlines()
    assert lines[0] == "prediction"
    assert len(lines) == 61


def test_missing_and_unknown_values_are_predicted(folder, tmp_path):
    """A row of nothing but blanks and unknown categories has a prediction."""
    write(tmp_path, {"t.csv": "area,district,garage,sold_at\n,,,\n,moon,,\n"})
    result = run("predict", str(folder / "house.dln"), str(tmp_path / "t.csv"))
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 3


def test_explanations_add_up(folder):
    """`dln explain` names the row's values and the rules that fired, whose weights sum to the prediction."""
    model, table = str(folder / "house.dln"), str(folder / "houses.csv")
    document = json.loads(run("explain", model, table, "--row", "3", "--json").stdout)
    predictions = pl.read_csv(io.BytesIO(run("predict", model, table).stdout_bytes))["prediction"]
    assert document["prediction"] == predictions[2]
    assert document["values"]["area"] == HOUSES["area"][2]
    assert np.isclose(document["intercept"] + sum(term["weight"] for term in document["terms"]), predictions[2])
    page = run("explain", model, table, "--row", "3").stdout
    assert "Row 3 of" in page
    assert "intercept" in page


def test_plot_draws_a_picture(folder, tmp_path):
    """`dln plot` writes an SVG that names the model's columns."""
    pytest.importorskip("pygraphviz")
    result = run("plot", str(folder / "house.dln"), "-o", str(tmp_path / "m.svg"), "--max-rules", "5")
    assert result.exit_code == 0
    assert "area" in (tmp_path / "m.svg").read_text(encoding="utf-8")


def test_the_same_seed_gives_the_same_file(tmp_path):
    """Two fits of the same table write the same bytes."""
    write(tmp_path, {"houses.csv": houses()})
    for name in ("a.dln", "b.dln"):
        arguments = (
            "fit",
            str(tmp_path / "houses.csv"),
            "-t",
            "price",
            "-o",
            str(tmp_path / name),
            "--seed",
            "3",
            "-q",
        )
        result = run(*arguments)
        assert (result.exit_code, result.stdout) == (0, "")
    assert (tmp_path / "a.dln").read_bytes() == (tmp_path / "b.dln").read_bytes()


def test_json_is_one_document(folder, tmp_path):
    """With --json each command prints one JSON document on standard output and nothing else."""
    model, table = str(folder / "house.dln"), str(folder / "houses.csv")
    fit = json.loads(
        run("fit", table, "-t", "price", "-o", str(tmp_path / "m.dln"), "--time-limit", "1s", "--json").stdout
    )
    assert fit["rows"] == {"train": 45, "test": 15, "without_target": 0}
    assert [score["model"] for score in fit["test"]][1] == "linear regression"
    assert fit["test"][0]["model"] == f"dln, {fit['conditions']} conditions"
    assert fit["frontier"]["points"]
    predicted = json.loads(run("predict", model, table, "-o", str(tmp_path / "p.csv"), "--json").stdout)
    assert predicted["rows"] == 60
    shown = json.loads(run("show", model, "--json", "--max-rules", "2").stdout)
    assert shown["target"] == "price"
    assert len(shown["rules"]) == 2
    own = [point for point in shown["frontier"]["points"] if point["can_be_pruned_to"]][-1]
    assert shown["conditions"] == own["conditions"]
    assert set(shown["columns_used"]) <= {column["name"] for column in shown["columns"]}


def test_a_network_is_trained_whole_and_printed_small(tmp_path):
    """`dln fit` keeps at most 100 conditions of the network, and its summary shows both sizes with their test R²."""
    write(tmp_path, {"houses.csv": houses()})
    result = run("fit", str(tmp_path / "houses.csv"), "-t", "price", "-o", str(tmp_path / "m.dln"))
    model = dln.load(tmp_path / "m.dln")
    assert model.rules_.n_conditions <= 100 == model.max_conditions
    line = next(line for line in result.stdout.splitlines() if line.startswith("whole network: "))
    assert f"{len(model.network_circuit_.rules)} rules, " in line
    assert f" · kept: {len(model.rules_)} rules, {model.rules_.n_conditions} conditions, R² " in line


def test_options_reach_the_model(tmp_path):
    """--learner, the limits of size, --test-size 0 and --weight change the fit as they say."""
    fit_houses(tmp_path, "--max-conditions", "none", "--test-size", "0", "--weight", "id", "--force")
    model = dln.load(tmp_path / "house.dln")
    assert isinstance(model, dln.DLNRegressor)
    assert model.max_conditions is None
    assert model.training_facts_["rows"] == 60
    assert "id" not in [column.name for column in model.circuit_.columns]
    limits = ("--max-conditions", "9", "--max-rule-length", "2", "--max-rules", "4")
    fit_houses(tmp_path, "--learner", "rules", *limits, "--force")
    small = dln.load(tmp_path / "house.dln")
    limits = {"max_conditions": 9, "max_rule_length": 2, "max_rules": 4, "max_seconds": 1.0}
    assert limits.items() <= small.get_params().items()
    assert len(small.rules_) <= 4
    assert small.rules_.n_conditions <= 9
    assert all(row.conditions <= 2 for row in small.rules_)


def test_a_column_without_a_name_keeps_it(tmp_path):
    """With --with-input the first column, whose name is empty as pandas writes it, is written as it was."""
    write(tmp_path, {"t.csv": houses().replace("id,", ",", 1)})
    model, output = str(fit_houses(tmp_path)), tmp_path / "o.csv"
    assert run("predict", model, str(tmp_path / "t.csv"), "-o", str(output), "--with-input").exit_code == 0
    assert output.read_text().splitlines()[0].split(",")[:2] in (["", "area"], ['""', "area"])


def test_a_fit_is_quiet_where_it_is_not_watched(tmp_path):
    """Progress goes to a terminal only: standard error of a fit in a pipe is empty."""
    write(tmp_path, {"t.csv": houses()})
    model = str(tmp_path / "m.dln")
    quick = ("--set", "hidden_layer_sizes=4,", "--set", "max_epochs=2")
    assert run("fit", str(tmp_path / "t.csv"), "-t", "price", "-o", model, *quick).stderr == ""


def test_constraints_are_shown(tmp_path):
    """`dln fit` passes constraints on and shows them with their outcomes; so do `dln show`, its JSON and the report."""
    given = ("--monotone", "area:+1", "--monotone", "sold_at (year):-1", "--interactions", "area, sold_at;district")
    write(tmp_path, {"houses.csv": houses()})
    model = str(tmp_path / "house.dln")
    table = ("fit", str(tmp_path / "houses.csv"), "-t", "price", "-o", model)
    fitted = run(*table, "--time-limit", "1s", "--max-conditions", "5", *RULES, *given).stdout
    dates = "sold_at (year), sold_at (month), sold_at (weekday)"
    sentences = [
        "price never falls as area rises",
        "price never rises as sold_at (year) rises",
        f"every rule reads columns of one group only: {{area, {dates}}}, {{district}}, {{garage}}",
    ]
    assert "Constraints, proved for every input" in fitted
    assert all(f"\n  {sentence}: proved\n" in fitted for sentence in sentences)
    shown = run("show", model).stdout
    assert all(f"constraint       {sentence}: proved\n" in shown for sentence in sentences)
    document = json.loads(run("show", model, "--json").stdout)
    assert [row["constraint"] for row in document["constraints"]] == sentences
    assert all(row["proved"] for row in document["constraints"])
    page = tmp_path / "page.html"
    assert run("report", model, "-o", str(page)).exit_code == 0
    assert f"{sentences[0]}: proved" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--max-conditions", "few"), "--max-conditions must be a whole number above 0, or none, got 'few'"),
        (("--max-conditions", "0"), "--max-conditions must be a whole number above 0, or none, got '0'"),
        (("--max-rules", "4"), "--max-rules does not go with the network"),
        (("--max-rule-length", "4", "--learner", "network"), "--max-rule-length does not go with the network"),
        (("--monotone", "area:1"), "--monotone does not go with the network: use --learner rules"),
        (("--interactions", "pairwise"), "--interactions does not go with the network: use --learner rules"),
        ((*RULES, "--monotone", "area"), "--monotone must be a column and +1 or -1, like age:+1, got 'area'"),
        ((*RULES, "--monotone", "area:+1", "--monotone", "area:-1"), "--monotone gives 'area' both directions"),
        ((*RULES, "--monotone", "aria:+1"), "--monotone must name columns, got 'aria'; there are ['area', "),
        ((*RULES, "--monotone", "district:1"), "--monotone cannot constrain 'district': it holds categories"),
        ((*RULES, "--monotone", "sold_at:1"), "it holds dates; constrain a part of them, like 'sold_at (year)'"),
        ((*RULES, "--interactions", "area;distric"), "--interactions must name columns, got 'distric'; there are"),
    ],
)
def test_limits_that_make_no_sense_are_refused(folder, tmp_path, options, sentence):
    """A limit that is no limit, or that a network does not have, gets one sentence, and nothing is fitted."""
    output = tmp_path / "m.dln"
    result = run("fit", str(folder / "houses.csv"), "-t", "price", "-o", str(output), *options)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert not output.exists()


def test_prune_writes_a_smaller_model(folder, tmp_path):
    """`dln prune` writes the model that `prune` gives in Python, shows its rules, and needs no table."""
    whole, output = dln.load(folder / "house.dln"), tmp_path / "small.dln"
    arguments = ("prune", str(folder / "house.dln"), "--max-conditions", "3", "-o", str(output))
    result = run(*arguments)
    assert result.exit_code == 0, result.stderr
    for words in ("has ", "conditions in", "price = ", f"Saved to {output}"):
        assert words in result.stdout
    smaller = dln.load(output)
    assert smaller.circuit_ == whole.prune(3).circuit_
    assert 0 < smaller.rules_.n_conditions <= 3
    assert run(*arguments).exit_code == 2  # it is there already
    document = json.loads(run(*arguments, "--force", "--json").stdout)
    assert document["conditions"] == smaller.rules_.n_conditions
    assert document["conditions_before"] == whole.rules_.n_conditions
    assert run(*arguments, "--force", "--quiet").stdout == ""


def test_prune_to_nothing(folder, tmp_path):
    """Without conditions the intercept is left, which predicts the same for every row."""
    output = tmp_path / "none.dln"
    result = run("prune", str(folder / "house.dln"), "--max-conditions", "0", "-o", str(output))
    assert "0 conditions in 0 rules" in result.stdout
    assert "weight" not in result.stdout
    predicted = run("predict", str(output), str(folder / "houses.csv")).stdout.splitlines()[1:]
    assert predicted == [predicted[0]] * 60


def test_sizes_in_words():
    """The sentences have the held-out R² of the model, of the best one, and of a larger one that is better."""
    points = Point(98, 98, 34, 0.88, EMPTY), Point(200, None, None, 0.897), Point(1600, 1500, 80, 0.9)
    sentences = _sentences(points, 0.91)
    assert sentences[0].endswith("reach R² 0.880 on held-out rows, of 0.910 that the best model found reaches.")
    assert sentences[1:] == ["Of the next sizes, 200 reach 0.897 (--max-conditions 200)."]
    sentences = _sentences((points[0], Point(150, None, None, 0.881), points[2]), 0.91)
    assert sentences[1] == "Of the next sizes, 150 reach 0.881."
    assert sentences[2] == "1,600 conditions would reach 0.900 (--max-conditions 1600)."
    sentences = _sentences((Point(20, 20, 9, 0.957, EMPTY), Point(200, None, None, 0.961)), 0.943)
    assert sentences[0].endswith("of 0.961 that the best model found reaches.")
    assert sentences[1:] == ["Of the next sizes, 200 reach 0.961."]
    points = (Point(5, 5, 3, 0.8, EMPTY), Point(10, 9, 5, 0.9, EMPTY), Point(20, 20, 9, 0.91), Point(30, 30, 9, 0.912))
    assert _sentences(points, 0.9)[1] == "Of the next sizes, 5 reach 0.800 and 20 reach 0.910 (--max-conditions 20)."
    assert _sentences((Point(20, 20, 9, 0.957, EMPTY),), 0.943)[0].endswith("as much as the best model found.")
    assert _sentences((Point(20, 20, 9, None, EMPTY),), None) == ["0 conditions in 0 rules."]


def test_a_smaller_size_may_be_the_best_model_found():
    """A model is not called as good as the best if one of its own smaller sizes does better on held-out rows."""
    points = Point(30, 30, 26, 0.976, EMPTY), Point(100, 100, 61, 0.958, EMPTY)
    assert _sentences(points, None)[0].endswith("of 0.976 that the best model found reaches.")


def _sentences(points, ceiling):
    model = dln.RuleRegressor()
    vars(model).update(circuit_=EMPTY, support_=[], _frontier=Frontier(points, ceiling))
    return size_sentences(model)


def test_force_replaces_an_output(folder, tmp_path):
    """With --force an output that is there is replaced."""
    output = tmp_path / "p.csv"
    output.write_text("old")
    arguments = ("predict", str(folder / "house.dln"), str(folder / "houses.csv"), "-o", str(output))
    assert run(*arguments).exit_code == 2
    assert output.read_text() == "old"
    assert run(*arguments, "--force").exit_code == 0
    assert output.read_text().startswith("prediction\n")


@pytest.mark.parametrize(("text", "length"), [("90", 90.0), ("90s", 90.0), ("1.5m", 90.0), ("2 h", 7200.0)])
def test_times_are_read_as_people_write_them(text, length):
    """A time limit may have a unit."""
    assert seconds(text) == length


def test_help_and_version_need_no_input():
    """`dln --help` lists every command, `dln --version` the version."""
    result = run("--help")
    assert result.exit_code == 0
    for command in ("fit", "predict", "show", "prune", "explain", "plot", "demo"):
        assert command in result.stdout
    assert run("--version").stdout.startswith("dln 0.")


def test_shell_completion_is_offered():
    """The program writes a completion script for the shell."""
    result = program("--show-completion", environment={"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"})
    assert result.returncode in {0, 2}  # 2: a shell that typer does not know
    assert b"completion" in result.stdout + result.stderr
