"""The review queue: facts that were learned, which a person may keep, change, merge or forget."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from memoranda.errors import InvalidInput
from memoranda.http.explorer.pages import SHOWN, Page, PageRequest, Redirect
from memoranda.learning.claims import ASKED, ORIGIN
from memoranda.maintenance.audit import Finding, audit
from memoranda.maintenance.facts import CATEGORY
from memoranda.model.models import Kind, Record
from memoranda.model.query import Filter, Order, Subset
from memoranda.serving.existing import require_record

# The newest facts, and the newest that were learned, among which the queue is looked for.
LOOKED_AT = 200
FAULTS = {
    "contradictions": "may contradict",
    "exact duplicates": "says the same as",
    "near duplicates": "says nearly the same as",
}
CONFIRMED = "confirmed"
WAITS = "waits for your approval"


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """A fact that waits for a person's word.

    Attributes:
        record: the fact.
        reason: why it is asked about.
        other: the fact that it contradicts or repeats, where it does.
        replaces: whether keeping it ends the other one.
    """

    record: Record
    reason: str
    other: Record | None = None
    replaces: bool = False


def show(request: PageRequest) -> Page:
    """Show what waits for a person's word, contradictions first."""
    waiting = list(_suggestions(request))
    return Page("review", {"waiting": waiting[:SHOWN], "count": len(waiting)})


def decide(request: PageRequest) -> Redirect:
    """Do what a person decided about a fact.

    Raises:
        InvalidInput: there is no such decision.
    """
    memory, this, other = request.memory, request.required("id"), request.text("other")
    match request.required("decision"):
        case "keep":
            memory.confirm(this)
            if other is not None and require_record(memory, other).superseded_by is None:
                memory.confirm(other)
            done = "kept"
        case "change":
            memory.confirm(memory.correct(this, request.required("content")).id)
            done = "corrected"
        case "merge" if other is not None:
            # What waits for approval may turn out to be the other one, said again.
            if memory.confirm(this).id != other:
                memory.forget(other)
            done = "merged"
        case "forget":
            memory.forget(this)
            done = "forgotten"
        case unknown:
            raise InvalidInput(f"decision={unknown!r:.40} is none of keep, change, merge, forget")
    return Redirect("/review", done)


def find_faults(request: PageRequest) -> list[tuple[str, Finding]]:
    """Return what of these facts contradicts or repeats another, each with what it does."""

    def look() -> list[tuple[str, Finding]]:
        held = [*find_waiting(request), *_newest(request)]
        found = audit(held, now=request.services.clock.now(), present=())
        by_kind = found.findings
        return [(how, each) for kind, how in FAULTS.items() for each in by_kind[kind]]

    return request.counts.get(request.memory, "faults", look)


def _newest(request: PageRequest) -> list[Record]:
    services, now = request.services, request.services.clock.now()
    found = {
        each.id: each
        for where in (Filter(now=now, kinds=(Kind.FACT,)), Filter(now=now, subset=Subset.LEARNED))
        for each in services.store.records(
            request.scope, where, order=Order.LATEST, limit=LOOKED_AT
        )
    }
    return [each for each in found.values() if each.superseded_by is None]


def find_waiting(request: PageRequest) -> list[Record]:
    """Return the latest facts that wait for approval."""
    return request.services.records(request.scope).proposals(LOOKED_AT)


def _suggestions(request: PageRequest) -> Iterator[ReviewItem]:
    """Yield what no person has confirmed yet, each fact once; what waits for approval first."""
    waiting = {each.id: each for each in find_waiting(request)}
    records = waiting | {each.id: each for each in _newest(request)}
    trails = request.services.store.trails(request.scope, list(records))
    asked = {
        name
        for name, trail in trails.items()
        if all(each.reason != CONFIRMED for each in trail.changes)
    }
    for how, finding in find_faults(request):
        held = [each for each in finding.ids if each in records]
        for first, other in ((held[0], each) for each in held[1:]):
            if {first, other} & asked:
                asked -= {first, other}
                # What was said last is the one that is kept, as a rule.
                older, newer = sorted((first, other))
                replaces = newer in waiting and how == FAULTS["contradictions"]
                reason = f"{WAITS}, and would take the place of" if replaces else how
                yield ReviewItem(records[newer], reason, records[older], replaces)
    for record in records.values():
        if record.id in asked & waiting.keys():
            yield ReviewItem(record, WAITS)
        elif record.id in asked and record.origin == ORIGIN:
            is_asked = record.metadata.get(CATEGORY) in ASKED
            yield ReviewItem(record, "you asked to keep it" if is_asked else "learned from a talk")
