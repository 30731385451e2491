"""A worker on a store that others work on, too. Roles: derives (vectors), consolidates (sessions).

It writes a line for each batch or user, before that is stored, and waits there until a line comes.
"""

import signal
import sys
from datetime import timedelta
from threading import Event, Thread

from memoranda import Memory, Settings
from memoranda.maintenance.schedule import StoreWorker
from memoranda.maintenance.service import STAGES
from memoranda.memory import services_of
from memoranda.testing.embedders import HashEmbedder

STOP = Event()


def tell(*words):
    """Write a line, and wait until the test lets this process go on."""
    sys.stdout.write("\t".join(words) + "\n")
    sys.stdout.flush()
    sys.stdin.readline()


class TellingEmbedder(HashEmbedder):
    """Tells which texts it is given."""

    def embed(self, texts):
        """Return the vectors of a batch."""
        tell(*texts)
        return super().embed(texts)


def end(*_):
    """Stop after what is at hand, and say that one was told to."""
    STOP.set()
    sys.stdout.write("ends\n")
    sys.stdout.flush()


def work(role, location, lease):
    """Work until a signal comes."""
    signal.signal(signal.SIGTERM, end)
    derives = role == "derives"
    settings = Settings(
        embedding={"model": "none", "background": False},
        schedule=dict.fromkeys(STAGES, "off") | ({} if derives else {"consolidate": "0 3 * * *"}),
    )
    with Memory(
        location, settings=settings, embedder=TellingEmbedder() if derives else None
    ) as memory:
        services = services_of(memory)
        schedule = services.schedule(
            on_report=lambda user, report: tell(user, str(report.counts["facts"])),
            stop=STOP,
            lease=timedelta(seconds=float(lease)),
        )
        worker = StoreWorker(schedule, services.derivations, lambda: None)
        running = Thread(target=worker.run)
        running.start()
        while running.is_alive():
            running.join(0.1)  # Signals are for the main thread, which must be awake.


if __name__ == "__main__":
    work(*sys.argv[1:])
