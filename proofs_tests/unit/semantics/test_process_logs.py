"""Logs of process mining: XES, and OCEL 2.0 in its three forms."""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import cerify
from cerify.semantics.errors import InputError
from cerify.semantics.events import Event, Schema
from cerify.semantics.files import as_stream, read_stream
from proofs_tests.conftest import Write

XES = """<?xml version="1.0" encoding="UTF-8"?>
<log xes.version="1.0" xmlns="http://www.xes-standard.org/">
  <extension name="Concept" prefix="concept" uri="http://www.xes-standard.org/concept.xesext"/>
  <global scope="event"><string key="concept:name" value="__INVALID__"/></global>
  <string key="concept:name" value="a log"/>
  <trace>
    <string key="concept:name" value="case 1"><string key="inner" value="no attribute of the case"/></string>
    <int key="amount" value="100"/>
    <event>
      <string key="concept:name" value="register request"/>
      <string key="lifecycle:transition" value="complete"/>
      <date key="time:timestamp" value="2024-03-01T10:00:00.000+01:00"/>
      <float key="cost" value="5.5"/>
      <boolean key="urgent" value="true"/>
      <string key="day" value="2024-03-01"/>
    </event>
    <event>
      <string key="concept:name" value="decide"/>
      <date key="time:timestamp" value="2024-03-01T12:00:00Z"/>
      <list key="notes"><values><string key="note" value="x"/></values></list>
    </event>
  </trace>
  <trace>
    <string key="concept:name" value="case 2"/>
    <event>
      <string key="concept:name" value="register request"/>
      <date key="time:timestamp" value="2024-03-01T09:00:00Z"/>
    </event>
    <event>
      <string key="concept:name" value="decide"/>
      <date key="time:timestamp" value="2024-03-01T12:00:00Z"/>
    </event>
  </trace>
</log>
"""


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("e.jsonocel", '{"ocel:global-log": {}, "ocel:events": {"e1": {"ocel:activity": "a"}}, "ocel:objects": {}}'),
        ("e.xmlocel", '<log><events><event><string key="id" value="e1"/></event></events></log>'),
        ("e.sqlite", "CREATE TABLE EVENTS (id TEXT)"),
    ],
)
def test_a_log_of_the_first_ocel_is_said_to_be_one(name: str, content: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if name.endswith("sqlite"):
        with closing(sqlite3.connect(path)) as database:
            database.execute(content)
            database.commit()
    else:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=r"this is an OCEL 1\.0 log: convert it to OCEL 2\.0"):
        read_stream(path)


@pytest.mark.parametrize("name", ["log.xes", "log.xml", "log", "log.xes.gz"])
def test_the_cases_of_a_log_are_merged_by_time(name: str, write: Write) -> None:
    S = read_stream(write(name, gzip.compress(XES.encode()) if name.endswith("gz") else XES))
    nine, noon = datetime(2024, 3, 1, 9, tzinfo=UTC), datetime(2024, 3, 1, 12, tzinfo=UTC)
    first = {"lifecycle:transition": "complete", "time": nine, "cost": 5.5, "urgent": True, "day": "2024-03-01"}
    one, two = {"case:concept:name": "case 1", "case:amount": 100}, {"case:concept:name": "case 2"}
    assert list(S) == [
        Event("register request", {**first, **one}),
        Event("register request", {"time": nine, **two}),
        Event("decide", {"time": noon, **one}),
        Event("decide", {"time": noon, **two}),
    ]
    text = '("register request" ; decide) PARTITION BY ["case:concept:name"] WITHIN 3 hours'
    assert sorted(m.events for m in cerify.match(text, S)) == [(0, 2), (1, 3)]


def test_times_of_a_log_keep_nanoseconds(write: Write) -> None:
    """A log of .NET was refused for them, whatever the query."""
    fine = XES.replace("10:00:00.000+01:00", "10:00:00.0000001+01:00")
    assert str(read_stream(write("e.xes", fine))[1].get("time")) == "2024-03-01 09:00:00.000000100+00:00"
    assert read_stream(write("e.xes", fine), round_times=True)[0].get("time") == datetime(2024, 3, 1, 9, tzinfo=UTC)


