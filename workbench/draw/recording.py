"""Record the run of any evaluator over a stream, event by event, as data for pictures.

A recording has the evaluator's own state after each event. Partial matches are a graph that only grows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Generic, Literal, Protocol, TypeVar, assert_never

from cerify.automata.cea.model import MARKED, Determinized, Marks
from cerify.automata.dfa.compile import compile_expression
from cerify.automata.dfa.evaluate import TableRunner
from cerify.automata.evaluate.ces import BOTTOM, Bottom, CesOutput, CesUnion, Evaluation, NodeList, enumerate_
from cerify.automata.evaluate.ces import Node as SetNode
from cerify.automata.evaluate.evaluation_plan import AutomatonPlan, is_mark, required_plan
from cerify.automata.evaluate.membership import CorrelatedFilterChecker, Spending, in_list, in_node
from cerify.automata.evaluate.scope import Key, Scope, key_of, lookback_bounds, within_width
from cerify.automata.evaluate.streaming import ScopedEvaluation, without_marks
from cerify.automata.evaluate.tables import classify
from cerify.automata.evaluator import Output as OutputName
from cerify.automata.nfab.evaluate import BlockRunner, BufferNode
from cerify.automata.nfab.evaluate import Key as nfab_Key
from cerify.automata.row_pattern.compile import ACCEPT, compile_pattern, why_not
from cerify.automata.row_pattern.evaluate import (
    Backtracking,
    Fate,
    Layer,
    Lookahead,
    RowPartition,
    RowSearch,
    ThreadAttempt,
    ThreadSimulation,
    View,
    partitions,
)
from cerify.draw.automata import diagram_of_cea, diagram_of_clause, diagram_of_dfa, diagram_of_query
from cerify.draw.diagram import Diagram
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.errors import BudgetExceeded, InternalError, Unsupported
from cerify.semantics.event_expressions.syntax import Expression
from cerify.semantics.events import Bindings, Match, Stream, Valuation, bindings_of
from cerify.semantics.predicates import show_value
from cerify.semantics.readings import DECIDED, STANDARD, Reading
from cerify.semantics.row_pattern.denote import Frame, value, visible_rows
from cerify.semantics.row_pattern.interpreter import RowOutput, condition_text, labels_text
from cerify.semantics.row_pattern.scalars import column_values
from cerify.semantics.row_pattern.syntax import MatchRecognize
from cerify.semantics.sase import syntax as sase

N = TypeVar("N")
NodeKind = Literal["bottom", "output", "union"]
"""The end of all paths; a node that adds an event; and a node for the union of the sets of two other nodes."""

LinkKind = Literal["first", "last", "next", "left", "right", "before"]
"""The field of the source node in which the evaluator stores the link; each kind has its own stroke (stepper.py)."""

BEFORE = -1  # the position of the step before the first event
MOST_EVENTS = 200
MOST_NODES = 400
MOST_LINKS = 1600
MOST_FOUND = 40  # matches that are listed at a step


@dataclass(frozen=True)
class DrawnNode:
    """A node of the graph of partial matches.

    label: its text. position: that of the event that it adds, if it adds one. born: the step that made it.
    """

    kind: NodeKind
    name: str
    label: str
    position: int | None
    born: int


@dataclass(frozen=True)
class Link:
    """An arrow between two nodes, which are given by number. born: the step that made it."""

    source: int
    target: int
    kind: LinkKind
    born: int


@dataclass(frozen=True)
class StateRow:
    """A row of the table that is shown at a step: the partial matches in one state, or in several states together.

    holder: the text of its first column, which names the states. states: their indices in the diagram. nodes: the nodes
    of the partial matches. final: whether the states are final. fate: what happened to the row at this step. gone:
    whether it ends there.
    """

    holder: str
    states: frozenset[int]
    nodes: tuple[int, ...] = ()
    final: bool = False
    fate: str = ""
    gone: bool = False


@dataclass(frozen=True)
class RecordedMatch:
    """A match, and the path of nodes that represents it."""

    match: Match
    path: tuple[int, ...]


@dataclass(frozen=True)
class DrawnStep:
    """The evaluator's state after an event.

    fired: the indices of the diagram's arrows that were followed. rows: the partial matches by state. live: the nodes
    that a state can still reach. found: the first matches at this event; more: whether there are others. text: a
    description of the step, without the event that is read.
    """

    position: int
    fired: frozenset[int]
    rows: tuple[StateRow, ...]
    live: frozenset[int]
    found: tuple[RecordedMatch, ...] = ()
    more: bool = False
    text: str = ""

    @property
    def active(self) -> frozenset[int]:
        """Return the states that have a run, as indices into the diagram's states."""
        return frozenset(q for row in self.rows for q in row.states)


