"""Chat: the agent's session in a page; an answer comes as lines of JSON while it is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from io import StringIO
from typing import Any

from rich.console import Console
from starlette.responses import StreamingResponse

from memoranda.agent import session as chats
from memoranda.http.explorer.pages import Page, PageRequest
from memoranda.http.explorer.server_state import NAME, OpenChat
from memoranda.model.models import Message
from memoranda.rendering.chat import show_event
from memoranda.rendering.conversations import format_call
from memoranda.rendering.forms import format_json
from memoranda.rendering.layout import Display
from memoranda.rendering.plain import join, one_line

# Messages that are shown at first.
NEWEST = 40
# Characters of what a tool gave.
LONGEST = 200
# Columns of a table in the chat.
WIDTH = 88
HINT = "the page of the conversation shows it"


def show(request: PageRequest) -> Page:
    """Show the newest messages of the conversation that the chat goes on with."""
    named = [each for each in request.memory.conversations() if each.id.split("-")[0] == NAME]
    going = next((each for each in named if each.ended_at is None), None)
    messages: tuple[Message, ...] = ()
    if going is not None:
        messages = request.memory.stored_conversations.open_existing(going.id).recent(NEWEST)
    values = {"conversation": going and going.id, "messages": messages}
    return Page("chat", values)


def send(request: PageRequest) -> StreamingResponse:
    """Answer a message, line by line."""
    said, chat = request.required("text"), request.chats.of(request.memory)
    lines = (f"{format_json(each)}\n" for each in _answer(chat, said))
    return StreamingResponse(lines, media_type="application/x-ndjson")


def _answer(chat: OpenChat, said: str) -> Iterator[Mapping[str, Any]]:
    if not chat.busy.acquire(blocking=False):
        yield {"kind": "error", "text": "an answer is under way; wait for it"}
        return
    try:
        for event in chat.session.send(said):
            yield from _lines(event, chat.session.meanings)
    except GeneratorExit:  # The browser has gone.
        chat.session.stop()
        raise
    finally:
        chat.busy.release()


def _lines(event: chats.ChatEvent, meanings: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
    """Yield what the page shows of an event; ``meanings`` says what each command does."""
    match event:
        case chats.TextPiece(text):
            yield {"kind": "piece", "text": text}
        case chats.ToolUsed(message):
            calls = map(format_call, message.tool_calls)
            told = join(*calls) or one_line(message.content, LONGEST)
            yield {"kind": "tool", "text": told}
        case chats.Question(text, yes):
            yield {"kind": "question", "text": text, "send": yes}
        case chats.InterfaceCommand("/help"):
            listed = (f"{name}: {does}" for name, does in meanings.items() if does)
            yield {"kind": "about", "text": "\n".join(listed)}
        case chats.InterfaceCommand(name):
            yield {"kind": "error", "text": f"there is no command {name} here"}
        case chats.AnswerFinished(answer):
            yield {"kind": "answer", "text": answer.text}
    kind = "error" if isinstance(event, chats.RequestFailed) else "about"
    console = Console(file=StringIO(), width=WIDTH, color_system=None)
    for shown in show_event(event, Display(console), HINT):
        with console.capture() as printed:
            console.print(shown)
        yield {"kind": kind, "text": printed.get().rstrip()}
