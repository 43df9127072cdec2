"""cerify normalize: a formula in a normal form that means the same."""

from __future__ import annotations

import json

import click

from cerify.equivalence.rewrite.normal_forms.limit import NODES
from cerify.semantics.budget import depth_limited
from cerify.semantics.errors import errors_in

CEL = ("disjunctive", "push-in", "push-filters", "star")
CORE_CEL = ("disjunctive", "safe", "lp-normal")


@click.command()
@click.argument("query")
@click.option("--to", "form", type=click.Choice(list(dict.fromkeys(CEL + CORE_CEL))), required=True, help="Which form.")
@click.option("--language", type=click.Choice(["cel", "core-cel"]), default="cel", show_default=True)
@click.option("--nodes", type=click.IntRange(1), default=NODES, show_default=True, help="The most nodes of a result.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(query: str, form: str, language: str, nodes: int, as_json: bool) -> int:
    """Rewrite QUERY to a normal form that has the same meaning, and print it with the nodes before and after.

    Of CEL: disjunctive, push-in, push-filters, star. Of core-CEL: disjunctive, safe, lp-normal.
    All but star are rewritten by rules; star, a formula of CEL*, is decided: where there is none, two streams show it,
    and the exit status is 1; it is 3 if it could not be decided.
    """
    forms = CORE_CEL if language == "core-cel" else CEL
    if form not in forms:
        raise click.UsageError(f"--to {form} is not for --language {language}, which has {', '.join(forms)}")
    if form == "star":
        from cerify.commands.normalize_star import star

        return star(query, as_json)
    result, before, after = (_core_cel if language == "core-cel" else _cel)(query, form, nodes)
    if as_json:
        size = {"before": before, "after": after}
        answer = {"language": language, "query": query, "to": form, "result": result, "size": size}
        click.echo(json.dumps(answer, ensure_ascii=False))
    else:
        click.echo(f"{result}\nsize {before} -> {after}")
    return 0


Normalized = tuple[str, int, int]
"""The text of the result, and the nodes before and after."""


def _cel(query: str, form: str, nodes: int) -> Normalized:
    from cerify.equivalence.rewrite.normal_forms.disjunctive import disjunctive
    from cerify.equivalence.rewrite.normal_forms.push_filters import push_filters
    from cerify.equivalence.rewrite.normal_forms.push_in import push_in
    from cerify.semantics.cel.parse import parse
    from cerify.semantics.cel.show import show
    from cerify.semantics.cel.syntax import size

    passes = {"disjunctive": disjunctive, "push-in": push_in, "push-filters": push_filters}
    phi = parse(query)
    with errors_in(query), depth_limited(phi.span):
        psi = passes[form](phi, nodes)
        return show(psi), size(phi), size(psi)


def _core_cel(query: str, form: str, nodes: int) -> Normalized:
    from cerify.equivalence.rewrite.normal_forms.core_disjunctive import disjunctive
    from cerify.equivalence.rewrite.normal_forms.core_lp_normal import lp_normal
    from cerify.equivalence.rewrite.normal_forms.core_safe import safe
    from cerify.semantics.core_cel.parse import parse
    from cerify.semantics.core_cel.show import show
    from cerify.semantics.core_cel.syntax import size

    passes = {"disjunctive": disjunctive, "safe": safe, "lp-normal": lp_normal}
    phi = parse(query)
    with errors_in(query), depth_limited(phi.span):
        psi = passes[form](phi, nodes)
        return show(psi), size(phi), size(psi)
