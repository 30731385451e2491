"""Decay: a function of the moment alone, so that no night can be counted twice."""

import math
import runpy
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree as ET
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import record

from memoranda.maintenance import decay
from memoranda.model.changes import Fade, Retire
from memoranda.model.models import Kind

START = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
THRESHOLD = 0.05
DAYS = st.floats(0, 3_000, allow_nan=False)
RATES = st.floats(0.0001, 2)
STRENGTHS = st.floats(0, 1)


def fact(**fields):
    """Return a fact that fades from the start."""
    known = {"id": "fact_1", "created_at": START, "strength_at": START, "decay_rate": 0.1}
    return record("Ana lives in Porto", **(known | fields))


def applied(item, actions):
    """Return a record as a store would hold it after a plan; ``None`` if it was retired."""
    for action in actions:
        if isinstance(action, Retire):
            return None
        item = replace(item, confidence=action.confidence, strength=item.strength or 1.0)
    return item


def left(item, now, threshold=0.0):
    """Return the confidence after a plan at ``now``."""
    after = applied(item, decay.plan([item], now, threshold))
    return None if after is None else after.confidence


facts = st.builds(
    lambda strength, rate: fact(strength=strength, confidence=strength, decay_rate=rate),
    STRENGTHS,
    RATES,
)


def test_the_curve_is_the_one_of_the_specification():
    """After ten days at 0.1 a day, 1/e is left; after thirty, a fact is gone (0.0498)."""
    assert decay.curve(1.0, 0.1, 10) == pytest.approx(math.exp(-1))
    assert decay.plan([fact()], START + 10 * DAY, THRESHOLD) == [
        Fade("fact_1", START + 10 * DAY, pytest.approx(math.exp(-1)))
    ]
    assert decay.plan([fact()], START + 30 * DAY, THRESHOLD) == [
        Retire("fact_1", START + 30 * DAY, "faded: confidence 0.0498 is below 0.05")
    ]
    assert decay.plan([fact()], START + 35 * DAY, THRESHOLD)[0].reason == (
        "faded: confidence 0.0302 is below 0.05"
    )


@given(facts, DAYS, DAYS)
def test_nights_in_between_make_no_difference(item, first, second):
    """Decay at one moment and then at a later one is decay at the later one."""
    early, late = sorted((START + timedelta(days=first), START + timedelta(days=second)))
    between = applied(item, decay.plan([item], early, THRESHOLD))
    direct = applied(item, decay.plan([item], late, THRESHOLD))
    if between is None:
        assert direct is None
        return
    stepwise = applied(between, decay.plan([between], late, THRESHOLD))
    if direct is None or stepwise is None:
        assert direct is stepwise
    else:
        assert stepwise.confidence == pytest.approx(direct.confidence, abs=2 * decay.ROUNDING)


@given(facts, DAYS, DAYS)
def test_a_recall_starts_the_curve_anew(item, days, more):
    """As long after a recall as after the first word, as much is left."""
    recalled = START + timedelta(days=days)
    touched = replace(item, confidence=item.strength, strength_at=recalled)
    assert decay.confidence(touched, recalled) == item.strength
    assert decay.confidence(touched, recalled + timedelta(days=more)) == pytest.approx(
        decay.confidence(item, START + timedelta(days=more)), abs=1e-6
    )


@given(facts, DAYS)
def test_the_day_of_its_end_is_foretold(item, days):
    """Before that day a fact is kept, after it retired; also one that was superseded."""
    day = decay.retirement_date(item, THRESHOLD)
    now = START + timedelta(days=days)
    retired = left(item, now, THRESHOLD) is None
    assert day is not None
    assert decay.retirement_date(replace(item, superseded_by="fact_2"), THRESHOLD) == day
    if abs(now - day) > timedelta(minutes=1):
        assert retired == (now > day)


def test_what_does_not_fade_never_does():
    """A decay rate of 0 and every kind but facts: no day, no change, after a thousand years."""
    others = (Kind.EPISODE, Kind.REFLECTION, Kind.CONTEXT)
    for item in (fact(decay_rate=0.0), *(fact(kind=kind) for kind in others)):
        later = START + 365_000 * DAY
        assert decay.plan([item], later, THRESHOLD) == []
        assert decay.retirement_date(item, THRESHOLD) is None
        assert decay.confidence(item, later) == item.confidence


def test_the_clock_on_the_wall_makes_no_difference():
    """An hour that a clock skips or has twice is no day's twenty-fourth part more or less."""
    for zone in ("Europe/Lisbon", "America/New_York", "Australia/Lord_Howe"):
        place = ZoneInfo(zone)
        start = datetime(2025, 3, 1, tzinfo=place)
        for days in (1, 40, 250):
            now = (start.astimezone(UTC) + days * DAY).astimezone(place)
            item = fact(created_at=start, strength_at=start)
            assert decay.confidence(item, now) == decay.curve(1.0, 0.1, days)


def test_the_picture_in_the_docs_is_what_the_curve_draws():
    """``docs/images/decay.svg`` is the output of its script, and well-formed."""
    root = Path(__file__).parents[2]
    drawn = runpy.run_path(str(root / "scripts" / "draw_decay.py"))["picture"]()
    assert (root / "docs" / "images" / "decay.svg").read_text("utf-8") == drawn
    texts = [each.text for each in ET.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]  # noqa: S314 - our own file
    assert {"day 15", "day 30", "day 40", "day 60"} <= set(texts)
