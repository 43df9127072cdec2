"""What must not happen."""

from __future__ import annotations

from collections.abc import Mapping

from proofs_tests.tools.suites.sase.queries.text import ANY, STRICT, block, query

ABSENT: Mapping[str, tuple[str, ...]] = {
    "sase-negation": (
        query("A a, ~B b, C c"),
        query("A a, ~B b, C c", "b.x > 1"),
        query("A a, ~B b, C c", "b.x = a.x"),
        query("A a, ~B b, C c", "b.x > c.x"),
        query("A a, ~B b, C c", "[y]"),
        query("A a, ~A b, A c"),
        query("A a, ~A b, A c", block(ANY, "a, c")),
        query("A a, ~B b, C c", block(ANY, "a, b, c", "b.x > 0 and c.x > a.x")),
        query("A+ a[], ~B b, C c", "b.x = a[a.LEN].x"),
        query("A a, ~B b, A+ c[]", "b.x > 1"),
        query("A a, ~B b, ~C c, A d"),
        query("A a, B b, ~C c, A d", block(ANY, "a, b, d")),
        query("A a, ~B b, C c", block(STRICT, "a, b, c")),
        query("A a, ~B b, C c", "[y] and b.x > 0", "WITHIN 4 seconds"),
        query("A a, C c, ~B b, A d"),
        query("A a, ~B b, C c, A d"),
        query("A a, C c, ~B b, A d", block(ANY, "a, c, d")),
    ),
    "sase-negated-kleene": (
        query("A a, ~B+ b[], C c", "count(b[]) >= 2"),
        query("A a, ~B+ b[], C c", "b[i].x > b[i-1].x and count(b[]) >= 2"),
        query("A a, ~B+ b[], C c", "b[1].x = a.x and b[b.LEN].x = c.x"),
        query("A a, ~B+ b[], C c", "b[i].x > 0 and sum(b[].x) > 3"),
        query("A a, ~B+ b[], C c", block(ANY, "a, b[], c", "count(b[]) = 2")),
        query("A a, ~B+ b[], A c", block(STRICT, "a") + block(STRICT, "b[]", "count(b[]) >= 2") + block(ANY, "c")),
        query("A a, ~B+ b[], C c", "[y] and count(b[]) >= 2"),
        query("A a, ~A+ b[], A c", block(ANY, "a, b[], c", "b[i].x > b[i-1].x and count(b[]) >= 2")),
        query("A a, ~B+ b[], C c", "b[1].x > 1"),
    ),
    "sase-negation-front": (
        query("~B b, A a", rest="WITHIN 3 seconds"),
        query("~B b, A a"),
        query("~B b, A a", "b.x = a.x", "WITHIN 4 seconds"),
        query("~B b, A a, C c", "b.x > 0", "WITHIN 4 seconds"),
        query("~B b, A a", "[y]", "WITHIN 4 seconds"),
        query("~B b, A+ a[]", "b.x > a[1].x", "WITHIN 3 seconds"),
        query("~B+ b[], A a", "count(b[]) >= 2", "WITHIN 5 seconds"),
    ),
    "sase-negation-end": (
        query("A a, ~B b", rest="WITHIN 3 seconds"),
        query("A a, ~B b", "b.x = a.x", "WITHIN 4 seconds"),
        query("A a, C c, ~B b", "b.x > 0", "WITHIN 4 seconds"),
        query("A a, ~B b", "[y]", "WITHIN 4 seconds"),
        query("A a, ~A b", rest="WITHIN 2 seconds"),
        query("A+ a[], ~B b", "b.x > a[a.LEN].x", "WITHIN 3 seconds"),
        query("A a, ~B+ b[]", "count(b[]) >= 2", "WITHIN 5 seconds"),
        query("~C c, A a, ~B b", rest="WITHIN 3 seconds"),
    ),
}
