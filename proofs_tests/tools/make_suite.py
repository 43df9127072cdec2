"""Writes the conformance suite, always the same: `python -m proofs_tests.tools.make_suite [FILE...]`.

The queries are chosen by hand, in CEL at random too; the streams so that as many wrong semantics as possible (the
mutants) give a wrong answer. The expected matches are those of the definition.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from multiprocessing import get_context

from cerify.conformance.cases import SUITES, line_of_case
from cerify.conformance.model import Case
from cerify.semantics.events import Stream
from proofs_tests.tools.suites import cel, core_cel, event_expressions, sase
from proofs_tests.tools.suites.source import Source

SOURCES: Mapping[str, Source] = {
    source.file: source for source in (core_cel.SOURCE, event_expressions.SOURCE, sase.SOURCE)
}


def main(names: Sequence[str]) -> None:
    """Write the files of these names, all if there are none."""
    for name in names or (*cel.FILES, *SOURCES):
        (SUITES / f"{name}.jsonl").write_text(text_of(name), encoding="utf-8", newline="\n")


def text_of(name: str) -> str:
    """The text of a file of the suite."""
    cases = cases_of(SOURCES[name]) if name in SOURCES else cel.cases_of_file(name)
    return "".join(f"{line_of_case(case)}\n" for case in cases)


def cases_of(source: Source) -> Iterator[Case]:
    """All cases of a language: those that are printed, then those of each query."""
    asked = [(source.file, feature, query) for feature, queries in source.queries.items() for query in queries]
    with get_context("spawn").Pool() as pool:
        found = pool.starmap(chosen, asked, chunksize=4)
    return numbered(source, chain(source.printed(), chain.from_iterable(found)))


def chosen(name: str, feature: str, query: str) -> list[tuple[str, str, Stream]]:
    """The feature and the query with each stream that is chosen for them, in another process."""
    return [(feature, query, S) for S in SOURCES[name].chosen(feature, query)]


def numbered(source: Source, found: Iterable[tuple[str, str, Stream]]) -> Iterator[Case]:
    """The cases, numbered from 1 within each feature."""
    numbers: dict[str, int] = {}
    for feature, query, S in found:
        numbers[feature] = numbers.get(feature, 0) + 1
        yield source.case(feature, numbers[feature], query, S)


if __name__ == "__main__":
    main(sys.argv[1:])
