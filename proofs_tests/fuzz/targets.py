"""What is fuzzed: for each target some good inputs, and a function that may raise nothing but a CerifyError."""

from __future__ import annotations

import gzip
import json
import sqlite3
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

from cerify import funnel, protocol
from cerify.api import compile, equivalent, show
from cerify.automata.evaluator import Evaluator, seal, unseal
from cerify.commands.engine import answered as answers
from cerify.conformance.campaigns import definition, plan_of
from cerify.conformance.cases import claims_of_json, load
from cerify.conformance.oracle import read_policy
from cerify.conformance.report import read_stored, trend
from cerify.equivalence.differential import Checkpoint, campaign
from cerify.equivalence.rewrite.translate_clickhouse import call_to_cel, call_to_row_pattern
from cerify.equivalence.rewrite.translate_funnels import DIALECTS as SQL
from cerify.equivalence.rewrite.translate_funnels import chain_of, funnel_sql
from cerify.equivalence.verdict import Certificate, Equivalent
from cerify.languages import LANGUAGES, language_named
from cerify.playground.session import answer
from cerify.query_json import query_of_json
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import CerifyError, InputError, InternalError, Unsupported
from cerify.semantics.events import Event, Match, Stream
from cerify.semantics.files import read_schema, read_stream, table_of_json_lines
from cerify.semantics.json_events import parse_json
from cerify.semantics.row_pattern.dialects import DIALECTS
from cerify.semantics.row_pattern.show_dialects import show_in_dialect
from cerify.semantics.tables import CsvSource
from cerify.semantics.time_columns import FieldReading
from cerify.statements import read_pasted, select

CORPUS = Path(__file__).parent / "corpus"
BUDGET = Budget(states=2_000, valuations=20_000, matches=2_000, seconds=5)
ROWS = [{"type": "view", "x": 1, "s": "a", "d": 1, "time": 1}, {"type": "cart", "x": 2, "s": "a", "d": 2, "time": 2}]
EACH = 25  # of the queries of a suite, this is how far one that is taken is from the next
CSV = b'type,x,s,time,\nA,1,"a,\n b",2013-01-31T14:05:00Z,\nB,-9223372036854775808,,2013-01-31T14:05:01+02:00,\n'
LINES = b'{"type": "A", "x": 1, "s": "\\u00e9\\n", "f": -0.0}\n{"type": "B", "x": 9007199254740993, "b": true}\n'
ANSWER = {"id": "1", "matches": [{"at": 1, "events": [0, 1], "bindings": {"X": [0]}, "result": {"a": 1.5}}]}
STARTED = {
    "protocol": 1, "engine": {"name": "e", "version": "1"}, "languages": ["cel", "sase"], "features": ["seq"],
    "claims": {"cel": {"operators": ["seq"], "output": ["matches"], "ordered_time": True}},
}  # fmt: skip
RUN = {"cmd": "run", "id": "1", "schema": None, "events": [{"type": "A", "x": 1, "time": 3}, {"type": "B"}]}
ASKED = (
    {"language": "cel", "query": "A ; B WITHIN 9 EVENTS", "output": "valuations", "consumption": "any"},
    {"language": "core-cel", "query": "(A AS x)+ FILTER x.x > 0"},
    {"language": "event-expression", "query": "relative(A, !B)"},
    {"language": "sase", "query": "PATTERN SEQ(A a, B b) WITHIN 5 seconds RETURN a.x"},
)
LINK = {
    "query": "A ; B+", "other": "A : B", "language": "cel", "otherLanguage": "cel",
    "stream": [["type", "x", "time"], ["A", "1", "2021-01-01T00:00:00Z"], ["B", "", "2021-01-01T00:00:01Z"]],
    "events": [0, 1], "at": 1,
}  # fmt: skip
PANES = (
    *({"do": name} for name in ("evaluate", "explain", "compare", "draw", "step", "tasks")),
    {"do": "read", "text": "type,x\nA,1\nB,2\n"},
    {"do": "grade", "id": "cel-then", "query": "T ; H"},
)
PROFILE = {"language": "cel", "axes": {}}


