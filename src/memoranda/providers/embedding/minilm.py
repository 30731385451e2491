"""all-MiniLM-L6-v2 on this machine, without torch.

The package ships the graph (``minilm.onnx``, made by
``scripts/build_minilm_graph.py``); the tokenizer and the weights are the two published files,
found and checked by :mod:`memoranda.providers.embedding.model_files`, the weights as
:mod:`memoranda.providers.embedding.quantized` stores them. Vectors have a cosine of .9996 with
those of the published model, so that both may stand in one store.

Beside the vector of a text it gives one for each word piece, out of the same pass, for late
interaction (ColBERT, Khattab and Zaharia 2020): which piece of a text is most like each of a
question. Function words and punctuation have none. So that they take little room, each is
multiplied with a fixed matrix of signs, which keeps angles nearly as they are (Achlioptas
2003), and stored in one byte a number.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from memoranda.errors import EmbeddingError, MissingExtra
from memoranda.model.processes import follow_forks
from memoranda.model.query import EmbeddedText, TokenVectors, Vectors
from memoranda.providers.embedding.cache import stack_vectors, unit_rows, well_formed
from memoranda.providers.embedding.model_files import DIMENSIONS, MODEL, TOKENIZER, WEIGHTS, find
from memoranda.providers.embedding.process_memory import release_memory
from memoranda.text.languages import DEFAULT
from memoranda.text.terms import stop_words

if TYPE_CHECKING:
    import numpy.typing as npt
    import onnxruntime
    from tokenizers import Tokenizer

RUNTIME = ("onnxruntime", "tokenizers")
GRAPH = Path(__file__).with_name("minilm.onnx")
MAX_TOKENS = 256
# Attention needs memory by the square of the length: one text of 256 tokens at a time.
TOKENS_PER_BATCH = 256
TOKEN_DIMENSIONS = 192
MOST_TOKENS = 128  # of a text, of which each gets a vector of its own
LARGEST = 127  # of a number of one byte
AT_ONCE = 4  # tokens that are multiplied with the matrix of signs
MANY_TOKENS = 128  # of a batch that needs so much memory that the rest is worth giving back
# The runtime's name for where the files are that a graph refers to.
WEIGHTS_FOLDER = "session.model_external_initializers_file_folder_path"


@dataclass(frozen=True, slots=True, weakref_slot=True)
class LoadedMiniLM:
    """The tokenizer and the network in memory, about 30 MB; shared by all that embed with it.

    Attributes:
        tokenizer: turns text into token ids.
        session: runs the network.
        turns: bounds how many calls run at once: each needs memory of its own.
    """

    tokenizer: Tokenizer
    session: onnxruntime.InferenceSession
    turns: BoundedSemaphore

    def embed(self, texts: Sequence[str], *, query: bool) -> list[EmbeddedText]:
        """Return the vectors of texts and of their tokens, as :meth:`MiniLM.embed_tokens` does."""
        made: dict[int, EmbeddedText] = {}
        # One by one: a batch call would start threads of its own for little gain.
        read = [self.tokenize(text, query=query) for text in texts]
        for rows in batches([len(ids) for ids, _ in read]):
            vectors, states = self._run([read[row][0] for row in rows])
            units = unit_rows(vectors, count=len(rows), dimensions=DIMENSIONS, model=MODEL)
            for row, unit, state in zip(rows, units, states, strict=True):
                _, spans = read[row]
                tokens = _compressed(state[list(spans)])
                made[row] = EmbeddedText(unit, tokens, list(spans.values()))
        return [made[row] for row in range(len(texts))]

    def tokenize(
        self, text: str, *, query: bool = False
    ) -> tuple[list[int], dict[int, tuple[int, int]]]:
        """Return the ids of a text's tokens, and the places of those that get a vector.

        These are their numbers and where they stand in the text, in characters.
        """
        found = self.tokenizer.encode(text)
        spans, pieces = found.offsets, found.tokens
        inside = [place for place, (start, end) in enumerate(spans) if end > start]
        silent = frozenset() if query else stop_words(DEFAULT)
        telling = [
            place
            for place in inside
            if pieces[place] not in silent and any(map(str.isalnum, pieces[place]))
        ]
        return found.ids, {place: spans[place] for place in (telling or inside)[:MOST_TOKENS]}

    def _run(self, tokens: Sequence[Sequence[int]]) -> list[Vectors]:
        """Return what the network says of one batch of token ids, padded here to its longest."""
        import numpy as np  # noqa: PLC0415 - it takes long to load

        shape = (len(tokens), max(map(len, tokens)))
        ids, mask = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        for row, sequence in enumerate(tokens):
            ids[row, : len(sequence)] = sequence
            mask[row, : len(sequence)] = 1
        with self.turns:
            found: list[Vectors] = self.session.run(
                ["embedding", "tokens"], {"input_ids": ids, "attention_mask": mask}
            )
        if ids.size >= MANY_TOKENS:
            release_memory()
        return found


# What this process has loaded, by folder and threads; an entry goes with its last embedder.
LOADED: WeakValueDictionary[tuple[Path, int], LoadedMiniLM] = WeakValueDictionary()
LOADING = Lock()
# Models of the process that this one was forked from: to let them go would wait for their threads.
UNUSABLE: list[LoadedMiniLM] = []


class MiniLM:
    """The embedder that needs no server and no key (Reimers and Gurevych 2019).

    A text counts with its first 256 tokens. The model is loaded by the first ``embed``, in
    about 0.4 s, unless another embedder of this process has loaded it: all share one, which is
    let go when the last of them is closed. Thread-safe.
    """

    name = MODEL
    dimensions = DIMENSIONS

    def __init__(self, folder: Path | None = None, threads: int = 1) -> None:
        """Load nothing yet.

        Args:
            folder: where the two files of the model are; by default they are searched.
            threads: how many threads one call uses.

        Raises:
            MissingExtra: the runtime is not installed.
        """
        if not all(map(find_spec, RUNTIME)):
            raise MissingExtra(f"{MODEL} on this machine", "local")
        self._folder = folder
        self._threads = threads
        self._model: LoadedMiniLM | None = None
        self.after_fork()
        follow_forks(self)

    def after_fork(self) -> None:
        """Go on with the model in memory, in a process that was forked, unless it has threads."""
        self._lock = Lock()
        if self._threads > 1 and self._model is not None:
            UNUSABLE.append(self._model)
            LOADED.clear()
            self._model = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a float32 array of shape ``(len(texts), 384)``, rows of unit length.

        Raises:
            ModelUnavailable: the files are not there or not the published ones.
            EmbeddingError: the runtime failed.
        """
        return stack_vectors(self.embed_tokens(texts), DIMENSIONS)

    def embed_tokens(self, texts: Sequence[str], *, query: bool = False) -> list[EmbeddedText]:
        """Return of each text its vector, and one for each of its first 128 telling tokens.

        The numbers of those are whole, from -127 to 127, 192 of each token. Function words count
        in a ``query`` ("who" is like a name, and "when" like a day), and where there are no others.

        Raises:
            ModelUnavailable: the files are not there or not the published ones.
            EmbeddingError: the runtime failed.
        """
        cleaned = well_formed(texts)
        if not texts:
            return []
        model = self._loaded()
        try:
            return model.embed(cleaned, query=query)
        except Exception as error:
            message = f"{MODEL} could not embed {len(texts)} texts: {error}"
            raise EmbeddingError(message) from error

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Return where the tokens of ``embed_tokens`` stand in a text, without embedding it."""
        _, spans = self._loaded().tokenize(*well_formed([text]))
        return list(spans.values())

    def close(self) -> None:
        """Let the model go. It is loaded again by the next ``embed``, if there is one."""
        with self._lock:
            self._model = None

    def _loaded(self) -> LoadedMiniLM:
        with self._lock:
            if self._model is None:
                self._model = load(find(self._folder), self._threads)
            return self._model


def batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield the places of texts in batches of like length, so that little is padding."""
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        if (len(batch) + 1) * lengths[place] > TOKENS_PER_BATCH and batch:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def load(folder: Path, threads: int) -> LoadedMiniLM:
    """Return the model that this process has loaded from ``folder``; load it if there is none."""
    key = (folder.resolve(), threads)
    with LOADING:
        model = LOADED.get(key)
        if model is None:
            model = LOADED[key] = _load(folder, threads)
        return model


