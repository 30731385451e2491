"""Memories in the collection ``memories`` of a folder of Chroma that another program wrote.

Such as the memory manager of requirements S1: the text is the document, and its type and time are
in the metadata, with what else was stored. What memoranda itself wrote there is passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from memoranda.errors import InvalidInput
from memoranda.model.checks import located
from memoranda.model.models import Kind, Scope
from memoranda.records.drafts import Draft, parse_kind
from memoranda.transfer.batches import PlacedDraft, is_kept
from memoranda.transfer.json_files import CHROMA, LeftOut, moment_of

TYPE, CREATED, ID = "type", "created_at", "chroma_id"
Row = tuple[str, str, dict[str, Any]]
"""Id, text and metadata."""


def read_drafts(
    path: Path, rows: Iterable[Row], scope: Scope, left_out: LeftOut
) -> Iterator[tuple[Scope, PlacedDraft]]:
    """Return a record for each memory.

    Raises:
        InvalidInput: a time cannot be read; the message names the memory.
    """
    for key, text, entry in rows:
        place = f"{path}, memory {key}"
        if not text.strip():
            left_out.add("memories without a text")
            continue
        with located(place):
            draft = _draft(key, text, entry)
        if draft.kind != Kind.FACT or is_kept(text, left_out):
            yield scope, PlacedDraft(place, draft)


def _draft(key: str, text: str, entry: dict[str, Any]) -> Draft:
    rest = {name: value for name, value in entry.items() if name not in {TYPE, CREATED}}
    try:
        kind = parse_kind(entry.get(TYPE, "fact"))
    except InvalidInput:  # What it is called there may still be of use.
        kind, rest = Kind.FACT, {TYPE: entry[TYPE], **rest}
    return Draft(
        content=text,
        kind=kind,
        metadata={**rest, ID: key},
        event_time=moment_of(entry.get(CREATED), CREATED),
        origin=f"import:{CHROMA}",
    )
