"""Compile loops with numba, and cache the machine code so that it is never out of date.

numba looks up cached machine code only by the file that contains the function. But machine code also depends on the
functions that are compiled into a loop, and on constants from other modules. So here the names of the cache files
contain a hash of the sources of all modules that the loop may use; see `sources`.

numba counts references to arrays, even where one loop only passes an array to another. In a loop that does so for each
event, the counting takes most of the time. `bare` and `part` compile such loops without the counting; the loops must
allocate no arrays. numba also counts references to an object that holds arrays, so a loop takes each array as a
parameter. A loop stays one function if its parts would need nearly all arrays: some loops have a hundred lines and
twenty parameters.
"""

from __future__ import annotations

import ast
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

from numba import njit
from numba.core import caching

NO_ALLOCATION: Any = {"nogil": True, "_nrt": False}
_ResultCache: Any = caching.CompileResultCacheImpl
_FunctionCache: Any = caching.FunctionCache
_log = logging.getLogger(__name__)


def cached(dispatcher: Any) -> Any:
    """Return the dispatcher (the result of `njit`) with a disk cache that depends on all sources of the loop.

    The files are written to `__pycache__` beside the source, or, if that folder cannot be written, to the user's cache
    folder; NUMBA_CACHE_DIR names another folder. Without a folder to write to, or without sources, nothing is cached.
    """
    if hasattr(dispatcher, "enable_caching"):  # with NUMBA_DISABLE_JIT=1 it is the Python function itself
        with suppress(RuntimeError, OSError):  # no folder can be written; no source can be read
            dispatcher._cache = _LoopCache(dispatcher.py_func)
    return dispatcher


def compiled(loop: Callable[..., Any]) -> Any:
    """Return the function as a compiled, cached loop that runs without the interpreter's lock."""
    return cached(njit(nogil=True)(loop))


def bare(loop: Callable[..., Any]) -> Any:
    """Same as `compiled`, but for a loop that allocates nothing: references in it are not counted, which is faster."""
    return cached(njit(**NO_ALLOCATION)(loop))


part: Any = njit(**NO_ALLOCATION, inline="always")
"""Decorate a function whose statements numba copies into the `bare` loops that call it."""

inlined: Any = njit(**NO_ALLOCATION, forceinline=True)
"""Decorate a function that LLVM inlines into the `bare` loops that call it."""


def sources(module: str) -> dict[str, bytes]:
    """Return a dict from names to sources: of a module, and of the modules of its package that it imports, even
    indirectly.

    Raises OSError if a source cannot be read.
    """
    package = module.partition(".")[0]
    found: dict[str, bytes] = {}
    pending = [module]
    while pending:
        name = pending.pop()
        if name not in found:
            found[name] = _source(sys.modules[name])
            pending += (m for m in _imports(found[name]) if m.partition(".")[0] == package and m in sys.modules)
    return found


def fingerprint(module: str) -> str:
    """Return a hash of the sources that a loop in this module may use: 16 hexadecimal digits. Raises OSError."""
    return sha256(repr(sorted(sources(module).items())).encode()).hexdigest()[:16]


@lru_cache(maxsize=64)
def _imports(source: bytes) -> tuple[str, ...]:
    """Return the absolute names of the modules that a source imports.

    For `from a import b` these are a and a.b, because b may be a module.
    """

    def names() -> Iterator[str]:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield node.module
                yield from (f"{node.module}.{alias.name}" for alias in node.names)

    return tuple(names())


def _source(module: ModuleType) -> bytes:
    """Read the source of a module. Its loader reads it, because the package may be in a zip file. Raises OSError."""
    loader: Any = module.__loader__
    file = module.__file__
    if file is None:
        raise OSError(f"{module.__name__} has no source file")
    data: bytes = loader.get_data(file) if hasattr(loader, "get_data") else Path(file).read_bytes()
    return data


class _NamedBySources(_ResultCache):  # type: ignore[misc]
    """The files of a compiled function in numba's cache. Their names contain the fingerprint of its sources.

    numba itself puts a stamp inside the files. With it, a process could read a new index file and old machine code.
    """

    def __init__(self, loop: Callable[..., Any]) -> None:
        self.fingerprint = fingerprint(loop.__module__)
        super().__init__(loop)

    def get_filename_base(self, fullname: str, abiflags: str) -> str:
        """Return the first part of the names of the files; numba adds the endings."""
        return f"{super().get_filename_base(fullname, abiflags)}-{self.fingerprint}"


class _LoopCache(_FunctionCache):  # type: ignore[misc]
    _impl_class = _NamedBySources

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the cached machine code of a signature. If there is none, return None and log that it is compiled."""
        found = super().load_overload(sig, target_context)
        if found is None:
            _log.info("compiling %s", self._name)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save machine code, and remove the files of other versions of the loop."""
        super().save_overload(sig, data)
        name = self._impl.filename_base
        loop, version = name.rpartition("-")[0].rpartition("-")[::2]
        for path in Path(self.cache_path).glob(f"{loop}-*{version.partition('.')[2]}*.nb[ci]"):
            if not path.name.startswith(name):
                with suppress(OSError):
                    path.unlink()
