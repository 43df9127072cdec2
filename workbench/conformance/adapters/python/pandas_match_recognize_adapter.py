"""Puts pandas-match-recognize under test: the statements that the harness sends, over the table as a frame.

    python pandas_match_recognize_adapter.py

The table is the frame of the call, whatever its name in the statement. The answer is the frame that comes back, as the
rows of a table.
"""

import logging
from typing import Any

from cerify.adapter import Json, RunMessage, Skip, serve, version_of

DTYPES = {"BIGINT": "Int64", "DOUBLE PRECISION": "Float64", "VARCHAR(200)": "object", "BOOLEAN": "boolean",
          "TIMESTAMP(6)": "datetime64[us, UTC]"}  # fmt: skip


def frame_of(run: RunMessage) -> Any:
    """Return the table of a run as a pandas frame. A column of integers stays integer if no value is missing."""
    import pandas

    columns = run.message["sql"]["columns"]
    data = {}
    for n, column in enumerate(columns):
        cells = [row[n] for row in run.message["sql"]["rows"]]
        if column["type"] == "TIMESTAMP(6)":
            data[column["name"]] = pandas.to_datetime(pandas.Series(cells, dtype="object"), format="ISO8601", utc=True)
        elif None in cells:
            data[column["name"]] = pandas.Series(cells, dtype="object")
        else:
            data[column["name"]] = pandas.Series(cells)
    return pandas.DataFrame(data)


def tables(run: RunMessage) -> Json:
    """Return the answer: one table for each statement."""
    from pandas_match_recognize import match_recognize

    if run.tree is None or "sql" not in run.message:
        raise Skip("the query does not parse")
    if run.tree["window"] is not None:
        raise Skip("pandas-match-recognize has no WINDOW clause")
    answered = []
    for statement in run.message["sql"]["selects"]:
        run.translate(statement)
        try:
            frame = match_recognize(statement, frame_of(run))
        except Exception as error:  # the engine has no exception of its own for refused statements
            raise Skip(f"refused: {type(error).__name__}: {str(error).splitlines()[0][:150] if str(error) else ''}") from None
        rows = [[plain(value) for value in row] for row in frame.itertuples(index=False, name=None)]
        answered.append({"columns": [str(name) for name in frame.columns], "rows": rows})
    return {"tables": answered}


def plain(value: Any) -> Any:
    """Return a cell of a frame as a JSON value."""
    import pandas

    if isinstance(value, list | tuple | set):
        return str(value)
    if pandas.isna(value):
        return None
    if isinstance(value, pandas.Timestamp):
        return value.isoformat()
    value = value.item() if hasattr(value, "item") else value
    return int(value) if isinstance(value, float) and value.is_integer() else value


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    serve("pandas-match-recognize", version_of("pandas-match-recognize"), {"row-pattern": tables})