@dataclass(frozen=True)
class DrawnLabels:
    """The texts of a page that shows a recording.

    holds: the heading of the table; holder, fate: the headings of its columns; an empty fate means that there is no
    such column. found: the heading of the matches; nothing: the text if there are none. labelled: words about marks,
    for the legend. finals: whether the table marks final rows. unit: the word for a step's input.
    """

    holds: str
    holder: str
    found: str
    nothing: str
    labelled: str = ""
    finals: bool = True
    fate: str = ""
    unit: str = "Event"


@dataclass(frozen=True)
class Recording:
    """A run over a stream, recorded for a drawing: the automaton, all nodes and links, and a step for each event.

    The first step is before the first event. For an evaluator that backtracks, an event may have several steps, and
    there are no nodes. notes: sentences below the drawing.
    """

    query: str
    S: Stream
    diagram: Diagram
    nodes: tuple[DrawnNode, ...]
    links: tuple[Link, ...]
    steps: tuple[DrawnStep, ...]
    labels: DrawnLabels
    notes: tuple[str, ...] = ()

    def find_nodes(self, step: DrawnStep) -> tuple[DrawnNode, ...]:
        """Return the nodes that a step made."""
        return tuple(node for node in self.nodes if node.born == step.position)


@dataclass
class Graph:
    """The nodes and links of a growing recording. Raises BudgetExceeded if there are too many to draw."""

    nodes: list[DrawnNode] = field(default_factory=list)
    links: dict[Link, None] = field(default_factory=dict)

    def add(self, kind: NodeKind, label: str, position: int | None, born: int) -> int:
        """Add a node and return its number. born: the step that makes it."""
        if len(self.nodes) >= MOST_NODES:
            raise BudgetExceeded(
                f"up to event {born} the picture has more than {MOST_NODES} nodes, too many to draw; give fewer events"
            )
        n = len(self.nodes)
        self.nodes.append(DrawnNode(kind, "⊥" if kind == "bottom" else f"n{n}", label, position, born))
        return n

    def link(self, source: int, target: int, kind: LinkKind, born: int) -> None:
        """Add an arrow between two nodes. born: the step that makes it."""
        if len(self.links) >= MOST_LINKS:
            raise BudgetExceeded(
                f"up to event {born} the picture has more than {MOST_LINKS} links, too many to draw; give fewer events"
            )
        self.links[Link(source, target, kind, born)] = None


class Recorded(Generic[N]):
    """Numbers the nodes of an evaluator as it makes them, for a drawing of its partial matches.

    below: returns the nodes that a node leads to. add: adds a node to the graph at a step, and returns its number; the
    nodes below it have been added before.
    """

    def __init__(self, below: Callable[[N], Iterable[N]], add: Callable[[N, int], int]) -> None:
        self._below, self._add = below, add
        self._number: dict[int, int] = {}
        self._kept: list[N] = []  # keeps all nodes alive, so that no identity is reused

    def __getitem__(self, node: N) -> int:
        return self._number[id(node)]

    def record(self, root: N, n: int) -> None:
        """Record a node at step n, after all nodes below it. A node is recorded only once."""
        pending = [root]
        while pending:
            # It stays on the stack until the nodes below it have numbers: a union may be deeper than Python's
            # recursion.
            node = pending[-1]
            unknown = [child for child in self._below(node) if id(child) not in self._number]
            if id(node) not in self._number and unknown:
                pending += unknown
                continue
            pending.pop()
            if id(node) not in self._number:
                self._number[id(node)] = self._add(node, n)
                self._kept.append(node)

    def live(self, pending: list[N]) -> frozenset[int]:
        """Return the numbers of these nodes and of all nodes below them."""
        live = set[int]()
        while pending:
            node = pending.pop()
            if self[node] not in live:
                live.add(self[node])
                pending += self._below(node)
        return frozenset(live)


def require_short(S: Stream) -> None:
    """Raise BudgetExceeded for a stream of more than MOST_EVENTS events."""
    if len(S) > MOST_EVENTS:
        raise BudgetExceeded(
            f"the stream has {len(S):,} events, and a run is shown step by step for at most {MOST_EVENTS}; "
            "take a part of the stream"
        )


def arrows(diagram: Diagram, followed: Iterable[tuple[int, int, str]]) -> frozenset[int]:
    """Return the indices of the diagram's arrows that were followed. followed: tuples (source, target, kind)."""
    ways = set(followed)
    return frozenset(k for k, edge in enumerate(diagram.edges) if (edge.source, edge.target, edge.kind) in ways)


# ---------------------------------------------------------------------------------------------------------------------
# The run of the readable evaluators of CEL: tods21, Algorithms 1 and 2, and their variants for windows and keys.
#
# automata/evaluate/streaming.py reads the events, also where a window or a partition is around the formula.
# After each event, the contents of their data structures are recorded.

