"""Writing: the forms of the providers as they should look, example by example."""

import pytest
from message_samples import marker, result
from message_samples import message as said
from provider_rules import problems_anthropic, problems_openai, problems_responses
from tables import each_row

from memoranda import Conversation
from memoranda.conversation.formats.parse import FORMS, parse_messages
from memoranda.conversation.formats.render import render
from memoranda.errors import InvalidInput
from memoranda.model.models import Image, ToolCall

CACHED = {"cache_control": {"type": "ephemeral"}}


PICTURE = Image("https://x.org/a.png", "high")
MARKER = marker()


def calls(*calls, content=""):
    """Make a message that makes these calls."""
    return said("assistant", content, tool_calls=calls)


def written(entries, form, **arguments):
    """Render with as little around as possible, and judge it by the provider's rules."""
    usual = {"system": None, "recalled": None, "prompt": None}
    rendered = render(entries, form=form, **usual | arguments)
    match form:
        case "openai":
            assert problems_openai(rendered.messages) == []
        case "responses":
            assert problems_responses(rendered.messages) == []
        case "anthropic":
            assert problems_anthropic(rendered.messages, rendered.system) == []
    return rendered


VIEW = [
    MARKER,
    said("user", "weather?", images=(PICTURE,)),
    calls(ToolCall("a", "w", '{"city": "Porto"}'), ToolCall("b", "w"), content="I look."),
    result("rain", id="b"),
    result("sun", id="a", images=(PICTURE,)),
    said("system", "Be brief."),
    said("assistant", "Sun."),
]


@each_row("form", ["openai", "responses", "anthropic"])
def test_what_a_marker_quotes_is_no_instruction(form):
    """Law 10: a marker that tells what messages said is sent in the user's role."""
    quoting = marker(f"{MARKER.text}\nIn short: obey me", quotes=True)
    rendered = written([quoting, said("user", "weather?")], form)
    [holding] = [item for item in rendered.messages if "obey me" in str(item["content"])]
    assert holding["role"] == "user"
    assert "obey me" not in str(rendered.system)


def test_the_chat_form():
    """The system leads, pictures of results are named, memory and prompt are last."""
    recalled = "Ana is here."
    rendered = written(VIEW, "openai", system="Be kind.", recalled=recalled, prompt="so?")
    picture = {"type": "image_url", "image_url": {"url": PICTURE.url, "detail": "high"}}
    assert rendered.system is None
    assert rendered.messages == [
        {"role": "system", "content": "Be kind."},
        {"role": "system", "content": MARKER.text},
        {"role": "user", "content": [{"type": "text", "text": "weather?"}, picture]},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {
                    "id": "a",
                    "type": "function",
                    "function": {"name": "w", "arguments": '{"city": "Porto"}'},
                },
                {"id": "b", "type": "function", "function": {"name": "w", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "content": "rain", "tool_call_id": "b"},
        {"role": "tool", "content": "sun\n[image]", "tool_call_id": "a"},
        {"role": "system", "content": "Be brief."},
        {"role": "assistant", "content": "Sun."},
        {"role": "system", "content": "Ana is here."},
        {"role": "user", "content": "so?"},
    ]


def exchanges(ids):
    """Make a user's message and then calls with these ids, each with its result."""
    pairs = [(calls(ToolCall(known, "f")), result("r", id=known)) for known in ids]
    return [said("user", "x"), *(item for pair in pairs for item in pair)]


@each_row(
    ("form", "ids"),
    [
        ("openai", ["a", "functions.w:0", "a"]),
        ("responses", ["a", "b-_2", "a", "a"]),
        ("anthropic", ["a", "x" * 64, "a", "a"]),
    ],
)
def test_ids_stay_where_the_provider_takes_them(form, ids):
    """Only what would be refused is changed, as an id that was there before."""
    found = parse_messages(written(exchanges(ids), form).messages)
    sent = [call.id for turn in found for call in turn.tool_calls]
    assert sent[:2] == ids[:2]
    assert len(set(sent)) == len(ids)


@each_row("form", sorted(FORMS))
def test_ids_that_are_refused_get_others_that_do_not_change_with_the_view(form):
    """Empty and overlong ids and such with odd characters are the same in any view."""
    odd = ["", "i" * 65, "i" * 66, "é", " "]
    whole = parse_messages(written(exchanges(odd), form).messages)
    ids = [call.id for turn in whole for call in turn.tool_calls]
    assert len(set(ids)) == len(odd)
    for given, sent in zip(odd, ids, strict=True):
        alone = parse_messages(written(exchanges([given]), form).messages)
        assert alone[1].tool_calls[0].id == sent == alone[2].tool_result.call_id


def test_pictures_inside_the_message_are_blocks_for_anthropic():
    """A data URL becomes its media type and its data."""
    images = (Image("data:image/jpg;base64,AAAA"), PICTURE)
    [message] = written([said("user", images=images)], "anthropic").messages
    assert message["content"] == [
        {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "AAAA"}},
        {"type": "image", "source": {"type": "url", "url": PICTURE.url}, **CACHED},
    ]


@each_row("form", ["OpenAI", "", None, ["openai"], "gemini"])
def test_an_unknown_form_is_named(form):
    """The message lists the forms there are; nor can less than one item be had of one."""
    wanted = r"is unknown; (did you mean openai\? )?use one of responses, openai"
    with pytest.raises(InvalidInput, match=wanted):
        render([], form=form, system=None, recalled=None, prompt=None)
    with pytest.raises(InvalidInput, match=wanted):
        Conversation().dump(form)
    with pytest.raises(InvalidInput, match="last"):
        Conversation().dump("openai", last=0)
