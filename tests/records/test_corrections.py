"""Revision: plans that close, replace and reweigh, and never change a text."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from memoranda.model.changes import Close, Insert
from memoranda.model.models import Kind, Record
from memoranda.records.drafts import draft_correction, plan_correction

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def old():
    """A doubted, derived record of a session."""
    return Record(
        id="fact_1",
        kind=Kind.FACT,
        content="Ana lives in Porto",
        content_hash="x",
        user="ana",
        event_time=NOW,
        created_at=NOW,
        session_id="s",
        confidence=0.5,
        decay_rate=0.1,
        source_ids=("ep_1",),
        source_role="user",
        tags=("home",),
        metadata={"a": 1},
        origin="consolidation",
    )


def test_a_correction_is_the_same_but_for_its_text(old):
    """It keeps place, time, labels and sources, names what it supersedes, and is believed."""
    draft = draft_correction(old, "Ana lives in Lisbon")
    assert draft.content == "Ana lives in Lisbon"
    assert (draft.kind, draft.session, draft.role, draft.event_time) == (
        Kind.FACT,
        "s",
        "user",
        NOW,
    )
    assert (draft.tags, draft.metadata) == (("home",), {"a": 1})
    assert draft.supersedes == "fact_1"
    assert (draft.confidence, draft.decay_rate, draft.source_ids) == (1.0, 0.1, ("ep_1",))


def test_what_was_told_needs_no_sources(old):
    """A corrected fact of the user's own word does not go when what only repeated it is erased."""
    draft = draft_correction(replace(old, origin="api"), "Ana lives in Lisbon")
    assert (draft.source_ids, draft.origin) == ((), "api")


def test_a_correction_stores_and_closes(old):
    """The new record is stored, and the old one ends in its favour."""
    new = Insert(old)
    assert plan_correction(old, new, NOW) == [
        new,
        Close("fact_1", NOW, "corrected", superseded_by="fact_1"),
    ]
