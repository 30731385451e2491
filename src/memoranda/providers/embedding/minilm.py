"""all-MiniLM-L6-v2 on this machine, without torch.

The package ships the graph (``minilm.onnx``, made by
``scripts/build_minilm_graph.py``); the tokenizer and the weights are the two published files,
found and checked by :mod:`memoranda.providers.embedding.model_files`, the weights as
:mod:`memoranda.providers.embedding.quantized` stores them. Vectors have a cosine of .9996 with
those of the published model, so that both may stand in one store.

The runtime is loaded with the network, in :mod:`memoranda.providers.embedding.minilm_network`: who
opens a memory, and embeds nothing, does not wait for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from memoranda.errors import EmbeddingError, MissingExtra
from memoranda.model.processes import follow_forks
from memoranda.model.query import EmbeddedText, Vectors
from memoranda.providers.embedding.cache import well_formed
from memoranda.providers.embedding.model_files import DIMENSIONS, MODEL, find

if TYPE_CHECKING:
    from memoranda.providers.embedding.minilm_network import LoadedMiniLM

RUNTIME = ("onnxruntime", "tokenizers")


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
            from memoranda.providers.embedding.minilm_network import leave  # noqa: PLC0415

            leave(self._model)
            self._model = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a float32 array of shape ``(len(texts), 384)``, rows of unit length.

        Raises:
            ModelUnavailable: the files are not there or not the published ones.
            EmbeddingError: the runtime failed.
        """
        import numpy as np  # noqa: PLC0415 - it takes long to load

        read = self.embed_tokens(texts)
        empty = np.empty((0, DIMENSIONS), dtype=np.float32)
        return np.stack([each.vector for each in read]) if read else empty

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
                from memoranda.providers.embedding.minilm_network import load  # noqa: PLC0415

                self._model = load(find(self._folder), self._threads)
            return self._model
