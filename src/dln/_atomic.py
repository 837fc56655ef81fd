"""Files that are written as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
from pathlib import Path
from typing import TypeAlias

AnyPath: TypeAlias = str | os.PathLike[str]


def write_atomically(path: AnyPath, data: bytes) -> None:
    """Write a file so that at every moment, whatever happens, `path` holds the old bytes or the new ones.

    The bytes go to a file beside it, reach the disk, and only then take the name. A symbolic link stays one, a file
    keeps its permissions, and a device or a pipe is opened and written.
    """
    target = Path(os.path.realpath(path))
    if is_special(target):
        target.write_bytes(data)
        return
    # Random, so that two writers never share it.
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        # "x" and no mode of our own: the umask decides who may read it, as for any other file.
        with unfinished.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        take_name(unfinished, target)
    except OSError as error:
        reason = f"{error.strerror}; it could not be written, and is as it was before"
        raise type(error)(error.errno, reason, str(path)) from error
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
    _flush_folder(target.parent)


def is_special(path: Path) -> bool:
    """Return whether something is there that is no regular file, like a device or a pipe: it must not be replaced."""
    return path.exists() and not path.is_file()


def take_name(finished: Path, target: Path) -> None:
    """Give a file the name of another in the same file system, whose permissions it takes over, at once."""
    if is_special(target):
        with finished.open("rb") as file, target.open("wb") as special:
            shutil.copyfileobj(file, special)
        return
    with contextlib.suppress(FileNotFoundError):
        finished.chmod(stat.S_IMODE(target.stat().st_mode))
    finished.replace(target)


def _flush_folder(folder: Path) -> None:
    """Let the new name reach the disk too; systems that cannot open a folder do that by themselves."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
