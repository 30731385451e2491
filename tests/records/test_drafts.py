"""RecordPlanner: from a draft to an action."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from memoranda.errors import InvalidInput
from memoranda.model.clock import IdFactory
from memoranda.model.models import Kind, Mention, Scope, Trust
from memoranda.records.drafts import (
    Draft,
    RecordPlanner,
    Retention,
    parse_kind,
    parse_metadata,
    parse_tags,
)
from memoranda.testing.clocks import FrozenClock


class Capitals:
    """Finds words with a capital."""

    def extract(self, text):
        """Return them as mentions."""
        return [
            Mention(word, "other", text.index(word), text.index(word) + len(word))
            for word in text.split()
            if word[0].isupper()
        ]


@pytest.fixture
def clock():
    """A clock at noon."""
    return FrozenClock(datetime(2026, 5, 1, 12, tzinfo=UTC))


@pytest.fixture
def ingest(clock):
    """RecordPlanner with a retention of each form."""
    return RecordPlanner(
        ids=IdFactory(clock),
        clock=clock,
        retention=Retention(zone=ZoneInfo("UTC"), spans={Kind.EPISODE: timedelta(days=30)}),
    )


def test_a_plan_holds_the_record_and_the_reason(ingest, clock):
    """Nothing is stored by planning: a plan is a value."""
    plan = ingest.plan(Scope("ana", "cook"), Draft(content="Ana likes tea"), reason="because")
    record = plan.record
    assert (record.user, record.agent, record.content) == ("ana", "cook", "Ana likes tea")
    assert record.event_time == record.created_at == clock.now()
    assert plan.mentions is None, "names are looked for later"
    assert plan.reason == "because"


@each_row(
    ("kind", "prefix", "days"),
    [("fact", "fact_", None), ("conversation", "ep_", 30), ("context", "ctx_", 0.5)],
)
def test_each_kind_has_its_prefix_and_its_end(ingest, clock, kind, prefix, days):
    """Ids tell the kind; retention gives the end: never, after a span, or at midnight."""
    record = ingest.plan(Scope("ana"), Draft(content="x", kind=kind)).record
    assert record.id.startswith(prefix)
    assert record.valid_until == (None if days is None else clock.now() + timedelta(days=days))


@each_row(
    ("role", "trust"),
    [
        (None, Trust.PERSON),
        ("user", Trust.PERSON),
        ("Ana", Trust.EXTERNAL),
        ("model", Trust.AGENT),
        ("system", Trust.EXTERNAL),
        ("assistant", Trust.AGENT),
        ("agent", Trust.AGENT),
        ("tool", Trust.EXTERNAL),
    ],
)
def test_trust_follows_from_who_said_it(ingest, role, trust):
    """Law 10: only the role user is a person, a model is an agent, who is not known is external."""
    assert ingest.plan(Scope("ana"), Draft(content="x", role=role)).record.trust is trust


def test_kinds_have_names_and_an_alias():
    """``conversation`` is the name of seed 001 for an episode."""
    assert [parse_kind(kind) for kind in ("episode", "conversation", Kind.FACT)] == [
        Kind.EPISODE,
        Kind.EPISODE,
        Kind.FACT,
    ]
    with pytest.raises(InvalidInput, match="kind='Fact' is unknown"):
        parse_kind("Fact")


def test_tags_and_metadata_are_copies():
    """What the caller does with his own afterwards changes nothing."""
    tags, metadata = ["b", "a", "b"], {"x": [1]}
    kept_tags, kept = parse_tags(tags), parse_metadata(metadata)
    tags.append("c")
    metadata["x"].append(2)
    assert kept_tags == ("b", "a")
    assert kept == {"x": [1]}


@given(start=st.datetimes(timezones=st.just(UTC), min_value=datetime(1990, 1, 1)))  # noqa: DTZ001
@pytest.mark.parametrize("zone", ["UTC", "Europe/Lisbon", "America/Havana", "Pacific/Apia"])
def test_a_day_ends_at_the_first_local_midnight_after_it(zone, start):
    """Whatever the clock does that night: it is tomorrow at the end, and today just before."""
    place = ZoneInfo(zone)
    if start.year >= 9999:
        return
    end = Retention(zone=place).end(Kind.CONTEXT, start)
    today = start.astimezone(place).date()
    assert end > start
    assert end.astimezone(place).date() > today
    assert (end - timedelta(seconds=1)).astimezone(place).date() <= today
