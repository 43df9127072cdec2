"""The same bytes of what is written, whatever seed Python hashes texts with."""

from __future__ import annotations

import os
import subprocess
import sys

WRITES = """
from hashlib import sha256
from cerify.api import compile, equivalent
from cerify.semantics.events import Event

certificate = equivalent("((A ; B) OR (A ; C)) FILTER A.x > 1", "(A ; (B OR C)) FILTER A.x > 1")
print(sha256(certificate.certificate.to_json().encode()).hexdigest())
for evaluator in ("kernel", "automaton"):
    E = compile("((A IN X) ; (B OR C)+) WITHIN 9 EVENTS PARTITION BY [x]", evaluator=evaluator)
    E.push([Event("A", {"x": 1}), Event("B", {"x": 1}), Event("C", {"x": 2}), Event("A", {"x": 1, "s": "a"})])
    print(sha256(E.save()).hexdigest())
"""


def written(seed: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", WRITES],
        env=os.environ | {"PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout


def test_certificates_and_states_do_not_depend_on_the_hash_seed() -> None:
    first = written("0")
    assert len(first.split()) == 3
    assert written("1") == written("2") == first