CLAIMS = (
    ("(A ; B) OR (A ; C)", "A ; (B OR C)", "cel"),
    ("A+ ; B", "(A OR (A+ ; A)) ; B", "cel"),
    ("A FILTER A.x > 1 AND A.x > 2", "A FILTER A.x > 2", "cel"),
    ("NXT(A ; B)", "NXT((A ; B) OR (A ; B))", "cel"),
    ("(A ; B) PARTITION BY [k] WITHIN 2 seconds", "(A ; B) WITHIN 2 seconds FILTER A.k = B.k", "cel"),
    ("NXT((A ; B) WITHIN 2 seconds)", "NXT((A ; B) WITHIN 2 seconds) WITHIN 3 seconds", "cel"),
    ("((A ; B) WITHIN 1 minute) ; C", "((A ; B) WITHIN 60 seconds WITHIN 1 hour) ; C", "cel"),
    ("!(!A and !B)", "A or B", "event-expression"),
    ("relative(A, B) or relative(A, C)", "relative(A, B or C)", "event-expression"),
    ("MATCH_RECOGNIZE (PATTERN (A | A B))", "MATCH_RECOGNIZE (PATTERN (A))", "row-pattern"),
    (
        "MATCH_RECOGNIZE (PATTERN (A (B | C)) DEFINE B AS x > 1 AND x < 1, C AS PREV(x) < x)",
        "MATCH_RECOGNIZE (PATTERN (A C) DEFINE C AS x > PREV(x))",
        "row-pattern",
    ),
    (
        "sequence by k with maxspan=9s [A where x > 1] [A where x > 0] [B where true]",
        "sequence by k with maxspan=9000ms [A where x > 1] [A where x > 0] [B where true] until [C where false]",
        "eql",
    ),
    ('A where x : "kb*" and y in (1, 2)', 'A where (y == 1 or y == 2) and x like~ "Kb*"', "eql"),
)
SASE = "PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b) { a.x < b.x } RETURN a.x"
SAVED = (
    ("A ; B+ WITHIN 9 EVENTS", "cel", "kernel"),
    ("(A IN X ; B) PARTITION BY [x]", "cel", "automaton"),
    ("prior(A, B)", "event-expression", "automaton"),
    (SASE, "sase", "automaton"),
    ("A ; B", "cel", "denotational"),
)
EVENTS = [Event("A", {"x": 1}), Event("B", {"x": 1}), Event("A", {"x": 2}), Event("B", {"x": 2}), Event("B", {"x": 1})]


@dataclass(frozen=True)
class Target:
    """The good inputs, from which others are made by changes, and what reads one."""

    seeds: Callable[[], Iterable[bytes]]
    run: Callable[[bytes], object]


