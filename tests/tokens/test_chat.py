"""What messages cost: overheads as documented, pictures by their size, text by its counter."""

import base64
import struct
import zlib
from functools import partial
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from memoranda.model.models import Image, ToolCall
from memoranda.tokens.catalog import (
    ANTHROPIC,
    OTHERS,
    ChatFormat,
    ChatMeter,
    area,
    flat,
    patches,
    tiles,
)
from memoranda.tokens.documents import size_in_url, size_of
from memoranda.tokens.estimate import EstimatedCounter

COUNTER = EstimatedCounter("o200k_base")
CALLS = (ToolCall("c1", "get_weather", '{"city":"Lisbon"}'), ToolCall("c2", "now"))


def picture(width, height, detail="auto"):
    """Return an image whose URL holds a PNG of that size."""
    header = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + struct.pack(">II", width, height)
    return Image("data:image/png;base64," + base64.b64encode(header).decode(), detail)


def test_openai_adds_four_a_message_and_three_for_the_reply():
    """As OpenAI's cookbook counts chats: role and separators, and what opens the answer."""
    meter = ChatMeter(COUNTER)
    assert (meter.format, meter.format.reply) == (OTHERS, 3)
    assert meter.message("") == 4
    assert meter.message("hello world") == COUNTER.count("hello world") + 4


def test_a_call_costs_its_name_its_arguments_and_four():
    """With and without text beside it; of Anthropic's format more."""
    meter = ChatMeter(COUNTER)
    called = sum(COUNTER.count(call.name) + COUNTER.count(call.arguments) + 4 for call in CALLS)
    assert meter.message("", CALLS) == called + 4
    assert meter.message("I look.", CALLS) == called + COUNTER.count("I look.") + 4
    assert ChatMeter(COUNTER, ANTHROPIC).message("", CALLS) > called + 4


@given(text=st.text(), images=st.lists(st.sampled_from([Image("https://a"), picture(90, 90)])))
def test_a_message_costs_the_sum_of_its_parts(text, images):
    """Text, calls and pictures add up; none is forgotten and none is counted twice."""
    meter = ChatMeter(
        COUNTER, ChatFormat(message=7, reply=1, call=2, images=partial(flat, tokens=11))
    )
    called = sum(COUNTER.count(call.name) + COUNTER.count(call.arguments) + 2 for call in CALLS)
    expected = COUNTER.count(text) + called + 11 * len(images) + 7
    assert meter.message(text, CALLS, images) == expected


TILES = [
    (1024, 1024, 765),  # the examples of OpenAI's guide
    (2048, 4096, 1105),
    (4096, 8192, 1105),
    (512, 512, 255),
    (513, 512, 425),
    (1, 1, 255),
    (2049, 513, 1445),  # what the API was seen to bill: 512.75 pixels take two tiles,
    (2050, 513, 765),  # 512.4995 only one
    (768, 2000, 1445),
]


def test_openai_counts_tiles():
    """Made to fit into 2048 pixels, then the shorter side into 768, then tiles of 512."""
    for width, height, tokens in TILES:
        assert tiles(picture(width, height)) == tokens
        assert tiles(picture(height, width)) == tokens
        assert tiles(picture(width, height, "high")) == tokens
        assert tiles(picture(width, height, "low")) == 85


@given(width=st.integers(1, 20_000), height=st.integers(1, 20_000))
def test_no_picture_costs_more_than_one_of_unknown_size(width, height):
    """What is not known is planned with the most there can be: budgets hold."""
    unknown = Image("https://example.org/photo.jpg")
    for rule in (
        tiles,
        partial(tiles, base=2833, tile=5667),
        partial(patches, factor=1.62),
        area,
        partial(area, side=2576, most=4784),
        partial(flat, tokens=258),
    ):
        assert 0 < rule(picture(width, height)) <= rule(unknown)


AREAS = [
    (200, 200, 54),  # the examples of Anthropic's guide
    (1000, 1000, 1334),
    (1092, 1092, 1590),
    (4000, 4000, 1600),
    (8000, 400, 164),  # made to fit into 1568 pixels: 1568 by 78.4
]


def test_anthropic_counts_area():
    """Width times height over 750, 1,600 at most, of newer models 4,784; detail is not its word."""
    for width, height, tokens in AREAS:
        assert area(picture(width, height)) == tokens
        assert area(picture(height, width, "low")) == tokens
    for width, height, tokens in ((2000, 1000, 2667), (8000, 8000, 4784)):
        assert area(picture(width, height), side=2576, most=4784) == tokens


def test_small_openai_models_count_patches():
    """1,024 patches of 32 pixels, times the model's factor; 1,536 patches at most."""
    assert patches(picture(1024, 1024), factor=1.0) == 1024
    assert patches(picture(1024, 1024), factor=1.62) == 1659
    assert patches(picture(4000, 1474), factor=1.62) == 2489
    assert patches(picture(33, 1), factor=1.0) == 2


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
    assert size_of(data) == (width, height)
    url = f"data:image/x;base64,{base64.b64encode(data).decode()}"
    assert size_in_url(url) == (width, height)


def test_the_size_of_a_jpeg_stands_behind_its_metadata():
    """A preview of 60 KB, with a frame header of its own inside, is passed over."""
    preview = jpeg(160, 120) + bytes(60_000)
    segment = b"\xff\xe1" + struct.pack(">H", len(preview) + 2) + preview
    assert size_of(jpeg(4000, 3000, before=segment, marker=0xC2)) == (4000, 3000)


def test_urls_are_read_as_they_are_written():
    """In any case, broken into lines, with escapes, and with parameters."""
    plain = base64.b64encode(png(640, 480)).decode()
    for url in (
        f"DATA:image/png;BASE64,{plain}",
        "data:image/png;base64," + "\n".join(plain[at : at + 20] for at in range(0, 60, 20)),
        f"data:image/png;base64,{quote(plain, safe='')}",
        f"data:image/png;name=a.png;base64,{plain}",
    ):
        assert size_in_url(url) == (640, 480)


def test_a_large_picture_is_not_decoded_whole():
    """The header is enough: what follows it may even be no base64 at all."""
    body = base64.b64encode(png(640, 480) + bytes(1)).decode()
    assert size_in_url(f"data:image/png;base64,{body}{'A' * 2_000_000}é!") == (640, 480)


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


@given(data=st.binary(max_size=60), make=st.sampled_from(FORMATS))
def test_a_file_that_is_cut_off_has_no_size(data, make):
    """However short it is cut, or with nonsense behind; and a side of no length is no size."""
    picture = make(300, 200)
    sizes = {size_of(picture[:end]) for end in range(len(picture) + 1)}
    assert sizes == {None, (300, 200)}
    size = size_of(picture[:12] + data)
    assert size is None or min(size) > 0
    assert size_of(png(0, 5)) is None
