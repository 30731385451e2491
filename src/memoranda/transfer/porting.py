"""Moves memory in and out: files of memoranda and of others, and users from store to store.

A file is read once and stored in batches: of one that is broken, what stands before the broken line
may be stored, and the next import goes on with the rest.
"""

from __future__ import annotations

import json
import logging
import zipfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from io import TextIOBase
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO

from memoranda.conversation.conversation_store import name_similar
from memoranda.errors import InvalidInput, MemorandaError, NotFound, StoreError
from memoranda.model.changes import Insert
from memoranda.model.checks import clean, parse_moment, refuse_unknown, several
from memoranda.model.models import ConversationInfo, Kind, Message
from memoranda.model.notes import NotesContent
from memoranda.model.query import Filter
from memoranda.records.drafts import Draft, SecretPolicy, admit_draft, holds_secret, parse_draft
from memoranda.store.sql.store import Store
from memoranda.text.files import explain_unwritable, file_path, write_whole
from memoranda.text.json_values import value_of
from memoranda.transfer import archive, chat_exports, claude_code, foreign_records, mif
from memoranda.transfer.sources import (
    KEY_LETTERS,
    NAMES,
    TEXTS,
    File,
    FileFormat,
    ForeignConversation,
    ForeignMessage,
    ForeignRecord,
    ImportCounts,
    ImportedFile,
    ImportTarget,
    JsonItem,
    PortingReport,
    batched,
    joined,
    read_values,
    reading_file,
    recognise_file,
)

log = logging.getLogger("memoranda.import")

# What may be imported ends with these; of a ZIP archive, with the first of them.
SUFFIXES = (*TEXTS, ".zip", ".db", ".sqlite", ".sqlite3")
# The types of lines that an export counts.
EXPORTED = ("record", "message", "conversation")

# Out


def read_notes(target: ImportTarget, counts: ImportCounts) -> list[NotesContent]:
    """Return what the notes of a memory say: of each owner those in the folder of the settings.

    Before the records are read: what is learned since gets its line where it is imported.
    """
    found: list[NotesContent] = []
    for each in {notes.scope: notes for notes in target.notes.every(target.scope)[::-1]}.values():
        try:
            found.append(each.content())
        except StoreError as error:
            counts.tell(str(error))
    return [each for each in found if each.files]


def export(
    source: ImportTarget,
    to: str | Path | BinaryIO,
    conversation: str | None = None,
    format: str | None = None,
) -> PortingReport:
    """Write all that the scope of a memory sees to a file, as it was at one moment.

    The file appears when it is complete, readable by its owner alone. A page of records, or
    one conversation, is in memory at a time.

    Args:
        source: the memory.
        to: the file to make, or one that is open for bytes.
        conversation: instead of all, only this conversation, in the format ``session``.
        format: ``mif`` for what is known, in the Memory Interchange Format.

    Raises:
        InvalidInput: the file exists already, or cannot be written; or no such thing is written.
        NotFound: there is no such conversation.
    """
    store, scope, counts = source.store, source.scope, source.counts
    forms = [FileFormat.SESSION] if conversation else [FileFormat.MEMORANDA, FileFormat.MIF]
    form, now = format or forms[0], source.records.now()
    refuse_unknown([form], forms, "format")

    def lines() -> Iterator[bytes]:
        for kind, line in found:
            if kind in EXPORTED:
                counts.moved[f"{kind}s"] += 1
            yield line

    notes = read_notes(source, counts) if form == FileFormat.MEMORANDA else ()
    with store.snapshot():
        if conversation:
            found = chat_exports.session_lines(store, scope, conversation)
        elif form == FileFormat.MIF:
            found = mif.document_lines(store, scope, now, counts)
        else:
            found = archive.archive_lines(store, scope, now, notes)
        write_export(to, lines())
    return counts.report(scope, form)


