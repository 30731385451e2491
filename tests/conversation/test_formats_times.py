"""The time of a message, as exports of chats give it."""

from datetime import UTC, datetime

import pytest
from tables import each_row

from memoranda.conversation.formats.parse import parse_message
from memoranda.errors import InvalidInput

NEW_YEAR = datetime(2024, 1, 1, tzinfo=UTC)


@each_row(
    "given",
    [
        {"timestamp": "2024-01-01T00:00:00Z"},
        {"timestamp": NEW_YEAR},
        {"created_at": 1704067200},
        {"create_time": 1704067200.0},
    ],
)
def test_a_message_was_said_when_it_says(given):
    """Text, datetime or seconds since 1970, under the names that exports use."""
    assert parse_message({"role": "user", "content": "hi"} | given)[0].timestamp == NEW_YEAR
    blocks = {"role": "user", "content": [{"type": "text", "text": "hi"}]}
    assert parse_message(blocks | given)[0].timestamp == NEW_YEAR


@each_row("given", ["soon", True, [], 1e300])
def test_a_time_that_cannot_be_read_is_named(given):
    """A wrong time is refused rather than taken for now."""
    with pytest.raises(InvalidInput, match="a message has the time"):
        parse_message({"role": "user", "content": "hi", "timestamp": given})
