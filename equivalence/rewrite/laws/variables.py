"""Laws of IN, PROJECT and FILTER."""

from __future__ import annotations

from cerify.equivalence.rewrite.laws.law import Law, holds

EACH = "Both are done to each valuation on its own."
SUPPORT = "The events of a union are the union of the events."
UNLOOKED = "IN changes no support, and nothing else is looked at."
PAIRS = "Keeping the pairs of some variables goes through unions."
EVENTS_OF_X = "The events of X on the whole are those of X in the parts."
SUGAR = "This is what section 4 says that the connective means."

BINDING: tuple[Law, ...] = (
    holds("IN is idempotent", "(phi IN X) IN X", "phi IN X", "The second IN binds what the first did."),
    holds("IN commutes with IN", "(phi IN X) IN Y", "(phi IN Y) IN X", UNLOOKED),
    holds("IN changes no complex event", "phi IN X", "phi", "It binds what is bound already.", "events"),
    holds("IN of its own type", "A IN A", "A", "A is bound to its event already."),
    holds("IN over OR", "(phi OR psi) IN X", "(phi IN X) OR (psi IN X)", EACH),
    holds("IN over ;", "(phi ; psi) IN X", "(phi IN X) ; (psi IN X)", SUPPORT),
    holds("IN over :", "(phi : psi) IN X", "(phi IN X) : (psi IN X)", SUPPORT),
    holds("IN over ALL", "(phi ALL psi) IN X", "(phi IN X) ALL (psi IN X)", SUPPORT),
    holds("IN over +", "phi+ IN X", "(phi IN X)+", SUPPORT),
    holds("IN over :+", "phi:+ IN X", "(phi IN X):+", SUPPORT),
    holds("IN and UNLESS", "(phi UNLESS psi) IN X", "(phi IN X) UNLESS psi", "The guard does not look at valuations."),
    holds("IN and START", "START(phi) IN X", "START(phi IN X)", UNLOOKED),
    holds("IN and STRICT", "STRICT(phi) IN X", "STRICT(phi IN X)", UNLOOKED),
    holds("IN and NXT", "NXT(phi) IN X", "NXT(phi IN X)", UNLOOKED),
    holds("IN and LAST", "LAST(phi) IN X", "LAST(phi IN X)", UNLOOKED),
    holds("IN and MAX", "MAX(phi) IN X", "MAX(phi IN X)", UNLOOKED),
    holds("IN and WITHIN", "(phi WITHIN 2 EVENTS) IN X", "(phi IN X) WITHIN 2 EVENTS", UNLOOKED),
    holds("IN and PARTITION BY", "(phi PARTITION BY [x]) IN X", "(phi IN X) PARTITION BY [x]", UNLOOKED),
)

PROJECTION: tuple[Law, ...] = (
    holds("PROJECT of PROJECT", "PROJECT[X, A](PROJECT[X, B](phi))", "PROJECT[X](phi)", "What is kept twice is kept."),
    holds("PROJECT over OR", "PROJECT[X](phi OR psi)", "PROJECT[X](phi) OR PROJECT[X](psi)", EACH),
    holds("PROJECT over ;", "PROJECT[X](phi ; psi)", "PROJECT[X](phi) ; PROJECT[X](psi)", PAIRS),
    holds("PROJECT over +", "PROJECT[X](phi+)", "PROJECT[X](phi)+", PAIRS),
    holds("PROJECT over ALL", "PROJECT[X](phi ALL psi)", "PROJECT[X](phi) ALL PROJECT[X](psi)", PAIRS),
    holds(
        "PROJECT and UNLESS",
        "PROJECT[X](phi UNLESS psi)",
        "PROJECT[X](phi) UNLESS psi",
        "The guard does not look at valuations.",
    ),
    holds("PROJECT to what IN bound", "PROJECT[X](phi IN X)", "phi", "X is bound to all events.", "events"),
    holds("PROJECT without what IN bound", "PROJECT[A](phi IN X)", "PROJECT[A](phi)", "IN changes no other variable."),
    holds(
        "PROJECT and FILTER of a variable that is kept",
        "PROJECT[X](phi FILTER P(X))",
        "PROJECT[X](phi) FILTER P(X)",
        "The events of X stay.",
    ),
    holds("PROJECT of what is bound alone", "PROJECT[A](A)", "A", "A binds nothing else."),
    holds("PROJECT to nothing, over ;", "PROJECT[](phi ; psi)", "PROJECT[](phi) ; PROJECT[](psi)", PAIRS),
    holds("PROJECT to nothing keeps nothing to order", "MAX(PROJECT[](phi))", "PROJECT[](phi)", "It is one valuation."),
    holds(
        "PROJECT to what is not there",
        "PROJECT[Z](phi)",
        "PROJECT[](phi)",
        "Z binds nothing.",
        without=(("phi", "Z"),),
    ),
)

