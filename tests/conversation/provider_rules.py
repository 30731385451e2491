"""What the providers refuse, as functions that name each problem of a request.

The types of the providers' own SDKs say which shapes there are. What else is refused is written
here from their references and from the errors that their servers give, apart from the code it
judges; where a rule is uncertain the stricter reading counts.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from anthropic.types import MessageParam
from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses import ResponseInputItemParam
from pydantic import TypeAdapter, ValidationError

PLAIN = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # ids, and names of functions
LONGEST_CHAT_ID = 40
WEB = re.compile(r"https?://.+", re.DOTALL)
INLINE = re.compile(r"data:image/(png|jpe?g|gif|webp)[^,]*;base64,.+", re.DOTALL | re.IGNORECASE)
MEDIA = {f"image/{kind}": "image" for kind in ("png", "jpeg", "gif", "webp")}
MEDIA["application/pdf"] = "document"
PDF = re.compile(r"data:application/pdf;base64,.+")
CHAT_KEYS = {
    "system": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "refusal", "tool_calls"},
    "tool": {"role", "content", "tool_call_id"},
}
ITEM_KEYS = {
    "message": {"type", "role", "content"},
    "function_call": {"type", "call_id", "name", "arguments"},
    "function_call_output": {"type", "call_id", "output"},
}
BLOCKS = {
    # keys that each may have
    "user": {"text": 2, "image": 2, "document": 2, "tool_result": 4},
    "assistant": {"text": 2, "tool_use": 4},
}
CACHE = {"type": "ephemeral"}
MOST_BREAKPOINTS = 4
SEALED_KINDS = ("thinking", "redacted_thinking")
CHAT_MESSAGE: TypeAdapter[Any] = TypeAdapter(ChatCompletionMessageParam)
INPUT_ITEM: TypeAdapter[Any] = TypeAdapter(ResponseInputItemParam)
MESSAGE: TypeAdapter[Any] = TypeAdapter(MessageParam)
Shape = dict[str, Any]


def problems_openai(messages: list[Shape]) -> list[str]:
    """Return why OpenAI's chat completions would refuse ``messages``; nothing if it would not."""
    found, steps = _untyped(messages, CHAT_MESSAGE), []
    for number, message in enumerate(messages):
        calls = message.get("tool_calls")
        answered = [message.get("tool_call_id")] if message["role"] == "tool" else []
        steps.append(([call.get("id") for call in calls or ()], answered))
        extra = message.keys() - CHAT_KEYS.get(message["role"], set())
        found += [f"messages[{number}]: unknown keys {extra}"] if extra else []
        if message.get("content") is None and not calls:
            found.append(f"messages[{number}]: neither content nor calls")
        found += [f"messages[{number}]: {text}" for text in _parts(message.get("content"))]
        found += [f"messages[{number}]: an empty list of calls"] if calls == [] else []
        for call in calls or ():
            if not 0 < len(call["id"]) <= LONGEST_CHAT_ID or len(call) > len("itf"):
                found.append(f"messages[{number}]: the call {call!r:.80}")
            found += [f"messages[{number}]: {text}" for text in _function(call["function"])]
    return [*found, *_exchanges(steps)]


def problems_responses(items: list[Shape]) -> list[str]:
    """Return why OpenAI's responses would refuse ``items``; nothing if it would not."""
    found, steps, called = _untyped(items, INPUT_ITEM), [], []
    for number, item in enumerate(items):
        kind, id = item.get("type"), item.get("call_id", "")  # noqa: A001 - the API's own word
        extra = item.keys() - ITEM_KEYS.get(str(kind), set())
        found += [f"input[{number}]: unknown keys {extra}"] if extra else []
        calls, answers = kind == "function_call", kind == "function_call_output"
        steps.append(([id] * calls, [id] * answers))
        if kind != "message" and (not PLAIN.fullmatch(id) or (calls and id in called)):
            found.append(f"input[{number}]: the call_id {id!r}")
        called += [id] * calls
        if calls:
            found += [f"input[{number}]: {text}" for text in _function(item)]
        said = item.get("output" if answers else "content")
        if kind == "message" and (not said or (item["role"], type(said)) == ("assistant", list)):
            found.append(f"input[{number}]: no text, or parts without the ids that the API gave")
        found += [f"input[{number}]: {text}" for text in _parts(said)]
    return [*found, *_exchanges(steps, calls_go_on=True)]


def problems_anthropic(messages: list[Shape], system: list[Shape] | None) -> list[str]:
    """Return why Anthropic would refuse a request; nothing if it would not."""
    found = [*_untyped(messages, MESSAGE), *_no_json(system)]
    spoken = [each for message in messages for each in message["content"]]
    marked = [each for each in [*(system or ()), *spoken] if "cache_control" in each]
    if len(marked) > MOST_BREAKPOINTS or any(each["type"] in SEALED_KINDS for each in marked):
        found.append("too many breakpoints of the cache, or one at reasoning")
    found += [f"the breakpoint {each!r:.80}" for each in marked if each["cache_control"] != CACHE]
    if (system is not None and not all(each["text"].strip() for each in system)) or not messages:
        found.append("a blank system prompt, or no message")
    roles = [message["role"] for message in messages]
    if roles != [("user", "assistant")[number % 2] for number in range(len(roles))]:
        found.append(f"roles that do not take turns from the user on: {roles}")
    used: list[str] = []
    asked: list[str] = []
    for number, message in enumerate(messages):
        blocks, known = message["content"], BLOCKS[message["role"]]
        if message.keys() != {"role", "content"} or not isinstance(blocks, list) or not blocks:
            found.append(f"messages[{number}]: {message!r:.80}")
            continue
        kinds = [block["type"] for block in blocks]
        found += [f"messages[{number}]: {text}" for each in blocks for text in _block(each, known)]
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if sorted(answered) != sorted(asked) or "tool_result" in kinds[len(answered) :]:
            found.append(f"messages[{number}]: results {answered} for calls {asked}, or not first")
        if "tool_use" in kinds and "text" in kinds[kinds.index("tool_use") :]:
            found.append(f"messages[{number}]: text after calls")
        asked = [block["id"] for block in blocks if block["type"] == "tool_use"]
        used += asked
        if number == len(messages) - 1 and message["role"] == "assistant":
            found += ["calls without results"] if asked else []
            text = blocks[-1].get("text", "")
            found += ["the last message ends in white space"] if text != text.rstrip() else []
    return [*found, *(["the same id twice"] if len(set(used)) < len(used) else [])]


