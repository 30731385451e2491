"""JSON out of what models write: fences, prose, thoughts, commas too many, halves."""

import json
import time

from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from memoranda.providers.llm.answer_reading import read_json

FIELDS = ["history_entry", "memory_update", "claims"]
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.sampled_from(FIELDS), VALUES, min_size=1)
PROSE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="{}[]`<"))
# What breaks parsers: braces, quotes, backslashes and fences in any order.
NOISE = st.text(st.sampled_from('{}[]"\\:,`\n abc1.-') | st.characters()) | st.lists(
    st.sampled_from(['{"claims": ', "[", "{", '"', "```json\n", "}", '\\"', "</think>", "1e999"])
).map("".join)


@given(NOISE)
def test_no_text_raises(text):
    """Whatever is written, it is an object, a list or nothing."""
    assert isinstance(read_json(text, FIELDS), dict | list | None)


@given(OBJECTS, PROSE, PROSE, st.sampled_from(["{}", "```json\n{}\n```", "```\n{}```", "\n{}\n"]))
def test_wrapped_json_comes_back(value, before, after, wrap):
    """Any object, in prose and fences, is read as it was written."""
    text = before + wrap.replace("{}", json.dumps(value)) + after
    assert read_json(text, FIELDS) == value


@given(OBJECTS, st.data())
def test_half_json_gives_what_is_whole(value, data):
    """Cut anywhere, every field that is found has its value, or a beginning of its list."""
    text = json.dumps(value)
    cut = data.draw(st.integers(0, len(text) - 1))
    found = read_json(text[:cut], FIELDS)
    for name, read in (found or {}).items() if isinstance(found, dict) else []:
        if name not in value:
            continue  # A name inside of another field's value.
        whole = value[name]
        if isinstance(whole, list) and isinstance(read, list):
            assert read == whole[: len(read)]
        elif text.count(f'"{name}"') == 1:
            assert read == whole


@each_row(
    ("text", "value"),
    [
        ('```json\n{"claims": 1}\n```', {"claims": 1}),
        ('{"claims": "line\nbreak"}', {"claims": "line\nbreak"}),
        ('{"claims": [1, 2,],}', {"claims": [1, 2]}),
        ('{"claims": ", }"}', {"claims": ", }"}),
        ("[1, 2]", [1, 2]),
        ('Set {x} to {"a": 1}, then {"claims": "}{"} {"claims": 2}', {"claims": "}{"}),
        ('<think>{"claims": 1}</think>{"claims": 2}', {"claims": 2}),
        ('{ so </think>{"claims": 2', None),
        ('{"claims": 1}</think>', {"claims": 1}),
        ('{"claims": [{"a": 1}, {"a": 2}, {"a": ', {"claims": [{"a": 1}, {"a": 2}]}),
        ('{"history_entry": "a", "memory_update": "b', {"history_entry": "a"}),
        (
            '"history_entry": "a\\"b", so "memory_update" : null',
            {"history_entry": 'a"b', "memory_update": None},
        ),
        ('{ "claims": 12', None),
        ('{"claims": 1.', None),
        ('{"claims": tru', None),
        ("I would rather not.", None),
        ("", None),
    ],
)
def test_each_tier_reads_its_share(text, value):
    """What each of the three tiers is for."""
    assert read_json(text, FIELDS) == value


@each_row(
    "unit",
    ['{"claims": [1, ', '"claims": [', '"\\"', "{", "```\n", ",  ", '{"', "{}", '"claims": "', "["],
)
def test_time_grows_with_the_text_alone(unit):
    """Eight times the text takes nothing like sixty-four times the time."""

    def seconds(text):
        started = time.process_time()
        read_json(text, FIELDS)
        return time.process_time() - started

    short = unit * (10_000 // len(unit))
    # What is measured once may have been interrupted.
    assert any(seconds(short * 8) < 32 * seconds(short) + 0.05 for _ in range(3))
