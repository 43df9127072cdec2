"""Questions to the log of a web shop, with times of several forms, users that are missing, and fields nobody asks for.

Each answer is counted here by plain loops over what the log means, and by queries over the log as it is written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from itertools import combinations, pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

import cerify

ACTIONS = ("view page", "search", "add-to-cart", "pay", "login")
START = datetime(2024, 3, 30, 23, 40, tzinfo=UTC)


@dataclass(frozen=True)
class Visit:
    """What one row of the log means."""

    action: str
    user: str | None
    at: datetime
    price: float | None


def _visits() -> list[Visit]:
    rng, at, found = Random(7), START, []
    for _ in range(120):
        at += timedelta(milliseconds=rng.randrange(500, 90_000))
        action = rng.choice(ACTIONS)
        price = round(rng.random() * 50, 2) if action in ("add-to-cart", "pay") else None
        found.append(Visit(action, rng.choice(["ann", "bob", "cid", None]), at, price))
    return found


VISITS = _visits()


def _row(visit: Visit, n: int, time: object) -> dict[str, Any]:
    user = {} if visit.user is None else {"user": {"id": visit.user, "roles": ["customer"]}}
    return {"when": time, "event": {"action": visit.action}, "price": visit.price, "tags": [n, "a"], **user}


def _offsets(n: int, at: datetime) -> str:
    zone = timezone(timedelta(hours=(-5, 0, 1, 9)[n % 4], minutes=30 * (n % 2)))
    return at.astimezone(zone).isoformat(timespec="milliseconds")


LOGS: Mapping[str, Callable[[], str]] = {
    "mixed offsets": lambda: "".join(json.dumps(_row(v, n, _offsets(n, v.at))) + "\n" for n, v in enumerate(VISITS)),
    "milliseconds": lambda: "".join(
        json.dumps(_row(v, n, round(v.at.timestamp() * 1000))) + "\n" for n, v in enumerate(VISITS)
    ),
    "csv": lambda: "when;event.action;user.id;price;note\n" + "".join(
        f"{_offsets(n, v.at)};{v.action};{v.user or ''};{'' if v.price is None else str(v.price).replace('.', ',')};"
        f'"a;b"\n' for n, v in enumerate(VISITS)
    ),
}  # fmt: skip


def _pairs(first: str, second: str, minutes: float = 10**6, same_user: bool = False) -> int:
    return sum(
        a.action == first
        and b.action == second
        and b.at - a.at <= timedelta(minutes=minutes)
        and (not same_user or (a.user is not None and a.user == b.user))
        for a, b in combinations(VISITS, 2)
    )


def _next(action: str) -> int:
    """How often the next row after one of an action is one of it, too."""
    return sum(a.action == b.action == action for a, b in pairwise(VISITS))


def _abandoned(minutes: int) -> int:
    """Carts after which the user does not pay in time."""
    return sum(
        cart.action == "add-to-cart"
        and cart.user is not None
        and not any(
            v.action == "pay" and v.user == cart.user and timedelta(0) < v.at - cart.at < timedelta(minutes=minutes)
            for v in VISITS
        )
        for cart in VISITS
    )


SASE = 'PATTERN SEQ("add-to-cart" a, ~pay p) WHERE ["user.id"] and a."user.id" = a."user.id" WITHIN 10 minutes'
QUESTIONS: Mapping[str, tuple[str, str, int]] = {
    "payments": ("cel", "pay", sum(v.action == "pay" for v in VISITS)),
    "dear payments": ("cel", "pay FILTER pay.price > 25", sum(v.action == "pay" and v.price > 25 for v in VISITS)),  # type: ignore[operator]
    "a cart, then a payment": ("cel", '"add-to-cart" ; pay', _pairs("add-to-cart", "pay")),
    "within minutes": ("cel", '("view page" ; pay) WITHIN 5 minutes', _pairs("view page", "pay", 5)),
    "by one user": (
        "cel", '("add-to-cart" ; pay) PARTITION BY ["user.id"]', _pairs("add-to-cart", "pay", same_user=True),
    ),
    "by one user within minutes": (
        "cel", '(search ; pay) PARTITION BY ["user.id"] WITHIN 20 minutes', _pairs("search", "pay", 20, True),
    ),
    "a dearer payment": (
        "cel",
        '("add-to-cart" IN C ; pay IN P) FILTER C.price < P.price',
        sum(a.action == "add-to-cart" and b.action == "pay" and a.price < b.price  # type: ignore[operator]
            for a, b in combinations(VISITS, 2)),
    ),
    "next to each other": ("cel", "search IN S : search IN T", _next("search")),
    "without a user": (
        "sase", 'PATTERN SEQ("view page" a) WHERE a."user.id" = \'ann\'',
        sum(v.action == "view page" and v.user == "ann" for v in VISITS),
    ),
    "abandoned carts": ("sase", SASE, _abandoned(10)),
    "late": (
        "cel", "pay FILTER pay.time >= timestamp '2024-03-31T00:00:00Z'",
        sum(v.action == "pay" and v.at >= datetime(2024, 3, 31, tzinfo=UTC) for v in VISITS),
    ),
    "early, with an offset": (
        "cel", "pay FILTER pay.time < timestamp '2024-03-31T02:00:00+01:00'",
        sum(v.action == "pay" and v.at < datetime(2024, 3, 31, 1, tzinfo=UTC) for v in VISITS),
    ),
    "core-CEL": (
        "core-cel", '("view page" AS x ; login AS y) FILTER x."user.id" = y."user.id"',
        _pairs("view page", "login", same_user=True),
    ),
    "event expressions": (
        "event-expression", 'relative("add-to-cart", pay)',
        sum(v.action == "pay" and any(u.action == "add-to-cart" for u in VISITS[:n]) for n, v in enumerate(VISITS)),
    ),
    "rows in order": (
        "row-pattern",
        "MATCH_RECOGNIZE (ORDER BY time AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) DEFINE A AS type = 'login', "
        "B AS type = 'login')",
        _next("login"),
    ),
}  # fmt: skip


@pytest.fixture(params=LOGS)
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / ("shop.csv" if request.param == "csv" else "shop.jsonl")
    path.write_text(LOGS[request.param](), encoding="utf-8")
    return path


@pytest.mark.filterwarnings("ignore::cerify.semantics.errors.InputWarning")
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_to_the_log_has_the_right_answer(question: str, log: Path) -> None:
    language, text, expected = QUESTIONS[question]
    S = cerify.read_stream(log, type_column="event.action", time_column="when")
    assert cerify.count(text, S, language=language, strict=True) == expected
    assert expected > 0
    assert expected < 4000