Path = tuple[int, ...]


class DrawnRun(Protocol):
    """A run of an evaluator that can be recorded step by step."""

    graph: Graph

    def push(self, n: int, type_: int) -> None: ...

    def state_rows(self) -> Iterator[tuple[int, str, Path]]:
        """Yield a row for each state of the I/O-deterministic automaton, and each key with partial matches in it.

        A row is the state, the key as text, and the nodes of the partial matches.
        """

    def live(self) -> frozenset[int]: ...

    def paths(self) -> Iterator[tuple[Path, Valuation]]:
        """Yield the complex events at the last position that was read, each with its path of nodes."""


def label(position: int, marks: Marks) -> str:
    """Return the label of a node: a position, and the query's variables that mark it."""
    own = sorted(A for A in marks - MARKED if not is_mark(A))
    return " ".join((str(position), ", ".join(own))).strip()


class UnwindowedRun:
    """A run of Algorithm 2 of tods21 without windows. Each node of its graph has a list of children."""

    def __init__(self, automaton: Determinized, checker: CorrelatedFilterChecker | None) -> None:
        self.graph = Graph()
        self._evaluation = Evaluation(automaton)
        self._checker = checker
        self._next: list[int] = []
        self._write_nodes(BEFORE)

    def push(self, n: int, type_: int) -> None:
        self._evaluation.push(type_)
        self._write_nodes(n)

    def _write_nodes(self, n: int) -> None:
        """Record the new nodes and links."""
        D, graph = self._evaluation.D, self.graph
        for node in range(len(graph.nodes), len(D)):
            if node == BOTTOM:
                graph.add("bottom", "⊥", None, n)
                continue
            graph.add("output", label(D.event[node], D.marks[node]), D.event[node], n)
            graph.link(node, D.first[node], "first", n)
            if D.last[node] != D.first[node]:
                graph.link(node, D.last[node], "last", n)
        # `next` of an old node can change, since a list grows at its end; only new links are drawn.
        for node, following in enumerate(D.next):
            if following >= 0 and (node >= len(self._next) or self._next[node] != following):
                graph.link(node, following, "next", n)
        self._next = list(D.next)

    def state_rows(self) -> Iterator[tuple[int, str, Path]]:
        for q, nodes in self._evaluation.T.items():
            yield q, "", tuple(self._along(nodes))

    def _along(self, nodes: NodeList) -> Iterator[int]:
        node, last = nodes
        yield node
        while node != last:
            node = self._evaluation.D.next[node]
            yield node

    def live(self) -> frozenset[int]:
        D, live = self._evaluation.D, set[int]()
        pending = [node for nodes in self._evaluation.T.values() for node in self._along(nodes)]
        while pending:
            node = pending.pop()
            if node not in live:
                live.add(node)
                pending += self._along((D.first[node], D.last[node])) if node != BOTTOM else ()
        return frozenset(live)

    def paths(self) -> Iterator[tuple[Path, Valuation]]:
        D = self._evaluation.D
        for nodes in self._evaluation.ends():
            for path in D.enumerate(nodes) if self._checker is None else in_list(D, nodes, self._checker):
                yield (*path, BOTTOM), D.valuation(path)


class DrawnSeries:
    """The graph that Algorithm 2 of tods21 builds while it reads a stream under windows and partitions.

    A node represents a set of partial matches: it adds one event to those of another node, or is the union of two.
    """

    def __init__(
        self, automaton: Determinized, scope: Scope, S: Stream, checker: CorrelatedFilterChecker | None
    ) -> None:
        self.graph = Graph()
        self._evaluation = ScopedEvaluation(automaton, scope.windowed)
        self._scope, self._S, self._checker, self._reach = scope, S, checker, lookback_bounds(scope, S)
        self._nodes = Recorded[SetNode](lambda node: [child for _, child in _below(node)], self._add)
        self._bottom = self.graph.add("bottom", "⊥", None, BEFORE)

    def push(self, n: int, type_: int) -> None:
        key = key_of(self._scope.attributes, self._S[n]) if self._reach.marks[n] else None
        self._evaluation.push(type_, key, self._reach.low[n])
        for table in self._evaluation.T.values():
            for series in table.values():
                for node in reversed(series):
                    self._nodes.record(node, n)

    def _add(self, node: SetNode, n: int) -> int:
        match node:
            case Bottom():
                return self._bottom
            case CesOutput():
                number = self.graph.add("output", label(node.position, node.marks), node.position, n)
            case CesUnion():
                number = self.graph.add("union", "∪", None, n)
        for kind, child in _below(node):
            self.graph.link(number, self._nodes[child], kind, n)
        return number

    def state_rows(self) -> Iterator[tuple[int, str, Path]]:
        if self._evaluation.unmarked is not None:
            yield self._evaluation.unmarked, "any key" if self._scope.attributes else "", (self._bottom,)
        for q, table in self._evaluation.T.items():
            for key, series in table.items():
                yield q, _key_text(self._scope, key), tuple(map(self._nodes.__getitem__, series))

    def live(self) -> frozenset[int]:
        bottom = frozenset[int]() if self._evaluation.unmarked is None else {self._bottom}
        nodes = [node for table in self._evaluation.T.values() for series in table.values() for node in series]
        return self._nodes.live(nodes) | bottom

    def paths(self) -> Iterator[tuple[Path, Valuation]]:
        low = self._reach.low
        for node in self._evaluation.ends():
            for path in enumerate_(node, low) if self._checker is None else in_node(node, low, self._checker):
                mu = frozenset((A, output.position) for output in path for A in output.marks)
                if all(within_width(width, [self._S[p].get(a) for _, p in mu]) for a, width in self._reach.unordered):
                    yield (*map(self._nodes.__getitem__, path), self._bottom), mu


