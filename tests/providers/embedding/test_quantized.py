"""The weights in one byte a number: made once, proved, and as near as a byte can be."""

import tempfile

import numpy as np
import pytest
from safetensors.numpy import load_file

from memoranda.errors import ModelUnavailable
from memoranda.providers.embedding.minilm import MiniLM
from memoranda.providers.embedding.model_files import QUANTIZED
from memoranda.providers.embedding.quantized import (
    FLOAT,
    SCALES,
    WORDS,
    ZERO,
    places,
    quantized_weights,
)

DENSE = "encoder.layer.3.intermediate.dense.weight"


def needed(published):
    """The tensors of the published file that the network reads."""
    found = load_file(published.weights)
    return {
        name: tensor
        for name, tensor in found.items()
        if tensor.dtype == np.float32 and not name.startswith("pooler.")
    }


@pytest.mark.usefixtures("user_folders")
def test_a_number_is_at_most_half_a_step_away(published):
    """What the bytes and scales stand for is the published matrix, rounded; the rest is equal."""
    tensors = needed(published)
    where = places({name: tensor.shape for name, tensor in tensors.items()})
    with quantized_weights(published.weights) as folder:
        data = (folder / QUANTIZED.name).read_bytes()
    assert sum(size for _, size in where.values()) == len(data) == QUANTIZED.size

    def stored(name, kind):
        start, size = where[name]
        return np.frombuffer(data[start : start + size], kind)

    for name in (WORDS, DENSE):
        scales = stored(name + SCALES, FLOAT).reshape(-1, 1)
        numbers = stored(name, np.uint8).reshape(len(scales), -1).astype(np.float32) - ZERO
        apart = np.abs(numbers * scales - tensors[name].reshape(numbers.shape))
        assert (apart <= scales * 0.5001).all()
    norm = "embeddings.LayerNorm.weight"
    assert (stored(norm, FLOAT) == tensors[norm]).all()


def test_they_are_made_once_and_again_when_damaged(published, user_folders):
    """A file that is there and genuine is taken as it is, any other is replaced."""
    path = user_folders["cache"] / "models" / QUANTIZED.name
    with quantized_weights(published.weights) as folder:
        assert path.parent == folder
        made = path.stat()
    with quantized_weights(published.weights):
        assert path.stat() == made
    path.write_bytes(b"no weights")
    with quantized_weights(published.weights):
        assert path.stat().st_size == QUANTIZED.size


def test_without_a_writable_cache_they_are_made_each_time(published, user_folders):
    """They serve all the same, from a folder that is gone once the model is loaded."""
    user_folders["cache"].write_text("no folder")
    with quantized_weights(published.weights) as folder:
        assert (folder / QUANTIZED.name).stat().st_size == QUANTIZED.size
    assert not folder.exists()
    alone = MiniLM(published.weights.parent, threads=4)  # Loaded for this test alone.
    assert alone.embed(["a"]).shape == (1, 384)


def test_without_any_room_the_model_is_unavailable(published, user_folders, monkeypatch):
    """The error says how much room is needed."""
    user_folders["cache"].write_text("no folder")
    monkeypatch.setattr(tempfile, "tempdir", str(user_folders["cache"]))
    with pytest.raises(ModelUnavailable, match="25 MB"):
        MiniLM(published.weights.parent, threads=5).embed(["a"])
