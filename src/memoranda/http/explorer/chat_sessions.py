"""The chats of a server, one a user; what is said is in their memories."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock

from memoranda.agent.session import ChatSession
from memoranda.memory import Memory

# The conversation that the chat goes on with; open chats that a server holds.
NAME = "chat"
MOST = 100


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
                self._open[memory.user] = OpenChat(ChatSession(memory, session=NAME))
            self._open.move_to_end(memory.user)
            if len(self._open) > MOST:
                self._open.popitem(last=False)
            return self._open[memory.user]
