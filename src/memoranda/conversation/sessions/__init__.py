"""Conversations that live in files of JSON Lines (seed 002).

The first line is metadata with the moment the conversation was created, which never changes;
then comes one line for each message. ``disk`` is how bytes get there and survive, ``metadata``
and ``lines`` what they mean, ``file`` the operations, ``transcript`` the face to a conversation.
"""

from memoranda.conversation.sessions.file import SessionFile
from memoranda.conversation.sessions.lines import message_value, parse_message
from memoranda.conversation.sessions.metadata import (
    Metadata,
    is_metadata,
    metadata_value,
    parse_metadata,
)
from memoranda.conversation.sessions.reading import Session
from memoranda.conversation.sessions.transcript import FileTranscript
from memoranda.conversation.sessions.values import dump

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
