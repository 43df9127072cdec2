"""The public functions, whatever the language and the evaluator."""

import doctest
import inspect
import pickle
import pydoc
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, Never, get_type_hints

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cerify
from cerify.api import check, compile, count, equivalent, explain, generate, match
from cerify.automata.evaluator import Consumption, Counters, Evaluator
from cerify.conformance.cases import load
from cerify.equivalence.generate.cel import EVERYTHING, case
from cerify.languages import LANGUAGES, language_named
from cerify.languages.language import EVALUATORS, EvaluatorName, Options
from cerify.plan import DefinitionEvaluator, Want, plan
from cerify.semantics import files
from cerify.semantics.arguments import Budget, Selection
from cerify.semantics.errors import BudgetExceeded, IllFormed, InputError, QueryWarning, Unsupported
from cerify.semantics.events import Event, Match, Schema, Stream
from proofs_tests.conftest import Run
from proofs_tests.support import sampled, stream
from proofs_tests.toy_language import TOY

# ---- api ----
# What `help` and an editor show of the public functions: explicit parameters, and examples that run.

FUNCTIONS = {name: value for name in cerify.__all__ if inspect.isfunction(value := getattr(cerify, name))}
MATTERING = "match count compile explain check equivalent contained simplify generate conform"


def examples(name: str, function: Callable[..., Any]) -> doctest.DocTest:
    return doctest.DocTestParser().get_doctest(inspect.getdoc(function) or "", {}, name, None, None)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@pytest.mark.slow
def test_every_public_function_has_an_example_that_runs(name: str) -> None:
    test = examples(name, FUNCTIONS[name])
    assert test.examples, f"the docstring of cerify.{name} has no example"
    assert doctest.DocTestRunner().run(test).failed == 0


def test_help_of_the_package_opens_with_an_example_and_the_functions_that_matter() -> None:
    text = pydoc.plain(pydoc.render_doc(cerify))
    opening = text[: text.index("import cerify` costs")]
    assert all(f"\n      {name} " in opening for name in MATTERING.split())
    assert doctest.testmod(cerify).failed == 0


def keywords(function: Callable[..., Any]) -> Iterator[str]:
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is not parameter.VAR_KEYWORD:
            yield parameter.name


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_parameters_are_explicit(name: str) -> None:
    """Whatever else is passed is refused by a type checker, and at run time by a message that suggests a name."""
    parameters = inspect.signature(FUNCTIONS[name]).parameters.values()
    required = [None for one in parameters if one.kind < one.KEYWORD_ONLY and one.default is one.empty]
    for parameter in parameters:
        if parameter.kind is parameter.VAR_KEYWORD:
            assert parameter.annotation in (Never, "Never")
            with pytest.raises(IllFormed, match=f"^{name} has no argument 'no_such'"):
                FUNCTIONS[name](*required, no_such=1)
        else:
            assert parameter.kind is not parameter.VAR_POSITIONAL


@pytest.mark.parametrize("name", ["match", "count", "compile"])
def test_every_option_is_a_parameter(name: str) -> None:
    options = {"options" if option == "own" else option for option in get_type_hints(Options)}
    assert options <= set(keywords(FUNCTIONS[name]))


def test_a_plug_in_takes_options_of_its_own() -> None:
    cerify.register(replace(TOY, name="spelling", options=frozenset({"case"})))
    try:
        assert len(cerify.match("A", [{"type": "A"}], language="spelling", options={"case": "upper"})) == 1
        with pytest.raises(IllFormed, match=r"options: .* has no option 'cas'; it has case"):
            cerify.match("A", [{"type": "A"}], language="spelling", options={"cas": "upper"})
    finally:
        cerify.LANGUAGES.remove(cerify.LANGUAGES["spelling"])
    with pytest.raises(IllFormed, match="options: CEL has no option 'case'; it has no options"):
        cerify.count("A", [{"type": "A"}], options={"case": "upper"})
    with pytest.raises(IllFormed, match="options: expected a mapping from names to values, not 1"):
        cerify.compile("A", options=1)  # type: ignore[arg-type]


# ---- carried ----
# Every evaluator carries every query of the built-in suites, but for what its language documents.

COLUMNS_ALONE = "depends on the match so far, not only on columns"  # of MATCH_RECOGNIZE, in compiled loops


