"""A memory on a server: what goes there and back, what is asked again, and what is refused."""

import socket
import sys
import threading
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from urllib.parse import urlsplit

import pytest
from forks import Child
from http_server import serving
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tables import each_row
from test_hostile_arguments import HOSTILE, call, verbs

from memoranda import Record, Remote, Settings, errors
from memoranda.model.chat import ToolSpec
from memoranda.remote import verbs as requests
from memoranda.remote.memory import RemoteAdmin, RemoteConversation, RemoteNotes

MOMENT = datetime(2024, 5, 6, 7, 8, 9, 123_000, tzinfo=timezone(timedelta(hours=5, minutes=30)))
TEXT = "Zoë’s 猫 is called «Ünï»\n\t🐈 \u200f\x7f"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server of a memory in a file."""
    # A proxy before it has a name of its own.
    allowed = {"allowed_hosts": "127.0.0.1:*"}
    with serving(tmp_path_factory.mktemp("served") / "memory.db", http=allowed) as running:
        yield running


@pytest.fixture(scope="module")
def remote(served):
    """Ana's memory on the server, by a token that may do all."""
    with Remote(served.url, token=served.token("ana", "admin")) as memory:
        yield memory


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Nobody waits before the next attempt where the server names no time."""
    monkeypatch.setattr(requests, "WAITS", (0.0, 0.0, 0.0))


# Going there and back


@pytest.fixture(scope="module")
def full(served, remote):
    """The same memory with something of everything, on the server and beside it."""
    memory = served.memory
    old = remote.remember("Ana lives in Porto", tags=["home"], metadata={"n": [1, {"y": None}]})
    served.clock.advance(timedelta(hours=1))
    new = remote.correct(old.id, "Ana lives in Delft")
    remote.remember(TEXT, kind="item", namespace=("app", "ui/x"), key="näme", metadata={"a": 1})
    chat = remote.conversation("trip/näch Delft", system="You plan.", keep_recent=2)
    chat.add("user", "My cat is called Waffle.", name="Bob", timestamp=MOMENT)
    chat.extend([{"role": "assistant", "content": "", "tool_calls": [CALL]}, RESULT])
    chat.add("user", "Thanks!", images=["https://example.org/cat.png"], task="cats")
    chat.prune(60)
    chat.end()
    remote.consolidate()
    remote.recall("Where does Ana live?")
    remote.notes.append_history_rotated("Booked the ferry.", at=MOMENT)
    return {"old": old, "new": new, "memory": memory, "remote": remote}


CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"a": "ü"}'}}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "{}"}
HERE = ("location", "notes", "size", "missing")  # What a server does not tell of its machine.


def chat_of(memory):
    """Open the conversation of these tests."""
    return memory.conversation("trip/näch Delft", keep_recent=2)


# Filters of a search, each of which leaves out something of what is there, and not all.
NARROWED = (
    {"tags": ["home"]},
    {"session": "trip/näch Delft"},
    {"exclude_session": "trip/näch Delft"},
    {"since": MOMENT + timedelta(days=1)},
    {"until": MOMENT + timedelta(days=1)},
    {"min_score": 0.3},
    {"metadata": {"n": [1, {"y": None}]}},
)
# What is asked of the memory on the server and of the one beside it.
QUESTIONS = {
    "get": lambda memory, full: memory.get(full["old"].id),
    "get an item": lambda memory, _: memory.get(namespace=("app", "ui/x"), key="näme"),
    "get nothing": lambda memory, _: memory.get("fact_../x"),
    "records": lambda memory, _: memory.records(newest_first=True, limit=3, offset=1),
    "records by metadata": lambda memory, _: memory.records(metadata={"n": [1, {"y": None}]}),
    "records since": lambda memory, _: memory.records(since=MOMENT, kind="episode"),
    "count": lambda memory, _: memory.count(tags=["home"]),
    "namespaces": lambda memory, _: memory.namespaces(("app",)),
    "search": lambda memory, _: memory.search("Where does Ana live?", limit=3),
    "search items": lambda memory, _: memory.search("Zoë", kind="item", metadata={"a": {"gt": 0}}),
    "search as of": lambda memory, full: memory.search("Ana", as_of=full["old"].created_at),
    "search by every filter": lambda memory, _: [
        memory.search("Where does Ana live, and the cat?", limit=9, **each) for each in NARROWED
    ],
    "history": lambda memory, full: memory.history(full["new"].id),
    "history of nothing": lambda memory, _: memory.history("fact_none"),
    "entity": lambda memory, _: memory.entity("Ana"),
    "entity nobody": lambda memory, _: memory.entity("Nobody At/all"),
    "entities": lambda memory, _: memory.entities(type="person"),
    "facts": lambda memory, _: memory.facts(everything=True),
    "trace_fact": lambda memory, full: memory.trace_fact(full["new"].id),
    "get_context": lambda memory, _: memory.get_context("mood"),
    "conversations": lambda memory, _: memory.conversations(),
    "sessions": lambda memory, _: memory.sessions(),
    "usage": lambda memory, _: memory.usage(),
    "audit": lambda memory, _: memory.audit(),
    "stats": lambda memory, _: replace(memory.stats(), **dict.fromkeys(HERE)),
    "verify": lambda memory, _: memory.verify(),
    "users": lambda memory, _: (memory.admin.users(), memory.admin.overviews()),
    "a round that is dry": lambda memory, _: memory.maintain(["decay", "expire"], dry_run=True),
    "a stage that is dry": lambda memory, _: memory.enrich(dry_run=True),
    "MEMORY.md": lambda memory, _: memory.notes.read_memory(),
    "notes": lambda memory, _: (memory.notes.search("FERRY", limit=1), memory.notes.history()),
    "tools": lambda memory, _: [each.openai() for each in memory.tools()],
    "a tool": lambda memory, _: memory.tools().find("search_history").call('{"query": "ferry"}'),
    "messages": lambda memory, _: chat_of(memory).messages,
    "recent": lambda memory, _: (chat_of(memory).recent(2), len(chat_of(memory))),
    "by_role": lambda memory, _: chat_of(memory).by_role("user"),
    "window": lambda memory, _: chat_of(memory).window(1),
    "dump": lambda memory, _: chat_of(memory).dump("anthropic", last=2),
    "view": lambda memory, _: chat_of(memory).view(200),
    "explain": lambda memory, _: chat_of(memory).explain(budget=300),
    "conversation stats": lambda memory, _: chat_of(memory).stats(),
    "prunings": lambda memory, _: (chat_of(memory).prunings, chat_of(memory).system),
    "expand": lambda memory, _: chat_of(memory).expand(chat_of(memory).view().markers[0]),
    "context": lambda memory, _: chat_of(memory).context(
        form="anthropic", beside="It is noon.", tools=[ToolSpec("find", "Finds.", {}), CALL]
    ),
}


@each_row("question", QUESTIONS)
def test_an_answer_is_the_value_that_the_memory_gives(full, question):
    """Every field of it, whatever its type, is what the memory of the server has."""
    ask = QUESTIONS[question]
    answer = ask(full["remote"], full)
    assert answer == ask(full["memory"], full)
    assert "nothing" in question or answer not in ([], ()) or question in {"usage", "verify"}


def test_a_recall_has_its_hits(full):
    """The block, and what is in it with the reasons."""
    theirs, ours = (full[each].recall("Where does Ana live?") for each in ("remote", "memory"))
    assert (theirs.text, theirs.tokens) == (ours.text, ours.tokens)
    assert [hit.why for hit in theirs.hits] == [hit.why for hit in ours.hits]
    assert theirs.hits


def test_every_argument_of_remember_is_in_the_record(remote, served):
    """Any Unicode, any JSON and any time zone: the record is that of the server."""
    details = {"kind": "episode", "session": "s", "role": "user", "origin": "me", "trust": "agent"}
    record = remote.remember(
        TEXT,
        tags={"ä"},
        metadata={"deep": [{"x": TEXT}, 1.5, None, True]},
        event_time=MOMENT,
        valid_until=MOMENT + timedelta(days=20_000),
        confidence=0.5,
        decay_rate=0.25,
        **details,
    )
    assert isinstance(record, Record)
    assert record == served.memory.get(record.id)
    assert (record.content, record.event_time) == (TEXT, MOMENT)
    changed = remote.update(record.id, tags=None, expected_version=record.version)
    assert (changed.tags, changed.metadata) == ((), record.metadata)
    with pytest.raises(errors.Conflict):
        remote.forget(record.id, expected_version=record.version)
    receipt = remote.forget(record.id, erase=True, expected_version=changed.version)
    assert (receipt.id, receipt.records, receipt.erased) == (record.id, 1, True)
    assert [each.action for each in remote.history(record.id)] == ["erase"]


def test_pages_end_where_the_memory_does(served):
    """More records than a server lists at once come all the same, each once and in order."""
    with Remote(served.url, token=served.token("pages")) as remote:
        made = remote.remember_many(f"tale {n}" for n in range(1_003))
        assert remote.records(limit=5_000) == made
        assert remote.records(limit=1_001, offset=1) == made[1:1_002]


def test_a_file_goes_and_comes(remote, served, tmp_path):
    """What is exported here is imported there, once; a file that exists is left as it is."""
    path = tmp_path / "ana.jsonl"
    report = remote.export(path)
    assert report == served.memory.export(path.with_suffix(".same"))
    assert path.stat().st_mode & 0o777 == 0o600
    again = remote.import_(path)
    assert (again.records, again.skipped > 0) == (0, True)
    with pytest.raises(errors.InvalidInput, match="exists already"):
        remote.export(path)
    with pytest.raises(errors.InvalidInput, match="cannot be read"):
        remote.import_(tmp_path)
    with path.with_suffix(".open").open("wb") as file:
        remote.export(file)
    assert path.with_suffix(".open").read_bytes() == path.read_bytes()


def test_a_session_begins_once(tmp_path):
    """R6.5: where earlier sessions leave the view, what is added after opening stays in it."""
    with (
        serving(tmp_path / "m.db", conversation={"at_session_start": "prune"}) as served,
        Remote(served.url, token=served.token("ana")) as remote,
    ):
        chat = remote.conversation("trip")
        for text in ("one", "two", "three"):
            chat.add("user", text)
        assert chat.stats().messages_in_context == 3
        assert remote.conversation("trip").stats().messages_in_context == 0


# What is refused


def test_nothing_of_another_user_is_there(served, remote):
    """Law 6: another user's id is as if it were not there."""
    theirs = remote.remember("Ana has a secret")
    with Remote(served.url, token=served.token("ben")) as ben:
        assert (ben.user, ben.get(theirs.id), ben.records()) == ("ben", None, [])
        for verb in (ben.forget, ben.confirm, ben.trace_fact):
            with pytest.raises(errors.NotFound, match=theirs.id):
                verb(theirs.id)
    assert remote.get(theirs.id) == theirs


