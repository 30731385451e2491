"""What the embedding models on this machine share: one network in memory, its turns, its threads.

Beside the vector of a text they give one for each word piece, out of the same pass, for late
interaction (ColBERT, Khattab and Zaharia 2020): which piece of a text is most like each of a
question. Function words and punctuation have none. So that they take little room, each is
multiplied with a fixed matrix of signs, which keeps angles nearly as they are (Achlioptas
2003), and stored in one byte a number.

A model reads what it has word pieces for. A text of which it knows less than half has no vector,
that is one of zeros, so that words, names and times alone find it; and so has a question of which
it does not know a tenth.
"""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple
from unicodedata import category
from weakref import WeakValueDictionary

from memoranda.errors import EmbeddingError, MemorandaError, MissingExtra
from memoranda.model.processes import follow_forks
from memoranda.model.query import EmbeddedText, TokenVectors, Vectors
from memoranda.providers.embedding.cache import unit_rows, well_formed
from memoranda.providers.embedding.process_memory import release_memory
from memoranda.text.terms import DEFAULT, stop_words

if TYPE_CHECKING:
    import numpy.typing as npt
    import onnxruntime

DIMENSIONS = 384
MAX_TOKENS = 256
# Attention needs memory by the square of the length: one text of 256 tokens at a time.
TOKENS_PER_BATCH = 256
TOKEN_DIMENSIONS = 192
MOST_TOKENS = 128  # of a text, of which each gets a vector of its own
LARGEST = 127  # of a number of one byte
AT_ONCE = 4  # tokens that are multiplied with the matrix of signs
MANY_TOKENS = 128  # of a batch that needs so much memory that the rest is worth giving back
PICTURE = "So"  # the category of emoji, which are words
# Of the bytes of a text, and of a question, without function words, that a model has to know: what
# it does not know of a question is mostly the name that is asked for.
LEAST_READ, LEAST_READ_QUESTION = 0.5, 0.9


class Token(NamedTuple):
    """A word piece of a text.

    Attributes:
        id: its number in the vocabulary.
        text: the piece in lower case, as far as it is known.
        span: where it stands in the text, from and to, in characters.
        known: whether the model has learned it.
    """

    id: int
    text: str
    span: tuple[int, int]
    known: bool


