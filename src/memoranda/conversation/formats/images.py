"""Pictures in the forms of the providers, in and out.

They are kept as one address, which is where the picture is or the picture itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from memoranda.errors import InvalidInput
from memoranda.model.models import Image

INLINE = re.compile(r"data:([\w.+-]+/[\w.+-]+)(?:;[^;,]*)*;base64,(?=.)", re.IGNORECASE)
MEDIA = {
    "image/png": "image/png",
    "image/jpeg": "image/jpeg",
    "image/jpg": "image/jpeg",
    "image/gif": "image/gif",
    "image/webp": "image/webp",
}
"""What all providers take, and what they call it."""
DETAILS = ("auto", "low", "high", "original")


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