def _below(node: SetNode) -> list[tuple[LinkKind, SetNode]]:
    match node:
        case CesOutput():
            return [("before", node.child)]
        case CesUnion():
            return [("left", node.left)] if node.right is None else [("left", node.left), ("right", node.right)]
        case Bottom():
            return []
        case _:
            assert_never(node)


def _key_text(scope: Scope, key: Key) -> str:
    return ", ".join(f"{a} {show_value(value)}" for a, (_, value) in zip(scope.attributes, key, strict=True))


SETS = (
    "The evaluator follows sets of states, so that each complex event is found once: a row of the table is a set, and "
    "a state is active if it is in one of them."
)
LISTS = "A state has a list of nodes; each path from one of them down to ⊥ is a partial match."
SERIES = "A state has, for each key, a series of nodes; each path from one of them down to ⊥ is a partial match."
PARTITIONED = (
    "The automaton is that of the formula inside PARTITION BY. A row of the table is a set of states for one value of "
    "{}; it reads only events with that value."
)
ANY_VARIABLE = "• marks an event as one of the match, whatever variables bind it; with --valuations they are shown."
CHECKED = (
    "The matches of the automaton are checked against the filters that compare events; only those that pass are "
    "listed. A name that begins with ◦ marks an event that such a filter compares."
)

LABELS = DrawnLabels(
    holds="Nodes of the states", holder="States", found="Complex events at this event", nothing="None."
)

MOST_PATHS = 20 * MOST_FOUND  # with cross-event filters, several paths can represent one match


def record_cel(
    phi: Formula, S: Stream, query: str, output: OutputName = "matches", budget: Budget = Budget()
) -> Recording:
    """Record the run of a formula over a stream.

    Raises Unsupported if it needs more than one automaton, BudgetExceeded.
    """
    require_short(S)
    plan = required_plan(phi, budget)
    if not isinstance(plan, AutomatonPlan):
        raise plan.refused
    scope, checks = plan.scope, plan.checks
    if scope.keys:
        raise Unsupported(
            "PER KEY evaluates each key on its own: to see the steps, leave it out and give the events of one key",
            phi.span,
        )
    automaton = plan.automaton(output, budget)
    checker = CorrelatedFilterChecker(checks, S, Spending(budget)) if checks else None
    run: DrawnRun = UnwindowedRun(automaton, checker) if scope.everything else DrawnSeries(automaton, scope, S, checker)
    diagram = diagram_of_cea(automaton.A, f"Automaton of {query}")
    steps = [_step(run, automaton, frozenset())]
    for n, type_ in enumerate(classify(automaton.A.predicates, S)):
        before = steps[-1].active
        run.push(n, type_)
        found, more = _find_first_matches(run, n, output)
        fired = _fired(automaton, diagram, before, type_)
        steps.append(_step(run, automaton, fired, n, found, more))
    notes = [SETS, LISTS if scope.everything else SERIES]
    if scope.attributes:
        notes.append(PARTITIONED.format(", ".join(scope.attributes)))
    if output == "matches":
        notes.append(ANY_VARIABLE)
    if checks:
        notes.append(CHECKED)
    labels = LABELS if output == "matches" else replace(LABELS, labelled=", and the variables that bind it")
    graph = run.graph
    return Recording(query, S, diagram, tuple(graph.nodes), tuple(graph.links), tuple(steps), labels, tuple(notes))


def _step(
    run: DrawnRun,
    automaton: Determinized,
    fired: frozenset[int],
    n: int = BEFORE,
    found: tuple[RecordedMatch, ...] = (),
    more: bool = False,
) -> DrawnStep:
    rows = []
    for q, key, nodes in run.state_rows():
        states = automaton.subsets[q]
        name = f"{{{', '.join(map(str, sorted(states)))}}}"
        rows.append(StateRow(f"{name} · {key}" if key else name, states, nodes, automaton.final[q]))
    return DrawnStep(n, fired, tuple(rows), run.live(), found, more)