def write_export(to: str | Path | BinaryIO, chunks: Iterable[bytes]) -> None:
    """Write an export to the file to be made, or to one that is open for bytes.

    Raises:
        InvalidInput: the file exists already, or cannot be written.
    """
    try:
        if hasattr(to, "writelines") and not isinstance(to, TextIOBase):
            to.writelines(chunks)
            return
        path = file_path(to)
        if path.exists():
            raise InvalidInput(f"{path} exists already; choose a new name for the export")
        write_whole(path, chunks)
    except (MemorandaError, BrokenPipeError):
        raise
    except (OSError, ValueError) as error:
        raise InvalidInput(explain_unwritable(str(to), error)) from error


# In


def import_file(target: ImportTarget, path: Path, format: str | None) -> PortingReport:
    """Read a file or folder into a memory; what is there already is skipped.

    Args:
        target: the memory; memories of mem0 may be those of other users.
        path: the file; or a folder or ZIP archive, of which each file is judged by itself.
        format: a :class:`memoranda.transfer.sources.FileFormat`; if not given, judged by the
            content, and a name that ends in ``.md`` is ``memory-md``. Of a folder, only the files
            of this format are read.

    Raises:
        InvalidInput: nothing there can be read; the message names the place and why.
    """
    if format is not None:
        refuse_unknown([format], FileFormat, "format")
    known = FileFormat(format) if format else None
    with reading_file(path):
        root: File = zipfile.Path(path) if path.is_file() and zipfile.is_zipfile(path) else path
        read = _import_folder if _is_folder(root) else _import_one
        read(target, root, known)
    report = target.counts.report(target.scope)
    if not report.files:
        why = "".join(f"; {each}" for each in report.left_out)
        kind = f" of {known}" if known else ""
        raise InvalidInput(f"{path} holds nothing{kind} that can be imported{why}")
    return report


def _import_folder(target: ImportTarget, root: File, known: FileFormat | None) -> None:
    """Read each file of a folder that is of the format, the oldest first."""
    files = _files_of(root, target.counts, "memory/" if root.name == "memory" else "")
    for file in sorted(files, key=lambda it: it.stat().st_mtime_ns if isinstance(it, Path) else 0):
        try:
            if isinstance(file, Path) and zipfile.is_zipfile(file):
                _import_folder(target, zipfile.Path(file), known)
            elif known and _format_of(file) is not known:
                target.counts.pass_over(f"{file} is not a file of {known}")
            else:
                _import_one(target, file, known)
        except InvalidInput as error:
            if target.counts.strict:
                raise
            target.counts.pass_over(str(error))


def _import_one(target: ImportTarget, path: File, known: FileFormat | None) -> None:
    """Read one file, or a folder of Chroma.

    Raises:
        InvalidInput: nothing of it can be read.
    """
    counts = target.counts
    form, before, counts.unreadable = known or _format_of(path), counts.moved.copy(), None
    is_own = form is FileFormat.MEMORANDA
    try:
        head = next(read_values(path, ImportCounts()), None) if is_own else None
        if head is not None and value_of(head.value, "format") is not None:
            archive.restore(target, read_values(path, counts))
        else:
            found = READERS.get(form, chat_exports.read_chats)(path, target)
            _import_all(target, form, found)
        if counts.moved == before and counts.unreadable:
            raise InvalidInput(counts.unreadable)  # noqa: TRY301 - an error of the file
    except InvalidInput as error:
        if known is None:
            raise
        raise InvalidInput(f"{error}; correct it, or leave out the format {known}") from error
    counts.files.append(ImportedFile(str(path), form, counts.moved - before))


