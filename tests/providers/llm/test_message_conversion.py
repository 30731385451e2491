"""What a conversation becomes before it is sent: in turn, answered, whole."""

import base64
from datetime import UTC, datetime
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai import (
    ImageUrl,
    ModelRequest,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.messages import INTERRUPTED_TOOL_RETURN_CONTENT as NO_RESULT
from tables import each_row

from memoranda.conversation.formats.render import render
from memoranda.errors import InvalidInput
from memoranda.model.models import Image, Marker, Message, ToolCall, ToolResult
from memoranda.providers.llm.message_conversion import (
    CALL_ID,
    GO_ON,
    NOTE,
    OPENING,
    STRAY,
    to_model_messages,
)
from memoranda.providers.llm.spec import parse_spec

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
OPENAI = parse_spec("openai:gpt-5")
COMPATIBLE = parse_spec("openai:llama3@http://localhost:11434/v1")
ANTHROPIC = parse_spec("anthropic:claude-haiku-4-5")
PIXEL = base64.b64encode(b"pixel").decode()


class System(NamedTuple):
    """A system prompt."""

    text: str


class Picture(NamedTuple):
    """A picture: its place, or its bytes and their media type."""

    url: str = ""
    data: bytes = b""
    media_type: str = ""
    detail: str | None = None


class UserText(NamedTuple):
    """What the user says and shows."""

    content: tuple[str | Picture, ...] | str


class Call(NamedTuple):
    """A call that the assistant made."""

    id: str
    name: str
    arguments: dict


class Result(NamedTuple):
    """What a tool answered."""

    id: str
    name: str
    text: str
    is_error: bool = False


class Request(NamedTuple):
    """A request."""

    parts: list


class Response(NamedTuple):
    """A response."""

    text: str
    calls: tuple[Call, ...] = ()


def turns(given_messages, form):
    """Convert messages, and return what can be compared in them."""
    return [_turn(message) for message in to_model_messages(given_messages, form)]


def _turn(message):
    if isinstance(message, ModelRequest):
        return Request([_part(part) for part in message.parts])
    texts = [part.content for part in message.parts if isinstance(part, TextPart)]
    calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
    return Response(
        "".join(texts), tuple(Call(c.tool_call_id, c.tool_name, c.args_as_dict()) for c in calls)
    )


def _part(part):
    match part:
        case SystemPromptPart():
            return System(part.content)
        case ToolReturnPart():
            failed = part.outcome == "failed"
            return Result(part.tool_call_id, part.tool_name, part.content or "", failed)
    if isinstance(part.content, str):
        return UserText(part.content)
    return UserText(
        tuple(each if isinstance(each, str) else _picture(each) for each in part.content)
    )


def _picture(item):
    detail = (item.vendor_metadata or {}).get("detail")
    if isinstance(item, ImageUrl):
        return Picture(url=item.url, detail=detail)
    return Picture(data=item.data, media_type=item.media_type, detail=detail)


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


ids = st.sampled_from(["a", "b", "a b", "", "x" * 60])
texts = st.sampled_from([None, "", "  ", "word", "zwei Wörter", "例え 😀", "<b>"])
parts = st.lists(
    st.one_of(
        texts.map(lambda text: {"type": "text", "text": text or ""}),
        st.sampled_from(
            ["https://h/p.png", "http://h/p", f"data:image/png;base64,{PIXEL}", "x:y"]
        ).map(lambda url: {"type": "image_url", "image_url": {"url": url}}),
    ),
    max_size=3,
)
messages = st.lists(
    st.one_of(
        st.builds(lambda text: {"role": "system", "content": text}, texts),
        st.builds(user, texts | parts),
        st.builds(lambda text: {"role": "assistant", "content": text}, texts),
        st.builds(lambda keys, text: called(*keys, text=text), st.lists(ids, max_size=3), texts),
        st.builds(result, ids, texts | parts, is_error=st.booleans()),
    ),
    min_size=1,
    max_size=12,
)
forms = st.sampled_from([OPENAI, COMPATIBLE, ANTHROPIC, parse_spec("anthropic:x@http://h")])


@given(messages, forms)
def test_every_call_is_answered_at_once_and_once(given_messages, form):
    """Results stand right after their calls, in order, and nowhere else; ids are sent as ids."""
    found = turns(given_messages, form)
    used = []
    for turn, after in zip(found, [*found[1:], None], strict=True):
        if isinstance(turn, Response):
            keys = [call.id for call in turn.calls]
            used += keys
            if keys:
                answers = after.parts[: len(keys)]
                found_keys = [answer.id for answer in answers]
                assert (sorted(found_keys) if form is OPENAI else found_keys) == (
                    sorted(keys) if form is OPENAI else keys
                )
        else:
            results = [part for part in turn.parts if isinstance(part, Result)]
            before = turn.parts[: len(results)]
            assert results == before
    assert len(set(used)) == len(used)
    assert all(CALL_ID.fullmatch(key) for key in used)
    assert len(used) == sum(
        isinstance(part, Result)
        for turn in found
        if isinstance(turn, Request)
        for part in turn.parts
    )


@given(messages, st.sampled_from([COMPATIBLE, ANTHROPIC]))
def test_user_and_assistant_alternate(given_messages, form):
    """The user begins and ends, nobody speaks twice, and the system speaks first or never."""
    found = turns(given_messages, form)
    assert [type(turn) for turn in found] == [(Request, Response)[n % 2] for n in range(len(found))]
    assert isinstance(found[-1], Request)
    for turn in found[::2]:
        kinds = [type(part) for part in turn.parts]
        assert kinds.count(UserText) <= 1
        assert System not in (kinds[1:] if turn is found[0] else kinds)
        assert set(kinds) != {System}


@given(messages, forms)
def test_nothing_said_is_lost_and_nothing_blank_is_sent(given_messages, form):
    """Each text stands somewhere in what is sent, as often as it was said."""
    found = turns(given_messages, form)
    sent = []
    for turn in found:
        if isinstance(turn, Response):
            assert turn.text.strip() or turn.calls
            sent.append(turn.text)
            continue
        for part in turn.parts:
            if isinstance(part, UserText):
                assert part.content
                items = [part.content] if isinstance(part.content, str) else part.content
                assert all(isinstance(item, Picture) or item.strip() for item in items)
                sent += [item for item in items if isinstance(item, str)]
            else:
                sent.append(part.text)
    whole = "\n".join(sent)
    said = [text for message in given_messages for text in _texts(message)]
    for text in set(said):
        assert whole.count(text) >= said.count(text)


def _texts(message):
    content = message["content"]
    if isinstance(content, list):
        found = [part["text"] for part in content if part["type"] == "text"]
    else:
        found = [content or ""]
    return [text for text in found if text.strip()]


def test_a_plain_exchange_stays_as_it_is():
    """What is in order already is passed on word by word."""
    given_messages = [
        {"role": "system", "content": "Be kind."},
        user("Where?"),
        called("c1", text="I look.", arguments='{"q": "x"}'),
        result("c1", "Here."),
        {"role": "assistant", "content": "Here."},
        user("Thanks."),
    ]
    expected = [
        Request([System("Be kind."), UserText("Where?")]),
        Response("I look.", (Call("c1", "look", {"q": "x"}),)),
        Request([Result("c1", "look", "Here.")]),
        Response("Here."),
        Request([UserText("Thanks.")]),
    ]
    for form in (OPENAI, COMPATIBLE, ANTHROPIC):
        assert turns(given_messages, form) == expected


def test_what_memoranda_renders_is_read_whole():
    """A context with markers, memory, pictures and parallel calls comes through in its order."""

    def message(role, content, **more):
        return Message(id="m", role=role, content=content, timestamp=NOW, tokens=1, **more)

    marker = Marker(
        id="cut_1-2",
        first=1,
        last=2,
        messages=2,
        tokens=9,
        since=NOW,
        until=NOW,
        why="full",
        text="[2 messages are left out]",
        cost=5,
    )
    entries = [
        marker,
        message("user", "Look here.", images=(Image(f"data:image/png;base64,{PIXEL}", "low"),)),
        message(
            "assistant", "", tool_calls=(ToolCall("c1", "look"), ToolCall("c2", "look", "{no"))
        ),
        message("tool", "one", tool_result=ToolResult("c1")),
        message("tool", "two", tool_result=ToolResult("c2", is_error=True)),
        message("assistant", "Both."),
    ]
    context = render(
        entries, form="openai", system="Be kind.", recalled="M", prompt="And?", recalled_last=True
    ).messages
    picture = Picture(data=b"pixel", media_type="image/png", detail="low")
    calls = (Call("c1", "look", {}), Call("c2", "look", {"INVALID_JSON": "{no"}))
    results = [Result("c1", "look", "one"), Result("c2", "look", "two")]
    assert turns(context, OPENAI) == [
        Request(
            [System("Be kind.\n\n[2 messages are left out]"), UserText(("Look here.", picture))]
        ),
        Response("", calls),
        Request(results),
        Response("Both."),
        Request([System("M"), UserText("And?")]),
    ]
    *_, last = turns(context, ANTHROPIC)
    assert last == Request([UserText(NOTE.format(text="M") + "\n\nAnd?")])


def test_a_call_without_a_result_gets_one_that_says_so():
    """An interrupted exchange is closed, with those of its results that are there."""
    given_messages = [user("x"), called("a", "b"), user("Never mind."), result("b", "done")]
    parts = [Result("a", "look", NO_RESULT), Result("b", "look", "done"), UserText("Never mind.")]
    assert turns(given_messages, ANTHROPIC)[2] == Request(parts)


def test_a_result_without_a_call_is_told_as_text():
    """What a tool said is kept, where the call is out of view."""
    assert turns([result("gone", "42"), user("So?")], ANTHROPIC) == [
        Request([UserText(STRAY.format(text="42") + "\n\nSo?")])
    ]


def test_ids_used_again_stay_apart():
    """The same id in two exchanges is two ids, and each result goes with its own call."""
    given_messages = [user("x"), called("a"), result("a", "1"), called("a"), result("a", "2")]
    found = turns(given_messages, ANTHROPIC)
    assert [turn.calls[0].id for turn in found if isinstance(turn, Response)] == ["a", "a_2"]
    assert found[-1].parts == [Result("a_2", "look", "2")]


def test_the_user_begins_and_ends_where_that_is_wanted():
    """A talk of the assistant alone is framed; OpenAI itself needs no frame."""
    alone = [{"role": "assistant", "content": "Hello!"}]
    assert turns(alone, COMPATIBLE) == [
        Request([UserText(OPENING)]),
        Response("Hello!"),
        Request([UserText(GO_ON)]),
    ]
    assert turns(alone, OPENAI) == [Response("Hello!")]
    assert turns([{"role": "system", "content": "S"}], ANTHROPIC) == [
        Request([System("S"), UserText(OPENING)])
    ]


@each_row(
    ("url", "form", "sent"),
    [
        ("https://h/p.png", ANTHROPIC, Picture(url="https://h/p.png", detail="high")),
        ("http://h/p.png", OPENAI, Picture(url="http://h/p.png", detail="high")),
        ("http://h/p.png", ANTHROPIC, "[image: http://h/p.png]"),
        (
            f"data:image/JPG;base64,{PIXEL}",
            ANTHROPIC,
            Picture(data=b"pixel", media_type="image/jpeg", detail="high"),
        ),
        (f"data:image/tiff;base64,{PIXEL}", OPENAI, "[image: image/tiff]"),
        ("data:image/png;base64,no!", OPENAI, "[image: image/png]"),
        ("data:,x", OPENAI, "[image: data]"),
        ("file:///etc/passwd", COMPATIBLE, "[image: file:///etc/passwd]"),
    ],
)
def test_a_picture_that_would_be_refused_is_named(url, form, sent):
    """One picture of a wrong kind does not cost the whole call."""
    part = {"type": "image_url", "image_url": {"url": url, "detail": "high"}}
    [turn] = turns([user([part])], form)
    assert turn == Request([UserText(sent if isinstance(sent, str) else (sent,))])


def test_pictures_of_a_result_follow_all_results():
    """A tool may show something; it is seen after the words of all tools."""
    part = {"type": "image_url", "image_url": {"url": "https://h/p.png"}}
    shown = [{"type": "text", "text": "See:"}, part]
    found = turns([user("x"), called("a", "b"), result("a", shown), result("b", "2")], ANTHROPIC)
    assert found[-1].parts == [
        Result("a", "look", "See:"),
        Result("b", "look", "2"),
        UserText((Picture(url="https://h/p.png"),)),
    ]


@each_row(
    "wrong",
    [
        [],
        ["hello"],
        [{"role": "narrator", "content": "x"}],
        [{"content": "x"}],
        [{"role": "user", "content": 7}],
        [{"role": "user", "content": [7]}],
        [{"role": "assistant", "tool_calls": [{"id": "a"}]}],
    ],
)
def test_what_is_no_conversation_is_refused(wrong):
    """The error shows what was given and what to give."""
    with pytest.raises(InvalidInput, match=r"give|empty"):
        turns(wrong, OPENAI)