def _find_first_matches(run: DrawnRun, n: int, output: OutputName) -> tuple[tuple[RecordedMatch, ...], bool]:
    """Return the first matches at position n, each once, and whether there are more."""
    found: dict[Match, RecordedMatch] = {}
    for number, (path, mu) in enumerate(run.paths()):
        if len(found) == MOST_FOUND or number == MOST_PATHS:
            return tuple(found.values()), True
        events = tuple(sorted({p for _, p in mu}))
        match = Match(n, events, bindings_of(without_marks(mu)) if output == "valuations" else None)
        # The first path represents a match that several paths have.
        found.setdefault(match, RecordedMatch(match, path))
    return tuple(found.values()), False


def _fired(automaton: Determinized, diagram: Diagram, before: frozenset[int], type_: int) -> frozenset[int]:
    followed = (
        (p, q, "take" if marks else "ignore") for p in before for bit, marks, q in automaton.A.steps[p] if type_ & bit
    )
    return arrows(diagram, followed)


# ---------------------------------------------------------------------------------------------------------------------
# The run of the readable evaluator of event expressions: one state of a deterministic automaton (vldb92, section 4).

EXPRESSION_LABELS = DrawnLabels(holds="State", holder="State", found="It takes place at", nothing="Not at this event.")


def record_expression(E: Expression, S: Stream, query: str, budget: Budget = Budget()) -> Recording:
    """Record the run of an event expression over a stream.

    Raises Unsupported, BudgetExceeded, and InputError if an event of type start is not the first.
    """
    require_short(S)
    A = compile_expression(E, S.schema, budget)
    diagram = diagram_of_dfa(A, f"Automaton of {query}")
    place = {state.name: k for k, state in enumerate(diagram.states)}
    evaluator = TableRunner([A])

    def state_rows() -> tuple[StateRow, ...]:
        q = evaluator.states[0]
        states = frozenset(place[name] for name in [str(q)] if name in place)
        holder = str(q) if states else f"{q}, after which it never again takes place"
        return (StateRow(holder, states, (), q in A.accepting),)

    steps = [DrawnStep(BEFORE, frozenset(), state_rows(), frozenset())]
    for n, event in enumerate(S):
        before = steps[-1].active
        found = tuple(RecordedMatch(Match(n, (n,)), ()) for _ in evaluator.push(event))
        row = state_rows()
        fired = arrows(diagram, ((p, q, "read") for p in before for q in row[0].states))
        steps.append(DrawnStep(n, fired, row, frozenset(), found))
    return Recording(query, S, diagram, (), (), tuple(steps), EXPRESSION_LABELS)


# ---------------------------------------------------------------------------------------------------------------------
# The run of MATCH_RECOGNIZE over a table: the threads of its automaton row by row, or a search by backtracking.
#
# If conditions use only columns, all threads read a row together. If they use earlier rows of the match, one labelling
# is tried after the other: Backtracking of automata/row_pattern/evaluate.py.

MOST_STEPS = 400
MOST_ROWS = 40  # of the table at a step
THREADS = DrawnLabels(
    holds="Threads, the preferred ones first",
    holder="Labels of the rows so far",
    found="The match of this search",
    nothing="None at this step.",
    finals=False,
    fate="What happens to the last label",
    unit="Step",
)
SEARCH = replace(THREADS, holds="The labels that are tried", holder="Row and label", fate="Why, and what is tried next")
NOTES = {
    False: "The search starts from each row in turn. All threads read a row together, in the order of preference. Of "
    "two threads in the same state, only the preferred one goes on.",
    True: "The conditions look at earlier rows of the match, so the ways to label the rows are tried one after the "
    "other, in the order of preference. Ways that failed before, or fail whatever these conditions say, are not tried.",
}
FATES: dict[Fate, str] = {
    "goes on": "taken: ",
    "complete": "taken, and the match is complete: ",
    "stuck": "taken, but nothing can follow: ",
    "false": "ends: ",
    "same state": "cut: a preferred thread is in the same state",
    "cut": "cut: a preferred thread is complete",
}


