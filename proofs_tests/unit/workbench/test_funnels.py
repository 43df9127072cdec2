"""Funnels as a person asks for them: the answer, its table, its reasons, and what is refused."""

import json
import re
import warnings
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import cerify
from cerify import cli, funnel
from cerify.adapter import Skip
from cerify.commands.funnel import funnel_document
from cerify.conformance.cases import load, tree_of, tree_of_text
from cerify.conformance.engines import ADAPTERS
from cerify.conformance.model import of_output
from cerify.conformance.oracle import stream_of
from cerify.conformance.prediction import AXES, INTERPRETATIONS, MatchPredictor
from cerify.equivalence.generate.funnels import PROFILES, random_case
from cerify.funnels import answer_question, show_duration
from cerify.hypotheses.interpretation import choices_of
from cerify.languages import LANGUAGES
from cerify.query_json import query_of_json
from cerify.semantics import files
from cerify.semantics.errors import IllFormed, InputError, ParseError, QueryWarning, Unsupported
from cerify.semantics.events import Event, Match, Stream, result_of
from cerify.semantics.funnel_queries import SequenceQuestion, query_constructs
from cerify.semantics.funnels import (
    FUNNEL_MODES,
    ChainReading,
    FunnelRow,
    deepest_chain,
    longest_attempt,
    parse_sequence_pattern,
    sequence_rows,
)
from proofs_tests.tools.engine_board import FINDINGS
from proofs_tests.unit.semantics.test_funnels import rows_of

GUIDE = Path(__file__).parent.parent.parent.parent / "docs" / "guide" / "funnels.md"
START = datetime(2026, 3, 1, tzinfo=UTC)


def log(text: str, **more: Any) -> list[dict[str, Any]]:
    """Events as "1view@0 2cart@5": the key, the type and the seconds."""
    found = []
    for word in text.split():
        key, type_, at = re.fullmatch(r"(\d*)([a-z]+)@(\d+)", word).groups()  # type: ignore[union-attr]
        found.append({"type": type_, "time": int(at), **({"user": int(key)} if key else {}), **more})
    return found


SHOP = log("1view@0 2view@1 1cart@2 2home@3 2cart@4 1pay@30 3view@31 2pay@300 view@301")


def test_levels_times_and_counts() -> None:
    found = funnel(SHOP, ["view", "cart", "pay"], by="user", within="100 seconds")
    assert [(c.keys, c.rate, c.median) for c in found.counts] == [(3, 1.0, None), (2, 2 / 3, 2.5), (1, 1 / 3, 28.0)]
    assert (found.keys, found.without_key, found.without_time) == (3, 1, 0)
    assert found.to_arrow()["level"].to_pylist() == [3, 2, 1]
    assert found.to_arrow()["cart at"].to_pylist() == [2, 4, None]
    assert found.query == "view ; cart ; pay WITHIN 100 seconds PARTITION BY [user]"


def test_a_conditioned_step_and_one_of_any_type() -> None:
    rows = [{"type": t, "user": 1, "price": p} for t, p in [("view", 1), ("view", 5), ("cart", 2), ("pay", 9)]]
    found = funnel(rows, ["view[price > 3]", "[price > 3]"], by="user")
    assert [c.keys for c in found.counts] == [1, 1]
    assert found.to_arrow()["view[price > 3] at"].to_pylist() == [1]
    assert found.to_arrow()["[price > 3] at"].to_pylist() == [3]
    assert [m.events for m in cerify.match(found.query, rows)] == [(1, 3)]


@pytest.mark.slow
def test_random_logs_have_the_levels_of_the_definition() -> None:
    """Of types and conditions, with absent keys, in columns and as events, with times that are timestamps."""
    random = Random(6)
    for _ in range(60):
        events, cases = [], {key: [] for key in range(4)}  # type: ignore[var-annotated]
        time = 0
        for position in range(random.randint(0, 25)):
            time += random.randint(0, 3)
            key, x = random.choice((0, 1, 2, 3, None)), random.choice((0, 1, None))
            type_ = random.choice("ABR")
            event = {"type": type_, "time": START + timedelta(seconds=time), "key": key, "x": x}
            events.append({name: value for name, value in event.items() if value is not None})
            steps = {i for i, true in enumerate((type_ == "A", type_ == "B" and x == 1, x == 0), 1) if true}
            if key is not None:
                cases[key].append((position, FunnelRow(time, frozenset(steps), type_ == "R")))
        for frame in (events, cerify.Stream(events).table if events else events):
            for order in ("stream", "strict"):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", QueryWarning)
                    if not any("key" in event for event in events):
                        continue
                    found = funnel(
                        frame, ["A", "B[x = 1]", "[x = 0]"], by="key", within="8 seconds", order=order, between="not R"
                    ).to_arrow()
                reading = ChainReading(8, increasing=order == "strict")
                for row in found.to_pylist():
                    case = cases[row["key"]]
                    expected = [case[p][0] for p in deepest_chain([r for _, r in case], 3, reading)]
                    names = ("A at", "B[x = 1] at", "[x = 0] at")
                    assert [row[name] for name in names][: row["level"]] == expected


