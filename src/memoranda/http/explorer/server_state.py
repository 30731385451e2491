"""What a server keeps between the requests of its users: counts, and their open chats."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple, TypeVar

from memoranda.agent.session import ChatSession
from memoranda.memory import Memory, scope_of, services_of

Value = TypeVar("Value")

# Seconds for which a count may be old, as some changes do not show in the mark of a memory.
LONGEST = 60.0
# The same for a count that later records do not change.
LONGEST_LASTING = 3_600.0
MOST_COUNTS = 10_000


class CachedCount(NamedTuple):
    """A count, when it was made, and what tells whether it still holds."""

    mark: Hashable
    at: float
    value: Any


class CountCache:
    """Keeps counts by user. Thread-safe."""

    def __init__(self) -> None:
        """Keep nothing yet."""
        self._kept: OrderedDict[tuple[Hashable, ...], CachedCount] = OrderedDict()
        self._lock = Lock()

    def get(
        self, memory: Memory, name: Hashable, count: Callable[[], Value], *, lasting: bool = False
    ) -> Value:
        """Return a count of a memory.

        Args:
            memory: whose it is.
            name: what is counted.
            count: counts it anew.
            lasting: whether later records do not change it, as of a month that is over.
        """
        services, scope = services_of(memory), scope_of(memory)
        key = scope, name
        newest = memory.records(newest_first=True, limit=1)
        mark = None if lasting else (services.store.fact_revision(scope), *(x.id for x in newest))
        with self._lock:
            kept = self._kept.get(key)
        longest = LONGEST_LASTING if lasting else LONGEST
        if kept is not None and kept.mark == mark and monotonic() - kept.at < longest:
            value: Value = kept.value
            return value
        value = count()
        with self._lock:
            self._kept[key] = CachedCount(mark, monotonic(), value)
            while len(self._kept) > MOST_COUNTS:
                self._kept.popitem(last=False)
        return value

    def forget(self, memory: Memory) -> None:
        """Count everything of a memory anew, as it was just changed here."""
        scope = scope_of(memory)
        with self._lock:
            for key in [key for key in self._kept if key[0] == scope]:
                del self._kept[key]


# The conversation that the chat goes on with; open chats that a server holds.
NAME = "chat"
MOST_CHATS = 100
# What the page does itself: of /attach nothing, as its path would be one of the server's machine,
# and of /exit nothing, as a page is closed.
OWN_COMMANDS = {"/help": "this list", "/attach": "", "/exit": ""}


@dataclass(slots=True)
class OpenChat:
    """A chat session, and whether it answers just now."""

    session: ChatSession
    busy: Lock = field(default_factory=Lock)


class ChatSessions:
    """Opens the chat of a user when it is first needed. Thread-safe."""

    def __init__(self) -> None:
        """Open none yet."""
        self._open: OrderedDict[str, OpenChat] = OrderedDict()
        self._lock = Lock()

    def of(self, memory: Memory) -> OpenChat:
        """Return the chat of a user; it goes on where it was left."""
        with self._lock:
            if memory.user not in self._open:
                self._open[memory.user] = OpenChat(
                    ChatSession(memory, session=NAME, own=OWN_COMMANDS)
                )
            self._open.move_to_end(memory.user)
            if len(self._open) > MOST_CHATS:
                self._open.popitem(last=False)
            return self._open[memory.user]
