"""The page of the claims, docs/claims.md: what the ledger says with its quick budget."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from proofs_tests.claims.errata import damaged_text, erratum_of, escaped
from proofs_tests.claims.everything import LATER, PAPERS, of_paper
from proofs_tests.claims.ledger import LEDGER, entry
from proofs_tests.claims.run import checked

# ---- page ----
#

STATUSES = ("holds", "holds-corrected", "refuted", "text-damaged", "open")
EVIDENCE = ("proof", "decided", "exhaustive", "solver", "random", "measured", "example")
INTRODUCTION = """# The claims of the papers

Written by `cerify claims --write docs/claims.md`, together with [errata](errata.md), with cerify {version}.

Each row checks one claim of five papers: a theorem, proposition, lemma, corollary, definition or algorithm, and most
figures, tables, displays and claims in words. Further rows check statements about [later
work](theory/related.md). Table 1 of tods21 has rows for correlation and windowing only. Figure 2 and the restatement
in section 5.2 of cep17 have no rows. Neither has section III of icde08, which describes the classes of sase07. If a
step of a proof fails and the theorem stands, the row is about that step. A few rows are statements of this book about
the language of a paper, and say so.

`cerify claims ID` prints one claim, and with `--json` its counterexample as data. It needs a clone with the extra
`docs`: `pip install -e '.[docs]'`.

- **Status.** *holds*: the claim as printed passes its check, in the reading given. The check may cover less than the
  claim. *holds-corrected*: it fails as printed, and a correction passes the same check. *refuted*: it fails.
  *text-damaged*: it fails or makes no sense in our copy, and damage of the copy would explain this; the mended text
  passes the check. The counted cases are those of the corrected or mended text, unless the row says "as printed".
  *open*: undecided; the last column says why. The status of a claim that fails links to its erratum.
- **Evidence.** *proof*: the book writes out the argument and checks parts of it. *decided*: true on all streams or
  histories, for the given formulas or automata; a seed marks a sample. *exhaustive*: all cases up to the given size,
  and beyond it a sample if the row names one; for a claim about a few queries, all streams up to that size. *solver*:
  all attribute values, at the given lengths. *random*: a sample, given with its number and its seed or step.
  *measured*: counts from runs. *example*: one case, or a few hand-made queries for a more general claim.
- "To 3 nodes" means at most 3. Formulas are over the types A and B unless the row says otherwise. In lists of operators
  `seq` is ;, `cseq` `:`, `plus` +, `cplus` :+, `filter` FILTER A.x > 0, `correlated` FILTER A.x = B.x, `in` IN X, and
  `project` PROJECT[A]. The 3 tuples of tods21 are A with x = 0, A with x = 1 and B with x = 0; the 1 tuple is A with x
  = 0.
- In rows of cep17 formulas use the variables x and y. The three conditions are x.a = 1, y.a = 0 and x.a = y.a; two
  conditions are the first two. The 3 tuples are A with a = 0, A with a = 1 and B with a = 1; the 4 tuples are A and B
  with either value.
- N1, N2, … are notes above a table that several of its rows share.
- *In Coq* names a theorem about all queries and streams of a [model](theory/mechanised.md).
- The bounds are those of the quick check; `cerify claims --budget full` checks more. `cerify claims --planted` plants
  an error beside each entry that has a check, and shows that the check finds it.
