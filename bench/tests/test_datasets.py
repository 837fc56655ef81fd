import hashlib
import http.server
import io
import json
import threading
import zipfile
from contextlib import contextmanager
from dataclasses import replace

import pandas as pd
import pytest

from bench_tables import SHARED, write_tables
from dln_bench import _download, datasets
from dln_bench._convert import to_csv
from dln_bench._download import DownloadError, Source, fetch
from dln_bench.datasets import DatasetError

#: The paper's table: training rows, test rows, continuous columns, one-hot columns.
PAPER = {
    "abalone": (3132, 1045, 7, 2),
    "airfoil": (1127, 376, 5, 0),
    "bike": (13032, 4345, 6, 14),
    "ccpp": (7145, 2382, 4, 0),
    "concrete": (753, 252, 8, 0),
    "electrical": (7500, 2500, 12, 0),
    "energy": (576, 192, 6, 4),
    "estate": (310, 104, 6, 0),
    "housing": (15324, 5109, 8, 4),
    "infrared": (763, 255, 31, 6),
    "insurance": (1002, 335, 2, 12),
    "mpg": (294, 98, 6, 2),
    "parkinsons": (4406, 1469, 18, 1),
    "wine": (3988, 1330, 11, 0),
    "yacht": (231, 77, 6, 0),
}


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Set the folder of datasets to one of made tables."""
    folder = write_tables(tmp_path / "data")
    monkeypatch.setenv("DLN_DATA_HOME", str(folder))
    return folder


@pytest.fixture
def packaged(monkeypatch, tmp_path):
    """Leave only the facts inside the package, and an empty cache."""
    monkeypatch.delenv("DLN_DATA_HOME", raising=False)
    monkeypatch.delenv("DLN_DATA_URL", raising=False)
    monkeypatch.setenv("DLN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


# --- facts ------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("packaged")
def test_facts_agree_with_the_papers_table():
    """Rows and columns of the fifteen datasets are those of the paper."""
    assert sorted(datasets.names()) == sorted(PAPER)
    for name, (train, test, numbers, bits) in PAPER.items():
        facts = datasets.facts(name)
        assert facts.expected_rows == train + test, name
        assert (len(facts.continuous), facts.n_categorical_columns) == (numbers, bits), name
        columns = [len(e.levels) - (e.scheme == "one_hot_drop_first") for e in facts.encoding.values()]
        assert sum(columns) == bits, name
        assert facts.licence
        assert len(facts.sha256) == 64
        assert facts.source is not None
        assert all(url.startswith("https://") for url in facts.source.urls)


@pytest.mark.usefixtures("packaged")
@pytest.mark.parametrize(("typed", "hint"), [("yatch", "did you mean 'yacht'"), ("zzz", "there are abalone, airfoil")])
def test_an_unknown_name_gets_the_nearest(typed, hint):
    """A misspelt dataset is answered with the most similar name, or with all of them."""
    with pytest.raises(DatasetError, match=hint):
        datasets.facts(typed)


# --- loading ----------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not SHARED.exists(), reason="the fifteen files are not in this checkout")
def test_all_fifteen_load_as_in_the_paper(monkeypatch):
    """Every dataset has the paper's rows and columns, numbers are numbers and categories have their dtype."""
    monkeypatch.setenv("DLN_DATA_HOME", str(SHARED))
    for name, (train, test, numbers, _) in PAPER.items():
        X, y = datasets.load(name)
        assert len(X) == len(y) == train + test
        assert not X.isna().any().any()
        assert [str(dtype) for dtype in X.dtypes[:numbers]] == ["float64"] * numbers
        assert all(isinstance(dtype, pd.CategoricalDtype) for dtype in X.dtypes[numbers:])
        assert y.dtype == float


@pytest.mark.usefixtures("made")
def test_a_table_is_prepared_by_its_rules():
    """Ids are dropped, repeated rows are dropped after that, and categories keep their levels."""
    X, y = datasets.load("yacht")
    assert list(X.columns) == ["size", "age", "kind"]
    assert len(X) == len(y) == 60
    assert list(X["kind"].cat.categories) == ["a", "b", "c"]


