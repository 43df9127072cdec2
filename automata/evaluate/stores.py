"""Empty match stores. They need numba, which is imported when the first one is made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cerify.automata.evaluate.match_store import MatchStore
from cerify.semantics.errors import Unsupported


@contextmanager
def numba_required() -> Iterator[None]:
    """For imports of compiled loops: raises Unsupported where numba is not installed."""
    try:
        yield
    except ImportError as error:
        raise Unsupported(f"the compiled evaluator needs numba: pip install 'cerify[fast]' ({error})") from None


def unwindowed_store(labelled: bool) -> MatchStore:
    """A store for formulas without windows and partitions. Raises Unsupported where numba is not installed."""
    with numba_required():
        from cerify.automata.evaluate.unwindowed_store import UnwindowedStore
    return UnwindowedStore(labelled)


def windowed_store(reports_at_last_event: bool, windowed: bool, consuming: bool) -> MatchStore:
    """A store for all formulas; see WindowedStore. Raises Unsupported where numba is not installed."""
    with numba_required():
        from cerify.automata.evaluate.windowed_store import WindowedStore
    return WindowedStore(reports_at_last_event, windowed, consuming)
