"""memoranda's own file format: all that a user has, as lines of JSON.

First a header, which names the user; then what persons decided on names, the records in the order
they were recorded with what was done to them, how far sessions were read, what was erased, each
conversation followed by its messages and receipts of prunings, and the notes. The order
of the lines gives the positions, so receipts name messages by their ids. What is derived is made
anew where a file is read: vectors, index, entities, enrichment. A conversation that was deleted, or
a message that was removed from one, stays behind; the episodes, which have ended, do not.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from fnmatch import fnmatchcase
from itertools import groupby
from typing import Any

from memoranda.conversation.transcript import place_of
from memoranda.errors import InvalidInput, StoreError
from memoranda.model.changes import AuditTrail, Insert
from memoranda.model.checks import content_hash, iso, refuse_unknown, storable
from memoranda.model.models import ConversationInfo, Kind, Message, Pruning, Record, Scope
from memoranda.model.notes import NOTES_FILES, NotesContent
from memoranda.model.query import Filter, Subset
from memoranda.model.sessions import AgentSession, ErasedRecord, UserMetadata
from memoranda.store.sql.store import Store, Transaction
from memoranda.text.json_values import list_of, object_of, parse_as, to_object, words_of
from memoranda.transfer.sources import FileFormat, ImportTarget, JsonItem, batched


@dataclass(frozen=True, slots=True)
class NameDecision:
    """A name that a person gave to the entity that the target names."""

    name: str
    target: str


VERSION = 4
# The dataclass of which each line of a type is.
LINES: Mapping[str, type[Any]] = {
    "decision": NameDecision,
    "record": Record,
    "session": AgentSession,
    "erased": ErasedRecord,
    "conversation": ConversationInfo,
    "message": Message,
    "pruning": Pruning,
    "notes": NotesContent,
}
# What of them no line has: whose it is, what is derived, and what the order of the lines says.
LEFT_OUT: Mapping[type, Any] = {
    Record: {"user", "enriched_at"},
    AuditTrail: {"changes": {"__all__": {"record"}}},
    ConversationInfo: {"messages", "start", "revision"},
    Message: {"position"},
}
# What 0.2 wrote, too: what language models took, and what had been removed.
FORMER = frozenset({"usage", "tombstone"})
NO_FOLDER = "this memory has no folder for them; set notes.folder, and do it again"


# Out of a store


def archive_lines(
    store: Store, scope: Scope, now: datetime, notes: Iterable[NotesContent]
) -> Iterator[tuple[str, bytes]]:
    """Yield type and text of each line of a file with all that the scope sees.

    A page of records or one conversation is in memory.
    """
    head = {"format": FileFormat.MEMORANDA, "version": VERSION, "user": scope.user}
    yield "header", _dump(head | {"exported_at": iso(now)})
    for name, target in store.decisions(scope).items():
        yield _line("decision", NameDecision(name, target))
    for page in store.pages(scope, Filter.at_any_time(kinds=tuple(Kind))):
        trails = store.trails(scope, [record.id for record in page])
        for record in page:
            yield _line("record", record, trails[record.id])
    kept = store.user_metadata(scope)
    for kind, found in (("session", kept.sessions), ("erased", kept.erased)):
        yield from (_line(kind, each) for each in found)
    for info in reversed(list(store.conversations(scope).values())):
        yield _line("conversation", info, agent=kept.owners.get(info.id))
        yield from _transcript_lines(store, scope, info.id)
    for content in notes:
        yield _line("notes", content)


def _transcript_lines(store: Store, scope: Scope, id: str) -> Iterator[tuple[str, bytes]]:
    messages = store.messages(scope, id, cleared=True)
    for message in messages:
        yield _line("message", message, conversation=id)
    for pruning in store.prunings(scope, id):
        cuts = list(_cut_objects(pruning, messages))
        yield _line("pruning", pruning, conversation=id, cuts=cuts)


def _cut_objects(pruning: Pruning, messages: Sequence[Message]) -> Iterator[dict[str, Any]]:
    """Yield the cuts of a receipt, by the ids of their messages instead of positions.

    Of cuts whose messages were all erased nothing is told.
    """
    places = [place_of(message) for message in messages]
    for cut in pruning.cuts:
        first, end = bisect_left(places, cut.first), bisect_right(places, cut.last)
        if first < end:
            ends = {"first": messages[first].id, "last": messages[end - 1].id}
            yield to_object(replace(cut, messages=end - first)) | ends


def _line(kind: str, *parts: object, **more: Any) -> tuple[str, bytes]:
    value: dict[str, Any] = {"type": kind}
    for part in parts:
        value |= to_object(part, leave_out=LEFT_OUT.get(type(part)))
    return kind, _dump(value | more)


def _dump(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


# Out of a file, into a store


def restore(target: ImportTarget, lines: Iterable[JsonItem]) -> None:
    """Store what is not there yet of an export, keeping ids, times and order.

    Lines that are not as an export writes them are counted and passed over.

    What is there stays as it is; a conversation that is there gets the messages it lacks. What was
    erased does not come back, nor does a conversation that was deleted. A batch of records is one
    transaction, and so is a conversation: an import that was cut short goes on. The records become
    the target's own, and where that names an agent, those of any agent become that one's.

    Raises:
        InvalidInput: it is of a version that is not read, or holds what belongs to another user.
    """
    rest, work = iter(lines), _Restoration(target)
    place, header = next(rest)
    _require_readable(header, place)
    owner = words_of(header, "user")
    known = (each for each in rest if words_of(each.value, "type") not in FORMER)
    try:
        for (kind, conversation), group in groupby(known, _kind_and_conversation):
            if conversation:
                work.keep_conversation(conversation, list(group))
                continue
            for batch in batched(group):
                work.keep(kind, batch)
    except StoreError as error:
        if "unique" not in str(error).lower():  # Ids are, in a store.
            raise
        message = f"what this export of {owner!r} holds belongs to another user of this store"
        raise InvalidInput(f"{message}; import it as that user, or into another store") from error
    if owner not in {"", target.scope.user}:
        target.counts.tell(
            f"its user, {owner!r:.80}: all that it holds is now of {target.scope.user!r}"
        )


def _require_readable(header: Any, place: str) -> None:
    if (header.get("format"), header.get("version")) != (FileFormat.MEMORANDA, VERSION):
        raise InvalidInput(
            f"{place}: this is an export of version {header.get('version')!r} of the format "
            f"{header.get('format')!r}, and only version {VERSION} of memoranda is read: of an "
            f"older one, export its conversations one by one with that version; of a newer one, "
            f"upgrade with pip install -U memoranda"
        )


def _kind_and_conversation(item: JsonItem) -> tuple[str, str]:
    """Return the type of a line; of the lines of a conversation that type with its name."""
    kind, name = words_of(item.value, "type"), words_of(item.value, "conversation")
    if kind == "conversation":
        name = words_of(item.value, "id")
    return ("conversation", name) if name else (kind, "")


@dataclass(frozen=True)
class _Restoration:
    """Stores the lines of an export.

    Attributes:
        target: the memory.
        episodes: how many episodes of each session the lines had.
    """

    target: ImportTarget
    episodes: Counter[str | None] = field(default_factory=Counter)

    def parse(self, item: JsonItem, **more: Any) -> Any:
        """Return what a line says, as the target's own; of a record, what stores it."""
        scope = self.target.scope
        value = object_of(item.value)
        kind = str(value.get("type"))
        refuse_unknown([kind], LINES, "type")
        agent = value.get("agent") and (scope.agent or value["agent"])
        line = {**value, "agent": agent, "user": scope.user, **more}
        if kind == "notes":
            _require_notes(line)
        if kind != "record":
            return parse_as(LINES[kind], line)
        # A line may have been edited by hand.
        digest = content_hash(storable(line.get("content"), "content"))
        record = parse_as(Record, line | {"content_hash": digest})
        changes = [{**object_of(each), "record": record.id} for each in list_of(line, "changes")]
        trail = parse_as(AuditTrail, line | {"changes": changes})
        return Insert(record, reason=trail.reason, trail=trail)

    def keep(self, kind: str, items: Iterable[JsonItem]) -> None:
        """Store what lines of a type say; those that cannot be read are counted."""
        batch = []
        for item in items:
            with self.target.counts.reading(item.place):
                if kind in {"conversation", "message", "pruning"}:
                    raise InvalidInput(f"a {kind} must name its conversation")
                batch.append(self.parse(item))
        if kind == "record":
            self._keep_records(batch)
        elif kind == "notes":
            for content in batch:
                self._keep_notes(content)
        else:
            with self.target.store.write(self.target.scope) as tx:
                if kind == "session":
                    tx.keep_user_metadata(UserMetadata(sessions=self._read_sessions(batch)))
                elif kind == "erased":
                    tx.keep_user_metadata(UserMetadata(erased=tuple(batch)))
                else:
                    tx.register(begins=False)
                    known = tx.decisions(self.target.scope.whole_user)
                    for each in batch:
                        if each.name not in known:
                            tx.merge_entities(each.target, each.name)

    def _keep_records(self, batch: Sequence[Insert]) -> None:
        """Store the records that are not there, and rest on nothing that was erased."""
        target = self.target
        with target.store.write(target.scope) as tx:
            known = target.known(each.record.id for each in batch)
            new = [
                each
                for each in {insert.record.id: insert for insert in batch}.values()
                if each.record.id not in known
                and not target.erased.intersection(each.record.source_ids)
                and not self._has_item(each)
            ]
            tx.carry_out(new)
        facts = sum(each.record.kind is Kind.FACT for each in new)
        self.target.counts.add(target.scope, len(batch), records=len(new), facts=facts)
        records = (each.record for each in batch)
        self.episodes.update(each.session_id for each in records if each.kind is Kind.EPISODE)

    def _has_item(self, insert: Insert) -> bool:
        """Return whether there is an item under the key of this one."""
        item, trail = insert.record, insert.trail
        if item.key is None or (trail and trail.closed_at is not None):
            return False
        where = Filter.at_any_time(namespace=item.namespace, key=item.key, subset=Subset.STANDING)
        found = self.target.store.records(self.target.scope, where)
        return any(each.agent == item.agent for each in found)

    def _read_sessions(self, batch: Sequence[AgentSession]) -> tuple[AgentSession, ...]:
        """Return how far sessions were read of which the store has what was read, and no more."""
        target = self.target
        known = target.store.sessions(target.scope)
        done = known.keys() - target.store.sessions(target.scope, pending=True)

        def held(session: str) -> int:
            where = Filter.at_any_time(session=session, kinds=(Kind.EPISODE,))
            return target.store.count(target.scope.whole_user, where).get(Kind.EPISODE, 0)

        return tuple(
            each
            for each in batch
            if each.id not in done and held(each.id) == self.episodes[each.id]
        )

    def keep_conversation(self, name: str, items: Sequence[JsonItem]) -> None:
        """Store a conversation with its transcript, or the messages that it lacks."""
        target, scope = self.target, self.target.scope
        parts = defaultdict[str, list[Any]](list)
        for item in items:
            with self.target.counts.reading(item.place):
                kind = item.value.get("type")
                more = {"cuts": _cuts(item, parts["message"])} if kind == "pruning" else {}
                parts[kind].append(self.parse(item, **more))
        parts["message"] = list({each.id: each for each in parts["message"]}.values())
        if not parts["conversation"]:
            begun = [each.timestamp for each in parts["message"]] or [target.records.now()]
            parts["conversation"] = [ConversationInfo(id=name, created_at=begun[0])]
        with target.store.write(scope) as tx:
            known = target.known_messages(name) | target.erased
            new = [each for each in parts["message"] if not known & {each.id, each.record_id}]
            if target.store.conversations(target.scope.whole_user, name):
                tx.append_messages(name, new)
            elif name in target.before.deleted or len(new) < len(parts["message"]):
                new = []
            else:
                owner = words_of(items[0].value, "agent") or None
                agent = owner and (scope.agent or owner)
                _create_conversation(tx, parts, agent)
        number = len(parts["message"])
        self.target.counts.add(scope, number, messages=len(new), conversations=int(bool(new)))

    def _keep_notes(self, content: NotesContent) -> None:
        notes = self.target.notes.find(replace(self.target.scope, agent=content.agent))
        if notes is None:
            self.target.counts.tell(f"notes of {self.target.scope.user}: {NO_FOLDER}")
            return
        for path in notes.keep(content):
            self.target.counts.tell(f"{path}: it is there already, and says something else")


