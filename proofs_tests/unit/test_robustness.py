"""The page of what long campaigns have seen: made from what they have stored, and fuzzers add to theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from proofs_tests import robustness
from proofs_tests.robustness import SECTIONS, page, store, stored


@pytest.mark.skipif(not robustness.STORED.exists(), reason="nothing is stored")
def test_the_page_is_that_of_the_stored_figures() -> None:
    assert robustness.PAGE.read_text(encoding="utf-8") == page(stored())


def test_figures_of_fuzzers_are_added_and_others_replaced(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    for inputs, memory in ((10, 7), (5, 6)):
        figures = {"runs": 1, "inputs": inputs, "seconds": 60.0, "crashes": 1, "memory": memory}
        store("fuzz", "csv", figures, path)
        store("soak", "queries", {"done": inputs}, path)
    store("faults", "claims", {"killed": "the same"}, path)
    store("faults", "claims", {"disk full": "refused"}, path)
    found = stored(path)
    fuzzed = found["fuzz"]["csv"]
    assert (fuzzed["runs"], fuzzed["inputs"], fuzzed["seconds"], fuzzed["memory"]) == (2, 15, 120.0, 7)
    assert found["soak"]["queries"]["done"] == 5
    assert (found["faults"]["claims"]["killed"], found["faults"]["claims"]["disk full"]) == ("the same", "refused")
    assert "| `csv` | 15 | 2.0 | 7 | 2 |" in page({"fuzz": found["fuzz"]})


def test_every_campaign_that_stores_figures_has_a_section() -> None:
    texts = "".join(
        path.read_text(encoding="utf-8")
        for path in Path(robustness.__file__).parent.rglob("*.py")
        if "unit" not in path.parts
    )
    for name in SECTIONS:
        assert f'store("{name}", ' in texts or f'command("{name}", ' in texts, name