def _load(folder: Path, threads: int) -> LoadedMiniLM:
    # The runtime counts its uses and keeps an id of the device, from its import on; nobody asked.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        import onnxruntime  # noqa: PLC0415 - whoever embeds nothing does not wait for it
        from tokenizers import Tokenizer  # noqa: PLC0415

        from memoranda.providers.embedding.quantized import quantized_weights  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtra(f"{MODEL} on this machine", "local") from error
    weights = quantized_weights(folder / WEIGHTS.name)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # An arena keeps for good what the longest text of each thread once took.
    options.enable_cpu_mem_arena = False
    options.add_session_config_entry(WEIGHTS_FOLDER, str(weights))
    try:
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER.name))
        # The published file cuts and pads to 128 tokens; the model takes 256.
        tokenizer.enable_truncation(MAX_TOKENS)
        tokenizer.no_padding()
        session = onnxruntime.InferenceSession(
            GRAPH.read_bytes(), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:
        raise EmbeddingError(
            f"the runtime could not load {MODEL}: {error}; "
            f"bring it up to date: pip install --upgrade 'memoranda[local]'"
        ) from error
    turns = BoundedSemaphore(max(1, (os.cpu_count() or 1) // threads))
    return LoadedMiniLM(tokenizer, session, turns)


@cache
def _signs() -> Vectors:
    """Return the fixed matrix of shape (384, 192) whose numbers are 1 and -1.

    The bits of a hash, so that it is the same on every machine and for ever: what is stored
    was multiplied with it.
    """
    import numpy as np  # noqa: PLC0415 - it takes long to load

    size = DIMENSIONS * TOKEN_DIMENSIONS
    drawn = hashlib.shake_256(b"memoranda token vectors").digest(size // 8)
    bits = np.unpackbits(np.frombuffer(drawn, np.uint8))
    signs: Vectors = (2.0 * bits - 1).astype(np.float32).reshape(DIMENSIONS, TOKEN_DIMENSIONS)
    return signs


def _compressed(states: Vectors) -> TokenVectors:
    """Return the vectors of tokens, shape (tokens, 384), as (tokens, 192) bytes."""
    import numpy as np  # noqa: PLC0415 - it takes long to load

    signs = _signs()
    # A few tokens at a time, which one thread multiplies: others of the BLAS would wait for each
    # other. Of 20 tokens 95 in 100 take 0.3 ms and not 100 where two other programs work.
    parts = [states[at : at + AT_ONCE] @ signs for at in range(0, len(states), AT_ONCE)]
    made = np.concatenate(parts) if parts else states[:, :TOKEN_DIMENSIONS]
    made /= np.maximum(np.linalg.norm(made, axis=1, keepdims=True), np.float32(1e-9))
    stored: npt.NDArray[np.int8] = np.rint(made * LARGEST).astype(np.int8)
    return stored
