"""The queries of the SASE+ suite by feature, with the place that defines the feature: sase07, icde08, our decisions."""

from __future__ import annotations

from collections.abc import Mapping

CLAUSES: Mapping[str, str] = {
    "sase-printed": "sase07 section 2.2, Queries 1 to 5; icde08 Figure 1",
    "sase-event": "sase07 section 2.2, PATTERN",
    "sase-sequence": "sase07 section 2.2, SEQ",
    "sase-kleene": "sase07 section 2.2, Kleene plus",
    "sase-predicate": "sase07 section A.1, good formulas",
    "sase-iterator": "sase07 section 2.2, individual iterator predicates",
    "sase-correlated": "sase07 section 2.2, correlated iterator predicates",
    "sase-running": "sase07 section 2.2, running aggregates",
    "sase-aggregate": "sase07 section 2.2.4, aggregates",
    "sase-equivalence": "sase07 section 2.2, equivalence tests",
    "sase-strict": "sase07 section 2.2.1, strict contiguity",
    "sase-partition": "sase07 section 2.2.1, partition contiguity",
    "sase-next": "sase07 section 2.2.1, skip till next match",
    "sase-any": "sase07 section 2.2.1, skip till any match",
    "sase-mixed": "sase07 section 2.2.1, one strategy for each component",
    "sase-end": "sase07 section 2.2.2, condition on the last event selected",
    "sase-cut": "sase07 section 2.2.2, !",
    "sase-stop": "sase07 section 3.2, termination criteria",
    "sase-within": "sase07 section 2.2.2, window constraints",
    "sase-negation": "sase07 section 2.2.3, negation",
    "sase-negated-kleene": "sase07 section 2.2.3, negation on Kleene closure",
    "sase-negation-front": "sase07 section 2.2.3; decisions/sase.md, negation in front",
    "sase-negation-end": "sase07 section 2.2.3; decisions/sase.md, negation at the end",
    "sase-having": "sase07 section 2.2, HAVING",
    "sase-return": "sase07 sections 2.1 and 2.2, RETURN",
    "sase-non-overlap": "icde08 section II.C, NON-OVERLAP",
    "sase-union": "sase07 section 2.2.4, UNION",
    "sase-composition": "sase07 sections 2.2.4 and 5, composition",
    "sase-values": "decisions/sase-language.md, values that are absent",
    "sase-reading-last_kleene": "decisions/sase.md, Kleene plus in last place",
    "sase-reading-cut_in_last_place": "decisions/sase.md, ! in last place",
    "sase-reading-stream_end": "decisions/sase.md, the end of a stream",
    "sase-reading-window": "decisions/sase.md, the bound of the window",
    "sase-reading-kleene_skips": "decisions/sase.md, what a Kleene plus skips",
    "sase-reading-negation_in_front": "decisions/sase.md, negation in front",
    "sase-reading-negated_series": "decisions/sase.md, a negated Kleene plus",
    "sase-reading-non_overlap": "decisions/sase.md, NON-OVERLAP",
}

STRICT, PARTITION = "strict_contiguity", "partition_contiguity"
NEXT, ANY = "skip_till_next_match", "skip_till_any_match"

# --- the printed queries: 2 to 5 of sase07 as put together again from its text; Query 1 asks for kind in place of type

