"""Every pass against the meaning on random formulas; `python -m proofs_tests.campaigns.normal_forms` tries more."""

from collections import Counter
from typing import Any

import pytest

from cerify.semantics.cel import syntax as cel
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.errors import BudgetExceeded
from proofs_tests.campaigns.normal_forms import line
from proofs_tests.support import sampled
from proofs_tests.unit.equivalence.normal_forms.passes import PASSES, chosen, tried


@pytest.mark.parametrize("cases", sampled([100, 300], [100]))
@pytest.mark.parametrize("name", PASSES)
def test_a_pass_keeps_the_meaning_and_gives_the_shape(name: str, cases: int) -> None:
    outcomes: Counter[str] = Counter()
    rewritten = matched = 0
    for n in range(cases):
        phi, S = chosen(PASSES[name], f"suite:{name}:{n}")
        outcome, psi = tried(PASSES[name], phi, S)
        assert outcome not in ("differs", "misshapen"), f"{phi} over {S.events}"
        outcomes[outcome] += 1
        rewritten += psi is not None and psi != phi
        found = PASSES[name].meaning(phi, S) if outcome == "agrees" else None
        matched += any(found.values()) if isinstance(found, dict) else bool(found)
    assert outcomes["agrees"] > 0.85 * cases
    assert rewritten > cases // 5  # to hold a formula against itself shows nothing
    assert matched > cases // 4  # and to compare empty sets little


@pytest.mark.parametrize("name", PASSES)
def test_a_formula_that_is_too_deep_is_an_error(name: str) -> None:
    deep: Any = core.CoreEventAtom("A", "x") if name.startswith("core") else cel.EventAtom("A")
    for _ in range(3000):
        deep = core.CorePlus(deep) if name.startswith("core") else cel.Plus(deep)
    with pytest.raises(BudgetExceeded, match="nested too deeply"):
        PASSES[name].rewrite(deep)


def test_the_campaign_says_what_it_saw() -> None:
    assert line("push-in", PASSES["push-in"], 20, 1).startswith(
        "push-in: 20 cases: 20 agrees, 0 differs, 0 misshapen, 0 over budget, 0 refused; "
    )
