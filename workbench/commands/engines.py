"""`cerify engines`: the engines that can be put under test by name."""

from __future__ import annotations

import click

from cerify import protocol
from cerify.conformance.engines import NAMES, SHIPPED, missing_for
from cerify.console import screen
from cerify.semantics.packages import rich_table
from cerify.terminal import echo


@click.command("engines")
@click.option("--json", "as_json", is_flag=True, help="Print one object per engine, a line each.")
def command(as_json: bool) -> int:
    """List the engines of conform --engine and fuzz --engine, with what is missing on this machine.

    An adapter in Java is built when its engine is first used, in the user's cache folder or in the checkout; Maven
    fetches the engine. OpenCEP and SASE are loaded from the checkouts that the environment variables
    CERIFY_OPENCEP_HOME and CERIFY_SASE_HOME name; CORE is linked from the one that CERIFY_CORE_HOME names, in which it
    is built.
    Exit status: 0 if every engine can be run, 1 if something is missing.
    """
    rows = [_row(name) for name in NAMES]
    if as_json:
        for row in rows:
            echo(protocol.line(row))
    else:
        table = rich_table.Table("name", "engine", "licence", "missing")
        for row in rows:
            table.add_row(row["name"], row["engine"], row["licence"], row["missing"] or "nothing")
        screen().print(table)
    return 0 if all(row["missing"] is None for row in rows) else 1


def _row(name: str) -> dict[str, str | None]:
    adapter = SHIPPED.get(name)
    engine, licence = ("cerify", "Apache-2.0") if adapter is None else (adapter.engine, adapter.licence)
    return {"name": name, "engine": engine, "licence": licence, "missing": missing_for(name)}
