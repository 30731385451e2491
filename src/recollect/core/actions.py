"""Every change to a store is a list of these values, applied in one transaction.

A plan of actions can be shown before it is run, tested without a store, and
leaves one history entry for each record that it changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from recollect.core.models import (
    Calibration,
    ConversationInfo,
    Mention,
    Message,
    Pruning,
    Record,
)
from recollect.core.vectors import Vector


@dataclass(frozen=True, slots=True)
class Insert:
    """Add a record with the entities it mentions. Its position is given by the store."""

    record: Record
    mentions: tuple[Mention, ...] = ()
    reason: str = "remembered"


@dataclass(frozen=True, slots=True)
class Close:
    """End the validity of a record; it stays for ``as_of`` and history."""

    id: str
    at: datetime
    reason: str
    superseded_by: str | None = None


@dataclass(frozen=True, slots=True)
class Reweigh:
    """Set confidence and decay rate: a confirmation, a conflict, the curve of forgetting."""

    id: str
    at: datetime
    confidence: float
    decay_rate: float
    reason: str


@dataclass(frozen=True, slots=True)
class Touch:
    """Count one recall of each record. Leaves no history; unknown ids are passed over."""

    ids: tuple[str, ...]
    at: datetime


@dataclass(frozen=True, slots=True)
class Erase:
    """Remove records and every trace of their text: index, vectors, links, messages, history.

    What they replaced, records of the user with the very same text, and what was derived from
    any of these go with them, and the summaries of prunings that covered their messages.
    ``purge()`` then cleans the free space.
    """

    ids: tuple[str, ...]
    at: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class PutVectors:
    """Store the embeddings of records and take these off the pending list.

    Attributes:
        model: name of the model that made them.
        vectors: record id → its vector. Records that are gone by now are passed over.
    """

    model: str
    vectors: Mapping[str, Vector]


@dataclass(frozen=True, slots=True)
class OpenConversation:
    """Create a conversation, or update the settings of the one with this id."""

    info: ConversationInfo


@dataclass(frozen=True, slots=True)
class Append:
    """Add a message at the end of a transcript."""

    conversation: str
    message: Message


@dataclass(frozen=True, slots=True)
class Pin:
    """Keep a message in every view, or stop keeping it."""

    conversation: str
    message: str
    pinned: bool


@dataclass(frozen=True, slots=True)
class ClearView:
    """Leave what was said so far out of every later view; the transcript keeps it."""

    conversation: str


@dataclass(frozen=True, slots=True)
class Prune:
    """Keep the receipt of a pruning: what its cuts name is out of every later view.

    A cut that holds fewer messages than it says, as some were erased, loses its summary.
    """

    conversation: str
    pruning: Pruning


@dataclass(frozen=True, slots=True)
class Summarize:
    """Give cuts of a pruning their summaries; what is gone by now is passed over.

    So is a cut that lost a message to an erasure: its summary may hold what was erased.

    Attributes:
        summaries: first position of a cut → its summary.
    """

    conversation: str
    pruning: str
    summaries: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Calibrate:
    """Keep what the provider's own counts taught about a conversation's tokens."""

    conversation: str
    calibration: Calibration


@dataclass(frozen=True, slots=True)
class Recount:
    """Set the token counts of messages, by their ids: the model, and so the tokenizer, changed.

    Ids that are not there are passed over.
    """

    conversation: str
    tokens: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class EndConversation:
    """Mark a conversation as finished."""

    conversation: str
    at: datetime


Action = (
    Insert
    | Close
    | Reweigh
    | Touch
    | Erase
    | PutVectors
    | OpenConversation
    | Append
    | Pin
    | ClearView
    | Prune
    | Summarize
    | Calibrate
    | Recount
    | EndConversation
)
