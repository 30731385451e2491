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
from memoranda.conversation.formats.parse import NewMessage
from memoranda.errors import InvalidInput
from memoranda.model.models import Image, Message, ToolCall, ToolResult

PICTURE = "https://x.org/a.png"
INLINE = "data:image/png;base64,AAAA"


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
    """Each form of a picture becomes its address, an embedded one a data URL."""
    blocks = [
        {"type": "text", "text": ""},
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": PICTURE, "detail": "low"}},
        {"type": "image_url", "image_url": {"url": INLINE}},
        {"type": "input_image", "image_url": PICTURE, "detail": "high"},
        {"type": "image", "source": {"type": "url", "url": PICTURE}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        {"type": "text", "text": "closely"},
    ]
    [turn] = parse_message({"role": "user", "content": blocks})
    assert turn.content == "look\nclosely"
    assert turn.images == (
        Image(PICTURE, "low"),
        Image(INLINE),
        Image(PICTURE, "high"),
        Image(PICTURE),
        Image(INLINE),
    )


def test_a_picture_alone_is_a_turn():
    """A message of nothing but a picture is kept."""
    picture = {"type": "input_image", "image_url": PICTURE, "detail": "auto"}
    assert parse_message({"role": "user", "content": [picture]}) == [
        NewMessage(role="user", content="", images=(Image(PICTURE),))
    ]


@each_row(
    "message",
    [
        {"role": "assistant", "content": None, "refusal": "No."},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
        {"type": "message", "role": "assistant", "content": "No."},
        {"role": "model", "content": "No."},
        ChatCompletionMessage(role="assistant", refusal="No."),
        Block(type="message", role="assistant", content=[{"type": "text", "text": "No."}]),
        {"role": "assistant", "content": [Block(type="text", text="No.")]},
        {"role": "assistant", "content": (Block(type="text", text="No."),)},
    ],
)
def test_what_the_assistant_said_is_kept_in_any_form(message):
    """A refusal is an answer; objects of an SDK are read whole and in parts."""
    assert parse_message(message) == [NewMessage(role="assistant", content="No.")]


def test_calls_of_the_old_chat_form_are_answered_under_their_name():
    """A ``function_call`` has no id: the ``function`` message names it."""
    assert parse_messages(
        [
            {
                "role": "assistant",
                "content": None,
                "function_call": {"name": "w", "arguments": '{"a": 1}'},
            },
            {"role": "function", "name": "w", "content": "sun"},
        ]
    ) == [
        NewMessage(role="assistant", content="", tool_calls=(ToolCall("w", "w", '{"a": 1}'),)),
        NewMessage(role="tool", content="sun", tool_result=ToolResult("w")),
    ]


@each_row(
    "thought",
    [
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]},
        ResponseReasoningItem(id="rs_1", type="reasoning", summary=[]),
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "hm", "signature": "x"}],
        },
        {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}]},
    ],
)
def test_reasoning_is_kept_and_no_part_of_what_was_said(thought):
    """What a model thought is a message without a text, so that nothing learns from it."""
    assert parse_message(thought) == [NewMessage(role="assistant", content="")]
    [new] = parse.parse_messages([thought])
    given = thought if isinstance(thought, dict) else thought.model_dump(exclude_unset=True)
    assert new.raw == given


def test_results_of_tools_are_turns_of_their_own_and_hold_text_and_pictures():
    """Anthropic's user message gives a turn for each result, and for what the user said."""
    message = {
        "role": "user",
        "timestamp": "2024-01-01T00:00:00Z",
        "content": [
            {"type": "tool_result", "tool_use_id": "a"},
            {
                "type": "tool_result",
                "tool_use_id": "b",
                "is_error": True,
                "content": [
                    {"type": "text", "text": "no"},
                    {"type": "image", "source": {"type": "url", "url": PICTURE}},
                    {"type": "search_result", "title": "T"},
                ],
            },
            {"type": "text", "text": "go on"},
        ],
    }
    at = datetime(2024, 1, 1, tzinfo=UTC)
    assert parse_message(message) == [
        NewMessage(role="tool", content="", tool_result=ToolResult("a"), timestamp=at),
        NewMessage(
            role="tool",
            content='no\n{"type": "search_result", "title": "T"}',
            tool_result=ToolResult("b", is_error=True),
            images=(Image(PICTURE),),
            timestamp=at,
        ),
        NewMessage(role="user", content="go on", timestamp=at),
    ]