def _files_of(folder: File, counts: ImportCounts, above: str = "") -> Iterator[File]:
    """Yield what may be imported of a folder and of those in it; all else is counted.

    Hidden files are passed over, and links, which may lead anywhere.

    Args:
        folder: the folder.
        counts: counts all else.
        above: where it is in the folder that is imported.
    """
    found: list[File] = list(folder.iterdir())
    for each in sorted(found, key=lambda file: file.name):
        name, kind = f"{above}{each.name}", each.suffix.lower()
        kinds = SUFFIXES if isinstance(each, Path) else TEXTS
        if each.name.startswith(".") or each.name == "__MACOSX":
            continue
        if isinstance(each, Path) and (each.is_symlink() or not (each.is_file() or each.is_dir())):
            counts.leave_out("links and devices")
        elif _is_folder(each):
            yield from _files_of(each, counts, f"{name}/")
        elif each.name in NAMES["beside_chats"]:
            counts.leave_out(f"files that hold no talk ({each.name})")
        elif each.is_dir() or kind in kinds or foreign_records.NAMED.fullmatch(name):
            yield each
        elif kind == ".md":
            counts.pass_over(f"{each} has no name of a memory")
        else:
            counts.leave_out(f"files that are not read ({kind or each.name})")


def _is_folder(path: File) -> bool:
    """Whether a path is a folder of files, and not one of Chroma."""
    return path.is_dir() and not path.joinpath(foreign_records.CHROMA_FILE).is_file()


def _format_of(path: File) -> FileFormat:
    """Return the format of a file, or of a folder of Chroma, as what is in it tells.

    Raises:
        InvalidInput: it cannot be read, or is of no known format.
    """
    if path.is_dir():
        held = read_values(path / foreign_records.CHROMA_FILE, ImportCounts())
        return FileFormat.CHROMA if next(held, None) is None else FileFormat.MEM0
    return FileFormat.MEMORY_MD if path.suffix.lower() == ".md" else recognise_file(path)


def _plain_records(path: File, target: ImportTarget) -> Iterator[ForeignRecord]:
    """Yield records written as ``remember_many`` takes them, one for each line.

    What stands there several times, other than a fact, is stored as often.
    """
    seen: Counter[str] = Counter()
    for place, value in read_values(path, target.counts):
        with target.counts.reading(place):
            known = value
            if value_of(value, "event_time") is not None:
                known = {**value, "event_time": parse_moment(value["event_time"], "event_time")}
            draft, text = parse_draft(known, "the line"), json.dumps(value, sort_keys=True)
            seen[text] += 1
            yield ForeignRecord(place, target.scope, draft, key=f"{text}\n{seen[text]}")


# What reads the formats, from a file or a folder: records, or conversations.
READERS: Mapping[str, Callable[[Any, ImportTarget], Iterator[Any]]] = {
    FileFormat.MEMORANDA: _plain_records,
    FileFormat.MEM0: foreign_records.read_mem0,
    FileFormat.MCP_MEMORY: foreign_records.read_mcp_memory,
    FileFormat.CHROMA: foreign_records.read_chroma,
    FileFormat.MEMORY_MD: foreign_records.read_markdown,
    FileFormat.MIF: mif.read_mif,
    FileFormat.CLAUDE_CODE: claude_code.read_conversations,
    FileFormat.OPENAI: chat_exports.read_openai,
    FileFormat.SESSION: chat_exports.read_session,
}


def adopt_memories(target: ImportTarget) -> None:
    """Take over what another program has in the folder of the store, of which it was the memory.

    What cannot be taken over stays in the folder as it is; the log says how much was.
    """
    folder, rows = target.store.location, target.store.foreign_memories()
    found = foreign_records.read_memories(rows, folder, target)
    _import_all(target, FileFormat.CHROMA, found)
    everything = Filter.at_any_time(kinds=tuple(Kind))
    records = target.store.records(target.scope.whole_user, everything, limit=None)
    known = {each.metadata.get(foreign_records.ID) for each in records}
    adopted = [row[0] for row in rows if row[0] in known]
    target.store.remove_foreign(adopted)
    report = target.counts.report(target.scope)
    rest = "".join(f"; left there: {each}" for each in report.left_out)
    message = "%s: %d memories of another program are now those of %r%s"
    log.warning(message, folder, len(adopted), target.scope.user, rest)


