"""Conversations of other programs: what readers find, and how what is new of it is stored, once.

A message and its episode have ids that follow from the file. Of a conversation, all that comes
after the last message that is known is new: what is missing before it was removed or erased since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import Any

from memoranda.errors import InvalidInput, StoreError
from memoranda.model.checks import clean, located
from memoranda.model.models import ConversationInfo, Message, ToolCall, ToolResult
from memoranda.transfer.batches import BATCH, KEY_LETTERS, ImportCounts, ImportTarget, batched
from memoranda.transfer.json_files import JsonFile, LeftOut, moment_of, plain_text, text_of

REMEDY = "import as that agent, or without one"


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
        form: the message as a conversation made it of one in a provider's form.
    """

    place: str
    key: str
    role: str
    text: str
    at: datetime | None
    calls: tuple[ToolCall, ...] = ()
    result: ToolResult | None = None
    answer: str | None = None
    form: Message | None = None

    def storable(self, at: datetime | None) -> ForeignMessage:
        """Return the message without characters that no store can hold, and with a time."""
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
        file: the file after which it is named, where it has no id of its own.
    """

    id: str
    messages: tuple[ForeignMessage, ...]
    at: datetime | None = None
    title: str | None = None
    file: str | None = None


# Reads the conversations of a file, and counts what it leaves out.
ConversationReader = Callable[[LeftOut], Iterable[ForeignConversation]]
# Reads the messages of a conversation in an export, which stands at a place.
MessageReader = Callable[[Any, str, LeftOut], Iterator[ForeignMessage]]


def read_export(
    keys: tuple[str, str, str],
    said: MessageReader,
    file: JsonFile,
    _: ImportTarget,
    left_out: LeftOut,
) -> Iterator[ForeignConversation]:
    """Yield the conversations of an export; count those without talk, and what cannot be read.

    Args:
        keys: where a conversation has its id, its time and its title.
        said: reads its messages.
        file: the export.
        left_out: counts what is no talk.
    """
    name, begun, title = keys
    for place, talk in file.items(left_out):
        with left_out.reading(place):
            key = text_of(talk, "conversation_id" if talk.get("conversation_id") else name)
            at = moment_of(talk.get(begun), begun)
            messages = distinct(said(talk, place, left_out), at)
            if not messages:
                left_out.add("conversations without talk")
                continue
            called = talk.get(title) if isinstance(talk.get(title), str) else None
            yield ForeignConversation(id=key, messages=messages, at=at, title=called)


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
    answer = None
    for item in said:
        if item.answer is None or item.answer != answer:  # All of an answer was said at once.
            at = item.at or at
        answer = item.answer
        found.setdefault(item.key, item.storable(at))
    return tuple(found.values())


def import_conversations(
    target: ImportTarget, format: str, read: ConversationReader, counts: ImportCounts
) -> None:
    """Store the conversations of a file, one at a time; what is there already is skipped.

    The file is read twice, the first time only to check it: nothing is written of a file that
    cannot be stored. An import that was cut short is gone on with by the next.

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
        work.prepare(found)
        counts.total += 1
    for found in read(LeftOut()):
        work.store(found)
        counts.advance(1)


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

    def prepare(self, found: ForeignConversation) -> list[Message]:
        """Return the messages that are not there yet, as the store takes them.

        Raises:
            InvalidInput: a message cannot be kept, or the conversation of that name is another.
        """
        clean(found.id, "the name of a conversation")
        place = found.messages[0].place
        self.target.conversation(found.id, place, REMEDY)
        new = self._new(found)
        if new and found.file and self._stored(found).difference(map(self._digest, found.messages)):
            raise InvalidInput(
                f"{place}: another conversation {found.id!r} is stored already; rename "
                f"{found.file} to import it beside that one"
            )
        batches = batched(_whole(new), BATCH)
        return [message for batch in batches for message in self._measured(batch, found)]

    def store(self, found: ForeignConversation) -> None:
        """Store what is not there yet, a transaction for each batch."""
        before = self.counts.messages
        while new := self.prepare(found):
            try:
                self._append(found, new)
                break
            except StoreError:
                # Perhaps another process has stored them meanwhile; then fewer are new now.
                if len(self.prepare(found)) == len(new):
                    raise
        self.counts.skipped += len(_whole(found.messages)) - (self.counts.messages - before)
        self._end(found)

    def _new(self, found: ForeignConversation) -> Sequence[ForeignMessage]:
        """Return what comes after the last message that is known.

        That is one which is in this conversation or was removed from it, or whose episode is
        stored, in any conversation, as sessions that are resumed repeat all of the one before; or
        was erased.
        """
        known, episodes = self._stored(found), [self._id("ep", each) for each in found.messages]
        removed = self.target.store.tombstones(self.target.everyone, found.id)
        known |= {each.id[-KEY_LETTERS:] for left in removed for each in left.messages}
        known |= {each[-KEY_LETTERS:] for each in self.target.known(episodes)}
        places = [
            place for place, each in enumerate(found.messages, 1) if self._digest(each) in known
        ]
        rest = found.messages[places[-1] if places else 0 :]
        # Of a conversation that was deleted, a call without words is no reason to open it again.
        is_gone = places and not self.target.store.conversations(self.target.everyone, found.id)
        return () if is_gone and not any(each.text.strip() for each in rest) else rest

    def _stored(self, found: ForeignConversation) -> set[str]:
        """Return the digests of the messages that the stored conversation has."""
        messages = self.target.store.messages(self.target.everyone, found.id, cleared=True)
        return {message.id[-KEY_LETTERS:] for message in messages}

    def _append(self, found: ForeignConversation, new: Sequence[Message]) -> None:
        """Append in batches."""
        store, scope = self.target.store, self.target.scope
        if not store.conversations(scope, found.id):
            times = (item.at for item in found.messages if item.at)
            begun = found.at or next(times, self.target.records.now())
            with store.write(scope) as tx:
                tx.open_conversation(ConversationInfo(id=found.id, created_at=begun))
        transcript = self.target.transcript(found.id)
        for batch in batched(new, BATCH):
            transcript.append(batch)
            transcript.announce()
            self.counts.messages += len(batch)

    def _end(self, found: ForeignConversation) -> None:
        """Mark how far it was imported: its end is when the last message was said."""
        store, scope = self.target.store, self.target.scope
        info = store.conversations(scope, found.id).get(found.id)
        last = max((item.at for item in found.messages if item.at), default=None)
        if info and last and (info.ended_at is None or info.ended_at < last):
            with store.write(scope) as tx:
                tx.update_conversation(found.id, ended_at=last)

    def _measured(
        self, batch: Sequence[ForeignMessage], found: ForeignConversation
    ) -> list[Message]:
        """Return messages as the store takes them: counted, weighed, with ids of their own."""
        title = plain_text(found.title) if found.title and found.title.strip() else None
        shapes = [
            item.form
            or Message(
                id=item.key,
                role=item.role,
                content=item.text,
                timestamp=item.at or self.target.records.now(),
                tokens=0,  # Counted when it is taken.
                tool_calls=item.calls,
                tool_result=item.result,
                task=title if item.key == found.messages[0].key else None,
            )
            for item in batch
        ]
        first, last = batch[0].place, batch[-1].place
        with located(first if first == last else f"{first} to {last}"):
            counted = self.target.trial_conversation(found.id).extend(shapes)
        return [
            replace(
                message, id=self._id("msg", item), record_id=self._id("ep", item), position=None
            )
            for item, message in zip(batch, counted, strict=True)
        ]

    def _id(self, prefix: str, item: ForeignMessage) -> str:
        return self.target.id_of(prefix, self.format, item.key, item.at)

    def _digest(self, item: ForeignMessage) -> str:
        return self._id("msg", item)[-KEY_LETTERS:]


def _whole(said: Sequence[ForeignMessage]) -> list[ForeignMessage]:
    """Return parts of one answer that follow each other as one, under the key of the last."""
    found: list[ForeignMessage] = []
    for answer, group in groupby(said, key=lambda item: item.answer):
        parts = list(group)
        if answer is None or len(parts) == 1:
            found += parts
            continue
        calls = tuple(call for item in parts for call in item.calls)
        text = joined(item.text for item in parts)
        found.append(replace(parts[0], key=parts[-1].key, text=text, calls=calls))
    return found
