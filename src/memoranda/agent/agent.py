"""Agent: a language model that has a conversation, a memory, notes, and tools to use them."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event as Flag
from typing import Any, cast

from memoranda.agent.answers import MemoryAnswerer, tell_learned
from memoranda.agent.commands import END, NEW
from memoranda.agent.files import read_files
from memoranda.conversation.conversation import Conversation
from memoranda.conversation.pruning import ContextUsage
from memoranda.errors import ConfigError, InvalidInput, LLMError
from memoranda.memory import Memory, agent_tools, scope_of, services_of
from memoranda.model.chat import ChatModel, ChatReply, OnText, ToolSpec
from memoranda.model.checks import clean, named, require_attributes
from memoranda.model.events import Event
from memoranda.model.models import (
    Context,
    ContextReceipt,
    Hit,
    Image,
    Message,
    Pruning,
    ToolCall,
    ToolResult,
)
from memoranda.model.reports import RequestOutcome, RequestReceipt
from memoranda.model.usage import NO_USAGE, StageUsage, Usage
from memoranda.providers.opening import open_language_model
from memoranda.settings.parsing import names
from memoranda.text.patterns import compile_pattern
from memoranda.text.recalled import NO_ANSWER
from memoranda.tools import Tool, ToolList
from memoranda.tools.tool import show_result

log = logging.getLogger("memoranda.agent")

STAGE = "chat"
WAITS = "Not consolidated yet: the last messages are kept as they were, the rest is done later."
STUCK = "I could not finish this within {steps} steps."
SILENT = "The model gave no answer. What you said is stored; say it again, or in other words."
CUT_OFF = "(The model's limit of tokens cut this off.)"
PATIENCE = 0.1  # seconds until it is seen that an answer was stopped


class AnswerStopped(LLMError):
    """The person did not want to hear the rest."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of an agent; as text, its words.

    Attributes:
        text: what it says.
        sources: the records that were recalled for it, best first.
        tools: names of the tools that were called for it, in order.
        receipt: what the model was sent in its last call; ``None`` without a call.
        usage: what the model took; nothing without one.
        command: the command that was obeyed, such as ``/new``; ``None`` for a talk.
        requests: what the message asked to remember, and what became of it.
        prunings: the receipts of what left the view meanwhile.
        usage_warning: how full the window is, where it has just become nearly full.
    """

    text: str
    sources: tuple[Hit, ...] = ()
    tools: tuple[str, ...] = ()
    receipt: ContextReceipt | None = None
    usage: Usage = NO_USAGE
    command: str | None = None
    requests: tuple[RequestReceipt, ...] = ()
    prunings: tuple[Pruning, ...] = ()
    usage_warning: ContextUsage | None = None

    def __str__(self) -> str:
        """The words."""
        return self.text


class Agent:
    """A reference agent: it stores every message, and sends what memory recalls with every prompt.

    Each call of the model gets the system prompt, MEMORY.md, what memory recalls for what was
    said, the weekly insight, and the view of the conversation; it may call the memory's tools.
    Without a model it answers from recall alone.

    Args:
        memory: the memory it has; it stays open when the agent is done.
        session: name of its conversation. ``/new`` ends it and goes on in the next: ``chat``,
            ``chat-2``, …. Who comes back finds the one that was not ended.
        system: its system prompt; the setting ``agent.system``, if not given.
        llm: a model that talks, or the name of one; that of the memory, if not given.
        tools: more tools for the model, beside those of the memory.
        upkeep: whether this process keeps the store up while the memory is open:
            ``Memory.run_upkeep``.
        listener: called with each message that is added, as an event.

    Raises:
        InvalidInput: an argument cannot be used.
        ConfigError, MissingExtra: the model that is named cannot be used.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        session: str = "chat",
        system: str | None = None,
        llm: ChatModel | str | None = None,
        tools: Iterable[Tool] = (),
        upkeep: bool = False,
        listener: Callable[[Event], None] | None = None,
    ) -> None:
        """Open the conversation; nothing is asked yet."""
        self.memory = memory
        self._listener = listener
        self._services, self._scope = services_of(memory), scope_of(memory)
        self._name = clean(session, "session")
        self._system = named(system, "system") or memory.settings.agent.system
        self._model = talking_model(memory, llm)
        own = _chosen_tools(agent_tools(memory, lambda: self._chat.id).tools(), memory)
        # Of two with one name the caller's.
        self._tools = ToolList({tool.name: tool for tool in (*own, *tools)}.values())
        # Some providers want the tools described as long as there are calls among the messages.
        self._specs = [
            ToolSpec(tool.name, tool.description, tool.parameters) for tool in self._tools
        ]
        # MEMORY.md is to be there, and in step: it is part of every call.
        memory.notes.context_text(make=True)
        self._events: list[Event] = []
        self._stopped = Flag()
        self._begin()
        if upkeep:
            self._services.hold_paid_work()
            memory.run_upkeep()

    @property
    def chat(self) -> Conversation:
        """The conversation it is in."""
        return self._chat

    @property
    def model(self) -> str | None:
        """The name of the language model, ``None`` without one."""
        return None if self._model is None else self._model.name

    def process(
        self, text: str, *, files: Iterable[str | Path | Image] = (), on_text: OnText | None = None
    ) -> Answer:
        """Answer a message of the user.

        ``/new`` consolidates the conversation, waits for that, and starts the next one; ``/end``
        does it without a next one. Whenever ``agent.memory_window`` messages were not consolidated
        yet, all but the newest are; they stay in view. What the user said is stored before
        anything is asked of a model.

        Args:
            text: what the user says.
            files: what they send with it: pictures, and paths of pictures, of PDFs and of texts in
                UTF-8.
            on_text: called with each piece of the answer as it comes.

        Raises:
            InvalidInput: there is no text, or a file cannot be sent.
            SpendLimitReached: the session has cost ``agent.spend_limit``.
            AnswerStopped: :meth:`stop` was called.
            LLMError: the model failed; what was said is stored, and can be said again.
        """
        self._stopped.clear()
        said = clean(text, "text")
        if said.strip() in {NEW, END}:
            return self.new() if said.strip() == NEW else self.end()
        if self._ended:
            self._begin()
        texts, images = read_files(files)
        said = "\n\n".join([said, *texts])
        self._events.clear()
        self._chat.add("user", said, images=images)
        self.memory.notes.context_text(make=True)
        self._consolidate_old()
        if self._model is None:
            answer = self._recall_answer(on_text)
        else:
            answer = self._ask_until_answered(self._model, said, on_text)
        return replace(
            answer,
            requests=answer.requests or tuple(self._happened("request")),
            prunings=tuple(self._happened("pruned")),
            usage_warning=next(reversed(self._happened("approaching_limit")), None),
        )

    def stop(self) -> None:
        """End the answer that is under way; what was said is kept. Another thread may call it."""
        self._stopped.set()

    def new(self) -> Answer:
        """End the conversation and begin the next: what ``/new`` does (requirement S2.25).

        Waits until it was consolidated, or ``consolidation.timeout`` seconds; then the history
        gets its last messages as they were, and the rest is done later. What was cleared from
        view is consolidated, too.
        """
        ended = self.end()
        self._begin()
        return replace(ended, command=NEW)

    def end(self) -> Answer:
        """End the conversation as :meth:`new` does, and begin no other until something is said."""
        ended = self._chat.id
        if self._chat.stats().total_messages:
            self._chat.end()
            if not self.memory.settings.consolidation.automatic:
                self._services.consolidate_session(self._scope, ended)
        info = self._services.store.sessions(self._scope, id=ended).get(ended)
        self._ended = True
        learned = tell_learned(self.memory, ended)
        text = f"Session ended; learned: {learned}." if learned else "Session ended."
        waits = info is not None and info.consolidated_at is None
        return Answer(f"{text} {WAITS}" if waits else text, command=END)

    def undo(self) -> Message:
        """Take back the last message of the user with all that was answered to it; return it.

        What memory kept because of it alone is forgotten. What it corrected or forgot stays so.

        Raises:
            InvalidInput: there is none in this conversation.
        """
        for back, message in enumerate(reversed(self._chat.messages), 1):
            if message.role == "user":
                kept = self._services.store.learned_from(self._scope, [message.record_id or ""])
                self._chat.pop(back)
                records = self._services.records(self._scope)
                # With a correction what it corrected would go.
                records.forget([each for each in kept if not records.existing(each).supersedes])
                return message
        raise InvalidInput("nothing was said in this conversation yet")

    def use_model(self, model: ChatModel | str) -> None:
        """Let another model answer from now on; it is given, or named.

        Raises:
            ConfigError, MissingExtra: the model that is named cannot be used.
        """
        self._model = talking_model(self.memory, model)
        self._chat = self._open()

    def context(self, text: str | None = None) -> Context:
        """Return what the model would be sent for the user's message ``text``."""
        return self._chat.context(text, beside=self._beside())

    # Parts of an answer

    def _ask_until_answered(self, model: ChatModel, said: str, on_text: OnText | None) -> Answer:
        """Ask the model, do what it calls for, and ask again until it has an answer."""
        steps = self.memory.settings.agent.max_steps
        called: list[str] = []
        contexts = [self.context(said)]
        reply = self._ask(model, contexts[0], on_text)
        usage = reply.usage
        while reply.tool_calls and len(contexts) <= steps:
            self._chat.add("assistant", reply.text, tool_calls=reply.tool_calls)
            called += [self._call_tool(call) for call in reply.tool_calls]
            contexts.append(self.context())
            reply = self._ask(model, contexts[-1], on_text)
            usage += reply.usage
        # What it calls for after the last step is not done any more.
        silent = STUCK.format(steps=steps) if reply.tool_calls else SILENT
        words = reply.text if reply.text.strip() else silent
        if words is reply.text and not reply.complete:
            words = f"{words}\n\n{CUT_OFF}"
            if on_text is not None:
                on_text(words.removeprefix(reply.text))
        self._chat.add("assistant", NO_ANSWER if words is SILENT else words)
        return Answer(
            words,
            sources=contexts[0].recall.hits,
            tools=tuple(called),
            receipt=contexts[-1].receipt,
            usage=usage,
        )

    def _ask(self, model: ChatModel, context: Context, on_text: OnText | None) -> ChatReply:
        """Return the model's reply; what it took is counted, and teaches the next estimate."""
        try:
            self._meter.require()
            asked = model.chat(context.messages, tools=self._specs, on_text=on_text)
            reply = self._services.models.wait(self._unless_stopped(asked))
        except LLMError as error:
            self._spend(model, error.usage or Usage(requests=1, failures=1))
            # Or a message that the provider refuses would be part of every later request.
            self._chat.add("assistant", NO_ANSWER)
            raise
        self._spend(model, reply.usage)
        if reply.usage.requests == 1 and reply.usage.input_tokens:
            self._chat.calibrate(reply.usage.input_tokens)
        return reply

    async def _unless_stopped(self, asked: Coroutine[Any, Any, ChatReply]) -> ChatReply:
        """Return the reply that was asked for, which :meth:`stop` ends."""
        reply = asyncio.ensure_future(asked)
        try:
            while not reply.done():
                await asyncio.wait([reply], timeout=PATIENCE)
                if self._stopped.is_set():
                    raise AnswerStopped("the answer was stopped", Usage(requests=1))
            return reply.result()
        finally:
            reply.cancel()

    def spending(self) -> list[StageUsage]:
        """Return what models took since the session began here, by stage: ``chat``, and others."""
        return self._meter.read()

    def _spend(self, model: ChatModel, usage: Usage) -> None:
        with self._services.store.write(self._scope) as tx:
            tx.add_usage(STAGE, model.name, usage)

    def _call_tool(self, call: ToolCall) -> str:
        """Do what the model calls for; a tool that fails says so, and it may go on without it."""
        try:
            result = self._tools.find(call.name).call(call.arguments)
        except InvalidInput as error:
            result = f"Error: {error}"
        except Exception as error:
            log.exception("the tool %s failed", call.name)
            result = f"Error: {call.name} failed: {error}"
        answered = ToolResult(call.id, is_error=result.startswith("Error:"))
        self._chat.add("tool", show_result(result), tool_result=answered)
        return call.name

    def _recall_answer(self, on_text: OnText | None) -> Answer:
        """Answer from memory alone; no search finds the answer, as it tells nothing new."""
        said, asked = self._chat.recent(1)[-1], self._happened("request")
        text, sources, requests = self._answerer.answer(self._chat.id, said, asked)
        if on_text is not None:
            on_text(text)
        stored = self._chat.add("assistant", text)
        if stored.record_id is not None:
            self.memory.forget(stored.record_id)
        return Answer(text, sources=sources, requests=tuple(requests))

    # Sessions

    def _begin(self) -> None:
        """Open the conversation that goes on, or the next one."""
        self._ended, self._read_through = False, -1
        self._answerer = MemoryAnswerer(self.memory)
        self._chat = self._open()
        limit = self.memory.settings.agent.spend_limit
        self._meter = self._services.models.start_meter(self._scope, limit)

    def _open(self) -> Conversation:
        name = self.model or ""
        opened = self.memory.conversation(
            self._present(),
            system=self._system,
            # The model's own name, by which its tokens are counted.
            model=name.partition(":")[2].partition("@")[0] or self.model,
        )
        opened.count_tools(self._specs if name else ())
        for event in ("request", "pruned", "approaching_limit"):
            opened.on(event, self._events.append)
        if self._listener is not None:
            opened.on("added", self._listener)
        return opened

    def _happened(self, event: str) -> list[Any]:
        """Return the subjects of the events of one kind since something was said."""
        return [each.subject for each in self._events if each.name == event]

    def _present(self) -> str:
        """Return the id of the current conversation: the newest of its name, or the next.

        It is ``chat``, or ``chat-2`` once that has ended. That stands in the store alone, so an
        exit, a crash or another process change nothing about it.
        """
        numbered = compile_pattern(rf"{re.escape(self._name)}(?:-(\d{{1,9}}))?")
        found = {
            int(match[1] or 1): info.ended_at
            for info in self.memory.conversations()
            if (match := numbered.fullmatch(info.id))
        }
        last = max(found, default=1)
        number = last + (found.get(last) is not None)
        return self._name if number == 1 else f"{self._name}-{number}"

    def _beside(self) -> str:
        """Return the date, as what is remembered is full of dates, and what was kept just now."""
        now = self._services.clock.now().astimezone(self.memory.settings.zone)
        asked: list[RequestReceipt] = self._happened("request")
        done = [each.content for each in asked if each.outcome is RequestOutcome.REMEMBERED]
        kept = f" Already kept, as the user asked: {'; '.join(done)}" if any(done) else ""
        return f"Today is {now:%A}, {now.day} {now:%B %Y}.{kept}"

    def _consolidate_old(self) -> None:
        """Consolidate all but the newest messages, where many were never read (S2.26, S2.27).

        They stay in view: what leaves it is decided by the budget alone.
        """
        settings = self.memory.settings
        window = settings.agent.memory_window
        before = self._chat.recent(window + 1)[:-1]
        info = self._services.store.sessions(self._scope, id=self._chat.id).get(self._chat.id)
        read = max(self._read_through, info.through if info else -1)
        if len(before) < window or (before[0].position or 0) <= read:
            return
        cutoff = window - min(settings.conversation.keep_recent, window - 1)
        # Where it takes too long it goes on in the background, and is not asked for again.
        self._read_through = before[cutoff - 1].position or 0
        self._services.consolidate_session(self._scope, self._chat.id, until=self._read_through)


