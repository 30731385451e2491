"""A memory that is opened on any store, for tests that compare what stores do."""

from memoranda import Memory, Settings
from memoranda.testing.clocks import FrozenClock
from memoranda.testing.embedders import HashEmbedder


def remembering(location, **sections):
    """Return Ana's memory on a clock that stands still; the caller closes it."""
    quiet = {"embedding": {"background": False}, "consolidation": {"automatic": False}}
    return Memory(
        location,
        user="ana",
        settings=Settings(timezone="UTC", **(quiet | sections)),
        embedder=HashEmbedder(),
        clock=FrozenClock(),
    )
