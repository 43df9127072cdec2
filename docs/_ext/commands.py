"""The reference of the command line: a section for each command there is, after what the page says of all."""

from __future__ import annotations

import sys
from inspect import unwrap

from sphinx.application import Sphinx

from cerify import cli

PAGE = "reference/commands"
SECTION = """
```{{eval-rst}}
.. click:: {place}
   :prog: cerify {name}
```
"""


def place_of(name: str) -> str:
    """Return the module of a command and its name there, with a colon between them."""
    command = cli.load_command(name)
    module = sys.modules[unwrap(command.callback).__module__]  # type: ignore[arg-type]
    return f"{module.__name__}:{next(key for key, value in vars(module).items() if value is command)}"


def listed(app: Sphinx, docname: str, source: list[str]) -> None:
    """Adds the sections."""
    if docname == PAGE:
        app.env.note_dependency(cli.__file__, docname=docname)
        opening, *rest = source[0].partition("\n## ")  # under a heading they would be below it
        sections = "".join(SECTION.format(name=name, place=place_of(name)) for name in sorted(cli.COMMANDS))
        source[0] = "".join([opening, sections, *rest])


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", listed)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
