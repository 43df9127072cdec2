"""Prints what pycer 0.1.6 answers to the queries of README.md, without cerify."""

import os
import re
import tempfile

import pycer

TYPES = {int: pycer.PyIntValue, float: pycer.PyDoubleValue}
os.chdir(tempfile.mkdtemp())  # a log is written to the working folder


def show(query, *events):
    server = pycer.PyOfflineServer()
    declared = ", ".join(f"EVENT {kind} {{ n:int, x:int }}" for kind in "ABC")
    declared += ", EVENT F { n:int, x:double }, EVENT Z { n:int }"
    stream = server.declare_stream(f"CREATE STREAM S {{ {declared} }}")
    ids = {event.name: event.id for event in stream.events_info}
    server.add_query(query)
    for n, (kind, *values) in enumerate(events):
        cells = [TYPES[type(value)](value) for value in (n, *values)]
        server.send_event(pycer.PyEvent(ids[kind], cells, pycer.PyIntValue(n)))
    found = [re.findall(r"attributes: \[(\d+)", line) for line in server.get_output().splitlines()]
    print(query, events, " ".join("{" + ", ".join(taken) + "}" for taken in found) or "nothing")


show("SELECT MAX * FROM S WHERE A :+", ("A", 0), ("A", 0))
show("SELECT STRICT * FROM S WHERE A ; B", ("A", 0), ("C", 0), ("B", 0))
show("SELECT * FROM S WHERE A ; (B :+)", ("A", 0), ("B", 0), ("C", 0), ("B", 0))
show("SELECT * FROM S WHERE (A+ OR B) ; C", ("A", 0), ("C", 0), ("B", 0), ("C", 0))
show("SELECT * FROM S WHERE A : (A : B)+", ("A", 0), ("A", 0), ("B", 0), ("A", 0), ("B", 0))
show("SELECT * FROM S WHERE A : B PARTITION BY [x]", ("A", 1), ("A", 2), ("B", 1))
show("SELECT * FROM S WHERE A ; B PARTITION BY [x] WITHIN 2 EVENTS", ("A", 0), ("Z",), ("Z",), ("B", 0))
show("SELECT * FROM S WHERE A ; F PARTITION BY [x]", ("A", 1), ("F", 1.0))
show("SELECT * FROM S WHERE A FILTER A[x < 1.5]", ("A", 1), ("A", 2))
show("SELECT * FROM S WHERE A ; B LIMIT 1", ("A", 0), ("B", 0), ("B", 0))
