"""Workers on one PostgreSQL server divide the work, and what one leaves undone others do."""

import os
import signal
from collections import Counter
from datetime import timedelta
from functools import partial
from itertools import chain
from threading import Event, Thread
from time import monotonic

from postgres_server import new_database

from memoranda import Memory, Settings, derivations
from memoranda.derivations import BATCH
from memoranda.maintenance.schedule import StoreWorker
from memoranda.maintenance.service import STAGES
from memoranda.memory import services_of
from memoranda.model.ports import VECTORS
from memoranda.testing.embedders import HashEmbedder

PATIENCE = 60
USERS = range(7)
QUIET = Settings(
    embedding={"background": False},
    consolidation={"automatic": False},
    schedule=dict.fromkeys(STAGES, "off"),
)


class TellingEmbedder(HashEmbedder):
    """Tells which texts it is given, and waits until the test lets its process go on."""

    def __init__(self, tell, wait):
        """Tell by ``tell``."""
        super().__init__()
        self.tell, self.wait = tell, wait

    def embed(self, texts):
        """Return the vectors of a batch."""
        self.tell(list(texts))
        self.wait()
        return super().embed(texts)


def work(location, claim, tell, wait):
    """Make vectors until a signal comes; then stop after what is at hand."""
    derivations.CLAIM, stop = timedelta(seconds=claim), Event()
    signal.signal(signal.SIGTERM, lambda *_: (stop.set(), tell("ends")))
    with Memory(location, settings=QUIET, embedder=TellingEmbedder(tell, wait)) as memory:
        services = services_of(memory)
        schedule = services.schedule(stop=stop)
        running = Thread(target=StoreWorker(schedule, services.derivations).run)
        running.start()
        while running.is_alive():
            running.join(0.1)  # Signals are for the main thread, which must be awake.


def end(worker):
    """Tell a worker to end; its signal arrives when its main thread wakes."""
    os.kill(worker.process.pid, signal.SIGTERM)


def test_each_record_is_derived_once_whoever_ends_or_is_killed(start, postgres):
    """Three hold batches of their own; one is killed, one ends, and the third does the rest."""
    location = new_database(postgres)
    texts = [f"{user} knows of {number}" for user in USERS for number in range(20)]
    with Memory(location, settings=QUIET, embedder=HashEmbedder()) as memory:
        for user in USERS:
            memory.as_user(f"user {user}").remember_many(texts[20 * user : 20 * user + 20])
        ending, other = (start(partial(work, location, 60)) for _ in range(2))
        batches = [ending.hear(), other.hear()]
        killed = start(partial(work, location, 1))  # What its claim leaves out is there for long.
        lost = killed.hear()
        assert [len(each) for each in (*batches, lost)] == [BATCH[VECTORS]] * 3
        assert len({*chain(*batches, lost)}) == 3 * BATCH[VECTORS]
        killed.kill()
        end(ending)
        assert ending.hear() == "ends"
        ending.go()
        assert ending.finish() == (0, [])  # It stores the batch at hand, and claims no other.
        other.go()
        since = monotonic()
        while services_of(memory).derivations.waiting(None):
            assert monotonic() - since < PATIENCE
            Event().wait(0.05)
        end(other)
        code, rest = other.finish()
        batches += [batch for batch in rest if batch != "ends"]
        assert code == 0
        assert Counter(chain.from_iterable(batches)) == Counter(texts)
        assert memory.verify() == []
        assert memory.as_user("user 3").search("3 knows of 7")[0].record.content == "3 knows of 7"
