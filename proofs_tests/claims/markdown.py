"""Text of the ledger as Markdown has it."""

from __future__ import annotations

import re

SIGNS = re.compile(r"[\\|*_\[\]<]")
CODE = re.compile(r"(`[^`]*`)")


def escaped(text: str) -> str:
    """Neither | nor * nor _ nor [ nor < taken for a sign, and no link; what stands between backticks stays."""
    parts = CODE.split(text)
    parts[::2] = [SIGNS.sub(r"\\\g<0>", part).replace("](", "]\\(") for part in parts[::2]]
    return "".join(parts)


def code(text: str) -> str:
    """In code type, on one line."""
    return f"`{' '.join(text.split())}`"


def codes(ids: tuple[str, ...]) -> str:
    """All of them in code type, with commas."""
    return ", ".join(map(code, ids))
