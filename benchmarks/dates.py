"""How well times in statements are read: LoCoMo's relative days and the Recognizers cases."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.measure import show
from memoranda.model.models import DateMention
from memoranda.text.dates.statements import read_times

DAY = timedelta(days=1)
TYPES = ("date", "daterange", "datetime")
UNJUDGED = frozenset({"time", "timerange", "datetimerange", "timezone", ""})
"""Types that count neither for nor against: a clock time alone is no date."""


def run(data: Path) -> None:
    """Print both measurements."""
    locomo(data / "dates" / "locomo_temporal_dev.jsonl")
    recognizers(data / "dates" / "recognizers_datetime_model.json")


# --- LoCoMo ------------------------------------------------------------------------------


def locomo(path: Path) -> None:
    """Print how often the day of the answer is found, and how often another day is said."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    asked = [row for row in rows if row["answer_date"]]
    verdicts = Counter(day_verdict(row) for row in asked)
    show(
        f"dates: {len(asked)} LoCoMo turns whose answer is a day (development)",
        ["the day itself", "a span with the day", "another day only", "nothing said"],
        [[share(verdicts[name], len(asked)) for name in ("exact", "inside", "wrong", "none")]],
    )


def day_verdict(row: dict[str, Any]) -> str:
    """Return ``exact``, ``inside``, ``wrong`` or ``none`` for one turn."""
    said_at = datetime.strptime(row["session_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    day = datetime.fromisoformat(row["answer_date"]).replace(tzinfo=UTC)
    verdict = "none"
    for mention in read_times(row["text"], said_at):
        if mention.precision in {"day", "time"}:
            if mention.since.date() == day.date():
                return "exact"
            verdict = "wrong" if verdict == "none" else verdict
        elif mention.since <= day < mention.until:
            verdict = "inside"
    return verdict


# --- Recognizers -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Expected:
    """One time that a case names: its type, its place and what it may mean."""

    type: str
    start: int
    end: int
    values: tuple[dict[str, str], ...]


def recognizers(path: Path) -> None:
    """Print precision and recall by type."""
    cases = json.loads(path.read_text(encoding="utf-8-sig"))
    tally: Counter[tuple[str, str]] = Counter()
    for case in cases:
        if "dotnet" not in case.get("NotSupported", "").lower():
            for key in judged(case):
                tally[key] += 1
    spurious = tally["spurious", "found"]
    show(
        f"dates: {len(cases)} Recognizers cases; {spurious} times read where none, a duration or"
        " a repetition is meant",
        ["type", "expected", "recall", "precision", "found: other bounds", "found: another time"],
        [
            *(shares(tally, [type_], type_) for type_ in TYPES),
            shares(tally, [*TYPES, "spurious"], "all"),
        ],
    )


def shares(tally: Counter[tuple[str, str]], types: list[str], name: str) -> list[str]:
    """Return a row: what was expected, and how what was found stands to it.

    Other bounds have some time in common with what was expected: "two weeks ago" is the week
    around that day here, and a range "from May to July" holds all of July.
    """
    expected, found, right, meets_ = (
        sum(tally[type_, verdict] for type_ in types)
        for verdict in ("expected", "found", "right", "meets")
    )
    return [
        name,
        str(expected),
        share(right, expected),
        share(right, found),
        share(meets_, found),
        share(found - right - meets_, found),
    ]


def judged(case: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what one case adds to the tally."""
    reference = case.get("Context", {}).get("ReferenceDateTime", "2016-11-07T00:00:00")
    said_at = datetime.fromisoformat(reference).replace(tzinfo=UTC)
    mentions = read_times(case["Input"], said_at)
    expected = [wanted(result) for result in case["Results"]]
    for want in expected:
        if want.type not in TYPES:
            continue
        yield want.type, "expected"
        near = [m for m in mentions if m.start < want.end and want.start < m.end]
        if near:
            yield want.type, "found"
        if any(agrees(mention, value) for mention in near for value in want.values):
            yield want.type, "right"
        elif any(meets(mention, value) for mention in near for value in want.values):
            yield want.type, "meets"
    known = [want for want in expected if want.type in TYPES or want.type in UNJUDGED]
    for mention in mentions:
        if not any(want.start < mention.end and mention.start < want.end for want in known):
            yield "spurious", "found"


def wanted(result: dict[str, Any]) -> Expected:
    """Return what a result of a case expects."""
    resolution = result.get("Resolution") or {}
    kind = result.get("TypeName", "").removeprefix("datetimeV2.")
    values = tuple(resolution.get("values", ()))
    start = result.get("Start", 0)
    return Expected(kind, start, result.get("End", start + len(result["Text"]) - 1) + 1, values)


def agrees(mention: DateMention, value: dict[str, str]) -> bool:
    """Return whether a mention has the bounds that ``value`` gives, as far as it gives them."""
    if (point := moment(value.get("value"))) is not None:
        if value["type"] == "date":
            return (mention.since, mention.until) == (point, point + DAY)
        return mention.since == point
    since, until = moment(value.get("start")), moment(value.get("end"))
    return (
        (since or until) is not None
        and since in {None, mention.since}
        and until in {None, mention.until}
    )


def meets(mention: DateMention, value: dict[str, str]) -> bool:
    """Return whether a mention and ``value`` have some time in common."""
    point = moment(value.get("value"))
    since, until = moment(value.get("start")), moment(value.get("end"))
    first = point or since or datetime.min.replace(tzinfo=UTC)
    last = point + DAY if point else until or datetime.max.replace(tzinfo=UTC)
    return mention.since < last and first < mention.until


def moment(text: str | None) -> datetime | None:
    """Return the time of a value; ``None`` where there is none, or it was not resolved."""
    try:
        return datetime.fromisoformat(text or "").replace(tzinfo=UTC)
    except ValueError:
        return None


def share(part: int, whole: int) -> str:
    """Return a share with three places."""
    return f"{part / whole:.3f}" if whole else "-"
