"""Files and bytes for Arrow's readers, without an object of Python in them.

Threads of Arrow let go of what they read only after the table is there. Where that is while the interpreter ends, and
Python is needed for it, the process aborts.
"""

from __future__ import annotations

import os
from typing import BinaryIO

from cerify.semantics.packages import pa


def native_buffer(data: bytes) -> pa.Buffer:
    """A copy of the bytes in Arrow's memory."""
    sink = pa.BufferOutputStream()
    sink.write(data)
    return sink.getvalue()


def native_file(file: BinaryIO) -> pa.NativeFile:
    """The file from its beginning: by its name if it has one, else its bytes. It has to be one that can seek."""
    if (name := getattr(file, "name", None)) is not None:
        return pa.OSFile(os.fsencode(name))
    file.seek(0)
    return pa.BufferReader(native_buffer(file.read()))
