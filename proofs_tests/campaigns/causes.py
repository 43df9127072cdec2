"""Whether the causes of `conform` and the profiles of `identify` are right: `python -m proofs_tests.campaigns.causes`.

Seventy engines are composed of one to three choices each: 40 of CEL, 20 of CEL with a meaning that was added later,
and 10 of MATCH_RECOGNIZE. With --sigma they are converters of Sigma, of one to seven choices. With --hidden the search
does not know their values: each stands for a meaning without a name, so that whatever is named is wrong, unless no case
tells it from the engine.

Entries are counted too. A choice needs an entry if it changes an answer to a case. An entry belongs to a choice if its
smallest case is answered otherwise without the choice; choices and entries are paired, each with one at most. A choice
without an entry is hidden by another defect; an entry without a choice is one too many. Without names some stay
hidden: whatever fails under `overlap@partition=key` fails without the keys too, by `overlap`.

A search takes as long as in `cerify conform`, in seconds of the processor; one that needs longer is cut short.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from random import Random

import click
import networkx as nx
import pytest

from cerify.conformance.cases import load
from cerify.conformance.defects import defects_behind
from cerify.conformance.identification import Identification
from cerify.conformance.inquiry import Inquiry
from cerify.conformance.judgement import Choices
from cerify.conformance.model import Case, CaseResult, Defect
from cerify.conformance.oracle import stream_of
from cerify.conformance.peeling import OVER, Peeler, Watch
from cerify.conformance.prediction import STAGES, Predictor
from cerify.conformance.run import DIAGNOSIS_SECONDS
from cerify.hypotheses.interpretation import choices_of
from proofs_tests.unit.workbench.conformance.test_identify import differs, predictor

ADDED = {
    "loop": ("no-gaps", "reported-early", "taken-until-next", "never-left"),
    "overlap": ("once-per-step", "leftmost-longest", "consume-latest", "leftmost-first", "leftmost-first-lazy"),
    "negation": ("inside", "untaken"),
    "overlap@partition": ("key",),
    "emit": ("longest-per-start", "first-only", "latest-per-position", "needs-next"),
    "event-order": ("time", "time-either-way", "time-latest-first"),
    "window@time": ("amount-cut", "seconds", "integer"),
    "guard": ("step", "run", "step-only"),
    "partition": ("substream-whole-window",),
    "partition@absent": ("one-key",),
    "partition@unless": ("substream",),
    "integers": ("doubles",),
    "constants": ("truncated",),
    "steps": ("shared",),
    "steps@cseq": ("shared",),
    "ties": ("between-steps",),
}
"""Values of CEL that were added for engines which had them; a later engine has one of these."""
OF_CEL, LATER, OF_ROWS = 40, 20, 10  # engines: those of any choices, those with one of ADDED, those of MATCH_RECOGNIZE
STEP = {"cel": 6, "row-pattern": 9, "sigma": 3}  # of the suite's cases each of these is asked


def composed(seed: int) -> tuple[str, dict[str, str]]:
    """An engine: its language, and its choices on one, two or three axes in turn; every 70 seeds are mixed alike."""
    number = seed % (OF_CEL + LATER + OF_ROWS)
    rng, language = Random(seed), "cel" if number < OF_CEL + LATER else "row-pattern"
    axes = list(predictor(language).interpretation.axes.values())
    engine = {axis.name: rng.choice(axis.values[1:]) for axis in rng.sample(axes, 1 + seed % 3)}
    if OF_CEL <= number < OF_CEL + LATER:
        name = list(ADDED)[seed % len(ADDED)]
        engine = {**dict(list(engine.items())[1:]), name: rng.choice(ADDED[name])}
    if "overlap@partition" in engine:  # which alone changes nothing
        engine.setdefault("overlap", "past-last")
    return language, engine


def composed_of_sigma(seed: int) -> tuple[str, dict[str, str]]:
    """A converter of Sigma: its language, and its choices on one to seven axes in turn."""
    rng = Random(seed)
    axes = list(predictor("sigma").interpretation.axes.values())
    return "sigma", {axis.name: rng.choice(axis.values[1:]) for axis in rng.sample(axes, 1 + seed % 7)}


@cache
def cases(language: str) -> list[Case]:
    """A part of the suite, with all cases of operators that have few."""
    known = [case for case in load("sigma" if language == "sigma" else None) if case.language == language]
    rare = ("/", "PARTITION BY", "time")
    return [
        case
        for i, case in enumerate(known)
        if i % STEP[language] == 0 or (language == "cel" and any(text in case.query for text in rare))
    ]


def recorded(language: str, engine: Mapping[str, str], case: Case) -> CaseResult:
    """What an engine with these choices answers to a case."""
    known = predictor(language)
    given = choices_of(engine, known.interpretation.axes)
    found = known.matches(case.query, stream_of(case), repr((case.events, case.schema)), given, case.output)
    if isinstance(found, str):
        return CaseResult(case, "skipped" if found == "unmodelled" else "error", detail="internal: an absent value")
    return CaseResult(case, "passed" if found == set(case.matches) else "failed", sorted(found))


def judged(language: str, engine: Mapping[str, str], hidden: bool) -> tuple[Counter[str], list[str]]:
    """How many headline causes are right, absent and wrong, and which are wrong."""
    results = [recorded(language, engine, case) for case in cases(language)]
    failures = [result for result in results if result.outcome not in ("passed", "skipped")]
    if not failures:
        return Counter(unseen=1), []
    known, secret = Choices.__iter__, set(engine.items()) if hidden else set()
    searched = without(language, engine) if hidden else predictor(language)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Choices, "__iter__", lambda self: (c for c in known(self) if c not in secret))
        patch.setattr(Inquiry, "predictor", searched)
        watch = Watch(DIAGNOSIS_SECONDS, clock=time.process_time)
        peeler = Peeler(lambda case, query, S: recorded(language, engine, case), watch=watch)
        defects = defects_behind(peeler, failures, results)
    counted: Counter[str] = count_entries(language, engine, defects, results)
    counted["cut short"] = any(defect.stopped.startswith(OVER) for defect in defects)
    wrong = []
    for defect in defects:
        if not defect.causes:
            counted["absent"] += 1
        elif is_right(language, engine, defect, results):
            counted["right"] += 1
        else:
            counted["wrong"] += 1
            first = defect.causes[0]
            wrong.append(f"{first.axis}={first.value} ({first.explains} of {first.of})")
    return counted, wrong


def count_entries(
    language: str, engine: Mapping[str, str], defects: Sequence[Defect], results: Sequence[CaseResult]
) -> Counter[str]:
    """How many choices have no entry of their own, and how many entries are too many.

    One value of several axes of a name, such as window, is one choice.
    """
    known = predictor(language).interpretation.axes
    general = {name: (base if (base := known[name].base) not in known else name, v) for name, v in engine.items()}
    first = {general[name]: name for name in reversed(engine)}
    rest = {name: {n: v for n, v in engine.items() if general[n] != one} for one, name in first.items()}
    shown = [name for name in rest if not same(language, results, rest[name])]
    graph = nx.Graph()
    for number, defect in enumerate(defects):
        for name in shown:
            if recorded(language, rest[name], defect.result.case).matches != defect.result.matches:
                graph.add_edge(name, number)
    pairs = nx.bipartite.maximum_matching(graph, top_nodes=[name for name in shown if name in graph])
    paired = sum(name in pairs for name in shown)
    return Counter({"hidden": len(shown) - paired, "too many": len(defects) - paired})


def without(language: str, engine: Mapping[str, str]) -> Predictor:
    """The answers of engines, of which none has a choice of this one."""
    found = Predictor(language)
    axes = {
        name: replace(axis, values=tuple(v for v in axis.values if (name, v) not in engine.items()))
        for name, axis in found.interpretation.axes.items()
    }
    found.interpretation = replace(found.interpretation, axes=axes)
    return found


def is_right(language: str, engine: Mapping[str, str], defect: Defect, results: Sequence[CaseResult]) -> bool:
    """Whether the headline cause is a choice of the engine, or gives its answers in the place of one."""
    cause = defect.causes[0].axis, defect.causes[0].value
    axes = predictor(language).interpretation.axes
    if (
        cause in engine.items()
        or cause in {(axes[n].base, v) for n, v in engine.items()}
        or {f"{n}={v}" for n, v in engine.items()} & set(defect.causes[0].alike)
    ):
        return True
    others: list[dict[str, str]] = [{n: v for n, v in engine.items() if n != left} for left in engine]
    return any(same(language, results, other | {cause[0]: cause[1]}) for other in others)


def same(language: str, results: Sequence[CaseResult], engine: Mapping[str, str]) -> bool:
    """Whether another engine gives the same results."""
    return all(
        result.outcome == "skipped"
        or set(recorded(language, engine, result.case).matches or ()) == set(result.matches or ())
        for result in results
    )


def identified(language: str, engine: Mapping[str, str], hidden: bool) -> tuple[Counter[str], list[str]]:
    """How many values of a profile are right, open, without a fitting value, wrong, and left out; which are wrong."""
    known = predictor(language)
    truth = choices_of(engine, known.interpretation.axes)
    mine = without(language, engine) if hidden else known
    found = Identification(mine, lambda question: known.answer(question, truth)).run(STAGES[language])
    counted: Counter[str] = Counter()
    wrong = []
    counted["left out"] = len(engine.keys() - found.keys())
    for name, finding in found.items():
        said = [value for value in (finding.value, *finding.alike) if value is not None]
        if not said:
            counted["none fits"] += 1
        elif truth[name] in said or not all(differs(language, truth, {**truth, name: value}) for value in said):
            counted["right" if finding.value is not None else "open"] += 1  # the engine's other choices may entail it
        else:
            counted["wrong"] += 1
            wrong.append(f"{name}={finding.value}, not {truth[name]} ({finding.explained} of {finding.answers})")
    return counted, wrong


@click.command()
@click.option("--engines", type=click.IntRange(0), default=OF_CEL + LATER + OF_ROWS, show_default=True)
@click.option("--first", type=click.IntRange(0), default=0, show_default=True, help="The seed of the first.")
@click.option("--hidden", is_flag=True, help="Without the engine's values among those that are searched.")
@click.option("--identify", is_flag=True, help="Profiles, in the place of causes.")
@click.option("--sigma", is_flag=True, help="Converters of Sigma.")
def main(engines: int, first: int, hidden: bool, identify: bool, sigma: bool) -> None:
    """A line for each engine, and the sums."""
    total: Counter[str] = Counter()
    for seed in range(first, first + engines):
        begun, (language, engine) = time.process_time(), (composed_of_sigma if sigma else composed)(seed)
        counted, wrong = (identified if identify else judged)(language, engine, hidden)
        total += counted
        text = ", ".join(f"{n}={v}" for n, v in engine.items())
        numbers = ", ".join(f"{number} {what}" for what, number in sorted(counted.items()))
        bad = f"; WRONG {'; '.join(wrong)}" if wrong else ""
        click.echo(f"{seed:>3} {language}, {text}: {numbers}; {time.process_time() - begun:.1f} s{bad}")
    click.echo(", ".join(f"{number} {what}" for what, number in sorted(total.items())))
    sys.exit(1 if total["wrong"] else 0)


if __name__ == "__main__":
    main()
