"""Reads a user's records in a thread, while the search is loaded and the question is read."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

from memoranda.model.models import Scope
from memoranda.model.query import IndexChanges, IndexVersion
from memoranda.store.sql.database import read_again
from memoranda.store.sql.store import Store


def read_ahead(store: Store, scope: Scope) -> Future[IndexChanges] | None:
    """Begin to read all memories of a user in a thread; their vectors come one part after another.

    Nothing is begun where readers wait for each other, nor where the main thread has ended, after
    which none can be started.

    Args:
        store: what is read.
        scope: whose memories; a user who is not too large to be read whole.
    """
    if store.in_memory or not threading.main_thread().is_alive():
        return None
    thread = ThreadPoolExecutor(1, "memoranda-index")

    def read() -> IndexChanges:
        with ExitStack() as opened:
            opened.enter_context(store.snapshot())
            changes = store.index_changes(scope, IndexVersion(), run=thread.map)
            thread.submit(opened.pop_all().close)
            return changes

    reading = thread.submit(read_again, read)
    reading.add_done_callback(lambda _: thread.shutdown(wait=False))
    return reading