class LoadedModel(ABC):
    """A tokenizer and a network in memory, shared by all that embed with it.

    Attributes:
        name: of the model.
        opening, closing: the ids before and after those of a text.
        session: runs the network.
        turns: bounds how many calls run at once: each needs memory of its own.
    """

    name: ClassVar[str]
    opening: Sequence[int]
    closing: Sequence[int]

    def __init__(self, session: onnxruntime.InferenceSession, threads: int) -> None:
        """Share a network that runs on so many threads."""
        self.session = session
        self.turns = BoundedSemaphore(max(1, (os.cpu_count() or 1) // threads))

    @abstractmethod
    def tokens(self, text: str) -> Sequence[Token]:
        """Return the word pieces of a text."""

    @abstractmethod
    def inputs(self, ids: npt.NDArray[Any]) -> Mapping[str, npt.NDArray[Any]]:
        """Return what the network takes for token ids, int64 of shape (texts, length)."""

    def embed(self, texts: Sequence[str], *, query: bool) -> list[EmbeddedText]:
        """Return the vectors of texts and of their tokens, as :class:`LocalEmbedder` does."""
        made: dict[int, EmbeddedText] = {}
        read = [self.read(text, query=query) for text in texts]
        for rows in batches([len(ids) for ids, _ in read]):
            vectors, states = self.run([read[row][0] for row in rows])
            units = unit_rows(vectors, count=len(rows), dimensions=DIMENSIONS, model=self.name)
            for row, unit, state in zip(rows, units, states, strict=True):
                spans = read[row][1]
                known = unit if spans is not None else unit - unit
                telling = spans or {}
                tokens = _compressed(state[list(telling)])
                made[row] = EmbeddedText(known, tokens, list(telling.values()))
        return [made[row] for row in range(len(texts))]

    def read(
        self, text: str, *, query: bool = False
    ) -> tuple[list[int], dict[int, tuple[int, int]] | None]:
        """Return the ids of a text's tokens, and the places of those that get a vector.

        These are their numbers and where they stand in the text, in characters. ``None`` where the
        model does not know enough of the text to read it.
        """
        found = self.tokens(text)[: MAX_TOKENS - len(self.opening) - len(self.closing)]
        ids = [*self.opening, *(token.id for token in found), *self.closing]
        words = [place for place, token in enumerate(found) if _is_word(text, token)]
        common = stop_words(DEFAULT)
        telling = [place for place in words if found[place].text not in common]
        least = LEAST_READ_QUESTION if query else LEAST_READ
        if _share_read(text, [found[place] for place in telling] or found) < least:
            return ids, None
        inside = [place for place, token in enumerate(found) if token.span[1] > token.span[0]]
        chosen = (words if query else telling) or inside
        known = [place for place in chosen if found[place].known][:MOST_TOKENS]
        return ids, {len(self.opening) + place: found[place].span for place in known}

    def run(self, tokens: Sequence[Sequence[int]]) -> list[Vectors]:
        """Return what the network says of one batch of token ids, padded here to its longest."""
        ids, mask = padded(tokens), padded([[1] * len(each) for each in tokens])
        return self.run_network(self.session, **self.inputs(ids), attention_mask=mask)

    def run_network(
        self, session: onnxruntime.InferenceSession, **given: npt.NDArray[Any]
    ) -> list[Vectors]:
        """Return the outputs of a network, run in its turn, and give back what memory it took."""
        with self.turns:
            found: list[Vectors] = session.run(None, given)
        if given["attention_mask"].size >= MANY_TOKENS:
            release_memory()
        return found


# What this process has loaded, by model, folder and threads; an entry goes with its last embedder.
LOADED: WeakValueDictionary[tuple[str, Path, int], LoadedModel] = WeakValueDictionary()
LOADING = Lock()
# Models of the process that this one was forked from: to let them go would wait for their threads.
UNUSABLE: list[LoadedModel] = []


class LocalEmbedder(ABC):
    """An embedder that needs no server and no key.

    A text counts with its first 256 tokens. The model is loaded by the first ``embed``, unless
    another embedder of this process has loaded it: all share one, which is let go when the last of
    them is closed. Thread-safe.
    """

    name: ClassVar[str]
    extra: ClassVar[str]  # that brings what it needs
    then: ClassVar[str] = ""  # the command that brings the rest
    runtime: ClassVar[Sequence[str]]  # the libraries
    dimensions = DIMENSIONS

    def __init__(self, folder: Path | None = None, threads: int = 1) -> None:
        """Load nothing yet.

        Args:
            folder: where the files of the model are; by default they are searched.
            threads: how many threads one call uses.

        Raises:
            MissingExtra: the runtime is not installed.
        """
        if not all(map(find_spec, self.runtime)):
            raise MissingExtra(f"{self.name} on this machine", self.extra, self.then)
        self._folder = folder
        self._threads = threads
        self._model: LoadedModel | None = None
        self.after_fork()
        follow_forks(self)

    @classmethod
    @abstractmethod
    def find(cls, folder: Path | None = None) -> Path:
        """Return the folder of the model's files.

        Raises:
            ModelUnavailable: they are not there.
        """

    @classmethod
    @abstractmethod
    def load(cls, folder: Path, threads: int) -> LoadedModel:
        """Return the model of a folder, loaded.

        Raises:
            ModelUnavailable: the files are not there or not the published ones.
        """

    def after_fork(self) -> None:
        """Go on with the model in memory, in a process that was forked, unless it has threads."""
        self._lock = Lock()
        if self._threads > 1 and self._model is not None:
            UNUSABLE.append(self._model)
            LOADED.clear()
            self._model = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a float32 array of shape ``(len(texts), 384)``, rows of unit length.

        A row of zeros is of a text that the model cannot read.

        Raises:
            ModelUnavailable: the files are not there or not the published ones.
            EmbeddingError: the runtime failed.
        """
        import numpy as np  # noqa: PLC0415 - it takes long to load

        rows = [each.vector for each in self.embed_tokens(texts)]
        return np.array(rows, dtype=np.float32).reshape(-1, DIMENSIONS)

    def embed_tokens(self, texts: Sequence[str], *, query: bool = False) -> list[EmbeddedText]:
        """Return of each text its vector, and one for each of its first 128 telling tokens.

        The numbers of those are whole, from -127 to 127, 192 of each token. Function words count
        in a ``query`` ("who" is like a name, and "when" like a day), and where there are no others.
        A token that the model does not know has none.

        Raises:
            ModelUnavailable: the files are not there or not the published ones.
            EmbeddingError: the runtime failed.
        """
        cleaned = well_formed(texts)
        with self._translated():
            return self._loaded().embed(cleaned, query=query)

    def close(self) -> None:
        """Let the model go. It is loaded again by the next ``embed``, if there is one."""
        with self._lock:
            self._model = None

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn what the runtime raises into an error of ours."""
        try:
            yield
        except MemorandaError:
            raise
        except Exception as error:
            raise EmbeddingError(
                f"{self.name} could not read the texts: {error}; bring its runtime up to date: "
                f"pip install --upgrade 'memoranda[{self.extra}]'"
            ) from error

    def _loaded(self) -> LoadedModel:
        with self._lock:
            if self._model is None:
                folder = self.find(self._folder)
                key = (self.name, folder.resolve(), self._threads)
                with LOADING:
                    self._model = LOADED.get(key) or self.load(folder, self._threads)
                    LOADED[key] = self._model
            return self._model


def open_session(
    graph: Path, threads: int, add: Callable[[onnxruntime.SessionOptions], None]
) -> onnxruntime.InferenceSession:
    """Return a network on the CPU; ``add`` tells it where its weights are."""
    # The runtime counts its uses and keeps an id of the device, from its import on; nobody asked.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime  # noqa: PLC0415 - whoever embeds nothing does not wait for it

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # An arena keeps for good what the longest text of each thread once took.
    options.enable_cpu_mem_arena = False
    add(options)
    return onnxruntime.InferenceSession(
        graph.read_bytes(), options, providers=["CPUExecutionProvider"]
    )


def padded(rows: Sequence[Sequence[int]]) -> npt.NDArray[Any]:
    """Return rows of whole numbers as an array, with zeros behind the shorter ones."""
    import numpy as np  # noqa: PLC0415 - it takes long to load

    made = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
    for place, row in enumerate(rows):
        made[place, : len(row)] = row
    return made


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


def _is_word(text: str, token: Token) -> bool:
    """Return whether a token has letters or digits, or is a picture, and not a mark between."""
    part = text[token.span[0] : token.span[1]]
    return any(char.isalnum() or category(char) == PICTURE for char in part)


def _share_read(text: str, tokens: Sequence[Token]) -> float:
    """Return the share of the bytes of tokens that a model knows."""
    sizes = [len(text[token.span[0] : token.span[1]].encode()) for token in tokens]
    known = sum(size for size, token in zip(sizes, tokens, strict=True) if token.known)
    return known / sum(sizes) if any(sizes) else 1.0


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
