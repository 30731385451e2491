"""What stands in a file is found, wherever it begins and however it is coded."""

import io
import json
from base64 import b64encode

import byte_search
from byte_search import KEY, ByteSearch, probes
from hypothesis import example, given
from hypothesis import strategies as st

LONG = "The quick brown fox jumps over the lazy dog, said Ana. " * 20


def found(texts, data, **how):
    """Return which texts are in bytes."""
    return set(ByteSearch(texts, **how).files([("f", io.BytesIO(data))]))


@given(st.sets(st.text(min_size=KEY, max_size=60), max_size=5), st.binary(), st.binary())
@example({'say "no"\n\u00e9'}, b"x", b"")
def test_each_text_is_found_in_each_form(texts, before, after):
    """Plain, as JSON with and without escapes, and in base64 at any place."""
    texts = {each for each in texts if each.isprintable()}
    for text in texts:
        for form in (text, json.dumps(text), json.dumps(text, ensure_ascii=False)):
            data = before + form.encode() + after
            assert text in found(texts, data)
            assert text in found(texts, b64encode(data), coded=True)


@given(st.binary(max_size=300))
def test_nothing_is_found_that_is_not_there(data):
    """A text is only found where its bytes are, and nothing is where nothing is looked for."""
    text = "under the blue pot"
    assert (text in found({text, LONG}, data)) == (text.encode() in data)
    assert found(set(), data) == set()


def test_a_text_over_the_border_of_two_blocks_is_found(monkeypatch):
    """Files are read in blocks; none hides what begins in one and ends in another."""
    monkeypatch.setattr(byte_search, "BLOCK", 32)
    for before in range(70):
        assert found({"under the blue pot"}, bytes(before) + b"under the blue pot") != set()


def test_a_long_text_is_found_by_its_parts():
    """A database breaks a long text up: each part is enough. A very short one tells nothing."""
    parts = probes(LONG)
    assert len(parts) > 1
    assert all(part in LONG for part in parts)
    assert found(parts, LONG[len(LONG) // 2 :].encode())
    assert (probes("yes"), probes("PIN 47111")) == ([], ["PIN 47111"])
