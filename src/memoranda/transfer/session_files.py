"""One conversation as a session file, into a memory and out of it.

A session file can be gone on with by itself; here its messages become episodes that can be found,
or a stored conversation becomes a file.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from memoranda.conversation.sessions.format import (
    SessionMetadata,
    dump_line,
    message_value,
    metadata_value,
)
from memoranda.conversation.sessions.session_file import SessionContent, SessionFile
from memoranda.errors import InvalidInput, NotFound
from memoranda.model.actions import (
    Action,
    Calibrate,
    EndConversation,
    OpenConversation,
    Prune,
)
from memoranda.model.checks import located
from memoranda.model.models import Calibration, ConversationInfo, Message, Pruning, Scope
from memoranda.model.ports import Progress, Store
from memoranda.transfer.batches import ImportTarget, Moved, Steps
from memoranda.transfer.openai import missing_messages

# Out


def session_lines(store: Store, scope: Scope, id: str) -> Iterator[str]:
    """Return the lines of a session file that holds a stored conversation.

    Positions are those of the lines, so receipts and what was cleared are as in the store,
    also where messages were erased.

    Raises:
        NotFound: there is no such conversation.
    """
    info = store.conversation(scope, id)
    if info is None:
        message = f"there is no conversation {id!r} for user {scope.user!r}"
        raise NotFound(message)
    messages = store.messages(scope, id, cleared=True)
    places = [message.position or 0 for message in messages]
    metadata = replace(
        SessionMetadata.of(info),
        cleared=bisect_left(places, info.start),
        prunings=_moved(store.prunings(scope, id), places),
    )
    yield _text(dump_line(metadata_value(metadata)))
    for said in messages:
        yield _text(dump_line(message_value(said)))


def _text(line: bytes) -> str:
    return line.decode() + "\n"


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


@dataclass(frozen=True, slots=True)
class SessionImport:
    """A session that can be stored, and what of it is to be.

    Attributes:
        metadata: the first line; receipts and ``cleared`` go by the numbers of the messages.
        messages: all that say something, with ids of their own.
        new: those of them that are not stored yet, at the end.
    """

    metadata: SessionMetadata
    messages: tuple[Message, ...]
    new: tuple[Message, ...]


def import_session(target: ImportTarget, path: Path, progress: Progress | None) -> Moved:
    """Add the conversation in the session file at ``path``, under the name it has there.

    It keeps the moment of its creation. Of one that is stored already, only the messages that
    are missing at its end, and receipts, are added. What was trimmed from the file is not in
    it; ``NAME.trimmed`` can be imported by itself as messages.

    Raises:
        InvalidInput: a line is broken, or a stored conversation of the same name went
            otherwise; nothing was written.
    """
    store, scope = target.store, target.scope
    plan = _plan(target, path)
    steps, name = Steps(1, progress), plan.metadata.id
    known = store.conversation(scope, name)
    if known is None:
        store.apply(scope, _opening(plan.metadata))
    _append(target, plan, known)
    there = {pruning.id for pruning in store.prunings(scope, name)}
    actions: list[Action] = [
        Prune(name, pruning) for pruning in plan.metadata.prunings if pruning.id not in there
    ]
    ended = plan.metadata.ended_at
    if ended is not None and (known is None or plan.new):
        actions.append(EndConversation(name, ended))
    if actions:
        store.apply(scope, actions)
    steps.advance(1)
    return Moved(messages=len(plan.new), skipped=len(plan.messages) - len(plan.new))


def _plan(target: ImportTarget, path: Path) -> SessionImport:
    session = SessionFile(path).look()
    _refuse_broken(path, session)
    metadata = session.metadata
    target.conversation(metadata.id, str(path), "change key in the first line")
    messages, places = _checked(target, path, session)
    remedy = "Change key in the first line to import it beside that one"
    return SessionImport(
        replace(
            metadata,
            cleared=bisect_left(places, metadata.cleared),
            prunings=_moved(metadata.prunings, places),
        ),
        tuple(messages),
        tuple(missing_messages(target, str(path), metadata.id, messages, remedy)),
    )


def _refuse_broken(path: Path, session: SessionContent) -> None:
    if session.problems:
        message = f"{path}, {session.problems[0]}; correct or remove the line, and import again"
        raise InvalidInput(message)
    if session.torn:
        message = (
            f"{path}, the last line: it is not finished, as after a crash; "
            f"Conversation.open({str(path)!r}) repairs it"
        )
        raise InvalidInput(message)


def _checked(
    target: ImportTarget, path: Path, session: SessionContent
) -> tuple[list[Message], list[int]]:
    """Return the messages as the store takes them, and their positions in the file."""
    metadata = session.metadata
    # It refuses what the stored one would refuse, and counts tokens.
    trial = target.trial_conversation(metadata.id, metadata.model)
    messages: list[Message] = []
    places: list[int] = []
    for message in session.messages:
        if not _says_something(message):
            continue
        place = message.position or 0
        with located(f"{path}, line {place - metadata.first + 2}"):
            (made,) = trial.extend([message])
        messages.append(replace(made, pinned=message.pinned, position=None))
        places.append(place)
    return messages, places


def _says_something(message: Message) -> bool:
    parts = message.content.strip(), message.tool_calls, message.tool_result, message.images
    return any(parts)


def _opening(metadata: SessionMetadata) -> list[Action]:
    info = ConversationInfo(
        id=metadata.id,
        created_at=metadata.created_at,
        system=metadata.system,
        model=metadata.model,
        context_limit=metadata.context_limit,
    )
    actions: list[Action] = [OpenConversation(info)]
    if metadata.calibration != Calibration():
        actions.append(Calibrate(metadata.id, metadata.calibration))
    return actions


def _append(target: ImportTarget, plan: SessionImport, known: ConversationInfo | None) -> None:
    transcript = target.transcript(plan.metadata.id)
    cleared = plan.metadata.cleared
    there, start = (known.messages, known.start) if known else (0, 0)
    split = max(0, cleared - there)
    if plan.new[:split]:
        transcript.append(plan.new[:split])
    # Also where an import was cut short just before; not where others have gone on since.
    if start < cleared and there <= cleared:
        transcript.clear()
    if plan.new[split:]:
        transcript.append(plan.new[split:])
