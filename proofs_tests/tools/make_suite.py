"""Writes the conformance suite, always the same: `python -m proofs_tests.tools.make_suite [--check] [FILE...]`.

The queries are chosen by hand, in CEL at random too; the streams so that as many wrong semantics as possible (the
mutants) give a wrong answer. The expected matches are those of the definition. A case that has been published keeps its
number and its stream, as baselines of engines name cases.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from multiprocessing import get_context

import click

from cerify.conformance.cases import SUITES, line_of_case, load
from cerify.conformance.model import Case
from cerify.conformance.oracle import stream_of
from cerify.languages import language_named
from cerify.semantics.events import Stream
from cerify.semantics.json_events import json_of_event
from proofs_tests.tools.suites import cel, core_cel, event_expressions, row_pattern, sase
from proofs_tests.tools.suites.source import Source
from proofs_tests.tools.suites.twins import twins

SOURCES: Mapping[str, Source] = {
    source.file: source for source in (core_cel.SOURCE, event_expressions.SOURCE, sase.SOURCE, row_pattern.SOURCE)
}


@click.command()
@click.argument("names", metavar="[FILE]...", nargs=-1)
@click.option("--check", is_flag=True, help="Write nothing: the status is 1 if a file has other bytes.")
def main(names: Sequence[str], check: bool) -> None:
    """Write the files of these names, all if there are none."""
    differing = 0
    for name in names or (*cel.FILES, *SOURCES):
        path, text = SUITES / f"{name}.jsonl", text_of(name).encode()
        same = path.exists() and path.read_bytes() == text
        differing += not same
        click.echo(f"{name}: {'as it is shipped' if same else 'differs' if check else 'written'}")
        if not check:
            path.write_bytes(text)
    sys.exit(1 if check and differing else 0)


def text_of(name: str) -> str:
    """The text of a file of the suite."""
    cases = cases_of(SOURCES[name]) if name in SOURCES else cel.cases_of_file(name)
    return "".join(f"{line_of_case(case)}\n" for case in cases)


def cases_of(source: Source) -> Iterator[Case]:
    """All cases of a language: those published of queries still asked, those of each new query, and new twins."""
    queries = [(feature, query) for feature, listed in source.queries.items() for query in listed]
    printed = list(source.printed())
    wanted = {(feature, source.text(query)) for feature, query in (*queries, *((f, q) for f, q, _ in printed))}
    last: Counter[str] = Counter()
    published, asked = set(), set()
    cases = []
    for case in load(source.file) if (SUITES / f"{source.file}.jsonl").exists() else ():
        number = int(case.id.rpartition("/")[2])
        last[case.feature] = max(last[case.feature], number)
        if (case.feature, case.query) in wanted:
            published.add((case.feature, case.query))
            asked.add((case.feature, case.query, json.dumps(list(case.events))))
            cases.append(source.case(case.feature, number, case.query, stream_of(case)))
    new = [(source.file, *one) for one in queries if (one[0], source.text(one[1])) not in published]
    with get_context("spawn").Pool() as pool:
        found = chain.from_iterable(pool.starmap(chosen, new, chunksize=4))
    fresh = (one for one in printed if _asked(source, *one) not in asked)
    cases += numbered(source, chain(fresh, found), last)
    yield from cases
    yield from new_twins(source, cases)


def new_twins(source: Source, cases: Sequence[Case]) -> Iterator[Case]:
    """The twins of the cases that are not among them, numbered after these."""
    last: Counter[str] = Counter()
    asked = set()
    for case in cases:
        last[case.feature] = max(last[case.feature], int(case.id.rpartition("/")[2]))
        asked.add((case.feature, case.query, json.dumps(list(case.events))))
    show = language_named(source.language).syntax.show
    made = ((feature, show(query), S) for feature, query, S in twins(cases))
    yield from numbered(source, (twin for twin in made if _asked(source, *twin) not in asked), last)


def _asked(source: Source, feature: str, query: str, S: Stream) -> tuple[str, str, str]:
    return feature, source.text(query), json.dumps([json_of_event(event) for event in S])


def chosen(name: str, feature: str, query: str) -> list[tuple[str, str, Stream]]:
    """The feature and the query with each stream that is chosen for them, in another process."""
    return [(feature, query, S) for S in SOURCES[name].chosen(feature, query)]


def numbered(
    source: Source, found: Iterable[tuple[str, str, Stream]], last: Mapping[str, int] | None = None
) -> Iterator[Case]:
    """The cases, numbered within each feature after the last number of it, from 1 if there is none."""
    numbers = Counter(last or {})
    for feature, query, S in found:
        numbers[feature] += 1
        yield source.case(feature, numbers[feature], query, S)


if __name__ == "__main__":
    main()
