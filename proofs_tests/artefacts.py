"""What cerify generates, as bytes: `python -m proofs_tests.artefacts` prints a digest of each, the same everywhere.

With other Pythons, as `python3.12`, each of them makes them too, with several seeds of its hashing of texts.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import click
from click.testing import CliRunner

import cerify as package
from cerify.api import compile, equivalent
from cerify.cli import cerify
from cerify.languages import LANGUAGES
from cerify.semantics.events import Event
from cerify.semantics.json_events import json_of_event
from proofs_tests.claims.everything import LEDGER
from proofs_tests.claims.ledger import entry
from proofs_tests.laws import page as laws
from proofs_tests.robustness import store
from proofs_tests.tools.engine_board import findings, fuzz_runs, results
from proofs_tests.tools.engine_board import page as board

EVENTS = [Event("A", {"x": 1}), Event("B", {"x": 1}), Event("C", {"x": 2}), Event("A", {"x": 1, "s": "a"})]
CLAIMS = ("tods21.fig3", "cep17.lem", "vldb92.s2.3")
SEEDS = 40


def certificate(left: str, right: str, language: str) -> str:
    """The certificate that two queries are the same."""
    return equivalent(left, right, languages=(language, language)).certificate.to_json()  # type: ignore[union-attr]


def state(query: str, evaluator: str) -> bytes:
    """The state of an evaluator that has read some events."""
    found = compile(query, evaluator=evaluator)
    found.push(EVENTS)
    return found.save()


def cases() -> Iterator[str]:
    """Random queries and streams of every language."""
    for name, language in LANGUAGES.items():
        generator = language.require_cases().generator()
        for profile in generator.profiles.values():
            for seed in range(SEEDS):
                query, S = generator.case(Random(f"{name}/{seed}"), profile, 10, 8)
                yield f"{language.syntax.show(query)} {[json_of_event(event) for event in S]}\n"


def entries() -> Iterator[str]:
    """Some claims, checked."""
    for id_ in LEDGER:
        if id_.startswith(CLAIMS):
            yield repr({name: value for name, value in entry(LEDGER[id_], "quick").items() if name != "seconds"})


def printed(*arguments: str) -> str:
    """What a command prints."""
    ran = CliRunner().invoke(cerify, arguments, catch_exceptions=False, standalone_mode=False)
    return f"{ran.return_value} {ran.output}"


RISE = "(A IN X ; B IN Y) FILTER X.x < Y.x"
ARTEFACTS: Mapping[str, Callable[[], str | bytes | Iterator[str]]] = {
    "certificate of CEL": lambda: certificate(
        "((A ; B) OR (A ; C)) FILTER A.x > 1", "(A ; (B OR C)) FILTER A.x > 1", "cel"
    ),
    "certificate of event expressions": lambda: certificate("!(!A and !B)", "A or B", "event-expression"),
    "state, compiled": lambda: state("((A IN X) ; (B OR C)+) WITHIN 9 EVENTS PARTITION BY [x]", "kernel"),
    "state, readable": lambda: state("((A IN X) ; (B OR C)+) WITHIN 9 EVENTS PARTITION BY [x]", "automaton"),
    "random cases": cases,
    "claims": entries,
    "laws": laws,
    "board": lambda: board(results(), findings(), fuzz_runs()),
    "suite of vectors": lambda: printed("vectors", "A ; B+", "--json"),
    "witness": lambda: printed("equiv", "A ; B+ ; C", "A ; B ; C", "--json"),
    "simplified": lambda: printed("simplify", "(A OR A ; A) UNLESS (B OR B)", "--steps"),
    "normal form": lambda: printed("normalize", "(A OR B) ; C", "--to", "disjunctive", "--json"),
    "automaton": lambda: printed("draw", "A ; (B OR C)+ ; D", "--dot"),
    "translation": lambda: printed("translate", RISE, "--from", "cel", "--to", "core-cel"),
}


def digests(kernel: bool = True) -> Iterator[tuple[str, str]]:
    """The name of each artefact, and the SHA-256 of its bytes. kernel: whether there are compiled loops."""
    for name, make in ARTEFACTS.items():
        if kernel or name != "state, compiled":
            made = make()
            text = made if isinstance(made, str | bytes) else "".join(made)
            yield name, sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def generated(python: str, seed: int) -> dict[str, str]:
    """The digest of each artefact by its name, in a process of its own that runs the sources as they are."""
    with TemporaryDirectory() as folder:
        about = Path(folder, "cerify.dist-info")
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: cerify\nVersion: {version('cerify')}\n")
        path = os.pathsep.join(map(str, (folder, Path(package.__file__).parents[1], Path(__file__).parents[1])))
        ran = subprocess.run(
            [python, "-m", "proofs_tests.artefacts"],
            env=os.environ | {"PYTHONHASHSEED": str(seed), "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
    assert not ran.returncode, ran.stderr
    return {name: digest for digest, name in (line.split("  ", 1) for line in ran.stdout.splitlines())}


@click.command()
@click.argument("pythons", nargs=-1)
@click.option("--seed", "seeds", multiple=True, type=int, default=(0, 1, 2), show_default=True, help="Of hashing.")
@click.option("--store", "stores", is_flag=True, help="Add the figures to docs/findings/robustness.json.")
def main(pythons: tuple[str, ...], seeds: tuple[int, ...], stores: bool) -> None:
    """A line for each artefact; or, of each Python, how many are the same as here. Status 1 if any differs."""
    here = dict(digests(find_spec("numba") is not None))
    if not pythons:
        click.echo("".join(f"{digest}  {name}\n" for name, digest in here.items()), nl=False)
    failed = False
    for python in pythons:
        there = [generated(python, seed) for seed in seeds]
        differ = sorted({name for made in there for name, digest in made.items() if here.get(name) != digest})
        release = subprocess.run([python, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
        click.echo(
            f"Python {release}: {len(there[0]) - len(differ)} the same, these differ: {', '.join(differ) or 'none'}"
        )
        failed |= bool(differ)
        if stores:
            figures = {"seeds": list(seeds), "same": len(there[0]) - len(differ), "other": len(differ)}
            store("artefacts", release, figures)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
