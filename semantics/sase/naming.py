"""The names in what RETURN makes: of the attributes of a result event, and of its type (sase07, section 2.1)."""

from __future__ import annotations

from collections import Counter
from typing import assert_never

from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.show import show_output


def names_of(returned: sase.Return) -> tuple[str, ...]:
    """The names of the attributes of a result event.

    An item without AS has the name of its attribute, or of the variable whose attributes it composes; its text, where
    it has no such name or another item has it too.
    """
    short = [item.alias or _short(item.output) for item in returned.items]
    times = Counter(short)
    return tuple(
        name if name is not None and (item.alias is not None or times[name] == 1) else show_output(item.output)
        for item, name in zip(returned.items, short, strict=True)
    )


def _short(output: sase.Output) -> str | None:
    match output:
        case sase.Simple(sase.Reference(name)) | sase.Series(_, name):
            return name
        case sase.Composite(a) | sase.CompositeSeries(a):
            return a
        case sase.Simple():
            return None
        case _:
            assert_never(output)


def type_of(returned: sase.Return) -> str:
    """The type of the result events: as RETURN names it, else the name of their stream."""
    return returned.type or returned.stream or "result"
