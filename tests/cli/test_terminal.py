"""Output in terminals of 80 and 200 columns, and in a file."""

import re

import pytest

from commands import fit_houses, houses, run, write
from terminal import COLOUR, in_terminal

CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f\x9b]")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Fit once."""
    return fit_houses(tmp_path_factory.mktemp("houses"))


@pytest.mark.parametrize("columns", [80, 200])
def test_a_page_fits_the_terminal(columns, model):
    """No line of `dln show` is longer than the terminal is wide, and no rule is cut off."""
    shown = COLOUR.sub("", in_terminal(columns, "show", model))
    assert max(map(len, shown.splitlines())) <= columns
    assert "…" not in shown.partition("file")[0]


def test_nothing_but_text_goes_to_a_file(model, tmp_path):
    """Piped output has no colours, no control characters, no blanks at line ends and unbroken rules."""
    write(tmp_path, {"t.csv": houses()})
    arguments = ("fit", str(tmp_path / "t.csv"), "-t", "price", "-o", str(tmp_path / "m.dln"), "--time-limit", "1s")
    for result in (run(*arguments), run("show", str(model)), run("--help")):
        assert result.exit_code == 0
        assert not CONTROL.search(result.stdout)
    shown = run("show", str(model)).stdout
    assert all(line == line.rstrip() for line in shown.splitlines())


def test_names_cannot_drive_the_terminal(tmp_path):
    """Column names with escape sequences or markup are shown harmlessly, letter by letter."""
    header = '"[bold]area[/bold]","\x1b[31mdistrict","price"\n'
    body = "".join(f"{50 + 37 * i % 101},{'abc'[i % 3]},{(50 + 37 * i % 101) * 10 + i % 3}\n" for i in range(60))
    write(tmp_path, {"t.csv": header + body})
    model = tmp_path / "m.dln"
    result = run("fit", str(tmp_path / "t.csv"), "-t", "price", "-o", str(model), "--time-limit", "1s")
    assert result.exit_code == 0
    assert "[bold]area[/bold]" in result.stdout
    for shown in (result.stdout, run("show", str(model)).stdout):
        assert not CONTROL.search(shown)


def test_progress_of_predictions(model, tmp_path):
    """In a terminal `dln predict` shows how many rows are done of all, and the time left."""
    write(tmp_path, {"t.csv": houses()})
    shown = COLOUR.sub("", in_terminal(120, "predict", model, tmp_path / "t.csv", "-o", tmp_path / "o.csv"))
    assert "60 of 60 rows, left" in shown
    assert "60 predictions written" in shown
