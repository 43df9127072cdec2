"""Prints what eql 1.0.1 answers to the queries of README.md, without cerify."""

import eql


def show(query, *events):
    found = []
    engine = eql.PythonEngine()
    engine.add_query(eql.parse_query(query))
    engine.add_output_hook(lambda result: found.append([event.data["at"] for event in result.events]))
    engine.stream_events([eql.Event("A", n, {"at": n, **data}) for n, data in enumerate(events)])
    print(f"{query} on {list(events)}: {found}")


show("sequence [A where true] [A where true]", {}, {}, {})
show("A where not x > 0", {})
show("A where x >= 'a'", {"x": "A"})
show("A where x == 'a'", {"x": "A"})
show("A where x == x", {})
show("A where x == y", {})
show("sequence by k [A where true] [A where true]", {}, {})
show("sequence by k [A where true] [A where true]", {"k": "ann"}, {"k": "ANN"})
