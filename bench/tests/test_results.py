"""Result files: lines are read as they were written, and torn ones are mended."""

from dataclasses import replace

import pytest

from dln_bench._results import Result, ResultFileError, append_results, compress, read_results

RESULT = Result("yacht", "tree", 0, 0.9, 0.1, 0.1, trials=2, trials_run=2, params={"max_depth": 3}, multiply=549)


def test_results_are_read_as_they_were_written(tmp_path):
    """A result comes back as it was, also from a compressed file, whose bytes do not depend on the order of lines."""
    file, other = tmp_path / "results.jsonl", replace(RESULT, seed=1)
    append_results(file, [RESULT])
    append_results(file, [other])
    assert read_results([file]) == [RESULT, other]
    packed = []
    for results in ([RESULT, other], [other, RESULT]):
        compress(results, tmp_path / "results.jsonl.gz")
        packed.append((tmp_path / "results.jsonl.gz").read_bytes())
        assert read_results([tmp_path / "results.jsonl.gz"]) == [RESULT, other]
    assert packed[0] == packed[1]


def test_the_last_line_of_a_unit_counts(tmp_path):
    """Files are merged by unit; the protocol is part of it."""
    files = [tmp_path / "0.jsonl", tmp_path / "1.jsonl"]
    for file, r2 in zip(files, (0.1, 0.2), strict=True):
        append_results(file, [replace(RESULT, r2=r2)])
    assert [result.r2 for result in read_results(files)] == [0.2]
    append_results(files[1], [replace(RESULT, protocol="plain")])
    assert len(read_results(files)) == 2


@pytest.mark.parametrize("torn", [b'{"dataset": "ya', b"{", b'{"dataset":"yacht","model":"tree"}'])
def test_a_torn_last_line_is_left_out_and_mended(tmp_path, torn):
    """The beginning of a line that a killed process left is ignored, and removed by the next result."""
    file = tmp_path / "results.jsonl"
    append_results(file, [RESULT])
    with file.open("ab") as stream:
        stream.write(torn)
    assert read_results([file]) == [RESULT]
    append_results(file, [replace(RESULT, seed=1)])
    assert len(read_results([file])) == 2
    assert torn not in file.read_bytes().splitlines()


def test_damaged_and_missing_files_are_named(tmp_path):
    """A whole line that is no result, and a file that cannot be read, are errors with their place."""
    file = tmp_path / "results.jsonl"
    append_results(file, [RESULT])
    with file.open("ab") as stream:
        stream.write(b'{"dataset": "yacht"}\n')
    with pytest.raises(ResultFileError, match=r"results\.jsonl, line 2: .*missing required field"):
        read_results([file])
    (tmp_path / "cut.jsonl.gz").write_bytes(b"\x1f\x8b")
    for name in ("no.jsonl", "cut.jsonl.gz"):
        with pytest.raises(ResultFileError, match=f"{name}' cannot be read"):
            read_results([tmp_path / name])
