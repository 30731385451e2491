"""Events reach their subscribers, and a failing one harms nobody."""

import logging
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from memoranda.model.events import Events


@pytest.fixture
def events():
    """Three kinds of events without subscribers."""
    return Events("remembered", "forgotten", "counted")


def test_subscribers_are_called_in_order(events):
    """All subscribers of a name are told, in the order in which they came; others are not."""
    heard = []
    events.emit("remembered", 6)
    events.on("remembered", lambda event: heard.append(("first", event.name, event.subject)))
    events.on("forgotten", lambda _: heard.append("never"))
    events.on("remembered", lambda event: heard.append(("second", event.name, event.subject)))
    events.emit("remembered", 7)
    assert heard == [("first", "remembered", 7), ("second", "remembered", 7)]


def test_a_failing_subscriber_harms_nobody(events, caplog):
    """Its exception is logged and reaches neither the other subscribers nor the caller."""
    heard = []

    def fail(_):
        message = "broken subscriber"
        raise ValueError(message)

    events.on("remembered", fail)
    events.on("remembered", heard.append)
    with caplog.at_level(logging.ERROR, logger="memoranda.events"):
        events.emit("remembered", 7)
        events.emit("remembered", 8)
    assert [event.subject for event in heard] == [7, 8]
    assert caplog.text.count("broken subscriber") == 2


def test_an_interrupt_is_not_swallowed(events):
    """Ctrl+C in a subscriber stops the program as anywhere else."""

    def interrupt(_):
        raise KeyboardInterrupt

    events.on("remembered", interrupt)
    with pytest.raises(KeyboardInterrupt):
        events.emit("remembered", 7)


def test_subscribing_from_a_subscriber(events):
    """A subscriber may subscribe another, which hears the next event; and may emit."""
    heard = []

    def first(event):
        if event.subject == 0:
            events.on("remembered", lambda later: heard.append(later.subject))
            events.emit("remembered", 1)

    events.on("remembered", first)
    events.emit("remembered", 0)
    assert heard == [1]


def test_threads_subscribe_and_emit_at_once(events):
    """No subscriber is lost when threads subscribe and emit together."""
    heard = []
    barrier = threading.Barrier(8)

    def work():
        barrier.wait()
        for _ in range(100):
            events.on("counted", heard.append)
            events.emit("forgotten", None)

    with ThreadPoolExecutor(8) as pool:
        assert all(done is None for done in pool.map(lambda _: work(), range(8)))
    events.emit("counted", None)
    assert len(heard) == 800
