"""What the providers refuse, as functions that name each problem of a request.

Written from the providers' references and from the errors that their servers give, apart from
the code it judges. Where a rule is uncertain the stricter reading counts. The types of OpenAI's
own SDK check the forms of OpenAI once more.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses import ResponseInputItemParam
from pydantic import TypeAdapter, ValidationError

FUNCTION_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
PLAIN_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
LONGEST_CHAT_ID = 40
WEB = re.compile(r"https?://.+", re.DOTALL)
WEB_SAFE = re.compile(r"https://.+", re.DOTALL)
INLINE = re.compile(r"data:image/(png|jpe?g|gif|webp)[^,]*;base64,.+", re.DOTALL | re.IGNORECASE)
MEDIA = ("image/png", "image/jpeg", "image/gif", "image/webp")
DETAILS = ("auto", "low", "high", "original")
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
CHAT_MESSAGE: TypeAdapter[Any] = TypeAdapter(ChatCompletionMessageParam)
INPUT_ITEM: TypeAdapter[Any] = TypeAdapter(ResponseInputItemParam)
Shape = dict[str, Any]


def problems_openai(messages: list[Shape]) -> list[str]:
    """Return why OpenAI's chat completions would refuse ``messages``; nothing if it would not."""
    found = [*_no_json(messages), *_untyped(messages, CHAT_MESSAGE)]
    open_ids: list[str] = []
    for number, message in enumerate(messages):
        where = f"messages[{number}]"
        role = message.get("role")
        if role not in CHAT_KEYS:
            found.append(f"{where}: role {role!r}")
            continue
        found += [f"{where}: unknown key {key}" for key in message.keys() - CHAT_KEYS[role]]
        if role == "tool":
            answered = message.get("tool_call_id")
            if answered not in open_ids:
                found.append(f"{where}: a result that no call directly before asks for")
            else:
                open_ids.remove(answered)
        elif open_ids:
            found.append(f"{where}: calls {open_ids} have no result before it")
            open_ids = []
        found += [f"{where}: {text}" for text in _chat_message(message)]
        open_ids += [call.get("id") for call in message.get("tool_calls") or ()]
    if open_ids:
        found.append(f"calls {open_ids} have no result")
    return found


def _chat_message(message: Shape) -> Iterator[str]:
    role, content, calls = message["role"], message.get("content"), message.get("tool_calls")
    if content is None and not calls:
        yield "neither content nor calls"
    if isinstance(content, list):
        yield from _chat_parts(role, content)
    elif content is not None and not isinstance(content, str):
        yield f"content {content!r}"
    if calls is not None:
        yield from _chat_calls(calls)


def _chat_parts(role: str, parts: list[Shape]) -> Iterator[str]:
    if not parts:
        yield "an empty list of parts"
    for part in parts:
        match part:
            case {"type": "text", "text": str(text)} if text and len(part) == 2:
                pass
            case {"type": "image_url", "image_url": {"url": str(url), **rest}} if len(part) == 2:
                if role != "user":
                    yield f"a picture in a message of role {role}"
                if not WEB.fullmatch(url) and not INLINE.fullmatch(url):
                    yield f"the picture {url!r:.60}"
                if rest.keys() - {"detail"} or rest.get("detail", "auto") not in DETAILS:
                    yield f"a picture with {rest}"
            case _:
                yield f"the part {part!r:.80}"


def _chat_calls(calls: list[Shape]) -> Iterator[str]:
    if not calls:
        yield "an empty list of calls"
    ids = [call.get("id") for call in calls]
    if len(set(ids)) < len(ids):
        yield f"calls under the same id: {ids}"
    for call in calls:
        match call:
            case {
                "id": str(id),
                "type": "function",
                "function": {"name": str(name), "arguments": str(arguments)},
            } if len(call) == 3:
                if not 0 < len(id) <= LONGEST_CHAT_ID:
                    yield f"the id {id!r}"
                if not FUNCTION_NAME.fullmatch(name):
                    yield f"the function name {name!r}"
                if not arguments:
                    yield "empty arguments"
            case _:
                yield f"the call {call!r:.80}"


