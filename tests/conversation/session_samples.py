"""Messages, receipts and files for the tests of sessions, and any of them for hypothesis."""

import json
from datetime import UTC, datetime, timedelta, timezone
from itertools import count

from hypothesis import strategies as st

from memoranda.conversation.session_file import FileTranscript
from memoranda.model.models import (
    Calibration,
    ConversationInfo,
    Image,
    Message,
    PrunedSpan,
    Pruning,
    ToolCall,
    ToolResult,
)

CREATED = datetime(2026, 2, 27, 14, 30, tzinfo=UTC)
SEED = (
    '{"_type":"metadata","key":"telegram:42","createdAt":"2026-02-27T14:30:00.123Z",'
    '"lastConsolidated":1}\n'
    '{"role":"user","content":"Hi","timestamp":"2026-02-27T14:31:00.000Z"}\n'
    '{"role":"assistant","content":"Done","timestamp":"2026-02-27T14:32:00.000Z",'
    '"toolsUsed":["bash"]}\n'
)
"""A file as the system of seed 002 writes it."""
_numbers = count(1)


def message(content="x", **fields):
    """Make a message, a minute after the one before."""
    number = next(_numbers)
    usual = {"id": f"msg_{number:026d}", "role": "user", "tokens": 3}
    usual["timestamp"] = CREATED + timedelta(minutes=number)
    return Message(content=content, **(usual | fields))


def pruning(*cuts, id="prn_1"):
    """Make a receipt."""
    return Pruning(
        id=id,
        at=CREATED,
        trigger="manual",
        why="90 % “full”",
        strategy="recency",
        before=90,
        after=40,
        cuts=cuts,
    )


def cut(first, last, **fields):
    """Make a cut."""
    return PrunedSpan(
        first=first,
        last=last,
        messages=last - first + 1,
        tokens=7,
        since=CREATED,
        until=CREATED + timedelta(hours=1),
        why="old",
        **fields,
    )


def begun(folder, *messages, name="trip.jsonl", **info):
    """A session file with these messages."""
    file = FileTranscript(folder / name)
    file.begin(ConversationInfo(**({"id": "trip", "created_at": CREATED} | info)))
    for item in messages:
        file.append([item])
    return file


def loaded(path, **options):
    """The session file at a path, as another process would open it."""
    file = FileTranscript(path, **options)
    file.repair()
    return file


def texts(messages):
    """What messages say."""
    return [item.content for item in messages]


def values(file):
    """The lines of a file as values."""
    return [json.loads(line) for line in file.path.read_bytes().split(b"\n")[:-1]]


class CharacterMeter:
    """Counts characters, calls and pictures."""

    counter, reply = None, 0

    def message(self, content, calls=(), images=()):
        """Return the length of the text, and how much there is beside it."""
        return len(content) + len(calls) + len(images)


any_text = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=30)
some_text = any_text.filter(str.strip)
moments = st.builds(
    lambda at, hours: CREATED.astimezone(timezone(timedelta(hours=hours))) + at,
    st.timedeltas(timedelta(-20_000), timedelta(20_000)),
    st.integers(-12, 14),
)
calls = st.builds(ToolCall, any_text, any_text, any_text)
images = st.builds(Image, any_text, st.sampled_from(["auto", "low", "high"]))
any_message = st.builds(
    Message,
    id=some_text,
    role=st.sampled_from(["system", "user", "assistant", "tool"]),
    content=any_text,
    timestamp=moments,
    tokens=st.integers(0, 2**40),
    importance=st.none() | st.floats(0, 1),
    pinned=st.booleans(),
    tool_calls=st.lists(calls, max_size=3).map(tuple),
    tool_result=st.none() | st.builds(ToolResult, any_text, st.booleans()),
    images=st.lists(images, max_size=2).map(tuple),
    task=st.none() | some_text,
    record_id=st.none() | some_text,
)
any_info = st.builds(
    ConversationInfo,
    id=some_text,
    created_at=moments,
    system=st.none() | some_text,
    model=st.none() | some_text,
    context_limit=st.none() | st.integers(1, 2**30),
    calibration=st.builds(Calibration, st.floats(0.01, 100), st.integers(-(2**20), 2**20)),
)
