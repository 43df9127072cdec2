"""cerify normalize: a formula in a normal form that means the same."""

from __future__ import annotations

import json

import click

from cerify.api import read_query
from cerify.commands.options import AtLeast, Choice, language_option
from cerify.equivalence.rewrite.normal_forms.limit import NODES
from cerify.semantics.budget import depth_limited
from cerify.semantics.errors import errors_in
from cerify.terminal import echo

FORMS = ("disjunctive", "push-in", "push-filters", "star", "safe", "lp-normal")


@click.command()
@click.argument("query")
@click.option("--to", "form", type=Choice(FORMS), required=True, help="Which form.")
@language_option
@click.option("--nodes", type=AtLeast(1), default=NODES, show_default=True, help="The most nodes of a result.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(query: str, form: str, language: str, nodes: int, as_json: bool) -> int:
    """Rewrite QUERY to a normal form that has the same meaning, and print it with the nodes before and after.

    Of CEL: disjunctive, push-in, push-filters, star. Of core-CEL: disjunctive, safe, lp-normal.
    All but star are rewritten by rules; star, a formula of CEL*, is decided: where there is none, two streams show it,
    and the exit status is 1; it is 3 if it could not be decided.
    """
    lang, phi = read_query(query, language)
    forms = lang.normal_forms
    if form not in forms:
        raise click.UsageError(f"--to {form} is not for --language {language}, which has {', '.join(forms) or 'none'}")
    rewrite = forms[form]
    if rewrite is None:
        from cerify.commands.normalize_star import star

        return star(query, as_json)
    with errors_in(query), depth_limited(phi.span):
        psi = rewrite(phi, nodes)
        result, before, after = lang.show(psi), lang.size(phi), lang.size(psi)
    if as_json:
        size = {"before": before, "after": after}
        answer = {"language": language, "query": query, "to": form, "result": result, "size": size}
        echo(json.dumps(answer, ensure_ascii=False))
    else:
        echo(f"{result}\nsize {before} -> {after}")
    return 0
