"""Processes that write to a store on Chroma, forked by a parent that has imported everything.

A child is asked for by a line of JSON: the FIFO it tells to, its role, the location, and what the
role wants. It tells its ``pid`` first, and then each thing that the store has acknowledged.
"""

import json
import os
import signal
import sys

from analyzers import PlainNames, WordAnalyzer
from samples import DIMENSIONS, MODEL, User, insert_with_message, moment, record, vector

from memoranda.model.actions import Erase, PutVectors
from memoranda.model.models import Scope
from memoranda.store.chroma.place import parse
from memoranda.store.chroma.store import ChromaStore


def open_store(location):
    """Open a store with small parts."""
    return ChromaStore(parse(location), analyzer=WordAnalyzer(), names=PlainNames())


def write(tell, location, user, name, number):
    """Write records with their messages and vectors, and erase some of them again."""
    store, scope = open_store(location), Scope(user)
    if store.vector_model() is None:
        store.reset_vectors(MODEL, DIMENSIONS)
    User(store, scope).open_conversation(name)
    tell("open")
    for turn in range(number):
        item = record(
            f"{name} said {turn} to Zoe", scope=scope, id=f"fact_{name}_{turn:06d}", session_id="s"
        )
        row = vector(*range(turn, turn + DIMENSIONS))
        plan = insert_with_message(item, name)
        store.apply(scope, [*plan, PutVectors(MODEL, {item.id: row})] if turn % 2 else plan)
        tell(f"+{item.id}")
        if turn % 6 == 5:
            gone = f"fact_{name}_{turn - 3:06d}"
            tell(f"?{gone}")
            store.apply(scope, [Erase((gone,), moment(turn), "asked")])
            tell(f"-{gone}")
    store.close()


def name_models(tell, location, number):
    """Give the store one model after another, of other lengths."""
    store = open_store(location)
    for turn in range(number):
        store.reset_vectors(f"model-{turn}", 3 + turn)
        tell(f"model-{turn}")
    store.reset_vectors(MODEL, DIMENSIONS)
    store.close()


def claim(tell, location, name, number):
    """Take all runs of a job and all leases that can be had."""
    store = open_store(location)
    for turn in range(number):
        times = {"now": moment(turn), "until": moment(turn + 0.5)}
        if store.claim("decay", name, due=moment(turn), **times):
            tell(f"run {turn}")
            store.complete("decay", name, due=moment(turn), at=moment(turn), counts={})
        if store.claim(f"lease {turn}", name, **times):
            tell(f"lease {turn}")
    store.close()


def hold(tell, location):
    """Keep a folder open until killed."""
    store = open_store(location)
    tell("open")
    signal.pause()
    store.close()


ROLES = {"write": write, "models": name_models, "claim": claim, "hold": hold}


def run(path, role, arguments):
    """Do what a child does."""
    with open(path, "w", buffering=1) as fifo:  # noqa: PTH123 - a FIFO
        fifo.write(f"{os.getpid()}\n")
        ROLES[role](lambda text: fifo.write(f"{text}\n"), *arguments)


def serve():
    """Fork a child for each line of input."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        path, role, *arguments = json.loads(line)
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            code = 1
            try:
                run(path, role, arguments)
                code = 0
            finally:
                sys.stderr.flush()
                os._exit(code)


if __name__ == "__main__":
    serve()