def test_values_are_mapped_by_their_text(made):
    """A map of values replaces codes and ranges by numbers, whether the column holds text or numbers."""
    index = json.loads((made / "index.json").read_text())
    text = (made / "yacht.csv").read_bytes().replace(b",b,", b",B,")
    (made / "yacht.csv").write_bytes(text)
    index["yacht"] |= {"value_maps": {"age": {"7": 70}}, "sha256": hashlib.sha256(text).hexdigest()}
    index["yacht"]["encoding"]["kind"]["levels"] = ["a", "B", "c"]
    (made / "index.json").write_text(json.dumps(index))
    X, _ = datasets.load("yacht")
    assert 7 not in set(X["age"])


def test_a_changed_file_is_refused(made):
    """A file that is not the one that was measured is refused with both checksums."""
    (made / "yacht.csv").write_bytes((made / "yacht.csv").read_bytes().replace(b"1", b"2", 1))
    with pytest.raises(DatasetError, match=r"another file than the one that was measured.*SHA-256.*expected"):
        datasets.load("yacht")


def test_a_missing_file_is_told(made):
    """A folder that lacks a file is named, with the file."""
    (made / "yacht.csv").unlink()
    with pytest.raises(DatasetError, match=r"there is no file yacht\.csv in .*DLN_DATA_HOME"):
        datasets.load("yacht")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"expected_rows": 7}, "expected 7 rows in yacht.csv after preparation, got 60"),
        ({"continuous": ["size", "years"]}, "yacht.csv lacks the columns 'years'"),
        ({"encoding": {"kind": {"scheme": "one_hot_full", "levels": ["a"]}}}, "has values in 'kind' that are missing"),
    ],
)
def test_a_table_that_breaks_its_facts_is_refused(made, change, sentence):
    """Rows, columns and categories that are not as the index says are told in one sentence."""
    index = json.loads((made / "index.json").read_text())
    index["yacht"] |= change
    (made / "index.json").write_text(json.dumps(index))
    with pytest.raises(DatasetError, match=sentence):
        datasets.load("yacht")


def test_an_index_that_is_none_is_refused(made):
    """A damaged index is told with its place."""
    (made / "index.json").write_text('{"yacht": {"title": 3}}')
    with pytest.raises(DatasetError, match="does not describe datasets"):
        datasets.names()


