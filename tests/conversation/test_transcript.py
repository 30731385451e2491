"""The transcript in memory: append-only, cut by ``clear``, kept apart from its readers."""

from datetime import UTC, datetime

import pytest

from recollect.conversation.transcript import MemoryTranscript
from recollect.core.errors import NotFound
from recollect.core.models import ConversationInfo, Message

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


def message(number):
    """Make a message."""
    return Message(id=f"m{number}", role="user", content="x", timestamp=MOMENT, tokens=1)


@pytest.fixture
def transcript():
    """A transcript of three messages."""
    made = MemoryTranscript(ConversationInfo(id="c", created_at=MOMENT))
    made.append([message(n) for n in range(3)])
    return made


def test_reading_does_not_open_the_transcript(transcript):
    """A list that was read is the reader's own."""
    transcript.messages().clear()
    assert len(transcript.messages()) == 3
    assert [m.id for m in transcript.messages(last=2)] == ["m1", "m2"]
    assert len(transcript.messages(last=9)) == 3


def test_clear_leaves_all_out_and_counts_them_still(transcript):
    """What was cleared is in no reading, but in the count."""
    transcript.clear()
    assert transcript.messages() == []
    assert (transcript.info().messages, transcript.info().cleared_through) == (3, "m2")
    transcript.append([message(3)])
    assert [m.id for m in transcript.messages()] == ["m3"]


def test_a_pin_is_set_and_taken_off(transcript):
    """A pin changes one message and nothing else."""
    transcript.pin("m1", pinned=True)
    assert [m.pinned for m in transcript.messages()] == [False, True, False]
    transcript.pin("m1", pinned=False)
    assert not any(m.pinned for m in transcript.messages())
    with pytest.raises(NotFound, match="m9"):
        transcript.pin("m9", pinned=True)


def test_an_end_is_a_moment(transcript):
    """Ending is noted with its time."""
    transcript.end(MOMENT)
    assert transcript.info().ended_at == MOMENT
