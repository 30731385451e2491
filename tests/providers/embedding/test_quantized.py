"""The weights in one byte a number: made once, proved, and as near as a byte can be."""

import shutil

import numpy as np
import pytest
from safetensors import safe_open

from memoranda.errors import ModelUnavailable
from memoranda.providers.embedding.minilm import MiniLM
from memoranda.providers.embedding.model_files import QUANTIZED, WEIGHTS
from memoranda.providers.embedding.quantized import (
    FLOAT,
    WORDS,
    ZERO,
    quantized_weights,
    shared_numbers,
)

DENSE = "encoder.layer.3.intermediate.dense.weight"


@pytest.mark.usefixtures("user_folders")
def test_a_number_is_at_most_half_a_step_away(published):
    """What the bytes and scales stand for is the published matrix, rounded; the rest is equal."""
    data = (quantized_weights(published.weights) / QUANTIZED.name).read_bytes()
    end = 0

    def stored(kind, count):
        nonlocal end
        found = np.frombuffer(data, kind, count, end)
        end += found.nbytes
        return found

    with safe_open(published.weights, "numpy") as tensors:
        for name in sorted(tensors.keys()):
            numbers = tensors.get_tensor(name)
            size, block = numbers.size, shared_numbers(name, numbers.shape)
            if numbers.dtype != np.float32 or name.startswith("pooler."):
                continue
            wide = numbers.ndim > 1 and "encoder" in name
            assert bool(block) == (name in {WORDS, DENSE} or wide)
            if not block:
                assert (stored(FLOAT, size) == numbers.ravel()).all()
                continue
            found = stored(np.uint8, size).reshape(-1, block).astype(np.float32)
            scales = stored(FLOAT, size // block).reshape(-1, 1)
            found -= ZERO
            found *= scales
            found -= numbers.reshape(-1, block)
            assert (np.abs(found, out=found) <= scales * 0.5001).all()
    assert end == len(data) == QUANTIZED.size


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


def test_without_genuine_weights_and_a_cache_the_model_is_unavailable(
    tmp_path, published, user_folders
):
    """One flipped byte is refused, by its hash; the cache is named, with the room it needs."""
    weights = shutil.copy(published.weights, tmp_path / WEIGHTS.name)
    data = np.memmap(weights, np.uint8, "r+")
    data[-1000] ^= 1
    data.flush()
    with pytest.raises(ModelUnavailable, match=WEIGHTS.sha256) as caught:
        quantized_weights(weights)
    assert str(weights) in str(caught.value)
    user_folders["cache"].write_text("no folder")
    with pytest.raises(ModelUnavailable, match="25 MB") as caught:
        MiniLM(published.weights.parent, threads=5).embed(["a"])
    assert str(user_folders["cache"]) in str(caught.value)
