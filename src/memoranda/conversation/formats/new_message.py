"""Checks a message and its pictures before it is added to a transcript.

A picture is kept as one address, which is where it is or the picture itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memoranda.errors import InvalidInput
from memoranda.model.checks import clean, known, several, storable
from memoranda.model.models import Image, ToolCall, ToolResult

INLINE = re.compile(r"data:([\w.+-]+/[\w.+-]+)(?:;[^;,]*)*;base64,(?=.)", re.IGNORECASE)
MEDIA = {
    "image/png": "image/png",
    "image/jpeg": "image/jpeg",
    "image/jpg": "image/jpeg",
    "image/gif": "image/gif",
    "image/webp": "image/webp",
}
"""What all providers take, and what they call it."""


def unwrap(value: object) -> object:
    """Return an object of a provider's SDK as the mapping it stands for, all else as it is."""
    dump = None if isinstance(value, type) else getattr(value, "model_dump", None)
    if not callable(dump):
        return value
    try:
        return dump()
    except (TypeError, ValueError) as error:
        text = f"an object of a message cannot be read ({error}): {value!r:.80}"
        raise InvalidInput(text) from error


def image_of(block: Mapping[str, Any]) -> Image | None:
    """Return the picture in a content block of any provider, ``None`` where there is none."""
    picture = unwrap(block.get("image_url"))
    source = unwrap(block.get("source"))
    match block.get("type"), picture, source:
        case "image_url", {"url": str(url), **rest}, _ if url:
            return Image(url, _detail(rest.get("detail")))
        case "image_url" | "input_image", str(url), _ if url:
            return Image(url, _detail(block.get("detail")))
        case "image", _, {"type": "url", "url": str(url)} if url:
            return Image(url)
        case "image", _, {"type": "base64", "media_type": str(media), "data": str(data)}:
            return Image(f"data:{media};base64,{data}")
    return None


def chat_part(image: Image) -> dict[str, Any]:
    """Return a picture as a content part of OpenAI's chat completions."""
    if not _is_sendable(image.url, ("http://", "https://")):
        return {"type": "text", "text": _name(image.url)}
    place = {"url": image.url}
    if _detail(image.detail) != "auto":
        place["detail"] = image.detail
    return {"type": "image_url", "image_url": place}


def input_part(image: Image) -> dict[str, Any]:
    """Return a picture as an input part of OpenAI's responses."""
    if not _is_sendable(image.url, ("http://", "https://")):
        return {"type": "input_text", "text": _name(image.url)}
    return {"type": "input_image", "image_url": image.url, "detail": _detail(image.detail)}


def image_block(image: Image) -> dict[str, Any]:
    """Return a picture as a content block of Anthropic's messages."""
    if not _is_sendable(image.url, ("https://",)):
        return {"type": "text", "text": _name(image.url)}
    source = {"type": "url", "url": image.url}
    if inline := INLINE.match(image.url):
        media = MEDIA[inline[1].lower()]
        source = {"type": "base64", "media_type": media, "data": image.url[inline.end() :]}
    return {"type": "image", "source": source}


def _detail(given: object) -> str:
    return str(given) if given in DETAILS else "auto"


def _is_sendable(url: str, schemes: tuple[str, ...]) -> bool:
    if inline := INLINE.match(url):
        return inline[1].lower() in MEDIA
    start = url[:8].lower()
    return any(start.startswith(scheme) and len(url) > len(scheme) for scheme in schemes)


def _name(url: str) -> str:
    """Return what is said in place of a picture for which the provider would refuse it all."""
    inline = INLINE.match(url)
    is_data = url[:5].lower() == "data:"
    return f"[image: {inline[1] if inline else 'data' if is_data else url}]"


ROLES = ("system", "user", "assistant", "tool")
SAME_ROLE = {"developer": "system", "function": "tool", "model": "assistant", "human": "user"}
DETAILS = ("auto", "low", "high", "original")
PLACES = ("https://", "http://", "data:image/")


