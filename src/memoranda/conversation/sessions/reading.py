"""From the lines of a session file to its messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from memoranda.conversation.sessions.disk import Chunk, Mark
from memoranda.conversation.sessions.lines import parse_message
from memoranda.conversation.sessions.metadata import Metadata, parse_metadata
from memoranda.conversation.sessions.values import parsed
from memoranda.errors import InvalidInput
from memoranda.model.models import Message
from memoranda.model.ports import MessageMeter

Meters = Callable[[str | None], MessageMeter]
"""Gives what counts the tokens of a model."""

FIRST_LINE = 2  # of the messages: the metadata are line 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
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

    metadata: Metadata
    messages: tuple[Message, ...]
    problems: tuple[str, ...]
    whole: bool
    torn: bool
    mark: Mark
    next: int
    said: datetime


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the lines of one file.

    Attributes:
        path: of the file; its name is that of the conversation, where the metadata have none.
        meters: counts tokens of lines that do not say how many they have.
    """

    path: Path
    meters: Meters | None

    def metadata(self, head: bytes) -> Metadata:
        """Return what the first line says.

        Raises:
            InvalidInput: it is no metadata.
        """
        try:
            return parse_metadata(parsed(head), self.path.stem)
        except InvalidInput as error:
            message = f"{self.path} is no session file: its first line is wrong: {error}"
            raise InvalidInput(message) from error

    def session(self, chunk: Chunk, known: Session | None = None) -> Session:
        """Return what a chunk holds; where it goes on, ``known`` is what came before."""
        if known is None or chunk.whole:
            metadata = self.metadata(chunk.head)
            place, said = metadata.first, metadata.created_at
        else:
            metadata, place, said = known.metadata, known.next, known.said
        messages, problems = self.messages(chunk.lines, metadata, place, said)
        return Session(
            metadata=metadata,
            messages=messages,
            problems=problems,
            whole=chunk.whole,
            torn=chunk.torn,
            mark=chunk.mark,
            next=place + len(chunk.lines),
            said=messages[-1].timestamp if messages else said,
        )

    def messages(
        self, lines: Sequence[bytes], metadata: Metadata, place: int, said: datetime
    ) -> tuple[tuple[Message, ...], tuple[str, ...]]:
        """Return the messages of lines that begin at position ``place``, and what is none."""
        meter = None if self.meters is None else self.meters(metadata.model)
        found: list[Message] = []
        problems: list[str] = []
        for position, line in enumerate(lines, place):
            if not line.strip():
                continue
            try:
                message = parse_message(parsed(line), position, said, meter)
            except InvalidInput as error:
                number = position - metadata.first + FIRST_LINE
                problems.append(f"line {number}: {error}")
            else:
                found.append(message)
                said = message.timestamp
        return tuple(found), tuple(problems)


def going_on(known: Session, metadata: Metadata) -> Session | None:
    """Return ``known`` with other metadata, if the lines read so far still count."""
    before = known.metadata
    same = (metadata.edition, metadata.first) == (before.edition, before.first)
    return replace(known, metadata=metadata) if same else None