def test_other_fields_of_a_log_may_be_meant(write: Write) -> None:
    path = write("log.xes", XES)
    S = read_stream(path, type_column="case:concept:name")
    assert [event.type for event in S] == ["case 1", "case 2", "case 1", "case 2"]
    schema = Schema({"case 1": {}, "case 2": {}})
    with pytest.raises(InputError, match="unknown attribute"):
        read_stream(path, type_column="case:concept:name", schema=schema)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<log></log>", "the file has no events; an XES log has <event> elements"),
        (XES.replace("12:00:00Z", "noon", 1), r"line 19, 'time:timestamp': '2024-03-01Tnoon' is not an ISO 8601 time"),
        (XES[:-8], "not XML: no element found"),
        (
            XES.replace("<log ", '<!DOCTYPE log [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>\n<log ', 1),
            "the file has a document type, which is not supported",
        ),
        ("<log>" + "<a>" * 70 + "</a>" * 70 + "</log>", "elements are nested more than 64 deep"),
        (
            '<log><trace><event><string key="time:timestamp" value="x"/></event></trace></log>',
            "no field 'concept:name' for the event type",
        ),
    ],
)
def test_what_is_wrong_with_a_log_is_named(text: str, message: str, write: Write) -> None:
    with pytest.raises(InputError, match=message):
        read_stream(write("log.xes", text))


@pytest.mark.parametrize(
    ("old", "new", "field", "message"),
    [
        ('value="5.5"', 'value="much"', "cost", "line 13, 'cost': 'much' is not a valid float"),
        (
            '<int key="amount" value="100"/>',
            '<date key="amount" value="May"/>',
            "case:amount",
            "'amount': 'May' is not",
        ),
    ],
)
def test_a_malformed_value_of_a_log_refuses_the_queries_that_use_it(
    old: str, new: str, field: str, message: str, write: Write
) -> None:
    assert old in XES
    S = read_stream(write("log.xes", XES.replace(old, new)))
    assert cerify.count('"register request" ; decide WITHIN 1 day', S) == 4
    with pytest.raises(InputError, match=message):
        cerify.match(f'"register request" FILTER "register request"."{field}" = 1', S)


# --- OCEL -------------------------------------------------------------------------------------------------------------

OCEL: dict[str, Any] = {
    "objectTypes": [{"name": "order", "attributes": []}, {"name": "item", "attributes": []}],
    "eventTypes": [
        {"name": "place order", "attributes": [{"name": "total", "type": "float"}]},
        {"name": "pick item", "attributes": []},
        {"name": "ship", "attributes": []},
    ],
    "objects": [
        {"id": "o1", "type": "order"},
        {"id": "o2", "type": "order"},
        {"id": "i1", "type": "item"},
        {"id": "i2", "type": "item"},
    ],
    "events": [
        {"id": "e1", "type": "place order", "time": "2024-03-01T10:00:00Z",
         "attributes": [{"name": "total", "value": "9.5"}],
         "relationships": [{"objectId": "o1", "qualifier": ""}, {"objectId": "i1", "qualifier": ""},
                           {"objectId": "i2", "qualifier": ""}]},
        {"id": "e3", "type": "pick item", "time": "2024-03-01T10:20:00Z",
         "relationships": [{"objectId": "i2", "qualifier": ""}]},
        {"id": "e2", "type": "pick item", "time": "2024-03-01T10:10:00Z",
         "relationships": [{"objectId": "i1", "qualifier": ""}]},
        {"id": "e4", "type": "ship", "time": "2024-03-01T11:00:00Z",
         "relationships": [{"objectId": "o1", "qualifier": ""}, {"objectId": "i1", "qualifier": ""}]},
    ],
}  # fmt: skip


def _json(write: Write) -> Path:
    return write("log.json", json.dumps(OCEL))


def _xml(write: Write) -> Path:
    kinds = "".join(
        f'<event-type name="{one["name"]}"><attributes>'
        + "".join(f'<attribute name="{a["name"]}" type="{a["type"]}"/>' for a in one["attributes"])
        + "</attributes></event-type>"
        for one in OCEL["eventTypes"]
    )
    objects = "".join(
        f'<object id="{one["id"]}" type="{one["type"]}"><attributes/><objects>'
        '<relationship object-id="i2" qualifier="no relation of an event"/></objects></object>'
        for one in OCEL["objects"]
    )
    events = "".join(
        f'<event id="{one["id"]}" type="{one["type"]}" time="{one["time"]}"><attributes>'
        + "".join(f'<attribute name="{a["name"]}">{a["value"]}</attribute>' for a in one.get("attributes", ()))
        + "</attributes><objects>"
        + "".join(f'<relationship object-id="{r["objectId"]}" qualifier=""/>' for r in one["relationships"])
        + "</objects></event>"
        for one in OCEL["events"]
    )
    return write(
        "log.xml",
        f"<log><object-types/><event-types>{kinds}</event-types><objects>{objects}</objects>"
        f"<events>{events}</events></log>",
    )