def problems_responses(items: list[Shape]) -> list[str]:
    """Return why OpenAI's responses would refuse ``items``; nothing if it would not."""
    found = [*_no_json(items), *_untyped(items, INPUT_ITEM)]
    called: set[str] = set()
    waiting: list[str] = []
    for number, item in enumerate(items):
        where = f"input[{number}]"
        kind = item.get("type")
        if kind not in ITEM_KEYS:
            found.append(f"{where}: type {kind!r}")
            continue
        found += [f"{where}: unknown key {key}" for key in item.keys() - ITEM_KEYS[kind]]
        called_by = item.get("call_id", "")
        if kind != "message" and not PLAIN_ID.fullmatch(called_by):
            found.append(f"{where}: the call_id {called_by!r}")
        if kind == "message":
            found += [f"{where}: {text}" for text in _item_message(item)]
            found += [f"{where}: calls {waiting} have no output before it"] if waiting else []
            waiting = []
        elif kind == "function_call":
            found += [f"{where}: {text}" for text in _item_call(item)]
            found += (
                [f"{where}: the call_id {called_by!r} was there already"]
                if called_by in called
                else []
            )
            called.add(called_by)
            waiting.append(called_by)
        else:
            found += [f"{where}: {text}" for text in _item_output(item)]
            if called_by in waiting:
                waiting.remove(called_by)
            else:
                found.append(f"{where}: an output that no call directly before asks for")
    return [*found, *([f"calls {waiting} have no output"] if waiting else [])]


def _item_message(item: Shape) -> Iterator[str]:
    role, content = item.get("role"), item.get("content")
    if role not in {"user", "assistant", "system", "developer"}:
        yield f"role {role!r}"
    if isinstance(content, str):
        if not content:
            yield "empty text"
    elif role == "assistant":
        yield "parts of an answer without the ids that the API gave it"
    else:
        yield from _input_parts(content)


def _input_parts(parts: object) -> Iterator[str]:
    if not isinstance(parts, list) or not parts:
        yield f"no parts: {parts!r:.80}"
        return
    for part in parts:
        match part:
            case {"type": "input_text", "text": str(text)} if text and len(part) == 2:
                pass
            case {"type": "input_image", "image_url": str(url), "detail": str(detail)} if (
                len(part) == 3 and detail in DETAILS
            ):
                if not WEB.fullmatch(url) and not INLINE.fullmatch(url):
                    yield f"the picture {url!r:.60}"
            case _:
                yield f"the part {part!r:.80}"


def _item_call(item: Shape) -> Iterator[str]:
    if not FUNCTION_NAME.fullmatch(item.get("name", "")):
        yield f"the function name {item.get('name')!r}"
    if not isinstance(item.get("arguments"), str) or not item["arguments"]:
        yield f"the arguments {item.get('arguments')!r:.80}"


def _item_output(item: Shape) -> Iterator[str]:
    output = item.get("output")
    if not isinstance(output, str):
        yield from _input_parts(output)


def problems_anthropic(messages: list[Shape], system: str | None) -> list[str]:
    """Return why Anthropic would refuse a request; nothing if it would not."""
    found = [*_no_json(messages), *_no_json(system)]
    if system is not None and not system.strip():
        found.append("system: blank")
    if not messages:
        return [*found, "at least one message is required"]
    if messages[0].get("role") != "user":
        found.append("the first message is not the user's")
    used: set[str] = set()
    asked: list[str] = []
    for number, message in enumerate(messages):
        where = f"messages[{number}]"
        role, blocks = message.get("role"), message.get("content")
        if message.keys() != {"role", "content"} or role not in {"user", "assistant"}:
            found.append(f"{where}: {message!r:.80}")
        if number and role == messages[number - 1].get("role"):
            found.append(f"{where}: {role} twice in a row")
        if not isinstance(blocks, list) or not blocks:
            found.append(f"{where}: no content")
            continue
        found += [f"{where}: {text}" for block in blocks for text in _block(role, block)]
        found += [f"{where}: {text}" for text in _answers(blocks, asked)]
        asked = [block["id"] for block in blocks if block.get("type") == "tool_use"]
        found += [f"{where}: the id {known!r} twice" for known in used.intersection(asked)]
        found += [f"{where}: text after calls"] if _text_after_calls(blocks) else []
        found += [f"{where}: ids {asked}"] if len(set(asked)) < len(asked) else []
        used.update(asked)
    return [*found, *_ending(messages[-1], asked)]


