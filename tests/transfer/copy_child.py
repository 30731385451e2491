"""Copies a memory until so many batches are written, and is killed in the midst of the next."""

import os
import signal
import sys

from memoranda import Memory, Settings
from memoranda.model.actions import Insert
from memoranda.store.sql.record_actions import insert
from memoranda.store.sql.store import CARRY_OUT_TOGETHER

source, target, batches = sys.argv[1:]
written = iter(range(int(batches)))


def insert_or_die(tx, actions):
    """Store a batch, or die when it is half written."""
    done = insert(tx, actions)
    if next(written, None) is None:
        os.kill(os.getpid(), signal.SIGKILL)
    return done


CARRY_OUT_TOGETHER[Insert] = insert_or_die
with Memory(source, user="ana", settings=Settings(embedding={"model": "none"})) as memory:
    memory.copy_to(target)
