"""Profiles: what an engine means, axis by axis, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cerify.conformance.identification.questions import Question

Json = dict[str, Any]
PROFILE = 1


@dataclass(frozen=True)
class Finding:
    """What the answers say about one axis.

    value: the one that explains most answers; None if none explains them. alike: other values that explain as many,
    and that no question distinguished. answers: how many answers bear on the axis; explained: how many of them the
    value explains; exception: the question of those that it does not with the fewest events, and the shortest query.
    """

    value: str | None
    alike: tuple[str, ...]
    answers: int
    explained: int
    exception: Question | None = None

    def as_json(self) -> Json:
        """The finding in the form of profile.json."""
        exception = None
        if self.exception is not None:
            exception = {"query": self.exception.query, "events": [dict(event) for event in self.exception.events]}
        found: Json = {
            "value": self.value,
            "answers": self.answers,
            "explained": self.explained,
            "exception": exception,
        }
        return found | ({"alike": list(self.alike)} if self.alike else {})


@dataclass(frozen=True)
class Profile:
    """What an engine means in one language, without the axes that its skips leave open.

    stopped: why the questions ended early, "" if they did not. remarks: sentences about the answers as a whole.
    """

    name: str
    version: str
    language: str
    axes: Mapping[str, Finding]
    questions: int
    stopped: str = ""
    remarks: tuple[str, ...] = ()

    def as_json(self) -> Json:
        """The profile in the form of profile.json."""
        return {
            "profile": PROFILE,
            "engine": {"name": self.name, "version": self.version},
            "language": self.language,
            "axes": {name: finding.as_json() for name, finding in self.axes.items()},
            "questions": self.questions,
            **({"stopped": self.stopped} if self.stopped else {}),
            **({"remarks": list(self.remarks)} if self.remarks else {}),
        }


def merged(axes: Mapping[str, Finding], known: Mapping[str, str]) -> dict[str, Finding]:
    """The findings, those of axes as window@time and window@events as one, window, where all of them agree.

    known: the base of each axis of the language by its name; axes of which one is named as the base stay as they are.
    """
    result = dict(axes)
    for base in dict.fromkeys(known.values()):
        names = [name for name, other in known.items() if other == base]
        found = [axes[name] for name in names if name in axes]
        if base in names or len(found) < 2 or len({f.value for f in found}) > 1 or any(f.alike for f in found):
            continue
        merged_one = Finding(
            found[0].value,
            (),
            sum(f.answers for f in found),
            sum(f.explained for f in found),
            next((f.exception for f in found if f.exception is not None), None),
        )
        result = {
            (base if name == next(n for n in names if n in axes) else name): (merged_one if name in names else finding)
            for name, finding in result.items()
            if name not in names or name == next(n for n in names if n in axes)
        }
    return result