def record_rows(q: MatchRecognize, S: Stream, query: str, budget: Budget = Budget()) -> Recording:
    """Record the run of a clause over a table.

    Raises BudgetExceeded, Unsupported for some longest matches, IllFormed if AFTER MATCH SKIP has no row to skip to.
    """
    require_short(S)
    made = RowOutput(q, S)
    if q.longest and why_not(made.q) is not None:
        raise Unsupported("the longest match is shown step by step only if conditions look at columns alone", q.span)
    diagram = diagram_of_clause(q, f"Automaton of {query}", budget)
    log = _Log(made, diagram, [DrawnStep(BEFORE, frozenset(), (), frozenset(), text="Before the first row.")])
    automaton, columns = compile_pattern(made.q.pattern, budget), column_values(S)
    for places in partitions(made.q, columns, len(S)):
        mine = {name: [values[place] for place in places] for name, values in columns.items()}
        for match in _RecordedRun(made.q, automaton, places, mine, budget, log=log).matches():
            log.matched(RecordedMatch(match, ()))
    searches = why_not(made.q) is not None
    labels = SEARCH if searches else THREADS
    return Recording(query, S, diagram, (), (), tuple(log.steps), labels, (NOTES[searches],))


@dataclass
class _Log:
    """The steps of a run so far."""

    made: RowOutput
    diagram: Diagram
    steps: list[DrawnStep]

    def add(self, place: int, rows: Sequence[StateRow], fired: frozenset[int], text: str) -> None:
        """Add a step at a row of the table. Raises BudgetExceeded if there are too many."""
        if len(self.steps) > MOST_STEPS:
            raise BudgetExceeded(f"the run has more than {MOST_STEPS} steps by row {place}; take a part of the table")
        shown = tuple(rows[:MOST_ROWS])
        if len(rows) > MOST_ROWS:
            shown += (StateRow(f"{len(rows) - MOST_ROWS} more", frozenset()),)
        self.steps.append(DrawnStep(place, fired, shown, frozenset(), text=text))

    def matched(self, found: RecordedMatch) -> None:
        """Record that the last step has found a match."""
        labels = self.made.place  # for each position, its partition and its row there
        match = found.match
        which = " ".join(map(str, sorted(match.events, key=lambda place: labels[place][1]))) or "no row"
        text = f"Match {match.json()['match_number']}: rows {which}." if match.events else "An empty match."
        self.steps[-1] = replace(self.steps[-1], found=(found,), text=f"{self.steps[-1].text} {text}")

    def say(self, text: str) -> None:
        """Add a sentence to the text of the last step."""
        self.steps[-1] = replace(self.steps[-1], text=f"{self.steps[-1].text} {text}")

    def row_text(self, place: int) -> str:
        """Return a row of the table with its values."""
        values = ", ".join(f"{name} {show_value(v)}" for name, v in self.made.S[place].attributes.items())
        return f"Row {place}{f' ({values})' if values else ''}"


@dataclass(frozen=True)
class _RecordedRun(RowPartition):
    """A search in a partition, or in the frame of a row, that records its steps."""

    log: _Log = field(kw_only=True)

    @cached_property
    def search(self) -> RowSearch:
        if why_not(self.q) is None:
            return _RecordedThreads(self.q, self.automaton, self.columns, len(self.places), self)
        return _RecordedBacktracking(Lookahead(self.q, self.automaton, self.columns, len(self.places)), self)

    def resumed(self, r: int, s: int, states: list[int], number: int) -> int:
        after = super().resumed(r, s, states, number)
        end = after >= len(self.places)
        self.log.say("No row is left." if end else f"The search goes on from row {self.places[after]}.")
        return after

    def why(self, s: int, states: Sequence[int], number: int, is_taken: bool) -> str:
        """Return the condition of the last of these states, with its values. s: the row of the first state."""
        A = self.automaton.variables[states[-1]]
        if A not in self.q.conditions:
            return "it has no condition"
        labels = tuple(self.automaton.variables[state] for state in states)
        partition, start = self.log.made.place[self.places[s]]
        visible = visible_rows(self.q, self.log.made.place[self.places[0]][1], len(partition))
        frame = Frame(partition, visible, start, labels, len(labels), number, self.q.unions, STANDARD)
        outcome = "" if is_taken else " is false" if value(self.q.conditions[A], frame) is False else " is unknown"
        return condition_text(self.log.made, A, frame, outcome)

    def labels(self, states: Sequence[int]) -> str:
        """Format the labels of rows in these states."""
        return labels_text(self.automaton.variables[state] for state in states) if states else "none"

    def fired(self, states: Sequence[int], is_complete: bool) -> set[tuple[int, int, str]]:
        """Return the arrows of the diagram that led to the last row's state and to the complete match."""
        *_, source, target = (0, *(state + 1 for state in states)) if states else (0, 0)
        end = len(self.automaton.places) + 1
        taken = {(source, target, "take")} if states else set()
        return taken | ({(target, end, "proceed")} if is_complete else set())


