"""How large a picture is, read from the first bytes of its file: PNG, GIF and JPEG.

Of any other the size is not known, and it counts as the largest there can be.
"""

from __future__ import annotations

import binascii
import struct
from urllib.parse import unquote_to_bytes

# In a JPEG the size stands behind the metadata, which can hold a preview and a colour profile.
HEADER = 1_048_576
FILL = 0xFF
FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}  # without the tables among them


def size_in_url(url: str) -> tuple[int, int] | None:
    """Return width and height in pixels of the picture inside a ``data:`` URL in base64.

    ``None`` where it is not inside (``https://…``) or is of no known format.
    """
    head, _, body = url.partition(",")
    if not head.lower().startswith("data:") or not head.lower().endswith(";base64"):
        return None
    # Escapes make it longer, and so the header shorter: no picture has so much before its size.
    written = unquote_to_bytes(body[: HEADER * 4 // 3].encode("utf-8", "replace"))
    plain = written.translate(None, b" \t\r\n")
    try:
        # Whole groups of four characters, each three bytes.
        return size_of(binascii.a2b_base64(plain[: len(plain) // 4 * 4]))
    except binascii.Error:
        return None


def size_of(data: bytes) -> tuple[int, int] | None:
    """Return width and height of the picture whose file starts with ``data``, or ``None``."""
    try:
        size = _read(data)
    except (struct.error, IndexError):  # The header is cut off.
        return None
    return size if size and min(size) > 0 else None


def _read(data: bytes) -> tuple[int, int] | None:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return struct.unpack_from(">II", data, 16)
    if data.startswith((b"GIF87a", b"GIF89a")):
        return struct.unpack_from("<HH", data, 6)
    at = 2 if data.startswith(b"\xff\xd8") else len(data)
    # The segments of a JPEG (ITU T.81); any number of fill bytes may stand before one.
    while data[at] == FILL:
        if data[at + 1] in FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        is_fill = data[at + 1] == FILL
        at += 1 if is_fill else 2 + struct.unpack_from(">H", data, at + 2)[0]
    return None
