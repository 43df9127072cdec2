"""The stages of the questions about each language, by its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module

from cerify.conformance.identification.questions import Stage
from cerify.languages import BUILT_IN

STAGES: Mapping[str, Sequence[Stage]] = {
    name: import_module(f"{__name__}.{module}").STAGES for name, module in BUILT_IN.items()
}