@dataclass(frozen=True)
class _RecordedThreads(ThreadSimulation):
    """A search by threads that records each layer as a step."""

    run: _RecordedRun

    def match_at(self, s: int, number: int) -> list[int] | None:
        begin, *layers = self.layers(s)
        found = layers[-1].preferred if layers else begin.preferred
        for layer in layers:
            self._step(s, layer, number)
        if not layers:
            says = "no thread can begin." if found is None else "the empty match is preferred to all others."
            self._add(s, s, (), frozenset(), says, number)
        if found is None:
            self.run.log.say("No match begins there.")
        return None if found is None else [*found]

    def _step(self, s: int, layer: Layer, number: int) -> None:
        run = self.run
        rows = [self._row(s, attempt, number) for attempt in layer.attempts]
        ways = {
            way
            for one in layer.attempts
            if one.fate in ("goes on", "complete", "stuck")
            for way in run.fired(one.states, one.fate == "complete")
        }
        many, of = len(layer.threads), len(layer.attempts)
        says = f"{of} thread{'s' * (of != 1)} tried, {many} {'goes' if many == 1 else 'go'} on."
        if layer.preferred is not None:
            says += f" Complete so far: {run.labels(layer.preferred)}."
        self._add(s, layer.r, rows, arrows(run.log.diagram, ways), says, number)

    def _add(self, s: int, r: int, rows: Sequence[StateRow], fired: frozenset[int], says: str, number: int) -> None:
        log, places = self.run.log, self.run.places
        where = f"Search for match {number} from row {places[s]}."
        log.add(places[r], rows, fired, f"{where} {log.row_text(places[r])}: {says}")

    def _row(self, s: int, one: ThreadAttempt, number: int) -> StateRow:
        is_taken = one.fate in ("goes on", "complete", "stuck")
        why = self.run.why(s, one.states, number, is_taken) if is_taken or one.fate == "false" else ""
        states = frozenset({one.states[-1] + 1}) if is_taken else frozenset[int]()
        gone = one.fate not in ("goes on", "complete")
        return StateRow(self.run.labels(one.states), states, fate=f"{FATES[one.fate]}{why}", gone=gone)


class _RecordedBacktracking(Backtracking):
    """A search by backtracking that records each attempt as a step."""

    def __init__(self, ahead: Lookahead, run: _RecordedRun) -> None:
        super().__init__(ahead, run.budget)
        self.run = run
        self.start, self.number = 0, 0
        self.path: list[int] = []

    def match_at(self, s: int, number: int) -> list[int] | None:
        self.start, self.number, self.path = s, number, []
        before = len(self.run.log.steps)
        found = super().match_at(s, number)
        if len(self.run.log.steps) == before:
            says = "no label can be tried." if found is None else "the empty match is preferred to all others."
            self._add(s, None, "", says, frozenset())
        if found is None:
            self.run.log.say("No match begins there.")
        return found

    def take_row(self, r: int, state: int, view: View) -> View | None:
        is_known = (r, state, self.registers.after(view, r, self.ahead.automaton.variables[state])) in self.failed
        after = super().take_row(r, state, view)
        is_taken = after is not None
        why = self.run.why(self.start, [*self.path, state], self.number, is_taken)
        fate = f"{'taken' if is_taken else 'not taken'}: {'from there it has failed before' if is_known else why}"
        ways = self.run.fired([*self.path, state], False) if is_taken else set[tuple[int, int, str]]()
        if is_taken:
            self.path.append(state)
        says = f"tried as {self.run.labels([state])}, and {'taken' if is_taken else 'not taken'}."
        self._add(r, None if is_taken else state, fate, says, arrows(self.run.log.diagram, ways))
        return after

    def give_back(self, s: int, r: int, state: int, view: View) -> None:
        super().give_back(s, r, state, view)
        self.path.pop()
        says = f"given back as {self.run.labels([state])}."
        self._add(r, state, "given back: nothing that follows leads to a match", says, frozenset())

    def _add(self, r: int, tried: int | None, fate: str, says: str, fired: frozenset[int]) -> None:
        """Add a step at row r. tried: the state in which the row was tried in vain; None if the assignment of variables
        ends with the row.
        """
        run, places = self.run, self.run.places
        rows = [self._row(k, state) for k, state in enumerate(self.path)]
        if tried is not None:
            rows.append(StateRow(f"{places[r]} {run.labels([tried])}", frozenset(), fate=fate, gone=True))
        elif rows:
            last = rows[-1]
            rows[-1] = replace(last, states=frozenset({self.path[-1] + 1}), fate=f"{fate}. {last.fate}".strip())
        where = f"Search for match {self.number} from row {places[self.start]}."
        run.log.add(places[r], rows, fired, f"{where} {run.log.row_text(places[r])}: {says}")

    def _row(self, k: int, state: int) -> StateRow:
        """Return row k of the labelling, with the labels that will be tried next if this label fails."""
        A, r = self.run.automaton, self.start + k
        ways = [way.target for way in self.ahead.possible(A.follow[self.path[k - 1]] if k else A.first, r, r == 0)]
        after = ["the end of the match" if way == ACCEPT else A.variables[way] for way in ways[ways.index(state) + 1 :]]
        fate = f"Then: {', '.join(after)}." if after else ""
        return StateRow(f"{self.run.places[r]} {A.variables[state]}", frozenset(), fate=fate)


