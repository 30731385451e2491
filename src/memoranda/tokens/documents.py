"""How many pages a PDF has, and how large a picture is, read from the bytes of the file itself.

A provider bills a PDF by its pages (ISO 32000), and a picture by its size: PNG, GIF and JPEG. Of
any other the size is not known, and it counts as the largest there can be.
"""

from __future__ import annotations

import binascii
import struct
import zlib
from urllib.parse import unquote_to_bytes

from memoranda.text.patterns import compile_pattern

# Of the text and the picture of a page. Anthropic tells of 1,500 to 3,000 for the text alone of a
# full one, and most pages are not full.
PAGE_TOKENS = 2_000
PDF_IN_BASE64 = "JVBERi"  # What every PDF begins with: %PDF
PAGE = compile_pattern(r"/Type\s{0,20}/Page\b")  # and not /Pages or another
# Bytes of packed objects that are looked at, and of a file for each page where none can be seen.
MOST_UNPACKED = 64 * 2**20
PAGE_BYTES = 50_000


def count_document(text: str) -> int | None:
    """Return the tokens of a PDF in base64, with or without ``data:…;base64,`` before it.

    ``None`` where the text is something else.
    """
    body = text[text.find(",") + 1 :] if text.startswith("data:") else text
    if not body.startswith(PDF_IN_BASE64):
        return None
    data = _decode(body.encode("utf-8", "replace"))
    return PAGE_TOKENS * count_pages(data) if data else None


def _decode(text: bytes) -> bytes:
    """Return what a text in base64 stands for, as far as it is whole; nothing where it is none."""
    try:
        return binascii.a2b_base64(text[: len(text) // 4 * 4])  # Each four are three bytes.
    except binascii.Error:
        return b""


def count_pages(data: bytes) -> int:
    """Return how many pages a PDF has; of one whose pages cannot be seen, by its size.

    A page that was changed later counts twice, as its first version is still in the file.
    """
    written = data.decode("latin-1")
    found, left, end = len(PAGE.findall(written)), MOST_UNPACKED, 0
    # Newer files hold most objects packed together.
    while left > 0 and (at := written.find("/ObjStm", end)) >= 0:
        begin, end = written.find("stream", at) + len("stream"), written.find("endstream", at)
        if end < begin:
            break
        try:
            plain = zlib.decompressobj().decompress(data[begin:end].lstrip(b"\r\n"), left)
        except zlib.error:  # It is encrypted, or not packed, and then was read above.
            continue
        found, left = found + len(PAGE.findall(plain.decode("latin-1"))), left - len(plain)
    return found or 1 + len(data) // PAGE_BYTES


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
    return size_of(_decode(written.translate(None, b" \t\r\n")))


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