def _import_all(target: ImportTarget, format: FileFormat, found: Iterator[Any]) -> None:
    """Store what is new of a file: a batch of records, or a conversation, at a time.

    Raises:
        InvalidInput: something cannot be stored; what was found before it may be stored.
    """
    for scope, group in groupby(_admitted(target, found), lambda it: getattr(it, "scope", None)):
        for batch in batched(group):
            if scope is not None:
                _import_records(target.of(scope), format, batch)
                continue
            for each in batch:
                _import_conversation(target, format, each)


def _admitted(target: ImportTarget, found: Iterator[Any]) -> Iterator[Any]:
    """Yield what was found in a file, without what belongs to users whose memory is not open."""
    own = target.scope.user
    for each in found:
        with target.counts.reading(each.place):
            user = getattr(each, "scope", target.scope).user
            if target.own_only and user != own:
                told = f"it is of the user {user!r:.80}, and only the memory of {own!r:.80} is open"
                raise InvalidInput(f"{told} here; import it as that user, or remove its user_id")
            yield each


def _import_records(target: ImportTarget, format: FileFormat, batch: list[ForeignRecord]) -> None:
    # Secrets that other programs keep stay where they are.
    policy: SecretPolicy = target.secrets if format is FileFormat.MEMORANDA else "refuse"
    new, once, total = dict[str, Insert](), set[str](), 0
    for each in batch:
        with target.counts.reading(each.place):
            if policy == "refuse" and holds_secret(each.draft):
                target.counts.leave_out("records that hold secrets")
                continue
            # Its id follows from its key.
            draft: Draft = {**admit_draft(each.draft, policy), "origin": f"import:{format}"}
            insert = target.records.plan(draft, reason="imported", unless_known=True)
            record = insert.record
            at = None if each.once and record.kind is Kind.FACT else draft.get("event_time")
            key = each.key or f"{at}\n{record.content}"
            name = target.id_of(record.kind.prefix, format, key, at)
            stored_as = replace(record, id=name)
            new.setdefault(name, replace(insert, record=stored_as, mentions=each.mentions))
            once |= {record.content_hash} if each.once else set()
            total += 1
    with target.store.write(target.scope) as tx:
        kinds = tuple({each.record.kind for each in new.values()})
        where = Filter.at_any_time(hashes=list(once), kinds=kinds)
        told = target.store.records(target.scope.whole_user, where, limit=None) if once else ()
        known = target.known(new) | {each.content_hash for each in told}
        stored = tx.carry_out(
            [
                each
                for each in new.values()
                if not known & {each.record.id, each.record.content_hash}
            ]
        )
    added = [each.record for each in stored if each.is_new]
    facts = sum(record.kind is Kind.FACT for record in added)
    target.counts.add(target.scope, total, records=len(added), facts=facts)


def _import_conversation(
    target: ImportTarget, format: FileFormat, found: ForeignConversation
) -> None:
    """Store what is not there yet of a conversation, a transaction for each batch."""
    found = found._replace(messages=_distinct(found.messages))
    with target.counts.reading(found.place):
        new = _new_messages(target, format, found)
        gone = (each for each in found.messages if each.forgotten)
        over = {target.id_of("ep", format, it.key, it.said.timestamp) for it in gone}
        try:
            _append(target, found.info, new, over)
        except StoreError:
            # Perhaps another process has stored them meanwhile; then fewer are new now.
            new = _new_messages(target, format, found)
            _append(target, found.info, new, over)
        number = len(_whole(found.messages))
        target.counts.add(target.scope, number, messages=len(new), conversations=int(bool(new)))


def _distinct(found: Iterable[ForeignMessage]) -> list[ForeignMessage]:
    """Return messages as a store takes them: each once, with its time or the one before."""
    at, messages = None, dict[str, ForeignMessage]()
    for each in found:
        at = each.said.timestamp or at
        messages.setdefault(each.key, each._replace(said=replace(each.said, timestamp=at)))
    return list(messages.values())


