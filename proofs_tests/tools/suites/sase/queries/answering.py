"""What is answered: HAVING, RETURN, NON-OVERLAP, UNION and composition; values that are absent."""

from __future__ import annotations

from collections.abc import Mapping

from proofs_tests.tools.suites.sase.queries.text import ANY, NEXT, PARTITION, STRICT, block, query

ANSWERING: Mapping[str, tuple[str, ...]] = {
    "sase-having": (
        query("A a, B b", rest="HAVING a.x < b.x"),
        query("A+ a[]", rest="HAVING count(a[]) >= 2"),
        query("A+ a[]", rest="HAVING avg(a[].x) >= a[1].x"),
        query("A+ a[], B b", rest="HAVING a[1].x = b.x or b.y = 1"),
        query("A+ a[]", block(ANY, "a[]"), "HAVING sum(a[].x) = 3"),
        query("A+ a[]", block(NEXT, "a[]!", "a[a.LEN].x = 2"), "HAVING max(a[].x) = 2"),
        query("A a, B b", block(ANY, "a, b", "b.y = a.y"), "HAVING a.x + b.x = 3"),
        query("A+ a[], B b", rest="HAVING not a[a.LEN].x = b.x"),
    ),
    "sase-return": (
        query("A a, B b", returned="a.x, b.y"),
        query("A a, B b", returned="a.x, b.x"),
        query("A a", returned="a.x AS first, a.y AS second, a.x + a.y AS both"),
        query("A+ a[]", returned="a[].x"),
        query("A+ a[]", returned="a[].(x, y)"),
        query("A a", returned="a.(x, y)"),
        query("A+ a[]", returned="a[1].(x, y) AS start, a[a.LEN].x AS end"),
        query("A a, B b", returned="pair(a.x AS l, b.x AS r)"),
        query("A+ a[]", returned="a[].z, a[1].z"),
        query("A a", returned="a.(x, z), a.z"),
        query("A+ a[], B b", returned="b.x * 2, count(a[]), 'so' AS word"),
        query("A+ a[], B b", returned="a[].(x, y) AS all, b.(x, y)"),
        query("A+ a[]", returned="a[].x AS xs, avg(a[].x) AS mean"),
    ),
    "sase-non-overlap": (
        query("A a, B b", block(ANY, "a, b"), returned="NON-OVERLAP r(a.x AS x)"),
        query("A a, B b", block(ANY, "a, b", "[y]"), returned="NON-OVERLAP r(a.y AS y)"),
        query("A+ a[]", block(ANY, "a[]"), returned="NON-OVERLAP r(count(a[]) AS n)"),
        query("A a, B b", block(ANY, "a, b"), "HAVING a.x < b.x", "NON-OVERLAP r(a.x AS x)"),
        query("A+ a[], B b", block(ANY, "a[], b", "[y]"), returned="NON-OVERLAP r(a[].x AS x)"),
        query("A a, B b", "b.x = a.x", returned="NON-OVERLAP r(a.x AS x)"),
        query("A a, B b, A c", block(ANY, "a, b, c", "[y]"), "HAVING c.x >= a.x", "NON-OVERLAP r(a.x AS x)"),
    ),
    "sase-union": (
        f"{query('A a', returned='a.x')} UNION {query('B b', returned='b.x')}",
        f"{query('A a', returned='a.x')} UNION {query('A a', returned='a.y')}",
        f"{query('A a', 'a.x = 1', returned='a.x')} UNION {query('A a', 'a.y = 1', returned='a.x')}",
        f"{query('A a, B b')} UNION {query('A+ a[], C c', returned='count(a[]) AS n')}",
        f"{query('A+ a[]', returned='sum(a[].x) AS s')} UNION {query('B b', returned='b.x AS s')} "
        f"UNION {query('C c', returned='c.x AS s')}",
        f"{query('A a', returned='r(a.x AS x) IN STREAM rs')} UNION {query('B b', returned='r(b.y AS x)')}; "
        "FROM rs PATTERN SEQ(r+ a[]) RETURN a[].x",
    ),
    "sase-composition": (
        f"{query('A a', 'a.x > 0', returned='r(a.x AS x) IN STREAM rs')}; "
        "FROM rs PATTERN SEQ(r a, r b) RETURN a.x, b.x",
        f"{query('A a, B b', block(ANY, 'a, b'), returned='r(a.x AS x) IN STREAM rs')}; "
        "FROM rs PATTERN SEQ(r+ a[]) WITHIN 2 seconds RETURN a[].x",
        f"{query('A+ a[]', rest='HAVING count(a[]) >= 2', returned='r(sum(a[].x) AS x) IN STREAM rs')}; "
        "FROM rs PATTERN SEQ(r a) RETURN a.x",
        f"{query('A a, B b', block(ANY, 'a, b'), returned='r(a.y AS y) IN STREAM rs')}; "
        f"FROM rs PATTERN SEQ(r a, r b) WHERE {block(STRICT, 'a, b', '[y]')} RETURN a.y",
        f"{query('A a, B b', returned='r(a.x AS x, b.y AS y) IN STREAM rs')}; "
        f"FROM rs PATTERN SEQ(r+ a[]) WHERE {block(PARTITION, 'a[]', '[y]')} RETURN a[].x; "
        "PATTERN SEQ(A a) RETURN a.x",
        f"{query('A a, B b', block(ANY, 'a, b'), returned='r(a.x AS x) IN STREAM rs')}; "
        "FROM rs PATTERN SEQ(r a, r b) WHERE b.x > a.x RETURN s(b.x AS x) IN STREAM ss; "
        "FROM ss PATTERN SEQ(s+ a[]) RETURN count(a[])",
        f"{query('A a, B b', rest='HAVING b.x > a.x', returned='rs(b.x - a.x AS d) IN STREAM rs')}; "
        "FROM rs PATTERN SEQ(rs+ a[]) WHERE a[i].d >= a[i-1].d WITHIN 4 seconds RETURN a[].d",
    ),
    "sase-values": (
        query("A a, B b", "b.z = a.z"),
        query("A a, B b", "b.z > a.z - 1"),
        query("A+ a[]", "a[i].z >= a[i-1].z"),
        query("A a", "not a.z = 1"),
        query("A+ a[]", "a[i].z > sum(a[..i-1].z) - 2"),
        query("A a, B b", "(b.z = 0 or b.x = 1)"),
        query("A a, B b", "a.s = 'u' and b.s != a.s"),
        query("A a, B b", "b.f > a.x"),
        query("A a, B b", "b.f + a.f = 2"),
        query("A+ a[]", "[s] and sum(a[].f) >= 1", returned="sum(a[].f), avg(a[].f)"),
        query("A a, B b", "[f]"),
        query("A a, B b", "a.t = true and b.t = false"),
        query("A+ a[]", "a[i].s > a[i-1].s", returned="a[].s, min(a[].s), max(a[].f)"),
    ),
}
