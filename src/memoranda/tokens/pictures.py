"""How large a picture is, read from the first bytes of its file.

Four formats are all that the providers take: PNG, JPEG, GIF and WebP.
"""

from __future__ import annotations

import binascii
import struct
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

# In a JPEG the size stands behind the metadata, which can hold a preview and a colour profile.
HEADER = 1_048_576
MARKER = 0xFF
LENGTHLESS = {0x01, *range(0xD0, 0xD9)}  # markers that nothing follows
FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}  # without the tables among them
LOSSLESS = 0x2F  # opens a lossless WebP


class PictureSize(NamedTuple):
    """Width and height in pixels."""

    width: int
    height: int


def size_in_url(url: str) -> PictureSize | None:
    """Return the size of the picture inside a ``data:`` URL.

    ``None`` where it is not inside (``https://…``) or is of no known format.
    """
    if url[:5].lower() != "data:":
        return None
    head, comma, body = url.partition(",")
    if not comma:
        return None
    # Escapes make it longer, and so the header shorter: no picture has so much before its size.
    written = body[: HEADER * 4 // 3].encode("utf-8", "replace")
    if not head.lower().endswith(";base64"):
        return size_of(unquote_to_bytes(written))
    # Whole groups of four characters, each three bytes; URLs may write "+" as "%2B".
    plain = unquote_to_bytes(written).translate(None, b" \t\r\n")
    try:
        return size_of(binascii.a2b_base64(plain[: len(plain) // 4 * 4]))
    except binascii.Error:
        return None


def size_of(data: bytes) -> PictureSize | None:
    """Return the size of the picture whose file starts with ``data``, or ``None``."""
    try:
        size = _read(data)
    except (struct.error, IndexError):  # The header is cut off.
        return None
    return size if size and min(size) > 0 else None


def _read(data: bytes) -> PictureSize | None:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return PictureSize(*struct.unpack_from(">II", data, 16))
    if data.startswith((b"GIF87a", b"GIF89a")):
        return PictureSize(*struct.unpack_from("<HH", data, 6))
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return _webp(data)
    if data.startswith(b"\xff\xd8"):
        return next(_jpeg_frames(data), None)
    return None


def _webp(data: bytes) -> PictureSize | None:
    """Read the first chunk (RFC 9649): lossy, lossless or extended."""
    kind = data[12:16]
    if kind == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack_from("<HH", data, 26)
        return PictureSize(width & 0x3FFF, height & 0x3FFF)
    if kind == b"VP8L" and data[20] == LOSSLESS:
        (bits,) = struct.unpack_from("<I", data, 21)
        return PictureSize((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if kind == b"VP8X":
        width, wider, height, higher = struct.unpack_from("<HBHB", data, 24)  # 24 bits each
        return PictureSize((wider << 16 | width) + 1, (higher << 16 | height) + 1)
    return None


def _jpeg_frames(data: bytes) -> Iterator[PictureSize]:
    """Yield the sizes in the frame headers (ITU T.81), one segment after the other."""
    at = 2
    while True:
        while data[at] != MARKER:
            at += 1
        while data[at] == MARKER:
            at += 1
        marker = data[at]
        at += 1
        if marker in LENGTHLESS:
            continue
        (length,) = struct.unpack_from(">H", data, at)
        if marker in FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 3)
            yield PictureSize(width, height)
        at += length
