"""Queries made to blow up, given to each public function: `python -m proofs_tests.campaigns.budgets`.

Each case runs in a process of its own. It has to stop within twice the seconds of its budget, by an answer or a typed
error, in no more memory than is stated.
"""

from __future__ import annotations

import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from unittest.mock import patch

import click
import psutil

import cerify
from cerify import Budget, Event
from cerify.automata.evaluator import Evaluator
from cerify.equivalence.verdict import Certificate
from cerify.languages import LANGUAGES
from cerify.semantics.errors import CerifyError
from cerify.semantics.events import Match, Stream
from proofs_tests.robustness import store

MEMORY = 2048  # MiB of a process, with the libraries that it has loaded
FORK = get_context("fork")  # a process that has loaded everything, and what it shares is not counted twice
FAILED = "failed"
WARM = Budget(valuations=1_000, states=1_000, matches=1_000, seconds=30)
LATEST = 8  # times the seconds, of the processor, after which a process is killed
STREAM = Stream([Event("A" if i % 3 else "B", {"time": i, "x": i % 7, "s": "ab" * (i % 5)}) for i in range(400)])
FAR = " : ".join(["(A OR B)"] * 16)  # which of the last sixteen events was an A: 2^16 sets of runs
WIDE = " OR ".join(f"(A FILTER A.x{i} > 0)" for i in range(18))
PATTERNS = " AND ".join(f"A[s like '({'a' * n})*']" for n in (7, 11, 13, 17))
NUMBERS = ", ".join(map(str, range(8_000)))
TEXTS = ", ".join(f"'s{i}'" for i in range(8_000))
LONG = "a" * 100_000
CHOICE = "|".join(f"x{i}" for i in range(20_000))
CLASS = "[" + "".join(chr(code) for code in range(0x4E00, 0x9E00, 2)) + "]"
AVERAGES = ", ".join(f"avg(a[].x) AS s{i}" for i in range(150))
SUMS = " + ".join(f"SUM(a.x + {i})" for i in range(150))
CUBES = " AND ".join(f"A[x{i} * x{i + 1} * x{i + 2} = {10007 + i}]" for i in range(12))


def rows(pattern: str, conditions: str) -> str:
    """A clause of MATCH_RECOGNIZE over the rows of STREAM."""
    return f"MATCH_RECOGNIZE (ORDER BY x MEASURES LAST(x) AS top PATTERN ({pattern}) DEFINE {conditions})"


