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
from memoranda.model.actions import EndConversation, OpenConversation
from memoranda.model.checks import EPOCH, clean, content_hash, located, to_ms
from memoranda.model.clock import ALPHABET
from memoranda.model.models import ConversationInfo, Message, ToolCall, ToolResult
from memoranda.model.ports import Progress
from memoranda.transfer.batches import BATCH, ImportTarget, Moved, Steps
from memoranda.transfer.json_files import JsonItem, JsonValues, LeftOut, plain_text

TIME_LETTERS, KEY_LETTERS = 10, 16
"""Letters of an id, of five bits each: the millisecond, then the digest."""
ATTEMPTS = 3
"""How often a talk is looked at anew because another process has stored some of it."""
MOST_ALIKE = 8
"""Conversations that are searched for messages which another one repeats."""


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


def each_conversation(
    file: JsonValues, read: Callable[[JsonItem, LeftOut], ForeignConversation], left_out: LeftOut
) -> Iterator[ForeignConversation]:
    """Return the conversations of an export, each as ``read`` finds it; count those without talk.

    Raises:
        InvalidInput: ``read`` cannot read one; the message names it.
    """
    for item in file.items():
        with located(item.place):
            found = read(item, left_out)
        if found.messages:
            yield found
        else:
            left_out.add("conversations without talk")


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
        found.setdefault(item.key, _storable(item, at))
    return tuple(found.values())


def _storable(item: ForeignMessage, at: datetime | None) -> ForeignMessage:
    result = item.result
    return replace(
        item,
        at=at,
        text=plain_text(item.text),
        calls=tuple(
            ToolCall(*map(plain_text, (call.id, call.name, call.arguments))) for call in item.calls
        ),
        result=None if result is None else replace(result, call_id=plain_text(result.call_id)),
    )


