"""Policies: the choices that an engine declares, or that `cerify identify` found, read from a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cerify.conformance.hypotheses import AXES
from cerify.conformance.hypotheses.axis import allows
from cerify.conformance.identification.profile import PROFILE
from cerify.languages import DEFAULT
from cerify.semantics.errors import InputError
from cerify.semantics.json_events import lines_of, parse_json, text_of


def read_policies(paths: Iterable[Path]) -> dict[str, Mapping[str, str]]:
    """The value of each axis by language, from files about different languages. Raises InputError."""
    chosen: dict[str, Mapping[str, str]] = {}
    source: dict[str, Path] = {}
    for path in paths:
        for language, axes in read_policy(path).items():
            if language in chosen:
                raise InputError(
                    f"{source[language]} and {path} are both policies for {language}: put their axes into one file"
                )
            chosen[language], source[language] = axes, path
    return chosen


def read_policy(path: Path) -> Mapping[str, Mapping[str, str]]:
    """The value of each axis by language: from a profile, or from several, a line each. Raises InputError."""
    try:
        profiles = [parse_json(text_of(path), str(path))]
    except InputError:
        profiles = [parse_json(text, where) for text, where in lines_of(path)]
    if not profiles:
        raise InputError(f"{path} has no profile; `cerify identify --json` writes one")
    chosen: dict[str, dict[str, str]] = {}
    for profile in profiles:
        language, axes = _checked(profile, path)
        chosen.setdefault(language, {}).update(axes)
    return chosen


def _checked(profile: Any, path: Path) -> tuple[str, dict[str, str]]:
    """The language of a profile, and the values of its axes that are not the default."""
    if not isinstance(profile, dict) or not isinstance(profile.get("axes"), dict):
        raise InputError(f'{path} is no profile: it has no "axes"; `cerify identify --json` writes one')
    if (version := profile.get("profile", PROFILE)) != PROFILE:
        raise InputError(
            f"{path} is a profile of version {version!r}, where this cerify reads version {PROFILE}: have it written "
            f'again by `cerify identify --json`, or change it to "profile": {PROFILE}, if its axes are those of today'
        )
    language = profile.get("language", DEFAULT)
    known = AXES.get(language) if isinstance(language, str) else None
    if known is None:
        raise InputError(f"{path}: there are no axes of {language!r}; there are those of {', '.join(AXES)}")
    chosen: dict[str, str] = {}
    for name, found in profile["axes"].items():
        value = found.get("value") if isinstance(found, dict) else found
        own = [known[name]] if name in known else [axis for axis in known.values() if name == axis.base]
        if not own:
            raise InputError(f"{path}: there is no axis {name!r}; there are {', '.join(known)}")
        if value is None:
            continue
        if not any(allows(axis, str(value)) for axis in own):
            raise InputError(f"{path}: the axis {name} has the values {', '.join(own[0].values)}, not {value!r}")
        if any(value != axis.default for axis in own):
            chosen[name] = str(value)
    return language, chosen
