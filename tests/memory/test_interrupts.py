"""Ctrl+C in the middle of a call: whoever calls next is served, and nothing is half stored."""

import sys
from threading import Thread

import pytest

from memoranda import Memory, Settings
from memoranda.testing.embedders import HashEmbedder

# Where locks are taken, transactions begun, and vectors made in turns.
FILES = ("contextlib.py", "derivations.py", "store/sqlite.py")
PATIENCE = 20


class Interrupting:
    """Raises KeyboardInterrupt where Python itself does: after a call, or as a function begins."""

    def __init__(self, after):
        """Let so many of these moments pass."""
        self.left = after

    def __call__(self, frame, event, _called):
        """Be told by Python's profiler of a moment."""
        if event in {"call", "c_return"} and frame.f_code.co_filename.endswith(FILES):
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt


@pytest.mark.slow
def test_an_interrupt_at_any_moment_leaves_the_memory_in_use(tmp_path):
    """One at each moment of a write, and of a search that makes vectors; then another thread."""
    settings = Settings(timezone="UTC", embedding={"background": False})
    embedder, stored = HashEmbedder(), 0
    path = tmp_path / "memory.db"
    with Memory(path, user="ana", settings=settings, embedder=embedder) as memory:
        for verb, argument in ((memory.remember, "Ana likes tea no. {}"), (memory.search, "tea")):
            for moment in range(1_000):
                interrupting = Interrupting(moment)
                sys.setprofile(interrupting)
                try:
                    verb(argument.format(moment))
                except KeyboardInterrupt:
                    pass
                finally:
                    sys.setprofile(None)
                if interrupting.left >= 0:
                    break
                words = f"Ana likes {verb.__name__} no. {moment}"
                other = Thread(target=lambda words=words: memory.remember(words), daemon=True)
                other.start()
                other.join(PATIENCE)
                assert not other.is_alive(), f"stuck after moment {moment} of {verb.__name__}"
                stored += 1
        told = [each.content for each in memory.records(limit=10_000)]
        assert len(told) == len({*told}) >= stored
        assert memory.verify() == []
