"""What rules learn from what is said: claims of turns, and the facts of a memory."""

from datetime import UTC, datetime, timedelta

from memoranda import Memory, Settings
from memoranda.learning.claims import Turn
from memoranda.learning.extractor import RuleFactExtractor
from memoranda.testing.clocks import FrozenClock

SAID = datetime(2026, 3, 10, 10, tzinfo=UTC)  # A Tuesday.
RULES = RuleFactExtractor()


def turn(text, speaker="user", *, number=1, at=SAID, person=None):
    """Return a turn; who speaks is a person, unless it is an assistant or a tool."""
    person = speaker not in {"assistant", "tool"} if person is None else person
    return Turn(f"ep_{number}", speaker, text, at, person=person)


def claims_of(*texts, speaker="user", at=SAID):
    """Return the claims that rules draw from turns; ``>`` opens those of the assistant."""
    turns = [
        turn(text.removeprefix(">"), "assistant" if text[:1] == ">" else speaker, number=n, at=at)
        for n, text in enumerate(texts)
    ]
    return RULES.read(turns).claims


def contents(*texts, **given):
    """Return the sentences of these claims."""
    return [claim.content for claim in claims_of(*texts, **given)]


def learned(*sessions, at=SAID):
    """Return the facts that hold after sessions, twenty days apart; a session is its turns."""
    clock = FrozenClock(at)
    chosen = Settings(timezone="UTC", embedding={"model": "none"})
    with Memory(":memory:", user="ana", clock=clock, settings=chosen) as memory:
        for number, said in enumerate(sessions):
            chat = memory.conversation(f"session {number}")
            for text in [said] if isinstance(said, str) else said:
                chat.add("user", text)
            chat.end()
            memory.consolidate()
            clock.advance(timedelta(days=20))
        facts = memory.records(kind="fact", limit=100)
        return [fact.content for fact in facts if fact.superseded_by is None]