QUERY_1 = (
    "PATTERN SEQ(NEWS a, STOCK+ b[]) WHERE a.kind = 'bad' and b[i].symbol = 'GOOG' WITHIN 4 hours "
    "RETURN sum(b[].volume)"
)
QUERY_2 = (
    "PATTERN SEQ(STOCK+ a[]) WHERE skip_till_next_match(a[]!) { [symbol] and a[1].price = 10 and "
    "a[i].price > a[i-1].price and a[a.LEN].price = 20 } WITHIN 1 hours HAVING avg(a[].volume) >= a[1].volume "
    "RETURN a[1].symbol, a[].price"
)
QUERY_3 = (
    "PATTERN SEQ(STOCK+ a[], STOCK b) WHERE skip_till_next_match(a[]!, b) { [symbol] and a[1].volume > 1000 and "
    "a[i].price > avg(a[..i-1].price) and b.volume < 80% * a[a.LEN].volume } WITHIN 1 hours "
    "RETURN a[1].symbol, a[].(price, volume), b.(price, volume)"
)
QUERY_4 = (
    "PATTERN SEQ(SCAN a, ~SCAN+ b[], SCAN c) WHERE skip_till_next_match(a, b[], c) { [object_id] and "
    "a.location = 'New York' and c.location = 'Amherst' and b[1].origin = a.location and "
    "b[i].origin = b[i-1].location and count(b[]) <= 3 and c.origin = b[b.LEN].location } "
    "RETURN anomaly(a.object_id AS object_id, c.courier_id AS courier_id) IN STREAM anomalies"
)
QUERY_5 = (
    f"{QUERY_4}; FROM anomalies PATTERN SEQ(anomaly+ a[]) WHERE [courier_id] and count(a[]) >= 2 WITHIN 1 weeks "
    "RETURN a[1].courier_id, a[].object_id"
)
LOADING = (
    "FROM InputStream PATTERN SEQ(Start a, RFID+ b[], End c) WHERE skip_till_next_match(a, b[]!, c) { [loading_dock] "
    "and a.session_id = c.session_id and b[i].packaging_level = 'pallet' } "
    "RETURN a.session_id, count(b[]), b[].(tag_id, reader_id)"
)
CONTAMINATION = (
    "FROM InputStream PATTERN SEQ(Alert a, Shipment+ b[]) WHERE skip_till_any_match(a, b[]) { a.kind = 'contaminated' "
    "and b[1].from = a.site and b[i].from = b[i-1].to } WITHIN 3 hours RETURN a.kind, a.site, b[].to"
)


def _q(pattern: str, where: str = "", rest: str = "", returned: str = "1 AS one") -> str:
    return " ".join(filter(None, (f"PATTERN SEQ({pattern})", where and f"WHERE {where}", rest, f"RETURN {returned}")))


def _by(strategy: str, arguments: str, said: str = "") -> str:
    return f"{strategy}({arguments}) {{ {said} }}"