def refusal(language: str, query: str, output: str, evaluator: str) -> Unsupported | None:
    """Why the evaluator does not carry the query."""
    lang = LANGUAGES[language]
    made = plan(lang, lang.syntax.parse(query), None, Want(Options(output), evaluator))  # type: ignore[arg-type]
    return made.why_not.get(evaluator)


@pytest.mark.parametrize("step", sampled([1, 6], [6]))
@pytest.mark.parametrize("language", ["cel", "core-cel", "event-expression", "sase", "row-pattern"])
@pytest.mark.slow
def test_every_query_of_the_suites_is_carried(language: str, step: int) -> None:
    """Every sixth by default: the suites have several queries with each operator."""
    queries = dict.fromkeys((case.query, case.output) for case in load(None) if case.language == language)
    assert len(queries) > 60
    for query, output in list(queries)[::step]:
        for evaluator in EVALUATORS:
            refused = refusal(language, query, output, evaluator)
            documented = (
                (language, evaluator) == ("row-pattern", "kernel") and refused and COLUMNS_ALONE in str(refused)
            )
            assert refused is None or documented, (query, evaluator, str(refused))


def test_a_query_that_is_not_carried_is_noticed() -> None:
    assert refusal("cel", "(A ; B) FILTER near(A, B)", "matches", "automaton") is not None
    assert refusal("core-cel", "A AS x", "valuations", "kernel") is not None


# ---- definition ----
# The definition behind the interface of evaluators: batch by batch as at once, saved and pickled, and consuming.

S = Stream([Event(type_, {"v": i}) for i, type_ in enumerate("ABABCAB")])
QUERIES = {
    "cel": "(A ; B) FILTER A.v > 0",
    "core-cel": "A AS x ; B AS y",
    "event-expression": "relative(A, B)",
}


def made(name: str = "cel", text: str = "", **options: object) -> DefinitionEvaluator[object]:
    language = language_named(name)
    given = {"waits": False, **options}
    return DefinitionEvaluator(language, language.syntax.parse(text or QUERIES[name]), **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["cel", "core-cel", "event-expression"])
def test_batches_give_what_the_whole_stream_gives(name: str) -> None:
    whole = made(name).evaluate(S)
    assert whole == sorted(language_named(name).evaluators.matches(made(name).query, S))
    assert len(whole) > 1
    for cut in range(len(S) + 1):
        E: Evaluator = made(name)
        first = E.push(S.part(0, cut))
        assert all(match.at < cut for match in first)
        again = pickle.loads(pickle.dumps(E))
        assert again.position == E.position == cut
        assert E.count(S.part(cut, len(S))) == len(whole) - len(first)
        assert sorted([*first, *again.push(S.part(cut, len(S)).table), *again.finish()]) == whole
        assert again.counters == Counters(len(S), 0, 0)


def test_an_argument_means_the_same_attribute_in_every_batch() -> None:
    language = language_named("event-expression")
    query = language.syntax.parse("p(I) := a(I); sequence(p(J), p(J))")
    events = Stream([Event("a", {"m": 1}), Event("a", {"n": 2, "m": 1}), Event("a", {"n": 2, "m": 3})])
    want = Want(evaluator="denotational", batches=True)
    assert isinstance(plan(language, query, None, want).why_not["denotational"], Unsupported)
    schema = Schema({"a": {"n": "int", "m": "int"}})
    whole = language.evaluators.matches(query, Stream(events, schema), "denotational")
    E = plan(language, query, schema, want).batches
    assert E is not None
    saved = pickle.dumps(E)
    for some in (E, pickle.loads(saved)):
        assert [*some.push(events.part(0, 1)), *some.push(events.part(1, 2))] == whole == [Match(2, (2,))]
    other = Schema({"a": {"m": "int", "n": "int"}})
    with pytest.raises(InputError):
        E.fresh().restore(plan(language, query, other, want).batches.save())  # type: ignore[union-attr]


def test_a_query_that_waits_is_answered_at_the_end() -> None:
    E = made(waits=True)
    assert E.push(S) == []
    assert E.finish() == made().evaluate(S)
    with pytest.raises(InputError, match="finished"):
        E.push(S)
    with pytest.raises(InputError, match="finished"):
        pickle.loads(pickle.dumps(E)).finish()


def test_a_match_consumes_what_came_before_it() -> None:
    E = made(text="A ; B", options=Options(consumption=Consumption.ANY))
    assert E.push(S.part(0, 3)) == [Match(1, (0, 1))]
    assert E.push(S.part(3, 4)) == [Match(3, (2, 3)), Match(6, (5, 6))]
    with pytest.raises(IllFormed, match="cannot consume"):
        made(waits=True, options=Options(consumption=Consumption.ANY))