def test_the_cache_can_be_chosen(monkeypatch, tmp_path):
    """Downloads go to the folder that is wished for, or else to the user's cache."""
    monkeypatch.setenv("DLN_CACHE", str(tmp_path))
    assert datasets.cache_folder() == tmp_path
    monkeypatch.delenv("DLN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert datasets.cache_folder().name == "dln"


@pytest.mark.parametrize("name", sorted(datasets.HELD_OUT))
def test_held_out_data_needs_no_file(name):
    """Data that is made has facts that agree with it."""
    X, y = datasets.load(name)
    facts = datasets.facts(name)
    assert {*facts.continuous, *facts.categorical} == set(X.columns)
    assert all(facts.encoding[column].levels == list(X[column].cat.categories) for column in facts.categorical)
    assert facts.expected_rows == len(X) == len(y)
    datasets.fetch(name)
    assert datasets.is_here(name)


# --- downloads --------------------------------------------------------------------------------------------------------

CONTENT = b"a,b\n" + b"1,2\n" * 50_000
DIGEST = hashlib.sha256(CONTENT).hexdigest()


class Server(http.server.ThreadingHTTPServer):
    """A server that answers each request with the next of its ways, the last one again and again."""

    daemon_threads = True

    def __init__(self, *ways):
        super().__init__(("127.0.0.1", 0), Handler)
        self.ways, self.ranges, self.release = list(ways), [], threading.Event()

    @property
    def url(self):
        """The address of its folder."""
        return f"http://127.0.0.1:{self.server_port}/folder"


class Handler(http.server.BaseHTTPRequestHandler):
    """Good, or wrong in one of the ways that servers and networks are."""

    def log_message(self, *_):
        """Say nothing."""

    def do_GET(self):
        """Answer."""
        way = self.server.ways.pop(0) if len(self.server.ways) > 1 else self.server.ways[0]
        asked = self.headers.get("Range")
        self.server.ranges.append(asked)
        if way.isdigit():
            self.send_error(int(way))
            return
        if way == "silent":
            self.server.release.wait(20)
            return
        body = b"x" + CONTENT[1:] if way == "wrong" else CONTENT
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and way != "all" else 0
        self.send_response(206 if start else 200)
        if way != "unmeasured":
            self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        self.wfile.write(body[start : start + 100_000] if way == "half" else body[start:])


@contextmanager
def serving(*ways):
    """Run a server for a while."""
    server = Server(*ways)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.release.set()
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """Ask once more, at once, of servers in trouble."""
    monkeypatch.setattr(_download, "RETRIES", 1)
    monkeypatch.setattr(_download, "TIMEOUT", 5.0)
    monkeypatch.setattr("pooch.core.time.sleep", lambda _: None)


def get(server, folder):
    """Download the content from a server and return where it went."""
    file = folder / "table.csv"
    fetch("table", None, file, DIGEST, mirror=server.url)
    return file


@pytest.mark.parametrize("way", ["good", "unmeasured"])
def test_a_good_download_is_kept(tmp_path, way):
    """A file that comes whole is kept, and nothing else is left."""
    with serving(way) as server:
        file = get(server, tmp_path)
    assert file.read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # sockets that urllib3 leaves open
@pytest.mark.parametrize(
    ("way", "sentence"),
    [
        ("wrong", "is not the file that was measured"),
        ("half", "could not be downloaded"),
        ("404", "the server answered 404 Not Found"),
        ("503", "the server answered 503"),
        ("silent", r"the server was silent for 0\.2 seconds"),
    ],
)
def test_a_bad_download_is_told_and_not_kept(tmp_path, way, sentence, monkeypatch):
    """A wrong, cut, refused or silent download ends in one sentence that says what to do, and no file."""
    if way == "silent":
        monkeypatch.setattr(_download, "TIMEOUT", 0.2)
    with serving(way) as server, pytest.raises(DownloadError, match=sentence) as raised:
        get(server, tmp_path)
    assert "DLN_DATA_HOME" in str(raised.value)
    assert not list(tmp_path.iterdir())


def test_a_server_in_trouble_is_asked_again(tmp_path):
    """A download that fails once is tried again."""
    with serving("503", "good") as server:
        assert get(server, tmp_path).read_bytes() == CONTENT
    assert len(server.ranges) == 2


def test_being_offline_is_told(packaged, monkeypatch):
    """Without a network, one sentence names the dataset, the address and the way out."""
    with serving("good") as server:
        address = server.url  # closed afterwards: nobody answers there
    monkeypatch.setenv("DLN_DATA_URL", address)
    with pytest.raises(DownloadError, match=r"yacht could not be downloaded from .*set DLN_DATA_HOME to a folder"):
        datasets.load("yacht")
    assert not list(packaged.glob("*.csv"))


def test_a_mirror_must_be_a_web_address(tmp_path):
    """An address of another kind is refused, not opened."""
    with pytest.raises(DownloadError, match="must begin with http"):
        fetch("table", None, tmp_path / "table.csv", DIGEST, mirror="file:///etc")


def test_a_dataset_without_a_home_says_so(tmp_path, monkeypatch):
    """A dataset of a folder of one's own cannot be downloaded."""
    monkeypatch.delenv("DLN_DATA_URL", raising=False)
    with pytest.raises(DownloadError, match="table has no public home"):
        fetch("table", None, tmp_path / "table.csv", DIGEST)


def test_a_cached_file_is_used_again_unless_damaged(packaged, monkeypatch):
    """The second load asks nobody; a cached file that was damaged is fetched anew."""
    facts = replace(datasets.facts("yacht"), sha256=DIGEST)
    monkeypatch.setattr(datasets, "_all_facts", lambda: {"yacht": facts})
    with serving("good") as server:
        file = datasets.path("yacht", url=server.url)
        assert file == packaged / "yacht.csv"
        datasets.path("yacht", url=server.url)
        assert len(server.ranges) == 1
        file.write_bytes(b"damaged")
        assert datasets.path("yacht", url=server.url).read_bytes() == CONTENT


def test_files_come_from_their_public_homes_in_our_form(tmp_path, monkeypatch):
    """Without a mirror the files of the source are fetched, put into our form and checked."""
    monkeypatch.delenv("DLN_DATA_URL", raising=False)
    source = Source("owner/name", "c0ffee", ["a file.csv"])
    with serving("good") as server:
        monkeypatch.setattr(_download, "PUBLIC", server.url)
        assert source.urls == [f"{server.url}/owner/name/c0ffee/a%20file.csv"]
        fetch("table", source, tmp_path / "table.csv", DIGEST)
    assert (tmp_path / "table.csv").read_bytes() == CONTENT


# --- conversion -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "contents", "expected"),
    [
        # A header of its own, a mark at the beginning, line ends of Windows, an empty line at the end.
        (Source("", "", []), ["\ufeffa,b\r\n1,2\r\n\r\n"], "a,b\n1,2\n"),
        # No header.
        (Source("", "", [], columns=["a", "b"]), ["M,2\nF,3"], "a,b\nM,2\nF,3\n"),
        # Another header than ours; blanks and tabs.
        (Source("", "", [], "whitespace", columns=["a", "b"]), ["X   Y\n1\t 0.50\n"], "a,b\n1,0.50\n"),
        # Numbers written in many ways, missing values, text in quotes.
        (
            Source("", "", [], "whitespace", rewritten=True, columns=["a", "b", "c", "d"]),
            ['97.00 2835 8 "plymouth \'cuda"\n86. ? 4 "vw"\n9 1.5 4 "a b"\n'],
            "a,b,c,d\n97.0,2835.0,8,plymouth 'cuda\n86.0,,4,vw\n9.0,1.5,4,a b\n",
        ),
        # Two files joined.
        (
            Source("", "", [], ";", columns=["a", "b"], added=[["red"], ["white"]]),
            ['"x y"\r\n7.4\r\n', '"x y"\r\n6\r\n'],
            "a,b\n7.4,red\n6,white\n",
        ),
    ],
)
def test_what_homes_hold_becomes_our_form(source, contents, expected):
    """Separators, headers, line ends and numbers of the original files become those of the files that are kept."""
    assert to_csv(source, [content.encode() for content in contents]).decode() == expected


