"""Count by their findings the differences that a run of random cases found.

    cerify fuzz --engine sase --language sase --stop-after 100000 --json > run.jsonl
    python -m proofs_tests.tools.fuzz_kinds run.jsonl

Each difference is taken to the first finding of its engine whose description its smallest query and both answers fit;
those that fit none are printed. Choices are better declared to `cerify fuzz` by --policy, which predicts whole answers.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]
Fits: TypeAlias = Callable[[Json], bool]
"""Whether a finding describes a difference, as `cerify fuzz --json` prints it."""


def _components(difference: Json) -> list[str]:
    """Return the components of the pattern of a query in SASE+."""
    found = re.search(r"SEQ\((.*?)\)", difference["query"])
    return [] if found is None else found[1].split(", ")


def ends_in_a_kleene_plus_of_a_partition(difference: Json) -> bool:
    """Return whether the last component of a pattern with an equivalence test is a Kleene plus."""
    is_kleene = [component.split(" ")[0].endswith("+") for component in _components(difference)]
    return bool(is_kleene) and is_kleene[-1] and re.search(r"(WHERE|{|AND) \[\w+\]", difference["query"]) is not None


def has_one_component(difference: Json) -> bool:
    """Return whether a pattern of one component, which has matches, is given none."""
    return len(_components(difference)) == 1 and difference["got"] == [] != difference["expected"]


def has_part(pattern: str) -> Fits:
    """Return the description of a query whose text has a part that this regular expression finds."""
    return lambda difference: re.search(pattern, difference["query"]) is not None


def lacks_no_match(difference: Json) -> bool:
    """Return whether all expected matches are in the answer."""
    expected, got = difference["expected"], difference["got"]
    return isinstance(expected, list) and isinstance(got, list) and all(match in got for match in expected)


def lacks_a_neighbour(difference: Json) -> bool:
    """Return whether a query asks for neighbouring events, and the answer only lacks matches."""
    expected, got = difference["expected"], difference["got"]
    return isinstance(got, list) and all(match in expected for match in got) and has_part(" : ")(difference)


def _neighbouring_steps(difference: Json) -> Iterable[tuple[tuple[str, str], tuple[str, str]]]:
    """Return each two neighbouring steps of a chain, each as its type and its loop, which is "" for none."""
    return pairwise(re.findall(r"\b([A-Z]\w*)(\+|\{\d)?", difference["query"]))


def has_closure_beside_its_type(difference: Json) -> bool:
    """Return whether a chain has a loop next to a step of the same type, and no match is missing."""
    steps = _neighbouring_steps(difference)
    return lacks_no_match(difference) and any(a == b and (loop or other) for (a, loop), (b, other) in steps)


def has_neighbouring_closures(difference: Json) -> bool:
    """Return whether a chain has two loops in a row, and no match is missing."""
    steps = _neighbouring_steps(difference)
    return lacks_no_match(difference) and any(loop and other for (_, loop), (_, other) in steps)


def has_equal_times(difference: Json) -> bool:
    """Return whether two events have the same time, and no match is missing."""
    times = [event.get("time") for event in difference["events"]]
    return lacks_no_match(difference) and None not in times and len(set(times)) < len(times)


def is_refused_by_the_engine(difference: Json) -> bool:
    """Return whether the engine refuses the query of a converter, or fails on it as eql does on one step."""
    return isinstance(difference["got"], str) and (
        "the engine refuses" in difference["got"] or "IndexError" in difference["got"]
    )


def is_of_the_same_instants(difference: Json) -> bool:
    """Return whether all alerts come at their times, and only which event of that time they name differs."""
    events = difference["events"]
    answers = [difference["expected"], difference["got"]]
    if any(isinstance(answer, str) for answer in answers):
        return False
    expected, got = (sorted({events[match["at"]]["time"] for match in answer}) for answer in answers)
    return expected == got


def counts_a_null(difference: Json) -> bool:
    """Return whether values are counted of a field that is null in an event, with another answer than an error."""
    fields = re.findall(r"field: (\w+)", difference["query"])
    has_null = any(event.get(field, 0) is None for event in difference["events"] for field in fields)
    return "value_count" in difference["query"] and has_null and not isinstance(difference["got"], str)


LOOP = r"( IN \w+)*:?(\+|\{[\d,]+\})"
NESTED = rf"[+}}]\)?{LOOP}"  # a loop of a loop
AFTER_A_LOOP = rf"\)+{LOOP}\)* : "  # next after a loop of a group


def has_loop_in_a_looping_group(difference: Json) -> bool:
    """Return whether a query of CEL has a loop inside a group that loops."""
    query, open_groups = difference["query"], list[int]()
    for place, letter in enumerate(query):
        if letter == "(":
            open_groups.append(place)
        elif letter == ")" and re.match(LOOP, query[place + 1 :]) is not None:
            if re.search(r"[\w)]:?[+{]", query[open_groups.pop() : place]) is not None:
                return True
        elif letter == ")":
            open_groups.pop()
    return False


def has_contiguous_loop_after_a_semicolon(difference: Json) -> bool:
    """Return whether the right side of a sequence in CEL contains a contiguous loop."""
    query = difference["query"]
    for semicolon in re.finditer(" ; ", query):
        depth = 0
        for letter in re.finditer(r"[()]| OR |:[+{]", query[semicolon.end() :]):
            if letter[0].startswith(":"):
                return True
            depth += {"(": 1, ")": -1}.get(letter[0], 0)
            if depth < 0 or (depth == 0 and letter[0] == " OR "):
                break
    return False


def has_error(text: str, pattern: str = "") -> Fits:
    """Return the description of an answer that is an error with this text, to a query that has a part."""

    def fits(difference: Json) -> bool:
        return isinstance(difference["got"], str) and text in difference["got"] and has_part(pattern)(difference)

    return fits


CORE = (
    ("contiguous-iteration-after-a-sequence", has_contiguous_loop_after_a_semicolon),
    ("partition-by-streams", has_part("PARTITION BY")),
    ("states-that-are-evicted", has_part(r"[+{]| OR [^)]*\)+ ; ")),  # a plain sequence needs few states
)
REFUSED = (("a-query-that-the-engine-refuses", is_refused_by_the_engine),)
KINDS: Mapping[str, Sequence[tuple[str, Fits]]] = {
    "beam-sql": (
        ("quantified-groups", has_error("ClassCastException", r"PATTERN .*\)[*+?{]")),
        ("clauses-that-end-in-an-exception", has_error("Exception")),
        ("anchors-of-no-effect", has_part(r"PATTERN .*[\^$]")),
        ("choices-are-concatenations", has_part(r"PATTERN .*( \| |PERMUTE)")),
        ("quantifiers-are-once", has_part(r"PATTERN .*[*?}]")),
        ("plus-is-reluctant", has_part(r"PATTERN .*\+")),
        ("the-row-of-another-variable-is-the-current-one", has_part(r"DEFINE .*\b[A-Z]\.")),
        ("the-skip-is-ignored", has_part("SKIP TO")),
        ("null-comes-first", has_part("ORDER BY")),
    ),
    "bobocep": (
        ("a-loop-keeps-what-it-can-take", has_part(r"[+{]")),
        ("a-finished-match-breaks-neighbours", has_part(" : ")),
    ),
    "core": CORE,
    "drools": (("an-event-that-expires-takes-a-match-with-it", lacks_a_neighbour),),
    "eql": (
        ("a-comparison-after-in", has_part(r"\bin \{[^}]*\} or ")),
        ("one-match-for-each-first-step", has_part(r" ; \(.* ; ")),
    ),
    "flink-cep": (
        ("next-after-a-nested-loop", has_part(rf"{NESTED}.* : |{AFTER_A_LOOP}")),
        ("nested-loop-after-any", has_part(rf" ; .*{NESTED}")),
        ("inner-loop", has_part(NESTED)),
        ("inner-loop", has_loop_in_a_looping_group),
    ),
    "flink-sql": (
        ("cast-to-an-integer", has_part(r"\bCAST\(")),
        ("mean-of-whole-numbers", has_part(r"\bAVG\(")),
        ("division-by-0", has_part(r" / ")),
        ("greedy-rows-are-not-given-back", has_part(r"PATTERN \([^)]*[*+}] ")),
        ("optional-variable-is-reluctant", has_part(r"PATTERN \([^)]*\w\?[ )]")),
    ),
    "nools": (("a-condition-written-twice", has_part(r"(\w+\.\w+ .+) (FILTER|AND) \1( |$)")),),
    "opencep": (
        ("some-contiguous-events", has_part(" : ")),
        ("one-event-in-a-closure-and-beside-it", has_closure_beside_its_type),
        ("closures-that-overlap", has_neighbouring_closures),
        ("equal-times", has_equal_times),
    ),
    "pandas-match-recognize": (
        ("not-equal-of-the-standard", has_part("DEFINE .*<>")),
        ("like", has_part("DEFINE .* LIKE ")),
        ("functions-of-rows-in-define", has_part(r"DEFINE .*(COUNT|SUM|AVG|MIN|MAX|FIRST|LAST)\(")),
        ("functions-of-rows-in-define", has_part(r"DEFINE .*\bU\.")),
        ("expressions-that-hold-of-no-row", has_part(r"DEFINE .*(\|\||CAST|CASE| % |NOT BETWEEN|IS (NOT )?NULL)")),
        ("negation-of-what-is-unknown", has_part(r"DEFINE .*\bNOT ")),
        ("exact-division", has_part("DEFINE .* / ")),
        ("a-value-as-a-condition", has_part(r"DEFINE .*AS (\w\.)?[a-z][,)]")),
        ("anchors", has_part(r"PATTERN .*[\^$]")),
        ("greedy-by-the-skip", has_part(r"TO NEXT ROW.*PATTERN .*[*+?}] [\w(]")),
        ("empty-matches-under-skip-to-next-row", has_part(r"TO NEXT ROW.*PATTERN .*([*?]|\{0|\(\))")),
        ("measures-are-final", has_part("MEASURES .*ALL ROWS")),
        ("two-answers-to-one-pattern", has_error("cannot be read", r"PATTERN .*(\{-|PERMUTE)")),
        ("excluded-rows-in-measures", has_part(r"MEASURES .*\{-")),
        ("offsets-in-measures", has_part(r"MEASURES .*(FIRST|LAST|PREV|NEXT)\(")),
        ("aggregates-beside-a-group", has_part(r"MEASURES .*(SUM|AVG|MIN|MAX)\([A-Z]\..*PATTERN \(.*\(")),
        ("sums-are-doubles", has_part(r"MEASURES .*SUM\(")),
        ("null-comes-last", has_part("ORDER BY .*DESC")),
        ("one-reluctant-quantifier", has_part(r"([+*]|,\})\)(\+|\*|\{[\d,]*\})\?|\?\)[+*{]")),
        ("quantified-groups", has_part(r"PATTERN \(.*(\w\}?\??|\*|\+)\)[*+?{]|PATTERN .*(\{\d.* \| | \(\w[?*] )")),
        ("a-part-without-rows", has_part(r"PATTERN .*([*?}]\?|\{0|\(\))")),
        ("longest-alternative", has_part(r"PATTERN .* \| \w+ ")),
        ("a-row-that-two-variables-fit", has_part(r"PATTERN .*( \| |PERMUTE)")),
        ("the-answer-to-another-clause", has_part(r"PATTERN .*([*+]|\d\})")),
    ),
    "pycer": CORE,
    "sase": (
        ("kleene-plus-in-last-place", ends_in_a_kleene_plus_of_a_partition),
        ("one-component", has_one_component),
        ("runs-that-share-values", has_part(r"{.*\b(\w)\.\w+ [!<>=]+ (?!\1)\w\.")),
    ),
    "sigma-clickhouse": REFUSED,
    "sigma-duckdb": REFUSED,
    "sigma-eql": (*REFUSED, ("parts-of-texts-with-cased", has_part(r"\|(contains|startswith|endswith)\|cased"))),
    "sigma-rsigma": (("null-is-a-value", counts_a_null),),
    "sigma-sqlite": (("one-instant-at-once", is_of_the_same_instants),),
    "trino": (
        ("permute-of-one-part", has_part(r"PERMUTE\((\([^()]*\)|[^(),])*\)")),
        ("label-of-the-row-before", has_part(r"PREV\(CLASSIFIER\(")),
        ("division-of-a-double-by-0", has_part(r" [/%] 0\b")),
        ("iteration-without-rows-after-one-with-rows", has_part(r"\([^()]*\w[*?][^()]*\)[*+{]")),
    ),
    "varpulis": (
        ("kleene-plus-in-last-place", has_part(r"^[^)]*\+ \w+\[\]\)")),
        ("kleene-plus-before-its-end", has_part(r"^[^)]*\+ ")),
        ("a-single-step-waits", lambda difference: len(_components(difference)) == 1),
        ("one-event-for-any", has_part("skip_till_any_match")),
    ),
}
"""By the name of an engine its findings, each with what it describes; the first that fits is taken."""


def kind_of(engine: str, difference: Json) -> str:
    """Return the finding that explains a difference; "" if none does."""
    return next((finding for finding, fits in KINDS.get(engine, ()) if fits(difference)), "")


def main(lines: Iterable[str]) -> int:
    """Print how many differences each finding explains, and the others; return 1 if there are others."""
    head, *differences = map(json.loads, lines)
    engine = head["summary"]["tested"].split()[0]
    kinds = Counter(kind_of(engine, difference) for difference in differences)
    for finding, number in kinds.most_common():
        print(f"{number:>7,} {finding or 'without a finding'}")
    for difference in differences:
        if not kind_of(engine, difference):
            print(json.dumps({name: difference[name] for name in ("case", "query", "events", "expected", "got")}))
    return 1 if kinds[""] else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()))
