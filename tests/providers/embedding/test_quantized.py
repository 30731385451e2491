"""The weights in one byte a number: made once, proved, and as near as a byte can be."""

import numpy as np
import pytest
from safetensors.numpy import load_file

from memoranda.errors import ModelUnavailable
from memoranda.providers.embedding.minilm import MiniLM
from memoranda.providers.embedding.model_files import QUANTIZED, WEIGHTS
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
    data = (quantized_weights(published.weights) / QUANTIZED.name).read_bytes()
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
    assert quantized_weights(published.weights) == path.parent
    made = path.stat()
    quantized_weights(published.weights)
    assert path.stat() == made
    path.write_bytes(b"no weights")
    quantized_weights(published.weights)
    assert path.stat().st_size == QUANTIZED.size


@pytest.mark.usefixtures("user_folders")
def test_changed_weights_are_never_used(tmp_path, published):
    """One flipped byte is refused; the message names the file and the hash."""
    weights = tmp_path / WEIGHTS.name
    data = bytearray(published.weights.read_bytes())
    data[-1000] ^= 1
    weights.write_bytes(data)
    with pytest.raises(ModelUnavailable, match=WEIGHTS.sha256) as caught:
        quantized_weights(weights)
    assert str(weights) in str(caught.value)


def test_without_a_writable_cache_the_model_is_unavailable(published, user_folders):
    """The error says how much room is needed, and where."""
    user_folders["cache"].write_text("no folder")
    with pytest.raises(ModelUnavailable, match="25 MB") as caught:
        MiniLM(published.weights.parent, threads=5).embed(["a"])
    assert str(user_folders["cache"]) in str(caught.value)
