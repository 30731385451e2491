"""Expiry: what is past its time ends, by the policy it was stored under and by the present one."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import example, given
from hypothesis import strategies as st
from samples import record

from memoranda.maintenance.service import cutoffs, plan_expiry
from memoranda.model.changes import Retire
from memoranda.model.models import Kind
from memoranda.records.drafts import Retention

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
MONTH = Retention(UTC, {Kind.EPISODE: 30 * DAY, Kind.CONTEXT: None})
ZONES = (
    "Europe/Lisbon",
    "America/New_York",
    "Asia/Kathmandu",
    "Africa/Cairo",
    "America/Sao_Paulo",
    "America/Havana",
    "Pacific/Apia",
)


def kept(kind, created, retention=None, **fields):
    """Return a record as it was stored under a policy."""
    end = None if retention is None else retention.end(kind, created)
    return record("x", kind=kind, created_at=created, **({"valid_until": end} | fields))


def actions(*planned):
    """Return the actions of a plan."""
    return [action for _, action in plan_expiry(*planned)]


def reasons(*planned):
    """Return what is said of each end."""
    return [action.reason for action in actions(*planned)]


def kinds(*planned):
    """Return how many records of each kind end."""
    return Counter(each.kind for each, _ in plan_expiry(*planned))


def test_what_ended_by_itself_is_retired_with_its_reason():
    """The end that the present policy sets is told as that, any other as stored."""
    day = Retention(
        ZoneInfo("Europe/Lisbon"), {Kind.EPISODE: 36 * timedelta(hours=1), Kind.CONTEXT: None}
    )
    lapsed = [
        kept(Kind.CONTEXT, NOW - DAY, day),
        kept(Kind.EPISODE, NOW - 2 * DAY, day),
        kept(Kind.FACT, NOW - 9 * DAY, valid_until=NOW - DAY),
    ]
    assert actions(lapsed, day, NOW)[0] == Retire(
        lapsed[0].id, NOW, "expired: context is kept until the day ends in Europe/Lisbon"
    )
    assert reasons(lapsed, day, NOW)[1:] == [
        "expired: episode is kept for 1 day, 12:00:00",
        "expired: it was stored to be kept until 2026-05-31 12:00 UTC",
    ]
    assert kinds(lapsed, day, NOW) == {Kind.CONTEXT: 1, Kind.EPISODE: 1, Kind.FACT: 1}


def test_a_new_policy_ends_what_was_stored_under_another():
    """With ``retention.episode = 30d`` set later, older episodes end, no younger ones, no facts.

    A longer policy does not bring back what has ended: the past stays as it was.
    """
    old, edge, young = (
        kept(Kind.EPISODE, NOW - age) for age in (31 * DAY, 30 * DAY, 30 * DAY - timedelta(1e-8))
    )
    planned = [old, edge, young], MONTH, NOW
    assert [action.id for action in actions(*planned)] == [old.id, edge.id]
    assert set(reasons(*planned)) == {"expired: episode is kept for 30 days"}
    assert kinds(*planned) == {Kind.EPISODE: 2}
    ended = kept(Kind.EPISODE, NOW - 31 * DAY, MONTH)
    assert reasons([ended], Retention(UTC, {}), NOW) == [
        "expired: it was stored to be kept until 2026-05-31 12:00 UTC"
    ]
    facts = [kept(Kind.FACT, NOW - 400 * DAY), kept(Kind.FACT, NOW - 500 * DAY, decay_rate=0.1)]
    assert actions(facts, MONTH, NOW) == []
    assert len(actions(facts, Retention(UTC, {Kind.FACT: 364 * DAY}), NOW)) == 2


@given(
    st.sampled_from(ZONES),
    st.lists(st.integers(0, 72 * 60 * 60), max_size=8, unique=True),
    st.datetimes(datetime(2010, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 - hypothesis adds the zone
)
@example("Europe/Lisbon", [86_400, 0], NOW)
def test_cutoffs_miss_nothing(zone, ages, now):
    """What a store finds before the cutoffs gives the same plan as all there is."""
    now = now.replace(microsecond=now.microsecond // 1000 * 1000)
    retention = Retention(
        ZoneInfo(zone), {Kind.EPISODE: DAY, Kind.FACT: timedelta.max, Kind.CONTEXT: None}
    )
    records = {
        kind: [kept(kind, now - timedelta(seconds=age)) for age in sorted(ages, reverse=True)]
        for kind in Kind
    }
    since = cutoffs(retention, now)
    assert set(since) == {Kind.EPISODE, Kind.CONTEXT}
    older = [
        item for kind, before in since.items() for item in records[kind] if item.created_at < before
    ]
    everything = [item for each in records.values() for item in each]
    assert len(actions(older, retention, now)) == len(older)
    assert len(actions(everything, retention, now)) == len(older)