def _block(role: object, block: Shape) -> Iterator[str]:
    match block:
        case {"type": "text", "text": str(text)} if len(block) == 2:
            if not text.strip():
                yield "a blank text"
        case {"type": "image", "source": source} if len(block) == 2:
            if role != "user":
                yield "a picture in a message of the assistant"
            yield from _source(source)
        case {"type": "tool_use", "id": str(id), "name": str(name), "input": dict()} if (
            len(block) == 4 and role == "assistant"
        ):
            if not PLAIN_ID.fullmatch(id):
                yield f"the id {id!r}"
            if not FUNCTION_NAME.fullmatch(name):
                yield f"the function name {name!r}"
        case {"type": "tool_result", "tool_use_id": str()} if role == "user":
            yield from _tool_result(block)
        case _:
            yield f"the block {block!r:.80} in a message of role {role}"


def _source(source: object) -> Iterator[str]:
    match source:
        case {"type": "base64", "media_type": str(media), "data": str(data)} if data:
            if media not in MEDIA:
                yield f"a picture of type {media}"
        case {"type": "url", "url": str(url)} if WEB_SAFE.fullmatch(url):
            pass
        case _:
            yield f"the source {source!r:.80}"


def _tool_result(block: Shape) -> Iterator[str]:
    if block.keys() - {"type", "tool_use_id", "content", "is_error"}:
        yield f"unknown keys in {block.keys()}"
    content = block.get("content", [])
    if not isinstance(content, list) or ("content" in block and not content):
        yield f"the content {content!r:.80} of a result"
        return
    kinds = {part.get("type") for part in content}
    if kinds - {"text", "image"}:
        yield f"a result that holds {kinds}"
    if block.get("is_error") and kinds != {"text"}:
        yield "an error that holds something else than text, or nothing"
    for part in content:
        yield from _block("user", part)


def _answers(blocks: list[Shape], asked: list[str]) -> Iterator[str]:
    """Yield how the results in a message differ from the calls of the message before."""
    kinds = [block.get("type") for block in blocks]
    answered = [block["tool_use_id"] for block in blocks if block.get("type") == "tool_result"]
    if sorted(answered) != sorted(asked):
        yield f"results {answered} for calls {asked}"
    if "tool_result" in kinds[len(answered) :]:
        yield "results that are not first"


def _text_after_calls(blocks: list[Shape]) -> bool:
    kinds = [block.get("type") for block in blocks]
    return "tool_use" in kinds and "text" in kinds[kinds.index("tool_use") :]


def _ending(last: Shape, asked: list[str]) -> Iterator[str]:
    if asked:
        yield f"calls {asked} have no result"
    match last:
        case {"role": "assistant", "content": [*_, {"type": "text", "text": str(text)}]} if (
            text != text.rstrip()
        ):
            yield "the last message ends in white space"


def _no_json(value: object) -> Iterator[str]:
    """Yield why a request that holds ``value`` could not even be sent."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        yield f"no JSON: {error}"


def _untyped(shapes: Iterable[Shape], known: TypeAdapter[Any]) -> Iterator[str]:
    for number, shape in enumerate(shapes):
        try:
            _walk(known.validate_python(shape))
        except ValidationError as error:
            yield f"[{number}] is none of the SDK's types: {error.errors()[0]}"


def _walk(value: object) -> None:
    """Go through all parts: an iterable is validated only as it is read."""
    if isinstance(value, str | bytes):
        return
    for part in value.values() if isinstance(value, dict) else value:
        if not isinstance(part, int | float | None):
            _walk(part)
