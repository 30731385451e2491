"""Which process runs a scheduled job or holds a lease, and which runs are done.

Functions of the state that belongs to nobody. Where something is to change they return the new
row, which the caller commits.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from memoranda.model.life import JobRun
from memoranda.store.chroma.rows import Lease, Run, cut_time
from memoranda.store.chroma.state import State


def claim(
    state: State, job: str, holder: str, *, due: datetime, now: datetime, until: datetime
) -> Run | None:
    """Take or renew the claim on a run; ``None`` where it is done, or another's."""
    due, until = cut_time(due), cut_time(until)
    run = state.runs.get(job) or Run(job=job)
    if run.due is not None and run.due >= due:
        return None
    if run.holder not in {None, holder} and _lasts(run.claimed_until, now):
        return None
    return replace(run, holder=holder, claimed_due=due, claimed_until=until)


def _lasts(until: datetime | None, now: datetime) -> bool:
    return until is not None and until > now


def complete(state: State, job: str, holder: str, *, due: datetime, at: datetime) -> Run | None:
    """Mark a run as done; ``None`` where the claim on it is not the holder's."""
    run = state.runs.get(job)
    if run is None or run.holder != holder or run.claimed_due != cut_time(due):
        return None
    return Run(job=job, due=run.claimed_due, finished_at=cut_time(at))


def runs(state: State) -> list[JobRun]:
    """Return the last finished run of each job, by name."""
    return [
        JobRun(job, run.due, run.finished_at)
        for job, run in sorted(state.runs.items())
        if run.due is not None and run.finished_at is not None
    ]


def lease(state: State, name: str, holder: str, *, now: datetime, until: datetime) -> Lease | None:
    """Take or renew a lease; ``None`` while another's is unexpired."""
    known = state.leases.get(name)
    if known is not None and known.holder != holder and known.until > now:
        return None
    return Lease(name=name, holder=holder, until=cut_time(until))
