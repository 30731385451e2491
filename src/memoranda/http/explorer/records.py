"""One record: where it comes from, what became of it, and what a person can do about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from memoranda.http.explorer import charts
from memoranda.http.explorer.pages import Page, PageRequest, Redirect
from memoranda.maintenance.decay import confidence as confidence_at
from memoranda.maintenance.decay import retirement_date
from memoranda.model.models import Kind, Record, is_active
from memoranda.model.query import Filter, Order, RecordRelation
from memoranda.records.drafts import HELD
from memoranda.records.erasing import ErasurePlan
from memoranda.serving.existing import require_record

# Turns of a conversation that stand before and after a source.
AROUND = 2
# Sources that are shown in their place.
MOST_SOURCES = 5


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """A turn that a record was drawn from, among the turns around it, in order."""

    source: Record
    turns: tuple[Record, ...]


def show(request: PageRequest) -> Page:
    """Show a record with its sources, versions, decay, entities and history."""
    record, memory = find_record(request), request.memory
    services, scope = request.services, request.scope
    now = services.clock.now()
    named = services.names(scope).extract(record.content)
    fades_on = retirement_date(record, memory.settings.decay.threshold)
    values = {
        "record": record,
        "active": is_active(record, now),
        "waits": services.records(scope).is_proposal(record),
        "confidence": confidence_at(record, now),
        "fades_on": fades_on,
        "curve": charts.decay_curve(record, now, fades_on),
        "sources": list(_sources(request, record)),
        "versions": _related(request, record, RecordRelation.VERSIONS, RecordRelation.REPLACED),
        "entities": list(dict.fromkeys(each.text for each in named if each.type != "date")),
        "history": memory.history(record.id),
    }
    metadata = {name: value for name, value in record.metadata.items() if name != HELD}
    return Page("record", values, {"metadata": metadata, "now": now})


def find_record(request: PageRequest) -> Record:
    """Return the record that a page is about.

    Raises:
        NotFound: there is no such record.
    """
    return require_record(request.memory, request.required("id"))


def preview_erasure(request: PageRequest) -> Page:
    """Show what goes with a record, before it is erased."""
    record, services, scope = find_record(request), request.services, request.scope
    # All that is kept is read for them.
    plan = services.eraser(scope).preview([record.id]) if request.text("copies") else ErasurePlan()
    places = [each.id for each in plan.places]
    values = {
        "record": record,
        "versions": _related(request, record, RecordRelation.VERSIONS),
        "derived": _related(request, record, RecordRelation.DERIVED),
        "copies": plan if request.text("copies") else None,
    }
    known = services.store.get(scope, [*plan.copies, *places, *plan.independent])
    return Page("erase", values, {"known": known})


def correct(request: PageRequest) -> Redirect:
    """Replace what a record says."""
    new = request.memory.correct(request.required("id"), request.required("content"))
    return Redirect(f"/records/{new.id}", "corrected")


def confirm(request: PageRequest) -> Redirect:
    """Believe a record fully and for ever."""
    return Redirect(f"/records/{request.memory.confirm(request.required('id')).id}", "confirmed")


def forget(request: PageRequest) -> Redirect:
    """Stop believing a record."""
    return Redirect(f"/records/{request.memory.forget(request.required('id')).id}", "forgotten")


def erase(request: PageRequest) -> Page:
    """Erase a record, and show the receipt."""
    receipt = request.memory.forget(request.required("id"), erase=True)
    request.counts.forget(request.memory)
    return Page("erased", {"receipt": receipt})


def _related(request: PageRequest, record: Record, *relations: RecordRelation) -> list[Record]:
    """Return the records that are bound to one, the oldest first."""
    store, scope = request.services.store, request.scope
    ids = {other for each in relations for other in store.related(scope, [record.id], each)}
    found = store.get(scope, sorted(ids - {record.id}))
    return sorted(found.values(), key=lambda each: each.created_at)


def _sources(request: PageRequest, record: Record) -> Iterator[SourcePlace]:
    """Yield the turns that a record rests on, each in its place in the conversation."""
    store, scope = request.services.store, request.scope
    own = [record.id] if record.kind is Kind.EPISODE else []
    for source in store.get(scope, [*own, *record.source_ids[:MOST_SOURCES]]).values():
        turns = [source]
        if source.session_id is not None and source.position is not None:
            where = Filter.at_any_time(
                kinds=(Kind.EPISODE,),
                session=source.session_id,
                beyond=source.position - AROUND - 1,
            )
            many = 2 * AROUND + 1
            turns = store.records(scope, where, order=Order.POSITION, limit=many)
        yield SourcePlace(source, tuple(turns))
