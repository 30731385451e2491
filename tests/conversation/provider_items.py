"""Items of every type that the providers' SDKs know, alone and as conversations have them."""

import json

from hypothesis import strategies as st

TEXTS = st.sampled_from(["", " ", "hello", "é 日本 \u2028", "a\nb", '{"a": 1}'])
DATA = "QUJD" * 200


def call(kind, **fields):
    """Return a call of OpenAI's responses and its output."""
    name = kind.removesuffix("_call")
    answer = {"type": f"{name}_call_output", "call_id": "ID", "output": "done"}
    return [{"type": kind, "id": "it_ID", "call_id": "ID", **fields}, answer]


REASONING = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Thinking of the launch code."}],
    "encrypted_content": DATA,
}
# One sample of each type of OpenAI's responses, those that belong together as one.
RESPONSES = [
    [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "TEXT"}]}],
    [{"role": "user", "content": "TEXT"}],
    [{"role": "developer", "content": [{"type": "input_text", "text": "TEXT"}]}],
    [{"role": "system", "content": "TEXT"}],
    [
        {
            "role": "user",
            "content": [
                {"type": "input_image", "file_id": "file_1", "detail": "low"},
                {"type": "input_image", "image_url": "https://x.org/a.png", "detail": "high"},
                {"type": "input_file", "filename": "a.pdf", "file_data": DATA},
            ],
        }
    ],
    [
        REASONING,
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [
                {"type": "output_text", "text": "TEXT", "annotations": [{"type": "file_path"}]},
                {"type": "refusal", "refusal": "No."},
            ],
        },
    ],
    [REASONING, *call("function_call", name="f", arguments="{}")],
    [
        REASONING,
        {"type": "function_call", "call_id": "ID", "name": "f", "arguments": "TEXT"},
        {"type": "function_call", "call_id": "IDb", "name": "g", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "IDb", "output": [{"type": "new", "x": 1}]},
        {"type": "function_call_output", "call_id": "ID", "output": "TEXT"},
    ],
    [
        {"type": "custom_tool_call", "call_id": "ID", "name": "grep", "input": "TEXT"},
        {"type": "custom_tool_call_output", "call_id": "ID", "output": "TEXT"},
    ],
    [
        {
            "type": "computer_call",
            "id": "c",
            "call_id": "ID",
            "action": {"type": "screenshot"},
            "pending_safety_checks": [],
            "status": "completed",
        },
        {
            "type": "computer_call_output",
            "call_id": "ID",
            "output": {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{DATA}"},
        },
    ],
    [
        {
            "type": "local_shell_call",
            "id": "l",
            "call_id": "ID",
            "status": "completed",
            "action": {"type": "exec", "command": ["ls"], "env": {}},
        },
        {"type": "local_shell_call_output", "id": "ID", "output": "{}"},
    ],
    call("shell_call", action={"commands": ["ls"]}),
    call("apply_patch_call", operation={"type": "delete_file", "path": "a"}, status="completed"),
    [
        {"type": "tool_search_call", "call_id": None, "execution": "server", "arguments": {}},
        {"type": "tool_search_output", "call_id": None, "tools": []},
    ],
    [
        {"type": "program", "id": "p", "call_id": "ID", "code": "f()", "fingerprint": "x"},
        {
            "type": "program_output",
            "id": "o",
            "call_id": "ID",
            "result": "1",
            "status": "completed",
        },
    ],
    [
        {
            "type": "mcp_approval_request",
            "id": "ID",
            "name": "f",
            "arguments": "{}",
            "server_label": "s",
        },
        {"type": "mcp_approval_response", "approval_request_id": "ID", "approve": True},
    ],
    [
        {
            "type": "mcp_call",
            "id": "m",
            "name": "f",
            "arguments": "{}",
            "server_label": "s",
            "output": "TEXT",
        }
    ],
    [{"type": "mcp_list_tools", "id": "t", "server_label": "s", "tools": []}],
    [
        REASONING,
        {
            "type": "web_search_call",
            "id": "w",
            "status": "completed",
            "action": {"type": "search", "query": "TEXT"},
        },
    ],
    [{"type": "file_search_call", "id": "s", "status": "completed", "queries": ["TEXT"]}],
    [{"type": "image_generation_call", "id": "i", "status": "completed", "result": DATA}],
    [
        {
            "type": "code_interpreter_call",
            "id": "c",
            "code": "1",
            "container_id": "c",
            "outputs": None,
            "status": "completed",
        }
    ],
    [{"type": "item_reference", "id": "msg_1"}],
    [{"type": "compaction", "id": "c", "encrypted_content": DATA}],
    [{"type": "compaction_trigger"}],
    [{"type": "additional_tools", "role": "developer", "tools": []}],
    [{"type": "configuration_update", "id": "c"}],
    [REASONING],
    [{"type": "brand_new_item", "deep": {"x": [1, 1.5, None, True, "TEXT"]}}],
]
THINKING = {"type": "thinking", "thinking": "Thinking of the launch code.", "signature": DATA}
USE = {"type": "tool_use", "id": "ID", "name": "f", "input": {"a": "TEXT"}}


