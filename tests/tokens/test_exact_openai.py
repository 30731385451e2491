"""Exact counts in OpenAI's encodings: what is tried, in which order, and what if nothing works."""

import logging
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.tokens import exact as tokenizers
from memoranda.tokens.estimate import ENCODINGS, EstimatedCounter

# What the patterns tell apart.
TRICKY = (
    "aBzé ßǅʰª漢かК한हि\u093f\u0301عم🎉\u200d\ufe0f\u00a0\u2028\u3000\x85\x1c\t\r\n"
    "  09٣²½Ⅷ'’\u017fsTLl!/#_-."
)
ANY = st.text(st.characters(exclude_categories=[]))
TEXT = "Don't forget: 3 bags of tea — 茶 — for São Paulo!\n"
TOKENS = {"cl100k_base": 18, "o200k_base": 16}  # that tiktoken makes of TEXT


@pytest.fixture
def no_rust(monkeypatch):
    """A machine without rs_bpe."""
    monkeypatch.setitem(sys.modules, "rs_bpe", None)
    monkeypatch.setitem(sys.modules, "rs_bpe.bpe", None)


@pytest.fixture
def no_tiktoken(monkeypatch):
    """A machine without tiktoken."""
    monkeypatch.setitem(sys.modules, "tiktoken", None)


@pytest.fixture
def proxy(monkeypatch):
    """Let all downloads go to a server on this machine, which listens and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"):
            monkeypatch.setenv(name, address)
        for name in ("NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.delenv(name, raising=False)
        yield server
    for thread in threading.enumerate():
        if thread.name.startswith("memoranda-download"):
            thread.join()


@pytest.mark.usefixtures("published")
def test_rs_bpe_counts_as_tiktoken_does(encoding, samples, dice):
    """On every sample, and on 500 texts of all that the patterns tell apart."""
    tiktoken, rust = tokenizers.tiktoken(encoding), tokenizers.rust(encoding)
    tricky = ("".join(dice.choices(TRICKY, k=dice.randrange(30))) for _ in range(500))
    for text in (*samples.values(), *tricky):
        assert rust(text) == tiktoken(text)


@pytest.mark.usefixtures("fresh", "no_rust", "published", "proxy")
def test_tiktoken_counts_without_network_where_it_has_the_vocabulary(encoding):
    """A vocabulary that was downloaded before is enough."""
    counter = tokenizers.openai_counter(encoding, 60)
    assert counter.exact
    assert counter.count(TEXT) == TOKENS[encoding]


@pytest.mark.usefixtures("fresh", "no_rust", "tiktoken_folder", "proxy")
def test_a_download_that_hangs_ends_in_an_estimate(encoding, caplog):
    """After the time limit there is an estimate for that encoding, and one warning that helps."""
    counter = tokenizers.openai_counter(encoding, 0.05)
    assert counter.name == EstimatedCounter(encoding).name
    assert not counter.exact
    (record,) = caplog.records
    assert record.name == "memoranda.tokens"
    assert record.levelno == logging.WARNING
    for part in (encoding, "0.05 s", "estimates", "'memoranda[tokens]'", "TIKTOKEN_CACHE_DIR"):
        assert part in record.getMessage()


@pytest.mark.usefixtures("fresh", "no_rust", "tiktoken_folder")
def test_a_download_that_is_refused_ends_in_an_estimate(encoding, proxy, caplog):
    """Without a network the estimate is there at once, not after the time limit."""
    proxy.close()
    counter = tokenizers.openai_counter(encoding, 60)
    assert not counter.exact
    assert "tiktoken: ProxyError" in caplog.text


@pytest.mark.usefixtures("fresh", "no_rust", "no_tiktoken")
def test_without_any_tokenizer_there_is_one_warning(encoding, caplog):
    """However often it is asked for, and from however many threads."""
    with ThreadPoolExecutor(8) as pool:
        counters = list(pool.map(lambda _: tokenizers.openai_counter(encoding, 1), range(16)))
    assert not any(counter.exact for counter in counters)
    assert len(caplog.records) == 1
    assert "import of tiktoken halted" in caplog.text


@pytest.fixture(params=["rust", "tiktoken"])
def exact(request, encoding, published):
    """An exact counter of each kind."""
    assert published.is_file()
    return tokenizers.ExactCounter(encoding, getattr(tokenizers, request.param)(encoding))


def test_special_tokens_in_a_text_are_ordinary_text(exact):
    """What looks like one is counted letter by letter, not as one token and not as an error."""
    assert exact.count("<|endoftext|>") > 3
    assert exact.count("<|im_start|>system") > 4


@pytest.mark.usefixtures("fresh", "tiktoken_folder")
@given(text=ANY)
def test_rs_bpe_comes_first_and_counts_any_text(text):
    """It needs no network, so nothing else is tried; only the empty text has no tokens."""
    pytest.importorskip("rs_bpe.bpe", reason="rs_bpe has no wheels for this Python")
    for encoding in ENCODINGS:
        counter = tokenizers.openai_counter(encoding, 0.001)
        assert (counter.exact, counter.name) == (True, encoding)
        assert bool(counter.count(text)) == bool(text)


def test_long_and_strange_texts_are_counted_exactly(exact, encoding, dice):
    """Beyond one stretch the count is that of the whole; runs that make tiktoken panic are not."""
    pytest.importorskip("rs_bpe.bpe", reason="rs_bpe has no wheels for this Python")
    words = [TEXT, "tea ", "don't ", "\n\n  ", "12345 ", "naïve", "!?\n", "漢字 ", "x/y", "  "]
    text = "".join(dice.choices(words, k=30_000))
    assert exact.count(text) == tokenizers.rust(encoding)(text)
    for strange in (" " * 300_000, "a" * 100_000, "\u3000" * 300_000):
        whole = tokenizers.rust(encoding)(strange)
        assert whole <= exact.count(strange) <= whole + 20
