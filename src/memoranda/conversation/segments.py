"""Where one task or topic ends and the next begins (R5.1, workflow 3).

A boundary is strong where somebody said so: the caller or the user by a marker, or a
completion statement and then a request that leans on nothing before it. At those a finished
task can be pruned whole (R5.2, R6.4). Where only the topic seems to shift, the boundary is
weak: it groups messages, and nothing may be cut there for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from memoranda.conversation.cohesion import Cohesion, TopicTurn
from memoranda.conversation.segment_links import TaskLinks
from memoranda.conversation.segment_progress import Read, TaskProgress
from memoranda.conversation.signals import signals
from memoranda.errors import InvalidInput
from memoranda.model.models import Message
from memoranda.model.vectors import Vector, Vectors

Kind = Literal["start", "explicit", "completion", "topic"]

LONGEST_TITLE = 80  # characters
WAITING = 256  # calls whose results are waited for at a time


@dataclass(frozen=True, slots=True)
class Boundary:
    """Why a segment begins where it does.

    Attributes:
        kind: ``start`` of the transcript; ``explicit``, by a marker; ``completion`` of a task
            and then a new request; ``topic``, by a shift of topic.
        strong: whether a task ends here, so that what lies before it may go.
        reasons: in words, the strongest first.
        title: of the task that begins, where a marker gives one.
        probability: that it is one, 0 to 1: 1 where it was said.
    """

    kind: Kind
    strong: bool
    reasons: tuple[str, ...]
    title: str | None = None
    probability: float = 1.0


START = Boundary("start", strong=False, reasons=("the conversation begins",))


@dataclass(frozen=True, slots=True)
class Segment:
    """Messages in a row that belong to one task or topic.

    Attributes:
        start: index of its first message.
        end: the index after its last one.
        title: of the task, where a marker gives one.
        completed: whether its task is done: a strong boundary ends it, or a completion
            statement stands near its end.
        boundary: why it begins where it does.
    """

    start: int
    end: int
    title: str | None
    completed: bool
    boundary: Boundary


class Segmenter:
    """Says of each message whether a segment begins with it, from those before it alone.

    A message costs the same at any length of the conversation. Not thread-safe.

    Only a user's message begins a segment, and a system message with a marker. Where the
    caller names a task (``Message.task``), one begins with that message whoever wrote it;
    on a tool's message, or an assistant's while results are due, the mark waits for the next
    that may part. A user's message between a call and its result parts them by a marker alone.
    """

    def __init__(self, *, only_users: bool = True, read: Read = signals) -> None:
        """Start before the first message.

        Args:
            only_users: whether a shift of topic counts with users' messages alone, as in
                talks with an assistant; else with anybody's, as in chats among equals.
            read: returns the signals of a message; a cache of them can stand here.
        """
        self.ended = False
        """Whether the task before the newest boundary is done."""
        self._roles = {"user"} if only_users else {"user", "assistant"}
        self._cohesion = Cohesion()
        self._links = TaskLinks()
        self._progress = TaskProgress(read)
        self._due: dict[str, None] = {}  # ids of calls without results
        self._mark: str | None = None  # a task's title that waits
        self._begun = False  # whether anybody but the system spoke
        self._spoke = False  # whether one who can open a topic spoke in this segment
        self._asked = False  # whether a user spoke since the last strong boundary

    def add(self, message: Message, vector: Vector | None = None) -> Boundary | None:
        """Return the boundary before ``message``, the next one, or ``None``.

        Args:
            message: the next of the transcript.
            vector: its embedding, of unit length, where there is one.
        """
        return self.add_turn(message, turn_of(message, vector))

    def add_turn(
        self, message: Message, turn: TopicTurn | None, ahead: Sequence[TopicTurn] | None = None
    ) -> Boundary | None:
        """Add a message whose :func:`turn_of` is known already, and perhaps the turn after it.

        ``ahead`` is that turn, or nothing where none follows; ``None`` where it is unknown.
        """
        boundary = self._explicit(message)
        if boundary is None and turn is not None and not self._due:
            boundary = self._completion(message) or self._topic(message, turn, ahead)
        self.ended = boundary is not None and (boundary.strong or self.completed)
        self._take(message, turn, boundary)
        return boundary

    @property
    def completed(self) -> bool:
        """Whether the task of the current segment was said to be complete, a moment ago."""
        done = self._progress.done()
        return done is not None and done < self._cohesion.age

    def _explicit(self, message: Message) -> Boundary | None:
        if message.task is not None:
            self._mark = message.task
        opens = message.role in {"user", "system"}
        if self._mark is not None and (opens or (message.role != "tool" and not self._due)):
            title, self._mark = self._mark or None, None
            return Boundary("explicit", strong=True, reasons=("the caller says so",), title=title)
        if opens and self._begun and self._progress.read(message).explicit:
            title = message.content.strip().partition("\n")[0].lstrip("#* ")[:LONGEST_TITLE]
            return Boundary("explicit", strong=True, reasons=("a marker says so",), title=title)
        return None

    def _completion(self, message: Message) -> Boundary | None:
        if message.role != "user" or not self._asked:
            return None
        said = self._progress.new_request(message)
        if said is None or self._links.why(message) is not None:
            return None
        how = "opens something new" if said.opening else "asks for something unrelated"
        reasons = ("the task before was said to be complete", f"the user {how}")
        return Boundary("completion", strong=True, reasons=reasons)

    def _topic(
        self, message: Message, turn: TopicTurn, ahead: Sequence[TopicTurn] | None
    ) -> Boundary | None:
        if message.role not in self._roles or not self._spoke:
            return None
        shift = self._cohesion.shift(turn, ahead)
        if shift is None:
            return None
        return Boundary("topic", strong=False, reasons=shift.reasons, probability=shift.probability)

    def _take(self, message: Message, turn: TopicTurn | None, boundary: Boundary | None) -> None:
        if boundary is not None:
            self._spoke = False
            if boundary.strong:
                self._asked = False
                self._links.clear()
                self._progress.clear()
        self._take_calls(message)
        self._begun |= message.role != "system"
        if message.role in {"user", "assistant"}:
            self._links.take(message, turn.words if turn else ())
            self._progress.take(message)
        if turn is not None:
            self._spoke |= message.role in self._roles
            self._asked |= message.role == "user"
            self._cohesion.take(turn, new=boundary is not None)

    def _take_calls(self, message: Message) -> None:
        if message.tool_result is not None:
            self._due.pop(message.tool_result.call_id, None)
        elif message.tool_calls:
            self._due.update((call.id, None) for call in message.tool_calls)
            for old in list(self._due)[:-WAITING]:
                del self._due[old]
        elif message.role == "assistant":
            self._due.clear()  # it speaks again, so it waits no longer


def segments(
    messages: Sequence[Message],
    vectors: Vectors | None = None,
    *,
    lookahead: bool = False,
    only_users: bool = True,
    read: Read = signals,
) -> list[Segment]:
    """Return the segments of a transcript, in order; together they are all of it.

    Args:
        messages: the transcript.
        vectors: float32 array of shape (messages, dimensions), rows of unit length, or none.
        lookahead: whether a shift of topic is judged with the turn after it as well, which
            a :class:`Segmenter` cannot. Strong boundaries are the same.
        only_users: as for :class:`Segmenter`, and so is ``read``.

    Raises:
        InvalidInput: there is not one vector for each message.
    """
    if vectors is not None and len(vectors) != len(messages):
        raise InvalidInput(
            f"{len(vectors)} vectors for {len(messages)} messages; give one for each, or none"
        )
    rows: Sequence[Vector | None] = [None] * len(messages) if vectors is None else list(vectors)
    turns = [turn_of(message, row) for message, row in zip(messages, rows, strict=True)]
    ahead = _followers(turns) if lookahead else [None] * len(turns)
    segmenter = Segmenter(only_users=only_users, read=read)
    found: list[Segment] = []
    start, began = 0, START
    for index, message in enumerate(messages):
        boundary = segmenter.add_turn(message, turns[index], ahead[index])
        if boundary is None:
            continue
        if index:
            found.append(Segment(start, index, began.title, segmenter.ended, began))
        start, began = index, boundary
    if messages:
        found.append(Segment(start, len(messages), began.title, segmenter.completed, began))
    return found


def turn_of(message: Message, vector: Vector | None = None) -> TopicTurn | None:
    """Return what a message adds to the talk; ``None`` if nobody says anything in it."""
    if message.role not in {"user", "assistant"} or not message.content.strip():
        return None
    return TopicTurn.of(message.content, message.timestamp, vector)


def _followers(turns: Sequence[TopicTurn | None]) -> list[Sequence[TopicTurn] | None]:
    found: list[Sequence[TopicTurn] | None] = []
    after: Sequence[TopicTurn] = ()
    for turn in reversed(turns):
        found.append(after)
        after = after if turn is None else (turn,)
    return found[::-1]