def test_the_start_may_be_the_first_only() -> None:
    rows = log("1view@0 1view@50 1pay@55")
    assert funnel(rows, ["view", "pay"], by="user", within="10 seconds").counts[-1].keys == 1
    assert funnel(rows, ["view", "pay"], by="user", within="10 seconds", start="first").counts[-1].keys == 0


def test_times_that_go_back_are_an_error_or_are_sorted() -> None:
    rows = log("1pay@5 1view@0 2view@3")
    with pytest.raises(InputError, match="event 1 has a smaller time than event 0") as error:
        funnel(rows, ["view", "pay"], by="user", within="10 seconds")
    assert "order time" in error.value.message
    assert funnel(rows, ["view", "pay"], by="user", order="time").counts[-1].keys == 1


@pytest.mark.parametrize("within", [None, "9 EVENTS", "9 [x]"])
@pytest.mark.parametrize("start", ["best", "first"])
def test_times_that_go_back_are_an_error_without_a_window_on_them(within: str | None, start: Any) -> None:
    """A median time of less than nothing would follow, and an order that is not that of the times."""
    rows = [{**row, "x": n} for n, row in enumerate(log("1view@50 2view@2 2pay@3 1pay@40"))]
    with pytest.raises(InputError, match=r"event 3 has a smaller time than event 0 of the same key; .*--order time"):
        funnel(rows, ["view", "pay"], by="user", within=within, start=start)
    with pytest.raises(InputError, match=r"event 1 has a smaller time than event 0; .*--order time"):
        funnel(rows, ["view", "pay"], within=within, start=start)
    rows[3]["time"] = 60  # from key to key times may go back, and so may those of other events
    rows += [{"type": "home", "user": 1, "time": 0, "x": 9}, {"type": "view", "user": 2, "x": 9}]
    found = funnel(rows, ["view", "pay"], by="user", within=within, start=start)
    assert [(count.keys, count.median) for count in found.counts] == [(2, None), (2, 5.5)]


def test_times_may_go_back_from_key_to_key() -> None:
    """Then no row is left out before its key is put together."""
    rows = log("1view@50 2cart@1 2view@2 1cart@60 2cart@3 1pay@61 2pay@4")
    for order in ("stream", "time", "strict"):
        found = funnel(rows, ["view", "cart", "pay"], by="user", within="11 seconds", order=order)  # type: ignore[arg-type]
        assert found.to_arrow().select(["level", "cart at"]).to_pylist() == [
            {"level": 3, "cart at": 3},
            {"level": 3, "cart at": 4},
        ]


