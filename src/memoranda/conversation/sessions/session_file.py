"""A conversation in a file of JSON Lines: read, appended to, changed, repaired, trimmed."""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Any, Self

from memoranda.conversation.sessions.format import (
    SessionMetadata,
    dump_line,
    message_value,
    metadata_value,
    parse_line,
    parse_message_line,
    parse_metadata,
)
from memoranda.conversation.sessions.line_file import (
    LineChunk,
    LineFile,
    ReadPosition,
    set_aside,
    trimmed_lines,
)
from memoranda.conversation.transcript import add_summaries, newest
from memoranda.errors import InvalidInput, NotFound, StoreReadOnly
from memoranda.model.checks import EPOCH
from memoranda.model.json_object import is_whole
from memoranda.model.models import Calibration, ConversationInfo, Message, Pruning
from memoranda.model.ports import MessageMeter

log = logging.getLogger("memoranda.sessions")

Lines = list[bytes]
Meters = Callable[[str | None], MessageMeter]
"""Gives what counts the tokens of a model."""

FIRST_LINE = 2  # of the messages: the metadata are line 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionContent:
    """What was read of a session file.

    Attributes:
        metadata: the first line.
        messages: the messages in order; from :meth:`SessionFile.news` only the new ones.
        problems: lines that are no messages, with their numbers and why. They stay in the
            file as they are, also when it is written anew.
        whole: whether what was read before is void, because lines that were there changed.
        torn: whether something unfinished follows: of a crash, or still being written.
        mark: where reading goes on.
        next: position of the next line.
        said: when the last message was said.
    """

    metadata: SessionMetadata
    messages: tuple[Message, ...]
    problems: tuple[str, ...]
    whole: bool
    torn: bool
    mark: ReadPosition
    next: int
    said: datetime


