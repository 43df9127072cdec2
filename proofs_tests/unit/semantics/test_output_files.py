"""Files that are written whole or not at all, and locks between processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cerify.semantics.errors import InputError
from cerify.semantics.files import locked, write_whole

LOCKS = """
import sys
from pathlib import Path
from cerify.semantics.files import locked
with locked(Path(sys.argv[1])):
    print("locked", flush=True)
    sys.stdin.read()
"""
FULL = """
import resource, sys
from pathlib import Path
from cerify.semantics.files import write_whole
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
write_whole(Path(sys.argv[1]), "new " * 1000)
"""


def test_a_file_is_replaced_with_its_mode_and_behind_a_link(tmp_path: Path) -> None:
    path, link = tmp_path / "page", tmp_path / "link"
    write_whole(path, "old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_whole(link, "é\n")
    assert (path.read_bytes(), path.stat().st_mode & 0o777, link.is_symlink()) == ("é\n".encode(), 0o640, True)
    assert sorted(os.listdir(tmp_path)) == ["link", "page"]


@pytest.mark.skipif(sys.platform != "linux", reason="limits of a process")
def test_without_room_a_file_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "page"
    path.write_text("old")
    ran = subprocess.run([sys.executable, "-c", FULL, str(path)], stderr=subprocess.PIPE, text=True, check=False)
    assert "InputError: cannot write" in ran.stderr
    assert "File too large" in ran.stderr
    assert (path.read_text(), os.listdir(tmp_path)) == ("old", ["page"])


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none" / "page"):
        with pytest.raises(InputError, match="cannot write"):
            write_whole(path, "text")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_device_is_written_to() -> None:
    write_whole(Path("/dev/null"), "text")
    with pytest.raises(InputError, match="No space left"):
        write_whole(Path("/dev/full"), "text")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no locks")
def test_a_file_is_locked_until_its_process_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    argv = [sys.executable, "-c", LOCKS, str(path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        with pytest.raises(InputError, match="another run writes to"), locked(path):
            pass
        other.kill()
    with locked(path):
        pass
