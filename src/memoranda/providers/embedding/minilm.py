"""all-MiniLM-L6-v2 on this machine, without torch.

The package ships the graph (``minilm.onnx``, made by
``scripts/build_minilm_graph.py``); the weights and the tokenizer are the two
published files, found and checked by :mod:`memoranda.providers.embedding.files`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import numpy as np

from memoranda.errors import EmbeddingError, InvalidInput, MissingExtra
from memoranda.providers.embedding.batches import Vectors, unit_rows, well_formed
from memoranda.providers.embedding.files import MODEL, find

# The runtime counts its uses and keeps an id of the device, from its import on; nobody asked.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
try:
    import onnxruntime
    from tokenizers import Tokenizer
except ImportError as error:
    feature = f"{MODEL} on this machine"
    raise MissingExtra(feature, "local") from error

GRAPH = Path(__file__).with_name("minilm.onnx")
DIMENSIONS = 384
MAX_TOKENS = 256
# Attention needs memory by the square of the length: 4 texts of 256 tokens at a time.
TOKENS_PER_BATCH = 1024


@dataclass(frozen=True, slots=True)
class _Loaded:
    tokenizer: Tokenizer
    session: onnxruntime.InferenceSession
    # The runtime may go on reading from these, and keeps no reference of Python's.
    tensors: dict[str, onnxruntime.OrtValue]


class MiniLM:
    """The embedder that needs no server and no key (Reimers and Gurevych 2019).

    A text counts with its first 256 tokens. The model is loaded by the first
    ``embed``, in about 0.4 s. Thread-safe.
    """

    def __init__(self, folder: Path | None = None, threads: int = 1, batch_size: int = 32) -> None:
        """Load nothing yet.

        Args:
            folder: where the two files of the model are; by default they are searched.
            threads: how many threads one call uses.
            batch_size: how many texts go through the model at once, at most.

        Raises:
            InvalidInput: ``threads`` or ``batch_size`` is below one.
        """
        for name, value in (("threads", threads), ("batch_size", batch_size)):
            if value < 1:
                message = f"{name} must be at least 1, got {value}"
                raise InvalidInput(message)
        self._folder = folder
        self._threads = threads
        self._batch_size = batch_size
        self._model: _Loaded | None = None
        self._lock = Lock()

    @property
    def name(self) -> str:
        """``all-MiniLM-L6-v2``."""
        return MODEL

    @property
    def dimensions(self) -> int:
        """384."""
        return DIMENSIONS

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a float32 array of shape ``(len(texts), 384)``, rows of unit length.

        Raises:
            ModelUnavailable: the files are not there or not the published ones.
            EmbeddingError: the runtime failed.
        """
        cleaned = well_formed(texts)
        result = np.empty((len(cleaned), DIMENSIONS), dtype=np.float32)
        if not cleaned:
            return result
        model = self._loaded()
        try:
            # One by one: a batch call would start threads of its own for little gain.
            tokens = [model.tokenizer.encode(text).ids for text in cleaned]
            for rows in self._batches(tokens):
                result[rows] = _run(model.session, [tokens[row] for row in rows])
        except Exception as error:
            message = f"{MODEL} could not embed {len(cleaned)} texts: {error}"
            raise EmbeddingError(message) from error
        return unit_rows(result, count=len(cleaned), dimensions=DIMENSIONS, model=MODEL)

    def _batches(self, tokens: Sequence[Sequence[int]]) -> Iterator[list[int]]:
        """Give positions in batches of like length, so that little is padding."""
        order = sorted(range(len(tokens)), key=lambda position: len(tokens[position]))
        start = 0
        while start < len(order):
            end = start + 1
            while (
                end < len(order)
                and end - start < self._batch_size
                and (end - start + 1) * len(tokens[order[end]]) <= TOKENS_PER_BATCH
            ):
                end += 1
            yield order[start:end]
            start = end

    def _loaded(self) -> _Loaded:
        with self._lock:
            if self._model is None:
                self._model = _load(self._folder, self._threads)
            return self._model


def _load(folder: Path | None, threads: int) -> _Loaded:
    files = find(folder)
    try:
        tokenizer = Tokenizer.from_file(str(files.tokenizer))
        # The published file cuts and pads to 128 tokens; the model takes 256.
        tokenizer.enable_truncation(MAX_TOKENS)
        tokenizer.no_padding()
        tensors = {
            name: onnxruntime.OrtValue.ortvalue_from_numpy(tensor)
            for name, tensor in _read_weights(files.weights)
        }
        return _Loaded(tokenizer, _session(tensors, threads), tensors)
    except Exception as error:
        message = (
            f"the runtime could not load {MODEL}: {error}; "
            f"bring it up to date: pip install --upgrade 'memoranda[local]'"
        )
        raise EmbeddingError(message) from error


def _read_weights(path: Path) -> Iterator[tuple[str, Vectors]]:
    """Map the tensors that the graph uses; the safetensors library would copy all 90 MB.

    The format: 8 bytes with the size of a JSON header, the header, the numbers.
    """
    data = np.memmap(path, mode="r")
    start = 8 + int.from_bytes(data[:8].tobytes(), "little")
    for name, tensor in json.loads(data[8:start].tobytes()).items():
        # The graph stops before BERT's pooler and counts positions itself.
        if name.startswith(("embeddings.", "encoder.")) and tensor["dtype"] == "F32":
            first, end = tensor["data_offsets"]
            values = data[start + first : start + end].view("<f4")
            yield name, values.reshape(tensor["shape"])


def _session(
    tensors: dict[str, onnxruntime.OrtValue], threads: int
) -> onnxruntime.InferenceSession:
    """Fill the graph with the weights, and let the runtime optimise it."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_external_initializers(list(tensors), list(tensors.values()))
    return onnxruntime.InferenceSession(
        GRAPH.read_bytes(), options, providers=["CPUExecutionProvider"]
    )


def _run(session: onnxruntime.InferenceSession, tokens: Sequence[Sequence[int]]) -> Vectors:
    """Return the vectors of one batch of token ids, padded here to its longest."""
    shape = (len(tokens), max(map(len, tokens)))
    ids, mask = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for row, sequence in enumerate(tokens):
        ids[row, : len(sequence)] = sequence
        mask[row, : len(sequence)] = 1
    vectors: Vectors = session.run(None, {"input_ids": ids, "attention_mask": mask})[0]
    return vectors
