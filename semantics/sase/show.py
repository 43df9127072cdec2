"""From a query of SASE+ to its text, which parses back to an equal query."""

from __future__ import annotations

from typing import assert_never

from cerify.semantics.budget import depth_limited
from cerify.semantics.predicate_text import show_predicate, show_term
from cerify.semantics.predicates import Attribute, Comparison, Constant, Either, Predicate, Term, mapped_predicate
from cerify.semantics.sase import syntax as sase


def show(q: sase.Tree) -> str:
    """The text of a query. Raises BudgetExceeded where it is too deep."""
    with depth_limited(q.span):
        match q:
            case sase.Query():
                return _query(q)
            case sase.Union(parts):
                return " UNION ".join(map(_query, parts))
            case sase.Program(queries):
                return "; ".join(map(show, queries))
            case _:
                assert_never(q)


def _query(q: sase.Query) -> str:
    clauses = [] if q.source is None else [f"FROM {q.source}"]
    clauses.append(f"PATTERN SEQ({', '.join(map(show_component, q.pattern))})")
    if q.where:
        clauses.append(f"WHERE {' '.join(show_block(block, q) for block in q.where)}")
    if q.within is not None:
        clauses.append(f"WITHIN {show_window(q.within)}")
    if q.having is not None:
        clauses.append(f"HAVING {show_condition(q.having)}")
    if q.returned.items:
        clauses.append(f"RETURN {show_return(q.returned)}")
    return " ".join(clauses)


def show_component(k: sase.Component) -> str:
    """A a, B+ b[], ~C c."""
    return f"{'~' if k.negated else ''}{k.type}{'+' if k.kleene else ''} {k.variable}{'[]' if k.kleene else ''}"


def show_block(block: sase.Block, q: sase.Query) -> str:
    """strategy(a, b[]!) { … }, or bare predicates."""
    inner = " and ".join(show_conjunct(conjunct, len(block.conjuncts) > 1) for conjunct in block.conjuncts)
    if block.strategy is None:
        return inner
    arrays = {k.variable for k in q.pattern if k.kleene}
    arguments = (f"{s.variable}{'[]' if s.variable in arrays else ''}{'!' if s.cut else ''}" for s in block.arguments)
    return (
        f"{block.strategy}({', '.join(arguments)}) {{ {inner} }}"
        if inner
        else f"{block.strategy}({', '.join(arguments)}) {{ }}"
    )


def show_conjunct(conjunct: sase.Conjunct, among_others: bool = False) -> str:
    """The text of a conjunct; among others an "or" stands in parentheses."""
    match conjunct.condition:
        case sase.Equivalence(attribute):
            text = f"[{attribute}]"
        case p:
            text = show_condition(p)
            if isinstance(p, Either) and among_others and not conjunct.underlined:
                text = f"({text})"
    return f"_({text})_" if conjunct.underlined else text


def show_window(window: sase.Window) -> str:
    """4 hours."""
    return f"{window.amount} {window.unit.removesuffix('s') if window.amount == 1 else window.unit}"


def show_return(returned: sase.Return) -> str:
    """[NON-OVERLAP] items, or a type and its items, [IN STREAM …]."""
    items = [show_item(item) for item in returned.items]
    match returned.items[:1]:
        case [sase.Item(sase.Simple(Constant() as c))] if returned.type is not None:
            # T(3, a.x) would be read as highest(3, a[].x) is
            items[0] = items[0].replace(text := show_term(c), f"({text})", 1)
    listed = ", ".join(items)
    text = listed if returned.type is None else f"{returned.type}({listed})"
    stream = "" if returned.stream is None else f" IN STREAM {returned.stream}"
    return f"{'NON-OVERLAP ' if returned.non_overlap else ''}{text}{stream}"


def show_item(item: sase.Item) -> str:
    """An attribute of the result, with its name."""
    return show_output(item.output) + ("" if item.alias is None else f" AS {item.alias}")


def show_output(output: sase.Output) -> str:
    """What an attribute of the result is made of."""
    match output:
        case sase.Simple(term):
            return show_of(term)
        case sase.Series(b, name):
            return f"{b}[].{name}"
        case sase.Composite(a, place, names):
            return f"{a}{_index(a, place)}.({', '.join(names)})"
        case sase.CompositeSeries(b, names):
            return f"{b}[].({', '.join(names)})"
        case _:
            assert_never(output)


def show_condition(p: Predicate) -> str:
    """The text of a predicate over references and aggregates."""
    return show_predicate(mapped_predicate(p, as_written))


def show_of(term: Term) -> str:
    """The text of a term over references and aggregates."""
    written = mapped_predicate(Comparison("=", term, Constant(0)), as_written)
    assert isinstance(written, Comparison)
    return show_term(written.left)


def as_written(attribute: Attribute) -> Attribute:
    """An attribute of the shared kind whose name is the text of the reference or aggregate."""
    return Attribute(show_attribute(attribute))


def show_attribute(attribute: Attribute) -> str:
    """a.x, b[i-1].x, avg(b[].x)."""
    a = attribute.variable or ""
    name = f".{attribute.name}" if attribute.name else ""
    match attribute:
        case sase.Aggregate(function=function, parameter=parameter, running=running):
            number = "" if parameter is None else f"{parameter}, "
            return f"{function}({number}{a}{'[..i-1]' if running else '[]'}{name})"
        case sase.Reference(place=place):
            return f"{a}{_index(a, place)}{name}"
        case _:
            raise TypeError(f"{attribute} is no reference of SASE+")


def _index(a: str, place: sase.Index) -> str:
    indexes: dict[sase.Index, str] = {
        "only": "",
        "first": "[1]",
        "current": "[i]",
        "previous": "[i-1]",
        "last": f"[{a}.LEN]",
    }
    return indexes[place]
