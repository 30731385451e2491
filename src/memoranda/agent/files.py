"""Files that a person sends with a message: pictures and PDFs as they are, texts as quotations."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from pathlib import Path

from memoranda.errors import InvalidInput
from memoranda.model.models import Image

# How the files begin that models take as they are, and what these are.
PDF = "application/pdf"
MEDIA = {
    b"%PDF-": PDF,
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"RIFF": "image/webp",
}
# Bytes at most, by what a file is; of a picture as the strictest provider takes it.
LARGEST = {PDF: 20_000_000, None: 200_000}
LARGEST_PICTURE = 5_000_000
KNOWN = "a picture (PNG, JPEG, GIF, WebP), a PDF nor a text in UTF-8: save it as one of these"


def read_files(files: Iterable[str | Path | Image]) -> tuple[list[str], list[Image]]:
    """Return the text files as quotations with their names, the pictures, and the named PDFs.

    Raises:
        InvalidInput: a file cannot be read or sent; the message says why.
    """
    texts: list[str] = []
    images: list[Image] = []
    for each in files:
        if isinstance(each, Image):
            images.append(each)
            continue
        path = Path(each).expanduser()
        try:
            data = path.read_bytes()
        except OSError as error:
            raise _refusal(path, error.strerror or "it cannot be read") from error
        kind = next((kind for start, kind in MEDIA.items() if data.startswith(start)), None)
        most = LARGEST.get(kind, LARGEST_PICTURE)
        if len(data) > most:
            raise _refusal(path, f"it has {len(data):,} bytes, and at most {most:,} can be sent")
        if kind is None:
            texts.append(_quote(path, data))
            continue
        images.append(Image(f"data:{kind};base64,{b64encode(data).decode('ascii')}"))
        texts += [f'<file name="{path.name}"/>'] if kind == PDF else []
    return texts, images


def _quote(path: Path, data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except ValueError:
        text = "\0"
    if "\0" in text:
        raise _refusal(path, f"it is neither {KNOWN}")
    return f'<file name="{path.name}">\n{text.strip()}\n</file>'


def _refusal(path: Path, reason: str) -> InvalidInput:
    return InvalidInput(f"the file {str(path)!r} cannot be sent: {reason}")
