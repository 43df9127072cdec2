"""What is claimed of two queries, and by what they are compared."""

from __future__ import annotations

from typing import Literal

Claim = Literal["equivalent", "contained"]
"""That both have the same at every position of every stream, or that the right has whatever the left has."""

Level = Literal["events", "valuations"]
"""What two queries are compared by: the complex events that they have at each position, or the valuations."""
