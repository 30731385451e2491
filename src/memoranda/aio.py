"""The asynchronous interfaces: the same verbs, each run in a worker thread.

No logic is here. What a verb does, takes and raises stands in :class:`memoranda.Memory` and
:class:`memoranda.Conversation`, whose signatures and docstrings the verbs carry.
"""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Callable, Coroutine
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, Unpack

from memoranda.conversation.conversation import Conversation
from memoranda.conversation.conversation_store import ConversationStore
from memoranda.conversation.pruning import ConversationOptions, ConversationSession
from memoranda.memory import Memory
from memoranda.model.clock import Clock
from memoranda.model.events import Callback
from memoranda.model.models import Message, Pruning, Tombstone
from memoranda.model.ports import Embedder, LanguageModel
from memoranda.notes.sync import SyncedNotes
from memoranda.settings.settings import Settings
from memoranda.tools import AsyncTool, ToolList

P = ParamSpec("P")
T = TypeVar("T")
Verb = Callable[Concatenate[Any, P], T]
AwaitedVerb = Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]


def in_thread(verb: Verb[P, T]) -> AwaitedVerb[P, T]:
    """Return ``verb`` as a method to be awaited: it runs in a worker thread."""

    @wraps(verb)
    async def awaited(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await to_thread(verb, self._face, *args, **kwargs)

    return awaited


class AsyncNotes:
    """The notes of a memory for code that must not block; see ``Memory.notes``."""

    def __init__(self, notes: SyncedNotes) -> None:
        """Wrap ``notes``; both may be used."""
        self._face = notes

    @property
    def folder(self) -> Path:
        """Where the files are."""
        return self._face.folder

    @property
    def max_memory_size(self) -> int:
        """The bytes beyond which MEMORY.md is to be made smaller."""
        return self._face.max_memory_size

    read_memory = in_thread(SyncedNotes.read_memory)
    write_memory = in_thread(SyncedNotes.write_memory)
    is_over = in_thread(SyncedNotes.is_over)
    append_history = in_thread(SyncedNotes.append_history)
    append_history_rotated = in_thread(SyncedNotes.append_history_rotated)
    search = in_thread(SyncedNotes.search)
    history = in_thread(SyncedNotes.history)
    sync = in_thread(SyncedNotes.sync)


class AsyncConversation:
    """A :class:`memoranda.Conversation` for code that must not block."""

    def __init__(self, conversation: Conversation) -> None:
        """Wrap ``conversation``; both may be used."""
        self._face = conversation

    @classmethod
    async def open(
        cls,
        path: str | Path,
        *,
        settings: Settings | None = None,
        **options: Unpack[ConversationOptions],
    ) -> Self:
        """Open the conversation that lives in the session file ``path``, or start it."""
        return cls(await to_thread(Conversation.open, path, settings=settings, **options))

    @property
    def id(self) -> str:
        """The name under which it is stored."""
        return self._face.id

    @property
    def system(self) -> str | None:
        """The system prompt."""
        return self._face.system

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages since the last :meth:`clear`, in order."""
        return self._face.messages

    @property
    def session(self) -> ConversationSession:
        """The current session: its messages, and the recap of the one before."""
        return self._face.session

    @property
    def tombstones(self) -> tuple[Tombstone, ...]:
        """What is left of removed messages, oldest first: how many they were, and when."""
        return self._face.tombstones

    @property
    def prunings(self) -> tuple[Pruning, ...]:
        """The receipts of all prunings, oldest first: what went, when and why."""
        return self._face.prunings

    def on(self, event: str, callback: Callback) -> None:
        """Call ``callback`` after each ``event`` of :meth:`memoranda.Conversation.on`."""
        self._face.on(event, callback)

    async def length(self) -> int:
        """Return how many messages there are since the last clear; ``len()`` cannot wait."""
        return await to_thread(len, self._face)

    add = in_thread(Conversation.add)
    extend = in_thread(Conversation.extend)
    pop = in_thread(Conversation.pop)
    remove = in_thread(Conversation.remove)
    replace = in_thread(Conversation.replace)
    recent = in_thread(Conversation.recent)
    by_role = in_thread(Conversation.by_role)
    window = in_thread(Conversation.window)
    dump = in_thread(Conversation.dump)
    view = in_thread(Conversation.view)
    context = in_thread(Conversation.context)
    calibrate = in_thread(Conversation.calibrate)
    stats = in_thread(Conversation.stats)
    explain = in_thread(Conversation.explain)
    pin = in_thread(Conversation.pin)
    prune = in_thread(Conversation.prune)
    start_session = in_thread(Conversation.start_session)
    expand = in_thread(Conversation.expand)
    recount = in_thread(Conversation.recount)
    clear = in_thread(Conversation.clear)
    end = in_thread(Conversation.end)


class AsyncMemory:
    """A :class:`memoranda.Memory` for code that must not block; it takes the same arguments."""

    def __init__(
        self,
        location: str | Path | None = None,
        *,
        user: str = "default",
        agent: str | None = None,
        settings: Settings | None = None,
        embedder: Embedder | None = None,
        llm: LanguageModel | str | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Open the store, making it if it is not there. Loads no model yet."""
        self._face = Memory(
            location,
            user=user,
            agent=agent,
            settings=settings,
            embedder=embedder,
            llm=llm,
            clock=clock,
        )

    async def __aenter__(self) -> Self:
        """Return the memory itself."""
        return self

    async def __aexit__(self, *error: object) -> None:
        """Close the memory."""
        await self.close()

    def as_user(self, user: str, *, agent: str | None = None) -> AsyncMemory:
        """Return the memory of another user in the same store, sharing all its parts."""
        other = object.__new__(AsyncMemory)
        other._face = self._face.as_user(user, agent=agent)
        return other

    @property
    def user(self) -> str:
        """Whose memory this is."""
        return self._face.user

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._face.settings

    @property
    def stored_conversations(self) -> ConversationStore:
        """The stored conversations; its verbs wait for the store, so call them in a thread."""
        return self._face.stored_conversations

    @property
    def notes(self) -> AsyncNotes:
        """The Markdown notes that a person can read and edit: MEMORY.md and the history."""
        return AsyncNotes(self._face.notes)

    def on(self, event: str, callback: Callback) -> None:
        """Call ``callback`` after each ``event``: remembered, corrected or forgotten."""
        self._face.on(event, callback)

    @wraps(Memory.conversation)
    async def conversation(self, *args: Any, **kwargs: Any) -> AsyncConversation:
        """Open a conversation, or start it."""
        return AsyncConversation(await to_thread(self._face.conversation, *args, **kwargs))

    def tools(self) -> ToolList[AsyncTool]:
        """Return the tools by which an agent uses this memory, to be awaited."""
        return ToolList(map(AsyncTool.over, self._face.tools()))

    def consolidator_tools(self) -> list[AsyncTool]:
        """Return the tools by which an agent of your own consolidates."""
        return list(map(AsyncTool.over, self._face.consolidator_tools()))

    close = in_thread(Memory.close)
    users = in_thread(Memory.users)
    remember = in_thread(Memory.remember)
    remember_many = in_thread(Memory.remember_many)
    correct = in_thread(Memory.correct)
    confirm = in_thread(Memory.confirm)
    update = in_thread(Memory.update)
    forget = in_thread(Memory.forget)
    set_context = in_thread(Memory.set_context)
    get_context = in_thread(Memory.get_context)
    search = in_thread(Memory.search)
    recall = in_thread(Memory.recall)
    get = in_thread(Memory.get)
    namespaces = in_thread(Memory.namespaces)
    records = in_thread(Memory.records)
    count = in_thread(Memory.count)
    history = in_thread(Memory.history)
    entity = in_thread(Memory.entity)
    entities = in_thread(Memory.entities)
    merge_entities = in_thread(Memory.merge_entities)
    split_entity = in_thread(Memory.split_entity)
    conversations = in_thread(Memory.conversations)
    sessions = in_thread(Memory.sessions)
    usage = in_thread(Memory.usage)
    consolidate = in_thread(Memory.consolidate)
    expire = in_thread(Memory.expire)
    decay = in_thread(Memory.decay)
    enrich = in_thread(Memory.enrich)
    reflect = in_thread(Memory.reflect)
    maintain = in_thread(Memory.maintain)
    schedule = in_thread(Memory.schedule)
    audit = in_thread(Memory.audit)
    stats = in_thread(Memory.stats)
    verify = in_thread(Memory.verify)
    rebuild = in_thread(Memory.rebuild)
    purge = in_thread(Memory.purge)
    embed_pending = in_thread(Memory.embed_pending)
    reembed = in_thread(Memory.reembed)
    export = in_thread(Memory.export)
    import_ = in_thread(Memory.import_)
    backup = in_thread(Memory.backup)
