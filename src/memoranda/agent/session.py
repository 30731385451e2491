"""One chat of a person with an agent: text goes in, events come out, and a face draws them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from types import MappingProxyType
from typing import Any

from memoranda.agent.agent import Agent, Answer, AnswerStopped
from memoranda.agent.commands import (
    END,
    YES,
    describe_command,
    find_command,
    run_command,
    split_command,
)
from memoranda.agent.files import read_files
from memoranda.errors import InvalidInput, MemorandaError
from memoranda.memory import Memory, services_of
from memoranda.model.chat import OnText
from memoranda.model.events import Event
from memoranda.model.models import Hit, Message
from memoranda.model.reports import RequestOutcome
from memoranda.model.usage import StageUsage
from memoranda.providers.llm.available import complete_name, find_models
from memoranda.search.recall import find_near_best

# Seconds that a wait lasts at once: a signal just before one is seen when it ends.
PATIENCE = 1.0
INTERRUPT = object()
# What /undo does not bring back.
FINAL = {RequestOutcome.FORGOTTEN, RequestOutcome.CORRECTED, RequestOutcome.ENDED}
STAYS = "; what memory forgot or corrected for it stays so"


class ChatEvent:
    """Something that came of what a person sent."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class WorkStarted(ChatEvent):
    """The agent works; ``ending`` where it makes memory of the session, else on an answer."""

    ending: bool


