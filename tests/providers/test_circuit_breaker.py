"""The circuit breaker: nobody waits for a server for long, and one that failed has its rest."""

from threading import Event, Thread
from types import SimpleNamespace

import pytest

from memoranda.errors import EmbeddingError, ModelUnavailable
from memoranda.providers.circuit_breaker import CircuitBreaker

PATIENCE = 20.0


@pytest.fixture
def clock():
    """A clock that stands still until it is moved."""
    return SimpleNamespace(now=100.0)


@pytest.fixture
def breaker(clock):
    """A breaker that goes by the clock."""
    return CircuitBreaker("the server", 0.05, timer=lambda: clock.now)


def away():
    """Fail as a server that is away."""
    raise ModelUnavailable("the server is away")


def refuse():
    """Fail as a server that is there, and does not like the text."""
    raise EmbeddingError("the text is too long")


def answer():
    """Return what a server answered."""
    return "answer"


def failed(breaker, work=answer, *, hurry=False):
    """Return the message of a call that fails."""
    with pytest.raises(ModelUnavailable) as caught:
        breaker.call(work, hurry=hurry)
    return str(caught.value)


def test_a_server_that_failed_is_left_alone_longer_and_longer(breaker, clock):
    """The pause doubles up to the longest; the message says why, and how long it will be."""
    assert breaker.call(answer, hurry=True) == "answer"
    for pause in (15, 30, 60, 120, 240, 300, 300):
        assert failed(breaker, away) == "the server is away"
        asked = "the server is away; it is asked again in"
        assert failed(breaker) == f"{asked} {pause} s"
        clock.now += pause - 1
        assert failed(breaker, hurry=True) == f"{asked} 1 s"
        clock.now += 1
    assert breaker.call(answer, hurry=False) == "answer"
    assert failed(breaker, away) == "the server is away"
    assert failed(breaker).endswith("asked again in 15 s")


def test_a_refused_text_is_no_failure_of_the_server(breaker):
    """The next text is sent as usual."""
    with pytest.raises(EmbeddingError, match="too long"):
        breaker.call(refuse, hurry=True)
    assert breaker.call(answer, hurry=True) == "answer"


class LateAnswer:
    """An answer that comes when it is let go, and then counts."""

    def __init__(self):
        """Hold it back."""
        self.asked, self.release, self.ended = Event(), Event(), Event()

    def __call__(self):
        """Answer late."""
        self.asked.set()
        assert self.release.wait(PATIENCE)
        self.ended.set()
        return "late"

    def come(self, breaker):
        """Let it go, and wait until the breaker has noted it."""
        self.release.set()
        assert self.ended.wait(PATIENCE)
        for _ in range(2_000):
            if breaker._failure is None:
                return
            Event().wait(0.01)
        raise AssertionError("the answer did not count")


def test_after_the_pause_nobody_in_a_hurry_waits_for_the_trial(breaker, clock):
    """The trial is sent; once it is answered the server is asked as usual."""
    failed(breaker, away)
    clock.now += 15
    late = LateAnswer()
    message = failed(breaker, late, hurry=True)
    assert message == "the server is away; it is being asked again"
    # Beside a trial there is no second one.
    assert "asked again in" in failed(breaker, hurry=True)
    late.come(breaker)
    assert breaker.call(answer, hurry=True) == "answer"


def test_a_call_ends_in_time_and_its_late_answer_counts(breaker):
    """A silent server is a failed one until its answer comes after all."""
    late = LateAnswer()
    message = failed(breaker, late, hurry=True)
    assert message.startswith("no answer from the server within 0.05 s")
    assert "asked again in 15 s" in failed(breaker)
    late.come(breaker)
    assert breaker.call(answer, hurry=True) == "answer"


def test_closing_waits_for_no_server(breaker):
    """Whoever waits is let go at once, and nothing is asked afterwards."""
    late, told = LateAnswer(), []
    waiting = Thread(target=lambda: told.append(failed(breaker, late)))
    waiting.start()
    assert late.asked.wait(PATIENCE)
    breaker.close()
    waiting.join(PATIENCE)
    late.release.set()
    assert told == ["the server is not waited for: closed"]
    assert failed(breaker) == "the server is not asked any more: closed"