ZEEK = (
    b"#separator \\x09\n#unset_field\t-\n#path\tconn\n#fields\tts\tid.orig_h\tlocal\n#types\ttime\taddr\tbool\n"
    b"1711778400.5\t10.0.0.1\tT\n1711778401.5\t-\tF\n"
)
XES = (
    b'<?xml version="1.0"?><log><global scope="event"><string key="a" value="b"/></global><trace>'
    b'<string key="concept:name" value="c1"/><event><string key="concept:name" value="a b"/>'
    b'<date key="time:timestamp" value="2024-03-01T10:00:00Z"/><int key="n" value="3"/><boolean key="o" value="true"/>'
    b'<list key="l"><values><float key="f" value="1.5"/></values></list></event></trace></log>'
)
OCEL = (
    b'{"objectTypes":[],"eventTypes":[{"name":"A","attributes":[{"name":"x","type":"float"}]}],"objects":'
    b'[{"id":"o","type":"T"}],"events":[{"id":"e","type":"A","time":"2024-03-01T10:00:00Z","attributes":'
    b'[{"name":"x","value":"1.5"}],"relationships":[{"objectId":"o","qualifier":""}]}]}'
)
OCEL_XML = (
    b'<log><event-types><event-type name="A"><attributes><attribute name="x" type="float"/></attributes></event-type>'
    b'</event-types><objects><object id="o" type="T"/></objects><events><event id="e" type="A" '
    b'time="2024-03-01T10:00:00Z"><attributes><attribute name="x">1.5</attribute></attributes><objects>'
    b'<relationship object-id="o" qualifier=""/></objects></event></events></log>'
)
OCEL_SQL = (
    "CREATE TABLE object (ocel_id, ocel_type)",
    "INSERT INTO object VALUES ('o', 'T')",
    "CREATE TABLE event (ocel_id, ocel_type)",
    "INSERT INTO event VALUES ('e', 'A')",
    "CREATE TABLE event_object (ocel_event_id, ocel_object_id, ocel_qualifier)",
    "INSERT INTO event_object VALUES ('e', 'o', '')",
    "CREATE TABLE event_map_type (ocel_type, ocel_type_map)",
    "INSERT INTO event_map_type VALUES ('A', 'A')",
    "CREATE TABLE event_A (ocel_id, ocel_time, x)",
    "INSERT INTO event_A VALUES ('e', '2024-03-01T10:00:00Z', 1.5)",
)
DATA_QUERY = (
    b'{"node":"Filter","phi":{"node":"Seq","left":{"node":"Event","type":"A"},"right":{"node":"Event","type":"B"}},'
    b'"condition":{"node":"Every","variable":"A","predicate":{"node":"Comparison","comparator":">","left":'
    b'{"node":"Attribute","name":"x"},"right":{"node":"Constant","value":3}}}}'
)


def parser(name: str) -> Target:
    """The parser of a language, and what is printed of what it reads."""
    language = LANGUAGES[name]

    def run(data: bytes) -> object:
        return language.syntax.show(language.syntax.parse(data.decode("utf-8", "surrogateescape")))

    def seeds() -> list[bytes]:
        queries = list(dict.fromkeys(case.query for case in load(None) if case.language == name))
        if not queries:  # of a language without a suite
            made = (
                language.require_cases().generator().case(Random(n), profiles[n % len(profiles)], 6, 1)[0]
                for n in range(40)
            )
            return list(dict.fromkeys(language.syntax.show(query).encode() for query in made))
        return [query.encode() for query in queries[::EACH]]

    profiles = list(language.require_cases().generator().profiles.values())
    return Target(seeds, run)


def reader(suffix: str, seeds: Callable[[], Iterable[bytes]]) -> Target:
    """The reader of a format of events, each event looked at."""
    return Target(seeds, in_file(suffix, lambda path: list(read_stream(path))))


def large_csv(path: Path) -> object:
    """The events of a CSV file as Arrow reads it, which it does of small ones if events without a type have one."""
    return list(read_stream(path, default_type="A"))


def large_lines(path: Path) -> object:
    """The events of JSON Lines as Arrow reads them. Raises InputError where it might read others than there are."""
    source = CsvSource(str(path), lambda: path.open("rb"))
    if (found := table_of_json_lines(source, FieldReading())) is None:
        raise InputError("to be read line by line")
    return list(Stream.from_table(found.table))


def packed() -> list[bytes]:
    """Compressed files of JSON Lines."""
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(LINES)
    return [gzip.compress(LINES, mtime=0), bytes(sink.getvalue())]


def ocel_tables() -> list[bytes]:
    """A small OCEL log of SQLite."""
    with closing(sqlite3.connect(":memory:")) as database:
        for statement in OCEL_SQL:
            database.execute(statement)
        database.commit()
        return [database.serialize()]


