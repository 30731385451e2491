"""The weights of MiniLM in one byte a number: 24 MB, made of the 90 that are published.

They are made when the model is first loaded, and kept in the user's cache folder. The runtime maps
that file, so that of the table of words only the rows of the texts it has read are in memory.

A matrix is stored as the runtime's ``MatMulNBits`` takes it: 32 numbers of a row share a scale,
the largest of them by 127, and each is ``(byte - 128) * scale``. In the table of words a whole row
shares one. Everything else is stored as it was. No sum is taken, so that every machine makes the
same file, and its hash proves it as those of the published files do.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import BinaryIO

import numpy as np
from platformdirs import user_cache_path

from memoranda.providers.embedding import model_files

WORDS = "embeddings.word_embeddings.weight"
BLOCK = 32  # numbers of a matrix that share a scale
LARGEST = 127
ZERO = 128  # the byte that stands for 0
FLOAT = np.dtype("<f4")
ROWS = 1_024  # that are read at once, so that the whole table of words never is


def quantized_weights(published: Path) -> Path:
    """Return the folder that holds ``minilm-int8.bin``, made of the published weights.

    Raises:
        ModelUnavailable: it cannot be written, or the weights are not those that were published.
    """
    folder = user_cache_path("memoranda") / "models"
    path = folder / model_files.QUANTIZED.name
    if model_files.is_genuine(path, model_files.QUANTIZED):
        return folder
    model_files.require_genuine(published, model_files.WEIGHTS)
    model_files.write_file(path, model_files.QUANTIZED, quantize(published))
    model_files.require_genuine(path, model_files.QUANTIZED)
    return folder


def quantize(published: Path) -> Iterator[bytes]:
    """Yield the content of ``minilm-int8.bin``, from the published file.

    That one has 8 bytes with the size of a JSON header, the header, and the numbers.
    """
    with published.open("rb") as file:
        start = 8 + int.from_bytes(file.read(8), "little")
        tensors = json.loads(file.read(start - 8))
        for name in sorted(filter(_is_needed, tensors)):
            file.seek(start + tensors[name]["data_offsets"][0])
            yield from _stored(file, name, tuple(tensors[name]["shape"]))


def _is_needed(name: str) -> bool:
    # The graph stops before BERT's pooler and counts positions itself.
    return name.startswith(("embeddings.", "encoder.")) and not name.endswith("position_ids")


def shared_numbers(name: str, shape: tuple[int, ...]) -> int:
    """Return how many numbers of a tensor share a scale; 0 if it is stored as it is."""
    if name == WORDS:
        return shape[-1]
    return BLOCK if name.startswith("encoder.") and len(shape) > 1 else 0


def _stored(file: BinaryIO, name: str, shape: tuple[int, ...]) -> Iterator[bytes]:
    """Yield what is stored of the tensor that comes next in the file: its bytes, then scales."""
    block, left = shared_numbers(name, shape), prod(shape)
    if not block:
        yield file.read(left * FLOAT.itemsize)
        return
    scales: list[bytes] = []
    while left:
        count = min(left, ROWS * shape[-1])
        read = np.frombuffer(file.read(count * FLOAT.itemsize), FLOAT).reshape(-1, block)
        scale = np.abs(read).max(axis=1, keepdims=True) / FLOAT.type(LARGEST)
        # A row of zeros has no scale; divided by one it stays what it is.
        divisor = np.where(scale == 0, FLOAT.type(1), scale)
        yield (np.rint(read / divisor) + ZERO).astype(np.uint8).tobytes()
        scales.append(scale.astype(FLOAT).tobytes())
        left -= count
    yield b"".join(scales)
