"""A real HTTP server that speaks the formats of OpenAI's chat completions and Anthropic's messages.

Each request takes the next of the server's ``acts``; the last one is played for all that follow.
"""

import json
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any

Act = Callable[["Handler", dict[str, Any]], None]
PIECE = 7  # characters of one event of a stream


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
            return "".join(block["text"] for block in self.body["system"])
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
        closing: set when the server stops, so that no act waits for ever.
    """

    acts: list[Act] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    arrived: Event = field(default_factory=Event)
    closing: Event = field(default_factory=Event)
    lock: Lock = field(default_factory=Lock)
    url: str = ""

    def play(self, *acts: Act) -> None:
        """Play these from the next request on."""
        with self.lock:
            self.acts = list(acts)
            self.received.clear()

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
        body = json.loads(self.rfile.read(length))
        headers = {name.lower(): value for name, value in self.headers.items()}
        act = self.server.state.take(Received(self.path, headers, body))
        try:
            act(self, body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

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


def speaks_openai(handler: Handler) -> bool:
    """Return whether a request came in OpenAI's format."""
    return handler.path.endswith("/chat/completions")


def said(text: str, *, tokens: tuple[int, int] = (100, 20), finish: str = "stop") -> Act:
    """Answer with ``text``, whole or as a stream, as the request wants it."""

    def act(handler: Handler, body: dict[str, Any]):
        if body.get("stream"):
            events = (_chat_events if speaks_openai(handler) else _message_events)(text, tokens)
            handler.send(200, "".join(events).encode(), "text/event-stream")
        elif speaks_openai(handler):
            handler.send(200, json.dumps(_completion(text, tokens, finish)).encode())
        else:
            handler.send(200, json.dumps(_message(text, tokens, body)).encode())

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
    first = next(_message_events("{}", (1, 1))) if stream else '{"id": "1", "obj'
    handler.wfile.write(first.encode())
    handler.hang_up()


def trickling(act: Act) -> Act:
    """Send what ``act`` sends byte by byte."""

    class Slow:
        def __init__(self, inner):
            self.inner = inner

        def write(self, data):
            for place in range(len(data)):
                self.inner.write(data[place : place + 1])
                self.inner.flush()

        def flush(self):
            self.inner.flush()

    def slow(handler: Handler, body: dict[str, Any]):
        plain, handler.wfile = handler.wfile, Slow(handler.wfile)
        try:
            act(handler, body)
        finally:
            handler.wfile = plain

    return slow


def _completion(text: str, tokens: tuple[int, int], finish: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "small",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": tokens[0],
            "completion_tokens": tokens[1],
            "total_tokens": sum(tokens),
        },
    }


def _message(text: str, tokens: tuple[int, int], body: dict[str, Any]) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "text", "text": text}
    stop = "end_turn"
    if tools := body.get("tools"):
        block = {"type": "tool_use", "id": "t1", "name": tools[0]["name"], "input": _object(text)}
        stop = "tool_use"
    return {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [block],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": tokens[0], "output_tokens": tokens[1]},
    }


def _object(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {}


def _pieces(text: str) -> Sequence[str]:
    return [text[place : place + PIECE] for place in range(0, len(text), PIECE)]


def _chat_events(text: str, tokens: tuple[int, int]):
    for piece in _pieces(text):
        chunk = {
            "id": "c1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "small",
            "choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}],
        }
        yield f"data: {json.dumps(chunk)}\n\n"
    usage = _completion("", tokens, "stop")["usage"]
    yield f"data: {json.dumps(chunk | {'choices': [], 'usage': usage})}\n\n"
    yield "data: [DONE]\n\n"


def _message_events(text: str, tokens: tuple[int, int]):
    start = _message("", (tokens[0], 1), {"model": "claude-haiku-4-5"}) | {"content": []}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": start}]
    block = {"type": "text", "text": ""}
    events.append({"type": "content_block_start", "index": 0, "content_block": block})
    events += [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
        for piece in _pieces(text)
    ]
    events.append({"type": "content_block_stop", "index": 0})
    ending = {"stop_reason": "end_turn", "stop_sequence": None}
    events.append({"type": "message_delta", "delta": ending, "usage": {"output_tokens": tokens[1]}})
    events.append({"type": "message_stop"})
    for event in events:
        yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
