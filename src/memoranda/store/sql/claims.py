"""What one process claims so that others leave it alone: leases, runs of stages, records.

A claim is one short transaction and lasts until a time: when its holder is killed, the next one
who asks gets it. Where writers do not take turns, each passes over the rows that others are just
claiming.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager
from datetime import datetime

from memoranda.model.checks import from_ms, to_ms
from memoranda.model.models import Record, Scope
from memoranda.model.sessions import JobRun, StageLease
from memoranda.store.sql.database import SqlConnection
from memoranda.store.sql.reads import SqlReads
from memoranda.store.sql.rows import OBJECT, RECORD, dump, optional_ms, optional_time, record

# The start of the name of a lease on the run of a stage; stage and user follow.
RUN = "job:"
CLAIM = """
INSERT INTO leases (name, holder, expires_at, claimed_due) VALUES (:name, :holder, :until, :due)
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at,
    claimed_due = excluded.claimed_due
WHERE (excluded.claimed_due IS NULL OR leases.done_due IS NULL
        OR leases.done_due < excluded.claimed_due)
    AND (leases.holder IS NULL OR leases.holder = excluded.holder OR leases.expires_at <= :now)
"""
COMPLETE = """
UPDATE leases SET done_due = claimed_due, done_at = :at, done_counts = :counts, holder = NULL,
    claimed_due = NULL, expires_at = NULL
WHERE name = :name AND holder = :holder AND claimed_due = :due
"""
STAGE_LEASES = """
SELECT substr(name, length(:start) + 1), done_due, expires_at FROM leases
WHERE substr(name, 1, length(:start)) = :start
"""
DONE = """
SELECT substr(name, length(:start) + 1), done_due, done_at, done_counts FROM leases
WHERE done_due IS NOT NULL AND substr(name, 1, length(:start)) = :start ORDER BY name
"""
# In an order, so that an index finds the first, and not a walk past all that was done before.
IS_WAITED = """
SELECT 1 FROM derivations WHERE work = :work AND claimed_until <= :now ORDER BY record_key LIMIT 1
"""
CLAIM_RECORDS = """
WITH next AS (
    SELECT user_key, record_key FROM derivations
    WHERE work = :work AND claimed_until <= :now
    ORDER BY record_key LIMIT :limit @skip_locked()
)
UPDATE derivations SET claimed_until = :until
WHERE work = :work AND (user_key, record_key) IN (SELECT user_key, record_key FROM next)
RETURNING user_key, record_key
"""
CLAIMED_RECORDS = f"""
SELECT (SELECT name FROM users WHERE key = r.user_key), {RECORD} FROM records r
WHERE r.user_key IN (@ints(:users)) AND r.key IN (@ints(:keys)) ORDER BY r.key
"""


class SqlClaims(SqlReads):
    """The claims of a store, each one transaction."""

    def transact(
        self, scope: Scope | None = None, patience: float | None = None
    ) -> AbstractContextManager[SqlConnection]:
        """Lend a connection inside one transaction: committed, or undone."""
        raise NotImplementedError(scope, patience)

    def claim(
        self, name: str, holder: str, *, now: datetime, until: datetime, due: datetime | None = None
    ) -> bool:
        """Take or renew a lease, or the run of a stage that was due then."""
        values = {
            "name": name if due is None else RUN + name,
            "holder": holder,
            "due": optional_ms(due),
            "now": to_ms(now),
            "until": to_ms(until),
        }
        with self.transact() as connection:
            return connection.change(CLAIM, values) > 0

    def complete(
        self, name: str, holder: str, *, due: datetime, at: datetime, counts: Mapping[str, int]
    ) -> None:
        """Mark a run as done, with what it did, where the claim on it is still the holder's."""
        values = {
            "name": RUN + name,
            "holder": holder,
            "due": to_ms(due),
            "at": to_ms(at),
            "counts": dump(dict(counts)),
        }
        with self.transact() as connection:
            connection.change(COMPLETE, values)

    def stage_leases(self, stage: str) -> dict[str, StageLease]:
        """Return the lease on the runs of a stage of each user who has one."""
        with self._reading(None) as (connection, _):
            rows = connection.all(STAGE_LEASES, {"start": f"{RUN}{stage}:"})
        return {
            user: StageLease(optional_time(done), optional_time(until))
            for user, done, until in rows
        }

    def job_runs(self) -> list[JobRun]:
        """Return the last run of each stage, with what it did for all users, by name."""
        with self._reading(None) as (connection, _):
            rows = connection.all(DONE, {"start": RUN})
        last: dict[str, tuple[int, int, Counter[str]]] = {}
        for name, due, at, counts in rows:
            stage = name.partition(":")[0]
            known = last.get(stage, (due, at, Counter()))
            if due > known[0]:
                known = (due, at, Counter())
            if due == known[0]:
                known[2].update(OBJECT.read(counts))
            last[stage] = (known[0], max(known[1], at), known[2])
        return [
            JobRun(stage, from_ms(due), from_ms(at), dict(counts))
            for stage, (due, at, counts) in last.items()
        ]

    def claim_records(
        self, work: str, *, now: datetime, until: datetime, limit: int
    ) -> list[Record]:
        """Claim the next records that wait for a kind of work; return them."""
        values = {"work": work, "now": to_ms(now), "until": to_ms(until), "limit": limit}
        with self._reading(None) as (connection, _):  # So that who finds none waits for nobody.
            if connection.value(IS_WAITED, values) is None:
                return []
        with self.transact() as connection:
            while rows := connection.all(CLAIM_RECORDS, values):
                users, keys = map(set, zip(*rows, strict=True))
                made = connection.made(
                    lambda row: record(row[0], row[1:]),
                    "records",
                    CLAIMED_RECORDS,
                    {"users": dump(sorted(users)), "keys": dump(sorted(keys))},
                )
                if found := [each for each in made if each is not None]:
                    return found
        return []
