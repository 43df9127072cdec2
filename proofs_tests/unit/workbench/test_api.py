"""What `help` and an editor show of the public functions: explicit parameters, and examples that run."""

import doctest
import inspect
import pydoc
from collections.abc import Callable, Iterator
from typing import Any, Never, get_type_hints

import pytest

import cerify
from cerify.languages.language import Options
from cerify.semantics.errors import IllFormed
from proofs_tests.toy_language import Toy

FUNCTIONS = {name: value for name in cerify.__all__ if inspect.isfunction(value := getattr(cerify, name))}
MATTERING = "match count compile explain check equivalent contained simplify generate conform"


def examples(name: str, function: Callable[..., Any]) -> doctest.DocTest:
    return doctest.DocTestParser().get_doctest(inspect.getdoc(function) or "", {}, name, None, None)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_public_function_has_an_example_that_runs(name: str) -> None:
    test = examples(name, FUNCTIONS[name])
    assert test.examples, f"the docstring of cerify.{name} has no example"
    assert doctest.DocTestRunner().run(test).failed == 0


def test_help_of_the_package_opens_with_an_example_and_the_functions_that_matter() -> None:
    text = pydoc.plain(pydoc.render_doc(cerify))
    opening = text[: text.index("import cerify` costs")]
    assert all(f"\n      {name} " in opening for name in MATTERING.split())
    assert doctest.testmod(cerify).failed == 0


def keywords(function: Callable[..., Any]) -> Iterator[str]:
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is not parameter.VAR_KEYWORD:
            yield parameter.name


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_parameters_are_explicit(name: str) -> None:
    """Whatever else is passed is refused by a type checker, and at run time by a message that suggests a name."""
    parameters = inspect.signature(FUNCTIONS[name]).parameters.values()
    required = [None for one in parameters if one.kind < one.KEYWORD_ONLY and one.default is one.empty]
    for parameter in parameters:
        if parameter.kind is parameter.VAR_KEYWORD:
            assert parameter.annotation in (Never, "Never")
            with pytest.raises(IllFormed, match=f"^{name} has no argument 'no_such'"):
                FUNCTIONS[name](*required, no_such=1)
        else:
            assert parameter.kind is not parameter.VAR_POSITIONAL


@pytest.mark.parametrize("name", ["match", "count", "compile"])
def test_every_option_is_a_parameter(name: str) -> None:
    options = {"options" if option == "own" else option for option in get_type_hints(Options)}
    assert options <= set(keywords(FUNCTIONS[name]))


def test_a_plug_in_takes_options_of_its_own() -> None:
    class Spelling(Toy):
        name = "spelling"
        options = frozenset({"case"})

    cerify.register(Spelling())
    try:
        assert len(cerify.match("A", [{"type": "A"}], language="spelling", options={"case": "upper"})) == 1
        with pytest.raises(IllFormed, match=r"options: .* has no option 'cas'; it has case"):
            cerify.match("A", [{"type": "A"}], language="spelling", options={"cas": "upper"})
    finally:
        cerify.LANGUAGES.remove(cerify.LANGUAGES["spelling"])
    with pytest.raises(IllFormed, match="options: CEL has no option 'case', nor any other"):
        cerify.count("A", [{"type": "A"}], options={"case": "upper"})
    with pytest.raises(IllFormed, match="options: expected a mapping from names to values, not 1"):
        cerify.compile("A", options=1)  # type: ignore[arg-type]
