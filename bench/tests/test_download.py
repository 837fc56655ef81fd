"""A download is kept whole or not at all, and what went wrong is one sentence."""

import gc
import hashlib
import http.server
import threading
import warnings
from contextlib import contextmanager
from dataclasses import replace

import pytest

from dln_bench import _download, datasets
from dln_bench._download import DownloadError, Source, fetch

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
    """Repeat a failed request once, at once."""
    monkeypatch.setattr(_download, "RETRIES", 1)
    monkeypatch.setattr(_download, "TIMEOUT", 5.0)
    monkeypatch.setattr("pooch.core.time.sleep", lambda _: None)
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()  # requests leaves the sockets of failed downloads to the collector


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
        address = server.url  # closed afterwards, so that connections are refused
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
    """The second load sends no request; a cached file that was damaged is fetched anew."""
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
