"""Derives vectors and entity links from stored records, off the path of whoever stores them.

Records wait in the store's queue, which survives a crash and is worked off by any number of
processes: each claims the batches that it takes. A thread makes vectors once there has been a
moment's calm; a search first makes those that its user lacks. Entity links wait until somebody
asks for entities, until better names are looked for at night, or for ``memoranda worker``: no
search reads them by default.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from math import isfinite
from threading import Event
from typing import Any

from memoranda.errors import (
    EmbeddingError,
    InvalidInput,
    MemorandaError,
    StoreBusy,
    StoreClosed,
    StoreFull,
    StoreReadOnly,
)
from memoranda.model.checks import required_callable
from memoranda.model.models import Kind, Record, Scope
from memoranda.model.ports import ENTITIES, VECTORS, EntityExtractor, Progress
from memoranda.model.processes import BackgroundThread, follow_forks
from memoranda.model.query import EmbeddedText, Filter
from memoranda.providers.embedding.cache import CachedEmbedder
from memoranda.store.sql.store import Store

log = logging.getLogger("memoranda.derivations")

# Records of one transaction, by kind of work, and where a search waits for them.
BATCH = {VECTORS: 32, ENTITIES: 128}
HURRIED = 8
# Which records wait, by kind of work.
WAITING = {work: Filter.at_any_time(kinds=tuple(Kind), waiting=work) for work in BATCH}
# Seconds without an addition before the thread starts, so that bursts stay fast.
CALM = 0.2
# Seconds after which it starts all the same.
LONGEST_BURST = 5.0
# Seconds that a search waits for others who write.
PATIENCE = 0.05
# How long a claim on a batch lasts: after that it is made by another process, or tried again.
CLAIM = timedelta(minutes=2)
# Seconds that a close waits for the batch at hand; it is made again if it was not stored.
LONGEST_CLOSE = 2.0


class DerivationWorker:
    """Makes what is derived from records that wait, and the vectors of queries. Thread-safe.

    Args:
        store: where records wait.
        embedder: the model, or ``None`` where vectors are switched off.
        extractor: finds the names in a record.
        now: gives the present, for claims.
        off_because: why there is no model, for ``stats`` and ``doctor``.
        tokens: whether the tokens of a text get vectors, too, where the model gives some.
        background: whether to make vectors in a thread of its own between searches.

    Attributes:
        embedder: the model, whether or not it is used at present.
        has_model: whether records and queries get vectors.
        problem: why there are no vectors, or why the last attempt to make some failed.
    """

    def __init__(
        self,
        store: Store,
        embedder: CachedEmbedder | None,
        extractor: EntityExtractor,
        *,
        now: Callable[[], datetime],
        off_because: str | None = None,
        tokens: bool = True,
        background: bool = True,
    ) -> None:
        """Compare the model with the one of the stored vectors; load nothing yet."""
        self._store, self.embedder, self._extractor = store, embedder, extractor
        self._now = now
        self._tokens = tokens and embedder is not None and embedder.tokens
        self._background = background
        self.problem = off_because
        self.has_model = embedder is not None
        self._thread = BackgroundThread("memoranda-derivations")
        self.after_fork()
        if embedder is not None and store.vector_model() is None:
            store.reset_vectors(embedder.name, embedder.dimensions)
        self.check_model()
        follow_forks(self)

    def after_fork(self) -> None:
        """Have locks that nobody holds, as in a process that was forked."""
        # One batch at a time: the thread and a search must not derive the same twice.
        self._locks = {work: threading.RLock() for work in BATCH}
        self._added = Event()

    @property
    def has_tokens(self) -> bool:
        """Whether the tokens of records and queries get vectors, too."""
        return self.has_model and self._tokens

    def embed_question(self, text: str) -> EmbeddedText | None:
        """Return the vector of a question with those of its tokens, where there are some.

        None without a model, and of a question that it cannot read.

        Raises:
            EmbeddingError: the model failed.
        """
        if self.embedder is None or not self.has_model:
            return None
        made = self._embed(self.embedder, [text], query=True, hurry=True)[0]
        return made if made.vector.any() else None

    def describe(self, scope: Scope) -> str:
        """Return the model in use, and how many of a user's records it cannot read; or why none."""
        model = self._store.vector_model()
        if self.problem is not None or model is None:
            return f"off: {self.problem}"
        tokens = ", with token vectors" if self.has_tokens else ""
        unread = self._store.count_unread(scope)
        missed = f"; cannot read {unread:,} records" if unread else ""
        return f"{model[0]} ({model[1]} dimensions{tokens}){missed}"

    def finish(
        self, scope: Scope | None, work: str = VECTORS, *, progress: Progress | None = None
    ) -> int:
        """Derive all that waits for one kind of work; return how many records it was.

        Args:
            scope: of one user, or of all.
            work: ``VECTORS`` or ``ENTITIES``.
            progress: told after each batch.

        Raises:
            EmbeddingError: the model failed; what it had done stays done.
        """
        required_callable(progress, "progress")
        self.check_model()
        # Bounds the work where others add meanwhile: the oldest records come first.
        total, done = self.waiting(scope, work), 0
        while done < total and (derived := self._derive_batch(scope, work)):
            done = min(done + derived, total)
            if progress is not None:
                progress(done, total)
        return total - min(total - done, self.waiting(scope, work))  # The thread took some, too.

    def finish_soon(self, scope: Scope, work: str, seconds: float) -> None:
        """Derive what waits of a user for a search, as far as there is time for it.

        Args:
            scope: the user.
            work: ``VECTORS`` or ``ENTITIES``.
            seconds: leave the rest to the background after so long, or at once where others
                write.

        Raises:
            EmbeddingError: the model failed; what it had done stays done.
        """
        self.check_model()
        until = time.monotonic() + seconds
        while self._derive_batch(scope, work, until):
            if time.monotonic() > until:
                self.notify()
                return

    def work_off(self, stop: Event, works: Iterable[str] = (VECTORS,)) -> None:
        """Derive what waits of all users, as far as no other process has claimed it.

        Args:
            stop: begin no more batches once it is set.
            works: the kinds of work.

        Raises:
            EmbeddingError: the model failed; what it had done stays done.
        """
        self.check_model()
        for work in works:
            while not stop.is_set() and self._derive_batch(None, work):
                pass

    def keep_up(
        self, stop: Event, await_more: Callable[[], object], works: Iterable[str] = (VECTORS,)
    ) -> None:
        """Derive what waits, again and again, until ``stop`` is set or the store is closed.

        Args:
            stop: begin no more batches once it is set.
            await_more: returns once more may wait.
            works: the kinds of work.
        """
        while not stop.is_set():
            try:
                self.work_off(stop, works)
                await_more()
            except StoreClosed:
                return
            except MemorandaError as error:
                if not stop.is_set():
                    log.warning("%s; trying again later", error)
                stop.wait(CLAIM.total_seconds())  # As long as the batch is claimed.

    def waiting(self, scope: Scope | None, work: str = VECTORS) -> int:
        """Return how many records wait for one kind of work, of one user or of all."""
        with suppress(StoreBusy, StoreFull):  # Then it is told without the newest.
            self._store.queue_newest(scope, PATIENCE)
        return sum(self._store.count(scope, WAITING[work]).values())

    def start_over(self) -> None:
        """Drop all vectors and queue every record for our model, which matches them from now on."""
        if self.embedder is not None:
            self._store.reset_vectors(self.embedder.name, self.embedder.dimensions)
            # Not before: no search may compare its vectors with those of another.
            self.has_model, self.problem = True, None

    def check_model(self) -> None:
        """Do without a model where another process has made all vectors anew with another."""
        if self.has_model:
            self.compare_model(self._store.vector_model())

    def compare_model(self, stored: tuple[str, int] | None) -> None:
        """Do without a model where the stored vectors are of one with another name or size."""
        if self.embedder is None or not self.has_model or stored is None:
            return
        ours = (self.embedder.name, self.embedder.dimensions)
        if stored != ours:
            self.problem = (
                f"the stored vectors are of {stored[0]} ({stored[1]} dimensions), the model is "
                f"{ours[0]} ({ours[1]}); searching without vectors until "
                f"memoranda doctor --reembed, or the former model is set again"
            )
            log.warning("%s", self.problem)
            self.has_model = False

    def _derive_batch(self, scope: Scope | None, work: str, until: float | None = None) -> int:
        """Derive the next batch of a user, or of all; return of how many records.

        None also where another thread derives, or others write, for longer than until then.
        """
        hurry = until is not None
        patience = -1.0 if until is None else max(0.0, until - time.monotonic())
        lock, possible = self._locks[work], self.has_model or work == ENTITIES
        try:
            if not possible or not lock.acquire(timeout=patience):
                return 0
            if scope is None:
                now, limit = self._now(), BATCH[work]
                records = self._store.claim_records(work, now=now, until=now + CLAIM, limit=limit)
            else:
                self._store.queue_newest(scope, PATIENCE if hurry else None)
                limit = HURRIED if hurry else BATCH[work]
                records = self._store.records(scope, WAITING[work], limit=limit)
            self._derive(records, work, hurry=hurry)
        except InvalidInput:
            self.check_model()  # Where another process has made all vectors anew with another.
            if self.has_model:
                raise
            return 0
        except StoreBusy:
            if not hurry:
                raise
            return 0
        except StoreReadOnly:  # A standby: who writes to its server derives.
            return 0
        finally:
            try:  # noqa: SIM105 - as in SqliteStore, against an interrupt
                lock.release()
            except RuntimeError:
                pass
        return len(records)

    def _derive(self, records: Sequence[Record], work: str, *, hurry: bool) -> None:
        """Derive the vectors or the links of records, and store them."""
        made, embedder = list[Any](), self.embedder
        if work == ENTITIES:
            made = [tuple(self._extractor.extract(each.content)) for each in records]
        elif embedder is not None and records:
            # There are models that refuse an empty text, which an item may have.
            texts = [each.content or str(each.key) for each in records]
            made = self._embed(embedder, texts, hurry=hurry)
        derived = list(zip(records, made, strict=True))
        for user in dict.fromkeys(each.user for each in records):
            own = [each for each in derived if each[0].user == user]
            with self._store.write(Scope(user), patience=PATIENCE if hurry else None) as tx:
                if work == ENTITIES:
                    tx.link_entities(mentions={record.id: found for record, found in own})
                elif embedder is not None:
                    tx.put_vectors(embedder.name, own)

    def _embed(
        self, embedder: CachedEmbedder, texts: Sequence[str], *, hurry: bool, query: bool = False
    ) -> list[EmbeddedText]:
        """Return what the model says, and keep in ``problem`` whether that went well.

        A caller's own model may raise anything, and no search may fail because of it.
        """
        try:
            made = embedder.embed(texts, tokens=self._tokens, query=query, hurry=hurry)
            width = (embedder.dimensions,)
            if any(it.vector.shape != width or not isfinite(abs(it.vector).max()) for it in made):
                raise ValueError(  # noqa: TRY301 - as what a model raises itself
                    f"its vectors are not {width[0]} finite numbers each; is it an embedding model?"
                )
        except Exception as error:
            self.problem = f"embedding failed: {error}"
            if isinstance(error, EmbeddingError):
                raise
            message = f"{embedder.name} failed with {type(error).__name__}: {error}"
            raise EmbeddingError(message) from error
        self.problem = None
        return made

    # The thread

    def notify(self) -> None:
        """Tell the thread that records were added. Returns at once."""
        if self._background and not self._added.is_set():
            self._added.set()
            self._thread.start(self._work, self.stop)

    def close(self) -> None:
        """Stop the thread after the batch it is at, but never wait for long.

        What was not stored by then is derived next time.
        """
        self.stop()
        self._thread.wait(LONGEST_CLOSE)

    def stop(self) -> None:
        """Begin no more batches in the background."""
        self._thread.ending.set()
        self._added.set()

    def _work(self) -> None:
        self._await_calm()
        self.keep_up(self._thread.ending, self._await_calm)

    def _await_calm(self) -> None:
        """Wait for an addition, and then for a moment without one."""
        self._added.wait()
        start = time.monotonic()
        while self._added.is_set() and time.monotonic() - start < LONGEST_BURST:
            self._added.clear()
            self._thread.ending.wait(CALM)
