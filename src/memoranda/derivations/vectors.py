"""Gives records their vectors, off the path of whoever adds them.

Records wait in the store's queue, which survives a crash. A thread takes them in batches
once there has been a moment's calm; a search first finishes what is waiting for its user.
"""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from memoranda.errors import EmbeddingError, InvalidInput, MemorandaError, StoreClosed
from memoranda.model.actions import PutVectors
from memoranda.model.models import Record, Scope
from memoranda.model.ports import Embedder, Progress, Store
from memoranda.model.query import Vector, Vectors

log = logging.getLogger("memoranda.providers.embedding")

BATCH = 32
CALM = 0.2  # seconds after an addition before the thread starts, so that bursts stay fast
RETRY = 30.0  # seconds before a model that failed is asked again


class VectorMaker:
    """Embeds pending records and queries. Thread-safe.

    Args:
        store: where records wait.
        embedder: the model, or ``None`` where vectors are switched off.
        off_because: why there is no model, for ``stats`` and ``doctor``.
        background: whether to work in a thread of its own between searches.
    """

    def __init__(
        self,
        store: Store,
        embedder: Embedder | None,
        *,
        off_because: str | None = None,
        background: bool = True,
    ) -> None:
        """Compare the model with the one of the stored vectors; load nothing yet."""
        self._store = store
        self._embedder = embedder
        self.problem = off_because
        """Why there are no vectors, or why the last attempt to make some failed."""
        self._lock = threading.Lock()
        self._wake = threading.Condition()
        self._waiting = False
        self._closing = False
        self._thread: threading.Thread | None = None
        self._background = background
        self._mismatched: Embedder | None = None
        self._adopt()

    @property
    def on(self) -> bool:
        """Whether records and queries get vectors."""
        return self._embedder is not None

    def notify(self) -> None:
        """Say that records were added. Returns at once."""
        if not (self.on and self._background):
            return
        with self._wake:
            self._waiting = True
            if self._thread is None and not self._closing:
                self._thread = threading.Thread(
                    target=self._work, name="memoranda-vectors", daemon=True
                )
                self._thread.start()
            self._wake.notify()

    def query(self, text: str) -> Vector | None:
        """Return the vector of a query, ``None`` where vectors are switched off.

        Raises:
            EmbeddingError: the model failed.
        """
        embedder = self._embedder
        if embedder is None:
            return None
        vector: Vector = self._made(embedder, [text])[0]
        return vector

    def finish(self, scope: Scope | None, progress: Progress | None = None) -> int:
        """Embed all that wait, for one user or for all; return how many did.

        Raises:
            EmbeddingError: the model failed; what it had done stays done.
        """
        self._check_model()
        total = self._store.pending_count(scope) if self.on else 0
        left = total
        # The oldest come first, so after this many batches none of those counted waits. The
        # thread may have taken some: what is left in the queue says how much is done.
        for _ in range(-(-total // BATCH)):
            embedded = self._one_batch(scope)
            left = min(left, self._store.pending_count(scope))
            if progress is not None:
                progress(total - left, total)
            if not embedded:
                break
        return total - left

    def start_over(self) -> int:
        """Drop all vectors and queue every record for our model; return their count.

        Also for a model that did not match the stored vectors: now it does.
        """
        if self._mismatched is not None:
            self._embedder, self._mismatched = self._mismatched, None
        if self._embedder is None:
            return 0
        count = self._store.reset_vectors(self._embedder.name, self._embedder.dimensions)
        self.problem = None
        return count

    def close(self) -> None:
        """Stop the thread after the batch it is at. What still waits is embedded next time."""
        with self._wake:
            self._closing = True
            self._wake.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _adopt(self) -> None:
        if self._embedder is None:
            return
        if self._store.vector_model() is None:
            self._store.reset_vectors(self._embedder.name, self._embedder.dimensions)
        self._check_model()

    def _check_model(self) -> None:
        # Asked before each search: another process may have made all vectors anew.
        if self._embedder is None:
            return
        ours = (self._embedder.name, self._embedder.dimensions)
        stored = self._store.vector_model()
        if stored is not None and stored != ours:
            self.problem = (
                f"the stored vectors are of {stored[0]} ({stored[1]} dimensions), the model is "
                f"{ours[0]} ({ours[1]}); searching without vectors until "
                f"memoranda doctor --reembed, or the former model is set again"
            )
            log.warning("%s", self.problem)
            self._mismatched, self._embedder = self._embedder, None

    def _one_batch(self, scope: Scope | None) -> int:
        # One batch at a time: the thread and a search must not embed the same records twice.
        with self._lock:
            if self._embedder is None:
                return 0
            records = self._store.pending(scope, limit=BATCH)
            if records:
                self._embed(self._embedder, records)
            return len(records)

    def _embed(self, embedder: Embedder, records: Sequence[Record]) -> None:
        vectors = self._made(embedder, [record.content for record in records])
        by_user: dict[str, dict[str, Vector]] = defaultdict(dict)
        for record, vector in zip(records, vectors, strict=True):
            by_user[record.user][record.id] = vector
        for user, found in by_user.items():
            try:
                self._store.apply(Scope(user), [PutVectors(embedder.name, found)])
            except InvalidInput:
                self._check_model()
                if self.on:
                    raise

    def _made(self, embedder: Embedder, texts: Sequence[str]) -> Vectors:
        """Return the vectors, and keep in ``problem`` whether that went well.

        A caller's own model may raise anything, and no search may fail because of it.
        """
        try:
            vectors = _finite(embedder.embed(texts), embedder.name)
        except Exception as error:
            self.problem = f"embedding failed: {error}"
            if isinstance(error, EmbeddingError):
                raise
            message = f"{embedder.name} failed with {type(error).__name__}: {error}"
            raise EmbeddingError(message) from error
        self.problem = None
        return vectors

    def _work(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._waiting or self._closing)
                self._wake.wait_for(lambda: self._closing, timeout=CALM)
                if self._closing:
                    return
                self._waiting = False
            try:
                self._catch_up()
            except StoreClosed:
                return
            except MemorandaError as error:
                self._rest(error)

    def _catch_up(self) -> None:
        self._check_model()
        while not self._closing and self._one_batch(None):
            pass

    def _rest(self, error: MemorandaError) -> None:
        log.warning("%s; trying again later", error)
        with self._wake:
            self._waiting = True
            self._wake.wait_for(lambda: self._closing, timeout=RETRY)


def _finite(vectors: Vectors, model: str) -> Vectors:
    if not np.isfinite(vectors).all():
        message = f"{model} gave numbers that are not finite; is it an embedding model?"
        raise EmbeddingError(message)
    return vectors