def test_an_error_is_the_one_that_the_memory_raises(full):
    """Its class, its words and what it carries."""

    def refused(memory, kind, act):
        with pytest.raises(kind) as told:
            act(memory)
        return type(told.value), str(told.value), vars(told.value)

    for kind, act in (
        (errors.InvalidInput, lambda memory: memory.remember("  ")),
        (errors.InvalidInput, lambda memory: memory.search("x", kind="feeling")),
        (errors.InvalidInput, lambda memory: memory.remember("x", colour="red")),
        (errors.InvalidInput, lambda memory: memory.remember("x", metadata={1: 2})),
        (errors.InvalidInput, lambda memory: memory.get("x", key="y")),
        (errors.InvalidInput, lambda memory: memory.forget_many()),
        (errors.InvalidInput, lambda memory: memory.confirm(full["old"].id)),
        (errors.NotFound, lambda memory: memory.forget("fact_none")),
        (errors.NotFound, lambda memory: memory.delete_conversation("tripp")),
        (errors.NotFound, lambda memory: memory.admin.delete_user("anna")),
        (errors.Conflict, lambda memory: memory.confirm(full["new"].id, expected_version="x")),
        (errors.BudgetTooSmall, lambda memory: chat_of(memory).context("x", budget=3)),
    ):
        told = [refused(full[each], kind, act) for each in ("remote", "memory")]
        assert told[0] == told[1]
    with pytest.raises(TypeError):
        full["remote"].get(colour="red")
    with pytest.raises(errors.InvalidInput):
        full["remote"].remember(full["memory"])


