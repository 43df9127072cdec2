"""How the loops of this folder are compiled: by numba, with the machine code kept beside the source.

What numba has kept it takes as long as the file of the loop itself is unchanged. So a loop stands in one file with all
that it calls.

numba counts references to arrays, also where one is handed to another loop. In a loop that does so for each event that
took more time than all else. So such a loop makes no arrays, which leaves nothing to count, and what it calls becomes a
part of it.
"""

from __future__ import annotations

from typing import Any

from numba import njit

KEPT: Any = {"cache": True, "nogil": True}
UNCOUNTED: Any = {"_nrt": False}

compiled: Any = njit(**KEPT)
bare: Any = njit(**KEPT, **UNCOUNTED)
part: Any = njit(**KEPT, **UNCOUNTED, inline="always")
