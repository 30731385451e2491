"""Conversations of other programs: what readers find, and how what is new of it is stored, once.

A message keeps in its id, beside the time, a digest of the id it has in its file. By that it is
known again, whatever became of its conversation since; and as the whole id follows from the
file, two processes that import the same message at once cannot both store it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b
from itertools import groupby

from memoranda.errors import StoreError
from memoranda.model.actions import OpenConversation, UpdateConversation
from memoranda.model.checks import EPOCH, clean, content_hash, located, to_ms
from memoranda.model.clock import RANDOM_BITS, encode_id
from memoranda.model.json_object import JsonObject
from memoranda.model.models import ConversationInfo, Message, ToolCall, ToolResult
from memoranda.model.query import Filter
from memoranda.transfer.batches import BATCH, ImportCounts, ImportTarget
from memoranda.transfer.json_files import JsonFile, LeftOut, moment_of, plain_text

# The last letters of an id, of five bits each: the digest. The millisecond is before it.
KEY_LETTERS = 16
# How often a talk is looked at anew because another process has stored some of it.
ATTEMPTS = 3
# Conversations that are searched for messages which another one repeats.
MOST_ALIKE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignMessage:
    """One thing that was said, or done with a tool.

    Attributes:
        place: where it stands, for messages.
        key: the id it has in its file; the same in every copy of it.
        role: ``user``, ``assistant`` or ``tool``.
        text: what was said.
        at: when; ``None`` where nothing tells.
        calls: the calls of tools it makes.
        result: the call it answers.
        answer: the answer that it is a part of: parts that follow each other are one message.
    """

    place: str
    key: str
    role: str
    text: str
    at: datetime | None
    calls: tuple[ToolCall, ...] = ()
    result: ToolResult | None = None
    answer: str | None = None

    def storable(self, at: datetime | None) -> ForeignMessage:
        """Return it without characters that no store can hold, and with a time."""
        calls = ((call.id, call.name, call.arguments) for call in self.calls)
        result = self.result
        return replace(
            self,
            at=at,
            text=plain_text(self.text),
            calls=tuple(ToolCall(*map(plain_text, call)) for call in calls),
            result=result and replace(result, call_id=plain_text(result.call_id)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignConversation:
    """A conversation as a file tells it.

    Attributes:
        id: its name in the memory.
        messages: what was said, in order; a later copy of the file only adds at the end, or goes
            on elsewhere from some message on.
        at: when it began, where that is known.
        title: what it is called, where it has a title.
    """

    id: str
    messages: tuple[ForeignMessage, ...]
    at: datetime | None = None
    title: str | None = None


# Reads the conversations of a file, and counts what it leaves out.
ConversationReader = Callable[[LeftOut], Iterable[ForeignConversation]]
# Reads the messages of a conversation in an export, which stands at a place.
MessageReader = Callable[[JsonObject, str, LeftOut], Iterator[ForeignMessage]]


def read_export(
    file: JsonFile, keys: tuple[str, str, str], said: MessageReader, left_out: LeftOut
) -> Iterator[ForeignConversation]:
    """Return the conversations of an export; count those without talk.

    Args:
        file: the export.
        keys: where a conversation has its id, its time and its title.
        said: reads its messages.
        left_out: counts what is no talk.

    Raises:
        InvalidInput: a conversation is not in the export's form; the message names it.
    """
    name, begun, title = keys
    for item in file.items():
        with located(item.place):
            fields = JsonObject(item.value)
            at = moment_of(fields.get(begun), begun)
            key = fields.optional_text("conversation_id") or fields.text(name)
            messages = distinct(said(fields, item.place, left_out), at)
        if messages:
            called = fields.get(title) if isinstance(fields.get(title), str) else None
            yield ForeignConversation(id=key, messages=messages, at=at, title=called)
        else:
            left_out.add("conversations without talk")


def joined(texts: Iterable[str]) -> str:
    """Return the texts of a message as one, without those that are blank."""
    return "\n".join(text for text in texts if text.strip())


def distinct(
    said: Iterable[ForeignMessage], at: datetime | None = None
) -> tuple[ForeignMessage, ...]:
    """Return what was said as a store takes it: each once, with its time or the one before.

    Args:
        said: in order.
        at: when it began.
    """
    found: dict[str, ForeignMessage] = {}
    for item in said:
        at = item.at or at
        found.setdefault(item.key, item.storable(at))
    return tuple(found.values())


@dataclass(frozen=True, slots=True)
class ConversationImport:
    """Stores conversations of one format for one user.

    Attributes:
        target: the memory.
        format: where they come from; the same keys of two formats are different.
        counts: what was done.
    """

    target: ImportTarget
    format: str
    counts: ImportCounts

    def check(self, found: ForeignConversation) -> None:
        """Refuse what could not be stored; what is there already was looked at before.

        Raises:
            InvalidInput: a message cannot be kept, or another agent has the conversation.
        """
        clean(found.id, "the name of a conversation")
        remedy = "import as that agent, or without one"
        self.target.conversation(found.id, found.messages[0].place, remedy)
        for batch in _batches(_joined(self._split(found)[1])):
            self._measured(batch, found)

    def store(self, found: ForeignConversation) -> None:
        """Store what is not there yet, a transaction for each batch."""
        known, new = self._split(found)
        self.counts.skipped += len(_joined(known))
        for attempt in range(ATTEMPTS):
            try:
                self._append(found, new)
                break
            except StoreError:
                # Perhaps another process has stored them meanwhile; then fewer are new now.
                _, rest = self._split(found)
                if attempt == ATTEMPTS - 1 or len(rest) == len(new):
                    raise
                new = rest
        self._end(found)

    def _split(
        self, found: ForeignConversation
    ) -> tuple[Sequence[ForeignMessage], Sequence[ForeignMessage]]:
        """Return what is there already, and what comes after it.

        Nothing before a message that is there is new: it was stored before, and if it is gone
        now, it was erased.
        """
        known = self._known(found)
        there = [self._digest(item) in known for item in found.messages]
        end = _last(there)
        return found.messages[:end], self._not_erased(found, found.messages[end:])

    def _not_erased(
        self, found: ForeignConversation, rest: Sequence[ForeignMessage]
    ) -> Sequence[ForeignMessage]:
        """Return ``rest`` without the last messages of an earlier import that were erased.

        It ended with the last message's time. Where nothing of that time is left, and something
        was taken out, what is older is not to come back.
        """
        store, scope = self.target.store, self.target.scope
        info = store.conversations(scope, found.id).get(found.id)
        if info is None or info.ended_at is None or not info.revision:
            return rest
        held = store.messages(scope, found.id, cleared=True)
        if any(message.timestamp >= info.ended_at for message in held):
            return rest
        older = [item.at is not None and item.at <= info.ended_at for item in rest]
        return rest[_last(older) :]

    def _known(self, found: ForeignConversation) -> set[str]:
        """Return the digests of messages in this conversation, or in one that it repeats."""
        store, scope = self.target.store, self.target.scope
        names = [found.id]
        if not store.conversations(scope, found.id):
            # A session that was resumed may repeat all of the one before, under its own name.
            hashes = list(dict.fromkeys(content_hash(item.text) for item in found.messages))
            alike = store.records(scope, Filter(now=self.target.records.now(), hashes=hashes))
            sessions = Counter(item.session_id for item in alike if item.session_id)
            names += [name for name, _ in sessions.most_common(MOST_ALIKE)]
        return {
            message.id[-KEY_LETTERS:]
            for name in names
            for message in store.messages(scope, name, cleared=True)
        }

    def _append(self, found: ForeignConversation, new: Sequence[ForeignMessage]) -> None:
        """Append in batches."""
        if not new:
            return
        store, scope = self.target.store, self.target.scope
        if not store.conversations(scope, found.id):
            times = (item.at for item in found.messages if item.at)
            begun = found.at or next(times, self.target.records.now())
            store.apply(scope, [OpenConversation(ConversationInfo(id=found.id, created_at=begun))])
        transcript = self.target.transcript(found.id)
        for batch in _batches(_joined(new)):
            transcript.append(self._measured(batch, found))
            transcript.announce()
            self.counts.messages += len(batch)

    def _end(self, found: ForeignConversation) -> None:
        """Mark how far it was imported: its end is when the last message was said."""
        store, scope = self.target.store, self.target.scope
        info = store.conversations(scope, found.id).get(found.id)
        last = max((item.at for item in _joined(found.messages) if item.at), default=None)
        if info and last and (info.ended_at is None or info.ended_at < last):
            store.apply(scope, [UpdateConversation(found.id, ended_at=last)])

    def _measured(
        self, batch: Sequence[ForeignMessage], found: ForeignConversation
    ) -> list[Message]:
        """Return messages as the store takes them: counted, weighed, with ids of their own."""
        trial = self.target.trial_conversation(found.id)
        now = self.target.records.now()
        title = plain_text(found.title) if found.title and found.title.strip() else None
        shapes = [
            Message(
                id=item.key,
                role=item.role,
                content=item.text,
                timestamp=item.at or now,
                tokens=0,  # Counted when it is taken.
                tool_calls=item.calls,
                tool_result=item.result,
                task=title if item.key == found.messages[0].key else None,
            )
            for item in batch
        ]
        first, last = batch[0].place, batch[-1].place
        with located(first if first == last else f"{first} to {last}"):
            counted = trial.extend(shapes)
        return [
            replace(message, id=self._id(item, message.timestamp), position=None)
            for item, message in zip(batch, counted, strict=True)
        ]

    def _id(self, item: ForeignMessage, at: datetime) -> str:
        stamp = encode_id(to_ms(max(at, EPOCH)) << RANDOM_BITS)
        return f"msg_{stamp[:-KEY_LETTERS]}{self._digest(item)}"

    def _digest(self, item: ForeignMessage) -> str:
        # Two users of one store may import the same file, and ids are unique in a store.
        text = f"{self.target.scope.user}\n{self.format}\n{item.key}"
        number = int.from_bytes(blake2b(text.encode(errors="replace"), digest_size=10).digest())
        return encode_id(number)[-KEY_LETTERS:]


def import_conversations(
    target: ImportTarget, format: str, read: ConversationReader, counts: ImportCounts
) -> None:
    """Store the conversations of a file, one at a time; what is there already is skipped.

    The file is read twice, the first time only to check it: nothing is written of a file that
    is broken somewhere. An import that was cut short is gone on with by the next.

    Args:
        target: the memory.
        format: where they come from.
        read: reads them; what it leaves out it counts.
        counts: what was done.

    Raises:
        InvalidInput: a message cannot be stored; nothing was written.
    """
    work = ConversationImport(target, format, counts)
    for found in read(counts.left_out):
        work.check(found)
        counts.total += 1
    for found in read(LeftOut()):
        work.store(found)
        counts.advance(1)


def _joined(said: Sequence[ForeignMessage]) -> list[ForeignMessage]:
    """Return parts of one answer that follow each other as one, under the key of the last."""
    found: list[ForeignMessage] = []
    for answer, group in groupby(said, key=lambda item: item.answer):
        parts = list(group)
        if answer is None or len(parts) == 1:
            found += parts
            continue
        texts = [item.text for item in parts if item.text.strip()]
        calls = tuple(call for item in parts for call in item.calls)
        found.append(replace(parts[0], key=parts[-1].key, text="\n".join(texts), calls=calls))
    return found


def _batches(said: Sequence[ForeignMessage]) -> Iterator[Sequence[ForeignMessage]]:
    for start in range(0, len(said), BATCH):
        yield said[start : start + BATCH]


def _last(marks: Sequence[bool]) -> int:
    """Return the place behind the last mark that is set; 0 where none is."""
    return max((place for place, mark in enumerate(marks, 1) if mark), default=0)
