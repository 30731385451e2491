"""Which process runs a scheduled job, and which runs are done: one row for each job."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import apsw

from memoranda.model.life import JobRun
from memoranda.model.times import from_ms, to_ms

CLAIM = """
INSERT INTO job_runs (job, holder, claimed_due, claimed_until) VALUES (:job, :holder, :due, :until)
ON CONFLICT (job) DO UPDATE SET holder = :holder, claimed_due = :due, claimed_until = :until
WHERE (due IS NULL OR due < :due)
    AND (holder IS NULL OR holder = :holder OR claimed_until <= :now)
"""
COMPLETE = """
UPDATE job_runs SET due = claimed_due, finished_at = :at,
    holder = NULL, claimed_due = NULL, claimed_until = NULL
WHERE job = :job AND holder = :holder AND claimed_due = :due
"""


def claim(
    connection: apsw.Connection,
    job: str,
    holder: str,
    *,
    due: datetime,
    now: datetime,
    until: datetime,
) -> bool:
    """Take or renew the claim on a run; false where it is done, or another's."""
    connection.execute(
        CLAIM,
        {
            "job": job,
            "holder": holder,
            "due": to_ms(due),
            "now": to_ms(now),
            "until": to_ms(until),
        },
    )
    return connection.changes() > 0


def complete(
    connection: apsw.Connection, job: str, holder: str, *, due: datetime, at: datetime
) -> None:
    """Mark a run as done, where the claim on it is still the holder's."""
    connection.execute(COMPLETE, {"job": job, "holder": holder, "due": to_ms(due), "at": to_ms(at)})


def runs(connection: apsw.Connection) -> list[JobRun]:
    """Return the last finished run of each job, by name."""
    rows: Any = connection.execute(
        "SELECT job, due, finished_at FROM job_runs WHERE due IS NOT NULL ORDER BY job"
    )
    return [JobRun(row[0], from_ms(row[1]), from_ms(row[2])) for row in rows]
