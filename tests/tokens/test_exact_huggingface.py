"""Exact counts by a tokenizer.json, and estimates where there is none."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.tokens.estimate import EstimatedCounter
from memoranda.tokens.exact import huggingface_counter

tokenizers = pytest.importorskip("tokenizers")

SENTENCES = ["the tea is hot", "the cat drinks the tea", "hot tea for the cat, please"] * 20


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A byte-level BPE that was trained here, with a special token and the usual cutting."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<end>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="<end> $A <end>", special_tokens=[("<end>", tokenizer.token_to_id("<end>"))]
    )
    tokenizer.enable_truncation(6)
    tokenizer.enable_padding(length=6)
    path = tmp_path_factory.mktemp("model") / "tokenizer.json"
    tokenizer.save(str(path))
    return path


@pytest.fixture(scope="module")
def counter(file):
    """The counter of that file."""
    return huggingface_counter(file)


@given(text=st.text(st.characters(exclude_categories=[])))
def test_it_counts_what_the_tokenizer_makes(counter, file, text):
    """The tokens of the text alone, whatever the text: what spells a special token is ordinary."""
    assert (counter.exact, counter.name, counter.count("")) == (True, str(file), 0)
    assert counter.count(" tea") == 1
    assert counter.count(" tea is hot" * 100) == 300
    assert counter.count("<end>") >= 4
    assert counter.count("tea \ud83d") == counter.count("tea \ufffd")
    assert bool(counter.count(text)) == bool(text)


@pytest.mark.usefixtures("fresh")
def test_a_tokenizer_that_fails_on_a_text_is_not_the_end(tmp_path, caplog):
    """One without an unknown token fails on other words: these are estimated, with a warning."""
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"tea": 0}, unk_token="[UNK]"))  # noqa: S106 - no password
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    words.save(str(tmp_path / "words.json"))
    counter = huggingface_counter(tmp_path / "words.json")
    assert counter.count("tea tea") == 2
    assert counter.count("tea and coffee") == EstimatedCounter().count("tea and coffee")
    assert counter.count("more coffee") == EstimatedCounter().count("more coffee")
    assert len(caplog.records) == 1
    assert "words" in caplog.text


@pytest.mark.usefixtures("fresh")
def test_what_cannot_be_read_ends_in_an_estimate(file, tmp_path, monkeypatch, caplog):
    """A missing or broken file, or no package: one warning names it and what to do."""
    missing = tmp_path / "tokenizer.json"
    for _ in range(3):
        assert huggingface_counter(missing).name == "estimate (cl100k_base)"
    (record,) = caplog.records
    for part in (str(missing), "No such file", "tokens.tokenizers"):
        assert part in record.getMessage()
    for number, content in enumerate(("", "{}", "not JSON", '{"model": {"type": "BPE"}}')):
        path = tmp_path / f"{number}.json"
        path.write_text(content)
        assert not huggingface_counter(path).exact
        assert f"{number}.json" in caplog.text
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    assert not huggingface_counter(file).exact
    assert "memoranda[tokens]" in caplog.text
