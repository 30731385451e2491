"""Remote: the verbs of a memory and of its conversations, done by a server.

Which request a verb is stands in one line; ``verbs`` beside this sends it, and makes the values of
its answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Self

from memoranda.aio import like
from memoranda.conversation.conversation import Conversation
from memoranda.conversation.formats.parse import check_message, new_message, parse_messages
from memoranda.errors import InvalidInput
from memoranda.maintenance.users import Admin
from memoranda.memory import Memory
from memoranda.model.checks import limited, named, required_callable, several
from memoranda.model.models import Marker, Message, NewMessage, Record
from memoranda.notes.sync import SyncedNotes
from memoranda.records.drafts import parse_draft
from memoranda.remote.verbs import (
    HttpConnection,
    RemotePart,
    arguments_of,
    as_segment,
    asks,
    plain,
    value_of,
)
from memoranda.text.files import file_path
from memoranda.tools import Tool, ToolList
from memoranda.transfer.porting import write_export
from memoranda.transfer.sources import PortingReport

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


PAGE = 1_000  # records that a server lists at once


class RemoteNotes(RemotePart):
    """The Markdown notes of the user, where the server has them; see ``Memory.notes``."""

    search = asks(SyncedNotes.search, "GET /history")
    history = asks(SyncedNotes.history, "GET /history")
    append_history = asks(SyncedNotes.append_history, "POST /history")
    append_history_rotated = asks(SyncedNotes.append_history_rotated, "POST /history?rotated=true")
    read_memory = asks(SyncedNotes.read_memory, "GET /memory", part="text")
    write_memory = asks(SyncedNotes.write_memory, "PUT /memory", part="changed")


class RemoteAdmin(RemotePart):
    """The users of the server's store, for a token of scope ``admin``; see ``Memory.admin``."""

    overviews = asks(Admin.overviews, "GET /users")
    delete_user = asks(Admin.delete_user, "DELETE /users/{name}")

    @like(Admin.users)
    def users(self) -> list[str]:
        """Return the names of all users."""
        return [each.name for each in self.overviews()]