def said(role, *content):
    """Return a message of blocks."""
    return {"role": role, "content": list(content)}


def text(words="TEXT", **more):
    """Return a block of text."""
    return {"type": "text", "text": words, **more}


ANTHROPIC = [
    [{"role": "user", "content": "TEXT"}],
    [{"role": "system", "content": "TEXT"}],
    [said("user", text(cache_control={"type": "ephemeral"}), text("b"))],
    [said("user")],
    [
        said(
            "user",
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": DATA},
            },
            {"type": "image", "source": {"type": "file", "file_id": "f"}},
            {"type": "document", "source": {"type": "url", "url": "https://x.org/a.pdf"}},
            {"type": "search_result", "title": "T", "source": "s", "content": [text()]},
            {"type": "container_upload", "file_id": "f"},
        )
    ],
    [said("assistant", THINKING, text(citations=[{"type": "page_location"}]))],
    [said("assistant", {"type": "redacted_thinking", "data": DATA}, text())],
    [said("assistant", THINKING)],
    [
        said("assistant", THINKING, text(), USE, USE | {"id": "IDb"}),
        said(
            "user",
            {"type": "tool_result", "tool_use_id": "IDb", "content": [text()], "is_error": True},
            {"type": "tool_result", "tool_use_id": "ID"},
            text(),
            {"type": "document", "source": {"type": "text", "data": "TEXT"}},
        ),
    ],
    [
        said("assistant", USE),
        said("user", text(), {"type": "tool_result", "tool_use_id": "ID", "content": "TEXT"}),
    ],
    [
        said(
            "assistant",
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
            *(
                {"type": f"{name}_tool_result", "tool_use_id": "s", "content": [{"x": "TEXT"}]}
                for name in (
                    "web_search",
                    "web_fetch",
                    "code_execution",
                    "bash_code_execution",
                    "text_editor_code_execution",
                    "tool_search",
                )
            ),
            text(),
        )
    ],
    [said("assistant", {"type": "brand_new_block", "x": [None, 1.5, "TEXT"]})],
]
CHAT = [
    [{"role": "user", "content": "TEXT"}],
    [{"role": "user", "content": "TEXT", "name": "bob"}],
    [{"role": "developer", "content": "TEXT"}],
    [{"role": "system", "content": [text()]}],
    [{"role": "critic", "content": "TEXT"}],
    [
        said(
            "user",
            text(),
            {"type": "image_url", "image_url": {"url": "https://x.org/a.png"}},
            {"type": "input_audio", "input_audio": {"data": DATA, "format": "wav"}},
            {"type": "file", "file": {"file_id": "f"}},
        )
    ],
    [{"role": "assistant", "content": "TEXT", "refusal": None, "annotations": []}],
    [{"role": "assistant", "content": None, "refusal": "TEXT"}],
    [{"role": "assistant", "content": None, "audio": {"id": "a"}}],
    [{"role": "assistant", "content": "TEXT", "reasoning_content": "Thinking of the launch code."}],
    [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "ID", "type": "function", "function": {"name": "f", "arguments": "TEXT"}},
                {"id": "IDb", "type": "custom", "custom": {"name": "g", "input": "TEXT"}},
            ],
        },
        {"role": "tool", "tool_call_id": "IDb", "content": "TEXT"},
        {"role": "tool", "tool_call_id": "ID", "content": [text()]},
    ],
    [
        {
            "role": "assistant",
            "content": "TEXT",
            "tool_calls": [
                {"id": "ID", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            ],
        },
        {"role": "tool", "tool_call_id": "ID", "content": "TEXT"},
    ],
    [
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "TEXT"},
    ],
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
