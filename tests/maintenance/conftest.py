"""A store of job runs in memory, and a clock that stands still."""

import threading

import pytest

from memoranda.model.sessions import JobRun
from memoranda.testing.clocks import FrozenClock


class JobRuns:
    """The port as its docstrings specify it, in the memory of one process."""

    def __init__(self):
        """Know of no run."""
        self._lock = threading.Lock()
        self._claims = {}
        self._done = {}
        self.claimed = []
        self.refused = 0

    def claim(self, job, holder, *, due, now, until):
        """Take or renew a claim."""
        with self._lock:
            done = self._done.get(job)
            other, _, end = self._claims.get(job, (holder, due, until))
            if (done is not None and done.due >= due) or (other != holder and end > now):
                self.refused += 1
                return False
            self._claims[job] = (holder, due, until)
            self.claimed.append((job, holder, until))
            return True

    def complete(self, job, holder, *, due, at, counts):
        """Finish a run."""
        with self._lock:
            if self._claims.get(job, (None, None))[:2] == (holder, due):
                del self._claims[job]
                self._done[job] = JobRun(job, due, at, counts)

    def job_runs(self):
        """Return the last finished runs."""
        with self._lock:
            return sorted(self._done.values(), key=lambda run: run.job)


@pytest.fixture
def runs():
    """Job runs in memory."""
    return JobRuns()


@pytest.fixture
def clock():
    """A clock at noon of a Thursday, the first of January 2026, in UTC."""
    return FrozenClock()
