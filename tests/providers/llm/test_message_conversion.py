"""What a conversation becomes before it is sent: in turn, answered, whole."""

import base64
from datetime import UTC, datetime

import pytest
from pydantic_ai import ImageUrl, ModelRequest, TextPart, ToolReturnPart
from pydantic_ai.messages import INTERRUPTED_TOOL_RETURN_CONTENT as NO_RESULT

from memoranda.conversation.formats.render import render
from memoranda.errors import InvalidInput
from memoranda.model.chat import FAILED, OPENING
from memoranda.model.models import Image, Marker, Message, ToolCall, ToolResult
from memoranda.providers.llm.message_conversion import NOTE, to_model_messages

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
PIXEL = base64.b64encode(b"pixel").decode()


def turns(given):
    """Convert messages, and return what can be compared in them: a list of parts each."""
    return [[_part(part) for part in message.parts] for message in to_model_messages(given)]


def _part(part):
    if isinstance(part, TextPart):
        return part.content
    if isinstance(part, ToolReturnPart):
        return (part.tool_call_id, part.content, part.outcome)
    if not hasattr(part, "content"):
        return (part.tool_call_id, part.tool_name, part.args_as_dict())
    if isinstance(part.content, str):
        return (part.part_kind.partition("-")[0], part.content)
    return ("user", *(each if isinstance(each, str) else _picture(each) for each in part.content))


def _picture(item):
    detail = (item.vendor_metadata or {}).get("detail")
    is_link = isinstance(item, ImageUrl)
    return (item.url, detail) if is_link else (item.data, item.media_type, detail)


def user(text):
    """Return what a user says."""
    return {"role": "user", "content": text}


def called(*ids, text="", arguments="{}"):
    """Return an assistant's message with calls."""
    calls = [
        {"id": key, "type": "function", "function": {"name": "look", "arguments": arguments}}
        for key in ids
    ]
    return {"role": "assistant", "content": text, "tool_calls": calls}


def result(key, text, **more):
    """Return a tool's message."""
    return {"role": "tool", "tool_call_id": key, "content": text, **more}


def test_what_memoranda_renders_is_read_whole():
    """A context with markers, memory, pictures and parallel calls comes through in its order."""

    def message(role, content, **more):
        return Message(id="m", role=role, content=content, timestamp=NOW, tokens=1, **more)

    why = {"since": NOW, "until": NOW, "why": "full", "text": "[2 messages are left out]"}
    entries = [
        Marker(id="cut_1-2", first=1, last=2, messages=2, tokens=9, cost=5, **why),
        message("user", "Look here.", images=(Image(f"data:image/png;base64,{PIXEL}", "low"),)),
        message(
            "assistant", "", tool_calls=(ToolCall("c1", "look"), ToolCall("c2", "look", "{no"))
        ),
        message("tool", "one", tool_result=ToolResult("c1")),
        message("tool", "two", tool_result=ToolResult("c2")),
        message("assistant", "Both."),
    ]
    context = render(
        entries, form="openai", system="Be kind.", recalled="M", prompt="And?"
    ).messages
    assert turns(context) == [
        [
            ("system", "Be kind.\n\n[2 messages are left out]"),
            ("user", "Look here.", (b"pixel", "image/png", "low")),
        ],
        [("call_1", "look", {}), ("call_2", "look", {"INVALID_JSON": "{no"})],
        [("call_1", "one", "success"), ("call_2", "two", "success")],
        ["Both."],
        [("user", NOTE.format(text="M") + "\n\nAnd?")],
    ]


def test_calls_are_numbered_and_keep_their_results():
    """Whatever ids a server gave, blank ones and the same one again: each goes with its own."""
    given = [user("x"), called("a b"), result("a b", "1"), called("a b"), result("a b", "2")]
    assert turns([*given, called(""), result("", "", is_error=True)]) == [
        [("user", "x")],
        [("call_1", "look", {})],
        [("call_1", "1", "success")],
        [("call_2", "look", {})],
        [("call_2", "2", "success")],
        [("call_3", "look", {})],
        [("call_3", FAILED, "failed")],
    ]


def test_the_name_of_a_speaker_stands_before_the_words():
    """No provider but one has a field for it; the name in a result is that of the function."""
    named = [user("Noon?") | {"name": "Bob"}, called("a"), result("a", "1", name="look")]
    assert turns(named)[0] == [("user", "Bob: Noon?")]
    assert turns(named)[2] == [("call_1", "1", "success")]


def test_a_call_without_a_result_gets_one_that_says_so():
    """An interrupted exchange is closed, with those of its results that are there."""
    given = [user("x"), called("a", "b"), user("Never mind."), result("b", "done")]
    last = turns(given)[2]
    assert sorted(last[:2]) == [("call_1", NO_RESULT, "interrupted"), ("call_2", "done", "success")]
    assert last[2] == ("user", "Never mind.")


def test_user_and_assistant_take_turns():
    """What one says in a row is one message, blanks are none, and the user begins."""
    blank = [{"type": "text", "text": " "}]
    given = [
        {"role": "assistant", "content": "Hello!"},
        user("One."),
        user(blank),
        {"role": "developer", "content": "It is noon."},
        user("Two."),
        {"role": "assistant", "content": "A"},
        {"role": "assistant", "content": " "},
        user("Three."),
    ]
    note = NOTE.format(text="It is noon.")
    assert turns(given) == [
        [("user", OPENING)],
        ["Hello!"],
        [("user", f"One.\n\n{note}\n\nTwo.")],
        ["A"],
        [("user", "Three.")],
    ]
    assert turns([{"role": "system", "content": "S"}]) == [[("system", "S"), ("user", OPENING)]]


def test_a_picture_that_would_be_refused_is_named():
    """One picture of a wrong kind does not cost the whole call; those of a tool come last."""
    for url, sent in (
        ("https://h/p.png", ("https://h/p.png", "high")),
        (f"data:image/JPG;base64,{PIXEL}", (b"pixel", "image/jpeg", "high")),
        ("http://h/p.png", "[image: http://h/p.png]"),
        (f"data:image/tiff;base64,{PIXEL}", "[image: image/tiff]"),
        ("data:image/png;base64,no!", "[image: image/png]"),
        ("file:///etc/passwd", "[image: file:///etc/passwd]"),
    ):
        part = {"type": "image_url", "image_url": {"url": url, "detail": "high"}}
        assert turns([user([part])]) == [[("user", sent)]]
        found = turns([user("x"), called("a", "b"), result("a", [part]), result("b", "2")])
        if not isinstance(sent, str):
            assert found[-1][2] == ("user", sent)
    assert isinstance(to_model_messages([user("x")])[0], ModelRequest)


def test_what_is_no_conversation_is_refused():
    """The error shows what was given and what to give."""
    custom = {"id": "a", "type": "custom", "custom": {"name": "grep", "input": "x"}}
    for wrong in (
        [{"role": "assistant", "tool_calls": [custom]}],
        [user("x"), result("gone", "42")],
    ):
        with pytest.raises(InvalidInput, match="give"):
            to_model_messages(wrong)