def _sqlite(write: Write) -> Path:
    path = write("log.sqlite", b"")
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE object (ocel_id, ocel_type)")
        database.executemany("INSERT INTO object VALUES (?, ?)", [(o["id"], o["type"]) for o in OCEL["objects"]])
        database.execute("CREATE TABLE event (ocel_id, ocel_type)")
        database.execute("CREATE TABLE event_object (ocel_event_id, ocel_object_id, ocel_qualifier)")
        database.execute("CREATE TABLE event_map_type (ocel_type, ocel_type_map)")
        for n, kind in enumerate(OCEL["eventTypes"]):
            database.execute("INSERT INTO event_map_type VALUES (?, ?)", (kind["name"], f"T{n}"))
            names = [a["name"] for a in kind["attributes"]]
            columns = "".join(f", {name}" for name in names)
            database.execute(f"CREATE TABLE event_T{n} (ocel_id, ocel_time{columns})")
            for one in (one for one in OCEL["events"] if one["type"] == kind["name"]):
                given = {a["name"]: float(a["value"]) for a in one.get("attributes", ())}
                cells = [one["id"], one["time"], *(given.get(name) for name in names)]
                database.execute(f"INSERT INTO event_T{n} VALUES ({', '.join('?' * len(cells))})", cells)
        for one in OCEL["events"]:
            database.execute("INSERT INTO event VALUES (?, ?)", (one["id"], one["type"]))
            pairs = [(one["id"], r["objectId"], "") for r in one["relationships"]]
            database.executemany("INSERT INTO event_object VALUES (?, ?, ?)", pairs)
    return path


FORMS = {"json": _json, "xml": _xml, "sqlite": _sqlite}


@pytest.mark.parametrize("form", FORMS)
def test_the_events_of_an_ocel_log(form: str, write: Write) -> None:
    S = read_stream(FORMS[form](write))
    assert [(event.type, event.get("ocel:id"), event.get("order"), event.get("total")) for event in S] == [
        ("place order", "e1", "o1", 9.5),
        ("pick item", "e2", None, None),
        ("pick item", "e3", None, None),
        ("ship", "e4", "o1", None),
    ]
    assert S[0].get("time") == datetime(2024, 3, 1, 10, tzinfo=UTC)
    assert S[0].get("item.count") == 2
    with pytest.raises(InputError, match="'item': a list"):
        S.require_read(["item"])


@pytest.mark.parametrize("form", ["json", "xml"])
@pytest.mark.slow
def test_a_malformed_value_of_an_ocel_log_refuses_the_queries_that_use_it(form: str, write: Write) -> None:
    path = FORMS[form](write)
    path.write_text(path.read_text().replace("9.5", "much"))
    S = read_stream(path)
    assert cerify.count('"place order" ; ship WITHIN 1 day', S) == 1
    with pytest.raises(InputError, match="'total': 'much' is not a valid float"):
        S.require_read(["total"])


@pytest.mark.parametrize("form", FORMS)
def test_the_lives_of_objects_of_one_type(form: str, write: Write) -> None:
    path = FORMS[form](write)
    S = read_stream(path, object_type="item")
    assert [(event.get("ocel:id"), event.get("case:concept:name")) for event in S] == [
        ("e1", "i1"),
        ("e1", "i2"),
        ("e2", "i1"),
        ("e3", "i2"),
        ("e4", "i1"),
    ]
    text = '("place order" ; "pick item" ; ship) PARTITION BY ["case:concept:name"]'
    assert [m.events for m in cerify.match(text, S)] == [(0, 2, 4)]
    with pytest.raises(InputError, match="no objects of the type 'box'; the types of objects are item, order"):
        as_stream(path, object_type="box")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonocel", "{}", "not an OCEL 2.0 log: expected an object with the lists events and objects"),
        ("b.jsonocel", '{"events": [], "objects": []}', "no events"),
        ("c.jsonocel", '{"events": [{}], "objects": []}', "event 0: an event needs an id, a type and a time"),
        (
            "d.jsonocel",
            '{"events": [{"id": "e", "type": "T", "time": "noon"}], "objects": []}',
            "event 0, field 'time': 'noon' is not an ISO 8601 time",
        ),
        ("e.sqlite", b"SQLite format 3\x00" + b"x" * 200, "not an OCEL 2.0 log in SQLite"),
    ],
)
def test_what_is_wrong_with_an_ocel_log_is_named(name: str, content: str | bytes, message: str, write: Write) -> None:
    with pytest.raises(InputError, match=message):
        read_stream(write(name, content))
