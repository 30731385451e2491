"""What one process takes so that others leave it alone: leases, runs, users of a run, records.

A claim is one short transaction, and none is held while anybody works: a claim lasts until a
time, and who was killed is followed by whoever comes after that. Where writers do not take turns,
each passes over the rows that others are just taking.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import ClassVar, TypeVar

from memoranda.model.checks import to_ms
from memoranda.model.models import Record, Scope
from memoranda.model.sessions import RunProgress
from memoranda.store.sql.database import SqlConnection
from memoranda.store.sql.reads import JOB, SqlReads
from memoranda.store.sql.rows import OBJECT, RECORD, dump, optional_ms, optional_time, record

T = TypeVar("T")
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
# Who has something, and was not deleted.
ACTIVE = """
u.deleted = 0 AND (EXISTS (SELECT 1 FROM records WHERE user_key = u.key)
    OR EXISTS (SELECT 1 FROM conversations WHERE user_key = u.key AND deleted_at IS NULL))
"""
FORGET_OTHER_RUNS = "DELETE FROM job_users WHERE job = :job AND due <> :due"
IS_BEGUN = "SELECT 1 FROM job_users WHERE job = :job LIMIT 1"
ENTER_USERS = """
INSERT INTO job_users (user_key, job, due)
SELECT u.key, CAST(:job AS text), CAST(:due AS bigint) FROM users u WHERE {whom}
ON CONFLICT DO NOTHING
"""
CLAIM_USERS = """
WITH next AS (
    SELECT user_key FROM job_users
    WHERE job = :job AND due = :due AND done = 0 AND claimed_until <= :now
    ORDER BY user_key LIMIT :limit @skip_locked()
)
UPDATE job_users SET claimed_until = :until
WHERE job = :job AND user_key IN (SELECT user_key FROM next)
RETURNING (SELECT name FROM users WHERE key = user_key), tries
"""
# One of a run whose part is not done; another may have done it after a claim had ended.
OPEN_PART = """
WHERE job = :job AND due = :due AND done = 0
    AND user_key = (SELECT key FROM users WHERE name = :name)
"""
KEEP_USER = f"UPDATE job_users SET claimed_until = :until {OPEN_PART}"
FINISH_USER = f"UPDATE job_users SET done = 1, counts = :counts {OPEN_PART}"
FAIL_USER = f"UPDATE job_users SET tries = tries + 1, claimed_until = :until {OPEN_PART}"
WAITING_USERS = """
SELECT count(*), min(claimed_until) FROM job_users WHERE job = :job AND due = :due AND done = 0
"""
DONE = "SELECT counts FROM job_users WHERE job = :job AND due = :due AND done = 1"
FORGET_RUN = "DELETE FROM job_users WHERE job = :job AND due = :due"
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
RELEASE_RECORD = """
UPDATE derivations SET claimed_until = 0
WHERE work = :work AND (user_key, record_key) IN (
    SELECT r.user_key, r.key FROM records r JOIN users u ON u.key = r.user_key
    WHERE u.name = :user AND r.id = :id)
