"""What the papers leave open: on some stream another reading has other matches."""

from __future__ import annotations

from collections.abc import Mapping

from proofs_tests.tools.suites.sase.queries.text import ANY, NEXT, PARTITION, STRICT, block, query

READINGS: Mapping[str, tuple[str, ...]] = {
    "sase-reading-last_kleene": (
        query("A+ a[]"),
        query("A+ a[]", block(STRICT, "a[]")),
        query("A a, B+ b[]", "b[i].x > a.x"),
        query("A a, B+ b[]", block(PARTITION, "a, b[]", "[y]")),
        query("A+ a[]", "a[i].x > a[i-1].x", "WITHIN 3 seconds"),
    ),
    "sase-reading-cut_in_last_place": (
        query("A+ a[]", block(NEXT, "a[]!")),
        query("A a, B+ b[]", block(NEXT, "a, b[]!", "b[i].x > a.x")),
        query("A a, B+ b[]", block(ANY, "a, b[]!")),
        query("A+ a[]", block(STRICT, "a[]!")),
    ),
    "sase-reading-stream_end": (
        query("A+ a[]", rest="WITHIN 4 seconds"),
        query("A a, B+ b[]"),
        query("A+ a[]", block(STRICT, "a[]")),
        query("A a, ~B b", rest="WITHIN 3 seconds"),
        query("A a, C+ c[], ~B b", rest="WITHIN 4 seconds"),
    ),
    "sase-reading-window": (
        query("A a, B b", rest="WITHIN 2 seconds"),
        query("A+ a[]", rest="WITHIN 2 seconds"),
        query("A+ a[], B b", block(ANY, "a[], b"), "WITHIN 3 seconds"),
        query("A a, ~B b", rest="WITHIN 2 seconds"),
        query("~B b, A a", rest="WITHIN 2 seconds"),
    ),
    "sase-reading-kleene_skips": (
        query("A+ a[], B b"),
        query("A+ a[], B b", "b.x > 0"),
        query("A a, B+ b[], C c"),
        query("A+ a[], B+ b[]"),
        query("A+ a[], B b", "a[i].x > a[i-1].x and b.x > a[a.LEN].x"),
    ),
    "sase-reading-negation_in_front": (
        query("~B b, A a", rest="WITHIN 2 seconds"),
        query("~B b, A a, C c", "b.x = a.x", "WITHIN 3 seconds"),
        query("~B+ b[], A a", "count(b[]) >= 2", "WITHIN 3 seconds"),
        query("~B b, A+ a[]", "[y]", "WITHIN 3 seconds"),
    ),
    "sase-reading-negated_series": (
        query("A a, ~B+ b[], C c", " ".join((block(STRICT, "b[]", "count(b[]) >= 2"), block(ANY, "a, c")))),
    ),
    "sase-reading-non_overlap": (
        query("A a, B b", "b.x = a.x", returned="NON-OVERLAP r(a.x AS x)"),
        query("A a, C+ c[], B b", "b.x = a.x", returned="NON-OVERLAP r(count(c[]) AS n)"),
        query("A+ a[], B b", block(ANY, "a[], b", "[y]"), returned="NON-OVERLAP r(count(a[]) AS n)"),
    ),
}
