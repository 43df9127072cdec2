"""Prints what eql 1.0.1 answers to the queries of README.md, without cerify."""

import eql
from eql.parser import allow_negation, allow_sample, elasticsearch_syntax


def show(query, *events):
    found, shown = [], [dict(event) for event in events]
    engine = eql.PythonEngine()
    with allow_negation, allow_sample, elasticsearch_syntax:
        elastic = eql.parse_query(query) if "!" in query or "sample" in query else None
    engine.add_query(elastic or eql.parse_query(query))
    engine.add_output_hook(lambda result: found.append([event.data["at"] for event in result.events]))
    for n, data in enumerate(events):
        time = data.pop("time", n)
        engine.stream_event(eql.Event(data.pop("kind", "A"), time, {"at": n, **data}))
    engine.finalize()
    print(f"{query} on {shown}: {found}")


show("sequence [A where true] [A where true]", {}, {}, {})
show("sequence [B where true] [A where true] [C where true]", {"kind": "B"}, {}, {}, {"kind": "C"})
show("A where not x > 0", {})
show("A where x >= 'a'", {"x": "A"})
show("A where x == 'a'", {"x": "A"})
show("A where x == x", {})
show("A where x == y", {})
show("sequence by k [A where true] [A where true]", {}, {})
show("sequence by k [A where true] [A where true]", {"k": "ann"}, {"k": "ANN"})
show("A where x in (0, 1) or x >= 0", {"x": 2}, {"x": 0})
show("A where x >= 0 or x in (0, 1)", {"x": 2}, {"x": 0})
MILLISECOND = 10_000  # in the ticks of the engine's times
for span, apart in (("2500ms", 2400), ("2500ms", 2000), ("1ms", 1)):
    query = f"sequence with maxspan={span} [A where true] [B where true]"
    show(query, {"time": 0}, {"kind": "B", "time": apart * MILLISECOND})
missing = "sequence with maxspan=9s [A where true] ![B where x == 1] [C where true]"
show(missing, {"time": 0}, {"kind": "C", "time": 1})
show(missing, {"time": 0}, {"kind": "B", "x": 2, "time": 1}, {"kind": "C", "time": 2})
show(missing, {"time": 0}, {"kind": "B", "x": 1, "time": 1}, {"kind": "C", "time": 2})
show("sample by k [A where true] [B where true]", {"k": 1}, {"k": 1})
show("sample by k [A where true] [A where true]", {"k": 1})
