"""Reading: what the providers and their SDKs give becomes turns, whole or not at all."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from openai.types.chat import ChatCompletionMessage
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseFunctionToolCallOutputItem,
    ResponseOutputMessage,
    ResponseReasoningItem,
)
from pydantic import BaseModel
from tables import each_row

from memoranda.conversation.formats import parse
from memoranda.errors import InvalidInput
from memoranda.model.models import Image, Message, NewMessage, ToolCall, ToolResult

NEW_YEAR = datetime(2024, 1, 1, tzinfo=UTC)
PICTURE = "https://x.org/a.png"
INLINE = "data:image/png;base64,AAAA"
PDF = "data:application/pdf;base64,JVBERi0x"


def parse_message(message):
    """Return what a message says, beside the item that it came as."""
    return [replace(new, raw=None, part=0) for new in parse.parse_message(message)]


def parse_messages(messages):
    """Return what messages say, beside the items that they came as."""
    return [replace(new, raw=None, part=0) for new in parse.parse_messages(messages)]


class Block(BaseModel, extra="allow"):
    """An object as Anthropic's SDK gives it."""

    type: str


def test_pictures_of_every_form_are_kept_whole():
    """Each form of a picture becomes its address, an embedded one a data URL; alone, too."""
    data = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    for kind, pictures, images in (
        (
            "text",
            [
                {"type": "image_url", "image_url": {"url": PICTURE, "detail": "low"}},
                {"type": "image_url", "image_url": {"url": INLINE}},
                {"type": "file", "file": {"filename": "document.pdf", "file_data": PDF}},
            ],
            (Image(PICTURE, "low"), Image(INLINE), Image(PDF)),
        ),
        (
            "input_text",
            [{"type": "input_image", "image_url": PICTURE, "detail": "high"}],
            (Image(PICTURE, "high"),),
        ),
        (
            "text",
            [
                {"type": "image", "source": {"type": "url", "url": PICTURE}},
                {"type": "image", "source": data},
            ],
            (Image(PICTURE), Image(INLINE)),
        ),
    ):
        before, after = [{"type": kind, "text": ""}], [{"type": kind, "text": "closely"}]
        look = {"type": kind, "text": "look"}
        [turn] = parse_message({"role": "user", "content": [*before, look, *pictures, *after]})
        assert (turn.content, turn.images) == ("look\nclosely", images)
        [alone] = parse_message({"role": "user", "content": pictures})
        assert alone == NewMessage(role="user", content="", images=images)


NO = {"type": "text", "text": "No."}
SEALED = {"type": "thinking", "thinking": "hm", "signature": "x"}
SUMMARY = [{"type": "summary_text", "text": "hm"}]