def test_a_token_that_does_not_fit_is_refused(served, monkeypatch):
    """One that is unknown, that may not write, and none: the message says what to do."""
    refused = partial(pytest.raises, errors.ConfigError)
    with refused(match="this token is not known"):
        asked(served.url)
    with (
        Remote(served.url, token=served.token("ana", "read")) as reader,
        refused(match="needs a token of scope write"),
    ):
        reader.remember("Ana is vegetarian")
    with refused(match="MEMORANDA_TOKEN"):
        Remote(served.url)
    for address in ("agent.db", "ftp://memory", "http://", ""):
        with pytest.raises((errors.ConfigError, errors.InvalidInput)):
            asked(address)
    with refused(match="its token"):
        Remote(served.url, token="naïve")  # noqa: S106 - as it says
    monkeypatch.setenv("MEMORANDA_TOKEN", served.token("env"))
    with Remote(f"{served.url}/") as remote:
        assert remote.user == "env"
    assert Settings() is not None  # It is no setting that is misspelt.
    assert "memoranda_" not in repr(remote)
    with pytest.raises(errors.StoreClosed):
        remote.records()


def test_what_is_not_installed_is_named(monkeypatch):
    """The error says how to install it."""
    for name in [each for each in sys.modules if each.startswith("memoranda.remote")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(errors.MissingExtra, match=r"memoranda\[remote\]"):
        import_module("memoranda.remote.memory")


def test_a_server_that_is_not_there_is_named():
    """Nobody listens, or somebody else does."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(errors.StoreUnreachable, match=f"127.0.0.1:{port} cannot be reached"):
        asked(f"http://127.0.0.1:{port}")
    for page in (b"<p>hello", b"[]", b'{"count": "many"}'):
        with (
            other_server(200, {}, page=page) as url,
            Remote(url, token="x") as remote,  # noqa: S106 - nobody's
            pytest.raises(errors.StoreError, match="cannot read"),
        ):
            remote.count()
    with other_server(404, {}) as url, pytest.raises(errors.ConfigError, match="not as memoranda"):
        asked(url)


def asked(url, **more):
    """Ask whoever listens there for a record."""
    with Remote(url, token="a token of nobody", **more) as remote:  # noqa: S106 - as it says
        return remote.get("x")


@contextmanager
def other_server(status, headers, pause=None, page=b"<p>hello"):
    """Run a server that answers anything with a page, and not before ``pause`` is over."""

    class Handler(BaseHTTPRequestHandler):
        asked = 0

        def do_GET(self):
            Handler.asked += 1
            if pause is not None:
                pause.wait(60)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(page)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        try:
            url = f"http://127.0.0.1:{server.server_port}"
            yield url
        finally:
            if pause is not None:
                pause.set()
            server.shutdown()


# What is asked again


def test_whoever_is_too_fast_waits():
    """429 with Retry-After is asked again when it says, and only so many times."""
    with (
        serving(http={"rate": 5.0}) as served,
        Remote(served.url, token=served.token("ana")) as remote,
    ):
        assert [remote.count() for _ in range(14)] == [0] * 14
    with other_server(429, {"Retry-After": "0"}) as url, pytest.raises(errors.StoreBusy):
        asked(url)


def test_a_server_that_is_silent_is_not_asked_again():
    """It may be at work still: the message names the limit."""
    over = threading.Event()
    silent = pytest.raises(errors.StoreUnreachable, match=r"within 0\.2 s")
    with other_server(200, {}, over) as url, silent:
        asked(url, timeout=0.2)


@contextmanager
def cutting(url, cuts):
    """Stand before a server; cut each of the next connections after so many bytes of answers."""
    target = urlsplit(url)

    def pump(source, sink, most):
        with suppress(OSError):
            while most is None or most > 0:
                data = source.recv(65_536 if most is None else min(most, 65_536))
                if not data:
                    break
                sink.sendall(data)
                most = None if most is None else most - len(data)
        for each in (source, sink):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def serve(client):
        cut = cuts.pop(0) if cuts else None
        with client, socket.create_connection((target.hostname, target.port)) as server:
            asking = threading.Thread(target=pump, args=(client, server, None))
            asking.start()
            if cut == 0:
                server.recv(1)  # It has done what was asked.
            pump(server, client, cut)
            asking.join()

    def accept():
        with suppress(OSError):
            while True:
                client, _ = listening.accept()
                threads.append(threading.Thread(target=serve, args=(client,)))
                threads[-1].start()

    threads = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            accepting.join()
            for thread in threads:
                thread.join()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(0, 900), max_size=3))
def test_a_write_whose_answer_is_lost_is_done_once(remote, served, cuts):
    """However often, and wherever in the answer, the connection breaks."""
    before = remote.count()
    with cutting(served.url, cuts) as url, Remote(url, token=served.token("ana")) as cut:
        record = cut.remember("A ticket was bought", kind="episode")
        chat = cut.conversation("cut")
        known = len(chat)
        chat.add("user", "A ticket, please.")
        assert len(chat) == known + 1
    assert remote.get(record.id) == record
    assert remote.count() == before + 2


def test_what_is_lost_too_often_is_told_and_still_done_once(remote, served):
    """The error says that the server cannot be reached; the write is there once."""
    before = remote.count()
    with (
        cutting(served.url, [0] * 4) as url,
        Remote(url, token=served.token("ana")) as cut,
        pytest.raises(errors.StoreUnreachable),
    ):
        cut.remember("Another ticket was bought", kind="episode")
    assert remote.count() == before + 1


def test_parent_and_child_share_no_connection(remote):
    """After a fork both ask, and each gets its own answers."""

    def ask(tell, _):
        tell([remote.remember(f"child {n}", kind="episode").content for n in range(20)])

    remote.count()  # A connection is open.
    child = Child(ask)
    ours = [remote.remember(f"parent {n}", kind="episode").content for n in range(20)]
    assert child.finish() == (0, [[f"child {n}" for n in range(20)]])
    assert ours == [f"parent {n}" for n in range(20)]


CLASSES = {
    "memory": Remote,
    "stored": RemoteConversation,
    "notes": RemoteNotes,
    "admin": RemoteAdmin,
}


@pytest.mark.slow
@each_row(
    ("name", "verb", "argument"),
    [(name, *each) for name, holder in CLASSES.items() for each in verbs(holder)],
)
def test_any_argument_of_any_verb(hostile, name, verb, argument):
    """One argument is of any type or size, the others are sound: only errors of ours are raised."""
    for value in HOSTILE[::3]:
        call(hostile[name], verb, argument, value)


@pytest.fixture(scope="module")
def hostile(served, tmp_path_factory):
    """All objects whose verbs are called, each with something in it."""
    with (
        pytest.MonkeyPatch.context() as patch,
        Remote(served.url, token=served.token("zoe", "admin")) as memory,
    ):
        patch.chdir(tmp_path_factory.mktemp("hostile"))
        memory.remember("Zoe drinks tea")
        chat = memory.conversation("trip")
        chat.add("user", "hello")
        yield {"memory": memory, "stored": chat, "notes": memory.notes, "admin": memory.admin}
