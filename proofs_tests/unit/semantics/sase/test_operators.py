"""The table of constructs: each parses, prints, is found where it is used, and has a feature of the suite and a row."""

import json
import re
from pathlib import Path

import pytest

import cerify
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.clauses import CONSTRUCTS, STRATEGIES, Construct, operators, strategies
from cerify.semantics.sase.parse import parse
from cerify.semantics.sase.syntax import show
from proofs_tests.tools.suites.sase.queries import CLAUSES, QUERIES

GUIDE = Path(__file__).parents[4] / "docs" / "guide" / "sase.md"
SUITE = Path(cerify.__file__).parent / "conformance" / "suite" / "sase.jsonl"
OF_NO_CONSTRUCT = ("sase-printed", "sase-values", "sase-reading-")


def sample(construct: Construct) -> sase.Tree:
    text = f"PATTERN {construct.sample}"
    return parse(text if "RETURN" in text else f"{text} RETURN 1 AS one")


@pytest.mark.parametrize("construct", CONSTRUCTS, ids=lambda c: c.title)
def test_a_construct_is_parsed_printed_and_found(construct: Construct) -> None:
    q = sample(construct)
    assert parse(show(q)) == q
    if construct.used is not None:
        assert construct.used(q)
        assert not construct.used(parse("PATTERN SEQ(A a) WHERE strict_contiguity(a) { } RETURN a.x")) or (
            construct.symbol == "strict_contiguity"
        )
        assert construct.title in operators(q) or construct.symbol in strategies(q)


@pytest.mark.parametrize(
    ("symbol", "alias"), [(c.symbol, alias) for c in CONSTRUCTS for alias in c.aliases], ids=lambda text: text
)
def test_an_alias_is_the_same_query(symbol: str, alias: str) -> None:
    construct = next(c for c in CONSTRUCTS if c.symbol == symbol and alias in c.aliases)
    sign, other = (symbol, alias) if len(symbol) > 5 else (symbol[0], alias[0])
    assert sign in construct.sample
    text = f"PATTERN {construct.sample} RETURN 1 AS one"
    assert parse(text.replace(sign, other)) == parse(text)


def test_every_strategy_has_a_construct() -> None:
    assert set(STRATEGIES.values()) == set(sase.STRATEGIES)


def test_every_construct_is_a_feature_of_the_suite_with_its_source() -> None:
    lines = map(json.loads, SUITE.read_text(encoding="utf-8").splitlines())
    features = {case["feature"]: case["clause"] for case in lines if "feature" in case}
    of_constructs = {name for name in features if not name.startswith(OF_NO_CONSTRUCT)}
    assert of_constructs == {f"sase-{construct.name}" for construct in CONSTRUCTS}
    assert of_constructs < set(CLAUSES)
    assert of_constructs < set(QUERIES)
    for construct in CONSTRUCTS:
        assert features[f"sase-{construct.name}"].startswith(construct.source)


def test_the_table_of_the_guide_is_that_of_the_constructs() -> None:
    rows = re.findall(r"^\| `(.+?)` \| (.+?) \| (.+?) \| `(.+?)` \|$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == [(c.symbol, c.title, c.source, f"sase-{c.name}") for c in CONSTRUCTS]