@each_row(
    ("message", "text"),
    [
        ({"role": "assistant", "content": None, "refusal": "No."}, "No."),
        ({"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}, "No."),
        ({"type": "message", "role": "assistant", "content": "No."}, "No."),
        ({"role": "model", "content": "No."}, "No."),
        ({"role": "ai", "content": "No."}, "No."),
        (ChatCompletionMessage(role="assistant", refusal="No."), "No."),
        (Block(type="message", role="assistant", content=[NO]), "No."),
        ({"role": "assistant", "content": [Block(type="text", text="No.")]}, "No."),
        ({"role": "assistant", "content": (Block(type="text", text="No."),)}, "No."),
        # What a model thought is a message without a text, so that nothing learns from it.
        ({"type": "reasoning", "id": "rs_1", "summary": SUMMARY}, ""),
        (ResponseReasoningItem(id="rs_1", type="reasoning", summary=[]), ""),
        ({"role": "assistant", "content": [SEALED]}, ""),
        ({"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}]}, ""),
    ],
)
def test_what_the_assistant_said_is_kept_in_any_form(message, text):
    """A refusal is an answer, reasoning is none; objects of an SDK are read whole and in parts."""
    assert parse_message(message) == [NewMessage(role="assistant", content=text)]
    [new] = parse.parse_messages([message])
    given = message if isinstance(message, dict) else message.model_dump(exclude_unset=True)
    assert text or new.raw == given


NEW = {"type": "new", "at": 1}


@each_row(
    ("message", "answered", "text"),
    [
        ({"tool_call_id": "a", "content": []}, "a", ""),
        ({"tool_call_id": "a", "content": None}, "a", ""),
        ({"tool_call_id": "a", "content": {"a": 1}}, "a", '{"a": 1}'),
        ({"tool_call_id": "a", "content": [5]}, "a", "5"),
        ({"tool_call_id": "a", "content": [NEW]}, "a", "[new]"),
        ({"tool_call_id": "a", "name": "f", "content": "x"}, "a", "x"),
        ({"content": "x"}, "", "x"),
    ],
)
def test_a_result_is_kept_whatever_it_holds(message, answered, text):
    """A tool message always answers its call; what is no text is named, or stays as JSON."""
    assert parse_message({"role": "tool"} | message) == [
        NewMessage(role="tool", content=text, tool_result=ToolResult(answered))
    ]


def test_each_item_is_a_turn():
    """Objects of OpenAI's SDK are read as their items."""
    answer = [{"type": "output_text", "text": "I look.", "annotations": []}]
    said = {"id": "m", "type": "message", "role": "assistant", "status": "completed"}
    output = [
        {"type": "input_text", "text": "1"},
        {"type": "input_image", "image_url": PICTURE, "detail": "auto"},
    ]
    done = {"id": "fo", "type": "function_call_output", "call_id": "b", "status": "completed"}
    called = {"type": "function_call", "id": "fc_1", "call_id": "b", "name": "f"}
    items = [
        ResponseOutputMessage(content=answer, **said),
        ResponseFunctionToolCall(arguments="[1]", **called),
        ResponseFunctionToolCallOutputItem(output=output, **done),
    ]
    picture = {"images": (Image(PICTURE),)}
    assert parse_messages(items) == [
        NewMessage(role="assistant", content="I look."),
        NewMessage(role="assistant", content="", tool_calls=(ToolCall("b", "f", "[1]"),)),
        NewMessage(role="tool", content="1", tool_result=ToolResult("b"), **picture),
    ]


def test_messages_of_our_own_are_read_as_they_are():
    """A message gives the turn it was made of; a turn is one already."""
    said = {"role": "user", "content": "a", "timestamp": NEW_YEAR, "task": "t"}
    turn = NewMessage(images=(Image(PICTURE),), **said)
    message = Message(id="m", tokens=1, images=turn.images, **said)
    assert parse_messages([turn, message]) == [turn, turn]


@each_row(
    "given",
    [{"timestamp": "2024-01-01T00:00:00Z"}, {"timestamp": NEW_YEAR}, {"timestamp": 1704067200}],
)
def test_a_message_was_said_when_it_says(given):
    """Text, datetime or seconds since 1970."""
    assert parse_message({"role": "user", "content": "hi"} | given)[0].timestamp == NEW_YEAR


@each_row("given", ["soon", True, [], 1e300])
def test_a_time_that_cannot_be_read_is_named(given):
    """A wrong time is refused rather than taken for now."""
    with pytest.raises(InvalidInput, match="Input should be a valid datetime"):
        parse_message({"role": "user", "content": "hi", "timestamp": given})


@each_row(
    ("given", "kept"),
    [({"a": "ü"}, '{"a": "ü"}'), ('{"a":1}', '{"a":1}'), ("", "{}"), (None, "{}")],
)
def test_arguments_are_kept_as_json_text(given, kept):
    """Text as it is, an object as JSON."""
    use = {"type": "tool_use", "id": "a", "name": "f", "input": given}
    function = {"name": "f", "arguments": given}
    for message in (
        {"role": "assistant", "content": [use]},
        {"role": "assistant", "tool_calls": [{"id": "a", "function": function}]},
        {"type": "function_call", "call_id": "a"} | function,
    ):
        assert parse_message(message)[0].tool_calls == (ToolCall("a", "f", kept),)


@each_row(
    ("message", "fault"),
    [
        (
            {"role": "assistant", "tool_calls": [{"type": "custom", "custom": {}}]},
            "a tool call needs function.name",
        ),
        ({"role": "user", "content": float("nan")}, "a message must be plain JSON"),
        ({"role": "user", "content": object()}, "a message is not JSON"),
        ({"content": "x"}, "role"),
        ({"role": "usr", "content": "x"}, "role='usr' is unknown; did you mean user?"),
        (Block, "a message is not JSON"),
        ("hello", "expected an object with keys, found 'hello'"),
    ],
)
def test_what_is_not_understood_is_named(message, fault):
    """No part of a message is dropped in silence."""
    with pytest.raises(InvalidInput, match=fault):
        parse_message(message)
    with pytest.raises(InvalidInput, match=fault):
        parse_messages([{"role": "user", "content": "a"}, message])
