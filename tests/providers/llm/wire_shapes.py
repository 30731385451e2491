"""What a provider, or a strict server that speaks its format, would refuse in a request."""

import json
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from model_server import Received

CALL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
Shape = dict[str, Any]


def wire_problems(received: Received) -> list[str]:
    """Return what is wrong with the messages of a request; nothing, if all is well."""
    messages = received.body["messages"]
    if received.path.endswith("/chat/completions"):
        return [*_alternation(messages), *_chat_calls(messages)]
    blocks = [problem for message in messages for problem in _blocks(message)]
    return [*_alternation(messages), *_message_calls(messages), *blocks]


def _alternation(messages: Sequence[Shape]) -> list[str]:
    """A system message first, if any; then user and assistant in turn, results aside."""
    roles = [message["role"] for message in messages]
    found = ["system in the middle"] if "system" in roles[1:] else []
    if [role for role in roles if role != "system"][:1] != ["user"]:
        found.append("the user does not begin")
    if roles[-1] == "assistant":
        found.append("the assistant ends")
    spoken = [each for each in messages if each["role"] not in {"system", "tool"}]
    for message, after in pairwise(spoken):
        # After a call come results, and then either may go on.
        if message["role"] == after["role"] and not message.get("tool_calls"):
            found.append(f"{message['role']} twice")
    return found


def _chat_calls(messages: Sequence[Shape]) -> list[str]:
    found: list[str] = []
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] in waiting:
                waiting.remove(message["tool_call_id"])
            else:
                found.append(f"{message['tool_call_id']} answers no call")
            continue
        found += [f"{call} is not answered" for call in waiting]
        calls = message.get("tool_calls", ())
        waiting = [call["id"] for call in calls]
        for call in calls:
            if not isinstance(json.loads(call["function"]["arguments"]), dict):
                found.append("arguments are no object")
        if not (message.get("content") or calls):
            found.append(f"an empty {message['role']} message")
    return found + [f"{call} is not answered" for call in waiting]


def _message_calls(messages: Sequence[Shape]) -> list[str]:
    found: list[str] = []
    waiting: list[str] = []
    used: list[str] = []
    for message in messages:
        blocks = message["content"]
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if results != waiting:
            found.append(f"{waiting} are answered by {results}")
        if any(block["type"] != "tool_result" for block in blocks[: len(results)]):
            found.append("results do not come first")
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
        used += waiting
    found += [f"{call} is no id" for call in used if not CALL_ID.fullmatch(call)]
    return found + (["an id is used twice"] if len(set(used)) < len(used) else [])


def _blocks(message: Shape) -> list[str]:
    found = [] if message["content"] else ["an empty message"]
    for block in message["content"]:
        inner = block.get("content") or []
        parts = (block, *(part for part in inner if isinstance(part, dict)))
        texts = [part["text"] for part in parts if part["type"] == "text"]
        found += ["a blank text" for text in texts if not text.strip()]
        if block["type"] == "tool_use" and not isinstance(block["input"], dict):
            found.append("arguments are no object")
    return found