"""


class SqlClaims(SqlReads):
    """What a store lets processes agree on, over transactions that are given by whoever has them.

    Attributes:
        entered: the condition on ``users u`` by which users have a part in a run.
    """

    entered: ClassVar[str] = ACTIVE

    def _write(
        self, scope: Scope | None, work: Callable[[SqlConnection], T], patience: float | None = None
    ) -> T:
        """Do ``work`` in one transaction, on the rows of a user or of the store itself."""
        raise NotImplementedError(scope, work, patience)

    def _write_runs(self, work: Callable[[SqlConnection], T]) -> T:
        """Do ``work`` in one transaction, on the rows of runs."""
        return self._write(None, work)

    def claim(
        self, name: str, holder: str, *, now: datetime, until: datetime, due: datetime | None = None
    ) -> bool:
        """Take or renew a lease, or the run of a job that was due then."""
        values = {
            "name": name if due is None else JOB + name,
            "holder": holder,
            "due": optional_ms(due),
            "now": to_ms(now),
            "until": to_ms(until),
        }
        return self._write(None, lambda connection: connection.change(CLAIM, values)) > 0

    def complete(
        self, job: str, holder: str, *, due: datetime, at: datetime, counts: Mapping[str, int]
    ) -> None:
        """Say that a run is done and what it did, where the claim on it is still the holder's."""
        values = {
            "name": JOB + job,
            "holder": holder,
            "due": to_ms(due),
            "at": to_ms(at),
            "counts": dump(dict(counts)),
        }
        if self._write(None, lambda connection: connection.change(COMPLETE, values)):
            part = {"job": job, "due": values["due"]}
            self._write_runs(lambda connection: connection.run(FORGET_RUN, part))

    def begin_run(self, job: str, *, due: datetime) -> None:
        """Enter the users of a run, unless that was done, and forget those of other runs."""
        values = {"job": job, "due": to_ms(due)}

        def begin(connection: SqlConnection) -> None:
            connection.run(FORGET_OTHER_RUNS, values)
            if connection.value(IS_BEGUN, values) is None:
                connection.run(ENTER_USERS.format(whom=self.entered), values)

        self._write_runs(begin)

    def claim_users(
        self, job: str, *, due: datetime, now: datetime, until: datetime, limit: int
    ) -> dict[str, int]:
        """Take the next users of a run; return how often each has failed."""
        values = {
            "job": job,
            "due": to_ms(due),
            "now": to_ms(now),
            "until": to_ms(until),
            "limit": limit,
        }
        return dict(self._write_runs(lambda connection: connection.all(CLAIM_USERS, values)))

    def keep_users(
        self, job: str, users: Collection[str], *, due: datetime, until: datetime
    ) -> None:
        """Let the claim on users last until then."""
        values = {"job": job, "due": to_ms(due), "until": to_ms(until)}
        rows = [values | {"name": user} for user in users]
        self._write_runs(lambda connection: connection.run_many(KEEP_USER, rows))

    def finish_users(
        self,
        job: str,
        *,
        due: datetime,
        done: Mapping[str, Mapping[str, int]],
        failed: Mapping[str, datetime],
    ) -> None:
        """Say what became of users."""
        values = {"job": job, "due": to_ms(due)}
        finished = [
            values | {"name": user, "counts": dump(dict(counts))} for user, counts in done.items()
        ]
        again = [values | {"name": user, "until": to_ms(at)} for user, at in failed.items()]

        def finish(connection: SqlConnection) -> None:
            connection.run_many(FINISH_USER, finished)
            connection.run_many(FAIL_USER, again)

        self._write_runs(finish)

    def run_progress(self, job: str, *, due: datetime) -> RunProgress:
        """Return how far a run is."""
        values = {"job": job, "due": to_ms(due)}

        def look(connection: SqlConnection) -> RunProgress:
            waiting, until = connection.all(WAITING_USERS, values)[0]
            counts = Counter[str]()
            if not waiting:
                made = connection.made(lambda row: OBJECT.read(row[0]), "job_users", DONE, values)
                for each in filter(None, made):
                    counts.update(each)
            return RunProgress(waiting, optional_time(until), dict(counts))

        return self._read_runs(look)

    def _read_runs(self, look: Callable[[SqlConnection], T]) -> T:
        with self._reading(None) as (connection, _):
            return look(connection)

    def claim_records(
        self, work: str, *, now: datetime, until: datetime, limit: int
    ) -> list[Record]:
        """Take the next records that wait for a kind of work."""
        values = {"work": work, "now": to_ms(now), "until": to_ms(until), "limit": limit}
        with self._reading(None) as (connection, _):  # So that who finds none waits for nobody.
            if connection.value(IS_WAITED, values) is None:
                return []

        def claim(connection: SqlConnection) -> list[Record]:
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

        return self._write(None, claim)

    def release_records(self, work: str, records: Sequence[Record]) -> None:
        """Give up the claim on records."""
        rows = [{"work": work, "user": each.user, "id": each.id} for each in records]
        self._write(None, lambda connection: connection.run_many(RELEASE_RECORD, rows))
