"""Processes that a test forks: they tell it values, wait for it, and may be killed."""

import multiprocessing
import warnings

import pytest

PATIENCE = 60


class Child:
    """A forked process that does ``work(tell, wait)``.

    Args:
        work: what it does; ``tell`` sends a value to the test, and ``wait`` returns when the test
            lets the process go on.
    """

    def __init__(self, work):
        """Fork the process."""
        if "fork" not in multiprocessing.get_all_start_methods():
            pytest.skip("this system has no fork")
        context = multiprocessing.get_context("fork")
        self._told, tell = context.Pipe(duplex=False)
        self._may_go = context.Event()
        self.process = context.Process(target=work, args=(tell.send, self._may_go.wait))
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            self.process.start()  # Python warns of the threads there are, which no child uses.
        tell.close()

    def go(self):
        """Let the process go on, here and wherever it would wait next."""
        self._may_go.set()

    def hear(self):
        """Return the next value that the process tells."""
        return self._told.recv()

    def rest(self):
        """Return the values that the process tells until it ends."""
        values = []
        while True:
            try:
                values.append(self.hear())
            except EOFError:
                return values

    def finish(self):
        """Return the exit code of the process, and the values that were not heard yet."""
        values = self.rest()
        self.process.join(PATIENCE)
        return self.process.exitcode, values

    def kill(self):
        """Kill the process with what nothing can catch, wherever it is; return its last values."""
        self.process.kill()
        return self.finish()[1]