@each_row(
    ("content", "text"), [([], ""), (None, ""), ({"a": 1}, '{"a": 1}'), ([5], "5"), ("x", "x")]
)
def test_a_result_is_kept_whatever_it_holds(content, text):
    """A tool message always answers its call; what is no text stays as JSON."""
    message = {"role": "tool", "tool_call_id": "a", "content": content}
    assert parse_message(message) == [
        NewMessage(role="tool", content=text, tool_result=ToolResult("a"))
    ]


@each_row(
    ("named", "answered"),
    [
        ({"tool_call_id": "a", "name": "f"}, "a"),
        ({"tool_call_id": "", "name": "f"}, ""),
        ({"tool_call_id": None, "name": "f"}, "f"),
        ({"name": "f"}, "f"),
        ({}, ""),
    ],
)
def test_a_result_answers_the_id_or_else_the_name(named, answered):
    """Only where there is no id at all does the name of the function stand for it."""
    [turn] = parse_message({"role": "tool", "content": "x"} | named)
    assert turn.tool_result == ToolResult(answered)


def test_each_item_is_a_turn():
    """Text, calls and reasoning of OpenAI's responses are messages of their own."""
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "so?"}]},
        ResponseReasoningItem(id="rs_1", type="reasoning", summary=[]),
        ResponseOutputMessage(
            id="msg_1",
            type="message",
            role="assistant",
            status="completed",
            content=[{"type": "output_text", "text": "I look.", "annotations": []}],
        ),
        ResponseFunctionToolCall(
            type="function_call", id="fc_1", call_id="a", name="f", arguments="{}"
        ),
        ResponseReasoningItem(id="rs_2", type="reasoning", summary=[]),
        {"type": "function_call", "call_id": "b", "name": "g", "arguments": ""},
        ResponseFunctionToolCallOutputItem(
            id="fo_1",
            type="function_call_output",
            call_id="b",
            output=[
                {"type": "input_text", "text": "1"},
                {"type": "input_image", "image_url": PICTURE, "detail": "auto"},
            ],
            status="completed",
        ),
        {"type": "function_call_output", "call_id": "a", "output": "2"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "[1]"},
        {"type": "message", "role": "assistant", "content": "Wait."},
        {"type": "function_call_output", "call_id": "c", "output": "3"},
        {"type": "message", "role": "assistant", "content": "Done."},
        {"type": "message", "role": "assistant", "content": "Anything else?"},
    ]
    assert parse_messages(items) == [
        NewMessage(role="user", content="so?"),
        NewMessage(role="assistant", content=""),
        NewMessage(role="assistant", content="I look."),
        NewMessage(role="assistant", content="", tool_calls=(ToolCall("a", "f"),)),
        NewMessage(role="assistant", content=""),
        NewMessage(role="assistant", content="", tool_calls=(ToolCall("b", "g"),)),
        NewMessage(role="tool", content="1", tool_result=ToolResult("b"), images=(Image(PICTURE),)),
        NewMessage(role="tool", content="2", tool_result=ToolResult("a")),
        NewMessage(role="assistant", content="", tool_calls=(ToolCall("c", "f", "[1]"),)),
        NewMessage(role="assistant", content="Wait."),
        NewMessage(role="tool", content="3", tool_result=ToolResult("c")),
        NewMessage(role="assistant", content="Done."),
        NewMessage(role="assistant", content="Anything else?"),
    ]


def test_messages_of_our_own_are_read_as_they_are():
    """A message gives the turn it was made of; a turn is one already."""
    turn = NewMessage(
        role="user",
        content="a",
        timestamp=datetime(2024, 1, 1, tzinfo=UTC),
        images=(Image(PICTURE),),
        task="t",
    )
    message = Message(
        id="m",
        tokens=1,
        role=turn.role,
        content=turn.content,
        timestamp=datetime(2024, 1, 1, tzinfo=UTC),
        images=turn.images,
        task=turn.task,
    )
    assert parse_messages([turn, message]) == [turn, turn]


