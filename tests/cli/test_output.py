"""Results into files and pipes."""

import pytest

from dln.cli._files import output_kind, whole_or_nothing
from dln.cli._messages import UsageError


@pytest.mark.parametrize(
    ("name", "kind"),
    [("-", "csv"), ("a.csv", "csv"), ("a.TSV", "tsv"), ("a.csv.gz", "csv"), ("a.b.parquet", "parquet")],
)
def test_the_output_is_what_its_name_says(name, kind):
    """The ending of an output names its format."""
    assert output_kind(name) == kind
    with pytest.raises(UsageError, match="must end in"):
        output_kind("a.parquet.gz")


def test_an_output_is_whole_or_not_there(tmp_path):
    """A failure half-way leaves the old file as it was, and nothing else in its folder."""
    path = tmp_path / "out.csv"
    path.write_text("old")
    with pytest.raises(RuntimeError), whole_or_nothing(str(path)) as place:
        _fail_half_way(place)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    with whole_or_nothing(str(path)) as place:
        place.write_text("new")
    assert path.read_text() == "new"


def _fail_half_way(place):
    place.write_text("half")
    raise RuntimeError
