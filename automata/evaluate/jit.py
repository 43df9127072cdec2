"""How the loops of this folder are compiled: by numba, with the machine code kept beside the source.

What numba has kept it takes as long as the file of the loop itself is unchanged. So a loop stands in one file with all
that it calls.
"""

from __future__ import annotations

from typing import Any

from numba import njit

compiled: Any = njit(cache=True, nogil=True)
