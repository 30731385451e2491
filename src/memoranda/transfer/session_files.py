"""One conversation as a session file, into a memory and out of it.

A session file can be gone on with by itself; here its messages become episodes that can be found,
or a stored conversation becomes a file.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

from memoranda.conversation.session_file import FileTranscript
from memoranda.conversation.session_format import (
    FIRST_LINE,
    dump_line,
    message_value,
    metadata_value,
)
from memoranda.conversation.transcript import place_of
from memoranda.errors import InvalidInput, NotFound
from memoranda.model.checks import located
from memoranda.model.models import ConversationInfo, Message, Pruning, Scope
from memoranda.store.sql.store import Store
from memoranda.transfer.batches import ImportCounts, ImportTarget

# Out


def session_lines(store: Store, scope: Scope, id: str) -> Iterator[tuple[str, bytes]]:
    """Yield type and text of each line of a session file that holds a stored conversation.

    Positions are those of the lines, so receipts and what was cleared are as in the store,
    also where messages were erased.

    Raises:
        NotFound: there is no such conversation.
    """
    info = store.conversations(scope, id).get(id)
    if info is None:
        raise NotFound(f"there is no conversation {id!r} for user {scope.user!r}")
    messages = store.messages(scope, id, cleared=True)
    places = [place_of(message) for message in messages]
    settings = replace(info, start=bisect_left(places, info.start))
    prunings = _moved(store.prunings(scope, id), places)
    line = {"lastConsolidated": _count_consolidated(store, scope, id, messages)}
    value = metadata_value(settings, prunings, line, store.tombstones(scope, id))
    yield "metadata", dump_line(value) + b"\n"
    for message in messages:
        yield "message", dump_line(message_value(message)) + b"\n"


def _count_consolidated(store: Store, scope: Scope, id: str, messages: Sequence[Message]) -> int:
    """Return how many messages were consolidated, as the store says how far its session was."""
    info = store.sessions(scope, id=id).get(id)
    if info is None or info.through < 0:
        return 0
    held = store.get(scope, [message.record_id for message in messages if message.record_id])
    done = [
        count
        for count, message in enumerate(messages, 1)
        if (episode := held.get(message.record_id or "")) is not None
        and episode.position is not None
        and episode.position <= info.through
    ]
    return max(done, default=0)


def _moved(prunings: Sequence[Pruning], places: Sequence[int]) -> tuple[Pruning, ...]:
    """Return receipts by the numbers of messages instead of their positions, ``places``."""
    found = []
    for pruning in prunings:
        cuts = []
        for cut in pruning.cuts:
            first, end = bisect_left(places, cut.first), bisect_right(places, cut.last)
            if first < end:
                cuts.append(replace(cut, first=first, last=end - 1, messages=end - first))
        if cuts:
            found.append(replace(pruning, cuts=tuple(cuts)))
    return tuple(found)


# In


def import_session(target: ImportTarget, path: Path, counts: ImportCounts) -> None:
    """Add the conversation in the session file at ``path``, under the name it has there.

    It keeps the moment of its creation. Of one that is stored already, only the messages that
    are missing at its end, and receipts, are added.

    Raises:
        InvalidInput: a line is broken, or a stored conversation of the same name went
            otherwise; nothing was written.
    """
    file = FileTranscript(path)
    _refuse_broken(file)
    info, store, scope = file.info(), target.store, target.scope
    name = info.id
    known = target.conversation(name, str(path), "change key in the first line")
    messages, places = _checked(target, file, info)
    new = _missing_messages(target, path, name, messages)
    if known is None:
        with store.write(scope) as tx:
            tx.open_conversation(info)
            tx.update_conversation(name, calibration=info.calibration)
    _append(target, name, new, known, bisect_left(places, info.start))
    there = {pruning.id for pruning in store.prunings(scope, name)}
    with store.write(scope) as tx:
        for pruning in _moved(file.prunings(), places):
            if pruning.id not in there:
                tx.add_pruning(name, pruning)
        for tombstone in file.tombstones():
            tx.keep_tombstone(name, tombstone)
        if info.ended_at is not None and (known is None or new):
            tx.update_conversation(name, ended_at=info.ended_at)
    counts.total, counts.messages, counts.skipped = 1, len(new), len(messages) - len(new)
    counts.advance(1)


def _missing_messages(
    target: ImportTarget, path: Path, id: str, messages: Sequence[Message]
) -> list[Message]:
    """Return which of a conversation's messages are not stored: those at its end, or none.

    Raises:
        InvalidInput: a stored conversation of the same name went otherwise.
    """
    stored = target.store.messages(target.everyone, id, cleared=True)
    content = attrgetter("role", "content", "images", "tool_calls", "tool_result")
    for old, new in zip(stored, messages, strict=False):
        if content(old) != content(new):
            raise InvalidInput(
                f"{path}: another conversation {id!r} is stored already; it differs from "
                f"{new.content!r:.60} on. Change key in the first line to import it beside that one"
            )
    return list(messages[len(stored) :])


def _refuse_broken(file: FileTranscript) -> None:
    if problems := file.problems:
        message = f"{file.path}, {problems[0]}; correct or remove the line, and import again"
        raise InvalidInput(message)
    if file.torn:
        raise InvalidInput(
            f"{file.path}, the last line: it is not finished, as after a crash; "
            f"Conversation.open({str(file.path)!r}) repairs it"
        )


def _checked(
    target: ImportTarget, file: FileTranscript, info: ConversationInfo
) -> tuple[list[Message], list[int]]:
    """Return the messages as the store takes them, and their positions in the file.

    Those that say nothing are left out; the trial refuses what the stored conversation would
    refuse, and counts tokens.
    """
    trial = target.trial_conversation(info.id, info.model)
    messages: list[Message] = []
    places: list[int] = []
    for message in file.messages(cleared=True):
        said = message.content.strip(), message.tool_calls, message.tool_result, message.images
        if not any(said) and message.raw is None:
            continue
        place = place_of(message)
        with located(f"{file.path}, line {place + FIRST_LINE}"):
            (made,) = trial.extend([message])
        messages.append(replace(made, pinned=message.pinned, position=None))
        places.append(place)
    return messages, places


def _append(
    target: ImportTarget,
    name: str,
    new: Sequence[Message],
    known: ConversationInfo | None,
    cleared: int,
) -> None:
    """Add what is new; the first ``cleared`` messages of the whole are out of view."""
    transcript = target.transcript(name)
    there, start = (known.messages, known.start) if known else (0, 0)
    split = max(0, cleared - there)
    if new[:split]:
        transcript.append(new[:split])
    # Also where an import was cut short just before; not where others have gone on since.
    if start < cleared and there <= cleared:
        transcript.clear()
    if new[split:]:
        transcript.append(new[split:])
