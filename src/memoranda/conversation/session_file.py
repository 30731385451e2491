"""A conversation in a file of JSON Lines that survives crashes and several writers.

Messages are added with a single write at the end; any other change is a new file that takes the
place of the old one in one step. So a reader needs no lock. Of what a crash can leave at the end, a
line without an end, or the first lines of several that belong together, readers see nothing, and
the next writer moves it to ``NAME.torn``.
"""

from __future__ import annotations

import logging
import os
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, TypedDict, Unpack

from filelock import FileLock, Timeout

from memoranda.conversation.session_format import (
    FIRST_LINE,
    complete_lines,
    dump_line,
    message_lines,
    message_value,
    metadata_value,
    parse_line,
    parse_message,
    parse_metadata,
    update_line,
)
from memoranda.conversation.transcript import RemovalOptions, place_of
from memoranda.errors import (
    InvalidInput,
    MemorandaError,
    NotFound,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
)
from memoranda.model.checks import EPOCH, limited, named
from memoranda.model.models import (
    NO_METADATA,
    Calibration,
    ConversationInfo,
    Message,
    Pruning,
    Tombstone,
)
from memoranda.model.query import MessageRange
from memoranda.model.replacements import Replacement, add_summaries, refuse_cleared
from memoranda.text.files import (
    BINARY,
    FORBIDDEN,
    FULL,
    PRIVATE,
    file_path,
    open_at_end,
    sync_folder,
    write_at_once,
    write_whole,
)
from memoranda.tokens.catalog import ChatMeter

log = logging.getLogger("memoranda.sessions")

# Gives what counts the tokens of a model.
Meters = Callable[[str | None], ChatMeter]

POLL = 0.002  # seconds between two looks at a lock that another writer holds
TAIL = 64  # bytes by which the place is known again up to which the file was read


class TranscriptSettings(TypedDict, total=False):
    """What whoever opens a conversation may say of it; what is not given is as it was."""

    system: str | None
    model: str | None
    context_limit: int | None


def with_settings(info: ConversationInfo, given: TranscriptSettings) -> ConversationInfo:
    """Return a conversation with the settings that are given in place of its own.

    Raises:
        InvalidInput: one cannot be stored.
    """
    limit = given.get("context_limit")
    return replace(
        info,
        system=named(given.get("system"), "system") or info.system,
        model=named(given.get("model"), "model") or info.model,
        context_limit=info.context_limit if limit is None else limited(limit, "context_limit"),
    )