@dataclass(frozen=True, slots=True)
class ConversationImport:
    """Stores conversations of one format for one user.

    Attributes:
        target: the memory.
        format: where they come from; the same keys of two formats are different.
    """

    target: ImportTarget
    format: str

    def check(self, found: ForeignConversation) -> None:
        """Refuse what could not be stored; what is there already was looked at before.

        Raises:
            InvalidInput: a message cannot be kept, or another agent has the conversation.
        """
        clean(found.id, "the name of a conversation")
        place = found.messages[0].place if found.messages else found.id
        self.target.conversation(found.id, place, "import as that agent, or without one")
        for batch in _batches(_joined(self._split(found)[1])):
            self._measured(batch, found)

    def store(self, found: ForeignConversation) -> Moved:
        """Store what is not there yet, a transaction for each batch; say how much that was."""
        moved = Moved()
        for attempt in range(ATTEMPTS):
            known, new = self._split(found)
            if not attempt:
                moved = Moved(skipped=len(_joined(known)))
            try:
                for messages in self._append(found, new):
                    moved = moved.plus(Moved(messages=messages))
                break
            except StoreError:
                # Perhaps another process has stored them meanwhile; then fewer are new now.
                if attempt == ATTEMPTS - 1 or len(self._split(found)[1]) == len(new):
                    raise
        self._end(found)
        return moved

    def _split(
        self, found: ForeignConversation
    ) -> tuple[Sequence[ForeignMessage], Sequence[ForeignMessage]]:
        """Return what is there already, and what comes after it.

        Nothing before a message that is there is new: it was stored before, and if it is gone
        now, it was erased.
        """
        known = self._known(found)
        end = 0
        for index, item in enumerate(found.messages, 1):
            if self._digest(item) in known:
                end = index
        return found.messages[:end], self._not_erased(found, found.messages[end:])

    def _not_erased(
        self, found: ForeignConversation, rest: Sequence[ForeignMessage]
    ) -> Sequence[ForeignMessage]:
        """Return ``rest`` without the last messages of an earlier import that were erased.

        It ended with the last message's time. Where nothing of that time is left, and something
        was taken out, what is older is not to come back.
        """
        store, scope = self.target.store, self.target.scope
        info = store.conversation(scope, found.id)
        if info is None or info.ended_at is None or not info.revision:
            return rest
        held = store.messages(scope, found.id, cleared=True)
        if any(message.timestamp >= info.ended_at for message in held):
            return rest
        gone = 0
        for index, item in enumerate(rest, 1):
            if item.at is not None and item.at <= info.ended_at:
                gone = index
        return rest[gone:]

    def _known(self, found: ForeignConversation) -> set[str]:
        """Return the digests of messages in this conversation, or in one that it repeats."""
        store, scope = self.target.store, self.target.scope
        names = [found.id]
        if store.conversation(scope, found.id) is None:
            # A session that was resumed may repeat all of the one before, under its own name.
            hashes = list(dict.fromkeys(content_hash(item.text) for item in found.messages))
            alike = store.with_hashes(scope, hashes, now=self.target.records.now())
            sessions = Counter(item.session_id for item in alike if item.session_id)
            names += [name for name, _ in sessions.most_common(MOST_ALIKE)]
        return {
            message.id[-KEY_LETTERS:]
            for name in names
            for message in store.messages(scope, name, cleared=True)
        }

    def _append(self, found: ForeignConversation, new: Sequence[ForeignMessage]) -> Iterator[int]:
        """Append in batches; after each, say how many messages it had."""
        if not new:
            return
        store, scope = self.target.store, self.target.scope
        if store.conversation(scope, found.id) is None:
            times = (item.at for item in found.messages if item.at)
            begun = found.at or next(times, self.target.records.now())
            store.apply(scope, [OpenConversation(ConversationInfo(id=found.id, created_at=begun))])
        transcript = self.target.transcript(found.id)
        for batch in _batches(_joined(new)):
            transcript.append(self._measured(batch, found))
            transcript.announce()
            yield len(batch)

    def _end(self, found: ForeignConversation) -> None:
        """Mark how far it was imported: its end is when the last message was said."""
        store, scope = self.target.store, self.target.scope
        info = store.conversation(scope, found.id)
        last = max((item.at for item in _joined(found.messages) if item.at), default=None)
        if info and last and (info.ended_at is None or info.ended_at < last):
            store.apply(scope, [EndConversation(found.id, last)])

    def _measured(
        self, batch: Sequence[ForeignMessage], found: ForeignConversation
    ) -> list[Message]:
        """Return messages as the store takes them: counted, weighed, with ids of their own."""
        trial = self.target.trial_conversation(found.id)
        first = found.messages[0].key if found.messages else None
        now = self.target.records.now()
        shapes = [
            _message(item, item.at or now, found.title if item.key == first else None)
            for item in batch
        ]
        with located(_span(batch)):
            counted = trial.extend(shapes)
        return [
            replace(message, id=self._id(item, message.timestamp), position=None)
            for item, message in zip(batch, counted, strict=True)
        ]

    def _id(self, item: ForeignMessage, at: datetime) -> str:
        return f"msg_{_letters(max(0, to_ms(max(at, EPOCH))), TIME_LETTERS)}{self._digest(item)}"

    def _digest(self, item: ForeignMessage) -> str:
        # Two users of one store may import the same file, and ids are unique in a store.
        text = f"{self.target.scope.user}\n{self.format}\n{item.key}"
        number = int.from_bytes(blake2b(text.encode(errors="replace"), digest_size=10).digest())
        return _letters(number, KEY_LETTERS)


def import_conversations(
    work: ConversationImport,
    read: Callable[[LeftOut], Iterable[ForeignConversation]],
    progress: Progress | None,
) -> tuple[Moved, tuple[str, ...]]:
    """Store the conversations of a file, one at a time; what is there already is skipped.

    The file is read twice, the first time only to check it: nothing is written of a file that
    is broken somewhere. An import that was cut short is gone on with by the next.

    Args:
        work: where they go.
        read: reads them; what it leaves out it counts.
        progress: told after each conversation.

    Returns:
        how many messages were stored, and a line for each kind of thing that was left out.

    Raises:
        InvalidInput: a message cannot be stored; nothing was written.
    """
    left_out = LeftOut()
    total = 0
    for found in read(left_out):
        work.check(found)
        total += 1
    steps, moved = Steps(total, progress), Moved()
    for found in read(LeftOut()):
        moved = moved.plus(work.store(found))
        steps.advance(1)
    return moved, left_out.lines()


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


def _message(item: ForeignMessage, at: datetime, title: str | None) -> Message:
    return Message(
        id=item.key,
        role=item.role,
        content=item.text,
        timestamp=at,
        tokens=0,  # Counted when it is taken.
        tool_calls=item.calls,
        tool_result=item.result,
        task=plain_text(title) if title and title.strip() else None,
    )


def _span(batch: Sequence[ForeignMessage]) -> str:
    first, last = batch[0].place, batch[-1].place
    return first if first == last else f"{first} to {last}"


def _letters(number: int, length: int) -> str:
    return "".join(ALPHABET[number >> 5 * place & 31] for place in reversed(range(length)))
