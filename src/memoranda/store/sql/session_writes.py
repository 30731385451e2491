"""Changes what is kept of sessions, of the notes of a folder, and of the use of models."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

from memoranda.errors import Conflict, NotFound
from memoranda.model.checks import to_ms
from memoranda.model.notes import NotesBase
from memoranda.model.usage import Usage
from memoranda.store.sql.rows import dump
from memoranda.store.sql.transaction import ScopedTransaction

FINISH = """
UPDATE sessions SET through = greatest(through, :through), tries = 0, unread = unread + :unread,
    consolidated_at = CASE WHEN :finished = 1 AND NOT EXISTS (
        SELECT 1 FROM records r WHERE r.user_key = :user
        AND r.session_id = sessions.session_id
        AND r.position > :through AND r.kind = 'episode' AND r.closed_at IS NULL
        AND coalesce(r.agent, '') = sessions.agent
    ) THEN :at ELSE consolidated_at END
WHERE user_key = :user AND session_id = :session
    AND (CAST(:agent AS text) IS NULL OR agent = '' OR agent = :agent)
"""
TRY = """
UPDATE sessions SET tries = tries + 1 WHERE user_key = :user AND session_id = :session
    AND (CAST(:agent AS text) IS NULL OR agent = '' OR agent = :agent)
"""
NOTE = """
UPDATE sessions SET noted = greatest(noted, :through)
WHERE user_key = :user AND session_id = :session
    AND (CAST(:agent AS text) IS NULL OR agent = '' OR agent = :agent)
"""
SPEND = """
INSERT INTO model_usage (user_key, agent, stage, model, requests, failures, input_tokens,
    output_tokens, cost, seconds)
VALUES (:user, :agent, :stage, :model, :requests, :failures, :input_tokens, :output_tokens, :cost,
    :seconds)
ON CONFLICT (user_key, agent, stage, model) DO UPDATE SET
    requests = model_usage.requests + excluded.requests,
    failures = model_usage.failures + excluded.failures,
    input_tokens = model_usage.input_tokens + excluded.input_tokens,
    output_tokens = model_usage.output_tokens + excluded.output_tokens,
    cost = CASE WHEN model_usage.cost IS NULL THEN excluded.cost
        ELSE model_usage.cost + coalesce(excluded.cost, 0) END,
    seconds = model_usage.seconds + excluded.seconds
"""
KEEP_NOTES = """
INSERT INTO notes_bases (user_key, agent, folder, lines) VALUES (:user, :agent, :folder, :lines)
ON CONFLICT (user_key, agent, folder) DO UPDATE SET lines = excluded.lines
"""


class SessionWrites(ScopedTransaction):
    """Changes the sessions, the notes bases and the model usage of a user."""

    def advance_session(
        self,
        id: str,
        *,
        through: int,
        at: datetime,
        finished: bool,
        after: int | None = None,
        unread: int = 0,
    ) -> None:
        """Record how far a session was consolidated, unless another process has gone on."""
        known = self.sessions(self.scope, id=id).get(id)
        if known is None:
            message = f"there is no session {id!r} with episodes of {self.scope.user!r}"
            raise NotFound(message)
        if after is not None and known.through > after:
            message = (
                f"session {id!r} was read through {known.through} meanwhile, "
                f"not {after}; plan again from there"
            )
            raise Conflict(message)
        self.connection.run(
            FINISH,
            self.own
            | {"session": id, "through": through, "at": to_ms(at)}
            | {"finished": int(finished), "unread": unread},
        )

    def count_try(self, session: str) -> None:
        """Count that reading the next episodes of a session took too long."""
        self.connection.run(TRY, self.own | {"session": session})

    def advance_notes(self, session: str, through: int) -> None:
        """Record how far the history of the notes covers a session."""
        self.connection.run(NOTE, self.own | {"session": session, "through": through})

    def keep_notes_base(self, base: NotesBase) -> None:
        """Store the last synced content of MEMORY.md."""
        folder, lines = base.folder, base.lines
        before = self.notes_bases(self.scope).get((self.scope, folder))
        self.register(begins=False)
        self.connection.run(
            KEEP_NOTES,
            {
                "user": self.user,
                "agent": self.scope.agent or "",
                "folder": folder,
                "lines": dump([(line.id, line.digest) for line in lines]),
            },
        )
        kept = {line.id for line in lines}
        dropped = [line.id for line in before.lines if line.id not in kept] if before else []
        if self.erased(dropped):
            # By a digest a guess at the text can be tested: no copy of it may stay in free space.
            self.ask_for_purge()

    def add_usage(self, stage: str, model: str, usage: Usage) -> None:
        """Add to what a stage has used of a language model."""
        self.register(begins=False)
        owner = {"user": self.user, "agent": self.scope.agent or ""}
        what = {"stage": stage, "model": model}
        self.connection.run(SPEND, owner | what | asdict(usage))
