"""A conversation on a server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from memoranda.aio import like
from memoranda.conversation.conversation import Conversation
from memoranda.conversation.formats.parse import check_message, new_message, parse_messages
from memoranda.model.models import Marker, Message, NewMessage
from memoranda.remote.connection import HttpConnection
from memoranda.remote.verbs import RemotePart, as_segment, asks

# What is not stored of how a conversation is opened.
LIMITS = ("max_tokens", "max_messages", "keep_recent", "strategy")
Messages = tuple[Message, ...]


class RemoteConversation(RemotePart):
    """A :class:`memoranda.Conversation` that a server keeps; every verb asks the server."""

    def __init__(self, connection: HttpConnection, id: str, **options: Any) -> None:
        """Open the conversation, or start it; the limits of its views go with each request."""
        limits = {name: value for name, value in options.items() if name in LIMITS}
        super().__init__(connection, f"/conversations/{as_segment(id, 'id')}", limits)
        self._id = id
        self._ask("PUT ", options)

    @property
    def id(self) -> str:
        """The name under which it is stored."""
        return self._id

    def __repr__(self) -> str:
        """Return its name."""
        return f"RemoteConversation(id={self.id!r})"

    def __len__(self) -> int:
        """Return how many messages there are since the last :meth:`clear`."""
        return len(self.messages)

    def __bool__(self) -> bool:
        """A conversation is true also while it is empty."""
        return True

    @property
    def system(self) -> str | None:
        """The system prompt."""
        return self.explain().info.system

    messages = property(asks(Conversation.messages, "GET /messages"))
    prunings = property(asks(Conversation.prunings, "GET /prunings"))
    recent = asks(Conversation.recent, "GET /messages")
    by_role = asks(Conversation.by_role, "GET /messages")
    window = asks(Conversation.window, "GET /window")
    dump = asks(Conversation.dump, "GET /dump")
    view = asks(Conversation.view, "GET /view")
    explain = asks(Conversation.explain, "GET /explanation")
    stats = asks(Conversation.stats, "GET ")
    context = asks(Conversation.context, "POST /context")
    pop = asks(Conversation.pop, "DELETE /messages")
    remove = asks(Conversation.remove, "DELETE /messages/{id}")
    pin = asks(Conversation.pin, "PUT /messages/{id}/pin")
    prune = asks(Conversation.prune, "POST /prune")
    start_session = asks(Conversation.start_session, "POST /sessions")
    clear = asks(Conversation.clear, "POST /clear")
    end = asks(Conversation.end, "POST /end")

    @like(Conversation.expand)
    def expand(self, marker: Marker | str) -> Any:
        """Return the messages that a marker stands for."""
        name = marker.id if isinstance(marker, Marker) else marker
        return self._ask("POST /expand", {"marker": name}, Messages)

    @like(Conversation.add)
    def add(self, *args: Any, **kwargs: Any) -> Any:
        """Add one message at the end."""
        return self._send("POST /messages", [new_message(*args, **kwargs)])[0]

    @like(Conversation.extend)
    def extend(self, messages: Iterable[Any]) -> Any:
        """Add many messages: all of them, or none."""
        return self._send("POST /messages", parse_messages(messages))

    @like(Conversation.replace)
    def replace(self, ids: Iterable[str], messages: Iterable[Any]) -> Any:
        """Remove messages, and put others in their place."""
        return self._send("POST /replacements", parse_messages(messages), ids=ids)

    def _send(self, request: str, messages: Sequence[NewMessage], **given: Any) -> Any:
        """Send messages in the form of the answers, which says all that they hold."""
        for each in messages:
            check_message(each)
        return self._ask(request, {"messages": messages, "own": True, **given}, Messages)
