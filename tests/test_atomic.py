from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from dln import _atomic
from dln._atomic import write_atomically


def test_a_file_is_replaced_as_a_whole(tmp_path: Path):
    """The new bytes are there, the old ones gone, and nothing else is left in the folder."""
    path = tmp_path / "model.dln"
    for data in (b"old", b"new" * 100_000, b""):
        write_atomically(path, data)
        assert path.read_bytes() == data
    assert [file.name for file in tmp_path.iterdir()] == ["model.dln"]


def test_a_failure_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Whatever step fails, the old bytes stay, nothing else is left, and the sentence names the file."""
    path = tmp_path / "model.dln"
    path.write_bytes(b"old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for step in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(_atomic.os if step == "fsync" else _atomic.Path, step, full)
            with pytest.raises(OSError, match=r"No space left.*as it was before.*model\.dln"):
                write_atomically(path, b"new")
        assert [file.name for file in tmp_path.iterdir()] == ["model.dln"]
        assert path.read_bytes() == b"old"


@pytest.mark.skipif(sys.platform == "win32", reason="limits on files are a Unix matter")
def test_a_full_disk_leaves_the_old_file(tmp_path: Path):
    """A write that the system refuses half-way leaves the old bytes and nothing else."""
    path = tmp_path / "model.dln"
    path.write_bytes(b"old")
    script = (
        "import resource, sys; from dln._atomic import write_atomically\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "write_atomically(sys.argv[1], b'new' * 1000)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], check=False, capture_output=True, text=True)
    assert "as it was before" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["model.dln"]
    assert path.read_bytes() == b"old"


def test_a_missing_folder_is_told(tmp_path: Path):
    """A missing folder is named as the user wrote it."""
    with pytest.raises(FileNotFoundError, match=r"nowhere/model\.dln"):
        write_atomically(tmp_path / "nowhere" / "model.dln", b"")


@pytest.mark.skipif(sys.platform == "win32", reason="links and permissions are a Unix matter")
def test_links_and_permissions_stay(tmp_path: Path):
    """A symbolic link still points to its file, which has the new bytes and its old permissions."""
    path, link = tmp_path / "model.dln", tmp_path / "latest.dln"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are a Unix matter")
def test_a_pipe_is_written_and_not_replaced(tmp_path: Path):
    """What is there and is no regular file is opened and written: it stays what it is."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_atomically(pipe, b"new")
    assert os.read(reader, 100) == b"new"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert [file.name for file in tmp_path.iterdir()] == ["pipe"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_device_stays_a_device():
    """A device that cannot hold the bytes raises what the system says, and is not replaced by a file."""
    with pytest.raises(OSError, match="No space left"):
        write_atomically("/dev/full", b"new")
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


def test_a_link_is_followed(tmp_path: Path):
    """A symbolic link stays one, and the file that it names is written, also where that was not there yet."""
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "file")
    for data in (b"first", b"second"):
        write_atomically(link, data)
        assert link.is_symlink()
        assert (tmp_path / "file").read_bytes() == data