def _new_messages(
    target: ImportTarget, format: FileFormat, found: ForeignConversation
) -> list[Message]:
    """Return what comes after the last message that is known, as the store takes it.

    Known is one that is in this conversation or was removed from it, or whose episode is stored,
    in any conversation, as sessions that are resumed repeat all of the one before; or was erased.

    Raises:
        InvalidInput: a message cannot be stored, or the conversation of that name is another.
    """

    def ids(prefix: str, messages: Iterable[ForeignMessage]) -> list[str]:
        return [target.id_of(prefix, format, it.key, it.said.timestamp) for it in messages]

    name, held = found.info.id, target.known_messages(found.info.id)
    known = {each[-KEY_LETTERS:] for each in (*held, *target.known(ids("ep", found.messages)))}
    digests = [each[-KEY_LETTERS:] for each in ids("msg", found.messages)]
    pairs = enumerate(zip(digests, found.messages, strict=True), 1)
    start = max((n for n, (each, one) in pairs if each in known or one.key in held), default=0)
    if held and not start:
        raise InvalidInput(
            f"another conversation {name!r} is stored already; where the file gives the name, "
            f"change it there to import it beside that one"
        )
    rest = found.messages[start:]
    # Of a conversation that was deleted, a call without words is no reason to open it again.
    if start and not held and not any(each.said.content.strip() for each in rest):
        return []
    new = list[Message]()
    for batch in batched(_whole(rest)):
        trial = target.conversations(target.scope).unsaved(name, model=found.info.model)
        counted = trial.extend(each.said for each in batch)
        names = zip(counted, ids("msg", batch), ids("ep", batch), strict=True)
        new += [replace(one, id=own, record_id=episode) for one, own, episode in names]
    return new


def _whole(said: Iterable[ForeignMessage]) -> list[ForeignMessage]:
    """Return parts of one answer that follow each other as one, under the key of the last."""
    found: list[ForeignMessage] = []
    for answer, group in groupby(said, key=lambda item: item.answer):
        parts = list(group)
        if answer is None:
            found += parts
            continue
        calls = tuple(call for item in parts for call in item.said.tool_calls)
        text = joined(item.said.content for item in parts)
        one = replace(parts[0].said, content=text, tool_calls=calls)
        found.append(ForeignMessage(parts[-1].key, one))
    return found


def _append(
    target: ImportTarget, info: ConversationInfo, new: Sequence[Message], forgotten: Collection[str]
) -> None:
    """Add messages to a conversation, which ends when the last of them was said.

    Episodes that are forgotten where they come from are forgotten here, too.
    """
    if not new:
        return
    scope = target.scope
    transcript = target.conversations(scope).transcript(info.id)
    if not target.store.conversations(scope, info.id):
        with target.store.write(scope) as tx:
            tx.open_conversation(info)
    for batch in batched(new):
        episodes = transcript.append(batch)[1]
        transcript.announce(episodes)
        if over := [each.record.id for each in episodes if each.record.id in forgotten]:
            target.records.forget(over)
    with target.store.write(scope) as tx:
        tx.update_conversation(info.id, ended_at=new[-1].timestamp)


# From store to store


def existing_users(store: Store, users: Iterable[str] | None) -> list[str]:
    """Return these users, or all of the store.

    Raises:
        NotFound: there is no such user.
    """
    known = store.users()
    names = known if users is None else [clean(each, "user") for each in several(users, "users")]
    for name in names:
        if name not in known:
            raise NotFound(f"there is no user {name!r}; {name_similar(name, known)}")
    return names


def copy_user(source: ImportTarget, target: ImportTarget) -> PortingReport:
    """Copy a user with all that they have from one memory to another: an export that is imported.

    What is there already stays as it is, so a copy that was cut short goes on.
    """
    store, scope, counts = source.store, source.scope.whole_user, target.counts
    notes = read_notes(source, counts)
    with store.snapshot():
        lines = archive.archive_lines(store, scope, source.records.now(), notes)
        place = f"{store.location}, user {scope.user!r}"
        restored = (JsonItem(place, json.loads(line)) for _, line in lines)
        archive.restore(target, restored)
    return counts.report(scope, FileFormat.MEMORANDA)