class MemoryTranscript:
    """A transcript that lives as long as its process."""

    def __init__(self, info: ConversationInfo) -> None:
        """Start empty, with these settings."""
        self._info = info
        self._messages: list[Message] = []
        self._prunings: list[Pruning] = []
        self._tombstones: list[Tombstone] = []
        self._next = 0  # the position of the next message
        self._lock = Lock()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with self._lock:
            yield

    @contextmanager
    def _changing(self, *, seen: bool = True) -> Iterator[None]:
        """Hold the lock for a change; ``seen`` is whether readers must look at messages again."""
        with self._lock:
            yield
            self._info = replace(self._info, revision=self._info.revision + seen)

    def open(self, given: TranscriptSettings) -> bool:
        """Open the conversation; what is given replaces what is there.

        Returns:
            Whether its messages were counted for another model.
        """
        before = self.info()
        after = with_settings(before, given)
        if after != before:
            with self._changing():
                self._info = with_settings(self._info, given)
        return after.model != before.model

    def snapshot(self) -> AbstractContextManager[object]:
        """Do nothing: each read takes a moment of its own, and nobody else writes meanwhile."""
        return nullcontext()

    def info(self) -> ConversationInfo:
        """Return the settings and state."""
        with self._reading():
            return replace(self._info, messages=len(self._messages))

    def append(self, messages: Sequence[Message]) -> None:
        """Add messages at the end."""
        with self._lock:
            self._messages += [
                replace(message, position=place)
                for place, message in enumerate(messages, self._next)
            ]
            self._next += len(messages)

    def announce(self) -> None:
        """Nobody listens beyond the conversation."""

    def messages(self, **which: Unpack[MessageRange]) -> list[Message]:
        """Return messages in order."""
        pinned, last = which.get("pinned", False), which.get("last")
        with self._reading():
            start = 0 if which.get("cleared") else self._info.start
            start = max(start, which.get("after", -1) + 1)
            first = bisect_left(self._messages, start, key=place_of)
            if last is not None and not pinned:
                first = max(first, len(self._messages) - last)
            found = [item for item in self._messages[first:] if item.pinned or not pinned]
        return found if last is None else found[-last:]

    def expired_through(self) -> int:
        """Return that none has expired: here messages are kept for ever."""
        return -1

    def replace(self, id: str, at: datetime, **what: Unpack[RemovalOptions]) -> Tombstone | None:
        """Remove messages and put others in their place."""
        with self._changing():
            gone = self._chosen(**what)
            if not gone:
                return None
            self._place([place_of(message) for message in gone], what.get("messages", ()))
            left = Tombstone(id=id, at=at, count=len(gone), messages=tuple(gone))
            self._tombstones = [*self._tombstones, left]
            return left

    def _chosen(self, **what: Unpack[RemovalOptions]) -> list[Message]:
        ids, start = set(what.get("ids", ())), self._info.start
        found = [message for message in self._messages if message.id in ids]
        if len(found) < len(ids):
            missing = min(ids.difference(message.id for message in found))
            raise NotFound(f"there is no message {missing!r} in this conversation")
        if found and what.get("messages") and place_of(found[0]) < start:
            raise InvalidInput(refuse_cleared(found[0].id))
        if not ids:
            live = self._messages[bisect_left(self._messages, start, key=place_of) :]
            found = live[max(0, len(live) - what.get("newest", 0)) :]
        return found

    def _place(self, gone: Sequence[int], new: Sequence[Message]) -> None:
        removed = set(gone)
        stay = [item for item in self._messages if place_of(item) not in removed]
        at = bisect_left(stay, gone[0], key=place_of)
        following = place_of(stay[at]) if at < len(stay) else None
        done = Replacement.plan(gone, len(new), following=following, end=self._next)
        placed = [replace(item, position=to) for item, to in zip(new, done.places, strict=True)]
        behind = [replace(item, position=place_of(item) + done.shift) for item in stay[at:]]
        self._messages = [*stay[:at], *placed, *behind]
        if self._messages:
            self._next = max(self._next, place_of(self._messages[-1]) + 1)
        self._prunings = [
            replace(item, cuts=done.change(item.cuts, self._held)) for item in self._prunings
        ]

    def _held(self, first: int, last: int) -> list[Message]:
        start = bisect_left(self._messages, first, key=place_of)
        return self._messages[start : bisect_right(self._messages, last, key=place_of)]

    def tombstones(self) -> list[Tombstone]:
        """Return the tombstones of removed messages, oldest first."""
        with self._reading():
            return list(self._tombstones)

    def prunings(self, last: int = 0) -> list[Pruning]:
        """Return the receipts of all prunings, oldest first."""
        with self._reading():
            return self._prunings[-last:]

    def prune(self, pruning: Pruning) -> None:
        """Keep the receipt of a pruning."""
        with self._changing():
            self._prunings = [*self._prunings, pruning]

    def summarize(self, pruning: str, summaries: Mapping[int, str]) -> None:
        """Give cuts of a pruning their summaries."""
        with self._changing():
            self._prunings = [
                replace(known, cuts=add_summaries(known.cuts, summaries))
                if known.id == pruning
                else known
                for known in self._prunings
            ]

    def pin(self, message: str, *, pinned: bool) -> None:
        """Keep a message in every view, or stop keeping it."""
        with self._changing():
            for index, known in enumerate(self._messages):
                if known.id == message:
                    self._messages[index] = replace(known, pinned=pinned)
                    return
            raise NotFound(f"there is no message {message!r} in this conversation")

    def recount(self, tokens: Mapping[str, int]) -> None:
        """Set the token counts of messages, by their ids."""
        with self._changing():
            self._messages = [
                replace(known, tokens=tokens.get(known.id, known.tokens))
                for known in self._messages
            ]

    def calibrate(self, calibration: Calibration) -> None:
        """Store the calibration learned from the provider's token counts."""
        with self._changing(seen=False):
            self._info = replace(self._info, calibration=calibration)

    def clear(self) -> None:
        """Leave all messages so far out of every later view."""
        with self._changing():
            if self._messages:
                last = self._messages[-1]
                self._info = replace(self._info, cleared_through=last.id, start=place_of(last) + 1)

    def end(self, at: datetime) -> None:
        """Mark the conversation as finished."""
        with self._changing(seen=False):
            self._info = replace(self._info, ended_at=at)


