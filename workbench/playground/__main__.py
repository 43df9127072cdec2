"""Build the playground: `python -m cerify.playground FOLDER`.

The folder holds all that the page needs, and the page loads nothing from elsewhere. Any file server can serve it, as in
`python -m http.server --directory FOLDER`. Building needs npm, to fetch Pyodide and Graphviz, and the extra `draw`. The
page gets the versions of cerify and its packages that run this command.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
import zipfile
from argparse import ArgumentParser
from collections.abc import Iterator
from hashlib import sha256
from html import escape
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from cerify.semantics.errors import CerifyError, InputError

HERE = Path(__file__).parent
PAGE = ("index.html", "playground.css", "playground.js", "editor.js", "stream.js", "panes.js", "worker.js")
BOOK = "<!-- book -->"  # the place on the page for the link to the book
STYLES = ("palette", "page", "timeline", "diagram")
NPM = {
    "pyodide@314.0.7": ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json"),
    "@viz-js/viz@3.31.0": ("dist/viz.js",),
}
PACKAGES = (
    *("cerify", "cerify.automata", "cerify.equivalence", "cerify.semantics"),
    *("click", "jinja2", "lark", "markupsafe"),
)
LEFT_OUT = {"__pycache__", "conformance", "examples", "playground", "spark", "fuzz_submit.py"}
DATA = {".py", ".lark", ".json", ".jsonl", ".html", ".css", ".js"}


def build(folder: Path, book: str | None = None) -> None:
    """Write the playground into a folder. book: the address of the book, relative to the page, for a link.

    Raises InputError if npm or a package of Python is missing, before anything is fetched or written, and if npm cannot
    fetch a package.
    """
    sources = sorted(dict(_sources()).items())
    if (npm := shutil.which("npm")) is None:
        raise InputError("npm is needed to fetch Pyodide and Graphviz; install Node.js")
    folder.mkdir(parents=True, exist_ok=True)
    for package, names in NPM.items():
        _vendor(npm, package, names, folder)
    with zipfile.ZipFile(folder / "python.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in sources:
            archive.write(path, name)
    for name in PAGE:
        shutil.copyfile(HERE / name, folder / name)
    link = "" if book is None else f'<a href="{escape(book)}">The book</a>'
    page = folder / "index.html"
    page.write_text(page.read_text(encoding="utf-8").replace(BOOK, link), encoding="utf-8")
    css = "".join((HERE.parent / "draw" / f"{name}.css").read_text(encoding="utf-8") for name in STYLES)
    (folder / "drawing.css").write_text(css, encoding="utf-8")
    _offline(folder)


def _vendor(npm: str, package: str, names: tuple[str, ...], folder: Path) -> None:
    """Fetch an npm package and copy some of its files into the folder; npm checks the package's hash."""
    with TemporaryDirectory() as temporary:
        ran = subprocess.run([npm, "pack", "--silent", package], cwd=temporary, capture_output=True, text=True)
        packed = list(Path(temporary).glob("*.tgz"))
        if ran.returncode or len(packed) != 1:
            raise InputError(f"npm did not fetch {package}: {ran.stderr.strip()[-500:]}")
        with tarfile.open(packed[0]) as archive:
            for name in names:
                member = archive.extractfile(f"package/{name}")
                assert member is not None
                (folder / Path(name).name).write_bytes(member.read())


def _sources() -> Iterator[tuple[str, Path]]:
    """Yield the files of the packages that run in the browser, each with its name there."""
    for package in PACKAGES:
        spec = find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            raise InputError(f"the package {package} is not installed: pip install 'cerify[draw]'")
        for location in map(Path, spec.submodule_search_locations):
            for path in _files(location):
                yield f"{package.replace('.', '/')}/{path.relative_to(location).as_posix()}", path
    for name in ("__init__.py", "session.py", "examples.json"):
        yield f"cerify/playground/{name}", HERE / name


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files of a package below a folder, following links."""
    for path in folder.iterdir():
        if path.name in LEFT_OUT:
            continue
        if path.is_dir():
            yield from _files(path)
        elif path.suffix in DATA:
            yield path


def _offline(folder: Path) -> None:
    """Write the service worker, which keeps all files; its version is a hash of them."""
    files = sorted(path for path in folder.iterdir() if path.name != "offline.js")
    digest = sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]
    names = json.dumps(["./", *(path.name for path in files)])
    script = (HERE / "offline.js").read_text(encoding="utf-8")
    (folder / "offline.js").write_text(f'const VERSION = "{digest}";\nconst FILES = {names};\n{script}')


def main() -> int:
    """Build the playground in the folder that the command line names. The exit status is 2 if that fails."""
    parser = ArgumentParser("python -m cerify.playground", description="Build the playground: a static page.")
    parser.add_argument("folder", type=Path, help="where its files are written")
    folder = parser.parse_args().folder
    try:
        build(folder)
    except CerifyError as error:
        print(f"cerify.playground: {error.described()}", file=sys.stderr)
        return 2
    print(f"{folder}: serve it with python -m http.server --directory {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
