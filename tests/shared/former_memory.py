"""What a memory holds, as plain JSON."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime

from tombstones import tombstones


def plain(value):
    """Return a value of the model as JSON has it; enumerations as texts."""
    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(each) for each in value]
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)


def describe_conversation(memory, id):
    """Return what a transcript holds, and what was pruned and removed of it."""
    chat = memory.stored_conversations.open_existing(id)
    return {
        "messages": plain(chat.messages),
        "system": chat.system,
        "prunings": plain(chat.prunings),
        "tombstones": plain(tombstones(memory._services.store, memory._scope, id)),
    }


def describe_entity(memory, name):
    """Return an entity with the ids of the records that mention it."""
    found = memory.entity(name)
    held = plain(found) | {"records": sorted(record.id for record in found.records)}
    del held["id"]  # Entities are derived: one that is only made now has a new id.
    return held


def describe(memory, ids):
    """Return what is held of records with these ids, by user and agent, and of all else."""
    found = {}
    for name, listed in ids.items():
        user, agent = name.split("/")
        one = memory.as_user(user, agent=agent or None)
        found[name] = {
            "records": {each: plain(one.get(each)) for each in listed},
            "history": {each: plain(one.history(each)) for each in listed},
            "listed": sorted(record.id for record in one.records(limit=1_000)),
            "city": one.get_context("city"),
            "namespaces": plain(one.namespaces()),
            "count": one.count(),
            "entities": {each.name: describe_entity(one, each.name) for each in one.entities()},
            "conversations": {
                each.id: plain(each) | describe_conversation(one, each.id)
                for each in one.conversations()
            },
            "sessions": plain(one.sessions()),
            "search": {
                query: sorted(
                    hit.record.id
                    for hit in one.search(query, limit=50)
                    if query.lower() in hit.record.content.lower()
                )
                for query in ("tea", "bicycle", "garden", "Porto", "soup")
            },
        }
    return found
