"""The errata of the papers: what an erratum is, those of each paper, and the page that is made of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# ---- markdown ----
# Text of the ledger as Markdown has it.

SIGNS = re.compile(r"[\\|*_\[\]<]")
CODE = re.compile(r"(`[^`]*`)")


def escaped(text: str) -> str:
    """Neither | nor * nor _ nor [ nor < taken for a sign, and no link; what stands between backticks stays."""
    parts = CODE.split(text)
    parts[::2] = [SIGNS.sub(r"\\\g<0>", part).replace("](", "]\\(") for part in parts[::2]]
    return "".join(parts)


def code(text: str) -> str:
    """In code type, on one line."""
    return f"`{' '.join(text.split())}`"


def codes(ids: tuple[str, ...]) -> str:
    """All of them in code type, with commas."""
    return ", ".join(map(code, ids))


# ---- erratum ----
# What an erratum is: the part that is told, beside the claims whose checks find the rest.

TEXTS = {
    "tods21": "the authors' version (49 pages), dated January 2021 in its reference line, with references accessed "
    "in June 2021, as text that was read from its annotated pages",
    "cep17": "a web version of arXiv:1709.05369, whose formulas and listings are lost",
    "sase07": "the technical report, as text that was read from its pages; Queries 2 to 5 are lost",
    "icde08": "the short paper (ICDE 2008, pages 1391 to 1393), as text that was read from its pages",
    "vldb92": "a scan of the proceedings, as text that was read from it",
    "vldb22": "the abstract, and the source of the engine",
    **dict.fromkeys(("icdt22", "icdt20", "icdt25", "pods25", "acel26", "vldb23", "vldb24"), "the abstract"),
    "sigmod14": "the title",
    "eql": "the documentation of Elasticsearch 8, and for until the source of its SequenceMatcher, read and not run",
}
"""Which copy of a paper was read."""


@dataclass(frozen=True)
class DamagedText:
    """Claims of one paper that fail as the copy at hand has them, where damage of that copy would explain it.

    They are no errata: no other copy that settles what was printed is at hand. mended is what was read in the place of
    what the copy has, where the check of the claim does not say it: a sign that is lost, or is another one beside.
    """

    claims: tuple[str, ...]
    printed: str
    damage: str
    mended: str | None = None


@dataclass(frozen=True)
class Erratum:
    """Claims of one paper that fail together. Their status, counterexample and correction are what their checks find.

    The texts are Markdown: what is printed, whether damage of the copy that was read (TEXTS) would explain it, why it
    fails where the counterexample does not say that by itself, and what becomes of the result.
    """

    title: str
    claims: tuple[str, ...]
    printed: str
    outcome: str
    why: str | None = None
    damage: str = "No: one sign more or less would not correct it."

    @property
    def paper(self) -> str:
        return self.claims[0].partition(".")[0]

    @property
    def anchor(self) -> str:
        """The anchor of its heading, as GitHub and MyST make it."""
        return re.sub(r"[^\w\- ]", "", self.title.lower()).replace(" ", "-")


# ---- case ----
# A counterexample of the ledger, as a person reads it: a line for the query, one for the stream, and both results.

LABELS = {
    "at": "position",
    "events": "stream",
    "got": "as printed",
    "expected only": "expected, and not as printed",
    "got only": "as printed, and not expected",
    "why": "since",
}
AS_CODE = ("query", "compared with", "relaxed by")


def lines(case: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """The parts of a counterexample as items of a Markdown list."""
    for key, value in case.items():
        label = f"{indent}- {escaped(LABELS.get(key, key))}:"
        if isinstance(value, Mapping) and "events" in value:
            yield label
            yield from lines(value, indent + "  ")
        else:
            yield f"{label} {_value(key, value)}"


def _value(key: str, value: Any) -> str:
    match value:
        case []:
            return "nothing"
        case [{"type": _}, *_]:
            return code(" ".join(map(_event, value)))
        case {"transitions": transitions, "initial": initial, "final": final}:
            return f"{code(', '.join(map(_transition, transitions)))}; initial {_and(initial)}, final {_and(final)}"
        case Mapping():
            return ", ".join(f"{escaped(name)} {_value(name, part)}" for name, part in value.items())
        case str() if key in AS_CODE:
            return code(value)
        case str():
            return escaped(value)
        case [str(), *_]:
            return ", ".join(map(code, value))
        case [Mapping(), *_]:
            return "; ".join(_value(key, part) for part in value)
        case [list() | tuple(), *_]:
            return ", ".join(map(_match, value))
        case list():
            return _and(value)
        case _:
            return str(value)


def _event(event: Mapping[str, Any]) -> str:
    """A type, and the attributes if it has some: A(x=1)."""
    attributes = ", ".join(f"{name}={value}" for name, value in event.items() if name != "type")
    return f"{event['type']}({attributes})" if attributes else event["type"]


def _transition(t: Mapping[str, Any]) -> str:
    """Source, • with a mark or ◦ without, and target."""
    on = "" if t["on"] == "any" else f" on {t['on']}"
    return f"{t['from']} {'•' if t['mark'] else '◦'} {t['to']}{on}"


def _match(found: Sequence[Any]) -> str:
    """A complex event, {0, 1}; or a valuation, whose variables have names: {A: 0, 1; X: 0}."""
    positions: dict[str, list[int]] = {}
    for at in found:
        variable, position = at if isinstance(at, list | tuple) else ("•", at)
        positions.setdefault(variable, []).append(position)
    unnamed = positions.keys() <= {"•"}
    parts = [", ".join(map(str, at)) if unnamed else f"{X}: {', '.join(map(str, at))}" for X, at in positions.items()]
    return "{" + "; ".join(parts) + "}"


def _and(values: Sequence[Any]) -> str:
    return ", ".join(map(str, values))


# ---- cep17 ----
# Errata of cep17.

NOTE = """\
Our copy has lost the formulas and listings, so we checked what the text around them says. A claim that fails and
depends on a lost formula or listing is among the damaged texts. There are two exceptions. For the automata of NXT and
LAST the fault is in the words that remain. In Lemma B.12 and in Theorems 2 and 3 it is the meaning of +: each round
chooses anew the variables that are defined in the operand outside of any further +; section 3 introduces vdef+ for
them."""

PLUS_LOST = (
    "Perhaps of the clause of +, which is lost; but not of section 3, which introduces vdef+ for it. Appendix C.2 does "
    "not say which variables are chosen anew; if they were the bound ones of section 5.1, there would be no "
    "counterexample."
)

ERRATA = (
    Erratum(
        "The proof of Lemma B.12",
        ("cep17.lemB.12:proof",),
        "A disjunct that is not safe matches nothing, and so it can be removed.",
        "Lemma B.12 stands, and Theorem 1 with it: only this step of the proof changes",
        "With the disjunct a definition of a variable is removed too. In the rest of the formula the variable is then "
        "no longer chosen anew: see [normal forms](decisions/normal-forms.md).",
        damage=PLUS_LOST,
    ),
    Erratum(
        "Theorems 2 and 3, well-formed formulas",
        ("cep17.thm2", "cep17.thm3"),
        "Theorem 3: for every well-formed formula in unary core-CEL there is an equivalent CEA. Theorem 2: there is an "
        "equivalent formula in LP-normal form. Well-formed: each filter is in a formula that binds its variables.",
        "Theorems 2 and 3 stand, for formulas in which no + between a filter and the binding of its variable chooses "
        "it anew",
        "Each round of + chooses x anew: the semantics in section 3 uses vdef+, the variables that are defined "
        "outside of any +; bound variables come only in section 5.1. In a round that takes a B, x may be any event of "
        "the stream. So a match may depend on later events, which section 5.1 wants to exclude. By the proof of "
        "Theorem 2 the subformula can be rewritten with a new variable. But then the filter is about the x outside; "
        "or, if x is renamed in the filter too, nothing binds the filter's variable there: see "
        "[core-CEL](decisions/core-cel.md). No other formula in LP-normal form is equivalent, if each predicate is "
        "about one event. Every filter is then about the event that its R AS x takes, so these events alone decide "
        "whether they match. A CEA does not read events after a match either.",
        damage=PLUS_LOST,
    ),
    Erratum(
        "Appendix C.3.2, the automaton of NXT",
        ("cep17.appC.3:nxt",),
        "The second condition on a transition checks that the next state could not have been reached from a higher "
        "run. (q, T) is final if q is final and all higher sets of T satisfy a condition, which we take to be that "
        "they have no final state.",
        "Theorem 4 stands, with one new final state",
        "A complex event ends with a mark (section 6). A higher run that ends with a step without a mark is not a "
        "rival at this position, but still forbids the marking step to its state. Here after one event {0} is in "
        "state 1, above the empty complex event in state 0. At the second event state 1 is reached from 1 without a "
        "mark, so the marking step from 0 to 1 is forbidden. So no run has {1}, whichever states are final. Proof "
        "C.15 argues by contradiction for the second condition and compares runs that continue in the same way. For i "
        "= n nothing comes after, and the last step of the rival may have no mark.",
        damage="Not likely: the conditions are formulas, which are lost, but the fault is also in the words about the "
        "second condition and in the proof; and no set of final states corrects it.",
    ),
    Erratum(
        "Appendix C.3.3, the automaton of LAST",
        ("cep17.appC.3:last", "cep17.lemC.14:last"),
        'Of the five conditions on a transition "the only condition that changes" compared with NXT is the third. So '
        "the second condition still forbids each step to a state that a higher set reaches, with or without a mark.",
        "Theorem 4 stands, with another second condition",
        "No second condition about the given sequence of sets is right for both strategies. Let p in the first set "
        "reach q without a mark, and r in the second set reach q with a mark. Then NXT has to forbid the step of r, "
        "and LAST has to allow it. Algorithm 6 is right.",
        damage="Perhaps of condition 2: its formula is lost. The loss would explain the fault if the condition were "
        "about the new sequence, which the third condition defines. But the copy still has the words *for every … and "
        "…*, which fit each higher set and each mark.",
    ),
    Erratum(
        "Section 8.2, Figure 5",
        ("cep17.fig5",),
        "Section 8.2: selection strategies produce at most one output for each event.",
        "a remark that is right for NXT and LAST, and wrong for STRICT and MAX",
        "Of two matches that end at the same event, neither has to contain the other, and both may have no gaps. "
        "Section 4 has an example in which MAX has two matches. The experiment is about two strategies, whose names "
        "are lost; for NXT and LAST the remark is right.",
    ),
)

DAMAGED = (
    DamagedText(
        ("cep17.alg5",),
        "Appendix D.3.1: a new final state, and a transition to it for each transition that leads to a final state.",
        "Lost signs, which may have said that only marking transitions are meant.",
    ),
    DamagedText(
        ("cep17.alg8",),
        "Appendix D.3.4: line 13 adds a node, which we take to be the sink, to the list of the state that the empty "
        "run has reached; *add* puts it at the beginning of the list (section 7.2).",
        "The listing is lost; line 13 may have used another method.",
    ),
)


# ---- sase ----
# Errata of sase07; icde08 has none.

SASE_NOTE = """\
A match is given by the positions of each component. How we interpret the paper, and why: [SASE+](decisions/sase.md). We
read Theorems 4.3 and 4.5 as statements about partitions by equivalence tests."""
NOTE_OF_ICDE08 = """What `icde08.break` says about ! holds in the interpretations that [claims](claims.md) gives; others
are in [SASE+](decisions/sase.md)."""

DEFINITION = "a definition, in which an index or an identifier changes"

SASE_ERRATA = (
    Erratum(
        "Appendix A.2, the identifiers on an edge",
        ("sase07.def-nfab",),
        "The identifiers on an edge are those up to its state. Take and ignore edges of a have neither `a.len` nor an "
        "aggregate of a[]; the proceed edge may have them.",
        DEFINITION,
        "Figure 2 itself differs from this, also for `θ_a[i]_ignore`, and so does section 3.2. If the last condition "
        "is `b.volume < avg(a[].volume)`, the two edges have an aggregate of all of a[].",
    ),
    Erratum(
        "Appendix A.2, the moves of a run",
        ("sase07.def-run",),
        "The proceed move has `a.len = n`, the begin move `θ_{t_k}_begin`, and the take and proceed moves `e_{v_n}`.",
        DEFINITION,
        "In the state `a[n]` the event `a[n]` is only examined, but the printed move treats it as the last selected "
        "event. A begin edge has the condition of the state that it leaves, t_{k−1}; the printed move uses that of "
        "the state that it enters. Taken literally, no run leaves the state in which it begins, since no edge has a "
        "begin condition of a[i]; so no run is accepting. The results *as printed* therefore use the printed proceed "
        "move with the corrected begin move.",
        damage="Not all of it: an index may have been misread, but `a.len = n` lacks a whole `− 1`.",
    ),
    Erratum(
        "Footnote 3, aggregates",
        ("sase07.aggregates",),
        "Section 2.2.4 has count, sum, avg, min, max, highest k and lowest k, and footnote 3 says that aggregates are "
        "the associative binary operations with an identity, for which there is an NC1 algorithm.",
        "the results stand: all aggregates are such operations on states, to which values are mapped first; for avg "
        "the last step is a quotient",
        "The average of two averages ignores how many values each of them is from. Taken literally, count is not an "
        "operation on values either: of two values it is 2, and of this 2 and a third value it is 2 again. highest k "
        "and lowest k return lists of values, and min and max have no identity if values are unbounded. The footnote "
        "does not mention states. Only the wording of the footnote has to be corrected, no result.",
    ),
    Erratum(
        "Lemma 4.2, the word problem of S5",
        ("sase07.lem4.2",),
        "Proof of Lemma 4.2: an aggregate that computes π(v) from v and π, with v = 1 at the beginning and the end.",
        "Lemma 4.2 stands, with another aggregate",
        "v = 1 at both ends means that the product fixes 1, not that it is the identity; and π(v) is not an "
        "associative operation on v, as aggregates have to be. Theorem 4.3 needs only a part of the lemma, which "
        "stands: in Barrington's reduction the product is the identity or a cycle of all five, which moves 1. So the "
        "question whether the product fixes 1 is also complete for NC1.",
    ),
)

SASE_DAMAGED = (
    DamagedText(
        ("sase07.thm4.1:1-2",),
        "Theorem 4.1: a set of words A ⊆ Σ* is regular exactly if a query without aggregation and negation recognizes "
        "it. But a match has at least one event: by appendix A.2 a run begins with 1 ≤ j_1 ≤ n, which is impossible "
        "on the empty stream.",
        "* instead of + in A ⊆ Σ*; or the authors did not consider the empty word.",
    ),
    DamagedText(
        ("sase07.lem4.4:oREACH",),
        "Lemma 4.4 has REACH_d, which is not defined, for skip till any match.",
        "A lost o, and the index of the sentence before, repeated; the proof has the general case there.",
        "oREACH",
    ),
    DamagedText(
        ("sase07.fig2", "sase07.tab1"),
        "Figure 2 and Table 1: `a[i].price > avg(a[i-1].price)`, four times: the average of one price.",
        "Two lost dots: section 2.2.2 cites Query 3 with `avg(a[..i-1].price)`.",
    ),
)


# ---- tods21 ----
# Errata of tods21.

ITEM = "Not likely: a whole item of the list of cases would be lost."
THEOREM_6_2 = "Theorem 6.2 stands, with other constructions"
PROPOSITION_8_12 = (
    "Proposition 8.12 stands for the formulas that we checked, with one more case and second names for variables"
)

TODS21_ERRATA = (
    Erratum(
        "Theorem 6.2, contiguous iteration",
        ("tods21.thm6.2:cplus",),
        "For ψ⊕, a fresh state q between rounds. Marking transitions into a final state may enter q, and marking "
        "transitions out of an initial state may leave it.",
        THEOREM_6_2,
        "A round of a single event would have to lead from q back to q. In both printed sets, each transition has one "
        "end in the automaton of ψ. So a round of one event can be the first or the last round, but not one in the "
        "middle.",
        damage="No: a whole set of transitions is missing, and the words do not mention it either.",
    ),
    Erratum(
        "Theorem 6.2, UNLESS",
        ("tods21.thm6.2:unless",),
        "The automaton of ψ1 runs in parallel with the determinized automaton of π∅(ψ2), and accepts if the latter "
        "does not.",
        THEOREM_6_2,
        "The printed automaton only tests whether ψ2 has a match on the whole interval that is read. Figure 3 "
        "requires this for every interval inside.",
    ),
    Erratum(
        "Theorem 6.2, ALL",
        ("tods21.thm6.2:all",),
        "A product in which one operand may move alone while the other is in an initial or a final state.",
        THEOREM_6_2,
        "If one operand has ended and the other has not begun, neither may wait. So no event can come between the "
        "two. This makes no difference if an operand skips events before its first event by itself; with START around "
        "the operand it does.",
    ),
    Erratum(
        "Theorem 6.3",
        ("tods21.thm6.3",),
        "For a transition (q, P, L, q') the formula `ψ = π_L((R1 OR … OR Rr) IN (L ∪ {A}) FILTER P(A))` with a fresh "
        "variable A. The formulas are joined with `:` and ⊕, and START is put around the whole.",
        "Theorem 6.3 stands, and Corollary 6.4 with it",
        "If L is empty, π_L leaves a valuation that binds nothing. Then a skipped event has no first and last "
        "position for `:` to compare. In any reading, START requires that the first *bound* event is the first "
        "event of the stream. So an automaton could not begin by skipping events.",
        damage="No: π_L and START are in the formulas, and the words explain both.",
    ),
    Erratum(
        "Theorem 7.2, NXT, LAST and MAX",
        ("tods21.thm7.2:nxt", "tods21.thm7.2:last", "tods21.thm7.2:max"),
        "States (R, W), or (R, W, T): R for runs with the same valuation as the present run, W for runs that win over "
        "it, T for runs that lose to it.",
        "Theorem 7.2 stands, with other constructions",
        "A run with the same support but other variables is in none of the sets. So if it wins later, this is not "
        "noticed. The paper states invariants of these sets, but does not prove them. If all marks of the automaton "
        "are the same set of variables, there is no such run, and the construction is right.",
        damage="No: the invariants in words are about the same sets.",
    ),
    Erratum(
        "Theorem 7.2, the size of STRICT",
        ("tods21.thm7.2:strict-size",),
        "If A is I/O-deterministic, the automaton of STRICT is of size at most linear. It has a transition for each "
        "type of the predicates of A.",
        "Theorem 7.2 stands; the remark holds with predicates instead of their types",
        "n independent predicates have 2^n types, and a transition of A becomes one transition for each type in which "
        "its predicate is true. For each state of A at most 3 states are reached (not counting those of the empty "
        "set).",
        damage="No: the text says that P is a type for Δ(R, P, L), and again for NXT.",
    ),
    Erratum(
        "Theorem 7.2, the number of transitions of NXT",
        ("tods21.thm7.2:nxt-size",),
        "Each state of the automaton of NXT has 2 · 2^|Δ| possible transitions, two for each type of the predicates of "
        "A; so |Δ_NXT| ≤ |Q_NXT| · 2 · 2^|Δ|.",
        "Theorem 7.2 stands, with a larger exponential bound",
        "By the definition of Δ_NXT a state has a transition for each type and each set of variables, the empty set "
        "included; the same page says so about I/O-determinism. With one non-empty set of variables these are two "
        "transitions for each type.",
        damage="No: the words have the same factor.",
    ),
    Erratum(
        "Proposition 8.12, the rewriting of contiguous sequences",
        ("tods21.prop8.12:containment",),
        "Cases for `;`, FILTER, OR, + and event types on either side of `:`.",
        PROPOSITION_8_12,
        "The inner `:` becomes `STRICT(A ; A)`. There is no case for `A : STRICT(A ; A)`.",
        damage=ITEM,
    ),
    Erratum(
        "Proposition 8.12, a filter taken out of a sequence",
        ("tods21.prop8.12:filter",),
        "Appendix B: `(ρ FILTER P(A)) : φ2` becomes `(ρ' : φ2) FILTER P(A')`, where A is replaced by A' in ρ'. A "
        "filter above that mentions A is added once more, with A' instead of A (the text prints P for its predicate).",
        PROPOSITION_8_12,
        "The proposition is for any set of predicates. But a predicate that relates the events of A to each other "
        "requires less if it is applied to two parts of them separately. Also, if A is an event type, ρ' is not a "
        "formula. For predicates on one event, on a variable that IN binds, the proposition is right.",
    ),
    Erratum(
        "Proposition 8.15, the rewriting of contiguous iteration",
        ("tods21.prop8.15",),
        "The rewriting of `:` and ⊕ by cases, with those of Proposition 8.12.",
        "Proposition 8.15 stands for pointwise filters and the formulas that we checked, with two more cases",
        "As in Proposition 8.12, there is no case for a STRICT as an operand of `:`. Also, an operand of an OR may be "
        "an OR itself, as in ((A OR B) OR A)⊕; there is no case for this.",
        damage=ITEM,
    ),
    Erratum(
        "Theorem 9.1 and Algorithm 1, the delay",
        ("tods21.thm9.1",),
        "Algorithm 1: line 7 calls ENUMERATE for the rest of the list. The text says that the number of backtracking "
        "steps is at most the size of the last output.",
        "Theorem 9.1 stands, with line 7 as a loop",
        "Each node of a list is handled by a separate call, and the calls return one by one. So the time between two "
        "outputs grows with the lengths of the lists, which the length of an output does not bound. The text around "
        "the listing says that the algorithm iterates over the list; this must be meant. With line 7 as a loop, or if "
        "tail calls are eliminated, there is one call for each event of the output.",
    ),
    Erratum(
        "Proposition 8.13, STRICT below STRICT",
        ("tods21.prop8.13",),
        "Appendix C: an induction over the formulas of CEL* with STRICT, with cases for R, IN, `;`, FILTER, OR and +.",
        "Proposition 8.13 stands, with one more case",
        "The operand of STRICT may be a STRICT itself; there is no case for this. The inner STRICT changes nothing.",
        damage=ITEM,
    ),
    Erratum(
        "Section 9.1, the delay of an empty output",
        ("tods21.sec9.1:delay",),
        "If ⟦A⟧_n(S) is not empty, then delay_i(A, S, n) ≤ k · |C_i| for each i.",
        "the definition stands, with the size of C_i plus one",
        "A complex event may be empty (section 4), if a run marks nothing. Then k · |C_i| = 0 allows no delay at all. "
        "If all outputs have an event, the printed and the corrected bound are equivalent, with another k.",
    ),
    Erratum(
        "Section 9.1, the delay where nothing is output",
        ("tods21.sec9.1:empty",),
        "If ⟦A⟧_n(S) is empty, then delay_i(A, S, 1) = k.",
        "the definition stands, as the words after it say",
        "The words after the formula say that the delay is constant if ⟦A⟧_n(S) is empty. #C_1#...#C_m# with m = 0 is "
        "a single #, but a delay is between two of them; we assume that two are written.",
        damage="No: two indices and a sign differ; the text has i instead of 1, 1 instead of n, and = instead of ≤.",
    ),
    Erratum(
        "Section 9.2, equation (**)",
        ("tods21.thm9.1:recursion",),
        "From ⟦A⟧_{i−1} to ⟦A⟧_i by Δ(p, t_i, •), adding i, where ⟦A⟧_i is about t_0 … t_{i−1}.",
        "the proof of correctness stands, with the other index",
        damage="No: the index is the same in all places of the equation and of the words after it.",
    ),
)


TODS21_DAMAGED = (
    DamagedText(
        ("tods21.prop5.5:size",),
        "The proof of Proposition 5.5: A' has 2^|Q'| states, and |A'| = O(2^(2|A'|)).",
        "Superfluous primes, of |Q|, |P|, |Δ| and |A|, or a slip of the authors: a bound on |A'| by |A'| itself says "
        "nothing.",
        "2^|Q| states, and |A'| = O(2^(2|A|))",
    ),
    DamagedText(
        ("tods21.window4",),
        "Section 4: Q requires first − last < 100, which is true for every non-empty set (see "
        "[windows](decisions/windows.md)).",
        "Two lost bars: |first − last| < 100. (If the order is a slip of the authors, it is an erratum.) The words "
        "beside the formula speak of a distance of at most 100, which is a window of 101 events.",
    ),
    DamagedText(
        ("tods21.fig3:seq",),
        "Figure 3 has φ1 : φ2 on the left of the clause of ;.",
        "A `:` instead of ;. The clause of `:` is there too, with the last condition that section 3 requires for it.",
        "φ1 ; φ2 on the left",
    ),
    DamagedText(
        ("tods21.fig3:plus", "tods21.fig3:cplus"),
        "Figure 3 has φ + φ and φ ⊕ φ on the left, which are not formulas, and φ : φ+ on the right of the first.",
        "A letter that was read twice, and `:` instead of ;. By section 3, + does not require contiguity, and ⊕ does.",
        "φ+ and φ⊕ on the left, φ ; φ+ on the right of the first",
    ),
    DamagedText(
        ("tods21.cor8.6:cseq",),
        "Corollary 8.6 has a dot among the operators.",
        "A dot instead of `:`, which the paragraph before the corollary has.",
        "`:`",
    ),
    DamagedText(
        ("tods21.prop8.12:in-cseq",),
        "Appendix B has OP ∈ {;, , OR}: nothing stands between two commas.",
        "A lost `:`; the formulas are those of CEL* and `:`.",
        "OP ∈ {;, `:`, OR}",
    ),
    DamagedText(
        ("tods21.prop8.12:strictness",),
        "Appendix B: an event is inserted at some i with min(sup(μ)) ≤ i < max(sup(μ)), before the event at i. At "
        "min(sup(μ)) this separates no events of the match, so STRICT(A+) is strict-bounded itself.",
        "≤ instead of the first <: in the proof the event is in the middle.",
    ),
    DamagedText(
        ("tods21.prop8.12:example",),
        "Section 8.2 has R ; (STRICT(T ; U) OR T+ STRICT(T ; U)), which is not a formula.",
        "A lost ; before the second STRICT.",
        "R ; (STRICT(T ; U) OR T+ ; STRICT(T ; U))",
    ),
    DamagedText(
        ("tods21.fig6",),
        "Figure 6 has ⊈ between CEL* with STRICT and CEL* with ⊕, and = under (b) after the latter, with nothing on "
        "its right. Section 8.2 says that the two are incomparable, and the caption that (b) is by Theorem 8.14.",
        "A sign of the drawing was read as =.",
        "neither contains the other, if there is a binary equality predicate",
    ),
    DamagedText(
        ("tods21.thm8.14",),
        "Appendix D has P_≤ in the last use of the formula, and P_= before; P_≤ is defined nowhere.",
        "P_≤ instead of P_=, a sign that was misread or left over; with P_≤(x, y) := x.a ≤ y.a the proof holds too.",
        "P_=",
    ),
    DamagedText(
        ("tods21.def8.7",),
        "Definition 8.7: μ(A) = {i_k | A ∈ L_i}. If k is the bound variable, i is free; if k is the length of the "
        "run, all marks are at its last position.",
        "L_i instead of L_k: {i_k | A ∈ L_k}, or {i_j | A ∈ L_j}, as k is also the length of the run. 0 < i_1 fits S "
        "= t_1 t_2 … in this definition; in section 4 streams begin with t_0.",
    ),
    DamagedText(
        ("tods21.sec7.1:strict",),
        "Section 7.1: STRICT keeps μ if k ∉ sup(μ) for every k between two positions of sup(μ).",
        "∉ instead of ∈. The words beside the formula say that sup(μ) is an interval.",
    ),
    DamagedText(
        ("tods21.thm8.9:to-cel",),
        "The proof of Theorem 8.9 has φ_kk in the recursion, where that of Theorem 6.3 has φ_kk⊕.",
        "A lost +.",
    ),
    DamagedText(
        ("tods21.prop8.13:seq",),
        "Appendix C: STRICT(ρ1 ; ρ2) ≡ STRICT(ρ1) ; STRICT(ρ2), and once more ; in ψ' = σ1 ; σ2.",
        "; instead of `:` on the right. By section 8.2 the events have to form an interval; there the copy says that "
        "each `:` is replaced by `:`.",
    ),
    DamagedText(
        ("tods21.prop8.15:or",),
        "Appendix E, the case OR, part (5): (ρ1 ; ρ2)⊕ : (φ1⊕ : (ρ1 ; ρ2))⊕.",
        "A lost ⊕ after the second (ρ1 ; ρ2).",
    ),
    DamagedText(
        ("tods21.prop8.15:or-plus",),
        "Appendix E, last step: with φ1 := φ1 OR ρ and φ2 = ρ ; ρ+, φ' has the form φ1 OR (φ1 ; φ2).",
        "φ1 ; φ2 instead of ρ1 ; ρ2, or a slip of the authors. The step is reduced to the case φ1 OR (ρ1 ; ρ2).",
    ),
)


# ---- vldb92 ----
# Errata of vldb92.

VLDB92_NOTE = """\
A stream is a history. The results, expected and as printed, are the events at which the expression takes place. How we
interpret the paper, and why: [event expressions](decisions/event-expressions.md)."""

DEFINABLE = "the operator is definable, by the corrected formula"
ANY = "`any` does not take place at the start event, with which the history of a system begins; !NULL does."
NO_OCCURRENCE = (
    f"{ANY} If nothing could take place at the start event, the formulas of f, h, i and j would all be right as "
    f"printed. But by clause 5 of section 2.2, !E = h − E[h], an expression can take place there. If only counting "
    f"ignored the start event, h and i would be right and j would be wrong: by the printed formulas `!NULL / !b` takes "
    f"place at 1 and 2 on `start a a`; but if one counts from the first !b after start, only at 2."
)
TUPLES = "by the corrected clause there are occurrence tuples exactly where the expression takes place"

VLDB92_ERRATA = (
    Erratum(
        "The first event",
        ("vldb92.derived:f",),
        "Section 2.3 f: `first = !relative(any, any)`.",
        DEFINABLE,
        NO_OCCURRENCE,
    ),
    Erratum(
        "The n-th occurrence",
        ("vldb92.derived:h", "vldb92.derived:h1"),
        "Section 2.3 h: `<n> E = ((E | seq(any, ..., any)) | first)`, with n times `any`.",
        DEFINABLE,
        NO_OCCURRENCE,
    ),
    Erratum(
        "Every n-th occurrence",
        ("vldb92.derived:i",),
        "Section 2.3 i: `(every <n> E) = (E | relative+(<n> any))`.",
        DEFINABLE,
        NO_OCCURRENCE,
    ),
    Erratum(
        "The automaton of F /+ E",
        ("vldb92.constr:slashplus",),
        "Section 3: the transitions from the accepting states of M_E are replaced by empty transitions to the start "
        "state of M, which is the pair of the start states of M_E and M_F.",
        "Theorem 1 and Corollary 1 stand, as they are about the operators of section 2.2; /+ has an automaton that "
        "continues to read E",
        "From the start state, E is evaluated on the history after the first E instead of the whole history.",
    ),
    Erratum(
        "Occurrence tuples of an event",
        ("vldb92.occ:event",),
        "Appendix 1, clause 1: e_i = f_i is an event occurrence whose primitive event is a.",
        TUPLES,
        "By this clause a takes place only at the first event of a history, and not later.",
        damage="No: the sentence speaks of e_i = f_i as one event.",
    ),
    Erratum(
        "Occurrence tuples of relative and and",
        ("vldb92.occ:relative", "vldb92.occ:and"),
        "Appendix 1: succ(e_i) = f_j and e_j = e_k in clause 2, e_i = e_j = e_k in clause 4. If e_i is a sequence, "
        "this is undefined; we take it as not satisfied.",
        TUPLES,
        "If the operand is relative+, e_i is a sequence of tuples, which has no successor and equals no event. "
        "Section 4 and clause 3 call the intended event the *effective* e_i. Clauses 2 and 4 do not use it: 2.2 "
        "not for e_i, and 2.4, e_j = e_k, not for e_j. So they say nothing about these tuples, and we take them as "
        "not satisfied. The word is also missing in clause 3.4 for succ(e_1), in clause 3.5 for the e_1 whose eid "
        "is used (but not for e_k), and in the last paragraph, where the E entry of relative+ has to be an event. "
        "As clause 3 itself uses the word, we read occ:relative+ with it; then it holds.",
    ),
    Erratum(
        "Theorem 2",
        ("vldb92.thm2",),
        "Theorem 2: the marked automaton accepts where E takes place. By construction 2 the automaton of `E = x = y` "
        "passes through a state marked with x and then, by an empty transition, through a state marked with y.",
        "Theorem 2 stands for the expressions that we checked, by automata over other letters",
        "Both variables are at the same event. But in the product of construction 4 a pair of states is marked with a "
        "variable only if both states are, and here one automaton passes x first and the other y.",
    ),
    Erratum(
        "A bad hit",
        ("vldb92.racket:H2",),
        "Section 7.1: the next event after a hit must be the front wall. "
        "H2 = (!wall) | ((first ∧ !front) /+ (h1 ∨ h2)).",
        "the sentence has an expression, by sequence",
    ),
    Erratum(
        "The end of a point, by its three ways",
        ("vldb92.racket:points",),
        "Section 7.1: the end of a point is simply H1 ∨ H2 ∨ H3, a bad serve, a bad hit, or no return.",
        "the disjunction stands, with a fourth way",
        'Before, the text says "Players 1 and 2 now alternate in hitting the ball. The point terminates whenever the '
        'above rules are violated". None of the three expressions distinguishes the players.',
    ),
    Erratum(
        "The end of a point, by prefix",
        ("vldb92.racket:prefix",),
        "Section 7.1: four exchanges such as `one = sequence(h2, front, h1, front)`, a rally of one or more of them, "
        "and `(!wall | !prefix(rally)) /+ sequence(s1, front)`.",
        "the formulation with prefix stands, with its exchanges anchored, and with a case for a bad serve",
        "sequence(h2, ...) takes place for any h2 in the history. So a rally can always still come, and the point "
        "never ends. A serve that does not hit the front wall also ends the point, but sequence(s1, front) does not "
        "take place there.",
    ),
)

VLDB92_DAMAGED = (
    DamagedText(
        ("vldb92.derived:a",), "Section 2.3 a: E ∨ F = !(E ∧ !F), which is !E ∨ F.", "A lost ! before the first E."
    ),
    DamagedText(
        ("vldb92.derived:k",),
        "Section 2.3 k: h'_i is defined for 1 ≤ i < m − 1 and for m, so h'_{m−1} is missing.",
        "One sign, < instead of ≤ before m − 1: 1 ≤ i ≤ m − 1, that is i < m.",
    ),
)


# ---- everything ----
# All errata, and how the cases of a paper are to be read.

ALL_ERRATA: tuple[Erratum, ...] = (*TODS21_ERRATA, *ERRATA, *SASE_ERRATA, *VLDB92_ERRATA)
ALL_DAMAGED: tuple[DamagedText, ...] = (*TODS21_DAMAGED, *DAMAGED, *SASE_DAMAGED, *VLDB92_DAMAGED)
NOTES = {"cep17": NOTE, "sase07": SASE_NOTE, "icde08": NOTE_OF_ICDE08, "vldb92": VLDB92_NOTE}


def erratum_of(id_: str) -> Erratum | None:
    """The erratum that is about a claim, if there is one."""
    return next((erratum for erratum in ALL_ERRATA if id_ in erratum.claims), None)


def damaged_text(id_: str) -> DamagedText | None:
    """Return the damage of the copy that was read which may be why a claim fails as printed there, if there is one."""
    return next((text for text in ALL_DAMAGED if id_ in text.claims), None)