def _require_notes(line: Mapping[str, Any]) -> None:
    """Refuse a line that names a file which is none of the notes."""
    for name in object_of(line.get("files")):
        if not any(fnmatchcase(name, pattern) for pattern in NOTES_FILES):
            known = ", ".join(NOTES_FILES)
            raise InvalidInput(f"{name!r:.80} is not a file of the notes; these are {known}")


def _cuts(item: JsonItem, messages: Sequence[Message]) -> list[Any]:
    """Return the cuts of a pruning with the places of their first and last messages."""
    places = {message.id: place for place, message in enumerate(messages)}
    found = []
    for cut in map(object_of, list_of(item.value, "cuts")):
        ends = {end: places.get(cut.get(end, ""), -1) for end in ("first", "last")}
        if not 0 <= ends["first"] <= ends["last"]:
            raise InvalidInput("first and last of a cut must name messages before it, in order")
        found.append({**cut, **ends})
    return found


def _create_conversation(
    tx: Transaction, parts: Mapping[str, Sequence[Any]], agent: str | None
) -> None:
    """Store a conversation of which nothing is there."""
    (info,), messages = parts["conversation"], parts["message"]
    ids = [message.id for message in messages]
    cleared = ids.index(info.cleared_through) + 1 if info.cleared_through in ids else 0
    tx.open_conversation(info, agent=agent)
    tx.append_messages(info.id, messages[:cleared])
    if cleared:
        tx.update_conversation(info.id, clear=True)
    tx.append_messages(info.id, messages[cleared:])
    for pruning in parts["pruning"]:
        tx.add_pruning(info.id, pruning)
    tx.update_conversation(info.id, calibration=info.calibration, ended_at=info.ended_at)
