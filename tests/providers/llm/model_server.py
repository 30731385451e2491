"""A real HTTP server that speaks the formats of OpenAI's chat completions and Anthropic's messages.

Each request takes the next of the server's ``acts``; the last one is played for all that follow.
"""

import json
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Semaphore, Thread
from typing import Any

import pytest

Act = Callable[["Handler", dict[str, Any]], None]
Called = tuple[str, str, str]  # the id, the name and the arguments of a call
PIECE = 7  # characters of one event of a stream
# Of the tokens sent, what Anthropic says that it read from its cache, and wrote there.
CACHE = ("cache_read_input_tokens", "cache_creation_input_tokens")
STOPS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
}


@dataclass(frozen=True)
class Received:
    """One request: its path, its headers by lower-case name, and its body."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def system(self) -> str:
        """The system prompt, in either format."""
        if "system" in self.body:
            system = self.body["system"]
            return system if isinstance(system, str) else "".join(b["text"] for b in system)
        return "".join(m["content"] for m in self.body["messages"] if m["role"] == "system")

    @property
    def prompt(self) -> str:
        """The user's message, in either format."""
        content = self.body["messages"][-1]["content"]
        return content if isinstance(content, str) else "".join(part["text"] for part in content)


@dataclass
class ModelServer:
    """What it plays, and what it was asked.

    Attributes:
        acts: one for each request.
        received: the requests so far.
        arrived: set when a request has come.
        left: set when a client has gone before an act ended.
        closing: set when the server stops, so that no act waits for ever.
    """

    acts: list[Act] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    arrived: Event = field(default_factory=Event)
    left: Event = field(default_factory=Event)
    closing: Event = field(default_factory=Event)
    lock: Lock = field(default_factory=Lock)
    url: str = ""

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.url.rpartition(":")[2])

    def play(self, *acts: Act) -> None:
        """Play these from the next request on."""
        with self.lock:
            self.acts = list(acts)
            self.received.clear()
            self.arrived.clear()
            self.left.clear()

    def take(self, received: Received) -> Act:
        """Return what to do with a request."""
        with self.lock:
            self.received.append(received)
            place = len(self.received) - 1
            self.arrived.set()
            return self.acts[min(place, len(self.acts) - 1)]

    @property
    def openai(self) -> str:
        """The name of a model here that speaks OpenAI's format."""
        return f"openai:small@{self.url}/v1"

    @property
    def anthropic(self) -> str:
        """The name of a model here that speaks Anthropic's format."""
        return f"anthropic:claude-haiku-4-5@{self.url}"


class Handler(BaseHTTPRequestHandler):
    """Reads a request and plays the next act."""

    protocol_version = "HTTP/1.1"
    server: "Server"

    def do_POST(self):
        """Answer."""
        length = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(length) or b"{}")
        headers = {name.lower(): value for name, value in self.headers.items()}
        act = self.server.state.take(Received(self.path, headers, body))
        try:
            act(self, body)
        except (BrokenPipeError, ConnectionResetError):
            self.server.state.left.set()
            self.close_connection = True

    do_GET = do_POST  # noqa: N815 - the base class's names

    def send(self, status: int, body: bytes, kind: str = "application/json", **headers: str):
        """Send a whole answer."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def hang_up(self):
        """Drop the connection in the middle of whatever was said."""
        self.wfile.flush()
        self.close_connection = True
        with suppress(OSError):  # The client has gone before.
            self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_):
        """Keep the test's output clean."""


class Server(ThreadingHTTPServer):
    """Listens on a free port of this machine."""

    daemon_threads = True

    def __init__(self, state: ModelServer) -> None:
        """Listen; ``state.url`` says where."""
        super().__init__(("127.0.0.1", 0), Handler)
        self.state = state
        state.url = f"http://127.0.0.1:{self.server_port}"


def running(state: ModelServer) -> Callable[[], None]:
    """Start a server and return what stops it."""
    server = Server(state)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()

    def stop():
        state.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()

    return stop


@pytest.fixture
def server():
    """A running server of language models, which answers nothing until it is told what to play."""
    state = ModelServer()
    stop = running(state)
    yield state
    stop()


def speaks_openai(handler: Handler) -> bool:
    """Return whether a request came in OpenAI's format."""
    return handler.path.endswith("/chat/completions")


