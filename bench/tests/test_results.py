"""The file of results: lines come back as they were written, and what a killed process left is mended."""

import json
from dataclasses import replace

import pytest

from dln_bench._results import RESULTS, Result, ResultFileError, append_results, read_results

RESULT = Result(
    dataset="yacht",
    model="tree",
    seed=0,
    trials=2,
    folds=4,
    search_rows=40,
    train_rows=45,
    params={"max_depth": 3},
    cv_mse=0.5,
    r2=0.9,
    rmse=0.1,
    mae=0.1,
    ops=549,
    select_ops=None,
    rules=None,
    literals=None,
    search_seconds=0.1,
    fit_seconds=0.1,
    cut=None,
    version="0",
)


def test_results_are_read_as_they_were_written(tmp_path):
    """A result comes back as it was, from a file or from its folder."""
    append_results(tmp_path, [RESULT])
    append_results(tmp_path / RESULTS, [replace(RESULT, seed=1)])
    assert read_results([tmp_path]) == [RESULT, replace(RESULT, seed=1)]
    assert read_results([tmp_path / RESULTS]) == read_results([tmp_path])


def test_later_lines_win(tmp_path):
    """Files are merged by unit, and the last line of a unit counts."""
    for number, r2 in enumerate((0.1, 0.2)):
        (tmp_path / str(number)).mkdir()
        append_results(tmp_path / str(number), [replace(RESULT, r2=r2)])
    assert [result.r2 for result in read_results([tmp_path / "0", tmp_path / "1"])] == [0.2]
    assert [result.r2 for result in read_results([tmp_path / "1", tmp_path / "0"])] == [0.1]


@pytest.mark.parametrize("torn", [b'{"dataset": "ya', b"{", b'{"dataset":"yacht","model":"tree"}'])
def test_a_torn_last_line_is_left_out_and_mended(tmp_path, torn):
    """What a killed process had begun to write is ignored, and removed by the next result."""
    append_results(tmp_path, [RESULT])
    with (tmp_path / RESULTS).open("ab") as file:
        file.write(torn)
    assert read_results([tmp_path]) == [RESULT]
    append_results(tmp_path, [replace(RESULT, seed=1)])
    assert len(read_results([tmp_path])) == 2
    assert torn not in (tmp_path / RESULTS).read_bytes().splitlines()


def test_a_damaged_line_is_told_with_its_place(tmp_path):
    """A whole line that is no result is an error, not silence."""
    append_results(tmp_path, [RESULT])
    with (tmp_path / RESULTS).open("ab") as file:
        file.write(b'{"dataset": "yacht"}\n')
    with pytest.raises(ResultFileError, match=r"results\.jsonl, line 2: .*missing required field"):
        read_results([tmp_path])


def test_a_folder_without_results_has_none(tmp_path):
    """An empty folder is no error; a file that is not there is."""
    assert read_results([tmp_path]) == []
    with pytest.raises(FileNotFoundError):
        read_results([tmp_path / "no.jsonl"])


def test_lines_of_the_earlier_harness_are_read(tmp_path):
    """Results of benchmarks/accuracy.py are those of models without a search, under the names that they have here."""
    lines = [
        {"dataset": "yacht", "model": "lightgbm", "seed": 0, "r2": 0.9, "seconds": 0.5, "paper_ops": 3},
        {"dataset": "yacht", "model": "forest", "seed": 0, "r2": 0.8, "seconds": 0.5},
        {"dataset": "yacht", "model": "no-networks", "seed": 1, "r2": 0.9, "seconds": 2.0, "conditions": 90,
         "pruned": {"20": 0.5}},
    ]  # fmt: skip
    (tmp_path / "old.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    read = read_results([tmp_path / "old.jsonl"])
    assert [(one.model, one.trials, one.ops, one.conditions) for one in read] == [
        ("lightgbm-default", 0, 3, None),
        ("forest-default", 0, None, None),
        ("dln-no-networks", 0, None, 90),
    ]
    assert [one.seconds for one in read] == [0.5, 0.5, 2.0]
