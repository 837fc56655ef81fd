"""Datasets from their public homes: downloaded whole or not at all, put into one form, and checked."""

from __future__ import annotations

import hashlib
import http.client
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from dln._atomic import write_atomically

#: Called with the bytes that are there, and the bytes expected (0: not known).
Progress: TypeAlias = Callable[[int, int], None]

#: A mirror: the address of a folder that holds the files in their final form.
MIRROR: Final = "DLN_DATA_URL"
CACHE: Final = "DLN_CACHE"
PUBLIC: Final = "https://raw.githubusercontent.com"

#: Seconds that a server may be silent; tries for one file, and seconds before the second (then twice as many, …).
TIMEOUT: Final = 30.0
TRIES: Final = 4
PAUSE: Final = 0.5
#: No file is nearly as long: a server that sends more sends something else.
MAX_BYTES: Final = 50_000_000
BLOCK: Final = 1 << 16


class DownloadError(OSError):
    """A dataset that could not be downloaded.

    >>> raise DownloadError("yacht could not be downloaded")
    Traceback (most recent call last):
    dln_bench._download.DownloadError: yacht could not be downloaded
    """


@dataclass(frozen=True, slots=True)
class Source:
    """A file's public home, and how the file there differs from the one that is kept.

    `columns`: the header of the file that is kept, where the file there has another or none. `rewritten`: numbers are
    written anew, since the file there writes 97 as "97.00" and "97.". `added`: values to append to the rows of each
    path, where several files are joined.
    """

    repository: str
    commit: str
    paths: list[str]
    separator: str = ","
    workbook: bool = False
    rewritten: bool = False
    columns: list[str] = field(default_factory=list)
    added: list[list[str]] = field(default_factory=list)

    @property
    def urls(self) -> list[str]:
        """Where the files are."""
        return [f"{PUBLIC}/{self.repository}/{self.commit}/{urllib.parse.quote(path)}" for path in self.paths]


def cache_folder() -> Path:
    """Return the folder that downloads go to: ``DLN_CACHE``, or the platform's place for caches."""
    if CACHE in os.environ:
        return Path(os.environ[CACHE]).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", "~/AppData/Local")).expanduser() / "dln" / "cache"
    if sys.platform == "darwin":
        return Path("~/Library/Caches/dln").expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "dln"


def fetch(
    name: str,
    source: Source | None,
    file: Path,
    sha256: str,
    *,
    mirror: str | None = None,
    progress: Progress | None = None,
    timeout: float = TIMEOUT,
    pause: float = PAUSE,
) -> None:
    """Download a dataset to `file`: whole, in our form and with the right SHA-256, or an error and no file."""
    from dln_bench._convert import to_csv

    mirror = mirror or os.environ.get(MIRROR)
    file.parent.mkdir(parents=True, exist_ok=True)
    if mirror:
        urls = [f"{mirror.rstrip('/')}/{urllib.parse.quote(file.name)}"]
        data = _download(name, urls[0], file, progress, timeout, pause)
    elif source is None:
        message = f"{name} has no public home: set DLN_DATA_HOME to the folder that holds {file.name}"
        raise DownloadError(message)
    else:
        urls = source.urls
        data = to_csv(name, source, [_download(name, url, file, progress, timeout, pause) for url in urls])
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        message = (
            f"{name}: what {' and '.join(urls)} sent is not the file that was measured (SHA-256 {found}, expected "
            f"{sha256}); nothing was kept. Set DLN_DATA_HOME to a folder with the right {file.name}"
        )
        raise DownloadError(message)
    write_atomically(file, data)


def _download(name: str, url: str, file: Path, progress: Progress | None, timeout: float, pause: float) -> bytes:
    """Return the bytes at an address. A dropped connection goes on where it was, also in another process.

    What has come is kept in a file beside `file` until it is whole.
    """
    part = file.with_name(f".{file.name}.{hashlib.sha256(url.encode()).hexdigest()[:8]}.part")
    reason = ""
    for tried in range(TRIES):
        if tried:
            time.sleep(pause * 2 ** (tried - 1))
        try:
            _receive(url, part, progress, timeout)
        except urllib.error.HTTPError as error:
            reason = f"the server answered {error.code} {error.reason}"
            if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
                part.unlink(missing_ok=True)  # the file has changed since: begin anew
            elif error.code < http.client.INTERNAL_SERVER_ERROR and error.code != http.client.TOO_MANY_REQUESTS:
                break  # asking again would not help
        except TimeoutError:
            reason = f"the server was silent for {timeout:g} seconds"
        except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
            cause = getattr(error, "reason", error)
            if isinstance(cause, TimeoutError):
                reason = f"the server was silent for {timeout:g} seconds"
            else:
                reason = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
        else:
            data = part.read_bytes()
            part.unlink()
            return data
    message = (
        f"{name} could not be downloaded from {url}: {reason}. Check the network, or set DLN_DATA_HOME to a folder "
        f"that holds {file.name}"
    )
    raise DownloadError(message)


def _receive(url: str, part: Path, progress: Progress | None, timeout: float) -> None:
    """Receive the rest of a file into `part`."""
    if not url.startswith(("http://", "https://")):
        message = f"the address must begin with http:// or https://, got {url!r}"
        raise urllib.error.URLError(message)
    there = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"User-Agent": "dln"})  # noqa: S310 (checked above)
    if there:
        request.add_header("Range", f"bytes={there}-")
    with urllib.request.urlopen(request, timeout=timeout) as answer:  # noqa: S310 (checked above)
        if answer.status != http.client.PARTIAL_CONTENT:
            there = 0  # the server sends all of it, whatever was asked for
        length = answer.headers.get("Content-Length")
        expected = there + int(length) if length and length.isdigit() else 0
        with part.open("ab" if there else "wb") as stream:
            while block := answer.read(BLOCK):
                stream.write(block)
                there += len(block)
                if there > MAX_BYTES:
                    part.unlink()
                    message = f"it is longer than {MAX_BYTES} bytes"
                    raise http.client.HTTPException(message)
                if progress is not None:
                    progress(there, expected)
    if expected and there < expected:
        message = f"the connection ended after {there} of {expected} bytes"
        raise http.client.HTTPException(message)