QUERIES = {
    "cel": {
        "matches": "A+ ; B",
        "next": f"NXT((A OR B)+ : A : {FAR})",
        "last": f"LAST(A : {FAR})",
        "max": f"MAX((A OR B)+ ; A ; {FAR.replace(':', ';')})",
        "all": "((A ; B) WITHIN 500 EVENTS) ALL ((C ; D) WITHIN 500 EVENTS)",
        "and": " AND ".join(f"({' : '.join(['A'] * n)}):+" for n in (3, 7, 8, 11, 13, 17)),
        "unless": f"A UNLESS (B : {FAR})",
        "types": f"B ; MAX(({WIDE})+)",
        "pattern": "A FILTER A[s like '(a|b)*a(a|b){14}'] AND A[s like '((((){50}){50}){50}){50}']",
        "patterns": f"A FILTER {PATTERNS}",
        "arithmetic": f"A FILTER {CUBES}",
        "correlated": "(A IN X ; A IN Y ; A IN Z ; A IN W) FILTER X.x < Y.x AND Y.x < Z.x AND Z.x + W.x = 40",
        "rounds": "((A+ IN X) ; (B+ IN Y) ; A IN Z) FILTER X.x = Y.x OR Y.x + Z.x = 99",
        "deep": "(" * 60 + "A" + " ; A)+" * 60,
        "numbers": f"A FILTER A[x in {{{NUMBERS}}}]",
        "texts": f"A FILTER A[s in {{{TEXTS}}}]",
        "long pattern": f"A FILTER A[s like '{LONG}']",
        "choice": f"A FILTER A[s like '{CHOICE}']",
        "class": f"A FILTER A[s like '{CLASS}']",
    },
    "core-cel": {
        "matches": "(A AS x)+",
        "max": f"MAX((A AS x)+ ; {' ; '.join(f'B AS y{i}' for i in range(12))})",
        "filter": "(A AS x ; A AS y ; A AS z ; A AS w) FILTER x.x + y.x = z.x + w.x + 50",
    },
    "event-expression": {
        "not": "relative+(!(A or B) and !relative(A, !B))",
        "prefix": "prefix(relative(A, relative(B, relative(A, B))) and prefix(relative+(A)))",
        "th": "every <40> relative(A, B) and <41> prior(B, A) and every <37> A",
        "deep": "!relative(" * 12 + "A" + ", B)" * 12,
        "numbers": f"relative(A[x in {{{NUMBERS}}}], B)",
        "names": "; ".join(["p0 := A", *(f"p{i + 1} := prior(p{i}, p{i})" for i in range(29)), "p29"]),
        "exists": "exists x (exists y (exists z (prior(A = x, B = y, A = z, x, y, z))))",
    },
    "sase": {
        "matches": "PATTERN SEQ(A a, A+ b[], A c) WHERE skip_till_any_match(a, b[], c) { a.x > 0 } RETURN a.x",
        "rounds": "PATTERN SEQ(A a, A+ b[], B c) WHERE skip_till_any_match(a, b[], c) { b[i].x > b[1].x } RETURN a.x",
        "numbers": f"PATTERN SEQ(A a, B b) WHERE skip_till_any_match {{ a.x in {{{NUMBERS}}} }} RETURN b.x",
        "averages": f"PATTERN SEQ(A+ a[]) WITHIN 999 seconds RETURN {AVERAGES}",
        "overlap": "PATTERN SEQ(A a, B b) WHERE skip_till_any_match { } WITHIN 999 seconds RETURN NON-OVERLAP a.x",
        "sums": "PATTERN SEQ(A+ a[], B b) WHERE skip_till_any_match(a[], b) { sum(a[..i-1].x) < b.x } RETURN b.x",
    },
    "row-pattern": {
        "sums": rows("(a | b)+ c", "a AS SUM(a.x) < 900, b AS SUM(b.x) < 900, c AS SUM(a.x) = 12345"),
        "rounds": rows("((a+ b?)+ c?)+ d", "d AS COUNT(a.x) = COUNT(b.x) + 999"),
        "permute": rows("PERMUTE(a, b, c, d, e, f, g)", "g AS g.x > SUM(a.x) + SUM(b.x) + SUM(c.x) + 99"),
        "numbers": rows("a b", f"a AS x IN ({NUMBERS})"),
        "texts": rows("a b", f"a AS s IN ({TEXTS})"),
        "like": rows("a b", f"a AS s || s || s || s || s || s LIKE '{'%a' * 40}%c'"),
        "measures": f"MATCH_RECOGNIZE (MEASURES {SUMS} AS q ALL ROWS PER MATCH PATTERN (a*))",
        "results": f"MATCH_RECOGNIZE (MEASURES {SUMS} AS q AFTER MATCH SKIP TO NEXT ROW PATTERN (a*))",
        "counted": rows("((a{50}){50}){50} b", "b AS b.x > 99"),
    },
}

Case = Callable[[Budget], object]


def cases(language: str, query: str) -> Iterator[tuple[str, Case]]:
    """Each function with the query, by name."""
    here, larger = {"language": language}, f"({query}) OR B{' AS x' * (language == 'core-cel')}"
    lang = LANGUAGES[language]
    for name in lang.evaluators:
        yield f"match-{name}", lambda b, name=name: cerify.match(query, STREAM, evaluator=name, budget=b, **here)
        yield (
            f"push-{name}",
            lambda b, name=name: cerify.compile(query, evaluator=name, budget=b, **here).push(STREAM),
        )
        if language == "row-pattern":
            yield (
                f"finish-{name}",
                lambda b, name=name: finished(cerify.compile(query, evaluator=name, budget=b, **here)),
            )
    for output in ("valuations", "rows") if language == "row-pattern" else ("valuations",):
        yield output, lambda b, output=output: cerify.match(query, STREAM, output=output, budget=b, **here)
    for selection in ("next", "max"):
        yield (
            f"selection-{selection}",
            lambda b, selection=selection: cerify.match(query, STREAM, selection=selection, budget=b, **here),
        )
    yield "count", lambda b: cerify.count(query, STREAM, budget=b, **here)
    yield "check", lambda b: cerify.check(query, budget=b, **here)
    yield "explain", lambda b: cerify.explain(query, STREAM, [1, 399], at=399, budget=b, **here)
    yield "contained", lambda b: cerify.contained(query, query, budget=b, languages=(language, language))
    if language in ("cel", "core-cel"):
        yield "equivalent", lambda b: cerify.equivalent(query, larger, budget=b, languages=(language, language))
        yield "simplify", lambda b: cerify.simplify(lang.deciders.cel_formula(lang.syntax.parse(query), b), budget=b)
    if language in ("cel", "event-expression"):
        certificate = Certificate("equivalent", query, query, "events", None, False, (), language)  # type: ignore[arg-type]
        yield "verify", lambda b: lang.deciders.flaw(certificate, b)


