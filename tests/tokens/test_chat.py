"""What messages cost: overheads as documented, pictures by their size, text by its counter."""

import base64
import struct
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from memoranda.model.models import Image, ToolCall
from memoranda.tokens.catalog import (
    ANTHROPIC,
    OPENAI,
    ChatFormat,
    ChatMeter,
    area,
    flat,
    patches,
    tiles,
)
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
    assert meter.format == OPENAI
    assert meter.reply == 3
    assert meter.message("") == 4
    assert meter.message("hello world") == COUNTER.count("hello world") + 4


def test_a_call_costs_its_name_its_arguments_and_four():
    """With and without text beside it."""
    meter = ChatMeter(COUNTER)
    called = sum(COUNTER.count(call.name) + COUNTER.count(call.arguments) + 4 for call in CALLS)
    assert meter.message("", CALLS) == called + 4
    assert meter.message("I look.", CALLS) == called + COUNTER.count("I look.") + 4


def test_a_meter_names_its_counter_and_its_format():
    """So that a receipt can say whether its figures are exact."""
    meter = ChatMeter(COUNTER, ANTHROPIC)
    assert meter.counter is COUNTER
    assert meter.format is ANTHROPIC
    assert meter.message("", CALLS) > ChatMeter(COUNTER).message("", CALLS)


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
    """Width times height over 750, and never more than 1,600; detail is not its word."""
    for width, height, tokens in AREAS:
        assert area(picture(width, height)) == tokens
        assert area(picture(height, width, "low")) == tokens


def test_newer_claude_models_see_larger_pictures():
    """Up to 2,576 pixels and 4,784 tokens."""
    assert area(picture(2000, 1000), side=2576, most=4784) == 2667
    assert area(picture(8000, 8000), side=2576, most=4784) == 4784


def test_small_openai_models_count_patches():
    """1,024 patches of 32 pixels, times the model's factor; 1,536 patches at most."""
    assert patches(picture(1024, 1024), factor=1.0) == 1024
    assert patches(picture(1024, 1024), factor=1.62) == 1659
    assert patches(picture(4000, 1474), factor=1.62) == 2489
    assert patches(picture(33, 1), factor=1.0) == 2