def said(text: str, *, tokens: tuple[int, ...] = (100, 20), finish: str = "stop") -> Act:
    """Answer with ``text``, whole or as a stream, as the request wants it.

    To Anthropic's format with a tool, it is the arguments of that tool.
    """

    def act(handler: Handler, body: dict[str, Any]):
        if body.get("stream") or speaks_openai(handler) or not body.get("tools"):
            talked(text, tokens=tokens, finish=finish)(handler, body)
            return
        call = ("t1", body["tools"][0]["name"], json.dumps(_object(text)))
        handler.send(200, json.dumps(_message("", [call], tokens, "tool_calls")).encode())

    return act


def talked(
    text: str, *calls: Called, tokens: tuple[int, ...] = (100, 20), finish: str | None = None
) -> Act:
    """Answer with words and calls, whole or as a stream. Reasons to finish are OpenAI's words."""
    reason = finish or ("tool_calls" if calls else "stop")

    def act(handler: Handler, body: dict[str, Any]):
        openai = speaks_openai(handler)
        if body.get("stream"):
            events = (_chat_events if openai else _message_events)(text, calls, tokens, reason)
            handler.send(200, "".join(events).encode(), "text/event-stream")
        else:
            whole = (_completion if openai else _message)(text, calls, tokens, reason)
            handler.send(200, json.dumps(whole).encode())

    return act


def refused(words: str) -> Act:
    """Decline in the way of the format: with words beside the text, or with a reason."""

    def act(handler: Handler, body: dict[str, Any]):
        if not speaks_openai(handler):
            talked("", finish="content_filter")(handler, body)
        elif body.get("stream"):
            chunk = _chunk({"refusal": words}) | {"usage": None}
            end = _chunk({}, "stop")
            handler.send(200, "".join(map(_data, (chunk, end))).encode(), "text/event-stream")
        else:
            whole = _completion("", (), (100, 20), "stop")
            whole["choices"][0]["message"] |= {"content": None, "refusal": words}
            handler.send(200, json.dumps(whole).encode())

    return act


def stepping(text: str, steps: Semaphore) -> Act:
    """Stream ``text``, one event for each of ``steps``."""

    def act(handler: Handler, _: dict[str, Any]):
        write = _chat_events if speaks_openai(handler) else _message_events
        events = [event.encode() for event in write(text, (), (100, 20), "stop")]
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Content-Length", str(sum(map(len, events))))
        handler.end_headers()
        for event in events:
            steps.acquire(timeout=20)
            handler.wfile.write(event)
            handler.wfile.flush()

    return act


def stopping(text: str, how: str) -> Act:
    """Stream ``text``, and stop in the middle.

    ``how``: ``cut``, the connection breaks; ``ended``, it closes as if all were said;
    ``silent``, nothing more comes; ``error``, an error comes in the stream.
    """

    def act(handler: Handler, _: dict[str, Any]):
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        if how != "ended":
            handler.send_header("Content-Length", "1000000")
        handler.send_header("Connection", "close")
        handler.end_headers()
        openai = speaks_openai(handler)
        parts = _chat_words(text) if openai else _message_words(text, (100, 1))
        handler.wfile.write("".join(parts).encode())
        handler.wfile.flush()
        if how == "silent":
            handler.connection.settimeout(60)
            assert not handler.connection.recv(1)
            handler.server.state.left.set()
        if how == "error":
            error = {"type": "overloaded_error", "message": "too much to do"}
            start = "" if openai else "event: error\n"
            whole = {"error": error} if openai else {"type": "error", "error": error}
            handler.wfile.write(f"{start}{_data(whole)}".encode())
        handler.hang_up()

    return act


def answered(value: Any, **options: Any) -> Act:
    """Answer with ``value`` as JSON."""
    return said(json.dumps(value), **options)


def failing(
    status: int, message: str = "the server's own words", code: str | None = None, **headers: str
) -> Act:
    """Answer with an error in the format of the request."""
    error = {"type": code or "error_type", "message": message, "param": None, "code": code}

    def act(handler: Handler, _: dict[str, Any]):
        whole = {"error": error} if speaks_openai(handler) else {"type": "error", "error": error}
        handler.send(status, json.dumps(whole).encode(), **headers)

    return act


def raw(body: bytes, kind: str = "application/json") -> Act:
    """Answer 200 with just these bytes."""
    return lambda handler, _: handler.send(200, body, kind)


def stalling(handler: Handler, _: dict[str, Any]):
    """Say nothing until the server stops."""
    handler.server.state.closing.wait(60)
    handler.hang_up()


