"""What is kept of a user beside records and transcripts: sessions, notes bases, use of models.

An export reads it as a whole, with what was done to each record; an import keeps it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

from memoranda.errors import Conflict, NotFound
from memoranda.model.changes import AuditTrail, SessionRecall
from memoranda.model.checks import from_ms, to_ms
from memoranda.model.models import Change, ChangeAction, Scope
from memoranda.model.notes import NotesBase
from memoranda.model.sessions import AgentSession, ErasedRecord, UserMetadata
from memoranda.model.usage import Usage
from memoranda.store.sql import rows
from memoranda.store.sql.reads import SqlReads
from memoranda.store.sql.record_writes import RecordWrites
from memoranda.store.sql.rows import Codec, Columns, Row, dump, insertion

SESSIONS = Columns(
    AgentSession,
    {
        "first_seen_at": rows.TIME,
        "consolidated_at": rows.TIME,
        "agent": Codec(str, lambda name: name or None),
    },
    id="session_id",
)
ERASED = Columns(ErasedRecord, {"at": rows.TIME}, id="record_id")
# An agent has its own, and what is of nobody.
OF_AGENTS = "user_key = :user AND (CAST(:agent AS text) IS NULL OR agent IN ('', :agent))"
THIS_SESSION = f"{OF_AGENTS} AND session_id = :session"
FINISH = f"""
UPDATE sessions SET through = greatest(through, :through),
    consolidated_at = CASE WHEN :finished = 1 AND NOT EXISTS (
        SELECT 1 FROM records r WHERE r.user_key = :user
        AND r.session_id = sessions.session_id
        AND r.position > :through AND r.kind = 'episode' AND r.closed_at IS NULL
        AND coalesce(r.agent, '') = sessions.agent
    ) THEN :at ELSE consolidated_at END
WHERE {THIS_SESSION}
"""
COUNTED = [name for name in rows.USAGE.names if name != "cost"]
NOTE = f"UPDATE sessions SET noted = greatest(noted, :through) WHERE {THIS_SESSION}"
# An unknown cost is none.
SPEND = f"""
{insertion("model_usage", ("user_key", "agent", "stage", "model", *rows.USAGE.names))}
ON CONFLICT (user_key, agent, stage, model) DO UPDATE SET
    {", ".join(f"{name} = model_usage.{name} + excluded.{name}" for name in COUNTED)},
    cost = CASE WHEN model_usage.cost IS NULL THEN excluded.cost
        ELSE model_usage.cost + coalesce(excluded.cost, 0) END
"""
KEEP_NOTES = f"""
{insertion("notes_bases", ("user_key", "agent", "folder", "lines"))}
ON CONFLICT (user_key, agent, folder) DO UPDATE SET lines = excluded.lines
"""
KEEP_SESSION = f"""
{insertion("sessions", ("user_key", *SESSIONS.names))}
ON CONFLICT (user_key, session_id, agent) DO UPDATE SET
    {", ".join(f"{name} = excluded.{name}" for name in SESSIONS.names)}
"""
READ_SESSIONS = f"""
SELECT {SESSIONS.selected("c")} FROM sessions c WHERE {OF_AGENTS}
ORDER BY c.first_seen_at, c.session_id, c.agent
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
SELECT {rows.CHANGES.selected("r", record="r.record_id")} FROM history r
WHERE r.record_id IN (@texts(:ids)) AND {{mine}} ORDER BY r.key
"""
READ_RECALLS = """
SELECT r.id, c.session_id, c.at FROM records r
JOIN recalls c ON c.user_key = r.user_key AND c.record_key = r.key
WHERE r.id IN (@texts(:ids)) AND {mine} ORDER BY c.at, c.session_id
"""


class TransferReads(SqlReads):
    """What a store tells another one beside records and transcripts."""

    def trails(self, scope: Scope, ids: Sequence[str]) -> dict[str, AuditTrail]:
        """Return what was done to each of these records, as far as they exist."""
        listed = dump(ids)
        changes: defaultdict[str, list[Change]] = defaultdict(list)
        recalls: defaultdict[str, list[SessionRecall]] = defaultdict(list)

        def make(row: Row) -> tuple[str, AuditTrail]:
            record, reason, closed_at, is_indexed = row
            return record, AuditTrail(
                reason=reason,
                closed_at=rows.optional_time(closed_at),
                retired=not is_indexed,
                changes=tuple(changes[record]),
                recalls=tuple(recalls[record]),
            )

        with self.snapshot():
            for change in self._made(scope, READ_CHANGES, rows.CHANGES.make, ids=listed):
                changes[change.record].append(change)
            for record, session, at in self._made(scope, READ_RECALLS, ids=listed):
                recalls[record].append(SessionRecall(session, from_ms(at)))
            return dict(self._made(scope, READ_TRAILS, make, ids=listed))

    def user_metadata(self, scope: Scope) -> UserMetadata:
        """Return what is kept of the scope's user as a whole."""
        with self.snapshot():
            return UserMetadata(
                sessions=tuple(self._made(scope, READ_SESSIONS, SESSIONS.make)),
                erased=tuple(self._made(scope, READ_ERASED, ERASED.make, owner="h")),
                owners=dict(self._made(scope, READ_OWNERS)),
                deleted=tuple(self._made(scope, READ_DELETED, rows.first_value)),
            )


class SessionWrites(RecordWrites):
    """Changes the sessions, the notes bases and the model usage of a user."""

    def advance_session(
        self, id: str, *, through: int, at: datetime, finished: bool, after: int | None = None
    ) -> None:
        """Record how far a session was consolidated, unless another process has gone on."""
        known = self.sessions(self.scope, id=id).get(id)
        if known is None:
            raise NotFound(f"there is no session {id!r} with episodes of {self.scope.user!r}")
        if after is not None and known.through > after:
            raise Conflict(
                f"session {id!r} was read through {known.through} meanwhile, "
                f"not {after}; plan again from there"
            )
        read = {"through": through, "finished": int(finished)}
        self.run(FINISH, session=id, at=to_ms(at), **read)

    def advance_notes(self, session: str, through: int) -> None:
        """Record how far the history of the notes covers a session."""
        self.run(NOTE, session=session, through=through)

    def keep_notes_base(self, base: NotesBase) -> None:
        """Store the last synced content of MEMORY.md."""
        self.register(begins=False)
        lines = rows.NOTED_LINES.write(base.lines)
        whose = {"user_key": self.user, "agent": self.scope.agent or ""}
        self.run(KEEP_NOTES, folder=base.folder, lines=lines, **whose)

    def add_usage(self, stage: str, model: str, usage: Usage) -> None:
        """Add to what a stage has used of a language model."""
        self.register(begins=False)
        whose = {"user_key": self.user, "agent": self.scope.agent or ""}
        self.run(SPEND, stage=stage, model=model, **whose, **asdict(usage))

    def keep_user_metadata(self, kept: UserMetadata) -> None:
        """Keep what another store has of the user as a whole.

        Sessions are as far as they are there, and a record that is here was not erased. What agents
        own is not told by this.
        """
        self.register()
        for session in kept.sessions:
            values = SESSIONS.values(session) | {"agent": session.agent or ""}
            self.run(KEEP_SESSION, user_key=self.user, **values)
        ids = [each.id for each in kept.erased]
        known = {*self.get(self.scope.whole_user, ids), *self.erased(ids)}
        gone = {"action": ChangeAction.ERASE, "detail": "{}"}
        new = [ERASED.values(each) | gone for each in kept.erased if each.id not in known]
        self.add("history", new)