class Remote(RemotePart):
    """The memory of a user on a server that ``memoranda serve`` runs: the verbs of ``Memory``.

    Args:
        url: of the server, such as ``http://127.0.0.1:8000``.
        token: opens the memory of one user; the environment's ``MEMORANDA_TOKEN``, if not given.
        timeout: seconds that the server may be silent. What it does is done all the same.

    Raises:
        ConfigError: the address cannot be used, or there is no token.

    Thread-safe, and safe to fork. Nothing is asked before the first verb, which raises what
    ``Memory`` raises; where the server refuses the token ``ConfigError``, and where it cannot be
    reached ``StoreUnreachable``.
    """

    def __init__(self, url: str, *, token: str | None = None, timeout: float = 60.0) -> None:
        """Ask nothing yet."""
        super().__init__(HttpConnection(url, token, timeout))

    def __repr__(self) -> str:
        """Return where it is; never the token."""
        return f"Remote(url={self._connection.url!r})"

    def __enter__(self) -> Self:
        """Return the memory itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the connections."""
        self.close()

    def close(self) -> None:
        """End the connections; twice is harmless."""
        self._connection.close()

    @property
    def user(self) -> str:
        """Whose memory the token opens."""
        name: str = self._ask("GET /capabilities", {}, str, part="user")
        return name

    @property
    def notes(self) -> RemoteNotes:
        """The Markdown notes that a person can read and edit."""
        return RemoteNotes(self._connection, "/notes")

    @property
    def admin(self) -> RemoteAdmin:
        """The users of the whole store: lists and deletes them. Not for agents."""
        return RemoteAdmin(self._connection, "/admin")

    remember = asks(Memory.remember, "POST /records")
    correct = asks(Memory.correct, "POST /records/{id}/corrections")
    confirm = asks(Memory.confirm, "POST /records/{id}/confirmation")
    update = asks(Memory.update, "PATCH /records/{id}")
    forget = asks(Memory.forget, "DELETE /records/{id}", item="/items")
    forget_many = asks(Memory.forget_many, "POST /records/forget")
    set_context = asks(Memory.set_context, "PUT /context/{key}")
    get_context = asks(Memory.get_context, "GET /context/{key}", part="value")
    search = asks(Memory.search, "POST /search")
    recall = asks(Memory.recall, "POST /recall")
    get = asks(Memory.get, "GET /records/{id}", missing=None, item="/items")
    namespaces = asks(Memory.namespaces, "GET /namespaces")
    count = asks(Memory.count, "GET /records/count", part="count")
    history = asks(Memory.history, "GET /records/{id}/history", missing=[])
    entity = asks(Memory.entity, "GET /entities/{name}", missing=None)
    entities = asks(Memory.entities, "GET /entities")
    merge_entities = asks(Memory.merge_entities, "POST /entities/merge")
    split_entity = asks(Memory.split_entity, "POST /entities/split")
    facts = asks(Memory.facts, "POST /facts/search")
    trace_fact = asks(Memory.trace_fact, "GET /facts/{id}")
    conversations = asks(Memory.conversations, "GET /conversations")
    delete_conversation = asks(Memory.delete_conversation, "DELETE /conversations/{id}")
    sessions = asks(Memory.sessions, "GET /sessions")
    usage = asks(Memory.usage, "GET /usage")
    consolidate = asks(Memory.consolidate, "POST /consolidate")
    maintain = asks(Memory.maintain, "POST /maintain")
    expire = asks(Memory.expire, "POST /stages/expire")
    decay = asks(Memory.decay, "POST /stages/decay")
    enrich = asks(Memory.enrich, "POST /stages/enrich")
    reflect = asks(Memory.reflect, "POST /stages/reflect")
    derive = asks(Memory.derive, "POST /stages/derive")
    audit = asks(Memory.audit, "GET /audit")
    stats = asks(Memory.stats, "GET /stats")
    doctor = asks(Memory.doctor, "GET /admin/doctor")
    verify = asks(Memory.verify, "GET /admin/verify")
    rebuild = asks(Memory.rebuild, "POST /admin/rebuild")

    @like(Memory.remember_many)
    def remember_many(self, items: Iterable[Any]) -> Any:
        """Store many records: all of them, or none."""
        drafts = [
            {name: plain(value, name) for name, value in parse_draft(each, f"item {n}").items()}
            for n, each in enumerate(several(items, "items"))
        ]
        return self._ask("POST /records/batch", {"items": drafts}, list[Record])

    @like(Memory.records)
    def records(self, **given: Any) -> list[Record]:
        """Return a page of records, which the server may give in several."""
        asked = arguments_of(Memory.records, (), given)
        missing, found = limited(asked.get("limit", 100), "limit"), list[Record]()
        while missing > 0:
            asked["limit"] = min(missing, PAGE)
            page = self._ask("GET /records", asked, list[Record], part="records")
            found += page
            missing = missing - PAGE if len(page) == PAGE else 0
            asked |= {"after": found[-1].id, "offset": 0} if page else {}
        return found

    @like(Memory.conversation)
    def conversation(self, id: str, **options: Any) -> RemoteConversation:
        """Open a conversation on the server, or start it."""
        given = arguments_of(Memory.conversation, (id,), options)
        return RemoteConversation(self._connection, **given)

    @like(Memory.tools)
    def tools(self) -> ToolList[Tool]:
        """Return the tools of the server, which it runs."""
        listed = self._ask("GET /tools", {}, list[dict[str, Any]])
        described = [each["function"] for each in listed]
        return ToolList(
            Tool(**each, function=partial(self._call, each["name"])) for each in described
        )

    def _call(self, tool: str, /, **arguments: Any) -> Any:
        return self._ask(f"POST /tools/{tool}", arguments, str, part="text")

    @like(Memory.export)
    def export(
        self, path: Any, *, conversation: str | None = None, format: str | None = None
    ) -> Any:
        """Write all of the user's records and conversations to a file here."""

        def read(answer: Any) -> None:
            is_open = hasattr(path, "writelines")
            write_export(path, [answer.read()] if is_open else answer.iter_bytes())

        given = {"conversation": conversation, "format": format}
        asked = {name: value for name, value in given.items() if named(value, name)}
        answer = self._connection.ask("GET", "/export", {}, read=read, params=asked)
        return value_of(answer.headers["Memoranda-Report"], PortingReport)

    @like(Memory.import_)
    def import_(self, path: Any, format: str | None = None, **given: Any) -> Any:
        """Send a file, which the server imports; ``progress`` is told once that is done."""
        given = arguments_of(Memory.import_, (path, format), given) | {"name": file_path(path).name}
        told = required_callable(given.pop("progress", None), "progress")
        try:
            body = file_path(given.pop("path")).read_bytes()
        except OSError as error:
            remedy = "send one file, or a ZIP archive of a folder"
            raise InvalidInput(f"{path} cannot be read: {error.strerror}; {remedy}") from error
        report = self._ask("POST /import", given, PortingReport, body=body)
        if told is not None:
            told(report.records, report.records)
        return report