class SessionFile:
    """A conversation in a file of JSON Lines. Thread-safe, and safe between processes.

    The first line is metadata (:class:`SessionMetadata`), then comes one line for each message
    (:mod:`~memoranda.conversation.sessions.format`). A line's position counts from the first
    message ever said, also after older ones were trimmed.

    - Adding is one write at the end. Several messages at once are added all or not at all.
    - All else is a new file that takes the place of the old one in one step, with the same
      permissions (0600, unless they were changed). Lines that are not concerned stay as they
      are to the byte, keys that are unknown here stay, and so does ``createdAt``, for ever.
    - Writers take turns with a lock on ``NAME.lock``, readers need none. The lock is advisory:
      a program that ignores it can lose what it writes during a change.
    - What a crash left unfinished at the end goes to ``NAME.torn``, and is told of in
      :attr:`repaired` and the log; what :meth:`trim_before` takes out goes to ``NAME.trimmed``.

    Args:
        path: the file.
        power_safe: whether added messages survive a power cut, not only a killed process.
        busy_timeout: seconds to wait while another process writes.
        meters: counts tokens of lines that do not say how many they have; without it, these
            messages have 0.

    Raises:
        InvalidInput: no file can have this path.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        power_safe: bool = False,
        busy_timeout: float = 60.0,
        meters: Meters | None = None,
    ) -> None:
        """Touch nothing yet."""
        self._disk = LineFile(Path(path), power_safe=power_safe, busy_timeout=busy_timeout)
        self._meters = meters
        self._repairs: list[str] = []

    @property
    def path(self) -> Path:
        """Where it is, with links followed."""
        return self._disk.path

    @property
    def repaired(self) -> tuple[str, ...]:
        """What was repaired at the end of the file through this object, oldest first."""
        return tuple(self._repairs)

    def locked(self) -> AbstractContextManager[None]:
        """Keep other writers out for the time of a block; may be nested.

        Raises:
            StoreBusy: another one did not let go in time.
            StoreReadOnly: the folder cannot be written.
        """
        return self._disk.locked()

    # Reading

    def load(self) -> SessionContent:
        """Return all that is in the file, after repairing what a crash left at its end.

        Where the folder cannot be written, an unfinished end stays and is passed over.

        Raises:
            NotFound: there is no such file.
            InvalidInput: its first line is no metadata; nothing was changed.
            StoreBusy: the end needs a repair, and another process kept the lock.
        """
        try:
            self._repair()
        except StoreReadOnly:
            log.warning("%s ends in an unfinished line that cannot be repaired here", self.path)
        session = self.look()
        for problem in session.problems:
            log.warning("passed over in %s, %s", self.path, problem)
        return session

    def look(self) -> SessionContent:
        """Return all that is in the file and whole, as :meth:`load` does, repairing nothing."""
        return self._session(self._disk.read())

    def news(self, known: SessionContent) -> SessionContent | None:
        """Return what was added or changed since ``known``; ``None`` if nothing was.

        It costs what is new, unless lines that were there changed.
        """
        if not self._disk.changed(known.mark):
            return None
        chunk = self._disk.read(known.mark)
        before: SessionContent | None = known
        if chunk.head != known.mark.head:
            before = _with_metadata(known, self._metadata(chunk.head))
        if before is None or chunk.whole:
            return self.look()
        return self._session(chunk, before)

    def trimmed(self) -> tuple[Message, ...]:
        """Return the messages that :meth:`trim_before` took out, as far as they are still there."""
        metadata = self._metadata(self._disk.read().head)
        lines = trimmed_lines(self._disk.beside("trimmed"), metadata.first)
        place = metadata.first - len(lines)
        return self._messages(lines, metadata, place, metadata.created_at)[0]

    def _metadata(self, head: bytes) -> SessionMetadata:
        """Return what the first line says.

        Raises:
            InvalidInput: it is no metadata.
        """
        try:
            return parse_metadata(parse_line(head), self.path.stem)
        except InvalidInput as error:
            message = f"{self.path} is no session file: its first line is wrong: {error}"
            raise InvalidInput(message) from error

    def _session(self, chunk: LineChunk, known: SessionContent | None = None) -> SessionContent:
        """Return what a chunk holds; where it goes on, ``known`` is what came before."""
        if known is None or chunk.whole:
            metadata = self._metadata(chunk.head)
            place, said = metadata.first, metadata.created_at
        else:
            metadata, place, said = known.metadata, known.next, known.said
        messages, problems = self._messages(chunk.lines, metadata, place, said)
        return SessionContent(
            metadata=metadata,
            messages=messages,
            problems=problems,
            whole=chunk.whole,
            torn=chunk.torn,
            mark=chunk.mark,
            next=place + len(chunk.lines),
            said=messages[-1].timestamp if messages else said,
        )

    def _messages(
        self, lines: Sequence[bytes], metadata: SessionMetadata, place: int, said: datetime
    ) -> tuple[tuple[Message, ...], tuple[str, ...]]:
        """Return the messages of lines that begin at position ``place``, and what is none."""
        meter = None if self._meters is None else self._meters(metadata.model)
        found: list[Message] = []
        problems: list[str] = []
        for position, line in enumerate(lines, place):
            if not line.strip():
                continue
            try:
                message = parse_message_line(parse_line(line), position, said, meter)
            except InvalidInput as error:
                number = position - metadata.first + FIRST_LINE
                problems.append(f"line {number}: {error}")
            else:
                found.append(message)
                said = message.timestamp
        return tuple(found), tuple(problems)

    # Writing

    def start(self, info: ConversationInfo) -> bool:
        """Begin the conversation ``info``, unless there is one; return whether it was begun.

        Raises:
            InvalidInput: the folder is not there, or ``info`` cannot be written.
        """
        if not self._disk.is_empty():
            return False  # Also where the lock could not be made: it may be there to be read.
        with self._disk.locked():
            if not self._disk.is_empty():
                return False
            self._disk.replace([dump_line(metadata_value(SessionMetadata.of(info)))])
        return True

    def append(self, messages: Sequence[Message]) -> None:
        """Add messages at the end: all of them, or none.

        Raises:
            InvalidInput: a message could not be read back; nothing was added.
            StoreError: the file cannot be written; nothing was added.
        """
        count = len(messages)
        lines = [_line(item, last=index == count) for index, item in enumerate(messages, 1)]
        if not lines:
            return
        with self._disk.locked():
            self._repair()
            self._disk.append(lines)

    def update(
        self, change: Callable[[SessionMetadata], SessionMetadata], *, seen: bool = True
    ) -> None:
        """Write other metadata; the moment of creation stays what it was.

        Args:
            change: makes the new metadata of the old; if they are equal, nothing is written.
            seen: whether readers of the transcript must look again: its revision grows.
        """

        def changed(metadata: SessionMetadata, _: Lines) -> SessionMetadata:
            new = replace(change(metadata), created_at=metadata.created_at, line=metadata.line)
            return replace(new, revision=new.revision + seen) if new != metadata else metadata

        self._rewrite(changed)

    def set(self, changes: Mapping[int, Mapping[str, Any]]) -> None:
        """Set keys of the lines at these positions; ``None`` takes a key away.

        Raises:
            InvalidInput: there is no message at a position; nothing was changed.
        """

        def changed(metadata: SessionMetadata, lines: Lines) -> SessionMetadata:
            for position, keys in changes.items():
                index = position - metadata.first
                if not 0 <= index < len(lines):
                    raise InvalidInput(f"{self.path} has no message at position {position}")
                lines[index] = _with_keys(lines[index], keys)
            return _with_edit(metadata)

        if changes:
            self._rewrite(changed)

    def trim_before(self, position: int) -> int:
        """Take the messages before a position out of the file (``trimBefore``).

        They go to ``NAME.trimmed`` first, so that nothing is lost; the others keep their
        positions, and the conversation its moment of creation. Doing it again is harmless.

        Returns:
            How many lines went.

        Raises:
            InvalidInput: ``position`` is no whole number of at least 0.
        """
        wanted, gone = _position(position), 0

        def changed(metadata: SessionMetadata, lines: Lines) -> SessionMetadata:
            nonlocal gone
            gone = min(max(0, wanted - metadata.first), len(lines))
            if not gone:
                return metadata
            set_aside(self._disk.beside("trimmed"), lines[:gone], metadata.first)
            del lines[:gone]
            first = metadata.first + gone
            # Of ``lastConsolidated`` nothing is left where more went than was consolidated.
            done = max(first, metadata.consolidated)
            return replace(_with_edit(metadata), first=first, consolidated=done)

        self._rewrite(changed)
        return gone

    def update_consolidated(self, position: int) -> None:
        """Record that all messages before a position were consolidated (``updateConsolidated``).

        Raises:
            InvalidInput: ``position`` is no whole number of at least 0.
        """
        wanted = _position(position)
        self.update(lambda item: replace(item, consolidated=max(item.first, wanted)), seen=False)

    def _rewrite(self, change: Callable[[SessionMetadata, Lines], SessionMetadata]) -> None:
        """Write what ``change`` makes of the metadata and, in place, of the lines after it."""
        with self._disk.locked():
            self._repair()
            chunk = self._disk.read()
            before, lines = self._metadata(chunk.head), chunk.lines
            after = change(before, lines)
            if after != before:
                self._disk.replace([dump_line(metadata_value(after)), *lines])

    def _repair(self) -> None:
        """Repair the end of the file, if a crash left something unfinished there."""
        if not self._disk.is_torn():
            return
        # Before anything is cut off: another program's file is left as it is.
        self._metadata(self._disk.read().head)
        with self._disk.locked():
            if not self._disk.is_torn():
                return  # It was only being written.
            rest = self._disk.last_line()
            whole = bool(rest) and _is_object(rest)
            cut = self._disk.repair(finish=whole)
        told = "the last line lacked its end, and got it"
        if cut:
            aside = self._disk.beside("torn")
            told = f"{cut} bytes at the end were never written whole; they are in {aside}"
        self._repairs.append(told)
        log.warning("repaired %s: %s", self.path, told)


def _line(message: Message, *, last: bool) -> bytes:
    value = message_value(message)
    parse_message_line(value, 0, message.timestamp)  # What cannot be read is not written.
    # The key must be the last one: see CONTINUED in line_file.py.
    return dump_line(value if last else value | {"continued": True})


def _with_keys(line: bytes, keys: Mapping[str, Any]) -> bytes:
    value = parse_line(line)
    parse_message_line(value, 0, EPOCH)
    changed = {name: item for name, item in (value | keys).items() if item is not None}
    changed.pop("continued", None)
    return dump_line(changed)


def _with_edit(metadata: SessionMetadata) -> SessionMetadata:
    return replace(metadata, revision=metadata.revision + 1, edition=metadata.edition + 1)


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(parse_line(line), dict)
    except InvalidInput:
        return False


def _position(value: object) -> int:
    if not is_whole(value):
        raise InvalidInput(f"position={value!r:.80} must be a whole number of at least 0")
    return int(str(value))


def _with_metadata(known: SessionContent, metadata: SessionMetadata) -> SessionContent | None:
    """Return ``known`` with other metadata, if the lines read so far still count."""
    before = known.metadata
    same = (metadata.edition, metadata.first) == (before.edition, before.first)
    return replace(known, metadata=metadata) if same else None


class FileTranscript:
    """Implements :class:`memoranda.conversation.transcript.Transcript` on a session file.

    Its messages are held in memory. Before each answer it looks whether the file changed, so
    several processes may hold the same conversation; what others added is read, not the whole.
    Adding costs the same at any length; a pin, a pruning and the like write the file anew.

    Args:
        file: the session, which has begun.

    Raises:
        NotFound: there is no such file.
        InvalidInput: it is no session file.
    """

    def __init__(self, file: SessionFile) -> None:
        """Read the file, after repairing what a crash left at its end."""
        self.file = file
        # Held for moments only: who also needs the lock of the file takes that one first.
        self._lock = Lock()
        self._session = file.load()
        self._messages = list(self._session.messages)
        self._problems = list(self._session.problems)
        self._unannounced = 0

    @classmethod
    def opened(
        cls,
        path: str | Path,
        *,
        created_at: datetime,
        meters: Meters,
        system: str | None = None,
        model: str | None = None,
        context_limit: int | None = None,
        power_safe: bool = False,
        busy_timeout: float = 60.0,
    ) -> tuple[Self, bool]:
        """Open the conversation in a file, or begin it; what is given replaces what is there.

        A new conversation is named after its file.

        Args:
            path: the file; its folder must be there.
            created_at: the present moment, for a conversation that begins.
            meters: gives what counts the tokens of a model, for messages without a count.
            system, model, context_limit: settings, checked; as in the file, if not given.
            power_safe, busy_timeout: as for :class:`SessionFile`.

        Returns:
            The transcript, and whether its messages were counted for another model.

        Raises:
            InvalidInput: the path cannot be used, or the file is no session.
            StoreError: it cannot be written.
        """
        file = SessionFile(path, power_safe=power_safe, busy_timeout=busy_timeout, meters=meters)
        asked = {"system": system, "model": model, "context_limit": context_limit}
        given: dict[str, Any] = {name: item for name, item in asked.items() if item is not None}
        file.start(ConversationInfo(id=file.path.stem, created_at=created_at, **given))
        transcript = cls(file)
        before = transcript.info()
        if any(getattr(before, name) != value for name, value in given.items()):
            file.update(lambda metadata: replace(metadata, **given))
        return transcript, model is not None and model != before.model

    @property
    def problems(self) -> tuple[str, ...]:
        """The lines of the file that are no messages, with their numbers and why."""
        with self._lock:
            self._refresh()
            return tuple(self._problems)

    def info(self) -> ConversationInfo:
        """Return the settings and state."""
        with self._lock:
            found = self._refresh()
            index = self._index(found.start)
            return ConversationInfo(
                id=found.id,
                created_at=found.created_at,
                system=found.system,
                model=found.model,
                context_limit=found.context_limit,
                ended_at=found.ended_at,
                cleared_through=self._messages[index - 1].id if index else None,
                start=found.start,
                messages=found.first + len(self._messages),
                revision=found.revision + self._unannounced,
                calibration=found.calibration,
            )

    def append(self, messages: Sequence[Message]) -> None:
        """Add messages at the end."""
        self.file.append(messages)

    def announce(self) -> None:
        """Nobody listens beyond the conversation."""

    def messages(
        self,
        *,
        last: int | None = None,
        after: int | None = None,
        cleared: bool = False,
        pinned: bool = False,
    ) -> list[Message]:
        """Return messages in order; with ``cleared`` also those that were trimmed."""
        with self._lock:
            metadata = self._refresh()
            start = 0 if cleared else metadata.start
            if after is not None:
                start = max(start, after + 1)
            found = self._messages[self._index(start) :]
        if start < metadata.first:
            before = (item for item in self.file.trimmed() if (item.position or 0) >= start)
            found = [*before, *found]
        return newest([item for item in found if item.pinned] if pinned else found, last)

    def prunings(self) -> list[Pruning]:
        """Return the receipts of all prunings, oldest first."""
        with self._lock:
            return list(self._refresh().prunings)

    def prune(self, pruning: Pruning) -> None:
        """Keep the receipt of a pruning."""
        self.file.update(lambda item: replace(item, prunings=(*item.prunings, pruning)))

    def summarize(self, pruning: str, summaries: Mapping[int, str]) -> None:
        """Give cuts of a pruning their summaries."""

        def with_summaries(known: Pruning) -> Pruning:
            return add_summaries(known, summaries) if known.id == pruning else known

        self.file.update(
            lambda item: replace(item, prunings=tuple(map(with_summaries, item.prunings)))
        )

    def pin(self, message: str, *, pinned: bool) -> None:
        """Keep a message in every view, or stop keeping it."""
        with self.file.locked(), self._lock:
            self._refresh()
            found = next((item for item in self._messages if item.id == message), None)
            if found is None:
                raise NotFound(f"there is no message {message!r} in this conversation")
            if found.pinned != pinned:
                self.file.set({found.position or 0: {"pinned": pinned or None}})

    def recount(self, tokens: Mapping[str, int]) -> None:
        """Set the token counts of messages, by their ids."""
        with self.file.locked(), self._lock:
            self._refresh()
            self.file.set(
                {
                    item.position or 0: {"tokens": tokens[item.id]}
                    for item in self._messages
                    if item.id in tokens
                }
            )

    def calibrate(self, calibration: Calibration) -> None:
        """Store the calibration learned from the provider's token counts."""
        self.file.update(lambda item: replace(item, calibration=calibration), seen=False)

    def clear(self) -> None:
        """Leave all messages so far out of every later view."""
        with self.file.locked(), self._lock:
            self._refresh()
            end = self._session.next
            self.file.update(lambda item: replace(item, cleared=end))

    def end(self, at: datetime) -> None:
        """Mark the conversation as finished."""
        self.file.update(lambda item: replace(item, ended_at=at), seen=False)

    def _refresh(self) -> SessionMetadata:
        news = self.file.news(self._session)
        if news is not None:
            if not news.whole:
                self._messages += news.messages
                self._problems += news.problems
            else:
                self._messages, self._problems = list(news.messages), list(news.problems)
                # Another program, or a person, changed lines without saying so.
                self._unannounced += news.metadata.edition == self._session.metadata.edition
            self._session = replace(news, messages=(), problems=())
        return self._session.metadata

    def _index(self, position: int) -> int:
        return bisect_left(self._messages, position, key=_place)


def _place(message: Message) -> int:
    return message.position or 0