FILTERS: tuple[Law, ...] = (
    holds("FILTER is idempotent", "(phi FILTER P(X)) FILTER P(X)", "phi FILTER P(X)", EACH),
    holds("FILTER commutes with FILTER", "(phi FILTER P(X)) FILTER Q(Y)", "(phi FILTER Q(Y)) FILTER P(X)", EACH),
    holds("AND in a filter", "phi FILTER P(X) AND Q(Y)", "(phi FILTER P(X)) FILTER Q(Y)", SUGAR),
    holds("OR in a filter", "phi FILTER P(X) OR Q(Y)", "(phi FILTER P(X)) OR (phi FILTER Q(Y))", SUGAR),
    holds("AND in a filter is AND", "phi FILTER P(X) AND Q(Y)", "(phi FILTER P(X)) AND (phi FILTER Q(Y))", EACH),
    holds(
        "AND over OR in a filter",
        "phi FILTER P(X) AND (P(Y) OR Q(Y))",
        "phi FILTER P(X) AND P(Y) OR P(X) AND Q(Y)",
        "Conditions are connected as truth values.",
    ),
    holds("FILTER over OR", "(phi OR psi) FILTER P(X)", "(phi FILTER P(X)) OR (psi FILTER P(X))", EACH),
    holds("FILTER over AND", "(phi AND psi) FILTER P(X)", "(phi FILTER P(X)) AND psi", EACH),
    holds("FILTER over ;", "(phi ; psi) FILTER P(X)", "(phi FILTER P(X)) ; (psi FILTER P(X))", EVENTS_OF_X),
    holds("FILTER over :", "(phi : psi) FILTER P(X)", "(phi FILTER P(X)) : (psi FILTER P(X))", EVENTS_OF_X),
    holds("FILTER over ALL", "(phi ALL psi) FILTER P(X)", "(phi FILTER P(X)) ALL (psi FILTER P(X))", EVENTS_OF_X),
    holds("FILTER over +", "phi+ FILTER P(X)", "(phi FILTER P(X))+", EVENTS_OF_X),
    holds("FILTER over :+", "phi:+ FILTER P(X)", "(phi FILTER P(X)):+", EVENTS_OF_X),
    holds(
        "FILTER and UNLESS",
        "(phi UNLESS psi) FILTER P(X)",
        "(phi FILTER P(X)) UNLESS psi",
        "The guard does not look at valuations.",
    ),
    holds("FILTER and START", "START(phi) FILTER P(X)", "START(phi FILTER P(X))", EACH),
    holds("FILTER and STRICT", "STRICT(phi) FILTER P(X)", "STRICT(phi FILTER P(X))", EACH),
    holds(
        "FILTER and IN of another variable",
        "(phi IN Y) FILTER P(X)",
        "(phi FILTER P(X)) IN Y",
        "IN changes no other variable.",
    ),
    holds(
        "FILTER of a variable that is not bound",
        "phi FILTER P(Z)",
        "phi",
        "Every event of none satisfies anything.",
        without=(("phi", "Z"),),
    ),
    holds(
        "FILTER of the last IN",
        "((phi FILTER P(X)) IN X) FILTER P(X)",
        "(phi IN X) FILTER P(X)",
        "X had only events that it has now.",
    ),
    holds(
        "and in brackets",
        "phi FILTER X[x > 0 and y > 0]",
        "phi FILTER X.x > 0 AND X.y > 0",
        "Every event satisfies both if every event satisfies each.",
    ),
    holds(
        "not of and in brackets",
        "phi FILTER X[not (x > 0 and y > 0)]",
        "phi FILTER X[not x > 0 or not y > 0]",
        "In brackets the connectives are those of truth values.",
    ),
    holds(
        "not of or in brackets",
        "phi FILTER X[not (x > 0 or y > 0)]",
        "phi FILTER X[not x > 0 and not y > 0]",
        "In brackets the connectives are those of truth values.",
    ),
    holds(
        "not twice in brackets", "phi FILTER X[not not x > 0]", "phi FILTER X.x > 0", "In brackets not is two-valued."
    ),
    holds("in is or of =", "phi FILTER X.x in {0, 1}", "phi FILTER X[x = 0 or x = 1]", "This is what in means."),
    holds(
        "in range is <= twice",
        "phi FILTER X.x in range(0, 1)",
        "phi FILTER X[x >= 0 and x <= 1]",
        "The range is closed.",
    ),
    holds("= is symmetric", "phi FILTER X.x = Y.x", "phi FILTER Y.x = X.x", "All pairs are compared either way."),
    holds("< turned round", "phi FILTER X.x < Y.x", "phi FILTER Y.x > X.x", "All pairs are compared either way."),
    holds(
        "a correlation of one variable holds in the parts",
        "((phi FILTER X.x = X.x) ; psi) FILTER X.x = X.x",
        "(phi ; psi) FILTER X.x = X.x",
        "Pairs of a part are pairs of the whole.",
    ),
)
