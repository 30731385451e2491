"""Exact counts in OpenAI's encodings, and estimates where the tokenizer is not there."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.tokens.estimate import ENCODINGS, EstimatedCounter
from memoranda.tokens.exact import openai_counter

ANY = st.text(st.characters(exclude_categories=[]))
TEXT = "Don't forget: 3 bags of tea — 茶 — for São Paulo!\n"
TOKENS = {"cl100k_base": 18, "o200k_base": 16}  # that tiktoken makes of TEXT


@pytest.mark.usefixtures("fresh")
def test_without_any_tokenizer_there_is_one_warning(encoding, monkeypatch, caplog):
    """However often it is asked for, and from however many threads; it says what to do."""
    for name in ("rs_bpe", "rs_bpe.bpe"):
        monkeypatch.setitem(sys.modules, name, None)
    with ThreadPoolExecutor(8) as pool:
        counters = list(pool.map(lambda _: openai_counter(encoding), range(16)))
    assert {(each.name, each.exact) for each in counters} == {
        (EstimatedCounter(encoding).name, False)
    }
    (message,) = {record.getMessage() for record in caplog.records}
    for part in (encoding, "import of rs_bpe", "estimates", "'memoranda[tokens]'"):
        assert part in message


@pytest.mark.usefixtures("oracle")
def test_special_tokens_in_a_text_are_ordinary_text(encoding):
    """What looks like one is counted letter by letter, not as one token and not as an error."""
    counter = openai_counter(encoding)
    assert counter.count(TEXT) == TOKENS[encoding]
    assert counter.count("<|endoftext|>") > 3
    assert counter.count("<|im_start|>system") > 4


@pytest.mark.usefixtures("fresh")
@given(text=ANY)
def test_it_counts_any_text_exactly(text):
    """Lone surrogates too; only the empty text has no tokens."""
    pytest.importorskip("rs_bpe.bpe", reason="rs_bpe has no wheels for this Python")
    for encoding in ENCODINGS:
        counter = openai_counter(encoding)
        assert (counter.exact, counter.name) == (True, encoding)
        assert bool(counter.count(text)) == bool(text)
