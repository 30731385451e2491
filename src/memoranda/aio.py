"""The asynchronous interfaces: the same verbs, each run in a worker thread.

No logic is here. What a verb does, takes and raises stands in :class:`memoranda.Memory` and
:class:`memoranda.Conversation`, whose signatures and docstrings the verbs carry.
"""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Callable, Coroutine, Iterable
from functools import partial, wraps
from pathlib import Path
from threading import RLock
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, Unpack, cast

from memoranda.conversation.conversation import Conversation
from memoranda.errors import StoreClosed
from memoranda.maintenance.users import Admin
from memoranda.memory import Memory, share
from memoranda.model.checks import list_arguments
from memoranda.model.events import Callback
from memoranda.model.models import UNSET, Unset
from memoranda.model.ports import ConversationOptions
from memoranda.notes.sync import SyncedNotes
from memoranda.records.files import Files
from memoranda.settings.settings import Settings
from memoranda.tools import AsyncTool, ToolList

P = ParamSpec("P")
T = TypeVar("T")
Verb = Callable[Concatenate[Any, P], T]
AwaitedVerb = Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]


def in_thread(verb: Verb[P, T]) -> AwaitedVerb[P, T]:
    """Return ``verb``, or a property, as a method to be awaited: it runs in a worker thread."""
    call: Verb[P, T] = getattr(verb, "fget", verb)

    @wraps(call)
    async def awaited(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await to_thread(lambda: call(self._opened(), *args, **kwargs))

    return awaited


def like(verb: Verb[P, T]) -> Callable[[Callable[..., Any]], Verb[P, T]]:
    """Return a decorator that gives a method the signature of ``verb``."""
    return cast("Callable[[Callable[..., Any]], Verb[P, T]]", wraps(verb))


class _PartOfMemory:
    """A part of a memory; its verbs open what it wraps in a worker thread."""

    def __init__(self, opened: Callable[[], Any]) -> None:
        """Open nothing yet: the first verb does."""
        self._opened = opened


class AsyncNotes(_PartOfMemory):
    """The notes of a memory for code that must not block; see ``Memory.notes``."""

    async def folder(self) -> Path:
        """Return where the files are."""
        return await to_thread(lambda: Path(self._opened().folder))

    read_memory = in_thread(SyncedNotes.read_memory)
    write_memory = in_thread(SyncedNotes.write_memory)
    is_over = in_thread(SyncedNotes.is_over)
    append_history = in_thread(SyncedNotes.append_history)
    append_history_rotated = in_thread(SyncedNotes.append_history_rotated)
    search = in_thread(SyncedNotes.search)
    history = in_thread(SyncedNotes.history)
    sync = in_thread(SyncedNotes.sync)


class AsyncFiles(_PartOfMemory):
    """Versioned text files for code that must not block; see ``Memory.files``."""

    async def run(self, steps: Callable[[Files], T]) -> T:
        """Return what ``steps`` does with the files, all of it in one worker thread."""
        return await to_thread(lambda: steps(self._opened()))

    read = in_thread(Files.read)
    write = in_thread(Files.write)
    edit = in_thread(Files.edit)
    move = in_thread(Files.move)
    delete = in_thread(Files.delete)
    erase = in_thread(Files.erase)
    versions = in_thread(Files.versions)
    list_files = in_thread(Files.list_files)
    search = in_thread(Files.search)
    find_operation = in_thread(Files.find_operation)


class AsyncAdmin(_PartOfMemory):
    """The users of a store for code that must not block; see ``Memory.admin``."""

    users = in_thread(Admin.users)
    overviews = in_thread(Admin.overviews)
    delete_user = in_thread(Admin.delete_user)


class AsyncConversation(_PartOfMemory):
    """A :class:`memoranda.Conversation` for code that must not block: what reads is awaited."""

    def __init__(self, conversation: Conversation) -> None:
        """Wrap ``conversation``; both may be used."""
        super().__init__(lambda: conversation)

    def __repr__(self) -> str:
        """Return its name."""
        return f"Async{self._opened()!r}"

    @property
    def id(self) -> str:
        """The name under which it is stored."""
        return str(self._opened().id)

    def on(self, event: str, callback: Callback) -> None:
        """Call ``callback`` after each ``event`` of :meth:`memoranda.Conversation.on`."""
        self._opened().on(event, callback)

    async def count(self) -> int:
        """Return how many messages there are since the last clear; ``len()`` cannot wait."""
        return await to_thread(len, self._opened())

    system = in_thread(Conversation.system)
    messages = in_thread(Conversation.messages)
    prunings = in_thread(Conversation.prunings)
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
    count_tools = in_thread(Conversation.count_tools)
    calibrate = in_thread(Conversation.calibrate)
    stats = in_thread(Conversation.stats)
    explain = in_thread(Conversation.explain)
    pin = in_thread(Conversation.pin)
    prune = in_thread(Conversation.prune)
    start_session = in_thread(Conversation.start_session)
    expand = in_thread(Conversation.expand)
    clear = in_thread(Conversation.clear)
    end = in_thread(Conversation.end)


class AsyncMemory:
    """A :class:`memoranda.Memory` for code that must not block; it takes the same arguments.

    Nothing is opened on the event loop: ``async with AsyncMemory(…)`` opens it in a worker thread,
    and so do ``await AsyncMemory.open(…)`` and the first verb that is awaited.
    """

    @like(Memory.__init__)
    def __init__(self, *args: Any, user: str | Unset = UNSET, **kwargs: Any) -> None:
        """Open nothing yet."""
        self._user = user
        self._open: Callable[[], Memory] = partial(Memory, *args, user=user, **kwargs)
        self._memory: Memory | None = None
        self._lock = RLock()

    @classmethod
    async def open(cls, *args: Any, **kwargs: Any) -> Self:
        """Return a memory that is open; close it, or use it in an ``async with`` statement.

        The arguments are those of :class:`memoranda.Memory`.
        """
        return await cls(*args, **kwargs).__aenter__()

    def _opened(self) -> Memory:
        """Return the memory; opens it, so only for worker threads."""
        with self._lock:
            if self._memory is None:
                self._memory = self._open()
                # The first call imports what the event loop would have to wait for.
                self._memory.tools()
                self._memory.consolidator_tools()
            return self._memory

    @property
    def _face(self) -> Memory:
        """The memory, where it is open already."""
        if self._memory is None:
            message = "this memory is not open yet; write async with AsyncMemory(…) as memory"
            raise StoreClosed(f"{message}, or memory = await AsyncMemory.open(…)")
        return self._memory

    def __repr__(self) -> str:
        """Return whose it is, and where, if it is open."""
        if self._memory is None:
            return f"AsyncMemory(user={self._user!r}, open=False)"
        return f"Async{self._memory!r}"

    async def __aenter__(self) -> Self:
        """Open the memory, unless it is open, and return it."""
        await to_thread(self._opened)
        return self

    async def __aexit__(self, *error: object) -> None:
        """Close the memory."""
        await self.close()

    async def close(self) -> None:
        """Stop the background work and release the store. Nothing is lost; twice is harmless."""
        if self._memory is not None:
            await to_thread(self._memory.close)

    def as_user(self, user: str, *, agent: str | None = None) -> AsyncMemory:
        """Return the memory of another user in the same store, sharing all its parts."""
        other = AsyncMemory(user=user)
        other._open = lambda: self._opened().as_user(user, agent=agent)
        if self._memory is not None:
            other._memory = share(self._memory, user, agent)
        return other

    @property
    def user(self) -> str:
        """Whose memory this is."""
        return self._face.user if isinstance(self._user, Unset) else self._user

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._face.settings

    @property
    def notes(self) -> AsyncNotes:
        """The Markdown notes that a person can read and edit: MEMORY.md and the history."""
        return AsyncNotes(lambda: self._opened().notes)

    @property
    def admin(self) -> AsyncAdmin:
        """The users of the whole store: lists and deletes them. Not for agents."""
        return AsyncAdmin(lambda: self._opened().admin)

    def files(self, namespace: Iterable[str] = ("files",)) -> AsyncFiles:
        """Return the text files with versions that are kept under a namespace, as items."""
        return AsyncFiles(lambda: self._opened().files(namespace))

    def on(self, event: str, callback: Callback) -> None:
        """Call ``callback`` after each ``event``: remembered, corrected or forgotten."""
        self._face.on(event, callback)

    @list_arguments(ConversationOptions)
    async def conversation(
        self, id: str, **options: Unpack[ConversationOptions]
    ) -> AsyncConversation:
        """Open the conversation ``id`` as :meth:`memoranda.Memory.conversation` does."""
        return await to_thread(
            lambda: AsyncConversation(self._opened().conversation(id, **options))
        )

    def tools(self) -> ToolList[AsyncTool]:
        """Return the tools by which an agent uses this memory, to be awaited."""
        return ToolList(map(AsyncTool.over, self._face.tools()))

    def consolidator_tools(self) -> list[AsyncTool]:
        """Return the tools by which an agent of your own consolidates."""
        return list(map(AsyncTool.over, self._face.consolidator_tools()))

    remember = in_thread(Memory.remember)
    remember_many = in_thread(Memory.remember_many)
    correct = in_thread(Memory.correct)
    confirm = in_thread(Memory.confirm)
    update = in_thread(Memory.update)
    forget = in_thread(Memory.forget)
    forget_many = in_thread(Memory.forget_many)
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
    delete_conversation = in_thread(Memory.delete_conversation)
    sessions = in_thread(Memory.sessions)
    usage = in_thread(Memory.usage)
    consolidate = in_thread(Memory.consolidate)
    facts = in_thread(Memory.facts)
    trace_fact = in_thread(Memory.trace_fact)
    expire = in_thread(Memory.expire)
    decay = in_thread(Memory.decay)
    derive = in_thread(Memory.derive)
    enrich = in_thread(Memory.enrich)
    reflect = in_thread(Memory.reflect)
    maintain = in_thread(Memory.maintain)
    schedule = in_thread(Memory.schedule)
    run_upkeep = in_thread(Memory.run_upkeep)
    audit = in_thread(Memory.audit)
    stats = in_thread(Memory.stats)
    doctor = in_thread(Memory.doctor)
    verify = in_thread(Memory.verify)
    rebuild = in_thread(Memory.rebuild)
    embed_pending = in_thread(Memory.embed_pending)
    reembed = in_thread(Memory.reembed)
    export = in_thread(Memory.export)
    import_ = in_thread(Memory.import_)
    copy_to = in_thread(Memory.copy_to)
    backup = in_thread(Memory.backup)
