"""The sketches of the encodings: the very tokens, and cutting text in linear time."""

import importlib.util
from pathlib import Path

import pytest

from memoranda.tokens.estimate import NEVER, load, unpack

BYTES = {bytes([value]) for value in range(256)}


def test_a_sketch_holds_the_tokens_of_its_encoding(encoding):
    """All of them and no other, the single bytes among them."""
    module = pytest.importorskip("rs_bpe.bpe", reason="rs_bpe has no wheels for this Python")
    merges = getattr(module.openai, encoding)().bpe()
    size = {"cl100k_base": 100_256, "o200k_base": 199_998}[encoding]
    levels = load(encoding).levels
    assert levels.keys() == {merges.decode_tokens([rank]) for rank in range(size)} | BYTES
    assert len(levels) == size


def test_levels_rise_with_the_ranks(encoding):
    """What the encoding merges first has no higher level than what it merges later."""
    module = pytest.importorskip("rs_bpe.bpe", reason="rs_bpe has no wheels for this Python")
    merges = getattr(module.openai, encoding)().bpe()
    levels = load(encoding).levels
    ranked = [merges.decode_tokens([rank]) for rank in range(0, 100_000, 7)]
    merged = [levels[token] for token in ranked if max(token) < 0xE0]
    assert merged == sorted(merged)
    assert merged[-1] < NEVER


@pytest.fixture(scope="module")
def script():
    """The script that makes the sketches."""
    pytest.importorskip("rs_bpe.bpe", reason="rs_bpe has no wheels for this Python")
    path = Path(__file__).parents[2] / "scripts" / "make_token_sketch.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_is_packed_is_unpacked(script):
    """Words in all their forms, words in one form only, bytes that are no text, long tokens."""
    words = [b"tea", b" tea", b"Tea", b" Tea", b"TEA", b" TEA", b"iPhone", b" iPhone", b"OK", b" "]
    others = [b"  ", b" \n", b"\xe6\xbc", " 漢".encode(), "é".encode(), b" \xf0\x9f", b"=" * 128]
    tokens = [bytes([value]) for value in range(256) if value != ord(" ")] + words + others
    expected = {token: script.level(token, rank) for rank, token in enumerate(tokens)}
    assert dict(unpack(script.pack(tokens))) == expected
