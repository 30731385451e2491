"""What was freed goes back to the system."""

from pathlib import Path

import pytest
from bare_environment import run_python

PROGRAM = """
from threading import Thread
from memoranda.providers.embedding.process_memory import release_memory, share_free_memory

def private():
    lines = open("/proc/self/smaps_rollup").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Anonymous"))

share_free_memory()
kept = []
def work():
    blocks = [bytes(60_000) for _ in range(1_000)]
    kept.append(bytes(60_000))  # after them, so that their memory is no end that is cut off
    del blocks

before = private()
threads = [Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
    thread.join()
release_memory()
print(private() - before)
"""


def test_what_threads_freed_is_given_back():
    """Of 60 MB that each of three threads took and freed, next to nothing is left."""
    if not Path("/proc/self/smaps_rollup").exists():
        pytest.skip("this system does not tell what a process has for itself alone")
    done = run_python("-c", PROGRAM)
    assert int(done.stdout) < 10_000