# ---------------------------------------------------------------------------------------------------------------------
# The run of the readable evaluator of SASE+ (evaluate.py): the runs in each state, and the buffer that they share.

SASE_LABELS = DrawnLabels(
    holds="Runs",
    holder="State",
    found="Matches certain by this event",
    nothing="None.",
    labelled=", and the variable",
    finals=False,
)
BUFFER = (
    "Runs in one state with the same future are merged. Each path from a node back to a first node has the events that "
    "one of these runs has selected. A run that has selected nothing yet is not stored."
)


def record_sase(
    q: sase.Tree, S: Stream, query: str, reading: Reading = DECIDED, budget: Budget = Budget()
) -> Recording:
    """Record the run of a query that is a single block over a stream; the last step is at the end of the stream.

    Raises Unsupported for a query with several blocks, BudgetExceeded, and InputError.
    """
    require_short(S)
    if not isinstance(q, sase.SaseQuery):
        raise Unsupported("only a query of one block, PATTERN … WHERE … WITHIN, can be shown; this one has several")
    diagram = diagram_of_query(q, f"Automaton of {query}")
    buffer = _Buffer(BlockRunner(q, reading, budget))
    steps = [DrawnStep(BEFORE, frozenset(), (), frozenset())]
    for n, event in enumerate(S):
        steps.append(buffer.step(n, buffer.evaluator.nodes(event)))
    steps.append(buffer.step(len(S), buffer.evaluator.end()))
    graph = buffer.graph
    return Recording(query, S, diagram, tuple(graph.nodes), tuple(graph.links), tuple(steps), SASE_LABELS, (BUFFER,))


class _Buffer:
    """An observer of an evaluator; it numbers the nodes of the runs in the order in which it sees them."""

    def __init__(self, evaluator: BlockRunner) -> None:
        self.evaluator = evaluator
        self.graph = Graph()
        self.nodes = Recorded[BufferNode](lambda node: node.before, self._add)

    def step(self, n: int, matching: list[BufferNode]) -> DrawnStep:
        """Return the step after event n. matching: the nodes at which a match is certain by then."""
        groups = [
            (place, key, list(group.nodes.values()))
            for key, tables in self.evaluator.partitions.items()
            for place, table in enumerate(tables)
            for group in table.values()
        ]
        for node in (*(node for _, _, nodes in groups for node in nodes), *matching):
            self.nodes.record(node, n)
        states = self.evaluator.plan.states
        held = tuple(
            StateRow(
                _holder(states[place].variable, states[place].kind, key),
                frozenset({place}),
                tuple(map(self.nodes.__getitem__, nodes)),
                False,
            )
            for place, key, nodes in groups
        )
        found = list(islice(self._record_matches(n, matching), MOST_FOUND + 1))
        live = self.nodes.live([*(node for _, _, nodes in groups for node in nodes), *matching])
        return DrawnStep(n, frozenset(), held, live, tuple(found[:MOST_FOUND]), len(found) > MOST_FOUND)

    def _add(self, node: BufferNode, n: int) -> int:
        variable = self.evaluator.plan.pattern[node.component].variable
        number = self.graph.add("output", f"{node.position} {variable}", node.position, n)
        for before in node.before:
            self.graph.link(number, self.nodes[before], "before", n)
        return number

    def _record_matches(self, n: int, matching: list[BufferNode]) -> Iterator[RecordedMatch]:
        for node in matching:
            for M in self.evaluator.list_matches([node]):
                positions = tuple(sorted(p for _, places in M for p in places))
                yield RecordedMatch(Match(n, positions, M), self._path(node, M))

    def _path(self, node: BufferNode, M: Bindings) -> tuple[int, ...]:
        """Return the nodes of a match, from the last one back."""
        order = {k.variable: n for n, k in enumerate(self.evaluator.plan.pattern)}
        selected = [(order[variable], p) for variable, places in M for p in places]
        pending: list[tuple[BufferNode, tuple[BufferNode, ...]]] = [(node, ())]
        while pending:
            node, after = pending.pop()
            path = (*after, node)
            if (node.component, node.position) != selected[-len(path)]:
                continue
            if len(path) == len(selected):
                return tuple(map(self.nodes.__getitem__, path))
            pending += ((before, path) for before in node.before)
        raise InternalError(f"no path of the buffer has selected {M}")


def _holder(variable: str, kind: str, key: nfab_Key) -> str:
    name = {"single": variable, "first": f"{variable}[1]", "more": f"{variable}[i]"}[kind]
    values = [show_value(value) for _, value in key] if isinstance(key, tuple) else []
    return " · ".join((name, *values))
