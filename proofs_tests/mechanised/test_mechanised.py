"""The proofs in Coq are checked where coqc is installed; they rest on no axiom, and what they extract is tested."""

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from cerify import parse
from cerify.conformance.cases import load
from cerify.equivalence.rewrite.laws import HOLDING
from cerify.semantics.cel.syntax import OPERATORS
from cerify.semantics.errors import Unsupported
from proofs_tests.campaigns.mechanised import outcome
from proofs_tests.claims.everything import LEDGER
from proofs_tests.claims.theorems import THEOREMS
from proofs_tests.mechanised import statements
from proofs_tests.mechanised.engine import FEATURES, Extracted, words
from proofs_tests.mechanised.make_laws import TARGET, identifier, lacking, laws_v

HERE = Path(__file__).parent
SOURCES = sorted(HERE.glob("*.v"))
ASSUMPTIONS = (HERE / "Assumptions.v").read_text(encoding="utf-8")

needs_coq = pytest.mark.skipif(
    not (shutil.which("coqc") and shutil.which("ocamlopt") and shutil.which("make")), reason="needs coqc and ocamlopt"
)


@pytest.mark.parametrize("source", SOURCES, ids=[source.stem for source in SOURCES])
def test_nothing_is_assumed(source: Path) -> None:
    """No proof is left out, in the text at least; `make assumptions` asks Coq."""
    text = re.sub(r"\(\*.*?\*\)", "", source.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert not re.findall(r"\b(Admitted|admit|Axiom|Parameter|Conjecture|Hypothesis|Abort)\b", text)


def test_the_page_shows_the_statements_of_the_files() -> None:
    """If not: python -m proofs_tests.mechanised.statements."""
    assert statements.TARGET.read_text(encoding="utf-8") == statements.page()


def test_claims_and_page_name_theorems_whose_assumptions_are_printed() -> None:
    assert LEDGER.keys() >= THEOREMS.keys()
    assert {place for statement in statements.STATEMENTS for place in statement.shown} >= set(THEOREMS.values())
    for file, name in {(statement.file, statement.theorem) for statement in statements.STATEMENTS} | set(
        THEOREMS.values()
    ):
        assert statements.coq(file, name).startswith(("Theorem", "Corollary", "Lemma"))
        assert f"Print Assumptions {name}." in ASSUMPTIONS


def test_the_assumptions_of_every_theorem_are_printed() -> None:
    """Those of Laws.v have a test of their own."""
    names = [
        name
        for source in SOURCES
        if source.stem != "Laws"
        for name in re.findall(
            r"^(?:Theorem|Corollary|Example) (\w+)", source.read_text(encoding="utf-8"), re.MULTILINE
        )
    ]
    assert len(set(names)) == len(names)
    assert {f"Print Assumptions {name}." for name in names} <= set(ASSUMPTIONS.splitlines())


def test_the_theorems_are_the_laws() -> None:
    """Laws.v is what is made from the laws; a changed law changes its theorem, or the test fails."""
    assert TARGET.read_text(encoding="utf-8") == laws_v()


def test_most_laws_have_a_theorem() -> None:
    laws = [law for group in HOLDING.values() for law in group]
    stated = [identifier(law.name) for law in laws if lacking(law) is None]
    assert len(set(stated)) == len(stated)
    assert len(stated) == 197
    assert Counter(map(lacking, laws)) == {
        None: 197,
        "the model has no windows and no partitions": 53,
        "the model has no filters across events": 3,
        "the model has no comparison with values": 2,
        "no theorem has a loop that takes the next rounds": 11,
    }


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which all proofs were checked and the engine was built."""
    folder = tmp_path_factory.mktemp("mechanised")
    for path in (*SOURCES, HERE / "Makefile", HERE / "driver.ml"):
        shutil.copy(path, folder)
    subprocess.run(["make", "-C", folder], check=True, capture_output=True)
    return folder


@needs_coq
@pytest.mark.thorough
def test_the_theorems_rest_on_no_axiom(built: Path) -> None:
    ran = subprocess.run(["make", "-s", "-C", built, "assumptions"], check=True, capture_output=True, text=True)
    lines = [line for line in ran.stdout.splitlines() if line and not line.startswith((" ", "coqc", "{"))]
    names = re.findall(r"^Check (\w+)", ASSUMPTIONS, re.MULTILINE)
    assert ASSUMPTIONS.count("Print Assumptions") == len(names)
    closed = "Closed under the global context"
    assert lines == [line for name in names for line in (name, closed)] + ["all theorems of Laws.v, 197", closed]


SUITES = {"cel-core": (744, 171), "cel-figure3": (503, 20), "cel-strategies": (551, 34), "cel-derived": (94, 0)}
"""How many cases of a suite the extracted definition passes, and how many it skips."""


def test_the_engine_lists_what_it_answers() -> None:
    assert {operator.name for operator in OPERATORS.values()} - set(FEATURES) == {"partition", "perkey", "within"}
    assert list(words(parse("A{2,3}"), [])).count("event") > 1


def test_a_case_is_skipped_for_what_the_model_lacks() -> None:
    lacking: Counter[str] = Counter()
    for suite in SUITES:
        for case in load(suite):
            try:
                list(words(parse(case.query), []))
            except Unsupported as error:
                lacking[error.message] += 1
    assert lacking == {
        "the mechanised language has no filters across events": 203,
        "the mechanised language has no Within": 19,
        "the mechanised language has no PartitionBy": 3,
    }
    assert sum(lacking.values()) == sum(skipped for _, skipped in SUITES.values())


@needs_coq
@pytest.mark.thorough
@pytest.mark.parametrize("suite", SUITES)
def test_the_extracted_definition_passes_the_suite(built: Path, suite: str) -> None:
    engine = [sys.executable, "-m", "proofs_tests.mechanised.engine", str(built / "cel-definition")]
    command = [sys.executable, "-m", "cerify.cli", "conform", "--json", "--suite", suite, "--", *engine]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]
    outcomes = Counter(case["outcome"] for line in ran.stdout.splitlines() if "outcome" in (case := json.loads(line)))
    passed, skipped = SUITES[suite]
    assert outcomes == Counter(passed=passed, skipped=skipped)


MEETING = "| None => onwards (filter is_marked (starting A e))"
FIRST = "| None => retarget Some (filter is_marked (starting A e))"
FAULTS = {
    ("Compile", "Theorem62"): {
        "an event of any type is marked": ("(if var_dec (type_of e) R then [([R], true)] else [])", "[([R], true)]"),
        "IN and PROJECT leave the marks": ("map (fun t => (f (fst t), snd t)) (step A q e)", "step A q e"),
        "a filter asks of every event": ("then P e else true", "then P e else P e"),
        "an AND in a filter has its right side only": ("filtered c2 (filtered c1 A)", "filtered c2 A"),
        "an OR in a filter is an AND": ("union_cea (filtered c1 A) (filtered c2 A)", "filtered c2 (filtered c1 A)"),
        "OR begins on the left only": ("map inl (initial A) ++ map inr (initial B);", "map inl (initial A);"),
        "a sequence enters B before A ends": ("bridges (final A) (map inr", "bridges (fun _ => true) (map inr"),
        "an iteration has one round": ("step A q e ++ bridges (final A) (initial A) (step A q e)", "step A q e"),
        "a contiguous sequence skips before it meets": (
            "bridges (final A) [inr None] (filter is_marked (step A p e))",
            "bridges (final A) [inr None] (step A p e)",
        ),
        "a round of one event does not lead to the meeting state": (MEETING, FIRST),
        "START marks at any step": (FIRST, "| None => retarget Some (starting A e)"),
        "AND ignores marks": ("if same_marks (fst t) (fst u) then", "if true then"),
        "an operand of ALL does not rest": ("(if final A p then [([], Done)] else [])", "[]"),
        "both operands of ALL begin at the start": ("++ map (fun q => (Wait, At q)) (initial B) ++", "++"),
        "UNLESS looks at whole intervals": ("(snd g ++ initial B)", "(snd g)"),
        "UNLESS allows what has been found": ("final A (fst q) && negb (fst (snd q))", "final A (fst q)"),
        "STRICT marks again after a gap": ("| Some false, true => []", "| Some false, true => [Some true]"),
        "STRICT takes every step for a marking one": (
            "(strict_step (snd q) (is_marked t))",
            "(strict_step (snd q) true)",
        ),
        "NXT keeps a rival that falls behind": ("else if y then Some true else None", "else Some y"),
        "LAST keeps the first difference": ("Some (if Bool.eqb x y then t else y)", "Some (t || y)"),
        "MAX keeps a rival that lacks a mark": ("if x && negb y then None else Some", "Some"),
        "a strategy ignores its rivals": (
            "final A (fst q) && negb (existsb (fun r => better c (fst r) && final A (snd r)) (snd q))",
            "final A (fst q)",
        ),
        "a formula is compiled as another": (
            "=> contiguous_iterate_cea (compile psi)",
            "=> iterate_cea (compile psi)",
        ),
    },
    ("Finite", "Finite"): {
        "rivals are folded to those that come first": (
            "(in_dec T_dec q (map f R)",
            "(in_dec T_dec q (firstn 1 (map f R))",
        ),
        "steps are not folded": ("step := fun q e => retarget canon (step A q e)", "step := fun q e => step A q e"),
        "a set of states is not ordered": ("retarget ordered (grouped", "retarget (fun T => T) (grouped"),
        "some sets of states are left out": ("sublists xs ++ map (cons x) (sublists xs)", "map (cons x) (sublists xs)"),
    },
    ("Determinize", "Determinize"): {
        "a group forgets a state": ("then (fst g, q :: snd g) else g) groups", "then (fst g, snd g) else g) groups"),
        "steps with the same marks stay apart": ("if existsb (fun g => same_marks L (fst g)) groups", "if false"),
        "a subset is final if all of it is": ("existsb (final A) T;", "forallb (final A) T;"),
    },
    ("Evaluate", "Evaluate"): {
        "Algorithm 1 leaves out the last event": (
            "map (cons (p, L)) (flat_map enumerate before)",
            "flat_map enumerate before",
        ),
        "ADD forgets the list that was there": ("(q, ns ++ snd new) :: T else", "(q, snd new) :: T else"),
        "ADD joins a list twice": ("(q, ns ++ snd new) :: T else", "(q, ns ++ snd new ++ snd new) :: T else"),
        "an event without marks has a node": ("match L with [] => ns | _ => [Node p L ns] end", "[Node p L ns]"),
        "positions begin at 1": ("(update p e T)", "(update (p + 1) e T)"),
        "OUTPUT ignores which states are final": (
            "(fun a => if final A (fst a) then enumerate_list (snd a) else [])",
            "(fun a => enumerate_list (snd a))",
        ),
    },
    ("Enumerated", "Enumerated"): {
        "the last event is not read": ("0 (slice event S 0 (j + 1)) (at_start", "0 (slice event S 0 j) (at_start"),
    },
    ("Exec", "Exec"): {
        "an event is found anywhere": ("[blank (rev before) ++ [(e, [R])]]", "[[(e, [R])]]"),
        "too few rounds": ("roundsx seqx (exec psi) (length es) es", "roundsx seqx (exec psi) 1 es"),
        "UNLESS looks at the whole interval": (
            "existsb (fun p => nonempty (F (fst (snd p)))) (thirds es)",
            "nonempty (F es)",
        ),
        "a strategy compares with what comes before": (
            "(fun u => negb (better (shape w) (shape u)))",
            "(fun u => true)",
        ),
    },
    ("Laws", "Laws"): {
        "; commutes": (
            "equal (Seq (Seq phi psi) chi) (Seq phi (Seq psi chi))",
            "equal (Seq (Seq phi psi) chi) (Seq chi (Seq psi phi))",
        ),
    },
    ("Printed", "Printed"): {
        "what is refuted is the corrected :+": (
            "| None => retarget nat Some (filter (is_marked nat) (starting nat nat A e))",
            "| None => onwards (filter (is_marked nat) (starting nat nat A e))",
        ),
        "what is refuted is the corrected UNLESS": ("negb (existsb (final nat nat B) (snd q))", "false"),
        "what is refuted lets both operands of ALL wait": ("left else [])", "left else []) ++ [([], q)]"),
    },
    ("Disjunctive", "Disjunctive"): {
        "an iteration of each disjunct": (
            "[Plus _ _ (or_of psi (disjuncts psi))]",
            "map (Plus _ _) (disjuncts psi)",
        ),
        "UNLESS looks at one disjunct only": (
            "fold_left (fun psi d => Unless _ _ psi d) ds phi",
            "fold_left (fun psi d => Unless _ _ psi d) (firstn 1 ds) phi",
        ),
        "a filter that is left as one": ("filtered c2 (filtered c1 ds)", "filtered c2 ds"),
    },
    ("PushFilters", "PushFilters"): {
        "a filter goes below NXT, LAST and MAX": (
            "| Next _ _ _ | Last _ _ _ | Max _ _ _ =>",
            "| Next _ _ psi => Next _ _ (each P psi K) | Last _ _ _ | Max _ _ _ =>",
        ),
        "a filter of what IN bound asks of the old variable": ("(if has A K then bindable psi else K)", "K"),
        "an OR goes to the side that binds its variables too": (
            "if disjoint L (bindable phi2) then make",
            "if true then make",
        ),
        "an OR goes through an IN of its variable": ("if has A L then here else In_", "if false then here else In_"),
        "a filter stays where it is": ("| Every _ _ A P => each P phi [A]", "| Every _ _ A P => Filter _ _ phi c"),
    },
    ("Expressions", "Expressions"): {
        "nothing is accepted after any event": ("accepting := fun _ => false", "accepting := fun _ => true"),
        "an event is accepted for ever": ("step := fun _ e => P e;", "step := fun q e => q || P e;"),
        "AND reads on the left only": ("(step A (fst q) e, step B (snd q) e);", "(step A (fst q) e, snd q);"),
        "an expression is compiled as another": (
            "=> and_dfa (automaton E) (automaton F)",
            "=> pipe_dfa (automaton E) (automaton F)",
        ),
        "prefix asks for the event itself": ("Some p => within A n p | None", "Some p => accepting A p | None"),
        "the automaton of ! accepts in its start state": (
            "Some p => negb (accepting A p) | None => false",
            "Some p => negb (accepting A p) | None => true",
        ),
        "relative begins anew at each event": (
            "if accepting A p then start B :: running else running",
            "start B :: running",
        ),
        "relative+ has one round": (
            "if existsb (accepting A) running then start A :: running else running",
            "running",
        ),
        "the right side of | reads all events": (
            "if accepting A p then step B (snd q) e else snd q)",
            "step B (snd q) e)",
        ),
        "/+ reads E from its start again": (
            "| None => None end, p)",
            "| None => None end, if accepting B p then start B else p)",
        ),
        "prefix asks for no event to come": ("exists w, w <> [] /\\ accepting", "exists w, accepting"),
    },
    ("Expressions", "FiniteExpressions"): {
        "the search for prefix is too short": ("| Not E | Prefix E => S (size E)", "| Not E | Prefix E => size E"),
        "the search for prefix leaves out a step": (
            "existsb (fun e => accepting A (step A q e) ||",
            "existsb (fun e => accepting A q ||",
        ),
    },
    ("FiniteExpressions", "FiniteExpressions"): {
        "steps are not folded": ("Expressions.step := fun q e => canon (step A q e);", "Expressions.step := step A;"),
    },
    ("Derived", "Derived"): {
        "E or F as it is printed": (":= Not (And (Not E) (Not F)).", ":= And (Not E) (Not F)."),
        "F begins after E": (":= And (Relative E every) F.", ":= Relative E F."),
        "a sequence skips": (":= And (Relative E first) F.", ":= And (Relative E every) F."),
        "the n-th event and all after it": ("Pipe (Pipe E (in_a_row n)) first.", "Pipe E (in_a_row n)."),
        "F / E after each event of E": ("Relative (And (Not (prior E every)) E) F.", "Relative E F."),
    },
    ("Sase", "Sase"): {
        "the definition selects what is outside the window": (
            "typed k p && in_window chosen p && forallb",
            "typed k p && forallb",
        ),
        "the definition skips what the strategy selects": (
            "| SkipTillNextMatch => negb (selects chosen k r)",
            "| SkipTillNextMatch => true",
        ),
        "the definition skips within a partition": (
            "| PartitionContiguity => negb (in_partition chosen k r)",
            "| PartitionContiguity => true",
        ),
        "by the definition a window stops nothing": ("((t <? events) && window_over chosen t) ||", "false ||"),
        "by the definition a Kleene plus may always stop": (
            "if (k =? components - 1) && every then true",
            "if true then true",
        ),
        "a take edge without forced stop": (
            "there t && conjunction [negb (theta_forced_stop chosen k t); theta_select false chosen k t].",
            "there t && theta_select false chosen k t.",
        ),
        "an ignore edge without forced stop": (
            "there t && conjunction [negb (theta_forced_stop chosen k t); theta_skip true chosen k t].",
            "there t && theta_skip true chosen k t.",
        ),
        "an ignore edge under strict contiguity": (
            "  | StrictContiguity => false\n  | PartitionContiguity => negb (conj",
            "  | StrictContiguity => true\n  | PartitionContiguity => negb (conj",
        ),
        "a partition by all clauses": ("(filter snd (clauses chosen k))", "(clauses chosen k)"),
        "no auto-stop at the end of the stream": ("if negb (there t) && waits then", "if negb (there t) then"),
        "a proceed edge without auto-stop": (
            "disjunction [theta_begin chosen (k + 1) t; theta_auto_stop chosen k t]",
            "theta_begin chosen (k + 1) t",
        ),
        "the window is not on a begin edge": ("++ if start then [] else theta_window chosen t false", ""),
        "a Kleene plus has no second state": ("if kleene k then Within k else Await (k + 1)", "Await (k + 1)"),
    },
    ("Keys", "Keys"): {
        "two events without a key have one": (
            "  | _, _ => false\n  end.\n\nDefinition one_key",
            "  | _, _ => true\n  end.\n\nDefinition one_key",
        ),
        "a window looks at one side": ("(t - u <=? w) && (u - t <=? w)", "(t - u <=? w)"),
        "times may go back": ("time (S q) = Some u -> t <= u.", "time (S q) = Some u -> t <= t."),
        "the filter asks for no variable": ("Filter event var (In_ event var psi W)", "Filter event var (psi)"),
        "the key is that of the first event": ("equal (key e) (key (S n)).", "equal (key e) (key (S 0))."),
    },
    ("Checker", "Checker"): {
        "the steps from the start are not checked": (
            "(steps_joined R events) (start :: R)",
            "(steps_joined R events) R",
        ),
        "pairs may differ in being final": ("forallb agrees R && forallb", "forallb"),
        "steps of marks of the right set only": ("(enabled (fst r ++ snd r) e)) events", "(enabled (snd r) e)) events"),
        "a set is joined to what includes it": (" && included (closure R Y) (closure R X)", ""),
        "marks are not made one": ("(fun L => match L with [] => [] | _ => [X] end) A.", "(fun L => L) A."),
        "a set grows by pairs it has a state of": ("if included (fst r) X", "if existsb (fun q => member q X) (fst r)"),
    },
}
"""By the files of a construction and of its proof: what is wrong, and the text that is replaced."""


CONSTRUCTING = ("Compile", "Determinize", "Finite", "Expressions", "FiniteExpressions")
AUTOMATON = re.compile(r"^(?:Definition|Fixpoint) (\w+)(?: \([^)]*\))* : (?:cea|comparison|dfa) :=", re.MULTILINE)
CONSTRUCTIONS = {
    **{f"{stem}.v": AUTOMATON.findall((HERE / f"{stem}.v").read_text("utf-8")) for stem in CONSTRUCTING},
    "Evaluate.v": ["enumerate", "add", "extended", "output"],
    "Checker.v": ["grow", "joined", "steps_joined", "checks", "single_variable"],
    "Disjunctive.v": ["filtered", "unless", "disjuncts"],
    "PushFilters.v": ["each", "whole", "filtered"],
    "Sase.v": [
        *("entered", "selects", "skips", "must_stop", "may_stop"),
        *(f"theta_{name}" for name in ("select", "skip", "take", "ignore", "auto_stop", "proceed")),
    ],
    "Derived.v": ["or", "prior", "sequence", "nth", "then_"],
}


@pytest.mark.parametrize(("file", "name"), [(file, name) for file, names in CONSTRUCTIONS.items() for name in names])
def test_an_error_is_planted_in_each_construction(file: str, name: str) -> None:
    definition = statements.coq(file, name)
    assert any(
        old in definition for (stem, _), faults in FAULTS.items() if f"{stem}.v" == file for old, _ in faults.values()
    )


@needs_coq
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("construction", "proof", "fault"), [(*files, fault) for files, faults in FAULTS.items() for fault in faults]
)
def test_an_error_in_a_construction_breaks_its_proof(
    built: Path, tmp_path: Path, construction: str, proof: str, fault: str
) -> None:
    shutil.copytree(built, folder := tmp_path / "mechanised")  # as it was built: make repeats what depends on the file
    old, new = FAULTS[construction, proof][fault]
    source = folder / f"{construction}.v"
    text = source.read_text(encoding="utf-8")
    assert old in text
    source.write_text(text.replace(old, new), encoding="utf-8")
    ran = subprocess.run(["make", "-C", folder, f"{proof}.vo"], capture_output=True, text=True)
    assert ran.returncode != 0
    assert f"{proof}.v" in ran.stderr


def test_the_campaign_finds_a_definition_that_is_wrong(tmp_path: Path) -> None:
    """A program that never has a match disagrees where the definition has one."""
    program = tmp_path / "nothing"
    program.write_text("#!/bin/sh\nwhile read -r question; do echo; done\n", encoding="utf-8")
    program.chmod(0o755)
    outcomes = Counter(outcome(Extracted(program), 0, number)[0] for number in range(20))
    assert outcomes.keys() == {"agree, no match", "DISAGREE"}
