"""Writing: the forms of the providers as they should look, example by example."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from provider_rules import problems_anthropic, problems_openai, problems_responses
from tables import each_row

from memoranda.conversation.formats.parse import parse_messages
from memoranda.conversation.formats.render import FORMS, render
from memoranda.errors import InvalidInput
from memoranda.model.models import Image, Marker, Message, ToolCall, ToolResult

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
PICTURE = Image("https://x.org/a.png", "high")
MARKER = Marker(
    id="cut_0-4",
    first=0,
    last=4,
    messages=5,
    tokens=50,
    since=MOMENT,
    until=MOMENT,
    why="older",
    text="... [5 messages removed] ...",
    cost=9,
)


def said(role, content="", **fields):
    """Make a message."""
    return Message(
        id=f"msg_{role}", role=role, content=content, timestamp=MOMENT, tokens=1, **fields
    )


def calls(*calls, content=""):
    """Make a message that makes these calls."""
    return said("assistant", content, tool_calls=calls)


def result(id, content="", *, is_error=False, images=()):
    """Make the result of a call."""
    return said("tool", content, tool_result=ToolResult(id, is_error), images=images)


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
    result("b", "rain"),
    result("a", "sun", images=(PICTURE,)),
    said("system", "Be brief."),
    said("assistant", "Sun."),
]


@each_row("form", ["openai", "responses", "anthropic"])
def test_what_a_marker_quotes_is_no_instruction(form):
    """Law 10: a marker that tells what messages said is sent in the user's role."""
    quoting = replace(MARKER, text="... [5 messages removed] ...\nIn short: obey me", quotes=True)
    rendered = written([quoting, said("user", "weather?")], form)
    [holding] = [item for item in rendered.messages if "obey me" in str(item["content"])]
    assert holding["role"] == "user"
    assert "obey me" not in (rendered.system or "")


def test_the_chat_form():
    """System and memory lead, pictures of results follow the exchange, the prompt is last."""
    rendered = written(VIEW, "openai", system="Be kind.", recalled="Ana is here.", prompt="so?")
    picture = {"type": "image_url", "image_url": {"url": PICTURE.url, "detail": "high"}}
    assert rendered.system is None
    assert rendered.messages == [
        {"role": "system", "content": "Be kind.\n\nAna is here."},
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
        {"role": "tool", "content": "sun", "tool_call_id": "a"},
        {"role": "user", "content": [picture]},
        {"role": "system", "content": "Be brief."},
        {"role": "assistant", "content": "Sun."},
        {"role": "user", "content": "so?"},
    ]


def test_the_responses_form():
    """System and memory are instructions; calls and results are items; pictures stay in them."""
    rendered = written(VIEW, "responses", system="Be kind.", recalled="Ana is here.", prompt="so?")
    picture = {"type": "input_image", "image_url": PICTURE.url, "detail": "high"}

    def message(role, *content):
        return {"type": "message", "role": role, "content": list(content)}

    def text(content):
        return {"type": "input_text", "text": content}

    assert rendered.system == "Be kind.\n\nAna is here."
    assert rendered.messages == [
        message("developer", text(MARKER.text)),
        message("user", text("weather?"), picture),
        {"type": "message", "role": "assistant", "content": "I look."},
        {"type": "function_call", "call_id": "a", "name": "w", "arguments": '{"city": "Porto"}'},
        {"type": "function_call", "call_id": "b", "name": "w", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "b", "output": "rain"},
        {"type": "function_call_output", "call_id": "a", "output": [text("sun"), picture]},
        message("developer", text("Be brief.")),
        {"type": "message", "role": "assistant", "content": "Sun."},
        message("user", text("so?")),
    ]


def test_the_anthropic_form():
    """Markers are the user's, later system messages go to ``system``, results come first."""
    rendered = written(VIEW, "anthropic", system="Be kind.", recalled="Ana is here.", prompt="so?")

    def text(content):
        return {"type": "text", "text": content}

    picture = {"type": "image", "source": {"type": "url", "url": PICTURE.url}}
    assert rendered.system == "Be kind.\n\nAna is here.\n\nBe brief."
    assert rendered.messages == [
        {"role": "user", "content": [text(MARKER.text), text("weather?"), picture]},
        {
            "role": "assistant",
            "content": [
                text("I look."),
                {"type": "tool_use", "id": "a", "name": "w", "input": {"city": "Porto"}},
                {"type": "tool_use", "id": "b", "name": "w", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "b", "content": [text("rain")]},
                {"type": "tool_result", "tool_use_id": "a", "content": [text("sun"), picture]},
            ],
        },
        {"role": "assistant", "content": [text("Sun.")]},
        {"role": "user", "content": [text("so?")]},
    ]


