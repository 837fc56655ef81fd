"""Files that are written as a whole or not at all."""

from __future__ import annotations

import contextlib
import glob
import os
import secrets
import shutil
import stat
from pathlib import Path
from typing import Final, TypeAlias

AnyPath: TypeAlias = str | os.PathLike[str]

#: What ends the name of a file that is not finished.
UNFINISHED: Final = ".tmp"


def write_atomically(path: AnyPath, data: bytes, *, durable: bool = True) -> None:
    """Write a file so that at every moment, whatever happens, `path` holds the old bytes or the new ones.

    The bytes go to a file beside it, reach the disk, and only then take the name. A symbolic link stays one, a file
    keeps its permissions, and a device or a pipe is opened and written. What is not `durable` may be lost or cut short
    when the machine stops: for what can be made again, and is checked when it is read.
    """
    target = Path(os.path.realpath(path))
    if is_special(target):
        target.write_bytes(data)
        return
    # Random, so that two writers never share it.
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(4)}{UNFINISHED}")
    try:
        _write(unfinished, data, durable=durable)
        take_name(unfinished, target)
    except OSError as error:
        reason = f"{error.strerror}; it could not be written, and is as it was before"
        raise type(error)(error.errno, reason, str(path)) from error
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
    if durable:
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


def remove_unfinished(path: AnyPath) -> None:
    """Remove what processes left that were killed while they wrote `path`; only where none is writing it now."""
    target = Path(os.path.realpath(path))
    for unfinished in target.parent.glob(f".{glob.escape(target.name)}.*{UNFINISHED}"):
        with contextlib.suppress(OSError):
            unfinished.unlink()


def _write(path: Path, data: bytes, *, durable: bool) -> None:
    # "x" and no mode of our own: the umask decides who may read it, as for any other file.
    with path.open("xb") as file:
        file.write(data)
        if durable:
            file.flush()
            os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    """Let the new name reach the disk too; systems that cannot open a folder do that by themselves."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
