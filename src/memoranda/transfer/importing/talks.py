"""Stores conversations of other programs: what is new at their end, each message once.

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

from memoranda.conversation.conversation import Conversation
from memoranda.conversation.transcript import MemoryTranscript
from memoranda.errors import InvalidInput, StoreError
from memoranda.model.actions import EndConversation, OpenConversation
from memoranda.model.ids import ALPHABET
from memoranda.model.models import ConversationInfo, Message
from memoranda.model.ports import Progress
from memoranda.model.scope import Scope
from memoranda.model.text import clean, content_hash
from memoranda.model.times import EPOCH, to_ms
from memoranda.parts import Parts
from memoranda.transfer.batches import BATCH, Moved, Steps
from memoranda.transfer.formats import located
from memoranda.transfer.importing.found import LeftOut, Said, Talk, plain_text

TIME_LETTERS, KEY_LETTERS = 10, 16
"""Letters of an id, of five bits each: the millisecond, then the digest."""
ATTEMPTS = 3
"""How often a talk is looked at anew because another process has stored some of it."""
MOST_ALIKE = 8
"""Conversations that are searched for messages which another one repeats."""


@dataclass(frozen=True, slots=True)
class TalkImport:
    """Stores talks of one format for one user.

    Attributes:
        parts: the store and what else is needed.
        scope: whose memory.
        format: where the talks come from; the same keys of two formats are different.
    """

    parts: Parts
    scope: Scope
    format: str

    def check(self, talk: Talk) -> None:
        """Refuse what could not be stored; what is there already was looked at before.

        Raises:
            InvalidInput: a message cannot be kept, or another agent has the conversation.
        """
        clean(talk.id, "the name of a conversation")
        everyone = Scope(self.scope.user)
        store = self.parts.store
        if store.conversation(self.scope, talk.id) is None and store.conversation(
            everyone, talk.id
        ):
            place = talk.said[0].place if talk.said else talk.id
            message = (
                f"{place}: conversation {talk.id!r} is another agent's; import as that agent, "
                f"or without one"
            )
            raise InvalidInput(message)
        for batch in _batches(_joined(self._parted(talk)[1])):
            self._made(batch, talk)

    def store(self, talk: Talk) -> Moved:
        """Store what is not there yet, a transaction for each batch; say how much that was."""
        moved = Moved()
        for attempt in range(ATTEMPTS):
            known, new = self._parted(talk)
            if not attempt:
                moved = Moved(skipped=len(_joined(known)))
            try:
                for messages in self._appended(talk, new):
                    moved = moved.plus(Moved(messages=messages))
                break
            except StoreError:
                # Perhaps another process has stored them meanwhile; then fewer are new now.
                if attempt == ATTEMPTS - 1 or len(self._parted(talk)[1]) == len(new):
                    raise
        self._end(talk)
        return moved

    def _parted(self, talk: Talk) -> tuple[Sequence[Said], Sequence[Said]]:
        """Return what is there already, and what comes after it.

        Nothing before a message that is there is new: it was stored before, and if it is gone
        now, it was erased.
        """
        known = self._known(talk)
        end = 0
        for index, item in enumerate(talk.said, 1):
            if self._digest(item) in known:
                end = index
        return talk.said[:end], self._not_erased(talk, talk.said[end:])

    def _not_erased(self, talk: Talk, rest: Sequence[Said]) -> Sequence[Said]:
        """Return ``rest`` without the last messages of an earlier import that were erased.

        It ended with the last message's time. Where nothing of that time is left, and something
        was taken out, what is older is not to come back.
        """
        info = self.parts.store.conversation(self.scope, talk.id)
        if info is None or info.ended_at is None or not info.revision:
            return rest
        held = self.parts.store.messages(self.scope, talk.id, cleared=True)
        if any(message.timestamp >= info.ended_at for message in held):
            return rest
        gone = 0
        for index, item in enumerate(rest, 1):
            if item.at is not None and item.at <= info.ended_at:
                gone = index
        return rest[gone:]

    def _known(self, talk: Talk) -> set[str]:
        """Return the digests of messages in this conversation, or in one that it repeats."""
        store = self.parts.store
        names = [talk.id]
        if store.conversation(self.scope, talk.id) is None:
            # A session that was resumed may repeat all of the one before, under its own name.
            hashes = list(dict.fromkeys(content_hash(item.text) for item in talk.said))
            alike = store.with_hashes(self.scope, hashes, now=self.parts.now())
            sessions = Counter(item.session_id for item in alike if item.session_id)
            names += [name for name, _ in sessions.most_common(MOST_ALIKE)]
        return {
            message.id[-KEY_LETTERS:]
            for name in names
            for message in store.messages(self.scope, name, cleared=True)
        }

    def _appended(self, talk: Talk, new: Sequence[Said]) -> Iterator[int]:
        """Append in batches; after each, say how many messages it had."""
        if not new:
            return
        self._open(talk)
        transcript = self.parts.conversations(self.scope).transcript(talk.id)
        for batch in _batches(_joined(new)):
            transcript.append(self._made(batch, talk))
            transcript.announce()
            yield len(batch)

    def _open(self, talk: Talk) -> None:
        if self.parts.store.conversation(self.scope, talk.id) is None:
            begun = talk.at or next((item.at for item in talk.said if item.at), self.parts.now())
            info = ConversationInfo(id=talk.id, created_at=begun)
            self.parts.store.apply(self.scope, [OpenConversation(info)])

    def _end(self, talk: Talk) -> None:
        """Mark how far it was imported: its end is when the last message was said."""
        info = self.parts.store.conversation(self.scope, talk.id)
        last = max((item.at for item in _joined(talk.said) if item.at), default=None)
        if info and last and (info.ended_at is None or info.ended_at < last):
            self.parts.store.apply(self.scope, [EndConversation(talk.id, last)])

    def _made(self, batch: Sequence[Said], talk: Talk) -> list[Message]:
        """Return messages as the store takes them: counted, weighed, with ids of their own."""
        info = ConversationInfo(id=talk.id, created_at=self.parts.now())
        trial = Conversation.over(
            MemoryTranscript(info),
            catalog=self.parts.catalog,
            clock=self.parts.clock,
            ids=self.parts.ids,
        )
        first = talk.said[0].key if talk.said else None
        now = self.parts.now()
        shapes = [
            _message(item, item.at or now, talk.title if item.key == first else None)
            for item in batch
        ]
        with located(_span(batch)):
            counted = trial.extend(shapes)
        return [
            replace(message, id=self._id(item, message.timestamp), position=None)
            for item, message in zip(batch, counted, strict=True)
        ]

    def _id(self, item: Said, at: datetime) -> str:
        return f"msg_{_letters(max(0, to_ms(max(at, EPOCH))), TIME_LETTERS)}{self._digest(item)}"

    def _digest(self, item: Said) -> str:
        # Two users of one store may import the same file, and ids are unique in a store.
        text = f"{self.scope.user}\n{self.format}\n{item.key}"
        number = int.from_bytes(blake2b(text.encode(errors="replace"), digest_size=10).digest())
        return _letters(number, KEY_LETTERS)


def import_talks(
    work: TalkImport,
    talks: Callable[[LeftOut], Iterable[Talk]],
    progress: Progress | None,
) -> tuple[Moved, tuple[str, ...]]:
    """Store the talks of a file, one at a time; what is there already is skipped.

    The file is read twice, the first time only to check it: nothing is written of a file that
    is broken somewhere. An import that was cut short is gone on with by the next.

    Args:
        work: where they go.
        talks: reads them; what it leaves out it counts.
        progress: told after each talk.

    Returns:
        how many messages were stored, and a line for each kind of thing that was left out.

    Raises:
        InvalidInput: a message cannot be stored; nothing was written.
    """
    left_out = LeftOut()
    total = 0
    for talk in talks(left_out):
        work.check(talk)
        total += 1
    steps, moved = Steps(total, progress), Moved()
    for talk in talks(LeftOut()):
        moved = moved.plus(work.store(talk))
        steps.advance(1)
    return moved, left_out.lines()


def _joined(said: Sequence[Said]) -> list[Said]:
    """Return parts of one answer that follow each other as one, under the key of the last."""
    found: list[Said] = []
    for answer, group in groupby(said, key=lambda item: item.answer):
        parts = list(group)
        if answer is None or len(parts) == 1:
            found += parts
            continue
        texts = [item.text for item in parts if item.text.strip()]
        calls = tuple(call for item in parts for call in item.calls)
        found.append(replace(parts[0], key=parts[-1].key, text="\n".join(texts), calls=calls))
    return found


def _batches(said: Sequence[Said]) -> Iterator[Sequence[Said]]:
    for start in range(0, len(said), BATCH):
        yield said[start : start + BATCH]


def _message(item: Said, at: datetime, title: str | None) -> Message:
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


def _span(batch: Sequence[Said]) -> str:
    first, last = batch[0].place, batch[-1].place
    return first if first == last else f"{first} to {last}"


def _letters(number: int, length: int) -> str:
    return "".join(ALPHABET[number >> 5 * place & 31] for place in reversed(range(length)))
