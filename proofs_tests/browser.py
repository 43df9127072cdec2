"""A browser for tests that look at pages, and a server of files for it; they need the extra `pages` and a Chromium."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
"""The path of the browser; None where there is none."""


@contextmanager
def chromium() -> Iterator[Any]:
    """A headless Chromium that reaches no host but this one, as an object of playwright."""
    from playwright.sync_api import sync_playwright

    arguments = ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address at which this machine serves the files of a folder."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