@dataclass(frozen=True, slots=True)
class TextPiece(ChatEvent):
    """The next piece of an answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolUsed(ChatEvent):
    """The message of the transcript by which the model calls tools, or which one of them gave."""

    message: Message


@dataclass(frozen=True, slots=True)
class AnswerFinished(ChatEvent):
    """The answer as a whole, and what the session took of models so far, by stage."""

    answer: Answer
    spending: Sequence[StageUsage]


@dataclass(frozen=True, slots=True)
class Notice(ChatEvent):
    """A line that nobody said."""

    text: str


@dataclass(frozen=True, slots=True)
class ConversationChanged(Notice):
    """Another conversation goes on, or less of this one is there: it is to be shown anew."""


@dataclass(frozen=True, slots=True)
class ChatEnded(Notice):
    """The person leaves: the session has ended, or stays."""


@dataclass(frozen=True, slots=True)
class RequestFailed(ChatEvent):
    """What was asked for was not done."""

    error: Exception


@dataclass(frozen=True, slots=True)
class Question(ChatEvent):
    """Something asks first: who says yes sends ``yes`` in its place."""

    text: str
    yes: str


@dataclass(frozen=True, slots=True)
class SearchResults(ChatEvent):
    """What a search found."""

    hits: Sequence[Hit]


@dataclass(frozen=True, slots=True)
class CostReport(ChatEvent):
    """What the session took of models, by stage."""

    spending: Sequence[StageUsage]


@dataclass(frozen=True, slots=True)
class ModelList(ChatEvent):
    """The models that can be used now, each with whose it is."""

    models: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class InterfaceCommand(ChatEvent):
    """A command that the face does itself, and what follows it."""

    name: str
    words: str


Events = Iterator[ChatEvent]


class ChatSession:
    """A person's chat with an agent, which is opened on a memory.

    Attributes:
        agent: the agent.
        meanings: the commands that there are, and what each does.
        changed: called whenever the conversation has another message.

    Args:
        memory: the memory of the agent.
        session: the conversation that goes on, or begins.
        own: commands that the face does itself, with what they do; they win over those here.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        session: str = "chat",
        own: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Open the agent; nothing is asked yet."""
        self.changed: Callable[[], object] = bool
        self._files: list[str] = []
        self._done: set[RequestOutcome] = set()
        self._events: SimpleQueue[Any] = SimpleQueue()
        self.agent = Agent(memory, session=session, upkeep=True, listener=self._hear)
        done = {name.replace("do_", "/"): getattr(self, name) for name in COMMANDS}
        self.meanings = {name: describe_command(each) for name, each in done.items()} | {**own}
        self._commands = {name: each for name, each in done.items() if name not in own}

    def send(self, text: str) -> Events:
        """Yield what comes of a text: an answer, or what a command does.

        The agent works in a thread of its own, and the thread that takes the events only waits.

        Raises:
            KeyboardInterrupt: :meth:`interrupt` was called twice.
        """
        try:
            found = split_command(text)
            if found is None:
                files, self._files = tuple(self._files), []
                yield from self._turn(
                    lambda hear: self.agent.process(text, files=files, on_text=hear)
                )
                return
            name = find_command(found[0], self.meanings)
            if name in self._commands:
                yield from run_command(name, self._commands[name], found[1])
            else:
                yield InterfaceCommand(name, found[1])
        except AnswerStopped:
            yield Notice("stopped; what you said is kept")
        except (MemorandaError, OSError) as error:
            yield RequestFailed(error)

    def stop(self) -> None:
        """End the answer that is under way."""
        self.agent.stop()

    def interrupt(self) -> None:
        """Stop what is under way, and leave it the second time; a handler of signals may call it.

        What makes memory of a session is not stopped: it is said that it goes on.
        """
        self._events.put(INTERRUPT)

    def pending_sessions(self) -> int:
        """Return how many earlier sessions wait to be read by a model that costs money."""
        if not services_of(self.agent.memory).holds_paid_work:
            return 0
        pending = self.agent.memory.sessions(pending=True)
        return sum(each.id != self.agent.chat.id for each in pending)

    # Turns

    def _turn(self, work: Callable[[OnText | None], Answer], *, ending: bool = False) -> Events:
        """Have something done in a thread of its own; yield its events as they come."""
        yield WorkStarted(ending)
        events = self._events = SimpleQueue[Any]()
        # Without a model all words come at once, with the answer.
        hear = None if self.agent.model is None else events.put

        def act() -> None:
            try:
                events.put(work(hear))
            except BaseException as error:  # noqa: BLE001 - the thread that waits raises it
                events.put(error)

        Thread(target=act, name="memoranda-chat", daemon=True).start()
        stopping = False
        while not isinstance(event := _next(events), Answer | BaseException):
            if event is INTERRUPT:
                if stopping:
                    # What is under way is left as it is, and a warning would only say so.
                    warnings.filterwarnings("ignore", "coroutine .* was never awaited")
                    raise KeyboardInterrupt
                stopping = True
                self.stop()
                if ending:
                    yield Notice("it goes on; Ctrl+C again leaves, and what is left is read later")
            elif not stopping:
                yield from _shown(event)
        if isinstance(event, BaseException):
            raise event
        yield self._finished(event)

    def _hear(self, event: Event) -> None:
        self._events.put(event)
        self.changed()

    def _finished(self, answer: Answer) -> ChatEvent:
        self._done = {each.outcome for each in answer.requests}
        if answer.command is None:
            return AnswerFinished(answer, self.agent.spending())
        ended = ChatEnded if answer.command == END else ConversationChanged
        return ended(answer.text)

    # Commands: ``do_new`` does /new, and its docstring describes it

    def do_new(self) -> Events:
        """End this session: it becomes memory, and the next one begins."""
        return self._turn(lambda _: self.agent.new(), ending=True)

    def do_end(self) -> Events:
        """End this session as /new does, and leave."""
        return self._turn(lambda _: self.agent.end(), ending=True)

    def do_exit(self) -> Events:
        """Leave; the session stays."""
        yield ChatEnded("the session stays")

    def do_clear(self, words: str = "") -> Events:
        """Take what was said here out of view; it stays in memory."""
        if words == YES:
            self.agent.chat.clear()
            yield ConversationChanged("Cleared; /search finds it, or ask what you said before.")
        else:
            question = "Clear conversation history? It leaves the view; /search finds it."
            yield Question(question, f"/clear {YES}")

    def do_undo(self) -> Events:
        """Take back your last message and its answer."""
        last = self.agent.undo()
        stays = STAYS if self._done & FINAL else ""
        self._done = set()
        yield ConversationChanged(f"Taken back, with its answer: {last.content:.200}{stays}")

    def do_edit(self, words: str = "") -> Events:
        """Ask your last message again; with WORDS, in these."""
        last = self.agent.undo()
        said = words or last.content
        yield ConversationChanged(f"asked again: {said:.200}")
        yield from self._turn(
            lambda hear: self.agent.process(said, files=last.images, on_text=hear)
        )

    def do_attach(self, words: str) -> Events:
        """Send a picture, a PDF or a text file with your next message: /attach PATH."""
        read_files([words])  # What cannot be sent is refused at once.
        self._files.append(words)
        unread = "" if self.agent.model else "; memory alone keeps it, but does not read it"
        yield Notice(f"{Path(words).name} goes with your next message{unread}")

    def do_model(self, words: str = "") -> Events:
        """List the models that can be used now; with NAME, or a part of it, let that one answer."""
        if not words:
            yield ModelList(find_models())
        else:
            self.agent.use_model(complete_name(words))
        known = self.agent.model is None or self.agent.chat.stats().limit_known
        hint = "" if known else "; its context window is not known: set tokens.limits"
        yield Notice(f"{self.agent.model or 'memory alone'} answers now{hint}")

    def do_search(self, words: str) -> Events:
        """Search memory: /search WORDS."""
        yield SearchResults(find_near_best(self.agent.memory.search(words, limit=5)))

    def do_prune(self, words: str = "") -> Events:
        """Take older messages out of view now; with TOKENS, down to so many."""
        if words and not words.isdecimal():
            raise InvalidInput(f"/prune takes a number of tokens, got {words!r:.80}")
        receipt = self.agent.chat.prune(int(words) if words else None)
        gone = receipt.messages if receipt else 0
        yield Notice(f"{gone:,} message{'s' * (gone != 1)} left the view; /search still finds all")

    def do_cost(self) -> Events:
        """Show what this session took of models, and what it cost."""
        yield CostReport(self.agent.spending())


def _shown(event: str | Event) -> Events:
    """Yield the event of a piece of an answer, or of a message with or of a tool."""
    if isinstance(event, str):
        yield TextPiece(event)
        return
    message: Message = event.subject
    if message.tool_calls and message.content:
        yield TextPiece("\n\n")  # What is said after the call is a paragraph of its own.
    if message.tool_calls or message.role == "tool":
        yield ToolUsed(message)


def _next(events: SimpleQueue[Any]) -> Any:
    """Return the next event, and never wait for long: a signal just before a wait ends none."""
    while True:
        with suppress(Empty):
            return events.get(timeout=PATIENCE)


COMMANDS = [name for name in vars(ChatSession) if name.startswith("do_")]
