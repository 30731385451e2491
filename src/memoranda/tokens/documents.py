"""How many pages a PDF has, read from the file itself: a provider bills it by these (ISO 32000)."""

from __future__ import annotations

import binascii
import zlib

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
    try:
        data = binascii.a2b_base64(body[: len(body) // 4 * 4])
    except binascii.Error:
        return None
    return PAGE_TOKENS * count_pages(data)


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