"""
TOTALS = "| paper |"  # how the table of totals begins, here and in the README

# Where a text is cut into clauses: between sentences, and before a range of cases such as "all streams".
_CLAUSES = re.compile(
    r"(?<! ); |\. (?=[A-Z])(?:Reading: )?|: (?=[a-z0-9])|, (?:and )?(?=(?:all|on all|at each|in all|every) )"
)

_NAMED = "\N{REPLACEMENT CHARACTER}"  # in the place of a text that has a name

_checked: dict[str, dict[str, Any]] = {}


def quick(id_: str) -> dict[str, Any]:
    """The entry with the quick budget, checked once."""
    if id_ not in _checked:
        _checked[id_] = entry(LEDGER[id_], "quick")
    return _checked[id_]


def page(jobs: int = 1) -> str:
    """The page, with every claim checked, by `jobs` processes."""
    left = [id_ for id_ in LEDGER if id_ not in _checked]
    _checked.update(zip(left, checked(left, "quick", jobs), strict=True))
    introduction = INTRODUCTION.format(version=version("cerify"))
    return "\n".join([introduction, *summary(), *(line for paper in PAPERS for line in _of(paper))]) + "\n"


def with_totals(readme: str) -> str:
    """Return the README with the totals of all papers as they are now; every claim has to be checked before."""
    before, _, after = readme.partition(TOTALS)
    rest = after.partition("\n\n")[2]
    return before + "\n".join(summary({f"all {len(PAPERS)}": tuple(PAPERS)})) + "\n" + rest


def summary(together: Mapping[str, Sequence[str]] | None = None) -> Iterator[str]:
    """Yield the lines of a table: how many claims have which status, and which evidence.

    A row is one paper, or the papers that stand together under a name.
    """
    columns = (*STATUSES, *(f"*{evidence}*" for evidence in EVIDENCE))
    yield f"{TOTALS} {' | '.join(columns)} |"
    yield f"|---|{'---|' * len(columns)}"
    alone = {f"{paper}: {title}": (paper,) for paper, title in PAPERS.items() if paper not in LATER}
    for name, papers in (together or alone | {f"later work, {len(LATER)} papers": LATER}).items():
        found = [quick(claim.id) for paper in papers for claim in of_paper(paper)]
        counts = Counter(entry["status"] for entry in found) + Counter(entry["evidence"] for entry in found)
        cells = (str(counts[column]) for column in (*STATUSES, *EVIDENCE))
        yield f"| {name} | {' | '.join(cells)} |"
    yield ""


def _of(paper: str) -> Iterator[str]:
    yield f"## {paper}: {PAPERS[paper]}"
    yield ""
    looked = {claim.id: _looked_at(quick(claim.id)) for claim in of_paper(paper)}
    for note, text in (notes := _notes(looked.values())).items():
        others = {name: said for name, said in notes.items() if name != note}
        yield f"- {note}: {escaped(_with_notes(text, others))}"
    yield from ([""] if notes else [])
    yield "| id | claim | status | evidence | what was looked at |"
    yield "|---|---|---|---|---|"
    for claim in of_paper(paper):
        found = quick(claim.id)
        status = found["status"]
        if (erratum := erratum_of(claim.id)) is not None:
            status = f"[{status}](errata.md#{erratum.anchor})"
        elif damaged_text(claim.id) is not None:
            status = f"[{status}](errata.md#text-that-may-be-damaged)"
        bound = _with_notes(looked[claim.id], notes)
        cells = (f"`{claim.id}`", claim.title, status, found["evidence"] or "", bound)
        yield "| " + " | ".join(_cell(text) for text in cells) + " |"
    yield ""


def _looked_at(found: dict[str, Any]) -> str:
    """Return what the check of an entry looked at, its reading and its theorem in Coq."""
    reading = f". Reading: {found['reading']}" if found["reading"] else ""
    return found["bound"] + reading + (f". In Coq: {found['theorem']}" if found["theorem"] else "")


def _notes(texts: Iterable[str]) -> dict[str, str]:
    """Name the readings, clauses and ranges of cases that several texts share, if that makes the page shorter.

    A reading that is shared as a whole gets one name, and its clauses do not count for it.
    """
    texts = list(texts)
    whole = _shared(part for text in texts for part in re.split(r"\. (?:Reading|In Coq): ", text))
    named = re.compile("|".join(map(re.escape, sorted(whole, key=len, reverse=True))) or "(?!)")
    rest = (named.sub(_NAMED, text) for text in texts)
    clauses = (_CLAUSES.split(text) for text in rest)
    shared = [*whole, *_shared(clause for some in clauses for clause in some)]
    return {f"N{k}": clause for k, clause in enumerate(sorted(shared, key=lambda clause: -len(clause)), 1)}


def _shared(clauses: Iterable[str]) -> list[str]:
    whole = (clause for clause in clauses if _NAMED not in clause and clause.count("`") % 2 == 0)  # no half of a code
    words = {clause: (len(clause.split()), k) for clause, k in Counter(whole).items()}
    return [clause for clause, (n, k) in words.items() if n >= 5 and (k - 1) * n > 3]


def _with_notes(text: str, notes: dict[str, str]) -> str:
    """Return a text with the names of notes in the place of what they say; between two names stands no colon."""
    for note, said in notes.items():
        text = re.sub(rf"(?<!\w){re.escape(said)}(?!\w)", note, text)
    return re.sub(r"\b(N\d+): (?=N\d)", r"\1; ", text)


def _cell(text: str) -> str:
    """As Markdown has it, but for ids and links."""
    if text.startswith(("`", "[holds", "[refuted", "[text")):
        return text
    return escaped(text)
