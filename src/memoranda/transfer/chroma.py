"""Memories in the collection ``memories`` of a folder of Chroma that another program wrote.

Such as the memory manager of requirements S1: the text is the document, and its type and time are
in the metadata, with what else was stored. They keep their times, and expire when they would have
there. What memoranda itself wrote is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from memoranda.errors import InvalidInput
from memoranda.model.checks import located
from memoranda.model.models import Kind
from memoranda.records.drafts import Draft, parse_kind
from memoranda.store.locations import foreign_memories
from memoranda.store.sql.store import ForeignMemory
from memoranda.transfer.sources import ForeignRecord, ImportCounts, ImportTarget, moment_of

FILE = "chroma.sqlite3"
TYPE, CREATED, ID = "type", "created_at", "chroma_id"
# How long a conversation is kept where the settings keep it for ever (requirement S1.05).
CONVERSATION_EXPIRY = timedelta(days=30)


def read_records(path: Path, target: ImportTarget, counts: ImportCounts) -> Iterator[ForeignRecord]:
    """Yield a record for each memory in a folder, the oldest first.

    Raises:
        InvalidInput: a time cannot be read; the message names the memory.
    """
    yield from read_memories(foreign_memories(path), str(path), target, counts)


def read_memories(
    rows: Sequence[ForeignMemory], folder: str, target: ImportTarget, counts: ImportCounts
) -> Iterator[ForeignRecord]:
    """Yield a record for each memory of a folder, as :func:`read_records` does."""
    for key, text, entry in sorted(rows, key=lambda row: str(row[2].get(CREATED, ""))):
        place = f"{folder}, memory {key}"
        if not text.strip():
            counts.leave_out("memories without a text")
            continue
        rest = {name: value for name, value in entry.items() if name not in {TYPE, CREATED}}
        try:
            kind = parse_kind(entry.get(TYPE, "fact"))
        except InvalidInput:  # What it is called there may still be of use.
            kind, rest = Kind.FACT, {TYPE: entry[TYPE], **rest}
        with located(place):
            at = moment_of(entry.get(CREATED), CREATED)
        metadata = {**rest, ID: key}
        draft = Draft(content=text, kind=kind, metadata=metadata, event_time=at, created_at=at)
        if kind is Kind.EPISODE and at and not target.records.plan(draft).record.valid_until:
            draft = replace(draft, valid_until=at + CONVERSATION_EXPIRY)
        yield ForeignRecord(place, target.scope, draft, key=f"{key}\n{text}")
