"""The oracle of the room, and tokenizers that are loaded anew for each test."""

import base64
import hashlib
import random
from pathlib import Path

import pytest

from memoranda.tokens import estimate as estimating
from memoranda.tokens import exact as tokenizers

ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
SAMPLES = sorted((Path(__file__).parent / "samples").glob("*.txt"))


@pytest.fixture(params=estimating.ENCODINGS)
def encoding(request):
    """Each of OpenAI's encodings that are known."""
    return request.param


@pytest.fixture
def oracle(encoding):
    """The exact counts of the encoding, offline."""
    module = pytest.importorskip("rs_bpe.bpe", reason="rs_bpe has no wheels for this Python")
    return getattr(module.openai, encoding)().count


@pytest.fixture(scope="session")
def samples():
    """Texts of several hundred tokens in one language, or in several, by name."""
    return {sample.stem: sample.read_text("utf-8") for sample in SAMPLES}


@pytest.fixture
def dice():
    """Chance that is the same in every run."""
    return random.Random(7)  # noqa: S311 - no secret


@pytest.fixture
def fresh(monkeypatch):
    """A process in which no tokenizer was asked for yet."""
    tokenizers.openai_counter.cache_clear()
    monkeypatch.setattr(estimating, "_warned", set())
    yield
    tokenizers.openai_counter.cache_clear()


@pytest.fixture
def tiktoken_folder(tmp_path, monkeypatch):
    """The folder, empty as yet, in which tiktoken looks for what it has downloaded."""
    pytest.importorskip("tiktoken")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="session")
def vocabularies():
    """The published vocabularies, rebuilt from rs_bpe: tiktoken compares their sha256."""
    module = pytest.importorskip("rs_bpe.bpe", reason="rs_bpe has no wheels for this Python")
    files = {}
    for name, size in {"cl100k_base": 100_256, "o200k_base": 199_998}.items():
        token = getattr(module.openai, name)().bpe().decode_tokens
        lines = (base64.b64encode(token([rank])) + b" %d\n" % rank for rank in range(size))
        files[name] = b"".join(lines)
    return files


@pytest.fixture
def published(encoding, vocabularies, tiktoken_folder):
    """The published vocabulary, where tiktoken looks for what it has downloaded."""
    address = hashlib.sha1(ADDRESS.format(encoding).encode(), usedforsecurity=False)
    file = tiktoken_folder / address.hexdigest()
    file.write_bytes(vocabularies[encoding])
    return file