def workbook(rows):
    """Return a small Excel workbook with one sheet."""

    def cell(value):
        if isinstance(value, str):
            return f'<c t="inlineStr"><is><t>{value}</t></is></c>'
        return "<c/>" if value is None else f"<c><v>{value!r}</v></c>"

    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    kinds = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    sheet = "".join(f"<row>{''.join(cell(value) for value in row)}</row>" for row in rows)

    def relation(kind, target):
        one = f'<Relationship Id="rId1" Type="{office}/{kind}" Target="{target}"/>'
        return f'<Relationships xmlns="{package}/relationships">{one}</Relationships>'

    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kinds}.sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{kinds}.worksheet+xml"/></Types>',
        "_rels/.rels": relation("officeDocument", "xl/workbook.xml"),
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>'
        '<sheet name="Sheet1" sheetId="1" r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": relation("worksheet", "worksheets/sheet1.xml"),
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{sheet}</sheetData></worksheet>',
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, text in parts.items():
            file.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{text}')
    return buffer.getvalue()


def test_a_workbook_becomes_our_form():
    """Cells keep all their digits; columns of whole numbers have no decimals; empty rows and columns go."""
    pytest.importorskip("fastexcel")
    rows = [["Cement (kg)", "Age", "Strength", ""], [540, 28, 61.887365759999994, None], [332.5, 3, 40.0, None]]
    content = workbook([*rows, [None, None, None, None]])
    source = Source("", "", [], workbook=True, columns=["Cement", "Age", "Strength"])
    expected = "Cement,Age,Strength\n540.0,28,61.887365759999994\n332.5,3,40.0\n"
    assert to_csv(source, [content]).decode() == expected