def _chosen_tools(own: ToolList[Tool], memory: Memory) -> Iterable[Tool]:
    """Return the tools of memory that the setting ``agent.tools`` names.

    Raises:
        ConfigError: it names one that there is not.
    """
    wanted = set(names(memory.settings.agent.tools)) - {"none"}
    known = [tool.name for tool in own]
    if unknown := wanted - {"all", *known}:
        raise ConfigError(f"agent.tools: {min(unknown)!r} is unknown; there are {', '.join(known)}")
    return (tool for tool in own if "all" in wanted or tool.name in wanted)


def talking_model(memory: Memory, llm: ChatModel | str | None = None) -> ChatModel | None:
    """Return the model that talks, if there is one; that of the memory may only answer questions.

    Args:
        memory: its settings have key and limits of a model that is named.
        llm: a model, or the name of one; that of the memory, if not given.

    Raises:
        ConfigError, MissingExtra: the model that is named cannot be used.
        InvalidInput: what was given cannot talk.
    """
    if llm is None:
        own = services_of(memory).models.model
        return cast("ChatModel", own) if hasattr(own, "chat") else None
    model: object = open_language_model(memory.settings.llm, llm) if isinstance(llm, str) else llm
    require_attributes(model, "llm", "chat")
    return cast("ChatModel", model)
