"""A pruning that fails: the message is kept, it is logged, the next message prunes (N4.4)."""

import logging

import pytest
from talks import FINISHED, NEXT, chatter, chosen, fill, heard, lawful, named, remembering, sized

from memoranda import Conversation, errors
from memoranda.conversation.pruning import ConversationServices, check_limits
from memoranda.conversation.transcript import Transcript
from memoranda.model.clock import SystemClock

WINDOW = 1_000
FAILURES = [
    OSError(28, "No space left on device"),
    errors.StoreFull("the disk is full"),
    errors.StoreBusy("locked for too long"),
    RuntimeError("a bug"),
]


class Failing(Transcript):
    """A transcript on a disk that fails: its next prunings or appends raise what is given."""

    prunings_fail = appends_fail = ()

    def prune(self, pruning):
        """Keep a receipt, or fail."""
        if self.prunings_fail and (error := self.prunings_fail.pop(0)):
            raise error
        super().prune(pruning)

    def append(self, messages):
        """Add messages, or fail."""
        if self.appends_fail and (error := self.appends_fail.pop(0)):
            raise error
        return super().append(messages)


def failing(*, settings=None, **arguments):
    """Return a conversation and its transcript, which can be told to fail."""
    limits = check_limits((settings or chosen()).conversation, context_limit=WINDOW, **arguments)
    transcript = Failing.alone("c", SystemClock().now(), {"context_limit": WINDOW})
    return Conversation.over(transcript, limits, ConversationServices()), transcript


@pytest.fixture
def logged(caplog):
    """What is logged of conversations."""
    with caplog.at_level(logging.INFO, logger="memoranda.conversation"):
        yield caplog


@pytest.mark.parametrize("error", FAILURES, ids=lambda error: type(error).__name__)
def test_a_message_is_kept_when_its_pruning_fails(error, logged):
    """N4.4: ``add`` returns the message; the failure is logged; the next message prunes."""
    chat, transcript = failing(max_messages=99, keep_recent=2)
    events = heard(chat)
    fill(chat, [79] * 10)
    transcript.prunings_fail = [error]
    said = chat.add("user", sized(79))
    assert said == chat.messages[-1]
    assert chat.prunings == ()
    assert [event.name for event in events[-2:]] == ["added", "approaching_limit"]
    assert [(record.levelname, record.exc_info[1]) for record in logged.records] == [
        ("ERROR", error)
    ]
    assert len(lawful(chat, 800).messages) < 11  # N2.5: the view keeps its limit by itself
    next_one = chat.add("assistant", sized(12))
    [receipt] = chat.prunings
    assert named(events, "pruned") == [receipt]
    assert named(events, "added")[-1] == next_one
    assert lawful(chat, 800).pruned == ()
    assert len(logged.records) == 1


def test_a_task_boundary_is_not_forgotten_when_its_pruning_fails():
    """R6.4: the finished task leaves with the next message, too."""
    chat, transcript = failing(keep_recent=1, settings=chosen(prune_from=0.0))
    for number in range(6):
        chat.add("user", f"Rename the function number {number} in module{number}.py")
        chat.add("assistant", f"Renamed function {number}.")
    chat.add("assistant", FINISHED)
    transcript.prunings_fail = [OSError("disk")]
    chat.add("user", NEXT)
    assert chat.prunings == ()
    chat.add("assistant", "Which of them?")
    assert [receipt.trigger for receipt in chat.prunings] == ["task_boundary"]
    assert chat.view().messages[-2].content == NEXT


def test_a_message_that_cannot_be_stored_changes_nothing():
    """N4.5: no message, no event, no figure; the next attempt finds all as it was."""
    chat, transcript = failing(max_messages=99)
    chatter(chat, 6)
    chat.add("assistant", FINISHED)
    events, before = heard(chat), (chat.messages, chat.view(), chat.stats())
    transcript.appends_fail = [errors.StoreFull("the disk is full")] * 2
    with pytest.raises(errors.StoreFull):
        chat.add("user", NEXT)
    with pytest.raises(errors.StoreFull):
        chat.extend([{"role": "user", "content": sized(400)}] * 3)
    assert (chat.messages, chat.view(), chat.stats()) == before
    assert events == []
    chat.add("user", NEXT)
    assert [event.name for event in events][:2] == ["added", "task_boundary"]


def test_a_full_disk_refuses_the_message_whole(tmp_path):
    """R: on a disk without room neither message nor episode is there; with room all goes on."""
    with remembering(tmp_path / "m.db") as memory:
        chat = memory.conversation("c", context_limit=WINDOW, keep_recent=2)
        fill(chat, [79] * 8)
        events, before = heard(chat), chat.view()
        writer = memory._services.store._writer.raw
        writer.execute(f"PRAGMA max_page_count = {writer.pragma('page_count')}")
        with pytest.raises(errors.StoreFull):
            chat.add("user", "tea " * 60_000)
        assert events == []
        assert chat.view() == before
        assert len(memory.records(kind="episode")) == 8
        writer.execute("PRAGMA max_page_count = 1000000")
        chat.add("user", "tea " * 60_000)
        assert len(chat.prunings) == 1
        assert memory.verify() == []
