"""Files that are written whole or not at all, and by one run at a time."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from cerify.semantics.errors import InputError


def write_whole(path: Path, text: str) -> None:
    """Replace what is in a file, by a file beside it that is renamed; a reader sees the old text or the new one.

    What is no regular file, such as a pipe, is written to as it is. Raises InputError, and then the file is as it was.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
            return
        target = path.resolve()  # a link stays one
        beside = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            beside.write_text(text, encoding="utf-8", newline="\n")
            if target.exists():
                with target.open("rb+"):  # a file that may not be written to is not replaced either
                    shutil.copymode(target, beside)
            os.replace(beside, target)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None


def lock(file: IO[Any], path: Path) -> None:
    """Make this process the only one that has locked the file, until it closes it or ends; on Windows, do nothing.

    Raises InputError if another process has locked it.
    """
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # unlike flock, not inherited by processes that are started
    except BlockingIOError:
        raise InputError(f"another run writes to {path}; wait until it is over, or give another name") from None


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """A context in which this process has locked the file, which is made if it is not there. Raises InputError."""
    try:
        file = path.open("a", encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None
    with file:
        lock(file, path)
        yield
