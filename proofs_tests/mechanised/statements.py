"""Writes docs/theory/proved.md: each theorem as the paper has it, in words, and in Coq.

Run as: python -m proofs_tests.mechanised.statements. A test checks that the page is what this module writes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

HERE = Path(__file__).parent
TARGET = HERE.parent.parent / "docs" / "theory" / "proved.md"

HEAD = """# The theorems, side by side

Written by `python -m proofs_tests.mechanised.statements` from the files in Coq.

Each theorem of [The core, proved in Coq](mechanised.md) is shown three times: as the paper's claim, in words, and in
Coq. It holds for all values of the variables of its section. These are shown before it, or before an earlier theorem of
the same file, except these four:

```coq
{common}
```

[That page](mechanised.md#what-is-not-proved) lists what the model leaves out. [The ledger](../claims.md) names the
theorem for each proved claim; [errata](../errata.md) has the errors in print.
"""
COMMON = (
    "Variable event : Type.",
    "Variable var : Type.",
    "Variable var_dec : forall x y : var, {x = y} + {x <> y}.",
    "Variable type_of : event -> var.",
)


@dataclass(frozen=True)
class Statement:
    """A theorem: its title, the paper's words, ours, and the names in Coq of what it needs to be read."""

    title: str
    file: str
    theorem: str
    paper: str
    prose: str
    definitions: tuple[tuple[str, str], ...] = ()

    @property
    def shown(self) -> tuple[tuple[str, str], ...]:
        """The theorem and the definitions, each by its file and name."""
        return ((self.file, self.theorem), *self.definitions)


STATEMENTS = (
    Statement(
        "The meaning of a formula is its words",
        "Bridge.v",
        "valuations_are_words",
        "tods21, Figure 3 gives the valuations of φ over S from i to j.",
        "A word is an interval of the stream in which each event carries its variables. The valuations of φ are "
        "those of its words.",
        (("Bridge.v", "represents"), ("Bridge.v", "spans")),
    ),
    Statement(
        "Theorem 6.2, corrected, and Theorem 7.2",
        "Bridge.v",
        "theorem_6_2_valuations",
        "tods21, Theorem 6.2: for every unary formula φ there is a CEA A with the complex events of φ on every stream. "
        "Theorem 7.2: also for STRICT(φ), NXT(φ), LAST(φ) and MAX(φ).",
        "On every stream, μ is a valuation of φ from i to j if and only if the automaton of φ accepts a word from i "
        "to j whose marks are μ. The cases of :+, ALL, UNLESS, NXT, LAST and MAX are the corrected ones. Theorem 7.2 "
        "is proved for formulas, not for any CEA, and without I/O-determinism and the bounds on size.",
        (("Compile.v", "runs"), ("Compile.v", "accepts")),
    ),
    Statement(
        "Finitely many states",
        "Finite.v",
        "theorem_6_2_finite",
        "tods21, Definition 5.1: a CEA has a finite set of states. Theorem 6.2 is about such automata.",
        "For every formula there is an automaton that accepts exactly its words, and a list of all states that its "
        "runs can reach.",
        (("Finite.v", "has_states"),),
    ),
    Statement(
        "Proposition 5.5",
        "Determinize.v",
        "proposition_5_5",
        "tods21, Proposition 5.5: CEA are closed under I/O-determinization.",
        "The automaton of subsets is I/O-deterministic and accepts the same words, up to the order in which "
        "marks are written. Its states are lists; a run may reach infinitely many lists of the same states.",
        (("Determinize.v", "io_deterministic"), ("Determinize.v", "determinized")),
    ),
    Statement(
        "Proposition 5.5, with finitely many states",
        "Finite.v",
        "proposition_5_5_finite",
        "tods21, Definition 5.1 and Proposition 5.5: of a CEA with n states, an I/O-deterministic one with "
        "2^n at most.",
        "If a list has all states that A can reach, its sublists are all states that the automaton of subsets can "
        "reach, each subset written in one way. So every formula has an I/O-deterministic automaton of finitely many "
        "states (`deterministic_finite`).",
        (("Finite.v", "ordered"), ("Finite.v", "subsets"), ("Finite.v", "deterministic_finite")),
    ),
    Statement(
        "Algorithm 2",
        "Evaluate.v",
        "algorithm_2",
        "tods21, section 9: Algorithm 2 puts out after each event the complex events that the automaton accepts there.",
        "After the events es, the output is the traces of the accepted words over es.",
        (("Evaluate.v", "update"), ("Evaluate.v", "enumerate")),
    ),
    Statement(
        "Algorithm 1",
        "Evaluate.v",
        "no_repetitions",
        "tods21, section 9: Algorithm 1 enumerates each complex event once, if the automaton is I/O-deterministic.",
        "A trace is a list of positions with marks. If there is one initial state, and one step for each event and "
        "each way to write marks, no trace is in the output twice. The paper's claim is about a CEA in normal form, "
        "I/O-deterministic and with a single variable, whose complex events are sets of positions. Here, traces with "
        "the same positions and different marks are different.",
    ),
    Statement(
        "A formula, evaluated: its meaning",
        "Enumerated.v",
        "put_out_is_meaning",
        "tods21, Theorem 6.2, Proposition 5.5 and Algorithms 1 and 2 together: the evaluation of a query puts out its "
        "meaning.",
        "After the event at j, the valuations in the output are those of φ over S from 0 to j.",
        (("Enumerated.v", "put_out"), ("Enumerated.v", "bound")),
    ),
    Statement(
        "A formula, evaluated: nothing twice",
        "Enumerated.v",
        "put_out_once",
        "tods21, Proposition 5.5 and Algorithm 1: each is put out once.",
        "Two places in the output after an event have different valuations. So each valuation is there once, and "
        "each complex event, the set of positions of a valuation, once for each of its valuations.",
    ),
    Statement(
        "The order of NXT is total",
        "Selection.v",
        "next_linear",
        "tods21, Lemma 7.1; cep17, Lemma 1: the order of NXT is total.",
        "Of two valuations of one interval one is greater, or they have the same events. The order is irreflexive "
        "and transitive by `next_order` in Strategies.v.",
        (("Selection.v", "linear"), ("Strategies.v", "next_less")),
    ),
    Statement(
        "The order of LAST is total",
        "Selection.v",
        "last_linear",
        "tods21, Lemma 7.1: the order of LAST is total.",
        "The same for the order that the last differing position decides; see also `last_order` in Strategies.v.",
        (("Strategies.v", "last_less"),),
    ),
    Statement(
        "The checker of certificates",
        "Checker.v",
        "certified_valuations",
        "[Are two queries the same?](equivalence.md): a certificate that the checker accepts proves its claim.",
        "If the list has an event of each type, and the checker accepts, then on every stream the two formulas have "
        "the same valuations, or the right formula has all valuations of the left. `certified_events` says this of "
        "complex events.",
        (
            ("Checker.v", "proves"),
            ("Checker.v", "checks"),
            ("Checker.v", "steps_joined"),
            ("Checker.v", "joined"),
            ("Checker.v", "covers"),
        ),
    ),
    Statement(
        "The disjunctive normal form",
        "Disjunctive.v",
        "disjunctive_equal",
        "[Normal forms](../guide/normal-forms.md): the disjunctive normal form has the same valuations.",
        "A formula and its disjunctive normal form mean the same. No disjunct has an OR, except inside iterations "
        "and strategies (`disjuncts_have_no_or`). `disjunctive` and the other functions are in the same file.",
        (("Rules.v", "equal"), ("Disjunctive.v", "conjunctive"), ("Disjunctive.v", "disjuncts_have_no_or")),
    ),
    Statement(
        "Filters, pushed down",
        "PushFilters.v",
        "push_filters_equal",
        "[Normal forms](../guide/normal-forms.md): with its filters pushed down a formula has the same valuations.",
        "A formula and what `push_filters` makes of it mean the same. In this form, each filter of one atom stands "
        "on an event type or on NXT, LAST or MAX (`filters_are_pushed`). `push_filters` is in the same file.",
        tuple(("PushFilters.v", name) for name in ("ground", "pushed", "filters_are_pushed")),
    ),
    Statement(
        "Theorem 1",
        "Expressions.v",
        "theorem_1",
        "vldb92, Theorem 1: the last event occurrence of h is in E[h] iff the deterministic automaton of E "
        "is in an accepting state "
        "after scanning h.",
        "As printed, with F /+ E as corrected and !E and prefix(E) as the ledger reads them. The premise `searched "
        "E` says that for each prefix in E a search of the graph, of as many events as the operand has states, finds "
        "out whether a state is viable. It holds without prefix, and over finitely many types of events, all in "
        "`letters` (`all_searched`).",
        tuple(("Expressions.v", name) for name in ("meaning", "accepts", "viable", "within", "size", "automaton"))
        + tuple(("Expressions.v", name) for name in ("searched", "prefix_free", "prefix_free_searched"))
        + (("FiniteExpressions.v", "all_searched"),),
    ),
    Statement(
        "Corollary 1",
        "Expressions.v",
        "corollary_1",
        "vldb92, Corollary 1: E[h] contains exactly the event occurrences o such that the automaton is in an "
        "accepting state "
        "immediately after scanning o.",
        "As printed. The induction proves this: Theorem 1 alone would not suffice for the operators that look into a "
        "history.",
        (("Expressions.v", "describes"), ("FiniteExpressions.v", "corollary_1_finite")),
    ),
    Statement(
        "Theorem 1, with finitely many states",
        "FiniteExpressions.v",
        "theorem_1_finite",
        "vldb92, Theorem 1 is about finite automata.",
        "Over finitely many types of events, or without prefix: for every expression there is an automaton "
        "as in Theorem 1, "
        "and a list, of bounded length, with all states that it can reach.",
        (("FiniteExpressions.v", "has_states"),),
    ),
    Statement(
        "Derived operators",
        "Derived.v",
        "meaning_sequence",
        "vldb92, section 2.3, items a to p: what each derived operator is, and an expression that defines it.",
        "By its definition, sequence(E, F) is F at the event just after an event of E. The other lemmas say the same "
        "of other operators, by the text of their items and the corrected definitions. Histories have no start event "
        "here. Three lemmas need `searched`, as Theorem 1 does.",
        (
            *(
                ("Derived.v", name)
                for name in ("every", "or", "prior", "first", "sequence", "in_a_row", "nth", "then_")
            ),
            *(("Derived.v", name) for name in ("first_after", "before", "happened", "series")),
            *(("Derived.v", f"meaning_{name}") for name in ("or", "prior", "first", "nth", "then", "first_after")),
            *(("Derived.v", f"meaning_{name}") for name in ("before", "happened", "series")),
        ),
    ),
    Statement(
        "Runs and positions say the same",
        "Sase.v",
        "runs_are_matches",
        "sase07, Lemma A.1 and section 2.2: a query has an equivalent automaton.",
        "The buffers of the accepting runs are the matches of the [declarative definition](sase.md), for each of the "
        "four strategies and all readings of how a Kleene plus skips and stops. The definition's conditions and the "
        "formulas on the edges are written separately. Both take as variables the clauses of WHERE that look at an "
        "event and whether they hold (`clauses`, `ends`), types, WITHIN and !. So this is Lemma A.1 without the part "
        "that places the clauses on edges.",
        (
            *(
                ("Sase.v", name)
                for name in ("selects", "in_partition", "skips", "must_stop", "passes", "may_stop", "stops")
            ),
            ("Sase.v", "is_match"),
            *(
                ("Sase.v", f"theta_{name}")
                for name in ("window", "select", "begin", "skip", "ignore_first", "forced_stop", "take", "ignore")
            ),
            *(("Sase.v", name) for name in ("theta_auto_stop", "theta_proceed", "by_formulas", "is_buffer")),
        ),
    ),
    *(
        Statement(
            title,
            "Keys.v",
            theorem,
            "tods21, section 4: PARTITION BY and WITHIN are filters across events.",
            prose,
            shown,
        )
        for title, theorem, prose, shown in (
            (
                "A partition around a match is a filter on single events",
                "partition_is_a_filter",
                "If every match of ψ ends with event n, the matches with one key are those whose events all have the "
                "key of n. `filtered` binds W to all events of the match, as the definition of PARTITION BY does.",
                (("Keys.v", "equal"), ("Keys.v", "one_key"), ("Keys.v", "same_key"), ("Keys.v", "filtered")),
            ),
            (
                "A window around a match is a filter on single events",
                "window_is_a_filter",
                "If times never decrease, the matches that fit in a window are those whose events are all near n.",
                (("Keys.v", "apart"), ("Keys.v", "in_window"), ("Keys.v", "ordered"), ("Keys.v", "near")),
            ),
            (
                "Two keys are enough",
                "two_keys_are_enough",
                "For any choice of events that have the key of the last event, there is a stream with two keys. So "
                "queries that differ for some keys differ for two.",
                (),
            ),
            (
                "All zones that come nearer are real",
                "zones_are_real",
                "A zone says in which windows an event is near the last event. For any choice of zones in which "
                "later events are as near or nearer, there is a stream whose times never decrease.",
                (),
            ),
        )
    ),
)


def coq(file: str, name: str) -> str:
    """The definition, or the statement of the theorem, as it stands in the file."""
    text = (HERE / file).read_text(encoding="utf-8")
    found = re.search(
        rf"^(?:Theorem|Corollary|Lemma|Definition|Fixpoint) {name}\b.*?(?:\.|\|\}}\.)$(?=\n)",
        text,
        flags=re.DOTALL | re.MULTILINE,
    )
    if found is None:
        raise ValueError(f"{file} has no {name}")
    return found[0]


def premises(file: str, name: str) -> str:
    """Return the variables of the sections that are open where the definition or theorem stands, but for COMMON."""
    text = (HERE / file).read_text(encoding="utf-8")
    sections: list[list[str]] = [[]]
    for line in text[: text.index(coq(file, name))].splitlines():
        if line.startswith("Section "):
            sections.append([])
        elif line.startswith("End "):
            sections.pop()
        elif line.startswith(("Variable ", "Variables ")):
            sections[-1].append(re.sub(r" {2,}", "  ", line))
    return "\n".join(line for lines in sections for line in lines if line not in COMMON)


def section(statement: Statement, known: set[tuple[str, str]]) -> str:
    """Return a theorem, three times, without the `known` variables that earlier theorems of its file have shown."""
    variables = premises(*statement.shown[0])
    if (statement.file, variables) in known:
        variables = ""
    known.add((statement.file, variables))
    link = f"[`{statement.file}`](../../proofs_tests/mechanised/{statement.file})"
    parts = [
        f"## {statement.title}",
        f"*Claim.* {statement.paper}",
        f"{statement.prose}",
        f"{link}:",
        "```coq\n" + "\n\n".join(filter(None, (variables, coq(*statement.shown[0])))) + "\n```",
    ]
    if statement.definitions:
        parts.append("where")
        for file, names in groupby(statement.definitions, lambda place: place[0]):
            texts = "\n\n".join(coq(file, name) for _, name in names)
            source = "" if file == statement.file else f"(* {file} *)\n"
            parts.append(f"```coq\n{source}{texts}\n```")
    return "\n\n".join(parts)


def page() -> str:
    """The text of the page."""
    known: set[tuple[str, str]] = set()
    sections = [section(statement, known) for statement in STATEMENTS]
    return "\n\n".join([HEAD.format(common="\n".join(COMMON)).rstrip(), *sections]) + "\n"


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
