"""Moving memory in and out: files of memoranda, and of others."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Any

from memoranda.errors import InvalidInput, MemorandaError
from memoranda.model.json_object import parse_moment
from memoranda.model.ports import Progress, Store
from memoranda.model.scope import Scope
from memoranda.parts import Parts
from memoranda.records.drafts import Draft
from memoranda.transfer import archive, archive_reading, foreign, memory_md, sessions
from memoranda.transfer.batches import Additions, Moved, Placed, Steps
from memoranda.transfer.formats import (
    FORMATS,
    KNOWN,
    MEMORANDA,
    MEMORY_MD,
    SESSION,
    JsonFile,
    detect,
    is_markdown,
    located,
)
from memoranda.transfer.importing.readers import READERS, import_foreign, recognised
from memoranda.transfer.restore import restore

ARGUMENTS = frozenset(
    {
        "content",
        "kind",
        "tags",
        "metadata",
        "event_time",
        "session",
        "role",
        "confidence",
        "decay_rate",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PortingReport:
    """What an import or export moved.

    Attributes:
        format: of the file.
        users: whose memory was read or written.
        records: how many records were moved.
        messages: how many messages of conversations were moved.
        skipped: how many were there already.
        left_out: a line for each file of a Markdown memory that was not read: its name, and why;
            of what other programs keep, a line for each kind of thing that is no talk and no
            fact: the kind, and how many.
    """

    format: str
    users: tuple[str, ...]
    records: int
    messages: int = 0
    skipped: int = 0
    left_out: tuple[str, ...] = ()


def draft(item: str | Mapping[str, Any], number: int) -> Draft:
    """Return what ``remember_many`` was given as a draft.

    Raises:
        InvalidInput: it is neither a text nor a dict of ``remember``'s arguments.
    """
    return _draft(item, f"item {number}")


def _draft(item: object, place: str, origin: str = "api") -> Draft:
    if isinstance(item, str):
        return Draft(content=item, origin=origin)
    if not isinstance(item, Mapping) or "content" not in item:
        message = f"{place} must be a text or a dict with content, got {item!r:.80}"
        raise InvalidInput(message)
    unknown = set(item) - ARGUMENTS
    if unknown:
        message = (
            f"{place} has unknown keys {', '.join(sorted(map(str, unknown)))}; "
            f"use {', '.join(sorted(ARGUMENTS))}"
        )
        raise InvalidInput(message)
    return Draft(**item, origin=origin)


def export(
    store: Store, scope: Scope, now: datetime, path: Path, *, conversation: str | None = None
) -> PortingReport:
    """Write all that the scope sees to ``path``, as it was at one moment.

    The file appears when it is complete, readable by its owner alone. A page of records, or
    one conversation, is in memory at a time.

    Args:
        store: where it is.
        scope: whose memory.
        now: the moment, for the header.
        path: the file to make.
        conversation: instead of all, only this conversation, in the format ``session``, with
            which it can go on without a memory.

    Raises:
        InvalidInput: the file exists already, or cannot be written.
        NotFound: there is no such conversation.
    """
    if conversation is not None:
        return _export_session(store, scope, conversation, path)
    records = messages = 0
    with _appearing(path) as file, store.snapshot():
        file.write(archive.header(scope, now))
        for item in archive.everything(store, scope, now):
            file.writelines(archive.lines(item))
            if isinstance(item, archive.Kept):
                records += 1
            elif isinstance(item, archive.Talk):
                messages += len(item.messages)
    return PortingReport(format=MEMORANDA, users=(scope.user,), records=records, messages=messages)


def _export_session(store: Store, scope: Scope, id: str, path: Path) -> PortingReport:
    lines = 0
    with _appearing(path) as file, store.snapshot():
        for line in sessions.session_lines(store, scope, id):
            file.write(line)
            lines += 1
    return PortingReport(format=SESSION, users=(scope.user,), records=0, messages=lines - 1)


def import_file(
    parts: Parts,
    scope: Scope,
    path: Path,
    format: str | None = None,
    progress: Progress | None = None,
) -> PortingReport:
    """Read a file into the memory of ``scope``; what is there already is skipped.

    Args:
        parts: the store and what else is needed to add to it.
        scope: whose memory; conversations of LoCoMo and memories of mem0 have their own users.
        path: the file; for ``memory-md`` and ``claude-code`` also a folder.
        format: one of :data:`memoranda.transfer.formats.FORMATS`; if not given, judged by the
            content, and a name that ends in ``.md``, or a folder without transcripts of Claude
            Code, is ``memory-md``.
        progress: told after each batch how many lines, conversations or turns are done.

    Raises:
        InvalidInput: the file is not there, of no known format, or broken; the message
            names the place, and nothing was written.
    """
    _require_known(format)
    users: tuple[str, ...] = (scope.user,)
    known = format or _recognised(path)
    if known in READERS:
        users, moved, left_out = import_foreign(parts, scope, path, known, progress)
        return PortingReport(format=known, users=users, left_out=left_out, **moved._asdict())
    if known == MEMORY_MD or (known is None and is_markdown(path)):
        moved, left_out = memory_md.import_memory_md(parts, scope, path, progress)
        return PortingReport(format=MEMORY_MD, users=users, left_out=left_out, **moved._asdict())
    return _import_json(parts, scope, path, known, progress)


def _import_json(
    parts: Parts, scope: Scope, path: Path, format: str | None, progress: Progress | None
) -> PortingReport:
    """Read a file of memoranda, a session, messages of OpenAI or conversations of LoCoMo."""
    users: tuple[str, ...] = (scope.user,)
    file = JsonFile(path)
    found = format or detect(file)
    match found:
        case "openai":
            moved = foreign.import_openai(parts, scope, file, progress)
        case "session":
            moved = sessions.import_session(parts, scope, path, progress)
        case "locomo":
            users, moved = foreign.import_locomo(parts, scope, file, progress)
        case _ if archive_reading.is_header(file.first().value):
            moved = restore(parts, scope, file, progress)
        case _:
            moved = _import_plain(parts, scope, file, progress)
    return PortingReport(format=found, users=users, **moved._asdict())


def _recognised(path: Path) -> str | None:
    """Return the format of what another program keeps, as far as the file or folder tells it."""
    return None if is_markdown(path) and not path.is_dir() else recognised(path)


def _require_known(format: str | None) -> None:
    if format is not None and format not in FORMATS:
        message = f"format={format!r} is unknown; {KNOWN}"
        raise InvalidInput(message)


def _import_plain(parts: Parts, scope: Scope, file: JsonFile, progress: Progress | None) -> Moved:
    """Add records written as ``remember_many`` takes them, one for each line."""

    def drafts() -> Iterator[Placed]:
        for item in file.items():
            yield Placed(item.place, _plain(item.place, item.value))

    additions = Additions(parts, scope, drafts)
    return additions.store(Steps(additions.total, progress))


def _plain(place: str, value: Any) -> Draft:
    if isinstance(value, Mapping) and value.get("event_time") is not None:
        with located(place):
            value = {**value, "event_time": parse_moment(value["event_time"], "event_time")}
    return _draft(value, place, f"import:{MEMORANDA}")


@contextmanager
def _appearing(path: Path) -> Iterator[IO[str]]:
    """Open a file that appears at ``path`` when the block is over, and only if it succeeds."""
    part: Path | None = None
    try:
        if path.exists():
            message = f"{path} exists already; choose a new name for the export"
            raise InvalidInput(message)
        with NamedTemporaryFile(  # Readable by its owner alone, and it stays so.
            "w", encoding="utf-8", newline="\n", dir=path.parent, prefix=".memoranda-", delete=False
        ) as file:
            part = Path(file.name)
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.rename(path)
    except MemorandaError:
        raise
    except (OSError, ValueError) as error:
        message = f"{path} cannot be written ({error}); choose another folder or free some space"
        raise InvalidInput(message) from error
    finally:
        if part is not None:
            part.unlink(missing_ok=True)
