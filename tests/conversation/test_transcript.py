"""The transcript in memory: append-only, cut by ``clear``, kept apart from its readers."""

from datetime import UTC, datetime

import pytest

from memoranda.conversation.transcript import MemoryTranscript
from memoranda.errors import NotFound
from memoranda.model.models import Calibration, ConversationInfo, Message, PrunedSpan, Pruning

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


def message(number):
    """Make a message."""
    return Message(id=f"m{number}", role="user", content="x", timestamp=MOMENT, tokens=1)


def pruning(number):
    """Make the receipt of a pruning that took out the first message."""
    cut = PrunedSpan(first=0, last=0, messages=1, tokens=1, since=MOMENT, until=MOMENT, why="old")
    return Pruning(
        id=f"prn_{number}",
        at=MOMENT,
        trigger="manual",
        why="a test",
        strategy="recency",
        before=3,
        after=2,
        cuts=(cut,),
    )


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


def test_positions_count_from_the_first_message(transcript):
    """A message keeps its place for ever, also behind what was cleared."""
    transcript.clear()
    transcript.append([message(3), message(4)])
    assert [m.position for m in transcript.messages(cleared=True)] == [0, 1, 2, 3, 4]
    assert [m.id for m in transcript.messages(after=3)] == ["m4"]
    assert [m.id for m in transcript.messages(after=0)] == ["m3", "m4"]
    assert [m.id for m in transcript.messages(after=0, cleared=True)] == ["m1", "m2", "m3", "m4"]


def test_receipts_are_kept_in_order(transcript):
    """Receipts are as they were given, but for the summaries that come later."""
    first, second = pruning(1), pruning(2)
    transcript.prune(first)
    transcript.prune(second)
    assert transcript.prunings() == [first, second]
    transcript.summarize("prn_2", {0: "They chose Lisbon."})
    assert [cut.summary for item in transcript.prunings() for cut in item.cuts] == [
        None,
        "They chose Lisbon.",
    ]


def test_the_revision_tells_of_changes_but_not_of_additions(transcript):
    """A reader who knows the revision has missed nothing but new messages."""
    seen = [transcript.info().revision]
    transcript.append([message(3)])
    assert transcript.info().revision == seen[-1]
    for change in (
        lambda: transcript.pin("m1", pinned=True),
        lambda: transcript.prune(pruning(1)),
        lambda: transcript.summarize("prn_1", {0: "x"}),
        lambda: transcript.recount({"m0": 9}),
        transcript.clear,
    ):
        change()
        seen.append(transcript.info().revision)
    assert seen == sorted(set(seen))


def test_counts_are_set_by_id(transcript):
    """Counting anew changes the counts of those messages alone."""
    transcript.recount({"m1": 5})
    assert [m.tokens for m in transcript.messages()] == [1, 5, 1]


def test_what_was_taught_is_kept(transcript):
    """A calibration is part of the state."""
    transcript.calibrate(Calibration(1.2, 3))
    assert transcript.info().calibration == Calibration(1.2, 3)


def test_an_end_is_a_moment(transcript):
    """Ending is noted with its time."""
    transcript.end(MOMENT)
    assert transcript.info().ended_at == MOMENT
