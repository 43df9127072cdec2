"""Of several equivalence tests those that define the partition decide what partition contiguity may skip."""

from itertools import product

import pytest

from cerify.automata.nfab.evaluators import CompiledSaseEvaluator
from cerify.semantics.sase import denote, interpreter
from proofs_tests.unit.semantics.sase.streams import events, query


@pytest.mark.parametrize("tests", ["[x] and [y]", "_([y])_ and [x]", "[x] and _([y])_", "_([x])_ and _([y])_"])
def test_what_is_skipped_between_two_events_of_a_partition(tests: str) -> None:
    q = query(f"SEQ(A a, B b) WHERE partition_contiguity(a, b) {{ {tests} }}")
    for between in product("ABC", "12", "kl"):
        R, x, y = between
        S = events(f"A1/k {R}{x}/{y} B2/k B1/k")
        assert CompiledSaseEvaluator(q).push(S) == interpreter.matches_of(q, S, denote.bindings)