def _block(block: Shape, known: dict[str, int]) -> Iterator[str]:
    kind = block["type"]
    if len(block.keys() - {"cache_control"}) > known.get(kind, 0):
        yield f"the block {block!r:.80}"
    match block:
        case {"type": "text", "text": str(text)} if not text.strip():
            yield "a blank text"
        case {"type": str(), "source": {"type": "base64", "media_type": media, "data": data}}:
            if MEDIA.get(media) != kind or not data:
                yield f"a file of type {media}"
        case {"type": "image", "source": {"type": "url", "url": str(url)}}:
            if not url.startswith("https://"):
                yield f"the picture {url!r:.60}"
        case {"type": "tool_use", "id": str(id), "name": str(name), "input": dict()}:
            if not PLAIN.fullmatch(id) or not PLAIN.fullmatch(name):
                yield f"the id {id!r} or the function name {name!r}"
        case {"type": "tool_result"}:
            yield from _result(block, block.get("content"))


def _result(block: Shape, parts: object) -> Iterator[str]:
    if "content" in block and (not isinstance(parts, list) or not parts):
        yield f"the content {parts!r:.80} of a result"
        return
    given = parts if isinstance(parts, list) else []
    if block.get("is_error") and {part["type"] for part in given} != {"text"}:
        yield "an error that holds something else than text, or nothing"
    for part in given:
        yield from _block(part, {"text": 2, "image": 2, "document": 2})


def _parts(parts: object) -> Iterator[str]:
    """Yield what is wrong with the parts of a content or an output, in both forms of OpenAI."""
    if not isinstance(parts, list):
        return
    if not parts:
        yield "an empty list of parts"
    for part in parts:
        if part["type"] in ("file", "input_file"):
            file = part["file"] if part["type"] == "file" else part
            if not (file.get("filename") and PDF.fullmatch(file["file_data"])):
                yield f"a document that is none: {part!r:.80}"
            continue
        picture = part.get("image_url", "")
        url = picture["url"] if isinstance(picture, dict) else picture
        if not (part.get("text") or WEB.fullmatch(url) or INLINE.fullmatch(url)):
            yield f"an empty text or a picture that is none: {part!r:.80}"
        inner = picture.keys() - {"url", "detail"} if isinstance(picture, dict) else set()
        extra = inner | (part.keys() - {"type", "text", "image_url", "detail"})
        if extra or ("detail" in part) != (part["type"] == "input_image"):
            yield f"unknown keys in {part!r:.80}"


def _function(function: Shape) -> Iterator[str]:
    if not PLAIN.fullmatch(function["name"]) or not function["arguments"]:
        yield f"the name or the arguments of {function!r:.80}"


def _exchanges(
    steps: Iterable[tuple[list[str], list[str]]], *, calls_go_on: bool = False
) -> Iterator[str]:
    """Yield which calls are not answered at once, and which results answer none.

    Args:
        steps: of each message in order the ids that it calls, and those that it answers.
        calls_go_on: whether several messages in a row may call before the first result.
    """
    waiting: list[str] = []
    for number, (calls, answers) in enumerate(steps):
        for answered in answers:
            if answered in waiting:
                waiting.remove(answered)
            else:
                yield f"[{number}]: a result that no call directly before asks for"
        if waiting and not answers and not (calls and calls_go_on):
            yield f"[{number}]: calls {waiting} have no result before it"
            waiting = []
        if len(set(calls)) < len(calls):
            yield f"[{number}]: calls under the same id: {calls}"
        waiting += calls
    if waiting:
        yield f"calls {waiting} have no result"


def _no_json(value: object) -> Iterator[str]:
    """Yield why a request that holds ``value`` could not even be sent."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        yield f"no JSON: {error}"


def _untyped(shapes: list[Shape], known: TypeAdapter[Any]) -> list[str]:
    """Return what cannot be sent, or is none of the SDK's types."""
    found = [*_no_json(shapes)]
    for number, shape in enumerate(shapes):
        try:
            _walk(known.validate_python(shape))
        except ValidationError as error:
            found.append(f"[{number}] is none of the SDK's types: {error.errors()[0]}")
    return found


def _walk(value: object) -> None:
    """Go through all parts: an iterable is validated only as it is read."""
    if isinstance(value, str | bytes):
        return
    for part in value.values() if isinstance(value, dict) else value:
        if not isinstance(part, int | float | None):
            _walk(part)
