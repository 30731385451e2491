"""Memories in the collection ``memories`` of a folder of Chroma that another program wrote.

Such as the memory manager of requirements S1: the text is the document, and its type and time are
in the metadata, with what else was stored. What memoranda itself wrote there is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from memoranda.errors import InvalidInput
from memoranda.model.checks import located
from memoranda.model.models import Kind
from memoranda.records.drafts import Draft, parse_kind
from memoranda.store.locations import foreign_memories
from memoranda.transfer.batches import ImportTarget, PlacedDraft, is_kept
from memoranda.transfer.json_files import LeftOut, moment_of

TYPE, CREATED, ID = "type", "created_at", "chroma_id"


def read_drafts(path: Path, target: ImportTarget, left_out: LeftOut) -> Iterator[PlacedDraft]:
    """Return a record for each memory.

    Raises:
        InvalidInput: a time cannot be read; the message names the memory.
    """
    for key, text, entry in foreign_memories(path):
        place = f"{path}, memory {key}"
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
            draft = Draft(content=text, kind=kind, metadata={**rest, ID: key}, event_time=at)
            yield PlacedDraft(place, target.scope, draft)