@pytest.mark.parametrize("claimed", [(1, 3), (2, 4), (0, 2)])
def test_keys_that_the_metadata_of_a_file_deny_are_an_error(
    claimed: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that is the number beside those claimed, which stands for no key."""
    table = pa.table({"type": ["view"] * 4, "user": [1, None, 3, 4], "time": [START] * 4})
    pq.write_table(table, path := tmp_path / "log.parquet")
    monkeypatch.setattr("cerify.funnels.bounds_in_parquet", lambda *_: claimed)
    with pytest.raises(InputError, match=f"say that keys are from {claimed[0]} to {claimed[1]}, but a key"):
        funnel(path, ["view"], by="user")


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        (pa.int8(), [-128, None, 127, -128]),
        (pa.uint8(), [0, None, 255, 0]),
        (pa.int64(), [-(2**63), None, -(2**63) + 1, -(2**63)]),
        (pa.int64(), [2**63 - 2, None, 2**63 - 1, 2**63 - 2]),
        (pa.uint64(), [2**63 - 2, None, 2**63 - 1, 2**63 - 2]),
    ],
)
@pytest.mark.parametrize("nulls", [True, False])
def test_keys_at_the_ends_of_their_type(kind: pa.DataType, keys: list[int | None], nulls: bool, tmp_path: Path) -> None:
    rows = [i for i, key in enumerate(keys) if nulls or key is not None]
    columns = {"type": pa.array(["view", "view", "view", "pay"]), "user": pa.array(keys, kind), "time": [START] * 4}
    table = pa.table(columns).take(rows)
    pq.write_table(table, path := tmp_path / "log.parquet")
    for events in (path, table):
        found = funnel(events, ["view", "pay"], by="user")
        assert found.by_key() == [(keys[0], 2, (0, len(rows) - 1)), (keys[2], 1, (len(rows) - 2,))]
        assert found.without_key == nulls


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1view@0", "no pay: no event of the key takes this step"),
        ("1pay@0 1view@1", "no pay after that: the last pay is event 0, time 0"),
        ("1view@0 1pay@20", "the next pay is event 1, time 20, 20 s after view: the window is 10 seconds"),
        (
            "1view@0 1refund@1 1pay@2",
            "the next pay is event 2, time 2, but the forbidden refund is event 1",
        ),
        ("1home@0", "no view: no event of the key takes this step"),
        ("1view@0 1pay@2", "all steps are reached"),
    ],
)
def test_why_a_key_stopped(text: str, why: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QueryWarning)
        found = funnel(log(text), ["view", "pay"], by="user", within="10 seconds", between="not refund")
    assert found.why(1)[-1] == why
    assert found.why("1") == found.why(1)
    with pytest.raises(InputError, match="no event has the key 7"):
        found.why(7)


def test_why_of_equal_times() -> None:
    found = funnel(log("1view@3 1pay@3"), ["view", "pay"], by="user", order="strict")
    assert found.why(1)[-1] == "the next pay is event 1, time 3, which is not later than view"


def test_splits_have_the_keys_of_the_first_step() -> None:
    rows = [*log("1view@0 2view@1", country="de"), *log("3view@2", country="fr"), *log("4view@3 1pay@4 3pay@5")]
    found = funnel(rows, ["view", "pay"], by="user")
    counts = {value: [c.keys for c in counts] for value, counts in found.split_by("country").items()}
    assert counts == {"de": [2, 1], "fr": [1, 1], None: [1, 0]}
    assert found.to_arrow("country")["country"].to_pylist() == ["de", "de", "fr", None]
    assert found.to_arrow("user").column_names[:3] == ["user", "level", "user (split)"]
    with pytest.raises(InputError, match="did you mean 'country'"):
        found.split_by("county")


@pytest.mark.parametrize("mode", FUNNEL_MODES)
def test_modes_have_the_levels_of_their_definitions(mode: str) -> None:
    types = {1: "a", 2: "b", 3: "c"}
    for text in ("1:A 2:B 3:C", "1:A 2:- 3:B", "1:A 2:C 3:B", "1:A 2:B 3:B 4:C", "1:B 1:A"):
        rows = [{"type": types.get(max(r.steps, default=0), "n"), "time": r.time} for r in rows_of(text)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", QueryWarning)
            found = funnel(rows, ["a", "b", "c"], within="10 seconds", mode=mode)
        level = FUNNEL_MODES[mode](rows_of(text), 3, 10)
        assert [c.keys for c in found.counts] == [int(level > i) for i in range(3)]
        assert found.to_arrow().column_names == ["key", "level"]
        with pytest.raises(Unsupported):
            _ = found.query
        with pytest.raises(Unsupported, match="only a level"):
            found.why(None)


def test_the_table_of_the_guide_has_the_levels() -> None:
    table = re.search(r"<!-- levels -->\n(.*?)<!-- end -->", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert table is not None
    head, _, *lines = [[cell.strip("` ") for cell in row.strip("|\n ").split("|")] for row in table[1].splitlines()]
    assert head[2:] == list(FUNNEL_MODES)
    assert len(lines) > 8
    for stream, *levels in lines:
        rows = rows_of(stream)
        expected = [len(deepest_chain(rows, 3, ChainReading(10))), *(f(rows, 3, 10) for f in FUNNEL_MODES.values())]
        assert [int(level) for level in levels] == expected, stream
    columns = list(zip(*(levels for _, *levels in lines), strict=True))
    assert len(set(columns)) == len(columns), "two readings are not told apart"


@pytest.mark.parametrize(
    ("steps", "more", "kind", "message"),
    [
        ("view", {}, IllFormed, "steps must be a list"),
        ([], {}, IllFormed, "1 to 32 steps"),
        (["a"] * 33, {}, IllFormed, "1 to 32 steps"),
        ([3], {}, IllFormed, "a step is a text"),
        ([" "], {}, IllFormed, "a step is empty"),
        (["view[x"], {}, ParseError, "end it with ]"),
        (["view[x > ]"], {}, ParseError, "not expected"),
        (["view[x > 1] or pay[x > 2]"], {}, ParseError, "in the step"),
        (["view"], {"within": "7 dys"}, IllFormed, "not a window"),
        (["view"], {"within": "60 min"}, IllFormed, "write '60 minutes', as '90 seconds'"),
        (["view"], {"within": 7}, IllFormed, "7 days"),
        (["view"], {"within": "-7 days"}, IllFormed, "not a window"),
        (["view"], {"start": "last"}, IllFormed, "start: expected best or first"),
        (["view"], {"order": "strickt"}, IllFormed, "did you mean 'strict'"),
        (["view"], {"between": "refund"}, IllFormed, "not STEP"),
        (["view"], {"between": 3}, IllFormed, "between"),
        (["view"], {"mode": "strict_oder", "within": "1 day"}, IllFormed, "did you mean 'strict_order'"),
        (["view"], {"mode": "strict_order"}, IllFormed, "needs a window"),
        (
            ["view"],
            {"mode": "strict_order", "within": "1 day", "start": "first"},
            IllFormed,
            "mode cannot be combined with start",
        ),
        (["view"], {"by": "usr"}, InputError, "did you mean 'user'"),
        (["view"], {"by": "type"}, IllFormed, "of one type"),
        (["view"], {"within": "3 [price]"}, InputError, "no event has the attribute 'price'"),
        (["view"], {"within": "3 [name]"}, InputError, "no event has the attribute 'name'"),
        (["view"], {"within": "3 EVENTS", "order": "time"}, IllFormed, "EVENTS"),
        (["view"], {"within": "3 [user]", "order": "strict"}, IllFormed, "the order of the stream"),
    ],
)
def test_what_is_wrong_is_named(steps: Any, more: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        funnel(SHOP, steps, **{"by": "user", **more})


def test_texts_are_no_times() -> None:
    rows = [{"type": "view", "x": "a"}, {"type": "pay", "x": "b"}]
    with pytest.raises(InputError, match="'x' is of type string"):
        funnel(rows, ["view", "pay"], within="3 [x]")


def test_times_of_text_are_not_looked_at_where_none_are_needed() -> None:
    rows = [{"type": "view", "day": "monday"}, {"type": "pay", "day": "sunday"}]
    found = funnel(cerify.as_stream(pa.table({"type": ["view", "pay"], "time": ["b", "a"]})), ["view", "pay"])
    assert [c.keys for c in found.counts] == [c.keys for c in funnel(rows, ["view", "pay"]).counts] == [1, 1]
    assert found.measure is None


def test_a_key_may_be_called_level() -> None:
    rows = [{"type": "view", "level": 7}]
    assert funnel(rows, ["view"], by="level").to_arrow().column_names[:2] == ["level (key)", "level"]


def test_values_of_a_window_do_not_go_back() -> None:
    rows = [{"type": "view", "x": 3}, {"type": "pay", "x": 2}]
    with pytest.raises(InputError, match="smaller x than event 0; a window needs"):
        funnel(rows, ["view", "pay"], within="3 [x]")


@pytest.mark.slow
def test_windows_of_events_floats_and_timedeltas() -> None:
    rows = log("1view@0 1home@1 1pay@2")
    levels = [
        funnel(rows, ["view", "pay"], by="user", within=w).counts[-1].keys
        for w in ("3 events", "2 EVENTS", timedelta(seconds=2), timedelta(seconds=1.5), "2 [time]")
    ]
    assert levels == [1, 0, 1, 0, 1]
    floats = [{"type": "view", "time": 0.0}, {"type": "pay", "time": 0.25}, {"type": "pay"}]
    found = funnel(floats, ["view", "pay"], within="0.25 seconds")
    assert found.counts[-1].keys == 1
    assert found.without_time == 1


def test_keys_of_every_kind() -> None:
    for keys in (["a", "b"], [True, False], [1.5, -0.0], [START, START + timedelta(1)], [-(2**62), 2**62]):
        rows = [{"type": "view", "k": keys[0]}, {"type": "view", "k": keys[1]}, {"type": "pay", "k": keys[1]}]
        found = funnel(rows, ["view", "pay"], by="k")
        assert [c.keys for c in found.counts] == [2, 1]
        assert sorted(found.to_arrow()["k"].to_pylist()) == sorted(keys)
        assert len(found.why(keys[1])) == 3
    dictionary = pa.table({"type": ["view", "pay"], "k": pa.array(["a", "a"]).dictionary_encode()})
    assert funnel(dictionary, ["view", "pay"], by="k").counts[-1].keys == 1


def test_an_empty_stream() -> None:
    found = funnel([], ["view", "pay"])
    assert [(c.keys, c.rate, c.median) for c in found.counts] == [(0, None, None), (0, None, None)]
    table = pa.table({"type": pa.array([], pa.string()), "user": pa.array([], pa.int64())})
    assert funnel(table, ["view", "pay"], by="user").to_arrow().num_rows == 0


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("pya", "no event has the type 'pya' of the step 'pya'; did you mean pay?"),
        ("visit", "no event has the type 'visit' of the step 'visit'; the types are cart, home, pay, view"),
        ("view[price > 3]", "no event has the attribute 'price' of the step 'view[price > 3]'"),
        ("view[usr = 1]", "no event has the attribute 'usr' of the step 'view[usr = 1]'; did you mean user?"),
        ("view[paid]", "no event of type 'view' has the attribute 'paid' of the step 'view[paid]'; it has time, user"),
        ("view[user > '2']", "in the step \"view[user > '2']\", user is a number and '2' a string, so they cannot be"),
        ("[time in {'a', 'b'}]", "in the step \"[time in {'a', 'b'}]\", time is a number and 'a' a string, so they"),
        ("[user + 'x' > 2]", "in the step \"[user + 'x' > 2]\", 'x' is a string, but a number is needed"),
    ],
)
@pytest.mark.parametrize("suffix", [None, ".csv", ".parquet"])
def test_a_step_that_does_not_fit_the_events_is_a_warning(
    step: str,
    message: str,
    suffix: str | None,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events: Any = [{**event, **({"paid": True} if event["type"] == "pay" else {})} for event in SHOP]
    step = step.replace("[paid]", "[paid = true]")
    message = message.replace("[paid]", "[paid = true]")
    if suffix is not None:
        table, events = pa.Table.from_pylist([{"paid": None, **event} for event in events]), tmp_path / f"log{suffix}"
        (pq.write_table if suffix == ".parquet" else pyarrow.csv.write_csv)(table, events)
        asked = (events, step, "pay", "--by", "user", "--strict")
        status, _, err = run(*asked, capfd=capfd, monkeypatch=monkeypatch)
        assert (status, message in err) == (2, True)
    with pytest.warns(QueryWarning, match=re.escape(message)):
        funnel(events, [step, "pay"], by="user")


@pytest.mark.filterwarnings("ignore::cerify.semantics.errors.QueryWarning")
@pytest.mark.parametrize(
    ("steps", "more", "message"),
    [
        (["view"], {"start": "first"}, "start=first"),
        (["view"], {"between": "not refund", "within": "3 events"}, "all events of the stream"),
    ],
)
def test_what_has_no_query_says_so(steps: list[str], more: dict[str, Any], message: str) -> None:
    with pytest.raises(Unsupported, match=message):
        _ = funnel(SHOP, steps, by="user", **more).query


@pytest.mark.parametrize("by", ["user", "name", "far", "gap"])
@pytest.mark.parametrize("mode", [None, "strict_order"])
def test_a_file_that_is_read_in_parts_has_the_answer_of_its_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str, mode: str | None
) -> None:
    random = Random(3)
    users = [random.randint(5, 9) for _ in range(400)]
    table = pa.table(
        {
            "type": [random.choice("abc") for _ in users],
            "time": pa.array(sorted(random.choices(range(10**9, 4 * 10**9), k=400)), pa.timestamp("us", "UTC")),
            "user": users,
            "name": [f"user {user}" for user in users],
            "far": [user * 10**15 for user in users],
            "gap": [None if user == 6 else -user for user in users],
            "price": [random.random() for _ in users],
            "country": [random.choice(("de", "fr")) for _ in users],
        }
    )
    pq.write_table(table, tmp_path / "log.parquet", row_group_size=150)
    monkeypatch.setattr(files, "PART_ROWS", 70)
    steps = ["a", "b[price > 0.3]", "c"]
    options: Any = {"by": by, "within": "20 minutes", "mode": mode}
    found, expected = funnel(tmp_path / "log.parquet", steps, **options), funnel(table, steps, **options)
    assert "events" not in vars(found._source)  # of the file only parts were read
    assert found.counts == expected.counts
    assert found.without_key == expected.without_key
    assert found.to_arrow() == expected.to_arrow()
    assert found.query == expected.query if mode is None else True
    if mode is None:
        assert found.split_by("country") == expected.split_by("country")
        key = expected.to_arrow()[by][0].as_py()
        assert found.why(key) == expected.why(key)


@pytest.mark.parametrize("within", ["1 minute", None])
def test_times_that_go_back_between_parts_of_a_file_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, within: str | None
) -> None:
    times = pa.array([1, 2, 3, 0], pa.timestamp("s", "UTC"))
    pq.write_table(pa.table({"type": list("abab"), "time": times, "u": [1] * 4}), tmp_path / "log.parquet")
    monkeypatch.setattr(files, "PART_ROWS", 2)
    with pytest.raises(InputError, match="event 3 has a smaller time than event 2"):
        funnel(tmp_path / "log.parquet", ["a", "b"], by="u", within=within)


def test_a_file_of_parquet_is_read_with_what_is_needed(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    rows = [{**row, "country": "de", "other": "x" * 10} for row in SHOP]
    pq.write_table(cerify.Stream(rows).table, path)
    found = funnel(path, ["view", "cart"], by="user")
    assert "other" not in found.events.table.column_names
    assert found.counts == funnel(rows, ["view", "cart"], by="user").counts
    assert list(found.split_by("country")) == ["de"]


def run(*argv: object, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["cerify", "funnel", *map(str, argv)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return (int(ended.value.code or 0), *capfd.readouterr())


def test_the_command_refuses_times_that_go_back(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "log.csv"
    file.write_text("user,time,type\nu,2026-03-02 10:00:00,add\nu,2026-03-02 09:00:00,pay\n", encoding="utf-8")
    for options in ((), ("--by", "user"), ("--json",), ("--by", "user", "--why", "u")):
        status, out, err = run(file, "add", "pay", *options, capfd=capfd, monkeypatch=monkeypatch)
        assert (status, out) == (2, "")
        assert "event 1 has a smaller time than event 0" in err
    assert "-1 h" not in run(file, "add", "pay", "--order", "time", capfd=capfd, monkeypatch=monkeypatch)[1]


def test_the_command_writes_files(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text("".join(json.dumps({**row, "country": "<de>"}) + "\n" for row in SHOP), encoding="utf-8")
    asked = (file, "view", "pay", "--by", "user", "--split", "country")
    for suffix in ("csv", "parquet", "svg", "html"):
        out = tmp_path / f"out.{suffix}"
        status, _, err = run(*asked, "-o", out, capfd=capfd, monkeypatch=monkeypatch)
        assert (status, err) == (0, "")
    assert pq.read_table(tmp_path / "out.parquet")["level"].to_pylist() == [2, 2, 1]
    assert (tmp_path / "out.csv").read_text(encoding="utf-8").startswith('"user","level"')
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "country = &lt;de&gt;" in page
    more = [{**row, "country": "none" if row["user"] == 1 else None} for row in SHOP if "user" in row]
    (tmp_path / "more.jsonl").write_text("".join(json.dumps(row) + "\n" for row in more), encoding="utf-8")
    out = run(tmp_path / "more.jsonl", *asked[1:], capfd=capfd, monkeypatch=monkeypatch)[1]
    assert "country = none\n" in out
    assert "country is missing\n" in out
    for twice in ("--by", "--within", "--between", "--split", "--why", "--mode"):
        given = "strict_order" if twice == "--mode" else "user"
        status, _, err = run(file, "view", twice, given, twice, given, capfd=capfd, monkeypatch=monkeypatch)
        assert (status, "the option is given 2 times" in err) == (2, True)
    assert "<de>" not in page
    status, out, _ = run(*asked, "--json", capfd=capfd, monkeypatch=monkeypatch)
    answer = json.loads(out)
    assert [step["keys"] for step in answer["steps"]] == [3, 2]
    assert answer["split"][0]["value"] == "<de>"
    assert run(file, "view", "-o", "x.txt", capfd=capfd, monkeypatch=monkeypatch)[0] == 2
    assert run(file, "pay", "view", "--by", "user", capfd=capfd, monkeypatch=monkeypatch)[0] == 1
    quoted = (file, '"view"', '"pay"[price >= 0 or not price >= 0]', "--by", '"user"', "--json")
    answer = json.loads(run(*quoted, capfd=capfd, monkeypatch=monkeypatch)[1])
    assert [step["keys"] for step in answer["steps"]] == [3, 2]
    assert answer["query"].startswith("view ; pay FILTER")
    status, _, err = run(file, "view", "pya", "--by", "user", "--strict", capfd=capfd, monkeypatch=monkeypatch)
    assert status == 2
    assert "did you mean pay" in err


def test_a_drawing_has_its_bars() -> None:
    text = funnel_document("Funnel", [("view", 1.0, "4, 100%"), ("a < b", 0.5, "2, 50%")])
    widths = [float(width) for width in re.findall(r'class="reached" [^>]*width="([\d.]+)"', text)]
    assert widths[1] == widths[0] / 2
    assert "a &lt; b" in text
    assert ".funnel .reached { fill: #0b62a8; fill: var(--bar); }" in text  # for programs without variables of CSS
    assert 'class="bar"' not in text  # which the styles of pages make low


def test_durations() -> None:
    shown = [show_duration(seconds) for seconds in (0, 0.5, 59.9, 61, 3600, 90061, -90061)]
    assert shown == ["0 s", "0.5 s", "59.9 s", "1 min 1 s", "1 h", "1 d 1 h", "-1 d 1 h"]


# ---- queries ----
# Funnels and sequences as a language, and ClickHouse as an engine that is asked in it.

FUNNEL = LANGUAGES["funnel"]
STORED = json.loads((FINDINGS / "results/clickhouse-26.9.2.1.json").read_text())
POLICY = json.loads((FINDINGS / "policies/clickhouse-funnel.json").read_text())["axes"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("FUNNEL view, cart[price > 3 and x=1], pay WITHIN 7 days BY user", "cart[price > 3 and x = 1], pay WITHIN"),
        ('FUNNEL "to, cart", "BY"[x in {1, 2}], [p>3] WITHIN 10 [price]', 'FUNNEL "to, cart", "BY"[x in {1, 2}], [p'),
        ("FUNNEL add to cart, b START first ORDER strict", 'FUNNEL "add to cart", b START first ORDER strict'),
        ('FUNNEL a BETWEEN not "re fund"[x = 1] BY "u b"', 'FUNNEL a BY "u b" BETWEEN not "re fund"[x = 1]'),
        ("FUNNEL a,b WITHIN 3 seconds MODE strict_order,allow_reentry", "MODE strict_order,allow_reentry"),
        ("SEQUENCE '(?1)(?t<=3)(?2)' OF view, pay BY user", "SEQUENCE '(?1)(?t<=3)(?2)' OF view, pay BY user"),
    ],
)
def test_texts_of_funnels_are_read_back(text: str, shown: str) -> None:
    query = FUNNEL.syntax.parse(text)
    assert shown in FUNNEL.syntax.show(query)
    again = FUNNEL.syntax.parse(FUNNEL.syntax.show(query))
    assert FUNNEL.syntax.show(again) == FUNNEL.syntax.show(query)
    assert query_of_json(tree_of(again), "funnel") == again


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("FUNNEL a, b WITHIN", "something is missing after WITHIN"),
        ("FUNNEL a,, b", "something is missing here"),
        ("FUNNEL a BY k BY k", "BY is written twice"),
        ("FUNNEL a OF b", "a funnel has no OF"),
        ('FUNNEL "a, b', "does not end"),
        ("A ; B", "begins with neither FUNNEL nor SEQUENCE"),
        ("view, pay", "write a funnel as in FUNNEL view, pay WITHIN 1 hour BY user"),
        ("SELECT windowFunnel(60)(time, x = 1) FROM t", "translate --from clickhouse reads calls of it"),
        ("SEQUENCE '(?1)' OF a WITHIN 3 seconds", "a sequence has no WITHIN"),
        ("SEQUENCE (?1) OF a", "write a sequence as in SEQUENCE"),
        ("SEQUENCE '(?3)' OF a, b", "uses (?3), but there are only 2"),
        ("FUNNEL a, b MODE strict", "there is no mode 'strict'"),
        ("FUNNEL a BY type", "by='type'"),
    ],
)
def test_texts_of_no_funnel_are_refused(text: str, message: str) -> None:
    with pytest.raises((ParseError, IllFormed), match=re.escape(message)):
        FUNNEL.syntax.parse(text)


@pytest.mark.slow
def test_the_language_answers_as_the_columns_do() -> None:
    kinds = set()
    for seed in range(400):
        query, S = random_case(Random(seed), PROFILES[("funnels", "chains", "modes")[seed % 3]], 3, 9)
        if not isinstance(query, SequenceQuestion):
            found = [
                Match(len(S) - 1, chain, (), result_of({"key": key, "level": level}))
                for key, level, chain in answer_question(query, S).by_key()
            ]
            assert sorted(found) == sorted(FUNNEL.evaluators.matches(query, S)), FUNNEL.syntax.show(query)
            kinds |= query_constructs(query)
    assert kinds >= {"funnel", "start", "order", "between", "within-events", "strict_order", "condition"}


@pytest.mark.parametrize(
    ("pattern", "text", "match", "attempt"),  # as sequenceMatchEvents of ClickHouse 26.9 answers, in times
    [
        ("(?1)(?2)(?3)", "0:A 1:B 2:C", (0, 1, 2), (0, 1, 2)),
        ("(?1).*(?2)(?3)", "0:A 1:B 2:A 3:B 4:C", (0, 3, 4), (0, 3, 4)),
        ("(?1).*(?2)(?3)", "0:A 1:B 2:A 3:B 4:A", None, (0, 1)),
        ("(?1)(?2)", "0:B 1:A 2:C 3:A", None, (1,)),
        (".(?2)", "0:A 1:B", (1,), (1,)),
        ("(?2)(?2)", "0:A 1:C", None, None),
        ("(?1)(?t<2).", "1:A 5:A 6:B", (1,), (0,)),
        ("(?1)(?t<2)(?2)", "1:A 5:A 6:B", (1, 2), (1, 2)),
    ],
)
def test_rows_of_sequences(pattern: str, text: str, match: Any, attempt: Any) -> None:
    parts = parse_sequence_pattern(pattern)
    assert (sequence_rows(parts, rows_of(text)), longest_attempt(parts, rows_of(text))) == (match, attempt)


def test_the_choices_of_clickhouse_explain_each_case_that_it_failed() -> None:
    failed = {case for feature in STORED["features"].values() for case in feature["not_passed"]}
    known = {case for one in json.loads((FINDINGS / "clickhouse/findings.json").read_text()) for case in one["cases"]}
    assert failed == known
    assert len(failed) == 29
    axes = choices_of({name: one["value"] for name, one in POLICY.items()}, AXES["funnel"])
    for case in load("funnel"):
        assert sorted(FUNNEL.evaluators.matches(FUNNEL.syntax.parse(case.query), stream_of(case))) == case.matches, (
            case.id
        )
        if case.id in failed:
            query, S = FUNNEL.syntax.parse(case.query), stream_of(case)
            found = INTERPRETATIONS["funnel"].matches(query, S, axes, "valuations")
            assert of_output(found, "funnel", "groups") != of_output(case.matches, "funnel", "groups"), case.id


@pytest.mark.parametrize(
    ("text", "call"),
    [
        (
            "FUNNEL view[x in {1, 2}], [not x > 3] WITHIN 1 hour MODE strict_order,allow_reentry",
            "windowFunnel(3600, 'strict_order', 'allow_reentry')"
            "(time, type = 'view' AND (`x` IN (1, 2)), (NOT (`x` > 3)))",
        ),
        ("FUNNEL a, b WITHIN 9 seconds", "windowFunnel(9)(time, type = 'a', type = 'b')"),
        ("SEQUENCE '(?1).(?2)' OF a, \"b'c\"", "sequenceMatchEvents('(?1).(?2)')(time, type = 'a', type = 'b\\'c')"),
        ("FUNNEL a, b", None),
        ("FUNNEL a, b WITHIN 9 seconds START first", None),
        ("SEQUENCE '(?1)' OF a", None),
    ],
)
def test_calls_of_the_adapter_of_clickhouse(text: str, call: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ADAPTERS / "python"))
    adapter = import_module("clickhouse_adapter")
    tree = tree_of_text("funnel", text)
    if call is None:
        with pytest.raises(Skip):
            adapter.call_of(tree, None)
    else:
        assert adapter.call_of(tree, None) == call


def test_a_query_is_held_against_a_schema() -> None:
    schema = cerify.Schema({"view": {"user": "string", "time": "int"}, "pay": {"price": "int"}})
    found = cerify.check("FUNNEL view, pya[prise > 3] WITHIN 7 days BY usr", language="funnel", schema=schema)
    assert [problem.message for problem in found.problems] == [
        "no event has the type 'pya' of the step 'pya[prise > 3]'",
        "no event has the attribute 'prise' of the step 'pya[prise > 3]'",
        "no event has the attribute 'usr'",
    ]
    assert found.fragment["constructs"] == ["condition", "funnel", "partition", "within-time"]


def test_a_query_on_which_no_axis_bears_is_predicted() -> None:
    predictor = MatchPredictor("funnel")
    S = Stream([Event("a", {"time": 1})])
    found = predictor.matches("FUNNEL a WITHIN 1 second MODE strict_once", S, "one", predictor.default, "groups")
    assert {match.result and match.result.attributes["level"] for match in found if not isinstance(match, str)} == {1}
