"""Sessions become facts, and then entries of the history: consolidation as a whole (seed 002)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from threading import Event

from memoranda.learning.background import Request
from memoranda.learning.claims import Claim
from memoranda.learning.stages.consolidating import Consolidating
from memoranda.model.actions import Action
from memoranda.model.reports import StageReport
from memoranda.model.scope import Scope
from memoranda.notes.telling import Telling
from memoranda.parts import Parts

log = logging.getLogger("memoranda.consolidate")


def consolidate(
    parts: Parts, request: Request, stop: Event | None = None, *, dry_run: bool = False
) -> StageReport:
    """Turn the sessions of a request into facts, and tell them in the notes; report what was done.

    Notes that cannot be written keep nothing from being learned: the session is told later.
    """
    work = Consolidating(parts, request.scope, stop)
    report = work.run(request.session, but=request.but, until=request.until, dry_run=dry_run)
    if dry_run or not parts.settings.notes.automatic:
        return report

    def learned(session: str, claims: Sequence[Claim]) -> Sequence[Action]:
        # How far the session was read is said where its turns were.
        return work.plan(request.scope, session, claims).actions[:-1]

    telling = Telling(parts, request.scope, learned, stop)
    for session in report.failed:
        telling.fallback(session, request.until)
    told = telling.run(request.session, but=(*report.failed,))
    return replace(report, lines=(*report.lines, *told.lines))


def learn(parts: Parts, request: Request, stop: Event) -> StageReport:
    """Consolidate what is requested while nobody waits; what failed is logged and waits."""
    report = consolidate(parts, request, stop)
    for session, why in report.failed.items():
        log.warning("session %r waits to be consolidated: %s", session, why)
    return report


def unfinished(parts: Parts, scope: Scope, session: str, until: int | None = None) -> None:
    """Keep the last words of a session that takes too long, where notes are kept."""
    if parts.settings.notes.automatic:
        Telling(parts, scope).fallback(session, until)
