"""The registry of languages by name. Each language is imported when it is first used.

A loader for each built-in language imports its module by an import statement, so that an editor can follow it. Other
packages add languages by entry points, which are read only for names that are not built in, since reading them takes 20
ms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from cerify.languages.language import Language
from cerify.semantics.arguments import did_you_mean, require_kind
from cerify.semantics.errors import IllFormed

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

LanguageName: TypeAlias = Literal[
    "cel", "core-cel", "event-expression", "sase", "row-pattern", "eql", "sigma", "ceql", "funnel"
]
DEFAULT: Final[LanguageName] = "cel"
"""The language of a query text if the caller names no language."""
COMMON: Final[LanguageName] = "cel"
"""The language into which queries of different languages are translated for a comparison."""

GROUP = "cerify.languages"  # of entry points: a language's name = module:instance of Language


def _load_cel() -> Language[Any]:
    from cerify.languages.cel import LANGUAGE

    return LANGUAGE


def _load_ceql() -> Language[Any]:
    from cerify.languages.ceql import LANGUAGE

    return LANGUAGE


def _load_core_cel() -> Language[Any]:
    from cerify.languages.core_cel import LANGUAGE

    return LANGUAGE


def _load_eql() -> Language[Any]:
    from cerify.languages.eql import LANGUAGE

    return LANGUAGE


def _load_event_expressions() -> Language[Any]:
    from cerify.languages.event_expressions import LANGUAGE

    return LANGUAGE


def _load_sase() -> Language[Any]:
    from cerify.languages.sase import LANGUAGE

    return LANGUAGE


def _load_row_pattern() -> Language[Any]:
    from cerify.languages.row_pattern import LANGUAGE

    return LANGUAGE


def _load_sigma() -> Language[Any]:
    from cerify.languages.sigma import LANGUAGE

    return LANGUAGE


def _load_funnel() -> Language[Any]:
    from cerify.languages.funnel import LANGUAGE

    return LANGUAGE


BUILT_IN: Mapping[str, Callable[[], Language[Any]]] = {
    "cel": _load_cel,
    "core-cel": _load_core_cel,
    "event-expression": _load_event_expressions,
    "sase": _load_sase,
    "row-pattern": _load_row_pattern,
}
"""The languages of this distribution that have a conformance suite, each with the function that imports it."""
WITHOUT_SUITE: Mapping[str, Callable[[], Language[Any]]] = {
    "eql": _load_eql,
    "sigma": _load_sigma,
    "ceql": _load_ceql,
    "funnel": _load_funnel,
}
"""The other languages. EQL has neither a conformance suite nor hypotheses about engines. The suites of Sigma and of
funnels run only if they are named. CEQL uses the suite of CEL."""
MODULES: Mapping[str, Callable[[], Language[Any]]] = {**BUILT_IN, **WITHOUT_SUITE}


class _Languages(Mapping[str, Language[Any]]):
    """The registry, as a mapping from names to languages; the built-in ones come first."""

    def __init__(self) -> None:
        self._loaded: dict[str, Language[Any]] = {}
        self._installed: dict[str, EntryPoint] | None = None

    def __getitem__(self, name: str) -> Language[Any]:
        if name not in self._loaded:
            if name in MODULES:
                self._loaded[name] = MODULES[name]()
            else:
                self._loaded[name] = self._entry_points()[name].load()
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in MODULES or name in self._loaded or name in self._entry_points()  # does not import the language

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*MODULES, *self._loaded, *self._entry_points())))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def add(self, language: Language[Any]) -> None:
        """Add a language under its name. Raises IllFormed if another language has this name."""
        if language.name in self and self[language.name] is not language:
            raise IllFormed(
                f"the name {language.name!r} belongs to the language {self[language.name].title}; give another name"
            )
        self._loaded[language.name] = language

    def remove(self, language: Language[Any]) -> None:
        """Remove a language that `add` added."""
        del self._loaded[language.name]

    def loaded_first(self) -> Iterator[Language[Any]]:
        """Yield all languages. Built-in languages that are already imported come first, so that a search may end before
        the others are imported.
        """
        known = [name for name in MODULES if name in self._loaded]
        yield from (self[name] for name in known)
        yield from (self[name] for name in self if name not in known)

    def _entry_points(self) -> dict[str, EntryPoint]:
        if self._installed is None:
            from importlib.metadata import entry_points  # imported here because this takes 20 ms

            self._installed = {point.name: point for point in entry_points(group=GROUP)}
        return self._installed


LANGUAGES: Final = _Languages()


def register(language: Language[Any]) -> None:
    """Make a language known to this process, under its name. Raises IllFormed if another language has the name.

      >>> import cerify
      >>> cerify.register(cerify.LANGUAGES["cel"])  # it is known already
      >>> "cel" in cerify.LANGUAGES
      True

    Other processes, such as the workers of a campaign or of Spark, and engines, know the language only if an installed
    package names it as an entry point in the group "cerify.languages".
    """
    LANGUAGES.add(language)


def language_named(name: str) -> Language[Any]:
    """Return the language of that name. Raises IllFormed if there is none."""
    if not isinstance(name, str) or name not in LANGUAGES:
        require_kind("language", name, str, "the name of a language")
        meant = meant_language(name) or f"; use one of {', '.join(LANGUAGES)}"
        raise IllFormed(f"there is no language {name!r}{meant}")
    return LANGUAGES[name]


def meant_language(name: str) -> str:
    """Return the end of a message: "; did you mean" and the language with the most similar name or title.

    Return "" if no name or title is similar.
    """
    titles = {"sql": "row-pattern"} | {one.title.casefold(): known for known, one in LANGUAGES.items()}
    return did_you_mean(titles.get(re.sub(r"[-\s]", "_", name.casefold()), name), LANGUAGES)


def language_of(query: object) -> Language[Any]:
    """Return the language of a syntax tree. Raises IllFormed if the argument is not a syntax tree."""
    for language in LANGUAGES.loaded_first():
        if isinstance(query, language.syntax.trees):
            return language
    raise IllFormed(f"a query is a text or a parsed formula, not {query!r}")
