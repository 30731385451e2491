"""A sentence-transformers model through the port, where that library is installed."""

import pytest

pytest.importorskip("sentence_transformers", reason="brings torch")

from memoranda.errors import ModelUnavailable
from memoranda.providers.embedding.sentence_models import SentenceTransformerEmbedder


def test_it_gives_the_vectors_that_minilm_gives(published, minilm):
    """The same model through torch and through our graph: the same vectors."""
    texts = ["Ana is vegetarian.", "安娜是素食者。", "", "🎉 \ud800"]
    embedder = SentenceTransformerEmbedder(str(published.weights.parent))
    rows = embedder.embed(texts)
    assert rows.shape == (4, embedder.dimensions)
    assert (rows * minilm.embed(texts)).sum(axis=1).min() > 0.997
    assert embedder.embed([]).shape == (0, 384)


def test_an_unknown_model_says_what_to_do(tmp_path):
    """A folder without a model is an unavailable model."""
    with pytest.raises(ModelUnavailable, match="check the name"):
        SentenceTransformerEmbedder(str(tmp_path))
