"""Empty match stores. They need numba, which is imported when the first one is made."""

from __future__ import annotations

from cerify.automata.evaluate.match_store import MatchStore
from cerify.semantics.errors import Unsupported


def unwindowed_store() -> MatchStore:
    """A store for formulas without windows and partitions. Raises Unsupported where numba is not installed."""
    try:
        from cerify.automata.evaluate.unwindowed_store import UnwindowedStore
    except ImportError as error:
        raise _needs_numba(error) from None
    return UnwindowedStore()


def windowed_store(reports_at_last_event: bool, windowed: bool, consuming: bool) -> MatchStore:
    """A store for all formulas; see WindowedStore. Raises Unsupported where numba is not installed."""
    try:
        from cerify.automata.evaluate.windowed_store import WindowedStore
    except ImportError as error:
        raise _needs_numba(error) from None
    return WindowedStore(reports_at_last_event, windowed, consuming)


def _needs_numba(error: ImportError) -> Unsupported:
    return Unsupported(f"the compiled evaluator needs numba: pip install 'cerify[fast]' ({error})")
