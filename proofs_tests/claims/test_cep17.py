"""What is printed in cep17 and fails, on formulas; and the chart of its stress experiment is drawn."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.model import single_variable
from cerify.semantics.cel.parse import parse
from cerify.semantics.core_cel.interpreter import matches_of
from cerify.semantics.core_cel.parse import parse as parse_core
from cerify.semantics.events import Match
from proofs_tests.claims import figure4
from proofs_tests.claims import printed_cep17 as printed
from proofs_tests.claims.cep17_evaluation import evaluate
from proofs_tests.support import stream


def test_the_printed_automaton_of_last_prefers_the_earlier_event() -> None:
    """docs/errata.md: on A A B, LAST(A ; B) is {1, 2}; as printed {0, 2} keeps it from the state they share."""
    A, S = single_variable(compile_cel(parse("A ; B"))), stream("A A B")
    start = printed.ranked_start(A)
    assert printed.outputs(A, S, printed.last_steps, start, printed.ranked_accepts)[2] == {frozenset({0, 2})}
    assert printed.outputs(A, S, printed.last_steps_corrected, start, printed.ranked_accepts)[2] == {frozenset({1, 2})}
    assert list(evaluate(A, S, "last")) == [Match(2, (1, 2))] == matches_of(parse_core("LAST(A AS x ; B AS y)"), S)


@pytest.mark.thorough
def test_the_chart_of_the_stress_experiment_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(figure4, "LENGTHS", range(20, 61, 20))
    drawn = tmp_path / "figures" / "stress.svg"
    ran = CliRunner().invoke(figure4.main, [str(drawn)])
    assert ran.exit_code == 0, ran.output
    text = drawn.read_text(encoding="utf-8")
    assert "<svg" in text
    assert "partial matches" in text
