"""What is kept of a user beside records, transcripts and notes: read for an export, and kept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict

from memoranda.model.checks import from_ms
from memoranda.model.models import Change, Scope
from memoranda.model.traces import (
    AgentSession,
    AgentUsage,
    AuditTrail,
    ErasedRecord,
    SessionRecall,
    UserMetadata,
)
from memoranda.store.sql.reads import SqlReads
from memoranda.store.sql.rows import (
    CHANGES,
    OPTIONAL_TIME,
    TIME,
    USAGE,
    Codec,
    Columns,
    Row,
    dump,
    insertion,
)
from memoranda.store.sql.transaction import ScopedTransaction

SESSIONS = Columns(
    AgentSession,
    {
        "first_seen_at": TIME,
        "consolidated_at": OPTIONAL_TIME,
        "agent": Codec(lambda name: name or "", lambda name: name or None),
    },
    id="session_id",
)
ERASED = Columns(ErasedRecord, {"at": TIME}, id="record_id")
OF_AGENTS = "user_key = :user AND (CAST(:agent AS text) IS NULL OR agent IN ('', :agent))"
READ_SESSIONS = f"""
SELECT {SESSIONS.selected("c")} FROM sessions c WHERE {OF_AGENTS}
ORDER BY c.first_seen_at, c.session_id, c.agent
"""
READ_USAGE = f"""
SELECT stage, model, agent, {", ".join(USAGE.names)} FROM model_usage WHERE {OF_AGENTS}
ORDER BY stage, model, agent
"""
READ_ERASED = f"""
SELECT {ERASED.selected("h")} FROM history h WHERE {{mine}} AND h.action = 'erase'
    AND NOT EXISTS (SELECT 1 FROM records r WHERE r.id = h.record_id AND r.user_key = h.user_key)
ORDER BY h.key
"""
READ_OWNERS = "SELECT r.id, r.agent FROM conversations r WHERE r.agent IS NOT NULL AND {mine}"
READ_DELETED = """
SELECT r.id FROM conversations r WHERE r.deleted_at IS NOT NULL AND {mine} ORDER BY r.key
"""
READ_TRAILS = """
SELECT r.id, r.reason, r.closed_at, r.indexed FROM records r
WHERE r.id IN (@texts(:ids)) AND {mine}
"""
READ_CHANGES = f"""
SELECT {CHANGES.selected("r", record="r.record_id")} FROM history r
WHERE r.record_id IN (@texts(:ids)) AND {{mine}} ORDER BY r.key
"""
READ_RECALLS = """
SELECT r.id, c.session_id, c.at FROM records r
JOIN recalls c ON c.user_key = r.user_key AND c.record_key = r.key
WHERE r.id IN (@texts(:ids)) AND {mine} ORDER BY c.at, c.session_id
"""
KEEP_SESSION = f"""
{insertion("sessions", ("user_key", *SESSIONS.names))}
ON CONFLICT (user_key, session_id, agent) DO UPDATE SET
    {", ".join(f"{name} = excluded.{name}" for name in SESSIONS.names)}
"""
KEEP_USAGE = f"""
{insertion("model_usage", ("user_key", "agent", "stage", "model", *USAGE.names))}
ON CONFLICT (user_key, agent, stage, model) DO UPDATE SET
    {", ".join(f"{name} = excluded.{name}" for name in USAGE.names)}
WHERE excluded.requests > model_usage.requests
"""
KEEP_ERASED = f"""
INSERT INTO history (user_key, {", ".join(ERASED.names)}, action, detail)
SELECT :user, {", ".join(f":{name}" for name in ERASED.names)}, 'erase', '{{}}'
WHERE NOT EXISTS (SELECT 1 FROM records WHERE id = :record_id AND user_key = :user)
    AND NOT EXISTS (SELECT 1 FROM history
        WHERE record_id = :record_id AND user_key = :user AND action = 'erase')
"""


class TransferReads(SqlReads):
    """What a store tells another one beside records and transcripts."""

    def trails(self, scope: Scope, ids: Sequence[str]) -> dict[str, AuditTrail]:
        """Return what was done to each of these records, as far as they exist."""
        listed = dump(list(ids))
        changes: defaultdict[str, list[Change]] = defaultdict(list)
        recalls: defaultdict[str, list[SessionRecall]] = defaultdict(list)

        def make(row: Row) -> tuple[str, AuditTrail]:
            record, reason, closed_at, is_indexed = row
            return record, AuditTrail(
                reason=reason,
                closed_at=OPTIONAL_TIME.read(closed_at),
                retired=not is_indexed,
                changes=tuple(changes[record]),
                recalls=tuple(recalls[record]),
            )

        with self.snapshot():
            for change in self._made(CHANGES.make, "history", scope, READ_CHANGES, ids=listed):
                changes[change.record].append(change)
            for record, session, at in self._query(scope, READ_RECALLS, ids=listed):
                recalls[record].append(SessionRecall(session, from_ms(at)))
            return dict(self._made(make, "records", scope, READ_TRAILS, ids=listed))

    def user_metadata(self, scope: Scope) -> UserMetadata:
        """Return what is kept of the scope's user as a whole."""
        with self.snapshot():
            return UserMetadata(
                sessions=tuple(self._made(SESSIONS.make, "sessions", scope, READ_SESSIONS)),
                usage=tuple(
                    AgentUsage(stage, model, USAGE.make(used), agent or None)
                    for stage, model, agent, *used in self._query(scope, READ_USAGE)
                ),
                erased=tuple(self._made(ERASED.make, "history", scope, READ_ERASED, "h")),
                owners=dict(self._query(scope, READ_OWNERS)),
                deleted=tuple(row[0] for row in self._query(scope, READ_DELETED)),
            )


class TraceWrites(ScopedTransaction):
    """Keeps what another store has of a user beside records, transcripts and notes."""

    def keep_user_metadata(self, kept: UserMetadata) -> None:
        """Keep what another store has of the user as a whole.

        Sessions are as far as they are there, of usage the larger figures stay, and a record that
        is here was not erased. What agents own is not told by this.
        """
        self.register()
        own = {"user_key": self.user, "user": self.user}
        for session in kept.sessions:
            self.connection.run(KEEP_SESSION, own | SESSIONS.values(session))
        for used in kept.usage:
            whose = {"agent": used.agent or "", "stage": used.stage, "model": used.model}
            self.connection.run(KEEP_USAGE, own | whose | asdict(used.usage))
        for gone in kept.erased:
            self.connection.run(KEEP_ERASED, own | ERASED.values(gone))