def finished(evaluator: Evaluator) -> list[Match]:
    """What an evaluator returns at the end of some events; it has the seconds of its budget twice."""
    evaluator.push(STREAM.part(0, 100))
    return evaluator.finish()


def run(language: str, name: str, function: str, seconds: float, into: Connection) -> None:
    """Send seconds, mebibytes and outcome of a case. The seconds, those of its budget too, are of the processor."""
    case = dict(cases(language, QUERIES[language][name]))[function]
    began = time.process_time()
    try:
        with patch("time.monotonic", time.process_time), warnings.catch_warnings(action="ignore"):
            outcome = type(case(Budget(seconds=seconds))).__name__
    except CerifyError as error:
        outcome = f"{error.code}: {error.message[:90]}"
    except Exception as error:
        outcome = f"{FAILED}: {type(error).__name__}: {error}"
    used = time.process_time() - began
    into.send((used, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, outcome))


def apart(language: str, name: str, function: str, seconds: float) -> tuple[float, int, str]:
    """What a case leads to in a process of its own, which is killed if it does not stop."""
    ours, theirs = FORK.Pipe(duplex=False)
    process = FORK.Process(target=run, args=(language, name, function, seconds, theirs))
    process.start()
    theirs.close()
    try:
        looked = psutil.Process(process.pid)
        while not ours.poll(seconds):
            if (used := sum(looked.cpu_times()[:2])) > LATEST * seconds:
                return used, 0, f"{FAILED}: it did not stop"
        found: tuple[float, int, str] = ours.recv()
        return found
    except EOFError:
        return 0.0, 0, f"{FAILED}: the process died"
    finally:
        process.kill()
        process.join()


def warm(language: str) -> None:
    """Have each function load what it needs, so that the cases do not wait for that."""
    for query in (
        "A",
        "A AS x",
        *map(QUERIES["sase"].__getitem__, ("matches", "rounds")),
        rows("a+ b", "b AS b.x > 1"),
    ):
        for _, case in cases(language, query):
            with suppress(CerifyError):
                case(WARM)


@click.command()
@click.argument("languages", nargs=-1, type=click.Choice(list(QUERIES)))
@click.option("--seconds", default=1.0, show_default=True, help="Of the budget of each case.")
@click.option("--only", default="", help="Cases whose name contains this.")
@click.option("--verbose", is_flag=True, help="A line for each case.")
@click.option("--store", "stores", is_flag=True, help="Add the figures to docs/findings/robustness.json.")
def main(languages: tuple[str, ...], seconds: float, only: str, verbose: bool, stores: bool) -> None:
    """One line for each case that takes too long, too much, or ends in no typed error; status 1 if there is any."""
    failed = False
    for language in languages or QUERIES:
        tried, slowest, largest, wrong = 0, 0.0, 0, 0
        warm(language)
        for name, query in QUERIES[language].items():
            for function, _ in cases(language, query):
                if only not in f"{language} {name} {function}":
                    continue
                used, memory, outcome = apart(language, name, function, seconds)
                bad = outcome.startswith((FAILED, "internal")) or used > 2 * seconds or memory > MEMORY
                tried, wrong, slowest, largest = tried + 1, wrong + bad, max(slowest, used), max(largest, memory)
                if bad or verbose:
                    click.echo(f"{language} {name} {function}: {used:.1f} s, {memory:,} MiB: {outcome}")
        click.echo(
            f"{language}: {tried} cases of {seconds:g} s, {wrong} wrong; at most {slowest:.1f} s, {largest:,} MiB"
        )
        failed |= bool(wrong)
        if stores:
            figures = {"cases": tried, "wrong": wrong, "budget": seconds}
            store("budgets", language, figures | {"slowest": round(slowest, 2), "memory": largest})
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