def data_query(data: bytes) -> object:
    """A query as data, printed."""
    obj = parse_json(data, "the query")
    if not isinstance(obj, dict):
        raise InputError("a query is an object")
    return show(query_of_json(obj, "cel"))


def in_file(suffix: str, use: Callable[[Path], object]) -> Callable[[bytes], object]:
    """What uses a file, as a function of the file's bytes."""

    def run(data: bytes) -> object:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"input{suffix}")
            path.write_bytes(data)
            return use(path)

    return run


def parquet() -> list[bytes]:
    """A small table as Parquet, once compressed and once not."""
    found = []
    for compression in ("none", "zstd"):
        sink = pa.BufferOutputStream()
        pq.write_table(_table(), sink, compression=compression)
        found.append(bytes(sink.getvalue()))
    return found


def arrow() -> list[bytes]:
    """A small table as an Arrow IPC file and as a stream."""
    found = []
    for new in (pa.ipc.new_file, pa.ipc.new_stream):
        sink = pa.BufferOutputStream()
        with new(sink, _table().schema) as writer:
            writer.write_table(_table())
        found.append(bytes(sink.getvalue()))
    return found


def _table() -> pa.Table:
    return Stream([Event("A", {"x": 1, "f": 0.5, "s": "é"}), Event("B", {"x": None, "b": True})]).table


def certificates() -> list[bytes]:
    """The certificates of some equivalences."""
    verdicts = [equivalent(left, right, languages=(name, name)) for left, right, name in CLAIMS]
    return [verdict.certificate.to_json().encode() for verdict in verdicts if isinstance(verdict, Equivalent)]


def checked(data: bytes) -> object:
    """What the checker says of a certificate."""
    found = Certificate.from_json(data.decode("utf-8", "surrogateescape"))
    return language_named(found.language).deciders.flaw(found, BUDGET)


def fresh(which: int) -> Evaluator:
    """An evaluator that has read nothing."""
    query, language, name = SAVED[which]
    return compile(query, language=language, evaluator=name)


@cache
def readers() -> list[Evaluator]:
    """Evaluators of every language that have read nothing."""
    return [fresh(which) for which in range(len(SAVED))]


def restored(data: Callable[[Evaluator], bytes]) -> Iterator[Evaluator]:
    """The evaluators that take a state. Raises what the first of the others says if there is none."""
    refused: list[CerifyError] = []
    for which, evaluator in enumerate(readers()):
        try:
            evaluator.restore(data(evaluator))
        except CerifyError as error:
            refused.append(error)
        else:
            readers()[which] = fresh(which)
            yield evaluator
    if len(refused) == len(SAVED):
        raise refused[0]


@cache
def states() -> list[bytes]:
    """The state of each of these evaluators after some events."""
    saved = []
    for evaluator in map(fresh, range(len(SAVED))):
        evaluator.push(EVENTS)
        saved.append(evaluator.save())
    return saved


def unsealed() -> list[bytes]:
    """What is behind the headers of these states."""
    return [unseal(data, one.STATE, one.identity) for data, one in zip(states(), readers(), strict=True)]


def resealed(data: bytes) -> object:
    """The matches after a state whose writer computed the checksum anew. Raises as `restored`."""
    taken = restored(lambda evaluator: seal(evaluator.STATE, evaluator.identity, data))
    return [list(evaluator.push(EVENTS)) for evaluator in taken]


def answered(data: bytes) -> object:
    """An engine's answer, as the harness reads it."""
    obj = protocol.parse_message(data, "answer")
    return protocol.answer_of_json(obj, "valuations", 3)


def started(data: bytes) -> object:
    """The answer to start, and what it claims, as the harness reads them."""
    info = protocol.info_of_json(protocol.parse_message(data, "started"))
    return [claims_of_json(info.claims, name).described for name in LANGUAGES]


