"""Datasets from their public homes: downloaded whole or not at all, put into one form, and checked."""

from __future__ import annotations

import hashlib
import logging
import os
import urllib.parse
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pooch
import requests

from dln._atomic import write_atomically

#: A mirror: the address of a folder that holds the files in their final form.
MIRROR: Final = "DLN_DATA_URL"
CACHE: Final = "DLN_CACHE"
PUBLIC: Final = "https://raw.githubusercontent.com"

#: Seconds to wait for an answer of a server, and further requests after a failed one.
TIMEOUT: Final = 30.0
RETRIES: Final = 3


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
        """Addresses of the files."""
        return [f"{PUBLIC}/{self.repository}/{self.commit}/{urllib.parse.quote(path)}" for path in self.paths]


def cache_folder() -> Path:
    """Return the folder that downloads go to: ``DLN_CACHE``, or the platform's place for caches."""
    return Path(os.environ[CACHE]).expanduser() if CACHE in os.environ else Path(pooch.os_cache("dln"))


def fetch(name: str, source: Source | None, file: Path, sha256: str, *, mirror: str | None = None) -> None:
    """Download a dataset to `file`: whole, in our form and with the right SHA-256, or an error and no file."""
    from dln_bench._convert import to_csv

    mirror = mirror or os.environ.get(MIRROR)
    if mirror:
        urls = [f"{mirror.rstrip('/')}/{urllib.parse.quote(file.name)}"]
        (data,) = _download(name, urls, file.name)
    elif source is None:
        message = f"{name} has no public home: set DLN_DATA_HOME to the folder that holds {file.name}"
        raise DownloadError(message)
    else:
        urls = source.urls
        data = to_csv(source, _download(name, urls, file.name))
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        message = (
            f"{name}: what {' and '.join(urls)} sent is not the file that was measured (SHA-256 {found}, expected "
            f"{sha256}); nothing was kept. Set DLN_DATA_HOME to a folder with the right {file.name}"
        )
        raise DownloadError(message)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, data)


def _download(name: str, urls: list[str], file: str) -> list[bytes]:
    """Return the bytes at some addresses."""
    pooch.get_logger().setLevel(logging.WARNING)
    with TemporaryDirectory() as folder:
        names = [str(number) for number in range(len(urls))]
        files = pooch.create(
            folder,
            base_url="",
            registry=dict.fromkeys(names),  # the checksum is that of the converted file
            urls=dict(zip(names, urls, strict=True)),
            retry_if_failed=RETRIES,
        )
        found = []
        for each, url in zip(names, urls, strict=True):
            try:
                downloader = pooch.HTTPDownloader(timeout=TIMEOUT, headers={"User-Agent": "dln"})
                found.append(Path(files.fetch(each, downloader=downloader)).read_bytes())
            except (requests.RequestException, OSError, ValueError) as error:
                message = (
                    f"{name} could not be downloaded from {url}: {_reason(error)}. Check the network, or set "
                    f"DLN_DATA_HOME to a folder that holds {file}"
                )
                raise DownloadError(message) from None
        return found


def _reason(error: Exception) -> str:
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"the server answered {error.response.status_code} {error.response.reason}"
    if isinstance(error, requests.Timeout):
        return f"the server was silent for {TIMEOUT:g} seconds"
    if isinstance(error, requests.exceptions.InvalidSchema):
        return "the address must begin with http:// or https://"
    return " ".join(str(error).split()) or type(error).__name__
