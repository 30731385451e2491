"""Items as the providers give them, alone and as conversations have them."""

import json

from hypothesis import strategies as st

TEXTS = st.sampled_from(["", " ", "hello", "é 日本 \u2028", "a\nb", '{"a": 1}'])
DATA = "QUJD" * 200


def item(kind, **fields):
    """Return an item or a block of this type."""
    return {"type": kind, **fields}


def said(role, *content):
    """Return a message of blocks."""
    return {"role": role, "content": list(content)}


def text(words="TEXT", **more):
    """Return a block of text."""
    return item("text", text=words, **more)


REASONING = item(
    "reasoning",
    id="rs_1",
    summary=[item("summary_text", text="Thinking of the launch code.")],
    encrypted_content=DATA,
)
# OpenAI's responses: each way in which items differ, those that belong together as one.
RESPONSES = [
    [item("message", **said("user", item("input_text", text="TEXT")))],
    [{"role": "user", "content": "TEXT"}],
    [said("developer", item("input_text", text="TEXT"))],
    [{"role": "system", "content": "TEXT"}],
    [
        said(
            "user",
            item("input_image", file_id="file_1", detail="low"),
            item("input_image", image_url="https://x.org/a.png", detail="high"),
            item("input_file", filename="a.pdf", file_data=DATA),
        )
    ],
    [
        REASONING,
        item(
            "message",
            id="msg_1",
            role="assistant",
            status="completed",
            content=[
                item("output_text", text="TEXT", annotations=[item("file_path")]),
                item("refusal", refusal="No."),
            ],
        ),
    ],
    [
        REASONING,
        item("function_call", id="it_ID", call_id="ID", name="f", arguments="{}"),
        item("function_call_output", call_id="ID", output="done"),
    ],
    [
        REASONING,
        item("function_call", call_id="ID", name="f", arguments="TEXT"),
        item("function_call", call_id="IDb", name="g", arguments="{}"),
        item("function_call_output", call_id="IDb", output=[item("new", x=1)]),
        item("function_call_output", call_id="ID", output="TEXT"),
    ],
    [
        item("custom_tool_call", call_id="ID", name="grep", input="TEXT"),
        item("custom_tool_call_output", call_id="ID", output="TEXT"),
    ],
    [
        item("local_shell_call", id="l", call_id="ID", action=item("exec", command=["ls"])),
        item("local_shell_call_output", id="ID", output="{}"),
    ],
    [
        item("tool_search_call", call_id=None, execution="server", arguments={}),
        item("tool_search_output", call_id=None, tools=[]),
    ],
    [
        item("program", id="p", call_id="ID", code="f()", fingerprint="x"),
        item("program_output", id="o", call_id="ID", result="1", status="completed"),
    ],
    [
        item("mcp_approval_request", id="ID", name="f", arguments="{}", server_label="s"),
        item("mcp_approval_response", approval_request_id="ID", approve=True),
    ],
    [REASONING, item("web_search_call", id="w", action=item("search", query="TEXT"))],
    [item("image_generation_call", id="i", status="completed", result=DATA)],
    [item("compaction", id="c", encrypted_content=DATA)],
    [item("additional_tools", role="developer", tools=[])],
    [REASONING],
    [item("brand_new_item", deep={"x": [1, 1.5, None, True, "TEXT"]})],
]
THINKING = item("thinking", thinking="Thinking of the launch code.", signature=DATA)
USE = item("tool_use", id="ID", name="f", input={"a": "TEXT"})
PICTURE = {"type": "base64", "media_type": "image/png", "data": DATA}
ANTHROPIC = [
    [{"role": "user", "content": "TEXT"}],
    [{"role": "system", "content": "TEXT"}],
    [said("user", text(cache_control={"type": "ephemeral"}), text("b"))],
    [
        said(
            "user",
            item("image", source=PICTURE),
            item("image", source=item("file", file_id="f")),
            item("document", source=item("url", url="https://x.org/a.pdf")),
            item("search_result", title="T", source="s", content=[text()]),
            item("container_upload", file_id="f"),
        )
    ],
    [said("assistant", THINKING, text(citations=[item("page_location")]))],
    [said("assistant", item("redacted_thinking", data=DATA), text())],
    [said("assistant", THINKING)],
    [
        said("assistant", THINKING, text(), USE, USE | {"id": "IDb"}),
        said(
            "user",
            item("tool_result", tool_use_id="IDb", content=[text()], is_error=True),
            item("tool_result", tool_use_id="ID"),
            text(),
            item("document", source=item("text", data="TEXT")),
        ),
    ],
    [
        said("assistant", USE),
        said("user", text(), item("tool_result", tool_use_id="ID", content="TEXT")),
    ],
    [
        said(
            "assistant",
            item("server_tool_use", id="s", name="web_search", input={}),
            item("web_search_tool_result", tool_use_id="s", content=[{"x": "TEXT"}]),
            text(),
        )
    ],
    [said("assistant", item("brand_new_block", x=[None, 1.5, "TEXT"]))],
]
WORK = {"id": "ID", "type": "function", "function": {"name": "f", "arguments": "TEXT"}}
ANSWER = {"role": "assistant", "content": "TEXT"}
CHAT = [
    [{"role": "user", "content": "TEXT"}],
    [{"role": "user", "content": "TEXT", "name": "bob"}],
    [{"role": "developer", "content": "TEXT"}],
    [said("system", text())],
    [{"role": "critic", "content": "TEXT"}],
    [
        said(
            "user",
            text(),
            item("image_url", image_url={"url": "https://x.org/a.png"}),
            item("input_audio", input_audio={"data": DATA, "format": "wav"}),
            item("file", file={"file_id": "f"}),
        )
    ],
    [ANSWER | {"refusal": None, "annotations": []}],
    [ANSWER | {"content": None, "refusal": "TEXT"}],
    [ANSWER | {"content": None, "audio": {"id": "a"}}],
    [ANSWER | {"reasoning_content": "Thinking of the launch code."}],
    [
        ANSWER
        | {
            "content": None,
            "tool_calls": [WORK, item("custom", id="IDb", custom={"name": "g", "input": "TEXT"})],
        },
        {"role": "tool", "tool_call_id": "IDb", "content": "TEXT"},
        {"role": "tool", "tool_call_id": "ID", "content": [text()]},
    ],
    [ANSWER | {"tool_calls": [WORK]}, {"role": "tool", "tool_call_id": "ID", "content": "TEXT"}],
]
SAMPLES = {"openai": CHAT, "responses": RESPONSES, "anthropic": ANTHROPIC}


@st.composite
def conversations(draw, form):
    """Make the items of a conversation in this form, with ids and texts of their own."""
    items = []
    for number, group in enumerate(draw(st.lists(st.sampled_from(SAMPLES[form]), max_size=6))):
        words = json.dumps(draw(TEXTS))[1:-1]
        given = json.dumps(group).replace("ID", f"call_{number}").replace("TEXT", words)
        items += json.loads(given)
    return items