class FileTranscript(MemoryTranscript):
    """A transcript in a session file. Thread-safe, and safe between processes.

    What is in the file is also held in memory. Before each answer it looks whether the file
    changed; of what others added it reads what is new, and all of it where lines changed.

    - Adding costs the same at any length; several messages at once are added all or not at all.
    - All else writes the file anew, with the same permissions (0600, unless they were changed).
      Lines that are not concerned stay as they are to the byte, keys that are unknown here stay,
      and so does ``createdAt``, for ever.
    - Writers take turns with a lock on ``NAME.lock``. The lock is advisory: a program that
      ignores it can lose what it writes during a change.

    Args:
        path: the file; its folder must be there. A new conversation is named after it.
        created_at: the present moment, for a conversation that begins.
        meters: counts tokens of lines that do not say how many they have; without it, these
            messages have 0.
        power_safe: whether added messages survive a power cut, not only a killed process.
        busy_timeout: seconds to wait while another process writes.

    Raises:
        InvalidInput: no file can have this path.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        created_at: datetime = EPOCH,
        meters: Meters | None = None,
        power_safe: bool = False,
        busy_timeout: float = 60.0,
    ) -> None:
        """Touch nothing yet."""
        try:
            # A link stays one, wherever the process goes later.
            self.path = file_path(path).resolve()
        except (OSError, RuntimeError) as error:
            message = f"{str(path)!r:.200} is no path of a file ({error}); choose another"
            raise InvalidInput(message) from error
        super().__init__(ConversationInfo(id=self.path.stem, created_at=created_at))
        self._meters = meters
        self._power_safe = power_safe
        self._busy_timeout = busy_timeout
        self._writers = FileLock(self._beside("lock"), mode=PRIVATE)
        self._problems: list[str] = []
        self._torn = False
        self._line: Mapping[str, Any] = NO_METADATA  # the metadata as they were read
        # How far the file was read: its stamp and first line then, and what stood before the end.
        self._stamp: tuple[int, int, int] | None = None
        self._head = self._tail = b""
        self._end = 0

    def open(self, given: TranscriptSettings) -> bool:
        """Open the conversation in the file, or begin it; what is given replaces what is there.

        What a crash left at the end is repaired, or where the folder cannot be written passed
        over.

        Returns:
            Whether its messages were counted for another model.

        Raises:
            InvalidInput: the path cannot be used, or the file is no session.
            StoreError: it cannot be written.
        """
        self.begin(with_settings(self._info, given))
        self.repair()
        for problem in self.problems:
            log.warning("passed over in %s, %s", self.path, problem)
        return super().open(given)

    def begin(self, info: ConversationInfo) -> bool:
        """Begin the conversation ``info``, unless there is one; return whether it was begun.

        Raises:
            InvalidInput: the folder is not there, or ``info`` cannot be written.
        """
        with os_errors(self.path):
            if self._is_begun():
                return False  # Also where the lock could not be made: it may be there to be read.
            with self._locked():
                if self._is_begun():
                    return False
                self._replace([dump_line(metadata_value(info, ()))])
            return True

    def repair(self) -> None:
        """Move what a crash left at the end aside, where the folder can be written."""
        with self._reading():
            torn = self._torn
        if not torn:
            return
        try:
            with self._writing():
                pass  # Each writer begins with a repair.
        except StoreReadOnly:
            log.warning("%s ends in an unfinished line that cannot be repaired here", self.path)

    @property
    def problems(self) -> tuple[str, ...]:
        """The lines that are no messages, with their numbers and why; they stay as they are."""
        with self._reading():
            return tuple(self._problems)

    @property
    def torn(self) -> bool:
        """Whether something unfinished is at the end: of a crash, or still being written."""
        with self._reading():
            return self._torn

    @property
    def last_consolidated(self) -> int:
        """How many lines of messages were consolidated (``lastConsolidated``, S2.27)."""
        with self._reading():
            return self._consolidated()

    def advance_consolidated(self, end: int) -> None:
        """Record that the lines before ``end`` were consolidated; it never goes back.

        Raises:
            StoreError: the file cannot be written.
        """
        with self._writing():
            if end > self._consolidated():
                self._line = {**self._line, "lastConsolidated": end}
                self._save(list(self._messages))

    def append(self, messages: Sequence[Message]) -> None:
        """Add messages at the end: all of them, or none.

        Raises:
            InvalidInput: a message could not be read back; nothing was added.
            StoreError: the file cannot be written; nothing was added.
        """
        data = b"".join(line + b"\n" for line in message_lines(messages))
        if not data:
            return
        with self._writing(), open_at_end(self.path) as descriptor:
            write_at_once(descriptor, data)
            if self._power_safe:
                os.fsync(descriptor)

    # Locks

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with super()._reading():
            self._read()
            yield

    @contextmanager
    def _changing(self, *, seen: bool = True) -> Iterator[None]:
        with self._writing():
            settings, messages = self._settings(), list(self._messages)
            try:
                yield
                if (self._settings(), self._messages) != (settings, messages):
                    self._info = replace(self._info, revision=self._info.revision + seen)
                    self._save(messages)
            except BaseException:
                self._stamp, self._head = None, b""  # The file says what is true: it is read anew.
                raise

    def _settings(self) -> tuple[object, ...]:
        return self._info, self._prunings, self._tombstones

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Keep other writers out, with the present file in memory and its end repaired."""
        with os_errors(self.path), self._locked(), super()._reading():
            self._read()
            if self._torn:
                self._repair()
            yield

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.path.parent.stat()  # Or the lock would make the folder.
        with self._writers.acquire(timeout=self._busy_timeout, poll_interval=POLL):
            yield

    # Reading, with the thread's lock held

    def _read(self) -> None:
        """Take in what was written since; all there is, where lines that were known changed."""
        with os_errors(self.path), self.path.open("rb") as file:
            found = os.fstat(file.fileno())
            stamp = found.st_ino, found.st_size, found.st_mtime_ns
            head = file.readline()
            if stamp == self._stamp and head == self._head:
                return
            # One of the same size that another program changed has nothing new at its end.
            longer = self._stamp is None or found.st_size > self._end
            goes_on = longer and head == self._head and self._goes_on(file)
            start = self._end if goes_on else len(head)
            file.seek(start)
            data = file.read()
        lines, used = complete_lines(data)
        if goes_on:
            self._take(lines)
        else:
            self._take_anew(head, lines)
        self._stamp, self._head, self._end = stamp, head, start + used
        self._tail = ((self._tail if goes_on else b"") + data[:used])[-TAIL:]
        self._torn = used < len(data) or not head.endswith(b"\n")

    def _goes_on(self, file: BinaryIO) -> bool:
        """Whether a file still has what was read of it last."""
        file.seek(self._end - len(self._tail))
        return file.read(len(self._tail)) == self._tail

    def _take_anew(self, head: bytes, lines: Sequence[bytes]) -> None:
        try:
            line = parse_line(head)
            info, prunings, tombstones = parse_metadata(line, self.path.stem)
        except InvalidInput as error:
            message = f"{self.path} is no session file: its first line is wrong: {error}"
            raise InvalidInput(message) from error
        known, before = self._messages, (self._info.start, self._prunings, self._messages)
        revision = self._info.revision
        self._line, self._info, self._prunings = line, info, prunings
        self._tombstones = tombstones
        self._messages, self._problems, self._next = [], [], 0
        self._take(lines)
        # Another process, program or person changed what was there, or only added.
        changed = (info.start, prunings, self._messages[: len(known)]) != before
        cleared = bisect_left(self._messages, info.start, key=place_of)
        self._info = replace(
            info,
            cleared_through=self._messages[cleared - 1].id if cleared else None,
            revision=revision + changed,
        )

    def _take(self, lines: Sequence[bytes]) -> None:
        """Add the messages of lines, and note which lines are none."""
        meter = None if self._meters is None else self._meters(self._info.model)
        said = self._messages[-1].timestamp if self._messages else self._info.created_at
        for position, line in enumerate(lines, self._next):
            if not line.strip():
                continue
            try:
                message = parse_message(parse_line(line), position, said, meter)
            except InvalidInput as error:
                self._problems.append(f"line {position + FIRST_LINE}: {error}")
            else:
                self._messages.append(message)
                said = message.timestamp
        self._next += len(lines)

    def _consolidated(self) -> int:
        found = self._line.get("lastConsolidated")
        return found if isinstance(found, int) else 0

    # Writing, with both locks held

    def _is_begun(self) -> bool:
        return self.path.exists() and self.path.stat().st_size > 0

    def _beside(self, name: str) -> Path:
        return self.path.with_name(f"{self.path.name}.{name}")

    def _repair(self) -> None:
        """Give the last line its end, if that is all it lacks; move what is unfinished aside."""
        aside, told = self._beside("torn"), "the last line lacked its end, and got it"
        with self.path.open("r+b") as file:
            data = file.read()
            if _is_object(data.rpartition(b"\n")[2]):
                file.write(b"\n")
                data += b"\n"
            used = complete_lines(data)[1]
            if torn := data[used:]:
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | BINARY
                with os.fdopen(os.open(aside, flags, PRIVATE), "ab") as kept:
                    kept.write(torn.removesuffix(b"\n") + b"\n")
                    kept.flush()
                    os.fsync(kept.fileno())
                file.truncate(used)
                told = f"{len(torn)} bytes at the end were never written whole; they are in {aside}"
            file.flush()
            os.fsync(file.fileno())
        log.warning("repaired %s: %s", self.path, told)
        self._read()

    def _save(self, before: Sequence[Message]) -> None:
        """Write what is in memory; ``before`` are the messages as the file has them."""
        _, *lines = complete_lines(self.path.read_bytes())[0]
        lines = _changed_lines(lines, before, self._messages)
        self._next = len(lines)
        # A new file can get the number, size and time of an older one: its first line tells them
        # apart.
        rewrites = self._line.get("rewrites")
        line = {**self._line, "rewrites": (rewrites if isinstance(rewrites, int) else 0) + 1}
        head = dump_line(line := metadata_value(self._info, self._prunings, line, self._tombstones))
        data = self._replace([head, *lines])
        self._line = line
        self._stamp, self._head, self._end = None, head + b"\n", len(data)
        self._tail = data[len(head) + 1 :][-TAIL:]

    def _replace(self, lines: Sequence[bytes]) -> bytes:
        """Put a file of these lines in the place of the old one; return what it holds."""
        data = b"".join(line + b"\n" for line in lines)
        write_whole(self.path, [data], part=self._beside("part"))
        if self._power_safe:
            sync_folder(self.path.parent)
        return data


