"""From a draft to an action, and from a record to its correction."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from samples import record
from tables import each_row

from memoranda.errors import InvalidInput
from memoranda.model.checks import parse_metadata
from memoranda.model.clock import IdFactory
from memoranda.model.models import Kind, Scope, Trust
from memoranda.records.drafts import (
    Draft,
    RecordPlanner,
    Retention,
    draft_correction,
    parse_kind,
    parse_tags,
)
from memoranda.testing.clocks import FrozenClock


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
        retention=Retention(
            zone=ZoneInfo("UTC"), spans={Kind.EPISODE: timedelta(days=30), Kind.CONTEXT: None}
        ),
    )


def test_a_plan_holds_the_record_and_the_reason(ingest, clock):
    """Nothing is stored by planning: a plan is a value."""
    plan = ingest.plan(Scope("ana", "cook"), Draft(content="Ana likes tea"), reason="because")
    made = plan.record
    assert (made.user, made.agent, made.content) == ("ana", "cook", "Ana likes tea")
    assert made.event_time == made.created_at == clock.now()
    assert plan.mentions == (), "names are looked for later"
    assert plan.reason == "because"


@each_row(
    ("kind", "prefix", "days"),
    [("fact", "fact_", None), ("conversation", "ep_", 30), ("context", "ctx_", 0.5)],
)
def test_each_kind_has_its_prefix_and_its_end(ingest, clock, kind, prefix, days):
    """Ids tell the kind; retention gives the end: never, after a span, or at midnight."""
    made = ingest.plan(Scope("ana"), Draft(content="x", kind=kind)).record
    assert made.id.startswith(prefix)
    assert made.valid_until == (None if days is None else clock.now() + timedelta(days=days))


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


DAYS = st.datetimes(datetime(1990, 1, 1), datetime(9990, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@given(st.sampled_from(["UTC", "Europe/Lisbon", "America/Havana", "Pacific/Apia"]), DAYS)
@example("Europe/Lisbon", datetime.fromisoformat("2026-03-29T00:30+00:00"))  # Summer time begins,
@example("Europe/Lisbon", datetime.fromisoformat("2026-10-25T00:30+01:00"))  # and ends.
@example("Africa/Cairo", datetime.fromisoformat("2024-04-25T23:30+02:00"))  # There is no midnight,
@example("America/Havana", datetime.fromisoformat("2025-11-01T23:30-04:00"))  # it comes twice,
@example("America/Sao_Paulo", datetime.fromisoformat("2018-02-17T23:30-02:00"))  # as 23:00 does.
@example("Pacific/Apia", datetime.fromisoformat("2011-12-29T12:00-10:00"))  # No day comes after it.
def test_a_day_ends_at_the_first_local_midnight_after_it(zone, start):
    """Whatever the clock does that night: it is tomorrow at the end, and today just before."""
    place = ZoneInfo(zone)
    end = Retention(place, {Kind.CONTEXT: None}).end(Kind.CONTEXT, start)
    today = start.astimezone(place).date()
    assert end > start
    assert end.astimezone(place).date() > today
    assert (end - timedelta(milliseconds=1)).astimezone(place).date() <= today


OLD = record(
    "Ana lives in Porto",
    id="fact_1",
    session_id="s",
    confidence=0.5,
    decay_rate=0.1,
    source_ids=("ep_1",),  # So it is no word of a person.
    source_role="user",
    tags=("home",),
    metadata={"a": 1},
)


def test_a_correction_is_the_same_but_for_its_text():
    """It keeps place, time, labels and sources, names what it supersedes, and is believed.

    What a person told needs no sources: it stays when what only repeated it is erased.
    """
    draft = draft_correction(OLD, "Ana lives in Lisbon")
    assert (draft["content"], draft["supersedes"]) == ("Ana lives in Lisbon", "fact_1")
    assert (draft["kind"], draft["session"], draft["role"]) == (Kind.FACT, "s", "user")
    assert (draft["event_time"], draft["tags"]) == (OLD.event_time, ("home",))
    assert (draft["metadata"], draft["decay_rate"]) == ({"a": 1}, 0.1)
    assert draft["source_ids"] == ("ep_1",)
    told = draft_correction(replace(OLD, origin="api"), "Ana lives in Lisbon")
    assert (told["source_ids"], told["origin"]) == ((), "api")
