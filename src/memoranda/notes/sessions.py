"""Turns finished sessions into facts, and then into entries of the history: consolidation."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from threading import Event

from memoranda.learning.claims import Turn
from memoranda.learning.consolidation_queue import ConsolidationRequest
from memoranda.model.models import Record
from memoranda.model.reports import StageReport
from memoranda.model.scope import Scope
from memoranda.notes.erasing import ErasedText, NotesErasure
from memoranda.notes.history_entries import HistoryEntryWriter
from memoranda.notes.writer import STAGE, HistoryWriter, PlanClaims, ReadTurns
from memoranda.parts import Parts

log = logging.getLogger("memoranda.consolidate")


def consolidate(
    parts: Parts, request: ConsolidationRequest, stop: Event | None = None, *, dry_run: bool = False
) -> StageReport:
    """Turn the sessions of a request into facts, and tell them in the notes; report what was done.

    Notes that cannot be written keep nothing from being learned: the session is told later.
    """
    consolidator = parts.consolidator(request.scope, stop)
    report = consolidator.run(
        request.session, but=request.but, until=request.until, dry_run=dry_run
    )
    if dry_run or not parts.settings.notes.automatic:
        return report

    writer = history_writer(parts, request.scope, consolidator.plan, stop)
    for session in report.failed:
        writer.write_fallback(session, request.until)
    written = writer.write(request.session, but=(*report.failed,))
    return replace(report, lines=(*report.lines, *written.lines))


def learn(parts: Parts, request: ConsolidationRequest, stop: Event) -> StageReport:
    """Consolidate what is requested while nobody waits; what failed is logged and waits."""
    report = consolidate(parts, request, stop)
    for session, why in report.failed.items():
        log.warning("session %r waits to be consolidated: %s", session, why)
    return report


def keep_last_words(parts: Parts, scope: Scope, session: str, until: int | None = None) -> None:
    """Keep the last words of a session that takes too long, where notes are kept."""
    if parts.settings.notes.automatic:
        history_writer(parts, scope).write_fallback(session, until)


def history_writer(
    parts: Parts, scope: Scope, plan_claims: PlanClaims | None = None, stop: Event | None = None
) -> HistoryWriter:
    """Return what writes the sessions of ``scope`` into its history."""
    by_rules = parts.settings.consolidation.extractor == "rules"
    return HistoryWriter(
        parts.notes.find(scope),
        scope,
        store=parts.store,
        entry_writer=HistoryEntryWriter(parts.dates, parts.extractor),
        dates=parts.dates,
        read_turns=turns_reader(parts),
        language=parts.models,
        model=None if by_rules else parts.models.for_stage(scope, STAGE),
        records=parts.records(scope),
        plan_claims=plan_claims,
        stop=stop,
    )


def notes_erasure(parts: Parts, scope: Scope, records: Sequence[Record]) -> NotesErasure:
    """Return what takes ``records``, which are to be erased, out of the notes."""
    return NotesErasure(
        parts.notes,
        scope,
        ErasedText.of(records),
        store=parts.store,
        entry_writer=HistoryEntryWriter(parts.dates, parts.extractor),
        read_turns=turns_reader(parts),
    )


def turns_reader(parts: Parts) -> ReadTurns:
    """Return what reads episodes as turns."""

    def read(scope: Scope, session: str | None, episodes: Sequence[Record]) -> Sequence[Turn]:
        turns = parts.turns(scope)
        recalled = turns.recalled(session) if session is not None else {}
        return turns.read(episodes, recalled).turns

    return read