def served(data: bytes) -> object:
    """What the built-in engine answers. Raises InternalError where it says that the fault is its own."""
    answer = answers(data, protocol.EngineInfo("fuzzed", "1", list(LANGUAGES), ()), SERVED) or {}
    if answer.get("error", {}).get("code") == "internal":
        raise InternalError(answer["error"]["message"])
    if "error" in answer:
        raise InputError(answer["error"]["message"])
    return answer


def checkpoint(path: Path) -> object:
    """The cases of a campaign that is resumed."""
    with Checkpoint(path, PLAN, "planted") as found:
        return found.known


def campaign_file() -> list[bytes]:
    """A campaign that found a disagreement."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "campaign.jsonl")
        with Checkpoint(path, PLAN, "planted") as found:
            campaign(PLAN, checkpoint=found)
        return [path.read_bytes()]


def nothing(query: object, S: Stream, output: str) -> list[Match]:
    """The answer of an evaluator that finds nothing."""
    return []


CEL = LANGUAGES["cel"]
PLAN = plan_of(CEL, "core", None, definition(CEL), cases=8, nodes=4, events=4)
PLAN = replace(PLAN, right=nothing)
SERVED = {
    name: lambda query, S, options, language=language: language.evaluators.matches(
        query, S, "automaton", replace(options, budget=BUDGET)
    )
    for name, language in LANGUAGES.items()
}


def links() -> list[bytes]:
    """The requests that the page makes of a link, one for each pane."""
    return [json.dumps(LINK | fields).encode() for fields in PANES]


def asked_of_page(data: bytes) -> object:
    """What the page of the playground is answered, whose fields a link fills. Raises the error that it is answered."""
    found = json.loads(answer(data.decode("utf-8", "replace")))  # as a browser decodes it
    if "error" in found:
        raise (InternalError if found["error"]["code"] == "internal" else InputError)(found["error"]["message"])
    return found


def suite() -> list[bytes]:
    """Some cases of the built-in suites, a line each."""
    folder = Path(protocol.__file__).parent / "conformance" / "suite"
    return [b"\n".join(path.read_bytes().splitlines()[:3]) for path in sorted(folder.glob("*.jsonl"))[:4]]


FUNNEL = (
    b"view[price > 3 and not x = 'a']|7 days|not refund",
    b"[x in {1, 2}]|100 EVENTS|not refund[x > 1]",
    b"add to cart|0.5 [x]|NOT view",
)
CALLS = (
    b"SELECT id, windowFunnel(60, 'strict_order')(toDateTime(ts), event = 'a', event = 'b' AND NOT (x IN (3, 4) OR "
    b"y BETWEEN 1 AND 2)) FROM t GROUP BY id",
    b"sequenceCount('(?1)(?t<=9)(?2).')(time, a = 1, b = 2)",
    b"sequenceMatch('(?1).*(?2)')(time, type = 'a', type = 'b')",
)
STATEMENTS = (
    b"trino|SELECT m.a + 1 AS x, b y, m.* FROM db.t MATCH_RECOGNIZE (PARTITION BY s ORDER BY d NULLS FIRST "
    b"MEASURES A.x AS a, LAST(B.x) AS b PATTERN (A B*? | C) DEFINE B AS x > PREV(x) AND NULLIF(s, 'a''b') = 'z') AS m "
    b"WHERE a > 1 ORDER BY x DESC NULLS LAST, b LIMIT 3; -- all",
    b"snowflake|MATCH_RECOGNIZE (ORDER BY d MEASURES CLASSIFIER c, IFF(x > 1, NVL(x, 2), 3) e PATTERN (A B) "
    b"DEFINE B AS x > LAG(x, 1))",
    b'bigquery|MATCH_RECOGNIZE (ORDER BY d MEASURES COUNT(A.x) AS c PATTERN (A) DEFINE A AS s = "a" '
    b"OPTIONS (use_longest_match = FALSE))",
)


def funnel_asked(data: bytes) -> object:
    """A step, a window and what may not stand between; the query and its SQL, as far as there are any."""
    step, within, between, *_ = [*data.decode("utf-8", "surrogateescape").split("|"), "", ""]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = funnel(ROWS, [step, "view"], by="s", within=within, between=between)
        asked = funnel(ROWS, [step, "view"], within=within)
    with suppress(Unsupported):
        return [found.counts, *(funnel_sql(chain_of(parse(asked.query)), name).query for name in SQL)]
    return found.counts


def call_translated(data: bytes) -> object:
    """A call of ClickHouse in the languages that have it."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        return call_to_cel(text)
    except Unsupported:
        return call_to_row_pattern(text)