QUERIES: Mapping[str, tuple[str, ...]] = {
    "sase-event": (
        _q("A a"),
        _q("A a", "a.x = 1"),
        _q("A a", returned="a.x"),
        _q("A a", "a.x > a.y"),
        _q("A a, B b", "a.x = 1"),
    ),
    "sase-sequence": (
        _q("A a, B b"),
        _q("A a, A b"),
        _q("A a, B b, A c"),
        _q("A a, B b", _by(ANY, "a, b")),
        _q("A a, A b, A c", _by(ANY, "a, b, c")),
        _q("A a, A b, A c", _by(STRICT, "a, b, c")),
    ),
    "sase-kleene": (
        _q("A+ a[]"),
        _q("A+ a[]", _by(STRICT, "a[]")),
        _q("A+ a[]", _by(ANY, "a[]")),
        _q("A+ a[], B b"),
        _q("A a, B+ b[]"),
        _q("A a, B+ b[], C c"),
        _q("A+ a[], B+ b[]"),
        _q("A+ a[], A b"),
        _q("A+ a[], A+ b[]", _by(ANY, "a[], b[]")),
        _q("A+ a[], A b", _by(STRICT, "a[], b")),
    ),
    "sase-predicate": (
        _q("A a, B b", "a.x = 1 and b.x = 2"),
        _q("A a, B b", "b.x = a.x"),
        _q("A a, B b", "b.x > a.x + 1"),
        _q("A a, B b, A c", "c.x > a.x and b.y = a.y"),
        _q("A a, B b", "(b.x = a.x or b.x > 2)"),
        _q("A+ a[], B b", "b.x = a[1].x"),
        _q("A+ a[], B b", "b.x = a[a.LEN].x"),
        _q("A a, B b", "not b.x = a.x"),
        _q("A a, B b", "b.x * 2 = a.x + b.y"),
        _q("A a, B b", f"{_by(ANY, 'a', 'a.x = 1')} {_by(ANY, 'b', 'b.x > a.x')}"),
        _q("A a, B+ b[]", f"{_by(NEXT, 'a', 'a.y = 1')} {_by(STRICT, 'b[]', 'b[1].x = a.x')}"),
    ),
    "sase-iterator": (
        _q("A+ a[]", "a[i].x = 1"),
        _q("A+ a[]", "a[i].x != 1"),
        _q("A+ a[], B b", "a[i].x > 1"),
        _q("A a, B+ b[]", "b[i].x > a.x"),
        _q("A+ a[]", _by(STRICT, "a[]", "a[i].x > 0")),
        _q("A+ a[]", _by(ANY, "a[]", "a[i].x < 2")),
        _q("A+ a[]", "(a[i].x = 1 or a[i].x = 3)"),
        _q("A a, B+ b[], C c", "b[i].x = a.x and c.x > a.x"),
    ),
    "sase-correlated": (
        _q("A+ a[]", "a[i].x > a[i-1].x"),
        _q("A+ a[]", "a[i].x = a[i-1].x + 1"),
        _q("A+ a[]", "a[i].x >= a[1].x"),
        _q("A+ a[]", _by(STRICT, "a[]", "a[i].x > a[i-1].x")),
        _q("A+ a[]", _by(ANY, "a[]", "a[i].x > a[i-1].x")),
        _q("A+ a[], B b", "a[i].x != a[i-1].x"),
        _q("A a, B+ b[]", "b[1].x = a.x and b[i].x > b[i-1].x"),
        _q("A+ a[]", "(a[i].x > a[i-1].x or a[i].x = 0)"),
        _q("A+ a[], B b", _by(ANY, "a[], b", "a[i].x > a[1].x and b.x < a[a.LEN].x")),
    ),
    "sase-running": (
        _q("A+ a[]", "a[i].x > avg(a[..i-1].x)"),
        _q("A+ a[]", "a[i].x >= sum(a[..i-1].x)"),
        _q("A+ a[]", "a[i].x > max(a[..i-1].x)"),
        _q("A+ a[]", "a[i].x <= min(a[..i-1].x)"),
        _q("A+ a[]", "a[i].x > count(a[..i-1].x)"),
        _q("A+ a[], B b", "a[i].x > avg(a[..i-1].x) and b.x < a[a.LEN].x"),
        _q("A+ a[]", _by(STRICT, "a[]", "a[i].x != sum(a[..i-1].x)")),
        _q("A+ a[]", _by(ANY, "a[]", "a[i].x > avg(a[..i-1].x)")),
        _q("A+ a[]", "a[i].x > highest(2, a[..i-1].x)"),
    ),
    "sase-aggregate": (
        _q("A+ a[]", returned="count(a[]), sum(a[].x), avg(a[].x), min(a[].x), max(a[].x)"),
        _q("A+ a[]", returned="count(a[].z), sum(a[].z), avg(a[].z), min(a[].z), max(a[].z)"),
        _q("A+ a[]", _by(STRICT, "a[]", "sum(a[].x) = 3")),
        _q("A+ a[]", _by(ANY, "a[]", "avg(a[].x) > 1")),
        _q("A+ a[]", _by(NEXT, "a[]", "count(a[]) = 2")),
        _q("A+ a[], B b", "b.x > avg(a[].x)"),
        _q("A+ a[], B b", "b.x = count(a[])"),
        _q("A+ a[], B b", "b.x = max(a[].x)"),
        _q("A+ a[], B b", "b.x >= sum(a[].z)"),
        _q("A+ a[], B b", "b.x = min(a[].z)"),
        _q("A+ a[]", returned="highest(2, a[].x), lowest(2, a[].x)"),
        _q("A+ a[]", rest="HAVING highest(2, a[].x) > 1", returned="lowest(1, a[].x)"),
        _q("A+ a[], B+ b[]", "count(b[]) = count(a[])", returned="sum(a[].x) AS s, sum(b[].x) AS t"),
        _q("A+ a[], B b", "b.x = count(a[].z)"),
    ),
    "sase-equivalence": (
        _q("A a, B b", "[y]"),
        _q("A+ a[]", "[y]"),
        _q("A+ a[], B b", "[y]"),
        _q("A a, B b, A c", "[y] and c.x > a.x"),
        _q("A+ a[]", _by(STRICT, "a[]", "[y]")),
        _q("A+ a[], B b", _by(ANY, "a[], b", "[y]")),
        _q("A a, B b", "[z]"),
        _q("A+ a[]", "[z]"),
        _q("A a, B b", "[x] and [y]"),
        _q("A a, B+ b[]", "[z] and b[i].x > 0"),
    ),
    "sase-strict": (
        _q("A a, B b", _by(STRICT, "a, b")),
        _q("A+ a[], B b", _by(STRICT, "a[], b")),
        _q("A a, B+ b[]", _by(STRICT, "a, b[]")),
        _q("A a, B b, A c", _by(STRICT, "a, b, c")),
        _q("A+ a[]", _by(STRICT, "a[]", "a[i].x > a[i-1].x")),
        _q("A a, B b", _by(STRICT, "a, b", "b.x > a.x")),
        _q("A a, B+ b[], A c", _by(STRICT, "a, b[], c", "[y]")),
        _q("A+ a[], B+ b[]", _by(STRICT, "a[], b[]")),
    ),
    "sase-partition": (
        _q("A a, B b", _by(PARTITION, "a, b", "[y]")),
        _q("A+ a[]", _by(PARTITION, "a[]", "[y]")),
        _q("A+ a[], B b", _by(PARTITION, "a[], b", "[y]")),
        _q("A+ a[]", _by(PARTITION, "a[]", "[y] and a[i].x > a[i-1].x")),
        _q("A a, B b", _by(PARTITION, "a, b", "[y] and b.x > a.x")),
        _q("A a, B b", _by(PARTITION, "a, b", "[y] and _( b.x > a.x )_")),
        _q("A+ a[]", _by(PARTITION, "a[]", "_( a[i].x > 0 )_ and a[i].y = 1")),
        _q("A+ a[], B b", _by(PARTITION, "a[], b", "_( [y] )_ and [x]")),
        _q("A a, B+ b[], C c", _by(PARTITION, "a, b[], c", "[y]")),
        _q("A a, B b", _by(PARTITION, "a, b", "[z]")),
        _q("A+ a[]", _by(PARTITION, "a[]", "_( [x] )_ and [y]")),
    ),
    "sase-next": (
        _q("A a, B b"),
        _q("A a, B b", _by(NEXT, "a, b", "b.x > a.x")),
        _q("A+ a[]", _by(NEXT, "a[]", "a[i].x > a[i-1].x")),
        _q("A+ a[], B b", _by(NEXT, "a[], b", "b.x = 1")),
        _q("A a, B b, C c", "b.x > a.x and c.x > b.x"),
        _q("A a, B+ b[]", "b[i].x > a.x"),
        _q("A+ a[], A b", "b.x = 2 and a[i].x != 2"),
        _q("A a, A b, A c", "[y]"),
        _q("A a, B+ b[], C c", "b[i].x = 1 and c.x = 2"),
    ),
    "sase-any": (
        _q("A a, B b", _by(ANY, "a, b")),
        _q("A a, B b", _by(ANY, "a, b", "b.x > a.x")),
        _q("A+ a[]", _by(ANY, "a[]", "a[i].x > a[i-1].x")),
        _q("A+ a[], B b", _by(ANY, "a[], b")),
        _q("A a, B+ b[]", _by(ANY, "a, b[]")),
        _q("A a, B b, C c", _by(ANY, "a, b, c", "[y]")),
        _q("A+ a[], B b", _by(ANY, "a[], b", "a[i].x > a[i-1].x and b.x > a[a.LEN].x")),
        _q("A a, B+ b[]", _by(ANY, "a, b[]", "b[1].x = a.x and b[i].x = b[i-1].y")),
    ),
    "sase-mixed": (
        _q("A a, B b, C c", f"{_by(STRICT, 'a, b')} {_by(ANY, 'c')}"),
        _q("A+ a[], B b", f"{_by(STRICT, 'a[]')} {_by(NEXT, 'b')}"),
        _q("A+ a[], B b", f"{_by(NEXT, 'a[]')} {_by(STRICT, 'b')}"),
        _q("A+ a[], B b", f"{_by(ANY, 'a[]')} {_by(NEXT, 'b')}"),
        _q("A+ a[], B b", f"{_by(NEXT, 'a[]')} {_by(ANY, 'b')}"),
        _q("A a, B+ b[]", f"{_by(NEXT, 'a')} {_by(STRICT, 'b[]')}"),
        _q("A a, B+ b[], C c", f"{_by(ANY, 'a')} {_by(STRICT, 'b[]')} {_by(NEXT, 'c', 'c.x > a.x')}"),
        _q("A+ a[], B b", f"{_by(STRICT, 'a[]', 'a[i].x > 0')} {_by(ANY, 'b')}"),
        _q("A+ a[], B+ b[]", f"{_by(NEXT, 'a[]')} {_by(STRICT, 'b[]')}"),
        _q("A a, B b, C c", f"{_by(PARTITION, 'a, b', '[y]')} {_by(ANY, 'c')}"),
    ),
    "sase-end": (
        _q("A+ a[]", "a[a.LEN].x = 2"),
        _q("A+ a[]", _by(STRICT, "a[]", "a[a.LEN].x = 2")),
        _q("A+ a[]", _by(ANY, "a[]", "a[a.LEN].x = 2")),
        _q("A+ a[], B b", "a[a.LEN].x > 1"),
        _q("A+ a[]", "a[i].x > a[i-1].x and a[a.LEN].x > 1"),
        _q("A a, B+ b[]", "b[b.LEN].x = a.x"),
        _q("A+ a[], B b", _by(STRICT, "a[], b", "a[a.LEN].x = 1")),
        _q("A+ a[]", "a[a.LEN].x > a[1].x"),
        _q("A+ a[], B b", "count(a[]) >= 2 and b.x = a[a.LEN].x"),
        _q("A+ a[]", _by(STRICT, "a[]", "a[a.LEN].time - a[1].time < 3")),
        _q("A+ a[], A b", "a[a.LEN].x > 1 and b.x < a[a.LEN].x"),
    ),
    "sase-cut": (
        _q("A+ a[], B b", _by(NEXT, "a[]!, b")),
        _q("A+ a[], B b", _by(NEXT, "a[]!, b", "b.x > a[a.LEN].x")),
        _q("A+ a[]", _by(NEXT, "a[]!", "a[a.LEN].x = 2")),
        _q("A+ a[]", _by(ANY, "a[]!", "a[a.LEN].x = 2")),
        _q("A+ a[], A b", _by(NEXT, "a[]!, b", "b.x = 2")),
        _q("A+ a[], A b", _by(ANY, "a[]!, b", "b.x > 1")),
        _q("A+ a[], B b", _by(STRICT, "a[]!, b", "a[a.LEN].x > 0")),
        _q("A+ a[], B b", _by(NEXT, "a[]!, b", "a[a.LEN].x > 1 and b.x = 1")),
        _q("A a, B+ b[], C c", _by(NEXT, "a, b[]!, c", "c.x > a.x")),
        _q("A+ a[], B+ b[], C c", _by(NEXT, "a[]!, b[], c")),
        _q("A+ a[], B+ b[], C c", _by(NEXT, "a[], b[]!, c")),
        _q("A+ a[], A b, B c", _by(NEXT, "a[]!, b, c", "b.x < a[a.LEN].x and c.x > b.x")),
        _q("A+ a[]", _by(NEXT, "a[]!", "count(a[]) = 2")),
        _q("A+ a[], A b", _by(STRICT, "a[]!, b", "b.x < a[a.LEN].x")),
        _q("A+ a[], B b", _by(NEXT, "a[], b")),
        _q("A a, B+ b[], C c", _by(NEXT, "a, b[], c")),
    ),
    "sase-stop": (
        _q("A+ a[], B b", f"{_by(STRICT, 'a[]')} {_by(NEXT, 'b')}"),
        _q("A+ a[], B b", f"{_by(PARTITION, 'a[]', '[y]')} {_by(NEXT, 'b')}"),
        _q("A+ a[], A b", _by(STRICT, "a[], b", "a[i].x > a[i-1].x")),
        _q("A+ a[]", _by(STRICT, "a[]"), "WITHIN 3 seconds"),
        _q("A+ a[]", _by(ANY, "a[]"), "WITHIN 2 seconds"),
        _q("A+ a[]", "a[i].x > 0", "WITHIN 3 seconds"),
        _q("A+ a[]", _by(PARTITION, "a[]", "[y] and a[i].x > a[i-1].x")),
        _q("A+ a[], B b", _by(ANY, "a[], b"), "WITHIN 3 seconds"),
        _q("A+ a[], B+ b[]", f"{_by(STRICT, 'a[]')} {_by(NEXT, 'b[]')}", "WITHIN 4 seconds"),
    ),
    "sase-within": (
        _q("A a, B b", rest="WITHIN 3 seconds"),
        _q("A a, B b, C c", rest="WITHIN 4 seconds"),
        _q("A a, B b", _by(ANY, "a, b"), "WITHIN 3 seconds"),
        _q("A+ a[], B b", rest="WITHIN 3 seconds"),
        _q("A a, B b", _by(ANY, "a, b"), "WITHIN 1 minutes"),
        _q("A a, B b", rest="WITHIN 1 hours"),
        _q("A+ a[]", "a[a.LEN].x > 0", "WITHIN 3 seconds"),
        _q("A a, B b", "b.x > a.x", "WITHIN 2.5 seconds"),
        _q("A a, B b, A c", _by(ANY, "a, b, c"), "WITHIN 3 seconds"),
    ),
    "sase-negation": (
        _q("A a, ~B b, C c"),
        _q("A a, ~B b, C c", "b.x > 1"),
        _q("A a, ~B b, C c", "b.x = a.x"),
        _q("A a, ~B b, C c", "b.x > c.x"),
        _q("A a, ~B b, C c", "[y]"),
        _q("A a, ~A b, A c"),
        _q("A a, ~A b, A c", _by(ANY, "a, c")),
        _q("A a, ~B b, C c", _by(ANY, "a, b, c", "b.x > 0 and c.x > a.x")),
        _q("A+ a[], ~B b, C c", "b.x = a[a.LEN].x"),
        _q("A a, ~B b, A+ c[]", "b.x > 1"),
        _q("A a, ~B b, ~C c, A d"),
        _q("A a, B b, ~C c, A d", _by(ANY, "a, b, d")),
        _q("A a, ~B b, C c", _by(STRICT, "a, b, c")),
        _q("A a, ~B b, C c", "[y] and b.x > 0", "WITHIN 4 seconds"),
        _q("A a, C c, ~B b, A d"),
        _q("A a, ~B b, C c, A d"),
        _q("A a, C c, ~B b, A d", _by(ANY, "a, c, d")),
    ),
    "sase-negated-kleene": (
        _q("A a, ~B+ b[], C c", "count(b[]) >= 2"),
        _q("A a, ~B+ b[], C c", "b[i].x > b[i-1].x and count(b[]) >= 2"),
        _q("A a, ~B+ b[], C c", "b[1].x = a.x and b[b.LEN].x = c.x"),
        _q("A a, ~B+ b[], C c", "b[i].x > 0 and sum(b[].x) > 3"),
        _q("A a, ~B+ b[], C c", _by(ANY, "a, b[], c", "count(b[]) = 2")),
        _q("A a, ~B+ b[], A c", _by(STRICT, "a") + _by(STRICT, "b[]", "count(b[]) >= 2") + _by(ANY, "c")),
        _q("A a, ~B+ b[], C c", "[y] and count(b[]) >= 2"),
        _q("A a, ~A+ b[], A c", _by(ANY, "a, b[], c", "b[i].x > b[i-1].x and count(b[]) >= 2")),
        _q("A a, ~B+ b[], C c", "b[1].x > 1"),
    ),
    "sase-negation-front": (
        _q("~B b, A a", rest="WITHIN 3 seconds"),
        _q("~B b, A a"),
        _q("~B b, A a", "b.x = a.x", "WITHIN 4 seconds"),
        _q("~B b, A a, C c", "b.x > 0", "WITHIN 4 seconds"),
        _q("~B b, A a", "[y]", "WITHIN 4 seconds"),
        _q("~B b, A+ a[]", "b.x > a[1].x", "WITHIN 3 seconds"),
        _q("~B+ b[], A a", "count(b[]) >= 2", "WITHIN 5 seconds"),
    ),
    "sase-negation-end": (
        _q("A a, ~B b", rest="WITHIN 3 seconds"),
        _q("A a, ~B b", "b.x = a.x", "WITHIN 4 seconds"),
        _q("A a, C c, ~B b", "b.x > 0", "WITHIN 4 seconds"),
        _q("A a, ~B b", "[y]", "WITHIN 4 seconds"),
        _q("A a, ~A b", rest="WITHIN 2 seconds"),
        _q("A+ a[], ~B b", "b.x > a[a.LEN].x", "WITHIN 3 seconds"),
        _q("A a, ~B+ b[]", "count(b[]) >= 2", "WITHIN 5 seconds"),
        _q("~C c, A a, ~B b", rest="WITHIN 3 seconds"),
    ),
    "sase-having": (
        _q("A a, B b", rest="HAVING a.x < b.x"),
        _q("A+ a[]", rest="HAVING count(a[]) >= 2"),
        _q("A+ a[]", rest="HAVING avg(a[].x) >= a[1].x"),
        _q("A+ a[], B b", rest="HAVING a[1].x = b.x or b.y = 1"),
        _q("A+ a[]", _by(ANY, "a[]"), "HAVING sum(a[].x) = 3"),
        _q("A+ a[]", _by(NEXT, "a[]!", "a[a.LEN].x = 2"), "HAVING max(a[].x) = 2"),
        _q("A a, B b", _by(ANY, "a, b", "b.y = a.y"), "HAVING a.x + b.x = 3"),
        _q("A+ a[], B b", rest="HAVING not a[a.LEN].x = b.x"),
    ),
    "sase-return": (
        _q("A a, B b", returned="a.x, b.y"),
        _q("A a, B b", returned="a.x, b.x"),
        _q("A a", returned="a.x AS first, a.y AS second, a.x + a.y AS both"),
        _q("A+ a[]", returned="a[].x"),
        _q("A+ a[]", returned="a[].(x, y)"),
        _q("A a", returned="a.(x, y)"),
        _q("A+ a[]", returned="a[1].(x, y) AS start, a[a.LEN].x AS end"),
        _q("A a, B b", returned="pair(a.x AS l, b.x AS r)"),
        _q("A+ a[]", returned="a[].z, a[1].z"),
        _q("A a", returned="a.(x, z), a.z"),
        _q("A+ a[], B b", returned="b.x * 2, count(a[]), 'so' AS word"),
        _q("A+ a[], B b", returned="a[].(x, y) AS all, b.(x, y)"),
        _q("A+ a[]", returned="a[].x AS xs, avg(a[].x) AS mean"),
    ),
    "sase-non-overlap": (
        _q("A a, B b", _by(ANY, "a, b"), returned="NON-OVERLAP r(a.x AS x)"),
        _q("A a, B b", _by(ANY, "a, b", "[y]"), returned="NON-OVERLAP r(a.y AS y)"),
        _q("A+ a[]", _by(ANY, "a[]"), returned="NON-OVERLAP r(count(a[]) AS n)"),
        _q("A a, B b", _by(ANY, "a, b"), "HAVING a.x < b.x", "NON-OVERLAP r(a.x AS x)"),
        _q("A+ a[], B b", _by(ANY, "a[], b", "[y]"), returned="NON-OVERLAP r(a[].x AS x)"),
        _q("A a, B b", "b.x = a.x", returned="NON-OVERLAP r(a.x AS x)"),
        _q("A a, B b, A c", _by(ANY, "a, b, c", "[y]"), "HAVING c.x >= a.x", "NON-OVERLAP r(a.x AS x)"),
    ),
    "sase-union": (
        f"{_q('A a', returned='a.x')} UNION {_q('B b', returned='b.x')}",
        f"{_q('A a', returned='a.x')} UNION {_q('A a', returned='a.y')}",
        f"{_q('A a', 'a.x = 1', returned='a.x')} UNION {_q('A a', 'a.y = 1', returned='a.x')}",
        f"{_q('A a, B b')} UNION {_q('A+ a[], C c', returned='count(a[]) AS n')}",
        f"{_q('A+ a[]', returned='sum(a[].x) AS s')} UNION {_q('B b', returned='b.x AS s')} "
        f"UNION {_q('C c', returned='c.x AS s')}",
        f"{_q('A a', returned='r(a.x AS x) IN STREAM rs')} UNION {_q('B b', returned='r(b.y AS x)')}; "
        "FROM rs PATTERN SEQ(r+ a[]) RETURN a[].x",
    ),
    "sase-composition": (
        f"{_q('A a', 'a.x > 0', returned='r(a.x AS x) IN STREAM rs')}; FROM rs PATTERN SEQ(r a, r b) RETURN a.x, b.x",
        f"{_q('A a, B b', _by(ANY, 'a, b'), returned='r(a.x AS x) IN STREAM rs')}; "
        "FROM rs PATTERN SEQ(r+ a[]) WITHIN 2 seconds RETURN a[].x",
        f"{_q('A+ a[]', rest='HAVING count(a[]) >= 2', returned='r(sum(a[].x) AS x) IN STREAM rs')}; "
        "FROM rs PATTERN SEQ(r a) RETURN a.x",
        f"{_q('A a, B b', _by(ANY, 'a, b'), returned='r(a.y AS y) IN STREAM rs')}; "
        f"FROM rs PATTERN SEQ(r a, r b) WHERE {_by(STRICT, 'a, b', '[y]')} RETURN a.y",
        f"{_q('A a, B b', returned='r(a.x AS x, b.y AS y) IN STREAM rs')}; "
        f"FROM rs PATTERN SEQ(r+ a[]) WHERE {_by(PARTITION, 'a[]', '[y]')} RETURN a[].x; "
        "PATTERN SEQ(A a) RETURN a.x",
        f"{_q('A a, B b', _by(ANY, 'a, b'), returned='r(a.x AS x) IN STREAM rs')}; "
        "FROM rs PATTERN SEQ(r a, r b) WHERE b.x > a.x RETURN s(b.x AS x) IN STREAM ss; "
        "FROM ss PATTERN SEQ(s+ a[]) RETURN count(a[])",
        f"{_q('A a, B b', rest='HAVING b.x > a.x', returned='rs(b.x - a.x AS d) IN STREAM rs')}; "
        "FROM rs PATTERN SEQ(rs+ a[]) WHERE a[i].d >= a[i-1].d WITHIN 4 seconds RETURN a[].d",
    ),
    "sase-values": (
        _q("A a, B b", "b.z = a.z"),
        _q("A a, B b", "b.z > a.z - 1"),
        _q("A+ a[]", "a[i].z >= a[i-1].z"),
        _q("A a", "not a.z = 1"),
        _q("A+ a[]", "a[i].z > sum(a[..i-1].z) - 2"),
        _q("A a, B b", "(b.z = 0 or b.x = 1)"),
        _q("A a, B b", "a.s = 'u' and b.s != a.s"),
        _q("A a, B b", "b.f > a.x"),
        _q("A a, B b", "b.f + a.f = 2"),
        _q("A+ a[]", "[s] and sum(a[].f) >= 1", returned="sum(a[].f), avg(a[].f)"),
        _q("A a, B b", "[f]"),
        _q("A a, B b", "a.t = true and b.t = false"),
        _q("A+ a[]", "a[i].s > a[i-1].s", returned="a[].s, min(a[].s), max(a[].f)"),
    ),
    "sase-reading-last_kleene": (
        _q("A+ a[]"),
        _q("A+ a[]", _by(STRICT, "a[]")),
        _q("A a, B+ b[]", "b[i].x > a.x"),
        _q("A a, B+ b[]", _by(PARTITION, "a, b[]", "[y]")),
        _q("A+ a[]", "a[i].x > a[i-1].x", "WITHIN 3 seconds"),
    ),
    "sase-reading-cut_in_last_place": (
        _q("A+ a[]", _by(NEXT, "a[]!")),
        _q("A a, B+ b[]", _by(NEXT, "a, b[]!", "b[i].x > a.x")),
        _q("A a, B+ b[]", _by(ANY, "a, b[]!")),
        _q("A+ a[]", _by(STRICT, "a[]!")),
    ),
    "sase-reading-stream_end": (
        _q("A+ a[]", rest="WITHIN 4 seconds"),
        _q("A a, B+ b[]"),
        _q("A+ a[]", _by(STRICT, "a[]")),
        _q("A a, ~B b", rest="WITHIN 3 seconds"),
        _q("A a, C+ c[], ~B b", rest="WITHIN 4 seconds"),
    ),
    "sase-reading-window": (
        _q("A a, B b", rest="WITHIN 2 seconds"),
        _q("A+ a[]", rest="WITHIN 2 seconds"),
        _q("A+ a[], B b", _by(ANY, "a[], b"), "WITHIN 3 seconds"),
        _q("A a, ~B b", rest="WITHIN 2 seconds"),
        _q("~B b, A a", rest="WITHIN 2 seconds"),
    ),
    "sase-reading-kleene_skips": (
        _q("A+ a[], B b"),
        _q("A+ a[], B b", "b.x > 0"),
        _q("A a, B+ b[], C c"),
        _q("A+ a[], B+ b[]"),
        _q("A+ a[], B b", "a[i].x > a[i-1].x and b.x > a[a.LEN].x"),
    ),
    "sase-reading-negation_in_front": (
        _q("~B b, A a", rest="WITHIN 2 seconds"),
        _q("~B b, A a, C c", "b.x = a.x", "WITHIN 3 seconds"),
        _q("~B+ b[], A a", "count(b[]) >= 2", "WITHIN 3 seconds"),
        _q("~B b, A+ a[]", "[y]", "WITHIN 3 seconds"),
    ),
    "sase-reading-negated_series": (
        _q("A a, ~B+ b[], C c", " ".join((_by(STRICT, "b[]", "count(b[]) >= 2"), _by(ANY, "a, c")))),
    ),
    "sase-reading-non_overlap": (
        _q("A a, B b", "b.x = a.x", returned="NON-OVERLAP r(a.x AS x)"),
        _q("A a, C+ c[], B b", "b.x = a.x", returned="NON-OVERLAP r(count(c[]) AS n)"),
        _q("A+ a[], B b", _by(ANY, "a[], b", "[y]"), returned="NON-OVERLAP r(count(a[]) AS n)"),
    ),
}
