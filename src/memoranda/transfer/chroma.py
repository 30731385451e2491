"""Memories in the collection ``memories`` of a folder of Chroma that another program wrote.

Such as the memory manager of requirements S1: the text is the document, and its type and time are
in the metadata, with what else was stored. They keep their times, and expire when they would have
there. What memoranda itself wrote is passed over.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

from memoranda.errors import InvalidInput
from memoranda.model.checks import located
from memoranda.model.models import Kind
from memoranda.model.query import Filter
from memoranda.records.drafts import Draft, parse_kind
from memoranda.store.locations import foreign_memories
from memoranda.store.sql.store import ForeignMemory
from memoranda.transfer.batches import (
    ImportCounts,
    ImportTarget,
    PlacedDraft,
    import_drafts,
    is_kept,
)
from memoranda.transfer.json_files import FileFormat, LeftOut, moment_of

log = logging.getLogger("memoranda.import")

TYPE, CREATED, ID = "type", "created_at", "chroma_id"
# How long a conversation is kept where the settings keep it for ever (requirement S1.05).
CONVERSATION_EXPIRY = timedelta(days=30)


def read_drafts(path: Path, target: ImportTarget, left_out: LeftOut) -> Iterator[PlacedDraft]:
    """Return a record for each memory, the oldest first.

    Raises:
        InvalidInput: a time cannot be read; the message names the memory.
    """
    yield from _drafts(foreign_memories(path), target, left_out, str(path))


def _drafts(
    rows: Sequence[ForeignMemory], target: ImportTarget, left_out: LeftOut, folder: str
) -> Iterator[PlacedDraft]:
    for key, text, entry in sorted(rows, key=lambda row: str(row[2].get(CREATED, ""))):
        place = f"{folder}, memory {key}"
        if not text.strip():
            left_out.add("memories without a text")
            continue
        rest = {name: value for name, value in entry.items() if name not in {TYPE, CREATED}}
        try:
            kind = parse_kind(entry.get(TYPE, "fact"))
        except InvalidInput:  # What it is called there may still be of use.
            kind, rest = Kind.FACT, {TYPE: entry[TYPE], **rest}
        with located(place):
            at = moment_of(entry.get(CREATED), CREATED)
        if kind != Kind.FACT or is_kept(text, left_out):
            metadata = {**rest, ID: key}
            draft = Draft(content=text, kind=kind, metadata=metadata, event_time=at, created_at=at)
            own = f"{key}\n{text}"
            yield PlacedDraft(place, target.scope, _with_expiry(draft, target), key=own)


def adopt_memories(target: ImportTarget) -> None:
    """Take over what another program has in the folder of the store, of which it was the memory.

    What cannot be taken over stays in the folder as it is; the log says how much was.
    """
    folder, rows = target.store.location, target.store.foreign_memories()
    counts = ImportCounts()
    try:
        read = partial(_drafts, rows, target, folder=folder)
        import_drafts(target, FileFormat.CHROMA, read, counts)
    except InvalidInput as error:
        log.warning(
            "%s has memories of another program that were not taken over: %s", folder, error
        )
        return
    everything = Filter.at_any_time(kinds=tuple(Kind))
    records = target.store.records(target.everyone, everything, limit=None)
    known = {each.metadata.get(ID) for each in records}
    adopted = [row[0] for row in rows if row[0] in known]
    target.store.remove_foreign(adopted)
    rest = "".join(f"; left there: {line}" for line in counts.left_out.lines())
    message = "%s: %d memories of another program are now those of %r%s"
    log.warning(message, folder, len(adopted), target.scope.user, rest)


def _with_expiry(draft: Draft, target: ImportTarget) -> Draft:
    """Return a conversation with the expiry that it had there, unless the settings have one."""
    at = draft.created_at
    if draft.kind != Kind.EPISODE or at is None:
        return draft
    planned = target.records.planner.plan(target.scope, draft).record
    return draft if planned.valid_until else replace(draft, valid_until=at + CONVERSATION_EXPIRY)
