"""Settings for all tests, and the folders of datasets that several of them read."""

import os
import signal

import pytest
from hypothesis import settings

from bench_tables import write_tables

# As in tests/: no deadline, since machines are shared.
settings.register_profile("dev", max_examples=50, deadline=None)
settings.register_profile("ci", max_examples=300, deadline=None, derandomize=True, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

# A job in the background of a shell starts with Ctrl-C ignored, and tests of Ctrl-C would wait for it in vain.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


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
