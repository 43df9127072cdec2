"""Prints what chdb 4.4.0 (ClickHouse 26.9) answers to the questions of README.md, without cerify."""

import chdb

connection = chdb.connect(":memory:")


def show(call, rows):
    values = ", ".join(f"({time}, '{kind}', {x})" for time, kind, x in rows)
    structure = "time UInt64, type String, x Nullable(Int64)"
    answer = str(connection.query(f"SELECT {call} FROM values('{structure}', {values})", "TSV")).strip()
    print(f"{call} on {values}: {answer}")


show("windowFunnel(9)(time, type = 'a', type = 'b')", [(1, "b", 0), (1, "a", 0)])
show("windowFunnel(9)(time, x < 2, x > 0)", [(1, "a", 1)])
show("windowFunnel(9)(time, type = 'a', type = 'b', type = 'b' AND x > 0)", [(1, "a", 0), (2, "b", "NULL")])
show("windowFunnel(9)(time, NOT x > 0)", [(1, "a", "NULL")])
show("sequenceMatchEvents('(?1)(?2)')(time, type = 'a', type = 'b')", [(1, "a", 0), (2, "c", 0)])
