"""Derives vectors and entity links from stored records, off the path of whoever stores them.

Records wait in the store's queue, which survives a crash and is worked off by any number of
processes: each claims the batches that it takes. A thread makes vectors once there has been a
moment's calm; a search first makes those that its user lacks. Entity links wait until somebody
asks for entities, until the night, or for ``memoranda worker``: no search reads them by default.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby
from operator import attrgetter

import numpy as np

from memoranda.errors import EmbeddingError, InvalidInput, MemorandaError, StoreBusy, StoreClosed
from memoranda.model.background import start_thread
from memoranda.model.checks import required_callable
from memoranda.model.forks import follow_forks
from memoranda.model.models import Kind, Record, Scope
from memoranda.model.ports import ENTITIES, VECTORS, EntityExtractor, Progress
from memoranda.model.query import EmbeddedText, Filter, Vector
from memoranda.model.reports import StageReport
from memoranda.providers.embedding.cache import CachedEmbedder
from memoranda.store.sql.store import Store, Transaction

log = logging.getLogger("memoranda.derivations")

# Records of one transaction, by kind of work.
BATCH = {VECTORS: 32, ENTITIES: 128}
# Which records wait, by kind of work.
WAITING = {work: Filter.at_any_time(kinds=tuple(Kind), waiting=work) for work in BATCH}
# Seconds without an addition before the thread starts, so that bursts stay fast.
CALM = 0.2
# Seconds after which it starts all the same.
LONGEST_BURST = 5.0
# Seconds that a search waits for others who write, and seconds for which no search tries again
# where that was not enough.
PATIENCE, BUSY = 0.05, 3.0
# How long a claim on a batch lasts: after that it is made by another process, or tried again.
CLAIM = timedelta(minutes=2)
# Seconds until it is looked again whether a user has become too large for memory.
LOOK_AGAIN = 60.0
# Seconds that a close waits for the batch at hand; it is made again if it was not stored.
LONGEST_CLOSE = 2.0
# Called with a kind of work, of how many records it was done, and how many seconds that took.
OnBatch = Callable[[str, int, float], object]


# Stores what was derived of a user's records.
StoreDerived = Callable[[Transaction], None]


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
        self._store = store
        self._embedder = embedder
        self._extractor = extractor
        self._now = now
        self._reader = embedder if tokens and embedder is not None and embedder.tokens else None
        # Why there are no vectors, or why the last attempt to make some failed.
        self.problem = off_because
        self._busy_until = 0.0
        self._looked_at = -LOOK_AGAIN
        self._added_at = 0.0
        self._closing = False
        self.after_fork()
        self._background = background
        self._mismatched: CachedEmbedder | None = None
        if embedder is not None and store.vector_model() is None:
            store.reset_vectors(embedder.name, embedder.dimensions)
        self.check_model()
        follow_forks(self)

    def after_fork(self) -> None:
        """Have no thread yet, as in a process that was forked."""
        # One batch at a time: the thread and a search must not derive the same twice.
        self._locks = {work: threading.Lock() for work in BATCH}
        self._wake = threading.Condition()
        self._waiting = False
        self._thread: threading.Thread | None = None

    @property
    def has_model(self) -> bool:
        """Whether records and queries get vectors."""
        return self._embedder is not None

    @property
    def has_tokens(self) -> bool:
        """Whether their tokens get vectors, too."""
        return self._reader is not None and self._embedder is not None

    def embed_question(self, text: str) -> EmbeddedText | None:
        """Return the vector of a question with those of its tokens, where there are some.

        Raises:
            EmbeddingError: the model failed.
        """
        embedder = self._embedder
        if embedder is None:
            return None
        return self._embed(embedder, [text], query=True, hurry=True)[0]

    def embed_query(self, text: str) -> Vector | None:
        """Return the vector of a query alone, ``None`` where vectors are switched off.

        Raises:
            EmbeddingError: the model failed.
        """
        embedder = self._embedder
        if embedder is None:
            return None
        return self._embed(embedder, [text], tokens=False, hurry=True)[0].vector

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Return where the tokens of a text stand that get vectors of their own."""
        return self._reader.token_spans(text) if self._reader is not None else []

    def finish(
        self,
        scope: Scope | None,
        work: str = VECTORS,
        *,
        progress: Progress | None = None,
        seconds: float | None = None,
    ) -> int:
        """Derive what waits for one kind of work; return how many records it was.

        Args:
            scope: of one user, or of all.
            work: ``VECTORS`` or ``ENTITIES``.
            progress: told after each batch.
            seconds: leave the rest to the background after so long, or at once where others
                write all the time.

        Raises:
            EmbeddingError: the model failed; what it had done stays done.
        """
        required_callable(progress, "progress")
        self.check_model()
        until = None if seconds is None else time.monotonic() + seconds
        if not self._can_do(work) or (until is not None and time.monotonic() < self._busy_until):
            return 0
        # Bounds the work where others add meanwhile: the oldest records come first.
        total = self.waiting(scope, work)
        done = 0
        while done < total and (derived := self._derive_batch(scope, work, until)):
            done = min(done + derived, total)
            if progress is not None:
                progress(done, total)
            if until is not None and time.monotonic() > until:
                break
        if until is None and work == VECTORS:
            self._store.index_large_users()
        left = total - done and min(total, self.waiting(scope, work))  # The thread took some, too.
        if left:
            self.notify()
        return total - left

    def work_off(
        self,
        stop: Callable[[], bool],
        on_batch: OnBatch | None = None,
        *,
        works: Iterable[str] = (VECTORS,),
        claim: timedelta = CLAIM,
    ) -> None:
        """Derive what waits of all users, as far as no other process has claimed it.

        Args:
            stop: asked before each batch whether to begin no more.
            on_batch: told after each.
            works: the kinds of work.
            claim: how long to claim each batch.

        Raises:
            EmbeddingError: the model failed; what it had done stays done.
        """
        self.check_model()
        for work in works:
            start = time.monotonic()
            while not stop() and (derived := self._derive_batch(None, work, claim=claim)):
                if on_batch is not None:
                    on_batch(work, derived, time.monotonic() - start)
                start = time.monotonic()
        if not stop() and time.monotonic() - self._looked_at > LOOK_AGAIN:
            self._looked_at = time.monotonic()
            self._store.index_large_users()

    def run(self, scope: Scope, *, dry_run: bool = False) -> StageReport:
        """Make the vectors that one user lacks; report how many.

        Raises:
            EmbeddingError: the model failed; what it had done stays done.
        """
        derive = self.waiting if dry_run else self.finish
        count = derive(scope) if self.has_model else 0
        return StageReport(stage="derive", count=count, counts={VECTORS: count}, dry_run=dry_run)

    def waiting(self, scope: Scope | None, work: str = VECTORS) -> int:
        """Return how many records wait for one kind of work, of one user or of all."""
        return sum(self._store.count(scope, WAITING[work]).values())

    def oldest_waiting(self, work: str) -> datetime | None:
        """Return when the oldest record of all users was stored that waits for a kind of work."""
        found = self._store.records(None, WAITING[work], limit=1)
        return found[0].created_at if found else None

    def start_over(self) -> int:
        """Drop all vectors and queue every record for our model; return their count.

        Also for a model that did not match the stored vectors: now it does.
        """
        embedder = self._embedder if self._mismatched is None else self._mismatched
        if embedder is None:
            return 0
        count = self._store.reset_vectors(embedder.name, embedder.dimensions)
        # Not before: no search may compare its vectors with those of another.
        self._embedder, self._mismatched, self.problem = embedder, None, None
        return count

    def check_model(self) -> None:
        """Do without a model where another process has made all vectors anew with another."""
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

    def _can_do(self, work: str) -> bool:
        return work == ENTITIES or self.has_model

    def _derive_batch(
        self, scope: Scope | None, work: str, until: float | None = None, claim: timedelta = CLAIM
    ) -> int:
        """Derive the next batch of a user, or of all; return of how many records.

        None also where another thread derives, or others write, for longer than until then.
        """
        patience = -1.0 if until is None else max(0.0, until - time.monotonic())
        lock = self._locks[work]
        if not lock.acquire(timeout=patience):
            return 0
        try:
            if not self._can_do(work):
                return 0
            if scope is None:
                now, limit = self._now(), BATCH[work]
                records = self._store.claim_records(work, now=now, until=now + claim, limit=limit)
            else:
                records = self._store.records(scope, WAITING[work], limit=BATCH[work])
            if work == ENTITIES:
                derived = self._find_names(records)
            else:
                derived = self._embed_records(records, hurry=until is not None)
            wait = None if until is None else PATIENCE
            for user, store_derived in derived:
                with self._store.write(Scope(user), patience=wait) as tx:
                    store_derived(tx)
        except InvalidInput:
            self.check_model()  # Where another process has made all vectors anew with another.
            if self.has_model:
                raise
            return 0
        except StoreBusy:
            if until is None:
                raise
            self._busy_until = time.monotonic() + BUSY
            return 0
        finally:
            lock.release()
        return len(records)

    def _find_names(self, records: Sequence[Record]) -> Iterator[tuple[str, StoreDerived]]:
        """Yield for each user what links the names that their records mention."""
        for user, own in _by_user(records):
            found = {each.id: tuple(self._extractor.extract(each.content)) for each in own}
            yield user, partial(Transaction.link_entities, mentions=found)

    def _embed_records(
        self, records: Sequence[Record], *, hurry: bool
    ) -> Iterator[tuple[str, StoreDerived]]:
        """Yield for each user what stores the vectors of their records."""
        embedder = self._embedder
        if embedder is None or not records:
            return
        # There are models that refuse an empty text, which an item may have.
        texts = [record.content or str(record.key) for record in records]
        embedded = self._embed(embedder, texts, hurry=hurry)
        made = {each.id: text for each, text in zip(records, embedded, strict=True)}
        for user, own in _by_user(records):
            tokens = {each.id: made[each.id].tokens for each in own}
            store_vectors = partial(
                Transaction.put_vectors,
                model=embedder.name,
                vectors={each.id: made[each.id].vector for each in own},
                hashes={each.id: each.content_hash for each in own if each.kind is Kind.ITEM},
                tokens={id_: each for id_, each in tokens.items() if each is not None},
            )
            yield user, store_vectors

    def _embed(
        self,
        embedder: CachedEmbedder,
        texts: Sequence[str],
        *,
        hurry: bool,
        tokens: bool = True,
        query: bool = False,
    ) -> list[EmbeddedText]:
        """Return what the model says, and keep in ``problem`` whether that went well.

        A caller's own model may raise anything, and no search may fail because of it.
        """
        try:
            if tokens and self._reader is not None:
                made = self._reader.embed_tokens(texts, query=query, hurry=hurry)
                vectors = np.array([each.vector for each in made])
            else:
                vectors = embedder.embed(texts, hurry=hurry)
                made = [EmbeddedText(vector) for vector in vectors]
            wanted = (len(texts), embedder.dimensions)
            if vectors.shape != wanted or not np.isfinite(vectors).all():
                message = (
                    f"{embedder.name} gave no finite vectors of shape {wanted}; "
                    f"is it an embedding model?"
                )
                raise EmbeddingError(message)  # noqa: TRY301 - as what a model raises itself
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
        if not self._background:
            return
        self._added_at = time.monotonic()
        if self._waiting:
            return  # The thread knows, and looks at the time of the last addition itself.
        with self._wake:
            self._waiting = True
            if self._thread is None and not self._closing:
                self._thread = start_thread("memoranda-derivations", self._work, self.stop)
            self._wake.notify()

    def close(self) -> None:
        """Stop the thread after the batch it is at, but never wait for long.

        What was not stored by then is derived next time.
        """
        self.stop()
        if self._thread is not None:
            self._thread.join(LONGEST_CLOSE)

    def stop(self) -> None:
        """Begin no more batches in the background."""
        with self._wake:
            self._closing = True
            self._wake.notify_all()

    def _is_closing(self) -> bool:
        return self._closing

    def _work(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._waiting or self._closing)
                self._await_calm()
                if self._closing:
                    return
                self._waiting = False
            try:
                self.work_off(self._is_closing)
            except StoreClosed:
                return
            except MemorandaError as error:
                if self._is_closing():
                    return
                log.warning("%s; trying again later", error)
                with self._wake:
                    self._waiting = True
                    self._wake.wait_for(self._is_closing, timeout=CLAIM.total_seconds())

    def _await_calm(self) -> None:
        start = time.monotonic()
        while not self._closing and time.monotonic() - start < LONGEST_BURST:
            left = self._added_at + CALM - time.monotonic()
            if left <= 0:
                return
            self._wake.wait_for(self._is_closing, timeout=left)


def _by_user(records: Sequence[Record]) -> Iterator[tuple[str, list[Record]]]:
    """Yield the records of each user."""
    for user, own in groupby(sorted(records, key=attrgetter("user")), key=attrgetter("user")):
        yield user, list(own)