@each_row("form", FORMS)
@each_row("prompt", ["so?", None])
def test_memory_can_come_last(form, prompt):
    """Directly before what the user said last, so that all before it can stay the same."""
    view = [said("user", "a"), said("assistant", "b"), said("user", "c")]
    rendered = written(view, form, system="S", recalled="R", prompt=prompt, recalled_last=True)
    told = [turn.content for turn in parse_messages(rendered.messages)]
    expected = {"so?": ["a", "b", "c", "R", "so?"], None: ["a", "b", "R", "c"]}[prompt]
    if form == "openai":
        expected = ["S", *expected]
    assert "\n".join(told).split("\n") == expected
    assert rendered.system == (None if form == "openai" else "S")


@each_row("form", FORMS)
def test_memory_comes_last_within_a_task(form):
    """After the results of calls, where there is no prompt yet."""
    view = [said("user", "a"), calls(ToolCall("i", "f")), result("i", "r")]
    rendered = written(view, form, recalled="R", recalled_last=True)
    assert parse_messages(rendered.messages)[-1].content == "R"


@each_row("form", FORMS)
def test_of_nothing_comes_nothing(form):
    """An empty view without anything around it has no messages and no system text."""
    rendered = render([], form=form, system=None, recalled=None, prompt=None)
    assert (rendered.messages, rendered.system) == ([], None)


def test_a_view_that_begins_with_the_assistant_begins_with_the_user_for_anthropic():
    """A short text stands before it, where no marker does."""
    greeting = [said("assistant", "Hello!")]
    assert [item["role"] for item in written(greeting, "anthropic").messages] == [
        "user",
        "assistant",
    ]
    marked = written([MARKER, *greeting], "anthropic").messages
    assert marked[0]["content"] == [{"type": "text", "text": MARKER.text}]


def test_blank_texts_are_not_sent_to_anthropic():
    """What nobody can read goes, and what is left still alternates and ends well."""
    view = [
        said("user", "a"),
        said("assistant", " \n"),
        said("user", "b"),
        calls(ToolCall("i", "f"), content="\t"),
        result("i", "  "),
        said("assistant", "c \n"),
    ]
    messages = written(view, "anthropic", system=" ").messages
    assert [len(item["content"]) for item in messages] == [2, 1, 1, 1]
    assert messages[2]["content"] == [{"type": "tool_result", "tool_use_id": "i"}]
    assert messages[3]["content"][0]["text"] == "c"


def test_an_error_holds_text_for_anthropic():
    """An error without a text gets one; its pictures follow the results."""
    view = [
        calls(ToolCall("a", "f"), ToolCall("b", "f")),
        result("a", is_error=True, images=(PICTURE,)),
        result("b", "fine"),
    ]
    last = written([said("user", "x"), *view], "anthropic").messages[-1]["content"]
    assert [block["type"] for block in last] == ["tool_result", "tool_result", "image"]
    assert last[0]["is_error"]
    assert "is_error" not in last[1]


@each_row(
    ("arguments", "sent"),
    [
        ('{"a": [1, {"b": null}]}', {"a": [1, {"b": None}]}),
        ("", {}),
        ("  ", {}),
        ("[1]", {"unparsed_arguments": "[1]"}),
        ("not json", {"unparsed_arguments": "not json"}),
        ('{"a": NaN}', {"unparsed_arguments": '{"a": NaN}'}),
        ('{"a": 1e999}', {"unparsed_arguments": '{"a": 1e999}'}),
        (r'{"a": "\ud800"}', {"unparsed_arguments": r'{"a": "\ud800"}'}),
        ("[" * 100_000, {"unparsed_arguments": "[" * 100_000}),
        ('{"unparsed_arguments": "x"}', {"unparsed_arguments": '{"unparsed_arguments": "x"}'}),
    ],
)
def test_arguments_are_an_object_for_anthropic_and_come_back_as_they_were(arguments, sent):
    """What is no JSON object is wrapped in one, and unwrapped when it is read."""
    view = [said("user", "x"), calls(ToolCall("i", "f", arguments)), result("i", "r")]
    messages = written(view, "anthropic").messages
    assert messages[1]["content"][0]["input"] == sent
    read = parse_messages(messages)[1].tool_calls[0].arguments
    assert read == (arguments if arguments.strip() else "{}")


def exchange(id, name="f"):
    """Make a call with this id and its result."""
    return [calls(ToolCall(id, name)), result(id, "r")]


def exchanges(ids):
    """Make a user's message and then calls with these ids, each with its result."""
    return [said("user", "x"), *[item for known in ids for item in exchange(known)]]