def test_a_budget_stops_a_batch_before_anything_changes() -> None:
    E = made(options=Options(budget=Budget(matches=1)))
    with pytest.raises(BudgetExceeded, match="more than 1 matches"):
        E.push(S)
    assert E.position == 0


def test_a_state_of_something_else_is_refused() -> None:
    saved = made().save()
    for other in (made(text="A ; C"), made("core-cel"), made(options=Options(output="valuations")), made(waits=True)):
        with pytest.raises(InputError, match="another query"):
            other.restore(saved)
    for damaged in (b"", b"x", saved[: len(saved) // 2]):
        with pytest.raises(InputError):
            made().restore(damaged)


def test_a_consumption_that_there_is_not_is_refused() -> None:
    assert Consumption.from_value("any") is Consumption.from_value(Consumption.ANY) is Consumption.ANY
    with pytest.raises(IllFormed, match="'some'; use one of none, any"):
        Consumption.from_value("some")


# ---- evaluators ----
# `match`, whatever the language and the evaluator.

BY_LANGUAGE = {
    "cel": "A",
    "core-cel": "A AS x",
    "event-expression": "A",
    "sase": "PATTERN SEQ(A a) WHERE skip_till_any_match(a) {a.x > 0} RETURN a.x",
}


@pytest.mark.parametrize(
    ("language", "evaluator"),
    [(name, evaluator) for name in BY_LANGUAGE for evaluator in LANGUAGES[name].evaluators],
)
def test_every_evaluator_keeps_to_the_budget_of_matches(language: str, evaluator: str) -> None:
    events = [Event("A", {"x": 1})] * 3
    query, two, three = BY_LANGUAGE[language], Budget(matches=2), Budget(matches=3)
    assert len(match(query, events, language=language, evaluator=evaluator, budget=three)) == 3
    with pytest.raises(BudgetExceeded, match="more than 2"):
        match(query, events, language=language, evaluator=evaluator, budget=two)


EVENTS = [Event("A", {"x": n % 3}) for n in range(7)]


@pytest.mark.parametrize(
    ("language", "evaluator"), [(name, evaluator) for name in BY_LANGUAGE for evaluator in (None, *EVALUATORS)]
)
def test_count_is_the_number_of_matches(language: str, evaluator: EvaluatorName | None) -> None:
    expected = len(match(BY_LANGUAGE[language], EVENTS, language=language))
    assert count(BY_LANGUAGE[language], EVENTS, language=language, evaluator=evaluator) == expected > 0


@pytest.mark.parametrize("language", BY_LANGUAGE)
@pytest.mark.parametrize("evaluator", [None, "denotational"])
def test_a_compiled_query_reads_its_stream_in_batches(language: str, evaluator: str | None) -> None:
    evaluator_of = compile(BY_LANGUAGE[language], language=language, evaluator=evaluator)
    found = [m for start in range(0, 7, 2) for m in evaluator_of.push(EVENTS[start : start + 2])]
    found += pickle.loads(pickle.dumps(evaluator_of)).finish()
    assert sorted(found) == list(match(BY_LANGUAGE[language], EVENTS, language=language))


def test_an_evaluator_of_whole_streams_is_refused_in_batches() -> None:
    with pytest.raises(Unsupported, match="supports a cross-event filter only if"):
        compile("(A ; B) FILTER A.x < B.x", evaluator="kernel")
    with pytest.raises(Unsupported, match="checking a match needs all earlier events"):
        compile("A UNLESS (B PARTITION BY [x])", evaluator="automaton")
    assert compile("A", consumption="any").push(EVENTS[:2]) == [Match(0, (0,)), Match(1, (1,))]


@pytest.mark.parametrize("language", BY_LANGUAGE)
@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_all_evaluators_have_one_interface(language: str, evaluator: EvaluatorName) -> None:
    """What only the compiled evaluator of CEL had: a limit of the matches, an Arrow table, another evaluator."""
    whole = match(BY_LANGUAGE[language], EVENTS, language=language)
    made = compile(BY_LANGUAGE[language], language=language, evaluator=evaluator, budget=Budget(matches=20))
    assert made.push(EVENTS[:6], limit=1) in ([], whole[:1])  # the definition of SASE+ waits for the end
    found = [*made.push(EVENTS[6:], 1), *made.finish()]
    assert found in ([], whole[-1:], list(whole))
    assert made.position == len(EVENTS)
    other = made.fresh()
    assert (other.position, type(other)) == (0, type(made))
    table = other.push_arrow(EVENTS)
    assert table.column_names == ["at", "events"]
    rest = [(m.at, list(m.events)) for m in other.finish()]
    assert [(row["at"], row["events"]) for row in table.to_pylist()] + rest == [(m.at, list(m.events)) for m in whole]


def test_a_limit_is_no_budget() -> None:
    for evaluator in EVALUATORS:
        made = compile("A+", evaluator=evaluator, budget=Budget(matches=4))
        assert made.push(EVENTS, limit=3) == sorted(made.fresh().push(EVENTS, limit=3))
        with pytest.raises(BudgetExceeded, match="more than 4"):
            made.fresh().push(EVENTS)
        made = compile("A", evaluator=evaluator)
        made.push(EVENTS[:3], limit=0)
        assert made.push(EVENTS[3:4]) == [Match(3, (3,))]


@pytest.mark.parametrize("evaluator", [None, *EVALUATORS])
@pytest.mark.parametrize("language", ["cel", "core-cel"])
def test_match_takes_consumption(language: str, evaluator: EvaluatorName | None) -> None:
    query = {"cel": "A ; A", "core-cel": "A AS x ; A AS y"}[language]
    found = match(query, EVENTS, language=language, evaluator=evaluator, consumption="any")
    assert [m.events for m in found] == [(0, 1), (2, 3), (4, 5)]
    assert count(query, EVENTS, language=language, evaluator=evaluator, consumption="any") == 3
    assert len(match(query, EVENTS, language=language, evaluator=evaluator, selection="next")) == 6


def test_options_that_there_are_not_are_refused() -> None:
    with pytest.raises(IllFormed, match="there is no consumption 'some'; use one of none, any"):
        match("A", EVENTS, consumption="some")
    with pytest.raises(IllFormed, match="match has no argument 'consumed'; did you mean 'consumption'"):
        match("A", EVENTS, consumed="any")  # type: ignore[call-arg]


def test_the_first_batch_is_held_against_the_query() -> None:
    """A typo in the name of a type gives no matches, and nothing said why."""
    made = pickle.loads(pickle.dumps(compile("A ; Bee")))
    assert made.push([]) == []
    with pytest.warns(QueryWarning, match="unknown event type Bee; the events have A") as found:
        made.push(EVENTS[:2])
    assert [w.filename for w in found] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made.push(EVENTS[2:])  # once is enough
        compile("A ; Bee", schema=Schema({"A": {"x": "int"}, "Bee": {}})).push(EVENTS)
    strict = compile("A FILTER A.y > 0", strict=True)
    for _ in range(2):
        with pytest.raises(IllFormed, match="A has no attribute 'y'; it has x"):
            strict.push(EVENTS)
    assert strict.position == 0


def test_generate_gives_the_same_case_for_the_same_seed() -> None:
    for language in BY_LANGUAGE:
        query, S = generate(language, seed=5, nodes=6, events=4)
        assert (query, S) == generate(language, seed=5, nodes=6, events=4)
        assert any(generate(language, seed=seed)[0] != query for seed in range(3))
        assert len(S) <= 4
        assert match(query, S, budget=Budget(seconds=5)) is not None
    assert generate("sase", profile=list(LANGUAGES["sase"].require_cases().generator().profiles)[-1])[1] is not None
    with pytest.raises(IllFormed, match="there is no profile 'big' of cel; use one of core, "):
        generate(profile="big")


NOT_CARRIED = "(T ; H) FILTER near(T, H)"
NEAR = Options(predicates={"near": lambda one, other: True})


def test_the_plan_takes_the_definition_where_no_automaton_carries_a_query_and_says_why() -> None:
    cel = LANGUAGES["cel"]
    made = plan(cel, cel.syntax.parse(NOT_CARRIED), None, Want(NEAR))
    assert (made.evaluator, list(made.why_not), made.rewrites) == ("denotational", ["automaton"], ())
    assert plan(cel, cel.syntax.parse("T ; H")).evaluator == "automaton"
    assert plan(cel, cel.syntax.parse("T ; H"), None, Want(evaluator="kernel")).evaluator == "kernel"


@pytest.fixture
def in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[pa.Table], Path]:
    """Write a table to a file of Parquet, which is read in parts of seven events, and not as a whole."""
    monkeypatch.setattr(files, "PART_ROWS", 7)
    monkeypatch.setattr("cerify.api.as_stream", lambda *_, **__: pytest.fail("the file was read as a whole"))

    def write(table: pa.Table) -> Path:
        pq.write_table(table, path := tmp_path / "log.parquet", row_group_size=20)
        return path

    return write


def log_of(random: Random, size: int, back: bool = False) -> pa.Table:
    times = [10**9 + i * random.choice((1, 3)) * (-1 if back and i == size - 1 else 1) for i in range(size)]
    return pa.table(
        {
            "type": random.choices("ABC", k=size),
            "time": pa.array(times if back else sorted(times), pa.timestamp("s", "UTC")),
            "id": random.choices((1, 2, 3, None), k=size),
            "x": [random.random() for _ in range(size)],
            "name": random.choices(("ann", "bob"), k=size),
        }
    )


@pytest.mark.parametrize(
    ("language", "query"),
    [
        ("cel", "((A ; B) PARTITION BY [id]) WITHIN 9 seconds"),
        ("cel", "(A ; B+ ; C) WITHIN 6 EVENTS"),
        ("cel", "A[x > 0.5] ; B[id = 2]"),
        ("cel", "LAST(A ; B) WITHIN 20 seconds"),
        ("cel", "(A ; C UNLESS B) WITHIN 9 seconds"),
        ("core-cel", "A AS a ; B AS b"),
        ("sase", "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 9 seconds"),
    ],
)
def test_a_file_of_parquet_is_counted_in_parts(language: str, query: str, in_parts: Callable[[pa.Table], Path]) -> None:
    table = log_of(Random(query), 200)
    expected = count(query, Stream(table), language=language)
    assert expected > 0
    assert count(query, in_parts(table), language=language) == expected


@pytest.mark.parametrize("long", [1, 10**6])
@pytest.mark.parametrize(
    ("query", "back"),
    [
        ("((A ; B) PARTITION BY [id]) WITHIN 9 seconds", False),
        ("((A ; B) PARTITION BY [id]) WITHIN 9 seconds", True),  # which is seen at the end, after the first matches
        ("A ; B+ ; C WITHIN 6 EVENTS", False),
        ("C : C : C : C : C : C : C", False),
    ],
)
def test_positions_are_printed_as_a_file_of_parquet_is_read(
    query: str, back: bool, long: int, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = log_of(Random(1), 100, back)
    pq.write_table(table, path := tmp_path / "log.parquet")
    expected = [f'{{"at": {m.at}, "events": {list(m.events)}}}' for m in match(query, Stream(table))]
    monkeypatch.setattr(files, "PART_ROWS", 7)
    monkeypatch.setattr(sys.modules["cerify.plan"], "LONG", long)
    if not back:
        monkeypatch.setattr("cerify.commands.options.read_stream", lambda *_, **__: pytest.fail("read as a whole"))
    status, printed, said = run("match", query, str(path), "--json")
    lines = printed.splitlines()
    assert (status, lines if not back else sorted(lines)) == (not expected, expected if not back else sorted(expected))
    assert ("time" in said) == back
    if not back:  # else those of one position come in any order
        assert run("match", query, str(path), "--json", "--limit", "3")[1].splitlines() == lines[:3]


@pytest.mark.parametrize(
    ("query", "back"),
    [
        ("(A ; B) WITHIN 9 seconds", True),
        ("A[name = 'ann'] ; B", False),  # a text may be a time
        ("A ; Bee", False),
        ("A[nil > 3]", False),
        ("A[of_b > 3] ; B", False),
        ("A[id = 'x'] ; B", False),
        ("A ; B[of_b > 3]", False),
    ],
)
def test_what_cannot_be_counted_in_parts_is_read_as_a_whole(
    query: str, back: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "PART_ROWS", 7)
    table = log_of(Random(2), 60, back)
    of_b = [i if R == "B" else None for i, R in enumerate(table["type"].to_pylist())]
    table = table.append_column("of_b", pa.array(of_b))
    pq.write_table(table, path := tmp_path / "log.parquet")
    found: list[tuple[Any, list[str]]] = []
    for events in (table, path):
        with warnings.catch_warnings(record=True) as issued:
            warnings.simplefilter("always")
            number = count(query, Stream(events) if events is table else events)
        found.append((number, [str(one.message) for one in issued]))
    assert found[0] == found[1]
    assert bool(found[0][1]) == (query not in ("A[name = 'ann'] ; B", "A ; B[of_b > 3]"))


@pytest.mark.parametrize("query", ["(A : B) FILTER A.x < B.x", "A ; B FILTER A.x < B.x WITHIN 5 EVENTS"])
def test_what_no_automaton_reads_in_batches_is_counted_by_its_matches(query: str) -> None:
    """The definition was asked for the number, in batches, and took half a minute for two thousand events."""
    lang = LANGUAGES["cel"]
    tree = lang.syntax.parse(query)
    assert plan(lang, tree, None, Want(batches=True)).evaluator == "automaton"
    counting = plan(lang, tree, None, Want(counting=True))
    assert (counting.evaluator, counting.batches) == ("automaton", None)  # a whole stream need not be in order
    events = [{"type": "AB"[i % 2], "x": i % 7} for i in range(20)]
    assert count(query, events) == len(match(query, events, evaluator="denotational"))


def test_a_named_evaluator_is_used_or_refused_with_the_reason() -> None:
    cel, core = LANGUAGES["cel"], LANGUAGES["core-cel"]
    for evaluator in ("automaton", "kernel"):
        made = plan(cel, cel.syntax.parse(NOT_CARRIED), None, Want(NEAR, evaluator))
        assert made.evaluator is None
        with pytest.raises(Unsupported, match=re.escape(made.why_not[evaluator].message)):
            made.all_matches(Stream([]))
        with pytest.raises(Unsupported, match="registered predicate such as near"):
            match("(A ; B) FILTER near(A, B)", [Event("A", {})], evaluator=evaluator, predicates={"near": len})
    with pytest.raises(IllFormed, match="there is no evaluator 'fast' of core-CEL; use one of denotational, automaton"):
        plan(core, core.syntax.parse("A AS x"), None, Want(evaluator="fast"))


def test_the_plan_names_the_language_into_which_a_query_is_rewritten() -> None:
    core = LANGUAGES["core-cel"]
    correlated = core.syntax.parse("(A AS x ; B AS y) FILTER x.a = y.a")
    assert plan(core, correlated).rewrites == ("cel",)
    assert plan(core, correlated, None, Want(evaluator="denotational")).rewrites == ()
    assert plan(core, core.syntax.parse("A AS x")).rewrites == ()


def test_the_automaton_carries_every_formula() -> None:
    """No formula without registered predicates is refused, neither by the plan nor on a stream."""
    cel, options = LANGUAGES["cel"], Options(budget=Budget(seconds=2.0, states=5000))
    carried = 0
    for seed in range(300):
        phi, S = case(Random(seed), EVERYTHING, 9, 5)
        try:
            assert plan(cel, phi, None, Want(options, "automaton")).evaluator == "automaton"
            found = list(cel.evaluators.matches(phi, S, "automaton", options))
        except BudgetExceeded:
            continue
        carried += len(found) > 0
    assert carried > 30


@pytest.mark.parametrize("around", ["({}) OR A", "A OR ({})", "MAX({})", "LAST({})", "START({})", "A UNLESS ({})"])
def test_the_plan_looks_below_operators(around: str) -> None:
    cel, S = LANGUAGES["cel"], Stream([Event("T", {"id": 1})])
    phi = cel.syntax.parse(around.format(NOT_CARRIED))
    refused = plan(cel, phi, None, Want(evaluator="automaton")).why_not["automaton"]
    with pytest.raises(Unsupported, match=re.escape(refused.message)):
        list(cel.evaluators.matches(phi, S, "automaton"))


def test_explain_by_the_api() -> None:
    assert explain("A ; A", EVENTS, {0, 2}).derivations[0].clause == "sequencing"
    assert explain("A ; A", EVENTS, {0, 2}, valuation={"A": [0, 2]}).at == 2
    assert explain("A", EVENTS, at=3, language="event-expression").at == 3
    assert explain(BY_LANGUAGE["sase"], EVENTS, [1], language="sase").match.events == (1,)
    with pytest.raises(InputError, match="give either the positions"):
        explain("A", EVENTS)


def test_a_level_or_a_bound_that_there_is_not_is_refused() -> None:
    """A wrong level was taken, and went into a certificate; a negative bound was one without a difference."""
    with pytest.raises(IllFormed, match="there is no level 'event'; use one of events, valuations"):
        equivalent("A", "A", level="event")  # type: ignore[arg-type]
    with pytest.raises(IllFormed, match="bound: expected a whole number of at least 0, not -1"):
        equivalent("A ; B FILTER A.x = B.x", "A ; B", bound=-1)


def test_a_schema_that_is_none_is_refused_with_what_to_write() -> None:
    with pytest.raises(IllFormed, match=r"not a dict; write Schema\(\{\.\.\.\}\)"):
        equivalent("A", "A", schema={"A": {}})  # type: ignore[arg-type]
    with pytest.raises(IllFormed, match=r"not a str; write Schema"):
        check("A", "farm.csv")  # type: ignore[arg-type]


# ---- selection ----
# Selection strategies as values: the same as the operator written around the query.

CHOICES = stream("A A B A B")
OPERATORS = {"all": "({})", "strict": "STRICT({})", "next": "NXT({})", "last": "LAST({})", "max": "MAX({})"}
SELECTED = {"cel": "A+ ; B", "core-cel": "(A AS x)+ ; B AS y"}


@pytest.mark.parametrize("selection", Selection)
@pytest.mark.parametrize("language", SELECTED)
def test_a_selection_is_its_operator_around_the_query(selection: Selection, language: str) -> None:
    query = SELECTED[language]
    written = cerify.match(OPERATORS[selection.value].format(query), CHOICES, language=language)
    assert cerify.match(query, CHOICES, language=language, selection=selection) == written
    assert cerify.match(query, CHOICES, language=language, selection=selection.value) == written
    assert (len(written) < len(cerify.match(query, CHOICES, language=language))) == (selection is not Selection.ALL)


def test_a_language_without_strategies_around_a_query_says_so() -> None:
    for name in set(LANGUAGES) - set(SELECTED):
        assert LANGUAGES[name].syntax.selected(None, Selection.ALL) is None
        with pytest.raises(Unsupported, match="no selection strategy 'next'"):
            LANGUAGES[name].syntax.selected(None, Selection.NEXT)
    with pytest.raises(IllFormed, match="use one of all, strict, next, last, max"):
        cerify.match("A", CHOICES, selection="some")


LONG_STREAMS = [
    ("cel", "A ; B", True),
    ("cel", "(A ; (B UNLESS C)) PER KEY [x]", True),
    ("cel", "(A ; B) FILTER A.x < B.x", True),
    ("cel", "A FILTER known(A)", False),
    ("sase", "PATTERN SEQ(A a, B b) WHERE skip_till_any_match(a, b) { [x] } WITHIN 9 seconds", True),
    ("sase", "PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b) { a.id > 1 }", True),
    ("row-pattern", "MATCH_RECOGNIZE (PATTERN (a b+) DEFINE a AS a.x > 0, b AS b.x = PREV(b.x))", True),
    ("row-pattern", "MATCH_RECOGNIZE (PATTERN (a b+) DEFINE a AS a.x > 0, b AS b.x = FIRST(a.x))", False),
    ("event-expression", "prior(A, B)", True),
    ("eql", "sequence by x [A where true] [B where true]", True),
]


@pytest.mark.parametrize(("language", "query", "by_loops"), LONG_STREAMS)
def test_long_streams_are_evaluated_in_compiled_loops(
    monkeypatch: pytest.MonkeyPatch, language: str, query: str, by_loops: bool
) -> None:
    events = [{"type": "ABCBA"[n * n % 5], "x": n // 2 % 3, "time": n, "id": 2**53 + n} for n in range(60)]
    lang = cerify.LANGUAGES[language]
    asked = []
    loops = lang.evaluators["kernel"]

    def prepare(*request: Any) -> Any:
        asked.append(request)
        return loops.prepare(*request)

    monkeypatch.setitem(lang.evaluators, "kernel", replace(loops, prepare=prepare))
    monkeypatch.setattr(sys.modules["cerify.plan"], "LONG", 50)
    options = {"predicates": {"known": lambda events: events[0].get("x") > 0}} if "known" in query else {}
    found = cerify.match(query, events, language=language, **options)
    assert found == cerify.match(query, events, language=language, evaluator="denotational", **options)
    assert cerify.count(query, events, language=language, **options) == len(found) > 0
    assert asked
    monkeypatch.undo()
    refused = isinstance(loops.prepare(cerify.parse(query, language), None, Options(**options)), Unsupported)
    assert refused != by_loops