def statement_selected(data: bytes) -> object:
    """The rows of a statement in a dialect, and its clause in each other dialect, as far as it has one."""
    name, _, text = data.decode("utf-8", "surrogateescape").partition("|")
    pasted = read_pasted(text, name)
    for dialect in DIALECTS.values():
        with suppress(Unsupported):
            show_in_dialect(pasted.clause, pasted.dialect, dialect)
    return select(text, ROWS, dialect=name)


TARGETS = {
    "funnel": Target(lambda: FUNNEL, funnel_asked),
    "clickhouse": Target(lambda: CALLS, call_translated),
    "statement": Target(lambda: STATEMENTS, statement_selected),
    **{f"parse-{name}": parser(name) for name, language in LANGUAGES.items() if language.cases is not None},
    "csv": reader(".csv", lambda: [CSV]),
    "jsonl": reader(".jsonl", lambda: [LINES]),
    "large-csv": Target(lambda: [CSV], in_file(".csv", large_csv)),
    "large-jsonl": Target(lambda: [LINES], in_file(".jsonl", large_lines)),
    "parquet": reader(".parquet", parquet),
    "arrow": reader(".arrow", arrow),
    "shapes": reader(
        "", lambda: [ZEEK, b"type;x\nA;1,5\n", b'{\n"type": "A", "p": {"x": [1]}}\n{"type": "B"}', b'[{"type": "A"}]']
    ),
    "packed": reader(".jsonl", packed),
    "xes": reader(".xes", lambda: [XES]),
    "ocel": reader(".jsonocel", lambda: [OCEL, OCEL_XML]),
    "ocel-tables": reader(".sqlite", ocel_tables),
    "data-query": Target(lambda: [DATA_QUERY], data_query),
    "schema": Target(
        lambda: [b'{"T": {"id": "int", "s": "string"}}'], in_file(".json", lambda path: read_schema(str(path)))
    ),
    "answer": Target(lambda: [json.dumps(ANSWER).encode(), b'{"id":"1","skipped":"no","link":""}'], answered),
    "started": Target(lambda: [json.dumps(STARTED).encode()], started),
    "engine": Target(
        lambda: [b'{"cmd":"start","protocol":1}', *(json.dumps(RUN | asked).encode() for asked in ASKED)], served
    ),
    "campaign": Target(campaign_file, in_file(".jsonl", checkpoint)),
    "stored-run": Target(
        lambda: [
            b'{"summary":{"engine":{"name":"e","version":"1"},"cases":1,"claimed":1,"held_to":null,"defects":[],'
            b'"totals":{"passed":0,"skipped":0}}}\n{"id":"a","outcome":"failed","got":null}\n'
        ],
        in_file(".jsonl", lambda path: list(trend([read_stored(path)]))),
    ),
    "state": Target(states, lambda data: list(restored(lambda evaluator: data))),
    "resealed-state": Target(unsealed, resealed),
    "certificate": Target(certificates, checked),
    "link": Target(links, asked_of_page),
    "suite": Target(suite, in_file(".jsonl", load)),
    "policy": Target(lambda: [json.dumps(PROFILE).encode()], in_file(".json", read_policy)),
}