def cut_off(handler: Handler, body: dict[str, Any]):
    """Hang up in the middle of the body."""
    handler.send_response(200)
    stream = bool(body.get("stream"))
    handler.send_header("Content-Type", "text/event-stream" if stream else "application/json")
    handler.send_header("Content-Length", "5000")
    handler.end_headers()
    first = next(_message_words("{}", (1, 1))) if stream else '{"id": "1", "obj'
    handler.wfile.write(first.encode())
    handler.hang_up()


def _usage(tokens: tuple[int, ...]) -> dict[str, int]:
    sent, received, *cached = tokens
    usage = {"prompt_tokens": sent, "completion_tokens": received, "total_tokens": sent + received}
    return usage | {"prompt_tokens_details": {"cached_tokens": cached[0]} if cached else None}


def _completion(
    text: str, calls: Sequence[Called], tokens: tuple[int, ...], finish: str
) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text or (None if calls else text)}
    if calls:
        message["tool_calls"] = [
            {"id": key, "type": "function", "function": {"name": name, "arguments": arguments}}
            for key, name, arguments in calls
        ]
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "small",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": _usage(tokens),
    }


def _message(
    text: str, calls: Sequence[Called], tokens: tuple[int, ...], finish: str
) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text or not calls else []
    blocks += [
        {"type": "tool_use", "id": key, "name": name, "input": _object(arguments)}
        for key, name, arguments in calls
    ]
    return {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-4-5",
        "content": blocks,
        "stop_reason": STOPS[finish],
        "stop_sequence": None,
        "usage": {
            "input_tokens": tokens[0] - sum(tokens[2:]),
            "output_tokens": tokens[1],
            **dict(zip(CACHE, tokens[2:], strict=False)),
        },
    }


def _object(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {}


def _pieces(text: str) -> Sequence[str]:
    return [text[place : place + PIECE] for place in range(0, len(text), PIECE)]


def _data(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value)}\n\n"


def _chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {
        "id": "c1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "small",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def _chat_words(text: str):
    for piece in _pieces(text):
        yield _data(_chunk({"content": piece}))


def _chat_events(text: str, calls: Sequence[Called], tokens: tuple[int, ...], finish: str):
    yield from _chat_words(text)
    for index, (key, name, arguments) in enumerate(calls):
        start = {"index": index, "id": key, "type": "function"}
        opening = start | {"function": {"name": name, "arguments": ""}}
        yield _data(_chunk({"tool_calls": [opening]}))
        for piece in _pieces(arguments):
            part = {"index": index, "function": {"arguments": piece}}
            yield _data(_chunk({"tool_calls": [part]}))
    yield _data(_chunk({}, finish))
    yield _data(_chunk({}) | {"choices": [], "usage": _usage(tokens)})
    yield "data: [DONE]\n\n"


def _event(event: dict[str, Any]) -> str:
    return f"event: {event['type']}\n{_data(event)}"


def _message_words(text: str, tokens: tuple[int, ...]):
    start = _message("", (), (tokens[0], 1, *tokens[2:]), "stop") | {
        "content": [],
        "stop_reason": None,
    }
    yield _event({"type": "message_start", "message": start})
    block = {"type": "text", "text": ""}
    yield _event({"type": "content_block_start", "index": 0, "content_block": block})
    for piece in _pieces(text):
        delta = {"type": "text_delta", "text": piece}
        yield _event({"type": "content_block_delta", "index": 0, "delta": delta})


def _message_events(text: str, calls: Sequence[Called], tokens: tuple[int, ...], finish: str):
    yield from _message_words(text, tokens)
    yield _event({"type": "content_block_stop", "index": 0})
    for index, (key, name, arguments) in enumerate(calls, 1):
        block = {"type": "tool_use", "id": key, "name": name, "input": {}}
        yield _event({"type": "content_block_start", "index": index, "content_block": block})
        for piece in _pieces(arguments):
            delta = {"type": "input_json_delta", "partial_json": piece}
            yield _event({"type": "content_block_delta", "index": index, "delta": delta})
        yield _event({"type": "content_block_stop", "index": index})
    ending = {"stop_reason": STOPS[finish], "stop_sequence": None}
    usage = {"output_tokens": tokens[1]}
    yield _event({"type": "message_delta", "delta": ending, "usage": usage})
    yield _event({"type": "message_stop"})