@each_row(
    ("given", "kept"),
    [
        ({"a": "ü"}, '{"a": "ü"}'),
        ({"unparsed_arguments": "[1]"}, "[1]"),
        ({"unparsed_arguments": 5}, '{"unparsed_arguments": 5}'),
        ({"unparsed_arguments": "x", "b": 1}, '{"unparsed_arguments": "x", "b": 1}'),
        ('{"a":1}', '{"a":1}'),
        ("", "{}"),
        (None, "{}"),
    ],
)
def test_arguments_are_kept_as_json_text(given, kept):
    """Text as it is, an object as JSON; only what was wrapped for Anthropic is unwrapped."""
    use = {"type": "tool_use", "id": "a", "name": "f", "input": given}
    function = {"name": "f", "arguments": given}
    for message in (
        {"role": "assistant", "content": [use]},
        {"role": "assistant", "tool_calls": [{"id": "a", "function": function}]},
        {"type": "function_call", "call_id": "a"} | function,
    ):
        assert parse_message(message)[0].tool_calls == (ToolCall("a", "f", kept),)


def calling(*ids):
    """Return a chat message that calls, one function for each id."""
    function = {"name": "f", "arguments": "{}"}
    calls = [{"id": known, "function": function} for known in ids]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def answering(*ids):
    """Return chat messages that answer the calls, numbered in order."""
    return [
        {"role": "tool", "tool_call_id": known, "content": f"{number}"}
        for number, known in enumerate(ids, 1)
    ]


@each_row(
    ("ids", "answered", "pairs"),
    [
        (["", ""], ["", ""], ["1", "2"]),
        (["x", "x"], ["x", "x"], ["1", "2"]),
        (["", "a", ""], ["a", "", ""], ["2", "1", "3"]),
        ([None, None], ["", ""], ["1", "2"]),
        (["a", "b"], ["b", "a"], ["2", "1"]),
        ([""], [""], ["1"]),
    ],
)
def test_parallel_calls_that_ids_do_not_tell_apart_are_told_apart_by_order(ids, answered, pairs):
    """Law 2: what came without ids of its own is repaired, so that no result is an orphan."""
    turn, *results = parse_messages([calling(*ids), *answering(*answered)])
    found = {item.tool_result.call_id: item.content for item in results}
    assert [found[call.id] for call in turn.tool_calls] == pairs


def test_calls_that_cannot_be_repaired_stay_as_they_are():
    """With a result missing nobody can say which call the others answer."""
    turn, *results = parse_messages(
        [calling("x", "x"), *answering("x"), {"role": "user", "content": "?"}]
    )
    assert [call.id for call in turn.tool_calls] == ["x", "x"]
    assert results[0].tool_result == ToolResult("x")


class Unreadable:
    """An object of an SDK that cannot be read."""

    def model_dump(self, **_options):
        """Fail."""
        message = "broken"
        raise ValueError(message)


@each_row(
    ("message", "fault"),
    [
        ({"role": "assistant", "function_call": {}}, "a function_call needs a name"),
        (
            {"role": "assistant", "tool_calls": [{"type": "custom", "custom": {"name": "f"}}]},
            "a tool call needs function.name",
        ),
        ({"role": "user", "content": {"text": "x"}}, "content must be text or a list of blocks"),
        (Unreadable(), "an object of a message cannot be read .broken."),
        (Block, "a message must be a mapping with role and content"),
        ("hello", "a message must be a mapping with role and content, got 'hello'"),
    ],
)
def test_what_is_not_understood_is_named(message, fault):
    """No part of a message is dropped in silence."""
    with pytest.raises(InvalidInput, match=fault):
        parse_message(message)
    with pytest.raises(InvalidInput, match=fault):
        parse_messages([{"role": "user", "content": "a"}, message])
