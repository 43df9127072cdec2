"""The syntax tree: a letter, or a word after which another follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Letter:
    """An event of a type."""

    type: str


@dataclass(frozen=True)
class Then:
    """The left word, and with the next event the right one."""

    left: Word
    right: Word


Word: TypeAlias = Letter | Then