def _changed_lines(
    lines: Sequence[bytes], before: Sequence[Message], after: Sequence[Message]
) -> list[bytes]:
    """Return the lines of messages as they are now; an empty one keeps each place that was left."""
    places = {message.id: message for message in before}
    changed = list(lines)
    for message in before:
        changed[place_of(message)] = b""
    for message in after:
        place, old = place_of(message), places.get(message.id)
        if old is None:
            line = dump_line(message_value(message))
        else:
            line = lines[place_of(old)]
            if old != message:  # Also one that only moved: it may be the last, and belongs to none.
                line = update_line(line, old, message)
        changed += [b""] * (place + 1 - len(changed))
        changed[place] = line
    return changed


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(parse_line(line), dict)
    except InvalidInput:
        return False


@contextmanager
def os_errors(path: Path) -> Iterator[None]:
    """Raise a :class:`~memoranda.errors.MemorandaError` in place of an ``OSError``."""
    try:
        yield
    except Timeout as error:
        raise StoreBusy(
            f"{path} stayed locked by another process beyond the timeout; "
            f"try again, or raise the setting storage.busy_timeout"
        ) from error
    except OSError as error:
        raise _translate(error, path) from error


def _translate(error: OSError, path: Path) -> MemorandaError:
    if path.is_dir():
        return InvalidInput(f"{path} is a folder; name a file in it")
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        if path.parent.is_dir():
            return NotFound(f"there is no session file {path}; check the path")
        return InvalidInput(f"there is no folder {path.parent} for {path.name}; create it first")
    unusable = f"{path} cannot be read or written"
    if error.errno in FORBIDDEN:
        remedy = "check the permissions of the file and its folder"
        return StoreReadOnly(f"{unusable} ({error.strerror}); {remedy}")
    if error.errno in FULL:
        return StoreFull(f"no space left to write {path}; free some, nothing stored was lost")
    return StoreError(f"{unusable} ({error}); check the disk")
