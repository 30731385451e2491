"""The rules that the other tests judge by: they let through what is right and nothing else."""

import copy

from provider_rules import problems_anthropic, problems_openai, problems_responses
from tables import each_row

CHAT = [
    {"role": "system", "content": "Be kind."},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "what is it?"},
            {"type": "image_url", "image_url": {"url": "https://x.org/a.png", "detail": "low"}},
        ],
    },
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}},
            {"id": "b", "type": "function", "function": {"name": "f", "arguments": "{}"}},
        ],
    },
    {"role": "tool", "tool_call_id": "b", "content": ""},
    {"role": "tool", "tool_call_id": "a", "content": "a cat"},
    {"role": "assistant", "content": "A cat."},
]
ITEMS = [
    {
        "type": "message",
        "role": "user",
        "content": [
            {"type": "input_text", "text": "what is it?"},
            {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "auto"},
        ],
    },
    {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
    {"type": "function_call", "call_id": "b", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "b", "output": ""},
    {
        "type": "function_call_output",
        "call_id": "a",
        "output": [{"type": "input_text", "text": "a cat"}],
    },
    {"type": "message", "role": "assistant", "content": "A cat."},
]
TALK = [
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "what is it?"},
            {"type": "image", "source": {"type": "url", "url": "https://x.org/a.png"}},
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "a", "name": "f", "input": {}},
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "a",
                "is_error": True,
                "content": [{"type": "text", "text": "no"}],
            },
            {"type": "text", "text": "and now?"},
        ],
    },
    {"role": "assistant", "content": [{"type": "text", "text": "A cat."}]},
]


def changed(shapes, path, value):
    """Return a copy in which the value at ``path`` is another; ``None`` takes it out."""
    copied = copy.deepcopy(shapes)
    place = copied
    for step in path[:-1]:
        place = place[step]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return copied


def test_what_is_right_has_no_problems():
    """Requests as the references show them pass."""
    assert problems_openai(CHAT) == []
    assert problems_responses(ITEMS) == []
    assert problems_anthropic(TALK, "Be kind.") == []
    assert problems_anthropic(TALK, None) == []


@each_row(
    ("path", "value"),
    [
        ((3,), None),
        ((2,), None),
        ((2, "tool_calls"), []),
        ((2, "tool_calls", 0, "id"), "b"),
        ((2, "tool_calls", 0, "id"), ""),
        ((2, "tool_calls", 0, "id"), "i" * 41),
        ((2, "tool_calls", 0, "function", "name"), "a.b"),
        ((2, "tool_calls", 0, "function", "arguments"), {}),
        ((3, "tool_call_id"), "c"),
        ((1, "content"), []),
        ((1, "content", 0, "text"), ""),
        ((1, "content", 0, "type"), "input_text"),
        ((1, "content", 1, "image_url", "detail"), "tiny"),
        ((1, "content", 1, "image_url", "url"), "data:image/svg+xml;base64,AA=="),
        ((1, "role"), "assistant"),
        ((1, "role"), "robot"),
        ((5, "content"), None),
        ((0, "content"), "\ud800"),
        ((0, "images"), []),
    ],
)
def test_chat_messages_with_a_fault_have_problems(path, value):
    """Each rule of OpenAI's chat form can fail."""
    assert problems_openai(changed(CHAT, path, value))


@each_row(
    ("path", "value"),
    [
        ((1,), None),
        ((3,), None),
        ((2, "call_id"), "a"),
        ((2, "call_id"), "i" * 65),
        ((2, "call_id"), "b.c"),
        ((2, "name"), ""),
        ((2, "arguments"), {}),
        ((3, "call_id"), "c"),
        ((4, "output"), []),
        ((4, "output"), 5),
        ((0, "content"), []),
        ((0, "content", 0, "text"), ""),
        ((0, "content", 0, "type"), "text"),
        ((0, "content", 1, "detail"), None),
        ((5, "content"), [{"type": "output_text", "text": "A cat."}]),
        ((5, "role"), "tool"),
        ((5, "type"), "reasoning"),
        ((5, "timestamp"), "now"),
    ],
)
def test_input_items_with_a_fault_have_problems(path, value):
    """Each rule of OpenAI's responses form can fail."""
    assert problems_responses(changed(ITEMS, path, value))


@each_row(
    ("path", "value"),
    [
        ((0,), None),
        ((1,), None),
        ((2,), None),
        ((0, "content"), []),
        ((0, "content", 0, "text"), " \n"),
        ((0, "content", 1, "source", "url"), "http://x.org/a.png"),
        ((0, "content", 1, "source"), {"type": "base64", "media_type": "image/bmp", "data": "A"}),
        ((1, "content", 1, "id"), "a.b"),
        ((1, "content", 1, "input"), "{}"),
        ((1, "content", 1, "input"), {"x": float("nan")}),
        ((1, "content", 1, "name"), "n" * 65),
        ((1, "content", 0), {"type": "image", "source": {"type": "url", "url": "https://x"}}),
        ((2, "content", 0, "tool_use_id"), "b"),
        ((2, "content", 0, "content"), None),
        ((2, "content", 0, "content", 0), {"type": "tool_use"}),
        ((2, "content", 0, "caller"), "x"),
        ((2, "role"), "system"),
        ((3, "content", 0, "text"), "A cat. "),
        ((3, "content", 0), {"type": "tool_use", "id": "a", "name": "f", "input": {}}),
    ],
)
def test_anthropic_messages_with_a_fault_have_problems(path, value):
    """Each rule of Anthropic's form can fail."""
    assert problems_anthropic(changed(TALK, path, value), None)


def test_the_order_of_blocks_matters_to_anthropic():
    """Results come first in their message, calls last in theirs; a blank system is refused."""
    for place in (1, 2):
        turned = copy.deepcopy(TALK)
        turned[place]["content"].reverse()
        assert problems_anthropic(turned, None)
    assert problems_anthropic(TALK, " ")
    assert problems_anthropic([], None)
    assert problems_anthropic([*TALK[:3], *copy.deepcopy(TALK[:3])], None)
