"""The oracle of the room, and tokenizers that are loaded anew for each test."""

import random
from pathlib import Path

import pytest

from memoranda.tokens import estimate as estimating

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
def fresh():
    """A process in which no tokenizer was asked for yet."""
    estimating.warn_of_estimate.cache_clear()
