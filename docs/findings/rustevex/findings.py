"""Prints what rustevex 0.0.1 answers to some patterns, without cerify."""

from rustevex import EventExpressions, Pattern


def show(tokens, *elements, **bounds):
    pattern = Pattern(**bounds)
    for token, options in elements:
        pattern.add_event(token, **options)
    found = EventExpressions(pattern).match_stream(list(tokens), [float(n) for n in range(len(tokens))])
    print(tokens, elements, bounds, found["el_stream_idx"].tolist())


show("AABB", ("A", {}), ("B", {}))
show("ABB", ("A", {}), ("B", {"backtrackable": False}))
show("ABB", ("A", {}), ("B", {"block_token": "B"}))
show("ACB", ("A", {}), ("B", {"block_token": "C"}))
show("ABB", ("A", {}), ("B", {}), max_dt=1.0)
