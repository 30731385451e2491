"""Conversations that live in files of JSON Lines (seed 002).

The first line is metadata with the moment the conversation was created, which never changes;
then comes one line for each message. ``disk`` is how bytes get there and survive, ``metadata``
and ``lines`` what they mean, ``file`` the operations, ``transcript`` the face to a conversation.
"""

from recollect.conversation.sessions.file import SessionFile
from recollect.conversation.sessions.lines import message_value, parse_message
from recollect.conversation.sessions.metadata import (
    Metadata,
    is_metadata,
    metadata_value,
    parse_metadata,
)
from recollect.conversation.sessions.reading import Session
from recollect.conversation.sessions.transcript import FileTranscript
from recollect.conversation.sessions.values import dump

__all__ = [
    "FileTranscript",
    "Metadata",
    "Session",
    "SessionFile",
    "dump",
    "is_metadata",
    "message_value",
    "metadata_value",
    "parse_message",
    "parse_metadata",
]