UNPARSED = "unparsed_arguments"
"""Holds arguments that are no JSON object where a provider takes nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    """A message that is not yet in a transcript.

    Attributes:
        role: ``system``, ``user``, ``assistant`` or ``tool``.
        content: the text.
        tool_calls: the calls it makes (assistant only).
        tool_result: the call it answers (tool only).
        timestamp: when it was said, where that is known.
        images: the pictures in it.
        task: the title of the task that starts with it.
    """

    role: str
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_result: ToolResult | None = None
    timestamp: datetime | None = None
    images: tuple[Image, ...] = ()
    task: str | None = None

    def check(self) -> None:
        """Refuse a message that cannot be kept.

        Raises:
            InvalidInput: a part of it cannot be stored; the message says which.
        """
        storable(self.content, "content")
        for text, name in self._tool_texts():
            storable(text, name)
        for image in self.images:
            _check_image(image)
        if self.task is not None:
            clean(self.task, "task")
        known(self.timestamp, "timestamp")
        said = self.content.strip() or self.images or self.tool_calls
        if not said and self.tool_result is None:
            raise InvalidInput("content is empty; give the message some text or a tool call")

    def _tool_texts(self) -> Iterator[tuple[object, str]]:
        if self.tool_calls and self.role != "assistant":
            raise InvalidInput(
                f"role={self.role!r} cannot make tool calls; only the assistant does"
            )
        for call in self.tool_calls:
            for name in ("id", "name", "arguments"):
                yield getattr(call, name), f"{name} of a tool call"
        result: object = self.tool_result
        if result is None:
            return
        if not isinstance(result, ToolResult):
            raise InvalidInput(
                f"tool_result must be a ToolResult or the id of the call, got {result!r:.80}"
            )
        if self.role != "tool":
            raise InvalidInput(f"role={self.role!r} cannot answer a tool call; use role='tool'")
        yield result.call_id, "tool_result"


def parse_role(role: object) -> str:
    """Return the role of that name; ``developer`` is a system message, and so on.

    Raises:
        InvalidInput: there is no such role.
    """
    name = SAME_ROLE.get(role, role) if isinstance(role, str) else role
    if name not in ROLES:
        raise InvalidInput(f"role={role!r} is unknown; use one of {', '.join(ROLES)}")
    return str(name)


def _check_image(image: object) -> None:
    if not isinstance(image, Image) or not isinstance(image.url, str):
        raise InvalidInput(f"images must be Image values or their addresses, got {image!r:.80}")
    storable(image.url, "url of an image")
    if not image.url.startswith(PLACES):
        raise InvalidInput(
            f"the image {image.url!r:.60} is no address; "
            f"use https://… or data:image/png;base64,… with the picture in it"
        )
    if image.detail not in DETAILS:
        names = ", ".join(DETAILS)
        raise InvalidInput(f"detail={image.detail!r} of an image is unknown; use one of {names}")


def make_message(
    role: str,
    content: str,
    *,
    tool_calls: Iterable[ToolCall | Mapping[str, Any]],
    tool_result: ToolResult | str | None,
    images: Iterable[Image | str],
    timestamp: datetime | None,
    task: str | None,
) -> NewMessage:
    """Return the new message that the arguments of ``Conversation.add`` describe.

    Raises:
        InvalidInput: an argument has no form that is known.
    """
    calls = several(tool_calls, "tool_calls")
    pictures = several(images, "images")
    return NewMessage(
        role=parse_role(role),
        content=content,
        tool_calls=tuple(c if isinstance(c, ToolCall) else parse_tool_call(c) for c in calls),
        tool_result=ToolResult(tool_result) if isinstance(tool_result, str) else tool_result,
        images=tuple(Image(each) if isinstance(each, str) else each for each in pictures),
        timestamp=timestamp,
        task=task,
    )


def parse_tool_call(call: object) -> ToolCall:
    """Return a tool call of OpenAI's chat form.

    Raises:
        InvalidInput: it is no call of a function.
    """
    call = unwrap(call)
    function = unwrap(call.get("function")) if isinstance(call, Mapping) else None
    if not isinstance(call, Mapping) or not isinstance(function, Mapping) or "name" not in function:
        raise InvalidInput(f"a tool call needs function.name, got {call!r:.80}")
    return ToolCall(
        str(call.get("id") or ""), str(function["name"]), arguments_text(function.get("arguments"))
    )


def arguments_text(given: object) -> str:
    """Return the arguments of a call as the JSON text that is kept.

    What :func:`arguments_object` wrapped comes out as it was.
    """
    match given:
        case None:
            return "{}"
        case str():
            return given or "{}"
        case {**rest} if rest.keys() == {UNPARSED} and isinstance(rest[UNPARSED], str):
            return str(rest[UNPARSED])
    return json_text(given)


def json_text(value: object) -> str:
    """Return ``value`` as JSON.

    Raises:
        InvalidInput: it holds what JSON cannot.
    """
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"a part of a message is no JSON ({error}): {value!r:.80}") from error
