"""What an engine is compared with: the semantics, with the choices that the engine is entitled to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import Any

from cerify.conformance.hypotheses import AXES, answer
from cerify.conformance.hypotheses.axis import choices_of
from cerify.conformance.model import Case, of_output
from cerify.languages import LANGUAGES
from cerify.languages.language import DENOTATIONAL, Options
from cerify.protocol import Failed
from cerify.semantics.budget import Budget
from cerify.semantics.errors import CerifyError, Unsupported
from cerify.semantics.events import Match, Stream
from cerify.semantics.json_events import json_of_event, json_of_schema, schema_of_json, stream_of_json
from cerify.semantics.sase.reading import DECIDED, Reading

BUDGET = Budget(valuations=200_000)


@dataclass(frozen=True)
class Oracle:
    """The expected matches of queries: by the definition, under a reading of SASE+ or the choices of a policy.

    choices: for each language the value of each axis at which an engine may differ from the semantics; see
    cerify.conformance.hypotheses.
    """

    reading: Reading = DECIDED
    choices: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    budget: Budget = BUDGET

    @property
    def decided(self) -> bool:
        """Whether the expected matches are those of the built-in suites."""
        return self.reading == DECIDED and not any(self.choices.values())

    @property
    def held_to(self) -> str:
        """The choices in words; "" if there are none."""
        read = [f"{one.name}={getattr(self.reading, one.name)}" for one in fields(Reading)]
        decided = {f"{one.name}={getattr(DECIDED, one.name)}" for one in fields(Reading)}
        texts = [f"SASE+ with {text}" for text in read if text not in decided]
        texts += [f"{language} with {a}={v}" for language, of in self.choices.items() for a, v in of.items()]
        return ", ".join(texts)

    def concerns(self, language: str) -> bool:
        """Whether the expected matches of the language's queries may be others than those of the semantics."""
        return bool(self.choices.get(language)) or (
            self.reading != DECIDED and "reading" in LANGUAGES[language].settings
        )

    def held(self, language: str) -> Mapping[str, str]:
        """The choices for a language that are not the definition's, by axis."""
        if not self.concerns(language):
            return {}
        known = AXES[language]
        chosen = dict(choices_of(self.choices.get(language, {}), known))
        if "reading" in LANGUAGES[language].settings:
            read = {one.name: getattr(self.reading, one.name) for one in fields(Reading)}
            chosen |= {name: value for name, value in read.items() if value != known[name].default}
        return {name: value for name, value in chosen.items() if value != known[name].default}

    def matches(self, case: Case, query: Any, S: Stream) -> Sequence[Match]:
        """The expected matches. Raises Unsupported, BudgetExceeded."""
        language = LANGUAGES[case.language]
        if self.choices.get(case.language):
            found = answer(case.language, language.show(query), S, self.held(case.language), case.output)
            if isinstance(found, Failed):
                raise Unsupported(f"an engine with these choices reports an error: {found.message}")
            return list(found.matches)
        options = Options(case.output, self.budget, reading=self.reading)
        return of_output(language.matches(query, S, DENOTATIONAL, options), case.language, case.output)

    def expecting(self, case: Case) -> Case:
        """The case of a suite with the matches that are expected of it, as it is where these cannot be found."""
        if not self.concerns(case.language):
            return case
        with suppress(CerifyError):
            return replace(
                case, matches=self.matches(case, LANGUAGES[case.language].parse(case.query), stream_of(case))
            )
        return case

    def case(self, query: Any, S: Stream, origin: Case) -> Case:
        """A query and a stream as a case like another one, with the expected matches.

        Raises IllFormed, Unsupported, BudgetExceeded.
        """
        language = LANGUAGES[origin.language]
        if S.schema is not None:
            language.require_typed(query, S.schema)
        return replace(
            origin,
            query=language.show(query),
            schema=None if S.schema is None else json_of_schema(S.schema),
            events=[json_of_event(event) for event in S],
            matches=self.matches(origin, query, S),
        )


def stream_of(case: Case) -> Stream:
    """The events of a case, with its schema."""
    schema = None if case.schema is None else schema_of_json(case.schema)
    return stream_of_json(case.events, schema, case.id, LANGUAGES[case.language].row_type)
