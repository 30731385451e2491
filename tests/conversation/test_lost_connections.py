"""What is known of a conversation is right also after a server was lost while it was read."""

from datetime import UTC, datetime

from memoranda.conversation.ledger import StateReader
from memoranda.conversation.transcript import MemoryTranscript
from memoranda.errors import StoreUnreachable
from memoranda.model.models import ConversationInfo, Message
from memoranda.tokens.catalog import Catalog

NOW = datetime(2026, 11, 26, tzinfo=UTC)


class LostOnce(MemoryTranscript):
    """A transcript whose server is lost when receipts are read, once it is told so."""

    is_lost = False

    def prunings(self):
        """Return the receipts, or lose the server."""
        if self.is_lost:
            self.is_lost = False
            message = "the connection was lost"
            raise StoreUnreachable(message)
        return super().prunings()


def test_what_was_removed_does_not_come_back():
    """The second reading, too, leaves out what was removed since the last one."""
    transcript = LostOnce(ConversationInfo(id="trip", created_at=NOW))
    said = [
        Message(id=f"m{n}", role="user", content=f"{n}", timestamp=NOW, tokens=1) for n in range(4)
    ]
    transcript.append(said)
    reader = StateReader(transcript, Catalog(), context_limit=None, default_limit=None)
    assert len(reader.read().ledger.messages) == 4
    transcript.replace("gone", NOW, ids=["m3"])
    reader.remove({"m3", "of another reader"})  # So that all is read anew.
    transcript.is_lost = True
    assert [each.id for each in reader.read().ledger.messages] == ["m0", "m1", "m2"]
    assert not transcript.is_lost
