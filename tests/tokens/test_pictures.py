"""The size of a picture, from the first bytes of its file or of a data: URL."""

import base64
import struct
import zlib
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from memoranda.tokens.pictures import PictureSize, size_in_url, size_of

SIDES = st.integers(1, 16_383)


def png(width, height):
    """Return a PNG: signature, header chunk, and the start of its data."""
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    chunk = struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header))
    return b"\x89PNG\r\n\x1a\n" + chunk + struct.pack(">I", 0) + b"IDAT"


def gif(width, height):
    """Return the start of a GIF."""
    return b"GIF89a" + struct.pack("<HHBBB", width, height, 0xF7, 0, 0) + bytes(20)


def jpeg(width, height, *, marker=0xC0, before=b""):
    """Return the start of a JPEG; ``before`` are segments in front of the frame header."""
    jfif = b"\xff\xe0" + struct.pack(">H", 16) + b"JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"
    tables = b"\xff\xc4" + struct.pack(">H", 6) + b"\xff\xc0\x00\x08"
    frame = bytes([0xFF, marker]) + struct.pack(">HBHHB", 17, 8, height, width, 3) + bytes(9)
    return b"\xff\xd8" + jfif + before + tables + b"\xff" + frame + b"\xff\xda"


FORMATS = [png, gif, jpeg]


@given(make=st.sampled_from(FORMATS), width=SIDES, height=SIDES)
def test_the_size_of_every_format_is_read(make, width, height):
    """From the file, and from a data: URL that holds it."""
    data = make(width, height)
    assert size_of(data) == PictureSize(width, height)
    url = f"data:image/x;base64,{base64.b64encode(data).decode()}"
    assert size_in_url(url) == PictureSize(width, height)


def test_the_size_of_a_jpeg_stands_behind_its_metadata():
    """A preview of 60 KB, with a frame header of its own inside, is passed over."""
    preview = jpeg(160, 120) + bytes(60_000)
    segment = b"\xff\xe1" + struct.pack(">H", len(preview) + 2) + preview
    assert size_of(jpeg(4000, 3000, before=segment, marker=0xC2)) == PictureSize(4000, 3000)


def test_urls_are_read_as_they_are_written():
    """In any case, broken into lines, with escapes, and with parameters."""
    plain = base64.b64encode(png(640, 480)).decode()
    for url in (
        f"DATA:image/png;BASE64,{plain}",
        "data:image/png;base64," + "\n".join(plain[at : at + 20] for at in range(0, 60, 20)),
        f"data:image/png;base64,{quote(plain, safe='')}",
        f"data:image/png;name=a.png;base64,{plain}",
    ):
        assert size_in_url(url) == PictureSize(640, 480)


def test_a_large_picture_is_not_decoded_whole():
    """The header is enough: what follows it may even be no base64 at all."""
    body = base64.b64encode(png(640, 480) + bytes(1)).decode()
    assert size_in_url(f"data:image/png;base64,{body}{'A' * 2_000_000}é!") == PictureSize(640, 480)


def test_a_picture_that_is_not_there_has_no_size():
    """Elsewhere, cut off, of another format, or nonsense: none of it raises."""
    for url in (
        "",
        "https://example.org/a.png",
        "data:",
        "data:image/png;base64",
        "data:image/png;base64,",
        "data:image/png;base64,A",
        "data:image/svg+xml,<svg/>",
        "data:image/webp;base64,UklGRhoAAABXRUJQ",
        "data:image/png;base64,é\ud83d",
    ):
        assert size_in_url(url) is None


def test_a_file_that_is_cut_off_has_no_size():
    """However short it is cut; and a side of no length is no size."""
    for make in FORMATS:
        data = make(300, 200)
        sizes = {size_of(data[:end]) for end in range(len(data) + 1)}
        assert sizes <= {None, PictureSize(300, 200)}
        assert size_of(data[:10]) != PictureSize(300, 200) or make is gif
    assert size_of(png(0, 5)) is None


@given(data=st.binary(max_size=60), start=st.sampled_from([m(9, 9)[:12] for m in FORMATS]))
def test_any_bytes_are_read_without_fail(data, start):
    """Nonsense behind a true beginning gives a size or none, never an error or a loop."""
    size = size_of(start + data)
    assert size is None or min(size) > 0
