"""all-MiniLM-L6-v2 on this machine, without torch.

The package ships the graph (``minilm.onnx``, made by
``scripts/build_minilm_graph.py``); the weights and the tokenizer are the two
published files, found and checked by :mod:`memoranda.providers.embedding.model_files`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import BoundedSemaphore, Lock
from weakref import WeakValueDictionary

import numpy as np

from memoranda.errors import EmbeddingError, InvalidInput, MissingExtra
from memoranda.providers.embedding.cache import Vectors, unit_rows, well_formed
from memoranda.providers.embedding.model_files import MODEL, ModelFiles, find

# The runtime counts its uses and keeps an id of the device, from its import on; nobody asked.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
try:
    import onnxruntime
    from tokenizers import Tokenizer
except ImportError as error:
    raise MissingExtra(f"{MODEL} on this machine", "local") from error

GRAPH = Path(__file__).with_name("minilm.onnx")
DIMENSIONS = 384
MAX_TOKENS = 256
# Attention needs memory by the square of the length: 4 texts of 256 tokens at a time.
TOKENS_PER_BATCH = 1024


@dataclass(frozen=True, slots=True, weakref_slot=True)
class LoadedMiniLM:
    """The tokenizer and the network in memory, about 200 MB; shared by all that embed with it.

    Attributes:
        tokenizer: turns text into token ids.
        session: runs the network.
        tensors: the weights; the runtime reads from these and keeps no reference of Python's.
        turns: bounds how many calls run at once: each needs memory of its own.
    """

    tokenizer: Tokenizer
    session: onnxruntime.InferenceSession
    tensors: dict[str, onnxruntime.OrtValue]
    turns: BoundedSemaphore


# What this process has loaded, by files and threads; an entry goes with its last embedder.
LOADED: WeakValueDictionary[tuple[Path, Path, int], LoadedMiniLM] = WeakValueDictionary()
LOADING = Lock()


class MiniLM:
    """The embedder that needs no server and no key (Reimers and Gurevych 2019).

    A text counts with its first 256 tokens. The model is loaded by the first ``embed``, in
    about 0.4 s, unless another embedder of this process has loaded it: all share one, which is
    let go when the last of them is closed. Thread-safe.
    """

    name = MODEL
    dimensions = DIMENSIONS

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
                raise InvalidInput(f"{name} must be at least 1, got {value}")
        self._folder = folder
        self._threads = threads
        self._batch_size = batch_size
        self._model: LoadedMiniLM | None = None
        self._lock = Lock()

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
                result[rows] = _run(model, [tokens[row] for row in rows])
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

    def close(self) -> None:
        """Let the model go. It is loaded again by the next ``embed``, if there is one."""
        with self._lock:
            self._model = None

    def _loaded(self) -> LoadedMiniLM:
        with self._lock:
            if self._model is None:
                self._model = _shared(find(self._folder), self._threads)
            return self._model


def _shared(files: ModelFiles, threads: int) -> LoadedMiniLM:
    """Return the model that this process has loaded from ``files``; load it if there is none."""
    key = (files.weights.resolve(), files.tokenizer.resolve(), threads)
    with LOADING:
        model = LOADED.get(key)
        if model is None:
            model = LOADED[key] = _load(files, threads)
        return model


def _load(files: ModelFiles, threads: int) -> LoadedMiniLM:
    try:
        tokenizer = Tokenizer.from_file(str(files.tokenizer))
        # The published file cuts and pads to 128 tokens; the model takes 256.
        tokenizer.enable_truncation(MAX_TOKENS)
        tokenizer.no_padding()
        tensors = {
            name: onnxruntime.OrtValue.ortvalue_from_numpy(tensor)
            for name, tensor in _read_weights(files.weights)
        }
        turns = BoundedSemaphore(max(1, (os.cpu_count() or 1) // threads))
        return LoadedMiniLM(tokenizer, _session(tensors, threads), tensors, turns)
    except Exception as error:
        raise EmbeddingError(
            f"the runtime could not load {MODEL}: {error}; "
            f"bring it up to date: pip install --upgrade 'memoranda[local]'"
        ) from error


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
    # An arena keeps for good what the longest text of each thread once took.
    options.enable_cpu_mem_arena = False
    options.add_external_initializers(list(tensors), list(tensors.values()))
    return onnxruntime.InferenceSession(
        GRAPH.read_bytes(), options, providers=["CPUExecutionProvider"]
    )


def _run(model: LoadedMiniLM, tokens: Sequence[Sequence[int]]) -> Vectors:
    """Return the vectors of one batch of token ids, padded here to its longest."""
    shape = (len(tokens), max(map(len, tokens)))
    ids, mask = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for row, sequence in enumerate(tokens):
        ids[row, : len(sequence)] = sequence
        mask[row, : len(sequence)] = 1
    with model.turns:
        vectors: Vectors = model.session.run(None, {"input_ids": ids, "attention_mask": mask})[0]
    return vectors