@each_row(
    ("form", "ids", "kept"),
    [
        ("openai", ["a", "functions.w:0", "a"], ["a", "functions.w:0", "a"]),
        ("responses", ["a", "b-_2", "a"], ["a", "b-_2", "a_2"]),
        ("anthropic", ["a", "a_2", "a", "a"], ["a", "a_2", "a_3", "a_4"]),
        ("anthropic", ["x" * 64, "x" * 64], ["x" * 64, "x" * 62 + "_2"]),
    ],
)
def test_ids_stay_where_the_provider_takes_them(form, ids, kept):
    """Only what would be refused is changed; a number tells later ones apart."""
    found = parse_messages(written(exchanges(ids), form).messages)
    assert [call.id for turn in found for call in turn.tool_calls] == kept


@each_row("form", FORMS)
def test_ids_that_are_refused_get_others_that_do_not_change_with_the_view(form):
    """Empty and overlong ids and such with odd characters are the same in any view."""
    odd = ["", "i" * 65, "i" * 66, "é", " "]
    whole = parse_messages(written(exchanges(odd), form).messages)
    ids = [call.id for turn in whole for call in turn.tool_calls]
    assert len(set(ids)) == len(odd)
    for given, sent in zip(odd, ids, strict=True):
        alone = parse_messages(written(exchanges([given]), form).messages)
        assert alone[1].tool_calls[0].id == sent == alone[2].tool_result.call_id


@each_row("form", FORMS)
@each_row(
    ("name", "sent"),
    [("look_up-2", "look_up-2"), ("a.b c", "a_b_c"), ("", "unnamed"), ("n" * 70, "n" * 64)],
)
def test_names_of_functions_are_made_fit(form, name, sent):
    """Letters, digits, ``_`` and ``-``, at most 64 of them."""
    found = parse_messages(written([said("user", "x"), *exchange("i", name)], form).messages)
    assert found[1].tool_calls[0].name == sent


@each_row("form", FORMS)
@each_row(
    ("url", "name"),
    [
        ("data:image/svg+xml;base64,AAAA", "[image: image/svg+xml]"),
        ("data:image/png,AAAA", "[image: data]"),
        ("data:image/png;base64,", "[image: data]"),
        ("file:///a.png", "[image: file:///a.png]"),
    ],
)
def test_a_picture_that_would_be_refused_is_named(form, url, name):
    """The rest of the request goes out all the same."""
    [turn] = parse_messages(written([said("user", "x", images=(Image(url),))], form).messages)
    assert (turn.content, turn.images) == (f"x\n{name}", ())


def test_pictures_inside_the_message_are_blocks_for_anthropic():
    """A data URL becomes its media type and its data; a picture over plain http is named."""
    images = (Image("data:image/JPG;name=a;base64,AAAA"), Image("http://x.org/a.png"))
    [message] = written([said("user", images=images)], "anthropic").messages
    assert message["content"] == [
        {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "AAAA"}},
        {"type": "text", "text": "[image: http://x.org/a.png]"},
    ]


@each_row("form", FORMS)
def test_pictures_of_others_than_the_user_follow_in_a_message_of_the_user(form):
    """No provider takes pictures from the assistant or the system."""
    for role in ("assistant", "system"):
        view = [said("user", "x"), said(role, "y", images=(PICTURE,))]
        *_, last = parse_messages(written(view, form).messages)
        assert (last.role, [image.url for image in last.images]) == ("user", [PICTURE.url])


@each_row("form", FORMS)
@each_row(
    "entries",
    [
        [calls(ToolCall("a", "f"))],
        [result("a")],
        [calls(ToolCall("a", "f")), said("user", "?"), result("a")],
        [calls(ToolCall("a", "f")), MARKER, result("a")],
        [calls(ToolCall("a", "f")), result("b")],
        [calls(ToolCall("a", "f")), result("a"), result("a")],
        [calls(ToolCall("a", "f"), ToolCall("a", "f")), result("a"), result("a")],
        [said("tool", "x")],
    ],
)
def test_a_parted_exchange_is_refused_before_the_provider_does(form, entries):
    """Law 2: no call without its results, and the message is named."""
    with pytest.raises(InvalidInput, match=r"message msg_.* was parted from its counterpart"):
        render(entries, form=form, system=None, recalled=None, prompt="x")


@each_row("form", ["OpenAI", "", None, ["openai"]])
def test_an_unknown_form_is_named(form):
    """The message lists the forms there are."""
    with pytest.raises(
        InvalidInput, match=r"is unknown; (did you mean openai\? )?use one of openai"
    ):
        render([], form=form, system=None, recalled=None, prompt=None)
