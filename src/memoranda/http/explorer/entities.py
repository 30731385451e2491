"""Entities: the people, places and things that records speak of, and which go together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from memoranda.http.explorer.pages import Page, PageRequest, Redirect
from memoranda.model.models import Entity
from memoranda.serving.existing import require_entity

LISTED = 100
# Entities of the graph, and the newest records that its lines are counted in.
DRAWN = 20
LOOKED_AT = 500
# More lines than this are no picture any more.
MOST_PAIRS = 40


@dataclass(frozen=True, slots=True)
class EntityPair:
    """Two entities by their places in a list, and how many records name both."""

    first: int
    second: int
    records: int


def show_all(request: PageRequest) -> Page:
    """Show the entities, most mentioned first, and a graph of the first of them."""
    memory, wanted = request.memory, request.text("type")
    found = request.counts.get(
        memory, ("entities", wanted), lambda: memory.entities(type=wanted, limit=LISTED)
    )
    texts = [each.content for each in memory.records(newest_first=True, limit=LOOKED_AT)]
    values = {"type": wanted, "entities": found, "pairs": count_pairs(found[:DRAWN], texts)}
    return Page("entities", values, {"drawn": found[:DRAWN]})


def show(request: PageRequest) -> Page:
    """Show an entity with what is said of it, and the names that were merged with it."""
    memory, name = request.memory, request.required("name")
    found = request.counts.get(memory, ("entity", name), lambda: require_entity(memory, name))
    store = request.services.store
    given = store.decisions(request.scope)
    merged = [each for each in (found.name, *found.aliases) if store.names.fold(each) in given]
    shown = {"undo": request.all("undo")}
    return Page("entity", {"entity": found, "merged": merged}, shown)


def merge(request: PageRequest) -> Page | Redirect:
    """Show what two entities are, and make them one if that is confirmed."""
    memory = request.memory
    first, second = (require_entity(memory, request.required(each)) for each in ("name", "other"))
    if not request.text("confirmed"):
        return Page("merge", {"entity": first, "other": second})
    merged = memory.merge_entities(first.name, second.name)
    request.counts.forget(memory)
    undo = [second.name, *second.aliases]
    return Redirect("/entity", "merged", {"name": merged.name, "undo": undo})


def split(request: PageRequest) -> Redirect:
    """Take back that names were merged with an entity."""
    memory = request.memory
    found = memory.split_entity(request.required("name"), request.all("other"))
    request.counts.forget(memory)
    return Redirect("/entity", "split", {"name": found.name})


def count_pairs(entities: Sequence[Entity], texts: Sequence[str]) -> list[EntityPair]:
    """Return which entities are named together in texts most often."""
    names = [[name.casefold() for name in (each.name, *each.aliases)] for each in entities]
    counted = Counter[tuple[int, int]]()
    for text in texts:
        folded = text.casefold()
        named = [at for at, own in enumerate(names) if any(name in folded for name in own)]
        counted.update(combinations(named, 2))
    return [EntityPair(*pair, count) for pair, count in counted.most_common(MOST_PAIRS)]
