"""The reference of the command line: a section for each command there is, after the page's own text."""

from __future__ import annotations

from sphinx.application import Sphinx

from cerify import cli

PAGE = "reference/commands"
SECTION = """
```{{eval-rst}}
.. click:: cerify.commands.{name}:command
   :prog: cerify {name}
```
"""


def listed(app: Sphinx, docname: str, source: list[str]) -> None:
    """Adds the sections."""
    if docname == PAGE:
        app.env.note_dependency(cli.__file__, docname=docname)
        source[0] += "".join(SECTION.format(name=name) for name in sorted(cli.COMMANDS))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", listed)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
