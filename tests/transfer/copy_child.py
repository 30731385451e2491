"""Copies a memory until so many batches are written, and is killed in the midst of the next."""

import os
import signal
import sys

from memoranda import Memory, Settings
from memoranda.store.sql.store import Transaction

source, target, batches = sys.argv[1:]
written = iter(range(int(batches)))
insert = Transaction.insert


def insert_or_die(tx, changes):
    """Store a batch, or die when it is half written."""
    done = insert(tx, changes)
    if next(written, None) is None:
        os.kill(os.getpid(), signal.SIGKILL)
    return done


Transaction.insert = insert_or_die
with Memory(source, user="ana", settings=Settings(embedding={"model": "none"})) as memory:
    memory.copy_to(target)
